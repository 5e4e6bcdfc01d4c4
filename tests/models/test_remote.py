"""Vectors from a server: batches in order, keys that are sent and shown nowhere, failures that have a name and an end."""

import json
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy
import pytest

from memorist import Memory
from memorist.errors import Invalid, ModelUnavailable
from memorist.models import remote
from memorist.models.embed import checked, checked_name
from memorist.models.remote import RemoteEmbedder
from memorist.noun import plain
from memorist.testing import HashEmbedder

Answer = tuple[int, bytes, dict[str, str]]


class Server(HTTPServer):
    """An `/embeddings` on loopback. `answers` are given first; then it does its work."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[Answer] = []
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1/embeddings?model=toy"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(body)
        self.server.keys.append(self.headers["authorization"])
        vectors = HashEmbedder("server", 8, on_files=True).embed(body["input"]).tolist()
        data = [{"index": place, "embedding": each} for place, each in enumerate(vectors)][::-1]
        usual = (200, json.dumps({"data": data}).encode(), {})
        status, content, headers = self.server.answers.pop(0) if self.server.answers else usual
        self.send_response(status)
        for name, value in {"content-length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def at(address: str, key: str | None = None, waits: list[float] | None = None) -> RemoteEmbedder:
    embedder = RemoteEmbedder.at(address, lambda _: key)
    embedder.server.pause = ([] if waits is None else waits).append
    return embedder


def test_a_server_is_asked_in_batches_and_its_answers_are_put_in_order(server: Server) -> None:
    embedder, texts = at(server.address), [f"text {n}" for n in range(150)]
    vectors = checked(embedder, texts)
    assert numpy.allclose(vectors, checked(HashEmbedder("server", 8, on_files=True), texts), atol=1e-6)
    assert [len(body["input"]) for body in server.asked] == [64, 64, 22] or len(server.asked) == 4
    assert server.asked[0]["model"] == "toy" and server.keys[0] is None
    assert embedder.name == f"remote:toy@http://127.0.0.1:{server.server_port}/v1/embeddings"
    assert (embedder.cheap, embedder.dimension) == (False, 8)


def test_a_key_is_sent_and_shown_nowhere(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TOY_KEY", "sk-very-secret-indeed")
    caplog.set_level(logging.DEBUG)
    with Memory(tmp_path / "memory.db", embed=f"{server.address}&key=TOY_KEY") as memory:
        memory.remember("Heron at the weir")
        memory.upkeep()
        assert memory.status()["rows_waiting"] == 0
        server.answers = [(401, b"wrong key sk-very-secret-indeed", {})]
        memory.remember("Stork on the roof")
        [report, *_] = memory.upkeep()
        assert "the key was not accepted" in str(report.advice)
        shown = f"{plain(report)} {memory.status()} {caplog.text} {memory._tools.meaning.embedder()!r}"
    assert set(server.keys) == {"Bearer sk-very-secret-indeed"}
    left = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert "very-secret" not in shown and b"very-secret" not in left


@pytest.mark.parametrize(
    "key", ["sk-very-secret\n123", "sk-very-secrét", "sk-very-secret 1", "\n", "sk-very-secret\x00", None]
)
def test_what_cannot_be_a_key_is_not_sent_and_not_shown(
    key: str | None, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(ModelUnavailable, match=r"holds no key|key is missing") as refused:
        at(f"{server.address}&key=TOY_KEY", key).embed(["x"])
    assert "TOY_KEY" in str(refused.value) and server.asked == []
    assert "very-secr" not in f"{refused.value} {refused.value.__cause__} {caplog.text}"
    at(f"{server.address}&key=TOY_KEY", "sk-toy\r\n").embed(["x"])
    assert server.keys == ["Bearer sk-toy"], "the line end of a file is no part of it"


def test_what_passes_is_tried_again_and_not_for_ever(server: Server) -> None:
    waits: list[float] = []
    server.answers = [(429, b"", {"retry-after": "1"}), (503, b"", {}), (500, b"", {})]
    assert at(server.address, waits=waits).embed(["x", "y"]).shape == (2, 8)
    assert len(waits) == 3 and waits[0] == 1.0 and 0.3 <= waits[1] <= 0.6
    server.answers = [(503, b"", {})] * 50
    with pytest.raises(ModelUnavailable, match="status 503"):
        at(server.address).embed(["x", "y"])
    server.answers = [(429, b"", {"retry-after": "3600"})]
    with pytest.raises(ModelUnavailable, match="status 429"):
        at(server.address).embed(["x", "y"])
    assert len(server.asked) == 4 + remote.ATTEMPTS + 1


def test_a_question_is_asked_once_and_the_next_does_not_wait_for_what_failed(server: Server, tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embed=server.address) as memory:
        memory.remember("Heron at the weir")
        memory.upkeep()
        asked = len(server.asked)
        server.answers = [(503, b"", {})]
        assert memory._tools.meaning.in_time("heron")[0] == []
        assert memory._tools.meaning.in_time("heron")[0] == [] and memory.recall("heron")
        assert len(server.asked) == asked + 1, "the first failed, the others did not even try"
        memory._tools.meaning._resting.clear()  # time passes
        assert len(memory._tools.meaning.in_time("heron")[0]) == 1


@pytest.mark.parametrize(
    "answer, because",
    [
        ((200, b"<html>", {}), "not what"),
        ((200, b"[" * 100_000, {}), "not what"),
        ((200, b'{"data": []}', {}), "not what"),
        ((200, b'{"data": [{"index": 5, "embedding": [1]}]}', {}), "not what"),
        ((200, b'{"data": [{"index": 0, "embedding": ["a"]}]}', {}), "not what"),
        ((200, b'{"data": [{"index": 0}]}', {}), "not what"),
        ((200, b'{"data": [{"index": 1e999, "embedding": [1]}]}', {}), "not what"),
        ((200, b'{"data": [{"index": 0, "embedding": [1%s]}]}' % (b"0" * 5000), {}), "not what"),
        ((200, b'{"data": [{"index": 0, "embedding": null}]}', {}), "not what|shape|finite"),
        ((200, b'{"data": [{"index": 0, "embedding": []}]}', {}), "shape"),
        ((200, b'{"data": [{"index": 0, "embedding": [NaN, 1, 1, 1, 1, 1, 1, 1]}]}', {}), "not finite"),
        ((200, b'{"data": 5}', {}), "not what"),
        ((200, b'{"data": [{"index": 0, "embedding": [1, 2, 3]}]}', {}), "shape"),
        ((401, b"", {}), "key was not accepted"),
        ((404, b"", {}), "no such address or model"),
        ((302, b"", {"location": "http://127.0.0.1:1/"}), "status 302"),
    ],
)
def test_a_wrong_answer_of_a_server_is_named(answer: Answer, because: str, server: Server) -> None:
    embedder = at(f"{server.address}&dimensions=8")
    server.answers = [answer]
    with pytest.raises(ModelUnavailable, match=because):
        checked(embedder, ["x"])
    assert len(server.asked) == 1 and server.asked[0]["dimensions"] == 8


@pytest.mark.parametrize("head", ["HTTP/1.0 200 OK\r\n\r\n", ""])
def test_a_server_that_drips_keeps_no_question_waiting(head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bytes come often enough for every timeout that begins anew with each of them."""
    monkeypatch.setattr(remote, "SECONDS_FOR_ONE", 0.5)
    stop = threading.Event()

    class Drip(BaseHTTPRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                self.request.sendall(head.encode())
                while not stop.wait(0.05):
                    self.request.sendall(b" " if head else b"H")

    with ThreadingHTTPServer(("127.0.0.1", 0), Drip) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        began = time.monotonic()
        with pytest.raises(ModelUnavailable, match="in time"):
            at(f"http://127.0.0.1:{server.server_port}/e?model=m").embed(["a question"])
        assert 0.4 < time.monotonic() - began < 10
        stop.set()
        server.shutdown()


def test_no_proxy_stands_between_this_machine_and_itself(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, server.address.partition("/v1")[0])
    for host in ("localhost", "127.0.0.1", "[::1]"):
        with pytest.raises(ModelUnavailable, match="cannot be reached"):
            at(f"http://{host}:9/embeddings?model=toy&key=TOY_KEY", "sk-toy").embed(["x"])
    assert server.asked == []
    at("http://elsewhere.invalid/embeddings?model=toy").embed(["x"])
    assert server.keys == [None], "another machine is asked through it, and no key goes there over http"


@pytest.mark.parametrize("name, value", [("HTTPS_PROXY", "foo://x"), ("SSL_CERT_FILE", "/nonexistent")])
def test_a_wrong_environment_is_not_blamed_on_the_key(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ModelUnavailable, match=name) as refused:
        at("https://127.0.0.2:9/embeddings?model=toy&key=TOY_KEY", "sk-very-secret").embed(["x"])
    assert "TOY_KEY" not in str(refused.value) and "very-secret" not in str(refused.value)


@pytest.mark.parametrize(
    "address",
    [
        "https://host/embeddings",
        "HTTPS://host/embeddings?model=m&key=sk-secret",
        "htps://host/embeddings?model=m&key=sk-secret",
        "https://host/embeddings?model=%00",
        f"https://host/{'x' * 200}?model=m",
        "https://user:sk-secret@host/embeddings?model=m",
        "https://host/embeddings?model=m&api_key=sk-secret",
        "https://host/embeddings?model=m#sk-secret",
        "http://host/embeddings?model=m&key=A_KEY",
        "https://host/embeddings?model=m&dimensions=many",
        "https:///embeddings?model=m",
        "https://host:sk-secret/embeddings?model=m",
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_repeating_it(address: str) -> None:
    with pytest.raises(Invalid) as refused:
        checked_name(address)
    assert "sk-secret" not in str(refused.value)
