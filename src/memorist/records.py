"""The nouns. All are frozen: a change makes a new value, so the journal can show the old one beside it. `noun.py` has
what they share: `to_dict`, and how they are displayed.

Decisions, preferences, chat turns and tasks are all `Record`s of some kind. What was observed is stored here (counters,
times, who said it). What it means today (decay, utility) is computed in `scoring.py` and never stored.
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
NEWER = "newer"  # the evidence of a link `relates_to` from a memory to one that it may replace; recall shows the newer one first
LINK_KINDS: tuple[LinkKind, ...] = ("relates_to", "supersedes", "contradicts", "derived_from", "in_cluster")

Freshness = Literal["fresh", "stale", "unverifiable"]
SearchName = Literal["memory", "sessions", "sources", "items", "archive", "all"]  # where a query looks

# ---------------------------------------------------------------- ids and times

ISO = "2026-05-01T12:00+02:00"  # an example for error messages
ID_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u to misread
_PAIRS = [a + b for a in ID_LETTERS for b in ID_LETTERS]  # ten bits at a time
_ID_LOCK = threading.Lock()
_last_id = 0


def new_id(now: datetime) -> str:
    """A fresh id: `m` and 26 characters that sort by time. It is unique without asking the store.

    Within one process ids always grow, even if the clock stands still or goes back.
    """
    global _last_id
    wanted = (max(0, int(now.timestamp() * 1000)) << 80) | int.from_bytes(os.urandom(10))
    with _ID_LOCK:
        _last_id = wanted if wanted >> 80 > _last_id >> 80 else _last_id + 1 + (wanted & 0xFFFFFFFFFFFF)
        value = _last_id
    return "m" + "".join([_PAIRS[(value >> shift) & 1023] for shift in range(120, -1, -10)])


def forget_issued_ids() -> None:
    """Resets the id sequence in a forked child: it must not continue its parent's sequence, nor wait for a lock that a
    thread of the parent holds."""
    global _last_id, _ID_LOCK
    _last_id, _ID_LOCK = 0, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_issued_ids)


Moment = datetime | date | str  # a time as callers give it; texts are in ISO form


def utc(given: Moment, what: str = "a time") -> datetime:
    """The moment in UTC. A time without a zone is local time; a date is the beginning of that day."""
    moment = _read(given, what) if isinstance(given, str) else given
    if isinstance(moment, date) and not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    if not isinstance(moment, datetime):
        raise Invalid(f"{what} must be a datetime, a date or a text such as {ISO!r}, not {type(given).__name__}")
    try:
        return moment.astimezone(UTC)
    except (OverflowError, ValueError, OSError) as problem:  # the last two: local time is unknown to the system
        raise Invalid(f"{what} is outside the years 1 to 9999 once in UTC: {moment.isoformat()}") from problem


def iso(given: date) -> str:
    """A time or a day as text, for `data`."""
    return utc(given).isoformat() if isinstance(given, datetime) else given.isoformat()


def minute(moment: datetime) -> str:
    """A time as people are shown it."""
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(' ', 'minutes')} UTC"


def zoned(given: Moment, what: str = "a time") -> datetime:
    """The time as given if it is a datetime with a zone, else in UTC."""
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
    """An id that starts with `first` and is always the same for the same words."""
    chance = blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return first + "".join(ID_LETTERS[byte % 32] for byte in chance)


def id_at(at: datetime | None, words: str) -> str:
    """An id that encodes when something was said and is always the same for the same words."""
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
    """This number of memories, in words."""
    return "1 memory" if count == 1 else f"{count:,} memories"


def counted(count: int, what: str) -> str:
    """A number with its noun: `{}` in `what` stands for the plural s, as in `line{} written`."""
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
    """What happened to a record, as counts. Use and repetition reset its clocks; `surfaced` is only telemetry. Votes
    stop counting once one side is far ahead (`scoring.bounded`)."""

    up: int = 0
    down: int = 0
    used: int = 0
    surfaced: int = 0
    rejected: int = 0
    strength: int = 0  # how often it was said again


@dataclass(frozen=True, slots=True)
class Times(Noun):
    """Times in UTC. `at` is when it happened, `created` when it was stored, `used` when it last helped or was said again."""

    at: datetime
    created: datetime
    updated: datetime
    used: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None

    @property
    def stated(self) -> datetime:
        """Since when the present text holds: a revision keeps `at`, but its text holds only from `valid_from` on."""
        return max(self.at, self.valid_from or self.at)


@dataclass(frozen=True, slots=True)
class Provenance(Noun):
    """Where a record came from: who wrote it, through which surface, in which session, and on what grounds."""

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
    number: int = 0  # the short [id:N] in this store; 0 until stored
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
    """A function that reads all fields of a noun class, and the position of each field."""
    names = [field.name for field in fields(kind)]
    return attrgetter(*names), {name: place for place, name in enumerate(names)}


@overload
def changed(noun: Record, **changes: Any) -> Record: ...  # also of a Clean record: the changed one is not clean
@overload
def changed(noun: "Draft", **changes: Any) -> "Draft": ...
@overload
def changed(noun: "Outcome", **changes: Any) -> "Outcome": ...
def changed(noun: Any, **changes: Any) -> Any:
    """`dataclasses.replace` for large nouns at a quarter of its cost; every write calls it."""
    kind: Any = type(noun)
    values_of, places = _fields(kind)
    values = list(values_of(noun))
    for name, value in changes.items():
        values[places[name]] = value
    return kind(*values)


@dataclass(frozen=True, slots=True)
class Link(Noun):
    """How `a` is related to `b`; in `supersedes`, a is the newer one."""

    a: str
    b: str
    kind: LinkKind
    weight: float = 1.0
    evidence: str | None = None


@dataclass(frozen=True, slots=True)
class Event(Noun):
    """One line of the journal: who did what to which record, why, and what was there before.

    `before` holds only the fields that changed; the record itself is the state after. `mac` covers `before` and
    `because`, and `after` covers the record as it was after the event. Both use a key that belongs to that record alone.
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
    """What a caller asks to have remembered, before the gate has checked it."""

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
    id: str | None = None  # only imports may set it, from an export
    doubtful: bool = False  # it enters as a candidate, whoever writes it
    messages: tuple[int, int] | None = None  # the first and last message of the session it came from
    snippet: str | None = None  # the text around it there
    confidence_because: str | None = None
    # The project that a task, a session or an agent belongs to, if not the caller's; `global` for an agent of all
    # projects. Not in the repr, because the digests of idempotency keys are made from the repr.
    home: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("at", "valid_from", "valid_to"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, zoned(given, name))


# ---------------------------------------------------------------- answers

HITS_SHOWN = 5  # hits in a recall's repr
TEXT_SHOWN = 48  # characters of text in an outcome's line


def _day(moment: datetime) -> str:
    return moment.date().isoformat()


def _and(said: str | None) -> str:
    return f"; {line(said)}" if said else ""


@dataclass(frozen=True, slots=True)
class Outcome(Noun):
    """What became of a write: `outcome` names it, `because` gives the reason, `advice` a hint if there is one. It is
    false if the write was refused or waits for a person."""

    outcome: Literal["added", "reinforced", "restored", "repeated", "refused", "changed", "unchanged", "needs_consent"]
    because: str
    id: str | None = None
    record: Record | None = None
    batch: str | None = None
    advice: str | None = None
    pending: str | None = None  # the id of the question for a person, for `review`
    scope: str | None = None  # where the memory is, or would have gone

    def __post_init__(self) -> None:
        if self.record is not None:
            object.__setattr__(self, "scope", self.record.scope)

    def __bool__(self) -> bool:
        """Whether the write was done: False if it was refused or waits for a person."""
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
    """One memory that a verb changed or would change, and why."""

    id: str
    number: int
    because: str


@dataclass(frozen=True, slots=True)
class Report(Noun):
    """What a verb did to several memories, or would do in a dry run. It holds none of their content. It is false while
    it waits for a person."""

    verb: str
    changed: tuple[Planned, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict, hash=False)  # id → why it was left unchanged
    batch: str | None = None  # for `undo`
    dry_run: bool = False
    advice: str | None = None
    rows: int | None = None  # index rows, for jobs that work on those instead of memories
    pending: str | None = None  # the id of the question for a person; nothing was done

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
    """One thing that counts for or against a record: the measured value, the value on the common scale, and what it
    adds to the sum."""

    name: str
    value: float
    scaled: float
    contribution: float


@dataclass(frozen=True, slots=True)
class Hit(Noun):
    """One found record. Without `signals`, the score is the product of the factors in `why`. With a `relevance` in
    `why`, the contributions of all signals, including those of the other factors, add up to the log-odds of the score:
    score = 1 / (1 + exp(-sum))."""

    record: Record
    score: float
    why: Mapping[str, float] = field(default_factory=dict, hash=False)
    signals: tuple[Signal, ...] = ()
    conflicts: tuple[str, ...] = ()  # ids of active memories that contradict it, where a design looks for them
    replaces: tuple[str, ...] = ()  # ids of older hits that it certainly replaces; those rank behind it
    freshness: Freshness | None = None  # whether its files are unchanged, if their digests were noted

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
)  # how a caller names a memory: by number, by id, or by what a verb returned


@dataclass(frozen=True, slots=True)
class Step(Noun):
    """What one stage of a recall did: how many hits it kept, how long it took, and which it dropped and why, by id, or
    by `#number` if only the number was known."""

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
    """The answer to a query: a sequence of hits, best first, with the trace of how they were found."""

    query: str
    hits: tuple[Hit, ...] = ()
    empty_because: str | None = None
    trace: tuple[Step, ...] = ()
    scopes: tuple[str, ...] = ()
    receipt: str = ""
    notes: tuple[str, ...] = ()  # what to know about it, such as that the configured model does not answer yet

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
    """Text for a prompt, within its budget. `str(context)` is the text; a context without text is false."""

    text: str
    items: tuple[Hit, ...] = ()
    tokens: int = 0
    budget: int = 0
    compression_ratio: float = 0.0  # tokens shown / tokens of all candidates
    receipt: str = ""
    left_out: tuple[str, ...] = ()  # ids of memories that were found but did not fit
    empty_because: str | None = None
    stable: int = 0  # the first `stable` characters stay the same from turn to turn, for prompt caches
    lanes: Mapping[str, Mapping[str, int]] = field(
        default_factory=dict, hash=False
    )  # quota, wanted and spent tokens of each lane
    fingerprint: Mapping[str, Any] = field(default_factory=dict, hash=False)  # what was asked for, to compare outcomes
    skipped: tuple[str, ...] = ()  # what there was no time for, such as documents, and what was not worth its tokens
    topic_changed: bool | None = None  # for what a session looked up ahead: whether the topic is a new one

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


def stated_key(record: Record) -> tuple[datetime, int]:
    """Sorts records by when they were stated; of two stated at once, the one stored later is the later."""
    return record.times.stated, record.number
