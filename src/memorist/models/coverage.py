"""How much of a query a text covers: for each token of the query, the best cosine with any token of the text counts, weighted by
how informative the token is, which is the length of its row in the table. This has an absolute scale: 1 if every word is there,
near 0 if nothing resembles any of them."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain

from memorist.fork import inside
from memorist.models.embed import loaded_table

MOST_TOKENS = 256  # of the query and of each text, whose beginning says what it is about
LONGEST_LOOKED_AT = 8 * MOST_TOKENS  # characters of a text
DIGIT = re.compile(r"\d")
# Tokens of the query times tokens of texts in one product: for more OpenBLAS starts threads, which costs time.
TILE = 32


class Coverage:
    """A query to compare texts with."""

    def __init__(self, question: str) -> None:
        import numpy

        table = loaded_table()
        ids = list(dict.fromkeys(table.tokens.ids(question)))[:MOST_TOKENS]
        rows = table.rows[ids].astype(numpy.float32)
        lengths = numpy.sqrt(numpy.einsum("ij,ij->i", rows, rows))
        self._directions = rows / numpy.maximum(1, lengths)[:, None]  # numbers are whole: only an empty row is shorter
        self._weights = lengths * table.scales[ids] / max(1e-9, float(lengths @ table.scales[ids]))
        self.knows = bool(lengths.any())  # the table has no rows for some scripts
        self._numbers = frozenset(filter(DIGIT.search, table.tokens.words(question)))
        self._of_numbers = frozenset(table.tokens.ids(" ".join(self._numbers)))

    def of(self, texts: Sequence[str]) -> Sequence[float]:
        """For each text a number up to 1; 0 if the query or the text has no informative token."""
        import numpy

        if not self.knows or not texts:
            return [0.0] * len(texts)
        counted = [self._counted(text) or (0,) for text in texts]  # [PAD], whose row is empty
        starts = numpy.cumsum([0, *map(len, counted[:-1])])
        distinct, places = numpy.unique(numpy.fromiter(chain(*counted), numpy.intp), return_inverse=True)
        rows = loaded_table().rows[numpy.resize(distinct, (-(-len(distinct) // TILE), TILE))].astype(numpy.float32)
        lengths = numpy.maximum(1, numpy.sqrt(numpy.einsum("ijk,ijk->ij", rows, rows)))[..., None]
        covered = numpy.zeros(len(texts), numpy.float32)
        with inside:  # of the linear algebra library
            for part in (slice(start, start + TILE) for start in range(0, len(self._weights), TILE)):
                cosines = (rows @ self._directions[part].T / lengths).reshape(rows.shape[0] * TILE, -1)
                covered += numpy.maximum.reduceat(cosines[places], starts) @ self._weights[part]
        return list(map(float, covered))

    def _counted(self, text: str) -> Sequence[int]:
        """The tokens of a text that count: pieces of another number do not, or 413 would cover 41."""
        begins, table = text[:LONGEST_LOOKED_AT], loaded_table().tokens
        if not self._numbers or self._of_numbers.isdisjoint(_tokens(begins)) or self._numbers <= _words(begins):
            return _tokens(begins)
        digits = {word for word in table.words(begins) if DIGIT.search(word) and len(table.ids(word)) > 1}
        kept = [word for word in table.words(begins) if word in self._numbers or word not in digits]
        return table.ids(" ".join(kept))[:MOST_TOKENS]


def holding(words: Iterable[str], text: str) -> list[str]:
    """The words that the text contains as a whole: 343 is not in 3432, although one of its tokens is."""
    held, cut = _words(text[:LONGEST_LOOKED_AT]), loaded_table().tokens.words
    return [word for word in words if (parts := cut(word)) and held.issuperset(parts)]


@lru_cache(maxsize=2048)
def _words(beginning: str) -> frozenset[str]:
    """The words of a text's beginning; of one that ends in "s", also what it may be the genitive of: Mayas Pass."""
    words = loaded_table().tokens.words(beginning)[:MOST_TOKENS]
    return frozenset((*words, *(word[:-1] for word in words if word.endswith("s") and word.isalpha())))


@lru_cache(maxsize=2048)
def _tokens(beginning: str) -> Sequence[int]:
    return loaded_table().tokens.ids(beginning)[:MOST_TOKENS]
