"""The default store: one SQLite file through apsw, or a database in RAM, with everything a write touches in one transaction.

Three ideas carry it. *Shelves*: each indexed term is qualified with its (space, scope, layer), so a question in a
project of a thousand memories never pays for the million beside it. *The index is derived*: `store/index.py` says which
rows a record has; whenever a record is written its rows are compared with that and replaced if they differ. *Nothing is
read that the access does not allow*: readable shelves are worked out once from the `Access` and bound into every query.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from memorist.errors import Invalid, Refused, StoreDamaged, StoreTooNew, StoreUnavailable
from memorist.records import Record
from memorist.store.anchor import refuse_if_lost
from memorist.store.answering import Answering
from memorist.store.connection import Connections, explained, translated
from memorist.store.files import create_private, size_of
from memorist.store.index import CHUNKS, numbered_rows
from memorist.store.migrate import SCHEMA, copy_verified, migrate, migrations_in, version_of
from memorist.store.nouns import Counted, Erased, Finding, Sealed, Shelf, shelf_of
from memorist.store.rows import COLUMNS, COUNTERS, counters_of
from memorist.store.shelves import Shelves
from memorist.store.topic_rows import DELETE_TOPICS, INSERT_TOPICS, bring_up_to_date
from memorist.store.topics import stated, states, topics_of
from memorist.store.vector_cache import VectorCache
from memorist.store.vector_rows import Move, VectorRows
from memorist.store.where import Where, canonical
from memorist.store.word_index import merged
from memorist.text.visible import visible

IN_RAM = ":memory:"  # shown where a file would be named
INSERT = f"INSERT INTO records (shelf, key, checksum, {', '.join(COLUMNS)}) VALUES (?, ?, ?{', ?' * len(COLUMNS)})"
UPDATE = (
    f"UPDATE records SET shelf = ?, key = ?, checksum = ?, {', '.join(f'{name} = ?' for name in COLUMNS)},"
    " rewrites = rewrites + 1 WHERE number = ?"
)
INSERT_WORDS = "INSERT INTO words (id, shelf, start, end, prepared, length) VALUES (?, ?, ?, ?, ?, ?)"
OWN_WORDS = f"FROM words WHERE id >= ?1 * {CHUNKS} AND id < (?1 + 1) * {CHUNKS}"


@dataclass(frozen=True, slots=True)
class Known:
    """What the store holds of a record that is written again."""

    number: int
    shelf: int
    has_vectors: bool  # its shelf, perhaps itself
    text: str
    title: str | None
    kind: str


class SqliteStore(Answering):
    """`memorist.store.protocol.Store` over one SQLite file; in RAM if none is named."""

    def __init__(self, path: Path | None = None, wait: float = 30.0, schema: Path = SCHEMA) -> None:
        self._path = path
        writable = path is None or self._prepare_file(path)
        self._connections = Connections(path, wait, writable)
        self._shelves = Shelves(self._connections)
        self.vector_rows = VectorRows(self._connections)
        self._vector_cache = VectorCache()
        self._erased_vectors: list[bytes] = []  # until their bytes were looked for in the file
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
        connection, path = self._connections.here(), self._path or Path(IN_RAM)
        self.steps = steps = migrations_in(schema)
        if self._path:
            refuse_if_lost(path, lambda: version_of(connection, path, steps) == 0)
        version_of(connection, path, steps)
        if self.writable and not self._connections.use_write_ahead_log():
            raise StoreUnavailable(f"{self._path} lies where SQLite cannot use its write-ahead log; use a local disk")
        migrate(connection, path, steps)
        if self.writable:
            bring_up_to_date(connection)
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
    def path(self) -> Path | None:
        return self._path

    @property
    def database(self) -> Path | None:
        """The file that SQLite writes; None in RAM, also where another file is under it."""
        return self._path

    @property
    def writable(self) -> bool:
        return self._connections.writable

    def connect(self) -> apsw.Connection:
        """A new connection, the caller's own."""
        return self._connections.connect()

    # ------------------------------------------------------------ health

    @translated
    def checkup(self) -> list[Finding]:
        from memorist.store.checkup import checkup

        return checkup(self._connections.here(), self)

    @translated
    def repair(self) -> list[Finding]:
        from memorist.store.repair import repair

        return repair(self._connections.here(), self)

    @contextmanager
    def moment(self) -> Iterator[None]:
        try:
            with self._connections.moment(), self._shelves.moment():
                yield
        except apsw.Error as problem:  # another thread may have closed the store meanwhile
            raise explained(problem) from problem

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
        return self._write(records)[0]

    def _write(self, records: Sequence[Sealed]) -> tuple[list[int], list[bytes]]:
        """The records' numbers, and the vectors that went because they belong to nothing any more."""
        known = self._known([sealed.record.id for sealed in records if not sealed.new])
        shelves: dict[Shelf, int] = {}
        numbers, words, topics, moves = [], [], [], []
        for sealed in records:
            shelf = shelf_of(sealed.record)
            if shelf not in shelves:
                shelves[shelf] = self._shelves.id_of(shelf)
            old = known.get(sealed.record.id)
            number = self._write_row(sealed, shelves[shelf], old.number if old else None)
            words += self.changed_words(sealed.record, shelves[shelf], number, new=old is None)
            topics += self._changed_topics(sealed.record, number, old)
            moves += _moves(old, sealed.record, shelves[shelf])
            numbers.append(number)
        self._connections.here().executemany(INSERT_WORDS, words)
        if topics:
            self._connections.here().executemany(INSERT_TOPICS, topics)
        return numbers, self.vector_rows.move(moves) if moves else []

    def _known(self, ids: Sequence[str]) -> Mapping[str, Known]:
        if not ids:
            return {}
        sql = (
            "SELECT r.id, r.number, r.shelf, s.vectors, r.text, r.title, r.kind FROM records r JOIN shelves s ON s.id = r.shelf"
            " WHERE r.id IN (SELECT value FROM json_each(?))"
        )
        return {id: Known(*rest) for id, *rest in self._connections.here().execute(sql, (canonical(list(ids)),))}

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

    def _changed_topics(self, record: Record, number: int, old: Known | None) -> list[tuple[int, int]]:
        """The topics to add. Those of a text that it no longer has are taken away."""
        if old is not None and old.text == record.text and states(old.kind) == states(record.kind):
            return []
        if old is not None:
            self._connections.here().executemany(DELETE_TOPICS, [(topic, number) for topic in stated(old.text)])
        return [(topic, number) for topic in topics_of(record)]

    @translated
    def counted(self, ids: Sequence[str]) -> list[Counted]:
        sql = f"SELECT r.number, r.id, {', '.join(f'c.{name}' for name in COUNTERS)}, c.last_used FROM records r"
        sql += " LEFT JOIN counters c ON c.record = r.number WHERE r.id IN (SELECT value FROM json_each(?))"
        rows = self._connections.here().execute(f"{sql} AND r.state <> 'erased'", (canonical(list(ids)),))
        return [Counted(id, *counters_of(number, counted)) for number, id, *counted in rows]

    # ------------------------------------------------------------ the whole

    @translated
    def erase(self, tombstones: Sequence[Sealed], resealed: Sequence[Sealed] = ()) -> Erased:
        from memorist.store.erasing import take_out_traces, terms_of

        one = self._connections.here()
        numbers = list(self._numbers([sealed.record.id for sealed in tombstones]).values())
        words = terms_of(one, numbers)
        _, vectors = self._write([*tombstones, *resealed])
        self._erased_vectors += vectors
        spaces = {sealed.record.space for sealed in tombstones}
        shelves = [id for id, shelf in self._shelves.all().items() if shelf.space in spaces]
        ids, heads = ([sealed.record.id for sealed in some] for some in (tombstones, resealed))
        return take_out_traces(one, ids, heads, words, shelves)

    @translated
    def vocabulary(self, prefix: str, shelves: Sequence[Shelf], where: Where, limit: int) -> list[str]:
        sql = "SELECT term FROM word_frequency WHERE term >= ?1 AND term < ?1 || char(1114111) LIMIT ?2"
        one, found = self._connections.here(), set[str]()
        for id in self._readable_ids(shelves, where):
            found |= {term.partition("·")[2] for (term,) in one.execute(sql, (f"{id}·{prefix}", limit))}
        return sorted(found)[:limit]

    @translated
    def happened(self, space: str, verbs: Sequence[str], surface: str | None = None) -> int:
        # CROSS: the journal once, and then the few records; the other way round it is looked up for every record.
        sql = (
            "SELECT count(*) FROM journal j CROSS JOIN records r ON r.number = j.record CROSS JOIN shelves s ON s.id = r.shelf"
            " WHERE j.verb IN (SELECT value FROM json_each(?)) AND ifnull(j.surface = ?, 1) AND s.space = ?"
        )
        found: int = self._connections.here().execute(sql, (canonical(list(verbs)), surface, space)).get
        return found

    @translated
    def uses(self, space: str) -> int:
        counted = "counters c JOIN records r ON r.number = c.record JOIN shelves s ON s.id = r.shelf"
        found: int = (
            self._connections.here().execute(f"SELECT total(c.used) FROM {counted} WHERE s.space = ?", (space,)).get
        )
        return int(found)

    @translated
    def scrub(self, traces: Sequence[bytes]) -> str | None:
        from memorist.store.erasing import INDEX_KEPT, remove_old_index, scrub, vector_traces

        if self._path is None:
            self._erased_vectors = []
            return None
        kept = None if remove_old_index(self._path) else INDEX_KEPT
        vectors = vector_traces(self._connections.here(), self._erased_vectors)
        if vectors is None:
            self.compact()
        in_the_way = scrub(self._connections, self._path, [*traces, *(vectors or ())])
        if in_the_way is None:
            self._erased_vectors = []
        return in_the_way or kept

    @translated
    def tidy(self) -> bool:
        with self.transaction(durable=False):
            return merged(self._connections.here())

    @translated
    def compact(self) -> None:
        from memorist.store.erasing import compact

        compact(self._connections)

    @translated
    def backup(self, path: Path) -> None:
        if self._path is None:
            raise Refused(
                "there is nothing to copy in RAM; name a file when you open the memory, then it can be copied"
            )
        if not path.name.strip():
            raise Invalid(f"{str(path)!r} names no file; name a new file for the backup")
        with suppress(OSError):  # what keeps us from looking will keep us from writing, and is explained there
            if path.exists():
                raise Invalid(f"{path} exists; name a new file for the backup")
        copy_verified(self._connections.here(), path)

    def close(self) -> None:
        self._connections.close()


def _moves(old: Known | None, record: Record, shelf: int) -> list[Move]:
    """What becomes of its vectors, if it has any."""
    if old is None or not old.has_vectors:
        return []
    same = record.state != "erased" and (record.text, record.title) == (old.text, old.title)
    if same and shelf == old.shelf:
        return []
    return [Move(old.number, old.shelf, shelf if same else None)]
