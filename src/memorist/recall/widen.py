"""Words that nearly are those of the question: misspelt ones, and longer ones that begin the same.

The words that the read shelves hold are looked up, never guessed, so nothing is looked for that is not there. A word that
is known is not misspelt. In one that is not, up to a fifth of the letters may differ, but hardly the first two: a
vocabulary is read by how words begin, and reading all of it would cost more than the question.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from memorist.design import Tools
from memorist.recall.pipeline import Expansion, Search
from memorist.text.twins import distance

FUZZY, PREFIX = 0.45, 0.375  # what such a word counts at most
SHORTEST_PREFIX, SHORTEST_FUZZY = 3, 4  # letters; shorter words are like everything
MOST_EDITS = 3
ENDING = 3  # letters that a stem may have lost
LOOKED_AT = 2000  # words of a vocabulary, for one beginning


@dataclass(frozen=True, slots=True)
class Widen:
    """Adds words of the vocabulary that are like those of the question."""

    fuzzy: float = 0.2  # the share of the letters that may differ; 0: none
    prefix: bool = True
    most: int = 8  # words in the place of one
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
        begins = tools.store.vocabulary(term, search.shelves, search.where, LOOKED_AT if self.prefix else 1)
        found = [each for each in begins if each != term and each.isalpha()] if self.prefix else []
        like = [Expansion(each, term, "prefix", PREFIX * _near(term, 0.3 * (len(each) - len(term)))) for each in found]
        if term not in begins and self.fuzzy and len(term) >= SHORTEST_FUZZY:
            like += self._misspelt(term, search, tools)
        return sorted(like, key=lambda each: (-each.weight, each.term))[: self.most]

    def _misspelt(self, term: str, search: Search, tools: Tools) -> Iterator[Expansion]:
        most = min(MOST_EDITS, round(self.fuzzy * len(term)))
        for begin in _beginnings(term):
            for word in tools.store.vocabulary(begin, search.shelves, search.where, LOOKED_AT):
                edits = _edits(term, word, most)
                if edits:
                    yield Expansion(word, term, "fuzzy", FUZZY * _near(term, edits))


def _near(term: str, differs: float) -> float:
    return len(term) / (len(term) + differs)


def _beginnings(term: str) -> Sequence[str]:
    """How the right word may begin: as this one, without its second letter, or with the first two swapped."""
    return list(dict.fromkeys((term[:2], term[0] + term[2], term[1] + term[0])))


def _edits(term: str, word: str, most: int) -> int | None:
    """How many letters differ. Both are stems: a misspelt word may have kept an ending that the right one has lost."""
    if term.startswith(word) and len(word) >= SHORTEST_FUZZY and len(term) - len(word) <= ENDING:
        return 1
    return distance(term, word, most)
