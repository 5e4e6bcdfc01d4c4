"""The vectors of an SQLite store in RAM, shelf by shelf, brought up to date before each question.

A shelf counts the changes to its vectors and a block knows the count at its last change: so what another process wrote is
read block by block, and nothing else is. What a transaction has not committed yet is put into a copy of its own: if it is
rolled back, the count is used again for something else. All is forgotten when the file's content was replaced by a backup.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import apsw

from memorist.errors import StoreDamaged
from memorist.store.nouns import Generation
from memorist.store.scan import Block, Scan
from memorist.store.vector_rows import DAMAGED
from memorist.store.where import canonical

MOST_BYTES = 1_500_000_000


class _Held:
    """A shelf's scan, and the version of the shelf that it shows."""

    def __init__(self, dimension: int) -> None:
        self.scan = Scan(dimension)
        self.version = 0


class VectorCache:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._schema: int | None = None
        self._held: dict[tuple[int, int], _Held] = {}  # by generation and shelf; the one used last at the end

    @contextmanager
    def scans(
        self, one: apsw.Connection, schema: int | None, generation: Generation, shelves: Sequence[int]
    ) -> Iterator[list[Scan]]:
        """These shelves as this connection sees them, or newer; nobody changes them meanwhile. Inside of `one_moment`."""
        sql = "SELECT id, vectors FROM shelves WHERE vectors > 0 AND id IN (SELECT value FROM json_each(?)) ORDER BY id"
        found: list[Any] = one.execute(sql, (canonical(list(shelves)),)).fetchall()
        self._forget(one, generation)
        held = self._hold(schema, generation, [shelf for shelf, _ in found])
        with ExitStack() as locks:
            scans = []
            for (shelf, version), each in zip(found, held, strict=True):
                locks.enter_context(each.scan.lock)  # in the order of their numbers, so that nobody waits in a ring
                scans.append(_current(one, generation, shelf, version, each))
            self._bound(len(held))
            yield scans

    def _forget(self, one: apsw.Connection, generation: Generation) -> None:
        """Lets go of generations that nobody reads any more."""
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
                self._held[key] = self._held.pop(key) if key in self._held else _Held(generation.dimension)
            return [self._held[generation.id, shelf] for shelf in shelves]

    def _bound(self, in_use: int) -> None:
        """Lets go of the shelves that were not asked for the longest, if all take too much room."""
        with self._lock:
            total = sum(each.scan.size for each in self._held.values())
            for key in list(self._held)[: max(0, len(self._held) - in_use)]:
                if total <= MOST_BYTES:
                    return
                total -= self._held.pop(key).scan.size


def _current(one: apsw.Connection, generation: Generation, shelf: int, version: int, held: _Held) -> Scan:
    if version <= held.version:
        return held.scan
    try:
        if one.txn_state("main") == apsw.SQLITE_TXN_WRITE:
            private = held.scan.copy()
            private.fill(_blocks(one, generation, shelf, held.version))
            return private
        if not held.version:
            sql = "SELECT sum(count) FROM vectors WHERE generation = ? AND shelf = ?"
            held.scan.reserve(one.execute(sql, (generation.id, shelf)).get or 0)
        held.scan.fill(_blocks(one, generation, shelf, held.version))
    except BaseException as problem:
        held.version = 0  # whatever stopped us, the next one reads everything
        held.scan.clear()
        if isinstance(problem, ValueError | TypeError):  # sizes that do not fit each other
            raise StoreDamaged(DAMAGED) from problem
        raise
    held.version = version
    return held.scan


def _blocks(one: apsw.Connection, generation: Generation, shelf: int, after: int) -> Iterator[Block]:
    sql = "SELECT block, rows, codes FROM vectors WHERE generation = ? AND shelf = ? AND version > ?"
    return (Block(*row) for row in one.execute(sql, (generation.id, shelf, after)))
