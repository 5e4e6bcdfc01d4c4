"""Stored text made safe to show: what cannot be seen is written out, what can be seen stays as it is.

A memory may hold an escape sequence that clears a screen, a direction override that shows other words than it holds,
or a whole message in invisible characters. On a terminal, and in a prompt, these appear as escapes such as `\x1b`.
Emoji sequences, right-to-left letters and joiners between letters that need them are ordinary text and survive.

Bytes become text here too. They are UTF-8, or carry a mark that says otherwise: a Latin-1 file is refused instead of being
stored as something it is not, since nobody notices a wrong letter in a memory until it is not found.
"""

import codecs
import unicodedata

from memorist.errors import Invalid
from memorist.text.patterns import regex

# C0 and C1 controls but tab and newline, soft hyphen, bidi marks and overrides, zero-width and invisible operators,
# line separators, interlinear marks, tags, lone surrogates, the replacement object.
HIDDEN = regex(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffc"
    "\U000e0000-\U000e0fff\ud800-\udfff]"
)
JOINERS = regex("[\u200c\u200d]")
SELECTORS = regex("[\ufe00-\ufe0f]")
UNPRINTED = regex("[\\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f"
                       "\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffc"
                       "\U000e0000-\U000e0fff\ud800-\udfff]*")  # fmt: skip
UNSTORABLE = regex("[\x00\ud800-\udfff]")


def visible(text: str) -> str:
    """The text with everything invisible or dangerous written out as an escape.

    >>> visible("clear\\x1b[2J")
    'clear\\\\x1b[2J'
    """
    if text.isascii() and text.isprintable():
        return text
    text = HIDDEN.sub(lambda match: _escape(match[0]), text)
    text = JOINERS.sub(lambda match: match[0] if _joins(text, match.start()) else _escape(match[0]), text)
    return SELECTORS.sub(lambda match: match[0] if _selects(text, match.start()) else _escape(match[0]), text)


def quoted(value: object) -> str:
    """Anything a caller may have given, short enough for an error and without anything that is not seen.

    >>> quoted("x\\x1b[2J")
    "'x\\\\x1b[2J'"
    """
    try:
        said = repr(value)
    except Exception:  # a number of more digits than Python writes out, a list inside itself, an object that fails
        said = f"a very long {type(value).__name__}"
    return said if len(said) <= 60 else said[:60] + "…"


def is_blank(text: str) -> bool:
    """Whether there is nothing a person could see."""
    return UNPRINTED.fullmatch(text) is not None


def flaw(text: str) -> str | None:
    """Why a text cannot be stored: the first NUL or lone surrogate and where it stands, or None."""
    found = UNSTORABLE.search(text)
    if found is None:
        return None
    name = "a NUL character" if found[0] == "\x00" else "half a character (a lone surrogate)"
    return f"{name} at position {found.start()}"


def _escape(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _joins(text: str, place: int) -> bool:
    """A joiner between two letters that are not Latin, or inside an emoji sequence, belongs to the text."""
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    if not before or not after:
        return False
    if _is_emoji(after) and text[place] == "\u200d":
        return _is_emoji(text[place - 2 : place - 1] if before == "\ufe0f" and place > 1 else before)
    return _needs_joiners(before) and _needs_joiners(after)


def _selects(text: str, place: int) -> bool:
    """A variation selector belongs to the one visible sign right before it."""
    before = text[place - 1 : place]
    return bool(before) and (
        _is_emoji(before) or before in "#*0123456789" or unicodedata.category(before) in ("Lo", "Sm", "So")
    )


def _is_emoji(char: str) -> bool:
    return unicodedata.category(char) in ("So", "Sk") or "\U0001f000" <= char <= "\U0001faff" or char in "♀♂"


def _needs_joiners(char: str) -> bool:
    """Arabic, Indic and other scripts shape their letters by joiners; marks of theirs count too."""
    return "\u0600" <= char <= "\u109f" or "\u1700" <= char <= "\u1aff"


# ---------------------------------------------------------------- bytes

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark begins it
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decoded(raw: bytes, where: str) -> str:
    """The text in these bytes: UTF-8, or what a byte order mark says."""
    encoding = next((encoding for mark, encoding in MARKS if raw.startswith(mark)), "utf-8")
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as problem:
        raise Invalid(
            f"{where} is not {encoding.upper()}: byte 0x{raw[problem.start]:02x} at offset {problem.start:,}; "
            "convert it first, for example with `iconv -f LATIN1 -t UTF-8`"
        ) from problem
