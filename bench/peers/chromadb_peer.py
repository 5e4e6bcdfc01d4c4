"""chromadb: a collection per project, HNSW over the vectors, its telemetry off."""

from pathlib import Path

import chromadb
from chromadb.config import Settings
from common import Table, drive


class Chroma:
    def __init__(self, folder: Path, table: Table) -> None:
        self.table = table
        self.client = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))

    def _collection(self, project: str) -> chromadb.Collection:
        space = {"hnsw:space": "cosine"}
        return self.client.get_or_create_collection(project, metadata=space, embedding_function=None)

    def add_many(self, project: str, ids: list[str], texts: list[str]) -> None:
        self._collection(project).add(ids=ids, documents=texts, embeddings=self.table.many(texts))

    def add_one(self, project: str, id: str, text: str) -> None:
        self.add_many(project, [id], [text])

    def search(self, project: str, text: str, k: int) -> list[str]:
        found = self._collection(project).query(query_embeddings=[self.table.one(text)], n_results=k, include=[])
        return found["ids"][0]


if __name__ == "__main__":
    drive("chromadb", ["chromadb"], Chroma)
