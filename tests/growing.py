"""How the time of a call grows with its input: measured as processor time of this process, the best of several.

The garbage collector rests meanwhile: it reads all that lives whenever the number of objects passes one of its steps, which one
of two sizes may do and the other not.
"""

import gc
import time
from collections.abc import Callable

FLOOR = 0.05  # seconds of processor time; below that, noise is larger than growth
MOST = 8  # times as long for four times the input: a square takes sixteen, and noise rarely doubles anything


def grows_too_fast(run: Callable[[int], None], size: int, tries: int = 12) -> str | None:
    """What is wrong, if `run` takes more than eight times as long for four times the input; None if it does not."""
    half, twice = size // 2, 2 * size
    small, large = _once(run, half), _once(run, twice)
    for _ in range(tries):
        if large <= max(FLOOR, MOST * small):
            return None
        small, large = min(small, _once(run, half)), min(large, _once(run, twice))
    return f"{small:.3f} s for {half:,} and {large:.3f} s for {twice:,}: {large / max(small, 1e-9):.1f} times"


def _once(run: Callable[[int], None], size: int) -> float:
    gc.collect(1)  # what the last run left: all that lives in a process of thousands of tests would take longer
    gc.disable()
    try:
        started = time.process_time()
        run(size)
        return time.process_time() - started
    finally:
        gc.enable()
