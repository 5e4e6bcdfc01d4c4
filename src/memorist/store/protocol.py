"""What a store does, in three parts: `Records`, `Vectors` and `Care`. Small, synchronous, batch-first; every backend passes
`memorist.testing.StoreContract`.

What a caller reads goes through a `Where`, which is always built from an `Access`, so nothing can be read that the caller
may not see; the few methods without one (journal, seals, receipts, runs …) serve the engine itself. Writing methods are called
by the writer alone (`writer.py`, `meaning.py`, `choices.py`), inside `transaction()`: they keep rows, index, links and journal
in step or change nothing.

*Exact in every backend*: what `Where.matches` says (visibility, filters, order), transactions and moments, numbers that grow and
are never used twice, journal, chain and seals to the byte, that filters come before limits, that what was erased is found
nowhere, which rows lack a vector, and the cosines of `similarities` and of `nearest(exact=True)`.
*Estimates are allowed on a server*: how often a term occurs (`Found.yardstick`; all scores of one answer are still measured
with one yardstick), which rows `nearest` compares without `exact`, the mean and spread of `Near`, and the bytes of `size`.
*May be left out*: `Care`, what only a store of files needs. A backend that subclasses it has answers that do nothing.
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
    """What is remembered, and what is kept beside it."""

    # ------------------------------------------------------------ reading

    def moment(self) -> AbstractContextManager[None]:
        """Everything that this thread reads inside is from the same moment, whatever others write meanwhile."""

    def get(self, names: Sequence[str] | Sequence[int], where: Where) -> list[Record]:
        """The visible ones among these full ids, or short numbers, in the order asked."""

    def find(self, where: Where, order: Order, limit: int | None = None) -> list[Record]: ...

    def glimpses(self, where: Where) -> list[Glimpse]:
        """What `find` finds, in the order of their numbers, as far as a window shows it."""

    def count(self, where: Where) -> dict[str, int]:
        """How many fit, by their scopes; scopes without any are left out."""

    def briefs(self, where: Where) -> Iterator[Brief]:
        """Every visible record that fits, without its text."""

    def match(self, terms: Sequence[str], shelves: Sequence[Shelf], where: Where, limit: int) -> Found:
        """The best `limit` records by words on these shelves, by their numbers, and of the others that were looked at closely
        those with a vote for them: a design may lift them. The filter is applied before the limit."""

    def score(self, yardstick: Yardstick, shelves: Sequence[Shelf], numbers: Sequence[int]) -> dict[int, float]:
        """How well these records hold the terms that `match` measured on these shelves, on the same scale; those that hold
        none are left out."""

    def facts(self, numbers: Sequence[int], shelves: Sequence[Shelf], where: Where) -> list[Fact]:
        """What ranking needs to know of those of these records that are visible on these shelves."""

    def vocabulary(self, prefix: str, shelves: Sequence[Shelf], where: Where, limit: int) -> list[str]:
        """The first `limit` terms that begin so, of those that records on these shelves are found by; in order."""

    def speakers(self, shelves: Sequence[Shelf], most: int) -> list[str]:
        """Who speaks on these shelves."""

    def stating(self, topics: Sequence[int], shelf: Shelf, limit: int) -> list[Record]:
        """Records of the shelf that make a claim about one of these topics (`store/index.py`); newest first."""

    def links(
        self, where: Where, ids: Sequence[str] | None = None, kind: str | None = None, limit: int | None = None
    ) -> list[Link]:
        """Links whose both ends fit: of these ids, by their ends; or all, those of the newest records first."""

    def neighbours(self, numbers: Sequence[int], where: Where, limit: int) -> list[Tie]:
        """Links of these records to others that are active and fit: of each the `limit` strongest, the strongest first. It takes
        no longer for a record with a hundred thousand: TIES_AT_MOST to the newest are looked at, of each kind and direction.
        What is superseded leads to what replaced it, also if that is superseded itself, and nothing leads back."""

    def sharing(
        self, terms: Sequence[str], shelves: Sequence[Shelf], where: Where, most: int
    ) -> Mapping[str, Sequence[int]]:
        """For each of these terms that so few index rows on these shelves hold, the records that do and fit, newest first."""

    def journal(
        self,
        *,
        record: str | None = None,
        batch: str | None = None,
        before: int | None = None,
        limit: int | None = None,
    ) -> list[Event]:
        """Events, oldest first: of one record, of one batch, with a smaller number than `before`; of these the newest."""

    def chain(self) -> Iterator[tuple[ChainLink, list[Event]]]:
        """Every link of the journal's chain with its events, oldest first."""

    def head(self, up_to: int | None = None) -> ChainLink | None:
        """The last link of the chain; or what the chain had come to with that event."""

    def seals(self, ids: Sequence[str] | None = None) -> Iterator[Sealed]:
        """Every record, or those of these ids, with its key and stored checksum; of any space and in any state."""

    def runs(self, space: str, job: str | None = None, state: str | None = None, limit: int | None = None) -> list[Run]:
        """Runs of upkeep and questions for a person, newest first."""

    def receipts(self, space: str, limit: int, id: str | None = None, session: str | None = None) -> list[Receipt]:
        """The recall log, newest first; or that one line of it; or the contexts that were made for that session."""

    def lessons(self, space: str, home: str | None = None) -> list[Lesson]:
        """What was learnt in that project, or in all of the space; oldest first."""

    def key_use(self, key: str) -> KeyUse | None: ...

    def setting(self, name: str) -> str | None: ...

    def size(self, where: Where | None = None) -> Size:
        """How much there is in the whole store; or only of what that access may read, and what became of it, counted in the
        journal. Of receipts it counts the actor's own then, unless it may see every project."""

    # ------------------------------------------------------------ writing

    @property
    def writable(self) -> bool: ...

    def transaction(self, durable: bool = True, wait: float | None = None) -> AbstractContextManager[None]:
        """All or nothing. `durable` ones survive a power cut once they return. `wait`: seconds for other writers."""

    def write(self, commit: Commit) -> list[int]:
        """Stores or replaces records with their index rows, and everything else that the commit holds; returns the numbers of
        the records, then those of the runs. Of a project's lessons the newest LESSONS_AT_MOST stay."""

    def erase(
        self, tombstones: Sequence[Sealed], resealed: Sequence[Sealed] = (), receipts: Sequence[str] = ()
    ) -> Erased:
        """Puts tombstones in the place of records, and takes what told of them out of the index, counters, links,
        keys, journal, lessons and recall log. `resealed` are memories that live on under a new key without their journal, because a
        text they once had is among the erased. `receipts` are lines of the recall log that go too."""

    def log(self, receipts: Sequence[Receipt], most: int, oldest: datetime) -> None:
        """Adds to the recall log and counts what was shown; a line that shows what is gone or erased is left out. Keeps at
        most `most` lines, none from before `oldest`, and RENDERED_AT_MOST of those that hold a text for a prompt."""

    def close(self) -> None: ...


class Vectors(Protocol):
    """What records mean, in generations: each is of one model, for what lies on some layers. Vectors are derived, and what
    lacks one waits for upkeep."""

    def generations(self) -> list[Generation]:
        """Oldest first."""

    def save_generation(self, generation: Generation) -> Generation:
        """Keeps a new one (id 0), or the state of one. `current` takes its layers from those that were, and one that has none
        left is retired; `retired` keeps its vectors from being read. A layer that was lost does not come back."""

    def nearest(
        self, generation: int, vector: "Floats", shelves: Sequence[Shelf], where: Where, limit: int, exact: bool = False
    ) -> Near:
        """The `limit` records most similar to this vector on these shelves, as far as the generation has their layers. The
        filter is applied before the limit.
        `exact` compares with every row at full length; without it most rows of a large shelf may be
        ruled out by a cheaper comparison."""

    def similarities(
        self, generation: int, to: "Floats | Sequence[int]", shelves: Sequence[Shelf], numbers: Sequence[int]
    ) -> dict[int, float]:
        """The cosine of the best row of each of these records; those without a vector are left out. `to` is a vector, or the
        numbers of records: then it is the sum of the vectors of their first rows, as far as they have one."""

    def unembedded(
        self,
        generation: int,
        after: int = 0,
        limit: int | None = None,
        numbers: Sequence[int] | None = None,
        layers: Sequence[str] = LAYERS,
    ) -> list[Piece]:
        """Index rows, of these records or of any, that should have a vector of that generation and have none: those on its
        layers, as far as they are among these; of a generation that there is not, on all of these. In order, after that row."""

    def put_vectors(self, generation: int, vectors: Mapping[int, bytes]) -> None:
        """Vectors by index row, as `models/embed.py` packs them. A row that is not there any more, on a layer of the
        generation, is an error."""

    def drop_vectors(self, generation: int, most: int) -> int:
        """Takes away up to so many vectors that nobody reads: of a retired generation any, and the generation with the last;
        of another those on layers that it has lost (`Generation.lost`). How many went."""


class Care(Protocol):
    """What a store of files needs beside that. The answers here are those of a store that a server looks after."""

    @property
    def path(self) -> Path | None:
        """The real file; None where there is none."""
        return None

    def checkup(self, repair: bool = False) -> list[Diagnosis]:
        """What this backend can say about its own health, index included. `repair` first rebuilds the index from the records
        where it differs from them; where anything else is wrong: nothing."""
        return []

    def scrub(self, traces: Sequence[bytes]) -> str | None:
        """After an `erase`: wipes what it left in the files, and looks for these traces. What is in the way, if anything."""
        return None

    def tidy(self) -> bool:
        """One short step towards an index that answers fast. False: there is nothing left to do."""
        return False

    def compact(self) -> None:
        """Gives back the space that nothing uses."""

    def backup(self, path: Path) -> None:
        """A verified copy at that path, which must be free."""
        raise Refused("this store is looked after elsewhere, and so are its backups")


class Store(Records, Vectors, Care, Protocol):
    """All three."""
