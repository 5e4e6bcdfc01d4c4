"""The head of the journal's chain, written beside the store."""

import json
import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memorist.store.chain import ChainLink
from memorist.store.files import replace_private

EVERY = 60.0  # seconds
log = logging.getLogger("memorist")


class Anchor:
    """The head of the chain, written beside the store: a chain alone cannot show that its end was cut off.

    A head ahead of the anchor is normal; an anchor ahead of the head means that something was cut or restored.
    """

    def __init__(self, store: Path | None) -> None:
        self._path = store.with_name(store.name + ".anchor") if store else None
        self._head: ChainLink | None = None
        self._written = time.monotonic()
        self._lock = threading.Lock()

    def note(self, head: ChainLink) -> None:
        with self._lock:
            if self._head is None or head.last > self._head.last:
                self._head = head
        if time.monotonic() - self._written >= EVERY:
            self.write()

    def write(self) -> None:
        """Never goes back: another process may have come further, and a cut behind it would then escape."""
        with self._lock:
            head, self._head = self._head, None
            self._written = time.monotonic()
            if self._path is not None and head is not None and head.last > (self.read().event or 0):
                self._replace(self._path, head)

    @staticmethod
    def _replace(path: Path, head: ChainLink) -> None:
        try:
            replace_private(path, json.dumps({"event": head.last, "digest": head.digest.hex()}) + "\n")
        except OSError as problem:  # what it anchors is stored; the next one is as good
            log.warning("%s was not written: %s", path, problem)

    def read(self) -> "Anchored":
        if self._path is None or not self._path.exists():
            return Anchored()
        try:
            said = json.loads(self._path.read_text(encoding="utf-8"))
            return Anchored(int(said["event"]), bytes.fromhex(said["digest"]))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return Anchored(flaw=f"the anchor {self._path.name} cannot be read")


@dataclass(frozen=True, slots=True)
class Anchored:
    """What an anchor says; nothing where there is none."""

    event: int | None = None
    digest: bytes = b""
    flaw: str | None = None

    def problems(self, digests: Mapping[int, bytes]) -> list[str]:
        if self.flaw:
            return [self.flaw]
        if self.event is None or digests.get(self.event) == self.digest:
            return []
        if self.event in digests:
            return [f"the journal up to event {self.event} is not the one the anchor saw"]
        return [
            f"the anchor knows event {self.event}, the journal does not: its end was cut off, or an older file restored"
        ]
