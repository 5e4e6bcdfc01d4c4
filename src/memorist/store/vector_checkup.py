"""Whether every vector of an SQLite store belongs to an index row, lies in its block and fits its model; and what to do if not.

Vectors are derived, so one that fits nothing is dropped without a loss: upkeep makes it again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import apsw

from memorist.errors import StoreDamaged
from memorist.store.connection import one_moment
from memorist.store.index import CHUNKS, GROUP, PARTS, block_of
from memorist.store.vector_rows import VectorRows, closed, opened
from memorist.text.vectors import SCALE, are_sound


@dataclass(frozen=True, slots=True)
class BadBlock:
    """A block that holds more than it should; `fitting` is what may stay, and None if even its model or shelf is unknown."""

    id: int
    shelf: int
    bad: tuple[str, ...]
    fitting: dict[int, bytes] | None


def bad_blocks(one: apsw.Connection) -> Iterator[BadBlock]:
    """Each looked at in a moment of its own: others may be writing, and a long look would keep the log from being cut."""
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
    """What the block holds, if its parts have the sizes that they should have."""
    try:
        held = opened(rows, codes)
    except (StoreDamaged, TypeError):
        return None
    return held if len(codes) == len(held) * (dimension + SCALE) else None


def drop_what_fits_nothing(one: apsw.Connection, rows: VectorRows) -> None:
    for bad in list(bad_blocks(one)):
        if bad.fitting is None:
            one.execute("DELETE FROM vectors WHERE rowid = ?", (bad.id,))
            continue
        values = (rows.next_version(bad.shelf), len(bad.fitting), *closed(bad.fitting), bad.id)
        one.execute("UPDATE vectors SET version = ?, count = ?, rows = ?, codes = ? WHERE rowid = ?", values)
