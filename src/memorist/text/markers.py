"""What the authors of a file marked for whoever reads it: tasks, decisions, claims, notes; and the names of things in prose.

    - [ ] Renew the certificate               a task: an unchecked box, TODO, TASK, FIXME
    DECISION: Staging runs Postgres 16        a decision: DECISION, DECIDED
    **Key:** the cache lives ten minutes      a claim: CLAIM, FACT, KEY, INSIGHT
    # NOTE: empty bodies are signed as ''     a note: NOTE
    The pipeline runs on Borealis Station     an entity: several capitalised words in a row

In prose a mark begins a block: a paragraph, a point of a list, a quote, a heading. In code it stands in a comment. Fenced code,
front matter and what is checked off hold no marks. Every expression gives back nothing of what it took, so a line of a
million characters takes no longer than a million lines.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import Literal, cast

from memorist.text.patterns import regex
from memorist.text.visible import is_blank
from memorist.text.words import STOP_WORDS

ItemType = Literal["entity", "claim", "task", "decision", "note"]
LONGEST_ITEM = 600  # characters; what is marked is a sentence or two
LONGEST_BLOCK = 4000  # characters of a paragraph that are examined
LONGEST_LINE = 2000  # characters of a line of code before a comment and in it
MOST_ENTITIES = 40  # per file
ENTITY_WORDS = (2, 5)
CONFIDENCE: dict[ItemType, float] = {"task": 0.9, "decision": 0.9, "note": 0.8, "claim": 0.7, "entity": 0.5}
_WORDS: dict[str, ItemType] = {
    "TODO": "task", "TASK": "task", "FIXME": "task", "DECISION": "decision", "DECIDED": "decision", "CLAIM": "claim",
    "FACT": "claim", "KEY": "claim", "INSIGHT": "claim", "NOTE": "note",
}  # fmt: skip
_EITHER = "|".join(f"{word}|{word.title()}" for word in _WORDS)
# A mark and its colon, perhaps with emphasis around it and an owner after it; a task in capitals needs no colon.
_MARK = (
    rf"(?:\*\*|__|\*|_)?+(?:(?P<word>{_EITHER})(?: [A-Z]{{2,12}})?+(?:\([^()\n]{{0,80}}\))?+(?:\*\*|__|\*|_)?+[ \t]?+:"
    r"|(?P<bare>TODO|FIXME)(?:\([^()\n]{0,80}\))?+(?=[ \t]))(?:\*\*|__|\*|_)?+[ \t]*+"
)
_HEAD = regex(r"[ \t]*+(?P<head>(?:(?:[>*+-]|\d{1,9}[.)]|#{1,6}|<!--)[ \t]++)*+)(?P<box>\[[ xX]\][ \t]++)?+")
_MARKED = regex(_MARK)
_COMMENT = regex(r"(?:#|//|/\*|--|;|<!--|^[ \t]*+\*)[#/*! \t]{0,20}+" + _MARK)
_FENCE = regex(r"[ \t]*+(?:```|~~~)")
_CLOSING = regex(r"[ \t]*+(?:\*/|-->)[ \t]*+\Z")
_UNREAD = regex(r"`[^`\n]{0,200}`|\]\([^()\n]{0,400}\)|<[^<>\n]{0,400}>|https?://\S++")  # code, targets of links, tags
_TOKEN = regex(r"[^\W\d_][\w'’&-]*+")
_SENTENCE = regex(r"[.!?][\"')\]]?+(?=\s)|\n")
_BEGINS = STOP_WORDS | frozenset("der die das den dem des ein eine einen im am".split())
OPEN = "[ ]"  # an unchecked box


@dataclass(frozen=True, slots=True)
class Marked:
    """A mark: what it is, where, and how it was recognised."""

    type: ItemType
    text: str
    line: int
    because: str

    @property
    def confidence(self) -> float:
        return CONFIDENCE[self.type]


def marked_in(text: str, prose: bool) -> list[Marked]:
    """What is marked in a file, by line: everything in prose, only comments in code.

    >>> found = marked_in("# Plan\\n\\nDECISION: ship\\non Friday\\n- [ ] tell Ann", prose=True)
    >>> [(each.type, each.text, each.line) for each in found]
    [('decision', 'ship on Friday', 3), ('task', 'tell Ann', 5)]
    """
    return list(_in_prose(text) if prose else _in_code(text))


def _in_code(text: str) -> Iterator[Marked]:
    for number, line in enumerate(text.split("\n"), 1):
        found = _COMMENT.search(line, 0, LONGEST_LINE)
        if found:
            yield from _item(found["word"] or found["bare"], line[found.end() :], number)


def _item(word: str, said: str, line: int, box: bool = False) -> Iterator[Marked]:
    said = _CLOSING.sub("", said[:LONGEST_BLOCK]).strip().strip("*_ \t")
    if len(said) > LONGEST_ITEM:
        said = said[: said.rfind(" ", 0, LONGEST_ITEM) if " " in said[:LONGEST_ITEM] else LONGEST_ITEM].rstrip() + " …"
    if any(char.isalnum() for char in said) and not is_blank(said):
        yield Marked("task" if box else _WORDS[word.upper()], said, line, "an unchecked box" if box else word.upper())


# ---------------------------------------------------------------- prose


@dataclass(slots=True)
class _Block:
    """A paragraph, a list item, a heading: its text, without what introduces it."""

    line: int
    text: str
    head: str  # what introduces it: the sign of a list, a quote, a heading
    box: str  # "[ ]", "[x]", or nothing

    @property
    def begins(self) -> bool:
        """Whether its first line does not continue the block before; False for an empty one."""
        return bool(self.head or self.box or not self.text or _MARKED.match(self.text))

    @property
    def is_over(self) -> bool:
        """Whether no further line belongs to it."""
        return "#" in self.head or len(self.text) > LONGEST_BLOCK


def _in_prose(text: str) -> Iterator[Marked]:
    named: dict[str, None] = {}
    for block in _blocks(text):
        items = list(_marked(block))
        yield from items
        if not items and block.box in ("", OPEN) and "#" not in block.head and not block.text.startswith("|"):
            yield from _entities(block, named)


def _marked(block: _Block) -> Iterator[Marked]:
    found = _MARKED.match(block.text)
    said = block.text[found.end() :] if found else block.text
    if block.box == OPEN:
        yield from _item("", said, block.line, box=True)
    elif found and not block.box:
        yield from _item(found["word"] or found["bare"], said, block.line)


def _blocks(text: str) -> Iterator[_Block]:
    block: _Block | None = None
    for number, line in _written(text):
        new = _block(number, line)
        if block is not None and (block.is_over or new.begins):
            yield block
            block = None
        if block is not None:
            block.text += f" {new.text}"
        elif new.text:
            block = new
    if block is not None:
        yield block


def _block(number: int, line: str) -> _Block:
    """A line as the beginning of a block."""
    head = cast("re.Match[str]", _HEAD.match(line))  # it fits any line
    text = line[head.end() :].strip()[: 2 * LONGEST_BLOCK]
    return _Block(number, text, "".join(head["head"].split()), (head["box"] or "").strip())


def _written(text: str) -> Iterator[tuple[int, str]]:
    """The lines that were written to be read, with their numbers; an empty one in place of code and front matter."""
    lines = text.split("\n")
    fenced, front = False, _front_matter(lines)
    for number, line in enumerate(lines, 1):
        fence = _FENCE.match(line) is not None
        yield number, "" if fence or fenced or number <= front else line
        fenced ^= fence


def _front_matter(lines: Sequence[str]) -> int:
    """The number of its lines."""
    if lines[0].strip() != "---":
        return 0
    return next((number for number, line in enumerate(lines[1:200], 2) if line.strip() == "---"), 0)


# ---------------------------------------------------------------- names


def _entities(block: _Block, named: dict[str, None]) -> Iterator[Marked]:
    """Names that are new in this file, each with its sentence."""
    said = _UNREAD.sub(lambda found: "." * len(found[0]), block.text[:LONGEST_BLOCK])
    for start, end in _phrases(said):
        name = block.text[start:end]
        if name in named or len(named) == MOST_ENTITIES:
            continue
        named[name] = None
        sentence = _around(block.text, said, start, end)
        yield Marked("entity", name if sentence == name else f"{name}: {sentence}", block.line, "capitalised words")


def _phrases(said: str) -> Iterator[tuple[int, int]]:
    """The places where several capitalised words follow one another, separated by single blanks."""
    run: list[tuple[int, int, str]] = []
    for found in _TOKEN.finditer(said):
        word = (found.start(), found.end(), found[0])
        follows = bool(run) and said[run[-1][1] : word[0]] == " "
        if run and not (follows and word[2][0].isupper()):
            yield from _name(run)
            run = []
        if word[2][0].isupper():
            run.append(word)
    yield from _name(run)


def _name(run: Sequence[tuple[int, int, str]]) -> Iterator[tuple[int, int]]:
    """The place of the name in a sequence of capitalised words: without the article or the like that begins a sentence."""
    words = list(dropwhile(lambda word: word[2].lower() in _BEGINS, run))
    least, most = ENTITY_WORDS
    if least <= len(words) <= most and not all(word.isupper() for _, _, word in words):
        yield words[0][0], words[-1][1]


def _around(text: str, said: str, start: int, end: int) -> str:
    """The sentence that contains the name, or as much of it as an item may hold."""
    before = [found.end() for found in _SENTENCE.finditer(said, max(0, start - LONGEST_ITEM), start)]
    after = _SENTENCE.search(said, end, end + LONGEST_ITEM)
    first = before[-1] if before else max(0, start - LONGEST_ITEM)
    return text[first : after.end() if after else end + LONGEST_ITEM].strip()[:LONGEST_ITEM]
