"""Jobs that leave each thing said once: twins are merged, and a memory that another one contains goes to the archive.

Words and vectors say where to look (`survey.py`): the same words in any order, or a cosine of 0.7. Guards over the words
decide whether two memories say the same (`text/restated.py`). No cosine can decide that: near-misses, such as another number,
reach 0.9 as often as twins do. Nothing is merged across scopes, and a person's own words are never merged into an agent's.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

from memorist import remember
from memorist.access import Access
from memorist.design import Proposal, Tools, itself
from memorist.errors import Refused
from memorist.records import Record
from memorist.remember import merge
from memorist.store.nouns import parts
from memorist.store.protocol import Store
from memorist.store.where import Where
from memorist.text.restated import Likeness
from memorist.upkeep.retain import CANDIDATES_AT_MOST
from memorist.upkeep.survey import PAIRS_AT_ONCE, Overview, Survey, together

COMPARED_FROM = 0.7  # the lowest cosine of two that are compared; no twins in the corpus have a lower one
OF_ONE_WORDING = 8  # memories with the same words that are compared with the first of them
TWICE = "it was said in other words already"
EVIDENCE = "the same words, numbers and names, and nothing that turns one of them around"


class Comparison:
    """Compares all pairs once, when the first job asks, and gives the others the same result. Only the matches are kept."""

    def __init__(self, survey: Survey | None = None) -> None:
        self._survey = survey or Survey()
        self._found: list[Alike] | None = None

    def __call__(self, who: Access, tools: Tools) -> "list[Alike]":
        if self._found is None:
            pairs = together(_pairs(self._survey(who, tools)), who, tools)
            found = [alike for one, other, _ in pairs for alike in _judged(one, other, tools.store)]
            if tools.over():  # the next job looks at the rest
                return found
            self._found = found
        return self._found


@dataclass(frozen=True, slots=True)
class Alike:
    """Two memories of which `keep` says all that `other` says."""

    other: str
    keep: str
    how: Likeness  # "same", or "less": `keep` contains `other`


def _judged(first: Record, second: Record, store: Store) -> Iterator[Alike]:
    keep, other = sorted((first, second), key=merge.order)
    found: Likeness | None = merge.likeness(other, keep)
    if found == "more":  # then the longer one keeps the shorter
        other, keep, found = keep, other, merge.likeness(keep, other)
    elif found is None and merge.likeness(keep, other) == "less":
        other, keep, found = keep, other, "less"
    if found in ("same", "less") and not merge.told_apart(other, keep, store):
        yield Alike(other.id, keep.id, found)


@dataclass(frozen=True, slots=True)
class MergeTwins:
    """Merges memories of one place that say the same in other words into the one that is trusted most."""

    compared: Comparison | None = None
    name: ClassVar[str] = "merge_twins"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        into: dict[str, str] = {}
        kept: set[str] = set()
        for each in (self.compared or Comparison())(who, tools):
            if each.how == "same" and not {each.keep, each.other} & into.keys() and each.other not in kept:
                into[each.other] = each.keep
                kept.add(each.keep)

        def fill(other: Record, changes: Any) -> None:
            merge.merge(other, _still(into[other.id], who, tools), EVIDENCE, changes)

        return Proposal(merge.MERGED, itself, TWICE, list(islice(into, CANDIDATES_AT_MOST)), fill=fill)


@dataclass(frozen=True, slots=True)
class Redundancy:
    """Archives a memory that another one contains word for word."""

    compared: Comparison | None = None
    name: ClassVar[str] = "redundancy"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        into: dict[str, str] = {}
        found = [each for each in (self.compared or Comparison())(who, tools) if each.how == "less"]
        still = _active({id for each in found for id in (each.other, each.keep)}, who, tools)
        for each in found:
            if {each.other, each.keep} <= still and not {each.other, each.keep} & into.keys():
                into[each.other] = each.keep

        def archive(record: Record) -> Record:
            keep = _still(into[record.id], who, tools)
            if merge.likeness(record, keep) != "less":
                raise Refused(f"memory {record.number} says something else than memory {keep.number} by now")
            return remember.edit.archived(record, f"{merge.WITHIN}: [id:{keep.number}]")

        return Proposal("forgotten", archive, merge.WITHIN, list(islice(into, CANDIDATES_AT_MOST)))


def _pairs(seen: Overview) -> Iterator[tuple[int, int, float]]:
    """The pairs to compare, each once, by number: those with the same words first, then the neighbours."""
    by_words = {(group[0], other) for group in seen.of_one_wording() for other in group[1:OF_ONE_WORDING]}
    yield from ((a, b, 1.0) for a, b in sorted(by_words))
    yield from (pair for pair in seen.pairs(COMPARED_FROM) if pair[:2] not in by_words)


def _active(ids: Collection[str], who: Access, tools: Tools) -> set[str]:
    """Those that are still active, because they were not merged meanwhile."""
    where = Where(who).also("state", "eq", "active")
    return {record.id for some in parts(sorted(ids), PAIRS_AT_ONCE) for record in tools.store.get(list(some), where)}


def _still(id: str, who: Access, tools: Tools) -> Record:
    found = tools.store.get([id], Where(who).also("state", "eq", "active"))
    if not found:
        raise Refused("the memory that says the same is gone by now")
    return found[0]
