"""Among memories that say nearly the same about the same thing, the one that was stated last comes first.

That Anna lives in Lima, stated in May, is a better answer than that she lives in Rome, stated in March, however well either
fits the question. Whether one takes the place of another is read off the two texts (`models/pairs.py`, `text/claims.py`):
recency alone would put every newer note before every better one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from memorist.design import Tools
from memorist.kinds import MEMORY
from memorist.models import pairs
from memorist.recall.pipeline import Search, ordered
from memorist.recall.stages.keep import rescored
from memorist.records import Hit, Record
from memorist.text.claims import claims, other_value
from memorist.worth import vouched_for

BEHIND = 0.999  # of the score of the newer one: directly behind it


@dataclass(frozen=True, slots=True)
class NewestFirst:
    """Puts a newer hit before one whose place it takes, with the better score of the two, and the older one directly behind
    it; the newer one says which it `replaces`. Turns stay in their order: a talk has one of its own."""

    most: int = 10  # hits that are looked at, the best
    optional: bool = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        best = ordered(search.hits)[: self.most]
        by_time = sorted((hit for hit in best if _states(hit.record, tools)), key=_stated, reverse=True)
        taken = _replaced(by_time)
        if not taken:
            return search
        moved = _moved(best, taken)
        hits = tuple(moved.get(hit.record.id, hit) for hit in search.hits)
        return search.but(hits=hits, note=f"{len(taken)} of the best were stated anew")


def _states(record: Record, tools: Tools) -> bool:
    kind = tools.kinds[record.kind]
    return kind.layer == MEMORY and not kind.append_only


def _stated(hit: Hit) -> tuple[datetime, int]:
    return hit.record.times.at, hit.record.number


def _replaced(by_time: Sequence[Hit]) -> dict[str, Hit]:
    """The id of each that was stated anew, with the newest of those that took its place."""
    found: dict[str, Hit] = {}
    for place, old in enumerate(by_time):
        newer = next((new for new in by_time[:place] if takes_the_place(new.record, old.record)), None)
        if newer is not None:
            found[old.record.id] = newer
    return found


def takes_the_place(new: Record, old: Record) -> bool:
    """Whether the newer one is to be shown first. What nobody vouches for makes nothing outdated that a person or an agent
    stands for, and two people may both say "I live in …"."""
    if (new.scope, new.home) != (old.scope, old.home) or (vouched_for(old) and not vouched_for(new)):
        return False
    was, now = claims(old.text), claims(new.text)
    if (was.personal or now.personal) and old.provenance.speaker != new.provenance.speaker:
        return False
    if len(was.slots) == len(now.slots) == 1 and (was.slots[0].about, was.slots[0].counted) == (
        now.slots[0].about,
        now.slots[0].counted,
    ):
        return other_value(was.slots[0], now.slots[0])
    return pairs.orders(old.text, new.text)


def _moved(best: Sequence[Hit], taken: Mapping[str, Hit]) -> dict[str, Hit]:
    """Every hit that changes: in the order of the best, each group with its newest at the place of its best."""
    moved: dict[str, Hit] = {}
    replaces: dict[str, list[str]] = {}
    for hit in best:
        chain = [hit]
        while chain[-1].record.id in taken:  # it ends: each is newer than the one before
            chain.append(taken[chain[-1].record.id])
        for older, newer in pairwise(chain):
            replaces.setdefault(newer.record.id, []).append(older.record.id)
        top = max(moved.get(each.record.id, each).score for each in chain)
        for step, each in enumerate(reversed(chain)):
            known = moved.get(each.record.id, each)
            due = top if not step else min(known.score, top * BEHIND**step)
            moved[each.record.id] = rescored(known, due, "outdated" if step else "newest")
    return {
        id: replace(hit, replaces=tuple(dict.fromkeys(replaces.get(id, ()))))
        for id, hit in moved.items()
        if id in replaces or id in taken
    }
