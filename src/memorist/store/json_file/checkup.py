"""What a doctor can see in the files of a JSON store."""

import stat
from collections.abc import Iterator

from memorist.store.json_file import files as json_files
from memorist.store.json_file import log as json_log
from memorist.store.json_file import snapshot as json_snapshot
from memorist.store.json_file.files import Files, Unusable
from memorist.store.json_file.log import LineDamaged, Place
from memorist.store.json_file.snapshot import Unreadable
from memorist.store.nouns import Finding

FOLD = "`memorist compact` makes a new one"
BACKUP_NOW = "make a backup with `memorist backup` now; the next change or close may repair it"


def checkup(files: Files, place: Place | None) -> list[Finding]:
    return [*_snapshot(files), _log(files), _backup(files, place), *_kept(files), _permissions(files)]


def _snapshot(files: Files) -> Iterator[Finding]:
    try:
        json_snapshot.read(files.main.read_bytes())
        yield Finding(True, "file", "the snapshot fits its checksum")
    except (OSError, Unreadable) as problem:
        yield Finding(False, "file", f"{files.main.name} {problem}", BACKUP_NOW)


def _log(files: Files) -> Finding:
    try:
        part = json_log.read(files.log)
    except (OSError, LineDamaged) as problem:
        return Finding(False, "log", str(problem), BACKUP_NOW)
    torn = f"; what a crash cut off is kept in {files.torn.name}" if files.torn.exists() else ""
    return Finding(True, "log", f"every line fits its checksum ({max(0, part.count - 1)} changes){torn}")


def _backup(files: Files, place: Place | None) -> Finding:
    """Whether the backup would give back everything, if the snapshot were lost now."""
    try:
        loaded = json_files.from_backup(files)
    except Unusable as problem:
        return Finding(False, "backup", f"it could not replace a damaged snapshot: {problem}", FOLD)
    if place and loaded.place.sum not in (place.sum, place.head.after):
        return Finding(False, "backup", "it is older than the snapshot", FOLD)
    return Finding(True, "backup", "the backup beside it leads to the same memories")


def _kept(files: Files) -> Iterator[Finding]:
    for path in files.damaged():
        detail = f"the snapshot was damaged and restored from its backup; the damaged one is kept as {path.name}"
        yield Finding(False, "restored", detail, f"look what is wrong with the disk; then delete {path.name}")


def _permissions(files: Files) -> Finding:
    beside = [path for path in (files.beside(".anchor"), files.beside(".erased")) if path.exists()]
    exposed = [path.name for path in (*files.all(), *beside) if stat.S_IMODE(path.stat().st_mode) & 0o077]
    if exposed and hasattr(stat, "S_IRWXG"):
        return Finding(False, "permissions", f"others can open {', '.join(exposed)}", f"chmod 600 {' '.join(exposed)}")
    return Finding(True, "permissions", "the files are private")
