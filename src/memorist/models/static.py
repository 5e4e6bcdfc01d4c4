"""The default embedder: one vector per WordPiece token, summed and normalised.

A sentence model costs milliseconds per text and a large dependency; this costs microseconds and numpy, and once
fused with word search it finds as much. The table was trained so that sums of its rows point where a sentence
model's vectors point; the length of a row is the weight of its token. Prefixes of a vector are vectors too, so a
store short of space can keep the first 128 or 64 dimensions.

The table is signed bytes with one scale per token, memory-mapped on first use: importing this module reads
nothing and does not import numpy.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memorist.models.wordpiece import WordPiece

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
