"""Acceptance row 12: multi-session and multi-agent promotion fires on a paraphrase seen in two sessions (W3-4, W3-5); what was
found when a window was closed is promoted at the next start."""

from dataclasses import replace
from pathlib import Path

import pytest

from memorist import Memory
from memorist.design import Promotion
from memorist.designs import BALANCED
from memorist.testing import MovableClock
from memorist.upkeep.retain import Expire, Settle

AUTO = replace(BALANCED, promotion=Promotion("auto", "balanced"), upkeep=(Settle(), Expire()))
FIRST = "I looked at both. We decided to use Postgres 16 for staging. I'll write the migration."
SECOND = "As discussed, we're going with Postgres 16 on staging."
NEAR_MISS = "As discussed, we're going with Postgres 15 on staging."
STORES = pytest.mark.parametrize("name", ["memory.db", "memory.json"])


def opened(path: Path, clock: MovableClock) -> Memory:
    return Memory(path, project="atlas", design=AUTO, clock=clock)


@pytest.mark.covers("W3-4", "W3-5", "S3-4")
@STORES
def test_a_paraphrase_in_a_second_session_promotes(name: str, tmp_path: Path, clock: MovableClock) -> None:
    path = tmp_path / name
    with opened(path, clock) as memory:  # Monday, one tool
        memory.extract(FIRST, session="monday", agent="claude", role="assistant", message=4)
        memory.upkeep()
        assert memory.count({"scope": "project/atlas"}) == 0  # said once: one point
    clock.move(days=3)
    with opened(path, clock) as memory:  # Thursday, another tool; the window is closed at once
        memory.extract(SECOND, session="thursday", agent="gemini", role="assistant", message=2)
    clock.move(hours=1)
    with opened(path, clock) as memory:  # the next start
        memory.upkeep()
        [record] = memory.list({"scope": "project/atlas"})
        assert record.text == "We decided to use Postgres 16 for staging."
        assert record.data["signals"] == ["multi-session", "multi-agent", "high-importance"]
        assert (record.status, record.trust, record.kind) == ("candidate", "medium", "decision")
        assert (record.provenance.session, record.provenance.agent) == ("monday", "claude")
        assert record.provenance.messages == (4, 4)
        assert [hit.record.id for hit in memory.recall("which database does staging use?")] == [record.id]
        memory.feedback(record.id, "useful")
        clock.move(hours=25)
        memory.upkeep()
        assert memory.get(record.id).status == "confirmed"
        assert memory.audit().ok


@pytest.mark.covers("W3-5")
@STORES
def test_a_near_miss_in_a_second_session_does_not(name: str, tmp_path: Path, clock: MovableClock) -> None:
    with opened(tmp_path / name, clock) as memory:
        memory.extract(FIRST, session="monday", agent="claude")
        memory.extract(NEAR_MISS, session="thursday", agent="gemini")
        memory.extract(FIRST, session="monday", agent="claude")  # again, in the same session
        memory.upkeep()
        assert memory.count({"scope": "project/atlas"}) == 0


@pytest.mark.covers("W3-4", "S3-19")
def test_an_error_is_promoted_only_once_it_is_resolved(memory: Memory) -> None:
    memory.design = AUTO
    memory.extract("$ make check\nerror: the header body.h is missing\n", session="s1", role="assistant")
    memory.upkeep()
    assert memory.count({"scope": "project/atlas"}) == 0
    memory.extract("$ make check\n12 passed\n", session="s1", role="assistant")
    memory.upkeep()
    [record] = memory.list({"scope": "project/atlas"})
    assert (record.kind, record.data["signals"]) == ("error", ["error-resolution", "high-importance"])


@pytest.mark.covers("W3-4")
def test_undo_takes_a_promotion_back_as_it_was(memory: Memory) -> None:
    memory.design = AUTO
    memory.extract(FIRST, session="monday", agent="claude")
    memory.extract(SECOND, session="thursday", agent="gemini")
    before = {record.id: (record.scope, record.status, record.data, record.provenance) for record in memory.list()}
    report = memory.upkeep()[0]
    assert len(report.changed) == 1
    memory.undo(report.batch)
    after = {record.id: (record.scope, record.status, record.data, record.provenance) for record in memory.list()}
    assert after == before
