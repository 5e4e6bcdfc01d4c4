"""What every candidate is worth: many signals become one relevance, and a relevance is weighed by what the record is worth.

The weights of the signals are in `mix.toml`, fitted by `tools/fit_mix` over several kinds of text and cross-validated. They
differ by who speaks: a reply of an assistant repeats the question's words at length, and among people the answer follows the
question. The sum is a log-odds: 1 / (1 + exp(-sum)) is the relevance, between 0 and 1, and `why` can show every part of it.

Then come the factors: what the record is worth today (`worth.py`), the files at hand, the kind that was asked for, a second
opinion. Those that only refine give way at a deadline. Last, hits are weighed beside one another: nothing is dropped because
it contradicts something; until a person resolves a conflict, both sides are shown, marked (what was stated last comes first:
`newest.py`).
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import ClassVar

from memorist.design import Reranker, Tools
from memorist.kinds import LIKE
from memorist.recall.pipeline import Asked, Candidate, Search, ordered
from memorist.recall.stages.keep import not_believed
from memorist.records import Hit, Signal
from memorist.store.nouns import Fact
from memorist.store.where import Where
from memorist.text.dates import Span
from memorist.text.injection import LABEL, suspect
from memorist.text.patterns import regex
from memorist.text.question import kinds_in
from memorist.text.words import LONGEST_QUERY
from memorist.worth import DECAYS, FACTORS, faded, logistic, reinforced, score

Mix = Mapping[str, Mapping[str, float]]
VOICES = ("user", "assistant", "other")
BEST_OF_SESSION = 3
CROWD = 80  # candidates; more make no difference
DAY = 86400.0
WORTH = 3.0  # how much the logarithm of a factor counts beside signals: a full vote outweighs the noise between equals
MOST_OVERLAPS = 5  # files that count; a memory about a hundred files is about none
PATH = regex(r"[\w.\-/\\]{1,256}\.[A-Za-z]\w{0,9}\b|[\w.\-]{1,128}/[\w.\-/]{1,256}", re.ASCII)
MIX = Path(__file__).parents[1] / "mix.toml"
LEAST = 0.01  # a factor is never 0: what was found stays visible


@cache
def mix() -> Mix:
    """The fitted weights: a table for each voice, with the weights common to all in it, and two for the standing."""
    fitted: dict[str, dict[str, float]] = {}
    for line in MIX.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            table = fitted.setdefault(line.strip("[]"), {})
        elif "=" in line:  # importing a parser for lines as plain as these costs a cold start 10 ms
            name, _, weight = line.partition("=")
            table[name.strip()] = float(weight)
    return {**fitted, **{voice: {**fitted["all"], **fitted[voice]} for voice in VOICES}}


@dataclass(frozen=True, slots=True)
class Blend:
    """Adds up the signals of every candidate, and reads the best of them whole."""

    spare: int = 10  # what later stages may drop or lift

    def __call__(self, search: Search, tools: Tools) -> Search:
        if not search.candidates:
            return search
        table = Table(search.candidates, search.asked, mix())
        best = table.best(search.limit, self.spare)
        hits, believed, at_once = list[Hit](), 0, 2 * search.limit + self.spare
        for start in range(0, len(best), at_once):
            for record in tools.store.get(best[start : start + at_once], search.where):
                relevance = logistic(table.sums[record.number] + table.standing)
                hits.append(Hit(record, relevance, {"relevance": relevance}, table.signals(record.number)))
                believed += not_believed(record, search, tools) is None
            if believed >= search.limit:  # else what holds no longer would keep out what does
                break
        rest = enumerate(best[start + at_once :], start + at_once + 1)
        lost = {f"#{number}": f"place {place} of {len(best)} candidates" for place, number in rest}
        note = f"{len(best)} candidates, the best {len(hits)} of them read"
        return search.but(hits=tuple(hits), candidates=(), dropped=lost, note=note)


@dataclass(frozen=True, slots=True)
class FuseRanks:
    """Reciprocal rank fusion: only places count, 1 / (k + place) by words and by meaning. For comparison: it finds less than
    adding what was measured (docs/LOG.md), because a place says nothing about how far ahead it is."""

    k: int = 60
    spare: int = 10

    def __call__(self, search: Search, tools: Tools) -> Search:
        places: dict[int, list[Signal]] = {each.fact.number: [] for each in search.candidates}
        for name in ("words", "meaning"):
            rank = sorted(search.candidates, key=lambda each: (-getattr(each, name), -each.fact.number))
            for place, each in enumerate([each for each in rank if getattr(each, name) > 0], 1):
                share = (self.k + 1) / (self.k + place) / 2
                places[each.fact.number].append(Signal(name, getattr(each, name), place, share))
        scores = {number: sum(each.contribution for each in found) for number, found in places.items() if found}
        best = sorted(scores, key=lambda number: (-scores[number], -number))[: 2 * search.limit + self.spare]
        hits = [
            Hit(record, scores[record.number], {"ranks": scores[record.number]}, tuple(places[record.number]))
            for record in tools.store.get(best, search.where)
        ]
        return search.but(hits=tuple(hits), note=f"{len(places)} candidates")


class Table:
    """The signals of all candidates of a question: what each is worth depends on what stands beside it."""

    def __init__(self, candidates: Sequence[Candidate], asked: Asked, mix: Mix) -> None:
        self.candidates = {each.fact.number: each for each in candidates}
        self._asked = asked
        self._mix = mix
        talks = any([each.fact.session is not None for each in candidates])
        self._own = _own(candidates, mix) if talks else {}  # what each is worth by itself, as its neighbours see it
        self._sessions = _sessions(candidates, self._own) if talks else {}
        self.sums: dict[int, float] = {}
        for each in candidates:
            weights = mix[voice(each.fact)]
            total = weights["words"] * each.words + weights["meaning"] * each.meaning + weights["voice"]
            for name, value in self._beside(each):
                total += weights[name] * value
            self.sums[each.fact.number] = total
        self.standing = self._standing()
        self._stands = Signal("standing", 1.0, 1.0, self.standing)

    def best(self, limit: int, spare: int) -> list[int]:
        """All of them in order, but behind the first `limit` come so many that helped before: votes may lift them."""
        best = [number for _, number in sorted(zip(self.sums.values(), self.sums, strict=True), reverse=True)]
        helped = [number for number in best if self.candidates[number].fact.up][:spare]
        return list(dict.fromkeys([*best[:limit], *helped, *best])) if helped else best

    def signals(self, number: int) -> tuple[Signal, ...]:
        """Everything that speaks for or against a candidate; what counts for nothing is left out."""
        candidate = self.candidates[number]
        weights = self._mix[voice(candidate.fact)]
        found = [
            Signal(name, candidate.cosine or 0.0 if name == "meaning" else value, value, weights[name] * value)
            for name, value in self.features(candidate)
            if weights[name] * value
        ]
        return (*found, self._stands)

    def features(self, candidate: Candidate) -> list[tuple[str, float]]:
        """Every signal of a candidate, on the common scale."""
        own = [("words", candidate.words), ("meaning", candidate.meaning), ("voice", 1.0)]
        return own + self._beside(candidate)

    def _beside(self, candidate: Candidate) -> list[tuple[str, float]]:
        """Those that not every candidate has."""
        fact, asked, found = candidate.fact, self._asked, list[tuple[str, float]]()
        if fact.session is not None:  # in a talk, the next turn answers the one that fits the question
            if fact.before is not None:
                found.append(("before", self._own.get(fact.before, 0.0)))
            if fact.after is not None:
                found.append(("after", self._own.get(fact.after, 0.0)))
            found.append(("session", self._sessions[fact.session]))
        elif candidate.kin:
            found.append(("kin", candidate.kin))
        if len(asked.speakers) == 1 and fact.speaker == asked.speakers[0]:
            found.append(("speaker", 1.0))
        if asked.spans and fact.session is not None:  # a note is of the day it was written, which says little
            found.append(("when", max(closeness(fact.at, span) for span in asked.spans)))
        return found

    def evidence(self) -> dict[str, float]:
        """How well the question is answered here at all. Among many candidates, the best of them is good by chance."""
        every = self.candidates.values()
        return {
            "best": max(self.sums.values()),
            "covered": max([each.words for each in every]),
            "cosine": max([each.cosine or 0.0 for each in every]),
            "crowd": min(1.0, len(every) / CROWD),
            "level": 1.0,
        }

    def _standing(self) -> float:
        """What is added to every sum. It moves no rank: it makes the best candidate's relevance the chance that the answer
        is here."""
        evidence = self.evidence()
        compared = any(each.cosine is not None for each in self.candidates.values())
        weights = self._mix["standing" if compared else "standing_by_words"]
        return sum(weights[name] * value for name, value in evidence.items()) - evidence["best"]


def voice(fact: Fact) -> str:
    """Whose words these are: a user's, an assistant's, or those of anyone else, notes and documents included."""
    return fact.role if fact.role in ("user", "assistant") else "other"


def closeness(at: datetime, span: Span) -> float:
    """1 inside the time that is meant, fading outside of it: people are seldom exact about dates."""
    if span.start <= at < span.end:
        return 1.0
    away = min(abs((at - span.start).total_seconds()), abs((at - span.end).total_seconds())) / DAY
    width = (span.end - span.start).total_seconds() / DAY
    return math.exp(-away / (3 + 0.5 * max(1.0, width)))


def _own(candidates: Sequence[Candidate], mix: Mix) -> dict[int, float]:
    found = {}
    for each in candidates:
        weights = mix[voice(each.fact)]
        found[each.fact.number] = weights["own_words"] * each.words + weights["own_meaning"] * each.meaning
    return found


def _sessions(candidates: Sequence[Candidate], own: Mapping[int, float]) -> dict[str, float]:
    """What each session is worth: the mean of its three best turns, as far as they are candidates."""
    worths: dict[str, list[float]] = {}
    for each in candidates:
        if each.fact.session is not None:
            worths.setdefault(each.fact.session, []).append(max(0.0, own[each.fact.number]))
    return {name: sum(sorted(some)[-BEST_OF_SESSION:]) / BEST_OF_SESSION for name, some in worths.items()}


# ---------------------------------------------------------------- factors


def weighed(hit: Hit, factors: Mapping[str, float]) -> Hit:
    """The hit, its score weighed by these factors, each above 0 and shown under its name."""
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

    A plain score is multiplied. A relevance is a chance, so what it is worth is added to its log-odds: near 1, a factor
    must not lift what fits less over what fits exactly.
    """

    factors: tuple[str, ...]

    def __call__(self, search: Search, tools: Tools) -> Search:
        now, kinds, factors = search.now, tools.kinds, [(name, FACTORS[name]) for name in self.factors]
        hits = [weighed(hit, {name: of(hit.record, now, kinds) for name, of in factors}) for hit in search.hits]
        return search.but(hits=tuple(ordered(hits)))


@dataclass(frozen=True, slots=True)
class WeighByVotes:
    """Multiplies relevance by what votes made of a record and by how long it has been of no use; nothing else counts."""

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
    """Weighs what reads like instructions to a model less, unless they are the user's own words; `why` names it."""

    weight: float = 0.5

    def __call__(self, search: Search, tools: Tools) -> Search:
        lowered = {
            hit.record.id: weighed(hit, {"injection": self.weight}) for hit in search.hits if suspect(hit.record)
        }
        if not lowered:
            return search
        hits = ordered(lowered.get(hit.record.id, hit) for hit in search.hits)
        named = ", ".join(f"[id:{hit.record.number}]" for hit in lowered.values())
        return search.but(hits=tuple(hits), note=f"{LABEL}: {named}")


@dataclass(frozen=True, slots=True)
class FileAffinity:
    """Lifts memories about the files at hand, by 0.3 for each: those the caller names, and those the question names. The whole
    path counts, or the name of the file."""

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
        hits = [
            weighed(hit, {"favoured": favour.get(LIKE.get(hit.record.kind, hit.record.kind), 1.0)})
            for hit in search.hits
        ]
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
        hits = ordered(search.hits)
        best, rest = hits[: self.most], hits[self.most :]
        given, problem = _second_opinion(tools.rerank, [hit.record.text for hit in best], search, tools)
        if problem is not None:
            return search.but(note=problem)
        judged = [weighed(hit, {"rerank": max(LEAST, by)}) for hit, by in zip(best, given, strict=True)]
        unjudged = [weighed(hit, {"rerank": LEAST}) for hit in rest]  # it would not do to rank them above the judged
        return search.but(hits=(*judged, *unjudged), note=f"{len(best)} were judged again")


def _second_opinion(
    rerank: Reranker, texts: Sequence[str], search: Search, tools: Tools
) -> tuple[list[float], str | None]:
    """A number from 0 to 1 for each text, or why there is none."""
    judge, left = partial(rerank, search.asked.text, texts), search.left()
    try:
        said = judge() if left is None else tools.patience.within(left, judge)
        if said is None and left is not None:
            return [], "the reranker takes longer than there is time; the order stays as it was"
        given = [float(by) for by in said or ()]
    except Exception as problem:  # it is the caller's code: whatever it does, the answer is not lost
        return [], f"the reranker failed ({type(problem).__name__}); the order stays as it was"
    if len(given) != len(texts) or not all(0 <= by <= 1 for by in given):
        return [], "the reranker did not give one number from 0 to 1 for each text; it is not heard"
    return given, None


# ---------------------------------------------------------------- beside one another


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
        hits = [
            replace(weighed(hit, {"conflict": self.weight}), conflicts=tuple(dict.fromkeys(others[hit.record.id])))
            if hit.record.id in others
            else hit
            for hit in search.hits
        ]
        return search.but(hits=tuple(hits)) if others else search
