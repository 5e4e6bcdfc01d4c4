"""A real server for tests: uvicorn on a port of this machine, in a thread or in a process of its own, on a real SQLite file."""

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memorist.surfaces.http.server import Server, Serving, serve

LONG = 60.0  # seconds after which something hangs


@dataclass(frozen=True)
class Got:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        assert self.headers["content-type"] == "application/problem+json", self
        assert {"type", "title", "status", "detail", "code", "request_id"} == self.json.keys()
        assert self.json["status"] == self.status and self.json["request_id"] == self.headers["x-request-id"]
        assert self.json["detail"]
        return str(self.json["code"])


@dataclass(frozen=True)
class Client:
    """`client("GET", "/v1/memories/1")` asks the server at `port`; what is no bytes is sent as JSON."""

    port: int
    headers: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Got:
        sent = {name.replace("_", "-"): value for name, value in {**self.headers, **headers}.items()}
        if body is not None and not isinstance(body, bytes):
            body, sent = json.dumps(body).encode(), {"content-type": "application/json", **sent}
        talk = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONG)
        try:
            talk.request(method, path, body, sent)
            answer = talk.getresponse()
            for name in ("content-length", "content-type"):  # a strict client reads no answer that has two
                assert len(answer.headers.get_all(name) or ()) < 2, answer.getheaders()
            return Got(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            talk.close()

    def raw(self, sent: bytes, wait: float = 10.0, whole: bool = True) -> bytes:
        """What the server says to these bytes, until it closes the connection or says nothing for a while."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as talk:
            got = b""
            try:
                talk.sendall(sent)  # which may be refused before all of it is there
                while chunk := talk.recv(65536):
                    got += chunk
                    if not whole and b"\r\n\r\n" in got:
                        return got
            except (TimeoutError, ConnectionError):
                pass
            return got


@dataclass(frozen=True)
class Served:
    client: Client
    db: Path
    server: Server


@contextmanager
def served(db: Path, **serving: Any) -> Iterator[Served]:
    """A server in a thread of this process."""
    up, found = threading.Event(), dict[str, Any]()

    def ready(address: str, memories: Any) -> None:
        found["port"] = int(address.rpartition(":")[2])
        up.set()

    def run() -> None:
        try:
            serve(Serving(str(db), port=0, **serving), ready, lambda server: found.update(server=server))
        except BaseException as problem:
            found["problem"] = problem
            raise
        finally:
            up.set()

    thread = threading.Thread(target=run)
    thread.start()
    assert up.wait(LONG)
    try:
        yield Served(Client(found["port"]), db, found["server"])
    finally:
        if "server" in found:
            found["server"].should_exit = True
        thread.join(LONG)
        assert not thread.is_alive()


@dataclass(frozen=True)
class Process:
    """`memorist serve` in a process of its own."""

    running: "subprocess.Popen[bytes]"
    client: Client
    said: Path  # its standard error

    def end(self, number: int) -> int:
        self.running.send_signal(number)
        return self.running.wait(LONG)


@contextmanager
def process(folder: Path, db: Path, *options: str) -> Iterator[Process]:
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "memorist", "serve", "--db", str(db), "--port", "0", "--json", *options]
    said = folder / "server.err"
    with said.open("ab") as errors:
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, cwd=folder, env=env)
    try:
        assert running.stdout is not None
        line = running.stdout.readline()
        assert line, said.read_text()
        yield Process(running, Client(int(json.loads(line)["url"].rpartition(":")[2])), said)
    finally:
        if running.poll() is None:
            running.kill()
        running.wait(LONG)
        if running.stdout is not None:
            running.stdout.close()
