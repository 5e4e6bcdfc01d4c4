"""How much of a query a text covers, token against token.

For each token of the query, the best cosine with any token of the text counts, weighted by how informative the token is: the
length of its row in the built-in table. Unlike a cosine of whole texts, this has an absolute scale, whatever else is on the
shelf: 1 if every word is there, near 0 if nothing resembles any of them. A name or a number must occur itself.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from memorist.fork import inside
from memorist.models.embed import loaded_table
from memorist.models.encoder import STRIP, TILE, WIDTH

if TYPE_CHECKING:
    from numpy import int32, int64, intp
    from numpy.typing import NDArray

    from memorist.models.embed import Floats

MOST_TOKENS = 256  # of the query and of each text, whose beginning says what it is about
LONGEST_LOOKED_AT = 8 * MOST_TOKENS  # characters of a text
MOST_TEXTS = 2048  # texts whose tokens are cached
COMPARED_AT_ONCE = 64  # texts compared together, which limits the memory needed


class Coverage:
    """A query to compare texts with."""

    def __init__(self, question: str) -> None:
        import numpy

        rows = _rows(list(dict.fromkeys(loaded_table().tokens.ids(question)))[:MOST_TOKENS])  # each is used only once
        lengths = numpy.sqrt(numpy.einsum("ij,ij->i", rows, rows))
        self._strips, self._tall = _in_strips(rows / numpy.maximum(lengths, 1e-9)[:, None])
        self._weights = lengths / max(1e-9, float(lengths.sum()))
        self.knows = bool(lengths.any())  # the table has no rows for some scripts
        self._numbers = frozenset(filter(_is_number, loaded_table().tokens.words(question)))
        self._of_numbers = frozenset(loaded_table().tokens.ids(" ".join(self._numbers)))

    def of(self, texts: Sequence[str]) -> "Sequence[float]":
        """For each text a number up to 1; 0 if the query or the text has no informative token."""
        if not self.knows:
            return [0.0] * len(texts)
        found: list[float] = []
        for start in range(0, len(texts), COMPARED_AT_ONCE):
            held = [self._told(text) or (0,) for text in texts[start : start + COMPARED_AT_ONCE]]
            with inside:  # of the linear algebra library
                found += self._of(held)
        return found

    def _told(self, text: str) -> tuple[int, ...]:
        """The tokens of a text that count: pieces of another number do not, or 413 would cover 41."""
        begins = text[:LONGEST_LOOKED_AT]
        tokens = _tokens(begins)
        if not self._numbers or self._of_numbers.isdisjoint(tokens) or self._numbers <= _words(begins):
            return tokens
        table, kept = loaded_table().tokens, list[int]()
        for word in table.words(begins):
            ids = table.ids(word)
            kept += ids if len(ids) == 1 or word in self._numbers or not _is_number(word) else ()
        return tuple(kept[:MOST_TOKENS])

    def _of(self, held: Sequence[tuple[int, ...]]) -> list[float]:
        import numpy

        distinct, places = _distinct(numpy.fromiter(chain.from_iterable(held), numpy.int32, sum(map(len, held))))
        tiles = -(-len(distinct) // self._tall)
        rows = numpy.zeros((tiles * self._tall, WIDTH), numpy.float32)
        rows[: len(distinct)] = loaded_table().rows[distinct]  # their scales do not change the directions
        lengths = numpy.sqrt(numpy.einsum("ij,ij->i", rows, rows))
        like = rows.reshape(tiles, self._tall, WIDTH) @ self._strips
        like /= numpy.maximum(lengths, 1e-9).reshape(tiles, self._tall, 1)
        starts = numpy.cumsum([0, *map(len, held[:-1])])
        best = [numpy.maximum.reduceat(each.reshape(len(rows), -1)[places], starts, axis=0) for each in like]
        together = numpy.hstack(best)[:, : len(self._weights)] if len(best) > 1 else best[0]
        covered: list[float] = (together @ self._weights).tolist()
        return covered


def _in_strips(tokens: "Floats") -> "tuple[Floats, int]":
    """The tokens of a query as columns of matrices, and how many rows to multiply with one of these at once: larger products
    are spread over threads, which for such small ones costs more than it gains (`encoder.py`)."""
    import numpy

    wide = max(1, min(STRIP, len(tokens)))
    columns = numpy.zeros((-(-len(tokens) // wide) * wide or wide, WIDTH), numpy.float32)
    columns[: len(tokens)] = tokens
    strips = numpy.ascontiguousarray(columns.reshape(-1, wide, WIDTH).swapaxes(1, 2))
    return strips[:, None], TILE * STRIP // wide


def _distinct(tokens: "NDArray[int32]") -> "tuple[NDArray[int32], NDArray[intp]]":
    """Each token once, and the place of each given one among them: like `numpy.unique`, in any order, at a third of the cost."""
    import numpy

    order = numpy.arange(len(tokens), dtype=numpy.int32)
    last = numpy.empty(len(loaded_table().rows), numpy.int32)  # only the entries of given tokens are written and read
    last[tokens] = order
    stands_for = last[tokens]
    chosen = stands_for == order
    return tokens[chosen], (numpy.cumsum(chosen) - 1)[stands_for]


def holding(words: Iterable[str], text: str) -> list[str]:
    """The words that the text contains as a whole: 343 is not in 3432, although one of its tokens is."""
    held, cut = _words(text[:LONGEST_LOOKED_AT]), loaded_table().tokens.words
    return [word for word in words if (found := cut(word)) and held.issuperset(found)]


def _is_number(word: str) -> bool:
    return any(map(str.isdigit, word))


@lru_cache(maxsize=MOST_TEXTS)
def _words(beginning: str) -> frozenset[str]:
    """The words of a text's beginning; for one that ends in "s", also what it may be the genitive of: Mayas Pass, Müllers
    Büro."""
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
