"""An index over the vectors of a large shelf (the extra `ann`): which rows may be like a question, without comparing them all.

It is a cache beside the store and never the truth: `memory.db.ann/GENERATION-SHELF.usearch` with a note of what it was made
from. It only names candidates. They are compared by the vectors that the store holds at that moment, and blocks that changed
since the index was made are compared whole, so an old index costs time and never shows what is gone. One that is missing,
damaged or another store's is passed over, and upkeep makes it anew (docs/why/0012-ann.md).
"""

import functools
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from memorist.errors import StoreDamaged
from memorist.store.ann_files import Note, Place, Seen, look, remove_all
from memorist.store.index import PARTS, block_of, blocks_of
from memorist.store.nouns import Generation
from memorist.store.scan import SAMPLE, Block, Looked, Scan
from memorist.store.vector_rows import DAMAGED
from memorist.store.where import canonical

if TYPE_CHECKING:
    from memorist.store.protocol import Floats

LEAST_ROWS = 300_000  # below that, comparing signs is as fast (docs/why/0012-ann.md)
EXPANSION_SEARCH = 1200  # rows that are followed up: measured, docs/why/0012-ann.md
WIDELY = 16  # times the usual number of candidates, where a filter left few
MOST_WANTED = 500  # records in one answer; who wants more is better served by comparing every row
CHANGED_AT_MOST = 0.2  # of the blocks, since the index was made: then it is not used
BLOCKS = (
    "SELECT v.block, v.rows, v.codes FROM json_each(?) j CROSS JOIN vectors v"
    " ON v.generation = ? AND v.shelf = ? AND v.block >= j.value AND v.block < j.value + ?"
)
CHANGED = "SELECT count(*) FROM (SELECT 1 FROM vectors WHERE generation = ? AND shelf = ? AND version > ? LIMIT ?)"
UNFIT = (
    ArithmeticError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)  # what a file that is none can raise


@functools.cache
def library() -> Any | None:
    """The class of usearch, if it is installed and can be loaded."""
    try:
        from usearch.index import Index
    except (ImportError, OSError):
        return None
    return Index


@dataclass(frozen=True, slots=True)
class Opened:
    """An index that fits the store, mapped and not loaded."""

    note: Note
    graph: Any
    sample: Scan  # rows that stand for the shelf where only a mean is asked

    def blocks(self, question: "Floats", count: int) -> set[int]:
        """Where the rows lie that seem most like the question."""
        import numpy as np

        codes = np.rint(question / (np.abs(question).max() or 1) * 127).astype(np.int8)
        self.graph.expansion_search = max(EXPANSION_SEARCH, count)
        found = self.graph.search(codes, min(count, self.note.rows), threads=1)
        return {block_of(row) for row in found.keys.tolist()}

    def changed(self, one: apsw.Connection) -> float:
        """The share of the blocks that changed since it was made; of those that are new too. More than half is not counted."""
        note = self.note
        return (
            int(one.execute(CHANGED, (note.generation, note.shelf, note.version, note.blocks // 2 + 1)).get)
            / note.blocks
        )


class Indexed:
    """A large shelf as one connection sees it: what changed since its index was made is in RAM, the rest stays in the store.
    It answers like a `Scan`, but never completely."""

    def __init__(self, one: apsw.Connection, opened: Opened, fresh: Scan, rows: int) -> None:
        self.count = rows
        self._one, self._opened, self._fresh = one, opened, fresh

    def look(self, question: "Floats", exact: bool, limit: int) -> Looked:
        """`exact` looks further, and not at everything."""
        import numpy as np

        count = (2 * limit + 64) * (WIDELY if exact else 1)
        blocks = [block for block in self._opened.blocks(question, count) if not self._fresh.holds(block)]
        parts = [self._read(blocks, 1).look(question, True, limit), self._fresh.look(question, exact, limit)]
        rows, cosines = (np.concatenate([getattr(part, name) for part in parts]) for name in ("rows", "cosines"))
        sample = self._opened.sample.look(question, True, limit)
        return Looked(rows, cosines, self.count, sample.mean, sample.square, complete=False)

    def of(self, question: "Floats", numbers: Sequence[int]) -> dict[int, float]:
        groups = {blocks_of(number).start for number in numbers}
        return self._read(sorted(groups), PARTS).of(question, numbers)

    def directions(self, numbers: Sequence[int]) -> dict[int, "Floats"]:
        return self._read(sorted({blocks_of(number).start for number in numbers}), 1).directions(numbers)

    def _read(self, blocks: Sequence[int], width: int) -> Scan:
        note, scan = self._opened.note, Scan(self._fresh.dimension)
        try:
            scan.fill(_blocks(self._one, note, blocks, width))
        except (TypeError, ValueError) as problem:  # sizes that do not fit each other
            raise StoreDamaged(DAMAGED) from problem
        return scan


class VectorIndexes:
    """The indexes beside one store. What was opened stays so until its note is another or gone."""

    def __init__(self, path: Path) -> None:
        self.folder = path.with_name(path.name + ".ann")
        self._lock = threading.Lock()
        self._opened: dict[tuple[int, int], tuple[tuple[Seen, int], Opened | None]] = {}

    def place(self, generation: int, shelf: int, unfinished: bool = False) -> Place:
        return Place(self.folder / f"{generation}-{shelf}{'-unfinished' if unfinished else ''}.usearch")

    def usable(self, one: apsw.Connection, generation: Generation, shelf: int, version: int) -> Opened | None:
        """The index of that shelf, if there is one and not too much changed since. Inside of `one_moment`."""
        found = self.opened(one, generation, shelf)
        if found is None or found.note.version > version or found.changed(one) > CHANGED_AT_MOST:
            return None
        return found

    def opened(self, one: apsw.Connection, generation: Generation, shelf: int) -> Opened | None:
        key, place = (generation.id, shelf), self.place(generation.id, shelf)
        noted = look(place.note)
        with self._lock:
            if noted is None:
                self._opened.pop(key, None)
                return None
            seen = noted, int(one.execute("PRAGMA schema_version").get)  # another one: a backup was restored
            known = self._opened.get(key)
            if known is None or known[0] != seen:
                known = self._opened[key] = seen, _opened(one, place, generation, shelf)
        return known[1]

    def remove(self) -> bool:
        """Takes all of them away, because one may hold what is erased: a record may have lain on another shelf, or have had
        another text, when it was made. Whether nothing is left."""
        with self._lock:
            self._opened.clear()
        return remove_all(self.folder)


def _opened(one: apsw.Connection, place: Place, generation: Generation, shelf: int) -> Opened | None:
    try:
        note = Note.read(place.note)
        fits = note.is_of(generation.id, generation.model, shelf) and note.rows and note.origin.fits(one)
        graph = restored(place, note, generation.dimension, view=True) if fits else None
        return Opened(note, graph, _sample(one, note, generation)) if graph is not None else None
    except UNFIT:
        return None


def restored(place: Place, note: Note, dimension: int, view: bool) -> Any | None:
    """The graph, if its file is what the note says."""
    usearch = library()
    if usearch is None or not place.holds(note):
        return None
    graph = usearch.restore(str(place.graph), view=view, enable_key_lookups=False)
    return graph if graph is not None and (len(graph), graph.ndim) == (note.rows, dimension) else None


def _sample(one: apsw.Connection, note: Note, generation: Generation) -> Scan:
    """A few rows of each of the blocks that were picked when the index was made."""
    scan, each = Scan(generation.dimension), max(1, SAMPLE // max(1, len(note.sample)))
    blocks = _blocks(one, note, note.sample, 1)
    scan.fill(Block(b.number, b.rows[: 8 * each], b.packed[: generation.bytes * each]) for b in blocks)
    return scan


def _blocks(one: apsw.Connection, note: Note, first: Iterable[int], width: int) -> Iterator[Block]:
    found = one.execute(BLOCKS, (canonical(list(first)), note.generation, note.shelf, width))
    return (Block(*row) for row in found)
