"""Promises P6 and P9: a question sees one moment, threads leave nothing behind, and a fork is safe.

Many writers at once are in `tests/golden/test_many.py`. A memory that was opened before a fork belongs to the parent: the child is
refused in words, and the parent does not notice.
"""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from conftest import rounds
from faults.processes import Child, needs_fork
from memorist import Memory
from memorist.errors import StoreUnavailable
from memorist.kinds import MEMORY
from memorist.store.nouns import Commit, Shelf
from memorist.store.sqlite import SqliteStore
from memorist.store.sqlite.read import WordIndex
from memorist.store.where import Order, Where
from memorist.testing import EVERYWHERE, a_record, sealed, stored


@pytest.fixture
def path(tmp_path: Path) -> Path:
    Memory(tmp_path / "memory.db", project="atlas").close()
    return tmp_path / "memory.db"


# ---------------------------------------------------------------- processes


@pytest.mark.covers("P6")
def test_a_question_sees_one_moment_whatever_others_write_meanwhile(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between finding a chunk and reading where it lies, somebody makes the text shorter."""
    with Memory(path, project="atlas") as memory, Memory(path, project="atlas") as other:
        memory.remember("Platform nine " + "and a word more " * 2000 + "at the very end stands a lantern")
        contents = WordIndex.contents

        def interrupted(self: WordIndex, rows: Sequence[int]) -> Mapping[int, Sequence[str]]:
            found = contents(self, rows)
            monkeypatch.undo()  # who revises looks for what it contradicts
            other.revise(1, "Platform nine is closed")
            return found

        monkeypatch.setattr(WordIndex, "contents", interrupted)
        assert [hit.record.number for hit in memory.recall("lantern")] == [1]
        assert not memory.recall("lantern")


# ---------------------------------------------------------------- threads


@pytest.mark.covers("P6")
def test_a_thread_that_waits_for_another_is_told_how_long(path: Path) -> None:
    held, done = threading.Event(), threading.Event()

    def hold(memory: Memory) -> None:
        with memory._writer.transaction():
            held.set()
            done.wait(30)

    with Memory(path, project="atlas", wait=0.2) as memory:
        thread = threading.Thread(target=hold, args=(memory,))
        thread.start()
        assert held.wait(30)
        try:
            with pytest.raises(StoreUnavailable, match=r"another thread .* 0\.2 s"):
                memory.remember("The other thread is still at it")
        finally:
            done.set()
            thread.join()
        assert memory.remember("The other thread is done").outcome == "added"


@pytest.mark.covers("P23")
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are counted in /proc")
def test_threads_that_end_leave_no_files_open(path: Path) -> None:
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    with Memory(path, project="atlas") as memory:
        for _ in range(5):
            run_in_a_thread(lambda: memory.count())
        before = open_files()
        for _ in range(40):
            run_in_a_thread(lambda: memory.count())
        assert open_files() <= before


def run_in_a_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


# ---------------------------------------------------------------- forks


@needs_fork
@pytest.mark.covers("P9")
def test_a_child_cannot_use_its_parents_memory_and_the_parent_goes_on(path: Path) -> None:
    with Memory(path, project="atlas") as memory:
        for number in range(rounds(100)):
            memory.remember(f"The parent speaks for the {number}th time")
            memory.recall("who speaks?")  # leaves a line in the buffer, which is the parent's to write
            child = Child(lambda say: use_what_is_inherited(memory, say))
            told = list(child.lines())
            assert child.end() == 0
            assert len(told) == 5 and all(f"process {os.getpid()}" in line and "fork" in line for line in told), told
        assert memory.remember("The parent has the last word").outcome == "added"
        assert memory.count() == rounds(100) + 1
        assert memory.audit().ok
        assert [finding for finding in memory.doctor() if not finding.ok] == []


def use_what_is_inherited(memory: Memory, say: Callable[[object], None]) -> None:
    uses: list[Callable[[], object]] = [
        lambda: memory.remember("The child speaks"),
        lambda: memory.recall("who speaks?"),
        lambda: memory.list(),
        lambda: memory.forget(1),
        lambda: memory.audit(),
    ]
    for use in uses:
        try:
            use()
        except StoreUnavailable as told:
            say(told)
    memory.close()  # must not close, nor write, what is the parent's


@needs_fork
@pytest.mark.covers("P9")
def test_children_that_open_their_own_write_beside_the_parent(path: Path) -> None:
    def speak(number: int) -> Callable[[], None]:
        def work() -> None:
            with Memory(path, project="atlas") as own:
                own.remember(f"Child {number} speaks")

        return work

    with Memory(path, project="atlas") as memory:
        memory.remember("The parent speaks")
        children = [Child(lambda say, number=number: speak(number)()) for number in range(rounds(100, 0.06))]
        for number in range(rounds(100, 0.06)):
            memory.remember(f"The parent speaks again, {number}")
        assert [child.end() for child in children] == [0] * len(children)
        ids = [record.id for record in memory.list(limit=1000)]
        assert len(ids) == len(set(ids)) == 2 * len(children) + 1
        assert memory.audit().ok


@needs_fork
@pytest.mark.covers("P9")
def test_a_fork_in_the_middle_of_a_transaction_does_not_end_it(path: Path) -> None:
    with Memory(path, project="atlas") as memory:
        with memory._writer.transaction():
            memory.remember("Said before the fork")
            child = Child(lambda say: use_what_is_inherited(memory, say))
            assert len(list(child.lines())) == 5
            assert child.end() == 0
            memory.remember("Said after the fork")
        assert memory.count() == 2
        assert memory.audit().ok


@needs_fork
@pytest.mark.covers("P9")
def test_a_child_that_ends_normally_leaves_the_parents_lock_alone(path: Path) -> None:
    """Interpreters close what they hold when they end; the parent's lock must survive that."""

    def another_can_write() -> bool:
        try:
            with Memory(path, project="atlas", wait=0.05) as other:
                other.remember("Somebody else got in")
        except StoreUnavailable:
            return False
        return True

    with Memory(path, project="atlas") as memory:
        with memory._writer.transaction():
            memory.remember("Inside")
            child = Child(lambda say: memory.close())
            assert child.end() == 0
            probe = Child(lambda say: say(another_can_write()))
            assert probe.line() == "False"
            probe.end()
        assert [record.text for record in memory.list()] == ["Inside"]


def test_after_a_write_that_failed_inside_a_moment_shelves_are_looked_at_anew(path: Path) -> None:
    """SQLite may end a transaction by itself, on a full disk say; what is read then is another moment than before."""
    scopes, everything = ["project/mine", "project/new"], Where(EVERYWHERE)
    shelves = [Shelf("default", scope, MEMORY) for scope in scopes]

    def seen(store: SqliteStore) -> list[str]:
        facts = store.facts([1, 2], shelves, everything)
        assert [fact.number for fact in facts] == [r.number for r in store.find(everything, Order("number"), 9)]
        return [fact.shelf.scope for fact in facts]

    with closing(SqliteStore(path)) as store, closing(SqliteStore(path)) as other, store.moment():
        assert seen(store) == seen(store) == []
        with store.transaction():
            store.write(Commit([sealed(a_record("mine", scope="project/mine"))]))
            assert seen(store) == ["project/mine"]
            store._connections.here().execute("ROLLBACK")
        stored(other, a_record("elsewhere", scope="project/new"))
        store._connections.here().execute("BEGIN")
        assert seen(store) == seen(store) == ["project/new"]
