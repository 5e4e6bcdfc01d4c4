"""Export and import, on top of the facade.

An export is whole: every memory of the project in every state, with its votes, pins and history of texts, and the links between
them. Other scopes are exported where they are named. An import goes through the gate like any other write, with the origin
`import`: it is redacted, of low trust, and a candidate until a person confirms it. With `own` the user brings an export of
their own back, and everything is as it was (`remember/bring.py`); a store knows what it wrote itself by its seal. An import is
one batch, so one undo takes it back, but for aliases and settings, which are no memories; and it can be repeated, because
memories that exist, or were forgotten, revised or erased here, stay as they are.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memorist.access import GLOBAL, family_of, is_homed
from memorist.errors import Invalid, MemoristError, Refused
from memorist.files import documents, jsonl, originals, sources
from memorist.files.markdown import Entry, memories_in
from memorist.kinds import ALIASES, KINDS, MEMORY
from memorist.memory import Memory
from memorist.noun import Noun
from memorist.records import LIVING, Draft, Link, Outcome, Record, memories, now_utc
from memorist.redact import Redactor
from memorist.remember.authority import FROM_FILES, STANDING
from memorist.remember.bring import Exported, Import
from memorist.store.nouns import parts
from memorist.text.visible import decoded, visible

PAGE = 400  # records read at once
ERASED = "it was erased here, and an import does not bring it back"
OF_PAST = "it says that it is the past text of a past text; remove its superseded_by"
STANDS = "it is for the prompts of every project: the user may import it at a terminal, or --scope puts it elsewhere"
NOT_OWN = "only the user brings an export back as it was: do it at a terminal, or with an access of origin='user'"


@dataclass(frozen=True, slots=True, repr=False)
class Imported(Noun):
    """The result of an import. `memory.undo(batch)` takes all of it back but aliases and settings."""

    batch: str | None
    files: tuple[str, ...]
    # added, unchanged, refused, linked; `left out`: not active in another's export; `replaced`: pieces of documents
    outcomes: Mapping[str, int] = field(hash=False)
    problems: tuple[str, ...] = ()  # "FILE:LINE: what"
    reasons: Mapping[str, int] = field(default_factory=dict, hash=False)  # why memories are unchanged → how many
    dry_run: bool = False
    drafts: tuple[Draft, ...] = ()  # of a dry run
    notes: tuple[str, ...] = ()  # what is no problem, but good to know, such as files of a folder that were left out

    def _line(self) -> str:
        counts = ", ".join(f"{count:,} {name}" for name, count in self.outcomes.items()) or "nothing"
        done = f"dry run: {memories(len(self.drafts))}" if self.dry_run else f"{counts}, batch {self.batch}"
        number = len(self.files)
        return f"{number:,} {'file' if number == 1 else 'files'}, {done}; {len(self.problems):,} problems"


# ---------------------------------------------------------------- out


def export(memory: Memory, where: Mapping[str, Any] | None = None, *, everything: bool = False) -> Iterator[str]:
    """A project as lines of JSON: a first line, one per record in every state but erased, one per link, a last one. Of other
    scopes those are exported that the filter or the access names; all that may be read with `everything`.

    >>> memory = Memory(":memory:")
    >>> len(list(export(memory)))
    2
    """
    first = jsonl.head(memory.space, memory.project.scope, now_utc())
    digest, count = jsonl.Digest(first.encode()), 0
    yield first
    for line in _lines(memory, {"state": {"$in": LIVING}, **(where or {})}, everything):
        digest.add(line.encode())
        count += 1
        yield line
    yield jsonl.end(count, _seal(memory, digest.told))


def _lines(memory: Memory, where: Mapping[str, Any], everything: bool) -> Iterator[str]:
    ids = []
    for record in _records(memory, where, everything):
        yield jsonl.line_of(record)
        ids.append(record.id)
    yield from map(jsonl.line_of_link, _links(memory, ids))


def _seal(memory: Memory, digest: str) -> str:
    """What only this store, or a copy of it, can write below an export of this space."""
    return memory._writer.digest(f"export {memory.space} {digest}")


def left_out(memory: Memory) -> dict[str, int]:
    """The scopes that an export of this project leaves out, with the number of their active memories."""
    scopes: Mapping[str, int] = memory.status()["scopes"]
    return {scope: count for scope, count in scopes.items() if not _is_inside(scope, memory.project.scope, memory)}


def export_markdown(
    memory: Memory, where: Mapping[str, Any] | None = None, *, everything: bool = False
) -> Iterator[str]:
    """The active memories as a document to read, without turns and documents: by scope, kind and title, the oldest first.
    Of which scopes, is as in `export`.

    For reading only: to import them again, export lines of JSON, which keep every blank, date and id.
    """
    found = (record for record in _records(memory, where or {}, everything) if KINDS[record.kind].layer == MEMORY)
    records = [((_safe(record.scope), _safe(record.kind), _safe(record.title or "")), record) for record in found]
    yield f"# Memories\n\n<!-- {len(records):,} of {_safe(memory.project.scope)} -->\n"
    above: tuple[str, ...] = ()
    for headings, record in sorted(records, key=lambda pair: (pair[0], pair[1].times.at)):
        for depth, heading in enumerate(headings, 1):
            if heading and headings[:depth] != above[:depth]:
                yield f"\n{'#' * (depth + 1)} {heading}\n"
        yield _item(record) if headings == above else "\n" + _item(record)
        above = headings


def _records(memory: Memory, where: Mapping[str, Any], everything: bool) -> Iterator[Record]:
    """By number, a page at a time."""
    wanted, anywhere = where, everything or "scope" in where
    while page := memory.list(wanted, order="-number", limit=PAGE):
        yield from (record for record in page if _is_wanted(record, anywhere, memory))
        given = where.get("number")
        if given is not None and not isinstance(given, Mapping):
            return  # the filter names one number
        wanted = {**where, "number": {**(given or {}), "$gt": page[-1].number}}


def _is_wanted(record: Record, anywhere: bool, memory: Memory) -> bool:
    return record.state != "erased" and (anywhere or _is_inside(record.scope, record.home, memory))


def _is_inside(scope: str, home: str | None, memory: Memory) -> bool:
    """Whether it belongs to the project, or is named by the access itself; or to where memories go here, if no project was
    named."""
    here = memory.project.scope
    usual = here if memory.project.how == "named" else memory.home
    return scope in (here, *memory.access.reads) or (home in (here, usual) if is_homed(scope) else scope == usual)


def _links(memory: Memory, ids: Sequence[str]) -> Iterator[Link]:
    """Those between these memories, by the first of their ends."""
    there = set(ids)
    for some in map(set, parts(ids, PAGE)):
        yield from (link for link in memory._links(sorted(some)) if link.a in some and link.b in there)


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
    links: list[Link] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    documents: set[str] = field(default_factory=set)  # their names
    chosen: list[originals.Original] = field(default_factory=list)
    sealed: list[bool] = field(default_factory=list)  # of each file that speaks of trust: whether this store wrote it
    left_out: int = 0
    linked: int = 0
    replaced: int = 0
    refused: int = 0
    bytes: int = 0
    lines: int = 0


def import_files(
    memory: Memory,
    paths: Iterable[str | Path],
    *,
    scope: str | None = None,
    dry_run: bool = False,
    own: bool = False,
    document: bool = False,
) -> Imported:
    """Reads Markdown files, folders of them, exports, the files of the founding documents' programs and other text, and
    remembers their content in one batch.

    With a `scope` everything goes there; else an export's memories keep their scopes, and the others go to this project. With
    `own` the user vouches for exports: they come back with their pins, votes, states and trust, not as candidates; for what
    this store wrote itself, and nobody changed, the user need not vouch. Text that is neither Markdown nor JSON is a document,
    in pieces that `search="sources"` finds; with `document` every file is one. Imported again, it replaces its pieces.
    """
    if own and memory.access.origin != "user":
        raise Refused(NOT_OWN)
    state = memory.status()["memory"]
    if state != "on":
        raise Refused(state)
    read = _read(paths, memory, document)
    own = own or (memory.access.origin == "user" and bool(read.sealed) and all(read.sealed))
    _leave_out_erased(read, memory)
    if not own:
        _leave_out_inactive(read)
    if scope is not None:
        _place(read, scope)
    if not own:
        _refuse_standing(read, memory)
    for goal in {each.draft.scope or memory.home for each in read.found if each.draft.id is None}:
        memory.access.must_write(goal, memory.access.home_of(goal))  # raised once, not for every line of a file
    if dry_run:
        drafts = tuple(_without_secrets(each.draft) for each in read.found)
        return replace(_imported(replace(read, found=[]), [], None), outcomes={}, dry_run=True, drafts=drafts)
    outcomes = _bring(read, memory) if own else _remember(read, memory)
    _note_other_projects(read, outcomes, memory)
    batch = next((outcome.batch for outcome in outcomes if outcome.batch), None)
    return _imported(read, outcomes, _refresh(read, outcomes, scope or memory.home, batch, memory))


def _remember(read: _Read, memory: Memory) -> list[Outcome]:
    """As candidates, with what an export said kept as data; the new ones are linked as they were."""
    door = _door(memory)
    outcomes = door.remember_many(_as_candidate(each) for each in read.found)
    added = {outcome.id: outcome.batch for outcome in outcomes if outcome.id and outcome.batch}
    exported = {each.draft.id for each in read.found if each.draft.id in added}
    if exported:
        _link(read, door._import(exported, next(iter(added.values()))))
    return outcomes


def _bring(read: _Read, memory: Memory) -> list[Outcome]:
    """Exports as they were; what else was found, as candidates."""
    _refuse_past_of_past(read)
    whole = [(each.draft, each.told) for each in read.found if isinstance(each.told, Exported)]
    bringing = memory._import({str(draft.id) for draft, _ in whole}, None)
    done = iter([memory._tell(outcome) for some in parts(whole, PAGE) for outcome in bringing.records(some)])
    _link(read, bringing)
    _choose(read, memory)
    others = iter(_door(memory).remember_many(each.draft for each in read.found if each.told is None))
    return [_outcome(each.told, done, others) for each in read.found]


def _door(memory: Memory) -> Memory:
    return memory.through(replace(memory.access, origin="import", surface="import"))


def _choose(read: _Read, memory: Memory) -> None:
    """What the user had chosen in the program that a file comes from."""
    for original in read.chosen:
        try:
            for word, means in original.aliases.items():
                memory.alias(word, *means)
            if original.choices:
                memory._choose(**original.choices)
        except MemoristError as problem:
            read.problems.append(f"its aliases or settings were left out: {problem}")


def _refresh(read: _Read, outcomes: Sequence[Outcome], scope: str, batch: str | None, memory: Memory) -> str | None:
    """Retires the pieces that the documents held and do not hold any more. → the batch"""
    if not read.documents:
        return batch
    both = zip(read.found, outcomes, strict=True)
    lines = {done.id: each.draft.data["lines"] for each, done in both if done.id and "lines" in each.draft.data}
    door = _door(memory)
    known = {piece.id: piece.data.get("lines") for piece in _pieces(door, scope, read.documents)}
    moved = {id: lines[id] for id, stood in known.items() if lines.get(id, stood) != stood}
    bringing = door._import(set(), batch)
    read.replaced = bringing.refresh([id for id in known if id not in lines], moved)
    return bringing.batch


def _pieces(memory: Memory, scope: str, names: Set[str]) -> Iterator[Record]:
    """Of these documents, as files brought them."""
    where = {"scope": scope, "home": memory.access.home_of(scope), "kind": "document"}
    for piece in _records(memory, where, everything=True):
        if piece.origin in FROM_FILES and names & set(piece.files[:1]):
            yield piece


def _refuse_past_of_past(read: _Read) -> None:
    """A past text belongs to the memory that was revised, which is no past text itself: so there are no circles of them."""
    past = {
        e.draft.id: e.told.superseded_by for e in read.found if isinstance(e.told, Exported) and e.told.superseded_by
    }
    read.found = [replace(each, told=OF_PAST) if past.get(each.draft.id) in past else each for each in read.found]


def _link(read: _Read, bringing: Import) -> None:
    read.linked = bringing.links(read.links)
    read.problems += bringing.left


def _outcome(told: Exported | str | None, brought: Iterator[Outcome], others: Iterator[Outcome]) -> Outcome:
    if isinstance(told, str):
        return Outcome("refused", told)
    return next(brought if told else others)


def _as_candidate(entry: Entry) -> Draft:
    told = entry.told.as_data() if isinstance(entry.told, Exported) else {}
    return replace(entry.draft, data={**entry.draft.data, **told}) if told else entry.draft


def _imported(read: _Read, outcomes: Sequence[Outcome], batch: str | None) -> Imported:
    both = zip(read.found, outcomes, strict=True)
    refused = [f"{each.place}: {outcome.because}" for each, outcome in both if outcome.outcome == "refused"]
    reasons = Counter(outcome.because for outcome in outcomes if outcome.outcome == "unchanged")
    problems = (*read.problems, *refused)
    counted = _counted(outcomes, read)
    return Imported(batch, tuple(read.files), counted, problems, dict(reasons), notes=tuple(read.notes))


def _note_other_projects(read: _Read, outcomes: Sequence[Outcome], memory: Memory) -> None:
    """A file of another project is either refused here, or what it holds is found there and not here."""
    here, counts = memory.project.scope, Counter[tuple[str, bool]]()
    for each, done in zip(read.found, outcomes, strict=True):
        goal = str(each.draft.home or each.draft.scope or here)
        if family_of(goal) == "project" and goal not in (here, memory.home) and done.outcome != "unchanged":
            counts[goal, done.outcome == "refused"] += 1
    for (goal, refused), count in counts.items():
        way = f"import with --project {goal.partition('/')[2]}, or with --scope {here} as copies"
        what = f"which is not this project, {here}: {way}" if refused else f"and this folder is {here}"
        read.notes.append(f"{count:,} {'belong' if refused else 'went'} to {goal}, {what}")


def _leave_out_inactive(read: _Read) -> None:
    """What was forgotten or revised elsewhere is not brought here by a file; only its owner wants it back. Permanent texts come
    first, or they would be taken for twins of texts with a limited validity."""
    active = [each for each in read.found if not isinstance(each.told, Exported) or each.told.state == "active"]
    active.sort(key=lambda each: each.draft.valid_from is not None or each.draft.valid_to is not None)
    read.left_out, read.found = len(read.found) - len(active), active


def _refuse_standing(read: _Read, memory: Memory) -> None:
    """What an agent could not put into every project by itself, it cannot put there by a file either."""
    if memory.access.origin in ("user", *FROM_FILES):
        return
    refused = [f"{each.place}: {STANDS}" for each in read.found if _stands(each.draft, memory.home)]
    read.problems += refused
    read.refused += len(refused)
    read.found = [each for each in read.found if not _stands(each.draft, memory.home)]


def _stands(draft: Draft, usual: str) -> bool:
    kind = str(draft.kind)
    return GLOBAL in (draft.scope or usual, draft.home) and ALIASES.get(kind, kind) in STANDING


def _leave_out_erased(read: _Read, memory: Memory) -> None:
    """An id that was erased here stays erased, even if `scope` asks for a copy under another id."""
    ids = [each.draft.id for each in read.found if each.draft.id is not None]
    erased: set[str] = set()
    memory = memory.through(replace(memory.access, reads=("*", "project/*")))  # in any scope: an id is not content
    for some in parts(ids, PAGE):
        known = memory.list({"id": {"$in": some}, "state": "erased"}, limit=PAGE)
        erased |= {record.id for record in known}
    refused = [f"{each.place}: {ERASED}" for each in read.found if each.draft.id in erased]
    read.problems += refused
    read.refused = len(refused)
    read.found = [each for each in read.found if each.draft.id not in erased]


def _without_secrets(draft: Draft) -> Draft:
    """The draft as a dry run shows it; the marks differ from the store's, which depend on its secret."""
    redact = Redactor(b"dry run").redact
    return replace(draft, text=redact(draft.text), title=redact(draft.title) if draft.title else None)


def _read(paths: Iterable[str | Path], memory: Memory, document: bool) -> _Read:
    if isinstance(paths, str | Path):
        raise Invalid("the paths must be a list, such as ['MEMORY.md']")
    wanted, problems, notes = sources.sources(paths, document)
    read = _Read(problems=problems, notes=notes)
    for source in wanted:
        try:
            _read_one(source, read, memory, document)
        except Invalid as problem:
            if not source.found:
                raise
            read.problems.append(str(problem))
        sources.must_fit(len(read.found))
    if not wanted and not problems:
        raise Invalid(
            "no file was named; name Markdown files, a folder with a MEMORY.md, an export or other text files"
        )
    return read


def _read_one(source: sources.Source, read: _Read, memory: Memory, document: bool) -> None:
    raw, modified = sources.content(source, sources.LARGEST - read.bytes)
    read.bytes += len(raw)
    suffix = source.path.suffix.lower()
    if not document and suffix in sources.MARKDOWN:
        text = decoded(raw, source.shown)
        read.lines += text.count("\n") + text.count("\r")
        if read.lines > sources.MOST_LINES:
            raise Invalid(
                f"{source.shown} makes this import longer than {sources.MOST_LINES:,} lines; import less at once"
            )
        found = memories_in(text, source.name, modified)
        read.found += [replace(each, file=source.shown) for each in found]
    elif not document and (suffix in sources.JSON or jsonl.is_export(raw)):
        _take_lines(_json(raw, source, read, memory), read, memory)
    else:
        writer, text = memory._writer, documents.text_of(raw, source.shown)
        # A project that was named is no folder: the same name in two folders is two documents.
        root = None if memory.project.how == "named" else memory.project.root
        name = writer.redact(sources.name_in(root, source))
        read.found += documents.pieces_of(writer.redact_lines(text), name, modified, source.shown)
        read.documents.add(name)
    read.files.append(source.shown)


def _json(raw: bytes, source: sources.Source, read: _Read, memory: Memory) -> jsonl.Lines:
    """An export, or a file of a founding document's program; if its project.json is damaged, the backup beside it."""
    found = None if jsonl.is_export(raw) else originals.read(raw, source.shown, memory)
    if found is None and (backup := sources.backup_of(source)) is not None:
        copy, _ = sources.content(backup, sources.LARGEST - read.bytes)
        found = originals.read(copy, backup.shown, memory)
        read.bytes += len(copy)
        read.problems += [f"{source.shown} is damaged, so {backup.shown} was read"] if found else []
    return found or jsonl.read(raw, source.shown)


def _take_lines(lines: jsonl.Lines, read: _Read, memory: Memory) -> None:
    read.sealed.append(lines.seal is not None and lines.seal == _seal(memory, lines.digest))
    read.found += lines.found
    read.links += lines.links
    read.problems += lines.problems
    if isinstance(lines, originals.Original):
        read.chosen.append(lines)


def _place(read: _Read, scope: str) -> None:
    """Everything in that scope. What lay in another is a copy, with an id of its own: always the same, so that a second import
    finds it, and links and past texts know it."""
    copies = {e.draft.id: _copy_id(e.draft.id, scope) for e in read.found if e.draft.id and e.draft.scope != scope}
    read.found = [_placed(each, scope, copies) for each in read.found]
    read.links = [replace(link, a=copies.get(link.a, link.a), b=copies.get(link.b, link.b)) for link in read.links]


def _placed(entry: Entry, scope: str, copies: Mapping[str, str]) -> Entry:
    draft, told = entry.draft, entry.told
    if draft.scope != scope:
        draft = replace(draft, scope=scope, home=None, id=copies.get(draft.id or "", draft.id))
    if isinstance(told, Exported) and told.superseded_by:
        told = replace(told, superseded_by=copies.get(told.superseded_by, told.superseded_by))
    return replace(entry, draft=draft, told=told)


def _copy_id(id: str, scope: str) -> str:
    """An id of the same moment. What is no id stays as it is, and is refused."""
    return originals.derived_id(id[:11], f"{scope} {id}") if len(id) == 27 else id


def _counted(outcomes: Sequence[Outcome], read: _Read) -> dict[str, int]:
    names: Counter[str] = Counter("unchanged" if each.outcome == "repeated" else each.outcome for each in outcomes)
    names.update({"refused": read.refused, "left out": read.left_out, "linked": read.linked, "replaced": read.replaced})
    return {name: count for name, count in names.items() if count}
