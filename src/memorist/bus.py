"""Word to those who listen: the events of a memory, after the fact.

    memory:read     {type, path, size}            a memory was loaded, or a text for a prompt
    memory:write    {type, path, delta}           a memory was added or changed
    memory:search   {query, results}              a question was answered
    memory:flush    {sessionId}                   a session saved its lasting notes
    memory:compact  {sessionId, before, after}    a session's past became a summary; both in tokens

`type` is what the founding document calls the memory: working, episodic, long-term, extracted, task or source. `path` is where it
lies: its scope and its id. `size` and `delta` are characters: those of its text, and how many of them are in use more than before,
or below zero fewer. Facts of our own stand beside these: id, kind, scope, outcome, because, ids.

Every surface works through the verbs of `Memory`, so all of them tell. Other processes are followed by the journal and the recall
log, which have the same (`memorist log --follow`).
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from memorist.access import Access
from memorist.kinds import DOCUMENTS, KINDS, TURNS
from memorist.records import Event, Record

EXTRACTED = ("file", "import")  # origins of what was taken out of files
log = logging.getLogger("memorist")
Listener = Callable[[str, Mapping[str, Any]], None]
Place = tuple[str, str | None]  # a scope and its home
Heard = tuple[str | None, Listener, Callable[[], Access]]


class Bus:
    """Calls plain functions after the fact, in the caller's thread, for the events named above.

    A listener that fails never fails the verb that woke it: the change is stored by then. Its error is logged, not hidden.
    All views of a memory speak on one bus, and each hears only of places that its access may read.
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
        """Tells those who may read all these places, and whoever did it."""
        for wanted, listener, who in tuple(self._listeners):
            if wanted in (None, event) and (who() == self._who() or all(who().may_read(*place) for place in places)):
                try:
                    listener(event, facts)
                except Exception:
                    log.exception("a listener for %s failed; the memory itself is fine", event)


# ---------------------------------------------------------------- what an event says of a memory


def type_of(record: Record) -> str:
    """What the founding document calls such a memory."""
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
    """What is told of a memory that was changed by these events of one batch, oldest first. `past` gives a text that was
    replaced, by the id of the record that keeps it."""
    was = _before(record, events, past)
    delta = _in_use(record.text, record.state) - _in_use(*was)
    return {"type": type_of(record), "path": path_of(record), "delta": delta} | _facts(record)


def _facts(record: Record) -> dict[str, Any]:
    return {"id": record.id, "kind": record.kind, "scope": record.scope}


def _before(record: Record, events: Iterable[Event], past: Callable[[str], str]) -> tuple[str, str]:
    """Its text and state before the first of these events."""
    text, state = record.text, record.state
    for event in reversed(list(events)):
        if event.before is None:
            return "", state
        text = past(event.before["superseded"]) if "superseded" in event.before else event.before.get("text", text)
        state = event.before.get("state", state)
    return text, state


def _in_use(text: str, state: str) -> int:
    return len(text) if state == "active" else 0
