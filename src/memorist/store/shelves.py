"""Which shelf has which number in an SQLite store.

Shelves are only ever added, so what was once seen committed stays true and is kept. What is seen inside a transaction is
not kept: if it is rolled back, the number may be given to another scope, and a stale entry would show one project's
memories to another. For the same reason everything is forgotten when the file's content was replaced by a backup, which
SQLite tells by the version of the schema. What is seen is one value: other threads may be reading it.
"""

import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import apsw

from memorist.access import Access
from memorist.store.connection import Connections
from memorist.store.nouns import Shelf


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen committed while the schema had this version."""

    schema: int | None = None
    newest: int = 0
    shelves: Mapping[int, Shelf] = field(default_factory=dict)
    ids: Mapping[Shelf, int] = field(default_factory=dict)


class _Here(threading.local):
    """What this thread saw in the moment that it reads."""

    moment: Seen | None = None
    reading = False


class Shelves:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._seen = Seen()
        self._lists: dict[tuple[object, ...], str] = {}
        self._here = _Here()

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Around what reads one moment: one look serves all of it, until this thread writes."""
        if self._here.reading:
            yield
            return
        self._here.reading = True
        try:
            yield
        finally:
            self._here.moment, self._here.reading = None, False

    def look(self) -> Seen:
        """What is known, nothing if the file was replaced; before every question to the store."""
        schema: int = self._connections.here().execute("PRAGMA schema_version").get
        seen = self._seen
        if schema != seen.schema:
            seen = self._seen = Seen(schema)
        return seen

    def now(self) -> Seen:
        """Every shelf that this thread can see now."""
        one, here = self._connections.here(), self._here
        reading = here.reading and one.txn_state("main") == apsw.SQLITE_TXN_READ
        if reading and here.moment is not None:
            return here.moment
        seen = self._with_fresh(self.look(), one)
        if reading:
            here.moment = seen
        return seen

    def _with_fresh(self, seen: Seen, one: apsw.Connection) -> Seen:
        rows = one.execute("SELECT id, space, scope, layer FROM shelves WHERE id > ?", (seen.newest,))
        fresh = {id: Shelf(*names) for id, *names in rows}
        if not fresh:
            return seen
        shelves = {**seen.shelves, **fresh}
        seen = Seen(seen.schema, max(shelves), shelves, {shelf: id for id, shelf in shelves.items()})
        if not one.in_transaction:
            self._seen = seen
        return seen

    def all(self) -> Mapping[int, Shelf]:
        return self.now().shelves

    def ids(self, wanted: Iterable[Shelf]) -> dict[Shelf, int]:
        """The numbers of those that exist."""
        known = self.now().ids
        return {shelf: known[shelf] for shelf in wanted if shelf in known}

    def id_of(self, shelf: Shelf) -> int:
        """The shelf's number; a missing shelf is made. Only inside a transaction."""
        self._here.moment = None  # whatever becomes of this write, what comes after it is looked at anew
        known = self.look().ids.get(shelf)
        if known is not None:
            return known
        one = self._connections.here()
        names = (shelf.space, shelf.scope, shelf.layer)
        found: int | None = one.execute("SELECT id FROM shelves WHERE (space, scope, layer) = (?, ?, ?)", names).get
        if found is None:
            one.execute("INSERT INTO shelves (space, scope, layer) VALUES (?, ?, ?)", names)
            found = one.last_insert_rowid()
        return found

    def readable(self, access: Access) -> str:
        """The numbers of all shelves this access may read, as JSON to bind."""
        seen = self.now()
        key = (access.space, access.reads, seen.schema, len(seen.shelves))
        if seen is not self._seen:  # inside a transaction that added some: not to be kept
            return _readable(seen.shelves, access)
        if key not in self._lists:
            self._lists = {**self._lists, key: _readable(seen.shelves, access)} if len(self._lists) < 100 else {}
        return self._lists.get(key) or _readable(seen.shelves, access)


def _readable(shelves: Mapping[int, Shelf], access: Access) -> str:
    return json.dumps([id for id, s in shelves.items() if s.space == access.space and access.may_read(s.scope)])
