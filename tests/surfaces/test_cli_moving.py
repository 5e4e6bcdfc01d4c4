"""`memorist import` and `memorist export` as users run them."""

import json
import os
import stat
from pathlib import Path

import pytest

from memorist.errors import Refused

from .conftest import Cli

PAGE = "# Decisions\n- [2025-03-14] Staging runs Postgres 16\n- Ship on Friday\n"


@pytest.fixture
def page(cli: Cli) -> Path:
    file = cli.folder / "MEMORY.md"
    file.write_text(PAGE)
    return file


@pytest.mark.covers("S1-15", "S1-11")
def test_an_import_says_what_became_of_it_and_how_to_take_it_back(cli: Cli, page: Path) -> None:
    done = cli("import", ".")
    assert done.code == 0 and done.err == ""
    first, second = done.out.splitlines()
    assert first == "imported 1 file: 2 added"
    assert cli("import", "MEMORY.md").out == "imported 1 file: 2 unchanged\n  2 unchanged: it is there already\n"
    listed = cli("list", "--json").json
    assert {record["text"]: record["times"]["at"][:10] for record in listed}["Staging runs Postgres 16"] == "2025-03-14"
    undo = second.split("`")[1].split()
    assert undo[:2] == ["memorist", "undo"]
    assert cli(*undo[1:]).code == 0
    assert cli("count").out == "0\n"
    assert "2 added" in cli("import", ".").out  # whoever takes an import back and imports again means it
    assert cli("forget", "--where", '{"origin": "import"}').code == 0
    assert "2 unchanged: it was forgotten here, and a file does not bring it back" in cli("import", ".").out


def test_a_dry_run_shows_the_memories_and_stores_none(cli: Cli, page: Path) -> None:
    shown = cli.inside("import", "MEMORY.md", "--dry-run")
    assert shown.code == 0 and "decision\t2025-03-14\tproject/atlas\tDecisions\tStaging runs Postgres 16" in shown.out
    assert "2 memories would be imported" in shown.err
    assert len(cli.inside("import", "MEMORY.md", "--dry-run", "--json").json["drafts"]) == 2
    assert cli.inside("count").out == "0\n"


@pytest.mark.covers("S1-18")
def test_memories_move_from_one_store_to_another(cli: Cli, page: Path, tmp_path: Path) -> None:
    cli.inside("import", "MEMORY.md")
    made = cli.inside("export", "all.jsonl")
    assert made.code == 0 and "all.jsonl" in made.out
    assert stat.S_IMODE((cli.folder / "all.jsonl").stat().st_mode) == 0o600
    again = cli.inside("export", "all.jsonl")
    assert again.code == 2 and "there already" in again.err
    other = str(tmp_path / "other.db")
    assert cli.inside("import", "all.jsonl", "--db", other, "--project", "atlas").out.startswith(
        "imported 1 file: 2 added"
    )
    assert cli.inside("import", "all.jsonl", "--db", other, "--project", "atlas", "--json").json["outcomes"] == {
        "unchanged": 2
    }


def test_an_export_goes_to_standard_output_as_it_is(cli: Cli) -> None:
    cli.inside("remember", "Ünïcode 🐘 and \u202eother way")
    lines = [json.loads(line) for line in cli("export").out.splitlines()]
    assert lines[0]["memorist"] == "export" and (lines[-1]["memorist"], lines[-1]["count"]) == ("end", 1)
    assert lines[1]["text"] == "Ünïcode 🐘 and \u202eother way"
    assert "\u202e" not in cli.at_terminal("export").out
    assert [line.get("text") for line in cli.inside("export", "--json").json] == [None, lines[1]["text"], None]


def test_a_dash_is_standard_output_and_a_file_is_told_with_its_count(cli: Cli, page: Path) -> None:
    cli.inside("import", str(page))
    many = int(cli.inside("count").out)
    assert cli.inside("export", "-").out.splitlines()[1:-1] == cli.inside("export").out.splitlines()[1:-1]
    assert not (cli.folder / "-").exists()
    cli.inside("link", "1", "2")
    for style in ("jsonl", "markdown"):
        assert cli.inside("export", style, "--style", style).out == f"exported {many} memories to {style}\n"
    assert cli.inside("export", "c", "--json").json["memories"] == many


def test_an_export_can_be_narrowed_and_read(cli: Cli, page: Path) -> None:
    cli.inside("import", "MEMORY.md")
    cli.inside("remember", "Ann prefers tabs", "--user", "ann")
    readable = cli.inside("export", "--style", "markdown")
    assert (
        readable.code == 0
        and "### decision" in readable.out
        and "- 2025-03-14: Staging runs Postgres 16" in readable.out
    )
    only = cli.inside("export", "--scope", "user/ann").out.splitlines()
    assert len(only) == 3 and "tabs" in only[1]
    assert len(cli.inside("export", "--where", '{"kind": "decision"}').out.splitlines()) == 4
    assert "Ann" not in readable.out and "left out: 1 in user/ann; --scope SCOPE exports one" in readable.err
    assert "Ann" in cli.inside("export", "--all", "--style", "markdown", "--json").json["markdown"]
    assert cli.inside("export", "--all", "--scope", "user/ann").code == 2
    assert cli.inside("export", "--style", "xml").code == 2


def test_a_failed_export_leaves_no_file(cli: Cli) -> None:
    assert cli.inside("export", "x.jsonl", "--where", '{"nonsense": 1}').code == 2
    assert not (cli.folder / "x.jsonl").exists()
    assert cli.inside("export", "missing/x.jsonl").code == 1


def test_damaged_lines_are_named_and_the_exit_code_says_so(cli: Cli) -> None:
    cli.inside("remember", "one")
    whole = cli.inside("export").out.splitlines(keepends=True)
    (cli.folder / "bad.jsonl").write_text("".join([whole[0], "{junk\n" * 30, *whole[1:]]))
    done = cli.inside("import", "bad.jsonl")
    assert done.code == 1 and "1 unchanged" in done.out
    assert "bad.jsonl:2: is not JSON" in done.err and done.err.count("\n") == 21 and "11 more" in done.err
    assert len(cli.inside("import", "bad.jsonl", "--json").json["problems"]) == 31


def test_what_cannot_be_imported_is_said_in_one_line(cli: Cli, page: Path) -> None:
    (cli.folder / "other.json").write_text('{"memories": []}')
    (cli.folder / "newer.jsonl").write_text('{"memorist": "export", "version": 3}\n')
    for arguments, code in (([], 2), (["missing.md"], 2), (["other.json"], 2), (["newer.jsonl"], 9)):
        ended = cli.inside("import", *arguments)
        assert ended.code == code and ended.err.count("\n") == 1 and "Traceback" not in ended.err, ended
    assert cli.inside("import", "MEMORY.md", "--scope", "project/borealis").code == 4
    assert cli.inside("count").out == "0\n"
    assert cli.inside("import", "MEMORY.md", "--scope", "user/ann").code == 0
    assert cli.inside("count", "--scope", "user/ann").out == "2\n"


def test_a_file_whose_name_is_no_text_is_imported(cli: Cli) -> None:
    name = b"caf\xe9.md"
    Path(os.fsdecode(os.fsencode(cli.folder) + b"/" + name)).write_text("- found\n")
    assert cli("import", name).out.startswith("imported 1 file: 1 added")


def test_the_help_says_what_is_not_taken_over(cli: Cli) -> None:
    assert "unconfirmed; --own brings back an export of your own" in cli.inside("import", "--help").out


@pytest.mark.covers("A4")
def test_only_a_person_brings_an_export_back_as_it_was(cli: Cli) -> None:
    cli.inside("remember", "Ann prefers tabs")
    cli.inside("export", "all.jsonl")
    ended = cli.inside("import", "all.jsonl", "--own", "--yes")
    assert ended.code == Refused.exit_code and "only the user" in ended.err
