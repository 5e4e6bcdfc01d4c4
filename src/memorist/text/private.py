"""Text that a person marked as private, between <private> and </private>: it is kept nowhere, in whatever part of a message it
is. Marks may be nested, begin in one block of a message and end in another, and occur in the arguments of a tool call. A mark
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

    open = 0

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
        kept = []
        for block in value:
            hidden = self.open > 0
            said = self.value(block, inside=self.content) if isinstance(block, Mapping) else self.value(block)
            if not hidden or isinstance(said, str) or (isinstance(said, Mapping) and isinstance(said.get("text"), str)):
                kept.append(said)
        return kept

    def value(self, value: Any, inside: Any = None) -> Any:
        """Any value; of a block, with what identifies it, and `inside` for its own content."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list | tuple):
            return [self.value(each) for each in value]
        if not isinstance(value, Mapping):
            return None if self.open else value
        if inside is None:
            return {self.value(name): self.value(each) for name, each in value.items()}
        block = {}
        for name, each in value.items():
            identifies = name in _SHAPE and isinstance(each, str) and not _MARK.search(each)
            block[name] = each if identifies else inside(each) if name == "content" else self.value(each)
        return block
