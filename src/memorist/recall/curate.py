"""Stages that curate: what belongs to the files at hand, what kind was asked for, a second opinion, no weak tail, no session
that speaks for all. Each can be left out of a design, and those that only refine give way at a deadline."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from memorist.design import Tools
from memorist.recall.pipeline import Search
from memorist.recall.trim import weighed
from memorist.records import Hit
from memorist.text.question import kinds_in
from memorist.text.words import LONGEST_QUERY
from memorist.worth import DECAYS, held_up

MOST_OVERLAPS = 5  # files that count; a memory about a hundred files is about none
PATH = re.compile(r"[\w.\-/\\]{1,256}\.[A-Za-z]\w{0,9}\b|[\w.\-]{1,128}/[\w.\-/]{1,256}", re.ASCII)
LEAST = 0.01  # a factor is never 0: what was found stays visible


@dataclass(frozen=True, slots=True)
class FileAffinity:
    """Lifts what is about the files at hand, by 0.3 for each: those the caller names, and those the question names. The whole
    path counts, or the name of the file."""

    each: float = 0.3
    optional: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        named = [*search.files, *PATH.findall(search.asked.text[:LONGEST_QUERY])]
        active = {form for path in named for form in _forms(path)}
        if not active:
            return search
        hits = [weighed(hit, {"files": self._factor(hit, active)}) for hit in search.hits]
        return search.but(hits=tuple(hits))

    def _factor(self, hit: Hit, active: set[str]) -> float:
        shared = sum(1 for path in hit.record.files if active.intersection(_forms(path)))
        return 1 + self.each * min(shared, MOST_OVERLAPS)


def _forms(path: str) -> tuple[str, str]:
    """The path, and the file's name alone."""
    plain = path.replace("\\", "/").removeprefix("./").rstrip("/")
    return plain, plain.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class FavourKinds:
    """Lifts the kinds that the question's words speak of: decisions for "what did we decide", softly, so that the answer may
    still be of another kind."""

    first: float = 1.5
    second: float = 1.2
    optional: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        named = kinds_in(search.asked.text[:LONGEST_QUERY])[:2]
        favour = dict(zip(named, (self.first, self.second), strict=False))
        if not favour:
            return search
        hits = [weighed(hit, {"favoured": favour.get(hit.record.kind, 1.0)}) for hit in search.hits]
        note = "the question speaks of " + ", ".join(f"{kind} (×{by:g})" for kind, by in favour.items())
        return search.but(hits=tuple(hits), note=note)


@dataclass(frozen=True, slots=True)
class Fade:
    """Weighs by how far a memory has faded since it last helped: none, hyperbolic, weekly or half_life."""

    decay: str = "half_life"

    def __call__(self, search: Search, tools: Tools) -> Search:
        fade = DECAYS[self.decay]
        hits = [weighed(h, {"decay": max(LEAST, fade(h.record, search.now, tools.kinds))}) for h in search.hits]
        return search.but(hits=tuple(hits))


@dataclass(frozen=True, slots=True)
class Rerank:
    """Asks the reranker that `Memory(rerank=…)` was given about the best; its numbers, from 0 to 1, weigh what was found.
    Without one, or if it fails or takes longer than there is time, everything stays as it is, and the trace says why."""

    most: int = 15
    optional: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        if tools.rerank is None or not search.hits:
            return search
        ordered = _ordered(search.hits)
        best, rest = ordered[: self.most], ordered[self.most :]
        judge, left = partial(tools.rerank, search.asked.text, [hit.record.text for hit in best]), search.left()
        try:
            said = judge() if left is None else tools.patience.within(left, judge)
            if said is None and left is not None:
                return search.but(note="the reranker takes longer than there is time; the order stays as it was")
            given = [float(by) for by in said or ()]
        except Exception as problem:  # it is the caller's code: whatever it does, the answer is not lost
            return search.but(note=f"the reranker failed ({type(problem).__name__}); the order stays as it was")
        if len(given) != len(best) or not all(0 <= by <= 1 for by in given):
            return search.but(note="the reranker did not give one number from 0 to 1 for each text; it is not heard")
        judged = [weighed(hit, {"rerank": max(LEAST, by)}) for hit, by in zip(best, given, strict=True)]
        unjudged = [weighed(hit, {"rerank": LEAST}) for hit in rest]  # it would not do to rank them above the judged
        return search.but(hits=(*judged, *unjudged), note=f"{len(best)} were judged again")


@dataclass(frozen=True, slots=True)
class KeepTop:
    """So many of the best, and what is pinned; the stages after it choose among them."""

    most: int = 15

    def __call__(self, search: Search, tools: Tools) -> Search:
        most = max(search.pool(self.most), search.limit)
        ordered = _ordered(search.hits)
        beyond = {
            hit.record.id: place for place, hit in enumerate(ordered, 1) if place > most and not held_up(hit.record)
        }
        lost = {id: f"place {place}, {most} are looked at" for id, place in beyond.items()}
        return search.keeping([hit for hit in ordered if hit.record.id not in lost], lost)


@dataclass(frozen=True, slots=True)
class DropTail:
    """Drops the weak tail of three or more hits: what scores under half the median, or the lowest 30 %. What is pinned stays."""

    rule: str = "median"  # or "lowest"
    share: float = 0.3  # of the hits, for "lowest"
    optional: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        if len(search.hits) < 3:
            return search
        ordered = _ordered(search.hits)
        if self.rule == "median":
            bar = (ordered[(len(ordered) - 1) // 2].score + ordered[len(ordered) // 2].score) / 4  # half the median
            weak, because = [hit for hit in ordered if hit.score < bar], f"under {bar:.3f}, half the median"
        else:
            weak = ordered[len(ordered) - int(self.share * len(ordered)) :]
            because = f"among the lowest {self.share:.0%}"
        lost = {hit.record.id: f"score {hit.score:.3f} is {because}" for hit in weak if not held_up(hit.record)}
        return search.keeping([hit for hit in ordered if hit.record.id not in lost], lost)


@dataclass(frozen=True, slots=True)
class Spread:
    """At most so many from one session, so that one long day does not answer everything. What is pinned stays."""

    most: int = 2
    optional: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        taken: dict[str, int] = {}
        kept, lost = [], {}
        for hit in _ordered(search.hits):
            session = hit.record.provenance.session
            if session is not None and not held_up(hit.record):
                taken[session] = taken.get(session, 0) + 1
                if taken[session] > self.most:
                    lost[hit.record.id] = f"session {session} has {self.most} better ones already"
                    continue
            kept.append(hit)
        return search.keeping(kept, lost)


def _ordered(hits: Sequence[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: (-hit.score, -hit.record.number))
