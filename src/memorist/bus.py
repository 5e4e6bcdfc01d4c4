"""Events for programs that watch: plain functions called in the caller's thread, after the fact.

Names are `memory:write`, `memory:read`, `memory:search`. A listener that fails never fails the verb that woke it: the
change is stored by then. Its error is logged, not hidden.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any

EVENTS = ("memory:write", "memory:read", "memory:search")
Listener = Callable[[str, Mapping[str, Any]], None]
log = logging.getLogger("memorist")


class Bus:
    def __init__(self) -> None:
        self._listeners: list[tuple[str | None, Listener]] = []

    def listen(self, listener: Listener, event: str | None = None) -> Callable[[], None]:
        """Calls `listener(event, facts)` for every event, or for the named one; returns a function that stops it."""
        entry = (event, listener)
        self._listeners.append(entry)
        return lambda: self._listeners.remove(entry) if entry in self._listeners else None

    def emit(self, event: str, **facts: Any) -> None:
        for wanted, listener in tuple(self._listeners):
            if wanted in (None, event):
                try:
                    listener(event, facts)
                except Exception:
                    log.exception("a listener for %s failed; the memory itself is fine", event)
