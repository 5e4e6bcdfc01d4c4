"""`memorist hook`: what a coding agent is told, and what is kept of what was said. Nothing that goes wrong is ever seen."""

import json
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import shapes
from memorist import Memory
from memorist.errors import StoreUnavailable
from memorist.files.transfer import import_files
from memorist.store import captures
from memorist.surfaces.agents import capture, hooks, moments, problems, receipts
from memorist.surfaces.agents.clients import CLIENTS
from memorist.surfaces.cli import sync, verbs
from memorist.testing.chat import ScriptedChat
from memorist.text.question import without_injected
from surfaces.conftest import Cli
from surfaces.hooked import answered, line, noted, say, told

# ---------------------------------------------------------------- what is told


@pytest.mark.parametrize(
    ("client", "event"),
    [
        (name, each.hooks.events["prompt"])
        for name, each in CLIENTS.items()
        if each.hooks and "prompt" in each.hooks.events
    ],
)
def test_a_prompt_gets_what_matters_once(client: str, event: str, work: Path) -> None:
    say("Staging runs Postgres 16", "The office plants are watered on Fridays")
    first = told(client, event, prompt="which database does staging run?")
    assert "Postgres 16" in first and "plants" not in first
    assert told(client, event, prompt="which database does staging run again?") == "", "it was shown in this session"
    assert "Postgres 16" in told(client, event, prompt="which database does staging run?", session_id="s2")


def test_that_the_same_was_asked_before_is_no_answer(work: Path) -> None:
    asked = "which database does staging run?"
    for n, said in enumerate(
        ("We decided that staging runs Postgres 16, because of its JSON functions.", asked, asked)
    ):
        file = work.parent / f"s{n}.jsonl"
        file.write_text(line("user", said, f"u{n}") + line("assistant", "Noted.", f"a{n}"))
        told("claude-code", "PreCompact", session_id=f"s{n}", transcript_path=str(file))
    assert "Postgres 16" in told("claude-code", "UserPromptSubmit", session_id="s9", prompt=f" {asked}\n")


@pytest.mark.parametrize("client", [name for name, each in CLIENTS.items() if each.hooks])
def test_a_session_that_is_resumed_is_told_what_it_no_longer_has(client: str, work: Path) -> None:
    hooks_of = CLIENTS[client].hooks
    assert hooks_of is not None
    say("Deploys go through the blue pipeline", pinned=True)
    first = told(client, hooks_of.events["start"], source="startup")
    assert "blue pipeline" in first
    say("Releases are cut on Mondays", pinned=True)
    again = told(client, hooks_of.events["start"], source="resume")
    assert "Mondays" in again and ("blue pipeline" in again) is not hooks_of.lasts
    assert "blue pipeline" in told(client, hooks_of.events["start"], session_id="s2", source="startup")


def test_a_sentence_is_told_once_whichever_memory_has_it(work: Path) -> None:
    say("The start: the vault is called Zanzibar. Its door is blue.", pinned=True)
    say("The vault is called Zanzibar", "The vault Zanzibar has another name in mails")
    assert "[id:" not in told("claude-code", "UserPromptSubmit", prompt="thanks")
    assert "Zanzibar" in told("claude-code", "SessionStart", source="startup")
    prompt = told("claude-code", "UserPromptSubmit", prompt="what is the vault Zanzibar called in mails?")
    assert "in mails" in prompt and "vault is called" not in prompt
    assert "vault is called" in told(
        "claude-code", "UserPromptSubmit", session_id="s2", prompt="what is the vault Zanzibar called in mails?"
    )


def test_what_was_turned_back_is_told_again(work: Path) -> None:
    asked = {"prompt": "which build server do we use?"}
    say("The build server is Jenkins")
    assert "Jenkins" in told("claude-code", "UserPromptSubmit", **asked)
    for name in ("Argo", "Jenkins"):
        with Memory() as memory:
            memory.revise(1, f"The build server is {name}")
        assert name in told("claude-code", "UserPromptSubmit", **asked)


def test_another_sign_is_another_statement(work: Path) -> None:
    say("The alarm of the queue is at latency > 5 s", pinned=True)
    assert "latency" in told("claude-code", "SessionStart", source="startup")
    say("The alarm of the queue is at latency < 5 s")
    assert "latency" in told(
        "claude-code", "UserPromptSubmit", prompt="when is the alarm of the queue, at which latency?"
    )


@pytest.mark.parametrize(("client", "source"), [("gemini", "resume"), ("claude-code", "startup"), ("codex", "clear")])
def test_an_agent_that_begins_without_what_it_was_told_is_told_again(client: str, source: str, work: Path) -> None:
    hooks_of = CLIENTS[client].hooks
    assert hooks_of is not None
    say("Staging runs Postgres 16")
    asked = {"prompt": "which database does staging run?"}
    told(client, hooks_of.events["start"], source="startup")
    assert "Postgres" in told(client, hooks_of.events["prompt"], **asked)
    assert told(client, hooks_of.events["prompt"], **asked) == ""
    told(client, hooks_of.events["start"], source=source)
    assert "Postgres" in told(client, hooks_of.events["prompt"], **asked)


def test_what_a_helper_was_told_its_agent_was_not(work: Path) -> None:
    asked = {"prompt": "which pipeline do the deploys go through?"}
    assert told("claude-code", "SessionStart", source="startup") == ""
    say("Deploys go through the blue pipeline", pinned=True)
    assert "blue" in told("claude-code", "SubagentStart", agent_id="a1", agent_type="Explore")
    assert "blue" in told("claude-code", "UserPromptSubmit", **asked)
    assert told("claude-code", "UserPromptSubmit", **asked) == ""
    with Memory() as memory:
        assert [line["client"] for line in receipts.told(memory, 9)] == ["claude-code", "claude-code helper"]
        assert [line["moment"] for line in receipts.told(memory, 9)] == ["prompt", "helper"]


def test_what_changed_is_shown_again(work: Path) -> None:
    say("Staging runs Postgres 16")
    asked = {"prompt": "which database does staging run?"}
    assert "16" in told("claude-code", "UserPromptSubmit", **asked)
    with Memory() as memory:
        memory.revise(1, "Staging runs Postgres 17")
    assert "Postgres 17" in told("claude-code", "UserPromptSubmit", **asked)


@pytest.mark.parametrize(
    "given",
    [{"prompt": "thanks!"}, {"prompt": "go on"}, {"prompt": ""}, {"prompt": "/compact now"}, {"prompt": 7}, {},
     {"prompt": "which database does staging run?", "source": "loop_wakeup"},
     {"prompt": "which database does staging run?", "source": "system"}],
)  # fmt: skip
def test_small_talk_commands_and_the_agent_itself_get_nothing(given: dict[str, Any], work: Path) -> None:
    say("Staging runs Postgres 16")
    assert told("claude-code", "UserPromptSubmit", **given) == ""


@pytest.mark.parametrize("prompt", ["1", "2.", "y", "Y", "b)", " (a) ", "Option 2", "Nummer 3", "10"])
def test_a_choice_of_what_the_agent_offered_asks_for_nothing(prompt: str, work: Path) -> None:
    say("Option 1 of the 2 is that Y runs Nummer 3 on port 10 of a b-tree, number 2")
    assert told("claude-code", "UserPromptSubmit", prompt=prompt) == ""
    assert "b-tree" in told("claude-code", "UserPromptSubmit", prompt="2: which port is it on?")


@pytest.mark.parametrize(
    "prompt",
    ["/etc/staging/db.conf: which database does staging run?", "/srv/staging.sql is which database of staging?",
     "/ which database does staging run?"],
)  # fmt: skip
def test_a_path_is_no_command(prompt: str, work: Path) -> None:
    say("Staging runs Postgres 16")
    assert "Postgres 16" in told("claude-code", "UserPromptSubmit", prompt=prompt)


def test_cursor_is_told_at_a_start_of_the_folder_that_it_names(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its hooks run in its own folder; what it says at a prompt, nobody would read."""
    say("Deploys need two approvals", pinned=True)
    monkeypatch.chdir(work.parent)
    given = {
        "conversation_id": "c1",
        "workspace_roots": [str(work)],
        "hook_event_name": "sessionStart",
        "composer_mode": "agent",
    }
    [said] = answered("cursor", "sessionStart", given)
    assert "two approvals" in json.loads(said)["additional_context"]
    assert CLIENTS["cursor"].hooks and CLIENTS["cursor"].hooks.names == ("sessionStart",)


def test_the_start_is_steady_and_the_same_to_the_byte(work: Path) -> None:
    say("Staging runs Postgres 16")
    with Memory() as memory:
        memory.remember("Deploys need two approvals", kind="decision")
        memory.pin(2)
        memory.narrate("Moved billing to the new queue; the retry test still fails", topic="billing")
    first = told("claude-code", "SessionStart", source="startup")
    assert "two approvals" in first and "retry test" in first and "Postgres" not in first
    assert told("claude-code", "SessionStart", source="startup", session_id="s2") == first
    assert told("claude-code", "SubagentStart", agent_id="a1") == first, "helpers get the same"
    assert without_injected(f"{first}\nAnd now?") == "And now?", "our own text is no part of what a person said"


def test_another_project_is_never_told(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    say("Staging runs Postgres 16")
    other = work.parent / "other"
    other.mkdir()
    assert told("claude-code", "UserPromptSubmit", prompt="which database does staging run?", cwd=str(other)) == ""


def test_the_budget_is_kept(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    say(*(f"Note {n}: replica {n} of the staging database runs Postgres {n}" for n in range(30)))
    monkeypatch.setenv("MEMORIST_HOOK_TOKENS", "100")
    with Memory() as memory:
        text = told("claude-code", "UserPromptSubmit", prompt="what do we know about the staging database?")
        assert 0 < memory._tools.count_tokens(text) <= 100


def test_off_is_off(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    say("Staging runs Postgres 16")
    monkeypatch.setenv("MEMORIST_OFF", "1")
    assert told("claude-code", "UserPromptSubmit", prompt="which database does staging run?") == ""


@pytest.mark.parametrize(("event", "given"), [
    ("SessionStart", {"source": "startup"}), ("SubagentStart", {"agent_id": "a1"}),
    ("UserPromptSubmit", {"prompt": "which database does staging run?"}),
])  # fmt: skip
def test_codex_gets_the_shape_that_it_publishes(event: str, given: dict[str, Any], work: Path) -> None:
    """It throws an answer away that has a member more than it knows, such as those that others take."""
    say("Staging runs Postgres 16")
    with Memory() as memory:
        memory.pin(1)
    said: list[str] = []
    hooks.answer("codex", event, json.dumps({"session_id": "s1", "cwd": str(work), **given}).encode(), said.append)
    [document] = map(json.loads, said)
    judge = Draft202012Validator(shapes.codex(event))
    assert "Postgres 16" in document["hookSpecificOutput"]["additionalContext"] and judge.is_valid(document)
    document["hookSpecificOutput"]["sessionTitle"] = "Staging"
    assert not judge.is_valid(document)


@pytest.mark.parametrize("event", ["PreCompact", "Stop", "SessionEnd"])
def test_codex_gets_nothing_where_it_reads_no_context(event: str, work: Path) -> None:
    say("Staging runs Postgres 16")
    assert told("codex", event, prompt="which database does staging run?") == ""


# ---------------------------------------------------------------- what is kept

# How Gemini CLI puts what it was told before a prompt, which then is in the next prompt and in its transcript.
BY_GEMINI = (
    "<hook_context>&lt;project_memory&gt;Reference data, Postgres bcdfghjkm\n[1] Old\n"
    "End bcdfghjkm&lt;/project_memory&gt;</hook_context>"
)


def turns(session: str = "s1") -> list[tuple[str, str, str]]:
    with Memory() as memory:
        found = memory.list({"kind": "turn", "session": session}, order="number", limit=1000)
        return sorted((str(each.provenance.role), each.origin, each.text) for each in found)


def test_a_transcript_is_read_when_the_agent_has_answered(work: Path) -> None:
    file = work.parent / "s1.jsonl"
    file.write_text(
        line("user", "We decided that staging runs Postgres 16.<private>my pin is 4711</private>", "u1")
        + line("assistant", "Noted.", "a1")
        + line("user", "a helper's words", "h1", isSidechain=True)
        + line("user", "<project_memory>[1] old</project_memory> What now?", "u2")
        + '{"type": "user", "torn'
    )
    given = {"transcript_path": str(file)}
    assert told("claude-code", "Stop", **given) == told("claude-code", "SessionEnd", **given) == ""
    told("claude-code", "SessionStart", session_id="s2")
    assert turns() == [
        ("assistant", "agent", "Noted."),
        ("user", "recorded", "We decided that staging runs Postgres 16."),
        ("user", "recorded", "What now?"),
    ]
    with Memory() as memory:
        assert [each.data["state"] for each in memory.sessions()] == ["closed"], "it had ended"
        assert any("Postgres 16" in each.text for each in memory.list({"session": "s1"})), (
            "and what was found in it is kept"
        )


def test_what_an_agent_hands_over_itself_is_kept_once(work: Path) -> None:
    """OpenCode writes no transcript that can be read: its plugin hands over what is new, and sometimes what was handed over."""
    said = {"id": "m1", "role": "user", "timestamp": "2026-05-06T12:00:00Z"}
    messages = [
        {**said, "content": [{"type": "text", "text": "We use Kafka.<private>my pin is 4711</private>"}]},
        {**said, "id": "m2", "role": "assistant", "content": "Noted."}, "no message", {"role": 7},
    ]  # fmt: skip
    assert told("opencode", "session.idle", messages=messages) == ""
    told("opencode", "experimental.session.compacting", messages=messages)
    told("opencode", "session.idle", messages=[], agent_id="a1")
    assert turns() == [("assistant", "agent", "Noted."), ("user", "recorded", "We use Kafka.")]


def test_reading_goes_on_where_it_was_and_keeps_nothing_twice(work: Path, cli: Cli) -> None:
    file = work.parent / "s1.jsonl"
    file.write_text(line("user", "The first thing", "u1") + line("user", "half", "u2")[:20])
    given = {"transcript_path": str(file)}
    told("claude-code", "Stop", **given)
    told("claude-code", "PreCompact", **given)
    assert [text for *_, text in turns()] == ["The first thing"]
    with file.open("a") as more:
        more.write(line("user", "half", "u2")[20:] + line("user", "The last thing", "u3"))
    told("claude-code", "PreCompact", **given)
    told("claude-code", "PreCompact", **given)
    assert [text for *_, text in turns()] == ["The first thing", "The last thing", "half"]


def test_a_transcript_that_was_written_anew_is_read_from_its_beginning(work: Path) -> None:
    """Longer than it was: where reading ended is in the middle of it now. What was kept of it is kept once."""
    file = work.parent / "s1.jsonl"
    file.write_text(line("user", "Logs go to Loki.", "u1") + line("user", "Metrics go to Mimir.", "u2"))
    told("claude-code", "PreCompact", transcript_path=str(file))
    new = [line("user", f"Traces of service number {n} go to Tempo.", f"v{n}") for n in range(3)]
    file.write_text(line("user", "Metrics go to Mimir.", "u2") + "".join(new))
    told("claude-code", "PreCompact", transcript_path=str(file))
    traces = [f"Traces of service number {n} go to Tempo." for n in range(3)]
    assert [text for *_, text in turns()] == ["Logs go to Loki.", "Metrics go to Mimir.", *traces]


def test_upkeep_reads_what_is_left(work: Path) -> None:
    file = work.parent / "s1.jsonl"
    file.write_text("".join(line("user", f"Remark number {n} of the day", f"u{n}") for n in range(450)))
    noted(file)
    with Memory() as memory:
        assert capture.read_all(capture.recorder(memory)) == 450
        assert capture.read_all(capture.recorder(memory)) == 0
    assert len(turns()) == 450


def test_reading_is_bounded_and_gets_on_all_the_same(work: Path) -> None:
    for n in range(3):
        file = work.parent / f"s{n}.jsonl"
        file.write_text(line("user", f"Remark number {n} of the day", f"u{n}"))
        noted(file, f"s{n}")
    with Memory() as memory:
        for left in (2, 1, 0):
            verbs.read_transcripts(memory, 0.0)
            assert memory.count({"kind": "turn"}) == 3 - left


def test_upkeep_says_how_long_it_reads(work: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float | None] = []
    monkeypatch.setattr(verbs, "read_transcripts", lambda memory, seconds=None: asked.append(seconds))
    assert cli.inside("upkeep", "--seconds", "7").code == 0 and cli.inside("upkeep").code == 0
    assert asked == [7, None]


def test_an_import_brings_nothing_twice(work: Path, cli: Cli) -> None:
    file = work.parent / "s1.jsonl"
    file.write_text(line("user", "The only thing", "u1"))
    told("claude-code", "PreCompact", transcript_path=str(file))
    with Memory() as memory:
        import_files(memory, [file])
        assert memory.count({"kind": "turn"}) == 1 and memory.count({"kind": "session"}) == 1


def test_a_fork_brings_nothing_along_that_was_kept(work: Path) -> None:
    both = line("user", "We decided that staging runs Postgres 16.", "u1")
    parent, fork = work.parent / "s1.jsonl", work.parent / "s2.jsonl"
    parent.write_text(both)
    told("claude-code", "SessionEnd", transcript_path=str(parent))
    given = {"transcript_path": str(fork), "session_id": "s2"}
    told("claude-code", "SessionStart", source="fork", **given)
    fork.write_text(both + line("user", "And the mail server?", "u2", timestamp="2126-05-06T12:00:00.000Z"))
    told("claude-code", "SessionEnd", **given)
    with Memory() as memory:
        capture.read_all(capture.recorder(memory))
    assert [text for *_, text in turns()] == ["We decided that staging runs Postgres 16."]
    assert [text for *_, text in turns("s2")] == ["And the mail server?"]


def test_an_agent_that_was_killed_is_read_all_the_same(work: Path) -> None:
    """It never said that it stopped. A session in which nothing was said has no file."""
    file = work.parent / "s1.jsonl"
    told("claude-code", "SessionStart", session_id="s0", transcript_path=str(work.parent / "s0.jsonl"))
    told("claude-code", "SessionStart", transcript_path=str(file))
    file.write_text(line("user", "We decided that staging runs Postgres 16.", "u1") + line("user", "torn", "u2")[:30])
    told("claude-code", "SessionStart", session_id="s2", transcript_path=str(work.parent / "s2.jsonl"))
    assert [text for *_, text in turns()] == ["We decided that staging runs Postgres 16."]


def test_a_transcript_of_gemini_is_read_on(work: Path) -> None:
    """Its file is gone through twice, and says again what changed."""
    file = work.parent / "session-1.jsonl"
    first = {"sessionId": "s1", "projectHash": "x", "startTime": "2026-05-06T12:00:00Z"}

    def said(id: str, text: str, type: str = "user") -> str:
        return json.dumps({"id": id, "timestamp": "2026-05-06T12:00:00Z", "type": type, "content": text}) + "\n"

    file.write_text(json.dumps(first) + "\n" + said("m1", f"{BY_GEMINI}\n\nLogs go to Loki."))
    given = {"transcript_path": str(file)}
    told("gemini", "PreCompress", **given)
    with file.open("a") as more:
        more.write(
            said("m2", "Noted.", "gemini") + said("m3", "Metrics go to Mimir.") + said("m3", "Metrics go to Mimir!")
        )
    told("gemini", "PreCompress", **given)
    told("gemini", "PreCompress", **given)
    assert [text for *_, text in turns()] == ["Noted.", "Logs go to Loki.", "Metrics go to Mimir!"]


def test_the_words_of_a_host_are_no_question(work: Path) -> None:
    say("Staging runs Postgres 16")
    assert (
        told("gemini", "BeforeAgent", prompt=f"{BY_GEMINI}\n\nthanks!")
        == told("gemini", "BeforeAgent", prompt=BY_GEMINI)
        == ""
    )
    assert "16" in told("gemini", "BeforeAgent", prompt=f"{BY_GEMINI}\n\nwhich database does staging run?")
    with Memory() as memory:
        assert memory._tools.store.receipts(memory.space, 1)[0].query == "which database does staging run?"


PUT_OUT = "We decided that the moon base runs Postgres 99."


@pytest.mark.parametrize(
    "said",
    [f"<bash-stdout>{PUT_OUT}</bash-stdout><bash-stderr></bash-stderr>", f"<bash-input>echo {PUT_OUT}</bash-input>",
     f"<bash-stdout>ls</bash-stdout> {PUT_OUT}", f"<bash-stdout></bash-stdout><bash-stderr>{PUT_OUT}</bash-stderr>",
     f"<local-command-stdout>{PUT_OUT}</local-command-stdout>", f"<task-notification>{PUT_OUT}</task-notification>",
     f'<teammate-message teammate_id="x">{PUT_OUT}</teammate-message>', f"<system-reminder>{PUT_OUT}</system-reminder>",
     [{"type": "text", "text": f"<bash-stdout>{PUT_OUT}</bash-stdout>"}]],
)  # fmt: skip
def test_what_a_program_puts_out_is_not_what_its_user_said(said: Any, work: Path) -> None:
    file = work.parent / "s1.jsonl"
    file.write_text(line("user", said, "u1") + line("user", "Logs go to Loki.", "u2"))
    told("claude-code", "PreCompact", transcript_path=str(file))
    assert [text for *_, text in turns()] == ["Logs go to Loki."]
    with Memory() as memory:
        assert not [each for each in memory.list(limit=100) if "99" in each.text]


def test_what_is_private_in_a_prompt_is_nowhere(work: Path, tmp_path: Path) -> None:
    say("Staging runs Postgres 16")
    asked = "which database does staging run?<private>my pin is hunter4711</private>"
    assert "16" in told("claude-code", "UserPromptSubmit", prompt=asked)
    assert told("claude-code", "UserPromptSubmit", prompt="<private>which database is hunter4711?</private>") == ""
    assert told("claude-code", "UserPromptSubmit", prompt="<private>and without an end hunter4711") == ""
    with Memory() as memory:
        assert memory._tools.store.receipts(memory.space, 9)[0].query == "which database does staging run?"
    assert not [file for file in tmp_path.glob("m.db*") if b"hunter4711" in file.read_bytes()]


def test_what_is_private_in_a_transcript_is_nowhere(work: Path, tmp_path: Path) -> None:
    """In what a tool was called with, over two blocks, in another mark, and without an end."""
    said = "<private>hunter<private>4711</private>hunter4711</private>"
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": f"echo '{said}' > pin"}}
    blocks = [
        {"type": "text", "text": each} for each in ("The pin: <private>hunter4711", "hunter4711</private> is set.")
    ]
    file = work.parent / "s1.jsonl"
    file.write_text(
        line("user", blocks, "u1") + line("assistant", [call], "a1") + line("user", f"It is {said}.", "u2")
        + line("assistant", [{"type": "text", "text": "Never <private>"}, {**call, "input": {"pin": "hunter4711"}}], "a2")
    )  # fmt: skip
    told("claude-code", "PreCompact", transcript_path=str(file))
    assert [text for *_, text in turns()] == [
        'Bash({"command": "echo \'\' > pin"})', "Never ", "It is .", "The pin:\nis set.",
    ]  # fmt: skip
    assert not [file for file in tmp_path.glob("m.db*") if b"hunter4711" in file.read_bytes()]


def test_a_transcript_that_cannot_be_read_stops_no_other(work: Path) -> None:
    gone, deep, fine = (work.parent / f"{name}.jsonl" for name in ("gone", "deep", "fine"))
    say("Staging runs Postgres 16", pinned=True)
    gone.write_text(line("user", "Logs go to Loki.", "u1"))
    told("claude-code", "PreCompact", session_id="gone", transcript_path=str(gone))
    gone.unlink()
    nested: Any = "x"
    for _ in range(900):
        nested = [nested]
    deep.write_text(line("user", nested, "u2") + line("user", "Metrics go to Mimir.", "u3"))
    fine.write_text(line("user", "Traces go to Tempo.", "u4"))
    for file in (deep, fine):
        told("claude-code", "Stop", session_id=file.stem, transcript_path=str(file))
    folder = work.parent / "folder.jsonl"
    folder.mkdir()
    told("claude-code", "Stop", session_id="folder", transcript_path=str(folder))
    assert "Postgres 16" in told("claude-code", "SessionStart", session_id="s9")
    with Memory() as memory:
        capture.read_all(capture.recorder(memory))
        left = [each.session for each in captures.known(memory._tools.store, memory.space, memory.home)]
        states = {each.title: each.data["state"] for each in memory.sessions()}
    assert [text for *_, text in turns("deep")] == ["Metrics go to Mimir."]
    assert [text for *_, text in turns("fine")] == ["Traces go to Tempo."]
    assert "gone" not in left and states["gone"] == "closed"


def test_what_was_erased_does_not_come_back_with_its_session(work: Path) -> None:
    file = work.parent / "s1.jsonl"
    file.write_text(line("user", "The safe is behind the fridge.", "u1") + line("user", "Logs go to Loki.", "u2"))
    given = {"transcript_path": str(file)}
    told("claude-code", "SessionEnd", **given)
    with Memory(confirm=lambda ask: True) as memory:
        capture.read_all(capture.recorder(memory))
        for each in memory.list({"session": "s1"}, limit=100):
            if "fridge" in each.text:
                memory.erase(each.id)
    told("claude-code", "SessionStart", source="resume", **given)
    with file.open("a") as more:
        more.write(line("user", "Metrics go to Mimir.", "u3"))
    told("claude-code", "SessionEnd", **given)
    with Memory() as memory:
        capture.read_all(capture.recorder(memory))
    assert [text for *_, text in turns()] == ["Logs go to Loki.", "Metrics go to Mimir."]


def test_what_was_erased_does_not_come_back_where_everything_is_handed_over_again(work: Path) -> None:
    """OpenCode does so after its restart; and a transcript whose reading began anew."""
    file = work.parent / "s2.jsonl"
    file.write_text(line("user", "The safe is behind the fridge.", "u1") + line("user", "Logs go to Loki.", "u2"))
    messages = [json.loads(each)["message"] | {"id": f"m{n}"} for n, each in enumerate(file.read_text().splitlines())]
    with Memory(confirm=lambda ask: True) as memory:
        for _ in range(2):
            told("opencode", "session.idle", messages=messages)
            told("claude-code", "SessionEnd", session_id="s2", transcript_path=str(file))
            capture.read_all(capture.recorder(memory))
            memory.erase(where={"kind": "turn", "text": "The safe is behind the fridge."})
            with memory._writer.transaction():
                captures.forget("s2", memory._tools.store, memory.space, memory.home)
        assert memory.count({"state": "erased"}) == 2, "each was erased once"
    assert [text for *_, text in turns() + turns("s2")] == ["Logs go to Loki."] * 2


def test_those_that_were_read_to_their_end_make_room(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captures, "MOST_CAPTURES", 3)
    for n in range(6):
        file = work.parent / f"s{n}.jsonl"
        file.write_text(line("user", f"Remark number {n}", f"u{n}"))
        told("claude-code", "SessionEnd", session_id=f"s{n}", transcript_path=str(file))
        with Memory() as memory:
            known = [each.session for each in captures.known(memory._tools.store, memory.space, memory.home)]
            if n == 2:
                capture.read_all(capture.recorder(memory), session="s1")
    assert known == ["s0", "s2", "s3", "s4", "s5"], "only what is read to its end goes"


def test_the_next_start_tells_where_the_last_session_was(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it was: of a summary that does not fit, its end is told, and that there is more."""
    monkeypatch.setattr(moments, "CLOSING", 60.0)  # however busy the machine is
    for n, exchanges in ((1, 4), (2, 12)):
        file = work.parent / f"s{n}.jsonl"
        file.write_text("".join(exchange(n, m) for m in range(exchanges)))
        told("claude-code", "SessionEnd", session_id=f"s{n}", transcript_path=str(file))
        first = told("claude-code", "SessionStart", session_id=f"t{n}", source="startup")
        assert f"Module {n}-{exchanges - 1} is ported" in first, "and nobody had to run upkeep"
        assert told("claude-code", "SessionStart", session_id=f"t{n}", source="resume") == "", "it still has that"
        assert told("claude-code", "SessionStart", session_id=f"t{n}", source="compact") == first
        with Memory() as memory:
            assert memory.sessions(state="open") == []
    assert "characters left out, memory" in first and "Module 2-0 " not in first


def exchange(session: int, number: int) -> str:
    asked = f"Please port module {session}-{number} of the parser to the new scanner, and keep the tests of the lexer green."
    done = f"Module {session}-{number} is ported; two tests of the lexer still fail, because the old scanner counted tabs as one."
    return line("user", asked, f"u{session}-{number}") + line("assistant", done, f"a{session}-{number}")


def test_a_start_closes_the_last_session_first_and_what_it_has_time_for(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moments, "CLOSING", 0.0)
    monkeypatch.setattr("memorist.session.close.A_STEP", 0.0)  # in which 32 turns are read, and no more
    for n in range(3):
        file = work.parent / f"s{n}.jsonl"
        file.write_text("".join(exchange(n, m) for m in range(20)))
        told("claude-code", "SessionEnd", session_id=f"s{n}", transcript_path=str(file))
    starts = [told("claude-code", "SessionStart", session_id="t", source="startup") for _ in range(6)]
    assert "Module 2-" not in starts[0], "it takes more than one start, where there is no time at all"
    with Memory() as memory:
        assert [each.title for each in memory.sessions(state="closed")] == ["s0", "s1", "s2"]
    assert (
        next(name for start in starts for name in ("Module 2-", "Module 1-", "Module 0-") if name in start)
        == "Module 2-"
    )


def test_a_start_reads_what_a_killed_agent_left_before_it_closes_others(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moments, "CLOSING", 0.0)
    monkeypatch.setattr(moments, "READING", 60.0)
    ended, killed = (work.parent / f"s{n}.jsonl" for n in range(2))
    ended.write_text("".join(exchange(0, m) for m in range(20)))
    told("claude-code", "SessionEnd", session_id="s0", transcript_path=str(ended))
    told("claude-code", "SessionStart", session_id="s1", transcript_path=str(killed), source="startup")
    killed.write_text(line("user", "The retry limit is seven.", "u1"))
    told("claude-code", "SessionStart", session_id="t", source="startup")
    with Memory() as memory:
        assert memory.count({"kind": "turn", "session": "s1"}) == 1


def test_a_session_of_an_agent_that_tells_no_end_is_closed_once_it_was_left(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [{"id": f"m{n}", "role": "user", "content": f"Please port module {n} of the parser now."} for n in range(4)]
    told("opencode", "session.idle", messages=said)
    assert told("opencode", "session.created", session_id="s2") == "", "it may go on"
    monkeypatch.setattr("memorist.session.lease.LENGTH", timedelta(0))
    told("opencode", "session.created", session_id="s3")
    with Memory() as memory:
        assert [each.title for each in memory.sessions(state="closed")] == ["s1"]


def test_a_hook_asks_no_model_and_leaves_sessions_to_it(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = work.parent / "s1.jsonl"
    file.write_text(line("user", "We decided that staging runs Postgres 16.", "u1"))
    monkeypatch.setenv("MEMORIST_CHAT", "http://127.0.0.1:9/v1?model=x")
    monkeypatch.setattr("memorist.models.remote.RemoteChat.answer", lambda *_: pytest.fail("a model was asked"))
    told("claude-code", "SessionEnd", transcript_path=str(file))
    told("claude-code", "SessionStart", session_id="s2")
    monkeypatch.delenv("MEMORIST_CHAT")
    assert [text for *_, text in turns()] == ["We decided that staging runs Postgres 16."]
    with Memory() as memory:
        assert [each.data["state"] for each in memory.sessions()] == ["open"]


def test_a_start_is_told_something_whatever_is_the_matter_with_transcripts(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    say("Staging runs Postgres 16", pinned=True)
    said: list[str] = []

    def fails(*_: Any, **__: Any) -> int:
        raise OSError("no transcripts today")

    monkeypatch.setattr(capture, "read_all", fails)
    with pytest.raises(OSError, match="today"):
        hooks.answer("claude-code", "SessionStart", b'{"session_id": "s1"}', said.append)
    assert "Postgres 16" in said[0]


def test_a_busy_writer_is_not_waited_for(work: Path) -> None:
    say("Staging runs Postgres 16")
    began = time.monotonic()
    with Memory() as memory, memory._writer.transaction(), pytest.raises(StoreUnavailable, match="busy"):
        told("claude-code", "Stop", transcript_path=str(work.parent / "s1.jsonl"))
    assert time.monotonic() - began < 25, "others wait for thirty seconds"


def test_helpers_write_nothing(work: Path) -> None:
    file = work.parent / "s1.jsonl"
    file.write_text(line("user", "A thing", "u1"))
    told("claude-code", "Stop", transcript_path=str(file), agent_id="a1")
    told("claude-code", "SessionStart", session_id="s2")
    assert turns() == []
    told("claude-code", "PreCompact", transcript_path=str(file), agent_id=None)
    assert len(turns()) == 1, "no helper"


# ---------------------------------------------------------------- nothing is ever seen


@pytest.mark.parametrize(
    "stdin", ["", "{", "[]", "null", '"x"', "{" * 10_000, '{"session_id": 7, "cwd": 3, "prompt": {}}', "\x00\xff"]
)
def test_what_is_wrong_is_noted_and_not_seen(stdin: str, cli: Cli) -> None:
    for event in ("SessionStart", "UserPromptSubmit", "Stop", "NoSuchEvent"):
        done = cli("hook", "claude-code", event, stdin=stdin)
        assert (done.code, done.out, done.err) == (0, "", "")


@pytest.mark.parametrize(
    "words",
    [(), ("claude-code",), ("claude-code", "Stop", "more"), ("claude-code", "Stop", "--nope"), ("--db",), ("x", "y")],
)
def test_wrong_words_block_no_prompt(words: tuple[str, ...], cli: Cli) -> None:
    done = cli("hook", *words, stdin="{}")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert cli("hook", "--help").out


def test_a_warning_is_not_seen_either(cli: Cli) -> None:
    cli("remember", "Staging runs Postgres 16")
    given = json.dumps({"session_id": "s1", "prompt": "which database does staging run?"})
    done = cli("hook", "claude-code", "UserPromptSubmit", stdin=given, MEMORIST_CHAT="no address")
    assert done.code == 0 and "Postgres 16" in done.out and done.err == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_a_full_device_is_not_seen_either(work: Path, cli: Cli) -> None:
    cli("remember", "Staging runs Postgres 16", "--pin")
    with Path("/dev/full").open("wb") as full:
        running = cli.start("hook", "claude-code", "UserPromptSubmit", stdout=full)
        _, err = running.communicate(b'{"session_id": "s1", "prompt": "which database does staging run?"}', timeout=60)
    assert (running.returncode, err) == (0, b"")


def test_small_talk_is_answered_without_the_engine(cli: Cli) -> None:
    code = (
        "import sys; from memorist.surfaces.agents import hooks; "
        "hooks.answer('claude-code', 'UserPromptSubmit', b'{\"prompt\": \"thanks!\"}', print); "
        "print([name for name in ('memorist.memory', 'memorist.store', 'difflib', 'subprocess') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_damaged_store_is_not_seen_either(work: Path, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "broken.db").write_bytes(b"this is no store" * 100)
    given = json.dumps({"session_id": "s1", "prompt": "which database does staging run?"})
    done = cli("hook", "claude-code", "UserPromptSubmit", stdin=given, MEMORIST_DB=str(tmp_path / "broken.db"))
    assert (done.code, done.out) == (0, "")


def test_the_last_problems_are_kept_without_secrets(work: Path) -> None:
    for n in range(30):
        problems.note("codex", f"Stop {n}", ValueError(f"{n}"))
    problems.note("codex", "Stop", hooks.Invalid("redis://app:s3cr3t-hunter@cache:6379 failed"))
    last = problems.last()
    assert len(last) == problems.KEPT and last[0]["client"] == "codex" and "s3cr3t" not in json.dumps(last)
    assert last[1]["problem"] == "ValueError"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20), lambda x: st.lists(x, max_size=3), max_leaves=5
)
FIELDS = ("session_id", "cwd", "prompt", "source", "transcript_path", "agent_id", "hook_event_name")


@given(st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=5), st.sampled_from(sorted(CLIENTS)), st.data())
def test_any_object_is_answered_by_a_document_or_by_nothing(
    document: dict[str, Any], client: str, data: st.DataObject
) -> None:
    known = CLIENTS[client].hooks
    event = data.draw(st.sampled_from(sorted(known.events.values()) if known else ["Stop"]))
    said: list[str] = []
    try:
        hooks.answer(client, event, json.dumps(document).encode(), said.append)
    except Exception as problem:
        problems.note(client, event, problem)
    assert all(isinstance(json.loads(each), dict) for each in said) and len(said) < 2


def test_upkeep_asks_the_model_where_one_is_set(work: Path) -> None:
    """What rules do not hear: a session that is over is closed by upkeep, and its model finds what lasts."""
    file = work.parent / "s1.jsonl"
    file.write_text(
        "".join(
            line("user", f"Honestly the retry thing bit us again on day {n}: three attempts, then the pager.", f"u{n}")
            for n in range(9)
        )
    )
    told("claude-code", "SessionEnd", transcript_path=str(file))
    model = ScriptedChat({"notes": []})
    with Memory(chat=model) as memory:
        verbs.read_transcripts(memory)
    assert any("three attempts" in str(prompt) for prompt in model.asked)


def test_a_turn_knows_where_it_was_said(work: Path) -> None:
    claude, codex = work.parent / "s1.jsonl", work.parent / "s2.jsonl"
    claude.write_text(line("user", "Logs go to Loki.", "u1", gitBranch="fix/retry", cwd="/home/ada/atlas"))
    meta = {"id": "s2", "cwd": "/home/ada/borealis", "git": {"branch": "main"}}
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Metrics go to Mimir."}]}
    lines = ({"type": "session_meta", "payload": meta}, {"type": "response_item", "payload": said})
    codex.write_text("".join(json.dumps({"timestamp": "2026-05-06T12:00:00Z", **each}) + "\n" for each in lines))
    told("claude-code", "PreCompact", transcript_path=str(claude))
    told("codex", "PreCompact", transcript_path=str(codex), session_id="s2")
    with Memory() as memory:
        where = {each.text: (each.data["branch"], each.data["folder"]) for each in memory.list({"kind": "turn"})}
        [number] = [each.number for each in memory.list({"kind": "turn"}) if "Loki" in each.text]
    assert where == {
        "Logs go to Loki.": ("fix/retry", "/home/ada/atlas"),
        "Metrics go to Mimir.": ("main", "/home/ada/borealis"),
    }
    shown = Cli(work, {"MEMORIST_DB": str(work.parent / "m.db")}).inside("get", str(number))
    assert shown.code == 0 and "fix/retry" in shown.out, shown.err


def test_a_turn_of_a_later_reading_knows_where_it_was_said(work: Path) -> None:
    """Codex tells the place in its first line only, and Claude Code says something in its own, which is kept once."""
    codex, claude = work.parent / "s2.jsonl", work.parent / "s1.jsonl"
    meta = {"id": "s2", "cwd": "/home/ada/borealis", "git": {"branch": "main"}}
    codex.write_text(json.dumps({"type": "session_meta", "payload": meta}) + "\n")
    for number, text in enumerate(("Metrics go to Mimir.", "Traces go to Tempo.", "Alerts go to Ada.")):
        said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        with codex.open("a") as file:
            file.write(json.dumps({"type": "response_item", "payload": said}) + "\n")
        with claude.open("a") as file:
            file.write(line("user", f"Claude: {text}", f"u{number}"))
        told("codex", "PreCompact", transcript_path=str(codex), session_id="s2")
        told("claude-code", "PreCompact", transcript_path=str(claude))
    with Memory() as memory:
        turns = memory.list({"kind": "turn"})
    assert len(turns) == 6
    of_codex = [(each.data.get("branch"), each.data.get("folder")) for each in turns if "Claude" not in each.text]
    assert of_codex == [("main", "/home/ada/borealis")] * 3


def test_a_watching_sync_reads_transcripts(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = work.parent / "s1.jsonl"
    file.write_text(line("user", "Logs go to Loki.", "u1"))
    told("claude-code", "Stop", transcript_path=str(file))
    with Memory() as memory:
        sync._transcripts(memory)
    assert [text for *_, text in turns()] == ["Logs go to Loki."]
