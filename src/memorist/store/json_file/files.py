"""The files of a JSON store: how they are told apart after a crash or damage, and how a doctor checks them.

    notes.json       the snapshot             notes.json.bak       the snapshot before it
    notes.json.log   what came since          notes.json.bak.log   what led from that one to this one

So `.bak`, `.bak.log` and `.log` hold everything that the snapshot and `.log` hold. Folding the log into a new snapshot takes
four renames, in an order that keeps this true between any two of them, even if the new snapshot is then damaged.
"""

import logging
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from memorist.errors import Invalid, StoreDamaged, StoreTooNew, StoreUnavailable
from memorist.store.files import BINARY, create_private, names_of, permissions, size_of, sync, sync_folder, unfinished
from memorist.store.json_file import log as json_log
from memorist.store.json_file import snapshot as json_snapshot
from memorist.store.json_file.log import Part, Position
from memorist.store.json_file.snapshot import Head, Sections, Unreadable
from memorist.store.nouns import Diagnosis
from memorist.text.visible import visible

PARTS = (".log", ".bak", ".bak.log", ".anchor")  # if one of these exists, there was a store
FOLD = "`memorist compact` makes a new one"
BACKUP_NOW = "make a backup with `memorist backup` now; the next change or close may repair it"
log = logging.getLogger("memorist")


class Files:
    """The names of the files, which all lie beside the snapshot."""

    def __init__(self, main: Path) -> None:
        self.main = main
        ends = (".log", ".bak", ".bak.log", ".log.torn", ".lock")
        self.log, self.bak, self.bak_log, self.torn, self.lock = map(self.beside, ends)

    def beside(self, end: str) -> Path:
        return self.main.with_name(self.main.name + end)

    def left_by_0_1_0(self) -> list[Path]:
        """What a fold by that version had not yet put in place, unless it is a user's file."""
        return [path for path in (self.beside(".new"), self.beside(".bak.new")) if _is_snapshot(path)]

    def damaged(self) -> list[Path]:
        """Snapshots that were found damaged and kept."""
        start = self.main.name + ".damaged-"
        return sorted(path for path in self.main.parent.iterdir() if path.name.startswith(start))

    def all(self) -> Iterator[Path]:
        """Every file that can hold a memory."""
        own = (self.main, self.log, self.bak, self.bak_log, self.torn, *self.left_by_0_1_0(), *self.damaged())
        return (path for path in own if path.exists())


@dataclass(frozen=True, slots=True)
class Loaded:
    """The content of the files: sections to apply in order, and where the last log ended."""

    parts: list[Sections]
    place: Position
    log: Part
    restored_because: str | None = None  # the snapshot was unusable, and the backups were used


def left(files: Files) -> str:
    """What a user can do about damage."""
    name = files.main.name
    return f"the files were left as they are. `memorist backup --restore FILE --db {name}` brings a backup back"


# ---------------------------------------------------------------- where


def prepared(path: Path) -> Path:
    """The intended file, in a folder that exists."""
    shown = visible(str(path)[:300])
    try:
        if not path.parent.exists():
            create_private(path)  # with its folders; a snapshot replaces the empty file
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    except OSError as problem:
        raise StoreUnavailable(f"{shown} cannot be created: {problem.strerror}; choose another place") from problem
    except ValueError as problem:
        raise Invalid(f"{shown} cannot be the name of a file; choose another") from problem
    if stat.S_ISDIR(mode):
        raise Invalid(f"{shown} is a folder; name a file in it, such as {shown}/memory.json")
    if not stat.S_ISREG(mode):
        raise Invalid(f"{shown} is no file; name another")
    return names_of(path)[0]


def refuse_foreign(files: Files) -> None:
    """Raises for a file that never was a store and has no parts of one beside it, before anything is put beside it."""
    if size_of(files.main) == 0 or any(files.beside(end).exists() for end in (*PARTS, ".lock")):
        return
    try:
        json_snapshot.head_of(files.main)
    except Unreadable as problem:
        raise StoreDamaged(f"{problem}; it was left as it is. Name another file, or one that memorist made") from None


def is_writable(path: Path) -> bool:
    return os.access(path.parent, os.W_OK) and (os.access(path, os.W_OK) or not path.exists())


# ---------------------------------------------------------------- reading


def load(files: Files) -> Loaded | None:
    """Everything that was acknowledged; None if there is no store yet. Changes nothing."""
    beside = [files.beside(end).name for end in PARTS if files.beside(end).exists()]
    if size_of(files.main) == 0 and not beside:
        return None
    try:
        head, sections = json_snapshot.read(files.main)
    except Unreadable as problem:
        flaw = str(problem)
    else:
        return _with_log(files, head, sections)
    try:
        return replace(from_backup(files), restored_because=flaw)
    except Unreadable as problem:
        over = f"; to start over, remove the files beside it ({', '.join(beside)})"
        raise StoreDamaged(f"{flaw}, and {problem}; {left(files)}{over}") from problem


def _with_log(files: Files, head: Head, sections: Sections) -> Loaded:
    """The usual case: a sound snapshot, and its log if there is one."""
    try:
        part = json_log.read(files.log)
    except Unreadable as problem:
        raise StoreDamaged(f"{problem}; {left(files)}") from problem
    if part.heading is None:
        return Loaded([sections], json_log.start(head), part)
    if part.heading.sum == head.sum:
        return Loaded([sections, *part.lines], part.end(head), part)
    if part.sum == head.after:  # a crash between the new snapshot and the renaming of the log it contains
        return Loaded([sections], json_log.start(head), part)
    raise StoreDamaged(
        f"{files.log.name} does not belong to {files.main.name} and holds {part.count - 1} changes; both were left as "
        f"they are. Move the log away if the snapshot is the one you want, or put back the one it belongs to"
    )


def from_backup(files: Files) -> Loaded:
    """The previous snapshot and the logs that lead from it to now; each must begin where the one before ended."""
    head, sections = json_snapshot.read(files.bak)
    parts, place = [sections], json_log.start(head)
    for path in (files.bak_log, files.log):
        part = json_log.read(path)
        if part.heading and part.heading.generation >= place.head.generation:
            place = _next(part, part.heading, place)
            parts += part.lines
    return Loaded(parts, place, part)


def _next(part: Part, heading: Head, place: Position) -> Position:
    head = place.head
    if heading.sum == head.sum:
        return part.end(head)
    if (heading.generation, heading.after) != (head.generation + 1, place.sum):
        raise Unreadable(f"line 1 of {part.path.name} is damaged")
    return part.end(replace(heading, previous=head.sum))


# ---------------------------------------------------------------- putting in order, before the first write


def tidy(files: Files, loaded: Loaded) -> None:
    """Finishes what a crash interrupted: a fold, a line, or the very first backup."""
    head, part = loaded.place.head, loaded.log
    if not _is_backed_up(files, head):
        with unfinished(files.bak) as next_bak:
            write_new(next_bak, files.main.read_bytes())
            next_bak.replace(files.bak)
        files.bak_log.unlink(missing_ok=True)
        sync_folder(files.main.parent)
    if part.heading and part.heading.sum != head.sum:
        files.log.replace(files.bak_log)
    else:
        mend(files, part)


def mend(files: Files, part: Part) -> None:
    """Cuts off what was never acknowledged, and keeps it aside; adds a missing newline to a complete line."""
    if part.torn:
        json_log.write_at(files.torn, part.torn + b"\n", size_of(files.torn), durable=True)
        log.warning("%s ended in the middle of a line; it is kept in %s", files.log.name, files.torn.name)
        os.truncate(files.log, part.offset)
    if part.unended:
        os.truncate(files.log, part.offset - 1)
        json_log.write_at(files.log, b"\n", part.offset - 1, durable=True)


def _is_backed_up(files: Files, head: Head) -> bool:
    try:
        return json_snapshot.head_of(files.bak).sum in (head.sum, head.previous)
    except (FileNotFoundError, Unreadable):
        return False


def _is_snapshot(path: Path) -> bool:
    """Whether it is a snapshot, or the beginning of one."""
    try:
        return bool(json_snapshot.head_of(path).sum)
    except (OSError, Unreadable, StoreTooNew):
        return False


def set_aside(files: Files, now: datetime) -> Path | None:
    """Keeps a damaged snapshot under another name."""
    if not files.main.exists():
        return None
    kept = files.beside(f".damaged-{now:%Y%m%dT%H%M%S.%f}Z")
    files.main.replace(kept)
    return kept


# ---------------------------------------------------------------- writing


def fold(files: Files, data: bytes) -> None:
    """Replaces the snapshot by a new one that includes the log; the old snapshot and the log become the backup.

    Between any two steps the snapshot and its log are complete, and so are `.bak` and the logs that follow it.
    """
    if files.log.exists():
        sync(files.log)  # lines about what was merely seen are not; the new snapshot says that it follows them
    with unfinished(files.main) as new, unfinished(files.bak) as next_bak:
        write_new(new, data)
        if files.main.exists():
            _link(files.main, next_bak)
        new.replace(files.main)
        if next_bak.exists():
            next_bak.replace(files.bak)
    if files.log.exists():
        files.log.replace(files.bak_log)
    else:
        files.bak_log.unlink(missing_ok=True)
    sync_folder(files.main.parent)


def write_new(path: Path, data: bytes) -> None:
    """Writes a private file with exactly this content, durable before anything is renamed to it. On failure the file is
    removed, because half of one would take up the remaining space."""
    create_private(path)
    file = os.open(path, os.O_WRONLY | BINARY)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(file, view) :]
        os.fsync(file)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(file)


def _link(old: Path, new: Path) -> None:
    """A second name for the old snapshot, so that it is never without one; on a disk that cannot do that, a copy."""
    try:
        os.link(old, new)
    except OSError:
        write_new(new, old.read_bytes())


# ---------------------------------------------------------------- health


def checkup(files: Files, place: Position | None) -> list[Diagnosis]:
    private = permissions((*files.all(), files.beside(".anchor"), files.beside(".erased")))
    return [_snapshot(files), _log(files), _backup(files, place), *_kept(files), private]


def _snapshot(files: Files) -> Diagnosis:
    try:
        json_snapshot.read(files.main)
    except (OSError, Unreadable) as problem:
        return Diagnosis(False, "file", str(problem), BACKUP_NOW)
    return Diagnosis(True, "file", "the snapshot matches its checksum")


def _log(files: Files) -> Diagnosis:
    try:
        part = json_log.read(files.log)
    except (OSError, Unreadable) as problem:
        return Diagnosis(False, "log", str(problem), BACKUP_NOW)
    torn = f"; what a crash cut off is kept in {files.torn.name}" if files.torn.exists() else ""
    return Diagnosis(True, "log", f"every line matches its checksum ({max(0, part.count - 1)} changes){torn}")


def _backup(files: Files, place: Position | None) -> Diagnosis:
    """Whether the backup would restore everything if the snapshot were lost now."""
    try:
        loaded = from_backup(files)
    except Unreadable as problem:
        return Diagnosis(False, "backup", f"it could not replace a damaged snapshot: {problem}", FOLD)
    if place and loaded.place.sum not in (place.sum, place.head.after):
        return Diagnosis(False, "backup", "it is older than the snapshot", FOLD)
    return Diagnosis(True, "backup", "the backup beside it leads to the same memories")


def _kept(files: Files) -> Iterator[Diagnosis]:
    for path in files.damaged():
        detail = f"the snapshot was damaged and restored from its backup; the damaged one is kept as {path.name}"
        yield Diagnosis(False, "restored", detail, f"look what is wrong with the disk; then delete {path.name}")
