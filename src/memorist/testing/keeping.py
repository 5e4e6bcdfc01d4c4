"""What every store promises about keeping order: batches, runs of upkeep, what a record weighs, and what erasing leaves.

Part of `StoreContract`; apart from it only because a file should be read in one go.
"""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from memorist.access import Access
from memorist.records import Counters, Link, Record, Times
from memorist.store.journal import broken, seal
from memorist.store.nouns import Counted, KeyUse, Receipt, Run, Sealed, footprint, shelf_of
from memorist.store.protocol import Store
from memorist.store.where import Order, Where
from memorist.testing.records import (
    EVERYWHERE,
    START,
    a_full_record,
    a_record,
    an_event,
    journalled,
    moment,
    stored,
)

RUN = Run(0, "default", "prune", "running", "me", moment(1), START, START)


def a_tombstone(record: Record) -> Sealed:
    times = Times(record.times.created, record.times.created, moment(3))
    stone = Record(record.id, record.space, record.scope, record.kind, "", times, record.number, state="erased")
    return seal(stone, b"another key 1234")


def erased(store: Store, *records: Record) -> tuple[Sequence[int], set[str]]:
    with store.transaction():
        gone = store.erase([a_tombstone(record) for record in records])
    return gone.events, set(gone.words)


class KeepingContract:
    """Subclassed by `StoreContract`, which brings the fixture `store`."""

    # ------------------------------------------------------------ words and what was done, counted

    def test_the_vocabulary_is_what_readable_shelves_hold_in_order(self, store: Store) -> None:
        first, other = (
            a_record("Authors authenticate in Zürich, gen-itgc"),
            a_record("Secret auction", scope="user/ann"),
        )
        stored(store, first, other, a_record("Old author of audits", state="archived"))
        shelves = [shelf_of(first), shelf_of(other)]
        only_here = Where(Access(reads=(first.scope,), writes=()))
        assert store.vocabulary("au", shelves, Where(EVERYWHERE), 9) == ["auction", "authent", "author"]
        assert store.vocabulary("au", shelves, only_here, 9) == ["authent", "author"]
        assert store.vocabulary("au", shelves, Where(EVERYWHERE), 2) == ["auction", "authent"]
        assert store.vocabulary("zur", shelves, Where(EVERYWHERE), 9) == ["zurich"]
        assert store.vocabulary("gen", shelves, Where(EVERYWHERE), 9) == ["gen", "gen·itgc"]
        for nothing in ("aux", "x", "%", "*", '"'):
            assert store.vocabulary(nothing, shelves, Where(EVERYWHERE), 9) == []
        assert store.vocabulary("au", [], Where(EVERYWHERE), 9) == []

    def test_a_word_leaves_the_vocabulary_with_its_last_memory(self, store: Store) -> None:
        [one] = stored(store, a_record("Authors"))
        shelves = [shelf_of(one)]
        stored(store, replace(one, text="Readers"))
        assert store.vocabulary("aut", shelves, Where(EVERYWHERE), 9) == []
        assert store.vocabulary("re", shelves, Where(EVERYWHERE), 9) == ["reader"]

    def test_uses_and_deeds_are_counted_by_space(self, store: Store) -> None:
        one, two, far = stored(store, a_record("a"), a_record("b"), a_record("c", space="team"))
        with store.transaction():
            store.count_up(
                [Counted(r.id, Counters(used=n, surfaced=7), START) for r, n in ((one, 2), (two, 3), (far, 50))]
            )
        journalled(store, an_event(one, 1), an_event(two, 2, verb="evicted", surface="upkeep"))
        journalled(store, an_event(far, 3, verb="evicted", surface="upkeep"), an_event(one, 4, verb="evicted"))
        assert (store.uses("default"), store.uses("team"), store.uses("nobody")) == (5, 50, 0)
        assert (store.happened("default", ["evicted"]), store.happened("default", ["evicted"], "upkeep")) == (2, 1)
        assert (store.happened("team", ["evicted"], "upkeep"), store.happened("default", ["promoted"])) == (1, 0)
        assert (store.happened("default", ["evicted", "added"]), store.happened("default", [])) == (3, 0)

    # ------------------------------------------------------------ the journal by batch

    def test_a_batch_is_found_by_its_name_in_order(self, store: Store) -> None:
        one, other = stored(store, a_record("a"), a_record("b"))
        journalled(store, an_event(one, 1, batch="b1"), an_event(other, 2, batch="b1"))
        journalled(store, an_event(one, 3, batch="b3"))
        journalled(store, an_event(other, 4, batch="b1"))  # a batch may take several transactions
        assert [event.seq for event in store.batch("b1")] == [1, 2, 4]
        assert [event.seq for event in store.batch("b3")] == [3]
        for nobody in ("b2", "b", "", "x1", "b-1", "b" + "9" * 30, "b1'"):
            assert store.batch(nobody) == []

    def test_the_latest_events_come_newest_first_and_page_by_page(self, store: Store) -> None:
        [one] = stored(store, a_record())
        for seq in range(1, 8):
            journalled(store, an_event(one, seq, batch=f"b{seq}"))
        assert [event.seq for event in store.latest(None, 3)] == [7, 6, 5]
        assert [event.seq for event in store.latest(5, 99)] == [4, 3, 2, 1]
        assert store.latest(1, 5) == []

    # ------------------------------------------------------------ upkeep

    def test_briefs_weigh_what_is_visible_and_fits(self, store: Store) -> None:
        text = "Überblick " * 9
        big, small, hidden = stored(
            store, a_record(text, pinned=True, tags=("x",)), a_record("b"), a_record("c", scope="project/other")
        )
        store.count_up([Counted(small.id, Counters(up=2, rejected=1), moment(5))])
        access = replace(EVERYWHERE, reads=("project/atlas",))
        found = {brief.id: brief for brief in store.briefs(Where.of(access, {"kind": "fact"}))}
        assert set(found) == {big.id, small.id}
        assert found[big.id].bytes == footprint(len(text.encode()) + len('["x"]'))
        assert (found[big.id].pinned, found[big.id].since) == (True, START)
        assert (found[small.id].counters, found[small.id].since) == (Counters(up=2, rejected=1), moment(5))
        assert (found[small.id].number, found[small.id].bytes) == (small.number, footprint(1))
        assert (found[big.id].scope, found[big.id].kind, found[big.id].trust) == (big.scope, big.kind, big.trust)
        assert (found[big.id].status, found[big.id].importance) == (big.status, big.importance)
        assert (found[small.id].confidence, found[small.id].touched) == (small.confidence, moment(5))
        assert found[big.id].touched == big.times.updated
        assert hidden.id not in found

    def test_runs_are_kept_changed_and_listed_newest_first(self, store: Store) -> None:
        with store.transaction():
            first = store.save_run(RUN)
            store.save_run(replace(RUN, id=first, state="done", batch="b1", checkpoint={"last": "m1"}, changed=3))
            second = store.save_run(RUN)
            store.save_run(replace(RUN, job="merge", space="team", problem="no room"))
        [newest, oldest] = store.runs("default", None, 9)
        assert (newest.id, oldest.id) == (second, first)
        assert oldest == replace(RUN, id=first, state="done", batch="b1", checkpoint={"last": "m1"}, changed=3)
        assert store.runs("default", "merge", 9) == []
        assert [run.problem for run in store.runs("team", "merge", 9)] == ["no room"]
        assert [run.id for run in store.runs("default", "prune", 1)] == [second]

    def test_a_run_that_fails_to_commit_was_never_there(self, store: Store) -> None:
        with pytest.raises(RuntimeError), store.transaction():
            store.save_run(RUN)
            raise RuntimeError
        assert store.runs("default", None, 9) == []

    # ------------------------------------------------------------ erasing

    def test_questions_wait_in_order_and_go_with_what_they_are_about(self, store: Store) -> None:
        [one, two] = stored(store, a_record("The heron nests here"), a_record("Storks nest on the roof"))
        stored(store, a_record("Clear nights in the attic"))
        asked = replace(RUN, job="question", state="asks")
        with store.transaction():
            ids = [
                store.save_run(replace(asked, question={"details": {"id": one.id}, "more": [1, None]})),
                store.save_run(replace(asked, question={"summary": "Move the STORKS?"})),
                store.save_run(replace(asked, question={"summary": "Clear the attic?"})),
                store.save_run(replace(asked, space="team", question={})),
            ]
        assert [run.id for run in store.questions("default")] == ids[:3]
        assert next(run.question for run in store.questions("default")) == {
            "details": {"id": one.id},
            "more": [1, None],
        }
        erased(store, one)
        assert [run.id for run in store.questions("default")] == ids[1:3]
        erased(store, two)
        [left] = store.questions("default")
        assert left.question == {"summary": "Clear the attic?"}
        gone = [run for run in store.runs("default", "question", 9) if run.id != left.id]
        assert [(run.state, run.question) for run in gone] == [("withdrawn", None)] * 2
        with store.transaction():
            store.save_run(replace(left, state="done", question=None))
        assert store.questions("default") == [] and len(store.questions("team")) == 1

    def test_the_past_texts_of_a_memory_are_found_wherever_they_lie(self, store: Store) -> None:
        [head, other] = stored(store, a_record("a"), a_record("b"))
        past = [
            a_record("c", state="superseded", superseded_by=head.id),
            a_record("d", state="archived", scope="user/ann", superseded_by=head.id),
            a_record("e", state="superseded", superseded_by=other.id),
        ]
        stored(store, *past)
        assert [record.text for record in store.pasts([head.id])] == ["c", "d"]
        assert [record.text for record in store.pasts([other.id, head.id])] == ["c", "d", "e"]
        assert store.pasts([past[0].id, "nobody"]) == []

    def test_an_erased_record_is_a_tombstone_that_no_question_finds(self, store: Store) -> None:
        full = replace(a_full_record(), space="default", state="active")
        [gone, kept] = stored(store, full, a_record("Staging runs Postgres"))
        store.count_up([Counted(gone.id, Counters(up=3), moment(4))])
        _, words = erased(store, gone)
        assert "databas" in words or "database" in words  # what only it held
        assert not words & {"postgres", "postgr"}
        [stone] = store.get([gone.id], Where(EVERYWHERE))
        assert (stone.text, stone.tags, stone.counters, stone.times.used) == ("", (), Counters(), None)
        assert (stone.number, stone.state) == (gone.number, "erased")
        assert [finding for finding in store.checkup() if not finding.ok] == []
        assert [record.id for record in store.find(Where.of(EVERYWHERE, {"state": "active"}), Order(), 9)] == [kept.id]

    def test_events_links_keys_and_receipts_lose_their_words(self, store: Store) -> None:
        gone, kept = stored(store, a_record("heron weir"), a_record("stork roof"))
        told = {"other": gone.id, "was": None, "now": ["relates_to", 1.0, "the heron"]}
        first = an_event(gone, 1, before={"title": "heron"}, because="the heron")
        journalled(store, first, an_event(kept, 2, verb="linked", before=told, because="linked"))
        journalled(store, an_event(kept, 3, verb="pinned", before={"pinned": 0}, because="why not"))
        shown = ((gone.id, 0.5),)
        lines = [
            Receipt("r1", START, "default", "the heron", "me", "cli", None, 1.0, ()),
            Receipt("r2", START, "default", "anything", "me", "cli", None, 1.0, shown),
            Receipt("r3", START, "default", "stork", "me", "cli", None, 1.0, ((kept.id, 0.5),)),
        ]
        with store.transaction():
            store.write_links(
                [Link(gone.id, kept.id, "relates_to", 1.0, "heron"), Link(kept.id, gone.id, "contradicts")], []
            )
            store.write_key_uses([KeyUse("k", "d", gone.id, "added", START), KeyUse("l", "e", kept.id, "added", START)])
            store.log(lines, 100, START)
        events, words = erased(store, gone)
        assert (list(events), words) == ([2], {"heron", "weir"})
        assert [(e.before, e.because) for e in store.journal(gone.id)] == [(None, None)]
        assert [(e.before, e.because) for e in store.journal(kept.id)] == [(None, None), ({"pinned": 0}, "why not")]
        assert store.links_of([kept.id], Where(EVERYWHERE)) == []
        assert [(use.draft, use.outcome) for use in map(store.key_use, "kl") if use] == [("", "erased"), ("e", "added")]
        assert [line.id for line in store.receipts("default", 9)] == ["r3"]
        assert broken(store.chain()) is None

    def test_an_erasure_that_fails_to_commit_took_nothing(self, store: Store) -> None:
        [one] = stored(store, a_record("heron weir"))
        journalled(store, an_event(one, 1, because="the heron"))
        with pytest.raises(RuntimeError), store.transaction():
            store.erase([a_tombstone(one)])
            raise RuntimeError
        assert [record.text for record in store.get([one.id], Where(EVERYWHERE))] == ["heron weir"]
        assert store.journal(one.id)[0].because == "the heron"
        assert [finding for finding in store.checkup() if not finding.ok] == []

    def test_scrubbing_and_compacting_keep_everything_else(self, store: Store) -> None:
        gone, kept = stored(store, a_record("heron weir"), a_record("stork roof"))
        _, words = erased(store, gone)
        assert store.scrub([word.encode() for word in words]) is None
        store.compact()
        assert [record.text for record in store.get([kept.id], Where(EVERYWHERE))] == ["stork roof"]
        assert [finding for finding in store.checkup() if not finding.ok] == []

    def test_tidying_ends_and_changes_no_answer(self, store: Store) -> None:
        for number in range(8):  # each transaction leaves a piece of the index behind
            (record,) = stored(store, a_record(f"the harbour is {number} miles away"))
        shelf = shelf_of(record)
        before = store.match(["harbour", "mile"], [shelf], Where(EVERYWHERE), 10)
        steps = 0
        while store.tidy():
            steps += 1
            assert steps < 100
        assert store.match(["harbour", "mile"], [shelf], Where(EVERYWHERE), 10) == before and len(before.hits) == 8
        assert all(finding.ok for finding in store.checkup())
