"""B5: short of room, 0.1.0 dropped the newest of the protected turns first; and without `profile=` it protected none."""

from typing import Any

import pytest

from conftest import in_ram
from memorist import Memory
from memorist.prompt.modes import Profile
from memorist.testing import MovableClock
from memorist.text.tokens import count_tokens

pytestmark = pytest.mark.covers("B5", "N0-1", "C0-2")
LONG = "and it goes on for quite a while about this and that"


@pytest.fixture
def talk(memory: Memory, clock: MovableClock) -> Memory:
    for n, role in enumerate(["system", "user", "assistant", "user", "assistant", "user"]):
        memory.remember(f"turn {n} {LONG}", kind="turn", session="s1", role=role)
        clock.move(minutes=1)
    return memory


def turns(memory: Memory, **arguments: Any) -> list[int]:
    made = memory.context("lunch", session="s1", **arguments)
    assert count_tokens(made.text) <= made.budget
    return [int(hit.record.text.split()[1]) for hit in made.items if hit.record.kind == "turn"]


@in_ram
@pytest.mark.parametrize("profile", [None, "planner", "assistant"])
def test_short_of_room_the_oldest_goes_first(talk: Memory, profile: str | None) -> None:
    assert turns(talk, profile=profile) == [0, 3, 4, 5]
    seen = [turns(talk, profile=profile, budget=budget) for budget in range(30, 400, 5)]
    assert [each for place, each in enumerate(seen) if each and each not in seen[:place]] == [
        [0], [0, 5], [0, 4, 5], [0, 3, 4, 5],
    ]  # fmt: skip


def test_a_counter_that_charges_more_for_the_whole_drops_the_oldest_too(clock: MovableClock) -> None:
    with Memory(":memory:", clock=clock, count_tokens=lambda text: len(text) ** 2 // 1000) as memory:
        for n in range(4):
            memory.remember(f"turn {n} {LONG}", kind="turn", session="s1", role="user")
            clock.move(minutes=1)
        kept = [memory.context("lunch", session="s1", budget=budget).items for budget in range(0, 900, 50)]
        for items in filter(None, kept):
            assert items[-1].record.text.startswith("turn 3"), "the newest is the last to go"


def test_a_profile_says_how_many(talk: Memory) -> None:
    assert turns(talk, profile=Profile("short", turns=1)) == [0, 5]
    assert turns(talk, profile=Profile("silent", turns=0)) == []
    assert not [hit for hit in talk.context("lunch").items if hit.record.kind == "turn"], "no session, no turns"
