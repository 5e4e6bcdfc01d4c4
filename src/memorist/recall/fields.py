"""Finding by words where it matters in which field they stand: a word of the text counts more than one of a tag.

The candidates come from the word index; their score is counted anew from what each record says, field by field (BM25 over
fields: the counts are weighted and added, and then bounded as usual). Divided by the most that this question could score,
it is a number from 0 to 1.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from memorist.design import Tools
from memorist.kinds import ARCHIVE, KINDS
from memorist.recall.pipeline import Search, found
from memorist.records import Record
from memorist.store.where import Order
from memorist.text import bm25
from memorist.text.words import chunks, terms

OF_A_KIND = 50  # memories that are looked at because the question only names their kind
KIND_WORDS: Mapping[str, tuple[str, ...]] = {name: tuple(terms(name.replace("_", " "))) for name in KINDS}
Groups = Mapping[str, Mapping[str, float]]  # a term of the question → what stands for it, and what that counts


@dataclass(frozen=True, slots=True)
class ByFields:
    """Records that hold the question's words, or words that stand for them."""

    pool: int = 500  # records that are looked for
    read: int = 100  # of these, the best that are read whole
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
        records = tools.store.numbered(numbers, search.where)
        known = {record.id for record in records}
        records += [record for record in self._of_a_kind(search, tools) if record.id not in known]
        hits = [found(record, words=score) for record in records if (score := scale.relevance(record)) > 0]
        if hits:
            return search.with_hits(hits)
        filtered = " and passes the filter" if search.filtered else ""
        return search.but(empty_because=f"no memory here holds any of the question's words{filtered}")

    def _candidates(self, search: Search, tools: Tools) -> tuple[list[int], bm25.Yardstick]:
        """Their numbers, best first, and what each term weighs on these shelves. Words that stand for others are rarer as a
        rule, so they are asked for apart: the index reads the rarest of one question only."""
        pool = search.pool(max(self.pool, 4 * search.limit))
        first = tools.store.match_numbers(search.terms, search.shelves, search.where, pool)
        scores, weights = dict(first.scores), dict(first.yardstick.weights)
        for start in range(0, len(search.expansions), bm25.MOST_TERMS):
            some = search.expansions[start : start + bm25.MOST_TERMS]
            also = tools.store.match_numbers([each.term for each in some], search.shelves, search.where, pool)
            weights = {**also.yardstick.weights, **weights}
            share = max(each.weight for each in some)
            for number, score in also.scores.items():
                scores[number] = scores.get(number, 0.0) + share * score
        best = sorted(scores, key=lambda number: (-scores[number], -number))
        return best[: search.pool(max(self.read, 4 * search.limit))], replace(first.yardstick, weights=weights)

    @staticmethod
    def _of_a_kind(search: Search, tools: Tools) -> list[Record]:
        """Whoever asks for "warnings" and nothing else means the kind."""
        asked = set(search.terms)
        named = [kind for kind, words in KIND_WORDS.items() if words and asked == set(words)]
        scopes = tuple(dict.fromkeys(shelf.scope for shelf in search.shelves if shelf.layer != ARCHIVE))
        if not named or not scopes:
            return []
        where = search.where.also("kind", "in", tuple(named)).also("scope", "in", scopes).also("state", "eq", "active")
        return tools.store.find(where, Order("at"), OF_A_KIND)


@dataclass(frozen=True, slots=True)
class Scale:
    """How much of a question a record covers."""

    groups: Groups
    weights: Mapping[str, float]  # how much each term tells
    average: float  # terms in an index row
    fields: ByFields
    ceiling: float

    @classmethod
    def of(cls, groups: Groups, yardstick: bm25.Yardstick, fields: ByFields) -> "Scale":
        weights = dict(yardstick.weights)
        rare = max(weights.values(), default=1.0)  # a word that nothing holds tells as much as the rarest
        named = {term for words in KIND_WORDS.values() for term in words}
        least = min(weights.values(), default=1.0)  # a kind tells little
        weights.update({term: least for term in groups if term in named and term not in weights})
        most = [
            max([weights.get(term, rare), *(weights[t] * share for t, share in group.items() if t in weights)])
            for term, group in groups.items()
        ]
        return cls(groups, weights, yardstick.average, fields, sum(most) * (bm25.K1 + 1))

    def relevance(self, record: Record) -> float:
        """Of its best part, where the text is long."""
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
        self._count(KIND_WORDS.get(record.kind, ()), fields.category, shared)
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
            score += max(
                (
                    self.weights[t] * share * counts[t] * (bm25.K1 + 1) / (counts[t] + norm)
                    for t, share in group.items()
                    if t in counts
                ),
                default=0.0,
            )
        return score


def _groups(search: Search) -> Groups:
    groups = {term: {term: 1.0} for term in search.terms}
    for each in search.expansions:
        group = groups.get(each.instead_of, {})
        group[each.term] = max(each.weight, group.get(each.term, 0.0))
    return groups
