"""Export and import, on top of the facade.

An export is everything this access may read. An import goes through the gate like any other write, with the origin `import`:
it is redacted, of low trust, and a candidate until a person confirms it. It is one batch, so one undo takes it back; and it
can be repeated, because memories that exist, or were forgotten, revised or erased here, stay as they are.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memorist.errors import Invalid, Refused
from memorist.files import jsonl, sources
from memorist.files.markdown import Entry, memories_in
from memorist.kinds import KINDS, MEMORY
from memorist.memory import Memory
from memorist.records import Draft, Outcome, Record, now_utc
from memorist.redact import Redactor
from memorist.text.visible import decoded, visible

PAGE = 400  # records read at once
ERASED = "it was erased here, and an import does not bring it back"
READABLE_STATES = ("active", "archived", "superseded")


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import. `memory.undo(batch)` takes all of it back."""

    batch: str | None
    files: tuple[str, ...]
    outcomes: Mapping[str, int]  # added, unchanged, refused; `left out` are those that were not active in an export
    problems: tuple[str, ...] = ()  # "FILE:LINE: what"
    reasons: Mapping[str, int] = field(default_factory=dict)  # why memories are unchanged → how many
    dry_run: bool = False
    drafts: tuple[Draft, ...] = ()  # of a dry run


# ---------------------------------------------------------------- out


def export(memory: Memory, where: Mapping[str, Any] | None = None) -> Iterator[str]:
    """Everything readable as lines of JSON: a first line, one per record in every state but erased, a last one.

    >>> memory = Memory(":memory:")
    >>> len(list(export(memory)))
    2
    """
    yield jsonl.head(memory.space, memory.project.scope, now_utc())
    count = 0
    for record in _records(memory, {"state": {"$in": READABLE_STATES}, **(where or {})}):
        yield jsonl.line_of(record)
        count += 1
    yield jsonl.end(count)


def export_markdown(memory: Memory, where: Mapping[str, Any] | None = None) -> Iterator[str]:
    """The active memories as a document to read, without turns and documents: by scope, kind and title, the oldest first.

    For reading only: to import them again, export lines of JSON, which keep every blank, date and id.
    """
    found = (record for record in _records(memory, where or {}) if KINDS[record.kind].layer == MEMORY)
    records = [((_safe(record.scope), _safe(record.kind), _safe(record.title or "")), record) for record in found]
    yield f"# Memories\n\n<!-- {len(records):,} of {_safe(memory.project.scope)} -->\n"
    above: tuple[str, ...] = ()
    for headings, record in sorted(records, key=lambda pair: (pair[0], pair[1].times.at)):
        for depth, heading in enumerate(headings, 1):
            if heading and headings[:depth] != above[:depth]:
                yield f"\n{'#' * (depth + 1)} {heading}\n"
        yield _item(record) if headings == above else "\n" + _item(record)
        above = headings


def _records(memory: Memory, where: Mapping[str, Any]) -> Iterator[Record]:
    """By number, a page at a time."""
    wanted: Mapping[str, Any] = where
    while page := memory.list(wanted, order="-number", limit=PAGE):
        yield from (record for record in page if record.state != "erased")
        given = where.get("number")
        if given is not None and not isinstance(given, Mapping):
            return  # the filter names one number
        wanted = {**where, "number": {**(given or {}), "$gt": page[-1].number}}


def _item(record: Record) -> str:
    tags = "".join(f" #{_safe(tag)}" for tag in record.tags)
    first, *rest = visible(record.text).replace("<!--", "&lt;!--").split("\n")
    lines = [f"- {record.times.at.date().isoformat()}: {first}", *(f"  {line}".rstrip() for line in rest)]
    return "\n".join(lines) + (f" <!--{tags} -->\n" if tags else "\n")


def _safe(label: str) -> str:
    return " ".join(visible(label).replace("<!--", "&lt;!--").split())


# ---------------------------------------------------------------- in


@dataclass(slots=True)
class _Read:
    files: list[str] = field(default_factory=list)
    found: list[Entry] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    left_out: int = 0
    refused: int = 0
    bytes: int = 0
    lines: int = 0


def import_files(
    memory: Memory, paths: Iterable[str | Path], *, scope: str | None = None, dry_run: bool = False
) -> Imported:
    """Reads Markdown files, folders of them, and exports, and remembers their content in one batch.

    With a `scope` everything goes there; else an export's memories keep their scopes, and the others go to this project.
    """
    door = memory.through(replace(memory.access, origin="import", surface="import"))
    state = memory.status()["memory"]
    if state != "on":
        raise Refused(state)
    read = _read(paths)
    _leave_out_erased(read, memory)
    # Permanent texts first, or they would be taken for twins of texts with a limited validity.
    read.found.sort(key=lambda each: each.draft.valid_from is not None or each.draft.valid_to is not None)
    found = [replace(each, draft=_placed(each.draft, scope)) for each in read.found]
    for goal in {each.draft.scope or memory.home for each in found if each.draft.id is None}:
        door.access.must_write(goal, door.access.home_of(goal))  # raised once, not for every line of a file
    if dry_run:
        drafts = tuple(_without_secrets(each.draft) for each in found)
        return Imported(None, tuple(read.files), {}, tuple(read.problems), dry_run=True, drafts=drafts)
    return _imported(read, found, door.remember_many(each.draft for each in found))


def _imported(read: _Read, found: Sequence[Entry], outcomes: Sequence[Outcome]) -> Imported:
    both = zip(found, outcomes, strict=True)
    refused = [f"{each.place}: {outcome.because}" for each, outcome in both if outcome.outcome == "refused"]
    batch = next((outcome.batch for outcome in outcomes if outcome.batch), None)
    reasons = Counter(outcome.because for outcome in outcomes if outcome.outcome == "unchanged")
    return Imported(batch, tuple(read.files), _counted(outcomes, read), (*read.problems, *refused), dict(reasons))


def _leave_out_erased(read: _Read, memory: Memory) -> None:
    """An id that was erased here stays erased, even if `scope` asks for a copy under another id."""
    ids = [each.draft.id for each in read.found if each.draft.id is not None]
    erased: set[str] = set()
    memory = memory.through(replace(memory.access, reads=("*", "project/*")))  # in any scope: an id is not content
    for start in range(0, len(ids), PAGE):
        known = memory.list({"id": {"$in": ids[start : start + PAGE]}, "state": "erased"}, limit=PAGE)
        erased |= {record.id for record in known}
    refused = [f"{each.place}: {ERASED}" for each in read.found if each.draft.id in erased]
    read.problems += refused
    read.refused = len(refused)
    read.found = [each for each in read.found if each.draft.id not in erased]


def _without_secrets(draft: Draft) -> Draft:
    """The draft as a dry run shows it; the marks differ from the store's, which depend on its secret."""
    redact = Redactor(b"dry run").redact
    return replace(draft, text=redact(draft.text), title=redact(draft.title) if draft.title else None)


def _read(paths: Iterable[str | Path]) -> _Read:
    if isinstance(paths, str | Path):
        raise Invalid("the paths must be a list, such as ['MEMORY.md']")
    wanted, problems = sources.sources(paths)
    read = _Read(problems=problems)
    for source in wanted:
        try:
            _read_one(source, read)
        except Invalid as problem:
            if not source.found:
                raise
            read.problems.append(str(problem))
        sources.must_fit(len(read.found))
    if not wanted and not problems:
        raise Invalid("no file was named; name Markdown files, a folder with a MEMORY.md, or an export")
    return read


def _read_one(source: sources.Source, read: _Read) -> None:
    raw, modified = sources.content(source, sources.LARGEST - read.bytes)
    read.bytes += len(raw)
    if source.path.suffix.lower() in sources.MARKDOWN:
        text = decoded(raw, source.shown)
        read.lines += text.count("\n") + text.count("\r")
        if read.lines > sources.MOST_LINES:
            raise Invalid(
                f"{source.shown} makes this import longer than {sources.MOST_LINES:,} lines; import less at once"
            )
        found = memories_in(text, source.name, modified)
        read.found += [replace(each, file=source.shown) for each in found]
    else:
        lines = jsonl.read(raw, source.shown)
        read.found += lines.found
        read.problems += lines.problems
        read.left_out += lines.left_out
    read.files.append(source.shown)


def _placed(draft: Draft, scope: str | None) -> Draft:
    """The draft in its target scope. In another scope than its own it is a copy, with an id of its own."""
    if scope is None or draft.scope == scope:
        return draft
    copy = replace(draft, scope=scope, id=None, home=None)
    if draft.id is None or KINDS[draft.kind].deduplicated:
        return copy
    # Turns and the like have no twins, so a key keeps a second import from adding them again.
    return replace(copy, key=f"import {hashlib.blake2b(repr(draft).encode(), digest_size=16).hexdigest()}")


def _counted(outcomes: Sequence[Outcome], read: _Read) -> dict[str, int]:
    names: Counter[str] = Counter("unchanged" if each.outcome == "repeated" else each.outcome for each in outcomes)
    names.update({"refused": read.refused, "left out": read.left_out})
    return {name: count for name, count in names.items() if count}
