"""mempalace: the functions behind its MCP tools, its default store, a wing per project, our vectors in place of its model."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from common import Table, drive


class MemPalace:
    def __init__(self, folder: Path, table: Table) -> None:
        for name in ("HOME", "MEMPALACE_CONFIG_DIR"):
            os.environ[name] = str(folder)
        os.environ |= {"MEMPALACE_PALACE_PATH": str(folder / "palace"), "ANONYMIZED_TELEMETRY": "False"}
        self.asked = Asked()
        _look_up_in(table, self.asked)
        from mempalace import mcp_server

        self.add, self.find = mcp_server.tool_add_drawer, mcp_server.tool_search
        self.given: dict[str, str] = {}

    def add_many(self, project: str, ids: list[str], texts: list[str]) -> None:
        for id, text in zip(ids, texts, strict=True):  # there is no call for many
            self.add_one(project, id, text)

    def add_one(self, project: str, id: str, text: str) -> None:
        done = self.add(wing=project, room="chat", content=text)
        if not done.get("success"):
            raise RuntimeError(str(done.get("error") or done)[:200])
        self.given.setdefault(f"{project}/{text}", id)

    def search(self, project: str, text: str, k: int) -> list[str]:
        self.asked.text = text
        found = self.find(query=text, limit=k, wing=project)
        if "results" not in found:
            raise RuntimeError(str(found)[:200])
        return [self.given.get(f"{project}/{hit['text']}", "?") for hit in found["results"]]


class Asked:
    """The question under way: it shortens long ones before it embeds them, and gets the vector of the whole one for that."""

    text: str | None = None


def _look_up_in(table: Table, asked: Asked) -> None:
    from chromadb import EmbeddingFunction
    from mempalace import embedding

    unknown = [1.0] + [0.0] * (table.dimension - 1)  # its probe for the dimension

    class LookedUp(EmbeddingFunction[Any]):
        def __init__(self, **_: Any) -> None: ...

        def __call__(self, input: list[str]) -> Any:
            return [np.array(self._one(text), dtype="f4") for text in input]

        def _one(self, text: str) -> list[float]:
            if text in table.places:
                return table.one(text)
            return table.one(asked.text) if asked.text else unknown

        @staticmethod
        def name() -> str:
            return "default"

        def get_config(self) -> dict[str, Any]:
            return {}

        @staticmethod
        def build_from_config(config: dict[str, Any]) -> "LookedUp":
            return LookedUp()

    embedding._build_ef_class = lambda: LookedUp


if __name__ == "__main__":
    drive("mempalace", ["mempalace", "chromadb"], MemPalace)
