"""Promise P16: the clock may jump ten years either way, past 2038, over year ends; nothing expires, nothing is deleted, and
somebody is told."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorist import Memory
from memorist.design import Due
from memorist.designs import BALANCED
from memorist.store.nouns import Commit, Run
from memorist.testing import MovableClock
from memorist.upkeep.retain import Expire, Retain, jumped

START = datetime(2026, 6, 1, 12, tzinfo=UTC)
JUMPS = {
    "ten years on": START + timedelta(days=3653),
    "ten years back": START - timedelta(days=3653),
    "2038-01-20": datetime(2038, 1, 20, tzinfo=UTC),
    "1970": datetime(1970, 1, 1, tzinfo=UTC),
    "a year end": datetime(2027, 1, 1, 0, 0, 1, tzinfo=UTC),
    "2100": datetime(2100, 3, 1, tzinfo=UTC),
}
AGED = replace(BALANCED, upkeep=(Expire(), Retain(ttl_days=30)), due=Due(on_open=True, uses=10))
STATES = ("active", "archived", "superseded", "erased")


def states(memory: Memory) -> dict[str, str]:
    found = memory.list({"state": {"$in": list(STATES)}}, limit=1000)
    return {record.id: record.state for record in found}


def filled(place: Any, clock: MovableClock, design: Any = AGED) -> Memory:
    memory = Memory(place, project="atlas", clock=clock, design=design)
    memory.remember_many([f"Stop {n} lies at mile {n}" for n in range(20)])
    memory.remember("The build is broken", kind="error")
    memory.recall("stop 3")
    memory._writer.flush()
    return memory


@pytest.mark.covers("P16")
@pytest.mark.parametrize("name", JUMPS)
def test_nothing_expires_right_after_a_jump_and_it_is_said(place: Any, name: str) -> None:
    clock = MovableClock(START)
    with filled(place, clock) as memory:
        before, receipts = states(memory), memory.status()["receipts"]
        clock.set(JUMPS[name])
        reports = memory.upkeep()
        assert [len(report.changed) for report in reports] == [0, 0]
        assert "the clock went" in " ".join(str(report.advice) for report in reports)
        assert "the clock went" in memory.status()["clock"]
        memory.remember("Written after the jump")
        for n in range(30):
            memory.recall(f"stop {n}")
        memory._slices.join(10)
        memory._writer.flush()
        memory.upkeep()
        after = states(memory)
        assert {id: after[id] for id in before} == before, "nor right after a first write"
        assert len(after) == len(before) + 1 and memory.status()["receipts"] >= receipts + 30
        assert memory.audit().ok


@pytest.mark.covers("P16")
@pytest.mark.parametrize("written", [19, 20, 199, 200, 201, 777])
def test_nor_after_an_import_that_buries_the_jump(written: int) -> None:
    """However much is written after it: until the clock was in use for a day, the step is found."""
    clock = MovableClock(START)
    with filled(":memory:", clock, replace(AGED, due=Due())) as memory:
        before, receipts = states(memory), memory.status()["receipts"]
        clock.move(days=3653)
        memory.remember_many([f"Line {n} of an import" for n in range(written)])
        memory.recall("stop 3")
        memory._writer.flush()
        assert "the clock went forward by 3,653 days" in memory.status()["clock"]
        assert [len(report.changed) for report in memory.upkeep()] == [0, 0]
        after = states(memory)
        assert {id: after[id] for id in before} == before
        assert memory.status()["receipts"] == receipts + 1
        clock.move(hours=25)
        assert jumped(memory._tools) is None, "and then it is believed"


@pytest.mark.covers("P16")
@pytest.mark.parametrize("name", JUMPS)
def test_a_clock_that_is_set_right_again_is_believed_after_a_day(place: Any, name: str) -> None:
    clock = MovableClock(START)
    with filled(place, clock, replace(AGED, due=Due())) as memory:  # a slice in the background may see two clocks
        before = states(memory)
        clock.set(JUMPS[name])
        memory.remember("Written in the wrong year")
        clock.set(START + timedelta(hours=1))
        memory.remember("Written in the right year")
        assert jumped(memory._tools), "it went back as far"
        assert [len(report.changed) for report in memory.upkeep()] == [0, 0]
        clock.move(hours=25)
        assert jumped(memory._tools) is None and "clock" not in memory.status()
        memory.upkeep()
        assert {id: state for id, state in states(memory).items() if id in before} == before
        ids = list(states(memory))
        assert len(ids) == len(set(ids)) == len(before) + 2


@pytest.mark.covers("P16")
def test_what_is_really_old_expires_once_the_clock_is_believed(place: Any) -> None:
    """A guard that never lets go would be as bad."""
    clock = MovableClock(START)
    with filled(place, clock, replace(AGED, due=Due())) as memory:
        for _ in range(70):
            clock.move(days=1)
            memory.remember(f"Day {clock():%j}", kind="turn", session="s1")
        assert jumped(memory._tools) is None
        assert sum(len(report.changed) for report in memory.upkeep()) > 0


@pytest.mark.covers("P16")
def test_a_run_of_another_time_keeps_nobody_waiting(place: Any) -> None:
    clock = MovableClock(START)
    with filled(place, clock, replace(BALANCED, upkeep=(Retain(max_items=5),))) as memory:
        later = START + timedelta(days=3653)
        with memory._tools.store.transaction():
            memory._tools.store.write(
                Commit(runs=[Run(0, "default", "retain", "running", "gone", later, later, later)])
            )
        clock.move(days=2)
        [report] = memory.upkeep()
        assert report.changed and "another process" not in str(report.advice)


@pytest.mark.covers("P16")
def test_a_week_without_a_write_is_a_jump_and_six_days_are_none(memory: Memory, clock: MovableClock) -> None:
    assert jumped(memory._tools) is None, "nothing was ever written"
    memory.remember("Alpha")
    for days, far in ((6.9, False), (0.2, True), (-0.2, False)):
        clock.move(days=days)
        assert bool(jumped(memory._tools)) == far


@pytest.mark.covers("P16")
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(-4000, 4000), max_size=8))
def test_ids_stay_unique_and_order_goes_by_the_journal(days: list[int]) -> None:
    clock = MovableClock(START)
    with Memory(":memory:", clock=clock) as memory:
        outcomes = []
        for n, jump in enumerate(days):
            outcomes.append(memory.remember(f"Stop {n}"))
            clock.move(days=jump)
        outcomes.append(memory.remember("The last stop"))
        ids = [outcome.id for outcome in outcomes]
        assert len(set(ids)) == len(ids)
        events = memory._tools.store.journal(limit=99)
        assert [event.record for event in events] == ids
        assert [event.seq for event in events] == list(range(1, len(ids) + 1))
        assert memory.audit().ok
