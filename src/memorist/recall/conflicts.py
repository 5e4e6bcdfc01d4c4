"""Stages for what does not fit together: they mark it, and put what was stated last first. Nothing is dropped for it: until
somebody resolves a conflict, both sides are shown."""

import math
from dataclasses import dataclass, replace
from datetime import datetime

from memorist.design import Tools
from memorist.kinds import MEMORY, kind_of
from memorist.recall.pipeline import Search
from memorist.recall.trim import weighed
from memorist.records import Hit, Record, Signal
from memorist.store.where import Where
from memorist.text.claims import claims, other_value
from memorist.worth import logistic, vouched_for

BEHIND = 0.98  # of the score of the current statement, for those that it replaced


@dataclass(frozen=True, slots=True)
class MarkConflicts:
    """Marks what another active memory contradicts, with that memory's id, and weighs it a little less."""

    weight: float = 0.85
    optional: bool = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        if not search.hits or search.as_of is not None:
            return search
        active = Where(search.where.access).also("state", "eq", "active")
        others: dict[str, list[str]] = {}
        for link in tools.store.links_of([hit.record.id for hit in search.hits], active):
            if link.kind == "contradicts":
                others.setdefault(link.a, []).append(link.b)
                others.setdefault(link.b, []).append(link.a)
        marked = [self._mark(hit, others.get(hit.record.id)) for hit in search.hits]
        return search.but(hits=tuple(marked)) if others else search

    def _mark(self, hit: Hit, others: list[str] | None) -> Hit:
        if not others:
            return hit
        return replace(weighed(hit, {"conflict": self.weight}), conflicts=tuple(dict.fromkeys(others)))


@dataclass(frozen=True, slots=True)
class NewestOfSlot:
    """Of several hits that give one slot different values, the one that was stated last comes first: that Anna lives in Lima,
    stated in May, is a better answer than that she lives in Rome, stated in March. Turns stay in their order: a talk has one
    of its own."""

    most: int = 10  # hits that are looked at, the best
    optional: bool = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        best = sorted(search.hits, key=lambda hit: (-hit.score, -hit.record.number))[: self.most]
        slots: dict[object, list[Hit]] = {}
        for hit in best:
            key = _slot(hit.record, tools)
            if key is not None:
                slots.setdefault(key, []).append(hit)
        moved = {new.record.id: new for hits in slots.values() if len(hits) > 1 for new in _reordered(hits)}
        return search.but(hits=tuple(moved.get(hit.record.id, hit) for hit in search.hits)) if moved else search


def _slot(record: Record, tools: Tools) -> object | None:
    """What it states something about; None where it states nothing that could be replaced."""
    kind = kind_of(record.kind, tools.kinds)
    said = claims(record.text) if kind.layer == MEMORY and not kind.append_only else None
    if said is None or len(said.slots) != 1:
        return None
    slot = said.slots[0]
    return slot.about, slot.counted, record.scope, record.provenance.speaker if said.personal else None


def _reordered(hits: list[Hit]) -> list[Hit]:
    """The hits of one slot: the newest with the best score of them, those that it replaced behind it. What nobody vouches for
    makes nothing outdated that somebody does."""
    newest = max([hit for hit in hits if vouched_for(hit.record)] or hits, key=_stated)
    now = claims(newest.record.text).slots[0]
    old = [h for h in hits if _stated(h) < _stated(newest) and other_value(claims(h.record.text).slots[0], now)]
    top = max((hit.score for hit in (newest, *old)), default=0.0)
    behind = [_rescored(hit, min(hit.score, top * BEHIND), "outdated") for hit in old]
    return [_rescored(newest, top, "newest"), *behind] if old else []


def _stated(hit: Hit) -> tuple[datetime, int]:
    return hit.record.times.at, hit.record.number


def _rescored(hit: Hit, score: float, name: str) -> Hit:
    """The hit with that score, and under this name what made the difference."""
    if score == hit.score or hit.score <= 0:
        return hit
    factor = score / hit.score
    if "relevance" not in hit.why:
        return replace(hit, score=score, why={**hit.why, name: factor})
    step = _log_odds(score) - _log_odds(hit.score)
    signals = (*hit.signals, Signal(name, factor, factor, step))
    total = logistic(sum(signal.contribution for signal in signals))
    return replace(hit, score=total, why={**hit.why, name: factor}, signals=signals)


def _log_odds(chance: float) -> float:
    bounded = min(max(chance, 1e-12), 1 - 1e-12)
    return math.log(bounded / (1 - bounded))
