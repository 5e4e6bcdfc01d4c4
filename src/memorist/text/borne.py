"""Whether a text that a model wrote is supported by its sources: all its numbers and most of its words must occur there."""

import re
from collections.abc import Iterable

from memorist.lazy import dataclass
from memorist.text.words import query_terms

FIGURE = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Borne:
    """The words and numbers of some texts."""

    words: frozenset[str]
    numbers: frozenset[str]

    @classmethod
    def by(cls, texts: Iterable[str]) -> "Borne":
        said = " ".join(texts)
        return cls(frozenset(query_terms(said)), numbers_in(said))

    def bears_out(self, text: str, most: float) -> bool:
        """Whether it has content, and all of its numbers and at least this share of its words occur there."""
        own = set(query_terms(text))
        return bool(own) and len(own & self.words) >= most * len(own) and numbers_in(text) <= self.numbers


def numbers_in(text: str) -> frozenset[str]:
    return frozenset(FIGURE.findall(text))
