"""Files that are nobody else's business: made private from their first moment, replaced whole or not at all."""

import os
import threading
from pathlib import Path


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


def size_of(path: Path) -> int:
    """Its bytes, 0 where there is none. Asked once: others may take a file away between two questions."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _create_folders(folder: Path) -> None:
    """`mkdir(parents=True)` would give the mode to the last folder only."""
    missing = []
    while not folder.exists() and folder != folder.parent:
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
