"""Children for the fault tests: forked warm, acknowledging on a pipe, killed by their number and always waited for."""

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import pytest

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked here")


class Child:
    """One forked process. `said` collects the lines it wrote; `end` waits, or kills first."""

    def __init__(self, work: Callable[[Callable[[object], None]], None]) -> None:
        self._lines, writing = os.pipe()
        self._left = b""
        self.pid = _fork()
        if self.pid == 0:
            os.close(self._lines)
            _run(lambda: work(lambda line: _say(writing, line)))
        os.close(writing)

    def line(self) -> str | None:
        """The next whole line, or None when the child is gone."""
        while b"\n" not in self._left:
            more = os.read(self._lines, 65536)
            if not more:
                return None
            self._left += more
        line, _, self._left = self._left.partition(b"\n")
        return line.decode()

    def lines(self) -> Iterator[str]:
        while (line := self.line()) is not None:
            yield line

    def kill(self) -> list[str]:
        """SIGKILL, and what it had said by then."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        said = list(self.lines())
        self.end()
        return said

    def end(self) -> int:
        """Waits; the exit status, negative for a signal."""
        _, status = os.waitpid(self.pid, 0)
        os.close(self._lines)
        return os.waitstatus_to_exitcode(status)


def all_at_once(works: Sequence[Callable[[], None]]) -> list[int]:
    """Forks one child per work, lets all go at the same moment, and gives their exit statuses."""
    gate, opening = os.pipe()

    def behind_the_gate(work: Callable[[], None]) -> Callable[[Callable[[object], None]], None]:
        def wait_and_work(say: Callable[[object], None]) -> None:
            os.close(opening)
            os.read(gate, 1)
            work()

        return wait_and_work

    children = [Child(behind_the_gate(work)) for work in works]
    os.close(gate)
    os.close(opening)
    return [child.end() for child in children]


@contextmanager
def holding(work: Callable[[Callable[[object], None]], None]) -> Iterator[Child]:
    """A child that said its first line; it is gone when the block ends."""
    child = Child(work)
    try:
        assert child.line() is not None, "the child died before it was ready"
        yield child
    finally:
        child.kill()


def _fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads: the children here touch none of them
        return os.fork()


def _run(work: Callable[[], None]) -> None:
    """The child's whole life. It never returns into the test runner."""
    status = 1
    try:
        work()
        status = 0
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(status)


def _say(pipe: int, line: object) -> None:
    os.write(pipe, f"{line}\n".encode())
