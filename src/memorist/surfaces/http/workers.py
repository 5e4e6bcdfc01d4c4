"""Worker processes that answer questions.

Python runs one thread at a time, so a server of one process answers only as many questions as one core can. When
several arrive at once, questions (`ASKING`) go to workers: processes with the store open, each answering one question
at a time. Everything else stays in the server: the guard, keys and rates, writes, sessions, MCP, events, metrics
(docs/why/0049-workers.md).

A worker keeps nothing. What it would note of a question goes back with the answer, and the server notes it. It ends
when its pipe closes, however the server ended, and ignores signals. A worker that died is replaced, and its question is
asked again.
"""

import asyncio
import json
import logging
import os
import signal
import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import IO, Any

from memorist.commands import VERBS
from memorist.errors import MemoristError, StoreUnavailable
from memorist.lazy import for_good
from memorist.memory import Memory
from memorist.noun import plain
from memorist.store.nouns import Receipt
from memorist.surfaces.http.guard import ServerLimits, Visitor
from memorist.surfaces.http.keys import ApiKey, key_of
from memorist.surfaces.http.replies import Reply
from memorist.surfaces.http.verbs import HttpCall, answered
from memorist.surfaces.http.work import Memories, Work
from memorist.surfaces.wire import TurnedAway
from memorist.upkeep.due import Slices

MOST_USUALLY = 4
NOTED_AT_ONCE = 64  # questions per batch of notes; a request to the server itself writes them at once
ANSWERING = 60.0  # seconds that a worker has for a question
ENDING = 10.0  # seconds that a worker has to end
SIZES = struct.Struct("!QQ")  # of the JSON part, and of the bytes that go with it
UNHEARD = (
    "SIGINT",
    "SIGTERM",
    "SIGHUP",
    "SIGBREAK",
)  # a terminal or a supervisor sends these to all processes of a server
PROGRAM = """import signal, sys
for number in {!r}:
    signal.signal(number, signal.SIG_IGN)  # before what takes long
sys.path[:] = {!r}
from memorist.surfaces.http.workers import main
main()"""
log = logging.getLogger("memorist.http")


def write_log(level: int) -> None:
    """Writes the log of this process to standard error. Of other packages only what is wrong: the rest of what they tell
    has ids of sessions and addresses in it."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    logging.getLogger("memorist").setLevel(level)


def usual_count() -> int:
    """One worker for each core that this process may use, up to a few."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MOST_USUALLY, cores)


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """What a worker opens, and how much it logs."""

    db: str | None
    project: str | None
    space: str | None
    limits: ServerLimits
    level: int  # of the log

    def told(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> "WorkerSetup":
        return cls(**{**told, "limits": ServerLimits(**told["limits"])})


@dataclass(frozen=True, slots=True)
class WorkerAnswer:
    """A worker's reply: the answer or the error, and the receipts to note, with their project."""

    reply: Reply | None = None
    fault: str = ""
    project: str | None = None
    notes: Sequence[Mapping[str, Any]] = ()

    def framed(self) -> bytes:
        status, headers, body = (self.reply.status, self.reply.headers, self.reply.body) if self.reply else (0, {}, b"")
        return framed([status, headers, self.fault, self.project, self.notes], body)

    @classmethod
    def of(cls, said: bytes, body: bytes) -> "WorkerAnswer":
        status, headers, fault, project, notes = json.loads(said)
        return cls(Reply(status, body, headers) if status else None, fault, project, notes)


def framed(said: object, body: bytes = b"") -> bytes:
    """A message: JSON values, and bytes."""
    written = json.dumps(said).encode()
    return SIZES.pack(len(written), len(body)) + written + body


# ---------------------------------------------------------------- in the server


class Worker(asyncio.SubprocessProtocol):
    """One process, and the pipes to it."""

    def __init__(self) -> None:
        self._answer, self._got = asyncio.get_running_loop().create_future(), bytearray()
        self._ended = asyncio.Event()
        self._process: Any = None
        self.pid = 0

    @classmethod
    async def started(cls, setup: WorkerSetup) -> "Worker":
        unheard = [int(getattr(signal, name)) for name in UNHEARD if hasattr(signal, name)]
        words = (sys.executable, "-c", PROGRAM.format(unheard, sys.path))
        _, worker = await asyncio.get_running_loop().subprocess_exec(cls, *words, stderr=None)
        worker._say(framed(setup.told()))
        return worker

    async def ask(self, turn: int, asked: HttpCall) -> WorkerAnswer:
        """Returns the worker's answer. Raises EOFError if it is gone, TimeoutError if it is stuck. A caller that stops
        waiting must end the worker: the next question would get this answer."""
        if self.is_gone:
            raise EOFError
        self._answer = asyncio.get_running_loop().create_future()
        self._say(_question(turn, asked))
        async with asyncio.timeout(ANSWERING):
            return WorkerAnswer.of(*await self._answer)

    def _say(self, message: bytes) -> None:
        self._process.get_pipe_transport(0).write(message)

    @property
    def is_gone(self) -> bool:
        return self._ended.is_set()

    async def end(self) -> int:
        """Ends the worker; returns its exit code."""
        self._process.get_pipe_transport(0).close()
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), ENDING)
            code = self._process.get_returncode()
            return -9 if code is None else int(code)
        finally:
            self._process.close()  # kills it if it did not end, even where nobody waits for that any more

    def connection_made(self, transport: Any) -> None:
        self._process, self.pid = transport, transport.get_pid()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._got += data
        if len(self._got) < SIZES.size:
            return
        said, body = SIZES.unpack_from(self._got)
        end = SIZES.size + said + body
        if len(self._got) >= end and not self._answer.done():
            whole, self._got = bytes(self._got[SIZES.size : end]), self._got[end:]
            self._answer.set_result((whole[:said], whole[said:]))

    def connection_lost(self, problem: Exception | None) -> None:
        """The process has ended, and all of its output has been read."""
        self._ended.set()
        if not self._answer.done():
            self._answer.set_exception(EOFError())
            self._answer.exception()  # nobody may be waiting


def _question(turn: int, asked: HttpCall) -> bytes:
    """A question in the form that `_asked` reads."""
    key = None if asked.visitor.key is None else _written(asked.visitor.key)
    where = [asked.method, asked.path, asked.placed, asked.query, asked.headers]
    return framed([turn, asked.verb.name, *where, asked.visitor.request_id, key], asked.body)


@lru_cache(maxsize=256)
def _written(key: ApiKey) -> str:
    return json.dumps(key.kept())


class Workers:
    """The workers of one server. Use them from its event loop. They are started on demand, and the most recently used
    is asked first. Like a lane, they have a limited number of places to wait."""

    name = "asking"

    def __init__(self, setup: WorkerSetup, count: int, memories: Memories) -> None:
        self._setup, self._memories = setup, memories
        self._most, self.inside = count + setup.limits.waiting, 0
        self._places = asyncio.Semaphore(count)
        self._idle: list[Worker] = []
        self._turn = 0  # how often settings were read again

    async def start(self) -> None:
        """Keeps one ready for the first question that arrives while another is running."""
        self._idle.append(await Worker.started(self._setup))

    def reopen(self) -> None:
        """Makes each worker open its memories again before its next question."""
        self._turn += 1

    def take(self, others: int) -> bool:
        """Whether the workers take a question: only while others are in progress, here or in the server. The server
        itself answers a lone one faster and cheaper."""
        return others + self.inside > 0

    async def answered(self, asked: HttpCall) -> Reply:
        """A worker's answer. By then its notes are in the inbox of the memories."""
        if self.inside >= self._most:
            raise TurnedAway("busy", f"{self._most} requests of this kind wait already; try again in a moment", 1)
        self.inside += 1
        try:
            async with self._places:
                told = await self._told(asked)
            await asyncio.sleep(0)  # its worker gets the next question before this answer is sent
        except (MemoristError, OSError) as problem:
            return Reply.of_problem(problem, asked.visitor.request_id)
        finally:
            self.inside -= 1
        if told.reply is None:
            raise RuntimeError(f"a worker failed: {told.fault}")
        if told.reply.status < 400:
            waiting = self._memories.note_later(asked.visitor, told.project, told.notes)
            if waiting % NOTED_AT_ONCE == 0:
                asyncio.get_running_loop().run_in_executor(None, self._memories.note_now)
        return told.reply

    async def _told(self, asked: HttpCall) -> WorkerAnswer:
        worker = self._idle.pop() if self._idle else await Worker.started(self._setup)
        try:
            return await self._asked(worker, asked)
        except EOFError:
            worker = await Worker.started(self._setup)
        try:
            return await self._asked(worker, asked)
        except EOFError:
            said = "two workers ended over this question; try again, and look into the server's log"
            raise StoreUnavailable(said) from None

    async def _asked(self, worker: Worker, asked: HttpCall) -> WorkerAnswer:
        try:
            told = await worker.ask(self._turn, asked)
        except EOFError:
            log.warning(
                "worker %d ended by itself, with code %d; a new one takes its place", worker.pid, await worker.end()
            )
            raise
        except TimeoutError:
            log.warning("worker %d was stuck, and ended with code %d", worker.pid, await worker.end())
            said = f"a worker did not answer within {ANSWERING:g} s; try again, and look into the server's log"
            raise StoreUnavailable(said) from None
        except BaseException:
            await worker.end()
            raise
        self._idle.append(worker)
        return told

    async def close(self) -> None:
        """Ends the workers. No question may be in progress."""
        idle, self._idle = self._idle, []
        await asyncio.gather(*(worker.end() for worker in idle))


# ---------------------------------------------------------------- in the worker


class _AskedMemory(Memory):
    """A memory without upkeep, which is the server's job: its slices are closed before the first could start, possibly
    on opening."""

    @property
    def _slices(self) -> Slices:
        return self._closed

    @_slices.setter
    def _slices(self, slices: Slices) -> None:
        slices.close()
        self._closed = slices


class _AskedMemories(Memories):
    """The memories of a worker: what they would note is collected for the server."""

    kind = _AskedMemory
    noted: tuple[str | None, Sequence[Receipt]] = (None, ())

    @contextmanager
    def seen_by(self, visitor: Visitor, project: str | None, noted: bool = True) -> Iterator[Memory]:
        with super().seen_by(visitor, project, noted) as memory:
            try:
                yield memory
            finally:  # else it would go with the next question, under another key
                self.noted = project, memory._writer.taken()


class _Desk:
    """The part of a worker that answers."""

    def __init__(self, setup: WorkerSetup) -> None:
        self._setup, self._turn = setup, 0
        self._work: Work | None = None
        self._memories: _AskedMemories | None = None

    def answer(self, turn: int, asked: HttpCall) -> WorkerAnswer:
        try:
            work, memories = self.open(turn)
            memories.noted = None, ()
            reply = answered(asked, work)
            project, notes = memories.noted
            return WorkerAnswer(reply, "", project, plain(notes))
        except (MemoristError, OSError) as problem:
            return WorkerAnswer(Reply.of_problem(problem, asked.visitor.request_id))
        except Exception as problem:  # nobody else would hear of it
            log.exception("a worker failed")
            return WorkerAnswer(fault=f"{type(problem).__name__}: {problem}")

    def open(self, turn: int = 0) -> tuple[Work, _AskedMemories]:
        """Its memories, with the settings of that turn."""
        if self._work is None or self._memories is None:
            setup, limits = self._setup, self._setup.limits
            self._memories = _AskedMemories(setup.db, setup.project, setup.space, limits.memories, limits.least_free)
            self._work = Work(self._memories, limits)
        elif turn != self._turn:
            self._memories.reopen()
        self._turn = turn
        return self._work, self._memories

    def close(self) -> None:
        if self._work is not None:
            self._work.close()


def main() -> None:
    """Answers until the pipe closes."""
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # anything printed must not come between the answers
    messages = _messages(sys.stdin.buffer)
    first = next(messages, None)
    if first is None:
        return
    setup = WorkerSetup.of(json.loads(first[0]))
    write_log(setup.level)
    desk = _Desk(setup)
    with for_good(), suppress(MemoristError, OSError):  # else the first question reports what is wrong
        desk.open()
    with suppress(BrokenPipeError), outgoing:
        for said, body in messages:
            outgoing.write(desk.answer(*_asked(said, body)).framed())
            outgoing.flush()
    desk.close()


def _messages(incoming: IO[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Reads until the server is gone, perhaps in the middle of a message."""
    while len(sizes := incoming.read(SIZES.size)) == SIZES.size:
        said, body = SIZES.unpack(sizes)
        whole = incoming.read(said + body)
        if len(whole) < said + body:
            return
        yield whole[:said], whole[said:]


def _asked(said: bytes, body: bytes) -> tuple[int, HttpCall]:
    turn, verb, method, path, placed, query, headers, request_id, key = json.loads(said)
    visitor = Visitor(request_id, None if key is None else _bearer(key))
    return turn, HttpCall(VERBS[verb], method, path, placed, query, headers, body, visitor)


@lru_cache(maxsize=256)
def _bearer(told: str) -> ApiKey:
    return key_of(json.loads(told))
