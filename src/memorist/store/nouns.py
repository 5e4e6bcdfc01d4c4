"""The values that go in and out of a store: shelves, commits, receipts, runs, generations of vectors. Also how a record is
turned into a row, and sealed."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from memorist.errors import StoreDamaged
from memorist.kinds import ARCHIVE, KINDS, LAYERS, MEMORY
from memorist.lazy import dataclass
from memorist.noun import Noun
from memorist.records import Counters, Event, Link, Provenance, Record, Times, from_micros, to_micros
from memorist.store.where import canonical

COLUMNS = (
    "id", "kind", "text", "title", "tags", "files", "data", "status", "pinned", "state", "reason",
    "importance", "confidence", "at", "created", "updated", "valid_from", "valid_to",
    "actor", "surface", "session", "role", "speaker", "agent", "task", "narrative", "source",
    "origin", "trust", "season", "fingerprint", "version", "superseded_by",
)  # fmt: skip
CONTENT = ("text", "title", "tags", "files", "data")  # the content of a memory, from which its footprint is computed
COUNTERS = ("up", "down", "used", "surfaced", "rejected", "strength")
UNCOUNTED = Counters()  # shared by all records without counts
WHOLE = {"pinned", "at", "created", "updated", "valid_from", "valid_to", "version", *COUNTERS, "last_used"}
REAL = {"importance", "confidence"}
MAY_BE_MISSING = {
    "title", "tags", "files", "data", "reason", "valid_from", "valid_to", "session", "role", "speaker", "agent", "task",
    "narrative", "source", "season", "superseded_by", *COUNTERS, "last_used",
}  # fmt: skip
SHAPES_AT_MOST = 1000
_sound_shapes: set[tuple[type, ...]] = set()  # of rows seen so far; one look at it costs a tenth of the columns' own
NOTHING_SAID = (None,) * 6  # no session, role, speaker, agent, task or narrative
CHAIN_START = bytes(32)
T = TypeVar("T")
LOOKED_AT = 60  # newest records that `stating` looks at
TIES_AT_MOST = 100  # links of a record, to the newest, that `neighbours` looks at, for each kind and direction


@dataclass(frozen=True, slots=True)
class Shelf:
    """The unit of the index: a query reads only the shelves that it may and must read."""

    space: str
    scope: str
    layer: str
    home: str | None = None

    @property
    def place(self) -> str:
        """The scope with its home, as one name that is unique within the space and layer."""
        return self.scope if self.home is None else f"{self.home}//{self.scope}"


@dataclass(frozen=True, slots=True)
class Sealed:
    """A record ready to be written: its columns, its own key, and the checksum of the columns under that key."""

    record: Record
    row: tuple[Any, ...]
    key: bytes
    checksum: bytes
    new: bool = False  # not in the store yet


@dataclass(frozen=True, slots=True)
class Counted:
    """New counters for a record, and when it was last used."""

    record: str
    counters: Counters
    used: datetime | None


# Outcomes of a key that names a message without revealing its content; such a key stays when its turn is erased.
MESSAGE_KEPT, ERASED_MESSAGE = "said", "unsaid"


@dataclass(frozen=True, slots=True)
class KeyUse:
    """An idempotency key (as a digest), the digest of what it was used for, and the outcome."""

    key: str
    draft: str
    record: str
    outcome: str
    at: datetime


RENDERED_AT_MOST = 1000  # recall log entries with a text for a prompt, each as long as that prompt


@dataclass(frozen=True, slots=True)
class Receipt:
    """One entry of the recall log: the query and what was shown. Unchained, bounded, flushed cheaply."""

    id: str
    at: datetime
    space: str
    query: str
    actor: str
    surface: str
    session: str | None
    ms: float
    shown: tuple[tuple[str, float], ...]
    empty_because: str | None = None
    rendered: Mapping[str, Any] | None = None  # for a context only: the text that went into a prompt, and its sources
    home: str | None = None  # the project in which the query was made; unknown for entries from before 0.2.0

    @property
    def ids(self) -> list[str]:
        return [id for id, _ in self.shown]

    @property
    def tokens(self) -> int:
        """What the text cost that went into a prompt; 0 where none did."""
        return int((self.rendered or {}).get("tokens", 0))


LESSONS_AT_MOST = 300  # of a project, since a query is compared with all of them


@dataclass(frozen=True, slots=True)
class Lesson:
    """How one memory did for one query, in the project where it was asked. Verdicts count in thirds: being used is one third
    of being called useful."""

    id: str
    space: str
    home: str
    record: str
    question: str
    places: tuple[tuple[str, str | None], ...]  # the scopes, with their homes, that the answer came from
    users: int  # the user's verdict, above or below zero
    others: int  # the verdict of all others
    at: datetime  # when the last verdict was given


@dataclass(frozen=True, slots=True)
class Brief:
    """What upkeep needs to weigh a record against the others, without its text."""

    id: str
    number: int
    bytes: int  # its size in the store, including row and index
    pinned: bool
    since: datetime  # when it last helped, otherwise when it happened
    counters: Counters
    scope: str
    kind: str
    status: str
    trust: str
    importance: float
    confidence: float
    touched: datetime  # when it was last written, changed, repeated, or helped
    at: datetime  # when it happened
    created: datetime  # when it was stored
    home: str | None = None


class Glimpse(NamedTuple):
    """What a window shows of a turn; nothing else is read, since there may be ten thousand."""

    number: int
    id: str
    version: int
    text: str
    role: str | None
    origin: str
    trust: str
    data: Mapping[str, Any]


TRIED = "tried"  # in a run's checkpoint: it was cut off again, and only upkeep should go on with it


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a job: who does it until when, and how far it got. Or a question for a person; its text is the only text in a
    run, and is removed once the question is decided."""

    id: int
    space: str
    job: str
    state: str  # running, done or failed; for a question: asks, done, denied or withdrawn
    owner: str
    lease: datetime
    at: datetime
    updated: datetime
    batch: str | None = None
    checkpoint: Mapping[str, Any] = field(default_factory=dict)
    changed: int = 0
    problem: str | None = None
    question: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ChainLink:
    """The events `first` … `last` of one transaction, and the digest that ties them to all events before."""

    first: int
    last: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Commit:
    """What one commit writes, all or nothing."""

    records: Sequence[Sealed] = ()
    vectors: Mapping[int, Mapping[str, Sequence[bytes]]] = field(default_factory=dict)  # by generation, of some records
    counted: Sequence[Counted] = ()
    links: Sequence[Link] = ()
    unlinked: Sequence[Link] = ()
    keys: Sequence[KeyUse] = ()
    events: Sequence[Event] = ()
    digest: bytes = b""  # ties these events to all events before
    runs: Sequence[Run] = ()  # one with id 0 is new
    lessons: Sequence[Lesson] = ()
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Erased:
    """What `erase` removed besides the records themselves."""

    events: tuple[int, ...]  # of other records, which mentioned one of the erased
    words: frozenset[str]  # words that no memory of the space holds any more
    questions: frozenset[str] = frozenset()  # of lessons that were removed


@dataclass(frozen=True, slots=True)
class Generation:
    """Vectors of one model, for some layers. Vectors of two generations are never compared, because their numbers mean
    different things."""

    id: int
    model: str  # name and digest: exactly what made the vectors
    dimension: int
    state: str  # filling, current or retired
    layers: tuple[str, ...] = LAYERS
    lost: tuple[str, ...] = ()  # layers it once covered; its vectors for them are no longer read

    @property
    def bytes(self) -> int:
        return self.dimension + 4

    @property
    def use(self) -> str:
        """What the store uses it for."""
        return self.state + ("" if self.layers == LAYERS else f": {', '.join(self.layers)}")

    def has(self, layers: Iterable[str]) -> bool:
        return any(layer in self.layers for layer in layers)

    def fitting(self, shelves: Iterable[Shelf]) -> list[Shelf]:
        return [shelf for shelf in shelves if shelf.layer in self.layers]

    def without(self, layers: Sequence[str]) -> "Generation":
        """The generation without these layers; retired if none is left."""
        left = tuple(layer for layer in self.layers if layer not in layers)
        return replace(self, layers=left) if left else replace(self, state="retired")


@dataclass(frozen=True, slots=True)
class Piece:
    """An index row as an embedder sees it: its number and text."""

    row: int
    text: str


@dataclass(frozen=True, slots=True)
class Near:
    """What `nearest` found, most similar first, and how similar the shelves' rows are to the query overall; only compared with
    that does a single similarity mean anything."""

    hits: tuple[tuple[int, float], ...] = ()  # a record's number, and the cosine of its best row
    rows: int = 0
    mean: float = 0.0
    spread: float = 0.0  # standard deviation


class Fact(NamedTuple):
    """What ranking needs to know about a record, without its text. `before` and `after` are its neighbours in its session."""

    number: int
    shelf: Shelf
    session: str | None
    role: str | None
    speaker: str | None
    micros: int  # when it happened; converted only on demand, since most queries do not need it
    up: int  # votes in favour
    before: int | None = None
    after: int | None = None
    kind: str = "fact"

    @property
    def at(self) -> datetime:
        return from_micros(self.micros)


class Tie(NamedTuple):
    """A link from the view of a walk: from the record `here` to `there`, by number."""

    here: int
    there: int
    kind: str
    weight: float
    evidence: str | None
    outward: bool  # whether the link starts at `here`
    degree: int  # how many links of `here` were looked at and matched


@dataclass(frozen=True, slots=True)
class Size:
    records: int
    bytes: int  # of the file; 0 in RAM
    live_bytes: int  # without free pages
    events: int
    receipts: int
    used: int = 0  # how often the memories of a space were used
    done: Mapping[tuple[str, str], int] = field(default_factory=dict)  # how often, by verb and surface


@dataclass(frozen=True, slots=True, repr=False)
class Diagnosis(Noun):
    """One check of the doctor and its result; truthy if all is well."""

    ok: bool
    check: str
    detail: str
    advice: str | None = None

    def __bool__(self) -> bool:
        return self.ok


def parts(of: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Splits what is too much for one query or transaction into parts of `size`, in order."""
    return (of[start : start + size] for start in range(0, len(of), size))


def footprint(content: int, vector: int = 0) -> int:
    """Bytes that a memory with `content` bytes costs in a store, from measurements: including index and journal, and a vector
    of `vector` bytes for every thousand bytes of content."""
    return 450 + 5 * content // 2 + vector * (1 + content // 1000)


def shelf_of(record: Record) -> Shelf:
    return Shelf(record.space, record.scope, layer_of(record.kind, record.state), record.home)


def layer_of(kind: str, state: str) -> str:
    """A kind's own layer while a record is active, the archive otherwise.

    Kinds added by a user are memories; only built-in kinds lie on other layers.
    """
    known = KINDS.get(kind)
    return (known.layer if known else MEMORY) if state == "active" else ARCHIVE


# ---------------------------------------------------------------- a record as stored columns, and back
#
# A row's checksum covers the same columns, so that all stores compute the same checksum for a record. Counters are excluded on
# purpose (they change without the record changing) and have a checksum of their own. Empty values are stored as NULL: most
# memories have no title, files or data, and a store of a million should not pay for these.


def to_row(record: Record) -> tuple[Any, ...]:
    """The values of COLUMNS."""
    times, source = record.times, record.provenance
    return (
        record.id, record.kind, record.text, record.title, _json(record.tags), _json(record.files),
        _json(record.data), record.status, int(record.pinned), record.state, record.reason,
        float(record.importance), float(record.confidence),
        to_micros(times.at), to_micros(times.created), to_micros(times.updated),
        None if times.valid_from is None else to_micros(times.valid_from),
        None if times.valid_to is None else to_micros(times.valid_to),
        source.actor, source.surface, source.session, source.role, source.speaker, source.agent,
        source.task, source.narrative, _grounds(source),
        record.origin, record.trust, record.season, record.fingerprint, record.version, record.superseded_by,
    )  # fmt: skip


def from_row(
    space: str, scope: str, home: str | None, number: int, row: Sequence[Any], counted: Sequence[Any]
) -> Record:
    """The record; `counted` holds the counters and the time of last use, or Nones if nothing was counted."""
    (id, kind, text, title, tags, files, data, status, pinned, state, reason, importance, confidence,
     at, created, updated, valid_from, valid_to, actor, surface, session, role, speaker, agent, task,
     narrative, source, origin, trust, season, fingerprint, version, superseded_by) = row  # fmt: skip
    _must_be_sound(row, counted[:7])
    used, said = counted[6], from_micros(at)
    made = said if created == at else from_micros(created)
    return Record(
        id, space, scope, kind, text,
        Times(
            said, made, made if updated == created else from_micros(updated),
            None if used is None else from_micros(used),
            None if valid_from is None else from_micros(valid_from),
            None if valid_to is None else from_micros(valid_to),
        ),
        number, title,
        tuple(json.loads(tags)) if tags else (),
        tuple(json.loads(files)) if files else (),
        json.loads(data) if data else {},
        status, bool(pinned), state, reason, importance, confidence,
        Counters(*counted[:6]) if counted[0] is not None else UNCOUNTED,
        _provenance(source, actor, surface, session, role, speaker, agent, task, narrative),
        origin, trust, season, fingerprint, version, superseded_by, home,
    )  # fmt: skip


def _must_be_sound(row: Sequence[Any], counted: Sequence[Any]) -> None:
    """Checks the column types: a flipped bit can turn any column into NULL or bytes, even where the schema forbids it."""
    shape = (*map(type, row), *map(type, counted))
    if shape in _sound_shapes:
        return
    for name, found in zip((*COLUMNS, *COUNTERS, "last_used"), shape, strict=True):
        wanted = int if name in WHOLE else float if name in REAL else str
        if found is not wanted and not (found is type(None) and name in MAY_BE_MISSING):
            raise TypeError(f"its {name} is no {wanted.__name__}")
    if len({value is None for value in counted[:6]}) > 1:
        raise TypeError("one of its counters is missing")
    if len(_sound_shapes) < SHAPES_AT_MOST:
        _sound_shapes.add(shape)


def counters_of(number: int, counted: Sequence[Any]) -> tuple[Counters, datetime | None]:
    """The counters of a record and when it was last used, if nothing else about it is needed."""
    *counts, used = counted
    if not (all(type(count) is int for count in counts) or all(count is None for count in counts)):
        raise StoreDamaged(f"the counters of memory {number} cannot be read; `memorist doctor` tells more")
    return Counters(*counts) if counts[0] is not None else UNCOUNTED, None if used is None else from_micros(used)


def checksum(key: bytes, space: str, scope: str, home: str | None, row: Sequence[Any]) -> bytes:
    """A keyed digest of the record's columns. Without the key, which `erase` destroys, nothing can be guessed from it. A home
    is included only if there is one, so that records from before homes existed keep their checksum."""
    content = canonical([space, scope, *([] if home is None else [home]), *row])
    return hashlib.blake2b(content.encode(), digest_size=16, key=key).digest()


def tally(number: int, counted: Sequence[object]) -> bytes:
    """The separate checksum of counters and links. It detects flipped bits; it is not a seal."""
    return hashlib.blake2b(repr((number, *counted)).encode(), digest_size=4).digest()


def difference(old: Record, new: Record) -> dict[str, Any]:
    """The old values of the columns that differ: what the journal needs to show the change, and to undo it."""
    before, after = ((record.scope, record.home, *to_row(record)) for record in (old, new))
    columns = zip(("scope", "home", *COLUMNS), before, after, strict=True)
    return {name: was for name, was, now in columns if was != now and name not in ("updated", "version")}


def _json(value: Mapping[str, Any] | Sequence[str]) -> str | None:
    return canonical(value) if value else None


def _grounds(source: Provenance) -> str | None:
    if source.messages is None and source.snippet is None and source.confidence_because is None:
        return None
    return canonical([source.messages, source.snippet, source.confidence_because])


@lru_cache(maxsize=64)
def _came_through(actor: str, surface: str) -> Provenance:
    """Cached, because most memories came through a few doors and have no further provenance."""
    return Provenance(actor, surface)


def _provenance(source: str | None, actor: str, surface: str, *said: Any) -> Provenance:
    if source is None and said == NOTHING_SAID:
        return _came_through(actor, surface)
    plain = Provenance(actor, surface, *said)
    if source is None:
        return plain
    messages, snippet, because = json.loads(source)
    messages = tuple(messages) if messages else None
    return replace(plain, messages=messages, snippet=snippet, confidence_because=because)


# ---------------------------------------------------------------- seals: `journal.py` says what they are for


def seal(record: Record, key: bytes, new: bool = False) -> Sealed:
    row = to_row(record)
    return Sealed(record, row, key, checksum(key, record.space, record.scope, record.home, row), new)


def event_mac(key: bytes, before: Mapping[str, Any] | None, because: str | None) -> bytes:
    """The digest of an event's own content, under the record's key."""
    content = canonical([None if before is None else dict(before), because])
    return hashlib.blake2b(content.encode(), digest_size=16, key=key).digest()


def next_link(previous: ChainLink | None, events: Sequence[Event]) -> ChainLink:
    """The link for these events, which are already numbered."""
    digest = hashlib.blake2b(previous.digest if previous else CHAIN_START, digest_size=32)
    for event in events:
        digest.update(_facts(event))
    return ChainLink(events[0].seq, events[-1].seq, digest.digest())


def _facts(event: Event) -> bytes:
    facts = (event.seq, to_micros(event.at), event.actor, event.surface, event.verb, event.record, event.batch)
    return canonical(facts).encode() + event.mac + event.after
