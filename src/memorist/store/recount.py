"""Recounts votes, uses and links from the journal.

Counters and links have tables of their own, so that a query need not read the journal; but only the journal says what they
should be. An event that changed counters has their old values, and under `now` the new ones; an event about a link has both
too. So the tables can be compared with the journal, and rebuilt from it. Three things are unknown and therefore never reported
as wrong: how often a memory was shown (not journalled), what a memory whose past text was erased had before (its journal was
emptied), and, for events written by 0.1.0, when a memory was last used and what an undo restored.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from memorist.lazy import dataclass
from memorist.records import Counters, Event, Link, Record, from_micros, to_micros
from memorist.store.nouns import COUNTERS, UNCOUNTED, Commit, Counted, Sealed, event_mac
from memorist.store.where import everywhere

if TYPE_CHECKING:
    from memorist.store.protocol import Store

JOURNALLED = tuple(name for name in COUNTERS if name != "surfaced")
UNKNOWN: Any = ...  # a value that the journal does not contain
NOTHING: Mapping[str, Any] = {**dict.fromkeys(JOURNALLED, 0), "last_used": None}  # the values if nothing was counted
VERDICTS = {"useful": ("up", "used"), "wrong": ("down",), "irrelevant": ("rejected",)}  # what each of them raises

Ends = tuple[str, str]  # the other end of a link, and its kind
Linked = dict[Ends, Link]


@dataclass(slots=True)
class Told:
    """The state of each record according to the events so far: its counters, and the links from it."""

    counts: dict[str, dict[str, Any]] = field(default_factory=dict)
    links: dict[str, Linked] = field(default_factory=dict)
    vague: set[str] = field(default_factory=set)  # their earlier state is unknown

    def take(self, event: Event) -> None:
        if event.verb == "past erased":
            self.counts[event.record] = dict.fromkeys(NOTHING, UNKNOWN)
            self.links.pop(event.record, None)
            self.vague.add(event.record)
        elif event.before:
            self._count(event, event.before)
            self._link(event.record, event.before)

    def _count(self, event: Event, before: Mapping[str, Any]) -> None:
        changed = before.keys() & NOTHING.keys()
        if not changed:
            return
        now = before.get("now")
        if not isinstance(now, Mapping):
            now = {name: _later(name, before[name], event) for name in changed}
        self.counts.setdefault(event.record, {}).update({name: now.get(name, UNKNOWN) for name in changed})

    def _link(self, a: str, before: Mapping[str, Any]) -> None:
        if "superseded" in before:
            self._put(Link(a, before["superseded"], "supersedes"))
        if "other" in before:
            was, now = (told and Link(a, before["other"], *told) for told in (before["was"], before["now"]))
            if was:
                self.links.get(a, {}).pop((was.b, was.kind), None)
            if now:
                self._put(now)

    def _put(self, link: Link) -> None:
        self.links.setdefault(link.a, {})[link.b, link.kind] = link

    def differing(self, id: str, counts: Mapping[str, int | None]) -> list[str]:
        """The names of those of these counters that differ from the journal."""
        told = {**NOTHING, **self.counts.get(id, {})}
        return [name for name, is_now in counts.items() if told[name] not in (is_now, UNKNOWN)]


def _later(name: str, was: int, event: Event) -> Any:
    """A counter after an event written by 0.1.0, which recorded the old values of all votes."""
    if event.verb == "undone" or name not in JOURNALLED:
        return UNKNOWN
    raised = VERDICTS.get((event.because or "").rpartition(" ")[2], ()) if event.verb == "feedback" else (name,)
    return was + (name in raised)


@dataclass(slots=True)
class Differences:
    """What differs from the journal, and what would correct it."""

    counted: list[Counted] = field(default_factory=list)
    missing: list[Link] = field(default_factory=list)
    odd: list[Link] = field(default_factory=list)
    said: list[str] = field(default_factory=list)


def differences(store: "Store", told: Told, records: Mapping[str, str], counted: Iterable[str]) -> Differences:
    """Compares the store with the journal, for `records` that are not erased (with their spaces), of which `counted` have
    different counters. Others may have written meanwhile, so apparent differences are checked again, each memory at one
    moment."""
    there: dict[str, Linked] = {}
    for space in dict.fromkeys(records.values()):
        for link in store.links(everywhere(space)):
            there.setdefault(link.a, {})[link.b, link.kind] = link
    suspects = {*counted, *_otherwise_linked(told, there, records)}
    found = Differences()
    for id in sorted(suspects & records.keys()):
        _look_again(store, id, records[id], found)
    return found


def put_as_told(store: "Store", found: Differences) -> None:
    """Sets counters and links to the journal's values; inside a transaction of the caller."""
    store.write(Commit(counted=found.counted, links=found.missing, unlinked=found.odd))


def _otherwise_linked(told: Told, there: Mapping[str, Linked], records: Mapping[str, str]) -> Iterator[str]:
    for a in told.links.keys() | there.keys():
        wanted = {ends: link for ends, link in told.links.get(a, {}).items() if link.b in records}
        is_now = there.get(a, {})
        if a in told.vague:  # what it was linked with earlier is unknown
            is_now = {ends: link for ends, link in is_now.items() if ends in wanted}
        if wanted != is_now:
            yield a


def _look_again(store: "Store", id: str, space: str, found: Differences) -> None:
    with store.moment():
        sealed = next(store.seals([id]))
        told = _told(store, sealed)
        there: Linked = {(link.b, link.kind): link for link in store.links(everywhere(space), [id]) if link.a == id}
        ends = [b for b, _ in told.links.get(id, {})]
        living = {each.record.id: space for each in store.seals([id, *ends]) if each.record.state != "erased"}
    if id in living:
        _say_counts(sealed.record, told, found)
        if id in _otherwise_linked(told, {id: there}, living):
            _say_links(sealed.record, told, there, living, found)


def _told(store: "Store", sealed: Sealed) -> Told:
    told = Told()
    for event in store.journal(record=sealed.record.id):
        if event_mac(sealed.key, event.before, event.because) == event.mac:
            told.take(event)
    return told


def _say_counts(record: Record, told: Told, found: Differences) -> None:
    wrong = told.differing(record.id, counts(record))
    if wrong:
        found.counted.append(_as_told(record, told.counts.get(record.id, {})))
        found.said.append(f"{_name(record)} has other counters than the journal tells ({', '.join(wrong)})")


def _say_links(record: Record, told: Told, there: Linked, living: Mapping[str, str], found: Differences) -> None:
    wanted = {ends: link for ends, link in told.links.get(record.id, {}).items() if link.b in living}
    found.missing += [link for ends, link in wanted.items() if there.get(ends) != link]
    found.odd += [link for ends, link in there.items() if ends not in wanted and record.id not in told.vague]
    found.said.append(f"{_name(record)} has other links than the journal tells")


def _name(record: Record) -> str:
    return f"memory {record.number} ({record.id})"


def counts(record: Record) -> Mapping[str, int | None]:
    """Its journalled counters, and when it was last used."""
    if record.counters is UNCOUNTED and record.times.used is None:
        return NOTHING
    found: dict[str, int | None] = {name: getattr(record.counters, name) for name in JOURNALLED}
    return {**found, "last_used": None if record.times.used is None else to_micros(record.times.used)}


def _as_told(record: Record, told: Mapping[str, Any]) -> Counted:
    """The counters of a record according to the journal; unknown ones stay as they are."""
    known = {name: value for name, value in {**NOTHING, **told}.items() if value is not UNKNOWN}
    values: dict[str, Any] = {**counts(record), **known}
    used = values.pop("last_used")
    counters = Counters(**values, surfaced=record.counters.surfaced)
    return Counted(record.id, counters, None if used is None else from_micros(used))
