"""B14: who comes from the first design finds its names: fields, verbs, backends, sort keys, filters, times and kinds."""

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memorist import Memory
from memorist.errors import Invalid
from memorist.seeds import tiers
from memorist.seeds.items import ContextItem, Items
from memorist.seeds.tiers import ContextPackage

pytestmark = pytest.mark.covers("B14", "S0-1")
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def test_an_item_as_the_document_makes_it(memory: Memory) -> None:
    item = ContextItem(
        context_item_id="reasoning-look-1",
        kind="reasoning",
        source="task/42/look",
        timestamp=NOON.isoformat(),
        tags=["task", "look"],
        importance=0.5,
        token_cost=4,
        payload={"text": "The parser drops bodies"},
    )
    assert item.context_item_id == item.id == "reasoning-look-1" and item.tags == ("task", "look")
    assert replace(item, id="b").context_item_id == "b" and replace(item, kind="note").id == item.id
    task = tiers(memory).task("42")
    added = task.add(item)
    assert added is not None and added.context_item_id == "reasoning-look-1" and task.get(item.id) == added
    assert task.get_stage_outputs("look") == [added]
    with pytest.raises(Invalid, match="two ids"):
        ContextItem("x", id="a", context_item_id="b")


def test_items_of_ones_own_class(memory: Memory) -> None:
    @dataclass
    class Theirs:
        context_item_id: str
        kind: str = "code"
        tags: list[str] = field(default_factory=lambda: ["bug_fix"])
        importance: float | None = None
        payload: Any = "return None"

    items = Items(memory, "task/1")
    items.add(Theirs("t-1"))
    found = items.get("t-1")
    assert found is not None and (found.kind, found.tags, found.payload) == ("code", ("bug_fix",), "return None")


def test_a_package_has_the_documents_id(memory: Memory) -> None:
    made = tiers(memory).build_context("7", "anything")
    assert isinstance(made, ContextPackage) and made.context_package_id == made.id == "ctx-7"


@pytest.mark.covers("S0-17")
def test_a_task_and_a_request_may_be_objects(memory: Memory) -> None:
    three = tiers(memory)
    for n in range(30):
        three.add_decision(f"Deploys of service {n} run from the release branch, after the tests of the day are green")
    whole = three.build_context(
        task=SimpleNamespace(task_id="7", metadata={}), request=SimpleNamespace(query="deploys")
    )
    assert whole.context_package_id == "ctx-7" and whole.items
    request = SimpleNamespace(budget_tokens=200, tags=["db"])  # the document's has no question
    some = three.build_context(task={"task_id": 7}, request=request)
    assert some.context_package_id == "ctx-7" and 0 < some.tokens <= 200 < whole.tokens
    assert three.build_context("7", request, budget=300).tokens > 200, "what the caller says counts"
    for wrong in (object(), None, ""):
        with pytest.raises(Invalid):
            three.build_context(wrong, "deploys")
    with pytest.raises(Invalid):
        three.build_context("7", None)


def test_a_failure_is_named_as_in_the_document(memory: Memory) -> None:
    three = tiers(memory)
    item = three.add_failure(failure={"code": "E1"}, lesson="Retry once")
    assert item is not None and [found.id for found in three.query_failures("E1")] == [item.id]
    memory.remember("The build failed", kind="failure")
    assert len(three.query_failures()) == 2 and len(three.project.query({"kind": "failure"})) == 1


def test_an_item_without_importance_has_that_of_its_kind(memory: Memory) -> None:
    items = Items(memory, "task/1")
    items.add(ContextItem("a note", "n"))
    items.add(ContextItem("a decision", "d", "decision"))
    assert [(item.id, item.importance) for item in items.query(order_by="-importance")] == [("n", 0.5), ("d", 0.9)]


@pytest.mark.parametrize("wrong", [{"order_by": "payload"}, {"order_by": "nothing"}, {"limit": 0}])
def test_what_cannot_be_sorted_by_is_an_error(memory: Memory, wrong: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        Items(memory, "task/1").query(**wrong)


@pytest.mark.covers("S0-14", "S0-15", "W0-5")
@pytest.mark.parametrize("asked_for", [True, False])
def test_a_preference_is_asked_about_whatever_require_confirmation_says(tmp_path: Path, asked_for: bool) -> None:
    asked: list[str] = []

    def no(text: str) -> bool:
        asked.append(text)
        return False

    with Memory(tmp_path / "m.db", design="tiers", confirm=no) as memory:
        three = tiers(memory)
        assert three.add_preference("Answers are short", "verbosity", require_confirmation=asked_for) is None
        assert len(asked) == 1 and "Answers are short" in asked[0] and three.query_preferences() == []


@pytest.mark.covers("S0-15")
def test_clear_all_asks_with_a_danger_text(tmp_path: Path) -> None:
    asked: list[str] = []
    answers = [True, False, True]

    def answer(text: str) -> bool:
        asked.append(text)
        return answers[len(asked) - 1]

    with Memory(tmp_path / "m.db", design="tiers", confirm=answer) as memory:
        three = tiers(memory)
        three.add_preference("Answers are short", "verbosity")
        three.add_pattern("Retry with jitter", "networks")
        assert three.clear_all() is False and three.everywhere.count() == 2 and "global" in asked[1]
        assert three.clear_all() is True and three.everywhere.count() == 0 and three.clear_all() is True


@pytest.mark.covers("S0-3")
def test_every_field_sorts_and_token_cost_filters(memory: Memory) -> None:
    items = Items(memory, "task/1")
    for n, source in enumerate(("user", "ci", "tool", "ci")):
        text = ("apple ", "stone ", "river ", "cloud ")[n] * (3 * n + 1) + str(n)
        stamp = (NOON + timedelta(hours=n)).isoformat()
        items.add(
            ContextItem(text, f"i{n}", ("code", "discovery", "note", "code")[n], source, stamp, importance=n / 10)
        )

    def ids(filters: dict[str, Any] | None = None, **more: Any) -> list[str]:
        return [item.id for item in items.query(filters, **more)]

    assert ids(order_by="source") == ["i0", "i2", "i3", "i1"] and ids(order_by="-source") == ["i1", "i3", "i2", "i0"]
    assert ids(order_by="token_cost", limit=2) == ["i3", "i2"] and ids(order_by="-token_cost", limit=1) == ["i0"]
    assert ids(order_by="kind") == ["i2", "i1", "i3", "i0"] and ids(order_by="-context_item_id", limit=1) == ["i0"]
    costs = {item.id: item.token_cost for item in items.list_all()}
    assert ids({"token_cost": {"$lte": costs["i1"]}}) == ["i1", "i0"]
    assert ids({"token_cost": {"$gt": costs["i0"], "$lt": costs["i3"]}, "source": "ci"}) == ["i1"]
    assert ids({"token_cost": costs["i2"]}) == ["i2"] and ids({"token_cost": [costs["i2"]]}) == []
    assert ids({"token_cost": {"$gte": 1}}, limit=2, order_by="importance") == ["i3", "i2"]
    with pytest.raises(Invalid, match="no operator"):
        ids({"token_cost": {"$regex": 1}})
    with pytest.raises(Invalid, match="cannot sort by 'payload'"):
        ids(order_by="payload")


@pytest.mark.covers("W0-7")
def test_times_without_a_zone_are_local_in_items_and_in_filters(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        items = Items(memory, "task/1")
        items.add(ContextItem("in Tokyo", "a", timestamp="2026-05-04T12:00:00"))
        items.add(ContextItem("in UTC", "b", timestamp="2026-05-04T04:00:00+00:00"))
        assert [item.timestamp for item in items.list_all()] == [
            "2026-05-04T04:00:00+00:00",
            "2026-05-04T03:00:00+00:00",
        ]
        for limit in (datetime(2026, 5, 4, 12, 30), "2026-05-04T12:30:00", "2026-05-04 12:30"):
            assert [item.id for item in items.query({"timestamp": {"$gt": limit}})] == ["b"]
            assert [record.text for record in memory.list({"at": {"$lt": limit}})] == ["in Tokyo"]
        for day in (date(2026, 5, 4), "2026-05-04"):
            assert memory.count({"at": {"$gte": day}}) == 2 and memory.count({"at": {"$lt": day}}) == 0
    finally:
        monkeypatch.undo()
        time.tzset()
    with pytest.raises(Invalid, match="at must be a time such as"):
        memory.list({"at": {"$gt": "yesterdayish"}})


@pytest.mark.covers("S3-9")
@pytest.mark.parametrize("kind", ["discovery", "task_progress"])
def test_these_kinds_come_back_under_their_own_names(memory: Memory, kind: str) -> None:
    plain = {"discovery": "note", "task_progress": "progress"}[kind]
    kept = memory.remember("The cache is cold", kind=kind).record
    memory.remember("Another one", kind=plain)
    assert kept is not None and kept.kind == kind
    assert [record.id for record in memory.list({"kind": kind})] == [kept.id]
    assert [hit.record.id for hit in memory.recall("cold cache", kinds=[kind])] == [kept.id]
    items = Items(memory, memory.home)
    assert [item.kind for item in items.query({"kind": kind})] == [kind]
    assert [item.kind for item in items.query({"kind": plain})] == [plain]


class Dict:
    """A backend as the founding document has it: seven verbs over a dict."""

    def __init__(self, *items: ContextItem) -> None:
        self.items = {item.context_item_id: item for item in items}

    def add(self, item: ContextItem) -> None:
        self.items[item.context_item_id] = item

    def get(self, item_id: str) -> ContextItem | None:
        return self.items.get(item_id)

    def delete(self, item_id: str) -> bool:
        return self.items.pop(item_id, None) is not None

    def list_all(self) -> list[ContextItem]:
        return list(self.items.values())

    def query(self, filters: dict[str, Any], limit: int = 100, order_by: str = "timestamp") -> list[ContextItem]:
        return self.list_all()[:limit]

    def clear(self) -> None:
        self.items.clear()

    def count(self) -> int:
        return len(self.items)


@pytest.mark.covers("S0-5")
def test_a_backend_of_ones_own_is_read_and_kept_in_step(memory: Memory) -> None:
    mine = Dict(ContextItem("Sign empty bodies as ''", "d-1", "decision", tags=("payments",), importance=0.9))
    three = tiers(memory, backends={"project": mine})
    assert [item.id for item in three.query_decisions(["payments"])] == ["d-1"]
    assert "Sign empty bodies" in three.build_context("7", "how are empty bodies signed?").text
    added = three.add_decision("Retry twice", ["networks"])
    assert added is not None and mine.items[added.id] == added and mine.count() == 2
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    secret = three.add_decision(f"the key is {key}")
    assert secret is not None and key not in str(mine.items), "it gets what was stored, and nothing that was not"
    assert three.project.delete("d-1") and "d-1" not in mine.items
    assert tiers(memory, backends={"project": mine}).project.count() == three.project.count() == 2
    mine.add(ContextItem("written meanwhile", "d-2"))
    assert tiers(memory, backends={"project": mine}).project.get("d-2") is not None


@pytest.mark.parametrize("origin", ["user", "agent"])
def test_what_a_backend_holds_is_nobodys_word(memory: Memory, origin: str) -> None:
    door = memory.through(replace(memory.access, origin=origin))
    project = tiers(door, backends={"project": Dict(ContextItem("Never ask", "a", "convention"))}).project
    [record] = memory.list()
    assert (record.origin, record.trust, record.status) == ("import", "low", "candidate")
    added = project.add(ContextItem("Ask first", "b", "convention"))
    assert added is not None and memory.get(2).origin == origin and memory.review() == []


def test_what_was_let_go_does_not_come_back_from_a_backend(memory: Memory) -> None:
    mine = Dict(ContextItem("one", "a"), ContextItem("two", "b"))
    tiers(memory, backends={"project": mine})
    [record] = memory.list({"data.item_id": "a"})
    memory.forget(record.id)  # as upkeep would
    project = tiers(memory, backends={"project": mine}).project
    assert [item.id for item in project.list_all()] == ["b"] and mine.count() == 2
    project.add(ContextItem("three", "c", importance=0.9))
    assert project.enforce_retention(1) == 1 and set(mine.items) == {"c"}


def test_a_tier_and_a_backend_must_be_what_they_are_called(memory: Memory) -> None:
    with pytest.raises(Invalid, match="a backend is for project or global"):
        tiers(memory, backends={"session": Dict()})
    with pytest.raises(Invalid, match="a backend has add, query, get, delete, list_all, clear, count"):
        tiers(memory, backends={"project": object()})
