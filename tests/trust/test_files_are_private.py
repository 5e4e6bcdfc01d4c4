"""Promise Z17: every file is the user's alone (0600) and every folder we make is (0700), whatever the umask allows."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import warm
from memorist import Memory
from memorist.store.files import create_private, replace_private
from memorist.surfaces import settings

pytestmark = [
    pytest.mark.usefixtures("without_reader"),
    pytest.mark.covers("Z17"),
    pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's"),
]


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """The most careless umask there is."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder of the user's own; everything under it is ours to make."""
    folder = tmp_path / "root"
    folder.mkdir(mode=0o755)
    return folder


def modes(root: Path) -> dict[str, str]:
    """Everything under the root and its mode."""
    return {str(p.relative_to(root)): oct(stat.S_IMODE(p.lstat().st_mode)) for p in sorted(root.rglob("*"))}


def assert_private(root: Path, *expected: str) -> None:
    found = modes(root)
    assert set(expected) <= set(found), found
    wrong = {name: mode for name, mode in found.items() if mode != ("0o700" if (root / name).is_dir() else "0o600")}
    assert wrong == {}


def test_the_store_and_what_lies_beside_it(root: Path) -> None:
    path = root / "deep" / "deeper" / "memory.db"
    with Memory(path, project="atlas") as memory:
        memory.remember_many(["One memory", "Another memory"])
        memory.recall("memory")
        memory.context("memory")
        assert_private(root, "deep", "deep/deeper", *(f"deep/deeper/memory.db{end}" for end in ("", "-wal", "-shm")))
    assert_private(root, "deep/deeper/memory.db", "deep/deeper/memory.db.anchor")


def test_backups(root: Path) -> None:
    with Memory(root / "memory.db") as memory:
        memory.remember("Something to keep")
        memory.backup(root / "copies" / "of today" / "memory.bak")
        assert_private(root, "copies", "copies/of today", "copies/of today/memory.bak")


def test_the_backup_before_an_upgrade(root: Path, tmp_path: Path) -> None:
    from memorist.store.sqlite import SqliteStore
    from memorist.store.sqlite.migrate import SCHEMA

    with Memory(root / "memory.db") as memory:
        memory.remember("Something to keep")
    schema = tmp_path / "schema"
    schema.mkdir()
    for step in SCHEMA.glob("*.sql"):
        (schema / step.name).write_bytes(step.read_bytes())
    number = len(list(schema.iterdir())) + 1
    (schema / f"{number:04}_test.sql").write_text("CREATE TABLE more (id INTEGER PRIMARY KEY) STRICT;")
    SqliteStore(root / "memory.db", schema=schema).close()
    assert_private(root, "memory.db", f"memory.db.before-{number:04}.bak")


def test_the_users_own_store_and_settings(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(root))
    monkeypatch.delenv("MEMORIST_CONFIG")
    settings.set_setting("budget", "900")
    with Memory(project="atlas") as memory:
        memory.remember("Kept in the home folder")
    assert_private(root)
    assert {Path(name).name for name in modes(root)} >= {"config.toml", "memory.db", "memory.db.anchor"}


def test_a_file_that_is_replaced_stays_private(root: Path) -> None:
    for text in ("first", "second"):
        replace_private(root / "settings" / "here.toml", text)
    assert_private(root, "settings", "settings/here.toml")
    assert (root / "settings" / "here.toml").read_text() == "second"


def test_a_folder_that_was_there_keeps_its_mode(root: Path) -> None:
    shared = root / "shared"
    shared.mkdir(mode=0o755)
    create_private(shared / "inner" / "file")
    assert modes(root) == {"shared": "0o755", "shared/inner": "0o700", "shared/inner/file": "0o600"}


def test_a_store_that_others_can_open_is_a_finding(root: Path) -> None:
    with Memory(root / "memory.db") as memory:
        (root / "memory.db").chmod(0o644)
        [finding] = [finding for finding in memory.doctor() if not finding.ok]
    assert finding.check == "permissions" and "memory.db" in finding.detail and "chmod 600" in (finding.advice or "")


def test_the_command_line(root: Path) -> None:
    """Every command that writes, one after another, in a fresh home."""
    work = root / "work"
    work.mkdir(mode=0o700)
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(root), **warm.of_the_start(os.environ)}

    def run(*words: str, stdin: str = "") -> None:
        done = warm.run(words, input=stdin.encode(), cwd=work, env=environment, timeout=120)
        assert done.returncode == 0, (words, done.stderr)

    run("remember", "Trains run on time")
    run("remember", "--batch", stdin="Boats too\nPlanes do not\n")
    run("revise", "1", "Trains are late")
    run("tag", "1", "trains")
    run("forget", "2")
    run("recall", "trains")
    run("config", "set", "budget", "900")
    run("off")
    run("on")
    run("backup", str(root / "backups" / "today.db"))
    run("backup", "--restore", str(root / "backups" / "today.db"), "--yes")
    run("doctor")
    assert_private(root, "backups", "backups/today.db")
    assert {Path(name).name for name in modes(root)} >= {"config.toml", "memory.db"}
