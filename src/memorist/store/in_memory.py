"""A store of plain dicts: `Memory(":memory:")`, and the reference meaning of the protocol.

Filters are `Where.matches` itself and words are ranked by the same `bm25.rank`, so any other store can be compared with
this one, result by result and score by score. One lock is held for a whole transaction: a reader sees all of it or
nothing. What is handed out is the caller's own: changing it changes nothing here.
"""

import functools
import json
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from memorist.errors import Refused, StoreUnavailable
from memorist.records import Event, Link, Record
from memorist.store.chain import ChainLink
from memorist.store.in_memory_index import InMemoryIndex, View, finding
from memorist.store.protocol import Counted, Finding, KeyUse, Match, Matches, Receipt, Sealed, Shelf, Size
from memorist.store.rows import COUNTERS, checksum, from_row, to_row
from memorist.store.undo import Undo
from memorist.store.where import Order, Where, canonical, value_of
from memorist.text import bm25

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S", bound="InMemoryStore")
NOTHING_COUNTED = (None,) * (len(COUNTERS) + 1)


def reading(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Waits until no other thread's transaction is under way."""

    @functools.wraps(method)
    def alone(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self.alone():
            return method(self, *args, **kwargs)

    return alone


def writing(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Joins the transaction, or is one of its own."""

    @functools.wraps(method)
    def whole(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self.transaction():
            return method(self, *args, **kwargs)

    return whole


class InMemoryStore:
    """`memorist.store.protocol.Store` in RAM."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._closed = False
        self._undo = Undo()
        self._index = InMemoryIndex(self._undo)
        self._records: dict[str, Sealed] = {}  # in the order of their numbers, because none is ever taken out
        self._ids: dict[int, str] = {}
        self._by_fingerprint: dict[str, dict[str, None]] = {}
        self._links: dict[str, dict[tuple[str, str, str], Link]] = {}  # at both of their ends
        self._events: dict[int, Event] = {}
        self._journals: dict[str, dict[int, None]] = {}
        self._chain: dict[int, ChainLink] = {}
        self._key_uses: dict[str, KeyUse] = {}
        self._receipts: tuple[Receipt, ...] = ()
        self._settings = {"secret": secrets.token_hex(32)}
        self._last_number = 0  # not taken back: a number is never handed out twice

    @property
    def path(self) -> Path | None:
        return None

    @property
    def writable(self) -> bool:
        return True

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise StoreUnavailable("this memory was closed; open it again")
            yield

    # ------------------------------------------------------------ reading

    @reading
    def get(self, ids: Sequence[str], where: Where) -> list[Record]:
        return [_own(self._records[id].record) for id in ids if id in self._records and self._seen(id, where)]

    @reading
    def resolve(self, reference: str, where: Where, most: int) -> list[Record]:
        if reference.isdecimal():
            id = self._ids.get(int(reference)) if len(reference) < 19 else None
            return self.get([id] if id else [], where)[:most]
        ids = list(reversed(self._records))
        begins = self.get([id for id in ids if id.startswith(reference)], where)
        return (begins or self.get([id for id in ids if id.endswith(reference)], where))[:most]

    @reading
    def find(self, where: Where, order: Order, limit: int) -> list[Record]:
        found = self._matching(where)
        found.sort(key=lambda record: _place(record, order.field), reverse=not order.ascending)
        return [_own(record) for record in found[:limit]]

    @reading
    def count(self, where: Where) -> int:
        return len(self._matching(where))

    def _matching(self, where: Where) -> list[Record]:
        return [sealed.record for sealed in self._records.values() if where.matches(sealed.record)]

    @reading
    def match(self, terms: Sequence[str], shelves: Sequence[Shelf], where: Where, limit: int) -> Matches:
        access = where.access
        asked = {shelf for shelf in shelves if shelf.space == access.space and access.may_read(shelf.scope)}
        known = [shelf for shelf in self._index.sizes if shelf in asked]
        if not known or not terms:
            return Matches()
        view = View(self._index, self._records, known, where)
        scored, ceiling = bm25.rank(terms, view, max(bm25.POOL, 4 * limit))
        best: dict[str, bm25.Scored] = {}
        for each in scored:
            best.setdefault(self._index.rows[each.row].record, each)
        return Matches(tuple(self._match(each) for each in list(best.values())[:limit]), ceiling)

    def _match(self, scored: bm25.Scored) -> Match:
        row = self._index.rows[scored.row]
        return Match(_own(self._records[row.record].record), scored.score, scored.terms, row.start, row.end)

    @reading
    def link(self, a: str, b: str, kind: str) -> Link | None:
        return self._links.get(a, {}).get((a, kind, b))

    @reading
    def links_of(self, ids: Sequence[str], where: Where) -> list[Link]:
        links = {key: link for id in ids for key, link in self._links.get(id, {}).items()}
        seen = [link for link in links.values() if self._seen(link.a, where) and self._seen(link.b, where)]
        return sorted(seen, key=lambda link: (self._number(link.a), link.kind, self._number(link.b)))

    def _seen(self, id: str, where: Where) -> bool:
        return where.matches(self._records[id].record)

    def _number(self, id: str) -> int:
        return self._records[id].record.number

    @reading
    def scopes(self, space: str) -> dict[str, int]:
        counts = dict.fromkeys(sorted(shelf.scope for shelf in self._index.sizes if shelf.space == space), 0)
        for sealed in self._records.values():
            if sealed.record.space == space and sealed.record.state == "active":
                counts[sealed.record.scope] += 1
        return counts

    @reading
    def journal(self, record: str) -> list[Event]:
        return [self._event(seq) for seq in self._journals.get(record, {})]

    def _event(self, seq: int) -> Event:
        event = self._events[seq]
        return event if event.before is None else replace(event, before=deepcopy(event.before))

    @reading
    def chain(self) -> Iterator[tuple[ChainLink, list[Event]]]:
        links = tuple(self._chain.values())
        return ((link, [self._event(seq) for seq in range(link.first, link.last + 1)]) for link in links)

    @reading
    def seals(self) -> Iterator[Sealed]:
        return (replace(sealed, record=_own(sealed.record)) for sealed in tuple(self._records.values()))

    @reading
    def twins(self, space: str, scope: str, fingerprints: Sequence[str]) -> list[Record]:
        ids = {id for fingerprint in fingerprints for id in self._by_fingerprint.get(fingerprint, ())}
        found = [_own(self._records[id].record) for id in sorted(ids, key=self._number)]
        return [record for record in found if (record.space, record.scope) == (space, scope)]

    @reading
    def receipts(self, space: str, limit: int) -> list[Receipt]:
        here = [receipt for receipt in self._receipts if receipt.space == space]
        return sorted(here, key=lambda receipt: (receipt.at, receipt.id), reverse=True)[:limit]

    @reading
    def size(self) -> Size:
        return Size(len(self._records), 0, 0, len(self._events), len(self._receipts))

    @reading
    def setting(self, name: str) -> str | None:
        return self._settings.get(name)

    @reading
    def checkup(self) -> list[Finding]:
        seals = list(self._records.values())
        changed = [s.record.number for s in seals if _checksum(s) != s.checksum]
        sums = finding("checksums", changed, "every record fits its checksum", "records do not fit their checksum")
        return [sums, *self._index.checkup([sealed.record for sealed in seals])]

    # ------------------------------------------------------------ writing

    @contextmanager
    def transaction(self, durable: bool = True, wait: float | None = None) -> Iterator[None]:
        with self.alone(), self._undo.all_or_nothing():
            yield

    @reading
    def head(self) -> ChainLink | None:
        return next(reversed(self._chain.values()), None)

    @reading
    def keys(self, ids: Sequence[str]) -> dict[str, bytes]:
        return {id: self._records[id].key for id in ids if id in self._records}

    @writing
    def write(self, records: Sequence[Sealed]) -> list[int]:
        return [self._write(sealed) for sealed in records]

    def _write(self, sealed: Sealed) -> int:
        given, old = sealed.record, self._records.get(sealed.record.id)
        number = old.record.number if old else self._next_number()
        # Through its columns, as every store reads it back: nothing of the caller's own values is kept.
        record = from_row(given.space, given.scope, number, sealed.row, NOTHING_COUNTED)
        if old:
            times = replace(record.times, used=old.record.times.used)
            record = replace(record, counters=old.record.counters, times=times)
            self._undo.drop(self._by_fingerprint[old.record.fingerprint], given.id)
        self._undo.set(self._records, given.id, replace(sealed, record=record))
        self._undo.set(self._ids, number, given.id)
        self._undo.set(self._by_fingerprint.setdefault(record.fingerprint, {}), given.id, None)
        self._index.write(record)
        return number

    def _next_number(self) -> int:
        self._last_number += 1
        return self._last_number

    @reading
    def counted(self, ids: Sequence[str]) -> list[Counted]:
        records = [self._records[id].record for id in dict.fromkeys(ids) if id in self._records]
        return [Counted(record.id, record.counters, record.times.used) for record in records]

    @writing
    def count_up(self, counted: Sequence[Counted]) -> None:
        for each in counted:
            sealed = self._records[each.record]
            times = replace(sealed.record.times, used=each.used)
            record = replace(sealed.record, counters=each.counters, times=times)
            self._undo.set(self._records, each.record, replace(sealed, record=record))

    @writing
    def write_links(self, links: Sequence[Link], removed: Sequence[Link]) -> None:
        for link in removed:
            for end in (link.a, link.b):
                if _key(link) in self._links.get(end, {}):
                    self._undo.drop(self._links[end], _key(link))
        for link in links:
            for end in (self._records[link.a].record.id, self._records[link.b].record.id):
                self._undo.set(self._links.setdefault(end, {}), _key(link), link)

    @writing
    def append(self, events: Sequence[Event], link: ChainLink) -> None:
        for event in events:
            before = None if event.before is None else json.loads(canonical(dict(event.before)))
            self._undo.set(self._events, event.seq, replace(event, before=before))
            self._undo.set(self._journals.setdefault(event.record, {}), event.seq, None)
        self._undo.set(self._chain, link.last, link)

    @reading
    def key_use(self, key: str) -> KeyUse | None:
        return self._key_uses.get(key)

    @writing
    def write_key_uses(self, uses: Sequence[KeyUse]) -> None:
        for use in uses:
            self._undo.set(self._key_uses, use.key, use)

    @writing
    def log(self, receipts: Sequence[Receipt], most: int, oldest: datetime) -> None:
        lines = tuple(line for line in (*self._receipts, *receipts) if line.at >= oldest)
        self._undo.note(functools.partial(setattr, self, "_receipts", self._receipts))
        self._receipts = lines[max(0, len(lines) - most) :]

    @writing
    def set_setting(self, name: str, value: str) -> None:
        self._undo.set(self._settings, name, value)

    # ------------------------------------------------------------ the whole

    @reading
    def backup(self, path: Path) -> None:
        raise Refused("there is nothing to copy in RAM; name a file when you open the memory, then it can be copied")

    def close(self) -> None:
        with self._lock:
            self._closed = True


def _own(record: Record) -> Record:
    """A copy that shares nothing a caller could change."""
    return replace(record, data=deepcopy(record.data))


def _place(record: Record, field: str) -> tuple[bool, Any, int]:
    """Where a record stands in an order: a missing value is the smallest, ties go by number."""
    value = value_of(record, field)
    return value is not None, 0 if value is None else value, record.number


def _key(link: Link) -> tuple[str, str, str]:
    return link.a, link.kind, link.b


def _checksum(sealed: Sealed) -> bytes:
    return checksum(sealed.key, sealed.record.space, sealed.record.scope, to_row(sealed.record))
