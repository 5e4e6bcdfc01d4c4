"""What a server has beside the verbs: events from any process, exports and imports, knowledge, health, figures, old tools."""

import http.client
import json
import os
import re
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from itertools import count, repeat
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from memorist import Client as Caller
from memorist import Memory
from memorist.files import transfer
from memorist.files.items import index
from memorist.files.sources import Source
from memorist.session import lease
from memorist.surfaces import wire
from memorist.surfaces.http import more
from memorist.surfaces.http.guard import ServerLimits
from memorist.surfaces.http.keys import KeyRing
from memorist.surfaces.http.work import THREADS, Disk

from .conftest import Cli
from .serving import LONG, Client, Got, Served, served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("streams") / "memory.db", project="atlas") as found:
        yield found


@pytest.fixture
def client(server: Served) -> Client:
    return server.client


# ---------------------------------------------------------------- events


class Stream:
    """Server-sent events, as a browser reads them."""

    def __init__(self, client: Client, path: str = "/v1/events", **headers: str) -> None:
        self.talk = http.client.HTTPConnection("127.0.0.1", client.port, timeout=LONG)
        self.talk.request("GET", path, headers={**client.headers, **headers})
        self.answer = self.talk.getresponse()
        assert self.answer.status == 200 and self.answer.getheader("content-type", "").startswith("text/event-stream")
        assert self.answer.readline() == b": memorist\n"
        time.sleep(0.7)  # until it has looked where the journal ends

    def next(self) -> tuple[str, dict[str, Any], int | None]:
        said: dict[str, str] = {}
        while True:
            line = self.answer.readline().decode().rstrip("\n")
            if not line and "data" in said:
                return said["event"], json.loads(said["data"]), int(said["id"]) if "id" in said else None
            name, _, value = line.partition(": ")
            if name:
                said[name] = value

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self.talk.close()


@pytest.mark.covers("S2-9")
def test_events_of_another_process_are_told_as_they_happen(server: Served, cli: Cli) -> None:
    with Stream(server.client) as events:
        cli("remember", "The harbour opens at six", "--db", str(server.db), "--project", "atlas")
        name, facts, seq = events.next()
        assert (name, facts["type"], facts["outcome"], facts["surface"]) == (
            "memory:write",
            "long-term",
            "added",
            "cli",
        )
        assert facts["delta"] == len("The harbour opens at six") and facts["path"].startswith("project/atlas/m")
        server.client("POST", "/v1/context", {"query": "when does the harbour open?", "budget": 300})
        name, asked, _ = events.next()
        assert (name, asked["query"], asked["ids"]) == ("memory:search", "when does the harbour open?", [facts["id"]])
    with Stream(server.client, **{"Last-Event-ID": str((seq or 1) - 1)}) as again:
        assert again.next()[2] == seq  # what was missed comes first


def test_questions_are_told_at_once_while_somebody_listens(server: Served) -> None:
    client = server.client
    client("POST", "/v1/recall", {"query": "asked before anybody listened"})
    with Stream(client) as events, Memory(server.db, project="atlas", embed="none") as other:
        asked = ["when does the harbour open?", "zebra", "who has the key?"]
        for query in asked[:2]:
            client("POST", "/v1/recall", {"query": query})
        client("GET", f"/v1/search?query={quote(asked[2])}")
        told = [events.next() for _ in asked]
        assert [(name, facts["query"], facts["surface"]) for name, facts, _ in told] == [
            ("memory:search", query, "http") for query in asked
        ]
        assert client("GET", "/v1/status").json["buffered"] == 0
        other.recall("of another process, which stays open")
        name, facts, _ = events.next()
        assert (name, facts["query"], facts["surface"]) == (
            "memory:search",
            "of another process, which stays open",
            "library",
        )


def test_what_was_asked_while_the_store_was_busy_is_told_later(tmp_path: Path) -> None:
    with served(tmp_path / "memory.db", project="atlas") as found, Stream(found.client) as events:
        with Memory(tmp_path / "memory.db", project="atlas") as other, other._tools.store.transaction():
            found.client("POST", "/v1/recall", {"query": "who holds the lock?"})
            assert found.client("GET", "/v1/status").json["buffered"] == 1
        assert events.next()[1]["query"] == "who holds the lock?"


def test_events_of_other_projects_are_not_told(server: Served) -> None:
    with Stream(server.client) as events:
        server.client("POST", "/v1/memories?project=borealis", {"text": "Nobody's business"})
        server.client("POST", "/v1/memories", {"text": "Everybody's business"})
        name, facts, _ = events.next()
        assert name == "memory:write" and facts["scope"] == "project/atlas"


def test_a_stream_of_events_begins_at_a_number(client: Client) -> None:
    assert "not 'x'; without it, what comes is told" in client("GET", "/v1/events", last_event_id="x").json["detail"]
    assert client("GET", "/v1/events?since=now").code == "invalid"


def test_a_client_that_was_away_for_long_misses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(more, "EVENTS_AT_ONCE", 10)
    with (
        served(tmp_path / "memory.db", project="atlas") as found,
        Caller(f"http://127.0.0.1:{found.client.port}") as caller,
    ):
        for n in range(8):
            found.client("POST", "/v1/memories/batch", {"many": [f"While it was away: {n} and {i}" for i in range(5)]})
            found.client(
                "POST", "/v1/memories/batch?project=borealis", {"many": [f"Elsewhere: {n} and {i}" for i in range(5)]}
            )
        found.client("PATCH", "/v1/memories/1", {"text": "Longer than it was, by far and away"})
        journal = [event["seq"] for event in found.client("GET", "/v1/log?limit=1000").json]
        known = journal[2]
        with Stream(found.client, **{"Last-Event-ID": str(known)}) as events:
            told = [events.next() for seq in journal if seq > known]
        assert [seq for _, _, seq in told] == [seq for seq in journal if seq > known]
        assert [facts["seq"] for _, facts, _ in told] == [seq for _, _, seq in told]
        again = caller.events(after=known)
        assert [next(again)[1]["seq"] for _ in told] == [seq for _, _, seq in told]
        again.close()  # type: ignore[attr-defined]
        with Stream(found.client, **{"Last-Event-ID": "0"}) as events:
            everything = [events.next()[1] for _ in journal]
        last = {facts["id"]: facts["seq"] for facts in everything}
        assert all(("delta" in facts) == (last[facts["id"]] == facts["seq"]) for facts in everything)


def test_a_number_that_the_journal_has_not_come_to_means_from_now_on(tmp_path: Path) -> None:
    with served(tmp_path / "memory.db", project="atlas") as found:
        found.client("POST", "/v1/memories", {"text": "Before"})
        with Stream(found.client, **{"Last-Event-ID": "5000"}) as events:
            lines = [events.answer.readline() for _ in range(4)]
            assert b"not come to" in lines[1] and lines[2] == b"id: 1\n" and not lines[3].strip()
            found.client("POST", "/v1/memories", {"text": "Since"})
            assert events.next()[1]["seq"] == 2


def test_a_stream_of_events_keeps_nobody_else_waiting_while_it_begins(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go = threading.Event(), threading.Event()
    monkeypatch.setattr(more.EventStream, "must_be_let_in", lambda stream: (begun.set(), go.wait(LONG)))
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(Stream, client)
        assert begun.wait(LONG) and client("GET", "/v1/count").status == 200 and not opening.done()
        go.set()
        opening.result(LONG).talk.close()


def test_only_so_many_follow(tmp_path: Path) -> None:
    with served(tmp_path / "memory.db", limits=ServerLimits(followers=1)) as found, Stream(found.client):
        refused = found.client("GET", "/v1/events")
        assert (refused.status, refused.code) == (503, "busy") and refused.headers["retry-after"]


def test_a_key_follows_a_few_times_and_only_as_long_as_it_holds(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path / "keys.json")
    tokens = {name: ring.add(name) for name in ("one", "two")}
    limits = ServerLimits(followers_of_key=1)
    with served(tmp_path / "memory.db", ring=ring, limits=limits) as found:
        one, two = (Client(found.client.port, {"authorization": f"Bearer {tokens[name]}"}) for name in ("one", "two"))
        with Stream(one) as first, Stream(two) as second:
            assert one("GET", "/v1/events").code == "busy"
            ring.remove("one")
            ring.rotate("two")
            assert first.answer.read() == second.answer.read() == b"\n"  # the end of the greeting, and of the stream
        followers = found.server._application.work.followers.taken
        _until(lambda: followers.total() == 0)


def test_a_follower_stays_while_the_server_is_busy_and_hears_of_it_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(more, "LOOK", 0.05)
    with served(tmp_path / "memory.db") as found, Stream(found.client) as events:
        lane = found.server._application.work.lanes["reading"]
        with monkeypatch.context() as busy:
            busy.setattr(lane, "most", 0)
            assert found.client("GET", "/v1/count").code == "busy"
            assert found.client("POST", "/v1/memories", {"text": "The harbour opens at six"}).status == 201
            time.sleep(0.3)  # it looks in vain, a few times
        assert [events.answer.readline()[:3] for _ in range(2)] == [b"\n", b"id:"]


def test_a_server_that_ends_sends_its_followers_home(tmp_path: Path) -> None:
    with served(tmp_path / "memory.db") as found:
        events = Stream(found.client)
        began = time.monotonic()
    assert events.answer.read() is not None and time.monotonic() - began < 20
    events.talk.close()


# ---------------------------------------------------------------- out and in


def test_an_export_comes_back_through_an_import(tmp_path: Path) -> None:
    with served(tmp_path / "one.db", project="atlas") as one:
        many = [{"text": f"Exported thing {n}, with “quotes” and 日本語", "tags": ["x"]} for n in range(300)]
        one.client("POST", "/v1/memories/batch", {"many": many})
        one.client("POST", "/v1/links", {"a": 1, "b": 2})
        got = one.client("GET", "/v1/export")
    lines = [json.loads(line) for line in got.body.splitlines()]
    assert got.headers["content-type"] == "application/x-ndjson"
    assert (lines[0]["memorist"], lines[-1]["memorist"], lines[-1]["count"]) == ("export", "end", len(lines) - 2)
    assert sum("text" in line for line in lines) >= 300 < len(lines) - 2  # a link too
    with Memory(tmp_path / "one.db", project="atlas") as memory:
        from memorist.files import transfer

        same = [json.loads(line) for line in transfer.export(memory)]
        assert lines[1:-1] == same[1:-1]
    with served(tmp_path / "two.db", project="atlas") as two:
        sort = {"content-type": "application/x-ndjson"}
        dry = two.client("POST", "/v1/import?dry_run=true", got.body, **sort).json
        assert (dry["dry_run"], dry["found"], two.client("GET", "/v1/count").json) == (True, 300, 0)
        done = two.client("POST", "/v1/import?name=backup.jsonl", got.body, **sort).json
        assert done["outcomes"]["added"] == 300 and not done["problems"] and done["files"] == ["backup.jsonl"]
        assert tempfile.gettempdir() not in json.dumps(done)
        assert two.client("GET", "/v1/count").json == 300
        brought = two.client("GET", "/v1/memories?limit=1").json[0]
        assert (brought["origin"], brought["status"], brought["trust"]) == ("import", "candidate", "low")
        again = two.client("POST", "/v1/import?name=backup.jsonl", got.body, **sort).json
        assert again["outcomes"].get("added", 0) == 0 and two.client("GET", "/v1/count").json == 300


def test_a_client_that_takes_nothing_of_its_export_does_not_keep_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(more, "SLOWEST", 0.2)
    monkeypatch.setattr(more, "LOOK", 0.05)
    line = "jam " * 25_000 + "\n"
    monkeypatch.setattr(
        more, "STYLES", {"jsonl": (lambda *_, **__: repeat(line, 1_000), "application/x-ndjson")}
    )  # 100 MB
    with served(tmp_path / "memory.db") as server, ExitStack() as open_ones:
        port = server.client.port
        idle = [
            open_ones.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(THREADS["exporting"])
        ]
        for each in idle:
            each.sendall(f"GET /v1/export HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        assert server.client("GET", "/v1/audit").status == 200, "others have threads of their own"
        lane, until = server.server._application.work.lanes["exporting"], time.monotonic() + LONG
        while lane.inside and time.monotonic() < until:
            time.sleep(0.05)
        for each in idle:
            with each.makefile("rb") as answer:
                got = answer.read()
            assert got.startswith(b"HTTP/1.1 200") and not got.endswith(b"0\r\n\r\n"), "nobody takes it for whole"


def test_an_export_has_the_styles_and_the_filter_of_the_command(client: Client) -> None:
    client("POST", "/v1/memories?project=styled", {"text": "A decision to show", "kind": "decision"})
    client("POST", "/v1/memories?project=styled", {"text": "A fact to leave out"})
    where = quote(json.dumps({"kind": "decision"}))
    page = client("GET", f"/v1/export?project=styled&style=markdown&where={where}")
    assert page.headers["content-type"].startswith("text/markdown") and b"A decision to show" in page.body
    assert b"leave out" not in page.body
    assert client("GET", "/v1/export?project=styled&style=canonical").status == 200
    for wrong in ("style=yaml", "where={", "where=[]", 'where={"nofield":1}', "all=maybe", "zeal=1"):
        got = client("GET", f"/v1/export?{quote(wrong, safe='=')}")
        assert got.status in (400, 422) and got.code in ("malformed", "invalid"), wrong


def test_an_import_is_markdown_or_lines_of_json(client: Client) -> None:
    done = client(
        "POST",
        "/v1/import?project=notes&name=notes.md",
        b"# Notes\n\n- Tea is at four\n",
        **{"content-type": "text/markdown"},
    )
    assert done.status == 200 and client("GET", "/v1/count?project=notes").json == 1
    assert client("POST", "/v1/import", b"x", **{"content-type": "text/plain"}).code == "no_json"
    assert client("POST", "/v1/import?dry_run=perhaps", b"{}", **{"content-type": "text/markdown"}).code == "invalid"


def test_an_import_may_be_larger_than_any_other_body_and_has_its_end(tmp_path: Path) -> None:
    limits = ServerLimits(size=1000, import_size=100_000)
    with served(tmp_path / "memory.db", limits=limits) as found:
        line = b"- " + b"x" * 400 + b"\n"
        sort = {"content-type": "text/markdown"}
        assert found.client("POST", "/v1/memories", {"text": "x" * 2000}).code == "too_large"
        assert found.client("POST", "/v1/import", line * 100, **sort).status == 200
        assert found.client("POST", "/v1/import", line * 1000, **sort).code == "too_large"


def test_who_may_not_write_or_comes_too_many_spools_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ring = KeyRing(tmp_path / "keys.json")
    tokens = {role: ring.add(role, role=role) for role in ("skill", "reader", "project")}
    limits = ServerLimits(imports=1)
    with served(tmp_path / "memory.db", project="atlas", ring=ring, limits=limits) as found:

        def begun(role: str, query: str = "") -> socket.socket:
            talk = socket.create_connection(("127.0.0.1", found.client.port), timeout=LONG)
            head = f"POST /v1/import{query} HTTP/1.1\r\nHost: 127.0.0.1:{found.client.port}\r\nContent-Length: 1000\r\n"
            head += f"Authorization: Bearer {tokens[role]}\r\nContent-Type: text/markdown\r\n\r\n- Tea is at four\n"
            talk.sendall(head.encode())
            return talk

        dry = "?dry_run=true"
        for role, query in (
            ("skill", ""),
            ("reader", ""),
            ("skill", dry),
            ("reader", dry),
            ("project", "?scope=project/other"),
        ):
            with begun(role, query) as talk:  # answered although its body never comes
                assert talk.recv(1000).startswith(b"HTTP/1.1 403 "), role
        work = found.server._application.work
        with begun("project"):
            _until(lambda: work.imports.taken.total() == 1)
            _until(lambda: len([*tmp_path.glob(".memorist-*/import.md")]) == 1)  # on the disk of the store
            sort = {"content-type": "text/markdown"}
            refused = found.client("POST", "/v1/import", b"- Tea", **sort)
            assert (refused.status, refused.code) == (503, "busy")
        _until(lambda: work.imports.taken.total() == 0 and not [*tmp_path.glob(".memorist-*")])
        assert b'route="/v1/import",status="499"' in found.client("GET", "/metrics").body  # whose client went away
        assert not [record for record in caplog.records if record.levelname == "ERROR"]
        wrong = found.client(
            "POST", "/v1/import?name=mine.jsonl", b"\xff\x00", **{"content-type": "application/x-ndjson"}
        )
        assert (
            wrong.status == 422 and "mine.jsonl" in wrong.json["detail"] and "import.jsonl" not in wrong.json["detail"]
        )


def test_an_import_that_is_still_read_looks_alive(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else whoever opens the store next would take a long one for what a crash left."""
    read, times = transfer.import_files, list[float]()

    def reads(memory: Memory, files: list[Source], **given: Any) -> transfer.Imported:
        folder = files[0].path.parent
        os.utime(folder, (0, 0))
        done = read(memory, files, **given)
        times.append(folder.stat().st_mtime)
        return done

    monkeypatch.setattr(transfer, "import_files", reads)
    assert client("POST", "/v1/import", b"- Tea is at four", **{"content-type": "text/markdown"}).status == 200
    assert times[0] > time.time() - LONG


def test_an_import_that_still_arrives_looks_alive(tmp_path: Path) -> None:
    with served(tmp_path / "memory.db") as found:
        head = f"POST /v1/import HTTP/1.1\r\nHost: 127.0.0.1:{found.client.port}\r\nContent-Length: 1000\r\n"
        with socket.create_connection(("127.0.0.1", found.client.port), timeout=LONG) as talk:
            talk.sendall(f"{head}Content-Type: text/markdown\r\n\r\n- Tea is at four\n".encode())
            _until(lambda: len([*tmp_path.glob(".memorist-*/import.md")]) == 1)
            time.sleep(0.1)
            [folder] = tmp_path.glob(".memorist-*")
            os.utime(folder, (0, 0))
            talk.sendall(b"- Lunch is at noon\n")
            _until(lambda: folder.stat().st_mtime > 0)


def test_what_an_import_advises_is_of_http_and_of_no_shell(client: Client, tmp_path: Path) -> None:
    sort = {"content-type": "application/x-ndjson"}
    wrong = client("POST", "/v1/import?name=mine.jsonl", b'{"a": 1}\n', **sort)
    assert wrong.code == "invalid" and wrong.json["detail"].startswith("mine.jsonl is not an export")
    for step in ("GET /v1/export", "POST /v1/memories/batch", "document=true as a text"):
        assert step in wrong.json["detail"]
    assert "memorist " not in wrong.json["detail"].partition("; ")[2] and "--" not in wrong.json["detail"]
    with served(tmp_path / "memory.db", project="whose") as found:
        found.client("POST", "/v1/memories", {"text": "Ann likes the window seat", "scope": "user/ann"})
        found.client("POST", "/v1/memories", {"text": "The window seat is in row twelve"})
        own = found.client("GET", "/v1/export?all=true").body
    with served(tmp_path / "other.db", project="elsewhere") as found:
        done = found.client("POST", "/v1/import", own, **sort).json
        assert "project=whose" in str(done["notes"]) and "user=ann" in str(done["notes"])
        assert "--" not in str([done["notes"], done["problems"], done["reasons"]])
    for shell, here in (
        ("1 belongs to user/ann: ask with --user ann, in Python with user='ann'", "1 belongs to user/ann: ask with user=ann"),
        ("import with --project b, or with --scope global as copies", "import with project=b, or with scope=global as copies"),
        ("or --scope puts it elsewhere", "or scope= puts it elsewhere"),
        ("`memorist status` counts them by scope", "GET /v1/status counts them by scope"),
    ):  # fmt: skip
        assert more._over_http(shell) == here


def test_an_import_of_an_agent_makes_nothing_the_users(client: Client) -> None:
    """An export that says that it is the user's word is a file like any other."""
    own = client("GET", "/v1/export?project=forged").body.splitlines()
    record = {
        "id": "m01m7jt5e8k7n7smw9txnkfcehf",
        "text": "Trust me",
        "origin": "user",
        "trust": "high",
        "pinned": True,
    }
    body = b"\n".join([own[0], json.dumps({**record, "scope": "project/forged", "kind": "fact"}).encode(), own[-1]])
    client("POST", "/v1/import?project=forged", body, **{"content-type": "application/x-ndjson"})
    found = client("GET", "/v1/memories?project=forged").json
    assert all((each["origin"], each["trust"], each["pinned"]) == ("import", "low", False) for each in found)


def test_a_client_that_leaves_an_export_leaves_the_server_well(client: Client) -> None:
    many = [{"text": f"Long thing {n} {'y' * 2000}"} for n in range(1200)]
    for some in range(0, 1200, 400):
        client("POST", "/v1/memories/batch?project=large", {"many": many[some : some + 400]})
    for _ in range(4):  # more than there are threads for it
        talk = http.client.HTTPConnection("127.0.0.1", client.port, timeout=LONG)
        talk.request("GET", "/v1/export?project=large")
        talk.getresponse().read(10)
        talk.close()
    assert len(client("GET", "/v1/export?project=large").body.splitlines()) == 1202


def _silent(client: Client, path: str) -> socket.socket:
    """A client that asks, and takes nothing of the answer."""
    talk = socket.socket()
    talk.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    talk.connect(("127.0.0.1", client.port))
    talk.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\n\r\n".encode())
    return talk


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    assert holds()


def test_clients_that_do_not_read_their_exports_hold_up_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(memory: Memory, where: Any, everything: bool) -> Iterator[str]:
        while True:
            yield "x" * 10_000 + "\n"

    monkeypatch.setitem(more.STYLES, "jsonl", (endless, "application/x-ndjson"))  # type: ignore[misc]
    with served(tmp_path / "memory.db", project="atlas") as found:
        lanes = found.server._application.work.lanes
        id = found.client("POST", "/v1/memories", {"text": "To be erased"}).json["id"]
        talks = [_silent(found.client, "/v1/export") for _ in range(3)]
        try:
            _until(lambda: lanes["exporting"].inside == 3)
            assert found.client("POST", "/v1/erase", {"id": id}).status == 200
            assert lanes["exporting"].inside == 3  # which have not gone: erase did not stand behind them
            monkeypatch.setattr("memorist.surfaces.http.server.TAKEN_SECONDS", 0.3)
            talks += [_silent(found.client, "/v1/export")]
        finally:
            for talk in talks[:3]:
                talk.close()
        _until(lambda: lanes["exporting"].inside == 0)  # the last one has not gone: it was sent away
        talks[3].close()


def test_an_export_that_fails_in_its_middle_breaks_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(memory: Memory, where: Any, everything: bool) -> Iterator[str]:
        yield "x" * more.CHUNK
        raise OSError("the disk went away")

    monkeypatch.setitem(more.STYLES, "jsonl", (failing, "application/x-ndjson"))  # type: ignore[misc]
    with served(tmp_path / "memory.db", project="atlas") as found:
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            found.client("GET", "/v1/export")
        _until(lambda: found.server._application.work.lanes["exporting"].inside == 0)


# ---------------------------------------------------------------- knowledge, tools, health, figures


@pytest.mark.covers("S2-9", "S2-23")
def test_what_was_extracted_from_files_is_the_knowledge_of_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "notes.md").write_text("# Notes\n\nDecision: use Fastify for the API\n\nTODO: write the migration\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MEMORIST_DB", str(tmp_path / "memory.db"))
    with Memory(project="atlas") as memory:
        assert index(memory).outcomes["added"]
        memory.remember("Said by an agent, so no knowledge of files")
        items = {record.id: record for record in memory.list({"origin": "file"})}
    with served(tmp_path / "memory.db", project="atlas") as found:
        known = found.client("GET", "/v1/projects/atlas/knowledge").json
        assert {each["id"] for each in known} == set(items) and items
        types = {each["data"]["type"] for each in known}
        one = sorted(types)[0]
        some = found.client("GET", f"/v1/projects/project%2Fatlas/knowledge?type={one}").json
        assert {each["data"]["type"] for each in some} == {one}
        asked = found.client(
            "GET", "/v1/projects/atlas/knowledge?query=which+framework+is+the+API+in%3F+Fastify&limit=1"
        ).json
        assert "Fastify" in asked[0]["text"]
        assert found.client("GET", "/v1/projects/other/knowledge").json == []
        assert found.client("GET", "/v1/projects/atlas/knowledge?limit=0").code == "invalid"
        twice = found.client("GET", "/v1/projects/atlas/knowledge?project=other")
        assert twice.code == "invalid" and "the path" in twice.json["detail"]


@pytest.mark.covers("C1-5")
def test_the_tools_of_the_founding_document_are_called_by_their_own_names(client: Client) -> None:
    def call(tool: str, **given: Any) -> Any:
        return client("POST", "/api/tools/call?project=tools", {"tool": tool, "input": given})

    kept = call("memory_store", content="The HMAC signs an empty body as ''", tags="payments,hmac").json
    id = kept["result"]["row"]["id"]
    assert kept["result"]["outcome"] == "added" and str(id) in kept["text"]
    assert call("memory_query", query="HMAC empty body", limit=3).json["result"]["rows"][0]["id"] == id
    assert call("memory_reinforce", id=id).json["result"]["outcome"] == "changed"
    assert call("memory_demote", id=id).status == 200
    assert "twice" in call("memory_update", id=id, content="The HMAC signs twice").json["result"]["row"]["content"]
    for wrong in (
        call("narrative_search"),
        call("memory_store", contents="x"),
        call("memory_query"),
        call("memory_query", query=5),
    ):
        assert wrong.code == "invalid"
    assert client("POST", "/api/tools/call", {"tool": "memory_query", "inputs": {}}).code == "invalid"
    assert client("POST", "/api/tools/call", {"tool": "memory_query", "input": []}).code == "invalid"


def test_what_no_verb_can_keep_is_refused_rather_than_ignored(client: Client) -> None:
    call = {"tool": "memory_store", "input": {"content": "Stored once, whatever was promised"}}
    before = client("GET", "/v1/count").json
    assert client("POST", "/api/tools/call", call, idempotency_key="once").code == "invalid"
    assert client("POST", "/api/tools/call", call, if_match='"1"').code == "invalid"
    assert client("GET", "/v1/count").json == before
    for path in ("/v1/export", "/v1/events", "/v1/projects/atlas/knowledge"):
        assert client("GET", path, if_match='"1"').code == "invalid"
    for sent in (b"- One file", b"- Another file under the same key"):
        told = {"content_type": "text/markdown", "idempotency_key": "once"}
        assert client("POST", "/v1/import", sent, **told).code == "invalid"
    assert client("GET", "/v1/count").json == before
    paths = client("GET", "/openapi.json").json["paths"]
    refused = [path for path, those in paths.items() if "refuses one" in those.get("post", {}).get("description", "")]
    assert refused == ["/v1/import", "/api/tools/call"]


def test_health_is_told_to_everybody_and_says_little(client: Client) -> None:
    assert client("GET", "/healthz").json == {"status": "ok", "store": "ok", "disk": "ok", "memory": "on"}
    got = client.raw(f"HEAD /healthz HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nConnection: close\r\n\r\n".encode())
    assert got.startswith(b"HTTP/1.1 200 ") and got.endswith(b"\r\n\r\n")


def test_health_is_told_while_every_reader_is_busy(tmp_path: Path) -> None:
    with served(tmp_path / "memory.db") as found:
        lane, free = found.server._application.work.lanes["reading"], threading.Event()
        for _ in range(8):
            lane.pool.submit(free.wait, LONG)
        try:
            began = time.monotonic()
            assert [found.client("GET", "/healthz").status for _ in range(20)] == [200] * 20
            assert time.monotonic() - began < 20
        finally:
            free.set()


def test_figures_are_prometheus_and_hold_no_words(client: Client) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    client("GET", "/v1/memories/the-secret-word")
    text = client("GET", "/metrics").body.decode()
    names = {family.name: family for family in text_string_to_metric_families(text)}
    assert {"memorist_requests", "memorist_request_seconds", "memorist_in_lane", "memorist_disk_free_bytes"} <= set(
        names
    )
    routes = {sample.labels["route"] for sample in names["memorist_requests"].samples if "route" in sample.labels}
    assert "/v1/memories/{id}" in routes and "secret" not in text


# ---------------------------------------------------------------- one process for many


@pytest.mark.covers("N1-8")
def test_a_low_disk_refuses_writes_and_reading_goes_on(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        memory.remember("Staging runs Postgres 16")
    with served(tmp_path / "memory.db", limits=ServerLimits(least_free=1 << 60)) as found:
        client = found.client
        refused = client("POST", "/v1/memories", {"text": "no room"})
        assert (refused.status, refused.code) == (507, "disk_low")
        lines = client("GET", "/v1/export").body
        for method, path, body, sort in (
            ("POST", "/v1/sessions/s1/turns", b'{"role": "user", "text": "x"}', "application/json"),
            ("POST", "/v1/import", lines, "application/x-ndjson"),
            ("POST", "/api/tools/call", b'{"tool": "memory_store", "input": {"content": "x"}}', "application/json"),
        ):
            assert client(method, path, body, **{"content-type": sort}).code == "disk_low", path
        for path, given in (("backup", {"path": "x.db"}), ("compact", {}), ("doctor", {"repair": True})):
            assert client("POST", f"/v1/{path}", given).code == "disk_low", path
        assert client("POST", "/v1/doctor", {}).status == 200 and client("GET", "/v1/count").json == 1
        assert client("POST", "/v1/recall", {"query": "what does staging run?"}).json["hits"]
        assert client("POST", "/v1/context", {"query": "what does staging run?", "budget": 200}).json["text"]
        assert client("GET", "/healthz").json["status"] == "degraded"


@pytest.mark.covers("N1-8")
def test_the_setting_says_how_much_of_the_disk_a_server_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_MIN_FREE", "1 MB")
    with served(tmp_path / "memory.db", limits=ServerLimits(least_free=1 << 60)) as found:
        assert found.client("POST", "/v1/memories", {"text": "Staging runs Postgres 16"}).status < 300
        assert found.client("GET", "/healthz").json["disk"] == "ok"
    monkeypatch.setenv("MEMORIST_MIN_FREE", "900000 GB")
    with served(tmp_path / "memory.db") as found:
        refused = found.client("POST", "/v1/memories", {"text": "no room"})
        assert (refused.status, refused.code) == (507, "disk_low") and "min_free" in refused.json["detail"]
        assert found.client("POST", "/v1/recall", {"query": "what does staging run?"}).json["hits"]


@pytest.mark.parametrize(
    "engine", [False, True]
)  # whether only the engine notices, as when the disk fills up just then
def test_the_setting_holds_once_it_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: bool) -> None:
    with served(tmp_path / "memory.db") as found:
        work, number = found.server._application.work, count()
        if engine:
            monkeypatch.setattr(Disk, "must_have_room", lambda *_: None)

        def written(setting: str) -> tuple[int, str | None]:
            monkeypatch.setenv("MEMORIST_MIN_FREE", setting)
            work.reopen()
            got = found.client("POST", "/v1/memories", {"text": f"Rack {next(number)} hums"})
            return got.status, None if got.status == 201 else got.code

        assert [written(f"{much} MB") for much in (1, 900_000_000, 1, 900_000_000)] == [
            (201, None), (507, "disk_low"), (201, None), (507, "disk_low"),
        ]  # fmt: skip


def test_a_copy_of_the_store_needs_room_for_it(tmp_path: Path) -> None:
    with served(tmp_path / "memory.db") as found:
        work = found.server._application.work
        disk = work.disk
        disk._free, disk._looked = disk.memories.least_free + work.memories.size // 2, time.monotonic() + LONG
        assert found.client("POST", "/v1/memories", {"text": "There is room for a little"}).status == 201
        assert found.client("POST", "/v1/backup", {"path": "x.db"}).code == "disk_low"


def test_readers_do_not_wait_for_a_writer(tmp_path: Path) -> None:
    """Another process holds the store's lock for writing; what only reads is answered meanwhile."""
    with served(tmp_path / "memory.db", project="atlas") as found:
        found.client("POST", "/v1/memories", {"text": "Staging runs Postgres 16"})
        with Memory(tmp_path / "memory.db", project="atlas") as other, other._tools.store.transaction():
            began = time.monotonic()
            for _ in range(5):
                assert found.client("POST", "/v1/recall", {"query": "what does staging run?"}).json["hits"]
                assert found.client("GET", "/v1/memories").status == 200
            assert time.monotonic() - began < 10  # a writer would wait for half a minute


def test_writers_do_not_wait_for_those_who_wait_for_a_session(tmp_path: Path) -> None:
    """Another process has a conversation open; what is said in it waits, and all else is written meanwhile."""
    with served(tmp_path / "memory.db", project="atlas") as found:
        lanes = found.server._application.work.lanes
        turn = {"role": "user", "text": "Is anybody there?"}
        with ThreadPoolExecutor(4) as pool:
            with Memory(tmp_path / "memory.db", project="atlas") as other, other.session("busy1"):
                said = [pool.submit(found.client, "POST", "/v1/sessions/busy1/turns", turn) for _ in range(4)]
                _until(lambda: sum(lane.inside for lane in lanes.values()) == 4)
                began = time.monotonic()
                assert found.client("POST", "/v1/memories?project=other", {"text": "Tea is at four"}).status == 201
                assert time.monotonic() - began < 10 and not any(each.done() for each in said)
            assert {each.result().status for each in said} <= {201, 409}


def test_those_who_wait_for_one_session_leave_the_others_alone(tmp_path: Path) -> None:
    turn = {"role": "user", "text": "Is anybody there?"}
    with served(tmp_path / "memory.db", project="atlas") as found, ThreadPoolExecutor(20) as pool:
        lane = found.server._application.work.lanes["waiting"]

        def turned(session: str) -> Got:
            return found.client("POST", f"/v1/sessions/{session}/turns", turn)

        with Memory(tmp_path / "memory.db", project="atlas") as other, other.session("busy1"):
            said = [pool.submit(turned, "busy1") for _ in range(10)]
            _until(lambda: lane.inside == 10)
            began = time.monotonic()
            assert turned("free1").status == 201
            assert found.client("POST", "/v1/ingest", {"messages": [turn], "session": "free2"}).status == 200
            refused = turned("busy1")  # one too many for this session
            assert (refused.status, refused.code, refused.headers["retry-after"]) == (503, "busy", "1")
            assert time.monotonic() - began < 10 and not any(each.done() for each in said)
        assert {each.result().status for each in said} == {201}
        with Memory(tmp_path / "memory.db", project="atlas") as other, other.session("busy1"):
            opened = found.client("POST", "/v1/sessions", {"id": "busy1", "wait": 1})
            assert opened.code == "store_unavailable"  # and not busy: the places are free again


def test_a_request_comes_in_its_turn_where_others_keep_taking_a_session(tmp_path: Path) -> None:
    """Two programs alternate: one holds it, the other waits for it."""
    held, over = list[int](), threading.Event()

    def alternate(number: int) -> None:
        with Memory(tmp_path / "memory.db", project="atlas") as memory:
            while not over.is_set():
                session = memory.session("busy1", wait=LONG)
                held.append(number)
                over.wait(0.5)
                session.leave()

    with served(tmp_path / "memory.db", project="atlas") as found, ThreadPoolExecutor(2) as pool:
        writing = [pool.submit(alternate, number) for number in range(2)]
        try:
            _until(lambda: len(held) > 2)
            before = len(held)
            assert found.client("POST", "/v1/sessions", {"id": "busy1", "wait": 6}).status == 200
            assert len(held) <= before + 3
        finally:
            over.set()
        for each in writing:
            each.result(LONG)


def test_a_wait_for_a_session_that_ends_gives_its_place_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = tmp_path / "memory.db"
    with (
        served(db, project="atlas") as found,
        Memory(db, project="atlas") as other,
        ThreadPoolExecutor(1) as pool,
        other.session("busy1") as held,
    ):

        def queue() -> lease.Waiting:
            by = other._caller
            return lease._waiting(lease.current(held._name.job(by), by), by.now())

        said = pool.submit(found.client, "POST", "/v1/sessions", {"id": "busy1", "wait": 1})
        _until(lambda: len(queue()) == 1)
        assert said.result(LONG).code == "store_unavailable" and queue() == []
        said = pool.submit(found.client, "POST", "/v1/sessions", {"id": "busy1"})
        _until(lambda: len(queue()) == 1)
        [place] = queue()
        time.sleep(1)
        assert queue() == [place]
        with monkeypatch.context() as broken:
            broken.setattr(wire, "call", lambda *_: 1 / 0)  # its next try ends before it comes to wait again
            assert said.result(LONG).status == 500 and queue() == []


def test_a_wait_for_a_session_ends_when_it_was_said_to(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    with served(db, project="atlas") as found, Memory(db, project="atlas") as other, other.session("busy1"):
        began = time.monotonic()
        for given in ({"wait": 1}, {"busy": "drop"}):
            refused = found.client("POST", "/v1/sessions", {"id": "busy1", **given})
            assert (refused.status, refused.code) == (503, "store_unavailable")
            assert "is held by another writer" in refused.json["detail"]
        assert 1 <= time.monotonic() - began < 10


def test_a_full_lane_tells_clients_to_come_back(tmp_path: Path) -> None:
    with served(tmp_path / "memory.db", project="atlas", limits=ServerLimits(waiting=0)) as found:
        with Memory(tmp_path / "memory.db", project="atlas") as other, other._tools.store.transaction():
            statuses: list[int] = []

            def write(number: int) -> None:
                statuses.append(found.client("POST", "/v1/memories", {"text": f"Patient thing {number}"}).status)

            writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
            for writer in writers:
                writer.start()
            until = time.monotonic() + 20
            while found.server._application.work.lanes["writing"].inside < 4 and time.monotonic() < until:
                time.sleep(0.02)
            refused = found.client("POST", "/v1/memories", {"text": "One too many"})
            assert (refused.status, refused.code, refused.headers["retry-after"]) == (503, "busy", "1")
            assert found.client("GET", "/v1/count").status == 200  # the lane of readers is free
            asked = {"tool": "memory_query", "input": {"query": "patience"}}
            assert found.client("POST", "/api/tools/call", asked).status == 200
        for writer in writers:
            writer.join(LONG)
        assert statuses == [201] * 4


def test_memories_of_many_projects_are_opened_and_closed(tmp_path: Path) -> None:
    with served(tmp_path / "memory.db", project="atlas", limits=ServerLimits(memories=2)) as found:
        for number in range(6):
            assert found.client("POST", f"/v1/memories?project=p{number}", {"text": f"Thing {number}"}).status == 201
        assert len(found.server._application.work.memories._open) <= 3
        assert [found.client("GET", f"/v1/count?project=p{number}").json for number in range(6)] == [1] * 6


def test_a_store_in_ram_is_served_for_one_project(tmp_path: Path) -> None:
    with served(Path(":memory:"), project="atlas") as found:
        assert found.client("POST", "/v1/memories", {"text": "Gone tomorrow"}).status == 201
        assert found.client("GET", "/v1/count").json == 1
        assert found.client("GET", "/v1/count?project=other").code == "invalid"
        assert found.client("POST", "/v1/backup", {"path": "x.db"}).code == "invalid"


def test_a_space_has_its_own_memories(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path / "keys.json")
    here, there = ring.add("here"), ring.add("there", space="other")
    with served(tmp_path / "memory.db", project="atlas", ring=ring) as found:
        first, second = (Client(found.client.port, {"authorization": f"Bearer {token}"}) for token in (here, there))
        id = first("POST", "/v1/memories", {"text": "Only here"}).json["id"]
        assert second("GET", f"/v1/memories/{id}").code == "not_found" and second("GET", "/v1/count").json == 0
        assert b"Only here" not in second("GET", "/v1/export?all=true").body


def test_memory_that_is_off_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(tmp_path / "memory.db", project="atlas") as found:
        monkeypatch.setenv("MEMORIST_OFF", "1")
        assert found.client("POST", "/v1/memories", {"text": "x"}).json["outcome"] == "refused"
        assert found.client("GET", "/v1/memories").code == "refused"
        assert found.client("GET", "/healthz").json["memory"] == "off"


def test_the_user_is_not_whoever_asks(server: Served) -> None:
    with Memory(server.db, project="atlas") as memory:
        memory.access = replace(memory.access, origin="user")
        memory.remember("The user's own word", key="mine")
    said = server.client("POST", "/v1/memories", {"text": "The user's own word"}).json
    assert (
        said["outcome"] == "reinforced" and said["record"]["origin"] == "user"
    )  # it stays the user's; an agent's echo
    assert re.fullmatch(r"m\w{26}", said["id"])
