"""The floor: bare FTS5 and all vectors in memory, joined by reciprocal ranks; nothing around it."""

from pathlib import Path

import numpy as np
from common import Table, drive

from bench.floors import HybridFloor


class Bare:
    def __init__(self, folder: Path, table: Table) -> None:
        self.folder, self.table = folder, table
        self.stores: dict[str, tuple[HybridFloor, dict[str, str]]] = {}

    def _store(self, project: str) -> tuple[HybridFloor, dict[str, str]]:
        if project not in self.stores:
            floor = HybridFloor(
                self.folder / f"{project}.db", lambda texts: np.array(self.table.many(list(texts)), "f4")
            )
            self.stores[project] = (floor, {})
        return self.stores[project]

    def add_many(self, project: str, ids: list[str], texts: list[str]) -> None:
        floor, known = self._store(project)
        floor.add_many(texts)
        for id, text in zip(ids, texts, strict=True):
            known.setdefault(text, id)

    def add_one(self, project: str, id: str, text: str) -> None:
        self.add_many(project, [id], [text])

    def search(self, project: str, text: str, k: int) -> list[str]:
        floor, known = self._store(project)
        return [known[found] for found in floor.search(text, k)]


if __name__ == "__main__":
    drive("FTS5 + vectors, bare", ["memorist"], Bare)
