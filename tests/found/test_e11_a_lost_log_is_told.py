"""E11: after a crash, a `-wal` that was lost or damaged was silent: the anchor beside the store was up to a minute old."""

import json
import logging
import random
import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from conftest import rounds
from faults.processes import all_at_once, holding, needs_fork
from memorist import Memory
from memorist.store.journal import NOTE, Anchor, Anchored
from memorist.store.nouns import ChainLink
from memorist.store.open import restore

NAMES = ["memory.db", "memory.json"]


def opened(path: Path) -> Memory:
    return Memory(path, project="atlas", embed="none")


def killed(path: Path, first: int = 100, then: int = 50) -> None:
    """As a process leaves a store that is killed: some of it is folded in, the rest is in the log alone."""

    def work(say: Callable[[object], None]) -> None:
        memory = opened(path)
        for number in range(first):
            memory.remember(f"Fact {number}")
        if path.suffix == ".db":
            memory._tools.store._connections.here().execute("PRAGMA wal_checkpoint(TRUNCATE)")  # type: ignore[attr-defined]
        else:
            memory.compact()
        for number in range(first, first + then):
            memory.remember(f"Fact {number}")
        say("done")
        time.sleep(60)

    with holding(work):
        pass


def log_of(path: Path) -> Path:
    return path.with_name(path.name + ("-wal" if path.suffix == ".db" else ".log"))


def deleted(log: Path) -> None:
    log.unlink()


def emptied(log: Path) -> None:
    log.write_bytes(b"")


def halved(log: Path) -> None:
    content = log.read_bytes()
    half = len(content) // 2
    log.write_bytes(content[: content.index(b"\n", half) + 1 if log.suffix == ".log" else half])


def spoilt(log: Path) -> None:
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 4
    log.write_bytes(content)


LOSSES = [(name, loss) for name in NAMES for loss in (deleted, emptied, halved, spoilt)][
    :-1
]  # a spoilt line is refused


@needs_fork
@pytest.mark.covers("E11", "P11")
@pytest.mark.parametrize(("name", "loss"), LOSSES)
def test_a_lost_log_is_told_at_once(
    tmp_path: Path, name: str, loss: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / name
    killed(path)
    loss(log_of(path))
    path.with_name(path.name + "-shm").unlink(missing_ok=True)
    with caplog.at_level(logging.WARNING), opened(path) as memory:
        left = memory.count()
        assert 100 <= left < 150, "nothing is missing, so nothing would be proved"
        told = f"{150 - left} acknowledged changes are missing"
        assert told in caplog.text and "--restore" in caplog.text
        assert told in memory.status()["lost"]
        assert told in str([finding for finding in memory.doctor() if not finding.ok])
        assert told in str(memory.audit().problems)
        assert memory.list(limit=1), "what is left can be read"


@needs_fork
@pytest.mark.covers("E11")
@pytest.mark.parametrize("name", NAMES)
def test_a_loss_stays_told_until_somebody_decides(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    killed(path, 20, 10)
    deleted(log_of(path))
    for number in range(3):
        with opened(path) as memory:
            assert memory.status()["lost"] and not memory.audit().ok
            memory.remember_many([f"More {number}.{n}" for n in range(8)])
    path.with_name(path.name + ".anchor").unlink()
    for _ in range(2):
        with opened(path) as memory:
            assert "lost" not in memory.status() and memory.audit().ok
            memory.remember("And on")


# ---------------------------------------------------------------- nothing is told where nothing is lost


@needs_fork
@pytest.mark.covers("E11", "P1")
@pytest.mark.parametrize("name", NAMES)
def test_a_kill_alone_is_no_loss(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for number in range(rounds(50)):
        killed(path, number % 3, 3)
        with opened(path) as memory:
            assert "lost" not in memory.status() and memory.audit().ok


def notes(*heads: int) -> list[bytes]:
    return [Anchored(head, bytes([head]) * 32).line().encode() for head in heads]


@pytest.mark.covers("E11", "P3")
@pytest.mark.parametrize("name", NAMES)
def test_whatever_a_power_cut_leaves_of_a_note_is_no_loss(tmp_path: Path, name: str) -> None:
    """It is not synced, so it may be an earlier one, or a mixture of two, or of one and zeroes."""
    path, chance = tmp_path / name, random.Random("torn")
    anchor = path.with_name(path.name + ".anchor")
    seen = []
    with opened(path) as memory:
        for number in range(6):
            memory.remember(f"Fact {number}")
            seen.append(anchor.read_bytes())
    assert len({len(each) for each in seen}) == 1, "a note never changes the length of the file"
    for _ in range(rounds(500, 0.06)):
        older, newer = sorted(chance.sample(range(6), 2))
        cut = chance.randrange(len(seen[0]))
        anchor.write_bytes(chance.choice([seen[older], seen[newer][:cut] + seen[older][cut:]]))
        with opened(path) as memory:
            assert "lost" not in memory.status() and memory.audit().ok


@pytest.mark.covers("E11")
def test_a_torn_note_is_none() -> None:
    one, two = notes(3, 7)
    for cut in range(1, len(one)):
        torn = two[:cut] + one[cut:]
        assert Anchored.of_line(torn.decode()).event in ({3, 7} if torn in (one, two) else {None})
    assert NOTE.fullmatch(one.decode()) and Anchored.of_line(one.decode()) == Anchored(3, bytes([3]) * 32)


@pytest.mark.covers("E11", "P10")
@pytest.mark.parametrize("name", NAMES)
def test_a_copy_and_a_restored_backup_are_no_loss(tmp_path: Path, name: str) -> None:
    path, backup = tmp_path / name, tmp_path / f"backup{Path(name).suffix}"
    with opened(path) as memory, opened(path) as other:
        memory.remember("First")
        memory.backup(backup)
        memory.remember_many([f"Later {n}" for n in range(9)])
        restore(path, backup, datetime.now(UTC))
        other.remember("Still open, and written after the restore")
        assert other.audit().ok
    moved = tmp_path / "elsewhere" / name
    moved.parent.mkdir()
    shutil.copy(path, moved)
    for each in (path, moved, backup):
        with opened(each) as memory:
            assert "lost" not in memory.status() and memory.audit().ok, each


@needs_fork
@pytest.mark.covers("E11", "P6")
@pytest.mark.parametrize("name", NAMES)
def test_many_processes_note_without_a_false_alarm(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    opened(path).close()

    def write(number: int) -> Callable[[], None]:
        def work() -> None:
            for part in range(3):
                with opened(path) as memory:
                    assert memory._writer.lost is None
                    for n in range(5):
                        memory.remember(f"Writer {number} says {part} and {n}")

        return work

    assert all_at_once([write(number) for number in range(4)]) == [0] * 4
    with opened(path) as memory:
        assert memory.count() == 60 and "lost" not in memory.status() and memory.audit().ok


@pytest.mark.covers("E11", "P13")
def test_an_older_version_can_write_beside(tmp_path: Path) -> None:
    """It knows nothing of notes: it replaces the whole anchor once a minute, and reads nothing but its two fields."""
    path, anchor = tmp_path / "memory.db", tmp_path / "memory.db.anchor"
    with opened(path) as memory:
        memory.remember("First")
        said = json.loads(anchor.read_text())
        assert said["event"] == 1 and len(bytes.fromhex(said["digest"])) == 32
        anchor.write_text(json.dumps({name: said[name] for name in ("event", "digest")}) + "\n")
        memory.remember("Second")
        assert json.loads(anchor.read_text())["event"] == 2, "there was no place for a note, so it is written anew"
        memory.remember("Third")
        assert Anchor(path).read().event == 3
    with opened(path) as memory:
        assert "lost" not in memory.status() and memory.audit().ok


@pytest.mark.covers("E11")
def test_a_note_is_one_short_write_and_no_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memory.db"
    anchor = Anchor(path)
    anchor.note(ChainLink(1, 1, bytes(32)))
    monkeypatch.setattr("os.fsync", lambda file: pytest.fail("a note is not synced"))
    for event in (3, 2, 9):
        anchor.note(ChainLink(event, event, bytes([event]) * 32))
    assert anchor.read() == Anchored(9, bytes([9]) * 32)
