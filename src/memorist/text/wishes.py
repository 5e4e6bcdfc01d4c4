"""How a person asks for something to be remembered, and for where: "remember that …", "for this project only: …"."""

import re
from typing import Literal

# At the beginning of a clause: "I remember that day" and "a way to remember it" ask for nothing.
WISH = re.compile(
    r"(?:^|(?<=[,;:.–—-] )|(?<=\band )|(?<=\bbut )|(?<=\bso )|(?<=\bund ))\s{0,3}(?:(?:please|also|always|just|bitte)\s{1,3})?"
    r"(?:remember|note|keep in mind|(?:don't|do not) forget|for the record|(?:make|take) (?:a )?note|write (?:this|that|it) down"
    r"|merke? dir|vergiss nicht|denke? dar?an|notiere?|schreibe? (?:dir )?auf)"
    r"(?:\s{1,3}(?:of|this|that|it|down|to|bitte|dass|das|dir)\b)*\s{0,3}(?:[:,–-]\s{0,3}(?:dass |that )?|\s)",
    re.IGNORECASE,
)
# Words that nearly every sentence has which says what is to hold from now on: whether it does is for rules that take long to load.
MAY_LAST = re.compile(
    r"\b(?:from now on|going forward|in (?:the )?future|remember|keep in mind|note|decision|decided?|agreed|always|never|do not"
    r"|don'?t|stop|no longer|any ?more|instead|prefer|ab (?:jetzt|sofort)|künftig|in zukunft|merke?|notiere?|beschlossen"
    r"|entschieden|entscheidung|immer|niemals|nie|nicht mehr|keine?n?|statt)\b",
    re.IGNORECASE,
)
Place = Literal["project", "global"]
_PLACES: dict[Place, str] = {
    "project": r"(?:(?:only|just|nur) )?(?:(?:for|in) this project|(?:für|in) diese[sm] projekt)(?: only)?",
    "global": r"(?:for|in|across) (?:all|every)(?: (?:of )?(?:my|our))? projects?|(?:für|in) allen? projekten?",
}
PLACES: dict[Place, re.Pattern[str]] = {
    place: re.compile(rf"[,;]?\s{{0,3}}(?:\((?:{words})\)|\b(?:{words})\b):?", re.IGNORECASE)
    for place, words in _PLACES.items()
}


def wished(said: str) -> tuple[str, Place | None]:
    """What is to be remembered, without the words that ask for it, and where it shall hold if they say so.

    >>> wished("Please remember, for all projects: I prefer tabs")
    ('I prefer tabs', 'global')
    >>> wished("note this down: the cache is cold")
    ('the cache is cold', None)
    """
    text, place = _placed(said)
    asked = WISH.match(text)
    return text[asked.end() :].strip() if asked else text.strip(), place


def _placed(said: str) -> tuple[str, Place | None]:
    """The text without words that say where it holds, and the place. They are cut out at the beginning, after the wish, at the
    end and in brackets; elsewhere they are part of what is said, and can only narrow it."""
    for place, pattern in PLACES.items():
        for found in pattern.finditer(said):
            before, after = said[: found.start()], said[found.end() :]
            if not before.strip():
                return after.lstrip(" \t:,–-"), place
            if "(" in found[0] or not after.strip(" \t\n.!") or WISH.fullmatch(before + " "):
                return before + after, place
    return said, "project" if PLACES["project"].search(said) else None
