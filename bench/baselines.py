"""The plain ways to search, run beside us on the same documents: whoever does not beat these has built nothing.

recency   the newest first
words     FTS5, any of the question's words in quotes, BM25 order
meaning   cosine of an embedding, speaker in front of the text
z-sum     words and meaning, each brought to mean 0 and deviation 1 over the shelf, then added
RRF       words and meaning by reciprocal ranks (k = 60 as in the paper, and k = 10)
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np

from bench.sets import Question, Shelf
from memorist import errors

if TYPE_CHECKING:
    from memorist.models.embed import Embedder

Vectors = np.ndarray[Any, np.dtype[np.float32]]
Embed = Callable[[Sequence[str]], Vectors]
Scores = np.ndarray[Any, np.dtype[np.float64]]

BUILT_IN = ("layered", "static")  # the embedders of an install without extras, the better one first
BATCH = 1000  # texts embedded at once
DEPTH = 100  # of each list in rank fusion
WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Baselines:
    """The scores of one shelf's documents for a question, by several plain ways."""

    shelf: Shelf
    words: "WordIndex"
    vectors: Vectors | None
    embed: Embed | None

    @classmethod
    def of(cls, shelf: Shelf, tokenizer: str, embed: Embed | None) -> "Baselines":
        said = [document.said for document in shelf.documents]
        return cls(shelf, WordIndex(said, tokenizer), None if embed is None else embed(said), embed)

    def rankings(self, question: Question, depth: int) -> Mapping[str, list[str]]:
        """The best document ids by each way."""
        told = [document.at.timestamp() if document.at else 0.0 for document in self.shelf.documents]
        words = self.words.scores(question.text)
        scored = {"recency": np.array(told) + np.arange(len(told)) * 1e-6, "words": words}
        if self.vectors is not None and self.embed is not None:
            meaning = (self.vectors @ self.embed([question.text])[0]).astype(np.float64)
            scored["meaning"] = meaning
            scored["z-sum"] = _standard(words) + _standard(meaning)
            scored["RRF 60"] = _fused(words, meaning, 60)
            scored["RRF 10"] = _fused(words, meaning, 10)
        only_matches = {"words"}
        return {name: self._best(scores, depth, name in only_matches) for name, scores in scored.items()}

    def _best(self, scores: Scores, depth: int, only_matches: bool) -> list[str]:
        order = np.argsort(-scores, kind="stable")[:depth]
        return [self.shelf.documents[place].id for place in order if not only_matches or scores[place] > 0]


class WordIndex:
    """FTS5 over some texts, in memory."""

    def __init__(self, texts: Sequence[str], tokenizer: str) -> None:
        self.size = len(texts)
        self.db = apsw.Connection(":memory:")
        self.db.execute(f"CREATE VIRTUAL TABLE found USING fts5 (text, tokenize='{tokenizer}')")
        self.db.executemany("INSERT INTO found (rowid, text) VALUES (?, ?)", enumerate(texts))

    def scores(self, question: str) -> Scores:
        """BM25 of each text, 0 where no word is shared."""
        scores = np.zeros(self.size)
        either = " OR ".join(f'"{word}"' for word in WORD.findall(question))
        if either:
            sql = "SELECT rowid, -bm25(found) FROM found WHERE found MATCH ?"
            for row, score in self.db.execute(sql, (either,)):
                scores[row] = max(score, 1e-9)
        return scores


def _standard(scores: Scores) -> Scores:
    spread = scores.std()
    return (scores - scores.mean()) / spread if spread else scores * 0


def _fused(words: Scores, meaning: Scores, k: int) -> Scores:
    total = np.zeros(len(words))
    for scores, only_matches in ((words, True), (meaning, False)):
        for rank, place in enumerate(np.argsort(-scores, kind="stable")[:DEPTH], 1):
            if not only_matches or scores[place] > 0:
                total[place] += 1 / (k + rank)
    return total


def vectors_of(embed: str | None) -> tuple[Embed | None, str]:
    """The embedder of that name as a function from texts to vectors, and its full name; None without one."""
    embedder = _embedder(embed or "static")
    return (None, "none") if embedder is None else (_checked(embedder), embedder.name)


def _embedder(spelled: str) -> "Embedder | None":
    from memorist.models.embed import chosen

    try:
        return chosen(spelled, lambda _: None).make()
    except (ImportError, OSError, errors.MemoristError):
        return None


def _checked(embedder: "Embedder") -> Embed:
    from memorist.models.embed import checked

    return lambda texts: checked(embedder, texts)


class Model:
    """An embedder that works each text out once, because many stores here hold the same notes. Memorist takes it as it is;
    it says that it is cheap, so that vectors are there as soon as their texts."""

    cheap = True

    def __init__(self, embedder: "Embedder") -> None:
        self.name, self.dimension, self.vectors = embedder.name, embedder.dimension, _checked(embedder)
        self.known: dict[str, Vectors] = {}

    @property
    def title(self) -> str:
        """The name without its digest."""
        return self.name.partition("@")[0]

    def embed(self, texts: Sequence[str]) -> Vectors:
        new = list(dict.fromkeys(text for text in texts if text not in self.known))
        for start in range(0, len(new), BATCH):
            some = new[start : start + BATCH]
            self.known.update(zip(some, self.vectors(some), strict=True))
        return np.stack([self.known[text] for text in texts])


def models(*spelled: str) -> list[Model]:
    """Those of the embedders that can be made here."""
    made = (_embedder(one) for one in spelled)
    return [Model(embedder) for embedder in made if embedder is not None]
