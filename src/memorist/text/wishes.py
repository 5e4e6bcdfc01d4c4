"""How a person asks for something to be remembered, and for which place: "remember that …", "for this project only: …"."""

import re
from typing import Literal

from memorist.text.patterns import regex

# At the beginning of a clause: "I remember that day" and "a way to remember it" are no requests.
WISH = regex(
    r"(?:^|(?<=[,;:.–—-] )|(?<=\band )|(?<=\bbut )|(?<=\bso )|(?<=\bund ))\s{0,3}(?:(?:please|also|always|just|bitte)\s{1,3})?"
    r"(?:remember|note|keep in mind|(?:don't|do not) forget|for the record|(?:make|take) (?:a )?note|write (?:this|that|it) down"
    r"|merke? dir|vergiss nicht|denke? dar?an|notiere?|schreibe? (?:dir )?auf)"
    r"(?:\s{1,3}(?:of|this|that|it|down|to|bitte|dass|das|dir)\b)*\s{0,3}(?:[:,–-]\s{0,3}(?:dass |that )?|\s)",
    re.IGNORECASE,
)
# How a person says that something is to hold from now on, at the beginning of a sentence or clause. A word such as "don't" or
# "instead" occurs in every second order for a single piece of work.
_SENTENCE = r"(?:^|(?<=[.!?…] ))\s{0,3}(?:(?:please|also|ok(?:ay)?|and|bitte|und|also),? ){0,2}"
_CLAUSE = r"(?:^|(?<=[.!?…,;:–—-] )|(?<=\band )|(?<=\bso )|(?<=\bund ))\s{0,3}"
_FROM_NOW = r"(?:from (?:now|today) on|going forward|ab (?:jetzt|sofort|heute)|von (?:nun|jetzt) an|(?:zu)?künftig)"
LASTS = regex(
    rf"{_CLAUSE}{_FROM_NOW}\b|\b{_FROM_NOW}[.!]?$|{_SENTENCE}in (?:(?:the )?future|zukunft)\b"
    rf"|{_SENTENCE}(?:always|never|immer|stets|nie|niemals) (?!mind\b|\w+(?:[^s\W]s|ed|ing)\b)"
    rf"|{_SENTENCE}(?:remember|note|keep in mind|for the record|don'?t forget|merke? dir|vergiss nicht|denke? dar?an|notiere?)"
    r"(?: (?:this|down|bitte|for (?:later|next time)|für (?:später|das nächste mal)))?(?: that\b|,? dass\b|\s?:)"
    rf"|{_SENTENCE}(?:decision|decided|agreed|entscheidung|beschluss|beschlossen|entschieden|vereinbart) ?:",
    re.IGNORECASE,
)
_DECIDED = regex(
    rf"{_SENTENCE}(?:(?:we|i|the team)(?:'ve| have)?(?: just| now| also| all)? (?:decided|agreed)\b"
    r"|(?:wir|ich|das team) (?:haben?|hat) .{0,200}\b(?:entschieden|beschlossen|geeinigt|vereinbart)\b)",
    re.IGNORECASE,
)
_WORK = regex(
    r"\?|\b(?:please|can you|could you|let's|i need|bitte|kannst du|könntest du)\b"
    r"|(?:^|[.!…,;:–—-] )\s{0,3}(?:(?:and|but|so|then|now|und|aber|dann|also|jetzt) ){0,2}"
    r"(?:add|adapt|adjust|apply|bring|build|bump|change"
    r"|check|clean|continue|convert|create|debug|delete|deploy|do|document|draft|explain|extend|find|finish|fix|generate|give|go|help"
    r"|implement|improve|install|investigate|list|look|make|merge|migrate|move|open|port|put|refactor|release|remove|rename|replace"
    r"|restart|revert|review|rewrite|run|set|show|start|stop|summari[sz]e|switch|tell|test|try|turn|update|upgrade|use|wire|write"
    r"|aktualisier\w*|änder\w*|baue?|behebe?|benenn\w*|bring|entfern\w*|ergänz\w*|erklär\w*|ersetz\w*|erstell\w*|finde?|füge?"
    r"|implementier\w*|lege?|lösche?|mache?|migrier\w*|nimm|passe?|prüfe?|räume?|repariere?|schau|schreibe?|setze?|stelle?|starte?"
    r"|teste?|verschiebe?|zeige?|ziehe?)\b",
    re.IGNORECASE,
)
LONGEST_TYPED = 400  # characters; a longer message, or one of several lines, was pasted at least in part
Place = Literal["project", "global"]
_PLACES: dict[Place, str] = {
    "project": r"(?:(?:only|just|nur) )?(?:(?:for|in) this project|(?:für|in) diese[sm] projekt)(?: only)?",
    "global": r"(?:for|in|across) (?:all|every)(?: (?:of )?(?:my|our))? projects?|(?:für|in) allen? projekten?",
}
PLACES: dict[Place, re.Pattern[str]] = {
    place: regex(rf"[,;]?\s{{0,3}}(?:\((?:{words})\)|\b(?:{words})\b):?", re.IGNORECASE)
    for place, words in _PLACES.items()
}


def may_last(prompt: str) -> bool:
    """Whether somebody may say in it, in their own words, what is to hold from now on; if so, the rules are worth loading."""
    own = len(prompt) <= LONGEST_TYPED and "\n" not in prompt.strip()
    return own and bool(LASTS.search(prompt) or _DECIDED.search(prompt))


def lasts(sentence: str, prompt: str) -> bool:
    """Whether a sentence of a prompt says so. What was decided is often only mentioned along with the work it is about.

    >>> lasts("We agreed on tabs.", "We agreed on tabs."), lasts("We agreed on tabs.", "We agreed on tabs. Fix app.py")
    (True, False)
    """
    if sentence.rstrip().endswith("?") or not may_last(prompt):
        return False
    said = sentence.strip()
    return bool(LASTS.search(said) or (_DECIDED.search(said) and not asks_for_work(prompt)))


def asks_for_work(prompt: str) -> bool:
    """Whether it asks for something to be done now, besides what is to hold from now on."""
    return _WORK.search(LASTS.sub("•", prompt)) is not None


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
    """The text without words that say where it holds, and the place. They are removed at the beginning, after the wish, at the
    end and in brackets; elsewhere they are part of the content, and can only narrow it."""
    for place, pattern in PLACES.items():
        for found in pattern.finditer(said):
            before, after = said[: found.start()], said[found.end() :]
            if not before.strip():
                return after.lstrip(" \t:,–-"), place
            if "(" in found[0] or not after.strip(" \t\n.!") or WISH.fullmatch(before + " "):
                return before + after, place
    return said, "project" if PLACES["project"].search(said) else None
