"""Finding by words alone: the query's own, others that stand for them, and similar ones.

*Aliases*: a query about "auth" finds what was written about logins. Such a word counts less than the one in the query, and the
trace names it. An alias works both ways: a short word stands for its long ones, and each of those for it.

*Similar words*: corrections of misspelt ones, and longer ones with the same beginning. They are looked up in the vocabulary of
the shelves, never guessed, so nothing is searched for that is not there. A known word is not misspelt. In an unknown one up to
a fifth of the letters may differ, but hardly the first two: a vocabulary is read by how words begin, and reading all of it
would cost more than the query.

Each way of finding scales its scores to 0..1, so that weights can multiply them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import ClassVar

from memorist import scoring
from memorist.design import Tools
from memorist.kinds import KINDS
from memorist.lazy import dataclass
from memorist.recall.pipeline import Expansion, Search, found
from memorist.recall.stages.labels import Labels, and_like, share, words_of
from memorist.records import Hit, Record
from memorist.scoring import FAINTEST, FURTHEST, faded, important, reinforced
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
MOST_POOLS = 3  # each reads memories that weigh more than those before; the last, those that weigh most
Groups = Mapping[str, Mapping[str, float]]  # a term of the query → what stands for it, and how much that counts


# ---------------------------------------------------------------- other words


@dataclass(frozen=True, slots=True)
class ExpandAliases:
    """Adds other words for those of the query: the store's own aliases, and the usual ones for words that it does not define."""

    weight: float = 0.6
    usual: bool = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        if not search.terms:
            return search
        added: dict[str, Expansion] = {}
        for word, other in self._pairs(search, tools):
            if set(word) <= set(search.terms):
                for term in other:
                    if term not in search.terms:
                        added.setdefault(term, Expansion(term, word[0], "alias", self.weight / len(other)))
        note = "also: " + ", ".join(f"{each.term} for {each.instead_of}" for each in added.values()) if added else None
        return search.but(expansions=(*search.expansions, *added.values()), note=note)

    def _pairs(self, search: Search, tools: Tools) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Pairs of terms, both ways: the aliases of the scopes that are read, then the usual ones that these do not replace."""
        own: dict[str, tuple[str, ...]] = {}
        for space, scope in dict.fromkeys((shelf.space, shelf.scope) for shelf in search.shelves):
            for word, others in chosen(tools.store, space, scope).aliases.items():
                own[word] = (*own.get(word, ()), *others)
        for word, others in {**own, **(USUAL if self.usual else {}), **own}.items():
            yield from _both_ways(word, others)


def effective(own: Aliases) -> dict[str, tuple[str, ...]]:
    """The aliases that apply given a store's own: these replace the usual ones for the same word."""
    return {word: others for word, others in {**USUAL, **own}.items() if others}


@cache
def _both_ways(word: str, others: tuple[str, ...]) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """Pairs (terms in the query, terms to search for as well)."""
    here = tuple(query_terms(word))
    there = [tuple(query_terms(other)) for other in others]
    pairs = [(here, terms) for terms in there] + [(terms, here) for terms in there]
    return tuple((asked, also) for asked, also in pairs if asked and also and asked != also)


@dataclass(frozen=True, slots=True)
class Widen:
    """Adds words of the vocabulary that are similar to those of the query."""

    fuzzy: float = 0.2  # the share of letters that may differ; 0 turns this off
    prefix: bool = True
    most: int = 8  # words added for one word
    optional: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        known = {*search.terms, *(each.term for each in search.expansions)}
        added: dict[str, Expansion] = {}
        for term in search.terms:
            if term.isalpha() and len(term) >= SHORTEST_PREFIX:
                for each in self._like(term, search, tools):
                    if each.term not in known:
                        added.setdefault(each.term, each)
        note = "also: " + ", ".join(f"{e.term} for {e.instead_of} ({e.how})" for e in added.values()) if added else None
        return search.but(expansions=(*search.expansions, *added.values()), note=note)

    def _like(self, term: str, search: Search, tools: Tools) -> list[Expansion]:
        begins = tools.store.vocabulary(term, search.shelves, search.where, LOOKED_UP if self.prefix else 1)
        found = [each for each in begins if each != term and each.isalpha()] if self.prefix else []
        like = [Expansion(each, term, "prefix", PREFIX * _near(term, 0.3 * (len(each) - len(term)))) for each in found]
        if term not in begins and self.fuzzy and len(term) >= SHORTEST_FUZZY:
            like += misspelt(term, search, tools, self.fuzzy)
        return sorted(like, key=lambda each: (-each.weight, each.term))[: self.most]


def misspelt(term: str, search: Search, tools: Tools, share: float = 0.2) -> Iterator[Expansion]:
    """Words of the vocabulary that `term` may have been meant to be: up to `share` of its letters differ."""
    most = _most_edits(term, share)
    for word in _much_the_same(term, most, search, tools):
        edits = _edits(term, word, most)
        if edits:
            yield Expansion(word, term, "fuzzy", FUZZY * _near(term, edits))


def meant_by(term: str, search: Search, tools: Tools, share: float) -> str | None:
    """The nearest of these words, and among equals the last. Edits are counted only up to the best found so far."""
    best, most = "", _most_edits(term, share)
    for word in _much_the_same(term, most, search, tools):
        edits = _edits(term, word, most)
        if edits and (edits < most or word > best):
            best, most = word, edits
    return best or None


def _most_edits(term: str, share: float) -> int:
    return min(MOST_EDITS, round(share * len(term)))


def _much_the_same(term: str, most: int, search: Search, tools: Tools) -> Iterator[str]:
    """Vocabulary words that a quick look at their letters does not rule out, as it does with nearly all. The right word may
    begin like this one, lack its second letter, or have the first two swapped."""
    sizes = range(len(term) - max(most, ENDING), len(term) + most + 1)  # most words are shorter or longer
    letters = set(term)
    for begin in dict.fromkeys((term[:2], term[0] + term[2], term[1] + term[0])):
        for word in tools.store.vocabulary(begin, search.shelves, search.where, LOOKED_UP):
            if len(word) in sizes and (len(letters.difference(word)) <= most or term.startswith(word)):
                yield word


def _near(term: str, differs: float) -> float:
    return len(term) / (len(term) + differs)


def _edits(term: str, word: str, most: int) -> int | None:
    """How many letters differ. Both are stems: a misspelt word may have kept an ending that the right one has lost."""
    if term.startswith(word) and len(word) >= SHORTEST_FUZZY and len(term) - len(word) <= ENDING:
        return 1
    return distance(term, word, most)


# ---------------------------------------------------------------- finding


@dataclass(frozen=True, slots=True)
class ByWords:
    """Finds records that hold the query's words.

    Raw BM25 scores are not comparable between queries, and a word found in most records scores near zero for any of them.
    Divided by the highest possible score of this query here, a score says how much of the query a record covers.
    """

    pool: int = 60
    source: bool = False  # whether words for the source of a memory are searched for: conversation, migration …
    lifted: str = "nothing"  # the later weight, one of LIFTS; what it may lift is searched for beyond a full pool
    one_moment: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        if not search.terms:
            return search
        held, whole = self._held(search, tools)
        labels = Labels.of(search.terms, tools.kinds, self.source)
        if not labels:
            return _found(search, [found(record, words=words) for record, words in held.values()])
        others = {each.number: (each, 0.0) for each in labels.look_up(len(held), search, tools)}
        both = list((others | held).values())
        carried = [labels.on(record) for record, _ in both]
        label = share(sum(map(bool, carried)), len(both), whole, search.terms)
        own = zip(both, carried, strict=True)
        return _found(search, [found(record, words=words + label * many) for (record, words), many in own])

    def _held(self, search: Search, tools: Tools) -> tuple[dict[int, tuple[Record, float]], float]:
        """The records that hold words of the query, by number, each with its share of the query's weight; and that weight."""
        pool, lift = search.pool(max(self.pool, 4 * search.limit)), LIFTS[self.lifted]
        held, whole, filters = dict[int, tuple[Record, float]](), 0.0, [search.where]
        for last in range(1 - MOST_POOLS, 1):
            least = list[float]()  # the least share in each full pool
            for where in filters:
                some, ceiling = _pool(search, where, pool, tools)
                held |= some
                whole = whole or ceiling
                if len(some) >= pool:
                    least.append(min(words for _, words in some.values()))
            if lift is None or not least or search.left() == 0:
                break
            level = _overtaking(held, max(least), lift, search)
            filters = lift.above((1 + level) / 2 if last == -1 else level, search)  # crowd may stand upon crowd
        return held, whole


def _pool(search: Search, where: Where, most: int, tools: Tools) -> tuple[dict[int, tuple[Record, float]], float]:
    """The best by words that pass this filter, by number, each with its share of the query's weight; and that weight."""
    match = tools.store.match(search.terms, search.shelves, where, most)
    whole = match.yardstick.ceiling
    records = tools.store.get(list(match.scores), where) if match.scores else []
    return {each.number: (each, match.scores[each.number] / whole) for each in records}, whole


# ---------------------------------------------------------------- beyond a full pool


@dataclass(frozen=True, slots=True)
class Lift:
    """A weight by which a memory may overtake one that fits better: how to compute it, and how to find memories above a level."""

    worth: Callable[[Record, datetime], float]
    above: Callable[[float, Search], list[Where]]


def _overtaking(held: Mapping[int, tuple[Record, float]], least: float, lift: Lift, search: Search) -> float:
    """What a memory must weigh to enter the best if it fits no better than the least of the pool that left it out. Twice as
    many best as requested, because later stages drop some."""
    best = sorted((words * lift.worth(record, search.now) for record, words in held.values()), reverse=True)
    return best[min(2 * search.limit, len(best)) - 1] / least + 1e-9  # ties do not count


def _voted(record: Record, now: datetime) -> float:
    return reinforced(scoring.score(record.counters)) * faded(record.times.used or record.times.at, now)


def _less_doubted_or_fresher(level: float, search: Search) -> list[Where]:
    """Filters for memories without positive votes; `match` finds those with votes whatever the pool."""
    doubts = sum(reinforced(-many) > level for many in range(1, FURTHEST + 1))  # that a memory may have, and weigh more
    if level >= 1 or doubts == FURTHEST:
        return []
    trusted = search.where.also("down", "lte", doubts).also("rejected", "lte", doubts)
    if level <= FAINTEST:
        return [trusted]
    since = search.now - timedelta(days=100 * (1 / level - 1))  # the inverse of `faded`
    return [trusted.also("at", "gt", since), trusted.also("last_used", "gt", since)]


LIFTS: Mapping[str, Lift | None] = {
    "nothing": None,
    "importance": Lift(
        lambda record, now: important(record, now, {}),
        lambda level, search: [search.where.also("importance", "gt", level)] if level < 1 else [],
    ),
    "votes": Lift(_voted, _less_doubted_or_fresher),
}


# ---------------------------------------------------------------- by fields


@dataclass(frozen=True, slots=True)
class ByFields:
    """Finds records that hold the query's words, or words that stand for them."""

    pool: int = 500  # all are read and scored, since other weights may lift the last to the top
    content: float = 2.0
    tags: float = 1.5
    files: float = 1.2
    category: float = 1.0
    one_moment: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        if not search.terms:
            return search
        numbers, yardstick = self._candidates(search, tools)
        scale = Scale.of(_groups(search), yardstick, self)
        records = tools.store.get(numbers, search.where)
        known = {record.id for record in records}
        also = Labels.of(search.terms, tools.kinds).look_up(len(records), search, tools)
        records += [record for record in also if record.id not in known]
        hits = [found(record, words=score) for record in records if (score := scale.relevance(record)) > 0]
        return _found(search, hits)

    def _candidates(self, search: Search, tools: Tools) -> tuple[list[int], bm25.Yardstick]:
        """Their numbers, best first, and what each term weighs on these shelves. Words that stand for others are usually
        rarer, so they are matched separately: the index only reads the rarest words of one query."""
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

    groups: Groups
    weights: Mapping[str, float]  # how informative each term is
    average: float  # terms in an index row
    fields: ByFields
    ceiling: float

    @classmethod
    def of(cls, groups: Groups, yardstick: bm25.Yardstick, fields: ByFields) -> "Scale":
        weights = dict(yardstick.weights)
        rare = max(weights.values(), default=1.0)  # a word that nothing holds is as informative as the rarest
        named = {term for words in _kind_words().values() for term in words}
        least = min(weights.values(), default=1.0)  # a kind says little
        weights.update({term: least for term in groups if term in named and term not in weights})
        most = [
            max([weights.get(term, rare), *(weights[t] * share for t, share in group.items() if t in weights)])
            for term, group in groups.items()
        ]
        return cls(groups, weights, yardstick.average, fields, sum(most) * (bm25.K1 + 1))

    def relevance(self, record: Record) -> float:
        """The relevance of its best part, if the text is long."""
        return max((self._score(counts, length) for counts, length in self._parts(record)), default=0.0) / self.ceiling

    def _parts(self, record: Record) -> Iterator[tuple[dict[str, float], int]]:
        """How often each wanted term occurs in each part of the text, weighted by field, and how long the part is."""
        fields, shared, length = self.fields, dict[str, float](), 0
        labels = (
            (fields.content, record.title or ""),
            (fields.tags, "\n".join((*record.tags, record.provenance.speaker or ""))),
            (fields.files, "\n".join(record.files)),
        )
        for weight, text in labels:
            length += self._count(terms(text), weight, shared) if text else 0
        self._count(_kind_words().get(record.kind, ()), fields.category, shared)
        for start, end in chunks(record.text):
            counts = dict(shared)
            yield counts, length + self._count(terms(record.text[start:end]), fields.content, counts)

    def _count(self, held: Sequence[str], weight: float, counts: dict[str, float]) -> int:
        for term in held:
            if term in self.weights:
                counts[term] = counts.get(term, 0.0) + weight
        return len(held)

    def _score(self, counts: Mapping[str, float], length: int) -> float:
        norm = bm25.K1 * (1 - bm25.B + bm25.B * length / self.average)
        score = 0.0
        for group in self.groups.values():
            held = [(self.weights[term] * share, counts[term]) for term, share in group.items() if term in counts]
            score += max([weight * count * (bm25.K1 + 1) / (count + norm) for weight, count in held], default=0.0)
        return score


def _groups(search: Search) -> Groups:
    groups = {term: {term: 1.0} for term in search.terms}
    for each in search.expansions:
        group = groups.get(each.instead_of, {})
        group[each.term] = max(each.weight, group.get(each.term, 0.0))
    return groups


def _found(search: Search, hits: Sequence[Hit]) -> Search:
    return search.with_hits(hits) if hits else search.but(empty_because=search.nothing())


@cache
def _kind_words() -> Mapping[str, tuple[str, ...]]:
    return {name: tuple({word for each in and_like({name}) for word in words_of(each)}) for name in KINDS}
