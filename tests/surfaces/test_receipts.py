"""`memorist receipts`, and what `memorist doctor` says of coding agents: what they were told, and what went wrong since."""

import json
import os
import re
import sys
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memorist import Memory
from memorist.remember import move
from memorist.store import captures
from memorist.surfaces.agents import hooks, problems, receipts, trial
from memorist.surfaces.cli import hook, verbs, watch
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
    assert row[0].endswith(" UTC")
    assert row[1:4] == ["claude-code", "s1", "prompt"] and row[5:] == ["[id:1]", "[id:1]"]


@pytest.mark.parametrize(
    ("answer", "used"),
    [("See [id:1].", [1]), ("It is Postgres 16.", [1]), ("Let me look at the logs first.", [])],
)
def test_what_an_answer_used_is_counted_when_its_transcript_is_read(
    answer: str, used: list[int], cli: Cli, work: Path
) -> None:
    with Memory() as memory:
        memory.remember("Staging runs Postgres 16")
    file = work.parent / "s1.jsonl"
    ask("s1")
    file.write_text(typed("which database does staging run?") + answered(answer))
    all_day(work, prompt="thanks!")
    for _ in range(2):
        with Memory() as memory:
            verbs.read_transcripts(memory)
            assert memory.get(1).counters.used == len(used), "once"
    assert told() == [used]


def test_what_a_helper_is_told_takes_no_credit_from_its_agent(cli: Cli, work: Path) -> None:
    with Memory() as memory:
        memory.remember("Staging runs Postgres 16")
        memory.remember("Indent with three spaces", kind="convention", pinned=True)
    ask("s1")
    given = {"session_id": "s1", "cwd": str(work), "agent_id": "a1"}
    hooks.answer("claude-code", "SubagentStart", json.dumps(given).encode(), lambda document: None)
    (work.parent / "s1.jsonl").write_text(answered("It is Postgres 16."))
    all_day(work, prompt="thanks!")
    with Memory() as memory:
        verbs.read_transcripts(memory)
        found = [(each["moment"], each["used"]) for each in receipts.told(memory, 9)]
    assert ("prompt", [1]) in found and ("helper", []) in found


def test_transcripts_are_read_without_a_page(cli: Cli, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (work.parent / "s1.jsonl").write_text(typed("Logs go to Loki."))
    ask("s1", "thanks!")
    given = {"session_id": "s1", "cwd": str(work), "transcript_path": str(work.parent / "s1.jsonl")}
    hooks.answer("claude-code", "Stop", json.dumps(given).encode(), lambda document: None)
    stop = SimpleNamespace(is_set=iter([False, True]).__next__, wait=lambda seconds: None)
    monkeypatch.setattr(watch, "_until_stopped", lambda: nullcontext(stop))
    done = cli.inside("sync", "--watch", "--transcripts")
    assert done.code == 0 and kept() == ["Logs go to Loki."] and not (work / "MEMORY.md").exists()
    assert cli.inside("sync", "--transcripts").code == cli.inside("sync", "x.md", "--watch", "--transcripts").code == 2


def test_what_is_cited_later_was_used_and_what_others_said_was_not(cli: Cli, work: Path) -> None:
    with Memory() as memory:
        memory.remember("Staging runs Postgres 16")
        memory.remember("Mail is queued in RabbitMQ")
    (work.parent / "s1.jsonl").write_text(answered("It is Postgres 16, said before anything was told."))
    ask("s1")
    ask("s1", "where is mail queued?")
    ask("s2")
    with (work.parent / "s1.jsonl").open("a") as file:
        file.write(answered("Mail is in RabbitMQ.", "a2") + answered("And staging as in [id:1].", "a3"))
    all_day(work, prompt="thanks!")
    with Memory() as memory:
        verbs.read_transcripts(memory)
    assert told() == [[], [2], [1]]


def told() -> list[list[int]]:
    with Memory() as memory:
        return [each["used"] for each in receipts.told(memory, 9) if each["moment"] == "prompt"]


def answered(text: str, id: str = "a1") -> str:
    said = {"type": "assistant", "uuid": id, "sessionId": "s1", "message": {"role": "assistant", "content": text}}
    return json.dumps({**said, "timestamp": datetime.now(UTC).isoformat()}) + "\n"


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
    assert (
        not wrong["ok"] and "a hook of claude-code at Stop failed: ValueError" in wrong["detail"] and "gemini" in rows()
    )
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


def test_the_doctor_tells_of_hooks_that_are_in_no_settings(cli: Cli, work: Path) -> None:
    """Those of a plugin that was named at the start, of an agent whose folder is elsewhere, and misspelled ones."""

    def wrong() -> dict[str, str]:
        with Memory() as memory:
            return {each.check: each.detail for each in receipts.checked(memory) if not each.ok}

    assert wrong() == {}
    hook.answered(["claude-code", "NoSuchEvent"], b"{}", print)
    hook.answered(["claude", "Stop"], b"{}", print)
    assert "claude-code at NoSuchEvent failed" in wrong()["claude-code"] and "no agent 'claude'" in wrong()["hooks"]
    problems.note("codex", "Stop", ValueError("x"))
    assert "codex at Stop failed: ValueError" in wrong()["hooks"]


def program(work: Path, name: str, text: str) -> None:
    trial._listed.cache_clear()
    file = Path(os.environ["PATH"]) / name
    file.write_text(f"#!{sys.executable}\n{text}")
    file.chmod(0o755)


def row_of(client: str) -> Any:
    with Memory() as memory:
        [row] = [each for each in receipts.checked(memory) if each.check == client]
    return row


OURS = "import sys; from memorist.__main__ import main; main()"


def test_the_doctor_tries_what_an_agent_has_of_ours(cli: Cli, work: Path) -> None:
    """The program of the settings, with an event of which nothing comes, and its server of tools."""
    program(work, "memorist", OURS)
    program(work, "gemini", "print('gemini 1.2.3-rc.1')")
    asked(cli, "install", "gemini")
    row = row_of("gemini")
    assert row.ok and row.detail.startswith("1.2.3-rc.1; 5 of 5 hooks, tools; 8 tools answer")
    assert not (work.parent / "m.db").read_bytes().count(b"doctor"), "nothing was kept of it"


@pytest.mark.parametrize(
    ("text", "said"),
    [("raise SystemExit(3)", "its hook ends with 3"), ("print('{}')", "its hook ends with 0"),
     ("import sys\nif 'mcp' in sys.argv: print('no JSON')", "its tools do not answer"),
     ("import sys\nif 'mcp' in sys.argv: print('[]')", "its tools do not answer"),
     ("pass", "its tools do not answer: it ended"),
     ("import sys\nif 'mcp' in sys.argv: sys.exit('memorist: MCP needs the package mcp')",
      "its tools do not answer: memorist: MCP needs the package mcp")],
)  # fmt: skip
def test_the_doctor_says_what_does_not_work(text: str, said: str, cli: Cli, work: Path) -> None:
    asked(cli, "install", "gemini")
    program(work, "memorist", text)
    row = row_of("gemini")
    assert not row.ok and said in row.detail and "the memorist on the PATH" in row.advice


@pytest.mark.parametrize(("path", "words"), [
    ("/old/memorist", ["install gemini"]), ("BROKEN", ["uninstall gemini", "install gemini"]),
])  # fmt: skip
def test_what_the_doctor_advises_helps(path: str, words: list[str], cli: Cli, work: Path) -> None:
    program(work, "memorist", OURS)
    program(work, "broken", "raise SystemExit(3)")
    broken = work.parent / "my tools" / "memorist"
    broken.parent.mkdir()
    broken.symlink_to(work.parent / "bin" / "broken")
    asked(cli, "install", "gemini", "--no-mcp")
    file = Path(os.environ["HOME"]) / ".gemini" / "settings.json"
    called = json.dumps(path.replace("BROKEN", f'"{broken}"'))[1:-1]
    file.write_text(file.read_text().replace('"memorist hook', f'"{called} hook'))
    row = row_of("gemini")
    assert not row.ok and re.findall(r"`memorist (.*?)`", row.advice) == words
    for line in words:
        asked(cli, *line.split())
    assert row_of("gemini").ok


def test_the_doctor_tries_a_hook_as_a_shell_starts_it(cli: Cli, work: Path) -> None:
    ran = work.parent / "ran"
    program(work, "uvx", f"import os, sys; open({str(ran)!r}, 'w').write(f\"{{os.environ['NOTE']}} {{sys.argv[1:]}}\")")
    hook = {"type": "command", "command": "NOTE='a b' uvx memorist hook gemini BeforeAgent --plugin"}
    file = Path(os.environ["HOME"]) / ".gemini" / "settings.json"
    file.write_text(json.dumps({"hooks": {"BeforeAgent": [{"hooks": [hook]}]}}))
    assert row_of("gemini").ok and ran.read_text() == "a b ['memorist', 'hook', 'gemini', 'BeforeAgent']"


# As the clients write them. A plugin that is off, and one of another name, are none.
PLUGINS = (
    (
        "claude-code",
        "settings.json",
        '{"enabledPlugins": {"x@y": true, "memorist@memorist": true}}',
        "memorist@memorist",
    ),
    ("claude-code", "settings.json", '{"enabledPlugins": {"memorist@memorist": false, "memorist-2@x": true}}', None),
    ("codex", "config.toml", '[plugins."memorist@memorist"]\nenabled = true\n', "memorist@memorist"),
    ("codex", "config.toml", '[plugins."memorist@memorist"]\nenabled = false\n', None),
    ("gemini", "extensions/extension-enablement.json", '{"memorist": {"overrides": ["HOME/*"]}}', "memorist"),
    ("gemini", "extensions/extension-enablement.json", '{"memorist": {"overrides": ["!HOME/*"]}}', None),
)


@pytest.mark.parametrize(("client", "name", "text", "plugin"), PLUGINS)
def test_a_plugin_is_seen(client: str, name: str, text: str, plugin: str | None, cli: Cli, work: Path) -> None:
    home = Path(os.environ["HOME"])
    file = home / f".{client.removesuffix('-code')}" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.replace("HOME", home.as_posix()))
    if client == "gemini":
        (file.parent / "memorist").mkdir()
        (file.parent / "memorist" / "gemini-extension.json").write_text("{}")
    row = row_of(client)
    assert row.ok and (f"the plugin {plugin}" in row.detail) == (plugin is not None) != ("install" in row.detail)
    listed = asked(cli, "install", "--json").json
    assert listed[client]["plugin"] == plugin
    done = asked(cli, "install", client, "--no-mcp")
    assert ("keep one of them" in done.err) == (plugin is not None)
    assert ("one of them is enough" in row_of(client).detail) == (plugin is not None)


@pytest.mark.parametrize(("client", "name", "text", "said"), [
    ("claude-code", "settings.json", '{"disableAllHooks": true}', "disableAllHooks"),
    ("claude-code", "settings.json", '{"disableAllHooks": false}', None),
    ("codex", "config.toml", "[features]\nhooks = false\n", "features.hooks"),
    ("gemini", "settings.json", '{"hooksConfig": {"enabled": false}}', "hooksConfig.enabled"),
    ("gemini", "settings.json", '{"hooksConfig": {"disabled": ["memorist"]}}', "hooksConfig.disabled"),
    ("gemini", "settings.json", '{"hooksConfig": {"enabled": true, "disabled": ["x"]}}', None),
])  # fmt: skip
def test_hooks_that_are_switched_off_are_told(
    client: str, name: str, text: str, said: str, cli: Cli, work: Path
) -> None:
    file = Path(os.environ["HOME"]) / f".{client.removesuffix('-code')}" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    assert row_of(client).ok, "it has none of ours"
    asked(cli, "install", client, "--no-mcp")
    row = row_of(client)
    assert row.ok == (said is None) and (said is None or f"switched off by `{said}` in {file}" in row.detail)


def test_the_doctor_runs_nothing_of_a_project(cli: Cli, work: Path) -> None:
    """Its settings came with a clone."""
    ran = work.parent / "ran"
    program(work, "memorist", f"open({str(ran)!r}, 'w')")
    folder = work / ".gemini"
    folder.mkdir()
    hook = {"hooks": [{"type": "command", "command": 'A="$(touch x)" memorist hook gemini BeforeAgent'}]}
    server = {"memorist": {"command": "memorist", "args": ["mcp"]}}
    (folder / "settings.json").write_text(json.dumps({"hooks": {"BeforeAgent": [hook]}, "mcpServers": server}))
    assert "1 of 5 hooks" in row_of("gemini").detail and not ran.exists()


def typed(text: str, when: str | None = None) -> str:
    said = {"type": "user", "uuid": text, "sessionId": "s1", "message": {"role": "user", "content": text}}
    return json.dumps({**said, "timestamp": when or datetime.now(UTC).isoformat()}) + "\n"


def all_day(work: Path, session: str = "s1", **more: str) -> list[str]:
    """What the agent was told from a session's start to its end."""
    said: list[str] = []
    given = {"session_id": session, "cwd": str(work), "prompt": "which database does staging run?", **more}
    given["transcript_path"] = str(work.parent / f"{session}.jsonl")
    for event in ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"):
        hooks.answer("claude-code", event, json.dumps(given).encode(), said.append)
    return said


def kept() -> list[str]:
    with Memory() as memory:
        return sorted(each.text for each in memory.list({"kind": "turn"}))


def test_a_project_that_is_left_out_is_told_nothing_and_keeps_nothing(cli: Cli, work: Path) -> None:
    with Memory() as memory:
        memory.remember("Staging runs Postgres 16", pinned=True)
    file = work.parent / "s1.jsonl"
    file.write_text(typed("Logs go to Loki."))
    assert "Postgres 16" in all_day(work)[0] and kept() == ["Logs go to Loki."]
    out = asked(cli, "off", "--here").out
    assert "left out" in out and "tools over MCP still answer" in out
    file.write_text(file.read_text() + typed("My pin is 4711."))
    (work.parent / "s2.jsonl").write_text(typed("My other pin is 4712."))
    assert all_day(work) == all_day(work, "s2") == [] and kept() == ["Logs go to Loki."]
    with Memory() as memory:
        assert "Postgres" in memory.recall("which database does staging run?")[0].text
        assert "on --here" in memory.status()["left_out"]
        with Memory(project="elsewhere") as other:
            assert not captures.left_out(other._tools.store, other.space, other.home)
            assert "left_out" not in other.status()
    assert "on --here" in row_of("claude-code").detail
    assert asked(cli, "off").code == 0
    assert "memory is off" in row_of("claude-code").detail, "it switches off more than one project"
    assert asked(cli, "on").code == 0
    assert asked(cli, "on", "--here").code == 0
    for session, text in (("s1", "Metrics go to Mimir."), ("s2", "Traces go to Tempo.")):
        with (work.parent / f"{session}.jsonl").open("a") as more:
            more.write(typed(text))
        all_day(work, session)
    assert kept() == ["Logs go to Loki.", "Metrics go to Mimir.", "Traces go to Tempo."]
    assert "on --here" not in row_of("claude-code").detail


def test_what_was_said_while_memory_was_off_is_not_kept_later(cli: Cli, work: Path) -> None:
    """Everywhere, where nothing of it could be noted: the time at which it was switched on says what is older."""
    file = work.parent / "s1.jsonl"
    file.write_text(typed("Logs go to Loki."))
    all_day(work)
    assert asked(cli, "off").code == 0
    file.write_text(file.read_text() + typed("My pin is 4711."))
    (work.parent / "s2.jsonl").write_text(typed("My other pin is 4712."))
    all_day(work)
    assert asked(cli, "on").code == 0
    for session, text in (("s1", "Metrics go to Mimir."), ("s2", "Traces go to Tempo.")):
        with (work.parent / f"{session}.jsonl").open("a") as more:
            more.write(typed(text))
        all_day(work, session)
    assert kept() == ["Logs go to Loki.", "Metrics go to Mimir.", "Traces go to Tempo."]


def test_a_session_that_is_taken_up_and_was_not_known_begins_there(cli: Cli, work: Path) -> None:
    """It may have been held while MEMORIST_OFF was set."""
    file = work.parent / "s1.jsonl"
    file.write_text(typed("My pin is 4711.", "2026-01-01T00:00:00Z"))
    all_day(work, source="resume")
    file.write_text(file.read_text() + typed("Logs go to Loki.", "2126-01-01T00:00:00Z"))
    all_day(work)
    assert kept() == ["Logs go to Loki."]


def test_beside_a_server_nothing_is_left_out(cli: Cli, work: Path) -> None:
    cli.environment["MEMORIST_URL"] = "http://127.0.0.1:9"
    done = asked(cli, "off", "--here")
    assert done.code not in (0, 70) and "config unset url" in done.err and "Traceback" not in done.err


def test_a_project_stays_left_out_under_another_name(cli: Cli, work: Path) -> None:
    with Memory() as memory:
        memory.remember("Staging runs Postgres 16")
        file = work.parent / "s1.jsonl"
        file.write_text(typed("Logs go to Loki."))
        all_day(work)
    asked(cli, "off", "--here")
    with Memory() as memory:
        assert move.adopt("project/atlas", "project/borealis", memory._caller).changed
    with Memory(project="borealis") as memory:
        assert "left_out" in memory.status()
        assert [each.session for each in captures.known(memory._tools.store, memory.space, memory.home)] == ["s1"]
