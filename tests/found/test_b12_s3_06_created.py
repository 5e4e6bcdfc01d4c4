"""B12 (S3-6): the store tells when it was created."""

from pathlib import Path

import pytest

from memorist import Memory
from memorist.seeds.curated import slash
from memorist.testing import MovableClock


@pytest.mark.covers("B12", "S3-6")
@pytest.mark.parametrize("name", ["memory.db", "memory.json"])
def test_a_store_knows_since_when_it_is_there(tmp_path: Path, clock: MovableClock, name: str) -> None:
    with Memory(tmp_path / name, project="atlas", clock=clock, design="curated") as memory:
        assert memory.status()["created"] == "not yet"
        began = clock().isoformat(timespec="seconds")
        memory.remember("The heron nests at the weir")
        clock.move(days=40)
        memory.erase(1)
        memory.remember("The weir was opened")
    with Memory(tmp_path / name, project="atlas", clock=clock, design="curated") as memory:
        assert memory.status()["created"] == began
        assert f"created {began}" in slash(memory, "/memory status").text
    with Memory(tmp_path / name, project="atlas", clock=clock, space="other") as memory:
        assert memory.status()["created"] == "not yet", "what another space holds is not told"
        memory.remember("The tide is low")
        assert memory.status()["created"] == clock().isoformat(timespec="seconds") != began
