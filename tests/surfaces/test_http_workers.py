"""`memorist serve --workers N`: questions are answered in processes of their own, and all else is as it is without them."""

import asyncio
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.commands import VERBS
from memorist.noun import plain
from memorist.store.nouns import Receipt
from memorist.store.writer import NOTES_WAIT, Writer
from memorist.surfaces.http import workers
from memorist.surfaces.http.guard import ServerLimits, Visitor
from memorist.surfaces.http.keys import KeyRing
from memorist.surfaces.http.verbs import HttpCall, answered
from memorist.surfaces.http.work import Memories, Work, needs_notes
from memorist.surfaces.http.workers import Worker, WorkerAnswer, Workers, WorkerSetup, _AskedMemories, usual_count
from memorist.upkeep.due import Slices

from .conftest import Cli
from .serving import LONG, Client, process, served

pytestmark = pytest.mark.skipif(os.name != "posix" or not shutil.which("pgrep"), reason="looks at processes")
TEXTS = ("Staging runs Postgres 16", "The crew meets on Tuesdays at nine", "Ann prefers tabs over spaces")


@pytest.fixture(scope="module", autouse=True)
def at_once() -> Iterator[None]:
    """In the servers of this process workers answer even a question that comes alone."""
    with pytest.MonkeyPatch().context() as patch:
        patch.setattr(Workers, "take", lambda workers, others: True)
        yield


@dataclass(frozen=True)
class Shared:
    """A server in a thread of this process."""

    client: Client
    db: Path
    others: set[int]  # children of this process that are none of its workers
    tokens: dict[str, str]

    @property
    def workers(self) -> list[int]:
        return sorted({*working(os.getpid())} - self.others)

    def bearing(self, name: str) -> Client:
        return Client(self.client.port, {"authorization": f"Bearer {self.tokens[name]}"})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    folder, others = tmp_path_factory.mktemp("workers"), {*working(os.getpid())}
    with Memory(folder / "memory.db", project="atlas") as memory:
        for text in TEXTS:
            memory.remember(text)
        memory.remember("Ann keeps her falcon in the barn", scope="user/ann")
        memory.remember("Bob keeps his falcon in the loft", scope="user/bob")
    with Memory(folder / "memory.db", project="atlas", space="far") as memory:
        memory.remember("The falcon of the far space is lost")
    ring, atlas = KeyRing(folder / "keys.json"), ["project/atlas"]
    tokens = {"slow": ring.add("slow", rate=2), "here": ring.add("here", projects=atlas, role="reader")}
    tokens |= {name: ring.add(name, projects=atlas, users=(name,)) for name in ("ann", "bob")}
    tokens["far"] = ring.add("far", space="far")
    with served(folder / "memory.db", project="atlas", workers=2, ring=ring) as up:
        found = Shared(up.client, up.db, others, tokens)
        yield found
    assert found.workers == []


@pytest.fixture
def client(server: Shared) -> Client:
    return server.client


def working(pid: int) -> list[int]:
    """The workers of a server."""
    command = ["pgrep", "-P", str(pid), "-f", "surfaces.http.workers"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return sorted(map(int, said.split()))


def until(holds: Callable[[], Any]) -> None:
    end = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    said = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(said.strip()) and not said.startswith("Z")


# ---------------------------------------------------------------- the same answers


def test_workers_answer_as_the_library_does(server: Shared, client: Client) -> None:
    query = "which database does staging run?"
    with Memory(server.db, project="atlas") as memory:
        ours = memory.recall(query, limit=2)
        theirs = client("POST", "/v1/recall", {"query": query, "limit": 2}).json
        assert [hit["record"]["text"] for hit in theirs["hits"]] == [hit.record.text for hit in ours]
        assert [hit["why"].keys() for hit in theirs["hits"]] == [hit.why.keys() for hit in ours]
        assert client("GET", "/v1/search?query=staging+database&limit=1").json["hits"][0]["record"]["text"] == TEXTS[0]
        steps = client("POST", "/v1/explain", {"query": query}).json["trace"]
        assert [step["stage"] for step in steps] == [step.stage for step in memory.explain(query).trace]
        assert client("POST", "/v1/why-not", {"id": 2, "query": query}).json == memory.why_not(2, query)
        assert TEXTS[0] in client("POST", "/v1/context", {"query": query}).json["text"]


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        ({"query": "x", "limit": 0}, "invalid", "limit must be a whole number"),
        ({"query": "x", "limitt": 3}, "invalid", "did you mean 'limit'"),
        ([], "malformed", "a JSON object"),
    ],
)
def test_what_is_wrong_with_a_question_is_told_by_a_worker(client: Client, body: Any, code: str, said: str) -> None:
    got = client("POST", "/v1/recall", body)
    assert got.code == code and said in got.json["detail"]


def test_the_rights_of_a_key_hold_in_a_worker(server: Shared) -> None:
    reader = server.bearing("here")
    assert reader("POST", "/v1/recall", {"query": "staging"}).status == 200
    assert reader("POST", "/v1/recall?project=elsewhere", {"query": "staging"}).code == "out_of_scope"
    assert reader("POST", "/v1/memories", {"text": "A reader writes"}).code == "out_of_scope"


@pytest.mark.covers("G1")
def test_a_worker_that_is_asked_with_one_key_after_another_mixes_nothing_up(server: Shared) -> None:
    """Same project, other users; same words, another space."""
    own = {"ann": "Ann keeps her falcon in the barn", "bob": "Bob keeps his falcon in the loft"}
    seen = {**own, "far": "The falcon of the far space is lost"}

    def falcons(name: str, **user: str) -> list[str]:
        asked = {"query": "where is the falcon?", "limit": 20, **user}
        hits = server.bearing(name)("POST", "/v1/recall", asked).json["hits"]
        return [hit["record"]["text"] for hit in hits if "falcon" in hit["record"]["text"]]

    for _ in range(2):
        for name, text in seen.items():
            assert falcons(name, **({"user": name} if name in own else {})) == [text]
            assert falcons("here") == []
        other = server.bearing("ann")("POST", "/v1/recall", {"query": "where is the falcon?", "user": "bob"})
        assert other.code == "out_of_scope" and "loft" not in other.body.decode()
    said = server.bearing("far")("POST", "/v1/recall", {"query": "staging runs Postgres", "limit": 20}).body.decode()
    assert not [text for text in (*TEXTS, *own.values()) if text in said]


def test_upkeep_is_started_in_no_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(os.environ["MEMORIST_CONFIG"]).write_text('design = "curated"\n')  # which has it done on opening
    begun: list[Any] = []
    monkeypatch.setattr(Slices, "_slice", lambda *given: begun.append(given))
    for kind, starts in ((_AskedMemories, False), (Memories, True)):
        memories = kind(str(tmp_path / f"{starts}.db"), "atlas", None, 2)
        with memories.seen_by(Visitor(""), None) as memory:
            memory._count_use()
            memory._slices.join()
            assert bool(begun) == starts
        memories.close()


def test_all_workers_together_keep_to_the_rate_of_a_key(server: Shared) -> None:
    slow = server.bearing("slow")
    with ThreadPoolExecutor(8) as clients:
        asked = [clients.submit(slow, "POST", "/v1/recall", {"query": "staging"}) for _ in range(12)]
        statuses = [each.result().status for each in asked]
    assert set(statuses) == {200, 429} and statuses.count(200) <= 2 + 2  # two at once, and two a second


# ---------------------------------------------------------------- one store, one log, one memory of answers


def test_each_worker_finds_what_was_written_just_before(server: Shared, client: Client) -> None:
    def work(number: int) -> str:
        text = f"Gate {number} is guarded by platoon {number * 7919}"
        assert client("POST", "/v1/memories", {"text": text}).json["outcome"] == "added"
        found = client(
            "POST", "/v1/recall", {"query": f"who guards gate {number}? platoon {number * 7919}", "limit": 1}
        )
        hits = found.json["hits"]
        return "" if hits and hits[0]["record"]["text"] == text else f"{text}: {hits}"

    with ThreadPoolExecutor(8) as clients:
        assert [missed for missed in clients.map(work, range(24)) if missed] == []
    assert len(server.workers) == 2


def test_a_receipt_of_a_worker_can_be_used_at_once(client: Client) -> None:
    for _ in range(5):
        receipt = client("POST", "/v1/recall", {"query": "when does the crew meet?"}).json["receipt"]
        used = client("POST", f"/v1/receipts/{receipt}/used", {"answer": "They meet on Tuesdays at nine"}).json
        assert len(used["changed"]) == 1, used
    context = client("POST", "/v1/context", {"query": "when does the crew meet?"}).json
    assert client("GET", f"/v1/receipts/{context['receipt']}").json["text"] == context["text"]


def test_questions_to_workers_are_in_the_log_and_the_figures(client: Client) -> None:
    before = client("GET", "/v1/status").json
    for _ in range(70):  # more than are noted at once
        client("POST", "/v1/recall", {"query": "what does Ann prefer?"})
    after = client("GET", "/v1/status").json
    seen = {name: after[name] - before[name] for name in ("receipts", "buffered")}
    assert sum(seen.values()) == 70
    told = client("GET", "/metrics").body.decode()
    counted = re.search(r'memorist_requests_total\{route="/v1/recall",status="200"\} (\d+)', told)
    assert counted and int(counted[1]) >= 70 and 'memorist_in_lane{lane="asking"} 0' in told


def test_an_answer_that_is_given_again_does_not_depend_on_workers(client: Client) -> None:
    body = {"verdict": "useful"}
    first = client("POST", "/v1/memories/3/feedback", body, idempotency_key="vote-1")
    client("POST", "/v1/recall", {"query": "tabs"})
    again = client("POST", "/v1/memories/3/feedback", body, idempotency_key="vote-1")
    assert again.body == first.body and again.headers["idempotent-replayed"] == "true"
    assert client("GET", "/v1/memories/3").json["counters"]["up"] == 1


@pytest.mark.covers("G1")
def test_erasing_leaves_nothing_though_workers_have_the_store_open(server: Shared, client: Client) -> None:
    word = "quintarelloberry"
    number = client("POST", "/v1/memories", {"text": f"The jam is made of {word}"}).json["record"]["number"]
    with ThreadPoolExecutor(4) as clients:
        for found in clients.map(lambda _: client("POST", "/v1/recall", {"query": f"what jam? {word}"}), range(8)):
            assert found.json["hits"][0]["record"]["number"] == number
    assert len(client("POST", "/v1/erase", {"id": number}).json["changed"]) == 1
    assert client("GET", "/v1/status").status == 200  # by which what was asked before is noted, or given up
    assert client("POST", "/v1/recall", {"query": "what is the jam made of?"}).json["hits"] == []
    for file in server.db.parent.glob("memory.db*"):
        assert word.encode() not in file.read_bytes(), file


@dataclass
class Held:
    """Memories of a file, asked through workers in `projects`, while another process writes."""

    memories: Memories
    other: sqlite3.Connection

    def ask(self, *projects: str) -> None:
        for number, project in enumerate(projects):
            at = datetime.now(UTC)
            note = Receipt(f"r{number}", at, "default", "who?", "agent", "http", None, 1.0, (), home=project)
            self.memories.note_later(Visitor(""), project, plain([note]))


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Held]:
    memories = Memories(str(tmp_path / "memory.db"), "atlas", None, 2)
    other = sqlite3.connect(tmp_path / "memory.db", isolation_level=None)
    try:
        yield Held(memories, other)
    finally:
        other.close()
        memories.close()


def flushes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many lines waited at each try to write them."""
    seen, flush = list[int](), Writer.flush
    monkeypatch.setattr(Writer, "flush", lambda self, *how: (seen.append(self.waiting), flush(self, *how))[1])
    return seen


def test_who_reads_does_not_wait_until_questions_are_noted(held: Held) -> None:
    held.ask("one", "two")
    with held.memories._noting, ThreadPoolExecutor(1) as pool:  # somebody is at it
        work = Work(held.memories, ServerLimits())
        for name in ("list", "get", "recall", "links"):
            verb, arguments = VERBS[name], {"id": "1"} if name in ("get", "links") else {}
            asked = HttpCall(verb, "GET", "/", arguments, "query=x" if name == "recall" else "", {}, b"", Visitor(""))
            assert pool.submit(answered, asked, work).result(LONG).status in (200, 404)
        assert pool.submit(work.health).result(LONG)["store"] == "ok"
    assert {name for name, verb in VERBS.items() if not verb.writes and needs_notes(verb)} >= {
        "log",
        "status",
        "receipt",
    }
    assert all(needs_notes(verb) for verb in VERBS.values() if verb.writes)


def test_a_busy_store_holds_up_noting_for_a_moment_only(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many memories are opened and closed for it: those wait for the other process in threads of their own."""
    projects, waits = [f"project-{number}" for number in range(4)], list[tuple[bool, float]]()
    for project in projects:
        with held.memories.seen_by(Visitor(""), project):
            """Known to the store by then."""
    flush = Writer.flush

    def seen(self: Writer, wait: float = NOTES_WAIT) -> None:
        if self.waiting:
            waits.append((threading.current_thread().name == "memorist-closing", wait))
        flush(self, wait)

    monkeypatch.setattr(Writer, "flush", seen)
    held.ask(*projects)
    held.other.execute("BEGIN IMMEDIATE")
    held.memories.note_now()
    held.other.execute("ROLLBACK")
    assert {wait for aside, wait in waits if not aside} == {NOTES_WAIT}
    for each in held.memories._ending:
        each.join(LONG)
    with held.memories.seen_by(Visitor(""), None) as memory:
        memory._writer.flush()
        held.memories.write_notes()
        assert len(memory._tools.store.receipts("default", 9)) == len(projects), "nothing of it is lost"


def test_questions_of_one_project_are_noted_in_one_go(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = flushes(monkeypatch)
    held.ask(*["atlas"] * 60)
    held.memories.note_now()
    assert seen == [60]


def test_what_cannot_be_noted_is_told_of_and_harms_no_other_request(
    held: Held, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    noted, note = list[str](), Writer.note_cleaned

    def broken(self: Writer, lines: list[Receipt]) -> None:
        noted.extend(line.home or "" for line in lines)
        if lines[0].home == "one":
            raise KeyError("of a fault")
        note(self, lines)

    monkeypatch.setattr(Writer, "note_cleaned", broken)
    held.ask("one", "two")
    with held.memories.seen_by(Visitor(""), None) as memory:
        assert [line.home for line in memory._tools.store.receipts("default", 9)] == ["two"]
    assert noted == ["one", "two"] and "1 lines of the recall log were given up" in caplog.text
    assert "of a fault" in caplog.text


def test_a_question_that_fails_in_a_worker_leaves_nothing_for_the_next(tmp_path: Path) -> None:
    memories = _AskedMemories(str(tmp_path / "memory.db"), "atlas", None, 2)
    with pytest.raises(KeyError), memories.seen_by(Visitor(""), None) as memory:
        memory.recall("what fails")
        raise KeyError
    with memories.seen_by(Visitor(""), None) as memory:
        memory.recall("what does not")
    assert [line.query for line in memories.noted[1]] == ["what does not"]
    memories.close()


# ---------------------------------------------------------------- processes


@pytest.mark.covers("N1-8")
def test_a_worker_that_was_killed_is_replaced_and_told_of(
    server: Shared, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    for worker in server.workers:
        os.kill(worker, signal.SIGKILL)
    assert client("POST", "/v1/recall", {"query": "staging", "limit": 1}).json["hits"]
    assert re.search(r"worker \d+ ended by itself, with code -9", caplog.text)


def test_a_question_is_asked_again_when_its_worker_dies_over_it(server: Shared, client: Client) -> None:
    client("POST", "/v1/recall", {"query": "staging"})
    stopped = server.workers
    for worker in stopped:
        os.kill(worker, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(client, "POST", "/v1/recall", {"query": "staging", "limit": 1})
        time.sleep(0.3)
        assert not asked.done() and client("GET", "/healthz").status == 200  # nobody else waits
        for worker in stopped:
            os.kill(worker, signal.SIGKILL)
        assert asked.result(LONG).json["hits"]


def test_a_worker_that_is_stuck_is_ended_and_the_question_refused(
    server: Shared, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client("POST", "/v1/recall", {"query": "staging"})
    stopped = server.workers
    monkeypatch.setattr(workers, "ANSWERING", 0.3)
    monkeypatch.setattr(workers, "ENDING", 0.1)
    for worker in stopped:
        os.kill(worker, signal.SIGSTOP)
    for _ in stopped:
        got = client("POST", "/v1/recall", {"query": "staging"})
        assert (got.status, got.code) == (503, "store_unavailable") and "within 0.3 s" in got.json["detail"]
    until(lambda: not any(map(is_alive, stopped)))
    monkeypatch.undo()
    assert client("POST", "/v1/recall", {"query": "staging"}).status == 200


def test_a_worker_is_ended_though_nobody_waits_for_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "PROGRAM", "import time; time.sleep(600)  # {!r}")

    async def work() -> int:
        worker = await Worker.started(WorkerSetup(None, None, None, ServerLimits(), 30))
        ending = asyncio.ensure_future(worker.end())
        await asyncio.sleep(0.05)
        ending.cancel()
        await asyncio.wait([ending])
        assert ending.cancelled()
        await asyncio.wait_for(worker._ended.wait(), LONG)
        return worker.pid

    assert not is_alive(asyncio.run(work()))


def test_workers_hear_no_signal_that_is_meant_for_the_server(server: Shared, client: Client) -> None:
    """Ctrl-C at a terminal, and a supervisor, reach every process of a group."""
    client("POST", "/v1/recall", {"query": "staging"})
    before = server.workers
    for worker in before:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(worker, number)
    time.sleep(0.2)
    assert client("POST", "/v1/recall", {"query": "staging"}).status == 200
    assert server.workers == before


LOADED = """import os, signal
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    os.kill(os.getpid(), number)
os._exit(7)
"""


def test_workers_hear_no_signal_while_they_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "memorist.py").write_text(LOADED)
    monkeypatch.setattr("sys.path", [str(tmp_path), *sys.path])

    async def work() -> int:
        worker = await Worker.started(WorkerSetup(None, None, None, ServerLimits(), 30))
        await asyncio.wait_for(worker._ended.wait(), LONG)
        return await worker.end()

    assert asyncio.run(work()) == 7


@pytest.mark.covers("N1-8")
def test_sigterm_finishes_the_questions_notes_them_and_ends_the_workers(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    with process(tmp_path, db, "--project", "atlas", "--workers", "2") as server:
        [worker] = working(server.running.pid)  # the first one is there before anybody asks
        os.kill(worker, signal.SIGSTOP)
        assert server.client("POST", "/v1/recall", {"query": "a lone question"}).status == 200  # by the server itself
        asked, waiting = 1, set[Future[Any]]()
        with ThreadPoolExecutor(4) as pool:
            while not waiting:
                some = [pool.submit(server.client, "POST", "/v1/recall", {"query": "one of many"}) for _ in range(4)]
                asked, waiting = asked + 4, wait(some, timeout=1).not_done  # for the worker that was stopped
            server.running.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            os.kill(worker, signal.SIGCONT)
            assert {each.result(LONG).status for each in some} == {200}
        assert server.running.wait(LONG) == 0 and not is_alive(worker)
        assert "Traceback" not in server.said.read_text()
    with Memory(db, project="atlas") as memory:
        assert memory.status()["receipts"] == asked


def test_no_worker_outlives_a_server_that_was_killed(tmp_path: Path) -> None:
    with process(tmp_path, tmp_path / "memory.db", "--workers", "2") as server:
        found = working(server.running.pid)
        assert found and server.end(signal.SIGKILL) == -signal.SIGKILL
        until(lambda: not any(map(is_alive, found)))
        assert "Traceback" not in server.said.read_text()


@pytest.mark.covers("N1-8")
def test_settings_that_are_read_again_reach_the_workers(tmp_path: Path) -> None:
    config = Path(os.environ["MEMORIST_CONFIG"])
    config.write_text('design = "balanced"\n')
    with served(tmp_path / "memory.db", workers=2) as found:

        def stages() -> list[str]:
            return [step["stage"] for step in found.client("POST", "/v1/explain", {"query": "staging"}).json["trace"]]

        found.client("POST", "/v1/memories", {"text": "Staging runs Postgres 16"})
        before = stages()
        config.write_text('design = "hebbian"\n')
        assert stages() == before
        found.server._reload()  # what SIGHUP does, see test_http_process.py
        assert stages() != before


# ---------------------------------------------------------------- limits


def test_when_all_workers_are_busy_a_client_is_told_to_come_back(tmp_path: Path) -> None:
    limits, db = ServerLimits(waiting=1), tmp_path / "memory.db"
    before = set(working(os.getpid()))
    with served(db, workers=2, limits=limits) as found, ThreadPoolExecutor(3) as pool:
        found.client("POST", "/v1/recall", {"query": "x"})
        [worker] = set(working(os.getpid())) - before
        os.kill(worker, signal.SIGSTOP)
        first = pool.submit(found.client, "POST", "/v1/recall", {"query": "x"})
        until(lambda: 'memorist_in_lane{lane="asking"} 1' in found.client("GET", "/metrics").body.decode())
        second = pool.submit(found.client, "POST", "/v1/recall", {"query": "x"})
        assert second.result(LONG).status == 200  # by another worker
        others = set(working(os.getpid())) - before - {worker}
        for other in others:
            os.kill(other, signal.SIGSTOP)
        waiting = [pool.submit(found.client, "POST", "/v1/recall", {"query": "x"}) for _ in range(2)]
        until(lambda: 'memorist_in_lane{lane="asking"} 3' in found.client("GET", "/metrics").body.decode())
        got = found.client("POST", "/v1/recall", {"query": "x"})
        assert got.code == "busy" and got.headers["retry-after"]
        for stopped in (worker, *others):
            os.kill(stopped, signal.SIGCONT)
        assert {each.result(LONG).status for each in (first, *waiting)} == {200}
    assert set(working(os.getpid())) == before


def test_what_breaks_in_a_worker_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(self: Workers, asked: Any) -> WorkerAnswer:
        return WorkerAnswer(fault="KeyError: 'x'")

    monkeypatch.setattr(Workers, "_told", broken)
    with served(tmp_path / "memory.db", workers=2) as found:
        got = found.client("POST", "/v1/recall", {"query": "x"})
        assert (got.status, got.code) == (500, "fault") and "KeyError" not in got.json["detail"]


def test_a_worker_that_cannot_be_started_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(working(os.getpid()))
    with served(tmp_path / "memory.db", workers=2) as found:
        monkeypatch.setattr(workers, "PROGRAM", "import sys; sys.exit(3)  # {!r}")
        [worker] = set(working(os.getpid())) - before
        os.kill(worker, signal.SIGKILL)
        got = found.client("POST", "/v1/recall", {"query": "x"})
        assert (got.status, got.code) == (503, "store_unavailable") and "try again" in got.json["detail"]
        monkeypatch.undo()
        assert found.client("POST", "/v1/recall", {"query": "x"}).status == 200


@pytest.mark.parametrize("name", [":memory:", "memory.json"])
def test_a_store_that_one_process_holds_has_no_workers(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    db = Path(name) if name == ":memory:" else tmp_path / name
    before = working(os.getpid())
    with served(db, workers=3) as found:
        assert found.client("POST", "/v1/recall", {"query": "x"}).status == 200
        assert working(os.getpid()) == before
    assert "served by one process" in caplog.text


@pytest.mark.parametrize("count", ["0", "65", "many"])
def test_a_number_of_workers_that_cannot_be_is_refused(cli: Cli, count: str) -> None:
    done = cli("serve", "--port", "0", "--workers", count)
    assert done.code == 2 and "--workers" in done.err


def test_there_are_as_many_workers_as_cores_up_to_four(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, count in ((1, 1), (2, 2), (64, 4)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid, cores=cores: set(range(cores)), raising=False)
        assert usual_count() == count
