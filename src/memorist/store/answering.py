"""What fits a question in an SQLite store: by words, by meaning, and what ranking needs to know of what was found.

A question is answered from one moment: what was found is still there when it is read.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import apsw

from memorist.errors import StoreDamaged
from memorist.kinds import ARCHIVE
from memorist.store.connection import one_moment, translated
from memorist.store.index import CHUNKS
from memorist.store.nouns import Fact, Generation, Match, Matches, Near, Piece, Shelf
from memorist.store.reading import FROM, SELECT, Reading
from memorist.store.scan import Visible, nearest
from memorist.store.sql import where_sql
from memorist.store.vector_cache import VectorCache
from memorist.store.where import Clause, Where, canonical
from memorist.store.word_index import WordIndex
from memorist.text import bm25
from memorist.text.vectors import direction

if TYPE_CHECKING:
    from memorist.store.protocol import Floats

AMONG = f"FROM json_each(?) j CROSS JOIN records r ON r.number = j.value {FROM.partition('FROM records r ')[2]}"
ON_SHELVES = "r.shelf IN (SELECT value FROM json_each(?))"
NEIGHBOUR = (  # nobody stands beside what belongs to no talk
    "CASE WHEN r.session IS NOT NULL THEN (SELECT {}(n.number) FROM records n"
    " WHERE n.session = r.session AND n.shelf = r.shelf AND n.number {} r.number) END"
)
FACTS = (
    "SELECT r.number, r.shelf, r.session, r.role, r.speaker, r.at, ifnull(c.up, 0),"
    f" {NEIGHBOUR.format('max', '<')}, {NEIGHBOUR.format('min', '>')} {AMONG}"
)
# Jumps from one speaker to the next: a shelf of a million turns has a handful of them.
SPEAKERS = (
    "WITH RECURSIVE next(speaker) AS (SELECT min(speaker) FROM records WHERE shelf = ?1 AND speaker IS NOT NULL"
    " UNION ALL SELECT (SELECT min(r.speaker) FROM records r WHERE r.shelf = ?1 AND r.speaker > next.speaker)"
    " FROM next WHERE next.speaker IS NOT NULL)"
    " SELECT speaker FROM next WHERE speaker IS NOT NULL LIMIT ?2"
)
INDEX_DAMAGED = (
    "the word index does not fit the records; it was left as it is. `memorist doctor --repair` makes it anew from them, "
    "`memorist backup --restore FILE` brings a backup back"
)


class Answering(Reading):
    """What fits a question; `SqliteStore` adds what changes a store."""

    _vector_cache: VectorCache

    # ------------------------------------------------------------ words

    @translated
    def match(self, terms: Sequence[str], shelves: Sequence[Shelf], where: Where, limit: int) -> Matches:
        with one_moment(self._connections.here()):  # else a row that was found may be gone when it is read
            best, yardstick = self._ranked(terms, shelves, where, limit)
            return Matches(tuple(self._matches(best)), yardstick.ceiling)

    @translated
    def match_numbers(self, terms: Sequence[str], shelves: Sequence[Shelf], where: Where, limit: int) -> bm25.Found:
        with one_moment(self._connections.here()):
            best, yardstick = self._ranked(terms, shelves, where, limit)
            return bm25.Found({number: each.score for number, each in best.items()}, yardstick)

    def _ranked(
        self, terms: Sequence[str], shelves: Sequence[Shelf], where: Where, limit: int
    ) -> tuple[dict[int, bm25.Scored], bm25.Yardstick]:
        """Records with their best rows, best first."""
        ids = self._readable_ids(shelves, where)
        if not ids or not terms:
            return {}, bm25.Yardstick()
        index = WordIndex(self._connections.here(), ids, where)
        try:
            scored, yardstick = bm25.rank(terms, index, max(bm25.POOL, 2 * limit))
        except (AttributeError, LookupError, TypeError, ValueError) as problem:  # rows of nobody, missing values
            raise StoreDamaged(INDEX_DAMAGED) from problem
        best: dict[int, bm25.Scored] = {}
        for each in scored:
            best.setdefault(each.row // CHUNKS, each)
        return {number: best[number] for number in index.best_and_voted(list(best), limit)}, yardstick

    def _matches(self, best: Mapping[int, bm25.Scored]) -> list[Match]:
        rows, numbers = canonical([each.row for each in best.values()]), canonical(list(best))
        sql = "SELECT id, start, end FROM words WHERE id IN (SELECT value FROM json_each(?))"
        places = {id: place for id, *place in self._connections.here().execute(sql, (rows,))}
        found = self._records(f"{SELECT} WHERE r.number IN (SELECT value FROM json_each(?))", (numbers,))
        records = {record.number: record for record in found}
        try:
            return [Match(records[number], each.score, each.terms, *places[each.row]) for number, each in best.items()]
        except (LookupError, TypeError) as problem:
            raise StoreDamaged(INDEX_DAMAGED) from problem

    @translated
    def score(self, yardstick: bm25.Yardstick, shelves: Sequence[Shelf], numbers: Sequence[int]) -> dict[int, float]:
        ids = list(self._shelves.ids(shelves).values())
        if not ids or not yardstick.weights or not numbers:
            return {}
        index = WordIndex(self._connections.here(), ids)
        try:
            return bm25.scores(yardstick, index, index.rows_of(numbers))
        except (AttributeError, LookupError, TypeError, ValueError) as problem:
            raise StoreDamaged(INDEX_DAMAGED) from problem

    def _readable_ids(self, shelves: Sequence[Shelf], where: Where) -> list[int]:
        access = where.access
        known = self._shelves.ids(shelves).items()
        return [id for shelf, id in known if shelf.space == access.space and access.may_read(shelf.scope)]

    # ------------------------------------------------------------ meaning

    @translated
    def nearest(
        self, generation: int, vector: "Floats", shelves: Sequence[Shelf], where: Where, limit: int, exact: bool = False
    ) -> Near:
        one = self._connections.here()
        with one_moment(one):
            known, ids = self.vector_rows.generation(generation), self._readable_ids(shelves, where)
            if known is None or known.state == "retired":
                return Near()
            question, visible = direction(vector, known.dimension), _seen_through(one, ids, shelves, where)
            with self._vector_cache.scans(one, self._shelves.now().schema, known, ids) as scans:
                return nearest(scans, question, limit, exact, visible)

    @translated
    def similarities(
        self, generation: int, vector: "Floats", shelves: Sequence[Shelf], numbers: Sequence[int]
    ) -> dict[int, float]:
        one = self._connections.here()
        with one_moment(one):
            known, ids = self.vector_rows.generation(generation), list(self._shelves.ids(shelves).values())
            if known is None or known.state == "retired":
                return {}
            question = direction(vector, known.dimension)
            with self._vector_cache.scans(one, self._shelves.now().schema, known, ids) as scans:
                parts = [scan.of(question, numbers) for scan in scans]
        best = {number: cosine for part in parts for number, cosine in part.items()}
        return {number: best[number] for number in numbers if number in best}

    @translated
    def directions(self, generation: int, shelves: Sequence[Shelf], numbers: Sequence[int]) -> dict[int, "Floats"]:
        one = self._connections.here()
        with one_moment(one):
            known, ids = self.vector_rows.generation(generation), list(self._shelves.ids(shelves).values())
            if known is None or known.state == "retired":
                return {}
            with self._vector_cache.scans(one, self._shelves.now().schema, known, ids) as scans:
                return {number: found for scan in scans for number, found in scan.directions(numbers).items()}

    # ------------------------------------------------------------ what ranking needs to know

    @translated
    def facts(self, numbers: Sequence[int], shelves: Sequence[Shelf], where: Where) -> list[Fact]:
        one, access = self._connections.here(), where.access
        condition, values = where_sql(where)
        with one_moment(one):  # else a shelf that was made meanwhile is not among those that are looked at
            places = {id: shelf for shelf, id in self._shelves.ids(shelves).items()}
            ids = [id for id, at in places.items() if at.space == access.space and access.may_read(at.scope)]
            sql = f"{FACTS} WHERE {ON_SHELVES} AND {condition}"
            found: list[Any] = one.execute(sql, (canonical(list(numbers)), canonical(ids), *values)).fetchall()
        return [
            Fact(number, places[shelf], session, role, speaker, at, up, before, after)
            for number, shelf, session, role, speaker, at, up, before, after in found
        ]

    @translated
    def speakers(self, shelves: Sequence[Shelf], most: int) -> list[str]:
        one = self._connections.here()
        ids = self._shelves.ids(shelves).values()
        return sorted({speaker for id in ids for (speaker,) in one.execute(SPEAKERS, (id, most))})[:most]

    # ------------------------------------------------------------ generations of vectors

    @translated
    def unembedded(self, generation: int, after: int, limit: int) -> list[Piece]:
        return self.vector_rows.unembedded(generation, after, limit)

    @translated
    def pieces(self, numbers: Sequence[int], generation: int) -> list[Piece]:
        return self.vector_rows.pieces(numbers, generation)

    @translated
    def add_generation(self, model: str, dimension: int) -> Generation:
        return self.vector_rows.add(model, dimension)

    @translated
    def set_generation(self, id: int, state: str) -> None:
        self.vector_rows.set_state(id, state)

    @translated
    def put_vectors(self, generation: int, vectors: Mapping[int, bytes]) -> None:
        self.vector_rows.put(generation, vectors)

    @translated
    def drop_vectors(self, generation: int, most: int) -> int:
        return self.vector_rows.drop(generation, most)


def _seen_through(one: apsw.Connection, ids: Sequence[int], shelves: Sequence[Shelf], where: Where) -> Visible | None:
    """Which of some records pass the filter; None where lying on these shelves says it already."""
    active = Clause("state", "eq", "active")
    archived = any(shelf.layer == ARCHIVE for shelf in shelves)
    clauses = tuple(clause for clause in where.clauses if archived or clause != active)
    if not clauses:
        return None
    condition, values = where_sql(Where(where.access, clauses))
    sql = f"SELECT r.number {AMONG} WHERE {ON_SHELVES} AND {condition}"

    def visible(numbers: Sequence[int]) -> set[int]:
        return {number for (number,) in one.execute(sql, (canonical(numbers), canonical(ids), *values))}

    return visible
