"""The store in RAM with a JSON file under it: `Memory("notes.json")`, for memories that a person wants to read.

Queries are answered by SQLite in RAM. A transaction is one line of a log, written and synced before it returns; folding makes
a new snapshot of what RAM holds. Before anything is read or written, two `stat` calls show whether another process has written
something, which is then read. The lock between processes is held for a transaction, never longer. Opening only reads and
verifies the files: the tables are filled on the first read or write, and words and topics are made when a query first needs
them.
"""

import functools
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import apsw

from memorist.errors import StoreDamaged, StoreUnavailable, unavailable
from memorist.fork import inside
from memorist.records import now_utc
from memorist.store.files import refuse_taken, size_of, unfinished
from memorist.store.journal import Anchor
from memorist.store.json_file import files as json_files
from memorist.store.json_file import log as json_log
from memorist.store.json_file import snapshot as json_snapshot
from memorist.store.json_file import tables
from memorist.store.json_file.files import Files
from memorist.store.json_file.snapshot import Sections, Unreadable
from memorist.store.lock import locked
from memorist.store.nouns import ChainLink, Commit, Diagnosis, Size
from memorist.store.sqlite import SqliteStore
from memorist.store.sqlite.connection import explained, patience
from memorist.store.sqlite.migrate import rebuild_topics
from memorist.store.where import Where
from memorist.text.visible import visible

FOLD_AT = 8_000_000  # bytes of log, unless the snapshot is larger: opening stays fast and folding rare
READ_ONLY = "the store is read-only: reading works, writing does not; check the permissions of the file and its folder"
log = logging.getLogger("memorist")
P = ParamSpec("P")
T = TypeVar("T")


def needing(
    name: str, method: Callable[Concatenate["JsonFileStore", P], T]
) -> Callable[Concatenate["JsonFileStore", P], T]:
    """Decorates methods that read words or topics, which are only made when needed."""

    @functools.wraps(method)
    def asked(self: "JsonFileStore", /, *args: P.args, **kwargs: P.kwargs) -> T:
        self._make(name)
        return method(self, *args, **kwargs)

    return asked


class JsonFileStore(SqliteStore):
    """`memorist.store.protocol.Store` over a JSON file and its log."""

    def __init__(self, path: Path, wait: float = 30.0) -> None:
        self._file = json_files.prepared(path)
        self._files = Files(self._file.absolute())
        self._may_write = json_files.is_writable(self._files.main)
        self._place: json_log.Position | None = None  # how far the files were read; None: not at all
        self._looked: object = None  # the state of the files then
        self._waiting: Sequence[Sections] | None = None  # what was read, until it is put into tables on first use
        self._holder: int | None = None  # the thread whose turn it is, which need not look
        self._process = os.getpid()
        self._folded = False  # at last
        with _translated():
            json_files.refuse_foreign(self._files)
        super().__init__(wait=wait)
        self._connections.look = self._look_around
        try:
            with self._caught_up():
                pass
        except BaseException:
            super().close()
            raise

    @property
    def path(self) -> Path:
        return self._file

    @property
    def writable(self) -> bool:
        return self._may_write

    def connect(self) -> apsw.Connection:
        self._connections.here()  # caught up, and filled
        return super().connect()

    # ------------------------------------------------------------ whose turn it is

    @contextmanager
    def transaction(self, durable: bool = True, wait: float | None = None) -> Iterator[None]:
        with self._alone(wait):
            if self._connections.here().in_transaction:
                yield
                return
            if not self._may_write:
                raise StoreUnavailable(READ_ONLY)
            with locked(self._files.lock, self._connections.wait if wait is None else wait):
                with _translated():
                    self._catch_up()
                    if self._log_is_long():
                        self._try_to_fold()
                before = self._place
                assert before is not None, "caught up"
                try:
                    with super().transaction(durable, wait), tables.watched(self._connections.here()) as changed:
                        yield
                        self._connections.here()  # refuses a child forked in here: the line is its parent's
                        if sections := changed():
                            self._place = json_log.append(self._files.log, before, sections, durable)
                            self._looked = self._look()
                except BaseException:
                    self._place, self._looked = before, None  # what is in the file is for the next one to find out
                    raise

    @contextmanager
    def moment(self) -> Iterator[None]:
        self._make("words")  # anything made inside of a moment would be lost with it
        with super().moment():
            yield

    @contextmanager
    def _alone(self, wait: float | None = None) -> Iterator[None]:
        """This thread's turn in this process."""
        with self._connections.alone(wait), inside:
            before, self._holder = self._holder, threading.get_ident()
            try:
                yield
            finally:
                self._holder = before

    @contextmanager
    def _caught_up(self, to_write: bool = False) -> Iterator[None]:
        """This thread's turn, with everything read that others wrote, while no other process changes the files."""
        with self._alone():
            inside = self._connections.here().in_transaction
            if inside and to_write:
                raise StoreUnavailable("a transaction is under way; finish it first")
            if to_write and not self._may_write:
                raise StoreUnavailable(READ_ONLY)
            if inside:
                yield
                return
            with _translated(), locked(self._files.lock, self._connections.wait, self._may_write):
                self._catch_up()
                yield

    # ------------------------------------------------------------ reading the files

    def _look_around(self) -> None:
        """Called before any table is read: reads what other processes wrote, and fills the tables."""
        self._read_on()
        if self._waiting is not None:
            self._fill()

    def _read_on(self) -> None:
        if self._holder != threading.get_ident() and self._look() != self._looked:
            with self._caught_up():
                pass

    def _not_in_tables(self) -> Sequence[Sections] | None:
        if self._waiting is not None:
            self._read_on()
        return self._waiting

    def setting(self, name: str) -> str | None:
        """Opening needs some settings, which must not fill the tables."""
        waiting = self._not_in_tables()
        if waiting is None:
            return super().setting(name)
        with self._sound():
            found = {row["name"]: row["value"] for part in waiting for row in part.get("settings", ())}
        return found.get(name)

    def head(self, up_to: int | None = None) -> ChainLink | None:
        """Opening needs this too."""
        waiting = self._not_in_tables()
        if waiting is None:
            return super().head(up_to)
        with self._sound():
            rows = (row for part in reversed(waiting) for row in reversed(part.get("chain", ())))
            found = next((row for row in rows if up_to is None or row["last"] <= up_to), None)
            return ChainLink(found["last"], found["last"], bytes.fromhex(found["digest"])) if found else None

    def _look(self) -> object:
        """The outer state of snapshot and log, which every write changes."""
        return _look(self._files.main), _look(self._files.log)

    def _catch_up(self) -> None:
        """Reads what other processes wrote since the last look."""
        seen = self._look()
        if seen == self._looked:
            return
        place = self._place
        self._place = self._looked = None  # whatever goes wrong here, the next attempt reads everything
        if place is None or not self._follow(place):
            self._load()
        else:
            self._looked = seen

    def _follow(self, place: json_log.Position) -> bool:
        """Continues reading the log, even if it was folded since. Whether that was enough."""
        try:
            head, parts = json_snapshot.head_of(self._files.main), []
            if head.sum != place.head.sum:
                folded = json_log.read(self._files.bak_log, place)
                if (head.previous, head.after) != (place.head.sum, folded.sum or place.sum):
                    return False
                parts, place = folded.lines, json_log.start(head)
            part = json_log.read(self._files.log, place)
            if part.torn or part.unended or (part.heading and part.heading.sum != head.sum):
                return False
            self._replay([*parts, *part.lines])
        except (Unreadable, FileNotFoundError):
            return False
        self._place = part.end(head) if part.offset else place
        return True

    def _replay(self, parts: Sequence[Sections]) -> None:
        with self._sound(), super().transaction(durable=False):
            for part in parts:
                seals = tables.sealed(part)
                if self.write(Commit(seals)) != [sealed.record.number for sealed in seals]:
                    raise Unreadable("new records have other numbers than the next ones")
                tables.put(self._connections.here(), part)

    def _load(self) -> None:
        """Reads everything, and repairs what a crash or damage left."""
        looked = self._look()
        loaded = json_files.load(self._files) or self._created()
        self._waiting, self._place = loaded.parts, loaded.place
        if loaded.restored_because:
            self._heal(loaded, loaded.restored_because)
        elif self._may_write:
            json_files.tidy(self._files, loaded)
            if loaded.place.head.version < json_snapshot.VERSION:
                self._fold()
        # Read without a lock, the files may have changed meanwhile; then they are read again.
        self._looked = self._look() if self._may_write else looked

    def _fill(self) -> None:
        """Puts what was read into tables; other threads that need it meanwhile wait here."""
        with self._alone(), _translated(), self._sound():
            if self._waiting is not None:
                with closing(tables.built(tables.merged(self._waiting))) as fresh:
                    self._become(fresh)

    def _become(self, source: apsw.Connection) -> None:
        """Replaces this database by that one in one step, through a connection that does not look at the files."""
        with closing(self._connections.connect()) as one:
            one.set_busy_handler(patience(self._connections.wait))
            with one.backup("main", source, "main") as pages:
                pages.step()
        self._waiting = None

    @contextmanager
    def _sound(self) -> Iterator[None]:
        """Wraps reading rows: one that could not have been written is reported as damage."""
        try:
            yield
        except (ValueError, TypeError, LookupError, OverflowError, AttributeError, apsw.ConstraintError) as problem:
            raise StoreDamaged(f"a row cannot be read ({problem}); {json_files.left(self._files)}") from problem

    def _created(self) -> json_files.Loaded:
        if not self._may_write:
            shown = visible(str(self._file)[:300])
            raise StoreUnavailable(f"{shown} cannot be created: nothing may be written there; choose another place")
        json_files.fold(self._files, self._snapshot()[0])
        loaded = json_files.load(self._files)
        assert loaded
        return loaded

    def _heal(self, loaded: json_files.Loaded, because: str) -> None:
        """The backups restored everything: keeps the damaged snapshot, and makes a new one."""
        anchored = Anchor(self._files.main).read()
        lost = [] if anchored.flaw else anchored.problems({link.last: link.digest for link, _ in self.chain()})
        if lost:
            raise StoreDamaged(f"{because}, and the backup is older: {lost[0]}; {json_files.left(self._files)}")
        if not self._may_write:
            log.warning("%s: read from its backup", because)
            return
        json_files.mend(self._files, loaded.log)
        kept = json_files.set_aside(self._files, now_utc())
        log.warning("%s: restored from its backup, nothing was lost; kept as %s", because, kept.name if kept else "-")
        self._fold()
        self._fold()  # the first backup is still the old one

    # ------------------------------------------------------------ writing the files

    def _fold(self) -> None:
        """Makes a snapshot of what is in RAM. Under the lock, and caught up."""
        assert self._place is not None
        data, head = self._snapshot(self._place)
        json_files.fold(self._files, data)
        self._place = json_log.start(head)
        self._looked = self._look()

    def _snapshot(self, place: json_log.Position | None = None) -> tuple[bytes, json_snapshot.Head]:
        """A snapshot of what RAM holds: the next one, or the very first."""
        sections = tables.every(self._connections.here())
        if place is None:
            return json_snapshot.written(1, "", "", sections)
        return json_snapshot.written(place.head.generation + 1, place.head.sum, place.sum, sections)

    def _log_is_long(self) -> bool:
        offset = self._place.offset if self._place else 0
        return offset > FOLD_AT and offset > self._files.main.stat().st_size

    def _try_to_fold(self) -> None:
        """Folds if possible; otherwise everything remains in the log and is as safe there."""
        try:
            self._fold()
        except OSError as problem:
            log.warning("%s was not folded into the snapshot: %s", self._files.log.name, problem)
            self._load()  # wherever it was interrupted, the files are complete

    # ------------------------------------------------------------ what is derived

    def _make(self, name: str) -> None:
        """Done once after everything was read. The setting that says so exists in RAM only, and is rolled back with its
        tables."""
        if self.setting(name) is None:
            with super().transaction(durable=False):
                if self.setting(name) is None:
                    {"words": tables.make_words, "topics": rebuild_topics}[name](self._connections.here())

    match = needing("words", SqliteStore.match)
    score = needing("words", SqliteStore.score)
    vocabulary = needing("words", SqliteStore.vocabulary)
    sharing = needing("words", SqliteStore.sharing)
    unembedded = needing("words", SqliteStore.unembedded)
    put_vectors = needing("words", SqliteStore.put_vectors)
    erase = needing("words", SqliteStore.erase)
    stating = needing("topics", SqliteStore.stating)

    # ------------------------------------------------------------ the whole

    def compact(self) -> None:
        with self._caught_up(to_write=True):
            self._fold()

    def scrub(self, traces: Sequence[bytes]) -> str | None:
        """Folds twice: the first fold leaves what was erased in the backup, the second makes a backup of the first. Files that
        are completely rewritten need not be searched."""
        with self._caught_up(to_write=True):
            self._fold()
            self._fold()
            for path in (self._files.torn, *self._files.left_by_0_1_0(), *self._files.damaged()):
                path.unlink(missing_ok=True)
        return super().scrub(traces)

    def backup(self, path: Path) -> None:
        refuse_taken(path)
        if self._may_write:
            self.compact()
        with self._connections.moment(), _translated(), unfinished(path) as partial:
            json_files.write_new(partial, self._snapshot()[0])
            json_snapshot.read(partial)
            partial.replace(path)

    def become(self, other: SqliteStore) -> None:
        """Replaces everything here by what the other store holds."""
        with self._caught_up(to_write=True), closing(other.connect()) as source:
            try:
                self._become(source)
                self._fold()
                self._fold()
            except BaseException:
                self._place = self._looked = None  # the files are right, but RAM is not
                raise

    def size(self, where: Where | None = None) -> Size:
        records = super().size(where)
        files = {path: size_of(path) for path in self._files.all()}
        live = files.get(self._files.main, 0) + files.get(self._files.log, 0)
        return replace(records, bytes=sum(files.values()), live_bytes=live)

    def checkup(self, repair: bool = False) -> list[Diagnosis]:
        self._make("words")
        repaired = self._repaired() if repair else []
        with self._caught_up():
            return [*repaired, *json_files.checkup(self._files, self._place), *super().checkup()]

    def close(self) -> None:
        if self._process == os.getpid() and self._may_write and not self._folded:
            self._folded = True
            self._fold_at_last()
        self._waiting = None
        super().close()

    def _fold_at_last(self) -> None:
        if self._place and not self._place.offset and self._look() == self._looked:
            return
        try:
            with self._caught_up(to_write=True):
                if self._place and self._place.offset:
                    self._try_to_fold()
        except (StoreUnavailable, StoreDamaged) as problem:
            log.warning("%s was not folded into the snapshot: %s", self._files.log.name, problem)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise unavailable(problem) from problem
    except apsw.Error as problem:
        raise explained(problem) from problem


def _look(path: Path) -> tuple[int, int, int] | None:
    try:
        seen = path.stat()
    except OSError:  # reading it will show what is wrong
        return None
    return seen.st_ino, seen.st_size, seen.st_mtime_ns
