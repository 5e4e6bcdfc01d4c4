"""A memory that comes into another scope, or gets another text, meets others there as a new one does: what does not fit is
flagged, and what the new text no longer contradicts is at peace with it.

A move or a revision never retires anything else by itself. Both stay and are shown until somebody resolves it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from memorist.records import Link, Outcome, Record
from memorist.remember.changes import Author
from memorist.remember.conflict import DisputeKind, between
from memorist.remember.disputes import look
from memorist.remember.reconcile import NEW, Batch
from memorist.store.protocol import Store
from memorist.store.writer import Change, Clean

BOTH_HOLD = "both hold: "  # how the evidence begins where somebody resolved a conflict that way
FOUND = tuple(f"{kind}: " for kind in get_args(DisputeKind))  # how the evidence of a conflict begins that rules found


@dataclass(frozen=True, slots=True)
class Met:
    """The links of what does not fit, and their lines in the journal."""

    changes: tuple[Change, ...] = ()
    links: tuple[Link, ...] = ()
    removed: tuple[Link, ...] = ()


def meet(moved: Sequence[Clean], by: Author) -> Met:
    """What these do not fit where they are going, as far as it is not known."""
    batch = Batch(by.now())
    for record in moved:
        look(record, Outcome("changed", NEW, record.id), "flag", batch, by)
    fresh = [
        (change, link) for change, link in zip(batch.changes, batch.links, strict=True) if not _is_known(link, by.store)
    ]
    return Met(tuple(change for change, _ in fresh), tuple(link for _, link in fresh))


def _is_known(link: Link, store: Store) -> bool:
    """Whichever of the two came first; and once somebody said that both hold, nobody is asked again."""
    ends = ((link.a, link.b), (link.b, link.a))
    settled = [store.link(*pair, "relates_to") for pair in ends]
    return any(store.link(*pair, link.kind) for pair in ends) or any(
        each and (each.evidence or "").startswith(BOTH_HOLD) for each in settled
    )


def reworded(record: Clean, by: Author) -> Met:
    """What a memory does not fit since it has this text, and the conflicts that are over. Only those that were found by
    comparing texts: what somebody linked stays linked."""
    met = meet([record], by)
    links = [link for link in by.store.links_of([record.id], by.where) if link.kind == "contradicts"]
    found = [link for link in links if (link.evidence or "").startswith(FOUND)]
    ends = {end for link in found for end in (link.a, link.b)}
    known = {each.id: Clean(each) for each in by.store.get(list(ends), by.where)} | {record.id: record}
    over = [k for k in found if {k.a, k.b} <= known.keys() and not between(known[k.a].text, known[k.b].text)]
    ended = [Change("unlinked", known[k.a], _before(k), _at_peace(k, record, known), row=False) for k in over]
    return Met((*met.changes, *ended), met.links, tuple(over))


def _at_peace(link: Link, record: Record, known: Mapping[str, Record]) -> str:
    return f"it fits memory {known[link.b if link.a == record.id else link.a].number} now"


def _before(link: Link) -> dict[str, Any]:
    return {"other": link.b, "was": [link.kind, link.weight, link.evidence], "now": None}
