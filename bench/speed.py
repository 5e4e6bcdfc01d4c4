"""Speed and size, each measure beside its floor or its limit."""

import json
import os
import random
import socket
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import cycle
from pathlib import Path

from bench.baselines import Embed
from bench.corpus import Corpus
from bench.floors import Floor, HybridFloor
from memorist import Memory
from memorist.files.follow import Follower
from memorist.files.memory_md import Limits, sync
from memorist.redact import Redactor

QUESTIONS = 60
LONGEST_START = 30.0  # seconds for a server to start


@dataclass(frozen=True, slots=True)
class Measure:
    """One line of the table. `limit` is what we promise for `value`; `floor` is what bare SQLite needed."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    at_least: bool = False
    detail: str = ""

    @property
    def kept(self) -> bool | None:
        if self.limit is None:
            return None
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    @property
    def promised(self) -> str:
        if self.limit is None:
            return ""
        return f"{'kept' if self.kept else 'MISSED'} ({'≥' if self.at_least else '≤'} {self.limit:,g})"

    @property
    def line(self) -> str:
        value = f"{self.value:>12,.2f} {self.unit:<15}"
        return f"{self.name:<62} {value} {self.promised:<20} {self.detail}".rstrip()


def cpu_ms(job: Callable[[str], object], texts: Iterable[str]) -> float:
    """CPU milliseconds of doing the job with each text."""
    started = time.process_time()
    for text in texts:
        job(text)
    return (time.process_time() - started) * 1000


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="memorist-bench-") as path:
        yield Path(path)


def writing(count: int = 400, embed: Embed | None = None) -> Iterator[Measure]:
    """One durable remember against one durable insert, in an empty store and in one with content; many at once."""
    yield _one_write(0, count)
    yield _one_write(5 * count, count)
    if embed is not None:
        yield _one_write(5 * count, count, embed)
    yield _remember(5 * count, count)
    yield _remember_many("notes", 10 * count, 700)
    yield _remember_many("turns", 10 * count, 3000, kind="turn", session="talk", speaker="Ada")


def _remember(there: int, count: int) -> Measure:
    """One note as an install without extras writes it."""
    with folder() as place, Memory(place / "ours.db") as memory:
        memory.remember_many(Corpus(1).memories(there))
        spent = cpu_ms(memory.remember, Corpus(2).memories(count)) / count
    return Measure(f"remember, one note, from {there:,} memories", spent, "ms CPU", 4)


def _remember_many(name: str, count: int, least: float, **said: str) -> Measure:
    with folder() as place, Memory(place / "ours.db") as memory:
        memory.remember("What is read at the first write counts as opening.")
        many = [{"text": text, **said} for text in Corpus(3).memories(count)]
        started = time.process_time()
        memory.remember_many(many)
        spent = time.process_time() - started
    return Measure(f"remember_many, {name}", count / spent, "per CPU-second", least, at_least=True)


def transcripts(count: int = 400) -> Iterator[Measure]:
    """Turns in a store whose files follow it, one by one and many at once."""
    yield _followed(1, count)
    yield _followed(250, 10 * count)


def _followed(at_once: int, count: int) -> Measure:
    """Turns that are in the transcript of their session once they are acknowledged."""
    with folder() as place, Memory(place / "ours.db") as memory:
        follower = Follower(memory, place / "files")
        said = [{"text": text, "kind": "turn", "session": "talk"} for text in Corpus(3).memories(count + 1)]
        memory.remember_many(said[:1])
        follower.follow()
        started, watch = time.process_time(), time.perf_counter()
        for start in range(1, count + 1, at_once):
            memory.remember_many(said[start : start + at_once])
            follower.follow()
        spent, waited = time.process_time() - started, time.perf_counter() - watch
    name = "one by one" if at_once == 1 else f"{at_once} at once"
    return Measure(
        f"turns with a line of JSON each, {name}",
        count / spent,
        "per CPU-second",
        detail=f"{count / waited:,.0f} a second, disk included",
    )


def _one_write(there: int, count: int, embed: Embed | None = None) -> Measure:
    """Both stores start with as many memories: a bare index that is empty has nothing to merge and looks cheaper. With
    `embed` both keep vectors as well."""
    with folder() as place, Memory(place / "ours.db", embed="static" if embed else "none") as memory:
        floor = HybridFloor(place / "floor.db", embed) if embed else Floor(place / "floor.db")
        filling = list(Corpus(1).memories(there))
        memory.remember_many(filling)
        floor.add_many(filling)
        texts = list(Corpus(2).memories(4 * count))
        ours, bare = 0.0, 0.0
        for start in range(0, len(texts), 100):  # in turns, so that both meet the same noise
            some = texts[start : start + 100]
            bare += cpu_ms(floor.add, some)
            ours += cpu_ms(memory.remember, some)
        floor.close()
    detail = f"{ours / len(texts):.2f} ms against {bare / len(texts):.2f} ms of CPU"
    name = "remember / bare insert, both with vectors" if embed else "remember / bare insert, both of words alone"
    return Measure(f"{name}, from {there:,} memories", ours / bare, "×", 4.0, detail=detail)


def designs(size: int) -> Iterator[Measure]:
    """The same questions to the same store in both designs, in turns."""
    with folder() as place:
        with Memory(place / "ours.db") as memory:
            memory.remember_many(Corpus(4).memories(size))
        questions = [Corpus(5 + n).question() for n in range(QUESTIONS)]
        with Memory(place / "ours.db") as usual, Memory(place / "ours.db", design="hebbian") as votes:
            for memory in (usual, votes):
                cpu_ms(memory.recall, questions)
            rounds = [(cpu_ms(usual.recall, questions), cpu_ms(votes.recall, questions)) for _ in range(5)]
        balanced, hebbian = (min(column) / QUESTIONS for column in zip(*rounds, strict=True))
    detail = f"{hebbian:.1f} ms against {balanced:.1f} ms of CPU"
    yield Measure(f"recall in hebbian / in balanced, {size:,} memories", hebbian / balanced, "×", 1.2, detail=detail)


def prompts(size: int) -> Iterator[Measure]:
    """What a context costs beyond the recall in it: lanes, rendering, counting, and the receipt that is flushed."""
    with folder() as place, Memory(place / "ours.db") as memory:
        memory.remember_many(Corpus(14).memories(size))
        for number in range(1, 60, 5):
            memory.pin(number)
        questions = [Corpus(15 + n).question() for n in range(QUESTIONS)]
        rounds = [
            (cpu_ms(partial(memory.explain, limit=20), questions), cpu_ms(memory.context, questions)) for _ in range(5)
        ]
        recall, context = (min(column) / QUESTIONS for column in zip(*rounds, strict=True))
    detail = f"{context:.1f} ms against {recall:.1f} ms of CPU"
    yield Measure(f"context beyond its recall, {size:,} memories", context - recall, "ms CPU", 5, detail=detail)


def erasing(size: int, canaries: int = 50) -> Iterator[Measure]:
    """Memories erased one by one, each proven gone, from a store with many others."""
    with folder() as place, Memory(place / "ours.db") as memory:
        memory.remember_many(Corpus(12).memories(size))
        texts = [f"The qanary{n:04}x of number {n} must go" for n in range(canaries)]
        ids = [str(outcome.id) for outcome in memory.remember_many(texts)]
        memory.remember_many(Corpus(13).memories(size // 100))
        started = time.perf_counter()
        for id in ids:
            memory.erase(id)
        spent = time.perf_counter() - started
        left = sum(b"qanary" in file.read_bytes() for file in place.iterdir())
    detail = f"{spent / canaries * 1000:.0f} ms each; found afterwards in {left} files"
    yield Measure(f"erase {canaries} of {size:,} memories", spent, "seconds", 30, detail=detail)


def isolation(small: int, big: int) -> Iterator[Measure]:
    """The same small project alone, and as one of many in a big store."""
    with folder() as place:
        texts = list(Corpus(6).memories(small))
        questions = [Corpus(7 + n).question() for n in range(QUESTIONS)]
        with Memory(place / "alone.db", project="small") as alone, Memory(place / "big.db", project="small") as crowded:
            alone.remember_many(texts)
            crowded.remember_many(texts)
            with Memory(place / "big.db", project="big") as other:
                other.remember_many(Corpus(8).memories(big - small))
            for memory in (alone, crowded):
                cpu_ms(memory.recall, questions)
            rounds = [(cpu_ms(alone.recall, questions), cpu_ms(crowded.recall, questions)) for _ in range(5)]
            by_itself, beside = (min(column) / QUESTIONS for column in zip(*rounds, strict=True))
        detail = f"{beside:.2f} ms against {by_itself:.2f} ms of CPU"
        name = f"recall in a project of {small:,} inside {big:,} / alone"
        yield Measure(name, beside / by_itself, "×", 2.0, detail=detail)


def command_line(size: int = 10_000) -> Iterator[Measure]:
    """The whole program, started cold."""
    with folder() as place:
        with Memory(place / "cli.db", project="cli") as memory:
            memory.remember_many(Corpus(9).memories(size))
        version = min(child_cpu_ms(["--version"]) for _ in range(5))
        yield Measure("memorist --version", version, "ms CPU", 100)
        question = Corpus(10).question()
        there = ["--db", str(place / "cli.db"), "--project", "cli", "--json"]
        cold = min(child_cpu_ms(["recall", question, *there]) for _ in range(5))
        yield Measure(f"memorist recall, cold, {size:,} memories", cold, "ms CPU", 380)
        listed = min(child_cpu_ms(["list", *there]) for _ in range(5))
        yield Measure(f"memorist list, cold, {size:,} memories", listed, "ms CPU", 200)


def hooks(size: int = 10_000) -> Iterator[Measure]:
    """What an agent waits for, in a store with so many memories: its hooks, cold, and with a server that answers them."""
    with folder() as place:
        db, config = str(place / "hooks.db"), str(place / "config.toml")
        there = {**os.environ, "MEMORIST_DB": db, "MEMORIST_PROJECT": "cli", "MEMORIST_CONFIG": config}
        with Memory(db, project="cli") as memory:
            memory.remember_many(Corpus(9).memories(size))
            memory.pin(1)
        prompt, start = (partial(_hook_cpu_ms, event, there) for event in ("UserPromptSubmit", "SessionStart"))
        cold = f"cold, {size:,} memories"
        floor = min(process_cpu_ms(["-c", "import numpy, apsw"]) for _ in range(5))
        detail = f"to load numpy and apsw alone takes {floor:.0f} ms"
        at_prompt = min(prompt(f"cold{n}") for n in range(5))
        yield Measure(f"hook at a prompt, {cold}", at_prompt, "ms CPU", 300, detail=detail)
        at_start = min(start(f"cold{n}") for n in range(5))
        yield Measure(f"hook at the start of a session, {cold}", at_start, "ms CPU", 350, detail=detail)
        closing = min(_closing_cpu_ms(place, there, f"closed{n}") for n in range(5))
        name = f"hook at a start that closes the session before it, {cold}"
        yield Measure(name, closing, "ms CPU", 350, detail=detail)
        if not hasattr(socket, "AF_UNIX"):
            return
        words = [sys.executable, "-m", "memorist", "serve", "--port", "0"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=there) as server:
            try:
                _wait_for(place / "hooks.sock")
                served = [prompt(f"served{n}") for n in range(8)]
            finally:
                server.terminate()
        yield Measure("hook at a prompt, with a server", sorted(served)[3], "ms CPU", 60)


def _wait_for(file: Path) -> None:
    until = time.monotonic() + LONGEST_START
    while not file.exists():
        if time.monotonic() > until:
            raise RuntimeError(
                f"the server did not make {file.name} within {LONGEST_START:.0f} s; run `memorist serve`"
            )
        time.sleep(0.1)


def _hook_cpu_ms(event: str, environment: Mapping[str, str], session: str, **more: str) -> float:
    given = {"session_id": session, "prompt": Corpus(10).question(), **more}
    return child_cpu_ms(["hook", "claude-code", event], json.dumps(given).encode(), environment)


def _closing_cpu_ms(place: Path, environment: Mapping[str, str], session: str) -> float:
    """A start after a session of ten messages, in two of which something is decided."""
    said = Corpus(11).memories(10)
    texts = [f"We decided that {next(said)}", f"From now on {next(said)}", *said]
    file, roles = place / f"{session}.jsonl", cycle(("user", "assistant"))
    messages = [{"role": role, "content": text} for text, role in zip(texts, roles, strict=False)]
    lines = [{"type": each["role"], "uuid": f"{session}{n}", "message": each} for n, each in enumerate(messages)]
    when = {"sessionId": session, "timestamp": datetime.now(UTC).isoformat()}
    file.write_text("".join(json.dumps({**each, **when}) + "\n" for each in lines), encoding="utf-8")
    _hook_cpu_ms("SessionEnd", environment, session, transcript_path=str(file))
    return _hook_cpu_ms("SessionStart", environment, f"after {session}")


def json_file(size: int = 10_000) -> Iterator[Measure]:
    """A JSON file: opened, asked for the first time, and its bytes."""
    with folder() as place:
        path = place / "notes.json"
        with Memory(path) as memory:
            memory.remember_many(Corpus(12).memories(size))
        opened = min(cpu_ms(lambda name: Memory(name).close(), [str(path)]) for _ in range(5)) / 1000
        yield Measure(f"JSON file, {size:,} memories: open", opened, "s CPU", 0.5)
        with Memory(path) as memory:
            asked = cpu_ms(memory.recall, [Corpus(13).question()]) / 1000
            yield Measure(f"JSON file, {size:,} memories: first recall", asked, "s CPU")
            live = memory.status()["live_bytes"]
        yield Measure(f"JSON file, {size:,} memories: bytes per memory", live / size, "bytes")


def child_cpu_ms(arguments: Sequence[str], given: bytes = b"", environment: Mapping[str, str] | None = None) -> float:
    """User and system time of one run of the program, started cold."""
    return process_cpu_ms(["-m", "memorist", *arguments], given, environment)


def process_cpu_ms(words: Sequence[str], given: bytes = b"", environment: Mapping[str, str] | None = None) -> float:
    """The same of Python with these arguments."""
    import resource  # not on every system

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], input=given, check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1000


def redacting(size: int = 500_000) -> Iterator[Measure]:
    """Secrets taken out of prose, and out of texts that consist of nothing but what a rule looks for."""
    rng, redactor = random.Random(1), Redactor(b"bench")
    letters = string.ascii_letters + string.digits
    units: dict[str, Callable[[], str]] = {
        "prose": lambda: "The staging database runs on Postgres 16. ",
        "keys side by side": lambda: "AI" + "za" + "".join(rng.choices(letters, k=35)) + "-",
        "names without a secret": lambda: "token:",
        "urls without an end": lambda: "://a:",
        "URLs with a password": lambda: "http://u:p@h ",
        "short passwords": lambda: "pw=a1b2c3d ",
        "passwords": lambda: f"password = {''.join(rng.choices(letters, k=12))}7x\n",
    }
    redactor.redact("the first text waits for the rules: password = x9Kq2LmP7v")
    for name, unit in units.items():
        text = "".join(unit() for _ in range(size // len(unit())))
        spent = min(cpu_ms(redactor.redact, [f"{n} {text}"]) for n in range(3))  # the last clean one is remembered
        yield Measure(f"redact {name}", len(text) / 1000 / spent, "MB per CPU-second", 2, at_least=True)


def syncing(size: int = 50_000) -> Iterator[Measure]:
    """A MEMORY.md of so many characters: after one edit and one new memory, and where nothing is to be done."""
    with folder() as place, Memory(place / "ours.db") as memory:
        page, texts = place / "MEMORY.md", Corpus(5).memories(2000)
        limits = Limits(2 * size, 2 * size)
        while sync(memory, page, limits=limits).size < size:
            memory.remember_many([next(texts) for _ in range(20)])
        sync(memory, page, limits=limits)
        spent, idle = [], []
        for number in range(9):
            page.write_text(page.read_text(encoding="utf-8") + f"- a line by hand, number {number}\n", encoding="utf-8")
            memory.remember(next(texts))
            spent.append(cpu_ms(lambda _: sync(memory, page, limits=limits), [""]))
            sync(memory, page, limits=limits)
            idle.append(cpu_ms(lambda _: sync(memory, page, limits=limits), [""]))
        entries, kilobytes = memory.count(), page.stat().st_size / 1000
    detail = f"{entries:,} memories, {kilobytes:.0f} kB; nothing to do: {sorted(idle)[4]:.1f} ms"
    yield Measure(f"sync of a MEMORY.md of {size // 1000} kB", sorted(spent)[4], "ms CPU", 100, detail=detail)
