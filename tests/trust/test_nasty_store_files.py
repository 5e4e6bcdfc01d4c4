"""Nasty input 18: files that should be a store and are not, or not today.

Empty, text, half, with the log of another store, of a newer memorist, at odds with itself, read-only, locked. Each is
answered in one clear line, by the library with an error of its kind and by the command line with its exit code. Not a
byte of the file changes, nothing is made beside it, and with the original put back everything is there.
"""

import json
import os
import shutil
import subprocess
import tempfile
import threading
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest

import warm
from faults.processes import Child, needs_fork
from memorist import Memory
from memorist.errors import MemoristError, StoreDamaged, StoreTooNew, StoreUnavailable
from memorist.surfaces.cli.app import run

TEXTS = [f"Harbour {number} has {number * 3} berths" for number in range(20)]
NOBODY = 65534


@dataclass(frozen=True)
class Nasty:
    make: Callable[[Path], None]
    error: type[MemoristError]
    says: str


def rewritten(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(change(path.read_bytes())) and None


def told(*statements: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with closing(apsw.Connection(str(path))) as one:
            for statement in statements:
                one.execute(statement)

    return make


FILES = {
    "0 bytes": Nasty(rewritten(lambda content: b""), StoreDamaged, "anchor beside it knows 20 events"),
    "gone": Nasty(Path.unlink, StoreDamaged, "anchor beside it knows 20 events"),
    "a text file": Nasty(rewritten(lambda content: b"Dear diary,\n" * 500), StoreDamaged, "not a database"),
    "a short text file": Nasty(rewritten(lambda content: b"hello\n"), StoreDamaged, "not a database"),
    "half of it": Nasty(rewritten(lambda content: content[: len(content) // 2]), StoreDamaged, "malformed"),
    "noise": Nasty(rewritten(lambda content: os.urandom(len(content))), StoreDamaged, "not a database"),
    "a newer schema": Nasty(told("PRAGMA user_version = 99"), StoreTooNew, "Upgrade memorist"),
    "the mark ahead of the table": Nasty(told("DELETE FROM migrations"), StoreDamaged, "applied steps say otherwise"),
    "another step in the table": Nasty(
        told("UPDATE migrations SET digest = 'x' WHERE number = 1"), StoreDamaged, "applied steps say otherwise"
    ),
    "the mark of somebody else": Nasty(told("PRAGMA application_id = 7"), StoreDamaged, "not a memorist store"),
    "no mark at all": Nasty(told("PRAGMA user_version = 0"), StoreDamaged, "not a memorist store"),
    "without its secret": Nasty(told("DELETE FROM settings"), StoreDamaged, "lost its secret"),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember_many(TEXTS)
    return tmp_path / "memory.db"


def found_in(folder: Path) -> dict[str, bytes]:
    """Everything there. SQLite's shared memory and an empty log come and go with every look."""
    files = {file.name: file.read_bytes() for file in folder.iterdir()}
    return {name: content for name, content in files.items() if not name.endswith("-shm") and content}


def assert_clear(said: str) -> None:
    assert "\n" not in said and len(said) < 700, said
    assert all(unicodedata.category(char) not in ("Cc", "Cs", "Cf") for char in said)


def memorist(path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return warm.run_in_text([*words, "--db", str(path), "--project", "atlas"])


@pytest.mark.covers("P11", "P13", "P22")
@pytest.mark.parametrize("name", FILES)
def test_the_library_refuses_in_one_clear_line_and_changes_nothing(path: Path, tmp_path: Path, name: str) -> None:
    nasty = FILES[name]
    kept = tmp_path.with_name(tmp_path.name + "-kept")
    shutil.copytree(tmp_path, kept)
    nasty.make(path)
    before = found_in(tmp_path)
    for _ in range(2):
        with pytest.raises(nasty.error, match=nasty.says) as problem:
            Memory(path, project="atlas")
        assert_clear(str(problem.value))
        assert found_in(tmp_path) == before
    shutil.copy(kept / "memory.db", path)
    with Memory(path, project="atlas") as memory:
        assert sorted(record.text for record in memory.list()) == sorted(TEXTS)
        assert [finding for finding in memory.doctor() if not finding.ok] == []


@pytest.mark.covers("P11", "P13", "P22")
@pytest.mark.parametrize("name", FILES)
def test_the_command_line_refuses_with_its_exit_code_and_changes_nothing(
    path: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    nasty = FILES[name]
    nasty.make(path)
    before = found_in(tmp_path)
    code = run(["remember", "Not this", "--json", "--db", str(path), "--project", "atlas"])
    out, err = capsys.readouterr()
    assert code == nasty.error.exit_code, err
    assert json.loads(out)["error"]["code"] == nasty.error.code
    assert err.startswith("memorist: ") and err.endswith("\n")
    assert_clear(err[:-1])
    assert found_in(tmp_path) == before


@pytest.mark.covers("P11", "P22")
@pytest.mark.parametrize("name", ["0 bytes", "half of it", "a newer schema"])
def test_the_program_ends_with_that_code_and_without_a_traceback(path: Path, tmp_path: Path, name: str) -> None:
    FILES[name].make(path)
    before = found_in(tmp_path)
    ended = memorist(path, "recall", "berths")
    assert (ended.returncode, ended.stdout) == (FILES[name].error.exit_code, "")
    assert ended.stderr.startswith("memorist: ") and ended.stderr.count("\n") == 1
    assert found_in(tmp_path) == before


@pytest.mark.parametrize("name", ["0 bytes", "a text file", "half of it", "a newer schema"])
def test_every_command_that_reads_or_looks_after_a_store_refuses_alike(path: Path, tmp_path: Path, name: str) -> None:
    nasty = FILES[name]
    nasty.make(path)
    before = found_in(tmp_path)
    where = ["--db", str(path), "--project", "atlas"]
    for words in (
        ["recall", "berths"],
        ["count"],
        ["list"],
        ["doctor"],
        ["audit"],
        ["status"],
        ["backup", f"{path}.b"],
    ):
        assert run([*words, *where]) == nasty.error.exit_code, words
    assert found_in(tmp_path) == before


@pytest.mark.covers("P11")
@pytest.mark.parametrize("beside", ["closed", "killed"])
def test_the_log_of_another_store_is_found_by_the_doctor_of_either_door(
    path: Path, tmp_path: Path, beside: str
) -> None:
    """SQLite takes any log that is well-formed; what it makes of the two cannot pass for the store."""
    other, spare = tmp_path / "other", tmp_path / "spare.db"
    shutil.copy(path, spare)
    with Memory(other / "memory.db", project="atlas") as memory:
        memory.remember_many([f"Somebody else's note {number}" for number in range(200)])
        shutil.copy(other / "memory.db-wal", path.with_name("memory.db-wal"))
        if beside == "killed":
            shutil.copy(other / "memory.db-shm", path.with_name("memory.db-shm"))
    ended = memorist(path, "doctor")
    assert ended.returncode in (1, StoreDamaged.exit_code), ended
    assert "Traceback" not in ended.stderr and "backup" in ended.stdout + ended.stderr
    done = memorist(path, "backup", "--restore", str(spare), "--yes")
    assert done.returncode == 0, done
    with Memory(path, project="atlas") as memory:
        assert sorted(record.text for record in memory.list()) == sorted(TEXTS)
        assert [finding for finding in memory.doctor() if not finding.ok] == []


# ---------------------------------------------------------------- locked


@pytest.fixture
def locked(path: Path) -> Iterator[Path]:
    """Held by somebody who lets nobody even read."""
    one = apsw.Connection(str(path))
    one.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE settings SET value = value").fetchall()
    yield path
    one.close()


@pytest.mark.covers("P6", "P22")
def test_a_store_under_an_exclusive_lock_is_waited_for_and_then_named_busy(locked: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"busy.*try again") as problem:
        Memory(locked, project="atlas", wait=0.2)
    assert_clear(str(problem.value))
    assert problem.value.retry_safe
    ended = memorist(locked, "count")
    assert ended.returncode == StoreUnavailable.exit_code and "busy" in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.covers("P6")
def test_a_store_whose_lock_is_given_back_in_time_is_used(path: Path) -> None:
    one = apsw.Connection(str(path))
    one.execute(
        "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE settings SET value = value; COMMIT"
    ).fetchall()
    threading.Timer(0.5, one.close).start()
    with Memory(path, project="atlas") as memory:
        assert memory.remember("Waited for it").outcome == "added"


# ---------------------------------------------------------------- read-only


@needs_fork
@pytest.mark.covers("P22")
def test_a_read_only_store_is_read_and_not_written_through_either_door(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(tempfile.mkdtemp(prefix="memorist-nasty-"))
    monkeypatch.setenv("MEMORIST_CONFIG", str(folder / "none.toml"))
    path = folder / "memory.db"
    try:
        with Memory(path, project="atlas") as memory:
            memory.remember_many(TEXTS)
            memory.recall("berths")
        path.chmod(0o444)
        folder.chmod(0o555)
        before = found_in(folder)
        child = Child(lambda say: use_without_rights(path, say))
        said = list(child.lines())
        assert child.end() == 0
        assert said == ["20", "StoreUnavailable", "0", "7"]
        assert found_in(folder) == before
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def use_without_rights(path: Path, say: Callable[[object], None]) -> None:
    where = ["--db", str(path), "--project", "atlas"]
    if os.geteuid() == 0:
        os.setuid(NOBODY)
    with Memory(path, project="atlas") as memory:
        say(memory.count())
        try:
            memory.remember("Not this")
        except StoreUnavailable as problem:
            assert "read-only" in str(problem)
            say(type(problem).__name__)
    say(run(["recall", "berths", *where]))
    say(run(["remember", "Not this", *where]))
