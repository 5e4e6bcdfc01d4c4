"""Turns a conversation, as programs pass it to a model (messages with a role and a content), into the turns of a session.

Messages are dicts, the objects of the vendors' libraries, or any objects with these attributes, as used by OpenAI (including
the items of its Responses), Anthropic, Google and LangChain. A content is a text or a list of blocks. Texts are kept. What a
tool returned is a turn of role `tool`, even inside a user's message: the role of a turn may lower its origin, and a tool must
not speak as the user. Structure that a tool returned is kept as JSON. A message may say when it was said. Thoughts are not
said to anybody, and are not kept.

A session keeps everything (`whole_of`, for `ingest`): a tool call is a turn of its own, which its result names, and a picture
is kept by its address or name, never by its bytes. There one bad message is refused and the others are kept. `remember` keeps
what was said, without calls and pictures, all of it or nothing.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, NamedTuple

from memorist import checks
from memorist.errors import Invalid
from memorist.records import ISO, Draft, Outcome, changed, utc
from memorist.text.visible import is_blank, quoted

ROLES = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "model": "assistant", "system": "system",
    "developer": "system", "tool": "tool", "function": "tool",
}  # fmt: skip
SHAPE = '{"role": "user", "content": "…"}'
# What is read from a message or a block.
TIMES = ("timestamp", "at", "created_at", "create_time")
ATTRIBUTES = (
    "id", "role", "type", "name", "content", "parts", "text", "thought", "output", "tool_calls", "tool_call_id", "call_id",
    "tool_use_id", "input", "arguments", "function_call", "refusal", "image_url", "source", *TIMES,
)  # fmt: skip
# Blocks of these types hold what was said; others with a text may hold thoughts.
TEXT_TYPES = (None, "text", "input_text", "output_text")
CALLS = ("tool_use", "_call")  # how the types of blocks and items that call a tool end: server_tool_use, function_call
IMAGES = ("image", "image_url", "input_image", "computer_screenshot")
OTHERS_CALL_IT = {
    "fileUri": "url", "file_uri": "url", "mimeType": "media_type", "mime_type": "media_type", "response": "content",
}  # fmt: skip
TOOL = "tool"
WITH_BYTES = ("source", "resource", "file", "input_audio")  # where a block has bytes
ENCRYPTED = "encrypted_content"  # only the vendor can read it
GIVEN = ("input", "arguments", "args", "action", "queries", "code")  # what a call passes to its tool
HOLDING = ("messages", "contents", "input")  # names under which a request has its messages
# Google's parts have no type; their name says what they are. → the type that others use
OF_GOOGLE = {
    "functionCall": "function_call", "function_call": "function_call", "functionResponse": "tool_result",
    "function_response": "tool_result", "inlineData": "image", "inline_data": "image", "fileData": "image",
    "file_data": "image",
}  # fmt: skip


OF_MESSAGE = re.compile(r"session/.*/(?:at:\d+|id:(?P<id>.*))", re.DOTALL)  # the keys made by `key_of`
LIKE_A_DIGEST = re.compile(
    r"(?:\w+[:-])?(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128}"
    r"|[\w+/-]{43}=?|[\w+/-]{86}(?:==)?|[0-9a-f]{8}-[0-9a-f]{4}-[35][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})",
    re.IGNORECASE | re.ASCII,
)
MESSAGE = "message"  # where the data of a turn has the id of its message
WHERE = ("branch", "folder")  # where the agent worked, if its message says so


class Uttered(NamedTuple):
    """A turn in the making: who, what, and what a session keeps along with it."""

    role: str
    text: str
    data: Mapping[str, Any] = {}


Pieces = Callable[[Mapping[str, Any], int], Iterator[Uttered]]  # the parts of a message to keep


def is_conversation(given: Any) -> bool:
    """Whether it is one or several messages: anything iterable except text, or anything with the attributes of a message."""
    return not isinstance(given, str | bytes | bytearray) and (
        isinstance(given, Iterable) or _as_dict(given) is not None
    )


def turns_of(messages: Any, common: Draft) -> list[Draft | Outcome]:
    """The turns, each with the fields common to all; for a message without any text, a remark."""
    messages = inside(messages)
    _must_be_turns(messages, common)
    turns: list[Draft | Outcome] = []
    for number, message in enumerate(_messages(messages), 1):
        turns += _made(message, number, common, _words) or [_silent(number)]
    return _with_keys(turns, common.key)


def whole_of(messages: Any, common: Draft) -> list[tuple[int, Draft | Outcome]]:
    """The turns as a session keeps them, each with the number of its message and a key made from the message's id or position;
    for an invalid message, why it is refused."""
    messages = inside(messages)
    _must_be_turns(messages, common)
    turns: list[tuple[int, Draft | Outcome]] = []
    for number, given in enumerate(_listed(messages), 1):
        try:
            message = _message(given, number)
            made: list[Draft | Outcome] = [*_of_message(_made(message, number, common, _whole), message, number)]
            made = made or [_silent(number)]
        except Invalid as problem:
            made = [Outcome("refused", str(problem), scope=common.scope)]
        turns += [(number, turn) for turn in made]
    return turns


def _made(message: Mapping[str, Any], number: int, common: Draft, pieces: Pieces) -> list[Draft]:
    said = list(_said(pieces(message, number)))
    at = _time(message, number) if said else None
    return [_turn(each, message, at, common) for each in said]


def _silent(number: int) -> Outcome:
    return Outcome("unchanged", f"message {number} holds no text, so nothing of it was kept")


def inside(given: Any) -> Any:
    """The messages inside a request or log, under the names that OpenAI, Anthropic and Google use."""
    if not isinstance(given, Mapping) or "role" in given or "type" in given:
        return given
    return next((given[name] for name in HOLDING if isinstance(given.get(name), list)), given)


def _must_be_turns(messages: Any, common: Draft) -> None:
    if common.session is None:
        raise Invalid("messages are kept as the turns of a session; name it, such as session='2026-05-01'")
    if common.kind not in ("fact", "turn") or common.role is not None:  # fact is the default kind
        raise Invalid("messages are turns, each with its own role; leave kind and role out")
    if not is_conversation(messages):
        raise Invalid(f"a conversation is a list of messages such as {SHAPE}, not {quoted(messages)}")


def role_of(role: Any) -> str:
    """One of the four roles, from any name used for it."""
    if not isinstance(role, str) or role not in ROLES:
        raise Invalid(f"there is no role {quoted(role)}; roles are {', '.join(ROLES)}")
    return ROLES[role]


def call_of(name: Any, given: Any, id: Any = None) -> Uttered:
    """A tool call as a turn: readable, and with its structure if that can be kept."""
    arguments = _read(given)
    told = {"id": id, "name": checks.label(name, "the name of a tool"), "input": arguments}
    text = f"{name}({_json(arguments) if arguments is not None else ''})"
    try:
        return Uttered(
            "assistant", text, {"call": checks.data({key: each for key, each in told.items() if each is not None})}
        )
    except Invalid:  # too large or too deep; the text has it
        return Uttered("assistant", text, {"call": {"id": id, "name": name} if id is not None else {"name": name}})


def _read(given: Any) -> Any:
    """The arguments of a call, which some vendors write as JSON text."""
    if isinstance(given, str):
        with suppress(ValueError, RecursionError):
            return json.loads(given)
    return given


def key_of(session: str, id: str | None, number: int = 0, place: int = 1) -> str:
    """The key of a turn in that session: made from the id of its message, otherwise its number, and the position in that
    message."""
    return f"{session}/{'' if place == 1 else f'{place}/'}" + (f"at:{number}" if id is None else f"id:{id}")


def names_message(key: str) -> bool:
    """Whether it is the key of a turn by the position of its message, or by an id that reveals nothing of the content."""
    found = OF_MESSAGE.fullmatch(key)
    return found is not None and (found["id"] is None or not may_tell(found["id"]))


def may_tell(id: str) -> bool:
    """Whether the id of a message may reveal what it says, literally or by a digest that could verify guesses. Ids drawn by
    programs contain no blanks, and digests are recognised by their lengths. Of UUIDs, versions 3 and 5 are digests."""
    return any(map(str.isspace, id)) or LIKE_A_DIGEST.fullmatch(id) is not None


def _of_message(made: list[Draft], message: Mapping[str, Any], number: int) -> list[Draft]:
    """The turns of one message, each with a key of its own, so that a conversation can be sent again after it has grown."""
    id = message.get("id")
    named = id if isinstance(id, str) and id else None
    told = {} if named is None else {MESSAGE: named}
    told |= {
        name: said[: checks.LONGEST_LABEL] for name in WHERE if isinstance(said := message.get(name), str) and said
    }
    return [
        changed(turn, data={**turn.data, **told}, key=key_of(str(turn.key), named, number, place))
        for place, turn in enumerate(made, 1)
    ]


def pieces_of(given: Any, role: str | None, first: int | None) -> list[tuple[str | None, Any, int | None]]:
    """Speaker, content and message number: of a text, or of each message in a conversation from `first` on."""
    if not is_conversation(given):
        return [(role, given, first)]
    if role is not None:
        raise Invalid("messages have each a role of their own; leave role out")
    least = None if first is None else checks.whole(first, "message", 0, 1 << 53)
    return [
        (said.role, said.text, None if least is None else least + place)
        for place, message in enumerate(_messages(given))
        for said in _said(_words(message, place + 1))
    ]


def _messages(given: Any) -> Iterator[Mapping[str, Any]]:
    return (_message(each, number) for number, each in enumerate(_listed(given), 1))


def _listed(given: Any) -> Iterable[Any]:
    return given if _as_dict(given) is None else [given]


def _message(given: Any, number: int) -> Mapping[str, Any]:
    message = _as_dict(given)
    if message is None or not (message.get("role") or _is_item(message)):
        raise Invalid(f"message {number} is {quoted(given)}, not {SHAPE}; remember_many keeps a list of texts")
    return message


def _is_item(message: Mapping[str, Any]) -> bool:
    """Whether its type says what it is, as in LangChain's messages, and calls, outputs and thoughts in OpenAI's Responses."""
    return isinstance(message.get("type"), str) and message["type"] not in (*TEXT_TYPES, "message")


def _turn(said: Uttered, message: Mapping[str, Any], at: datetime | None, common: Draft) -> Draft:
    speaker = (None if "call" in said.data else message.get("name")) or common.speaker
    when, data = common.at if at is None else at, {**common.data, **said.data}
    return changed(common, text=said.text, kind="turn", role=said.role, speaker=speaker, at=when, data=data)


def _time(message: Mapping[str, Any], number: int) -> datetime | None:
    """When it was said, if the message says so: a time as text, or seconds since 1970."""
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
    """Each with a key of its own, so that a conversation can be sent again after it has grown."""
    if key is None:
        return turns
    return [replace(turn, key=f"{key}/{n}") if isinstance(turn, Draft) else turn for n, turn in enumerate(turns, 1)]


def _said(pieces: Iterable[Uttered]) -> Iterator[Uttered]:
    """What was said in a message, and in which role; adjacent pieces in one role form one turn."""
    for (who, _), some in groupby(pieces, key=lambda piece: (piece.role, _alone(piece))):
        said = _joined(who, list(some))
        if not is_blank(said.text):
            yield said


def _words(message: Mapping[str, Any], number: int) -> Iterator[Uttered]:
    return (Uttered(role, text) for role, text, data in _pieces(message, number) if not {"call", "images"} & set(data))


def _whole(message: Mapping[str, Any], number: int) -> Iterator[Uttered]:
    yield from _pieces(message, number)
    yield from _calls(message)


def _alone(piece: Uttered) -> object:
    """What makes a piece a turn of its own: it is a call, or the result of one."""
    return object() if "call" in piece.data else piece.data.get("result")


def _joined(who: str, some: list[Uttered]) -> Uttered:
    text = "\n".join(piece.text for piece in some if "images" not in piece.data)
    images = [image for piece in some for image in piece.data.get("images", ())]
    if not images:
        return Uttered(who, text, some[0].data)
    return Uttered(who, text or " ".join(f"[image {image}]" for image in images), {**some[0].data, "images": images})


def _pieces(message: Mapping[str, Any], number: int) -> Iterator[Uttered]:
    role = message.get("role")
    if not role and message["type"] not in ROLES:
        return _item(message, number)
    role = role or message["type"]
    said = message.get("content") or message.get("parts") or message.get("refusal")
    answers = message.get("tool_call_id") or (message.get("name") if role == "function" else None)
    if not isinstance(role, str) or role not in ROLES:
        raise Invalid(f"message {number} has the role {quoted(role)}; roles are {', '.join(ROLES)}")
    return _content(ROLES[role], said, number, answers)


def _item(item: Mapping[str, Any], number: int) -> Iterator[Uttered]:
    """A call, what a tool returned, or both in one."""
    if item["type"].endswith(CALLS):
        yield _call(item)
    yield from _content(TOOL, item.get("output"), number, item.get("call_id") or item.get("id"))


def _content(role: str, content: Any, number: int, answers: Any = None) -> Iterator[Uttered]:
    told = {"result": answers} if isinstance(answers, str) and answers else {}
    for given in _blocks(role, content, number):
        block = {"text": given} if isinstance(given, str) else _as_dict(given)
        if block is None and role != TOOL:
            raise Invalid(f"message {number} has a block {quoted(given)}; blocks are dicts with a type")
        yield from _block(role, _of_google(block or {"text": _json(given)}), number, told)


def _blocks(role: str, content: Any, number: int) -> Sequence[Any]:
    if isinstance(content, list | tuple):
        return content
    if content is None:
        return ()
    if role != TOOL and not isinstance(content, str):
        raise Invalid(f"the content of message {number} must be a text or a list of blocks, not {quoted(content)}")
    return [content]


def _of_google(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """A part in Google's format, converted to that of others. Its calls may have no id; then the result names the tool."""
    name = (
        None if block.get("type") else next((name for name in OF_GOOGLE if isinstance(block.get(name), Mapping)), None)
    )
    if name is None:
        return block
    part: Mapping[str, Any] = {OTHERS_CALL_IT.get(key, key): value for key, value in block[name].items()}
    id = part.get("id") or part.get("name")
    return {**part, "id": id, "tool_use_id": id, "type": OF_GOOGLE[name]}


def _block(role: str, block: Mapping[str, Any], number: int, told: Mapping[str, Any]) -> Iterator[Uttered]:
    kind = str(block.get("type") or "")
    if kind.endswith("tool_result"):  # also for tools that a vendor's server runs
        yield from _content(TOOL, _texts(block.get("content")), number, block.get("tool_use_id"))
    elif kind.endswith(CALLS):
        yield _call(block)
    elif kind in IMAGES:
        yield Uttered(role, "", {**told, "images": [_image(block)]})
    elif said := _words_in(role, block):
        yield Uttered(role, said, told)


def _words_in(role: str, block: Mapping[str, Any]) -> str | None:
    """The words of a block: its text, a refusal, or the structure that a tool returned."""
    if _is_text(block):
        return str(block["text"])
    if block.get("type") == "refusal":
        return str(block.get("refusal"))
    if role != TOOL or _holds_bytes(block):
        return None
    return _json({name: each for name, each in block.items() if name != ENCRYPTED})


def _holds_bytes(block: Mapping[str, Any]) -> bool:
    """Whether it is a document or a sound given by its bytes."""
    inner = next((each for name in WITH_BYTES if isinstance(each := block.get(name), Mapping)), block)
    return any(name in inner for name in ("data", "blob", "file_data"))


def _json(given: Any) -> str:
    return json.dumps(given, ensure_ascii=False, default=str)


def _calls(message: Mapping[str, Any]) -> Iterator[Uttered]:
    """The calls besides the content, as in OpenAI's and LangChain's format. The older ones have no id, and their result names
    the tool."""
    calls, older = message.get("tool_calls"), message.get("function_call")
    older = {**older, "id": older.get("name")} if isinstance(older, Mapping) else None
    for given in (*calls, older) if isinstance(calls, list | tuple) else (older,):
        call = _as_dict(given)
        if call is not None:
            yield _call(call)


def _call(block: Mapping[str, Any]) -> Uttered:
    """A call in the format of OpenAI, Anthropic, Google or LangChain; that of a vendor's own tool is named by its type."""
    inner = _as_dict(block.get("function")) or _as_dict(block.get("custom")) or block
    given = next((inner[name] for name in GIVEN if inner.get(name) is not None), None)
    named = inner.get("name") or str(block.get("type") or "").removesuffix("_call")
    return call_of(named or TOOL, given, block.get("call_id") or block.get("id"))


def _image(block: Mapping[str, Any]) -> str:
    """Where the picture is, or what it is; its bytes are not kept."""
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
    """What a tool returned, without the results of other tools inside: nobody nests these so deeply except to break something."""
    if not isinstance(content, list | tuple):
        return content
    return [each for each in content if (_as_dict(each) or {}).get("type") != "tool_result"]


def _as_dict(given: Any) -> Mapping[str, Any] | None:
    """A message or a block as a mapping; those of the vendors' libraries are pydantic models."""
    if isinstance(given, Mapping):
        return given
    if hasattr(given, "model_dump"):
        return dict(given.model_dump())
    if hasattr(given, "content") or hasattr(given, "type"):
        return {name: getattr(given, name) for name in ATTRIBUTES if hasattr(given, name)}
    return None
