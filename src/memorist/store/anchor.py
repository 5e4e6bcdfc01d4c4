"""The head of the journal's chain, written beside the store: it knows what the store had, whatever became of it."""

import errno
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from memorist.errors import StoreDamaged
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
        # The first one is written at once: from then on a lost store can be told from a new one.
        self._written = -EVERY if self.read() == Anchored() else time.monotonic()
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
        if self._path is None:
            return Anchored()
        try:
            said = json.loads(self._path.read_text(encoding="utf-8"))
            return Anchored(int(said["event"]), bytes.fromhex(said["digest"]))
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as problem:
            if isinstance(problem, OSError) and problem.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
                return Anchored()
            return Anchored(flaw=f"the anchor {self._path.name} cannot be read")


def refuse_if_lost(store: Path, is_empty: Callable[[], bool]) -> None:
    """An empty store whose anchor knows events was lost, and is no new one. The anchor is read first: it is written
    after the store, so what others do meanwhile cannot look like a loss."""
    anchored = Anchor(store).read()
    if anchored == Anchored() or not is_empty():
        return
    knows = anchored.flaw or f"{store.name}.anchor beside it knows {anchored.event:,} events"
    raise StoreDamaged(
        f"{store} is empty or gone, but {knows}; it was left as it is. `memorist backup --restore FILE` brings a backup "
        f"back; to begin anew, remove {store.name}.anchor"
    )


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
