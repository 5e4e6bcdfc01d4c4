"""A Markdown file as discrete memories: one item, paragraph or block of code with its paragraph is one memory.

    headings      the title, as a path: "Payments › Decisions"; so does a line such as "Steps:" before a list
    nested items  part of the item they stand under
    kind          by a heading or a first word such as "Decisions" or "Warning:", else fact
    date          of the item, else of its headings, the front matter, the file's name, the file itself
    dropped       HTML comments, rules, and front matter but for its title, date and tags

No word of the rest is lost: a heading with nothing under it becomes a memory itself.
"""

import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import zip_longest
from pathlib import PurePath

from memorist.checks import LONGEST_LABEL
from memorist.files.blocks import Block, blocks, lines_of
from memorist.files.dates import date_before, date_in, date_of_name
from memorist.records import Draft
from memorist.text.visible import is_blank

STEP = " › "
LEAD_IN = 7  # a line such as "Steps:" before a list is a heading below all others
LONGEST_NAME = 100  # characters of a heading's end in which its kind is looked for
# The last word of a heading, or the first of a text before its colon. Kinds that soon fade are left out: a file that
# somebody keeps is meant to last.
KINDS = {
    "decision": "decision", "decisions": "decision", "decided": "decision",
    "preference": "preference", "preferences": "preference", "likes": "preference", "dislikes": "preference",
    "warning": "warning", "warnings": "warning", "gotcha": "warning", "gotchas": "warning",
    "pitfall": "warning", "pitfalls": "warning", "caveat": "warning", "caveats": "warning",
    "procedure": "procedure", "procedures": "procedure", "howto": "procedure", "howtos": "procedure",
    "runbook": "procedure", "runbooks": "procedure", "playbook": "procedure",
    "convention": "convention", "conventions": "convention", "rules": "convention",
    "architecture": "architecture",
    "pattern": "pattern", "patterns": "pattern",
    "correction": "correction", "corrections": "correction",
}  # fmt: skip
_HOW_TO = re.compile(r"how[ -]tos?\b", re.IGNORECASE)
_FIRST_WORD = re.compile(r"[\s*_]*([^\W\d_]+)[*_]*:")
_WORD = re.compile(r"[^\W_]+")
_ASIDE = re.compile(r"\([^()]*\)")
_BOX = re.compile(r"\[([ xX])\](?:\s+|$)")
_LEADS_IN = re.compile(r"[^\n]*:[*_]{0,3}|\*\*[^*\n]+\*\*|__[^_\n]+__")
_ENTRY = re.compile(r"([A-Za-z_][\w -]*):(?:[ \t]+(.*))?$")
_BESIDE_ENTRIES = re.compile(r"\s*$|\s*#|[ \t]+\S|- ")


@dataclass(frozen=True, slots=True)
class Found:
    """One memory found in a file, and where."""

    file: str
    line: int
    draft: Draft

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


def memories_in(text: str, name: str, modified: datetime) -> list[Found]:
    """The memories of a Markdown file of that name, in their order. Any text gives some or none."""
    lines = lines_of(text)
    front, length = _front_matter(lines)
    plain = Draft("", tags=front.tags, files=(name,), at=front.date or date_of_name(PurePath(name).stem) or modified)
    outline = _Outline(plain, [_Heading(0, front.title, 1)] if front.title else [])
    found = blocks(lines[length:], length + 1)
    for block, after in zip_longest(found, found[1:]):
        outline.take(block, after)
    return sorted((Found(name, line, draft) for line, draft in outline.end()), key=lambda each: each.line)


# ---------------------------------------------------------------- front matter


@dataclass(frozen=True, slots=True)
class _Front:
    title: str = ""
    date: datetime | None = None
    tags: tuple[str, ...] = ()


def _front_matter(lines: Sequence[str]) -> tuple[_Front, int]:
    """What it says, and how many lines it takes. Anything but plain entries between two rules is no front matter."""
    if not lines or lines[0].rstrip() != "---":
        return _Front(), 0
    entries: dict[str, list[str]] = {}
    last: list[str] = []
    for place, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            return _front(entries), place + 1
        entry = _ENTRY.match(line)
        if entry:
            last = entries.setdefault(entry[1].strip().lower(), [])
            last += [entry[2]] if entry[2] else []
        elif _BESIDE_ENTRIES.match(line):
            last += [line.strip().removeprefix("- ")]
        else:
            break
    return _Front(), 0


def _front(entries: dict[str, list[str]]) -> _Front:
    said = {name: " ".join(values).strip("\"' ") for name, values in entries.items()}
    tags = [word.strip("\"'#[] ") for value in entries.get("tags", ()) for word in value.split(",")]
    return _Front(said.get("title") or said.get("name", ""), date_in(said.get("date", "")), tuple(filter(None, tags)))


# ---------------------------------------------------------------- the outline


@dataclass(slots=True)
class _Heading:
    level: int
    text: str
    line: int
    used: bool = False


@dataclass(slots=True)
class _Outline:
    """Walks through the blocks and knows under which headings it stands."""

    plain: Draft
    path: list[_Heading]
    found: list[tuple[int, Draft]] = field(default_factory=list)

    def take(self, block: Block, after: Block | None) -> None:
        if block.sort == "heading":
            self._step_into(block.level, block)
        elif block.sort == "paragraph" and after and after.sort == "item" and _LEADS_IN.fullmatch(block.text):
            self._step_into(LEAD_IN, block)
        elif block.sort == "item":
            self._remember(block.line, block.text)
        else:
            self._step_out(LEAD_IN)
            self._remember(block.line, block.text)

    def end(self) -> list[tuple[int, Draft]]:
        self._step_out(0)
        return self.found

    def _step_into(self, level: int, block: Block) -> None:
        self._step_out(level)
        self.path.append(_Heading(level, block.text.strip("*_: \t"), block.line))

    def _step_out(self, level: int) -> None:
        """Leaves the headings of this level and below; one that stood over nothing is a memory itself."""
        while self.path and self.path[-1].level >= level:
            heading = self.path.pop()
            if not heading.used and not _is_date(heading.text):
                self._remember(heading.line, heading.text)

    def _remember(self, line: int, text: str) -> None:
        text = _box_read(text)
        if not text.strip(string.punctuation + string.whitespace):
            return
        for heading in self.path:
            heading.used = True
        steps = [heading.text for heading in self.path]
        dated = next((when for step in reversed(steps) if (when := date_in(step))), self.plain.at)
        own, text = date_before(text)
        draft = replace(self.plain, text=text, kind=_kind(text, steps), at=own or dated)
        self.found.append((line, _titled(draft, STEP.join(step for step in steps if not is_blank(step)))))


def _titled(draft: Draft, title: str) -> Draft:
    """A title that is too long for one stands before the text, so that nothing is cut."""
    if len(title) > LONGEST_LABEL:
        return replace(draft, text=f"{title}\n\n{draft.text}")
    return replace(draft, title=title or None)


def _is_date(text: str) -> bool:
    """Whether a heading is a date and nothing else: it says when, and nothing that could be remembered."""
    return bool(date_in(text)) and not date_before(f"{text}: x")[1].removesuffix("x")


def _box_read(text: str) -> str:
    box = _BOX.match(text)
    if not box:
        return text
    return ("To do: " if box[1] == " " else "Done: ") + text[box.end() :] if text[box.end() :].strip() else ""


def _kind(text: str, steps: Sequence[str]) -> str:
    first = _FIRST_WORD.match(text)
    own = KINDS.get(first[1].lower()) if first else None
    return own or next(_kinds_of(reversed(steps)), "fact")


def _kinds_of(headings: Iterator[str]) -> Iterator[str]:
    """The kinds that headings name, the nearest first."""
    for heading in headings:
        words = _WORD.findall(_ASIDE.sub("", heading[-LONGEST_NAME:]))
        kind = "procedure" if _HOW_TO.match(heading) else KINDS.get(words[-1].lower()) if words else None
        if kind:
            yield kind
