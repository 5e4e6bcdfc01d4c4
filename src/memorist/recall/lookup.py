"""Reading without a query: resolving a reference to one memory, the timeline, and the journal as far as the caller may see it.

A reference is a full id, a short number, or a unique prefix or suffix of an id. Only memories that the caller may read are
considered, so an error never names a memory of another project.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
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


def resolve(reference: str | int, store: Store, where: Where) -> Record:
    """The one memory that `reference` means; otherwise an error, which lists the candidates if there are several."""
    wanted = written(reference)
    found = _candidates(wanted, store, where) if may_be_id(wanted) else []
    if not found:
        raise unknown(wanted)
    if len(found) > 1:
        names = "; ".join(f"{r.id} [id:{r.number}] {visible(r.text[:40])!r}" for r in found[:5])
        raise Ambiguous(f"{wanted!r} fits several memories: {names}; use more of the id, or the number")
    return found[0]


def written(reference: str | int) -> str:
    """The reference in the form in which it is looked up: a number or (part of) an id, without the `[id:…]` around it."""
    try:
        return str(reference).strip().lower().removeprefix("[").removeprefix("id:").removesuffix("]")
    except ValueError:  # more digits than Python is willing to print
        return ""


def may_be_id(wanted: str) -> bool:
    """Whether this could be an id or part of one."""
    return len(wanted) <= ID_LENGTH and wanted.isascii() and wanted.isalnum()


def unknown(wanted: str) -> NotFound:
    return NotFound(f"no memory {visible(wanted[:60])!r} is readable here; `list` shows what is")


def _candidates(wanted: str, store: Store, where: Where) -> list[Record]:
    found = store.get([wanted], where)
    if found or not (wanted.isdecimal() or len(wanted) >= SHORTEST):
        return found
    if wanted.isdecimal():
        return store.find(where.also("number", "eq", int(wanted) if len(wanted) < 19 else 0), Order("number"), 1)
    begins = where.also("id", "gte", wanted).also("id", "lt", wanted + "\x7f")  # ids consist of letters and digits only
    return store.find(begins, Order("number"), 6) or store.find(where.also("id", "ends", wanted), Order("number"), 6)


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

    def fits(self, event: Event, place: Place) -> bool:
        equal = ((self.actor, event.actor), (self.surface, event.surface), (self.scope, place[0]))
        return (
            all(asked in (None, given) for asked, given in equal)
            and (not self.verbs or event.verb in self.verbs)
            and (self.since is None or event.at >= self.since)
            and (self.until is None or event.at < self.until)
        )


def told(record: Record, store: Store, where: Where) -> list[Event]:
    """The journal of one memory, oldest first, as far as this access may see it."""
    seer = Seer(where, Wanted(), {record.id: (record.scope, record.home)})
    events = seer.of(reversed(store.journal(record=record.id)))
    return _without_hidden([*events][::-1], store, where)


def journal(wanted: Wanted, of: Record | None, among: range, limit: int, store: Store, where: Where) -> list[Event]:
    """The last `limit` wanted events that this access may see, oldest first: of one memory or of all, with numbers in `among`."""
    with store.moment():  # so that the memories and their events are read as of the same moment
        found = list(islice(_backwards(wanted, None if of is None else of.id, among, store, where), limit))
        return _without_hidden(found[::-1], store, where)


def _most(record: str | None, first: int, store: Store) -> int:
    """How many events to read at once. For all records: no more than exist from `first` on, since events are numbered without
    gaps."""
    head = store.head() if record is None else None
    return EVENTS_AT_ONCE if head is None else min(max(head.last + 1 - first, 0), EVENTS_AT_ONCE)


def _backwards(wanted: Wanted, record: str | None, among: range, store: Store, where: Where) -> Iterator[Event]:
    """All wanted events, newest first. It stops once a whole batch is older than `since`: a clock may have been set back for a
    few events, but hardly for hundreds. Of events after `among`, it looks only at moves, to know where a memory lay before."""
    seer, before, most = Seer(where, wanted, {}), None, _most(record, among.start, store)
    while events := store.journal(record=record, before=before, limit=most):
        told = [event for event in reversed(events) if _matters(event, among)]
        seer.look_up([event.record for event in told], store)
        yield from filter(lambda event: event.seq in among, seer.of(told))
        before = events[0].seq
        if before <= among.start or (wanted.since and max(event.at for event in events) < wanted.since):
            return


def _matters(event: Event, among: range) -> bool:
    if event.seq >= among.stop:
        return event.before is not None and ("scope" in event.before or "home" in event.before)
    return event.seq in among


@dataclass(frozen=True, slots=True)
class Seer:
    """What an access may see of events, given newest first. Events are left out if the memory lay where the access may not
    read at the time; the event that moved it to a readable place is shown without its previous state."""

    where: Where
    wanted: Wanted
    places: dict[str, Place]  # where each memory lay right after the next event to be looked at

    def look_up(self, ids: Iterable[str], store: Store) -> None:
        """Looks up where those memories lie today, unless already known."""
        new = [id for id in dict.fromkeys(ids) if id not in self.places]
        for record in store.get(new, everywhere(self.where.access.space)) if new else ():
            self.places[record.id] = record.scope, record.home

    def of(self, events: Iterable[Event]) -> Iterator[Event]:
        may_read = self.where.access.may_read
        for event in events:
            place = self.places.get(event.record)
            if place is None:
                continue
            before = event.before or {}
            was = before.get("scope", place[0]), before.get("home") or place[1]  # no home: nobody else owned it
            self.places[event.record] = was
            if may_read(*place) and self.wanted.fits(event, place):
                yield event if may_read(*was) else replace(event, before=None)


def _without_hidden(events: Sequence[Event], store: Store, where: Where) -> list[Event]:
    """The events without what a link says about a memory that may not be read."""
    others = {event.before["other"] for event in events if event.before and "other" in event.before}
    hidden = others - {record.id for record in store.get(list(others), where)} if others else others
    return [_shown(event, hidden) for event in events]


def _shown(event: Event, hidden: Set[str]) -> Event:
    """The event without what it says about hidden memories, and without the salt of its digest, which means nothing to a
    reader."""
    if event.before is None or event.before.get("other") in hidden:
        return replace(event, before=None)
    return replace(event, before={name: value for name, value in event.before.items() if name != SALT})
