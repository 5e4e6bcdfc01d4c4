"""Changes to memories that are there: read, edit, write and journal in one transaction.

An edit is a function from the old record to the new one, so that no verb can forget the version, the time or the journal.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from memorist import checks
from memorist.access import Access
from memorist.errors import Conflict, Invalid, Refused
from memorist.kinds import Kind, kind_of
from memorist.records import LINK_KINDS, Counters, Link, LinkKind, Outcome, Record, Status, Times, new_id, to_micros
from memorist.redact import nothing_but_marks
from memorist.remember.arriving import meet, reworded
from memorist.remember.changes import Author
from memorist.remember.consent import to_revise
from memorist.remember.reconcile import refuse_second
from memorist.remember.trust import status_of, trust_of
from memorist.store.protocol import Store
from memorist.store.rows import difference
from memorist.store.where import Where
from memorist.store.writer import Change, Clean
from memorist.text.visible import quoted

VERDICTS = ("useful", "irrelevant", "wrong")
Find = Callable[[], Record]


def edit(find: Find, verb: str, change: Callable[[Record], Record], by: Author, because: str) -> Outcome:
    """Applies `change` to the record that `find` gives. A change that changes nothing is not written."""
    now = by.now()
    with by.writer.transaction():
        old = _writable(find(), by.access)
        new = change(old)
        if new == old:
            return Outcome("unchanged", "it was so already", old.id, old)
        by.writer.refuse_secret(by.access.must_write(new.scope), "the scope")
        fresh = by.writer.clean(replace(new, version=old.version + 1, times=replace(new.times, updated=now)))
        if (old.scope, old.state, old.fingerprint) != (fresh.scope, fresh.state, fresh.fingerprint):
            refuse_second(fresh, by.store, by.tools.kinds, now)
        arrives = fresh.state == "active" and (old.scope, old.state) != (fresh.scope, fresh.state)
        met = meet([fresh] if arrives else [], by)
        changed = _change(verb, old, fresh, difference(old, fresh), because)
        batch, [record, *_] = by.writer.commit([changed, *met.changes], by.access, links=met.links)
    said = "; ".join((because, *(str(each.because) for each in met.changes)))
    return Outcome("changed", said, record.id, record, batch)


def _writable(record: Record, who: Access) -> Record:
    who.must_write(record.scope)
    return _must_be_there(record)


def _must_be_there(record: Record) -> Record:
    if record.state == "erased":
        raise Refused(f"memory {record.number} is erased; nothing can be done with it any more")
    return record


def revise(
    find: Find,
    changes: Mapping[str, Any],
    by: Author,
    expected_version: int | None,
    because: str,
    used: bool = False,
    agreed: bool = False,
) -> Outcome:
    """Changes fields. A new text keeps id, number and votes, and leaves the old text behind as a superseded record. Where a
    person has to be asked and was not (`agreed`), they are asked before anything is locked."""
    if not agreed:
        seen = _at(expected_version, _writable(find(), by.access))
        held = to_revise(seen, _revised(seen, changes, by.tools.kinds), changes, because, used, by)
        if isinstance(held, Outcome):
            return held
        expected_version = held or expected_version
    with by.writer.transaction():
        old = _at(expected_version, _writable(find(), by.access))
        new = _revised(old, changes, by.tools.kinds)
        if used:
            new = _used(new, by.now())
        if new.text == old.text:
            return edit(lambda: old, "revised", lambda _: new, by, because)
        return _supersede_text(old, _restamped(new, by.access), changes, by, because)


def _at(version: int | None, record: Record) -> Record:
    if version is not None and record.version != version:
        raise Conflict(f"memory {record.number} is at version {record.version}, not {version}; read it again")
    return record


def _revised(old: Record, changes: Mapping[str, Any], kinds: Mapping[str, Kind]) -> Record:
    if old.state != "active":
        raise Refused(f"memory {old.number} is {old.state}; restore it before you revise it")
    given = dict(changes)
    here, there = kind_of(old.kind, kinds), kind_of(given.get("kind", old.kind), kinds)
    if "text" in given and here.append_only:
        raise Refused(
            f"memory {old.number} is a {old.kind}: what was said stays as it was said; add a correction instead"
        )
    if here != there and (here.append_only or there.append_only or here.layer != there.layer):
        raise Refused(f"memory {old.number} is a {old.kind} and cannot become a {there.name}; remember it anew")
    times = replace(old.times, **{key: given.pop(key) for key in ("valid_from", "valid_to") if key in given})
    checks.interval(times.valid_from, times.valid_to)
    return replace(old, times=times, **given)


def _used(record: Record, now: datetime) -> Record:
    """Whoever corrects a memory has just made use of it: its clock starts anew, and its votes stay."""
    counters = replace(record.counters, used=record.counters.used + 1)
    return replace(record, counters=counters, times=replace(record.times, used=now))


def _change(verb: str, old: Record, fresh: Clean, before: Mapping[str, Any], because: str) -> Change:
    """The change, with the counters where they changed too."""
    if fresh.counters == old.counters:
        return Change(verb, fresh, before, because)
    last = None if old.times.used is None else to_micros(old.times.used)
    had = {"used": old.counters.used, "last_used": last}
    return Change(verb, fresh, {**before, **had}, because, fresh.counters, fresh.times.used)


def _restamped(record: Record, who: Access) -> Record:
    """A new text is the reviser's word: it has their origin and trust, and only the user's confirms it."""
    trust = trust_of(who.origin)
    doubtful = record.status == "candidate" or status_of(trust) == "candidate"
    status: Status = "confirmed" if who.origin == "user" or not doubtful else "candidate"
    source = replace(record.provenance, actor=who.actor, surface=who.surface)
    return replace(record, origin=who.origin, trust=trust, status=status, provenance=source)


def _supersede_text(old: Record, new: Record, given: Mapping[str, Any], by: Author, because: str) -> Outcome:
    """The old text as a record of its own, valid until now; the memory itself with the new text, valid from now."""
    now = by.now()
    fresh = by.writer.clean(replace(new, version=old.version + 1, times=_times_of_new(old, new, given, now)))
    if nothing_but_marks(fresh.text):
        raise Refused("the new text is nothing but a secret, and secrets are not stored")
    by.writer.refuse_secret(by.access.must_write(fresh.scope), "the scope")
    refuse_second(fresh, by.store, by.tools.kinds, now)
    past = replace(
        old,
        id=new_id(now),
        number=0,
        state="superseded",
        reason="revised",
        superseded_by=old.id,
        pinned=False,
        counters=Counters(),
        version=1,
        times=replace(old.times, updated=now, used=None, valid_to=_end_of_old(old, now)),
    )
    kept = by.writer.clean(past)
    before = {**difference(old, fresh), "superseded": kept.id}
    before.pop("text", None)
    met = reworded(fresh, by)
    changes = [_change("revised", old, fresh, before, because), Change("superseded", kept, None, because)]
    links = [Link(fresh.id, kept.id, "supersedes"), *met.links]
    batch, [record, *_] = by.writer.commit([*changes, *met.changes], by.access, links=links, removed=met.removed)
    said = "; ".join((because, *(str(each.because) for each in met.changes)))
    return Outcome("changed", said, record.id, record, batch)


def _times_of_new(old: Record, new: Record, given: Mapping[str, Any], now: datetime) -> Times:
    """What was asked for holds; else the new text holds from now, or from when the old one would have."""
    start, end = new.times.valid_from, new.times.valid_to
    if "valid_from" not in given and (start is None or start < now):
        start = now
    if "valid_to" not in given and end is not None and end <= now:
        end = None
    checks.interval(start, end)
    return replace(new.times, updated=now, valid_from=start, valid_to=end)


def _end_of_old(old: Record, now: datetime) -> datetime:
    """The old text held until now, or had run out before, or had not begun to hold."""
    end = min(old.times.valid_to or now, now)
    return max(end, old.times.valid_from or end)


def vote(find: Find, verdict: str, by: Author) -> Outcome:
    """Counts a verdict. Only a useful one resets the clock; nothing here changes trust."""
    if verdict not in VERDICTS:
        raise Invalid(f"there is no verdict {quoted(verdict)}; verdicts are {', '.join(VERDICTS)}")
    with by.writer.transaction():
        record = _writable(find(), by.access)
        had, used = record.counters, record.times.used
        if verdict == "useful":
            counters, used = replace(had, up=had.up + 1, used=had.used + 1), by.now()
        elif verdict == "wrong":
            counters = replace(had, down=had.down + 1)
        else:
            counters = replace(had, rejected=had.rejected + 1)
        before: dict[str, int | None] = {"up": had.up, "down": had.down, "used": had.used, "rejected": had.rejected}
        before["last_used"] = None if record.times.used is None else to_micros(record.times.used)
        after = Clean(replace(record, counters=counters, times=replace(record.times, used=used)))
        because = f"the caller found it {verdict}"
        batch, _ = by.writer.commit([Change("feedback", after, before, because, counters, used, row=False)], by.access)
    return Outcome("changed", because, record.id, after, batch)


def relate(
    find: Callable[[], tuple[Record, Record]],
    kind: LinkKind,
    by: Author,
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
        known = by.store.link(a.id, b.id, kind)
        if new == known:
            return Outcome("unchanged", "it was so already", a.id, a)
        if new and not known and kind == "supersedes":
            _refuse_circle(new, by.store, by.where)
        before = {"other": b.id, "was": _weighed(known), "now": _weighed(new)}
        because = f"{'linked' if new else 'unlinked'} ({kind})"
        change = Change("linked" if new else "unlinked", Clean(a), before, because, row=False)
        batch, _ = by.writer.commit(
            [change], by.access, links=[new] if new else (), removed=[known] if known and not new else ()
        )
    return Outcome("changed", because, a.id, a, batch)


def _weighed(link: Link | None) -> list[Any] | None:
    return None if link is None else [link.kind, link.weight, link.evidence]


def _refuse_circle(link: Link, store: Store, where: Where) -> None:
    """A supersedes B supersedes A would leave no newest one."""
    seen, edge = {link.b}, [link.b]
    while edge:
        steps = [k.b for k in store.links_of(edge, where) if k.kind == "supersedes" and k.a in edge]
        edge = [id for id in steps if id not in seen]
        seen.update(edge)
    if link.a in seen:
        raise Invalid("that would close a circle of supersedes, which has no newest member; unlink one of them first")
