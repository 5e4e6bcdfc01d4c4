"""The ids of what was erased, beside the store: a backup made before must not bring it back, also when the store itself is
gone. Ids hold no content.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from memorist.errors import StoreUnavailable


class ErasedIds:
    def __init__(self, store: Path | None) -> None:
        self._path = store.with_name(store.name + ".erased") if store else None

    def read(self) -> set[str]:
        if self._path is None or not self._path.exists():
            return set()
        try:
            return set(self._path.read_text(encoding="ascii", errors="replace").split())
        except OSError as problem:
            raise StoreUnavailable(
                f"{self._path}, which names what was erased, cannot be read: {problem.strerror}; mend it, then `memorist compact`"
            ) from problem

    def add(self, ids: Iterable[str]) -> None:
        """One write at the end of the file, so that several processes can add at once."""
        if self._path is None:
            return
        lines = "".join(f"{id}\n" for id in sorted(set(ids) - self.read())).encode()
        if not lines:
            return
        try:
            file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
            try:
                if os.write(file, b"\n" + lines) <= len(
                    lines
                ):  # the first newline ends what a full disk left unfinished
                    raise OSError(28, "the disk is full")
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as problem:
            raise StoreUnavailable(
                f"it is erased in the store, but {self._path} cannot be written: {problem.strerror}; "
                "make room, and `memorist compact` does what is left to do"
            ) from problem
