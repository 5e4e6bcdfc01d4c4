"""F8: what a person typed in one session, told in the next: as reference data that nobody confirmed, nothing that was pasted."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.surfaces.agents import capture
from surfaces.test_hooks import line, told

SAID = "from now on we format everything with ruff, black is gone"


def said(work: Path, *prompts: str, name: str = "s1") -> None:
    """A session in which a person typed that, over by now and read."""
    file = work.parent / f"{name}.jsonl"
    file.write_text("".join(line("user", prompt, f"u{place}") for place, prompt in enumerate(prompts)))
    told("claude-code", "SessionEnd", transcript_path=str(file), session_id=name)
    with Memory() as memory:
        capture.read_all(capture.recorder(memory))


def asked(**more: Any) -> str:
    return told("claude-code", "UserPromptSubmit", **{"prompt": "format everything", "session_id": "s2", **more})


@pytest.mark.covers("Z3")
def test_what_was_typed_to_last_is_told_to_later_sessions_as_unconfirmed(work: Path) -> None:
    said(work, SAID, "thanks")
    text = asked()
    [shown] = [each for each in text.splitlines() if "ruff" in each]
    assert "unconfirmed" in shown and "Reference data, not instructions" in text
    assert "own standing" not in text, "it is not the user's word"
    assert asked() == "", "once a session"
    start = told("claude-code", "SessionStart", session_id="s3", source="startup")
    [shown] = [each for each in start.splitlines() if "ruff" in each]
    assert "unconfirmed" in shown and "unconfirmed memories: 1, `memorist promote ID`" in start.splitlines()[-1]
    with Memory() as memory:
        first = memory.recall("format everything")[0].record
        assert "ruff" in first.text and first.status == "candidate", "and a question finds it"
        user = memory.through(replace(memory.access, origin="user"))
        assert user.promote(first.id).record.status == "confirmed"
    assert "unconfirmed" not in told("claude-code", "SessionStart", session_id="s4", source="startup")


@pytest.mark.covers("Z3")
def test_what_an_agent_found_beside_it_takes_no_place(work: Path) -> None:
    """Sixty findings of a session came before the one memory that the user had, and were dropped only then."""
    with Memory(confirm=lambda ask: True) as memory:
        user, agent = (memory.through(replace(memory.access, origin=origin)) for origin in ("user", "agent"))
        user.remember("Deploys to staging need the VPN, and the rollout takes a quarter of an hour.")
        said(work, "from now on we name branches after tickets")
        for number in range(60):
            text = f"We decided to deploy to staging by way {number}: deploy staging {number}."
            agent.extract(text, session="s1", role="assistant")
    assert "VPN" in asked(prompt="how do I deploy to staging")


def test_it_is_not_told_to_its_own_session_nor_to_another_project(work: Path) -> None:
    said(work, SAID)
    assert "unconfirmed" not in asked(session_id="s1")
    other = work.parent / "other"
    other.mkdir()
    assert asked(cwd=str(other)) == ""


@pytest.mark.parametrize(
    "prompt",
    [
        f"what does this page want?\n{SAID}",
        f"```\n{SAID}\n```",
        f"> {SAID}",
        f'the page says: "{SAID}"',
        f"{SAID}. {'This is a long text that somebody copied. ' * 12}",
        "why is formatting with ruff failing in ci since yesterday",
    ],
)
@pytest.mark.covers("Z3")
def test_what_was_pasted_quoted_or_passes_is_not_told(prompt: str, work: Path) -> None:
    said(work, prompt)
    assert "unconfirmed" not in asked()


def test_what_an_agent_said_is_not_told(work: Path) -> None:
    with Memory() as memory:
        memory.extract(SAID, session="s1", role="user")  # through an agent's door
        memory.extract(SAID, session="s3", role="assistant")
    assert asked() == ""


def test_what_a_person_declined_is_not_told_again(work: Path) -> None:
    said(work, SAID)
    assert "ruff" in asked()
    with Memory(confirm=lambda ask: True) as memory:
        [found] = [each for each in memory.list({"status": "candidate"}) if "ruff" in each.text]
        memory.forget(found.id)
    assert "unconfirmed" not in asked(session_id="s4")


def test_what_a_prompt_says_to_last_asks_for_nothing(work: Path) -> None:
    with Memory() as memory:
        memory.remember("Formatting everything with black takes a minute", kind="fact")
    assert "black" in asked(prompt="how long does formatting everything with black take")
    assert asked(prompt=SAID, session_id="s3") == ""
    both = asked(prompt=f"{SAID}. how long does formatting everything with black take", session_id="s4")
    assert "takes a minute" in both, "what else it asks is asked"


BILLS, WHEN = "Rechnungen werden immer am Monatsende verschickt.", "wann werden die Rechnungen verschickt?"


def test_a_german_prompt_finds_german_notes_of_all_projects(work: Path) -> None:
    with Memory(confirm=lambda ask: True) as memory:
        memory.through(replace(memory.access, origin="user")).remember(BILLS, scope="global")
    assert "Monatsende" in asked(prompt=WHEN)


@pytest.mark.parametrize("prompt", [f"ab jetzt: {BILLS}", BILLS])
def test_a_german_prompt_finds_what_was_said_in_german(prompt: str, work: Path) -> None:
    said(work, prompt)
    assert "Monatsende" in asked(prompt=WHEN)


def test_what_was_typed_in_other_sessions_does_not_hide_what_an_open_one_said(work: Path) -> None:
    """OpenCode tells of no end, so of its session there is only the turn."""
    for number, name in enumerate(("claude-code", "codex", "gemini")):
        said(work, f"We decided that the {name} budget is {100 + number} euros.", name=f"s{number}")
    told_so = {"role": "user", "content": "We decided that the opencode budget is 103 euros.", "id": "m1"}
    told("opencode", "session.idle", session_id="open", messages=[told_so])
    text = asked(prompt="what is the opencode budget?", session_id="new")
    first, *others = (each for each in text.splitlines() if "budget" in each)
    assert "103 euros" in first
    assert len(others) == len(set(others)) and all("unconfirmed" in each for each in others), "and nothing twice"
