"""Text that a person marked as private, between <private> and </private>: it is kept nowhere, in whatever part of a message it
is.

Marks may be nested, begin in one block of a message and end in another, and occur in the arguments of a tool call. A mark
without an end hides the rest of its message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from memorist.text.patterns import regex

# Also as JSON inside of a text: the arguments of a call are parsed later.
_MARK = regex(r"(?:<|\\u003c)(\\?/)?private\b[^<>]{0,200}?(?:>|\\u003e)", re.IGNORECASE)
_ABOUT = frozenset(  # who said a message, when and where; an open mark hides none of it
    "id role type name timestamp created_at date branch folder tool_call_id call_id".split()
)
_SHAPE = frozenset(("type", "id", "tool_use_id", "tool_call_id", "call_id"))  # what identifies a block


def without_private(text: str) -> str:
    """The text without what its user marked as private; up to the end, if they did not mark its end.

    >>> without_private("Call Ann.<private>Her <private>old</private> pin is 4711</private> Why?")
    'Call Ann. Why?'
    """
    return _Reader().text(text)


def public_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message without anything marked as private. Raises RecursionError if it is nested too deeply.

    >>> public_message({"role": "user", "content": ["Call Ann.<private>Her pin", {"text": "is 4711</private> Why?"}]})
    {'role': 'user', 'content': ['Call Ann.', {'text': ' Why?'}]}
    """
    reader = _Reader()
    return {name: (_Reader() if name in _ABOUT else reader).content(value) for name, value in message.items()}


class _Reader:
    """Goes through a message in order, and counts the open marks."""

    __slots__ = ("open",)

    def __init__(self) -> None:
        self.open = 0

    def text(self, text: str) -> str:
        kept, start = list[str](), 0
        for mark in _MARK.finditer(text):
            if mark[1] is None:
                kept += [] if self.open else [text[start : mark.start()]]
                self.open += 1
            elif self.open:
                self.open -= 1
                start = mark.end()
        return "".join(kept) + ("" if self.open else text[start:])

    def content(self, value: Any) -> Any:
        """What was said: a text, or blocks; a block that is not text is dropped if it begins while a mark is open."""
        if not isinstance(value, list):
            return self.value(value)
        hidden = [(self.open > 0, self._block(block)) for block in value]
        return [block for inside, block in hidden if not inside or _is_text(block)]

    def _block(self, block: Any) -> Any:
        if not isinstance(block, Mapping):
            return self.value(block)
        return {name: self._member(name, each) for name, each in block.items()}

    def _member(self, name: Any, value: Any) -> Any:
        if name in _SHAPE and isinstance(value, str) and not _MARK.search(value):
            return value
        return self.content(value) if name == "content" else self.value(value)

    def value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list | tuple):
            return [self.value(each) for each in value]
        if isinstance(value, Mapping):
            return {self.value(name): self.value(each) for name, each in value.items()}
        return None if self.open else value


def _is_text(block: Any) -> bool:
    return isinstance(block, str) or (isinstance(block, Mapping) and isinstance(block.get("text"), str))
