"""Finding by words and by meaning, and what stands beside it.

Words know names and numbers, meaning knows paraphrases: every question asks both. Then the neighbours of the best are
brought along, because in a talk the answer often lies one turn after the turn that fits the question. Nothing is read whole
here: a candidate is a few numbers, and only the best of them become records (`recall/blend.py`).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from memorist.design import Tools
from memorist.recall.pipeline import Candidate, Search
from memorist.store.nouns import Fact, Near
from memorist.store.where import Where
from memorist.text.bm25 import Yardstick

if TYPE_CHECKING:
    from memorist.store.protocol import Floats

MOST_BELOW, MOST_ABOVE, MOST_KIN = -2.0, 8.0, 3.0  # standard deviations
KIN, KIN_AMONG = 2, 20  # so many best, among at least so many
# What the cosines of a question with unrelated texts look like. A shelf too small to tell leans on these; the own numbers
# of a large one outweigh them.
USUAL_MEAN, USUAL_SPREAD, USUAL_ROWS = 0.24, 0.13, 20
LEAST_SPREAD = 0.08  # on a shelf of much the same texts, what differs between them is mostly noise


@dataclass(frozen=True, slots=True)
class Reading:
    """One generation's view of the question: its vector, and what an ordinary similarity is on these shelves."""

    generation: int
    vector: "Floats"
    mean: float
    spread: float

    def scaled(self, cosine: float) -> float:
        """How far above the ordinary, in standard deviations: the scale on which words and models can be added. Bounded,
        because on a shelf of much the same texts one that is different is dozens of them away."""
        return min(MOST_ABOVE, max(MOST_BELOW, (cosine - self.mean) / self.spread))


Meant = dict[int, tuple[float, float]]  # a record's number → its cosine, and the same scaled


@dataclass(frozen=True, slots=True)
class _Found:
    """What words and meaning found."""

    worded: dict[int, float]
    yardstick: Yardstick
    readings: list[Reading]
    meant: Meant
    facts: dict[int, Fact]  # of those that pass the filter


@dataclass(frozen=True, slots=True)
class Gather:
    """The records that share most words with the question, those nearest to it in meaning, and the neighbours of the best."""

    words: int = 50
    meaning: int = 50
    around: int = 25  # of how many the neighbours are looked at
    one_moment: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        found = self._found(search, tools, _loose(search.where))
        if len(found.facts) < len({*found.worded, *found.meant}):  # the filter keeps some out, and others may come in
            found = self._found(search, tools, search.where)
        return self._beside_them(found, search, tools)

    def _found(self, search: Search, tools: Tools, where: Where) -> "_Found":
        worded, yardstick = self._by_words(search, tools, where)
        readings, meant = self._by_meaning(search, tools, where)
        return _Found(worded, yardstick, readings, meant, _facts({*worded, *meant}, search, tools))

    def _beside_them(self, found: "_Found", search: Search, tools: Tools) -> Search:
        worded, readings, meant, facts = dict(found.worded), found.readings, dict(found.meant), dict(found.facts)
        beside = self._beside(facts, worded, meant) - set(facts)
        worded |= _score((set(facts) | beside) - set(worded), found.yardstick, search, tools)
        meant |= _compare((set(facts) | beside) - set(meant), readings, search, tools)
        facts |= _facts(beside, search, tools)
        kin = self._kin(facts, worded, meant, readings, search, tools)
        unlike: tuple[float | None, float] = (None, 0.0)
        candidates = tuple(
            Candidate(fact, worded.get(number, 0.0), *meant.get(number, unlike), kin.get(number, 0.0))
            for number, fact in facts.items()
        )
        because = None if candidates else _nothing(search, bool(readings))
        note = None if readings else tools.meaning.problem
        return search.but(candidates=candidates, note=note, empty_because=because)

    def _by_words(self, search: Search, tools: Tools, where: Where) -> tuple[dict[int, float], Yardstick]:
        """How much of the question each record covers. Raw BM25 is not comparable between questions."""
        if not search.terms:
            return {}, Yardstick()
        pool = search.pool(max(self.words, 2 * search.limit))
        found = tools.store.match_numbers(search.terms, search.shelves, where, pool)
        whole = found.yardstick.whole
        return {number: score / whole for number, score in found.scores.items()}, found.yardstick

    def _by_meaning(self, search: Search, tools: Tools, where: Where) -> tuple[list[Reading], Meant]:
        """What every generation that can be read now says; where two know a record, the newer one is believed."""
        readings: list[Reading] = []
        meant: Meant = {}
        pool = search.pool(max(self.meaning, 2 * search.limit))
        for generation, vector in search.asked.vectors:
            near = tools.store.nearest(generation.id, vector, search.shelves, where, pool, search.exact)
            reading = Reading(generation.id, vector, *_ordinary(near))
            readings.append(reading)
            meant = {**_scaled(dict(near.hits), reading), **meant}
        return readings, meant

    def _beside(self, facts: Mapping[int, Fact], worded: Mapping[int, float], meant: Meant) -> set[int]:
        best = _best(facts, worded, meant)[: self.around]
        return {n for number in best for n in (facts[number].before, facts[number].after) if n is not None}

    def _kin(
        self,
        facts: Mapping[int, Fact],
        worded: Mapping[int, float],
        meant: Meant,
        readings: Sequence[Reading],
        search: Search,
        tools: Tools,
    ) -> dict[int, float]:
        """How near each text that belongs to no talk is to the best two of them: their neighbours are those that mean the
        same. Only among so many that the best two can be right."""
        alone = [number for number, fact in facts.items() if fact.session is None]
        if len(alone) < KIN_AMONG or not readings:
            return {}
        best, reading = _best(alone, worded, meant)[:KIN], readings[0]
        vectors = list(tools.store.directions(reading.generation, search.shelves, best).values())
        if not vectors:
            return {}
        cosines = tools.store.similarities(reading.generation, sum(vectors[1:], vectors[0]), search.shelves, alone)
        mean = sum(cosines.values()) / max(1, len(cosines))
        return {n: min(MOST_KIN, max(0.0, (cosine - mean) / reading.spread)) for n, cosine in cosines.items()}


def _loose(where: Where) -> Where:
    """Without what a question leaves out unless it is asked for. Such memories are so few that it is cheaper to look whether
    one is among what was found than to keep them out everywhere."""
    left = tuple(clause for clause in where.clauses if clause.field != "kind" or clause.op != "ne")
    return Where(where.access, left)


def _best(numbers: Iterable[int], worded: Mapping[int, float], meant: Meant) -> list[int]:
    """The more promising first, roughly as the mix weighs it."""
    return sorted(numbers, key=lambda n: (-9 * worded.get(n, 0.0) - 0.6 * meant.get(n, (0.0, 0.0))[1], -n))


def _facts(numbers: Iterable[int], search: Search, tools: Tools) -> dict[int, Fact]:
    wanted = sorted(numbers)
    return {fact.number: fact for fact in tools.store.facts(wanted, search.shelves, search.where)} if wanted else {}


def _score(numbers: set[int], yardstick: Yardstick, search: Search, tools: Tools) -> dict[int, float]:
    if not numbers or not yardstick.weights:
        return {}
    scores, whole = tools.store.score(yardstick, search.shelves, sorted(numbers)), yardstick.whole
    return {number: score / whole for number, score in scores.items()}


def _compare(numbers: set[int], readings: Iterable[Reading], search: Search, tools: Tools) -> Meant:
    meant: Meant = {}
    for reading in readings:
        found = tools.store.similarities(reading.generation, reading.vector, search.shelves, sorted(numbers))
        meant = {**_scaled(found, reading), **meant}
    return meant


def _scaled(cosines: Mapping[int, float], reading: Reading) -> Meant:
    """A text that the model cannot read has no direction; its cosine is exactly 0 and says nothing."""
    return {number: (cosine, reading.scaled(cosine)) for number, cosine in cosines.items() if cosine}


def _ordinary(near: Near) -> tuple[float, float]:
    """Mean and spread of the shelf's own similarities, leaning on the usual ones where there are few."""
    rows = near.rows + USUAL_ROWS
    mean = (near.rows * near.mean + USUAL_ROWS * USUAL_MEAN) / rows
    variance = (near.rows * near.spread**2 + USUAL_ROWS * USUAL_SPREAD**2) / rows
    return mean, max(LEAST_SPREAD, math.sqrt(variance))


def _nothing(search: Search, compared: bool) -> str:
    filtered = " and passes the filter" if search.filtered else ""
    if not search.terms and not compared:
        return "the question holds no words to look for"
    also = " or comes near its meaning" if compared else ""
    return f"no memory here holds any of the question's words{also}{filtered}"
