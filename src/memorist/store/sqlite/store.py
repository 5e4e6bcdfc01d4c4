"""The default store: one SQLite file through apsw, or a database in RAM, with everything a write touches in one transaction.

Three ideas carry it. *Shelves*: each indexed term is qualified with its (space, scope, layer), so a question in a
project of a thousand memories never pays for the million beside it. *The index is derived*: `store/index.py` says which
rows a record has; whenever a record is written its rows are compared with that and replaced if they differ. *Nothing is
read that the access does not allow*: readable shelves are worked out once from the `Access` and bound into every query.

Reading is in `read.py` (records and links), `match.py` (by words), `scan.py` (by meaning) and `ledger.py` (journal, recall log,
keys, runs, settings); `vectors.py` keeps the vectors, and this module writes records.
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
from memorist.store.files import create_private, size_of
from memorist.store.index import CHUNKS, numbered_rows, stated, states, topics_of
from memorist.store.journal import refuse_if_lost
from memorist.store.nouns import Commit, Erased, Finding, Sealed, Shelf, shelf_of
from memorist.store.rows import COLUMNS
from memorist.store.sqlite.connection import Connections, explained
from memorist.store.sqlite.ledger import Ledger
from memorist.store.sqlite.match import WordMatcher
from memorist.store.sqlite.migrate import (
    DELETE_TOPICS,
    INSERT_TOPICS,
    SCHEMA,
    bring_topics_up_to_date,
    copy_verified,
    migrate,
    migrations_in,
    version_of,
)
from memorist.store.sqlite.read import Shelves
from memorist.store.sqlite.scan import VectorCache, VectorMatcher
from memorist.store.sqlite.vectors import Move, VectorKeeper
from memorist.store.where import canonical
from memorist.text.visible import visible

UNNAMED = Path(":memory:")  # shown where a file would be named
PAGES_AT_ONCE = 64  # of the index, merged in one transaction: a few milliseconds
INSERT = f"INSERT INTO records (shelf, key, checksum, {', '.join(COLUMNS)}) VALUES (?, ?, ?{', ?' * len(COLUMNS)})"
UPDATE = (
    f"UPDATE records SET shelf = ?, key = ?, checksum = ?, {', '.join(f'{name} = ?' for name in COLUMNS)},"
    " rewrites = rewrites + 1 WHERE number = ?"
)
INSERT_WORDS = "INSERT INTO words (id, shelf, start, end, prepared, length) VALUES (?, ?, ?, ?, ?, ?)"
OWN_WORDS = f"FROM words WHERE id >= ?1 * {CHUNKS} AND id < (?1 + 1) * {CHUNKS}"


@dataclass(frozen=True, slots=True)
class OldRow:
    """What the store holds of a record that is written again."""

    number: int
    shelf: int
    has_vectors: bool  # its shelf, perhaps itself
    text: str
    title: str | None
    kind: str
    state: str


class SqliteStore(WordMatcher, VectorMatcher, VectorKeeper, Ledger):
    """`memorist.store.protocol.Store` over one SQLite file; in RAM if none is named."""

    def __init__(self, path: Path | None = None, wait: float = 30.0, schema: Path = SCHEMA) -> None:
        self._path = path
        writable = path is None or self._prepare_file(path)
        self._connections = Connections(path, wait, writable)
        self._shelves = Shelves(self._connections)
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

    def _open(self, schema: Path) -> None:
        path, steps = self._path or UNNAMED, migrations_in(schema)
        self.steps = steps
        with self._connections as one:
            if self._path:
                refuse_if_lost(path, lambda: version_of(one, path, steps) == 0)
            version_of(one, path, steps)
            if self.writable and not self._connections.use_write_ahead_log():
                raise StoreUnavailable(f"{path} lies where SQLite cannot use its write-ahead log; use a local disk")
            migrate(one, path, steps)
            if self.writable:
                bring_topics_up_to_date(one)
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

    # ------------------------------------------------------------ writing

    @contextmanager
    def transaction(self, durable: bool = True, wait: float | None = None) -> Iterator[None]:
        self._shelves.look_anew()
        try:
            with self._connections.transaction(durable, wait):
                yield
        except apsw.Error as problem:
            raise explained(problem) from problem

    def write(self, commit: Commit) -> list[int]:
        with self._connections as one:
            numbers = self._write(one, commit.records)[0] if commit.records else []
            if commit.vectors:
                ready = zip(commit.records, numbers, strict=True)
                firsts = {sealed.record.id: number * CHUNKS for sealed, number in ready}
                rows = {firsts[id] + n: each for id, own in commit.vectors.items() for n, each in enumerate(own)}
                self.put_vectors(commit.generation, rows)
            return [*numbers, *self._enter(one, commit)]

    def _write(self, one: apsw.Connection, records: Sequence[Sealed]) -> tuple[list[int], list[bytes]]:
        """The records' numbers, and the vectors that went because they belong to nothing any more."""
        known = _known(one, [sealed.record.id for sealed in records if not sealed.new])
        shelves: dict[Shelf, int] = {}
        numbers, words, topics, moves = [], [], [], []
        for sealed in records:
            shelf = shelf_of(sealed.record)
            if shelf not in shelves:
                shelves[shelf] = self._shelves.id_of(one, shelf)
            old = known.get(sealed.record.id)
            number = _write_row(one, sealed, shelves[shelf], old.number if old else None)
            words += changed_words(one, sealed.record, shelves[shelf], number, new=old is None)
            topics += _changed_topics(one, sealed.record, number, old)
            moves += _moves(old, sealed.record, shelves[shelf])
            numbers.append(number)
        one.executemany(INSERT_WORDS, words)
        if topics:
            one.executemany(INSERT_TOPICS, topics)
        return numbers, self._move(one, moves) if moves else []

    def erase(self, tombstones: Sequence[Sealed], resealed: Sequence[Sealed] = ()) -> Erased:
        from memorist.store.sqlite.erase import take_out_traces, terms_of

        numbers = list(self._numbers([sealed.record.id for sealed in tombstones]).values())
        spaces = {sealed.record.space for sealed in tombstones}
        ids, heads = ([sealed.record.id for sealed in some] for some in (tombstones, resealed))
        with self._connections as one:
            words = terms_of(one, numbers)
            _, vectors = self._write(one, [*tombstones, *resealed])
            self._erased_vectors += vectors
            shelves = [id for id, shelf in self._shelves.all().items() if shelf.space in spaces]
            return take_out_traces(one, ids, heads, words, shelves)

    # ------------------------------------------------------------ the whole

    def checkup(self, repair: bool = False) -> list[Finding]:
        from memorist.store.sqlite.doctor import checkup

        repaired = self._repaired() if repair else []
        with self._connections as one:
            return [*repaired, *checkup(one, self)]

    def _repaired(self) -> list[Finding]:
        from memorist.store.sqlite.doctor import repair

        with self._connections as one:
            return repair(one, self)

    def scrub(self, traces: Sequence[bytes]) -> str | None:
        from memorist.store.sqlite.erase import INDEX_KEPT, remove_old_index, scrub, vector_traces

        if self._path is None:
            self._erased_vectors = []
            return None
        kept = None if remove_old_index(self._path) else INDEX_KEPT
        with self._connections as one:
            vectors = vector_traces(one, self._erased_vectors)
            if vectors is None:
                self.compact()
            in_the_way = scrub(self._connections, self._path, [*traces, *(vectors or ())])
        if in_the_way is None:
            self._erased_vectors = []
        return in_the_way or kept

    def tidy(self) -> bool:
        """Every transaction leaves a piece of its own in the word index, and a question looks into all of them. Merges some;
        False if there was nothing to merge."""
        with self.transaction(durable=False), self._connections as one:
            one.execute("INSERT INTO word_index (word_index, rank) VALUES ('usermerge', 2)")
            before = one.total_changes()
            one.execute("INSERT INTO word_index (word_index, rank) VALUES ('merge', ?)", (PAGES_AT_ONCE,))
            return one.total_changes() - before >= 2  # as FTS5 tells it

    def compact(self) -> None:
        from memorist.store.sqlite.erase import compact

        with self._connections:
            compact(self._connections)

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
        with self._connections as one:
            copy_verified(one, path)

    def close(self) -> None:
        self._connections.close()


def _known(one: apsw.Connection, ids: Sequence[str]) -> Mapping[str, OldRow]:
    if not ids:
        return {}
    sql = (
        "SELECT r.id, r.number, r.shelf, s.vectors, r.text, r.title, r.kind, r.state FROM records r"
        " JOIN shelves s ON s.id = r.shelf WHERE r.id IN (SELECT value FROM json_each(?))"
    )
    return {id: OldRow(*rest) for id, *rest in one.execute(sql, (canonical(list(ids)),))}


def _write_row(one: apsw.Connection, sealed: Sealed, shelf: int, number: int | None) -> int:
    values = (shelf, sealed.key, sealed.checksum, *sealed.row)
    if number is None:
        one.execute(INSERT, values)
        return one.last_insert_rowid()
    one.execute(UPDATE, (*values, number))
    return number


def changed_words(one: apsw.Connection, record: Record, shelf: int, number: int, new: bool) -> list[tuple[Any, ...]]:
    """The index rows to add. Rows that are there and differ are taken away first."""
    rows = [
        (id, shelf, row.start, row.end, row.prepared, len(row.terms))
        for id, row in numbered_rows(record, number).items()
    ]
    if new:
        return rows
    old = one.execute(f"SELECT id, shelf, start, end, prepared, length {OWN_WORDS} ORDER BY id", (number,))
    if old.fetchall() == rows:
        return []
    one.execute(f"DELETE {OWN_WORDS}", (number,))
    return rows


def _changed_topics(one: apsw.Connection, record: Record, number: int, old: OldRow | None) -> list[tuple[int, int]]:
    """The topics to add. Those of a text that it no longer has are taken away."""
    if old is not None:
        was, now = (each.state != "erased" and states(each.kind) for each in (old, record))
        if old.text == record.text and was == now:
            return []
        one.executemany(DELETE_TOPICS, [(topic, number) for topic in stated(old.text)])
    return [(topic, number) for topic in topics_of(record)]


def _moves(old: OldRow | None, record: Record, shelf: int) -> list[Move]:
    """What becomes of its vectors, if it has any."""
    if old is None or not old.has_vectors:
        return []
    same = record.state != "erased" and (record.text, record.title) == (old.text, old.title)
    if same and shelf == old.shelf:
        return []
    return [Move(old.number, old.shelf, shelf if same else None)]
