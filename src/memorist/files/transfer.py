"""Export and import, on top of the facade.

An export is whole: every memory of the project in every state, with its votes, pins and history of texts, and the links
between them. Other scopes are exported if they are named. An import goes through the gate like any other write, with
the origin `import`: it is redacted, of low trust, and a candidate until a person confirms it. With `own` the user
brings back an export of their own, and everything is as it was (`remember/bring.py`); a store recognises its own
exports by their seal. An import is one batch, so one undo takes it back, except aliases and settings, which are not
memories. It can be repeated, because memories that exist here, or were forgotten, revised or erased here, stay as they
are.

Both handle any number of memories, a page at a time. Every file is read twice: once to the end before anything is
stored, so that a file that is refused as a whole leaves nothing behind, and once to store it
(docs/why/0044-imports-read-twice.md).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memorist.access import GLOBAL, family_of, is_homed
from memorist.errors import Invalid, MemoristError, Refused
from memorist.files import contents, jsonl, sources
from memorist.files.markdown import Entry
from memorist.files.streams import Ids
from memorist.kinds import ALIASES, KINDS, MEMORY
from memorist.memory import Memory
from memorist.noun import Noun
from memorist.records import LIVING, Draft, Link, Outcome, Record, derived_id, memories, now_utc
from memorist.redact import Redactor
from memorist.remember.authority import FROM_FILES, STANDING
from memorist.remember.bring import Exported
from memorist.text.visible import visible

PAGE = 250  # memories read or stored at once
MOST_SHOWN = 1000  # drafts of a dry run
MOST_USERS, USERS_SHOWN = 1000, 5  # counted individually, and named
LENGTH_OF_IDS = 27
STATES = {"superseded": "past texts"}
NOT_ACTIVE = "your own export comes back whole with --own at a terminal, in Python own=True"
ERASED = "it was erased here, and an import does not bring it back"
OF_PAST = "it says that it is the past text of a past text; remove its superseded_by"
STANDS = "it is for the prompts of every project: the user may import it at a terminal, or --scope puts it elsewhere"
NOT_OWN = "only the user brings an export back as it was: do it at a terminal, or with an access of origin='user'"


@dataclass(frozen=True, slots=True, repr=False)
class Imported(Noun):
    """The result of an import. `memory.undo(batch)` takes all of it back except aliases and settings."""

    batch: str | None
    files: tuple[str, ...]
    # added, unchanged, refused, linked; `left out`: not active in another's export; `replaced`: pieces of documents
    outcomes: Mapping[str, int] = field(hash=False)
    problems: tuple[str, ...] = ()  # "FILE:LINE: what"
    reasons: Mapping[str, int] = field(default_factory=dict, hash=False)  # why memories are unchanged → how many
    dry_run: bool = False
    drafts: tuple[Draft, ...] = ()  # for a dry run, the first thousand
    found: int = 0  # in a dry run
    fingerprints: Mapping[str, str] = field(default_factory=dict, hash=False)  # the SHA-256 of each file
    notes: tuple[str, ...] = ()  # worth knowing but no problem, such as files of a folder that were left out

    def _line(self) -> str:
        counts = ", ".join(f"{count:,} {name}" for name, count in self.outcomes.items()) or "nothing"
        done = f"dry run: {memories(self.found)}" if self.dry_run else f"{counts}, batch {self.batch}"
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
    for line in _lines(paged(memory, _living(where), everything), memory, jsonl.line_of):
        digest.add(line.encode())
        count += 1
        yield line
    yield jsonl.end(count, _seal(memory, digest.told))


def export_canonical(
    memory: Memory, where: Mapping[str, Any] | None = None, *, everything: bool = False
) -> Iterator[str]:
    """The same memories in a form for comparing two stores: they hold the same if these bytes are equal. In the order
    of their ids, without what belongs to the store; a memory from elsewhere that nobody touched here appears as it was
    where it was said. For comparing only."""
    yield jsonl.canonical_head()
    yield from _lines(paged(memory, _living(where), everything, "id"), memory, jsonl.canonical_line)


def _living(where: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return {"state": {"$in": LIVING}, **(where or {})}


def _lines(records: Iterator[Record], memory: Memory, line_of: Callable[[Record], str]) -> Iterator[str]:
    """The records, then the links between them, by the first of their ends."""
    pages, there, page = list[str](), Ids(), list[str]()
    for record in records:
        yield line_of(record)
        there.add(record.id)
        page.append(record.id)
        if len(page) == PAGE:
            pages.append(" ".join(page))  # as one text: millions of small ones take five times the memory
            page = []
    for some in (*pages, " ".join(page)):
        ids = set(some.split())
        found = [link for link in memory._links(sorted(ids)) if link.a in ids and link.b in there] if ids else []
        yield from map(jsonl.line_of_link, sorted(found, key=lambda link: (link.a, link.b, link.kind)))


def _seal(memory: Memory, digest: str) -> str:
    """A seal that only this store, or a copy of it, can write below an export of this space."""
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
    found = (record for record in paged(memory, where or {}, everything) if KINDS[record.kind].layer == MEMORY)
    records = [((_safe(record.scope), _safe(record.kind), _safe(record.title or "")), record) for record in found]
    yield f"# Memories\n\n<!-- {len(records):,} of {_safe(memory.project.scope)} -->\n"
    above: tuple[str, ...] = ()
    for headings, record in sorted(records, key=lambda pair: (pair[0], pair[1].times.at)):
        for depth, heading in enumerate(headings, 1):
            if heading and headings[:depth] != above[:depth]:
                yield f"\n{'#' * (depth + 1)} {heading}\n"
        yield _item(record) if headings == above else "\n" + _item(record)
        above = headings


def paged(memory: Memory, where: Mapping[str, Any], everything: bool, by: str = "number") -> Iterator[Record]:
    """The memories that fit, by number or by id, read a page at a time; without `everything` or a scope in the filter, those
    of this project."""
    wanted, anywhere = where, everything or "scope" in where
    while page := memory.list(wanted, order=f"-{by}", limit=PAGE):
        yield from (record for record in page if _is_wanted(record, anywhere, memory))
        given = where.get(by)
        if given is not None and not isinstance(given, Mapping):
            return  # the filter names one number or one id
        wanted = {**where, by: {**(given or {}), "$gt": getattr(page[-1], by)}}


def _is_wanted(record: Record, anywhere: bool, memory: Memory) -> bool:
    return record.state != "erased" and (anywhere or _is_inside(record.scope, record.home, memory))


def _is_inside(scope: str, home: str | None, memory: Memory) -> bool:
    """Whether it belongs to the project, or the access itself names it; or to the default scope, if no project was
    named."""
    here = memory.project.scope
    usual = here if memory.project.how == "named" else memory.home
    return scope in (here, *memory.access.reads) or (home in (here, usual) if is_homed(scope) else scope == usual)


def _item(record: Record) -> str:
    tags = "".join(f" #{_safe(tag)}" for tag in record.tags)
    first, *rest = visible(record.text).replace("<!--", "&lt;!--").split("\n")
    lines = [f"- {record.times.at.date().isoformat()}: {first}", *(f"  {line}".rstrip() for line in rest)]
    return "\n".join(lines) + (f" <!--{tags} -->\n" if tags else "\n")


def _safe(label: str) -> str:
    return " ".join(visible(label).replace("<!--", "&lt;!--").split())


# ---------------------------------------------------------------- in


@dataclass(slots=True)
class _Told:
    """The report on an import, in bounded memory: of many problems the first are named and the rest are counted."""

    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    more: int = 0

    def problem(self, said: str) -> None:
        if len(self.problems) < contents.MOST_PROBLEMS:
            self.problems.append(said)
        else:
            self.more += 1

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.problems, *([f"and {self.more:,} more of this sort"] if self.more else []))


@dataclass(slots=True)
class _Survey:
    """The findings of one look at all the files, before anything is stored."""

    contents: list[contents.Content]
    sealed: list[bool] = field(default_factory=list)  # for each file with trust data: whether this store wrote it
    found: int = 0
    goals: set[str | None] = field(default_factory=set)  # destinations of files that are not exports, each checked once
    ids: Ids = field(default_factory=Ids)  # of exported memories
    past: Ids = field(default_factory=Ids)  # those of them that are past texts
    elsewhere: Ids = field(default_factory=Ids)  # those in another scope than the requested one
    lasting: bool = False  # whether something holds permanently
    timed: bool = False  # and something for a limited time


def import_files(
    memory: Memory,
    paths: Iterable[str | Path | sources.Source],
    *,
    scope: str | None = None,
    dry_run: bool = False,
    own: bool = False,
    document: bool = False,
    heard: Callable[[int, int], None] | None = None,
) -> Imported:
    """Reads Markdown files, folders of them, exports, transcripts and exports of other programs, the files of the founding
    documents' programs and other text, and remembers their content in one batch.

    With a `scope` everything goes there; else an export's memories keep their scopes, and the others go to this project. With
    `own` the user vouches for exports: they come back with their pins, votes, states and trust, not as candidates; for what
    this store wrote itself, and nobody changed, the user need not vouch. Text that is neither Markdown nor JSON is a document,
    in pieces that `search="sources"` finds; with `document` every file is one. Imported again, it replaces its pieces.
    `heard` is called with the bytes that were read so far, and with those of all files, each of which is read twice.
    """
    if own and memory.access.origin != "user":
        raise Refused(NOT_OWN)
    state = memory.status()["memory"]
    if state != "on":
        raise Refused(state)
    told = _Told()
    survey = _look(paths, memory, scope, document, told, heard)
    own = own or (memory.access.origin == "user" and bool(survey.sealed) and all(survey.sealed))
    for goal in survey.goals:
        place = scope or goal or memory.home
        memory.access.must_write(place, memory.access.home_of(place))  # raised once, not for every line of a file
    return _Import(memory, scope, own, survey, told, dry_run).run()


def _look(
    paths: Iterable[str | Path | sources.Source],
    memory: Memory,
    scope: str | None,
    document: bool,
    told: _Told,
    heard: Callable[[int, int], None] | None,
) -> _Survey:
    """Reads every file once, to the end. Raises what is wrong with a named file as a whole, before anything is stored."""
    if isinstance(paths, str | Path):
        raise Invalid("the paths must be a list, such as ['MEMORY.md']")
    wanted, problems, told.notes = sources.sources(paths, document)
    told.problems += problems
    survey = _Survey([])
    passed = _Passed(2 * sum(source.size for source in wanted), heard)
    for source in wanted:
        try:
            for content in contents.of(source, memory, document, passed.add):
                _take(content, survey, memory, scope, told)
                survey.contents.append(content)
        except Invalid as problem:
            if not source.found:
                raise
            told.problem(str(problem))
    if not wanted and not problems:
        raise Invalid(
            "no file was named; name Markdown files, a folder with a MEMORY.md, an export or other text files"
        )
    return survey


class _Passed:
    """Counts the bytes that were read."""

    def __init__(self, total: int, heard: Callable[[int, int], None] | None) -> None:
        self.done, self.total, self.heard = 0, total, heard

    def add(self, size: int) -> None:
        self.done += size
        if self.heard is not None:
            self.heard(min(self.done, self.total), self.total)


def _take(content: contents.Content, survey: _Survey, memory: Memory, scope: str | None, told: _Told) -> None:
    """Surveys one file: counts its parts, and collects what must be known of all of it before the first is stored."""
    flaws = 0
    for part in content.parts():
        if isinstance(part, Entry):
            survey.found += 1
            sources.must_fit(survey.found)
            _note(part, survey, scope)
        elif isinstance(part, jsonl.Flaw):
            told.problem(part)
            flaws += 1
            if flaws >= contents.MOST_PROBLEMS:
                raise Invalid(f"{content.file} has {flaws:,} damaged lines, so nothing of it was read; get it again")
    if content.export is not None:
        survey.sealed.append(
            content.export.seal is not None and content.export.seal == _seal(memory, content.export.digest)
        )
    elif content.original is not None:
        survey.sealed.append(False)


def _note(entry: Entry, survey: _Survey, scope: str | None) -> None:
    draft, told = entry.draft, entry.told
    timed = _is_timed(draft)
    survey.timed, survey.lasting = survey.timed or timed, survey.lasting or not timed
    if told is None and len(survey.goals) < MOST_SHOWN:
        survey.goals.add(draft.scope)
    if draft.id is not None:
        survey.ids.add(draft.id)
        if draft.scope != scope:
            survey.elsewhere.add(draft.id)
        if isinstance(told, Exported) and told.superseded_by:
            survey.past.add(draft.id)


def _is_timed(draft: Draft) -> bool:
    return draft.valid_from is not None or draft.valid_to is not None


@dataclass(slots=True)
class _Import:
    """One import while it is stored, a page at a time."""

    memory: Memory
    scope: str | None
    own: bool
    survey: _Survey
    told: _Told
    dry: bool = False  # nothing is stored
    drafts: list[Draft] = field(default_factory=list)  # of a dry run
    found: int = 0  # in a dry run
    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    others: Counter[tuple[str, bool]] = field(default_factory=Counter)  # by project, and whether they were refused
    users: Counter[str] = field(default_factory=Counter)  # of the scopes of users
    gone: Counter[str] = field(default_factory=Counter)  # states of what is left out
    added: Ids = field(default_factory=Ids)
    lines: dict[str, Any] = field(default_factory=dict)  # of the pieces of documents, by id
    batch: str | None = None

    def run(self) -> Imported:
        try:
            self._store_all()
        except MemoristError as problem:
            if self.batch is None:
                raise
            done = f"what was stored before is batch {self.batch}: undo it, or import again to go on"
            raise type(problem)(f"{problem}; {done}") from problem
        streams = [content.stream for content in self.survey.contents]
        return Imported(
            self.batch,
            tuple(stream.shown for stream in streams),
            {name: count for name, count in self.counts.items() if count and not self.dry},
            self.told.all,
            dict(self.reasons),
            dry_run=self.dry,
            drafts=tuple(self.drafts),
            found=self.found,
            fingerprints={stream.shown: stream.fingerprint for stream in streams},
            notes=(*self.told.notes, *self._other_projects(), *self._of_users(), *self._left_out()),
        )

    def _store_all(self) -> None:
        # Permanent texts come first, or they would count as twins of texts with a limited validity.
        both = self.survey.timed and self.survey.lasting and not self.own
        for phase in (False, True) if both else (None,):
            for content in self.survey.contents:
                self._store(content, phase)
        if not self.dry:
            self._choose()
            self._refresh()
        while not self.dry and self.survey.found > PAGE and self.memory._caller.store.tidy():
            pass

    def _store(self, content: contents.Content, phase: bool | None) -> None:
        """Stores the memories of a file that belong to this phase; in the last phase its links, which follow its
        memories."""
        page: list[Entry] = []
        links: list[Link] = []
        for part in content.parts():
            if isinstance(part, Entry):
                page += [part] if phase in (None, _is_timed(part.draft)) else []
            elif isinstance(part, Link):
                links += [part] if phase is not False else []
            if len(page) == PAGE or len(links) == PAGE:
                self._page(page)
                self._link(links)
                page, links = [], []
        self._page(page)
        self._link(links)

    # ------------------------------------------------------------ a page

    def _page(self, page: Sequence[Entry]) -> None:
        if not page:
            return
        found = self._not_erased(page)
        if self.scope is not None:
            found = [self._in_scope(each, self.scope) for each in found]
        if not self.own:
            found = self._allowed([each for each in found if self._is_active(each)])
        if self.dry:
            return self._foresee(found)
        outcomes = self._bring(found) if self.own else self._remember(found)
        for each, outcome in zip(found, outcomes, strict=True):
            self._count(each, outcome)

    def _foresee(self, page: Sequence[Entry]) -> None:
        """Reports what a page would do, for a dry run."""
        room = MOST_SHOWN - len(self.drafts)
        self.drafts += [_without_secrets(each.draft) for each in page[:room]]
        self.found += len(page)
        for each in page:
            self._note_user(each)

    def _note_user(self, entry: Entry) -> None:
        """Counts memories by user; if there are very many users, the rest of them together."""
        scope = str(entry.draft.scope or self.memory.home)
        if family_of(scope) == "user":
            self.users[scope if scope in self.users or len(self.users) < MOST_USERS else ""] += 1

    def _not_erased(self, page: Sequence[Entry]) -> list[Entry]:
        """An id that was erased here stays erased, even if `scope` asks for a copy under another id."""
        ids = [each.draft.id for each in page if each.draft.id is not None]
        anywhere = self.memory.through(replace(self.memory.access, reads=("*", "project/*")))  # an id is not content
        known = anywhere.list({"id": {"$in": ids}, "state": "erased"}, limit=PAGE) if ids else []
        return self._without(page, {record.id for record in known}, ERASED)

    def _without(self, page: Sequence[Entry], refused: Set[str | None], because: str) -> list[Entry]:
        for each in page:
            if each.draft.id in refused:
                self._refuse(each, because)
        return [each for each in page if each.draft.id not in refused]

    def _refuse(self, entry: Entry, because: str) -> None:
        self.told.problem(f"{entry.place}: {because}")
        self.counts["refused"] += 1

    def _in_scope(self, entry: Entry, scope: str) -> Entry:
        """A memory from another scope than the requested one becomes a copy with a derived id, always the same, so that
        a second import finds it, and links and past texts can refer to it."""
        draft, told = entry.draft, entry.told
        if draft.scope != scope:
            draft = replace(draft, scope=scope, home=None, id=draft.id and _copy_id(draft.id, scope))
        if draft.data:
            draft = replace(draft, data=self._naming(draft.data))
        if isinstance(told, Exported) and told.superseded_by:
            told = replace(told, superseded_by=self._there(told.superseded_by))
        return replace(entry, draft=draft, told=told)

    def _there(self, id: str) -> str:
        """The id of a memory in the requested scope."""
        return _copy_id(id, self.scope) if self.scope is not None and id in self.survey.elsewhere else id

    def _naming(self, data: Any) -> Any:
        """Data that names other memories of the files, such as that of a narrative or a task, then names their copies."""
        if isinstance(data, str):
            return self._there(data) if len(data) == LENGTH_OF_IDS else data
        if isinstance(data, Mapping):
            return {name: self._naming(value) for name, value in data.items()}
        return [self._naming(value) for value in data] if isinstance(data, list | tuple) else data

    def _is_active(self, entry: Entry) -> bool:
        """A file does not bring here what was forgotten or revised elsewhere; only its owner may."""
        state = entry.told.state if isinstance(entry.told, Exported) else "active"
        if state != "active":
            self.counts["left out"] += 1
            self.gone[state] += 1
        return state == "active"

    def _allowed(self, page: Sequence[Entry]) -> list[Entry]:
        """What an agent could not put into every project by itself, it cannot put there with a file either."""
        if self.memory.access.origin in ("user", *FROM_FILES):
            return list(page)
        for each in page:
            if _stands(each.draft, self.memory.home):
                self._refuse(each, STANDS)
        return [each for each in page if not _stands(each.draft, self.memory.home)]

    def _count(self, entry: Entry, outcome: Outcome) -> None:
        name = "unchanged" if outcome.outcome == "repeated" else outcome.outcome
        if name == "refused":
            self._refuse(entry, outcome.because)
        else:
            self.counts[name] += 1
            self._note_user(entry)
        if name == "unchanged":
            self.reasons[outcome.because] += 1
        elif self._is_elsewhere(goal := str(entry.draft.home or entry.draft.scope or self.memory.project.scope)):
            self.others[goal, name == "refused"] += 1
        if outcome.id is not None:
            self._know(outcome.id, outcome.batch is not None, entry.draft.data.get("lines"))

    def _know(self, id: str, added: bool, lines: Any) -> None:
        if added:
            self.added.add(id)
        if lines is not None:
            self.lines[id] = lines

    def _is_elsewhere(self, goal: str) -> bool:
        return family_of(goal) == "project" and goal not in (self.memory.project.scope, self.memory.home)

    # ------------------------------------------------------------ through which door

    def _remember(self, page: Sequence[Entry]) -> list[Outcome]:
        """Stores drafts as candidates, with an export's statements about them kept as data."""
        door = _door(self.memory)
        drafts = [_as_candidate(each) for each in page]
        bringing = door._import(self.added, self.batch)
        outcomes = [
            door._kept(draft, done)
            for draft, done in zip(drafts, bringing.candidates(drafts, self.memory.design.conflicts), strict=True)
        ]
        self.batch = bringing.batch
        return outcomes

    def _bring(self, page: Sequence[Entry]) -> list[Outcome]:
        """Stores exports as they were, and anything else as candidates."""
        page = [self._past_of_past(each) for each in page]
        whole = [(each.draft, each.told) for each in page if isinstance(each.told, Exported)]
        bringing = self.memory._import(self._spoken_for, self.batch)
        done = iter([self.memory._tell(outcome) for outcome in bringing.records(whole)] if whole else [])
        self.batch = bringing.batch
        others = iter(self._remember([each for each in page if each.told is None]))
        return [_outcome(each.told, done, others) for each in page]

    @property
    def _spoken_for(self) -> Ids:
        """The memories of the files; for copies, the copies that were stored."""
        return self.added if self.scope is not None else self.survey.ids

    def _past_of_past(self, entry: Entry) -> Entry:
        """A past text belongs to the memory that was revised, which is not a past text itself: so there are no cycles."""
        told = entry.told
        circle = isinstance(told, Exported) and told.superseded_by in self.survey.past
        return replace(entry, told=OF_PAST) if circle else entry

    def _link(self, links: Sequence[Link]) -> None:
        if not links or self.dry:
            return
        moved = [replace(link, a=self._there(link.a), b=self._there(link.b)) for link in links]
        door = self.memory if self.own else _door(self.memory)
        bringing = door._import(self._spoken_for if self.own else self.added, self.batch)
        self.counts["linked"] += bringing.links(moved)
        for left in bringing.left:
            self.told.problem(left)
        self.batch = bringing.batch

    # ------------------------------------------------------------ afterwards

    def _choose(self) -> None:
        """Applies the user's choices in the program that a file comes from, if the user vouches for it."""
        for original in (content.original for content in self.survey.contents if self.own):
            if original is None:
                continue
            try:
                for word, means in original.aliases.items():
                    self.memory.alias(word, *means)
                if original.choices:
                    self.memory._choose(**original.choices)
            except MemoristError as problem:
                self.told.problem(f"its aliases or settings were left out: {problem}")

    def _refresh(self) -> None:
        """Retires the pieces that the documents no longer contain."""
        names = {content.document for content in self.survey.contents if content.document is not None}
        if not names:
            return
        door, lines = _door(self.memory), self.lines
        known = {piece.id: piece.data.get("lines") for piece in _pieces(door, self.scope or self.memory.home, names)}
        moved = {id: lines[id] for id, stood in known.items() if lines.get(id, stood) != stood}
        bringing = door._import(Ids(), self.batch)
        self.counts["replaced"] += bringing.refresh([id for id in known if id not in lines], moved)
        self.batch = bringing.batch

    def _other_projects(self) -> Iterator[str]:
        """Reports a file of another project: it is either refused here, or its content is found there and not here."""
        here = self.memory.project.scope
        for (goal, refused), count in self.others.items():
            way = f"import with --project {goal.partition('/')[2]}, or with --scope {here} as copies"
            what = f"which is not this project, {here}: {way}" if refused else f"and this folder is {here}"
            yield f"{count:,} {'belong' if refused else 'went'} to {goal}, {what}"

    def _of_users(self) -> Iterator[str]:
        """Reports memories of users: a question reads those only if it names the user."""
        shown = [scope for scope, _ in self.users.most_common() if scope][:USERS_SHOWN]
        for scope in shown:
            name, count = scope.partition("/")[2], self.users[scope]
            verb = "belongs" if count == 1 else "belong"
            yield f"{count:,} {verb} to {scope}: ask with --user {name}, in Python with user={name!r}"
        rest = sum(self.users.values()) - sum(self.users[scope] for scope in shown)
        if rest:
            yield f"{rest:,} more belong to other users; `memorist status` counts them by scope"

    def _left_out(self) -> Iterator[str]:
        if self.gone:
            what = ", ".join(f"{count:,} {STATES.get(state, state)}" for state, count in sorted(self.gone.items()))
            total = sum(self.gone.values())
            yield f"{total:,} left out: forgotten or replaced where they come from ({what}); {NOT_ACTIVE}"


def _door(memory: Memory) -> Memory:
    return memory.through(replace(memory.access, origin="import", surface="import"))


def _pieces(memory: Memory, scope: str, names: Set[str]) -> Iterator[Record]:
    """The stored pieces of these documents."""
    where = {"scope": scope, "home": memory.access.home_of(scope), "kind": "document"}
    for piece in paged(memory, where, everything=True):
        if piece.origin in FROM_FILES and names & set(piece.files[:1]):
            yield piece


def _outcome(told: Exported | str | None, brought: Iterator[Outcome], others: Iterator[Outcome]) -> Outcome:
    if isinstance(told, str):
        return Outcome("refused", told)
    return next(brought if told else others)


def _as_candidate(entry: Entry) -> Draft:
    told = entry.told.as_data() if isinstance(entry.told, Exported) else {}
    return replace(entry.draft, data={**entry.draft.data, **told}) if told else entry.draft


def _stands(draft: Draft, usual: str) -> bool:
    kind = str(draft.kind)
    return GLOBAL in (draft.scope or usual, draft.home) and ALIASES.get(kind, kind) in STANDING


def _without_secrets(draft: Draft) -> Draft:
    """The draft as a dry run shows it; its marks differ from the store's, which depend on the store's secret."""
    redact = Redactor(b"dry run").redact
    return replace(draft, text=redact(draft.text), title=redact(draft.title) if draft.title else None)


def _copy_id(id: str, scope: str) -> str:
    """A new id with the same time. An invalid id stays as it is, and is refused."""
    return derived_id(id[:11], f"{scope} {id}") if len(id) == LENGTH_OF_IDS else id
