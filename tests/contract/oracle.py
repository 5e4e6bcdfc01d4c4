"""A store as simple as it can be: a dictionary, `Where.matches`, `bm25.rank`. Slow, in RAM, and nothing but an answer to compare
others' answers with."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memorist.records import Record
from memorist.store.index import CHUNKS, IndexRow, numbered_rows
from memorist.store.nouns import Counted, Shelf, shelf_of
from memorist.store.where import Order, Where, value_of
from memorist.text import bm25


@dataclass
class Oracle:
    """Records by their ids. Numbers are handed out in the order of writing, and stay with an id."""

    records: dict[str, Record] = field(default_factory=dict)
    shelves: set[Shelf] = field(default_factory=set)  # on which anything ever lay

    @classmethod
    def of(cls, records: Iterable[Record]) -> "Oracle":
        """Records that a store numbered already."""
        known = {record.id: record for record in records}
        return cls(known, set(map(shelf_of, known.values())))

    def write(self, record: Record) -> Record:
        """Stores or replaces it; the counters stay those of the one it replaces."""
        old = self.records.get(record.id)
        number = old.number if old else len(self.records) + 1
        kept = replace(record, number=number)
        if old:
            kept = replace(kept, counters=old.counters, times=replace(kept.times, used=old.times.used))
        self.records[record.id] = kept
        self.shelves.add(shelf_of(kept))
        return kept

    def count_up(self, counted: Counted) -> None:
        old = self.records[counted.record]
        self.records[old.id] = replace(old, counters=counted.counters, times=replace(old.times, used=counted.used))

    # ------------------------------------------------------------ by filter

    def get(self, ids: Sequence[str], where: Where) -> list[Record]:
        return [self.records[id] for id in ids if id in self.records and where.matches(self.records[id])]

    def count(self, where: Where) -> dict[str, int]:
        return dict(sorted(Counter(record.scope for record in self.get(list(self.records), where)).items()))

    def find(self, where: Where, order: Order, limit: int) -> list[Record]:
        found = self.get(list(self.records), where)
        return sorted(found, key=lambda record: _place(record, order.field), reverse=not order.ascending)[:limit]

    # ------------------------------------------------------------ by words

    def match(
        self, terms: Sequence[str], shelves: Sequence[Shelf], where: Where, limit: int
    ) -> tuple[list[tuple[int, float]], float]:
        """The numbers and scores of the best `limit`, and of those with a vote among the others that were looked at; and the
        score that none can pass."""
        known = self.shelves.intersection(shelves)
        readable = {each for each in known if each.space == where.access.space and where.access.may_read(each.scope)}
        if not terms or not readable:
            return [], 0.0
        index = Index.of([each for each in self.records.values() if shelf_of(each) in readable], where)
        scored, yardstick = bm25.rank(terms, index, max(bm25.POOL, 2 * limit))
        best: dict[int, float] = {}
        for score, row in scored:
            best.setdefault(row // index.of_one, score)
        voted = {record.number for record in self.records.values() if record.counters.up}
        kept = [hit for place, hit in enumerate(best.items()) if place < limit or hit[0] in voted]
        return kept, yardstick.ceiling


@dataclass(frozen=True)
class Index:
    """`bm25.Index` over the rows of some records."""

    rows: Mapping[int, IndexRow]
    passes: Callable[[int], bool]
    of_one: int = CHUNKS

    @classmethod
    def of(cls, records: Sequence[Record], where: Where) -> "Index":
        rows = {id: row for record in records for id, row in numbered_rows(record, record.number).items()}
        visible = {record.number for record in records if where.matches(record)}
        return cls(rows, lambda row: row // CHUNKS in visible)

    def rows_and_length(self) -> tuple[int, int]:
        return len(self.rows), sum(len(row.terms) for row in self.rows.values())

    def frequency(self, term: str) -> int:
        return len(self.holding(term, len(self.rows)))

    def holding(self, term: str, most: int) -> list[int]:
        return sorted((id for id, row in self.rows.items() if term in row.terms), reverse=True)[:most]

    def contents(self, rows: Sequence[int]) -> dict[int, str]:
        return {row: self.rows[row].prepared for row in rows if self.passes(row)}


def _place(record: Record, key: str) -> tuple[bool, Any, int]:
    """Where a record stands in an order: a missing value is the smallest, ties go by number."""
    value = value_of(record, key)
    return value is not None, 0 if value is None else value, record.number
