"""lancedb: a table per project, hybrid search over its full-text index and the vectors, joined by reciprocal ranks."""

from pathlib import Path

import lancedb
import pyarrow
from common import Table, drive
from lancedb.rerankers import RRFReranker


class Lance:
    def __init__(self, folder: Path, table: Table) -> None:
        self.table = table
        self.db = lancedb.connect(str(folder))
        self.tables: dict[str, lancedb.table.Table] = {}
        self.reranker = RRFReranker()
        vector = pyarrow.list_(pyarrow.float32(), table.dimension)
        self.schema = pyarrow.schema([("id", pyarrow.string()), ("text", pyarrow.string()), ("vector", vector)])

    def add_many(self, project: str, ids: list[str], texts: list[str]) -> None:
        rows = [{"id": i, "text": t, "vector": v} for i, t, v in zip(ids, texts, self.table.many(texts), strict=True)]
        if project not in self.tables:
            self.tables[project] = self.db.create_table(project, rows, schema=self.schema)
            self.tables[project].create_fts_index("text")
        else:
            self.tables[project].add(rows)
            if len(rows) > 1:
                self.tables[project].optimize()

    def add_one(self, project: str, id: str, text: str) -> None:
        self.add_many(project, [id], [text])

    def search(self, project: str, text: str, k: int) -> list[str]:
        query = self.tables[project].search(query_type="hybrid").vector(self.table.one(text)).text(text)
        return [row["id"] for row in query.rerank(self.reranker).select(["id"]).limit(k).to_list()]


if __name__ == "__main__":
    drive("lancedb hybrid", ["lancedb"], Lance)
