"""Two memories that say the same become one: the more trusted of them stays, with the votes of both and what the other
brought along, and supersedes it.

Nothing is deleted: the other one is in the archive, in `as_of` and in the journal, and one undo brings both back as they were. What
an undo took back is a person's word, and is not done again.
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
from memorist.store.protocol import Store
from memorist.text.restated import Likeness, restates
from memorist.worth import bounded

MERGED = "merged"  # the verb of the one that stays
SAYS_SAME = "it says the same as memory "
WITHIN = "all of it is said in a longer memory"


def order(record: Record) -> tuple[Any, ...]:
    """Which of two stays, the first: what a person pinned, what is trusted more, what is confirmed, what is older."""
    return not record.pinned, -RANK[record.origin], record.status != "confirmed", record.number


def likeness(other: Record, keep: Record) -> Likeness | None:
    """Whether `other` says the same as `keep`, or is wholly in it, and both are statements of one kind that hold at one time."""
    if not _comparable(other, keep) or RANK[keep.origin] < RANK[other.origin] or other.pinned:
        return None
    return restates(other.text, keep.text)


def _comparable(a: Record, b: Record) -> bool:
    one_place = (a.space, a.scope, a.home) == (b.space, b.scope, b.home)
    one_sort = (a.kind, a.season, a.times.valid_to) == (b.kind, b.season, b.times.valid_to)
    items = any(name in each.data for each in (a, b) for name in (*ITSELF, "home"))
    return one_place and one_sort and not items and a.id != b.id and not does_it_otherwise(a, b) and one_voice(a, b)


def told_apart(a: Record, b: Record, store: Store) -> bool:
    """Whether somebody has said how they stand to one another, or wants one of them back that was merged."""
    return told_how(a, b, store) or _taken_back(a, store) or _taken_back(b, store)


def _taken_back(record: Record, store: Store) -> bool:
    """Whether it was put away because another says the same, and somebody undid that. Of three that say the same, the third is
    then no reason to put it away again."""
    journal = store.journal(record=record.id)
    undone = {event.because for event in journal if event.verb == "undone"}
    return any(
        UNDID + event.batch in undone for event in journal if (event.because or "").startswith((SAYS_SAME, WITHIN))
    )


def merge(other: Record, keep: Record, evidence: str, changes: Changes) -> None:
    """Puts both into the change-set: `keep` with what both had, and `other` as superseded by it."""
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
    """With the counters of both: what was said twice was said again; and with what the other one brought along, unless that comes
    from somebody less trusted."""
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
    """The data of the one that stays, with the digests of the files of both."""
    digests = {**its.get(HASHES, {}), **mine.get(HASHES, {})}
    return {**mine, HASHES: digests} if digests else mine
