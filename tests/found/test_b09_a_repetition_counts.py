"""B9: what was said again today was archived today. A repetition starts the clock, and counts as an access (S3-25)."""

from dataclasses import replace

import pytest

from memorist import Memory
from memorist.designs import CURATED
from memorist.scoring import FACTORS, accesses, said_importance
from memorist.testing import MovableClock
from memorist.upkeep.retain import Expire, Retain, Settle


@pytest.fixture
def curated(memory: Memory) -> Memory:
    memory.design = replace(CURATED, due=replace(CURATED.due, on_open=False, uses=None, hours=None))
    return memory


def gone(memory: Memory) -> set[str]:
    return {each.id for report in memory.upkeep() for each in report.changed}


@pytest.mark.covers("B9", "S3-25", "S3-29")
def test_what_is_said_every_three_days_does_not_expire(curated: Memory, clock: MovableClock) -> None:
    for day in range(0, 40, 3):
        curated.remember("The importer is half done", kind="progress")
        assert gone(curated) == set(), day
        clock.move(days=3)
    for _ in range(30):
        clock.move(days=1)
        curated.remember("a tick of the clock", kind="turn", session="ticks")
    assert gone(curated) == set(), "it was needed three times, which saves it for good"


@pytest.mark.covers("B9", "S3-25", "S3-29")
def test_a_repetition_starts_the_time_anew(curated: Memory, clock: MovableClock) -> None:
    curated.remember("The importer is half done", kind="progress")
    for day in range(1, 40):
        clock.move(days=1)
        curated.remember("a tick of the clock", kind="turn", session="ticks")
        if day == 13:
            curated.remember("the  importer is HALF done")
        assert bool(gone(curated)) == (day == 13 + 14 + 1), day


@pytest.mark.covers("B9", "S3-25")
def test_importance_accesses_and_clock_are_those_of_the_document(curated: Memory, clock: MovableClock) -> None:
    first = curated.remember("The importer needs a lock", importance=0.55)
    for time in range(1, 7):
        clock.move(days=1)
        again = curated.remember("The importer needs a lock")
        assert (again.outcome, again.id) == ("reinforced", first.id)
        record = curated.get(1)
        assert said_importance(record.importance, record.counters) == pytest.approx(min(1.0, 0.55 + 0.1 * time))
        assert (accesses(record.counters), record.times.used) == (time, clock())
    assert record.version == 1 and record.importance == 0.55, "what was given stays, and a question about it still fits"
    assert FACTORS["access"](record, clock(), {}) == pytest.approx(1 + 0.1 * 2.807, abs=1e-3)
    curated.undo()
    assert accesses(curated.get(1).counters) == 5 and curated.audit().ok


@pytest.mark.covers("B9", "S3-25", "E3")
def test_whoever_repeats_it_starts_the_clock_and_lifts_nothing(curated: Memory, clock: MovableClock) -> None:
    """Not even the clock of a candidate's quarantine: to say a thing twice does not prove it."""
    user = curated.through(replace(curated.access, origin="user"))
    user.remember("Never deploy on Fridays", kind="warning")
    [candidate] = curated.remember_many([{"text": "The cache is warm", "doubtful": True}])
    clock.move(days=2)
    tool = curated.through(replace(curated.access, origin="tool"))
    assert tool.remember("Never deploy on Fridays").outcome == "reinforced"
    assert curated.get(1).times.used == clock() and curated.get(1).version == 1
    for _ in range(5):
        curated.remember("The cache is warm")
        clock.move(days=1)
    curated.design = replace(curated.design, upkeep=(Settle(), Expire(), Retain()))
    curated.upkeep()
    assert curated.get(str(candidate.id)).status == "candidate"
    assert FACTORS["quarantine"](curated.get(str(candidate.id)), clock(), {}) == 0.8
