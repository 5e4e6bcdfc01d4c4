"""Writes what the peers are given: `python -m bench.peers.prepare DATA WORK`, in memorist's own environment."""

import json
import sys
from pathlib import Path

import numpy as np

from bench import sets
from bench.baselines import vectors_of
from bench.corpus import Corpus

LARGEST = 10_000
QUESTIONS = 60


def main() -> None:
    data, work = Path(sys.argv[1]), Path(sys.argv[2])
    work.mkdir(parents=True, exist_ok=True)
    embed, name = vectors_of("static")
    if embed is None:
        raise SystemExit("there is no built-in embedder to take the vectors from")
    shelves = [
        {
            "name": shelf.name,
            "ids": [document.id for document in shelf.documents],
            "texts": [document.said for document in shelf.documents],
            "questions": [{"text": q.text, "gold": sorted(q.gold)} for q in shelf.questions if q.gold],
        }
        for shelf in sets.load("locomo", data).shelves
    ]
    task = {
        "embedder": name,
        "data": sets.digest("locomo", data),
        "shelves": shelves,
        "scale_texts": list(Corpus(11).memories(LARGEST)),
        "scale_questions": [Corpus(5 + number).question() for number in range(QUESTIONS)],
    }
    texts = [*task["scale_texts"], *task["scale_questions"]]
    for shelf in shelves:
        texts += [*shelf["texts"], *(question["text"] for question in shelf["questions"])]
    texts = list(dict.fromkeys(texts))
    np.save(work / "vectors.npy", np.concatenate([embed(texts[n : n + 1000]) for n in range(0, len(texts), 1000)]))
    (work / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    (work / "task.json").write_text(json.dumps(task), encoding="utf-8")


if __name__ == "__main__":
    main()
