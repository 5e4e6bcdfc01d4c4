"""Weighs each hit's relevance by what the record is worth today (`scoring.py`), the files at hand, the kind asked for, and a
second opinion. Stages that only refine are skipped at a deadline. At the end, hits are weighed against one another: nothing is
dropped because it contradicts something. Until a person resolves a conflict, both sides are shown and marked (what was stated
last comes first: `newest.py`)."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import ClassVar

from memorist.design import Reranker, Tools
from memorist.errors import ModelUnavailable
from memorist.kinds import LIKE
from memorist.lazy import dataclass
from memorist.recall.pipeline import Search, ordered
from memorist.records import Hit, Signal
from memorist.scoring import DECAYS, FACTORS, faded, logistic, reinforced, score
from memorist.store.where import Where
from memorist.text.injection import LABEL, suspect
from memorist.text.patterns import regex
from memorist.text.question import kinds_in
from memorist.text.words import LONGEST_QUERY, terms

WORTH = 3.0  # weight of a factor's logarithm beside the signals: one full vote outweighs the noise between equals
MOST_OVERLAPS = 5  # files that count; a memory about a hundred files is about none
PATH = regex(r"[\w.\-/\\]{1,256}\.[A-Za-z]\w{0,9}\b|[\w.\-]{1,128}/[\w.\-/]{1,256}", re.ASCII)
LEAST = 0.01  # a factor is never 0, so what was found stays visible


# ---------------------------------------------------------------- factors


def weighed(hit: Hit, factors: Mapping[str, float]) -> Hit:
    """The hit with its score weighed by these factors, each above 0 and shown in `why` under its name."""
    why = {**hit.why, **factors}
    if "relevance" not in why:
        return replace(hit, score=math.prod(factors.values(), start=hit.score), why=why)
    worth = [Signal(name, value, value, WORTH * math.log(value)) for name, value in factors.items() if value != 1]
    signals = (*hit.signals, *worth)
    score = logistic(sum([signal.contribution for signal in signals]))
    return Hit(hit.record, score, why, signals, hit.conflicts, hit.replaces)


@dataclass(frozen=True, slots=True)
class Weigh:
    """Weighs relevance by what each record is worth today; the factors stay visible in `why`.

    A plain score is multiplied. A relevance is a chance, so the factors are added to its log-odds: near 1, a factor must not
    lift what fits less over what fits exactly.
    """

    factors: tuple[str, ...]

    def __call__(self, search: Search, tools: Tools) -> Search:
        now, kinds, factors = search.now, tools.kinds, [(name, FACTORS[name]) for name in self.factors]
        hits = [weighed(hit, {name: of(hit.record, now, kinds) for name, of in factors}) for hit in search.hits]
        return search.but(hits=tuple(ordered(hits)))


@dataclass(frozen=True, slots=True)
class WeighByVotes:
    """Multiplies relevance by the record's votes and by how recently it was useful; nothing else counts."""

    reinforce: float = 3.0
    demote: float = 1.0

    def __call__(self, search: Search, tools: Tools) -> Search:
        return search.but(hits=tuple(ordered(self._weigh(hit, search.now) for hit in search.hits)))

    def _weigh(self, hit: Hit, now: datetime) -> Hit:
        record = hit.record
        votes = reinforced(score(record.counters, self.reinforce, self.demote))
        recency = faded(record.times.used or record.times.at, now)
        why = {**hit.why, "votes": votes, "recency": recency}
        return replace(hit, score=hit.score * votes * recency, why=why)


@dataclass(frozen=True, slots=True)
class Suspect:
    """Lowers what reads like instructions to a model, unless these are the user's own words; `why` names it."""

    weight: float = 0.5

    def __call__(self, search: Search, tools: Tools) -> Search:
        suspects = [hit for hit in search.hits if suspect(hit.record)]
        lowered = {hit.record.id: weighed(hit, {"injection": self.weight}) for hit in suspects}
        if not lowered:
            return search
        hits = ordered(lowered.get(hit.record.id, hit) for hit in search.hits)
        named = ", ".join(f"[id:{hit.record.number}]" for hit in lowered.values())
        return search.but(hits=tuple(hits), note=f"{LABEL}: {named}")


@dataclass(frozen=True, slots=True)
class FileAffinity:
    """Lifts memories about the files at hand, named by the caller or in the query, by 0.3 for each. The whole path or the file
    name alone must match."""

    each: float = 0.3
    optional: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        named = [*search.files, *PATH.findall(search.asked.text[:LONGEST_QUERY])]
        active = {form for path in named for form in _forms(path)}
        if not active:
            return search
        shared = [sum(not active.isdisjoint(_forms(path)) for path in hit.record.files) for hit in search.hits]
        factors = [1 + self.each * min(count, MOST_OVERLAPS) for count in shared]
        hits = [weighed(hit, {"files": factor}) for hit, factor in zip(search.hits, factors, strict=True)]
        return search.but(hits=tuple(hits))


def _forms(path: str) -> tuple[str, str]:
    """The path, and the file name alone."""
    plain = path.replace("\\", "/").removeprefix("./").rstrip("/")
    return plain, plain.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class FavourKinds:
    """Lifts the kinds that the query's words suggest: decisions for "what did we decide". Only softly, since the answer may be
    of another kind."""

    first: float = 1.5
    second: float = 1.2
    optional: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        named = kinds_in(search.asked.text[:LONGEST_QUERY])[:2]
        favour = dict(zip(named, (self.first, self.second), strict=False))
        if not favour:
            return search
        by = [favour.get(LIKE.get(hit.record.kind, hit.record.kind), 1.0) for hit in search.hits]
        hits = [weighed(hit, {"favoured": factor}) for hit, factor in zip(search.hits, by, strict=True)]
        note = "the question speaks of " + ", ".join(f"{kind} (×{by:g})" for kind, by in favour.items())
        return search.but(hits=tuple(hits), note=note)


@dataclass(frozen=True, slots=True)
class FavourSeason:
    """Lifts memories of a season, such as "end of sprint", if the query contains all of its words."""

    by: float = 1.2
    optional: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        named = _seasons_named(search)
        if not named:
            return search
        hits = [weighed(hit, {"season": self.by if hit.record.season in named else 1.0}) for hit in search.hits]
        return search.but(hits=tuple(ordered(hits)), note=f"the question names {', '.join(sorted(named))}")


def _seasons_named(search: Search) -> set[str]:
    """The seasons of the hits that the query names."""
    seasons = {hit.record.season for hit in search.hits if hit.record.season}
    said = set(terms(search.asked.text[:LONGEST_QUERY])) if seasons else set()
    return {season for season in seasons if (words := terms(season)) and said.issuperset(words)}


@dataclass(frozen=True, slots=True)
class Fade:
    """Weighs a memory by how far it has faded since it last helped: none, hyperbolic, weekly or half_life."""

    decay: str = "half_life"

    def __call__(self, search: Search, tools: Tools) -> Search:
        fade = DECAYS[self.decay]
        hits = [weighed(h, {"decay": max(LEAST, fade(h.record, search.now, tools.kinds))}) for h in search.hits]
        return search.but(hits=tuple(hits))


@dataclass(frozen=True, slots=True)
class Rerank:
    """Asks the reranker that `rerank` names about the best hits. Its numbers, from 0 to 1, weigh them: a score directly, a
    relevance by their odds, so that one half changes nothing. Without a reranker, or if it fails or is too slow for the
    deadline, everything stays as it is, and the trace says why."""

    most: int = 15
    optional: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        if tools.rerank is None or not search.hits:
            return search
        hits = ordered(search.hits)
        best, rest = hits[: self.most], hits[self.most :]
        given, problem = _second_opinion(tools.rerank, [hit.record.text for hit in best], search, tools)
        if problem is not None:
            return search.but(note=problem)
        judged = [_judged(hit, by) for hit, by in zip(best, given, strict=True)]
        unjudged = [_judged(hit, 0.0) for hit in rest]  # they must not rank above the judged ones
        return search.but(hits=(*judged, *unjudged), note=f"{len(best)} were judged again")


def _judged(hit: Hit, by: float) -> Hit:
    by = max(LEAST, by)
    if "relevance" in hit.why:
        by = min(by, 1 - LEAST)
        by = (by / (1 - by)) ** (1 / WORTH)
    return weighed(hit, {"rerank": by})


def _second_opinion(
    rerank: Reranker, texts: Sequence[str], search: Search, tools: Tools
) -> tuple[list[float], str | None]:
    """A number from 0 to 1 for each text, or the reason why there is none."""
    judge, left = partial(rerank, search.asked.text, texts), search.left()
    try:
        said = judge() if left is None else tools.patience.within(left, judge)
        if said is None and left is not None:
            return [], "the reranker takes longer than there is time; the order stays as it was"
        given = [float(by) for by in said or ()]
    except Exception as problem:  # it may be the caller's code; whatever it does, the answer is not lost
        return [], f"the reranker failed ({_why(problem)}); the order stays as it was"
    if len(given) != len(texts) or not all(0 <= by <= 1 for by in given):
        return [], "the reranker did not give one number from 0 to 1 for each text; it is not heard"
    return given, None


def _why(problem: Exception) -> str:
    return str(problem) if isinstance(problem, ModelUnavailable) else type(problem).__name__


# ---------------------------------------------------------------- beside one another


@dataclass(frozen=True, slots=True)
class MarkConflicts:
    """Marks hits that another active memory contradicts, with that memory's id, and lowers them a little."""

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
        hits = [
            replace(weighed(hit, {"conflict": self.weight}), conflicts=tuple(dict.fromkeys(others[hit.record.id])))
            if hit.record.id in others
            else hit
            for hit in search.hits
        ]
        return search.but(hits=tuple(hits)) if others else search
