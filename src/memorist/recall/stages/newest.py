"""Among memories that say nearly the same about the same thing, the one that was stated last comes first.

That Anna lives in Lima, stated in May, is a better answer than that she lives in Rome, stated in March, however well either
fits the question. Whether one takes the place of another is read off the two texts (`models/pairs.py`, `text/claims.py`):
recency alone would put every newer note before every better one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from memorist.design import Tools
from memorist.kinds import MEMORY
from memorist.lazy import dataclass
from memorist.models import pairs
from memorist.recall.pipeline import Search, ordered
from memorist.recall.stages.keep import not_believed, rescored
from memorist.records import Hit, Record, Signal
from memorist.text.claims import claims, other_value, same_slot, slots_in
from memorist.text.gist import TELLING_OF_CHANGE, gist, glance
from memorist.worth import held_up, log_odds, vouched_for

FAR = 4.0  # log-odds between an older hit and a newer one that fits far less
WEAK = 2.5  # log-odds behind the best: who is so far behind is outdone anyhow
BEHIND = 0.999  # of the score of the newer one: directly behind it


@dataclass(frozen=True, slots=True)
class NewestFirst:
    """Puts a newer hit before one whose place it seems to take, with the better score of the two, and the older one directly
    behind it. Only where that is sure enough to call them a contradiction, the newer one says which it `replaces`, and the
    older one that it is `outdated`. Turns stay in their order: a talk has one of its own.

    How sure one must be depends on how much better the older one fits the question: who asks for tea is not answered with
    what was said of coffee later. Who is named in the question is not outdone by somebody else. What a hit is known to
    contradict comes with it, if it is newer, however little it has of the question."""

    most: int = 10  # hits that are looked at, the best
    optional: bool = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        best = _with_newer(ordered(search.hits)[: self.most], search, tools)
        stating = (hit for hit in best if _states(hit.record, tools))
        by_time = sorted(stating, key=lambda hit: _key(hit.record), reverse=True)
        taken = _replaced(by_time, search.query)
        if not taken:
            return search
        moved = _moved(ordered(best), taken)
        known = {hit.record.id for hit in search.hits}
        hits = [*search.hits, *(hit for hit in best if hit.record.id in moved.keys() - known)]
        note = f"{len(taken)} of the best were stated anew"
        return search.but(hits=tuple(moved.get(hit.record.id, hit) for hit in hits), note=note)


def _with_newer(best: Sequence[Hit], search: Search, tools: Tools) -> list[Hit]:
    lifted = {hit.record.id: hit for hit in _lifted(best, search, tools)}
    return [*(hit for hit in best if hit.record.id not in lifted), *lifted.values()]


def _lifted(best: Sequence[Hit], search: Search, tools: Tools) -> list[Hit]:
    """Newer memories that contradict one of the best and may take its place, with its score: they say the same in other words
    than were asked. Whether one of them was found by itself depends on how much else there is and how many were asked for; the
    answer must not."""
    found = {hit.record.id: hit for hit in best}
    contradicted = _contradicted(best, found)
    lifted = list[Hit]()
    for record in tools.store.get(list(contradicted), search.where) if contradicted else ():
        old, own = contradicted[record.id], found.get(record.id)
        new = rescored(own, old.score, "newest") if own else _in_its_place(record, old)
        later = _key(record) > _key(old.record) and not_believed(record, search, tools) is None
        if later and _takes_the_place(new, old, 0.0, search.query):
            lifted.append(new)
    return lifted


def _contradicted(best: Sequence[Hit], found: Mapping[str, Hit]) -> dict[str, Hit]:
    """By the id of each that contradicts one of the best and stands behind it, the best of these."""
    told = [(id, hit) for hit in reversed(best) for id in hit.conflicts]
    return {id: hit for id, hit in told if id not in found or found[id].score < hit.score}


def _in_its_place(record: Record, old: Hit) -> Hit:
    level = Signal("contradicts", 1.0, 1.0, log_odds(old.score))
    return Hit(record, old.score, {"relevance": old.why.get("relevance", old.score)}, (level,), (old.record.id,))


def _states(record: Record, tools: Tools) -> bool:
    kind = tools.kinds[record.kind]
    return kind.layer == MEMORY and not kind.append_only


def _key(record: Record) -> tuple[datetime, int]:
    return record.times.stated, record.number


class Newer(NamedTuple):
    hit: Hit
    sure: bool  # enough to say that the older one is outdated


def _replaced(by_time: Sequence[Hit], question: str) -> dict[str, Newer]:
    """The id of each that was stated anew, with the newest of those that took its place."""
    found: dict[str, Newer] = {}
    levels = [log_odds(hit.score) for hit in by_time]
    best = max(levels, default=0.0)
    for place, old in enumerate(by_time):
        if levels[place] < best - WEAK:
            continue
        before = zip(by_time[:place], levels, strict=False)
        newer = (new for new, level in before if _takes_the_place(new, old, levels[place] - level, question))
        if new := next(newer, None):
            was, now = old.record.text, new.record.text
            found[old.record.id] = Newer(new, bool(_another_value(was, now)) or pairs.flags(was, now))
    return found


def _takes_the_place(new: Hit, old: Hit, better: float, question: str) -> bool:
    """Whether the newer one is to be shown first, where the older one fits so much better. What nobody vouches for makes nothing
    outdated that a person or an agent stands for, nothing does so to a pin, and two people may both say "I live in …"."""
    was, now = old.record, new.record
    flagged = now.id in old.conflicts
    if not (flagged or _may_take_it(new, old, better)) or not _may_come_first(now, was):
        return False
    if was.provenance.speaker != now.provenance.speaker and (claims(was.text).personal or claims(now.text).personal):
        return False
    later = _stated_later(now, was) and _says_so(new, old, flagged, better)
    return later and not _only_the_older(question, was.text, now.text)


def _may_take_it(new: Hit, old: Hit, better: float) -> bool:
    """Whether it is worth reading them closely; it seldom is. What is first already can only be called outdated by it, and
    hardly anything is so sure that it outdoes what fits the question far better."""
    was, now = old.record.text, new.record.text
    if (old.score > new.score and better > FAR) or not pairs.meet(was, now):
        return False
    if not (old.score > new.score or glance(now).tells or slots_in(now)):
        return False
    # Whether the classifier or a rule could say so at all: what most pairs are left out by is looked at first.
    return pairs.may_reach(was, now, pairs.least("order") + max(0.0, better)) or bool(_another_value(was, now))


def _may_come_first(now: Record, was: Record) -> bool:
    """Whether they lie in one place, no less speaks for the newer one, and it may be the later one, for which a glance does."""
    if (now.scope, now.home) != (was.scope, was.home) or _weight(was) > _weight(now):
        return False
    return now.times.stated > was.times.stated or not glance(now.text).cues.isdisjoint(TELLING_OF_CHANGE)


def _stated_later(now: Record, was: Record) -> bool:
    """Of two that were stated at once, such as the lines of a list, only one that tells of a change is the later one."""
    return now.times.stated > was.times.stated or gist(now.text).tells


def _says_so(new: Hit, old: Hit, flagged: bool, better: float) -> bool:
    was, now = old.record, new.record
    by_rule = _another_value(was.text, now.text)
    if by_rule is not None:
        return by_rule
    if flagged and pairs.flags(was.text, now.text):
        return True
    least = pairs.least("flag" if _votes(was) > _votes(now) else "order")
    return pairs.reaches(was.text, now.text, least + max(0.0, better))


def _another_value(was: str, now: str) -> bool | None:
    """What the rules say, where they can read both."""
    before = slots_in(was)
    after = slots_in(now) if before else ()
    if not before or not after:
        return None
    return same_slot(before[0], after[0]) and other_value(before[0], after[0])


def _only_the_older(question: str, was: str, now: str) -> bool:
    """Whether only the older one holds a name or a number of the question, and the newer one does not refer back to it."""
    asked, before, after = gist(question), gist(was), gist(now)
    named = (asked.names | asked.digits | (asked.words & before.names)) & (before.words | before.digits)
    return not after.back and not named <= (after.words | after.digits)


def _votes(record: Record) -> int:
    """What helped before is only behind what has outdated it for certain."""
    return record.counters.up - record.counters.down


def _weight(record: Record) -> int:
    return vouched_for(record) + held_up(record)


def _moved(best: Sequence[Hit], taken: Mapping[str, Newer]) -> dict[str, Hit]:
    """Every hit that changes: in the order of the best, each group with its newest at the place of its best."""
    scores = {hit.record.id: hit.score for hit in best}
    chances = {hit.record.id: hit.why.get("relevance", 0.0) for hit in best}
    for hit in best:
        names = [each.record.id for each in _chain(hit, taken)]
        top = max(map(scores.__getitem__, names))
        scores |= {name: min(scores[name], top * BEHIND**step) for step, name in enumerate(names)} | {names[0]: top}
        chances[names[0]] = max(map(chances.__getitem__, names))
    moved = taken.keys() | {newer.hit.record.id for newer in taken.values()}
    changed = {hit.record.id: hit for hit in best if hit.record.id in moved}
    return {id: _placed(hit, scores[id], chances[id], taken) for id, hit in changed.items()}


def _placed(hit: Hit, score: float, relevance: float, taken: Mapping[str, Newer]) -> Hit:
    """The hit at its place. What is put in front matters as much as what it stands before, and is kept as that would be."""
    newer = taken.get(hit.record.id)
    name = "newest" if newer is None else "outdated" if newer.sure else "older"
    why = {**hit.why, "relevance": relevance} if "relevance" in hit.why else hit.why
    replaces = tuple(id for id, by in taken.items() if by.sure and by.hit.record.id == hit.record.id)
    placed = rescored(replace(hit, why=why, replaces=replaces), score, name)
    return placed if name != "outdated" or name in placed.why else replace(placed, why={**placed.why, name: 1.0})


def _chain(hit: Hit, taken: Mapping[str, Newer]) -> list[Hit]:
    """What took its place, the newest first, and itself last."""
    chain = [hit]
    while chain[0].record.id in taken:  # it ends: each is newer than the one before
        chain.insert(0, taken[chain[0].record.id].hit)
    return chain
