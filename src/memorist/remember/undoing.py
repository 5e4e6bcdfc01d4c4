"""Taking back: each event of a batch knows what was there before, so a batch can be undone, newest event first.

What was added is archived; what was changed gets its old values; a revised memory gets its old text back from the superseded
record. A memory that was changed again since is left alone and named: undoing under somebody's later work would lose that
work. An undo is a batch like any other and can be undone itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from typing import Any

from memorist.access import Access
from memorist.design import Tools
from memorist.errors import Conflict, Invalid, MemoristError, NotFound, Refused
from memorist.records import Counters, Event, Link, Planned, Record, Report, from_micros, to_micros
from memorist.remember.changes import Author
from memorist.remember.many import portions
from memorist.remember.reconcile import UNDONE, refuse_second
from memorist.store.rows import COLUMNS, COUNTERS, difference, from_row, to_row
from memorist.store.where import Where
from memorist.store.writer import Change, Clean

EVENTS_AT_ONCE = 500
UNDID = "undid "
COUNTED = (*COUNTERS, "last_used")


def undo(name: str | None, by: Author) -> Report:
    """Undoes that batch, or this actor's last action."""
    events = _last_action(by.access, by.tools) if name is None else _named(name, by.tools)
    batch = events[0].batch
    if events[0].surface == "upkeep":  # what looked after the whole space is taken back in the whole space
        by = by.through(by.access.over_the_space(by.access.surface))
    by_record: dict[str, list[Event]] = {}
    for event in reversed(events):
        by_record.setdefault(event.record, []).append(event)
    undoing = Undoing(batch, by_record, by)
    report = Report("undone")
    ids = list(undoing.events)
    for some in portions(ids):
        report = undoing.step(some, report)
    if not report.changed:
        reasons = "; ".join(dict.fromkeys(report.left.values())) or "there is nothing in it that you may change"
        raise Conflict(f"{batch} cannot be undone: {reasons}")
    return report


def _named(name: str, tools: Tools) -> list[Event]:
    if not isinstance(name, str):
        raise Invalid(f"a batch is named by text such as 'b12', not {type(name).__name__}")
    events = tools.store.batch(name.strip())
    if not events:
        raise NotFound(
            f"there is no batch {name[:40]!r}; the outcome of each change names its batch, and so does `history`"
        )
    return events


def _last_action(who: Access, tools: Tools) -> list[Event]:
    """The newest batch of this actor that touches a memory they may change and that was not undone yet."""
    undone: set[str] = set()
    erased: str | None = None
    for batch, events in groupby(_newest_first(tools), key=lambda event: event.batch):
        some = list(events)
        if batch in undone:
            continue
        if some[0].verb == "undone":
            undone.add(_undone_by(some[0]))
        elif some[0].actor == who.actor and some[0].verb == "erased":
            erased = erased or batch
        elif some[0].actor == who.actor and _is_left(some, who, tools):
            return _after(erased, tools.store.batch(batch))
    raise _cannot(erased) if erased else NotFound("there is no action of yours to undo here")


def _is_left(events: Sequence[Event], who: Access, tools: Tools) -> bool:
    """Whether there is anything in it to take back: a memory that lives and may be written, and what it was before."""
    told = [event.record for event in events if event.before is not None or event.because is not None]
    records = tools.store.get(told, Where(who))
    return any(who.may_write(record.scope) and record.state != "erased" for record in records)


def _after(erased: str | None, events: list[Event]) -> list[Event]:
    """The last action; but who has erased something since, and now takes back something else, should say so."""
    if erased:
        raise _cannot(erased, f"; `undo {events[0].batch}` takes back the action before it")
    return events


def _cannot(erased: str, instead: str = "") -> Refused:
    return Refused(f"your last action, {erased}, erased memories, and that cannot be undone{instead}")


def _undone_by(event: Event) -> str:
    """The batch that an event of verb `undone` took back."""
    return (event.because or "").removeprefix(UNDID)


def _changed_since(journal: Sequence[Event], batch: str) -> str | None:
    """The batch that changed the memory after this one, if any. What was undone meanwhile is as if it had not been."""
    undone: set[str] = set()
    for event in reversed(journal):
        if event.batch in undone:
            continue
        if event.batch == batch:
            return None
        if event.verb != "undone":
            return event.batch
        undone.add(_undone_by(event))
    return "its own undo"


def _newest_first(tools: Tools) -> Iterator[Event]:
    last: int | None = None
    while events := tools.store.latest(last, EVENTS_AT_ONCE):
        yield from events
        last = events[-1].seq


@dataclass(frozen=True, slots=True)
class Undoing:
    batch: str
    events: Mapping[str, Sequence[Event]]  # of the whole batch, by memory, newest first
    by: Author

    def step(self, ids: Sequence[str], report: Report) -> Report:
        """One transaction; the report with what it did added."""
        with self.by.writer.transaction():
            records = {record.id: record for record in self.by.store.get(ids, Where(self.by.access))}
            plans: list[Plan] = []
            left: dict[str, str] = {}
            for id in ids:
                record = records.get(id)
                if record is not None and record.superseded_by in self.events:
                    continue  # it goes with the memory whose past text it is
                try:
                    plans.append(self._plan(record, self.events[id]))
                except MemoristError as problem:
                    left[id] = str(problem)
            batch = self._commit(plans, report.batch)
        planned = tuple(Planned(plan.record.id, plan.record.number, UNDID + self.batch) for plan in plans)
        changed = (*report.changed, *planned)
        return replace(report, changed=changed, left={**report.left, **left}, batch=batch or report.batch)

    def _commit(self, plans: Sequence["Plan"], batch: str | None) -> str:
        changes = [change for plan in plans for change in plan.changes]
        links = [Link(plan.record.id, *link.end) for plan in plans for link in plan.links if link.now]
        gone = [Link(plan.record.id, *link.end) for plan in plans for link in plan.links if not link.now]
        name, _ = self.by.writer.commit(changes, self.by.access, links=links, removed=gone, batch=batch)
        return name

    def _plan(self, record: Record | None, events: Sequence[Event]) -> "Plan":
        """How to take these events of one memory back."""
        if record is None:
            raise NotFound("a memory of it is not readable here")
        self.by.access.must_write(record.scope)
        if any(event.verb in ("erased", "past erased") for event in events) or record.state == "erased":
            raise Refused(f"memory {record.number} is erased, and that cannot be undone")
        later = _changed_since(self.by.store.journal(record.id), self.batch)
        if later is not None:
            raise Conflict(f"memory {record.number} was changed again by {later}; undo that first")
        plan = Plan(record, record)
        for event in events:
            plan = self._without(plan, event)
        self.by.access.must_write(plan.after.scope)
        plan = self._sealed(plan)
        return replace(plan, changes=(*plan.changes, *self._past_again(record)))

    def _past_again(self, record: Record) -> Iterator[Change]:
        """When an undo is undone, the past text that it archived is a past text again."""
        told = [event.before or {} for event in self.events[record.id] if event.verb == "undone"]
        others = [before["other"] for before in told if before.get("other") in self.events]
        everywhere = Where(Access.to_read(self.by.access.space))
        for past in self.by.store.get(others, everywhere):
            if past.superseded_by == record.id:
                plan = Plan(past, past)
                for event in self.events[past.id]:
                    plan = self._without(plan, event)
                yield from self._sealed(plan).changes

    def _without(self, plan: "Plan", event: Event) -> "Plan":
        if event.verb == "added":
            return replace(plan, after=replace(plan.after, state="archived", reason=UNDONE))
        if event.before is None:
            raise Refused(f"memory {plan.record.number}: what it was before {event.batch} was erased")
        before = dict(event.before)
        past = self._past(before)
        links = plan.links
        if past is not None:
            before["text"] = past.text
            links = (*links, Relink(past.id, ["supersedes", 1.0, None], None))
        elif "other" in before:
            links = (*links, Relink(before["other"], before["now"], before["was"]))
        counters = {**plan.counters, **{name: before[name] for name in COUNTED if name in before}}
        return replace(
            plan, after=_with_columns(plan.after, before), past=past or plan.past, links=links, counters=counters
        )

    def _past(self, before: Mapping[str, Any]) -> Record | None:
        if "superseded" not in before:
            return None
        everywhere = Where(Access.to_read(self.by.access.space))
        found = self.by.store.get([before["superseded"]], everywhere)
        if not found or found[0].state == "erased":
            raise Refused("the text it had before was erased")
        return found[0]

    def _sealed(self, plan: "Plan") -> "Plan":
        """The plan with its changes: what is written, and what an undo of this undo needs."""
        now, old = self.by.now(), plan.record
        fresh = Clean(old)
        if plan.after != old:
            times = replace(plan.after.times, updated=now)
            fresh = self.by.writer.clean(replace(plan.after, version=old.version + 1, times=times))
        if (old.scope, old.state, old.fingerprint) != (fresh.scope, fresh.state, fresh.fingerprint):
            refuse_second(fresh, self.by.store, self.by.tools.kinds, now)
        before = difference(old, fresh)
        told = [{"other": link.other, "was": link.was, "now": link.now} for link in plan.links]
        if told:
            before |= told[0]
        counters, used = None, old.times.used
        if plan.counters:
            had = _counts(old)
            before |= {name: had[name] for name in plan.counters}
            wanted = had | dict(plan.counters)
            counters = Counters(*(wanted[name] for name in COUNTERS))
            used = None if wanted["last_used"] is None else from_micros(wanted["last_used"])
        change = Change("undone", fresh, before, UNDID + self.batch, counters, used, row=plan.after != old)
        past = () if plan.past is None else (self._without_past(plan.past),)
        more = [Change("undone", fresh, each, UNDID + self.batch, row=False) for each in told[1:]]
        return replace(plan, changes=(change, *more, *past))

    def _without_past(self, past: Record) -> Change:
        times = replace(past.times, updated=self.by.now())
        gone = replace(past, state="archived", reason=UNDONE, version=past.version + 1, times=times)
        return Change("undone", self.by.writer.clean(gone), difference(past, gone), UNDID + self.batch)


@dataclass(frozen=True, slots=True)
class Relink:
    """A link to `other` that was so and is going to be so: [kind, weight, evidence], or None where there is none."""

    other: str
    was: Sequence[Any] | None
    now: Sequence[Any] | None

    @property
    def end(self) -> tuple[Any, ...]:
        return (self.other, *(self.now or self.was or ()))


@dataclass(frozen=True, slots=True)
class Plan:
    """One memory as it is and as it is going to be."""

    record: Record
    after: Record
    past: Record | None = None
    links: tuple[Relink, ...] = ()
    counters: Mapping[str, Any] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()


def _with_columns(record: Record, before: Mapping[str, Any]) -> Record:
    """The record with the columns that an event kept; counters and the time of use are not among them."""
    row = dict(zip(COLUMNS, to_row(record), strict=True))
    row |= {name: value for name, value in before.items() if name in row}
    scope = before.get("scope", record.scope)
    old = from_row(record.space, scope, record.number, list(row.values()), (None,) * (len(COUNTERS) + 1))
    return replace(old, counters=record.counters, times=replace(old.times, used=record.times.used))


def _counts(record: Record) -> dict[str, Any]:
    used = record.times.used
    return {**asdict(record.counters), "last_used": None if used is None else to_micros(used)}
