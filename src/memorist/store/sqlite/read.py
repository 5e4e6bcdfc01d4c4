"""Reading an SQLite store: records by id, by filter, by words; and what ranking needs to know about them.

Nothing is read that the access does not allow: the readable shelves are determined once from the `Access` and bound into every
query. Only names from the allow-list reach a statement, and every value is bound. Each indexed term is qualified with the
number of its shelf, so a query in a project of a thousand memories never pays for the million beside it. A search by words
happens at one moment, so what was found still exists when it is read.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType, NoneType
from typing import Any

import apsw

from memorist.errors import MemoristError, StoreDamaged
from memorist.kinds import ARCHIVE, LAYERS
from memorist.lazy import dataclass
from memorist.records import Counters, Link, Record, from_micros
from memorist.store.index import CHUNKS
from memorist.store.nouns import (
    COLUMNS,
    CONTENT,
    COUNTERS,
    LOOKED_AT,
    UNCOUNTED,
    Brief,
    Fact,
    Generation,
    Glimpse,
    Sealed,
    Shelf,
    footprint,
    from_row,
    layer_of,
    parts,
    to_row,
)
from memorist.store.sqlite.connection import (
    Connections,
    Shelves,
    View,
    among,
    explained,
    kept_or_read,
    misplaced,
    one_moment,
)
from memorist.store.sqlite.filters import NAMED_BY, Fragment, order_sql, where_sql
from memorist.store.where import Order, Where, canonical
from memorist.text import bm25

FROM = "FROM records r JOIN shelves s ON s.id = r.shelf LEFT JOIN counters c ON c.record = r.number"
SELECT = (
    f"SELECT r.number, s.space, s.named, s.home, {', '.join(f'r.{name}' for name in COLUMNS)},"
    f" {', '.join(f'c.{name}' for name in COUNTERS)}, c.last_used {FROM}"
)
SELECT_SEALED = SELECT.replace(FROM, f", r.key, r.checksum {FROM}")
LINKS = (
    "SELECT a.id, b.id, l.kind, l.weight, l.evidence FROM links l"
    " JOIN records a ON a.number = l.a JOIN records b ON b.number = l.b"
    " WHERE +a.shelf IN (SELECT value FROM json_each(?2)) AND +b.shelf IN (SELECT value FROM json_each(?2))"
    " AND ifnull(l.kind = ?3, 1)"
)
NAMING = {(field, op) for field in NAMED_BY for op in ("eq", "in")}
SELECTIVE = NAMING | {("session", "eq"), ("id", "gte")}  # these have an index better than the shelf's
GLIMPSES = "SELECT r.number, r.id, r.version, r.text, r.role, r.origin, r.trust, r.data"
GLIMPSED: tuple[set[type], ...] = ({int}, {str}, {int}, {str}, {str, NoneType}, {str}, {str}, {str, NoneType})
NO_DATA: Mapping[str, Any] = MappingProxyType({})
_glimpse: Callable[[tuple[Any, ...]], Glimpse] = partial(tuple.__new__, Glimpse)  # half the cost of `_make`
_fact: Callable[[tuple[Any, ...]], Fact] = partial(tuple.__new__, Fact)
ROWS_AT_ONCE = 500
BRIEFS_AT_ONCE = 5000

JOINED = (
    f" JOIN records r ON r.number = w.id / {CHUNKS} JOIN shelves s ON s.id = r.shelf"
    " LEFT JOIN counters c ON c.record = r.number WHERE "
)
SIZES = "SELECT shelf, count(*) AS chunks, sum(length) AS length FROM words GROUP BY shelf"
SHELVES_AT_ONCE = 16  # terms joined by OR in one index lookup
AMONG = f"FROM json_each(?) j CROSS JOIN records r ON r.number = j.value {FROM.partition('FROM records r ')[2]}"
ON_SHELVES = "r.shelf IN (SELECT value FROM json_each(?))"
NEIGHBOUR = (  # records outside of any session have no neighbours
    "CASE WHEN r.session IS NOT NULL THEN (SELECT {}(n.number) FROM records n"
    " WHERE n.session = r.session AND n.shelf = r.shelf AND n.number {} r.number) END"
)
FACTS = (
    "SELECT r.number, r.shelf, r.session, r.role, r.speaker, r.at, ifnull(c.up, 0),"
    f" {NEIGHBOUR.format('max', '<')}, {NEIGHBOUR.format('min', '>')}, r.kind {AMONG}"
)
FACT_TYPES: tuple[set[type], ...] = (
    {int}, {int}, {str, NoneType}, {str, NoneType}, {str, NoneType}, {int}, {int}, {int, NoneType}, {int, NoneType}, {str},
)  # fmt: skip
# Jumps from one speaker to the next: even a shelf of a million turns has only a handful.
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
EVERYTHING = {"state", "scope", "space"}  # a filter on these fields alone excludes nothing active
HELD = (  # the words of a record on each shelf that counts any
    f"SELECT s.id, (SELECT w.prepared FROM records r JOIN words w ON w.id >= r.number * {CHUNKS}"
    f" AND w.id < (r.number + 1) * {CHUNKS} WHERE r.shelf = s.id AND w.length > 0 LIMIT 1) FROM shelves s"
    " WHERE s.id IN (SELECT value FROM json_each(?)) AND s.length > 0"
)
VOCABULARY = "SELECT term FROM word_frequency WHERE term >= ?1 AND term < ?1 || char(1114111) LIMIT ?2"
BEGINNINGS_AT_MOST = 400  # cached, as are the following
TERMS_AT_MOST = 2000  # with their frequencies
WORDS_AT_MOST = 8000  # rows with their terms
FACTS_AT_MOST = 12_000
HELD_AT_MOST = 50_000  # rows known to hold a term
THERE = "SELECT count(*) FROM json_each(?) j CROSS JOIN words w ON w.id = j.value"
IS_INDEXED = "SELECT EXISTS (SELECT 1 FROM word_frequency WHERE term = ?)"
UNREADABLE = (AttributeError, LookupError, TypeError, ValueError)  # rows without a record, missing values

NO_SHELF = "[]"


def _has(where: Where, some: AbstractSet[tuple[str, str]]) -> bool:
    return any((clause.field, clause.op) in some for clause in where.clauses)


def _layers(where: Where) -> tuple[str, ...]:
    """The layers on which something can pass the filter: requested kinds lie on their own layer or in the archive."""
    layers: tuple[str, ...] = LAYERS
    for clause in where.clauses:
        if clause.field == "kind" and clause.op in ("eq", "in"):
            kinds = (clause.value,) if clause.op == "eq" else tuple(clause.value)
            own = {ARCHIVE, *(layer_of(kind, "active") for kind in kinds if isinstance(kind, str))}
            layers = tuple(layer for layer in layers if layer in own)
    return layers


# ---------------------------------------------------------------- words


class WordIndex:
    """The FTS5 index as BM25 needs it: for these shelves and this filter."""

    of_one = CHUNKS

    def __init__(
        self,
        connection: apsw.Connection,
        view: View,
        shelves: Sequence[int],
        sizes: Sequence[tuple[int, int, int]] = (),
        terms: Sequence[str] = (),
        where: Where | None = None,
    ) -> None:
        self._one = connection
        self._view = view
        self._shelves = shelves
        self._sizes = sizes
        self._frequencies = dict.fromkeys(terms, 0)
        if 0 < len(self._frequencies) <= bm25.MOST_TERMS and self.rows_and_length()[0] <= bm25.ENOUGH_ROWS:
            self._frequencies = {term: len(self.holding(term, bm25.MOST_ROWS)) for term in self._frequencies}
        else:
            written = [f"{shelf}·{term}" for shelf in shelves for term in self._frequencies]
            for term, rows in kept_or_read(view.frequencies, written, self._count, TERMS_AT_MOST).items():
                self._frequencies[term.partition("·")[2]] += rows
        condition, self._values = where_sql(where) if where else ("", [])
        self._contents = "SELECT w.id, w.prepared FROM json_each(?) j CROSS JOIN words w ON w.id = j.value"
        self._filtered = bool(where and where.clauses)
        if self._filtered:
            self._contents += JOINED + condition

    def _count(self, written: list[str]) -> dict[str, int]:
        sql = "SELECT j.value, f.doc FROM json_each(?) j CROSS JOIN word_frequency f ON f.term = j.value"
        return {**dict.fromkeys(written, 0), **dict(self._one.execute(sql, (canonical(written),)))}

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
        for some in parts(self._shelves, SHELVES_AT_ONCE):
            either = " OR ".join(f'"{shelf}·{term}"' for shelf in some)
            rows += self._found(sql, either, most)
        return rows if len(self._shelves) <= SHELVES_AT_ONCE else sorted(rows, reverse=True)[:most]

    def _found(self, sql: str, either: str, most: int) -> list[int]:
        kept, key = self._view.holding, (either, most)
        if key in kept:
            return kept[key]
        rows: list[int] = json.loads(self._one.execute(sql, key).get)
        self._view.held += len(rows) + 1
        if self._view.held > HELD_AT_MOST:
            self._view.held = 0
            kept.clear()
        else:
            kept[key] = rows
        return rows

    def contents(self, rows: Sequence[int]) -> Mapping[int, str]:
        return self._read(rows) if self._filtered else kept_or_read(self._view.words, rows, self._read, WORDS_AT_MOST)

    def _read(self, rows: Sequence[int]) -> dict[int, str]:
        found = dict(self._one.execute(self._contents, (canonical(rows), *self._values)))
        if len(found) < len(rows):  # a filter may exclude some, but all of them must exist
            left_out = [row for row in rows if row not in found]
            if self._one.execute(THERE, (canonical(left_out),)).get != len(left_out):
                raise LookupError("the index knows rows that are not there")
        return found

    def rows_of(self, records: Sequence[int]) -> Mapping[int, str]:
        kept = among(self._view.rows, canonical(self._shelves))
        found = kept_or_read(kept, records, self._rows_of, WORDS_AT_MOST)
        return {row: held for each in found.values() for row, held in each.items()}

    def _rows_of(self, records: Sequence[int]) -> dict[int, dict[int, str]]:
        sql = (
            f"SELECT w.id, w.prepared FROM json_each(?) j CROSS JOIN words w ON w.id >= j.value * {CHUNKS}"
            f" AND w.id < (j.value + 1) * {CHUNKS} WHERE w.shelf IN (SELECT value FROM json_each(?))"
        )
        found: dict[int, dict[int, str]] = {record: {} for record in records}
        for row, held in self._one.execute(sql, (canonical(records), canonical(self._shelves))):
            found[row // CHUNKS][row] = held
        return found

    def best(self, scored: Sequence[bm25.Scored], limit: int) -> dict[int, float]:
        """The best score of each of the first `limit` records, and of others with positive votes, since votes may lift them."""
        found: dict[int, float] = {}
        for score, row in scored:
            found.setdefault(row // CHUNKS, score)
        others = list(found)[limit:]
        sql = "SELECT record FROM counters WHERE up > 0 AND record IN (SELECT value FROM json_each(?))"
        voted = {record for (record,) in self._one.execute(sql, (canonical(others),))} if others else set()
        for record in others:
            if record not in voted:
                del found[record]
        return found


def _beginning(one: apsw.Connection, view: View, shelf: int, prefix: str, limit: int) -> list[str]:
    """The words of a shelf with this prefix, in order."""
    key = shelf, prefix, limit
    if key not in view.beginnings:
        if len(view.beginnings) >= BEGINNINGS_AT_MOST:
            view.beginnings.clear()
        begin = f"{shelf}·"
        words = one.execute(VOCABULARY, (begin + prefix, limit))
        view.beginnings[key] = sorted([term.removeprefix(begin) for (term,) in words])
    return view.beginnings[key]


def rebuild(connection: apsw.Connection) -> None:
    """Rebuilds the index over all words, and the sizes of the shelves."""
    connection.execute("INSERT INTO word_index (word_index) VALUES ('rebuild')")
    connection.execute("UPDATE shelves SET chunks = 0, length = 0")
    connection.execute(
        f"UPDATE shelves SET (chunks, length) = (w.chunks, w.length) FROM ({SIZES}) w WHERE w.shelf = shelves.id"
    )


def ascending(rows: list[Any], last: int) -> list[Any]:
    """The rows, after checking that their keys rise as requested. In a misplaced page they may not, and paging on from the
    last key would never end."""
    for row in rows:
        if type(row[0]) is not int or row[0] <= last:
            raise misplaced(f"a table goes on with {row[0]!r:.20} after {last}")
        last = row[0]
    return rows


def of_types(rows: Iterable[Any], *wanted: set[type]) -> list[Any]:
    """The rows, after checking that each value has its column's type: the schema is strict, but a misplaced page is not."""
    found = list(rows)
    for column, types in zip(zip(*found, strict=True), wanted, strict=bool(found)):
        if not types.issuperset(map(type, column)):
            raise misplaced("a column holds a value of another type")
    return found


@dataclass(frozen=True, slots=True)
class Sound:
    """Wraps reading what a store wrote: content that no sound store can hold is reported as damage, not as a mistake of the
    caller."""

    otherwise: str

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, problem: BaseException | None, __: object) -> None:
        if isinstance(problem, UNREADABLE) and not isinstance(problem, MemoristError):
            raise StoreDamaged(self.otherwise) from problem


SOUND = Sound(INDEX_DAMAGED)
SOUND_ROWS = Sound(str(misplaced("a row cannot be read")))


# ---------------------------------------------------------------- records and links


class Reader:
    """Reads records."""

    _connections: Connections
    _shelves: Shelves
    _sound_shelves: set[int]  # whose words were found when looked up

    @contextmanager
    def moment(self) -> Iterator[None]:
        try:
            with self._connections.moment(), self._shelves.moment():
                yield
        except apsw.Error as problem:  # another thread may have closed the store meanwhile
            raise explained(problem) from problem

    def _records(self, sql: str, values: Sequence[Any]) -> list[Record]:
        with self._connections as one:
            return [self._record(row) for row in one.execute(sql, values)]

    def _record(self, row: Sequence[Any]) -> Record:
        split = 4 + len(COLUMNS)
        try:
            return from_row(row[1], row[2], row[3], row[0], row[4:split], row[split:])
        except (ValueError, TypeError, LookupError, OverflowError) as problem:
            raise StoreDamaged(
                f"memory {row[0]} cannot be read ({problem}); it was left as it is. `memorist doctor` tells more, "
                "`memorist backup --restore FILE` brings a backup back"
            ) from problem

    def get(self, names: Sequence[str] | Sequence[int], where: Where) -> list[Record]:
        name = "number" if names and isinstance(names[0], int) else "id"
        condition, values = where_sql(where)
        sql = f"{SELECT} WHERE r.{name} IN (SELECT value FROM json_each(?)) AND +{ON_SHELVES} AND {condition}"
        with self._connections as one, one_moment(one):  # the readable shelves and what lies on them
            found = self._records(sql, (canonical(list(names)), self._readable(where), *values))
        visible = {getattr(record, name): record for record in found}
        return [visible[each] for each in names if each in visible]

    def _readable(self, where: Where) -> str:
        with self._connections as one:
            return self._shelves.readable(self._shelves.now(one), where.access, _layers(where))

    def find(self, where: Where, order: Order, limit: int | None = None) -> list[Record]:
        if _has(where, NAMING):  # so few that the shelves need not be looked up
            condition, values = where_sql(where)
            found = self._records(f"{SELECT} WHERE {condition} ORDER BY {order_sql(order)}", values)
            return [record for record in found if where.matches(record)][:limit]
        with self._connections as one, one_moment(one):
            if self._readable(where) == NO_SHELF:
                return []
            chosen, values = self._first(where, order) if limit == 1 else self._chosen(where, order, limit)
            # The order is determined on narrow rows; only the requested ones are read whole.
            sql = f"{SELECT} WHERE r.number IN ({chosen}) ORDER BY {order_sql(order)} LIMIT ?"
            found = self._records(sql, [*values, -1 if limit is None else limit])
            if not found and limit != 0:
                self._must_be_empty(one, where)
            return found

    def glimpses(self, where: Where) -> list[Glimpse]:
        with self._connections as one, one_moment(one):
            condition, values = self._condition(where)
            rows = self._rows(f"{GLIMPSES} {FROM} WHERE {condition} ORDER BY r.number", values)
        with SOUND_ROWS:
            sound = of_types(ascending(rows, 0), *GLIMPSED)
            return [_glimpse((*row[:7], json.loads(row[7]) if row[7] else NO_DATA)) for row in sound]

    def _chosen(self, where: Where, order: Order, limit: int | None) -> Fragment:
        condition, values = self._condition(where)
        sql = f"SELECT r.number {FROM} WHERE {condition} ORDER BY {order_sql(order)} LIMIT ?"
        return sql, [*values, -1 if limit is None else limit]

    def _first(self, where: Where, order: Order) -> Fragment:
        """The first record of each shelf, whose index is ordered by time, so that asking whether there is any reads one row
        instead of all."""
        if _has(where, SELECTIVE):
            return self._chosen(where, order, 1)
        condition, values = where_sql(where)
        one = f"SELECT r.number {FROM} WHERE r.shelf = j.value AND {condition} ORDER BY {order_sql(order)} LIMIT 1"
        return f"SELECT ({one}) FROM json_each(?) j", [*values, self._readable(where)]

    def count(self, where: Where) -> dict[str, int]:
        with self._connections as one, one_moment(one):
            condition, values = self._condition(where)
            sql = f"SELECT s.named, count(*) {FROM} WHERE {condition} GROUP BY s.named ORDER BY s.named"
            found = dict(one.execute(sql, values))
            if not found:
                self._must_be_empty(one, where)
            return found

    def _must_be_empty(self, one: apsw.Connection, where: Where) -> None:
        """If everything was requested and nothing found, the shelves must not count any words; otherwise a page of an index or
        table is misplaced. Each shelf is checked once."""
        if all(clause.field in EVERYTHING for clause in where.clauses):
            self._must_hold(one, json.loads(self._readable(where)))

    def _must_hold(self, one: apsw.Connection, shelves: Sequence[int]) -> None:
        unseen = [id for id in shelves if id not in self._sound_shelves]
        for id, words in one.execute(HELD, (canonical(unseen),)) if unseen else ():
            term = str(words or "").split(" ")[1:2]
            if not term or not one.execute(IS_INDEXED, (f"{id}·{term[0]}",)).get:
                raise StoreDamaged(INDEX_DAMAGED)
            self._sound_shelves.add(id)

    def _condition(self, where: Where) -> tuple[str, list[Any]]:
        condition, values = where_sql(where)
        hidden = "+" if _has(where, SELECTIVE) else ""  # a plus hides the shelf's index from the planner
        return f"{hidden}{ON_SHELVES} AND {condition}", [self._readable(where), *values]

    # ------------------------------------------------------------ links

    def links(
        self, where: Where, ids: Sequence[str] | None = None, kind: str | None = None, limit: int | None = None
    ) -> list[Link]:
        if ids is None:
            ends, order = "", "max(l.a, l.b) DESC, l.a DESC, l.b DESC"
        else:
            numbers = "(SELECT number FROM records WHERE id IN (SELECT value FROM json_each(?1)))"
            ends, order = f" AND (l.a IN {numbers} OR l.b IN {numbers})", "a.id, l.kind, b.id"
        sql = f"{LINKS}{ends} ORDER BY {order}"
        with self._connections as one, one_moment(one):
            if not one.execute("SELECT EXISTS (SELECT 1 FROM links)").get:  # as in most stores
                return []
            rows = one.execute(sql, (canonical(list(ids or ())), self._readable(where), kind))
            found = [Link(*row) for row in of_types(rows, {str}, {str}, {str}, {float}, {str, NoneType})]
            return self._seen_links(found, where)[:limit]

    def _seen_links(self, links: Sequence[Link], where: Where) -> list[Link]:
        """The links both of whose ends match."""
        if not where.clauses or not links:
            return list(links)
        seen = {record.id for record in self.get([end for link in links for end in (link.a, link.b)], where)}
        return [link for link in links if link.a in seen and link.b in seen]

    # ------------------------------------------------------------ for the engine itself

    def stating(self, topics: Sequence[int], shelf: Shelf, limit: int) -> list[Record]:
        chosen = f"SELECT record FROM topics WHERE topic IN (?{', ?' * (len(topics) - 1)}) ORDER BY record DESC LIMIT ?"
        with self._connections as one:
            numbers = [number for (number,) in one.execute(chosen, (*topics, LOOKED_AT))] if topics else []
        if not numbers:
            return []
        sql = (
            f"{SELECT} WHERE r.number IN (SELECT value FROM json_each(?)) AND +r.shelf ="
            " (SELECT id FROM shelves WHERE (space, scope, layer) = (?, ?, ?)) ORDER BY r.number DESC LIMIT ?"
        )
        return self._records(sql, (canonical(numbers), shelf.space, shelf.place, shelf.layer, limit))

    def seals(self, ids: Sequence[str] | None = None) -> Iterator[Sealed]:
        """Records with their seals, read at one moment: between two reads, others could write."""
        if ids is not None:
            sql = f"{SELECT_SEALED} WHERE r.id IN (SELECT value FROM json_each(?)) ORDER BY r.number"
            yield from map(self._sealed, self._rows(sql, (canonical(list(ids)),)))
            return
        sql, last = f"{SELECT_SEALED} WHERE r.number > ? ORDER BY r.number LIMIT ?", 0
        while rows := ascending(self._rows(sql, (last, ROWS_AT_ONCE)), last):
            yield from map(self._sealed, rows)
            last = rows[-1][0]

    def _sealed(self, row: Sequence[Any]) -> Sealed:
        record = self._record(row)
        return Sealed(record, to_row(record), *row[-2:])

    def _rows(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """Fetches all rows at once: a long open cursor would keep the log from being folded in."""
        with self._connections as one:
            return one.execute(sql, values).fetchall()

    def generations(self) -> list[Generation]:
        with self._connections as one:
            return list(self._shelves.generations(one))

    def briefs(self, where: Where) -> Iterator[Brief]:
        last, models = 0, self.generations()
        vector = {layer: sum(each.bytes + 8 for each in models if layer in each.layers) for layer in LAYERS}
        while rows := ascending(self._brief_rows(where, last), last):
            for row in rows:
                (number, id, bytes, pinned, at, created, updated, used, scope, kind, status, trust, importance, confidence,
                 home, layer, *counted) = row  # fmt: skip
                counters = Counters(*counted) if counted[0] is not None else UNCOUNTED
                since, touched = from_micros(used or at), from_micros(max(updated, used or updated))
                yield Brief(
                    id, number, footprint(bytes, vector.get(layer, 0)), bool(pinned), since, counters, scope, kind, status, trust,
                    importance, confidence, touched, from_micros(at), from_micros(created), home,
                )  # fmt: skip
            last = rows[-1][0]

    def _brief_rows(self, where: Where, last: int) -> list[Any]:
        content = " + ".join(f"ifnull(octet_length(r.{name}), 0)" for name in CONTENT)
        with self._connections as one, one_moment(one):
            condition, values = self._condition(where)
            sql = (
                f"SELECT r.number, r.id, {content}, r.pinned, r.at, r.created, r.updated, c.last_used,"
                f" s.named, r.kind, r.status, r.trust, r.importance, r.confidence, s.home, s.layer,"
                f" {', '.join(f'c.{name}' for name in COUNTERS)} {FROM}"
                f" WHERE r.number > ? AND {condition} ORDER BY r.number LIMIT ?"
            )
            return self._rows(sql, (last, *values, BRIEFS_AT_ONCE))

    # ------------------------------------------------------------ by words

    def match(self, terms: Sequence[str], shelves: Sequence[Shelf], where: Where, limit: int) -> bm25.Found:
        with self._connections as one, one_moment(one):  # otherwise a record may be gone between finding and reading it
            index = self._index(one, terms, shelves, where)
            if index is None:
                return bm25.Found()
            with SOUND:
                scored, yardstick = bm25.rank(terms, index, max(bm25.POOL, 2 * limit))
            if scored and scored[-1][0] == 0:
                raise StoreDamaged(INDEX_DAMAGED)
            if not scored:
                self._must_hold(one, self._shelves.now(one).readable(shelves, where.access))
            return bm25.Found(index.best(scored, limit), yardstick)

    def _index(
        self, one: apsw.Connection, terms: Sequence[str], shelves: Sequence[Shelf], where: Where
    ) -> WordIndex | None:
        view = self._shelves.now(one)
        ids = view.readable(shelves, where.access)
        return WordIndex(one, view, ids, self._shelves.sizes(one, view, ids), terms, where) if ids and terms else None

    def score(self, yardstick: bm25.Yardstick, shelves: Sequence[Shelf], numbers: Sequence[int]) -> dict[int, float]:
        if yardstick.holders is not None:  # the others need not be read
            numbers = [number for number in numbers if number in yardstick.holders]
        if not yardstick.weights or not numbers:
            return {}
        with self._connections as one, one_moment(one):
            view = self._shelves.now(one)
            index = WordIndex(one, view, view.ids(shelves))
            with SOUND:
                return bm25.scores(yardstick, index, index.rows_of(numbers))

    def vocabulary(self, prefix: str, shelves: Sequence[Shelf], where: Where, limit: int) -> list[str]:
        found = list[str]()
        with self._connections as one, one_moment(one):
            view = self._shelves.now(one)
            ids = view.readable(shelves, where.access)
            for id in ids:
                found += _beginning(one, view, id, prefix, limit)
        return found if len(ids) <= 1 else sorted(set(found))[:limit]

    # ------------------------------------------------------------ what ranking needs to know

    def facts(self, numbers: Sequence[int], shelves: Sequence[Shelf], where: Where) -> list[Fact]:
        condition, values = where_sql(where)
        sql = f"{FACTS} WHERE {ON_SHELVES} AND {condition}"
        with self._connections as one, one_moment(one):  # otherwise a new shelf may be missing among those read
            view = self._shelves.now(one)
            through = canonical(view.readable(shelves, where.access)), *values

            def read(some: Sequence[int]) -> dict[int, Fact | None]:
                rows = of_types(one.execute(sql, (canonical(some), *through)), *FACT_TYPES)
                return {**dict.fromkeys(some), **{row[0]: _fact((row[0], known[row[1]], *row[2:])) for row in rows}}

            known, kept = view.seen.shelves, among(view.facts, (sql, *through))
            found = kept_or_read(kept, numbers, read, FACTS_AT_MOST)
        return [fact for fact in found.values() if fact is not None]

    def speakers(self, shelves: Sequence[Shelf], most: int) -> list[str]:
        found = set[str]()
        with self._connections as one, one_moment(one):
            view = self._shelves.now(one)
            for id in view.ids(shelves):
                if (id, most) not in view.speakers:
                    rows = of_types(one.execute(SPEAKERS, (id, most)), {str})
                    view.speakers[id, most] = [speaker for (speaker,) in rows]
                found.update(view.speakers[id, most])
        return sorted(found)[:most]
