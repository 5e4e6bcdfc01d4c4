"""Promotion by itself: where a design says `auto`, upkeep moves findings with enough points to their projects.

So what was found just before a window was closed is promoted when the store is next looked after.
"""

from dataclasses import dataclass
from typing import ClassVar

from memorist.access import Access
from memorist.design import Design, Job, Promotion, Proposal, Tools
from memorist.remember.promoting import proposal
from memorist.remember.promotion import weighed


@dataclass(frozen=True, slots=True)
class Promote:
    """Moves what has enough points; it enters its project as a candidate."""

    promotion: Promotion
    name: ClassVar[str] = "promote"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        return proposal(weighed(self.promotion, None, who, tools))


def jobs_of(design: Design) -> tuple[Job, ...]:
    """What keeps a design's store in order: first what it promotes by itself, then its jobs."""
    auto = (Promote(design.promotion),) if design.promotion.mode == "auto" else ()
    return (*auto, *design.upkeep)
