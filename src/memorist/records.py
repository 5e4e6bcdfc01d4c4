"""The nouns. All are frozen: a change is a new value, so the journal can show the old one beside it.

A decision, a preference, a chat turn, a task: all are `Record`s of some kind. What was observed is stored here
(counters, times, who said it); what it means today (decay, utility) is computed in `worth.py` and never stored.
"""

import os
import re
import threading
import time
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any, Literal, overload

from memorist.errors import Invalid
from memorist.unseen import UNSEEN

Status = Literal["candidate", "confirmed"]
State = Literal["active", "archived", "superseded", "erased"]
LIVING: tuple[State, ...] = ("active", "archived", "superseded")  # all but erased
Origin = Literal["user", "recorded", "agent", "tool", "web", "file", "import"]  # most trusted first
Trust = Literal["high", "medium", "low"]
LinkKind = Literal["relates_to", "supersedes", "contradicts", "derived_from", "in_cluster"]
LINK_KINDS: tuple[LinkKind, ...] = ("relates_to", "supersedes", "contradicts", "derived_from", "in_cluster")

# ---------------------------------------------------------------- ids and times

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


def utc(moment: datetime, what: str = "a time") -> datetime:
    """The same moment in UTC; a time without a zone is refused, because its meaning is unknown."""
    if not isinstance(moment, datetime):
        raise Invalid(f"{what} must be a datetime with a zone, not {type(moment).__name__}")
    if moment.tzinfo is None:
        raise Invalid(f"{what} has no time zone: {moment.isoformat()}; add one, such as tzinfo=UTC")
    try:
        return moment.astimezone(UTC)
    except OverflowError as problem:
        raise Invalid(f"{what} is outside the years 1 to 9999 once in UTC: {moment.isoformat()}") from problem


def now_utc() -> datetime:
    return datetime.fromtimestamp(time.time(), UTC)


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(moment: datetime) -> int:
    return (moment - EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


# ---------------------------------------------------------------- where a memory belongs


def unseen(text: str) -> set[str]:
    """Its characters that show nothing, or order others about. No name may hold one but the selector that is part of an emoji:
    keyboards write it."""
    text = re.sub("(?<=[\u203c-\u3299\U0001f000-\U0001faff])\ufe0f", "", text)
    formats = (char for char in text if unicodedata.category(char) in ("Cc", "Cf"))
    return {*re.findall(f"[{UNSEEN}]", text), *formats}


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
    if not (path.isascii() and path.isprintable()) and unseen(path):
        return "holds an invisible or control character"
    if unicodedata.normalize("NFC", path) != path:
        return "is not in Unicode's composed form (NFC), so it would look like another scope and not be it"
    if "*" in path:
        return "holds '*', which stands for every scope in an access"
    return None


# ---------------------------------------------------------------- the record


@dataclass(frozen=True, slots=True)
class Counters:
    """What happened to a record, counted. To be used or said again resets clocks; `surfaced` is telemetry."""

    up: int = 0
    down: int = 0
    used: int = 0
    surfaced: int = 0
    rejected: int = 0
    strength: int = 0  # how often the same thing was said again


@dataclass(frozen=True, slots=True)
class Times:
    """All in UTC. `at` is when it happened, `created` when it was stored, `used` when it last helped or was said again."""

    at: datetime
    created: datetime
    updated: datetime
    used: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True)
class Provenance:
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
class Record:
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
    data: Mapping[str, Any] = field(default_factory=dict)
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


_FIELDS = tuple(field.name for field in fields(Record))
_PLACES = {name: place for place, name in enumerate(_FIELDS)}
_values = attrgetter(*_FIELDS)


def changed(record: Record, **changes: Any) -> Record:
    """`dataclasses.replace` for records, at a quarter of its cost: it stands on the path of every write."""
    values = list(_values(record))
    for name, value in changes.items():
        values[_PLACES[name]] = value
    return Record(*values)


@dataclass(frozen=True, slots=True)
class Link:
    """`a` stands in this relation to `b`: in `supersedes`, a is the newer one."""

    a: str
    b: str
    kind: LinkKind
    weight: float = 1.0
    evidence: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
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
    before: Mapping[str, Any] | None = None
    seq: int = 0
    mac: bytes = b""
    after: bytes = b""


@dataclass(frozen=True, slots=True)
class Draft:
    """What a caller asks to be remembered, before the gate has looked at it."""

    text: str
    kind: str = "fact"
    scope: str | None = None
    title: str | None = None
    tags: Sequence[str] = ()
    files: Sequence[str] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    importance: float | None = None
    confidence: float | None = None
    pinned: bool = False
    at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
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


# ---------------------------------------------------------------- answers


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a write: `outcome` names it, `because` gives the reason, `advice` a hint where there is one."""

    outcome: Literal["added", "reinforced", "restored", "repeated", "refused", "changed", "unchanged", "needs_consent"]
    because: str
    id: str | None = None
    record: Record | None = None
    batch: str | None = None
    advice: str | None = None
    pending: str | None = None  # the question that waits for a person, for `review`


@dataclass(frozen=True, slots=True)
class Planned:
    """One memory that a verb changed, or would change, and the reason."""

    id: str
    number: int
    because: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a verb did to several memories, or in a dry run would do. It holds no content."""

    verb: str
    changed: tuple[Planned, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict)  # id → why it stayed as it was
    batch: str | None = None  # for `undo`
    dry_run: bool = False
    advice: str | None = None
    rows: int | None = None  # index rows, of a job that looks after those and not after memories
    pending: str | None = None  # the question that waits for a person; nothing was done


@dataclass(frozen=True, slots=True)
class Signal:
    """One thing that speaks for or against a record: as measured, on the common scale, and what it adds to the sum."""

    name: str
    value: float
    scaled: float
    contribution: float


@dataclass(frozen=True, slots=True)
class Hit:
    """One found record. Without `signals`, the score is the product of the factors in `why`. With a `relevance` in `why`, the
    contributions of all signals, among them what the other factors are worth, add up to the score's log-odds: it is
    1 / (1 + exp(-sum))."""

    record: Record
    score: float
    why: Mapping[str, float] = field(default_factory=dict)
    signals: tuple[Signal, ...] = ()
    conflicts: tuple[str, ...] = ()  # ids of active memories that contradict it, where a design looks for them


@dataclass(frozen=True, slots=True)
class Step:
    """What one stage of a recall did: how many it kept, how long it took, whom it dropped and why: by id, or by `#number`
    where only the number was known."""

    stage: str
    kept: int
    ms: float
    dropped: Mapping[str, str] = field(default_factory=dict)
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Recall(Sequence[Hit]):
    """The answer to a question: a sequence of hits, best first, with the trace of how it was found."""

    query: str
    hits: tuple[Hit, ...] = ()
    empty_because: str | None = None
    trace: tuple[Step, ...] = ()
    scopes: tuple[str, ...] = ()
    receipt: str = ""

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


@dataclass(frozen=True, slots=True)
class Context:
    """Text for a prompt, within its budget. `str(context)` is the text."""

    text: str
    items: tuple[Hit, ...] = ()
    tokens: int = 0
    budget: int = 0
    compression_ratio: float = 0.0  # tokens given out / tokens of all candidates
    receipt: str = ""
    left_out: tuple[str, ...] = ()  # ids that were found and did not fit
    empty_because: str | None = None
    stable: int = 0  # so many characters at the beginning stay the same from turn to turn, for prompt caches
    lanes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # of each its quota, wanted and spent tokens
    fingerprint: Mapping[str, Any] = field(default_factory=dict)  # what was asked for, to compare outcomes by

    def __str__(self) -> str:
        return self.text
