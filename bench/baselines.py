"""The plain ways to search, run beside us on the same documents: whoever does not beat these has built nothing.

recency   the newest first
words     FTS5, any of the question's words in quotes, BM25 order
meaning   cosine of the built-in embedding, speaker in front of the text
z-sum     words and meaning, each brought to mean 0 and deviation 1 over the shelf, then added
RRF       words and meaning by reciprocal ranks (k = 60 as in the paper, and k = 10)
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import apsw
import numpy as np

from bench.sets import Question, Shelf
from memorist import errors

Vectors = np.ndarray[Any, np.dtype[np.float32]]
Embed = Callable[[Sequence[str]], Vectors]
Scores = np.ndarray[Any, np.dtype[np.float64]]

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
    """The embedder that memorist itself would use, as a function from texts to vectors, and its name; None without one."""
    try:
        from memorist.models.embed import checked, chosen

        embedder = chosen(embed or "static", lambda _: None).make()
    except (ImportError, OSError, errors.MemoristError):
        return None, "none"
    if embedder is None:
        return None, "none"
    return lambda texts: checked(embedder, texts), embedder.name
