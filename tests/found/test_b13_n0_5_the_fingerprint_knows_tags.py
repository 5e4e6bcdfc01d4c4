"""B13, N0-5: what a context was made for includes the tags that were asked for."""

from typing import Any

import pytest

from memorist import Memory

pytestmark = pytest.mark.covers("B13", "N0-5")


def asked(memory: Memory, **more: Any) -> dict[str, Any]:
    return dict(memory.context("what does the deploy need?", **more).fingerprint)


@pytest.mark.parametrize("tags", [["db", "api"], {"$any": ["api", "db"]}, ("db", "api", "db")])
def test_tags_are_part_of_it(memory: Memory, tags: Any) -> None:
    memory.remember("The deploy needs two approvals", tags=["db"])
    plain, tagged = asked(memory, task="7"), asked(memory, task="7", where={"tags": tags})
    assert plain["tags"] == [] and tagged["tags"] == ["api", "db"] and plain["hash"] != tagged["hash"]
    assert tagged == asked(memory, task="7", where={"tags": ["db", "api"]}), "in whatever order they are named"
    assert tagged["hash"] != asked(memory, task="7", where={"tags": ["ui"]})["hash"]


def test_a_receipt_keeps_them(memory: Memory) -> None:
    memory.remember("The deploy needs two approvals", tags=["db"])
    made = memory.context("what does the deploy need?", where={"tags": ["db"]})
    assert memory.receipt(made.receipt).fingerprint["tags"] == ["db"]
    assert set(made.fingerprint) >= {"task", "files", "tags", "mode", "words", "hash"}


def test_other_filters_are_not_mistaken_for_tags(memory: Memory) -> None:
    assert asked(memory, where={"importance": {"$gte": 0.5}})["tags"] == []
    assert asked(memory, where={"tags": {"$eq": None}})["tags"] == []
