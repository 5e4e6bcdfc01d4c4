"""What is counted about rankings: any, all and mean recall, nDCG, MRR, each with its interval.

any@k: at least one piece of the evidence is among the first k; all@k: every piece; rec@k: the mean share. Intervals are
95 % bootstrap intervals over questions, drawn with a fixed seed.
"""

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

DEPTHS = (5, 10, 20)
DRAWS = 1000
SEED = 20240901
TURN_COLUMNS = ("any@1", *(f"{name}@{k}" for k in DEPTHS for name in ("any", "all", "rec", "ndcg")), "mrr")


@dataclass(frozen=True, slots=True)
class Score:
    """A mean over questions with its 95 % interval, all in percent."""

    mean: float
    low: float
    high: float
    count: int

    def __str__(self) -> str:
        return f"{self.mean:.1f} [{self.low:.1f}, {self.high:.1f}]"


def measured(ranking: Sequence[str], gold: AbstractSet[str]) -> dict[str, float]:
    """Every measure of one ranking, best first, against its evidence."""
    places = [place for place, id in enumerate(ranking) if id in gold]
    found = {"any@1": float(bool(places) and places[0] == 0), "mrr": 1 / (places[0] + 1) if places else 0.0}
    for k in DEPTHS:
        within = [place for place in places if place < k]
        ideal = sum(1 / math.log2(place + 2) for place in range(min(k, len(gold))))
        found[f"any@{k}"] = float(bool(within))
        found[f"all@{k}"] = float(len(within) == len(gold))
        found[f"rec@{k}"] = len(within) / len(gold)
        found[f"ndcg@{k}"] = sum(1 / math.log2(place + 2) for place in within) / ideal
    return found


def summary(rows: Sequence[Mapping[str, float]]) -> dict[str, Score]:
    """Means and intervals of each measure; the same draws for all of them, so that they can be compared."""
    if not rows:
        return {}
    names = list(rows[0])
    table = np.array([[row[name] for name in names] for row in rows]) * 100
    draws = np.random.default_rng(SEED).integers(0, len(rows), (DRAWS, len(rows)))
    means = np.stack([table[draw].mean(axis=0) for draw in draws])
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    middle = table.mean(axis=0)
    return {
        name: Score(float(middle[n]), float(low[n]), float(high[n]), len(rows))  # columns keep their order
        for n, name in enumerate(names)
    }


def ahead(ours: Sequence[Mapping[str, float]], theirs: Sequence[Mapping[str, float]], name: str) -> Score:
    """By how much we are ahead in a measure, question by question: chance that both share does not count."""
    pairs = zip(ours, theirs, strict=True)
    return summary([{name: here[name] - there[name]} for here, there in pairs])[name]


def by_category(rows: Sequence[Mapping[str, float]], categories: Sequence[str]) -> dict[str, dict[str, Score]]:
    """The same for each category apart."""
    groups: dict[str, list[Mapping[str, float]]] = {}
    for row, category in zip(rows, categories, strict=True):
        groups.setdefault(category, []).append(row)
    return {category: summary(groups[category]) for category in sorted(groups)}


def sessions_of(ranking: Sequence[str], session: Mapping[str, str | None]) -> list[str]:
    """Sessions in the order of their best turn."""
    named = (session[id] for id in ranking)
    return list(dict.fromkeys(name for name in named if name is not None))


def auc(answerable: Sequence[float], unanswerable: Sequence[float]) -> float:
    """How often a question that has an answer scores above one that has none; one half is chance."""
    if not answerable or not unanswerable:
        return math.nan
    here, there = np.array(answerable)[:, None], np.array(unanswerable)[None, :]
    return float(((here > there) + 0.5 * (here == there)).mean())


def f1(right: int, said: int, true: int) -> tuple[float, float, float]:
    """Precision, recall and F1, in percent, of saying something `said` times, `right` of them rightly, `true` being right."""
    precision, found = (right / said if said else 0.0), (right / true if true else 0.0)
    both = precision + found
    return 100 * precision, 100 * found, 100 * 2 * precision * found / both if both else 0.0
