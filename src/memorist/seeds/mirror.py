"""A tier beside a backend of the caller's own: any object that has the seven verbs of the founding document.

What the backend holds and the tier never had is imported when the tier is made: as candidates, since nobody here has seen it,
whoever opens it. From then on it is told what was kept, exactly as it was stored, and what was let go by these verbs; what the
gate refuses or redacts never reaches it. Questions are answered by the memory alone. What is to be gone must be erased in both.
"""

from dataclasses import replace
from typing import Any

from memorist.errors import Invalid
from memorist.memory import Memory
from memorist.records import LIVING, Outcome, Record
from memorist.seeds.items import EVERYTHING, ContextItem, Items, ids_of, item_of

VERBS = ("add", "query", "get", "delete", "list_all", "clear", "count")


class Mirrored(Items):
    """The items of one scope, and a backend that is kept in step."""

    def __init__(self, memory: Memory, scope: str, backend: Any) -> None:
        super().__init__(memory.through(replace(memory.access, origin="import")), scope)
        if not all(callable(getattr(backend, verb, None)) for verb in VERBS):
            raise Invalid(f"a backend has {', '.join(VERBS)}; {type(backend).__name__} has not all of them")
        self._backend = backend
        had = memory.list({"scope": scope, "state": {"$in": list(LIVING)}}, limit=EVERYTHING)
        known = {id for record in had for id in (record.id, *ids_of(record))}
        found = map(item_of, backend.list_all())
        self.add_all({item.id: item for item in found if item.id and item.id not in known})
        self._memory = memory

    def clear(self) -> bool:
        cleared = super().clear()
        if cleared:
            self._backend.clear()
        return cleared

    def enforce_retention(self, max_items: int) -> int:
        gone = super().enforce_retention(max_items)
        here = {item.id for item in self.list_all()} if gone else set()
        for item in map(item_of, self._backend.list_all()) if gone else ():
            if item.id not in here:
                self._backend.delete(item.id)
        return gone

    def _settled(self, item: ContextItem, outcome: Outcome, known: Record | None) -> Record | None:
        record = super()._settled(item, outcome, known)
        if record is not None:
            self._backend.add(self._item(record, item.id))
        return record

    def _let_go(self, record: Record, item_id: str, because: str) -> bool:
        gone = super()._let_go(record, item_id, because)
        if gone:
            self._backend.delete(item_id)
        return gone
