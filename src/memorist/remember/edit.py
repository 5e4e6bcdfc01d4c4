"""Changes to existing memories: to one, to a link, to its counters, or to many at once.

A change is a function from the old record to the new one; reading, changing, writing and journalling are one transaction. A
change to many runs in short transactions under one batch, memory by memory: a sweep of ten thousand must not keep other
writers waiting, and one memory that cannot be changed does not stop the others. It stays as it was, and the report says why.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from memorist import checks
from memorist.access import Access
from memorist.errors import Conflict, Invalid, NotFound, OutOfScope, Refused
from memorist.kinds import Kind, kind_named
from memorist.records import (
    LINK_KINDS,
    Counters,
    Link,
    LinkKind,
    Outcome,
    Planned,
    Record,
    Report,
    Scope,
    Status,
    new_id,
)
from memorist.redact import nothing_but_marks, replaced, texts_of
from memorist.remember.changes import Caller, Changes, refuse_second
from memorist.remember.conflicts import links_between, meet, retired, reworded
from memorist.remember.consent import to_revise
from memorist.remember.gate import status_of, trust_of
from memorist.store.nouns import KeyUse, Receipt
from memorist.store.protocol import Store
from memorist.store.where import Where
from memorist.store.writer import Clean
from memorist.text.twins import used_in
from memorist.text.visible import quoted

VERDICTS = ("useful", "irrelevant", "wrong")
LONGEST_ANSWER = 1_000_000  # characters
SWEPT_AT_ONCE = 100  # memories in one transaction, at most
FIRST, FEWEST = 25, 5  # memories in the first transaction, and at least
TOO_LONG, TOO_SHORT = 0.1, 0.03  # seconds of a transaction: others wait meanwhile, and each has a fixed cost
UNCHANGED = "it was so already"
Find = Callable[[], Record]


# ---------------------------------------------------------------- one memory


def edit(find: Find, verb: str, change: Callable[[Record], Record], by: Caller, because: str) -> Outcome:
    """Applies `change` to the record that `find` gives. A change that changes nothing is not written."""
    with by.writer.transaction():
        old = _writable(find(), by.access)
        new = change(old)
        if new == old:
            return Outcome("unchanged", UNCHANGED, old.id, old)
        changes = Changes.of(by)
        fresh = _checked(old, new, changes)
        changes.put(verb, old, fresh, because)
        said = meet(fresh, changes) if _arrives(old, fresh) else []
        batch, stored = changes.commit()
    told = replaced(texts_of(new), texts_of(fresh))
    return Outcome("changed", "; ".join((because, *said)), old.id, stored[old.id], batch, told)


def _checked(old: Record, new: Record, changes: Changes) -> Clean:
    """The next version of a record, unless its scope may not be written or another active memory says the same."""
    changes.by.writer.refuse_secret(changes.by.access.must_write(new.scope), "the scope")
    fresh = changes.stamped(old, new)
    refuse_second(old, fresh, changes)
    return fresh


def _arrives(old: Record, fresh: Record) -> bool:
    """Whether it is new to its place: moved from another scope, or back from the archive."""
    return fresh.state == "active" and (old.scope, old.state) != (fresh.scope, fresh.state)


def _writable(record: Record, who: Access) -> Record:
    who.must_write(record.scope)
    return _must_be_there(record)


def _must_be_there(record: Record) -> Record:
    if record.state == "erased":
        raise Refused(f"memory {record.number} is erased and cannot be used any more")
    return record


def archived(record: Record, because: str) -> Record:
    if record.state in ("superseded", "erased"):
        raise Refused(f"memory {record.number} is {record.state} already")
    return record if record.state == "archived" else replace(record, state="archived", reason=because)


def brought_back(record: Record) -> Record:
    if record.state in ("superseded", "erased"):
        raise Refused(f"memory {record.number} is {record.state}; only forgotten memories can be restored")
    return replace(record, state="active", reason=None)


# ---------------------------------------------------------------- revising fields and text


def revision(kinds: Mapping[str, Kind], **given: Any) -> dict[str, Any]:
    """The given changes, each checked."""
    check: dict[str, Callable[[Any], Any]] = {
        "text": checks.text,
        "title": partial(checks.label, what="the title"),
        "kind": lambda value: kind_named(value, kinds).name,
        "scope": Scope,
        "importance": partial(checks.share, what="importance"),
        "confidence": partial(checks.share, what="confidence"),
        "valid_from": partial(checks.moment, what="valid_from"),
        "valid_to": partial(checks.moment, what="valid_to"),
        "tags": partial(checks.labels, what="tags"),
        "data": checks.data,
    }
    changes = {name: check[name](value) for name, value in given.items() if value is not None}
    if not changes:
        raise Invalid("nothing to revise was given; name a text, title, kind, scope, importance, validity, tags, data")
    return changes


def revise(
    find: Find,
    given: Mapping[str, Any],
    by: Caller,
    expected_version: int | None,
    because: str,
    used: bool = False,
    agreed: bool = False,
) -> Outcome:
    """Changes fields. A new text keeps id, number and votes, and leaves the old text behind as a superseded record. Where
    consent is needed and not given yet (`agreed`), a person is asked before anything is locked."""
    if not agreed:
        seen = _at(expected_version, _writable(find(), by.access))
        held = to_revise(seen, _revised(seen, given, by.tools.kinds), given, because, used, by)
        if isinstance(held, Outcome):
            return held
        expected_version = held or expected_version
    with by.writer.transaction():
        old = _at(expected_version, _writable(find(), by.access))
        new = _revised(old, given, by.tools.kinds)
        if used:
            new = _used(new, by.now())
        if new.text == old.text:
            return edit(lambda: old, "revised", lambda _: new, by, because)
        return _supersede_text(old, _restamped(new, by.access), given, by, because)


def _at(version: int | None, record: Record) -> Record:
    if version is not None and record.version != version:
        raise Conflict(f"memory {record.number} is at version {record.version}, not {version}; read it again")
    return record


def _revised(old: Record, changes: Mapping[str, Any], kinds: Mapping[str, Kind]) -> Record:
    if old.state != "active":
        raise Refused(f"memory {old.number} is {old.state}; restore it before you revise it")
    given = dict(changes)
    here, there = kinds[old.kind], kinds[given.get("kind", old.kind)]
    if "text" in given and here.append_only:
        raise Refused(
            f"memory {old.number} is a {old.kind}, and its text stays as it was said; add a correction instead"
        )
    if here != there and (here.append_only or there.append_only or here.layer != there.layer):
        raise Refused(f"memory {old.number} is a {old.kind} and cannot become a {there.name}; remember it as a new one")
    times = replace(old.times, **{key: given.pop(key) for key in ("valid_from", "valid_to") if key in given})
    checks.interval(times.valid_from, times.valid_to)
    return replace(old, times=times, **given)


def _used(record: Record, now: datetime) -> Record:
    """The record with one more use, just now: its clock starts again, its votes stay."""
    counters = replace(record.counters, used=record.counters.used + 1)
    return replace(record, counters=counters, times=replace(record.times, used=now))


def _restamped(record: Record, who: Access) -> Record:
    """The record with the reviser's origin and trust, because a new text is theirs; only the user's own text confirms it."""
    trust = trust_of(who.origin)
    doubtful = record.status == "candidate" or status_of(trust) == "candidate"
    status: Status = "confirmed" if who.origin == "user" or not doubtful else "candidate"
    source = replace(record.provenance, actor=who.actor, surface=who.surface)
    return replace(record, origin=who.origin, trust=trust, status=status, provenance=source)


def _supersede_text(old: Record, new: Record, given: Mapping[str, Any], by: Caller, because: str) -> Outcome:
    """Keeps the old text as a record of its own, valid until now; the memory gets the new text, valid from now."""
    changes = Changes.of(by)
    fresh = _checked(old, _timed(new, given, changes.now), changes)
    if nothing_but_marks(fresh.text):
        raise Refused("the new text is nothing but a secret, and secrets are not stored")
    past = by.writer.clean(_past(old, changes.now))
    changes.put("revised", old, fresh, because, past)
    changes.put("superseded", None, past, because)
    said = reworded(fresh, changes)
    batch, stored = changes.commit()
    told = replaced(texts_of(new), texts_of(fresh))
    return Outcome("changed", "; ".join((because, *said)), old.id, stored[old.id], batch, told)


def _past(old: Record, now: datetime) -> Record:
    """The old text as a superseded record of its own."""
    past = retired(old, now, "revised")
    times = replace(past.times, updated=now, used=None)
    return replace(
        past, id=new_id(now), number=0, superseded_by=old.id, pinned=False, counters=Counters(), version=1, times=times
    )


def _timed(new: Record, given: Mapping[str, Any], now: datetime) -> Record:
    """The given validity; else the new text is valid from now, or from the future start that the old one had."""
    start, end = new.times.valid_from, new.times.valid_to
    if "valid_from" not in given and (start is None or start < now):
        start = now
    if "valid_to" not in given and end is not None and end <= now:
        end = None
    checks.interval(start, end)
    return replace(new, times=replace(new.times, valid_from=start, valid_to=end))


# ---------------------------------------------------------------- links


def relate(
    find: Callable[[], tuple[Record, Record]],
    kind: LinkKind,
    by: Caller,
    weight: float | None = 1.0,
    evidence: str | None = None,
) -> Outcome:
    """Adds a link, or removes it when `weight` is None; it is journalled with the first of the two."""
    if kind not in LINK_KINDS:
        raise Invalid(f"there is no link kind {kind!r:.60}; kinds are {', '.join(LINK_KINDS)}")
    shown = by.writer.redact(checks.optional_label(evidence, "the evidence"))
    with by.writer.transaction():
        a, b = find()
        _writable(a, by.access)
        _must_be_there(b)
        if a.id == b.id:
            raise Invalid(f"memory {a.number} cannot be linked to itself")
        new = None if weight is None else Link(a.id, b.id, kind, checks.share(weight, "weight"), shown)
        known = next((link for link in links_between(a, b, by.store, [kind]) if link.b == b.id), None)
        if new == known:
            return Outcome("unchanged", UNCHANGED, a.id, a)
        if new and not known and kind == "supersedes":
            _refuse_circle(new, by.store, by.where)
        changes, because = Changes.of(by), f"{'linked' if new else 'unlinked'} ({kind})"
        if new:
            changes.link(a, new, because, was=known)
        elif known:
            changes.unlink(a, known, because)
        batch, _ = changes.commit()
    return Outcome("changed", because, a.id, a, batch, replaced([evidence or ""], [shown or ""]))


def _refuse_circle(link: Link, store: Store, where: Where) -> None:
    """A supersedes B supersedes A would leave no newest one."""
    seen, edge = {link.b}, [link.b]
    while edge:
        steps = [k.b for k in store.links(where, edge, "supersedes") if k.a in edge]
        edge = [id for id in steps if id not in seen]
        seen.update(edge)
    if link.a in seen:
        raise Invalid("that would close a circle of supersedes, which has no newest member; unlink one of them first")


# ---------------------------------------------------------------- votes and uses
#
# Shown is not used: only use resets a memory's clock. A use is counted once for each receipt and memory, however often it is
# reported, and never changes trust. What it adds to a memory's worth is bounded (`worth.py`), so that memories which are
# shown often do not end up being shown always.


def vote(find: Find, verdict: str, by: Caller) -> Outcome:
    """Counts a verdict. Only a useful one resets the clock; nothing here changes trust."""
    if verdict not in VERDICTS:
        raise Invalid(f"there is no verdict {quoted(verdict)}; verdicts are {', '.join(VERDICTS)}")
    because = f"the caller found it {verdict}"
    with by.writer.transaction():
        record, changes = _writable(find(), by.access), Changes.of(by)
        had = record.counters
        if verdict == "useful":
            after = _used(replace(record, counters=replace(had, up=had.up + 1)), changes.now)
        elif verdict == "wrong":
            after = replace(record, counters=replace(had, down=had.down + 1))
        else:
            after = replace(record, counters=replace(had, rejected=had.rejected + 1))
        changes.count("feedback", record, after, because)
        batch, _ = changes.commit()
    return Outcome("changed", because, record.id, after, batch)


def use(receipt: str, answer: str | None, ids: Sequence[str] | None, by: Caller) -> Report:
    """Counts a use of the shown memories that are named in `ids` (full ids), or whose words are in the answer."""
    by.writer.flush()
    line = receipt_of(receipt, by.access, by.store)
    shown = by.store.get(line.ids, by.where)
    reasons = _named(ids, shown) if ids is not None else _detected(answer, line, shown)
    left: dict[str, str] = {}
    with by.writer.transaction():
        changes = Changes.of(by)
        for record in by.store.get(list(reasons), by.where):
            key = use_key(line.id, record.id)
            problem = _not_now(record, by.access, by.store, key)
            if problem:
                left[record.id] = problem
                continue
            changes.count("used", record, _used(record, changes.now), f"used: {reasons[record.id]}")
            changes.key(KeyUse(key, line.id, record.id, "used", changes.now))
        batch, done = changes.commit()
    planned = tuple(Planned(record.id, record.number, reasons[record.id]) for record in done.values())
    advice = None if reasons else "the answer shows no use of what was recalled; name it with ids= if it was used"
    return Report("used", planned, left, batch or None, advice=advice)


def receipt_of(name: str, who: Access, store: Store) -> Receipt:
    """The line of the recall log with that name, if everything it showed may be read."""
    if not isinstance(name, str):
        raise Invalid(f"a receipt is named by text such as 'r01…', not {quoted(name)}")
    found = store.receipts(who.space, 1, name.strip())
    if not found or len(store.get(found[0].ids, Where(who))) < len(found[0].shown):
        raise NotFound(
            f"there is no receipt {quoted(name)} here; contexts and recalls name theirs, and old ones expire"
        )
    return found[0]


def use_key(receipt: str, record: str) -> str:
    """The idempotency key under which a use is counted once."""
    return f"used {receipt} {record}"


def _named(ids: Sequence[str], shown: Sequence[Record]) -> dict[str, str]:
    by_id = {record.id: record for record in shown}
    for id in ids:
        if id not in by_id:
            numbers = ", ".join(str(record.number) for record in shown) or "none"
            raise Invalid(f"memory {quoted(id)} was not shown under this receipt; it showed {numbers}")
    return dict.fromkeys(ids, "named by the caller")


def _detected(answer: str | None, line: Receipt, shown: Sequence[Record]) -> dict[str, str]:
    if answer is None:
        raise Invalid("give the answer, or the ids of what was used")
    if not isinstance(answer, str) or len(answer) > LONGEST_ANSWER:
        raise Invalid(f"an answer must be text of at most {LONGEST_ANSWER:,} characters, not {quoted(answer)}")
    found = used_in(answer, {record.number: record.text for record in shown}, line.query)
    return {record.id: found[record.number] for record in shown if record.number in found}


def _not_now(record: Record, who: Access, store: Store, key: str) -> str | None:
    if not who.may_write(record.scope):
        return f"this {who.role} access may not write {record.scope}"
    if record.state == "erased":
        return "it is erased"
    return "this use was counted already" if store.key_use(key) else None


# ---------------------------------------------------------------- many memories


def portions(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """The ids in portions: smaller after one that took long, because other writers wait for it."""
    start, size = 0, FIRST
    while start < len(ids):
        begun = time.monotonic()
        yield ids[start : start + size]
        start, took = start + size, time.monotonic() - begun
        if took > TOO_LONG:
            size = max(FEWEST, int(size * TOO_LONG / (2 * took)))
        elif took < TOO_SHORT:
            size = min(SWEPT_AT_ONCE, 2 * size)


@dataclass(frozen=True, slots=True)
class Sweep:
    """One change for many memories. `change` returns the new record, or raises `Refused` to leave it as it is."""

    verb: str
    change: Callable[[Record], Record]
    because: str
    where: Where  # must still match at the moment of the change
    by: Caller

    def plan(self, ids: Sequence[str]) -> Report:
        """What `apply` would do now."""
        report = Report(self.verb, dry_run=True)
        for start in range(0, len(ids), SWEPT_AT_ONCE):
            report, _ = self._fill(ids[start : start + SWEPT_AT_ONCE], report, Changes.of(self.by))
        return report

    def apply(self, ids: Sequence[str], report: Report | None = None) -> Report:
        report = report or Report(self.verb)
        for some in portions(ids):
            report = self.step(some, report)
        return report

    def step(self, ids: Sequence[str], report: Report) -> Report:
        """Changes these in one transaction and adds them to the report."""
        with self.by.writer.transaction():
            changes = Changes.of(self.by)
            report, arrived = self._fill(ids, report, changes)
            for record in arrived:
                meet(record, changes)
            batch, _ = changes.commit(report.batch)
        return replace(report, batch=report.batch or batch or None)

    def _fill(self, ids: Sequence[str], report: Report, changes: Changes) -> tuple[Report, list[Record]]:
        """Collects the changes; returns the report with them, and the memories that are new to their place."""
        planned, left = list(report.changed), dict(report.left)
        arrived: list[Record] = []
        for old in self.by.store.get(ids, self.where):
            try:
                self.by.access.must_write(old.scope)
                new = self.change(old)
                fresh = None if new == old else _checked(old, new, changes)
            except (Refused, OutOfScope, Conflict) as problem:
                left[old.id] = str(problem)
                continue
            if fresh is None:
                left[old.id] = UNCHANGED
                continue
            changes.put(self.verb, old, fresh, self.because)
            planned.append(Planned(old.id, old.number, self.because))
            if _arrives(old, fresh):
                arrived.append(fresh)
        return replace(report, changed=tuple(planned), left=left), arrived
