"""B4: of five pinned warnings 0.1.0 put two into a prompt of 1,500 tokens that was almost empty."""

from collections.abc import Iterator

import pytest

from conftest import rounds
from memorist import Memory
from memorist.testing import MovableClock

pytestmark = pytest.mark.covers("B4", "S3-16", "S3-1")
WARNINGS = [
    f"Never {what} without asking first, because the audit of the payment service depends on it every single night"
    for what in ("change the auth middleware", "drop a table", "rotate the keys", "skip the review", "push to main")
]


@pytest.fixture(params=["curated", "balanced"])
def memory(request: pytest.FixtureRequest, clock: MovableClock) -> Iterator[Memory]:
    with Memory(":memory:", project="atlas", clock=clock, design=request.param, embed="none") as memory:
        for text in WARNINGS:
            memory.remember(text, kind="warning", pinned=True)
        yield memory


@pytest.mark.parametrize("style", ["plain", "xml", "markdown", "json"])
def test_all_pins_are_there_while_there_is_room(memory: Memory, style: str) -> None:
    made = memory.context("anything", style=style)
    assert [hit.record.text for hit in made.items] == WARNINGS and made.left_out == ()


def test_they_are_the_same_to_the_byte_whatever_is_asked_and_found(memory: Memory) -> None:
    memory.remember_many(f"The gateway has a long story, part {n}" for n in range(60))
    memory.remember_many({"text": f"Session note {n} on the gateway", "scope": "session/s1"} for n in range(60))
    memory.remember("Last week we moved to Oslo", kind="summary")
    questions = ("gateway story", "gateway note", "zebra", "the audit of the payment service", "push to main")
    made = [memory.context(question, session="s1") for question in questions]
    assert len({each.text[: each.stable] for each in made}) == 1
    for each in made:
        assert {hit.record.text for hit in each.items} >= set(WARNINGS)


def test_what_is_recalled_has_its_places_beside_the_pins(memory: Memory) -> None:
    """Pins that match the question took the places of everything else."""
    memory.remember_many(f"The audit of the payment service, chapter {n}" for n in range(9))
    made = memory.context("the audit of the payment service depends on it", min_relevance=0)
    assert sum(not hit.record.pinned for hit in made.items) >= 5


def test_pins_leave_the_others_their_floors(clock: MovableClock) -> None:
    with Memory(":memory:", project="atlas", clock=clock, embed="none") as memory:
        for n in range(120):
            memory.remember(f"{WARNINGS[0]}, rule {n}", pinned=True)
        memory.remember_many(f"The gateway has a long story, part {n}" for n in range(60))
        for budget in range(300, 3000, 3000 // rounds(100, 0.06)):
            made = memory.context("gateway story", budget=budget, min_relevance=0)
            pins = sum(hit.record.pinned for hit in made.items)
            assert pins and pins < len(made.items) and made.left_out


@pytest.mark.parametrize("design", ["tiers", "balanced", "curated"])
@pytest.mark.parametrize("budget", [300, 500, 1500])
def test_a_small_prompt_has_all_pins_that_it_has_room_for(design: str, budget: int, clock: MovableClock) -> None:
    with Memory(":memory:", project="atlas", clock=clock, design=design, embed="none") as memory:
        for n in range(150 if design == "tiers" else 0):
            memory.remember(f"Decision {n} on another matter", kind="decision", importance=0.9)
        for n in range(5):
            memory.remember(f"Pin {n}", pinned=True)
        made = memory.context("zebra", budget=budget)
        assert sum(hit.record.pinned for hit in made.items) == 5 and made.empty_because is None


def test_a_pin_that_fits_is_not_missing_from_a_tiny_prompt(memory: Memory) -> None:
    """The floor of a lane that wants nothing kept all pins out."""
    for budget in (150, 200, 300, 400):
        made = memory.context("zebra", budget=budget)
        assert made.items or made.tokens + min(map(len, WARNINGS)) // 4 > budget, budget
        assert bool(made.items) is (made.empty_because is None)
