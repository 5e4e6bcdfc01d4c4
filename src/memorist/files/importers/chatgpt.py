"""ChatGPT: `conversations.json` of an export of one's data, or the zip that holds it.

A conversation is a tree, because an answer can be asked for again: the path from its last message back to the first is
read. What the program itself put in (its instructions, hidden messages, thoughts) is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from memorist.files.importers import Item, Titled, Utterance, Values

program = "chatgpt"
_TEXTS = ("text", "multimodal_text", "code", "execution_output", "tether_quote")


def recognise(first: Sequence[Mapping[str, Any]]) -> bool:
    return bool(first) and isinstance(first[0].get("mapping"), Mapping)


def read(values: Values) -> Iterator[Item]:
    for conversation in values:
        mapping = conversation.get("mapping")
        session = conversation.get("conversation_id") or conversation.get("id")
        if not isinstance(mapping, Mapping) or not isinstance(session, str):
            continue
        if isinstance(conversation.get("title"), str) and conversation["title"]:
            yield Titled(session, conversation["title"])
        for message in _way(mapping, conversation.get("current_node")):
            said = _said(message)
            if said is not None:
                yield Utterance(session, said)


def _way(mapping: Mapping[str, Any], last: Any) -> list[Mapping[str, Any]]:
    """From the first message to the last one; all messages by time, if a conversation does not name its last one."""
    if not isinstance(last, str) or last not in mapping:
        found = [node["message"] for node in mapping.values() if _holds(node)]
        return sorted(found, key=lambda message: _seconds(message) or 0.0)
    way, seen = [], set[str]()
    while isinstance(last, str) and last not in seen:
        seen.add(last)
        node = _dict(mapping.get(last))
        way += [node["message"]] if _holds(node) else []
        last = node.get("parent")
    return way[::-1]


def _holds(node: Any) -> bool:
    return isinstance(node, Mapping) and isinstance(node.get("message"), Mapping)


def _said(message: Mapping[str, Any]) -> dict[str, Any] | None:
    author, content, about = (_dict(message.get(name)) for name in ("author", "content", "metadata"))
    role = author.get("role")
    hidden = about.get("is_visually_hidden_from_conversation") or about.get("is_user_system_message")
    if role not in ("user", "assistant", "tool") or hidden or content.get("content_type") not in _TEXTS:
        return None
    seconds = _seconds(message)
    at = None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()
    return {"id": message.get("id"), "role": role, "content": _content(message, content), "timestamp": at}


def _content(message: Mapping[str, Any], content: Mapping[str, Any]) -> list[Any]:
    if content.get("content_type") == "code" and isinstance(content.get("text"), str):
        asked = message.get("recipient")
        if isinstance(asked, str) and asked != "all":
            return [{"type": "tool_use", "name": asked[:200], "input": content["text"]}]
    parts = content.get("parts")
    texts = parts if isinstance(parts, list) else [content.get("text")]
    return [block for part in texts if (block := _block(part)) is not None]


def _block(part: Any) -> Any:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and isinstance(part.get("asset_pointer"), str):
        return {"type": "image", "source": {"url": part["asset_pointer"]}}
    return {"type": "text", "text": part["text"]} if isinstance(part, Mapping) and "text" in part else None


def _seconds(message: Mapping[str, Any]) -> float | None:
    value = message.get("create_time")
    usual = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 32_503_680_000
    return float(value) if usual else None  # type: ignore[arg-type]


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
