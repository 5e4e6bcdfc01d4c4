"""How much room is left on the store's disk. If it becomes scarce, nothing is stored or revised, and everything else goes on."""

import shutil
import time
from os import PathLike
from pathlib import Path

from memorist.errors import StoreUnavailable

LOOKED = 1.0  # seconds for which a result is reused, since every commit asks
# Bytes that a server leaves free unless the settings say otherwise. Nobody watches it, and others write to the same disk; this
# is enough to erase, to fold the log in, and for the system to keep its own logs.
SERVERS_LEAVE = 64 << 20


class DiskLow(StoreUnavailable):
    """Too little of the disk is free."""


class Room:
    """The free space on the disk of a store, and how much of it must stay free."""

    def __init__(self, path: str | PathLike[str] | None, least: int | None) -> None:
        self._folder = None if path is None else Path(path).parent
        self._least = least
        self._looked, self._enough = -LOOKED, True

    def leave(self, usual: int) -> None:
        """Keeps this much free if no setting says how much."""
        self._least = usual if self._least is None else self._least

    def free(self) -> int | None:
        """In bytes; None for a store in RAM, or if the system does not say."""
        try:
            return None if self._folder is None else shutil.disk_usage(self._folder).free
        except OSError:
            return None

    def told(self) -> dict[str, int]:
        free = self.free()
        return {} if free is None else {"disk_free": free}

    def must_be(self) -> None:
        """Raises if less is free than must stay free."""
        if self._least is None or (self._enough and time.monotonic() - self._looked < LOOKED):
            return
        free = self.free()
        self._enough, self._looked = free is None or free >= self._least, time.monotonic()
        if free is not None and not self._enough:
            raise DiskLow(
                f"only {free >> 20:,} MB of the disk are free, and min_free is {self._least >> 20:,} MB: nothing is stored or "
                "revised, while reading, forgetting and erasing go on; free space, or set min_free lower"
            )
