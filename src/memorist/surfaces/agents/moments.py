"""What is told and kept at a moment of an agent's session, once `hooks` has decided that there is something to do."""

import json
import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memorist import checks
from memorist.design import STEADY, Design, Lane
from memorist.errors import Conflict, Invalid, StoreUnavailable
from memorist.kinds import MEMORY
from memorist.lazy import dataclass
from memorist.memory import Memory
from memorist.project import repository_root
from memorist.prompt.context import Wish
from memorist.prompt.modes import Profile
from memorist.records import Record
from memorist.remember import consent
from memorist.remember.extract import asked_in
from memorist.store import captures
from memorist.store.nouns import RENDERED_AT_MOST, TRIED, Receipt
from memorist.surfaces import settings
from memorist.surfaces.agents import problems
from memorist.surfaces.agents.clients import Agent, Moment
from memorist.text.question import small_talk

SURFACE = "hook"
TELLS = ("start", "prompt", "helper")  # moments at which something may be told
WAIT = 0.25  # seconds to wait for another writer; the agent waits for all of it
READING = 0.05  # seconds that a starting session spends reading other transcripts
CLOSING = 0.15  # seconds into a start after which no other session is read or closed
EMBEDDING = 0.03  # seconds of a prompt for memories that a start kept without vectors; the rest waits for the next
COMPACTING = 5.0  # seconds of reading before a compaction; the rest is read later
HEAD_LINES, HEAD_BYTES = 50, 1 << 20  # lines of a transcript, and bytes of each, that are searched for its folder
FEW = 3  # memories at a prompt, where probabilities are known (docs/why/0072)
TURN_OVER = 0.5  # seconds of reading when the agent has answered
START = (Lane("pinned", 0.3), Lane("standing", 0.6, ceiling=700), Lane("summaries", 0.3, ceiling=250))
BEFORE_ALL = datetime.min.replace(tzinfo=UTC)
HELPER = " helper"  # behind the agent's name, in what is noted as told to its helpers
ENDS = re.compile(r"[.!?…:;\]。！？]+(?=\s|$)|[。！？]|\n")  # of a sentence or a mark before it
STATED = re.compile(r"\w+|[<>=≠≤≥+#%]+|(?<!\w)-(?=\w)")  # words, and marks that make another statement of them
WITHOUT_TURNS = Profile("hook", turns=0)  # the agent has its own turns
logging.getLogger("memorist").addHandler(logging.NullHandler())  # else warnings would show on the agent's screen


@dataclass(frozen=True, slots=True)
class _Call:
    """What an agent said when it called this hook, and what is known about its session."""

    agent: Agent
    moment: Moment
    given: Mapping[str, Any]
    began: float  # when the hook began; what was noted as told after that was never heard
    session: str | None
    known: captures.Began | None


def answer(agent: Agent, moment: Moment, given: Mapping[str, Any], say: Callable[[str], None], began: float) -> None:
    """Reads transcripts if the moment calls for it, and answers, both in the project in which the session began: a
    start says where the session before it ended."""
    if settings.off_because():
        return
    folder = given.get("cwd")
    if isinstance(folder, str) and Path(folder).is_dir():
        os.chdir(folder)
    session = _session(given)
    with _memory(agent, moment) as memory:
        known = None if session is None else captures.began(agent.name, session, memory._tools.store, memory.space)
        call = _Call(agent, moment, given, began, session, known)
        first = _began_in(call)
        if not first.is_dir():
            raise Invalid("the folder in which this session began is gone, so nothing is told or noted in it")
        if _is_project_of(first, Path.cwd()):
            return _answer(memory, call, say)
    os.chdir(first)
    with _memory(agent, moment) as memory:
        _answer(memory, call, say)


def _answer(memory: Memory, call: _Call, say: Callable[[str], None]) -> None:
    out = captures.left_out(memory._tools.store, memory.space, memory.home)
    try:
        if call.moment in ("start", "compact", "stop", "end"):
            _begun(memory, call)
            if not out:
                _captured(memory, call)
    finally:  # whatever goes wrong with transcripts
        try:
            told = _told(memory, call) if call.moment in TELLS and not out else ""
            if told:
                say(told)
        finally:
            _leave(memory, call)


def _began_in(call: _Call) -> Path:
    """Where that session began, as noted or as its transcript says; else the current folder. The agent's folder is that
    of its last command, which may be in another project by now."""
    return call.known.folder if call.known else _first_folder(call.given.get("transcript_path")) or Path.cwd()


def _is_project_of(first: Path, here: Path) -> bool:
    return first == here or repository_root(here) == repository_root(first) is not None


def _first_folder(transcript: Any) -> Path | None:
    """The folder that a transcript names first, if it exists here: Claude Code names it in its lines, Codex in its
    first line."""
    with suppress(OSError, ValueError):
        if isinstance(transcript, str) and Path(transcript).is_file():
            with Path(transcript).open("rb") as file:
                for _ in range(HEAD_LINES):
                    folder = _folder_in(file.readline(HEAD_BYTES))
                    if folder is not None:
                        return Path(folder).resolve() if Path(folder).is_dir() else None
    return None


def _folder_in(line: bytes) -> str | None:
    found: Any = None
    with suppress(ValueError, RecursionError):
        found = json.loads(line) if b'"cwd"' in line else None
    inner = found.get("payload") if isinstance(found, Mapping) else None
    folders = (each.get("cwd") for each in (found, inner) if isinstance(each, Mapping))
    return next((folder for folder in folders if isinstance(folder, str)), None)


def _begun(memory: Memory, call: _Call) -> None:
    """Notes where the session began, even in a project that is left out: else it would count as a session of whatever
    project its agent moves to. Also notes when its agent forgot what it was told."""
    forgets = _forgets(call)
    if call.session is not None and (call.known is None or forgets):
        folder = call.known.folder if call.known else Path.cwd()
        about = captures.Began(folder, memory._tools.clock().isoformat() if forgets else None)
        with memory._writer.transaction():
            captures.begin(call.agent.name, call.session, about, memory._tools.store, memory.space)


def _forgets(call: _Call) -> bool:
    """Whether the agent begins without what it was told in this session, or will. Gemini CLI announces a compaction before
    every turn, and mostly does none."""
    if call.moment == "start":
        lasts = call.agent.hooks is not None and call.agent.hooks.lasts
        return not lasts or call.given.get("source") in ("startup", "compact", "clear")
    return call.moment == "compact" and call.agent.name == "opencode"


def _leave(memory: Memory, call: _Call) -> None:
    """What was told is noted now or never: closing a memory would wait longer for another writer than an agent does."""
    memory._writer.flush(WAIT)
    if memory._writer.taken():
        problem = StoreUnavailable("what was told was not noted, because the store was busy or full")
        problems.note(call.agent.name, call.moment, problem)


def _memory(agent: Agent, moment: Moment) -> Memory:
    """The memory of this folder. The session is not told what it noted itself."""
    memory = Memory(chat="none", wait=WAIT)
    actor = agent.name + (HELPER if moment == "helper" else "")
    memory.access = replace(memory.access, origin="agent", surface=SURFACE, actor=actor)
    memory.design = _design(memory.design, moment)
    memory._writer.generations.later = moment == "start"  # loading the embedder takes a third of a start
    return memory


def _design(design: Design, moment: Moment) -> Design:
    """The user's design with the lanes for that moment. A prompt repeats nothing that was said at the start."""
    reads = tuple(family for family in design.reads if family != "session")
    if moment != "prompt":
        return replace(design, lanes=START, inject="core", reads=reads)
    lanes = tuple(lane for lane in design.lanes if lane.name not in STEADY)
    return replace(design, lanes=lanes or design.lanes, reads=reads)


def _knows_chances(design: Design) -> bool:
    return any(lane.of_above for lane in design.lanes)


def _told(memory: Memory, call: _Call) -> str:
    """What the agent gets: at a start what holds here and where work stands, at a prompt what recall would show first."""
    here, session = settings.load(Path.cwd()), call.session
    where: dict[str, Any] = {"passed_on": True} if session is None else {"passed_on": True, "session": {"$ne": session}}
    wish = Wish(
        "", session=session, budget=here.hook_tokens, style="xml", profile=WITHOUT_TURNS, deadline=here.hook_ms / 1000,
        where=where, shown=_shown(memory, call),
    )  # fmt: skip
    if call.moment != "prompt":
        return "\n".join(filter(None, (memory._context(wish).text, _waiting(memory, call))))
    prompt = asked_in(call.given["prompt"], memory._tools.reads)
    if not prompt or small_talk(prompt):
        return ""
    # Memories only: earlier turns are mostly questions and requests, and so are summaries, which resemble many prompts.
    kinds = [kind.name for kind in memory._tools.kinds.values() if kind.layer == MEMORY and kind.recalled]
    wanted = replace(wish, query=prompt, kinds=[kind for kind in kinds if kind != "summary"])
    memory._writer.generations.catch_up_later(EMBEDDING)
    return memory._context(replace(wanted, limit=FEW if _knows_chances(memory.design) else None)).text


def _waiting(memory: Memory, call: _Call) -> str:
    """One line about what waits for a person, at the start of a session."""
    if call.moment != "start" or not _knows_nothing(call):
        return ""
    questions = len(consent.waiting(memory.access, memory._tools.store))
    typed = memory.count({"status": "candidate", "scope": memory.home, "origin": "recorded"})
    waits = [f"questions: {questions}, `memorist review` lists them"] * bool(questions)
    waits += [f"unconfirmed memories: {typed}, `memorist promote ID` confirms one"] * bool(typed)
    return "waiting for the user's confirmation: " + "; ".join(waits) if waits else ""


def _captured(memory: Memory, call: _Call) -> None:
    """Notes and keeps what was said. Only a start closes sessions."""
    from memorist.surfaces.agents import capture

    door = capture.recorder(memory)
    if call.session is not None and _kept(door, call.session, call) and call.moment in ("compact", "stop"):
        # What a person typed is there for the next prompt of this project, and not only when the session ends.
        held = door.session(call.session, agent=call.agent.name)
        held.flush(reason="compaction_pending" if call.moment == "compact" else "manual")
        held.leave()
    if call.moment == "start":
        _close_ended(door)


def _kept(door: Memory, session: str, call: _Call) -> int:
    """Notes that there is a transcript, which a compaction reads at once, and keeps what the agent hands over itself.
    → messages"""
    from memorist.surfaces.agents import capture

    client, given, kept = call.agent.name, call.given, 0
    path, messages = given.get("transcript_path"), given.get("messages")
    if isinstance(path, str) and client in capture.READ:
        since = door._tools.clock().isoformat() if given.get("source") in ("fork", "resume") else None
        capture.note(door, client, session, Path(path), call.moment == "end", since)
        if call.moment in ("compact", "stop"):
            seconds = COMPACTING if call.moment == "compact" else TURN_OVER
            kept += capture.read_all(door, seconds, session=session, close=False)
    if isinstance(messages, list):
        kept += capture.keep(door, client, session, messages)
    return kept


def _close_ended(door: Memory) -> None:
    """Reads what earlier sessions said, then closes those that are over, the last one first, because this session is
    told where it ended. What there is no time for waits for the next start. No model is asked; if one is set, closing
    is left to upkeep, which asks it."""
    from memorist.surfaces.agents import capture

    until = time.monotonic() + CLOSING
    door._tools = replace(door._tools, over=lambda: time.monotonic() > until)
    by_rules = settings.load(Path.cwd()).chat == "none"
    capture.read_all(door, READING, close=False)  # including agents that were killed and reported no end
    known = captures.known(door._tools.store, door.space, door.home)
    ended = [each.session for each in reversed(known) if each.ended and not each.closed]
    for session in (*ended, None):  # then all others, which may be over
        with suppress(Conflict, StoreUnavailable):  # too long for one start, or another writer is at it
            capture.read_all(door, max(0.0, until - time.monotonic()), session, close=by_rules)
        if door._tools.over():
            return
    if by_rules:
        _close_left(door)


def _close_left(door: Memory) -> None:
    """Closes sessions that nobody returned to, because some agents report no end, and weighs what was left."""
    if any(TRIED not in run.checkpoint for run in door._tools.store.runs(door.space, state="running")):
        from memorist.session.close import recover  # few starts need this

        for report in recover(door._caller, door.design.promotion, door._tools.over):
            door._tell_all(report)


def _session(given: Mapping[str, Any]) -> str | None:
    session = given.get("session_id")
    return checks.label(session, "the session") if isinstance(session, str) and session else None


def _shown(memory: Memory, call: _Call) -> Callable[[Record], bool]:
    """Tests whether the agent still has a memory, unchanged, from what this session was told before this hook began: the
    memory itself, or its words in another. What was there at a start and not told then is not told at a later one."""
    heard = [] if _knows_nothing(call) else [*_heard(memory, call)]
    if not heard:
        return lambda record: False
    when = {id: line.at for line in reversed(heard) for id in line.ids}  # the newest counts
    before = _last_start(heard) if call.moment == "start" else BEFORE_ALL
    told = [(line.at, _sentences(_unescaped(line.rendered["text"]))) for line in heard if line.rendered]

    def shown(record: Record) -> bool:
        last = max(before, when.get(record.id, before))
        if record.times.updated <= last:
            return True
        # A text longer than what was told cannot be in it, and is not read.
        since = [words for at, words in told if at >= last and len(words) >= len(record.text)]
        said = _sentences(record.text) if since else ""
        return any(said in words for words in since)

    return shown


def _unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _last_start(heard: Sequence[Receipt]) -> datetime:
    return next((line.at for line in heard if not line.query), BEFORE_ALL)


def _knows_nothing(call: _Call) -> bool:
    """Whether the agent has nothing of what hooks told this session."""
    return call.session is None or call.moment == "helper" or (call.moment == "start" and _forgets(call))


def _heard(memory: Memory, call: _Call) -> Iterator[Receipt]:
    """What this session was told by hooks before this one and its agent still has, the newest first. Entries made since
    this hook began do not count: a server's process made them for this very hook, which never got the answer."""
    now, known = time.time(), call.known
    forgot = datetime.fromisoformat(known.forgot).timestamp() if known and known.forgot else 0.0
    for line in memory._tools.store.receipts(memory.space, RENDERED_AT_MOST, session=call.session):
        at, mine = line.at.timestamp(), line.surface == SURFACE and line.actor == call.agent.name
        if mine and at >= forgot and not call.began <= at <= now:
            yield line


def _sentences(text: str) -> str:
    """The words of each sentence, between marks: `" | staging runs postgres | "`."""
    found = (" ".join(STATED.findall(sentence.casefold())) for sentence in ENDS.split(text))
    return f" | {' | '.join(filter(None, found))} | "
