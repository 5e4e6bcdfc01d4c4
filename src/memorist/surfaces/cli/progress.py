"""A sign of life: a command that takes longer than a second says so, in one line at the bottom of the terminal.

The line goes to standard error, only if that is a terminal, and is wiped before anything else is written. A program
that reads our output never sees it. It shows the elapsed time and, where known, how many memories were written and how
much is done.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memorist.memory import Memory

WIDE = 20  # characters of the bar
PATIENCE_OF_PEOPLE, STEP = 1.0, 0.2  # seconds until it is shown, and between two updates


class _Line:
    """The progress line of the running command."""

    def __init__(self, name: str) -> None:
        self.name, self.count, self.begun, self.share = name, 0, time.monotonic(), 0.0
        self.lock = threading.RLock()  # held while writing to the terminal
        self.over, self.drawn = threading.Event(), False

    def add(self) -> None:
        self.count += 1

    def draw(self) -> None:
        while not self.over.wait(STEP):
            with self.lock:
                seconds = time.monotonic() - self.begun
                if seconds >= PATIENCE_OF_PEOPLE and not self.over.is_set():
                    counted = f", {self.count:,} memories" if self.count else ""
                    self._write(f"memorist: {self.name} … {self._bar()}{seconds:.0f} s{counted}")
                    self.drawn = True

    def _bar(self) -> str:
        """The share that is done, where that is known."""
        done = int(self.share * WIDE)
        return f"[{'#' * done}{'.' * (WIDE - done)}] {self.share:.0%}, " if self.share else ""

    def wipe(self) -> None:
        if self.drawn:
            self._write("")
            self.drawn = False

    def _write(self, text: str) -> None:
        """Overwrites the line with plain blanks: every terminal supports that."""
        from shutil import get_terminal_size

        wide = get_terminal_size().columns - 1
        try:
            sys.stderr.write(f"\r{text[:wide]:<{wide}}\r")
            sys.stderr.flush()
        except (OSError, ValueError):  # the terminal is gone, and the work goes on
            self.over.set()


_now: _Line | None = None  # a process runs one command


@contextmanager
def shown(name: str) -> Iterator[None]:
    """Shows that this command is at work, from the first second until it writes its answer."""
    global _now
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    line = _now = _Line(name)
    threading.Thread(target=line.draw, name="memorist-progress", daemon=True).start()
    try:
        yield
    finally:
        end()
        _now = None


def end() -> None:
    """Stops drawing, because the answer begins."""
    if _now is not None:
        with _now.lock:
            _now.over.set()
            _now.wipe()


@contextmanager
def apart() -> Iterator[None]:
    """Leaves the terminal to something else: a question, a warning, an editor."""
    if _now is None:
        yield
        return
    line, begun = _now, time.monotonic()
    with line.lock:
        line.wipe()
        try:
            yield
        finally:
            line.begun += time.monotonic() - begun  # time that people take does not count


def follow(memory: "Memory") -> None:
    """Counts what is written there, if anybody is looking."""
    line = _now
    if line is not None:
        memory.bus.listen(lambda *_: line.add(), "memory:write")


def come(done: int, total: int) -> None:
    """Shows how far the command has come, if anybody is looking."""
    if _now is not None and total:
        _now.share = min(done / total, 1.0)
