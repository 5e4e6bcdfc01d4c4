"""Items of a scope as plain values: the seven verbs that every tier of the founding document has, over one `Memory`.

    add, query, get, delete, list_all, clear, count

An item keeps its original id, kind and structure; a question finds its text. Times are in UTC, deleting archives, and
clearing needs a person's consent where the memory requires it.
"""

import builtins
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from memorist.errors import Invalid, NotFound
from memorist.kinds import ALIASES, KINDS
from memorist.memory import Memory
from memorist.records import Draft, Outcome, Record, Scope
from memorist.store.where import FIELDS
from memorist.text.visible import quoted

EVERYTHING = 1_000_000
RENAMED = {"context_item_id": "data.item_id", "id": "data.item_id", "source": "data.source", "timestamp": "at"}


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One item of context. Missing fields get defaults when it is added."""

    payload: Any
    id: str = ""
    kind: str = "note"
    source: str = ""
    timestamp: str = ""  # ISO 8601
    tags: tuple[str, ...] = ()
    importance: float | None = None
    token_cost: int = 0  # counted, not given
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return text_of(self.payload)


class Items:
    """The items of one scope."""

    def __init__(self, memory: Memory, scope: str) -> None:
        self._memory = memory
        self.scope = Scope(scope)

    def add(self, item: ContextItem | Mapping[str, Any]) -> ContextItem | None:
        """Keeps it; one of the same id is replaced. None: a person has to agree first, or did not."""
        item = item_of(item)
        known = self._find(item.id) if item.id else None
        outcome = self._memory.remember_many([self._draft(item)])[0]
        record = self._settled(item, outcome, known)
        return None if record is None else self._item(record, item.id)

    def add_all(self, items: Mapping[str, ContextItem | Mapping[str, Any]]) -> builtins.list[Outcome]:
        """Keeps a plain `{id: item}` dict; an existing item with the same id is replaced."""
        if not isinstance(items, Mapping):
            raise Invalid(f"items must be a dict of ids and items, not {type(items).__name__}")
        named = [replace(item_of(item), id=str(id)) for id, item in items.items()]
        everything = self._memory.list({"scope": self.scope}, limit=EVERYTHING)
        known = {id: record for record in reversed(everything) for id in _ids(record)}
        outcomes = self._memory.remember_many(self._draft(item) for item in named)
        for item, outcome in zip(named, outcomes, strict=True):
            self._settled(item, outcome, known.get(item.id))
        return outcomes

    def query(
        self, filters: Mapping[str, Any] | None = None, limit: int = 100, order_by: str = "timestamp"
    ) -> builtins.list[ContextItem]:
        """The items that match, the highest `order_by` first; a leading - reverses it."""
        down, name = order_by.startswith("-"), order_by.removeprefix("-")
        order = ("-" if down else "") + RENAMED.get(name, name)
        found = self._memory.list(self._where(filters or {}), order=order, limit=limit)
        return [self._item(record) for record in found]

    def get(self, item_id: str) -> ContextItem | None:
        found = self._find(item_id)
        return None if found is None else self._item(found, item_id)

    def delete(self, item_id: str) -> bool:
        """Archives the item, if there is one; `restore` brings it back."""
        found = self._find(item_id)
        return found is not None and self._let_go(found, str(item_id), "deleted")

    def list_all(self) -> builtins.list[ContextItem]:
        return self.query(limit=EVERYTHING)

    def clear(self) -> bool:
        """Archives all of them. False: a person has to agree first, or did not."""
        if not self.count():
            return True
        return bool(self._memory.forget(where={"scope": self.scope}, because="cleared").changed)

    def count(self) -> int:
        return self._memory.count({"scope": self.scope})

    # ------------------------------------------------------------ between items and records

    def _settled(self, item: ContextItem, outcome: Outcome, known: Record | None) -> Record | None:
        """The stored record with its id and source; the record that had the id before is archived afterwards."""
        if outcome.record is None:
            return None
        record = self._memory.get(outcome.record.id)  # another item of the same dict may have changed it
        if known is not None and known.id == record.id:
            data = self._data(item) | _many(record)
            self._memory.revise(record.id, data=data, tags=item.tags, importance=item.importance)
        elif outcome.outcome == "reinforced":
            more = _one_more(record, item.id, item.source or self.scope)
            if more:
                self._memory.revise(record.id, data={**record.data, **more}, because="said again as another item")
        if known is not None and known.id != record.id:
            self._let_go(known, item.id, "replaced by an item of the same id")
        return self._memory.get(record.id)

    def _let_go(self, record: Record, item_id: str, because: str) -> bool:
        """Archives the record, or removes just this id if it has others."""
        others = [id for id in _ids(record) if id != item_id]
        if others:
            done = self._memory.revise(record.id, data={**record.data, "item_id": others}, because=because)
        else:
            done = self._memory.forget(record.id, because=because)
        return done.outcome == "changed"

    def _draft(self, item: ContextItem) -> Draft:
        kind = item.kind if item.kind in KINDS or item.kind in ALIASES else "note"
        at = moment_of(item.timestamp) if item.timestamp else None
        data = self._data(item)
        return Draft(item.text, kind, self.scope, tags=item.tags, data=data, importance=item.importance, at=at)

    def _data(self, item: ContextItem) -> dict[str, Any]:
        said = {
            "item_id": item.id,
            "item_kind": "" if item.kind in KINDS else item.kind,
            "source": item.source or self.scope,
            "payload": None if item.payload == item.text else item.payload,
            "metadata": dict(item.metadata),
        }
        return {name: value for name, value in said.items() if value is not None and value not in ("", {})}

    def _item(self, record: Record, id: str = "") -> ContextItem:
        data = record.data
        return ContextItem(
            payload=data.get("payload", record.text),
            id=id or next(iter(_ids(record)), record.id),
            kind=data.get("item_kind", record.kind),
            source=data.get("source", record.scope),
            timestamp=record.times.at.isoformat(),
            tags=record.tags,
            importance=record.importance,
            token_cost=self._memory._tools.count_tokens(record.text),
            metadata=data.get("metadata", {}),
        )

    def _find(self, item_id: str) -> Record | None:
        for name in (str(item_id), [str(item_id)]):
            found = self._memory.list({"scope": self.scope, "data.item_id": name}, limit=1)
            if found:
                return found[0]
        try:
            record = self._memory.get(str(item_id))
        except (NotFound, Invalid):
            return None
        return record if record.scope == self.scope and record.state == "active" else None

    def _where(self, filters: Mapping[str, Any]) -> dict[str, Any]:
        where: dict[str, Any] = {"scope": self.scope}
        for name, wanted in filters.items():
            where |= _kind_filter(wanted) if name == "kind" else {_field(name): wanted}
        return where


def _kind_filter(wanted: Any) -> dict[str, Any]:
    """Known kinds are compared under any of their names; a caller's own kind as it was given."""
    values = wanted.values() if isinstance(wanted, Mapping) else [wanted]
    if not all(isinstance(value, str) and (value in KINDS or value in ALIASES) for value in values):
        return {"data.item_kind": wanted}
    if isinstance(wanted, Mapping):
        return {"kind": {operator: ALIASES.get(value, value) for operator, value in wanted.items()}}
    return {"kind": ALIASES.get(wanted, wanted)}


def _field(name: str) -> str:
    if name == "token_cost":
        raise Invalid("token_cost is counted when an item is read; filter by another field, such as importance")
    if name in RENAMED:
        return RENAMED[name]
    return name if name in FIELDS or name.startswith("data.") else f"data.{name}"


def _ids(record: Record) -> builtins.list[str]:
    known = record.data.get("item_id", [])
    return [known] if isinstance(known, str) else list(known)


def _one_more(record: Record, id: str, source: str) -> dict[str, Any]:
    """The data to add when the same text comes under another id or from another source."""
    ids, sources = _ids(record), record.data.get("sources") or [record.data.get("source", source)]
    return ({"item_id": [*ids, id]} if id and id not in ids else {}) | (
        {"sources": [*sources, source]} if source not in sources else {}
    )


def _many(record: Record) -> dict[str, Any]:
    """All ids and sources of a text that came as several items."""
    return {name: record.data[name] for name in ("item_id", "sources") if isinstance(record.data.get(name), list)}


def item_of(given: ContextItem | Mapping[str, Any]) -> ContextItem:
    """An item, or one from a dict with the founding document's field names."""
    if isinstance(given, ContextItem):
        return given
    if not isinstance(given, Mapping):
        raise Invalid(f"an item is a ContextItem or a dict of its fields, not {type(given).__name__}")
    said = {**given, "id": str(given.get("id") or given.get("context_item_id") or "")}
    said.setdefault("payload", said.get("text") or said.get("content"))
    if said["payload"] in (None, ""):
        raise Invalid(f"item {said['id'][:60]!r} has no payload, and no text; give it one")
    known = {name: said[name] for name in ContextItem.__dataclass_fields__ if name in said}
    tags = known.get("tags") or ()
    if not isinstance(tags, list | tuple | set | frozenset):
        raise Invalid(f"tags are a list such as ['bug_fix'], not {quoted(tags)}")
    return ContextItem(**{**known, "tags": tuple(tags)})


def text_of(payload: Any) -> str:
    """The searchable text of a payload: its text, or the whole structure as JSON."""
    if isinstance(payload, str):
        return payload
    if isinstance(payload, Mapping):
        texts = [value for value in payload.values() if isinstance(value, str)]
        if isinstance(payload.get("text"), str):
            return str(payload["text"])
        if len(texts) == 1 and len(payload) == 1:
            return texts[0]
    return json.dumps(payload, ensure_ascii=False, default=str)


def moment_of(stamp: str) -> datetime:
    """A time. Without a zone, as in the founding document, it was some unknown local time; it is taken as UTC, so that items
    keep their order."""
    try:
        moment = datetime.fromisoformat(stamp)
    except (TypeError, ValueError) as problem:
        raise Invalid(f"a timestamp is ISO 8601, such as 2026-05-01T12:00:00+00:00, not {stamp!r:.60}") from problem
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
