"""The log beside a snapshot: one line per transaction, each under a checksum that covers the line before it.

So a line that was changed, lost, moved or taken from another log is detected, and its number reported. A line is a single
write of its JSON and the newline; what a crash left of a line that was never acknowledged has no newline and is cut off.
"""

import errno
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memorist.errors import StoreUnavailable, unavailable
from memorist.store.files import BINARY, sync_folder
from memorist.store.json_file.snapshot import (
    VERSION,
    Head,
    Sections,
    Unreadable,
    digest,
    encoded,
    migrated,
    parsed,
    refuse_newer,
)

FORMAT = "memorist log"
_SUM = b'{"sum": "'
_END = b'", '
_BEHIND_SUM = len(_SUM) + 32 + len(_END)


@dataclass(frozen=True, slots=True)
class Position:
    """How far a log was read: up to `offset`, after this many lines, the last of which has this checksum."""

    head: Head  # of the snapshot that the log follows
    sum: str
    offset: int = 0
    lines: int = 0


@dataclass(slots=True)
class Part:
    """What was read of a log: its lines in the present version, and where it ends."""

    path: Path
    version: int = VERSION
    sum: str = ""
    offset: int = 0
    count: int = 0
    heading: Head | None = None  # of the snapshot that the log follows, from its first line
    lines: list[Sections] = field(default_factory=list)
    torn: bytes = b""
    unended: bool = False  # the last line is complete, but its newline is missing or damaged

    def fits(self, line: bytes) -> bool:
        text = b"{" + line[_BEHIND_SUM:]
        return line[:_BEHIND_SUM] == _SUM + digest(self.sum.encode(), text).encode() + _END

    def take(self, line: bytes) -> None:
        self.count += 1
        if not self.offset:
            refuse_newer(parsed(line), FORMAT)
        if not self.fits(line):
            raise Unreadable(f"line {self.count} of {self.path.name} is damaged")
        said = json.loads(line)
        self.sum = said.pop("sum")
        self.offset += len(line) + 1
        if self.count == 1:
            self.heading = Head(said["version"], said["generation"], "", said["after"], said["snapshot"])
            self.version = self.heading.version
        else:
            self.lines.append(migrated(said, self.version))

    def end(self, head: Head) -> Position:
        return Position(head, self.sum, self.offset, self.count)


def start(head: Head) -> Position:
    """Where the log of a snapshot begins, before it has a file."""
    return Position(head, head.sum)


# ---------------------------------------------------------------- reading


def read(path: Path, place: Position | None = None) -> Part:
    """The log, or what was added since `place`. A file that is missing, or has no complete line, has no heading."""
    part = Part(path)
    if place and place.offset:
        part = Part(path, place.head.version, place.sum, place.offset, place.lines)
    try:
        with path.open("rb") as file:
            file.seek(part.offset)
            data = file.read()
    except FileNotFoundError:
        data = b""
    *whole, rest = data.split(b"\n")
    for line in whole:
        part.take(line)
    for tail in (rest, rest[:-1]):
        if tail and part.fits(tail):
            part.take(tail)  # it ends there once it has its newline
            part.unended = True
            return part
    part.torn = rest
    return part


# ---------------------------------------------------------------- writing


def append(path: Path, place: Position, sections: Sections, durable: bool) -> Position:
    """Adds one line, after a heading if there is no log yet. All of it, or nothing and an error."""
    data = b""
    after = place
    if place.offset == 0:
        head = place.head
        heading = {"format": FORMAT, "version": VERSION, "generation": head.generation, "snapshot": head.sum}
        line, sum = _sealed("", {**heading, "after": head.after})
        data, after = line, replace(place, sum=sum, lines=1)
    line, sum = _sealed(after.sum, sections)
    data += line
    write_at(path, data, place.offset, durable)
    return replace(after, sum=sum, offset=place.offset + len(data), lines=after.lines + 1)


def _sealed(before: str, content: Mapping[str, Any]) -> tuple[bytes, str]:
    text = encoded(content).encode()
    sum = digest(before.encode(), text)
    return _SUM + sum.encode() + _END + text[1:] + b"\n", sum


def write_at(path: Path, data: bytes, offset: int, durable: bool) -> None:
    """A single write at the end of the file; if it is incomplete, the file is truncated and nothing has happened."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | BINARY, 0o600)
    except OSError as problem:
        raise unavailable(problem) from problem
    try:
        if os.write(file, data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if durable:
            os.fsync(file)
    except OSError as problem:
        _cut_back(file, offset)
        raise unavailable(problem) from problem
    finally:
        os.close(file)
    if offset == 0:
        sync_folder(path.parent)  # a later line may be durable, and would be lost with the name of its file


def _cut_back(file: int, offset: int) -> None:
    try:
        os.ftruncate(file, offset)
    except OSError as problem:
        raise StoreUnavailable(
            f"the log cannot be written ({problem.strerror}); whether the last change is stored is unknown, "
            "a retry with its key is safe"
        ) from problem
