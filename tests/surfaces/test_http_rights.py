"""What a key may do over HTTP, where its rights are the only thing that stands in the way."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memorist.surfaces.http.guard import ServerLimits
from memorist.surfaces.http.keys import KeyRing
from surfaces.serving import LONG, Client, Served, served


@pytest.fixture
def ring(tmp_path: Path) -> KeyRing:
    return KeyRing(tmp_path / "keys.json")


@pytest.fixture
def server(tmp_path: Path, ring: KeyRing) -> Iterator[Served]:
    with served(tmp_path / "memory.db", project="atlas", ring=ring, limits=ServerLimits(imports=3)) as found:
        yield found


def bearing(found: Served, token: str) -> Client:
    return Client(found.client.port, {"authorization": f"Bearer {token}"})


# ---------------------------------------------------------------- answers that are given again


def sent(client: Client) -> Any:
    return client("POST", "/v1/memories/batch", {"many": [{"text": "Red meets on Mondays"}]}, idempotency_key="daily")


@pytest.mark.parametrize("rights", [{"space": "blue"}, {"space": "red", "role": "skill"}, {"space": "red"}], ids=str)
def test_the_answers_to_a_key_that_is_gone_are_nobodys(server: Served, ring: KeyRing, rights: dict[str, Any]) -> None:
    old = bearing(server, ring.add("ci", space="red"))
    first, again = sent(old), sent(old)
    assert again.headers["idempotent-replayed"] == "true" and again.body == first.body
    ring.remove("ci")
    new = bearing(server, ring.add("ci", **rights))
    got = sent(new)
    assert "idempotent-replayed" not in got.headers
    if rights.get("role") == "skill":
        assert got.code == "out_of_scope" and b"Red meets" not in got.body
    else:
        assert got.json[0]["record"]["space"] == rights["space"] and new("GET", "/v1/count").json == 1


# ---------------------------------------------------------------- what concerns all projects

OF_ALL: list[tuple[str, dict[str, Any]]] = [
    ("upkeep", {}), ("upkeep", {"deep": True}), ("upkeep", {"switch": True}), ("rescan", {}), ("doctor", {"repair": True}),
]  # fmt: skip
KEYS: list[tuple[dict[str, Any], bool]] = [
    ({"projects": ["atlas"]}, False),
    ({"projects": ["atlas", "zeus"], "users": ("*",), "origin": "user"}, False),
    ({"projects": ["atlas"], "role": "admin"}, True),
    ({}, True),
]


@pytest.mark.parametrize(("rights", "may"), KEYS, ids=str)
def test_a_key_for_some_projects_does_not_change_the_others(
    server: Served, ring: KeyRing, rights: dict[str, Any], may: bool
) -> None:
    client = bearing(server, ring.add("ci", **rights))
    for verb, given in OF_ALL:
        got = client("POST", f"/v1/{verb}", given)
        assert got.status == 200 if may else got.code == "out_of_scope" and "names no project" in got.json["detail"], (
            verb
        )
    for verb, given in (("upkeep", {"dry_run": True}), ("rescan", {"dry_run": True}), ("doctor", {})):
        assert client("POST", f"/v1/{verb}", given).status == 200, verb
    for verb, given in OF_ALL:  # whoever has this machine may do it
        assert server.client("POST", f"/v1/{verb}", given).status == 200, verb


# ---------------------------------------------------------------- places for imports


@contextmanager
def importing(client: Client, query: str = "") -> Iterator[socket.socket]:
    """An import whose body stays away."""
    sent = f"POST /v1/import{query} HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nContent-Length: 1000\r\n"
    sent += f"Authorization: {client.headers['authorization']}\r\nContent-Type: text/markdown\r\n\r\n- Tea is at four\n"
    with socket.create_connection(("127.0.0.1", client.port), timeout=LONG) as talk:
        talk.sendall(sent.encode())
        yield talk


def test_one_key_does_not_take_all_places_for_imports(server: Served, ring: KeyRing) -> None:
    greedy, other = (bearing(server, ring.add(name)) for name in ("greedy", "other"))
    places, sort = server.server._application.work.imports, {"content-type": "text/markdown"}
    with importing(greedy, "?dry_run=true"), importing(greedy):
        until = time.monotonic() + LONG
        while places.taken.total() < 2 and time.monotonic() < until:
            time.sleep(0.02)
        refused = greedy("POST", "/v1/import", b"- Coffee is at three\n", **sort)
        assert (refused.status, refused.code) == (503, "busy") and "imports" in refused.json["detail"]
        assert other("POST", "/v1/import", b"- Coffee is at three\n", **sort).json["outcomes"]["added"] == 1


# ---------------------------------------------------------------- what a list tells


def test_a_key_that_reads_nothing_is_told_of_no_project(server: Served, ring: KeyRing) -> None:
    server.client("POST", "/v1/memories", {"text": "Tea is at four"})
    reader, skill = (bearing(server, ring.add(role, role=role)) for role in ("reader", "skill"))
    assert [(each["scope"], each["memories"]) for each in reader("GET", "/v1/projects").json] == [("project/atlas", 1)]
    assert skill("GET", "/v1/projects").json == []
