"""A conversation as programs hand it to a model, messages with a role and a content, as the turns of a session.

Messages are dicts, the objects of the vendors' libraries, or any objects with these attributes, as OpenAI (also the items of its
Responses), Anthropic, Google and LangChain have them. A content is a text or a list of blocks. Texts are kept. What a tool returned
is a turn of the role `tool`, also where it stands in a message of the user's: the role of a turn may lower its origin, and a tool
must not speak as the user. A message may say when it was said. Pictures, calls of tools and thoughts are not said to anybody,
and are not kept.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from memorist import checks
from memorist.errors import Invalid
from memorist.records import ISO, Draft, Outcome, utc
from memorist.text.visible import is_blank, quoted

ROLES = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "model": "assistant", "system": "system",
    "developer": "system", "tool": "tool", "function": "tool",
}  # fmt: skip
SHAPE = '{"role": "user", "content": "…"}'
# What is read of a message or a block.
TIMES = ("timestamp", "at", "created_at", "create_time")
ATTRIBUTES = ("role", "type", "name", "content", "parts", "text", "thought", "output", *TIMES)
# Blocks of these types hold what was said; others with a text may hold thoughts.
TEXT_TYPES = (None, "text", "input_text", "output_text")


def is_conversation(given: Any) -> bool:
    """Whether it is messages, or one: anything but a text that can be gone through, or that has what a message has."""
    return not isinstance(given, str | bytes | bytearray) and (
        isinstance(given, Iterable) or _as_dict(given) is not None
    )


def turns_of(messages: Any, common: Draft) -> list[Draft | Outcome]:
    """The turns, each with what is common to all; of a message without any text, what is to be said about it."""
    if common.session is None:
        raise Invalid("messages are kept as the turns of a session; name it, such as session='2026-05-01'")
    if common.kind not in ("fact", "turn") or common.role is not None:  # fact: nothing was said about it
        raise Invalid("messages are turns, each with its own role; leave kind and role out")
    turns: list[Draft | Outcome] = []
    for number, message in enumerate(_messages(messages), 1):
        said = list(_said(message, number))
        at = _time(message, number) if said else None
        turns += [_turn(role, text, message, at, common) for role, text in said]
        if not said:
            turns.append(Outcome("unchanged", f"message {number} holds no text, so nothing of it was kept"))
    return _with_keys(turns, common.key)


def pieces_of(given: Any, role: str | None, first: int | None) -> list[tuple[str | None, Any, int | None]]:
    """Who said it, what was said, and the number of its message: of a text, or of each in a conversation from `first` on."""
    if not is_conversation(given):
        return [(role, given, first)]
    if role is not None:
        raise Invalid("messages have each a role of their own; leave role out")
    least = None if first is None else checks.whole(first, "message", 0, 1 << 53)
    return [
        (who, text, None if least is None else least + place)
        for place, message in enumerate(_messages(given))
        for who, text in _said(message, place + 1)
    ]


def _messages(given: Any) -> Iterator[Mapping[str, Any]]:
    for number, each in enumerate(given if _as_dict(given) is None else [given], 1):
        message = _as_dict(each)
        if message is None or not (message.get("role") or _is_item(message)):
            raise Invalid(f"message {number} is {quoted(each)}, not {SHAPE}; remember_many keeps a list of texts")
        yield message


def _is_item(message: Mapping[str, Any]) -> bool:
    """Whether it says by its type what it is, as LangChain's messages do, and calls, outputs and thoughts in OpenAI's Responses."""
    return isinstance(message.get("type"), str) and message["type"] not in (*TEXT_TYPES, "message")


def _turn(role: str, text: str, message: Mapping[str, Any], at: datetime | None, common: Draft) -> Draft:
    speaker = message.get("name") or common.speaker
    return replace(common, text=text, kind="turn", role=role, speaker=speaker, at=common.at if at is None else at)


def _time(message: Mapping[str, Any], number: int) -> datetime | None:
    """When it was said, if the message tells: a time as text, or seconds since 1970."""
    name = next((name for name in TIMES if message.get(name) is not None), None)
    if name is None:
        return None
    given, what = message[name], f"the {name} of message {number}"
    try:
        seconds = isinstance(given, int | float) and not isinstance(given, bool)
        return datetime.fromtimestamp(given, UTC) if seconds else utc(given, what)
    except (ValueError, OverflowError, OSError) as problem:
        raise Invalid(f"{what} must be seconds since 1970 or a time such as {ISO!r}, not {quoted(given)}") from problem


def _with_keys(turns: list[Draft | Outcome], key: str | None) -> list[Draft | Outcome]:
    """Each with a key of its own, so that a conversation can be sent again when it has grown."""
    if key is None:
        return turns
    return [replace(turn, key=f"{key}/{n}") if isinstance(turn, Draft) else turn for n, turn in enumerate(turns, 1)]


def _said(message: Mapping[str, Any], number: int) -> Iterator[tuple[str, str]]:
    """What was said in a message, and in which role; what stands together in one role is one turn."""
    for who, some in groupby(_pieces(message, number), key=lambda piece: piece[0]):
        text = "\n".join(text for _, text in some)
        if not is_blank(text):
            yield who, text


def _pieces(message: Mapping[str, Any], number: int) -> Iterator[tuple[str, str]]:
    role = message.get("role") or message["type"]
    if isinstance(role, str) and role in ROLES:
        return _content(ROLES[role], message.get("content") or message.get("parts"), number)
    if message.get("role"):
        raise Invalid(f"message {number} has the role {quoted(role)}; roles are {', '.join(ROLES)}")
    output = message.get("output")  # a picture of a screen is a dict
    return _content("tool", output if isinstance(output, str | list | tuple) else None, number)


def _content(role: str, content: Any, number: int) -> Iterator[tuple[str, str]]:
    blocks = [content] if isinstance(content, str) else () if content is None else content
    if not isinstance(blocks, list | tuple):
        raise Invalid(f"the content of message {number} must be a text or a list of blocks, not {quoted(content)}")
    for given in blocks:
        block = {"text": given} if isinstance(given, str) else _as_dict(given)
        if block is None:
            raise Invalid(f"message {number} has a block {quoted(given)}; blocks are dicts with a type")
        if block.get("type") == "tool_result":
            yield from _content("tool", _texts(block.get("content")), number)
        elif _is_text(block):
            yield role, block["text"]


def _is_text(block: Mapping[str, Any]) -> bool:
    return block.get("type") in TEXT_TYPES and isinstance(block.get("text"), str) and not block.get("thought")


def _texts(content: Any) -> Any:
    """What a tool returned, without the results of other tools inside: so deep nobody nests them but to break something."""
    if not isinstance(content, list | tuple):
        return content
    return [each for each in content if (_as_dict(each) or {}).get("type") != "tool_result"]


def _as_dict(given: Any) -> Mapping[str, Any] | None:
    """A message or a block; those of the vendors' libraries are pydantic models."""
    if isinstance(given, Mapping):
        return given
    if hasattr(given, "model_dump"):
        return dict(given.model_dump())
    if hasattr(given, "content") or hasattr(given, "type"):
        return {name: getattr(given, name) for name in ATTRIBUTES if hasattr(given, name)}
    return None
