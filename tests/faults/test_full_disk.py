"""Promise P5 and nasty input 19: on a full disk reading goes on, writing fails in words, and nothing acknowledged is lost.

Three kinds of full: SQLite's own limit of pages, a limit on the size of files, and (in `on_a_small_disk.py`, because it must be
mounted) a real disk of a few megabytes with a ballast file. When there is room again, work goes on in the same process.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from conftest import rounds
from faults.disks import files_at_most, files_of_any_size
from faults.processes import Child, needs_fork
from memorist import Memory
from memorist.errors import StoreUnavailable
from memorist.store.sqlite import SqliteStore
from memorist.store.sqlite.migrate import SCHEMA
from memorist.testing import a_record, stored

FULL = r"disk is full.*nothing was lost.*try again"
OR_OVER_QUOTA = r"disk is full|disk did not take what was written.*retry"


def line(number: int) -> str:
    return f"Barge {number} carries {number * 37 % 101} tons of gravel {'downstream ' * 20}"


def texts(memory: Memory) -> list[str]:
    return [record.text for record in memory.list(order="-number", limit=100_000)]


def write_until_full(memory: Memory, first: int, match: str = FULL) -> int:
    """How far it came; every line before that was acknowledged."""
    number = first
    with pytest.raises(StoreUnavailable, match=match) as told:
        while number < first + 5000:
            assert memory.remember(line(number), key=f"op-{number}").outcome == "added"
            number += 1
    assert told.value.retry_safe
    return number


def assert_whole(memory: Memory, written: int) -> None:
    assert texts(memory) == [line(number) for number in range(written)]
    assert [finding for finding in memory.doctor() if not finding.ok] == []


# ---------------------------------------------------------------- SQLite's limit of pages


def limit_pages(memory: Memory, more: int) -> None:
    one = memory._tools.store._connections.here()  # type: ignore[attr-defined]
    one.execute(f"PRAGMA max_page_count = {one.execute('PRAGMA page_count').get + more}")


@pytest.mark.covers("P5", "P24")
def test_reading_goes_on_writing_is_refused_and_then_goes_on_too(tmp_path: Path) -> None:
    path, written = tmp_path / "memory.db", 0
    with Memory(path, project="atlas") as memory:
        for _ in range(rounds(20, 0.12)):
            limit_pages(memory, 8)
            written = write_until_full(memory, written)
            with pytest.raises(StoreUnavailable, match=FULL):
                memory.remember(line(written), key=f"op-{written}")
            assert texts(memory) == [line(number) for number in range(written)]
            assert memory.recall("which barge carries gravel?") and memory.context("gravel").text
            limit_pages(memory, 100_000)
            assert memory.remember(line(written), key=f"op-{written}").outcome == "added"
            written += 1
        assert_whole(memory, written)
    with Memory(path, project="atlas") as memory:
        assert_whole(memory, written)


@pytest.mark.covers("P4", "P5")
def test_no_verb_leaves_half_of_itself_on_a_full_disk(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember_many([line(number) for number in range(20)])
        long = " ".join(f"lock{number}" for number in range(1_500))
        verbs: list[Callable[[], object]] = [
            lambda: memory.remember(long),
            lambda: memory.remember_many([f"{number} {long}" for number in range(3)]),
            lambda: memory.revise(3, f"Instead: {long}"),
            lambda: memory.revise(4, data={"note": long}),
            lambda: memory.remember(long, kind="document", title="Locks", tags=["canal"]),
        ]
        limit_pages(memory, 0)
        before, events = texts(memory), memory.audit().events
        for verb in verbs:
            with pytest.raises(StoreUnavailable, match=FULL):
                verb()
            assert (texts(memory), memory.audit().events) == (before, events)
        limit_pages(memory, 100_000)
        for verb in verbs:
            verb()
        assert [finding for finding in memory.doctor() if not finding.ok] == []


# ---------------------------------------------------------------- a limit on the size of files


def in_a_child(work: Callable[[], object]) -> None:
    """What sets limits must not set the test runner's."""
    child = Child(lambda say: work() and None)
    assert child.end() == 0


@needs_fork
@pytest.mark.covers("P5")
def test_files_that_may_not_grow(tmp_path: Path) -> None:
    def work() -> None:
        with Memory(tmp_path / "memory.db", project="atlas") as memory:
            memory.remember_many([line(number) for number in range(50)])
            files_at_most((tmp_path / "memory.db-wal").stat().st_size + 50_000)
            written = write_until_full(memory, 50, OR_OVER_QUOTA)
            assert memory.recall("gravel") and texts(memory) == [line(number) for number in range(written)]
            files_of_any_size()
            memory.remember(line(written), key=f"op-{written}")
            assert_whole(memory, written + 1)

    in_a_child(work)


@needs_fork
@pytest.mark.covers("P5", "P10")
def test_a_disk_that_fills_up_in_the_middle_of_a_backup(tmp_path: Path) -> None:
    def work() -> None:
        with Memory(tmp_path / "memory.db", project="atlas") as memory:
            memory.remember_many([line(number) for number in range(300)])
            files_at_most(100_000)
            with pytest.raises(StoreUnavailable, match=OR_OVER_QUOTA):
                memory.backup(tmp_path / "copy.db")
            assert not list(tmp_path.glob("copy.db*")), "half a backup is none"
            assert memory.recall("gravel")
            files_of_any_size()
            memory.backup(tmp_path / "copy.db")
            assert_whole(memory, 300)
        with Memory(tmp_path / "copy.db", project="atlas") as copy:
            assert_whole(copy, 300)

    in_a_child(work)


NEXT_STEP = """
CREATE TABLE visits (id INTEGER PRIMARY KEY, padding TEXT NOT NULL) STRICT;
WITH RECURSIVE counted (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM counted WHERE n < 20000)
  INSERT INTO visits (padding) SELECT hex(randomblob(40)) FROM counted;
"""


@needs_fork
@pytest.mark.covers("P5", "P13")
@pytest.mark.parametrize("room", [40_000, 600_000], ids=["for no backup", "for no step"])
def test_a_disk_that_fills_up_in_the_middle_of_an_upgrade(tmp_path: Path, room: int) -> None:
    """The store stays what it was, opens with what made it, and is upgraded once there is room."""
    schemas = tmp_path / "old", tmp_path / "new"
    for folder in schemas:
        shutil.copytree(SCHEMA, folder)
    next_version = len(list(SCHEMA.glob("*.sql"))) + 1
    (schemas[1] / f"{next_version:04}_visits.sql").write_text(NEXT_STEP, encoding="utf-8")
    path = tmp_path / "memory.db"
    with closing(SqliteStore(path, schema=schemas[0])) as store:
        stored(store, a_record(line(0)))
    settings = asked(path, "SELECT group_concat(name || value) FROM settings")

    def work() -> None:
        files_at_most(room)
        with pytest.raises(StoreUnavailable, match=OR_OVER_QUOTA):
            SqliteStore(path, schema=schemas[1])
        with closing(SqliteStore(path, schema=schemas[0])) as old:
            assert old.setting("secret")
        files_of_any_size()
        SqliteStore(path, schema=schemas[1]).close()

    in_a_child(work)
    assert asked(path, "PRAGMA user_version") == next_version
    assert asked(path, "SELECT count(*) FROM visits") == 20_000
    assert asked(path, "PRAGMA integrity_check") == "ok"
    assert asked(path, "SELECT group_concat(name || value) FROM settings") == settings
    assert not list(tmp_path.glob("*.partial"))


def asked(path: Path, sql: str) -> Any:
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as one:
        return one.execute(sql).get


# ---------------------------------------------------------------- through the command line


def memorist(path: Path, *words: str, size: int | None = None) -> subprocess.CompletedProcess[str]:
    """The program, with a limit on the size of its files."""
    return subprocess.run(
        [sys.executable, "-m", "memorist", *words, "--db", str(path), "--project", "atlas"],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=None if size is None else lambda: files_at_most(size),
    )


@needs_fork
@pytest.mark.covers("P5", "P22")
def test_the_command_line_says_in_one_line_that_there_is_no_room(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, project="atlas") as memory:
        memory.remember_many([line(number) for number in range(30)])
    little = 36_000  # room for what SQLite shares between processes, none for its log
    refused = memorist(path, "remember", line(30), size=little)
    assert (refused.returncode, refused.stdout) == (7, "")
    assert refused.stderr.count("\n") == 1 and "disk" in refused.stderr and "Traceback" not in refused.stderr
    assert memorist(path, "count", size=little).stdout == "30\n"
    assert memorist(path, "get", "7", size=little).returncode == 0
    assert memorist(path, "remember", line(30)).returncode == 0
    with Memory(path, project="atlas") as memory:
        assert_whole(memory, 31)
