"""Promises P8 and P9: many processes that open one store at once make or upgrade it once; a fork costs the parent nothing.

The openers are forked from one process that has used memorist already, so that they meet at the file and not in the
imports. The old store is one that only the first schema step has seen; today's schema upgrades it.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from conftest import rounds
from faults.processes import all_at_once, needs_fork
from memorist import Memory
from memorist.store.nouns import Commit
from memorist.store.sqlite import SqliteStore
from memorist.store.sqlite.migrate import SCHEMA, migrations_in
from memorist.testing import a_record, an_event, journalled, sealed

pytestmark = needs_fork
OPENERS = 16
STEPS = len(migrations_in(SCHEMA))


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    with Memory(":memory:") as memory:
        memory.remember("Everything is imported")
        assert memory.recall("imported")


@pytest.fixture(scope="module")
def old_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that only the first schema step has seen, with a memory in it."""
    folder = tmp_path_factory.mktemp("first")
    shutil.copy(next(SCHEMA.glob("0001_*.sql")), folder)
    path = tmp_path_factory.mktemp("old") / "memory.db"
    with closing(SqliteStore(path, schema=folder)) as store:
        record = a_record("Written by the first release")
        asked(path, "CREATE TABLE topics (topic, record)")  # today's writer fills it, the first release had none
        with store.transaction():
            store.write(Commit([replace(sealed(record), new=True)]))
        journalled(store, an_event(record, 1))
        asked(path, "DROP TABLE topics")
    assert asked(path, "PRAGMA user_version") == 1
    return path


def asked(path: Path, sql: str) -> Any:
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as one:
        return one.execute(sql).get


def opening(path: Path, number: int) -> Callable[[], None]:
    """Opens, writes, reads, closes."""

    def work() -> None:
        with Memory(path, project="atlas") as memory:
            assert memory.remember(f"Opener {number} was here").outcome == "added"
            assert memory.recall(f"opener {number}")

    return work


def assert_made_once(path: Path, *more: str) -> None:
    assert asked(path, "PRAGMA user_version") == STEPS
    assert asked(path, "SELECT count(*) FROM migrations") == STEPS
    with Memory(path, project="atlas") as memory:
        texts = sorted(record.text for record in memory.list())
        assert texts == sorted([*more, *(f"Opener {number} was here" for number in range(OPENERS))])
        assert [finding for finding in memory.doctor() if not finding.ok] == []


@pytest.mark.covers("P8", "P13")
def test_sixteen_that_open_an_old_store_at_once(old_store: Path, tmp_path: Path) -> None:
    secret = asked(old_store, "SELECT value FROM settings WHERE name = 'secret'")
    for number in range(rounds(50, 0.06)):
        path = tmp_path / str(number) / "memory.db"
        path.parent.mkdir()
        shutil.copy(old_store, path)
        assert all_at_once([opening(path, opener) for opener in range(OPENERS)]) == [0] * OPENERS
        assert_made_once(path, "Written by the first release")
        assert asked(path, "SELECT value FROM settings WHERE name = 'secret'") == secret
        backups = [file.name for file in path.parent.iterdir() if ".bak" in file.name]
        assert backups == (["memory.db.before-0002.bak"] if STEPS > 1 else [])


# ---------------------------------------------------------------- a fork of a whole program

PROGRAM = """
import os, sys
from memorist import Memory
from memorist.errors import StoreUnavailable

memory = Memory(sys.argv[1], project="atlas")
memory.remember("Said before the fork")
memory.recall("fork")
for _ in range(int(sys.argv[2])):
    with memory._writer.transaction():
        memory.remember("Said inside, by the parent " + os.urandom(8).hex())
        child = os.fork()
        if child == 0:
            try:
                memory.remember("Said by the child with what is not its own")
            except StoreUnavailable as told:
                assert "fork" in str(told)
            else:
                os._exit(3)
            if sys.argv[3] == "own":
                try:
                    Memory(sys.argv[1], project="atlas", wait=0.1)
                except StoreUnavailable as told:
                    assert "forked in the middle" in str(told)
                else:
                    os._exit(4)
                with Memory(sys.argv[1] + ".other", project="atlas", wait=0.1) as own:
                    own.remember("Said by the child in a file of its own")
                    assert own.count() >= 1
            sys.exit(0)
        _, status = os.waitpid(child, 0)
        assert status == 0, status
        memory.remember("Said after the child ended " + os.urandom(8).hex())
memory.close()
"""


@pytest.mark.covers("P9")
@pytest.mark.parametrize("kind", ["plain", "own"])
def test_children_that_end_as_programs_do_leave_the_parents_transaction_whole(tmp_path: Path, kind: str) -> None:
    """At its end an interpreter takes apart all it holds, connections it inherited among them."""
    path, times = tmp_path / "memory.db", rounds(100, 0.03)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, path, str(times), kind], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    with Memory(path, project="atlas") as memory:
        assert memory.count() == 1 + 2 * times
        assert [finding for finding in memory.doctor() if not finding.ok] == []
