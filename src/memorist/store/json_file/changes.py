"""Between the tables in RAM and the sections of a JSON file: what a transaction changed, what there is, and back again.

A line of the log holds what a transaction left behind, not what it did: the final row of everything it touched. The
tables' own undo notes know what that is, so no writing method has to say it.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from memorist.records import Counters
from memorist.store.in_memory import InMemoryStore
from memorist.store.json_file.on_demand import OnDemand
from memorist.store.json_file.rows import (
    SHAPES,
    Row,
    Sections,
    counted_of,
    counters_row,
    record_row,
    row_of,
    sealed_of,
    vectors_of,
    vectors_row,
)
from memorist.store.nouns import Counted, Receipt, Sealed
from memorist.store.undo import Undo

AT_ONCE = ("records", "counters", "events", "vectors")  # the rows of a snapshot that wait until they are asked for
K = TypeVar("K")
V = TypeVar("V")


class Changes(Undo):
    """Undo that also remembers which entries of which table were touched, and what was there before."""

    def __init__(self) -> None:
        super().__init__()
        self._before: dict[int, dict[Any, Any]] = {}
        self._unnoted = False

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        if not self.under_way:
            self._before = {}
        with super().all_or_nothing():
            yield

    @contextmanager
    def unnoted(self) -> Iterator[None]:
        """For what comes from the files: it is no change, and it is not taken back."""
        self._unnoted = True
        try:
            yield
        finally:
            self._unnoted = False

    def set(self, table: dict[K, V], key: K, value: V) -> None:
        if self._unnoted:
            table[key] = value
            return
        self._before.setdefault(id(table), {}).setdefault(key, table.get(key))
        super().set(table, key, value)

    def drop(self, table: dict[K, V], key: K) -> None:
        if self._unnoted:
            del table[key]
            return
        self._before.setdefault(id(table), {}).setdefault(key, table.get(key))
        super().drop(table, key)

    def touched(self, table: Mapping[K, V]) -> Mapping[K, V | None]:
        """The entries of this table that the transaction touched, as they were before it; None: not there."""
        return self._before.get(id(table), {})


# ---------------------------------------------------------------- out


def every_section(store: InMemoryStore) -> Mapping[str, Iterator[Row]]:
    """Everything there is, for a snapshot."""
    tables: Mapping[str, Any] = {"shelves": store._shelves, **_plain_tables(store), "receipts": store._receipts}
    sections: dict[str, Iterator[Row]] = {
        "settings": ({"name": name, "value": value} for name, value in store._settings.items()),
        "records": (_record_row(each) for each in _peeked(store._records)),
        "counters": (row for each in _peeked(store._records) if (row := _counters_row(each))),
    }
    sections["vectors"] = (_vectors_row(key, each) for key, each in _peeked_items(store._vectors))
    for name, table in tables.items():
        values = _peeked(table) if isinstance(table, dict) and name != "shelves" else table
        sections[name] = (value if isinstance(value, dict) else row_of(value) for value in values)
    return sections


def _peeked(table: dict[Any, V]) -> Iterable[V | Row]:
    return table.peek() if isinstance(table, OnDemand) else table.values()


def _peeked_items(table: dict[K, V]) -> Iterable[tuple[K, V | Row]]:
    return table.peek_items() if isinstance(table, OnDemand) else table.items()


def _vectors_row(key: tuple[int, int], each: Any) -> Row:
    return each if "vectors" in each else vectors_row(key, each)


def _record_row(each: Sealed | Row) -> Row:
    if isinstance(each, dict):
        return {name: value for name, value in each.items() if name != "counted"}
    return record_row(each)


def _counters_row(each: Sealed | Row) -> Row | None:
    if isinstance(each, dict):
        return each.get("counted")
    counted = _counted(each)
    return counters_row(counted) if counted != Counted(counted.record, Counters(), None) else None


def changed_sections(store: InMemoryStore, changes: Changes, receipts: Sequence[Receipt]) -> Sections:
    """What the transaction under way leaves behind; `receipts` is the recall log from before it."""
    sections: Sections = {
        "settings": [{"name": name, "value": store._settings[name]} for name in changes.touched(store._settings)],
        "shelves": [row_of(shelf) for shelf in changes.touched(store._shelves)],
        "records": [],
        "counters": [],
        "dropped_links": [
            {"a": a, "kind": kind, "b": b}
            for a, kind, b in changes.touched(store._links)
            if (a, kind, b) not in store._links
        ],
        "dropped_generations": [
            {"id": id} for id in changes.touched(store._generations) if id not in store._generations
        ],
    }
    for key in changes.touched(store._vectors):
        sections.setdefault("vectors", []).append(vectors_row(key, store._vectors.get(key, {})))
    for id, before in changes.touched(store._records).items():
        _note_record(sections, store._records[id], before)
    for name, table in _plain_tables(store).items():
        sections[name] = [row_of(table[key]) for key in changes.touched(table) if key in table]
    if store._receipts is not receipts:
        _note_receipts(sections, receipts, store._receipts)
    return {name: rows for name, rows in sections.items() if rows}


def _plain_tables(store: InMemoryStore) -> Mapping[str, dict[Any, Any]]:
    return {
        "links": store._links,
        "events": store._events,
        "chain": store._chain,
        "keys": store._key_uses,
        "runs": store._runs,
        "generations": store._generations,
    }


def _note_record(sections: Sections, now: Sealed, before: Sealed | None) -> None:
    """Counters change far more often than records, and have a row of their own."""
    if before is None or (before.row, before.key, before.checksum) != (now.row, now.key, now.checksum):
        sections["records"].append(record_row(now))
    was = _counted(before) if before else Counted(now.record.id, Counters(), None)
    if _counted(now) != was:
        sections["counters"].append(counters_row(_counted(now)))


def _counted(sealed: Sealed) -> Counted:
    return Counted(sealed.record.id, sealed.record.counters, sealed.record.times.used)


def _note_receipts(sections: Sections, before: Sequence[Receipt], now: Sequence[Receipt]) -> None:
    old, new = {line.id for line in before}, {line.id for line in now}
    sections["dropped_receipts"] = [{"id": line.id} for line in before if line.id not in new]
    sections["receipts"] = [row_of(line) for line in now if line.id not in old]


# ---------------------------------------------------------------- in


def load(store: InMemoryStore, sections: Sections) -> None:
    """Puts the rows of a snapshot into empty tables. Most of them wait there until somebody asks for them."""
    records = store._records = OnDemand(sealed_of)
    events = store._events = OnDemand(SHAPES["events"].read)
    vectors = store._vectors = OnDemand(vectors_of)
    counted = {row["record"]: row for row in sections.get("counters", ())}
    for row in sections.get("records", ()):
        id, number = row["id"], row["number"]
        records.put(id, {**row, "counted": counted[id]} if id in counted else row)
        store._ids[number] = id
        store._by_fingerprint.setdefault(row["fingerprint"], {})[id] = None
        if "session" in row:
            store._in_session.setdefault(row["session"], {})[number] = None
        if "speaker" in row:
            store._spoken_by.setdefault(row["speaker"], {})[number] = None
    for row in sections.get("events", ()):
        events.put(row["seq"], row)
        store._journals.setdefault(row["record"], {})[row["seq"]] = None
    for row in sections.get("vectors", ()):
        vectors.put((row["generation"], row["record"]), row)
    store._last_number = max(store._ids, default=0)
    apply(store, {name: rows for name, rows in sections.items() if name not in AT_ONCE})


def apply(store: InMemoryStore, sections: Sections) -> None:
    """Puts the rows of a line of the log into their tables."""
    for row in sections.get("settings", ()):
        store._settings[row["name"]] = row["value"]
    for row in sections.get("records", ()):
        store._keep(sealed_of(row))
    for row in sections.get("counters", ()):
        store._keep_counted(counted_of(row))
    for row in sections.get("dropped_links", ()):
        store._drop_link((row["a"], row["kind"], row["b"]))
    for link in _read(sections, "links"):
        store._keep_link(link)
    for event in _read(sections, "events"):
        store._keep_event(event)
    for row in sections.get("vectors", ()):
        store._keep_vectors((row["generation"], row["record"]), vectors_of(row))
    for row in sections.get("dropped_generations", ()):
        store._generations.pop(row["id"], None)
    _fill(store._generations, ((each.id, each) for each in _read(sections, "generations")))
    _fill(store._shelves, ((shelf, None) for shelf in _read(sections, "shelves")))
    _fill(store._chain, ((link.last, link) for link in _read(sections, "chain")))
    _fill(store._key_uses, ((use.key, use) for use in _read(sections, "keys")))
    _fill(store._runs, ((run.id, run) for run in _read(sections, "runs")))
    dropped = {row["id"] for row in sections.get("dropped_receipts", ())}
    kept = (line for line in store._receipts if line.id not in dropped) if dropped else store._receipts
    store._receipts = (*kept, *_read(sections, "receipts"))


def _read(sections: Sections, name: str) -> Iterator[Any]:
    return map(SHAPES[name].read, sections.get(name, ()))


def _fill(table: dict[Any, Any], entries: Iterator[tuple[Hashable, Any]]) -> None:
    table.update(entries)
