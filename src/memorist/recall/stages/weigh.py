"""Weighs each hit's relevance by what the record is worth today (`scoring.py`), the files at hand, the kind asked for, a
reranker, and contradictions. Nothing is dropped because it contradicts something: until a person resolves a conflict, both sides
are shown and marked (what was stated last comes first: `newest.py`)."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import partial
from typing import ClassVar

from memorist import checks
from memorist.design import Tools, bounded
from memorist.errors import ModelUnavailable
from memorist.kinds import LIKE
from memorist.lazy import dataclass
from memorist.recall.pipeline import Search, ordered
from memorist.records import Hit, Record, Signal
from memorist.scoring import FACTORS, faded, logistic, reinforced, score
from memorist.store.where import Where
from memorist.text.injection import LABEL, suspect
from memorist.text.patterns import regex
from memorist.text.question import kinds_in
from memorist.text.words import LONGEST_QUERY, terms

WORTH = 3.0  # weight of a factor's logarithm beside the signals: one full vote outweighs the noise between equals
EACH_FILE, FIRST_KIND, SECOND_KIND, SEASON = 0.3, 1.5, 1.2, 1.2  # how much each favour lifts
MOST_OVERLAPS = 5  # files that count; a memory about a hundred files is about none
PATH = regex(r"[\w.\-/\\]{1,256}\.[A-Za-z]\w{0,9}\b|[\w.\-]{1,128}/[\w.\-/]{1,256}", re.ASCII)
LEAST = 0.01  # a factor is never 0, so what was found stays visible


def weighed(hit: Hit, factors: Mapping[str, float]) -> Hit:
    """The hit with its score weighed by these factors, each above 0 and shown in `why` under its name.

    A plain score is multiplied. A relevance is a chance, so the factors are added to its log-odds: near 1, a factor must not
    lift what fits less over what fits exactly.
    """
    why = {**hit.why, **factors}
    if "relevance" not in why:
        return replace(hit, score=math.prod(factors.values(), start=hit.score), why=why)
    worth = [Signal(name, value, value, WORTH * math.log(value)) for name, value in factors.items() if value != 1]
    signals = (*hit.signals, *worth)
    score = logistic(sum([signal.contribution for signal in signals]))
    return Hit(hit.record, score, why, signals, hit.conflicts, hit.replaces)


def _by(search: Search, factors: Callable[[Record], Mapping[str, float]], note: str | None = None) -> Search:
    """The search with each hit weighed by the factors of its record, best first."""
    hits = [weighed(hit, factors(hit.record)) for hit in search.hits]
    return search.but(hits=tuple(ordered(hits)), note=note)


@dataclass(frozen=True, slots=True)
class Weigh:
    """Weighs relevance by what each record is worth today."""

    factors: tuple[str, ...] = field(metadata={"check": partial(checks.names, known=tuple(FACTORS))})

    def __call__(self, search: Search, tools: Tools) -> Search:
        factors = [(name, FACTORS[name]) for name in self.factors]
        return _by(search, lambda record: {name: of(record, search.now, tools.kinds) for name, of in factors})


@dataclass(frozen=True, slots=True)
class WeighByVotes:
    """Multiplies relevance by the record's votes and by how recently it was useful; nothing else counts."""

    reinforce: float = bounded(0, 100, 3.0)
    demote: float = bounded(0, 100, 1.0)

    def __call__(self, search: Search, tools: Tools) -> Search:
        def factors(record: Record) -> Mapping[str, float]:
            votes = reinforced(score(record.counters, self.reinforce, self.demote))
            return {"votes": votes, "recency": faded(record.times.used or record.times.at, search.now)}

        return _by(search, factors)


@dataclass(frozen=True, slots=True)
class Suspect:
    """Lowers what reads like instructions to a model, unless these are the user's own words; `why` names it."""

    weight: float = bounded(0.1, 1, 0.5)

    def __call__(self, search: Search, tools: Tools) -> Search:
        suspects = {hit.record.number for hit in search.hits if suspect(hit.record)}
        if not suspects:
            return search
        hits = [
            weighed(hit, {"injection": self.weight}) if hit.record.number in suspects else hit for hit in search.hits
        ]
        names = [f"[id:{hit.record.number}]" for hit in search.hits if hit.record.number in suspects]
        return search.but(hits=tuple(ordered(hits)), note=f"{LABEL}: {', '.join(names)}")


@dataclass(frozen=True, slots=True)
class Favour:
    """Lifts what the query speaks of: memories about the files at hand, named by the caller or in the query, by 0.3 for each (the
    whole path or the file name alone must match); the kinds that its words suggest, such as decisions for "what did we decide",
    only softly, since the answer may be of another kind; and memories of a season such as "end of sprint", if it contains all of
    its words."""

    optional: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        text = search.said[:LONGEST_QUERY]
        files = {form for path in (*search.files, *PATH.findall(text)) for form in _forms(path)}
        kinds = dict(zip(kinds_in(text)[:2], (FIRST_KIND, SECOND_KIND), strict=False))
        asked, seasons = set(terms(text)), {hit.record.season or "" for hit in search.hits}
        seasons = {season for season in seasons if (words := terms(season)) and asked.issuperset(words)}

        def favours(record: Record) -> Mapping[str, float]:
            shared = sum(not files.isdisjoint(_forms(path)) for path in record.files)
            named = {
                "files": files and 1 + EACH_FILE * min(shared, MOST_OVERLAPS),
                "favoured": kinds and kinds.get(LIKE.get(record.kind, record.kind), 1.0),
                "season": seasons and (SEASON if record.season in seasons else 1.0),
            }
            return {name: factor for name, factor in named.items() if isinstance(factor, float)}

        spoken_of = [*(f"{kind} (×{by:g})" for kind, by in kinds.items()), *sorted(seasons)]
        return _by(search, favours, f"the question speaks of {', '.join(spoken_of)}" if spoken_of else None)


def _forms(path: str) -> tuple[str, str]:
    """The path, and the file name alone."""
    plain = path.replace("\\", "/").removeprefix("./").rstrip("/")
    return plain, plain.rpartition("/")[2]


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
        hits, left = ordered(search.hits), search.left()
        rerank = partial(tools.rerank, search.said, [hit.record.text for hit in hits[: self.most]])
        try:
            answer = rerank() if left is None else tools.patience.within(left, rerank)
            if answer is None and left is not None:
                return search.but(note="the reranker takes longer than there is time; reranking skipped")
            given = [float(by) for by in answer or ()]
        except Exception as problem:  # it may be the caller's code; whatever it does, the answer is not lost
            because = str(problem) if isinstance(problem, ModelUnavailable) else type(problem).__name__
            return search.but(note=f"the reranker failed ({because}); reranking skipped")
        if len(given) != len(hits[: self.most]) or not all(0 <= by <= 1 for by in given):
            return search.but(note="the reranker must return one number from 0 to 1 for each text; reranking skipped")
        weighing = []
        for hit, by in zip(hits, (*given, *[0.0] * len(hits[self.most :])), strict=True):  # unread ones rank below
            by = max(LEAST, by)
            if "relevance" in hit.why:
                by = min(by, 1 - LEAST)
                by = (by / (1 - by)) ** (1 / WORTH)
            weighing.append(weighed(hit, {"rerank": by}))
        return search.but(hits=tuple(weighing), note=f"{len(given)} were judged again")


@dataclass(frozen=True, slots=True)
class MarkConflicts:
    """Marks hits that another active memory contradicts, with that memory's id, and lowers them a little."""

    weight: float = bounded(0.1, 1, 0.85)
    optional: bool = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        if not search.hits or search.as_of is not None:
            return search
        active = Where(search.where.access).also("state", "eq", "active")
        others: dict[str, dict[str, None]] = {}
        for link in tools.store.links(active, [hit.record.id for hit in search.hits], "contradicts"):
            others.setdefault(link.a, {})[link.b] = None
            others.setdefault(link.b, {})[link.a] = None
        hits = []
        for hit in search.hits:
            if against := others.get(hit.record.id):
                hit = replace(weighed(hit, {"conflict": self.weight}), conflicts=tuple(against))
            hits.append(hit)
        return search.but(hits=tuple(hits))
