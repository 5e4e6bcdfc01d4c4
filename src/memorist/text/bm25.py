"""BM25 as every store computes it: one pure function over a tiny view of an index.

SQLite's own bm25() cannot be used: its N counts every shelf in the file, and it visits every row that holds any word of the
query. Here the rows of the six rarest terms are read and grouped by which of these terms they hold (leaving out the others
loses nothing, docs/LOG.md), and the best few hundred are scored exactly, with all terms. So a query at a million memories
reads no million rows.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import filterfalse, islice
from typing import Protocol

from memorist.lazy import dataclass

K1, B = 1.2, 0.75
MOST_TERMS = 6  # rarest terms, read through the index
MOST_SCORED = 24  # rarest terms that count in a row's score
MOST_ROWS = 20_000  # read for one term, newest first
ENOUGH_ROWS = 12_000  # once this many rows were read, no further terms are
POOL = 120  # rows scored exactly
MOST_NAMED = 2000  # rows whose records are named for scoring others; naming more costs more than it saves
ROWS_OF_ONE = 5  # of these, at most this many rows of one record


class Index(Protocol):
    """What BM25 needs to know about an index. Rows are integers; a larger one is newer."""

    of_one: int  # rows that a record can have: a row's number divided by this is its record's number

    def rows_and_length(self) -> tuple[int, int]:
        """How many rows there are, and how many terms they hold in total."""

    def frequency(self, term: str) -> int:
        """How many rows hold the term."""

    def holding(self, term: str, most: int) -> Sequence[int]:
        """The rows that hold it, newest first."""

    def contents(self, rows: Sequence[int]) -> Mapping[int, str]:
        """The terms of those rows that pass the caller's filter, each preceded by a blank."""


Scored = tuple[float, int]  # a score and its row: larger is better, and among equals the newest row


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What the terms of a query weigh on some shelves. Counting how often they occur is expensive, so it is done once;
    everything scored with one yardstick is on one scale."""

    weights: Mapping[str, float] = field(default_factory=dict)  # of terms that occur, rarest first
    average: float = 1.0  # terms in a row
    ceiling: float = 0.0  # the score that no row can exceed
    rows: int = 0  # on these shelves
    absent: tuple[str, ...] = ()  # terms that occur in no row
    holders: frozenset[int] | None = field(default=None, compare=False)  # all that hold one; None: too many to name

    @classmethod
    def of(cls, frequency: Mapping[str, int], rows: int, length: int) -> "Yardstick":
        """For terms with these frequencies, given the number of rows and their total length. A term that occurs nowhere counts
        as rare."""
        weight = {term: idf(max(1, count), rows) for term, count in frequency.items()}
        known = sorted([term for term in frequency if frequency[term]], key=frequency.__getitem__)[:MOST_SCORED]
        average = length / rows if rows else 1.0
        absent = tuple([term for term, count in frequency.items() if not count])
        return cls({term: weight[term] for term in known}, average, sum(weight.values()) * (K1 + 1), rows, absent)

    @property
    def whole(self) -> float:
        """The divisor that turns a score into the share of the query that a row covers: the middle between what all its words
        would score and what those that occur at all would. A chatty query is full of words that no row holds, and yet a single
        word by chance is not all of it."""
        return math.sqrt(self.ceiling * sum(self.weights.values()) * (K1 + 1))

    def scores(self, rows: Mapping[int, str]) -> list[Scored]:
        """The scores of these rows. The strings are searched directly, because splitting them costs three times as much."""
        sought = [(f" {term} ", f" {term} {term} ", weight * (K1 + 1)) for term, weight in self.weights.items()]
        scored, average = [], self.average
        for row, held in rows.items():
            norm = K1 * (1 - B + B * held.count(" ") / average)
            ended, score = held + " ", 0.0
            for written, twice, weight in sought:
                if written in ended:
                    # A term next to itself shares a blank with itself; then each gets blanks of its own.
                    times = (ended.replace(" ", "  ") if twice in ended else ended).count(written)
                    score += weight * times / (times + norm)
            scored.append((score, row))
        return scored


@dataclass(frozen=True, slots=True)
class Found:
    """Records by number with their scores, best first, and the yardstick used."""

    scores: Mapping[int, float] = field(default_factory=dict)
    yardstick: Yardstick = field(default_factory=Yardstick)


def rank(terms: Sequence[str], index: Index, want: int) -> tuple[list[Scored], Yardstick]:
    """The best rows for these terms with their scores, best first, and the yardstick used."""
    total, length = index.rows_and_length()
    frequency = {term: index.frequency(term) for term in terms}
    yardstick = Yardstick.of(frequency, total, length)
    known = list(yardstick.weights)
    pool, candidates, holders = max(POOL, want), dict[int, str](), None
    for most, enough in ((MOST_ROWS, ENOUGH_ROWS), (total, total * MOST_TERMS)) if known else ():
        read: dict[str, Sequence[int]] = {}
        for term in known[:MOST_TERMS]:  # the rarest, as long as they occur in few enough rows together
            if read and sum(map(len, read.values())) + frequency[term] > enough:
                break
            read[term] = index.holding(term, most)
        rows, candidates = _by_coverage(read, yardstick.weights, index), {}
        while len(candidates) < pool and (batch := list(islice(rows, pool))):  # a filter may exclude many
            candidates.update(index.contents(batch))
        complete = len(read) == len(known) and frequency[known[-1]] <= most
        if complete and sum(map(len, read.values())) <= MOST_NAMED:
            holders = frozenset([row // index.of_one for rows in read.values() for row in rows])
        if complete or len(candidates) >= pool:  # otherwise a filter left too few, and now every row counts
            break
    scored = yardstick.scores(dict(islice(candidates.items(), pool)))
    return sorted(scored, reverse=True)[:want], replace(yardstick, holders=holders)


def scores(yardstick: Yardstick, index: Index, rows: Mapping[int, str]) -> dict[int, float]:
    """The score of each record's best row, for rows given with their terms."""
    best: dict[int, float] = {}
    for score, row in yardstick.scores(rows):
        record = row // index.of_one
        if score > best.get(record, 0.0):
            best[record] = score
    return best


def idf(frequency: int, total: int) -> float:
    """How informative a term is. Never zero: even a word found in every row says a little."""
    return math.log(1 + (total - frequency + 0.5) / (frequency + 0.5)) if total >= frequency else 0.1


def _by_coverage(read: Mapping[str, Sequence[int]], weight: Mapping[str, float], index: Index) -> Iterator[int]:
    """Rows ordered by how much of the query they cover, newest first among equals, and few of one record: a long text that is
    full of a word must not crowd out the others.

    Most rows hold only one of the terms; they come from the index in order and are never sorted, or even examined, unless
    needed.
    """
    sets = [set(rows) for rows in list(read.values())[:-1]]
    sets.append(set[int]().union(*sets).intersection(list(read.values())[-1]))  # the longest is only iterated
    several = dict.fromkeys(
        {row for place, rows in enumerate(sets) for others in sets[:place] for row in rows & others}, 0
    )
    for bit, rows in enumerate(sets):  # the rows that hold several of the terms, and which: one bit per term
        for row in several.keys() & rows:
            several[row] |= 1 << bit
    groups: dict[int, list[int]] = {}
    for row, mask in several.items():
        groups.setdefault(mask, []).append(row)
    singles = {1 << bit: rows for bit, rows in enumerate(read.values())}
    values = {1 << bit: weight[term] for bit, term in enumerate(read)}
    worth = {mask: sum(values[bit] for bit in values if mask & bit) for mask in (*groups, *singles)}
    taken, of_one = dict[int, int](), index.of_one
    for mask in sorted(worth, key=lambda mask: (-worth[mask], mask)):
        for row in sorted(groups.get(mask, ()), reverse=True) or filterfalse(several.__contains__, singles[mask]):
            record = row // of_one
            times = taken[record] = taken.get(record, 0) + 1
            if times <= ROWS_OF_ONE:
                yield row
