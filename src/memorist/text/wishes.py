"""How a person asks for something to be remembered, and for which place: "remember that …", "for this project only: …"."""

import re
from typing import Literal

from memorist.text.patterns import regex

# At the beginning of a sentence or clause: "I remember that day" and "a way to remember it" are no requests.
WISH = regex(
    r"(?:^|(?<=[,;:.–—-] )|(?<=\band )|(?<=\bso )|(?<=\bund ))\s{0,3}(?:(?:please|also|bitte)\s{1,3})?"
    r"(?:remember|note|keep in mind|(?:don't|do not) forget|for the record|(?:make|take) (?:a )?note|write (?:this|that|it) down"
    r"|merke? dir|vergiss nicht|notiere?)(?:\s{1,3}(?:of|this|that|it|down|to|bitte|dass|das|dir)\b)*"
    r"\s{0,3}(?:[:,–-]\s{0,3}(?:dass |that )?|\s)",
    re.IGNORECASE,
)
Place = Literal["project", "global"]
_PLACES: dict[Place, str] = {
    "project": r"(?:(?:only|just|nur) )?(?:(?:for|in) this project|(?:für|in) diese[sm] projekt)(?: only)?",
    "global": r"(?:for|in|across) (?:all|every)(?: (?:of )?(?:my|our))? projects?|(?:für|in) allen? projekten?",
}
PLACES: dict[Place, re.Pattern[str]] = {
    place: regex(rf"[,;]?\s{{0,3}}(?:\((?:{words})\)|\b(?:{words})\b):?", re.IGNORECASE)
    for place, words in _PLACES.items()
}


def wished(text: str) -> tuple[str, Place | None]:
    """What is to be remembered, without the words that ask for it, and where it shall hold if they say so. Words for a place are
    removed at the beginning, after the wish, at the end and in brackets; elsewhere they are part of the content.

    >>> wished("Please remember, for all projects: I prefer tabs")
    ('I prefer tabs', 'global')
    >>> wished("note this down: the cache is cold")
    ('the cache is cold', None)
    """
    where: Place | None = "project" if PLACES["project"].search(text) else None
    for place, pattern in PLACES.items():
        for match in pattern.finditer(text):
            before, after = text[: match.start()], text[match.end() :]
            if not before.strip():
                return _without_wish(after.lstrip(" \t:,–-")), place
            if "(" in match[0] or not after.strip(" \t\n.!") or WISH.fullmatch(before + " "):
                return _without_wish(before + after), place
    return _without_wish(text), where


def _without_wish(text: str) -> str:
    asked = WISH.match(text)
    return text[asked.end() :].strip() if asked else text.strip()
