"""Fits the column for memories of `[silence]` in `src/memorist/recall/weights.toml` from what recall reports.

    python -m tools.fit_silence DATA

Asks the development notes alone and among 500 and 2,000 other lines, reads the signs from the trace, and prints the weights and
the bar that are fitted on all stores, and what is silent in the stores that a fit on the other half has not seen.
"""

import argparse
import re
from pathlib import Path

import numpy as np

from bench import notes
from memorist import Memory

SIGNS = ("best", "cosine", "soft", "absent", "length", "size", "size_best")
MIDDLE = 2.5  # log10 of the rows of a store of middle size, around which `size` is centered for the ridge
WEIGHTS = {"far": 0.4, "near": 0.1}  # of the questions without an answer; those with a hit have the other half
LOST = 0.03  # the share of questions with a hit that the bar may cost


def rows(data: Path) -> list[tuple[str, str, str, bool, list[float]]]:
    """Crowd, store, category, whether a right note is among the first five, and the signs, for each question."""
    unrelated, others, asked = notes.unrelated(data), notes.crowd(data / "notes-train.jsonl.gz"), []
    crowds = {
        "alone": [],
        "500 lines": unrelated[::4],
        "2,000 lines": unrelated,
        "500 notes": others[::4],
        "2,000 notes": others,
    }
    for crowd, beside in crowds.items():
        for shelf, kinds in notes.stores(data / "notes-dev.json.gz"):
            with Memory(":memory:", project="notes") as memory:
                filled = notes.Filled.of(memory, shelf, kinds, beside)
                for question in shelf.questions:
                    answer = memory.recall(question.text, at=question.at, min_relevance=0)
                    note = next((step.note or "" for step in answer.trace if step.stage == "Blend"), "")
                    signs = dict(re.findall(r"(\w+) (-?[\d.]+)", note[note.find("(") :]))
                    if set(SIGNS) <= set(signs):
                        hit = any(filled.names.get(each.record.id) in question.gold for each in answer.hits)
                        asked.append(
                            (crowd, shelf.name, question.category, hit, [float(signs[name]) for name in SIGNS])
                        )
    return asked


def fitted(signs: np.ndarray, right: np.ndarray, counts: np.ndarray, ridge: float = 1.0) -> np.ndarray:
    weights = np.zeros(signs.shape[1])
    for _ in range(60):
        chance = 1 / (1 + np.exp(-np.clip(signs @ weights, -30, 30)))
        slope = signs.T @ (counts * (chance - right)) + ridge * weights
        bend = (signs * (counts * chance * (1 - chance))[:, None]).T @ signs + ridge * np.eye(len(weights))
        weights -= np.linalg.solve(bend, slope)
    return weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    asked = rows(parser.parse_args().data)
    crowd, store, category, right, signs = (np.array(column) for column in zip(*asked, strict=True))
    size, best = signs[:, SIGNS.index("size")] - MIDDLE, signs[:, 0]
    signs = np.c_[signs[:, : SIGNS.index("size")], size, size * best, np.ones(len(signs))]

    def fit(among: np.ndarray) -> tuple[np.ndarray, float]:
        counts = np.zeros(len(signs))
        for name, share in WEIGHTS.items():
            counts[among & (category == name)] = share / max(1, (among & (category == name)).sum())
        counts[among & right] = 0.5 / (among & right).sum()
        weights = fitted(signs[among], right[among].astype(float), counts[among] * among.sum())
        return weights, float(np.quantile(signs[among & right] @ weights, LOST))

    names, above = list(dict.fromkeys(store)), np.zeros(len(signs))
    for half in (0, 1):
        train = np.isin(store, names[half::2])
        weights, bar = fit(train)
        above[~train] = (signs @ weights - bar)[~train]
    for name in dict.fromkeys(crowd):
        here = crowd == name
        shares = {
            each: round(100 * (above[here & (category == each)] < 0).mean()) for each in ("near", "far", "small talk")
        }
        print(name, "silent:", shares, f"hits lost: {100 * (above[here & right] < 0).mean():.1f}")
    weights, bar = fit(np.ones(len(signs), bool))
    weights[0] -= MIDDLE * weights[-2]
    weights[-1] -= MIDDLE * weights[-3]
    print(dict(zip((*SIGNS, "level"), weights.round(3), strict=True)), "bar", round(1 / (1 + np.exp(-bar)), 3))


if __name__ == "__main__":
    main()
