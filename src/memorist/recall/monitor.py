"""How fast recalls are. When they become slow, they do less work until they are fast again."""

import math
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

WINDOW = 100  # recalls
FEWEST = 5  # recalls: fewer say nothing
SLOW, FAST = 300.0, 200.0  # milliseconds of the 95th percentile
GOOD = 20  # recalls since hurrying began, whose 95th percentile must be fast
HURRY = SLOW / 1000  # seconds that a hurried recall has for optional stages if the caller set no deadline


class Monitor:
    """How long the recent recalls of one open memory took. Safe to share between threads.

    The 95th percentile of the last hundred recalls decides: above 300 ms recall hurries, with smaller pools and a time limit
    on optional stages. It returns to normal once enough recalls since then stayed below 200 ms.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._times: deque[float] = deque(maxlen=WINDOW)  # while it hurries, those since it began to
        self._hurried = False

    @property
    def hurried(self) -> bool:
        return self._hurried

    def note(self, ms: float) -> None:
        """Records how long one more recall took."""
        with self._lock:
            self._times.append(ms)
            if not self._hurried and len(self._times) >= FEWEST and p95(self._times) > SLOW:
                self._hurried, self._times = True, deque(maxlen=GOOD)
            elif self._hurried and len(self._times) == GOOD and p95(self._times) < FAST:
                self._hurried, self._times = False, deque(self._times, maxlen=WINDOW)

    def shown(self, logged: Sequence[float] = ()) -> dict[str, Any]:
        """For the status. Before the first recall of a process it uses earlier times from the log."""
        with self._lock:
            times = self._times or (() if self._hurried else logged[:WINDOW])
            measured = f"95 % within {p95(times):.0f} ms, last {len(times)}" if times else "none yet"
            if not self._hurried:
                return {"recall": f"normal: {measured}"}
            return {"recall": f"hurried, with smaller pools, until {GOOD} recalls stay below {FAST:.0f} ms: {measured}"}


def p95(times: Iterable[float]) -> float:
    """The smallest of the times that at least 95 % of them do not exceed."""
    rising = sorted(times)
    return rising[math.ceil(0.95 * len(rising)) - 1]
