"""A Markdown file as separate memories: one item, one paragraph, or one block of code with its paragraph is one memory.

    headings      the title, as a path: "Payments › Decisions"; a line such as "Steps:" before a list counts as a heading
    nested items  part of the item above them
    kind          by a heading or a first word such as "Decisions" or "Warning:", else fact
    date          of the item, else of its headings, the front matter, the file's name, the file itself
    dropped       HTML comments, rules, headings with nothing under them, and front matter except for its title, date and tags

Nothing else is lost.

The blocks are headings, list items with everything nested in them, paragraphs, and code with the text that it belongs to.
This is not a Markdown parser: it must find where one thought ends and the next begins, and must not lose a word. Anything it
does not recognise is a paragraph. Every pass is linear in the length of the file.

Dates are read as people write them in headings, at the beginning of a line, and in file names; all are taken as UTC. An
ambiguous date (03/04/2025) is ignored: a wrong date is worse than none.
"""

import re
import string
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import field, replace
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import PurePath
from typing import Literal

from memorist.checks import LONGEST_LABEL
from memorist.files import signs
from memorist.lazy import dataclass
from memorist.records import Draft
from memorist.remember.bring import Exported
from memorist.text.visible import is_blank

STEP = " › "
LEAD_IN = 7  # a line such as "Steps:" before a list is a heading below all others
LONGEST_HEADING = 1000  # characters; a longer one is a paragraph, or it would be repeated with all that stands under it
MARKS = "*_: \t"  # around a heading
LONGEST_NAME = 100  # characters at the end of a heading that may name its kind
# The last word of a heading, or the first word of a text before its colon. Short-lived kinds are missing on purpose: a file
# that a person keeps is meant to last.
KIND_OF_WORD = {
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
DATED_BY = ("date", "updated", "modified", "created")  # in front matter; the first of them counts
_BESIDE_ENTRIES = re.compile(r"\s*$|\s*#|[ \t]+\S|- ")


@dataclass(frozen=True, slots=True)
class Entry:
    """One memory found in a file, and its place."""

    file: str
    line: int | str  # or a part of a JSON file, such as entries[3]
    draft: Draft
    told: Exported | str | None = None  # in an export: what its owner may bring back, or why that cannot be read

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


def memories_in(text: str, name: str, modified: datetime) -> list[Entry]:
    """The memories of a Markdown file with that name, in order. Any text is valid."""
    lines = signs.BREAK.split(text.removeprefix("\ufeff"))
    front, length = _front_matter(lines)
    at = front.at or date_of_name(PurePath(name).stem) or modified
    plain = replace(front, title=None, files=(name,), at=at)
    outline = _Outline(plain, [])
    if front.title:
        outline.step_into(0, front.title, 1)
    reader = _Reader()
    for read in _without_comments(lines[length:], length + 1):
        reader.take(read)
    found = reader.end()
    for block, after in zip_longest(found, found[1:]):
        outline.take(block, after)
    return [Entry(name, line, draft) for line, draft in sorted(outline.found, key=lambda each: each[0])]


# ---------------------------------------------------------------- front matter


def _front_matter(lines: Sequence[str]) -> tuple[Draft, int]:
    """The front matter and its number of lines. Anything but plain entries between two rules is not front matter."""
    if not lines or lines[0].rstrip() != "---":
        return Draft(""), 0
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
    return Draft(""), 0


def _front(entries: dict[str, list[str]]) -> Draft:
    said = {name: " ".join(values).strip("\"' ") for name, values in entries.items()}
    tags = [word.strip("\"'#[] ") for value in entries.get("tags", ()) for word in value.split(",")]
    title = said.get("title") or said.get("name")
    at = next(filter(None, (date_in(said.get(name, "")) for name in DATED_BY)), None)
    return Draft("", title=title, at=at, tags=tuple(filter(None, tags)))


# ---------------------------------------------------------------- the outline


@dataclass(slots=True)
class _Heading:
    level: int
    text: str
    at: datetime | None = None  # the date in it


@dataclass(slots=True)
class _Outline:
    """Walks through the blocks and tracks the headings above the current one."""

    plain: Draft
    path: list[_Heading]
    found: list[tuple[int, Draft]] = field(default_factory=list)

    def take(self, block: "_Block", after: "_Block | None") -> None:
        if block.sort == "heading":
            self.step_into(block.level, block.text.strip(MARKS), block.line)
        elif block.sort == "paragraph" and after and after.sort == "item" and _LEADS_IN.fullmatch(block.text):
            self.step_into(LEAD_IN, block.text.strip(MARKS), block.line)
        elif block.sort == "item":
            self._remember(block.line, block.text)
        else:
            self._step_out(LEAD_IN)
            self._remember(block.line, block.text)

    def step_into(self, level: int, text: str, line: int) -> None:
        self._step_out(level)
        if len(text) <= LONGEST_HEADING:
            self.path.append(_Heading(level, text, date_in(text)))
        else:
            self._remember(line, text)

    def _step_out(self, level: int) -> None:
        """Leaves the headings of this level and below. A heading with nothing under it becomes no memory."""
        while self.path and self.path[-1].level >= level:
            self.path.pop()

    def _remember(self, line: int, text: str) -> None:
        text = _box_read(text)
        if not text.strip(string.punctuation + string.whitespace):
            return
        steps = [heading.text for heading in self.path]
        dated = next((heading.at for heading in reversed(self.path) if heading.at), self.plain.at)
        own, text = date_before(text)
        draft = replace(self.plain, text=text, kind=kind_of(text, steps), at=own or dated)
        self.found.append((line, _titled(draft, STEP.join(step for step in steps if not is_blank(step)))))


def _titled(draft: Draft, title: str) -> Draft:
    """A title over the limit goes in front of the text instead, so that nothing is cut."""
    if len(title) > LONGEST_LABEL:
        return replace(draft, text=f"{title}\n\n{draft.text}")
    return replace(draft, title=title or None)


def _box_read(text: str) -> str:
    box = _BOX.match(text)
    if not box:
        return text
    return ("To do: " if box[1] == " " else "Done: ") + text[box.end() :] if text[box.end() :].strip() else ""


def kind_of(text: str, steps: Sequence[str]) -> str:
    """The kind by its own first word, else by the nearest heading that names one."""
    first = _FIRST_WORD.match(text)
    own = KIND_OF_WORD.get(first[1].lower()) if first else None
    return own or next(_kinds_of(reversed(steps)), "fact")


def _kinds_of(headings: Iterator[str]) -> Iterator[str]:
    """The kinds that headings name, the nearest first."""
    for heading in headings:
        words = _WORD.findall(_ASIDE.sub("", heading[-LONGEST_NAME:]))
        kind = "procedure" if _HOW_TO.match(heading) else KIND_OF_WORD.get(words[-1].lower()) if words else None
        if kind:
            yield kind


# ---------------------------------------------------------------- blocks

Sort = Literal["heading", "item", "paragraph", "rule"]


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    text: str
    code: bool = False


@dataclass(frozen=True, slots=True)
class _Block:
    """One piece of a file: a heading with its level, or the text of an item or paragraph."""

    sort: Sort
    line: int
    text: str = ""
    level: int = 0


# ---------------------------------------------------------------- comments and code


def _without_comments(lines: list[str], first: int) -> Iterator[_Line]:
    """The lines without HTML comments, with code marked. An unclosed comment or fence is plain text."""
    ends, place, comments_end = signs.FenceEnds(lines), 0, True
    lines = list(lines)
    while place < len(lines):
        code_end = ends.after(place)
        if code_end is not None:
            marked = signs.FENCE.match(lines[place])
            behind_marker = bool(marked and marked[1].strip())  # the line is an item, and its code follows
            yield _Line(first + place, lines[place], code=not behind_marker)
            for inner in range(place + 1, code_end + 1):
                yield _Line(first + inner, lines[inner], code=True)
            place = code_end + 1
            continue
        kept, open_at = _cut(lines[place])
        close = _closing(lines, place) if open_at is not None and comments_end else None
        if open_at is not None and close is not None:
            yield _Line(first + place, kept[:open_at])
            lines[close] = lines[close].partition("-->")[2]
            place = close
        else:
            comments_end = comments_end and open_at is None
            yield _Line(first + place, kept)
            place += 1


def _cut(line: str) -> tuple[str, int | None]:
    """The line without its complete comments, and where an unclosed one begins."""
    kept: list[str] = []
    done, looked, ticks, start = 0, 0, 0, line.find("<!--")
    while start >= 0:
        ticks, looked = ticks + line.count("`", looked, start), start
        if ticks % 2:  # quoted in backticks, so not a comment
            start = line.find("<!--", start + 4)
            continue
        end = line.find("-->", start + 4)
        if end < 0:
            return "".join((*kept, line[done:])), sum(map(len, kept)) + start - done
        kept += (line[done:start], " ")
        done = looked = end + 3
        start = line.find("<!--", done)
    return "".join((*kept, line[done:])), None


def _closing(lines: list[str], place: int) -> int | None:
    return next((later for later in range(place + 1, len(lines)) if "-->" in lines[later]), None)


# ---------------------------------------------------------------- blocks


@dataclass(slots=True)
class _Open:
    """The block being read: its first line without the marker, and the lines after it unchanged."""

    sort: Sort
    line: int
    indent: int
    first: str
    rest: list[str] = field(default_factory=list)
    blank: bool = False  # the last line was blank

    def add(self, text: str) -> None:
        self.rest += ["", text] if self.blank else [text]
        self.blank = False

    def text(self) -> str:
        rest = textwrap.dedent("\n".join(self.rest)) if self.rest else ""
        return f"{self.first.strip()}\n{rest}".strip("\n").rstrip()


class _Reader:
    def __init__(self) -> None:
        self._done: list[_Block] = []
        self._open: _Open | None = None

    def end(self) -> list[_Block]:
        self._close()
        return self._done

    def take(self, line: _Line) -> None:
        text = line.text if line.code else line.text.rstrip()
        if line.code:
            self._continue_or_start(line.number, text)
        elif not text:
            if self._open:
                self._open.blank = True
        elif self._open and self._open.sort == "item" and signs.width(text) - self._open.indent >= signs.NESTED:
            if signs.ITEM.match(text):
                self._open.blank = False  # blank lines between nested items do not split the list
            self._open.add(text)
        elif not (self._heading(line.number, text) or self._rule(line.number, text) or self._item(line.number, text)):
            self._plain(line.number, text)

    def _heading(self, number: int, text: str) -> bool:
        found = signs.HEADING.match(text)
        if found:
            self._close()
            self._done.append(_Block("heading", number, signs.title_of(found), len(found[1])))
            return True
        above = self._open
        under = signs.UNDERLINE.match(text)
        if not under or not above or above.sort != "paragraph" or above.rest or above.blank:
            return False
        self._open = None
        self._done.append(_Block("heading", above.line, above.first.strip(), signs.level_of(under)))
        return True

    def _rule(self, number: int, text: str) -> bool:
        if not signs.RULE.match(text):
            return False
        self._close()
        self._done.append(_Block("rule", number))
        return True

    def _item(self, number: int, text: str) -> bool:
        found, above = signs.ITEM.match(text), self._open
        if not found:
            return False
        wrapped = above and above.sort == "paragraph" and not above.blank and found[3] not in (None, "1")
        if wrapped:  # "… in\n2024. Then …"
            return False
        self._close()
        self._open = _Open("item", number, signs.width(found[1]), found[4] or "")
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
            self._done.append(_Block(self._open.sort, self._open.line, self._open.text()))
            self._open = None


# ---------------------------------------------------------------- dates

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<{0}>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_ISO = r"(?P<year>(?:19|20)\d\d)(?P<sign>[-/.])(?P<month>\d\d?)(?P=sign)(?P<day>\d\d?)(?!\d)"
_CLOCK = r"(?:(?:T| |, | at )(?P<hour>\d\d):(?P<minute>\d\d)(?::\d\d(?:\.\d+)?)?(?P<zone>Z|[+-]\d\d:?\d\d)?(?!\d))?"
_MONTH_FIRST = _MONTH.format("month_b") + r" (?P<day_b>\d\d?)(?:st|nd|rd|th)?,? (?P<year_b>(?:19|20)\d\d)\b"
_DAY_FIRST = (
    r"(?P<day_c>\d\d?)(?:st|nd|rd|th)?\.? (?:of )?" + _MONTH.format("month_c") + r",? (?P<year_c>(?:19|20)\d\d)\b"
)
_DATE = rf"(?:{_ISO}{_CLOCK}|{_MONTH_FIRST}|{_DAY_FIRST})"

_ANYWHERE = re.compile(rf"(?<![\w./-]){_DATE}", re.IGNORECASE)
# The brackets a leading date may have, and what must follow for it to be a label rather than part of the sentence.
_LABEL = re.compile(
    rf"(?P<bold>\*\*|__)?(?P<open>[\[(])?{_DATE}(?(open)[\])])(?P<colon>:)?(?(bold)(?P=bold))"
    rf"(?(open)(?:\s*[:—–-])?\s+|(?(colon)\s+|\s*[:—–-]\s+))(?!(?:19|20)\d\d-)",
    re.IGNORECASE,
)
_IN_NAME = re.compile(r"(?<!\d)((?:19|20)\d\d)([-_.]?)(0[1-9]|1[0-2])\2([0-3]\d)(?!\d)")


def date_in(text: str) -> datetime | None:
    """The first date in a heading.

    >>> date_in("March 14, 2025: stand-up")
    datetime.datetime(2025, 3, 14, 0, 0, tzinfo=datetime.timezone.utc)
    """
    found = _ANYWHERE.search(text)
    return found and _moment(found)


def date_before(text: str) -> tuple[datetime | None, str]:
    """The date a text begins with, and the text without it where the date is only a label.

    >>> date_before("[2025-03-14] Moved to Oslo")[1]
    'Moved to Oslo'
    >>> date_before("2025-03-14 was a Friday")[1]
    '2025-03-14 was a Friday'
    """
    label = _LABEL.match(text)
    when = label and _moment(label)
    if label and when and text[label.end() :].strip():
        return when, text[label.end() :]
    start = _ANYWHERE.match(text.lstrip("*_[( "))
    return (_moment(start) if start else None), text


def date_of_name(stem: str) -> datetime | None:
    """The date in the name of a daily log, such as 2025-03-14 or standup_20250314."""
    found = _IN_NAME.search(stem)
    return _day(int(found[1]), int(found[3]), int(found[4])) if found else None


def _moment(found: re.Match[str]) -> datetime | None:
    """The day, or the moment if a time of day is given too."""
    parts = found.groupdict()
    which = next(which for which in ("", "_b", "_c") if parts[f"year{which}"])
    month = parts[f"month{which}"]
    number = _MONTHS.index(month[:3].lower()) + 1 if which else int(month)
    day = _day(int(parts[f"year{which}"]), number, int(parts[f"day{which}"]))
    if day and parts["hour"]:
        with suppress(ValueError):  # at 25:00 the day is still right
            clock = f"{parts['hour']}:{parts['minute']}{parts['zone'] or 'Z'}"
            return datetime.fromisoformat(f"{day.date()}T{clock}").astimezone(UTC)
    return day


def _day(year: int, month: int, day: int) -> datetime | None:
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None
