"""Row 20: without a confirmer, a global preference, clear-all and a merge wait for a person, and nothing has changed."""

from dataclasses import replace
from pathlib import Path

import pytest

from memorist import Memory
from memorist.design import Ask
from memorist.remember import consent
from surfaces.conftest import Cli

ALL = {"state": {"$in": ["active", "archived", "superseded", "erased"]}}


def state(memory: Memory) -> list[object]:
    return [memory.list(ALL, order="-number", limit=100), memory._tools.store.head(), memory.status()["events"]]


@pytest.mark.covers("W0-5", "S0-14", "S0-15", "X18")
def test_everything_that_needs_consent_waits_and_the_state_is_the_same(memory: Memory) -> None:
    memory.remember_many(["The heron nests at the weir", "A heron nests at the weir"])
    before = state(memory)
    ids = [record.id for record in memory.list()]
    assert memory.remember("I like tabs", kind="preference", scope="global").outcome == "needs_consent"
    assert memory.forget(where={"scope": "project/atlas"}).pending
    assert memory.erase(where={"scope": "project/atlas"}).pending
    merge = Ask("merge", "merge 2 into 1", None, {"keep": ids[1], "ids": ids})
    assert consent.ask(merge, "project/atlas", "alike", memory._caller).id
    assert state(memory) == before
    questions = memory.review()
    assert isinstance(questions, list)
    assert [question.verb for question in questions] == ["remember", "forget", "erase", "merge"]
    person = memory.through(replace(memory.access, origin="user"))
    for question in questions:
        person.review(question.id, decide="deny")
    assert memory.review() == [] and state(memory) == before


@pytest.mark.covers("W0-5", "S0-15")
def test_at_a_shell_it_is_asked_at_a_terminal_and_waits_in_a_pipe(tmp_path: Path) -> None:
    cli = Cli(tmp_path, {"MEMORIST_DB": str(tmp_path / "memory.db")})
    prefer = ("remember", "I like tabs", "--kind", "preference", "--scope", "global")
    waits = cli(*prefer)
    assert waits.code == 11 and waits.out.startswith("needs consent") and "memorist review q1" in waits.out
    piped = cli.inside
    assert piped("count", "--scope", "global").out.strip() == "0"
    assert "q1" in piped("review").out and "I like tabs" in piped("review").out
    refused = piped("review", "q1", "--decide", "approve")
    assert refused.code == 5 and "only a person approves" in refused.err
    piped("remember", "Alpha lies north")
    clear = ("forget", "--where", '{"number": {"$gte": 1}}')
    assert piped(*clear).code == 11 and piped("count").out.strip() == "1"
    no = cli.at_terminal(*clear, typed="n\n")
    assert "forget all 1 memories" in no.out and "[y/N]" in no.out and piped("count").out.strip() == "1"
    yes = cli.at_terminal(*prefer[:1], "I like dark themes", *prefer[2:], typed="y\n")
    assert yes.code == 0 and "added" in yes.out
    done = cli.at_terminal("review", "q1", "--decide", "approve")
    assert done.code == 0 and piped("count", "--scope", "global").out.strip() == "2"
    assert cli.at_terminal("review", "q2", "--decide", "deny").code == 0
    assert piped("review", "--json").json == []
