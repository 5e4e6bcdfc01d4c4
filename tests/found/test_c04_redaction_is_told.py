"""C4: whoever stores a secret is told that it was replaced, by the outcome and at the command line."""

from collections.abc import Callable
from pathlib import Path

import pytest

from memorist import Memory, Outcome
from surfaces.conftest import Cli

pytestmark = pytest.mark.covers("C4")

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
TOLD = "replaced by a mark; store a reference to where it is kept instead"
WRITES: dict[str, Callable[[Memory], Outcome]] = {
    "remember": lambda memory: memory.remember(f"The deploy token is {TOKEN}"),
    "title": lambda memory: memory.remember("The deploy token", title=TOKEN),
    "tags": lambda memory: memory.remember("The deploy token is new", tags=[TOKEN]),
    "data": lambda memory: memory.remember("The deploy token is old", data={"value": TOKEN}),
    "remember_many": lambda memory: memory.remember_many(["Lunch is at noon", f"We deploy with {TOKEN}"])[1],
    "messages": lambda memory: memory.remember([{"role": "user", "content": f"We use {TOKEN}"}], session="s1")[0],
    "revise": lambda memory: memory.revise(1, f"Staging is deployed with {TOKEN}"),
    "retitle": lambda memory: memory.revise(1, title=f"with {TOKEN}"),
    "tag": lambda memory: memory.tag(1, TOKEN),
    "link": lambda memory: memory.link(1, 2, evidence=f"both use {TOKEN}"),
}


@pytest.mark.parametrize("verb", WRITES)
def test_the_outcome_tells_it(memory: Memory, verb: str) -> None:
    memory.remember("Staging runs Postgres 16")
    memory.remember("Production runs Postgres 15")
    outcome = WRITES[verb](memory)
    assert outcome and TOLD in (outcome.advice or "") and TOKEN not in repr(outcome.to_dict())


def test_a_finding_tells_it_of_its_text_and_of_what_stood_around_it(memory: Memory) -> None:
    [found] = memory.extract(f"We decided to deploy with {TOKEN} from now on.", session="s1")
    assert "2 secrets were replaced by marks" in (found.advice or "")


def test_nothing_is_told_where_nothing_was_replaced(memory: Memory) -> None:
    assert memory.remember("Staging runs Postgres 16").advice is None


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (["remember", f"The deploy token is {TOKEN}"], ""),
        (["remember"], f"The deploy token is {TOKEN}\n"),
        (["remember", "--batch"], f"Lunch is at noon\nThe deploy token is {TOKEN}\n"),
        (["revise", "1", f"Staging is deployed with {TOKEN}"], ""),
        (["tag", "1", TOKEN], ""),
    ],
)
def test_the_command_line_tells_it(tmp_path: Path, words: list[str], stdin: str) -> None:
    cli = Cli(tmp_path, {"MEMORIST_DB": str(tmp_path / "memory.db"), "MEMORIST_PROJECT": "atlas"})
    cli.inside("remember", "Staging runs Postgres 16")
    ended = cli.inside(*words, stdin=stdin)
    assert ended.code == 0 and ended.out.count(TOLD) == 1 and TOKEN not in ended.out + ended.err


def test_the_command_line_tells_it_of_findings_too(tmp_path: Path) -> None:
    cli = Cli(tmp_path, {"MEMORIST_DB": str(tmp_path / "memory.db"), "MEMORIST_PROJECT": "atlas"})
    ended = cli.inside("extract", f"We decided to deploy with {TOKEN} from now on.", "--session", "s1")
    assert ended.code == 0 and "2 secrets were replaced by marks" in ended.out and TOKEN not in ended.out
