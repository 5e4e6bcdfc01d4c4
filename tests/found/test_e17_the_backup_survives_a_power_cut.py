"""E17: after a power cut the `.bak` beside a JSON store was often of no use: it did not lead to the memories of the snapshot."""

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import rounds
from memorist import Memory
from memorist.store.json_file import files as json_files
from memorist.store.json_file.files import Files
from memorist.store.json_file.store import JsonFileStore

STEPS = [
    (os, "write"),
    (os, "fsync"),
    (os, "link"),
    (os, "truncate"),
    (os, "ftruncate"),
    (Path, "replace"),
    (Path, "unlink"),
]


class Disk:
    """A folder whose power may be cut before any step that touches it.

    What was synced is there afterwards. Of what was not, anything may be: names are as they were at some moment since the folder
    was last synced, and of what was written to a file since it was last synced, a part of any length.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, chance: random.Random) -> None:
        self.folder, self._chance = folder, chance
        self._open: dict[int, int] = {}  # a descriptor of every file: its number is not used again while it lives
        self._synced: dict[int, bytes] = {}
        self._names: list[dict[str, int]] = [{}]  # at each moment since the folder was synced
        self.before_a_step: Callable[[], None] | None = None
        for owner, name in STEPS:
            monkeypatch.setattr(owner, name, self._watched(name, getattr(owner, name)))

    def _watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **kwargs: Any) -> Any:
            if self.before_a_step:
                self._look()
                self.before_a_step()
            done = real(*args, **kwargs)
            self._look()
            if name == "fsync":
                self._sync(os.fstat(args[0]).st_ino)
            return done

        return step

    def _look(self) -> None:
        there = {path.name: path.stat().st_ino for path in self.folder.iterdir()}
        for name, inode in there.items():
            if inode not in self._open:
                self._open[inode] = os.open(self.folder / name, os.O_RDONLY)
        if there != self._names[-1]:
            self._names.append(there)

    def _sync(self, inode: int) -> None:
        if inode == self.folder.stat().st_ino:
            self._names = self._names[-1:]
        elif inode in self._open:
            self._synced[inode] = self._content(inode)

    def _content(self, inode: int) -> bytes:
        return os.pread(self._open[inode], os.fstat(self._open[inode]).st_size, 0)

    def left_in(self, folder: Path) -> Path:
        """What a cut now may leave."""
        folder.mkdir()
        for name, inode in self._chance.choice(self._names).items():
            synced, now = self._synced.get(inode, b""), self._content(inode)
            if now.startswith(synced):
                synced = now[: self._chance.choice([len(synced), self._chance.randint(len(synced), len(now))])]
            (folder / name).write_bytes(synced)
        return folder / "notes.json"


def use(memory: Memory, path: Path, chance: random.Random, said: list[str]) -> Memory:
    what = chance.choice(["remember", "remember", "recall", "compact", "reopen", "leave"])
    if what == "remember":
        text = f"Relay {len(said)} answers on channel {len(said) * 7}"
        memory.remember(text)
        said.append(text)
    elif what == "recall":
        memory.recall("relay")
        memory._writer.flush()  # a line that is not synced
    elif what == "compact":
        memory.compact()
    else:
        if what == "reopen":
            memory.close()
        return Memory(path, project="atlas", embed="none")
    return memory


@pytest.mark.covers("E17", "P3", "P15")
def test_the_backup_is_whole_after_every_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "disk").mkdir()
    chance = random.Random("cuts")
    disk = Disk(tmp_path / "disk", monkeypatch, chance)
    path, said, cuts = disk.folder / "notes.json", list[str](), list[tuple[Path, int]]()

    def cut() -> None:
        if chance.random() < 0.15 and len(cuts) < rounds(200, 0.12):
            cuts.append((disk.left_in(tmp_path / f"after {len(cuts)}"), len(said)))

    disk.before_a_step = cut
    memory = Memory(path, project="atlas", embed="none")
    while len(cuts) < rounds(200, 0.12):
        memory = use(memory, path, chance, said)
    disk.before_a_step = None
    monkeypatch.undo()
    broken = [str(left) for left, acknowledged in cuts if not is_whole(left, said, acknowledged)]
    assert broken == [], f"{len(broken)} of {len(cuts)}"


def is_whole(path: Path, said: list[str], acknowledged: int) -> bool:
    """Whether the backup leads to what the store holds; what was acknowledged must be there in any case."""
    store = JsonFileStore(path)
    texts = [sealed.record.text for sealed in store.seals()]
    assert texts[:acknowledged] == said[:acknowledged] and len(texts) <= acknowledged + 1
    finding = json_files._backup(Files(path), store._place)
    store.close()
    return finding.ok
