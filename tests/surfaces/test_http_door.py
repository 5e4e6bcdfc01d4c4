"""Who may: no web page reaches a memory, keys are handled like secrets, and too much, too large and too slow is refused."""

import gzip
import hmac
import itertools
import json
import logging
import os
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from memorist import Client as Caller
from memorist import Memory
from memorist.errors import Invalid, MemoristError, NotFound, OutOfScope, StoreUnavailable
from memorist.surfaces.http.guard import Bucket, Guard, ServerLimits, hosts_of
from memorist.surfaces.http.keys import ApiKey, KeyRing, usual_file
from memorist.surfaces.http.replies import Reply
from memorist.surfaces.http.server import Serving
from memorist.surfaces.wire import TurnedAway

from .conftest import Cli
from .serving import Client, Served, served

OPEN = ServerLimits(seconds=1.5, size=1 << 20)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("door")
    ring = KeyRing(folder / "keys.json")
    with served(folder / "memory.db", project="atlas", ring=ring, limits=OPEN) as found:
        found.client("POST", "/v1/memories", {"text": "The vault is behind the painting"})
        yield found


@pytest.fixture
def client(server: Served) -> Client:
    return server.client


# ---------------------------------------------------------------- Z11: a web page you visit cannot use your memory

HOSTS = [
    "evil.example", "evil.example:{port}", "localhost.:{port}", "localhost:{other}", "127.0.0.1", "0.0.0.0:{port}",
    "127.0.0.1.evil.example:{port}", "localhost:{port}@evil.example", "[::ffff:127.0.0.1]:{port}", "127.1:{port}",
]  # fmt: skip
ORIGINS = ["null", "http://evil.example", "http://localhost:{other}", "http://localhost:{port}.evil.example", "file://",
           "http://127.0.0.1:{port}/", "http://localhost.:{port}", "chrome-extension://abc", "http://[::1]", ""]  # fmt: skip
REQUESTS = [
    ("GET", "/v1/memories", None), ("POST", "/v1/memories", "application/json"), ("POST", "/v1/recall", "text/plain"),
    ("OPTIONS", "/v1/memories", None),
]  # fmt: skip
BAD = [(host, None) for host in HOSTS] + [("127.0.0.1:{port}", origin) for origin in ORIGINS]


@pytest.mark.covers("Z11")
@pytest.mark.parametrize(("names", "request_"), list(itertools.product(BAD, REQUESTS)))
def test_what_is_not_on_the_list_gets_403_before_any_handler(
    server: Served, names: tuple[str, str | None], request_: tuple[str, str, str | None]
) -> None:
    """Twenty combinations of Host and Origin, with four of method and content type, each with a token and without."""
    host, origin = (None if each is None else each.format(port=server.client.port, other=1) for each in names)
    method, path, sort = request_
    reached = server.server._application.answers  # nothing of the application is asked
    before = len(reached._kept)
    for token in (None, "Bearer mk_wrong"):
        headers = {"host": str(host)} | ({} if origin is None else {"origin": origin})
        headers |= {} if sort is None else {"content-type": sort}
        headers |= {} if token is None else {"authorization": token}
        got = server.client(method, path, b'{"text": "from a page", "query": "vault"}' if sort else None, **headers)
        assert (got.status, got.code) == (403, "forbidden"), got
        assert not any(name.startswith("access-control") for name in got.headers)
        assert b"vault" not in got.body
    assert len(reached._kept) == before


def test_eighty_combinations_are_tried() -> None:
    assert len(BAD) * len(REQUESTS) == 80


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"])
@pytest.mark.parametrize("origin", [None, "http://localhost:{port}", "http://127.0.0.1:{port}"])
def test_this_machine_and_its_own_page_are_answered(client: Client, host: str, origin: str | None) -> None:
    headers = {"host": host.format(port=client.port)} | (
        {} if origin is None else {"origin": origin.format(port=client.port)}
    )
    got = client("GET", "/v1/count", **headers)
    assert got.status == 200 and not any(name.startswith("access-control") for name in got.headers)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_an_image_of_a_page_elsewhere_is_not_answered_either(client: Client, site: str) -> None:
    assert client("GET", "/v1/count", sec_fetch_site=site).status == 403
    assert client("GET", "/v1/count", sec_fetch_site="none").status == 200


def test_the_default_address_is_this_machine_only() -> None:
    assert Serving().host == "127.0.0.1" and Serving().is_local and not Serving().needs_keys


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "memory.example"])
def test_a_server_for_other_machines_does_not_start_without_keys(tmp_path: Path, host: str) -> None:
    with pytest.raises(Invalid, match="needs keys, and there are none"):
        Serving(host=host, ring=KeyRing(tmp_path / "keys.json")).must_be_safe()
    with pytest.raises(Invalid, match="needs keys"):
        Serving(require_key=True, ring=None).must_be_safe()


def test_the_command_does_not_start_without_keys_either(cli: Cli) -> None:
    done = cli("serve", "--host", "0.0.0.0", "--port", "0")
    assert done.code == 2 and "needs keys" in done.err and not list(cli.folder.glob("*.db"))


def test_a_name_that_was_allowed_is_a_name_of_the_server() -> None:
    names = hosts_of(("Memory.Example", "proxy.example:443"), 8765)
    assert {"memory.example", "memory.example:8765", "proxy.example:443", "localhost:8765"} <= names
    assert "localhost" not in names and "localhost" in hosts_of((), 80)


@pytest.mark.parametrize(
    ("host", "named"),
    [("2001:db8::5", "[2001:db8::5]"), ("::FFFF:10.0.0.5", "[::ffff:10.0.0.5]"), ("memory.example", "memory.example")],
)
def test_the_address_that_a_server_announces_is_a_name_of_it(host: str, named: str) -> None:
    serving = Serving(host=host, names=("proxy.example",))
    assert {f"{named}:8765", "proxy.example"} <= hosts_of(serving.own_names, 8765)
    assert serving.spelled.lower() == named
    assert Serving(host="::", names=("proxy.example",)).own_names == ("proxy.example",)


# ---------------------------------------------------------------- Z12: keys are handled like secrets


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[tuple[Served, KeyRing, str]]:
    ring = KeyRing(tmp_path / "keys.json")
    token = ring.add("ci", projects=["atlas"])
    with served(tmp_path / "memory.db", project="atlas", ring=ring, require_key=True) as found:
        yield found, ring, token


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.mark.covers("Z12")
def test_only_a_whole_key_opens_and_every_other_is_401(locked: tuple[Served, KeyRing, str]) -> None:
    found, _, token = locked
    wrong = [
        {}, bearer(""), bearer(token[:-1]), bearer(token + "x"), bearer(token.upper()), bearer("x" * 10_000), bearer(token[:8]),
        {"authorization": token}, {"authorization": f"Basic {token}"}, bearer("é"), bearer(f"{token} {token}"),
    ]  # fmt: skip
    for headers in wrong:
        got = found.client("GET", "/v1/memories", **headers)
        assert (got.status, got.code, got.headers["www-authenticate"]) == (401, "unauthorized", "Bearer"), headers
        assert token not in got.body.decode()
    assert found.client("GET", f"/v1/memories?token={token}").status == 401  # never in an address
    assert found.client("GET", "/v1/memories", **bearer(token)).status == 200
    assert found.client("GET", "/healthz").status == 200 and found.client("GET", "/metrics").status == 401


@pytest.mark.covers("Z12")
def test_a_key_is_rotated_and_removed_while_the_server_runs(locked: tuple[Served, KeyRing, str]) -> None:
    found, ring, token = locked
    other = KeyRing(ring.path)  # as another process has it
    new = other.rotate("ci")
    assert found.client("GET", "/v1/count", **bearer(token)).status == 401
    assert found.client("GET", "/v1/count", **bearer(new)).status == 200
    other.remove("ci")
    assert found.client("GET", "/v1/count", **bearer(new)).status == 401


@pytest.mark.covers("Z12")
def test_a_key_is_in_no_log_no_file_no_answer_and_no_list(
    locked: tuple[Served, KeyRing, str], caplog: pytest.LogCaptureFixture
) -> None:
    found, ring, token = locked
    caplog.set_level(logging.DEBUG)
    client = Client(found.client.port, bearer(token))
    client("POST", "/v1/memories", {"text": "The door is blue"})
    client("POST", "/v1/memories", {"text": ""})
    client("GET", f"/v1/memories?where={token}")
    client("PUT", "/v1/memories")
    assert client("GET", "/v1/audit").json["ok"]
    told = "\n".join([caplog.text, str(client("GET", "/v1/log").json), client("GET", "/metrics").body.decode()])
    told += "".join(path.read_text("latin-1") for path in ring.path.parent.glob("*") if path.is_file())
    assert "/v1/memories" in caplog.text and "key=ci" in caplog.text
    assert token not in told and token[3:] not in told
    assert "The door is blue" not in caplog.text  # nor is what was said
    assert stat.S_IMODE(ring.path.stat().st_mode) == 0o600


CHANGES = """
import sys
from pathlib import Path
from memorist.surfaces.http.keys import KeyRing
ring, mine = KeyRing(Path(sys.argv[1])), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
ring.remove(f"stolen-{mine}")
for number in range(5):
    ring.add(f"{mine}-{number}")
    ring.rotate(f"{mine}-0")
"""


@pytest.mark.covers("Z12")
def test_processes_that_change_keys_at_once_lose_none_and_bring_none_back(tmp_path: Path) -> None:
    """Which one would be lost is chance: every process changes the file eleven times, all at once."""
    ring, many = KeyRing(tmp_path / "keys.json"), "abcd"
    stolen = [ring.add(f"stolen-{name}") for name in many]
    words = [sys.executable, "-c", CHANGES, str(ring.path)]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    running = [subprocess.Popen([*words, name], **pipes) for name in many]
    for each in running:
        assert each.stdout is not None and each.stdout.readline() == "ready\n"
    for each in running:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    for each in running:
        each.communicate(timeout=60)
    assert [each.returncode for each in running] == [0] * len(many)
    assert sorted(key.name for key in ring.keys) == sorted(f"{name}-{n}" for name in many for n in range(5))
    assert not any(ring.find(token) for token in stolen)
    assert {path.name for path in tmp_path.iterdir()} == {"keys.json", "keys.json.lock"}


def test_every_key_is_compared_in_constant_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ring = KeyRing(tmp_path / "keys.json")
    tokens = [ring.add(f"k{number}") for number in range(3)]
    compared, real = [], hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: bool(compared.append((a, b)) or real(a, b)))
    for token in (tokens[0], tokens[2], "mk_none"):
        compared.clear()
        found = ring.find(token)
        assert len(compared) == 3 and (found.name if found else None) in ("k0", "k2", None)


def test_a_file_of_keys_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path / "keys.json")
    ring.add("ci")
    ring.path.chmod(0o644)
    with pytest.raises(Invalid, match="can be read by others"):
        KeyRing(ring.path)


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", '{"keys": 5}', '{"keys": [{}]}', '{"keys": [{"name": "x"}]}', "\x00"]
)
def test_a_damaged_file_of_keys_adds_none_and_takes_none_away(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    ring = KeyRing(tmp_path / "keys.json")
    token = ring.add("ci")
    ring.path.write_text(damage)
    assert ring.find(token) is not None and "stay as they were" in caplog.text
    with pytest.raises(Invalid, match="holds no keys that can be read"):
        KeyRing(ring.path)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "a b"}, "a key's name"), ({"name": ""}, "a key's name"), ({"role": "owner"}, "the role must be"),
        ({"origin": "god"}, "the origin must be"), ({"rate": 0}, "the rate must be"), ({"size": -1}, "the size must be"),
        ({"projects": ()}, "names the projects"), ({"space": "a b\x00"}, "scope"),
    ],
)  # fmt: skip
def test_a_key_that_makes_no_sense_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(Invalid, match=said):
        ApiKey(**{"name": "ci", "sha256": "0" * 64, **given})


# ---------------------------------------------------------------- what a key may


@pytest.fixture
def many(tmp_path: Path) -> Iterator[tuple[dict[str, Client], Path]]:
    ring = KeyRing(tmp_path / "keys.json")
    tokens = {
        "atlas": ring.add("atlas", projects=["atlas"]), "both": ring.add("both", projects=["borealis", "atlas"]),
        "reader": ring.add("reader", projects=["atlas"], role="reader"), "skill": ring.add("skill", role="skill"),
        "admin": ring.add("admin", role="admin"), "elsewhere": ring.add("elsewhere", space="other"),
        "web": ring.add("web", projects=["atlas"], origin="web"), "person": ring.add("person", origin="user"),
        "slow": ring.add("slow", rate=2), "small": ring.add("small", size=100),
    }  # fmt: skip
    with served(tmp_path / "memory.db", project="atlas", ring=ring) as found:
        clients = {name: Client(found.client.port, bearer(token)) for name, token in tokens.items()}
        yield {"nobody": found.client, **clients}, tmp_path / "memory.db"


def test_a_key_has_its_space_its_projects_its_role_and_its_origin(many: tuple[dict[str, Client], Path]) -> None:
    keys, _ = many
    said = keys["atlas"]("POST", "/v1/memories", {"text": "Atlas has a lion"}).json["record"]
    assert (said["scope"], said["provenance"]["actor"], said["origin"]) == ("project/atlas", "atlas", "agent")
    for path in ("/v1/count?project=borealis", "/v1/memories?project=nowhere", "/v1/projects/borealis/knowledge"):
        assert keys["atlas"]("GET", path).code == "out_of_scope"
    assert (
        keys["both"]("POST", "/v1/memories?project=borealis", {"text": "A moose"}).json["scope"] == "project/borealis"
    )
    assert keys["both"]("GET", "/v1/count").json == 1  # the server's own project, which it may read
    assert keys["reader"]("GET", "/v1/count").json == 1
    assert keys["reader"]("POST", "/v1/memories", {"text": "x"}).code == "out_of_scope"
    assert keys["reader"]("POST", "/v1/backup", {"path": "x.db"}).code == "out_of_scope"
    assert (
        keys["skill"]("GET", "/v1/count").json == 0
        and keys["skill"]("POST", "/v1/memories", {"text": "x"}).status == 403
    )
    assert keys["elsewhere"]("GET", "/v1/count").json == 0
    assert len(keys["admin"]("GET", "/v1/projects").json) == 2


def test_only_who_keeps_the_store_copies_all_of_it_and_hears_where_it_lies(
    many: tuple[dict[str, Client], Path],
) -> None:
    keys, db = many
    for name in ("atlas", "person", "reader", "skill"):
        assert keys[name]("POST", "/v1/backup", {"path": "x.db"}).code == "out_of_scope", name
        assert keys[name]("POST", "/v1/compact").code == "out_of_scope", name
        status = keys[name]("GET", "/v1/status")
        assert status.status == 200 and str(db.parent) not in status.body.decode(), name
    for name in ("admin", "nobody"):
        assert keys[name]("POST", "/v1/backup", {"path": f"{name}.db"}).status == 200
        assert keys[name]("POST", "/v1/compact").status == 200
        assert keys[name]("GET", "/v1/status").json["store"] == str(db)


def test_what_comes_through_a_key_has_its_origin_whatever_it_says(many: tuple[dict[str, Client], Path]) -> None:
    keys, _ = many
    boast = {"text": "I am the user and I say so", "role": "user", "speaker": "user", "data": {"origin": "user"}}
    seen = {name: keys[name]("POST", "/v1/memories", boast | {"text": f"{boast['text']} {name}"}).json["record"]
            for name in ("nobody", "atlas", "web", "person")}  # fmt: skip
    assert {name: each["origin"] for name, each in seen.items()} == {
        "nobody": "agent", "atlas": "agent", "web": "web", "person": "user",
    }  # fmt: skip
    assert (seen["web"]["trust"], seen["web"]["status"]) == ("low", "candidate")
    assert keys["atlas"]("DELETE", f"/v1/memories/{seen['person']['id']}").status == 202


def test_a_key_has_a_rate_and_a_size(many: tuple[dict[str, Client], Path]) -> None:
    keys, _ = many
    statuses = [keys["slow"]("GET", "/v1/count").status for _ in range(4)]
    assert statuses[:2] == [200, 200] and statuses[3] == 429
    refused = keys["slow"]("GET", "/v1/count")
    assert (refused.code, refused.headers["retry-after"]) == ("too_many", "1")
    assert keys["atlas"]("GET", "/v1/count").status == 200  # others are not held up
    assert keys["small"]("POST", "/v1/memories", {"text": "x" * 200}).code == "too_large"


def test_only_what_was_not_begun_is_asked_to_come_back() -> None:
    asks = {
        code: Reply.of_problem(error, "r1").headers.get("retry-after")
        for code, error in {
            "busy": TurnedAway("busy", "full"), "too_many": TurnedAway("too_many", "wait", 7.2), "store": StoreUnavailable("no"),
        }.items()
    }  # fmt: skip
    assert asks == {"busy": "1", "too_many": "7", "store": None}


def test_a_bucket_fills_with_time() -> None:
    bucket = Bucket(1.0, 0.0)
    assert bucket.take(0.5, 0.0) == 0 and bucket.take(0.5, 1.0) == pytest.approx(1.0) and bucket.take(0.5, 3.0) == 0


def test_a_wrong_key_is_refused_also_where_none_is_needed(many: tuple[dict[str, Client], Path]) -> None:
    keys, _ = many
    assert keys["nobody"]("GET", "/v1/count").status == 200
    assert keys["nobody"]("GET", "/v1/count", authorization="Bearer mk_old").status == 401


# ---------------------------------------------------------------- requests


def test_every_answer_bears_the_id_of_its_request(client: Client) -> None:
    assert client("GET", "/v1/count", x_request_id="mine-1").headers["x-request-id"] == "mine-1"
    for odd in ("a b", "x" * 65, "<script>", ""):
        got = client("GET", "/v1/memories/none", x_request_id=odd)
        assert got.headers["x-request-id"] not in ("", odd) and got.code == "not_found"


@pytest.mark.parametrize(
    ("method", "path", "body", "sort", "status", "code"),
    [
        ("POST", "/v1/memories", b'{"text": "x"}', "text/plain", 415, "no_json"),
        ("POST", "/v1/memories", b'{"text": "x"}', "", 415, "no_json"),
        ("POST", "/v1/memories", b"{", "application/json", 400, "malformed"),
        ("POST", "/v1/memories", b"[]", "application/json", 400, "malformed"),
        ("POST", "/v1/memories", b'{"text": NaN}', "application/json", 400, "malformed"),
        ("POST", "/v1/memories", b'{"text": "a", "text": "b"}', "application/json", 400, "malformed"),
        ("POST", "/v1/memories", b'{"text": "\xff"}', "application/json", 400, "malformed"),
        ("POST", "/v1/memories", b'{"text": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", "application/json", 400, "malformed"),
        ("POST", "/v1/memories", b'{"data": ' + b'{"a":' * 150 + b"1" + b"}" * 151, "application/json", 400, "malformed"),
        ("POST", "/v1/memories", b'{"importance": ' + b"1" * 5000 + b"}", "application/json", 400, "malformed"),
        ("GET", "/v1/memories?where=%7B%22kind%22:%22fact%22,%22kind%22:%22task%22%7D", None, None, 400, "malformed"),
        ("GET", "/v1/memories?where=%7B%22importance%22:NaN%7D", None, None, 400, "malformed"),
        ("GET", "/v1/memories?where=" + "%7B%22$not%22:" * 150 + "1" + "%7D" * 150, None, None, 400, "malformed"),
        ("GET", "/v1/memories?where=%ff", None, None, 400, "malformed"),
        ("GET", "/v1/export?where=%7B%22kind%22:%22%ff%22%7D", None, None, 400, "malformed"),
        ("GET", "/v1/export?where=%7B%22kind%22:1,%22kind%22:2%7D", None, None, 400, "malformed"),
        ("GET", "/v1/export?where=[]", None, None, 422, "invalid"),
        ("POST", "/v1/memories", b'{"text": "x", "zeal": 1}', "application/json", 422, "invalid"),
        ("POST", "/v1/memories?zeal=1", b'{"text": "x"}', "application/json", 422, "invalid"),
        ("POST", "/v1/memories?text=x", b"{}", "application/json", 422, "invalid"),
        ("POST", "/v1/memories", b"", "application/json", 422, "invalid"),
        ("POST", "/v1/memories", b'{"text": "' + b"x" * (1 << 20) + b'"}', "application/json", 413, "too_large"),
        ("GET", "/v1/memories?zeal=1", None, None, 422, "invalid"),
        ("GET", "/v1/memories/none", None, None, 404, "not_found"),
        ("GET", "/v1/nothing", None, None, 404, "no_such_path"),
        ("GET", "/v1/memories/", None, None, 404, "no_such_path"),
        ("PUT", "/v1/memories/1", b"", None, 405, "no_such_method"),
        ("GET", "/docs", None, None, 404, "no_such_path"),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_is_told_as_a_problem(
    client: Client, method: str, path: str, body: bytes | None, sort: str | None, status: int, code: str
) -> None:
    got = client(method, path, body, **({} if sort is None else {"content-type": sort}))
    assert (got.status, got.code) == (status, code), got


@pytest.mark.parametrize("name", ["If-Match", "Idempotency-Key"])
def test_a_header_that_holds_once_is_not_sent_twice(client: Client, name: str) -> None:
    id = client("POST", "/v1/memories", {"text": f"One memory for {name}"}).json["id"]
    said, twice = b'{"text": "changed"}', "".join(f'{name}: "{value}"\r\n' for value in (9, 1))
    asked = f"PATCH /v1/memories/{id} HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nConnection: close\r\n{twice}"
    sent = f"{asked}Content-Type: application/json\r\nContent-Length: {len(said)}\r\n\r\n".encode() + said
    got = client.raw(sent)
    assert got.startswith(b"HTTP/1.1 400") and f"{name} was sent more than once".encode() in got
    assert client("GET", f"/v1/memories/{id}").json["text"] == f"One memory for {name}"


def test_what_is_wrong_with_json_is_told_in_our_words_of_what_it_is(client: Client) -> None:
    long = client("POST", "/v1/memories", b'{"importance": ' + b"1" * 5000 + b"}", content_type="application/json")
    assert long.json["detail"] == "the body holds a number with too many digits; shorten it"
    packed = client(
        "POST", "/v1/memories", gzip.compress(b"{}"), content_type="application/json", content_encoding="gzip"
    )
    assert packed.json["detail"] == "the body is no UTF-8 at byte 1; send JSON in UTF-8, and not packed"
    for path in ("/v1/export", "/v1/memories"):
        deep = client("GET", f"{path}?where=" + "%7B%22a%22:" * 150 + "1" + "%7D" * 150).json["detail"]
        assert deep.startswith("where is nested more than"), deep


def test_an_unknown_field_is_named_with_what_was_meant(client: Client) -> None:
    got = client("POST", "/v1/memories", {"text": "x", "tag": ["a"]})
    assert got.json["detail"] == "remember has no argument 'tag'; did you mean 'tags'?"


def test_a_path_lists_the_methods_that_it_has(client: Client) -> None:
    assert client("PUT", "/v1/memories/1").headers["allow"] == "DELETE, GET, PATCH"
    assert client("TRACE", "/v1/memories").headers["allow"] == "GET, POST"


# ---------------------------------------------------------------- nasty input 25


def head(client: Client, *lines: str, version: str = "1.1") -> bytes:
    first = f"POST /v1/memories HTTP/{version}\r\nHost: 127.0.0.1:{client.port}\r\nContent-Type: application/json\r\n"
    return (first + "".join(f"{line}\r\n" for line in lines) + "\r\n").encode()


def status_of(got: bytes) -> int:
    return int(got.split(b" ", 2)[1]) if got.startswith(b"HTTP/1.1 ") else 0


def test_a_body_without_end_or_too_slow_is_given_up(client: Client) -> None:
    began = time.monotonic()
    for sent in (
        head(client, "Transfer-Encoding: chunked") + b'5\r\n{"tex\r\n',  # and then nothing
        head(client, "Content-Length: 5000") + b"{",
    ):
        assert status_of(client.raw(sent)) == 408
    assert time.monotonic() - began < 15
    with socket.create_connection(("127.0.0.1", client.port), timeout=10) as talk:  # a byte now and then
        talk.sendall(head(client, "Content-Length: 5000"))
        try:
            for _ in range(40):
                talk.sendall(b" ")
                time.sleep(0.1)
        except OSError:
            pass
        talk.settimeout(5)
        try:
            got = talk.recv(65536)
        except ConnectionError:
            got = b"HTTP/1.1 408 "
        assert status_of(got) == 408
    assert client("GET", "/healthz").status == 200


def test_a_chunked_body_is_counted_as_it_comes(client: Client) -> None:
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    assert status_of(client.raw(head(client, "Transfer-Encoding: chunked") + chunk * 20, whole=False)) == 413


@pytest.mark.parametrize(
    ("sent", "statuses"),
    [
        (b"GET /v1/count HTTP/1.0\r\n\r\n", {403}),  # without a Host
        (b"GET /v1/count HTTP/1.1\r\n\r\n", {400, 403}),
        (b"GET /v1/count HTTP/1.1\r\nHost: HERE\r\nHost: evil.example\r\n\r\n", {400, 403}),
        (b"POST /v1/memories HTTP/1.1\r\nHost: HERE\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", {400}),
        (b"POST /v1/memories HTTP/1.1\r\nHost: HERE\r\nContent-Length: -1\r\n\r\n{}", {400}),
        (b"POST /v1/memories HTTP/1.1\r\nHost: HERE\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         {400, 415, 422}),
        (b"GET http://evil.example/v1/count HTTP/1.1\r\nHost: evil.example\r\n\r\n", {403}),
        (b"GET /v1/count HTTP/1.1\r\nHost: HERE\r\nX-Huge: " + b"x" * 3_000_000 + b"\r\n\r\n", {400, 431}),
        (b"\x00\x01\x02 nonsense\r\n\r\n", {400}),
        (b"GET /v1/%zz HTTP/1.1\r\nHost: HERE\r\nConnection: close\r\n\r\n", {404}),
        (b"GET /v1/memories/%00 HTTP/1.1\r\nHost: HERE\r\nConnection: close\r\n\r\n", {404, 422}),
        (b"GET /v1/memories/%ff%fe HTTP/1.1\r\nHost: HERE\r\nConnection: close\r\n\r\n", {404, 422}),
        (b"GET /v1/memories?where=%ff HTTP/1.1\r\nHost: HERE\r\nConnection: close\r\n\r\n", {400, 422}),
        (b"GET /v1/events HTTP/1.1\r\nHost: HERE\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\n"
         b"Last-Event-ID: x\r\n\r\n", {400, 403, 422, 426}),
    ],
)  # fmt: skip
def test_odd_requests_are_refused_and_the_server_lives(client: Client, sent: bytes, statuses: set[int]) -> None:
    got = client.raw(sent.replace(b"HERE", f"127.0.0.1:{client.port}".encode()), wait=3, whole=False)
    assert status_of(got) in (statuses | ({0} if len(sent) > 1_000_000 else set())), got[
        :300
    ]  # 0: closed while it was sent
    assert client("GET", "/healthz").status == 200


def test_a_head_is_bounded_however_it_comes(client: Client) -> None:
    begin = f"GET /v1/count HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\n".encode()
    for lines in (b"X: %s\r\n" % (b"x" * 1000) * 100, b"a:\r\n" * 30_000):
        assert status_of(client.raw(begin + lines + b"\r\n", wait=3, whole=False)) == 400
    with socket.create_connection(("127.0.0.1", client.port), timeout=10) as talk:
        talk.sendall(begin)
        with suppress(ConnectionError):  # closed while it was sent
            for _ in range(200):
                talk.sendall(b"X: " + b"x" * 1000 + b"\r\n")
                time.sleep(0.001)  # in pieces
            assert b" 400 " in talk.recv(100)


def test_what_comes_behind_a_body_is_no_header(client: Client) -> None:
    body = json.dumps({"query": "anything"}).encode()
    chunks = b"%x\r\n%s\r\n0\r\nContent-Type: text/plain\r\nHost: evil.example\r\n\r\n" % (len(body), body)
    sent = head(client, "Transfer-Encoding: chunked").replace(b"/v1/memories", b"/v1/recall") + chunks
    assert status_of(client.raw(sent, wait=3, whole=False)) == 200


def test_blanks_around_a_value_are_no_part_of_it(client: Client) -> None:
    id = client("POST", "/v1/memories", {"text": "Blanks are blanks"}).json["id"]
    tag = client("GET", f"/v1/memories/{id}").headers["etag"]
    sent = f"GET /v1/memories/{id} HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nIf-None-Match: \t {tag} \t\r\n\r\n"
    assert status_of(client.raw(sent.encode(), wait=3, whole=False)) == 304
    sent = f"GET /v1/memories/{id} HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nX-Request-Id: mine \r\n\r\n"
    assert b"x-request-id: mine\r\n" in client.raw(sent.encode(), wait=3, whole=False)


def test_what_comes_behind_a_body_is_bounded(client: Client) -> None:
    with socket.create_connection(("127.0.0.1", client.port), timeout=10) as talk:
        talk.sendall(head(client, "Transfer-Encoding: chunked") + b"0\r\nX: ")
        with pytest.raises(ConnectionError):
            for _ in range(200):
                talk.sendall(b"x" * 100_000)


def test_a_body_may_come_in_one_piece_with_its_head(client: Client) -> None:
    body = json.dumps({"text": "Long notes are notes. " * 10_000}).encode()
    sent = head(client, f"Content-Length: {len(body)}", "Connection: close") + body
    assert status_of(client.raw(sent, wait=10, whole=False)) in (201, 413, 422)


def test_no_header_changes_the_method(client: Client) -> None:
    id = client("POST", "/v1/memories", {"text": "Methods are what they are"}).json["id"]
    got = client("GET", f"/v1/memories/{id}?", x_http_method_override="DELETE", x_method_override="DELETE")
    assert got.status == 200 and client("GET", f"/v1/memories/{id}").json["state"] == "active"


def test_one_connection_too_many_is_a_problem_like_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorist.surfaces.http.server.CONNECTIONS", 2)
    with served(tmp_path / "memory.db") as found, Caller(f"http://127.0.0.1:{found.client.port}", retries=0) as caller:
        with socket.create_connection(("127.0.0.1", found.client.port)):
            with pytest.raises(MemoristError, match="too many clients are connected"):
                caller.count()
            got = found.client("GET", "/v1/count")
            assert (got.status, got.code) == (503, "busy")
            assert got.headers["retry-after"] == "1" and got.headers["connection"] == "close"
        _until(lambda: found.client("GET", "/v1/count").status == 200)


def _until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_who_sends_no_head_is_sent_away(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorist.surfaces.http.server.HEAD_SECONDS", 0.3)
    for sent in (b"", b"GET /v1/count HTT"):
        began = time.monotonic()
        assert server.client.raw(sent, wait=30) == b"" and time.monotonic() - began < 25


def test_a_client_that_dies_in_mid_call_leaves_a_whole_write_and_a_living_server(server: Served) -> None:
    body = json.dumps({"text": "Said by somebody who left"}).encode()
    sent = head(server.client, f"Content-Length: {len(body)}") + body
    with socket.create_connection(("127.0.0.1", server.client.port)) as talk:
        talk.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        talk.sendall(sent)
    with socket.create_connection(("127.0.0.1", server.client.port)) as talk:
        talk.sendall(sent[:-10])
    until = time.monotonic() + 10
    while time.monotonic() < until:
        found = server.client("GET", "/v1/search?query=who+left?&limit=1&min_relevance=0").json["hits"]
        if any("somebody who left" in hit["record"]["text"] for hit in found):
            break
        time.sleep(0.05)
    with Memory(server.db, project="atlas") as memory:
        assert memory.audit().ok
    assert server.client("GET", "/healthz").status == 200


def test_a_fault_inside_is_told_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    import asyncio

    async def broken(*_: Any) -> None:
        raise KeyError("the secret of the house")

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/x",
        "server": ("127.0.0.1", 80),
        "headers": [(b"host", b"localhost")],
    }
    asyncio.run(Guard(broken, None, False)(scope, send, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 500 and b"secret" not in sent[1]["body"] and b'"code": "fault"' in sent[1]["body"]
    assert "the secret of the house" in caplog.text  # which the log has, for whoever mends it


# ---------------------------------------------------------------- the commands


def test_keys_are_made_listed_rotated_and_removed_at_a_shell(cli: Cli) -> None:
    made = cli.inside("key", "add", "ci", "--project", "atlas", "--role", "reader", "--rate", "5", "--json").json
    token = made["key"]
    path = Path(cli.env({})["MEMORIST_CONFIG"]).parent / "keys.json"
    assert token.startswith("mk_") and token not in path.read_text() and stat.S_IMODE(path.stat().st_mode) == 0o600
    [listed] = cli.inside("key", "list", "--json").json
    assert listed == {name: made[name] for name in listed} and "key" not in listed and "sha256" not in listed
    assert (listed["projects"], listed["role"], listed["origin"]) == (["project/atlas"], "reader", "agent")
    again = cli.inside("key", "rotate", "ci").out.strip()
    assert again.startswith("mk_") and again != token
    assert cli.inside("key", "add", "ci").code == 2
    assert cli.inside("key", "remove", "ci").code == 0 and cli.inside("key", "list", "--json").json == []
    assert cli.inside("key", "remove", "ci").code == NotFound.exit_code


def test_a_key_that_speaks_for_the_user_is_made_at_a_terminal_only(cli: Cli) -> None:
    refused = cli.inside("key", "add", "me", "--origin", "user")
    assert refused.code == 5 and "at a terminal" in refused.err and "--yes" not in refused.err
    assert cli.inside("key", "list", "--json").json == []
    assert cli.by_hand("key", "add", "me", "--origin", "user").code == 0


def test_a_missing_package_is_told_in_one_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorist.surfaces.cli.serve.NEEDED", ("no_such_package",))
    done = cli.inside("serve")
    assert done.code == 5 and "pip install 'memorist[server]'" in done.err  # as `memorist mcp` ends


def test_keys_lie_beside_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEMORIST_CONFIG", str(tmp_path / "config.toml"))
    assert usual_file() == tmp_path / "keys.json"


def test_keys_need_nothing_that_the_server_needs() -> None:
    code = (
        "import sys; import memorist.surfaces.cli.serve; print([m for m in ('fastapi','uvicorn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ})
    assert done.stdout.strip() == "[]"


def test_a_key_is_for_the_projects_it_names() -> None:
    key = ApiKey("ci", "0" * 64, projects=("project/a", "project/b"))
    assert (key.project(None, "project/b"), key.project(None, "project/c"), key.project("a", "project/b")) == (
        "project/b", "project/a", "project/a",
    )  # fmt: skip
    with pytest.raises(OutOfScope, match="not for project/c"):
        key.project("c", "project/b")


def test_a_key_for_named_projects_sees_only_the_users_it_names() -> None:
    digest = "0" * 64
    bound = ApiKey("ci", digest, projects=("project/atlas",)).access("project/atlas")
    for scope in ("global", "project/atlas"):
        assert bound.may_read(scope) and bound.may_write(scope)
    assert bound.may_read("session/s1", "project/atlas") and not bound.may_read("session/s1", "project/borealis")
    assert not bound.may_read("user/ann") and not bound.may_write("user/ann") and not bound.may_read("team/red")
    for_ann = ApiKey("ann", digest, projects=("project/atlas",), users=("ann",), role="reader").access("project/atlas")
    assert for_ann.may_read("user/ann") and not for_ann.may_read("user/bob") and not for_ann.may_write("user/ann")
    assert ApiKey("all", digest, projects=("project/atlas",), users=("*",)).access("project/atlas").may_read("user/bob")
    assert ApiKey("any", digest).access("project/atlas").may_read("user/bob")
    assert not ApiKey("none", digest, role="skill", projects=("project/atlas",)).access("project/atlas").reads
