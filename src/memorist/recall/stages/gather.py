"""From the typed text to candidates. Any text is a valid query.

Words find names and numbers, meaning finds paraphrases: every query uses both. Then the neighbours of the best are added,
because in a talk the answer often lies one turn after the turn that fits the query; and if the query names a day, week or month,
turns of that time, even if they share little with it. No text is read here: a candidate is a few numbers, and only the best
become hits (`Blend`).
"""

import math
from collections.abc import Iterable
from functools import cache
from heapq import nsmallest
from typing import TYPE_CHECKING, ClassVar

from memorist.design import Tools
from memorist.kinds import TURNS
from memorist.lazy import dataclass
from memorist.recall.pipeline import NOTHING, Candidate, Search
from memorist.recall.stages.labels import Labels, share
from memorist.recall.stages.words import SHORTEST_FUZZY, misspelt
from memorist.store.nouns import Fact, Near
from memorist.store.where import Order
from memorist.text.bm25 import Found, Yardstick
from memorist.text.dates import Span, spans
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

MOST_TERMS = 64  # words of a query that are searched for
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
MOST_WITHIN = 50  # turns of a named time that are collected by meaning, and as many by words
# Words of a query that asks for a time without saying what happened then.
VAGUE = """do done happen happened happening go going went on up talk talked say said tell told speak spoke discuss discussed chat
chatted mention mentioned conversation day thing things stuff anything something plan planned made
gemacht machen mache passiert geschehen los war besprochen gesprochen geredet erzählt gesagt worüber erlebt vor geplant
unternommen"""
UNLIKE: tuple[float | None, float] = (None, 0.0)  # no cosine
_REPEATED = regex(r"([^\w\s])\1{3,}")  # a ruler, dots, a row of brackets: one is enough


# ---------------------------------------------------------------- what is asked


@dataclass(frozen=True, slots=True)
class Understand:
    """Extracts the query itself, without text pasted or injected around it, and its terms: folded, stemmed, without stop
    words."""

    urls: bool = True  # whether URLs are searched for; a query that is nothing but a URL always is

    def __call__(self, search: Search, tools: Tools) -> Search:
        whole = question_of(search.query)
        whole = whole if self.urls else without_urls(whole)
        if search.min_relevance is None and small_talk(whole):
            return search.but(note=SMALL_TALK, empty_because=SMALL_TALK)
        said = whole[:LONGEST_QUERY]
        terms = tuple(query_terms(said, MOST_TERMS))
        note = "looked for: " + ", ".join(terms) if terms else None
        if len(whole) > LONGEST_QUERY:
            note = f"only the first {LONGEST_QUERY:,} characters of the question were read; {note or 'no words in it'}"
        elif len(terms) == MOST_TERMS:
            note = f"only the first {MOST_TERMS} words of the question were used; {note}"
        return search.but(terms=terms, said=said, note=note, empty_because=None if terms else NO_WORDS)


@dataclass(frozen=True, slots=True)
class Recognise:
    """Finds the speakers and times that the query names, and its meaning as vectors.

    A speaker's name is removed from the text compared by meaning: it says nothing about what was said, and the speaker is a
    signal of its own. It stays among the words, for texts that speak about that person. Pasted text is compared by meaning too
    if it is not too long: a log or a mail says what the query is about.
    """

    def __call__(self, search: Search, tools: Tools) -> Search:
        said, known = search.said, tools.store.speakers(search.shelves, MOST_SPEAKERS)
        named, bare = speakers_in(said, known) if 0 < len(known) < MOST_SPEAKERS else ([], said)
        speakers = tuple(named)
        if not tells_something(bare):  # "Who is Ann?" asks about her, not about what she said
            speakers, bare = (), said
        times = tuple(spans(said, search.moment or search.now))
        terms, alone = search.terms, False
        if times and search.layers == (TURNS,):
            bare, terms, alone = _without_times(bare, times, search.terms)
        layers = {shelf.layer for shelf in search.shelves}
        meant = search.query if bare == said else bare
        meant = without_injected(meant[:LONGEST_QUERY]) or meant
        meant = _REPEATED.sub(r"\1", meant if len(meant) <= LONGEST_MESSAGE else bare[:LONGEST_MESSAGE])
        read, late = tools.meaning.in_time(meant, search.left(), layers) if tells_something(bare) else ([], None)
        vectors = tuple((generation, vector) for generation, vector in read if vector.any())  # else it knew no word
        recognised = ", ".join((*speakers, *[span.text for span in times]))
        note = "; ".join(filter(None, (recognised and f"recognised: {recognised}", late))) or None
        notes, role = (late,) if late else (), asked_role(said)
        found = {"said": bare, "speakers": speakers, "spans": times, "vectors": vectors, "role": role, "alone": alone}
        return search.but(**found, terms=terms, note=note, notes=notes)


def _without_times(said: str, times: Iterable[Span], terms: tuple[str, ...]) -> tuple[str, tuple[str, ...], bool]:
    """The text and the terms to search for among turns, without the words for a relative time ("today"), which turns of other
    days contain too; and whether the query asks for hardly anything but a time. Among memories these words count, because a note
    is not from the day that it is about."""
    left, then, every = said, set[str](), set(_vague())
    for span in times:
        words = query_terms(span.text)
        every.update(words)
        if span.moves:
            then.update(words)
            left = left.replace(span.text, " ")
    kept = tuple(term for term in terms if term not in then)
    return left if tells_something(left) else said, kept, every.issuperset(kept)


@cache
def _vague() -> frozenset[str]:
    return frozenset(terms(VAGUE))


# ---------------------------------------------------------------- what may answer it


def _scaled(cosines: Iterable[tuple[int, float]], near: Near) -> dict[int, tuple[float, float]]:
    """Each cosine, and the same on the common scale: how many standard deviations it lies above the ordinary on these shelves,
    so that words and models can be added. Small shelves lean on the usual mean and spread. It is bounded, because on a shelf of
    similar texts a different one would be dozens of deviations away. A text that the model cannot read has no direction; its
    cosine is exactly 0 and says nothing."""
    rows = near.rows + USUAL_ROWS
    mean = (near.rows * near.mean + USUAL_ROWS * USUAL_MEAN) / rows
    spread = math.sqrt((near.rows * near.spread**2 + USUAL_ROWS * USUAL_SPREAD**2) / rows)
    spread = max(LEAST_SPREAD, spread)
    return {n: (each, max(MOST_BELOW, min(MOST_ABOVE, (each - mean) / spread))) for n, each in cosines if each}


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
        found, nearly, readings = Found(), Found(), list[tuple[int, "Floats", Near]]()
        words = dict[int, float]()  # the share of the query that each record covers: raw scores depend on the query
        meant = dict[int, tuple[float, float]]()
        if search.terms:
            found = store.match(search.terms, shelves, where, max(self.words, most))
            words = {number: score / found.yardstick.whole for number, score in found.scores.items()}
            nearly = _nearly(found.yardstick, search, max(self.words, most), tools)
        for generation, vector in search.vectors:
            near = store.nearest(generation.id, vector, shelves, where, max(self.meaning, most), search.exact)
            readings.append((generation.id, vector, near))
            meant = _scaled(near.hits, near) | meant  # the first one counts, which is the newer
        known = words.keys() | meant.keys() | nearly.scores.keys() | search.wanted
        facts = {fact.number: fact for fact in store.facts(sorted(known), shelves, where)} if known else {}
        beside = _within(search, tools)
        if any(fact.session is not None for fact in facts.values()):
            # The most promising first, roughly as the weights of the blend have it.
            ranks = {n: (-9 * words.get(n, 0.0) - 0.6 * meant.get(n, UNLIKE)[1], -n) for n in facts}
            best = [facts[number] for number in nsmallest(self.around, ranks, key=ranks.__getitem__)]
            beside |= {number for fact in best for number in (fact.before, fact.after) if number is not None}
        if beside - facts.keys():
            facts |= {fact.number: fact for fact in store.facts(sorted(beside - facts.keys()), shelves, where)}
        unscored = sorted(facts.keys() - words.keys())
        if unscored and found.yardstick.weights:
            scores = store.score(found.yardstick, shelves, unscored)
            words |= {number: score / found.yardstick.whole for number, score in scores.items()}
        uncompared = sorted(facts.keys() - meant.keys())
        for model, vector, near in readings if uncompared else ():
            cosines = store.similarities(model, vector, shelves, uncompared)
            meant = _scaled(cosines.items(), near) | meant
        corrected = store.score(nearly.yardstick, shelves, sorted(facts)) if nearly.yardstick.weights else {}
        _label(facts, words, found.yardstick, search, tools)
        whole = found.yardstick.ceiling or 1.0
        candidates = [
            Candidate(fact, words.get(n, 0.0), *meant.get(n, UNLIKE), corrected.get(n, 0.0) / whole)
            for n, fact in facts.items()
        ]
        # Whoever names something means it.
        weights = {
            word: [found.yardstick.weights.get(term, 0.0) for term in terms(word)] for word in names_in(search.said)
        }
        names = {word: max(some) / USUAL_WEIGHT for word, some in weights.items() if any(some)}
        nothing = NOTHING if search.terms or readings else search.empty_because or NO_WORDS
        return search.but(
            candidates=tuple(candidates),
            yardstick=found.yardstick,
            names=names,
            note=None if readings else tools.meaning.problem,
            empty_because=None if candidates else nothing,
        )


def _nearly(known: Yardstick, search: Search, most: int, tools: Tools) -> Found:
    """Records that hold the probably intended words, for words of the query that occur nowhere but resemble others."""
    absent = [term for term in known.absent[:MOST_MISSPELT] if term.isalpha() and len(term) >= SHORTEST_FUZZY]
    similar = [list(misspelt(term, search, tools, MISSPELT)) for term in absent]
    nearest = [max(each, key=lambda one: (one.weight, one.term)).term for each in similar if each]
    meant = list(dict.fromkeys(nearest))
    return tools.store.match(meant, search.shelves, search.where, most) if meant else Found()


def _within(search: Search, tools: Tools) -> set[int]:
    """The numbers of turns from the first times that the query names: those nearest to it by meaning and by words."""
    shelves, found = [shelf for shelf in search.shelves if shelf.layer == TURNS], set[int]()
    for span in search.spans[:2] if shelves else ():
        where = search.where.also("at", "gte", span.start).also("at", "lt", span.end)
        if search.alone:
            here = where.also("kind", "eq", "turn").also("scope", "in", tuple({shelf.scope for shelf in shelves}))
            found |= {record.number for record in tools.store.find(here, Order("at"), MOST_WITHIN)}
        if search.terms:
            found |= tools.store.match(search.terms, shelves, where, MOST_WITHIN).scores.keys()
        for generation, vector in search.vectors[:1]:
            near = tools.store.nearest(generation.id, vector, shelves, where, MOST_WITHIN, search.exact)
            found |= {number for number, _ in near.hits}
    return found


def _label(facts: dict[int, Fact], words: dict[int, float], known: Yardstick, search: Search, tools: Tools) -> None:
    """If the query names a kind, that counts as a word of each candidate of this kind."""
    labels = Labels.of(search.terms, tools.kinds)
    if labels:
        also = [record.number for record in labels.look_up(len(facts), search, tools)]
        facts |= {fact.number: fact for fact in tools.store.facts(also, search.shelves, search.where)} if also else {}
        carrying = [number for number, fact in facts.items() if fact.kind in labels.kinds]
        label = share(len(carrying), len(facts), known.whole, search.terms)
        words.update({number: words.get(number, 0.0) + label for number in carrying})
