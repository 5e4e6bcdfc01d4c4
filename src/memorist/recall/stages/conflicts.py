"""Hits beside one another: those that contradict, replace, repeat or crowd out others.

Nothing is dropped because it contradicts something: until a person resolves a conflict, both sides are shown, marked, with
what was stated last in front.

But one source that nobody vouches for has one voice in an answer, however often it speaks. Hundreds of texts of much the same
words would fill every place, and what the user said would not be read. So of what is of low trust and confirmed by nobody, an
answer holds each claim once, and of what one tool wrote in one session the best only. What is trusted is never touched. A
user's own imported notes are of low trust too: there only what says the same goes.

A crowd also fills the pools that are looked at before anything is read. Where so much was dropped that others may have been
kept out, the question goes through the stages once more (`pipeline.run`) without texts of that origin, beside the voices that
were heard.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import ClassVar

from memorist.design import Tools
from memorist.kinds import MEMORY, TURNS, kind_of
from memorist.recall.pipeline import Search, ordered
from memorist.recall.stages.weigh import weighed
from memorist.records import Hit, Record, Signal
from memorist.store.where import Where
from memorist.text.claims import claims, other_value
from memorist.text.twins import LONGEST_COMPARED, TRIGRAMS_SHARED, jaccard, near_twins, normalised, trigrams
from memorist.worth import held_up, logistic, vouched_for

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
        for link in tools.store.links(active, [hit.record.id for hit in search.hits]):
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
        best = ordered(search.hits)[: self.most]
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
    makes nothing outdated that a person or an agent stands for."""
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


# ---------------------------------------------------------------- voices


@dataclass(frozen=True, slots=True)
class OneVoice:
    """Drops what repeats a better hit of low trust, and all but the best of what one tool wrote. It stands right before
    `keep_best` and looks until so many are left as were asked for: what comes after those is not shown anyway."""

    def __call__(self, search: Search, tools: Tools) -> Search:
        hits = (*search.hits, *(search.heard or ()))
        if all(vouched_for(hit.record) for hit in hits):
            return search.but(hits=hits)
        kept, lost = _voices(hits, search.limit, tools)
        crowded = search.heard is None and bool(lost) and (len(kept) < search.limit or len(lost) > search.limit)
        search = search.but(hits=tuple(kept), dropped=lost)
        if not crowded:
            return search
        crowd = sorted({hit.record.origin for hit in hits if hit.record.id in lost})
        heard = tuple(hit for hit in kept if hit.record.origin in crowd)
        others = search.where
        for origin in crowd:
            others = others.also("origin", "ne", origin)
        return search.but(again=others, heard=heard, note=f"a crowd of origin {' and '.join(crowd)}: asking again")


@dataclass(frozen=True, slots=True)
class Spread:
    """At most so many from one session, so that one long day does not answer everything. What is pinned stays."""

    most: int = 2
    optional: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        taken: dict[str, int] = {}
        kept, lost = [], {}
        for hit in ordered(search.hits):
            session = hit.record.provenance.session
            if session is not None and not held_up(hit.record):
                taken[session] = taken.get(session, 0) + 1
                if taken[session] > self.most:
                    lost[hit.record.id] = f"session {session} has {self.most} better ones already"
                    continue
            kept.append(hit)
        return search.keeping(kept, lost)


def _voices(hits: Sequence[Hit], limit: int, tools: Tools) -> tuple[list[Hit], dict[str, str]]:
    """Those that have something of their own to say, best first, and why the others have not."""
    kept: list[Hit] = []
    lost: dict[str, str] = {}
    best = ordered(hits)
    for place, hit in enumerate(best):
        if len(kept) >= limit:
            return [*kept, *best[place:]], lost
        because = None if vouched_for(hit.record) else _said_before(hit.record, kept, tools)
        if because is None:
            kept.append(hit)
        else:
            lost[hit.record.id] = because
    return kept, lost


def _said_before(record: Record, kept: Sequence[Hit], tools: Tools) -> str | None:
    """Why it adds nothing to those that nobody vouches for either; None if it does."""
    for other in (hit.record for hit in kept if not vouched_for(hit.record)):
        if near_twins(record.text, other.text) or (
            _by_a_tool(record, other) and _spelled_alike(record.text, other.text)
        ):
            return f"memory {other.number} says nearly the same, and nobody vouches for either"
        if _one_source(record, other) and kind_of(record.kind, tools.kinds).layer != TURNS:
            return f"memory {other.number} is of the same tool and session, and nobody vouches for either"
    return None


def _by_a_tool(a: Record, b: Record) -> bool:
    return a.origin == "tool" and b.origin == "tool"


def _one_source(a: Record, b: Record) -> bool:
    return _by_a_tool(a, b) and _source(a) == _source(b)


def _source(record: Record) -> tuple[str | None, ...]:
    said = record.provenance
    return said.actor, said.surface, said.session, said.speaker


def _spelled_alike(a: str, b: str) -> bool:
    """Most of the letters are the same: another number or name is another claim, but for a tool's it is the same voice."""
    return jaccard(_trigrams(a[:LONGEST_COMPARED]), _trigrams(b[:LONGEST_COMPARED])) >= TRIGRAMS_SHARED


@lru_cache(maxsize=1024)
def _trigrams(text: str) -> frozenset[str]:
    return trigrams(normalised(text))
