"""Checks of what callers pass in. Each refusal says what is wrong and what to do next; nothing is truncated to fit."""

import os
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from operator import index
from typing import Any, SupportsIndex

from memorist.errors import Invalid
from memorist.noun import Noun
from memorist.records import Reference, iso, utc
from memorist.store.where import canonical
from memorist.text.visible import flaw, is_blank, quoted

LARGEST_PROMPT = 1_000_000  # tokens
LONGEST_TEXT = 1_000_000  # characters; anything longer is a document, and an importer splits it into pieces
LONGEST_LABEL = 256
MOST_LABELS = 100
LONGEST_DATA = 100_000
ADVISED_TEXT = 500
LONGEST_WAIT = 1_000_000  # seconds
UNITS = {"TB": 1 << 40, "GB": 1 << 30, "MB": 1 << 20, "KB": 1 << 10, "B": 1}


def text(value: Any, what: str = "the text") -> str:
    return _words(value, what, LONGEST_TEXT, "split it", "say what to remember")


def label(value: Any, what: str) -> str:
    return _words(value, what, LONGEST_LABEL, "shorten it", "leave it out or name it")


def _words(value: Any, what: str, longest: int, when_long: str, when_empty: str) -> str:
    if not isinstance(value, str):
        raise Invalid(f"{what} must be text, not {type(value).__name__}")
    if len(value) > longest:
        raise Invalid(f"{what} has {len(value):,} characters; {longest:,} are allowed: {when_long}")
    if value.isascii() and value.isprintable() and value.strip():
        return value  # printable text needs no further check
    if bad := flaw(value):
        raise Invalid(f"{what} holds {bad}, which cannot be stored; remove it")
    if is_blank(value):
        raise Invalid(f"{what} is empty; {when_empty}")
    return value


def optional_label(value: Any, what: str) -> str | None:
    return None if value is None else label(value, what)


def labels(values: Any, what: str) -> tuple[str, ...]:
    """Unique labels in the given order, stripped."""
    if isinstance(values, str) or not isinstance(values, Sequence | set | frozenset):
        raise Invalid(f"{what} must be a list of texts, not {type(values).__name__}")
    if len(values) > MOST_LABELS:
        raise Invalid(f"{len(values):,} {what} were given; {MOST_LABELS} are allowed")
    checked = (label(value, f"one of the {what}").strip() for value in values)
    return tuple(dict.fromkeys(checked))


def files(values: Any) -> tuple[str, ...]:
    """The files a memory is about, by path or name."""
    if isinstance(values, Sequence | set | frozenset) and not isinstance(values, str):
        values = [os.fspath(value) if isinstance(value, os.PathLike) else value for value in values]
    return labels(values, "files")


def named(value: Any) -> Any:
    """How a caller refers to a memory; for a value that a verb returned, its id."""
    return getattr(value, "id", None) if isinstance(value, Noun) else value


def reference(value: Any) -> str | int:
    """A reference to one memory: its number, its id, or a part of the id."""
    given = named(value)
    if isinstance(given, str):
        return given
    if isinstance(given, bool) or not isinstance(given, SupportsIndex):
        raise Invalid(
            f"{quoted(value)} names no memory; give its number, its id, or the hit or record that a verb gave"
        )
    return index(given)


def references(values: Any, what: str) -> Sequence[Reference]:
    """A list of memories to look up one by one."""
    if isinstance(values, str | bytes) or not isinstance(values, Sequence | set | frozenset):
        raise Invalid(f"{what} is a list of memories such as [12, 14], not {quoted(values)}")
    return tuple(values)


def is_path(name: str) -> bool:
    """Whether a name is a file path: it has a separator or a TOML file's ending."""
    return "/" in name or "\\" in name or name.endswith(".toml")


def flag(value: Any, what: str) -> bool:
    if not isinstance(value, bool):
        raise Invalid(f"{what} must be True or False, not {value!r:.60}")
    return value


def one_of(value: Any, what: str, allowed: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise Invalid(f"{what} must be {' or '.join(allowed)}, not {quoted(value)}")
    return value


def names(value: Any, what: str, known: Sequence[str]) -> tuple[str, ...]:
    """A list of distinct names, all of them known."""
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise Invalid(f"{what} must be a list of names such as {list(known[:2])}, not {quoted(value)}")
    for place, name in enumerate(value):
        if name not in known:
            raise Invalid(f"{what}: there is no {quoted(name)}; it is one of {', '.join(known)}")
        if name in value[:place]:
            raise Invalid(f"{what} names {name} twice; once is enough")
    return tuple(value)


def called(value: Any, what: str, example: str) -> None:
    """Checks a callback, if one was given."""
    if value is not None and not callable(value):
        raise Invalid(f"{what} must be a function such as {example}, not {quoted(value)}")


def path(value: Any) -> str | None:
    """The path of a store as text; None if the settings decide. Bytes and other objects are refused: they would become
    files with odd names."""
    given = os.fspath(value) if isinstance(value, os.PathLike) else value
    if given is not None and not isinstance(given, str):
        raise Invalid(f"the path of the store must be a text or a Path, not {type(value).__name__}")
    if given is not None and not given.strip():
        raise Invalid("the path of the store is empty; name a file, or ':memory:'")
    return given


def share(value: Any, what: str) -> float:
    """A number from 0 to 1."""
    return number(value, what, 0, 1)


def whole(value: Any, what: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise Invalid(f"{what} must be a whole number from {least:,} to {most:,}, not {quoted(value)}")
    return value


def span(value: Any, what: str) -> tuple[int, int] | None:
    """The first and last of some numbered things, counted from 0."""
    if value is None:
        return None
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise Invalid(f"{what} must be two numbers, the first and the last, not {quoted(value)}")
    first = whole(value[0], f"the first of the {what}", 0, 1 << 53)
    return first, whole(value[1], f"the last of the {what}", first, 1 << 53)


def number(value: Any, what: str, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise Invalid(f"{what} must be a number from {least:,g} to {most:,g}, not {quoted(value)}")
    return float(value)


def size(value: Any, what: str) -> int:
    """Bytes, given as a number or as a text with its unit. Less than a megabyte means a forgotten unit.

    >>> size("1.5 GB", "max_size") == 1536 * 1024 * 1024
    True
    """
    bytes = value if isinstance(value, int) else _bytes(value)
    if not 1 << 20 <= bytes <= 1 << 50:
        raise Invalid(f"{what} must be a size from 1 MB to 1024 TB, such as '100 MB', not {quoted(value)}")
    return bytes


def _bytes(value: Any) -> int:
    pattern = r"\s*(\d{1,15}(?:\.\d{1,6})?)\s*(|[KMGT]?B)\s*"
    found = re.fullmatch(pattern, value, re.ASCII | re.IGNORECASE) if isinstance(value, str) else None
    return int(float(found[1]) * UNITS[found[2].upper() or "B"]) if found else 0


def size_text(bytes: int) -> str:
    """Bytes in the largest unit that divides them evenly, so that `size` reads the text back exactly."""
    unit, worth = next((unit, worth) for unit, worth in UNITS.items() if bytes % worth == 0)
    return f"{bytes // worth} {unit}"


def seconds(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LONGEST_WAIT:
        raise Invalid(f"{what} must be a number of seconds above 0 and up to {LONGEST_WAIT:,}, not {quoted(value)}")
    return float(value)


def moment(value: Any, what: str) -> datetime | None:
    return None if value is None else utc(value, what)


def interval(start: datetime | None, end: datetime | None) -> None:
    if start is not None and end is not None and end <= start:
        raise Invalid(f"valid_to ({end.isoformat()}) must be after valid_from ({start.isoformat()})")


def data(value: Any) -> Mapping[str, Any]:
    """Structured data that can be stored as JSON and compared in filters."""
    if not isinstance(value, Mapping):
        raise Invalid(f"data must be a dict, not {type(value).__name__}")
    if not value:
        return {}
    plain: Mapping[str, Any] = _plain(value, 0)
    size = len(canonical(plain))
    if size > LONGEST_DATA:
        raise Invalid(f"data has {size:,} characters as JSON; {LONGEST_DATA:,} are allowed")
    return plain


def _plain(value: Any, depth: int) -> Any:
    """The same value as dicts and lists, with each part checked."""
    if depth > 20:
        raise Invalid("data is nested more than 20 levels deep; flatten it")
    if isinstance(value, Mapping):
        for key in value:
            label(key, "a key of data")
        return {key: _plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each, depth + 1) for each in value]
    if isinstance(value, date):
        return iso(value)
    if isinstance(value, str):
        if bad := flaw(value):
            raise Invalid(f"a value of data holds {bad}; remove it")
    elif value is not None and not (isinstance(value, int | float) and abs(value) < 2**63):  # nor is not-a-number below
        raise Invalid(
            f"data can hold texts, times, finite numbers below 2^63, true, false, null, lists and dicts; not {quoted(value)}"
        )
    return value
