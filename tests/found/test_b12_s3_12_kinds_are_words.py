"""B12, S3-12: "warning zebra" found no warning, because a kind was no word of a memory. Now it is one, under every design."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memorist import Memory
from memorist.designs import DESIGNS
from memorist.kinds import Kind
from memorist.testing import MovableClock

pytestmark = pytest.mark.covers("B12", "S3-12")


@pytest.fixture(params=list(DESIGNS))
def memory(request: pytest.FixtureRequest, tmp_path: Path, clock: MovableClock) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", project="atlas", design=request.param, clock=clock) as memory:
        yield memory


def test_a_kind_is_found_by_its_name_beside_a_word_that_nothing_holds(memory: Memory) -> None:
    memory.remember("Never feed the animals after midnight", kind="warning")
    for number in range(8):
        memory.remember(f"The bus {number} leaves from gate {number}", kind="note")
    assert memory.recall("warning zebra", min_relevance=0)[0].record.number == 1
    assert memory.recall("warnings", min_relevance=0)[0].record.number == 1


def test_of_what_fits_alike_the_kind_that_was_named_comes_first(memory: Memory) -> None:
    for number in range(4):
        memory.remember(f"The zebra number {number} was born in 201{number}", kind="note")
    memory.remember("The zebra enclosure has a broken lock", kind="warning")
    for number in range(4, 20):
        memory.remember(f"The zebra number {number} was born in 20{number}", kind="note")
    for question in ("warning zebra", "zebra warnings", "is there a warning about a zebra?"):
        assert memory.recall(question)[0].record.kind == "warning", question
    assert memory.recall("zebra number 7")[0].record.text == "The zebra number 7 was born in 207"


def test_kinds_that_mean_the_same_are_named_together(memory: Memory) -> None:
    """What rules call a note, a person may call a discovery."""
    memory.remember("Never feed the animals after midnight", kind="warning")
    memory.remember("It turns out that the gate is open at night", kind="note")
    memory.remember("The keeper is halfway through", kind="progress")
    assert memory.recall("discoveries", min_relevance=0)[0].record.number == 2
    assert memory.recall("task progress", min_relevance=0)[0].record.number == 3


def test_a_tag_is_a_word_too(memory: Memory) -> None:
    memory.remember("It bites", tags=["zebra"], kind="warning")
    memory.remember("It sings", tags=["canary"], kind="warning")
    assert memory.recall("zebra")[0].record.number == 1
    found = [hit.record.number for hit in memory.recall("warning canary", min_relevance=0)]
    assert 2 in found and (found[0] == 2 or memory.design.name == "associative"), (
        "there places by meaning count as much"
    )


def test_a_filter_still_holds(memory: Memory) -> None:
    memory.remember("Never feed the animals", kind="warning", tags=["old"])
    memory.remember("Never wake the animals", kind="warning")
    assert [hit.record.number for hit in memory.recall("warning zebra", where={"tags": ["old"]}, min_relevance=0)] == [
        1
    ]
    assert len(memory.recall("warning zebra", kinds=["note"])) == 0


def test_a_kind_of_ones_own_is_a_word() -> None:
    with Memory(":memory:", kinds={"recipe": Kind("recipe")}, embed="none") as memory:
        memory.remember("Onions, then flour, then stock", kind="recipe")
        memory.remember("The stock is low")
        assert memory.recall("recipe unicorn")[0].record.kind == "recipe"


def test_kinds_that_are_asked_for_by_layer_are_no_words() -> None:
    with Memory(":memory:", embed="none") as memory:
        memory.remember("Never feed the animals", kind="task")
        assert len(memory.recall("task unicorn")) == 0
