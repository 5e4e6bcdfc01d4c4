"""The floors: what the same job costs with bare SQLite and FTS5, written down as simply as it can be.

They keep no journal, no fingerprint, no scopes and no trace, so nobody can be much cheaper; they tell how much of our time
is the price of what we promise. The second one also searches vectors, all of them, and joins both lists by their ranks.
"""

import re
from collections.abc import Iterable
from pathlib import Path

import apsw
import numpy as np

from bench.baselines import Embed, Vectors

WORD = re.compile(r"\w+")


class Floor:
    """One table, one full-text index, durable commits."""

    def __init__(self, path: Path) -> None:
        self.db = apsw.Connection(str(path))
        self.db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        self.db.execute(
            "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT);"
            "CREATE VIRTUAL TABLE found USING fts5 (text, content='notes', content_rowid='id', tokenize='porter unicode61')"
        )

    def add(self, text: str) -> None:
        with self.db:
            self._insert(text)

    def add_many(self, texts: Iterable[str]) -> None:
        with self.db:
            for text in texts:
                self._insert(text)

    def _insert(self, text: str) -> None:
        self.db.execute("INSERT INTO notes (text) VALUES (?)", (text,))
        self.db.execute("INSERT INTO found (rowid, text) VALUES (?, ?)", (self.db.last_insert_rowid(), text))

    def search(self, question: str, limit: int = 5) -> list[str]:
        """Any of the question's words, best first: what most tools do."""
        return self._texts(self._by_words(question, limit))

    def _by_words(self, question: str, limit: int) -> list[int]:
        either = " OR ".join(f'"{word}"' for word in WORD.findall(question))
        sql = "SELECT rowid FROM found WHERE found MATCH ? ORDER BY bm25(found) LIMIT ?"
        return [row[0] for row in self.db.execute(sql, (either, limit))]

    def _texts(self, ids: Iterable[int]) -> list[str]:
        return [str(self.db.execute("SELECT text FROM notes WHERE id = ?", (id,)).get) for id in ids]

    def close(self) -> None:
        self.db.close()


class HybridFloor(Floor):
    """The same with the vector of every text: kept beside it, all of them in memory for a question, reciprocal ranks."""

    POOL = 100

    def __init__(self, path: Path, embed: Embed) -> None:
        super().__init__(path)
        self.db.execute("CREATE TABLE vectors (id INTEGER PRIMARY KEY, vector BLOB)")
        self.embed = embed
        self.parts: list[Vectors] = []

    def add(self, text: str) -> None:
        self.add_many([text])

    def add_many(self, texts: Iterable[str]) -> None:
        held = list(texts)
        with self.db:
            for start in range(0, len(held), 1000):
                some = held[start : start + 1000]
                self.parts.append(self.embed(some))
                for text, vector in zip(some, self.parts[-1], strict=True):
                    self._insert(text)
                    self.db.execute("INSERT INTO vectors (vector) VALUES (?)", (vector.tobytes(),))

    def search(self, question: str, limit: int = 5) -> list[str]:
        if len(self.parts) > 1:
            self.parts = [np.concatenate(self.parts)]
        near = self.parts[0] @ self.embed([question])[0]
        best = np.argpartition(-near, min(self.POOL, len(near) - 1))[: self.POOL]
        by_meaning = [int(place) + 1 for place in best[np.argsort(-near[best])]]
        total: dict[int, float] = {}
        for ranked in (self._by_words(question, self.POOL), by_meaning):
            for rank, id in enumerate(ranked, 1):
                total[id] = total.get(id, 0.0) + 1 / (60 + rank)
        return self._texts(sorted(total, key=lambda id: -total[id])[:limit])
