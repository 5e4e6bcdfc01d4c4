"""Changes somebody else's JSON in one place: every other byte stays, including comments and order.

Editors and agents keep their settings in JSON that people write by hand, with comments and trailing commas. Parsing and
rewriting would lose both. So a scanner records where each value begins and ends, and an addition goes between two of
these places, with the indentation and line ends of the file.

    put     adds a member, with the objects above it that are missing
    append  adds an element to a list
    swap    puts another value in the place of one
    take    removes a member or an element

Each parses its own result before returning it: if that says anything but what was meant, nothing is changed.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from memorist import strict_json
from memorist.errors import Invalid, Refused
from memorist.lazy import dataclass

Step = str | int
DEEPEST = 100
BYTE_ORDER_MARK = "\ufeff"  # Windows editors put it first; it stays
ONE_LINE = 100  # characters of a value that fits on one line
_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_ATOM = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null')
_INDENT = re.compile(r"^([ \t]+)\S", re.MULTILINE)
_REMARK = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ENDS_LINE = re.compile(r"[ \t]*\r?\n")
_CLOSING = {"{": "}", "[": "]"}


@dataclass(slots=True)
class _Node:
    """A value and its position; `parts` are its members or elements, each with its start, including its name."""

    value: Any
    start: int
    end: int = 0
    parts: list[tuple[Step, int, "_Node"]] = field(default_factory=list)
    numbers: dict[Step, int] = field(default_factory=dict)  # the part that each name refers to

    def part(self, step: Step) -> "_Node | None":
        number = self.numbers.get(step)
        return None if number is None else self.parts[number][2]


def read(text: str, file: Path) -> Any:
    """The value of such a file. Most have neither comments nor errors, and an agent's own may have 65 MB: those are read
    quickly."""
    try:
        return strict_json.loads(text.removeprefix(BYTE_ORDER_MARK))
    except (ValueError, RecursionError):
        return _scanned(text, file).value


def at(found: Any, path: Sequence[str]) -> Any:
    """The part of such a value at that path; None if the path leads nowhere."""
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def put(text: str, path: Sequence[str], value: Any, file: Path) -> str:
    """The text with one more member at that path. An existing value in the way is not replaced."""
    root = _scanned(text, file)
    node, depth = root, 0
    while depth < len(path) and (found := node.part(path[depth])):
        node, depth = found, depth + 1
    if depth == len(path):
        raise Refused(f"{file} has {'.'.join(path)} already")
    if not isinstance(node.value, dict):
        named = ".".join(path[:depth]) or "what stands"
        raise Invalid(f"{named} in {file} is no object, so nothing can be added to it; correct it")
    for name in reversed(path[depth + 1 :]):
        value = {name: value}
    more = _added(text, node, f"{json.dumps(path[depth], ensure_ascii=False)}: ", value)
    node.value[path[depth]] = value
    return _meant(more, root, file)


def append(text: str, path: Sequence[str], value: Any, file: Path) -> str:
    """The text with one more element in the list at that path, which is created if it is missing."""
    root = _scanned(text, file)
    node = _at(root, path)
    if node is None:
        return put(text, path, [value], file)
    if not isinstance(node.value, list):
        raise Invalid(f"{'.'.join(path)} in {file} is no list, so nothing can be added to it; correct it")
    more = _added(text, node, "", value)
    node.value.append(value)
    return _meant(more, root, file)


def swap(text: str, path: Sequence[Step], value: Any, file: Path) -> str:
    """The text with another value in the place of the one at that path."""
    root = _scanned(text, file)
    above, node = _at(root, path[:-1]), _at(root, path)
    if above is None or node is None:
        return text
    layout = _Layout.of(text, node)
    shown = _shown(value, layout.unit).replace("\n", layout.line + layout.outer)
    above.value[path[-1]] = value
    return _meant(text[: node.start] + shown + text[node.end :], root, file)


def take(text: str, path: Sequence[Step], file: Path) -> str:
    """The text without what is at that path. Comments stay, and a comment that begins a line after it still does."""
    root = _scanned(text, file)
    above = _at(root, path[:-1])
    number = above.numbers.get(path[-1]) if above else None
    if above is None or number is None:
        return text
    _, start, node = above.parts[number]
    before = above.parts[number - 1][2].end if number else above.start + 1
    begin = before + len(text[before:start].rstrip())
    comma = _past_blanks(text, node.end)
    if text[comma] == ",":
        beside = text[node.end : comma]  # perhaps comments
        rest = (beside if beside.strip() else "") + text[comma + 1 :]
        kept = text[:begin]
    else:
        separator = _past_blanks(text, before) if number else begin  # the last part takes the comma before it along
        rest = text[node.end :]
        kept = text[:separator] + text[separator + 1 : begin]
    if _in_remark(text[before:begin]) and not _ENDS_LINE.match(rest):
        kept, rest = kept + text[begin:start], rest.lstrip(" \t")
    del above.value[path[-1]]
    return _meant(_closed(kept + rest, above.start), root, file)


def _meant(text: str, root: _Node, file: Path) -> str:
    """The text, if it parses to the intended value."""
    try:
        found = read(text, file)
    except Invalid:
        found = None
    if found != root.value:
        raise Refused(f"{file} is written in a way in which our lines cannot be told from others; change it by hand")
    return text


def _in_remark(blanks: str) -> bool:
    """Whether the text between two parts ends in a comment that only the end of the line closes."""
    last = ""
    for found in _REMARK.finditer(blanks):
        last = found[0] if found.end() == len(blanks) else ""
    return last.startswith("//")


def _past_blanks(text: str, at: int) -> int:
    """The end of blanks and comments."""
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _closed(text: str, start: int) -> str:
    """Writes a container that is now empty as an empty one."""
    inside = text[start + 1 :].lstrip(" \t\r\n")
    return text[: start + 1] + inside if inside[:1] in ("}", "]") else text


def _at(node: _Node | None, path: Sequence[Step]) -> _Node | None:
    for step in path:
        node = node.part(step) if node else None
    return node


def _added(text: str, node: _Node, name: str, value: Any) -> str:
    """Adds after the last part: that gets its comma directly after it, and the new part goes before the blanks at the
    end, so that comments stay beside what they describe."""
    layout = _Layout.of(text, node)
    shown = _shown(value, layout.unit).replace("\n", layout.line + layout.inner)
    if not node.parts:
        rest = text[node.start + 1 : node.end - 1].rstrip()
        return (
            f"{text[: node.start + 1]}{rest}{layout.gap}{name}{shown}{layout.line}{layout.outer}{text[node.end - 1 :]}"
        )
    last = node.parts[-1][2].end
    rest = text[last : node.end - 1]
    body = rest.rstrip()
    blanks = rest[len(body) :]
    trailing = "," in _REMARK.sub("", body)
    end = blanks if layout.alone or "\n" in blanks else layout.line + layout.outer
    comma, after = ("", ",") if trailing else (",", "")
    return f"{text[:last]}{comma}{body}{layout.gap}{name}{shown}{after}{end}{text[node.end - 1 :]}"


@dataclass(frozen=True, slots=True)
class _Layout:
    """How the file is formatted at that container."""

    line: str  # the line ending
    unit: str  # one indentation; empty if the container is on one line
    outer: str  # the indentation of the container, and of its parts
    inner: str
    alone: bool  # on one line, and not empty

    @classmethod
    def of(cls, text: str, node: _Node) -> "_Layout":
        line = "\r\n" if "\r\n" in text else "\n"
        indent = _INDENT.search(text)
        unit, outer = indent[1] if indent else "  ", _indent_at(text, node.start)
        if not node.parts:
            return cls(line, unit, outer, outer + unit, False)
        if "\n" not in text[node.start : node.end]:
            return cls(line, "", outer, "", True)
        return cls(line, unit, outer, _indent_at(text, node.parts[-1][1]), False)

    @property
    def gap(self) -> str:
        return " " if self.alone else self.line + self.inner


def _shown(value: Any, unit: str) -> str:
    """Formatted as people write it: a short value stays on one line."""
    alone = json.dumps(value, ensure_ascii=False)
    if not unit or len(alone) <= ONE_LINE or not isinstance(value, dict | list):
        return alone
    if isinstance(value, list):
        parts = [_shown(each, unit) for each in value]
    else:
        parts = [f"{json.dumps(name, ensure_ascii=False)}: {_shown(each, unit)}" for name, each in value.items()]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    inner = ",\n".join(parts).replace("\n", "\n" + unit)
    return f"{opening}\n{unit}{inner}\n{closing}"


def _indent_at(text: str, place: int) -> str:
    """The blanks at the beginning of that line."""
    begin = text.rfind("\n", 0, place) + 1
    return text[begin:place][: len(text[begin:place]) - len(text[begin:place].lstrip(" \t"))]


# ---------------------------------------------------------------- the scanner


def _scanned(text: str, file: Path) -> _Node:
    scanner = _Scanner(text, file)
    begin = scanner.blank(1 if text.startswith(BYTE_ORDER_MARK) else 0)
    if begin == len(text):
        raise Invalid(f"{file} is empty; write {{}} into it, or remove it")
    node = scanner.value(begin, 0)
    if scanner.blank(node.end) != len(text):
        raise scanner.wrong(scanner.blank(node.end), "it goes on where it should end")
    return node


@dataclass(frozen=True, slots=True)
class _Scanner:
    text: str
    file: Path

    def blank(self, at: int) -> int:
        return _past_blanks(self.text, at)

    def wrong(self, at: int, what: str) -> Invalid:
        line = self.text.count("\n", 0, at) + 1
        return Invalid(f"{self.file}, line {line}: {what}; correct it")

    def value(self, at: int, depth: int) -> _Node:
        if depth > DEEPEST:
            raise self.wrong(at, f"more than {DEEPEST} values inside one another")
        if self.text[at : at + 1] in _CLOSING:
            return self.container(at, depth)
        atom = _ATOM.match(self.text, at)
        if atom is None:
            raise self.wrong(at, "a value is missing or not written as JSON has it")
        try:
            return _Node(json.loads(atom[0]), at, atom.end())
        except ValueError:
            raise self.wrong(at, "a text is not written as JSON has it") from None

    def container(self, at: int, depth: int) -> _Node:
        closing = _CLOSING[self.text[at]]
        node = _Node({} if closing == "}" else [], at)
        place = self.blank(at + 1)
        while self.text[place : place + 1] != closing:
            place = self.blank(self.part(node, place, depth))
            if self.text[place : place + 1] == ",":
                place = self.blank(place + 1)
            elif self.text[place : place + 1] != closing:
                raise self.wrong(place, f"a comma or {closing} is missing")
        node.end = place + 1
        return node

    def part(self, node: _Node, at: int, depth: int) -> int:
        """One member or element. → where it ends"""
        name: Step = len(node.parts)
        value_at = at
        if isinstance(node.value, dict):
            key = self.value(at, depth + 1)
            colon = self.blank(key.end)
            if not isinstance(key.value, str) or self.text[colon : colon + 1] != ":":
                raise self.wrong(at, "the name of a member, in quotes and with a colon behind it, is missing")
            if key.value in node.numbers:
                raise self.wrong(at, f"{key.value!r:.60} is there twice")
            name, value_at = key.value, self.blank(colon + 1)
        inner = self.value(value_at, depth + 1)
        node.numbers[name] = len(node.parts)
        node.parts.append((name, at, inner))
        if isinstance(node.value, dict):
            node.value[name] = inner.value
        else:
            node.value.append(inner.value)
        return inner.end
