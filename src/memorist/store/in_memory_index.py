"""The word index of the store in RAM: an inverted dict per shelf, ranked by the same `bm25.rank` as SQLite's.

Rows have the same numbers in both, and among equal scores the larger number wins: so the order of the hits is the same,
not only their scores.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memorist.records import Record
from memorist.store.index import CHUNKS, numbered_rows
from memorist.store.nouns import Finding, Sealed, Shelf, shelf_of
from memorist.store.undo import Undo
from memorist.store.where import Where

REPORT = "this is a fault of memorist itself: please report it, and open the memory again"


@dataclass(frozen=True, slots=True)
class Row:
    """A chunk of a record's text, on its shelf."""

    record: str
    shelf: Shelf
    start: int
    end: int
    terms: tuple[str, ...]

    @property
    def prepared(self) -> str:
        return "".join(f" {term}" for term in self.terms)


class InMemoryIndex:
    def __init__(self, undo: Undo, shelves: Iterable[Shelf], records: Iterable[Record]) -> None:
        self._undo = undo
        self.rows: dict[int, Row] = {}
        self.sizes = dict.fromkeys(shelves, (0, 0))  # rows, terms in all rows; a shelf once made stays
        self._rows_of: dict[str, tuple[int, ...]] = {}
        self._holders: dict[Shelf, dict[str, dict[int, None]]] = {}
        for record in records:
            self._add(record)

    def _add(self, record: Record) -> None:
        """What `write` does, for a new index: there is nothing to take back yet."""
        rows = _rows(record)
        self._rows_of[record.id] = tuple(rows)
        for number, row in rows.items():
            self.rows[number] = row
            count, length = self.sizes[row.shelf]
            self.sizes[row.shelf] = count + 1, length + len(row.terms)
            terms = self._holders.setdefault(row.shelf, {})
            for term in set(row.terms):
                terms.setdefault(term, {})[number] = None

    def holding(self, shelf: Shelf, term: str) -> Mapping[int, None]:
        """The rows of that shelf that hold the term."""
        return self._holders.get(shelf, {}).get(term, {})

    def beginning(self, shelf: Shelf, prefix: str) -> set[str]:
        """The terms of that shelf that begin so."""
        return {term for term, rows in self._holders.get(shelf, {}).items() if rows and term.startswith(prefix)}

    def terms_of(self, id: str) -> set[str]:
        return {term for number in self._rows_of.get(id, ()) for term in self.rows[number].terms}

    def is_held(self, term: str, spaces: Collection[str]) -> bool:
        """Whether any record of these spaces is found by that term."""
        return any(term in terms for shelf, terms in self._holders.items() if shelf.space in spaces)

    def write(self, record: Record) -> None:
        """Replaces the record's rows, if they differ from those it has."""
        shelf = shelf_of(record)
        if shelf not in self.sizes:
            self._undo.set(self.sizes, shelf, (0, 0))
        rows = _rows(record)
        if self.kept(record.id) == rows:
            return
        for number in self._rows_of.get(record.id, ()):
            self._take_out(number)
        for number, row in rows.items():
            self._put_in(number, row)
        self._undo.set(self._rows_of, record.id, tuple(rows))

    def kept(self, id: str) -> dict[int, Row]:
        """The rows of a record."""
        return {number: self.rows[number] for number in self._rows_of.get(id, ())}

    def _put_in(self, number: int, row: Row) -> None:
        self._undo.set(self.rows, number, row)
        rows, length = self.sizes[row.shelf]
        self._undo.set(self.sizes, row.shelf, (rows + 1, length + len(row.terms)))
        terms = self._holders.setdefault(row.shelf, {})
        for term in set(row.terms):
            self._undo.set(terms.setdefault(term, {}), number, None)

    def _take_out(self, number: int) -> None:
        row = self.rows[number]
        self._undo.drop(self.rows, number)
        rows, length = self.sizes[row.shelf]
        self._undo.set(self.sizes, row.shelf, (rows - 1, length - len(row.terms)))
        terms = self._holders[row.shelf]
        for term in set(row.terms):
            self._undo.drop(terms[term], number)
            if not terms[term]:
                self._undo.drop(terms, term)

    def rebuild(self, records: Sequence[Record]) -> None:
        """From the records' texts alone. Shelves stay, as they do when their last record moves away."""
        tables: tuple[dict[Any, Any], ...] = (self.rows, self._rows_of, self._holders)
        for table in tables:
            for key in tuple(table):
                self._undo.drop(table, key)
        for shelf in self.sizes:
            self._undo.set(self.sizes, shelf, (0, 0))
        for record in records:
            self.write(record)

    def checkup(self, records: Sequence[Record]) -> list[Finding]:
        """Whether rows, inverted dicts and sizes are what the records' texts make them."""
        stale = [record.number for record in records if self.kept(record.id) != _rows(record)]
        held = {(row.shelf, term, number) for number, row in self.rows.items() for term in row.terms}
        found = {
            (shelf, term, number)
            for shelf, terms in self._holders.items()
            for term, numbers in terms.items()
            for number in numbers
        }
        counted: dict[Shelf, tuple[int, int]] = dict.fromkeys(self.sizes, (0, 0))
        for row in self.rows.values():
            rows, length = counted[row.shelf]
            counted[row.shelf] = rows + 1, length + len(row.terms)
        wrong = [shelf for shelf, size in self.sizes.items() if counted[shelf] != size]
        return [
            finding("words", stale, "every record's words are its text's", "records are indexed under other words"),
            finding("index", list(held ^ found), "the word index equals its content", "entries differ from the rows"),
            finding("shelves", wrong, "every shelf counts its words right", "shelves count their words wrong"),
        ]


@dataclass(frozen=True, slots=True)
class View:
    """The index as BM25 sees it: these shelves, through this filter."""

    index: InMemoryIndex
    records: Mapping[str, Sealed]
    shelves: Sequence[Shelf]
    where: Where | None = None

    def rows_and_length(self) -> tuple[int, int]:
        sizes = [self.index.sizes[shelf] for shelf in self.shelves]
        return sum(rows for rows, _ in sizes), sum(length for _, length in sizes)

    def frequency(self, term: str) -> int:
        return sum(len(self.index.holding(shelf, term)) for shelf in self.shelves)

    def holding(self, term: str, most: int) -> Sequence[int]:
        rows = [row for shelf in self.shelves for row in self.index.holding(shelf, term)]
        return sorted(rows, reverse=True)[:most]

    def record(self, row: int) -> int:
        return row // CHUNKS

    def contents(self, rows: Sequence[int]) -> Mapping[int, str]:
        wanted = {number: self.index.rows[number] for number in rows}
        return {n: row.prepared for n, row in wanted.items() if self._shows(row)}

    def _shows(self, row: Row) -> bool:
        return self.where is None or self.where.matches(self.records[row.record].record)


def finding(check: str, bad: Sequence[object], fine: str, wrong: str) -> Finding:
    return Finding(False, check, f"{len(bad)} {wrong}", REPORT) if bad else Finding(True, check, fine)


def _rows(record: Record) -> dict[int, Row]:
    shelf = shelf_of(record)
    rows = numbered_rows(record, record.number)
    return {number: Row(record.id, shelf, row.start, row.end, row.terms) for number, row in rows.items()}
