"""What every store promises about vectors: they follow their records, are found by similarity, and never leave their
place.

Part of `StoreContract`; a file of its own only to keep files short. A vector here has four dimensions.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from memorist.access import Access
from memorist.errors import Conflict, Invalid
from memorist.kinds import ARCHIVE, DOCUMENTS, LAYERS, MEMORY, TURNS
from memorist.records import Counters, Provenance, Record, Times
from memorist.store.nouns import Commit, Counted, Generation, Shelf, footprint, shelf_of
from memorist.store.packing import pack, unpack
from memorist.store.protocol import Store
from memorist.store.where import Where
from memorist.testing.records import ATLAS, EVERYWHERE, START, a_record, a_tombstone, moment, sealed, stored
from memorist.text.bm25 import Found
from memorist.text.words import terms

if TYPE_CHECKING:
    from memorist.models.embed import Floats

EAST, NORTH, WEST, BETWEEN = (1, 0, 0, 0), (0, 1, 0, 0), (-1, 0, 0, 0), (1, 1, 0, 0)
ON_ATLAS = Shelf("default", ATLAS, MEMORY)
LONG = "The quick brown fox jumps over the lazy dog. " * 100
SEEN = Where(EVERYWHERE)


def a_vector(*values: float) -> "Floats":
    import numpy as np

    return np.array(values, np.float32)


def a_generation(
    store: Store, dimension: int = 4, state: str = "current", layers: tuple[str, ...] = LAYERS
) -> Generation:
    with store.transaction():
        return store.save_generation(Generation(0, "a model", dimension, state, layers))


def embedded(store: Store, generation: Generation, vectors: dict[int, Sequence[float]]) -> None:
    """Gives every index row of each of these records, by number, that vector."""
    rows = {piece.row: piece.row // 4096 for piece in store.unembedded(generation.id, numbers=list(vectors))}
    packed = pack([vectors[number] for number in rows.values()])
    with store.transaction():
        store.put_vectors(generation.id, dict(zip(rows, packed, strict=True)))


def near(
    store: Store,
    generation: Generation,
    vector: Sequence[float],
    shelves: Sequence[Shelf] = (ON_ATLAS,),
    where: Where = SEEN,
    limit: int = 9,
) -> dict[int, float]:
    hits = store.nearest(generation.id, a_vector(*vector), shelves, where, limit).hits
    assert [cosine for _, cosine in hits] == sorted((cosine for _, cosine in hits), reverse=True)
    return {number: round(cosine, 2) for number, cosine in hits}


def said(session: str | None, speaker: str | None = None, **changes: Any) -> Record:
    return a_record("hm", kind="turn", provenance=Provenance(session=session, speaker=speaker, role="user"), **changes)


class MeaningContract:
    """Subclassed by `StoreContract`, which brings the fixture `store`."""

    # ------------------------------------------------------------ what is like a question

    def test_the_most_similar_come_first_and_the_rest_is_measured(self, store: Store) -> None:
        one, two, three, _ = stored(store, *(a_record(text) for text in "abcd"))
        model = a_generation(store)
        embedded(store, model, {one.number: NORTH, two.number: EAST, three.number: BETWEEN})
        found = store.nearest(model.id, a_vector(2, 0, 0, 0), [ON_ATLAS], SEEN, 9)
        assert near(store, model, EAST) == {2: 1.0, 3: 0.71, 1: 0.0} and near(store, model, EAST, limit=1) == {2: 1.0}
        assert (found.rows, round(found.mean, 2), round(found.spread, 2)) == (3, 0.57, 0.42)
        exact = store.nearest(model.id, a_vector(2, 0, 0, 0), [ON_ATLAS], SEEN, 9, exact=True)
        assert exact == found
        similar = store.similarities(model.id, a_vector(*EAST), [ON_ATLAS], [4, 3, 2, 99])
        assert similar == pytest.approx({3: 0.5**0.5, 2: 1.0}, abs=0.01)

    def test_a_record_is_as_similar_as_its_best_row(self, store: Store) -> None:
        long, _ = stored(store, a_record(LONG), a_record("short"))
        model = a_generation(store)
        rows = [piece.row for piece in store.unembedded(model.id, numbers=[long.number])]
        assert len(rows) > 3 and rows == sorted(rows)
        vectors = [WEST, *([NORTH] * (len(rows) - 2)), EAST]
        with store.transaction():
            store.put_vectors(model.id, dict(zip(rows, pack(vectors), strict=True)))
        assert near(store, model, EAST) == {1: 1.0}
        assert store.nearest(model.id, a_vector(*EAST), [ON_ATLAS], SEEN, 9).rows == len(rows)
        assert store.similarities(model.id, a_vector(*EAST), [ON_ATLAS], [1, 2]) == pytest.approx({1: 1.0})
        assert store.similarities(model.id, a_vector(*WEST), [ON_ATLAS], [1]) == pytest.approx({1: 1.0})

    def test_records_are_compared_with_the_first_rows_of_others(self, store: Store) -> None:
        records = stored(store, a_record(LONG), *(a_record(text) for text in "bcd"))
        model = a_generation(store)
        embedded(store, model, {record.number: NORTH for record in records[1:3]})
        rows = [piece.row for piece in store.unembedded(model.id, numbers=[1])]
        with store.transaction():
            store.put_vectors(model.id, dict(zip(rows, pack([EAST, *([WEST] * (len(rows) - 1))]), strict=True)))
        alike = {1: 0.5**0.5, 3: 0.5**0.5}  # the sum of its first row, which is east, and of north
        assert store.similarities(model.id, [2, 1, 99], [ON_ATLAS], [1, 3, 4]) == pytest.approx(alike, abs=0.01)
        assert store.similarities(model.id, [4, 99], [ON_ATLAS], [1, 3]) == {}
        assert store.similarities(model.id, [], [ON_ATLAS], [1, 3]) == {}

    def test_zeros_are_like_nothing(self, store: Store) -> None:
        one, two = stored(store, a_record("a"), a_record("b"))
        model = a_generation(store)
        embedded(store, model, {one.number: (0, 0, 0, 0), two.number: WEST})
        assert near(store, model, EAST) == {1: 0.0, 2: -1.0} and near(store, model, (0, 0, 0, 0)) == {2: 0.0, 1: 0.0}

    def test_nothing_outside_of_the_shelves_and_the_access_is_near(self, store: Store) -> None:
        apart = {"scope": "project/other", "space": "elsewhere", "kind": "turn", "state": "archived"}
        kept = stored(store, a_record("a"), *(a_record("a", **{name: value}) for name, value in apart.items()))
        model = a_generation(store)
        embedded(store, model, {record.number: EAST for record in kept})
        shelves = [shelf_of(record) for record in kept]
        assert set(near(store, model, EAST, shelves)) == {1, 2, 4, 5}
        assert set(near(store, model, EAST, shelves, Where(Access(reads=(ATLAS,))))) == {1, 4, 5}
        assert set(near(store, model, EAST, shelves, Where(replace(EVERYWHERE, space="elsewhere")))) == {3}
        assert [near(store, model, EAST, [shelf]) for shelf in shelves[:2]] == [{1: 1.0}, {2: 1.0}]
        assert near(store, model, EAST, [Shelf("default", "user/x", MEMORY)]) == {}
        assert store.similarities(model.id, a_vector(*EAST), shelves[:1], [1, 2, 3]) == pytest.approx({1: 1.0})

    def test_the_filter_of_a_likeness_comes_before_its_limit(self, store: Store) -> None:
        records = stored(store, a_record("w", kind="warning"), *(a_record(f"f{n}") for n in range(300)))
        model = a_generation(store)
        embedded(store, model, {record.number: WEST if record.kind == "warning" else EAST for record in records})
        assert near(store, model, EAST, where=Where.of(EVERYWHERE, {"kind": "warning"}), limit=1) == {1: -1.0}
        active = Where.of(EVERYWHERE, {"state": "active"})
        assert near(store, model, EAST, where=active, limit=2) == {301: 1.0, 300: 1.0}
        assert near(store, model, EAST, where=Where.of(EVERYWHERE, {"state": "archived"})) == {}

    @pytest.mark.parametrize(
        "vector", [(1, 0, 0), (1, 0, 0, 0, 0), (), (1, float("nan"), 0, 0), (float("inf"), 0, 0, 0)]
    )
    def test_a_question_of_another_kind_is_refused(self, store: Store, vector: Sequence[float]) -> None:
        stored(store, a_record())
        model = a_generation(store)
        with pytest.raises(Invalid, match=r"dimensions|number"):
            store.nearest(model.id, a_vector(*vector), [ON_ATLAS], SEEN, 3)
        with pytest.raises(Invalid, match=r"dimensions|number"):
            store.similarities(model.id, a_vector(*vector), [ON_ATLAS], [1])

    # ------------------------------------------------------------ vectors follow their records

    def test_a_vector_goes_where_its_record_goes(self, store: Store) -> None:
        one, two = stored(store, a_record("a"), a_record("b"))
        model, older = a_generation(store), a_generation(store, 2, "filling")
        embedded(store, model, {one.number: EAST, two.number: NORTH})
        embedded(store, older, {one.number: (1, 0)})
        places = {
            replace(ON_ATLAS, layer=ARCHIVE): replace(one, state="archived"),
            Shelf("default", "global", MEMORY): replace(one, scope="global"),
            Shelf("default", ATLAS, TURNS): replace(one, kind="turn"),
            ON_ATLAS: one,
        }
        everywhere = list(places)
        for place, record in places.items():
            stored(store, record)
            assert near(store, model, EAST, [place])[1] == 1.0 and near(store, older, (1, 0), [place]) == {1: 1.0}
            assert near(store, model, EAST, everywhere) == {1: 1.0, 2: 0.0}
            assert 1 not in near(store, model, EAST, [shelf for shelf in everywhere if shelf != place])
            assert store.unembedded(model.id, numbers=[1, 2]) == []

    def test_another_text_or_title_has_no_vector_yet_and_another_tag_keeps_it(self, store: Store) -> None:
        one, two = stored(store, a_record("a"), a_record("b"))
        model = a_generation(store)
        embedded(store, model, {one.number: EAST, two.number: EAST})
        stored(store, replace(one, tags=("t",), pinned=True))
        assert set(near(store, model, EAST)) == {1, 2}
        for changed, seen in ((replace(one, text="A"), "A"), (replace(one, title="T"), "T\na")):
            stored(store, changed)
            assert set(near(store, model, EAST)) == {2}
            [piece] = store.unembedded(model.id, numbers=[1, 2])
            assert piece.text == seen and store.unembedded(model.id, 0, 9) == [piece]
            embedded(store, model, {one.number: NORTH})
            assert near(store, model, EAST) == {2: 1.0, 1: 0.0}

    def test_a_vector_is_replaced(self, store: Store) -> None:
        [one] = stored(store, a_record("a"))
        model = a_generation(store)
        embedded(store, model, {one.number: EAST})
        with store.transaction():
            store.put_vectors(model.id, {4096: pack([NORTH])[0]})
        assert near(store, model, NORTH) == {1: 1.0}

    def test_an_erased_record_leaves_no_vector(self, store: Store) -> None:
        one, two = stored(store, a_record("a"), a_record(LONG))
        model = a_generation(store)
        embedded(store, model, {one.number: EAST, two.number: EAST})
        with store.transaction():
            store.erase([a_tombstone(two)])
        assert near(store, model, EAST, [ON_ATLAS, replace(ON_ATLAS, layer=ARCHIVE)]) == {1: 1.0}
        assert store.unembedded(model.id, numbers=[2]) == [] == store.unembedded(model.id, 0, 9)
        assert [finding for finding in store.checkup() if not finding.ok] == []

    def test_vectors_of_a_failed_transaction_were_never_there(self, store: Store) -> None:
        one, two = stored(store, a_record("a"), a_record("b"))
        model = a_generation(store)
        embedded(store, model, {one.number: EAST})
        with pytest.raises(KeyError), store.transaction():
            store.put_vectors(model.id, {4096: pack([NORTH])[0], 8192: pack([NORTH])[0]})
            store.write(Commit([sealed(replace(one, state="archived"))]))
            other = store.save_generation(Generation(0, "another", 3, "filling"))
            store.save_generation(replace(other, state="current"))
            store.put_vectors(other.id, {4096: pack([(1, 0, 0)])[0]})
            assert near(store, model, NORTH) == {} and near(store, other, (1, 0, 0)) == {}
            archive = [replace(ON_ATLAS, layer=ARCHIVE)]
            assert near(store, other, (1, 0, 0), archive) == {1: 1.0}
            store.save_generation(replace(model, state="current"))
            assert near(store, model, NORTH) == {2: 1.0} and near(store, model, NORTH, archive) == {1: 1.0}
            raise KeyError
        assert near(store, model, NORTH) == {1: 0.0} and near(store, model, EAST) == {1: 1.0}
        assert store.generations() == [model]
        embedded(store, model, {two.number: WEST})
        assert near(store, model, EAST) == {1: 1.0, 2: -1.0}
        assert [finding for finding in store.checkup() if not finding.ok] == []

    # ------------------------------------------------------------ generations

    def test_generations_never_mix(self, store: Store) -> None:
        [one] = stored(store, a_record("a"))
        old, new = a_generation(store), a_generation(store, state="filling")
        embedded(store, old, {1: EAST})
        assert near(store, old, EAST) == {1: 1.0} and near(store, new, EAST) == {}
        embedded(store, new, {1: NORTH})
        assert near(store, old, EAST) == {1: 1.0} and near(store, new, EAST) == {1: 0.0}
        with store.transaction():
            store.save_generation(replace(new, state="current"))
        assert [each.state for each in store.generations()] == ["retired", "current"]
        assert near(store, old, EAST) == {} == near(store, replace(old, id=99), EAST)
        assert store.similarities(old.id, a_vector(*EAST), [ON_ATLAS], [one.number]) == {}

    def test_retired_vectors_are_dropped_bit_by_bit(self, store: Store) -> None:
        records = stored(store, *(a_record(f"r{n}") for n in range(5)), a_record(LONG))
        model = a_generation(store)
        embedded(store, model, {record.number: EAST for record in records})
        with store.transaction():
            assert store.drop_vectors(model.id, 9) == 0, "it is in use"
        total = store.nearest(model.id, a_vector(*EAST), [ON_ATLAS], SEEN, 1).rows
        gone = []
        with store.transaction():
            store.save_generation(replace(model, state="retired"))
        while store.generations():
            with store.transaction():
                gone.append(store.drop_vectors(model.id, 4))
        assert sum(gone) == total and set(gone[:-1]) == {4}
        with store.transaction():
            assert store.drop_vectors(model.id, 4) == 0
            assert store.save_generation(Generation(0, "another", 4, "filling")).id > model.id
        assert [finding for finding in store.checkup() if not finding.ok] == []

    # ------------------------------------------------------------ one model a layer

    def test_a_generation_knows_only_what_lies_on_its_layers(self, store: Store) -> None:
        kept = stored(store, a_record("a"), said("s"), a_record("d", kind="document"), a_record("z", state="archived"))
        shelves = [shelf_of(record) for record in kept]
        notes, talk = (
            a_generation(store, 4, "current", (MEMORY, DOCUMENTS)),
            a_generation(store, 2, "current", (TURNS,)),
        )
        assert store.generations() == [notes, talk], "neither takes anything from the other"
        for model, numbers in ((notes, [1, 3]), (talk, [2])):
            assert [piece.row // 4096 for piece in store.unembedded(model.id)] == numbers
            assert [piece.row // 4096 for piece in store.unembedded(model.id, numbers=[1, 2, 3, 4])] == numbers
            embedded(store, model, dict.fromkeys([1, 2, 3, 4], (1, 0, 0, 0)[: model.dimension]))
            assert store.unembedded(model.id) == []
            assert set(near(store, model, (1, 0, 0, 0)[: model.dimension], shelves)) == {*numbers}
        assert near(store, notes, EAST, [shelves[1], shelves[3]]) == {} == near(store, talk, (1, 0), [shelves[0]])
        assert store.similarities(talk.id, a_vector(1, 0), shelves, [1, 2, 3, 4]) == pytest.approx({2: 1.0})
        with pytest.raises(Conflict), store.transaction():
            store.put_vectors(talk.id, {4096: pack([(1, 0)])[0]})
        assert [piece.row // 4096 for piece in store.unembedded(99, layers=(TURNS, ARCHIVE))] == [2, 4]
        assert store.unembedded(notes.id, layers=(TURNS,)) == [] == store.unembedded(notes.id, numbers=[2, 4])

    def test_a_vector_does_not_go_where_its_generation_is_not(self, store: Store) -> None:
        [one] = stored(store, a_record("a"))
        notes, talk = a_generation(store, 4, "current", (MEMORY,)), a_generation(store, 4, "current", (TURNS, ARCHIVE))
        embedded(store, notes, {1: EAST})
        stored(store, replace(one, state="archived"))
        places = [ON_ATLAS, replace(ON_ATLAS, layer=ARCHIVE)]
        assert near(store, notes, EAST, places) == {} == near(store, talk, EAST, places)
        assert store.unembedded(notes.id) == [] and [piece.text for piece in store.unembedded(talk.id)] == ["a"]
        embedded(store, talk, {1: EAST})
        stored(store, one)
        assert near(store, notes, EAST, places) == {} == near(store, talk, EAST, places)
        assert store.unembedded(talk.id) == [] and [piece.text for piece in store.unembedded(notes.id)] == ["a"]
        assert [finding for finding in store.checkup() if not finding.ok] == []

    def test_the_current_one_takes_its_layers_and_leaves_the_rest(self, store: Store) -> None:
        kept = stored(store, a_record("a"), said("s"), a_record(LONG))
        shelves = [shelf_of(record) for record in kept]
        old, new = a_generation(store), a_generation(store, state="filling", layers=(MEMORY, DOCUMENTS))
        embedded(store, old, dict.fromkeys([1, 2, 3], EAST))
        embedded(store, new, dict.fromkeys([1, 3], NORTH))
        assert set(near(store, old, EAST, shelves)) == {1, 2, 3} and set(near(store, new, EAST, shelves)) == {1, 3}
        with store.transaction():
            new = store.save_generation(replace(new, state="current"))
        old = replace(old, layers=(TURNS, ARCHIVE), lost=(MEMORY, DOCUMENTS))
        assert store.generations() == [old, new]
        assert near(store, old, EAST, shelves) == {2: 1.0} and set(near(store, new, EAST, shelves)) == {1, 3}
        assert store.unembedded(old.id) == [] == store.unembedded(old.id, numbers=[1, 2, 3])
        for changed in (
            replace(old, layers=(MEMORY,)),
            replace(new, layers=()),
            Generation(0, "m", 4, "filling", ("x",)),
        ):
            with pytest.raises(Invalid, match="for some of"), store.transaction():
                store.save_generation(changed)
        last = a_generation(store)
        assert [each.state for each in store.generations()] == ["retired", "retired", "current"]
        assert store.generations()[-1] == last and near(store, old, EAST, shelves) == {}

    def test_what_lies_on_a_lost_layer_is_dropped_bit_by_bit(self, store: Store) -> None:
        kept = stored(store, a_record("a"), said("s"), a_record(LONG))
        old, new = a_generation(store), a_generation(store, state="filling", layers=(MEMORY,))
        embedded(store, old, dict.fromkeys([1, 2, 3], EAST))
        rows = store.nearest(old.id, a_vector(*EAST), [ON_ATLAS], SEEN, 1).rows
        with store.transaction():
            store.save_generation(replace(new, state="current"))
        assert store.generations()[0].lost == (MEMORY,)
        with store.transaction():
            store.erase([a_tombstone(kept[0])])
            gone = store.drop_vectors(old.id, 2)
        while store.generations()[0].lost:
            with store.transaction():
                gone += store.drop_vectors(old.id, 2)
        assert gone == rows - 1 and near(store, old, EAST, [shelf_of(kept[1])]) == {2: 1.0}
        with store.transaction():
            assert store.drop_vectors(old.id, 9) == 0 == store.drop_vectors(new.id, 9)
        assert [finding for finding in store.checkup() if not finding.ok] == []

    def test_what_is_no_vector_here_is_refused(self, store: Store) -> None:
        [one] = stored(store, a_record("a"))
        model = a_generation(store)
        good = pack([EAST])[0]
        wrong = [(Invalid, {4096: good[1:]}), (Invalid, {4096: b""}), (Conflict, {4096: good, 4097: good})]
        wrong += [(Conflict, {4096 * 99: good}), (Conflict, {0: good})]
        for error, vectors in wrong:
            with pytest.raises(error), store.transaction():
                store.put_vectors(model.id, vectors)
        for id in (99, a_generation(store, state="retired").id):
            with pytest.raises(Conflict), store.transaction():
                store.put_vectors(id, {4096: good})
        with pytest.raises(Invalid, match="filling"), store.transaction():
            store.save_generation(replace(model, state="asleep"))
        with pytest.raises(Conflict), store.transaction():
            store.save_generation(replace(model, id=99, state="current"))
        for dimension in (0, -1, 10**6, True, 2.0):
            with pytest.raises(Invalid, match="dimensions"), store.transaction():
                store.save_generation(Generation(0, "a model", dimension, "filling"))  # type: ignore[arg-type]
        assert near(store, model, EAST) == {} and store.unembedded(model.id, numbers=[one.number])

    def test_what_is_not_embedded_yet_comes_in_order_and_in_parts(self, store: Store) -> None:
        records = stored(
            store,
            *(a_record(f"r{n}", state="archived" if n % 3 == 0 else "active", title="T" if n == 1 else None) for n in range(140)),
            a_record("gone", state="erased"),
            a_record(LONG),
        )  # fmt: skip
        model = a_generation(store)
        every = store.unembedded(model.id, 0, 9999)
        assert [piece.row for piece in every][:140] == [n * 4096 for n in range(1, 141)]
        assert [piece.text for piece in every][:3] == ["r0", "T\nr1", "r2"] and len(every) > 143
        assert "".join(piece.text for piece in every[140:]) == LONG
        assert store.unembedded(model.id, every[5].row, 3) == every[6:9]
        embedded(store, model, {n: EAST for n in range(1, 140)})
        assert store.unembedded(model.id, 0, 2) == every[139:141]
        embedded(store, model, {records[139].number: EAST, records[141].number: EAST})
        assert store.unembedded(model.id, 0, 9) == []
        assert store.unembedded(99, numbers=[1, 141, 142, 999]) == [every[0], *every[140:]]
        stored(store, replace(records[69], text="other"))
        assert [piece.text for piece in store.unembedded(model.id, 0, 9)] == ["other"]
        assert store.unembedded(model.id, 71 * 4096, 9) == []

    # ------------------------------------------------------------ what ranking needs to know

    def test_scores_are_those_of_a_match(self, store: Store) -> None:
        often = [a_record(f"staging {'postgres ' * (n % 4)} {n}") for n in range(9)]
        stored(store, *often, a_record("staging", kind="turn"))
        stored(store, a_record(LONG + "staging"), a_record("staging", scope="global"))
        words, shelves = terms("staging postgres fox"), [ON_ATLAS, Shelf("default", ATLAS, TURNS)]
        found = store.match(words, shelves, SEEN, 99)
        numbers, yardstick = found.scores, found.yardstick
        assert list(numbers.values()) == sorted(numbers.values(), reverse=True) and len(numbers) == 11
        assert store.score(yardstick, shelves, [*range(1, 15), 99]) == pytest.approx(numbers)
        assert store.score(yardstick, shelves, [3, 12]) == pytest.approx({3: numbers[3]})
        unknown = store.match(["nothing"], shelves, SEEN, 9)
        assert not unknown.scores and unknown.yardstick.ceiling > 0
        assert store.score(yardstick, [], [1]) == store.score(unknown.yardstick, shelves, [1]) == {}
        assert store.match([], shelves, SEEN, 9) == Found()

    def test_numbers_matched_include_those_with_a_vote(self, store: Store) -> None:
        records = stored(store, *(a_record("staging") for _ in range(4)))
        store.write(Commit(counted=[Counted(records[0].id, Counters(up=1), START)]))
        assert list(store.match(terms("staging"), [ON_ATLAS], SEEN, 2).scores) == [4, 3, 1]

    def test_facts_know_their_neighbours(self, store: Store) -> None:
        shelf = Shelf("default", ATLAS, TURNS)
        talk = [said("s", "Ann", times=Times(moment(1), START, START)), said("t"), said("s", "Bob")]
        talk += [said("s", scope="global"), said("s", state="archived"), said("s"), said(None)]
        stored(store, *talk, a_record("hm"))
        facts = store.facts([6, 3, 1, 7, 4, 8, 99], [shelf], SEEN)
        assert [(fact.number, fact.before, fact.after) for fact in facts] == [
            (6, 3, None), (3, 1, 6), (1, None, 3), (7, None, None),
        ]  # fmt: skip
        assert facts[2].shelf == shelf and (facts[2].at, facts[2].up) == (moment(1), 0)
        assert (facts[2].session, facts[2].role, facts[2].speaker) == ("s", "user", "Ann")
        assert [fact.number for fact in store.facts([1, 3], [shelf], Where.of(EVERYWHERE, {"speaker": "Bob"}))] == [3]
        assert store.facts([1], [shelf], Where(Access(reads=("global",)))) == []

    def test_speakers_and_numbered_records(self, store: Store) -> None:
        here = [said("s", name) for name in ("Bob", "Ann", None, "Ann", "Zoë")]
        kept = stored(store, *here, said("s", "Eve", scope="global"))
        shelf = Shelf("default", ATLAS, TURNS)
        assert store.speakers([shelf], 9) == ["Ann", "Bob", "Zoë"] and store.speakers([shelf], 2) == ["Ann", "Bob"]
        assert store.speakers([shelf, shelf_of(kept[5])], 9) == ["Ann", "Bob", "Eve", "Zoë"]
        assert store.speakers([], 9) == store.speakers([ON_ATLAS], 9) == []
        stored(store, replace(kept[0], provenance=replace(kept[0].provenance, speaker="Rob")))
        assert store.speakers([shelf], 9) == ["Ann", "Rob", "Zoë"]
        assert [record.number for record in store.get([5, 99, 2, 6], SEEN)] == [5, 2, 6]
        assert [record.number for record in store.get([5, 6], Where(Access(reads=(ATLAS,))))] == [5]
        assert store.get([2], SEEN) == store.get([kept[1].id], SEEN)

    def test_a_brief_weighs_its_vectors(self, store: Store) -> None:
        stored(store, a_record("abc"), a_record(LONG))
        model = a_generation(store)
        a_row = model.bytes + 8
        assert [brief.bytes for brief in store.briefs(SEEN)] == [footprint(3, a_row), footprint(len(LONG), a_row)]

    def test_packing_keeps_directions(self) -> None:
        import numpy as np

        chance = np.random.default_rng(1)
        vectors = chance.normal(size=(20, 300)).astype(np.float32)
        back = unpack(pack(vectors))
        lengths = np.linalg.norm(vectors, axis=1)
        assert np.allclose(np.linalg.norm(back, axis=1), 1, atol=1e-5)
        assert ((vectors * back).sum(axis=1) / lengths).min() > 0.9998
        assert {len(each) for each in pack(vectors)} == {304} and pack(np.zeros((0, 4))) == [] and unpack([]).size == 0
        assert pack(vectors * 1e-30) == pack(vectors)
        nan, inf = float("nan"), float("inf")
        for broken in ([[1, nan]], [[inf]], [[1e39]], [["a"]], [1, 2], [[1], [1, 2]], [[0.0] * 10**6]):
            with pytest.raises(Invalid):
                pack(broken)
        with pytest.raises(Invalid, match="different lengths"):
            unpack([b"12345", b"123456"])
