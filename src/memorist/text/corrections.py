"""Whether somebody takes back what they said a moment before: "make that 75", "sorry, I meant Tuesday".

Only the beginning is read, after a few words without meaning of their own (no, oh, wait). A missed correction stays an
ordinary turn; a wrongly detected one ties two unrelated turns together.
"""

import re

from memorist.text.patterns import regex

BEGINNING = 160  # characters
_LEAD = (
    r"(?:(?:no|nope|oh|ah|uh|um|oops|ups|sorry|wait|hm+|ok|okay|well|hold on|pardon|my bad|nein|nee|ach|äh|quatsch|moment|mist"
    r"|entschuldigung|verzeihung|non|mince|perdón|perdona|scusa|desculpa|hè|och|przepraszam|pardon|ой|нет)[\s,.!…–—-]+){0,4}"
)
_CORRECTS = regex(
    rf"{_LEAD}(?:"
    r"make (?:that|it) (?!happen|work|stop|clear|better|easy|easier|quick|so|sure|up|through|to\b|a habit)"
    r"|(?:sorry|actually|no|wait|oh)?,?\s*(?:what )?i (?:actually |really )?mean(?:t)?\b(?! it\b| that\b[.!]| business)"
    r"|(?:a )?(?:small |quick )?correction\b|let me correct|i need to correct|i stand corrected|scratch that|strike that"
    r"|i misspoke|i mistyped|i was wrong|i got (?:that|it) wrong|my mistake|typo\b|that(?:'s| was| is) (?:wrong|a typo|not right)"
    r"|actually,? (?:no\b|not\b|it(?:'s| is| was)\b|that(?:'s| was)\b|make\b|change\b|let's (?:say|make)\b)"
    r"|change (?:that|it) to\b|rather,? make|not \S+(?: \S+)?,? but\b"
    r"|ich (?:meine|meinte|hab mich|habe mich)\b(?! dass)|gemeint (?:war|ist)\b|korrektur\b|korrigiere\b|vertippt|vertan"
    r"|verwechselt|besser gesagt|(?:mach|machen wir) (?:lieber |daraus |doch )|doch (?:nicht|lieber|eher)\b"
    r"|das (?:war|ist|stimmt) (?:falsch|nicht)\b"
    r"|stimmt (?:nicht|gar nicht)\b|falsch[,:.!]|nicht \S+(?: \S+)?, sondern\b|eigentlich (?:nicht|doch)\b"
    r"|je voulais dire|je me suis tromp|quise decir|quería decir|me equivoqué|mejor dicho|volevo dire|mi sono sbagliat"
    r"|quis dizer|me enganei|ik bedoel(?:de)?\b|ik heb me vergist|miałe?a?m na myśli|pomylił|demek istedi|yanlış yazd"
    r"|я имел[аи]? в виду|я ошиб|точнее\b"
    r")",
    re.IGNORECASE,
)


def corrects(text: str) -> bool:
    """Whether it begins as a correction of something said before.

    >>> corrects("make that 75"), corrects("Sorry, I meant Tuesday"), corrects("Make it happen!")
    (True, True, False)
    """
    return _CORRECTS.match(text[:BEGINNING].lstrip().replace("’", "'")) is not None
