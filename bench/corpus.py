"""A text of our own for measuring: seeded, endless, with the word statistics of English prose.

About half the words are function words and the rest follow Zipf's law, so that an index sees the same mixture of very
common and very rare terms as it would with real notes. Nearly half of the rest are words that the built-in tables know, the
others are invented: so a word falls into 1.7 tokens, as in notes that people write, and an encoder has as much to do. Nothing in
it was written by or about anybody.
"""

import random
from collections.abc import Iterator
from functools import cache
from itertools import accumulate

from memorist.models.embed import FOLDER

FUNCTION_WORDS = (
    "the of and to a in is that for it was on are as with they be at this have from or had by not but what all were when"
    " we there can an your which their said if do will each about how up out them then she many some so these would other"
).split()
SYLLABLES = "ba co di fe gu ha jo ki lu ma ne po qui ra se ti vo wa xe yo za bri cla dro fle gri plo sta tre".split()
VOCABULARY = 20_000
KNOWN = 0.45  # of them are words that the tables know
SHORTEST = 4  # letters of such a word


class Corpus:
    """Memories and questions about them. The same seed gives the same text."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._words, self._zipf = _vocabulary()
        self._function = list(accumulate(1 / (rank + 2) for rank in range(len(FUNCTION_WORDS))))

    def memories(self, count: int) -> Iterator[str]:
        for _ in range(count):
            yield " ".join(self._sentence(self._random.randint(7, 14)) for _ in range(2))

    def question(self) -> str:
        """Twelve words: four that tell something among the usual ones that do not."""
        told = self._random.choices(self._words, cum_weights=self._zipf, k=4)
        return f"what did they say about {told[0]} and {told[1]} when {told[2]} met {told[3]}?"

    def prompt(self) -> str:
        """150 words, as people hand a task to an agent."""
        return " ".join(self._sentence(15) for _ in range(10))

    def _sentence(self, length: int) -> str:
        pick = self._random
        words = [
            pick.choices(FUNCTION_WORDS, cum_weights=self._function)[0]
            if pick.random() < 0.45
            else pick.choices(self._words, cum_weights=self._zipf)[0]
            for _ in range(length)
        ]
        return " ".join(words).capitalize() + "."


@cache
def _vocabulary() -> tuple[list[str], list[float]]:
    """The same words for every seed, and how often each comes."""
    words = random.Random(0)
    known = words.sample(_known(), VOCABULARY // 2 + VOCABULARY // 4)
    drawn = [known.pop() if words.random() < KNOWN else _invented(words) for _ in range(VOCABULARY)]
    return drawn, list(accumulate(1 / (rank + 3) for rank in range(VOCABULARY)))


def _known() -> list[str]:
    """The whole words among the tokens of the built-in tables."""
    tokens = (FOLDER / "vocab.txt").read_text(encoding="utf-8").split("\n")
    plain = (token for token in tokens if token.isascii() and token.isalpha() and len(token) >= SHORTEST)
    return [token for token in plain if token not in FUNCTION_WORDS]


def _invented(words: random.Random) -> str:
    return "".join(words.choices(SYLLABLES, k=words.randint(2, 4))) + words.choice(["", "n", "r", "s", "l"])
