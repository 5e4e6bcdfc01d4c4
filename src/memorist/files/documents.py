"""A text file as a document: pieces of 800 to 1,500 characters that overlap a little, each with its path and its lines.

A piece ends near 1,200 characters: before a heading, a function or a class, else at a blank line, else at the end of a
line, a sentence or a word. The next one begins 100 to 300 characters before that end, so that statements across the cut
are found as well. A shorter file is one piece. Secrets are replaced before the file is cut, because half a key is not
recognised.
"""

import hashlib
import re
from collections.abc import Iterator
from datetime import datetime

from memorist.errors import Invalid
from memorist.files.markdown import Entry
from memorist.records import Draft
from memorist.text.visible import MARKS, decoded, is_blank
from memorist.text.words import whole_character

LEAST_PIECE, USUAL_PIECE, LARGEST_PIECE = 800, 1200, 1500  # characters of a piece
OVERLAPS = (300, 200, 100)  # characters: the most, the usual, the least
_DEFINES = "async|class|const|def|enum|export|fn|func|function|impl|interface|private|pub|public|static|struct|type"
_ENDS = tuple(  # the best first
    map(
        re.compile,
        (
            rf"\n[ \t]*+\n(?=[#@]|(?:{_DEFINES})\b)",
            r"\n[ \t]*+\n(?=\S)",
            r"\n[ \t]*+\n",
            r"\n",
            r"[.!?;]\s|[。！？；]",
            r"\s",
        ),
    )
)
_LOOKS_AHEAD = 12  # characters: the longest of the words above, and one more


def text_of(raw: bytes, file: str) -> str:
    """The text of a file with uniform line ends; a file that is not text is refused."""
    if raw.startswith(b"%PDF-") or (b"\0" in raw and not raw.startswith(tuple(mark for mark, _ in MARKS))):
        raise Invalid(f"{file} is not a text file, and only text can be a document; extract its text first")
    text = decoded(raw, file)
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def pieces_of(text: str, name: str, modified: datetime, file: str) -> list[Entry]:
    """The pieces of a document with that name, in order. Each is a memory of its own (`item`): another document may
    contain the same text, and a piece that differs only in a blank is another piece."""
    found, line, counted = [], 1, 0
    for start, end in spans(text):
        body = text[start:end].rstrip()
        if is_blank(body):
            continue
        # Without blank lines before it, but with its indentation.
        start += body.rfind("\n", 0, len(body) - len(body.lstrip())) + 1
        body = text[start:end].rstrip()
        line, counted = line + text.count("\n", counted, start), start
        lines = [line, line + body.count("\n")]
        item = hashlib.blake2b(f"{name}\0{body}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        draft = Draft(body, "document", files=(name,), data={"lines": lines, "item": item}, at=modified)
        found.append(Entry(file, line, draft))
    return found


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the pieces begin and end. Each has 800 to 1,500 characters; a shorter text is one piece."""
    most, usual, least = OVERLAPS
    start = 0
    while len(text) - start > LARGEST_PIECE:
        high = min(start + LARGEST_PIECE, len(text) - LEAST_PIECE + least)  # keeps the last piece from being too short
        end = _best(text, start + LEAST_PIECE, high, start + USUAL_PIECE)
        yield start, end
        start = _best(text, end - most, end - least, end - usual)
    yield start, len(text)


def _best(text: str, low: int, high: int, aim: int) -> int:
    """The best cut between `low` and `high`: the end of a thought, nearest to the target."""
    for pattern in _ENDS:
        ends = [found.end() for found in pattern.finditer(text, low - 2, high + _LOOKS_AHEAD)]
        ends = [end for end in ends if low <= end <= high]
        if ends:
            return min(ends, key=lambda end: abs(end - aim))
    return whole_character(text, low, min(aim, high))
