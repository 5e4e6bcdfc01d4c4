"""Jobs that leave each thing said once: twins are merged, and what is wholly in another memory goes to the archive.

Where to look is told by words and by vectors (`survey.py`): the same words in any order, or a cosine of 0.7. Whether two say the
same is told by guards over their words (`text/restated.py`): near-misses, such as another number, have a cosine of 0.9 as often as
twins do, so no cosine decides anything. Never across scopes, and never a person's own words by an agent's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

from memorist import remember
from memorist.access import Access
from memorist.design import Proposal, Tools
from memorist.errors import Refused
from memorist.records import Record
from memorist.remember import merge
from memorist.store.nouns import parts
from memorist.store.where import Where
from memorist.upkeep.retain import CANDIDATES_AT_MOST
from memorist.upkeep.survey import Overview, Survey, read

COMPARED_FROM = 0.7  # the least cosine of two that are compared; of all twins of the corpus none has less
COMPARED_AT_ONCE = 400  # pairs whose records are read together
OF_ONE_WORDING = 8  # memories with the same words that are compared with the first of them
TWICE = "it was said in other words already"
EVIDENCE = "the same words, numbers and names, and nothing that turns one of them around"


@dataclass(frozen=True, slots=True)
class MergeTwins:
    """Merges memories of one place that say the same in other words, into the one that is trusted most."""

    survey: Survey | None = None
    name: ClassVar[str] = "merge_twins"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        into: dict[str, str] = {}
        for first, second in _pairs((self.survey or Survey())(who, tools), who, tools):
            keep, other = sorted((first, second), key=merge.order)
            free = not {keep.id, other.id} & into.keys() and other.id not in into.values()
            if free and merge.likeness(other, keep) == "same" and not merge.told_apart(other, keep, tools.store):
                into[other.id] = keep.id

        def fill(other: Record, changes: Any) -> None:
            merge.merge(other, _still(into[other.id], who, tools), EVIDENCE, changes)

        return Proposal(merge.MERGED, _itself, TWICE, list(islice(into, CANDIDATES_AT_MOST)), fill=fill)


@dataclass(frozen=True, slots=True)
class Redundancy:
    """Archives a memory that another one says to the letter before it goes on."""

    survey: Survey | None = None
    name: ClassVar[str] = "redundancy"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        into: dict[str, str] = {}
        for first, second in _pairs((self.survey or Survey())(who, tools), who, tools):
            for other, keep in ((first, second), (second, first)):
                free = other.id not in into and keep.id not in into
                if free and merge.likeness(other, keep) == "less" and not merge.told_apart(other, keep, tools.store):
                    into[other.id] = keep.id

        def archive(record: Record) -> Record:
            keep = _still(into[record.id], who, tools)
            if merge.likeness(record, keep) != "less":
                raise Refused(f"memory {record.number} says something else than memory {keep.number} by now")
            return remember.edit.archived(record, f"{merge.WITHIN}: [id:{keep.number}]")

        return Proposal("forgotten", archive, merge.WITHIN, list(islice(into, CANDIDATES_AT_MOST)))


def _pairs(seen: Overview, who: Access, tools: Tools) -> Iterator[tuple[Record, Record]]:
    """The pairs to compare, each once: those with the same words first, then the neighbours."""
    known: set[tuple[int, int]] = set()
    for some in _portions(seen, known):
        records = read(list({number for pair in some for number in pair}), who, tools)
        yield from ((records[a], records[b]) for a, b in some if a in records and b in records)
        if tools.over():
            return


def _portions(seen: Overview, known: set[tuple[int, int]]) -> Iterator[Sequence[tuple[int, int]]]:
    """Numbers of two memories, some hundred pairs at a time; what was given is known."""
    by_words = ((group[0], other) for group in seen.of_one_wording() for other in group[1:OF_ONE_WORDING])
    yield from parts(list(by_words), COMPARED_AT_ONCE)
    waiting: list[tuple[int, int]] = []
    for a, b, _ in seen.pairs(COMPARED_FROM):
        waiting.append((a, b))
        if len(waiting) == COMPARED_AT_ONCE:
            yield waiting
            waiting = []
    yield waiting


def _still(id: str, who: Access, tools: Tools) -> Record:
    found = tools.store.get([id], Where(who).also("state", "eq", "active"))
    if not found:
        raise Refused("the memory that says the same is gone by now")
    return found[0]


def _itself(record: Record) -> Record:
    return record
