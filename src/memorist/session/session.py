"""A session: one conversation, with one writer at a time, whose turns are stored as they come.

Its record, of kind `session`, says which state it is in. Its turns are on the turns shelf of its place, the project or
a user, in order of arrival. Its notes and findings are in the scope `session/<id>`. It changes memories through the
verbs of the memory that it was opened in, so all of it is redacted, journalled and undone like any other write. Between
two calls a session keeps nothing of its own but its name, its lease, what its window has read and what it was shown
(`behind.py`). Two sessions that are open at once share nothing.
"""

import atexit
import logging
import time
from collections.abc import Iterable, Mapping, MutableSet, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Protocol, Self, get_args
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
from memorist.session import behind, compaction
from memorist.session import close as ending
from memorist.session.close import SHORT_WAIT
from memorist.session.cycle import LEAST_SUMMARY, Cycle, Reason, trim_of
from memorist.session.lease import Lapsed, Lease
from memorist.session.name import CLOSED, KIND, OPEN, TURN, Name, mark, name_of, record_of, turns_of
from memorist.session.window import COMPACT, FLUSH, REJECT, RESULTS, Window, bounds
from memorist.store.where import Order

log = logging.getLogger("memorist")
_beginning = Lock()
RECOVERING = 1.0  # seconds that opening a session spends on ending others left open


class Announcer(Protocol):
    """The bus: tells listeners that may read all these places what happened."""

    def emit(self, event: str, places: Sequence[tuple[str, str | None]], **facts: Any) -> None: ...


class Host(Protocol):
    """What a session needs from the memory that it was opened in."""

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
    """What became of an imported conversation: what was new, what was known, and what was left out and why."""

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
        """The batch, for `undo`."""
        return next((outcome.batch for outcome in self.outcomes if outcome.batch), None)

    def __bool__(self) -> bool:
        """False if anything was refused."""
        return all(self.outcomes)

    def _many(self, what: str) -> int:
        return sum(outcome.outcome == what for outcome in self.outcomes)

    def _line(self) -> str:
        left = len(self.outcomes) - self.added - self.repeated
        more = f", {left:,} left out" if left else ""
        return f"session {self.session}: {self.added:,} added, {self.repeated:,} known already{more}"


@dataclass(frozen=True, slots=True)
class Parent:
    """What a fork starts from: the session it was forked from, and the number of the last turn there."""

    id: str
    last: int


class Session:
    """One open conversation. It ends with the `with` block, or with `close`."""

    def __init__(
        self, memory: Host, name: Name, agent: str | None, wait: float, busy: str, parent: Parent | None = None
    ) -> None:
        self._memory, self._name, self._parent = memory, name, parent
        self.agent = checks.optional_label(agent, "the agent")
        self._lease: Lease | None = None
        self._id, self._ended = "", False
        self._rests = False  # closed, with nothing said since
        self._cycle: Cycle | None = None
        self._begin(wait, busy)

    def __repr__(self) -> str:
        return f"<Session {self.id} in {self._name.place}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        if problem[0] is None:
            self.close()
            return
        with suppress(MemoristError):  # the error inside the block is the one the caller must see
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
        """Stores a turn. The transaction checks that the session is ours; it is checked earlier only if the session may
        have to be opened again."""
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
        except Refused:  # memory is off; remember_many reports that
            return self._memory.remember_many([draft])[0]
        [outcome] = gate.admit([draft], by, self._memory.home, policy=self._memory.design.conflicts)
        if self._memory._behind:
            behind.heard(self._memory, self.id, [outcome.record])
        return self._memory._kept(draft, outcome)

    # ------------------------------------------------------------ what a model is shown of it

    def prefetch(self, context: str | None = None, *, budget: int | None = None) -> bool:
        """Has looked up what matters for what is being talked about, and returns at once; `ready` has it in the next turn. False
        if there was no room for it, or memory is off.

        context: what is being talked about, such as the last messages; the last turns of the session without it
        budget: tokens at most, as in `context`
        """
        return behind.prefetch(self._memory, self._name, context, budget)

    def ready(self) -> Context:
        """What the last `prefetch` found, once: nothing that was shown in the last 45 minutes, and nothing that was said in this
        session. If it is empty, it says why. `topic_changed` tells whether the talk went on to something else."""
        return behind.ready(self._memory, self._name)

    def window(
        self,
        limit: int,
        *,
        query: str | None = None,
        system: str | None = None,
        flush: float = FLUSH,
        compact: float = COMPACT,
        reject: float = REJECT,
        keep: int = compaction.KEEP,
        results: int = RESULTS,
        raw: int | None = None,
        preserve: int | None = None,
        dry_run: bool = False,
    ) -> Window:
        """What to show a model now, in no more than `limit` tokens: `messages` are ready to be sent. Where it grew too large,
        the older turns are summarised first; it is false if that did not help.

        query: what memories are wanted for; none without it · system: what stands before everything
        flush, compact, reject: from where on what lasts should be noted, older turns are summarised, and the window is refused:
            tokens such as 100_000, a distance from the limit such as -4000, or a share of it such as 0.85
        keep: turns that stay when the older ones are summarised, the last ones
        results: of tools that are shown whole, the last ones
        raw: turns that may stand as they are, for a summary that rolls along; as many as fit without it
        preserve: tokens for older turns that were marked as important · dry_run: whether nothing is summarised, only told
        """
        edges = bounds(limit, flush, compact, reject)
        most = min(compaction.MOST, max(LEAST_SUMMARY, edges.limit // 10))
        trim = trim_of(keep, results, raw, edges.limit // 20 if preserve is None else preserve, most)
        writes = not checks.flag(dry_run, "dry_run")
        return self._rounds.window(edges, trim, system, query, writes)

    def compact(self, keep: int = compaction.KEEP, preserve: int = compaction.PRESERVED) -> Outcome:
        """Summarises all but the last `keep` turns. The turns stay as they are; the window shows the summary in their place,
        and beside it those that were marked as important, in up to `preserve` tokens. Undo the outcome's batch to see the
        turns again. Before that, what lasts is noted, unless `flush` was called since the last time."""
        return self._rounds.compact_all(trim_of(keep, RESULTS, None, preserve))

    def flush(self, reply: str | None = None, reason: Reason = "manual") -> list[Outcome]:
        """Notes what lasts, before the turns that say it are summarised: what a model replied to the `ask` of a window, line by
        line for its sections; without a reply, what rules or the model of `chat` find in the turns since then. It adds and never
        replaces. With the reason `topic_change` it waits for a fourth turn."""
        checks.one_of(reason, "the reason of a flush", get_args(Reason))
        return self._rounds.flush(None if reply is None else checks.text(reply, "the reply"), reason)

    @property
    def _rounds(self) -> Cycle:
        with _beginning:
            if self._cycle is None:
                self._cycle = Cycle(self)
            return self._cycle

    # ------------------------------------------------------------ its life

    def _begin(self, wait: float, busy: str) -> None:
        """Takes the lease, and opens or resumes the session. While memory is off nothing is stored, and every write says so."""
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
        """The id of its record, new or from before. A session that was closed fast is ended first. A closed one stays
        closed until something is said in it: reading or forking it changes nothing."""
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
        """Ends sessions that were left open, for a limited time."""
        until = time.monotonic() + RECOVERING
        by = replace(by, tools=replace(by.tools, chat=ChatPort()))  # opening a session must not wait for a model
        over = by.tools.over
        for report in ending.recover(by, self._memory.design.promotion, lambda: over() or time.monotonic() > until):
            self._memory._tell_all(report)

    def _hold(self) -> None:
        """Makes sure that the session is still ours, which every write needs. If its lease expired and nobody took it,
        it is taken again."""
        if self._ended:
            raise Conflict(f"session {self.id} was closed; open it again with memory.session({self.id!r:.60})")
        if self._lease is None or not self._lease.hold():
            self._begin(SHORT_WAIT, "drop")
        if self._rests and self._lease is not None:
            mark(self._id, self._holder, "resumed", state=OPEN)
            self._rests = False

    @property
    def _holder(self) -> Caller:
        """The caller that writes the session, allowed only while the session is ours."""
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
    """A fork of a session. The original stays as it is, open or closed."""
    by = memory._caller
    said = turns_of(old, by, 1)
    name = name_of(id, None, old.place, by)
    if record_of(name, by) is not None:
        raise Conflict(f"there is a session {name.id} already; choose another id for the fork")
    parent = Parent(old.id, said[-1].number if said else 0)
    fork = Session(memory, replace(name, home=old.home), agent, SHORT_WAIT, "drop", parent)
    with by.writer.transaction():  # all of them or none
        copy_notes(old, fork._name, by)
    return fork


_opened_here: WeakSet[Session] = WeakSet()  # sessions opened by this process


@atexit.register
def _end_at_exit() -> None:
    """Closes fast what a program leaves open at its end. Sessions that a forked process inherited are the parent's to close."""
    for session in tuple(_opened_here):
        if session in session._memory._held:
            try:
                session.close(fast=True)
            except Exception as problem:  # a program must not fail at its end for this; the session is ended later
                log.info("session %s could not be ended at exit: %s", session.id, problem)


def copy_notes(old: Name, new: Name, by: Caller) -> None:
    """Copies what was noted and found in one session into another. A copy keeps the origin of its original and is
    trusted no more, so both may be promoted and still count once."""
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
    """Links the copy, so that erasing the original takes the copy along."""
    changes = Changes(by, by.now())
    changes.link(copy, Link(copy.id, original.id, "derived_from"), "copied by a fork")
    changes.commit()
