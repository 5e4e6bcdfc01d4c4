"""Figures of the installed layers beside those of the table: notes of the development set found by cosine alone.

python judge.py DATA --out figures.json
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from memorist.models.embed import Embedder, StaticEmbedder
from memorist.models.encoder import LayeredEmbedder

Found = tuple[bool, bool, float]


def found_by(embedder: Embedder, stores: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Percent by type of question: the first matters; one of three does; how many of those that matter are among five."""
    results: dict[str, list[Found]] = defaultdict(list)
    for store in stores:
        names = [memory["id"] for memory in store["memories"]]
        notes = embedder.embed([memory["text"] for memory in store["memories"]])
        for question in store["questions"]:
            if not question["gold"]:
                continue
            [asked], right = embedder.embed([question["text"]]), set(question["gold"])
            best = [names[place] for place in np.argsort(-(notes @ asked), kind="stable")[:5]]
            result = (best[0] in right, bool(right & set(best[:3])), len(right & set(best)) / len(right))
            for type in (question["type"], "all"):
                results[type].append(result)
    return {type: [round(100 * float(each), 1) for each in np.mean(rows, axis=0)] for type, rows in results.items()}


def milliseconds(embedder: Embedder, tokens: int) -> float:
    """The fastest of many: a text of so many tokens, alone."""
    text, times = " ".join(["harbour"] * tokens), []
    for _ in range(300):
        begun = time.perf_counter()
        embedder.embed([text])
        times.append(time.perf_counter() - begun)
    return round(1000 * min(times), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    stores = json.loads(gzip.decompress((given.data / "notes-dev.json.gz").read_bytes()))["stores"]
    embedders: dict[str, Embedder] = {"static": StaticEmbedder(), "layered": LayeredEmbedder()}
    figures = {name: found_by(embedder, stores) for name, embedder in embedders.items()}
    given.out.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
    for name, embedder in embedders.items():
        print(name, figures[name], {tokens: milliseconds(embedder, tokens) for tokens in (12, 28, 96)})


if __name__ == "__main__":
    main()
