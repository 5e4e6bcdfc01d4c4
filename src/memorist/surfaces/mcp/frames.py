"""Recovers the request ids from a line that cannot be parsed, as far as possible."""

import json
import math
import re
from typing import Any

_ID = r'"id"\s*:\s*(-?\d[\d.eE+-]{0,40}|"[^"\\]{0,1000}")\s*'
_OTHER = r'"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*'
# Clients write the id before or after the arguments. An id inside them is something else, so those are not searched.
BEFORE = re.compile(rf"\s*\{{\s*(?:{_OTHER},\s*)*{_ID}[,}}]")
BEHIND = re.compile(rf",\s*{_ID}(?:,\s*{_OTHER})*\}}\s*$")
LONGEST_END = 2000  # characters at the end of a line that are searched for an id
MOST_IDS = 100  # refusals of one line, each with the id of a request in it


def ids_of(line: str) -> list[Any]:
    """The ids of the requests in a line: one, those of a batch, or None where no id can be read, and for a batch of too
    many. A response is not a request, and is never answered."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return [_spied(line)]
    messages = said if isinstance(said, list) and said else [said]
    asked = [each for each in messages if not _is_answer(each)]
    ids = dict.fromkeys(_usable(each.get("id")) if isinstance(each, dict) else None for each in asked)
    return [*ids] if len(ids) <= MOST_IDS else [None]


def has_id(line: str | bytes) -> bool:
    """Whether a readable message has an id of any type."""
    said = json.loads(line)
    return isinstance(said, dict) and "id" in said


def _spied(line: str) -> Any:
    found = BEFORE.match(line)
    if found is None and line.count("{") == line.count("}"):  # else it may be cut off and end inside a nested object
        found = BEHIND.search(line, max(0, len(line) - LONGEST_END))
    try:
        return None if found is None else _usable(json.loads(found[1]))
    except ValueError:
        return None


def _is_answer(message: Any) -> bool:
    return isinstance(message, dict) and "method" not in message and bool(message.keys() & {"result", "error"})


def _usable(id: Any) -> Any:
    """An id that an answer can carry."""
    if isinstance(id, str):
        return None if re.search("[\ud800-\udfff]", id) else id  # a lone surrogate cannot be encoded
    if isinstance(id, float):
        return id if math.isfinite(id) else None  # JSON has no other numbers
    return id if isinstance(id, int) and not isinstance(id, bool) else None
