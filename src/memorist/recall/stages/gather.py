"""From the typed text to candidates. Any text is a valid query.

Words find names and numbers, meaning finds paraphrases: every query uses both. Then the neighbours of the best are added,
because in a talk the answer often lies one turn after the turn that fits the query. No text is read here: a candidate is a few
numbers, and only the best become hits (`Blend`).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import nsmallest
from typing import TYPE_CHECKING, ClassVar

from memorist.design import Tools, bounded
from memorist.lazy import dataclass
from memorist.recall.pipeline import Asked, Candidate, Search
from memorist.recall.stages.labels import Labels, share
from memorist.recall.stages.talk import timed, within
from memorist.recall.stages.words import SHORTEST_FUZZY, meant_by
from memorist.store.nouns import Fact, Generation, Near
from memorist.text.bm25 import Found, Yardstick
from memorist.text.dates import spans
from memorist.text.patterns import regex
from memorist.text.question import (
    asked_role,
    names_in,
    question_of,
    small_talk,
    speakers_in,
    without_injected,
    without_urls,
)
from memorist.text.words import LONGEST_QUERY, query_terms, tells_something, terms

if TYPE_CHECKING:
    from memorist.models.embed import Floats

LONGEST_MESSAGE = 2000  # characters compared by meaning; pasted text is included only within this limit
MOST_SPEAKERS = 200  # speakers whose names are recognised; where more people speak, a name says little
MOST_BELOW, MOST_ABOVE = -2.0, 8.0  # standard deviations
# The usual cosines of a query with unrelated texts. A shelf too small for its own statistics leans on these; the numbers of a
# large shelf outweigh them.
USUAL_MEAN, USUAL_SPREAD, USUAL_ROWS = 0.24, 0.13, 20
LEAST_SPREAD = 0.08  # on a shelf of similar texts, the differences are mostly noise
NO_WORDS = "the question holds no words to look for"
SMALL_TALK = "this is small talk: there is nothing to look up"
EVERY = 50  # hits: any limit up to this compares the same candidates
MOST_MISSPELT = 8  # words of a query that are looked up in the vocabulary
MISSPELT = 0.25  # the share of letters that may differ
USUAL_WEIGHT = 3.0  # of an informative word
_REPEATED = regex(r"([^\w\s])\1{3,}")  # a ruler, dots, a row of brackets: one is enough
UNLIKE: tuple[float | None, float] = (None, 0.0)


# ---------------------------------------------------------------- what is asked


@dataclass(frozen=True, slots=True)
class Understand:
    """Extracts the query itself, without text pasted or injected around it, and its terms: folded, stemmed, without stop
    words."""

    most: int = bounded(1, 64, 64)
    urls: bool = True  # whether URLs are searched for; a query that is nothing but a URL always is

    def __call__(self, search: Search, tools: Tools) -> Search:
        whole = question_of(search.query)
        whole = whole if self.urls else without_urls(whole)
        if search.min_relevance is None and small_talk(whole):
            return search.but(note=SMALL_TALK, empty_because=SMALL_TALK)
        said = whole[:LONGEST_QUERY]
        terms = tuple(query_terms(said, self.most))
        note = "looked for: " + ", ".join(terms) if terms else None
        if len(whole) > LONGEST_QUERY:
            note = f"only the first {LONGEST_QUERY:,} characters of the question were read; {note or 'no words in it'}"
        elif len(terms) == self.most:
            note = f"only the first {self.most} words of the question were used; {note}"
        because = None if terms else NO_WORDS
        return search.but(terms=terms, asked=Asked(said), note=note, empty_because=because)


@dataclass(frozen=True, slots=True)
class Recognise:
    """Finds the speakers and times that the query names, and its meaning as vectors.

    A speaker's name is removed from the text compared by meaning: it says nothing about what was said, and the speaker is a
    signal of its own. It stays among the words, for texts that speak about that person. Pasted text is compared by meaning too
    if it is not too long: a log or a mail says what the query is about.
    """

    def __call__(self, search: Search, tools: Tools) -> Search:
        said = search.asked.text
        known = tools.store.speakers(search.shelves, MOST_SPEAKERS)
        speakers, bare = _spoken_of(said, known) if 0 < len(known) < MOST_SPEAKERS else ((), said)
        times = tuple(spans(said, search.moment or search.now))
        bare, terms, alone = timed(bare, times, search)
        layers = {shelf.layer for shelf in search.shelves}
        meant = _meant(search.query if bare == said else bare, bare)
        told, late = tools.meaning.in_time(meant, search.left(), layers) if tells_something(bare) else ([], None)
        vectors = tuple(filter(_tells, told))
        named = ", ".join((*speakers, *[span.text for span in times]))
        note = "; ".join(filter(None, (named and f"recognised: {named}", late))) or None
        asked = Asked(bare, speakers, times, vectors, role=asked_role(said), alone=alone)
        return search.but(asked=asked, terms=terms, note=note, notes=tuple(filter(None, [late])))


def _tells(told: "tuple[Generation, Floats]") -> bool:
    """Whether the model knew any word of the query."""
    return bool(told[1].any())


def _meant(said: str, bare: str) -> str:
    """The text to compare by meaning: the query with pasted text or, if that is too long, the bare query."""
    whole = without_injected(said[:LONGEST_QUERY]) or said
    return _REPEATED.sub(r"\1", whole if len(whole) <= LONGEST_MESSAGE else bare[:LONGEST_MESSAGE])


def _spoken_of(said: str, known: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The known speakers that a query names, and the query without their names. "Who is Ann?" names none: it asks about her,
    not about what she said."""
    speakers, bare = speakers_in(said, known)
    return (tuple(speakers), bare) if tells_something(bare) else ((), said)


# ---------------------------------------------------------------- what may answer it


@dataclass(frozen=True, slots=True)
class Reading:
    """The query as seen by one generation: its vector, and the ordinary similarity on these shelves."""

    generation: int
    vector: "Floats"
    mean: float
    spread: float

    @classmethod
    def of(cls, generation: int, vector: "Floats", near: Near) -> "Reading":
        """Takes mean and spread from the shelves' own similarities, leaning on the usual ones where there are few rows."""
        rows = near.rows + USUAL_ROWS
        mean = (near.rows * near.mean + USUAL_ROWS * USUAL_MEAN) / rows
        variance = (near.rows * near.spread**2 + USUAL_ROWS * USUAL_SPREAD**2) / rows
        return cls(generation, vector, mean, max(LEAST_SPREAD, math.sqrt(variance)))


class Measured:
    """What words and meaning say about records, by record number."""

    def __init__(self) -> None:
        self.words: dict[int, float] = {}  # the share of the query that each covers
        self.meant: dict[int, tuple[float, float]] = {}  # the cosine, and the same on the common scale

    def add_words(self, scores: Mapping[int, float], whole: float) -> None:
        """Raw BM25 scores are not comparable between queries; what counts is how much of the query a record covers."""
        self.words.update({number: score / whole for number, score in scores.items()})

    def add_meaning(self, cosines: Iterable[tuple[int, float]], reading: Reading) -> None:
        """On the common scale, a cosine is how many standard deviations it lies above the ordinary, so that words and models
        can be added. It is bounded, because on a shelf of similar texts a different one would be dozens of deviations away. A
        text that the model cannot read has no direction; its cosine is exactly 0 and says nothing. If two generations know a
        record, the first one passed here counts, which is the newer."""
        meant, mean, spread = self.meant, reading.mean, reading.spread
        for number, cosine in cosines:
            if cosine and number not in meant:
                scaled = (cosine - mean) / spread
                meant[number] = cosine, MOST_ABOVE if scaled > MOST_ABOVE else max(MOST_BELOW, scaled)

    def best(self, numbers: Iterable[int], most: int) -> list[int]:
        """The most promising first, roughly as the mix weighs them."""
        words, meant = self.words.get, self.meant.get
        return nsmallest(most, numbers, key=lambda n: (-9 * words(n, 0.0) - 0.6 * meant(n, UNLIKE)[1], -n))


@dataclass(frozen=True, slots=True)
class Gather:
    """Collects the records that share most words with the query, those nearest to it in meaning, and the neighbours of the
    best."""

    words: int = 80  # the same for every limit up to it
    meaning: int = 80
    around: int = 25  # best candidates whose neighbours are added
    one_moment: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        store, shelves, where = tools.store, search.shelves, search.where
        most = 2 * search.limit if search.limit > EVERY else 0
        found, nearly, measured, readings = Found(), Found(), Measured(), list[Reading]()
        if search.terms:
            found = store.match(search.terms, shelves, where, max(self.words, most))
            measured.add_words(found.scores, found.yardstick.whole)
            nearly = _nearly(found.yardstick, search, max(self.words, most), tools)
        for generation, vector in search.asked.vectors:
            near = store.nearest(generation.id, vector, shelves, where, max(self.meaning, most), search.exact)
            readings.append(Reading.of(generation.id, vector, near))
            measured.add_meaning(near.hits, readings[-1])
        known = measured.words.keys() | measured.meant.keys() | nearly.scores.keys() | search.wanted
        facts = {fact.number: fact for fact in store.facts(sorted(known), shelves, where)} if known else {}
        beside = self._beside(facts, measured) | within(search, tools) - facts.keys()
        if beside:
            facts |= {fact.number: fact for fact in store.facts(sorted(beside), shelves, where)}
        unscored = sorted(facts.keys() - measured.words.keys())
        if unscored and found.yardstick.weights:
            measured.add_words(store.score(found.yardstick, shelves, unscored), found.yardstick.whole)
        uncompared = sorted(facts.keys() - measured.meant.keys())
        for reading in readings if uncompared else ():
            cosines = store.similarities(reading.generation, reading.vector, shelves, uncompared)
            measured.add_meaning(cosines.items(), reading)
        misspelt = store.score(nearly.yardstick, shelves, sorted(facts)) if nearly.yardstick.weights else {}
        self._label(facts, measured, found.yardstick, search, tools)
        whole = found.yardstick.ceiling or 1.0
        candidates = [
            Candidate(fact, measured.words.get(n, 0.0), *measured.meant.get(n, UNLIKE), misspelt.get(n, 0.0) / whole)
            for n, fact in facts.items()
        ]
        nothing = search.nothing(readings) if search.terms or readings else search.empty_because or NO_WORDS
        return search.but(
            candidates=tuple(candidates),
            yardstick=found.yardstick,
            asked=replace(search.asked, names=_names(search.asked.text, found.yardstick)),
            note=None if readings else tools.meaning.problem,
            empty_because=None if candidates else nothing,
        )

    @staticmethod
    def _label(facts: dict[int, Fact], measured: Measured, found: Yardstick, search: Search, tools: Tools) -> None:
        """If the query names a kind, that counts as a word of each candidate of this kind."""
        labels = Labels.of(search.terms, tools.kinds)
        if not labels:
            return
        also = [record.number for record in labels.look_up(len(facts), search, tools)]
        facts |= {fact.number: fact for fact in tools.store.facts(also, search.shelves, search.where)} if also else {}
        carrying, words = [n for n, fact in facts.items() if fact.kind in labels.kinds], measured.words
        label = share(len(carrying), len(facts), found.whole, search.terms)
        words.update({number: words.get(number, 0.0) + label for number in carrying})

    def _beside(self, facts: Mapping[int, Fact], measured: Measured) -> set[int]:
        """The session neighbors of the best, unless they were found themselves."""
        talks = any(fact.session is not None for fact in facts.values())
        best = [facts[number] for number in measured.best(facts, self.around)] if talks else []
        return {n for fact in best for n in (fact.before, fact.after) if n is not None} - facts.keys()


def _nearly(known: Yardstick, search: Search, most: int, tools: Tools) -> Found:
    """Records that hold the probably intended words, for words of the query that occur nowhere but resemble others."""
    absent = [term for term in known.absent[:MOST_MISSPELT] if term.isalpha() and len(term) >= SHORTEST_FUZZY]
    meant = dict.fromkeys(filter(None, [meant_by(term, search, tools, MISSPELT) for term in absent]))
    return tools.store.match(list(meant), search.shelves, search.where, most) if meant else Found()


def _names(said: str, known: Yardstick) -> dict[str, float]:
    """The names and numbers of a query that occur here, and how informative each is: whoever names something means it."""
    found = {word: max([known.weights.get(term, 0.0) for term in terms(word)] or [0.0]) for word in names_in(said)}
    return {word: weight / USUAL_WEIGHT for word, weight in found.items() if weight}
