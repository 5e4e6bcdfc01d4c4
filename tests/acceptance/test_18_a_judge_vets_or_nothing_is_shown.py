"""Acceptance 18: a judge's empty list means nothing; garbage, silence and no model mean what was verified before, or nothing; and
every outcome is counted where the user looks."""

import json
from pathlib import Path
from typing import Any

import pytest

from chat_server import Says, serving
from conftest import rounds
from judged import choosing, judged
from memorist import Memory
from memorist.models.chat import ChatFailed
from memorist.store.tally import ChatLimits
from memorist.testing import NEVER, ScriptedChat

NOTES = ("Staging runs Postgres 16", "Staging is deployed on Mondays", "The canteen has soup on Fridays")
ASKED = "which database does staging run?"
NEXT = "is the staging database backed up?"
FAILURES: dict[str, tuple[Any, str]] = {
    "garbage": ("Of course! I think that the first one fits.", "unparseable"),
    "truncated": ('{"relevant": [1, 2', "unparseable"),
    "numbers of nothing": ({"relevant": [0, 99]}, "unparseable"),
    "words for numbers": ({"relevant": ["1"]}, "unparseable"),
    "true for a number": ({"relevant": [True]}, "unparseable"),
    "not a list": ({"relevant": 1}, "unparseable"),
    "silence": (NEVER, "timeout"),
    "a crash": (ZeroDivisionError(), "transport_error"),
    "cut at its length": (ChatFailed("truncated", "cut"), "truncated"),
    "a stale key": (ChatFailed("refused", "the key was not accepted"), "refused"),
}


def shown(memory: Memory, query: str, session: str | None = None) -> list[str]:
    """What is recalled, which is also all that a prompt gets."""
    found = [hit.text for hit in memory.recall(query, session=session)]
    assert {item.text for item in memory.context(query, session=session).items} <= set(found)
    return found


@pytest.mark.covers("C4-3", "C4-4")
def test_an_empty_list_is_honoured() -> None:
    with Memory(":memory:", design=judged(), chat=ScriptedChat({"relevant": []})) as memory:
        memory.remember_many(NOTES)
        assert shown(memory, ASKED) == [] and not memory.context(ASKED).items
        found = memory.recall(ASKED)
        assert "found nothing that matters" in (found.empty_because or "")
        assert set(memory.status()["chat_outcomes"]) == {"judge ran"} and memory.status()["chat_degraded"].startswith(
            "0%"
        )


@pytest.mark.covers("C4-3", "C4-4", "W4-8")
@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_shows_the_verified_set_or_nothing_and_is_counted(name: str) -> None:
    answer, outcome = FAILURES[name]
    chat = ScriptedChat(choosing("Postgres"), answer, limits=ChatLimits(seconds=60))
    with Memory(":memory:", design=judged(every=1), chat=chat) as memory:
        memory.remember_many(NOTES)
        assert [hit.text for hit in memory.recall(ASKED, session="s1")] == [NOTES[0]]
        if answer is NEVER:
            memory._tools.chat.limits = ChatLimits(seconds=0.25)
        assert [hit.text for hit in memory.recall(NEXT, session="s1")] == [NOTES[0]], "verified before, in this session"
        assert [hit.text for hit in memory.recall(NEXT, session="s2")] == [], "another session has no part in it"
        told = memory.status()
        assert told["chat_outcomes"] == {"judge ran": 1, f"judge {outcome}": 2}
        assert told["chat_degraded"] == "67% of 3 uses" and told["chat_problem"]
    chat.over()


@pytest.mark.covers("C4-3", "C4-4")
def test_no_model_where_one_is_demanded_shows_nothing_and_where_none_is_the_rules_answer() -> None:
    with Memory(":memory:", design=judged(demanded=True)) as memory:
        memory.remember_many(NOTES)
        assert shown(memory, ASKED) == [] and "judge no_backend" in memory.status()["chat_outcomes"]
        assert memory.status()["chat_degraded"].startswith("100%") and "`chat`" in memory.status()["chat_problem"]
    with Memory(":memory:", design=judged()) as memory:
        memory.remember_many(NOTES)
        assert NOTES[0] in shown(memory, ASKED) and memory.status()["chat"] == "none"


@pytest.mark.covers("C4-3", "C4-4", "W4-8")
def test_a_judge_that_is_down_means_no_injection_at_all(tmp_path: Path) -> None:
    """Over a real socket: the server errs, then it is gone. Hundreds of turns, and not one memory in a prompt."""
    with serving(Says(status=500)) as server:
        address = server.address + "&seconds=2"
        with Memory(tmp_path / "memory.db", design=judged(), chat=address) as memory:
            memory.remember_many([*NOTES, *(f"Service {n} of staging runs Postgres {n}" for n in range(50))])
            assert sum(len(memory.context(ASKED).items) for _ in range(3)) == 0
    with Memory(tmp_path / "memory.db", design=judged(), chat=address) as memory:
        asked = [f"which database does service {n} of staging run?" for n in range(rounds(500))]
        assert sum(len(memory.context(said, session=f"s{n % 7}").items) for n, said in enumerate(asked)) == 0
        told = memory.status()
        assert "judge circuit_open" in told["chat_outcomes"], "and it is not asked each time"
        assert told["chat_degraded"].startswith("100%") and "cannot be used" in json.dumps(told)
    with Memory(tmp_path / "memory.db") as memory:
        assert memory.status()["chat_degraded"].startswith("100%"), "the next process knows"
