"""What a caller sees under the name of a project that is not served: nothing that it does not see anyway."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.access import ROLES, access_for
from memorist.surfaces.http.keys import ANY_PROJECT, KeyRing
from surfaces.agents import Agent, door, talk
from surfaces.serving import Client, served
from surfaces.test_mcp_http import called

TEXTS = {
    "Atlas runs Postgres 16": "project/atlas",
    "The secret plan lies in the red cabinet": "project/secret",
    "Ann keeps her passport in the blue drawer": "user/ann",
    "Bob keeps his passport in the green drawer": "user/bob",
    "Dates are written as in ISO 8601": "global",
}
OF_USERS = {text for text, scope in TEXTS.items() if scope.startswith("user/")}
USERS: dict[str, tuple[str, ...] | None] = {"none-said": None, "bob": ("bob",), "every": ("*",)}
PROJECTS = {"named": ("project/atlas",), "any": (ANY_PROJECT,)}
KEYS = list(itertools.product(ROLES, USERS, PROJECTS))
NAMES = ("nobody", "secret")  # one that is nowhere, and one that is there


def filled(path: Path) -> Path:
    with Memory(path, project="atlas", access=access_for("admin", "project/atlas", origin="user")) as memory:
        for text, scope in TEXTS.items():
            assert memory.remember(text, scope=scope)
    return path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, dict[tuple[str, str, str], str]]]:
    folder = tmp_path_factory.mktemp("rights")
    ring = KeyRing(folder / "keys.json")
    keys = {
        key: ring.add("-".join(key), role=key[0], users=USERS[key[1]], projects=PROJECTS[key[2]], rate=1e6)
        for key in KEYS
    }
    with served(filled(folder / "memory.db"), project="atlas", ring=ring, require_key=True) as found:
        yield found.client, keys


def texts_in(said: Any) -> set[str]:
    return {text for text in TEXTS if text in str(said)}


@pytest.mark.covers("W2-10")
@pytest.mark.parametrize("key", KEYS, ids="-".join)
def test_no_name_of_a_project_shows_a_key_more_than_its_own(
    server: tuple[Client, dict[tuple[str, str, str], str]], key: tuple[str, str, str]
) -> None:
    client, keys = server
    client = Client(client.port, {"authorization": f"Bearer {keys[key]}"})
    mine = texts_in(called(client, "/mcp/all", "memory_list"))
    over_http = texts_in(client("GET", "/v1/memories").body)
    assert mine == over_http and bool(mine) == (key[0] != "skill")
    every_user = key[0] == "admin" or "every" in key or key[1:] == ("none-said", "any")
    assert (mine >= OF_USERS) == (every_user and key[0] != "skill")
    for name in NAMES if "named" in key else ():
        for at, given in ((f"/mcp/all?project={name}", {}), ("/mcp/all", {"project": name})):
            seen = texts_in(called(client, at, "memory_list", **given))
            assert seen == {text for text in mine if not TEXTS[text].startswith("project/")}
            drawers = texts_in(called(client, at, "memory_search", query="whose drawer holds the passport?", **given))
            assert drawers <= mine


@pytest.mark.parametrize("name", NAMES)
def test_over_standard_input_it_is_the_same(tmp_path: Path, name: str) -> None:
    async def work(agent: Agent) -> None:
        mine = texts_in(await agent("memory_list"))
        assert mine == TEXTS.keys() - {"The secret plan lies in the red cabinet"}
        assert texts_in(await agent("memory_list", project=name)) == mine - {"Atlas runs Postgres 16"}

    talk(door(filled(tmp_path / "memory.db"), "all", names=["atlas"]), work)
