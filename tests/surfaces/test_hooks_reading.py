"""How transcripts are read: to their end in many short steps, also beside others that read and note them."""

import json
import os
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import rounds
from memorist import Memory
from memorist.files.importers import gemini
from memorist.store import captures
from memorist.surfaces.agents import capture
from surfaces.hooked import line, noted, told


def known() -> captures.Capture:
    with Memory() as memory:
        [found] = captures.known(memory._tools.store, memory.space, memory.home)
    return found


def read(seconds: float | None = None) -> int:
    with Memory() as memory:
        return capture.read_all(capture.recorder(memory), seconds)


def sessions() -> dict[str | None, str]:
    with Memory() as memory:
        return {each.title: each.data["state"] for each in memory.sessions()}


def meanwhile(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], Any]) -> None:
    """Lets something happen once, between a look at the transcripts and what is noted of their reading."""
    ingest, todo = capture._ingest, [happens]

    def ingested(*given: Any) -> None:
        ingest(*given)
        while todo:
            todo.pop()()

    monkeypatch.setattr(capture, "_ingest", ingested)


def test_an_end_that_comes_while_its_transcript_is_read_closes_the_session(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = work.parent / "s1.jsonl"
    file.write_text(line("user", "Logs go to Loki.", "u1"))
    noted(file)
    meanwhile(monkeypatch, lambda: told("claude-code", "SessionEnd", transcript_path=str(file)))
    read()
    assert known().ended
    read()
    assert sessions() == {"s1": "closed"}


def test_where_a_transcript_moves_while_it_is_read_all_of_it_is_read(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = work.parent / "old.jsonl", work.parent / "new.jsonl"
    old.write_text(line("user", "Logs go to Loki.", "u1"))
    new.write_text(line("user", "Metrics go to Mimir.", "u2"))
    noted(old)
    meanwhile(monkeypatch, lambda: noted(new))
    assert (read(), known().path, known().read) == (1, new, 0)
    assert (read(), known().read) == (1, new.stat().st_size)


def test_what_is_passed_over_is_read_once(work: Path) -> None:
    """A long session that was taken up and not known before: reading stops in time, and goes on where it stopped."""
    file = work.parent / "s1.jsonl"
    told("claude-code", "SessionStart", source="resume", transcript_path=str(file))
    with file.open("w") as old:
        for n in range(9):
            old.write(line("user", f"Remark number {n} " + "x" * capture.AT_LEAST, f"u{n}"))
    places = [known().read]
    for _ in range(8):
        assert read(0.0) == 0
        places.append(known().read)
    assert places == sorted({*places}), "each reading gets on"
    assert read() == 0 and known().read == file.stat().st_size
    with file.open("a") as more:
        more.write(line("user", "Logs go to Loki.", "u10", timestamp="2126-05-06T12:00:00Z"))
    assert read() == 1


def test_what_nobody_said_is_read_once(work: Path) -> None:
    file = work.parent / "s1.jsonl"
    with file.open("w") as log:
        for _ in range(5):
            log.write(json.dumps({"type": "progress", "data": "x" * capture.AT_LEAST}) + "\n")
        log.write(line("user", "Logs go to Loki.", "u1"))
    noted(file)
    assert [read(0.0) for _ in range(7)] == [0, 0, 0, 0, 0, 1, 0]


@pytest.mark.parametrize("said", ["", line("user", "/exit", "u1", isMeta=True)])
def test_a_session_in_which_nothing_was_said_is_over_and_leaves_nothing(said: str, work: Path) -> None:
    file = work.parent / "s1.jsonl"
    file.write_text(said)
    told("claude-code", "SessionEnd", transcript_path=str(file))
    read()
    assert known().closed and sessions() == {}


def test_one_that_was_passed_over_and_left_is_over(work: Path) -> None:
    file = work.parent / "s1.jsonl"
    file.write_text(line("user", "Logs go to Loki.", "u1"))
    told("claude-code", "SessionStart", source="resume", transcript_path=str(file))
    long_ago = time.time() - capture.QUIET - 60
    os.utime(file, (long_ago, long_ago))
    read()
    assert known().closed and sessions() == {}


def test_reading_stops_behind_a_line_and_not_in_it(work: Path) -> None:
    file = work.parent / "session-1.jsonl"
    calls = [{"id": f"c{n}", "name": "read", "args": {"path": f"file{n}"}} for n in range(capture.MESSAGES_AT_ONCE)]
    said = {"id": "m1", "timestamp": "2026-05-06T12:00:00Z", "type": "gemini", "content": "Noted.", "toolCalls": calls}
    file.write_text(json.dumps({"sessionId": "s1", "projectHash": "x"}) + "\n" + json.dumps(said) + "\n")
    noted(file, client="gemini")
    assert [read(0.0) for _ in range(2)] == [1 + 2 * len(calls), 0]
    with Memory() as memory:
        assert memory.count({"kind": "turn"}) == 1 + len(calls), "calls without a result"


def test_what_is_written_while_a_transcript_is_gone_through_is_read_later(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of Gemini CLI is gone through twice."""
    file = work.parent / "session-1.jsonl"

    def write(number: int) -> None:
        said = {"id": f"m{number}", "timestamp": "2026-05-06T12:00:00Z", "type": "user", "content": f"Remark {number}"}
        with file.open("a") as log:
            log.write(json.dumps(said) + "\n")

    write(1)
    noted(file, client="gemini")
    replayed = gemini._replayed
    monkeypatch.setattr(gemini, "_replayed", lambda values: (replayed(values), write(2))[0])
    assert read() == 1
    monkeypatch.setattr(gemini, "_replayed", replayed)
    assert read() == 1


# ---------------------------------------------------------------- in steps of any size

AT = "2026-05-06T12:00:00Z"
TEXTS = st.sampled_from(["Logs go to Loki.", "Grüße 🙂 \U0001f468‍\U0001f469", "a\nb", " ", "x" * 300])
TOOLS = {
    "claude-code": ("mcp__memorist__memory_search", "mcp__memory__memory_search"),
    "codex": ("memorist__memory_get", "memorist_get"),
    "gemini": ("mcp_memorist_memory_search", "mcp_memory_search"),
}
BEGINS = {
    "codex": {"type": "session_meta", "payload": {"id": "s1", "cwd": "/atlas", "git": {"branch": "main"}}},
    "gemini": {"sessionId": "s1", "projectHash": "x"},
}
PARENT = '{"type": "session_meta", "payload": {"id": "s0", "cwd": "/elsewhere"}}'  # of a fork by Codex
NO_MESSAGES = st.sampled_from(["{", "7", "", "\ufffd", '{"type": "progress"}', '{"$set": {"summary": "x"}}', PARENT])


def by_claude_code(id: str, role: str, text: str, tool: str | None) -> list[dict[str, Any]]:
    said = json.loads(line(role, text, id, gitBranch=f"branch-{id}"))
    if tool is None:
        return [said]
    use = {"type": "tool_use", "id": f"c{id}", "name": tool, "input": {"query": text}}
    result = {"type": "tool_result", "tool_use_id": f"c{id}", "content": text}
    return [said, *(json.loads(line(*each)) for each in (("assistant", [use], f"{id}c"), ("user", [result], f"{id}r")))]


def by_codex(id: str, role: str, text: str, tool: str | None) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = [{"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}]
    if tool is not None:
        said.append({"type": "function_call", "call_id": f"c{id}", "name": tool, "arguments": json.dumps({"q": text})})
        said.append({"type": "function_call_output", "call_id": f"c{id}", "output": text})
    return [{"timestamp": AT, "type": "response_item", "payload": each} for each in said]


def by_gemini(id: str, role: str, text: str, tool: str | None) -> list[dict[str, Any]]:
    said = {"id": id, "timestamp": AT, "type": "user" if role == "user" else "gemini", "content": text}
    call = {"id": f"c{id}", "name": tool, "args": {"query": text}}
    again = ({**said, "toolCalls": [each]} for each in (call, {**call, "resultDisplay": text}))
    return [said] if tool is None else [said, *again]  # a message is written again whenever it changes


WRITTEN_BY = {"claude-code": by_claude_code, "codex": by_codex, "gemini": by_gemini}


@st.composite
def transcripts(draw: st.DrawFn, client: str) -> bytes:
    lines = [json.dumps(BEGINS[client])] if client in BEGINS else []
    tools = st.none() | st.sampled_from(TOOLS[client])
    for number in range(draw(st.integers(1, 8))):
        lines += draw(st.lists(NO_MESSAGES, max_size=1))
        said = WRITTEN_BY[client](f"m{number}", draw(st.sampled_from(["user", "assistant"])), draw(TEXTS), draw(tools))
        lines += [json.dumps(each, ensure_ascii=False) for each in said]
    return ("\n".join(lines) + "\n").encode()


def kept_of(client: str, file: Path, parts: list[bytes], seconds: float | None) -> list[Any]:
    """What is kept of a transcript that grows by these parts."""
    file.write_bytes(b"")
    with Memory(":memory:") as memory:
        capture.note(memory, client, "s1", file, ended=False)
        for part in parts:
            with file.open("ab") as more:
                more.write(part)
            capture.read_all(capture.recorder(memory), seconds)
        for _ in range(file.stat().st_size):  # each gets on
            [known] = captures.known(memory._tools.store, memory.space, memory.home)
            if known.at_its_end:
                break
            capture.read_all(capture.recorder(memory), seconds)
        turns = memory.list({"kind": "turn"}, limit=100)
        said = [(turn.number, turn.text, turn.provenance, dict(turn.data)) for turn in turns]
    return [*said, known.read, known.asked]


@pytest.mark.parametrize("client", capture.READ)
@settings(max_examples=rounds(1000, 0.012))
@given(data=st.data())
def test_it_does_not_matter_in_which_steps_a_transcript_is_read(client: str, data: st.DataObject) -> None:
    whole = data.draw(transcripts(client))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    parts = [whole[begin:end] for begin, end in pairwise([0, *cuts, len(whole)])]
    seconds, at_least = data.draw(st.sampled_from([None, 0.0])), data.draw(st.sampled_from([100, 10_000]))
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        file = Path(folder) / "session-1.jsonl"
        at_once = kept_of(client, file, [whole], None)
        patch.setattr(capture, "MESSAGES_AT_ONCE", 2)
        patch.setattr(capture, "AT_LEAST", at_least)
        assert kept_of(client, file, parts, seconds) == at_once
