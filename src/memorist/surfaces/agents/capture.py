"""What was said to and by a coding agent, out of the transcript that it writes: prompts as what a person typed, answers as an
agent's word, results as a tool's.

The transcript is the source. It is read from where the last reading ended, as far as its lines are whole, a few hundred messages at
a time, each kept once under its own id; so reading can stop at any moment and go on later, in any process. What stands between
<private> and </private> is not kept, nor is what we put into a prompt ourselves, nor what helpers of the agent said.
"""

import json
import re
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from memorist.files.importers import Importer, Utterance, Values, claude_code, codex, gemini, without_guests
from memorist.files.sources import Source, opened, readable
from memorist.files.streams import LONGEST_LINE, Stream
from memorist.memory import Memory
from memorist.store import captures
from memorist.store.captures import Capture

IMPORTERS: Mapping[str, Importer] = {
    each.name: each for each in (claude_code.importer, codex.importer, gemini.importer)
}
SURFACE = "hook"
MESSAGES_AT_ONCE = 200  # messages
_PRIVATE = re.compile(r"<private>.*?(?:</private>|\Z)", re.DOTALL | re.IGNORECASE)


def recorder(memory: Memory) -> Memory:
    """The memory through the door that saw a person type; what else a transcript says is lowered by who said it."""
    return memory.through(replace(memory.access, origin="recorded", surface=SURFACE))


def note(memory: Memory, client: str, session: str, path: Path, ended: bool, since: str | None = None) -> None:
    """Keeps that there is such a transcript, unless that is known. What a fork brings along from before `since` was said, and is
    kept, in another session."""
    store = memory._tools.store
    there = next((each for each in captures.known(store, memory.space, memory.home) if each.session == session), None)
    capture = replace(there or Capture(client, session, path, since=since), path=path, ended=ended)
    if capture != there:
        _keep(memory, capture)


def read_all(memory: Memory, seconds: float | None = None, session: str | None = None) -> int:
    """Reads what is new in the transcripts of this project, or of that session, for so long. → messages"""
    until = None if seconds is None else time.monotonic() + seconds
    said = 0
    for capture in captures.known(memory._tools.store, memory.space, memory.home):
        if session in (None, capture.session) and (until is None or time.monotonic() < until):
            said += _read(memory, capture, until)
    return said


def _read(memory: Memory, capture: Capture, until: float | None) -> int:
    """Reads one on. It is closed once its session has ended and nothing is left."""
    said = 0
    with closing(_messages(capture)) as found:  # none of a session in which nothing was said, or that was thrown away
        while some := list(islice(found, MESSAGES_AT_ONCE)):
            memory.ingest([message for message, _ in some], session=capture.session, agent=capture.client)
            said += len(some)
            capture = replace(capture, read=some[-1][1])
            _keep(memory, capture)
            if until is not None and time.monotonic() >= until:
                return said
    if capture.ended:
        if capture.read:
            memory.session(capture.session, agent=capture.client).close()
        with memory._writer.transaction():
            captures.forget(capture.session, memory._tools.store, memory.space, memory.home)
    return said


def _keep(memory: Memory, capture: Capture) -> None:
    with memory._writer.transaction():
        captures.note(capture, memory._tools.store, memory.space, memory.home)


def _messages(capture: Capture) -> Generator[tuple[Mapping[str, Any], int], None, None]:
    """The messages that were not read yet, each with where its line ends."""
    if not capture.path.is_file():
        return
    tail = _Tail(Stream(Source(capture.path, readable(capture.path.name))), begin=capture.read)
    for item in IMPORTERS[capture.client].read(tail):
        if isinstance(item, Utterance) and not _older(item.message.get("timestamp"), capture.since):
            message = without_guests(item.message)
            message = {"id": f"{capture.path.name}:{tail.place}", **{k: v for k, v in message.items() if v is not None}}
            yield {**message, "content": _public(message.get("content"))}, tail.end


def _older(said: Any, since: str | None) -> bool:
    if since is None or not isinstance(said, str):
        return False
    try:
        return datetime.fromisoformat(said) < datetime.fromisoformat(since)
    except (ValueError, TypeError):
        return False


def _public(content: Any) -> Any:
    """Without what the person marked as private."""
    if isinstance(content, str):
        return _PRIVATE.sub("", content)
    if isinstance(content, list):
        return [_public(each) for each in content]
    if isinstance(content, Mapping):
        return {name: _public(each) if name in ("text", "content") else each for name, each in content.items()}
    return content


class _Tail(Values):
    """The whole lines of a transcript behind a byte; the last one may still be being written."""

    __slots__ = ("begin", "end")

    def __init__(self, stream: Stream, begin: int) -> None:
        super().__init__(stream)
        self.begin = self.end = begin

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        with opened(self.stream.source) as file:
            if self.begin > file.seek(0, 2):  # it was written anew
                self.begin = 0
            self.end = file.seek(self.begin)
            while (line := file.readline(LONGEST_LINE)).endswith(b"\n"):
                self.place, self.end = self.end, self.end + len(line)
                try:
                    found = json.loads(line)
                except (ValueError, RecursionError):
                    continue  # a torn line of a program that was killed
                if isinstance(found, Mapping):
                    yield found
