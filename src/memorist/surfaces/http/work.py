"""Where the server's work is done.

Each request waits for a thread in the lane of its verb. Reads never wait for writes, and neither wait for slow work:
long jobs (an import, upkeep, an audit), verbs that another writer of a session holds up, and exports, which are as slow
as their client reads. A lane has a fixed number of threads and of places to wait; when all are taken, a client is told
to come back. Memories are opened on demand, one for each space and project, and kept for the next request.
"""

import asyncio
import logging
import shutil
import tempfile
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from memorist.commands import Verb
from memorist.errors import Invalid, MemoristError
from memorist.memory import Memory
from memorist.project import resolve_project
from memorist.session import lease
from memorist.store.files import PARTIAL, clear_leftovers, unfinished_prefix
from memorist.store.nouns import Receipt
from memorist.store.room import SERVERS_LEAVE
from memorist.surfaces import settings, wire
from memorist.surfaces.http.files import FilesBehind
from memorist.surfaces.http.guard import ServerLimits, Visitor
from memorist.surfaces.http.keys import ApiKey, KeyRing
from memorist.surfaces.http.replies import Reply
from memorist.surfaces.wire import TurnedAway

if TYPE_CHECKING:
    from memorist.surfaces.http.verbs import HttpCall
    from memorist.surfaces.http.workers import Workers

G = TypeVar("G")  # an item of a gathering
T = TypeVar("T")  # a result
Together = Callable[[Sequence[G]], Sequence[T | Exception]]
THREADS = {"reading": 8, "writing": 4, "waiting": 8, "long": 3, "exporting": 3}  # by lane
ASKING = ("recall", "context", "explain", "why_not")  # verbs for workers, where there are any
TAKES_LONG = ("audit", "backup", "compact", "doctor", "rescan", "upkeep", "merge_project", "rename_project", "erase")
LONG_TEXT = 32 << 10  # bytes, whose vectors take a second or more
READS_NOTES = ("receipt", "log", "status")  # of the verbs that are quick, and write nothing
GATHERINGS = 2  # threads that take what waits together: while one computes vectors, the other writes
MOST_TOGETHER = 8  # requests of one transaction: others wait for it, and as many get vectors of a slow model at once
DISK_LOOK = 1.0  # seconds between two looks at the disk
PAUSE = 0.25  # seconds between two tries to open a session: whoever is first in its queue holds up the others
HEALTH_LOOK = 1.0  # seconds for which an answer about health stays valid
log = logging.getLogger("memorist.http")


def lane_of(verb: Verb, size: int = 0) -> str:
    """Where a verb is worked on that is given so many bytes. The vectors of a long text keep no short one waiting."""
    if verb.name in TAKES_LONG:
        return "long"
    if verb.writes and (verb.name in ("session", "ingest") or verb.name.startswith("session.")):
        return "waiting"  # for whoever else has the session open, up to half a minute, and mostly outside of a thread
    if not verb.writes:
        return "reading"
    return "writing" if size <= LONG_TEXT else "long"


def needs_notes(verb: Verb) -> bool:
    """Whether the verb reads or changes questions and what they showed; any other need not wait for a writer."""
    return lane_of(verb) != "reading" or verb.name in READS_NOTES


@dataclass(slots=True)
class WorkLane:
    """A pool of threads with a bounded queue. Use it from the server's event loop only."""

    name: str
    most: int  # requests that may wait, besides those being worked on
    pool: ThreadPoolExecutor
    inside: int = 0

    @classmethod
    def of(cls, name: str, most: int) -> "WorkLane":
        return cls(name, most + THREADS[name], ThreadPoolExecutor(THREADS[name], f"memorist-{name}"))

    async def do(self, work: Callable[[], T]) -> T:
        """Runs it in a thread of the lane. If the client goes away, work in progress still finishes."""
        self.take()
        doing = self._begun(work)
        doing.add_done_callback(self.gone)
        return await asyncio.shield(doing)

    def _begun(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        return asyncio.get_running_loop().run_in_executor(self.pool, work)

    def take(self) -> None:
        """Takes a place, until `gone`."""
        if self.inside >= self.most:
            raise TurnedAway("busy", f"{self.most} requests of this kind wait already; try again in a moment", 1)
        self.inside += 1

    def gone(self, doing: "asyncio.Future[T]") -> None:
        self.inside -= 1
        if not doing.cancelled():
            doing.exception()  # retrieves the exception: nobody may be left to hear of it


@dataclass(slots=True)
class SessionLane(WorkLane):
    """The lane of what another writer of a session may hold up. Between two tries it takes a place and no thread, and
    keeps its turn; the queue of one session is short, so that there are places for others."""

    def _begun(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        return asyncio.ensure_future(self._in_tries(work))

    async def _in_tries(self, work: Callable[[], T]) -> T:
        tries = lease.Tries()

        def attempt() -> T:
            with lease.trying(tries):
                return work()

        while True:
            try:
                return await asyncio.get_running_loop().run_in_executor(self.pool, attempt)
            except lease.NoPlace as full:
                raise TurnedAway("busy", str(full), 1) from None
            except lease.StillHeld:
                await asyncio.sleep(PAUSE)


class Gathering(Generic[G, T]):
    """Batches work that is cheaper done together: a thread of a lane takes all that is waiting, and each gets its own
    answer. Use it from the server's event loop only."""

    def __init__(self, lane: WorkLane, together: Together[G, T]) -> None:
        self._lane, self._together, self._running = lane, together, 0
        self._waiting: deque[tuple[G, asyncio.Future[T]]] = deque()

    async def do(self, given: G) -> T:
        """Runs it with whatever else waits. It finishes even if the client goes away."""
        self._lane.take()
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(self._lane.gone)
        self._waiting.append((given, answer))
        if self._running < GATHERINGS:
            self._begin()
        return await asyncio.shield(answer)

    def close(self) -> None:
        """Lets the lane finish what still waits, for clients that are gone."""
        while self._waiting:
            self._lane.pool.submit(self._together, [given for given, _ in self._some()])

    def _some(self) -> list[tuple[G, "asyncio.Future[T]"]]:
        """Takes those who waited longest."""
        return [self._waiting.popleft() for _ in range(min(MOST_TOGETHER, len(self._waiting)))]

    def _begin(self) -> None:
        some = self._some()
        given = [each for each, _ in some]
        doing = asyncio.get_running_loop().run_in_executor(self._lane.pool, self._together, given)
        self._running += 1

        def end(doing: "asyncio.Future[Sequence[T | Exception]]") -> None:
            self._running -= 1
            problem = doing.exception()
            came = doing.result() if problem is None else [problem] * len(some)
            for (_, answer), each in zip(some, came, strict=True):
                if isinstance(each, BaseException):
                    answer.set_exception(each)
                else:
                    answer.set_result(each)
            if self._waiting:
                self._begin()

        doing.add_done_callback(end)


@dataclass(slots=True)
class _Open:
    memory: Memory | None = None
    users: int = 0
    retired: bool = False  # its last user closes it
    opening: threading.Lock = field(default_factory=threading.Lock)


class Memories:
    """The open memories of one store, by space and project. When there are too many, the least recently used are
    closed. `leave` is how many bytes of the disk stay free unless the settings say otherwise; `least_free` is the
    number in force."""

    kind: type[Memory] = Memory

    def __init__(
        self, db: str | None, project: str | None, space: str | None, most: int, leave: int = SERVERS_LEAVE
    ) -> None:
        self._db, self._most, self._leave = db, most, leave
        self._lock = threading.Lock()
        self._open: OrderedDict[tuple[str, str], _Open] = OrderedDict()
        self._inbox: deque[tuple[Visitor, str | None, Sequence[Mapping[str, Any]]]] = deque()
        self._noting = threading.Lock()
        self._ending: list[threading.Thread] = []  # threads that close memories of a busy store
        self._own, self.least_free = (project, space), self._least_free()
        first = self._made(project, space)
        self._first = first.space, str(first.project.scope)
        self.space, self.usual = self._first
        self.path = first._tools.store.path
        self._open[self._first] = _Open(first)

    @property
    def size(self) -> int:
        """Bytes of the store's file, and of its log that is not yet moved into it."""
        files = [] if self.path is None else [self.path, self.path.with_name(f"{self.path.name}-wal")]
        return sum(file.stat().st_size for file in files if file.exists())

    @property
    def erased(self) -> str | None:
        """The mark of the last erasure, through whatever surface or process: what was read before may be gone."""
        with self._held(self.space, self.usual) as memory:
            return memory._tools.store.setting("erased")

    @contextmanager
    def seen_by(self, visitor: Visitor, project: str | None, noted: bool = True) -> Iterator[Memory]:
        """The memory of a request, with the rights of its visitor. First writes the notes of earlier questions to
        workers, unless the request does not need them (`needs_notes`): then it waits for no writer."""
        if noted and (self._inbox or self._noting.locked()):
            self.note_now()
        with self._seen_by(visitor, project) as memory:
            yield memory

    @contextmanager
    def _seen_by(self, visitor: Visitor, project: str | None) -> Iterator[Memory]:
        key = visitor.key
        if key is None:
            scope = self.usual if project is None else str(resolve_project(project, None).scope)
            with self.kept_by_server(self.space, scope) as memory:
                yield memory
            return
        with self._held(key.space, key.project(project, self.usual)) as memory:
            yield memory.through(key.access(str(memory.project.scope)))

    @contextmanager
    def kept_by_server(self, space: str, scope: str) -> Iterator[Memory]:
        """The memory of a project with the server's own rights: for its own work there, and for visitors without a key."""
        with self._held(space, scope) as memory:
            yield memory.through(replace(memory.access, origin="agent", surface="http"))

    def note_later(self, visitor: Visitor, project: str | None, notes: Sequence[Mapping[str, Any]]) -> int:
        """Takes the receipts of a question to a worker, as JSON values; returns how many questions wait to be noted.
        Never blocks."""
        self._inbox.append((visitor, project, notes))
        return len(self._inbox)

    def note_now(self) -> None:
        """Writes the waiting notes and counts the questions as uses. Runs in a thread."""
        with self._noting:  # anyone who comes meanwhile waits until the notes are written
            asked: dict[tuple[ApiKey | None, str | None], list[Sequence[Mapping[str, Any]]]] = {}
            while self._inbox:
                visitor, project, notes = self._inbox.popleft()
                asked.setdefault((visitor.key, project), []).append(notes)
            for (key, project), questions in asked.items():
                self._note(Visitor("", key), project, questions)

    def _note(self, visitor: Visitor, project: str | None, questions: Sequence[Sequence[Mapping[str, Any]]]) -> None:
        """Writes the notes of one key in one project."""
        notes = [note for each in questions for note in each]
        try:
            with self._seen_by(visitor, project) as memory:
                memory._writer.note_cleaned([wire.noun(Receipt, note) for note in notes])
                memory._writer.flush()  # once, and so that anyone who opens another memory of the project sees it
                for _ in questions:
                    memory._count_use()
        except (MemoristError, OSError) as problem:
            log.warning("%d lines of the recall log were given up: %s", len(notes), problem)
        except Exception:  # must not fail an unrelated request
            log.exception("%d lines of the recall log were given up", len(notes))

    @contextmanager
    def _held(self, space: str, project: str) -> Iterator[Memory]:
        entry = self._take(space, project)
        try:
            with entry.opening:  # those who want another memory do not wait for this one
                if entry.memory is None:
                    entry.memory = self._opened(space, project)
            yield entry.memory
        finally:
            self._give_back(entry)

    def _opened(self, space: str, project: str) -> Memory:
        if self.path is None:
            raise Invalid("a store in RAM is served for one project in one space only")
        named, there = self._own if (space, project) == self._first else (project, space)
        return self._made(named, there)

    def _made(self, project: str | None, space: str | None) -> Memory:
        memory = self.kind(self._db, project=project, space=space)
        memory._writer.room.leave(self._leave)
        return memory

    def _least_free(self) -> int:
        """What the settings say now, where the memories look for them."""
        said = settings.load(Path.cwd() if self._db is None else None).least_free
        return self._leave if said is None else said

    def _take(self, space: str, project: str) -> _Open:
        with self._lock:
            entry = self._open.setdefault((space, project), _Open())
            self._open.move_to_end((space, project))
            entry.users += 1
            idle = [name for name, each in self._open.items() if not each.users and name != self._first]
            gone = [self._open.pop(name) for name in idle[: max(0, len(self._open) - self._most)]]
        for each in gone:
            self._put_away(each)
        return entry

    def _put_away(self, entry: _Open) -> None:
        """Closes a memory that is no longer used. If the store is too busy, a thread of its own waits to write the
        rest."""
        memory = entry.memory
        if memory is None:
            return
        if memory._writer.waiting:
            memory._writer.flush()
        if not memory._writer.waiting:
            memory.close()
            return
        ending = threading.Thread(target=memory.close, name="memorist-closing")
        ending.start()
        with self._lock:
            self._ending = [*(each for each in self._ending if each.is_alive()), ending]

    def _give_back(self, entry: _Open) -> None:
        with self._lock:
            entry.users -= 1
            over = entry.retired and not entry.users
        if over:
            self._put_away(entry)

    def write_notes(self) -> None:
        """Writes the questions to all open memories to the recall log, because somebody listens."""
        with self._lock:
            found = [each for each in self._open.values() if each.memory is not None and each.memory._writer.waiting]
            for each in found:
                each.users += 1
        for each in found:
            try:
                if each.memory is not None:
                    each.memory._writer.flush()
            finally:
                self._give_back(each)

    def reopen(self) -> None:
        """Makes every memory open again with the current settings; those in use once they are free."""
        if self.path is not None:
            self._retire()
            self.least_free = self._least_free()  # before any memory opens: writes are refused without one

    def close(self) -> None:
        """Writes buffers and closes. A memory in use is closed by its last user."""
        self.note_now()
        self._retire()
        for ending in self._ending:
            ending.join()

    def _retire(self) -> None:
        with self._lock:
            old = [*self._open.values()]
            self._open.clear()
            for each in old:
                each.retired = True
            idle = [each for each in old if not each.users]
        for each in idle:
            self._put_away(each)


@dataclass(slots=True)
class Disk:
    """Whether there is room to write. Low disk space is checked again soon; reads continue meanwhile."""

    memories: Memories
    _looked: float = -DISK_LOOK
    _free: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def free(self) -> int | None:
        """Free bytes; None for a store that is not in a file."""
        path = self.memories.path
        if path is None:
            return None
        with self._lock:
            if time.monotonic() - self._looked >= DISK_LOOK:
                self._free, self._looked = shutil.disk_usage(path.parent).free, time.monotonic()
            return self._free

    @property
    def is_low(self) -> bool:
        free = self.free
        return free is not None and free < self.memories.least_free

    def must_have_room(self, more: int = 0) -> None:
        """Refuses a write if too little space is free, or too little for `more` bytes."""
        free = self.free
        if free is not None and free - more < self.memories.least_free:
            least = f"{self.memories.least_free + more >> 20:,} MB"
            said = f"the disk of the store has less than {least} left: nothing is written, reading goes on"
            raise TurnedAway("disk_low", f"{said}; free some space, or set min_free lower")


class Seats:
    """Places for long-lived clients: a total, of which one key gets only a few. Use it from the server's event loop
    only."""

    def __init__(self, whose: str, most: int, of_key: int) -> None:
        self._whose, self._most, self._of_key = whose, most, of_key
        self.taken: Counter[str | None] = Counter()  # by the name of their key

    def take(self, visitor: Visitor) -> Callable[[], None]:
        """Takes a place; returns the function that gives it back."""
        name = visitor.key.name if visitor.key else None
        if self.taken.total() >= self._most or (name is not None and self.taken[name] >= self._of_key):
            raise TurnedAway("busy", f"there are too many {self._whose}, of all or with this key; try again later", 5)
        self.taken[name] += 1

        def give_back() -> None:
            self.taken[name] -= 1

        return give_back


LANES: Mapping[str, type[WorkLane]] = {"waiting": SessionLane}


class Work:
    """The lanes, memories and disk of one server; its keys and workers, if it has any."""

    def __init__(
        self,
        memories: Memories,
        limits: ServerLimits,
        workers: "Workers | None" = None,
        ring: KeyRing | None = None,
    ) -> None:
        self.memories, self.limits, self.workers, self._ring = memories, limits, workers, ring
        self.followers = Seats("clients that follow events", limits.followers, limits.followers_of_key)
        self.streams = Seats("streams of MCP", limits.followers, limits.followers_of_key)
        self.sessions = Seats("sessions of MCP", limits.sessions, limits.sessions_of_key)
        self.calls = Seats("calls by MCP", limits.calls, limits.calls_of_key)
        self.lanes = {name: LANES.get(name, WorkLane).of(name, limits.waiting) for name in THREADS}
        self.notes: Gathering[HttpCall, Reply] = Gathering(self.lanes["writing"], self._remembered)
        self.disk = Disk(memories)
        self._asking, self._asked, self._health = asyncio.Lock(), -HEALTH_LOOK, dict[str, str]()
        self.imports = Seats("imports", limits.imports, limits.imports_of_key)
        self._spooling = Path(tempfile.gettempdir()) if memories.path is None else memories.path.parent
        clear_leftovers((self._spooling,))  # bodies of imports, passwords included, that a crash left there
        self.files = FilesBehind(memories)
        self.closing = asyncio.Event()  # set when the server ends: followers of events are disconnected

    @contextmanager
    def spool(self, visitor: Visitor) -> Iterator[str]:
        """A private folder for a file that the visitor uploads, on the disk whose free space is checked."""
        give_back = self.imports.take(visitor)
        try:
            with tempfile.TemporaryDirectory(PARTIAL, unfinished_prefix(), self._spooling) as folder:
                yield folder
        finally:
            give_back()

    def still_knows(self, visitor: Visitor) -> bool:
        """Whether the visitor's key is unchanged: not removed, not rotated, with the same rights."""
        return visitor.key is None or (self._ring is not None and visitor.key in self._ring.keys)

    def reopen(self) -> None:
        """Reads the settings again, here and in the workers."""
        self.memories.reopen()
        if self.workers is not None:
            self.workers.reopen()

    def close(self) -> None:
        """Finishes work in progress, and closes."""
        self.notes.close()
        for lane in self.lanes.values():
            lane.pool.shutdown(wait=True)
        self.files.close()
        self.memories.close()

    def _remembered(self, calls: "Sequence[HttpCall]") -> list[Reply | Exception]:
        from memorist.surfaces.http.verbs import answered_together

        return answered_together(calls, self)

    async def health_lately(self) -> dict[str, str]:
        """Health, at most a second old: anybody may ask, as often as they like, without taking a place in a lane."""
        async with self._asking:
            if time.monotonic() - self._asked >= HEALTH_LOOK:
                self._health = await asyncio.to_thread(self.health)
                self._asked = time.monotonic()
            return self._health

    def health(self) -> dict[str, str]:
        """One word for each part, and only what anybody may know."""
        try:
            with self.memories.seen_by(Visitor(""), None, noted=False) as memory:
                memory._tools.store.head()
                switched = "off" if memory._off_because() else "on"
            store = "ok"
        except MemoristError:
            store, switched = "unavailable", "unknown"
        disk = "low" if self.disk.is_low else "ok"
        parts = {"store": store, "disk": disk, "memory": switched}
        return {"status": "ok" if store == "ok" and disk == "ok" else "degraded", **parts}
