"""The store in RAM with a JSON file under it: `Memory("notes.json")`, for memories that a person wants to read.

Reading is reading RAM. A transaction is one line of a log, written and synced before it returns; folding makes a new
snapshot of what RAM holds. Before anything is read or written, two `stat` calls tell whether another process wrote, and
what it wrote is then read in. The lock between processes is held for a transaction, never longer.
"""

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from memorist.errors import Invalid, StoreDamaged, StoreUnavailable
from memorist.records import now_utc
from memorist.store.anchor import Anchor
from memorist.store.files import size_of
from memorist.store.in_memory import InMemoryStore
from memorist.store.in_memory_ledger import reading
from memorist.store.json_file import files as json_files
from memorist.store.json_file import log as json_log
from memorist.store.json_file import snapshot as json_snapshot
from memorist.store.json_file.changes import Changes, apply, changed_sections, every_section, load
from memorist.store.json_file.files import Files
from memorist.store.json_file.lock import FileLock
from memorist.store.json_file.log import LineDamaged, unavailable
from memorist.store.json_file.rows import Sections
from memorist.store.json_file.snapshot import Unreadable
from memorist.store.nouns import Finding, Size
from memorist.text.visible import visible

FOLD_AT = 8_000_000  # bytes of log, unless the snapshot is larger: opening stays fast, and folding stays rare
READ_ONLY = "the store is read-only: reading works, writing does not; check the permissions of the file and its folder"
log = logging.getLogger("memorist")


class JsonFileStore(InMemoryStore):
    """`memorist.store.protocol.Store` over a JSON file and its log."""

    def __init__(self, path: Path, wait: float = 30.0) -> None:
        self._changes = Changes()
        self._place: json_log.Place | None = None  # how far the files were read; None: not at all
        self._looked: object = None  # how the files looked then
        self._still = 0  # how many are reading as of one moment
        super().__init__(self._changes)
        self._process = os.getpid()
        self._wait = wait
        self._path = json_files.prepared(path)
        self._files = Files(self._path.absolute())
        self._between = FileLock(self._files.beside(".lock"))
        self._writable = json_files.is_writable(self._files.main)
        with _translated():
            json_files.refuse_foreign(self._files)
        with self._files_held(wait):
            self._load()

    @property
    def path(self) -> Path:
        return self._path

    @property
    def writable(self) -> bool:
        return self._writable

    # ------------------------------------------------------------ whose turn it is

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._turn(self._wait):
            if not self._undo.under_way and not self._still and self._look() != self._looked:
                with self._files_held(self._wait):
                    self._catch_up()
            yield

    @contextmanager
    def moment(self) -> Iterator[None]:
        with self.alone():
            self._still += 1
            try:
                yield
            finally:
                self._still -= 1

    @contextmanager
    def transaction(self, durable: bool = True, wait: float | None = None) -> Iterator[None]:
        ready = self._wait if wait is None else wait
        with self._turn(ready):
            if self._undo.under_way:
                yield
                return
            if not self._writable:
                raise StoreUnavailable(READ_ONLY)
            with self._between.held(ready):
                with _translated():
                    self._catch_up()
                    self._fold_if_long()
                receipts = self._receipts
                with self._undo.all_or_nothing():
                    yield
                    self._commit(changed_sections(self, self._changes, receipts), durable)

    @contextmanager
    def _turn(self, wait: float) -> Iterator[None]:
        """This thread's turn in this process."""
        if os.getpid() != self._process:
            raise StoreUnavailable(
                f"this memory was opened by process {self._process} and cannot be used after a fork; "
                "open a new one in the child"
            )
        if not self._lock.acquire(timeout=wait):
            raise StoreUnavailable(f"another thread kept the store busy for {wait:g} s; nothing was written")
        try:
            if self._closed:
                raise StoreUnavailable("this memory was closed; open it again")
            yield
        finally:
            self._lock.release()

    @contextmanager
    def _files_held(self, wait: float) -> Iterator[None]:
        """No other process changes the files meanwhile."""
        with _translated(), self._between.held(wait, to_write=self._writable):
            yield

    # ------------------------------------------------------------ reading the files

    def _look(self) -> object:
        """How snapshot and log look from outside: every write changes it."""
        return tuple(_look(path) for path in (self._files.main, self._files.log))

    def _catch_up(self) -> None:
        """Reads what other processes wrote since we last looked."""
        seen = self._look()
        if seen == self._looked:
            return
        place = self._place
        self._place = self._looked = None  # whatever stops us here, the next one reads everything
        if place is None or not self._follow(place):
            self._load()
        else:
            self._looked = seen

    def _follow(self, place: json_log.Place) -> bool:
        """Reads on in the log, also in one that was folded since. Whether that was enough."""
        try:
            head = _head(self._files.main)
            if head.sum != place.head.sum:
                folded = json_log.read(self._files.bak_log, place)
                if (head.previous, head.after) != (place.head.sum, folded.sum or place.sum):
                    return False
                self._replay(folded.lines)
                place = json_log.start(head)
            part = json_log.read(self._files.log, place)
        except (Unreadable, LineDamaged, FileNotFoundError):
            return False
        if part.torn or part.unended or (part.heading and part.heading.snapshot != head.sum):
            return False
        self._replay(part.lines)
        self._place = json_log.Place(head, part.sum or place.sum, part.offset, part.count)
        return True

    def _load(self) -> None:
        """Reads everything, and puts in order what a crash or damage left."""
        looked = self._look()
        loaded = json_files.load(self._files)
        if loaded is None:
            self._create()
            return
        self._empty()
        with self._sound():
            load(self, loaded.parts[0])
        self._replay(loaded.parts[1:])
        self._place = loaded.place
        if loaded.restored_because:
            self._heal(loaded, loaded.restored_because)
        elif self._writable:
            json_files.tidy(self._files, loaded)
            if loaded.place.head.version < json_snapshot.VERSION:
                self._fold()
        # Who reads without a lock may have been overtaken while reading, and then has to look again.
        self._looked = self._look() if self._writable else looked

    def _replay(self, parts: Sequence[Sections]) -> None:
        with self._sound():
            for sections in parts:
                apply(self, sections)

    @contextmanager
    def _sound(self) -> Iterator[None]:
        """What comes from the files is no change, and it is what was once written there."""
        try:
            with self._changes.unnoted():
                yield
        except (ValueError, TypeError, LookupError, OverflowError) as problem:
            raise StoreDamaged(f"a row cannot be read ({problem}); {json_files.left(self._files)}") from problem

    def _create(self) -> None:
        if not self._writable:
            shown = visible(str(self._path)[:300])
            raise StoreUnavailable(f"{shown} cannot be created: nothing may be written there; choose another place")
        data, head = json_snapshot.written(1, "", "", every_section(self))
        json_files.fold(self._files, data)
        self._place = json_log.start(head)
        loaded = json_files.load(self._files)
        assert loaded
        json_files.tidy(self._files, loaded)
        self._looked = self._look()

    def _heal(self, loaded: json_files.Loaded, because: str) -> None:
        """The backups gave everything back; the damaged snapshot is kept, and a new one made."""
        anchored = Anchor(self._files.main).read()
        lost = [] if anchored.flaw else anchored.problems({last: link.digest for last, link in self._chain.items()})
        if lost:
            raise StoreDamaged(f"{because}, and the backup is older: {lost[0]}; {json_files.left(self._files)}")
        if not self._writable:
            log.warning("%s: read from its backup", because)
            return
        json_files.mend(self._files, loaded.log)
        kept = json_files.set_aside(self._files, now_utc())
        log.warning("%s: restored from its backup, nothing was lost; kept as %s", because, kept.name if kept else "-")
        self._fold()
        self._fold()  # the first backup is still the old one

    # ------------------------------------------------------------ writing the files

    def _commit(self, sections: Sections, durable: bool) -> None:
        if not sections:
            return
        if os.getpid() != self._process:
            raise StoreUnavailable("this process forked inside of a transaction; nothing was written by the child")
        assert self._place is not None, "caught up when the transaction began"
        try:
            self._place = json_log.append(self._files.log, self._place, sections, durable)
        except UnicodeEncodeError as problem:
            raise Invalid(
                "a text holds half a character (a lone surrogate), which no store can hold; remove it"
            ) from problem
        except BaseException:
            self._looked = None  # what is in the file now is for the next one to find out
            raise
        self._looked = self._look()

    def _fold(self) -> None:
        """Makes a snapshot of what is in RAM. Under the lock, and caught up."""
        assert self._place is not None
        head = self._place.head
        data, new = json_snapshot.written(head.generation + 1, head.sum, self._place.sum, every_section(self))
        json_files.fold(self._files, data)
        self._place = json_log.start(new)
        self._looked = self._look()

    def _fold_if_long(self) -> None:
        assert self._place is not None
        if self._place.offset > FOLD_AT and self._place.offset > self._files.main.stat().st_size:
            self._try_to_fold()

    def _try_to_fold(self) -> None:
        """What is not folded is in the log, and no less safe there."""
        try:
            self._fold()
        except OSError as problem:
            log.warning("%s was not folded into the snapshot: %s", self._files.log.name, problem)
            self._load()  # wherever it was cut off, the files are whole

    @contextmanager
    def _files_alone(self) -> Iterator[None]:
        """For what is done to the files outside of a transaction."""
        with self._turn(self._wait):
            if self._undo.under_way:
                raise StoreUnavailable("a transaction is under way; finish it first")
            if not self._writable:
                raise StoreUnavailable(READ_ONLY)
            with self._files_held(self._wait):
                self._catch_up()
                yield

    # ------------------------------------------------------------ the whole

    def compact(self) -> None:
        with self._files_alone():
            self._fold()

    def scrub(self, traces: Sequence[bytes]) -> str | None:
        """Two folds: the first leaves what was erased in the backup, the second makes a backup of the first. Files that are
        wholly written anew need not be searched."""
        with self._files_alone():
            self._fold()
            self._fold()
            for path in (self._files.torn, *self._files.unfinished, *self._files.damaged()):
                path.unlink(missing_ok=True)
        return None

    def backup(self, path: Path) -> None:
        if not path.name.strip():
            raise Invalid(f"{str(path)!r} names no file; name a new file for the backup")
        with suppress(OSError):  # what keeps us from looking will keep us from writing, and is explained there
            if path.exists():
                raise Invalid(f"{path} exists; name a new file for the backup")
        if self._writable:
            self.compact()
        with self.alone(), _translated():
            data, _ = json_snapshot.written(1, "", "", every_section(self))
            partial = path.with_name(path.name + ".partial")
            json_files.write_new(partial, data)
            json_snapshot.read(partial.read_bytes())
            partial.replace(path)

    def become(self, other: "JsonFileStore") -> None:
        """Takes over everything that the other store holds, in the place of what is here."""
        sections = {name: list(rows) for name, rows in every_section(other).items()}
        with self._files_alone():
            try:
                self._empty()
                with self._sound():
                    load(self, sections)
                self._fold()
                self._fold()
            except BaseException:
                self._place = self._looked = None  # the files are right, and RAM is not
                raise

    @reading
    def size(self) -> Size:
        records = super().size()
        files = {path: size_of(path) for path in self._files.all()}
        live = files.get(self._files.main, 0) + files.get(self._files.log, 0)
        return Size(records.records, sum(files.values()), live, records.events, records.receipts)

    def checkup(self) -> list[Finding]:
        from memorist.store.json_file.checkup import checkup

        with self.alone():
            if self._undo.under_way:
                return [*checkup(self._files, self._place), *super().checkup()]
            with self._files_held(self._wait):
                self._catch_up()
                files = checkup(self._files, self._place)
            return [*files, *super().checkup()]

    def close(self) -> None:
        if os.getpid() != self._process:
            return
        with self._lock:
            if not self._closed and self._writable:
                self._fold_at_last()
            self._closed = True

    def _fold_at_last(self) -> None:
        try:
            with self._files_alone():
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


def _look(path: Path) -> tuple[int, int, int] | None:
    try:
        seen = path.stat()
    except OSError:  # whoever then tries to read it says what is wrong
        return None
    return seen.st_ino, seen.st_size, seen.st_mtime_ns


def _head(path: Path) -> json_snapshot.Head:
    with path.open("rb") as file:
        return json_snapshot.head_of(file.read(json_snapshot.LONGEST_HEAD))
