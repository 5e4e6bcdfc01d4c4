"""A session of an agent belongs to the project in which it began, wherever its agent goes, and is told nothing twice."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.store import captures
from memorist.store.meaning import A_FEW
from memorist.surfaces.agents import capture, moments
from memorist.surfaces.agents.clients import CLIENTS
from memorist.surfaces.cli import verbs
from surfaces.hooked import line, say, told

SAID = "From now on the customer list lives in vault Zanzibar."
ASKED = "Which vault holds the customer list?"


@pytest.fixture
def inner(work: Path) -> Path:
    """Another repository inside of the project's."""
    folder = work / "vendor" / "beta"
    for each in (work, folder):
        subprocess.run(["git", "init", "-q", str(each)], check=True)
    return folder


def kept_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is kept in the project of that folder, once all that is known there was read."""
    monkeypatch.chdir(folder)
    with Memory() as memory:
        verbs.read_transcripts(memory)
        return sorted({each.text for each in memory.list(limit=100) if each.kind == "turn"})


def codex(work: Path) -> str:
    meta = {"type": "session_meta", "payload": {"id": "s1", "cwd": str(work)}}
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": SAID}]}
    lines = (meta, {"type": "response_item", "payload": said})
    return "".join(json.dumps({"timestamp": "2026-05-06T12:00:00Z", **each}) + "\n" for each in lines)


@pytest.mark.parametrize("event", ["Stop", "SessionEnd", "PreCompact"])
def test_a_session_stays_with_its_project_wherever_its_agent_goes(
    event: str, work: Path, inner: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claude Code names the folder that the last command went to."""
    file = work.parent / "s1.jsonl"
    given = {"transcript_path": str(file)}
    told("claude-code", "SessionStart", source="startup", **given)
    file.write_text(line("user", SAID, "u1"))
    told("claude-code", event, cwd=str(inner), **given)
    assert kept_in(inner, monkeypatch) == []
    assert told("claude-code", "UserPromptSubmit", session_id="s2", prompt=ASKED) == ""
    assert kept_in(work, monkeypatch) == [SAID]


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_a_session_that_nobody_saw_begin_belongs_where_its_transcript_begins(
    client: str, work: Path, inner: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its start met a busy store, or was before memorist was installed."""
    file = work.parent / "s1.jsonl"
    title = json.dumps({"type": "custom-title", "customTitle": "Customers", "sessionId": "s1"}) + "\n"
    claude = title + line("user", SAID, "u1", cwd=str(work)) + line("assistant", "Gone.", "a1", cwd=str(inner))
    file.write_text(claude if client == "claude-code" else codex(work))
    told(client, "Stop", cwd=str(inner), transcript_path=str(file))
    assert kept_in(inner, monkeypatch) == []
    assert SAID in kept_in(work, monkeypatch)


def test_a_prompt_is_told_what_the_project_of_its_session_knows(
    work: Path, inner: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    say("Staging runs Postgres 16")
    monkeypatch.chdir(inner)
    say("Staging runs MariaDB 11")
    told("claude-code", "SessionStart", cwd=str(work))
    text = told("claude-code", "UserPromptSubmit", cwd=str(inner), prompt="which database does staging run?")
    assert "Postgres" in text and "MariaDB" not in text
    other = {"session_id": "s2", "cwd": str(inner)}
    told("claude-code", "SessionStart", **other)
    assert "MariaDB" in told("claude-code", "UserPromptSubmit", prompt="which database does staging run?", **other)


def test_what_is_said_in_a_project_that_is_left_out_reaches_no_other(
    work: Path, inner: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory() as memory, memory._writer.transaction():
        captures.leave_out(True, memory._tools.clock(), memory._tools.store, memory.space, memory.home)
    monkeypatch.chdir(inner)
    say("The customer list was moved to the attic")
    file = work.parent / "s1.jsonl"
    given: dict[str, Any] = {"transcript_path": str(file)}
    assert told("claude-code", "SessionStart", cwd=str(work), **given) == ""
    file.write_text(line("user", SAID, "u1"))
    told("claude-code", "Stop", cwd=str(inner), **given)
    told("claude-code", "PreCompact", cwd=str(inner), **given)
    assert told("claude-code", "UserPromptSubmit", cwd=str(inner), prompt=ASKED, **given) == ""
    assert kept_in(inner, monkeypatch) == kept_in(work, monkeypatch) == []


def test_where_its_folder_is_gone_nothing_goes_elsewhere(
    work: Path, inner: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = work.parent / "s1.jsonl"
    told("claude-code", "SessionStart", cwd=str(inner), transcript_path=str(file))
    file.write_text(line("user", SAID, "u1"))
    inner.rename(inner.with_name("away"))
    monkeypatch.chdir(work)
    with pytest.raises(capture.Invalid, match="began is gone"):
        told("claude-code", "Stop", cwd=str(work), transcript_path=str(file))
    assert kept_in(work, monkeypatch) == []


def test_of_many_sessions_the_latest_are_known(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captures, "MOST_SESSIONS", 3)
    for n in (9, 3, 7, 1, 5):
        told("claude-code", "SessionStart", session_id=f"s{n}")
    with Memory() as memory:
        known = [n for n in range(10) if captures.began("claude-code", f"s{n}", memory._tools.store, memory.space)]
    assert known == [1, 5, 7]


# ---------------------------------------------------------------- nothing twice

QUESTION = {"prompt": "which database does staging run?"}


def test_what_others_ask_meanwhile_makes_nothing_be_told_twice(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    say("Staging runs Postgres 16")
    assert "16" in told("claude-code", "UserPromptSubmit", **QUESTION)
    with Memory() as memory, Memory(project="elsewhere") as other:
        for n in range(110):
            memory.recall(f"staging {n}")
            other.recall(f"staging {n}")
    assert told("claude-code", "UserPromptSubmit", **QUESTION) == ""


@pytest.mark.parametrize(
    ("client", "event", "source"),
    [
        ("claude-code", "SessionStart", "compact"),
        ("codex", "SessionStart", "compact"),
        ("claude-code", "SessionStart", "clear"),
        ("opencode", "experimental.session.compacting", None),
    ],
)
def test_what_an_agent_has_forgotten_is_told_again(client: str, event: str, source: str | None, work: Path) -> None:
    hooks = CLIENTS[client].hooks
    asks = hooks.events["prompt"] if hooks else ""
    say("Staging runs Postgres 16")
    assert "16" in told(client, asks, **QUESTION) and told(client, asks, **QUESTION) == ""
    told(client, event, source=source)
    assert "16" in told(client, asks, **QUESTION)
    assert told(client, asks, **QUESTION) == "", "once"
    told(client, event, source=source)
    assert "16" in told(client, asks, **QUESTION)


def test_what_a_start_tells_after_a_compaction_is_not_told_twice(work: Path) -> None:
    say("Staging runs Postgres 16", pinned=True)
    assert "16" in told("claude-code", "SessionStart", source="compact")
    assert told("claude-code", "UserPromptSubmit", **QUESTION) == ""


def test_gemini_says_that_it_compacts_before_every_turn_and_does_not(work: Path) -> None:
    say("Staging runs Postgres 16")
    assert "16" in told("gemini", "BeforeAgent", **QUESTION)
    told("gemini", "PreCompress", trigger="auto")
    assert told("gemini", "BeforeAgent", **QUESTION) == ""


STARTED = """
import json, os, sys
from memorist.surfaces.agents import hooks
given = {"session_id": "s2", "cwd": os.getcwd(), "source": "startup"}
hooks.answer("claude-code", "SessionStart", json.dumps(given).encode(), lambda said: None)
print("memorist.models.encoder" in sys.modules)
"""


def test_a_start_that_closes_a_session_makes_no_vectors_and_the_next_prompt_does(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moments, "EMBEDDING", 60.0)  # however busy the machine is
    file = work.parent / "s1.jsonl"
    given = {"transcript_path": str(file)}
    told("claude-code", "SessionStart", source="startup", **given)
    asked = [line("user", f"Please look at part {n} of the parser", f"u{n}") for n in range(4)]
    file.write_text("".join([line("user", SAID, "u9"), *asked]))
    told("claude-code", "SessionEnd", reason="exit", **given)
    done = subprocess.run([sys.executable, "-c", STARTED], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False", "the start loaded what makes vectors"
    with Memory() as memory:
        assert {each.kind for each in memory.list(limit=100)} >= {"turn", "summary", "fact"}  # it was closed
        assert memory._tools.meaning.waiting(100) >= 7  # five turns, what was found in one, the summary
    assert "Zanzibar" in told("claude-code", "UserPromptSubmit", session_id="s3", prompt=ASKED)
    with Memory() as memory:
        assert memory._tools.meaning.waiting(100) == 0


def test_the_next_start_asks_about_what_a_start_had_no_time_to_weigh(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moments, "CLOSING", 60.0)  # however busy the machine is
    file = work.parent / "s1.jsonl"
    file.write_text(line("user", "Of the meeting:\nRemember: the release manager is Dana.", "u1"))
    told("claude-code", "SessionEnd", reason="exit", transcript_path=str(file))
    with monkeypatch.context() as patch:
        patch.setattr("memorist.session.close.WEIGHING", -1.0)
        patch.setattr(moments, "_close_left", lambda door: None)  # for which there is no time either
        told("claude-code", "SessionStart", session_id="s2", source="startup")
    with Memory() as memory:
        assert memory.sessions(state="closed") and memory.review() == []
    for _ in range(2):
        told("claude-code", "SessionStart", session_id="s3", source="startup")
        with Memory() as memory:
            assert ["release manager is Dana" in each.summary for each in memory.review()] == [True]


def test_what_a_prompt_has_no_time_to_embed_waits_for_the_next(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moments, "EMBEDDING", 0.0)
    with Memory() as memory:
        memory._writer.generations.later = True
        memory.remember_many([f"Parser {n} reads invoices of supplier {n}" for n in range(2 * A_FEW)])
    waited = []
    for n in range(3):
        told("claude-code", "UserPromptSubmit", session_id=f"s{n}", prompt="Which parser reads supplier 3?")
        with Memory() as memory:
            waited.append(memory._tools.meaning.waiting(100))
    assert waited == [A_FEW, 0, 0]
