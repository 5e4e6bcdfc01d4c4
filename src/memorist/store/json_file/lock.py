"""A lock between processes that share files: held for one transaction, given back by the system when its holder dies."""

import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memorist.errors import StoreUnavailable

_held: set[int] = set()  # descriptors of locks that this process holds


class FileLock:
    """An empty file beside what it protects. It is never removed: two processes could then hold two of them."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def held(self, wait: float, to_write: bool = True) -> Iterator[None]:
        """Waits for it, up to `wait` seconds. Who may not even open it can still read, and goes on without."""
        descriptor = self._opened(to_write)
        if descriptor is None:
            yield
            return
        _held.add(descriptor)
        try:
            _acquire(descriptor, wait)
            yield
        finally:
            if descriptor in _held:
                _held.discard(descriptor)
                os.close(descriptor)  # which gives the lock back

    def _opened(self, to_write: bool) -> int | None:
        try:
            return os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as problem:
            if to_write:
                said = f"{self._path.name} cannot be opened ({problem.strerror}); nothing was written"
                raise StoreUnavailable(f"{said}. Check its permissions") from problem
        try:
            return os.open(self._path, os.O_RDONLY)
        except OSError:
            return None


def _acquire(descriptor: int, wait: float) -> None:
    until = time.monotonic() + wait
    while not _try(descriptor):
        if time.monotonic() >= until:
            raise StoreUnavailable(
                f"another process kept the store busy for {wait:g} s; nothing was written, try again"
            )
        time.sleep(random.uniform(0.0002, 0.004))  # unequal pauses: of many writers none starves


def _try(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            # Not `lockf`: that one does not keep two stores in one process apart.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _leave_to_parent() -> None:
    """A forked child shares the parent's locks, and would keep them alive after the parent's death."""
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
