"""Acceptance row 1: decay and quarantine are idempotent: opening the store a hundred times on the same clock changes nothing
(W3-1, W3-2)."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import rounds
from memorist import Memory
from memorist.designs import DESIGNS
from memorist.noun import plain
from memorist.records import Record
from memorist.scoring import DECAYS, FACTORS, quarantine
from memorist.testing import MovableClock
from memorist.upkeep.retain import Expire, Retain, Settle

TIMES = rounds(100, 0.12)
KINDS = ("decision", "warning", "progress", "note", "preference", "fact")


def fill(memory: Memory, clock: MovableClock) -> None:
    agent = memory.through(replace(memory.access, origin="agent"))
    for place, kind in enumerate(KINDS):
        agent.remember(f"The {kind} about staging number {place}", kind=kind, importance=0.8, session=f"s{place}")
    page = memory.through(replace(memory.access, origin="tool"))
    page.remember("A page says that staging is blue")  # of low trust: a candidate
    memory.pin(1)
    memory.feedback(2, "useful")
    for week in range(8):  # with a write now and then: after a long silence nothing would expire at all
        clock.move(days=5)
        memory.remember(f"Week {week} went by", kind="turn", session="s")


def state(memory: Memory, clock: MovableClock) -> tuple[list[Record], dict[str, list[float]], object]:
    """Everything that is stored, everything that is computed from it, and an answer."""
    records = memory.list({"state": {"$in": ["active", "archived", "superseded"]}}, order="-number")
    kinds = memory._tools.kinds
    worth = {
        name: [formula(record, clock(), kinds) for record in records] for name, formula in {**FACTORS, **DECAYS}.items()
    }
    found = memory.explain("staging", limit=20)
    return records, worth, [(hit.record.number, hit.score, dict(hit.why)) for hit in found]


@pytest.mark.covers("W3-1")
@pytest.mark.parametrize("design", sorted(DESIGNS))
@pytest.mark.parametrize("name", ["memory.db", "memory.json"])
def test_opening_a_hundred_times_on_the_same_clock_changes_nothing(
    design: str, name: str, tmp_path: Path, clock: MovableClock
) -> None:
    path = tmp_path / name
    with Memory(path, project="atlas", design=design, clock=clock) as memory:
        fill(memory, clock)
        memory.upkeep()  # what is due is done once, here or by the slice that opening began
        expired = memory.count({"state": "archived"})
        assert bool(expired) == (design in ("curated", "associative")), "where kinds expire or fade, some did"
        before = state(memory, clock)
        events = memory.status()["events"]
    seen = set()
    for _ in range(TIMES):
        with Memory(path, project="atlas", design=design, clock=clock) as memory:
            seen.add(hashlib.sha256(repr(plain(state(memory, clock))).encode()).hexdigest())
    with Memory(path, project="atlas", design=design, clock=clock) as memory:
        memory.upkeep()
        assert state(memory, clock) == before
        assert memory.status()["events"] == events
    assert len(seen) == 1


@pytest.mark.covers("W3-1")
def test_importance_is_the_one_that_was_given_however_old_it_grows(memory: Memory, clock: MovableClock) -> None:
    memory.remember("Wrote half of the parser", kind="progress", importance=0.8)
    for _ in range(20):
        clock.move(days=1)
        memory.recall("parser")
        assert memory.get(1).importance == 0.8
    faded = DECAYS["weekly"](memory.get(1), clock(), memory._tools.kinds)
    assert faded < 0.9, "what is computed from it fades"


@pytest.mark.covers("W3-2", "S3-21")
@pytest.mark.parametrize("name", ["memory.db", "memory.json"])
def test_quarantine_is_idempotent(name: str, tmp_path: Path, clock: MovableClock) -> None:
    """Four candidates on their second day: trusted and used, trusted and only shown, used but of low trust, and doubted."""
    path = tmp_path / name
    tidy = replace(DESIGNS["balanced"], upkeep=(Settle(), Expire(), Retain(max_items=3000)))
    with Memory(path, project="atlas", design=tidy, clock=clock) as memory:
        page = memory.through(replace(memory.access, origin="tool"))
        for text in ("Staging is green", "Staging is slow", "Staging is old"):
            memory.remember_many([{"text": text, "doubtful": True, "importance": 0.8}])
        page.remember("A page says that staging is blue", importance=0.8)
        for number in (1, 3, 4):
            memory.feedback(number, "useful")
        memory.feedback(3, "wrong")
        memory.recall("staging")
        memory._writer.flush()
        clock.move(hours=25)
        assert [each.number for report in memory.upkeep() for each in report.changed] == [1]
        before, events = state(memory, clock), memory.status()["events"]
    for _ in range(TIMES):
        with Memory(path, project="atlas", design=tidy, clock=clock) as memory:
            assert [report.changed for report in memory.upkeep() if report.changed] == []
    with Memory(path, project="atlas", design=tidy, clock=clock) as memory:
        assert (state(memory, clock), memory.status()["events"]) == (before, events)
        records = memory.list(order="-number")
        assert [record.status for record in records] == ["confirmed", "candidate", "candidate", "candidate"]
        assert [record.importance for record in records] == [0.8] * 4
        assert [quarantine(record, clock(), {}) for record in records] == [1.0, 0.8, 1.0, 1.0]
