"""The snapshot of a JSON store: one document, one row a line, under a checksum.

    {"format": "memorist", "version": 6, "generation": 7, "previous": "…", "after": "…", "sum": "…",
    "records": [
    {"number": 1, "space": "default", "scope": "project/atlas", "id": "m…", "text": "Staging runs Postgres 16", …},

`generation` counts the snapshots, `previous` is the checksum of the one before and `after` that of the last line of the
log that was folded in. So snapshots and logs that belong together know each other, whatever crash lies between them.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memorist.errors import StoreDamaged, StoreTooNew
from memorist.kinds import LAYERS

Row = dict[str, Any]
Sections = dict[str, list[Row]]

FORMAT = "memorist"
VERSION = 6
LONGEST_HEAD = 1000  # bytes
MIGRATIONS: dict[int, Callable[[Sections], Sections]] = {  # from each version to the next
    1: lambda sections: sections,  # 2 has vectors, which are remade if missing
    2: lambda sections: sections,  # 3 has questions and rendered prompts; there were none before
    3: lambda sections: sections,  # 4 has homes; those of older tasks are determined on opening
    4: lambda sections: _of_all_layers(sections),  # 5 has generations for some layers
    5: lambda sections: sections,  # 6 has lessons
}
_SUM = b', "sum": "'
encoded: Callable[[Any], str] = json.JSONEncoder(ensure_ascii=False, separators=(", ", ": "), allow_nan=False).encode


class Unreadable(Exception):
    """A file is not the snapshot or the log that was written. The message names it."""


@dataclass(frozen=True, slots=True)
class Head:
    version: int
    generation: int
    previous: str
    after: str
    sum: str


def digest(*parts: bytes) -> str:
    sum = hashlib.blake2b(digest_size=16)
    for part in parts:
        sum.update(part)
    return sum.hexdigest()


def written(generation: int, previous: str, after: str, sections: Mapping[str, Iterable[Row]]) -> tuple[bytes, Head]:
    """The bytes of a snapshot, and its head."""
    body = ",\n".join(_section(name, rows) for name, rows in sections.items()).encode() + b"\n}\n"
    head = {"format": FORMAT, "version": VERSION, "generation": generation, "previous": previous, "after": after}
    line = encoded(head).encode()[:-1]
    sum = digest(line, body)
    return line + _SUM + sum.encode() + b'",\n' + body, Head(VERSION, generation, previous, after, sum)


def _section(name: str, rows: Iterable[Row]) -> str:
    return f'"{name}": [\n' + ",\n".join(map(encoded, rows)) + "\n]"


def head_of(path: Path) -> Head:
    """The head of a snapshot, from its first line; the rest is only read if that line is unreadable."""
    with path.open("rb") as file:
        return _head(path, file.read(LONGEST_HEAD).partition(b"\n")[0])


def _head(path: Path, line: bytes) -> Head:
    try:
        said = json.loads(line.removesuffix(b",") + b"}")
        refuse_newer(said, FORMAT)
        return Head(said["version"], said["generation"], said["previous"], said["after"], said["sum"])
    except (ValueError, LookupError, TypeError, RecursionError):
        refuse_newer(parsed(path.read_bytes()), FORMAT)  # which may lay its lines out differently
        raise Unreadable(f"{path.name} is {'no memorist store, or no longer' if line else 'empty'}") from None


def read(path: Path) -> tuple[Head, Sections]:
    """The snapshot, verified and migrated to the present version."""
    try:
        line, _, body = path.read_bytes().partition(b"\n")
    except FileNotFoundError:
        raise Unreadable(f"{path.name} is gone") from None
    head, place = _head(path, line[:LONGEST_HEAD]), line.rfind(_SUM)
    if line[place:] != _SUM + head.sum.encode() + b'",' or digest(line[:place], body) != head.sum:
        raise Unreadable(f"{path.name} does not match its checksum")
    return head, migrated(json.loads(b"{" + body), head.version)


def migrated(sections: Sections, version: int) -> Sections:
    for step in range(version, VERSION):
        if step not in MIGRATIONS:
            raise StoreDamaged(f"nothing is known of format version {step}; the files were left as they are")
        sections = MIGRATIONS[step](sections)
    return sections


def _of_all_layers(sections: Sections) -> Sections:
    for row in sections.get("generations", ()):
        row |= {"layers": " ".join(LAYERS), "lost": ""}
    return sections


def refuse_newer(said: Any, format: str) -> None:
    """Raises for a document of a newer version, whatever else it contains."""
    known = isinstance(said, dict) and said.get("format") == format
    if known and type(said.get("version")) is int and said["version"] > VERSION:
        raise StoreTooNew(
            f"the store has format version {said['version']}, this memorist knows {VERSION}; nothing was changed. "
            "Upgrade memorist to open it"
        )


def parsed(data: bytes) -> Any:
    """None if it is not JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
