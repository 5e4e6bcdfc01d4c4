"""The turns of sessions as lines of JSON, one file for each session, and an index of them: `sessions/<id>.jsonl`, `sessions.json`.

    {"memory": "01J…", "id": "01J…", "role": "user", "timestamp": "2026-05-01T10:00:00+00:00", "content": "Where were we?"}
    {"memory": "01J…", "id": "call_1", "role": "tool_call", "timestamp": …, "name": "search", "input": {"q": "heron"}}
    {"memory": "01J…", "id": "call_1", "role": "tool_result", "timestamp": …, "content": "two nests"}

The rows of the store are the truth, and a file follows them: a line is added once its turn is stored, and none is ever changed,
except by erasing. A line is one write under the folder's lock, and it counts once it is on disk. What a crash or a full disk
left of one is moved to `<id>.jsonl.torn` before the next line is added, and the line is written again from its row. A line that
cannot be read is named by its number, and the others are read; lines of others are kept as they are.

`memory`, the id of the record, comes first: so even the beginning of a line tells whose words follow, and erasing finds it.
"""

import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from memorist.errors import Invalid, unavailable
from memorist.files.jsonl import Damaged, parsed
from memorist.records import Record
from memorist.store.files import BINARY, create_private, size_of, sync_folder
from memorist.text.visible import visible

FOLDER, INDEX, END, TORN = "sessions", "sessions.json", ".jsonl", ".torn"
LONGEST = 64 << 20  # bytes of a line that is read
PLAIN = re.compile(r"[a-z0-9][a-z0-9_.-]{0,79}")  # ids that are names of files as they are, on every system
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # nor a pipe, which would wait for its other end
_ID = re.compile(rb'\{"memory": "([0-9A-Za-z]{1,64})"')

# ---------------------------------------------------------------- names


def name_of(session: str) -> str:
    """The name of a session's file, without its end. An id of small letters, digits and `_.-` is its own name; any other gets
    one that no other id has, whatever a file system takes for the same: its readable part, `~`, and a digest."""
    if PLAIN.fullmatch(session) and not session.endswith(".") and not RESERVED.fullmatch(session):
        return session
    readable = re.sub(r"[^a-z0-9]+", "-", session.lower()).strip("-")[:40].strip("-")
    return f"{readable}~{hashlib.blake2b(session.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"


def file_of(folder: Path, session: str) -> Path:
    """Where the turns of that session are, below the folder of the projections."""
    return folder / FOLDER / (name_of(session) + END)


# ---------------------------------------------------------------- a turn as a line


def line_of(turn: Record) -> bytes:
    """The line of a turn, with its newline."""
    said, data = turn.provenance, turn.data
    call, result = data.get("call"), data.get("result")
    value: dict[str, Any] = {"memory": turn.id, "id": turn.id, "role": said.role, "timestamp": turn.times.at.isoformat()}
    if isinstance(call, Mapping):
        value |= {"id": call.get("id") or turn.id, "role": "tool_call", "name": call.get("name"), "input": call.get("input")}
    else:
        named = result if said.role == "tool" else data.get("message")
        role = "tool_result" if said.role == "tool" else said.role
        value |= {"id": named or turn.id, "role": role, "content": turn.text}
    more = {"speaker": said.speaker, "agent": said.agent, "images": data.get("images")}
    value |= {name: each for name, each in more.items() if each}
    return json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"


def memory_of(line: bytes) -> str | None:
    """The id of the record that a line of ours is about, told from its beginning, so that a torn line tells it too."""
    found = _ID.match(line)
    return found[1].decode() if found else None


# ---------------------------------------------------------------- reading


@dataclass(slots=True)
class Transcript:
    """The lines of a file in their order, those of others included, and what could not be read, by line."""

    lines: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def read(path: str | os.PathLike[str]) -> Transcript:
    """Every line of a transcript that can be read. A damaged one is reported by its number, and costs no other.

    >>> read("sessions/monday.jsonl").problems  # doctest: +SKIP
    ['monday.jsonl:7: is not JSON: Unterminated string starting at: line 1 column 52 (char 51)']
    """
    file, found = Path(path), Transcript()
    for number, line in _lines(file):
        if not line.strip():
            continue
        try:
            found.lines.append(_value(line))
        except Damaged as problem:
            torn = "" if line.endswith(b"\n") else "; it is the last one and has no end"
            found.problems.append(f"{visible(file.name)}:{number}: {problem}{torn}")
    return found


def _value(line: bytes) -> dict[str, Any]:
    value = parsed(line.strip(), LONGEST)
    if not isinstance(value, dict):
        raise Damaged("is not a JSON object")
    return value


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines with their numbers, each with its newline. Of one that is too long only the beginning is held."""
    with opened(path, os.O_RDONLY) as file:
        number, first = 0, True
        while line := file.readline(LONGEST + 2):
            number += 1
            rest = line
            while not rest.endswith(b"\n") and (rest := file.readline(LONGEST)):
                pass
            yield number, line.removeprefix(b"\xef\xbb\xbf") if first else line
            first = False


def opened(path: Path, flags: int) -> BinaryIO:
    """A regular file, never through a link: whoever may write in the folder must not send us elsewhere."""
    try:
        file = os.open(path, flags | BINARY | _NO_LINK, 0o600)
    except FileNotFoundError as problem:
        raise Invalid(f"there is no file {visible(str(path))}; name a transcript") from problem
    except OSError as problem:
        if problem.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise _not_ours(path) from problem
        raise unavailable(problem, visible(path.name)) from problem
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise _not_ours(path)
    return os.fdopen(file, "r+b" if flags & os.O_RDWR else "rb", buffering=0 if flags & os.O_RDWR else -1)


def _not_ours(path: Path) -> Invalid:
    return Invalid(f"{visible(str(path))} is a link or no regular file, and is left alone; move it away")


# ---------------------------------------------------------------- adding


def append(path: Path, lines: Iterable[bytes]) -> list[str]:
    """Adds these lines, each whole or not at all, and returns once they are on disk; what it has to say of the file's end. To
    be called under the lock of the folder. A disk that takes only a part of a line is an error, and the part is cut off."""
    new = not path.exists()
    if new:
        create_private(path)
    with opened(path, os.O_RDWR | os.O_APPEND) as file:
        told = _mend(file, path)
        at = file.seek(0, os.SEEK_END)
        try:
            for line in lines:
                if os.write(file.fileno(), line) != len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                at += len(line)
            os.fsync(file.fileno())
        except OSError as problem:
            file.truncate(at)
            raise unavailable(problem, visible(path.name)) from problem
    if new:
        sync_folder(path.parent)
    return told


def _mend(file: BinaryIO, path: Path) -> list[str]:
    """Moves what a crash left of a line aside, so that the next one begins where a line begins."""
    end = file.seek(0, os.SEEK_END)
    whole = _end_of_lines(file, end)
    if whole == end:
        return []
    file.seek(whole)
    torn = file.read(end - whole)
    aside = path.with_name(path.name + TORN)
    create_private(aside)
    with opened(aside, os.O_RDWR | os.O_APPEND) as kept:
        was = kept.seek(0, os.SEEK_END)
        if os.write(kept.fileno(), torn + b"\n") != len(torn) + 1:
            kept.truncate(was)
            raise unavailable(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), visible(path.name))
        os.fsync(kept.fileno())
    file.truncate(whole)
    file.seek(0)
    number = 1 + sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    return [f"line {number:,} of {visible(path.name)} was torn; what there is of it is kept in {visible(aside.name)}"]


def _end_of_lines(file: BinaryIO, end: int) -> int:
    """Where the last whole line ends."""
    while end > 0:
        start = max(0, end - (1 << 16))
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
