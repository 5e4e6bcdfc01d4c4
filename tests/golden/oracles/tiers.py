"""A naive model of founding document 000: three tiers over dicts, written from its text alone.

It has what the document fixes: the seven verbs, filters and sorting, the fields of each kind of item, consent, promotion by
hand, eviction, shares, ranking and selection, and the fingerprint of a request. Time changes nothing in it: there is no
expiry and no decay. Texts are unique in a history, so that an item can be named by its text.
"""

import hashlib
import json
import operator
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

SHARES = {"task": 0.4, "project": 0.4, "global": 0.2}
COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


@dataclass(frozen=True)
class Item:
    text: str  # what the payload says; the name of the item here
    kind: str
    source: str
    timestamp: str
    tags: list[str]
    importance: float
    payload: Mapping[str, Any]


@dataclass
class Backend:
    items: dict[str, Item] = field(default_factory=dict)

    def add(self, item: Item) -> Item:
        self.items[item.text] = item
        return item

    def get(self, name: str) -> Item | None:
        return self.items.get(name)

    def delete(self, name: str) -> bool:
        return self.items.pop(name, None) is not None

    def list_all(self) -> list[Item]:
        return list(self.items.values())

    def clear(self) -> None:
        self.items.clear()

    def count(self) -> int:
        return len(self.items)

    def query(self, filters: Mapping[str, Any], limit: int = 100, order_by: str = "timestamp") -> list[Item]:
        found = [item for item in self.items.values() if matches(item, filters)]
        up, name = order_by.startswith("-"), order_by.removeprefix("-")
        found.sort(key=lambda item: getattr(item, name), reverse=not up)
        return found[:limit]


def matches(item: Item, filters: Mapping[str, Any]) -> bool:
    for name, wanted in filters.items():
        have = getattr(item, name)
        if isinstance(wanted, Mapping):
            if not all(op in COMPARE and COMPARE[op](have, value) for op, value in wanted.items()):
                return False
        elif isinstance(wanted, list):
            if not isinstance(have, list) or not any(value in have for value in wanted):
                return False
        elif have != wanted:
            return False
    return True


class Tiers:
    """The three stores of one project, and what moves between them."""

    def __init__(self, project: str, now: Callable[[], str], confirm: Callable[[], bool], max_items: int) -> None:
        self.project_id, self.now, self.confirm, self.max_items = project, now, confirm, max_items
        self.tasks: dict[str, Backend] = {}
        self.project, self.everywhere = Backend(), Backend()

    def task(self, task: str) -> Backend:
        return self.tasks.setdefault(task, Backend())

    def _new(self, text: str, kind: str, source: str, tags: list[str], importance: float, payload: Any) -> Item:
        return Item(text, kind, source, self.now(), tags, importance, payload)

    # ------------------------------------------------------------ adding

    def add_reasoning(self, task: str, text: str, stage: str) -> Item:
        source = f"task/{task}/{stage}"
        return self.task(task).add(self._new(text, "reasoning", source, ["task", stage], 0.5, {"text": text}))

    def add_tool_output(self, task: str, tool: str, text: str) -> Item:
        payload = {"tool_id": tool, "output": text}
        return self.task(task).add(self._new(text, "tool_output", f"task/{task}", ["task", "tool", tool], 0.7, payload))

    def add_decision(self, text: str, tags: list[str]) -> Item:
        return self._in_project(text, "decision", ["project", "decision", *tags], 0.9, {"decision": text})

    def add_convention(self, text: str, scope: str) -> Item:
        tags = ["project", "convention", scope]
        return self._in_project(text, "convention", tags, 0.8, {"convention": text, "scope": scope})

    def add_failure(self, code: str, text: str) -> Item:
        tags = ["project", "failure", code]
        return self._in_project(text, "failure", tags, 0.85, {"failure": {"code": code}, "lesson": text})

    def _in_project(self, text: str, kind: str, tags: list[str], importance: float, payload: Any) -> Item:
        return self.project.add(self._new(text, kind, f"project/{self.project_id}", tags, importance, payload))

    def add_preference(self, text: str, category: str) -> Item | None:
        """As section 4.3 has it: adding a preference is a high-risk operation, and asked about."""
        if not self.confirm():
            return None
        tags = ["global", "preference", category]
        payload = {"preference": text, "category": category}
        return self.everywhere.add(self._new(text, "preference", "global", tags, 0.9, payload))

    def add_pattern(self, text: str, domain: str) -> Item:
        tags = ["global", "pattern", domain]
        payload = {"pattern": text, "domain": domain}
        return self.everywhere.add(self._new(text, "pattern", "global", tags, 0.7, payload))

    def clear_all(self) -> bool:
        if not self.confirm():
            return False
        self.everywhere.clear()
        return True

    # ------------------------------------------------------------ moving and letting go

    def promote(self, task: str, name: str) -> None:
        item = self.task(task).items.pop(name)
        self.project.add(item)

    def cleanup_task(self, task: str, keep: Iterable[str] = ()) -> None:
        for name in keep:
            self.promote(task, name)
        self.task(task).clear()
        del self.tasks[task]

    def evict(self, down_to: int | None = None, spared: Iterable[str] = ()) -> list[Item]:
        """Above the threshold the lowest tenth goes, or what is needed: importance ascending, the oldest first."""
        if self.project.count() <= self.max_items:
            return []
        lowest = sorted(self.project.list_all(), key=lambda item: (item.importance, item.timestamp))
        many = len(lowest) // 10 if down_to is None else len(lowest) - down_to
        gone = [item for item in lowest if item.text not in set(spared)][:many]
        for item in gone:
            self.project.delete(item.text)
        return gone

    # ------------------------------------------------------------ a context

    def candidates(self, task: str, budget: int) -> dict[str, list[Item]]:
        """All of the task; of the others the latest, a tenth as many as their share has tokens."""
        return {
            "task": self.task(task).list_all(),
            "project": self.project.query({}, limit=int(budget * SHARES["project"]) // 10),
            "global": self.everywhere.query({}, limit=int(budget * SHARES["global"]) // 10),
        }


def unfair(items: Iterable[Item], chosen: Container[str]) -> list[tuple[str, str]]:
    """Pairs where the less important and no shorter one was chosen and the other was not: the most important come first,
    and what does not fit is skipped, so that smaller ones may still enter."""
    every = list(items)
    return [
        (out.text, kept.text)
        for out in every
        for kept in every
        if out.text not in chosen and kept.text in chosen and out.importance > kept.importance
        if len(str(out.payload)) <= len(str(kept.payload))
    ]


def fingerprint(task: str, files: list[str], tags: list[str], mode: str, complexity: int) -> str:
    """Equal for requests of the same kind, and for no others."""
    facts = [task, files, sorted(tags), mode, complexity]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()
