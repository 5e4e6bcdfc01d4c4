"""The FTS5 index of an SQLite store as BM25 sees it: some shelves, through a filter."""

import json
from collections.abc import Mapping, Sequence

import apsw

from memorist.store.index import CHUNKS
from memorist.store.sql import where_sql
from memorist.store.where import Where, canonical

JOINED = (
    f" JOIN records r ON r.number = w.id / {CHUNKS} JOIN shelves s ON s.id = r.shelf"
    " LEFT JOIN counters c ON c.record = r.number WHERE "
)
SIZES = "SELECT shelf, count(*) AS chunks, sum(length) AS length FROM words GROUP BY shelf"
PAGES_AT_ONCE = 64  # merged in one transaction: a few milliseconds
SHELVES_AT_ONCE = 16  # terms joined by OR in one look at the index


def merged(connection: apsw.Connection) -> bool:
    """Every transaction leaves a piece of its own in the index, and a question looks into all of them. Merges some; False if
    there was nothing to merge."""
    connection.execute("INSERT INTO word_index (word_index, rank) VALUES ('usermerge', 2)")
    before = connection.total_changes()
    connection.execute("INSERT INTO word_index (word_index, rank) VALUES ('merge', ?)", (PAGES_AT_ONCE,))
    return connection.total_changes() - before >= 2  # as FTS5 tells it


def rebuild(connection: apsw.Connection) -> None:
    """The index over all words, and the sizes of the shelves, whatever they were before."""
    connection.execute("INSERT INTO word_index (word_index) VALUES ('rebuild')")
    connection.execute("UPDATE shelves SET chunks = 0, length = 0")
    connection.execute(
        f"UPDATE shelves SET (chunks, length) = (w.chunks, w.length) FROM ({SIZES}) w WHERE w.shelf = shelves.id"
    )


class WordIndex:
    """The FTS5 index as BM25 sees it: these shelves, through this filter."""

    def __init__(self, connection: apsw.Connection, shelves: Sequence[int], where: Where | None = None) -> None:
        self._one = connection
        self._shelves = shelves
        condition, self._values = where_sql(where) if where else ("", [])
        self._contents = "SELECT w.id, w.prepared FROM json_each(?) j CROSS JOIN words w ON w.id = j.value"
        if where and where.clauses:
            self._contents += JOINED + condition

    def rows_and_length(self) -> tuple[int, int]:
        sql = "SELECT sum(chunks), sum(length) FROM shelves WHERE id IN (SELECT value FROM json_each(?))"
        rows, length = self._one.execute(sql, (canonical(self._shelves),)).get
        return rows, length

    def frequency(self, term: str) -> int:
        sql = "SELECT doc FROM word_frequency WHERE term = ?"
        return sum(self._one.execute(sql, (f"{shelf}·{term}",)).get or 0 for shelf in self._shelves)

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

    def best_and_voted(self, records: Sequence[int], limit: int) -> list[int]:
        """The first `limit` of these, and of the others those that helped before: votes may lift them into the answer."""
        others = records[limit:]
        sql = "SELECT record FROM counters WHERE up > 0 AND record IN (SELECT value FROM json_each(?))"
        voted = {record for (record,) in self._one.execute(sql, (canonical(others),))} if others else set()
        return [*records[:limit], *(record for record in others if record in voted)]
