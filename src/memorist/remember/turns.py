"""A conversation as programs hand it to a model, messages with a role and a content, as the turns of a session.

Messages are dicts, the objects of the vendors' libraries, or any objects with these attributes, as OpenAI (also the items of its
Responses), Anthropic, Google and LangChain have them. A content is a text or a list of blocks. Texts are kept. What a tool returned
is a turn of the role `tool`, also where it stands in a message of the user's: the role of a turn may lower its origin, and a tool
must not speak as the user. A message may say when it was said. Thoughts are not said to anybody, and are not kept.

A session keeps the `whole` of it (`ingest`): a call of a tool is a turn of its own, which its result names, and a picture is kept
by its address or name, never by its bytes. `remember` keeps what was said, without calls and pictures.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, NamedTuple

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
ATTRIBUTES = (
    "id", "role", "type", "name", "content", "parts", "text", "thought", "output", "tool_calls", "tool_call_id", *TIMES,
)  # fmt: skip
# Blocks of these types hold what was said; others with a text may hold thoughts.
TEXT_TYPES = (None, "text", "input_text", "output_text")
CALLS = (
    "tool_use",
    "function_call",
    "tool_call",
    "functionCall",
)  # what a block or an item that calls a tool is called
IMAGES = ("image", "image_url", "input_image")


class Uttered(NamedTuple):
    """A turn in the making: who, what, and what a session keeps beside it."""

    role: str
    text: str
    data: Mapping[str, Any] = {}


def is_conversation(given: Any) -> bool:
    """Whether it is messages, or one: anything but a text that can be gone through, or that has what a message has."""
    return not isinstance(given, str | bytes | bytearray) and (
        isinstance(given, Iterable) or _as_dict(given) is not None
    )


def turns_of(messages: Any, common: Draft, whole: bool = False) -> list[Draft | Outcome]:
    """The turns, each with what is common to all; of a message without any text, what is to be said about it. `whole`: as a
    session keeps them, each with a key by the id or the place of its message."""
    messages = inside(messages)
    _must_be_turns(messages, common)
    turns: list[Draft | Outcome] = []
    for number, message in enumerate(_messages(messages), 1):
        said = list(_said(message, number, whole))
        at = _time(message, number) if said else None
        made = [_turn(each, message, at, common) for each in said]
        turns += _of_message(made, message, number, common.key) if whole else made
        if not said:
            turns.append(Outcome("unchanged", f"message {number} holds no text, so nothing of it was kept"))
    return turns if whole else _with_keys(turns, common.key)


def inside(given: Any) -> Any:
    """The messages of a request or a log that holds them by that name."""
    wrapped = isinstance(given, Mapping) and "role" not in given and isinstance(given.get("messages"), list)
    return given["messages"] if wrapped else given


def _must_be_turns(messages: Any, common: Draft) -> None:
    if common.session is None:
        raise Invalid("messages are kept as the turns of a session; name it, such as session='2026-05-01'")
    if common.kind not in ("fact", "turn") or common.role is not None:  # fact: nothing was said about it
        raise Invalid("messages are turns, each with its own role; leave kind and role out")
    if not is_conversation(messages):
        raise Invalid(f"a conversation is a list of messages such as {SHAPE}, not {quoted(messages)}")


def role_of(role: Any) -> str:
    """One of the four roles, by any name that they have."""
    if not isinstance(role, str) or role not in ROLES:
        raise Invalid(f"there is no role {quoted(role)}; roles are {', '.join(ROLES)}")
    return ROLES[role]


def call_of(name: Any, given: Any, id: Any = None) -> Uttered:
    """A call of a tool as a turn: readable, and with its structure where that can be kept."""
    arguments = _read(given)
    told = {"id": id, "name": checks.label(name, "the name of a tool"), "input": arguments}
    text = f"{name}({json.dumps(arguments, ensure_ascii=False, default=str) if arguments is not None else ''})"
    try:
        return Uttered(
            "assistant", text, {"call": checks.data({key: each for key, each in told.items() if each is not None})}
        )
    except Invalid:  # too large or too deep; the text has it
        return Uttered("assistant", text, {"call": {"id": id, "name": name} if id is not None else {"name": name}})


def _read(given: Any) -> Any:
    """The arguments of a call, which some write as JSON in a text."""
    if isinstance(given, str):
        with suppress(ValueError, RecursionError):
            return json.loads(given)
    return given


def _of_message(made: list[Draft], message: Mapping[str, Any], number: int, key: str | None) -> list[Draft]:
    """The turns of one message, each with a key of its own, so that a conversation can be sent again when it has grown."""
    id = message.get("id")
    named = id if isinstance(id, str) and id else None
    told = {} if named is None else {"message": named}
    return [
        replace(turn, data={**turn.data, **told}, key=f"{key}/{named or number}" + (f"/{place}" if place > 1 else ""))
        for place, turn in enumerate(made, 1)
    ]


def pieces_of(given: Any, role: str | None, first: int | None) -> list[tuple[str | None, Any, int | None]]:
    """Who said it, what was said, and the number of its message: of a text, or of each in a conversation from `first` on."""
    if not is_conversation(given):
        return [(role, given, first)]
    if role is not None:
        raise Invalid("messages have each a role of their own; leave role out")
    least = None if first is None else checks.whole(first, "message", 0, 1 << 53)
    return [
        (said.role, said.text, None if least is None else least + place)
        for place, message in enumerate(_messages(given))
        for said in _said(message, place + 1)
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


def _turn(said: Uttered, message: Mapping[str, Any], at: datetime | None, common: Draft) -> Draft:
    speaker = (None if "call" in said.data else message.get("name")) or common.speaker
    when, data = common.at if at is None else at, {**common.data, **said.data}
    return replace(common, text=said.text, kind="turn", role=said.role, speaker=speaker, at=when, data=data)


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


def _said(message: Mapping[str, Any], number: int, whole: bool = False) -> Iterator[Uttered]:
    """What was said in a message, and in which role; what stands together in one role is one turn."""
    pieces = _whole(message, number) if whole else _words(message, number)
    for (who, _), some in groupby(pieces, key=lambda piece: (piece.role, _alone(piece))):
        said = _joined(who, list(some))
        if not is_blank(said.text):
            yield said


def _words(message: Mapping[str, Any], number: int) -> Iterator[Uttered]:
    """The texts alone."""
    return (Uttered(role, text) for role, text, data in _pieces(message, number) if not {"call", "images"} & set(data))


def _whole(message: Mapping[str, Any], number: int) -> Iterator[Uttered]:
    yield from _pieces(message, number)
    yield from _calls(message)


def _alone(piece: Uttered) -> object:
    """What makes a piece a turn of its own: that it is a call, which is like no other, or the result of one."""
    return object() if "call" in piece.data else piece.data.get("result")


def _joined(who: str, some: list[Uttered]) -> Uttered:
    text = "\n".join(piece.text for piece in some if "images" not in piece.data)
    images = [image for piece in some for image in piece.data.get("images", ())]
    if not images:
        return Uttered(who, text, some[0].data)
    return Uttered(who, text or " ".join(f"[image {image}]" for image in images), {**some[0].data, "images": images})


def _pieces(message: Mapping[str, Any], number: int) -> Iterator[Uttered]:
    role = message.get("role") or message["type"]
    if isinstance(role, str) and role in ROLES:
        answers = message.get("tool_call_id")
        return _content(ROLES[role], message.get("content") or message.get("parts"), number, answers)
    if message.get("role"):
        raise Invalid(f"message {number} has the role {quoted(role)}; roles are {', '.join(ROLES)}")
    if message["type"] in CALLS:
        return iter([_call(message)])
    output = message.get("output")  # a picture of a screen is a dict
    return _content("tool", output if isinstance(output, str | list | tuple) else None, number, message.get("call_id"))


def _content(role: str, content: Any, number: int, answers: Any = None) -> Iterator[Uttered]:
    blocks = [content] if isinstance(content, str) else () if content is None else content
    if not isinstance(blocks, list | tuple):
        raise Invalid(f"the content of message {number} must be a text or a list of blocks, not {quoted(content)}")
    told = {"result": answers} if isinstance(answers, str) and answers else {}
    for given in blocks:
        block = {"text": given} if isinstance(given, str) else _as_dict(given)
        if block is None:
            raise Invalid(f"message {number} has a block {quoted(given)}; blocks are dicts with a type")
        yield from _block(role, block, number, told)


def _block(role: str, block: Mapping[str, Any], number: int, told: Mapping[str, Any]) -> Iterator[Uttered]:
    kind = block.get("type")
    if kind == "tool_result":
        yield from _content("tool", _texts(block.get("content")), number, block.get("tool_use_id"))
    elif kind in CALLS:
        yield _call(block)
    elif kind in IMAGES:
        yield Uttered(role, "", {**told, "images": [_image(block)]})
    elif _is_text(block):
        yield Uttered(role, block["text"], told)


def _calls(message: Mapping[str, Any]) -> Iterator[Uttered]:
    """The calls that stand beside the content, as OpenAI and LangChain have them."""
    calls = message.get("tool_calls")
    for given in calls if isinstance(calls, list | tuple) else ():
        call = _as_dict(given)
        if call is not None:
            yield _call(call)


def _call(block: Mapping[str, Any]) -> Uttered:
    """A call, as OpenAI, Anthropic, Google or LangChain write it."""
    inner = _as_dict(block.get("function")) or block
    given = next((inner[name] for name in ("input", "arguments", "args") if inner.get(name) is not None), None)
    return call_of(inner.get("name") or "tool", given, block.get("call_id") or block.get("id"))


def _image(block: Mapping[str, Any]) -> str:
    """Where the picture is, or what it is: its bytes are not kept."""
    inside = block.get("image_url") or block.get("source") or block
    where = inside if isinstance(inside, str) else _where(_as_dict(inside) or {}, block)
    return where if not where.startswith("data:") else _digest(where.partition(";")[0][5:], where)


def _where(inside: Mapping[str, Any], block: Mapping[str, Any]) -> str:
    named = next((each for name in ("url", "file_id", "name") if isinstance(each := inside.get(name), str)), None)
    if named is None and isinstance(inside.get("data"), str):
        return _digest(str(inside.get("media_type") or "image"), inside["data"])
    return named or str(block.get("file_id") or "without an address")


def _digest(what: str, content: str) -> str:
    return f"{what} {hashlib.blake2b(content.encode('utf-8', 'replace'), digest_size=8).hexdigest()}"


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
