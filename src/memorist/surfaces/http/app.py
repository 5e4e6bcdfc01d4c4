"""The application: a route for every verb, the server's other routes, and the guard in front of them all.

FastAPI has all routes, and the OpenAPI comes from what `contract.py` reads in the table of verbs. FastAPI itself answers
only the other routes; verbs are answered before it (`straight.py`). Other applications that serve the same memory, such
as an MCP server, are mounted behind the same guard (`MOUNTED`).
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse
from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client import Counter as Counted
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match, Route

from memorist import __version__
from memorist.commands import ALSO, SESSION_PARTS, VERBS, Verb, also
from memorist.errors import Invalid, MemoristError
from memorist.files.transfer import Imported
from memorist.records import Record
from memorist.surfaces.http import contract, more
from memorist.surfaces.http.guard import Guard, ServerLimits, Visitor
from memorist.surfaces.http.keys import KeyRing
from memorist.surfaces.http.replies import Reply
from memorist.surfaces.http.straight import Straight
from memorist.surfaces.http.verbs import Answers, perform
from memorist.surfaces.http.work import Memories, Work
from memorist.surfaces.http.workers import Workers
from memorist.surfaces.mcp import tools
from memorist.surfaces.wire import TurnedAway

USUAL_LIMITS = ServerLimits()
Endpoint = Callable[[Request], Awaitable[Response]]
Mounted = Callable[[Work], Any]


def _mcp(profile: str, work: Work) -> Any:
    from memorist.surfaces.mcp.mounted import McpMount

    return McpMount(work, profile)


# Other applications served behind the same guard: a path, and a function that builds an ASGI application from the
# server's work. Such an application finds the `Visitor` in `scope["memorist"]`, and gets its memory from
# `work.memories.seen_by(visitor, project)`.
MOUNTED: dict[str, Mounted] = {}
if find_spec("mcp"):  # at /mcp the usual tools, below it each profile by its name
    MOUNTED |= {"/mcp": partial(_mcp, tools.DEFAULT)} | {f"/mcp/{name}": partial(_mcp, name) for name in tools.PROFILES}
OFTEN = ("recall", "remember", "context", "get", "session.turn")


def routes() -> list[tuple[Verb, str, str]]:
    """Every verb with its method and path. The most requested come first, because routes are tried in this order."""
    known = {**VERBS, **SESSION_PARTS}
    named = [(verb.http, verb) for verb in known.values() if verb.http] + [(at, also(at)) for at in ALSO]
    named.sort(key=lambda each: each[1].name not in OFTEN)
    return [(verb, *spelled.split(" ", 1)) for spelled, verb in named]  # type: ignore[misc]


class Meters:
    """The metrics for Prometheus."""

    def __init__(self, work: Work) -> None:
        self.registry = CollectorRegistry()
        labels = ("route", "status")
        self._requests = Counted("memorist_requests", "Requests answered.", labels, registry=self.registry)
        self._seconds = Histogram(
            "memorist_request_seconds", "Seconds a request took.", ("route",), registry=self.registry
        )
        waiting = Gauge("memorist_in_lane", "Requests worked on or waiting.", ("lane",), registry=self.registry)
        for lane in (*work.lanes.values(), *([work.workers] if work.workers else ())):
            waiting.labels(lane.name).set_function(lambda lane=lane: lane.inside)  # type: ignore[misc]
        free = Gauge("memorist_disk_free_bytes", "Bytes left on the disk of the store.", registry=self.registry)
        free.set_function(lambda: work.disk.free or 0)
        followers = Gauge("memorist_followers", "Clients that follow events.", registry=self.registry)
        followers.set_function(work.followers.taken.total)

    def seen(self, route: str, status: int, seconds: float) -> None:
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def written(self) -> bytes:
        return generate_latest(self.registry)


class NamedRoute(Route):
    """A route that FastAPI does not make, and that figures and log know by its path nevertheless."""

    def matches(self, scope: Any) -> tuple[Match, Any]:
        match, found = super().matches(scope)
        return match, {**found, "route": self}


class _Following(StreamingResponse):
    """A streaming response that reports when it is over, whoever ended it and even if it never began."""

    def __init__(self, content: AsyncIterator[bytes], over: Callable[[], None], media_type: str) -> None:
        super().__init__(content, media_type=media_type)
        self._over = over

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._over()


class Application:
    """The application of one server; `asgi` is what a server runs."""

    def __init__(
        self,
        memories: Memories,
        ring: KeyRing | None = None,
        *,
        required: bool = False,
        names: tuple[str, ...] = (),
        limits: ServerLimits = USUAL_LIMITS,
        workers: Workers | None = None,
    ) -> None:
        self.work, self.answers = Work(memories, limits, workers, ring), Answers()
        self.figures = Meters(self.work)
        self._mounted = {path: make(self.work) for path, make in MOUNTED.items()}
        self.api = FastAPI(
            title="memorist", version=__version__, lifespan=self._lifespan, docs_url=None, redoc_url=None,
            redirect_slashes=False, openapi_url="/openapi.json",
            description="A memory for LLM agents. Arguments and answers are those of the library.",
        )  # fmt: skip
        self._add_verbs()
        self._add_others()
        for path, app in self._mounted.items():
            self.api.router.routes.append(NamedRoute(path, app))  # at exactly this path, not at those below it
        self.api.add_exception_handler(HTTPException, self._no_route)
        self.api.add_exception_handler(MemoristError, _as_problem)
        self.api.add_exception_handler(OSError, _as_problem)
        self.api.add_exception_handler(ClientDisconnect, _went)
        self.api.add_exception_handler(
            Exception, _as_problem
        )  # Starlette raises it again after the handler, and the guard logs it
        self._document: dict[str, Any] | None = None
        self.api.openapi = self.openapi  # type: ignore[method-assign]
        straight = Straight(self.api, _spelled(), lambda asked: perform(asked, self.work, self.answers))
        self.asgi = Guard(straight, ring, required, names, limits, self.figures.seen)

    @asynccontextmanager
    async def _lifespan(self, api: FastAPI) -> AsyncIterator[None]:
        """Starts and stops the mounted applications with the server, then finishes work in progress and closes the
        memories."""
        async with AsyncExitStack() as stack:
            for app in self._mounted.values():
                lifespan = getattr(getattr(app, "router", None), "lifespan_context", None)
                if lifespan is not None:
                    await stack.enter_async_context(lifespan(app))
            yield
            self.work.closing.set()
        self.work.close()

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document, including the schemas of all answers."""
        if self._document is None:
            document = FastAPI.openapi(self.api)
            schemas = {**contract.NOUNS, "Problem": contract.PROBLEM}
            document.setdefault("components", {})["schemas"] = schemas
            document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            document["security"] = [{"key": []}, {}]
            self._document = document
        return self._document

    # ------------------------------------------------------------ verbs

    def _add_verbs(self) -> None:
        for verb, method, path in _spelled():
            self._add(verb.help, method, path, _answered_before, contract.operation(verb, method, path))

    def _add(self, summary: str, method: str, path: str, endpoint: Endpoint, said: Mapping[str, Any]) -> None:
        named = re.sub(r"\W+", "_", f"{method}{path}".lower()).strip("_")
        self.api.add_api_route(
            path, endpoint, methods=[method], operation_id=named, summary=summary, response_class=Response,
            openapi_extra=dict(said), name=named,
        )  # fmt: skip

    async def _no_route(self, request: Request, problem: Exception) -> Response:
        status = getattr(problem, "status_code", 404)
        if status == 405:
            allowed = self._allowed(request.url.path)
            turned = TurnedAway("no_such_method", f"this path takes {', '.join(allowed)}, not {request.method[:20]}")
            reply = Reply.of_problem(turned, _visitor(request).request_id)
            return _response(Reply(reply.status, reply.body, {**reply.headers, "allow": ", ".join(allowed)}))
        code = "malformed" if status == 400 else "no_such_path"
        said = "there is no such path; /openapi.json lists them" if status != 400 else "the request cannot be read"
        return _response(Reply.of_problem(TurnedAway(code, said), _visitor(request).request_id))

    def _allowed(self, path: str) -> list[str]:
        """The methods that a path accepts."""
        found = (route for route in self.api.routes if isinstance(route, Route) and route.path_regex.match(path))
        return sorted({method for route in found for method in route.methods or ()})

    # ------------------------------------------------------------ the others

    def _add_others(self) -> None:
        asked, texts, flag = contract.asked_for, contract.texts, ["true", "false"]
        lines = texts("application/x-ndjson", "text/markdown")
        style = asked("style", "string", "jsonl, canonical or markdown; jsonl without it.", enum=[*more.STYLES])
        where = asked("where", "string", "A filter as a JSON object.")
        every = asked("all", "string", "All that may be read, not only this project.", enum=flag)
        self._add_other("Memories as lines of JSON.", "GET", "/v1/export", self._export,
                  contract.other([style, where, every, contract.PROJECT], lines))  # fmt: skip
        scope = asked("scope", "string", "Where all of it goes.")
        dry, document = (asked(name, "string", "true or false.", enum=flag) for name in ("dry_run", "document"))
        name = asked("name", "string", "What the file is called.")
        self._add_other("Brings memories in from a file.", "POST", "/v1/import", self._import,
                  contract.other([scope, dry, document, name, contract.PROJECT], contract.answer_of(Imported), lines))  # fmt: skip
        self._add_other("What happens, as it happens.", "GET", "/v1/events", self._events,
                  contract.other([contract.PROJECT, contract.LAST_EVENT], texts("text/event-stream")))  # fmt: skip
        query = asked("query", "string", "A question; all of it without one.")
        type = asked("type", "string", "Only items of this type, such as decision.")
        limit = asked("limit", "integer", "How many at most; default: 100.")
        known = contract.other([contract.in_path("project", {}), query, type, limit], contract.answer_of(list[Record]))
        self._add_other("What was extracted from the files of a project.", "GET", "/v1/projects/{project:path}/knowledge",
                  self._knowledge, known)  # fmt: skip
        call = {"type": "object", "properties": {"tool": {"enum": [*more.TOOLS]}, "input": {"type": "object"}},
                "required": ["tool", "input"], "additionalProperties": False}  # fmt: skip
        self._add_other("The tools of a founding document, by their own names.", "POST", "/api/tools/call", self._tool,
                  contract.other([contract.PROJECT], contract.json_of({}), contract.json_of(call)))  # fmt: skip
        self._add_other("Whether the server is well.", "GET", "/healthz", self._health, contract.health())
        watched = NamedRoute("/healthz", self._health, methods=["HEAD"], include_in_schema=False)
        self.api.router.routes.append(watched)  # as watchers of servers ask
        self._add_other(
            "Figures for Prometheus.", "GET", "/metrics", self._metrics, contract.other([], texts("text/plain"))
        )

    def _add_other(self, summary: str, method: str, path: str, endpoint: Endpoint, said: Mapping[str, Any]) -> None:
        async def unconditional(request: Request) -> Response:
            more.must_ask_plainly(request.headers, writes)
            return await endpoint(request)

        writes = method == "POST"
        about = {"description": "Takes no Idempotency-Key, and refuses one."} if writes else {}
        self._add(summary, method, path, unconditional, {**said, **about})

    async def _export(self, request: Request) -> Response:
        project, said = more.query_of(_query(request), "style", "where", "all")
        flow = more.Outflow(self.work, _visitor(request), project, said)
        type = flow.type
        return StreamingResponse(await flow.begun(), media_type=type)

    async def _import(self, request: Request) -> Response:
        type = request.headers.get("content-type", "")
        return _response(await more.bring(request.stream(), type, _query(request), _visitor(request), self.work))

    async def _events(self, request: Request) -> Response:
        project, _ = more.query_of(_query(request))
        said = request.headers.get("last-event-id")
        if said is not None and not re.fullmatch(r"\d{1,15}", said):
            raise Invalid(f"Last-Event-ID is the number of an event, not {said!r:.60}; without it, what comes is told")
        visitor = _visitor(request)
        follower = more.EventStream(self.work, visitor, project, None if said is None else int(said))
        await self.work.lanes["reading"].do(follower.must_be_let_in)
        return _Following(follower.lines(), self.work.followers.take(visitor), media_type="text/event-stream")

    async def _knowledge(self, request: Request) -> Response:
        visitor, query = _visitor(request), _query(request)
        project = request.path_params["project"]
        return _response(
            await self.work.lanes["reading"].do(lambda: more.knowledge(self.work, visitor, project, query))
        )

    async def _tool(self, request: Request) -> Response:
        visitor, query, type = _visitor(request), _query(request), request.headers.get("content-type")
        body, lanes = await request.body(), self.work.lanes
        tool, given = await lanes["reading"].do(lambda: more.tool_named(type, body, self.work.limits.depth))
        lane = lanes["reading" if tool in more.READING_TOOLS else "writing"]
        return _response(await lane.do(lambda: more.tool_called(self.work, visitor, query, tool, given)))

    async def _health(self, request: Request) -> Response:
        found = await self.work.health_lately()
        return _response(Reply.of(found, 503 if found["store"] != "ok" else 200))

    async def _metrics(self, request: Request) -> Response:
        return Response(self.figures.written(), media_type="text/plain; version=0.0.4; charset=utf-8")


# ---------------------------------------------------------------- between Starlette's requests and ours


def _spelled() -> list[tuple[Verb, str, str]]:
    """The routes of all verbs, as Starlette reads them: the name of a session may contain a slash."""
    return [(verb, method, path.replace("{session}", "{session:path}")) for verb, method, path in routes()]


# Stands for a verb, so that FastAPI describes it and knows the methods of its path; `Straight` answers it. (A docstring
# would be shown in the OpenAPI.)
async def _answered_before(request: Request) -> Response:
    raise HTTPException(404)


def _visitor(request: Request) -> Visitor:
    found: Visitor = request.scope["memorist"]
    return found


def _query(request: Request) -> str:
    said: bytes = request.scope["query_string"]
    return said.decode("latin-1")


def _response(reply: Reply) -> Response:
    return Response(reply.body, reply.status, dict(reply.headers))


async def _as_problem(request: Request, problem: Exception) -> Response:
    return _response(Reply.of_problem(problem, _visitor(request).request_id))


async def _went(request: Request, problem: Exception) -> Response:
    """The client is gone. Metrics and log record a 499, because the server is not at fault."""
    return Response(status_code=499)
