"""Upkeep killed in the middle: nothing is half done, the next one finishes it, and one undo takes all of it back.

And erasing killed in the middle: a memory is whole or gone, the journal verifies, and erasing again leaves nothing.
"""

import random
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from conftest import TORTURE, rounds
from faults.processes import Child, needs_fork
from memorist import Memory
from memorist.designs import HEBBIAN
from memorist.records import now_utc
from memorist.testing import MovableClock
from memorist.upkeep.retain import Prune

COUNT = 1500 if TORTURE else 600
SMALL = replace(HEBBIAN, upkeep=(Prune(max_bytes=100_000),))


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("original") / "memory.db"
    with Memory(path, project="atlas", clock=MovableClock(now_utc() - timedelta(days=2))) as memory:
        memory.remember_many([f"Nest {n} lies in tree {n * 7} with {n % 5} fledglings" for n in range(COUNT)])
    return path


def states(memory: Memory) -> dict[str, str]:
    everything = {"state": {"$in": ["active", "archived", "erased"]}}
    return {record.id: record.state for record in memory.list(everything, limit=10 * COUNT)}


def killed_after(seconds: float, path: Path, work: Callable[[Memory], object]) -> None:
    def live(say: Callable[[object], None]) -> None:
        memory = Memory(path, project="atlas", design=SMALL)
        say("opened")
        work(memory)
        say("done")

    child = Child(live)
    assert child.line() == "opened"
    time.sleep(seconds)
    child.kill()


@needs_fork
@pytest.mark.covers("S1-12", "P4")
def test_a_killed_run_is_finished_by_the_next_and_undone_as_one(original: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole.db"
    shutil.copy(original, whole)
    with Memory(whole, project="atlas", design=SMALL) as memory:
        memory.upkeep()
        wanted = states(memory)
    chance, cut = random.Random("upkeep"), 0
    for turn in range(rounds(50)):
        path = tmp_path / f"{turn}.db"
        shutil.copy(original, path)
        killed_after(chance.uniform(0.02, 0.5), path, Memory.upkeep)
        with Memory(path, project="atlas", design=SMALL, clock=MovableClock(now_utc())) as memory:
            before = states(memory)
            done = sum(state == "archived" for state in before.values())
            cut += 0 < done < sum(state == "archived" for state in wanted.values())
            runs = memory._tools.store.runs("default", "prune", limit=1)
            assert done == (runs[0].changed if runs else 0)  # the checkpoint and the changes are one
            memory._tools.clock.move(minutes=1)  # type: ignore[attr-defined]  # the lease runs out
            *_, rest = (
                memory.upkeep()
            )  # the first may tell of vectors, which what is in the archive has of another model
            left = {id for id, state in states(memory).items() if state == "active"}
            kept = {id for id, state in wanted.items() if state == "active"}
            assert (left <= kept or kept <= left) and abs(
                len(left) - len(kept)
            ) <= COUNT // 100  # one percent at a time
            assert memory.upkeep()[-1].changed == ()
            assert memory.audit().ok
            batch = rest.batch or memory._tools.store.runs("default", "prune", limit=1)[0].batch
            memory.undo(batch)
            assert set(states(memory).values()) == {"active"}
        path.unlink()
    assert cut or rounds(50) < 10, "no kill came in the middle"


@needs_fork
@pytest.mark.covers("G1", "P4")
def test_a_killed_erasure_leaves_each_memory_whole_or_gone(original: Path, tmp_path: Path) -> None:
    chance = random.Random("erase")

    def erase_all(memory: Memory) -> None:
        for start in range(1, COUNT, 150):
            memory.erase(where={"number": {"$gte": start, "$lt": start + 150}})

    assert b"fledgl" in original.read_bytes()
    for turn in range(rounds(50)):
        path = tmp_path / str(turn) / "memory.db"
        path.parent.mkdir()
        shutil.copy(original, path)
        killed_after(chance.uniform(0.02, 0.6), path, erase_all)
        with Memory(path, project="atlas", confirm=lambda ask: True) as memory:  # the last of them are all there is
            records = memory.list({"state": {"$in": ["active", "erased"]}}, limit=10 * COUNT)
            assert len(records) == COUNT
            assert all((record.text == "") == (record.state == "erased") for record in records)
            assert memory.audit().ok
            assert {finding.check for finding in memory.doctor() if not finding.ok} <= {"erasures"}  # one was cut off
            erase_all(memory)
            assert memory.count({"state": "erased"}) == COUNT
            memory.compact()
            assert [finding for finding in memory.doctor() if not finding.ok] == []
        left = b"".join(file.read_bytes() for file in path.parent.iterdir())
        # an l is in no id: those of 1,500 memories hold any four letters of their own alphabet by chance, once in some runs
        assert b"fledgl" not in left and b"Nest 7 " not in left
