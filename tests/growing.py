"""How the time of a call grows with its input: measured as processor time of this process, the best of several.

The garbage collector rests meanwhile: it reads all that lives whenever the number of objects passes one of its steps, which one
of two sizes may do and the other not.
"""

import gc
import time
from collections.abc import Callable

FLOOR = 0.05  # seconds of processor time; below that, noise is larger than growth
MOST = 2.5  # times as long for twice the input


def grows_too_fast(run: Callable[[int], None], size: int, tries: int = 12) -> str | None:
    """What is wrong, if `run` takes more than 2.5 times as long for twice the size; None if it does not."""
    small, large = _once(run, size), _once(run, 2 * size)
    for _ in range(tries):
        if large <= max(FLOOR, MOST * small):
            return None
        small, large = min(small, _once(run, size)), min(large, _once(run, 2 * size))
    return f"{small:.3f} s for {size:,} and {large:.3f} s for {2 * size:,}: {large / max(small, 1e-9):.1f} times"


def _once(run: Callable[[int], None], size: int) -> float:
    gc.collect(1)  # what the last run left: all that lives in a process of thousands of tests would take longer
    gc.disable()
    try:
        started = time.process_time()
        run(size)
        return time.process_time() - started
    finally:
        gc.enable()
