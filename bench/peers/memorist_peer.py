"""memorist itself, through the same protocol: turns with their speakers, its own embedding, durable writes."""

from pathlib import Path

from common import PROJECT, Table, drive

from memorist import Memory


class Memorist:
    def __init__(self, folder: Path, table: Table) -> None:
        self.path = folder / "memory.db"
        self.projects: dict[str, Memory] = {}

    def _project(self, name: str) -> Memory:
        if name not in self.projects:
            self.projects[name] = Memory(self.path, project=name)
        return self.projects[name]

    def add_many(self, project: str, ids: list[str], texts: list[str]) -> None:
        pairs = zip(ids, texts, strict=True)
        self._project(project).remember_many([_draft(project, id, text) for id, text in pairs])

    def add_one(self, project: str, id: str, text: str) -> None:
        self._project(project).remember(**_draft(project, id, text))

    def search(self, project: str, text: str, k: int) -> list[str]:
        return [hit.record.data["id"] for hit in self._project(project).recall(text, limit=k, search=_search(project))]


def _draft(project: str, id: str, text: str) -> dict[str, object]:
    if project == PROJECT:
        return {"text": text, "data": {"id": id}}
    speaker, _, said = text.partition(": ")
    session = id.partition(":")[0]
    return {"text": said, "kind": "turn", "speaker": speaker, "session": session, "data": {"id": id}}


def _search(project: str) -> str:
    return "memory" if project == PROJECT else "sessions"


if __name__ == "__main__":
    drive("memorist", ["memorist"], Memorist)
