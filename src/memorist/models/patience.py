"""Waiting for something slow, but not for longer than a question has time.

Only what may be left out is waited for like this: an embedder behind a network, a second opinion. It runs in a thread of its
own; whoever gives up goes on without it, and until it has come back nobody else starts the same again.
"""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
SHARE = 0.6  # of the time that is left: the rest of the question needs some too


class Patience:
    """One slow thing at a time, each waited for only as long as there is time. Per process, shared between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy = False

    def within(self, seconds: float, work: Callable[[], T]) -> T | None:
        """What the work gives, or None if it takes longer, or an earlier one has not come back yet."""
        with self._lock:
            if self._busy or seconds <= 0:
                return None
            self._busy = True
        from concurrent.futures import Future

        done: Future[T] = Future()
        threading.Thread(target=self._run, args=(work, done), name="memorist waiting", daemon=True).start()
        try:
            return done.result(timeout=seconds * SHARE)
        except TimeoutError:
            if done.done():  # it was the work that said so
                raise
            return None

    def _run(self, work: Callable[[], T], done: "Future[T]") -> None:
        try:
            result = work()
        except BaseException as problem:
            self._busy = False
            done.set_exception(problem)
        else:
            self._busy = False
            done.set_result(result)
