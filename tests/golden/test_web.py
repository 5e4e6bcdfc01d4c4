"""Over HTTP: the answers of the library with a status, versions, keys against doubles, pages, and a door that no web page opens."""

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from golden.driver import CONTRACT, FIGURES, PULSE, Shell, Web, route, serving
from golden.outside_fixtures import shell_in

JSON = {"content-type": "application/json"}


def test_a_memory_from_its_first_day_to_its_last(web: Web) -> None:
    made = web("remember", text="Staging runs Postgres 16", kind="decision", tags=["db"])
    assert (made.status, made.data["outcome"], made.data["record"]["kind"]) == (201, "added", "decision")
    assert web.send("GET", made.headers["location"]).data["text"] == "Staging runs Postgres 16"
    id = made.data["id"]
    again = web("remember", text="Staging runs Postgres 16")
    assert (again.status, again.data["outcome"], again.data["id"]) == (200, "reinforced", id)
    assert web("revise", id=id, text="Staging runs Postgres 17").data["outcome"] == "changed"
    found = web("recall", query="what does staging run?", limit=3)
    assert found.texts[0] == "Staging runs Postgres 17" and {"hits", "receipt", "empty_because"} <= found.data.keys()
    told = web("context", query="what does staging run?", budget=300)
    assert "Postgres 17" in told.data["text"] and 0 < told.data["tokens"] <= 300
    assert web("receipt", id=told.data["receipt"]).data["text"] == told.data["text"]
    assert web("used", receipt=told.data["receipt"], answer="staging runs Postgres 17").data["changed"]
    for verb, given in (("pin", {}), ("tag", {"tags": ["ops"]}), ("feedback", {"verdict": "useful"})):
        assert web(verb, id=id, **given).data["outcome"] == "changed", verb
    seen = web("get", id=id).data
    assert seen["pinned"] and seen["counters"]["up"] == 1 and set(seen["tags"]) == {"db", "ops"}
    assert web("forget", id=id).data["outcome"] == "changed" and web("get", id=id).data["state"] == "archived"
    assert not web("recall", query="what does staging run?").texts
    assert web("restore", id=id).status == 200 and web("undo").status == 200
    assert web("history", id=id).data[0]["verb"] == "added"
    assert web("audit").data["ok"]


@pytest.mark.covers("Z19")
@pytest.mark.parametrize(("verb", "given", "status", "error"), [
    ("get", {"id": "m" + "0" * 26}, 404, "not_found"), ("get", {"id": "x y"}, 404, "not_found"),
    ("remember", {"text": ""}, 422, "invalid"), ("remember", {"text": "x", "nonsense": 1}, 422, "invalid"),
    ("remember", {"text": 7}, 422, "invalid"), ("remember", {}, 422, "invalid"),
    ("recall", {"query": "x", "limit": -1}, 422, "invalid"),
    ("recall", {"query": "x", "limit": "many"}, 422, "invalid"), ("list", {"limit": "x"}, 422, "invalid"),
    ("list", {"order": "__class__"}, 422, "invalid"), ("feedback", {"id": 1, "verdict": "lovely"}, 422, "invalid"),
    ("receipt", {"id": "r0"}, 404, "not_found"), ("list", {"cursor": "made up"}, 422, "invalid"),
    ("review", {"id": "q999", "decide": "approve"}, 403, "refused"), ("backup", {"path": "../x.db"}, 422, "invalid"),
])  # fmt: skip
def test_what_is_wrong_has_its_status_and_its_code(
    web: Web, verb: str, given: dict[str, object], status: int, error: str
) -> None:
    said = web(verb, **given)
    assert (said.status, said.error) == (status, error), said.text
    assert said.headers["content-type"] == "application/problem+json"
    assert {"status", "detail", "code", "request_id"} <= said.data.keys() and said.data["detail"]


@pytest.mark.covers("Z19")
@pytest.mark.parametrize(("method", "path", "body", "headers", "status"), [
    ("GET", "/v1/nowhere", None, {}, 404), ("PUT", "remember", b"{}", JSON, 405), ("POST", "remember", b"{", JSON, 400),
    ("POST", "remember", b"[]", JSON, 400), ("POST", "remember", b'{"text": "x"}', {"content-type": "text/plain"}, 415),
    ("POST", "remember", b'{"text": "x", "text": "y"}', JSON, 400), ("POST", "remember", b"[" * 5000, JSON, 400),
    ("POST", "remember", b'{"text": "x", "importance": NaN}', JSON, 400),
])  # fmt: skip
def test_what_is_no_request_is_refused(
    web: Web, method: str, path: str, body: bytes | None, headers: dict[str, str], status: int
) -> None:
    said = web.send(method, path, body, headers)
    assert said.status == status and said.data["code"], said.text


@pytest.mark.covers("P2")
def test_a_version_is_kept_to(web: Web) -> None:
    made = web("remember", text="The lift stops at floor 3")
    id, first = made.data["id"], made.headers["etag"]
    known = web("get", id=id).headers["etag"]
    assert web("get", id=id, headers={"if-none-match": known}).status == 304
    assert web("revise", id=id, text="The lift stops at floor 4", headers={"if-match": first}).status == 200
    stale = web("revise", id=id, text="The lift stops at floor 5", headers={"if-match": first})
    assert (stale.status, stale.error) == (409, "conflict")
    assert web("forget", id=id, headers={"if-match": known}).error == "conflict"
    assert web("get", id=id).data["text"] == "The lift stops at floor 4"
    assert web("revise", id=id, text="The lift rests", headers={"if-match": "no etag"}).error == "invalid"
    assert web("forget", id=id, headers={"if-match": web("get", id=id).headers["etag"]}).status == 200


@pytest.mark.covers("P2")
def test_what_is_sent_again_is_done_once(web: Web) -> None:
    key = {"idempotency-key": "note-7"}
    first, again = (web("remember", text="Sent twice", headers=key) for _ in range(2))
    assert (first.data["outcome"], again.data["outcome"], again.data["id"]) == ("added", "repeated", first.data["id"])
    assert web("remember", text="Something else", headers=key).status == 409
    vote = {"idempotency-key": "vote-7"}
    for _ in range(3):
        assert web("feedback", id=first.data["id"], verdict="useful", headers=vote).status == 200
    assert web("get", id=first.data["id"]).data["counters"]["up"] == 1
    for _ in range(2):
        web("turn", session="once", role="user", text="Who oils the lift?", headers={"idempotency-key": "turn-7"})
    assert len(web("turns", session="once").data) == 1


def test_pages_have_every_row_once_whatever_is_added_meanwhile(web: Web) -> None:
    for number in range(25):
        web("remember", text=f"Page note {number}", project="pages")
    path, seen = route("list")[1] + "?limit=10&project=pages", list[str]()
    while path:
        got = web.send("GET", path)
        seen += got.texts
        web("remember", text=f"Added beside {len(seen)}", project="pages")
        path = got.headers.get("link", "").partition("<")[2].partition(">")[0]
    assert [text for text in seen if text.startswith("Page")] == [f"Page note {n}" for n in reversed(range(25))]


@pytest.mark.covers("S1-18", "G5", "P24")
def test_an_export_comes_back_through_an_import_as_candidates(web: Web) -> None:
    web("remember", text="The canary is yellow", project="aviary", kind="decision", tags=["bird"])
    said = web("export", project="aviary").text
    lines = [json.loads(line) for line in said.splitlines()]
    assert lines[0]["memorist"] == "export" and (lines[-1]["memorist"], lines[-1]["count"]) == ("end", 1)
    done = web("import", body=said.encode(), project="copy", scope="project/copy", name="all.jsonl")
    assert done.data["outcomes"] == {"added": 1}
    [row] = web("list", project="copy").data
    assert (row["text"], row["kind"], row["tags"], row["status"]) == (
        "The canary is yellow",
        "decision",
        ["bird"],
        "candidate",
    )


@pytest.mark.covers("S3-3", "N2-4")
def test_a_conversation_is_kept_turn_by_turn(web: Web) -> None:
    for role, text in (("user", "We decided to use uv for installs."), ("assistant", "Noted.")):
        assert web("turn", session="talk", role=role, text=text, project="talks").status == 201
    assert [each["text"] for each in web("turns", session="talk", project="talks").data][-1] == "Noted."
    assert web("close", session="talk", project="talks").status == 200
    assert any(
        "uv" in text
        for text in web("recall", query="what do we use for installs?", search="all", project="talks").texts
    )


def test_what_another_process_writes_is_told_as_it_happens(tmp_path: Path) -> None:
    shell = shell_in(tmp_path)
    with serving(shell) as web:
        talk = socket.create_connection(("127.0.0.1", web.port), 20)
        talk.sendall(f"GET {route('events')[1]} HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\n\r\n".encode())
        said = b""
        while b"memorist" not in said:
            said += talk.recv(65536)
        threading.Thread(target=lambda: shell("remember", "The heron nests at the weir")).start()
        while b"write" not in said:
            said += talk.recv(65536)
        talk.close()


@pytest.mark.covers("Z19")
def test_the_contract_names_every_path_and_the_pulse_says_little(web: Web) -> None:
    paths = web.send("GET", CONTRACT).data["paths"]
    assert {route(verb)[1] for verb in ("remember", "recall", "context")} <= paths.keys()
    assert web.send("GET", PULSE).data["status"] == "ok"
    figures = web.send("GET", FIGURES).text
    assert "# TYPE" in figures and "Postgres" not in figures


# ---------------------------------------------------------------- who may


HOSTS = [
    "evil.example",
    "evil.example:{port}",
    "localhost:1",
    "127.0.0.1.evil.example:{port}",
    "127.1:{port}",
    "0.0.0.0:{port}",
]
ORIGINS = ["null", "http://evil.example", "http://localhost:1", "http://localhost:{port}.evil.example", "file://"]


@pytest.mark.covers("Z11")
def test_no_web_page_reaches_a_memory(web: Web) -> None:
    before = web("count").data
    names = [(host, None) for host in HOSTS] + [("127.0.0.1:{port}", origin) for origin in ORIGINS]
    for host, origin in names:
        for method, path, body, sort in (("GET", "list", None, None), ("POST", "remember", b'{"text": "x"}', JSON),
                                         ("POST", "recall", b'{"query": "x"}', {"content-type": "text/plain"}),
                                         ("OPTIONS", "list", None, None)):  # fmt: skip
            headers = {"host": host.format(port=web.port), **(sort or {})}
            headers |= {} if origin is None else {"origin": origin.format(port=web.port)}
            said = web.send(method, path, body, headers)
            assert said.status == 403 and not any(name.startswith("access-control") for name in said.headers), headers
    assert web("count").data == before
    for host in ("127.0.0.1:{port}", "localhost:{port}"):
        assert web("count", headers={"host": host.format(port=web.port)}).status == 200
    assert web("count", headers={"sec-fetch-site": "cross-site"}).status == 403


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Shell, Web]]:
    shell = shell_in(tmp_path_factory.mktemp("locked"))
    shell("add_key", "first")
    with serving(shell, require_key=True) as web:
        yield shell, web


@pytest.mark.covers("Z12")
def test_only_a_whole_key_opens(locked: tuple[Shell, Web]) -> None:
    shell, web = locked
    token = str(shell("add_key", "ci", projects=["atlas"]).data["key"])
    wrong = ["", token[:-1], token + "x", token.upper(), "x" * 5000, token[:8], f"{token} {token}"]
    for each in ["", *(f"Bearer {one}" for one in wrong), token, f"Basic {token}"]:
        said = web.send("GET", "list", headers={"authorization": each} if each else {})
        assert said.status == 401 and token not in said.text
    assert web.send("GET", f"{route('list')[1]}?token={token}").status == 401, "never in an address"
    assert Web(web.port, token)("list").status == 200 and web.send("GET", PULSE).status == 200
    new = str(shell("rotate_key", "ci").data["key"])
    assert Web(web.port, token)("list").status == 401 and Web(web.port, new)("list").status == 200
    assert not shell("remove_key", "ci").error and Web(web.port, new)("list").status == 401
    home = Path(shell.environment["HOME"])
    kept = "".join(file.read_text("latin-1") for file in home.rglob("*") if file.is_file())
    assert token not in kept and new not in kept and new[3:] not in kept, "only its digest is kept"


@pytest.mark.covers("Z12", "Z10")
def test_a_key_has_a_rate_and_a_size(locked: tuple[Shell, Web]) -> None:
    shell, web = locked
    slow, small = (
        str(shell("add_key", name, **limit).data["key"])
        for name, limit in (("slow", {"rate": 2}), ("small", {"size": 100}))
    )
    told = [Web(web.port, slow)("count") for _ in range(12)]
    late = [each for each in told if each.status == 429]
    assert late and all(int(each.headers["retry-after"]) >= 1 for each in late) and told[0].status == 200
    assert Web(web.port, small)("remember", text="x" * 500).status == 413


@pytest.mark.covers("Z12")
def test_a_server_for_others_does_not_start_without_keys(tmp_path: Path) -> None:
    assert shell_in(tmp_path)("serve", host="0.0.0.0", port=0).error == "invalid"


@pytest.mark.covers("Z10", "Z15")
def test_a_body_is_bounded(web: Web) -> None:
    assert web.send("POST", "remember", b'{"text": "' + b"x" * (17 << 20) + b'"}', JSON).status == 413
    deep = b'{"text": "x", "data": ' + b'{"a":' * 300 + b"1" + b"}" * 300 + b"}"
    assert web.send("POST", "remember", deep, JSON).status in (400, 422)
    assert web("count").status == 200


RAW = (
    b"GET /v1/count HTTP/1.1\r\n\r\n", b"\r\n\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"GET /v1/count HTTP/9.9\r\nHost: x\r\n\r\n",
    b"GET " + b"/x" * 40_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /v1/memories HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    b"POST /v1/memories HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
    b"POST /v1/memories HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
)  # fmt: skip


@pytest.mark.covers("Z19", "P24")
def test_odd_requests_are_refused_and_the_server_lives(web: Web) -> None:
    before = web("count").data
    for raw in RAW:
        with socket.create_connection(("127.0.0.1", web.port), 5) as talk:
            talk.sendall(raw)
            talk.shutdown(socket.SHUT_WR)
            said = talk.recv(4096)
            assert not said or said.split()[1][:1] == b"4", (raw[:40], said[:60])
    assert web("count").data == before
