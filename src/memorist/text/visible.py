"""Stored text made safe to show: what cannot be seen is written out, what can be seen stays as it is.

A memory may hold an escape sequence that clears a screen, a direction override that shows other words than it holds,
or a whole message in invisible characters. On a terminal, and in a prompt, these appear as escapes such as `\x1b`.
Emoji sequences, right-to-left letters, joiners between letters that need them and the like are ordinary text and survive: an
invisible character stays where the visible ones beside it give it a meaning, and only there.

Bytes become text here too. They are UTF-8, or carry a mark that says otherwise: a Latin-1 file is refused instead of being
stored as something it is not, since nobody notices a wrong letter in a memory until it is not found.
"""

import codecs

from memorist.errors import Invalid
from memorist.text.patterns import regex
from memorist.unseen import UNSEEN

# Scripts whose letters are shaped by joiners, and those that may mark the ends of words by a space without width.
_SHAPED = (
    "\u0600-\u061b\u061d-\u109f\u1700-\u17b3\u17b6-\u180a\u1810-\u1aff\ua800-\ua95f\ua980-\uabff\ufb50-\ufdcf\ufe70-\ufefc"
    "\U00011000-\U0001107e\U00011080-\U00011fff\U0001e900-\U0001e95f"
)
_UNSPACED = "\u0e01-\u0eff\u1000-\u109f\u1780-\u17b3\u17b6-\u17dd\u1950-\u19df\u1a20-\u1aad"
_MONGOLIAN, _TIFINAGH, _GLYPH = "\u1820-\u18aa", "\u2d30-\u2d67", "\U00013000-\U0001342f"
_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf\u23e9-\u23f3\u23f8-\u23fa\u24c2"
    "\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001faff"
)
_TAGS = {name: "".join(chr(0xE0000 + ord(letter)) for letter in name) for name in ("gbeng", "gbsct", "gbwls")}
_BELONGS = "|".join(
    (
        f"\U0001f3f4(?:{'|'.join(_TAGS.values())})\U000e007f",  # the flags of England, Scotland and Wales
        f"(?<=[{_EMOJI}])[\ufe0e\ufe0f]",
        "(?<=[#*0-9])\ufe0f(?=\u20e3)",
        f"(?:(?<=[{_EMOJI}])|(?<=[{_EMOJI}]\ufe0f))\u200d(?=[{_EMOJI}])",
        f"(?<=[{_SHAPED}])[\u200c\u200d](?=[{_SHAPED}])",
        f"(?<=[{_UNSPACED}])\u200b(?=[{_UNSPACED}])",
        f"(?<=[{_MONGOLIAN}])(?:[\u180b-\u180d\u180f]|\u180e(?=[{_MONGOLIAN}]))",
        f"(?<=[{_TIFINAGH}])\u2d7f(?=[{_TIFINAGH}])",
        f"(?<=[{_GLYPH}])[\U00013430-\U0001343f]",
        "\u115f(?=[\u1161-\u11a7])|(?<=[\u1100-\u115e])\u1160",  # for a part that an old Korean syllable has not
        "(?<=[\u0300-\u034e\u0350-\u036f\u0591-\u05c7])\u034f(?=[\u0300-\u034e\u0350-\u036f\u0591-\u05c7])",
        "\u2800{1,40}(?=[\u2801-\u28ff])|(?<=[\u2801-\u28ff])\u2800{1,40}",  # the blank of Braille
    )
)
_PRIVATE = "\ue000-\uf8ff\U000f0000-\U0010ffff"  # shows whatever a font has there
HIDDEN = regex(f"{_BELONGS}|(?P<hidden>[{UNSEEN}{_PRIVATE}])")
UNPRINTED = regex(f"[\\s{UNSEEN}]*")
UNSTORABLE = regex("[\x00\ud800-\udfff]")
_CONSONANTS = "bcdfghjkmnpqrstvwxz"


def a_mark(number: int) -> str:
    """Nine letters, 38 bits of a number: marks where text of others begins and ends. It has no vowels, so it is no word, and no
    rule takes it for a secret.

    >>> a_mark(1_000_000)
    'qcvrkbbbb'
    """
    return "".join(_CONSONANTS[number // len(_CONSONANTS) ** place % len(_CONSONANTS)] for place in range(9))


def visible(text: str) -> str:
    """The text with everything invisible or dangerous written out as an escape.

    >>> visible("clear\\x1b[2J")
    'clear\\\\x1b[2J'
    """
    if text.isascii() and text.isprintable():
        return text
    return HIDDEN.sub(lambda found: _escape(found[0]) if found.lastgroup else found[0], text)


def quoted(value: object) -> str:
    """Anything a caller may have given, short enough for an error and without anything that is not seen.

    >>> quoted("x\\x1b[2J")
    "'x\\\\x1b[2J'"
    """
    try:
        said = repr(value)
    except Exception:  # a number of more digits than Python writes out, a list inside itself, an object that fails
        said = f"a very long {type(value).__name__}"
    return visible(said if len(said) <= 60 else said[:60] + "…")


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
    return r"\x0d" if char == "\r" else char.encode("unicode_escape").decode()


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
