"""Coding agents: what a session and a prompt are told, what is kept of what was said, and what nobody ever sees. And `install`
gives an agent its memory, and `uninstall` leaves its settings as they were."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from golden.children import bytes_of
from golden.conftest import rounds
from golden.driver import Shell
from golden.outside_fixtures import lib_in, shell_in, store_in

AGENTS = ["claude-code", "codex", "gemini"]
ASKED = "which database does staging run?"
NOW = "2026-05-06T12:00:00Z"


def line(role: str, text: Any, id: str, **more: Any) -> str:
    said = {"type": role, "uuid": id, "sessionId": "s1", "timestamp": NOW, "message": {"role": role, "content": text}}
    return json.dumps({**said, **more}) + "\n"


@pytest.fixture
def told(tmp_path: Path) -> Shell:
    """An agent's program in project atlas, which knows something."""
    with lib_in(tmp_path) as lib:
        lib.keep("Staging runs Postgres 16")
        lib.keep("The office plants are watered on Fridays")
        lib.keep("Deploys need two approvals", kind="decision", pinned=True)
    return shell_in(tmp_path)


def turns(folder: Path, session: str = "s1") -> list[tuple[str, str, str]]:
    with lib_in(folder) as lib:
        return sorted((str(row.role), row.origin, row.text) for row in lib.all({"kind": "turn", "session": session}))


@pytest.mark.covers("S3-16", "N1-7")
@pytest.mark.parametrize("agent", AGENTS)
def test_a_start_and_a_prompt_are_told_what_matters_once(told: Shell, agent: str) -> None:
    start = told.hook(agent, "start", source="startup")
    assert "two approvals" in start and "plants" not in start
    assert told.hook(agent, "start", source="startup", session_id="s2") == start, "the same to the byte: it is cached"
    first = told.hook(agent, "prompt", prompt=ASKED)
    assert "Postgres 16" in first and "plants" not in first
    assert told.hook(agent, "prompt", prompt=ASKED) == "", "it was shown in this session"
    assert "Postgres 16" in told.hook(agent, "prompt", prompt=ASKED, session_id="s2")


def test_what_changed_is_shown_again(told: Shell, tmp_path: Path) -> None:
    assert "16" in told.hook("claude-code", "prompt", prompt=ASKED)
    with lib_in(tmp_path) as lib:
        lib.change(1, "Staging runs Postgres 17")
    assert "Postgres 17" in told.hook("claude-code", "prompt", prompt=ASKED)


@pytest.mark.parametrize("prompt", ["thanks!", "/compact now", "2."])
def test_small_talk_and_commands_get_nothing(told: Shell, prompt: object) -> None:
    assert told.hook("claude-code", "prompt", prompt=prompt) == ""


@pytest.mark.covers("Z6")
def test_another_project_is_never_told(told: Shell, tmp_path: Path) -> None:
    other = Shell(tmp_path / "home", {**told.environment, "project": "other"})
    assert (
        other.hook("claude-code", "prompt", prompt=ASKED) == "" == other.hook("claude-code", "start", source="startup")
    )


def test_off_is_off(told: Shell, tmp_path: Path) -> None:
    assert not told("off").error
    (tmp_path / "s1.jsonl").write_text(line("user", "We decided to use Kafka.", "u1"))
    for event, given in (("start", {"source": "startup"}), ("prompt", {"prompt": ASKED})):
        assert told.hook("claude-code", event, **given) == ""
    told.hook("claude-code", "compact", transcript_path=str(tmp_path / "s1.jsonl"))
    assert told("remember", "Nothing of this").error == "refused"
    assert not told("on").error and turns(tmp_path) == []
    assert "Postgres 16" in told.hook("claude-code", "prompt", prompt=ASKED)


@pytest.mark.covers("S3-3", "N2-4", "P14", "E1")
def test_a_transcript_is_read_once_and_as_far_as_it_is_written(tmp_path: Path) -> None:
    shell, file = shell_in(tmp_path), tmp_path / "s1.jsonl"
    file.write_text(
        line("user", "We decided that staging runs Postgres 16.<private>my pin is qzcanary</private>", "u1")
        + line("assistant", "Noted.", "a1") + line("user", "a helper's words", "h1", isSidechain=True)
        + line("user", "The last thing", "u2")[:40]
    )  # fmt: skip
    for _ in range(2):
        shell.hook("claude-code", "compact", transcript_path=str(file))
    first = [("assistant", "agent", "Noted."), ("user", "recorded", "We decided that staging runs Postgres 16.")]
    assert turns(tmp_path) == first
    with file.open("a") as more:
        more.write(line("user", "The last thing", "u2")[40:])
    shell.hook("claude-code", "end", transcript_path=str(file))
    shell.hook("claude-code", "start", session_id="s2", source="startup")
    assert turns(tmp_path) == sorted([*first, ("user", "recorded", "The last thing")])
    with lib_in(tmp_path) as lib:
        [session] = [row for row in lib.rows("sessions") if row.session == "s1" or row.title == "s1"]
        assert session.data["state"] == "closed"
        assert [row for row in lib.everything() if row.kind == "decision" and "Postgres 16" in row.text], (
            "what was found is kept"
        )
    assert not [name for name, said in bytes_of(store_in(tmp_path).parent).items() if b"qzcanary" in said]


@pytest.mark.covers("S3-3", "P14")
def test_a_transcript_that_was_written_anew_brings_nothing_twice(tmp_path: Path) -> None:
    shell, file = shell_in(tmp_path), tmp_path / "s1.jsonl"
    file.write_text(line("user", "Logs go to Loki.", "u1") + line("user", "Metrics go to Mimir.", "u2"))
    shell.hook("claude-code", "compact", transcript_path=str(file))
    file.write_text(
        line("user", "Metrics go to Mimir.", "u2") + line("user", "Traces of all services go to Tempo.", "u3")
    )
    shell.hook("claude-code", "compact", transcript_path=str(file))
    assert not shell("import", file).error
    said = ["Logs go to Loki.", "Metrics go to Mimir.", "Traces of all services go to Tempo."]
    assert [text for *_, text in turns(tmp_path)] == said


@pytest.mark.covers("S3-3")
@pytest.mark.parametrize("text", [
    "<bash-stdout>We decided to use Kafka.</bash-stdout><bash-stderr></bash-stderr>",
    "<system-reminder>We decided to use Kafka.</system-reminder>",
    "<task-notification>We decided to use Kafka.</task-notification>",
])  # fmt: skip
def test_what_a_program_puts_out_is_not_what_its_user_said(tmp_path: Path, text: str) -> None:
    shell, file = shell_in(tmp_path), tmp_path / "s1.jsonl"
    file.write_text(line("user", text, "u1") + line("user", "What now?", "u2"))
    shell.hook("claude-code", "compact", transcript_path=str(file))
    assert [text for role, _, text in turns(tmp_path) if role == "user" and "Kafka" in text] == []


@pytest.mark.covers("S3-3")
def test_what_we_told_is_no_part_of_what_a_person_said(told: Shell, tmp_path: Path) -> None:
    said, file = told.hook("claude-code", "prompt", prompt=ASKED), tmp_path / "s1.jsonl"
    file.write_text(line("user", f"{said}\nAnd now?", "u1"))
    told.hook("claude-code", "compact", transcript_path=str(file))
    assert [text for *_, text in turns(tmp_path)] == ["And now?"]


@pytest.mark.covers("S3-3")
def test_a_transcript_of_gemini_is_read(tmp_path: Path) -> None:
    shell, file = shell_in(tmp_path), tmp_path / "session-1.jsonl"
    head = {"sessionId": "s1", "projectHash": "x", "startTime": NOW}
    said = [{"id": f"m{n}", "timestamp": NOW, "type": type, "content": text}
            for n, (type, text) in enumerate([("user", "Logs go to Loki."), ("gemini", "Noted.")])]  # fmt: skip
    file.write_text("".join(json.dumps(each) + "\n" for each in [head, *said]))
    for _ in range(2):
        shell.hook("gemini", "compact", transcript_path=str(file))
    assert [text for *_, text in turns(tmp_path)] == ["Noted.", "Logs go to Loki."]


NASTY: list[Any] = [
    b"", b"{", b"[]", b"null", b"7", b"\xff\xfe", b'{"prompt": "' + b"x" * 300_000 + b'"}', b'{"prompt": "\\ud800"}', b"[" * 5000,
    b'{"prompt": {"a": 1}, "cwd": 7, "session_id": []}', b'{"cwd": "/no/such/folder", "prompt": "' + ASKED.encode() + b'"}',
    b'{"transcript_path": "/dev/zero", "session_id": "s1"}', b'{"transcript_path": "/etc", "session_id": "../../x"}',
]  # fmt: skip


@pytest.mark.covers("P22", "P24")
def test_whatever_an_agent_says_a_hook_ends_well(told: Shell) -> None:
    events = [("claude-code", "prompt"), ("codex", "start"), ("gemini", "compact")]
    for number, raw in enumerate(NASTY):
        for agent, event in events if rounds(100) == 100 else [events[number % 3]]:
            told.hook(agent, event, raw=raw)
    assert told("audit").data["ok"] and not told("doctor").error


@pytest.mark.covers("P22")
def test_a_store_that_cannot_be_used_disturbs_no_agent(told: Shell, tmp_path: Path) -> None:
    store_in(tmp_path).write_bytes(b"noise" * 5000)
    started = time.monotonic()
    assert told.hook("claude-code", "prompt", prompt=ASKED) == "" and time.monotonic() - started < 20
    nowhere = Shell(tmp_path / "home", {**told.environment, "db": str(tmp_path / "none" / "m.db")})
    assert nowhere.hook("claude-code", "prompt", prompt=ASKED) == ""


def test_what_was_told_is_listed_with_its_cost(told: Shell) -> None:
    told.hook("claude-code", "start", source="startup")
    told.hook("claude-code", "prompt", prompt=ASKED)
    listed = told("receipts").data
    assert len(listed) == 2 and all(each["tokens"] > 0 for each in listed)


# ---------------------------------------------------------------- install and uninstall

JSON = (
    json.dumps(
        {"model": "opus", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}, indent=2
    )
    + "\n"
)
TOML = '# mine\nmodel = "gpt-5"\n\n[tui]\ntheme = "dark"\n'
FILES = {
    "claude-code": {".claude/settings.json": JSON, ".claude.json": '{"x": 1}\n'},
    "codex": {".codex/config.toml": TOML},
    "gemini": {".gemini/settings.json": '{\n  "theme": "GitHub"\n}\n'},
}


@pytest.fixture
def home(tmp_path: Path) -> Shell:
    """A home in which three agents have their folders, and the program on the PATH."""
    shell, programs = shell_in(tmp_path), tmp_path / "bin"
    programs.mkdir()
    (programs / "memorist").write_text(f'#!/bin/sh\nexec {sys.executable} -m memorist "$@"\n')
    (programs / "memorist").chmod(0o755)
    for folder in (".claude", ".codex", ".gemini"):
        (tmp_path / "home" / folder).mkdir()
    own = {"CLAUDE_CONFIG_DIR": "", "CODEX_HOME": "", "USERPROFILE": str(tmp_path / "home")}
    return Shell(shell.folder, {**shell.environment, **own, "PATH": f"{programs}:/usr/bin:/bin"})


def settings_in(folder: Path) -> dict[str, bytes]:
    agents = (".claude", ".codex", ".gemini")
    return {name: said for name, said in bytes_of(folder).items() if name.startswith(agents)}


@pytest.mark.parametrize(("agent", "filled"), [*((agent, True) for agent in AGENTS), ("claude-code", False)])
def test_what_was_put_in_is_taken_out_again(home: Shell, tmp_path: Path, agent: str, filled: bool) -> None:
    folder = tmp_path / "home"
    for name, text in FILES[agent].items() if filled else ():
        (folder / name).write_text(text)
    before = settings_in(folder)
    home("install", agent, dry_run=True, json=False)
    assert settings_in(folder) == before
    home("install", agent, json=False)
    after = settings_in(folder)
    assert any(b"memorist" in said for said in after.values())
    for name, text in FILES[agent].items() if filled else ():  # what is the user's stays
        for word in ("say done", "opus", "GitHub", "gpt-5", "# mine", "theme"):
            assert (word in text) == (word in after[name].decode())
    home("install", agent, json=False)
    assert settings_in(folder) == after, "a second time changes nothing"
    home("uninstall", agent, json=False)
    assert {name: said for name, said in settings_in(folder).items() if b"memorist" in said} == {}
    assert {name: said for name, said in settings_in(folder).items() if name in before} == before


@pytest.mark.parametrize("agent", ["claude-code", "gemini"])
def test_what_is_put_in_works(home: Shell, tmp_path: Path, agent: str) -> None:
    """The very line of the settings, run by a shell as the agent would run it."""
    home("remember", "Staging runs Postgres 16")
    home("install", agent, json=False)
    [written] = [said for name, said in settings_in(tmp_path / "home").items() if name.endswith("settings.json")]
    hooks = json.loads(written)["hooks"]
    event = {"claude-code": "UserPromptSubmit", "gemini": "BeforeAgent"}[agent]
    [command] = [each["command"] for entry in hooks[event] for each in entry["hooks"]]
    said = json.dumps({"session_id": "s1", "cwd": str(home.folder), "prompt": ASKED})
    done = subprocess.run(
        command, shell=True, input=said, env=home.variables, cwd=home.folder, capture_output=True, text=True
    )
    assert done.returncode == 0 and "Postgres 16" in done.stdout


@pytest.mark.covers("P22")
def test_settings_that_cannot_be_read_are_left_as_they_are(home: Shell, tmp_path: Path) -> None:
    broken = {".claude/settings.json": b'{"a": ', ".codex/config.toml": b"[a\n", ".gemini/settings.json": b"[]"}
    for name, said in broken.items():
        (tmp_path / "home" / name).write_bytes(said)
    for agent in AGENTS:
        home("install", agent, json=False)
    now = settings_in(tmp_path / "home")
    assert {name: now[name] for name in broken} == broken
    assert os.access(tmp_path / "home", os.W_OK)
