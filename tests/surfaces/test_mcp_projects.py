"""Which project a call means, and that no other can be seen or guessed at."""

import json
import os
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client import ClientRequestContext

from memorist import Memory
from memorist.surfaces.mcp import projects
from surfaces.agents import Agent, command, door, talk, talk_stdio, text_of

READING: list[tuple[str, dict[str, Any]]] = [
    ("memory_search", {"query": "where is the secret plan kept?"}),
    ("memory_search", {"query": "plan", "search": "all", "limit": 20}),
    ("memory_context", {"query": "where is the secret plan kept?"}),
    ("memory_timeline", {}),
    ("memory_get", {"id": 1}),
    ("memory_get", {"id": 2}),
]
WRITING: list[tuple[str, dict[str, Any]]] = [
    ("memory_add", {"text": "The plan is in the blue cabinet"}),
    ("memory_update", {"id": 1, "text": "The plan is gone"}),
    ("memory_forget", {"id": 1}),
    ("memory_feedback", {"id": 1, "verdict": "wrong"}),
]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a secret of one project, and something that holds everywhere."""
    path = tmp_path / "memory.db"
    with Memory(path, project="secret") as memory:
        memory.remember("The secret plan is kept in the red cabinet")
        memory.remember("Plans are reviewed on Mondays", scope="user/ann")
    return path


def without(said: str, *names: str) -> str:
    """An answer without what differs from call to call."""
    found = json.loads(said) if said.startswith("{") else said
    if isinstance(found, dict):
        found.pop("receipt", None)
        found.pop("tokens", None)
    text = json.dumps(found).replace(" or comes near its meaning", "")  # which there is no time for on a busy machine
    for name in names:
        text = text.replace(name, "NAME")
    return text


@pytest.mark.covers("W2-10")
def test_a_project_that_is_not_served_answers_as_an_empty_one_whether_it_exists_or_not(store: Path) -> None:
    async def work(agent: Agent) -> None:
        for tool, given in READING:
            said = {}
            for project in ("secret", "nobody", "atlas"):  # it is there; it is not there; it is served and empty
                done = await agent.client.call_tool(tool, {**given, "project": project})
                said[project] = (done.is_error, without(text_of(done), project))
                assert "red cabinet" not in text_of(done)
            assert said["secret"] == said["nobody"] == said["atlas"], (tool, given)

    talk(door(store, names=["here", "atlas"]), work)


def test_nothing_is_written_to_a_project_that_is_not_served(store: Path) -> None:
    async def work(agent: Agent) -> None:
        for tool, given in WRITING:
            refusals = {
                (await agent.error(tool, **given, project=name)).replace(name, "NAME") for name in ("secret", "nobody")
            }
            assert len(refusals) == 1 and "does not write to project" in refusals.pop()

    talk(door(store, names=["here"]), work)
    with Memory(store, project="secret") as memory:
        assert [record.text for record in memory.list()][-1] == "The secret plan is kept in the red cabinet"
        assert memory.get(1).version == 1 and memory.audit().ok


@pytest.mark.parametrize("name", ["secret", "project/secret"])
@pytest.mark.parametrize("place", [{"names": ["here", "secret"]}, {"every": True, "names": ["here"]}])
def test_a_served_project_is_read_and_written_under_either_spelling(store: Path, name: str, place: Any) -> None:
    async def work(agent: Agent) -> None:
        found = await agent("memory_search", query="where is the secret plan?", project=name)
        assert found["project"] == "secret" and "red cabinet" in found["hits"][0]["text"]
        kept = await agent("memory_add", text="The plan has nine pages", project=name)
        assert (kept["outcome"], kept["project"]) == ("added", "secret")
        assert (await agent("memory_timeline"))["project"] == "here"

    talk(door(store, **place), work)
    with Memory(store, project="secret") as memory:
        assert memory.recall("how many pages has the plan?")


def test_with_all_projects_many_are_used_and_few_stay_open(tmp_path: Path) -> None:
    at = door(tmp_path / "memory.db", every=True)

    async def work(agent: Agent) -> None:
        for number in [*range(24), *range(24)]:
            kept = await agent("memory_add", text=f"Cabinet {number} is red", project=f"p{number}")
            assert kept["project"] == f"p{number}"

        assert isinstance(at.places, projects.Projects) and at.places._memories is not None
        assert len(at.places._memories._open) <= projects.MOST_OPEN

    talk(at, work)


# ---------------------------------------------------------------- folders


def test_the_folder_decides_as_it_does_for_the_command_line(tmp_path: Path) -> None:
    here = tmp_path / "atlas"
    here.mkdir()

    async def work(agent: Agent) -> str:
        return str((await agent("memory_add", text="Staging runs Postgres 16"))["project"])

    name = talk_stdio(command(), work, here)
    before = Path.cwd()
    try:
        os.chdir(here)
        with Memory() as memory:
            assert memory.project.scope == f"project/{name}"
            assert memory.recall("which database does staging run?")
    finally:
        os.chdir(before)


@pytest.mark.filterwarnings("ignore:The roots capability is deprecated")
@pytest.mark.parametrize("named", [False, True])
def test_the_clients_roots_come_before_the_directory_and_a_name_before_both(tmp_path: Path, named: bool) -> None:
    here, root = tmp_path / "elsewhere", tmp_path / "work" / "atlas"
    here.mkdir()
    root.mkdir(parents=True)

    async def roots(context: ClientRequestContext) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=root.as_uri())])

    async def work(agent: Agent) -> str:
        async def keep(number: int) -> None:
            names.add((await agent("memory_add", text=f"Cabinet {number} is red"))["project"])

        names: set[str] = set()
        async with anyio.create_task_group() as group:  # none of the first calls is answered from elsewhere
            for number in range(6):
                group.start_soon(keep, number)
        [name] = names
        return name

    arguments = ["--project", "borealis"] if named else []
    name = talk_stdio(command(*arguments), work, here, mode="legacy", list_roots_callback=roots)
    before = Path.cwd()
    try:
        os.chdir(root)
        with Memory() as memory:
            assert name == ("borealis" if named else memory.project.scope.removeprefix("project/"))
    finally:
        os.chdir(before)


def test_a_named_file_means_the_default_project_as_at_a_shell(tmp_path: Path) -> None:
    async def work(agent: Agent) -> str:
        return str((await agent("memory_add", text="Staging runs Postgres 16"))["project"])

    assert talk_stdio(command("--db", "own.db"), work, tmp_path) == "default"
    assert (tmp_path / "own.db").exists()
