"""What a coding agent is told at a moment of its day. It hands over JSON and gets JSON, or nothing.

    start, helper   what holds whatever is asked: pins, the user's standing preferences, where the last session was; in an order
                    that stays, so that the prompt's cache holds
    prompt          what matters for this prompt and was not shown in this session, unless it changed since; often nothing
    stop, end       nothing is told, and it is only noted that there is a transcript (`capture`)
    compact         the transcript is read, and what lasts is kept before the agent forgets it

A start also reads for a moment in the transcripts of sessions before it, and notes its own: an agent that is killed says no end.

A hook must never be noticed: whatever goes wrong, it prints nothing, ends with 0, and notes the problem for `memorist doctor`.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from memorist import checks
from memorist.design import STEADY, Design, Lane
from memorist.errors import Invalid
from memorist.memory import Memory
from memorist.prompt.context import Wish
from memorist.prompt.modes import Profile
from memorist.store.where import Where
from memorist.surfaces import settings
from memorist.surfaces.agents import capture
from memorist.surfaces.agents.clients import CLIENTS, Agent, Moment
from memorist.text.question import question_of, small_talk, without_injected

LARGEST_EVENT = 20_000_000  # bytes that are read of what an agent hands over
TYPED = (None, "user", "sdk")  # sources of a prompt that a person may have typed; others are the agent's own
READING = 0.1  # seconds that a session which starts reads in the transcripts of others
LOOKED_BACK = 200  # receipts in which is looked for what this session was shown
START = (Lane("pinned", 0.5), Lane("preferences", 0.3), Lane("summaries", 0.2, ceiling=200))
WITHOUT_TURNS = Profile("hook", turns=0)  # the agent has its own turns


def moment_of(client: Agent, event: str) -> Moment:
    for moment, name in client.hooks.events.items() if client.hooks else ():
        if name == event:
            return moment
    raise Invalid(f"{client.title} has no event {event[:60]!r} that is answered")


def answer(client: str, event: str, raw: bytes) -> str:
    """What is printed: a JSON document in the shape that this agent reads, or nothing."""
    if client not in CLIENTS:
        raise Invalid(f"there is no agent {client[:60]!r}; agents are {', '.join(CLIENTS)}")
    agent = CLIENTS[client]
    moment = moment_of(agent, event)
    given = _object(raw)
    if settings.off_because() or _needs_nothing(moment, given):
        return ""
    with _memory(agent, given, moment) as memory:
        told = _told(memory, moment, given) if moment in ("start", "prompt", "helper") else ""
        if moment in ("start", "compact", "stop", "end"):
            _captured(memory, agent, moment, given)
    return _document(agent, event, told) if told else ""


def _object(raw: bytes) -> Mapping[str, Any]:
    if len(raw) > LARGEST_EVENT:
        raise Invalid(f"{len(raw):,} bytes were handed over, {LARGEST_EVENT:,} are read")
    given = json.loads(raw)
    if not isinstance(given, Mapping):
        raise Invalid("what was handed over is no JSON object")
    return given


def _needs_nothing(moment: Moment, given: Mapping[str, Any]) -> bool:
    """What the agent says to itself, commands, and small talk: looked at before anything is opened."""
    if moment != "prompt":
        return moment != "helper" and "agent_id" in given  # what helpers of an agent do is not written down
    prompt = given.get("prompt")
    if not isinstance(prompt, str) or given.get("source") not in TYPED:
        return True
    asked = question_of(without_injected(prompt))
    return not asked.strip() or asked.lstrip().startswith("/") or small_talk(asked)


def _memory(agent: Agent, given: Mapping[str, Any], moment: Moment) -> Memory:
    """The memory of the folder in which the agent works. A session's own notes are no news to it."""
    folder = given.get("cwd")
    if isinstance(folder, str) and Path(folder).is_dir():
        os.chdir(folder)
    memory = Memory()
    memory.access = replace(memory.access, origin="agent", surface=capture.SURFACE, actor=agent.name)
    memory.design = _design(memory.design, moment)
    return memory


def _design(design: Design, moment: Moment) -> Design:
    """The user's design with the lanes of that moment: at a prompt nothing is said again that was said at the start."""
    if moment != "prompt":
        return replace(design, lanes=START, inject="core")
    lanes = tuple(lane for lane in design.lanes if lane.name not in STEADY)
    reads = tuple(family for family in design.reads if family != "session")
    return replace(design, lanes=lanes or design.lanes, reads=reads)


def _told(memory: Memory, moment: Moment, given: Mapping[str, Any]) -> str:
    here, session = settings.load(Path.cwd()), _session(given)
    wish = Wish(
        "", session=session, budget=here.hook_tokens, style="xml", profile=WITHOUT_TURNS, deadline=here.hook_ms / 1000,
        where=None if session is None else {"session": {"$ne": session}},
    )  # fmt: skip
    if moment == "prompt":
        shown = frozenset(_shown(memory, session)) if session else frozenset()
        wish = replace(wish, query=without_injected(given["prompt"]), shown=shown)
    return memory._context(wish).text


def _captured(memory: Memory, agent: Agent, moment: Moment, given: Mapping[str, Any]) -> None:
    session, path, door = _session(given), given.get("transcript_path"), capture.recorder(memory)
    if moment == "start":
        capture.read_all(door, READING)
    if session is not None and isinstance(path, str) and agent.name in capture.IMPORTERS:
        since = memory._tools.clock().isoformat() if given.get("source") == "fork" else None
        capture.note(door, agent.name, session, Path(path), moment == "end", since)
        if moment == "compact" and capture.read_all(door, session=session):
            held = door.session(session, agent=agent.name)
            held.flush(reason="compaction_pending")
            held.leave()


def _session(given: Mapping[str, Any]) -> str | None:
    session = given.get("session_id")
    return checks.label(session, "the session") if isinstance(session, str) and session else None


def _shown(memory: Memory, session: str) -> set[str]:
    """What this session was shown, and is still as it was."""
    when: dict[str, datetime] = {}
    for line in memory._tools.store.receipts(memory.space, LOOKED_BACK):
        if line.session == session and line.surface == capture.SURFACE:
            for id in line.ids:
                when.setdefault(id, line.at)  # the newest line comes first
    records = memory._tools.store.get(list(when), Where(memory.access))
    return {record.id for record in records if record.times.updated <= when[record.id]}


def _document(agent: Agent, event: str, text: str) -> str:
    if agent.name == "cursor":
        return json.dumps({"additional_context": text})
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
