"""Codex: `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl` below `~/.codex`, or `CODEX_HOME`.

The conversation is in the lines of type `response_item`; `event_msg` repeats it for the screen. Left out is what the
program put before the user's words (the environment, instructions of the project), what the developer said, and the
output of commands, reviews and other agents, which it records in the user's name. The first `session_meta` is the
session's own; a fork has a copy of its parent's behind it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memorist.files.importers import Item, Utterance, Values, text_of

program = "codex"
_LINES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state")
_CALLS = ("function_call", "custom_tool_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")
# Text with such a beginning is all the program's: command output may itself contain the end of such a block, and words
# after it.
_INJECTED = re.compile(
    r"\s*(?:# AGENTS\.md instructions|Warning: The maximum number of unified exec|<(?:user_shell_command|user_action|turn_aborted"
    r"|skill|heartbeat|hook_prompt|image|permissions instructions|recommended_plugins"
    r"|side_conversation|(?:external_)?realtime_conversation|context_window|collaboration_mode"
    r"|command_sessions|git_attribution|\w+_(?:context|instructions|notification|reminder|notice|guidance|delegation|budget))\b)"
)


def recognise(first: Sequence[Mapping[str, Any]]) -> bool:
    return bool(first) and all(line.get("type") in _LINES and "payload" in line for line in first[:1])


def read(values: Values) -> Iterator[Item]:
    session, where = values.stem, dict[str, Any]()
    for line in values:
        payload = line.get("payload")
        if not isinstance(payload, Mapping):
            continue
        if line.get("type") == "session_meta" and not where and isinstance(payload.get("id"), str):
            session, git = payload["id"], payload.get("git")
            where = {"branch": git.get("branch") if isinstance(git, Mapping) else None, "folder": payload.get("cwd")}
        elif line.get("type") == "response_item":
            said = _message(payload)
            if said is not None:
                yield Utterance(session, {**said, "timestamp": line.get("timestamp"), **where})


def _message(payload: Mapping[str, Any]) -> dict[str, Any] | None:
    kind = payload.get("type")
    if kind == "message" and payload.get("role") in ("user", "assistant"):
        content = payload.get("content")
        content = content if isinstance(content, list) else [content]
        return {"role": payload["role"], "content": [block for block in content if not _injected(block)]}
    if kind in _CALLS:
        given = payload.get("arguments", payload.get("input"))
        call = {"type": "tool_use", "id": payload.get("call_id"), "name": payload.get("name"), "input": given}
        call["namespace"] = payload.get("namespace")  # the tools of a server have one
        return {"role": "assistant", "content": [call]}
    if kind in _RESULTS:
        return {"role": "tool", "tool_call_id": payload.get("call_id"), "content": _output(payload.get("output"))}
    return None


def _injected(block: Any) -> bool:
    text = text_of(block)
    return text is None or _INJECTED.match(text) is not None


def _output(output: Any) -> str | list[Any] | None:
    """The result of a call: a text, blocks, or an object with a text."""
    if isinstance(output, Mapping):
        output = output.get("content") or output.get("output")
    return output if isinstance(output, str | list) else None
