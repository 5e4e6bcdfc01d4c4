"""Whether links help where several turns are needed: the cascade and a personalised PageRank over names, beside neither.

    python -m tools.measure_association.pagerank [--half 1] [--data FOLDER]

Turns of LoCoMo have no links, so two of them are neighbours if they share a name that few hold. Every way begins from the same
answers of `balanced`. What counts is the paired difference in all@10, with its interval: a way is worth having if the interval
of the questions for several turns is above zero, that of the others together is not below −0.5, and none is wholly below zero.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from bench import sets
from bench.__main__ import DATA
from bench.measures import ahead, measured
from bench.quality import Filled, fill, joined
from bench.report import table
from bench.speed import folder
from memorist.designs import BALANCED
from memorist.recall.stages.cascade import Cascade
from memorist.recall.walk import labels_of
from tools.measure_association.graph import cascading

LIMIT = 50
RARE = 40
DAMPING, ROUNDS = 0.5, 20
SHARES = (0.1, 0.3, 1.0)  # of the best score, what the rank adds at most
COUNTED = "all@10"
SEVERAL = "multi-hop"
Row = dict[str, float]


def ranks(
    neighbours: Sequence[Sequence[int]], start: Mapping[int, float]
) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """How much of a walk from these, which begins again half of the time, is where."""
    degree = np.array([max(1, len(some)) for some in neighbours])
    here = np.repeat(np.arange(len(neighbours)), [len(some) for some in neighbours])
    there = np.array([number for some in neighbours for number in some], dtype=np.int64)
    begun = np.zeros(len(neighbours))
    begun[list(start)] = list(start.values())
    begun /= begun.sum() or 1.0
    rank = begun
    for _ in range(ROUNDS):
        handed = np.bincount(there, (rank / degree)[here], minlength=len(neighbours)) if len(there) else 0 * rank
        rank = (1 - DAMPING) * begun + DAMPING * handed
    return rank


def graph(filled: Filled) -> tuple[list[str], list[list[int]]]:
    """The records of a conversation, and for each the places of those that share a rare name with it."""
    records = [filled.memory.get(id) for id in filled.documents]
    holders: dict[str, list[int]] = {}
    for place, record in enumerate(records):
        for label in labels_of(record):
            holders.setdefault(label.term, []).append(place)
    beside: list[set[int]] = [set() for _ in records]
    for some in holders.values():
        for place in some if len(some) <= RARE else ():
            beside[place].update(other for other in some if other != place)
    return [record.id for record in records], [sorted(some) for some in beside]


def answered(filled: Filled, test: sets.TestSet) -> Iterator[tuple[str, dict[str, Row]]]:
    """Each question's category, and what every way makes of it."""
    ids, beside = graph(filled)
    places = {id: place for place, id in enumerate(ids)}
    for asked in filled.shelf.questions:
        question = joined(asked, filled.same)
        if not question.answerable:
            continue
        rankings: dict[str, list[str]] = {}
        for name, design in DESIGNS.items():
            filled.memory.design = design
            hits = filled.hits(question, test, LIMIT, min_relevance=0.0)
            rankings[name] = [hit.record.id for hit in hits]
            if name == "balanced":
                base = {places[hit.record.id]: hit.score for hit in hits}
        rank = ranks(beside, base)
        for share in SHARES:
            scaled = rank / (rank.max() or 1.0) * share * max(base.values(), default=0.0)
            order = np.argsort(-(scaled + np.array([base.get(place, 0.0) for place in range(len(ids))])), kind="stable")
            rankings[f"PageRank, share {share:g}"] = [ids[place] for place in order[:LIMIT]]
        shown = {way: [filled.documents[id] for id in some] for way, some in rankings.items()}
        yield question.category, {way: measured(some, question.gold) for way, some in shown.items()}


DESIGNS = {
    "balanced": BALANCED,
    "cascade, names 0.3": cascading(BALANCED, Cascade()),
    "cascade, names 1": cascading(BALANCED, Cascade(names=1.0)),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.measure_association.pagerank")
    parser.add_argument("--half", type=int, choices=(1, 2))
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    test = sets.half(sets.load("locomo", options.data), options.half)
    found: list[tuple[str, dict[str, Row]]] = []
    with folder() as place:
        for shelf in test.shelves:
            filled = fill(place / "links.db", shelf, test.kind)
            with filled.memory:
                found += answered(filled, test)
            sys.stdout.write(f"{shelf.name}: {len(found)} questions so far\n")
            sys.stdout.flush()
    categories = sorted({category for category, _ in found})
    groups = {name: [name] for name in categories} | {"others": [name for name in categories if name != SEVERAL]}
    rows = []
    for way in list(found[0][1])[1:]:
        cells = []
        for some in groups.values():
            pairs = [each for category, each in found if category in some]
            cells.append(str(ahead([each[way] for each in pairs], [each["balanced"] for each in pairs], COUNTED)))
        rows.append((way, *cells))
    sys.stdout.write(table(("way", *(f"{name}, {COUNTED}" for name in groups)), rows) + "\n")


if __name__ == "__main__":
    main()
