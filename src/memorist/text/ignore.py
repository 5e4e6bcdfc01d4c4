"""Which paths a file such as `.gitignore` names, interpreted as git does.

    *.log          any file or folder of that name, in this folder and below
    /build         only in this folder; so does any pattern with a slash inside
    cache/         only folders, with all that is in them
    docs/**/draft  in any folder below docs
    !keep.log      but not this one; the last line that fits decides

A pattern may come from a stranger's repository, so matching takes time that grows only linearly with path and pattern: a star
takes the first place where what follows it fits, and never looks for another. That loses no match, because the star after it
can take whatever is left.
"""

import re
from collections.abc import Iterable, Iterator

from memorist.lazy import dataclass
from memorist.text.patterns import regex

LONGEST_PATTERN = 1000  # characters; a longer line matches nothing
MOST_PATTERNS = 10_000
_CLASSES = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "digit": "0-9", "lower": "a-z", "upper": "A-Z", "space": r"\s", "xdigit": "0-9a-fA-F",
}  # fmt: skip
_NAMED = regex(r"\[:([a-z]+):\]")
_NOTHING = "(?!)"
_INSIDE = "[^/]"
_END = r"(?=/|\Z)"  # of a segment


@dataclass(frozen=True, slots=True)
class Ignoring:
    """One line of such a file."""

    fits: re.Pattern[str]
    folders: bool  # only folders
    keeps: bool  # it begins with an exclamation mark


Rules = tuple[Ignoring, ...]


def rules_of(text: str) -> Rules:
    """The rules of a file, in its order.

    >>> ignores(rules_of("*.log\\n!keep.log"), "a/b.log"), ignores(rules_of("*.log\\n!keep.log"), "keep.log")
    (True, False)
    """
    return tuple(_rules(text.removeprefix("\ufeff").splitlines()[:MOST_PATTERNS]))


def ignores(rules: Rules, path: str, folder: bool = False) -> bool | None:
    """Whether the rules name this path below their folder, written with slashes; None if they say nothing about it. That
    everything in an ignored folder is ignored too is left to the caller."""
    for rule in reversed(rules):
        if (folder or not rule.folders) and rule.fits.match(path):
            return not rule.keeps
    return None


def _rules(lines: Iterable[str]) -> Iterator[Ignoring]:
    for line in lines:
        pattern = _without_blanks(line)
        keeps = pattern.startswith("!")
        pattern = pattern[keeps:]
        if not pattern.strip("/") or (pattern.startswith("#") and not keeps) or len(pattern) > LONGEST_PATTERN:
            continue
        folders = pattern.endswith("/")
        yield Ignoring(_compiled(pattern.removesuffix("/")), folders, keeps)


def _without_blanks(line: str) -> str:
    """Removes blanks at the end, unless preceded by a backslash."""
    bare = line.rstrip(" \t")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return bare + line[len(bare) : len(bare) + 1] if backslashes % 2 else bare


def _compiled(pattern: str) -> re.Pattern[str]:
    """The pattern as a regular expression for a whole path. One that git could not read matches nothing."""
    anchored = "/" in pattern
    parts = _split(pattern.removeprefix("/"))
    try:
        return re.compile(_path(parts if anchored else ["**", *parts]) + r"\Z")
    except (re.error, OverflowError):
        return re.compile(_NOTHING)


def _split(pattern: str) -> list[str]:
    """The segments of a pattern; a slash inside a character class does not separate them, and matches nothing."""
    parts, start, place = list[str](), 0, 0
    while place < len(pattern):
        char = pattern[place]
        if char == "/" or pattern.startswith("\\/", place):
            parts.append(pattern[start:place])
            start = place = place + (1 if char == "/" else 2)
        elif char == "[":
            place = _set(pattern, place + 1)[1]
        else:
            place += 2 if char == "\\" else 1
    return [*parts, pattern[start:]]


def _path(parts: list[str]) -> str:
    """Segments, with blocks of them between any number of folders; each block takes the first place where it matches."""
    blocks: list[list[str]] = [[]]
    for part in parts:
        blocks.append([]) if len(part) > 1 and not part.strip("*") else blocks[-1].append(_segment(part))
    first, *others = blocks
    if not others:
        return "/".join(first)
    *middle, last = others
    said = "".join(f"{each}/" for each in first)
    said += "".join(f"(?>(?:[^/]+/)*?{'/'.join(block)}/)" for block in middle if block)
    return f"{said}(?:[^/]+/)*{'/'.join(last)}" if last else f"{said}[^/].*"


def _segment(glob: str) -> str:
    """One name with wildcards. Each of the pieces between stars takes the first place where it matches, the last one the end."""
    first, *others = _pieces(glob)
    if not others:
        return first + _END
    *middle, last = others
    said = first + "".join(f"(?>{_INSIDE}*?{piece})" for piece in middle if piece)
    return f"(?>{said}{_INSIDE}*?{last}{_END})"


def _pieces(glob: str) -> list[str]:
    """The pieces between the stars, each as a regular expression of fixed length."""
    pieces, place = [""], 0
    while place < len(glob):
        char = glob[place]
        place += 1
        if char == "*":
            pieces.append("")
        elif char == "?":
            pieces[-1] += _INSIDE
        elif char == "[":
            said, place = _set(glob, place)
            pieces[-1] += said
        else:
            if char == "\\":
                if place == len(glob):
                    return [_NOTHING]
                char, place = glob[place], place + 1
            pieces[-1] += re.escape(char)
    return pieces


def _set(glob: str, place: int) -> tuple[str, int]:
    """The character class that begins here, and where it ends; one without an end matches nothing."""
    negated = glob[place : place + 1] in ("!", "^")
    start = at = place + negated
    said = ""
    while at < len(glob) and (glob[at] != "]" or at == start):
        more, at = _member(glob, at, said)
        said += more
    if at >= len(glob) or not said:
        return _NOTHING, len(glob)
    return f"(?!/)[{'^' * negated}{said}]", at + 1


def _member(glob: str, at: int, said: str) -> tuple[str, int]:
    """What stands here in a class of characters, after what was said of it, and where the next begins."""
    named = _NAMED.match(glob, at)
    if named:
        return _CLASSES.get(named[1], ""), named.end()
    if glob[at] == "\\" and at + 1 < len(glob):
        return re.escape(glob[at + 1]), at + 2
    ranges = glob[at] == "-" and said and said[-1] != "-"
    return "-" if ranges else re.escape(glob[at]), at + 1
