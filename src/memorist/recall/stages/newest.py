"""Of memories that say nearly the same about the same thing, the one stated last comes first.

That Anna lives in Lima, stated in May, is a better answer than that she lives in Rome, stated in March, however well either
fits the query. Whether one memory takes the place of another is decided from the two texts (`models/pairs.py`,
`text/claims.py`); recency alone would put every newer note before every better one.
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
from memorist.scoring import held_up, log_odds, vouched_for
from memorist.text.claims import claims, other_value, same_slot, slots_in
from memorist.text.gist import TELLING_OF_CHANGE, gist, glance

FAR = 4.0  # log-odds between an older hit and a newer one that fits far less
WEAK = 2.5  # log-odds behind the best: hits further behind are beaten anyway
BEHIND = 0.999  # of the newer one's score: directly behind it


@dataclass(frozen=True, slots=True)
class NewestFirst:
    """Puts a newer hit before an older one whose place it seems to take, with the better score of the two, and the older one
    directly behind it. Only if that is certain enough to call them a contradiction does the newer one say what it `replaces`,
    and the older one that it is `outdated`. Turns keep their order: a talk has one of its own.

    How certain it must be depends on how much better the older one fits the query: a query about tea is not answered with what
    was said later about coffee. A memory of somebody whom the query names is not outdone by one of somebody else. A newer
    memory known to contradict a hit is added, however little it shares with the query.
    """

    most: int = 10  # the best hits, which are looked at
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
    """Newer memories that contradict one of the best and may take its place, with its score: they say in other words what was
    asked for. Whether such a memory was found by itself depends on how much else there is and on the limit; the answer must
    not."""
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
    """For each memory that contradicts one of the best and ranks behind it: the best such hit, by the memory's id."""
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
    sure: bool  # certain enough to say that the older one is outdated


def _replaced(by_time: Sequence[Hit], question: str) -> dict[str, Newer]:
    """The hits that were stated anew: by the id of each, the newest of those that took its place."""
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
    """Whether the newer one is shown first, although the older one fits better by `better`. A memory that nobody vouches for
    makes no vouched-for memory outdated, only a pin can outdate a pin, and two people may both say "I live in …"."""
    was, now = old.record, new.record
    flagged = now.id in old.conflicts
    if not (flagged or _may_take_it(new, old, better)) or not _may_come_first(now, was):
        return False
    if was.provenance.speaker != now.provenance.speaker and (claims(was.text).personal or claims(now.text).personal):
        return False
    later = _stated_later(now, was) and _says_so(new, old, flagged, better)
    return later and not _only_the_older(question, was.text, now.text)


def _may_take_it(new: Hit, old: Hit, better: float) -> bool:
    """Whether the pair is worth a closer look, which is seldom. A hit that is first already could only gain the mark that the
    older one is outdated, and hardly anything is certain enough to outdo what fits the query far better."""
    was, now = old.record.text, new.record.text
    if (old.score > new.score and better > FAR) or not pairs.meet(was, now):
        return False
    if not (old.score > new.score or glance(now).tells or slots_in(now)):
        return False
    # Whether the classifier or a rule could decide so at all; this check first, since it excludes most pairs.
    return pairs.may_reach(was, now, pairs.least("order") + max(0.0, better)) or bool(_another_value(was, now))


def _may_come_first(now: Record, was: Record) -> bool:
    """Whether both lie in the same place, the newer one has at least as much standing, and it may have been stated later. A
    quick glance at its text is enough here."""
    if (now.scope, now.home) != (was.scope, was.home) or _weight(was) > _weight(now):
        return False
    return now.times.stated > was.times.stated or not glance(now.text).cues.isdisjoint(TELLING_OF_CHANGE)


def _stated_later(now: Record, was: Record) -> bool:
    """Of two stated at the same time, such as lines of a list, only one that speaks of a change counts as later."""
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
    """The verdict of the rules, if they can read both texts."""
    before = slots_in(was)
    after = slots_in(now) if before else ()
    if not before or not after:
        return None
    return same_slot(before[0], after[0]) and other_value(before[0], after[0])


def _only_the_older(question: str, was: str, now: str) -> bool:
    """Whether only the older one holds a name or number of the query, and the newer one does not refer back to it."""
    asked, before, after = gist(question), gist(was), gist(now)
    named = (asked.names | asked.digits | (asked.words & before.names)) & (before.words | before.digits)
    return not after.back and not named <= (after.words | after.digits)


def _votes(record: Record) -> int:
    """A memory with more votes than its successor ranks behind it only if it is outdated for certain."""
    return record.counters.up - record.counters.down


def _weight(record: Record) -> int:
    return vouched_for(record) + held_up(record)


def _moved(best: Sequence[Hit], taken: Mapping[str, Newer]) -> dict[str, Hit]:
    """All hits that change, in the order of the best; each group is led by its newest, at the place of its best."""
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
    """The hit at its new place. A hit put in front matters as much as the one it precedes, and is kept as that would be."""
    newer = taken.get(hit.record.id)
    name = "newest" if newer is None else "outdated" if newer.sure else "older"
    why = {**hit.why, "relevance": relevance} if "relevance" in hit.why else hit.why
    replaces = tuple(id for id, by in taken.items() if by.sure and by.hit.record.id == hit.record.id)
    placed = rescored(replace(hit, why=why, replaces=replaces), score, name)
    return placed if name != "outdated" or name in placed.why else replace(placed, why={**placed.why, name: 1.0})


def _chain(hit: Hit, taken: Mapping[str, Newer]) -> list[Hit]:
    """The hit and everything that took its place, newest first."""
    chain = [hit]
    while chain[0].record.id in taken:  # ends, since each is newer than the one before
        chain.insert(0, taken[chain[0].record.id].hit)
    return chain
