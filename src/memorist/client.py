"""`Client` and `AsyncClient`: the verbs of `Memory`, carried out by a server (`memorist serve`).

Parameters, answers and errors are those of `Memory`: both ends derive the wire format from its signatures (`surfaces/wire.py`).
A request is sent again only where that does no harm: it only reads, it has a `key`, or the server turned it away before
starting. If a write may or may not have arrived, the error says so. No repr, message or URL shows the token.
"""

import asyncio
import inspect
import json
import logging
import os
import random
import re
import threading
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Self, get_args
from urllib.parse import quote, urlsplit

from memorist import checks
from memorist.aio import SessionToOpen
from memorist.commands import SESSION_PARTS, VERBS, Verb
from memorist.conversation import WAIT, Busy
from memorist.errors import Conflict, Invalid, MemoristError, StoreUnavailable
from memorist.memory import Memory
from memorist.noun import plain
from memorist.recall import lookup
from memorist.records import Draft, Hit, Outcome, Record, iso, zoned
from memorist.relay import Awaited, Direct, SessionVerbs, Verbs
from memorist.remember.edit import must_name_receipt, no_receipt
from memorist.session import tasks
from memorist.session.session import Session
from memorist.surfaces import settings, wire

if TYPE_CHECKING:
    import httpx2

TIMEOUT = 60.0  # seconds for one answer: longer than a server waits for another writer
RETRIES = 2
FIRST_PAUSE = 0.2  # seconds before the first retry; each further one waits twice as long
LONGEST_PAUSE = 10.0  # seconds of a server's Retry-After that are honoured
IMPORTED_WITHIN = 900.0  # seconds for the answer to an import, which may bring a hundred thousand memories
NDJSON, MARKDOWN = {"Content-Type": "application/x-ndjson"}, {"Content-Type": "text/markdown"}
SPOKEN = ("role", "type", "content", "name", "id", "tool_calls", "tool_call_id")  # read from a message object
OF_THE_MEMORY = ("context", "recall")  # verbs of a session that call the memory's own verb
log = logging.getLogger("memorist")


class Unanswered(StoreUnavailable):
    """A write was sent and no answer came: it may be stored or not. Ask before you send it again, or give it a key."""

    retry_safe = False


# ---------------------------------------------------------------- what is sent, and what comes back


@dataclass(frozen=True, slots=True)
class Sent:
    """One request before it is sent."""

    verb: Verb
    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    body: Mapping[str, Any] | None

    @property
    def harmless(self) -> bool:
        """Whether it can safely be sent twice."""
        return not self.verb.writes or "key" in (self.body or {})

    @property
    def options(self) -> dict[str, Any]:
        """The keyword arguments for the HTTP library."""
        sent = {"method": self.method, "url": self.path, "params": self.query}
        if self.body is None:
            return sent
        body = json.dumps(self.body)  # escapes lone surrogates, so that the server can say what is wrong
        return {**sent, "content": body, "headers": {"Content-Type": "application/json"}}

    def answer(self, data: Any) -> Any:
        """The response data as the value that `Memory` would have returned."""
        return wire.noun(wire.returns(self.verb.name), data)


def asked(verb: Verb, given: Mapping[str, Any]) -> Sent:
    """The request for a verb with these arguments."""
    method, _, path = (verb.http or "").partition(" ")
    takes = wire.parameters(verb.name)
    told = {name: _sendable(value, takes[name], name) for name, value in given.items()}
    for name in re.findall(r"{(\w+)}", path):
        path = path.replace(f"{{{name}}}", quote(_placed(path, name, given[name]), safe=""))
        del told[name]
    told = {name: value for name, value in told.items() if value != takes[name].default}
    if method in ("GET", "DELETE"):
        return Sent(verb, method, path, tuple(_words(told)), None)
    return Sent(verb, method, path, (), told)


def _asked_verb(verb: str, args: tuple[Any, ...], named: Mapping[str, Any]) -> Sent:
    return asked(VERBS[verb], bound(getattr(Memory, verb), args, named))


def _placed(path: str, name: str, value: Any) -> str:
    """An argument as it stands in a URL path. An id with a slash, or a lone dot, would address something else. No
    memory and no receipt has such an id, so it is refused here, as `Memory` refuses it."""
    if name == "session":  # checked when the session was opened; may hold a slash
        return str(value)
    if path.startswith("/v1/receipts/"):
        must_name_receipt(value)
        if not re.fullmatch(r"[\w\s-]*\w[\w\s-]*", value):
            raise no_receipt(value)
        return str(value)
    meant = tasks.meant(value) if path.startswith("/v1/tasks/") else value
    return lookup.written(checks.reference(meant))


@cache
def _signature(method: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(method)


def bound(method: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by name, bound as Python would bind them, with those from `**` beside the others."""
    taken = _signature(method)
    found: dict[str, Any] = dict(taken.bind(None, *args, **named).arguments)
    del found["self"]
    rest = next((name for name, each in taken.parameters.items() if each.kind is each.VAR_KEYWORD), "")
    found |= found.pop(rest, {})
    return found


def _sendable(value: Any, parameter: inspect.Parameter, name: str) -> Any:
    """An argument as JSON. A time without a zone is in this machine's local time, not the server's."""
    is_time = isinstance(value, str) and datetime in get_args(parameter.annotation)
    return zoned(value, name).isoformat() if is_time or isinstance(value, date) else _told(value)


def _told(value: Any) -> Any:
    return next(write for kind, write in WRITERS if isinstance(value, kind))(value)


def _drafted(draft: Draft) -> dict[str, Any]:
    return {name: each for name, each in plain(draft).items() if each not in (None, "", [], {}, False)}


def _spoken(message: Any) -> Any:
    """A message object as a dict; any other value as it is always written."""
    if not hasattr(message, "content"):
        return plain(message)
    return {part: _told(getattr(message, part)) for part in SPOKEN if getattr(message, part, None) is not None}


WRITERS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (str | bytes, plain),
    (Record | Hit | Outcome, lambda memory: memory.id),
    (Draft, _drafted),
    (os.PathLike, os.fspath),
    (date, iso),
    (Mapping, lambda given: {str(name): _told(each) for name, each in given.items()}),
    (Iterable, lambda values: [_told(each) for each in values]),
    (object, _spoken),
)  # by type, the first that fits


def _words(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Arguments as a query string: a list repeats its name, an object is written as JSON."""
    for name, value in given.items():
        for each in value if isinstance(value, list) else [value]:
            yield name, each if isinstance(each, str) else json.dumps(each)


# ---------------------------------------------------------------- what both clients share


class _Connected:
    """What both clients share: the address, token and project, how to read a response, and when to retry."""

    _http: Any

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        project: str | None = None,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
    ) -> None:
        self.url = settings.server("url", url) if url is not None else _from_settings()
        self._project = checks.optional_label(project, "the project")
        self._token = settings.token() if token is None else settings.checked_token("the token", token)
        self._timeout = checks.seconds(timeout, "timeout")
        self._retries = checks.whole(retries, "retries", 0, 100)
        self._closed, self._opening, self._process = False, threading.Lock(), os.getpid()
        _warn_of_open_letters(self.url, self._token)

    def __repr__(self) -> str:
        where = f", project {self._project}" if self._project else ""
        return f"<{type(self).__name__} {self.url}{where}>"

    def _options(self) -> dict[str, Any]:
        split = urlsplit(self.url)
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        proxied = split.scheme == "https" or split.hostname not in settings.HERE
        return {
            "base_url": self.url, "params": {"project": self._project} if self._project else {},
            "headers": {"User-Agent": "memorist", **headers}, "timeout": self._timeout, "follow_redirects": False,
            "trust_env": proxied,
        }  # fmt: skip

    def _read(self, response: "httpx2.Response") -> Any:
        """The JSON of a response; raises the error that it reports."""
        if response.is_success:
            try:
                return json.loads(response.content) if response.content else None
            except (ValueError, RecursionError) as problem:
                raise self._no_answer(response) from problem
        raise self._error(response)

    def _error(self, response: "httpx2.Response") -> MemoristError:
        code, detail = _problem(response)
        return wire.raised(code, detail) if code else self._no_answer(response)

    def _no_answer(self, response: "httpx2.Response") -> StoreUnavailable:
        return StoreUnavailable(
            f"what answers at {self.url} is no memorist (status {response.status_code}); check the address"
        )

    def _pause(self, what: Sent, tried: int, came: "httpx2.Response | Exception") -> float | None:
        """Seconds to wait before sending it again; None if what came is the answer."""
        if tried < self._retries and _may_be_sent_again(what, came):
            own: float = FIRST_PAUSE * 2**tried * random.uniform(0.5, 1)
            return max(own, min(LONGEST_PAUSE, _asked_to_wait(came)))
        if isinstance(came, Exception):
            raise self._lost(came, what.harmless) from came
        return None

    def _lost(self, problem: Exception, harmless: bool) -> StoreUnavailable:
        kind = type(problem).__name__
        if _never_sent(problem):
            return StoreUnavailable(
                f"the server at {self.url} cannot be reached ({kind}); is `memorist serve` running?"
            )
        if harmless:
            return StoreUnavailable(f"the server at {self.url} did not answer ({kind}); try again")
        return Unanswered(
            f"the server at {self.url} did not answer ({kind}), and whether this was stored is not known; look before you "
            "send it again, or give it a key"
        )

    def _must_be_open(self) -> None:
        if self._closed:
            raise StoreUnavailable("this client was closed; make another")
        if self._process != os.getpid():  # it was forked, and over one connection both would hear each other's answers
            self._http, self._opening, self._process = None, threading.Lock(), os.getpid()


def _from_settings() -> str:
    found = settings.load()
    if "url" in found.problems:
        raise Invalid(found.problems["url"])
    if found.url is None:
        raise Invalid("no server was named; give its address, such as http://127.0.0.1:8765, or set MEMORIST_URL")
    return found.url


def _warn_of_open_letters(url: str, token: str | None) -> None:
    split = urlsplit(url)
    if token and split.scheme == "http" and split.hostname not in settings.HERE:
        log.warning("the token goes to %s unencrypted; use https:// where others can listen", split.hostname)


def _may_be_sent_again(what: Sent, came: "httpx2.Response | Exception") -> bool:
    """Whether a failed request may be sent again: nothing of it can have been done, or doing it twice does no harm. The
    HTTP status does not say whether work was begun: 503 can also come from a store that failed in the middle of a write,
    or from a proxy."""
    if isinstance(came, Exception):
        return what.harmless or _never_sent(came)
    if what.harmless and came.status_code in (429, 502, 503, 504):
        return True
    return not came.is_success and _problem(came)[0] in wire.COME_BACK


def _problem(response: "httpx2.Response") -> tuple[str, str]:
    """The code and the words of an error that a server of ours sent; empty for anything else."""
    try:
        told = json.loads(response.content)
        return str(told["code"]), str(told["detail"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return "", ""


def _asked_to_wait(came: "httpx2.Response | Exception") -> float:
    asks = "" if isinstance(came, Exception) else came.headers.get("retry-after", "")
    return float(asks) if re.fullmatch("[0-9]{1,4}", asks, re.ASCII) else 0.0


def _never_sent(came: object) -> bool:
    import httpx2

    return isinstance(came, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)


class _Lines:
    """Splits text that arrives in pieces into lines. Only a line feed ends a line: a memory may hold any other break."""

    def __init__(self) -> None:
        self._rest = b""

    def come(self, piece: bytes) -> Iterator[str]:
        *whole, self._rest = (self._rest + piece).split(b"\n")
        return (line.decode("utf-8", "surrogateescape") for line in whole)

    def end(self) -> Iterator[str]:
        return iter([self._rest.decode("utf-8", "surrogateescape")] if self._rest else [])


def _brought(options: Mapping[str, Any], timeout: float) -> dict[str, Any]:
    """The headers and the timeout of an import: Markdown if the name ends like that, else lines of JSON."""
    page = str(options.get("name", "")).lower().endswith((".md", ".markdown", ".txt"))
    return {"headers": MARKDOWN if page else NDJSON, "timeout": max(timeout, IMPORTED_WITHIN)}


def _as_sent(line: str) -> bytes:
    return line.rstrip("\n").encode("utf-8", "surrogateescape") + b"\n"


def _from_event(after: int | None) -> dict[str, str]:
    return {} if after is None else {"Last-Event-ID": str(checks.whole(after, "after", 0, 10**15 - 1))}


def _event_of(lines: list[str]) -> tuple[str, dict[str, Any]] | None:
    """A block of a stream of server-sent events as the bus reports it; None for one that only keeps the connection open."""
    said = dict(line.split(": ", 1) for line in lines if ": " in line and not line.startswith(":"))
    return (said.get("event", "message"), json.loads(said["data"])) if "data" in said else None


# ---------------------------------------------------------------- at once


class Client(_Connected, Verbs, Direct):
    """The memory behind a server, with the verbs, answers and errors of `Memory`.

        with Client("http://127.0.0.1:8765") as memory:
            memory.remember("Staging runs Postgres 16", kind="decision")
            print(memory.recall("which database?")[0].text)

    url: the server's address; the setting `url` without it · token: its key; MEMORIST_TOKEN or the setting without it
    project: the project meant; the server's own without it · timeout: seconds for one answer
    retries: how often what can do no harm is sent again. It may be shared by threads.
    """

    _http: "httpx2.Client | None" = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections. The server stays as it is."""
        self._closed = True
        if self._http is not None:
            self._http.close()

    def session(
        self,
        id: str | None = None,
        *,
        agent: str | None = None,
        user: str | None = None,
        wait: float = WAIT,
        busy: Busy = "queue",
    ) -> "ClientSession":
        """`Memory.session`. The server opens it for each call and leaves it open in between."""
        given = {"id": id, "agent": agent, "user": user, "wait": wait, "busy": busy}
        return ClientSession(self, self._ask(asked(VERBS["session"], given)), agent, user)

    def export_lines(self, **options: Any) -> Iterator[str]:
        """What `memorist export` writes, line by line as it arrives."""
        lines = _Lines()
        with self._stream("GET", "/v1/export", options) as response:
            for piece in response.iter_bytes():
                yield from lines.come(piece)
            yield from lines.end()

    def import_lines(self, lines: Iterable[str], **options: Any) -> Any:
        """Brings in what `export_lines` gave, as it comes, or a page of Markdown, if the `name` ends so. → what became of it"""
        return self._bring(map(_as_sent, lines), options)

    def _bring(self, content: Iterable[bytes], options: Mapping[str, Any]) -> Any:
        """Sends a file byte for byte: not every file is lines of UTF-8."""
        how = _brought(options, self._timeout)
        with self._stream("POST", "/v1/import", options, content=content, **how) as response:
            response.read()
            return self._read(response)

    def events(self, *, after: int | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
        """What happens in the memory from now on, as its bus tells it: `for event, facts in client.events()`. `after` goes on from
        an event that is known already: the `seq` of its facts."""
        with self._stream("GET", "/v1/events", {}, timeout=None, headers=_from_event(after)) as response:
            block: list[str] = []
            for line in response.iter_lines():
                block = [*block, line] if line else block
                if not line and (told := _event_of(block)):
                    yield told
                block = block if line else []

    def _do(self, verb: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return self._ask(_asked_verb(verb, args, named))

    def _ask(self, what: Sent) -> Any:
        return what.answer(self._read(self._sent(what)))

    def _sent(self, what: Sent) -> "httpx2.Response":
        import httpx2

        tried = 0
        while True:
            came: httpx2.Response | Exception
            try:
                came = self._open().request(**what.options)
            except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as problem:
                came = problem
            pause = self._pause(what, tried, came)
            if pause is None:
                assert isinstance(came, httpx2.Response)
                return came
            time.sleep(pause)
            tried += 1

    @contextmanager
    def _stream(self, method: str, path: str, options: Mapping[str, Any], **more: Any) -> Iterator["httpx2.Response"]:
        import httpx2

        params = tuple(_words(_told(options)))
        try:
            with self._open().stream(method, path, params=params, **more) as response:
                if not response.is_success:
                    response.read()
                    raise self._error(response)
                yield response
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as problem:
            raise self._lost(problem, method == "GET") from problem

    def _open(self) -> "httpx2.Client":
        import httpx2

        self._must_be_open()
        with self._opening:
            if self._http is None:
                self._http = httpx2.Client(**self._options())
            return self._http


def asked_part(part: str, given: Mapping[str, Any]) -> Sent:
    """The request for a part of a session, named by the arguments."""
    return asked(SESSION_PARTS[f"session.{part}"], {name: value for name, value in given.items() if value is not None})


class _Talk(SessionVerbs):
    """A session behind a server: its name, and the requests for its verbs."""

    def __init__(self, client: Any, record: Record, agent: str | None, user: str | None) -> None:
        self._client, self._opened, self._agent, self._user = client, record, agent, user
        self._ended = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} at {self._client.url}>"

    @property
    def id(self) -> str:
        return str(self._opened.title)

    @property
    def agent(self) -> str | None:
        return self._agent

    def _call(self, verb: str, args: tuple[Any, ...], named: dict[str, Any]) -> Sent | None:
        """The request for a verb. `context` and `recall` use the memory's own verb; `leave` needs none, since the
        server holds nothing."""
        if self._ended and verb not in ("turns", *OF_THE_MEMORY, "leave", "close"):
            raise Conflict(f"session {self.id} was closed; open it again with session({self.id!r:.60})")
        given = bound(getattr(Session, verb), args, named)
        if verb == "leave":
            return None
        if verb in OF_THE_MEMORY:
            whose = {} if self._user is None or "scope" in given else {"user": self._user}
            agent = {"agent": self.agent} if verb == "context" else {}
            named = {"session": self.id, **agent, **whose, **given}
            return _asked_verb(verb, (), named)
        return self._part(verb, given)

    def _part(self, part: str, given: Mapping[str, Any]) -> Sent:
        return asked_part(part, {"session": self.id, "agent": self.agent, "user": self._user, **given})

    def _after(self, verb: str, answer: Any) -> Any:
        self._ended = self._ended or verb == "close"
        return answer


class ClientSession(_Talk, Direct):
    """`Session` behind a server. It ends with the `with` block, or with `close`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        if problem[0] is None:
            self.close()
            return
        with suppress(MemoristError):  # the error inside the block is the one the caller must see
            self.close(fast=True)

    @property
    def record(self) -> Record:
        """The session's record as it is now."""
        found: Record = self._client.get(self._opened.id)
        return found

    def fork(self, id: str | None = None, agent: str | None = None) -> "ClientSession":
        """`Session.fork`: another session that begins with what was said and noted in this one."""
        record = self._client._ask(self._part("fork", {"id": id, "agent": agent or self.agent}))
        return ClientSession(self._client, record, agent or self.agent, self._user)

    def _do(self, verb: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        what = self._call(verb, args, named)
        return None if what is None else self._after(verb, self._client._ask(what))


# ---------------------------------------------------------------- awaited


class AsyncClient(_Connected, Verbs, Awaited):
    """`Client` for programs with an event loop: the same verbs, each of them awaited.

    async with AsyncClient("http://127.0.0.1:8765") as memory:
        await memory.remember("Staging runs Postgres 16", kind="decision")
    """

    _http: "httpx2.AsyncClient | None" = None
    _loop: "asyncio.AbstractEventLoop | None" = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections. The server stays as it is."""
        self._closed = True
        if (here := self._here()) is not None:
            await here.aclose()

    def session(
        self,
        id: str | None = None,
        *,
        agent: str | None = None,
        user: str | None = None,
        wait: float = WAIT,
        busy: Busy = "queue",
    ) -> "SessionToOpen[AsyncClientSession]":
        """`Memory.session`: `async with client.session("s1") as s`, or `s = await client.session("s1")`."""
        given = {"id": id, "agent": agent, "user": user, "wait": wait, "busy": busy}
        return SessionToOpen(partial(self._session, asked(VERBS["session"], given), agent, user))

    async def export_lines(self, **options: Any) -> AsyncIterator[str]:
        """What `memorist export` writes, line by line as it arrives."""
        lines = _Lines()
        async with self._stream("GET", "/v1/export", options) as response:
            async for piece in response.aiter_bytes():
                for line in lines.come(piece):
                    yield line
            for line in lines.end():
                yield line

    async def import_lines(self, lines: AsyncIterable[str] | Iterable[str], **options: Any) -> Any:
        """Brings in what `export_lines` gave, as it comes, or a page of Markdown, if the `name` ends so. → what became of it"""
        how = _brought(options, self._timeout)
        async with self._stream("POST", "/v1/import", options, content=_encoded(lines), **how) as response:
            await response.aread()
            return self._read(response)

    async def events(self, *, after: int | None = None) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """`Client.events`: `async for event, facts in client.events()`."""
        async with self._stream("GET", "/v1/events", {}, timeout=None, headers=_from_event(after)) as response:
            block: list[str] = []
            async for line in response.aiter_lines():
                block = [*block, line] if line else block
                if not line and (told := _event_of(block)):
                    yield told
                block = block if line else []

    async def _session(self, what: Sent, agent: str | None, user: str | None) -> "AsyncClientSession":
        return AsyncClientSession(self, await self._ask(what), agent, user)

    async def _do(self, verb: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return await self._ask(_asked_verb(verb, args, named))

    async def _ask(self, what: Sent) -> Any:
        return what.answer(self._read(await self._sent(what)))

    async def _sent(self, what: Sent) -> "httpx2.Response":
        import httpx2

        tried = 0
        while True:
            came: httpx2.Response | Exception
            try:
                came = await self._open().request(**what.options)
            except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as problem:
                came = problem
            pause = self._pause(what, tried, came)
            if pause is None:
                assert isinstance(came, httpx2.Response)
                return came
            await asyncio.sleep(pause)
            tried += 1

    @asynccontextmanager
    async def _stream(
        self, method: str, path: str, options: Mapping[str, Any], **more: Any
    ) -> AsyncIterator["httpx2.Response"]:
        import httpx2

        params = tuple(_words(_told(options)))
        try:
            async with self._open().stream(method, path, params=params, **more) as response:
                if not response.is_success:
                    await response.aread()
                    raise self._error(response)
                yield response
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as problem:
            raise self._lost(problem, method == "GET") from problem

    def _open(self) -> "httpx2.AsyncClient":
        import httpx2

        self._must_be_open()
        if (here := self._here()) is None:
            self._http = here = httpx2.AsyncClient(**self._options())
            self._loop = asyncio.get_running_loop()
        return here

    def _here(self) -> "httpx2.AsyncClient | None":
        """The connections, unless they are of another event loop, such as one that is over."""
        return self._http if self._loop in (None, asyncio.get_running_loop()) else None


async def _encoded(lines: AsyncIterable[str] | Iterable[str]) -> AsyncIterator[bytes]:
    if isinstance(lines, AsyncIterable):
        async for line in lines:
            yield _as_sent(line)
    else:
        for line in lines:
            yield _as_sent(line)


class AsyncClientSession(_Talk, Awaited):
    """`AsyncSession` behind a server. It ends with the `async with` block, or with `close`."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *problem: object) -> None:
        if problem[0] is None:
            await self.close()
            return
        with suppress(MemoristError):  # the error inside the block is the one the caller must see
            await self.close(fast=True)

    @property
    def record(self) -> Coroutine[Any, Any, Record]:
        """The session's record as it is now: `await session.record`."""
        found: Coroutine[Any, Any, Record] = self._client.get(self._opened.id)
        return found

    def fork(self, id: str | None = None, agent: str | None = None) -> "SessionToOpen[AsyncClientSession]":
        """`Session.fork`: another session that begins with what was said and noted in this one."""
        what = self._part("fork", {"id": id, "agent": agent or self.agent})
        return SessionToOpen(partial(self._client._session, what, agent or self.agent, self._user))

    async def _do(self, verb: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        what = self._call(verb, args, named)
        return None if what is None else self._after(verb, await self._client._ask(what))
