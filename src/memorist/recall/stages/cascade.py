"""Adds memories related to the best hits, found along links and through tags and names that few memories share."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from memorist.access import GLOBAL, family_of
from memorist.design import Tools
from memorist.lazy import dataclass
from memorist.recall.pipeline import Search, ordered
from memorist.recall.stages.keep import not_believed, rescored
from memorist.recall.walk import Journey, Manner, Reached, of_one_standing
from memorist.records import Hit, Record, Signal
from memorist.scoring import log_odds
from memorist.store.nouns import shelf_of

SHARED = ("project", GLOBAL)  # families whose memories a link may bring into any query that may read them


@dataclass(frozen=True, slots=True)
class Cascade(Manner):
    """Adds what the best hits lead to; each step passes on less. A hit keeps its own score unless more reaches it by a link;
    `why` names the way. Vouched-for memories pass nothing to others, so no text can climb by a link or a tag that it made
    itself. Memories of a user, a session or a task are added only where the query reads these scopes."""

    seeds: int = 10  # the best hits, from which a walk starts
    optional: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        if not search.hits or search.as_of is not None:  # the links of that time are not known
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
    """The hits that are new or whose score rose."""
    found = {hit.record.id: hit for hit in search.hits}
    chance = any("relevance" in hit.why for hit in search.hits)
    joined = [joining(each, found.get(each.record.id), chance) for each in reached]
    return [hit for hit in joined if hit is not found.get(hit.record.id)]


def _belongs(record: Record, search: Search, tools: Tools) -> bool:
    """Whether the record may answer the query: on a requested layer, in a scope that it reads or that is shared, and valid
    now."""
    read = {shelf.scope for shelf in search.shelves}
    shared = record.scope in read or family_of(record.scope) in SHARED
    return shared and shelf_of(record).layer in search.layers and not_believed(record, search, tools) is None


def joining(reached: Reached, own: Hit | None, chance: bool) -> Hit:
    """The hit with the score that reached it, if that is higher than its own."""
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
    """The way in words."""
    return ", ".join(name for name in why if "[id:" in name)
