"""The server process: its socket, the application on it, and how both end.

On SIGTERM and SIGINT it takes no new requests, finishes those in progress, writes its buffers and closes. On SIGHUP it
reads keys and settings again. Clients that are too slow to send the head of a request, or to take its answer, are
disconnected.
"""

import asyncio
import logging
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from memorist.errors import Invalid, StoreUnavailable
from memorist.store.open import is_json
from memorist.surfaces.http.app import Application
from memorist.surfaces.http.guard import FULL, ServerLimits
from memorist.surfaces.http.keys import KeyRing
from memorist.surfaces.http.work import Memories
from memorist.surfaces.http.workers import Workers, WorkerSetup, usual_count

HEAD_SECONDS = 15.0  # for the head of a request to arrive
TAKEN_SECONDS = 30.0  # in which a client must take some of the output that waits for it
LARGEST_HEAD = 64 << 10  # bytes
LARGEST_READ = 2 * LARGEST_HEAD  # bytes that may arrive before a head is complete, or after a body
BESIDE_A_HEADER = 4  # bytes: a colon, a space, the end of the line
TOO_LARGE = "The head of this request is too large."
MOST_HELD = 64 << 10  # bytes held back, to be sent together with the rest of the same write
LAST_REQUESTS = 60  # seconds that requests may take after the server was told to end
CONNECTIONS = 1000  # the last one is told to come back, because uvicorn's own refusal is not a problem document
LOCAL = ("127.0.0.1", "::1", "localhost")
EVERY_ADDRESS = ("0.0.0.0", "::")
log = logging.getLogger("memorist.http")


@dataclass(frozen=True, slots=True)
class Serving:
    """What to serve, at which address and to whom."""

    db: str | None = None
    project: str | None = None
    space: str | None = None
    host: str = "127.0.0.1"
    port: int = 8765
    ring: KeyRing | None = None
    require_key: bool = False
    names: tuple[str, ...] = ()
    limits: ServerLimits = field(default_factory=ServerLimits)
    workers: int | None = (
        1  # processes that answer questions; 1: the server does it itself; None: as many as the cores allow
    )

    @property
    def is_local(self) -> bool:
        return self.host in LOCAL

    @property
    def needs_keys(self) -> bool:
        """Requests from this machine need a key only if the setting says so; requests from elsewhere always do."""
        return self.require_key or not self.is_local

    @property
    def spelled(self) -> str:
        """The host as it stands in an address, where an IPv6 address has brackets."""
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def own_names(self) -> tuple[str, ...]:
        """The names of this server besides those of this machine."""
        return self.names if self.is_local or self.host in EVERY_ADDRESS else (*self.names, self.spelled)

    def must_be_safe(self) -> None:
        if self.needs_keys and not self.ring:
            where = "" if self.is_local else f" at {self.host}, which other machines reach"
            raise Invalid(f"a server{where} needs keys, and there are none; make one with `memorist key add NAME`")


class JoinedTransport:
    """A transport that sends consecutive writes together: an answer sent in two pieces, head and body, would wake its
    reader twice."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held, self._size = list[bytes](), 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._held:
            self._loop.call_soon(self._send)
        self._held.append(data)
        self._size += len(data)
        if self._size > MOST_HELD:
            self._send()

    def _send(self) -> None:
        held, self._held, self._size = self._held, [], 0
        if held:
            self._transport.write(b"".join(held))

    def get_write_buffer_size(self) -> int:
        return self._size + self._transport.get_write_buffer_size()

    def close(self) -> None:
        self._send()
        self._transport.close()


class PatientProtocol(HttpToolsProtocol):
    """HTTP/1.1 with limits: the head of a request must be small and on time, and the client must take what it asked
    for."""

    _in_head, _taken = True, 0  # whether a head is being read; bytes so far that belong to neither a head nor a body
    _timer: asyncio.TimerHandle | None = None
    _taking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(JoinedTransport(transport, self.loop))  # type: ignore[arg-type]
        self.access_log = False  # uvicorn's own log has whole addresses, including the query
        self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def data_received(self, data: bytes) -> None:
        self._taken += len(data)
        super().data_received(data)
        if self._taken > LARGEST_READ and not self.transport.is_closing():
            self._refuse()
            return
        begun = self.cycle is not None and not self.cycle.response_complete
        if begun and self._timer is not None:
            self._timer.cancel()
            self._timer = None
        elif not begun and self._timer is None and not self.transport.is_closing():
            self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _refuse(self) -> None:
        """Refuses a head that never ends, or as many bytes after a body, which nobody would read."""
        if self._in_head:
            self.send_400_response(TOO_LARGE)
        else:
            self.transport.close()

    def on_message_begin(self) -> None:
        self._in_head, self._taken = True, 0
        super().on_message_begin()

    def on_body(self, body: bytes) -> None:
        self._taken = 0
        super().on_body(body)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # trailers after a body have passed no guard
            super().on_header(name, value.strip(b" \t"))  # the parser leaves spaces after a value

    def on_headers_complete(self) -> None:
        self._in_head, self._taken = False, 0
        if len(self.url) + sum(len(name) + len(value) + BESIDE_A_HEADER for name, value in self.headers) > LARGEST_HEAD:
            raise ValueError(TOO_LARGE)  # the parser turns this into a refusal
        self.scope[FULL] = max(len(self.connections), len(self.tasks)) >= CONNECTIONS  # type: ignore[literal-required]
        super().on_headers_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look_again(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
        super().resume_writing()

    def _look_again(self, left: int) -> None:
        self._taking = self.loop.call_later(TAKEN_SECONDS, self._must_take, left)

    def _must_take(self, left: int) -> None:
        """Breaks a connection that took nothing in the meantime: an export would hold its thread, a follower its place."""
        now = self.transport.get_write_buffer_size()
        if now >= left:
            self.transport.abort()
        else:
            self._look_again(now)

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._timer, self._taking):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)


class Server(uvicorn.Server):
    """uvicorn's server, which also tells the application when it ends."""

    def __init__(self, application: Application, reload: Callable[[], None]) -> None:
        self._application, self._reload = application, reload
        super().__init__(
            uvicorn.Config(
                application.asgi, http=PatientProtocol, ws="none", lifespan="on", access_log=False, log_config=None,
                server_header=False, proxy_headers=False, timeout_graceful_shutdown=LAST_REQUESTS,
            )
        )  # fmt: skip

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if hasattr(signal, "SIGHUP"):
            try:
                asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._reload)
            except (ValueError, RuntimeError):  # not in the main thread, which alone gets signals
                log.debug("no signal reaches this server")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._application.work.closing.set()  # else uvicorn would wait for the followers of events
        await super().shutdown(sockets)


def bound(serving: Serving) -> socket.socket:
    """Binds the socket early, so that its port is known before the server begins."""
    family = socket.AF_INET6 if ":" in serving.host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # makes asyncio send at once
    try:
        if os.name == "posix":  # elsewhere this option would let others take the port
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((serving.host, serving.port))
    except (OSError, OverflowError) as problem:
        found.close()
        said = getattr(problem, "strerror", None) or problem
        raise StoreUnavailable(
            f"{serving.host}:{serving.port} cannot be served ({said}); choose another --port"
        ) from problem
    return found


def serve(
    serving: Serving, ready: Callable[[str, Memories], Any], started: Callable[[Server], Any] | None = None
) -> None:
    """Serves until it is told to end. Calls `ready` with the address once it takes requests."""
    serving.must_be_safe()
    listening, told_to_end = bound(serving), threading.Event()
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):  # until uvicorn handles them, and again once all is closed
            signal.signal(number, lambda *_: told_to_end.set())
        if hasattr(signal, "SIGPIPE"):  # a client or a worker that goes away must not end the server
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        memories = Memories(
            serving.db, serving.project, serving.space, serving.limits.memories, serving.limits.least_free
        )
        asyncio.run(_run(serving, listening, memories, ready, started, told_to_end))
    finally:
        listening.close()


@asynccontextmanager
async def _workers(serving: Serving, memories: Memories) -> AsyncIterator[Workers | None]:
    """Starts the first worker and returns the workers; None where the server answers by itself."""
    count = usual_count() if serving.workers is None else serving.workers
    alone = memories.path is None or is_json(memories.path)
    if alone and (serving.workers or 1) > 1:
        log.warning("only a store in an SQLite file has workers; this one is served by one process")
    if alone or count < 2:
        yield None
        return
    setup = WorkerSetup(serving.db, serving.project, serving.space, serving.limits, log.getEffectiveLevel())
    found = Workers(setup, count, memories)
    await found.start()
    try:
        yield found
    finally:
        await found.close()


async def _run(
    serving: Serving,
    listening: socket.socket,
    memories: Memories,
    ready: Callable[[str, Memories], Any],
    started: Callable[[Server], Any] | None,
    told_to_end: threading.Event,
) -> None:
    ring = serving.ring
    async with _workers(serving, memories) as workers:
        application = Application(
            memories,
            ring,
            required=serving.needs_keys,
            names=serving.own_names,
            limits=serving.limits,
            workers=workers,
        )

        def reload() -> None:
            if ring is not None:
                ring.keys  # noqa: B018  # which reads the file if it changed
            application.work.reopen()
            log.info("keys and settings were read again")

        server = Server(application, reload)
        if started is not None:
            started(server)
        address = f"http://{serving.spelled}:{listening.getsockname()[1]}"
        await _until_it_ends(server, listening, lambda: ready(address, memories), told_to_end)


async def _until_it_ends(
    server: Server, listening: socket.socket, ready: Callable[[], Any], told_to_end: threading.Event
) -> None:
    task = asyncio.ensure_future(server.serve(sockets=[listening]))
    while not server.started and not task.done():
        await asyncio.sleep(0.01)
    if told_to_end.is_set():
        server.should_exit = True  # not sooner: uvicorn would abandon requests in progress
    elif server.started:
        ready()
    await task
