"""`memorist receipts`, and what `memorist doctor` says of coding agents: what they were told, and what went wrong since."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.surfaces.agents import hooks, problems, receipts
from surfaces.conftest import Cli


@pytest.fixture
def work(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project of the command line, a home with two agents in it, and a program called memorist on the PATH."""
    home, programs = tmp_path / "home", tmp_path / "bin"
    for folder in (home / ".gemini", home / ".claude", programs):
        folder.mkdir(parents=True)
    (programs / "memorist").write_text("#!/bin/sh\n")
    (programs / "memorist").chmod(0o755)
    cli.environment["MEMORIST_DB"] = str(tmp_path / "m.db")
    for name, value in {"HOME": home, "USERPROFILE": home, "PATH": programs, **cli.environment}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(cli.folder)
    return cli.folder


def asked(cli: Cli, *words: str) -> Any:
    return cli(*words, **{name: os.environ[name] for name in ("HOME", "USERPROFILE", "PATH")})


def ask(session: str, prompt: str = "which database does staging run?", client: str = "claude-code") -> None:
    given = {"session_id": session, "cwd": str(Path.cwd()), "prompt": prompt}
    event = "BeforeAgent" if client == "gemini" else "UserPromptSubmit"
    hooks.answer(client, event, json.dumps(given).encode(), lambda document: None)


def test_what_was_told_to_whom_and_what_was_used(cli: Cli, work: Path) -> None:
    with Memory() as memory:
        memory.remember("Staging runs Postgres 16")
        memory.recall("which database does staging run?")  # no agent was told this
    ask("s1")
    ask("s2", client="gemini")
    ask("s3", "thanks!")
    shown = json.loads(asked(cli, "receipts", "--json").out)
    assert [(each["client"], each["session"], each["moment"], each["ids"]) for each in shown] == [
        ("gemini", "s2", "prompt", [1]),
        ("claude-code", "s1", "prompt", [1]),
    ]
    assert all(each["tokens"] > 0 and each["used"] == [] for each in shown)
    with Memory() as memory:
        memory.used(shown[1]["receipt"], ids=[1])
    assert [each["used"] for each in json.loads(asked(cli, "receipts", "--json").out)] == [[], [1]]
    assert len(json.loads(asked(cli, "receipts", "--limit", "1", "--json").out)) == 1
    row = asked(cli, "receipts").out.splitlines()[1].split("\t")
    assert row[1:4] == ["claude-code", "s1", "prompt"] and row[5:] == ["[id:1]", "[id:1]"]


def test_another_project_shows_none_of_it(cli: Cli, work: Path) -> None:
    with Memory() as memory:
        memory.remember("Staging runs Postgres 16")
    ask("s1")
    assert asked(cli, "receipts").out
    other = asked(cli, "receipts", "--project", "elsewhere")
    assert other.out == "" and "no agent was told anything here" in other.err


def test_the_doctor_tells_of_the_agents_that_are_here(cli: Cli, work: Path) -> None:
    def rows() -> dict[str, dict[str, Any]]:
        return {each["check"]: each for each in json.loads(asked(cli, "doctor", "--json").out)}

    with Memory() as memory:
        memory.remember("Staging runs Postgres 16")
    assert "has nothing of ours" in rows()["claude-code"]["detail"] and "codex" not in rows()
    asked(cli, "install", "claude-code", "--no-mcp")
    assert rows()["claude-code"]["detail"] == "6 of 6 hooks, no tools; it was told nothing here yet"
    problems.note("claude-code", "Stop", ValueError("x"))
    wrong = rows()["claude-code"]
    assert not wrong["ok"] and "a hook at Stop failed: ValueError" in wrong["detail"] and "gemini" in rows()
    assert asked(cli, "doctor").code == 1
    file = Path(os.environ["HOME"]) / ".gemini" / "settings.json"
    file.write_text("{]")
    assert not rows()["gemini"]["ok"] and "line 1" in rows()["gemini"]["detail"]


def test_a_problem_is_over_once_a_hook_has_answered(cli: Cli, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory() as memory:
        memory.remember("Staging runs Postgres 16")
    asked(cli, "install", "claude-code", "--no-mcp")
    noted = {"at": "2026-01-01T00:00:00+00:00", "client": "claude-code", "event": "Stop", "problem": "ValueError"}
    monkeypatch.setattr(problems, "last", lambda: [noted])
    ask("s1")
    with Memory() as memory:
        [row] = [each for each in receipts.checked(memory) if each.check == "claude-code"]
    assert row.ok and "last told" in row.detail
