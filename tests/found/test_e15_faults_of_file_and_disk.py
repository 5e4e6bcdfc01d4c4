"""E15: after one swapped page answers were empty and nobody told, or a traceback; read errors were called damage; errors of the
system came out raw; and a read-only folder was said to be readable, and was not."""

import errno
import os
import random
import resource
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

from conftest import rounds
from faults.processes import needs_fork
from faults.test_read_only import somebody_without_rights
from memorist import Memory
from memorist.errors import MemoristError, StoreDamaged, StoreUnavailable, unavailable
from memorist.store.open import restore
from memorist.store.sqlite.connection import explained

PAGE = 4096
NOW = datetime(2026, 5, 1, tzinfo=UTC)


def opened(path: Path) -> Memory:
    return Memory(path, project="atlas", embed="none", clock=lambda: NOW)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "memory.db"
    with opened(path) as memory:
        for first in range(0, 240, 30):
            texts = [
                f"Lighthouse {n} blinks every {n * 7 % 13} seconds " + "over the bay " * (n % 9) for n in range(30)
            ]
            memory.remember_many([text.replace("Lighthouse", f"Lighthouse {first}") for text in texts])
        for number in range(1, 10):
            memory.revise(number, f"Lighthouse {number} was switched off", because="the harbour moved")
            memory.feedback(number + 20, "useful")
            memory.link(number, number + 30)
        memory.remember("Fog horns are tested on Fridays", scope="global")
    return path


READS: dict[str, Callable[[Memory], Any]] = {
    "count": lambda memory: memory.count(),
    "list": lambda memory: [record.id for record in memory.list(order="number", limit=10_000)],
    "recall": lambda memory: [hit.record.id for hit in memory.recall("which lighthouse blinks every seven seconds?")],
}
CARES: dict[str, Callable[[Memory], Any]] = {
    "status": lambda memory: memory.status(),
    "doctor": lambda memory: [finding for finding in memory.doctor() if not finding.ok],
}


def swapped(content: bytes, a: int, b: int) -> bytes:
    pages = [content[at : at + PAGE] for at in range(0, len(content), PAGE)]
    pages[a], pages[b] = pages[b], pages[a]
    return b"".join(pages)


@contextmanager
def in_time(seconds: int) -> Iterator[None]:
    """Whoever goes on from page to page in the order of a damaged file may never come to an end."""

    def too_long(*_: object) -> None:
        raise AssertionError("it does not come to an end")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def answers(path: Path) -> dict[str, Any]:
    """What each verb says: an answer, or an error of ours."""
    said: dict[str, Any] = {}
    try:
        memory = opened(path)
    except StoreDamaged as problem:
        return {name: problem for name in (*READS, *CARES)}
    for name, ask in (READS | CARES).items():
        try:
            with in_time(60):
                said[name] = ask(memory)
        except MemoristError as problem:
            said[name] = problem
    with suppress(StoreDamaged):
        memory.close()
    return said


@needs_fork
@pytest.mark.covers("E15", "P11")
def test_swapped_pages_are_told_and_hardly_ever_answered_wrong(sound: Path, tmp_path: Path) -> None:
    """Of 1,000 answers after random swaps. Where an index page lies among others of the same index, a question that does not
    need it is still answered right, and one that does may miss a few memories until somebody asks the doctor."""
    content, right, chance = sound.read_bytes(), answers(sound), random.Random("swaps")
    asked, wrong, empty = 0, [], []
    for number in range(rounds(400, 0.06)):
        a, b = chance.sample(range(1, len(content) // PAGE), 2)
        path = tmp_path / str(number) / "memory.db"
        path.parent.mkdir()
        path.write_bytes(swapped(content, a, b))
        said = answers(path)
        assert said["doctor"], f"the doctor has not seen that pages {a} and {b} were swapped"
        for name in READS:
            asked += 1
            if not isinstance(said[name], StoreDamaged) and said[name] != right[name]:
                wrong.append((name, a, b))
                empty += [(name, a, b)] if not said[name] else []
        shutil.rmtree(path.parent)
    assert empty == [], "an empty answer is the worst of all"
    assert len(wrong) <= 1 + asked * 0.05, wrong


@needs_fork
@pytest.mark.covers("E15")
@pytest.mark.parametrize("table", ["shelves", "records_by_time", "words", "generations", "journal"])
def test_a_table_that_lies_where_an_empty_one_was_is_told(sound: Path, tmp_path: Path, table: str) -> None:
    one = apsw.Connection(str(sound), flags=apsw.SQLITE_OPEN_READONLY)
    roots = dict(one.execute("SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0"))
    one.close()
    path = tmp_path / "memory.db"
    path.write_bytes(swapped(sound.read_bytes(), roots[table] - 1, roots["jobs"] - 1))
    said, right = answers(path), answers(sound)
    assert said["doctor"]
    for name in READS:
        assert isinstance(said[name], StoreDamaged) or said[name] == right[name], name


# ---------------------------------------------------------------- the disk and the system


@pytest.mark.covers("E15", "P24")
def test_a_read_error_is_no_damage() -> None:
    for code in (apsw.SQLITE_IOERR_READ, apsw.SQLITE_IOERR_SHORT_READ, apsw.SQLITE_IOERR_FSTAT):
        problem = apsw.IOError("disk I/O error")
        problem.extendedresult = code
        said = explained(problem)
        assert isinstance(said, StoreUnavailable) and "disk failed" in str(said) and "damaged" not in str(said)


@pytest.mark.covers("E15", "P24")
@pytest.mark.parametrize(
    ("number", "said"),
    [(errno.ENOSPC, "full"), (errno.EMFILE, "too many files"), (errno.ENAMETOOLONG, "shorter"), (errno.EIO, "disk failed"),
     (errno.EACCES, "permissions")],
)  # fmt: skip
def test_an_error_of_the_system_is_told_with_the_next_step(number: int, said: str) -> None:
    problem = unavailable(OSError(number, os.strerror(number)), "notes.db")
    assert said in str(problem) and problem.retry_safe


@pytest.fixture
def few_files() -> Iterator[Callable[[], None]]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held: list[int] = []

    def few() -> None:
        """The limit is one of numbers, so the free ones below it are taken first."""
        most = max(int(each.name) for each in Path("/proc/self/fd").iterdir())
        while not held or held[-1] < most:
            held.append(os.open(os.devnull, os.O_RDONLY))
        resource.setrlimit(resource.RLIMIT_NOFILE, (held[-1] + 1, hard))

    yield few
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    for each in held:
        os.close(each)


@pytest.mark.covers("E15", "P23")
@pytest.mark.parametrize("name", ["memory.db", "memory.json"])
def test_too_many_open_files_are_named(tmp_path: Path, few_files: Callable[[], None], name: str) -> None:
    path, backup = tmp_path / name, tmp_path / f"copy{Path(name).suffix}"
    with opened(path) as memory:
        memory.remember("One thing")
        memory.backup(backup)
        few_files()
        assert memory.list()[0].text == "One thing"
        for fails in (
            lambda: opened(path),
            lambda: restore(path, backup, NOW),
            lambda: memory.backup(tmp_path / "other"),
        ):
            with pytest.raises(StoreUnavailable, match=r"(?i)too many (open )?files"):
                fails()


@pytest.mark.covers("E15", "P22")
@pytest.mark.parametrize("end", [".db", ".json"])
def test_a_name_that_is_too_long_is_named(tmp_path: Path, end: str) -> None:
    path = tmp_path / f"memory{end}"
    long = tmp_path / ("x" * 300 + end)
    with opened(path) as memory:
        for fails in (lambda: opened(long), lambda: memory.backup(long), lambda: restore(long, path, NOW)):
            with pytest.raises(MemoristError) as said:
                fails()
            assert "\n" not in str(said.value) and len(str(said.value)) < 600


@needs_fork
@pytest.mark.covers("E15", "P22")
@pytest.mark.parametrize("log", [False, True], ids=["closed in order", "with a log beside it"])
def test_a_store_of_ours_in_a_read_only_folder_can_be_read_or_says_why_not(
    monkeypatch: pytest.MonkeyPatch, log: bool
) -> None:
    folder = Path(tempfile.mkdtemp(prefix="memorist-read-only-"))
    monkeypatch.setenv("MEMORIST_CONFIG", str(folder / "none.toml"))
    memory = opened(folder / "memory.db")
    memory.remember("Read me")
    memory.recall("read")
    if not log:
        memory.close()
    store = folder / "copy" / "memory.db"
    store.parent.mkdir()
    for file in folder.glob("memory.db*"):
        if not file.name.endswith("-shm"):
            shutil.copy(file, store.parent)
    for file in store.parent.iterdir():
        file.chmod(0o666)  # whoever may write the file, and not its folder
    store.parent.chmod(0o555)
    folder.chmod(0o755)

    def work(say: Any) -> None:
        try:
            with opened(store) as memory:
                say(memory.list()[0].text)
                try:
                    memory.remember("Not this")
                except StoreUnavailable as problem:
                    say(problem)
        except StoreUnavailable as problem:
            say(problem)

    said = somebody_without_rights(work)
    memory.close()
    store.parent.chmod(0o755)
    shutil.rmtree(folder)
    if log:
        assert len(said) == 1 and "nothing may be written" in said[0] and "reading works" not in said[0]
    else:
        assert said[0] == "Read me" and "read-only" in said[1]
