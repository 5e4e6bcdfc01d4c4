"""MCP over streamable HTTP, behind the door of the HTTP server: its keys, its memories, its lanes.

The project is the one that a call names, else the one in the address (`/mcp?project=atlas`), else the server's. With a key, those
it is for are served; without one, the server's own and those that the address names.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from memorist.errors import Invalid, OutOfScope
from memorist.surfaces.http.guard import Visitor
from memorist.surfaces.http.keys import ANY_PROJECT, ApiKey
from memorist.surfaces.mcp import tools
from memorist.surfaces.mcp.projects import NOWHERE, Served, asked_by, scope_asked, seen
from memorist.surfaces.mcp.server import McpDoor, over_http
from memorist.text.visible import quoted

if TYPE_CHECKING:
    from memorist.surfaces.http.work import Work


class SharedProjects:
    """The projects of a server for many clients."""

    wants_folder = False  # a server that serves many works in no client's folder

    def __init__(self, work: "Work", reader: bool = False) -> None:
        self._work, self._reader = work, reader

    def settle(self, folder: Path | None) -> None:
        """Nothing to settle."""

    @contextmanager
    def served(self, asked: Any, request: Any) -> Iterator[Served]:
        memories, visitor = self._work.memories, request.scope["memorist"]
        key = visitor.key
        own = memories.usual if key is None else key.project(None, memories.usual)
        if unknown := sorted(set(request.query_params) - {"project"}):  # a slip would write to another project
            raise Invalid(
                f"{quoted(unknown[0])} is no part of this address; it takes project, such as /mcp?project=atlas"
            )
        named = [scope_asked(name, own) for name in request.query_params.getlist("project")]
        scope = scope_asked(asked, named[0] if named else own)
        real = scope in (own, *named) if key is None else _is_for(key, scope)
        if not real and key is not None:
            visitor = Visitor(visitor.request_id, replace(key, projects=(ANY_PROJECT,)))
        with memories.seen_by(visitor, asked_by(scope, memories.usual) if real else NOWHERE) as memory:
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


class McpMount:
    """What the HTTP server runs at its path."""

    def __init__(self, work: "Work", profile: str = tools.DEFAULT) -> None:
        places = SharedProjects(work, tools.reads_only(profile))
        self._handle, self._running = over_http(McpDoor(places, profile, wrote=work.files.wrote), work.limits.size)
        self._closing = work.closing
        self.router = self  # where the HTTP server looks for the lifespan of what it mounts

    def lifespan_context(self, app: object) -> AbstractAsyncContextManager[None]:
        return self._running()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] != "GET":  # a call is finished, even while the server ends
            await self._handle(scope, receive, send)
            return
        async with anyio.create_task_group() as group:  # a stream that waits for news of the server ends with it
            group.start_soon(self._end, group.cancel_scope)
            await self._handle(scope, receive, send)
            group.cancel_scope.cancel()

    async def _end(self, scope: anyio.CancelScope) -> None:
        await self._closing.wait()
        scope.cancel()
