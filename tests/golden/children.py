"""Children that work and are killed: forked warm, heard through a pipe, ended by their number and always waited for."""

import os
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

Say = Callable[[object], None]
Work = Callable[[Say], None]


class Child:
    """One forked process; what it says comes line by line."""

    def __init__(self, work: Work) -> None:
        reading, writing = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # other threads: the children here touch none of them
            self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            _live(work, writing)
        os.close(writing)
        self.said = os.fdopen(reading, encoding="utf-8")

    def line(self) -> str:
        """The next line; nothing once the child is gone."""
        line = self.said.readline()
        return line.strip() if line.endswith("\n") else ""

    def end(self, kill: bool = False) -> list[str]:
        """What it still said until it ended, or until it was killed."""
        if kill:
            os.kill(self.pid, signal.SIGKILL)
        lines = [line.strip() for line in self.said if line.endswith("\n")]
        self.said.close()
        ended = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        assert ended == 0 or (kill and ended == -signal.SIGKILL), f"the child ended with {ended}"
        return lines


def _live(work: Work, writing: int) -> None:
    """The child's whole life. It never returns into the test runner."""
    status = 1
    try:
        work(lambda line: os.write(writing, f"{line}\n".encode()) and None)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def killed(work: Work, seconds: float) -> list[str]:
    """What a child had said when it was killed, so long after its first word."""
    child = Child(work)
    first = child.line()
    time.sleep(seconds)
    return [line for line in (first, *child.end(kill=True)) if line]


def together(works: Sequence[Work]) -> list[list[str]]:
    """What each of them said, who all began at once."""
    children = [Child(work) for work in works]
    return [child.end() for child in children]


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Every file below the folder."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}
