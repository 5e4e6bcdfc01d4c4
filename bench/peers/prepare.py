"""Writes what the peers are given: `python -m bench.peers.prepare DATA WORK [MODEL]`, in memorist's own environment. MODEL is
the folder of a sentence model in ONNX; with it every peer is asked a second time, with its vectors."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from bench import notes, sets
from bench.baselines import BUILT_IN, models
from bench.corpus import Corpus
from bench.peers.common import NOTES, OTHER, OURS
from bench.sets import Shelf

LARGEST = 10_000
QUESTIONS = 60


def main() -> None:
    data, work, *folder = map(Path, sys.argv[1:])
    work.mkdir(parents=True, exist_ok=True)
    task = {
        "locomo": _asked("locomo", data, sets.load("locomo", data).shelves, 10),
        "notes": _asked("notes", data, [shelf for shelf, _ in notes.stores(data / sets.FILES["notes"])], 5, NOTES),
        "scale_texts": list(Corpus(11).memories(LARGEST)),
        "scale_questions": [Corpus(5 + number).question() for number in range(QUESTIONS)],
    }
    asked = [
        text
        for shelf in (*task["notes"]["shelves"], *task["locomo"]["shelves"])
        for text in (*shelf["texts"], *(question["text"] for question in shelf["questions"]))
    ]
    asked = list(dict.fromkeys(asked))
    texts = list(dict.fromkeys([*asked, *task["scale_texts"], *task["scale_questions"]]))
    task["embedders"] = {}
    if not folder:
        (work / f"{OTHER}.npy").unlink(missing_ok=True)  # of an earlier run
    others = [(OTHER, (f"onnx:{each}",), asked) for each in folder]  # cost is measured with ours alone
    for whose, spelled, wanted in ((OURS, BUILT_IN, texts), *others):
        model = models(*spelled)[0]
        if not _known(work, whose, model.name, wanted):
            np.save(work / f"{whose}.npy", model.embed(wanted))
        task["embedders"][whose] = model.name
    task["model"] = f"onnx:{folder[0].resolve()}" if folder else None
    (work / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    (work / "task.json").write_text(json.dumps(task), encoding="utf-8")


def _known(work: Path, whose: str, model: str, wanted: list[str]) -> bool:
    """Whether an earlier run left the vectors of this model for these texts: a sentence model needs minutes for them."""
    task, texts, vectors = work / "task.json", work / "texts.json", work / f"{whose}.npy"
    if not (task.exists() and texts.exists() and vectors.exists()):
        return False
    same = json.loads(task.read_text(encoding="utf-8"))["embedders"].get(whose) == model
    held: list[str] = json.loads(texts.read_text(encoding="utf-8"))[: len(np.load(vectors, mmap_mode="r"))]
    return same and held == wanted


def _asked(name: str, data: Path, shelves: Iterable[Shelf], depth: int, prefix: str = "") -> dict[str, Any]:
    return {"data": sets.digest(name, data), "depth": depth, "shelves": [_shelf(each, prefix) for each in shelves]}


def _shelf(shelf: Shelf, prefix: str) -> dict[str, Any]:
    return {
        "name": prefix + shelf.name,
        "ids": [document.id for document in shelf.documents],
        "texts": [document.said for document in shelf.documents],
        "questions": [{"text": q.text, "gold": sorted(q.gold)} for q in shelf.questions if q.gold],
    }


if __name__ == "__main__":
    main()
