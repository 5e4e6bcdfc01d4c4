"""What people write around a statement to say what it is: a day and a category before it, tags behind it.

    2026-05-01: [decision] Use Postgres #db #storage (since May)

The statement is "Use Postgres (since May)", of kind decision, with the tags db and storage. A category that names no kind is a
part of the statement, and so is a tag that its sentence needs: "Ask in #general", "The #frontend team decides".
"""

import re
from datetime import datetime
from itertools import takewhile
from typing import NamedTuple

from memorist.files import signs
from memorist.files.markdown import date_before

KIND_OF_CATEGORY = ("decision", "preference", "warning", "procedure", "convention", "architecture", "pattern", "fact")
MOST_TAGS, LONGEST_TAG = 20, 100  # where there is more, it stays in the text, and nothing is lost
_CATEGORY = re.compile(r"\[(\w[\w -]{0,40})\][ \t]+(?=\S)")
_TAG = re.compile(r"(?<![\w#/])#([^\W\d_][\w/-]*)")
_LEADS_ON = (*":=,;&+/(<>[{-–—→\"'",)  # at the end of what is before a tag that belongs to the sentence
_LEADING = frozenset(  # words that lead on to a name: English, German, French, Spanish
    """a about an and are as at by channel for from in into is my of on or our see the to via with your
    auf bei das dem den der die im ist mit und von zu zum zur siehe à au aux avec dans de des du en et la le les sur un une
    al con del e el los o para por y""".split()
)


class Labelled(NamedTuple):
    """A statement and what is written around it, as it is written."""

    text: str  # the statement
    day: str = ""  # "2026-05-01: "
    category: str = ""  # "[decision] ", and a day that stands behind it
    tagged: str = ""  # the statement with its tags, where they are written behind it
    at: datetime | None = None
    kind: str | None = None  # that the category names
    tags: tuple[str, ...] = ()  # all of them
    behind: tuple[str, ...] = ()  # those that are written behind the statement


def labelled(text: str) -> Labelled:
    """
    >>> labelled("[decision] Use Postgres #db")[:4]
    ('Use Postgres', '', '[decision] ', 'Use Postgres #db')
    """
    at, rest = date_before(text)
    day = text[: len(text) - len(rest)]
    found = _CATEGORY.match(rest)
    kind = found[1].casefold() if found and found[1].casefold() in KIND_OF_CATEGORY else None
    category = ""
    if found and kind:
        own, bare = date_before(rest[found.end() :])
        at, category, rest = at or own, rest[: len(rest) - len(bare)], bare
    tags = tuple(dict.fromkeys(tag[:LONGEST_TAG] for tag in _TAG.findall(rest)))
    said, behind = _without_tags(rest) if 0 < len(tags) <= MOST_TAGS else (rest, ())
    return Labelled(said, day, category, rest if behind else "", at, kind, tags[:MOST_TAGS], behind)


def _without_tags(text: str) -> tuple[str, tuple[str, ...]]:
    """The statement without the tags at the end of its first paragraph, and those."""
    lines = text.split("\n")
    last = _last_of_head(lines)
    if last is None:
        return text, ()
    line, aside = _aside(lines[last].rstrip())
    before, tags = _parted(line)
    if not (before or last) or _leads_on(before) or max(map(len, tags), default=0) > LONGEST_TAG:
        return text, ()
    lines[last : last + 1] = filter(None, [f"{before} {aside}".strip()])
    return ("\n".join(lines), tuple(tag[1:] for tag in tags)) if tags else (text, ())


def _parted(line: str) -> tuple[str, list[str]]:
    """A line without the tags at its end, and those."""
    count = sum(1 for _ in takewhile(_TAG.fullmatch, reversed(line.split())))
    parts = line.rsplit(None, count)
    return (parts[0], parts[1:]) if len(parts) > count else ("", parts)


def _last_of_head(lines: list[str]) -> int | None:
    """The last line of the running text that a statement begins with: what is nested below it, and code, come later. None where
    it begins with code."""
    if signs.FENCE.match(lines[0]):
        return None
    for place, line in enumerate(lines[1:], 1):
        if not line.strip() or signs.ITEM.match(line) or signs.FENCE.match(line):
            return place - 1
    return len(lines) - 1


def _aside(line: str) -> tuple[str, str]:
    """A line, and what stands in brackets at its end."""
    start = line.rfind("(") if line.endswith(")") else -1
    if start <= 0 or ")" in line[start:-1] or not line[start - 1].isspace():
        return line, ""
    return line[:start].rstrip(), line[start:]


def _leads_on(before: str) -> bool:
    """Whether a sentence goes on with what follows."""
    return before.endswith(_LEADS_ON) or before.rpartition(" ")[2].casefold() in _LEADING


def with_tags(text: str, tags: tuple[str, ...]) -> str:
    """A statement with tags behind its first paragraph."""
    lines = text.split("\n")
    last = _last_of_head(lines)
    if not tags or last is None:
        return text
    lines[last] = " ".join((lines[last].rstrip(), *(f"#{tag}" for tag in tags)))
    return "\n".join(lines)
