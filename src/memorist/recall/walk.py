"""Walks over related memories: from a few of them along links, and through the tags, files and names that they share.

A link is one step. Two memories with the same tag are two steps apart: to the tag and back. Tags and names have no rows of
their own: the word index knows which memories hold them and how many do, so a label that many hold leads nowhere
(docs/why/0050-tags-and-names-are-edges.md). Each step passes on less, and a node with many neighbours passes less to each of
them, so the cost of a walk does not grow with the store.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from heapq import nlargest
from typing import NamedTuple

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
NAMES_READ = 2000  # characters of a text that are searched for names
LABELS_AT_MOST = 8  # tags, files and names of one memory that lead to others
WIDEST, LONGEST_PATH = 200, 6  # memories on the frontier of a path search, and its maximal steps
RELATED = 0.01  # the score from which a memory counts as related


@dataclass(frozen=True, slots=True)
class Manner:
    """How far a walk goes and what each kind of step is worth; a relation is worth its own weight."""

    depth: int = 2
    decay: float = 0.7  # factor of every step
    tags: float = 0.8  # factor towards the tag, and again back from it
    names: float = 0.3  # the same for files and names
    clusters: float = 0.6
    superseding: float = 0.9
    others: float = 0.3
    fan: int = 8  # the strongest links of one memory, which are followed
    rare: int = 40  # what more memories than this share is not used as a label

    def worth(self, kind: str, weight: float) -> float:
        fixed = {"relates_to": weight, "supersedes": self.superseding, "in_cluster": self.clusters}
        return fixed.get(kind, self.others)


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
    fades: bool = False
    tag: str | None = None  # that both memories must carry


def everybody(here: Record, there: Record) -> bool:
    return True


def of_one_standing(here: Record, there: Record) -> bool:
    """Vouched-for and unvouched memories pass nothing to each other, neither by a link nor by a tag."""
    return vouched_for(here) == vouched_for(there)


@dataclass(frozen=True, slots=True)
class Journey:
    """A walk over the memories that `where` lets through; labels lead only to memories on `shelves`."""

    manner: Manner
    where: Where
    shelves: Sequence[Shelf]
    now: datetime
    store: Store
    passes: Callable[[Record, Record], bool] = everybody
    known: dict[int, Reached] = field(default_factory=dict)

    def beginning(self, seeds: Iterable[tuple[Record, float]]) -> list[Reached]:
        """What is reached from these seeds, each with its score, best first; the seeds themselves are left out."""
        level = [Reached(record, score, ((f"from {_mark(record)}", score),)) for record, score in seeds]
        started = {each.record.number: each for each in level}
        labelled = list(self.by_labels(level)) if self.manner.depth > 1 else []
        for step in range(self.manner.depth):
            edges = [*self.by_links(level), *(labelled if step == 1 else ())]
            level = self._taken(edges, started)
        active = (each for each in self.known.values() if each.record.state == "active")
        return sorted(active, key=lambda each: (-each.score, -each.record.number))

    def by_links(self, level: Sequence[Reached]) -> Iterator[Edge]:
        here = {each.record.number: each for each in level}
        for tie in self.store.neighbours(list(here), self.where, self.manner.fan):
            factor = self.manner.worth(tie.kind, tie.weight) * self.manner.decay * shared_out(tie.degree)
            yield Edge(here[tie.here], tie.there, tie.kind, factor, fades=tie.kind == "relates_to")

    def by_labels(self, level: Sequence[Reached]) -> Iterator[Edge]:
        labels = [(each, label) for each in level for label in labels_of(each.record)]
        held = self._holding(label for _, label in labels)
        for here, label in labels:
            others = [number for number in held.get(label.term, ()) if number != here.record.number]
            weight = self.manner.tags if label.tag else self.manner.names
            factor = (weight * self.manner.decay) ** 2 * shared_out(len(others))
            yield from (Edge(here, number, label.name, factor, tag=label.tag) for number in others)

    def _holding(self, labels: Iterable["Label"]) -> Mapping[str, Sequence[int]]:
        terms = list(dict.fromkeys(label.term for label in labels))
        return self.store.sharing(terms, self.shelves, self.where, self.manner.rare) if terms else {}

    def _taken(self, edges: Iterable[Edge], started: Mapping[int, Reached]) -> list[Reached]:
        """The best memories that these edges lead to, if they gain by it; never back to a seed."""
        rising = sorted(edges, key=lambda edge: (_arriving(edge), edge.there))
        best = {edge.there: edge for edge in rising if edge.there not in started}
        chosen = nlargest(BEAM, best.values(), key=lambda edge: (_arriving(edge), edge.there))
        records = self.store.get([edge.there for edge in chosen], self.where)
        taken = [reached for record in records if (reached := self._reached(record, best[record.number]))]
        self.known.update({each.record.number: each for each in taken})
        return taken

    def _reached(self, record: Record, edge: Edge) -> Reached | None:
        here, had = edge.here, self.known.get(record.number)
        if not _bears(record, edge.tag) or not self.passes(here.record, record):
            return None
        factor = edge.factor * (bond(here.record, record, self.now) if edge.fades else 1.0)
        if factor <= 0 or (had is not None and had.score >= here.score * factor):
            return None
        return Reached(record, here.score * factor, (*here.way, (f"{edge.name} {_mark(record)}", factor)))


def _bears(record: Record, tag: str | None) -> bool:
    """Whether the record really has the tag by which it was found, not just the word."""
    return tag is None or tag in record.tags


def shared_out(degree: int) -> float:
    """The share of a weight that each of `degree` neighbours gets."""
    return min(1.0, math.sqrt(FAIR / degree)) if degree else 1.0


def _arriving(edge: Edge) -> float:
    return edge.here.score * edge.factor


def _mark(record: Record) -> str:
    return f"[id:{record.number}]"


# ---------------------------------------------------------------- labels


class Label(NamedTuple):
    """What two memories can share besides a link, and the index term that finds it."""

    name: str
    term: str
    tag: str | None = None


def labels_of(record: Record) -> list[Label]:
    """Its tags, its files, and the names and codes in its text. Derived the same way every time and never stored."""
    found = dict[str, Label]()
    names = [name for name in names_in(record.text[:NAMES_READ]) if not name.isdigit()]
    for sort, some in (("tag", record.tags), ("file", record.files), ("name", names)):
        for each in some[:LABELS_AT_MOST]:
            term = max(terms(each), key=len, default="")
            if term:
                found.setdefault(term, Label(f"{sort} {each}", term, each if sort == "tag" else None))
    return list(found.values())[:LABELS_AT_MOST]


# ---------------------------------------------------------------- what is asked for by name


def related(record: Record, limit: int, walk: Journey) -> list[Hit]:
    """The memories related to this one: those that somebody vouches for first, then by score."""
    reached = [each for each in walk.beginning([(record, 1.0)]) if each.score >= RELATED]
    first = sorted(reached, key=lambda each: not vouched_for(each.record))
    return [Hit(each.record, each.score, dict(each.way[1:])) for each in first[:limit]]


class Arrived(NamedTuple):
    """How a path search reached a memory: from which one, and by which step."""

    before: int | None
    name: str = ""
    weight: float = 1.0


Sides = tuple[dict[int, Arrived], dict[int, Arrived]]


def path(a: Record, b: Record, walk: Journey) -> list[Hit]:
    """The memories from `a` to `b`, each with the step that leads to it; empty if no short chain connects them. It searches
    from both ends, since a superseded memory only leads to the newer one."""
    sides: Sides = {a.number: Arrived(None)}, {b.number: Arrived(None)}
    edges = [[a.number], [b.number]]
    steps = 0
    while (met := next(filter(sides[1].__contains__, sides[0]), None)) is None and steps < LONGEST_PATH:
        side = min((0, 1), key=lambda side: len(edges[side]) or math.inf)
        edges[side] = _wider(edges[side], sides[side], walk)
        steps += 1
    return [] if met is None else _chain(met, sides, walk)


def _wider(edge: Sequence[int], side: dict[int, Arrived], walk: Journey) -> list[int]:
    """The memories one step further."""
    level = [Reached(record, 1.0, ()) for record in walk.store.get(list(edge), walk.where)]
    rising = sorted([*walk.by_links(level), *walk.by_labels(level)], key=lambda step: (step.factor, step.there))
    best = {step.there: step for step in rising if step.there not in side}
    chosen = {step.there: step for step in nlargest(WIDEST, best.values(), key=lambda step: step.factor)}
    records = walk.store.get(list(chosen), walk.where)
    new = [record.number for record in records if _bears(record, chosen[record.number].tag)]
    for number in new:
        step = chosen[number]
        side[number] = Arrived(step.here.record.number, step.name, step.factor)
    return new


def _chain(met: int, sides: Sides, walk: Journey) -> list[Hit]:
    steps, number = [(met, sides[0][met])], sides[0][met].before
    while number is not None:
        steps.insert(0, (number, sides[0][number]))
        number = sides[0][number].before
    before = sides[1][met]
    while before.before is not None:  # from the other end, each step leads the opposite way
        steps.append((before.before, before))
        before = sides[1][before.before]
    records = {record.number: record for record in walk.store.get([number for number, _ in steps], walk.where)}
    named = [(records[number], step) for number, step in steps]
    return [Hit(record, step.weight, {step.name: step.weight} if step.name else {}) for record, step in named]
