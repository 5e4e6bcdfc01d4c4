"""The vectors of an SQLite store: blocks of rows that follow their records from shelf to shelf.

A block is read, changed and written as one, and carries the number of its shelf's last change. A vector belongs to the text
and title of its record alone: a new tag or another scope does not make it wrong, another text does.
"""

import itertools
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memorist.errors import Conflict, Invalid, Refused, StoreDamaged
from memorist.records import now_utc, to_micros
from memorist.store.connection import Connections, one_moment
from memorist.store.index import CHUNKS, GROUP, PARTS, block_of, blocks_of, embedded_text
from memorist.store.nouns import Generation, Piece
from memorist.store.where import canonical
from memorist.text.vectors import check_dimension

STATES = ("filling", "current", "retired")
ROWS_OF_A_GROUP = GROUP * CHUNKS
MOST_ROWS = 2**63 - 1
NEWEST_GROUPS = 64  # that are looked at first for rows without a vector: a millisecond
BLOCKS = "SELECT block, rows, codes FROM vectors WHERE generation = ? AND shelf = ? AND block >= ? AND block < ?"
MISSING = (
    "SELECT ifnull(sum(w.n - (SELECT ifnull(sum(v.count), 0) FROM vectors v"
    " WHERE v.generation = ?3 AND v.shelf = w.shelf AND v.block >= ?4 AND v.block < ?5)), 0)"
    " FROM (SELECT shelf, count(*) AS n FROM words WHERE id >= ?1 AND id < ?2 GROUP BY shelf) w"
)
PUT = (
    "INSERT INTO vectors (generation, shelf, block, version, count, rows, codes) VALUES (?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT DO UPDATE SET version = excluded.version, count = excluded.count, rows = excluded.rows,"
    " codes = excluded.codes"
)
DAMAGED = (
    "the vectors do not fit the records; they were left as they are. `memorist doctor --repair` drops what fits nothing, "
    "and upkeep makes it again"
)


@dataclass(frozen=True, slots=True)
class Move:
    """A record that leaves a shelf for another; for none, if its vectors are of no use any more."""

    number: int
    old: int
    new: int | None


def opened(rows: bytes, codes: bytes) -> dict[int, bytes]:
    """The vectors of a block by their rows."""
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
    """A block with these put in. New rows mostly come behind those that are there, and nothing has to be taken apart."""
    if rows and min(more) <= struct.unpack("<q", rows[-8:])[0]:
        return closed(opened(rows, codes) | dict(more))
    behind = closed(more)
    return rows + behind[0], codes + behind[1]


class VectorRows:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    # ------------------------------------------------------------ generations

    def generations(self) -> list[Generation]:
        sql = "SELECT id, model, dimension, state FROM generations ORDER BY id"
        return [Generation(*row) for row in self._connections.here().execute(sql)]

    def generation(self, id: int) -> Generation | None:
        return next((each for each in self.generations() if each.id == id), None)

    def add(self, model: str, dimension: int) -> Generation:
        check_dimension(dimension)
        one = self._connections.here()
        sql = "INSERT INTO generations (model, dimension, state, at) VALUES (?, ?, 'filling', ?)"
        one.execute(sql, (model, dimension, to_micros(now_utc())))
        return Generation(one.last_insert_rowid(), model, dimension, "filling")

    def set_state(self, id: int, state: str) -> None:
        check_state(self.generation(id), id, state)
        one = self._connections.here()
        if state == "current":
            one.execute("UPDATE generations SET state = 'retired' WHERE state = 'current'")
        one.execute("UPDATE generations SET state = ? WHERE id = ?", (state, id))

    # ------------------------------------------------------------ changing

    def put(self, generation: int, vectors: Mapping[int, bytes]) -> None:
        check_vectors(self.generation(generation), generation, vectors)
        sql = "SELECT id, shelf FROM words WHERE id IN (SELECT value FROM json_each(?))"
        shelves: dict[int, int] = dict(self._connections.here().execute(sql, (canonical(list(vectors)),)))
        check_rows(vectors, shelves)
        self._add({(generation, shelves[row], row): vector for row, vector in vectors.items()}, {})

    def move(self, moves: Sequence[Move]) -> list[bytes]:
        """Takes the vectors of these records, of every generation, along to their new shelves. Those that went."""
        goals = {move.number: move.new for move in moves}
        places = dict.fromkeys((move.old, blocks_of(move.number)) for move in moves)
        versions: dict[int, int] = {}
        carried: dict[tuple[int, int, int], bytes] = {}
        gone: list[bytes] = []
        for generation, (old, blocks) in itertools.product(self.generations(), places):
            for block, held in self._blocks(generation.id, old, blocks):
                leaving = {row: vector for row, vector in held.items() if row // CHUNKS in goals}
                if leaving:
                    staying = {row: vector for row, vector in held.items() if row not in leaving}
                    self._write(generation.id, old, block, closed(staying), versions)
                for row, vector in leaving.items():
                    new = goals[row // CHUNKS]
                    if new is None:
                        gone.append(vector)
                    else:
                        carried[generation.id, new, row] = vector
        self._add(carried, versions)
        return gone

    def _add(self, vectors: Mapping[tuple[int, int, int], bytes], versions: dict[int, int]) -> None:
        """Puts vectors, by generation, shelf and row, into their blocks."""
        parts: dict[tuple[int, int, int], dict[int, bytes]] = {}
        for (generation, shelf, row), vector in vectors.items():
            parts.setdefault((generation, shelf, block_of(row)), {})[row] = vector
        for (generation, shelf, block), part in parts.items():
            held: Any = self._connections.here().execute(BLOCKS, (generation, shelf, block, block + 1)).get
            content = extended(held[1], held[2], part) if held else closed(part)
            self._write(generation, shelf, block, content, versions)

    def _blocks(self, generation: int, shelf: int, blocks: range) -> list[tuple[int, dict[int, bytes]]]:
        found = self._connections.here().execute(BLOCKS, (generation, shelf, blocks.start, blocks.stop))
        return [(block, opened(rows, codes)) for block, rows, codes in found]

    def _write(
        self, generation: int, shelf: int, block: int, content: tuple[bytes, bytes], versions: dict[int, int]
    ) -> None:
        """A block that is emptied is not deleted: who holds it in RAM would not hear of it."""
        if shelf not in versions:
            versions[shelf] = self.next_version(shelf)
        values = (generation, shelf, block, versions[shelf], len(content[0]) // 8, *content)
        self._connections.here().execute(PUT, values)

    def next_version(self, shelf: int) -> int:
        sql = "UPDATE shelves SET vectors = vectors + 1 WHERE id = ? RETURNING vectors"
        version: int = self._connections.here().execute(sql, (shelf,)).get
        return version

    def drop(self, generation: int, most: int) -> int:
        check_droppable(self.generation(generation), generation)
        one, gone = self._connections.here(), 0
        while blocks := self._some(generation, (most - gone) // GROUP + 1):
            for id, count in blocks:
                if count > most - gone:
                    if gone < most:
                        self._drop_first(id, most - gone)
                    return most
                one.execute("DELETE FROM vectors WHERE rowid = ?", (id,))
                gone += count
        one.execute("DELETE FROM generations WHERE id = ?", (generation,))
        return gone

    def _some(self, generation: int, most: int) -> list[tuple[int, int]]:
        """Some blocks, and how many vectors each holds."""
        sql = "SELECT rowid, count FROM vectors WHERE generation = ? LIMIT ?"
        found: list[Any] = self._connections.here().execute(sql, (generation, most)).fetchall()
        return found

    def _drop_first(self, id: int, most: int) -> None:
        """Takes some of a block's vectors away."""
        one = self._connections.here()
        held: Any = one.execute("SELECT rows, codes FROM vectors WHERE rowid = ?", (id,)).get
        left = dict(sorted(opened(*held).items())[most:])
        sql = "UPDATE vectors SET count = ?, rows = ?, codes = ? WHERE rowid = ?"
        one.execute(sql, (len(left), *closed(left), id))

    # ------------------------------------------------------------ what has none yet

    def unembedded(self, generation: int, after: int, limit: int) -> list[Piece]:
        """Blocks are counted, not read, as long as they hold as many vectors as their records have rows."""
        one = self._connections.here()
        with one_moment(one):
            total = "SELECT ifnull(sum(count), 0) FROM vectors WHERE generation = ?"
            rows: int = one.execute("SELECT ifnull(sum(chunks), 0) FROM shelves").get
            missing = rows - one.execute(total, (generation,)).get
            if not missing:
                return []
            start = max(after, self._before_the_last(generation, missing))
            return self._pieces(list(itertools.islice(self._without(generation, start), limit)))

    def _before_the_last(self, generation: int, missing: int) -> int:
        """The row behind which all those lie that have no vector, if they are among the newest, as they mostly are; else 0."""
        one, first = self._connections.here(), MOST_ROWS
        for _ in range(NEWEST_GROUPS):
            found: int | None = one.execute("SELECT id FROM words WHERE id < ? ORDER BY id DESC LIMIT 1", (first,)).get
            if found is None:
                break
            first = found // ROWS_OF_A_GROUP * ROWS_OF_A_GROUP
            missing -= self._missing(generation, first)
            if missing == 0:
                return first - 1
        return 0

    def _missing(self, generation: int, first: int) -> int:
        """How many rows of a group have no vector."""
        block = block_of(first)
        values = (first, first + ROWS_OF_A_GROUP, generation, block, block + PARTS)
        missing: int = self._connections.here().execute(MISSING, values).get
        return missing

    def _without(self, generation: int, after: int) -> Iterator[int]:
        one, last = self._connections.here(), after
        while found := one.execute("SELECT id FROM words WHERE id > ? ORDER BY id LIMIT 1", (last,)).get:
            first = found // ROWS_OF_A_GROUP * ROWS_OF_A_GROUP
            last = first + ROWS_OF_A_GROUP - 1
            if self._missing(generation, first):
                sql = "SELECT id, shelf FROM words WHERE id >= ? AND id <= ?"
                rows: list[Any] = one.execute(sql, (first, last)).fetchall()
                yield from (row for row in self._bare(generation, rows) if row > after)

    def pieces(self, numbers: Sequence[int], generation: int) -> list[Piece]:
        one = self._connections.here()
        sql = (
            "SELECT w.id, w.shelf FROM json_each(?) j CROSS JOIN words w"
            f" ON w.id >= j.value * {CHUNKS} AND w.id < (j.value + 1) * {CHUNKS} ORDER BY w.id"
        )
        with one_moment(one):
            rows: list[Any] = one.execute(sql, (canonical(sorted(set(numbers))),)).fetchall()
            return self._pieces(self._bare(generation, rows))

    def _bare(self, generation: int, rows: Sequence[tuple[int, int]]) -> list[int]:
        """Those of these rows, given with their shelves, that have no vector."""
        sql = "SELECT rows FROM vectors WHERE (generation, shelf, block) = (?, ?, ?)"
        held: set[int] = set()
        for shelf, block in {(shelf, block_of(row)) for row, shelf in rows}:
            found: bytes = self._connections.here().execute(sql, (generation, shelf, block)).get or b""
            held.update(struct.unpack(f"<{len(found) // 8}q", found))
        return [row for row, _ in rows if row not in held]

    def _pieces(self, rows: Sequence[int]) -> list[Piece]:
        one = self._connections.here()
        numbers = canonical(sorted({row // CHUNKS for row in rows}))
        sql = "SELECT number, title, text FROM records WHERE number IN (SELECT value FROM json_each(?))"
        texts: dict[int, tuple[str | None, str]] = {
            number: (title, text) for number, title, text in one.execute(sql, (numbers,))
        }
        spans = one.execute(
            "SELECT id, start, end FROM words WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
            (canonical(list(rows)),),
        )
        return [Piece(row, embedded_text(*texts[row // CHUNKS], start, end)) for row, start, end in spans]


# ---------------------------------------------------------------- what every store refuses alike


def check_state(generation: Generation | None, id: int, state: str) -> None:
    if generation is None:
        raise Conflict(f"there is no generation {id} of vectors any more")
    if state not in STATES:
        raise Invalid(f"a generation of vectors is {', '.join(STATES)}, not {state!r:.60}")


def check_vectors(generation: Generation | None, id: int, vectors: Mapping[int, bytes]) -> None:
    """A process may still hold a model that another one has just replaced."""
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


def check_rows(vectors: Mapping[int, bytes], known: Collection[int]) -> None:
    lost = [row for row in vectors if row not in known]
    if lost:
        raise Conflict(f"memory {lost[0] // CHUNKS} changed while it was embedded; embed it again")


def check_droppable(generation: Generation | None, id: int) -> None:
    if generation is not None and generation.state != "retired":
        raise Refused(f"generation {id} of the vectors is in use; retire it before its vectors are dropped")
