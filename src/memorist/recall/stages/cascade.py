"""What hangs together with the best hits joins them: along links, and through tags and names that few memories share."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from memorist.access import GLOBAL, family_of
from memorist.design import Tools
from memorist.lazy import dataclass
from memorist.recall.pipeline import Search, ordered
from memorist.recall.stages.keep import not_believed, rescored
from memorist.recall.walk import Journey, Manner, Reached, of_one_standing
from memorist.records import Hit, Record, Signal
from memorist.store.nouns import shelf_of
from memorist.worth import log_odds

SHARED = ("project", GLOBAL)  # families whose memories a link may bring into any question that may read them


@dataclass(frozen=True, slots=True)
class Cascade(Manner):
    """Brings what the best hits lead to, in steps that each hand on less. A hit keeps its own score, unless more arrives at it
    by a link; `why` names the way. What nobody vouches for gets nothing from what somebody does, so no text climbs by a link or
    a tag that it made itself. A user's, a session's or a task's memories come only where the question reads these."""

    seeds: int = 10  # hits that a walk begins from, the best
    optional: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        if not search.hits or search.as_of is not None:  # what was linked then is not known
            return search
        seeds = [(hit.record, hit.score) for hit in ordered(search.hits)[: self.seeds]]
        walk = Journey(self, search.where, search.shelves, search.now, tools.store, of_one_standing)
        new = _joined([each for each in walk.beginning(seeds) if _belongs(each.record, search, tools)], search)
        if not new:
            return search
        note = "; ".join([f"[id:{hit.record.number}] {way_of(hit.why)}" for hit in new[: self.seeds]])
        hits = {hit.record.id: hit for hit in (*search.hits, *new)}
        return search.but(hits=tuple(hits.values()), note=note)


def _joined(reached: Sequence[Reached], search: Search) -> list[Hit]:
    """The hits that are new, or have more than before."""
    found = {hit.record.id: hit for hit in search.hits}
    chance = any("relevance" in hit.why for hit in search.hits)
    joined = [joining(each, found.get(each.record.id), chance) for each in reached]
    return [hit for hit in joined if hit is not found.get(hit.record.id)]


def _belongs(record: Record, search: Search, tools: Tools) -> bool:
    """Whether the question may be answered by it: on a layer that was asked, in a scope that it reads or that is nobody's own,
    and holding now."""
    read = {shelf.scope for shelf in search.shelves}
    shared = record.scope in read or family_of(record.scope) in SHARED
    return shared and shelf_of(record).layer in search.layers and not_believed(record, search, tools) is None


def joining(reached: Reached, own: Hit | None, chance: bool) -> Hit:
    """The hit with what arrived at it, if that is more than it has."""
    score = reached.score
    if own is not None and own.score >= score:
        return own
    if own is not None:
        return rescored(own, score, f"linked {way_of(dict(reached.way))}")
    if not chance:
        return Hit(reached.record, score, dict(reached.way))
    level = Signal("linked", score, score, log_odds(score))
    return Hit(reached.record, score, {"relevance": score, **dict(reached.way)}, (level,))


def way_of(why: Mapping[str, float]) -> str:
    """By which way, in words."""
    return ", ".join(name for name in why if "[id:" in name)
