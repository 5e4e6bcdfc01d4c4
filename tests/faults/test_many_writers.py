"""Promises P6 and P9: many processes and threads share one store without a lock error, and a fork is safe.

Writers queue with `BEGIN IMMEDIATE` and wait for one another; whoever cannot wait that long is told so. A memory that was
opened before a fork belongs to the parent: the child is refused in words, and the parent does not notice.
"""

import os
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from conftest import TORTURE, rounds
from faults.processes import Child, all_at_once, holding, needs_fork
from memorist import Memory
from memorist.errors import StoreUnavailable
from memorist.kinds import MEMORY
from memorist.store.nouns import Commit, Shelf
from memorist.store.sqlite import SqliteStore
from memorist.store.sqlite.read import WordIndex
from memorist.store.where import Order, Where
from memorist.testing import EVERYWHERE, a_record, sealed, stored

WRITERS, READERS = 8, 2
WRITES = rounds(5000, 0.02)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    Memory(tmp_path / "memory.db", project="atlas").close()
    return tmp_path / "memory.db"


def text_of(writer: int, number: int) -> str:
    return f"Writer {writer} saw train {writer * 100_000 + number} leave platform {number % 12}"


def everything() -> set[str]:
    return {text_of(writer, number) for writer in range(WRITERS) for number in range(WRITES)}


def assert_nothing_lost(path: Path, expected: set[str]) -> None:
    with Memory(path, project="atlas") as memory:
        texts = [record.text for record in memory.list(limit=1_000_000)]
        assert len(texts) == len(expected) and set(texts) == expected
        audit = memory.audit()
        assert audit.ok, audit.problems
        assert audit.records == audit.events == len(expected)
        assert [finding for finding in memory.doctor() if not finding.ok] == []


# ---------------------------------------------------------------- processes


def writing(path: Path, writer: int) -> Callable[[], None]:
    def work() -> None:
        with Memory(path, project="atlas") as memory:
            for number in range(WRITES):
                assert memory.remember(text_of(writer, number)).outcome == "added"

    return work


def reading(path: Path, done: Path) -> Callable[[], None]:
    """Reads until the writers are done: whatever is found is whole, and counts only grow."""

    def work() -> None:
        with Memory(path, project="atlas") as memory:
            seen = 0
            while not done.exists():
                hits = memory.recall("which train left platform 7?", limit=20)
                assert all(hit.record.text.startswith("Writer ") for hit in hits)
                seen, before = memory.count(), seen
                assert seen >= before
                time.sleep(0.01)  # readers that never rest would take the processor from the writers

    return work


@needs_fork
@pytest.mark.covers("P6", "W4-10")
def test_eight_processes_write_and_two_read_and_nothing_is_lost(path: Path) -> None:
    done = path.with_name("done")
    readers = [Child(lambda say: reading(path, done)()) for _ in range(READERS)]
    try:
        assert all_at_once([writing(path, writer) for writer in range(WRITERS)]) == [0] * WRITERS
    finally:
        done.touch()
        ends = [reader.end() for reader in readers]
    assert ends == [0] * READERS
    assert_nothing_lost(path, everything())


@needs_fork
@pytest.mark.covers("P6", "P21")
def test_an_audit_among_writers_sees_no_ghosts(path: Path) -> None:
    """What changes between two looks is not damage."""

    def change_things(say: Callable[[object], None]) -> None:
        chance = random.Random(os.getpid())
        with Memory(path, project="atlas") as memory:
            say("ready")
            while True:
                number = chance.randrange(1, 30)
                if chance.random() < 0.2:
                    memory.remember(f"Note {chance.random()}")
                    memory.revise(number, f"Note {chance.random()} instead")
                memory.tag(number, f"tag{chance.randrange(10**6)}", remove=memory.get(number).tags[:1])
                time.sleep(0.005)  # an audit takes longer with every event

    with Memory(path, project="atlas") as memory:
        memory.remember_many([f"Note {number}" for number in range(1, 30)])
        with holding(change_things), holding(change_things):
            for _ in range(rounds(100, 0.12)):
                audit = memory.audit()
                assert audit.ok, audit.problems
                assert [finding for finding in memory.doctor() if not finding.ok] == []


@needs_fork
@pytest.mark.covers("P6")
def test_writers_wait_for_a_process_that_keeps_the_lock(path: Path) -> None:
    held = 10.0 if TORTURE else 1.5

    def hold(say: Callable[[object], None]) -> None:
        one = apsw.Connection(str(path))
        one.execute("BEGIN IMMEDIATE")
        say("held")
        time.sleep(held)
        one.execute("ROLLBACK")

    def write_one(writer: int) -> Callable[[], None]:
        def work() -> None:
            with Memory(path, project="atlas") as memory:
                memory.remember(text_of(writer, 0))

        return work

    with holding(hold):
        assert all_at_once([write_one(writer) for writer in range(4)]) == [0] * 4
    assert_nothing_lost(path, {text_of(writer, 0) for writer in range(4)})


@pytest.mark.covers("P6")
def test_whoever_cannot_wait_is_told_so_and_can_go_on_afterwards(path: Path) -> None:
    with Memory(path, project="atlas", wait=0.2) as memory:
        one = apsw.Connection(str(path))
        one.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match=r"busy.*nothing was written.*try again") as told:
            memory.remember("The lock was taken")
        assert told.value.retry_safe
        assert memory.recall("lock").empty_because, "reading goes on meanwhile"
        one.execute("ROLLBACK")
        one.close()
        assert memory.remember("The lock was given back").outcome == "added"
        assert [record.text for record in memory.list()] == ["The lock was given back"]


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
def test_eight_threads_share_one_memory(path: Path) -> None:
    problems: list[BaseException] = []

    def work(memory: Memory, writer: int) -> None:
        try:
            for number in range(WRITES):
                assert memory.remember(text_of(writer, number)).outcome == "added"
                if number % 10 == writer:
                    assert memory.recall(f"train {writer * 100_000 + number}", limit=1)
        except BaseException as problem:
            problems.append(problem)

    with Memory(path, project="atlas") as memory:
        threads = [threading.Thread(target=work, args=(memory, writer)) for writer in range(WRITERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert problems == []
    assert_nothing_lost(path, everything())


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
