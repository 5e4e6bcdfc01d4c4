"""Agents over the Model Context Protocol: their tools, what they answer, what is refused, and where their words go."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from golden.driver import Agent, Shell, speaking, tool
from golden.outside_fixtures import lib_in, shell_in

CORE = {
    "memory_search",
    "memory_get",
    "memory_add",
    "memory_update",
    "memory_forget",
    "memory_context",
    "memory_feedback",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tools")


@pytest.fixture(scope="module")
def agent(place: Path) -> Iterator[Agent]:
    """One agent for the file, with every tool; each test speaks in a project of its own."""
    with speaking(shell_in(place), tools="all", all_projects=True) as agent:
        yield agent


@pytest.mark.covers("S1-4", "N1-7")
def test_every_tool_says_what_it_does_and_takes(agent: Agent) -> None:
    tools = agent.tools()
    assert {each.name for each in tools} >= CORE and len({each.name for each in tools}) == len(tools)
    for each in tools:
        assert each.description and each.input_schema["type"] == "object" and each.annotations is not None, each.name
    hints = {each.name: each.annotations for each in tools}
    assert hints[tool("recall")].read_only_hint and not hints[tool("remember")].read_only_hint


@pytest.mark.covers("S1-4", "S0-14")
@pytest.mark.parametrize(("profile", "names"), [
    ("core", CORE), ("openai", {"search", "fetch"}),
    ("seed", {"memory_store", "memory_query", "memory_reinforce", "memory_demote", "narrative_update"}),
])  # fmt: skip
def test_a_profile_has_its_tools_at_a_bearable_price(shell: Shell, profile: str, names: set[str]) -> None:
    with speaking(shell, tools=profile) as agent:
        tools = agent.tools()
        assert names <= {each.name for each in tools} and len(tools) <= 12
        assert sum(len(json.dumps([each.name, each.description, each.input_schema])) for each in tools) / 4 < 2500
        assert agent("erase", id=1).error == "no_tool"


@pytest.mark.covers("S1-4")
def test_a_memory_from_its_first_day_to_its_last(agent: Agent) -> None:
    here: dict[str, Any] = {"project": "life"}
    added = agent("remember", text="Staging runs Postgres 16", kind="decision", tags=["db"], **here)
    assert (added.data["outcome"], added.data["project"]) == ("added", "life")
    id = added.data["id"]
    found = agent("recall", query="which database does staging use?", **here)
    [hit] = found.data["hits"]
    assert (hit["text"], hit["id"], hit["kind"], hit["tags"]) == ("Staging runs Postgres 16", id, "decision", ["db"])
    assert json.loads(found.text) == found.data, "older clients read the text"
    assert (
        agent("feedback", id=id, verdict="useful", receipt=found.data["receipt"], **here).data["outcome"] == "changed"
    )
    told = agent("context", query="move the staging database", budget=500, **here)
    assert "Postgres 16" in told.data["text"] and told.data["ids"] == [id]
    changed = agent("revise", id=id, text="Staging runs Postgres 17", expected_version=1, **here)
    assert (changed.data["outcome"], changed.data["version"]) == ("changed", 2)
    assert agent("revise", id=id, text="Staging runs Postgres 18", expected_version=1, **here).error == "conflict"
    assert agent("timeline", **here).texts == ["Staging runs Postgres 17"]
    assert agent("forget", id=id, because="we moved", **here).data["outcome"] == "changed"
    gone = agent("recall", query="which database does staging use?", **here)
    assert gone.data["hits"] == [] and gone.data["because"] and not gone.error, "an empty answer says why"
    assert agent("restore", id=id, **here).data["outcome"] == "changed"


@pytest.mark.covers("Z19")
@pytest.mark.parametrize(("verb", "given", "error"), [
    ("get", {"id": 9999}, "not_found"), ("get", {"id": "../x"}, "not_found"), ("remember", {"text": ""}, "invalid"),
    ("remember", {}, "invalid"), ("remember", {"text": "x", "nonsense": 1}, "invalid"), ("remember", {"text": 7}, "invalid"),
    ("recall", {"query": "x", "limit": 0.5}, "invalid"), ("recall", {"query": "x", "limit": -1}, "invalid"),
    ("feedback", {"id": 9999, "verdict": "useful"}, "not_found"), ("list", {"where": {"__class__": 1}}, "invalid"),
    ("nonsense", {}, "no_tool"), ("remember", {"text": "x", "kind": "no such"}, "invalid"),
])  # fmt: skip
def test_what_is_wrong_is_an_error_of_its_class(agent: Agent, verb: str, given: dict[str, Any], error: str) -> None:
    said = agent(verb, **given)
    assert said.error == error and "Traceback" not in said.text


@pytest.mark.covers("P2")
def test_every_write_can_be_sent_again(agent: Agent) -> None:
    here: dict[str, Any] = {"project": "again"}
    keyed = [agent("remember", text="The office is in Ghent", key="k1", **here).data["outcome"] for _ in range(2)]
    assert keyed == ["added", "repeated"]
    first, second = (agent("remember", text="Deploys are on Fridays", **here).data["id"] for _ in range(2))
    assert first == second and agent("count", **here).error == ""
    for _ in range(3):
        agent("turn", session="s1", role="user", text="Who oils the lift?", id="m1", **here)
    assert len(agent("session_turns", session="s1", **here).texts) == 1


@pytest.mark.covers("S3-3", "N2-4")
def test_conversations_tasks_and_threads_have_their_tools(agent: Agent) -> None:
    here: dict[str, Any] = {"project": "talks"}
    agent("turn", session="s1", role="user", text="We decided to use uv for installs.", **here)
    window = agent("session_window", session="s1", limit=4000, **here)
    assert "uv" in json.dumps(window.data)
    assert not agent("session_close", session="s1", **here).error
    assert "uv" in agent("recall", query="what do we use for installs?", search="all", **here).text
    task = agent("add_task", title="Mend the build", **here)
    assert agent("move_task", id=task.data["id"], status="running", **here).data["outcome"] == "changed"
    assert "running" in agent("tasks", **here).text
    agent("narrate", summary="We looked at the build and found the cause", topic="build", **here)
    assert "found the cause" in agent("narratives", **here).text


@pytest.mark.covers("S1-4", "B14")
def test_the_tools_of_the_founding_document_are_there_under_their_names(shell: Shell) -> None:
    with speaking(shell, tools="seed") as agent:
        kept = agent("store", content="An empty body signs as nothing in the HMAC", tags="payments, hmac")
        assert kept.data["ids"] == [1]
        assert agent("query", query="hmac signature body").data["ids"] == [1]
        assert not agent("reinforce", id=1).error and agent("demote", id="1").data["ids"] == [1]


@pytest.mark.covers("S1-4")
def test_search_and_fetch_give_ids_titles_and_texts(tmp_path: Path) -> None:
    with lib_in(tmp_path) as lib:
        lib.keep("Staging runs Postgres 16 " + "and more " * 20)
    with speaking(shell_in(tmp_path), tools="openai") as agent:
        call = agent.portal.call
        [hit] = json.loads(call(agent.client.call_tool, "search", {"query": "staging Postgres"}).content[0].text)[
            "results"
        ]
        assert {"id", "title", "url"} <= set(hit)
        one = json.loads(call(agent.client.call_tool, "fetch", {"id": hit["id"]}).content[0].text)
        assert {"id", "title", "text", "url"} <= set(one) and one["text"].startswith("Staging runs Postgres 16")


@pytest.mark.covers("W2-10")
def test_resources_and_prompts_are_there(agent: Agent) -> None:
    id = agent("remember", text="The canary is yellow").data["id"]
    read = agent.portal.call(agent.client.read_resource, f"memory://item/{id}")
    assert "canary" in read.contents[0].text
    names = [each.name for each in agent.portal.call(agent.client.list_prompts).prompts]
    assert names
    with pytest.raises(Exception):  # noqa: B017 - the protocol's own error
        agent.portal.call(agent.client.read_resource, "memory://item/99999")


def test_while_memory_is_off_nothing_is_kept_and_the_agent_is_told(shell: Shell) -> None:
    with speaking(shell) as agent:
        shell("off")
        assert agent("remember", text="Nothing of this").error == "refused"
        shell("on")
        assert agent("remember", text="But of this").data["outcome"] == "added"


@pytest.mark.covers("Z19", "P24")
def test_what_is_no_message_ends_nothing(shell: Shell) -> None:
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize",
             "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                        "clientInfo": {"name": "t", "version": "1"}}}  # fmt: skip
    call = {
        "jsonrpc": "2.0",
        "id": 9,
        "method": "tools/call",
        "params": {"name": tool("remember"), "arguments": {"text": "Still here"}},
    }
    junk = [
        b"what is this?",
        b"42",
        b"{",
        b"[]",
        b"[" * 3000,
        b'{"jsonrpc":"2.0","id":{},"method":"x"}',
        b"\xff\xfe",
        b"",
    ]
    lines = [
        json.dumps(hello).encode(),
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        *junk,
        json.dumps(call).encode(),
    ]
    child = shell.start("mcp", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for each in lines:
        child.stdin.write(each + b"\n")
    child.stdin.flush()
    said = {}
    while 9 not in said:
        found = json.loads(child.stdout.readline())  # nothing but the protocol is on standard output
        said[found.get("id") if not isinstance(found.get("id"), dict) else None] = found
    assert "added" in json.dumps(said[9])
    child.communicate(timeout=30)
    assert child.returncode == 0, "the end of its input is the end"
