"""What memory answers is in it already: as a tool's result in a transcript it would come back after it was forgotten."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.files.transfer import import_files
from memorist.surfaces.agents import capture
from memorist.surfaces.agents.clients import CLIENTS
from surfaces.hooked import line, told

AT = "2026-05-06T12:00:00Z"
Say = Callable[[str, str, str], str]  # the tool, what it is asked and what it answers → lines of a transcript


def claude(tool: str, asked: str, answered: str) -> str:
    use = {"type": "tool_use", "id": f"t {tool}", "name": tool, "input": {"query": asked}}
    result = {"type": "tool_result", "tool_use_id": use["id"], "content": [{"type": "text", "text": answered}]}
    said = {"type": "text", "text": f"I ask {tool}."}
    return line("assistant", [said, use], f"a {tool}") + line("user", [result], f"u {tool}")


def codex(tool: str, asked: str, answered: str) -> str:
    space, _, name = tool.rpartition("__")
    call = {"type": "function_call", "call_id": f"c {tool}", "arguments": json.dumps({"query": asked})}
    call |= {"name": name, "namespace": space} if space.startswith("mcp") else {"name": tool}
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": answered}
    return "".join(json.dumps({"timestamp": AT, "type": "response_item", "payload": x}) + "\n" for x in (call, output))


def gemini(tool: str, asked: str, answered: str) -> str:
    call = {"id": f"c {tool}", "name": tool, "args": {"query": asked}, "resultDisplay": answered}
    said = {"id": f"m {tool}", "timestamp": AT, "type": "gemini", "content": f"I ask {tool}.", "toolCalls": [call]}
    return json.dumps(said) + "\n"


BEGINS = {
    "codex": json.dumps({"timestamp": AT, "type": "session_meta", "payload": {"id": "s1", "cwd": "/"}}) + "\n",
    "gemini": json.dumps({"sessionId": "s1", "projectHash": "x"}) + "\n",
}
CASES: list[tuple[str, Say, str]] = [
    ("claude-code", claude, "mcp__memorist__memory_search"),
    ("claude-code", claude, "mcp__plugin_memorist_memorist__memory_context"),
    ("codex", codex, "mcp__memorist__memory_search"),
    ("codex", codex, "mcp__memorist____memory_search"),
    ("codex", codex, "memorist__memory_get"),
    ("gemini", gemini, "mcp_memorist_memory_timeline"),
]


def transcript(work: Path, client: str, say: Say, tool: str) -> Path:
    file = work.parent / f"{client}.jsonl"
    others = say("mcp__other__memory_search", "where are the keys", "The keys are under the mat.")
    own = say(tool, "what serves mail", "The mail server is exim.")
    file.write_text(BEGINS.get(client, "") + own + others)
    return file


def turns() -> str:
    with Memory() as memory:
        return "\n".join(each.text for each in memory.list({"kind": "turn"}, limit=100))


@pytest.mark.parametrize(("client", "say", "tool"), CASES)
def test_what_our_own_tools_answer_is_not_kept(client: str, say: Say, tool: str, work: Path) -> None:
    hooks_of = CLIENTS[client].hooks
    assert hooks_of is not None
    told(client, hooks_of.events["compact"], transcript_path=str(transcript(work, client, say, tool)))
    assert "exim" not in turns() and "serves mail" not in turns()
    assert "under the mat" in turns() and "where are the keys" in turns()
    assert client == "codex" or f"I ask {tool}." in turns()


@pytest.mark.parametrize(("client", "say", "tool"), CASES[:4])
def test_an_import_keeps_none_of_it_either(client: str, say: Say, tool: str, work: Path) -> None:
    with Memory() as memory:
        assert not import_files(memory, [transcript(work, client, say, tool)]).problems
    assert "exim" not in turns() and "under the mat" in turns()


def test_an_answer_that_comes_with_the_next_reading_is_known_as_ours(work: Path) -> None:
    file = work.parent / "s1.jsonl"
    call, answer = claude("mcp__memorist__memory_search", "what serves mail", "The mail server is exim.").splitlines()
    for said in (call, answer):
        with file.open("a") as log:
            log.write(said + "\n")
        told("claude-code", "PreCompact", transcript_path=str(file))
    assert turns() == "I ask mcp__memorist__memory_search."


def test_an_answer_that_another_reader_came_to_first_is_known_as_ours(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = work.parent / "s1.jsonl"
    call, answer = claude("mcp__memorist__memory_search", "what serves mail", "The mail server is exim.").splitlines()
    read_to = capture._read_to

    def read_on(said: str) -> None:
        with file.open("a") as log:
            log.write(said + "\n")
        told("claude-code", "PreCompact", transcript_path=str(file))

    def slowly(*given: Any) -> Any:
        monkeypatch.setattr(capture, "_read_to", read_to)
        read_on(answer)
        return read_to(*given)

    read_on(call)
    monkeypatch.setattr(capture, "_read_to", slowly)
    for _ in range(2):
        read_on('{"type": "progress"}')
    assert turns() == "I ask mcp__memorist__memory_search."


def test_what_is_handed_over_has_none_of_it(work: Path) -> None:
    use: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "memorist_memory_search", "input": {"query": "mail"}}
    messages = [
        {"id": "m1", "role": "assistant", "content": [{"type": "text", "text": "I ask."}, use], "timestamp": AT},
        {"id": "m2", "role": "tool", "tool_call_id": "t1", "content": "The mail server is exim.", "timestamp": AT},
    ]
    told("opencode", "session.idle", messages=messages)
    assert turns() == "I ask."


@pytest.mark.parametrize(
    ("client", "given", "kept"),
    [
        ("claude-code", {"command": 'memorist recall "mail"'}, False),
        ("claude-code", {"command": 'cd "/my work" && memorist recall mail'}, False),
        ("claude-code", {"command": "cd /work; cat mail; memorist recall mail"}, True),
        ("claude-code", {"command": "cat memorist.md"}, True),
        ("claude-code", {"command": "memorist-fork recall"}, True),
        ("claude-code", {"command": []}, True),
        ("codex", '{"command": ["bash", "-lc", "memorist recall mail"]}', False),
        ("codex", '{"cmd": " memorist review"}', False),
        ("codex", '{"cmd": "grep memorist x"}', True),
        ("codex", "memorist [[[", True),
    ],
)
def test_what_our_program_prints_in_a_shell_is_not_kept(client: str, given: Any, kept: bool, work: Path) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": given}
    call = {"type": "function_call", "call_id": "t1", "name": "shell", "arguments": given}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "The mail server is exim."}
    output = {"type": "function_call_output", "call_id": "t1", "output": "The mail server is exim."}
    by_codex = [json.dumps({"timestamp": AT, "type": "response_item", "payload": each}) for each in (call, output)]
    by_claude = line("assistant", [use], "a1") + line("user", [result], "u1")
    file = work.parent / "s1.jsonl"
    file.write_text(by_claude if client == "claude-code" else BEGINS["codex"] + "\n".join([*by_codex, ""]))
    told(client, "PreCompact", transcript_path=str(file))
    assert ("exim" in turns()) is kept


def test_a_long_id_is_not_stored() -> None:
    own = capture.OwnTools([])
    own.without({"content": [{"type": "tool_use", "id": "x" * 1_000_000, "name": "memorist_memory_get"}]})
    assert own.asked == []


@pytest.mark.parametrize("odd", [None, 7, [], {}, [None], "x"])
def test_odd_ids_and_names_hide_nothing(odd: Any, work: Path) -> None:
    own = capture.OwnTools([])
    for message in ({"tool_call_id": odd, "content": "a"}, {"content": [{"type": "tool_result", "tool_use_id": odd}]}):
        own.without({"content": [{"type": "tool_use", "id": odd, "name": "memorist_memory_get", "namespace": odd}]})
        assert odd == "x" or own.without(message) == message
