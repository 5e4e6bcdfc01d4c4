"""Gemini CLI: `tmp/<project>/chats/session-<time>-<id>.jsonl` below `~/.gemini`.

The file is a log: a first line about the session; messages, each written again whenever it changes; `{"$set": …}`,
which changes the first line or supplies messages; and `{"$rewindTo": id}`, with which the user takes back that message
and all after it. It is replayed: first to find the line of each message that counts, then to read those lines. A `$set`
with fewer messages shortens what the model sees and takes nothing back: the messages were still said. After the user's
words come the contents of files they named (`@README.md`), and the output of a shell as words of its own; neither was
typed.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memorist.files.importers import Item, Utterance, Values, text_of

program = "gemini"
_ROLES = {"user": "user", "gemini": "assistant"}
_FILES = "--- Content from referenced files ---"
_PUT_OUT = (
    "I ran the following shell command:\n```",
    "System: Potential loop",
    "System: Please continue",
    "[System: You ",
)


def recognise(first: Sequence[Mapping[str, Any]]) -> bool:
    return bool(first) and "sessionId" in first[0] and ("projectHash" in first[0] or "startTime" in first[0])


def read(values: Values) -> Iterator[Item]:
    counts = _replayed(values)
    values.flaws.clear()  # they are reported when the file is read again
    session = values.stem
    for line in values:
        if isinstance(line.get("sessionId"), str):
            session = line["sessionId"]
        for place, message in _messages(line, values.place):
            if counts.get(str(message["id"])) == place:
                yield from (Utterance(session, each) for each in _said(message))


def _replayed(values: Values) -> dict[str, tuple[int, int]]:
    """The last line of each message that was not taken back, in their order."""
    counts: dict[str, tuple[int, int]] = {}
    for line in values:
        if "$rewindTo" in line:
            while counts and counts.popitem()[0] != line["$rewindTo"]:
                pass  # all of them, if it is not among them
        for place, message in _messages(line, values.place):
            counts[str(message["id"])] = place
    return counts


def _messages(line: Mapping[str, Any], number: int) -> Iterator[tuple[tuple[int, int], Mapping[str, Any]]]:
    """The messages in a line: itself, or those of the session as a whole."""
    change = line.get("$set")
    whole = change if isinstance(change, Mapping) else line
    inside = whole.get("messages")
    found = inside if isinstance(inside, list) else [line]
    for place, message in enumerate(found):
        if isinstance(message, Mapping) and isinstance(message.get("id"), str) and message.get("type") in tuple(_ROLES):
            yield (number, place), message


def _said(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    about = {"id": message["id"], "timestamp": message.get("timestamp")}
    content = message.get("content")
    content = _typed(content) if message["type"] == "user" else content
    yield {**about, "role": _ROLES[message["type"]], "content": content if isinstance(content, str | list) else None}
    calls = message.get("toolCalls")
    for number, call in enumerate(calls if isinstance(calls, list) else (), 1):
        if isinstance(call, Mapping) and isinstance(call.get("name"), str):
            named = {**about, "id": f"{message['id']}/{call.get('id') or number}"}
            use = {"type": "tool_use", "id": call.get("id"), "name": call["name"], "input": call.get("args")}
            yield {**named, "role": "assistant", "content": [use]}
            yield {**named, "id": f"{named['id']}/result", "role": "tool", "tool_call_id": call.get("id"),
                   "content": _result(call)}  # fmt: skip


def _typed(content: Any) -> Any:
    """The text without what the program wrote in the user's name. Files may contain the end mark themselves, so
    everything after the beginning goes."""
    if isinstance(content, str):
        return "" if content.lstrip().startswith(_PUT_OUT) else content.partition(_FILES)[0]
    typed: list[Any] = []
    for part in content if isinstance(content, list) else ():
        text = text_of(part)
        if text is None:
            typed.append(part)
            continue
        typed.append({"text": _typed(text)})
        if _FILES in text:
            break
    return typed


def _result(call: Mapping[str, Any]) -> str | None:
    """The result of the call, as it was shown."""
    if isinstance(call.get("resultDisplay"), str):
        return str(call["resultDisplay"])
    result = call.get("result")
    parts = result if isinstance(result, list) else [result]
    texts = [part if isinstance(part, str) else _answer(part) for part in parts]
    return "\n".join(text for text in texts if text) or None


def _answer(part: Any) -> str | None:
    """The output in {"functionResponse": {"response": {"output": …}}}."""
    for name in ("functionResponse", "response", "output"):
        part = part.get(name) if isinstance(part, Mapping) else None
    return part if isinstance(part, str) else None
