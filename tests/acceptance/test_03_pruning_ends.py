"""Acceptance row 3: pruning over the size limit terminates; a second run right after archives nothing (W1-1)."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorist import Memory
from memorist.designs import HEBBIAN
from memorist.records import Link, now_utc
from memorist.store.nouns import Commit, footprint
from memorist.store.where import Clause, Where
from memorist.testing import MovableClock
from memorist.upkeep.retain import Prune

ACTIVE = (Clause("state", "eq", "active"),)


def small(limit: int, percent: float = 1.0) -> object:
    return replace(HEBBIAN, upkeep=(Prune(max_bytes=limit, percent=percent),))


def filled(memory: Memory, count: int = 60) -> None:
    memory.remember_many([f"Fact {n}: shelf {n} holds {n * 3} boxes of {'tea ' * (n % 7)}" for n in range(count)])


def room(memory: Memory) -> int:
    """What the active memories take, as the store counts it: their texts, index rows and vectors."""
    return sum(brief.bytes for brief in memory._tools.store.briefs(Where(memory.access, ACTIVE)))


@pytest.mark.covers("W1-1", "S1-12")
def test_one_run_comes_below_the_limit_and_the_next_has_nothing_to_do(memory: Memory, clock: MovableClock) -> None:
    filled(memory)
    clock.move(days=2)
    total = room(memory)
    memory.design = small(total // 2)  # type: ignore[assignment]
    [first] = memory.upkeep()
    assert first.changed
    left = room(memory)
    assert total // 2 - 2 * footprint(60, 260) <= left <= total // 2
    for _ in range(5):  # night after night
        [again] = memory.upkeep()
        assert again.changed == ()
    assert memory.count({"state": "archived"}) == len(first.changed)


@pytest.mark.covers("S1-12")
def test_while_there_is_room_nothing_goes_however_bad_it_is(memory: Memory) -> None:
    filled(memory)
    for _ in range(8):
        memory.feedback(1, "wrong")
    memory.design = small(10**9)  # type: ignore[assignment]
    assert memory.upkeep()[0].changed == ()
    assert memory.get(1).state == "active"


@pytest.mark.covers("S1-12", "S1-6")
def test_the_least_worth_go_first_and_what_is_pinned_stays(memory: Memory, clock: MovableClock) -> None:
    filled(memory, 40)
    memory.pin(1)
    for number in (2, 3):
        memory.feedback(number, "wrong")
    memory.feedback(4, "useful")
    clock.move(days=50)
    memory.feedback(5, "useful")
    total = room(memory)
    memory.design = small(total - 1)  # type: ignore[assignment]
    [first] = memory.upkeep()
    assert [each.number for each in first.changed] == [2]
    memory.design = small(footprint(70, 260) * 3)  # type: ignore[assignment]
    memory.upkeep()
    assert {record.number for record in memory.list()} == {1, 4, 5}


@pytest.mark.covers("X6", "S1-12")
def test_however_little_room_there_is_what_the_guard_holds_stays(memory: Memory, clock: MovableClock) -> None:
    """Written or used within a day, pinned, global, or the newer one of two while the older is active."""
    filled(memory, 6)
    newer, older = memory.get(5), memory.get(6)
    store = memory._tools.store
    with store.transaction():  # as 0.1.0 made the link: the older one stays active
        store.write(Commit(links=[Link(newer.id, older.id, "supersedes")]))
    clock.move(days=2)
    memory.remember("Just written")
    memory.feedback(2, "useful")
    memory.pin(3)
    memory.design = small(0)  # type: ignore[assignment]
    [report] = memory.upkeep()
    assert sorted(each.number for each in report.changed) == [1, 4, 6]
    assert "never pruned" in (report.advice or "")


@pytest.mark.covers("W1-1")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    count=st.integers(0, 40),
    limit=st.integers(0, 40_000),
    percent=st.sampled_from([0.1, 1.0, 30.0, 100.0]),
    pinned=st.sets(st.integers(1, 40), max_size=10),
)
def test_whatever_the_limit_a_second_run_does_nothing(count: int, limit: int, percent: float, pinned: set[int]) -> None:
    clock = MovableClock(now_utc())
    with Memory(":memory:", project="atlas", design=small(limit, percent), clock=clock) as memory:  # type: ignore[arg-type]
        filled(memory, count)
        clock.move(days=2)
        for number in pinned:
            if number <= count:
                memory.pin(number)
        memory.upkeep()
        assert memory.upkeep()[0].changed == ()
        assert all(memory.get(number).state == "active" for number in pinned if number <= count)
