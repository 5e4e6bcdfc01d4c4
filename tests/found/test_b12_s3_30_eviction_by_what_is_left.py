"""B12 (S3-30, S3-28): curated evicts by the importance that is left after decay, by the document's own formula."""

from collections.abc import Iterator

import pytest

from memorist import Memory
from memorist.records import Report
from memorist.scoring import decayed
from memorist.testing import MovableClock


@pytest.fixture
def curated(clock: MovableClock) -> Iterator[Memory]:
    with Memory(":memory:", project="atlas", design="curated", clock=clock, embed="none") as memory:
        memory._slices.close()  # or a slice at any moment would do the same
        yield memory


def some(memory: Memory, name: str, count: int, importance: float, **more: object) -> None:
    memory.remember_many(
        [{"text": f"{name} number {n}", "importance": importance, "kind": "fact", **more} for n in range(count)]
    )


def left(memory: Memory, name: str) -> int:
    return sum(record.text.startswith(name) for record in memory.list(limit=9_999))


def retained(memory: Memory) -> Report:
    return next(report for report in memory.upkeep() if report.verb == "retain")


@pytest.mark.covers("B12", "S3-30", "S3-28")
def test_what_faded_goes_before_what_is_fresh(curated: Memory, clock: MovableClock) -> None:
    """0.9 that nobody needed for 367 days is worth 0.03, a fresh 0.2 is worth 0.1."""
    some(curated, "old", 1000, 0.9)
    clock.move(days=365)
    some(curated, "fresh", 2001, 0.2)
    clock.move(days=2)
    assert len(retained(curated).changed) == 301
    assert (left(curated, "old"), left(curated, "fresh")) == (699, 2001)
    assert retained(curated).changed == ()


@pytest.mark.covers("B12", "S3-28")
def test_candidates_and_what_was_never_needed_count_less(curated: Memory, clock: MovableClock) -> None:
    some(curated, "needed", 1, 0.2)
    for _ in range(9):
        curated.feedback(1, "useful")
    some(curated, "certain", 2700, 0.38)
    some(curated, "candidate", 300, 0.4, doubtful=True)  # 0.4 · 0.9 · 0.5 = 0.18, and 0.38 · 0.5 = 0.19 = 0.2 · 0.95
    clock.move(days=2)
    assert len(retained(curated).changed) == 301
    assert (left(curated, "needed"), left(curated, "certain"), left(curated, "candidate")) == (0, 2700, 0)


@pytest.mark.covers("S3-28")
@pytest.mark.parametrize(
    ("importance", "status", "accesses", "days", "rest"),
    [
        (0.8, "confirmed", 0, 0, 0.4),
        (0.8, "confirmed", 5, 0, 0.6),
        (0.8, "confirmed", 10, 0, 0.8),
        (0.8, "confirmed", 99, 0, 0.8),
        (0.8, "candidate", 10, 0, 0.72),
        (0.8, "confirmed", 10, 7, 0.76),
        (0.8, "candidate", 0, 14, 0.8 * 0.95**2 * 0.9 * 0.5),
    ],
)
def test_the_formula_is_the_documents_own(
    importance: float, status: str, accesses: int, days: float, rest: float
) -> None:
    assert decayed(importance, status, accesses, days) == pytest.approx(rest)


@pytest.mark.covers("S3-30", "S3-28")
def test_pinned_ones_and_those_used_within_a_day_stay(curated: Memory, clock: MovableClock) -> None:
    some(curated, "pinned", 2, 0.0, pinned=True)
    some(curated, "used", 2, 0.0)
    some(curated, "fact", 3000, 0.5)
    clock.move(days=2)
    curated.feedback(3, "useful")
    curated.feedback(4, "useful")
    assert len(retained(curated).changed) == 304
    assert (left(curated, "pinned"), left(curated, "used")) == (2, 2)
