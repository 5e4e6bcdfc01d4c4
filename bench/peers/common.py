"""What every peer is put through: the same texts, the same vectors, the same questions, the same clocks.

An adapter is a class with `add_many`, `add_one` and `search`; `drive` runs it inside the peer's own environment, with no
network, and writes one JSON file. It needs numpy and nothing else.
"""

import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Protocol

import numpy as np

CAP = 120.0  # seconds of wall time a stage may take; what was reached by then is told
SINGLE = 100  # memories added one by one at each size
SIZES = (1_000, 10_000)
PROJECT, NOTES = "scale", "notes-"  # the project for cost; how those of notes begin
OURS, OTHER = "ours", "MiniLM"  # whose vectors


class Peer(Protocol):
    """One product. `search` gives the ids that were handed in, best first."""

    def add_many(self, project: str, ids: list[str], texts: list[str]) -> None: ...
    def add_one(self, project: str, id: str, text: str) -> None: ...
    def search(self, project: str, text: str, k: int) -> list[str]: ...


class Table:
    """An embedder that looks vectors up: the peers differ in how they search, not in what they embed with."""

    def __init__(self, work: Path, whose: str, task: dict[str, Any]) -> None:
        self.whose, self.model = whose, task["model"]
        texts = json.loads((work / "texts.json").read_text(encoding="utf-8"))
        self.vectors = np.load(work / f"{whose}.npy")
        self.places = {text: place for place, text in enumerate(texts)}
        self.dimension = int(self.vectors.shape[1])

    def one(self, text: str) -> list[float]:
        return [float(number) for number in self.vectors[self.places[text]]]

    def many(self, texts: list[str]) -> list[list[float]]:
        return [self.one(text) for text in texts]


def drive(name: str, packages: list[str], open_peer: Any) -> None:
    """`python ADAPTER.py WORK RESULT`: everything that is measured about one peer, each part in a process of its own, because
    some peers keep a store open for as long as they live. `python ADAPTER.py WORK RESULT PART` is one part."""
    work, result, *part = sys.argv[1:]
    if part:
        return _drive_part(open_peer, Path(work), Path(result), part[0])
    given = asked_with(json.loads((Path(work) / "task.json").read_text(encoding="utf-8")))
    versions = {p: importlib.metadata.version(p) for p in packages}
    found: dict[str, Any] = {"peer": name, "versions": versions, "given": given}
    for asked in [part for part, (_, whose, _) in PARTS.items() if (Path(work) / f"{whose}.npy").exists()]:
        own = Path(f"{result}.{asked}")
        subprocess.run([sys.executable, sys.argv[0], work, str(own), asked], check=False)
        found[asked] = json.loads(own.read_text(encoding="utf-8")) if own.exists() else {"failed": "its process died"}
        own.unlink(missing_ok=True)
    Path(result).write_text(json.dumps(found, indent=1), encoding="utf-8")


def asked_with(task: dict[str, Any]) -> dict[str, str]:
    """What tells two rounds apart: a result that was made with other vectors or questions says nothing beside these."""
    return {**task["embedders"], **{name: task[name]["data"] for name in ("locomo", "notes")}}


def _drive_part(open_peer: Any, work: Path, result: Path, part: str) -> None:
    task = json.loads((work / "task.json").read_text(encoding="utf-8"))
    found: Any
    with tempfile.TemporaryDirectory(prefix="peer-") as folder:
        try:
            job, whose, name = PARTS[part]
            found = job(open_peer, Path(folder), Table(work, whose, task), task.get(name, task))
        except Exception as problem:
            found = {"failed": f"{type(problem).__name__}: {problem}"[:300]}
    result.write_text(json.dumps(found), encoding="utf-8")
    os._exit(0)  # some peers leave threads behind that never end


def _quality(open_peer: Any, folder: Path, table: Table, asked: dict[str, Any]) -> dict[str, Any]:
    peer: Peer = open_peer(folder, table)
    started, rows = time.perf_counter(), []
    for shelf in asked["shelves"]:
        peer.add_many(shelf["name"], shelf["ids"], shelf["texts"])
    for shelf in asked["shelves"]:
        for question in shelf["questions"]:
            found = peer.search(shelf["name"], question["text"], asked["depth"])[: asked["depth"]]
            rows.append(_measured(found, set(question["gold"])))
    means = {name: 100 * sum(row[name] for row in rows) / len(rows) for name in rows[0]}
    return {"questions": len(rows), **means, "wall_s": time.perf_counter() - started}


def _measured(found: list[str], gold: set[str]) -> dict[str, float]:
    shares = {depth: len(gold & set(found[:depth])) / len(gold) for depth in (1, 3, 5, 10)}
    return {
        "any@1": shares[1] > 0, "any@3": shares[3] > 0, "rec@5": shares[5], "rec@10": shares[10], "all@10": shares[10] == 1,
    }  # fmt: skip


def _scale(open_peer: Any, folder: Path, table: Table, task: dict[str, Any]) -> list[dict[str, Any]]:
    peer: Peer = open_peer(folder, table)
    rows, held = [], 0
    for size in SIZES:
        row: dict[str, Any] = {"asked_for": size}
        bulk = range(held, size - SINGLE)
        count, spent = _timed(
            lambda some: peer.add_many(PROJECT, [str(n) for n in some], [task["scale_texts"][n] for n in some]),
            [list(bulk)[n : n + 500] for n in range(0, len(bulk), 500)],
        )
        held += min(count * 500, len(bulk))
        row["add_many_ms"] = spent / max(1, min(count * 500, len(bulk)))
        singles = range(held, held + SINGLE)
        count, spent = _timed(lambda n: peer.add_one(PROJECT, str(n), task["scale_texts"][n]), list(singles))
        held += count
        row["add_one_ms"] = spent / max(1, count)
        row |= _asked(peer, task["scale_questions"])
        row |= {"reached": held, "rss_mb": _rss_mb(), "bytes_each": _bytes(folder) / held}
        rows.append(row)
        if held < size:
            break
    return rows


def _timed(job: Any, parts: list[Any]) -> tuple[int, float]:
    """How many parts were done before the cap, and their CPU milliseconds over all threads."""
    began, cpu = time.perf_counter(), time.process_time()
    for done, part in enumerate(parts):
        if time.perf_counter() - began > CAP:
            return done, (time.process_time() - cpu) * 1000
        job(part)
    return len(parts), (time.process_time() - cpu) * 1000


def _asked(peer: Peer, questions: list[str]) -> dict[str, Any]:
    for question in questions[:5]:
        peer.search(PROJECT, question, 10)
    spent, began = [], time.perf_counter()
    for question in questions:
        cpu = time.process_time()
        peer.search(PROJECT, question, 10)
        spent.append((time.process_time() - cpu) * 1000)
        if time.perf_counter() - began > CAP:
            break
    spent.sort()
    return {"search_ms": spent[len(spent) // 2], "search_ms_p95": spent[int(len(spent) * 0.95)], "asked": len(spent)}


def _rss_mb() -> float:
    facts = Path("/proc/self/status")
    if facts.exists():
        return int(facts.read_text().split("VmRSS:")[1].split()[0]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


PARTS = {
    "locomo": (_quality, OURS, "locomo"),
    "notes": (_quality, OURS, "notes"),
    "locomo, other": (_quality, OTHER, "locomo"),
    "notes, other": (_quality, OTHER, "notes"),
    "scale": (_scale, OURS, ""),
}  # what is done, with whose vectors, on which set
