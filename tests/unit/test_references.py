"""Wherever a verb takes a memory, it takes what a verb gave: a hit, a record, an outcome; also the number and the id."""

from collections.abc import Callable
from typing import Any

import pytest

from conftest import in_ram
from memorist import Memory
from memorist.errors import Invalid, NotFound

GIVEN: dict[str, Callable[[Memory], Any]] = {
    "number": lambda memory: 1,
    "id": lambda memory: memory.get(1).id,
    "hit": lambda memory: memory.recall("what does staging run?")[0],
    "record": lambda memory: memory.get(1),
    "outcome": lambda memory: memory.tag(1, "db"),
    "planned": lambda memory: memory.forget(where={"number": 1}, dry_run=True).changed[0],
}
VERBS: dict[str, Callable[[Memory, Any], Any]] = {
    "get": lambda memory, it: memory.get(it),
    "revise": lambda memory, it: memory.revise(it, title="Staging"),
    "pin": lambda memory, it: memory.pin(it),
    "tag": lambda memory, it: memory.tag(it, "more"),
    "link": lambda memory, it: memory.link(it, 2),
    "feedback": lambda memory, it: memory.feedback(it, "useful"),
    "forget": lambda memory, it: memory.forget(it),
    "erase": lambda memory, it: memory.erase(it),
    "links": lambda memory, it: memory.links(it),
    "related": lambda memory, it: memory.related(it),
    "path": lambda memory, it: memory.path(it, 2),
    "similar": lambda memory, it: memory.similar(it),
    "timeline": lambda memory, it: memory.timeline(it),
    "history": lambda memory, it: memory.history(it),
    "log": lambda memory, it: memory.log(id=it),
    "why_not": lambda memory, it: memory.why_not(it, "zebra"),
}


@pytest.fixture
def two(memory: Memory) -> Memory:
    memory.remember("Staging runs Postgres 16")
    memory.remember("Lunch is at noon")
    return memory


@in_ram
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("given", GIVEN)
def test_a_verb_takes_what_a_verb_gave(two: Memory, verb: str, given: str) -> None:
    VERBS[verb](two, GIVEN[given](two))


def test_what_was_given_is_the_memory_that_is_meant(two: Memory) -> None:
    hit = two.recall("what does staging run?")[0]
    assert two.get(hit) == hit.record
    assert two.forget(two.pin(hit)).id == hit.id and two.restore(hit).id == hit.id


def test_lists_and_conflicts_take_them_too(memory: Memory) -> None:
    for text in ("We must always use tabs in Go", "We must never use tabs in Go"):
        memory.remember(text)
    found = memory.recall("tabs in Go")
    assert len(memory.used(found.receipt, ids=found).changed) == 2
    dispute = memory.conflicts()[0]
    assert memory.resolve(dispute.a, dispute.b, keep=dispute.a).id == dispute.a.id


@in_ram
@pytest.mark.parametrize("given", [True, None, [1, 2], (1,), 1.0, b"1", {"id": 1}, object()])
def test_anything_else_is_told_with_the_way(two: Memory, given: Any) -> None:
    with pytest.raises(
        Invalid, match="names no memory; give its number, its id, or the hit or record that a verb gave"
    ):
        two.get(given)


def test_what_was_refused_is_no_memory(memory: Memory) -> None:
    refused = memory.remember("AKIA" + "Q3EGR7TSTNOV2XYZ")
    with pytest.raises(Invalid, match="names no memory"):
        memory.pin(refused)


@pytest.mark.parametrize("around", ["yesterday", True, [1]])
def test_a_timeline_goes_around_a_memory_or_a_time(two: Memory, around: Any) -> None:
    with pytest.raises((NotFound, Invalid), match=r"; a time is a datetime, a date, or a text such as '2026-05-01'$"):
        two.timeline(around)
