"""Claude Code: `projects/<folder>/<session>.jsonl` below `~/.claude`, or `CLAUDE_CONFIG_DIR`.

Lines have a type, and most types are no part of the conversation: only `user` and `assistant` are read, and titles. What the
program itself said in the user's name (`isMeta`), what sub-agents said (`isSidechain`), and summaries of a compaction are left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memorist.files.importers import Item, Said, Titled, Values

NAME = "claude-code"
SAID = ("user", "assistant")
TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
NOT_SAID = ("isMeta", "isSidechain", "isCompactSummary")
# What a command of the program left behind in the user's words.
COMMANDS = re.compile(r"<(command-(?:name|message|args|contents))>.*?</\1>", re.DOTALL)


def recognise(first: Sequence[Mapping[str, Any]]) -> bool:
    return any(line.get("type") in SAID and "sessionId" in line and "message" in line for line in first)


def read(values: Values) -> Iterator[Item]:
    for line in values:
        kind, session = line.get("type"), line.get("sessionId")
        session = session if isinstance(session, str) and session else values.stem
        if isinstance(kind, str) and kind in TITLES:
            title = line.get(TITLES[kind]) or line.get("title")
            if isinstance(title, str) and title:
                yield Titled(session, title)
        elif kind in SAID and not any(line.get(name) for name in NOT_SAID):
            message = line.get("message")
            if isinstance(message, Mapping) and message.get("role") in SAID:
                yield Said(session, _message(line, message))


def _message(line: Mapping[str, Any], message: Mapping[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    content = COMMANDS.sub("", content) if isinstance(content, str) else content
    return {"id": line.get("uuid"), "role": message["role"], "content": content, "timestamp": line.get("timestamp")}
