"""Reading an SQLite store: which shelves may be read, a `Where` as SQL, and records by id, by filter, by who belongs to whom.

Nothing is read that the access does not allow: readable shelves are worked out once from the `Access` and bound into every
query. Only names from the allow-list reach a statement, and every value is bound.
"""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import apsw

from memorist.access import Access
from memorist.errors import StoreDamaged
from memorist.records import Counters, Link, Record, from_micros, to_micros
from memorist.store.nouns import LOOKED_AT, Brief, Generation, Sealed, Shelf, footprint
from memorist.store.rows import COLUMNS, CONTENT, COUNTERS, from_row, to_row
from memorist.store.sqlite.connection import Connections, explained
from memorist.store.where import Clause, Order, Where, canonical, class_of, type_of

FROM = "FROM records r JOIN shelves s ON s.id = r.shelf LEFT JOIN counters c ON c.record = r.number"
SELECT = (
    f"SELECT r.number, s.space, s.scope, {', '.join(f'r.{name}' for name in COLUMNS)},"
    f" {', '.join(f'c.{name}' for name in COUNTERS)}, c.last_used {FROM}"
)
SELECT_SEALED = SELECT.replace(FROM, f", r.key, r.checksum {FROM}")
LINKS = (
    "SELECT a.id, b.id, l.kind, l.weight, l.evidence FROM links l"
    " JOIN records a ON a.number = l.a JOIN records b ON b.number = l.b"
    " WHERE +a.shelf IN (SELECT value FROM json_each(?2)) AND +b.shelf IN (SELECT value FROM json_each(?2))"
    " AND ifnull(l.kind = ?3, 1)"
)
READABLE = "{}r.shelf IN (SELECT value FROM json_each(?))"
NAMED_BY = {"id", "number", "fingerprint", "superseded_by"}  # fields that name few records, and have an index
NAMING = {(field, op) for field in NAMED_BY for op in ("eq", "in")}
SELECTIVE = NAMING | {("session", "eq"), ("id", "gte")}  # what has an index better than the shelf's
ROWS_AT_ONCE = 500
BRIEFS_AT_ONCE = 5000
LISTS_AT_MOST = 100  # of readable shelves that are remembered

Fragment = tuple[str, list[Any]]
NEVER: Fragment = ("0", [])
ALWAYS: Fragment = ("1", [])
COMPARE = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
ALWAYS_SHOWN = ("convention", "summary", "narrative")  # kinds that are looked up for every prompt, and are few
COUNTER_FIELDS = {"up", "down", "used", "surfaced", "rejected", "strength"}
JSON_TYPES = {
    "number": "'integer','real'",
    "text": "'text'",
    "bool": "'true','false'",
    "list": "'array'",
    "dict": "'object'",
}


# ---------------------------------------------------------------- what one connection sees


@dataclass(frozen=True, slots=True)
class Seen:
    """The shelves that were seen committed while the schema had this version."""

    schema: int | None = None
    newest: int = 0
    shelves: Mapping[int, Shelf] = field(default_factory=dict)
    ids: Mapping[Shelf, int] = field(default_factory=dict)


@dataclass(slots=True)
class View:
    """What a connection sees at one moment, as far as it was asked: no table is read twice for one question."""

    seen: Seen
    sizes: dict[int, tuple[int, int, int]] = field(default_factory=dict)  # of shelves: rows, terms, changes of vectors
    generations: list[Generation] = field(default_factory=list)

    def readable(self, shelves: Sequence[Shelf], access: Access) -> list[int]:
        """The numbers of those of these shelves that exist and may be read."""
        here = (shelf for shelf in shelves if shelf.space == access.space and access.may_read(shelf.scope))
        return [self.seen.ids[shelf] for shelf in here if shelf in self.seen.ids]

    def ids(self, shelves: Sequence[Shelf]) -> list[int]:
        return [self.seen.ids[shelf] for shelf in shelves if shelf in self.seen.ids]


class _Here(threading.local):
    """What this thread saw in the moment that it reads."""

    view: View | None = None
    reading = False


class Shelves:
    """Which shelf has which number.

    Shelves are only ever added, so what was once seen committed stays true and is kept. What is seen inside a transaction that
    writes is not kept: if it is rolled back, the number may be given to another scope, and a stale entry would show one
    project's memories to another. For the same reason everything is forgotten when the file's content was replaced by a
    backup, which SQLite tells by the version of the schema. What is seen is one value: other threads may be reading it.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._seen = Seen()
        self._lists: dict[tuple[object, ...], str] = {}
        self._here = _Here()

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Around what reads one moment: one look serves all of it, until this thread writes."""
        if self._here.reading:
            yield
            return
        self._here.reading = True
        try:
            yield
        finally:
            self._here.view, self._here.reading = None, False

    def look_anew(self) -> None:
        """This thread writes: whatever becomes of it, what comes after it is looked at again."""
        self._here.view = None

    def now(self, one: apsw.Connection) -> View:
        """What this thread can see now."""
        kept = self._kept(one)
        if kept is not None:
            return kept
        schema: int = one.execute("PRAGMA schema_version").get
        seen = self._seen
        if schema != seen.schema:
            seen = self._seen = Seen(schema)
        rows = one.execute("SELECT id, space, scope, layer FROM shelves WHERE id > ?", (seen.newest,))
        fresh = {id: Shelf(*names) for id, *names in rows}
        state = one.txn_state("main")
        if fresh:
            shelves = {**seen.shelves, **fresh}
            seen = Seen(schema, max(shelves), shelves, {shelf: id for id, shelf in shelves.items()})
            if state != apsw.SQLITE_TXN_WRITE:
                self._seen = seen
        view = View(seen)
        if self._here.reading and state == apsw.SQLITE_TXN_READ:
            self._here.view = view
        return view

    def _kept(self, one: apsw.Connection) -> View | None:
        """What was seen in the moment that this thread still reads."""
        view = self._here.view
        return view if view is not None and one.txn_state("main") == apsw.SQLITE_TXN_READ else None

    def sizes(self, one: apsw.Connection, view: View, ids: Sequence[int]) -> list[tuple[int, int, int]]:
        """Of each of these shelves its rows, the terms in them, and how often its vectors changed."""
        if any(id not in view.sizes for id in ids):
            sql = "SELECT id, chunks, length, vectors FROM shelves WHERE id IN (SELECT value FROM json_each(?))"
            for id, *size in one.execute(sql, (canonical(ids),)):
                view.sizes[id] = tuple(size)
        return [view.sizes.get(id, (0, 0, 0)) for id in ids]

    def generations(self, one: apsw.Connection) -> list[Generation]:
        kept = self._kept(one)
        if kept is not None and kept.generations:
            return kept.generations
        sql = "SELECT id, model, dimension, state FROM generations ORDER BY id"
        found = [Generation(*row) for row in one.execute(sql)]
        if kept is not None:
            kept.generations = found
        return found

    def generation(self, one: apsw.Connection, id: int) -> Generation | None:
        return next((each for each in self.generations(one) if each.id == id), None)

    def all(self) -> Mapping[int, Shelf]:
        return self.now(self._connections.here()).seen.shelves

    def id_of(self, one: apsw.Connection, shelf: Shelf) -> int:
        """The shelf's number; a missing shelf is made. Only inside a transaction."""
        schema, seen = one.execute("PRAGMA schema_version").get, self._seen
        if schema == seen.schema and shelf in seen.ids:
            return seen.ids[shelf]
        names = (shelf.space, shelf.scope, shelf.layer)
        found: int | None = one.execute("SELECT id FROM shelves WHERE (space, scope, layer) = (?, ?, ?)", names).get
        if found is None:
            one.execute("INSERT INTO shelves (space, scope, layer) VALUES (?, ?, ?)", names)
            found = one.last_insert_rowid()
        return found

    def readable(self, view: View, access: Access) -> str:
        """The numbers of all shelves this access may read, as JSON to bind."""
        seen = view.seen
        if seen is not self._seen:  # inside a transaction that added some: not to be kept
            return _readable(seen.shelves, access)
        key = (access.space, access.reads, seen.schema, len(seen.shelves))
        found = self._lists.get(key)
        if found is None:
            found = _readable(seen.shelves, access)
            self._lists = {**self._lists, key: found} if len(self._lists) < LISTS_AT_MOST else {key: found}
        return found


def _readable(shelves: Mapping[int, Shelf], access: Access) -> str:
    return json.dumps([id for id, s in shelves.items() if s.space == access.space and access.may_read(s.scope)])


# ---------------------------------------------------------------- a filter as SQL: must mean what `Where.matches` means


def where_sql(where: Where) -> Fragment:
    """The clauses as one condition over `r` (records), `c` (counters, may be absent) and `s` (shelves)."""
    parts = [_clause(clause) for clause in where.clauses]
    condition = " AND ".join(f"({sql})" for sql, _ in parts) or "1"
    return condition, [value for _, values in parts for value in values]


def order_sql(order: Order) -> str:
    way = "ASC" if order.ascending else "DESC"
    return f"{column(order.field)} {way}, r.number {way}"


def column(field: str) -> str:
    """The SQL expression of an allow-listed field."""
    if field in COUNTER_FIELDS:
        return f"ifnull(c.{field}, 0)"
    return {"scope": "s.scope", "last_used": "c.last_used"}.get(field, f"r.{field}")


def _clause(clause: Clause) -> Fragment:
    kind = type_of(clause.field)
    if clause.op == "ne":
        sql, values = _clause(Clause(clause.field, "eq", clause.value))
        return f"NOT ({sql})", values
    if clause.op == "in" and clause.field in NAMED_BY and all(_is_plain(each, kind) for each in clause.value):
        return f"{column(clause.field)} IN (SELECT value FROM json_each(?))", [canonical(clause.value)]
    if clause.op == "in":
        return _either([Clause(clause.field, "eq", each) for each in clause.value])
    if kind == "any":
        return _data(clause)
    if kind == "list":
        return _list(clause)
    return _plain(clause, kind)


def _is_plain(value: Any, kind: str) -> bool:
    """Whether JSON hands it over as it is: a text would end at its first NUL."""
    return class_of(value) == kind and "\0" not in str(value)


def _either(clauses: list[Clause]) -> Fragment:
    parts = [_clause(clause) for clause in clauses] or [NEVER]
    return " OR ".join(f"({sql})" for sql, _ in parts), [value for _, values in parts for value in values]


def _plain(clause: Clause, kind: str) -> Fragment:
    value, expression = clause.value, column(clause.field)
    if clause.op == "eq" and value is None:
        return f"{expression} IS NULL", []
    if clause.op == "any" or class_of(value) != kind:
        return NEVER
    if clause.op == "eq" and kind == "bool":
        return f"{expression} = {int(value)}", []  # written out, so that the index of what is pinned can be used
    if clause.op == "eq" and clause.field == "kind" and value in ALWAYS_SHOWN:
        return f"{expression} = '{value}'", []  # for their index as well
    if clause.op == "eq":
        return f"{expression} IS ?", [_bound(value)]
    if clause.op == "ends":
        return f"substr({expression}, -?) = ?", [len(value), value]
    if clause.field in NAMED_BY:  # what is missing is no answer either way, and this can use their index
        return f"{expression} {COMPARE[clause.op]} ?", [_bound(value)]
    return f"ifnull({expression} {COMPARE[clause.op]} ?, 0)", [_bound(value)]


def _list(clause: Clause) -> Fragment:
    if clause.op == "eq":
        if class_of(clause.value) != "list":
            return NEVER
        return f"ifnull({column(clause.field)}, '[]') = ?", [canonical(clause.value)]
    if clause.op != "any":
        return NEVER
    wanted = [value for value in clause.value if isinstance(value, str)]
    sql = f"EXISTS (SELECT 1 FROM json_each({column(clause.field)}) WHERE value IN (SELECT value FROM json_each(?)))"
    return sql, [canonical(wanted)]


def _data(clause: Clause) -> Fragment:
    key, value = clause.field[5:], clause.value
    if clause.op == "any":
        return _data_any(key, value)
    if value is None:
        held = "EXISTS (SELECT 1 FROM json_each(r.data) j WHERE j.key = ? AND j.type <> 'null')"
        return (f"NOT {held}", [key]) if clause.op == "eq" else NEVER
    sort = class_of(value)
    if sort not in JSON_TYPES or (clause.op != "eq" and sort in ("list", "dict")):
        return NEVER
    compare = "=" if clause.op == "eq" else COMPARE[clause.op]
    sql = (
        "EXISTS (SELECT 1 FROM json_each(r.data) j"
        f" WHERE j.key = ? AND j.type IN ({JSON_TYPES[sort]}) AND j.value {compare} ?)"
    )
    return sql, [key, canonical(value) if sort in ("list", "dict") else _bound(value)]


def _data_any(key: str, wanted: tuple[Any, ...]) -> Fragment:
    parts: list[str] = []
    values: list[Any] = [key]
    for value in wanted:
        sort = class_of(value)
        if sort == "none":
            parts.append("v.type = 'null'")
        elif sort in JSON_TYPES:
            parts.append(f"(v.type IN ({JSON_TYPES[sort]}) AND v.value = ?)")
            values.append(canonical(value) if sort in ("list", "dict") else _bound(value))
    sql = (
        "EXISTS (SELECT 1 FROM json_each(r.data) j,"
        " json_each(CASE j.type WHEN 'array' THEN j.value ELSE '[]' END) v"
        f" WHERE j.key = ? AND j.type = 'array' AND ({' OR '.join(parts) or '0'}))"
    )
    return sql, values


def _bound(value: Any) -> Any:
    if isinstance(value, datetime):
        return to_micros(value)
    return int(value) if isinstance(value, bool) else value


def _has(where: Where, some: AbstractSet[tuple[str, str]]) -> bool:
    return any((clause.field, clause.op) in some for clause in where.clauses)


# ---------------------------------------------------------------- records and links


class RecordReader:
    """What was remembered, read."""

    _connections: Connections
    _shelves: Shelves

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
        split = 3 + len(COLUMNS)
        try:
            return from_row(row[1], row[2], row[0], row[3:split], row[split:])
        except (ValueError, TypeError, LookupError, OverflowError) as problem:
            raise StoreDamaged(
                f"memory {row[0]} cannot be read ({problem}); it was left as it is. `memorist doctor` tells more, "
                "`memorist backup --restore FILE` brings a backup back"
            ) from problem

    def get(self, names: Sequence[str] | Sequence[int], where: Where) -> list[Record]:
        name = "number" if names and isinstance(names[0], int) else "id"
        found = self._records(f"{SELECT} WHERE r.{name} IN (SELECT value FROM json_each(?))", (canonical(list(names)),))
        visible = {getattr(record, name): record for record in found if where.matches(record)}
        return [visible[each] for each in names if each in visible]

    def _readable(self, where: Where) -> str:
        with self._connections as one:
            return self._shelves.readable(self._shelves.now(one), where.access)

    def find(self, where: Where, order: Order, limit: int | None = None) -> list[Record]:
        condition, values = self._condition(where)
        rest, most = f"WHERE {condition} ORDER BY {order_sql(order)} LIMIT ?", -1 if limit is None else limit
        if _has(where, NAMING):
            return self._records(f"{SELECT} {rest}", [*values, most])
        # The order is found over narrow rows; only those that are asked for are read whole.
        sql = f"{SELECT} WHERE r.number IN (SELECT r.number {FROM} {rest}) ORDER BY {order_sql(order)}"
        return self._records(sql, [*values, most])

    def count(self, where: Where) -> dict[str, int]:
        condition, values = self._condition(where)
        sql = f"SELECT s.scope, count(*) {FROM} WHERE {condition} GROUP BY s.scope ORDER BY s.scope"
        with self._connections as one:
            return dict(one.execute(sql, values))

    def _condition(self, where: Where) -> tuple[str, list[Any]]:
        condition, values = where_sql(where)
        readable = READABLE.format(
            "+" if _has(where, SELECTIVE) else ""
        )  # a plus hides the shelf's index from the planner
        return f"{readable} AND {condition}", [self._readable(where), *values]

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
        with self._connections as one:
            found = [Link(*row) for row in one.execute(sql, (canonical(list(ids or ())), self._readable(where), kind))]
        return self._seen_links(found, where)[:limit]

    def _seen_links(self, links: Sequence[Link], where: Where) -> list[Link]:
        """Those whose both ends fit."""
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
        return self._records(sql, (canonical(numbers), shelf.space, shelf.scope, shelf.layer, limit))

    def seals(self, ids: Sequence[str] | None = None) -> Iterator[Sealed]:
        """Records with their seals from one moment: in two looks, others could write in between."""
        some = "" if ids is None else " AND r.id IN (SELECT value FROM json_each(?3))"
        sql, last = f"{SELECT_SEALED} WHERE r.number > ?1{some} ORDER BY r.number LIMIT ?2", 0
        named = () if ids is None else (canonical(list(ids)),)
        while rows := self._rows(sql, (last, ROWS_AT_ONCE, *named)):
            yield from (Sealed(record, to_row(record), *row[-2:]) for row in rows for record in [self._record(row)])
            last = rows[-1][0]

    def _rows(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """A few at a time: a long open cursor would keep the log from being folded in."""
        with self._connections as one:
            return one.execute(sql, values).fetchall()

    def generations(self) -> list[Generation]:
        with self._connections as one:
            return list(self._shelves.generations(one))

    def briefs(self, where: Where) -> Iterator[Brief]:
        content = " + ".join(f"ifnull(octet_length(r.{name}), 0)" for name in CONTENT)
        condition, values = self._condition(where)
        sql = (
            f"SELECT r.number, r.id, {content}, r.pinned, r.at, r.updated, c.last_used,"
            f" s.scope, r.kind, r.status, r.trust, r.importance, r.confidence,"
            f" {', '.join(f'c.{name}' for name in COUNTERS)} {FROM}"
            f" WHERE r.number > ? AND {condition} ORDER BY r.number LIMIT ?"
        )
        last, vector = 0, sum(generation.bytes + 8 for generation in self.generations())
        while rows := self._rows(sql, (last, *values, BRIEFS_AT_ONCE)):
            for row in rows:
                (number, id, bytes, pinned, at, updated, used, scope, kind, status, trust, importance, confidence,
                 *counted) = row  # fmt: skip
                counters = Counters(*counted) if counted[0] is not None else Counters()
                since, touched = from_micros(used or at), from_micros(max(updated, used or updated))
                yield Brief(
                    id, number, footprint(bytes, vector), bool(pinned), since, counters, scope, kind, status, trust,
                    importance, confidence, touched,
                )  # fmt: skip
            last = rows[-1][0]
