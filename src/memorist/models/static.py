"""The default embedder: one vector per WordPiece token, summed and normalised.

A sentence model costs milliseconds per text and a large dependency; this costs microseconds and numpy, and once
fused with word search it finds as much. The table was trained so that sums of its rows point where a sentence
model's vectors point; the length of a row is the weight of its token. Prefixes of a vector are vectors too, so a
store short of space can keep the first 128 or 64 dimensions.

The table is signed bytes with one scale per token, memory-mapped on first use: importing this module reads
nothing and does not import numpy.

The cut into WordPiece tokens, of BERT's uncased vocabulary, must be the one the table was trained with; a different cut gives
silently worse vectors. It is written here because the usual library brings fifteen packages for what fits on a page. One
deliberate difference: "[SEP]" or "[MASK]" written in a text is ordinary text here, never a control token.
"""

from __future__ import annotations

import json
import threading
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FOLDER = Path(__file__).parent / "data"
DIMENSIONS = (64, 128, 256)
_AT_ONCE = 4096  # tokens turned to floats together, so that a long text needs little memory
_loading = threading.Lock()


class _Table(NamedTuple):
    rows: NDArray[np.int8]
    scales: NDArray[np.float32]
    tokens: WordPiece


@cache
def about() -> dict[str, Any]:
    """What the table is: digests, training text and settings, measured figures."""
    described: dict[str, Any] = json.loads((FOLDER / "static-256.json").read_text("utf-8"))
    return described


@cache
def _loaded() -> _Table:
    import numpy as np

    rows = np.asarray(np.load(FOLDER / "static-256.npy", mmap_mode="r"))
    scales = np.load(FOLDER / "static-256.scales.npy").astype(np.float32)
    tokens = WordPiece((FOLDER / "vocab.txt").read_text("utf-8").rstrip("\n").split("\n"))
    return _Table(rows, scales, tokens)


def _table() -> _Table:
    with _loading:  # `cache` alone would let two threads load at once
        return _loaded()


class StaticEmbedder:
    """Embeds texts without a model run, a network or a second process."""

    cheap = True

    def __init__(self, dimension: int = 256) -> None:
        if dimension not in DIMENSIONS:
            raise ValueError(f"dimension must be one of {DIMENSIONS}, not {dimension}")
        self.dimension = dimension
        self.name: str = f"static-{dimension}@{about()['identity'][:12]}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text, of length 1; a text without a known token gives zeros."""
        import numpy as np

        table = _table()
        out = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            ids = table.tokens.ids(text)
            for start in range(0, len(ids), _AT_ONCE):
                some = ids[start : start + _AT_ONCE]
                out[row] += table.scales[some] @ table.rows[some, : self.dimension].astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", out, out))[:, None]
        np.divide(out, lengths, out=out, where=lengths > 0)
        return out


# ---------------------------------------------------------------- the cut into tokens
# Every character maps to what is left of it once it is cleaned, decomposed, stripped of accents and lowered, with spaces
# around what stands alone; so one `translate` and one `split` give the words.

LONGEST_WORD = 100  # BERT gives up on longer words, which also keeps the greedy search linear in the text
CACHED_WORDS = 65_536
UNKNOWN = "[UNK]"

# Ideographs stand alone; these are the blocks BERT names, later extensions are not among them.
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class _Alphabet(dict[int, str]):
    """What becomes of each character; filled as characters are met, so it never outgrows Unicode."""

    def __missing__(self, code: int) -> str:
        kept = self[code] = _kept(code)
        return kept


def _kept(code: int) -> str:
    char = chr(code)
    if char in "\t\n\r":
        return " "
    if code in (0, 0xFFFD) or unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs"):
        return ""
    if char.isspace():
        return " "
    plain = "".join(part for part in unicodedata.normalize("NFD", char) if unicodedata.category(part) != "Mn")
    lowered = "".join(f" {part} " if _alone(part) else part.lower() for part in plain)
    return f" {lowered} " if any(low <= code <= high for low, high in _IDEOGRAPHS) else lowered


def _alone(char: str) -> bool:
    """Punctuation, where BERT counts every printable ASCII sign as such."""
    return (char.isascii() and char.isprintable() and not char.isalnum() and char != " ") or (
        unicodedata.category(char)[0] == "P"
    )


_ALPHABET = _Alphabet()


class WordPiece:
    """Token ids of texts. Threads may share one: its cache is only ever added to or emptied."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._ids = {token: number for number, token in enumerate(vocabulary)}
        self._unknown = (self._ids[UNKNOWN],)
        self._cache: dict[str, tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def ids(self, text: str) -> list[int]:
        """The ids of a text's tokens, without [CLS] and [SEP]."""
        found: list[int] = []
        cache = self._cache
        for word in text.translate(_ALPHABET).split():
            ids = cache.get(word)
            found += self._cut(word) if ids is None else ids
        return found

    def _cut(self, word: str) -> Sequence[int]:
        """Greedy longest match from the left; a word that cannot be covered whole is unknown whole."""
        if len(word) > LONGEST_WORD:
            return self._unknown
        ids = self._matched(word)
        if len(self._cache) >= CACHED_WORDS:
            self._cache.clear()
        self._cache[word] = ids
        return ids

    def _matched(self, word: str) -> tuple[int, ...]:
        known, found, start, size = self._ids, [], 0, len(word)
        while start < size:
            mark = "##" if start else ""
            for end in range(size, start, -1):
                number = known.get(mark + word[start:end])
                if number is not None:
                    found.append(number)
                    start = end
                    break
            else:
                return self._unknown
        return tuple(found)
