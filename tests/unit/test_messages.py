"""The shapes in which chat programs hand conversations in: calls, results and pictures of each vendor are kept as what they are."""

from types import SimpleNamespace
from typing import Any

import pytest

from memorist import Memory
from memorist.records import Record

LOOK = {"id": "c1", "name": "look", "input": {"at": "a.png"}}
NAMED = {"id": "look", "name": "look", "input": {"at": "a.png"}}  # where a vendor has no ids


def call(of: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
    return ("assistant", 'look({"at": "a.png"})', {"call": of})


def result(text: str, of: str = "c1", **more: Any) -> tuple[str, str, dict[str, Any]]:
    return ("tool", text, {"result": of, **more})


def google(name: str, given: dict[str, Any], role: str = "model") -> dict[str, Any]:
    return {"role": role, "parts": [{name: given}]}


def returned(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": content}]}


SHAPES: dict[str, tuple[Any, tuple[str, str, dict[str, Any]]]] = {
    # Google
    "functionCall": (google("functionCall", {"name": "look", "args": {"at": "a.png"}}), call(NAMED)),
    "function_call with an id": (
        google("function_call", {"id": "c1", "name": "look", "args": {"at": "a.png"}}), call(LOOK)),
    "functionResponse": (
        google("functionResponse", {"name": "look", "response": {"seen": "a lighthouse"}}, "user"),
        result('{"seen": "a lighthouse"}', "look")),
    "function_response with an id": (
        google("function_response", {"id": "c1", "name": "look", "response": {"n": 1}}, "function"), result('{"n": 1}')),
    "fileData": (
        google("fileData", {"mimeType": "image/png", "fileUri": "gs://b/a.png"}, "user"),
        ("user", "[image gs://b/a.png]", {"images": ["gs://b/a.png"]})),
    # OpenAI, chat
    "dict of a tool": ({"role": "tool", "tool_call_id": "c1", "content": {"n": 1}}, result('{"n": 1}')),
    "list of structures of a tool": (
        {"role": "tool", "tool_call_id": "c1", "content": [{"n": 1}, 2, "three"]}, result('{"n": 1}\n2\nthree')),
    "number of a tool": ({"role": "tool", "tool_call_id": "c1", "content": 42}, result("42")),
    "older call": (
        {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": '{"at": "a.png"}'}}, call(NAMED)),
    "older result": ({"role": "function", "name": "look", "content": "a lighthouse"}, result("a lighthouse", "look")),
    "refusal": ({"role": "assistant", "content": None, "refusal": "I will not."}, ("assistant", "I will not.", {})),
    # OpenAI, responses
    "function_call": (
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at": "a.png"}'}, call(LOOK)),
    "function_call as an object": (
        SimpleNamespace(type="function_call", call_id="c1", name="look", arguments='{"at": "a.png"}'), call(LOOK)),
    "function_call_output": ({"type": "function_call_output", "call_id": "c1", "output": "a lighthouse"}, result("a lighthouse")),
    "dict output": ({"type": "function_call_output", "call_id": "c1", "output": {"n": 1}}, result('{"n": 1}')),
    "list output": (
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "a"}, {
            "type": "input_image", "image_url": "https://e.org/a.png"}]},
        result("a", images=["https://e.org/a.png"])),
    "screenshot": (
        {"type": "computer_call_output", "call_id": "c1", "output": {"type": "computer_screenshot", "file_id": "f1"}},
        result("[image f1]", images=["f1"])),
    "custom_tool_call": ({"type": "custom_tool_call", "call_id": "c1", "name": "look", "input": {"at": "a.png"}}, call(LOOK)),
    "custom_tool_call_output": ({"type": "custom_tool_call_output", "call_id": "c1", "output": "a"}, result("a")),
    "vendor's call": (
        {"type": "web_search_call", "call_id": "w1", "action": {"query": "tides"}},
        ("assistant", 'web_search({"query": "tides"})', {
            "call": {"id": "w1", "name": "web_search", "input": {"query": "tides"}}})),
    "input_text": (
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}, ("user", "Hello", {})),
    "output_text": (
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]},
        ("assistant", "Hello", {})),
    # Anthropic
    "tool_use": (
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "a.png"}}]},
        call(LOOK)),
    "server_tool_use": (
        {"role": "assistant", "content": [{"type": "server_tool_use", "id": "c1", "name": "look", "input": {"at": "a.png"}}]},
        call(LOOK)),
    "nested result": (
        returned([{"type": "text", "text": "a lighthouse"}, {"type": "image", "source": {"type": "url", "url": "https://e.org/b"}},
                  {"type": "image", "source": {"type": "file", "file_id": "file_1"}}]),
        result("a lighthouse", images=["https://e.org/b", "file_1"])),
    "picture alone": (
        returned([{"type": "image", "source": {"type": "url", "url": "https://e.org/b"}}]),
        result("[image https://e.org/b]", images=["https://e.org/b"])),
    "dict result": (returned({"n": 1}), result('{"n": 1}')),
    "search result": (
        {"role": "assistant", "content": [{"type": "web_search_tool_result", "tool_use_id": "c1", "content": [
            {"type": "web_search_result", "url": "https://e.org", "title": "Tides", "encrypted_content": "Zm9v"}]}]},
        result('{"type": "web_search_result", "url": "https://e.org", "title": "Tides"}')),
    # MCP and LangChain
    "picture of MCP": (
        returned([{"type": "text", "text": "seen"}, {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}]),
        result("seen")),
    "call of LangChain": (
        {"type": "ai", "content": "", "tool_calls": [{"name": "look", "args": {"at": "a.png"}, "id": "c1", "type": "tool_call"}]},
        call(LOOK)),
}  # fmt: skip


def kept(memory: Memory) -> list[tuple[str | None, str, Any]]:
    def told(turn: Record) -> tuple[str | None, str, Any]:
        return turn.provenance.role, turn.text, dict(turn.data)

    return list(map(told, memory.list({"kind": "turn"}, order="-number")))


@pytest.mark.covers("S1-11", "S2-3")
@pytest.mark.parametrize("shape", SHAPES)
def test_a_session_keeps_each_shape_as_what_it_is(memory: Memory, shape: str) -> None:
    message, expected = SHAPES[shape]
    done = memory.ingest([{"role": "user", "content": "Look."}, message], session="s1")
    assert [outcome.outcome for outcome in done.outcomes] == ["added", "added"]
    assert kept(memory)[1:] == [expected]
    assert memory.ingest([{"role": "user", "content": "Look."}, message], session="s1").added == 0


@pytest.mark.covers("S2-3")
def test_a_call_that_holds_its_output_is_a_call_and_its_result(memory: Memory) -> None:
    memory.ingest(
        [{"type": "mcp_call", "id": "c1", "name": "look", "arguments": '{"at": "a.png"}', "output": "a lighthouse"}],
        session="s1",
    )
    [called, answered] = [(role, text, {**data, "message": None}) for role, text, data in kept(memory)]
    assert called == ("assistant", 'look({"at": "a.png"})', {"call": LOOK, "message": None})
    assert answered == ("tool", "a lighthouse", {"result": "c1", "message": None})


def test_whatever_a_tool_returned_never_speaks_as_the_user(memory: Memory) -> None:
    for n, (message, (role, *_)) in enumerate(SHAPES.values()):
        for outcome in memory.ingest([message], session=f"s{n}").outcomes:
            assert outcome.record is not None and (role == "tool") == (outcome.record.origin == "tool")


def test_remember_keeps_results_and_leaves_calls_and_pictures(memory: Memory) -> None:
    for n, (message, (role, text, data)) in enumerate(SHAPES.values()):
        said = [outcome.record for outcome in memory.remember([message], session=f"s{n}") if outcome.record]
        words = [] if "call" in data or text.startswith("[image") else [(role, text)]
        assert [(each.provenance.role, each.text) for each in said] == words


@pytest.mark.parametrize("name", ["messages", "contents", "input"])
def test_a_request_is_read_by_the_name_of_its_messages(memory: Memory, name: str) -> None:
    assert memory.ingest({"model": "m", name: [{"role": "user", "content": "Hello"}]}, session="s1").added == 1


def test_a_window_pairs_googles_calls_with_their_results(memory: Memory) -> None:
    talk = [SHAPES[name][0] for name in ("functionCall", "functionResponse")]
    memory.ingest([{"role": "user", "parts": [{"text": "Look."}]}, *talk], session="s1")
    with memory.session("s1") as session:
        _, called, answered = session.window(4000).messages
    assert called["tool_calls"][0]["id"] == answered["tool_call_id"] == "look"
