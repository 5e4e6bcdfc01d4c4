"""The event bus of a memory: listeners are called after something has happened.

    memory:read     {type, path, size}            a memory was loaded, or a text for a prompt
    memory:write    {type, path, delta}           a memory was added or changed
    memory:search   {query, results}              a query was answered
    memory:flush    {sessionId}                   a session saved its lasting notes
    memory:compact  {sessionId, before, after}    a session's past became a summary; both in tokens

`type` is what the founding document calls the memory: working, episodic, long-term, extracted, task or source. `path` is
its scope and its id. `size` is the length of its text in characters. `delta` is the change in the number of characters in
use; it is negative if there are fewer now. Facts of our own stand beside these: id, kind, scope, outcome, because, ids.

Every surface works through the verbs of `Memory`, so all of them emit these events. To follow other processes, read the
journal and the recall log, which hold the same facts (`memorist log --follow`).
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from memorist.access import Access
from memorist.kinds import DOCUMENTS, KINDS, TURNS
from memorist.records import Event, Record

EXTRACTED = ("file", "import")  # origins of memories extracted from files
log = logging.getLogger("memorist")
Listener = Callable[[str, Mapping[str, Any]], None]
Place = tuple[str, str | None]  # a scope and its home
Heard = tuple[str | None, Listener, Callable[[], Access]]


class Bus:
    """Calls listeners, which are plain functions, in the caller's thread after the events listed above.

    A listener that fails never makes the verb fail, because the change is stored by then. Its error is logged. All
    views of a memory share one bus, and each view hears only of places that its access may read.
    """

    def __init__(self, who: Callable[[], Access], listeners: "list[Heard] | None" = None) -> None:
        self._who = who
        self._listeners: list[Heard] = [] if listeners is None else listeners

    def seen_by(self, who: Callable[[], Access]) -> "Bus":
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
        """Calls the listeners that may read all these places, and those of the view that emitted the event."""
        for wanted, listener, who in tuple(self._listeners):
            if wanted in (None, event) and (who() == self._who() or all(who().may_read(*place) for place in places)):
                try:
                    listener(event, facts)
                except Exception:
                    log.exception("a listener for %s failed; the memory itself is fine", event)


# ---------------------------------------------------------------- what an event says of a memory


def type_of(record: Record) -> str:
    """What the founding document calls a memory like this."""
    layer = KINDS[record.kind].layer
    if layer in (TURNS, DOCUMENTS):
        return "episodic" if layer == TURNS else "source"
    if record.kind == "task":
        return "task"
    return "extracted" if record.origin in EXTRACTED else "long-term"


def path_of(record: Record) -> str:
    return f"{record.scope}/{record.id}"


def read(record: Record) -> dict[str, Any]:
    return {"type": type_of(record), "path": path_of(record), "size": len(record.text)} | _facts(record)


def written(record: Record, events: Iterable[Event], past: Callable[[str], str]) -> dict[str, Any]:
    """The facts of a write event: a memory and the journal events of one batch that changed it, oldest first. `past`
    returns a replaced text by the id of the record that keeps it."""
    was = _before(record, events, past)
    delta = _in_use(record.text, record.state) - _in_use(*was)
    return {"type": type_of(record), "path": path_of(record), "delta": delta} | _facts(record)


def _facts(record: Record) -> dict[str, Any]:
    return {"id": record.id, "kind": record.kind, "scope": record.scope}


def _before(record: Record, events: Iterable[Event], past: Callable[[str], str]) -> tuple[str, str]:
    """The text and state it had before the first of these events."""
    text, state = record.text, record.state
    for event in reversed(list(events)):
        if event.before is None:
            return "", state
        text = past(event.before["superseded"]) if "superseded" in event.before else event.before.get("text", text)
        state = event.before.get("state", state)
    return text, state


def _in_use(text: str, state: str) -> int:
    return len(text) if state == "active" else 0
