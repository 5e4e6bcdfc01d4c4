"""Makes the indexes of large shelves (`store/ann.py`), a few thousand rows at a time, while nobody waits for the store.

The version of the shelf is noted before the first block is read. So whatever others write meanwhile is newer than the index
says it is, and is compared beside it. A build that runs out of time keeps what it has and goes on there; one during which
something was erased is thrown away, because it may hold it.
"""

import itertools
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memorist.errors import MemoristError, StoreUnavailable
from memorist.store import ann
from memorist.store.ann_files import Note, Origin, Place, Unpublished, stray
from memorist.store.connection import Connections, one_moment, translated
from memorist.store.nouns import Generation
from memorist.store.scan import Block
from memorist.store.vector_rows import VectorRows
from memorist.text.vectors import split

CONNECTIVITY, EXPANSION_ADD = 32, 128  # measured: docs/why/0012-ann.md
RENEWED_AT = 0.1  # of the blocks changed: half of what makes an index useless
AT_ONCE = 200  # blocks between two signs of life: about three thousand rows, a few seconds
SAMPLED = 2048  # blocks whose rows stand for the shelf
AFTER = "SELECT block, rows, codes FROM vectors WHERE generation = ? AND shelf = ? AND block > ? ORDER BY block LIMIT ?"


@dataclass(frozen=True, slots=True)
class Due:
    """A shelf that needs an index."""

    generation: Generation
    shelf: int
    rows: int
    blocks: int


class IndexBuilding:
    def __init__(self, connections: Connections, indexes: ann.VectorIndexes, vectors: VectorRows) -> None:
        self._connections = connections
        self._indexes = indexes
        self._vectors = vectors

    @translated
    def due(self) -> list[Due]:
        """The large shelves without an index, or with one that is old."""
        one = self._connections.here()
        with one_moment(one):
            large = self._large()
            return [each for each in large if self._is_old(each)] if large and ann.library() else []

    @translated
    def stray(self) -> list[Path]:
        """Files that no shelf needs any more."""
        large = [(each.generation.id, each.shelf) for each in self._large()] if self._indexes.folder.exists() else []
        places = [self._indexes.place(*each, unfinished) for each in large for unfinished in (False, True)]
        return stray(self._indexes.folder, {place.graph.stem for place in places})

    def _large(self) -> list[Due]:
        one = self._connections.here()
        current = [each for each in self._vectors.generations() if each.state == "current"]
        shelves: list[Any] = one.execute(
            "SELECT id FROM shelves WHERE vectors > 0 AND chunks > ?", (ann.LEAST_ROWS,)
        ).fetchall()
        sql = "SELECT ifnull(sum(count), 0), count(*) FROM vectors WHERE generation = ? AND shelf = ?"
        found = []
        for generation, (shelf,) in itertools.product(current, shelves):
            counted: Any = one.execute(sql, (generation.id, shelf)).get
            found.append(Due(generation, shelf, *counted))
        return [each for each in found if each.rows > ann.LEAST_ROWS]

    def _is_old(self, due: Due) -> bool:
        one = self._connections.here()
        known = self._indexes.opened(one, due.generation, due.shelf)
        return known is None or known.note.version > self._version(due.shelf) or known.changed(one) > RENEWED_AT

    def _version(self, shelf: int) -> int:
        return int(self._connections.here().execute("SELECT vectors FROM shelves WHERE id = ?", (shelf,)).get)

    # ------------------------------------------------------------ making one

    def build(self, due: Due) -> Generator[int, None, None]:
        """After each part come the rows that were put in. Closed too early, it keeps them for the next one."""
        place, unfinished = (self._indexes.place(due.generation.id, due.shelf, each) for each in (False, True))
        note, graph = self._resumed(due, unfinished) or self._begun(due)
        try:
            while blocks := self._after(note):
                before = note.rows
                note = _with(note, graph, blocks, due)
                yield note.rows - before
        except GeneratorExit:
            with suppress(MemoristError):  # a store that is closed or full: then the next one begins anew
                self._keep(unfinished, note, graph)
            raise
        self._keep(place, note, graph)
        unfinished.remove()

    @translated
    def _begun(self, due: Due) -> tuple[Note, Any]:
        usearch, one = ann.library(), self._connections.here()
        if usearch is None:
            raise StoreUnavailable("usearch is not installed, so no index can be made; install memorist[ann]")
        with one_moment(one):
            note = Note(due.generation.id, due.generation.model, due.shelf, self._version(due.shelf), Origin.of(one))
        size = {"ndim": due.generation.dimension, "connectivity": CONNECTIVITY, "expansion_add": EXPANSION_ADD}
        return note, usearch(**size, metric="cos", dtype="i8", enable_key_lookups=False)

    @translated
    def _resumed(self, due: Due, place: Place) -> tuple[Note, Any] | None:
        one, generation = self._connections.here(), due.generation
        try:
            note = Note.read(place.note)
            fits = note.is_of(generation.id, generation.model, due.shelf) and note.origin.fits(one)
            graph = ann.restored(place, note, generation.dimension, view=False) if fits else None
        except ann.UNFIT:
            return None
        if graph is None:
            return None
        graph.expansion_add = EXPANSION_ADD
        return note, graph

    @translated
    def _after(self, note: Note) -> list[Block]:
        found = self._connections.here().execute(AFTER, (note.generation, note.shelf, note.last, AT_ONCE))
        return [Block(*row) for row in found]

    @translated
    def _keep(self, place: Place, note: Note, graph: Any) -> None:
        """Writes it, and lets it count unless something was erased meanwhile: whoever erases waits for us, or we for them."""
        try:
            with Unpublished(place) as file:
                graph.save(str(file.path))
                file.written()
                with self._connections.transaction(durable=False):
                    if note.origin.fits(self._connections.here()):
                        file.publish(note)
        except (OSError, RuntimeError) as problem:
            raise StoreUnavailable(
                f"{place.graph.name} could not be written ({problem}); questions do without"
            ) from problem


def _with(note: Note, graph: Any, blocks: Sequence[Block], due: Due) -> Note:
    """Puts these blocks in. A vector of zeros is like nothing, and stays out."""
    import numpy as np

    rows = np.frombuffer(b"".join(block.rows for block in blocks), "<i8")
    codes, scales = split(b"".join(block.packed for block in blocks), due.generation.dimension)
    some = np.flatnonzero(scales)
    if len(some):
        graph.add(rows[some].astype(np.uint64), np.ascontiguousarray(codes[some]), threads=1)
    stride = max(1, due.blocks // SAMPLED)
    sampled = [block.number for place, block in enumerate(blocks, note.blocks) if place % stride == 0]
    return replace(
        note, rows=len(graph), blocks=note.blocks + len(blocks), sample=(*note.sample, *sampled), last=blocks[-1].number
    )
