"""What a night costs: the work, the room it takes in memory, and how long it keeps writers waiting at a time."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.corpus import Corpus
from bench.speed import Measure, folder
from memorist import Memory

FEW = 1_000
TWINS = 20  # one in so many is said twice
CHUNK = 5_000  # memories handed over at once
HOLD = 250  # ms that a transaction may last
ROOT = Path(__file__).parents[1]

# In a process of its own: only so its peak is that of the night.
SCRIPT = """
import json, resource, sys, threading, time
from contextlib import contextmanager
from memorist import Memory
from memorist.store.sqlite.connection import Connections
held, real = [], Connections.transaction
@contextmanager
def timed(self, durable=True, wait=None):
    inner = self.here().in_transaction
    with real(self, durable, wait):
        wall, cpu = time.perf_counter(), time.thread_time()
        yield
    if not inner:
        held.append((time.perf_counter() - wall, time.thread_time() - cpu))
Connections.transaction = timed
with Memory(sys.argv[1], embed="static") as memory:
    memory.recall("anything")
    held.clear()
    opened, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    reports = memory.upkeep(deep=True)
    spent, peak = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    merged = sum(len(report.changed) for report in reports if report.verb == "merge_twins")
    modified = sum(len(report.changed) for report in reports)
print(json.dumps([spent, peak / 1024, opened / 1024, max(wall for wall, _ in held) * 1000,
                  max(cpu for _, cpu in held) * 1000, merged, modified, len(held)]))
"""


def nights(size: int) -> Iterator[Measure]:
    """The first night over so many memories, where one in twenty is said twice."""
    little = _night(FEW)
    spent, peak, opened, held, held_cpu, merged, modified, steps = _night(size)
    did = f"{merged:,} merged of {size // TWINS:,} said twice, {modified:,} changes in {steps:,} transactions"
    yield Measure(f"a night over {size:,} memories", spent, "s CPU", detail=did)
    beside = f"{opened:.0f} MB once open; {little[1]:.0f} MB over {FEW:,}"
    yield Measure(f"a night over {size:,} memories: peak", peak, "MB", 600, detail=beside)
    told = f"{held_cpu:.0f} ms of CPU"
    yield Measure(f"a night over {size:,} memories: longest transaction", held, "ms", HOLD, detail=told)


def _night(size: int) -> list[float]:
    with folder() as place:
        with Memory(place / "night.db", embed="static") as memory:
            texts = list(Corpus(23).memories(size - size // TWINS))
            texts += [f"Note: {text}" for text in texts[: size // TWINS]]
            for start in range(0, len(texts), CHUNK):
                memory.remember_many(
                    [{"text": text, "session": f"s{n % 50}"} for n, text in enumerate(texts[start : start + CHUNK])]
                )
        line = [sys.executable, "-c", SCRIPT, str(place / "night.db")]
        done = subprocess.run(line, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found: list[float] = json.loads(done)
    return found
