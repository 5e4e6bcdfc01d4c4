"""Acceptance 7: of a chain of five supersessions only the newest is recalled, and `as_of` brings each of the others back."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memorist import Memory
from memorist.designs import BALANCED
from memorist.testing import MovableClock

START = datetime(2026, 1, 1, tzinfo=UTC)
CITIES = ("Rome", "Lima", "Oslo", "Kyoto", "Ghent")
QUESTION = "where does Anna live?"


@pytest.fixture
def memory(place: Path | str) -> Iterator[Memory]:
    design = replace(BALANCED, conflicts="supersede")
    with Memory(place, design=design, clock=MovableClock(START)) as memory:
        yield memory


def state_a_city_a_day(memory: Memory, clock: MovableClock) -> list[str]:
    ids = []
    for city in CITIES:
        ids.append(str(memory.remember(f"Anna lives in {city}").id))
        memory.remember(f"Bruno visited {city}")
        clock.move(days=1)
    return ids


@pytest.mark.covers("W4-2", "W4-7")
def test_a_chain_of_five_statements(memory: Memory) -> None:
    clock = memory._tools.clock
    assert isinstance(clock, MovableClock)
    ids = state_a_city_a_day(memory, clock)
    found = [hit.record.text for hit in memory.recall(QUESTION) if "Anna" in hit.record.text]
    assert found == ["Anna lives in Ghent"]
    for day, city in enumerate(CITIES):
        then = memory.recall(QUESTION, as_of=START + timedelta(days=day, hours=12))
        assert [hit.record.text for hit in then if "Anna" in hit.record.text] == [f"Anna lives in {city}"]
    archived = memory.recall(QUESTION, search="archive", limit=10, min_relevance=0)
    assert {hit.record.id for hit in archived} == set(ids[:-1])
    assert [memory.get(id).state for id in ids] == ["superseded"] * 4 + ["active"]
    assert all(
        hit.record.state == "active" for hit in memory.recall(QUESTION, search="all") if hit.record.id == ids[-1]
    )


@pytest.mark.covers("W4-2")
def test_a_chain_of_five_revisions(memory: Memory) -> None:
    clock = memory._tools.clock
    assert isinstance(clock, MovableClock)
    id = memory.remember(f"Anna lives in {CITIES[0]}").id
    assert id is not None
    for city in CITIES[1:]:
        clock.move(days=1)
        memory.revise(id, f"Anna lives in {city}")
    assert [hit.record.text for hit in memory.recall(QUESTION)] == ["Anna lives in Ghent"]
    for day, city in enumerate(CITIES):
        then = memory.recall(QUESTION, as_of=START + timedelta(days=day, hours=12))
        assert [hit.record.text for hit in then] == [f"Anna lives in {city}"]


@pytest.mark.covers("W4-2")
def test_undoing_the_chain_step_by_step_brings_each_back(memory: Memory) -> None:
    batches = [memory.remember(f"Anna lives in {city}").batch for city in CITIES]
    for batch, city in zip(reversed(batches[1:]), reversed(CITIES[:-1]), strict=True):
        memory.undo(batch)
        assert [hit.record.text for hit in memory.recall(QUESTION)] == [f"Anna lives in {city}"]
