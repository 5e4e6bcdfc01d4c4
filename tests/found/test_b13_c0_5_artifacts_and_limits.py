"""B13, C0-5: artifacts of a task with all their fields, and a limit that is kept when it is asked for."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memorist import Memory
from memorist.errors import Invalid
from memorist.seeds import tiers
from memorist.seeds.items import ContextItem, Items
from memorist.testing import MovableClock

pytestmark = pytest.mark.covers("B13", "C0-5")


@pytest.fixture
def memory(place: Path | str, clock: MovableClock) -> Iterator[Memory]:
    with Memory(place, project="atlas", clock=clock, confirm=lambda ask: True) as memory:
        yield memory


def test_an_artifact_keeps_its_six_fields(memory: Memory) -> None:
    task = tiers(memory).task("42")
    payload = {"plan": ["read", "write"], "file": Path("plan.md")}
    made = task.add_artifact("art-1", payload, node_id="planner", type="plan", schema_ref="schemas/plan.json")
    assert made is not None and (made.id, made.kind, made.source) == ("art-1", "artifact", "task/42")
    assert made.metadata == {
        "artifact_id": "art-1",
        "task_id": "42",
        "node_id": "planner",
        "type": "plan",
        "schema_ref": "schemas/plan.json",
    }
    assert made.payload == {"plan": ["read", "write"], "file": "plan.md"} and task.get("art-1") == made
    task.add_artifact("art-2", "all green", node_id="tester", type="report")
    task.add_reasoning("not an artifact", "planner")
    assert {item.id for item in task.query_artifacts()} == {"art-1", "art-2"}
    assert [item.id for item in task.query_artifacts("plan")] == ["art-1"]
    assert tiers(memory).task("43").query_artifacts() == []
    again = task.add_artifact("art-1", {"plan": []}, node_id="planner", type="plan")
    assert again is not None and len(task.query_artifacts()) == 2 and again.payload == {"plan": []}
    report = tiers(memory).cleanup_task("42", keep=["art-1"])
    assert len(report.changed) == 3 and task.query_artifacts() == []
    assert [item.id for item in tiers(memory).project.query({"kind": "artifact"})] == ["art-1"]


def test_the_least_important_goes_first_and_of_equals_the_oldest(memory: Memory, clock: MovableClock) -> None:
    items = Items(memory, "task/1")
    for n, importance in enumerate((0.9, 0.1, 0.5, 0.1, 0.5, 0.9)):
        items.add(ContextItem(f"item {n}", str(n), importance=importance))
        clock.move(minutes=1)
    assert items.enforce_retention(6) == 0 and items.enforce_retention(3) == 3
    assert {item.id for item in items.list_all()} == {"0", "4", "5"}
    assert [record.reason for record in memory.list({"state": "archived"})] == ["over the limit of 3 items"] * 3


def test_the_new_the_pinned_and_the_just_used_stay(memory: Memory, clock: MovableClock) -> None:
    items = Items(memory, "task/1")
    for n in range(6):
        items.add(ContextItem(f"item {n}", str(n), importance=n / 10))
    by_id = {record.data["item_id"]: record.id for record in memory.list({"scope": "task/1"})}
    clock.move(days=3)
    memory.pin(by_id["0"])
    memory.feedback(by_id["1"], "useful")
    items.add(ContextItem("new", "6", importance=0.0))
    assert items.enforce_retention(4) == 3 and {item.id for item in items.list_all()} == {"0", "1", "5", "6"}
    assert items.enforce_retention(0) == 1 and {item.id for item in items.list_all()} == {"0", "1", "6"}
    for wrong in (-1, True, "3"):
        with pytest.raises(Invalid, match="max_items"):
            items.enforce_retention(wrong)  # type: ignore[arg-type]


@pytest.mark.usefixtures("without_reader")
def test_more_than_a_filter_can_name(memory: Memory) -> None:
    items = Items(memory, "task/1")
    memory.remember_many([{"text": f"item {n}", "scope": "task/1", "importance": n / 1500} for n in range(1200)])
    assert items.enforce_retention(300) == 900 and items.count() == 300
    assert min(item.importance or 0 for item in items.list_all()) == pytest.approx(0.6)


@pytest.mark.parametrize("origin", ["user", "agent"])
@pytest.mark.parametrize("answer", [True, False, None])
def test_what_waits_for_a_person_is_not_replaced_by_what_is_more_important(origin: str, answer: bool | None) -> None:
    asked: list[str] = []

    def confirm(question: object) -> bool | str:
        asked.append(str(question))
        return "queue" if answer is None else answer

    with Memory(":memory:", project="atlas", embed="none", confirm=confirm) as memory:
        memory.remember_many([{"text": f"item {n}", "importance": n / 1000} for n in range(900)])
        items = Items(memory.through(replace(memory.access, origin=origin)), "project/atlas")
        gone = items.enforce_retention(5)
        left = sorted(item.importance or 0 for item in items.list_all())
        assert left == pytest.approx([n / 1000 for n in range(gone, 900)]) and len(left) == 900 - gone
        assert gone == 895 if answer else gone < 895 and len(asked) <= 1
