"""What tests of hooks share: an agent that calls one, what it says, and lines of its transcript."""

import json
from pathlib import Path
from typing import Any

from memorist import Memory
from memorist.surfaces.agents import capture, hooks
from memorist.surfaces.cli import hook


def told(client: str, event: str, **given: Any) -> str:
    """What the agent's model gets to read."""
    said: list[str] = []
    said_to_us = {"session_id": "s1", "cwd": str(Path.cwd()), **given}
    raw = json.dumps(by_cursor(said_to_us) if client == "cursor" else said_to_us).encode()
    hooks.answer(client, event, raw, said.append)
    if not said:
        return ""
    document = json.loads("".join(said))
    if client == "cursor":
        return str(document["additional_context"])
    inner = document["hookSpecificOutput"]
    assert inner["hookEventName"] == event and document.keys() == {"hookSpecificOutput"}
    return str(inner["additionalContext"])


def by_cursor(given: dict[str, Any]) -> dict[str, Any]:
    """The same in the fields that Cursor documents: it says a conversation and the folders of its window."""
    rest = {name: value for name, value in given.items() if name not in ("session_id", "cwd")}
    return {"conversation_id": given["session_id"], "workspace_roots": [given["cwd"]], **rest}


def say(*texts: str, **more: Any) -> None:
    with Memory(confirm=lambda ask: True) as memory:
        for text in texts:
            assert memory.remember(text, **more)


def noted(transcript: Path, session: str = "s1", client: str = "claude-code") -> None:
    """A transcript that is known and not read yet, as of an agent that was killed."""
    with Memory() as memory:
        capture.note(memory, client, session, transcript, ended=False)


def answered(client: str, event: str, given: bytes | dict[str, Any]) -> list[str]:
    """What the program itself would say, which never raises."""
    said: list[str] = []
    hook.answered((client, event), given if isinstance(given, bytes) else json.dumps(given).encode(), said.append)
    return said


def line(role: str, text: Any, id: str, **more: Any) -> str:
    """A line of a transcript of Claude Code."""
    said = {
        "type": role,
        "uuid": id,
        "sessionId": "s1",
        "timestamp": "2026-05-06T12:00:00Z",
        "message": {"role": role, "content": text},
    }
    return json.dumps({**said, **more}) + "\n"
