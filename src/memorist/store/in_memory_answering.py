"""What fits a question in the store in RAM: by words, by meaning, and what ranking needs to know of what was found."""

import bisect
import functools
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING

from memorist.records import Record, to_micros
from memorist.store.in_memory_index import InMemoryIndex, View
from memorist.store.in_memory_ledger import reading
from memorist.store.in_memory_vectors import InMemoryVectors
from memorist.store.index import CHUNKS
from memorist.store.nouns import LOOKED_AT, Fact, Match, Matches, Near, Shelf, shelf_of
from memorist.store.scan import nearest
from memorist.store.topics import topics_of
from memorist.store.where import Where
from memorist.text import bm25
from memorist.text.vectors import direction

if TYPE_CHECKING:
    from memorist.store.protocol import Floats


class InMemoryAnswering(InMemoryVectors):
    """What fits a question; `InMemoryStore` adds what is remembered."""

    def _empty(self) -> None:
        super()._empty()
        self._words: InMemoryIndex | None = None
        self._topics: dict[int, dict[int, None]] | None = None
        self._shelves: dict[Shelf, None] = {}  # one that was used once stays
        self._in_session: dict[str, dict[int, None]] = {}
        self._spoken_by: dict[str, dict[int, None]] = {}

    @property
    def _index(self) -> InMemoryIndex:
        """Made when it is first asked: whoever only writes, or reads by id, does not wait for ten thousand texts."""
        if self._words is None:
            records = (sealed.record for sealed in self._records.values())
            self._words = InMemoryIndex(self._undo, self._shelves, records)
            if self._undo.under_way:
                self._undo.note(functools.partial(setattr, self, "_words", None))
        return self._words

    def _put_in_place(self, record: Record, old: Record | None) -> None:
        """A record that is written: its vectors go or come along, and its session and speaker know of it."""
        self._follow_record(record, old)
        self._state(record, old)
        for table, name in ((self._in_session, "session"), (self._spoken_by, "speaker")):
            was = getattr(old.provenance, name) if old else None
            now = getattr(record.provenance, name)
            if was is not None and was != now:
                self._undo.drop(table[was], record.number)
            if now is not None and was != now:
                self._undo.set(table.setdefault(now, {}), record.number, None)

    # ------------------------------------------------------------ words

    @reading
    def match(self, terms: Sequence[str], shelves: Sequence[Shelf], where: Where, limit: int) -> Matches:
        best, yardstick = self._ranked(terms, shelves, where, limit)
        return Matches(tuple(self._match(each) for each in best.values()), yardstick.ceiling)

    @reading
    def match_numbers(self, terms: Sequence[str], shelves: Sequence[Shelf], where: Where, limit: int) -> bm25.Found:
        best, yardstick = self._ranked(terms, shelves, where, limit)
        return bm25.Found({number: each.score for number, each in best.items()}, yardstick)

    def _ranked(
        self, terms: Sequence[str], shelves: Sequence[Shelf], where: Where, limit: int
    ) -> tuple[dict[int, bm25.Scored], bm25.Yardstick]:
        """Records with their best rows, best first."""
        asked = _readable(shelves, where)
        known = [shelf for shelf in self._index.sizes if shelf in asked]
        if not known or not terms:
            return {}, bm25.Yardstick()
        view = View(self._index, self._records, known, where)
        scored, yardstick = bm25.rank(terms, view, max(bm25.POOL, 2 * limit))
        best: dict[int, bm25.Scored] = {}
        for each in scored:
            best.setdefault(each.row // CHUNKS, each)
        wanted = [
            number
            for place, number in enumerate(best)
            if place < limit or self._records[self._ids[number]].record.counters.up
        ]
        return {number: best[number] for number in wanted}, yardstick

    def _match(self, scored: bm25.Scored) -> Match:
        row = self._index.rows[scored.row]
        return Match(own(self._records[row.record].record), scored.score, scored.terms, row.start, row.end)

    @reading
    def score(self, yardstick: bm25.Yardstick, shelves: Sequence[Shelf], numbers: Sequence[int]) -> dict[int, float]:
        index, asked = self._index, set(shelves)
        known = [shelf for shelf in index.sizes if shelf in asked]
        if not known or not yardstick.weights:
            return {}
        ids = [self._ids[number] for number in numbers if number in self._ids]
        rows = {number: row.prepared for id in ids for number, row in index.kept(id).items() if row.shelf in asked}
        return bm25.scores(yardstick, View(index, self._records, known), rows)

    # ------------------------------------------------------------ meaning

    @reading
    def nearest(
        self, generation: int, vector: "Floats", shelves: Sequence[Shelf], where: Where, limit: int, exact: bool = False
    ) -> Near:
        known = self._generations.get(generation)
        if known is None or known.state == "retired":
            return Near()
        question = direction(vector, known.dimension)
        scans = [self._scan(known, shelf) for shelf in self._shelves if shelf in _readable(shelves, where)]
        return nearest(scans, question, limit, exact, functools.partial(self._seen_of, where=where))

    def _seen_of(self, numbers: Sequence[int], where: Where) -> set[int]:
        return {number for number in numbers if where.matches(self._record(number))}

    @reading
    def similarities(
        self, generation: int, vector: "Floats", shelves: Sequence[Shelf], numbers: Sequence[int]
    ) -> dict[int, float]:
        known = self._generations.get(generation)
        if known is None or known.state == "retired":
            return {}
        question, asked = direction(vector, known.dimension), set(shelves)
        parts = [self._scan(known, shelf).of(question, numbers) for shelf in self._shelves if shelf in asked]
        best = {number: cosine for part in parts for number, cosine in part.items()}
        return {number: best[number] for number in numbers if number in best}

    @reading
    def directions(self, generation: int, shelves: Sequence[Shelf], numbers: Sequence[int]) -> dict[int, "Floats"]:
        known, asked = self._generations.get(generation), set(shelves)
        if known is None or known.state == "retired":
            return {}
        scans = [self._scan(known, shelf) for shelf in self._shelves if shelf in asked]
        return {number: found for scan in scans for number, found in scan.directions(numbers).items()}

    # ------------------------------------------------------------ what ranking needs to know

    @reading
    def numbered(self, numbers: Sequence[int], where: Where) -> list[Record]:
        records = [self._record(number) for number in numbers if number in self._ids]
        return [own(record) for record in records if where.matches(record)]

    @reading
    def facts(self, numbers: Sequence[int], shelves: Sequence[Shelf], where: Where) -> list[Fact]:
        asked = _readable(shelves, where)
        records = [self._record(number) for number in numbers if number in self._ids]
        seen = [record for record in records if shelf_of(record) in asked and where.matches(record)]
        sessions = {record.provenance.session for record in seen}
        talks = {session: sorted(self._in_session.get(session, ())) for session in sessions if session is not None}
        return [self._fact(record, talks) for record in seen]

    def _fact(self, record: Record, talks: Mapping[str, Sequence[int]]) -> Fact:
        said, shelf = record.provenance, shelf_of(record)
        talk = talks.get(said.session, ()) if said.session is not None else ()
        place = bisect.bisect_left(talk, record.number)
        before, after = self._first_on(shelf, reversed(talk[:place])), self._first_on(shelf, talk[place + 1 :])
        at, up = to_micros(record.times.at), record.counters.up
        return Fact(record.number, shelf, said.session, said.role, said.speaker, at, up, before, after)

    def _first_on(self, shelf: Shelf, numbers: Iterable[int]) -> int | None:
        return next((number for number in numbers if shelf_of(self._record(number)) == shelf), None)

    @reading
    def stating(self, topics: Sequence[int], shelf: Shelf, limit: int) -> list[Record]:
        numbers = {number for topic in topics for number in self._stated.get(topic, ())}
        found = [self._record(number) for number in sorted(numbers, reverse=True)[:LOOKED_AT]]
        return [own(record) for record in found if shelf_of(record) == shelf][:limit]

    @property
    def _stated(self) -> dict[int, dict[int, None]]:
        """Topics, and the records that state something about them; made when they are first asked for."""
        if self._topics is None:
            self._topics = {}
            for sealed in self._records.values():
                for topic in topics_of(sealed.record):
                    self._topics.setdefault(topic, {})[sealed.record.number] = None
            if self._undo.under_way:
                self._undo.note(functools.partial(setattr, self, "_topics", None))
        return self._topics

    def _state(self, record: Record, old: Record | None) -> None:
        """What a record that is written states now, and no longer."""
        if self._topics is None or (old is not None and old.text == record.text):
            return
        for topic in topics_of(old) if old else ():
            if record.number in self._topics.get(topic, ()):
                self._undo.drop(self._topics[topic], record.number)
        for topic in topics_of(record):
            self._undo.set(self._topics.setdefault(topic, {}), record.number, None)

    @reading
    def vocabulary(self, prefix: str, shelves: Sequence[Shelf], where: Where, limit: int) -> list[str]:
        found = {term for shelf in _readable(shelves, where) for term in self._index.beginning(shelf, prefix)}
        return sorted(found)[:limit]

    @reading
    def speakers(self, shelves: Sequence[Shelf], most: int) -> list[str]:
        asked = set(shelves)
        heard = (
            speaker
            for speaker, numbers in self._spoken_by.items()
            if any(shelf_of(self._record(number)) in asked for number in numbers)
        )
        return sorted(heard)[:most]


def own(record: Record) -> Record:
    """A copy that shares nothing a caller could change."""
    return replace(record, data=deepcopy(record.data))


def _readable(shelves: Sequence[Shelf], where: Where) -> set[Shelf]:
    access = where.access
    return {shelf for shelf in shelves if shelf.space == access.space and access.may_read(shelf.scope)}
