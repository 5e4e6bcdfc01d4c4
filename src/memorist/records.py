"""The nouns. All are frozen: a change is a new value, so the journal can show the old one beside it. `noun.py` has what
they share: `to_dict`, and how they are shown.

A decision, a preference, a chat turn, a task: all are `Record`s of some kind. What was observed is stored here
(counters, times, who said it); what it means today (decay, utility) is computed in `worth.py` and never stored.
"""

import os
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from datetime import UTC, date, datetime, timedelta
from functools import cache
from hashlib import blake2b
from operator import attrgetter
from typing import Any, Literal, overload

from memorist.errors import Invalid
from memorist.lazy import dataclass
from memorist.noun import Noun, Table, line
from memorist.unseen import unseen

Status = Literal["candidate", "confirmed"]
State = Literal["active", "archived", "superseded", "erased"]
LIVING: tuple[State, ...] = ("active", "archived", "superseded")  # all but erased
Origin = Literal["user", "recorded", "agent", "tool", "web", "file", "import"]  # most trusted first
Trust = Literal["high", "medium", "low"]
LinkKind = Literal["relates_to", "supersedes", "contradicts", "derived_from", "in_cluster"]
LINK_KINDS: tuple[LinkKind, ...] = ("relates_to", "supersedes", "contradicts", "derived_from", "in_cluster")

Freshness = Literal["fresh", "stale", "unverifiable"]
SearchName = Literal["memory", "sessions", "sources", "items", "archive", "all"]  # where a question looks

# ---------------------------------------------------------------- ids and times

ISO = "2026-05-01T12:00+02:00"  # a time as people may write it
ID_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u to misread
_PAIRS = [a + b for a in ID_LETTERS for b in ID_LETTERS]  # ten bits at a time
_ID_LOCK = threading.Lock()
_last_id = 0


def new_id(now: datetime) -> str:
    """A fresh id: `m` and 26 characters that sort by time, unique without asking the store.

    Within one process ids only grow, also when the clock stands still or goes back.
    """
    global _last_id
    wanted = (max(0, int(now.timestamp() * 1000)) << 80) | int.from_bytes(os.urandom(10))
    with _ID_LOCK:
        _last_id = wanted if wanted >> 80 > _last_id >> 80 else _last_id + 1 + (wanted & 0xFFFFFFFFFFFF)
        value = _last_id
    return "m" + "".join([_PAIRS[(value >> shift) & 1023] for shift in range(120, -1, -10)])


def forget_issued_ids() -> None:
    """After a fork the child must not continue the parent's sequence, nor wait for a thread that is not there."""
    global _last_id, _ID_LOCK
    _last_id, _ID_LOCK = 0, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_issued_ids)


Moment = datetime | date | str  # a time as callers give it; a text is in ISO form


def utc(given: Moment, what: str = "a time") -> datetime:
    """The same moment in UTC. One that names no zone is in local time; a date is the beginning of that day."""
    moment = _read(given, what) if isinstance(given, str) else given
    if isinstance(moment, date) and not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    if not isinstance(moment, datetime):
        raise Invalid(f"{what} must be a datetime, a date or a text such as {ISO!r}, not {type(given).__name__}")
    try:
        return moment.astimezone(UTC)
    except (OverflowError, ValueError, OSError) as problem:  # the last two where the system knows no local time for it
        raise Invalid(f"{what} is outside the years 1 to 9999 once in UTC: {moment.isoformat()}") from problem


def iso(given: date) -> str:
    """A time or a day as it stands in `data`, which holds texts."""
    return utc(given).isoformat() if isinstance(given, datetime) else given.isoformat()


def zoned(given: Moment, what: str = "a time") -> datetime:
    """A time with a zone: its own, or UTC."""
    return given if isinstance(given, datetime) and given.utcoffset() is not None else utc(given, what)


def _read(text: str, what: str) -> datetime:
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError as problem:
        raise Invalid(f"{what} must be a time such as '2026-05-01' or {ISO!r}, not {line(text)!r}") from problem


def now_utc() -> datetime:
    return datetime.fromtimestamp(time.time(), UTC)


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(moment: datetime) -> int:
    return (moment - EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


def derived_id(first: str, words: str) -> str:
    """An id that begins with that moment, and is always the same for these words."""
    chance = blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return first + "".join(ID_LETTERS[byte % 32] for byte in chance)


def id_at(at: datetime | None, words: str) -> str:
    """An id that tells when something was said, and is always the same for these words."""
    moment = max(0, ((at or EPOCH) - EPOCH) // timedelta(milliseconds=1))
    return derived_id("m" + "".join(ID_LETTERS[moment >> shift & 31] for shift in range(45, -1, -5)), words)


# ---------------------------------------------------------------- where a memory belongs


class Scope(str):
    """Where a memory belongs: `global`, or a name and an id such as `project/atlas`, `user/ann`, `task/42`.

    It is a plain string that was checked once. Scopes are compared whole: `project/a` never sees `project/ab`.

    >>> Scope("project/atlas").family
    'project'
    """

    __slots__ = ()
    LONGEST = 200

    def __new__(cls, path: str) -> "Scope":
        if isinstance(path, Scope):
            return path
        if not isinstance(path, str):
            raise Invalid(f"a scope must be text such as 'project/atlas', not {type(path).__name__}")
        flaw = _scope_flaw(path)
        if flaw:
            raise Invalid(f"scope {path[:60]!r} {flaw}; write 'global' or a name and an id, such as 'project/atlas'")
        return super().__new__(cls, path)

    @property
    def family(self) -> str:
        return self.partition("/")[0]


def memories(count: int) -> str:
    """So many, in words."""
    return "1 memory" if count == 1 else f"{count:,} memories"


def counted(count: int, what: str) -> str:
    """So many of what is named with `{}` where an s stands if they are many: `line{} written`."""
    return f"{count:,} {what.format('' if count == 1 else 's')}"


def _scope_flaw(path: str) -> str | None:
    parts = path.split("/")
    if len(path) > Scope.LONGEST:
        return f"has {len(path):,} characters, {Scope.LONGEST} are allowed"
    if path == "global":
        return None
    if len(parts) < 2:
        return "has no id"
    if any(not part or part != part.strip() or part in (".", "..") for part in parts):
        return "has an empty part, '.', '..' or blanks around a part"
    if unseen(path):
        return "holds an invisible or control character"
    if unicodedata.normalize("NFC", path) != path:
        return "is not in Unicode's composed form (NFC), so it would look like another scope and not be it"
    if "*" in path:
        return "holds '*', which stands for every scope in an access"
    return None


# ---------------------------------------------------------------- the record


@dataclass(frozen=True, slots=True)
class Counters(Noun):
    """What happened to a record, counted. To be used or said again resets clocks; `surfaced` is telemetry. Votes stop counting
    where either side is far ahead (`worth.bounded`)."""

    up: int = 0
    down: int = 0
    used: int = 0
    surfaced: int = 0
    rejected: int = 0
    strength: int = 0  # how often the same thing was said again


@dataclass(frozen=True, slots=True)
class Times(Noun):
    """All in UTC. `at` is when it happened, `created` when it was stored, `used` when it last helped or was said again."""

    at: datetime
    created: datetime
    updated: datetime
    used: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None

    @property
    def stated(self) -> datetime:
        """Since when it says what it says: a revision keeps `at`, and its text holds from then on."""
        return max(self.at, self.valid_from or self.at)


@dataclass(frozen=True, slots=True)
class Provenance(Noun):
    """Where a record came from: who wrote it, through which door, in which session, and on what grounds."""

    actor: str = "unknown"
    surface: str = "library"
    session: str | None = None
    role: str | None = None
    speaker: str | None = None
    agent: str | None = None
    task: str | None = None
    narrative: str | None = None
    messages: tuple[int, int] | None = None
    snippet: str | None = None
    confidence_because: str | None = None


@dataclass(frozen=True, slots=True)
class Record(Noun):
    """One memory: one fact, decision, preference, turn … with everything needed to judge it."""

    id: str
    space: str
    scope: str
    kind: str
    text: str
    times: Times
    number: int = 0  # the short [id:N] of this store; 0 until stored
    title: str | None = None
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict, hash=False)
    status: Status = "confirmed"
    pinned: bool = False
    state: State = "active"
    reason: str | None = None  # why it is archived or superseded
    importance: float = 0.5
    confidence: float = 1.0
    counters: Counters = Counters()
    provenance: Provenance = Provenance()
    origin: Origin = "agent"
    trust: Trust = "medium"
    season: str | None = None
    fingerprint: str = ""
    version: int = 1
    superseded_by: str | None = None
    home: str | None = None  # the project that a task, a session or an agent belongs to

    def __repr__(self) -> str:
        return f"<Record {self._line()}>"

    def _line(self) -> str:
        return f"{self._mark} {self.kind} in {line(self.scope)}: {line(self.text)}"

    @property
    def _mark(self) -> str:
        """How it is cited."""
        return f"[id:{self.number or self.id}]"


@cache
def _fields(kind: Any) -> tuple[Callable[[Any], tuple[Any, ...]], dict[str, int]]:
    """How to read all fields of such a noun, and the place of each."""
    names = [field.name for field in fields(kind)]
    return attrgetter(*names), {name: place for place, name in enumerate(names)}


@overload
def changed(noun: Record, **changes: Any) -> Record: ...  # of one that is clean, too: what changed is not
@overload
def changed(noun: "Draft", **changes: Any) -> "Draft": ...
@overload
def changed(noun: "Outcome", **changes: Any) -> "Outcome": ...
def changed(noun: Any, **changes: Any) -> Any:
    """`dataclasses.replace` for large nouns, at a quarter of its cost: it stands on the path of every write."""
    kind: Any = type(noun)
    values_of, places = _fields(kind)
    values = list(values_of(noun))
    for name, value in changes.items():
        values[places[name]] = value
    return kind(*values)


@dataclass(frozen=True, slots=True)
class Link(Noun):
    """`a` stands in this relation to `b`: in `supersedes`, a is the newer one."""

    a: str
    b: str
    kind: LinkKind
    weight: float = 1.0
    evidence: str | None = None


@dataclass(frozen=True, slots=True)
class Event(Noun):
    """One line of the journal: who did what to which record, because of what, and what was there before.

    `before` holds only the fields that changed; the record itself is the after. `mac` covers `before` and
    `because`, `after` covers the record as it was then, both under a key that belongs to the record alone.
    """

    verb: str
    record: str
    at: datetime
    actor: str
    surface: str
    batch: str
    because: str | None = None
    before: Mapping[str, Any] | None = field(default=None, hash=False)
    seq: int = 0
    mac: bytes = b""
    after: bytes = b""

    def __repr__(self) -> str:
        because = f": {line(self.because)}" if self.because else ""
        who = line(f"{self.actor} through {self.surface}")
        return f"<Event {self.seq}, {_day(self.at)}: {self.verb} {self.record} by {who}{because}>"


@dataclass(frozen=True, slots=True)
class Draft(Noun):
    """What a caller asks to be remembered, before the gate has looked at it."""

    text: str
    kind: str = "fact"
    scope: str | None = None
    title: str | None = None
    tags: Sequence[str] = ()
    files: Sequence[os.PathLike[str] | str] = ()
    data: Mapping[str, Any] = field(default_factory=dict, hash=False)
    importance: float | None = None
    confidence: float | None = None
    pinned: bool = False
    at: Moment | None = None
    valid_from: Moment | None = None
    valid_to: Moment | None = None
    session: str | None = None
    role: str | None = None
    speaker: str | None = None
    agent: str | None = None
    task: str | None = None
    season: str | None = None
    key: str | None = None  # idempotency key: the same key is stored once
    id: str | None = None  # from an export; only imports may bring one
    doubtful: bool = False  # it enters as a candidate, through any door
    messages: tuple[int, int] | None = None  # of the session it came from: the first and the last
    snippet: str | None = None  # what stood around it there
    confidence_because: str | None = None
    # The project that a task, a session or an agent belongs to, if not the caller's; `global` for an agent of all projects.
    # Left out of the repr, which the digests of idempotency keys are made from.
    home: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("at", "valid_from", "valid_to"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, zoned(given, name))


# ---------------------------------------------------------------- answers

HITS_SHOWN = 5  # lines of a recall's repr
TEXT_SHOWN = 48  # characters of the text in the line of an outcome


def _day(moment: datetime) -> str:
    return moment.date().isoformat()


def _and(said: str | None) -> str:
    return f"; {line(said)}" if said else ""


@dataclass(frozen=True, slots=True)
class Outcome(Noun):
    """What became of a write: `outcome` names it, `because` gives the reason, `advice` a hint where there is one. It is false
    if it was refused or waits for a person."""

    outcome: Literal["added", "reinforced", "restored", "repeated", "refused", "changed", "unchanged", "needs_consent"]
    because: str
    id: str | None = None
    record: Record | None = None
    batch: str | None = None
    advice: str | None = None
    pending: str | None = None  # the question that waits for a person, for `review`
    scope: str | None = None  # where the memory lies, or would have gone

    def __post_init__(self) -> None:
        if self.record is not None:
            object.__setattr__(self, "scope", self.record.scope)

    def __bool__(self) -> bool:
        """Whether it is as was asked for; not if it was refused, or waits for a person."""
        return self.outcome not in ("refused", "needs_consent")

    def __repr__(self) -> str:
        return f"<Outcome {self._line()}>"

    def _line(self) -> str:
        which = self.pending or self.id or ""
        if self.record:
            which = f"{self.record._mark} {self.record.kind} “{line(self.record.text, TEXT_SHOWN)}”"
        return f"{self.outcome} {which}".rstrip() + f": {line(self.because)}{_and(self.advice)}"

    @property
    def number(self) -> int | None:
        return self.record.number if self.record else None

    @property
    def kind(self) -> str | None:
        return self.record.kind if self.record else None

    @property
    def text(self) -> str | None:
        return self.record.text if self.record else None


@dataclass(frozen=True, slots=True)
class Planned(Noun):
    """One memory that a verb changed, or would change, and the reason."""

    id: str
    number: int
    because: str


@dataclass(frozen=True, slots=True)
class Report(Noun):
    """What a verb did to several memories, or in a dry run would do. It holds no content. It is false while it waits for a
    person."""

    verb: str
    changed: tuple[Planned, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict, hash=False)  # id → why it stayed as it was
    batch: str | None = None  # for `undo`
    dry_run: bool = False
    advice: str | None = None
    rows: int | None = None  # index rows, of a job that looks after those and not after memories
    pending: str | None = None  # the question that waits for a person; nothing was done

    def __bool__(self) -> bool:
        return self.pending is None

    def __repr__(self) -> str:
        dry = ", dry run" if self.dry_run else f", waits as {self.pending}" if self.pending else ""
        left = f", {len(self.left):,} left as they were" if self.left else ""
        batch = f", batch {self.batch}" if self.batch else ""
        return f"<Report {self.verb}{dry}: {memories(len(self.changed))}{left}{batch}{_and(self.advice)}>"

    def _table(self) -> Table:
        changed = [(f"[id:{each.number}]", each.because) for each in self.changed]
        more = [("", said) for said in (self.advice, self.pending and f"waits as {self.pending}") if said]
        return (self.verb + (", dry run" if self.dry_run else ""), ""), [*changed, *self.left.items(), *more]


@dataclass(frozen=True, slots=True)
class Signal(Noun):
    """One thing that speaks for or against a record: as measured, on the common scale, and what it adds to the sum."""

    name: str
    value: float
    scaled: float
    contribution: float


@dataclass(frozen=True, slots=True)
class Hit(Noun):
    """One found record. Without `signals`, the score is the product of the factors in `why`. With a `relevance` in `why`, the
    contributions of all signals, among them what the other factors are worth, add up to the score's log-odds: it is
    1 / (1 + exp(-sum))."""

    record: Record
    score: float
    why: Mapping[str, float] = field(default_factory=dict, hash=False)
    signals: tuple[Signal, ...] = ()
    conflicts: tuple[str, ...] = ()  # ids of active memories that contradict it, where a design looks for them
    replaces: tuple[str, ...] = ()  # ids of older hits whose place it surely takes: they come behind it
    freshness: Freshness | None = None  # whether the files it is about are as they were, where that was noted

    def __repr__(self) -> str:
        return f"<Hit {self._line()}>"

    def _line(self) -> str:
        said = self.record
        return f"{said._mark} {self.score:.2f} {said.kind} {_day(said.times.at)}: {line(said.text)}"

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def number(self) -> int:
        return self.record.number

    @property
    def kind(self) -> str:
        return self.record.kind

    @property
    def text(self) -> str:
        return self.record.text


Reference = (
    str | int | Record | Hit | Outcome
)  # how a caller names a memory: by its number, its id, or what a verb gave


@dataclass(frozen=True, slots=True)
class Step(Noun):
    """What one stage of a recall did: how many it kept, how long it took, whom it dropped and why: by id, or by `#number`
    where only the number was known."""

    stage: str
    kept: int
    ms: float
    dropped: Mapping[str, str] = field(default_factory=dict, hash=False)
    note: str | None = None

    def __repr__(self) -> str:
        dropped = f", dropped {len(self.dropped):,}" if self.dropped else ""
        return f"<Step {self.stage}: kept {self.kept:,}{dropped} in {self.ms:.1f} ms{_and(self.note)}>"


@dataclass(frozen=True, slots=True)
class Recall(Noun, Sequence[Hit]):
    """The answer to a question: a sequence of hits, best first, with the trace of how it was found."""

    query: str
    hits: tuple[Hit, ...] = ()
    empty_because: str | None = None
    trace: tuple[Step, ...] = ()
    scopes: tuple[str, ...] = ()
    receipt: str = ""
    notes: tuple[str, ...] = ()  # what to know about it, such as that the model which was named does not answer yet

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __repr__(self) -> str:
        if not self.hits:
            return f"<Recall {line(self.query)!r}: nothing; {line(self.empty_because or 'no reason given')}>"
        lines = [f"  {hit._line()}" for hit in self.hits[:HITS_SHOWN]]
        more = len(self.hits) - len(lines)
        lines += [f"  and {more:,} more"] if more else []
        return "\n".join([f"<Recall {line(self.query)!r}: {memories(len(self.hits))}", *lines]) + ">"

    def _table(self) -> Table:
        rows = [(hit.record._mark, f"{hit.score:.2f}", hit.kind, _day(hit.record.times.at), hit.text) for hit in self]
        none = [] if rows else [("", "", "", "", self.empty_because or "nothing was found")]
        return ("id", "score", "kind", "happened", "text"), [*rows, *none]


@dataclass(frozen=True, slots=True)
class Context(Noun):
    """Text for a prompt, within its budget. `str(context)` is the text; without any it is false."""

    text: str
    items: tuple[Hit, ...] = ()
    tokens: int = 0
    budget: int = 0
    compression_ratio: float = 0.0  # tokens given out / tokens of all candidates
    receipt: str = ""
    left_out: tuple[str, ...] = ()  # ids that were found and did not fit
    empty_because: str | None = None
    stable: int = 0  # so many characters at the beginning stay the same from turn to turn, for prompt caches
    lanes: Mapping[str, Mapping[str, int]] = field(
        default_factory=dict, hash=False
    )  # of each its quota, wanted and spent tokens
    fingerprint: Mapping[str, Any] = field(
        default_factory=dict, hash=False
    )  # what was asked for, to compare outcomes by
    skipped: tuple[str, ...] = ()  # what there was no time for, such as documents, and what did not earn its tokens
    topic_changed: bool | None = (
        None  # of what a session looked up ahead: whether it is about something else than before
    )

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.text)

    def __repr__(self) -> str:
        said = line(self.text) if self.text else f"empty; {line(self.empty_because or 'nothing fits')}"
        return f"<Context {self.tokens:,} of {self.budget:,} tokens, {memories(len(self.items))}: {said}>"

    def _table(self) -> Table:
        rows = [(hit.record._mark, hit.text) for hit in self.items]
        none = [] if self.text else [("", self.empty_because or "nothing fits")]
        return ("Context", f"{self.tokens:,} of {self.budget:,} tokens, receipt {self.receipt}"), [*rows, *none]
