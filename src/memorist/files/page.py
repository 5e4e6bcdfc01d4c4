"""A Markdown page that people and programs write together: every line is kept, and each memory has a place.

A page is its lines, each with its original line end, so that `"".join` gives exactly the text that was read. Blocks are
ranges of lines: front matter, headings, list items with everything nested in them, paragraphs, code, comments. Items
and paragraphs are entries, which may be memories; everything else belongs to the writer and stays. A line that a
program wrote carries the id of its memory in a comment that no reader of the page sees:

    - 2026-05-01: Staging runs Postgres 16 <!-- m:01jqz0d6v3n8… -->

Changes are collected as replacements of line ranges and made together, from the end of the page, so that the ranges
stay valid. Every pass is linear in the length of the page.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from memorist.files import signs
from memorist.files.labels import Labelled, labelled, with_tags
from memorist.files.markdown import MARKS, date_before, kind_of
from memorist.kinds import OTHER_SECTION, SECTIONS
from memorist.lazy import dataclass
from memorist.records import Draft, Record
from memorist.text.visible import visible

Sort = Literal["front", "heading", "item", "paragraph", "code", "comment", "rule"]

MARK = re.compile(r"[ \t]*<!-- m:([0-9a-z]{1,40}) -->")
_FRONT = re.compile(r"\s*$|\s*#|[ \t]+\S|- |[\w][\w -]*:(?:\s|$)")
_RELATION = re.compile(r"[\w][\w -]{0,60} \[\[[^\[\]]+\]\]\s*")  # of such a note: "- part_of [[Search]]"
_CONFLICT = re.compile(r"<{7}(?: |$)")
_CONFLICT_END = re.compile(r">{7}(?: |$)")
LONGEST_FRONT = 200  # lines
DATED = ("decision", "summary")  # kinds whose lines begin with the day
# The sections of a new page: those of the founding document, then those that its program began with.
STARTING = (
    "Key Decisions", "User Preferences", "Project Context", "Session Summaries",
    "Working Memory", "Current State", "Key Context", "Pending Actions", "Important Notes",
)  # fmt: skip
KIND_OF_SECTION = {title.casefold(): kind for kind, title in SECTIONS.items()}


class Line(NamedTuple):
    text: str
    end: str  # "" only at the end of the page


@dataclass(frozen=True, slots=True)
class Stretch:
    """The lines from `start` up to, but not including, `stop`."""

    sort: Sort
    start: int
    stop: int
    title: str = ""  # of a heading
    level: int = 0


@dataclass(frozen=True, slots=True)
class Passage:
    """An item or a paragraph: its text, the heading above it, and the memory that its mark names."""

    block: Stretch
    lines: tuple[str, ...]  # without marks
    text: str
    section: str
    mark: str | None = None

    @property
    def labelled(self) -> Labelled:
        return labelled(self.text)

    def draft(self, scope: str) -> Draft:
        """What a person wrote, as a memory. On a page that links notes, "- part_of [[Search]]" is not a statement."""
        told = self.labelled
        kind = told.kind or KIND_OF_SECTION.get(self.section.casefold()) or kind_of(told.text, [self.section])
        data = {"section": self.section} if self.section and section_of(kind) != self.section else {}
        return Draft(told.text, kind, scope, tags=told.tags, data=data, at=told.at)

    @property
    def sign(self) -> str:
        """The beginning of the item, for the one that replaces it."""
        found = signs.ITEM.match(self.lines[0]) if self.block.sort == "item" else None
        return f"{found[1]}{found[2]} " if found else "- "

    @property
    def says_nothing(self) -> bool:
        """Whether it is only a relation between notes, or only punctuation."""
        return _RELATION.fullmatch(self.text) is not None or not any(map(str.isalnum, self.text))


@dataclass(frozen=True, slots=True)
class Sheet:
    lines: Sequence[Line]
    blocks: Sequence[Stretch] = field(repr=False)

    @property
    def text(self) -> str:
        return "".join(line.text + line.end for line in self.lines)

    @property
    def newline(self) -> str:
        """The line end of the page: that of its first line."""
        return next((line.end for line in self.lines if line.end), "\n")

    def entries(self) -> Iterator[Passage]:
        section = ""
        for block in self.blocks:
            if block.sort == "heading":
                section = block.title
            elif block.sort in ("item", "paragraph"):
                yield self._entry(block, section)

    def _entry(self, block: Stretch, section: str) -> Passage:
        raw = [line.text.removeprefix("\ufeff") for line in self.lines[block.start : block.stop]]
        marks = [found[1] for line in raw if "<!--" in line for found in MARK.finditer(line)]
        lines = tuple(MARK.sub("", line).rstrip() if "<!--" in line else line.rstrip() for line in raw)
        return Passage(block, lines, said(lines, block.sort), section, f"m{marks[0]}" if marks else None)

    def conflict_markers(self) -> int | None:
        """The line at which a merge conflict of a version control system begins."""
        begun = None
        for number, line in enumerate(self.lines, 1):
            if _CONFLICT.match(line.text):
                begun = number
            elif begun and _CONFLICT_END.match(line.text):
                return begun
        return None

    def heading_named(self, title: str) -> int | None:
        """The index, among the blocks, of the first section of that name, ignoring case."""
        wanted = title.casefold()
        found = (place for place, block in enumerate(self.blocks) if block.sort == "heading")
        return next((place for place in found if self.blocks[place].title.casefold() == wanted), None)

    @property
    def sections(self) -> list[Stretch]:
        return [block for block in self.blocks if block.sort == "heading"]

    def sizes(self) -> dict[str, int]:
        """The number of characters of each section; sections of one name count together."""
        sizes, section = {"": 0}, ""
        starts = {block.start: block.title for block in self.sections}
        for number, line in enumerate(self.lines):
            section = starts.get(number, section)
            sizes[section] = sizes.get(section, 0) + len(line.text) + len(line.end)
        return sizes


def parse(text: str) -> Sheet:
    """The page of any text. `parse(text).text == text`, whatever it is."""
    lines, at = [], 0
    for found in signs.BREAK.finditer(text):
        lines.append(Line(text[at : found.start()], found[0]))
        at = found.end()
    if at < len(text):
        lines.append(Line(text[at:], ""))
    return Sheet(lines, _Reader([line.text for line in lines]).blocks())


# ---------------------------------------------------------------- reading


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        if lines and lines[0].startswith("\ufeff"):
            lines[0] = lines[0][1:]
        self.lines = lines
        self.fences = signs.FenceEnds(lines)
        self.closes = [number for number, line in enumerate(lines) if "-->" in line]

    def blocks(self) -> list[Stretch]:
        found, at = [], self._front()
        if at:
            found.append(Stretch("front", 0, at))
        while at < len(self.lines):
            if not self.lines[at].strip():
                at += 1
                continue
            found.append(self._block(at))
            at = found[-1].stop
        return found

    def _front(self) -> int:
        """The number of lines of properties at the beginning of the page."""
        if not self.lines or self.lines[0].rstrip() != "---":
            return 0
        for number, line in enumerate(self.lines[1:LONGEST_FRONT], 1):
            if line.rstrip() in ("---", "..."):
                return number + 1
            if not _FRONT.match(line):
                return 0
        return 0

    def _block(self, at: int) -> Stretch:
        line = self.lines[at]
        heading = signs.HEADING.match(line)
        if heading:
            return Stretch("heading", at, at + 1, signs.title_of(heading).strip(MARKS), len(heading[1]))
        if signs.RULE.match(line):
            return Stretch("rule", at, at + 1)
        comment = self._comment(at)
        if comment:
            return Stretch("comment", at, comment)
        code = self.fences.after(at)
        if code is not None:
            return Stretch("code", at, code + 1)
        item = signs.ITEM.match(line)
        return Stretch("item", at, self._item_end(at, signs.width(item[1]))) if item else self._paragraph(at)

    def _comment(self, at: int) -> int:
        """Where a comment that begins on this line, and is not a mark of ours, ends; 0 if there is none."""
        line = self.lines[at].lstrip(" ")
        if not line.startswith("<!--") or MARK.match(line):
            return 0
        place = bisect_left(self.closes, at)
        end = self.closes[place] if place < len(self.closes) else None
        return 0 if end is None or self.lines[end].partition("-->")[2].strip() else end + 1

    def _item_end(self, at: int, indent: int) -> int:
        """The line after everything nested in an item, including lines that continue it without a blank line between."""
        at, blank = self._past(at), False
        end = at
        while at < len(self.lines):
            line = self.lines[at]
            if not line.strip():
                blank, at = True, at + 1
                continue
            if signs.width(line) - indent < signs.NESTED and (blank or self._begins(at)):
                break
            at, blank = self._past(at), False
            end = at
        return end

    def _paragraph(self, at: int) -> Stretch:
        start, at = at, self._past(at)
        under = signs.UNDERLINE.match(self.lines[at]) if at == start + 1 and at < len(self.lines) else None
        if under:
            return Stretch("heading", start, at + 1, self.lines[start].strip(MARKS), signs.level_of(under))
        while at < len(self.lines) and self.lines[at].strip() and not self._begins(at):
            at = self._past(at)
        return Stretch("paragraph", start, at)

    def _past(self, at: int) -> int:
        """The line after this one, or after the code that begins here."""
        code = self.fences.after(at)
        return at + 1 if code is None else code + 1

    def _begins(self, at: int) -> bool:
        """Whether something other than running text begins on this line."""
        line = self.lines[at]
        begun = signs.HEADING.match(line) or signs.RULE.match(line) or signs.ITEM.match(line) or self._comment(at)
        return bool(begun) or self.fences.after(at) is not None


def said(lines: Sequence[str], sort: Sort) -> str:
    """The text of an entry's lines, without the item sign and the indentation that keeps its lines below it."""
    if sort == "paragraph":
        return _unescaped("\n".join(lines).strip("\n"))
    sign = signs.ITEM.match(lines[0])
    first = (sign[4] or "") if sign else lines[0]
    inner = signs.NESTED + (signs.width(sign[1]) if sign else 0)
    rest = [_outdented(line, inner) for line in lines[1:]]
    return _unescaped("\n".join([first.strip(), *rest]).strip("\n").rstrip())


def _outdented(line: str, columns: int) -> str:
    blanks = len(line) - len(line.lstrip(" "))
    return line[1:] if line.startswith("\t") else line[min(blanks, columns) :]


# ---------------------------------------------------------------- writing


def section_of(kind: str) -> str:
    return SECTIONS.get(kind, OTHER_SECTION)


def section_for(record: Record) -> str:
    """The section that the memory names, or that of its kind."""
    named = record.data.get("section")
    return " ".join(named.split()) if isinstance(named, str) and named.strip() else section_of(record.kind)


def item_of(record: Record, like: Passage | None = None) -> list[str]:
    """The lines of a memory: an item, with the rest of its text below the first line. `like` is what stood there
    before: its sign, category and tags stay, if they still describe the memory."""
    sign, (before, text) = like.sign if like else "- ", _with_labels(record, like)
    first, *rest = _closed(text.split("\n"))
    mark = f"<!-- m:{record.id[1:]} -->"
    if first != first.lstrip() or signs.FENCE.match(first) or not first:
        first, rest = "", [first, *rest]
    head, inner = f"{sign}{before}{first.rstrip()}".rstrip(), " " * (signs.NESTED + signs.width(sign))
    return [f"{head} {mark}", *(f"{inner}{line}".rstrip() for line in rest)]


def _with_labels(record: Record, like: Passage | None) -> tuple[str, str]:
    """The labels before the text of a memory, and the text: the day, or the labels of what stood there before, if they
    are read back as such."""
    text, there = _escaped(visible(record.text)), like.labelled if like else Labelled("")
    if there.category or there.behind:
        own = labelled(text)  # a label that is already in the memory's own text is not written twice
        stays = there.kind == record.kind and not (own.day or own.category)
        before = there.day + there.category if stays else _day(record)
        tagged = text if own.behind else with_tags(text, tuple(filter(record.tags.__contains__, there.behind)))
        if labelled(before + tagged).text == own.text:
            return before, tagged
    return _day(record), text


def _day(record: Record) -> str:
    return f"{record.times.at.date().isoformat()}: " if record.kind in DATED else ""


def without_marks(lines: Iterable[str]) -> list[str]:
    return [MARK.sub("", line).rstrip() for line in lines]


def _closed(lines: list[str]) -> list[str]:
    """Closes an open code fence in a text, so that the lines below it do not become code."""
    ends, at = signs.FenceEnds(lines), 0
    while at < len(lines):
        end, opened = ends.after(at), signs.FENCE.match(lines[at])
        if opened and end is None:
            return [*lines, opened[2]]
        at = at + 1 if end is None else end + 1
    return lines


def said_in(passage: Passage, record: Record) -> str:
    """The text of an entry's memory: without the labels around it, unless those are part of the memory's own text."""
    there, own = passage.labelled, labelled(record.text)
    before = (there.day if own.day else "") + (there.category if own.category else "")
    return before + (there.tagged if there.tagged and own.behind else there.text)


def labels_beside(passage: Passage, record: Record) -> dict[str, Any]:
    """The labels of an entry that differ from its memory: another kind, further tags. A missing tag means nothing,
    because programs write none."""
    there, own = passage.labelled, labelled(record.text)
    kind = there.kind if not own.category and there.kind != record.kind else None
    more = [] if own.behind else [tag for tag in there.behind if tag not in record.tags]
    return ({"kind": kind} if kind else {}) | ({"tags": [*record.tags, *more]} if more else {})


def take_out(added: list[str], lines: Sequence[str]) -> None:
    for at in range(len(added)):
        if added[at : at + len(lines)] == list(lines):
            del added[at : at + len(lines)]
            return


def says_the_same(passage: Passage, record: Record) -> bool:
    lines = without_marks(item_of(record))
    if list(passage.lines) == lines:
        return True
    text = said(lines, "item")
    told = date_before(text)[1] if record.kind in DATED else text
    seen = (said_in(passage, record), passage.labelled.text, passage.text)
    return (told in seen or record.text in seen) and not labels_beside(passage, record)


def _escaped(text: str) -> str:
    """Escapes comment openings in a text, which could hide the rest of the page or name another memory."""
    return re.sub(r"\r\n?", "\n", text).replace("<!--", "&lt;!--")


def _unescaped(text: str) -> str:
    return text.replace("&lt;!--", "<!--")


def new_page(title: str, agent: str, now: datetime) -> str:
    front = ["---", "type: agent-memory", f"agent: {agent}", f"updated: {_time(now)}", "version: 0", "---", ""]
    heads = [line for section in STARTING for line in (f"## {section}", "")]
    return "\n".join([*front, f"# {title}", "", *heads])


@dataclass(slots=True)
class Edits:
    """Changes to a page, made all at once."""

    page: Sheet
    replaced: dict[tuple[int, int], list[str]] = field(default_factory=dict)  # line range → the lines instead
    added: dict[str, list[str]] = field(default_factory=dict)  # section → lines at its end

    def put(self, block: Stretch, lines: Sequence[str]) -> None:
        self.replaced[block.start, block.stop] = list(lines)

    def remove(self, block: Stretch) -> None:
        self.replaced[block.start, block.stop] = []

    def add(self, section: str, lines: Iterable[str]) -> None:
        self.added.setdefault(section, []).extend(lines)

    def __bool__(self) -> bool:
        return bool(self.replaced or self.added)

    def done(self, now: datetime, most_sections: int) -> str:
        """The text of the page with these changes, and with its version increased."""
        page, after = self.page, list[str]()
        pieces = dict(self.replaced) | _stamped(page, now)
        for section, some in self.added.items():
            place = page.heading_named(section)
            if place is None and len(page.sections) >= most_sections:
                place = page.blocks.index(page.sections[-1])
            if place is None:
                after += ["", f"## {section}", "", *some]
            else:
                at, more = _at_the_end_of(page, place, some)
                pieces[at, at] = [*pieces.get((at, at), []), *more]
        return self.text(pieces, after)

    def text(self, pieces: Mapping[tuple[int, int], Sequence[str]] | None = None, after: Sequence[str] = ()) -> str:
        """The text with these pieces in place of its own, and with this at the end."""
        new, out = self.page.newline, [f"{line.text}{line.end}" for line in self.page.lines]
        for (start, stop), instead in sorted((self.replaced if pieces is None else pieces).items(), reverse=True):
            out[start:stop] = [f"{line}{new}" for line in instead]
            if instead and start and not out[start - 1].endswith(("\n", "\r")):
                out[start - 1] += new
        return _joined(out, after, new)


def _joined(out: list[str], after: Sequence[str], new: str) -> str:
    if after:
        if out and not out[-1].endswith(("\n", "\r")):
            out[-1] += new
        if not out or not out[-1].strip():
            after = after[1:]
    return "".join([*out, *(f"{line}{new}" for line in after)])


def _at_the_end_of(page: Sheet, place: int, some: Sequence[str]) -> tuple[int, list[str]]:
    """Where lines are added to the section of this heading: after the last block before the next heading."""
    last = place
    while last + 1 < len(page.blocks) and page.blocks[last + 1].sort != "heading":
        last += 1
    at = page.blocks[last].stop
    before = [] if page.blocks[last].sort == "item" else [""]
    behind = [""] if at < len(page.lines) and page.lines[at].text.strip() else []
    return at, [*before, *some, *behind]


def _stamped(page: Sheet, now: datetime) -> dict[tuple[int, int], list[str]]:
    """Updates the properties `updated` and `version`, if the page has them."""
    if not page.blocks or page.blocks[0].sort != "front":
        return {}
    pieces = {}
    for number in range(1, page.blocks[0].stop - 1):
        name, _, value = page.lines[number].text.partition(":")
        if name == "updated":
            pieces[number, number + 1] = [f"updated: {_time(now)}"]
        elif name == "version" and value.strip().isdecimal():
            pieces[number, number + 1] = [f"version: {int(value) + 1 if len(value) < 15 else 1}"]
    return pieces


def _time(now: datetime) -> str:
    return now.isoformat(timespec="seconds").replace("+00:00", "Z")
