"""The files of the indexes beside a store: what each was made from, and whether it still is what was written.

usearch trusts what it maps, and a damaged graph could end the process. So a file is only used if its size and times are those
that were noted when it was written, or else if its digest is.
"""

import hashlib
import json
import os
import threading
import time
from collections.abc import Set
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import apsw

from memorist.store.files import create_private, replace_private

FORMAT = 1
ABANDONED = 600.0  # seconds after which a file that nobody finished is taken for a leftover of a crash
Seen = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Origin:
    """The store as it was when an index was begun. A backup that was restored has the same secret, but its journal lacks the
    link or its schema has another number; and what was erased since may be in the index."""

    store: str
    schema: int
    erased: str
    link: int
    digest: str

    @classmethod
    def of(cls, one: apsw.Connection) -> "Origin":
        last = one.execute("SELECT seq, hex(digest) FROM journal ORDER BY seq DESC LIMIT 1").get
        return cls(*_now(one), *(last or (0, "")))

    def fits(self, one: apsw.Connection) -> bool:
        digest = one.execute("SELECT hex(digest) FROM journal WHERE seq = ?", (self.link,)).get or ""
        return (self.store, self.schema, self.erased, self.digest) == (*_now(one), digest)


def _now(one: apsw.Connection) -> tuple[str, int, str]:
    settings: dict[str, str] = dict(one.execute("SELECT name, value FROM settings WHERE name IN ('secret', 'erased')"))
    store = hashlib.blake2b(settings.get("secret", "").encode(), digest_size=16, person=b"memorist ann").hexdigest()
    return store, one.execute("PRAGMA schema_version").get, settings.get("erased", "")


@dataclass(frozen=True, slots=True)
class Note:
    """What an index was made from, and its file as it was written."""

    generation: int
    model: str
    shelf: int
    version: int  # of the shelf: whatever changed later is compared beside the index
    origin: Origin
    rows: int = 0
    blocks: int = 0
    sample: tuple[int, ...] = ()  # some blocks, evenly spread
    last: int = -1  # the block that was put in last
    file: Seen = (0, 0, 0)
    digest: str = ""
    format: int = FORMAT

    @classmethod
    def read(cls, path: Path) -> "Note":
        given: dict[str, Any] = json.loads(path.read_text("utf-8"))
        sample, file = tuple(map(int, given["sample"])), tuple(map(int, given["file"]))
        return cls(**{**given, "origin": Origin(**given["origin"]), "sample": sample, "file": file})

    def is_of(self, generation: int, model: str, shelf: int) -> bool:
        return (self.format, self.generation, self.model, self.shelf) == (FORMAT, generation, model, shelf)

    def write(self, path: Path) -> None:
        replace_private(path, json.dumps(asdict(self)))


@dataclass(frozen=True, slots=True)
class Place:
    """Where one index lies: its graph, and the note that makes it count."""

    graph: Path

    @property
    def note(self) -> Path:
        return self.graph.with_suffix(".json")

    def holds(self, note: Note) -> bool:
        """Whether the graph is the one that was noted."""
        seen = look(self.graph)
        return seen is not None and (
            seen == note.file or (seen[0] == note.file[0] and _digest(self.graph) == note.digest)
        )

    def remove(self) -> None:
        for file in (self.note, self.graph):
            file.unlink(missing_ok=True)


class Unpublished:
    """A graph that was written under another name. Nothing of it stays behind unless it is published."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.path = place.graph.with_name(f"{place.graph.name}.{os.getpid()}-{threading.get_ident()}.partial")
        self._digest = ""

    def __enter__(self) -> "Unpublished":
        self.path.unlink(missing_ok=True)
        create_private(self.path)
        return self

    def __exit__(self, *_: object) -> None:
        self.path.unlink(missing_ok=True)

    def written(self) -> None:
        """Brings it to the disk: a power cut must not leave a new name with half a graph behind it."""
        with self.path.open("rb+") as file:
            os.fsync(file.fileno())
        self._digest = _digest(self.path)

    def publish(self, note: Note) -> None:
        self._place.note.unlink(missing_ok=True)
        self.path.replace(self._place.graph)
        values = {**_fields(note), "file": look(self._place.graph) or (0, 0, 0), "digest": self._digest}
        Note(**values).write(self._place.note)


def _fields(note: Note) -> dict[str, Any]:
    return {name: getattr(note, name) for name in Note.__slots__}


def look(path: Path) -> Seen | None:
    """What changes when a file does; None where there is none."""
    try:
        seen = path.stat()
    except OSError:
        return None
    return seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns


def remove_all(folder: Path) -> bool:
    """Takes every index of a store away, notes first; whether all that were there went."""
    try:
        files = sorted(folder.iterdir(), key=lambda file: file.suffix != ".json")
    except FileNotFoundError:
        return True
    except OSError:
        return False
    for file in files:
        with suppress(OSError):
            file.unlink(missing_ok=True)
    with suppress(OSError):  # one that is being written lies in it
        folder.rmdir()
    return not any(os.path.lexists(file) for file in files)


def stray(folder: Path, wanted: Set[str]) -> list[Path]:
    """Files of shelves that need no index any more, and what crashes left."""
    found = []
    with suppress(OSError):
        for file in folder.iterdir():
            unfinished = file.suffix == ".partial"
            if file.stem not in wanted and (not unfinished or time.time() - file.stat().st_mtime > ABANDONED):
                found.append(file)
    return found


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
