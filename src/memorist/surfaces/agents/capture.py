"""Reads what was said to and by a coding agent from the transcript that the agent writes: prompts count as typed by a
person, answers as an agent's word, results as a tool's.

The transcript is the source. Reading goes on where it last ended, as far as the lines are complete, a few hundred
messages at a time, and each message is kept once under its own id. So reading can stop at any moment and continue
later, in any process. The position is kept beyond the end of a session, so that reading a resumed session continues
there. What was read last is kept too: if it is no longer at its position, the transcript was rewritten, and is read
from its beginning.

Not kept: text between <private> and </private>, what we put into a prompt ourselves or answered as a tool, and what
subagents said. A transcript that cannot be read does not stop the others.
"""

import json
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, cast

from memorist.errors import Invalid, NotFound
from memorist.files.importers import Importer, OwnTools, Utterance, Values, may_be_kept, storable
from memorist.files.sources import Source, opened, readable
from memorist.files.streams import LONGEST_LINE, Stream
from memorist.memory import Memory
from memorist.records import Record
from memorist.remember.edit import LONGEST_ANSWER
from memorist.store import captures
from memorist.store.captures import Capture
from memorist.store.nouns import RENDERED_AT_MOST, Receipt
from memorist.store.where import Order, Where
from memorist.surfaces import settings
from memorist.surfaces.agents import problems
from memorist.surfaces.agents.moments import HELPER, SURFACE
from memorist.text.twins import CITED

# Agents, and the importers that read their transcripts.
READ = {"claude-code": "claude_code", "codex": "codex", "gemini": "gemini"}
MESSAGES_AT_ONCE = 200  # messages
AT_LEAST = 1 << 20  # bytes of a transcript that are read however little time there is
QUIET = 24 * 3600  # seconds of silence after which a session counts as over
TRANSCRIPT = "transcript"  # the place of a problem, for `memorist doctor`


def recorder(memory: Memory) -> Memory:
    """The memory with the rights of a surface that saw a person type; everything else in a transcript is ranked lower
    by its speaker."""
    return memory.through(replace(memory.access, origin="recorded", surface=SURFACE))


def note(memory: Memory, client: str, session: str, path: Path, ended: bool, since: str | None = None) -> None:
    """Notes that there is such a transcript, unless that is known. Messages from before `since` were copied by a fork:
    they were said, and are kept, in another session."""
    if "\0" in str(path):  # whoever looked for it later would fail
        raise Invalid(f"{readable(str(path))} is no path of a transcript")
    store = memory._tools.store
    there = next((each for each in captures.known(store, memory.space, memory.home) if each.session == session), None)
    if there is None or there.path != path:
        with memory._writer.transaction():
            captures.note(Capture(client, session, path, ended=ended, since=since), store, memory.space, memory.home)
        return
    closed = there.closed and ended and replace(there, closed=False).at_its_end
    if (ended, closed) != (there.ended, there.closed):
        _changed(memory, there, ended=ended, closed=closed)


def read_all(memory: Memory, seconds: float | None = None, session: str | None = None, close: bool = True) -> int:
    """Reads what is new in the transcripts of this project, or of one session, until the time is up, but at least a few
    messages. `close` says whether to close sessions that have ended, which may call a model. → messages"""
    until = None if seconds is None else time.monotonic() + seconds
    said, place, since = 0, (memory._tools.store, memory.space, memory.home), _since(memory)
    for capture in () if captures.left_out(*place) else captures.known(*place):
        if capture.closed or session not in (None, capture.session):
            continue
        try:
            new, whole = _read(memory, capture, until, close, since)
        except (Invalid, OSError, RecursionError) as problem:
            problems.note(capture.client, TRANSCRIPT, problem)
            continue
        said += new
        if _is_over(until) and (said or not whole):
            break
    return said


def keep(memory: Memory, client: str, session: str, messages: list[Any]) -> int:
    """Keeps what an agent hands over itself, because it writes no transcript: each message once, under its own id.
    → messages"""
    since = _since(memory)
    new = (each for each in messages if isinstance(each, Mapping) and not _older(each.get("timestamp"), since))
    cleaned = [_cleaned(each) for each in new]
    own = OwnTools([])
    said = [own.without(each) for each in cleaned if each is not None]
    if said:
        _ingest(memory, said, Capture(client, session, Path()))
    return len(said)


def _since(memory: Memory) -> str | None:
    """When memory was last switched on, here or everywhere. Unread messages from before that are skipped."""
    here = captures.taken_in(memory._tools.store, memory.space, memory.home)
    return max(filter(None, (here, settings.switched_on())), key=datetime.fromisoformat, default=None)


def _read(memory: Memory, capture: Capture, until: float | None, close: bool, since: str | None) -> tuple[int, bool]:
    """Reads on in one transcript, and closes its session if that has ended and nothing is left to read. A missing file
    counts as an end. → messages, and whether nothing is left"""
    stream = Stream(Source(capture.path, readable(capture.path.name)))
    said, tail, own = 0, _Tail(stream, capture.goes_on_at, until), OwnTools(capture.asked)
    # A session in which nothing was said, or that was discarded, has no messages.
    with closing(_messages(tail, capture, since)) as found:
        for messages, end in _some_at_once(found, tail):
            _ingest(memory, [own.without(each) for each in messages], capture)
            said += len(messages)
            capture = _read_to(memory, capture, end, own)
            if len(messages) >= MESSAGES_AT_ONCE and _is_over(until):
                return said, False
    if tail.begin != tail.end != capture.read:  # what came last is not kept, and not read again
        capture = _read_to(memory, capture, tail.end, own)
    if close and tail.whole:  # else an agent is waiting
        _close(memory, _uses_counted(memory, capture))
    return said, tail.whole


def _read_to(memory: Memory, capture: Capture, place: int, own: OwnTools) -> Capture:
    return _changed(memory, capture, read=place, last=captures.mark(capture.path, place), asked=own.asked)


def _is_over(until: float | None) -> bool:
    return until is not None and time.monotonic() >= until


def _uses_counted(memory: Memory, capture: Capture) -> Capture:
    """Counts which of the memories told to the session its new answers used."""
    where = Where(memory.access).also("kind", "eq", "turn").also("session", "eq", capture.session)
    turns = memory._tools.store.find(where.also("number", "gt", capture.counted), Order("number", ascending=True))
    if not turns:
        return capture
    _count_uses(memory, capture.session, [turn for turn in turns if turn.provenance.role == "assistant"])
    return _changed(memory, capture, counted=turns[-1].number)


def _count_uses(memory: Memory, session: str, answers: list[Record]) -> None:
    agent, until = memory.through(replace(memory.access, origin="agent")), datetime.max.replace(tzinfo=UTC)
    told = memory._tools.store.receipts(memory.space, RENDERED_AT_MOST, session=session) if answers else []
    for line in filter(_is_told_to_agent, told):  # newest first
        said, until = _answers_to(line.at, until, answers), line.at
        with suppress(NotFound):  # some of it was erased since
            if said:
                agent.used(line.id, said[-LONGEST_ANSWER:])


def _is_told_to_agent(line: Receipt) -> bool:
    """Whether the agent itself was told something: what its helpers answer is not recorded."""
    return bool(line.ids) and not line.actor.endswith(HELPER)


def _answers_to(told: datetime, until: datetime, answers: list[Record]) -> str:
    """The answers that follow something told, until the next time something was told; and citations of it in later
    answers."""
    said = [turn.text for turn in answers if told <= turn.times.at < until]
    later = (turn.text for turn in answers if turn.times.at >= until)
    return "\n".join([*said, *(cited for text in later for cited in CITED.findall(text))])


def _close(memory: Memory, capture: Capture) -> None:
    """Ends its session if that is over: the agent said so, or was killed and has been silent for a day, or the file is
    gone. A session whose file never existed may still begin, and one in which nothing was said is none."""
    gone = not capture.path.is_file()
    quiet = not gone and time.time() - capture.path.stat().st_mtime > QUIET
    if not capture.ended and not (capture.read and (gone or quiet)):
        return
    if capture.counted:
        memory.session(capture.session, agent=capture.client).close()
    if gone:
        with memory._writer.transaction():
            captures.forget(capture.session, memory._tools.store, memory.space, memory.home)
    else:
        _changed(memory, capture, ended=True, closed=True)


def _ingest(memory: Memory, messages: list[Mapping[str, Any]], capture: Capture) -> None:
    """All of them, or each of them that can be kept: one that cannot must not keep those behind it out for good."""
    try:
        outcomes = memory.ingest(messages, session=capture.session, agent=capture.client).outcomes
        refused = [each.because for each in outcomes if each.outcome == "refused"]
        if refused:
            said = f"{len(refused)} of {len(messages)} messages were not kept, the first because {refused[0]}"
            problems.note(capture.client, TRANSCRIPT, Invalid(said))
    except (Invalid, RecursionError) as problem:
        if len(messages) == 1:
            problems.note(capture.client, TRANSCRIPT, problem)
        else:
            for message in messages:
                _ingest(memory, [message], capture)


def _changed(memory: Memory, capture: Capture, **values: Any) -> Capture:
    """Stores these values of it, and leaves the others as they are by now: while a transcript is read, its agent may say
    that the session is over."""
    store, space, home = memory._tools.store, memory.space, memory.home
    with memory._writer.transaction():
        there = next((each for each in captures.known(store, space, home) if each.session == capture.session), capture)
        if there.path != capture.path:  # of another file these values say nothing
            return replace(capture, **values)
        captures.note(replace(there, **values), store, space, home)
    return replace(there, **values)


def _messages(
    tail: "_Tail", capture: Capture, since: str | None
) -> Generator[tuple[Mapping[str, Any], int], None, None]:
    """The messages not yet read, each with the position where its line ends."""
    if not capture.path.is_file():
        return
    for item in _importer(capture.client).read(tail):
        if tail.place < tail.begin:  # from the first line, which was read before
            continue
        said = item.message.get("timestamp") if isinstance(item, Utterance) else None
        if isinstance(item, Utterance) and not _older(said, capture.since) and not _older(said, since):
            message = _cleaned(item.message)
            if message is not None:
                yield {"id": f"{capture.path.name}:{tail.place}", **message}, tail.end


def _some_at_once(
    found: Iterator[tuple[Mapping[str, Any], int]], tail: "_Tail"
) -> Iterator[tuple[list[Mapping[str, Any]], int]]:
    """The messages of some lines, and where to go on behind these. All of a line, which may have a message of Gemini CLI
    and the calls of tools in it."""
    some = list[Mapping[str, Any]]()
    for end, of_line in groupby(found, itemgetter(1)):
        some += [message for message, _ in of_line]
        if len(some) >= MESSAGES_AT_ONCE:
            yield some, end
            some = []
    if some:
        yield some, tail.end


def _cleaned(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """What may be kept of a message, and can be; None of one that is too deep to be looked through, as no person or program writes
    it."""
    try:
        return {name: _storable(value) for name, value in may_be_kept(message).items() if value is not None}
    except (Invalid, RecursionError):
        return None


def _storable(value: Any) -> Any:
    """What tools put out may hold anything, and agents cut it in the middle of a character."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [_storable(each) for each in value]
    return {_storable(name): _storable(each) for name, each in value.items()} if isinstance(value, dict) else value


def _importer(client: str) -> Importer:
    """Imports only the importer that is needed: a hook has no time for the others."""
    return cast(Importer, import_module(f"memorist.files.importers.{READ[client]}"))


def _older(said: Any, since: str | None) -> bool:
    if since is None or not isinstance(said, str):
        return False
    try:
        return datetime.fromisoformat(said) < datetime.fromisoformat(since)
    except (ValueError, TypeError):
        return False


class _Tail(Values):
    """The complete lines of a transcript after a position; the last line may still be in the making. The first line of
    the file comes before them, because in some formats it says where the session took place. They end early when the
    time is up, and end there again if they are gone through twice, though the file has grown."""

    __slots__ = ("_last", "_until", "begin", "end", "whole")

    def __init__(self, stream: Stream, begin: int, until: float | None) -> None:
        super().__init__(stream)
        self.begin = self.end = begin
        self.whole = True
        self._until, self._last = until, -1

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        with opened(self.stream.source) as file:
            if self.begin > file.seek(0, 2):  # the file was rewritten
                self.begin = 0
            self.place = file.seek(0)
            yield from _object(file.readline(LONGEST_LINE) if self.begin else b"")
            self.end = file.seek(self.begin)
            for line, size in _whole_lines(file):
                if self.end == self._last:
                    return
                self.place, self.end = self.end, self.end + size
                yield from _object(line)
                if self._last < 0 and self.end - self.begin >= AT_LEAST and _is_over(self._until):
                    self.whole = False
                    break
            self._last = self.end


def _object(line: bytes) -> Iterator[Mapping[str, Any]]:
    """The object in a line; empty for a line torn by a killed program, and for one that is too long."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return
    if isinstance(found, Mapping):
        yield found


def _whole_lines(file: IO[bytes]) -> Iterator[tuple[bytes, int]]:
    """Lines that have an end, each with its size; of a line that is too long, only its beginning."""
    while line := file.readline(LONGEST_LINE):
        size, last = len(line), line
        while not last.endswith(b"\n") and (last := file.readline(LONGEST_LINE)):
            size += len(last)
        if not last.endswith(b"\n"):
            return
        yield line, size
