"""The turns of sessions as lines of JSON, one file for each session, and an index of them: `sessions/<id>.jsonl`,
`sessions.json`.

    {"memory": "01J…", "id": "01J…", "role": "user", "timestamp": "2026-05-01T10:00:00+00:00", "content": "Where were we?"}
    {"memory": "01J…", "id": "call_1", "role": "tool_call", "timestamp": …, "name": "search", "input": {"q": "heron"}}
    {"memory": "01J…", "id": "call_1", "role": "tool_result", "timestamp": …, "content": "two nests"}

The rows of the store are the truth, and a file follows them: a line is added once its turn is stored, and none is ever
changed, except by erasing. A line is one write under the folder's lock, and it counts once it is on disk. If a crash or
a full disk leaves part of a line, that part is moved to `<id>.jsonl.torn` before the next line is added, and the line
is written again from its row. A line that cannot be read is named by its number, and the others are read; foreign lines
are kept as they are.

`memory`, the id of the record, comes first, so that even the beginning of a line identifies its turn for erasing.
"""

import errno
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from memorist.errors import Invalid, MemoristError, StoreUnavailable, unavailable
from memorist.files.jsonl import parsed
from memorist.files.projections import Changed, Target, Wipe, content, must_be_no_link, opened, rows_of
from memorist.files.streams import LONGEST_LINE, Damaged
from memorist.memory import Memory
from memorist.records import Record
from memorist.store.files import create_private, replace_private, size_of, sync_folder, unfinished
from memorist.store.nouns import parts
from memorist.store.traces import SHORTEST, finder
from memorist.store.where import Order, Where
from memorist.text.visible import visible

FOLDER, INDEX, END, TORN = "sessions", "sessions.json", ".jsonl", ".torn"
RECORDS_AT_ONCE = 500
TURNS_AT_ONCE = 5000  # turns held in memory at once
PLAIN = re.compile(r"[a-z0-9][a-z0-9_.-]{0,79}")  # ids that can be file names as they are, on every system
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
_ID = re.compile(rb'\{"memory": "([0-9A-Za-z]{1,64})"')
NO_WORDS = b'{"memory": "m00000000000000000000000000"'  # a torn line no longer than this has no words yet
_WORDS = re.compile(rb"[0-9A-Za-z]{20,64}")

# ---------------------------------------------------------------- names


def name_of(session: str) -> str:
    """The name of a session's file, without its suffix. An id of small letters, digits and `_.-` is its own name; any
    other gets a unique one, even on file systems that treat some names as equal: its readable part, `~`, and a digest."""
    if PLAIN.fullmatch(session) and not session.endswith(".") and not RESERVED.fullmatch(session):
        return session
    readable = re.sub(r"[^a-z0-9]+", "-", session.lower()).strip("-")[:40].strip("-")
    return f"{readable}~{hashlib.blake2b(session.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"


def file_of(folder: Path, session: str) -> Path:
    """The file with the turns of that session, below the folder of the projections."""
    return folder / FOLDER / (name_of(session) + END)


# ---------------------------------------------------------------- a turn as a line


def line_of(turn: Record) -> bytes:
    """The line of a turn, with its newline."""
    said, data = turn.provenance, turn.data
    call, result = data.get("call"), data.get("result")
    value: dict[str, Any] = {
        "memory": turn.id,
        "id": turn.id,
        "role": said.role,
        "timestamp": turn.times.at.isoformat(),
    }
    if isinstance(call, Mapping):
        value |= {
            "id": call.get("id") or turn.id,
            "role": "tool_call",
            "name": call.get("name"),
            "input": call.get("input"),
        }
    else:
        named = result if said.role == "tool" else data.get("message")
        role = "tool_result" if said.role == "tool" else said.role
        value |= {"id": named or turn.id, "role": role, "content": turn.text}
    more = {"speaker": said.speaker, "agent": said.agent, "images": data.get("images")}
    value |= {name: each for name, each in more.items() if each}
    return json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"


def memory_of(line: bytes) -> str | None:
    """The id of the record of one of our lines, read from its beginning, so that it works for a torn line too."""
    found = _ID.match(line)
    return found[1].decode() if found else None


# ---------------------------------------------------------------- reading


@dataclass(slots=True)
class Transcript:
    """The lines of a file in their order, including foreign ones, and the unreadable ones by line."""

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
    value = parsed(line.strip(), LONGEST_LINE)
    if not isinstance(value, dict):
        raise Damaged("is not a JSON object")
    return value


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines with their numbers, each with its newline. Of a line that is too long only the beginning is held."""
    with opened(path, os.O_RDONLY) as file:
        number, first = 0, True
        while line := file.readline(LONGEST_LINE + 2):
            number += 1
            rest = line
            while not rest.endswith(b"\n") and (rest := file.readline(LONGEST_LINE)):
                pass
            yield number, line.removeprefix(b"\xef\xbb\xbf") if first else line
            first = False


# ---------------------------------------------------------------- adding


def append(path: Path, lines: Iterable[bytes]) -> list[str]:
    """Adds these lines, each whole or not at all, and returns once they are on disk, with a remark if the file's end
    was damaged. Must be called under the lock of the folder. If a disk takes only part of a line, it cuts the part off
    and raises."""
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
    """Moves a line torn by a crash aside, so that the next one begins at the start of a line."""
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
    while end > 0:
        start = max(0, end - (1 << 16))
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


# ---------------------------------------------------------------- what follows the rows


@dataclass(frozen=True, slots=True)
class Listed:
    """What the index says of a session. `bytes` and `last` tell whether the file is unchanged, so that a line can be
    added without reading those before it."""

    id: str
    file: str
    turns: int = 0
    bytes: int = 0
    last: int = 0  # the number of the last turn in it
    created: str | None = None
    updated: str | None = None
    agent: str | None = None
    state: str | None = None
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Transcripts:
    """The projection: the turns of a project's sessions, including those in a user's scope."""

    target: Target
    name: str = "transcripts"

    def files(self) -> Iterator[Path]:
        if self._index_file.exists():
            yield self._index_file
        for end in (END, END + TORN):
            yield from sorted(self._folder.glob(f"*{end}"))

    def write(self, memory: Memory, changed: Changed) -> list[str]:
        """Adds what was said since, and reports lines that were torn or cannot be read. A file that differs from the
        index is compared with everything said in its session."""
        index = self._index()
        if changed is None or index is None:
            return self._write_all(index or {}, memory)
        told, known, sessions = list[str](), set(index), set[str]()
        for records in self._changed(memory, changed):
            sessions |= _by_session(_of("session", records)).keys()
            for session, some in _by_session(self._mine(memory, _of("turn", records))).items():
                fits = self._is_next(index.get(session), some)
                whole = some if fits else self._mine(memory, self._of_session(memory, session))
                told += self._add(index, session, some) if fits else self._compare(index, session, whole, {})
        self._describe(index, memory, sessions | (set(index) - known))
        self._save(index)
        return told

    def _write_all(self, index: dict[str, Listed], memory: Memory) -> list[str]:
        """Compares every session with its file."""
        told, had = list[str](), dict[str, set[str]]()
        for turns in self._all(memory):
            for session, some in _by_session(self._mine(memory, turns)).items():
                told += self._compare(index, session, some, had)
        self._describe(index, memory, set(index))
        self._save(index)
        return told

    def erase(self, memory: Memory, wipe: Wipe) -> list[str]:
        """Rewrites every affected file with the lines of what still lives; a file without any line is removed."""
        told, failed, holds, before = list[str](), list[str](), _Holds(wipe), self._sizes()
        for file in [file for file in self.files() if file != self._index_file]:
            try:
                told += self._cleaned(file, holds, memory)
            except Invalid as problem:  # not a file of ours
                told.append(str(problem))
            except (MemoristError, OSError) as problem:
                failed.append(f"{FOLDER}/{visible(file.name)}: {problem}")
        self._index_again(memory, before)
        if failed:
            raise StoreUnavailable("; ".join(failed))
        return told

    def _cleaned(self, file: Path, holds: "_Holds", memory: Memory) -> list[str]:
        if any(holds(line) for _, line in _lines(file)):
            self._rewrite(file, holds, memory)
        return _untold(file) if file.exists() else []

    # ------------------------------------------------------------ places

    @property
    def _folder(self) -> Path:
        return self.target.folder / FOLDER

    @property
    def _index_file(self) -> Path:
        return self.target.folder / INDEX

    def _file(self, session: str) -> Path:
        return file_of(self.target.folder, session)

    # ------------------------------------------------------------ rows

    def _all(self, memory: Memory) -> Iterator[list[Record]]:
        """Everything ever said, in order of arrival, in batches."""
        where, last = self._said(memory).also("kind", "eq", "turn"), 0
        while some := memory._tools.store.find(
            where.also("number", "gt", last), Order("number", ascending=True), TURNS_AT_ONCE
        ):
            last = some[-1].number
            yield some

    def _of_session(self, memory: Memory, session: str) -> list[Record]:
        where = self._said(memory).also("kind", "eq", "turn").also("session", "eq", session)
        return memory._tools.store.find(where, Order("number", ascending=True))

    def _changed(self, memory: Memory, ids: Sequence[str]) -> Iterator[list[Record]]:
        """The turns and sessions among these, in order of arrival, in batches."""
        where = self._said(memory).also("kind", "in", ("turn", "session"))
        for some in parts(ids, RECORDS_AT_ONCE):
            yield sorted(memory._tools.store.get(some, where), key=lambda record: record.number)

    def _said(self, memory: Memory) -> Where:
        """The turns of sessions, including forgotten ones: they were said too."""
        where = rows_of(memory, self.target.scope).also("state", "ne", "erased").also("superseded_by", "eq", None)
        return where.also("session", "ne", None)

    def _mine(self, memory: Memory, turns: Sequence[Record]) -> list[Record]:
        """Those of this project. A user's turns are in the user's scope, and the session says which project it belongs
        to."""
        scope = self.target.scope
        elsewhere = {turn.provenance.session or "" for turn in turns if turn.scope != scope}
        known = self._sessions(memory, elsewhere) if elsewhere else []
        places = {(record.scope, record.provenance.session) for record in known}
        return [turn for turn in turns if turn.scope == scope or (turn.scope, turn.provenance.session) in places]

    def _sessions(self, memory: Memory, ids: Iterable[str]) -> list[Record]:
        """The records of these sessions, as far as they belong to this project."""
        scope, store = self.target.scope, memory._tools.store
        where = rows_of(memory, scope).also("kind", "eq", "session").also("state", "eq", "active")
        wanted = [where.also("session", "in", tuple(some)) for some in parts(sorted(ids), RECORDS_AT_ONCE)]
        found = [record for some in wanted for record in store.find(some, Order("number", ascending=True))]
        return [record for record in found if scope in (record.scope, record.data.get("project"))]

    # ------------------------------------------------------------ lines

    def _is_next(self, entry: Listed | None, turns: Sequence[Record]) -> bool:
        """Whether the file is unchanged, and all of these came after its last line."""
        return entry is not None and turns[0].number > entry.last and size_of(self._file(entry.id)) == entry.bytes

    def _compare(
        self, index: dict[str, Listed], session: str, turns: Sequence[Record], had: dict[str, set[str]]
    ) -> list[str]:
        """Adds the turns that the file does not have. `had`: the ids in the files that were read so far."""
        file, told = self._file(session), list[str]()
        if session not in had:
            entry = index.get(session) or Listed(session, f"{FOLDER}/{file.name}")
            index[session], had[session], told = _look(file, entry)
        told += self._add(index, session, [turn for turn in turns if turn.id not in had[session]])
        index[session] = replace(index[session], last=turns[-1].number)
        return told

    def _add(self, index: dict[str, Listed], session: str, turns: Sequence[Record]) -> list[str]:
        """Adds these to the file of their session, and to its entry in the index."""
        file, entry = self._file(session), index[session]
        must_be_no_link(self._folder)
        told = append(file, map(line_of, turns))
        first, latest = (turns[0].times.at.isoformat(), turns[-1].times.at.isoformat()) if turns else (None, None)
        index[session] = replace(
            entry, turns=entry.turns + len(turns), bytes=size_of(file), last=turns[-1].number if turns else entry.last,
            created=entry.created or first, updated=latest or entry.updated,
        )  # fmt: skip
        return told

    def _read_again(self, entry: Listed) -> Listed:
        found, _, _ = _look(self.target.folder / entry.file, replace(entry, created=None, updated=None))
        return replace(found, bytes=size_of(self.target.folder / entry.file))

    def _rewrite(self, file: Path, holds: "_Holds", memory: Memory) -> None:
        """Rewrites the file without what must go, whole or not at all."""
        store, where, kept = memory._tools.store, rows_of(memory, self.target.scope), 0
        with unfinished(file) as partial:
            create_private(partial)
            with opened(partial, os.O_RDWR | os.O_APPEND) as new:
                for _, line in _lines(file):
                    if holds(line):
                        id = memory_of(line)
                        living = [each for each in store.get([id], where) if each.state != "erased"] if id else []
                        line = b"" if file.name.endswith(TORN) else b"".join(map(line_of, living))
                    kept += new.write(line)
                os.fsync(new.fileno())
            if kept:
                partial.replace(file)
            else:
                file.unlink()
        sync_folder(file.parent)

    # ------------------------------------------------------------ the index

    def _index(self) -> dict[str, Listed] | None:
        """The index; None if it cannot be trusted."""
        if not self._index_file.exists():
            return None
        said = content(self._index_file)
        try:
            value = json.loads(said)
            return {each["id"]: Listed(**each) for each in value["sessions"]}
        except (ValueError, LookupError, TypeError, RecursionError):
            return None

    def _sizes(self) -> dict[str, tuple[int, int]]:
        """Shows whether a file of lines was replaced."""
        found = {file: file.lstat() for file in self._folder.glob(f"*{END}")}
        return {f"{FOLDER}/{file.name}": (facts.st_size, facts.st_ino) for file, facts in found.items()}

    def _index_again(self, memory: Memory, before: Mapping[str, tuple[int, int]]) -> None:
        """Indexes the files as they are now; the entries of files that were not replaced stay."""
        index, now = self._index(), self._sizes()
        if index is not None:
            same = {name for name, facts in now.items() if before.get(name) == facts}
            there = {id: entry for id, entry in index.items() if entry.file in now}
            kept = {id: entry if entry.file in same else self._read_again(entry) for id, entry in there.items()}
            self._describe(kept, memory, set(kept))
            self._save(kept)

    def _describe(self, index: dict[str, Listed], memory: Memory, sessions: set[str]) -> None:
        """Adds what the records of these sessions say about them."""
        told = {record.provenance.session: record for record in self._sessions(memory, sessions & index.keys())}
        for session in sessions & index.keys():
            record = told.get(session)
            data = {} if record is None else record.data
            agent = None if record is None else record.provenance.agent
            index[session] = replace(index[session], agent=agent, state=data.get("state"), parent=data.get("parent"))

    def _save(self, index: Mapping[str, Listed]) -> None:
        """Writes one line for each session. An unchanged file is left alone."""
        said = ({name: each for name, each in asdict(entry).items() if each is not None} for entry in index.values())
        lines = [json.dumps(each, ensure_ascii=False) for each in said]
        text = '{"memorist": "sessions", "version": 1, "sessions": [\n' + ",\n".join(lines) + "\n]}\n"
        if not lines and not self._index_file.exists():
            return
        before = content(self._index_file) if self._index_file.exists() else b""
        if before.replace(b"\r\n", b"\n") != text.encode("utf-8", "replace"):
            replace_private(self._index_file, text, durable=False)  # it can be made again from the files beside it


class _Holds:
    """Whether a line contains what must go: by the id at its beginning, or for a foreign line, by any id or word in it."""

    def __init__(self, wipe: Wipe) -> None:
        self._ids = wipe.ids
        self._traced: Callable[[bytes], bool] = finder([each for each in wipe.traces if len(each) >= SHORTEST])

    def __call__(self, line: bytes) -> bool:
        id = memory_of(line)
        if id is not None and id in self._ids:
            return True
        return self._traced(line) or (id is None and any(word.decode() in self._ids for word in _WORDS.findall(line)))


def _look(file: Path, entry: Listed) -> tuple[Listed, set[str], list[str]]:
    """Reads a file for its index entry, the ids of its turns, and what cannot be read."""
    had, told = set[str](), list[str]()
    for number, line in _lines(file) if file.exists() else ():
        if not line.endswith(b"\n"):
            break  # a torn line, which the next append moves aside
        try:
            value = _value(line) if line.strip() else {}
        except Damaged as problem:
            told.append(f"{visible(file.name)}:{number}: {problem}")
            continue
        if isinstance(value.get("memory"), str):
            had.add(value["memory"])
            at = str(value.get("timestamp"))
            entry = replace(entry, created=entry.created or at, updated=at)
    return replace(entry, turns=len(had)), had, told


def _untold(file: Path) -> list[str]:
    """Lines of unknown ownership: neither ours by their beginning, nor complete foreign lines."""
    told = []
    for number, line in _lines(file):
        try:
            if memory_of(line) is None and len(line) > len(NO_WORDS) and line.strip():
                _value(line)
        except Damaged as problem:
            told.append(f"{FOLDER}/{visible(file.name)}:{number}: {problem}, so whether it holds any of it is unknown")
    return told


def _of(kind: str, records: Iterable[Record]) -> list[Record]:
    return [record for record in records if record.kind == kind]


def _by_session(turns: Iterable[Record]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for turn in turns:
        found.setdefault(turn.provenance.session or "", []).append(turn)
    return found
