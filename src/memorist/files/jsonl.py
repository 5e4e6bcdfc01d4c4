"""A record as one line of JSON, and lines of JSON as drafts.

An export is a header line, one line per record, one per link between them, and a last line with the number of all
these, so that a truncated file is noticed. Its trust, pins and votes count only if its owner brings it back
(`remember/bring.py`). A line that cannot be read is reported, and the others are read. Version 1, of 0.1.0, had no
links.

The canonical form is for comparing two stores. It omits what each store counts for itself (numbers, versions, when a
row was last written). A memory that came from elsewhere and was not touched since keeps the origin, the trust and the
status it had there. This form cannot be imported: whoever vouched for it would vouch for what others said of
themselves.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import datetime
from hashlib import blake2b
from typing import Any, get_args

from memorist import __version__, checks, strict_json
from memorist.errors import Invalid, StoreTooNew
from memorist.files.markdown import Entry
from memorist.files.streams import LONGEST_LINE, Damaged, Stream, lines
from memorist.lazy import dataclass
from memorist.records import LIVING, Counters, Draft, Link, Origin, Record, Status, Trust, utc
from memorist.remember.bring import Exported, as_exported, link_of
from memorist.remember.gate import IS_ID
from memorist.strict_json import NotStrict
from memorist.text.visible import quoted

VERSION = 2
EXPECTED = '{"memorist": "export", "version": 2, …}'
_BROUGHT = (
    "title", "tags", "files", "data", "importance", "confidence", "session", "role", "speaker", "agent", "task", "season",
    "home", "messages", "snippet", "confidence_because",
)  # fmt: skip
_ONE_OF: Mapping[str, tuple[str, ...]] = {
    "state": LIVING, "status": get_args(Status), "origin": get_args(Origin), "trust": get_args(Trust),
}  # fmt: skip
_TIMES = ("at", "valid_from", "valid_to")
_OF_A_STORE = ("number", "version", "updated")  # differs between two stores with the same content

# ---------------------------------------------------------------- writing


def head(space: str, project: str, made: datetime) -> str:
    return _line({"memorist": "export", "version": VERSION, "made": made.isoformat(), "by": f"memorist {__version__}",
                  "space": space, "project": project})  # fmt: skip


def end(count: int, seal: str | None) -> str:
    """The last line. Its seal lets the store recognise its own export."""
    return _line({"memorist": "end", "count": count, "seal": seal})


def line_of(record: Record) -> str:
    """The record as a line, with the keys always in this order."""
    return _line(_columns(record))


def canonical_line(record: Record) -> str:
    """The record as any store that holds it would write it."""
    columns = _columns(as_exported(record) or record)
    return _line({name: value for name, value in columns.items() if name not in _OF_A_STORE})


def canonical_head() -> str:
    return _line({"memorist": "canonical", "version": VERSION})


def _columns(record: Record) -> dict[str, Any]:
    times, said = record.times, asdict(record.provenance)
    return {
        "id": record.id, "number": record.number, "scope": record.scope, "home": record.home, "kind": record.kind,
        "title": record.title, "text": record.text, "tags": record.tags, "files": record.files, "data": record.data,
        "at": times.at, "valid_from": times.valid_from, "valid_to": times.valid_to,
        "importance": record.importance, "confidence": record.confidence, "pinned": record.pinned,
        "status": record.status, "state": record.state, "reason": record.reason,
        "superseded_by": record.superseded_by, "season": record.season, **said,
        "origin": record.origin, "trust": record.trust, "version": record.version,
        "created": times.created, "updated": times.updated, "last_used": times.used,
        "counters": asdict(record.counters),
    }  # fmt: skip


def line_of_link(link: Link) -> str:
    """The link, by the ids of its ends."""
    return _line({"link": link.kind, "a": link.a, "b": link.b, "weight": link.weight, "evidence": link.evidence})


class Digest:
    """A digest of the lines of an export, one after the other."""

    def __init__(self, first: bytes) -> None:
        self._hash = blake2b(digest_size=32)
        self.add(first)

    def add(self, line: bytes) -> None:
        self._hash.update(line.strip() + b"\n")

    @property
    def told(self) -> str:
        return self._hash.hexdigest()


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain) + "\n"


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else dict(value)


# ---------------------------------------------------------------- reading


class Flaw(str):
    """What is wrong with a line or a part of a file, and where."""

    __slots__ = ()


Part = Entry | Link | Flaw  # of a file, as an import meets them


@dataclass(slots=True)
class Export:
    """An export that is read line by line. A file that is not an export, or is from a newer memorist, is refused whole."""

    stream: Stream
    digest: str = ""  # of everything before its last line, once it was read to the end
    seal: str | None = None  # the seal in its last line

    def parts(self) -> Iterator[Part]:
        """Its memories and links, and the lines that cannot be read."""
        file = self.stream.shown
        found = ((n, line) for n, line, _ in lines(self.stream) if line is None or line.strip())
        first = next(found, (1, b""))
        _must_be_export(first[1], file)
        seen, said, digest = 0, None, Digest(first[1] or b"")
        for number, line in found:
            seen += 1
            try:
                value = _object(line)
                if value.get("memorist") == "end":
                    seen, said, self.seal = seen - 1, value.get("count"), value.get("seal")
                    break
                digest.add(line or b"")
                yield _part(value, file, number)
            except Damaged as problem:
                yield Flaw(f"{file}:{number}: {problem}")
        yield from _end_flaws(next(found, None), said, seen, file)
        self.digest = digest.told


def is_export(raw: bytes) -> bool:
    """Whether the file begins like an export, whatever its name."""
    return raw.lstrip()[:40].replace(b" ", b"").startswith(b'{"memorist":"export"')


def _must_be_export(first: bytes | None, file: str) -> None:
    try:
        value = _object(first)
    except Damaged:
        value = {}
    version = value.get("version")
    if value.get("memorist") != "export" or isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise Invalid(
            f"{file} is not an export of memorist: its first line must be {EXPECTED}; make one with `memorist export`, "
            "send memories of another program to `memorist remember --batch`, one JSON object per line, or import it with "
            "--document as a text"
        )
    if version > VERSION:
        raise StoreTooNew(
            f"{file} is an export of version {quoted(version)}, made by a newer memorist; this one reads version "
            f"{VERSION}: nothing was imported; upgrade memorist"
        )


def _end_flaws(after: tuple[int, object] | None, said: object, seen: int, file: str) -> Iterator[Flaw]:
    if said is None:
        yield Flaw(f"{file}: its last line is missing, so the file is truncated; {seen:,} lines were found")
    elif said != seen:
        yield Flaw(f"{file}: its last line counts {quoted(said)} memories, but {seen:,} lines were found")
    if after:
        yield Flaw(f"{file}:{after[0]}: text after the last line of the export was not read")


def _object(line: bytes | None) -> dict[str, Any]:
    value = parsed(line)
    if not isinstance(value, dict):
        raise Damaged(f"is not a JSON object: {quoted(value)}")
    return value


def parsed(line: bytes | None, longest: int | None = None) -> Any:
    """The JSON value of these bytes, if it is unambiguous. None stands for a line that was too long to read."""
    if line is None or (longest is not None and len(line) > longest):
        raise Damaged(f"has too many bytes; {longest or LONGEST_LINE:,} are allowed")
    try:
        return strict_json.loads(line.decode())
    except NotStrict as problem:
        raise Damaged(str(problem)) from problem
    except UnicodeDecodeError as problem:
        raise Damaged(f"is not UTF-8: byte 0x{line[problem.start]:02x} at offset {problem.start:,}") from problem
    except RecursionError as problem:
        raise Damaged("is nested too deeply") from problem
    except ValueError as problem:
        raise Damaged(f"is not JSON: {problem}") from problem


def _part(value: Mapping[str, Any], file: str, number: int) -> Entry | Link:
    if "link" in value:
        return _link(value)
    for name in ("id", "scope", "kind", "text", "state"):
        if not isinstance(value.get(name), str):
            raise Damaged(f"is not a record: its {name} is missing or not text")
    brought: dict[str, Any] = {name: value[name] for name in _BROUGHT if value.get(name) is not None}
    brought |= {name: moment(value[name], name) for name in _TIMES if value.get(name) is not None}
    draft = Draft(value["text"], value["kind"], value["scope"], id=value["id"], **brought)
    return Entry(file, number, draft, _exported(value))


def _link(value: Mapping[str, Any]) -> Link:
    try:
        return link_of(value)
    except Invalid as problem:
        raise Damaged(str(problem)) from problem


def _exported(value: Mapping[str, Any]) -> Exported | str:
    """What the line says of its memory besides its content; or why that cannot be read, which only its owner need know."""
    try:
        counters = {name: checks.whole(count, name, 0, 1 << 53) for name, count in value.get("counters", {}).items()}
        told: dict[str, Any] = {name: value[name] for name in _ONE_OF if name in value}
        for name, said in told.items():
            if said not in _ONE_OF[name]:
                raise Damaged(f"its {name} is {quoted(said)}")
        for name, column in {"created": "created", "updated": "updated", "used": "last_used"}.items():
            told[name] = utc(moment(value[column], column)) if value.get(column) else None
        told |= {name: value.get(name) for name in ("reason", "actor", "surface", "narrative")}
        told["superseded_by"] = _id(value, "superseded_by")
        told["pinned"] = checks.flag(value.get("pinned"), "pinned")
        told["version"] = checks.whole(value.get("version"), "version", 1, 1 << 53)
        return Exported(**told, counters=Counters(**counters))
    except (Damaged, Invalid, AttributeError, TypeError) as problem:
        return f"what it says of itself cannot be read: {problem}"


def _id(value: Mapping[str, Any], name: str) -> str | None:
    id = value.get(name)
    if id is not None and not IS_ID.fullmatch(id):
        raise Damaged(f"its {name} is {quoted(id)}")
    return id


def moment(value: Any, name: str) -> datetime:
    """A time with its zone: without one, only the machine that wrote it knew which moment it was."""
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError) as problem:
        raise Damaged(f"its {name} is not a time: {quoted(value)}") from problem
    if moment.tzinfo is None:  # local time is this computer's, and the file may be from another
        raise Damaged(f"its {name} has no time zone: {quoted(value)}")
    return moment
