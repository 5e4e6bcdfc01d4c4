"""A store of plain dicts: `Memory(":memory:")`, and the reference meaning of the protocol.

Filters are `Where.matches` itself and words are ranked by the same `bm25.rank`, so any other store can be compared with
this one, result by result and score by score. One lock is held for a whole transaction: a reader sees all of it or
nothing. What is handed out is the caller's own: changing it changes nothing here.
"""

import functools
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Any

from memorist.errors import Refused
from memorist.records import Counters, Event, Link, Record
from memorist.store.in_memory_answering import InMemoryAnswering, own
from memorist.store.in_memory_index import REPORT, finding
from memorist.store.in_memory_ledger import reading, writing
from memorist.store.index import CHUNKS, numbered_rows
from memorist.store.nouns import Brief, Counted, Erased, Finding, Receipt, Sealed, Size, footprint, shelf_of
from memorist.store.rows import COLUMNS, CONTENT, COUNTERS, checksum, from_row, to_row
from memorist.store.traces import tells
from memorist.store.where import Clause, Order, Where, canonical, value_of
from memorist.text.words import terms

NOTHING_COUNTED = (None,) * (len(COUNTERS) + 1)
KINDS_ASKED = (("kind", "eq"), ("kind", "in"))


class InMemoryStore(InMemoryAnswering):
    """`memorist.store.protocol.Store` in RAM."""

    def _empty(self) -> None:
        super()._empty()
        self._by_fingerprint: dict[str, dict[str, None]] = {}
        self._links: dict[tuple[str, str, str], Link] = {}
        self._links_at: dict[str, dict[tuple[str, str, str], None]] = {}  # both of their ends
        self._last_number = 0  # not taken back: a number is never handed out twice

    @property
    def path(self) -> Path | None:
        return None

    @property
    def writable(self) -> bool:
        return True

    # ------------------------------------------------------------ reading

    @reading
    def get(self, ids: Sequence[str], where: Where) -> list[Record]:
        return [own(self._records[id].record) for id in ids if id in self._records and self._seen(id, where)]

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
        return [own(record) for record in found[:limit]]

    @reading
    def count(self, where: Where) -> int:
        return len(self._matching(where))

    def _matching(self, where: Where) -> list[Record]:
        """Pins and kinds are looked up for every prompt: most records are out by them before the whole filter is tried."""
        pins = Clause("pinned", "eq", True) in where.clauses
        kinds = next(
            (c.value if c.op == "in" else (c.value,) for c in where.clauses if (c.field, c.op) in KINDS_ASKED), None
        )
        records = (sealed.record for sealed in self._records.values())
        likely = (r for r in records if (r.pinned or not pins) and (kinds is None or r.kind in kinds))
        return [record for record in likely if where.matches(record)]

    @reading
    def link(self, a: str, b: str, kind: str) -> Link | None:
        return self._links.get((a, kind, b))

    @reading
    def links_of(self, ids: Sequence[str], where: Where) -> list[Link]:
        links = [self._links[key] for key in dict.fromkeys(key for id in ids for key in self._links_at.get(id, ()))]
        seen = [link for link in links if self._seen(link.a, where) and self._seen(link.b, where)]
        return sorted(seen, key=lambda link: (self._number(link.a), link.kind, self._number(link.b)))

    @reading
    def linked(self, kind: str, where: Where, limit: int) -> list[Link]:
        links = [link for link in self._links.values() if link.kind == kind]
        seen = [link for link in links if self._seen(link.a, where) and self._seen(link.b, where)]
        ends = {link: (self._number(link.a), self._number(link.b)) for link in seen}
        return sorted(seen, key=lambda link: (max(ends[link]), *ends[link]), reverse=True)[:limit]

    def _seen(self, id: str, where: Where) -> bool:
        return where.matches(self._records[id].record)

    def _number(self, id: str) -> int:
        return self._records[id].record.number

    @reading
    def scopes(self, space: str) -> dict[str, int]:
        counts = dict.fromkeys(sorted(shelf.scope for shelf in self._shelves if shelf.space == space), 0)
        for sealed in self._records.values():
            if sealed.record.space == space and sealed.record.state == "active":
                counts[sealed.record.scope] += 1
        return counts

    @reading
    def seals(self) -> Iterator[Sealed]:
        return (replace(sealed, record=own(sealed.record)) for sealed in tuple(self._records.values()))

    @reading
    def twins(self, space: str, scope: str, fingerprints: Sequence[str]) -> list[Record]:
        ids = {id for fingerprint in fingerprints for id in self._by_fingerprint.get(fingerprint, ())}
        found = [own(self._records[id].record) for id in sorted(ids, key=self._number)]
        return [record for record in found if (record.space, record.scope) == (space, scope)]

    @reading
    def pasts(self, ids: Sequence[str]) -> list[Record]:
        wanted = set(ids)
        return [own(sealed.record) for sealed in self._records.values() if sealed.record.superseded_by in wanted]

    @reading
    def briefs(self, where: Where) -> Iterator[Brief]:
        vector = sum(generation.bytes + 8 for generation in self._generations.values())
        return iter([_brief(record, vector) for record in self._matching(where)])

    @reading
    def happened(self, space: str, verbs: Sequence[str], surface: str | None = None) -> int:
        done = [event for event in self._events.values() if event.verb in verbs and surface in (None, event.surface)]
        return sum(self._records[event.record].record.space == space for event in done)

    @reading
    def uses(self, space: str) -> int:
        records = (sealed.record for sealed in self._records.values())
        return sum(record.counters.used for record in records if record.space == space)

    @reading
    def size(self) -> Size:
        return Size(len(self._records), 0, 0, len(self._events), len(self._receipts))

    @reading
    def checkup(self) -> list[Finding]:
        seals = list(self._records.values())
        changed = [s.record.number for s in seals if _checksum(s) != s.checksum]
        sums = finding("checksums", changed, "every record fits its checksum", "records do not fit their checksum")
        return [sums, *self._index.checkup([sealed.record for sealed in seals]), self._vector_checkup()]

    @writing
    def repair(self) -> list[Finding]:
        wrong = [finding for finding in self.checkup() if not finding.ok]
        if not wrong:
            return [Finding(True, "repair", "there was nothing to repair")]
        if any(finding.check == "checksums" for finding in wrong):
            return [Finding(False, "repair", "nothing was changed: the damage is not in the index alone", REPORT)]
        self._index.rebuild([sealed.record for sealed in self._records.values()])
        self._drop_homeless()
        return [Finding(True, "repair", "the index was made anew from the records")]

    # ------------------------------------------------------------ writing

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
        self._keep(replace(sealed, record=record))
        return number

    def _keep(self, sealed: Sealed) -> None:
        """Puts a record with its number in its places. The counters stay those of the one it replaces."""
        record, old = sealed.record, self._records.get(sealed.record.id)
        if old:
            times = replace(record.times, used=old.record.times.used)
            record = replace(record, counters=old.record.counters, times=times)
            sealed = replace(sealed, record=record)
            self._undo.drop(self._by_fingerprint[old.record.fingerprint], record.id)
        self._put_in_place(record, old.record if old else None)
        self._undo.set(self._records, record.id, sealed)
        self._undo.set(self._ids, record.number, record.id)
        self._undo.set(self._by_fingerprint.setdefault(record.fingerprint, {}), record.id, None)
        self._undo.set(self._shelves, shelf_of(record), None)
        self._last_number = max(self._last_number, record.number)
        if self._words is not None:
            self._words.write(record)
        elif len(record.text) > CHUNKS:
            numbered_rows(record, record.number)  # refuses what could never be indexed

    def _next_number(self) -> int:
        self._last_number += 1
        return self._last_number

    @reading
    def counted(self, ids: Sequence[str]) -> list[Counted]:
        records = [self._records[id].record for id in dict.fromkeys(ids) if id in self._records]
        return [Counted(r.id, r.counters, r.times.used) for r in records if r.state != "erased"]

    @writing
    def count_up(self, counted: Sequence[Counted]) -> None:
        for each in counted:
            self._keep_counted(each)

    def _keep_counted(self, counted: Counted) -> None:
        sealed = self._records[counted.record]
        times = replace(sealed.record.times, used=counted.used)
        record = replace(sealed.record, counters=counted.counters, times=times)
        self._undo.set(self._records, counted.record, replace(sealed, record=record))

    @writing
    def write_links(self, links: Sequence[Link], removed: Sequence[Link]) -> None:
        for link in removed:
            self._drop_link(_key(link))
        for link in links:
            self._keep_link(link)

    def _keep_link(self, link: Link) -> None:
        for end in (link.a, link.b):
            if end not in self._records:
                raise KeyError(end)
            self._undo.set(self._links_at.setdefault(end, {}), _key(link), None)
        self._undo.set(self._links, _key(link), link)

    def _drop_link(self, key: tuple[str, str, str]) -> None:
        if key in self._links:
            self._undo.drop(self._links, key)
            for end in {key[0], key[2]}:
                self._undo.drop(self._links_at[end], key)

    @writing
    def erase(self, tombstones: Sequence[Sealed], resealed: Sequence[Sealed] = ()) -> Erased:
        ids, heads = ({sealed.record.id for sealed in some} for some in (tombstones, resealed))
        words = {term for id in ids for term in self._index.terms_of(id)}
        self.write([*tombstones, *resealed])
        self.count_up([Counted(id, Counters(), None) for id in ids])
        keys = {key for id in ids for key in self._links_at.get(id, ())}
        self.write_links([], [self._links[key] for key in keys])
        for key, use in tuple(self._key_uses.items()):
            if use.record in ids | heads:
                outcome = "erased" if use.record in ids else use.outcome
                self._undo.set(self._key_uses, key, replace(use, draft="", outcome=outcome))
        told = (seq for seq, e in self._events.items() if e.record in heads or _tells_of(e, ids))
        others = tuple(seq for seq in told if self._events[seq].record not in ids)
        for seq in (*others, *(seq for id in ids for seq in self._journals.get(id, ()))):
            self._undo.set(self._events, seq, replace(self._events[seq], before=None, because=None))
        spaces = {sealed.record.space for sealed in tombstones}
        gone = frozenset(word for word in words if not self._index.is_held(word, spaces))
        for run in tuple(self._runs.values()):
            if run.question is not None and tells(canonical(dict(run.question)), ids, gone):
                self._undo.set(self._runs, run.id, replace(run, state="withdrawn", question=None))
        kept = tuple(line for line in self._receipts if not _asks_for(line, ids, heads, gone))
        self._undo.note(functools.partial(setattr, self, "_receipts", self._receipts))
        self._receipts = kept
        return Erased(others, gone)

    # ------------------------------------------------------------ the whole

    @reading
    def scrub(self, traces: Sequence[bytes]) -> str | None:
        return None  # there is no file

    def tidy(self) -> bool:
        return False  # an index in RAM is never in pieces

    @reading
    def compact(self) -> None:
        return  # what nothing uses takes no space in RAM

    @reading
    def backup(self, path: Path) -> None:
        raise Refused("there is nothing to copy in RAM; name a file when you open the memory, then it can be copied")

    def close(self) -> None:
        with self._lock:
            self._closed = True


def _place(record: Record, field: str) -> tuple[bool, Any, int]:
    """Where a record stands in an order: a missing value is the smallest, ties go by number."""
    value = value_of(record, field)
    return value is not None, 0 if value is None else value, record.number


def _brief(record: Record, vector: int) -> Brief:
    row = dict(zip(COLUMNS, to_row(record), strict=True))
    content = sum(len((row[name] or "").encode()) for name in CONTENT)
    since = record.times.used or record.times.at
    touched = max(record.times.updated, record.times.used or record.times.updated)
    return Brief(
        record.id, record.number, footprint(content, vector), record.pinned, since, record.counters, record.scope,
        record.kind, record.status, record.trust, record.importance, record.confidence, touched,
    )  # fmt: skip


def _tells_of(event: Event, ids: Set[str]) -> bool:
    """Whether it is about a link to one of these."""
    return (event.before or {}).get("other") in ids


def _asks_for(line: Receipt, ids: Set[str], heads: Set[str], words: Set[str]) -> bool:
    """Whether it shows one of these, or asks with a word that only these held; or holds a text that may be one's past."""
    told = ids if line.rendered is None else ids | heads
    return any(id in told for id, _ in line.shown) or any(term in words for term in terms(line.query))


def _key(link: Link) -> tuple[str, str, str]:
    return link.a, link.kind, link.b


def _checksum(sealed: Sealed) -> bytes:
    return checksum(sealed.key, sealed.record.space, sealed.record.scope, to_row(sealed.record))
