"""What a store does, in three parts: `Records`, `Vectors` and `Care`. Small, synchronous, batch-first; every backend must pass
`memorist.testing.StoreContract`.

Reads on behalf of a caller take a `Where`, which is always built from an `Access`, so nothing can be read that the caller may
not see. The few methods without one (journal, seals, receipts, runs …) serve the engine itself. Writing methods are called
only by the writer (`writer.py`, `meaning.py`, `choices.py`), inside `transaction()`: they keep rows, index, links and journal
consistent or change nothing.

*Exact in every backend*: the meaning of `Where.matches` (visibility, filters, order), transactions and moments, numbers that
grow and are never reused, journal, chain and seals to the byte, filtering before limiting, that erased content is found
nowhere, which rows lack a vector, and the cosines of `similarities` and of `nearest(exact=True)`. *A server may estimate*: how
often a term occurs (`Found.yardstick`; but all scores of one answer use the same yardstick), which rows `nearest` compares
without `exact`, the mean and spread of `Near`, and the bytes of `size`. *Optional*: `Care`, which only file-based stores need.
A backend that subclasses it inherits answers that do nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from memorist.errors import Refused
from memorist.kinds import LAYERS
from memorist.records import Event, Link, Record
from memorist.store.nouns import (
    Brief,
    ChainLink,
    Commit,
    Diagnosis,
    Erased,
    Fact,
    Generation,
    Glimpse,
    KeyUse,
    Lesson,
    Near,
    Piece,
    Receipt,
    Run,
    Sealed,
    Shelf,
    Size,
    Tie,
)
from memorist.store.where import Order, Where
from memorist.text.bm25 import Found, Yardstick

if TYPE_CHECKING:
    from memorist.models.embed import Floats


class Records(Protocol):
    """Memories, and everything kept along with them."""

    # ------------------------------------------------------------ reading

    def moment(self) -> AbstractContextManager[None]:
        """Inside, everything this thread reads is from the same moment, whatever others write meanwhile."""

    def get(self, names: Sequence[str] | Sequence[int], where: Where) -> list[Record]:
        """The visible records among these full ids or short numbers, in the given order."""

    def find(self, where: Where, order: Order, limit: int | None = None) -> list[Record]: ...

    def glimpses(self, where: Where) -> list[Glimpse]:
        """The same records as `find`, ordered by number, but only with what a window shows."""

    def count(self, where: Where) -> dict[str, int]:
        """How many records match, by scope; scopes without any are left out."""

    def briefs(self, where: Where) -> Iterator[Brief]:
        """Every visible record that matches, without its text."""

    def match(self, terms: Sequence[str], shelves: Sequence[Shelf], where: Where, limit: int) -> Found:
        """The best `limit` records by words on these shelves, by number; and those with a positive vote among the others that
        were examined closely, since a design may lift them. The filter is applied before the limit."""

    def score(self, yardstick: Yardstick, shelves: Sequence[Shelf], numbers: Sequence[int]) -> dict[int, float]:
        """How well these records match the terms that `match` measured on these shelves, on the same scale; records that hold
        none are left out."""

    def facts(self, numbers: Sequence[int], shelves: Sequence[Shelf], where: Where) -> list[Fact]:
        """What ranking needs to know about these records, if they are visible on these shelves."""

    def vocabulary(self, prefix: str, shelves: Sequence[Shelf], where: Where, limit: int) -> list[str]:
        """The first `limit` terms with this prefix, in order, by which records on these shelves can be found."""

    def speakers(self, shelves: Sequence[Shelf], most: int) -> list[str]:
        """The speakers on these shelves."""

    def stating(self, topics: Sequence[int], shelf: Shelf, limit: int) -> list[Record]:
        """Records of the shelf that make a claim about one of these topics (`store/index.py`); newest first."""

    def links(
        self, where: Where, ids: Sequence[str] | None = None, kind: str | None = None, limit: int | None = None
    ) -> list[Link]:
        """Links both of whose ends match: those of these ids, in the order of their ends; or all, those of the newest records
        first."""

    def neighbours(self, numbers: Sequence[int], where: Where, limit: int) -> list[Tie]:
        """Links of these records to others that are active and match: the `limit` strongest of each, strongest first. To stay
        fast for a record with a hundred thousand links, only the TIES_AT_MOST to the newest records are examined, for each
        kind and direction. A superseded record leads to its replacement, even if that is superseded itself; nothing leads
        back."""

    def sharing(
        self, terms: Sequence[str], shelves: Sequence[Shelf], where: Where, most: int
    ) -> Mapping[str, Sequence[int]]:
        """For each of these terms that at most `most` index rows on these shelves hold: the matching records with it, newest
        first."""

    def journal(
        self,
        *,
        record: str | None = None,
        batch: str | None = None,
        before: int | None = None,
        limit: int | None = None,
    ) -> list[Event]:
        """Events, oldest first: of one record, of one batch, or with a number below `before`. `limit` keeps the newest of
        these."""

    def chain(self) -> Iterator[tuple[ChainLink, list[Event]]]:
        """Every link of the journal's chain with its events, oldest first."""

    def head(self, up_to: int | None = None) -> ChainLink | None:
        """The last link of the chain, or the state of the chain as of event `up_to`."""

    def seals(self, ids: Sequence[str] | None = None) -> Iterator[Sealed]:
        """Every record, or those with these ids, with its key and stored checksum; of any space and in any state."""

    def runs(self, space: str, job: str | None = None, state: str | None = None, limit: int | None = None) -> list[Run]:
        """Upkeep runs and questions for a person, newest first."""

    def receipts(self, space: str, limit: int, id: str | None = None, session: str | None = None) -> list[Receipt]:
        """The recall log, newest first; or only the entry `id`; or the contexts that were made for `session`."""

    def lessons(self, space: str, home: str | None = None) -> list[Lesson]:
        """What was learnt in that project or in the whole space; oldest first."""

    def key_use(self, key: str) -> KeyUse | None: ...

    def setting(self, name: str) -> str | None: ...

    def size(self, where: Where | None = None) -> Size:
        """How much the whole store holds. With `where`, only what that access may read, and what was done to it, counted in
        the journal; receipts are then only the actor's own, unless the access covers every project."""

    # ------------------------------------------------------------ writing

    @property
    def writable(self) -> bool: ...

    def transaction(self, durable: bool = True, wait: float | None = None) -> AbstractContextManager[None]:
        """All or nothing. `durable` ones survive a power cut once they return. `wait`: seconds to wait for other writers."""

    def write(self, commit: Commit) -> list[int]:
        """Stores or replaces records with their index rows, and everything else in the commit. Returns the numbers of the
        records, then those of the runs. Only the newest LESSONS_AT_MOST lessons of a project are kept."""

    def erase(
        self, tombstones: Sequence[Sealed], resealed: Sequence[Sealed] = (), receipts: Sequence[str] = ()
    ) -> Erased:
        """Replaces records by tombstones, and removes what refers to them from the index, counters, links, keys, journal,
        lessons and recall log. `resealed` are memories that live on under a new key and without their journal, because a text
        they once had is among the erased. `receipts` are recall log entries to remove as well."""

    def log(self, receipts: Sequence[Receipt], most: int, oldest: datetime) -> None:
        """Adds to the recall log and counts what was shown; entries that show something gone or erased are left out. Keeps at
        most `most` entries, none from before `oldest`, and at most RENDERED_AT_MOST of those that hold a text for a prompt."""

    def close(self) -> None: ...


class Vectors(Protocol):
    """The meaning of records as vectors, in generations: each holds the vectors of one model for some layers. Vectors are
    derived data; rows that lack one wait for upkeep."""

    def generations(self) -> list[Generation]:
        """Oldest first."""

    def save_generation(self, generation: Generation) -> Generation:
        """Stores a new generation (id 0) or the new state of one. One that becomes `current` takes its layers from the
        previous ones, and a generation without layers is retired; vectors of a `retired` one are no longer read. A lost layer
        never comes back."""

    def nearest(
        self, generation: int, vector: "Floats", shelves: Sequence[Shelf], where: Where, limit: int, exact: bool = False
    ) -> Near:
        """The `limit` records most similar to this vector on these shelves, as far as the generation covers their layers. The
        filter is applied before the limit. `exact` compares with every row at full length; otherwise most rows of a large
        shelf may be ruled out by a cheaper comparison."""

    def similarities(
        self, generation: int, to: "Floats | Sequence[int]", shelves: Sequence[Shelf], numbers: Sequence[int]
    ) -> dict[int, float]:
        """The cosine of the best row of each of these records; those without a vector are left out. `to` is a vector or a list
        of record numbers, which stands for the sum of the vectors of their first rows, if they have one."""

    def unembedded(
        self,
        generation: int,
        after: int = 0,
        limit: int | None = None,
        numbers: Sequence[int] | None = None,
        layers: Sequence[str] = LAYERS,
    ) -> list[Piece]:
        """Index rows that should have a vector of that generation but do not, in order, starting after row `after`: of these
        records or of all, on those of `layers` that the generation covers. If the generation does not exist, on all of
        `layers`."""

    def put_vectors(self, generation: int, vectors: Mapping[int, bytes]) -> None:
        """Stores vectors by index row, as packed by `models/embed.py`. A row that no longer exists on a layer of the
        generation is an error."""

    def drop_vectors(self, generation: int, most: int) -> int:
        """Removes up to `most` vectors that nobody reads, and returns how many. Of a retired generation these are all its
        vectors, and the generation itself goes with the last one; of any other, those on layers that it has lost
        (`Generation.lost`)."""


class Care(Protocol):
    """What else a file-based store needs. The defaults here suit a store that is maintained by a server."""

    @property
    def path(self) -> Path | None:
        """The real file; None if there is none."""
        return None

    def checkup(self, repair: bool = False) -> list[Diagnosis]:
        """What this backend can say about its own health, including the index. `repair` first rebuilds the index from the
        records if they differ; nothing is repaired if anything else is wrong."""
        return []

    def scrub(self, traces: Sequence[bytes]) -> str | None:
        """After an `erase`: wipes what it left in the files and searches them for these traces. Returns what prevented that,
        if anything."""
        return None

    def tidy(self) -> bool:
        """One short step towards a faster index. False: nothing is left to do."""
        return False

    def compact(self) -> None:
        """Releases unused space."""

    def backup(self, path: Path) -> None:
        """Writes a verified copy to that path, which must be free."""
        raise Refused("this store is looked after elsewhere, and so are its backups")


class Store(Records, Vectors, Care, Protocol):
    """All three parts."""
