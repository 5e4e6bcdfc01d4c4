"""Backups through the command line, and their return into stores that are in use, damaged or gone."""

import os
from pathlib import Path

import pytest

from memorist import Memory

from .conftest import Cli


@pytest.fixture
def db(cli: Cli) -> Path:
    return Path(cli.environment["MEMORIST_DB"])


def test_a_backup_and_its_return(cli: Cli, db: Path, tmp_path: Path) -> None:
    cli("remember", "Before the backup")
    made = cli("backup", str(tmp_path / "b.db"))
    assert made.code == 0 and str(tmp_path / "b.db") in made.out
    cli("remember", "After the backup")
    refused = cli("backup", "--restore", str(tmp_path / "b.db"))
    assert refused.code == 5 and "--yes" in refused.err
    assert cli("count").out == "2\n"
    done = cli("backup", "--restore", str(tmp_path / "b.db"), "--yes", "--json").json
    assert [record["text"] for record in cli("list", "--json").json] == ["Before the backup"]
    assert cli("audit").code == cli("doctor").code == 0
    kept = Path(done["kept"])
    assert kept.name.startswith(db.name + ".replaced-") and oct(kept.stat().st_mode)[-3:] == "600"
    assert cli.inside("count", "--db", str(kept), "--project", "atlas").out == "2\n"
    assert cli.inside("audit", "--db", str(kept)).code == 0
    assert not [path for path in db.parent.iterdir() if "restoring" in path.name or "partial" in path.name]


def test_at_a_terminal_it_asks(cli: Cli, tmp_path: Path) -> None:
    cli("remember", "Before")
    cli("backup", str(tmp_path / "b.db"))
    cli("remember", "After")
    no = cli.at_terminal("backup", "--restore", str(tmp_path / "b.db"), typed="n\n")
    assert no.code == 1 and "[y/N]" in no.out
    assert cli("count").out == "2\n"
    assert cli.at_terminal("backup", "--restore", str(tmp_path / "b.db"), typed="y\n").code == 0
    assert cli("count").out == "1\n"


def test_a_backup_has_a_name_of_its_own_and_overwrites_nothing(cli: Cli, db: Path) -> None:
    cli.inside("remember", "One")
    made = Path(cli.inside("backup", "--json").json["backup"])
    assert made.parent == db.parent and made.name.startswith("memory.db.backup-2")
    assert cli.inside("backup", str(made)).code == 2
    assert cli.inside("backup", str(made), "--restore", str(made), "--yes").code == 2
    assert cli.inside("backup", "--db", ":memory:").code == 5


def test_what_is_no_sound_backup_is_refused_and_nothing_is_touched(cli: Cli, db: Path, tmp_path: Path) -> None:
    cli.inside("remember", "Precious " + "words " * 300)
    cli.inside("backup", str(tmp_path / "b.db"))
    sound = (tmp_path / "b.db").read_bytes()
    before = db.read_bytes()
    bad = {
        "text": b"not a database at all",
        "empty": b"",
        "half": sound[: len(sound) // 2],
        "scratched": sound.replace(b"Precious words", b"Worthless word"),
    }
    for name, content in bad.items():
        (tmp_path / name).write_bytes(content)
        ended = cli.inside("backup", "--restore", str(tmp_path / name), "--yes", "--json")
        assert ended.code in (2, 8), (name, ended)
    assert cli.inside("backup", "--restore", str(tmp_path / "missing"), "--yes").code == 2
    assert cli.inside("backup", "--restore", str(db), "--yes").code == 2
    assert db.read_bytes() == before
    assert sorted(path.name for path in tmp_path.glob("memory.db.replaced*")) == []


@pytest.mark.parametrize("damage", ["gone", "empty", "junk", "header", "middle", "truncated"])
def test_a_damaged_store_is_kept_as_it_is_and_replaced(cli: Cli, db: Path, tmp_path: Path, damage: str) -> None:
    for number in range(20):
        cli.inside("remember", f"Memory {number} " + "with some words " * 20)
    cli.inside("backup", str(tmp_path / "b.db"))
    content = db.read_bytes()
    damaged = {
        "empty": b"",
        "junk": b"junk" * 5000,
        "header": b"X" * 100 + content[100:],
        "middle": content[:8192] + os.urandom(16384) + content[8192 + 16384 :],
        "truncated": content[: len(content) // 3],
    }
    if damage == "gone":
        db.unlink()
    else:
        db.write_bytes(damaged[damage])
    done = cli.inside("backup", "--restore", str(tmp_path / "b.db"), "--yes", "--json")
    assert done.code == 0, done
    assert cli.inside("count").out == "20\n"
    assert cli.inside("doctor").code == 0
    kept = done.json["kept"]
    if damage in ("gone", "empty"):
        assert kept is None
    else:
        assert Path(kept).read_bytes() == damaged[damage]


def test_whoever_has_the_store_open_sees_the_restored_one_and_no_other_project(
    cli: Cli, db: Path, tmp_path: Path
) -> None:
    """Another store's shelves have other numbers: what one process remembers of them must not outlive the restore."""
    with Memory(tmp_path / "other.db", project="secret") as other:
        other.remember("Of the secret project")
        other.backup(tmp_path / "b.db")
    with Memory(db, project="atlas") as atlas:
        id = atlas.remember("Of atlas").id
        assert cli.inside("backup", "--restore", str(tmp_path / "b.db"), "--yes").code == 0
        assert atlas.list() == [] and list(atlas.recall("project")) == []
        assert id is not None and atlas.count({"id": id}) == 0
        atlas.remember("Of atlas again")
    with Memory(db, project="secret") as secret:
        assert [record.text for record in secret.list()] == ["Of the secret project"]
        assert all(finding.ok for finding in secret.doctor())
