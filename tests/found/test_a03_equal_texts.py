"""A3: items of the same text and another payload, id, kind, stage or importance stay different items, with all they hold."""

from dataclasses import replace
from typing import Any

import pytest

from memorist import Memory
from memorist.seeds import tiers
from memorist.seeds.items import ContextItem, Items

pytestmark = pytest.mark.covers("A3", "S0-1")
ONE = ContextItem({"text": "the build", "runs": 1}, source="ci")
OTHERS: dict[str, dict[str, Any]] = {
    "payload": {"payload": {"text": "the build", "runs": 2}},
    "id": {"id": "b"},
    "kind": {"kind": "decision"},
    "own kind": {"kind": "claim"},
    "stage": {"source": "ci/verify"},
    "importance": {"importance": 0.9},
    "metadata": {"metadata": {"by": "nightly"}},
}


@pytest.mark.parametrize("own_id", ["", "a"])
@pytest.mark.parametrize("differs", OTHERS)
def test_the_other_item_is_kept_whole(memory: Memory, differs: str, own_id: str) -> None:
    items = Items(memory, "task/1")
    one = replace(ONE, id=own_id)
    other = replace(ONE, **({"id": "b" if own_id else ""} | OTHERS[differs]))
    first, second = items.add(one), items.add(other)
    assert first is not None and second is not None and first.id != second.id and items.count() == 2
    for given, kept in ((one, items.get(first.id)), (other, items.get(second.id))):
        assert kept is not None
        assert (kept.payload, kept.kind, kept.source) == (given.payload, given.kind, given.source)
        assert kept.metadata == given.metadata and given.importance in (None, kept.importance)
    items.add(one)
    items.add(other)
    assert items.count() == 2, "the same item again is no other one"
    assert items.delete(first.id) and getattr(items.get(second.id), "payload", None) == other.payload


def test_plain_notes_still_merge(memory: Memory) -> None:
    items = Items(memory, "task/1")
    assert memory.remember("the build", scope="task/1").outcome == "added"
    items.add(ContextItem("the build", tags=("ci",)))
    items.add(ContextItem("the build", source="task/1"))
    assert memory.remember("The  build", scope="task/1").outcome == "reinforced"
    [record] = memory.list({"scope": "task/1"})
    assert record.counters.strength == 3 and record.tags == ("ci",)


def test_an_item_does_not_swallow_a_note_nor_a_note_an_item(memory: Memory) -> None:
    items = Items(memory, "task/1")
    items.add(ContextItem("the build", "a"))
    assert memory.remember("the build", scope="task/1").outcome == "added"
    items.add(ContextItem("the build", "b"))
    assert items.count() == 3 and items.delete("a") and items.delete("b")
    assert [record.text for record in memory.list({"scope": "task/1"})] == ["the build"]


def test_a_deleted_item_comes_back_as_it_is_said_now(memory: Memory) -> None:
    items = Items(memory, "task/1")
    items.add(ContextItem({"text": "the build", "runs": 1}, "a", "note", tags=("old",)))
    items.delete("a")
    items.add(ContextItem({"text": "the build", "runs": 2}, "a", "decision", tags=("new",), importance=0.9))
    [item] = items.list_all()
    assert (item.id, item.payload["runs"], item.kind, item.tags, item.importance) == ("a", 2, "decision", ("new",), 0.9)


def test_restoring_and_undoing_know_them_apart(memory: Memory) -> None:
    items = Items(memory, "task/1")
    items.add(ContextItem("the build", "a"))
    [first] = memory.list({"scope": "task/1"})
    items.delete("a")
    items.add(ContextItem("the build", "b"))
    assert memory.restore(first.id).outcome == "changed" and items.count() == 2
    assert {item.id for item in items.list_all()} == {"a", "b"}


def test_what_an_earlier_version_merged_can_be_told_apart_again(memory: Memory) -> None:
    """0.1.0 kept items of one text as one record with a list of ids."""
    memory.remember(
        "same", scope="task/1", kind="note", data={"item_id": ["a", "b"], "sources": ["task/1/x", "task/1/y"]}
    )
    items = tiers(memory).task("1")
    assert getattr(items.get("a"), "id", None) == "a" and getattr(items.get("b"), "id", None) == "b"
    assert len(items.get_stage_outputs("x")) == len(items.get_stage_outputs("y")) == 1
    items.add(ContextItem({"text": "same", "n": 1}, "a"))
    assert items.count() == 2 and items.delete("a") and getattr(items.get("b"), "text", None) == "same"
