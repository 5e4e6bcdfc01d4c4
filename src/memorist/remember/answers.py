"""What a person's answer to a question of upkeep does.

An answer is kept where the next upkeep reads it: two memories that both hold are related as such, and a memory that still holds
gets the digests of its files as they are now. So nobody is asked the same thing twice.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from memorist.errors import NotFound
from memorist.folder import HASHES
from memorist.records import Outcome, Record, Report
from memorist.remember import conflicts, consent, edit
from memorist.remember.changes import Caller, Changes

VERIFIED = "verified"
STILL_HOLDS = "a person says that it still holds"
TAGGED = "tagged"


# ---------------------------------------------------------------- two that contradict one another


def replaces(details: Mapping[str, Any], by: Caller) -> Outcome:
    """The newer one holds: the older one is superseded."""
    return _resolved(details, details["a"], by)


def both_hold(details: Mapping[str, Any], by: Caller) -> None:
    """Both hold, and are related as such."""
    _resolved(details, conflicts.BOTH, by)


def _resolved(details: Mapping[str, Any], keep: str, by: Caller) -> Outcome:
    """Closes it as `resolve` does; a conflict that only upkeep saw is noted first, in the same batch."""
    both, by = _both(details, by), replace(by, batch=[])
    a, b = both()
    if not conflicts.links_between(a, b, by.store, ("contradicts", "supersedes")):
        edit.relate(both, "contradicts", by, 1.0, details["because"])
    return conflicts.resolve(both, keep, details["because"], by)


def _both(details: Mapping[str, Any], by: Caller) -> Callable[[], tuple[Record, Record]]:
    def find() -> tuple[Record, Record]:
        found = by.store.get([details["a"], details["b"]], by.where)
        if len(found) != 2:
            raise NotFound("one of the two memories no longer exists; deny the question to remove it from the list")
        consent.must_be_at(details.get("versions", {}), found)
        return found[0], found[1]

    return find


# ---------------------------------------------------------------- files that changed


def still_holds(details: Mapping[str, Any], by: Caller) -> None:
    """The memories of the question get the digests that their files had when it was asked."""
    changes = Changes.of(by)
    for record in by.store.get(list(details["hashes"]), by.where):
        if record.state == "active":
            kept = {**record.data.get(HASHES, {}), **details["hashes"][record.id]}
            new = replace(record, data={**record.data, HASHES: kept})
            changes.put(VERIFIED, record, changes.stamped(record, new), STILL_HOLDS)
    changes.commit()


# ---------------------------------------------------------------- tags


def retagged(details: Mapping[str, Any], by: Caller) -> Report:
    """The memories of a scope bear one tag instead of several that mean the same."""
    others, kept, because = set(details["others"]), details["tag"], details["because"]
    where = by.where.also("state", "eq", "active").also("scope", "eq", details["scope"])
    sweep = edit.Sweep(TAGGED, partial(_with_tag, kept=kept, others=others), because, where, by)
    found = by.store.briefs(where.also("tags", "any", tuple(sorted(others))))
    return sweep.apply([brief.id for brief in found])


def _with_tag(record: Record, kept: str, others: set[str]) -> Record:
    return replace(record, tags=tuple(dict.fromkeys(kept if tag in others else tag for tag in record.tags)))
