"""Among memories that say nearly the same about the same thing, the one that was stated last comes first.

That Anna lives in Lima, stated in May, is a better answer than that she lives in Rome, stated in March, however well either
fits the question. Whether one takes the place of another is read off the two texts (`models/pairs.py`, `text/claims.py`):
recency alone would put every newer note before every better one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from memorist.design import Tools
from memorist.kinds import MEMORY
from memorist.models import pairs
from memorist.recall.pipeline import Search, ordered
from memorist.recall.stages.keep import not_believed, rescored
from memorist.records import Hit, Record, Signal
from memorist.text.claims import claims, other_value, same_slot
from memorist.worth import held_up, vouched_for

BEHIND = 0.999  # of the score of the newer one: directly behind it


@dataclass(frozen=True, slots=True)
class NewestFirst:
    """Puts a newer hit before one whose place it takes, with the better score of the two, and the older one directly behind
    it; the newer one says which it `replaces`. Turns stay in their order: a talk has one of its own.

    How sure one must be depends on how much better the older one fits the question: who asks for tea is not answered with
    what was said of coffee later. What a hit is known to contradict is fetched, if it is newer and was not found itself."""

    most: int = 10  # hits that are looked at, the best
    optional: bool = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        best = ordered(search.hits)[: self.most]
        fetched = _fetched(best, search, tools)
        by_time = sorted((hit for hit in (*best, *fetched) if _states(hit.record, tools)), key=_stated, reverse=True)
        taken = _replaced(by_time)
        if not taken:
            return search
        moved = _moved(ordered((*best, *fetched)), taken)
        known = {hit.record.id for hit in search.hits}
        hits = [*search.hits, *(hit for hit in fetched if hit.record.id in moved and hit.record.id not in known)]
        note = f"{len(taken)} of the best were stated anew"
        return search.but(hits=tuple(moved.get(hit.record.id, hit) for hit in hits), note=note)


def _fetched(best: Sequence[Hit], search: Search, tools: Tools) -> list[Hit]:
    """Newer memories that contradict one of the best, with its score: they say the same in other words than were asked."""
    known = {hit.record.id for hit in search.hits}
    missing = {id: hit for hit in reversed(best) for id in hit.conflicts if id not in known}
    found = list[Hit]()
    for record in tools.store.get(list(missing), search.where) if missing else ():
        old = missing[record.id]
        if _key(record) > _key(old.record) and not_believed(record, search, tools) is None:
            level = Signal("contradicts", 1.0, 1.0, _log_odds(old.score))
            found.append(Hit(record, old.score, {"relevance": old.score}, (level,), (old.record.id,)))
    return found


def _states(record: Record, tools: Tools) -> bool:
    kind = tools.kinds[record.kind]
    return kind.layer == MEMORY and not kind.append_only


def _stated(hit: Hit) -> tuple[datetime, int]:
    return _key(hit.record)


def _key(record: Record) -> tuple[datetime, int]:
    return record.times.at, record.number


def _replaced(by_time: Sequence[Hit]) -> dict[str, Hit]:
    """The id of each that was stated anew, with the newest of those that took its place."""
    found: dict[str, Hit] = {}
    for place, old in enumerate(by_time):
        newer = next((new for new in by_time[:place] if _takes_the_place(new, old)), None)
        if newer is not None:
            found[old.record.id] = newer
    return found


def _takes_the_place(new: Hit, old: Hit) -> bool:
    """Whether the newer one is to be shown first. What nobody vouches for makes nothing outdated that a person or an agent
    stands for, nothing does so to a pin, and two people may both say "I live in …"."""
    was, now = old.record, new.record
    if (now.scope, now.home) != (was.scope, was.home) or _weight(was) > _weight(now):
        return False
    before, after = claims(was.text), claims(now.text)
    if (before.personal or after.personal) and was.provenance.speaker != now.provenance.speaker:
        return False
    if before.slots and after.slots:  # the rules can read both
        return same_slot(before.slots[0], after.slots[0]) and other_value(before.slots[0], after.slots[0])
    return _sure(new, old) >= pairs.least("flag" if _votes(was) > _votes(now) else "order")


def _sure(new: Hit, old: Hit) -> float:
    """How sure it is, less by how much the older one fits the question better."""
    return pairs.sure(old.record.text, new.record.text) - max(0.0, _log_odds(old.score) - _log_odds(new.score))


def _votes(record: Record) -> int:
    """What helped before is only behind what has outdated it for certain."""
    return record.counters.up - record.counters.down


def _weight(record: Record) -> int:
    return vouched_for(record) + held_up(record)


def _log_odds(score: float) -> float:
    bounded = min(max(score, 1e-6), 1 - 1e-6)
    return math.log(bounded / (1 - bounded))


def _moved(best: Sequence[Hit], taken: Mapping[str, Hit]) -> dict[str, Hit]:
    """Every hit that changes: in the order of the best, each group with its newest at the place of its best."""
    scores = {hit.record.id: hit.score for hit in best}
    replaces: dict[str, dict[str, None]] = {}
    for hit in best:
        names = [each.record.id for each in _chain(hit, taken)]
        top = max(scores[name] for name in names)
        scores |= {name: min(scores[name], top * BEHIND**step) for step, name in enumerate(names)} | {names[0]: top}
        for newer, older in pairwise(names):
            replaces.setdefault(newer, {})[older] = None
    changed = [hit for hit in best if hit.record.id in replaces.keys() | taken.keys()]
    return {hit.record.id: _placed(hit, scores[hit.record.id], taken, replaces) for hit in changed}


def _placed(hit: Hit, score: float, taken: Mapping[str, Hit], replaces: Mapping[str, Mapping[str, None]]) -> Hit:
    moved = rescored(hit, score, "outdated" if hit.record.id in taken else "newest")
    return replace(moved, replaces=tuple(replaces.get(hit.record.id, ())))


def _chain(hit: Hit, taken: Mapping[str, Hit]) -> list[Hit]:
    """What took its place, the newest first, and itself last."""
    chain = [hit]
    while chain[0].record.id in taken:  # it ends: each is newer than the one before
        chain.insert(0, taken[chain[0].record.id])
    return chain
