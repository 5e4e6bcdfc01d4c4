"""What a store does. Small, synchronous, batch-first; every backend passes `memorist.testing.StoreContract`.

What a caller reads goes through a `Where`, which is always built from an `Access`, so nothing can be read that the caller
may not see; the few methods without one (journal, twins, seals, receipts …) serve the engine itself. Writing methods are
called by the writer alone (`writer.py`, `meaning.py`), inside `transaction()`: they keep rows, index, links and journal in
step or change nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from memorist.kinds import ARCHIVE, KINDS, MEMORY
from memorist.records import Counters, Event, Link, Record
from memorist.store.chain import ChainLink
from memorist.store.where import Order, Where
from memorist.text.bm25 import Found, Yardstick

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

    Floats = NDArray[float32]


@dataclass(frozen=True, slots=True)
class Shelf:
    """The unit of the index: a question reads only the shelves it may and must."""

    space: str
    scope: str
    layer: str


@dataclass(frozen=True, slots=True)
class Match:
    """A record found by words: the score of its best chunk, where that chunk lies, and which terms it holds."""

    record: Record
    score: float
    terms: tuple[str, ...]
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Matches:
    """What `match` found, best first. `ceiling` is the score no record can pass for these terms on these shelves."""

    hits: tuple[Match, ...] = ()
    ceiling: float = 0.0


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


@dataclass(frozen=True, slots=True)
class Brief:
    """What upkeep needs to weigh a record against the others, without its text."""

    id: str
    number: int
    bytes: int  # what it costs in the store: row, index and all
    pinned: bool
    since: datetime  # when it last helped, else when it happened
    counters: Counters


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a job: who does it until when, and how far it came. It holds no text of any memory."""

    id: int
    space: str
    job: str
    state: str  # running, done or failed
    owner: str
    lease: datetime
    at: datetime
    updated: datetime
    batch: str | None = None
    checkpoint: Mapping[str, Any] = field(default_factory=dict)
    changed: int = 0
    problem: str | None = None


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


@dataclass(frozen=True, slots=True)
class Fact:
    """What ranking needs to know of a record, without its text. `before` and `after` are its neighbours in its session."""

    number: int
    shelf: Shelf
    session: str | None
    role: str | None
    speaker: str | None
    at: datetime
    up: int  # votes for it
    before: int | None = None
    after: int | None = None


@dataclass(frozen=True, slots=True)
class Size:
    records: int
    bytes: int  # the file (0 in RAM)
    live_bytes: int  # without pages that are free to be used again
    events: int
    receipts: int


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
    """Where a record is indexed: on its kind's layer while it is active, in the archive otherwise.

    Kinds that a user added are memories; only ours lie on other layers.
    """
    kind = KINDS.get(record.kind)
    layer = (kind.layer if kind else MEMORY) if record.state == "active" else ARCHIVE
    return Shelf(record.space, record.scope, layer)


class Store(Protocol):
    # ------------------------------------------------------------ reading

    def moment(self) -> AbstractContextManager[None]:
        """Everything that this thread reads inside is from the same moment, whatever others write meanwhile."""

    def get(self, ids: Sequence[str], where: Where) -> list[Record]:
        """The visible ones among these full ids, in the order asked."""

    def resolve(self, reference: str, where: Where, most: int) -> list[Record]:
        """Visible records whose short number is, or whose id begins with, or else ends with, `reference`; newest first."""

    def find(self, where: Where, order: Order, limit: int) -> list[Record]: ...

    def count(self, where: Where) -> int: ...

    def match(self, terms: Sequence[str], shelves: Sequence[Shelf], where: Where, limit: int) -> Matches:
        """The best `limit` records by words on these shelves, and of the others that were looked at closely those with a
        vote for them: a design may lift them. The filter is applied before the limit."""

    def match_numbers(self, terms: Sequence[str], shelves: Sequence[Shelf], where: Where, limit: int) -> Found:
        """What `match` finds, as the records' numbers and scores in the same order; nothing is read of the records
        themselves."""

    def score(self, yardstick: Yardstick, shelves: Sequence[Shelf], numbers: Sequence[int]) -> dict[int, float]:
        """How well these records hold the terms that `match_numbers` measured on these shelves, on the same scale; those
        that hold none are left out."""

    def nearest(
        self, generation: int, vector: "Floats", shelves: Sequence[Shelf], where: Where, limit: int, exact: bool = False
    ) -> Near:
        """The `limit` records most similar to this vector on these shelves. The filter is applied before the limit.
        `exact` compares with every row at full length; without it a large shelf may be searched approximately."""

    def similarities(
        self, generation: int, vector: "Floats", shelves: Sequence[Shelf], numbers: Sequence[int]
    ) -> dict[int, float]:
        """The cosine of the best row of each of these records; those without a vector are left out."""

    def facts(self, numbers: Sequence[int], shelves: Sequence[Shelf], where: Where) -> list[Fact]:
        """What ranking needs to know of those of these records that are visible on these shelves."""

    def numbered(self, numbers: Sequence[int], where: Where) -> list[Record]:
        """The visible ones among these numbers, in the order asked."""

    def speakers(self, shelves: Sequence[Shelf], most: int) -> list[str]:
        """Who speaks on these shelves."""

    def generations(self) -> list[Generation]:
        """Oldest first."""

    def unembedded(self, generation: int, after: int, limit: int) -> list[Piece]:
        """Index rows of any shelf, the archive too, that have no vector of that generation; in order, after that row."""

    def pieces(self, numbers: Sequence[int], generation: int) -> list[Piece]:
        """The index rows of these records that have no vector of that generation."""

    def links_of(self, ids: Sequence[str], where: Where) -> list[Link]:
        """Links whose both ends are visible and one of whose ends is among `ids`."""

    def link(self, a: str, b: str, kind: str) -> Link | None:
        """That one link, whoever may see it."""

    def scopes(self, space: str) -> dict[str, int]:
        """Every scope of the space and how many active records it holds."""

    def journal(self, record: str) -> list[Event]:
        """The events of one record, oldest first."""

    def batch(self, name: str) -> list[Event]:
        """The events of one batch, oldest first."""

    def latest(self, before: int | None, limit: int) -> list[Event]:
        """The newest events, or the newest with a smaller number than `before`; newest first."""

    def chain(self) -> Iterator[tuple[ChainLink, list[Event]]]: ...

    def seals(self) -> Iterator[Sealed]:
        """Every record with its key and stored checksum."""

    def twins(self, space: str, scope: str, fingerprints: Sequence[str]) -> list[Record]:
        """Records of that scope with one of these fingerprints, in any state, oldest first."""

    def briefs(self, where: Where) -> Iterator[Brief]:
        """Every visible record that fits, without its text."""

    def runs(self, space: str, job: str | None, limit: int) -> list[Run]:
        """The latest runs of upkeep, newest first."""

    def pasts(self, ids: Sequence[str]) -> list[Record]:
        """The past texts of these memories, in any scope and state, oldest first."""

    def receipts(self, space: str, limit: int) -> list[Receipt]: ...

    def size(self) -> Size: ...

    def setting(self, name: str) -> str | None: ...

    def checkup(self) -> list[Finding]:
        """What this backend can say about its own health, index included."""

    def repair(self) -> list[Finding]:
        """Makes the index anew from the records where it differs from them. Where anything else is wrong: nothing."""

    # ------------------------------------------------------------ writing: `store/writer.py` only

    def transaction(self, durable: bool = True, wait: float | None = None) -> AbstractContextManager[None]:
        """All or nothing. `durable` ones survive a power cut once they return. `wait`: seconds for other writers."""

    def head(self) -> ChainLink | None: ...

    def keys(self, ids: Sequence[str]) -> dict[str, bytes]:
        """The key of each record."""

    def write(self, records: Sequence[Sealed]) -> list[int]:
        """Stores or replaces records with their index rows; returns their numbers."""

    def counted(self, ids: Sequence[str]) -> list[Counted]:
        """The counters of those records that exist and are not erased."""

    def count_up(self, counted: Sequence[Counted]) -> None:
        """Replaces the counters."""

    def add_generation(self, model: str, dimension: int) -> Generation:
        """A new one, `filling`."""

    def set_generation(self, id: int, state: str) -> None:
        """`current` retires the one that was; `retired` keeps its vectors from being read."""

    def put_vectors(self, generation: int, vectors: Mapping[int, bytes]) -> None:
        """Vectors by index row, as `text/vectors.py` packs them. A row that is not there any more is an error."""

    def drop_vectors(self, generation: int, most: int) -> int:
        """Takes away up to so many vectors of a retired generation, and the generation with the last; how many went."""

    def write_links(self, links: Sequence[Link], removed: Sequence[Link]) -> None: ...

    def append(self, events: Sequence[Event], link: ChainLink) -> None: ...

    def key_use(self, key: str) -> KeyUse | None: ...

    def write_key_uses(self, uses: Sequence[KeyUse]) -> None: ...

    def save_run(self, run: Run) -> int:
        """Stores or replaces a run; one with id 0 is new. Returns its id."""

    def erase(self, tombstones: Sequence[Sealed], resealed: Sequence[Sealed] = ()) -> Erased:
        """Puts tombstones in the place of records, and takes what told of them out of the index, counters, links,
        keys, journal and recall log. `resealed` are memories that live on under a new key without their journal, because a
        text they once had is among the erased."""

    def log(self, receipts: Sequence[Receipt], most: int, oldest: datetime) -> None:
        """Adds to the recall log and keeps at most `most` lines of it, none from before `oldest`."""

    def set_setting(self, name: str, value: str) -> None: ...

    # ------------------------------------------------------------ the whole

    @property
    def path(self) -> Path | None:
        """The file, or None in RAM."""

    @property
    def writable(self) -> bool: ...

    def scrub(self, traces: Sequence[bytes]) -> str | None:
        """After an `erase`: wipes what it left in the files, and looks for these traces. What is in the way, if anything."""

    def compact(self) -> None:
        """Gives back the space that nothing uses."""

    def backup(self, path: Path) -> None: ...

    def close(self) -> None: ...
