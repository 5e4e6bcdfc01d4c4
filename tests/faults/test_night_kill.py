"""A night killed in the middle: nothing is half done, the next one goes on in the same batch, and one undo takes all of it back."""

import random
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import rounds
from faults.processes import Child, needs_fork
from memorist import Memory
from memorist.records import now_utc
from memorist.testing import MovableClock

TREES = "oak beech lime elm ash pine fir larch yew birch maple poplar willow alder hazel".split()
RIVERS = "Aare Main Oder Elbe Saale Havel Spree Werra Fulda Weser".split()
LIVING = {"state": {"$in": ["active", "superseded"]}}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("original") / "memory.db"
    with Memory(path, project="atlas", embed="static") as memory:
        pairs = [(tree, river) for tree in TREES for river in RIVERS]
        memory.remember_many([f"The nest by the {river} lies in the {tree}" for tree, river in pairs])
        memory.remember_many([f"By the {river} the nest lies in the {tree}" for tree, river in pairs])
    return path


def state(memory: Memory) -> list[object]:
    records = memory.list(LIVING, order="-number", limit=10_000)
    return [replace(each, version=0, times=replace(each.times, updated=each.times.created)) for each in records]


def killed_after(seconds: float, path: Path) -> None:
    def live(say: Callable[[object], None]) -> None:
        memory = Memory(path, project="atlas", embed="static")
        say("opened")
        memory.upkeep(deep=True)
        say("done")

    child = Child(live)
    assert child.line() == "opened"
    time.sleep(seconds)
    child.kill()


@needs_fork
@pytest.mark.covers("N4-4", "P4")
def test_a_killed_night_goes_on_in_the_same_batch(original: Path, tmp_path: Path) -> None:
    chance, cut = random.Random("night"), 0
    for turn in range(rounds(50)):
        path = tmp_path / f"{turn}.db"
        shutil.copy(original, path)
        with Memory(path, project="atlas", embed="static") as memory:
            before = state(memory)
        killed_after(chance.uniform(0.3, 2.5), path)
        with Memory(path, project="atlas", embed="static", clock=MovableClock(now_utc())) as memory:
            night = next(iter(memory._tools.store.runs("default", "night", limit=1)), None)
            done = [event.batch for event in memory.log(surface="upkeep", limit=100_000)]
            cut += night is not None and night.state == "running" and bool(done)
            assert set(done) <= {night.batch if night else None}, "the row and the changes are one"
            memory._tools.clock.move(minutes=1)  # type: ignore[attr-defined]  # the lease runs out
            last = memory.upkeep(deep=True)[-1]
            if night is not None and night.state == "running" and night.batch:
                assert last.batch == night.batch
            assert memory.count({"state": "superseded"}) == len(TREES) * len(RIVERS)
            assert memory.audit().ok
            batches = {event.batch for event in memory.log(surface="upkeep", limit=100_000)}
            assert len(batches) == 1
            memory.undo(batches.pop())
            assert state(memory) == before
        path.unlink()
    assert cut or rounds(50) < 10, "no kill came in the middle"
