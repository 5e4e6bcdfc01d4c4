"""A8: a process forked while another thread uses the store opens it at once, and harms nothing."""

import concurrent
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import re2  # type: ignore[import-untyped]

import memorist
from conftest import rounds
from faults import libraries
from faults.processes import needs_fork
from memorist import Memory, fork
from memorist.errors import MemoristError, StoreUnavailable
from memorist.redact.formats import Rule
from memorist.redact.scan import Together
from memorist.testing import MovableClock

pytestmark = [needs_fork, pytest.mark.covers("A8", "P9"), pytest.mark.usefixtures("without_reader")]
TOO_LONG = 15  # seconds; 0.1.0 waited for 30, or for ever


def forked(work: Callable[[], object]) -> int:
    """What became of a child that did this: 0, 1 for an error, or the signal that ended its waiting."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(TOO_LONG)
        try:
            work()
            os._exit(0)
        except BaseException as problem:
            sys.stderr.write(f"{type(problem).__name__}: {problem}\n")
            sys.stderr.flush()
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@contextmanager
def meanwhile(*works: Callable[[], object]) -> Iterator[None]:
    """Threads that do this again and again."""
    stop, problems = threading.Event(), []

    def again(work: Callable[[], object]) -> None:
        while not stop.is_set():
            try:
                work()
            except MemoristError as problem:
                problems.append(problem)
                return

    threads = [threading.Thread(target=again, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert problems == []


def use(path: Path, **more: object) -> None:
    with Memory(path, **more) as own:  # type: ignore[arg-type]
        assert own.recall("which database does service 3 use?")
        assert own.remember(f"Process {os.getpid()} was here").outcome == "added"
        assert own.context("service 3").text


def filled(path: Path, **more: object) -> Memory:
    memory = Memory(path, **more)  # type: ignore[arg-type]
    memory.remember_many([f"note {n}: service {n % 7} uses database {n % 11}" for n in range(200)])
    return memory


@pytest.mark.parametrize("name", ["m.db", "m.json"])
@pytest.mark.parametrize(("doing", "full"), [("reading", 60), ("writing", 10), ("both", 40)])
def test_a_child_forked_meanwhile_uses_the_store(tmp_path: Path, name: str, doing: str, full: int) -> None:
    path = tmp_path / name
    with filled(path) as memory:

        def read() -> None:
            memory.recall("which database does service 3 use?")

        def write() -> None:
            memory.remember(f"said at {time.time_ns()} in {threading.get_ident()}")

        works = {"reading": [read] * 3, "writing": [write] * 2, "both": [read, read, write]}[doing]
        tries = rounds(full, {"reading": 0.2, "writing": 0.3, "both": 0.1}[doing])
        with meanwhile(*works):
            ended = []
            for _ in range(tries):
                time.sleep(0.013)
                ended.append(forked(lambda: use(path)))
        assert ended == [0] * tries
        assert sum("was here" in record.text for record in memory.list(limit=100_000)) == tries
        assert memory.audit().ok and [finding for finding in memory.doctor() if not finding.ok] == []


def test_a_child_forked_while_upkeep_is_at_work(tmp_path: Path) -> None:
    path, tries = tmp_path / "m.db", rounds(25, 0.14)
    clock = MovableClock()
    filled(path, design="curated", clock=clock).close()
    for number in range(tries):
        clock.move(days=2)  # so that it is due as soon as the memory is opened
        with Memory(path, design="curated", clock=clock) as memory:
            memory.remember(f"something new, {number}")
            time.sleep(0.002 * number)
            assert forked(lambda: use(path, design="curated")) == 0
            assert memory.recall("something new")
    with Memory(path) as memory:
        assert memory.audit().ok and [finding for finding in memory.doctor() if not finding.ok] == []


@pytest.mark.parametrize("work", [work.__name__ for work in libraries.WORKS])
def test_a_child_forked_while_threads_are_inside_a_library_with_locks(work: str) -> None:
    """RE2 and OpenBLAS left the child waiting for ever, and OpenBLAS's threads even the parent, in the fork itself."""
    program = Path(__file__).parents[1] / "faults" / "libraries.py"
    several = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    # Since Python 3.12 a fork beside threads warns of them; here they are meant.
    python = (sys.executable, "-W", "ignore:This process:DeprecationWarning")
    done = subprocess.run([*python, program, work], timeout=180, capture_output=True, text=True, env=several)
    assert (done.returncode, done.stdout, done.stderr) == (0, "all children did their work\n", "")


@pytest.mark.parametrize("work", libraries.WORKS)
def test_no_thread_enters_such_a_library_during_a_fork(work: Callable[[], Callable[[], object]]) -> None:
    """Their locks are held for so short a time that children rarely inherit one held."""
    once = work()
    once()  # so that all is loaded
    fork._fork.before()
    try:
        thread = threading.Thread(target=once)
        thread.start()
        thread.join(0.3)
        waits = thread.is_alive()
    finally:
        fork._fork.in_parent()
    thread.join()
    assert waits


@pytest.mark.parametrize("name", ["m.db", "m.json", ":memory:"])
def test_what_is_inherited_is_refused_at_once_also_when_a_thread_held_a_lock(tmp_path: Path, name: str) -> None:
    with filled(tmp_path / name if name != ":memory:" else name) as memory:  # type: ignore[arg-type]

        def try_all() -> None:
            uses: list[Callable[[], object]] = [
                lambda: memory.recall("service 3"),
                lambda: memory.remember("from the child"),
                lambda: memory.context("service 3"),
                lambda: memory.backup(tmp_path / "copy.db"),
                memory.status,
                memory.audit,
            ]
            begun = time.monotonic()
            for each in uses:
                with pytest.raises(StoreUnavailable, match="after a fork"):
                    each()
            memory.close()
            assert time.monotonic() - begun < 5

        with meanwhile(lambda: memory.recall("service 3"), lambda: memory.remember(f"{time.time_ns()}")):
            assert [forked(try_all) for _ in range(rounds(20, 0.15))] == [0] * rounds(20, 0.15)


@pytest.mark.parametrize("package", [memorist, re2, concurrent], ids=lambda package: package.__name__)
def test_a_module_that_another_thread_is_loading_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: ModuleType
) -> None:
    (tmp_path / "slow_to_load.py").write_text("import time\ntime.sleep(0.5)\nready = True\n")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    name = f"{package.__name__}.slow_to_load"

    def load() -> None:
        assert import_module(name).ready

    thread = threading.Thread(target=load)
    thread.start()
    while name not in sys.modules:
        time.sleep(0.001)
    assert forked(load) == 0
    thread.join()
    del sys.modules[name]


def test_a_module_that_another_thread_begins_to_load_meanwhile_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_to_load.py").write_text("import time\ntime.sleep(0.5)\nready = True\n")
    monkeypatch.setattr(memorist, "__path__", [*memorist.__path__, str(tmp_path)])
    name = "memorist.slow_to_load"
    thread = threading.Thread(target=import_module, args=(name,))

    class Opened:
        path = None

        def let_go(self) -> bool:
            thread.start()
            while name not in sys.modules:
                time.sleep(0.001)
            return True

        def disown(self) -> None: ...

    opened = Opened()
    fork.watch(opened)
    assert forked(lambda: import_module(name)) == 0
    thread.join()
    del opened, sys.modules[name]


def test_a_module_that_forks_while_it_is_loaded_does_not_wait_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of a name that the standard library has, too; the same holds for what `site` runs at the start."""
    (tmp_path / "antigravity.py").write_text("import os\nchild = os.fork()\nif child == 0:\n    os._exit(0)\n")
    monkeypatch.syspath_prepend(tmp_path)
    begun = time.monotonic()
    child = import_module("antigravity").child
    os.waitpid(child, 0)
    assert time.monotonic() - begun < fork.LONGEST_FORK / 2
    del sys.modules["antigravity"]


def test_a_child_forked_while_the_rules_for_secrets_are_made_has_its_own() -> None:
    """Before Python 3.12, a cached property has a lock, which the child inherited."""
    begun, rule = threading.Event(), Rule("token", "tok_[a-z]{9}")

    class Slow(list[Rule]):
        def __iter__(self) -> Iterator[Rule]:
            begun.set()
            time.sleep(0.5)
            return super().__iter__()

    thread = threading.Thread(target=Together(Slow([rule]), rule.pattern).alone, args=(b"tok_abcdefghi",))
    thread.start()
    begun.wait()
    assert forked(lambda: Together([rule], rule.pattern).alone(b"tok_abcdefghi")) == 0
    thread.join()


@pytest.mark.parametrize("whose", ["own", "another's"])
def test_a_child_forked_in_the_middle_of_it_all_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    """SQLite cannot give it fresh locks then; reading with the parent's would damage the file."""
    path, there, go = tmp_path / "m.db", threading.Event(), threading.Event()
    monkeypatch.setattr(fork, "LONGEST_FORK", 0.1)

    def child() -> None:
        with pytest.raises(StoreUnavailable, match="forked in the middle"):
            Memory(path)
        with Memory(tmp_path / "another.db") as another:
            another.remember("another file is no problem")

    with filled(path) as memory:

        def stay() -> None:
            with memory._writer.transaction():
                memory.remember("in the middle")
                there.set()
                go.wait(TOO_LONG)

        if whose == "own":
            with memory._writer.transaction():
                memory.remember("in the middle")
                assert forked(child) == 0
        else:
            thread = threading.Thread(target=stay)
            thread.start()
            there.wait(TOO_LONG)
            assert forked(child) == 0
            go.set()
            thread.join()
        assert memory.count() == 201 and memory.audit().ok
        assert forked(lambda: use(path)) == 0, "the next one is forked in peace"
