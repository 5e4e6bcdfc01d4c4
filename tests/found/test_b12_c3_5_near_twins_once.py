"""B12, C3-5: one answer told the same thing in several wordings; now near twins appear once, in a recall and in a prompt."""

from dataclasses import replace

import pytest

from memorist import Memory
from memorist.testing import MovableClock

pytestmark = pytest.mark.covers("B12", "C3-5")
WORDINGS = [
    "We decided to use Postgres 16 for staging",
    "Staging runs Postgres 16",
    "We're going with Postgres 16 on staging",
]


@pytest.fixture
def memory(clock: MovableClock) -> Memory:
    return Memory(":memory:", project="atlas", clock=clock, design="curated")


def test_near_twins_are_told_once(memory: Memory) -> None:
    memory.remember_many(WORDINGS)
    memory.remember("Postgres backups of staging are made at midnight")
    question = "which Postgres is for staging?"
    assert len(memory.recall(question)) == 2 == len(memory.context(question).items)
    lost = [memory.why_not(number, question) for number in (1, 2, 3)]
    assert sum("says nearly the same" in each for each in lost) == 2
    assert memory.count() == 4, "they are stored all the same"


def test_what_is_pinned_or_said_in_the_session_is_not_told_again(memory: Memory) -> None:
    memory.remember(WORDINGS[0], pinned=True)
    memory.remember(WORDINGS[1])
    memory.remember(WORDINGS[2], scope="session/s1")
    made = memory.context("what does staging run?", session="s1")
    assert [hit.record.text for hit in made.items] == WORDINGS[:1]


def test_pins_are_all_shown_however_alike(memory: Memory) -> None:
    for text in WORDINGS:
        memory.remember(text, pinned=True)
    assert len(memory.context("anything").items) == 3


def test_the_one_that_somebody_vouches_for_is_told(memory: Memory) -> None:
    memory.through(replace(memory.access, origin="tool")).remember(WORDINGS[1])
    memory.remember(WORDINGS[0])
    assert [hit.record.text for hit in memory.recall("what does staging run?")] == WORDINGS[:1]
    assert [hit.record.text for hit in memory.context("what does staging run?").items] == WORDINGS[:1]


def test_the_same_about_another_file_is_another_thing(memory: Memory) -> None:
    for file in ("src/a.py", "src/b.py"):
        memory.remember(f"The parser needs a trailing newline{'.' * (file == 'src/b.py')}", files=[file])
    assert len(memory.recall("what does the parser need?")) == 2
