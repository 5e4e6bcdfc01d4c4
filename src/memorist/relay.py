"""The verbs of `Memory` and of a session, for classes that forward them: to a thread (`aio.py`) or to a server
(`client.py`).

Each verb is one line that takes its parameters, types and docstring from the facade, so a new argument there appears
here at once, for `help`, editors and mypy (docs/why/0048-verbs-handed-on.md). In a subclass of `Direct` verbs return
their answer; in a subclass of `Awaited` they return a coroutine. Both forward every call to `_do`.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import wraps
from os import PathLike
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from memorist.conversation import Messages
from memorist.engine import Filter
from memorist.kinds import KindName
from memorist.memory import Memory, Role
from memorist.records import Moment, Outcome, Reference, Report
from memorist.session.session import Session

Given = ParamSpec("Given")
Answer = TypeVar("Answer", covariant=True)
Other = TypeVar("Other", covariant=True)
Here = TypeVar("Here", covariant=True)
Later = TypeVar("Later", covariant=True)


class Direct:
    """A base class whose verbs return answers."""


class Awaited:
    """A base class whose verbs are awaited."""


class _Handed:
    """A descriptor for a verb of the facade; calls go to `_do` of the owner."""

    def __init__(self, verb: Callable[..., Any]) -> None:
        @wraps(verb)
        def hand_on(self: Any, /, *args: Any, **named: Any) -> Any:
            return self._do(verb.__name__, args, named)

        self._hand_on: Any = hand_on

    def __set_name__(self, owner: type, name: str) -> None:
        self._hand_on.__qualname__ = f"{owner.__name__}.{name}"
        self._hand_on.__module__ = owner.__module__


class Onward(_Handed, Generic[Given, Answer]):
    """A verb with one signature."""

    def __init__(self, verb: Callable[Concatenate[Any, Given], Answer]) -> None:
        super().__init__(verb)

    @overload
    def __get__(self, owner: Direct, kind: object = None) -> Callable[Given, Answer]: ...
    @overload
    def __get__(self, owner: Awaited, kind: object = None) -> Callable[Given, Coroutine[Any, Any, Answer]]: ...
    @overload
    def __get__(self, owner: None, kind: object = None) -> Callable[Concatenate[Any, Given], Any]: ...
    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self._hand_on.__get__(owner, kind)


class Twofold(_Handed, Generic[Here, Later]):
    """A verb with two signatures, which must be written out: type checkers keep only the first of several overloads."""

    @overload
    def __get__(self, owner: Direct, kind: object = None) -> Here: ...
    @overload
    def __get__(self, owner: Awaited, kind: object = None) -> Later: ...
    @overload
    def __get__(self, owner: None, kind: object = None) -> Callable[..., Any]: ...
    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self._hand_on.__get__(owner, kind)


class Remember(Protocol[Answer, Other]):
    """`Memory.remember`, of a text or of a conversation."""

    @overload
    def __call__(
        self, text: str, *, kind: KindName = ..., scope: str | None = ..., title: str | None = ...,
        tags: Sequence[str] = ..., files: Sequence[PathLike[str] | str] = ..., data: Mapping[str, Any] | None = ...,
        importance: float | None = ..., confidence: float | None = ..., pinned: bool = ..., at: Moment | None = ...,
        valid_from: Moment | None = ..., valid_to: Moment | None = ..., user: str | None = ..., session: str | None = ...,
        role: Role | None = ..., speaker: str | None = ..., agent: str | None = ..., task: str | None = ...,
        season: str | None = ..., key: str | None = ..., home: str | None = ...,
    ) -> Answer: ...  # fmt: skip
    @overload
    def __call__(
        self, text: Messages, *, session: str, scope: str | None = ..., user: str | None = ..., title: str | None = ...,
        tags: Sequence[str] = ..., files: Sequence[PathLike[str] | str] = ..., data: Mapping[str, Any] | None = ...,
        at: Moment | None = ..., speaker: str | None = ..., agent: str | None = ..., task: str | None = ...,
        season: str | None = ..., key: str | None = ..., home: str | None = ...,
    ) -> Other: ...  # fmt: skip


class Forget(Protocol[Answer, Other]):
    """`Memory.forget`, of one memory or of all that match a filter."""

    @overload
    def __call__(self, id: Reference, *, expected_version: int | None = ..., because: str = ...) -> Answer: ...
    @overload
    def __call__(self, *, where: Filter, dry_run: bool = ..., because: str = ...) -> Other: ...


Outcomes = list[Outcome]
Future = Coroutine[Any, Any, Answer]


class Verbs:
    """All verbs of the facade except `session`, `through` and `close`, which create or end something on the caller's side."""

    remember: Twofold[Remember[Outcome, Outcomes], Remember[Future[Outcome], Future[Outcomes]]] = Twofold(
        Memory.remember
    )
    remember_many = Onward(Memory.remember_many)
    revise = Onward(Memory.revise)
    pin = Onward(Memory.pin)
    unpin = Onward(Memory.unpin)
    tag = Onward(Memory.tag)
    link = Onward(Memory.link)
    unlink = Onward(Memory.unlink)
    feedback = Onward(Memory.feedback)
    used = Onward(Memory.used)
    forget: Twofold[Forget[Outcome, Report], Forget[Future[Outcome], Future[Report]]] = Twofold(Memory.forget)
    restore = Onward(Memory.restore)
    erase = Onward(Memory.erase)
    undo = Onward(Memory.undo)
    extract = Onward(Memory.extract)
    promote = Onward(Memory.promote)
    finish = Onward(Memory.finish)
    conflicts = Onward(Memory.conflicts)
    resolve = Onward(Memory.resolve)
    review = Onward(Memory.review)
    alias = Onward(Memory.alias)
    aliases = Onward(Memory.aliases)
    projects = Onward(Memory.projects)
    rename_project = Onward(Memory.rename_project)
    merge_project = Onward(Memory.merge_project)
    sessions = Onward(Memory.sessions)
    ingest = Onward(Memory.ingest)
    narrate = Onward(Memory.narrate)
    narratives = Onward(Memory.narratives)
    add_task = Onward(Memory.add_task)
    move_task = Onward(Memory.move_task)
    tasks = Onward(Memory.tasks)
    recall = Onward(Memory.recall)
    context = Onward(Memory.context)
    receipt = Onward(Memory.receipt)
    get = Onward(Memory.get)
    list = Onward(Memory.list)
    count = Onward(Memory.count)
    links = Onward(Memory.links)
    related = Onward(Memory.related)
    path = Onward(Memory.path)
    similar = Onward(Memory.similar)
    timeline = Onward(Memory.timeline)
    history = Onward(Memory.history)
    log = Onward(Memory.log)
    explain = Onward(Memory.explain)
    why_not = Onward(Memory.why_not)
    gaps = Onward(Memory.gaps)
    assign = Onward(Memory.assign)
    upkeep = Onward(Memory.upkeep)
    rescan = Onward(Memory.rescan)
    compact = Onward(Memory.compact)
    audit = Onward(Memory.audit)
    status = Onward(Memory.status)
    backup = Onward(Memory.backup)
    doctor = Onward(Memory.doctor)


class SessionVerbs:
    """All verbs of an open session except `fork`, and without its properties such as `record`."""

    turn = Onward(Session.turn)
    tool_call = Onward(Session.tool_call)
    tool_result = Onward(Session.tool_result)
    note = Onward(Session.note)
    turns = Onward(Session.turns)
    context = Onward(Session.context)
    recall = Onward(Session.recall)
    prefetch = Onward(Session.prefetch)
    ready = Onward(Session.ready)
    window = Onward(Session.window)
    compact = Onward(Session.compact)
    flush = Onward(Session.flush)
    leave = Onward(Session.leave)
    close = Onward(Session.close)
