"""The verbs about conversations, which `Memory` has beside those about memories: session, sessions, ingest."""

import builtins
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from memorist import remember
from memorist import session as talk
from memorist.engine import Engine
from memorist.errors import MemoristError
from memorist.records import Draft, Outcome, Record

if TYPE_CHECKING:
    from memorist.session.name import Name
    from memorist.session.session import Host, Ingested, Session


class Message(Protocol):
    """An object that holds what was said, with a role or a type that says by whom."""

    @property
    def content(self) -> Any: ...


Messages = Iterable[Mapping[str, Any] | Message] | Mapping[str, Any] | Message  # a conversation, or one message of it
Busy = Literal["queue", "drop", "interrupt"]
WAIT = 30.0  # seconds for another writer of a session


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
        self, *, limit: int = 20, state: Literal["open", "closing", "closed"] | None = None
    ) -> builtins.list[Record]:
        """The sessions of this project, the one last opened or closed first: `limit` at most, and only those in that `state`."""
        return talk.name.listed(self._choosing, state, limit, self._caller)

    def ingest(
        self, messages: Messages, *, session: str | None = None, user: str | None = None, agent: str | None = None
    ) -> "Ingested":
        """Keeps a conversation as chat programs hand it to a model, calls and results of tools included. A message is known by
        its id, or by its place: the same conversation can be handed in again when it has grown.

        messages: as OpenAI, Anthropic, Google and LangChain write them · session: its name; a fresh one without it
        user: whose conversation it is; it lies in their scope · agent: who took part
        """
        name = self._named(session, user)
        common = Draft("", scope=name.place, session=name.id, agent=agent, key=name.key)
        turns = remember.turns.turns_of(messages, common, whole=True)
        held = talk.session.Session(cast("Host", self), name, agent, WAIT, "queue")
        try:
            return talk.session.Ingested(name.id, tuple(self._turns(turns)))
        finally:
            held.leave()

    def close(self) -> None:
        """Ends in a hurry the sessions that are still open, writes what was only noted, and closes."""
        for held in tuple(self._held):
            with suppress(MemoristError):  # it ends later, by the next one that is opened
                held.close(fast=True)
        super().close()

    def _named(self, id: str | None, user: str | None) -> "Name":
        # What a session is called can be said while memory is off.
        return talk.name.name_of(id, user, self.home, remember.changes.Caller(self.access, self._writer, self._tools))

    def _turns(self, turns: "builtins.list[Draft | Outcome]") -> builtins.list[Outcome]:
        """What became of the turns, each in its place."""
        stored = iter(cast("Host", self).remember_many([turn for turn in turns if isinstance(turn, Draft)]))
        return [next(stored) if isinstance(turn, Draft) else turn for turn in turns]
