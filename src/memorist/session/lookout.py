"""The one thread of a process that looks ahead, for all sessions of all memories, and its bounded queue.

A caller never waits: if there is no room, the work is refused and the caller is told so. The thread ends after some
time without work, and a program that ends does not wait for it. A forked process starts without thread and queue,
because the work that waited belongs to its parent.
"""

import logging
import os
import threading
from collections import deque
from collections.abc import Callable

QUEUED_AT_MOST = 64  # sessions that wait
IDLE = 5.0  # seconds without work before the thread ends
A_MOMENT = 0.2  # seconds that closing a memory waits for a lookup in progress
log = logging.getLogger("memorist")
Work = Callable[[], None]


class Lookout:
    """A queue of work, each item with the store that it reads, and the thread that does the work."""

    def __init__(self, most: int = QUEUED_AT_MOST) -> None:
        self._most = most
        self.begin()

    def begin(self) -> None:
        """Starts without thread and queue."""
        self._changed = threading.Condition()
        self._queue: deque[tuple[object, Work]] = deque()
        self._at: object = None  # the store being read
        self._thread: threading.Thread | None = None

    def offer(self, store: object, work: Work) -> bool:
        """Takes the work; returns whether there was room for it."""
        with self._changed:
            if len(self._queue) >= self._most:
                return False
            self._queue.append((store, work))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="memorist lookout", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError as problem:  # the program is ending, or has no threads left
                    log.info("nothing is looked up ahead: %s", problem)
                    self._thread = None
                    self._queue.clear()
                    return False
            self._changed.notify_all()
            return True

    def withdraw(self, store: object) -> None:
        """Drops work for a store that is closing; a lookup in progress gets a moment to finish."""
        with self._changed:
            self._queue = deque(each for each in self._queue if each[0] is not store)
            if threading.current_thread() is not self._thread:
                self._changed.wait_for(lambda: self._at is not store, A_MOMENT)

    def rest(self, seconds: float) -> bool:
        """Waits until all work is done; returns whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._queue and self._at is None, seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._changed.wait_for(lambda: bool(self._queue), IDLE):
                    self._thread = None
                    return
                self._at, work = self._queue.popleft()
            try:
                work()
            except Exception:  # the thread must go on for other sessions, and would lose the error
                log.exception("what was to be looked up ahead could not be")
            with self._changed:
                self._at = None
                self._changed.notify_all()


lookout = Lookout()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lookout.begin)
