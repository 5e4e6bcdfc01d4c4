"""Files that are nobody else's business: made private from their first moment, replaced whole or not at all."""

import os
import random
import stat
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from memorist.errors import Invalid
from memorist.store.nouns import Diagnosis


def create_private(path: Path) -> None:
    """Creates an empty file with mode 0600, and its folder with 0700 where it is missing. An existing file is left alone."""
    _create_folders(path.parent)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return


def replace_private(path: Path, text: str) -> None:
    """Writes a small private file so that a reader sees the old or the new one, never half of it."""
    partial = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.partial")
    partial.unlink(missing_ok=True)
    create_private(partial)
    try:
        with partial.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())  # else a power cut may leave the new name with nothing in it
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def refuse_taken(path: Path) -> None:
    """A backup goes to a new file."""
    if not path.name.strip():
        raise Invalid(f"{str(path)!r} names no file; name a new file for the backup")
    with suppress(OSError):  # what keeps us from looking will keep us from writing, and is explained there
        if path.exists():
            raise Invalid(f"{path} exists; name a new file for the backup")


def size_of(path: Path) -> int:
    """Its bytes, 0 where there is none. Asked once: others may take a file away between two questions."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def permissions(paths: Iterable[Path]) -> Diagnosis:
    """A store and what lies beside it are the user's alone."""
    exposed = [path.name for path in paths if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077]
    if exposed and hasattr(stat, "S_IRWXG"):
        return Diagnosis(
            False, "permissions", f"others can open {', '.join(exposed)}", f"chmod 600 {' '.join(exposed)}"
        )
    return Diagnosis(True, "permissions", "the files are private")


def pause(until: float) -> bool:
    """Waits a moment for what others hold; False once that time has come. Unequal pauses: of many writers none starves."""
    if time.monotonic() >= until:
        return False
    time.sleep(random.uniform(0.0002, 0.004))
    return True


def _create_folders(folder: Path) -> None:
    """`mkdir(parents=True)` would give the mode to the last folder only."""
    missing = []
    while not folder.exists() and folder != folder.parent:
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
