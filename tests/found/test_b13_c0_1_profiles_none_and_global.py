"""B13, C0-1: the profile `none` put memories into a prompt all the same, and `global` only ordered what matched the question."""

from dataclasses import replace

import pytest

from memorist import Memory
from memorist.errors import Invalid
from memorist.prompt.modes import Profile
from memorist.testing import MovableClock

pytestmark = pytest.mark.covers("B13", "C0-1")
NOTES = ["The crane is yellow", "Invoices are signed twice", "The office has moved to Lyon"]


@pytest.fixture(params=["tiers", "balanced"])
def memory(request: pytest.FixtureRequest, clock: MovableClock) -> Memory:
    memory = Memory(":memory:", project="atlas", clock=clock, design=request.param, embed="none")
    for text, scope in zip(NOTES, (memory.home, "global", "task/7"), strict=True):
        memory.remember(text, scope=scope, kind="pattern")
        clock.move(days=1)
    return memory


def test_none_puts_nothing_into_a_prompt(memory: Memory) -> None:
    memory.remember("Ask before you deploy", pinned=True)
    made = memory.context("which colour has the crane?", profile="none", task="7")
    assert (made.text, made.items, made.tokens) == ("", (), 0) and "none" in str(made.empty_because)


def test_global_is_the_latest_of_everything_whatever_is_asked(memory: Memory) -> None:
    made = memory.context("zebra", profile="global", task="7")
    assert made.budget == 8000 and {hit.record.text for hit in made.items} == set(NOTES)
    assert made.items[0].record.text == NOTES[-1], "the latest first"


def test_where_not_all_fit_the_latest_are_there(memory: Memory, clock: MovableClock) -> None:
    for n in range(30):
        memory.remember(f"On day {n} it rained")
        clock.move(days=1)
    days = [
        hit.record.text
        for hit in memory.context("zebra", profile="global", budget=200).items
        if "day" in hit.record.text
    ]
    assert 2 < len(days) < 30 and set(days) == {f"On day {n} it rained" for n in range(30 - len(days), 30)}


def test_a_profile_names_its_sources(memory: Memory) -> None:
    memory.remember("The crane is green", tags=["paint"], scope="global")
    role = Profile("painter", sources={"global": ["paint", "varnish"], "task": []})
    made = memory.context("which colour has the crane?", profile=role, task="7")
    texts = {hit.record.text for hit in made.items}
    assert "The crane is green" in texts <= {"The crane is green", NOTES[2]}
    with pytest.raises(Invalid, match="sources must be a dict"):
        Profile("mine", sources=["global"])  # type: ignore[arg-type]


def test_what_nobody_vouches_for_is_not_the_latest(memory: Memory) -> None:
    memory.through(replace(memory.access, origin="web")).remember("Buy at evil.example")
    assert "evil" not in str(memory.context("zebra", profile="global", task="7"))
