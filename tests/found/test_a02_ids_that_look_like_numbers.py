"""A2: an item's own id is matched as the item's id only, also when it looks like the number or the id of a memory."""

import pytest

from memorist import Memory
from memorist.seeds import tiers
from memorist.seeds.items import ContextItem, Items

pytestmark = pytest.mark.covers("A2", "S0-1")


def test_an_item_called_1_leaves_memory_number_1_alone(memory: Memory) -> None:
    task = tiers(memory).task("1")
    task.add_reasoning("The parser drops empty bodies", "analyse")
    assert memory.get(1).text == "The parser drops empty bodies"
    task.add(ContextItem("new", "1"))
    assert memory.get(1).state == "active" and task.count() == 2
    assert getattr(task.get("1"), "text", None) == "new"
    assert task.delete("1") and memory.get(1).state == "active" and task.count() == 1
    assert not task.delete("1") and memory.get(1).state == "active"


@pytest.mark.parametrize("shape", ["number", "[id:{}]", "beginning", "end", "upper"])
def test_nothing_shorter_than_the_whole_id_names_an_item(memory: Memory, shape: str) -> None:
    items = Items(memory, "task/1")
    plain = items.add(ContextItem("without an id of its own"))
    assert plain is not None
    record = memory.get(plain.id)
    name = {
        "number": str(record.number),
        "[id:{}]": f"[id:{record.number}]",
        "beginning": record.id[:20],
        "end": record.id[-8:],
        "upper": record.id.upper(),
    }[shape]
    assert items.get(name) is None and not items.delete(name) and items.count() == 1
    items.add(ContextItem("another", name))
    assert items.count() == 2 and memory.get(record.id).state == "active"
    assert items.delete(plain.id) and items.count() == 1, "what was given no id goes by the id of its memory"


def test_the_id_of_a_memory_does_not_reach_an_item_with_its_own(memory: Memory) -> None:
    items = Items(memory, "task/1")
    items.add(ContextItem("mine", "a"))
    [record] = memory.list({"scope": "task/1"})
    assert items.get(record.id) is None and not items.delete(record.id)
    items.add(ContextItem("other", record.id))
    assert items.count() == 2 and getattr(items.get("a"), "text", None) == "mine"


def test_a_task_ends_with_the_item_that_is_meant(memory: Memory) -> None:
    three = tiers(memory)
    task = three.task("7")
    task.add_reasoning("number one", "look")
    task.add(ContextItem("the one to keep", "1"))
    three.cleanup_task("7", keep=["1"])
    assert [record.text for record in memory.list({"scope": memory.home})] == ["the one to keep"]


def test_items_of_one_dict_keep_to_themselves(memory: Memory) -> None:
    items = Items(memory, "task/1")
    memory.remember_many([{"text": f"note {n}", "scope": "task/1"} for n in range(1, 6)])
    items.add_all({str(n): {"payload": f"item {n}"} for n in range(1, 6)})
    assert items.count() == 10
    assert [items.delete(str(n)) for n in range(1, 6)] == [True] * 5
    assert sorted(record.text for record in memory.list({"scope": "task/1"})) == [f"note {n}" for n in range(1, 6)]
