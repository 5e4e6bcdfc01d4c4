"""Word to those who listen: the events of a memory, after the fact.

`memory.bus.listen(function, "memory:write")` calls a function for what is read, written and searched through any verb of this
process; other processes are followed by the journal and the recall log (`memorist log --follow`).
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memorist.access import Access

log = logging.getLogger("memorist")
Listener = Callable[[str, Mapping[str, Any]], None]
Place = tuple[str, str | None]  # a scope and its home
Heard = tuple[str | None, Listener, Callable[[], Access]]


class Bus:
    """Calls plain functions after the fact, in the caller's thread, for `memory:write`, `memory:read` and `memory:search`.

    A listener that fails never fails the verb that woke it: the change is stored by then. Its error is logged, not hidden.
    All views of a memory speak on one bus, and each hears only of places that its access may read.
    """

    def __init__(self, who: Callable[[], Access], listeners: "list[Heard] | None" = None) -> None:
        self._who = who
        self._listeners: list[Heard] = [] if listeners is None else listeners

    def seen_by(self, who: Callable[[], Access]) -> "Bus":
        """The same bus for another view."""
        return Bus(who, self._listeners)

    @property
    def is_heard(self) -> bool:
        return bool(self._listeners)

    def listen(self, listener: Listener, event: str | None = None) -> Callable[[], None]:
        """Calls `listener(event, facts)` for every event, or for the named one; returns a function that stops it."""
        entry = (event, listener, self._who)
        self._listeners.append(entry)
        return lambda: self._listeners.remove(entry) if entry in self._listeners else None

    def emit(self, event: str, places: Sequence[Place], **facts: Any) -> None:
        """Tells those who may read all these places, and whoever did it."""
        for wanted, listener, who in tuple(self._listeners):
            if wanted in (None, event) and (who() == self._who() or all(who().may_read(*place) for place in places)):
                try:
                    listener(event, facts)
                except Exception:
                    log.exception("a listener for %s failed; the memory itself is fine", event)
