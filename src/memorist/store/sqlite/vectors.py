"""The vectors of an SQLite store: blocks of rows that follow their records from shelf to shelf.

A block is read, changed and written as a whole, and carries the number of its shelf's last change. A vector depends only on
the text and title of its record: a new tag or another scope does not invalidate it, but another text does, and so does a layer
that its generation does not cover. Vectors are derived data, so one that belongs to no index row, or not to its block or
model, can be dropped without loss: upkeep makes it again.
"""

import itertools
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import apsw

from memorist.errors import Conflict, Invalid, StoreDamaged
from memorist.kinds import LAYERS
from memorist.lazy import dataclass
from memorist.records import now_utc, to_micros
from memorist.store.index import CHUNKS, embedded_text
from memorist.store.nouns import Generation, Piece, Shelf
from memorist.store.packing import SCALE, are_sound, check_dimension
from memorist.store.sqlite.connection import one_moment, upsert
from memorist.store.sqlite.read import Reader
from memorist.store.where import canonical

STATES = ("filling", "current", "retired")
GROUP = 15  # records whose vectors are stored together; with 256 dimensions they just fill a page
PARTS = 64  # parts into which the vectors of a group are divided by chunk; long texts have many chunks, most texts one
ROWS_OF_A_GROUP = GROUP * CHUNKS
MOST_ROWS = 2**63 - 1
NEWEST_GROUPS = 64  # searched first for rows without a vector, which takes a millisecond
BLOCKS = "SELECT block, rows, codes FROM vectors WHERE generation = ? AND shelf = ? AND block >= ? AND block < ?"
ON_LAYERS = "(SELECT id FROM shelves WHERE layer IN (SELECT value FROM json_each(?)))"
FITTING = "words w CROSS JOIN shelves s ON s.id = w.shelf AND s.layer IN (SELECT value FROM json_each(?1))"
MISSING = (
    "SELECT ifnull(sum(w.n - (SELECT ifnull(sum(v.count), 0) FROM vectors v"
    " WHERE v.generation = ?4 AND v.shelf = w.shelf AND v.block >= ?5 AND v.block < ?6)), 0)"
    f" FROM (SELECT w.shelf, count(*) AS n FROM {FITTING} WHERE w.id >= ?2 AND w.id < ?3 GROUP BY w.shelf) w"
)
PUT = upsert("vectors", "generation, shelf, block, version, count, rows, codes", "generation, shelf, block")
DAMAGED = (
    "the vectors contradict the records; they were left as they are. `memorist doctor --repair` drops those that belong to "
    "nothing, and upkeep makes them again"
)


@dataclass(frozen=True, slots=True)
class Move:
    """A record that moves to another shelf; to none if its vectors have become useless."""

    number: int
    old: int
    new: int | None


def block_of(row: int) -> int:
    number, chunk = divmod(row, CHUNKS)
    return number // GROUP * PARTS + chunk * PARTS // CHUNKS


def blocks_of(number: int) -> range:
    """The blocks that may hold vectors of a record, and of the others in its group."""
    first = number // GROUP * PARTS
    return range(first, first + PARTS)


def opened(rows: bytes, codes: bytes) -> dict[int, bytes]:
    """The vectors of a block, by row."""
    count = len(rows) // 8
    width = len(codes) // count if count else 0
    if len(rows) % 8 or len(codes) != count * width:
        raise StoreDamaged(DAMAGED)
    parts = (codes[start : start + width] for start in range(0, len(codes), width or 1))
    return dict(zip(struct.unpack(f"<{count}q", rows), parts, strict=True))


def closed(vectors: Mapping[int, bytes]) -> tuple[bytes, bytes]:
    rows = sorted(vectors)
    return struct.pack(f"<{len(rows)}q", *rows), b"".join(vectors[row] for row in rows)


def extended(rows: bytes, codes: bytes, more: Mapping[int, bytes]) -> tuple[bytes, bytes]:
    """A block with more vectors added. New rows mostly follow the existing ones, so that nothing needs to be unpacked."""
    if rows and min(more) <= struct.unpack("<q", rows[-8:])[0]:
        return closed(opened(rows, codes) | dict(more))
    behind = closed(more)
    return rows + behind[0], codes + behind[1]


class VectorKeeper(Reader):
    """Stores the generations of vectors, and their rows."""

    def save_generation(self, generation: Generation) -> Generation:
        check_dimension(generation.dimension)
        if generation.state not in STATES:
            raise Invalid(f"a generation of vectors is {', '.join(STATES)}, not {generation.state!r:.60}")
        with self._connections as one:
            known = {each.id: each for each in self._shelves.generations(one)}
            if generation.id and generation.id not in known:
                raise Conflict(f"there is no generation {generation.id} of vectors any more")
            _check_layers(generation, known[generation.id].layers if generation.id else LAYERS)
            if generation.state == "current":
                _take_layers(one, generation, known.values())
            if generation.id:
                return _save(one, known[generation.id], generation)
            sql = "INSERT INTO generations (model, dimension, state, layers, at) VALUES (?, ?, ?, ?, ?)"
            model, dimension, state = generation.model, generation.dimension, generation.state
            one.execute(sql, (model, dimension, state, " ".join(generation.layers), to_micros(now_utc())))
            return replace(generation, id=one.last_insert_rowid())

    # ------------------------------------------------------------ changing

    def put_vectors(self, generation: int, vectors: Mapping[int, bytes]) -> None:
        sql = f"SELECT w.id, w.shelf FROM {FITTING} WHERE w.id IN (SELECT value FROM json_each(?2))"
        with self._connections as one:
            known = _check(self._shelves.generation(one, generation), generation, vectors)
            shelves: dict[int, int] = dict(one.execute(sql, (canonical(known.layers), canonical(list(vectors)))))
            lost = next((row for row in vectors if row not in shelves), None)
            if lost is not None:
                raise Conflict(f"memory {lost // CHUNKS} changed while it was embedded; embed it again")
            self._add(one, {(generation, shelves[row], row): vector for row, vector in vectors.items()}, {})

    def _move(self, one: apsw.Connection, moves: Sequence[Move]) -> list[bytes]:
        """Moves the vectors of these records to their new shelves, in every generation that covers their layers. Returns the
        vectors that were dropped."""
        goals = {move.number: move.new for move in moves}
        shelves = self._shelves.now(one).seen.shelves
        places = dict.fromkeys((move.old, blocks_of(move.number)) for move in moves)
        versions: dict[int, int] = {}
        carried: dict[tuple[int, int, int], bytes] = {}
        gone: list[bytes] = []
        for generation, (old, blocks) in itertools.product(self._shelves.generations(one), places):
            found: list[Any] = one.execute(BLOCKS, (generation.id, old, blocks.start, blocks.stop)).fetchall()
            for block, rows, codes in found:
                held = opened(rows, codes)
                leaving = {row: vector for row, vector in held.items() if row // CHUNKS in goals}
                if leaving:
                    staying = {row: vector for row, vector in held.items() if row not in leaving}
                    _write(one, generation.id, old, block, closed(staying), versions)
                for row, vector in leaving.items():
                    new = _goal(generation, shelves, old, goals[row // CHUNKS])
                    if new is None:
                        gone.append(vector)
                    else:
                        carried[generation.id, new, row] = vector
        self._add(one, carried, versions)
        return gone

    def _add(
        self, one: apsw.Connection, vectors: Mapping[tuple[int, int, int], bytes], versions: dict[int, int]
    ) -> None:
        """Adds vectors, given by generation, shelf and row, to their blocks."""
        parts: dict[tuple[int, int, int], dict[int, bytes]] = {}
        for (generation, shelf, row), vector in vectors.items():
            parts.setdefault((generation, shelf, block_of(row)), {})[row] = vector
        for (generation, shelf, block), part in parts.items():
            held: Any = one.execute(BLOCKS, (generation, shelf, block, block + 1)).get
            content = extended(held[1], held[2], part) if held else closed(part)
            _write(one, generation, shelf, block, content, versions)

    def drop_vectors(self, generation: int, most: int) -> int:
        gone, some = 0, f"SELECT rowid, count FROM vectors WHERE generation = ? AND shelf IN {ON_LAYERS} LIMIT ?"
        with self._connections as one:
            known = self._shelves.generation(one, generation)
            layers = canonical(known.lost if known and known.state != "retired" else LAYERS)
            while True:
                blocks: list[Any] = one.execute(some, (generation, layers, (most - gone) // GROUP + 1)).fetchall()
                if not blocks:
                    break
                for id, count in blocks:
                    if count > most - gone:
                        if gone < most:
                            _drop_first(one, id, most - gone)
                        return most
                    one.execute("DELETE FROM vectors WHERE rowid = ?", (id,))
                    gone += count
            one.execute("DELETE FROM generations WHERE id = ? AND state = 'retired'", (generation,))
            one.execute("UPDATE generations SET lost = '' WHERE id = ?", (generation,))
        return gone

    # ------------------------------------------------------------ what has none yet

    def unembedded(
        self,
        generation: int,
        after: int = 0,
        limit: int | None = None,
        numbers: Sequence[int] | None = None,
        layers: Sequence[str] = LAYERS,
    ) -> list[Piece]:
        with self._connections as one, one_moment(one):
            known = self._shelves.generation(one, generation)
            fitting = [each for each in (known.layers if known else LAYERS) if each in layers]
            seek = _Bare(one, generation, canonical(fitting))
            if numbers is not None:
                rows = [row for row in seek.of(seek.rows_of(numbers)) if row > after]
            elif missing := seek.count():
                rows = list(itertools.islice(seek.behind(max(after, seek.before_the_last(missing))), limit))
            else:
                return []
            return _pieces(one, rows[:limit])


def _goal(generation: Generation, shelves: Mapping[int, Shelf], old: int, new: int | None) -> int | None:
    """The new shelf if the generation covers both; otherwise None, and its vectors are dropped."""
    fits = new is not None and {shelves[old].layer, shelves[new].layer} <= {*generation.layers}
    return new if fits else None


def _check_layers(generation: Generation, allowed: Sequence[str]) -> None:
    """Raises for layers that are not allowed. A lost layer cannot come back: what was dropped there may still be in others'
    RAM."""
    if not generation.layers or not {*generation.layers} <= {*allowed}:
        wrong = ", ".join(generation.layers)[:60] or "none"
        raise Invalid(f"a generation of vectors is for some of {', '.join(allowed)}, not for {wrong}")


def _take_layers(one: apsw.Connection, generation: Generation, known: Iterable[Generation]) -> None:
    """Takes the layers from the generations that had them."""
    for each in known:
        if each.id != generation.id and each.state == "current":
            _save(one, each, each.without(generation.layers))


def _save(one: apsw.Connection, old: Generation, new: Generation) -> Generation:
    new = replace(new, lost=(*old.lost, *(layer for layer in old.layers if layer not in new.layers)))
    sql = "UPDATE generations SET state = ?, layers = ?, lost = ? WHERE id = ?"
    one.execute(sql, (new.state, " ".join(new.layers), " ".join(new.lost), new.id))
    return new


def _check(generation: Generation | None, id: int, vectors: Mapping[int, bytes]) -> Generation:
    """Refuses a generation that has been replaced, since a process may still hold the former model, and vectors of the wrong
    size."""
    if generation is None or generation.state == "retired":
        raise Conflict(
            f"generation {id} of the vectors was replaced meanwhile; embed with the model of the current one"
        )
    wrong = next((vector for vector in vectors.values() if len(vector) != generation.bytes), None)
    if wrong is not None:
        raise Invalid(
            f"a packed vector of {len(wrong):,} bytes is no vector of {generation.model[:60]}: "
            f"{generation.dimension:,} dimensions take {generation.bytes:,}"
        )
    return generation


def _write(
    one: apsw.Connection,
    generation: int,
    shelf: int,
    block: int,
    content: tuple[bytes, bytes],
    versions: dict[int, int],
) -> None:
    """Writes a block. An emptied one is not deleted, because processes that hold it in RAM would not notice."""
    if shelf not in versions:
        versions[shelf] = next_version(one, shelf)
    one.execute(PUT, (generation, shelf, block, versions[shelf], len(content[0]) // 8, *content))


def next_version(one: apsw.Connection, shelf: int) -> int:
    version: int = one.execute("UPDATE shelves SET vectors = vectors + 1 WHERE id = ? RETURNING vectors", (shelf,)).get
    return version


def _drop_first(one: apsw.Connection, id: int, most: int) -> None:
    """Removes the first `most` vectors of a block."""
    held: Any = one.execute("SELECT rows, codes FROM vectors WHERE rowid = ?", (id,)).get
    left = dict(sorted(opened(*held).items())[most:])
    sql = "UPDATE vectors SET count = ?, rows = ?, codes = ? WHERE rowid = ?"
    one.execute(sql, (len(left), *closed(left), id))


@dataclass(frozen=True, slots=True)
class _Bare:
    """Finds the index rows on some layers (given as JSON) that have no vector of a generation."""

    one: apsw.Connection
    generation: int
    layers: str

    def rows_of(self, numbers: Sequence[int]) -> list[tuple[int, int]]:
        sql = (
            "SELECT w.id, w.shelf FROM json_each(?2) j CROSS JOIN words w"
            f" ON w.id >= j.value * {CHUNKS} AND w.id < (j.value + 1) * {CHUNKS} CROSS JOIN shelves s ON s.id = w.shelf"
            " AND s.layer IN (SELECT value FROM json_each(?1)) ORDER BY w.id"
        )
        rows: list[Any] = self.one.execute(sql, (self.layers, canonical(sorted(set(numbers))))).fetchall()
        return rows

    def count(self) -> int:
        """Counts blocks instead of reading them, as long as they hold as many vectors as their records have rows."""
        sql = f"SELECT ifnull(sum(chunks), 0) FROM shelves WHERE id IN {ON_LAYERS}"
        rows: int = self.one.execute(sql, (self.layers,)).get
        sql = f"SELECT ifnull(sum(count), 0) FROM vectors WHERE generation = ? AND shelf IN {ON_LAYERS}"
        held: int = self.one.execute(sql, (self.generation, self.layers)).get
        return rows - held

    def before_the_last(self, missing: int) -> int:
        """The row after which all rows without a vector lie, if they are among the newest, as usual; otherwise 0."""
        first, sql = MOST_ROWS, f"SELECT w.id FROM {FITTING} WHERE w.id < ?2 ORDER BY w.id DESC LIMIT 1"
        for _ in range(NEWEST_GROUPS):
            found: int | None = self.one.execute(sql, (self.layers, first)).get
            if found is None:
                break
            first = found // ROWS_OF_A_GROUP * ROWS_OF_A_GROUP
            missing -= self._missing(first)
            if missing == 0:
                return first - 1
        return 0

    def _missing(self, first: int) -> int:
        block = block_of(first)
        values = (self.layers, first, first + ROWS_OF_A_GROUP, self.generation, block, block + PARTS)
        missing: int = self.one.execute(MISSING, values).get
        return missing

    def behind(self, after: int) -> Iterator[int]:
        last, sql = after, f"SELECT w.id FROM {FITTING} WHERE w.id > ?2 ORDER BY w.id LIMIT 1"
        group = f"SELECT w.id, w.shelf FROM {FITTING} WHERE w.id >= ?2 AND w.id <= ?3 ORDER BY w.id"
        while found := self.one.execute(sql, (self.layers, last)).get:
            first = found // ROWS_OF_A_GROUP * ROWS_OF_A_GROUP
            last = first + ROWS_OF_A_GROUP - 1
            if self._missing(first):
                rows: list[Any] = self.one.execute(group, (self.layers, first, last)).fetchall()
                yield from (row for row in self.of(rows) if row > after)

    def of(self, rows: Sequence[tuple[int, int]]) -> list[int]:
        """Those of these rows, given with their shelves, that have no vector."""
        sql = "SELECT rows FROM vectors WHERE (generation, shelf, block) = (?, ?, ?)"
        held: set[int] = set()
        for shelf, block in {(shelf, block_of(row)) for row, shelf in rows}:
            found: bytes = self.one.execute(sql, (self.generation, shelf, block)).get or b""
            held.update(struct.unpack(f"<{len(found) // 8}q", found))
        return [row for row, _ in rows if row not in held]


def _pieces(one: apsw.Connection, rows: Sequence[int]) -> list[Piece]:
    numbers = canonical(sorted({row // CHUNKS for row in rows}))
    sql = "SELECT number, title, text FROM records WHERE number IN (SELECT value FROM json_each(?))"
    texts = {number: (title, text) for number, title, text in one.execute(sql, (numbers,))}
    sql = "SELECT id, start, end FROM words WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
    spans = one.execute(sql, (canonical(list(rows)),))
    return [Piece(row, embedded_text(*texts[row // CHUNKS], start, end)) for row, start, end in spans]


# ---------------------------------------------------------------- vectors that belong to nothing


@dataclass(frozen=True, slots=True)
class BadBlock:
    """A block that holds more than it should. `fitting` is what may stay; None if even its model or shelf is unknown."""

    id: int
    shelf: int
    bad: tuple[str, ...]
    fitting: dict[int, bytes] | None


def bad_blocks(one: apsw.Connection) -> Iterator[BadBlock]:
    """Checks each block in a moment of its own: others may be writing, and a long read would keep the log from being cut."""
    for (id,) in one.execute("SELECT rowid FROM vectors ORDER BY rowid").fetchall():
        with one_moment(one):
            found = _bad_block(one, id)
        if found:
            yield found


def _bad_block(one: apsw.Connection, id: Any) -> BadBlock | None:
    sql = (
        "SELECT v.shelf, v.block, v.count, v.rows, v.codes, iif(s.id IS NULL, NULL, g.dimension) FROM vectors v"
        " LEFT JOIN generations g ON g.id = v.generation LEFT JOIN shelves s ON s.id = v.shelf WHERE v.rowid = ?"
    )
    block: Any = one.execute(sql, (id,)).get
    if block is None:  # it was dropped meanwhile
        return None
    shelf, number, count, rows, codes, dimension = block
    if dimension is None:
        return BadBlock(id, shelf, (f"block {number}",), None)
    held = _held(rows, codes, dimension)
    if held is None:
        return BadBlock(id, shelf, (f"block {number}",), {})
    first = number // PARTS * GROUP * CHUNKS
    words = "SELECT id FROM words WHERE id >= ? AND id < ? AND shelf = ?"
    known = {row for (row,) in one.execute(words, (first, first + GROUP * CHUNKS, shelf)) if block_of(row) == number}
    fitting = {row: held[row] for row in held if row in known}
    if not are_sound(list(fitting.values())):
        fitting = {row: vector for row, vector in fitting.items() if are_sound([vector])}
    if (len(fitting), *closed(fitting)) == (count, rows, codes):
        return None
    bad = tuple(str(row // CHUNKS) for row in held if row not in fitting)
    return BadBlock(id, shelf, bad or (f"block {number}",), fitting)


def _held(rows: Any, codes: Any, dimension: int) -> dict[int, bytes] | None:
    """The content of the block, if its parts have consistent sizes."""
    try:
        held = opened(rows, codes)
    except (StoreDamaged, TypeError):
        return None
    return held if len(codes) == len(held) * (dimension + SCALE) else None


def drop_homeless(one: apsw.Connection) -> None:
    for bad in list(bad_blocks(one)):
        if bad.fitting is None:
            one.execute("DELETE FROM vectors WHERE rowid = ?", (bad.id,))
            continue
        values = (next_version(one, bad.shelf), len(bad.fitting), *closed(bad.fitting), bad.id)
        one.execute("UPDATE vectors SET version = ?, count = ?, rows = ?, codes = ? WHERE rowid = ?", values)
