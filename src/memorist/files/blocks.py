"""Markdown as blocks: headings, list items with all that is nested in them, paragraphs, and code beside what it explains.

Not a Markdown parser: it must find where one thought ends and the next begins, and must not lose a word, whatever a
person wrote. What it does not understand is a paragraph. Every pass is linear in the length of the file.
"""

import re
import textwrap
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

Sort = Literal["heading", "item", "paragraph", "rule"]

_BREAK = re.compile(r"\r\n|\n|\r")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_ITEM = re.compile(r"([ \t]*)([-*+•‣◦▪]|(\d{1,3})[.)])(?:[ \t]+(.*))?$")
_FENCE = re.compile(r"([ \t]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?)(`{3,}(?=[^`]*$)|~{3,})")
_FENCE_END = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*$")
NESTED = 2  # columns deeper than the item above: less is a slip of the hand


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    text: str
    code: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of a file: a heading with its level, or the text of an item or paragraph."""

    sort: Sort
    line: int
    text: str = ""
    level: int = 0


def lines_of(text: str) -> list[str]:
    return _BREAK.split(text.removeprefix("\ufeff"))


def blocks(lines: list[str], first: int = 1) -> list[Block]:
    """The blocks of these lines, the first of which has that number."""
    reader = _Reader()
    for line in _without_comments(lines, first):
        reader.take(line)
    return reader.end()


# ---------------------------------------------------------------- comments and code


def _without_comments(lines: list[str], first: int) -> Iterator[Line]:
    """The lines without HTML comments, each marked where it is code. What is not closed is plain text."""
    ends, place, comments_end = _FenceEnds(lines), 0, True
    lines = list(lines)
    while place < len(lines):
        code_end = ends.after(place)
        if code_end is not None:
            marked = _FENCE.match(lines[place])
            behind_marker = bool(marked and marked[1].strip())  # then the line is an item, and its code follows
            yield Line(first + place, lines[place], code=not behind_marker)
            for inner in range(place + 1, code_end + 1):
                yield Line(first + inner, lines[inner], code=True)
            place = code_end + 1
            continue
        kept, open_at = _cut(lines[place])
        close = _closing(lines, place) if open_at is not None and comments_end else None
        if open_at is not None and close is not None:
            yield Line(first + place, kept[:open_at])
            lines[close] = lines[close].partition("-->")[2]
            place = close
        else:
            comments_end = comments_end and open_at is None
            yield Line(first + place, kept)
            place += 1


def _cut(line: str) -> tuple[str, int | None]:
    """The line without its whole comments, and where one begins that is not closed on it."""
    kept, start = line, line.find("<!--")
    while start >= 0:
        if kept.count("`", 0, start) % 2:  # a comment that is written about, not written
            start = kept.find("<!--", start + 4)
            continue
        end = kept.find("-->", start + 4)
        if end < 0:
            return kept, start
        kept = kept[:start] + " " + kept[end + 3 :]
        start = kept.find("<!--", start)
    return kept, None


def _closing(lines: list[str], place: int) -> int | None:
    return next((later for later in range(place + 1, len(lines)) if "-->" in lines[later]), None)


class _FenceEnds:
    """Where a fence that opens on a line is closed. Whether it is closed at all is known without looking for it."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._ends: dict[str, list[tuple[int, int]]] = {"`": [], "~": []}  # (line, length), in order
        for place, line in enumerate(lines):
            if end := _FENCE_END.match(line):
                self._ends[end[1][0]].append((place, len(end[1])))
        self._longest = {sign: _longest_from(ends) for sign, ends in self._ends.items()}

    def after(self, place: int) -> int | None:
        opened = _FENCE.match(self._lines[place])
        if not opened:
            return None
        sign, length = opened[2][0], len(opened[2])
        ends, longest = self._ends[sign], self._longest[sign]
        start = bisect_left(ends, (place + 1, 0))
        if start == len(ends) or longest[start] < length:
            return None
        return next(ends[later][0] for later in range(start, len(ends)) if ends[later][1] >= length)


def _longest_from(ends: list[tuple[int, int]]) -> list[int]:
    """For each of the ends, the longest among it and those after it."""
    return list(accumulate((length for _, length in reversed(ends)), max))[::-1]


# ---------------------------------------------------------------- blocks


@dataclass(slots=True)
class _Open:
    """The block that is being read: its first line without the marker, and the lines after it as they are."""

    sort: Sort
    line: int
    indent: int
    first: str
    rest: list[str] = field(default_factory=list)
    blank: bool = False  # a blank line came last

    def add(self, text: str) -> None:
        self.rest += ["", text] if self.blank else [text]
        self.blank = False

    def text(self) -> str:
        rest = textwrap.dedent("\n".join(self.rest)) if self.rest else ""
        return f"{self.first.strip()}\n{rest}".strip("\n").rstrip()


class _Reader:
    def __init__(self) -> None:
        self._done: list[Block] = []
        self._open: _Open | None = None

    def end(self) -> list[Block]:
        self._close()
        return self._done

    def take(self, line: Line) -> None:
        text = line.text if line.code else line.text.rstrip()
        if line.code:
            self._continue_or_start(line.number, text)
        elif not text:
            if self._open:
                self._open.blank = True
        elif self._open and self._open.sort == "item" and _width(text) - self._open.indent >= NESTED:
            self._nested(self._open, text)
        elif not (self._heading(line.number, text) or self._rule(line.number, text) or self._item(line.number, text)):
            self._plain(line.number, text)

    def _nested(self, item: _Open, text: str) -> None:
        """Whatever stands deeper than an item belongs to it."""
        item.blank = item.blank and not _ITEM.match(text)  # a list with air between its items is still one list
        item.add(text)

    def _heading(self, number: int, text: str) -> bool:
        found = _HEADING.match(text)
        if found:
            self._close()
            self._done.append(Block("heading", number, _unclosed(found[2] or ""), len(found[1])))
            return True
        above = self._open
        under = _UNDERLINE.match(text)
        if not under or not above or above.sort != "paragraph" or above.rest or above.blank:
            return False
        self._open = None
        self._done.append(Block("heading", above.line, above.first.strip(), 1 if under[1][0] == "=" else 2))
        return True

    def _rule(self, number: int, text: str) -> bool:
        if not _RULE.match(text):
            return False
        self._close()
        self._done.append(Block("rule", number))
        return True

    def _item(self, number: int, text: str) -> bool:
        found, above = _ITEM.match(text), self._open
        if not found:
            return False
        wrapped = above and above.sort == "paragraph" and not above.blank and found[3] not in (None, "1")
        if wrapped:  # "… in\n2024. Then …"
            return False
        self._close()
        self._open = _Open("item", number, _width(found[1]), found[4] or "")
        return True

    def _plain(self, number: int, text: str) -> None:
        if self._open and self._open.blank:
            self._close()
        self._continue_or_start(number, text)

    def _continue_or_start(self, number: int, text: str) -> None:
        if self._open:
            self._open.add(text)
        else:
            self._open = _Open("paragraph", number, 0, text)

    def _close(self) -> None:
        if self._open:
            self._done.append(Block(self._open.sort, self._open.line, self._open.text()))
            self._open = None


def _unclosed(heading: str) -> str:
    """A heading without the signs that may close it; those of "C#" belong to the word."""
    bare = heading.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else heading


def _width(text: str) -> int:
    """Columns of blanks at the beginning."""
    blanks = text[: len(text) - len(text.lstrip(" \t"))]
    return len(blanks.expandtabs(4))
