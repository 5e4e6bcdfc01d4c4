"""mem0: `infer=False`, its default store (qdrant in a local folder), our vectors in place of its embedder; no model is asked."""

import os
from pathlib import Path
from typing import Any

os.environ |= {"MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "none"}

from common import Table, drive
from mem0 import Memory
from mem0.embeddings.base import EmbeddingBase


class LookedUp(EmbeddingBase):
    def __init__(self, table: Table) -> None:
        super().__init__()
        self.table = table

    def embed(self, text: str, memory_action: Any = None) -> list[float]:
        return self.table.one(text)

    def embed_batch(self, texts: list[str], memory_action: Any = None) -> list[list[float]]:
        return self.table.many(texts)


class Mem0:
    def __init__(self, folder: Path, table: Table) -> None:
        os.environ["MEM0_DIR"] = str(folder)
        place = {"path": str(folder / "qdrant"), "embedding_model_dims": table.dimension, "on_disk": True}
        self.memory = Memory.from_config(
            {"vector_store": {"provider": "qdrant", "config": place}, "history_db_path": str(folder / "history.db")}
        )
        self.memory.embedding_model = LookedUp(table)

    def add_many(self, project: str, ids: list[str], texts: list[str]) -> None:
        for id, text in zip(ids, texts, strict=True):  # one call takes one set of metadata
            self.add_one(project, id, text)

    def add_one(self, project: str, id: str, text: str) -> None:
        self.memory.add(text, user_id=project, metadata={"given": id}, infer=False)

    def search(self, project: str, text: str, k: int) -> list[str]:
        found = self.memory.search(text, filters={"user_id": project}, top_k=k, threshold=0.0)
        return [hit["metadata"]["given"] for hit in found["results"]]


if __name__ == "__main__":
    drive("mem0, infer=False", ["mem0ai", "qdrant-client"], Mem0)
