"""The signs of single Markdown lines: headings, items, rules and code, for every module that reads Markdown line by
line."""

import re
from bisect import bisect_left
from itertools import accumulate

BREAK = re.compile(r"\r\n|\n|\r")
HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
ITEM = re.compile(r"([ \t]*)([-*+•‣◦▪]|(\d{1,3})[.)])(?:[ \t]+(.*))?$")
FENCE = re.compile(r"([ \t]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?)(`{3,}(?=[^`]*$)|~{3,})")
_FENCE_END = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*$")
NESTED = 2  # columns deeper than the item above: less is a typing slip


def title_of(heading: re.Match[str]) -> str:
    """The text of a heading, without its closing number signs; the one in "C#" belongs to the word."""
    title = (heading[2] or "").strip(" \t")
    bare = title.rstrip("#")
    return bare.rstrip(" \t") if not bare or bare[-1] in " \t" else title


def level_of(underline: re.Match[str]) -> int:
    return 1 if underline[1][0] == "=" else 2


def width(text: str) -> int:
    """Columns of blanks at the beginning."""
    blanks = text[: len(text) - len(text.lstrip(" \t"))]
    return len(blanks.expandtabs(4))


class FenceEnds:
    """Where a fence that opens on a line is closed; whether it is closed at all is known in advance."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._ends: dict[str, list[tuple[int, int]]] = {"`": [], "~": []}  # (line, length), in order
        for place, line in enumerate(lines):
            if end := _FENCE_END.match(line):
                self._ends[end[1][0]].append((place, len(end[1])))
        self._longest = {  # for each end, the longest fence from there on
            sign: list(accumulate((length for _, length in reversed(ends)), max))[::-1]
            for sign, ends in self._ends.items()
        }

    def after(self, place: int) -> int | None:
        opened = FENCE.match(self._lines[place])
        if not opened:
            return None
        sign, length = opened[2][0], len(opened[2])
        ends, longest = self._ends[sign], self._longest[sign]
        start = bisect_left(ends, (place + 1, 0))
        if start == len(ends) or longest[start] < length:
            return None
        return next(ends[later][0] for later in range(start, len(ends)) if ends[later][1] >= length)
