"""Erasing, undoing, upkeep and compacting at a shell."""

from pathlib import Path

import pytest

from surfaces.conftest import Cli


@pytest.fixture
def atlas(cli: Cli) -> Cli:
    assert cli("remember", "The heronqualm nests at the weir", "--tag", "bird").code == 0
    assert cli("remember", "Beta lies south").code == 0
    return cli


@pytest.mark.covers("G1")
def test_erasing_asks_first_and_leaves_nothing(atlas: Cli) -> None:
    asked = atlas("erase", "1")
    assert (asked.code, "--yes" in asked.err) == (5, True)
    dry = atlas("erase", "1", "--dry-run")
    assert dry.code == 0 and "would be erased: 1 memory" in dry.out and "heronqualm" in dry.out
    done = atlas("erase", "--tag", "bird", "--yes")
    assert done.code == 0 and "erased: 1 memory, batch b3" in done.out and "heronqualm" not in done.out
    assert atlas("erase", "1", "--yes", "--json").json["left"]
    assert atlas("undo").code == 5
    assert atlas("erase", "99", "--yes").code == 3
    assert atlas("erase", "--yes").code == 2
    files = [file for file in Path(atlas.environment["MEMORIST_DB"]).parent.rglob("*") if file.is_file()]
    assert any(file.name == "memory.db" for file in files)
    assert [file for file in files if b"heronqualm" in file.read_bytes()] == []


@pytest.mark.parametrize("more", [(), ("--yes",), ("--dry-run",)])
def test_where_nothing_fits_nobody_is_asked_and_the_way_by_words_is_named(atlas: Cli, more: tuple[str, ...]) -> None:
    done = atlas.inside("erase", "--where", '{"content": "heronqualm"}', *more)
    assert done.code == 0 and "erased: 0 memories" in done.out
    assert "compares whole values" in done.err and "for good?" not in done.err
    assert atlas.inside("count").out.strip() == "2"


def test_undoing_the_last_action_and_a_named_one(atlas: Cli) -> None:
    batch = atlas("revise", "2", "Beta lies west", "--json").json["batch"]
    assert "undone: 1 memory" in atlas("undo").out
    assert atlas("get", "2", "--json").json["text"] == "Beta lies south"
    assert atlas("undo", batch).code == 6
    assert atlas("undo", "b999").code == 3


def test_forgetting_by_filter(atlas: Cli) -> None:
    dry = atlas("forget", "--tag", "bird", "--dry-run")
    assert "would be forgotten: 1 memory" in dry.out and "[id:1] The heronqualm" in dry.out
    assert atlas("count").out.strip() == "2"
    report = atlas("forget", "--where", '{"tags": ["bird"]}', "--json").json
    assert [each["number"] for each in report["changed"]] == [1]
    assert "undone: 1 memory" in atlas("undo", report["batch"]).out
    assert atlas("forget").code == 2


def test_upkeep_and_compact(atlas: Cli) -> None:
    assert "prune: 0 memories" in atlas("upkeep").out
    assert "prune, dry run: 0 memories" in atlas("upkeep", "--dry-run").out
    assert "prune" in [report["verb"] for report in atlas("upkeep", "--dry-run", "--json").json]
    assert "bytes before" in atlas("compact").out
    assert atlas("doctor", "--repair").code == 0


def test_24_erasing_while_others_search_import_and_back_up(atlas: Cli, tmp_path: Path) -> None:
    (atlas.folder / "MEMORY.md").write_text("".join(f"- Stop {n} lies there\n" for n in range(300)))
    others = [
        atlas.start("import", "MEMORY.md"),
        atlas.start("recall", "who nests?"),
        atlas.start("backup", str(tmp_path / "elsewhere.db")),
    ]
    erased = atlas("erase", "1", "--yes")
    said = [other.communicate(timeout=60) for other in others]
    assert [other.returncode for other in others] == [0, 0, 0], said
    assert erased.code == 0 and "erased: 1 memory" in erased.out
    assert atlas("count").out == "301\n"
    assert atlas("get", "1", "--json").json["state"] == "erased"
    assert atlas("audit").code == 0
    assert atlas("doctor").code == 0


def test_24_what_only_a_backup_holds_and_what_is_said_again(atlas: Cli, tmp_path: Path) -> None:
    assert atlas("backup", str(tmp_path / "copy.db")).code == 0
    id = atlas("get", "1", "--json").json["id"]
    other = atlas("erase", id, "--yes", "--db", str(tmp_path / "new.db"))
    assert (other.code, "no memory" in other.err) == (3, True)
    assert atlas("forget", "2").code == 0
    again = atlas("remember", "Beta lies south").out
    assert again.startswith("added [id:3] in project/atlas, unconfirmed: a twin (2) was forgotten")
