"""Promise P22, in part: where nothing may be written, reading works and writing is refused in words."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from faults.processes import Child, needs_fork
from memorist import Memory
from memorist.errors import StoreUnavailable
from memorist.store.sqlite import SqliteStore
from memorist.store.sqlite.migrate import SCHEMA

NOBODY = 65534

pytestmark = needs_fork


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that anybody may look into, and an engine that is loaded: somebody without rights may not read it."""
    path = Path(tempfile.mkdtemp(prefix="memorist-read-only-"))
    path.chmod(0o755)
    monkeypatch.setenv("MEMORIST_CONFIG", str(path / "none.toml"))
    with Memory(path / "warm.db") as memory:
        memory.remember("warm")
        memory.recall("warm")
    for left in path.iterdir():
        left.unlink()
    yield path
    path.chmod(0o755)
    shutil.rmtree(path)


def somebody_without_rights(work: object) -> list[str]:
    """What a process says that is not root: root may write everywhere."""

    def run(say: object) -> None:
        if os.geteuid() == 0:
            os.setuid(NOBODY)
        work(say)  # type: ignore[operator]

    child = Child(run)
    said = list(child.lines())
    assert child.end() == 0
    return said


@pytest.mark.parametrize("mode", [0o555, 0o777], ids=["folder read-only", "folder writable"])
def test_a_store_that_may_not_be_written_can_be_read(folder: Path, mode: int) -> None:
    with Memory(folder / "memory.db", project="atlas") as memory:
        memory.remember("Read me")
    (folder / "memory.db").chmod(0o444)
    folder.chmod(mode)

    def work(say: object) -> None:
        with Memory(folder / "memory.db", project="atlas") as memory:
            say(memory.recall("read")[0].record.text)  # type: ignore[operator]
            try:
                memory.remember("Not this")
            except StoreUnavailable as problem:
                say(problem)  # type: ignore[operator]

    said = somebody_without_rights(work)
    assert said[0] == "Read me" and "read-only" in said[1]
    assert sorted(path.name for path in folder.iterdir() if path.suffix == ".db") == ["memory.db"]


@pytest.mark.parametrize("mode", [0o555, 0o777], ids=["folder read-only", "folder writable"])
def test_a_store_of_an_older_version_asks_to_be_opened_where_it_may_be_written(folder: Path, mode: int) -> None:
    schema = folder / "schema"
    schema.mkdir()
    shutil.copy(SCHEMA / "0001_spine.sql", schema)
    SqliteStore(folder / "memory.db", schema=schema).close()
    with closing(apsw.Connection(str(folder / "memory.db"))) as one:
        one.execute("PRAGMA journal_mode = DELETE")
    (folder / "memory.db").chmod(0o444)
    folder.chmod(mode)

    def work(say: object) -> None:
        try:
            Memory(folder / "memory.db")
        except StoreUnavailable as problem:
            say(problem)  # type: ignore[operator]

    [said] = somebody_without_rights(work)
    assert "older version; open it once where it may be written" in said and ".bak" not in said


def test_a_folder_without_a_store_is_named(folder: Path) -> None:
    folder.chmod(0o555)

    def work(say: object) -> None:
        try:
            Memory(folder / "memory.db")
        except StoreUnavailable as problem:
            say(problem)  # type: ignore[operator]

    [said] = somebody_without_rights(work)
    assert "cannot be created" in said and not list(folder.iterdir())
