"""The small values that go in and out of a store: shelves, commits, receipts, runs, generations of vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from memorist.kinds import ARCHIVE, KINDS, MEMORY
from memorist.records import Counters, Event, Link, Record, from_micros

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

    Floats = NDArray[float32]


LOOKED_AT = 60  # records that `stating` looks at, the newest


@dataclass(frozen=True, slots=True)
class Shelf:
    """The unit of the index: a question reads only the shelves it may and must."""

    space: str
    scope: str
    layer: str


@dataclass(frozen=True, slots=True)
class Sealed:
    """A record ready to be written: its columns, its own key, and the checksum of the columns under it."""

    record: Record
    row: tuple[Any, ...]
    key: bytes
    checksum: bytes
    new: bool = False  # the store has not seen it yet


@dataclass(frozen=True, slots=True)
class Counted:
    """New counters for a record, and when it was last used."""

    record: str
    counters: Counters
    used: datetime | None


@dataclass(frozen=True, slots=True)
class KeyUse:
    """An idempotency key (as a digest), the digest of what it was used for, and what became of it."""

    key: str
    draft: str
    record: str
    outcome: str
    at: datetime


RENDERED_AT_MOST = 1000  # lines of the recall log with a text for a prompt: each is as long as the prompt was


@dataclass(frozen=True, slots=True)
class Receipt:
    """One line of the recall log: what was asked and what was shown. Unchained, bounded, flushed cheaply."""

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
    rendered: Mapping[str, Any] | None = None  # of a context only: the text that went into a prompt, and out of what


@dataclass(frozen=True, slots=True)
class Brief:
    """What upkeep needs to weigh a record against the others, without its text."""

    id: str
    number: int
    bytes: int  # what it costs in the store: row, index and all
    pinned: bool
    since: datetime  # when it last helped, else when it happened
    counters: Counters
    scope: str
    kind: str
    status: str
    trust: str
    importance: float
    confidence: float
    touched: datetime  # when it was last written or changed, or helped


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a job: who does it until when, and how far it came; or a question that waits for a person, which is the
    only thing in it that may hold text, and goes once it is decided."""

    id: int
    space: str
    job: str
    state: str  # running, done or failed; of a question: asks, done, denied or withdrawn
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
class Commit:
    """What one commit writes, all of it or nothing."""

    records: Sequence[Sealed] = ()
    generation: int = 0  # of these vectors
    vectors: Mapping[str, Sequence[bytes]] = field(
        default_factory=dict
    )  # of some of the records, one for each index row
    counted: Sequence[Counted] = ()
    links: Sequence[Link] = ()
    unlinked: Sequence[Link] = ()
    keys: Sequence[KeyUse] = ()
    events: Sequence[Event] = ()
    digest: bytes = b""  # that ties these events to all before
    runs: Sequence[Run] = ()  # one with id 0 is new
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Erased:
    """What `erase` took away beside the records themselves."""

    events: tuple[int, ...]  # of other records, which told of one of them
    words: frozenset[str]  # that no memory of the space holds any more


@dataclass(frozen=True, slots=True)
class Generation:
    """Vectors of one model. Two generations never meet in one comparison: their numbers mean different things."""

    id: int
    model: str  # name and digest: what made the vectors, exactly
    dimension: int
    state: str  # filling, current or retired

    @property
    def bytes(self) -> int:
        """What one of its vectors takes."""
        return self.dimension + 4


@dataclass(frozen=True, slots=True)
class Piece:
    """An index row as an embedder sees it: its number and its text."""

    row: int
    text: str


@dataclass(frozen=True, slots=True)
class Near:
    """What `nearest` found, most similar first, and how similar the shelves' rows are to the question on the whole: only
    against that does a single similarity say anything."""

    hits: tuple[tuple[int, float], ...] = ()  # a record's number, and the cosine of its best row
    rows: int = 0
    mean: float = 0.0
    spread: float = 0.0  # standard deviation


class Fact(NamedTuple):
    """What ranking needs to know of a record, without its text. `before` and `after` are its neighbours in its session."""

    number: int
    shelf: Shelf
    session: str | None
    role: str | None
    speaker: str | None
    micros: int  # when it happened; most questions do not ask
    up: int  # votes for it
    before: int | None = None
    after: int | None = None

    @property
    def at(self) -> datetime:
        return from_micros(self.micros)


@dataclass(frozen=True, slots=True)
class Size:
    records: int
    bytes: int  # the file (0 in RAM)
    live_bytes: int  # without pages that are free to be used again
    events: int
    receipts: int
    used: int = 0  # how often the memories of a space were used
    done: Mapping[tuple[str, str], int] = field(
        default_factory=dict
    )  # how often what was done there, through which surface


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a doctor looked at."""

    ok: bool
    check: str
    detail: str
    advice: str | None = None


def footprint(content: int, vector: int = 0) -> int:
    """Bytes that a memory with so many bytes of content costs in a store: measured, with its index and its journal, and a
    vector of so many bytes for every thousand of the text."""
    return 450 + 5 * content // 2 + vector * (1 + content // 1000)


def shelf_of(record: Record) -> Shelf:
    """Where a record is indexed."""
    return Shelf(record.space, record.scope, layer_of(record.kind, record.state))


def layer_of(kind: str, state: str) -> str:
    """A kind's own layer while a record is active, the archive otherwise.

    Kinds that a user added are memories; only ours lie on other layers.
    """
    known = KINDS.get(kind)
    return (known.layer if known else MEMORY) if state == "active" else ARCHIVE
