"""memorist itself, through the same protocol: notes and turns with their speakers, its own embedding or the other model through
its own door, durable writes, the cut off."""

from pathlib import Path

from common import NOTES, OURS, PROJECT, Table, drive

from bench.baselines import models
from bench.quality import CUT_OFF
from memorist import Memory


class Memorist:
    def __init__(self, folder: Path, table: Table) -> None:
        self.path = folder / "memory.db"
        self.embed = None if table.whose == OURS else models(table.model)[0]
        self.projects: dict[str, Memory] = {}

    def _project(self, name: str) -> Memory:
        if name not in self.projects:
            self.projects[name] = Memory(self.path, project=name, embed=self.embed)
        return self.projects[name]

    def add_many(self, project: str, ids: list[str], texts: list[str]) -> None:
        pairs = zip(ids, texts, strict=True)
        self._project(project).remember_many([_draft(project, id, text) for id, text in pairs])

    def add_one(self, project: str, id: str, text: str) -> None:
        self._project(project).remember(**_draft(project, id, text))

    def search(self, project: str, text: str, k: int) -> list[str]:
        where = "sessions" if _talk(project) else "memory"
        found = self._project(project).recall(text, limit=k, search=where, **CUT_OFF)
        return [hit.record.data["id"] for hit in found]


def _talk(project: str) -> bool:
    return project != PROJECT and not project.startswith(NOTES)


def _draft(project: str, id: str, text: str) -> dict[str, object]:
    if not _talk(project):
        return {"text": text, "data": {"id": id}}
    speaker, _, said = text.partition(": ")
    session = id.partition(":")[0]
    return {"text": said, "kind": "turn", "speaker": speaker, "session": session, "data": {"id": id}}


if __name__ == "__main__":
    drive("memorist", ["memorist"], Memorist)
