"""The Model Context Protocol, spoken by the official SDK, which is imported here and nowhere else.

One server for both transports and for all versions of the protocol from 2024-11-05 on. Calls run in threads, a few at a
time; reads do not wait for writes. Standard output carries only the protocol: anything else that would be printed there
goes to standard error.

If the client can ask its user (elicitation), the user is asked before something is destroyed. The answer confirms the
caller's own act and nothing more: the text stays an agent's word, and what needs the user's consent waits in the queue,
unless the person who started the server declared these answers to be theirs (`trust`).
"""

import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

import anyio
import mcp_types as types
from mcp.server import CacheHint, Server, ServerRequestContext
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from pydantic_core import from_json

from memorist import __version__
from memorist.commands import SESSION_PARTS, VERBS, only_reads
from memorist.errors import MemoristError
from memorist.surfaces.http.work import lane_of
from memorist.surfaces.mcp import frames, shapes, tools, words
from memorist.surfaces.mcp.calls import NOTHING, Calls, Opening, ToolAnswer, may_destroy
from memorist.surfaces.mcp.projects import Places, Projects
from memorist.surfaces.mcp.tools import Tool

Context = ServerRequestContext[Any, Any]
Handle = Callable[[Any, Any, Any], Coroutine[Any, Any, None]]
ROOTS_WAIT = 5.0  # seconds for a client to name its folder
LISTED = 50  # memories listed as resources
AN_HOUR = 60 * 60 * 1000  # milliseconds
# What resources and prompts ask the engine, answered as tools are.
_LIST = Tool("resources/list", "", "", "latest", "records", {"limit": ""}, by="resources", types={"limit": {}})
_READ = Tool("resources/read", "", "", "get", "memory", {"id": ""})
_BEGIN = Tool("prompts/get", "", "", "context", "context", {"query": ""})
CONFIRM, APPROVE = "confirm", "approve"
AGREES = {
    "type": "object",
    "properties": {"confirm": {"type": "boolean", "title": "Yes, do it", "default": False}},
    "required": ["confirm"],
}
DECLINED = "the person said no, so nothing was done; go on without it"
NO_MESSAGE = (
    'this is no message of JSON-RPC 2.0: send one at a time, with "jsonrpc": "2.0", a method, params as an object, and a text or a '
    "whole number as its id"
)
LATER = "a person has to agree first, and the question waits for them: `memorist review` decides it; go on without it"


@dataclass(slots=True)
class McpDoor:
    """One server: its tools, its projects, and how it calls them."""

    places: Places
    profile: str = tools.DEFAULT
    trust: bool = False
    wrote: Callable[[Any], None] = lambda memory: None
    offered: Mapping[str, Tool] = field(init=False)
    calls: Calls = field(init=False)
    _rooted: bool = field(init=False, default=False)
    _settling: anyio.Lock = field(init=False, default_factory=anyio.Lock)

    def __post_init__(self) -> None:
        self.offered = tools.profile(self.profile)
        self.calls = Calls(self.offered, self.wrote)

    def server(self) -> Server[Any]:
        """The server that the SDK runs."""
        made: Server[Any] = Server(
            "memorist",
            version=__version__,
            title="memorist",
            description="A memory for LLM agents: one SQLite file, no key, no network, no daemon.",
            instructions=words.instructions(self.profile),
            cache_hints={
                "tools/list": CacheHint(AN_HOUR, "public"),
                "prompts/list": CacheHint(AN_HOUR, "public"),
                "resources/templates/list": CacheHint(AN_HOUR, "public"),
            },
            get_tool_input_schema=self._input,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
        )
        security = RequestStateSecurity(keys=[os.urandom(32)], bind_principal=_bearer)
        made.middleware.append(RequestStateBoundary(security, default_audience="memorist"))
        return made

    # ------------------------------------------------------------ tools

    def _input(self, name: str) -> Mapping[str, Any] | None:
        return self.offered[name].input if name in self.offered else None

    async def _list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        _must_be_first(params)
        return types.ListToolsResult(tools=[_shown(tool) for tool in self.offered.values()])

    async def _call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        tool = self._named(params.name)
        given = tool.given(params.arguments or {})
        served = await self._served(ctx, given.pop("project", None))
        asked = _Asked(ctx, params)
        if asked.about(APPROVE) is not None:
            return await self._decide(asked, str(asked.about(APPROVE)), served)
        agreed, mark = await self._confirmed(asked, tool, given, served)
        if isinstance(agreed, types.CallToolResult | types.InputRequiredResult):
            return agreed
        if not agreed:
            return _result(await self._do(partial(self.calls.told, "declined", DECLINED, served)))
        done = await self._do(partial(self.calls.answer, tool, given, served, mark), lane(tool, given))
        if done.pending and self.trust and asked.possible:
            return await self._settle(asked, done, served, agreed=mark not in (None, NOTHING.mark))
        return _result(done)

    async def _confirmed(
        self, asked: "_Asked", tool: Tool, given: Mapping[str, Any], served: Opening
    ) -> tuple[Any, str | None]:
        """Asks a person before something is destroyed. → whether they agreed, or what to answer instead; and the mark of what
        they were asked about, None where nobody can be asked"""
        mark = asked.about(CONFIRM)
        if mark is not None:
            return asked.given(CONFIRM), mark
        if not (asked.possible and may_destroy(tool, given)):
            return True, None
        found = await self._do(partial(self.calls.confirmation, tool, given, served))
        if isinstance(found, ToolAnswer):  # the server is too busy to look, so nothing is destroyed either
            return _result(found), None
        return await asked.ask(CONFIRM, found.question, found.mark) if found.versions else True, found.mark

    def _named(self, name: str) -> Tool:
        if name not in self.offered:
            known = ", ".join(self.offered)
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {name[:60]!r} here; tools are {known}")
        return self.offered[name]

    async def _settle(
        self, asked: "_Asked", done: ToolAnswer, served: Opening, agreed: bool
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Asks at once about what waits for a person; whoever confirmed the act itself has already agreed."""
        pending = str(done.pending)
        answer: Any = True if agreed else await asked.ask(APPROVE, str(done.said.get("because")), pending)
        if isinstance(answer, types.InputRequiredResult):
            return answer
        return await self._decided(pending, answer, served, done)

    async def _decide(self, asked: "_Asked", pending: str, served: Opening) -> types.CallToolResult:
        answer = asked.given(APPROVE)
        waits = await self._do(partial(self.calls.told, "needs_consent", LATER, served, pending))
        return await self._decided(pending, answer if self.trust else None, served, waits)

    async def _decided(
        self, pending: str, answer: bool | None, served: Opening, waits: ToolAnswer
    ) -> types.CallToolResult:
        """None: the person did not decide, so it keeps waiting."""
        if answer is None:
            return _result(waits)
        return _result(await self._do(partial(self.calls.decided, pending, answer, served), "writing"))

    # ------------------------------------------------------------ resources

    async def _list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """The latest memories of the project."""
        _must_be_first(params)
        served = await self._served(ctx, None)
        found = await self._do(partial(self.calls.answer, _LIST, {"limit": LISTED}, served))
        if found.failed:
            raise MCPError(types.INTERNAL_ERROR, found.text)
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=f"{shapes.URI}{each['id']}", name=f"[id:{each['id']}] {each['kind']}",
                    title=shapes.titled(each.get("title") or each["text"]), description=f"A memory of {each['at'][:10]}.",
                    mime_type="application/json",
                )
                for each in found.said["memories"]
            ]
        )  # fmt: skip

    async def _list_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        _must_be_first(params)
        template = types.ResourceTemplate(
            uri_template=f"{shapes.URI}{{id}}", name="memory", title="One memory",
            description="A memory in full, by the id of a hit.", mime_type="application/json",
        )  # fmt: skip
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def _read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        served = await self._served(ctx, None)
        wanted = {"id": unquote(uri.removeprefix(shapes.URI))}
        found = uri.startswith(shapes.URI) and await self._do(partial(self.calls.answer, _READ, wanted, served))
        if not found or found.failed:
            said = found.text if found else f"resources are {shapes.URI}ID, with the id of a memory"
            raise MCPError(types.INVALID_PARAMS, f"Resource not found: {said}", {"uri": uri})
        content = types.TextResourceContents(uri=uri, mime_type="application/json", text=found.text)
        return types.ReadResourceResult(contents=[content])

    # ------------------------------------------------------------ prompts

    async def _list_prompts(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        _must_be_first(params)
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=each.name, title=each.title, description=each.says,
                    arguments=[
                        types.PromptArgument(name=name, description=said, required=True)
                        for name, said in each.takes.items()
                    ],
                )
                for each in words.PROMPTS
            ]
        )  # fmt: skip

    async def _get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        offer = next((each for each in words.PROMPTS if each.name == params.name), None)
        if offer is None:
            known = ", ".join(each.name for each in words.PROMPTS)
            raise MCPError(types.INVALID_PARAMS, f"there is no prompt {params.name[:60]!r}; prompts are {known}")
        given = dict(params.arguments or {})
        if given.keys() != offer.takes.keys():
            raise MCPError(types.INVALID_PARAMS, f"{offer.name} takes {', '.join(offer.takes) or 'no arguments'}")
        text = words.protocol(self.profile) if offer.name == "recall_protocol" else words.KEEP
        if offer.name == "start_task":
            text = await self._begun(ctx, given["task"])
        said = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(description=offer.says, messages=[said])

    async def _begun(self, ctx: Context, task: str) -> str:
        """The task, and what memory knows about it."""
        served = await self._served(ctx, None)
        found = await self._do(partial(self.calls.answer, _BEGIN, {"query": task}, served))
        known = found.said.get("text")
        where = f" in project {found.said['project']}" if "project" in found.said else ""
        return (
            f"{task}\n\nWhat memory holds about it{where}:\n{known}"
            if known
            else f"{task}\n\nMemory holds nothing about it{where}."
        )

    # ------------------------------------------------------------ threads and folders

    async def _served(self, ctx: Context, asked: str | None) -> Opening:
        """How to open the project that a call means. If that depends on the client's folder, the client is asked for it
        once."""
        if self.places.wants_folder:
            async with self._settling:  # concurrent calls wait for the same answer
                if self.places.wants_folder and not self._rooted:
                    self.places.settle(await _folder_of(ctx))
                self._rooted = True
        return partial(self.places.served, asked, ctx.request)

    async def _do(self, work: Callable[[], Any], lane: str = "reading") -> Any:
        """Runs it in a thread. A server that is too busy reports that like any other tool error."""
        try:
            return await self.places.do(work, lane)
        except MemoristError as busy:
            return self.calls.failure(busy, None)


def lane(tool: Tool, given: Mapping[str, Any]) -> str:
    """The lane of a call: that of its verb; other tools are as quick as what they do."""
    verb = (VERBS.get(tool.verb) or SESSION_PARTS.get(tool.verb)) if tool.by == "memory" else None
    if verb is None:
        return "reading" if tool.act == "reads" else "writing"
    size = sum(len(value) for value in given.values() if isinstance(value, str))
    return "reading" if only_reads(verb, given) else lane_of(verb, size)


def _shown(tool: Tool) -> types.Tool:
    hints = types.ToolAnnotations.model_validate(tool.hints, by_name=False)
    return types.Tool(
        name=tool.name, title=tool.title, description=tool.says, input_schema=tool.input, output_schema=tool.output,
        annotations=hints,
    )  # fmt: skip


def _must_be_first(params: types.PaginatedRequestParams | None) -> None:
    """A list is one page here, so a cursor is of something else: a client that follows it would read the list for ever."""
    if params is not None and params.cursor:
        raise MCPError(types.INVALID_PARAMS, "this cursor is of no list here, where each is one page; ask without it")


def _result(answer: ToolAnswer) -> types.CallToolResult:
    text = types.TextContent(type="text", text=answer.text)
    return types.CallToolResult(
        content=[text], structured_content=None if answer.failed else answer.said, is_error=answer.failed
    )


# ---------------------------------------------------------------- asking a person


@dataclass(frozen=True, slots=True)
class _Asked:
    """A call by a client that may have a person to ask. In older versions of the protocol the server asks and waits;
    since 2026-07-28 the question is the answer, and the call comes again with what the person said."""

    ctx: Context
    params: types.CallToolRequestParams

    def about(self, key: str) -> str | None:
        """What the question with that key was about, if this call brings what the person said to it: only what was asked has
        a state, which the client cannot make."""
        step, _, what = (self.params.request_state or "").partition(" ")
        return what if step == key else None

    @property
    def possible(self) -> bool:
        able = self.ctx.session.client_capabilities
        form = able.elicitation if able is not None else None
        if form is None or (form.url is not None and form.form is None):
            return False
        return self._again or self.ctx.session.can_send_request

    @property
    def _again(self) -> bool:
        return self.ctx.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def ask(self, key: str, question: str, about: str) -> types.InputRequiredResult | bool | None:
        """True or False; None if the person did not decide."""
        if not self._again:
            said = await self.ctx.session.elicit_form(question, AGREES, self.ctx.request_id)
            return _agreed(said.action, said.content)
        form = types.ElicitRequest(params=types.ElicitRequestFormParams(message=question, requested_schema=AGREES))
        return types.InputRequiredResult(input_requests={key: form}, request_state=f"{key} {about}")

    def given(self, key: str) -> bool | None:
        """What the person said, as the repeated call brought it."""
        said = (self.params.input_responses or {}).get(key)
        return _agreed(said.action, said.content) if isinstance(said, types.ElicitResult) else None


def _agreed(action: str, content: Mapping[str, Any] | None) -> bool | None:
    if action == "accept":
        return (content or {}).get("confirm") is True
    return False if action == "decline" else None


async def _folder_of(ctx: Context) -> Path | None:
    """The first folder among the client's roots, if it has any and answers in time."""
    able = ctx.session.client_capabilities
    if able is None or able.roots is None or not ctx.session.can_send_request:
        return None
    try:
        found = await ctx.session.send_request(types.ListRootsRequest(), types.ListRootsResult, ROOTS_WAIT)
    except (MCPError, TimeoutError, ValueError):
        return None
    paths = [urlsplit(str(root.uri)) for root in found.roots]
    return next((Path(url2pathname(each.path)) for each in paths if each.scheme == "file"), None)


# ---------------------------------------------------------------- HTTP


def over_http(door: McpDoor, most: int, idle: float) -> tuple[Handle, Callable[[], AbstractAsyncContextManager[None]]]:
    """Yields the handler for streamable HTTP requests. The application that mounts it first checks Host, Origin, keys
    and the number of sessions. `most` is the limit for a request in bytes, `idle` the seconds after which an unused
    session ends. A session belongs to the key that began it; for any other key it does not exist."""
    sessions = StreamableHTTPSessionManager(
        door.server(),
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=most,
        session_idle_timeout=idle,
        max_sessions=None,
    )

    async def handle(scope: Any, receive: Any, send: Any) -> None:
        name = _key_of(scope)
        owner = None if name is None else AuthenticatedUser(AccessToken(token="", client_id=name, scopes=[]))
        await sessions.handle_request({**scope, "user": owner}, receive, send)

    return handle, sessions.run


def may_have_session(version: str) -> bool:
    """Whether a request of that version, or of none, belongs to a session or begins one; requests of later versions
    stand alone."""
    return not version or version in HANDSHAKE_PROTOCOL_VERSIONS


def _bearer(ctx: Context) -> str | None:
    """Whose request it is: one client cannot answer a question put to another."""
    return _key_of(ctx.request.scope) if ctx.request is not None else None


def _key_of(scope: Mapping[str, Any]) -> str | None:
    visitor = scope.get("memorist")
    return visitor.key.name if visitor is not None and visitor.key is not None else None


# ---------------------------------------------------------------- standard input and output


def stdio(door: McpDoor, projects: Projects) -> None:
    """Serves one client until it closes its end, or until SIGTERM or Ctrl-C. Everything acknowledged is stored."""

    def stop(number: int, frame: FrameType | None) -> None:
        projects.close()
        sys.stderr.flush()
        os._exit(128 + number)  # the thread that waits for standard input cannot be woken up

    for name in ("SIGTERM", "SIGINT"):
        signal.signal(getattr(signal, name), stop)
    if hasattr(signal, "SIGPIPE"):  # a client that goes away must not end a call in the middle
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        anyio.run(_serve, door)
    except* BrokenPipeError:  # nobody is there to read an answer, nor that a stream cannot be flushed at the end
        projects.close()
        os._exit(0)
    finally:
        projects.close()


async def _serve(door: McpDoor) -> None:
    server, lines = door.server(), _Lines(_own_input())
    async with stdio_server(lines) as (incoming, outgoing):  # type: ignore[arg-type]  # which only goes through its lines
        lines.answer = outgoing.send
        await server.run(incoming, outgoing, server.create_initialization_options())


def _own_input() -> anyio.AsyncFile[str]:
    """Reserves standard input for the protocol: any other reader, such as a program that a plugin starts, finds it
    empty."""
    own = os.dup(0)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    return anyio.wrap_file(os.fdopen(own, encoding="utf-8", errors="replace"))


class _Lines:
    """The lines that a client sends. The SDK ignores a line that is not a protocol message, and its sender would wait
    for ever; so such lines are answered here, and the SDK sees the rest."""

    answer: Callable[[SessionMessage], Coroutine[Any, Any, None]]

    def __init__(self, lines: anyio.AsyncFile[str]) -> None:
        self._lines = lines

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._lines:
            wrong = _wrong(line) if line.strip() else None
            if wrong is None:
                yield line
                continue
            for id in frames.ids_of(line):
                await self.answer(SessionMessage(_Refused(jsonrpc="2.0", id=id, error=wrong)))


class _Refused(types.JSONRPCError):
    """An error with the request's id, even if that is a number that the SDK does not accept."""

    id: int | float | str | None  # type: ignore[assignment]


def refusal(body: bytes) -> bytes | None:
    """What to answer to the body of a request that is no message: one refusal, under the id if there is just one; None if
    it is a message."""
    wrong = _wrong(body)
    if wrong is None:
        return None
    error = {"code": wrong.code, "message": wrong.message}
    ids = [id for id in frames.ids_of(body.decode("utf-8", "replace")) if id is not None]
    return json.dumps({"jsonrpc": "2.0", "id": ids[0] if len(ids) == 1 else None, "error": error}).encode()


def _wrong(line: str | bytes) -> types.ErrorData | None:
    """What is wrong with a line, or a body; None if it is a message."""
    try:
        if line.lstrip()[:1] in ("[", b"["):  # no message, and its errors would hold it once for each kind of one
            from_json(line)
            return types.ErrorData(code=types.INVALID_REQUEST, message=NO_MESSAGE)
        read = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as problem:
        told = problem.errors()[0]
        if told["type"] == "json_invalid":
            return _unreadable(told["msg"])
        return types.ErrorData(code=types.INVALID_REQUEST, message=NO_MESSAGE)
    except ValueError as problem:
        return _unreadable(f"Invalid JSON: {problem}")
    if isinstance(read, types.JSONRPCNotification) and frames.has_id(line):  # a request whose id is invalid
        return types.ErrorData(code=types.INVALID_REQUEST, message=NO_MESSAGE)
    return None


def _unreadable(because: str) -> types.ErrorData:
    return types.ErrorData(code=types.PARSE_ERROR, message=f"{because}; send each message as one line of JSON")
