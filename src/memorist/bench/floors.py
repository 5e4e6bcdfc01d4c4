"""The floor: what the same job costs with bare SQLite and FTS5, written down as simply as it can be.

It keeps no journal, no fingerprint, no scopes and no trace, so nobody can be much cheaper; it tells how much of our time
is the price of what we promise.
"""

import re
from collections.abc import Iterable
from pathlib import Path

import apsw

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
        either = " OR ".join(f'"{word}"' for word in WORD.findall(question))
        sql = (
            "SELECT text FROM notes JOIN (SELECT rowid FROM found WHERE found MATCH ? ORDER BY bm25(found) LIMIT ?)"
            " ON id = rowid"
        )
        return [row[0] for row in self.db.execute(sql, (either, limit))]

    def close(self) -> None:
        self.db.close()
