"""Merges two memories that say the same: the more trusted one stays, takes over the votes and additions of the other, and
supersedes it.

Nothing is deleted: the other one is in the archive, in `as_of` and in the journal, and one undo restores both. An undone merge
counts as a person's decision, and is not repeated.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from memorist.errors import Refused
from memorist.folder import HASHES
from memorist.records import Counters, Link, Record
from memorist.remember.authority import RANK
from memorist.remember.changes import ITSELF, Changes
from memorist.remember.conflicts import one_voice, retired, told_how
from memorist.remember.edit import refuse_circle
from memorist.remember.nearly import does_it_otherwise, labels_of_both, with_triggers
from memorist.remember.undo import UNDID
from memorist.scoring import bounded
from memorist.store.protocol import Store
from memorist.text.restated import Likeness, restates

MERGED = "merged"  # the verb for the one that stays
SAYS_SAME = "it says the same as memory "
WITHIN = "all of it is said in a longer memory"


def order(record: Record) -> tuple[Any, ...]:
    """Which of two stays, first: pinned by a person, more trusted, confirmed, older."""
    return not record.pinned, -RANK[record.origin], record.status != "confirmed", record.number


def likeness(other: Record, keep: Record) -> Likeness | None:
    """Whether `other` says the same as `keep` or is contained in it, if both are statements of one kind with the same
    validity."""
    if not _comparable(other, keep) or RANK[keep.origin] < RANK[other.origin] or other.pinned:
        return None
    return restates(other.text, keep.text)


def _comparable(a: Record, b: Record) -> bool:
    one_place = (a.space, a.scope, a.home) == (b.space, b.scope, b.home)
    one_sort = (a.kind, a.season, a.times.valid_to) == (b.kind, b.season, b.times.valid_to)
    items = any(name in each.data for each in (a, b) for name in (*ITSELF, "home"))
    return one_place and one_sort and not items and a.id != b.id and not does_it_otherwise(a, b) and one_voice(a, b)


def told_apart(a: Record, b: Record, store: Store) -> bool:
    """Whether somebody has said how the two relate, or undid a merge of one of them."""
    return told_how(a, b, store) or _taken_back(a, store) or _taken_back(b, store)


def _taken_back(record: Record, store: Store) -> bool:
    """Whether it was archived because another says the same, and somebody undid that. Then a third memory that says the same
    is no reason to archive it again."""
    journal = store.journal(record=record.id)
    undone = {event.because for event in journal if event.verb == "undone"}
    return any(
        UNDID + event.batch in undone for event in journal if (event.because or "").startswith((SAYS_SAME, WITHIN))
    )


def merge(other: Record, keep: Record, evidence: str, changes: Changes) -> None:
    """Adds both to the change-set: `keep` with what both had, and `other` as superseded by it."""
    for record in (other, keep):
        changes.by.access.must_write(record.scope, record.home)
        if record.state != "active":
            raise Refused(f"memory {record.number} is {record.state} by now")
    if likeness(other, keep) != "same":
        raise Refused(f"memory {other.number} says something else than memory {keep.number} by now")
    link = Link(keep.id, other.id, "supersedes", 1.0, evidence)
    refuse_circle(link, changes.by.store, changes.by.where)
    because = f"{SAYS_SAME}{keep.number}"
    changes.put("superseded", other, changes.stamped(other, retired(other, changes.now, because)), because)
    changes.put(MERGED, keep, changes.stamped(keep, _joined(keep, other)), f"memory {other.number} says the same")
    changes.link(keep, link, because)


def _joined(keep: Record, other: Record) -> Record:
    """`keep` with the counters of both, since what was said twice was said again; and with the additions of the other one,
    unless that is less trusted."""
    mine, its = keep.counters, other.counters
    sums = {each.name: getattr(mine, each.name) + getattr(its, each.name) for each in fields(Counters)}
    counters = bounded(Counters(**{**sums, "strength": sums["strength"] + 1}))
    used = max(filter(None, (keep.times.used, other.times.used)), default=None)
    counted = replace(keep, counters=counters, times=replace(keep.times, used=used))
    if RANK[other.origin] < RANK[keep.origin]:
        return counted
    return replace(
        counted,
        tags=labels_of_both(keep.tags, other.tags),
        files=labels_of_both(keep.files, other.files),
        data=with_triggers(_with_digests(keep.data, other.data), other.data),
        importance=max(keep.importance, other.importance),
    )


def _with_digests(mine: Mapping[str, Any], its: Mapping[str, Any]) -> Mapping[str, Any]:
    """The data of the one that stays, with the file digests of both."""
    digests = {**its.get(HASHES, {}), **mine.get(HASHES, {})}
    return {**mine, HASHES: digests} if digests else mine
