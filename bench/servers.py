"""What the servers cost, over the engine they serve: HTTP with many clients, MCP on standard input and output, peers beside them.

`python -m bench.servers [MEMORIES]`. The servers are processes of their own, and only what anybody can use is used: `memorist
serve`, `memorist mcp`, and `Memory` for the same work in process. CPU time is that of the server's processes, its workers
included, by the clocks that Linux has for them. A peer is measured if bench/peers/setup.sh made its environment (mcp-memory), or
npm its folder (server-memory, in PEERS/server-memory).
"""

import json
import os
import queue
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from bench.corpus import Corpus
from bench.speed import Measure, cpu_ms, folder
from memorist import Memory

CLIENTS = 16
QUESTIONS, WRITES = 480, 480
TURN = 60  # calls of a turn, a third of them in process
CORES = 2
SYNCS_IN = 5  # milliseconds, at the least, on the slower disk that is played: about what a laptop's takes
OF_A_PROCESS = 2  # the kind of clock that Linux has for the processor time of any process
PEERS = Path(os.environ.get("PEERS", "/tmp/memorist-peers"))


def cpu_of(pid: int) -> float:
    """Seconds of processor time that a process and its children have had, by their own clocks, which count in nanoseconds."""
    return time.clock_gettime(~pid << 3 | OF_A_PROCESS) + sum(map(cpu_of, _children(pid)))


def rss_mb(pid: int) -> float:
    """Megabytes of RAM that a process and its children hold, with what they share counted once for each."""
    told = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return (int(told[1]) / 1024 if told else 0.0) + sum(map(rss_mb, _children(pid)))


def _children(pid: int) -> list[int]:
    listed = (file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/children"))
    return [int(child) for line in listed for child in line.split()]


# ---------------------------------------------------------------- HTTP


@contextmanager
def serving(db: Path, *options: str, environment: Mapping[str, str] | None = None) -> Iterator[tuple[str, int]]:
    """`memorist serve` in a process of its own: its address and its process."""
    words = [sys.executable, "-X", "faulthandler", "-m", "memorist", "serve", "--db", str(db), "--port", "0", "--json"]
    words += options
    # The settings and the socket of whoever measures stay theirs.
    own = {"MEMORIST_CONFIG": str(db.parent / "config.toml")}
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, env={**os.environ, **own, **(environment or {})}
    ) as process:
        assert process.stdout is not None
        try:
            yield _document(process.stdout)["url"], process.pid
        finally:
            ended = process.poll()
            process.terminate()
            process.wait(60)
            if ended is not None:  # minus the number of a signal that ended it; 0 if somebody else told it to end
                raise RuntimeError(f"the server ended by itself, with code {ended}")


def _document(lines: Any) -> dict[str, Any]:
    """The JSON document that a stream begins with."""
    text = ""
    while True:
        text += lines.readline()
        try:
            return dict(json.loads(text))
        except ValueError:
            continue


class Connection:
    """One kept-open connection, as lean as it can be: what is measured is the server."""

    def __init__(self, url: str) -> None:
        split = urlsplit(url)
        self._host, self._socket = split.netloc, socket.create_connection((split.hostname or "", split.port or 80))
        self._file = self._socket.makefile("rb")

    def post(self, path: str, body: Mapping[str, Any]) -> bytes:
        sent = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: application/json\r\n"
        self._socket.sendall(f"{head}Content-Length: {len(sent)}\r\n\r\n".encode() + sent)
        status = self._file.readline()
        size = 0
        while (line := self._file.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            size = int(value) if name.lower() == b"content-length" else size
        answer = self._file.read(size)
        if not status.startswith(b"HTTP/1.1 2"):
            raise RuntimeError(f"{status.decode()}{answer.decode()[:300]}")
        return answer

    def close(self) -> None:
        self._file.close()
        self._socket.close()


@dataclass
class Load:
    """What some clients did: how many answers in how many seconds, and how long each took."""

    seconds: float = 0.0
    took: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return len(self.took) / self.seconds

    def p(self, share: float) -> float:
        return sorted(self.took)[min(len(self.took) - 1, int(share * len(self.took)))] * 1000


class Served(NamedTuple):
    """A store, open here and served by a process."""

    memory: Memory
    db: Path
    url: str
    pid: int
    size: int


class Beside(NamedTuple):
    """CPU milliseconds of a call in process, and how many more it takes over HTTP, and in a process that sleeps in between."""

    here: float
    over: float
    woken: float

    @property
    def detail(self) -> str:
        return f"a process of the library that is woken for each call takes {self.woken:.2f} ms more"


def drive(url: str, path: str, bodies: Sequence[Mapping[str, Any]], clients: int) -> Load:
    """Sends these, each client the next one as soon as it has its answer."""
    waiting: queue.SimpleQueue[Mapping[str, Any]] = queue.SimpleQueue()
    for body in bodies:
        waiting.put(body)
    load, lock = Load(), threading.Lock()

    def client() -> None:
        connection = Connection(url)
        while True:
            try:
                body = waiting.get_nowait()
            except queue.Empty:
                connection.close()
                return
            started = time.perf_counter()
            connection.post(path, body)
            with lock:
                load.took.append(time.perf_counter() - started)

    threads = [threading.Thread(target=client) for _ in range(clients)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    load.seconds = time.perf_counter() - started
    return load


FLOOR = """
import os, sys, time
count = 200
with open(sys.argv[1], "wb", buffering=0) as file:
    started = time.perf_counter()
    for _ in range(count):
        file.write(bytes(4096))
        os.fsync(file.fileno())
print(count / (time.perf_counter() - started))
"""


def fsync_floor(place: Path, environment: Mapping[str, str] | None = None) -> float:
    """How often a second a page can be appended to a file and be on the disk."""
    words = [sys.executable, "-c", FLOOR, str(place / "floor")]
    return float(
        subprocess.run(words, env={**os.environ, **(environment or {})}, capture_output=True, check=True).stdout
    )


SLOW_DISK = """
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>
int fsync(int file) { usleep(%(us)d); return syscall(SYS_fsync, file); }
int fdatasync(int file) { usleep(%(us)d); return syscall(SYS_fdatasync, file); }
"""


def slow_disk(place: Path) -> dict[str, str]:
    """What a process is started with whose disk is to take some milliseconds for each sync, however quick it is."""
    source, library = place / "slow.c", place / "slow.so"
    source.write_text(SLOW_DISK % {"us": SYNCS_IN * 1000})
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return {"LD_PRELOAD": str(library)}


def http(size: int = 10_000) -> Iterator[Measure]:
    """Sixteen clients at a store of that size: asking, writing, and both at once."""
    questions = [Corpus(31).question() for _ in range(QUESTIONS)]
    with folder() as place:
        db = place / "served.db"
        with Memory(db) as memory:
            memory.remember_many(Corpus(30).memories(size))
            with serving(db, "--workers", "1") as (url, pid):
                yield _alone(url, pid, size, questions)
            with serving(db, "--workers", str(CORES)) as (url, pid):
                served = Served(memory, db, url, pid, size)
                yield from _asking(served, questions)
                yield from _writing(served, fsync_floor(place))
                yield from _both(url, size, questions, fsync_floor(place))
                yield Measure(f"HTTP at {size:,}: memory of the server and its workers", rss_mb(pid), "MB")
            slow = slow_disk(place)
            with serving(db, "--workers", str(CORES), environment=slow) as (url, _):
                yield _on_a_slow_disk(url, size, fsync_floor(place, slow))


def _beside(served: Served, verb: str, path: str, name: str, words: Sequence[str]) -> Beside:
    """CPU milliseconds of a call in process, over HTTP by one client, and in a process that waits for each word as a server
    does, in turns: the machine is the same for all."""
    turns = []
    with Library(served.db, verb) as library:
        for place in range(0, len(words), TURN):
            some = words[place : place + TURN]
            here, there, woken = some[::3], some[1::3], some[2::3]
            spent = cpu_ms(getattr(served.memory, verb), here) / len(here)
            before = cpu_of(served.pid)
            drive(served.url, path, [{name: word} for word in there], 1)
            over = (cpu_of(served.pid) - before) * 1000 / len(there) - spent
            turns.append((spent, over, library.cpu_ms(woken) - spent))
    return Beside(*(sorted(column)[len(column) // 2] for column in zip(*turns, strict=True)))


class Library:
    """The library in a process of its own, which does what each line says."""

    PROGRAM = """
import json, sys
from memorist import Memory
with Memory(sys.argv[1]) as memory:
    for line in sys.stdin:
        for word in json.loads(line):
            getattr(memory, sys.argv[2])(word)
        print("done", flush=True)
"""

    def __init__(self, db: Path, verb: str) -> None:
        words = [sys.executable, "-c", self.PROGRAM, str(db), verb]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> "Library":
        return self

    def __exit__(self, *problem: object) -> None:
        self._process.communicate()

    def begin(self, words: Sequence[str]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()

    def end(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "done\n"

    def cpu_ms(self, words: Sequence[str]) -> float:
        """CPU milliseconds of each, one after the other."""
        before = cpu_of(self._process.pid)
        for word in words:
            self.begin([word])
            self.end()
        return (cpu_of(self._process.pid) - before) * 1000 / len(words)


def by_the_clock(db: Path, questions: Sequence[str]) -> float:
    """How many recalls a second the library itself answers, in a process for each core: what a busy machine allows just now."""
    with ExitStack() as stack:
        found = [stack.enter_context(Library(db, "recall")) for _ in range(CORES)]
        for each in found:
            each.begin(questions[:1])
        for each in found:
            each.end()
        started = time.perf_counter()
        for place, each in enumerate(found):
            each.begin(questions[place::CORES])
        for each in found:
            each.end()
        return len(questions) / (time.perf_counter() - started)


def _alone(url: str, pid: int, size: int, questions: Sequence[str]) -> Measure:
    """The same questions to a server that answers them itself."""
    bodies = [{"query": question} for question in questions]
    drive(url, "/v1/recall", bodies[:CLIENTS], CLIENTS)
    before = cpu_of(pid)
    load = drive(url, "/v1/recall", bodies, CLIENTS)
    detail = (
        f"it had {(cpu_of(pid) - before) / load.seconds:.2f} cores; p99 {load.p(0.99):.0f} ms; {rss_mb(pid):.0f} MB"
    )
    name = f"HTTP recall at {size:,}, {CLIENTS} clients, without workers"
    return Measure(f"{name}: recalls a second", load.rate, "/s", detail=detail)


def _asking(served: Served, questions: Sequence[str]) -> Iterator[Measure]:
    memory, db, url, pid, size = served
    bodies = [{"query": question} for question in questions]
    drive(url, "/v1/recall", bodies[:CLIENTS], CLIENTS)  # the first ones wait for what is loaded once
    memory.recall(questions[0])
    told = _beside(served, "recall", "/v1/recall", "query", questions)
    drive(url, "/v1/recall", bodies[: 2 * CLIENTS], CLIENTS)  # each worker has its caches filled
    before, own = cpu_of(pid), time.process_time()
    load = drive(url, "/v1/recall", bodies, CLIENTS)
    spent, own = cpu_of(pid) - before, time.process_time() - own
    name, each = f"HTTP recall at {size:,}, {CLIENTS} clients", spent * 1000 / len(bodies)
    allowed = by_the_clock(db, questions)
    had = f"the server had {spent / load.seconds:.2f} cores and the clients {own / load.seconds:.2f}"
    detail = f"in process {told.here:.2f} ms CPU; {had}; {each:.2f} ms a request"
    least = 0.8 * CORES * 1000 / told.here
    yield Measure(f"{name}: recalls a second", load.rate, "/s", least, at_least=True, detail=detail)
    per_cpu = told.here * len(bodies) / (spent * 1000)
    yield Measure(f"{name}: answers a CPU-second / in process", per_cpu, "", 0.8, at_least=True)
    detail = f"{allowed:.1f}/s by {CORES} processes of the library just after"
    yield Measure(f"{name}: by the clock / the library", load.rate / allowed, "", 0.8, at_least=True, detail=detail)
    yield Measure(f"{name}: p99", load.p(0.99), "ms", detail=f"median {load.p(0.5):.1f} ms")
    yield Measure(f"HTTP recall at {size:,}: CPU over the call in process", told.over, "ms", 1, detail=told.detail)


def _writing(served: Served, floor: float) -> Iterator[Measure]:
    _, _, url, pid, size = served
    told = _beside(served, "remember", "/v1/memories", "text", [*Corpus(34).memories(WRITES)])
    bodies = [{"text": text} for text in Corpus(33).memories(WRITES)]
    before = cpu_of(pid)
    load = drive(url, "/v1/memories", bodies, CLIENTS)
    spent = (cpu_of(pid) - before) * 1000 / len(bodies)
    name = f"HTTP remember at {size:,}, {CLIENTS} clients"
    detail = f"bare fsync {floor:,.0f}/s; in process {told.here:.2f} ms CPU, {spent:.2f} ms a request"
    yield Measure(f"{name}: durable writes a second", load.rate, "/s", floor / 2, at_least=True, detail=detail)
    yield Measure(f"{name}: p99", load.p(0.99), "ms", detail=f"median {load.p(0.5):.1f} ms")
    yield Measure(f"HTTP remember at {size:,}: CPU over the call in process", told.over, "ms", 1, detail=told.detail)


def _on_a_slow_disk(url: str, size: int, floor: float) -> Measure:
    """Where the disk is what limits, and not the processor."""
    texts = [*Corpus(37).memories(WRITES // 2 + CLIENTS)]
    bodies = [{"text": text} for text in texts]
    drive(url, "/v1/memories", bodies[:CLIENTS], CLIENTS)
    load = drive(url, "/v1/memories", bodies[CLIENTS:], CLIENTS)
    name = f"HTTP remember at {size:,}, {CLIENTS} clients, a disk that syncs in {SYNCS_IN} ms: durable writes a second"
    detail = f"bare fsync {floor:,.0f}/s; p99 {load.p(0.99):.0f} ms"
    return Measure(name, load.rate, "/s", floor / 2, at_least=True, detail=detail)


def _both(url: str, size: int, questions: Sequence[str], floor: float) -> Iterator[Measure]:
    texts = [{"text": text} for text in Corpus(35).memories(WRITES)]
    found: dict[str, Load] = {}
    asking: list[Mapping[str, Any]] = [{"query": question} for question in questions]
    jobs: list[tuple[str, Sequence[Mapping[str, Any]]]] = [("/v1/recall", asking), ("/v1/memories", texts)]

    def run(path: str, bodies: Sequence[Mapping[str, Any]]) -> None:
        found[path] = drive(url, path, bodies, CLIENTS // 2)

    threads = [threading.Thread(target=run, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asked, written = found["/v1/recall"], found["/v1/memories"]
    name = f"HTTP both at {size:,}, {CLIENTS // 2} clients each"
    yield Measure(f"{name}: recalls a second", asked.rate, "/s", detail=f"p99 {asked.p(0.99):.0f} ms")
    detail = f"bare fsync {floor:,.0f}/s; p99 {written.p(0.99):.0f} ms"
    yield Measure(f"{name}: durable writes a second", written.rate, "/s", detail=detail)


# ---------------------------------------------------------------- MCP


class Mcp:
    """A server of the Model Context Protocol on standard input and output, spoken to in lines."""

    def __init__(self, words: Sequence[str], place: Path, **environment: str) -> None:
        self._process = subprocess.Popen(
            words, cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, **environment},
        )  # fmt: skip
        self._number, self.pid = 0, self._process.pid

    def __enter__(self) -> "Mcp":
        who = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.answers([self.send("initialize", who)])
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *problem: object) -> None:
        self._process.terminate()
        self._process.communicate()

    def _write(self, frame: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(frame) + "\n")
        self._process.stdin.flush()

    def send(self, method: str, params: Mapping[str, Any]) -> int:
        self._number += 1
        self._write({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        return self._number

    def answers(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        assert self._process.stdout is not None
        found: dict[int, dict[str, Any]] = {}
        while not set(numbers) <= set(found):
            line = self._process.stdout.readline()
            if not line:
                raise RuntimeError("the server ended")
            told = json.loads(line) if line.startswith("{") else {}
            if "id" in told and "method" not in told:
                found[told["id"]] = told
        return [found[number] for number in numbers]

    def call(self, tool: str, **given: Any) -> dict[str, Any]:
        return self.answers([self.send("tools/call", {"name": tool, "arguments": given})])[0]

    def cpu_per_call(self, calls: Sequence[Callable[[], Any]]) -> float:
        before = cpu_of(self.pid)
        for call in calls:
            call()
        return (cpu_of(self.pid) - before) * 1000 / len(calls)


EMPTY = """
import anyio, mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server
async def listed(context, params):
    return types.ListToolsResult(tools=[types.Tool(name="nothing", input_schema={"type": "object"})])
async def called(context, params):
    return types.CallToolResult(content=[types.TextContent(type="text", text="{}")], structured_content={})
async def main():
    server = Server("empty", on_list_tools=listed, on_call_tool=called)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
anyio.run(main)
"""


def mcp(size: int = 10_000) -> Iterator[Measure]:
    """A search beside an empty tool of the same SDK, the start, and many stores at once."""
    questions = [Corpus(41).question() for _ in range(150)]
    with folder() as place:
        db = place / "served.db"
        with Memory(db, project="default") as memory:
            memory.remember_many(Corpus(40).memories(size))
            memory.recall(questions[0])
            own = cpu_ms(memory.recall, questions) / len(questions)
        words = [sys.executable, "-m", "memorist", "mcp", "--db", str(db), "--project", "default"]
        with Mcp([sys.executable, "-c", EMPTY], place) as empty:
            empty.call("nothing")
            nothing = empty.cpu_per_call([lambda: empty.call("nothing")] * 150)
        with Mcp(words, place) as server:
            server.call("memory_search", query=questions[0])
            started = cpu_of(server.pid)
            asked = server.cpu_per_call([lambda q=q: server.call("memory_search", query=q) for q in questions])  # type: ignore[misc]
            kept = _many_stores(server, "memory_add", lambda n: {"text": f"The crew of gate {n} has {n + 3} people"})
        with Memory(db, project="default") as memory:
            there = memory.count() - size
    detail = f"{asked:.2f} ms, an empty tool {nothing:.2f} ms, in process {own:.2f} ms"
    yield Measure(f"MCP memory_search at {size:,}: CPU beyond an empty tool", asked - nothing, "ms", 10, detail=detail)
    yield Measure(f"MCP at {size:,}: from the start to the first answer", started, "s CPU", 1.3)
    yield Measure(
        "MCP: of 40 parallel stores, kept", there, "memories", 40, at_least=True, detail=f"{kept} acknowledged"
    )


def _many_stores(server: Mcp, tool: str, given: Callable[[int], dict[str, Any]]) -> int:
    """How many of forty stores that were sent without waiting were acknowledged."""
    numbers = [server.send("tools/call", {"name": tool, "arguments": given(n)}) for n in range(40)]
    answers = server.answers(numbers)
    return sum("result" in each and not each["result"].get("isError") for each in answers)


# ---------------------------------------------------------------- peers


def peers(size: int = 1_000) -> Iterator[Measure]:
    """The same over MCP with what else there is, each with its own way to find."""
    found = {"memorist": _ours, "server-memory": _server_memory, "mcp-memory-service": _mcp_memory_service}
    texts, questions = [*Corpus(50).memories(size)], [Corpus(51).question() for _ in range(40)]
    for name, start in found.items():
        try:
            with folder() as place:
                yield from _peer(name, start(place), texts, questions)
        except (RuntimeError, OSError, ValueError) as problem:
            sys.stderr.write(f"{name} was not measured: {problem}\n")


@dataclass(frozen=True)
class Peer:
    """How a peer is started, and what its tools are called."""

    words: list[str]
    place: Path
    environment: dict[str, str]
    store: str
    search: str
    stored: Callable[[str], dict[str, Any]]
    kept: Callable[[Mcp], int]


def _peer(name: str, peer: Peer, texts: Sequence[str], questions: Sequence[str]) -> Iterator[Measure]:
    started = time.perf_counter()
    with Mcp(peer.words, peer.place, **peer.environment) as server:
        first = time.perf_counter() - started
        stored = [_timed(lambda t=text: server.call(peer.store, **peer.stored(t))) for text in texts[:40]]  # type: ignore[misc]
        for text in texts[40:]:
            server.call(peer.store, **peer.stored(text))
        spent = cpu_of(server.pid)
        asked = [_timed(lambda q=question: server.call(peer.search, query=q)) for question in questions]  # type: ignore[misc]
        spent = (cpu_of(server.pid) - spent) * 1000 / len(questions)
        before = peer.kept(server)
        _many_stores(server, peer.store, lambda n: peer.stored(f"The crew of gate {n} has {n + 3} people"))
        kept = peer.kept(server) - before
    wall = f"wall: ready {first:.1f} s, store {_median(stored):.0f} ms, search {_median(asked):.0f} ms"
    detail = f"{wall}; 40 parallel stores: {kept} kept"
    yield Measure(f"{name} over MCP, {len(texts):,} memories: search", spent, "ms CPU", detail=detail)


def _timed(job: Callable[[], Any]) -> float:
    started = time.perf_counter()
    job()
    return (time.perf_counter() - started) * 1000


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


def _ours(place: Path) -> Peer:
    db = str(place / "ours.db")
    words = [sys.executable, "-m", "memorist", "mcp", "--db", db, "--project", "default"]

    def kept(server: Mcp) -> int:
        with Memory(db, project="default") as memory:
            return memory.count()

    return Peer(words, place, {}, "memory_add", "memory_search", lambda text: {"text": text}, kept)


def _server_memory(place: Path) -> Peer:
    program = PEERS / "server-memory/node_modules/@modelcontextprotocol/server-memory/dist/index.js"
    if not program.is_file():
        raise RuntimeError(f"npm install @modelcontextprotocol/server-memory in {PEERS / 'server-memory'} makes it")
    file = place / "memory.jsonl"

    def stored(text: str) -> dict[str, Any]:
        return {"entities": [{"name": text[:60], "entityType": "note", "observations": [text]}]}

    def kept(server: Mcp) -> int:
        return sum(1 for line in file.read_text(encoding="utf-8").splitlines() if line)

    return Peer(
        ["node", str(program)], place, {"MEMORY_FILE_PATH": str(file)}, "create_entities", "search_nodes", stored, kept
    )


def _mcp_memory_service(place: Path) -> Peer:
    """As its plain install comes: without its extra for models it embeds by hashing."""
    program = PEERS / "mcp-memory/bin/memory"
    if not program.is_file():
        raise RuntimeError("bench/peers/setup.sh mcp-memory makes its environment")
    db = place / "memory.db"

    def kept(server: Mcp) -> int:
        """As it says itself: it makes its tables when it likes, and where it is let."""
        told = str(server.call("memory_health"))
        found = re.search(r'"total_memories": (\d+)', told)
        if found is None:
            raise RuntimeError(f"it does not say how many memories it has: {told[:300]}")
        return int(found[1])

    environment = {"MCP_MEMORY_SQLITE_PATH": str(db), "MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec", "HOME": str(place)}
    words = [str(program), "server"]
    return Peer(words, place, environment, "memory_store", "memory_search", lambda text: {"content": text}, kept)


def servers(size: int = 10_000) -> Iterator[Measure]:
    yield from mcp(size)
    yield from http(size)
    yield from peers(size // 20)


if __name__ == "__main__":
    for measure in servers(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000):
        kept = "" if measure.kept is None else "kept" if measure.kept else "MISSED"
        limit = "" if measure.limit is None else f"{kept} ({'≥' if measure.at_least else '≤'} {measure.limit:,.4g})"
        line = f"{measure.name:<66} {measure.value:>10,.2f} {measure.unit:<9} {limit:<18} {measure.detail}"
        sys.stdout.write(f"{line.rstrip()}\n")
        sys.stdout.flush()
