"""The vectors of an SQLite store in RAM, shelf by shelf, brought up to date before each question.

A shelf counts the changes to its vectors and a block knows the count at its last change: so what another process wrote is
read block by block, and nothing else is. Of a large shelf that has an index only what changed since that was made is held; the
rest is read when it is needed, and held for a while only, after a question that no index answers. What a transaction has not
committed yet is put into a copy of its own: if it is rolled back, the count is used again for something else. All is forgotten
when the file's content was replaced by a backup.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import apsw

from memorist.errors import StoreDamaged
from memorist.store import ann
from memorist.store.nouns import Generation
from memorist.store.scan import Block, Scan, Searched
from memorist.store.vector_rows import DAMAGED
from memorist.store.where import canonical

MOST_BYTES = 1_500_000_000
UNUSED = 60.0  # seconds after which all of a shelf is not held any longer beside its index


class _Held:
    """A shelf's scan, and the version of the shelf that it shows; of the blocks that are newer than `since`."""

    def __init__(self, dimension: int, since: int) -> None:
        self.scan = Scan(dimension)
        self.since = self.version = since
        self.used = time.monotonic()


class VectorCache:
    def __init__(self, indexes: ann.VectorIndexes) -> None:
        self._indexes = indexes
        self._lock = threading.Lock()
        self._schema: int | None = None
        # By generation, shelf and whether only what an index lacks is held; the one used last at the end.
        self._held: dict[tuple[int, int, bool], _Held] = {}

    @contextmanager
    def scans(
        self,
        one: apsw.Connection,
        schema: int | None,
        generation: Generation,
        shelves: Sequence[int],
        indexed: bool = True,
    ) -> Iterator[list[Searched]]:
        """These shelves as this connection sees them, or newer; nobody changes them meanwhile. Inside of `one_moment`. Unless
        `indexed`, all of each is there."""
        sql = "SELECT id, vectors, chunks FROM shelves WHERE vectors > 0 AND id IN (SELECT value FROM json_each(?)) ORDER BY id"
        found: list[Any] = one.execute(sql, (canonical(list(shelves)),)).fetchall()
        indexes = [self._index(one, generation, *each) if indexed else None for each in found]
        self._forget(one, generation)
        held = self._hold(schema, generation, [(each[0], index) for each, index in zip(found, indexes, strict=True)])
        with ExitStack() as locks:
            scans: list[Searched] = []
            for (shelf, version, rows), index, each in zip(found, indexes, held, strict=True):
                locks.enter_context(each.scan.lock)  # in the order of their numbers, so that nobody waits in a ring
                scan = _current(one, generation, shelf, version, each)
                scans.append(ann.Indexed(one, index, scan, rows) if index else scan)
            self._bound(len(held))
            yield scans

    def _index(
        self, one: apsw.Connection, generation: Generation, shelf: int, version: int, rows: int
    ) -> ann.Opened | None:
        return self._indexes.usable(one, generation, shelf, version) if rows > ann.LEAST_ROWS else None

    def _forget(self, one: apsw.Connection, generation: Generation) -> None:
        """Lets go of generations that nobody reads any more."""
        if all(key[0] == generation.id for key in list(self._held)):
            return
        living = {id for (id,) in one.execute("SELECT id FROM generations WHERE state <> 'retired'")}
        with self._lock:
            self._held = {key: held for key, held in self._held.items() if key[0] in living}

    def _hold(
        self, schema: int | None, generation: Generation, shelves: Sequence[tuple[int, ann.Opened | None]]
    ) -> list[_Held]:
        with self._lock:
            if schema != self._schema:
                self._schema, self._held = schema, {}
            held = []
            for shelf, index in shelves:
                key, since = (generation.id, shelf, index is not None), index.note.version if index else 0
                known = self._held.pop(key, None)
                fits = known is not None and known.since == since
                self._held[key] = known if known and fits else _Held(generation.dimension, since)
                self._held[key].used = time.monotonic()
                held.append(self._held[key])
                self._one_is_enough(key)
            return held

    def _one_is_enough(self, key: tuple[int, int, bool]) -> None:
        """A shelf is held in whole or beside its index; both only as long as both are asked for."""
        other = (*key[:2], not key[2])
        if other in self._held and time.monotonic() - self._held[other].used > UNUSED:
            del self._held[other]

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
        held.version = held.since  # whatever stopped us, the next one reads everything
        held.scan.clear()
        if isinstance(problem, ValueError | TypeError):  # sizes that do not fit each other
            raise StoreDamaged(DAMAGED) from problem
        raise
    held.version = version
    return held.scan


def _blocks(one: apsw.Connection, generation: Generation, shelf: int, after: int) -> Iterator[Block]:
    sql = "SELECT block, rows, codes FROM vectors WHERE generation = ? AND shelf = ? AND version > ?"
    return (Block(*row) for row in one.execute(sql, (generation.id, shelf, after)))
