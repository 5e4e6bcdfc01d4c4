"""What follows a retrieval, in designs that ask for it (`associates`), and what was said (`promotion.every`); never on the
caller's time.

What was asked and what was used together is put on a list of bounded length by the caller, in no time. A slice of upkeep
(`due.py`) takes it from there: a question that found nothing is kept as a gap; memories that were of use together are tied
together, and may get the tag they have in common; after every fifty recalls the job `clusters` runs, if the design has one
(docs/why/0059-after-a-retrieval.md); and after every so many turns a session is read for what lasts, as at its end. Views of one
memory share the list and its slices, so each line says who asked: what follows is done under that access, whoever's slice it is.
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
from memorist.store.where import Order

if TYPE_CHECKING:
    from memorist.session.name import Name

LONGEST_TAKEN = 4000  # characters of a question
LISTED_AT_MOST = 256  # what is not taken from the list in time is given up, the oldest first
CLUSTERS = "clusters"  # the job that is run after so many recalls
RECALLS = 50
SESSIONS_COUNTED = 1000  # whose turns are counted; of more, those that came first are counted in the store again


@dataclass(frozen=True, slots=True)
class Consequence:
    """What follows from one retrieval, or from turns; None: nothing but that there was one. Under which design, and by whom."""

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
        """A question was answered, or not. One with a filter, or about the past, says nothing about what is missing."""
        plain = query.search == "memory" and not query.where and query.kinds is None and query.as_of is None
        whose = query.scope, query.user, query.session
        missed = Missed(query.text[:LONGEST_TAKEN], *whose, now) if plain and not answer else None
        self._list.append(Consequence(missed, design, who))

    def together(self, used: UsedTogether, design: Design, who: Access) -> None:
        self._list.append(Consequence(used, design, who))

    def said(self, turn: Record, every: int, design: Design, by: Caller) -> bool:
        """Something was said in a session; whether it is time to read what was. What others heard of it, its record knows."""
        from memorist.session.name import Name  # which only those who talk need

        talk = Name(str(turn.provenance.session), turn.scope, by.access.home or turn.scope)
        count = self._turns[talk] + 1 if talk in self._turns else _unread(talk, turn, by)
        self._turns[talk] = count if count < every else 0
        if len(self._turns) > SESSIONS_COUNTED:
            self._turns.pop(next(iter(self._turns)), None)
        if count >= every and all(line.what != talk for line in tuple(self._list)):  # one reading is for all turns
            self._list.append(Consequence(talk, design, by.access))
        return count >= every

    def catch_up(self, by: Caller, stop: Callable[[], bool] = lambda: False) -> tuple[Job, ...]:
        """Does what is on the list, each line for whom it stands there, and leaves the rest of it when it has to stop. → the jobs
        that are due by it"""
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
    """Keeps what lasts of what was said so far, unless the session ended meanwhile, which did the same. It is read for whoever
    opened the session: who spoke last may be trusted less, or more, than the others."""
    from memorist.session import close

    record = _open_record(talk, by)
    if record is not None:
        opener = replace(by.access, origin=record.origin, actor=record.provenance.actor)
        with by.tools.chat.rationed():
            close.noted(record, by.through(opener), policy)


def _open_record(talk: "Name", by: Caller) -> Record | None:
    from memorist.session import name

    known = by.store.find(name.turns_where(talk, by, kind=name.KIND), Order("number"))
    record = next((record for record in known if name.of(record).home == talk.home), None)
    return record if record is not None and record.data.get("state") == name.OPEN else None


def _unread(talk: "Name", turn: Record, by: Caller) -> int:
    """How many turns there are up to this one that were not read yet. Of what is no open session nothing is read."""
    from memorist.session import close, name

    record = _open_record(talk, by)
    if record is None:
        return 0
    unread = name.turns_where(talk, by, turn.number).also("number", "gt", close.read_until(record))
    return sum(by.store.count(unread).values())
