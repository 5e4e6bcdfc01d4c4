"""An embedder for tests: it knows no meanings, only words, and costs nothing.

No name in a setting or an argument leads here: vectors that mean nothing must never rank anybody's memories.
"""

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memorist.models.embed import Floats


class HashEmbedder:
    """Gives each word a direction by its digest, and a text the sum of its words. Another `model` gives other directions."""

    def __init__(self, model: str = "a", dimension: int = 32, cheap: bool = True) -> None:
        self.name = f"hash-{model}-{dimension}@test"
        self.dimension = dimension
        self.cheap = cheap
        self.calls = 0
        self._model = model

    def embed(self, texts: Sequence[str]) -> "Floats":
        import numpy

        self.calls += 1
        found = numpy.zeros((len(texts), self.dimension), numpy.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                seed = hashlib.blake2b(f"{self._model} {word}".encode(), digest_size=8).digest()
                found[row] += numpy.random.default_rng(int.from_bytes(seed, "big")).standard_normal(self.dimension)
        return found
