"""Adds memories related to the best hits, found along links and through tags and names that few memories share."""

from typing import ClassVar

from memorist.access import GLOBAL, family_of
from memorist.design import Tools, bounded
from memorist.lazy import dataclass
from memorist.recall.pipeline import Search, ordered
from memorist.recall.stages.keep import not_believed, rescored
from memorist.recall.walk import Journey, Manner
from memorist.records import Hit, Signal
from memorist.scoring import log_odds
from memorist.store.nouns import shelf_of

SHARED = ("project", GLOBAL)  # families whose memories a link may bring into any query that may read them


@dataclass(frozen=True, slots=True)
class Cascade(Manner):
    """Adds what the best hits lead to; each step passes on less. A hit keeps its own score unless more reaches it by a link;
    `why` names the way. Verified memories pass nothing to others, so no text can climb by a link or a tag that it made itself.
    Memories of a user, a session or a task are added only where the query reads these scopes."""

    seeds: int = bounded(1, 100, 10)  # the best hits, from which a walk starts
    optional: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        if not search.hits or search.as_of is not None:  # the links of that time are not known
            return search
        seeds = [(hit.record, hit.score) for hit in ordered(search.hits)[: self.seeds]]
        walk = Journey(self, search.where, search.shelves, search.now, tools.store, apart=True)
        is_chance = any("relevance" in hit.why for hit in search.hits)
        hits, notes = {hit.record.id: hit for hit in search.hits}, list[str]()
        for step in walk.beginning(seeds):
            own = hits.get(step.record.id)
            record, score = step.record, step.score
            # It lies on a requested layer, in a scope that the query reads or that is shared, and holds now.
            is_shared = family_of(record.scope) in SHARED or record.scope in {shelf.scope for shelf in search.shelves}
            may_answer = (
                is_shared and shelf_of(record).layer in search.layers and not_believed(record, search, tools) is None
            )
            if not may_answer or (own and own.score >= score):
                continue
            way = ", ".join(name for name, _ in step.way)
            if own:
                hits[record.id] = rescored(own, score, f"linked {way}")
            elif is_chance:
                signal = Signal("linked", score, score, log_odds(score))
                hits[record.id] = Hit(record, score, {"relevance": score, **dict(step.way)}, (signal,))
            else:
                hits[record.id] = Hit(record, score, dict(step.way))
            notes.append(f"[id:{record.number}] {way}")
        return search.but(hits=tuple(hits.values()), note="; ".join(notes[: self.seeds])) if notes else search
