"""Connections to one SQLite file, or to a database in RAM: one per thread, never across a fork, every write in
`BEGIN IMMEDIATE`.

These rules have reasons. A deferred transaction that turns from reading to writing fails at once if another writer came first,
whatever the timeout; a connection carried over a fork corrupts files; and a plain `open()` of the file drops its locks.
Waiting for another writer is done here, with short random pauses, because SQLite's own back-off lets unlucky writers starve.

In RAM there is no write-ahead log, so readers and writers wait for each other. There, a thread that reads at one moment keeps
the transactions of other threads waiting, in the same queue as theirs.

What a connection sees of the shelves is determined once per moment (`Shelves`), because every query needs it.
"""

import itertools
import json
import os
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import apsw

from memorist.access import Access
from memorist.errors import Invalid, MemoristError, StoreDamaged, StoreUnavailable, unavailable
from memorist.fork import inside, must_be_ours, must_be_whole, watch
from memorist.kinds import LAYERS
from memorist.lazy import dataclass
from memorist.store.files import pause, size_of
from memorist.store.nouns import Fact, Generation, Shelf
from memorist.store.where import canonical

PRAGMAS = """
PRAGMA foreign_keys = ON;
PRAGMA trusted_schema = OFF;
PRAGMA secure_delete = ON;
PRAGMA cell_size_check = ON;
PRAGMA mmap_size = 0;
PRAGMA journal_size_limit = 67108864;
"""
PRAGMAS_OF_A_STORE = """
PRAGMA cache_size = -16384;
PRAGMA synchronous = FULL;
"""  # SQLite reads the schema to set these
URI = apsw.SQLITE_OPEN_URI
MOST_IN_RAM = 1 << 45  # bytes; SQLite would stop at one GB
LISTS_AT_MOST = 100  # remembered lists of readable shelves
KEYS_AT_MOST = 8  # filters, and sets of shelves, for which a view caches what was read
UNWRITTEN = (apsw.SQLITE_IOERR_WRITE, apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_TRUNCATE)
Key = TypeVar("Key")
Value = TypeVar("Value")
_databases = itertools.count(1)  # in RAM; their names are process-wide
_inherited: list[Any] = []  # connections of a parent process: closing them here would drop its locks


def upsert(table: str, names: str, key: str) -> str:
    """SQL that inserts a row with these columns, or updates the one with that key."""
    changes = ", ".join(f"{name} = excluded.{name}" for name in names.split(", ") if name not in key.split(", "))
    values = f"(?{', ?' * names.count(',')})"
    return f"INSERT INTO {table} ({names}) VALUES {values} ON CONFLICT ({key}) DO UPDATE SET {changes}"


@contextmanager
def one_moment(connection: apsw.Connection) -> Iterator[None]:
    """Inside, everything is read from the same moment, whatever others write meanwhile."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


@contextmanager
def committed(connection: apsw.Connection) -> Iterator[None]:
    """Commits what was begun, or rolls all of it back."""
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite may have rolled back by itself
            connection.execute("ROLLBACK")
        raise


def explained(problem: Exception) -> MemoristError:
    """SQLite's error as one of ours: the fact, and the next step."""
    if isinstance(problem, UnicodeEncodeError):
        return Invalid("a text holds half a character (a lone surrogate), which no store can hold; remove it")
    if isinstance(problem, UnicodeDecodeError):
        problem = apsw.CorruptError("a text is not UTF-8")
    said = str(problem) or type(problem).__name__
    if isinstance(problem, apsw.BusyError | apsw.LockedError):
        return StoreUnavailable("another process kept the store busy for too long; nothing was written, try again")
    extended = getattr(problem, "extendedresult", 0)
    if isinstance(problem, apsw.CantOpenError | apsw.IOError) and (limit := _out_of_files()):
        return limit
    if isinstance(problem, apsw.FullError) or extended == apsw.SQLITE_IOERR_SHMSIZE:  # no room even to share its log
        return StoreUnavailable("the disk is full: nothing was written and nothing was lost; free space and try again")
    if isinstance(problem, apsw.ReadOnlyError):
        return StoreUnavailable("the store is read-only: reading works, writing does not; check the file's permissions")
    if isinstance(problem, apsw.CorruptError | apsw.NotADBError | apsw.FormatError) or _lacks_a_part(problem):
        return misplaced(said)
    if isinstance(problem, apsw.CantOpenError | apsw.PermissionsError):
        return StoreUnavailable(f"the store cannot be opened ({said}); check that the folder exists and is yours")
    if extended in UNWRITTEN:
        return StoreUnavailable(
            "the disk did not take what was written: it may be full, over a quota, or failing; "
            "whether the last change is stored is unknown, a retry with its key is safe"
        )
    if isinstance(problem, apsw.IOError):
        return StoreUnavailable(
            f"the disk failed while the store was read ({said}); it was left as it is. Look after the disk, then try again"
        )
    if isinstance(problem, apsw.ConnectionClosedError | apsw.CursorClosedError):
        return StoreUnavailable("this memory was closed; open it again")
    return StoreUnavailable(
        f"SQLite answered: {said}; whether the last change is stored is unknown, a retry with its key is safe"
    )


def _out_of_files() -> StoreUnavailable | None:
    """Checks for a lack of file handles by opening a file, because SQLite does not say why it could not open one."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as problem:
        return unavailable(problem)
    return None


def misplaced(what: str) -> StoreDamaged:
    """For content that no sound file can hold, although every page of it can be read."""
    return StoreDamaged(
        f"the store is damaged ({what}); it was left as it is. `memorist doctor` tells more, "
        "`memorist backup --restore FILE` brings a backup back"
    )


def _lacks_a_part(problem: Exception) -> bool:
    """Our statements only name what the schema creates, so anything missing is damage."""
    return isinstance(problem, apsw.SQLError) and re.search(r"no such|has no column", str(problem)) is not None


def can_have_a_log(path: Path) -> bool:
    """Whether SQLite can use its write-ahead log beside that file. Without one, a file that has no log can only be read."""
    return os.access(path.parent, os.W_OK) or path.with_name(path.name + "-shm").exists()


SET = upsert("settings", "name, value", "name")


class Connections:
    """One connection per thread to one file, or to a database in RAM if there is no path.

    `with connections as one:` gives this thread's connection, and turns SQLite's errors into ours.
    """

    def __init__(self, path: Path | None, wait: float, writable: bool = True) -> None:
        self.path = path
        self.wait = wait
        self.writable = writable
        self._process = os.getpid()
        self._local = threading.local()
        self._opened: list[tuple[threading.Thread, apsw.Connection]] = []
        self._forks = 0  # the number of forks, before each of which all connections to a file were closed
        self._turn = threading.RLock()  # threads of one process queue here instead of polling the file
        self._bookkeeping = threading.Lock()
        self._closed = False
        self._accepted = False
        self.look: Callable[[], None] | None = None  # called before anything is read outside of a transaction
        self._in_ram = f"file:/memorist-{next(_databases)}?vfs=memdb"
        with inside:
            self._keeper = None if path else self._database_in_ram()
        watch(self)

    def _database_in_ram(self) -> apsw.Connection:
        """A new one. It lives as long as any connection to it, so this one is kept until `close`."""
        import ctypes

        keeper = apsw.Connection(self._in_ram, flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | URI)
        most = ctypes.c_int64(MOST_IN_RAM)
        keeper.file_control("main", apsw.SQLITE_FCNTL_SIZE_LIMIT, ctypes.addressof(most))
        return keeper

    def accept(self) -> None:
        """The file is a store that may be changed, so closing it may fold its log in."""
        self._accepted = True
        self.here().config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        _set(self.here(), PRAGMAS_OF_A_STORE)

    def __enter__(self) -> apsw.Connection:
        if self.path is None:  # it stays open; and `look` may have to wait for another thread before reading
            connection = self.here()
            inside.__enter__()
            return connection
        inside.__enter__()
        try:
            return self.here()
        except BaseException:
            inside.__exit__(None, None, None)
            raise

    def __exit__(self, _: object, problem: BaseException | None, __: object) -> None:
        inside.__exit__(None, None, None)
        if isinstance(problem, apsw.Error | UnicodeEncodeError | UnicodeDecodeError):
            raise explained(problem) from problem

    def here(self) -> apsw.Connection:
        """This thread's connection; for a file, only `inside`."""
        must_be_ours(self._process)
        if self._closed:
            raise StoreUnavailable("this memory was closed; open it again")
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None or self._local.forks != self._forks:
            try:
                with inside:
                    connection = self._local.connection = self._open()
            except apsw.Error as problem:
                raise explained(problem) from problem
        if self.look is not None and not connection.in_transaction:
            self.look()
        return connection

    def _open(self) -> apsw.Connection:
        connection = self.connect()
        connection.set_busy_handler(patience(self.wait))
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        # A write-ahead log with content, as after a kill, is left alone until the file is known to be a store.
        has_log = self.path is not None and size_of(self.path.with_name(self.path.name + "-wal")) > 0
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(not self._accepted and has_log))
        _set(connection, PRAGMAS + PRAGMAS_OF_A_STORE if self._accepted else PRAGMAS)
        self._local.synchronous, self._local.forks = "FULL", self._forks
        self._keep(connection)
        return connection

    def connect(self) -> apsw.Connection:
        """A new connection of the caller's own. A file that may not be written can be read if SQLite may write its log beside
        it, or if there is no log at all."""
        if self.path is None:
            return apsw.Connection(self._in_ram, flags=apsw.SQLITE_OPEN_READWRITE | URI)
        must_be_whole(self.path)
        if self.writable:
            return apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE)
        beside = can_have_a_log(self.path)
        if not beside and size_of(self.path.with_name(self.path.name + "-wal")):
            raise StoreUnavailable(
                f"{self.path.name} lies in a folder where nothing may be written, with a log beside it that must be folded in "
                "to be read; open it once where it may be written, or copy it and its -wal elsewhere"
            )
        name = str(self.path) if beside else f"{self.path.absolute().as_uri()}?immutable=1"
        return apsw.Connection(name, flags=apsw.SQLITE_OPEN_READONLY | URI)

    def _keep(self, connection: apsw.Connection) -> None:
        """Remembers the connection for `close`, and closes those of ended threads so that open files do not pile up."""
        with self._bookkeeping:
            left = [other for thread, other in self._opened if not thread.is_alive()]
            self._opened = [(thread, other) for thread, other in self._opened if thread.is_alive()]
            self._opened.append((threading.current_thread(), connection))
        for other in left:
            other.close()

    def use_write_ahead_log(self) -> bool:
        """Switches the file to a write-ahead log and says whether that worked; a database in RAM needs none. If several
        processes switch a new file at once, SQLite rejects all but one without asking the busy handler, so retrying is done
        here."""
        until = time.monotonic() + self.wait
        while True:
            try:
                return self.path is None or bool(self.here().execute("PRAGMA journal_mode = WAL").get == "wal")
            except apsw.BusyError:
                if not pause(until):
                    raise

    @contextmanager
    def transaction(self, durable: bool = True, wait: float | None = None) -> Iterator[None]:
        """BEGIN IMMEDIATE … COMMIT; joins a surrounding transaction."""
        with inside:
            joined = self.here().in_transaction
        if joined:
            yield
            return
        with self.alone(wait), inside:
            connection, wanted = self.here(), "FULL" if durable else "NORMAL"
            if self._local.synchronous != wanted:
                connection.execute(f"PRAGMA synchronous = {wanted}")
                self._local.synchronous = wanted
            self._begin(connection, self.wait if wait is None else wait)
            self._local.begun = connection.total_changes()
            with committed(connection):
                yield

    def has_written(self, connection: apsw.Connection) -> bool:
        """Whether this thread's connection sees uncommitted changes."""
        writes = connection.txn_state("main") == apsw.SQLITE_TXN_WRITE
        return writes and connection.total_changes() != getattr(self._local, "begun", None)

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Inside, everything that this thread reads is from the same moment."""
        with self.alone() if self.path is None else nullcontext(), inside, one_moment(self.here()):
            yield

    @contextmanager
    def alone(self, wait: float | None = None) -> Iterator[None]:
        """Keeps other threads of this process from writing meanwhile; for what SQLite does outside of transactions."""
        ready = self.wait if wait is None else wait
        if not self._turn.acquire(timeout=ready):
            raise StoreUnavailable(f"another thread kept the store busy for {ready:g} s; nothing was written")
        try:
            yield
        finally:
            self._turn.release()

    def _begin(self, connection: apsw.Connection, ready: float) -> None:
        if ready == self.wait:
            connection.execute("BEGIN IMMEDIATE")
            return
        connection.set_busy_handler(patience(ready))
        try:
            connection.execute("BEGIN IMMEDIATE")
        finally:
            connection.set_busy_handler(patience(self.wait))

    def let_go(self) -> bool:
        """Closes all connections to the file as they are; each thread opens its own again. Whether none is left."""
        if self.path is None:
            return True
        self._forks += 1
        opened, self._opened = self._opened, []
        for thread, connection in opened:
            try:
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # the log is folded in another time
                connection.close()
            except apsw.Error:
                self._opened.append((thread, connection))
        return not self._opened

    def disown(self) -> None:
        _inherited.extend((self._keeper, *self._opened))
        self._opened = []

    def close(self) -> None:
        if os.getpid() != self._process:
            return
        self._closed = True
        with inside:
            with self._bookkeeping:
                opened, self._opened = [connection for _, connection in self._opened], []
            for connection in (*opened, self._keeper) if self._keeper else opened:
                _close(connection)


def _set(connection: apsw.Connection, pragmas: str) -> None:
    """Sets all of them. Some return rows, and SQLite only continues once these are read."""
    connection.execute(pragmas).fetchall()


def _close(connection: apsw.Connection, wait: float = 1.0) -> None:
    """Closes the connection; if another thread is in the middle of a statement, waits a moment for it to finish."""
    until = time.monotonic() + wait
    while True:
        try:
            connection.close()
            return
        except apsw.ThreadingViolationError:
            if not pause(until):
                raise StoreUnavailable("another thread still uses this memory; close it there first") from None


def patience(wait: float) -> Callable[[int], bool]:
    """A busy handler for SQLite, which passes how often it has asked: waits for a lock for up to `wait` seconds."""
    until = 0.0

    def again(times: int) -> bool:
        nonlocal until
        if times == 0:
            until = time.monotonic() + wait
        return pause(until)

    return again


# ---------------------------------------------------------------- what one connection sees


@dataclass(frozen=True, slots=True)
class Seen:
    """The shelves that were seen committed while the schema had this version."""

    schema: int | None = None
    newest: int = 0
    shelves: Mapping[int, Shelf] = field(default_factory=dict)
    ids: Mapping[Shelf, int] = field(default_factory=dict)

    def joined(self, fresh: Mapping[int, Shelf]) -> "Seen":
        shelves = {**self.shelves, **fresh}
        return Seen(self.schema, max(shelves), shelves, {shelf: id for id, shelf in shelves.items()})


class Stamp(NamedTuple):
    """Shows whether anything was written since: by others, which changes SQLite's data version, or over this connection.
    Whatever replaces the whole file changes the schema version."""

    connection: apsw.Connection
    schema: int
    data: int
    changes: int

    @classmethod
    def of(cls, one: apsw.Connection) -> "Stamp":
        return cls(
            one,
            one.execute("PRAGMA schema_version").get,
            one.execute("PRAGMA data_version").get,
            one.total_changes(),
        )


@dataclass(slots=True)
class View:
    """A cache of what a connection sees: no table is read twice for one query, nor for the next one if nothing was written
    since."""

    seen: Seen
    stamp: Stamp | None = None  # None: not to be kept
    sizes: dict[int, tuple[int, int, int]] = field(default_factory=dict)  # by shelf: rows, terms, changes of vectors
    generations: list[Generation] = field(default_factory=list)
    speakers: dict[tuple[int, int], list[str]] = field(default_factory=dict)  # by shelf and maximal number
    beginnings: dict[tuple[int, str, int], list[str]] = field(default_factory=dict)  # words of a shelf that begin so
    lessons: dict[tuple[str, str | None], list[Any]] = field(default_factory=dict)  # by space and home
    facts: dict[tuple[object, ...], dict[int, Fact | None]] = field(default_factory=dict)  # by filter
    frequencies: dict[str, int] = field(default_factory=dict)  # of terms, each qualified with its shelf
    holding: dict[tuple[str, int], list[int]] = field(default_factory=dict)  # rows of what was looked for in the index
    held: int = 0  # number of these rows
    words: dict[int, str] = field(default_factory=dict)  # the terms of rows
    rows: dict[str, dict[int, dict[int, str]]] = field(default_factory=dict)  # the same by records, on some shelves

    def readable(self, shelves: Sequence[Shelf], access: Access) -> list[int]:
        """The numbers of the given shelves that exist and may be read."""
        here = (shelf for shelf in shelves if shelf.space == access.space and access.may_read(shelf.scope, shelf.home))
        return [self.seen.ids[shelf] for shelf in here if shelf in self.seen.ids]

    def ids(self, shelves: Sequence[Shelf]) -> list[int]:
        return [self.seen.ids[shelf] for shelf in shelves if shelf in self.seen.ids]


def among(kept: dict[Key, dict[int, Value]], key: Key) -> dict[int, Value]:
    """What a view has cached under this key; only a few keys are kept."""
    if key not in kept and len(kept) >= KEYS_AT_MOST:
        kept.clear()
    return kept.setdefault(key, {})


def kept_or_read(
    kept: dict[Key, Value], keys: Sequence[Key], read: Callable[[list[Key]], Mapping[Key, Value]], most: int
) -> dict[Key, Value]:
    """The values for these keys, in order: cached ones, and the rest from `read`. At most `most` values stay cached."""
    fresh = [key for key in keys if key not in kept]
    if not fresh:
        return {key: kept[key] for key in keys}
    found = read(fresh)
    known = {key: kept[key] if key in kept else found[key] for key in keys if key in kept or key in found}
    if len(kept) + len(found) > most:
        kept.clear()
    kept.update(found)
    return known


class _Here(threading.local):
    """What this thread has seen in the moment that it reads."""

    view: View | None = None
    last: View | None = None  # of an earlier moment; valid as long as its stamp is current
    reading = False


class Shelves:
    """Maps shelves to their numbers.

    Shelves are only ever added, so what was once seen committed stays true and is cached. What is seen inside a writing
    transaction is not: after a rollback the number may be given to another scope, and a stale entry would show one project's
    memories to another. For the same reason everything is forgotten when the file's content is replaced by a backup, which
    changes SQLite's schema version. The cache is one immutable value, because other threads may be reading it.
    """

    def __init__(self) -> None:
        self._seen = Seen()
        self._lists: dict[tuple[object, ...], str] = {}
        self._here = _Here()

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Wraps reading at one moment: a single look serves all of it, until this thread writes."""
        if self._here.reading:
            yield
            return
        self._here.reading = True
        try:
            yield
        finally:
            self._here.view, self._here.reading = None, False

    def forget_view(self) -> None:
        """This thread writes; whatever the outcome, it must look again afterwards."""
        self._here.view = self._here.last = None

    def now(self, one: apsw.Connection) -> View:
        kept = self._kept(one)
        if kept is not None:
            return kept
        inside = one.in_transaction
        with one_moment(one):  # the file may be replaced by a backup between two looks
            view = self._looked(one)
        if inside and self._here.reading and view.stamp is not None:
            self._here.view = view
        return view

    def _looked(self, one: apsw.Connection) -> View:
        """What this thread saw last if nothing was written since, otherwise a new look."""
        stamp, last = Stamp.of(one), self._here.last
        if one.txn_state("main") != apsw.SQLITE_TXN_READ:  # what it writes may be rolled back, so nothing is kept
            return View(self._seen_now(one, stamp.schema, keep=False))
        if last is None or last.stamp != stamp:
            last = self._here.last = View(self._seen_now(one, stamp.schema, keep=True), stamp)
        return last

    def _seen_now(self, one: apsw.Connection, schema: int, keep: bool) -> Seen:
        seen = self._seen
        if schema != seen.schema:
            seen = self._seen = Seen(schema)
        rows = one.execute("SELECT id, space, named, layer, home FROM shelves WHERE id > ?", (seen.newest,))
        fresh = _shelves(one, rows, seen)
        if fresh:
            seen = seen.joined(fresh)
            if keep:
                self._seen = seen
        return seen

    def _kept(self, one: apsw.Connection) -> View | None:
        """What was seen in the moment that this thread is still reading."""
        view = self._here.view
        return view if view is not None and one.txn_state("main") == apsw.SQLITE_TXN_READ else None

    def sizes(self, one: apsw.Connection, view: View, ids: Sequence[int]) -> list[tuple[int, int, int]]:
        """For each of these shelves: its rows, the terms in them, and how often its vectors changed."""
        if any(id not in view.sizes for id in ids):
            sql = "SELECT id, chunks, length, vectors FROM shelves WHERE id IN (SELECT value FROM json_each(?))"
            for id, *size in one.execute(sql, (canonical(ids),)):
                view.sizes[id] = tuple(size)
        return [view.sizes.get(id, (0, 0, 0)) for id in ids]

    def generations(self, one: apsw.Connection) -> list[Generation]:
        kept = None if one.txn_state("main") == apsw.SQLITE_TXN_WRITE else self.now(one)
        if kept is not None and kept.generations:
            return kept.generations
        sql = "SELECT id, model, dimension, state, layers, lost FROM generations ORDER BY id"
        rows: list[Any] = one.execute(sql).fetchall()
        if any(tuple(map(type, row)) != (int, str, int, str, str, str) for row in rows):
            raise misplaced("the table of vectors' models holds something else")
        found = [
            Generation(a, b, c, d, tuple(layers.split()), tuple(lost.split())) for a, b, c, d, layers, lost in rows
        ]
        if kept is not None:
            kept.generations = found
        return found

    def generation(self, one: apsw.Connection, id: int) -> Generation | None:
        return next((each for each in self.generations(one) if each.id == id), None)

    def id_of(self, one: apsw.Connection, shelf: Shelf) -> int:
        """The shelf's number; a missing shelf is created. Only inside a transaction."""
        schema, seen = one.execute("PRAGMA schema_version").get, self._seen
        if schema == seen.schema and shelf in seen.ids:
            return seen.ids[shelf]
        names = (shelf.space, shelf.place, shelf.layer)
        found: int | None = one.execute("SELECT id FROM shelves WHERE (space, scope, layer) = (?, ?, ?)", names).get
        if found is None:
            one.execute("INSERT INTO shelves (space, scope, layer) VALUES (?, ?, ?)", names)
            found = one.last_insert_rowid()
        return found

    def readable(self, view: View, access: Access, layers: Collection[str] = LAYERS) -> str:
        """The numbers of all shelves on these layers that this access may read, as JSON for a parameter."""
        seen = view.seen
        if seen is not self._seen:  # inside a transaction that added some: not to be kept
            return _readable(seen.shelves, access, layers)
        key = (access.space, access.reads, access.home, seen.schema, len(seen.shelves), layers)
        found = self._lists.get(key)
        if found is None:
            found = _readable(seen.shelves, access, layers)
            self._lists = {**self._lists, key: found} if len(self._lists) < LISTS_AT_MOST else {key: found}
        return found


def _shelves(one: apsw.Connection, rows: Iterable[Sequence[Any]], seen: Seen) -> dict[int, Shelf]:
    found = {id: Shelf(*names) for id, *names in rows}
    if not found and not seen.newest and one.execute("SELECT EXISTS (SELECT 1 FROM journal)").get:
        raise misplaced("it has a journal, and nowhere a memory could lie")
    if any(type(name) is not str for shelf in found.values() for name in (shelf.space, shelf.scope, shelf.layer)):
        raise misplaced("the table of shelves holds something else")
    return found


def _readable(shelves: Mapping[int, Shelf], access: Access, layers: Collection[str]) -> str:
    here = ((id, s) for id, s in shelves.items() if s.space == access.space and s.layer in layers)
    return json.dumps([id for id, s in here if access.may_read(s.scope, s.home)])
