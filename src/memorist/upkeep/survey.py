"""One look at all memories of a space, for the jobs of a night: which memories are near each other, which texts have
the same words, which tags there are, and how the store is doing.

It reads page by page and keeps only numbers: a vector from the built-in table in two bytes a dimension, a digest of the
words that carry meaning, the place and the session. Neighbours are found place by place in blocks, so the memory needed
is that of the vectors and of one block, however long the texts are. Fifty thousand memories take about 30 MB. The
built-in table is used for every store, even one whose own model is a server: a night must not send all texts away
again, nor wait for it.

The survey only says where to look. Each job reads the records themselves before it proposes anything.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cache
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING

from memorist.access import Access
from memorist.design import Tools
from memorist.fork import inside
from memorist.kinds import MEMORY, Kind
from memorist.lazy import dataclass
from memorist.models.embed import StaticEmbedder
from memorist.records import Record
from memorist.scoring import confidence
from memorist.store.nouns import ChainLink, parts
from memorist.store.where import Order, Where
from memorist.text.restated import LONGEST_RESTATED, statement
from memorist.upkeep.retain import memories

if TYPE_CHECKING:
    import numpy as np

PAGE = 500  # records read at once
PAIRS_AT_ONCE = 400  # pairs whose records are read together
ROWS, COLUMNS_AT_ONCE = 512, 2048  # size of a block of cosines
KIN = 12  # neighbours kept for each memory
NEAR_ENOUGH = 0.55  # the lowest cosine of neighbours
LONGEST_READ = 2000  # characters of a text that go into its vector
MOST_TAGS = 20_000  # different tags counted in a scope
_embedder = cache(StaticEmbedder)
FAINT = 0.1  # a memory with less confidence is counted as faint


@dataclass(slots=True)
class Overview:
    """What the survey knows. Rows are memories in the order of their numbers."""

    numbers: list[int] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    places: list[int] = field(default_factory=list)  # the place of each row, as a small number
    sessions: list[int] = field(default_factory=list)  # the session of each row; 0: none
    words: list[bytes] = field(default_factory=list)  # a digest of the words that carry meaning; empty: none
    near: "np.ndarray | None" = None  # KIN other rows for each row, -1 where there are fewer
    cosines: "np.ndarray | None" = None
    tags: dict[str, Counter[str]] = field(default_factory=dict)  # by scope
    faint: int = 0
    whole: bool = False  # False: time was up before it was finished

    def __len__(self) -> int:
        return len(self.numbers)

    def pairs(self, least: float) -> Iterator[tuple[int, int, float]]:
        """Each pair of neighbours once, by number; for each row the nearest first."""
        if self.near is None or self.cosines is None:
            return
        for row, (others, cosines) in enumerate(zip(self.near.tolist(), self.cosines.tolist(), strict=True)):
            for other, cosine in zip(others, cosines, strict=True):
                if other >= 0 and cosine >= least and (row < other or row not in self.near[other]):
                    yield self.numbers[min(row, other)], self.numbers[max(row, other)], cosine

    def repeated(self) -> int:
        """How many have the same words as another."""
        return sum(len(group) - 1 for group in self.of_one_wording())

    def of_one_wording(self) -> Iterator[list[int]]:
        """Groups of two or more memories of one place that have the same words in any order, by number."""
        groups: dict[tuple[int, bytes], list[int]] = {}
        for number, place, words in zip(self.numbers, self.places, self.words, strict=True):
            if words:
                groups.setdefault((place, words), []).append(number)
        yield from (group for group in groups.values() if len(group) > 1)


class Survey:
    """Looks once, when the first job asks, and gives the others the same result. The result of an `earlier` survey is
    reused if nothing was written since."""

    def __init__(self, earlier: "Survey | None" = None) -> None:
        self._earlier = earlier
        self._seen: Overview | None = None
        self._head: ChainLink | None = None

    def __call__(self, who: Access, tools: Tools) -> Overview:
        if self._seen is None or not self._seen.whole:
            self._head = tools.store.head()
            before = self._earlier
            still = before._seen if before is not None and before._head == self._head else None
            self._seen = still if still is not None and still.whole else look(who, tools)
        return self._seen

    @property
    def seen(self) -> Overview | None:
        return self._seen


def look(who: Access, tools: Tools) -> Overview:
    """Reads all memories and finds the neighbours of each. When time is up, it returns what it has so far."""
    import numpy as np

    seen = Overview()
    vectors: list[np.ndarray] = []
    places, sessions = dict[object, int](), dict[object, int]({None: 0})
    now = tools.clock()
    for records in _pages(who, tools):
        vectors.append(_embedder().embed([record.text[:LONGEST_READ] for record in records]).astype(np.float16))
        for record in records:
            seen.numbers.append(record.number)
            seen.ids.append(record.id)
            seen.places.append(places.setdefault((record.scope, record.home), len(places)))
            seen.sessions.append(sessions.setdefault(record.provenance.session, len(sessions)))
            seen.words.append(_wording(record))
            _count(record, seen)
            seen.faint += confidence(record, now, tools.kinds) < FAINT
        if tools.over():
            return seen
    if vectors:
        seen.near, seen.cosines, seen.whole = _neighbours(np.concatenate(vectors), np.array(seen.places), tools)
    else:
        seen.whole = True
    return seen


def _pages(who: Access, tools: Tools) -> Iterator[list[Record]]:
    where, after = memories(who, _counts), 0
    while page := tools.store.find(where.also("number", "gt", after), Order("number", ascending=True), PAGE):
        after = page[-1].number
        yield page


def _counts(kind: Kind) -> bool:
    return kind.recalled and kind.layer == MEMORY and not kind.append_only


def _wording(record: Record) -> bytes:
    """A digest that two texts share if they say the same. Empty for long texts, which nobody restates."""
    if len(record.text) > LONGEST_RESTATED:
        return b""
    said = statement(record.text)
    told = (record.kind, sorted(said.words), said.turning)
    return blake2b(repr(told).encode(), digest_size=8).digest() if said.words else b""


def _count(record: Record, seen: Overview) -> None:
    tags = seen.tags.setdefault(record.scope, Counter())
    tags.update(tag for tag in record.tags if tag in tags or len(tags) < MOST_TAGS)


# ---------------------------------------------------------------- neighbours, in blocks


def _neighbours(vectors: "np.ndarray", places: "np.ndarray", tools: Tools) -> "tuple[np.ndarray, np.ndarray, bool]":
    """For each row the nearest others of its place with their cosines, and whether there was time for all."""
    import numpy as np

    near = np.full((len(vectors), KIN), -1, np.int32)
    cosines = np.zeros((len(vectors), KIN), np.float32)
    for place in range(int(places.max()) + 1):
        here = np.flatnonzero(places == place)
        for rows in _stripes(here, ROWS):
            if tools.over():
                return near, cosines, False
            found = _of_block(vectors, rows, here)
            for row, others, how in found:
                near[row, : len(others)], cosines[row, : len(others)] = others, how
    return near, cosines, True


def _of_block(
    vectors: "np.ndarray", rows: "np.ndarray", here: "np.ndarray"
) -> "list[tuple[int, np.ndarray, np.ndarray]]":
    """The neighbours of each of these rows. From each stripe of columns, only what may be among the nearest is kept."""
    import numpy as np

    block = vectors[rows].astype(np.float32)
    owner, other, how = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)
    for columns in _stripes(here, COLUMNS_AT_ONCE):
        striped = vectors[columns].astype(np.float32).T
        with inside:  # the linear algebra library starts threads for it
            cosines = block @ striped
        at, to = np.nonzero(cosines >= NEAR_ENOUGH)
        real = rows[at] != columns[to]
        at, to = at[real], to[real]
        owner = np.concatenate((owner, at))
        other = np.concatenate((other, columns[to]))
        how = np.concatenate((how, cosines[at, to]))
        if len(owner) > 2 * KIN * len(rows):
            owner, other, how = _best(owner, other, how)
    owner, other, how = _best(owner, other, how)
    cuts = np.searchsorted(owner, np.arange(len(rows) + 1))
    return [(int(rows[n]), other[cuts[n] : cuts[n + 1]], how[cuts[n] : cuts[n + 1]]) for n in range(len(rows))]


def _stripes(of: "np.ndarray", size: int) -> "Iterator[np.ndarray]":
    return (of[start : start + size] for start in range(0, len(of), size))


def _best(owner: "np.ndarray", other: "np.ndarray", how: "np.ndarray") -> "tuple[np.ndarray, np.ndarray, np.ndarray]":
    """The nearest few of each owner, the nearest first; of equals the smaller number."""
    import numpy as np

    order = np.lexsort((other, -how, owner))
    owner, other, how = owner[order], other[order], how[order]
    first = np.searchsorted(owner, owner)
    few = np.arange(len(owner)) - first < KIN
    return owner[few], other[few], how[few]


def together(
    pairs: Iterator[tuple[int, int, float]], who: Access, tools: Tools, most: int = PAIRS_AT_ONCE
) -> Iterator[tuple[Record, Record, float]]:
    """The memories of these pairs of numbers if both are still active, read some hundred pairs at a time until time is up."""
    while some := list(islice(pairs, most)):
        records = read(list({number for a, b, _ in some for number in (a, b)}), who, tools)
        yield from ((records[a], records[b], cosine) for a, b, cosine in some if a in records and b in records)
        if tools.over():
            return


def read(numbers: Sequence[int], who: Access, tools: Tools) -> dict[int, Record]:
    """Those of these memories that are still active, by number."""
    where = Where(who).also("state", "eq", "active")
    found: dict[int, Record] = {}
    for some in parts(list(numbers), PAGE):
        found |= {record.number: record for record in tools.store.get(list(some), where)}
    return found
