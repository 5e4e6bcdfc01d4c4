"""Shortens a long memory to the sentences that matter, in their order, and says how much is left out.

Rules decide what matters: words of the query, what must or must never be done, names, numbers and code, the headings
and lists that hold a text together, its beginning and its end. The rest is what a reader would skip too.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

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


def shortened(text: str, longest: int, terms: Sequence[str] = ()) -> list[str]:
    """The parts of a text that are kept, in order, together at most `longest` characters; between any two something is left out.
    `terms` are those of the query, if there is one.

    >>> shortened("It began well. Then we talked. Never deploy on Fridays! Nobody said a word.", 40)
    ['It began well. ', 'Never deploy on Fridays! ']
    """
    sentences, order = list(_sentences(text[:MOST_READ])), list[tuple[int, int]]()
    for place, sentence in enumerate(sentences):
        low = sentence.lower()
        asked, names = sum(term in low for term in terms), sum(1 for _ in TELLING.finditer(sentence))
        matters = 4 * min(2, asked) + 3 * bool(ORDERS.search(low)) + min(3, names) + bool(STRUCTURE.match(sentence))
        order.append((-matters - 2 * (place == 0) - (place == len(sentences) - 1), place))
    return _parts(sentences, [place for _, place in sorted(order)], longest)


def latest(text: str, longest: int) -> list[str]:
    """The same of what tells how something went on, line by line: how it begins, and then its end, as far back as there is room.

    >>> latest("Four turns.\\n- user: Port the parser.\\n- user: Now the tests.\\n- assistant: Two fail.", 50)
    ['Four turns.\\n', '- assistant: Two fail.']
    """
    lines = list[str]()
    for line in text[:MOST_READ].splitlines(keepends=True):
        lines += [line] if len(line) <= WHOLE_LINE else _sentences(line)
    return _parts(lines, [0, *range(len(lines) - 1, 0, -1)], longest)


def _parts(pieces: Sequence[str], order: Iterable[int], longest: int) -> list[str]:
    """The pieces that fit, taken in this order, as parts of the text: those that follow one another are one part."""
    kept, left, parts = set[int](), longest, list[str]()
    for place in order:
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
