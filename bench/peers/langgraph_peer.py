"""langgraph: SqliteStore with its vector index, a namespace per project."""

from pathlib import Path

from common import Table, drive
from langgraph.store.base import PutOp
from langgraph.store.sqlite import SqliteStore


class LangGraph:
    def __init__(self, folder: Path, table: Table) -> None:
        index = {"dims": table.dimension, "embed": table.many, "fields": ["text"], "text_fields": ["text"]}
        self.opened = SqliteStore.from_conn_string(str(folder / "store.db"), index=index)
        self.store = self.opened.__enter__()
        self.store.setup()

    def add_many(self, project: str, ids: list[str], texts: list[str]) -> None:
        self.store.batch([PutOp((project,), id, {"text": text}) for id, text in zip(ids, texts, strict=True)])

    def add_one(self, project: str, id: str, text: str) -> None:
        self.store.put((project,), id, {"text": text})

    def search(self, project: str, text: str, k: int) -> list[str]:
        return [item.key for item in self.store.search((project,), query=text, limit=k)]


if __name__ == "__main__":
    drive("langgraph SqliteStore", ["langgraph", "langgraph-checkpoint-sqlite"], LangGraph)
