"""The vectors of the store in RAM. They lie with their record's number, so that a record which moves takes them along.

What is searched is a scan for each shelf, made when it is first asked for. A change only notes which block of which scan it
touched; before the next question these blocks are made anew from what is there then, whatever was rolled back meanwhile.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memorist.records import Record
from memorist.store.in_memory_index import finding
from memorist.store.in_memory_ledger import InMemoryLedger, reading, writing
from memorist.store.index import CHUNKS, GROUP, block_of, embedded_rows
from memorist.store.nouns import Finding, Generation, Piece, Sealed, Shelf, shelf_of
from memorist.store.scan import Block, Scan
from memorist.store.vector_rows import check_droppable, check_rows, check_state, check_vectors, closed
from memorist.text.vectors import check_dimension

LAST_GENERATION = "last generation"  # the setting that keeps a number from being handed out twice


@dataclass(slots=True)
class _Searched:
    """A shelf's scan, and the groups of blocks that changed since it was made."""

    scan: Scan
    stale: set[int] = field(default_factory=set)


class InMemoryVectors(InMemoryLedger):
    def _empty(self) -> None:
        super()._empty()
        self._records: dict[str, Sealed] = {}  # in the order of their numbers, because none is ever taken out
        self._ids: dict[int, str] = {}
        self._generations: dict[int, Generation] = {}
        self._vectors: dict[tuple[int, int], Mapping[int, bytes]] = {}  # of each generation and record, by index row
        self._searched: dict[tuple[int, Shelf], _Searched] = {}

    def _record(self, number: int) -> Record:
        return self._records[self._ids[number]].record

    # ------------------------------------------------------------ generations

    @reading
    def generations(self) -> list[Generation]:
        return list(self._generations.values())

    @writing
    def add_generation(self, model: str, dimension: int) -> Generation:
        check_dimension(dimension)
        id = int(self._settings.get(LAST_GENERATION, 0)) + 1
        generation = Generation(id, model, dimension, "filling")
        self._undo.set(self._settings, LAST_GENERATION, str(id))
        self._undo.set(self._generations, id, generation)
        return generation

    @writing
    def set_generation(self, id: int, state: str) -> None:
        check_state(self._generations.get(id), id, state)
        for other in tuple(self._generations.values()):
            if state == "current" and other.state == "current":
                self._undo.set(self._generations, other.id, replace(other, state="retired"))
        self._undo.set(self._generations, id, replace(self._generations[id], state=state))

    # ------------------------------------------------------------ changing

    @writing
    def put_vectors(self, generation: int, vectors: Mapping[int, bytes]) -> None:
        check_vectors(self._generations.get(generation), generation, vectors)
        numbers = {row // CHUNKS for row in vectors}
        rows = [embedded_rows(self._record(number)) for number in numbers if number in self._ids]
        check_rows(vectors, {row for some in rows for row in some})
        parts: dict[int, dict[int, bytes]] = {}
        for row, vector in vectors.items():
            parts.setdefault(row // CHUNKS, {})[row] = vector
        for number, part in parts.items():
            self._keep_vectors((generation, number), {**self._vectors.get((generation, number), {}), **part})

    @writing
    def drop_vectors(self, generation: int, most: int) -> int:
        check_droppable(self._generations.get(generation), generation)
        gone = 0
        for key in [key for key in self._vectors if key[0] == generation]:
            held = sorted(self._vectors[key].items())
            self._keep_vectors(key, dict(held[most - gone :]))
            gone += min(len(held), most - gone)
            if gone == most:
                break
        if generation in self._generations and not any(key[0] == generation for key in self._vectors):
            self._undo.drop(self._generations, generation)
        return gone

    def _keep_vectors(self, key: tuple[int, int], vectors: Mapping[int, bytes]) -> None:
        if vectors:
            self._undo.set(self._vectors, key, vectors)
        elif key in self._vectors:
            self._undo.drop(self._vectors, key)
        if key[1] in self._ids:
            self._touch(shelf_of(self._record(key[1])), key[1])

    def _follow_record(self, record: Record, old: Record | None) -> None:
        """Before a record is replaced: vectors of another text go, the others are searched on the new shelf."""
        keys = [(id, record.number) for id in self._generations if (id, record.number) in self._vectors]
        if old is None or not keys:
            return
        if record.state == "erased" or (record.text, record.title) != (old.text, old.title):
            for key in keys:
                self._keep_vectors(key, {})
        elif shelf_of(record) != shelf_of(old):
            self._touch(shelf_of(old), record.number)
            self._touch(shelf_of(record), record.number)

    def _touch(self, shelf: Shelf, number: int) -> None:
        """Notes that a record's vectors on that shelf are not what they were, and when that is taken back, again."""
        self._stale(shelf, number)
        if self._undo.under_way:
            self._undo.note(functools.partial(self._stale, shelf, number))

    def _stale(self, shelf: Shelf, number: int) -> None:
        for (_, where), searched in self._searched.items():
            if where == shelf:
                searched.stale.add(number // GROUP)

    # ------------------------------------------------------------ what is searched

    def _scan(self, generation: Generation, shelf: Shelf) -> Scan:
        key = (generation.id, shelf)
        if key not in self._searched:
            groups = {number // GROUP for id, number in self._vectors if id == generation.id}
            self._searched[key] = _Searched(Scan(generation.dimension), groups)
        searched = self._searched[key]
        searched.scan.fill(self._blocks(generation.id, shelf, sorted(searched.stale), searched.scan))
        searched.stale = set()
        return searched.scan

    def _blocks(self, generation: int, shelf: Shelf, groups: Iterable[int], scan: Scan) -> Iterator[Block]:
        """The blocks of these groups as they are now, empty ones where there were some before."""
        for group in groups:
            blocks: dict[int, dict[int, bytes]] = {block: {} for block in scan.blocks(group)}
            for number in range(group * GROUP, (group + 1) * GROUP):
                if (generation, number) in self._vectors and shelf_of(self._record(number)) == shelf:
                    for row, vector in self._vectors[generation, number].items():
                        blocks.setdefault(block_of(row), {})[row] = vector
            yield from (Block(block, *closed(vectors)) for block, vectors in blocks.items())

    # ------------------------------------------------------------ what has none yet

    @reading
    def unembedded(self, generation: int, after: int, limit: int) -> list[Piece]:
        found: list[Piece] = []
        for number in self._ids:
            if number >= after // CHUNKS and len(found) < limit:
                found += [piece for piece in self._bare(number, generation) if piece.row > after]
        return found[:limit]

    @reading
    def pieces(self, numbers: Sequence[int], generation: int) -> list[Piece]:
        known = sorted(number for number in set(numbers) if number in self._ids)
        return [piece for number in known for piece in self._bare(number, generation)]

    def _bare(self, number: int, generation: int) -> list[Piece]:
        held = self._vectors.get((generation, number), {})
        return [Piece(row, text) for row, text in embedded_rows(self._record(number)).items() if row not in held]

    # ------------------------------------------------------------ health

    def _homeless(self) -> list[tuple[int, int]]:
        """Where vectors lie that do not fit their generation, or belong to no text."""
        return [key for key, vectors in self._vectors.items() if not self._fits(*key, vectors)]

    def _fits(self, generation: int, number: int, vectors: Mapping[int, bytes]) -> bool:
        known = self._generations.get(generation)
        if known is None or number not in self._ids:
            return False
        rows = embedded_rows(self._record(number))
        return all(row in rows and len(vector) == known.bytes for row, vector in vectors.items())

    def _vector_checkup(self) -> Finding:
        return finding("vectors", self._homeless(), "every vector has its text", "records have vectors of other texts")

    def _drop_homeless(self) -> None:
        for key in self._homeless():
            self._keep_vectors(key, {})
