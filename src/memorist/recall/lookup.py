"""Reading without a query: resolving a reference to one memory, the timeline, and the journal as far as the caller may see it.

A reference is a full id, a short number, or a unique prefix or suffix of an id. Only memories that the caller may read are
considered, so an error never names a memory of another project.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import islice

from memorist.errors import Ambiguous, Invalid, NotFound
from memorist.records import Event, Moment, Record, Reference, utc
from memorist.store.journal import EVENTS_AT_ONCE
from memorist.store.protocol import Store
from memorist.store.where import Order, Where, everywhere
from memorist.store.writer import SALT
from memorist.text.visible import visible

SHORTEST = 4  # characters of a partial id; shorter ones match too many
ID_LENGTH = 27  # characters
Place = tuple[str, str | None]  # a scope and its home
MOVED = {"scope", "home"}  # what an event that moved a memory has changed


def resolve(reference: str | int, store: Store, where: Where) -> Record:
    """The one memory that `reference` means; otherwise an error, which lists the candidates if there are several."""
    wanted = written(reference)
    records = store.get([wanted], where)
    if not records and wanted.isdecimal():
        records = store.find(where.also("number", "eq", int(wanted) if len(wanted) < 19 else 0), Order("number"), 1)
    elif not records and len(wanted) >= SHORTEST:
        begins = where.also("id", "gte", wanted).also(
            "id", "lt", wanted + "\x7f"
        )  # ids consist of letters and digits only
        ends = where.also("id", "ends", wanted)
        records = store.find(begins, Order("number"), 6) or store.find(ends, Order("number"), 6)
    if not records:
        raise _unknown(wanted)
    if len(records) > 1:
        names = "; ".join(f"{r.id} [id:{r.number}] {visible(r.text[:40])!r}" for r in records[:5])
        raise Ambiguous(f"{wanted!r} fits several memories: {names}; use more of the id, or the number")
    return records[0]


def written(reference: str | int) -> str:
    """The reference in the form in which it is looked up: a number or (part of) an id, without the `[id:…]` around it. An error
    if it cannot be one."""
    try:
        wanted = str(reference).strip().lower().removeprefix("[").removeprefix("id:").removesuffix("]")
    except ValueError:  # more digits than Python is willing to print
        wanted = ""
    if len(wanted) > ID_LENGTH or not (wanted.isascii() and wanted.isalnum()):
        raise _unknown(wanted)
    return wanted


def _unknown(wanted: str) -> NotFound:
    return NotFound(f"no memory {visible(wanted[:60])!r} is readable here; `list` shows what is")


def when(around: Reference | date | None, find: Callable[[Reference], Record]) -> Moment | None:
    """The time that `around` means: itself if it is a time, otherwise the time of the memory it refers to."""
    if around is None or isinstance(around, date) or (isinstance(around, str) and "-" in around):  # ids have no hyphen
        return around
    try:
        return find(around).times.at
    except (Invalid, NotFound) as problem:
        raise type(problem)(f"{problem}; a time is a datetime, a date, or a text such as '2026-05-01'") from problem


def timeline(around: Moment | None, limit: int, where: Where, store: Store) -> list[Record]:
    """Records in the order in which they happened: half before and half after the moment, or the latest if there is none."""
    if around is None:
        return store.find(where, Order("at"), limit)[::-1]
    moment = utc(around, "around")
    after = store.find(where.also("at", "gte", moment), Order("at", ascending=True), limit)
    before = store.find(where.also("at", "lt", moment), Order("at"), limit)
    early = before[: max(limit // 2, limit - len(after))][::-1]
    return [*early, *after[: limit - len(early)]]


# ---------------------------------------------------------------- the journal


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events to return; None or an empty tuple does not restrict."""

    since: datetime | None = None
    until: datetime | None = None
    actor: str | None = None
    surface: str | None = None
    verbs: tuple[str, ...] = ()
    scope: str | None = None  # where the memory lay at the time of the event
    record: str | None = None  # the id of the memory
    numbers: range = range(sys.maxsize)

    def fits(self, event: Event, place: Place) -> bool:
        return (
            self.actor in (None, event.actor)
            and self.surface in (None, event.surface)
            and self.scope in (None, place[0])
            and (not self.verbs or event.verb in self.verbs)
            and (self.since is None or event.at >= self.since)
            and (self.until is None or event.at < self.until)
        )


def journal(wanted: Wanted, limit: int | None, store: Store, where: Where) -> list[Event]:
    """The last `limit` wanted events that this access may see, oldest first. Left out are what a link says about a memory that
    may not be read, and the salt of a digest."""
    with store.moment():  # so that the memories and their events are read as of the same moment
        events = list(islice(_read_backwards(wanted, store, where), limit))[::-1]
        others = {event.before["other"] for event in events if event.before and "other" in event.before}
        hidden = others - {record.id for record in store.get(list(others), where)} if others else others
    for place, event in enumerate(events):
        told = None
        if event.before is not None and event.before.get("other") not in hidden:
            told = {name: value for name, value in event.before.items() if name != SALT}
        events[place] = replace(event, before=told)
    return events


def _read_backwards(wanted: Wanted, store: Store, where: Where) -> Iterator[Event]:
    """All wanted events that this access may see, newest first.

    An event is left out if its memory lay where the access may not read at the time; the event that moved it to a readable
    place is shown without its previous state. So later events than the wanted ones are read too if they are moves. Reading
    stops once a whole batch is older than `since`: a clock may have been set back for a few events, but hardly for hundreds."""
    may_read, places = where.access.may_read, dict[str, Place]()  # where each memory lay right after the event
    numbers, record, before = wanted.numbers, wanted.record, None
    head = store.head() if record is None else None
    size = EVENTS_AT_ONCE if head is None else min(max(head.last + 1 - numbers.start, 0), EVENTS_AT_ONCE)
    while events := store.journal(record=record, before=before, limit=size):
        relevant = [
            event
            for event in reversed(events)
            if event.seq in numbers or (event.seq >= numbers.stop and MOVED & (event.before or {}).keys())
        ]
        new = [id for id in dict.fromkeys(event.record for event in relevant) if id not in places]
        for each in store.get(new, everywhere(where.access.space)) if new else ():
            places[each.id] = each.scope, each.home
        for event in relevant:
            if (place := places.get(event.record)) is None:
                continue
            changed = event.before or {}
            earlier = changed.get("scope", place[0]), changed.get("home") or place[1]  # no home: nobody else owned it
            places[event.record] = earlier
            if event.seq in numbers and may_read(*place) and wanted.fits(event, place):
                yield event if may_read(*earlier) else replace(event, before=None)
        before = events[0].seq
        if before <= numbers.start or (wanted.since and max(event.at for event in events) < wanted.since):
            return
