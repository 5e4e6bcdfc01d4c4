"""Disguised secrets: with invisible characters inside, in full-width letters, percent- or base64-encoded, broken over
lines, glued to other words.

Each disguise is undone for the whole text, by operations that run at the speed of C, and the `Uncovered` text is
searched like any other. Only where something is found are the original positions of its characters computed. Disguises
are not undone in combination, except that each is also read without its line breaks.
"""

import base64
import binascii
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from memorist.lazy import dataclass
from memorist.redact.scan import Found, glued, in_characters
from memorist.text.patterns import regex

Hidden = tuple[str, int, int, str]  # type, start and end in the text, and what it is once it is uncovered
Look = Callable[[str], Sequence[Found]]

_ESCAPES = regex(
    r"(?:%[0-9A-Fa-f]{2})+|(?:\\u00[0-7][0-9A-Fa-f])+|(?:\\x[0-7][0-9A-Fa-f])+|(?:&#x?[0-9A-Fa-f]{2,3};)+|=(?:3D|5F|2[DEBF])|=\r?\n"
)
_ENCODED = regex(r"(?:[A-Za-z0-9+/]{60,76}\r?\n)+[A-Za-z0-9+/]{1,76}={0,2}|[A-Za-z0-9+/_-]{20,}={0,2}")
_HEX = regex(r"\A(?:[0-9A-Fa-f]{2}){16,}\Z")
_TEXT = re.compile(rb"[\t\n\r -~]{12,}")
_BETWEEN = " \t\r\n\\\"'`+>|,\u00a0"
_SEPARATORS = re.compile(f"[{re.escape(_BETWEEN)}]+")
_BLANK = {ord(c): None for c in _BETWEEN}
_PIECE = regex(r"[A-Za-z0-9_=-]{0,200}")
_BREAK = regex(r"""(?<=[A-Za-z0-9+/_.=-]{6})(?:\\?\r?\n[\s>|]*|["']\s*\\?\s*\+?\s*["'])(?=[A-Za-z0-9+/_.=-]{6})""")
PIECES_AT_MOST = 300
LONGEST_RUN = 120  # characters around a glued key: in longer runs, which are data, any few letters occur by chance
_LIKE_LATIN = dict(zip("асеорхуіѕјԁһԛԝАВЕКМНОРСТХІЅЈ", "aceopxyisjdhqwABEKMHOPCTXISJ", strict=True))


@dataclass(frozen=True, slots=True)
class Uncovered:
    """A text with a disguise undone, and the pieces it consists of: where each begins in both texts, and how many
    original characters stand for one of its own."""

    text: str
    pieces: Callable[[], list[tuple[int, int, int]]]

    def spans(self, found: Sequence[Found]) -> Iterator[Hidden]:
        """The same spans in the original text."""
        if not found:
            return
        pieces, at = self.pieces(), 0
        for type, start, end in found:
            at = self._piece(pieces, start, at)
            first, at = _there(pieces[at], start), self._piece(pieces, end - 1, at)
            last = _there(pieces[at], end - 1) + pieces[at][2]
            yield type, first, last, self.text[start:end]

    @staticmethod
    def _piece(pieces: list[tuple[int, int, int]], place: int, at: int) -> int:
        while at + 1 < len(pieces) and pieces[at + 1][0] <= place:
            at += 1
        return at


def _there(piece: tuple[int, int, int], place: int) -> int:
    return piece[1] + (place - piece[0]) * piece[2]


def hidden_in(text: str, look: Look, shapes: Look) -> Iterator[Hidden]:
    """What `look` finds in the views of a text, known shapes (`shapes`) that appear once its line breaks are gone, and
    keys put together from pieces. Spans may overlap."""
    for view in (_folded(text), _unescaped(text)):
        if view is not None:
            found = list(look(view.text))
            yield from view.spans(found)
            yield from view.spans([(type, start, end) for type, start, end, _ in _joined(view.text)])
    whole = unbroken(text)
    if whole != text:
        view = Uncovered(whole, lambda: _pieces([(*each.span(), "") for each in _BREAK.finditer(text)]))
        yield from view.spans(shapes(whole))
    yield from encoded(text, look)
    yield from _joined(text)


# ---------------------------------------------------------------- other letters, and none


def _folded(text: str) -> Uncovered | None:
    """The text in plain letters, without invisible characters; None if it already is."""
    if text.isascii():
        return None
    table = {ord(c): plain for c in set(text) if (plain := _plain(c)) != c}
    if not table:
        return None

    def pieces() -> list[tuple[int, int, int]]:
        changed = re.compile(f"[{re.escape(''.join(map(chr, table)))}]")
        return _pieces([(*each.span(), table[ord(each[0])]) for each in changed.finditer(text)])

    return Uncovered(text.translate(table), pieces)


@lru_cache(maxsize=4096)
def _plain(c: str) -> str:
    """One character as the ASCII that it stands for; empty if it is invisible."""
    if c.isascii():
        return c
    if unicodedata.category(c) in ("Cf", "Mn", "Me") or c in "\u115f\u1160\u3164\uffa0\u2800":
        return ""
    plain = unicodedata.normalize("NFKC", c)
    return plain if plain.isascii() else _LIKE_LATIN.get(c, c)


# ---------------------------------------------------------------- escapes


def _unescaped(text: str) -> Uncovered | None:
    """Decodes percent, backslash, HTML and mail escapes."""
    if not any(mark in text for mark in ("%", "\\u00", "\\x", "&#", "=\n", "=\r", "=3D", "=5F", "=2")):
        return None
    places: list[tuple[int, int, str]] = []

    def plain(found: re.Match[str]) -> str:
        places.append((found.start(), found.end(), _read(found[0])))
        return places[-1][2]

    changed = _ESCAPES.sub(plain, text)
    return Uncovered(changed, lambda: _pieces(places)) if places else None


def _read(escapes: str) -> str:
    if escapes[0] == "&":
        marks = escapes[2:-1].split(";&#")
        return "".join(chr(int(m[1:], 16)) if m[0] == "x" else chr(int(m)) if m.isdigit() else "\0" for m in marks)
    if escapes[0] == "=":
        return bytes.fromhex(escapes[1:]).decode() if escapes[1:].isalnum() else ""
    before = "%" if escapes[0] == "%" else escapes[:4] if escapes[1] == "u" else escapes[:2]
    return bytes.fromhex(escapes.replace(before, "")).decode("latin-1")


def _pieces(places: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, int]]:
    found, here, there = [], 0, 0
    for start, end, plain in places:
        found.append((here, there, 1))
        here += start - there
        if plain:
            found.append((here, start, (end - start) // len(plain)))
            here += len(plain)
        there = end
    return [*found, (here, there, 1)]


# ---------------------------------------------------------------- encoded


def encoded(text: str, look: Look) -> Iterator[Hidden]:
    """Runs that are base64 or hexadecimal of a text with a secret in it: the whole run is a secret."""
    for run in _ENCODED.finditer(text):
        for plain in _decoded(run[0]):
            inner = look(plain)
            if inner:
                yield inner[0][0], run.start(), run.end(), plain
                break


def _decoded(run: str) -> Iterator[str]:
    for plain in (bytes.fromhex(run) if _HEX.match(run) else None, _from_base64(run)):
        if plain and _TEXT.fullmatch(plain):
            yield plain.decode("ascii")


def _from_base64(run: str) -> bytes | None:
    body = run.rstrip("=")
    if not body[:8].isascii() or len(body) % 4 == 1:
        return None
    # In nearly all cases the first bytes show that this is no text.
    head = binascii.a2b_base64(body[:8].translate(_URL_SAFE))
    if not _TEXT_BEGINS.match(head):
        return None
    try:
        return base64.b64decode("".join(body.split()).translate(_URL_SAFE) + "=" * (-len("".join(body.split())) % 4))
    except ValueError:
        return None


_URL_SAFE = str.maketrans("-_", "+/")
_TEXT_BEGINS = re.compile(rb"[\t\n\r -~]{6}")


# ---------------------------------------------------------------- in pieces, or glued


def unbroken(text: str) -> str:
    """The text without breaks inside something too long for a line: line breaks, and quotes between two literals."""
    return _BREAK.sub("", text)


def without_blanks(text: str) -> str:
    """The text without blanks, line breaks and quotes."""
    return text.translate(_BLANK)


def _joined(text: str) -> Iterator[Hidden]:
    """Keys of unmistakable kinds, glued to other words or broken by blanks, line breaks and quotes."""
    joined = without_blanks(text)
    found = list(glued().found(joined.encode("utf-8", "surrogatepass")))
    if not found:
        return
    view = Uncovered(joined, lambda: _pieces([(*each.span(), "") for each in _SEPARATORS.finditer(text)]))
    before = 0
    for type, start, end, said in view.spans(list(in_characters(joined, found))):
        end = _PIECE.match(text, end).end()  # type: ignore[union-attr]  # the rest of the word in which it ends
        if start >= before and _is_believed(text, before, start, end):
            yield type, start, end, said
            before = end


def _is_believed(text: str, before: int, start: int, end: int) -> bool:
    """Whether it is a key, and not a few letters of data in which any letters occur sooner or later, nor words of a
    sentence."""
    pieces = text[start:end].split()
    if len(pieces) == 1:
        left = len(_PIECE.match(text[max(before, start - LONGEST_RUN) : start][::-1])[0])  # type: ignore[index]
        return left < LONGEST_RUN and end - start < 2 * LONGEST_RUN
    return len(pieces) <= PIECES_AT_MOST and _is_broken(pieces)


def _is_broken(pieces: Sequence[str]) -> bool:
    """Whether these are parts of a key and not words of a sentence, which contain no digits."""
    if max(map(len, pieces)) <= 2:
        return True
    mixed = sum(any(map(str.isdigit, piece)) for piece in pieces)
    return mixed * 3 >= len(pieces) and (len(pieces) < 4 or mixed >= 2)
