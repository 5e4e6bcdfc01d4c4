"""Values of a program as JSON can hold them: what an object says, and never its `repr`.

An enum is its value; a dataclass, a pydantic model and any other object with attributes are dicts of them; a set is a sorted
list, a path its text, a time ISO 8601. Bytes are their text where they are UTF-8, otherwise `{"base64": …}`. Objects are known
by what they can do, so that none of their libraries is needed here.
"""

import base64
import math
import os
from collections.abc import Callable, Mapping
from datetime import date, time
from enum import Enum
from typing import Any

from memorist.errors import Invalid
from memorist.text.visible import flaw

DEEPEST = 20  # levels, as deep as `data` may be
LARGEST = 2**63  # numbers below it are stored as numbers


def data_of(value: Any, depth: int = 0) -> Any:
    """The same in dicts, lists, texts and numbers.

    >>> from pathlib import Path
    >>> data_of({"file": Path("a.py"), "ids": {2, 1}, "raw": b"ok"})
    {'file': 'a.py', 'ids': [1, 2], 'raw': 'ok'}
    """
    if depth > DEEPEST:
        raise Invalid(f"a payload is nested more than {DEEPEST} levels deep, or holds itself; flatten it")
    told = _told(value)
    if isinstance(told, Mapping):
        return {str(data_of(key, depth + 1)): data_of(each, depth + 1) for key, each in told.items()}
    return [data_of(each, depth + 1) for each in told] if isinstance(told, list | tuple) else told


def _told(value: Any) -> Any:
    """What a value is made of: a dict, a list, or what needs no more words."""
    if isinstance(value, Enum):
        return _told(value.value)
    if value is None or isinstance(value, str | bool):
        return value
    return next((tell for kinds, tell in READ_AS if isinstance(value, kinds)), _fields)(value)


def _number(value: float) -> float | str:
    return value if math.isfinite(value) and abs(value) < LARGEST else str(value)


def _read(held: Any) -> str | dict[str, str]:
    try:
        text = bytes(held).decode()
    except UnicodeDecodeError:
        text = "\0"
    return {"base64": base64.b64encode(held).decode()} if flaw(text) else text


def _fields(value: Any) -> Any:
    """Of an object: what it says of itself, or its public attributes; else its text."""
    if isinstance(value, type) or callable(value):
        return str(value)
    for dump in DUMPS:
        if callable(told := getattr(value, dump, None)):
            return told()
    names: Mapping[str, Any] = getattr(value, "__dataclass_fields__", getattr(value, "__dict__", {}))
    public = {name: getattr(value, name) for name in names if not name.startswith("_")}
    return public or (value if isinstance(value, tuple) else str(value))


DUMPS = ("model_dump", "_asdict", "dict")  # pydantic 2, a named tuple, pydantic 1
READ_AS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (int | float, _number),
    (Mapping | list, lambda value: value),
    (bytes | bytearray | memoryview, _read),
    (date | time, lambda value: value.isoformat()),  # a datetime is a date
    (os.PathLike, os.fsdecode),
    (set | frozenset, lambda value: sorted(value, key=lambda each: (type(each).__name__, str(each)))),
    (BaseException, lambda value: {"error": type(value).__name__, "message": str(value)}),
)
