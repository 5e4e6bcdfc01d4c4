"""What follows a retrieval, in designs that ask for it (`associates`) and never on the caller's time.

What was asked and what was used together is put on a list of bounded length by the caller, in no time. A slice of upkeep
(`due.py`) takes it from there: a question that found nothing is kept as a gap; memories that were of use together are tied
together, and may get the tag they have in common; and after every fifty recalls the job `clusters` runs, if the design has one
(docs/why/0059-after-a-retrieval.md).
"""

from collections import deque
from datetime import datetime

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


class Afterwards:
    """The list of one open memory."""

    def __init__(self) -> None:
        self._list: deque[Missed | UsedTogether | None] = deque(maxlen=LISTED_AT_MOST)
        self._recalls = 0

    def __bool__(self) -> bool:
        return bool(self._list)

    def asked(self, query: Query, answer: Recall, now: datetime) -> None:
        """A question was answered, or not. One with a filter, or about the past, says nothing about what is missing."""
        plain = query.search == "memory" and not query.where and query.kinds is None and query.as_of is None
        whose = query.scope, query.user, query.session
        self._list.append(Missed(query.text[:LONGEST_TAKEN], *whose, now) if plain and not answer else None)

    def together(self, used: UsedTogether) -> None:
        self._list.append(used)

    def catch_up(self, design: Design, by: Caller) -> tuple[Job, ...]:
        """Does what is on the list. → the jobs that are due by it"""
        while self._list:
            line = self._list.popleft()
            if isinstance(line, Missed):
                gaps.keep(line, by)
            elif line is not None:
                strengthen.credit(line.receipt, line.ids, by, line.batch)
                if len(line.ids) > 1:
                    sharing.infer(line.ids, by)
            self._recalls += line is None or isinstance(line, Missed)
        if self._recalls < RECALLS:
            return ()
        self._recalls = 0
        return tuple(job for job in design.upkeep if job.name == CLUSTERS)
