"""How transcripts are read: to their end in many short steps, also beside others that read and note them."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.files.importers import gemini
from memorist.store import captures
from memorist.surfaces.agents import capture
from surfaces.hooked import line, told


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
    told("claude-code", "Stop", transcript_path=str(file))
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
    told("claude-code", "Stop", transcript_path=str(old))
    meanwhile(monkeypatch, lambda: told("claude-code", "Stop", transcript_path=str(new)))
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
    told("claude-code", "Stop", transcript_path=str(file))
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
    told("gemini", "AfterAgent", transcript_path=str(file))
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
    told("gemini", "AfterAgent", transcript_path=str(file))
    replayed = gemini._replayed
    monkeypatch.setattr(gemini, "_replayed", lambda values: (replayed(values), write(2))[0])
    assert read() == 1
    monkeypatch.setattr(gemini, "_replayed", replayed)
    assert read() == 1
