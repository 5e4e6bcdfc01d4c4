"""Stages that keep some of what was found. Each that drops a record says why; `why_not` reads it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from memorist.design import Tools
from memorist.kinds import kind_of
from memorist.recall.pipeline import Search, ordered
from memorist.records import Hit, Record
from memorist.store.protocol import Store
from memorist.worth import held_up


@dataclass(frozen=True, slots=True)
class Believed:
    """Drops what does not hold at the moment that is asked about: now, or `as_of`."""

    def __call__(self, search: Search, tools: Tools) -> Search:
        moment = search.as_of or search.now
        dropped = {}
        for hit in search.hits:
            reason = not_believed(hit.record, search, tools)
            if reason:
                dropped[hit.record.id] = reason
        note = f"as of {moment.isoformat()}" if search.as_of else None
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
    """Drops what is far weaker than the best: a tail of chance matches teaches a reader to ignore the answer."""

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
    where nobody judges what goes in."""

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
        rest = best[len(kept) :]
        return search.keeping(
            kept, {hit.record.id: f"score {hit.score:.3f} falls off after {len(kept)}" for hit in rest}
        )


@dataclass(frozen=True, slots=True)
class KeepBest:
    """The best `limit`, in order. So many pinned ones of what was found stand first; the trace names the others."""

    pinned: int = 0

    def __call__(self, search: Search, tools: Tools) -> Search:
        best = ordered(search.hits)
        pins = [hit for hit in best if held_up(hit.record)] if self.pinned else []
        if pins:
            best = list({hit.record.id: hit for hit in (*pins[: self.pinned], *best)}.values())
        kept, rest = best[: search.limit], best[search.limit :]
        return search.keeping(
            kept,
            {h.record.id: f"rank {i}, asked for {search.limit}" for i, h in enumerate(rest, search.limit + 1)},
            _too_many(pins, self.pinned),
        )


def _too_many(pins: Sequence[Hit], first: int) -> str | None:
    if not first or len(pins) <= first:
        return None
    others = ", ".join(f"[id:{hit.record.number}]" for hit in pins[first : first + 5])
    return f"{len(pins)} pinned memories fit; {first} stand first, by score only: {others}"


@dataclass(frozen=True, slots=True)
class KeepTop:
    """So many of the best, and what is pinned; the stages after it choose among them."""

    most: int = 15

    def __call__(self, search: Search, tools: Tools) -> Search:
        most = max(search.pool(self.most), search.limit)
        best = ordered(search.hits)
        beyond = {hit.record.id: place for place, hit in enumerate(best, 1) if place > most and not held_up(hit.record)}
        lost = {id: f"place {place}, {most} are looked at" for id, place in beyond.items()}
        return search.keeping([hit for hit in best if hit.record.id not in lost], lost)


@dataclass(frozen=True, slots=True)
class DropTail:
    """Drops the weak tail of three or more hits: what scores under half the median, or the lowest 30 %. What is pinned stays."""

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
    if search.as_of is None:
        return None
    if times.created > search.as_of:
        return f"was stored later, at {times.created.isoformat()}"
    if kind_of(record.kind, tools.kinds).layer not in search.layers:
        return f"is a {record.kind}, which was not asked for"
    return "was forgotten then" if _forgotten_then(record, search.as_of, tools.store) else None


def _forgotten_then(record: Record, moment: datetime, store: Store) -> bool:
    """The journal knows: the first change of state after the moment says what the state was at it."""
    whole = record.superseded_by or record.id  # the past text of a memory was forgotten with it
    for event in store.journal(record=whole):
        if event.at > moment and event.before is not None and "state" in event.before:
            return bool(event.before["state"] != "active")
    return record.state == "archived"
