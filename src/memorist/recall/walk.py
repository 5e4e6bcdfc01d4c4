"""Walks over related memories: from a few of them along links, and through the tags, files and names that they share.

A link is one step. Two memories with the same tag are two steps apart: to the tag and back. Tags and names have no rows of
their own: the word index knows which memories hold them and how many do, so a label that many hold leads nowhere
(docs/why/0050-tags-and-names-are-edges.md). Each step passes on less, and a node with many neighbours passes less to each of
them, so the cost of a walk does not grow with the store.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from heapq import nlargest
from operator import attrgetter
from typing import NamedTuple

from memorist.design import bounded
from memorist.lazy import dataclass
from memorist.records import Hit, Record
from memorist.scoring import bond, vouched_for
from memorist.store.nouns import Shelf
from memorist.store.protocol import Store
from memorist.store.where import Where
from memorist.text.question import names_in
from memorist.text.words import terms

FAIR = 8  # up to so many neighbours each get a link's full weight; more of them share it
BEAM = 16  # the best memories of a step, from which a walk continues
SUPERSEDING, CLUSTERED = 0.9, 0.6  # the worth of such a link
RARE = 40  # what more memories than this share is not used as a label
NAMES_READ = 2000  # characters of a text that are searched for names
LABELS_AT_MOST = 8  # tags, files and names of one memory that lead to others
WIDEST, LONGEST_PATH = 200, 6  # memories on the frontier of a path search, and its maximal steps
PathStep = tuple[int, str, float]  # a memory, by what a path leads to it, and the weight of that
RELATED = 0.01  # the score from which a memory counts as related


@dataclass(frozen=True, slots=True)
class Manner:
    """How far a walk goes and what each kind of step is worth; a relation is worth its own weight."""

    depth: int = bounded(1, 4, 2)
    decay: float = 0.7  # factor of every step
    tags: float = 0.8  # factor towards the tag, and again back from it
    names: float = 0.3  # the same for files and names
    others: float = 0.3  # a link of a kind that has no worth of its own
    fan: int = bounded(1, 100, 8)  # the strongest links of one memory, which are followed


class Reached(NamedTuple):
    """A memory that a walk reached, its score, and the way there: factors by name, starting with the seed."""

    record: Record
    score: float
    way: tuple[tuple[str, float], ...]


class Edge(NamedTuple):
    """A step that a walk could take."""

    here: Reached
    there: int
    name: str
    factor: float
    tag: str | None = None  # that the other memory must have, and not just the tag's word

    @property
    def rank(self) -> tuple[float, int]:
        return self.here.score * self.factor, self.there

    def leads_to(self, record: Record) -> bool:
        return self.tag is None or self.tag in record.tags


@dataclass(frozen=True, slots=True)
class Journey:
    """A walk over the memories that `where` lets through; labels lead only to memories on `shelves`. With `apart`, verified and
    unverified memories pass nothing to each other, neither by a link nor by a tag."""

    manner: Manner
    where: Where
    shelves: Sequence[Shelf]
    now: datetime
    store: Store
    apart: bool = False

    def beginning(self, seeds: Iterable[tuple[Record, float]]) -> list[Reached]:
        """What is reached from these seeds, each with its score, best first; the seeds themselves are left out."""
        level = [Reached(record, score, ((f"from [id:{record.number}]", score),)) for record, score in seeds]
        seen, best = {each.record.number for each in level}, dict[int, Reached]()
        labelled = list(self.by_labels(level)) if self.manner.depth > 1 else []
        for step in range(self.manner.depth):
            rising = sorted([*self.by_links(level), *(labelled if step == 1 else ())], key=attrgetter("rank"))
            edges = {edge.there: edge for edge in rising if edge.there not in seen}  # the best one stays
            chosen, level = nlargest(BEAM, edges.values(), key=attrgetter("rank")), []
            for record in self.store.get([edge.there for edge in chosen], self.where):
                edge, before = edges[record.number], best.get(record.number)
                here = edge.here.record
                if not edge.leads_to(record) or (self.apart and vouched_for(here) != vouched_for(record)):
                    continue
                factor = edge.factor * (bond(here, record, self.now) if edge.name == "relates_to" else 1.0)
                score = edge.here.score * factor
                if factor > 0 and (before is None or before.score < score):
                    way = (*edge.here.way, (f"{edge.name} [id:{record.number}]", factor))
                    best[record.number] = Reached(record, score, way)
                    level.append(best[record.number])
        active = (each for each in best.values() if each.record.state == "active")
        return sorted(active, key=lambda each: (-each.score, -each.record.number))

    def by_links(self, level: Sequence[Reached]) -> Iterator[Edge]:
        here = {each.record.number: each for each in level}
        for tie in self.store.neighbours(list(here), self.where, self.manner.fan):
            fixed = {"relates_to": tie.weight, "supersedes": SUPERSEDING, "in_cluster": CLUSTERED}
            factor = fixed.get(tie.kind, self.manner.others) * self.manner.decay * shared_out(tie.degree)
            yield Edge(here[tie.here], tie.there, tie.kind, factor)

    def by_labels(self, level: Sequence[Reached]) -> Iterator[Edge]:
        labels = [(each, label) for each in level for label in labels_of(each.record)]
        words = list(dict.fromkeys(label.term for _, label in labels))
        holders = self.store.sharing(words, self.shelves, self.where, RARE) if words else {}
        for here, label in labels:
            others = [number for number in holders.get(label.term, ()) if number != here.record.number]
            weight = self.manner.tags if label.tag else self.manner.names
            factor = (weight * self.manner.decay) ** 2 * shared_out(len(others))
            yield from (Edge(here, number, label.name, factor, label.tag) for number in others)


def shared_out(degree: int) -> float:
    """The share of a weight that each of `degree` neighbours gets."""
    return min(1.0, math.sqrt(FAIR / degree)) if degree else 1.0


class Label(NamedTuple):
    """What two memories can share besides a link, and the index term that finds it."""

    name: str
    term: str
    tag: str | None = None


def labels_of(record: Record) -> list[Label]:
    """Its tags, its files, and the names and codes in its text. Derived the same way every time and never stored."""
    labels = dict[str, Label]()
    names = [name for name in names_in(record.text[:NAMES_READ]) if not name.isdigit()]
    for sort, some in (("tag", record.tags), ("file", record.files), ("name", names)):
        for each in some[:LABELS_AT_MOST]:
            if term := max(terms(each), key=len, default=""):
                labels.setdefault(term, Label(f"{sort} {each}", term, each if sort == "tag" else None))
    return list(labels.values())[:LABELS_AT_MOST]


def related(record: Record, limit: int, walk: Journey) -> list[Hit]:
    """The memories related to this one: verified ones first, then by score."""
    reached = [each for each in walk.beginning([(record, 1.0)]) if each.score >= RELATED]
    reached.sort(key=lambda each: not vouched_for(each.record))
    return [Hit(each.record, each.score, dict(each.way[1:])) for each in reached[:limit]]


def path(a: Record, b: Record, walk: Journey) -> list[Hit]:
    """The memories from `a` to `b`, each with the step that leads to it; empty if no short chain connects them. It searches
    from both ends, since a superseded memory only leads to the newer one."""
    # By number, the steps that lead from `a` up to a memory, and those that lead from it on to `b`.
    ahead: dict[int, tuple[PathStep, ...]] = {a.number: ((a.number, "", 1.0),)}
    behind: dict[int, tuple[PathStep, ...]] = {b.number: ()}
    frontiers, steps = [[a.number], [b.number]], 0
    while (met := next((number for number in ahead if number in behind), None)) is None:
        if steps == LONGEST_PATH:
            return []
        side, steps = min((0, 1), key=lambda side: len(frontiers[side]) or math.inf), steps + 1
        chains = behind if side else ahead
        level = [Reached(record, 1.0, ()) for record in walk.store.get(frontiers[side], walk.where)]
        rising = sorted([*walk.by_links(level), *walk.by_labels(level)], key=attrgetter("rank"))
        edges = {edge.there: edge for edge in rising if edge.there not in chains}
        chosen = [edge.there for edge in nlargest(WIDEST, edges.values(), key=attrgetter("factor"))]
        frontiers[side] = []
        for record in walk.store.get(chosen, walk.where):
            number, edge = record.number, edges[record.number]
            if edge.leads_to(record):
                frontiers[side].append(number)
                here = edge.here.record.number
                if side:  # from the other end, each step leads the opposite way
                    chains[number] = ((here, edge.name, edge.factor), *chains[here])
                else:
                    chains[number] = (*chains[here], (number, edge.name, edge.factor))
    chain = ahead[met] + behind[met]
    records = {record.number: record for record in walk.store.get([number for number, *_ in chain], walk.where)}
    return [Hit(records[number], weight, {name: weight} if name else {}) for number, name, weight in chain]
