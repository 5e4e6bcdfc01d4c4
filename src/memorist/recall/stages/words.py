"""Finding by words alone: the query's own, others that stand for them, and similar ones.

*Aliases* work both ways: a query about "auth" finds what was written about logins, and the other way round. *Similar words* are
corrections of misspelt ones and longer ones with the same beginning, looked up in the vocabulary of the store, never guessed.
Both count less than the words of the query, and the trace names them. Scores are scaled to 0..1, so that weights can multiply
them.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import ClassVar, Literal

from memorist import scoring
from memorist.design import Tools, bounded
from memorist.kinds import KINDS
from memorist.lazy import dataclass
from memorist.recall.pipeline import Expansion, Search, found
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
FUZZY, PREFIX = 0.45, 0.375  # the most that such a word counts
SHORTEST_PREFIX, SHORTEST_FUZZY = 3, 4  # letters; shorter words resemble everything
MOST_EDITS = 3
ENDING = 3  # letters that a stem may have lost
LOOKED_UP = 2000  # vocabulary words read for one beginning
LIFTS = ("nothing", "importance", "votes")  # later weights by which a memory may overtake one that fits better


@dataclass(frozen=True, slots=True)
class ExpandAliases:
    """Adds other words for those of the query: the store's own aliases, and the usual ones for words that it does not define."""

    weight: float = bounded(0.01, 1, 0.6)
    usual: bool = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        if not search.terms:
            return search
        own, added = dict[str, tuple[str, ...]](), dict[str, Expansion]()
        for space, scope in dict.fromkeys((shelf.space, shelf.scope) for shelf in search.shelves):
            for word, others in chosen(tools.store, space, scope).aliases.items():
                own[word] = (*own.get(word, ()), *others)
        for word, others in {**own, **(USUAL if self.usual else {}), **own}.items():
            for asked, also in _both_ways(word, others):
                if set(asked) <= set(search.terms):
                    weight = self.weight / len(also)
                    new = [term for term in also if term not in search.terms and term not in added]
                    added.update({term: Expansion(term, asked[0], "alias", weight) for term in new})
        note = "also: " + ", ".join(f"{each.term} for {each.instead_of}" for each in added.values()) if added else None
        return search.but(expansions=(*search.expansions, *added.values()), note=note)


def effective(own: Aliases) -> dict[str, tuple[str, ...]]:
    """The aliases that apply given a store's own: these replace the usual ones for the same word."""
    return {word: others for word, others in {**USUAL, **own}.items() if others}


@cache
def _both_ways(word: str, others: tuple[str, ...]) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """Pairs (terms in the query, terms to search for as well)."""
    short, longs = tuple(query_terms(word)), [tuple(query_terms(other)) for other in others]
    pairs = [*((short, long) for long in longs), *((long, short) for long in longs)]
    return tuple((asked, also) for asked, also in pairs if asked and also and asked != also)


@dataclass(frozen=True, slots=True)
class Widen:
    """Adds words of the vocabulary that are similar to those of the query."""

    fuzzy: float = bounded(0, 0.5, 0.2)  # the share of letters that may differ; 0 turns this off
    prefix: bool = True
    most: int = bounded(1, 64, 8)  # words added for one word
    optional: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        existing = {*search.terms, *(each.term for each in search.expansions)}
        added: dict[str, Expansion] = {}
        for term in search.terms:
            if not term.isalpha() or len(term) < SHORTEST_PREFIX:
                continue
            begin = tools.store.vocabulary(term, search.shelves, search.where, LOOKED_UP if self.prefix else 1)
            longer = [word for word in begin if self.prefix and word != term and word.isalpha()]
            like = [Expansion(w, term, "prefix", PREFIX * _nearness(term, 0.3 * (len(w) - len(term)))) for w in longer]
            if term not in begin and self.fuzzy and len(term) >= SHORTEST_FUZZY:
                like += misspelt(term, search, tools, self.fuzzy)
            for each in sorted(like, key=lambda each: (-each.weight, each.term))[: self.most]:
                if each.term not in existing:
                    added.setdefault(each.term, each)
        note = "also: " + ", ".join(f"{e.term} for {e.instead_of} ({e.how})" for e in added.values()) if added else None
        return search.but(expansions=(*search.expansions, *added.values()), note=note)


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
    lifted: Literal["nothing", "importance", "votes"] = (
        "nothing"  # the later weight, one of LIFTS; what it may lift is searched for beyond a full pool
    )
    one_moment: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        if not search.terms:
            return search
        pool = search.pool(max(self.pool, 4 * search.limit))
        shares, whole = _match(search, search.where, pool, tools)
        if self.lifted != "nothing" and len(shares) >= pool and search.left() != 0:
            heavier = search.where.also("up", "gt", 0)
            if self.lifted == "importance":
                # What it must weigh to enter the best if it fits no better than the least of the pool that left it out. Twice as
                # many best as requested, because later stages drop some.
                weigh, least = scoring.important, min(words for _, words in shares.values())
                best = sorted(
                    (words * weigh(record, search.now, {}) for record, words in shares.values()), reverse=True
                )
                level = best[min(2 * search.limit, len(best)) - 1] / least + 1e-9  # ties do not count
                heavier = search.where.also("importance", "gt", level)
            shares |= _match(search, heavier, pool, tools)[0]
        labels = Labels.of(search.terms, tools.kinds, self.source)
        if labels:
            others = {each.number: (each, 0.0) for each in labels.look_up(len(shares), search, tools)} | shares
            carrying = sum(labels.on(record) > 0 for record, _ in others.values())
            label = share(carrying, len(others), whole, search.terms)
            shares = {n: (record, words + label * labels.on(record)) for n, (record, words) in others.items()}
        return _with_hits(search, [found(record, words=words) for record, words in shares.values()])


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
    content: float = bounded(0.1, 10, 2.0)
    tags: float = bounded(0.1, 10, 1.5)
    files: float = bounded(0.1, 10, 1.2)
    category: float = bounded(0.1, 10, 1.0)
    one_moment: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        if not search.terms:
            return search
        numbers, yardstick = self._candidates(search, tools)
        records = {record.id: record for record in tools.store.get(numbers, search.where)}
        labelled = Labels.of(search.terms, tools.kinds).look_up(len(records), search, tools)
        records = {record.id: record for record in labelled} | records
        scale = Scale.of(search, yardstick, self)
        hits = [found(record, words=score) for record in records.values() if (score := scale.relevance(record)) > 0]
        return _with_hits(search, hits)

    def _candidates(self, search: Search, tools: Tools) -> tuple[list[int], bm25.Yardstick]:
        """Their numbers, best first, and what each term weighs here. Words that stand for others are usually rarer, so they are
        matched separately: the index only reads the rarest words of one query."""
        pool = search.pool(max(self.pool, 4 * search.limit))
        first = tools.store.match(search.terms, search.shelves, search.where, pool)
        scores, weights = dict(first.scores), dict(first.yardstick.weights)
        for start in range(0, len(search.expansions), bm25.MOST_TERMS):
            some = search.expansions[start : start + bm25.MOST_TERMS]
            also = tools.store.match([each.term for each in some], search.shelves, search.where, pool)
            weights = {**also.yardstick.weights, **weights}
            share = max(each.weight for each in some)
            for number, score in also.scores.items():
                scores[number] = scores.get(number, 0.0) + share * score
        best = sorted(scores, key=lambda number: (-scores[number], -number))
        return best[:pool], replace(first.yardstick, weights=weights)


@dataclass(frozen=True, slots=True)
class Scale:
    """How much of a query a record covers."""

    groups: Mapping[str, Mapping[str, float]]  # a term of the query → what stands for it, and how much that counts
    weights: Mapping[str, float]  # how informative each term is
    average: float  # terms in an index row
    fields: ByFields
    ceiling: float

    @classmethod
    def of(cls, search: Search, yardstick: bm25.Yardstick, fields: ByFields) -> "Scale":
        groups = {term: {term: 1.0} for term in search.terms}
        for each in search.expansions:
            group = groups.get(each.instead_of, {})
            group[each.term] = max(each.weight, group.get(each.term, 0.0))
        weights = dict(yardstick.weights)
        rare = max(weights.values(), default=1.0)  # a word that nothing holds is as informative as the rarest
        least = min(weights.values(), default=1.0)  # a kind says little
        named = {term for words in _kind_words().values() for term in words}
        weights.update({term: least for term in groups if term in named and term not in weights})
        most = [
            max([weights.get(term, rare), *(weights[t] * share for t, share in group.items() if t in weights)])
            for term, group in groups.items()
        ]
        return cls(groups, weights, yardstick.average, fields, sum(most) * (bm25.K1 + 1))

    def relevance(self, record: Record) -> float:
        """The relevance of its best part, if the text is long."""
        fields, shared = self.fields, defaultdict[str, float](float)
        apart = (
            (fields.content, terms(record.title or "")),
            (fields.tags, terms("\n".join((*record.tags, record.provenance.speaker or "")))),
            (fields.files, terms("\n".join(record.files))),
        )
        for weight, words in (*apart, (fields.category, _kind_words().get(record.kind, ()))):
            for word in words:
                if word in self.weights:
                    shared[word] += weight
        length, best = sum(len(words) for _, words in apart), 0.0
        for start, end in chunks(record.text):
            counts, words = shared.copy(), terms(record.text[start:end])
            for word in words:
                if word in self.weights:
                    counts[word] += fields.content
            norm = bm25.K1 * (1 - bm25.B + bm25.B * (length + len(words)) / self.average)
            score = 0.0
            for group in self.groups.values():
                held = [(self.weights[t] * share, counts[t]) for t, share in group.items() if t in counts]
                score += max([weight * count * (bm25.K1 + 1) / (count + norm) for weight, count in held], default=0.0)
            best = max(best, score)
        return best / self.ceiling


def _with_hits(search: Search, hits: Sequence[Hit]) -> Search:
    return search.with_hits(hits) if hits else search.but(empty_because=search.nothing())


@cache
def _kind_words() -> Mapping[str, tuple[str, ...]]:
    return {name: tuple({word for each in and_like({name}) for word in words_of(each)}) for name in KINDS}
