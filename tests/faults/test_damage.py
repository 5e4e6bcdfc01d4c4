"""Promise P11: damage is found and named, and is never answered by an empty store.

A store with some history is copied, its copy is damaged, and somebody opens it. What they read through the API is
compared with the original: if it differs, or cannot be read, the damage is visible, and then it must have a name:
`StoreDamaged` in words that say what to do, or a finding of the doctor with its advice. Whatever happens, looking at a
damaged file changes none of its bytes.
"""

import hashlib
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from conftest import rounds
from memorist import Memory
from memorist.errors import NotFound, StoreDamaged
from memorist.store.nouns import Diagnosis
from memorist.store.open import restore

STATES = {"state": {"$in": ["active", "archived", "superseded"]}}
NOW = datetime(2026, 5, 1, tzinfo=UTC)
Damage = Callable[[bytes, random.Random], bytes]


# ---------------------------------------------------------------- stores to damage


@dataclass(frozen=True)
class Original:
    """A folder with the files of a store, and what can be read from it."""

    folder: Path
    content: list[object]

    def copy(self, folder: Path) -> Path:
        shutil.copytree(self.folder, folder)
        return folder / "memory.db"


def opened(path: Path) -> Memory:
    """With a clock that stands still: scores depend on it."""
    return Memory(path, project="atlas", clock=lambda: NOW)


def give_it_a_past(memory: Memory) -> None:
    texts = [f"Lighthouse {n} blinks every {n * 7 % 13} seconds " + "over the bay " * (n % 9) for n in range(60)]
    memory.remember_many(texts)
    for number in range(1, 12):
        memory.revise(number, f"Lighthouse {number} was switched off", because="the harbour moved")
        memory.tag(number + 12, "north", "harbour")
        memory.feedback(number + 24, "useful")
        memory.link(number, number + 30, evidence="the same keeper")
    memory.forget(50, because="torn down")
    memory.remember("Fog horns are tested on Fridays", scope="global", title="Horns", data={"hour": 9})


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Original:
    """A store that was closed in order: one file and its anchor."""
    folder = tmp_path_factory.mktemp("closed")
    with opened(folder / "memory.db") as memory:
        give_it_a_past(memory)
        content = everything(memory)
    assert sorted(path.name for path in folder.iterdir()) == ["memory.db", "memory.db.anchor"]
    return Original(folder, content)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Original:
    """What a killed process leaves: half of the history is in the file, half of it only in the log."""
    folder, place = tmp_path_factory.mktemp("killed"), tmp_path_factory.mktemp("alive")
    with opened(place / "memory.db") as memory:
        give_it_a_past(memory)
        memory._tools.store._connections.here().execute("PRAGMA wal_checkpoint(TRUNCATE)")  # type: ignore[attr-defined]
        memory.remember_many([f"Buoy {n} drifted {n} miles" for n in range(20)])
        content = everything(memory)
        for path in place.iterdir():
            shutil.copy(path, folder / path.name)
    assert (folder / "memory.db-wal").stat().st_size > 0
    return Original(folder, content)


# ---------------------------------------------------------------- looking


def everything(memory: Memory) -> list[object]:
    """Records with their counters, their journals, links, and what a question finds."""
    records = memory.list(STATES, order="number", limit=100_000)
    journals = [memory.history(record.id) for record in records]
    links = [memory.links(record.id) for record in records[:20]]
    found = [(hit.record.id, hit.score) for hit in memory.explain("which lighthouse blinks?", limit=20)]
    return [records, journals, links, found]


@dataclass(frozen=True)
class Seen:
    """What somebody sees who opens the file: an error, or content and what the doctor says about it."""

    error: StoreDamaged | None = None
    content: list[object] | None = None
    findings: tuple[Diagnosis, ...] = ()

    @property
    def named(self) -> bool:
        if self.error is not None:
            return "restore" in str(self.error).lower() and "left as it is" in str(self.error)
        return any(not finding.ok and finding.advice for finding in self.findings)


def look(path: Path) -> Seen:
    """An exception that is not ours fails the test."""
    try:
        memory = opened(path)
    except StoreDamaged as problem:
        return Seen(problem)
    try:
        return seen_by(memory, tuple(memory.doctor()))
    except StoreDamaged as problem:
        return Seen(problem)
    finally:
        memory.close()


def seen_by(memory: Memory, findings: tuple[Diagnosis, ...]) -> Seen:
    try:
        return Seen(None, everything(memory), findings)
    except NotFound:  # a memory whose id was hit cannot be asked for by it; the doctor must have told
        return Seen(None, None, findings)


def digests(folder: Path) -> dict[str, str]:
    """What must not change by looking: the store, its log, its anchor. An empty log and SQLite's shared memory, which
    every look makes anew, hold nothing."""
    files = [path for path in folder.iterdir() if not path.name.endswith("-shm") and path.stat().st_size > 0]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def assert_named_if_visible(original: Original, path: Path, what: str) -> bool:
    """Looks at a damaged copy; whether the damage could be seen."""
    before = digests(path.parent)
    seen = look(path)
    assert digests(path.parent) == before, f"looking changed the file: {what}"
    visible = seen.content != original.content
    assert seen.named or not visible, f"not named: {what}: {seen.error or seen.findings}"
    return visible


# ---------------------------------------------------------------- random damage


def flipped(content: bytes, chance: random.Random) -> bytes:
    spoilt = bytearray(content)
    spoilt[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    return bytes(spoilt)


def cut(content: bytes, chance: random.Random) -> bytes:
    pages = len(content) // 4096
    return content[: chance.choice([chance.randrange(1, len(content)), 4096 * chance.randrange(1, pages)])]


def damaged(original: Original, folder: Path, damage: Damage, times: int) -> Iterator[tuple[Path, str]]:
    """That many copies, each damaged at another place."""
    content = (original.folder / "memory.db").read_bytes()
    chance = random.Random(damage.__name__)
    for number in range(times):
        path = original.copy(folder / str(number))
        path.write_bytes(damage(content, chance))
        yield path, f"{damage.__name__} {number}"
        shutil.rmtree(path.parent)


@pytest.mark.covers("P11")
def test_every_flipped_bit_that_can_be_seen_is_named(closed: Original, tmp_path: Path) -> None:
    visible = [
        assert_named_if_visible(closed, path, what)
        for path, what in damaged(closed, tmp_path / "flips", flipped, rounds(500))
    ]
    assert len(visible) < 100 or sum(visible) > len(visible) / 10, "too few flips were visible to prove anything"


@pytest.mark.covers("P11")
def test_every_truncation_is_named_and_refused_where_a_page_is_gone(closed: Original, tmp_path: Path) -> None:
    """SQLite fills a last page up with zeroes; whether that can be seen depends on what the page held."""
    whole = (closed.folder / "memory.db").stat().st_size
    for path, what in damaged(closed, tmp_path / "cuts", cut, rounds(100)):
        assert_named_if_visible(closed, path, what)
        assert look(path).error is not None or path.stat().st_size > whole - 4096


# ---------------------------------------------------------------- files that are something else


def text_instead(content: bytes, chance: random.Random) -> bytes:
    return b"Dear diary, today I learned about databases.\n" * 200


def noise_instead(content: bytes, chance: random.Random) -> bytes:
    return chance.randbytes(len(content))


def half(content: bytes, chance: random.Random) -> bytes:
    return content[: len(content) // 2]


def nothing_left(content: bytes, chance: random.Random) -> bytes:
    return b""


def zeroes_instead(content: bytes, chance: random.Random) -> bytes:
    return bytes(len(content))


def page_of_noise(content: bytes, chance: random.Random) -> bytes:
    page = 4096 * chance.randrange(1, len(content) // 4096)
    return content[:page] + chance.randbytes(4096) + content[page + 4096 :]


WHOLE_FILES = [text_instead, noise_instead, half, nothing_left, zeroes_instead]


@pytest.mark.covers("P11")
@pytest.mark.parametrize("damage", WHOLE_FILES)
def test_a_file_that_is_no_store_any_more_is_refused_in_words(closed: Original, tmp_path: Path, damage: Damage) -> None:
    [(path, what)] = [found for found in kept(closed, tmp_path, damage)]
    assert assert_named_if_visible(closed, path, what)
    error = look(path).error
    assert error is not None and "\n" not in str(error)


def kept(original: Original, folder: Path, damage: Damage) -> Iterator[tuple[Path, str]]:
    path = original.copy(folder / "store")
    path.write_bytes(damage((original.folder / "memory.db").read_bytes(), random.Random(damage.__name__)))
    yield path, damage.__name__


@pytest.mark.covers("P11")
def test_pages_of_noise_are_named(closed: Original, tmp_path: Path) -> None:
    for path, what in damaged(closed, tmp_path / "noise", page_of_noise, rounds(100)):
        assert_named_if_visible(closed, path, what)


@pytest.mark.covers("P11")
def test_a_store_that_is_gone_is_not_answered_by_a_new_one(closed: Original, tmp_path: Path) -> None:
    path = closed.copy(tmp_path / "store")
    path.unlink()
    with pytest.raises(StoreDamaged, match=r"gone.*anchor.*knows \d+ events.*restore.*begin again"):
        Memory(path, project="atlas")
    assert [file.name for file in path.parent.iterdir()] == ["memory.db.anchor"]
    path.with_name("memory.db.anchor").unlink()
    with Memory(path, project="atlas") as memory:
        assert memory.count() == 0


@pytest.mark.covers("P11")
def test_a_database_that_was_emptied_is_not_taken_for_a_new_one(closed: Original, tmp_path: Path) -> None:
    """Well-formed, of our kind, and without a single table."""
    path = closed.copy(tmp_path / "store")
    path.unlink()
    empty = apsw.Connection(str(path))
    empty.execute("PRAGMA journal_mode = WAL; CREATE TABLE x (y); DROP TABLE x").fetchall()
    empty.close()
    with pytest.raises(StoreDamaged, match="anchor"):
        Memory(path, project="atlas")


@pytest.mark.covers("P11")
def test_the_first_write_of_a_store_is_enough_to_know_that_there_was_one(tmp_path: Path) -> None:
    """Also when nobody closed it."""
    memory = Memory(tmp_path / "alive" / "memory.db", project="atlas")
    memory.remember("One thing")
    shutil.copytree(tmp_path / "alive", tmp_path / "copy")
    memory.close()
    (tmp_path / "copy" / "memory.db").write_bytes(b"")
    log = (tmp_path / "copy" / "memory.db-wal").read_bytes()
    with pytest.raises(StoreDamaged, match="knows 1 events"):
        Memory(tmp_path / "copy" / "memory.db", project="atlas")
    assert (tmp_path / "copy" / "memory.db-wal").read_bytes() == log, "SQLite would throw the log of an empty file away"


# ---------------------------------------------------------------- the log beside the file


@pytest.mark.covers("P11")
def test_what_a_killed_process_leaves_is_whole(killed: Original, tmp_path: Path) -> None:
    seen = look(killed.copy(tmp_path / "store"))
    assert seen.content == killed.content and all(finding.ok for finding in seen.findings)


@pytest.mark.covers("P11")
def test_a_deleted_shm_is_made_anew(killed: Original, tmp_path: Path) -> None:
    path = killed.copy(tmp_path / "store")
    path.with_name("memory.db-shm").unlink()
    seen = look(path)
    assert seen.content == killed.content and all(finding.ok for finding in seen.findings)


def zeroed(log: Path, other: Path) -> None:
    log.write_bytes(bytes(log.stat().st_size))


def shortened(log: Path, other: Path) -> None:
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])


def deleted(log: Path, other: Path) -> None:
    log.unlink()


def flipped_in_the_middle(log: Path, other: Path) -> None:
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 4
    log.write_bytes(content)


def of_another_store(log: Path, other: Path) -> None:
    shutil.copy(other.with_name("memory.db-wal"), log)


LOGS = [zeroed, shortened, deleted, flipped_in_the_middle, of_another_store]


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another store as a kill left it: all of it is in its log."""
    place, folder = tmp_path_factory.mktemp("other"), tmp_path_factory.mktemp("other-copy")
    with Memory(place / "memory.db", project="borealis") as memory:
        memory.remember_many([f"Somebody else's secret {n}" for n in range(300)])
        shutil.copytree(place, folder, dirs_exist_ok=True)
    return folder / "memory.db"


@pytest.mark.covers("P11")
@pytest.mark.parametrize("damage", LOGS)
def test_a_damaged_log_is_named(
    killed: Original, tmp_path: Path, other: Path, damage: Callable[[Path, Path], None]
) -> None:
    path = killed.copy(tmp_path / "store")
    path.with_name("memory.db-shm").unlink()
    damage(path.with_name("memory.db-wal"), other)
    seen = look(path)
    assert seen.content != killed.content, "the damage was not visible, so this proves nothing"
    assert seen.named, seen


@pytest.mark.covers("P11")
def test_the_log_of_another_store_beside_a_closed_one_is_named(closed: Original, other: Path, tmp_path: Path) -> None:
    path = closed.copy(tmp_path / "store")
    of_another_store(path.with_name("memory.db-wal"), other)
    seen = look(path)
    assert seen.content != closed.content and seen.named, seen


@pytest.mark.covers("P11", "P13")
def test_a_refused_store_keeps_its_log_as_it_is(killed: Original, tmp_path: Path) -> None:
    """Closing must not fold the log into a file that we said we would leave alone."""
    path = killed.copy(tmp_path / "store")
    one = apsw.Connection(str(path))
    one.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    one.execute("PRAGMA user_version = 99")
    one.close()
    before = digests(path.parent)
    for _ in range(3):
        with pytest.raises(Exception, match="left untouched"):
            Memory(path, project="atlas")
    assert digests(path.parent) == before


# ---------------------------------------------------------------- and back again


@pytest.mark.covers("P11")
@pytest.mark.parametrize("damage", LOGS)
def test_a_backup_brings_everything_back_over_a_damaged_log(
    killed: Original, tmp_path: Path, other: Path, damage: Callable[[Path, Path], None]
) -> None:
    backed_up = killed.copy(tmp_path / "before")
    with Memory(backed_up, project="atlas") as memory:
        backup = memory.backup(tmp_path / "backup.db")
    path = killed.copy(tmp_path / "store")
    path.with_name("memory.db-shm").unlink()
    damage(path.with_name("memory.db-wal"), other)
    restore(path, backup, NOW)
    seen = look(path)
    assert seen.content == killed.content
    assert all(finding.ok for finding in seen.findings)


@pytest.mark.covers("P11")
def test_a_log_without_its_file_is_kept_by_a_restore(killed: Original, tmp_path: Path) -> None:
    """SQLite throws the log of an empty file away, and it may hold the last thing that was written."""
    path = killed.copy(tmp_path / "store")
    with Memory(killed.copy(tmp_path / "before"), project="atlas") as memory:
        backup = memory.backup(tmp_path / "backup.db")
    log = path.with_name("memory.db-wal").read_bytes()
    path.write_bytes(b"")
    aside = restore(path, backup, NOW)
    assert aside is not None and aside.with_name(aside.name + "-wal").read_bytes() == log
    assert look(path).content == killed.content


@pytest.mark.covers("P11", "W0-9")
def test_a_connection_works_as_it_is_told_to(tmp_path: Path) -> None:
    """Some settings answer with a row, and SQLite does not go on to the next one before that is read: then cells are not
    checked, the log has no limit, and a question reads the same pages again and again."""
    told = {"foreign_keys": 1, "trusted_schema": 0, "secure_delete": 1, "cell_size_check": 1, "mmap_size": 0}
    told |= {"cache_size": -16384, "journal_size_limit": 1 << 26, "synchronous": 2}
    with Memory(tmp_path / "memory.db") as memory:
        one = memory._tools.store._connections.here()  # type: ignore[attr-defined]
        assert {name: one.execute(f"PRAGMA {name}").get for name in told} == told
