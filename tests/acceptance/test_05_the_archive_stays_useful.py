"""Acceptance row 5: ids returned from the archive are usable, and a restored memory has everything it had (W1-4)."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memorist import Memory
from memorist.access import access_for
from memorist.designs import HEBBIAN
from memorist.errors import NotFound
from memorist.testing import MovableClock
from memorist.upkeep.retain import Prune


def a_rich_memory(memory: Memory) -> None:
    """Every field that the old design lost in its archive."""
    origin = memory.through(access_for("project", "project/atlas", origin="tool", actor="scout"))
    origin.remember(
        "The heron nests at the weir", kind="decision", title="Birds", tags=["bird"], files=["birds.md"],
        data={"seen": 3}, importance=0.7, confidence=0.6, pinned=True, at=datetime(2025, 5, 1, tzinfo=UTC),
        session="s1", role="assistant", speaker="Ann", agent="scout", task="t9", season="spring",
    )  # fmt: skip
    memory.remember("The stork nests on the roof")
    memory.feedback(1, "useful")
    memory.feedback(1, "wrong")
    memory.link(1, 2, evidence="both nest")


@pytest.mark.covers("W1-4", "S1-13")
def test_forgetting_and_restoring_loses_nothing(memory: Memory, clock: MovableClock) -> None:
    a_rich_memory(memory)
    before, links = memory.get(1), memory.links(1)
    memory.forget(1)
    clock.move(days=200)
    memory.restore(1)
    after = memory.get(1)
    assert replace(after, version=before.version, times=before.times) == before
    assert (after.times.at, after.times.used) == (before.times.at, before.times.used)
    assert (after.trust, after.status, after.provenance.task) == ("low", "candidate", "t9")
    assert memory.links(1) == links


@pytest.mark.covers("W1-4", "S1-13")
def test_the_archive_is_searched_on_request_and_its_ids_work(memory: Memory) -> None:
    a_rich_memory(memory)
    memory.forget(1)
    assert [hit.record.number for hit in memory.recall("who nests?")] == [2]
    [hit] = memory.recall("heron", search="archive")
    number = hit.record.number
    assert (number, hit.record.state) == (1, "archived")
    memory.feedback(number, "useful")
    memory.tag(number, "river")
    assert memory.get(number).counters.up == 2
    assert [hit.record.number for hit in memory.recall("river", search="archive")] == [1]
    memory.restore(hit.record.id)
    assert memory.recall("river heron")[0].record.number == 1


@pytest.mark.covers("W1-4", "S1-12", "S1-13")
def test_what_pruning_archived_is_found_there_and_one_undo_brings_it_all_back(
    memory: Memory, clock: MovableClock
) -> None:
    a_rich_memory(memory)
    memory.unpin(1)
    memory.remember_many([f"Nest {n} is empty" for n in range(30)])
    before = [replace(record, version=0, times=record.times) for record in memory.list(order="-number")]
    clock.move(days=2)
    memory.design = replace(HEBBIAN, upkeep=(Prune(max_bytes=2000),))
    [report] = memory.upkeep()
    assert len(report.changed) > 20
    assert len(memory.recall("nest", search="archive", limit=100)) > 20
    memory.undo(report.batch)
    after = [replace(record, version=0) for record in memory.list(order="-number")]
    assert [replace(r, times=None) for r in after] == [replace(r, times=None) for r in before]  # type: ignore[arg-type]


@pytest.mark.covers("W1-4", "W1-5")
def test_an_id_of_nobody_is_an_error_in_the_archive_too(memory: Memory) -> None:
    a_rich_memory(memory)
    memory.forget(1)
    for verb in (memory.restore, memory.forget, memory.erase, memory.pin):
        with pytest.raises(NotFound):
            verb(77)


@pytest.mark.covers("W1-4")
def test_forgetting_many_takes_a_filter_and_shows_first(memory: Memory) -> None:
    memory.remember_many([{"text": f"Nest {n}", "tags": ["old" if n % 2 else "new"]} for n in range(10)])
    plan = memory.forget(where={"tags": ["old"]}, dry_run=True)
    assert len(plan.changed) == 5 and memory.count() == 10
    report = memory.forget(where={"tags": ["old"]}, because="out of season")
    assert [each.id for each in report.changed] == [each.id for each in plan.changed]
    assert {record.reason for record in memory.list({"state": "archived"})} == {"out of season"}
