"""The JSON file under everything that can happen to it: crashes between renames, kills in a fold, full disks, flipped bits.

Promises P1, P5, P11, P14 and P15 for `Memory("notes.json")`: what was acknowledged is there afterwards, or the store says
that it is damaged and changes nothing. It never begins anew in silence.
"""

import base64
import errno
import json
import logging
import os
import random
import stat
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from conftest import TORTURE, rounds
from faults.processes import Child, holding, needs_fork
from memorist import Memory
from memorist.errors import Invalid, MemoristError, StoreDamaged, StoreTooNew, StoreUnavailable
from memorist.kinds import LAYERS
from memorist.records import now_utc
from memorist.store.index import stated
from memorist.store.json_file import files as json_files
from memorist.store.json_file import log as json_log
from memorist.store.json_file import snapshot as json_snapshot
from memorist.store.json_file import store as json_file
from memorist.store.json_file import tables
from memorist.store.json_file.store import JsonFileStore
from memorist.store.nouns import COUNTERS, Commit, Shelf
from memorist.store.where import Order, Where
from memorist.store.writer import Writer
from memorist.testing import EVERYWHERE, a_record, sealed, stored
from memorist.text.words import terms

pytestmark = needs_fork


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.json"


def text_of(number: int) -> str:
    return f"Fact {number}: the relay in cabinet {number * 7919 % 1000} answers on channel {number}"


def remember(path: Path, *texts: str) -> None:
    with Memory(path, project="atlas") as memory:
        for text in texts:
            memory.remember(text)


def left_unfolded(path: Path, *texts: str) -> None:
    """As a process leaves a store that is killed after these were acknowledged."""

    def work(say: Callable[[object], None]) -> None:
        memory = Memory(path, project="atlas")
        for text in texts:
            memory.remember(text)
        say("done")
        time.sleep(60)

    with holding(work):
        pass


def a_store(path: Path) -> None:
    """Memories in the backup, in the log that leads from it, and in the log after the snapshot."""
    remember(path, "one in the backup")
    remember(path, "two in its log")
    left_unfolded(path, "three in the log", "four in the log")


ALL = ["one in the backup", "two in its log", "three in the log", "four in the log"]


def texts_in(path: Path) -> list[str]:
    with Memory(path, project="atlas") as memory:
        assert memory.audit().ok, memory.audit().problems
        return [record.text for record in memory.list(order="-number", limit=100_000)]


def contents(path: Path) -> dict[str, bytes]:
    """Every file of the store but its lock, byte for byte."""
    return {file.name: file.read_bytes() for file in path.parent.iterdir() if not file.name.endswith(".lock")}


def put_back(path: Path, files: dict[str, bytes]) -> None:
    for file in path.parent.iterdir():
        file.unlink()
    for name, content in files.items():
        (path.parent / name).write_bytes(content)
        (path.parent / name).chmod(0o600)


def beside(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)


# ---------------------------------------------------------------- kills


class Dead(BaseException):
    """Stands for the end of the process at some step."""


@pytest.fixture
def dying(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int, BaseException], None]]:
    """`dying(n, problem)`: from the n-th step that touches the disk on, nothing is done but raising the problem."""
    left: list[int] = []
    problems: list[BaseException] = []

    def watched(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **kwargs: Any) -> Any:
            if left:
                left[0] -= 1
                if left[0] < 0:
                    raise problems[0]
            return real(*args, **kwargs)

        return step

    for name in ("write", "fsync", "link", "truncate", "ftruncate"):
        monkeypatch.setattr(os, name, watched(getattr(os, name)))
    for name in ("replace", "unlink"):
        monkeypatch.setattr(Path, name, watched(getattr(Path, name)))

    def set_up(steps: int, problem: BaseException) -> None:
        left[:], problems[:] = [steps] if steps >= 0 else [], [problem]

    yield set_up
    left.clear()


@pytest.mark.covers("S3-11", "P1", "P11", "P15")
@pytest.mark.parametrize("also", ["nothing", "main damaged", "main gone", "main cut"])
def test_a_crash_at_any_step_of_a_fold_loses_nothing(path: Path, dying: Any, also: str) -> None:
    a_store(path)
    before = contents(path)
    for step in range(100):
        put_back(path, before)
        store = JsonFileStore(path)
        dying(step, Dead())
        try:
            store.compact()
            ended = True
        except Dead:
            ended = False
        dying(-1, Dead())
        if also == "main damaged":
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 4
            path.write_bytes(content)
        elif also == "main gone":
            path.unlink()
        elif also == "main cut":
            path.write_bytes(path.read_bytes()[:300])
        assert texts_in(path) == ALL, f"after step {step}"
        assert texts_in(path) == ALL
        if ended:
            assert step >= 7, "the steps of a fold were not seen"
            return
    raise AssertionError("the fold never ended")


@pytest.mark.covers("P5", "P11")
def test_a_disk_that_fails_at_any_step_of_a_fold_costs_nothing(path: Path, dying: Any) -> None:
    a_store(path)
    before = contents(path)
    for step in range(100):
        put_back(path, before)
        store = JsonFileStore(path)
        dying(step, OSError(errno.ENOSPC, "full"))
        try:
            store.compact()
            ended = True
        except StoreUnavailable as problem:
            assert "disk is full" in str(problem)
            ended = False
        dying(-1, Dead())
        stored(store, a_record("afterwards"))  # the same store goes on once there is space again
        assert store.size().records == 5
        store.close()
        assert len(JsonFileStore(path).find(Where(EVERYWHERE), Order(), 9)) == 5
        if ended:
            return


@pytest.mark.covers("S3-11", "P1")
def test_a_crash_at_any_step_of_opening_loses_nothing(path: Path, dying: Any) -> None:
    """A damaged snapshot is being restored, and the process dies in the middle of it, and again."""
    a_store(path)
    path.write_bytes(path.read_bytes()[:-40])
    before = contents(path)
    for step in range(100):
        put_back(path, before)
        dying(step, Dead())
        try:
            JsonFileStore(path)
            ended = True
        except Dead:
            ended = False
        dying(-1, Dead())
        assert texts_in(path) == ALL, f"after step {step}"
        if ended:
            assert step >= 10
            return


@pytest.mark.covers("P1")
def test_real_kills_in_the_middle_of_folds(path: Path) -> None:
    chance = random.Random("folds")
    remember(path, *(text_of(number) for number in range(50)))
    known = 50

    def fold_for_ever(say: Callable[[object], None]) -> None:
        store = JsonFileStore(path)
        say("ready")
        while True:
            stored(store, a_record("x"))
            say("stored")
            store.compact()

    for _ in range(rounds(200)):
        child = Child(fold_for_ever)
        child.line()
        time.sleep(chance.uniform(0, 0.05))
        acknowledged = len(child.kill())
        store = JsonFileStore(path)
        there = store.size().records
        assert known + acknowledged <= there <= known + acknowledged + 1
        assert [finding for finding in store.checkup() if not finding.ok] == []
        known = there
        store.close()


class PowerCut:
    """What would be on the disk if nothing survived but what was synced: contents by `fsync`, names by the folder's."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._contents: dict[int, bytes] = {}
        self._names: dict[str, int] = {}
        self._sync = os.fsync
        monkeypatch.setattr(os, "fsync", self._fsync)

    def _fsync(self, file: int) -> None:
        self._sync(file)
        synced, there = os.fstat(file).st_ino, {path: path.stat().st_ino for path in self._folder.iterdir()}
        self._contents = {inode: data for inode, data in self._contents.items() if inode in there.values()}
        self._contents |= {inode: path.read_bytes() for path, inode in there.items() if inode == synced}
        if synced == self._folder.stat().st_ino:
            self._names = {path.name: inode for path, inode in there.items()}

    def left_in(self, folder: Path) -> Path:
        folder.mkdir()
        for name, inode in self._names.items():
            (folder / name).write_bytes(self._contents.get(inode, b""))
        return folder / "notes.json"


@pytest.mark.covers("P3", "S0-5")
def test_an_acknowledged_write_survives_a_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "disk").mkdir()
    disk = PowerCut(tmp_path / "disk", monkeypatch)
    path, chance = tmp_path / "disk" / "notes.json", random.Random("power")
    memory, acknowledged = Memory(path, project="atlas"), 0
    for number in range(rounds(500, 0.036)):
        what = chance.choice(["remember", "remember", "remember", "recall", "compact", "reopen", "leave"])
        if what == "remember":
            memory.remember(text_of(acknowledged))
            acknowledged += 1
        elif what == "recall":
            memory.recall("relay")
            memory._writer.flush()  # a line that is not synced, and may be the first of its log
        elif what == "compact":
            memory.compact()
        else:
            if what == "reopen":
                memory.close()
            memory = Memory(path, project="atlas")
        left = disk.left_in(tmp_path / f"after {number}")
        assert texts_in(left) == [text_of(n) for n in range(acknowledged)], (number, what)


# ---------------------------------------------------------------- torn and damaged


@pytest.mark.covers("P14", "W3-11")
def test_a_torn_line_is_cut_off_and_kept_aside(path: Path) -> None:
    a_store(path)
    whole = contents(path)
    log = beside(path, ".log")
    line = log.read_bytes().splitlines(keepends=True)[-1]
    for size in (1, 9, 41, 100, len(line) - 2):
        put_back(path, whole)
        log.write_bytes(log.read_bytes() + line[:size])
        assert texts_in(path) == ALL
        assert beside(path, ".log.torn").read_bytes() == line[:size] + b"\n"
        with Memory(path, project="atlas") as memory:
            [finding] = [finding for finding in memory.doctor() if finding.check == "log"]
            assert finding.ok and "notes.json.log.torn" in finding.detail


@pytest.mark.covers("P11", "P14")
def test_a_damaged_snapshot_and_a_torn_line_together(path: Path) -> None:
    a_store(path)
    path.write_bytes(b"{")
    log = beside(path, ".log")
    log.write_bytes(log.read_bytes() + b'{"sum')
    assert texts_in(path) == ALL and beside(path, ".log.torn").read_bytes() == b'{"sum\n'


@pytest.mark.covers("P14")
@pytest.mark.parametrize("end", [b"", b"\x0b", b"\x00"])
def test_a_line_that_only_lost_its_newline_is_whole(path: Path, end: bytes) -> None:
    a_store(path)
    log = beside(path, ".log")
    log.write_bytes(log.read_bytes()[:-1] + end)
    store = JsonFileStore(path)
    stored(store, a_record("and on"))
    store.close()
    with Memory(path, project="atlas") as memory:
        assert [r.text for r in memory.list(order="-number")] == [*ALL, "and on"]


def flips(path: Path, count: int, seed: str) -> Iterator[tuple[int, bytes]]:
    """The file with one bit turned, at places spread over all of it."""
    content, chance = path.read_bytes(), random.Random(seed)
    for number in range(count):
        at = (number * len(content) // count + chance.randrange(len(content))) % len(content)
        turned = bytearray(content)
        turned[at] ^= 1 << chance.randrange(8)
        yield at, bytes(turned)


@pytest.mark.covers("P11", "S3-11", "W3-14")
def test_a_flipped_bit_in_the_snapshot_is_found_and_everything_is_restored(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    a_store(path)
    whole = contents(path)
    for at, damaged in flips(path, rounds(500, 0.06), "flips"):
        put_back(path, whole)
        path.write_bytes(damaged)
        caplog.clear()
        try:
            with caplog.at_level(logging.WARNING), Memory(path, project="atlas") as memory:
                assert [record.text for record in memory.list(order="-number")] == ALL, at
                findings = {finding.check: finding for finding in memory.doctor()}
                assert not findings["restored"].ok and findings["journal"].ok and findings["backup"].ok
        except StoreTooNew:  # the bit made the version a larger one
            assert contents(path) == {**whole, path.name: damaged}
            continue
        [kept] = path.parent.glob("notes.json.damaged-*")
        assert kept.read_bytes() == damaged and "restored from its backup" in caplog.text
        assert texts_in(path) == ALL


@pytest.mark.covers("P11")
def test_a_cut_snapshot_is_restored(path: Path) -> None:
    a_store(path)
    whole = contents(path)
    size = len(whole[path.name])
    for number in range(rounds(100, 0.12)):
        put_back(path, whole)
        path.write_bytes(whole[path.name][: number * size // rounds(100, 0.12)])
        assert texts_in(path) == ALL


@pytest.mark.covers("P11", "P14")
def test_a_flipped_bit_in_the_log_is_named_by_its_line_and_nothing_is_changed(path: Path) -> None:
    a_store(path)
    whole = contents(path)
    log = beside(path, ".log")
    lines = whole[log.name].count(b"\n")
    named = set()
    for at, damaged in flips(log, rounds(500, 0.06), "log"):
        put_back(path, whole)
        log.write_bytes(damaged)
        before = contents(path)
        try:
            assert texts_in(path) == ALL, "only the last newline can be put right"
            assert at == len(damaged) - 1
        except (StoreDamaged, StoreTooNew) as problem:
            assert contents(path) == before
            named |= {line for line in range(1, lines + 1) if f"line {line} of notes.json.log" in str(problem)}
    assert named == set(range(1, lines + 1))


@pytest.mark.covers("P11")
def test_no_byte_of_the_files_is_outside_of_a_checksum(path: Path) -> None:
    a_store(path)
    snapshot, log = path.read_bytes(), beside(path, ".log")
    lines, chance = log.read_bytes(), random.Random("bytes")
    for at in (*range(300), *range(300, len(snapshot), 1 if TORTURE else 7)):
        turned = snapshot[:at] + bytes([snapshot[at] ^ 1 << chance.randrange(8)]) + snapshot[at + 1 :]
        path.write_bytes(turned)
        with pytest.raises((json_snapshot.Unreadable, StoreTooNew)):
            json_snapshot.read(path)
    for at in range(len(lines) - 1):  # the last newline is the one byte that can be put right
        log.write_bytes(lines[:at] + bytes([lines[at] ^ 1 << chance.randrange(8)]) + lines[at + 1 :])
        with pytest.raises((json_snapshot.Unreadable, StoreTooNew)):
            json_log.read(log)


@pytest.mark.covers("P11", "P14")
def test_a_lost_or_moved_line_of_the_log_is_noticed(path: Path) -> None:
    a_store(path)
    log = beside(path, ".log")
    first, *lines = log.read_bytes().splitlines(keepends=True)
    for changed in ([first, *lines[1:]], [first, *reversed(lines)], [first, lines[0], *lines], lines):
        log.write_bytes(b"".join(changed))
        with pytest.raises(StoreDamaged, match=r"notes\.json\.log"):
            Memory(path)


@pytest.mark.covers("P11")
@pytest.mark.parametrize("file", [".bak", ".bak.log"])
def test_a_damaged_backup_is_told_by_the_doctor_and_made_anew_by_the_next_fold(path: Path, file: str) -> None:
    a_store(path)
    content = bytearray(beside(path, file).read_bytes())
    content[len(content) * 2 // 3] ^= 1
    beside(path, file).write_bytes(content)
    with Memory(path, project="atlas") as memory:
        [finding] = [finding for finding in memory.doctor() if finding.check == "backup"]
        assert not finding.ok and f"notes.json{file}" in finding.detail
        memory.compact()
        assert [finding for finding in memory.doctor() if not finding.ok] == []
    assert texts_in(path) == ALL


@pytest.mark.covers("P11", "W3-14")
@pytest.mark.parametrize("backup", ["gone", "damaged", "its log damaged", "its log gone"])
def test_what_cannot_be_restored_is_left_as_it_is(path: Path, backup: str) -> None:
    a_store(path)
    path.write_bytes(path.read_bytes()[:500])
    bak, bak_log = beside(path, ".bak"), beside(path, ".bak.log")
    if backup == "gone":
        bak.unlink()
    elif backup == "damaged":
        bak.write_bytes(bak.read_bytes()[:-9])
    elif backup == "its log damaged":
        bak_log.write_bytes(bak_log.read_bytes().replace(b"two in", b"TWO in"))
    else:
        bak_log.unlink()
    before = contents(path)
    for _ in range(2):
        with pytest.raises(StoreDamaged, match="brings a backup back"):
            Memory(path)
    assert contents(path) == before


@pytest.mark.covers("P11")
def test_a_backup_that_is_older_than_the_anchor_is_not_taken(path: Path) -> None:
    """The snapshot is lost, and so is the log that would lead to it: the anchor knows that there was more."""
    remember(path, "one")
    remember(path, "two")
    path.unlink()
    beside(path, ".bak.log").unlink()
    before = contents(path)
    with pytest.raises(StoreDamaged, match="backup is older"):
        Memory(path)
    assert contents(path) == before


@pytest.mark.covers("P11", "W3-14")
@pytest.mark.parametrize(
    "content",
    [b"Dear diary,\n", b"[1, 2]", b'{"name": "package", "version": "1.0"}', b"\x00" * 5000, b"[" * 100_000, b"{}", b"null",
     b'{"format": "memorist"}', b'{"format": "memorist", "version": 1, "generation": 1, "sum": 3,\n}', b"\xef\xbb\xbf{}"],
    ids=lambda content: repr(content[:20]),
)  # fmt: skip
def test_a_file_that_is_something_else_is_refused_and_left(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(StoreDamaged, match=r"notes\.json .* Name another file"):
        Memory(path)
    assert contents(path) == {"notes.json": content} and [file.name for file in path.parent.iterdir()] == ["notes.json"]
    beside(path, ".anchor").write_text("{}")
    with pytest.raises(StoreDamaged, match=r"notes\.json .*brings a backup back"):
        Memory(path)
    assert contents(path) == {"notes.json": content, "notes.json.anchor": b"{}"}


@pytest.mark.covers("P11", "W3-14")
@pytest.mark.parametrize("end", [".anchor", ".log", ".bak.log"])
@pytest.mark.parametrize("gone", [True, False])
def test_an_empty_or_missing_file_beside_the_rest_of_a_store_is_no_new_store(path: Path, end: str, gone: bool) -> None:
    a_store(path)
    whole = contents(path)
    put_back(path, {beside(path, end).name: whole[beside(path, end).name], **({} if gone else {path.name: b""})})
    before = contents(path)
    with pytest.raises(StoreDamaged, match=r"notes\.json"):
        Memory(path)
    assert contents(path) == before
    put_back(path, {**whole, path.name: b""})
    assert texts_in(path) == ALL


@pytest.mark.parametrize("name", ["a\x00b", "a\ud800", "x" * 300, "file/notes", "folder", "pipe"])
def test_a_name_that_can_be_no_file_is_refused_in_words(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    before = sorted(tmp_path.iterdir())
    with pytest.raises((Invalid, StoreUnavailable), match=r"choose another|name "):
        JsonFileStore(tmp_path / f"{name}.json")
    assert sorted(tmp_path.iterdir()) == before


# ---------------------------------------------------------------- versions


def as_version(path: Path, version: int) -> None:
    """The snapshot and its logs as another version would have written them."""
    store = JsonFileStore(path)
    with pytest.MonkeyPatch.context() as patch:
        for module in (json_snapshot, json_log):
            patch.setattr(module, "VERSION", version)
        store.compact()
        stored(store, a_record("last"))


@pytest.mark.covers("W3-14", "P13")
@pytest.mark.parametrize("where", ["all", "log", "laid out otherwise"])
def test_a_newer_version_is_refused_and_left_byte_for_byte(path: Path, where: str) -> None:
    remember(path, "one")
    mine = path.read_bytes()
    as_version(path, 99)
    if where == "log":
        path.write_bytes(mine)
    elif where == "laid out otherwise":
        path.write_text(json.dumps({"version": 99, "format": "memorist", "more": [1]}, indent=2))
    before = contents(path)
    with pytest.raises(StoreTooNew, match="99"):
        Memory(path)
    assert contents(path) == before


@pytest.mark.covers("S3-11", "P13")
def test_an_older_version_is_migrated_step_by_step(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(path, "one")
    as_version(path, -1)
    steps: list[int] = []

    def migration(step: int) -> Callable[[Any], Any]:
        def migrate(sections: Any) -> Any:
            steps.append(step)
            for row in sections.get("records", ()):
                row["text"] += f" ({step})"
            return sections

        return migrate

    for step in (-1, 0):
        monkeypatch.setitem(json_snapshot.MIGRATIONS, step, migration(step))
    store = JsonFileStore(path)
    texts = [record.text for record in store.find(Where(EVERYWHERE), Order(), 9)]
    assert sorted(texts) == ["last (-1) (0)", "one (-1) (0)"] and steps == [-1, 0, -1, 0]
    store.close()
    assert json.loads(path.read_text())["version"] == json_snapshot.VERSION
    assert json.loads(beside(path, ".bak").read_text())["version"] == -1
    monkeypatch.delitem(json_snapshot.MIGRATIONS, -1)
    as_version(path, -1)
    with pytest.raises(StoreDamaged, match="version -1"):
        JsonFileStore(path)


# ---------------------------------------------------------------- tables are filled when they are first needed


def test_opening_and_closing_fills_no_table(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(path, "one")
    before = contents(path)
    with monkeypatch.context() as patch:
        patch.setattr(tables, "built", lambda _: pytest.fail("the tables were filled"))
        with Memory(path, project="atlas"):
            pass
    assert contents(path) == before


def test_threads_that_ask_first_at_once_all_see_everything(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(path, *ALL)
    filled: list[int] = []
    built = tables.built

    def slowly(sections: Any) -> Any:
        filled.append(1)
        time.sleep(0.05)
        return built(sections)

    monkeypatch.setattr(tables, "built", slowly)
    with closing(JsonFileStore(path)) as store, ThreadPoolExecutor(8) as threads:
        counts = list(threads.map(lambda _: sum(store.count(Where(EVERYWHERE)).values()), range(8)))
    assert counts == [len(ALL)] * 8 and filled == [1]


@pytest.mark.covers("P6")
def test_a_write_of_another_process_between_opening_and_the_first_question_is_seen(path: Path) -> None:
    remember(path, "one")
    with closing(JsonFileStore(path)) as asks, closing(JsonFileStore(path)) as writes:
        stored(asks, a_record("two"))
        stored(writes, a_record("three"))
        everything = Where(EVERYWHERE)
        assert sum(writes.count(everything).values()) == sum(asks.count(everything).values()) == 3
    assert sorted(texts_in(path)) == ["one", "three", "two"]


@pytest.mark.parametrize(
    "spoil", [{"text": None}, {"at": "yesterday"}, {"key": "no hex"}, {"importance": "much"}], ids=str
)
def test_a_row_that_cannot_be_read_is_told_and_nothing_is_changed(path: Path, spoil: dict[str, object]) -> None:
    """Its checksum is right: whatever wrote it, an empty store is not begun in its place."""
    remember(path, "one")
    head, sections = json_snapshot.read(path)
    sections["records"][0].update(spoil)
    path.write_bytes(json_snapshot.written(head.generation, head.previous, head.after, sections)[0])
    before = contents(path)
    with closing(JsonFileStore(path)) as store:
        for _ in range(2):
            with pytest.raises(StoreDamaged, match="a row cannot be read"):
                store.count(Where(EVERYWHERE))
            with pytest.raises(StoreDamaged, match="a row cannot be read"):
                stored(store, a_record("two"))
    assert contents(path) == before


WRITTEN_BY_0_1_0 = Path(__file__).parent / "json-0.1.0"  # a closed store, and what was killed after it


def rows_in(path: Path) -> dict[str, set[str]]:
    """Every row of the snapshot, and of the lines after it that put one in its place or take it away."""
    keys = {
        "records": ["number"], "counters": ["record"], "links": ["a", "b", "kind"], "events": ["seq"], "chain": ["last"],
        "vectors": ["generation", "record"], "shelves": ["space", "scope", "layer"], "settings": ["name"], "keys": ["key"],
    }  # fmt: skip
    tables: dict[str, dict[str, str]] = {}
    log = beside(path, ".log")
    lines = log.read_text().splitlines()[1:] if log.exists() else []
    for part in (json.loads(path.read_text()), *map(json.loads, lines)):
        for name, rows in part.items():
            for row in rows if isinstance(rows, list) else ():
                section = name.removeprefix("dropped_")
                key = json.dumps([row[field] for field in keys.get(section, ["id"])])
                tables.setdefault(section, {}).pop(key, None)
                if section == name and row.get("chunks") != []:
                    tables[section][key] = json.dumps(row, sort_keys=True)
    return {name: set(table.values()) for name, table in tables.items()}


@pytest.mark.covers("P13", "S3-11")
def test_what_0_1_0_wrote_is_read_and_written_as_it_was(path: Path) -> None:
    put_back(path, {file.name: file.read_bytes() for file in WRITTEN_BY_0_1_0.iterdir()})
    before, written = rows_in(path), contents(path)
    with Memory(path, project="atlas", embed="none") as memory:
        assert (
            json.loads(path.read_text())["version"] == json_snapshot.VERSION > json.loads(written[path.name])["version"]
        )
        assert memory.audit().ok and [finding for finding in memory.doctor() if not finding.ok] == []
        [staging] = memory.list({"text": "Staging runs Postgres 16"})
        assert staging.pinned and staging.tags == ("db",) and staging.counters.up == 1
        assert memory.status()["vectors"].startswith("static-256")
        memory.compact()
    before["settings"].add(json.dumps({"name": "homes default", "value": "told"}))
    of_all = {"layers": " ".join(LAYERS), "lost": ""}
    before["generations"] = {json.dumps(json.loads(row) | of_all, sort_keys=True) for row in before["generations"]}
    assert rows_in(path) == before
    texts = [
        "Staging runs Postgres 16",
        "The relay answers on channel 7",
        "The archive lies in Ghent",
        "Straßenbahn 🐘",
    ]
    for lost in ("nothing", "notes.json"):
        put_back(path, {file.name: file.read_bytes() for file in WRITTEN_BY_0_1_0.iterdir() if file.name != lost})
        assert texts_in(path) == [*texts, "The heron nests at the weir"]
    with Memory(path, project="atlas") as memory:
        assert memory.recall("where does the heron nest?").hits[0].record.number == 8
        assert memory.remember("Staging runs Postgres 16", tags=["db"], key="op-1").record == staging


# ---------------------------------------------------------------- several processes


@pytest.mark.covers("P6")
def test_another_process_is_seen_at_once_through_folds_and_erasure(path: Path) -> None:
    store, other = JsonFileStore(path), JsonFileStore(path)
    everything = Where(EVERYWHERE)
    for number in range(8):
        stored(other, a_record(f"text {number}"))
        assert store.count(everything) == other.count(everything) and store.size().records > number
        if number % 3 == 1:
            stored(other, a_record("unseen", scope="user/x", state="archived"))
            other.compact()
            stored(other, a_record("unseen", scope="user/x", state="archived"))
        if number % 3 == 2:
            other.scrub([])  # leaves no log to read on in
        assert store.find(everything, Order(), 99) == other.find(everything, Order(), 99)
        stored(store, a_record("and back", scope="global"))
        assert store.size().records == other.size().records
    store.close()
    other.close()


@pytest.mark.covers("P6")
def test_a_fold_by_another_process_is_followed_without_reading_everything_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = JsonFileStore(path), JsonFileStore(path)
    stored(other, a_record("one"))
    monkeypatch.setattr(store, "_load", lambda: pytest.fail("everything was read again"))
    other.compact()
    assert store.size().records == 1
    stored(other, a_record("two"))
    other.compact()
    stored(other, a_record("three"))
    assert store.size().records == 3


def all_rows(store: JsonFileStore) -> dict[str, list[str]]:
    """Every row; counters that are all nought are as good as none."""
    with closing(store.connect()) as one:
        found = {name: list(rows) for name, rows in tables.every(one).items()}
    found["counters"] = [row for row in found["counters"] if any(row.get(name) for name in COUNTERS)]
    return {name: sorted(json.dumps(row, sort_keys=True) for row in rows) for name, rows in found.items()}


@pytest.mark.covers("P6")
@pytest.mark.parametrize("asks", [False, True], ids=["before its index is made", "after"])
def test_whatever_another_process_does_is_followed_row_by_row(
    path: Path, monkeypatch: pytest.MonkeyPatch, asks: bool
) -> None:
    with Memory(path, project="atlas") as memory:
        for number in range(20):
            memory.remember(f"Room {number} holds the lamp {number}", tags=["room"])
        memory.remember("The vault code is plum")
        memory.link(1, 2, "relates_to")
        memory.link(3, 2, "relates_to")
    other = JsonFileStore(path)
    if asks:
        assert other.vocabulary("lamp", [Shelf("default", "project/atlas", "memory")], Where(EVERYWHERE), 9)
    monkeypatch.setattr(other, "_load", lambda: pytest.fail("everything was read again"))
    with Memory(path, project="atlas") as memory:
        steps: list[Callable[[], object]] = [
            lambda: memory.revise(1, "Room 0 holds the ladder"),
            lambda: memory.tag(4, "seen"),
            lambda: memory.pin(5),
            lambda: memory.forget(6),
            lambda: memory.restore(6),
            lambda: memory.unlink(3, 2, "relates_to"),
            lambda: memory.feedback(7, "useful"),
            lambda: memory.recall("Which room holds the lamp?") and memory._writer.flush(),
            lambda: memory.context("lamp") and memory._writer.flush(),
            lambda: memory.remember("Room 3 holds no lamp", key="again"),
            lambda: memory.upkeep(),
        ]
        for step in steps:
            step()
            assert other.size().records >= 21
            assert all_rows(other) == all_rows(memory._tools.store)
        memory._writer.erase(memory.list({"text": "The vault code is plum"}), memory.access, "asked to")
        assert other.size().records >= 21 and all_rows(other) == all_rows(memory._tools.store)
        assert [finding for finding in other.checkup() if not finding.ok] == []
    other.close()


@pytest.mark.covers("S0-5")
@pytest.mark.parametrize("first", ["match", "vocabulary", "unembedded", "of some", "stating", "erase", "moment"])
def test_whatever_is_asked_first_is_answered_from_a_whole_index(path: Path, first: str) -> None:
    remember(path, "The heron nests at the weir", "The vault lies in Oslo")
    store, here = JsonFileStore(path), Shelf("default", "project/atlas", "memory")
    everything, words = Where(EVERYWHERE), terms("heron")
    [id] = [record.id for record in store.find(everything, Order(), 9) if "Oslo" in record.text]

    def asked() -> object:
        if first == "moment":
            with store.moment():
                return store.match(words, [here], everything, 9).scores
        if first == "erase":
            with store.transaction():
                Writer(store, now_utc).erase(store.get([id], everything), EVERYWHERE, "asked to")
            return store.vocabulary("oslo", [here], everything, 9) == [] and store.vocabulary(
                "h", [here], everything, 9
            )
        given: dict[str, tuple[Any, ...]] = {
            "match": (words, [here], everything, 9),
            "vocabulary": ("h", [here], everything, 9),
            "unembedded": (99, 0, 9),
            "of some": (99, 0, 9, [1, 2]),
            "stating": (stated("The vault lies in Oslo"), here, 9),
        }
        answer = getattr(store, "unembedded" if first == "of some" else first)(*given[first])
        return answer.scores if first == "match" else answer

    with pytest.raises(ZeroDivisionError), store.transaction():
        assert asked()
        raise ZeroDivisionError
    assert asked()
    assert [finding for finding in store.checkup() if not finding.ok] == []
    store.close()


@pytest.mark.covers("P6", "P9")
def test_waiting_ends_and_a_killed_holder_blocks_nobody(path: Path) -> None:
    remember(path, "one")

    def hold(say: Callable[[object], None]) -> None:
        store = JsonFileStore(path)
        with store.transaction():
            say("holding")
            time.sleep(60)

    with holding(hold):
        started = time.monotonic()
        with pytest.raises(StoreUnavailable, match="busy"):
            JsonFileStore(path, wait=0.2)
        assert 0.2 <= time.monotonic() - started < 30
    remember(path, "two")
    assert texts_in(path) == ["one", "two"]


@pytest.mark.covers("P9")
def test_a_store_is_not_used_after_a_fork(path: Path) -> None:
    memory = Memory(path, project="atlas")
    memory.remember("one")
    before = contents(path)

    def work(say: Callable[[object], None]) -> None:
        for use in (memory.list, lambda: memory.remember("two")):
            try:
                use()
            except StoreUnavailable as problem:
                say(problem)
        memory._tools.store.close()

    child = Child(work)
    said = list(child.lines())
    assert child.end() == 0 and len(said) == 2 and all("fork" in line for line in said)
    assert contents(path) == before
    memory.remember("two")
    memory.close()
    assert texts_in(path) == ["one", "two"]


@pytest.mark.covers("P9")
def test_a_child_forked_inside_a_transaction_keeps_no_lock(path: Path) -> None:
    store = JsonFileStore(path)

    def linger(say: Callable[[object], None]) -> None:
        say("there")
        time.sleep(60)

    with store.transaction():
        child = Child(linger)
        child.line()
    other = JsonFileStore(path, wait=5)
    stored(other, a_record("not blocked"))
    child.kill()


# ---------------------------------------------------------------- a full disk, and no rights


@pytest.mark.covers("P5", "P14")
def test_a_short_write_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory(path, project="atlas", embed="none") as memory:
        memory.remember("before")
        before = contents(path)
        real = os.write
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", lambda file, data: real(file, data[: len(data) // 3]))
            for _ in range(2):
                with pytest.raises(StoreUnavailable, match="disk is full"):
                    memory.remember("while it is full")
                assert contents(path) == before
                assert [record.text for record in memory.list()] == ["before"]
                assert not memory.recall("full")
        memory.remember("after")
    assert texts_in(path) == ["before", "after"]


@pytest.mark.covers("Z9")
def test_every_file_is_private_from_its_first_moment(path: Path) -> None:
    old = os.umask(0)
    try:
        place = path.parent / "new" / "deep" / "notes.json"
        a_store(place)
        place.write_bytes(place.read_bytes()[:90])
        log = beside(place, ".log")
        log.write_bytes(log.read_bytes() + b'{"torn')
        with Memory(place, project="atlas") as memory:
            memory.remember("five")
            memory.backup(place.parent / "copy.json")
    finally:
        os.umask(old)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in place.parent.iterdir()}
    assert len(modes) >= 7 and set(modes.values()) == {0o600}, modes
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700


@pytest.mark.covers("P15")
def test_a_link_to_the_file_stays_a_link_and_no_reader_sees_half_a_file(path: Path) -> None:
    real = path.parent / "elsewhere" / "real.json"
    remember(real, "one")
    path.symlink_to(real)

    def fold(say: Callable[[object], None]) -> None:
        for number in range(rounds(500, 0.05)):
            remember(path, f"number {number}")
        say("done")

    child = Child(fold)
    while os.waitpid(child.pid, os.WNOHANG) == (0, 0):
        json.loads(path.read_text())
    assert path.is_symlink() and json.loads(real.read_text())["generation"] > 20


# ---------------------------------------------------------------- erasing, copying, reading with one's own eyes


@pytest.mark.covers("W3-11", "G1")
def test_what_is_erased_is_in_no_file_any_more(path: Path) -> None:
    secret = "Überraschung für Ägäis-Orakel zwölf"
    a_store(path)
    left_unfolded(path, secret)
    log = beside(path, ".log")
    log.write_bytes(log.read_bytes() + log.read_bytes().splitlines()[-1][:-1])
    beside(path, ".damaged-20260101T000000Z").write_text(secret)
    beside(path, ".new").write_bytes(path.read_bytes().splitlines()[0] + f"\n{secret}".encode())  # left by 0.1.0
    with Memory(path, project="atlas") as memory:
        [record] = memory.list({"text": secret})
        memory.recall("Orakel")
        memory.pin(record.id)
        memory.compact()
        memory.erase(record.id)
        holding_it = files_holding(path.parent, secret)
        assert holding_it == []
        memory.remember("five")
        assert [finding for finding in memory.doctor() if not finding.ok] == []
    assert files_holding(path.parent, secret) == []
    assert [text for text in texts_in(path) if text] == [*ALL, "five"]


def files_holding(folder: Path, secret: str) -> list[str]:
    """Where any word of it is found, in any spelling a file could have."""
    words = [word for word in secret.split() if len(word) > 4]
    traces = [form for word in words for form in spellings(word)]
    return [file.name for file in folder.iterdir() if any(trace in file.read_bytes() for trace in traces)]


def spellings(word: str) -> Iterator[bytes]:
    yield word.encode()
    yield word.lower().encode()
    yield word.encode("utf-16-le")
    yield json.dumps(word).encode()[1:-1]
    for skipped in range(3):
        shifted = base64.b64encode(b"x" * skipped + word.encode())
        yield shifted[4 if skipped else 0 : -4]


@pytest.mark.covers("S0-5", "S3-5")
def test_the_file_can_be_read_by_people_and_other_programs(path: Path) -> None:
    remember(path, "Straßenbahn 🐘", "second")
    text = path.read_text(encoding="utf-8")
    document = json.loads(text)
    assert (document["format"], document["version"]) == ("memorist", json_snapshot.VERSION)
    assert [record["text"] for record in document["records"]] == ["Straßenbahn 🐘", "second"]
    assert (document["records"][0]["scope"], document["records"][0]["kind"]) == ("project/atlas", "fact")
    assert [line for line in text.splitlines() if "Straßenbahn" in line] == [
        line for line in text.splitlines() if line.startswith('{"number": 1,')
    ]
    assert [event["verb"] for event in document["events"]] == ["added", "added"]
    assert not beside(path, ".log").exists(), "a closed store needs no log"


@pytest.mark.covers("S3-11")
def test_an_empty_store_is_a_file_with_a_backup(path: Path) -> None:
    Memory(path).close()
    assert json.loads(path.read_text())["records"] == [] and beside(path, ".bak").read_bytes() == path.read_bytes()
    path.write_bytes(b"")
    assert texts_in(path) == []


@pytest.mark.covers("S3-11")
def test_a_long_log_is_folded_by_whoever_writes_next(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorist.store.json_file.store.FOLD_AT", 3000)
    store = JsonFileStore(path)
    for number in range(40):
        stored(store, a_record(f"text {number}"))
        assert beside(path, ".log").stat().st_size < 3000 + path.stat().st_size + 2000
    assert json.loads(path.read_text())["generation"] > 3
    assert JsonFileStore(path).size().records == 40


def test_what_lies_on_one_disk_only_is_counted(path: Path) -> None:
    a_store(path)
    store = JsonFileStore(path)
    files = json_files.Files(path)
    size = store.size()
    assert size.bytes == sum(file.stat().st_size for file in files.all()) and size.records == 4
    assert 0 < size.live_bytes == path.stat().st_size + files.log.stat().st_size < size.bytes
    with pytest.raises(StoreUnavailable, match="transaction"), store.transaction():
        store.compact()


@pytest.mark.covers("P5", "S0-5")
def test_a_fold_that_fails_leaves_a_store_that_can_be_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_file, "FOLD_AT", 0)
    with Memory(path, project="atlas") as memory:
        memory.remember("Alpha lies north " * 20)
        with monkeypatch.context() as patch:
            patch.setattr(json_files, "fold", no_room)
            memory.remember("Beta lies south " * 20)
            memory.remember("Gamma lies west")
        memory.remember("Delta lies east")
    with Memory(path, project="atlas") as memory:
        assert memory.count() == 4
        assert memory.audit().ok


@pytest.mark.covers("P5")
def test_a_file_that_could_not_be_written_whole_takes_no_room(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.raises(OSError, match="full"):
        json_files.write_new(path.with_name("new"), b"half of it")
    assert not path.with_name("new").exists()


def no_room(*_: object) -> None:
    raise OSError(28, "the disk is full")


def test_a_store_can_be_examined_inside_a_transaction(path: Path) -> None:
    remember(path, "one")
    store = JsonFileStore(path, wait=2)
    with store.transaction():
        stored(store, a_record("two"))
        assert [finding for finding in store.checkup() if not finding.ok] == []
    assert store.checkup(repair=True)[0].detail == "there was nothing to repair"
    with closing(store.connect()) as one:
        one.execute("DROP TRIGGER words_removed; DELETE FROM words")
    assert [finding for finding in store.checkup() if not finding.ok]
    assert store.checkup(repair=True)[0].ok and [finding for finding in store.checkup() if not finding.ok] == []
    store.close()
    assert texts_in(path) == ["one", "two"]


def test_a_child_forked_inside_a_transaction_writes_nothing(path: Path) -> None:
    """It would append its parent's line, and the parent the same line again."""
    with closing(JsonFileStore(path)) as store:
        child = -1
        try:
            with store.transaction():
                store.write(Commit([sealed(a_record("one"))]))
                child = os.fork()
        except MemoristError:
            os._exit(7)
        if child == 0:
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert all(each.ok for each in store.checkup())
    with closing(JsonFileStore(path)) as again:
        assert sum(again.count(Where(EVERYWHERE)).values()) == 1


def test_shelves_have_the_same_numbers_whenever_a_file_is_read(path: Path) -> None:
    """What was found out about shelves before a file was read again must not mean others afterwards."""
    scopes = [f"project/{name}" for name in ("kiosk", "amber", "fjord", "birch", "delta")]
    with closing(JsonFileStore(path)) as store:
        for scope in scopes:
            stored(store, a_record(f"about {scope}", scope=scope))
    with closing(JsonFileStore(path)) as store, closing(store.connect()) as one:
        assert [scope for (scope,) in one.execute("SELECT scope FROM shelves ORDER BY id")] == scopes
