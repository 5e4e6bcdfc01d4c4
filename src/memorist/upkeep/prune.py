"""Pruning by size: when the active memories take more room than allowed, the least worth go to the archive.

What is measured are the bytes that *active memories* take, not the size of the file: archiving moves nothing out of the file,
so a limit on the file would be exceeded for ever and archive a little more every night. Measured this way one run comes
below the limit, and the next has nothing to do. What the guard of all rules holds (`guard.py`) stays, even if that is too much.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import ClassVar

from memorist import remember
from memorist.access import Access
from memorist.design import Clock, Proposal, Tools
from memorist.kinds import KINDS, MEMORY
from memorist.records import Record
from memorist.store.nouns import Brief, footprint
from memorist.store.where import Where
from memorist.upkeep.guard import free, loose, refuse_guarded
from memorist.worth import faded, reinforced, score

MEGABYTE = 1024 * 1024
BECAUSE = "pruned: the memories took more room than allowed, and this was among the least worth"


@dataclass(frozen=True, slots=True)
class Prune:
    """Archives the lowest `percent` by votes and recency, as often as it takes to come below `max_bytes`."""

    max_bytes: int = 100 * MEGABYTE
    percent: float = 1.0
    reinforce: float = 3.0
    demote: float = 1.0
    name: ClassVar[str] = "prune"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        total, count = 0, 0
        for brief in self._briefs(who, tools):
            total, count = total + brief.bytes, count + 1
        chosen, left = self._lowest(total, count, who, tools) if total > self.max_bytes else ([], total)
        advice = f"the memories take {total / MEGABYTE:.1f} MB of {self.max_bytes / MEGABYTE:.1f} MB"
        if left > self.max_bytes:
            advice += "; what is pinned, global or younger than a day is never pruned, and alone takes too much"
        return Proposal("forgotten", partial(_pruned, now=tools.clock), BECAUSE, chosen, advice)

    def _lowest(self, total: int, count: int, who: Access, tools: Tools) -> tuple[list[str], int]:
        """The least worth, in steps of so many percent, until what remains fits; and how much remains."""
        step = max(1, int(count * self.percent / 100))
        most = (total - self.max_bytes) // footprint(0) + step
        now = tools.clock()
        found = loose(self._briefs(who, tools), now)
        lowest = heapq.nsmallest(most, found, key=lambda brief: (self._worth(brief, now), brief.number))
        chosen: list[str] = []
        for brief in free(lowest, who, tools):
            if total <= self.max_bytes and len(chosen) % step == 0:
                break
            chosen.append(brief.id)
            total -= brief.bytes
        return chosen, total

    def _worth(self, brief: Brief, now: datetime) -> float:
        return reinforced(score(brief.counters, self.reinforce, self.demote)) * faded(brief.since, now)

    @staticmethod
    def _briefs(who: Access, tools: Tools) -> Iterator[Brief]:
        where = Where(who).also("state", "eq", "active")
        for kind in KINDS.values():
            if kind.layer != MEMORY:  # what was said and what was read stay whole
                where = where.also("kind", "ne", kind.name)
        return tools.store.briefs(where)


def _pruned(record: Record, now: Clock) -> Record:
    refuse_guarded(record, now())
    return remember.many.archived(record, BECAUSE)
