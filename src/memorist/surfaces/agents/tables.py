"""Adds a table to somebody else's TOML, and takes it out again: every other byte stays, as `splice` does it with JSON.

Both parse their own result before returning it: if that says anything but what was meant, nothing is changed.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memorist.errors import Invalid, Refused
from memorist.surfaces.agents.splice import BYTE_ORDER_MARK, at
from memorist.text import toml


def read(text: str, file: Path) -> dict[str, Any]:
    return toml.parse(text.removeprefix(BYTE_ORDER_MARK), file)


def put(text: str, path: Sequence[str], value: Mapping[str, Any], file: Path) -> str:
    """The text with that table at its end."""
    wanted, above = read(text, file), path[:-1]
    listed = at(wanted, above)
    if listed is not None and not isinstance(listed, Mapping):
        raise Invalid(f"{'.'.join(above)} in {file} is no table, so nothing can be added to it; correct it")
    line = "\r\n" if "\r\n" in text else "\n"
    rows = [f"[{'.'.join(path)}]", *_rows(value)]
    gap = "" if not text else line if text.endswith("\n") else line * 2
    after = text + gap + line.join(rows) + line
    _inner(wanted, above)[path[-1]] = dict(value)
    _must_say(_grown(after, path, value, file), wanted, file)
    return after


def swap(text: str, path: Sequence[str], value: Mapping[str, Any], file: Path) -> str:
    """The text with another table in the place of that one, at its end."""
    return put(take(text, path, file), path, value, file)


def take(text: str, path: Sequence[str], file: Path) -> str:
    """The text without that table and the blank line before it. Comments stay, wherever they are."""
    left = "".join(_lines_without(text.splitlines(keepends=True), path))
    wanted, above = read(text, file), path[:-1]
    try:
        found = read(left, file)
    except Invalid:  # a line of a value over several lines began like a table
        raise _not_told_apart(file) from None
    _inner(wanted, above).pop(path[-1])
    for each in (wanted, found):  # a table that only holds tables exists as long as it has one
        if not _inner(each, above):
            _inner(each, above[:-1]).pop(above[-1], None)
    _must_say(found, wanted, file)
    return left


def _rows(value: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {toml.written(each)}" for key, each in value.items()]


def _grown(after: str, path: Sequence[str], value: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """What the file says with the table added. Refuses a file that has the list as an inline table, to which TOML
    allows no additions."""
    try:
        return read(after, file)
    except Invalid:
        above = ".".join(path[:-1])
        raise Refused(
            f"{file} has {above} on one line ({above} = {{…}}), to which TOML lets nobody add a table; write it as "
            f"[{above}.NAME], or put {path[-1]} = {{{', '.join(_rows(value))}}} into it yourself"
        ) from None


def _must_say(found: dict[str, Any], wanted: dict[str, Any], file: Path) -> None:
    """Checks the text to be written: it must say what was meant, and must lose nothing that others wrote."""
    if found != wanted:
        raise _not_told_apart(file)


def _not_told_apart(file: Path) -> Refused:
    return Refused(f"{file} is written in a way in which our lines cannot be told from others; change it by hand")


def _inner(table: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    for name in path:
        table = table.setdefault(name, {})
    return table


def _lines_without(lines: Sequence[str], path: Sequence[str]) -> list[str]:
    kept, inside = list[str](), False
    for line in lines:
        begins = line.lstrip()[:1]
        if begins == "[":
            entered = _is_head(line, path)
            if entered and not inside and kept and not kept[-1].strip():
                kept.pop()
            inside = entered
        if not inside or begins in ("", "#"):
            kept.append(line)
    return kept


def _is_head(line: str, path: Sequence[str]) -> bool:
    """Whether that line begins the table at that path, or one inside it."""
    names = [name.strip().strip("\"'") for name in line.partition("]")[0].strip().lstrip("[").split(".")]
    return names[: len(path)] == [*path]
