"""Waiting for slow work in another thread, no longer than there is time."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
SHARE = 0.6  # of the remaining time, since the rest of the query needs some too


def apart(work: Callable[[], T], name: str) -> "Future[T]":
    """The future result of the work, done in a separate thread, which is abandoned when nobody waits for it any longer."""
    from concurrent.futures import Future

    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as problem:
            done.set_exception(problem)

    threading.Thread(target=run, name=name, daemon=True).start()
    return done


class Patience:
    """One slow thing at a time, waited for only as long as a query has time. It runs in a separate thread; a query that gives
    up goes on without it, and until it has returned nothing starts the same again. Threads may share one."""

    def __init__(self) -> None:
        self._busy = threading.Lock()

    def within(self, seconds: float, work: Callable[[], T]) -> T | None:
        """The result of the work, or None if it takes longer, or an earlier one has not returned yet."""
        if seconds <= 0 or not self._busy.acquire(blocking=False):
            return None

        def alone() -> T:
            try:
                return work()
            finally:
                self._busy.release()

        try:
            done = apart(alone, "memorist waiting")
        except RuntimeError:  # no thread is available
            self._busy.release()
            return None
        try:
            return done.result(timeout=seconds * SHARE)
        except TimeoutError:
            return done.result() if done.done() else None  # the work may have raised this itself, or finished just now
