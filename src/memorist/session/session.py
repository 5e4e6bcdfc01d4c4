"""A session: one conversation, for one writer at a time, whose turns are kept as they come.

Its record, of the kind `session`, says in which state it is; its turns lie on the turns shelf of its place, the project or a user,
in the order in which they came; its notes and findings lie in the scope `session/<id>`. What a session does to memories it does
by the verbs of the memory that it was opened in, so all of it is redacted, journalled and undone like any other write. A session
keeps nothing of its own between two calls but its name, its lease, what its window has read and what it was shown (`behind.py`):
two that are open at once share nothing.
"""

import atexit
import logging
import time
from collections.abc import Iterable, Mapping, MutableSet, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self
from weakref import WeakSet

from memorist import checks
from memorist.access import Access
from memorist.design import Design, Tools
from memorist.errors import Conflict, MemoristError, Refused
from memorist.models.chat import ChatPort
from memorist.noun import Noun
from memorist.prompt.context import Wish
from memorist.records import Context, Draft, Link, Moment, Outcome, Recall, Record, Report, Scope
from memorist.remember import gate
from memorist.remember.authority import least
from memorist.remember.changes import Caller, Changes
from memorist.remember.turns import MESSAGE, Uttered, call_of, key_of, role_of
from memorist.session import behind
from memorist.session import close as ending
from memorist.session.close import SHORT_WAIT
from memorist.session.cycle import Windowed
from memorist.session.lease import Lapsed, Lease
from memorist.session.name import CLOSED, KIND, OPEN, TURN, Name, mark, name_of, record_of, turns_of
from memorist.store.where import Order

log = logging.getLogger("memorist")
RECOVERING = 1.0  # seconds that opening a session spends on ending those that were left open


class Announcer(Protocol):
    """Tells those who listen what happened, if they may read all these places."""

    def emit(self, event: str, places: Sequence[tuple[str, str | None]], **facts: Any) -> None: ...


class Host(Protocol):
    """What a session asks of the memory that it was opened in."""

    design: Design
    access: Access
    home: Scope
    _held: "MutableSet[Session]"
    _behind: "dict[behind.Key, behind.Behind]"
    _tools: Tools
    bus: Announcer

    @property
    def _caller(self) -> Caller: ...
    def remember_many(self, many: Iterable[Draft | Mapping[str, Any] | str]) -> list[Outcome]: ...
    def context(
        self, query: str, *, session: str | None = ..., user: str | None = ..., agent: str | None = ...
    ) -> Context: ...
    def recall(self, query: str | None = ..., *, session: str | None = ..., user: str | None = ...) -> Recall: ...
    def _tell_all(self, report: Report) -> Report: ...
    def _tell(self, outcome: Outcome) -> Outcome: ...
    def _kept(self, draft: Draft, outcome: Outcome) -> Outcome: ...
    def _context(self, wish: Wish) -> Context: ...


@dataclass(frozen=True, slots=True, repr=False)
class Ingested(Noun):
    """What became of a conversation that was handed in: what of it was new, was known, or was left out and why."""

    session: str
    outcomes: tuple[Outcome, ...] = ()

    @property
    def added(self) -> int:
        return self._many("added") + self._many("restored")

    @property
    def repeated(self) -> int:
        return self._many("repeated")

    @property
    def batch(self) -> str | None:
        """For `undo`."""
        return next((outcome.batch for outcome in self.outcomes if outcome.batch), None)

    def __bool__(self) -> bool:
        """Whether nothing was refused."""
        return all(self.outcomes)

    def _many(self, what: str) -> int:
        return sum(outcome.outcome == what for outcome in self.outcomes)

    def _line(self) -> str:
        left = len(self.outcomes) - self.added - self.repeated
        more = f", {left:,} left out" if left else ""
        return f"session {self.session}: {self.added:,} added, {self.repeated:,} known already{more}"


@dataclass(frozen=True, slots=True)
class Parent:
    """What a fork begins with: the session it was forked from, and the number of the last turn there."""

    id: str
    last: int


class Session(Windowed, behind.Prefetched):
    """One open conversation. It ends with the `with` block, or with `close`."""

    def __init__(
        self, memory: Host, name: Name, agent: str | None, wait: float, busy: str, parent: Parent | None = None
    ) -> None:
        self._memory, self._name, self._parent = memory, name, parent
        self.agent = checks.optional_label(agent, "the agent")
        self._lease: Lease | None = None
        self._id, self._ended = "", False
        self._rests = False  # it was closed, and nothing was said in it since
        self._begin(wait, busy)

    def __repr__(self) -> str:
        return f"<Session {self.id} in {self._name.place}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        if problem[0] is None:
            self.close()
            return
        with suppress(MemoristError):  # what went wrong inside is what the caller has to hear of
            self.close(fast=True)

    @property
    def id(self) -> str:
        return self._name.id

    @property
    def record(self) -> Record:
        """Its record, as it is now."""
        by = self._memory._caller
        found = by.store.get([self._id], by.where.also("state", "eq", "active"))
        if not found:
            raise Conflict(f"session {self.id} was erased or forgotten meanwhile; open another")
        return found[0]

    # ------------------------------------------------------------ what is said

    def turn(
        self, role: str, text: str, *, id: str | None = None, at: Moment | None = None, speaker: str | None = None
    ) -> Outcome:
        """Keeps what was said. With an `id` of yours the same message is kept once."""
        told = {} if id is None else {MESSAGE: checks.label(id, "the id of a message")}
        return self._say(Uttered(role_of(role), text, told), id, at, speaker)

    def tool_call(self, name: str, input: Any = None, id: str | None = None) -> Outcome:
        """Keeps the call of a tool; its result names the same `id`."""
        return self._say(call_of(name, input, id))

    def tool_result(self, id: str | None, output: str) -> Outcome:
        """Keeps what the call with that `id` returned. It is a tool's word, through any door."""
        told = {} if id is None else {"result": checks.label(id, "the id of a call")}
        return self._say(Uttered("tool", output, told))

    def note(self, /, text: str, kind: str = "note", **draft: Any) -> Outcome:
        """Keeps a note in the session's own scope: for its agents, and until it ends, unless it is pinned or promoted."""
        common = {"scope": self._name.scope, "home": self._name.home, "session": self.id, "agent": self.agent}
        return self._keep(gate.draft_of({**common, "text": text, "kind": kind, **draft}))

    def turns(self, limit: int | None = None) -> list[Record]:
        """What was said, in the order in which it came; the last `limit` of it. What was said before a fork belongs to it."""
        most = None if limit is None else checks.whole(limit, "limit", 1, 1_000_000)
        return turns_of(self._name, self._memory._caller, most)

    def context(self, /, query: str, **more: Any) -> Context:
        """`Memory.context` for this session, its user and its agent."""
        return self._memory.context(query, **{"agent": self.agent, **self._whose(more), **more})

    def recall(self, /, query: str | None = None, **more: Any) -> Recall:
        """`Memory.recall` for this session and its user; without a `query`, what its last turns ask for."""
        return self._memory.recall(query, **{**self._whose(more), **more})

    def _whose(self, more: Mapping[str, Any]) -> dict[str, str]:
        user = {} if self._name.user is None or "scope" in more else {"user": self._name.user}
        return {"session": self.id, **user}

    def _say(
        self, said: Uttered, id: str | None = None, at: Moment | None = None, speaker: str | None = None
    ) -> Outcome:
        draft = Draft(
            said.text, TURN, self._name.place, data=said.data, session=self.id, role=said.role, agent=self.agent,
            at=at, speaker=speaker, key=None if id is None else key_of(self._name.key, id),
        )  # fmt: skip
        return self._keep(draft)

    def _keep(self, draft: Draft) -> Outcome:
        """The transaction asks whether the session is ours; before it that is asked only where it may have to be opened again."""
        if self._lease is None or self._ended or self._rests:
            self._hold()
        try:
            return self._admitted(draft)
        except Lapsed:
            self._hold()
            return self._admitted(draft)

    def _admitted(self, draft: Draft) -> Outcome:
        try:
            by = self._holder
        except Refused:  # memory is off, which this tells in its way
            return self._memory.remember_many([draft])[0]
        [outcome] = gate.admit([draft], by, self._memory.home, policy=self._memory.design.conflicts)
        if self._memory._behind:
            behind.heard(self._memory, self.id, [outcome.record])
        return self._memory._kept(draft, outcome)

    # ------------------------------------------------------------ its life

    def _begin(self, wait: float, busy: str) -> None:
        """Takes the lease and opens or resumes it. While memory is off nothing is kept, and every write says so."""
        try:
            by = self._memory._caller
        except Refused:
            return
        by.access.must_write(self._name.place, by.access.home_of(self._name.place))
        lease = Lease(self._name.job(by), f"session {self.id}", by)
        lease.take(wait, busy)
        try:
            self._id = self._opened(lease.holding(by))
        except BaseException:
            lease.give_back(over=not self._id)
            raise
        lease.concerns(self._id)
        self._lease = lease
        self._memory._held.add(self)
        _opened_here.add(self)
        self._recover(by)

    def _opened(self, by: Caller) -> str:
        """The id of its record: a new one, or that of before. What was closed in a hurry is ended first. What is closed stays so
        until something is said in it: to read it, or to fork it, changes nothing."""
        known = record_of(self._name, by)
        if known is None:
            known = self._memory.remember_many([self._draft(self._parent)])[0].record
        elif known.data.get("state") != OPEN:
            if known.data.get("state") != CLOSED:
                self._memory._tell_all(ending.end(known, by, self._memory.design.promotion))
            self._rests = True
        if known is None:
            raise Refused(f"session {self.id} could not be kept; `review` lists what waits for a person")
        return known.id

    def _draft(self, parent: Parent | None) -> Draft:
        data: dict[str, Any] = {"state": OPEN}
        data |= {} if self._name.place == self._name.home else {"project": self._name.home}
        data |= {} if parent is None else {"parent": parent.id, "fork": parent.last, "read": parent.last}
        whose = f" of {self.agent}" if self.agent else ""
        after = f", forked from {parent.id}" if parent else ""
        return Draft(
            f"Session {self.id}{whose}{after}", KIND, self._name.place, self.id, data=data, session=self.id,
            agent=self.agent,
        )  # fmt: skip

    def _recover(self, by: Caller) -> None:
        """Ends the sessions that were left open, a few at a time."""
        until = time.monotonic() + RECOVERING
        by = replace(by, tools=replace(by.tools, chat=ChatPort()))  # whoever opens a session does not wait for a model
        over = by.tools.over
        for report in ending.recover(by, self._memory.design.promotion, lambda: over() or time.monotonic() > until):
            self._memory._tell_all(report)

    def _hold(self) -> None:
        """Every write asks whether the session is still ours. One whose lease ran out, and that nobody took, is taken again."""
        if self._ended:
            raise Conflict(f"session {self.id} was closed; open it again with memory.session({self.id!r:.60})")
        if self._lease is None or not self._lease.hold():
            self._begin(SHORT_WAIT, "drop")
        if self._rests and self._lease is not None:
            mark(self._id, self._holder, "resumed", state=OPEN)
            self._rests = False

    @property
    def _holder(self) -> Caller:
        """Who writes it: only while the session is ours."""
        by = self._memory._caller
        return by if self._lease is None else self._lease.holding(by)

    def fork(self, id: str | None = None, agent: str | None = None) -> "Session":
        """Another session that begins with what was said and noted in this one; both go on by themselves. One that was closed
        stays closed."""
        if self._rests:
            self.leave()
        return forked(self._memory, self._name, id, agent or self.agent)

    def leave(self) -> None:
        """Lets others write it, and leaves it open. It is ended once nobody came back for fifteen minutes."""
        self._memory._held.discard(self)
        if self._lease is not None:
            self._lease.give_back(over=self._rests)

    def close(self, fast: bool = False) -> Report:
        """Ends it: what was found in it is kept, and promoted as the design says; a summary takes its place in the project.

        fast: whether only to keep the last findings as they are, in one transaction; the next session that is opened does the rest
        """
        self._memory._held.discard(self)
        try:
            by = self._memory._caller
        except Refused as off:
            return Report(CLOSED, advice=str(off))
        if self._lease is None or not self._lease.hold():
            return Report(CLOSED, advice=f"session {self.id} was ended or left before")
        if self._rests:
            self._lease.give_back(over=True)
            return Report(CLOSED, advice=f"session {self.id} was closed before, and nothing was said in it since")
        if not by.store.get([self._id], by.where.also("state", "eq", "active")):
            self._lease.give_back(over=True)
            return Report(CLOSED, advice=f"session {self.id} was erased or forgotten meanwhile")
        report = self._end(self._lease, by, fast)
        self._ended = True
        return self._memory._tell_all(report)

    def _end(self, lease: Lease, by: Caller, fast: bool) -> Report:
        policy = self._memory.design.promotion
        try:
            with by.writer.transaction() if fast else nullcontext():
                report = (ending.end_fast if fast else ending.end)(self.record, lease.holding(by), policy)
                lease.give_back(over=not fast)
        except ending.Unfinished:
            lease.give_back(over=False)
            raise
        return report


def forked(memory: Host, old: Name, id: str | None, agent: str | None) -> Session:
    """A fork of a session, which stays as it is, open or closed."""
    by = memory._caller
    said = turns_of(old, by, 1)
    name = name_of(id, None, old.place, by)
    if record_of(name, by) is not None:
        raise Conflict(f"there is a session {name.id} already; choose another id for the fork")
    parent = Parent(old.id, said[-1].number if said else 0)
    fork = Session(memory, replace(name, home=old.home), agent, SHORT_WAIT, "drop", parent)
    with by.writer.transaction():  # all of them, or none
        copy_notes(old, fork._name, by)
    return fork


_opened_here: WeakSet[Session] = WeakSet()  # by this process


@atexit.register
def _end_at_exit() -> None:
    """Ends in a hurry what a program leaves open when it ends. What a fork has from its parent is the parent's to end."""
    for session in tuple(_opened_here):
        if session in session._memory._held:
            try:
                session.close(fast=True)
            except Exception as problem:  # a program that ends must not fail for this; it is ended later
                log.info("session %s could not be ended at exit: %s", session.id, problem)


def copy_notes(old: Name, new: Name, by: Caller) -> None:
    """What was noted and found in one session, in another one as well. A copy was said where the first one was, and is trusted no
    more than that: so both may be promoted, and count once."""
    where = by.where.also("scope", "eq", old.scope).also("home", "eq", old.home).also("state", "eq", "active")
    for record in by.store.find(where, Order("number", ascending=True)):
        said = record.provenance
        draft = Draft(
            record.text, record.kind, new.scope, record.title, record.tags, record.files, record.data, record.importance,
            record.confidence, record.pinned, record.times.at, record.times.valid_from, record.times.valid_to,
            said.session, said.role, said.speaker, said.agent, said.task, record.season,
            doubtful=record.status == "candidate", messages=said.messages, snippet=said.snippet,
            confidence_because=said.confidence_because,
        )  # fmt: skip
        who = replace(by.access, home=new.home, origin=least(by.access.origin, record.origin))
        with by.writer.transaction():
            [copy] = gate.admit([draft], by.through(who), new.place)
            if copy.record is not None:
                _link(copy.record, record, by)


def _link(copy: Record, original: Record, by: Caller) -> None:
    """So that erasing the one takes the other along."""
    changes = Changes(by, by.now())
    changes.link(copy, Link(copy.id, original.id, "derived_from"), "copied by a fork")
    changes.commit()
