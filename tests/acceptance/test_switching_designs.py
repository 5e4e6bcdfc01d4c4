"""A live store changes its design without a migration: all designs answer over one database, each in its own way, and none of
them leaves anything behind that another would trip over."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memorist import Memory
from memorist.designs import DESIGNS
from memorist.records import Recall

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
QUESTION = "which database does staging run?"
TEXTS = (
    ("Staging runs Postgres 16", "decision", 0.9),
    ("Postgres backups go to the cold bucket every night", "fact", 0.6),
    ("Never run the migration while the nightly export is running", "warning", 0.85),
    ("Ann prefers small pull requests", "preference", 0.9),
    ("The database password rotates every month", "note", 0.5),
)


def texts(found: Recall) -> list[str]:
    return [hit.record.text for hit in found]


@pytest.mark.parametrize("name", ["m.db", "m.json"])
@pytest.mark.covers("X7", "X8")
def test_every_design_answers_over_one_store(tmp_path: Path, name: str) -> None:
    with Memory(tmp_path / name, clock=lambda: NOON) as memory:
        for text, kind, importance in TEXTS:
            memory.remember(text, kind=kind, importance=importance, at=NOON - timedelta(days=30))
        memory.feedback(1, "useful")
        hashed = [(record.id, record.version, record.text, record.state) for record in memory.list(order="number")]
        journal = memory.audit().events
    factors: dict[str, set[str]] = {}
    for design in (*DESIGNS, *reversed(list(DESIGNS))):  # there and back: what one did must not show in another
        with Memory(tmp_path / name, design=design, clock=lambda: NOON) as memory:
            found = memory.explain(QUESTION)
            assert texts(found)[0] == TEXTS[0][0], design
            assert [step.stage for step in found.trace] == [type(stage).__name__ for stage in DESIGNS[design].recall]
            seen = {factor for hit in found for factor in hit.why}
            assert factors.setdefault(design, seen) == seen
            assert memory.audit().ok and memory.audit().events == journal
            now = [(record.id, record.version, record.text, record.state) for record in memory.list(order="number")]
            assert now == hashed
    assert len({frozenset(seen) for seen in factors.values()}) == len(DESIGNS)  # each of them weighs in its own way


def test_a_store_is_written_by_one_design_and_kept_in_order_by_another(tmp_path: Path) -> None:
    day = [NOON]
    with Memory(tmp_path / "m.db", design="tiers", clock=lambda: day[0]) as memory:
        memory.remember("Staging runs Postgres 16", kind="decision")
        memory.remember("A note that nobody needs", kind="note")
    day[0] += timedelta(days=30)
    with Memory(tmp_path / "m.db", design="curated", clock=lambda: day[0]) as memory:
        memory.remember("The clock went on")  # else a month without a sign looks like a clock that jumped
        day[0] += timedelta(days=2)
        gone = {each.number for report in memory.upkeep() for each in report.changed}
        assert gone == {2} and memory.get(2).state == "archived"
    with Memory(tmp_path / "m.db", design="hebbian", clock=lambda: day[0]) as memory:
        assert texts(memory.recall("postgres staging")) == ["Staging runs Postgres 16"]
        memory.restore(2)
        assert memory.count() == 3
