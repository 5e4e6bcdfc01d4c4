"""What asking costs as a store grows: time, memory, disk, and what an approximate answer loses.

Each size is asked in the same run as the floors: the plain OR of all words, and that joined with a search through all
vectors. Times are CPU times per question, half (p50) and 95 % (p95) of the questions taking at most so long.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from bench.baselines import Embed
from bench.corpus import Corpus
from bench.floors import Floor, HybridFloor
from bench.speed import QUESTIONS, Measure, folder
from memorist import Memory

CHUNK = 20_000  # memories handed over at once
LARGEST_FLOOR = 100_000  # bare SQLite needs most of a second a question beyond
SHELVES = 10
MOST = {1_000: 6, 10_000: 8, 100_000: 20, 1_000_000: 60}  # ms CPU of a recall
MORE = 15  # ms CPU for a prompt of 150 words beyond a question
ROOT = Path(__file__).parents[1]  # where a child finds this package


def answering(sizes: Sequence[int], embed: Embed | None) -> Iterator[Measure]:
    """Questions to one shelf, beside both floors over the same texts."""
    for size in sizes:
        with folder() as place, Memory(place / "ours.db") as memory:
            fill(memory, size)
            ours = times(memory.recall)
            yield _spread(f"recall, {size:,} memories", ours, MOST.get(size))
            yield _prompt(memory, size, ours)
            texts = list(Corpus(11).memories(size))
            plain = _floor(Floor(place / "floor.db"), texts)
            ratio = ours[len(ours) // 2] / plain[len(plain) // 2]
            detail = f"{_half(ours):.1f} ms against {_half(plain):.1f} ms of CPU"
            limit = 0.2 if size >= LARGEST_FLOOR else None
            yield Measure(f"recall / OR of all words, {size:,} memories", ratio, "×", limit, detail=detail)
            if embed is not None:
                both = _floor(HybridFloor(place / "hybrid.db", embed), texts)
                detail = f"{_half(ours):.1f} ms against {_half(both):.1f} ms of CPU"
                name = f"recall / OR of all words + all vectors, {size:,} memories"
                yield Measure(name, _half(ours) / _half(both), "×", detail=detail)


def growth(sizes: Sequence[int]) -> Iterator[Measure]:
    """Disk, time and memory at several sizes; several projects in one store; exact beside approximate."""
    for size in sizes:
        with folder() as place:
            path = place / "grown.db"
            with Memory(path) as memory:
                yield Measure(f"remember_many, to {size:,} memories", fill(memory, size), "per CPU-second")
                live = memory.status()["live_bytes"]
            yield Measure(f"bytes per memory, {size:,} memories", live / size, "bytes")
            with Memory(path) as memory:
                yield _spread(f"recall, {size:,} memories", times(memory.recall), MOST.get(size))
                yield from _approximate(memory, size)
            rss = _child_rss_mb(path)
            yield Measure(f"resident memory after ten recalls, {size:,} memories", rss, "MB")
            yield from _shelves(place / "shelves.db", size)


def fill(memory: Memory, size: int, seed: int = 11) -> float:
    """Fills a store with the benchmark's own text. → memories per CPU-second"""
    texts, spent = Corpus(seed).memories(size), 0.0
    while some := list(islice(texts, CHUNK)):
        started = time.process_time()
        memory.remember_many(some)
        spent += time.process_time() - started
    return size / spent


def times(ask: Callable[[str], object], asked: Callable[[Corpus], str] = Corpus.question) -> list[float]:
    """CPU milliseconds of each question, sorted; the first round only warms up."""
    questions = [asked(Corpus(5 + number)) for number in range(QUESTIONS)]
    for question in questions[:10]:
        ask(question)
    spent = []
    for question in questions:
        started = time.process_time()
        ask(question)
        spent.append((time.process_time() - started) * 1000)
    return sorted(spent)


def _floor(floor: Floor, texts: Sequence[str]) -> list[float]:
    floor.add_many(texts)
    spent = times(floor.search)
    floor.close()
    return spent


def _half(spent: Sequence[float]) -> float:
    return spent[len(spent) // 2]


def _spread(name: str, spent: Sequence[float], most: float | None = None) -> Measure:
    return Measure(name, _half(spent), "ms CPU p50", most, detail=f"p95 {spent[int(len(spent) * 0.95)]:.1f} ms")


def _prompt(memory: Memory, size: int, question: Sequence[float]) -> Measure:
    """What people hand to an agent is longer than a question."""
    spent = _half(times(memory.recall, Corpus.prompt))
    detail = f"{spent:.1f} ms against {_half(question):.1f} ms of CPU"
    name = f"recall of a prompt of 150 words beyond a question, {size:,} memories"
    return Measure(name, spent - _half(question), "ms CPU", MORE, detail=detail)


def _approximate(memory: Memory, size: int) -> Iterator[Measure]:
    """How many of the ten best of an exact search an ordinary one also finds."""
    shared = asked = 0
    for number in range(QUESTIONS):
        question = Corpus(5 + number).question()
        exact = {hit.record.id for hit in memory.recall(question, limit=10, exact=True)}
        shared += len(exact & {hit.record.id for hit in memory.recall(question, limit=10)})
        asked += len(exact)
    yield Measure(f"of the ten best of an exact search, found, {size:,} memories", 100 * shared / max(1, asked), "%")


def _shelves(path: Path, size: int) -> Iterator[Measure]:
    """As many memories in ten projects: a question reads one of them."""
    for number in range(SHELVES):
        with Memory(path, project=f"shelf-{number}") as memory:
            fill(memory, size // SHELVES, seed=20 + number)
    with Memory(path, project="shelf-0") as memory:
        yield _spread(f"recall in one of {SHELVES} projects, {size:,} memories in all", times(memory.recall))


def _child_rss_mb(path: Path) -> float:
    # Linux counts a parent's memory as its child's in getrusage, so the kernel is asked for the process itself.
    code = (
        "import sys; from pathlib import Path; from memorist import Memory; from bench.corpus import Corpus\n"
        "memory = Memory(sys.argv[1]); [memory.recall(Corpus(n).question()) for n in range(10)]\n"
        "facts = Path('/proc/self/status')\n"
        "if facts.exists(): print(facts.read_text().split('VmHWM:')[1].split()[0])\n"
        "else: import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True, cwd=ROOT)
    return int(done.stdout) / (1024 * 1024 if sys.platform == "darwin" else 1024)
