"""Which shelf has which number in an SQLite store.

Shelves are only ever added, so what was once seen committed stays true and is kept. What is seen inside a transaction is
not kept: if it is rolled back, the number may be given to another scope, and a stale entry would show one project's
memories to another. For the same reason everything is forgotten when the file's content was replaced by a backup, which
SQLite tells by the version of the schema. What is seen is one value: other threads may be reading it.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from memorist.access import Access
from memorist.store.connection import Connections
from memorist.store.protocol import Shelf


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen committed while the schema had this version."""

    schema: int | None = None
    newest: int = 0
    shelves: Mapping[int, Shelf] = field(default_factory=dict)
    ids: Mapping[Shelf, int] = field(default_factory=dict)


class Shelves:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._seen = Seen()
        self._lists: dict[tuple[object, ...], str] = {}

    def look(self) -> Seen:
        """What is known, nothing if the file was replaced; before every question to the store."""
        schema: int = self._connections.here().execute("PRAGMA schema_version").get
        if schema != self._seen.schema:
            self._seen = Seen(schema)
        return self._seen

    def all(self) -> Mapping[int, Shelf]:
        """Every shelf that this thread can see now."""
        seen, one = self.look(), self._connections.here()
        rows = one.execute("SELECT id, space, scope, layer FROM shelves WHERE id > ?", (seen.newest,))
        fresh = {id: Shelf(*names) for id, *names in rows}
        if not fresh:
            return seen.shelves
        shelves = {**seen.shelves, **fresh}
        if not one.in_transaction:
            self._seen = Seen(seen.schema, max(shelves), shelves, {shelf: id for id, shelf in shelves.items()})
        return shelves

    def ids(self, wanted: Iterable[Shelf]) -> dict[Shelf, int]:
        """The numbers of those that exist."""
        shelves = self.all()
        seen = self._seen
        if len(shelves) == len(seen.shelves):
            return {shelf: seen.ids[shelf] for shelf in wanted if shelf in seen.ids}
        numbers = {shelf: id for id, shelf in shelves.items()}
        return {shelf: numbers[shelf] for shelf in wanted if shelf in numbers}

    def id_of(self, shelf: Shelf) -> int:
        """The shelf's number; a missing shelf is made. Only inside a transaction."""
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
        shelves, seen = self.all(), self._seen
        key = (access.space, access.reads, seen.schema, len(shelves))
        if shelves is not seen.shelves:  # inside a transaction that added some: not to be kept
            return _readable(shelves, access)
        if key not in self._lists:
            self._lists = {**self._lists, key: _readable(shelves, access)} if len(self._lists) < 100 else {}
        return self._lists.get(key) or _readable(shelves, access)


def _readable(shelves: Mapping[int, Shelf], access: Access) -> str:
    return json.dumps([id for id, s in shelves.items() if s.space == access.space and access.may_read(s.scope)])
