"""Items of a scope as plain values: the seven verbs that every tier of the founding document has, over one `Memory`.

    add, query, get, delete, list_all, clear, count

An item keeps its original id, kind and structure (`plain.py`); a question finds its text. An id is only ever the item's own:
one that looks like a memory's number is not that memory. Items that differ in anything but their tags are different items, also
when their texts are the same. Times are in UTC, deleting archives, and clearing needs a person's consent where the memory
requires it.
"""

import builtins
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any

from memorist import checks
from memorist.errors import Invalid
from memorist.kinds import ALIASES, KINDS
from memorist.memory import Memory
from memorist.records import Draft, Outcome, Record, Scope, utc
from memorist.seeds.plain import data_of
from memorist.store.nouns import parts
from memorist.store.where import FIELDS, Where, canonical, holds
from memorist.text.visible import quoted

EVERYTHING = 1_000_000
LONG = 50_000  # characters of a payload as JSON; a longer one is the text, which may be ten times as long as data
IDS_AT_ONCE = 400  # ids in one filter
SHAPE = '{"id": "d-1", "kind": "decision", "source": "project", "payload": "One queue"}'
JUST_USED = timedelta(days=1)
READ = ("kind", "token_cost")  # what an item says, and no filter of the store can
OWN = ("id", "context_item_id", "kind", "source", "tags", "token_cost")  # what an item says, and no column holds
RENAMED = {"context_item_id": "data.item_id", "id": "data.item_id", "source": "data.source", "timestamp": "at"}


@dataclass(frozen=True, slots=True, init=False)
class ContextItem:
    """One item of context. Missing fields get defaults when it is added. `context_item_id` is another name of `id`."""

    payload: Any
    id: str
    kind: str
    source: str
    timestamp: str  # ISO 8601
    tags: tuple[str, ...]
    importance: float | None
    token_cost: int  # counted, not given
    metadata: Mapping[str, Any]

    def __init__(
        self,
        payload: Any,
        id: str = "",
        kind: str = "note",
        source: str = "",
        timestamp: str = "",
        tags: Collection[str] = (),
        importance: float | None = None,
        token_cost: int = 0,
        metadata: Mapping[str, Any] | None = None,
        *,
        context_item_id: str = "",
    ) -> None:
        if id and context_item_id and id != context_item_id:
            raise Invalid(f"an item has one id, and here are two ids: {id[:60]!r} and {context_item_id[:60]!r}")
        if isinstance(tags, str) or not isinstance(tags, Collection):
            raise Invalid(f"tags are a list such as ['bug_fix'], not {quoted(tags)}")
        named = (payload, id or context_item_id, kind, source, timestamp)
        said = (*named, tuple(tags), importance, token_cost, metadata or {})
        for name, value in zip(self.__slots__, said, strict=True):
            object.__setattr__(self, name, value)

    @property
    def context_item_id(self) -> str:
        return self.id

    @property
    def text(self) -> str:
        return text_of(self.payload, self.kind)


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
        known = {id: record for record in reversed(everything) for id in ids_of(record)}
        outcomes = self._memory.remember_many(self._draft(item) for item in named)
        for item, outcome in zip(named, outcomes, strict=True):
            self._settled(item, outcome, known.get(item.id))
        return outcomes

    def query(
        self, filters: Mapping[str, Any] | None = None, limit: int = 100, order_by: str = "timestamp"
    ) -> builtins.list[ContextItem]:
        """The items that match, the highest `order_by` first; a leading - reverses it."""
        plainly = dict(filters or {})
        read = {f"data.{name}": plainly.get(name, {}) for name in READ}
        clauses = Where.of(self._memory.access, read).clauses
        sign, name = ("-", order_by[1:]) if order_by.startswith("-") else ("", order_by)
        own, order = name in OWN, sign + RENAMED.get(name, name)
        most = checks.whole(limit, "limit", 1, EVERYTHING)
        found = self._memory.list(
            self._where(plainly), order=sign + "at" if own else order, limit=EVERYTHING if own or clauses else most
        )
        items = [i for i in map(self._item, found) if all(holds(c, getattr(i, c.field[5:])) for c in clauses)]
        return (sorted(items, key=attrgetter(name), reverse=not sign) if own else items)[:most]

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

    def enforce_retention(self, max_items: int) -> int:
        """Archives what is over the limit, the least important first and of equals the oldest, and says how many. The newest,
        the pinned and what was used within a day stay; hiding most of a large scope needs a person's consent."""
        most = checks.whole(max_items, "max_items", 0, EVERYTHING)
        held = self._memory.list({"scope": self.scope}, order="number", limit=EVERYTHING)
        lately = self._memory._tools.clock() - JUST_USED
        loose = [r for r in held[1:] if not r.pinned and (r.times.used is None or r.times.used < lately)]
        lowest = sorted(loose, key=lambda record: (record.importance, record.times.at, record.number))
        over = lowest[: max(0, len(held) - most)]
        gone = 0
        for some in parts(over, IDS_AT_ONCE):
            where = {"scope": self.scope, "id": {"$in": [record.id for record in some]}}
            done = self._memory.forget(where=where, because=f"over the limit of {most:,} items")
            gone += len(done.changed)
            if len(done.changed) < len(some):
                break  # a person has to agree to these; what is more important does not go in their place
        return gone

    # ------------------------------------------------------------ between items and records

    def _settled(self, item: ContextItem, outcome: Outcome, known: Record | None) -> Record | None:
        """The stored record, as the item says it; the record that had the id before is archived afterwards."""
        if outcome.record is None:
            return None
        id = outcome.record.id
        if item.id and outcome.outcome != "added":  # a record with this id and text: the rest is as it was there
            said = self._draft(item)
            self._memory.revise(id, kind=said.kind, data=said.data, tags=said.tags, importance=said.importance)
        if known is not None and known.id != id:
            self._let_go(known, item.id, "replaced by an item of the same id")
        return self._memory.get(id)

    def _let_go(self, record: Record, item_id: str, because: str) -> bool:
        """Archives the record, or removes just this id if it has others."""
        others = [id for id in ids_of(record) if id != item_id]
        if others:
            done = self._memory.revise(record.id, data={**record.data, "item_id": others}, because=because)
        else:
            done = self._memory.forget(record.id, because=because)
        return done.outcome == "changed"

    def _draft(self, item: ContextItem) -> Draft:
        at = moment_of(item.timestamp) if item.timestamp else None
        data = self._data(item)
        text = written(item.payload) if "written" in data else item.text
        return Draft(text, _stored(item.kind), self.scope, tags=item.tags, data=data, importance=item.importance, at=at)

    def _data(self, item: ContextItem) -> dict[str, Any]:
        said = {
            "item_id": item.id,
            "item_kind": "" if item.kind in KINDS else item.kind,
            "source": item.source or self.scope,
            "metadata": dict(item.metadata),
            "item": None if item.id else self._mark(item),
        }
        return {name: value for name, value in said.items() if value not in (None, "", {})} | _kept(item)

    def _mark(self, item: ContextItem) -> str | None:
        """What tells an item without an id from others of the same text; None for a plain note."""
        plain = ContextItem(item.text, tags=item.tags, timestamp=item.timestamp, token_cost=item.token_cost)
        source = "" if item.source == self.scope else item.source
        said = (item.payload, item.kind, source, item.importance, dict(item.metadata))
        if said == (plain.payload, plain.kind, plain.source, plain.importance, {}):
            return None
        return self._memory._writer.digest(f"item {canonical(said)}")

    def _item(self, record: Record, id: str = "") -> ContextItem:
        data = record.data
        return ContextItem(
            payload=_payload(record),
            id=id or next(iter(ids_of(record)), record.id),
            kind=said if (said := data.get("item_kind")) and _stored(said) == record.kind else record.kind,
            source=data.get("source", record.scope),
            timestamp=record.times.at.isoformat(),
            tags=record.tags,
            importance=record.importance,
            token_cost=self._memory._tools.count_tokens(record.text),
            metadata=data.get("metadata", {}),
        )

    def _find(self, item_id: str) -> Record | None:
        """The item with that id. One that was given none has the id of its memory, whole."""
        wanted = str(item_id)
        for name in ({"data.item_id": wanted}, {"data.item_id": [wanted]}, {"id": wanted}):
            found = self._memory.list({"scope": self.scope, **name}, limit=1)
            if found and ("id" not in name or not ids_of(found[0])):
                return found[0]
        return None

    def _where(self, filters: Mapping[str, Any]) -> dict[str, Any]:
        where: dict[str, Any] = {"scope": self.scope}
        for name, wanted in filters.items():
            if name not in READ:
                where[_field(name)] = wanted
            elif name == "kind" and isinstance(wanted, str):
                where["kind"] = {"$in": [_stored(wanted), wanted]}
        return where


def _stored(kind: str) -> str:
    """The kind of the memory that an item of this kind is."""
    return ALIASES.get(kind, kind if kind in KINDS else "note")


def _kept(item: ContextItem) -> dict[str, Any]:
    """How the payload is kept beside the text: not at all where it is the text, or the text is to be all of it."""
    if item.payload is None or item.payload == item.text:
        return {}
    return {"written": "json"} if len(canonical(item.payload)) > LONG else {"payload": item.payload}


def _payload(record: Record) -> Any:
    """As it was given; a long one is the text, as JSON."""
    if record.data.get("written") != "json":
        return record.data.get("payload", record.text)
    try:
        return json.loads(record.text)
    except ValueError:  # a secret was taken out of it
        return record.text


def _field(name: str) -> str:
    if name in RENAMED:
        return RENAMED[name]
    return name if name in FIELDS or name.startswith("data.") else f"data.{name}"


def ids_of(record: Record) -> builtins.list[str]:
    """The item's id; several in a store where items of the same text were once kept as one."""
    known = record.data.get("item_id", [])
    return [known] if isinstance(known, str) else list(known)


def item_of(given: Any) -> ContextItem:
    """An item from a `ContextItem`, a dict with the founding document's field names, or an object that has such fields."""
    if isinstance(given, ContextItem):
        if not isinstance(given.kind, str) or not isinstance(given.metadata, Mapping):
            raise Invalid(f"the kind of an item is a word and its metadata a dict; here {given.id[:60]!r} has others")
        return replace(given, payload=data_of(given.payload), metadata=data_of(given.metadata))
    given = data_of(given)
    if not isinstance(given, Mapping):
        raise Invalid(f"an item is a ContextItem or a dict of its fields, not {type(given).__name__}")
    said = {**given, "id": str(given.get("id") or given.get("context_item_id") or "")}
    said.setdefault("payload", said.get("text") or said.get("content"))
    if said["payload"] in (None, ""):
        raise Invalid(f"item {said['id'][:60]!r} has no payload, and no text; an item is such as {SHAPE}")
    known = {name: said[name] for name in ContextItem.__dataclass_fields__ if name in said}
    return item_of(ContextItem(**{**known, "tags": known.get("tags") or ()}))


def text_of(payload: Any, kind: str) -> str:
    """The searchable text of a payload: its text, the decision of a decision, or the whole structure as JSON."""
    if isinstance(payload, str):
        return payload
    if isinstance(payload, Mapping):
        alone = next(iter(payload.values())) if len(payload) == 1 else None
        told = next((each for each in (payload.get("text"), payload.get(kind), alone) if isinstance(each, str)), None)
        if told is not None:
            return told
    return written(payload)


def written(payload: Any) -> str:
    return json.dumps(payload, ensure_ascii=False)


def moment_of(stamp: str) -> datetime:
    """A time. Without a zone, as in the founding document, it is local time."""
    return utc(stamp, "a timestamp")
