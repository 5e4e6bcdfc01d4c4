"""Claude Code: `projects/<folder>/<session>.jsonl` below `~/.claude`, or `CLAUDE_CONFIG_DIR`.

Lines have a type, and most types are not part of the conversation: only `user` and `assistant` are read, and titles.
Left out is what the program itself said in the user's name (`isMeta`) or in the model's (errors of its API), what
sub-agents said (`isSidechain`), summaries of a compaction, and the output of its shell, tasks, hooks, channels and team
mates, which it records as if the user had typed it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memorist.files.importers import Item, Titled, Utterance, Values, text_of

program = "claude-code"
_SAID = ("user", "assistant")
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
_NOT_SAID = ("isMeta", "isSidechain", "isCompactSummary", "isApiErrorMessage")
_NO_MODEL = "<synthetic>"  # the model of what the program itself said in the model's name
_TYPED = (None, "typed", "queued", "suggestion_accepted", "sdk")  # sources of a prompt that a person may have typed
_PERSONS = (None, "human", "person")  # kinds of origin; others are plugins, channels, peers and timers
# What a command of the program left behind in the user's words.
_COMMANDS = re.compile(r"<(command-(?:name|message|args|contents))>.*?</\1>", re.DOTALL)

# Text with such a beginning is all the program's: shell output may itself contain the end of such a block, and words
# after it.
_PUT_OUT = re.compile(
    r"\s*(?:<(?:bash-(?:input|stdout|stderr)|local-command-(?:stdout|stderr|caveat)|task-notification|teammate-message"
    r"|cross-session-message|channel|wake|tick|artifact-room-event|coordinator-(?:relay|task)|mcp-(?:resource|polling)-update"
    r"|(?:user-prompt-submit|post-tool-use)-hook|remote-review(?:-progress)?|repl-output|persisted-output|fork-boilerplate)\b"
    r"|\[Request interrupted by user[^\]]*\]\s*$)"
)


def recognise(first: Sequence[Mapping[str, Any]]) -> bool:
    return any(line.get("type") in _SAID and "sessionId" in line and "message" in line for line in first)


def read(values: Values) -> Iterator[Item]:
    for line in values:
        session = line.get("sessionId")
        item = _titled(line) or _message(line)
        if item is not None:
            named = session if isinstance(session, str) and session else values.stem
            yield Titled(named, item) if isinstance(item, str) else Utterance(named, item)


def _titled(line: Mapping[str, Any]) -> str | None:
    name = next((name for kind, name in _TITLES.items() if line.get("type") == kind), None)
    title = line.get(name) if name else None
    return title if isinstance(title, str) else None


def _message(line: Mapping[str, Any]) -> dict[str, Any] | None:
    message = line.get("message")
    if line.get("type") not in _SAID or any(line.get(name) for name in _NOT_SAID) or not isinstance(message, Mapping):
        return None
    if message.get("model") == _NO_MODEL:
        return None
    content = message.get("content")
    if line["type"] == "user":
        content = _typed(content) if _from_person(line) else _results(content)
    where = {"branch": line.get("gitBranch"), "folder": line.get("cwd"), "timestamp": line.get("timestamp")}
    return {"id": line.get("uuid"), "role": line["type"], "content": content, **where}


def _from_person(line: Mapping[str, Any]) -> bool:
    origin = line.get("origin")
    kind = origin.get("kind") if isinstance(origin, Mapping) else origin
    return line.get("promptSource") in _TYPED and kind in _PERSONS


def _results(content: Any) -> list[Mapping[str, Any]]:
    blocks = content if isinstance(content, list) else []
    return [block for block in blocks if isinstance(block, Mapping) and block.get("type") == "tool_result"]


def _typed(content: Any) -> Any:
    """The text without what the program wrote in the user's name; results of tools are blocks that say so themselves."""
    if isinstance(content, str):
        return None if _PUT_OUT.match(content) else _COMMANDS.sub("", content)
    if isinstance(content, list):
        return [block for block in content if not _PUT_OUT.match(text_of(block) or "")]
    return content
