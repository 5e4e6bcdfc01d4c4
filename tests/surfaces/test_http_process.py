"""`memorist serve` as a process: what it acknowledged survives, what it began it finishes, and it hears signals."""

import asyncio
import contextlib
import http.client
import json
import os
import platform
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import rounds
from faults.processes import Child, needs_fork
from memorist import Memory
from memorist.errors import StoreUnavailable
from memorist.surfaces.http.keys import KeyRing
from memorist.surfaces.http.server import MOST_HELD, JoinedTransport, Serving, bound, serve

from .serving import LONG, Client, process, served

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals")


def keep_writing(client: Client, name: str, acknowledged: list[str], stop: threading.Event) -> None:
    """Writes until the server is gone, and notes what it was told is stored."""
    talk = http.client.HTTPConnection("127.0.0.1", client.port, timeout=LONG)
    with contextlib.suppress(OSError, http.client.HTTPException):
        for number in range(100_000):
            if stop.is_set():
                return
            text = f"{name} wrote thing {number}"
            talk.request("POST", "/v1/memories", json.dumps({"text": text}), {"content-type": "application/json"})
            answer = talk.getresponse()
            body = answer.read()
            if answer.status == 201:
                assert json.loads(body)["outcome"] == "added"
                acknowledged.append(text)
    talk.close()


def serving(db: Path) -> Callable[[Callable[[object], None]], None]:
    """A server that says its port once it takes requests."""

    def work(say: Callable[[object], None]) -> None:
        serve(Serving(str(db), project="atlas", port=0), lambda address, memories: say(address.rpartition(":")[2]))

    return work


@needs_fork
@pytest.mark.covers("P1")
def test_what_was_acknowledged_over_http_survives_kill_9(tmp_path: Path) -> None:
    db, acknowledged = tmp_path / "memory.db", list[str]()
    chance = random.Random(16)
    for round in range(rounds(200, 0.015)):
        server = Child(serving(db))  # forked, so that two hundred of them take no longer than their work
        client, stop, before = Client(int(server.line() or 0)), threading.Event(), len(acknowledged)
        names = [f"round {round} writer {each}" for each in range(3)]
        writers = [threading.Thread(target=keep_writing, args=(client, each, acknowledged, stop)) for each in names]
        for writer in writers:
            writer.start()
        until = time.monotonic() + LONG
        while len(acknowledged) < before + 3 and time.monotonic() < until:
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.05))
        server.kill()
        for writer in writers:
            writer.join(LONG)
    with Memory(db, project="atlas") as memory:
        everything = {"state": {"$in": ["active", "superseded"]}}
        stored = {record.text for record in memory.list(everything, limit=1_000_000)}
        assert acknowledged and [text for text in acknowledged if text not in stored] == []
        assert memory.audit().ok and all(memory.doctor())
        for text in chance.sample(acknowledged, 5):
            assert text in [hit.text for hit in memory.recall(text, limit=20, min_relevance=0)]


@needs_fork
@pytest.mark.parametrize("name", ["memory.db", ":memory:"])
def test_an_import_that_a_crash_cut_off_is_on_no_disk_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    db = tmp_path / name if name != ":memory:" else Path(name)
    server = Child(serving(db))
    port = int(server.line() or 0)
    with socket.create_connection(("127.0.0.1", port), timeout=LONG) as talk:
        head = f"POST /v1/import HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 10000000\r\n"
        talk.sendall(f"{head}Content-Type: application/x-ndjson\r\n\r\n".encode() + b'"password=hunter2Zx9"\n' * 10_000)
        until = time.monotonic() + LONG
        while not [*tmp_path.glob(".memorist-*/import.jsonl")] and time.monotonic() < until:
            time.sleep(0.01)
        assert len([*tmp_path.glob(".memorist-*/import.jsonl")]) == 1
        server.kill()
    with served(db):
        assert not [*tmp_path.glob(".memorist-*")]


def test_sigterm_finishes_what_was_begun_and_writes_what_is_buffered(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    with process(tmp_path, db, "--project", "atlas") as server:
        client, acknowledged, stop = server.client, list[str](), threading.Event()
        client("POST", "/v1/memories", {"text": "Staging runs Postgres 16"})
        client("POST", "/v1/recall", {"query": "what does staging run?"})  # its line of the recall log is buffered
        slow = http.client.HTTPConnection("127.0.0.1", client.port, timeout=LONG)  # a request whose body is on its way
        body = json.dumps({"text": "Said while the server was told to end"})
        slow.putrequest("POST", "/v1/memories")
        slow.putheader("content-type", "application/json")
        slow.putheader("content-length", str(len(body)))
        slow.endheaders(body[:10].encode())
        writer = threading.Thread(target=keep_writing, args=(client, "busy", acknowledged, stop))
        writer.start()
        time.sleep(0.5)
        server.running.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        slow.send(body[10:].encode())
        answer = slow.getresponse()
        assert answer.status == 201 and json.loads(answer.read())["outcome"] == "added"
        slow.close()
        stop.set()
        writer.join(LONG)
        assert server.running.wait(LONG) == 0
        assert "Traceback" not in server.said.read_text()
    with Memory(db, project="atlas") as memory:
        stored = {record.text for record in memory.list(limit=100_000)}
        assert {*acknowledged, "Said while the server was told to end"} <= stored
        assert memory.status()["receipts"] >= 1 and memory.audit().ok and "lost" not in memory.status()


STARTING = """
import os, signal, sys
from memorist.surfaces.http import server

def opened(*how, memories=server.Memories):
    os.kill(os.getpid(), getattr(signal, sys.argv[2]))
    return memories(*how)

server.Memories = opened
server.serve(server.Serving(sys.argv[1], port=0), lambda *_: print("ready"))
"""


def test_a_pipe_that_nobody_reads_does_not_end_it(tmp_path: Path) -> None:
    with process(tmp_path, tmp_path / "memory.db") as server:
        server.running.send_signal(signal.SIGPIPE)
        assert server.client("GET", "/healthz").status == 200
        assert server.end(signal.SIGTERM) == 0


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_server_that_is_told_to_end_while_it_starts_ends(tmp_path: Path, name: str) -> None:
    words = [sys.executable, "-c", STARTING, str(tmp_path / "memory.db"), name]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LONG, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_sighup_reads_keys_and_settings_again(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path / "keys.json")
    token = ring.add("ci")
    config = Path(os.environ["MEMORIST_CONFIG"])
    config.write_text('design = "balanced"\n')
    with process(tmp_path, tmp_path / "memory.db", "--keys", str(ring.path), "--require-key") as server:
        ours = Client(server.client.port, {"authorization": f"Bearer {token}"})
        assert ours("GET", "/v1/status").json["design"] == "balanced"
        config.write_text('design = "hebbian"\n')
        assert ours("GET", "/v1/status").json["design"] == "balanced"
        server.running.send_signal(signal.SIGHUP)
        until = time.monotonic() + 20
        while ours("GET", "/v1/status").json["design"] != "hebbian" and time.monotonic() < until:
            time.sleep(0.05)
        assert ours("GET", "/v1/status").json["design"] == "hebbian"
        new = KeyRing(ring.path).rotate("ci")
        assert ours("GET", "/v1/count").status == 401
        assert Client(server.client.port, {"authorization": f"Bearer {new}"})("GET", "/v1/count").status == 200
        listed = Path(f"/proc/{server.running.pid}/cmdline")
        assert not listed.exists() or token not in listed.read_text()
        assert server.end(signal.SIGINT) == 0


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    first = bound(Serving(port=0))
    first.listen()
    try:
        with pytest.raises(StoreUnavailable, match="choose another --port"):
            bound(Serving(port=first.getsockname()[1]))
    finally:
        first.close()


def test_answers_are_sent_at_once() -> None:
    """asyncio switches off the wait for more to send only where a socket says that it is TCP; else an answer takes 40 ms longer."""
    with bound(Serving(port=0)) as found:
        assert found.proto == socket.IPPROTO_TCP


def test_what_is_written_in_one_go_is_sent_in_one_piece() -> None:
    class Wire:
        def __init__(self) -> None:
            self.sent, self.closed = list[bytes](), False

        def write(self, data: bytes) -> None:
            self.sent.append(data)

        def get_write_buffer_size(self) -> int:
            return 0

        def close(self) -> None:
            self.closed = True

    async def work() -> None:
        wire = Wire()
        joined = JoinedTransport(wire, asyncio.get_running_loop())  # type: ignore[arg-type]
        for piece in (b"head ", b"body"):
            joined.write(piece)
        assert wire.sent == [] and joined.get_write_buffer_size() == 9
        await asyncio.sleep(0)
        assert wire.sent == [b"head body"] and joined.get_write_buffer_size() == 0
        joined.write(b"x" * (MOST_HELD + 1))
        assert len(wire.sent) == 2  # what is large is kept back by nobody
        joined.write(b"last")
        joined.close()
        await asyncio.sleep(0)
        assert wire.sent[2:] == [b"last"] and wire.closed

    asyncio.run(work())


HEAPS = """
import ctypes, sys, threading
from memorist.surfaces.cli.serve import _share_heaps

if sys.argv[1] == "shared":
    _share_heaps()
libc, barrier = ctypes.CDLL(None), threading.Barrier(12)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]

def take():
    libc.malloc(5000)
    barrier.wait()

threads = [threading.Thread(target=take) for _ in range(12)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="no other library has a heap for each thread")
@pytest.mark.parametrize(("how", "few"), [("shared", True), ("as usual", False)])
def test_the_threads_of_a_server_share_two_heaps(how: str, few: bool) -> None:
    told = subprocess.run([sys.executable, "-c", HEAPS, how], capture_output=True, text=True, timeout=LONG, check=True)
    assert told.stdout.count("<heap nr=") >= 1 and (told.stdout.count("<heap nr=") <= 2) == few, told.stdout
