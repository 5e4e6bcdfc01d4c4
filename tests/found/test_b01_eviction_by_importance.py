"""B1: tiers took old decisions before fresh notes, and nothing of the last day however much of it there was."""

from collections.abc import Iterator

import pytest

from memorist import Memory
from memorist.records import Record, Report
from memorist.testing import MovableClock


@pytest.fixture
def tiers(clock: MovableClock) -> Iterator[Memory]:
    with Memory(":memory:", project="atlas", design="tiers", clock=clock, embed="none") as memory:
        memory._slices.close()  # or a slice at any moment would do the same
        yield memory


def some(memory: Memory, name: str, count: int, importance: float) -> None:
    memory.remember_many([{"text": f"{name} number {n}", "importance": importance} for n in range(count)])


def retained(memory: Memory) -> Report:
    return next(report for report in memory.upkeep() if report.verb == "retain")


def left(memory: Memory, name: str) -> list[Record]:
    return [record for record in memory.list(limit=9_999, order="number") if record.text.startswith(name)]


@pytest.mark.covers("B1", "S0-13")
def test_the_least_important_go_first_and_not_the_oldest(tiers: Memory, clock: MovableClock) -> None:
    """500 decisions of 0.9, 302 days old, and 501 notes of 0.3, two days old: 101 notes go, the oldest of them."""
    some(tiers, "decision", 500, 0.9)
    clock.move(days=300)
    some(tiers, "note", 501, 0.3)
    clock.move(days=2)
    retained(tiers)
    assert (len(left(tiers, "decision")), len(left(tiers, "note"))) == (500, 400)
    assert min(record.number for record in left(tiers, "note")) == 500 + 101 + 1


@pytest.mark.covers("B1", "S0-13", "C0-5", "W0-4")
def test_a_limit_holds_for_what_was_written_this_morning_too(tiers: Memory) -> None:
    """1,500 notes of one moment become 900, the newest; and a second run finds nothing to do."""
    some(tiers, "note", 1500, 0.5)
    retained(tiers)
    assert [record.number for record in left(tiers, "note")] == list(range(1500, 600, -1))
    assert retained(tiers).changed == ()


@pytest.mark.covers("B1", "S0-13", "W0-4")
@pytest.mark.parametrize("ago", [{"hours": 1}, {"days": 2}])
def test_never_the_new_the_pinned_or_the_just_used(tiers: Memory, clock: MovableClock, ago: dict[str, int]) -> None:
    some(tiers, "note", 1000, 0.5)
    tiers.remember("pinned", importance=0.0, pinned=True)
    tiers.remember("just used", importance=0.0)
    tiers.remember("said again", importance=0.0)
    tiers.remember("restored", importance=0.0)
    tiers.forget(1004)
    clock.move(**ago)
    tiers.feedback(1002, "useful")
    tiers.remember("said again")
    tiers.restore(1004)
    tiers.remember("new", importance=0.0)
    retained(tiers)
    assert tiers.count() == 900
    assert all(left(tiers, name) for name in ("pinned", "just used", "said again", "restored", "new"))


@pytest.mark.covers("B1", "W0-4")
def test_as_many_new_ones_are_spared_as_an_eviction_makes_room_for(tiers: Memory, clock: MovableClock) -> None:
    """A tenth of the limit: what came since the last eviction. One that is older than a day is not new."""
    some(tiers, "note", 950, 0.5)
    clock.move(days=2)
    some(tiers, "unimportant", 150, 0.1)
    retained(tiers)
    assert (len(left(tiers, "unimportant")), len(left(tiers, "note"))) == (100, 800)
    clock.move(days=2)
    some(tiers, "note of today", 101, 0.5)
    retained(tiers)
    assert (len(left(tiers, "unimportant")), len(left(tiers, "note"))) == (0, 900)


@pytest.mark.covers("B1")
def test_an_undone_eviction_is_not_repeated_the_same_day(tiers: Memory, clock: MovableClock) -> None:
    some(tiers, "note", 1000, 0.5)
    clock.move(days=2)
    tiers.remember("one more")
    report = retained(tiers)
    tiers.undo(report.batch)
    assert tiers.count() == 1001 and len(report.changed) == 101
    gone = {each.id for each in report.changed}
    assert not gone & {each.id for each in retained(tiers).changed}
