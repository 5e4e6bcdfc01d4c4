"""The verbs of `Memory` about conversations and work:
session, sessions, ingest · narrate, narratives · add_task, move_task, tasks."""

import builtins
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from memorist import checks, remember
from memorist import session as talk
from memorist.engine import Engine, Filter
from memorist.errors import Conflict, Invalid, MemoristError, Refused, StoreUnavailable
from memorist.records import Context, Draft, Outcome, Record, Reference, Scope
from memorist.store.nouns import parts
from memorist.store.talk import place_of
from memorist.store.where import Where

if TYPE_CHECKING:
    from memorist.session.name import Name
    from memorist.session.session import Host, Ingested, Session
    from memorist.session.tasks import TaskStatus


class Message(Protocol):
    """A message object: its content, and a role or a type that says who said it."""

    @property
    def content(self) -> Any: ...


Messages = Iterable[Mapping[str, Any] | Message] | Mapping[str, Any] | Message  # a conversation, or one message of it
Busy = Literal["queue", "drop", "interrupt"]
WAIT = 30.0  # seconds to wait for another writer of a session
BATCH = 250  # drafts in one transaction


class Conversation(Engine):
    """An open memory with what is said in it."""

    def session(
        self,
        id: str | None = None,
        *,
        agent: str | None = None,
        user: str | None = None,
        wait: float = WAIT,
        busy: Busy = "queue",
    ) -> "Session":
        """Opens a conversation, a new one or one that is resumed, for one writer: `with memory.session("s1") as s`. Its end
        keeps what was found in it and a summary.

        id: its name; a fresh one without it · agent: who takes part · user: whose conversation it is; it lies in their scope
        wait: seconds to wait for another writer · busy: whether to wait for one (queue), to give up (drop) or to take the
            session over (interrupt)
        """
        return talk.session.Session(cast("Host", self), self._named(id, user), agent, wait, busy)

    def sessions(
        self,
        *,
        limit: int = 20,
        state: Literal["open", "closing", "closed"] | None = None,
        user: str | None = None,
    ) -> builtins.list[Record]:
        """The sessions of this project, the one last opened or closed first: `limit` at most, and only those in that `state`, or
        those that were held for that `user`."""
        place = remember.gate.scope_of(None, user)
        return talk.name.listed(self._choosing, state, place, limit, self._caller)

    def ingest(
        self,
        messages: Messages,
        *,
        session: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        busy: Busy = "queue",
    ) -> "Ingested":
        """Keeps a conversation as chat programs hand it to a model, calls and results of tools included. A message is known by
        its id, or by its place: the same conversation can be handed in again when it has grown. One that cannot be kept is
        refused, with the reason, and the others are kept.

        messages: as OpenAI, Anthropic, Google and LangChain write them, also as {"messages": […]}
        session: its name; a fresh one without it · user: whose conversation it is; it lies in their scope
        agent: who took part · busy: as in `session`
        """
        name = self._named(session, user)
        common = Draft("", scope=name.place, session=name.id, agent=agent, key=name.key)
        turns = remember.turns.whole_of(messages, common)
        ours = next((each for each in tuple(self._held) if each._name == name), None)
        told = tuple(turn for _, turn in turns if isinstance(turn, Outcome))
        if len(told) == len(turns):  # every message was settled already: no session needs to be opened
            return talk.session.Ingested(name.id, told)
        held = ours or talk.session.Session(cast("Host", self), name, agent, WAIT, busy)
        try:
            held._hold()
            return talk.session.Ingested(name.id, tuple(self._handed_in(turns)))
        except Conflict as problem:
            if remember.gate.OTHER_TEXT not in str(problem):
                raise
            raise Conflict(
                f"session {name.id} has another text in the place of one of these messages; hand in all of the conversation, "
                "give the messages ids, or add new ones with remember(messages, session=…)"
            ) from problem
        finally:
            if ours is None:  # a session that was already open stays open
                held.leave()

    def close(self) -> None:
        """Ends in a hurry the sessions that are still open, writes what was only noted, and closes."""
        for held in tuple(self._held):
            with suppress(MemoristError):  # the next session to open ends it
                held.close(fast=True)
        if self._behind:
            talk.lookout.lookout.withdraw(self._tools.store)
        super().close()

    def _named(self, id: str | None, user: str | None) -> "Name":
        # A session's name can be resolved even while memory is off.
        return talk.name.name_of(id, user, self.home, remember.changes.Caller(self.access, self._writer, self._tools))

    def _asked(
        self, query: str | None, session: str | None, user: str | None, where: Filter | None
    ) -> tuple[str, Filter | None]:
        """The query and the filter to use. Without a query, the last turns of the session become one, and nothing said
        in the session itself is searched."""
        if query is not None or self._off_because():
            return "" if query is None else query, where
        if session is None:
            raise Invalid("give a query, or name the session whose last turns ask for something (session=, --session)")
        Where.of(self.access, where)  # raises if it is not a valid filter
        name = self._named(session, user)
        return talk.behind.asked_last(name, self._caller), {**talk.behind.not_of(name), **(where or {})}

    def _seen(self, made: Context, session: str | None, user: str | None) -> Context:
        """Notes that the memories of a requested context have now been shown in its session."""
        if made.items and session is not None:
            talk.behind.shown(cast("Host", self), self._named(session, user), made.items)
        return made

    def _place(self, session: str | None) -> str:
        """The scope for what a session produces: that of the user it was held for, else where memories usually go."""
        return place_of(checks.optional_label(session, "the session"), self.home, self.access, self._caller.store)

    def _place_after(self, scope: str) -> str:
        """The scope for what is kept of a scope that ends."""
        family, _, id = Scope(scope).partition("/")
        return self._place(id if family == "session" else None)

    def _turns(self, turns: "builtins.list[Draft | Outcome]") -> builtins.list[Outcome]:
        """The outcome of each turn, in order."""
        stored = iter(cast("Host", self).remember_many([turn for turn in turns if isinstance(turn, Draft)]))
        return [next(stored) if isinstance(turn, Draft) else turn for turn in turns]

    def _handed_in(self, turns: "Sequence[tuple[int, Draft | Outcome]]") -> Iterator[Outcome]:
        """The outcome of each turn, in order; a refusal names the message."""
        stored = iter(self._admit([turn for _, turn in turns if isinstance(turn, Draft)], spare=True))
        for number, turn in turns:
            outcome = next(stored) if isinstance(turn, Draft) else turn
            named = outcome.outcome != "refused" or not isinstance(turn, Draft)
            yield outcome if named else replace(outcome, because=f"message {number}: {outcome.because}")

    def _admit(self, wanted: "Sequence[Draft]", spare: bool = False) -> builtins.list[Outcome]:
        """Stores the drafts, a few hundred in one transaction and all in one batch; `spare` as in the gate."""
        try:
            caller = self._caller
        except Refused as off:
            return [Outcome("refused", str(off), scope=draft.scope or self.home) for draft in wanted]
        outcomes: builtins.list[Outcome] = []
        batch: str | None = None
        for some in parts(wanted, BATCH):
            first = len(outcomes) + 1
            some = self._tagged(some)
            stored = remember.gate.admit(
                some, caller, self.home, batch, self.design.conflicts, first, spare, self.design.twins
            )
            outcomes += map(self._kept, some, stored)
            self._heard(some, stored)
            batch = next((outcome.batch for outcome in outcomes if outcome.batch), None)
        while len(wanted) > BATCH and caller.store.tidy():
            pass
        return outcomes

    def _admit_apart(self, wanted: "Sequence[Draft]") -> "builtins.list[Outcome | Exception]":
        """Stores unrelated drafts, in one transaction if none of them causes an error, and each in a batch of its own.
        Returns the outcome of each, or the error that kept it from being stored."""
        if len(wanted) == 1:
            return [self._admitted(wanted[0])]
        try:
            some, caller = self._tagged(wanted), self._caller
            stored = remember.gate.admit_apart(some, caller, self.home, self.design.conflicts, self.design.twins)
        except StoreUnavailable as problem:  # the store is unavailable for all of them
            return [problem] * len(wanted)
        except Exception:  # one draft caused it: store each alone, so that only that one fails
            return [self._admitted(draft) for draft in wanted]
        self._heard(some, stored)
        return [*map(self._kept, some, stored)]

    def _admitted(self, draft: "Draft") -> "Outcome | Exception":
        try:
            return self._admit([draft])[0]
        except Exception as problem:  # returned to whoever passed the draft in
            return problem

    def _tagged(self, drafts: "Sequence[Draft]") -> "Sequence[Draft]":
        """Adds tags derived from their files, if the design does that."""
        return [remember.sharing.by_files(draft) for draft in drafts] if self.design.associates else drafts

    def _heard(self, drafts: "Sequence[Draft]", outcomes: "Sequence[Outcome]") -> None:
        """Marks what was stored as already known in sessions that look ahead."""
        for draft, outcome in zip(drafts, outcomes, strict=True) if self._behind else ():
            talk.behind.heard(cast("Host", self), draft.session, [outcome.record])

    # ------------------------------------------------------------ threads

    def narrate(
        self,
        summary: str,
        *,
        topic: str | None = None,
        memories: Sequence[Reference] = (),
        previous: Reference | None = None,
        session: str | None = None,
    ) -> Outcome:
        """Tells in a sentence or two what was thought and why, between the facts that are memories. It is never changed. While a
        topic goes on it continues its thread; another topic opens a new one that leads back to where the session was.

        summary: what to tell · topic: what it is about; the last one of the session without it
        memories: those it tells of; it is trusted like the least trusted of them, and erased with them
        previous: the narrative it follows, where that is not the last one on this topic, in this session or, in a new one, in
            the project · session: whose thread it is; that of a user's session lies in the user's scope
        """
        caller = self._caller
        about = [self._must_get(id) for id in checks.references(memories, "memories")]
        before = None if previous is None else self._must_get(previous)
        return self._tell(talk.narrative.narrate(summary, topic, about, before, session, self._place(session), caller))

    def narratives(
        self,
        query: str | None = None,
        *,
        id: Reference | None = None,
        session: str | None = None,
        user: str | None = None,
        limit: int = 5,
    ) -> builtins.list[Record]:
        """The latest narratives of the project: where was I? Or those that a question or an id is about. Where none was told, the
        latest is the summary that the last session left, a record of the kind `summary`.

        query: words of their topic or summary; the best match comes first
        id: a narrative, which is followed back along its thread; or a memory, for the narratives that it belongs to
        session: only of this session · user: those of this user's sessions instead · limit: how many at most
        """
        caller, limit = self._caller, checks.whole(limit, "limit", 1, 10_000)
        if id is not None and any(each is not None for each in (query, session, user)):
            raise Invalid("an id names a narrative by itself; leave the query, the session and the user out")
        if id is not None:
            return talk.narrative.thread(self._must_get(id), limit, caller)
        home = remember.gate.scope_of(None, user) or self.home
        if query is not None:
            return talk.narrative.about(query, session, limit, home, caller)
        return talk.narrative.latest(session, limit, home, caller)

    # ------------------------------------------------------------ work

    def add_task(
        self,
        title: str,
        *,
        text: str | None = None,
        milestone: str | None = None,
        priority: int | None = None,
        criteria: Sequence[str] = (),
        blocked_by: Sequence[Reference] = (),
        skill: str | None = None,
        session: str | None = None,
        key: str | None = None,
    ) -> Outcome:
        """Adds something to be done. It is pending until `move_task` says otherwise.

        title: what, in a line · text: all that whoever does it must know; the title without it
        milestone: what it is a part of; once that is done, its tasks are archived · priority: 0 and up, the lowest first
        criteria: what must be so when it is completed · blocked_by: tasks that must be completed first
        skill: the skill it takes · session, key: as in `remember`
        """
        waits = [self._task(id) for id in checks.references(blocked_by, "blocked_by")]
        told = {"milestone": milestone, "priority": priority, "criteria": criteria, "skill": skill}
        draft = talk.tasks.draft_of(title, text, waits, session, key, **told)
        return cast("Host", self).remember_many([draft])[0]

    def move_task(
        self,
        id: Reference,
        status: "TaskStatus",
        *,
        result: str | Reference | None = None,
        blocked_by: Sequence[Reference] | None = None,
        because: str = "moved on request",
    ) -> Outcome:
        """Takes a task to its next status; a step that there is not is an error that names those there are. It is `unchanged`
        if it had that status, such as when another agent runs it already.

        id: the task, also by its name such as "TASK-007" · status: pending, running, blocked, completed or failed
        result: what came out, as a text, which is kept as a memory; or that memory; it is stored before anybody is told
        blocked_by: tasks that must be completed first, instead of those it had · because: the reason, for the journal
        """
        caller, reason = self._caller, checks.label(because, "the reason")
        waits = (
            None if blocked_by is None else [self._task(each) for each in checks.references(blocked_by, "blocked_by")]
        )
        step = talk.tasks.TaskStep(status, talk.tasks.result_of(result, self._must_get), waits, reason)
        outcomes = talk.tasks.move(partial(self._task, id), step, caller)
        return [self._tell(outcome) for outcome in outcomes][-1]

    def tasks(
        self,
        *,
        status: "TaskStatus | None" = None,
        milestone: str | None = None,
        ready: bool = False,
        limit: int = 100,
    ) -> builtins.list[Record]:
        """The tasks of the project that are not archived, the most urgent first.

        status, milestone: only those · ready: only those that are pending and wait for nothing that is not completed
        limit: how many at most
        """
        caller, limit = self._caller, checks.whole(limit, "limit", 1, 100_000)
        return talk.tasks.tasks(status, milestone, ready, limit, self.home, caller)

    def _task(self, id: Reference) -> Record:
        return self._must_get(talk.tasks.meant(id))
