"""BM25 as every store computes it: one pure function over a tiny view of an index.

SQLite's own bm25() cannot be used: its N counts every shelf in the file, and it visits every row that holds any word of
the question. Here a question is answered in two passes. First the rows of its rarest terms are read (common terms are
not: they cost most and tell least) and rows are grouped by which of these terms they hold. Then the best few hundred
rows are scored exactly, with all terms. Six rarest terms lose nothing in quality (docs/LOG.md); what is bounded here
keeps a question at a million memories from reading a million rows.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple, Protocol

K1, B = 1.2, 0.75
MOST_TERMS = 6  # rarest terms, read through the index
MOST_SCORED = 24  # rarest terms that take part in a row's score
MOST_ROWS = 20_000  # read for one term, newest first
ENOUGH_ROWS = 12_000  # further terms are not read once this many rows were
POOL = 120  # rows scored exactly
ROWS_OF_ONE = 5  # of these, rows of one record


class Index(Protocol):
    """What BM25 needs to know of an index. Rows are integers; a larger one is newer."""

    def rows_and_length(self) -> tuple[int, int]:
        """How many rows there are, and how many terms they hold together."""

    def frequency(self, term: str) -> int:
        """How many rows hold the term."""

    def holding(self, term: str, most: int) -> Sequence[int]:
        """The rows that hold it, newest first."""

    def record(self, row: int) -> int:
        """The record that the row belongs to."""

    def contents(self, rows: Sequence[int]) -> Mapping[int, str]:
        """The terms of those rows that pass the caller's filter, each after a blank."""


class Scored(NamedTuple):
    row: int
    score: float


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What the terms of a question weigh on some shelves. Counting how often they occur is dear, so it is done once; all
    that is scored with one yardstick is on one scale."""

    weights: Mapping[str, float] = field(default_factory=dict)  # of those that occur, the rarest first
    average: float = 1.0  # terms in a row
    ceiling: float = 0.0  # the score that no row can pass

    @property
    def whole(self) -> float:
        """What a score is to be divided by to say how much of the question a row covers: the middle between what all its
        words would give and what those would that occur at all. A chatty question is full of words that no row holds, and
        yet one word by chance is not all of it."""
        return math.sqrt(self.ceiling * sum(self.weights.values()) * (K1 + 1))

    def scores(self, rows: Mapping[int, str]) -> Iterator[Scored]:
        """Of each of these rows. Strings are searched as they are: to take them apart costs three times as much."""
        sought = [(f" {term} ", f" {term} {term} ", weight * (K1 + 1)) for term, weight in self.weights.items()]
        average = self.average
        for row, held in rows.items():
            norm = K1 * (1 - B + B * held.count(" ") / average)
            ended = held + " "
            score = 0.0
            for written, twice, weight in sought:
                if written in ended:
                    # A term beside itself shares a blank with itself: then each gets blanks of its own.
                    times = (ended.replace(" ", "  ") if twice in ended else ended).count(written)
                    score += weight * times / (times + norm)
            yield Scored(row, score)


@dataclass(frozen=True, slots=True)
class Found:
    """Records by their numbers with their scores, best first, and what these were measured with."""

    scores: Mapping[int, float] = field(default_factory=dict)
    yardstick: Yardstick = field(default_factory=Yardstick)


def rank(terms: Sequence[str], index: Index, want: int) -> tuple[list[Scored], Yardstick]:
    """The best rows for these terms with their scores, best first, and what they were measured with."""
    total, length = index.rows_and_length()
    frequency: dict[str, int] = {}
    for term in terms:
        frequency[term] = index.frequency(term)
    known = sorted((term for term in frequency if frequency[term]), key=lambda term: frequency[term])[:MOST_SCORED]
    weight = {term: idf(max(1, count), total) for term, count in frequency.items()}  # unknown counts as rare
    average = length / total if total else 1.0
    yardstick = Yardstick({term: weight[term] for term in known}, average, sum(weight.values()) * (K1 + 1))
    if not known:
        return [], yardstick
    pool, candidates = max(POOL, want), dict[int, str]()
    for most, enough in ((MOST_ROWS, ENOUGH_ROWS), (total, total * MOST_TERMS)):
        read: dict[str, Sequence[int]] = {}
        for term in known[:MOST_TERMS]:
            if any(read.values()) and sum(map(len, read.values())) + frequency[term] > enough:
                break
            read[term] = index.holding(term, most)
        rows, candidates = _few_each(_by_coverage(read, weight), index), {}
        while len(candidates) < pool and (batch := list(islice(rows, pool))):  # a filter may refuse many
            candidates.update(index.contents(batch))
        candidates = dict(islice(candidates.items(), pool))
        complete = len(read) == len(known) and all(frequency[term] <= most for term in read)
        if complete or len(candidates) >= pool:  # else a filter left few of them, and now every row counts
            break
    scored = list(yardstick.scores(candidates))
    scored.sort(key=lambda each: (-each.score, -each.row))
    return scored[:want], yardstick


def scores(yardstick: Yardstick, index: Index, rows: Mapping[int, str]) -> dict[int, float]:
    """The score of the best of each record's rows, given with their terms."""
    best: dict[int, float] = {}
    for row, score in yardstick.scores(rows):
        record = index.record(row)
        if score > best.get(record, 0.0):
            best[record] = score
    return best


def idf(frequency: int, total: int) -> float:
    """How much a term tells. Never zero: a word found in every row still tells a little."""
    return math.log(1 + (total - frequency + 0.5) / (frequency + 0.5)) if total >= frequency else 0.1


def _by_coverage(read: Mapping[str, Sequence[int]], weight: Mapping[str, float]) -> Iterable[int]:
    """Rows in the order of how much of the question they cover, the newest first among equals.

    Most rows hold one of the terms only; they come from the index in order and are never sorted or even looked at
    unless they are needed.
    """
    several = _of_several(list(read.values()))
    groups: dict[int, list[int]] = {}
    for row, mask in several.items():
        groups.setdefault(mask, []).append(row)
    values = [weight[term] for term in read]
    singles = {1 << bit: rows for bit, rows in enumerate(read.values())}
    worth = {mask: sum(v for bit, v in enumerate(values) if mask >> bit & 1) for mask in (*groups, *singles)}
    for mask in sorted(worth, key=lambda mask: (-worth[mask], mask)):
        if mask in singles:
            yield from (row for row in singles[mask] if row not in several)
        else:
            yield from sorted(groups[mask], reverse=True)


def _of_several(held: Sequence[Sequence[int]]) -> dict[int, int]:
    """The rows that hold several of the terms, and which: a bit for each term."""
    seen: set[int] = set()
    several: set[int] = set()
    for rows in held:  # the last is the longest: it is never made a set
        several.update(seen.intersection(rows))
        if rows is not held[-1]:
            seen.update(rows)
    masks = dict.fromkeys(several, 0)
    for bit, rows in enumerate(held):
        for row in several.intersection(rows):
            masks[row] |= 1 << bit
    return masks


def _few_each(rows: Iterable[int], index: Index) -> Iterator[int]:
    """A long text that is full of a word must not crowd out the others."""
    taken: dict[int, int] = {}
    record_of = index.record
    for row in rows:
        record = record_of(row)
        times = taken[record] = taken.get(record, 0) + 1
        if times <= ROWS_OF_ONE:
            yield row
