"""Combines many signals into one relevance.

The weights are in `mix.toml`, fitted by `tools/fit_mix` over several kinds of text and cross-validated. They differ by voice:
a note is short and says one thing, a reply of an assistant repeats the query's words at length, and among people the answer
follows the question. The sum is a log-odds: the relevance is 1 / (1 + exp(-sum)), the chance that this memory matters for this
query, and `why` can show every part of it.

A relevance depends on the query, the memory and what else is on the shelves, but neither on how many hits are requested nor on
how busy the machine is: the same candidates are compared for every limit up to 50.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cache
from heapq import nlargest
from pathlib import Path

from memorist.design import Tools
from memorist.kinds import DOCUMENTS, TURNS
from memorist.lazy import dataclass
from memorist.models.coverage import LONGEST_LOOKED_AT, Coverage, holding
from memorist.recall.pipeline import Asked, Candidate, Search
from memorist.recall.stages.keep import not_believed
from memorist.recall.stages.talk import THEN, spoken
from memorist.records import Hit, Record, Signal
from memorist.scoring import logistic
from memorist.store.nouns import Fact
from memorist.text import toml
from memorist.text.bm25 import K1, Yardstick
from memorist.text.dates import Span

Mix = Mapping[str, Mapping[str, float]]
Closer = dict[int, list[tuple[str, float]]]
VOICES = ("notes", "people", "user", "assistant", "documents")
SPEAKERS = {"user": "user", "assistant": "assistant", "tool": "assistant"}
GROUPS = {"notes": "notes", "people": "talk", "user": "talk", "assistant": "talk", "documents": "documents"}
READ = 30  # of the best by what needs no text; from these it is judged whether the answer is here, whatever the limit
CODE = 4.0  # a code in a note counts as this many names: it singles out one of many similar notes
SHORTEST_CODE = 4  # characters
HOLDING = 5  # candidates that hold most of the query's words and are always among those read
BEST_OF_SESSION = 3
# Rows of a shelf that count. For talk and documents, as many as the weights were fitted on; beyond that, they would only
# guess. For notes fewer: in the fitted sets the answer exists as often in a crowd as alone, but a store that has grown holds
# more answers.
LARGEST = {"notes": 500, "talk": 2500, "documents": 2500}
DAY = 86400.0
NO_TERMS = Yardstick()
NOTHING_BESIDE: list[tuple[str, float]] = []
MIX = Path(__file__).parents[1] / "mix.toml"


@cache
def mix() -> Mix:
    """The fitted weights: one table for each voice, including the weights common to all, and one for the standing and one for
    the chance of each group of voices."""
    fitted = toml.load(MIX, "weights")
    none = {name: 0.0 for voice in VOICES for name in fitted[voice]}
    return {**fitted, **{voice: {**none, **fitted["all"], **fitted[voice]} for voice in VOICES}}


@dataclass(frozen=True, slots=True)
class Blend:
    """Sums the signals of every candidate, and reads the texts of the best."""

    spare: int = 10  # extra hits, since later stages may drop or lift some

    def __call__(self, search: Search, tools: Tools) -> Search:
        if not search.candidates:
            return search
        table = Table(search.candidates, search.asked, mix(), search.yardstick)
        best = table.best(self.spare, search.wanted)
        first = tools.store.get(best[:READ], search.where)
        table.look_closer(first)
        table.settle()
        records, end = first, READ
        while end < len(best) and self._too_few(records, search, tools):
            more = tools.store.get(best[end : end + READ], search.where)
            table.look_closer(more)
            records, end = [*records, *more], end + READ
        hits = list(map(table.hit, records))
        rest = enumerate(best[end:], end + 1)
        lost = {f"#{number}": f"place {place} of {len(best)} candidates" for place, number in rest}
        note = f"{len(best)} candidates, the best {len(hits)} of them read; {table.told()}"
        return search.but(hits=tuple(hits), candidates=(), dropped=lost, note=note, chance=table.chance)

    def _too_few(self, records: Sequence[Record], search: Search, tools: Tools) -> bool:
        """Whether more must be read: fewer valid records were read than are needed, because some no longer hold or many were
        requested."""
        return sum(not_believed(record, search, tools) is None for record in records) < search.limit + self.spare


class Table:
    """The signals of all candidates of a query; what each is worth depends on the other candidates."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        asked: Asked,
        mix: Mix,
        yardstick: Yardstick = NO_TERMS,
        closer: Closer | None = None,
    ) -> None:
        self.candidates = {each.fact.number: each for each in candidates}
        self._asked = asked
        self._mix = mix
        self._yardstick = yardstick
        self._plain = not (asked.speakers or asked.role or asked.spans)  # it names no speaker, no role and no time
        talks = any([each.fact.session is not None for each in candidates])
        self._own = _own(candidates, mix) if talks else {}  # what each is worth on its own, as its neighbours see it
        self._sessions = _sessions(candidates, self._own) if talks else {}
        self.closer: Closer = closer or {}  # signals from the texts that were read
        self.sums = {each.fact.number: self._sum(each) for each in candidates}
        self.group = "notes"
        self.evidence: dict[str, float] = {}
        self._standings: dict[str, float] = {"notes": 0.0}
        self.chance = 0.0
        if closer:
            self.settle()

    def _sum(self, candidate: Candidate) -> float:
        weights = self._mix[voice(candidate.fact)]
        total = weights["words"] * candidate.words + weights["meaning"] * candidate.meaning + weights["voice"]
        for name, value in self._beside(candidate):
            total += weights[name] * value
        for name, value in self.closer.get(candidate.fact.number, NOTHING_BESIDE) if self.closer else NOTHING_BESIDE:
            total += weights[name] * value
        return total

    def best(self, spare: int, wanted: Collection[int] = ()) -> list[int]:
        """All candidates, best first. But behind the very first come, so that their texts are read: memories that were useful
        for similar queries, some with votes, which may lift them, and the few that hold most of the words, since names are
        only compared once the text is read."""
        best = [number for _, number in sorted(zip(self.sums.values(), self.sums, strict=True), reverse=True)]
        helped = [number for number in best if self.candidates[number].fact.up][:spare]
        held = nlargest(HOLDING, best, key=lambda number: self.candidates[number].words)
        lifted = [*(number for number in best if number in wanted), *helped, *held]
        return list(dict.fromkeys([*best[: READ - spare], *lifted, *best]))

    def look_closer(self, records: Sequence[Record]) -> None:
        """Adds the signals that require the text."""
        coverage, names = Coverage(self._asked.text), self._asked.names
        for record, soft in zip(records, coverage.of([_found_by(record) for record in records]), strict=True):
            if not coverage.knows or len(record.text) > LONGEST_LOOKED_AT:  # then the words are more reliable
                soft = max(soft, min(1.0, self.candidates[record.number].words))
            named = self._named(record) if names else 0.0
            self.closer[record.number] = [("soft", soft), ("names", named)]
            weights = self._mix[voice(self.candidates[record.number].fact)]
            self.sums[record.number] += weights["soft"] * soft
            self.sums[record.number] += weights["names"] * named

    def _named(self, record: Record) -> float:
        """How much it says that the text holds names of the query."""
        names, code = self._asked.names, CODE if self._group(record.number) == "notes" else 1.0
        held = holding(names, _found_by(record))
        return sum([names[word] * (code if _is_code(word) else 1.0) for word in held])

    def settle(self) -> None:
        """Estimates from the candidates that were read whether the answer is here at all. Notes, talk and documents are judged
        separately, because their sums have different scales."""
        alike: dict[str, list[int]] = {}
        for number in self.closer:
            alike.setdefault(self._group(number), []).append(number)
        found = {group: self._evidence(group, numbers) for group, numbers in alike.items()}
        self._standings = {group: self._weighed(f"standing {group}", signs) for group, signs in found.items()}
        chances = {group: logistic(self._weighed(f"here {group}", signs)) for group, signs in found.items()}
        if chances:
            self.group = max(chances, key=chances.__getitem__)
            self.evidence, self.chance = found[self.group], chances[self.group]
            if self._asked.alone:
                self._settle_by_time(max(alike[self.group], key=self.sums.__getitem__))

    def _settle_by_time(self, first: int) -> None:
        """For a query that asks for nothing but a time: what was said then is the answer; what was said long before or after
        is not."""
        near = max([closeness(self.candidates[first].fact.at, span) for span in self._asked.spans])
        self.chance *= near
        if near == 1.0:
            self._standings[self.group], self.chance = THEN - self.sums[first], logistic(THEN)

    def _group(self, number: int) -> str:
        return GROUPS[voice(self.candidates[number].fact)]

    def standing_of(self, number: int) -> float:
        """What is added to its sum and to those of its whole group. It does not change their order; it turns a sum into a
        relevance."""
        group = self._group(number)
        return self._standings.get(group, self._standings[self.group])

    def _weighed(self, table: str, evidence: Mapping[str, float]) -> float:
        weights = self._mix[table]
        return sum([weights[name] * value for name, value in evidence.items()])

    def hit(self, record: Record) -> Hit:
        signals = self.signals(record.number)
        relevance = logistic(self.sums[record.number] + signals[-1].contribution)  # the last signal is its standing
        return Hit(record, relevance, {"relevance": relevance}, signals)

    def signals(self, number: int) -> tuple[Signal, ...]:
        """Everything that speaks for or against a candidate; signals that add nothing are left out."""
        candidate = self.candidates[number]
        weights = self._mix[voice(candidate.fact)]
        found = [
            Signal(name, candidate.cosine or 0.0 if name == "meaning" else value, value, adds)
            for name, value in self.features(candidate)
            if (adds := weights[name] * value)
        ]
        return (*found, Signal("standing", 1.0, 1.0, self.standing_of(number)))

    def features(self, candidate: Candidate) -> list[tuple[str, float]]:
        """Every signal of a candidate, on the common scale."""
        own = [("words", candidate.words), ("meaning", candidate.meaning), ("voice", 1.0)]
        return own + self._beside(candidate) + self.closer.get(candidate.fact.number, [])

    def _beside(self, candidate: Candidate) -> list[tuple[str, float]]:
        """The signals that not every candidate has."""
        plain = candidate.fact.session is None and self._plain and not candidate.nearly and not candidate.kin
        return NOTHING_BESIDE if plain else self._found_beside(candidate)

    def _found_beside(self, candidate: Candidate) -> list[tuple[str, float]]:
        fact, asked, found = candidate.fact, self._asked, list[tuple[str, float]]()
        if candidate.nearly:
            found.append(("nearly", candidate.nearly))
        if candidate.kin:
            found.append(("kin", candidate.kin))
        if fact.session is not None:
            found += self._in_talk(fact, fact.session)
        if len(asked.speakers) == 1 and fact.speaker == asked.speakers[0]:
            found.append(("speaker", 1.0))
        return found + self._said(fact) if asked.role or asked.spans else found

    def _in_talk(self, fact: Fact, session: str) -> list[tuple[str, float]]:
        """In a talk, the turn after the one that fits the query often answers it."""
        own, found = self._own, [("session", self._sessions[session])]
        if fact.before is not None:
            found.append(("before", own.get(fact.before, 0.0)))
        if fact.after is not None:
            found.append(("after", own.get(fact.after, 0.0)))
        return found

    def _said(self, fact: Fact) -> list[tuple[str, float]]:
        """Who said it and when, if the query names that. For notes the time is left out: the day a note was written says
        little."""
        found = spoken(fact, self._asked, self._own.get(fact.before or 0, 0.0))
        if self._asked.spans and GROUPS[voice(fact)] == "talk":
            found.append(("when", max(closeness(fact.at, span) for span in self._asked.spans)))
        return found

    def _evidence(self, group: str, read: Sequence[int]) -> dict[str, float]:
        """Signs of how well the query is answered here at all. On a large shelf, the best candidate may be good by chance."""
        sums = sorted((self.sums[number] for number in read), reverse=True) or [0.0]
        every = [self.candidates[number] for number in read]
        ceiling, known = self._yardstick.ceiling, sum(self._yardstick.weights.values()) * (K1 + 1)
        return {
            "best": sums[0],
            "ahead": sums[0] - sums[min(3, len(sums) - 1)],
            "covered": max([each.words for each in every], default=0.0),
            "cosine": max([each.cosine or 0.0 for each in every], default=0.0),
            "soft": max([dict(self.closer[number]).get("soft", 0.0) for number in read], default=0.0),
            "absent": 1 - min(1.0, known / ceiling) if ceiling else 1.0,
            "length": math.log1p(len(self._yardstick.weights) + len(self._yardstick.absent)),
            "size": math.log10(1 + min(self._yardstick.rows, LARGEST[group])),
            "by_words": float(all(each.cosine is None for each in every)),
            "level": 1.0,
        }

    def told(self) -> str:
        """For the trace: the chance that the answer is here, and the signs behind it."""
        signs = ", ".join(f"{name} {value:.2f}" for name, value in self.evidence.items() if name != "level")
        return f"the answer is here with a chance of {self.chance:.2f} ({signs})"


def _found_by(record: Record) -> str:
    """Its text, title and tags."""
    return " ".join((record.text, *([record.title] if record.title else ()), *record.tags))


def _is_code(word: str) -> bool:
    """A number or the like that is no time, price or count: a query for 0417 wants no other."""
    return len(word) >= SHORTEST_CODE and any(map(str.isdigit, word))


def voice(fact: Fact) -> str:
    """Whose words these are: in a talk those of a user, an assistant or other people; otherwise those of a document or a note.
    Tool output counts as an assistant's, since it also repeats the query's words at length."""
    if fact.shelf.layer == TURNS or fact.role is not None:
        return SPEAKERS.get(fact.role or "", "people")
    return "documents" if fact.shelf.layer == DOCUMENTS else "notes"


def closeness(at: datetime, span: Span) -> float:
    """1 inside the requested time, fading outside of it, since people are seldom exact about dates."""
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
    """What each session is worth: the mean of its three best turns among the candidates."""
    worths: dict[str, list[float]] = {}
    for each in candidates:
        if each.fact.session is not None:
            worths.setdefault(each.fact.session, []).append(max(0.0, own[each.fact.number]))
    return {name: sum(sorted(some)[-BEST_OF_SESSION:]) / BEST_OF_SESSION for name, some in worths.items()}


@dataclass(frozen=True, slots=True)
class FuseRanks:
    """Reciprocal rank fusion: only ranks count, 1 / (k + rank) by words and by meaning. It finds less than adding the measured
    values (docs/LOG.md), because a rank does not say how far ahead a candidate is. What is first by both scores 1."""

    k: int = 60
    meaning: float = 0.5  # the weight of meaning; words have the rest
    spare: int = 10

    def __call__(self, search: Search, tools: Tools) -> Search:
        places: dict[int, list[Signal]] = {each.fact.number: [] for each in search.candidates}
        for name, weight in (("words", 1 - self.meaning), ("meaning", self.meaning)):
            rank = sorted(search.candidates, key=lambda each: (-getattr(each, name), -each.fact.number))
            for place, each in enumerate([each for each in rank if getattr(each, name) > 0], 1):
                share = weight * (self.k + 1) / (self.k + place)
                places[each.fact.number].append(Signal(name, getattr(each, name), place, share))
        scores = {number: sum(each.contribution for each in found) for number, found in places.items() if found}
        best = sorted(scores, key=lambda number: (-scores[number], -number))[: 2 * search.limit + self.spare]
        hits = [
            Hit(record, scores[record.number], {"ranks": scores[record.number]}, tuple(places[record.number]))
            for record in tools.store.get(best, search.where)
        ]
        return search.but(hits=tuple(hits), note=f"{len(places)} candidates")
