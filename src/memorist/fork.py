"""Ensures that while this process forks, none of its threads is inside a library that keeps locks of its own.

SQLite, RE2 and the linear algebra under numpy keep mutexes for the whole process, and a child inherits them as they are: one
held by another thread is then never released. The last of the three even stops the parent where it spreads a product over
threads. Therefore all use of them happens `inside`, and a fork waits until nobody is.

SQLite also keeps a list of open files with their locks. A lock that only the parent holds counts as the child's own, so the
child waits for itself or reads what the parent is just overwriting. So a fork closes the connections to files; parent and child
each open new ones when they next need them. If this is impossible, because the fork itself comes from inside or a thread stays
inside for too long, the child is refused the files that were open.

A fork also waits for modules that another thread is just loading: their locks would stay held.
"""

import logging
import os
import sys
import threading
import time
import weakref
from pathlib import Path
from traceback import walk_stack
from types import TracebackType
from typing import Protocol

from memorist.errors import StoreUnavailable

LONGEST_FORK = 10.0  # seconds that a fork waits for others at most
FOREIGN = ("numpy", "apsw", "re2", "onnxruntime", "httpx2", "platformdirs")  # of others, used by us
# Perhaps in another thread. Not everything: a program may run for as long as a module of its own is loading.
LOADED_LATE = {"memorist", *FOREIGN, *sys.stdlib_module_names}
log = logging.getLogger("memorist")


class Opened(Protocol):
    """Connections to one database."""

    @property
    def path(self) -> Path | None: ...

    def let_go(self) -> bool:
        """Closes those to a file. Whether none is left open."""

    def disown(self) -> None:
        """In a child: whatever is still open belongs to the parent and is never closed here."""


class _Pass:
    """A thread's permission to be inside: the thread holds the lock while it is inside, and a fork holds it meanwhile."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.depth = 0


class _Here(threading.local):
    """Per-thread state, created on first use."""

    def __init__(self) -> None:
        self.own = _Pass()
        with _fork.registry:  # a new thread waits here while another forks
            _fork.passes.add(self.own)


class _Inside:
    """`with inside:` goes around everything that calls such a library; it may be nested."""

    def __init__(self) -> None:
        self.here = _Here()

    def __enter__(self) -> None:
        own = self.here.own
        if _fork.coming and own.depth == 0:  # otherwise threads coming and going would keep the fork waiting
            with _fork.registry:
                pass
        own.lock.acquire()
        own.depth += 1

    def __exit__(self, _: object, __: object, ___: TracebackType | None) -> None:
        own = self.here.own
        own.depth -= 1
        own.lock.release()


class _Fork:
    """What a fork has to hold, and what it held."""

    def __init__(self) -> None:
        self.registry = threading.Lock()
        self.passes: weakref.WeakSet[_Pass] = weakref.WeakSet()
        self.watched: weakref.WeakSet[Opened] = weakref.WeakSet()
        self.coming = False
        self.held: list[_Pass] = []
        self.torn: set[tuple[int, int]] = set()  # device and inode of files that the parent had open

    def before(self) -> None:
        own, until = inside.here.own, time.monotonic() + LONGEST_FORK
        self.registry.acquire()
        self.coming = True
        alone = self._keep_out(own, until) and own.depth == 0
        open_still = [each for each in self.watched if not (alone and each.let_go())]
        self.torn = {file for file in map(_file, (each.path for each in open_still)) if file}
        # Last: closing takes time, in which another thread may begin to load a module.
        while _are_loading() and time.monotonic() < until:
            time.sleep(0.001)

    def _keep_out(self, own: _Pass, until: float) -> bool:
        """Waits until all other threads are outside and lets none in. Whether that succeeded."""
        others = [each for each in self.passes if each is not own]
        self.held = [each for each in others if each.lock.acquire(timeout=max(0.0, until - time.monotonic()))]
        return len(self.held) == len(others)

    def in_parent(self) -> None:
        if self.torn:
            log.warning("a process was forked while a store was in use; it cannot use the same file")
        self.torn = set()
        for each in self.held:
            each.lock.release()
        self.held, self.coming = [], False
        self.registry.release()

    def in_child(self) -> None:
        own = inside.here.own
        for each in self.watched:
            each.disown()
        torn = self.torn
        self.__init__()  # type: ignore[misc]
        self.passes.add(own)
        self.torn = torn


_fork = _Fork()
inside = _Inside()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_fork.before, after_in_parent=_fork.in_parent, after_in_child=_fork.in_child)


def watch(opened: Opened) -> None:
    """Registers connections to be closed before a fork."""
    with _fork.registry:
        _fork.watched.add(opened)


def must_be_ours(process: int) -> None:
    """Refuses what was opened by a process that this one was forked from."""
    if os.getpid() != process:
        raise StoreUnavailable(
            f"this memory was opened by process {process} and cannot be used after a fork; open a new one in the child"
        )


def must_be_whole(path: Path) -> None:
    """Refuses a file whose locks SQLite, in this process, believes it inherited from the parent."""
    if _fork.torn and _file(path) in _fork.torn:
        raise StoreUnavailable(
            f"this process was forked in the middle of using {path}, so it cannot use it safely; "
            "fork before or after, or start the process anew (spawn)"
        )


def _file(path: Path | None) -> tuple[int, int] | None:
    try:
        seen = None if path is None else path.stat()
    except OSError:
        return None
    return (seen.st_dev, seen.st_ino) if seen else None


def _are_loading() -> bool:
    """Whether another thread is loading one of these modules right now. What this thread loads would never be done, and its
    locks are the child's."""
    frames = [frame for frame, _ in walk_stack(sys._getframe())]
    own = {frame.f_globals.get("__name__") for frame in frames if frame.f_code.co_name == "<module>"}
    others = [(name, module) for name, module in list(sys.modules.items()) if name not in own]
    late = [module for name, module in others if name.partition(".")[0] in LOADED_LATE]
    return any(getattr(getattr(module, "__spec__", None), "_initializing", False) for module in late)
