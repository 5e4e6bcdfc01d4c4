"""The guard of the server: it checks a request before any handler runs and before a byte of the body is read.

A web page can make its visitor's browser send requests to the visitor's own machine. So a request must name this server
in its Host, must not come from a foreign page (Origin, Sec-Fetch-Site), and no answer can be read across origins: there
are no CORS headers. Then the guard checks the key, its rate, and the size and time of the body. A refusal is a problem
document (RFC 9457) with the id of the request. Keys, texts and queries never appear in a log.
"""

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from memorist.access import WRITERS
from memorist.store.room import SERVERS_LEAVE
from memorist.surfaces.http.keys import ApiKey, KeyRing
from memorist.surfaces.http.replies import Message, Reply, Send
from memorist.surfaces.wire import TurnedAway

Receive = Callable[[], Awaitable[Message]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]
OPEN_PATHS = ("/healthz",)  # answered without a key, because liveness probes have none
IMPORTS = "/v1/import"  # takes a file, which is spooled to disk
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
OWN_PAGE = (b"same-origin", b"none")  # values of Sec-Fetch-Site for requests that no foreign page made
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
BEARER = "bearer "
READ_OFF = 2.0  # seconds in which the rest of a body that is too large may still arrive
FULL = "memorist.full"  # scope key: whether the request came over one connection too many
log = logging.getLogger("memorist.http")


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """The limits of one server."""

    size: int = 16 << 20  # bytes of a body: a million characters, each written as \\uXXXX
    import_size: int = 256 << 20
    seconds: float = 30.0  # for the whole body to arrive
    import_seconds: float = 600.0
    depth: int = 100  # how deep objects and lists may be nested
    waiting: int = 64  # requests waiting in one lane; further ones are told to come back
    imports: int = 4  # imports running at the same time, dry runs included
    imports_of_key: int = 2
    followers: int = 64  # listeners to events at the same time
    followers_of_key: int = 8  # the same for one key; also the limit for its MCP streams
    sessions: int = 1000  # MCP sessions open at the same time
    sessions_of_key: int = 100
    calls: int = 256  # MCP calls open at the same time: one that asks a person may stay open for a day
    calls_of_key: int = 64
    memories: int = 32  # projects that are kept open
    least_free: int = (
        SERVERS_LEAVE  # bytes of disk that must stay free for writes to be allowed, where `min_free` is not set
    )


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who makes a request; `key` is None on a server that asks for none. Handlers find it in `scope["memorist"]`."""

    request_id: str
    key: ApiKey | None = None

    @property
    def is_keeper(self) -> bool:
        """Whether they may administer the store: with a key for that, or on a machine that asks for no key."""
        return self.key is None or self.key.role == "admin"

    @property
    def has_every_project(self) -> bool:
        """Whether they may do what changes all projects."""
        return self.is_keeper or (self.key is not None and self.key.is_for_every_project)

    @property
    def may_write(self) -> bool:
        return self.key is None or self.key.role in WRITERS


@dataclass(slots=True)
class Bucket:
    """A token bucket: the requests that a key has left right now."""

    left: float
    at: float

    def take(self, rate: float, now: float) -> float:
        """Takes one request. Returns 0 if one was left, else the seconds until there is."""
        self.left = min(max(1.0, rate), self.left + (now - self.at) * rate)
        self.at = now
        if self.left >= 1:
            self.left -= 1
            return 0.0
        return (1 - self.left) / rate


@lru_cache(maxsize=16)
def hosts_of(names: tuple[str, ...], port: int) -> frozenset[str]:
    """The Host values that mean this server. A name without a port also covers that name with this port."""
    loopback = [f"{name}:{port}" for name in LOOPBACK] + (list(LOOPBACK) if port == 80 else [])
    named = [spelled.lower() for name in names for spelled in (name, f"{name}:{port}")]
    return frozenset([*loopback, *named])


@dataclass(slots=True)
class Guard:
    """An application behind the guard."""

    app: App
    ring: KeyRing | None
    required: bool  # whether every request needs a key
    names: tuple[str, ...] = ()  # further names of this server, besides those of this machine
    limits: ServerLimits = ServerLimits()
    seen: Callable[[str, int, float], None] = lambda route, status, seconds: None  # called for every answer
    buckets: dict[str, Bucket] = field(default_factory=dict)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = _headers(scope)
        visitor = Visitor(_request_id(headers))
        answer = Answer(send, visitor.request_id, scope.get(FULL, False))
        began = time.perf_counter()
        try:
            key = self.admit(scope, headers)
            scope["memorist"] = visitor = Visitor(visitor.request_id, key)
            body = self._body(scope, headers, key, receive)
            await self.app(scope, body, answer)
        except TurnedAway as problem:
            if problem.door == "too_large":
                await _read_off(receive)
            await answer.problem(problem)
        except Exception as problem:  # internal errors are never shown outside
            log.exception("request %s failed", visitor.request_id)
            await answer.problem(problem)
        finally:
            self._tell(scope, visitor, answer.status, time.perf_counter() - began)

    def admit(self, scope: Mapping[str, Any], headers: Mapping[bytes, list[bytes]]) -> ApiKey | None:
        """Returns the key of a request that may come in; raises for one that may not."""
        if scope["type"] != "http":
            raise TurnedAway("forbidden", "only HTTP is spoken here")
        if scope.get(FULL, False):
            raise TurnedAway("busy", "too many clients are connected; try again in a moment", 1)
        self._check_names(scope, headers)
        key = self._key(headers, scope["path"])
        if key is not None:
            now = time.monotonic()
            wait = self.buckets.setdefault(key.name, Bucket(max(1.0, key.rate), now)).take(key.rate, now)
            if wait:
                raise TurnedAway("too_many", f"this key may make {key.rate:g} requests a second; wait a little", wait)
        return key

    def _check_names(self, scope: Mapping[str, Any], headers: Mapping[bytes, list[bytes]]) -> None:
        server = scope.get("server") or ("", 0)
        allowed = hosts_of(self.names, int(server[1] or 0))
        hosts = [each.decode("latin-1").lower() for each in headers.get(b"host", [])]
        if len(hosts) != 1 or hosts[0] not in allowed:
            raise TurnedAway("forbidden", "the Host of this request is no name of this server; see --allow-host")
        if not _is_own_page(headers, allowed):
            raise TurnedAway("forbidden", "requests that come from a web page elsewhere are not answered")

    def _key(self, headers: Mapping[bytes, list[bytes]], path: str) -> ApiKey | None:
        given = headers.get(b"authorization", [])
        if not given:
            if self.required and path not in OPEN_PATHS:
                raise TurnedAway("unauthorized", "send a key: `Authorization: Bearer …`; `memorist key add` makes one")
            return None
        said = given[0].decode("latin-1")
        found = self.ring.find(said[len(BEARER) :].strip()) if self.ring and said.lower().startswith(BEARER) else None
        if found is None or len(given) > 1:
            raise TurnedAway("unauthorized", "this key is not known here, or no longer; `memorist key list` lists them")
        return found

    def _body(
        self, scope: Mapping[str, Any], headers: Mapping[bytes, list[bytes]], key: ApiKey | None, receive: Receive
    ) -> Receive:
        """Passes on the body as it arrives, unless it is too large or too slow."""
        brings = scope["path"] == IMPORTS
        most = self.limits.import_size if brings else self.limits.size
        most = most if key is None or key.size is None else min(most, key.size)
        length = headers.get(b"content-length", [b"0"])[0]
        if not length.isdigit() or int(length[:20]) > most:
            raise TurnedAway("too_large", f"a body may have {most:,} bytes; send less at once")
        return Body(receive, most, self.limits.import_seconds if brings else self.limits.seconds)

    def _tell(self, scope: Mapping[str, Any], visitor: Visitor, status: int, took: float) -> None:
        """Logs one line for each request: the route and the outcome, never the content."""
        route = getattr(scope.get("route"), "path", "-") if scope["type"] == "http" else "-"
        self.seen(route, status, took)
        who = visitor.key.name if visitor.key else "-"
        method = scope.get("method", "-")
        known = method if method in ("GET", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS", "PUT") else "-"
        log.info("%s %s %d %.1f ms key=%s id=%s", known, route, status, took * 1000, who, visitor.request_id)


def _is_own_page(headers: Mapping[bytes, list[bytes]], hosts: frozenset[str]) -> bool:
    """Whether a request came from no page at all, or from a page of this server."""
    origins = [each.decode("latin-1").lower() for each in headers.get(b"origin", [])]
    pages = {f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")} if origins else set()
    sites = headers.get(b"sec-fetch-site", [])
    return len(origins) <= 1 and pages.issuperset(origins) and all(each in OWN_PAGE for each in sites)


async def _read_off(receive: Receive) -> None:
    """Reads off the rest of a refused body: most clients send all of it before they read, and would never see the
    refusal."""
    with suppress(TimeoutError):
        async with asyncio.timeout(READ_OFF):
            while (await receive()).get("more_body", False):
                pass


class Body:
    """The request body, with its size counted and its time limited."""

    def __init__(self, receive: Receive, most: int, seconds: float) -> None:
        self._receive, self._most, self._seconds = receive, most, seconds
        self._until = time.monotonic() + seconds
        self._read, self._whole = 0, False

    async def __call__(self) -> Message:
        if self._whole:  # all that can still come is the disconnect
            return await self._receive()
        try:
            async with asyncio.timeout(max(0.001, self._until - time.monotonic())):
                message = await self._receive()
        except TimeoutError:
            raise TurnedAway("too_slow", f"the body did not arrive within {self._seconds:g} seconds") from None
        self._read += len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        if self._read > self._most:
            raise TurnedAway("too_large", f"a body may have {self._most:,} bytes; send less at once")
        return message


class Answer:
    """The response: each carries the id of its request, and no cache may keep it."""

    def __init__(self, send: Send, request_id: str, last: bool = False) -> None:
        self._send, self._id, self.status, self._whole = send, request_id, 0, False
        self._last = last  # whether to close the connection after it

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": [*message.get("headers", []), *self._always()]}
        await self._send(message)
        self._whole = message["type"] == "http.response.body" and not message.get("more_body", False)

    def _always(self) -> list[tuple[bytes, bytes]]:
        return [
            (b"x-request-id", self._id.encode()),
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
            *([(b"connection", b"close")] if self._last else []),
        ]

    async def problem(self, error: BaseException) -> None:
        """Tells an error, unless an answer has begun: then the connection breaks, and the client sees that it is not whole."""
        if self._whole:
            return
        if self.status:
            raise error
        await Reply.of_problem(error, self._id).sent(self)


def _headers(scope: Mapping[str, Any]) -> dict[bytes, list[bytes]]:
    found: dict[bytes, list[bytes]] = {}
    for name, value in scope.get("headers", ()):
        found.setdefault(name.lower(), []).append(value.strip())
    return found


def _request_id(headers: Mapping[bytes, list[bytes]]) -> str:
    """The client's own request id, if it is a valid one; else a new one."""
    given = headers.get(b"x-request-id", [b""])[0].decode("latin-1")
    return given if REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
