"""What a key may do over HTTP, where its rights are the only thing that stands in the way."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memorist.surfaces.http.guard import ServerLimits
from memorist.surfaces.http.keys import KeyRing
from surfaces.serving import Client, Served, served


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
