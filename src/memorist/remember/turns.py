"""A conversation as programs hand it to a model, a list of messages with a role and a content, as the turns of a session.

A content is a text, or a list of blocks as OpenAI and Anthropic have them, as dicts or as the objects of their libraries. Texts
are kept. What a tool returned is a turn of the role `tool`, also where it stands in a message of the user's: the role of a turn may
lower its origin, and a tool must not speak as the user. Pictures, calls of tools and thoughts are not said to anybody, and are
not kept.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from memorist.errors import Invalid
from memorist.records import Draft, Outcome
from memorist.text.visible import is_blank, quoted

ROLES = {
    "user": "user", "assistant": "assistant", "system": "system", "developer": "system", "tool": "tool", "function": "tool",
}  # fmt: skip
SHAPE = '{"role": "user", "content": "…"}'


def turns_of(messages: Sequence[Any] | Mapping[str, Any], common: Draft) -> list[Draft | Outcome]:
    """The turns, each with what is common to all; of a message without any text, what is to be said about it."""
    if isinstance(messages, Mapping):
        raise Invalid(f"a message is one of a conversation; put it into a list: remember([{SHAPE}], session='…')")
    if common.session is None:
        raise Invalid("messages are kept as the turns of a session; name it, such as session='2026-05-01'")
    if common.kind not in ("fact", "turn") or common.role is not None:  # fact: nothing was said about it
        raise Invalid("messages are turns, each with its own role; leave kind and role out")
    turns: list[Draft | Outcome] = []
    for number, given in enumerate(messages, 1):
        message = _as_dict(given)
        if message is None or "role" not in message:
            raise Invalid(f"message {number} is {quoted(given)}, not {SHAPE}; remember_many keeps a list of texts")
        said = list(_said(message, number))
        turns += [_turn(role, text, message, common) for role, text in said]
        if not said:
            turns.append(Outcome("unchanged", f"message {number} holds no text, so nothing of it was kept"))
    return _with_keys(turns, common.key)


def _turn(role: str, text: str, message: Mapping[str, Any], common: Draft) -> Draft:
    return replace(common, text=text, kind="turn", role=role, speaker=message.get("name") or common.speaker)


def _with_keys(turns: list[Draft | Outcome], key: str | None) -> list[Draft | Outcome]:
    """Each with a key of its own, so that a conversation can be sent again when it has grown."""
    if key is None:
        return turns
    return [replace(turn, key=f"{key}/{n}") if isinstance(turn, Draft) else turn for n, turn in enumerate(turns, 1)]


def _said(message: Mapping[str, Any], number: int) -> Iterator[tuple[str, str]]:
    """What was said in a message, and in which role; what stands together in one role is one turn."""
    role = message["role"]
    if not isinstance(role, str) or role not in ROLES:
        raise Invalid(f"message {number} has the role {quoted(role)}; roles are {', '.join(ROLES)}")
    pieces = _pieces(ROLES[role], message.get("content"), number)
    for who, some in groupby(pieces, key=lambda piece: piece[0]):
        text = "\n".join(text for _, text in some)
        if not is_blank(text):
            yield who, text


def _pieces(role: str, content: Any, number: int, inside: bool = False) -> Iterator[tuple[str, str]]:
    if content is None:
        return
    if isinstance(content, str):
        yield role, content
        return
    if not isinstance(content, list | tuple):
        raise Invalid(f"the content of message {number} must be a text or a list of blocks, not {quoted(content)}")
    for given in content:
        block = {"text": given} if isinstance(given, str) else _as_dict(given)
        if block is None:
            raise Invalid(f"message {number} has a block {quoted(given)}; blocks are dicts with a type")
        if block.get("type") == "tool_result" and not inside:
            yield from _pieces("tool", block.get("content"), number, inside=True)
        elif isinstance(block.get("text"), str):
            yield role, block["text"]


def _as_dict(given: Any) -> Mapping[str, Any] | None:
    """A message or a block; those of the vendors' libraries are pydantic models."""
    if hasattr(given, "model_dump"):
        given = given.model_dump()
    return given if isinstance(given, Mapping) else None
