"""Transcripts of our own, `sessions/<session>.jsonl`: lines with an id, a role, what was said or called, and when; and with the id
of the memory that a line was written from, if a store wrote it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memorist.files.importers import Item, Utterance, Values
from memorist.remember.gate import IS_ID

program = "transcript"
_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "tool_call": "assistant", "tool_result": "tool"}


def recognise(first: Sequence[Mapping[str, Any]]) -> bool:
    return bool(first) and all(_is_line(line) for line in first)


def read(values: Values) -> Iterator[Item]:
    for line in values:
        if _is_line(line):
            yield Utterance(values.stem, _said(line), _memory(line))


def _is_line(line: Mapping[str, Any]) -> bool:
    said = "content" in line or ("name" in line and line.get("role") == "tool_call")
    return isinstance(line.get("id"), str) and line.get("role") in tuple(_ROLES) and said and "timestamp" in line


def _memory(line: Mapping[str, Any]) -> str | None:
    """The id of its turn, which the store that wrote the line already has."""
    id = line.get("memory")
    return id if isinstance(id, str) and IS_ID.fullmatch(id) else None


def _said(line: Mapping[str, Any]) -> dict[str, Any]:
    """A call and its result share an id, so the role is needed to tell them apart."""
    role, about = line["role"], {"id": line["id"], "timestamp": line["timestamp"]}
    if role == "tool_call":
        use = {"type": "tool_use", "id": line["id"], "name": line.get("name"), "input": line.get("input")}
        return {**about, "id": f"{line['id']}/call", "role": "assistant", "content": [use]}
    about |= {"role": _ROLES[role], "content": line["content"]}
    if role == "tool_result":
        return {**about, "id": f"{line['id']}/result", "tool_call_id": line["id"]}
    speaker = line.get("speaker")
    return {**about, "name": speaker if isinstance(speaker, str) else None}
