"""MCP over streamable HTTP, behind the guard of the HTTP server and with its keys, memories and lanes.

The project is the one that a call names, else the one in the address (`/mcp?project=atlas`), else the server's. With a
key, the server serves the projects of that key; without one, its own and those that the address names.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from memorist.errors import Invalid, OutOfScope
from memorist.surfaces.http.guard import Receive, Visitor
from memorist.surfaces.http.keys import ApiKey
from memorist.surfaces.http.replies import JSON_TYPE, Message, Reply
from memorist.surfaces.mcp import tools
from memorist.surfaces.mcp.projects import NOWHERE, Served, scope_asked, seen
from memorist.surfaces.mcp.server import McpDoor, may_have_session, over_http, refusal
from memorist.text.visible import quoted

if TYPE_CHECKING:
    from memorist.surfaces.http.work import Work

IDLE = 30 * 60.0  # seconds after which a session that nobody uses ends
LOOK = 0.5  # seconds between two looks at the key of a stream
LARGE = 256 << 10  # bytes of a body that is read in a thread
LARGE_AT_ONCE = 2  # such bodies: read, each takes many times its size
SESSION, SPOKEN, LAST = b"mcp-session-id", b"mcp-protocol-version", b"last-event-id"


class SharedProjects:
    """The projects of a server for many clients."""

    wants_folder = False  # a server with many clients works in no client's folder

    def __init__(self, work: "Work", reader: bool = False) -> None:
        self._work, self._reader = work, reader

    def settle(self, folder: Path | None) -> None:
        """Does nothing: no folder has to be asked for."""

    @contextmanager
    def served(self, asked: Any, request: Any) -> Iterator[Served]:
        memories, visitor = self._work.memories, request.scope["memorist"]
        key = visitor.key
        own = memories.usual if key is None else key.project(None, memories.usual)
        if unknown := sorted(set(request.query_params) - {"project"}):  # a typo would write to another project
            raise Invalid(
                f"{quoted(unknown[0])} is no part of this address; it takes project, such as /mcp?project=atlas"
            )
        named = [scope_asked(name, own) for name in request.query_params.getlist("project")]
        scope = scope_asked(asked, named[0] if named else own)
        real = scope in (own, *named) if key is None else _is_for(key, scope)
        if not real and key is not None:
            visitor = replace(visitor, key=replace(key, projects=(*key.projects, f"project/{NOWHERE}")))
        with memories.seen_by(visitor, scope if real else NOWHERE) as memory:
            yield seen(memory, scope, real, self._reader)

    async def do(self, work: Callable[[], Any], lane: str) -> Any:
        if lane != "reading":
            self._work.disk.must_have_room()
        return await self._work.lanes[lane].do(work)


def _is_for(key: ApiKey, scope: str) -> bool:
    try:
        key.project(scope, scope)
    except OutOfScope:
        return False
    return True


@dataclass(slots=True)
class _Session:
    """The place that an open session takes up."""

    give_back: Callable[[], None]
    inside: int = 0  # requests in progress
    ending: asyncio.TimerHandle | None = None  # set while there are none
    is_over: bool = False

    def begin(self) -> None:
        self.inside += 1
        if self.ending is not None:
            self.ending.cancel()

    def end(self) -> None:
        """Ends it once, however many of its requests report the end."""
        if not self.is_over:
            self.is_over = True
            self.give_back()


class McpMount:
    """What the HTTP server runs at its MCP path. Everything that lasts takes a place: a stream, a session, a call that
    waits for a person."""

    def __init__(self, work: "Work", profile: str = tools.DEFAULT) -> None:
        places = SharedProjects(work, tools.reads_only(profile))
        door = McpDoor(places, profile, wrote=work.files.wrote)
        self._handle, self._running = over_http(door, work.limits.size, IDLE)
        self._work, self._reading = work, asyncio.Semaphore(LARGE_AT_ONCE)
        self._sessions: dict[tuple[str | None, str], _Session] = {}  # by the name of their key and their id
        self.router = self  # where the HTTP server looks for the lifespan of a mounted application

    def lifespan_context(self, app: object) -> AbstractAsyncContextManager[None]:
        return self._running()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        listens, told = scope["method"] == "GET", _Told(send)
        give_back = (self._work.streams if listens else self._work.calls).take(scope["memorist"])
        try:
            if scope["method"] == "POST":  # which the SDK would refuse in its own words, without the id
                body, receive = await _read(receive)
                if body is None:  # the client is gone, and nobody is there to answer
                    return
                refused = await self._refusal(body)
                if refused is not None:
                    await Reply(400, refused, {"content-type": JSON_TYPE}).sent(send)
                    return
            with self._kept(scope, told):  # a call finishes even while the server ends
                await (self._stream if listens else self._handle)(scope, receive, told)
        finally:
            give_back()

    async def _refusal(self, body: bytes) -> bytes | None:
        if len(body) <= LARGE:
            return refusal(body)
        async with self._reading:
            return await asyncio.to_thread(refusal, body)

    @contextmanager
    def _kept(self, scope: Any, told: "_Told") -> Iterator[None]:
        """Keeps the session open while one of its requests is answered. A request that begins a session takes a place,
        and keeps it if the session begins."""
        visitor, headers = scope["memorist"], dict(scope["headers"])
        known = headers.get(SESSION, b"").decode("latin-1")
        name = visitor.key.name if visitor.key else None
        if not may_have_session(headers.get(SPOKEN, b"").decode("latin-1")):
            session = None
        elif known:
            session = self._sessions.get((name, known))
        else:
            session = _Session(self._work.sessions.take(visitor))
            told.heard = lambda id: self._sessions.update(
                {(name, id): session}
            )  # the client may go on before this block ends
        if session is not None:
            session.begin()
        try:
            yield
        finally:
            if session is not None:
                goes_on = told.leaves_open(scope["method"]) if known else bool(told.session)
                session.inside -= 1
                self._left((name, known or told.session), session, goes_on)

    def _left(self, which: tuple[str | None, str], session: _Session, goes_on: bool) -> None:
        """Gives back the place of a session that has ended, or will if nobody uses it again."""
        if not goes_on:
            self._sessions.pop(which, None)
            session.end()
        elif not session.inside and not session.is_over:
            session.ending = asyncio.get_running_loop().call_later(IDLE, self._left, which, session, False)

    async def _stream(self, scope: Any, receive: Any, told: Any) -> None:
        """A stream that waits for news of the server ends with it, and with its key. No event has a number here, so there is none
        to go on from: who names one gets a new stream, which the SDK would not answer."""
        scope = {**scope, "headers": [header for header in scope["headers"] if header[0] != LAST]}
        async with anyio.create_task_group() as group:
            group.start_soon(self._end, group.cancel_scope, scope["memorist"])
            await self._handle(scope, receive, told)
            group.cancel_scope.cancel()
        if told.status and not told.is_whole:
            await told({"type": "http.response.body", "body": b""})

    async def _end(self, scope: anyio.CancelScope, visitor: Visitor) -> None:
        while self._work.still_knows(visitor):
            with anyio.move_on_after(LOOK):
                await self._work.closing.wait()
                break
        scope.cancel()


async def _read(receive: Receive) -> tuple[bytes | None, Receive]:
    """The whole body, whose size the guard limits, and a `receive` that gives it again. No body if the client went away
    before its end."""
    parts, more = list[bytes](), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None, receive
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    body = b"".join(parts)
    again: list[Message] = [{"type": "http.request", "body": body}]

    async def replayed() -> Message:
        return again.pop() if again else await receive()

    return body, replayed


class _Told:
    """Tracks an answer as it is sent: the status, the session it began or belongs to, and whether it is complete."""

    def __init__(self, send: Any) -> None:
        self._send, self.status, self.session, self.is_whole = send, 0, "", False
        self.heard: Callable[[str], None] = lambda id: None

    def leaves_open(self, method: str) -> bool:
        """Whether the session goes on after this request."""
        return self.status != 404 and not (method == "DELETE" and self.status == 200)

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self.status < 400:
                self.session = dict(message.get("headers", ())).get(SESSION, b"").decode("latin-1")
                self.heard(self.session)
        await self._send(message)
        self.is_whole = message["type"] == "http.response.body" and not message.get("more_body", False)
