"""What a coding agent is told at each moment of its session. It hands over JSON and gets JSON, or nothing.

    start, helper   what applies to every request: pins, standing preferences, conventions, where the last session ended; in a
                    stable order, so that the prompt cache stays valid
    prompt          what matters for this prompt and was not shown in this session, unless it changed since; often nothing
    stop, end       tells nothing, and only notes that there is a transcript (`capture`)
    compact         reads the transcript, and keeps what lasts before the agent forgets it

A start first reads briefly in the transcripts of earlier sessions and closes those that are over, so that it can say
where the last one ended. It also notes its own, because an agent that is killed reports no end.

An agent waits for its hooks. So whatever needs no lookup is decided here, before any large import. A prompt is only
answered, no model is asked, and no other writer is waited for long (`moments`).
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from memorist.errors import Invalid
from memorist.surfaces.agents.clients import CLIENTS, Agent, Moment
from memorist.surfaces.agents.served import LARGEST_EVENT
from memorist.text.private import without_private
from memorist.text.question import question_of, small_talk, without_injected

COMMAND = re.compile(r"\s*/[\w:-]+(?:\s|$)")  # and no path, such as /etc/hosts
# Of what the agent offered: "2", "b)", "option 3".
CHOICE = re.compile(r"\W*(?:(?:option|number|variante|nummer)\s+)?(?:[a-z]|\d{1,2})\W*", re.IGNORECASE)
TYPED = (None, "user", "sdk")  # sources of a prompt that a person may have typed; others are the agent's own


def moment_of(client: Agent, event: str) -> Moment:
    for moment, name in client.hooks.events.items() if client.hooks else ():
        if name == event:
            return moment
    raise Invalid(f"{client.title} has no event {event[:60]!r} that is answered")


def answer(client: str, event: str, raw: bytes, say: Callable[[str], None], began: float = math.inf) -> None:
    """Prints a JSON document in the format that this agent reads, or nothing."""
    if client not in CLIENTS:
        raise Invalid(f"there is no agent {client[:60]!r}; agents are {', '.join(CLIENTS)}")
    agent = CLIENTS[client]
    moment = moment_of(agent, event)
    given = _as_typed(agent.hooks.said(_object(raw)) if agent.hooks else {})
    if _needs_nothing(moment, given):
        return
    from memorist.surfaces.agents import moments

    moments.answer(agent, moment, given, lambda text: say(_document(agent, event, text)), began)


def _as_typed(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The event with the prompt as its user wrote it, minus its private parts: no code after this sees those."""
    prompt = given.get("prompt")
    return {**given, "prompt": without_injected(without_private(prompt))} if isinstance(prompt, str) else given


def _object(raw: bytes) -> Mapping[str, Any]:
    if len(raw) > LARGEST_EVENT:
        raise Invalid(f"{len(raw):,} bytes were handed over, {LARGEST_EVENT:,} are read")
    given = json.loads(raw)
    if not isinstance(given, Mapping):
        raise Invalid("what was handed over is no JSON object")
    return given


def _needs_nothing(moment: Moment, given: Mapping[str, Any]) -> bool:
    """Whether the event needs no answer: what the agent says to itself, commands, small talk. Checked before anything
    is opened."""
    if moment != "prompt":
        return moment != "helper" and given.get("agent_id") is not None  # what subagents do is not recorded
    prompt = given.get("prompt")
    if not isinstance(prompt, str) or given.get("source") not in TYPED:
        return True
    asked = question_of(prompt)
    return not asked.strip() or bool(COMMAND.match(asked) or CHOICE.fullmatch(asked)) or small_talk(asked)


def _document(agent: Agent, event: str, text: str) -> str:
    if agent.name == "cursor":
        return json.dumps({"additional_context": text})
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
