"""Undo: each event of a batch holds the previous values, so a batch can be reverted, newest event first.

Added memories are archived; changed ones get their old values; a revised memory gets its old text back from the superseded
record. A memory that was changed again since is left alone and reported: undoing it would lose the later change. An undo is a
batch like any other and can be undone itself. A large one takes many transactions; if it was cut off between two of them, an
undo without a name continues it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field, replace
from functools import partial
from itertools import islice
from typing import Any

from memorist.access import Access
from memorist.design import Ask, Tools
from memorist.errors import Conflict, Invalid, MemoristError, NotFound, Refused
from memorist.lazy import dataclass
from memorist.records import Counters, Event, Link, Origin, Planned, Record, Report, from_micros
from memorist.remember import consent, lessons
from memorist.remember.authority import RANK, Effect, Held, Place, hidden_lately, most_of, place_of, reason_to_ask
from memorist.remember.changes import UNDONE, Caller, Changes, counts_of, refuse_second
from memorist.remember.edit import FIRST, portions
from memorist.store import checkouts
from memorist.store.journal import newest_first
from memorist.store.nouns import COLUMNS, COUNTERS, from_row, to_row
from memorist.store.protocol import Store
from memorist.store.where import Where, everywhere
from memorist.store.writer import DOOR, SALT, Clean, door_of

BESIDE = {*COUNTERS, "last_used", "other", "lesson"}  # in an event that left the row as it was
TOLD = {"was", "now", SALT, DOOR}  # in an event, besides what changed
UNDID = "undid "
ITSELF = "its own undo"  # in place of a batch: what changed a memory since
FEW_NAMED = 3  # reasons in an error
UNDONE_AT_ONCE = 500  # events that are examined at a time


@dataclass(frozen=True, slots=True)
class Acts:
    """What is kept of a batch while it is undone; not its events, of which there may be a hundred thousand."""

    first: Event
    ids: Mapping[str, None]  # of its memories, most recently changed first
    added: Sequence[str]  # the memories that it added
    doors: Set[Origin]  # that changed a memory; a memory's own origin shows who added it
    is_own: bool  # this actor did some of it, through this door


def undo(name: str | None, by: Caller) -> Report:
    """Undoes that batch, or this actor's last action. What somebody more trusted said or did waits for a person."""
    acts = acts_of(_last_action(by) if name is None else _named(name, by), by)
    batch = acts.first.batch
    by = _as_then(acts.first, by)
    reason = None if by.agreed is not None else _reason_to_ask(acts, by)
    if reason:
        return _asked(batch, reason, acts.first, Report("undone"), by)
    undoing = _Undo(batch, acts.ids, by, acts.is_own)
    for some in portions(list(acts.ids)):
        undoing.step(some)
    report = Report("undone", tuple(undoing.changed), undoing.left, next(iter(undoing.into), None))
    if undoing.held:
        return _asked(batch, undoing.held[0], acts.first, report, by)
    if not report.changed:
        raise Conflict(f"{batch} cannot be undone: {_few(report.left.values())}")
    with by.writer.transaction():
        checkouts.undone(batch, report.batch, by.store)
    return report


def _few(reasons: Iterable[str]) -> str:
    """The first few, and how many more there are."""
    named = list(dict.fromkeys(reasons))
    more = [f"and {len(named) - FEW_NAMED:,} more"] if len(named) > FEW_NAMED else []
    return "; ".join((*named[:FEW_NAMED], *more)) or "it has no memory that you may change"


def acts_of(batch: str, by: Caller) -> Acts:
    """Reads the batch once, in pages, all at the same moment."""
    ids, added, doors, is_own = dict[str, None](), list[str](), set[Origin](), False
    with by.store.moment():
        for event in newest_first(by.store, batch):
            ids[event.record] = None
            if event.verb == "added":
                added.append(event.record)
            if event.before is not None:
                doors.add(door_of(event))
            is_own = is_own or _is_own(event, by)
            first = event
    return Acts(first, ids, added, doors, is_own)


def _reason_to_ask(acts: Acts, by: Caller) -> str | None:
    """Why a person has to agree before any of it is undone: a more trusted door did it, or it would remove most of a scope
    that another actor added."""
    door = max(acts.doors, key=RANK.__getitem__, default=by.access.origin)
    if RANK[door] > RANK[by.access.origin]:
        return f"it was done through a door that is the {door}'s"
    return None if _is_own(acts.first, by) or by.access.origin == "user" else _hides_most(acts.added, by)


def _hides_most(added: Sequence[str], by: Caller) -> str | None:
    counts: Counter[Place] = Counter()
    for some in portions(added):
        counts.update(place_of(record) for record in by.store.get(some, by.where) if record.state == "active")
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
    """The caller with the rights it takes: upkeep works on the whole space, so a person's undo of it does too; a project that
    was moved goes back to where it was."""
    moved = any(map(by.access.may_write, checkouts.named_by(first.batch, by.store)))
    kept = first.surface == "upkeep" and (by.access.origin == "user" or by.access.role == "admin")
    return by.through(by.access.over_the_space(by.access.surface)) if kept or moved else by


def _named(name: str, by: Caller) -> str:
    """The name of a batch that has a readable memory; the existence of any other is not revealed."""
    if not isinstance(name, str):
        raise Invalid(f"the name of a batch is text such as 'b12', not {type(name).__name__}")
    batch = name.strip()
    where = by.where
    for event in by.store.journal(batch=batch, limit=1):
        where = _as_then(event, by).where
    for some in chunks(newest_first(by.store, batch)):
        if by.store.get([event.record for event in some], where):
            return batch
    raise NotFound(
        f"there is no batch {name[:40]!r} here; the outcome of each change names its batch, and so does `history`"
    )


def ids_of(name: str, by: Caller) -> list[str]:
    """The memories of that batch, in the order in which it changed them."""
    return list(acts_of(_named(name, by), by).ids)[::-1]


def _last_action(by: Caller) -> str:
    """The newest batch of this actor that is not undone and changed a memory they may write; or the one whose undo they began
    and did not finish."""
    undone: set[str] = set()
    erased: str | None = None
    for newest in _batches(by.store):
        batch, is_theirs = newest.batch, newest.actor == by.access.actor
        if newest.verb == "undone" and batch not in undone:
            taken = _undone_by(newest)
            if is_theirs and taken not in undone and _is_cut_off(taken, batch, undone, by):
                return taken
            undone.add(taken)
        elif batch in undone or not is_theirs:
            continue
        elif newest.verb == "erased":
            erased = erased or batch
        elif _is_left(newest, by.access, by.tools):
            if erased:  # then the caller has to name the batch
                raise _cannot(erased, f"; `undo {batch}` takes back the action before it")
            return batch
    raise _cannot(erased) if erased else NotFound("there is no action of yours to undo here")


def _batches(store: Store) -> Iterator[Event]:
    """The newest event of each batch, newest batch first."""
    batch: str | None = None
    for event in newest_first(store):
        if event.batch != batch:
            yield event
        batch = event.batch


def _is_left(newest: Event, who: Access, tools: Tools) -> bool:
    """Whether anything of its batch can still be undone by them: a writable memory that is not erased, with its previous
    values."""
    found = False
    for some in chunks(newest_first(tools.store, newest.batch, newest.seq + 1)):
        told = [event.record for event in some if event.before is not None or event.because is not None]
        records = {record.id: record for record in tools.store.get(told, Where(who))}
        if any(_outranks(event, records.get(event.record), who) for event in some):
            return False
        found = found or any(map(partial(_may_take_back, who), records.values()))
    return found


def _is_cut_off(batch: str, undo: str, undone: Set[str], by: Caller) -> bool:
    """Whether that undo of a batch ended between two of its transactions: a memory is left that it would have reverted."""
    if len(by.store.journal(batch=batch, limit=FIRST + 1)) <= FIRST:  # one transaction
        return False
    acts = acts_of(batch, by)
    if acts.first.verb == "undone" and _undone_by(acts.first) in undone:  # what came back was removed again
        return False
    undoing = _Undo(batch, acts.ids, _as_then(acts.first, by), acts.is_own)
    done = {event.record for event in newest_first(by.store, undo)}
    rest = (event for event in newest_first(by.store, batch) if event.record not in done)
    return any(_can_go(some, undoing) for some in chunks(rest))


def _can_go(events: Sequence[Event], undoing: "_Undo") -> bool:
    """Whether they can still revert one of these events' memories."""
    told, by = {event.record: event for event in events}, undoing.by
    ours = [each for each in by.store.get(list(told), by.where) if not _outranks(told[each.id], each, by.access)]
    # What was added and is undone by now can be recognised without its journal.
    left = (each for each in ours if told[each.id].verb != "added" or each.reason != UNDONE)
    return any(map(undoing.would_return, left))


def _may_take_back(who: Access, record: Record) -> bool:
    return who.may_write(record.scope, record.home) and record.state != "erased"


def chunks(events: Iterable[Event]) -> Iterator[list[Event]]:
    """A few hundred at a time."""
    left = iter(events)
    while some := list(islice(left, UNDONE_AT_ONCE)):
        yield some


def _outranks(event: Event, record: Record | None, who: Access) -> bool:
    """Whether a more trusted door did it; the origin of a memory shows who added it."""
    return record is not None and RANK[record.origin if event.before is None else door_of(event)] > RANK[who.origin]


def _cannot(erased: str, instead: str = "") -> Refused:
    return Refused(f"your last action, {erased}, erased memories, and that cannot be undone{instead}")


def _undone_by(event: Event) -> str:
    """The batch that an `undone` event took back."""
    return (event.because or "").removeprefix(UNDID)


def changed_since(journal: Sequence[Event], batch: str) -> str | None:
    """The batch that changed the memory after this one, if any. Batches undone since do not count, nor do votes, uses and
    links if this batch changed none."""
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
    return ITSELF


def _named_in(event: Event) -> set[str]:
    """What an event changed, by the names in its `before`."""
    return set(event.before or {}) - TOLD


@dataclass(frozen=True, slots=True)
class _Return:
    """One memory in its present and its future state: links to write (with their former values), and links to remove."""

    record: Record
    after: Record  # with its counters
    past: Record | None = None  # the record that holds the text to bring back
    links: tuple[tuple[Link, Link | None], ...] = ()
    gone: tuple[Link, ...] = ()
    lessons: tuple[tuple[str, Sequence[int]], ...] = ()  # with their former verdicts
    fresh: Clean | None = None  # the next version, if its row changes


@dataclass(frozen=True, slots=True)
class _Undo:
    batch: str
    ids: Mapping[str, None]  # of the whole batch
    by: Caller
    is_own: bool
    changed: list[Planned] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)  # id → why it stays as it is
    held: list[str] = field(default_factory=list)  # why a person has to agree to some of it
    into: list[str] = field(default_factory=list)  # the batch of the undo, once it exists

    @property
    def because(self) -> str:
        return UNDID + self.batch

    def step(self, ids: Sequence[str]) -> None:
        with self.by.writer.transaction():
            changes = Changes.of(self.by)
            changes.takes_back = self.is_own
            records = {record.id: record for record in self.by.store.get(ids, self.by.where)}
            planned = [each for id in ids if (each := self._planned(id, records.get(id), changes))]
            batch, _ = changes.commit(next(iter(self.into), None))
        self.changed.extend(planned)
        if batch and not self.into:
            self.into.append(batch)

    def _planned(self, id: str, record: Record | None, changes: Changes) -> Planned | None:
        if record is not None and record.superseded_by in self.ids:
            return None  # undone together with the memory whose past text it is
        try:
            returns = self._returns(record, changes)
        except MemoristError as problem:
            self.left[id] = str(problem)
            self.held.extend([str(problem)] if isinstance(problem, Held) else [])
            return None
        for each in returns:
            self._put(each, changes)
        return Planned(id, returns[0].record.number, self.because)

    def would_return(self, record: Record) -> bool:
        """Whether this memory alone can be reverted now; nothing is written."""
        if record.superseded_by in self.ids:
            return False
        try:
            self._returns(record, Changes.of(self.by))
        except MemoristError:
            return False
        return True

    def _events(self, journal: Sequence[Event]) -> list[Event]:
        """Those of the batch among the events of one memory, newest first."""
        return [event for event in reversed(journal) if event.batch == self.batch]

    def _returns(self, record: Record | None, changes: Changes) -> list[_Return]:
        """How to undo the events of one memory. Obstacles are raised before anything is put."""
        if record is None:
            raise NotFound("it is not readable here; undo it with an access that may read it")
        self.by.access.must_write(record.scope, record.home)
        journal = self.by.store.journal(record=record.id)
        events = self._events(journal)
        if any(event.verb in ("erased", "past erased") for event in events) or record.state == "erased":
            raise Refused(f"memory {record.number} is erased, and that cannot be undone")
        later = changed_since(journal, self.batch)
        if later == ITSELF:
            raise Conflict(f"memory {record.number} was already undone")
        if later is not None:
            raise Conflict(f"memory {record.number} was changed again by {later}; undo that first")
        own = self._without(record, events, changes)
        self.by.access.must_write(own.after.scope, own.after.home)
        self._must_be_ours(own)
        pasts = [(past, self.by.store.journal(record=past.id)) for past in self._pasts(events, record)]
        return [own, *(self._without(past, self._events(told), changes) for past, told in pasts)]

    def _must_be_ours(self, back: _Return) -> None:
        """Raises `Held` if a person has to agree. A memory for which only links change counts as changed, too."""
        record, fresh = back.record, back.fresh
        counted = fresh is None and (back.after != record or (back.lessons and not back.links and not back.gone))
        effect = Effect("undone", record, fresh or back.after, bool(counted))
        reason = reason_to_ask(effect, self.by)
        if reason:
            raise Held(reason, [effect])

    def _pasts(self, events: Sequence[Event], record: Record) -> list[Record]:
        """When an undo is undone, the past texts that it archived become past texts again."""
        told = [event.before or {} for event in events if event.verb == "undone"]
        others = [before["other"] for before in told if before.get("other") in self.ids]
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
        """Adds the changes, with everything needed to undo this undo."""
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
    had = counts_of(record)
    if before.keys().isdisjoint(had):
        return record
    *counts, used = (before.get(name, value) for name, value in had.items())
    last = None if used is None else from_micros(used)
    return replace(record, counters=Counters(*counts), times=replace(record.times, used=last))
