"""The latency objective: when recalls become slow, they are answered more cheaply until they are fast again.

A window of the last hundred times is judged by its 95th percentile: above 300 ms recall hurries, with smaller pools and a time
limit on what is optional. It goes back to normal on its own evidence, not on the window's: once enough recalls *since then*
stayed below 200 ms. What was slow before says nothing about now, and is forgotten with the change.
"""

import math
import threading
from collections import deque
from collections.abc import Iterable
from typing import Any

WINDOW = 100  # recalls
FEWEST = 5  # recalls: with less there is no judgement
SLOW, FAST = 300.0, 200.0  # milliseconds of the 95th percentile
GOOD = 20  # recalls in a row that must be fast on the whole
LIMIT = SLOW / 1000  # seconds that a hurried recall takes for what is optional, if nobody set a deadline


class Monitor:
    """How long the recalls of one open memory took lately. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._times: deque[float] = deque(maxlen=WINDOW)
        self._since: deque[float] | None = None  # the last ones since it hurries; None while it does not

    @property
    def hurried(self) -> bool:
        return self._since is not None

    def note(self, ms: float) -> None:
        """One more recall took so long."""
        with self._lock:
            if self._since is None:
                self._times.append(ms)
                if len(self._times) >= FEWEST and p95(self._times) > SLOW:
                    self._since = deque(maxlen=GOOD)
                return
            self._since.append(ms)
            if len(self._since) == GOOD and p95(self._since) < FAST:
                self._times, self._since = deque(self._since, maxlen=WINDOW), None

    def shown(self) -> dict[str, Any]:
        """For the status: what was measured, and what follows from it."""
        with self._lock:
            times = self._times if self._since is None else self._since
            measured = f"95 % within {p95(times):.0f} ms, last {len(times)}" if times else "none yet"
            if self._since is None:
                return {"recall": f"normal: {measured}"}
            return {"recall": f"hurried, with smaller pools, until {GOOD} recalls stay below {FAST:.0f} ms: {measured}"}


def p95(times: Iterable[float]) -> float:
    """The smallest of the times that at least 95 % of them do not pass."""
    ordered = sorted(times)
    return ordered[math.ceil(0.95 * len(ordered)) - 1]
