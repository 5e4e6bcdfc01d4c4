"""What was done to the settings of agents, so that it can be undone to the byte.

`installed.json` beside the user's settings records for each file what we added, how it was before, and a digest of how
we left it. Each change is recorded before the next is made. Of two simultaneous installations one waits.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import Any

from memorist.errors import Invalid, StoreUnavailable, unavailable
from memorist.lazy import dataclass
from memorist.store.files import create_private, replace_private
from memorist.store.lock import locked
from memorist.surfaces import settings
from memorist.surfaces.agents import splice
from memorist.surfaces.agents.changes import FileChange, carried_out, content_of, text_in
from memorist.surfaces.agents.clients import CLIENTS, Agent
from memorist.surfaces.agents.entries import entries_in
from memorist.surfaces.agents.marks import MEMORIST

NOTED = "installed.json"  # beside the settings
WAIT_FOR_OTHERS = 30.0  # seconds to wait for another installation
READ_AGAIN = 5  # times that a file is read again because somebody saved it meanwhile


@dataclass(frozen=True, slots=True)
class Installed:
    """What was done to one file. `before` is a copy of it, None if it was not there or is no longer known."""

    client: str
    entries: tuple[str, ...]
    after: str
    before: str | None = None
    made: bool = False  # the file was not there before
    holders: tuple[str, ...] | None = None  # containers that we made for our entries; None where that is not known
    folders: tuple[str, ...] = ()  # folders that we made for it


@dataclass(slots=True)
class Book:
    """`installed.json`, and the folder with the original files."""

    folder: Path
    files: dict[str, Installed]
    forgotten: set[str] = field(default_factory=set)  # folders made for files that are no longer recorded

    @classmethod
    def read(cls) -> "Book":
        file = settings.beside(NOTED)
        if file is None:
            raise Invalid(
                "there is no home folder to note in what was installed; set HOME, or MEMORIST_CONFIG to a file"
            )
        content = content_of(file)
        try:
            found = json.loads(content or b"{}")
            files = {name: _installed(each) for name, each in found.items()}
        except (ValueError, TypeError, KeyError, AttributeError) as problem:
            raise Invalid(
                f"{file} cannot be read ({problem}); use the {MEMORIST} that wrote it, or move it away"
            ) from problem
        return cls(file.parent, files)

    def has(self, file: Path, entry: str) -> bool:
        noted = self.files.get(str(file))
        return noted is not None and entry in noted.entries

    def before(self, noted: Installed) -> bytes | None:
        return content_of(self.folder / "before" / noted.before) if noted.before else None

    def note(self, change: FileChange, done: FileChange) -> None:
        """Records a change. The original of a file is kept from our first change on, as long as nobody else changes the
        file."""
        if not change.is_one:
            return
        old = self.files.get(str(change.file))
        entries = tuple(dict.fromkeys((*(old.entries if old else ()), *done.entries)))
        holders: tuple[str, ...] | None
        holders = _holders_made(change.before, done.after, change.file, CLIENTS[change.client])
        if old is not None:  # a record by an older version says nothing about them
            holders = None if old.holders is None else (*old.holders, *holders)
        if old is not None and old.after == digest(change.before):
            before, made = old.before, old.made
        elif _has_ours(change):
            before, made = None, False  # a copy would bring our entries back
        else:
            before, made = self._keep(change), change.before is None
        folders = (*(old.folders if old else ()), *done.folders)
        self.files[str(change.file)] = Installed(
            change.client, entries, digest(done.after), before, made, holders, folders
        )
        self._write()

    def forget(self, file: Path) -> None:
        noted = self.files.pop(str(file), None)
        if noted is None:
            return
        self.forgotten.update(noted.folders)
        if self.files:
            self._write()
        else:  # the lock file stays: if it were removed, two processes could each hold one
            (self.folder / NOTED).unlink(missing_ok=True)
        if noted.before:
            (self.folder / "before" / noted.before).unlink(missing_ok=True)
        with suppress(OSError):  # it is missing, or holds what else was before
            (self.folder / "before").rmdir()

    def remove_folders(self) -> None:
        """Removes the folders made for files that are no longer recorded, the innermost first."""
        for folder in sorted(self.forgotten, key=len, reverse=True):
            with suppress(OSError):  # somebody put something into it
                Path(folder).rmdir()

    def _keep(self, change: FileChange) -> str | None:
        if change.before is None:
            return None
        name = f"{digest(str(change.file).encode())[:12]}-{change.file.name}"
        create_private(self.folder / "before" / name)
        (self.folder / "before" / name).write_bytes(change.before)
        return name

    def _write(self) -> None:
        shown = {name: asdict(each) for name, each in self.files.items()}
        replace_private(self.folder / NOTED, json.dumps(shown, indent=2) + "\n")


Noting = Callable[[Book, FileChange, FileChange], None]  # the book, a change as planned, and as it was made


def perform(make: Callable[[], list[FileChange]], note: Noting) -> list[FileChange]:
    """Makes the changes one file at a time, and records each before the next. A file saved meanwhile is read again
    first. Folders go last: one that was made for the first file may hold the others."""
    made: list[FileChange] = []
    with _book() as book:
        for _ in range(READ_AGAIN):
            changes = make()
            for change in changes:
                done = _noted(book, change, note)
                if done is None:
                    break
                made += [done] if change.is_one else []
            else:
                book.remove_folders()
                return [*made, *(change for change in changes if not change.is_one)]
    raise StoreUnavailable("the settings are being saved by somebody else again and again; try again")


def _noted(book: Book, change: FileChange, note: Noting) -> FileChange | None:
    """The change as it was made and recorded; None if the file has changed by now. What cannot be recorded, as on a full
    disk, is undone, because nobody could undo it later."""
    done = carried_out(change) if change.is_one else change
    try:
        if done is not None:
            note(book, change, done)
    except OSError:
        if change.is_one and done is not None:
            carried_out(replace(done, before=done.after, after=done.before, command=None))
        raise
    return done


@contextmanager
def _book() -> Iterator[Book]:
    """Yields the book, locked against other writers. What the system refuses then is said in our words."""
    folder = Book.read().folder
    try:
        create_private(folder / "installed.lock")
        with locked(folder / "installed.lock", WAIT_FOR_OTHERS, what="what is installed"):
            yield Book.read()
    except OSError as problem:
        raise unavailable(problem, problem.filename or str(folder)) from problem


def _installed(each: dict[str, Any]) -> Installed:
    holders = each.get("holders")
    lists = {
        "entries": tuple(each["entries"]),
        "holders": None if holders is None else tuple(holders),
        "folders": tuple(each.get("folders", ())),
    }
    return Installed(**{**each, **lists})


def _has_ours(change: FileChange) -> bool:
    """Whether the file had entries of ours before that change. A file that is ours as a whole had none."""
    agent = CLIENTS[change.client]
    if change.before is None:
        return False
    hooks = [agent.hooks] if agent.hooks and agent.hooks.entry and change.file.suffix == ".json" else []
    return bool(entries_in(change.before, change.file, agent, [*hooks, agent.servers]))


def _holders_made(before: bytes | None, after: bytes | None, file: Path, client: Agent) -> tuple[str, ...]:
    """The containers of our entries that were not there before, each as its path."""
    if file.suffix != ".json":
        return ()
    old, new = (splice.read(text_in(content, file), file) for content in (before, after))
    events = client.hooks.names if client.hooks else ()
    paths = [client.servers.path, ("hooks",), *(("hooks", event) for event in events)]
    return tuple("/".join(path) for path in paths if splice.at(old, path) is None and splice.at(new, path) is not None)


def digest(content: bytes | None) -> str:
    return hashlib.sha256(content or b"").hexdigest()
