"""The default store: one SQLite file through apsw, with everything a write touches in one transaction.

Three ideas carry it. *Shelves*: each indexed term is qualified with its (space, scope, layer), so a question in a
project of a thousand memories never pays for the million beside it. *The index is derived*: `store/index.py` says which
rows a record has; whenever a record is written its rows are compared with that and replaced if they differ. *Nothing is
read that the access does not allow*: readable shelves are worked out once from the `Access` and bound into every query.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from memorist.errors import Invalid, StoreDamaged, StoreTooNew, StoreUnavailable
from memorist.records import Counters, Link, Record, from_micros
from memorist.store.anchor import refuse_if_lost
from memorist.store.connection import Connections, explained, one_moment, translated
from memorist.store.files import create_private, size_of
from memorist.store.index import CHUNKS, numbered_rows
from memorist.store.ledger import LINKS, Ledger
from memorist.store.migrate import SCHEMA, copy_verified, migrate, migrations_in, version_of
from memorist.store.protocol import (
    Brief,
    Counted,
    Erased,
    Finding,
    Match,
    Matches,
    Sealed,
    Shelf,
    footprint,
    shelf_of,
)
from memorist.store.rows import COLUMNS, CONTENT, COUNTERS, from_row, to_row
from memorist.store.shelves import Shelves
from memorist.store.sql import order_sql, where_sql
from memorist.store.where import Order, Where, canonical
from memorist.store.word_index import WordIndex
from memorist.text import bm25
from memorist.text.visible import visible

FROM = "FROM records r JOIN shelves s ON s.id = r.shelf LEFT JOIN counters c ON c.record = r.number"
SELECT = (
    f"SELECT r.number, s.space, s.scope, {', '.join(f'r.{name}' for name in COLUMNS)},"
    f" {', '.join(f'c.{name}' for name in COUNTERS)}, c.last_used {FROM}"
)
SELECT_SEALED = SELECT.replace(FROM, f", r.key, r.checksum {FROM}")
INSERT = f"INSERT INTO records (shelf, key, checksum, {', '.join(COLUMNS)}) VALUES (?, ?, ?{', ?' * len(COLUMNS)})"
UPDATE = (
    f"UPDATE records SET shelf = ?, key = ?, checksum = ?, {', '.join(f'{name} = ?' for name in COLUMNS)}"
    " WHERE number = ?"
)
INSERT_WORDS = "INSERT INTO words (id, shelf, start, end, prepared, length) VALUES (?, ?, ?, ?, ?, ?)"
READABLE = "{}r.shelf IN (SELECT value FROM json_each(?))"
SELECTIVE = {"id", "number", "fingerprint", "session"}  # fields with an index better than the shelf's
OWN_WORDS = f"FROM words WHERE id >= ?1 * {CHUNKS} AND id < (?1 + 1) * {CHUNKS}"
ROWS_AT_ONCE = 500
BRIEFS_AT_ONCE = 5000


class SqliteStore(Ledger):
    """`memorist.store.protocol.Store` over one SQLite file."""

    def __init__(self, path: Path, wait: float = 30.0, schema: Path = SCHEMA) -> None:
        self._path = path
        writable = self._prepare_file(path)
        self._connections = Connections(path, wait, writable)
        self._shelves = Shelves(self._connections)
        try:
            self._open(schema)
        except BaseException:
            self._connections.close()
            raise

    @staticmethod
    def _prepare_file(path: Path) -> bool:
        """Makes a new private file where there is none; says whether the file may be written."""
        shown = visible(str(path)[:300])
        try:
            folder = path.is_dir()
            if not folder:
                refuse_if_lost(path, lambda: size_of(path) == 0)
                create_private(path)
        except OSError as problem:
            raise StoreUnavailable(f"{shown} cannot be created: {problem.strerror}; choose another place") from problem
        except ValueError as problem:
            raise Invalid(f"{shown} cannot be the name of a file; choose another") from problem
        if folder:
            raise Invalid(f"{shown} is a folder; name a file in it, such as {shown}/memory.db")
        return os.access(path, os.W_OK)

    @translated
    def _open(self, schema: Path) -> None:
        connection = self._connections.here()
        self.steps = steps = migrations_in(schema)
        refuse_if_lost(self._path, lambda: version_of(connection, self._path, steps) == 0)
        version_of(connection, self._path, steps)
        if self.writable and not self._connections.use_write_ahead_log():
            raise StoreUnavailable(f"{self._path} lies where SQLite cannot use its write-ahead log; use a local disk")
        migrate(connection, self._path, steps)
        self._connections.accept()

    @staticmethod
    def has_this_schema(path: Path, wait: float) -> bool:
        """Whether that file is a store which opening would not change; one that is only busy is no answer."""
        steps = migrations_in(SCHEMA)
        try:
            with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as one:
                one.set_busy_timeout(int(wait * 1000))
                return version_of(one, path, steps) == len(steps)
        except (apsw.CorruptError, apsw.NotADBError, StoreDamaged, StoreTooNew):
            return False
        except apsw.Error as problem:
            raise explained(problem) from problem

    @property
    def path(self) -> Path:
        return self._path

    @property
    def writable(self) -> bool:
        return self._connections.writable

    # ------------------------------------------------------------ reading

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
    def match(self, terms: Sequence[str], shelves: Sequence[Shelf], where: Where, limit: int) -> Matches:
        ids = [
            id
            for shelf, id in self._shelves.ids(shelves).items()
            if shelf.space == where.access.space and where.access.may_read(shelf.scope)
        ]
        if not ids or not terms:
            return Matches()
        index = WordIndex(self._connections.here(), ids, where)
        try:
            with one_moment(self._connections.here()):  # else a row that was found may be gone when it is read
                scored, ceiling = bm25.rank(terms, index, max(bm25.POOL, 4 * limit))
                return Matches(tuple(self._best_chunks(scored, index, limit)), ceiling)
        except (AttributeError, LookupError, TypeError, ValueError) as problem:  # rows of nobody, missing values
            raise StoreDamaged(
                "the word index does not fit the records; it was left as it is. `memorist doctor --repair` makes it anew "
                "from them, `memorist backup --restore FILE` brings a backup back"
            ) from problem

    def _best_chunks(self, scored: Sequence[bm25.Scored], index: WordIndex, limit: int) -> Iterator[Match]:
        best: dict[int, bm25.Scored] = {}
        for each in scored:
            best.setdefault(each.row // CHUNKS, each)
        wanted = index.best_and_voted(list(best), limit)
        rows = canonical([best[number].row for number in wanted])
        sql = "SELECT id, start, end FROM words WHERE id IN (SELECT value FROM json_each(?))"
        places = {id: place for id, *place in self._connections.here().execute(sql, (rows,))}
        numbers = canonical(wanted)
        found = self._records(f"{SELECT} WHERE r.number IN (SELECT value FROM json_each(?))", (numbers,))
        records = {record.number: record for record in found}
        for number in wanted:
            each = best[number]
            yield Match(records[number], each.score, each.terms, *places[each.row])

    @translated
    def links_of(self, ids: Sequence[str], where: Where) -> list[Link]:
        ends = "SELECT number FROM records WHERE id IN (SELECT value FROM json_each(?1))"
        sql = f"{LINKS} WHERE l.a IN ({ends}) UNION {LINKS} WHERE l.b IN ({ends}) ORDER BY 1, 3, 2"
        links = [Link(*row) for row in self._connections.here().execute(sql, (canonical(list(ids)),))]
        visible = {record.id for record in self.get([end for link in links for end in (link.a, link.b)], where)}
        return [link for link in links if link.a in visible and link.b in visible]

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
        last = 0
        while rows := self._brief_rows(where, last):
            for number, id, content, pinned, at, used, *counted in rows:
                counters = Counters(*counted) if counted[0] is not None else Counters()
                yield Brief(id, number, footprint(content), bool(pinned), from_micros(used or at), counters)
            last = rows[-1][0]

    @translated
    def _brief_rows(self, where: Where, last: int) -> list[tuple[Any, ...]]:
        condition, values = self._condition(where)
        content = " + ".join(f"ifnull(octet_length(r.{name}), 0)" for name in CONTENT)
        sql = (
            f"SELECT r.number, r.id, {content}, r.pinned, r.at, c.last_used,"
            f" {', '.join(f'c.{name}' for name in COUNTERS)} {FROM}"
            f" WHERE r.number > ? AND {condition} ORDER BY r.number LIMIT ?"
        )
        return self._connections.here().execute(sql, (last, *values, BRIEFS_AT_ONCE)).fetchall()

    @translated
    def checkup(self) -> list[Finding]:
        from memorist.store.checkup import checkup

        return checkup(self._connections.here(), self)

    @translated
    def repair(self) -> list[Finding]:
        from memorist.store.repair import repair

        return repair(self._connections.here(), self)

    # ------------------------------------------------------------ writing

    @contextmanager
    def transaction(self, durable: bool = True, wait: float | None = None) -> Iterator[None]:
        try:
            with self._connections.transaction(durable, wait):
                yield
        except apsw.Error as problem:
            raise explained(problem) from problem

    @translated
    def keys(self, ids: Sequence[str]) -> dict[str, bytes]:
        sql = "SELECT id, key FROM records WHERE id IN (SELECT value FROM json_each(?))"
        return {id: found for id, found in self._connections.here().execute(sql, (canonical(list(ids)),))}

    @translated
    def write(self, records: Sequence[Sealed]) -> list[int]:
        seen = [sealed.record.id for sealed in records if not sealed.new]
        known = self._numbers(seen) if seen else {}
        shelves: dict[Shelf, int] = {}
        numbers, words = [], []
        for sealed in records:
            shelf = shelf_of(sealed.record)
            if shelf not in shelves:
                shelves[shelf] = self._shelves.id_of(shelf)
            old = known.get(sealed.record.id)
            number = self._write_row(sealed, shelves[shelf], old)
            words += self.changed_words(sealed.record, shelves[shelf], number, new=old is None)
            numbers.append(number)
        self._connections.here().executemany(INSERT_WORDS, words)
        return numbers

    def _write_row(self, sealed: Sealed, shelf: int, number: int | None) -> int:
        one = self._connections.here()
        values = (shelf, sealed.key, sealed.checksum, *sealed.row)
        if number is None:
            one.execute(INSERT, values)
            return one.last_insert_rowid()
        one.execute(UPDATE, (*values, number))
        return number

    def changed_words(self, record: Record, shelf: int, number: int, new: bool) -> list[tuple[Any, ...]]:
        """The index rows to add. Rows that are there and differ are taken away first."""
        rows = [
            (id, shelf, row.start, row.end, row.prepared, len(row.terms))
            for id, row in numbered_rows(record, number).items()
        ]
        if new:
            return rows
        one = self._connections.here()
        old = one.execute(f"SELECT id, shelf, start, end, prepared, length {OWN_WORDS} ORDER BY id", (number,))
        if old.fetchall() == rows:
            return []
        one.execute(f"DELETE {OWN_WORDS}", (number,))
        return rows

    @translated
    def counted(self, ids: Sequence[str]) -> list[Counted]:
        records = self._records(f"{SELECT} WHERE r.id IN (SELECT value FROM json_each(?))", (canonical(list(ids)),))
        return [Counted(r.id, r.counters, r.times.used) for r in records if r.state != "erased"]

    # ------------------------------------------------------------ the whole

    @translated
    def erase(self, tombstones: Sequence[Sealed], resealed: Sequence[Sealed] = ()) -> Erased:
        from memorist.store.erasing import take_out_traces, terms_of

        one = self._connections.here()
        numbers = list(self._numbers([sealed.record.id for sealed in tombstones]).values())
        words = terms_of(one, numbers)
        self.write([*tombstones, *resealed])
        spaces = {sealed.record.space for sealed in tombstones}
        shelves = [id for id, shelf in self._shelves.all().items() if shelf.space in spaces]
        ids, heads = ([sealed.record.id for sealed in some] for some in (tombstones, resealed))
        return take_out_traces(one, ids, heads, words, shelves)

    @translated
    def scrub(self, traces: Sequence[bytes]) -> str | None:
        from memorist.store.erasing import scrub

        return scrub(self._connections, traces)

    @translated
    def compact(self) -> None:
        from memorist.store.erasing import compact

        compact(self._connections)

    @translated
    def backup(self, path: Path) -> None:
        if not path.name.strip():
            raise Invalid(f"{str(path)!r} names no file; name a new file for the backup")
        with suppress(OSError):  # what keeps us from looking will keep us from writing, and is explained there
            if path.exists():
                raise Invalid(f"{path} exists; name a new file for the backup")
        copy_verified(self._connections.here(), path)

    def close(self) -> None:
        self._connections.close()
