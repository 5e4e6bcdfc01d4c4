"""`make soak`: half an hour of mixed load on one server, and what it holds in memory stays what it is.

    python tests/soak.py [MINUTES]

Eight clients ask, write, revise, forget, list, talk in sessions, call tools by MCP and follow events, through the real server in a
process of its own. Some go away in mid-call. Nothing may fail, every acknowledged write must be there in the end, the audit must
hold, and the server must not end before it is told to.

What the process holds grows at first: it remembers words and texts, as many as it has places for, and each thread keeps pages of
the store. Once those places are taken it must stay what it is, but for what was written. So the last quarter of the time is
compared with the one before it, if the server was warm by then; else the run was too short to tell, and says so.
"""

import http.client
import json
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.corpus import Corpus
from bench.servers import rss_mb, serving
from memorist import Client, Memory
from memorist.errors import NotFound, StoreUnavailable

CLIENTS = 8
WARM = 10_000  # calls after which there is little left to remember
SHARE, EACH = (
    0.02,
    4,
)  # it may grow by a fiftieth between two quarters, and by so many kilobytes for each memory written
PAUSE = 0.02  # seconds between two calls of a client
LEFT_OPEN, MOST_LEFT_OPEN = (
    0.1,
    200,
)  # sessions of MCP that nobody ends, as a share and in all: the server does, in half an hour


class Look(NamedTuple):
    """What was seen at one moment."""

    at: float  # the share of the time that had passed
    size: int  # kilobytes of the process
    calls: int
    written: int


class Agent:
    """One that calls tools by MCP over HTTP, in a session of its own."""

    def __init__(self, url: str) -> None:
        split = urlsplit(url)
        self._talk = http.client.HTTPConnection(split.hostname or "", split.port, timeout=120)
        self._headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        who = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}}
        self._headers["mcp-session-id"] = self._send("initialize", who)[0].headers["mcp-session-id"]

    def search(self, question: str) -> None:
        self._call("memory_search", query=question)

    def add(self, text: str) -> int:
        return int(self._call("memory_add", text=text)["id"])

    def end(self) -> None:
        self._talk.request("DELETE", "/mcp", headers=self._headers)
        _must(self._talk.getresponse()).read()

    def close(self) -> None:
        self._talk.close()

    def _call(self, tool: str, **given: str) -> dict[str, Any]:
        answer = self._send("tools/call", {"name": tool, "arguments": given})[1]["result"]
        if answer.get("isError"):
            raise RuntimeError(answer["content"][0]["text"])
        return dict(answer["structuredContent"])

    def _send(self, method: str, params: dict[str, Any]) -> tuple[http.client.HTTPResponse, dict[str, Any]]:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        self._talk.request("POST", "/mcp", body, self._headers)
        answer = _must(self._talk.getresponse())
        said = next(line for line in answer.read().splitlines() if line.startswith(b"data: {"))
        return answer, json.loads(said.removeprefix(b"data: "))


def _must(answer: http.client.HTTPResponse) -> http.client.HTTPResponse:
    if answer.status != 200:
        raise RuntimeError(f"{answer.status}: {answer.read()[:200]!r}")
    return answer


class Soak:
    """One run: what was done, what was kept, and what went wrong."""

    def __init__(self, url: str, pid: int, seconds: float) -> None:
        self.url, self.pid, self.until = url, pid, time.monotonic() + seconds
        self.begun, self.seconds = time.monotonic(), seconds
        self.done: Counter[str] = Counter()
        self.kept: set[int] = set()
        self.problems: list[str] = []
        self.looks: list[Look] = []
        self.left_open = 0
        self.lock = threading.Lock()

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.until or bool(self.problems)

    def client(self, number: int) -> None:
        rng, corpus, mine = random.Random(number), Corpus(number), list[int]()
        with Client(self.url, timeout=120) as client:
            while not self.is_over:
                deed = rng.choices(DEEDS, WEIGHTS)[0]
                try:
                    getattr(self, deed)(client, corpus, rng, mine)
                    with self.lock:
                        self.done[deed] += 1
                except NotFound:
                    continue  # another client forgot it
                except Exception as problem:
                    with self.lock:
                        self.problems.append(f"{deed}: {type(problem).__name__}: {problem}")
                time.sleep(PAUSE)

    def ask(self, client: Client, corpus: Corpus, rng: random.Random, mine: list[int]) -> None:
        client.recall(corpus.question())

    def write(self, client: Client, corpus: Corpus, rng: random.Random, mine: list[int]) -> None:
        kept = client.remember(next(corpus.memories(1)))
        if kept.number is not None:
            mine.append(kept.number)
            with self.lock:
                self.kept.add(kept.number)

    def revise(self, client: Client, corpus: Corpus, rng: random.Random, mine: list[int]) -> None:
        if mine:
            client.revise(rng.choice(mine), next(corpus.memories(1)))

    def forget(self, client: Client, corpus: Corpus, rng: random.Random, mine: list[int]) -> None:
        if len(mine) > 20:
            number = mine.pop(rng.randrange(len(mine)))
            client.forget(number)
            with self.lock:
                self.kept.discard(number)

    def read(self, client: Client, corpus: Corpus, rng: random.Random, mine: list[int]) -> None:
        client.list(limit=20)
        client.context(corpus.question(), budget=500)

    def talk(self, client: Client, corpus: Corpus, rng: random.Random, mine: list[int]) -> None:
        with client.session() as session:
            session.turn("user", corpus.question())
            session.turn("assistant", next(corpus.memories(1)))

    def tools(self, client: Client, corpus: Corpus, rng: random.Random, mine: list[int]) -> None:
        """A session of MCP, begun and ended; now and then one that is left open."""
        with closing(Agent(self.url)) as agent:
            agent.search(corpus.question())
            kept = agent.add(next(corpus.memories(1)))
            with self.lock:
                self.kept.add(kept)
            mine.append(kept)
            if rng.random() > LEFT_OPEN or self.left_open >= MOST_LEFT_OPEN:
                agent.end()
            else:
                with self.lock:
                    self.left_open += 1

    def go_away(self, client: Client, corpus: Corpus, rng: random.Random, mine: list[int]) -> None:
        """Sends a question and does not wait for the answer; or half of one."""
        split, body = urlsplit(self.url), json.dumps({"query": corpus.question()}).encode()
        head = f"POST /v1/recall HTTP/1.1\r\nHost: {split.netloc}\r\nContent-Type: application/json\r\n"
        with socket.create_connection((split.hostname or "", split.port or 80)) as gone:
            sent = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
            gone.sendall(sent[: rng.choice((len(sent), len(sent) // 2))])

    def follow(self) -> None:
        """One that listens all the time."""
        while not self.is_over:
            try:
                with Client(self.url) as client:
                    for event, _ in client.events():
                        with self.lock:
                            self.done[event] += 1
                        if self.is_over:
                            return
            except StoreUnavailable:
                time.sleep(0.5)

    def watch(self) -> None:
        """Looks at the process until all is over, or it is gone."""
        while not self.is_over and (size := _resident(self.pid)):
            with self.lock:
                calls, written = (
                    sum(self.done[deed] for deed in DEEDS),
                    (self.done["write"] + 2 * self.done["talk"] + self.done["tools"]),
                )
            self.looks.append(Look((time.monotonic() - self.begun) / self.seconds, size, calls, written))
            time.sleep(0.5)

    def grown(self) -> str:
        """How the memory of the process went on in the second half; what is wrong with it is a problem."""
        third, last = ([look for look in self.looks if from_ <= look.at < from_ + 0.25] for from_ in (0.5, 0.75))
        if not third or not last:
            return "the server was seen too seldom"
        before, after = median(look.size for look in third), median(look.size for look in last)
        most = SHARE * before + EACH * (last[-1].written - third[0].written)
        told = f"resident {before / 1024:.1f} MB in the third quarter, {after / 1024:.1f} MB in the last"
        if third[0].calls < WARM:
            return f"{told}; too short a run to tell whether it stays so: {third[0].calls:,} calls before, not {WARM:,}"
        if after - before > most:
            self.problems.append(f"the server grew by {(after - before) / 1024:.1f} MB, and {most / 1024:.1f} would do")
        return f"{told}; {most / 1024:.1f} MB more would do"


DEEDS = ("ask", "write", "revise", "forget", "read", "talk", "tools", "go_away")
WEIGHTS = (40, 25, 8, 6, 12, 4, 4, 5)


def _resident(pid: int) -> int:
    """Kilobytes of the server with its workers; 0 if it is gone, or about to be."""
    try:
        return int(rss_mb(pid) * 1024)
    except OSError:
        return 0


def main(minutes: float) -> int:
    with tempfile.TemporaryDirectory(prefix="memorist-soak-") as place:
        db = Path(place) / "soak.db"
        with Memory(db) as memory:
            memory.remember_many(Corpus(99).memories(2_000))
        with serving(db) as (url, pid):
            soak = Soak(url, pid, minutes * 60)
            threads = [threading.Thread(target=soak.client, args=(number,)) for number in range(CLIENTS)]
            threads.append(threading.Thread(target=soak.follow, daemon=True))
            for thread in threads:
                thread.start()
            soak.watch()
            for thread in threads[:-1]:
                thread.join()
        return _judge(soak, db)


def _judge(soak: Soak, db: Path) -> int:
    grown, problems = soak.grown(), soak.problems
    with Memory(db) as memory:
        if not (audit := memory.audit()).ok:
            problems += audit.problems
        there = {record.number for record in memory.list(limit=1_000_000)}
        problems += [f"memory {number} was acknowledged and is gone" for number in sorted(soak.kept - there)]
    deeds = ", ".join(f"{count:,} {deed}" for deed, count in sorted(soak.done.items()))
    sys.stdout.write(f"{soak.seconds / 60:g} minutes: {deeds}\n")
    tenths = [soak.looks[len(soak.looks) * tenth // 10].size / 1024 for tenth in range(10) if soak.looks]
    sys.stdout.write(f"{grown}\nby tenths: {', '.join(f'{size:.0f}' for size in tenths)} MB\n")
    for problem in problems[:20]:
        sys.stdout.write(f"problem: {problem}\n")
    return 1 if problems else 0


if __name__ == "__main__":
    try:
        sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 30))
    except subprocess.TimeoutExpired:
        sys.exit("the server did not end")
    except RuntimeError as problem:
        sys.exit(str(problem))
