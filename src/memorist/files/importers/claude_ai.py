"""Claude.ai: `conversations.json` of an export of one's data, or the zip that holds it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memorist.files.importers import Item, Titled, Utterance, Values

program = "claude.ai"
_ROLES = {"human": "user", "assistant": "assistant"}


def recognise(first: Sequence[Mapping[str, Any]]) -> bool:
    return bool(first) and isinstance(first[0].get("chat_messages"), list)


def read(values: Values) -> Iterator[Item]:
    for conversation in values:
        session, messages = conversation.get("uuid"), conversation.get("chat_messages")
        if not isinstance(session, str) or not isinstance(messages, list):
            continue
        if isinstance(conversation.get("name"), str) and conversation["name"]:
            yield Titled(session, conversation["name"])
        for message in messages:
            if isinstance(message, Mapping) and message.get("sender") in tuple(_ROLES):
                yield Utterance(session, _said(message))


def _said(message: Mapping[str, Any]) -> dict[str, Any]:
    """The words of a message with its attachments; pictures by their names."""
    blocks = message.get("content")
    content = list(blocks) if isinstance(blocks, list) and blocks else [message.get("text") or ""]
    for attached in _list(message, "attachments"):
        text = attached.get("extracted_content")
        content += [f"{attached.get('file_name') or 'attached'}:\n{text}"] if isinstance(text, str) and text else []
    content += [
        {"type": "image", "source": {"url": file["file_name"]}}
        for file in _list(message, "files")
        if isinstance(file.get("file_name"), str)
    ]
    return {"id": message.get("uuid"), "role": _ROLES[message["sender"]], "content": content,
            "timestamp": message.get("created_at")}  # fmt: skip


def _list(message: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    value = message.get(name)
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
