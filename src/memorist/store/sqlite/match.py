"""What fits a question in an SQLite store by its words, and what ranking needs to know of what was found.

Each indexed term is qualified with the number of its shelf, so a question in a project of a thousand memories never pays for
the million beside it. A question is answered from one moment: what was found is still there when it is read.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import apsw

from memorist.errors import StoreDamaged
from memorist.store.index import CHUNKS
from memorist.store.nouns import Fact, Shelf
from memorist.store.sqlite.connection import Connections, one_moment
from memorist.store.sqlite.read import FROM, RecordReader, Shelves, where_sql
from memorist.store.where import Where, canonical
from memorist.text import bm25

JOINED = (
    f" JOIN records r ON r.number = w.id / {CHUNKS} JOIN shelves s ON s.id = r.shelf"
    " LEFT JOIN counters c ON c.record = r.number WHERE "
)
SIZES = "SELECT shelf, count(*) AS chunks, sum(length) AS length FROM words GROUP BY shelf"
SHELVES_AT_ONCE = 16  # terms joined by OR in one look at the index
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
    "the word index contradicts the records; it was left as it is. `memorist doctor --repair` rebuilds it from them, "
    "`memorist backup --restore FILE` brings a backup back"
)
UNREADABLE = (AttributeError, LookupError, TypeError, ValueError)  # rows of nobody, missing values


class WordIndex:
    """The FTS5 index as BM25 sees it: these shelves, through this filter."""

    def __init__(
        self,
        connection: apsw.Connection,
        shelves: Sequence[int],
        sizes: Sequence[tuple[int, int, int]] = (),
        terms: Sequence[str] = (),
        where: Where | None = None,
    ) -> None:
        self._one = connection
        self._shelves = shelves
        self._sizes = sizes
        self._frequencies = dict.fromkeys(terms, 0)
        if terms:
            sql = "SELECT j.value, f.doc FROM json_each(?) j CROSS JOIN word_frequency f ON f.term = j.value"
            written = canonical([f"{shelf}·{term}" for shelf in shelves for term in self._frequencies])
            for term, rows in connection.execute(sql, (written,)):
                self._frequencies[term.partition("·")[2]] += rows
        condition, self._values = where_sql(where) if where else ("", [])
        self._contents = "SELECT w.id, w.prepared FROM json_each(?) j CROSS JOIN words w ON w.id = j.value"
        if where and where.clauses:
            self._contents += JOINED + condition

    def rows_and_length(self) -> tuple[int, int]:
        return sum(rows for rows, _, _ in self._sizes), sum(length for _, length, _ in self._sizes)

    def frequency(self, term: str) -> int:
        return self._frequencies[term]

    def holding(self, term: str, most: int) -> Sequence[int]:
        # One JSON array instead of one Python row per hit: a third of the cost.
        sql = (
            "SELECT json_group_array(rowid) FROM"
            " (SELECT rowid FROM word_index WHERE word_index MATCH ? ORDER BY rowid DESC LIMIT ?)"
        )
        rows: list[int] = []
        for start in range(0, len(self._shelves), SHELVES_AT_ONCE):
            some = self._shelves[start : start + SHELVES_AT_ONCE]
            either = " OR ".join(f'"{shelf}·{term}"' for shelf in some)
            rows += json.loads(self._one.execute(sql, (either, most)).get)
        return rows if len(self._shelves) <= SHELVES_AT_ONCE else sorted(rows, reverse=True)[:most]

    def record(self, row: int) -> int:
        return row // CHUNKS

    def contents(self, rows: Sequence[int]) -> Mapping[int, str]:
        return dict(self._one.execute(self._contents, (canonical(rows), *self._values)))

    def rows_of(self, records: Sequence[int]) -> Mapping[int, str]:
        """The terms of these records' rows on these shelves."""
        sql = (
            f"SELECT w.id, w.prepared FROM json_each(?) j CROSS JOIN words w ON w.id >= j.value * {CHUNKS}"
            f" AND w.id < (j.value + 1) * {CHUNKS} WHERE w.shelf IN (SELECT value FROM json_each(?))"
        )
        return dict(self._one.execute(sql, (canonical(list(records)), canonical(list(self._shelves)))))

    def best(self, scored: Sequence[bm25.Scored], limit: int) -> dict[int, float]:
        """The best score of each of the first `limit` records, and of others that helped before: votes may lift them."""
        found: dict[int, float] = {}
        for row, score in scored:
            found.setdefault(row // CHUNKS, score)
        others = list(found)[limit:]
        sql = "SELECT record FROM counters WHERE up > 0 AND record IN (SELECT value FROM json_each(?))"
        voted = {record for (record,) in self._one.execute(sql, (canonical(others),))} if others else set()
        for record in others:
            if record not in voted:
                del found[record]
        return found


def rebuild(connection: apsw.Connection) -> None:
    """The index over all words, and the sizes of the shelves, whatever they were before."""
    connection.execute("INSERT INTO word_index (word_index) VALUES ('rebuild')")
    connection.execute("UPDATE shelves SET chunks = 0, length = 0")
    connection.execute(
        f"UPDATE shelves SET (chunks, length) = (w.chunks, w.length) FROM ({SIZES}) w WHERE w.shelf = shelves.id"
    )


class _Sound:
    """Around what reads the index: what no sound index can hold is damage, and no mistake of the caller."""

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, problem: BaseException | None, __: object) -> None:
        if isinstance(problem, UNREADABLE):
            raise StoreDamaged(INDEX_DAMAGED) from problem


SOUND = _Sound()


class WordMatcher(RecordReader):
    """What fits a question by its words."""

    _connections: Connections
    _shelves: Shelves

    def match(self, terms: Sequence[str], shelves: Sequence[Shelf], where: Where, limit: int) -> bm25.Found:
        with self._connections as one, one_moment(one):  # else a row that was found may be gone when it is read
            index = self._index(one, terms, shelves, where)
            if index is None:
                return bm25.Found()
            with SOUND:
                scored, yardstick = bm25.rank(terms, index, max(bm25.POOL, 2 * limit))
            return bm25.Found(index.best(scored, limit), yardstick)

    def _index(
        self, one: apsw.Connection, terms: Sequence[str], shelves: Sequence[Shelf], where: Where
    ) -> WordIndex | None:
        view = self._shelves.now(one)
        ids = view.readable(shelves, where.access)
        return WordIndex(one, ids, self._shelves.sizes(one, view, ids), terms, where) if ids and terms else None

    def score(self, yardstick: bm25.Yardstick, shelves: Sequence[Shelf], numbers: Sequence[int]) -> dict[int, float]:
        if not yardstick.weights or not numbers:
            return {}
        with self._connections as one:
            index = WordIndex(one, self._shelves.now(one).ids(shelves))
            with SOUND:
                return bm25.scores(yardstick, index, index.rows_of(numbers))

    def vocabulary(self, prefix: str, shelves: Sequence[Shelf], where: Where, limit: int) -> list[str]:
        sql = "SELECT term FROM word_frequency WHERE term >= ?1 AND term < ?1 || char(1114111) LIMIT ?2"
        found = set[str]()
        with self._connections as one:
            for id in self._shelves.now(one).readable(shelves, where.access):
                found |= {term.partition("·")[2] for (term,) in one.execute(sql, (f"{id}·{prefix}", limit))}
        return sorted(found)[:limit]

    # ------------------------------------------------------------ what ranking needs to know

    def facts(self, numbers: Sequence[int], shelves: Sequence[Shelf], where: Where) -> list[Fact]:
        condition, values = where_sql(where)
        sql = f"{FACTS} WHERE {ON_SHELVES} AND {condition}"
        with self._connections as one, one_moment(one):  # else a shelf made meanwhile is not among those looked at
            view = self._shelves.now(one)
            ids = view.readable(shelves, where.access)
            found: list[Any] = one.execute(sql, (canonical(list(numbers)), canonical(ids), *values)).fetchall()
        return [Fact(number, view.seen.shelves[shelf], *rest) for number, shelf, *rest in found]

    def speakers(self, shelves: Sequence[Shelf], most: int) -> list[str]:
        found = set[str]()
        with self._connections as one:
            for id in self._shelves.now(one).ids(shelves):
                found |= {speaker for (speaker,) in one.execute(SPEAKERS, (id, most))}
        return sorted(found)[:most]
