"""Nasty texts, times, numbers and filters through MCP: each is stored faithfully or refused as the library refuses it."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mcp_types import PARSE_ERROR

from memorist import Memory
from memorist.errors import MemoristError
from memorist.surfaces import wire
from memorist.surfaces.mcp import tools
from surfaces.agents import Agent, Raw, door, frame, hello, talk, text_of
from surfaces.test_http_nasty import ODD, TEXTS

TOOL = {tool.verb: tool.name for tool in tools.profile("all").values()}


def refusal(verb: str, given: dict[str, Any]) -> str | None:
    """What the library says where it refuses."""
    with Memory(":memory:") as memory:
        memory.remember("Staging runs Postgres 16")
        try:
            wire.call(memory, verb, wire.arguments(verb, given))
        except MemoristError as problem:
            return str(problem)
    return None


async def same(agent: Agent, verb: str, given: dict[str, Any]) -> dict[str, Any] | None:
    """The answer, which is refused exactly where and as the library refuses."""
    done = await agent.client.call_tool(TOOL[verb], given)
    said = refusal(verb, given)
    assert done.is_error == (said is not None), (verb, str(given)[:100], text_of(done)[:300], said)
    if said is not None:
        code, _, words = text_of(done).partition(": ")
        assert code in ("invalid", "not_found", "out_of_scope", "conflict", "refused") and words
        return None
    return dict(done.structured_content)


def test_a_text_is_stored_faithfully_or_refused(tmp_path: Path) -> None:
    path, kept = tmp_path / "memory.db", dict[int, str]()

    async def work(agent: Agent) -> None:
        for text in (text for name, text in TEXTS.items() if name != "10 MB"):  # which goes over the wire below
            stored = await same(agent, "remember", {"text": text})
            if stored is not None:
                kept[stored["id"]] = text

    talk(door(path, "all"), work)
    assert len(kept) > 15
    with Memory(path) as memory:
        assert {number: memory.get(number).text for number in kept} == kept


def test_a_question_is_answered_or_refused() -> None:
    async def work(agent: Agent) -> None:
        await agent("memory_add", text="Staging runs Postgres 16")
        for name, text in TEXTS.items():
            if name != "10 MB":
                await same(agent, "recall", {"query": text})

    talk(door(profile="all"), work)


@pytest.mark.parametrize("verb", sorted(set(ODD) & set(TOOL)))
def test_odd_arguments_are_refused_as_the_library_refuses_them(verb: str) -> None:
    needed = {"remember": {"text": "An odd one"}, "recall": {"query": "odd"}, "context": {"query": "odd"}}

    async def work(agent: Agent) -> None:
        await agent("memory_add", text="Staging runs Postgres 16")
        for number, odd in enumerate(ODD[verb]):
            given = {**needed.get(verb, {}), **odd}
            if "text" in given:
                given["text"] = f"An odd one {number}"
            await same(agent, verb, given)

    talk(door(profile="all"), work)


@pytest.mark.parametrize("profile", ["seed", "associative", "graph"])
def test_no_value_of_the_wrong_kind_is_a_fault(profile: str) -> None:
    """Each argument of each tool in turn, beside what the tool needs."""
    odd: tuple[Any, ...] = (None, True, 5, 1.5, 10**30, "", [], [None], [5], {}, {"a": [1]})

    async def work(agent: Agent) -> None:
        for tool in tools.profile(profile).values():
            needs = {name: "remember" if name == "action" else "1" for name in tool.input.get("required", ())}
            for name, value in ((name, value) for name in tool.input["properties"] for value in odd):
                done = await agent.client.call_tool(tool.name, {**needs, name: value})
                said = text_of(done)
                assert not done.is_error or not said.startswith("fault"), (tool.name, name, value, said)
                assert value is not True or name == "project" or done.is_error, (tool.name, name, said)

    talk(door(profile=profile), work)


def test_half_a_character_on_the_wire_is_an_error_of_the_frame_and_the_server_goes_on(tmp_path: Path) -> None:
    with Raw("--db", "own.db", folder=tmp_path) as raw:
        raw.send(*hello("2025-06-18"))
        raw.answer(0)
        for name in ("surrogate", "NUL", "10 MB"):
            call = frame("tools/call", {"name": "memory_add", "arguments": {"text": TEXTS[name]}}, name)
            raw.send(json.dumps(call))
        assert raw.answer("surrogate")["error"]["code"] == PARSE_ERROR
        assert all(raw.answer(name)["result"]["isError"] for name in ("NUL", "10 MB"))
        raw.send(frame("tools/call", {"name": "memory_add", "arguments": {"text": TEXTS["family"]}}, "last"))
        assert raw.answer("last")["result"]["isError"] is False
    with Memory(tmp_path / "own.db") as memory:
        assert [record.text for record in memory.list()] == [TEXTS["family"]]


@pytest.mark.covers("N1-8")
@pytest.mark.parametrize(("setting", "refused"), [(None, True), ("1 MB", False), ("900000 GB", True)])
def test_on_a_nearly_full_disk_nothing_new_is_stored_and_reading_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str | None, refused: bool
) -> None:
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        memory.remember("Staging runs Postgres 16")
    if setting is not None:
        monkeypatch.setenv("MEMORIST_MIN_FREE", setting)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10 << 20))

    async def work(agent: Agent) -> None:
        if refused:
            assert "only 10 MB of the disk are free" in await agent.error("memory_add", text="The port is 8080")
        else:
            await agent("memory_add", text="The port is 8080")
        assert (await agent("memory_search", query="what does staging run?"))["hits"]

    talk(door(tmp_path / "memory.db", names=["atlas"]), work)
