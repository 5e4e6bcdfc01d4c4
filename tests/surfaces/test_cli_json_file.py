"""The command line on a JSON file: every verb is the same, and the file is there to be read."""

import json
from pathlib import Path

import pytest

from .conftest import Cli


@pytest.mark.covers("S0-5", "S3-5", "P10")
def test_the_verbs_work_on_a_json_file(cli: Cli, tmp_path: Path) -> None:
    notes = tmp_path / "notes.json"
    here = ("--db", str(notes), "--project", "atlas")
    assert cli("remember", "Staging runs Postgres 16", *here).code == 0
    assert cli.inside("remember", "The relay answers on channel 7", "--tag", "relay", *here).code == 0
    hits = cli("recall", "which database runs on staging?", "--json", *here).json["hits"]
    assert hits[0]["record"]["text"] == "Staging runs Postgres 16"
    assert [record["text"] for record in cli.inside("list", "--json", *here).json] == [
        "The relay answers on channel 7",
        "Staging runs Postgres 16",
    ]
    assert [record["text"] for record in json.loads(notes.read_text(encoding="utf-8"))["records"]] == [
        "Staging runs Postgres 16",
        "The relay answers on channel 7",
    ]
    doctor = cli.inside("doctor", *here)
    assert doctor.code == 0 and "checksum" in doctor.out
    assert cli.inside("audit", *here).code == cli.inside("compact", *here).code == 0


@pytest.mark.covers("P10", "P11")
def test_backups_and_damage(cli: Cli, tmp_path: Path) -> None:
    notes = tmp_path / "notes.json"
    here = ("--db", str(notes), "--project", "atlas")
    cli.inside("remember", "Before the backup", *here)
    made = Path(cli.inside("backup", "--json", *here).json["backup"])
    assert made.name.startswith("notes.json.backup-2")
    cli.inside("remember", "After the backup", *here)
    assert cli.inside("count", "--db", str(made), "--project", "atlas").out == "1\n"
    notes.write_text("scratched")
    assert cli.inside("count", *here).out == "2\n"
    doctor = cli.inside("doctor", *here)
    assert doctor.code != 0 and "notes.json.damaged-" in doctor.out
    for file in tmp_path.glob("notes.json.bak*"):
        file.unlink()
    notes.write_text("scratched")
    ended = cli.inside("count", *here)
    assert ended.code == 8 and "notes.json" in ended.err and notes.read_text() == "scratched"


@pytest.mark.covers("P10", "P11")
@pytest.mark.parametrize("damage", ["none", "gone", "junk", "everything"])
def test_a_backup_is_restored_into_a_json_file(cli: Cli, tmp_path: Path, damage: str) -> None:
    notes = tmp_path / "notes.json"
    here = ("--db", str(notes), "--project", "atlas")
    cli.inside("remember", "Before the backup", *here)
    cli.inside("remember", "To be erased", *here)
    cli.inside("backup", str(tmp_path / "b.json"), *here)
    cli.inside("erase", "2", "--yes", *here)
    cli.inside("remember", "After the backup", *here)
    if damage == "gone":
        notes.unlink()
    elif damage != "none":
        notes.write_text("junk")
    if damage == "everything":
        (tmp_path / "notes.json.bak").write_text("junk")
    done = cli.inside("backup", "--restore", str(tmp_path / "b.json"), "--yes", "--json", *here)
    assert done.code == 0, done
    assert [record["text"] for record in cli.inside("list", "--json", *here).json] == ["Before the backup"]
    assert cli.inside("audit", *here).code == 0
    kept = Path(done.json["kept"])
    if damage == "everything":
        assert kept.read_text() == "junk"
    else:
        assert cli.inside("count", "--db", str(kept), "--project", "atlas").out == "2\n"
    erased = cli.inside("erase", "1", "--yes", *here)
    assert erased.code == 0, erased
    held = [path.name for path in tmp_path.iterdir() if path.is_file() and b"Before the backup" in path.read_bytes()]
    assert held == ["b.json"], "a backup that a user made is the user's"


@pytest.mark.covers("P11")
@pytest.mark.parametrize("content", [b"", b"not a backup", b"[]", None])
def test_what_is_no_sound_backup_is_refused(cli: Cli, tmp_path: Path, content: bytes | None) -> None:
    notes, bad = tmp_path / "notes.json", tmp_path / "bad.json"
    here = ("--db", str(notes), "--project", "atlas")
    cli.inside("remember", "Precious", *here)
    bad.write_bytes(notes.read_bytes().replace(b"Precious", b"Worthles") if content is None else content)
    before = notes.read_bytes()
    assert cli.inside("backup", "--restore", str(bad), "--yes", *here).code == 8
    assert notes.read_bytes() == before and not list(tmp_path.glob("notes.json.replaced*"))


@pytest.mark.covers("S0-5")
def test_the_place_may_stand_before_the_command(cli: Cli) -> None:
    assert cli("--db", "notes.json", "remember", "The heron nests at the weir").code == 0
    assert "heron" in cli("--db=notes.json", "--json", "recall", "heron").json["hits"][0]["record"]["text"]
    assert cli("--db", "notes.json").code == 2
    assert cli("--limit", "3", "recall", "heron").code == 2
    assert cli("--db", "notes.json", "list", "--json").json[0]["number"] == 1
