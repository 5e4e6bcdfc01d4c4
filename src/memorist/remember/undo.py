"""Undo: each event of a batch holds the previous values, so a batch can be taken back, newest event first.

Added memories are archived; changed ones get their old values; a revised memory gets its old text back from the superseded
record. A memory that was changed again since is left alone and named: undoing it would lose the later change. An undo is a
batch like any other and can be undone itself.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from memorist.access import Access
from memorist.design import Ask, Tools
from memorist.errors import Conflict, Invalid, MemoristError, NotFound, Refused
from memorist.records import Counters, Event, Link, Planned, Record, Report, from_micros
from memorist.remember import consent, lessons
from memorist.remember.authority import RANK, Effect, Held, hidden_lately, most_of, place_of, reason_to_ask
from memorist.remember.changes import UNDONE, Caller, Changes, counts_of, refuse_second
from memorist.remember.edit import portions
from memorist.store import checkouts
from memorist.store.journal import newest_first
from memorist.store.nouns import COLUMNS, COUNTERS, from_row, to_row
from memorist.store.where import Where, everywhere
from memorist.store.writer import DOOR, SALT, Clean, door_of

BESIDE = {*COUNTERS, "last_used", "other", "lesson"}  # in an event that left the row as it was
TOLD = {"was", "now", SALT, DOOR}  # in an event, beside what changed
UNDID = "undid "


def undo(name: str | None, by: Caller) -> Report:
    """Undoes that batch, or this actor's last action. What somebody more trusted said or did waits for a person."""
    events = _last_action(by.access, by.tools) if name is None else events_of(name, by)
    batch = events[0].batch
    by = _as_then(events[0], by)
    reason = None if by.agreed is not None else _reason_to_ask(events, by)
    if reason:
        return _asked(batch, reason, events[0], Report("undone"), by)
    by_record = _newest_first(events)
    report, undoing = Report("undone"), _Undo(batch, by_record, by, any(_is_own(event, by) for event in events))
    for some in portions(list(by_record)):
        report = undoing.step(some, report)
    if undoing.held:
        return _asked(batch, undoing.held[0], events[0], report, by)
    if not report.changed:
        reasons = "; ".join(dict.fromkeys(report.left.values())) or "it has no memory that you may change"
        raise Conflict(f"{batch} cannot be undone: {reasons}")
    with by.writer.transaction():
        checkouts.undone(batch, report.batch, by.store)
    return report


def _newest_first(events: Sequence[Event]) -> dict[str, list[Event]]:
    """The events of each record."""
    found: dict[str, list[Event]] = {}
    for event in reversed(events):
        found.setdefault(event.record, []).append(event)
    return found


def _reason_to_ask(events: Sequence[Event], by: Caller) -> str | None:
    """Why a person has to agree before any of it is undone: a more trusted door did it, or most of a scope would go that
    another actor added."""
    doors = [door_of(event) for event in events if event.before is not None]  # who added a memory, its own origin tells
    door = max(doors, key=RANK.__getitem__, default=by.access.origin)
    if RANK[door] > RANK[by.access.origin]:
        return f"it was done through a door that is the {door}'s"
    return None if _is_own(events[0], by) or by.access.origin == "user" else _hides_most(events, by)


def _hides_most(events: Sequence[Event], by: Caller) -> str | None:
    added = by.store.get([event.record for event in events if event.verb == "added"], by.where)
    counts = Counter(place_of(record) for record in added if record.state == "active")
    lately = hidden_lately(by, by.now())
    large = (place for place, count in counts.items() if most_of(place, lately[place] + count, count, by))
    return next((f"it would hide most of {scope}" for scope, _ in large), None)


def _is_own(event: Event, by: Caller) -> bool:
    return (event.actor, event.surface) == (by.access.actor, by.access.surface)


def _asked(batch: str, reason: str, first: Event, report: Report, by: Caller) -> Report:
    """Asks a person about what is left of it; if they agree at once, it is done as the user's act."""
    about = next(iter(by.store.get([first.record], by.where)), None)
    if about is None:
        raise NotFound(f"a memory of {batch} is not readable here; undo it with an access that may read it")
    question = Ask("undo", f"{by.access.actor} wants to undo {batch}, but {reason}", None, {"batch": batch})
    said = consent.ask(question, about.scope, reason, by, about.home)
    if said.approved:
        done = undo(batch, by.with_consent())
        return replace(done, changed=(*report.changed, *done.changed))
    return replace(report, advice=said.because, pending=said.id)


def _as_then(first: Event, by: Caller) -> Caller:
    """With the rights that it takes: upkeep works on the whole space, and so does a person's undo of it; a project that was
    moved goes back where it was."""
    moved = any(map(by.access.may_write, checkouts.named_by(first.batch, by.store)))
    kept = first.surface == "upkeep" and (by.access.origin == "user" or by.access.role == "admin")
    return by.through(by.access.over_the_space(by.access.surface)) if kept or moved else by


def events_of(name: str, by: Caller) -> list[Event]:
    """Those of a batch, one of whose memories may be read: of any other not even its existence is told."""
    if not isinstance(name, str):
        raise Invalid(f"the name of a batch is text such as 'b12', not {type(name).__name__}")
    events = by.store.journal(batch=name.strip())
    where = _as_then(events[0], by).where if events else by.where
    if not any(by.store.get(some, where) for some in portions([event.record for event in events])):
        raise NotFound(
            f"there is no batch {name[:40]!r} here; the outcome of each change names its batch, and so does `history`"
        )
    return events


def _last_action(who: Access, tools: Tools) -> list[Event]:
    """The newest batch of this actor that is not undone and changed a memory they may write."""
    undone: set[str] = set()
    erased: str | None = None
    for batch, events in groupby(newest_first(tools.store), key=lambda event: event.batch):
        some = list(events)
        if batch in undone:
            continue
        if some[0].verb == "undone":
            undone.add(_undone_by(some[0]))
        elif some[0].actor == who.actor and some[0].verb == "erased":
            erased = erased or batch
        elif some[0].actor == who.actor and _is_left(some, who, tools):
            if erased:  # then the caller has to name the batch
                raise _cannot(erased, f"; `undo {batch}` takes back the action before it")
            return tools.store.journal(batch=batch)
    raise _cannot(erased) if erased else NotFound("there is no action of yours to undo here")


def _is_left(events: Sequence[Event], who: Access, tools: Tools) -> bool:
    """Whether anything of it can be undone by them: a writable memory that is not erased, with its previous values."""
    told = [event.record for event in events if event.before is not None or event.because is not None]
    records = {record.id: record for record in tools.store.get(told, Where(who))}
    theirs = any(_outranks(event, records[event.record], who) for event in events if event.record in records)
    return not theirs and any(who.may_write(r.scope, r.home) and r.state != "erased" for r in records.values())


def _outranks(event: Event, record: Record, who: Access) -> bool:
    """Whether a more trusted door did it: the origin of a memory tells who added it."""
    return RANK[record.origin if event.before is None else door_of(event)] > RANK[who.origin]


def _cannot(erased: str, instead: str = "") -> Refused:
    return Refused(f"your last action, {erased}, erased memories, and that cannot be undone{instead}")


def _undone_by(event: Event) -> str:
    """The batch that an `undone` event took back."""
    return (event.because or "").removeprefix(UNDID)


def changed_since(journal: Sequence[Event], batch: str) -> str | None:
    """The batch that changed the memory after this one, if any. Batches that were undone since do not count, nor do votes,
    uses and links where the batch changed none."""
    undone: set[str] = set()
    restored = {name for event in journal if event.batch == batch for name in _named_in(event)}
    for event in reversed(journal):
        if event.batch in undone:
            continue
        if event.batch == batch:
            return None
        if event.verb == "undone":
            undone.add(_undone_by(event))
        elif restored & _named_in(event) or not _named_in(event) <= BESIDE:
            return event.batch
    return "its own undo"


def _named_in(event: Event) -> set[str]:
    """What an event changed, by the names in its `before`."""
    return set(event.before or {}) - TOLD


@dataclass(frozen=True, slots=True)
class _Return:
    """One memory as it is and as it will be: links to write (with what they were), and links to remove."""

    record: Record
    after: Record  # with its counters
    past: Record | None = None  # the record that holds the text to bring back
    links: tuple[tuple[Link, Link | None], ...] = ()
    gone: tuple[Link, ...] = ()
    lessons: tuple[tuple[str, Sequence[int]], ...] = ()  # and how their verdicts stood
    fresh: Clean | None = None  # the next version, where its row changes


@dataclass(frozen=True, slots=True)
class _Undo:
    batch: str
    events: Mapping[str, Sequence[Event]]  # of the whole batch, by memory, newest first
    by: Caller
    is_own: bool  # this actor did some of it, through this door
    held: list[str] = field(default_factory=list)  # why a person has to agree to some of it

    @property
    def because(self) -> str:
        return UNDID + self.batch

    def step(self, ids: Sequence[str], report: Report) -> Report:
        """Undoes these in one transaction and adds them to the report."""
        planned, left = list(report.changed), dict(report.left)
        with self.by.writer.transaction():
            changes = Changes.of(self.by)
            changes.takes_back = self.is_own
            records = {record.id: record for record in self.by.store.get(ids, self.by.where)}
            for id in ids:
                record = records.get(id)
                if record is not None and record.superseded_by in self.events:
                    continue  # undone together with the memory whose past text it is
                try:
                    returns = self._returns(record, self.events[id], changes)
                except MemoristError as problem:
                    left[id] = str(problem)
                    self.held.extend([str(problem)] if isinstance(problem, Held) else [])
                    continue
                for each in returns:
                    self._put(each, changes)
                planned.append(Planned(id, returns[0].record.number, self.because))
            batch, _ = changes.commit(report.batch)
        return replace(report, changed=tuple(planned), left=left, batch=batch or report.batch)

    def _returns(self, record: Record | None, events: Sequence[Event], changes: Changes) -> list[_Return]:
        """How to undo these events of one memory. Obstacles are raised before anything is put."""
        if record is None:
            raise NotFound("it is not readable here; undo it with an access that may read it")
        self.by.access.must_write(record.scope, record.home)
        if any(event.verb in ("erased", "past erased") for event in events) or record.state == "erased":
            raise Refused(f"memory {record.number} is erased, and that cannot be undone")
        later = changed_since(self.by.store.journal(record=record.id), self.batch)
        if later is not None:
            raise Conflict(f"memory {record.number} was changed again by {later}; undo that first")
        own = self._without(record, events, changes)
        self.by.access.must_write(own.after.scope, own.after.home)
        self._must_be_ours(own)
        return [own, *(self._without(past, self.events[past.id], changes) for past in self._pasts(record))]

    def _must_be_ours(self, back: _Return) -> None:
        """Raises `Held` where a person has to agree. A memory with nothing but other links counts as changed, too."""
        record, fresh = back.record, back.fresh
        counted = fresh is None and (back.after != record or (back.lessons and not back.links and not back.gone))
        effect = Effect("undone", record, fresh or back.after, bool(counted))
        reason = reason_to_ask(effect, self.by)
        if reason:
            raise Held(reason, [effect])

    def _pasts(self, record: Record) -> list[Record]:
        """When an undo is undone, the past texts that it archived become past texts again."""
        told = [event.before or {} for event in self.events[record.id] if event.verb == "undone"]
        others = [before["other"] for before in told if before.get("other") in self.events]
        found = self.by.store.get(others, everywhere(self.by.access.space)) if others else []
        return [past for past in found if past.superseded_by == record.id]

    def _without(self, record: Record, events: Sequence[Event], changes: Changes) -> _Return:
        """The memory without these events, newest first."""
        back = _Return(record, record)
        for event in events:
            back = self._before(event, back)
        as_counted = replace(
            back.after, counters=record.counters, times=replace(back.after.times, used=record.times.used)
        )
        if as_counted == record:
            return back
        fresh = changes.stamped(record, back.after)
        refuse_second(record, fresh, changes)
        return replace(back, fresh=fresh)

    def _before(self, event: Event, back: _Return) -> _Return:
        if event.verb == "added":
            return replace(back, after=replace(back.after, state="archived", reason=UNDONE))
        if event.before is None:
            raise Refused(f"memory {back.record.number}: its state before {event.batch} was erased")
        if "lesson" in event.before:
            return replace(back, lessons=(*back.lessons, (event.before["lesson"], event.before["was"])))
        before, past = dict(event.before), self._past(event.before)
        links, gone = back.links, back.gone
        if past is not None:
            before["text"] = past.text
            gone = (*gone, Link(back.record.id, past.id, "supersedes"))
        elif "other" in before:
            ends = (back.record.id, before["other"])
            was, now = (told and Link(*ends, *told) for told in (before["was"], before["now"]))
            links = (*links, (was, now)) if was else links
            gone = gone if was or now is None else (*gone, now)
        after = _with_counts(with_columns(back.after, before), before)
        return replace(back, after=after, past=past or back.past, links=links, gone=gone)

    def _past(self, before: Mapping[str, Any]) -> Record | None:
        if "superseded" not in before:
            return None
        found = self.by.store.get([before["superseded"]], everywhere(self.by.access.space))
        if not found or found[0].state == "erased":
            raise Refused("the text it had before was erased; revise it instead")
        if before.get("fingerprint", found[0].fingerprint) != found[0].fingerprint:
            raise Refused("the text it had before is no longer what it was; revise it instead")
        return found[0]

    def _put(self, back: _Return, changes: Changes) -> None:
        """Puts the changes, with everything that an undo of this undo needs."""
        record = back.record
        taken = lessons.take_back(changes, record, back.lessons, self.because) if back.lessons else False
        if back.fresh is not None:
            changes.put("undone", record, back.fresh, self.because)
        elif back.after != record:
            changes.count("undone", record, back.after, self.because)
        elif not back.links and not back.gone and not taken:
            changes.note("undone", record, {}, self.because)
        for link, was in back.links:
            changes.link(record, link, self.because, was, verb="undone")
        for link in back.gone:
            changes.unlink(record, link, self.because, verb="undone")
        if back.past is not None:
            gone = replace(back.past, state="archived", reason=UNDONE)
            changes.put("undone", back.past, changes.stamped(back.past, gone), self.because)


def with_columns(record: Record, before: Mapping[str, Any]) -> Record:
    """The record with the columns of an event; counters and the time of use are not among them."""
    row = dict(zip(COLUMNS, to_row(record), strict=True))
    row |= {name: value for name, value in before.items() if name in row}
    scope = before.get("scope", record.scope)
    home = before.get("home", record.home)
    old = from_row(record.space, scope, home, record.number, list(row.values()), (None,) * (len(COUNTERS) + 1))
    return replace(old, counters=record.counters, times=replace(old.times, used=record.times.used))


def _with_counts(record: Record, before: Mapping[str, Any]) -> Record:
    """The record with the counters of an event."""
    had = counts_of(record)
    if before.keys().isdisjoint(had):
        return record
    *counts, used = (before.get(name, value) for name, value in had.items())
    last = None if used is None else from_micros(used)
    return replace(record, counters=Counters(*counts), times=replace(record.times, used=last))
