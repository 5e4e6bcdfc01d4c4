"""How much of a question a text covers, token against token.

For each token of the question the best cosine with any token of the text, weighed by how much the token tells: the length of its
row in the built-in table. Unlike a cosine of whole texts it has an absolute scale, whatever else is on the shelf: 1 where every
word is there, near 0 where nothing is like any of them. A name or a number has to be there itself.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from memorist.models.embed import loaded_table

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

    from memorist.models.embed import Floats

MOST_TOKENS = 256  # of the question, and of each text: its beginning says what it is about
LONGEST_LOOKED_AT = 8 * MOST_TOKENS  # characters of a text
MOST_TEXTS = 2048  # whose tokens are remembered
COMPARED_AT_ONCE = 64  # texts compared together, which bounds the memory that takes


class Coverage:
    """A question that texts are compared with."""

    def __init__(self, question: str) -> None:
        import numpy

        ids = list(dict.fromkeys(loaded_table().tokens.ids(question)))[
            :MOST_TOKENS
        ]  # who repeats a word asks for it once
        rows = _rows(ids)
        lengths = numpy.sqrt(numpy.einsum("ij,ij->i", rows, rows))
        self._tokens = rows / numpy.maximum(lengths, 1e-9)[:, None]
        self._weights = lengths / max(1e-9, float(lengths.sum()))
        self.knows = bool(lengths.any())  # the table has no rows for some scripts
        self._numbers = frozenset(filter(_is_number, loaded_table().tokens.words(question)))
        self._of_numbers = frozenset(loaded_table().tokens.ids(" ".join(self._numbers)))

    def of(self, texts: Sequence[str]) -> "Sequence[float]":
        """For each text a number up to 1; 0 where the question or the text holds no token that tells anything."""
        if not self.knows:
            return [0.0] * len(texts)
        found: list[float] = []
        for start in range(0, len(texts), COMPARED_AT_ONCE):
            found += self._of([self._told(text) or (0,) for text in texts[start : start + COMPARED_AT_ONCE]])
        return found

    def _told(self, text: str) -> tuple[int, ...]:
        """The tokens of a text that count: pieces of another number do not, or 413 would cover 41."""
        tokens = tokens_of(text)
        if self._of_numbers.isdisjoint(tokens) or self._numbers <= _words(text[:LONGEST_LOOKED_AT]):
            return tokens
        table, kept = loaded_table().tokens, list[int]()
        for word in table.words(text[:LONGEST_LOOKED_AT]):
            ids = table.ids(word)
            kept += ids if len(ids) == 1 or word in self._numbers or not _is_number(word) else ()
        return tuple(kept[:MOST_TOKENS])

    def _of(self, held: Sequence[tuple[int, ...]]) -> list[float]:
        import numpy

        distinct, places = numpy.unique(
            numpy.fromiter((i for ids in held for i in ids), numpy.int64), return_inverse=True
        )
        rows = _rows(distinct)
        lengths = numpy.sqrt(numpy.einsum("ij,ij->i", rows, rows))
        like = self._tokens @ (rows / numpy.maximum(lengths, 1e-9)[:, None]).T
        starts = numpy.cumsum([0, *map(len, held[:-1])])
        best = numpy.maximum.reduceat(like[:, places], starts, axis=1)
        covered: list[float] = (self._weights @ best).tolist()
        return covered


def holding(words: Iterable[str], text: str) -> list[str]:
    """Those of the words that the text holds whole: 343 is not in 3432, though a token of it is."""
    held, cut = _words(text[:LONGEST_LOOKED_AT]), loaded_table().tokens.words
    return [word for word in words if (found := cut(word)) and held.issuperset(found)]


def _is_number(word: str) -> bool:
    return any(map(str.isdigit, word))


def tokens_of(text: str) -> tuple[int, ...]:
    """Of the beginning of a text."""
    return _tokens(text[:LONGEST_LOOKED_AT])


@lru_cache(maxsize=MOST_TEXTS)
def _words(beginning: str) -> frozenset[str]:
    """Of a text's beginning; of one that ends in "s" also what it may be the genitive of: Mayas Pass, Müllers Büro."""
    words = loaded_table().tokens.words(beginning)[:MOST_TOKENS]
    return frozenset((*words, *(word[:-1] for word in words if word.endswith("s") and word.isalpha())))


@lru_cache(maxsize=MOST_TEXTS)
def _tokens(beginning: str) -> tuple[int, ...]:
    return tuple(loaded_table().tokens.ids(beginning)[:MOST_TOKENS])


def _rows(ids: "Sequence[int] | NDArray[int64]") -> "Floats":
    import numpy

    known = loaded_table()
    rows: Floats = known.rows[ids].astype(numpy.float32) if len(ids) else numpy.zeros((0, 256), numpy.float32)
    return rows * known.scales[ids].reshape(-1, 1)
