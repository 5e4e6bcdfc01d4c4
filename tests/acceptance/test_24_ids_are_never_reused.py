"""Acceptance row 24: ids and numbers are never reused, also after archive and purge (W1-4)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from memorist import Memory


@pytest.mark.covers("W1-4")
@pytest.mark.parametrize("name", ["memory.db", "memory.json"])
def test_numbers_only_grow_whatever_happens_to_the_last_one(tmp_path: Path, name: str) -> None:
    seen: set[str] = set()
    numbers = [0]
    endings: list[Callable[[Memory, int], object]] = [
        lambda memory, number: memory.forget(number),
        lambda memory, number: memory.erase(number),
        lambda memory, number: memory.undo(),
        lambda memory, number: memory.compact(),
        lambda memory, number: (memory.forget(number), memory.erase(number), memory.compact()),
    ]
    for turn in range(15):
        with Memory(tmp_path / name, project="atlas") as memory:
            kept = memory.remember(f"Nest {turn} lies in tree {turn * 7}")
            assert kept.record is not None and kept.record.id not in seen
            assert kept.record.number > numbers[-1]
            seen.add(kept.record.id)
            numbers.append(kept.record.number)
            endings[turn % len(endings)](memory, kept.record.number)
    with Memory(tmp_path / name, project="atlas") as memory:
        everything = memory.list({"state": {"$in": ["active", "archived", "erased"]}}, limit=100)
        assert {record.id for record in everything} == seen
        assert memory.audit().ok
