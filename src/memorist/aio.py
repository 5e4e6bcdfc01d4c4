"""`AsyncMemory`: the verbs of `Memory` for programs with an event loop. Each call runs in a thread.

The engine reads files and computes, and neither can be awaited. So the verbs stay synchronous and run in a bounded
number of threads. Reads have their own threads and never queue behind writes. Calls that may wait for another writer of
a session have their own threads as well, because that writer needs a thread to finish. A cancelled call still runs to
its end; only its result is dropped.
"""

import os
import threading
from asyncio import get_running_loop, to_thread
from collections.abc import Callable, Coroutine, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from contextvars import copy_context
from functools import partial
from typing import Any, Generic, Literal, ParamSpec, Self, TypeVar

from memorist import checks
from memorist.access import Access
from memorist.commands import VERBS
from memorist.conversation import WAIT, Busy
from memorist.design import Clock, Confirmer, Design, Reranker
from memorist.errors import Invalid, StoreUnavailable
from memorist.kinds import Kind
from memorist.memory import Memory
from memorist.models.chat import Chat
from memorist.models.embed import Embedder
from memorist.records import Record, now_utc
from memorist.relay import Awaited, SessionVerbs, Verbs
from memorist.session.session import Session
from memorist.text.tokens import TokenCounter
from memorist.text.tokens import count_tokens as default_count

THREADS = 8  # for reads; writes get half as many
Pool = Literal["reads", "writes", "waits"]
READS = {verb.name for verb in VERBS.values() if not verb.writes}
SESSION_READS = {"turns", "context", "recall", "prefetch", "ready"}
Given = ParamSpec("Given")
Result = TypeVar("Result")
Opened = TypeVar("Opened", bound=AbstractAsyncContextManager[Any])


class Pools:
    """Separate thread pools for reading, for writing, and for calls that may wait."""

    def __init__(self, count: int) -> None:
        counts: dict[Pool, int] = {"reads": count, "writes": max(1, count // 2), "waits": max(1, count // 2)}
        self._pools = {name: ThreadPoolExecutor(many, f"memorist-{name}") for name, many in counts.items()}
        self._ended = False

    async def do(
        self, pool: Pool, work: Callable[Given, Result], /, *args: Given.args, **named: Given.kwargs
    ) -> Result:
        if self._ended:
            raise StoreUnavailable("this memory was closed; open another")
        call = partial(copy_context().run, work, *args, **named)
        return await get_running_loop().run_in_executor(self._pools[pool], call)

    def end(self) -> None:
        """Shuts the pools down once the calls in progress have finished."""
        self._ended = True
        for pool in self._pools.values():
            pool.shutdown()


class AsyncMemory(Verbs, Awaited):
    """`Memory` for programs with an event loop: the same verbs, each of them awaited.

        async with AsyncMemory("me.db") as memory:
            await memory.remember("Staging runs Postgres 16", kind="decision")
            print((await memory.recall("which database?"))[0].text)

    It takes what `Memory` takes, is opened by the first verb or by `async with`, and may be shared by any number of tasks.
    threads: how many calls may read at once; half as many may write
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        project: str | None = None,
        space: str | None = None,
        access: Access | None = None,
        design: Design | str | None = None,
        clock: Clock = now_utc,
        count_tokens: TokenCounter = default_count,
        kinds: Mapping[str, Kind] | None = None,
        embed: Embedder | str | None = None,
        rerank: Reranker | str | None = None,
        chat: Chat | str | None = None,
        wait: float = 30.0,
        confirm: Confirmer | None = None,
        threads: int = THREADS,
    ) -> None:
        self._open = _Once(
            partial(
                Memory, path, project=project, space=space, access=access, design=design, clock=clock,
                count_tokens=count_tokens, kinds=kinds, embed=embed, rerank=rerank, chat=chat,
                wait=wait, confirm=confirm,
            )
        )  # fmt: skip
        self._threads = Pools(checks.whole(threads, "threads", 1, 1_000))

    def __repr__(self) -> str:
        return f"<AsyncMemory of {self._open.memory!r}>" if self._open.memory else "<AsyncMemory, not opened yet>"

    async def __aenter__(self) -> Self:
        await self._threads.do("reads", self._open)
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.close()

    @property
    def sync(self) -> Memory:
        """The underlying `Memory`, for its project, bus and design. Its calls run in the event loop's thread and block the loop."""
        if self._open.memory is None:
            raise Invalid("this memory is not open yet; `async with` opens it, and so does the first verb")
        return self._open.memory

    def session(
        self,
        id: str | None = None,
        *,
        agent: str | None = None,
        user: str | None = None,
        wait: float = WAIT,
        busy: Busy = "queue",
    ) -> "SessionToOpen[AsyncSession]":
        """`Memory.session`: `async with memory.session("s1") as s`, or `s = await memory.session("s1")`."""
        return SessionToOpen(partial(self._session, partial(self._open.call, "session", id, agent=agent, user=user,
                                                            wait=wait, busy=busy)))  # fmt: skip

    async def through(self, access: Access) -> "AsyncMemory":
        """`Memory.through`: the same open memory, and its threads, seen through another `access`."""
        other = type(self).__new__(type(self))
        other._open = _Once(partial(self._open.call, "through", access))
        other._threads = self._threads
        await other._threads.do("reads", other._open)
        return other

    async def close(self) -> None:
        """`Memory.close`, once what was begun is done."""
        await to_thread(self._threads.end)
        if self._open.memory is not None:
            await to_thread(self._open.memory.close)

    async def _do(self, verb: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        pool: Pool = "reads" if verb in READS else "waits" if verb == "ingest" else "writes"
        return await self._threads.do(pool, self._open.call, verb, *args, **named)

    async def _session(self, begin: Callable[[], Session]) -> "AsyncSession":
        return AsyncSession(await self._threads.do("waits", begin), self._threads)


class _Once:
    """Opens the memory on the first call, in that call's thread."""

    def __init__(self, opening: Callable[[], Memory]) -> None:
        self._opening, self._lock = opening, threading.Lock()
        self.memory: Memory | None = None

    def __call__(self) -> Memory:
        with self._lock:
            if self.memory is None:
                self.memory = self._opening()
            return self.memory

    def call(self, verb: str, /, *args: Any, **named: Any) -> Any:
        return getattr(self(), verb)(*args, **named)


# ---------------------------------------------------------------- sessions


class SessionToOpen(Generic[Opened]):
    """A session that opens when it is awaited, or entered with `async with`."""

    def __init__(self, begin: Callable[[], Coroutine[Any, Any, Opened]]) -> None:
        self._begin = begin

    def __await__(self) -> Generator[Any, Any, Opened]:
        return self._begin().__await__()

    async def __aenter__(self) -> Opened:
        self._session = await self._begin()
        return self._session

    async def __aexit__(self, *problem: Any) -> None:
        await self._session.__aexit__(*problem)


class AsyncSession(SessionVerbs, Awaited):
    """`Session` for programs with an event loop. It ends with the `async with` block, or with `close`."""

    def __init__(self, session: Session, threads: Pools) -> None:
        self._session, self._threads = session, threads

    def __repr__(self) -> str:
        return repr(self._session).replace("<", "<Async", 1)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self._threads.do("writes", self._session.__exit__, *problem)

    @property
    def id(self) -> str:
        return self._session.id

    @property
    def agent(self) -> str | None:
        return self._session.agent

    @property
    def record(self) -> Coroutine[Any, Any, Record]:
        """The session's record as it is now: `await session.record`."""
        return self._threads.do("reads", getattr, self._session, "record")

    def fork(self, id: str | None = None, agent: str | None = None) -> SessionToOpen["AsyncSession"]:
        """`Session.fork`: another session that begins with what was said and noted in this one."""
        return SessionToOpen(partial(self._forked, id, agent))

    async def _forked(self, id: str | None, agent: str | None) -> "AsyncSession":
        return AsyncSession(await self._threads.do("waits", self._session.fork, id, agent), self._threads)

    async def _do(self, verb: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        pool: Pool = "reads" if verb in SESSION_READS else "writes"
        return await self._threads.do(pool, getattr(self._session, verb), *args, **named)
