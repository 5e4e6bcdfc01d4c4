"""What follows a retrieval, in designs that ask for it (`associates`), and what follows a number of turns
(`promotion.every`). The caller never waits for any of it.

The caller puts what was asked and what was used together on a bounded list, which takes almost no time. A slice of
upkeep (`due.py`) processes the list. A query that found nothing is kept as a gap. Memories that were useful together are
linked, and may get the tag they have in common. After every fifty recalls the job `clusters` runs, if the design has one
(docs/why/0059-after-a-retrieval.md). After every so many turns a session is read for lasting content, as at its end.
Views of one memory share the list and its slices, so each line records who asked, and is processed with that access.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from memorist.access import Access
from memorist.design import Design, Job, Promotion
from memorist.recall.pipeline import Query
from memorist.records import Recall, Record
from memorist.remember import gaps, sharing, strengthen
from memorist.remember.changes import Caller
from memorist.remember.gaps import Missed
from memorist.remember.strengthen import UsedTogether
from memorist.store.tally import rationed
from memorist.store.where import Order

if TYPE_CHECKING:
    from memorist.session.name import Name

LONGEST_TAKEN = 4000  # characters of a query
LISTED_AT_MOST = 256  # if the list is full, the oldest line is dropped
CLUSTERS = "clusters"  # the job that runs after so many recalls
RECALLS = 50
SESSIONS_COUNTED = 1000  # sessions whose turn counts are cached; beyond that, the oldest are counted in the store again


@dataclass(frozen=True, slots=True)
class Consequence:
    """What one retrieval or a number of turns leads to, under which design, and for whom. None: a retrieval without
    consequences, which is only counted."""

    what: "Missed | UsedTogether | Name | None"
    design: Design
    who: Access


class Afterwards:
    """The list of one open memory."""

    def __init__(self) -> None:
        self._list: deque[Consequence] = deque(maxlen=LISTED_AT_MOST)
        self._recalls = 0
        self._turns: dict[Name, int] = {}

    def __bool__(self) -> bool:
        return bool(self._list)

    def asked(self, query: Query, answer: Recall, now: datetime, design: Design, who: Access) -> None:
        """Notes a query and its answer. A query with a filter, or about the past, says nothing about what is missing."""
        plain = query.search == "memory" and not query.where and query.kinds is None and query.as_of is None
        whose = query.scope, query.user, query.session
        missed = Missed(query.text[:LONGEST_TAKEN], *whose, now) if plain and not answer else None
        self._list.append(Consequence(missed, design, who))

    def together(self, used: UsedTogether, design: Design, who: Access) -> None:
        self._list.append(Consequence(used, design, who))

    def said(self, turn: Record, every: int, design: Design, by: Caller) -> bool:
        """Counts a turn of a session; returns whether the session is due to be read. Its record knows how far other
        processes have read it."""
        from memorist.session.name import Name  # imported late: only conversations need it

        talk = Name(str(turn.provenance.session), turn.scope, by.access.home or turn.scope)
        count = self._turns[talk] + 1 if talk in self._turns else _unread(talk, turn, by)
        self._turns[talk] = count if count < every else 0
        if len(self._turns) > SESSIONS_COUNTED:
            self._turns.pop(next(iter(self._turns)), None)
        if count >= every and all(line.what != talk for line in tuple(self._list)):  # one reading covers all turns
            self._list.append(Consequence(talk, design, by.access))
        return count >= every

    def catch_up(self, by: Caller, stop: Callable[[], bool] = lambda: False) -> tuple[Job, ...]:
        """Processes the list, each line with the access it was noted under; stops early if told to and leaves the rest.
        Returns the jobs that became due."""
        due: tuple[Job, ...] = ()
        while self._list and not stop():
            line = self._list.popleft()
            self._recalls += line.what is None or isinstance(line.what, Missed)
            if self._recalls >= RECALLS:
                self._recalls, due = 0, tuple(job for job in line.design.upkeep if job.name == CLUSTERS)
            _follow(line.what, by.through(line.who), line.design.promotion)
        return due


def _follow(what: "Missed | UsedTogether | Name | None", by: Caller, policy: Promotion) -> None:
    if isinstance(what, Missed):
        gaps.keep(what, by)
    elif isinstance(what, UsedTogether):
        strengthen.credit(what.receipt, what.ids, by, what.batch)
        if len(what.ids) > 1:
            sharing.infer(what.ids, by)
    elif what is not None:
        _read(what, by, policy)


def _read(talk: "Name", by: Caller, policy: Promotion) -> None:
    """Keeps what lasts in the turns so far, unless the session has ended, which did the same. It reads with the rank of
    whoever opened the session, because the last speaker may be trusted less or more than the others."""
    from memorist.session import close

    record = _open_record(talk, by)
    if record is not None:
        opener = replace(by.access, origin=record.origin, actor=record.provenance.actor)
        with rationed(by.tools.chat):
            close.noted(record, by.through(opener), policy)


def _open_record(talk: "Name", by: Caller) -> Record | None:
    from memorist.session import name

    known = by.store.find(name.turns_where(talk, by, kind=name.KIND), Order("number"))
    record = next((record for record in known if name.of(record).home == talk.home), None)
    return record if record is not None and record.data.get("state") == name.OPEN else None


def _unread(talk: "Name", turn: Record, by: Caller) -> int:
    """The number of unread turns up to this one; 0 if the session is not open."""
    from memorist.session import close, name

    record = _open_record(talk, by)
    if record is None:
        return 0
    unread = name.turns_where(talk, by, turn.number).also("number", "gt", close.read_until(record))
    return sum(by.store.count(unread).values())
