"""Whose request it was that cannot be read: what a line was meant to be, as far as that can be told."""

import json
import re
from typing import Any

_ID = r'"id"\s*:\s*(-?\d[\d.eE+-]{0,40}|"[^"\\]{0,1000}")\s*'
_OTHER = r'"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*'
# Clients write the id before the arguments or behind them. Inside them is an id of something else, so it is not looked for there.
BEFORE = re.compile(rf"\s*\{{\s*(?:{_OTHER},\s*)*{_ID}[,}}]")
BEHIND = re.compile(rf",\s*{_ID}(?:,\s*{_OTHER})*\}}\s*$")
LONGEST_END = 2000  # characters at the end of a line among which an id is looked for


def ids_of(line: str) -> list[Any]:
    """The ids of the requests in a line: one, those of a batch, or None where it has none that can be read. What is an answer
    is no request, and is never answered."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return [_spied(line)]
    messages = said if isinstance(said, list) and said else [said]
    asked = [each for each in messages if not _is_answer(each)]
    return [*dict.fromkeys(_usable(each.get("id")) if isinstance(each, dict) else None for each in asked)]


def has_id(line: str) -> bool:
    """Whether a message that can be read has an id, of whatever kind."""
    said = json.loads(line)
    return isinstance(said, dict) and "id" in said


def _spied(line: str) -> Any:
    found = BEFORE.match(line)
    if found is None and line.count("{") == line.count("}"):  # else it may be cut, and its end that of something inside
        found = BEHIND.search(line, max(0, len(line) - LONGEST_END))
    try:
        return None if found is None else _usable(json.loads(found[1]))
    except ValueError:
        return None


def _is_answer(message: Any) -> bool:
    return isinstance(message, dict) and "method" not in message and bool(message.keys() & {"result", "error"})


def _usable(id: Any) -> Any:
    """An id that an answer can bear."""
    if isinstance(id, str):
        return None if re.search("[\ud800-\udfff]", id) else id  # half a character cannot be written
    return id if isinstance(id, int | float) and not isinstance(id, bool) else None
