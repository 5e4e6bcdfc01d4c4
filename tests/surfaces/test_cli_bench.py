"""`memorist bench` reads a user's own store, finds what is wrong with it, and leaves it as it was."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path

from memorist import Memory
from memorist.surfaces.cli.bench import look

from .conftest import Cli


def filled(path: Path) -> None:
    with Memory(path, project="p") as memory:
        memory.remember("The cellar door sticks in winter, push it twice", title="Cellar door")
        memory.remember("Deploys go out on Tuesday evenings, after the backup")
        memory.remember("After the backup: deploys go out on evenings, Tuesday")
        memory.remember(
            "The choir meets again in autumn", kind="turn", session="s", at=datetime(2024, 9, 1, tzinfo=UTC)
        )


def test_every_memory_is_asked_for_and_twins_are_named(tmp_path: Path) -> None:
    filled(tmp_path / "m.db")
    with Memory(tmp_path / "m.db", project="p") as memory:
        found = look(memory)
    ways = {way.way: way for way in found.found}
    assert found.memories == found.sampled == 4 and found.lost == []
    assert ways["its three rarest words"].within[5] == 4 and ways["its title"].asked == 1
    assert found.duplicates == [[2, 3]] and found.never_used == []


def test_it_changes_nothing_and_says_what_it_cannot_tell(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "m.db"
    filled(path)
    before = hashlib.sha256(path.read_bytes()).digest()
    said = cli("bench", "--db", str(path), "--project", "p")
    assert said.code == 0 and "4 memories" in said.out and "no reader" in said.out and "2 = 3" in said.out
    with Memory(path, project="p") as memory:
        assert all(not record.counters.surfaced for record in memory.list())
    assert hashlib.sha256(path.read_bytes()).digest() == before


def test_an_empty_store_and_json(tmp_path: Path, cli: Cli) -> None:
    assert "nothing in this store" in cli.inside("bench", "--db", str(tmp_path / "e.db")).out
    filled(tmp_path / "m.db")
    assert cli.inside("bench", "--json", "--db", str(tmp_path / "m.db"), "--project", "p").json["memories"] == 4
