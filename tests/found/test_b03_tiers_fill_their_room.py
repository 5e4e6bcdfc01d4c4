"""B3: a tier held only what shares a word with the question, twenty at most, in 0.1.0; shares could not be set per profile, a
task's most important item lost to trivial ones, and `seeds.tiers` ignored the user's own design and `/memory budget`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.design import Budget, Compression
from memorist.designs import TIERS
from memorist.errors import Invalid
from memorist.prompt.modes import Profile
from memorist.seeds import tiers
from memorist.seeds.curated import slash
from memorist.testing import MovableClock

pytestmark = pytest.mark.covers("B3", "S0-17", "S0-18", "S0-20")


@pytest.fixture
def memory(clock: MovableClock) -> Memory:
    return Memory(":memory:", project="atlas", clock=clock, design="tiers", embed="none")


def test_conventions_and_the_most_important_appear_whatever_the_words(memory: Memory) -> None:
    three = tiers(memory)
    three.add_convention("Tabs, never spaces", "python")
    three.add_decision("Invoices are signed twice", ["billing"])
    three.add_pattern("Retry with jitter", "networks")
    texts = {item.text for item in three.build_context("7", "why does the zebra limp?").items}
    assert texts == {"Tabs, never spaces", "Invoices are signed twice", "Retry with jitter"}


def test_where_not_all_fit_the_most_important_are_there_and_what_matches_comes_first(memory: Memory) -> None:
    memory.remember_many({"text": f"Trivial note {n} on the weather", "importance": 0.1} for n in range(200))
    memory.remember("Invoices are signed twice", kind="decision", importance=0.9)
    memory.remember("The zebra limps on the left", importance=0.4)
    texts = [hit.record.text for hit in memory.context("why does the zebra limp?", budget=300).items]
    assert texts[0] == "The zebra limps on the left" and "Invoices are signed twice" in texts


def test_a_tier_holds_as_many_as_its_tokens(memory: Memory) -> None:
    memory.remember_many(f"Deploy rule number {n}" for n in range(120))
    few, many = (memory.context("deploy rule", budget=budget).items for budget in (600, 20_000))
    assert len(many) == 120 > len(few) > 20


def test_what_nobody_vouches_for_is_not_in_every_prompt(memory: Memory) -> None:
    door = memory.through(replace(memory.access, origin="import"))
    door.remember_many({"text": f"Rule {n} of somebody else", "importance": 1.0} for n in range(100))
    memory.remember("Invoices are signed twice", kind="decision", importance=0.3)
    assert [hit.record.text for hit in memory.context("zebra").items] == ["Invoices are signed twice"]


def test_an_important_item_of_the_task_does_not_lose_to_trivial_ones(memory: Memory) -> None:
    task = tiers(memory).task("7")
    memory.remember("Found it: the certificate had expired", scope=task.scope, kind="reasoning", importance=1.0)
    for n in range(8):
        text = f"Looked at the deploy log of the gateway, page {n}, and saw nothing unusual in it at all"
        memory.remember(text, scope=task.scope, kind="reasoning", importance=0.05)
    texts = [hit.record.text for hit in memory.context("the deploy log of the gateway", task="7", budget=160).items]
    assert "Found it: the certificate had expired" in texts


def crowded(memory: Memory) -> Memory:
    for scope in ("task/7", memory.home, "global"):
        memory.remember_many(
            {"text": f"{n}. Deploy rule of {scope}", "scope": scope, "kind": "pattern"} for n in range(80)
        )
    return memory


def spent(memory: Memory, **arguments: Any) -> dict[str, float]:
    made = memory.context("deploy rule", task="7", budget=1100, **arguments)
    whole = sum(lane["spent"] for lane in made.lanes.values())
    return {name: round(lane["spent"] / whole, 1) for name, lane in made.lanes.items()}


def test_shares_are_set_by_design_profile_or_request(memory: Memory) -> None:
    crowded(memory)
    assert spent(memory) == {"task": 0.4, "project": 0.4, "global": 0.2}
    role = Profile("archivist", shares={"task": 0.1, "project": 0.7})
    assert spent(memory, profile=role) == {"task": 0.1, "project": 0.7, "global": 0.2}
    asked = {"task": 0.2, "project": 0.2, "global": 0.6}
    assert spent(memory, shares=asked) == asked == spent(memory, shares=asked, profile=role)


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ({"attic": 0.5}, "a lane with a share must be task or project or global"),
        ({"task": 2}, "the share of task must be a number from 0 to 1"),
        ({"task": 0.9}, "more than 1"),
        (5, "shares must be a dict|shares are numbers by lane"),
    ],
)
def test_shares_that_cannot_be_are_refused(memory: Memory, shares: Any, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        memory.context("deploy", shares=shares)
    with pytest.raises(Invalid, match=words):
        memory.context("deploy", profile=Profile("mine", shares=shares))


def test_head_and_tail_are_shown_whole(memory: Memory) -> None:
    """The strongest stand at the beginning and the end; so many of them are not shortened."""
    memory.design = replace(TIERS, compression=Compression(mode="cheap", head_tail_preserve=1))
    for n in range(6):
        memory.remember(f"Deploy rule {n}. " + "It has a long story. " * 20, importance=0.9 - n / 10)
    items = memory.context("deploy rule", budget=6000)
    shown = str(items).split("\n[")[1:]
    assert ["left out" not in each for each in shown] == [True, False, False, False, False, True]
    memory.design = replace(TIERS, compression=Compression(mode="cheap"))
    assert str(memory.context("deploy rule", budget=6000)).count("left out") == 6


def test_a_design_of_ones_own_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('base = "tiers"\nname = "mine"\n[lane.task]\nshare = 0.1\n[lane.project]\nshare = 0.7\n')
    with Memory(":memory:", project="atlas", design=str(file), embed="none") as memory:
        tiers(crowded(memory))
        seen = tiers(memory)._memory.design
        assert (seen.name, [lane.share for lane in seen.lanes]) == ("mine", [0.1, 0.7, 0.2])
    with Memory(":memory:", project="atlas", design=replace(TIERS, budget=Budget(tokens=700))) as memory:
        assert tiers(memory)._memory.design.budget.tokens == 700
    with Memory(":memory:", project="atlas") as memory:
        assert tiers(memory)._memory.design.name == "tiers"


def test_the_chosen_budget_holds_for_the_tiers_too(memory: Memory) -> None:
    crowded(memory)
    slash(memory, "/memory budget 400")
    assert 0 < tiers(memory).build_context("7", "deploy rule").tokens <= 400
    assert tiers(memory).build_context("7", "deploy rule", budget=900).tokens > 400
