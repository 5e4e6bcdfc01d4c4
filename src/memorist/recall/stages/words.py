"""Finding by words alone: the query's own, others that stand for them, and similar ones.

*Aliases* work both ways: a query about "auth" finds what was written about logins, and the other way round. *Similar words* are
corrections of misspelt ones and longer ones with the same beginning, looked up in the vocabulary of the store, never guessed.
Both count less than the words of the query, and the trace names them. Scores are scaled to 0..1, so that weights can multiply
them.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import ClassVar

from memorist.design import Tools
from memorist.kinds import KINDS
from memorist.lazy import dataclass
from memorist.recall.pipeline import NOTHING, Expansion, Search
from memorist.recall.stages.labels import Labels, and_like, share, words_of
from memorist.records import Hit, Record
from memorist.store.choices import chosen
from memorist.store.where import Where
from memorist.text import bm25
from memorist.text.twins import distance
from memorist.text.words import chunks, query_terms, terms

Aliases = Mapping[str, tuple[str, ...]]
USUAL: Aliases = {
    "auth": ("authentication", "login", "signin", "oauth", "jwt", "credentials", "permissions"),
    "db": ("database", "sql", "postgres", "mysql", "sqlite", "query", "schema", "migration"),
    "api": ("endpoint", "rest", "graphql", "route", "http", "request", "response"),
    "ui": ("interface", "frontend", "component", "view", "layout", "css", "page"),
    "test": ("tests", "spec", "unittest", "fixture", "mock", "assertion", "coverage"),
    "err": ("error", "exception", "failure", "crash", "bug", "traceback"),
    "config": ("configuration", "settings", "options", "environment", "env"),
    "state": ("store", "redux", "context", "reducer"),
    "build": ("compile", "bundle", "webpack", "vite", "makefile", "ci", "pipeline"),
    "security": ("vulnerability", "xss", "csrf", "injection", "encryption", "secret"),
    "perf": ("performance", "latency", "slow", "speed", "cache", "optimization", "memory"),
    "ts": ("typescript", "tsc", "tsconfig"),
}
ALIAS, FUZZY, PREFIX = 0.6, 0.45, 0.375  # the most that such a word counts
SHORTEST_PREFIX, SHORTEST_FUZZY = 3, 4  # letters; shorter words resemble everything
MOST_EDITS = 3
ENDING = 3  # letters that a stem may have lost
MOST_SIMILAR = 8  # words added for one word
LOOKED_UP = 2000  # vocabulary words read for one beginning
CONTENT, TAGS, FILES, KIND = 2.0, 1.5, 1.2, 1.0  # how much a word counts by where it stands


@dataclass(frozen=True, slots=True)
class Widen:
    """Adds words that stand for those of the query: first what the aliases say, then similar words of the vocabulary."""

    optional: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        own, added = defaultdict[str, tuple[str, ...]](tuple), dict[str, Expansion]()
        for space, scope in dict.fromkeys((shelf.space, shelf.scope) for shelf in search.shelves):
            for word, others in chosen(tools.store, space, scope).aliases.items():
                own[word] += others
        aliases = (each for word, others in effective(own).items() for each in _both_ways(word, others))
        asked = {*search.terms}
        wider = [Expansion(t, a[0], "alias", ALIAS / len(b)) for a, b in aliases if asked.issuperset(a) for t in b]
        wider += [each for term in search.terms for each in _similar(term, search, tools)]
        for each in wider:
            if each.term not in asked:
                added.setdefault(each.term, each)
        note = "also: " + ", ".join(f"{e.term} for {e.instead_of} ({e.how})" for e in added.values()) if added else None
        return search.but(expansions=tuple(added.values()), note=note)


def effective(own: Aliases) -> dict[str, tuple[str, ...]]:
    """The aliases that apply given a store's own: these replace the usual ones for the same word."""
    return {word: others for word, others in {**own, **USUAL, **own}.items() if others}


@cache
def _both_ways(word: str, others: tuple[str, ...]) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """Pairs (terms in the query, terms to search for as well)."""
    short, longs = tuple(query_terms(word)), [tuple(query_terms(other)) for other in others]
    pairs = [*((short, long) for long in longs), *((long, short) for long in longs)]
    return tuple((asked, also) for asked, also in pairs if asked and also and asked != also)


def _similar(term: str, search: Search, tools: Tools) -> list[Expansion]:
    """The vocabulary's longer words that begin like this one and, if it does not know the term, those that it may have been
    meant to be."""
    if not term.isalpha() or len(term) < SHORTEST_PREFIX:
        return []
    begin = tools.store.vocabulary(term, search.shelves, search.where, LOOKED_UP)
    longer = [word for word in begin if word != term and word.isalpha()]
    similar = [Expansion(w, term, "prefix", PREFIX * _nearness(term, 0.3 * (len(w) - len(term)))) for w in longer]
    similar += misspelt(term, search, tools) if term not in begin and len(term) >= SHORTEST_FUZZY else ()
    return sorted(similar, key=lambda each: (-each.weight, each.term))[:MOST_SIMILAR]


def misspelt(term: str, search: Search, tools: Tools, share: float = 0.2) -> Iterator[Expansion]:
    """Words of the vocabulary that `term` may have been meant to be: up to `share` of its letters differ. The right word may
    begin like this one, lack its second letter, or have the first two swapped."""
    most, letters = min(MOST_EDITS, round(share * len(term))), set(term)
    sizes = range(len(term) - max(most, ENDING), len(term) + most + 1)
    for begin in dict.fromkeys((term[:2], term[0] + term[2], term[1] + term[0])):
        for word in tools.store.vocabulary(begin, search.shelves, search.where, LOOKED_UP):
            is_stem = term.startswith(word)
            if len(word) not in sizes or (len(letters.difference(word)) > most and not is_stem):
                continue  # as nearly all: cheaper than counting edits
            # Both are stems: a misspelt word may have kept an ending that the right one has lost.
            lost_ending = is_stem and len(word) >= SHORTEST_FUZZY and len(term) - len(word) <= ENDING
            if edits := 1 if lost_ending else distance(term, word, most):
                yield Expansion(word, term, "fuzzy", FUZZY * _nearness(term, edits))


def _nearness(term: str, differs: float) -> float:
    return len(term) / (len(term) + differs)


@dataclass(frozen=True, slots=True)
class ByWords:
    """Finds records that hold the query's words.

    Raw BM25 scores are not comparable between queries, and a word that most records hold scores near zero for any of them.
    Divided by the highest possible score of this query here, a score says how much of the query a record covers.
    """

    pool: int = 60
    source: bool = False  # whether words for the source of a memory are searched for: conversation, migration …
    voted: bool = False  # whether what was voted for is searched for beyond a full pool, since votes may lift it
    one_moment: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        if not search.terms:
            return search
        pool = search.pool(max(self.pool, 4 * search.limit))
        shares, whole = _match(search, search.where, pool, tools)
        if self.voted and len(shares) >= pool and search.left() != 0:
            shares |= _match(search, search.where.also("up", "gt", 0), pool, tools)[0]
        labels = Labels.of(search.terms, tools.kinds, self.source)
        if labels:
            others = {each.number: (each, 0.0) for each in labels.look_up(len(shares), search, tools)} | shares
            carrying = sum(labels.on(record) > 0 for record, _ in others.values())
            label = share(carrying, len(others), whole, search.terms)
            shares = {n: (record, words + label * labels.on(record)) for n, (record, words) in others.items()}
        hits = tuple([Hit(record, words, {"words": words}) for record, words in shares.values()])
        return search.but(hits=hits, empty_because=None if hits else NOTHING)


def _match(search: Search, where: Where, most: int, tools: Tools) -> tuple[dict[int, tuple[Record, float]], float]:
    """The best by words that pass this filter, by number, each with its share of the query's weight; and that weight."""
    match = tools.store.match(search.terms, search.shelves, where, most)
    whole = match.yardstick.ceiling
    records = tools.store.get(list(match.scores), where) if match.scores else []
    return {each.number: (each, match.scores[each.number] / whole) for each in records}, whole


@dataclass(frozen=True, slots=True)
class ByFields:
    """Finds records that hold the query's words, or words that stand for them."""

    pool: int = 500  # all are read and scored, since other weights may lift the last to the top
    one_moment: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        if not search.terms:
            return search
        pool, store = search.pool(max(self.pool, 4 * search.limit)), tools.store
        found = store.match(search.terms, search.shelves, search.where, pool)
        scores, weights = dict(found.scores), dict(found.yardstick.weights)
        # Words that stand for others are usually rarer, so they are matched separately: the index only reads the rarest words
        # of one query.
        for start in range(0, len(search.expansions), bm25.MOST_TERMS):
            some = search.expansions[start : start + bm25.MOST_TERMS]
            also = store.match([each.term for each in some], search.shelves, search.where, pool)
            weights, share = {**also.yardstick.weights, **weights}, max(each.weight for each in some)
            for number, score in also.scores.items():
                scores[number] = scores.get(number, 0.0) + share * score
        best = sorted(scores, key=lambda number: (-scores[number], -number))[:pool]
        records = {record.id: record for record in store.get(best, search.where)}
        labelled = Labels.of(search.terms, tools.kinds).look_up(len(records), search, tools)
        records = {record.id: record for record in labelled} | records
        groups = {term: {term: 1.0} for term in search.terms}  # what stands for each term, and how much that counts
        for each in search.expansions:
            groups[each.instead_of][each.term] = max(each.weight, groups[each.instead_of].get(each.term, 0.0))
        rare = max(weights.values(), default=1.0)  # a word that nothing holds is as informative as the rarest
        least = min(weights.values(), default=1.0)  # a kind says little
        named = {term for words in _kind_words().values() for term in words}
        weights = {term: least for term in groups if term in named} | weights
        most = [
            max([weights.get(term, rare), *(weights[t] * share for t, share in group.items() if t in weights)])
            for term, group in groups.items()
        ]
        weighed = [{t: weights.get(t, 0.0) * share for t, share in group.items()} for group in groups.values()]
        whole, average = sum(most) * (bm25.K1 + 1), found.yardstick.average
        relevant = [(record, _covered(record, weighed, average) / whole) for record in records.values()]
        hits = tuple([Hit(record, score, {"words": score}) for record, score in relevant if score > 0])
        return search.but(hits=hits, empty_because=None if hits else NOTHING)


def _covered(record: Record, groups: Sequence[Mapping[str, float]], average: float) -> float:
    """How much of a query a record covers: its best part, if the text is long. In each group, the weights of words of which one
    suffices. `average`: terms in an index row."""
    apart = (
        (CONTENT, terms(record.title or "")),
        (TAGS, terms("\n".join((*record.tags, record.provenance.speaker or "")))),
        (FILES, terms("\n".join(record.files))),
    )
    shared, best = defaultdict[str, float](float), 0.0
    for weight, words in (*apart, (KIND, _kind_words().get(record.kind, ()))):
        for word in words:
            shared[word] += weight
    length = sum(len(words) for _, words in apart)
    for start, end in chunks(record.text):
        counts, words = shared.copy(), terms(record.text[start:end])
        for word in words:
            counts[word] += CONTENT
        norm = bm25.K1 * (1 - bm25.B + bm25.B * (length + len(words)) / average)
        score = 0.0
        for group in groups:
            held = [(weight, counts[word]) for word, weight in group.items() if word in counts]
            score += max([weight * count * (bm25.K1 + 1) / (count + norm) for weight, count in held], default=0.0)
        best = max(best, score)
    return best


@cache
def _kind_words() -> Mapping[str, tuple[str, ...]]:
    return {name: tuple({word for each in and_like({name}) for word in words_of(each)}) for name in KINDS}
