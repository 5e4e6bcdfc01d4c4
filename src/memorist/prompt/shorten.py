"""Shortens a long memory to the sentences that matter, in their order, and says how much is left out.

Rules decide what matters: words of the query, what must or must never be done, names, numbers and code, the headings
and lists that hold a text together, its beginning and its end. The rest is what a reader would skip too.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from memorist.text.patterns import regex
from memorist.text.words import chunks

LONGEST = 200  # characters of a sentence that is weighed as a whole
WHOLE_LINE = 400  # characters of a line that is kept or left out as a whole
MOST_READ = 100_000  # characters; the rest of a longer text is left out
GAP = " […] "
ENDS = regex(r"[.!?…][\"')\]»”’]*\s+|[。！？][」』）”]*|\n+")
ORDERS = regex(
    r"\b(?:must|never|always|only|not|cannot|should|shall|don't|do not|required?|forbidden|because|decided|instead|important|"
    r"careful|warning|error|fail(?:s|ed|ure)?|fix(?:ed|es)?|nie|immer|nicht|darf|muss|kein\w*|weil|wichtig|achtung|fehler)\b",
    re.IGNORECASE,
)
TELLING = regex(r"`[^`]+`|\b\w*\d\w*\b|\b\w+[_/.:]\w+|\b[a-z]+[A-Z]\w*|(?<=[\w,;] )[A-Z]\w+")
STRUCTURE = regex(r"\s*(?:#{1,6} |[-*+] |\d{1,3}[.)] |```|\|)")


Order = Literal[
    "best", "first", "latest"
]  # the sentences that matter, or lines from the beginning, or also from the end


def shortened(text: str, longest: int, terms: Sequence[str] = (), order: Order = "best") -> list[str]:
    """The parts of a text that are kept, in order, together at most `longest` characters; between any two something is left out.
    `terms` are those of the query, if there is one.

    >>> shortened("It began well. Then we talked. Never deploy on Fridays! Nobody said a word.", 40)
    ['It began well. ', 'Never deploy on Fridays! ']
    >>> shortened("Four turns.\\n- user: Port the parser.\\n- user: Now the tests.\\n- assistant: Two fail.", 50, (), "latest")
    ['Four turns.\\n', '- assistant: Two fail.']
    """
    lines = [text[:MOST_READ]] if order == "best" else text[:MOST_READ].splitlines(keepends=True)
    pieces = list[str]()
    for line in lines:
        pieces += [line] if order != "best" and len(line) <= WHOLE_LINE else _sentences(line)

    def matters(place: int) -> int:
        if order != "best":
            return -place if order == "first" or not place else place - len(pieces)
        piece, low = pieces[place], pieces[place].lower()
        asked, names = sum(term in low for term in terms), sum(1 for _ in TELLING.finditer(piece))
        stated = 4 * min(2, asked) + 3 * bool(ORDERS.search(low)) + min(3, names) + bool(STRUCTURE.match(piece))
        return stated + 2 * (place == 0) + (place == len(pieces) - 1)

    kept, left, parts = set[int](), longest, list[str]()
    for place in sorted(range(len(pieces)), key=matters, reverse=True):
        if len(pieces[place]) <= left:
            kept.add(place)
            left -= len(pieces[place])
    for place in sorted(kept):
        before = parts.pop() if place - 1 in kept else ""
        parts.append(before + pieces[place])
    return parts


def _sentences(text: str) -> Iterator[str]:
    """Pieces that cover the text, each a sentence or a part of a long one."""
    start = 0
    for end in (*(found.end() for found in ENDS.finditer(text)), len(text)):
        if end > start:
            yield from (text[start + a : start + b] for a, b in chunks(text[start:end], LONGEST))
            start = end
