"""Which conflicts are open, and how one is closed.

A conflict is a link `contradicts` between two memories that are both active and readable; so it dies with either of them.
Closing it is one action: the memory that does not hold is superseded, or both stay and are only related; the link goes.
A memory that was superseded by mistake comes back the same way: keep it, and the one that took its place is superseded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from memorist import checks
from memorist.design import Tools
from memorist.errors import Invalid, NotFound, Refused
from memorist.kinds import kind_of
from memorist.records import Link, Outcome, Record
from memorist.remember.arriving import BOTH_HOLD
from memorist.remember.changes import Author
from memorist.remember.conflict import DisputeKind, Severity
from memorist.remember.disputes import retired
from memorist.remember.reconcile import refuse_second
from memorist.store.protocol import Store
from memorist.store.rows import difference
from memorist.store.where import Where
from memorist.store.writer import Change, Clean
from memorist.text.visible import quoted

BOTH = "both"
KINDS: tuple[DisputeKind, ...] = ("contradictory", "superseded", "ambiguous")
Find = Callable[[], tuple[Record, Record]]


# ---------------------------------------------------------------- what is open


@dataclass(frozen=True, slots=True)
class Dispute:
    """Two active memories that do not fit together, until somebody says which one holds."""

    a: Record
    b: Record
    kind: DisputeKind
    severity: Severity
    reason: str
    since: datetime


def disputes(where: Where, limit: int, store: Store) -> list[Dispute]:
    """Open conflicts, those of the newest memories first."""
    links = store.linked("contradicts", where, limit)
    ends = {record.id: record for record in store.get(list({end for k in links for end in (k.a, k.b)}), where)}
    return [dispute(link, ends[link.a], ends[link.b], store) for link in links if {link.a, link.b} <= set(ends)]


def dispute(link: Link, a: Record, b: Record, store: Store) -> Dispute:
    named, found, reason = (link.evidence or "").partition(": ")
    kind = next((kind for kind in KINDS if found and kind == named), None)
    said = reason if kind else (link.evidence or "somebody linked them as contradicting")
    return Dispute(a, b, kind or "contradictory", severity(link.weight), said, _since(link, a, b, store))


def severity(weight: float) -> Severity:
    return "high" if weight >= 0.9 else "medium" if weight >= 0.6 else "low"


def _since(link: Link, a: Record, b: Record, store: Store) -> datetime:
    """When they were linked; where the journal no longer tells, since both were there."""
    told = (event for event in reversed(store.journal(link.a)) if (event.before or {}).get("other") == link.b)
    linked = next((event.at for event in told if _makes(event.before or {}, link)), None)
    return linked or max(a.times.created, b.times.created)


def _makes(before: dict[str, Any] | Any, link: Link) -> bool:
    return bool(before.get("now")) and before["now"][0] == link.kind


# ---------------------------------------------------------------- closing one


@dataclass(slots=True)
class _Plan:
    """What closing a conflict changes: rows, and links with what they were."""

    now: datetime
    because: str
    changes: list[Change] = field(default_factory=list)
    added: list[Link] = field(default_factory=list)
    removed: list[Link] = field(default_factory=list)

    def put(self, verb: str, old: Record, new: Clean) -> None:
        self.changes.append(Change(verb, new, difference(old, new), self.because))

    def link(self, link: Link, a: Clean) -> None:
        self.added.append(link)
        self._tell("linked", link, a, None, [link.kind, link.weight, link.evidence])

    def unlink(self, link: Link, a: Clean) -> None:
        self.removed.append(link)
        self._tell("unlinked", link, a, [link.kind, link.weight, link.evidence], None)

    def _tell(self, verb: str, link: Link, a: Clean, was: list[Any] | None, now: list[Any] | None) -> None:
        before = {"other": link.b, "was": was, "now": now}
        self.changes.append(Change(verb, a, before, self.because, row=False))


def resolve(find: Find, keep: str | int, because: str, by: Author) -> Outcome:
    """Closes the conflict of two memories: `keep` is "a", "b", "both", or one of the two by number or id."""
    reason = by.writer.redact(checks.label(because, "the reason"))
    with by.writer.transaction():
        a, b = find()
        for record in (a, b):
            by.access.must_write(record.scope)
        kept = _kept(keep, a, b)
        links = _between(a, b, by.store)
        _must_be_open(a, b, links)
        if kept is not None and _is_so(kept, b if kept.id == a.id else a, links):
            return Outcome("unchanged", "it was so already", kept.id, kept)
        plan = _Plan(by.now(), reason)
        after = {each.id: _after(each, kept, plan, by.tools) for each in (a, b)}
        for link in links:
            plan.unlink(link, after[link.a])
        if kept is None:
            plan.link(Link(a.id, b.id, "relates_to", 1.0, f"{BOTH_HOLD}{reason}"), after[a.id])
        else:
            other = b if kept.id == a.id else a
            plan.link(Link(kept.id, other.id, "supersedes", 1.0, reason), after[kept.id])
        batch, _ = by.writer.commit(plan.changes, by.access, links=plan.added, removed=plan.removed)
    told = "both hold" if kept is None else f"memory {kept.number} holds, and memory {other.number} is superseded"
    first = after[a.id if kept is None else kept.id]
    return Outcome("changed", f"{told} ({reason})", first.id, first, batch)


def _kept(keep: str | int, a: Record, b: Record) -> Record | None:
    """The one that holds; None: both do."""
    if keep == BOTH:
        return None
    if isinstance(keep, bool) or not isinstance(keep, str | int):
        raise Invalid(f"keep is 'a', 'b', 'both', or one of the two by number or id, not {quoted(keep)}")
    named = [record for name, record in (("a", a), ("b", b)) if str(keep) in (name, record.id, str(record.number))]
    parts = [record for record in (a, b) if len(str(keep)) > 3 and record.id.startswith(str(keep))]
    found = named or parts
    if len(found) != 1:
        raise Invalid(f"keep is 'a', 'b', 'both', or {a.number} or {b.number}, not {quoted(keep)}")
    return found[0]


def _between(a: Record, b: Record, store: Store) -> list[Link]:
    ends = ((a.id, b.id), (b.id, a.id))
    found = (store.link(*pair, kind) for kind in ("contradicts", "supersedes") for pair in ends)
    return [link for link in found if link is not None]


def _is_so(kept: Record, other: Record, links: Sequence[Link]) -> bool:
    """Whether the one holds and the other is superseded by it, and nothing else is said of the two."""
    said = [(link.a, link.kind) for link in links]
    return (kept.state, other.state) == ("active", "superseded") and said == [(kept.id, "supersedes")]


def _must_be_open(a: Record, b: Record, links: Sequence[Link]) -> None:
    if a.id == b.id:
        raise Invalid(f"memory {a.number} cannot contradict itself; name two memories")
    for record in (a, b):
        if record.state not in ("active", "superseded"):
            raise Refused(f"memory {record.number} is {record.state}, so there is nothing to resolve; restore it first")
    if not links or (a.state, b.state) == ("superseded", "superseded"):
        raise NotFound(
            f"memories {a.number} and {b.number} are in no open conflict; `conflicts` lists those that are, and "
            "`link` with contradicts makes one"
        )


def _after(record: Record, kept: Record | None, plan: _Plan, tools: Tools) -> Clean:
    """The memory as it is once the conflict is closed."""
    holds = kept is None or kept.id == record.id
    if holds == (record.state == "active"):
        return Clean(record)
    if holds:
        times = replace(record.times, updated=plan.now, valid_to=None)
        fresh = Clean(replace(record, state="active", reason=None, version=record.version + 1, times=times))
        refuse_second(fresh, tools.store, tools.kinds, plan.now)
        plan.put("restored", record, fresh)
        return fresh
    if kind_of(record.kind, tools.kinds).append_only:
        raise Refused(
            f"memory {record.number} is a {record.kind}: what was said stays as it was said; keep='both' closes the conflict"
        )
    fresh = Clean(replace(retired(record, plan.now), reason=plan.because))
    plan.put("superseded", record, fresh)
    return fresh


def approved(details: dict[str, Any] | Any, by: Author) -> Outcome:
    """A person agreed that the newer memory (`a`) takes the place of the older one."""

    def both() -> tuple[Record, Record]:
        found = by.store.get([details["a"], details["b"]], by.where)
        if len(found) != 2:
            raise NotFound("one of the two memories is not there any more; deny the question to take it off the list")
        return found[0], found[1]

    return resolve(both, "a", details["because"], by)
