"""What hangs together: links, tags and names as ways from memory to memory; the cascade; and what was used together."""

import itertools
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from conftest import rounds
from memorist import Memory
from memorist.access import Access, access_for
from memorist.design import Design
from memorist.designs import BALANCED, HEBBIAN
from memorist.errors import Invalid, NotFound
from memorist.recall.stages.cascade import Cascade
from memorist.recall.stages.keep import Believed
from memorist.recall.walk import FAIR, labels_of, shared_out
from memorist.records import Hit, Link, Record
from memorist.remember.strengthen import FIRST_USE, STRONGEST, TIED_AT_ONCE, credit
from memorist.scoring import LOOSEST, bond
from memorist.store.nouns import TIES_AT_MOST, Commit
from memorist.testing import MovableClock

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def cascading(base: Design, stage: Cascade | None = None) -> Design:
    """The design with a cascade right behind what is believed."""
    place = next(n for n, each in enumerate(base.recall) if isinstance(each, Believed)) + 1
    recall = (*base.recall[:place], stage or Cascade(), *base.recall[place:])
    return replace(base, name="cascading", recall=recall, associates=True)


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(START)


@pytest.fixture
def here(clock: MovableClock) -> Memory:
    return Memory(":memory:", clock=clock, embed="none", design=cascading(HEBBIAN))


def numbers(hits: list[Hit]) -> list[int]:
    return [hit.number for hit in hits]


def told(memory: Memory, *texts: str, **more: object) -> list[int]:
    return [int(memory.remember(text, **more).number or 0) for text in texts]  # type: ignore[call-overload]


def tied_at_once(memory: Memory, links: list[Link]) -> None:
    """Very many links, and such as no verb makes, straight into the store."""
    store = memory._tools.store
    with store.transaction():
        store.write(Commit(links=links))


# ---------------------------------------------------------------- related


@pytest.mark.covers("C4-8", "S4-3", "N4-6")
def test_related_follows_links_and_names_the_way(here: Memory) -> None:
    a, b, c, d = told(here, "The gate is green", "Paint is in the shed", "The shed key hangs inside", "Far away")
    here.link(a, b, weight=0.5, evidence="the painter said so")
    here.link(c, b, "derived_from")
    here.link(c, d, weight=1.0)
    near = here.related(a, depth=1)
    assert numbers(near) == [b] and near[0].why == {f"relates_to [id:{b}]": pytest.approx(0.35)}
    both = here.related(a)
    assert numbers(both) == [b, c]  # and not d, which is three steps away
    assert list(both[1].why) == [f"relates_to [id:{b}]", f"derived_from [id:{c}]"]
    assert both[1].score == pytest.approx(math.prod(both[1].why.values())) == pytest.approx(0.35 * 0.3 * 0.7)
    assert numbers(here.related(a, depth=3)) == [b, c, d] and numbers(here.related(a, limit=1)) == [b]
    for wrong in (0, 5, 1.5, True):
        with pytest.raises(Invalid, match="depth"):
            here.related(a, depth=wrong)  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        here.related("m0000")


@pytest.mark.covers("S4-2", "S4-3")
def test_a_rare_tag_a_file_and_a_name_connect_by_themselves(here: Memory) -> None:
    [a] = told(here, "We pay by card there", tags=["kestrel-cafe"])
    [b] = told(here, "They close at noon", tags=["kestrel-cafe"])
    [c] = told(here, "The invoice goes to Marlowe", files=["Makefile"])
    [d] = told(here, "Ask Marlowe about the roof")
    [e] = told(here, "Totals are rounded down", files=["Makefile"])
    told(here, "Nothing else here says anything")
    assert here.related(a)[0].why == {f"tag kestrel-cafe [id:{b}]": pytest.approx(0.8 * 0.8 * 0.49)}
    assert here.related(a, depth=1) == []  # there and back are two steps
    assert {next(iter(hit.why)) for hit in here.related(c)} == {f"name Marlowe [id:{d}]", f"file Makefile [id:{e}]"}


@pytest.mark.covers("S4-2")
def test_the_word_of_a_tag_is_not_the_tag(here: Memory) -> None:
    [a] = told(here, "We pay by card there", tags=["kestrel"])
    told(here, "a kestrel nests in the tower")
    assert here.related(a) == []


@pytest.mark.covers("S4-2")
def test_a_tag_is_counted_and_described_by_a_memory_of_its_own(here: Memory) -> None:
    told(here, "We pay by card there", "They close at noon", tags=["kestrel-cafe"])
    here.remember("The café beside the mill", kind="entity", title="kestrel-cafe", tags=["kestrel-cafe"])
    assert here.count({"tags": ["kestrel-cafe"]}) == 3
    [described] = here.list({"kind": "entity", "title": "kestrel-cafe"})
    assert described.text == "The café beside the mill" and described.number in numbers(here.related(1))


def test_labels_are_tags_files_and_names_in_that_order() -> None:
    memory = Memory(":memory:", embed="none")
    record = memory.remember(
        "Ask Ida about TP123 in 2026, and ask Ida again", tags=["trip to Porto"], files=["plan.md"]
    ).record
    assert record is not None
    assert [label.name for label in labels_of(record)] == [
        "tag trip to Porto",
        "file plan.md",
        "name Ida",
        "name TP123",
    ]
    assert len(labels_of(replace(record, tags=tuple(f"tag{n}" for n in range(99))))) == 8


@pytest.mark.covers("W4-7", "N4-9")
def test_a_popular_tag_leads_nowhere_and_a_common_one_to_each_a_little(here: Memory) -> None:
    [a] = told(here, "Alpha is first", tags=["common", "rare"])
    [b] = told(here, "Beta is second", tags=["rare"])
    told(here, *(f"Entry {n:02} of the list" for n in range(FAIR * 3)), tags=["common"])
    near = {hit.number: hit.score for hit in here.related(a, limit=100)}
    assert near[b] == pytest.approx(0.64 * 0.49)
    others = [score for number, score in near.items() if number != b]
    assert others and max(others) == pytest.approx(0.64 * 0.49 * shared_out(FAIR * 3)) and max(others) < 0.6 * near[b]
    told(here, *(f"Entry {n} of the list" for n in range(100, 140)), tags=["common"])
    assert numbers(here.related(a, limit=100)) == [b]


@pytest.mark.covers("W4-7", "S4-7")
def test_supersession_is_followed_from_old_to_new_only(here: Memory) -> None:
    versions = told(here, *(f"The tower is {colour}" for colour in ("red", "blue", "grey", "white", "green")))
    for old, new in itertools.pairwise(versions):
        here.link(new, old, "supersedes")
    newest = versions[-1]
    assert [here.get(each).state for each in versions] == ["superseded"] * 4 + ["active"]
    assert here.related(newest) == []
    assert numbers(here.related(versions[0], depth=4)) == [newest]  # through those that were replaced in turn
    assert list(here.related(versions[0], depth=4)[0].why.values()) == [pytest.approx(0.63)] * 4
    here.forget(newest)
    assert here.related(versions[0], depth=4) == []


@pytest.mark.covers("S4-3")
def test_a_memory_that_was_forgotten_or_erased_is_on_no_way(here: Memory) -> None:
    a, b, c = told(here, "One is here", "Two is there", "Three is elsewhere")
    here.link(a, b)
    here.link(b, c)
    here.forget(b)
    assert here.related(a) == [] == here.path(a, c)
    here.restore(b)
    assert numbers(here.related(a)) == [b, c]
    here.erase(b)
    assert here.related(a) == []


# ---------------------------------------------------------------- path


@pytest.mark.covers("C4-8", "S4-3")
def test_a_path_is_the_chain_of_what_connects_two(here: Memory) -> None:
    a, b, c = told(here, "One is here", "Two is there", "Three is elsewhere")
    [d] = told(here, "Four knows Marlowe")
    [e] = told(here, "Ask Marlowe about five")
    here.link(a, b)
    here.link(c, b, "supersedes")
    here.link(d, c, weight=0.4)
    found = here.path(a, e)
    assert numbers(found) == [] == here.path(e, a)  # b was replaced, and nothing leads to it
    here.link(a, c, "derived_from")
    found = here.path(a, e)
    assert numbers(found) == [a, c, d, e] and found[0].why == {}
    assert [next(iter(hit.why)) for hit in found[1:]] == ["derived_from", "relates_to", "name Marlowe"]
    assert numbers(here.path(e, a)) == [e, d, c, a]
    assert numbers(here.path(b, c)) == [b, c] and numbers(here.path(c, b)) == [c, b]
    assert numbers(here.path(a, a)) == [a]


def test_a_path_ends_somewhere(here: Memory) -> None:
    chain = told(here, *(f"Link number{chr(97 + n)} of a chain" for n in range(12)))
    for one, other in itertools.pairwise(chain):
        here.link(one, other)
    assert numbers(here.path(chain[0], chain[6])) == chain[:7]
    assert here.path(chain[0], chain[11]) == []


# ---------------------------------------------------------------- similar


@pytest.mark.covers("S4-25", "W4-5")
def test_similar_goes_by_words_and_meaning_together() -> None:
    memory = Memory(":memory:", embed="static")
    a, b, c, d = told(
        memory, "The deploy to staging failed with error E4021", "Rolling out to the test environment broke again",
        "E4021 means that the token expired", "Grandma likes plum cake with cinnamon",
    )  # fmt: skip
    told(
        memory,
        *(f"Shelf {n} holds {what}" for n, what in enumerate(("nails", "rope", "paint", "tape", "glue", "wire"))),
    )
    near = numbers(memory.similar(a))
    assert near[0] == c and a not in near and d not in near
    assert b in numbers(memory.similar(a, limit=50))
    assert near[: len(near)] == numbers(memory.similar(a))
    assert Memory(":memory:", embed="none").count() == 0
    with pytest.raises(NotFound):
        memory.similar(999)


@pytest.mark.covers("S4-25")
def test_similar_works_without_vectors_and_says_nothing_where_nothing_is_alike(here: Memory) -> None:
    a, b, _ = told(here, "Staging runs Postgres on port 5433", "Postgres listens on port 5433", "Plums ripen in August")
    [lonely] = told(here, "Zebras cross elsewhere")
    assert numbers(here.similar(a)) == [b] and here.similar(lonely) == []


# ---------------------------------------------------------------- the cascade


@pytest.mark.covers("S4-7", "N4-9", "W4-7")
def test_a_question_brings_what_its_best_hit_is_linked_with(here: Memory) -> None:
    a, b, c, d = told(
        here, "The harbour crane needs a permit", "Permission forms lie with Oona", "Oona works on Mondays only",
        "Lunch is at noon",
    )  # fmt: skip
    here.link(a, b, weight=0.8)
    here.link(b, c, weight=0.5)
    found = here.recall("what does the harbour crane need?")
    assert numbers(list(found)) == [a, b, c] and d not in numbers(list(found))
    first, second, third = found
    plain = Memory(":memory:", embed="none", design=HEBBIAN, clock=here._tools.clock)
    told(plain, "The harbour crane needs a permit")
    assert first.score == pytest.approx(plain.recall("what does the harbour crane need?")[0].score, rel=0.5)
    assert f"relates_to [id:{b}]" in second.why and f"from [id:{a}]" in second.why
    assert second.score == pytest.approx(math.prod(second.why.values()))
    assert second.why[f"relates_to [id:{b}]"] == pytest.approx(0.56)
    assert third.why[f"relates_to [id:{c}]"] == pytest.approx(0.35)
    note = next(step.note for step in found.trace if step.stage == "Cascade")
    assert note is not None and f"[id:{b}] from [id:{a}], relates_to [id:{b}]" in note
    assert numbers(list(here.recall("what does the harbour crane need?", limit=1))) == [a]


@pytest.mark.covers("S4-7")
def test_under_balanced_a_rescued_memory_is_a_chance_like_the_others(clock: MovableClock) -> None:
    memory = Memory(":memory:", clock=clock, embed="none", design=cascading(BALANCED))
    a, b = told(memory, "The harbour crane needs a permit", "Forms lie with Oona")
    told(memory, *(f"Shelf {n} holds {what}" for n, what in enumerate(("nails", "rope", "paint", "tape", "glue"))))
    memory.link(a, b, weight=1.0)
    found = {hit.number: hit for hit in memory.recall("does the harbour crane need a permit?", min_relevance=0.0)}
    hit = found[b]
    total = sum(signal.contribution for signal in hit.signals)
    assert hit.score == pytest.approx(1 / (1 + math.exp(-total))) and hit.score < found[a].score
    assert hit.why["relevance"] <= 0.7 and f"relates_to [id:{b}]" in hit.why


@pytest.mark.covers("W4-7")
def test_a_hit_keeps_the_better_of_its_own_score_and_what_arrives(here: Memory) -> None:
    a, b = told(
        here, "The harbour crane needs a permit for the harbour crane", "A crane is a bird, and much else is said here"
    )
    found = {hit.number: hit.score for hit in here.explain("harbour crane permit", limit=9)}
    here.link(a, b, weight=1.0)
    after = {hit.number: hit for hit in here.explain("harbour crane permit", limit=9)}
    assert len(after) == 2 and after[a].score == found[a]  # a seed, and once
    assert after[b].score == found[b]  # which is a seed too, and keeps its own
    few = Memory(":memory:", embed="none", design=cascading(HEBBIAN, Cascade(seeds=1)), clock=here._tools.clock)
    told(few, "The harbour crane needs a permit for the harbour crane", "A crane is a bird, and much else is said here")
    few.link(1, 2, weight=1.0)
    lifted = {hit.number: hit for hit in few.explain("harbour crane permit", limit=9)}
    assert lifted[b].score > found[b] and lifted[b].score < lifted[a].score
    assert any(name.startswith("linked from [id:1], relates_to [id:2]") for name in lifted[b].why)


@pytest.mark.covers("W4-7", "S4-7")
def test_the_cascade_brings_nothing_that_does_not_hold(here: Memory, clock: MovableClock) -> None:
    a, b, c, d = told(here, "The harbour crane needs a permit", "Old forms", "Older forms", "Ends soon")
    for other in (b, c, d):
        here.link(a, other)
    here.forget(b)
    [e] = told(here, "Newer ways")
    here.link(e, c, "supersedes")
    here.revise(d, valid_to=START + timedelta(days=1))
    assert numbers(list(here.recall("harbour crane permit"))) == [a, d]
    clock.move(days=2)
    assert numbers(list(here.recall("harbour crane permit"))) == [a]
    assert numbers(list(here.recall("harbour crane permit", as_of=START))) == [a]
    assert [hit.number for hit in here.recall("harbour crane permit", kinds=["decision"])] == []


@pytest.mark.covers("S4-3")
def test_links_cross_scopes_that_may_be_read_and_never_others() -> None:
    everything = access_for("admin", "project/atlas")
    memory = Memory(":memory:", access=everything, embed="none", project="atlas", design=cascading(HEBBIAN))
    [a] = told(memory, "The harbour crane needs a permit")
    [b] = told(memory, "Forms lie with Oona", scope="project/other")
    [c] = told(memory, "Oona is away", scope="user/ann")
    [d] = told(memory, "For everybody", scope="global")
    for other in (b, c, d):
        memory.link(a, other)
    memory.link(b, d, weight=0.9)
    reader = memory.through(replace(access_for("reader", "project/atlas"), reads=("project/atlas", "global")))
    assert set(numbers(memory.related(a))) == {b, c, d}
    assert numbers(reader.related(a, depth=4)) == [d] and reader.path(a, d) != []
    assert set(numbers(list(memory.recall("harbour crane permit")))) == {a, b, d}  # what is Ann's comes for Ann
    assert set(numbers(list(memory.recall("harbour crane permit", user="ann")))) == {a, b, c, d}
    assert set(numbers(list(reader.recall("harbour crane permit")))) == {a, d}
    with pytest.raises(NotFound):
        reader.path(a, b)
    assert reader.through(Access(reads=("project/none",))).count() == 0


# ---------------------------------------------------------------- nasty


@pytest.mark.covers("W4-7")
def test_self_links_and_circles_of_supersession_are_harmless(here: Memory) -> None:
    a, b, c = told(here, "The harbour crane needs a permit", "Forms lie with Oona", "Oona is away")
    ids = [here.get(each).id for each in (a, b, c)]
    circle = [Link(one, other, "supersedes") for one, other in zip(ids, (*ids[1:], ids[0]), strict=True)]
    tied_at_once(here, [Link(id, id, "relates_to") for id in ids] + circle)
    assert set(numbers(here.related(a, depth=4))) == {b, c}
    assert numbers(here.path(a, c)) in ([a, c], [a, b, c])
    assert numbers(list(here.recall("harbour crane permit")))[0] == a
    with pytest.raises(Invalid, match="itself"):
        here.link(a, a)


@pytest.mark.covers("W4-7", "N4-9")
def test_a_hub_hands_little_to_each_and_is_read_in_part(here: Memory) -> None:
    [hub] = told(here, "The harbour crane needs a permit")
    leaves = here.remember_many(f"Leaf {n}" for n in range(rounds(100_000, 0.01)))
    hub_id = here.get(hub).id
    tied_at_once(here, [Link(hub_id, str(leaf.id), "relates_to", 0.9) for leaf in leaves])
    near = here.related(hub, depth=1, limit=1000)
    assert 0 < len(near) <= TIES_AT_MOST
    assert near[0].score == pytest.approx(0.9 * 0.7 * shared_out(TIES_AT_MOST))
    found = here.recall("harbour crane permit", limit=50)
    assert found[0].number == hub and len(found) <= 1 + Cascade().fan
    assert here.path(leaves[-1], leaves[-2]) and here.related(leaves[-1])


# ---------------------------------------------------------------- fading


@pytest.mark.covers("S1-19")
def test_a_relation_loosens_while_it_is_not_used_and_nothing_is_stored(here: Memory, clock: MovableClock) -> None:
    a, b = told(here, "The harbour crane needs a permit", "Forms lie with Oona")
    here.link(a, b, weight=0.8)
    assert here.related(a)[0].score == pytest.approx(0.56)
    clock.move(days=90)
    assert here.related(a)[0].score == pytest.approx(0.56 * 0.75)
    assert here.links(a)[0].weight == 0.8
    clock.move(days=9000)
    assert here.related(a)[0].score == pytest.approx(0.56 * LOOSEST)
    receipt = here.recall("harbour crane permit").receipt
    here.used(receipt, ids=[a, b])
    here._slices.join()
    assert here.related(a)[0].score > 0.56


def test_a_pinned_memory_does_not_loosen_a_relation(here: Memory) -> None:
    records = [here.get(each) for each in told(here, "One is here", "Two is there")]
    pinned: list[Record] = [replace(each, pinned=True) for each in records]
    later = START + timedelta(days=900)
    assert bond(*records, later) == pytest.approx(LOOSEST, abs=0.01) and bond(*pinned, later) == 1.0
    assert bond(*records, START - timedelta(days=9)) == 1.0


# ---------------------------------------------------------------- used together


@pytest.mark.covers("S1-19", "X23", "S4-25", "S4-6")
def test_what_was_used_together_is_tied_and_grows(here: Memory) -> None:
    a, b, c = told(here, "The harbour crane needs a permit", "A permit for a crane costs 90", "A crane is also a bird")
    weights = []
    for _ in range(12):
        receipt = here.recall("crane permit").receipt
        report = here.used(receipt, ids=[a, b])
        here._slices.join()
        here.used(receipt, ids=[a, b])  # which is counted once
        here._slices.join()
        [link] = here.links(a)
        weights.append(link.weight)
        assert link.evidence == f"used together {len(weights)}×, last: receipt {receipt}"
    assert weights[0] == FIRST_USE and weights == sorted(set(weights)) and weights[-1] < STRONGEST
    assert here.links(c) == []  # shown together is not used together
    before = here.links(a)[0]
    here.undo(report.batch)
    assert here.links(a)[0].weight == weights[-2] < before.weight
    assert here.audit().ok


@pytest.mark.covers("S1-19", "X23")
def test_feedback_ties_what_was_useful_for_one_question(here: Memory, clock: MovableClock) -> None:
    a, b, c = told(here, "The harbour crane needs a permit", "A permit for a crane costs 90", "A crane is also a bird")
    receipt = here.recall("crane permit").receipt
    here.feedback(a, "useful", receipt=receipt)
    here._slices.join()
    assert here.links(a) == []
    here.feedback(b, "useful", receipt=receipt)
    here._slices.join()
    here.feedback(c, "irrelevant", receipt=receipt)
    here._slices.join()
    assert [(link.kind, link.weight) for link in here.links(a)] == [("relates_to", FIRST_USE)]
    assert here.links(c) == []
    clock.move(minutes=5)  # what was useful when it was asked before is not used now
    other = here.recall("crane permit").receipt
    here.used(other, ids=[a])
    here._slices.join()
    here.feedback(c, "useful", receipt=other)
    here._slices.join()
    assert len(here.links(c)) == 1 and len(here.links(a)) == 2


@pytest.mark.covers("X23")
def test_only_a_design_that_asks_for_it_ties_what_was_used(clock: MovableClock) -> None:
    memory = Memory(":memory:", clock=clock, embed="none", design=HEBBIAN)
    told(memory, "The harbour crane needs a permit", "A permit for a crane costs 90")
    memory.used(memory.recall("crane permit").receipt, ids=[1, 2])
    assert memory.links(1) == [] and not HEBBIAN.associates and not BALANCED.associates


@pytest.mark.covers("S1-19", "S4-6")
def test_a_relation_made_by_hand_keeps_its_evidence_and_is_never_weakened(here: Memory) -> None:
    a, b, c = told(here, "The harbour crane needs a permit", "A permit for a crane costs 90", "A crane is also a bird")
    here.link(b, a, weight=0.5, evidence="the clerk said so")
    here.link(a, c, weight=1.0)
    here.used(here.recall("crane permit").receipt, ids=[a, b, c])
    here._slices.join()
    links = {frozenset((link.a, link.b)): link for link in here.links(a)}
    ends = {n: here.get(n).id for n in (a, b, c)}
    assert links[frozenset((ends[a], ends[b]))] == Link(ends[b], ends[a], "relates_to", 0.58, "the clerk said so")
    assert links[frozenset((ends[a], ends[c]))].weight == 1.0


def credited(memory: Memory, ids: list[str]) -> int:
    """How many relations a question makes for which these were of use."""
    receipt = memory.recall("what is here?").receipt
    memory._writer.flush()
    return credit(receipt, ids, memory._caller)


@pytest.mark.covers("S1-19")
def test_ties_of_one_answer_are_bounded_and_unknown_ids_are_left_out(here: Memory) -> None:
    many = [here.get(n).id for n in told(here, *(f"Thing {n} of many" for n in range(20)))]
    made = credited(here, [*many, "m0", "nothing"])
    assert made == TIED_AT_ONCE * (TIED_AT_ONCE - 1) // 2
    assert credited(here, ["m0", "nothing"]) == 0 == credited(here, [])
    here.forget(1)
    assert credited(here, many[:2]) == 0  # the first is no longer there


@pytest.mark.covers("S1-19")
def test_a_hub_gets_no_more_ties_by_use(here: Memory) -> None:
    [hub] = told(here, "The harbour crane needs a permit")
    leaves = here.remember_many(f"Leaf {n}" for n in range(70))
    id = here.get(hub).id
    tied_at_once(here, [Link(id, str(leaf.id), "relates_to", 0.1 + n / 1000) for n, leaf in enumerate(leaves[:65])])
    assert credited(here, [id, str(leaves[69].id)]) == 0
    assert credited(here, [id, str(leaves[64].id)]) == 1
