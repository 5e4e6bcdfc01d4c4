"""Reading without a question: the one memory that is meant, a timeline, and the journal as an access may see it.

A memory is meant by its full id, its short number, or a unique beginning or end of the id. Only what the caller may read is
looked at, so an error never names a memory of another project.
"""

from collections.abc import Sequence, Set
from dataclasses import replace
from datetime import datetime

from memorist.errors import Ambiguous, NotFound
from memorist.records import Event, Record, utc
from memorist.store.protocol import Store
from memorist.store.where import Order, Where
from memorist.store.writer import SALT
from memorist.text.visible import visible

SHORTEST = 4  # characters of an id that can be meant; fewer fit too much
ID_LENGTH = 27  # characters


def resolve(reference: str | int, store: Store, where: Where) -> Record:
    """The one memory that is meant, or an error that names the candidates."""
    wanted = _written(reference).removeprefix("[id:").removesuffix("]")
    found = _candidates(wanted, store, where) if len(wanted) <= ID_LENGTH else []
    if not found:
        raise NotFound(f"no memory {visible(wanted[:60])!r} is readable here; `list` shows what is")
    if len(found) > 1:
        names = "; ".join(f"{r.id} [id:{r.number}] {visible(r.text[:40])!r}" for r in found[:5])
        raise Ambiguous(f"{wanted!r} fits several memories: {names}; use more of the id, or the number")
    return found[0]


def _written(reference: str | int) -> str:
    try:
        return "" if isinstance(reference, bool) else str(reference).strip().lower()
    except ValueError:  # a number of more digits than Python writes out
        return ""


def _candidates(wanted: str, store: Store, where: Where) -> list[Record]:
    if not wanted.isascii() or not wanted.isalnum():
        return []
    found = store.get([wanted], where)
    if found or not (wanted.isdecimal() or len(wanted) >= SHORTEST):
        return found
    if wanted.isdecimal():
        return store.find(where.also("number", "eq", int(wanted) if len(wanted) < 19 else 0), Order("number"), 1)
    begins = where.also("id", "gte", wanted).also("id", "lt", wanted + "\x7f")  # ids are letters and digits
    return store.find(begins, Order("number"), 6) or store.find(where.also("id", "ends", wanted), Order("number"), 6)


def timeline(around: datetime | None, limit: int, where: Where, store: Store) -> list[Record]:
    """Records in the order in which they happened, half before and half after the moment; the latest without one."""
    if around is None:
        return store.find(where, Order("at"), limit)[::-1]
    moment = utc(around, "around")
    after = store.find(where.also("at", "gte", moment), Order("at", ascending=True), limit)
    before = store.find(where.also("at", "lt", moment), Order("at"), limit)
    early = before[: max(limit // 2, limit - len(after))][::-1]
    return [*early, *after[: limit - len(early)]]


def told(record: Record, store: Store, where: Where) -> list[Event]:
    """The journal of a memory as this access may see it. What happened while it lay where the access may not read is left
    out, and so is what a link said about a memory that it may not read."""
    events = _since_readable(store.journal(record=record.id), record, where)
    others = {event.before["other"] for event in events if event.before and "other" in event.before}
    hidden = others - {record.id for record in store.get(list(others), where)}
    return [_shown(event, hidden) for event in events]


def _shown(event: Event, hidden: Set[str]) -> Event:
    """The event without what it says about those; and without the salt of its digest, which tells nobody anything."""
    if event.before is None or event.before.get("other") in hidden:
        return replace(event, before=None)
    return replace(event, before={name: value for name, value in event.before.items() if name != SALT})


def _since_readable(events: Sequence[Event], record: Record, where: Where) -> list[Event]:
    """The events while it lay in places that may be read, oldest first; of the one that brought it there, not what it was."""
    seen, scope, home = list[Event](), record.scope, record.home
    for event in reversed(events):
        here = where.access.may_read(scope, home)
        before = event.before or {}
        scope, home = before.get("scope", scope), before.get("home") or home  # before it had one it was nobody else's
        if here:
            arrived = not where.access.may_read(scope, home)
            seen.append(replace(event, before=None) if arrived else event)
    return seen[::-1]
