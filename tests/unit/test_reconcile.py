"""A file that is read again says nothing new: it neither counts as said again nor brings anything back."""

from dataclasses import replace
from datetime import timedelta

import pytest

from memorist import Memory
from memorist.testing import MovableClock


@pytest.fixture(params=["import", "file"])
def door(request: pytest.FixtureRequest, memory: Memory) -> Memory:
    """The same memory, through a door that files come through."""
    return memory.through(replace(memory.access, origin=request.param))


@pytest.mark.covers("S1-15")
def test_what_is_there_stays_as_it_is(memory: Memory, door: Memory) -> None:
    memory.remember("The office is in Oslo", tags=["a"])
    before, events = memory.get(1), memory.status()["events"]
    again = door.remember("the office  is in OSLO", tags=["b"], pinned=True)
    assert (again.outcome, again.because, again.id) == ("unchanged", "it is there already", before.id)
    assert memory.get(1) == before and memory.status()["events"] == events


def test_what_was_forgotten_or_revised_does_not_come_back(memory: Memory, door: Memory) -> None:
    memory.remember_many(["forgotten", "old words"])
    memory.forget(1)
    memory.revise(2, "new words")
    for text, because in (("forgotten", "it was forgotten here"), ("old words", "it was revised here")):
        again = door.remember(text)
        assert again.outcome == "unchanged" and again.because.startswith(because) and again.record is not None
    assert [record.text for record in memory.list()] == ["new words"] and memory.audit().ok


def test_what_ran_out_does_not_begin_again(memory: Memory, door: Memory, clock: MovableClock) -> None:
    memory.remember("Ann is on call", valid_to=clock() + timedelta(days=1))
    clock.move(days=2)
    assert door.remember("Ann is on call").outcome == "unchanged"
    later = {"valid_from": clock(), "valid_to": clock() + timedelta(days=1)}
    assert door.remember("Ann is on call", **later).outcome == "added", "it holds at another time"
    assert door.remember("Ann is on call", **later).outcome == "unchanged"


def test_elsewhere_and_of_another_sort_it_is_new(memory: Memory, door: Memory) -> None:
    memory.remember("ok")
    assert door.remember("ok", scope="global").outcome == "added"
    assert door.remember("ok", kind="turn", role="user").outcome == "added"
    assert door.remember("ok", kind="document").outcome == "added"


def test_twins_in_one_file_are_one(memory: Memory, door: Memory) -> None:
    outcomes = door.remember_many(["a b c", "A  b c", "d e f"])
    assert [outcome.outcome for outcome in outcomes] == ["added", "unchanged", "added"]
    assert memory.get(1).counters.strength == 0 and memory.audit().ok


def test_an_import_refuses_one_draft_where_others_refuse_all(memory: Memory) -> None:
    door = memory.through(replace(memory.access, origin="import"))
    outcomes = door.remember_many(
        ["fine", {"text": "bad", "kind": "nonsense"}, {"text": "x", "scope": "project/other"}]
    )
    assert [outcome.outcome for outcome in outcomes] == ["added", "refused", "refused"]
    with pytest.raises(ValueError, match="nonsense"):
        memory.remember_many(["good", {"text": "bad", "kind": "nonsense"}])
    assert memory.count() == 1
