"""The lifecycle verbs, on both stores: each change is seen, journalled, and says because."""

from dataclasses import replace
from datetime import timedelta

import pytest

from memorist import Memory
from memorist.errors import Ambiguous, Conflict, Invalid, NotFound, Refused
from memorist.testing import MovableClock


@pytest.fixture
def one(memory: Memory) -> Memory:
    memory.remember("Staging runs Postgres 15", kind="decision", tags=["db"])
    return memory


@pytest.mark.covers("W1-5")
def test_an_ambiguous_reference_names_the_candidates(one: Memory) -> None:
    other = one.remember("another").record
    assert other is not None
    with pytest.raises(Ambiguous, match=r"another.*use more of the id") as caught:
        one.get("m01k"[:1] + other.id[1:6])
    assert one.get(1).id in str(caught.value)
    with pytest.raises(NotFound):
        one.get("m0")  # too short to be meant


def test_revising_fields_without_text_makes_no_second_record(one: Memory) -> None:
    one.access = replace(one.access, origin="user")
    one.revise(1, kind="fact", importance=0.2, scope="global", title="db")
    record = one.get(1)
    assert (record.kind, record.importance, record.scope, record.title) == ("fact", 0.2, "global", "db")
    assert one.list({"state": "superseded"}) == []
    assert one.recall("postgres")[0].record.id == record.id


def test_a_memory_that_changed_meanwhile_is_not_forgotten_unseen(one: Memory) -> None:
    one.pin(1)
    with pytest.raises(Conflict, match="at version 2, not 1"):
        one.forget(1, expected_version=1)
    with pytest.raises(Invalid, match="of one memory"):
        one.forget(where={"kind": "fact"}, expected_version=1)  # type: ignore[call-overload]
    assert one.get(1).state == "active"
    assert one.forget(1, expected_version=2).outcome == "changed" and one.get(1).state == "archived"


def test_a_turn_stays_as_it_was_said(memory: Memory) -> None:
    memory.remember("I moved to Oslo", kind="turn", role="user")
    with pytest.raises(Refused, match="stays as it was said"):
        memory.revise(1, "I moved to Bergen")


def test_what_is_so_already_is_unchanged_and_not_journalled(one: Memory) -> None:
    assert one.pin(1).outcome == "changed"
    assert one.pin(1).outcome == "unchanged"
    assert one.tag(1, "db").outcome == "unchanged"
    assert one.restore(1).outcome == "unchanged"
    assert [event.verb for event in one.history(1)] == ["added", "pinned"]


def test_feedback_counts_and_only_useful_resets_the_clock(one: Memory, clock: MovableClock) -> None:
    clock.move(days=3)
    one.feedback(1, "irrelevant")
    one.feedback(1, "wrong")
    assert one.get(1).times.used is None
    one.feedback(1, "useful")
    counters = one.get(1).counters
    assert (counters.up, counters.down, counters.rejected, counters.used) == (1, 1, 1, 1)
    assert one.get(1).times.used == clock()
    with pytest.raises(Invalid, match="useful, irrelevant, wrong"):
        one.feedback(1, "great")


def test_the_timeline_is_in_the_order_of_what_happened(memory: Memory, clock: MovableClock) -> None:
    start = clock()
    for day in (5, 1, 4, 2, 3):
        memory.remember(f"day {day}", at=start + timedelta(days=day))
    assert [r.text for r in memory.timeline()] == [f"day {n}" for n in (1, 2, 3, 4, 5)]
    assert [r.text for r in memory.timeline(start + timedelta(days=3), limit=3)] == ["day 2", "day 3", "day 4"]
    middle = memory.list({"text": "day 5"})[0]
    assert [r.text for r in memory.timeline(middle.id, limit=2)] == ["day 4", "day 5"]


def test_the_bus_tells_and_a_failing_listener_harms_nobody(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[str] = []

    def failing(event: str, facts: object) -> None:
        raise RuntimeError("listener broke")

    memory.bus.listen(failing)
    stop = memory.bus.listen(lambda event, facts: heard.append(f"{event} {facts.get('outcome', '')}".strip()))
    memory.remember("a b c")
    memory.recall("a b c")
    memory.get(1)
    stop()
    memory.pin(1)
    assert heard == ["memory:write added", "memory:search", "memory:read"]
    assert "listener broke" in caplog.text


@pytest.mark.covers("S4-24")
def test_while_memory_is_off_every_verb_says_so(one: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_OFF", "1")
    assert one.remember("x").outcome == "refused" and "MEMORIST_OFF" in one.remember("x").because
    assert not one.recall("postgres") and "off" in (one.recall("postgres").empty_because or "")
    for verb in (
        lambda: one.pin(1),
        lambda: one.revise(1, "x"),
        lambda: one.forget(1),
        lambda: one.feedback(1, "useful"),
    ):
        with pytest.raises(Refused, match="MEMORIST_OFF"):
            verb()
    assert "off" in one.status()["memory"]
    monkeypatch.delenv("MEMORIST_OFF")
    assert one.count() == 1 and one.recall("postgres")


def test_history_shows_who_did_what_and_what_was_there_before(one: Memory) -> None:
    one.pin(1)
    one.revise(1, "Staging runs Postgres 16")
    one.forget(1)
    events = one.history(1)
    assert [event.verb for event in events] == ["added", "pinned", "revised", "forgotten"]
    assert events[1].before == {"pinned": 0} and events[3].before == {"state": "active", "reason": None}
    assert events[2].before is not None and one.get(events[2].before["superseded"]).text == "Staging runs Postgres 15"
    assert len({event.batch for event in events}) == 4
