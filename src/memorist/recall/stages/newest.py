"""Of two memories of which the newer one replaces the older, the newer one comes first.

That Anna lives in Lima, stated in May, is a better answer than that she lives in Rome, stated in March, however well either fits
the query. Which replaces which was judged when the newer one was written, and is a link between the two. Of the first hits, one
pair that no link speaks of may be judged now.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import combinations

from memorist.design import Tools, bounded
from memorist.kinds import MEMORY
from memorist.lazy import dataclass
from memorist.models import reader
from memorist.recall.pipeline import Search, ordered
from memorist.recall.stages.keep import not_believed, rescored
from memorist.records import NEWER, Hit, Record, Signal
from memorist.scoring import held_up, log_odds, may_outdate
from memorist.store.where import Where
from memorist.text.claims import LONGEST_CLAIM, is_alike, is_personal, other_value
from memorist.text.words import terms

FIRST = 5  # hits, of which the first and one other may be judged now
ALIKE = 0.35  # cosine of the static table from which a pair is worth the reader's time: at .4 outdated first rises by 5 points
BEHIND = 0.999  # of the newer one's score: directly behind it


@dataclass(frozen=True, slots=True)
class NewestFirst:
    """Puts a newer hit in the place of the older one that it replaces, and the older one directly behind it. The newer one says
    what it `replaces`, and the older one that it is `outdated`. Turns keep their order: a talk has one of its own.

    The newer one never gets more than the older one had for this query. If it was not found, it is added: it says in other words
    what was asked for.
    """

    most: int = bounded(2, 100, 10)  # the best hits, which are looked at
    optional: bool = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        if search.judged:  # its choice stands
            return search
        best = [hit for hit in ordered(search.hits)[: self.most] if _states(hit.record, tools)]
        links = _links(best, search, tools)
        best += _added(best, links, search, tools)
        asked = set(search.terms)
        newer: dict[str, tuple[bool, float, Hit]] = {}  # by the id of the older one, what replaces it
        for old, new in combinations(sorted(best, key=_key), 2):
            values = other_value(old.record.text, new.record.text)
            own = set(terms(values.was)).difference(terms(new.record.text)) if values else set()
            if own & asked:  # the question names the older value, so it is about that
                continue
            alike = values is not None and not values.names
            sure = links.get(frozenset((old.record.id, new.record.id)), 0.0)
            if (alike or sure) and _may_replace(new.record, old.record):
                found = alike, sure, new
                if found[:2] >= newer.get(old.record.id, (False, 0.0))[:2]:  # the surest, and of these the newest
                    newer[old.record.id] = found
        pair = _unjudged(best, links, search) if best and best[0].record.id not in newer and tools.reads else None
        if pair:
            old, new = pair
            sure = reader.relations([(old.record.text, new.record.text)])[0].replaces
            if sure >= reader.ORDER:
                newer[old.record.id] = False, sure, new
        if not newer:
            return search
        hits = {hit.record.id: hit for hit in (*best, *search.hits)}
        older = sorted((hit for hit in best if hit.record.id in newer), key=_key)
        for old in older:  # the oldest first, so that of a chain the newest ends in front
            id, (_, sure, new) = old.record.id, newer[old.record.id]
            before, after = hits[id], hits[new.record.id]
            lifted = rescored(_with_chance(after, before), max(before.score, after.score), "newest")
            hits[new.record.id] = replace(lifted, replaces=(*lifted.replaces, id)) if sure >= reader.ORDER else lifted
        for old in reversed(older):
            id, (_, sure, new) = old.record.id, newer[old.record.id]
            before = hits[id]
            behind = rescored(before, min(before.score, hits[new.record.id].score * BEHIND), "behind")
            # If less sure, both may hold, and they only change places.
            hits[id] = replace(behind, why={**behind.why, "outdated": 1.0}) if sure >= reader.ORDER else behind
        kept = {hit.record.id for hit in search.hits} | {new.record.id for _, _, new in newer.values()}
        return search.but(
            hits=tuple(ordered(hit for id, hit in hits.items() if id in kept)),
            note=f"{len(newer)} hits are superseded by newer ones",
        )


def _states(record: Record, tools: Tools) -> bool:
    kind = tools.kinds[record.kind]
    return kind.layer == MEMORY and not kind.append_only


def _key(hit: Hit) -> tuple[datetime, int]:
    return hit.record.times.stated, hit.record.number


def _links(best: Sequence[Hit], search: Search, tools: Tools) -> dict[frozenset[str], float]:
    """The pairs of which one contradicts the other, which is 1, or may replace it, with the probability."""
    active = Where(search.where.access).also("state", "eq", "active")
    links = tools.store.links(active, [hit.record.id for hit in best]) if best and search.as_of is None else []
    newer = {frozenset((link.a, link.b)): link.weight for link in links if link.evidence == NEWER}
    return newer | {frozenset((link.a, link.b)): 1.0 for link in links if link.kind == "contradicts"}


def _added(best: Sequence[Hit], links: Iterable[frozenset[str]], search: Search, tools: Tools) -> list[Hit]:
    """Newer memories that were not found, or rank far behind, with the score of the best of those that they replace."""
    there = {hit.record.id: hit for hit in reversed(best)}
    older = {id: there[known] for pair in links for id in pair - there.keys() for known in pair & there.keys()}
    found = []
    for record in tools.store.get(list(older), search.where) if older else ():
        old = older[record.id]
        if (record.times.stated, record.number) > _key(old) and not_believed(record, search, tools) is None:
            level = Signal("newest", 1.0, 1.0, log_odds(old.score))
            found.append(Hit(record, old.score, {"relevance": old.why.get("relevance", old.score)}, (level,)))
    return found


def _unjudged(best: Sequence[Hit], links: Container[frozenset[str]], search: Search) -> tuple[Hit, Hit] | None:
    """The first hit, and of the next ones the likest newer one, if no link speaks of the two. Texts that differ in one value only
    were judged by rule when they were written."""
    from memorist.models.embed import StaticEmbedder

    some = [hit for hit in best[:FIRST] if len(hit.record.text) <= LONGEST_CLAIM]
    if len(some) < 2 or some[0] is not best[0] or search.left() == 0:
        return None
    old, *others = some
    newer = [
        hit
        for hit in others
        if _key(old) < _key(hit)
        and frozenset((old.record.id, hit.record.id)) not in links
        and _may_replace(hit.record, old.record)
        and not is_alike(old.record.text, hit.record.text)
    ]
    if not newer:
        return None
    vectors = StaticEmbedder().embed([old.record.text, *(hit.record.text for hit in newer)])
    cosines = (vectors[1:] @ vectors[0]).tolist()
    likest = max(range(len(newer)), key=cosines.__getitem__)
    return (old, newer[likest]) if cosines[likest] >= ALIKE else None


def _may_replace(new: Record, old: Record) -> bool:
    """Whether it may do so here: only a pin outdates a pin, no vote is overruled, and two people may both say "I live in …"."""
    if (new.scope, new.home) != (old.scope, old.home) or new.times.stated < old.times.stated:
        return False
    if not may_outdate(new, old) or held_up(old) > held_up(new):
        return False
    if old.counters.up - old.counters.down > new.counters.up - new.counters.down:
        return False
    personal = is_personal(old.text) or is_personal(new.text)
    return not personal or old.provenance.speaker == new.provenance.speaker


def _with_chance(hit: Hit, old: Hit) -> Hit:
    """The hit with at least the relevance of the one it replaces: it is kept as that would be."""
    chance = max(hit.why.get("relevance", 0.0), old.why.get("relevance", 0.0))
    return replace(hit, why={**hit.why, "relevance": chance}) if "relevance" in hit.why else hit
