"""A lock between processes and between the threads of one: an empty file, whose lock the system releases when its holder dies.

The file is never removed, because two processes could then lock two different files.
"""

import errno
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memorist.errors import StoreUnavailable
from memorist.store.files import NO_LINK, pause

_held: set[int] = set()  # descriptors of locks that this process holds
BUSY = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)  # error numbers for a lock held by somebody else


class Busy(StoreUnavailable):
    """Another process has it."""


@contextmanager
def locked(path: Path, wait: float, to_write: bool = True, what: str = "the store") -> Iterator[None]:
    """Waits for the lock, up to `wait` seconds. Whoever cannot even open the lock file can still read `what` it protects."""
    descriptor = _opened(path, to_write)
    if descriptor is None:
        yield
        return
    _held.add(descriptor)
    try:
        until = time.monotonic() + wait
        while not _try(descriptor):
            if not pause(until):
                said = f"another process kept {what} busy for {wait:g} s; nothing was written, try again"
                raise Busy(said)
        yield
    finally:
        if descriptor in _held:
            _held.discard(descriptor)
            os.close(descriptor)  # also releases the lock


def _opened(path: Path, to_write: bool) -> int | None:
    """Opens the lock file, never through a link, which would create a file elsewhere."""
    try:
        return _plain(path, os.O_RDWR | os.O_CREAT)
    except OSError as problem:
        if to_write:
            said = f"{path.name} cannot be opened ({problem.strerror}); nothing was written. Check what it is, and its permissions"
            raise StoreUnavailable(said) from problem
    try:
        return _plain(path, os.O_RDONLY)
    except OSError:
        return None


def _plain(path: Path, flags: int) -> int:
    if path.is_symlink():
        raise OSError(errno.ELOOP, "it is a link")
    descriptor = os.open(path, flags | NO_LINK, 0o600)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file")
    return descriptor


def _try(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            # `lockf` would not keep two stores in one process apart.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        if problem.errno in BUSY:
            return False
        raise StoreUnavailable(
            f"this file system has no locks ({problem.strerror}); keep the store on another"
        ) from problem
    return True


def _leave_to_parent() -> None:
    """A forked child shares the parent's locks and would keep them alive after the parent's death."""
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
