"""The vectors of an SQLite store in RAM, shelf by shelf, and the search for those most similar to a query.

Every row is compared, in parts that fit the processor's cache: exact, and fast enough up to a hundred thousand rows. Above
that, the signs of the components are compared first, one bit each, to find cheaply the twelfth of the rows that is worth
comparing at full length. The first ten of a million are then found with a recall of 0.99 in a third of the time (docs/LOG.md).

Rows lie in blocks, because a store writes and reads blocks; a changed block replaces its former content. A shelf counts the
changes to its vectors, and a block has the count of its last change, so before a query only the blocks that another process
has written are read. Uncommitted changes go into a private copy, since after a rollback the count is reused for something
else. Everything is forgotten when the file's content is replaced by a backup.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import apsw

from memorist.errors import StoreDamaged
from memorist.kinds import ARCHIVE
from memorist.lazy import Module, dataclass
from memorist.store.index import CHUNKS
from memorist.store.nouns import Generation, Near, Shelf
from memorist.store.packing import direction, split
from memorist.store.sqlite.connection import View, one_moment
from memorist.store.sqlite.filters import where_sql
from memorist.store.sqlite.read import AMONG, ON_SHELVES, Reader
from memorist.store.sqlite.vectors import DAMAGED, GROUP, PARTS
from memorist.store.where import Clause, Where, canonical

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memorist.models.embed import Floats

    Whole = NDArray[np.int64]
else:
    np = Module("numpy")

Visible = Callable[[Sequence[int]], AbstractSet[int]]  # the visible ones among some records
ROWS_AT_ONCE = 512  # compared at once: as floats, these fit into a processor's cache
BITS_AT_ONCE = 8192
EXACT_ROWS = 100_000
SHARE = 12  # one in so many rows of a large shelf is compared at full length
SAMPLE = 4096  # rows that represent a large shelf when only the mean is needed
BLOCKS_AT_ONCE = 512  # added to an empty scan at once
MOST_BYTES = 1_500_000_000  # of vectors in RAM
ACTIVE = Clause("state", "eq", "active")


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows with their vectors as stored: numbers of eight bytes, and packed vectors."""

    number: int
    rows: bytes
    packed: bytes


@dataclass(frozen=True, slots=True)
class Looked:
    """Rows and how similar each is to the query; unless `complete`, not all of them."""

    rows: "Whole"
    cosines: "Floats"
    total: int
    mean: float
    square: float  # mean of the squares
    complete: bool


class Scan:
    """The vectors of a shelf. Users hold its `lock`, because blocks are replaced in place."""

    def __init__(self, dimension: int, rows: int = 0) -> None:
        self.lock = threading.RLock()
        self.dimension = dimension
        self.count = 0
        self._rows = np.empty(rows, np.int64)
        self._codes = np.empty((rows, dimension), np.int8)
        self._scales = np.empty(rows, np.float32)
        self._bits: NDArray[Any] | None = None  # one column per row; made when a large shelf is first searched
        self._places: dict[int, NDArray[Any]] = {}  # for each block, the places of its rows
        self._block_at = np.empty(rows, np.int64)
        self._rising: tuple[Whole, NDArray[Any] | None] | None = None  # the rows in order; None after a change

    @property
    def size(self) -> int:
        """Bytes."""
        arrays = (self._rows, self._codes, self._scales, self._block_at, self._bits)
        return sum(array.nbytes for array in arrays if array is not None)

    def copy(self) -> "Scan":
        """A copy for changes that only one transaction sees."""
        other = Scan(self.dimension, self.count)
        other._take(self, self.count)
        other.count = self.count
        other._places = {number: places.copy() for number, places in self._places.items()}
        return other

    # ------------------------------------------------------------ what it holds

    def clear(self) -> None:
        self.count, self._places, self._rising = 0, {}, None

    def fill(self, blocks: Iterable[Block]) -> None:
        """Adds many blocks, each once; some may be there already."""
        fresh: list[Block] = []
        for block in blocks:
            if block.number in self._places:
                self.put(block)
            else:
                fresh.append(block)
            if len(fresh) == BLOCKS_AT_ONCE:
                self._append(fresh)
                fresh = []
        self._append(fresh)

    def put(self, block: Block) -> None:
        """Replaces a block; an empty one removes it."""
        rows = np.frombuffer(block.rows, "<i8")
        places = self._places.get(block.number, _nothing())
        added = len(rows) - len(places)
        if added > 0:
            self.reserve(self.count + added)
            places = np.concatenate([places, np.arange(self.count, self.count + added)])
            self.count += added
        elif added < 0:
            places, over = places[: len(rows)], places[len(rows) :]
            self._close_gaps(over)
        self._write(places, rows, block.packed)
        self._block_at[places] = block.number
        if len(rows):
            self._places[block.number] = places
        else:
            self._places.pop(block.number, None)

    def _append(self, blocks: Sequence[Block]) -> None:
        rows = np.frombuffer(b"".join(block.rows for block in blocks), "<i8")
        sizes = [len(block.rows) // 8 for block in blocks]
        start, self.count = self.count, self.count + len(rows)
        self.reserve(self.count)
        self._write(slice(start, self.count), rows, b"".join(block.packed for block in blocks))
        self._block_at[start : self.count] = np.repeat([block.number for block in blocks], sizes)
        for block, size in zip(blocks, sizes, strict=True):
            self._places[block.number] = np.arange(start, start + size)
            start += size

    def _write(self, places: Any, rows: "Whole", packed: bytes) -> None:
        codes, scales = split(packed, self.dimension)
        self._rising = None
        self._rows[places] = rows
        self._codes[places] = codes
        self._scales[places] = scales
        if self._bits is not None:
            self._bits[:, places] = _signs(codes)

    def _close_gaps(self, gaps: "NDArray[Any]") -> None:
        """Moves the last rows to the gaps, so that no place is empty. The gaps belong to one block, which no longer refers to
        them."""
        self._rising = None
        for gap in sorted(map(int, gaps), reverse=True):
            self.count -= 1
            last = self.count
            if gap == last:
                continue
            for array in (self._rows, self._codes, self._scales, self._block_at):
                array[gap] = array[last]
            if self._bits is not None:
                self._bits[:, gap] = self._bits[:, last]
            moved = self._places[int(self._block_at[gap])]
            moved[moved == last] = gap

    def reserve(self, rows: int) -> None:
        if rows > len(self._rows):
            larger = Scan(self.dimension, max(rows, len(self._rows) * 5 // 4, 64))
            larger._take(self, min(self.count, len(self._rows)))
            self._rows, self._codes, self._scales = larger._rows, larger._codes, larger._scales
            self._block_at, self._bits = larger._block_at, larger._bits

    def _take(self, other: "Scan", count: int) -> None:
        self._rows[:count] = other._rows[:count]
        self._codes[:count] = other._codes[:count]
        self._scales[:count] = other._scales[:count]
        self._block_at[:count] = other._block_at[:count]
        if other._bits is not None:
            self._bits = np.zeros((len(other._bits), len(self._rows)), np.uint64)
            self._bits[:, :count] = other._bits[:, :count]

    # ------------------------------------------------------------ what is like a question

    def look(self, question: "Floats", exact: bool) -> Looked:
        if exact or self.count <= EXACT_ROWS:
            cosines = self._cosines(question, None)
            return Looked(self._rows[: self.count], cosines, self.count, *_moments(cosines), complete=True)
        sample = self._cosines(question, np.arange(0, self.count, self.count // SAMPLE))
        likely = self._likely(question)
        cosines = self._cosines(question, likely)
        return Looked(self._rows[likely], cosines, self.count, *_moments(sample), complete=False)

    def of(self, question: "Floats", numbers: Sequence[int]) -> dict[int, float]:
        rows, order = self._in_order()
        wanted = np.array(sorted(set(numbers)), np.int64) * CHUNKS  # np.unique would load numpy.ma
        first, end = np.searchsorted(rows, wanted), np.searchsorted(rows, wanted + CHUNKS)
        counts = end - first
        found = np.repeat(end - np.cumsum(counts), counts) + np.arange(counts.sum())
        cosines = self._cosines(question, found if order is None else order[found])
        best: dict[int, float] = {}
        for row, cosine in zip(rows[found].tolist(), cosines.tolist(), strict=True):
            number = row // CHUNKS
            best[number] = max(cosine, best.get(number, cosine))
        return best

    def _in_order(self) -> "tuple[Whole, NDArray[Any] | None]":
        """All rows in rising order, and the place of each; None if they lie in that order, as in most stores. Computed after
        each change."""
        if self._rising is None:
            rows = self._rows[: self.count]
            order = None if (rows[1:] > rows[:-1]).all() else np.argsort(rows, kind="stable")  # fast, since most rise
            self._rising = rows if order is None else rows[order], order
        return self._rising

    def directions(self, numbers: Sequence[int]) -> "Iterator[Floats]":
        """The vectors of the first rows of these records, if they are here."""
        for number in numbers:
            places = self._places.get(number // GROUP * PARTS, _nothing())
            for place in places[self._rows[places] == number * CHUNKS].tolist():
                yield self._codes[place].astype(np.float32) * self._scales[place]

    def _cosines(self, question: "Floats", places: "NDArray[Any] | None") -> "Floats":
        """The cosines of these places, or of all."""
        count = self.count if places is None else len(places)
        found = np.empty(count, np.float32)
        floats = np.empty((min(count, ROWS_AT_ONCE), self.dimension), np.float32)
        for start in range(0, count, ROWS_AT_ONCE):
            end = min(count, start + ROWS_AT_ONCE)
            part = floats[: end - start]
            np.copyto(part, self._codes[start:end] if places is None else self._codes[places[start:end]])
            np.dot(part, question, out=found[start:end])
        found *= self._scales[:count] if places is None else self._scales[places]
        return found

    def _likely(self, question: "Floats") -> "NDArray[Any]":
        """The places of the rows whose components have the most signs in common with the query's."""
        if self._bits is None:
            self._bits = np.zeros((-(-self.dimension // 64), len(self._rows)), np.uint64)
            for start in range(0, self.count, BITS_AT_ONCE):
                end = min(self.count, start + BITS_AT_ONCE)
                self._bits[:, start:end] = _signs(self._codes[start:end])
        asked = _signs(question[None, :])[:, 0]
        apart = np.zeros(self.count, np.uint16)
        for start in range(0, self.count, BITS_AT_ONCE):
            end = min(self.count, start + BITS_AT_ONCE)
            for word, bits in zip(asked, self._bits[:, start:end], strict=True):
                apart[start:end] += np.bitwise_count(bits ^ word)
        some = apart[:: max(1, self.count // (16 * SAMPLE))]
        most = np.partition(some, len(some) // SHARE)[len(some) // SHARE]
        return np.flatnonzero(apart <= most)


def nearest(scans: Sequence[Scan], question: "Floats", limit: int, exact: bool, visible: Visible | None) -> Near:
    """The `limit` records most similar to the query among those that `visible` lets through."""
    looked = [scan.look(question, exact) for scan in scans if scan.count]
    if not looked:
        return Near()
    hits = _best(looked, limit, visible)
    if len(hits) < limit and not all(each.complete for each in looked):  # a filter left few, so compare every row
        hits = _best([scan.look(question, exact=True) for scan in scans if scan.count], limit, visible)
    total = sum(each.total for each in looked)
    mean = sum(each.mean * each.total for each in looked) / total
    square = sum(each.square * each.total for each in looked) / total
    return Near(tuple(hits.items()), total, mean, max(0.0, square - mean * mean) ** 0.5)


def _best(looked: Sequence[Looked], limit: int, visible: Visible | None) -> Mapping[int, float]:
    """Looks deeper and deeper, until enough visible ones are found."""
    rows = np.concatenate([each.rows for each in looked]) if len(looked) > 1 else looked[0].rows
    cosines = np.concatenate([each.cosines for each in looked]) if len(looked) > 1 else looked[0].cosines
    found: dict[int, float] = {}
    most, seen = 2 * limit + 16, set[int]()
    while True:
        places = _first(cosines, rows, most)
        ordered: dict[int, float] = {}
        for number, cosine in zip((rows[places] // CHUNKS).tolist(), cosines[places].tolist(), strict=True):
            ordered.setdefault(number, cosine)
        fresh = [number for number in ordered if number not in seen]
        shown = visible(fresh) if visible and fresh else ordered
        found |= {number: ordered[number] for number in fresh if number in shown}
        seen.update(fresh)
        if len(found) >= limit or most >= len(cosines):
            return dict(list(found.items())[:limit])
        most *= 4


def _first(cosines: "Floats", rows: "Whole", most: int) -> "NDArray[Any]":
    """The places of the largest; among equal ones, the later row first."""
    places = np.arange(len(cosines))
    if most < len(cosines):
        least = np.partition(cosines, len(cosines) - most)[len(cosines) - most]
        places = np.flatnonzero(cosines >= least)
    order = np.lexsort((-rows[places], -cosines[places]))
    return np.asarray(places[order])


def _moments(cosines: "Floats") -> tuple[float, float]:
    if not len(cosines):
        return 0.0, 0.0
    return float(cosines.mean(dtype=np.float64)), float(np.square(cosines, dtype=np.float64).mean())


def _signs(values: "NDArray[Any]") -> "NDArray[Any]":
    """Which components are positive: one column per row, 64 bits to a number."""
    bits = np.packbits(values > 0, axis=1)
    whole = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), np.uint8)
    whole[:, : bits.shape[1]] = bits
    return np.ascontiguousarray(whole.view(np.uint64).T)


def _nothing() -> "NDArray[Any]":
    return np.zeros(0, np.int64)


# ---------------------------------------------------------------- all shelves of a store


@dataclass(slots=True)
class _Held:
    """A shelf's scan, and the version of the shelf that it reflects."""

    scan: Scan
    version: int = 0


class VectorCache:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._schema: int | None = None
        self._held: dict[tuple[int, int], _Held] = {}  # by generation and shelf, least recently used first

    @contextmanager
    def scans(
        self,
        one: apsw.Connection,
        schema: int | None,
        generation: Generation,
        versions: Mapping[int, int],
        private: bool,
    ) -> Iterator[list[Scan]]:
        """The scans of these shelves (given with the change counts of their vectors) as this connection sees them, or newer,
        locked against changes. Inside of `one_moment`. `private`: the connection sees uncommitted changes, which nobody else
        may see."""
        found = sorted((shelf, version) for shelf, version in versions.items() if version)
        self._forget(one, generation)
        held = self._hold(schema, generation, [shelf for shelf, _ in found])
        with ExitStack() as locks:
            scans = []
            for (shelf, version), each in zip(found, held, strict=True):
                locks.enter_context(each.scan.lock)  # in the order of their numbers, to avoid deadlocks
                scans.append(_current(one, generation, shelf, version, each, private))
            self._bound(len(held))
            yield scans

    def leave(self, generation: int) -> None:
        """Forgets a generation: its vectors are dropped bit by bit, which no shelf counts, so if it is used again they must be
        reread."""
        with self._lock:
            self._held = {key: held for key, held in self._held.items() if key[0] != generation}

    def _forget(self, one: apsw.Connection, generation: Generation) -> None:
        """Drops generations that nobody reads any more."""
        if all(key[0] == generation.id for key in list(self._held)):
            return
        living = {id for (id,) in one.execute("SELECT id FROM generations WHERE state <> 'retired'")}
        with self._lock:
            self._held = {key: held for key, held in self._held.items() if key[0] in living}

    def _hold(self, schema: int | None, generation: Generation, shelves: Sequence[int]) -> list[_Held]:
        with self._lock:
            if schema != self._schema:
                self._schema, self._held = schema, {}
            for shelf in shelves:
                key = generation.id, shelf
                self._held[key] = self._held.pop(key) if key in self._held else _Held(Scan(generation.dimension))
            return [self._held[generation.id, shelf] for shelf in shelves]

    def _bound(self, in_use: int) -> None:
        """Drops the least recently used shelves if all of them take too much memory."""
        with self._lock:
            total = sum(each.scan.size for each in self._held.values())
            for key in list(self._held)[: max(0, len(self._held) - in_use)]:
                if total <= MOST_BYTES:
                    return
                total -= self._held.pop(key).scan.size


def _current(
    one: apsw.Connection, generation: Generation, shelf: int, version: int, held: _Held, private: bool
) -> Scan:
    if version <= held.version:
        return held.scan
    try:
        if private:
            own = held.scan.copy()
            own.fill(_blocks(one, generation, shelf, held.version))
            return own
        if not held.version:
            sql = "SELECT sum(count) FROM vectors WHERE generation = ? AND shelf = ?"
            held.scan.reserve(one.execute(sql, (generation.id, shelf)).get or 0)
        held.scan.fill(_blocks(one, generation, shelf, held.version))
    except BaseException as problem:
        held.version = 0  # whatever went wrong, the next attempt reads everything
        held.scan.clear()
        if isinstance(problem, ValueError | TypeError):  # contradictory sizes
            raise StoreDamaged(DAMAGED) from problem
        raise
    held.version = version
    return held.scan


def _blocks(one: apsw.Connection, generation: Generation, shelf: int, after: int) -> Iterator[Block]:
    sql = "SELECT block, rows, codes FROM vectors WHERE generation = ? AND shelf = ? AND version > ?"
    return (Block(*row) for row in one.execute(sql, (generation.id, shelf, after)))


class VectorMatcher(Reader):
    """Finds records by meaning."""

    _vector_cache: VectorCache

    def nearest(
        self, generation: int, vector: "Floats", shelves: Sequence[Shelf], where: Where, limit: int, exact: bool = False
    ) -> Near:
        with self._connections as one, one_moment(one):
            view, known = self._shelves.now(one), self._shelves.generation(one, generation)
            if known is None or known.state == "retired":
                self._vector_cache.leave(generation)
                return Near()
            ids = view.readable(known.fitting(shelves), where.access)
            question, visible = direction(vector, known.dimension), _seen_through(one, ids, shelves, where)
            with self._scans(one, view, known, ids) as scans:
                return nearest(scans, question, limit, exact, visible)

    def similarities(
        self, generation: int, to: "Floats | Sequence[int]", shelves: Sequence[Shelf], numbers: Sequence[int]
    ) -> dict[int, float]:
        with self._connections as one, one_moment(one):
            view, known = self._shelves.now(one), self._shelves.generation(one, generation)
            if known is None or known.state == "retired":
                return {}
            with self._scans(one, view, known, view.ids(known.fitting(shelves))) as scans:
                vector = _together(scans, to) if isinstance(to, Sequence) else to
                if vector is None:
                    return {}
                question = direction(vector, known.dimension)
                best: dict[int, float] = {}
                for scan in scans:
                    best.update(scan.of(question, numbers))
        return {number: best[number] for number in numbers if number in best}

    def _scans(
        self, one: apsw.Connection, view: View, known: Generation, ids: Sequence[int]
    ) -> AbstractContextManager[list[Scan]]:
        sizes = self._shelves.sizes(one, view, ids)
        versions = {id: changes for id, (_, _, changes) in zip(ids, sizes, strict=True)}
        return self._vector_cache.scans(one, view.seen.schema, known, versions, self._connections.has_written(one))


def _together(scans: Sequence[Scan], numbers: Sequence[int]) -> "Floats | None":
    """The sum of the vectors of the first rows of these records; None if there are none."""
    found = [vector for scan in scans for vector in scan.directions(numbers)]
    return sum(found[1:], found[0]) if found else None


def _seen_through(one: apsw.Connection, ids: Sequence[int], shelves: Sequence[Shelf], where: Where) -> Visible | None:
    """A function that gives those of some records that pass the filter; None if lying on these shelves implies that."""
    archived = any(shelf.layer == ARCHIVE for shelf in shelves)
    clauses = tuple(clause for clause in where.clauses if archived or clause != ACTIVE)
    if not clauses:
        return None
    condition, values = where_sql(Where(where.access, clauses))
    sql = f"SELECT r.number {AMONG} WHERE {ON_SHELVES} AND {condition}"

    def visible(numbers: Sequence[int]) -> set[int]:
        return {number for (number,) in one.execute(sql, (canonical(numbers), canonical(ids), *values))}

    return visible
