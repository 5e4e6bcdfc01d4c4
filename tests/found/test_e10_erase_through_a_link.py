"""E10: `erase` through a symlinked path failed, then said "erased already"; copies beside the real file kept the text."""

import os
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memorist import Memory
from memorist.errors import Invalid
from memorist.store.open import open_store, restore

pytestmark = [
    pytest.mark.covers("E10", "G1"),
    pytest.mark.skipif(not hasattr(os, "symlink"), reason="there are no links here"),
]
CANARY = "heronqualm"


@pytest.fixture(params=["db", "json"])
def link(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A link that leads to a link that leads to the file, each in a folder of its own."""
    for name in ("real", "between", "near"):
        (tmp_path / name).mkdir()
    between = tmp_path / "between" / f"middle.{request.param}"
    between.symlink_to(Path("..") / "real" / f"memory.{request.param}")
    link = tmp_path / "near" / f"link.{request.param}"
    link.symlink_to(between)
    return link


def holding(folder: Path) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return sorted(path.name for path in files if CANARY.encode() in path.read_bytes())


def test_it_is_gone_from_the_file_and_from_the_copies_beside_every_name(link: Path, tmp_path: Path) -> None:
    real = link.resolve()
    with Memory(link, project="atlas") as memory:
        memory.remember(f"The {CANARY} nests at the weir")
        memory.remember("Beta lies south")
        copies = [name.with_name(f"{name.name}.replaced-20260101T000000Z") for name in (link, real)]
        for copy in copies:
            memory.backup(copy)
        report = memory.erase(1)
        assert [each.number for each in report.changed] == [1] and report.advice is None
        assert all(finding.ok for finding in memory.doctor())
    assert holding(tmp_path) == [] and link.is_symlink()
    assert all(copy.exists() for copy in copies)
    with Memory(real, project="atlas") as memory:
        assert [record.text for record in memory.list()] == ["Beta lies south"]


def test_what_lies_beside_a_store_lies_beside_the_real_file(link: Path) -> None:
    with Memory(link, project="atlas") as memory:
        memory.remember("Alpha lies north")
        memory.erase(1)
        assert memory.status()["store"] == str(link.resolve())
    assert [path.name for path in link.parent.iterdir()] == [link.name]
    assert {f"{link.resolve().name}.anchor", f"{link.resolve().name}.erased"} <= {
        path.name for path in link.resolve().parent.iterdir()
    }


def test_a_backup_restored_through_the_link_brings_nothing_back(link: Path, tmp_path: Path) -> None:
    backup = tmp_path / f"copy{link.suffix}"
    with Memory(link, project="atlas") as memory:
        kept = memory.remember(f"The {CANARY} nests at the weir")
        memory.remember("Beta lies south")
        memory.backup(backup)
        memory.erase(1)
    listed = link.resolve().with_name(f"{link.resolve().name}.erased")
    listed.rename(link.with_name(f"{link.name}.erased"))  # where version 0.1.0 put it
    for file in link.resolve().parent.iterdir():
        file.unlink()
    assert restore(link, backup, datetime.now(UTC)) is None
    assert link.is_symlink() and str(kept.id) in listed.read_text()
    with closing(open_store(str(link), 5)) as store, Memory(link.resolve(), project="atlas") as memory:
        assert store.path == link.resolve()
        assert memory.get(1).state == "erased" and memory.count() == 1
    assert restore(link, backup, datetime.now(UTC)) is not None
    assert [path.name for path in link.resolve().parent.glob("*.replaced-*") if path.suffix != ".anchor"]


def test_a_backup_does_not_take_the_place_of_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    target.symlink_to(tmp_path / "nowhere")
    with Memory(tmp_path / "memory.db") as memory, pytest.raises(Invalid, match="exists"):
        memory.backup(target)
    assert target.is_symlink()
