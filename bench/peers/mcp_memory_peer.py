"""mcp-memory-service: its SQLite storage class, a named store per project, our vectors in place of its model.

Its check for near twins is off for single writes: it refuses turns that merely sound alike, which would not be a fair loss.
"""

import asyncio
import hashlib
import logging
from pathlib import Path
from typing import Any

import numpy as np
from common import Table, drive
from mcp_memory_service.models.memory import Memory
from mcp_memory_service.storage.sqlite_vec import SqliteVecMemoryStorage

logging.disable(logging.WARNING)


class LookedUp:
    def __init__(self, table: Table) -> None:
        self.table = table

    def encode(self, texts: list[str], **_: Any) -> Any:
        return np.array(self.table.many(texts), dtype="f4")


class McpMemory:
    def __init__(self, folder: Path, table: Table) -> None:
        self.loop = asyncio.new_event_loop()
        self.storage = SqliteVecMemoryStorage(str(folder / "memory.db"))

        async def with_our_vectors() -> None:
            self.storage.embedding_model, self.storage.embedding_dimension = LookedUp(table), table.dimension

        self.storage._initialize_embedding_model = with_our_vectors
        self.loop.run_until_complete(self.storage.initialize())

    def add_many(self, project: str, ids: list[str], texts: list[str]) -> None:
        memories = [_memory(project, id, text) for id, text in zip(ids, texts, strict=True)]
        done = self.loop.run_until_complete(self.storage.store_batch(memories, store=project))
        _must(all(stored for stored, _ in done), str(next((said for stored, said in done if not stored), "")))

    def add_one(self, project: str, id: str, text: str) -> None:
        memory = _memory(project, id, text)
        stored, said = self.loop.run_until_complete(self.storage.store(memory, skip_semantic_dedup=True, store=project))
        _must(stored, said)

    def search(self, project: str, text: str, k: int) -> list[str]:
        found = self.loop.run_until_complete(self.storage.retrieve(text, k, store=project))
        return [result.memory.metadata["given"] for result in found]


def _memory(project: str, id: str, text: str) -> Memory:
    digest = hashlib.sha256(f"{project}/{id}/{text}".encode()).hexdigest()
    return Memory(content=text, content_hash=digest, memory_type="note", metadata={"given": id})


def _must(stored: bool, said: str) -> None:
    if not stored:
        raise RuntimeError(said)


if __name__ == "__main__":
    drive("mcp-memory-service", ["mcp-memory-service"], McpMemory)
