"""Promise P10: making and restoring a backup may be cut off, and a restore may meet writers; no half of one passes for a store.

That a backup made among writers is a moment of their history is in `tests/golden/test_damage.py`.
"""

import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from conftest import rounds
from faults.processes import Child, needs_fork
from memorist import Memory
from memorist.errors import MemoristError, StoreDamaged, StoreUnavailable
from memorist.store.open import restore

NOW = datetime(2026, 5, 1, tzinfo=UTC)
WRITERS = 2


def text_of(writer: int, number: int) -> str:
    return f"Keeper {writer} wrote line {number} into the log of tower {number * 31 % 97}"


def keep_writing(path: Path, writer: int, progress: Path) -> Callable[[Callable[[object], None]], None]:
    """Writes, and leaves the number of acknowledged writes in a file: a pipe nobody reads would stop it."""

    def work(say: Callable[[object], None]) -> None:
        with Memory(path, project="atlas") as memory, progress.open("r+b", buffering=0) as done:
            say("ready")
            number = 0
            while True:
                memory.remember(text_of(writer, number), tags=[f"tower{number % 5}"])
                number += 1
                os.pwrite(done.fileno(), number.to_bytes(8, "big"), 0)

    return work


@contextmanager
def writing(path: Path) -> Iterator[Callable[[], list[int]]]:
    """Processes that write; how much of each was acknowledged so far."""
    progress = [path.with_name(f"progress-{writer}") for writer in range(WRITERS)]
    for file in progress:
        file.write_bytes(bytes(8))
    children = [Child(keep_writing(path, writer, progress[writer])) for writer in range(WRITERS)]
    try:
        assert all(child.line() == "ready" for child in children)
        yield lambda: [int.from_bytes(file.read_bytes(), "big") for file in progress]
    finally:
        for child in children:
            child.kill()


@needs_fork
@pytest.mark.covers("P10")
def test_a_restore_into_a_store_that_others_write_to(tmp_path: Path) -> None:
    """The drill on the living: whoever writes goes on, and what is there afterwards is whole."""
    path = tmp_path / "memory.db"
    for number in range(rounds(10, 0.1)):
        with writing(path) as acknowledged:
            while min(acknowledged()) < 5:
                pass
            with Memory(path, project="atlas") as memory:
                backup = memory.backup(tmp_path / f"{number}.backup.db")
            kept = restore(path, backup, NOW.replace(second=number))
        assert kept is not None
        with Memory(kept, project="atlas") as old, Memory(path, project="atlas") as new:
            for memory in (old, new):
                assert [finding for finding in memory.doctor() if not finding.ok] == []


@needs_fork
@pytest.mark.covers("P10", "P1")
def test_a_kill_in_the_middle_of_a_backup_leaves_no_file_that_looks_like_one(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, project="atlas") as memory:
        memory.remember_many([f"{text_of(0, number)} {'padding ' * 50}" for number in range(400)])

    def back_up(number: int) -> Callable[[Callable[[object], None]], None]:
        def work(say: Callable[[object], None]) -> None:
            with Memory(path, project="atlas") as memory:
                say("opened")
                memory.backup(tmp_path / f"{number}.copy")

        return work

    chance = random.Random("backup")
    for number in range(rounds(50, 0.06)):
        child = Child(back_up(number))
        child.line()
        time.sleep(chance.uniform(0, 0.03))
        child.kill()
        made = tmp_path / f"{number}.copy"
        if made.exists():
            restore(tmp_path / f"drill {number}" / "memory.db", made, NOW)
    with Memory(path, project="atlas") as memory:
        assert memory.audit().ok and memory.count() == 400


@needs_fork
@pytest.mark.covers("P10", "P1")
def test_a_kill_in_the_middle_of_a_restore_leaves_the_old_store_or_the_new_one(tmp_path: Path) -> None:
    source = tmp_path / "source.db"
    with Memory(source, project="atlas") as memory:
        memory.remember_many([text_of(0, number) for number in range(100)])
        backup = memory.backup(tmp_path / "backup.db")
        memory.remember_many([text_of(1, number) for number in range(50)])
    chance = random.Random("restore")
    for number in range(rounds(50, 0.06)):
        path = tmp_path / str(number) / "memory.db"
        path.parent.mkdir()
        for end in ("", ".anchor"):
            shutil.copy(source.with_name(source.name + end), path.with_name(path.name + end))
        child = Child(lambda say, path=path: restore(path, backup, NOW) and None)
        time.sleep(chance.uniform(0, 0.25))
        child.kill()
        with Memory(path, project="atlas") as memory:
            assert memory.count() in (100, 150)
            bad = [finding for finding in memory.doctor() if not finding.ok]
            assert all(finding.check == "journal" and "anchor" in finding.detail for finding in bad), bad
        restore(path, backup, NOW.replace(year=2027))
        with Memory(path, project="atlas") as memory:
            assert memory.count() == 100 and all(finding.ok for finding in memory.doctor())


@pytest.mark.covers("P10")
def test_a_backup_of_a_damaged_store_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, project="atlas") as memory:
        memory.remember_many([f"{text_of(0, number)} {'padding ' * 50}" for number in range(100)])
    one = apsw.Connection(str(path))
    root = 4096 * (one.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'records'").get - 1)
    one.close()
    content = bytearray(path.read_bytes())
    content[root + 8 : root + 4000] = bytes(3992)
    path.write_bytes(content)
    with Memory(path, project="atlas") as memory, pytest.raises(StoreDamaged):
        memory.backup(tmp_path / "copy.db")
    assert not list(tmp_path.glob("copy.db*"))


@pytest.mark.covers("P10", "P22")
def test_a_backup_to_an_impossible_place_is_refused_in_words(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember("Something to keep")
        (tmp_path / "file").touch()
        for place in (tmp_path / "file" / "b.db", tmp_path / ("x" * 300), tmp_path / "nul\0b.db"):
            with pytest.raises(MemoristError, match=r"cannot|exists|no file"):
                memory.backup(place)
        with pytest.raises(StoreUnavailable, match="choose another place"):
            memory.backup(tmp_path / "file" / "b.db")
        assert memory.count() == 1
