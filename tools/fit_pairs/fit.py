"""Fits `src/memorist/models/data/pairs.toml`: whether one note takes the place of another.

    python -m tools.fit_pairs.fit DATA            # cross-validated figures only
    python -m tools.fit_pairs.fit DATA --write    # and the file, fitted on everything
    python -m tools.fit_pairs.fit DATA --recall   # and what recall makes of it, in stores of each world (minutes)

DATA holds `notes-train.jsonl.gz`: updates as people write them, pairs of which both hold, notes with near notes. Beside them
stand plain changes (`plain.txt`), the near-misses of the tests, made with another seed, and the pairs of `both_hold.txt`.
A ridge logistic regression; folds are whole worlds. The thresholds are read off the cross-validated sums.
"""

import argparse
import gzip
import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from memorist import Memory
from memorist.models import pairs
from memorist.text.gist import gist

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from unit.near_misses import conflicts, near_misses  # noqa: E402  (the tests are no package that is installed)

RIDGE = 1.0
FOLDS = 6
NEAREST_STRANGERS, CHANCE_STRANGERS = 8, 4
NEAREST, CHANCE = 4, 2  # other notes of the same world that each text is held against
SEED = 2  # of the near-misses; the tests have another
# What a mistake costs. A both-hold pair that is flagged is worse than an update that is not.
COST = {
    "update": 1.0, "plain": 1.0, "changed": 0.2, "reverse": 0.3, "both": 2.0, "near": 1.0, "nearest": 0.3, "chance": 0.1,
    "stranger": 0.15, "near-miss": 1.0, "both_hold.txt": 0.3,
}  # fmt: skip
TRUE = ("update", "plain", "changed")
FLAGGED_BOTH, FLAGGED_NEAR = 0.08, 0.0098  # what may be flagged by mistake, a little under what is promised
ORDER = -5.3  # a better fit of the older one to the question counts against it: chosen on notes of other stores
MARGIN = 1.0  # above everything that must not be retired


@dataclass(frozen=True)
class Pair:
    fold: int
    sort: str
    old: str
    new: str


def read(data: Path) -> list[dict[str, Any]]:
    with gzip.open(data / "notes-train.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def lines(path: Path) -> list[tuple[str, str]]:
    some = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return [(old, new) for old, _, new in (line.partition(" | ") for line in some)]


def both_ways(fold: int, sort: str, a: str, b: str) -> tuple[Pair, Pair]:
    return Pair(fold, sort, a, b), Pair(fold, sort, b, a)


def of_a_world(fold: int, rows: Sequence[Mapping[str, Any]]) -> Iterator[Pair]:
    texts, known = list[str](), set[frozenset[str]]()
    for row in rows:
        if "old" in row:
            yield Pair(fold, "update", row["old"], row["new"])
            yield Pair(fold, "reverse", row["new"], row["old"])
            told = [row["old"], row["new"]]
        elif "both" in row:
            yield from both_ways(fold, "both", *row["both"])
            told = row["both"]
        else:
            first, second = row["near"]
            for a, b in ((row["note"], first), (row["note"], second), (first, second)):
                yield from both_ways(fold, "near", a, b)
            told = [row["note"]]
        texts += told
        known.add(frozenset(told))
    yield from _others(fold, texts, known)
    yield from _strangers(fold, rows)


def _others(fold: int, texts: Sequence[str], known: set[frozenset[str]]) -> Iterator[Pair]:
    """Each text against those of its world that mean the most alike, and some by chance."""
    vectors = np.array([pairs._vector(text) for text in texts])
    alike, chance = vectors @ vectors.T, random.Random(fold)
    np.fill_diagonal(alike, -1)
    for at, text in enumerate(texts):
        some = [("nearest", int(other)) for other in np.argsort(-alike[at])[:NEAREST]]
        some += [("chance", chance.randrange(len(texts))) for _ in range(CHANCE)]
        for sort, other in some:
            if other != at and frozenset((text, texts[other])) not in known:
                yield Pair(fold, sort, texts[other], text)


def _strangers(fold: int, rows: Sequence[Mapping[str, Any]]) -> Iterator[Pair]:
    """Each update against what others of its world are about, the most alike and some by chance: it tells of a change, but not
    of that."""
    updates, chance = [row for row in rows if "old" in row], random.Random(fold)
    texts = [row["old"] for row in updates] + [text for row in rows for text in row.get("near", row.get("both", ()))]
    vectors = np.array([pairs._vector(text) for text in texts])
    for row in updates:
        alike = np.argsort(-(vectors @ pairs._vector(row["new"])))[:NEAREST_STRANGERS]
        for old in {texts[at] for at in alike} | set(chance.sample(texts, CHANCE_STRANGERS)):
            if old != row["old"]:
                yield Pair(fold, "stranger", old, row["new"])


def corpora() -> Iterator[Pair]:
    for at, (old, new) in enumerate(lines(Path(__file__).parent / "plain.txt")):
        yield Pair(at % FOLDS, "plain", old, new)
    for at, (a, b) in enumerate(lines(ROOT / "tests/unit/both_hold.txt")):
        yield from both_ways(at % FOLDS, "both_hold.txt", a, b)
    for at, pair in enumerate(near_misses(40, SEED)):
        yield from both_ways(at % FOLDS, "near-miss", pair.first, pair.second)
    for at, pair in enumerate(conflicts(40, SEED)):
        if pair.family.startswith("changed"):
            yield Pair(at % FOLDS, "changed", pair.first, pair.second)


def every_pair(rows: Sequence[Mapping[str, Any]]) -> list[Pair]:
    worlds = sorted({row["world"] for row in rows})
    found = [
        pair for fold, world in enumerate(worlds) for pair in of_a_world(fold, [r for r in rows if r["world"] == world])
    ]
    return [*found, *corpora()]


# ---------------------------------------------------------------- fitting


def fitted(features: np.ndarray, right: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """The weights under which the sums are log-odds; the level, which is last, is free."""
    ridge = np.eye(features.shape[1]) * RIDGE
    ridge[-1, -1] = 1e-3
    weights = np.zeros(features.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-features @ weights))
        gradient = features.T @ (costs * (chance - right)) + ridge @ weights
        spread = costs * chance * (1 - chance)
        step = np.linalg.solve((features * spread[:, None]).T @ features + ridge, gradient)
        weights = weights - step
        if np.abs(step).max() < 1e-6:
            break
    return weights


class Fit:
    """All pairs with their features, and the sums that each gets from the folds it is not in."""

    def __init__(self, some: Sequence[Pair]) -> None:
        self.pairs = some
        rows = [pairs.features(pair.old, pair.new) for pair in some]
        self.names = [name for name in rows[0] if name != "level"] + ["level"]
        self.features = np.array([[row[name] for name in self.names] for row in rows])
        self.sorts = np.array([pair.sort for pair in some])
        self.folds = np.array([pair.fold for pair in some])
        self.right = np.isin(self.sorts, TRUE).astype(float)
        self.costs = np.array([COST[pair.sort] for pair in some])
        self.by_fold = {fold: self.weights(self.folds != fold) for fold in range(FOLDS)}
        self.tells = np.array([gist(pair.new).tells and pairs.akin(pair.old, pair.new) for pair in some])
        self.sums = np.zeros(len(some))
        for fold, weights in self.by_fold.items():
            here = self.folds == fold
            self.sums[here] = self.features[here] @ weights
        self.sums[[pairs.sure(pair.old, pair.new) == -np.inf for pair in some]] = -99  # whatever the weights are

    def weights(self, of: np.ndarray) -> np.ndarray:
        return fitted(self.features[of], self.right[of], self.costs[of])

    def of(self, *sorts: str, telling: bool = False) -> np.ndarray:
        """The sums of pairs of these sorts; `telling`: nothing where the newer text tells of no change."""
        sums = np.where(self.tells, self.sums, -np.inf) if telling else self.sums
        return sums[np.isin(self.sorts, sorts)]

    def least(self) -> dict[str, float]:
        may = (("both", FLAGGED_BOTH), ("near", FLAGGED_NEAR))
        flag = max(np.quantile(self.of(sort, telling=True), 1 - share, method="higher") for sort, share in may)
        wrong = self.of("both", "near", "near-miss", "both_hold.txt", telling=True)
        return {"order": ORDER, "flag": float(flag), "retire": float(wrong.max() + MARGIN)}

    def report(self) -> None:
        least = self.least()
        print("least", {name: round(value, 2) for name, value in least.items()})
        print(f"{'cross-validated, by world':32}{'pairs':>7}{'ordered':>9}{'flagged':>9}{'retired':>9}")
        for sort in COST:
            some = [
                self.of(sort) >= least["order"],
                *(self.of(sort, telling=True) >= least[n] for n in ("flag", "retire")),
            ]
            print(f"{sort:32}{len(some[0]):7}" + "".join(f"{100 * float(each.mean()):8.1f} " for each in some))


def written(fit: Fit) -> str:
    weights = fit.weights(np.ones(len(fit.pairs), bool))
    least = [f"{name} = {value:.3f}" for name, value in fit.least().items()]
    told = [f"{name} = {weight:.3f}" for name, weight in zip(fit.names, weights, strict=True)]
    head = "# Whether one note takes the place of another; fitted by tools/fit_pairs. The sum of all is a log-odds."
    return "\n".join([head, "", "[least]", *least, "", "[weights]", *told, ""])


# ---------------------------------------------------------------- what recall makes of it


def recalled(rows: Sequence[Mapping[str, Any]], fit: Fit) -> None:
    """Asks the updates' questions in a store of their world, judged by the other worlds: with the pairs alone (some 150 notes),
    and with everything that was written about it (some 1,000)."""
    for name, some in (("pairs", [row for row in rows if "note" not in row]), ("everything", rows)):
        print(f"in stores of {name}:")
        _recalled(some, fit)


def _recalled(rows: Sequence[Mapping[str, Any]], fit: Fit) -> None:
    total: dict[str, int] = {}
    for fold, world in enumerate(sorted({row["world"] for row in rows})):
        weights = dict(zip(fit.names, map(float, fit.by_fold[fold]), strict=True))
        with _judged_by({"weights": weights, "least": fit.least()}):
            found = _asked([row for row in rows if row["world"] == world])
        print(f"world {world}", found)
        total = {name: total.get(name, 0) + count for name, count in found.items()}
    print("all    ", total)


class _judged_by:
    """These weights in the place of the file's."""

    def __init__(self, given: Mapping[str, Mapping[str, float]]) -> None:
        self.given, self.was = given, pairs._fitted

    def __enter__(self) -> None:
        pairs._sure.cache_clear()
        pairs._of_one.cache_clear()
        pairs._fitted = lambda: self.given  # type: ignore[assignment]

    def __exit__(self, *_: object) -> None:
        pairs._sure.cache_clear()
        pairs._of_one.cache_clear()
        pairs._fitted = self.was


def _asked(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    updates = [row for row in rows if "old" in row]
    notes = [text for row in rows if "note" in row for text in (row["note"], *row["near"])]
    both = [text for row in rows if "both" in row for text in row["both"]]
    told = dict.fromkeys(
        ("updates", "current first", "outdated first", "neither", "both shown", "flagged", "superseded", "all flags"), 0
    )
    with Memory(":memory:", project="p") as memory:
        texts = [*[row["old"] for row in updates], *notes, *both, *[row["new"] for row in updates]]
        drafts = [{"text": text, "at": start + timedelta(hours=at)} for at, text in enumerate(texts)]
        ids = {text: done.id for text, done in zip(texts, memory.remember_many(drafts), strict=True)}
        flags = {frozenset((d.a.id, d.b.id)) for d in memory.conflicts(limit=1000)}
        told["all flags"] = len(flags)
        for row in updates:
            old, new = ids[row["old"]], ids[row["new"]]
            shown = [hit.record.id for hit in memory.recall(row["ask"], limit=10)]
            places = [shown.index(id) if id in shown else len(shown) for id in (new, old)]
            first = (
                "neither" if places[0] == places[1] else "current first" if places[0] < places[1] else "outdated first"
            )
            told["updates"] += 1
            told["both shown"] += {old, new} <= set(shown)
            told[first] += 1
            told["flagged"] += frozenset((old, new)) in flags
            told["superseded"] += memory.get(old).state == "superseded"
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--recall", action="store_true")
    args = parser.parse_args()
    rows = read(args.data)
    fit = Fit(every_pair(rows))
    fit.report()
    text = written(fit)
    print(text)
    if args.write:
        pairs.FITTED.write_text(text, encoding="utf-8")
    if args.recall:
        recalled(rows, fit)


if __name__ == "__main__":
    main()
