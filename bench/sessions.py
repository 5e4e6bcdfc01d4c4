"""What a session costs: handed in at once, turn by turn, with a line of JSON each, shown to a model, compacted and closed."""

import time
from collections.abc import Iterator
from functools import partial

from bench.corpus import Corpus
from bench.speed import Measure, cpu_ms, folder
from memorist import Memory
from memorist.files.follow import Follower

ROLES = ("user", "assistant")
WHOLE = 1_000_000  # tokens: everything is shown as it is
TRIES = 3
LOOKS_AHEAD = 100  # turns
PAUSE = 0.05  # seconds between two of them


def conversations(size: int) -> Iterator[Measure]:
    """A long session, as an install without extras keeps it."""
    with folder() as place, Memory(place / "ours.db") as memory:
        memory.remember("What is read at the first write counts as opening.")
        messages = _messages(16, size)
        spent = cpu_ms(lambda name: memory.ingest(messages, session=name), ["long"]) / 1000
        yield Measure(f"ingest, {size:,} turns", size / spent, "per CPU-second", 3000, at_least=True)
        yield from _single(memory, max(1, size // 20), Follower(memory, place / "files"))
        yield from _windows(memory, size)
        yield _closing(memory, max(1, size // 8))
        yield _ahead(memory)


def _messages(seed: int, size: int) -> list[dict[str, str]]:
    return [{"role": ROLES[n % 2], "content": text} for n, text in enumerate(Corpus(seed).memories(size))]


def _single(memory: Memory, count: int, follower: Follower) -> Iterator[Measure]:
    """Turns that are stored one by one; the same with a transcript that has each once it is acknowledged."""
    texts = list(Corpus(17).memories(2 * count))
    session = memory.session("short")
    spent = cpu_ms(partial(session.turn, "user"), texts[:count]) / 1000
    yield Measure("single turns", count / spent, "per CPU-second", 700, at_least=True)
    follower.follow()
    spent = cpu_ms(lambda text: (session.turn("user", text), follower.follow()), texts[count:]) / 1000
    yield Measure("single turns with a line of JSON each", count / spent, "per CPU-second")
    session.close(fast=True)


def _windows(memory: Memory, size: int) -> Iterator[Measure]:
    """The window of a session that was just opened, of one that is open, and what a compaction of everything costs."""
    first = min(_first_window(memory) for _ in range(TRIES))
    told = "all of them as they are"
    yield Measure(f"first window after opening, {size:,} turns, never compacted", first, "ms CPU", 50, detail=told)
    session = memory.session("long")
    counted = cpu_ms(lambda _: session.window(WHOLE).tokens, [""])
    yield Measure(f"first window of {size:,} turns and its tokens", counted, "ms CPU", detail="once, each turn counted")
    shown = cpu_ms(lambda text: (session.turn("user", text), session.window(WHOLE)), ["And then?"] * 10) / 10
    said = cpu_ms(partial(session.turn, "user"), ["And then?"] * 10) / 10
    yield Measure(f"window after a turn, {size:,} turns", shown - said, "ms CPU", 50, detail=told)
    compacting = cpu_ms(lambda _: session.compact(), [""]) / 1000
    yield Measure(f"compaction of {size:,} turns", compacting, "s CPU", 10, detail="with what lasts in them noted")
    session.leave()
    again = min(_first_window(memory) for _ in range(TRIES))
    yield Measure(f"first window after opening, {size:,} turns, compacted", again, "ms CPU", 50)


def _first_window(memory: Memory) -> float:
    session = memory.session("long")
    spent = cpu_ms(lambda _: session.window(WHOLE), [""])
    session.leave()
    return spent


def _closing(memory: Memory, size: int) -> Measure:
    """The end of a session: findings, promotion and a summary."""
    memory.ingest(_messages(18, size), session="over")
    session = memory.session("over")
    spent = cpu_ms(lambda _: session.close(), [""]) / 1000
    return Measure(f"close of {size:,} turns", spent, "s CPU", detail=f"{spent / size * 1000:.1f} ms a turn")


def _ahead(memory: Memory) -> Measure:
    """What looking ahead costs the turn that asks for it and the one that takes it: the time of its own thread alone."""
    session, spent = memory.session("ahead"), list[float]()
    for text in Corpus(19).memories(LOOKS_AHEAD):
        before = time.thread_time()
        session.prefetch(text)
        asked = time.thread_time() - before
        time.sleep(PAUSE)  # in which it is looked up
        before = time.thread_time()
        session.ready()
        spent.append((asked + time.thread_time() - before) * 1000)
    session.close(fast=True)
    worst = sorted(spent)[int(0.99 * len(spent))]
    return Measure(
        "prefetch and ready, of a turn", sum(spent) / len(spent), "ms CPU", 1, detail=f"99 % within {worst:.2f} ms"
    )
