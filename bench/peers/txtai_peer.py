"""txtai: an index per project, its hybrid of BM25 and vectors, kept in a file each; our vectors in place of its model."""

from pathlib import Path

import numpy as np
from common import Table, drive
from txtai import Embeddings


class Txtai:
    def __init__(self, folder: Path, table: Table) -> None:
        self.folder, self.table = folder, table
        self.indexes: dict[str, Embeddings] = {}

    def add_many(self, project: str, ids: list[str], texts: list[str]) -> None:
        if project not in self.indexes:
            self.indexes[project] = Embeddings(
                method="external", transform=lambda some: np.array(self.table.many(list(some)), "f4"), hybrid=True,
                content=True,
            )  # fmt: skip
        self.indexes[project].upsert([(id, text, None) for id, text in zip(ids, texts, strict=True)])
        self.indexes[project].save(str(self.folder / project))  # nothing is on disk before

    def add_one(self, project: str, id: str, text: str) -> None:
        self.add_many(project, [id], [text])

    def search(self, project: str, text: str, k: int) -> list[str]:
        return [found["id"] for found in self.indexes[project].search(text, k)]


if __name__ == "__main__":
    drive("txtai hybrid", ["txtai"], Txtai)
