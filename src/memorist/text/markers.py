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
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import dropwhile
from typing import Literal

from memorist.text.patterns import regex
from memorist.text.visible import is_blank
from memorist.text.words import STOP_WORDS

ItemType = Literal["entity", "claim", "task", "decision", "note"]
LONGEST_ITEM = 600  # characters; what is marked is a sentence or two
LONGEST_BLOCK = 4000  # characters of a paragraph that are examined
LONGEST_LINE = 2000  # characters of a line of code before a comment and in it
MOST_ENTITIES = 40  # per file
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
    marked, named = list[Marked](), set[str]()
    if not prose:
        for number, line in enumerate(text.split("\n"), 1):
            if found := _COMMENT.search(line, 0, LONGEST_LINE):
                marked += _item(found["word"] or found["bare"], line[found.end() :], number)
        return marked
    for number, head, box, block in _blocks(text.split("\n")):
        if box in ("", "[ ]"):  # else it is done
            mark = _MARKED.match(block)
            word = mark["word"] or mark["bare"] if mark and not box else ""
            items = _item(word, block[mark.end() if mark else 0 :], number) if mark or box else []
            if not items and "#" not in head and not block.startswith("|"):
                items = list(_entities(block, number, named))
            marked += items
    return marked


def _item(word: str, said: str, line: int) -> list[Marked]:
    """What follows a mark, or an unchecked box."""
    said = _CLOSING.sub("", said[:LONGEST_BLOCK]).strip().strip("*_ \t")
    if len(said) > LONGEST_ITEM:
        said = said[: said.rfind(" ", 0, LONGEST_ITEM) if " " in said[:LONGEST_ITEM] else LONGEST_ITEM].rstrip() + " …"
    if not any(map(str.isalnum, said)) or is_blank(said):
        return []
    return [Marked(_WORDS[word.upper()] if word else "task", said, line, word.upper() or "an unchecked box")]


def _blocks(lines: list[str]) -> Iterator[tuple[int, str, str, str]]:
    """The paragraphs, points of lists and headings with their first line: what introduces each, its box, and its text. Code and
    front matter are left out."""
    ends = (number for number, line in enumerate(lines[1:200], 2) if line.strip() == "---")
    front = next(ends, 0) if lines[0].strip() == "---" else 0
    fenced, block = False, (0, "", "", "")
    for number, line in enumerate(lines, 1):
        fence = _FENCE.match(line) is not None
        shown = "" if fence or fenced or number <= front else line
        fenced ^= fence
        found = _HEAD.match(shown)
        head, box = ("".join(found["head"].split()), (found["box"] or "").strip()) if found else ("", "")
        text = shown[found.end() if found else 0 :].strip()[: 2 * LONGEST_BLOCK]
        begins = bool(head or box or not text or _MARKED.match(text))
        if block[3] and (begins or "#" in block[1] or len(block[3]) > LONGEST_BLOCK):
            yield block
            block = (0, "", "", "")
        block = (*block[:3], f"{block[3]} {text}") if block[3] else (number, head, box, text)
    if block[3]:
        yield block


def _entities(block: str, line: int, named: set[str]) -> Iterator[Marked]:
    """Names that are new in this file: two to five capitalised words in a row, without an article or the like before them, each
    with its sentence."""
    said = _UNREAD.sub(lambda found: "." * len(found[0]), block[:LONGEST_BLOCK])
    runs: list[list[re.Match[str]]] = []
    for token in filter(lambda token: token[0][0].isupper(), _TOKEN.finditer(said)):
        goes_on = bool(runs) and said[runs[-1][-1].end() : token.start()] == " "
        runs[-1].append(token) if goes_on else runs.append([token])
    for run in runs:
        words = list(dropwhile(lambda token: token[0].lower() in _BEGINS, run))
        if not 2 <= len(words) <= 5 or all(token[0].isupper() for token in words):
            continue
        start, end = words[0].start(), words[-1].end()
        name = block[start:end]
        if name in named or len(named) == MOST_ENTITIES:
            continue
        named.add(name)
        before = [each.end() for each in _SENTENCE.finditer(said, max(0, start - LONGEST_ITEM), start)]
        after = _SENTENCE.search(said, end, end + LONGEST_ITEM)
        first = before[-1] if before else max(0, start - LONGEST_ITEM)
        sentence = block[first : after.end() if after else end + LONGEST_ITEM].strip()[:LONGEST_ITEM]
        yield Marked("entity", name if sentence == name else f"{name}: {sentence}", line, "capitalised words")
