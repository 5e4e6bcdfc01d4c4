"""Invisible characters: the contents of a regular expression's character class, and which of them a text holds.

They can carry a message that no person sees and every model reads. They are Unicode's controls, format characters and
default ignorables, blank letters and signs, lone surrogates, non-characters and the planes without any characters. Not
among them are tab and line feed, spaces, and format characters that are drawn, such as the Arabic number sign.
"""

import re
import unicodedata

UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u2d7f\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff"
    "\U0001107f\U00013430-\U0001343f\U00013441\U00013442\U00016fe4\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"
    "\U0001fffe\U0001ffff\U0002fffe\U0002ffff\U0003fffe-\U000effff"
)


def unseen(text: str) -> set[str]:
    """The characters of a text that are invisible or control how others are displayed. No name may hold one, except the
    variation selector that is part of an emoji: keyboards write it."""
    if text.isascii() and text.isprintable():
        return set()
    text = re.sub("(?<=[\u203c-\u3299\U0001f000-\U0001faff])\ufe0f", "", text)
    formats = (char for char in text if unicodedata.category(char) in ("Cc", "Cf"))
    return {*re.findall(f"[{UNSEEN}]", text), *formats}
