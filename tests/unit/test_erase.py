"""Erasing by id and by filter: what goes, what stays, and what cannot come back."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from memorist import Memory
from memorist.access import access_for
from memorist.errors import Conflict, Invalid, NotFound, OutOfScope, Refused, StoreUnavailable
from memorist.noun import plain
from memorist.records import Event
from memorist.remember import erase as erasing
from memorist.store.journal import Audit
from memorist.store.nouns import ChainLink, event_mac, seal
from memorist.store.writer import unscrubbed
from memorist.testing import MovableClock


@pytest.mark.covers("G4", "S4-24")
def test_a_tombstone_stays_and_holds_nothing(memory: Memory) -> None:
    memory.remember("Ann lives in Rowan Street", title="Address", tags=["ann"], files=["ann.md"], data={"no": 7},
                    session="s1", speaker="Ann", agent="a1", task="t1", pinned=True, importance=0.9)  # fmt: skip
    memory.feedback(1, "useful")
    report = memory.erase(1, because="she asked for it")
    assert [each.number for each in report.changed] == [1]
    stone = memory.get(1)
    assert (stone.state, stone.text, stone.reason) == ("erased", "", "she asked for it")
    assert (stone.title, stone.tags, stone.files, stone.data, stone.fingerprint) == (None, (), (), {}, "")
    assert (stone.counters.up, stone.pinned, stone.provenance.session, stone.provenance.speaker) == (
        0,
        False,
        None,
        None,
    )
    events = memory.history(1)
    assert [event.verb for event in events] == ["added", "feedback", "erased"]
    assert all(event.before is None and event.because is None for event in events[:-1])
    assert memory.audit().ok
    assert all(finding.ok for finding in memory.doctor())


def test_past_texts_go_with_it_wherever_they_lie(memory: Memory) -> None:
    memory.remember("The code word is heron")
    memory.revise(1, "The code word is stork")
    memory.revise(1, scope="user/ann")
    memory.revise(1, "The code word is egret")
    assert len(memory.erase(1).changed) == 3
    for word in ("heron", "stork", "egret"):
        assert not memory.recall(word, search="all", user="ann")
    assert memory.count({"state": "erased"}) == 3


def test_a_filter_means_forgotten_and_past_texts_too_unless_it_says_otherwise(memory: Memory) -> None:
    memory.remember("Alpha lies north", tags=["x"], session="s1")
    memory.revise(1, "Alpha lies south")
    memory.forget(1)
    memory.remember("Beta lies west", tags=["x"], session="s1")
    assert [each.number for each in memory.erase(where={"tags": ["x"], "state": "active"}).changed] == [3]
    assert {each.number for each in memory.erase(where={"session": "s1"}).changed} == {1, 2}


def test_a_second_erasure_changes_nothing(memory: Memory) -> None:
    memory.remember("Alpha lies north")
    memory.erase(1)
    before = memory.audit().events
    report = memory.erase(1)
    assert (report.changed, list(report.left.values())) == ((), ["it is erased already"])
    assert memory.audit().events == before


def test_a_key_goes_with_its_record_and_may_be_used_again(memory: Memory) -> None:
    memory.remember("Alpha lies north", key="k1")
    memory.erase(1)
    again = memory.remember("Beta lies south", key="k1")
    assert (again.outcome, again.record.number if again.record else 0) == ("added", 2)
    assert memory.remember("Beta lies south", key="k1").outcome == "repeated"


def test_a_pinned_tagged_voted_tombstone_cannot_be_made(memory: Memory) -> None:
    memory.remember("Alpha lies north")
    memory.remember("Beta lies south")
    memory.erase(1)
    for change in (
        lambda: memory.pin(1),
        lambda: memory.tag(1, "secret"),
        lambda: memory.feedback(1, "useful"),
        lambda: memory.link(1, 2),
        lambda: memory.link(2, 1, evidence="it said so"),
    ):
        with pytest.raises(Exception, match="erased"):
            change()


def test_links_go_and_what_others_said_about_them(memory: Memory) -> None:
    memory.remember("Alpha lies north")
    memory.remember("Beta lies south")
    memory.link(2, 1, "contradicts", evidence="Alpha cannot lie north")
    memory.pin(2)
    memory.erase(1)
    assert memory.links(2) == []
    verbs = {event.verb: event.before for event in memory.history(2)}
    assert verbs["linked"] is None
    assert verbs["pinned"] is not None
    assert memory.audit().ok


def test_questions_that_only_it_could_answer_leave_the_recall_log(memory: Memory) -> None:
    memory.remember("The heron nests at the weir")
    memory.remember("The stork nests on the roof")
    for question in ("heron", "who nests?", "heronry plans"):
        memory.recall(question)
    memory.recall("stork", limit=1)
    memory._writer.flush()
    memory.erase(1)
    left = [line.query for line in memory._tools.store.receipts("default", 99)]
    assert "heron" not in left
    assert "who nests?" not in left  # it was answered with what is erased
    assert "stork" in left


def test_what_another_process_has_yet_to_note_is_dropped(tmp_path: Path, clock: MovableClock) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, project="atlas", clock=clock) as one, Memory(path, project="atlas", clock=clock) as other:
        one.remember("The heron nests at the weir")
        other.recall("where does the bittern breed, as the heron does?")
        clock.move(seconds=1)
        one.erase(1)
        other._writer.flush()
        assert one._tools.store.receipts("default", 99) == []
        clock.move(seconds=1)
        other.recall("weir")
        other._writer.flush()
        assert [line.query for line in one._tools.store.receipts("default", 99)] == ["weir"]


def test_twins_elsewhere_are_named(memory: Memory) -> None:
    memory.remember("Alpha lies north")
    memory.forget(1)
    memory.remember("Alpha lies north")
    assert "[id:1]" in str(memory.erase(2).advice)


def test_rights_hold(memory: Memory) -> None:
    memory.remember("Alpha lies north")
    other = memory.through(access_for("project", "project/other"))
    with pytest.raises(NotFound):
        other.erase(1)
    reader = memory.through(access_for("reader", "project/atlas"))
    for verb in (reader.erase, reader.forget):
        with pytest.raises(OutOfScope):
            verb(1)
    report = reader.erase(where={"kind": "fact"})
    assert not report.changed and "may not write" in report.left[memory.get(1).id]


@pytest.mark.parametrize("given", [{}, {"id": 1, "where": {"kind": "fact"}}, {"where": {}}])
def test_it_must_be_clear_what_is_meant(memory: Memory, given: dict[str, object]) -> None:
    memory.remember("Alpha lies north")
    with pytest.raises(Invalid):
        memory.erase(**given)  # type: ignore[arg-type]
    with pytest.raises(Invalid):
        memory.forget(**given)  # type: ignore[call-overload]
    assert memory.get(1).state == "active"


# ---------------------------------------------------------------- every way round


def everything(memory: Memory) -> str:
    """All that the store would tell anybody: records, journals, links, receipts, keys."""
    store = memory._tools.store
    states = {"state": {"$in": ["active", "archived", "superseded", "erased"]}}
    records = memory.list(states, limit=1000)
    journal = [event for _, events in store.chain() for event in events]
    links = [memory.links(record.id) for record in records]
    return repr(plain((records, journal, links, store.receipts("default", 1000))))


def test_the_evidence_of_a_link_that_was_taken_back_goes_too(memory: Memory) -> None:
    memory.remember("Alpha lies north")
    memory.remember("Beta lies south")
    memory.link(1, 2, evidence="the heron said so")
    undone = memory.undo()
    memory.erase(2)
    assert "heron" not in everything(memory)
    with pytest.raises(Conflict, match="erased"):
        memory.undo(undone.batch)
    assert memory.links(1) == []
    assert memory.audit().ok


def test_a_past_text_that_is_erased_alone_cannot_come_back_by_any_undo(memory: Memory) -> None:
    memory.remember("The heron nests", title="About herons", tags=["heronry"])
    revised = memory.revise(1, "The stork nests", title="About storks", tags=["storks"]).batch
    undone = memory.undo()
    redone = memory.undo(undone.batch)
    assert [each.number for each in memory.erase(where={"state": "superseded"}).changed] == [2]
    assert "heron" not in everything(memory)
    for batch in (None, revised, undone.batch, redone.batch):
        with pytest.raises((Conflict, Refused), match=r"erased|changed again"):
            memory.undo(batch)
    assert memory.get(1).text == "The stork nests"
    assert memory.audit().ok


def test_after_an_erasure_an_undo_names_the_action_before_it(memory: Memory) -> None:
    pinned = memory.remember("Alpha lies north") and memory.pin(1).batch
    memory.remember("Beta lies south")
    memory.erase(2)
    with pytest.raises(Refused, match=r"erased memories.*undo b2"):
        memory.undo()
    assert memory.undo(pinned).changed


def test_what_a_link_said_cannot_be_guessed_afterwards(memory: Memory) -> None:
    memory.remember("Alpha lies north")
    memory.remember("Beta lies south")
    memory.link(1, 2, evidence="the heron said so")
    memory.erase(2)
    [event] = [event for event in memory.history(1) if event.verb == "linked"]
    key = next(memory._tools.store.seals([event.record])).key
    told = {"other": memory.get(2).id, "was": None, "now": ["relates_to", 1.0, "the heron said so"]}
    assert event_mac(key, told, "linked (relates_to)") != event.mac


def test_a_recall_of_the_moment_before_leaves_no_line_and_no_count(memory: Memory) -> None:
    memory.remember("The heron nests at the weir")
    memory.recall("weir")
    note = memory._writer._notes[-1]
    memory.erase(1)
    memory._writer._notes = [replace(note, at=memory._tools.clock() + timedelta(seconds=1))]  # it saw the state before
    memory._writer.flush()
    assert memory._tools.store.receipts("default", 9) == []
    assert memory.get(1).counters.surfaced == 0


def test_six_hundred_of_one_text_are_erased_without_much_talk(memory: Memory) -> None:
    memory.remember_many([{"text": "ok", "kind": "turn", "session": "s1"} for _ in range(600)])
    memory._tools = replace(memory._tools, confirm=lambda ask: True)
    report = memory.erase(where={"session": "s1"})
    assert (len(report.changed), report.advice) == (600, None)


def test_what_no_longer_fits_the_filter_when_its_turn_comes_is_left(memory: Memory) -> None:
    memory.remember("Alpha lies north", tags=["x"])
    chosen, ids = memory._chosen(None, {"tags": ["x"]}, ("active",))
    memory.tag(1, "y", remove=["x"])
    assert not erasing.erase(ids, "because", chosen, memory._caller).changed


def test_an_interrupted_erasure_is_finished_by_compacting(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.remember("The heronqualm nests at the weir")
    with monkeypatch.context() as patch:
        patch.setattr(erasing, "finish", lambda *_: iter(()))  # killed after the transaction
        memory.erase(1)
    assert "erasures" in [finding.check for finding in memory.doctor() if not finding.ok]
    memory.compact()
    assert all(finding.ok for finding in memory.doctor())
    place = memory._tools.store.path
    if place is not None:
        assert memory.get(1).id in (place.parent / f"{place.name}.erased").read_text()
        memory.close()
        assert all(b"heronqualm" not in file.read_bytes() for file in place.parent.iterdir())


def test_the_list_of_what_was_erased_that_cannot_be_written_is_told_and_made_up_for(tmp_path: Path) -> None:
    (tmp_path / "memory.db.erased").mkdir()
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember("Alpha lies north")
        with pytest.raises(StoreUnavailable, match="compact"):
            memory.erase(1)
        assert memory.get(1).state == "erased"
        (tmp_path / "memory.db.erased").rmdir()
        memory.compact()
        assert memory.get(1).id in (tmp_path / "memory.db.erased").read_text()


def test_a_past_text_that_is_erased_cannot_be_guessed_from_what_its_memory_keeps(memory: Memory) -> None:
    memory.remember("The door code is 4711", key="k")
    first = memory.get(1)
    memory.revise(1, "The door code was changed")
    store = memory._tools.store
    added, old_key = memory.history(1)[0].after, next(store.seals([first.id])).key
    assert seal(first, old_key).checksum == added, "else nothing would be proved"
    memory.erase(2)
    assert seal(first, next(store.seals([first.id])).key).checksum != added
    assert memory.history(1)[-1].verb == "past erased"
    for text in ("The door code is 4711", "The door code is 4712"):  # the key tells the two no longer apart
        assert memory.remember(text, key="k").outcome == "repeated"
    assert memory.audit().ok


def test_a_dry_run_counts_what_the_erasure_does(memory: Memory) -> None:
    memory.remember_many([f"Stop {n} lies there" for n in range(260)])
    memory.revise(230, "Stop 229 was moved")
    memory.remember("What stays: to erase everything, a person has to agree")
    where = {"number": {"$gte": 1, "$lte": 261}}
    memory._tools = replace(memory._tools, confirm=lambda ask: True)
    dry = memory.erase(where=where, dry_run=True)
    assert {each.id for each in dry.changed} == {each.id for each in memory.erase(where=where).changed}
    assert len(dry.changed) == 261


def test_an_erasure_since_keeps_its_mark(memory: Memory) -> None:
    memory.remember("Alpha lies north")
    store, writer = memory._tools.store, memory._writer
    writer.erase([memory.get(1)], memory.access, "by another process, which then died")
    mark = str(store.setting(unscrubbed("default")))
    writer.scrubbed("default", "an older mark")
    assert store.setting(unscrubbed("default")) == mark
    memory.remember("Beta lies south")
    memory.erase(2)
    assert store.setting(unscrubbed("default")) == ""


# ---------------------------------------------------------------- audits while others erase


def meanwhile(memory: Memory, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> Audit:
    """An audit during which somebody acts, after the records were read and before the journal is."""
    store = memory._tools.store
    chain = store.chain

    def after_acting() -> Iterator[tuple[ChainLink, list[Event]]]:
        monkeypatch.setattr(store, "chain", chain)
        act()
        return chain()

    monkeypatch.setattr(store, "chain", after_acting)
    return memory.audit()


@pytest.mark.covers("P21", "G4")
def test_an_erasure_during_an_audit_is_no_tampering(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.remember_many(["Alpha lies north", "Beta lies south", "Gamma lies west"])
    memory.link(1, 2, evidence="they are near")
    memory.revise(3, "Gamma lies east")
    past = memory.list({"state": "superseded"})[0].id
    for act in (lambda: memory.erase(2), lambda: memory.erase(past), lambda: memory.erase(1)):
        assert meanwhile(memory, monkeypatch, act).problems == ()
    assert memory.audit().ok


@pytest.mark.covers("P21")
def test_an_event_that_was_emptied_by_nobody_is_found_also_while_others_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember("Alpha lies north")
        memory.pin(1)
        memory.remember("Beta lies south")
        memory.erase(2)
        one = memory._tools.store._connections.here()  # type: ignore[attr-defined]
        one.execute("UPDATE journal SET before = NULL, because = NULL WHERE seq = 2")
        wrong = ("event 2 was changed after it was written",)
        assert memory.audit().problems == wrong
        assert meanwhile(memory, monkeypatch, lambda: memory.remember("Gamma lies west")).problems == wrong
        assert meanwhile(memory, monkeypatch, lambda: memory.erase(3)).problems == wrong


def test_after_one_past_text_was_erased_the_others_still_go_with_their_memory(memory: Memory) -> None:
    memory.remember("The heron nests")
    memory.revise(1, "The stork nests")
    memory.revise(1, "The egret nests")
    memory.erase(2)
    assert {each.number for each in memory.erase(1).changed} == {1, 3}
    assert not {"heron", "stork", "egret"} & set(everything(memory).split())


def test_what_an_erased_memory_had_replaced_can_be_restored(memory: Memory) -> None:
    memory.remember("The gateway listens on port 8080")
    memory.remember("The gateway now listens on port 9090")
    assert memory.get(1).state == "superseded"
    with pytest.raises(Refused, match="is superseded"):
        memory.restore(1)
    memory.erase(2)
    assert memory.restore(1).outcome == "changed"
    assert [hit.record.text for hit in memory.recall("gateway port")] == ["The gateway listens on port 8080"]
