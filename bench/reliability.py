"""What a relevance means: of the hits that are given 0.7, how many matter?

Every hit of every question, with the cut off, is put into one of ten buckets by its relevance. Where it is a chance, the share
that matters is the mean relevance of the bucket; the calibration error is how far the two are apart, each bucket counting
by its hits. Notes, talk and documents are looked at apart, because they are weighed apart.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import notes, quality, sets
from bench.quality import HOW, UNCUT
from bench.report import table
from bench.speed import folder
from memorist import Hit, Memory

LIMIT = 10  # hits looked at
BUCKETS = 10
GROUPS = {"notes": ("notes",), "talk": ("locomo", "longmemeval"), "documents": ("cranfield",)}
ABOUT = (
    f"The first {LIMIT} hits of each question, with the cut off: hits · of these, in percent, those that matter · their mean"
    " relevance. Notes: all questions, also those that nothing answers; talk (LoCoMo, LongMemEval turns) and documents"
    " (Cranfield): those with an answer. *Calibration error*: how far share and mean are apart, by hits; *by score*: the same"
    " for the score, which also says what a memory is worth today."
)


@dataclass(frozen=True, slots=True)
class Judged:
    """One hit: what it was given, and whether it matters."""

    relevance: float
    score: float
    matters: bool


@dataclass(frozen=True, slots=True)
class Bucket:
    hits: int
    matter: float  # percent
    told: float  # mean, percent


def run(data: Path, embed: str | None) -> tuple[str, dict[str, Any]]:
    """The table of the groups whose sets are there, for people and as data."""
    there = sets.available(data)
    judged = {
        group: [hit for name in names if name in there for hit in _judged(name, data, embed)]
        for group, names in GROUPS.items()
    }
    found = {group: hits for group, hits in judged.items() if hits}
    return f"{ABOUT}\n\n{_table(found)}\n", {group: _as_data(hits) for group, hits in found.items()}


def _judged(name: str, data: Path, embed: str | None) -> Iterator[Judged]:
    return _of_notes(data, embed) if name == "notes" else _of_set(sets.load(name, data), embed)


def _of_notes(data: Path, embed: str | None) -> Iterator[Judged]:
    for shelf, kinds in notes.stores(data / sets.FILES["notes"]):
        with folder() as place, Memory(place / "notes.db", project="notes", embed=embed) as memory:
            filled = notes.Filled.of(memory, shelf, kinds)
            for question in shelf.questions:
                for hit in filled.hits(question, LIMIT, **HOW[UNCUT]):
                    yield _one(hit, filled.names.get(hit.id) in question.gold)


def _of_set(test: sets.TestSet, embed: str | None) -> Iterator[Judged]:
    with folder() as place:
        for shelf in test.shelves:
            filled = quality.fill(place / "quality.db", shelf, test.kind, embed)
            with filled.memory:
                for question in (quality.joined(each, filled.same) for each in shelf.questions if each.gold):
                    for hit in filled.hits(question, test, LIMIT, **HOW[UNCUT]):
                        yield _one(hit, filled.documents[hit.id] in question.gold)


def _one(hit: Hit, matters: bool) -> Judged:
    return Judged(notes.told(hit), hit.score, matters)


# ---------------------------------------------------------------- counting


def buckets(told: Sequence[tuple[float, bool]]) -> list[Bucket]:
    """Ten of the same width, from (relevance, does it matter)."""
    places: list[list[tuple[float, bool]]] = [[] for _ in range(BUCKETS)]
    for relevance, matters in told:
        places[min(int(relevance * BUCKETS), BUCKETS - 1)].append((relevance, matters))
    return [
        Bucket(len(some), _percent([matters for _, matters in some]), _percent([relevance for relevance, _ in some]))
        for some in places
    ]


def error(found: Sequence[Bucket]) -> float:
    """How far what was told and what matters are apart, in points."""
    return sum(each.hits * abs(each.matter - each.told) for each in found) / max(1, sum(each.hits for each in found))


def _percent(told: Sequence[float]) -> float:
    return 100 * sum(told) / max(1, len(told))


def _by_relevance(hits: Sequence[Judged]) -> list[Bucket]:
    return buckets([(hit.relevance, hit.matters) for hit in hits])


def _by_score(hits: Sequence[Judged]) -> list[Bucket]:
    return buckets([(hit.score, hit.matters) for hit in hits])


def _table(found: Mapping[str, Sequence[Judged]]) -> str:
    columns = [[_cell(bucket) for bucket in _by_relevance(hits)] for hits in found.values()]
    names = [f"{n / BUCKETS:.1f}–{(n + 1) / BUCKETS:.1f}" for n in range(BUCKETS)]
    rows = [[name, *cells] for name, *cells in zip(names, *columns, strict=True)]
    rows.append(["calibration error", *(f"{error(_by_relevance(hits)):.1f}" for hits in found.values())])
    rows.append(["by score", *(f"{error(_by_score(hits)):.1f}" for hits in found.values())])
    return table(["relevance", *found], rows)


def _cell(bucket: Bucket) -> str:
    return f"{bucket.hits:,} · {bucket.matter:.1f} · {bucket.told:.1f}" if bucket.hits else "–"


def _as_data(hits: Sequence[Judged]) -> dict[str, Any]:
    found = _by_relevance(hits)
    lines = [{"hits": each.hits, "matter": each.matter, "told": each.told} for each in found]
    return {"buckets": lines, "error": error(found), "error by score": error(_by_score(hits))}
