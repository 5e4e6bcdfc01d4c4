"""Killed in the middle of re-embedding: the next upkeep finishes, nothing is embedded twice, and the old vectors go."""

import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import rounds
from faults.processes import Child, needs_fork
from memorist import Memory
from memorist.kinds import LAYERS
from memorist.models.embed import checked
from memorist.records import now_utc
from memorist.store.nouns import shelf_of
from memorist.store.where import Where
from memorist.testing import HashEmbedder, MovableClock
from memorist.upkeep import embed as job

COUNT = 600
OLD, NEW = HashEmbedder("old", on_files=True), HashEmbedder("new", 48, on_files=True)


@pytest.fixture(scope="module", params=["memory.db", "memory.json"])
def original(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("original") / request.param
    with Memory(path, project="atlas", embed=OLD) as memory:
        memory.remember_many([f"Nest {n} lies in tree {n * 7} with {n % 5} eggs" for n in range(COUNT)])
        memory.remember([{"role": "user", "content": f"I saw nest {n}"} for n in range(200)], session="s")
        for number in range(1, 40, 3):
            memory.forget(number)
    return path


def killed_after(seconds: float, path: Path) -> bool:
    """Upkeep in a child, killed; whether it came to its end before."""

    def live(say: Callable[[object], None]) -> None:
        memory = Memory(path, project="atlas", embed=NEW)
        say("opened")
        memory.upkeep()
        say("done")

    child = Child(live)
    assert child.line() == "opened"
    time.sleep(seconds)
    return "done" in child.kill()


@needs_fork
@pytest.mark.covers("C4-1", "P4")
def test_a_killed_move_is_finished_by_the_next(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "EMBEDDED_AT_ONCE", 20)
    monkeypatch.setattr(job, "DROPPED_AT_ONCE", 60)
    chance, cut = random.Random("generations"), 0
    for turn in range(rounds(100)):
        folder = tmp_path / str(turn)
        folder.mkdir()
        for file in original.parent.iterdir():
            shutil.copy(file, folder / file.name)
        path = folder / original.name
        ended = killed_after(chance.uniform(0.01, 0.6), path)
        with Memory(path, project="atlas", embed=NEW, clock=MovableClock(now_utc())) as memory:
            store = memory._tools.store
            before = {each.model: each.state for each in store.generations()}
            assert set(before) <= {OLD.name, NEW.name} and "current" in before.values()
            if before.get(NEW.name) == "current":
                [new] = [each for each in store.generations() if each.model == NEW.name]
                assert store.unembedded(new.id, 0, 1) == [], "it took over only when it was full"
            cut += not ended and NEW.name in before
            assert memory.recall("nest tree"), "words always"
            memory._tools.clock.move(minutes=1)  # type: ignore[attr-defined]  # the lease runs out
            memory.upkeep()
            served = {each.model: each.layers for each in store.generations() if each.state == "current"}
            assert served == {NEW.name: LAYERS}
            assert not any(store.unembedded(each.id, 0, 1) or each.lost for each in store.generations())
            found_by_their_own_vectors(memory, chance)
            assert memory.upkeep(dry_run=True)[0].verb != "embed"
            assert memory.audit().ok and all(finding.ok for finding in memory.doctor())
        shutil.rmtree(folder)
    assert cut or rounds(100) < 10, "no kill came in the middle"


def found_by_their_own_vectors(memory: Memory, chance: random.Random) -> None:
    store, where = memory._tools.store, Where(memory.access)
    records = memory.list({"state": {"$in": ["active", "archived"]}, "kind": "fact"}, limit=COUNT)
    assert len(records) == COUNT
    for record in chance.sample(records, 20):
        [generation] = [each for each in store.generations() if shelf_of(record).layer in each.layers]
        [vector] = checked(NEW if generation.model == NEW.name else OLD, [record.text])
        near = store.nearest(generation.id, vector, [shelf_of(record)], where, 1, exact=True)
        assert near.hits[0][0] == record.number and near.hits[0][1] > 0.98
        assert near.rows <= COUNT, "no row has two"
