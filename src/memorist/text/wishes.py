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
Place = Literal["project", "global"]
_PLACES: dict[Place, str] = {
    "project": r"(?:(?:only|just|nur) )?(?:(?:for|in) this project|(?:für|in) diese[sm] projekt)(?: only)?",
    "global": r"(?:for|in|across) (?:all|every)(?: (?:of )?(?:my|our))? projects?|(?:für|in) allen? projekten?",
}
PLACES: dict[Place, re.Pattern[str]] = {
    place: re.compile(rf"^\s*(?:{words})\b\s*[:,–-]?\s*|[,;]?\s{{0,3}}\(?\b(?:{words})\b\)?:?", re.IGNORECASE)
    for place, words in _PLACES.items()
}


def wished(said: str) -> tuple[str, Place | None]:
    """What is to be remembered, without the words that ask for it, and where it shall hold if they say so.

    >>> wished("Please remember, for all projects: I prefer tabs")
    ('I prefer tabs', 'global')
    >>> wished("note this down: the cache is cold")
    ('the cache is cold', None)
    """
    place = next((place for place, pattern in PLACES.items() if pattern.search(said)), None)
    text = PLACES[place].sub("", said, count=1).strip() if place else said
    asked = WISH.match(text)
    return text[asked.end() :].strip() if asked else text.strip(), place
