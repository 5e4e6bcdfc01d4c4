"""Reading an SQLite store: by id, by filter, by who belongs to whom. Nothing is read that the access does not allow.

Readable shelves are worked out once from the `Access` and bound into every query.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from memorist.errors import StoreDamaged
from memorist.records import Counters, Link, Record, from_micros
from memorist.store.connection import translated
from memorist.store.ledger import LINKS, Ledger
from memorist.store.nouns import LOOKED_AT, Brief, Generation, Sealed, Shelf, footprint
from memorist.store.rows import COLUMNS, CONTENT, COUNTERS, from_row, to_row
from memorist.store.shelves import Shelves
from memorist.store.sql import order_sql, where_sql
from memorist.store.vector_rows import VectorRows
from memorist.store.where import Order, Where, canonical

FROM = "FROM records r JOIN shelves s ON s.id = r.shelf LEFT JOIN counters c ON c.record = r.number"
SELECT = (
    f"SELECT r.number, s.space, s.scope, {', '.join(f'r.{name}' for name in COLUMNS)},"
    f" {', '.join(f'c.{name}' for name in COUNTERS)}, c.last_used {FROM}"
)
SELECT_SEALED = SELECT.replace(FROM, f", r.key, r.checksum {FROM}")
READABLE = "{}r.shelf IN (SELECT value FROM json_each(?))"
SELECTIVE = {"id", "number", "fingerprint", "session"}  # fields with an index better than the shelf's
ROWS_AT_ONCE = 500
BRIEFS_AT_ONCE = 5000


class Reading(Ledger):
    """What was remembered, read; `Answering` finds what fits a question."""

    _shelves: Shelves
    vector_rows: VectorRows

    @translated
    def generations(self) -> list[Generation]:
        return self.vector_rows.generations()

    def _records(self, sql: str, values: Sequence[Any]) -> list[Record]:
        return [self._record(row) for row in self._connections.here().execute(sql, values)]

    def _record(self, row: Sequence[Any]) -> Record:
        split = 3 + len(COLUMNS)
        try:
            return from_row(row[1], row[2], row[0], row[3:split], row[split:])
        except (ValueError, TypeError, LookupError, OverflowError) as problem:
            raise StoreDamaged(
                f"memory {row[0]} cannot be read ({problem}); it was left as it is. `memorist doctor` tells more, "
                "`memorist backup --restore FILE` brings a backup back"
            ) from problem

    @translated
    def get(self, ids: Sequence[str], where: Where) -> list[Record]:
        found = self._records(f"{SELECT} WHERE r.id IN (SELECT value FROM json_each(?))", (canonical(list(ids)),))
        visible = {record.id: record for record in found if where.matches(record)}
        return [visible[id] for id in ids if id in visible]

    @translated
    def numbered(self, numbers: Sequence[int], where: Where) -> list[Record]:
        condition, values = where_sql(where)
        sql = f"{SELECT} WHERE r.number IN (SELECT value FROM json_each(?)) AND {READABLE.format('+')} AND {condition}"
        found = self._records(sql, (canonical(list(numbers)), self._shelves.readable(where.access), *values))
        visible = {record.number: record for record in found}
        return [visible[number] for number in numbers if number in visible]

    @translated
    def resolve(self, reference: str, where: Where, most: int) -> list[Record]:
        """Ids are ASCII letters and digits, so a range is a prefix match and no wildcard can be smuggled in."""
        if reference.isdecimal():
            return self._some("r.number = ?", [int(reference) if len(reference) < 19 else 0], where, most)
        found = self._some("r.id >= ? AND r.id < ?", [reference, reference + "\x7f"], where, most)
        return found or self._some("substr(r.id, -?) = ?", [len(reference), reference], where, most)

    def _some(self, fitting: str, values: list[Any], where: Where, most: int) -> list[Record]:
        """A few visible records: their numbers first, so that nothing is read whole that is not asked for."""
        condition, more = where_sql(where)
        numbers = f"SELECT r.number {FROM} WHERE {fitting} AND {READABLE.format('+')} AND {condition}"
        sql = f"{SELECT} WHERE r.number IN ({numbers} ORDER BY r.number DESC LIMIT ?) ORDER BY r.number DESC"
        return self._records(sql, [*values, self._shelves.readable(where.access), *more, most])

    @translated
    def find(self, where: Where, order: Order, limit: int) -> list[Record]:
        condition, values = self._condition(where)
        # The order is found over narrow rows; only those that are asked for are read whole.
        chosen = f"SELECT r.number {FROM} WHERE {condition} ORDER BY {order_sql(order)} LIMIT ?"
        sql = f"{SELECT} WHERE r.number IN ({chosen}) ORDER BY {order_sql(order)}"
        return self._records(sql, [*values, limit])

    @translated
    def count(self, where: Where) -> int:
        condition, values = self._condition(where)
        return int(self._connections.here().execute(f"SELECT count(*) {FROM} WHERE {condition}", values).get)

    def _condition(self, where: Where) -> tuple[str, list[Any]]:
        selective = any(clause.op == "eq" and clause.field in SELECTIVE for clause in where.clauses)
        condition, values = where_sql(where)
        readable = READABLE.format("+" if selective else "")  # a unary plus hides the shelf's index from the planner
        return f"{readable} AND {condition}", [self._shelves.readable(where.access), *values]

    @translated
    def links_of(self, ids: Sequence[str], where: Where) -> list[Link]:
        ends = "SELECT number FROM records WHERE id IN (SELECT value FROM json_each(?1))"
        sql = f"{LINKS} WHERE l.a IN ({ends}) UNION {LINKS} WHERE l.b IN ({ends}) ORDER BY 1, 3, 2"
        links = [Link(*row) for row in self._connections.here().execute(sql, (canonical(list(ids)),))]
        ends_of = [end for link in links for end in (link.a, link.b)]
        visible = {record.id for record in self.get(ends_of, where)} if links else set()  # most have none
        return [link for link in links if link.a in visible and link.b in visible]

    @translated
    def linked(self, kind: str, where: Where, limit: int) -> list[Link]:
        sql = f"{LINKS} WHERE l.kind = ? ORDER BY max(l.a, l.b) DESC, l.a DESC, l.b DESC"
        links = [Link(*row) for row in self._connections.here().execute(sql, (kind,))]
        found: list[Link] = []
        for start in range(0, len(links), ROWS_AT_ONCE):
            some = links[start : start + ROWS_AT_ONCE]
            seen = {record.id for record in self.get([end for link in some for end in (link.a, link.b)], where)}
            found += [link for link in some if link.a in seen and link.b in seen]
            if len(found) >= limit:
                break
        return found[:limit]

    @translated
    def stating(self, topics: Sequence[int], shelf: Shelf, limit: int) -> list[Record]:
        one = self._connections.here()
        chosen = f"SELECT record FROM topics WHERE topic IN (?{', ?' * (len(topics) - 1)}) ORDER BY record DESC LIMIT ?"
        numbers = [number for (number,) in one.execute(chosen, (*topics, LOOKED_AT))] if topics else []
        if not numbers:
            return []
        sql = (
            f"{SELECT} WHERE r.number IN (SELECT value FROM json_each(?)) AND +r.shelf ="
            " (SELECT id FROM shelves WHERE (space, scope, layer) = (?, ?, ?)) ORDER BY r.number DESC LIMIT ?"
        )
        return self._records(sql, (canonical(numbers), shelf.space, shelf.scope, shelf.layer, limit))

    @translated
    def scopes(self, space: str) -> dict[str, int]:
        sql = (
            "SELECT s.scope, count(r.number) FROM shelves s LEFT JOIN records r ON r.shelf = s.id AND r.state = 'active'"
            " WHERE s.space = ? GROUP BY s.scope ORDER BY s.scope"
        )
        return {scope: count for scope, count in self._connections.here().execute(sql, (space,))}

    @translated
    def seals(self) -> Iterator[Sealed]:
        return self._walk_seals()

    def _walk_seals(self) -> Iterator[Sealed]:
        last = 0
        while rows := self._sealed_rows(last):
            yield from (Sealed(record, to_row(record), *row[-2:]) for row in rows for record in [self._record(row)])
            last = rows[-1][0]

    @translated
    def _sealed_rows(self, last: int) -> list[tuple[Any, ...]]:
        """Records with their seals from one moment: in two looks, others could write in between."""
        sql = f"{SELECT_SEALED} WHERE r.number > ? ORDER BY r.number LIMIT ?"
        return self._connections.here().execute(sql, (last, ROWS_AT_ONCE)).fetchall()

    @translated
    def twins(self, space: str, scope: str, fingerprints: Sequence[str]) -> list[Record]:
        condition = "r.fingerprint IN (SELECT value FROM json_each(?)) AND +s.space = ? AND +s.scope = ?"
        return self._records(f"{SELECT} WHERE {condition} ORDER BY r.number", (canonical(fingerprints), space, scope))

    @translated
    def pasts(self, ids: Sequence[str]) -> list[Record]:
        condition = "r.superseded_by IN (SELECT value FROM json_each(?))"
        return self._records(f"{SELECT} WHERE {condition} ORDER BY r.number", (canonical(list(ids)),))

    @translated
    def briefs(self, where: Where) -> Iterator[Brief]:
        return self._walk_briefs(where)

    def _walk_briefs(self, where: Where) -> Iterator[Brief]:
        """A few thousand at a time: a long open cursor would keep the log from being folded in."""
        last, vector = 0, sum(generation.bytes + 8 for generation in self.generations())
        while rows := self._brief_rows(where, last):
            for row in rows:
                (number, id, content, pinned, at, updated, used, scope, kind, status, trust, importance, confidence,
                 *counted) = row  # fmt: skip
                counters = Counters(*counted) if counted[0] is not None else Counters()
                since, touched = from_micros(used or at), from_micros(max(updated, used or updated))
                yield Brief(
                    id, number, footprint(content, vector), bool(pinned), since, counters, scope, kind, status, trust,
                    importance, confidence, touched,
                )  # fmt: skip
            last = rows[-1][0]

    @translated
    def _brief_rows(self, where: Where, last: int) -> list[tuple[Any, ...]]:
        condition, values = self._condition(where)
        content = " + ".join(f"ifnull(octet_length(r.{name}), 0)" for name in CONTENT)
        sql = (
            f"SELECT r.number, r.id, {content}, r.pinned, r.at, r.updated, c.last_used,"
            f" s.scope, r.kind, r.status, r.trust, r.importance, r.confidence,"
            f" {', '.join(f'c.{name}' for name in COUNTERS)} {FROM}"
            f" WHERE r.number > ? AND {condition} ORDER BY r.number LIMIT ?"
        )
        return self._connections.here().execute(sql, (last, *values, BRIEFS_AT_ONCE)).fetchall()
