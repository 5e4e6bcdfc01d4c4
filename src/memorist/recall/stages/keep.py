"""Stages that keep some of what was found. Each that drops a record says why; `why_not` reads it.

One source that nobody vouches for has one voice in an answer, however often it speaks. Hundreds of texts of much the same
words would fill every place, and what the user said would not be read. So among memories of low trust that no
one confirmed, an answer holds each claim once, and only the best of those one tool wrote in one session. Trusted memories
are never touched. A user's own imported notes are of low trust too: of those, only repetitions go.

A crowd also fills the pools that are looked at before anything is read. Where so much was dropped that others may have been
kept out, the question goes through the stages once more (`pipeline.run`) without texts of that origin, beside the voices that
were heard.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import ClassVar

from memorist.design import Tools
from memorist.kinds import TURNS
from memorist.recall.pipeline import Search, ordered
from memorist.records import Hit, Record
from memorist.store.protocol import Store
from memorist.text.twins import LONGEST_COMPARED, TRIGRAMS_SHARED, jaccard, near_twins, normalised, trigrams
from memorist.worth import held_up, vouched_for


@dataclass(frozen=True, slots=True)
class Believed:
    """Drops what does not hold at the moment that is asked about: now, or `as_of`."""

    def __call__(self, search: Search, tools: Tools) -> Search:
        reasons = {hit.record.id: not_believed(hit.record, search, tools) for hit in search.hits}
        dropped = {id: reason for id, reason in reasons.items() if reason}
        note = f"as of {search.as_of.isoformat()}" if search.as_of else None
        return search.keeping([hit for hit in search.hits if hit.record.id not in dropped], dropped, note)


@dataclass(frozen=True, slots=True)
class Abstain:
    """Answers nothing where nothing here seems to be the answer: a wrong memory in a prompt is worse than none."""

    below: float  # the chance that the answer is here, as the best hit's relevance says it
    unless_covered: float = 0.3  # a question for a word gets what holds it, however common it is

    def __call__(self, search: Search, tools: Tools) -> Search:
        best = max((hit.why["relevance"] for hit in search.hits), default=1.0)
        covered = max((s.value for hit in search.hits for s in hit.signals if s.name == "words"), default=0.0)
        if best >= self.below or covered >= self.unless_covered:
            return search
        because = (
            f"nothing here seems to answer this: the best of it has a relevance of {best:.2f}, under {self.below:.2f}"
        )
        return search.keeping((), {hit.record.id: because for hit in search.hits}).but(empty_because=because)


@dataclass(frozen=True, slots=True)
class DropWeak:
    """Drops hits far weaker than the best: a tail of chance matches teaches a reader to ignore the answer."""

    share: float
    optional: bool = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        best = max((hit.score for hit in search.hits), default=0.0)
        kept = [hit for hit in search.hits if hit.score >= best * self.share]
        weak = [hit for hit in search.hits if hit.score < best * self.share]
        reasons = {h.record.id: f"score {h.score:.3f} is under {self.share:.0%} of the best" for h in weak}
        return search.keeping(kept, reasons)


@dataclass(frozen=True, slots=True)
class KeepClose:
    """The best, and then each next as long as it keeps up with the best and with the one before it: the gate for prompts
    that no one reviews before they are sent."""

    of_best: float = 0.90
    of_previous: float = 0.95
    most: int = 5

    def __call__(self, search: Search, tools: Tools) -> Search:
        best = ordered(search.hits)
        kept = best[:1]
        for hit in best[1 : self.most]:
            if hit.score < self.of_best * kept[0].score or hit.score < self.of_previous * kept[-1].score:
                break
            kept.append(hit)
        lost = {h.record.id: f"score {h.score:.3f} falls off after {len(kept)}" for h in best[len(kept) :]}
        return search.keeping(kept, lost)


@dataclass(frozen=True, slots=True)
class KeepBest:
    """The best `limit`, in order. So many pinned ones of what was found stand first; the trace names the others."""

    pinned: int = 0

    def __call__(self, search: Search, tools: Tools) -> Search:
        best = ordered(search.hits)
        pins = [hit for hit in best if held_up(hit.record)] if self.pinned else []
        if pins:
            best = list({hit.record.id: hit for hit in (*pins[: self.pinned], *best)}.values())
        kept, rest = best[: search.limit], enumerate(best[search.limit :], search.limit + 1)
        lost = {hit.record.id: f"rank {place}, asked for {search.limit}" for place, hit in rest}
        return search.keeping(kept, lost, _too_many(pins, self.pinned))


def _too_many(pins: Sequence[Hit], first: int) -> str | None:
    if not first or len(pins) <= first:
        return None
    others = ", ".join(f"[id:{hit.record.number}]" for hit in pins[first : first + 5])
    return f"{len(pins)} pinned memories fit; {first} stand first, by score only: {others}"


@dataclass(frozen=True, slots=True)
class KeepTop:
    """So many of the best, and the pinned ones; the stages after it choose among them."""

    most: int = 15

    def __call__(self, search: Search, tools: Tools) -> Search:
        most = max(search.pool(self.most), search.limit)
        best = ordered(search.hits)
        beyond = {hit.record.id: place for place, hit in enumerate(best, 1) if place > most and not held_up(hit.record)}
        lost = {id: f"place {place}, {most} are looked at" for id, place in beyond.items()}
        return search.keeping([hit for hit in best if hit.record.id not in lost], lost)


@dataclass(frozen=True, slots=True)
class DropTail:
    """Drops the weak tail of three or more hits: what scores under half the median, or the lowest 30 %. Pinned memories stay."""

    rule: str = "median"  # or "lowest"
    share: float = 0.3  # of the hits, for "lowest"
    optional: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        if len(search.hits) < 3:
            return search
        best = ordered(search.hits)
        if self.rule == "median":
            bar = (best[(len(best) - 1) // 2].score + best[len(best) // 2].score) / 4  # half the median
            weak, because = [hit for hit in best if hit.score < bar], f"under {bar:.3f}, half the median"
        else:
            weak = best[len(best) - int(self.share * len(best)) :]
            because = f"among the lowest {self.share:.0%}"
        lost = {hit.record.id: f"score {hit.score:.3f} is {because}" for hit in weak if not held_up(hit.record)}
        return search.keeping([hit for hit in best if hit.record.id not in lost], lost)


# ---------------------------------------------------------------- what held when


def not_believed(record: Record, search: Search, tools: Tools) -> str | None:
    """Why it does not hold at the moment that is asked about; None if it does."""
    moment, times = search.as_of or search.now, record.times
    if search.as_of is None and record.state != "active":
        return None  # a search of the archive wants what no longer holds
    if times.valid_from and times.valid_from > moment:
        return f"holds only from {times.valid_from.isoformat()}"
    if times.valid_to and times.valid_to <= moment:
        return f"held only until {times.valid_to.isoformat()}"
    return None if search.as_of is None else _not_yet_or_no_more(record, search.as_of, search, tools)


def _not_yet_or_no_more(record: Record, moment: datetime, search: Search, tools: Tools) -> str | None:
    """Why it was not a memory at that moment."""
    if record.times.created > moment:
        return f"was stored later, at {record.times.created.isoformat()}"
    if tools.kinds[record.kind].layer not in search.layers:
        return f"is a {record.kind}, which was not asked for"
    return "was forgotten then" if _forgotten_then(record, moment, tools.store) else None


def _forgotten_then(record: Record, moment: datetime, store: Store) -> bool:
    """The journal knows: the first change of state after the moment says what the state was at it."""
    whole = record.superseded_by or record.id  # the past text of a memory was forgotten with it
    for event in store.journal(record=whole):
        if event.at > moment and event.before is not None and "state" in event.before:
            return bool(event.before["state"] != "active")
    return record.state == "archived"


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
        origins = {hit.record.origin for hit in hits if hit.record.id in lost}
        return self._once_more(search, origins) if crowded else search

    @staticmethod
    def _once_more(search: Search, crowd: AbstractSet[str]) -> Search:
        """The question is to be asked again without what came from where the crowd did."""
        others, names = search.where, sorted(crowd)
        for origin in names:
            others = others.also("origin", "ne", origin)
        heard = tuple(hit for hit in search.hits if hit.record.origin in crowd)
        return search.but(again=others, heard=heard, note=f"a crowd of origin {' and '.join(names)}: asking again")


@dataclass(frozen=True, slots=True)
class Spread:
    """At most so many from one session, so that one long day does not answer everything. Pinned memories stay."""

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
        by_a_tool = record.origin == other.origin == "tool"
        if near_twins(record.text, other.text) or (by_a_tool and _spelled_alike(record.text, other.text)):
            return f"memory {other.number} says nearly the same, and nobody vouches for either"
        if by_a_tool and _source(record) == _source(other) and tools.kinds[record.kind].layer != TURNS:
            return f"memory {other.number} is of the same tool and session, and nobody vouches for either"
    return None


def _source(record: Record) -> tuple[str | None, ...]:
    said = record.provenance
    return said.actor, said.surface, said.session, said.speaker


def _spelled_alike(a: str, b: str) -> bool:
    """Most of the letters are the same: another number or name is another claim, but for a tool's it is the same voice."""
    return jaccard(_trigrams(a[:LONGEST_COMPARED]), _trigrams(b[:LONGEST_COMPARED])) >= TRIGRAMS_SHARED


@lru_cache(maxsize=1024)
def _trigrams(text: str) -> frozenset[str]:
    return trigrams(normalised(text))
