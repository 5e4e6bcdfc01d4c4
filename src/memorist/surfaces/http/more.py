"""The routes that are not verbs: events as they happen, exports and imports as streams, the knowledge extracted from a
project, the tools of the founding document, health and metrics.
"""

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from memorist import checks
from memorist.bus import written
from memorist.errors import Invalid, MemoristError
from memorist.files import transfer
from memorist.files.sources import Source
from memorist.memory import Memory
from memorist.noun import plain
from memorist.records import Event
from memorist.store.where import Where
from memorist.surfaces import wire
from memorist.surfaces.cli.watch import Recalls
from memorist.surfaces.http.guard import Visitor
from memorist.surfaces.http.replies import Reply
from memorist.surfaces.http.verbs import read_json, taken_from
from memorist.surfaces.http.work import Work
from memorist.surfaces.wire import TurnedAway

STYLES: Mapping[str, tuple[Callable[..., Iterator[str]], str]] = {
    "jsonl": (transfer.export, "application/x-ndjson"),
    "canonical": (transfer.export_canonical, "application/x-ndjson"),
    "markdown": (transfer.export_markdown, "text/markdown; charset=utf-8"),
}
BROUGHT = {
    "application/x-ndjson": "import.jsonl",
    "text/markdown": "import.md",
}  # what an import may be, and its usual file name
STEPS = tuple(
    (re.compile(shell), here)
    for shell, here in (
        ("`memorist (export|status)`", r"GET /v1/\1"),
        ("`memorist remember --batch`, one JSON object per line", "POST /v1/memories/batch"),
        (", in Python with user='.*'", ""),
        ("--document(?= as a text)", "document=true"),
        (r"--(project|scope|user) (?=\S+(,| as copies|$))", r"\1="),
        ("--scope(?= puts)", "scope="),
    )
)  # the next step after an import: as the engine says it for a shell, and as it is over HTTP
TOOLS = ("memory_store", "memory_query", "memory_reinforce", "memory_demote", "memory_update")
READING_TOOLS = ("memory_query",)
LOOK = 0.5  # seconds between two checks of the journal
BREATH = 15.0  # seconds of silence after which a stream of events sends a sign of life
EVENTS_AT_ONCE = 10_000
ANOTHER_JOURNAL = ": the journal has not come to that event; what happens from now on is told\nid: {}\n\n"
CHUNK = 64 << 10  # characters of an export per chunk
AHEAD = 8  # chunks made before the client has taken the first
SLOWEST = 60.0  # seconds that a client may take for a chunk: each export holds a thread


def query_of(query: str, *known: str) -> tuple[str | None, dict[str, str]]:
    """The project and the other arguments of a query, each given once and under a known name."""
    names = (*known, "project")
    found, rest = taken_from(query, *names)
    if rest:
        raise Invalid(f"{rest[0][0]!r:.60} is no part of this query; it takes {', '.join(names)}")
    return found.pop("project", None), found


def must_ask_plainly(headers: Mapping[str, str], writes: bool) -> None:
    """Refuses headers that a route without a verb cannot honour: a condition (If-Match), or an Idempotency-Key."""
    for name in ("If-Match", *(["Idempotency-Key"] if writes else [])):
        if name.lower() in headers:
            raise Invalid(f"this request takes no {name}; it would be ignored")


def _flag(said: str | None, name: str) -> bool:
    if said not in (None, "true", "false"):
        raise Invalid(f"{name} must be true or false, not {said!r:.60}")
    return said == "true"


# ---------------------------------------------------------------- events


@dataclass(slots=True)
class EventStream:
    """One listener to events: the journal and the recall log as far as they may read them, whichever process writes."""

    work: Work
    visitor: Visitor
    project: str | None
    after: int | None  # the number of the last event that the client has
    recalls: Recalls | None = None
    behind: bool = False  # the journal already holds more, which can be sent at once

    async def lines(self) -> AsyncIterator[bytes]:
        """The stream, until the client, its key or the server goes away."""
        said = time.monotonic()
        yield b": memorist\n\n"
        while not self.work.closing.is_set():
            events = await self._news()
            if events is None:
                return
            for each in events:
                yield each
            now = time.monotonic()
            if not events and now - said >= BREATH:
                yield b": still here\n\n"
            said = now if events or now - said >= BREATH else said
            if self.behind:
                continue
            try:
                await asyncio.wait_for(self.work.closing.wait(), LOOK)
            except TimeoutError:
                continue

    def must_be_let_in(self) -> None:
        """Refuses a listener without access before the stream begins. Runs in a thread."""
        with self.work.memories.seen_by(self.visitor, self.project, noted=False) as memory:
            memory._caller  # noqa: B018  # refused while memory is off

    async def _news(self) -> list[bytes] | None:
        """Events since the last look. While the lane is full this waits: the events stay in the journal and are sent
        later."""
        try:
            return await self.work.lanes["reading"].do(self._look)
        except TurnedAway:
            self.behind = False
            return []

    def _look(self) -> list[bytes] | None:
        """What is new; None if the key has changed: removed, rotated, or given other rights."""
        if not self.work.still_knows(self.visitor):
            return None
        with self.work.memories.seen_by(self.visitor, self.project) as memory:
            told = self._written(memory)
            self.work.memories.write_notes()
            if self.recalls is None:
                self.recalls = Recalls.of(memory, {})
            self.recalls.memory = memory
            return [*told, *map(_asked, self.recalls.new())]

    def _written(self, memory: Memory) -> list[bytes]:
        """The next batch of events from the journal. A number beyond its end belongs to another journal, such as that
        of a store that a backup has since replaced; the stream can then only go on from now."""
        head = memory._tools.store.head()
        last = head.last if head else 0
        if self.after is not None and self.after > last:
            self.after = last
            return [ANOTHER_JOURNAL.format(last).encode()]
        begin = last if self.after is None else self.after
        self.after = min(last, begin + EVENTS_AT_ONCE)
        self.behind = self.after < last
        if self.after == begin:
            return []
        return [*told_of(memory, memory.log(after=begin, before=self.after + 1, limit=EVENTS_AT_ONCE), self.behind)]


def told_of(memory: Memory, events: list[Event], more: bool) -> Iterator[bytes]:
    """Journal entries in the form of the bus, with their actor. Only the last event about a memory, which may come in a
    later batch, carries the change in length: intermediate lengths are not stored."""
    store, latest = memory._tools.store, {event.record: event.seq for event in events}
    records = {record.id: record for record in store.get(list(latest), Where(memory.access))}
    if more:
        latest = {id: store.journal(record=id, limit=1)[-1].seq for id in records}
    for event in events:
        record = records.get(event.record)
        if record is None:
            continue
        facts = written(record, [event], memory._past)
        if latest[event.record] != event.seq:
            del facts["delta"]
        who = {"outcome": event.verb, "because": event.because, "actor": event.actor, "surface": event.surface}
        facts |= {**who, "batch": event.batch, "at": event.at, "seq": event.seq}
        yield _event("memory:write", facts, event.seq)


def _asked(line: Mapping[str, Any]) -> bytes:
    return _event("memory:search", line)


def _event(name: str, facts: Mapping[str, Any], seq: int | None = None) -> bytes:
    number = f"id: {seq}\n" if seq is not None else ""
    return f"{number}event: {name}\ndata: {json.dumps(plain(facts))}\n\n".encode()


# ---------------------------------------------------------------- out and in


@dataclass(slots=True)
class Outflow:
    """An export, made by one thread that stays a few chunks ahead of the client."""

    work: Work
    visitor: Visitor
    project: str | None
    said: Mapping[str, str]
    queue: "asyncio.Queue[str | BaseException | None]" = field(default_factory=lambda: asyncio.Queue(AHEAD))
    gone: bool = False  # the client went away, or took nothing for too long

    @property
    def type(self) -> str:
        return STYLES[self._style][1]

    @property
    def _style(self) -> str:
        return checks.one_of(self.said.get("style", "jsonl"), "style", tuple(STYLES))

    async def begun(self) -> AsyncIterator[bytes]:
        """Starts the stream. Errors in the request are raised before it begins."""
        loop, where = asyncio.get_running_loop(), _where(self.said.get("where"))
        everything, style = _flag(self.said.get("all"), "all"), STYLES[self._style][0]
        lane = self.work.lanes["exporting"]
        task = asyncio.ensure_future(lane.do(lambda: self._make(loop, style, where, everything)))
        first = asyncio.ensure_future(self.queue.get())
        await asyncio.wait([task, first], return_when=asyncio.FIRST_COMPLETED)
        if not first.done():
            first.cancel()
            await task  # raises what went wrong
            return self._rest(None)
        chunk = first.result()
        if isinstance(chunk, BaseException):
            raise chunk
        return self._rest(chunk)

    async def _rest(self, chunk: str | BaseException | None) -> AsyncIterator[bytes]:
        try:
            while chunk is not None:
                if isinstance(chunk, BaseException):
                    raise chunk
                yield chunk.encode("utf-8", "surrogatepass")
                if self.gone:  # the rest is not made; the stream breaks off, so that nobody mistakes it for complete
                    raise TurnedAway(
                        "busy", f"an export waits {SLOWEST:g} s for a client that takes nothing; try again"
                    )
                chunk = await self.queue.get()
        finally:
            self.gone = True
            while not self.queue.empty():
                self.queue.get_nowait()

    def _make(
        self, loop: asyncio.AbstractEventLoop, style: Callable[..., Iterator[str]], where: Any, all: bool
    ) -> None:
        """Runs in a thread of its own, because a cursor of the store belongs to one thread."""
        try:
            with self.work.memories.seen_by(self.visitor, self.project, noted=False) as memory:
                for chunk in _chunks(style(memory, where, everything=all)):
                    self._put(loop, chunk)
                    if self.gone:
                        return
            self._put(loop, None)
        except Exception as problem:  # whatever it is, the client must not wait for the rest
            self._put(loop, problem)

    def _put(self, loop: asyncio.AbstractEventLoop, chunk: "str | BaseException | None") -> None:
        put, until = asyncio.run_coroutine_threadsafe(self.queue.put(chunk), loop), time.monotonic() + SLOWEST
        while not self.gone:
            try:
                return put.result(LOOK)
            except TimeoutError:
                self.gone = self.gone or time.monotonic() >= until
        put.cancel()


def _chunks(lines: Iterator[str]) -> Iterator[str]:
    some, size = list[str](), 0
    for line in lines:
        some.append(line)
        size += len(line)
        if size >= CHUNK:
            yield "".join(some)
            some, size = [], 0
    if some:
        yield "".join(some)


def _where(said: str | None) -> Any:
    if said is None:
        return None
    found = wire.parsed(said, "where", 20)
    if not isinstance(found, dict):
        raise Invalid('where must be a filter as a JSON object, such as {"kind": "fact"}')
    return found


async def bring(body: AsyncIterator[bytes], type: str, query: str, visitor: Visitor, work: Work) -> Reply:
    """An import: the body goes to a private file first, and holds no thread while it arrives."""
    project, said = query_of(query, "scope", "dry_run", "document", "name")
    sort = type.partition(";")[0].strip().lower()
    if sort not in BROUGHT:
        raise TurnedAway("no_json", f"an import is {' or '.join(BROUGHT)}, not {sort[:60] or 'nothing'!r}")
    name = checks.label(said.get("name", BROUGHT[sort]), "the name")
    dry_run, document = (_flag(said.get(each), each) for each in ("dry_run", "document"))
    scope = said.get("scope")
    await work.lanes["reading"].do(lambda: _must_write(work, visitor, project, scope))  # to try it takes no less
    with work.spool(visitor) as folder:
        file = Path(folder) / BROUGHT[sort]
        with file.open("wb") as spool:
            async for chunk in body:
                work.disk.must_have_room()
                await asyncio.to_thread(spool.write, chunk)
                _go_on(folder)

        def take() -> Reply:
            with work.memories.seen_by(visitor, project) as memory, _telling(str(file), name):
                files = [Source(file, name, sent=True)]
                done = transfer.import_files(
                    memory, files, scope=scope, dry_run=dry_run, document=document, heard=partial(_go_on, folder)
                )
                work.files.wrote(memory)
                return Reply.of(_called(plain(done), str(file), name))

        return await work.lanes["long"].do(take)


def _go_on(folder: str, *read: int) -> None:
    """Keeps the folder of an import new while its file grows and is read, so that nobody takes it for what a crash left."""
    os.utime(folder)


def _must_write(work: Work, visitor: Visitor, project: str | None, scope: str | None) -> None:
    """Refuses an import before its body arrives, if the sender may not write there."""
    with work.memories.seen_by(visitor, project) as memory:
        place = memory.home if scope is None else scope
        memory.access.must_write(place, memory.access.home_of(place))


@contextmanager
def _telling(path: str, name: str) -> Iterator[None]:
    """Makes errors name the file as the client named it."""
    try:
        yield
    except MemoristError as problem:
        problem.args = (_over_http(str(problem).replace(path, name)),)
        raise


def _called(told: dict[str, Any], path: str, name: str) -> dict[str, Any]:
    """The result of an import, with the client's name for the file in place of the spool path."""
    said = {which: [_over_http(each.replace(path, name)) for each in told[which]] for which in ("problems", "notes")}
    files = [each.replace(path, name) for each in told["files"]]
    prints = {each.replace(path, name): digest for each, digest in told["fingerprints"].items()}
    return {**told, **said, "files": files, "fingerprints": prints}


def _over_http(said: str) -> str:
    """Rewrites the engine's advice: routes and request fields in place of shell commands and options."""
    for shell, here in STEPS:
        said = shell.sub(here, said)
    return said


# ---------------------------------------------------------------- the rest


def knowledge(work: Work, visitor: Visitor, project: str, query: str) -> Reply:
    """The knowledge extracted from the files of a project: all of it, or what answers a question."""
    named, said = query_of(query, "query", "type", "limit")
    if named is not None:
        raise Invalid("the project stands in the path; leave it out of the query")
    most = wire.arguments("list", wire.queried("list", [("limit", said.get("limit", "100"))]))["limit"]
    kind = {} if "type" not in said else {"data.type": said["type"]}
    with work.memories.seen_by(visitor, project, noted=False) as memory:
        from_files = {"origin": {"$in": ["file", "import"]}, "kind": {"$ne": "document"}}
        where = {"scope": str(memory.project.scope), **from_files, **kind}
        if "query" in said:
            found = memory.recall(said["query"], search="items", limit=most, where=where)
            return Reply.of([plain(hit.record) for hit in found])
        return Reply.of(plain(memory.list(where, limit=most)))


def tool_named(type: str | None, body: bytes, depth: int) -> tuple[str, dict[str, Any]]:
    """`{"tool": …, "input": {…}}`: one of the founding document's five tools, by its own name, and its input."""
    from memorist.seeds.hebbian import Hebbian

    said = read_json(type, body, depth)
    if unknown := sorted(set(said) - {"tool", "input"}):
        raise Invalid(f"{unknown[0]!r:.60} is no field of a call; it takes tool and input")
    tool = checks.one_of(said.get("tool"), "tool", TOOLS)
    return tool, wire.arguments_for(getattr(Hebbian, tool), said.get("input", {}))


def tool_called(work: Work, visitor: Visitor, query: str, tool: str, given: Mapping[str, Any]) -> Reply:
    from memorist import seeds

    project, _ = query_of(query)
    if tool not in READING_TOOLS:
        work.disk.must_have_room()
    with work.memories.seen_by(visitor, project) as memory:
        answer = getattr(seeds.hebbian(memory), tool)(**given)
        work.files.wrote(memory)
    return Reply.of({"tool": tool, "result": plain(answer), "text": str(answer)})
