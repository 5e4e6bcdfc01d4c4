"""What somebody means by "remember this": a kind, a scope, a target and how serious it is, out of free text.

The project is where it goes. Only an obvious preference of the user holds everywhere, unless the words say "for this project
only"; and then a person is asked all the same.
"""

import re
from dataclasses import dataclass
from typing import Literal

from memorist.text.question import kinds_in

Severity = Literal["high", "medium", "low"]
_ASKS = re.compile(r"\s*(?:please\s+)?(?:remember|note|keep in mind)(?:\s+(?:this|that))?\s*[:,]?\s+", re.IGNORECASE)
_ONLY_HERE = re.compile(r"[,;]?\s*\(?\b(?:only\s+)?(?:for|in)\s+this\s+project(?:\s+only)?\)?", re.IGNORECASE)
_FILE = re.compile(r"[\w./-]*\w\.[A-Za-z][A-Za-z0-9]{0,4}\b")
_SERIOUS = re.compile(r"\b(?:never|always|must|critical|important|danger\w*)\b", re.IGNORECASE)
_MILD = re.compile(r"\b(?:maybe|usually|perhaps|rather|if possible|nice to have)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Override:
    """What free text asks to be remembered as."""

    text: str
    kind: str
    scope: Literal["project", "global"]
    target: str | None  # the file it is about
    severity: Severity


def override_of(said: str) -> Override:
    """
    >>> override_of("Remember this: I prefer tabs")
    Override(text='I prefer tabs', kind='preference', scope='global', target=None, severity='medium')
    >>> override_of("remember that we never edit schema.sql by hand").target
    'schema.sql'
    """
    asked = _ASKS.match(said)
    text = said[asked.end() :] if asked else said
    here = _ONLY_HERE.search(text) is not None
    text = _ONLY_HERE.sub("", text).strip()
    kind = next(iter(kinds_in(text)), "fact")
    file = _FILE.search(text)
    severity: Severity = "high" if _SERIOUS.search(text) else "low" if _MILD.search(text) else "medium"
    everywhere = kind == "preference" and not here
    return Override(text, kind, "global" if everywhere else "project", file[0] if file else None, severity)
