"""A session: one conversation, whose turns are kept as they come.

Its record, of the kind `session`, says in which state it is; its turns lie on the turns shelf of its place, the project or a user,
in the order in which they came; its notes and findings lie in the scope `session/<id>`. What a session does to memories it does
by the verbs of the memory that it was opened in, so all of it is redacted, journalled and undone like any other write.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Any, Protocol, Self

from memorist import checks
from memorist.access import Access
from memorist.design import Design
from memorist.errors import Conflict
from memorist.noun import Noun
from memorist.records import Context, Draft, Moment, Outcome, Record, Scope
from memorist.remember import edit
from memorist.remember.changes import Caller
from memorist.remember.turns import Uttered, call_of, role_of
from memorist.store.where import Order

KIND, TURN = "session", "turn"
OPEN, CLOSING, CLOSED = "open", "closing", "closed"
STATES = (OPEN, CLOSING, CLOSED)


class Host(Protocol):
    """What a session asks of the memory that it was opened in."""

    design: Design
    access: Access
    home: Scope

    @property
    def _caller(self) -> Caller: ...
    def remember_many(self, many: Iterable[Draft | Mapping[str, Any] | str]) -> list[Outcome]: ...
    def extract(
        self, text: str, *, session: str | None = ..., agent: str | None = ..., role: str | None = ..., message: int | None = ...
    ) -> list[Outcome]: ...  # fmt: skip
    def context(self, query: str, *, session: str | None = ...) -> Context: ...
    def _tell(self, outcome: Outcome) -> Outcome: ...


@dataclass(frozen=True, slots=True)
class Name:
    """Which session is meant: its id, the scope in which its turns lie, and the project that it belongs to."""

    id: str
    place: str  # the project, or a user's scope
    home: str

    @property
    def scope(self) -> Scope:
        """Where its notes and findings lie."""
        return Scope(f"session/{self.id}")

    @property
    def key(self) -> str:
        """The beginning of the idempotency keys of its turns."""
        return f"session/{self.place}/{self.id}"


@dataclass(frozen=True, slots=True, repr=False)
class Ingested(Noun):
    """What became of a conversation that was handed in: what of it was new, was known, or was left out and why."""

    session: str
    outcomes: tuple[Outcome, ...] = ()

    @property
    def added(self) -> int:
        return self._many("added")

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


def name_of(id: str | None, user: str | None, memory: Host) -> Name:
    """The session that is meant, with a fresh id where none is given. A user's conversations lie in the user's scope."""
    caller = memory._caller
    fresh = f"{caller.now():%Y-%m-%d}-{token_hex(3)}"
    wanted = fresh if id is None else checks.label(id, "the session")
    home = memory.access.home_of("session/any") or memory.home
    name = Name(wanted, memory.home if user is None else Scope(f"user/{user}"), home)
    caller.writer.refuse_secret(name.scope, "the session")  # which says too whether it is a name
    return name


def found(name: Name, by: Caller) -> Record | None:
    """The record of that session, if there is one. An id is one session of a project, whoever's it is."""
    where = by.where.also("session", "eq", name.id).also("kind", "eq", KIND).also("state", "eq", "active")
    known = [record for record in by.store.find(where, Order("number")) if of_project(record, name.home)]
    other = next((record for record in known if record.scope != name.place), None)
    if other is not None:
        raise Conflict(f"session {name.id} lies in {other.scope}, not in {name.place}; choose another id")
    return next(iter(known), None)


def of_project(record: Record, home: str) -> bool:
    return home in (record.scope, record.data.get("project"))


def listed(home: str, state: str | None, limit: int, by: Caller) -> list[Record]:
    """The sessions of a project, the one that was last opened or closed first."""
    where = by.where.also("kind", "eq", KIND).also("state", "eq", "active")
    if state is not None:
        where = where.also("data.state", "eq", checks.one_of(state, "the state of a session", STATES))
    wanted = [record for record in by.store.find(where, Order("updated")) if of_project(record, home)]
    return wanted[: checks.whole(limit, "limit", 1, 1_000_000)]


class Session:
    """One open conversation, for one writer."""

    def __init__(self, memory: Host, name: Name, agent: str | None = None) -> None:
        self._memory, self._name = memory, name
        self.agent = checks.optional_label(agent, "the agent")
        self._open()

    def __repr__(self) -> str:
        return f"<Session {self.id} in {self._name.place}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close(fast=problem[0] is not None)

    @property
    def id(self) -> str:
        return self._name.id

    @property
    def record(self) -> Record:
        """Its record, as it is now."""
        record = found(self._name, self._memory._caller)
        if record is None:
            raise Conflict(f"session {self.id} was erased or forgotten meanwhile; open another")
        return record

    # ------------------------------------------------------------ what is said

    def turn(
        self, role: str, text: str, *, id: str | None = None, at: Moment | None = None, speaker: str | None = None
    ) -> Outcome:
        """Keeps what was said. With an `id` of yours the same message is kept once."""
        told = {} if id is None else {"message": checks.label(id, "the id of a message")}
        return self._say(Uttered(role_of(role), text, told), id, at, speaker)

    def tool_call(self, name: str, input: Any = None, id: str | None = None) -> Outcome:
        """Keeps the call of a tool; its result names the same `id`."""
        return self._say(call_of(name, input, id), None)

    def tool_result(self, id: str | None, output: str) -> Outcome:
        """Keeps what the call with that `id` returned. It is a tool's word, through any door."""
        told = {} if id is None else {"result": checks.label(id, "the id of a call")}
        return self._say(Uttered("tool", output, told), None)

    def note(self, text: str, kind: str = "note", **draft: Any) -> Outcome:
        """Keeps a note in the session's own scope: for its agents, and until it ends unless it is pinned or promoted."""
        common = {"scope": self._name.scope, "home": self._name.home, "session": self.id, "agent": self.agent}
        return self._memory.remember_many([{**common, "text": text, "kind": kind, **draft}])[0]

    def turns(self, limit: int | None = None) -> list[Record]:
        """What was said, in the order in which it came; the last `limit` of it."""
        most = None if limit is None else checks.whole(limit, "limit", 1, 1_000_000)
        return turns_in(self._name, self._memory._caller, most)

    def context(self, query: str, **more: Any) -> Context:
        """`Memory.context` for this session."""
        return self._memory.context(query, session=self.id, **more)

    def _say(self, said: Uttered, id: str | None, at: Moment | None = None, speaker: str | None = None) -> Outcome:
        draft = Draft(
            said.text, TURN, self._name.place, data=said.data, session=self.id, role=said.role, agent=self.agent,
            at=at, speaker=speaker, key=None if id is None else f"{self._name.key}/{id}",
        )  # fmt: skip
        return self._memory.remember_many([draft])[0]

    # ------------------------------------------------------------ its life

    def _open(self) -> None:
        by = self._memory._caller
        known = found(self._name, by)
        if known is None:
            self._memory.remember_many([self._fresh()])
        elif known.data.get("state") != OPEN:
            self._state(OPEN, "resumed")

    def _fresh(self) -> Draft:
        more = {} if self._name.place == self._name.home else {"project": self._name.home}
        with_whom = f" with {self.agent}" if self.agent else ""
        return Draft(
            f"Session {self.id}{with_whom}", KIND, self._name.place, self.id, data={"state": OPEN, **more},
            session=self.id, agent=self.agent,
        )  # fmt: skip

    def close(self, fast: bool = False) -> None:
        """Ends it."""
        self._state(CLOSED, "closed", closed=self._memory._caller.now().isoformat(timespec="seconds"))

    def _state(self, state: str, because: str, **more: Any) -> Outcome:
        """Changes what its record says of it. The engine does so for the owner of the store, whoever opened it."""
        by = replace(self._memory._caller, steward=True)

        def change(record: Record) -> Record:
            return replace(record, data={**record.data, "state": state, **more})

        verb = "opened" if state == OPEN else "closed"
        return self._memory._tell(edit.edit(lambda: self.record, verb, change, by, because))


def turns_in(name: Name, by: Caller, limit: int | None = None, after: int = 0) -> list[Record]:
    """The turns of a session by their numbers; the last `limit` of them, or those after that number."""
    where = by.where.also("session", "eq", name.id).also("scope", "eq", name.place).also("kind", "eq", TURN)
    where = where.also("state", "eq", "active")
    where = where.also("number", "gt", after) if after else where
    if limit is None:
        return by.store.find(where, Order("number", ascending=True))
    return by.store.find(where, Order("number"), limit)[::-1]
