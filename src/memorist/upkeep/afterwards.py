"""What follows a retrieval, in designs that ask for it (`associates`) and never on the caller's time.

What was asked and what was used together is put on a list of bounded length by the caller, in no time. A slice of upkeep
(`due.py`) takes it from there: a question that found nothing is kept as a gap; memories that were of use together are tied
together, and may get the tag they have in common; and after every fifty recalls the job `clusters` runs, if the design has one
(docs/why/0059-after-a-retrieval.md). Views of one memory share the list and its slices, so each line says who asked: what follows
is done under that access, whoever's slice it is.
"""

from collections import deque
from dataclasses import dataclass
from datetime import datetime

from memorist.access import Access
from memorist.design import Design, Job
from memorist.recall.pipeline import Query
from memorist.records import Recall
from memorist.remember import gaps, sharing, strengthen
from memorist.remember.changes import Caller
from memorist.remember.gaps import Missed
from memorist.remember.strengthen import UsedTogether

LONGEST_TAKEN = 4000  # characters of a question
LISTED_AT_MOST = 256  # what is not taken from the list in time is given up, the oldest first
CLUSTERS = "clusters"  # the job that is run after so many recalls
RECALLS = 50


@dataclass(frozen=True, slots=True)
class Consequence:
    """What follows from one retrieval; None: nothing but that there was one. Under which design it was made, and by whom."""

    what: Missed | UsedTogether | None
    design: Design
    who: Access


class Afterwards:
    """The list of one open memory."""

    def __init__(self) -> None:
        self._list: deque[Consequence] = deque(maxlen=LISTED_AT_MOST)
        self._recalls = 0

    def __bool__(self) -> bool:
        return bool(self._list)

    def asked(self, query: Query, answer: Recall, now: datetime, design: Design, who: Access) -> None:
        """A question was answered, or not. One with a filter, or about the past, says nothing about what is missing."""
        plain = query.search == "memory" and not query.where and query.kinds is None and query.as_of is None
        whose = query.scope, query.user, query.session
        missed = Missed(query.text[:LONGEST_TAKEN], *whose, now) if plain and not answer else None
        self._list.append(Consequence(missed, design, who))

    def together(self, used: UsedTogether, design: Design, who: Access) -> None:
        self._list.append(Consequence(used, design, who))

    def catch_up(self, by: Caller) -> tuple[Job, ...]:
        """Does what is on the list, each line for whom it stands there. → the jobs that are due by it"""
        due: tuple[Job, ...] = ()
        while self._list:
            line = self._list.popleft()
            self._recalls += not isinstance(line.what, UsedTogether)
            if self._recalls >= RECALLS:
                self._recalls, due = 0, tuple(job for job in line.design.upkeep if job.name == CLUSTERS)
            _follow(line.what, by.through(line.who))
        return due


def _follow(what: Missed | UsedTogether | None, by: Caller) -> None:
    if isinstance(what, Missed):
        gaps.keep(what, by)
    elif what is not None:
        strengthen.credit(what.receipt, what.ids, by, what.batch)
        if len(what.ids) > 1:
            sharing.infer(what.ids, by)
