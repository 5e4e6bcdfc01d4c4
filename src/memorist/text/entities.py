"""Who is named in a question: which of the people that we know from the store.

A name that is no speaker's is a word like any other, and found like one. Of speakers' names, ordinary words (Will, May)
count only as they are spelled.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

from memorist.text.calendar import MONTHS, WEEKDAYS
from memorist.text.words import STOP_WORDS

_TITLES = frozenset("dr mr mrs ms prof professor sir st saint lady lord mx".split())
# What sentences begin with, and few are called.
_ORDINARY = STOP_WORDS | frozenset(
    """add agree ain't almost already although always another anything anyone apparently apply aren't ask became besides
    best better build call can't cannot change check clean close come compare couldn't create currently debug define
    delete deploy describe despite didn't doesn't don't draft during edit either else enable ensure even every everyone
    everything everybody explain fact fetch find finally first fix following format generate get give go good got great
    hadn't happy has hasn't haven't hello help hey hi however i'd i'll i'm i've idea if implement import indeed install
    instead isn't it's keep last later let let's like list look lots make makes many maybe may meanwhile merge might move
    much must need neither never next nobody none nope nothing note notice number ok okay one open oh old over people
    perhaps please print put question read really recall recently refactor remember remind remove rename replace reply
    run said say says search see send set shall she's shouldn't show since someone something sometimes somewhere soon
    sorry start stop suggest summarize summarise sure take test thank thanks that's there's therefore they're thing
    things think today tomorrow translate true try turn two unless update use using usually verify via wait want wasn't
    we're weren't well what's when's where's whether who's why's within without won't work would wouldn't write wrote
    yeah yes yesterday yet you're""".split()
)
_NOT_NAMES = frozenset({*MONTHS, *WEEKDAYS} - {"jan"})
# The Latin alphabet with its accents: a name beside a Chinese character is a whole word all the same.
_LATIN = "A-Za-z0-9_\u00c0-\u024f"
_BLANKS = re.compile(r"\s+")
_BEFORE_SIGN = re.compile(r"\s+(?=[,.;:!?)])")


def speakers_in(question: str, known: Iterable[str]) -> list[str]:
    """Which of the known speakers a question names, in the order of their mention, each as it is known.

    >>> speakers_in("What did caroline's brother tell Mel?", ["Mel", "Caroline Smith", "Bo"])
    ['Caroline Smith', 'Mel']
    """
    text = unicodedata.normalize("NFC", question)
    forms = _forms(text, known)
    found: dict[str, None] = {}
    for match in _pattern(forms).finditer(text) if forms else ():
        found[forms[(match.lastindex or 1) - 1][1]] = None
    return list(found)


def without(question: str, names: Iterable[str]) -> str:
    """The question without these names and their possessives; as it was if no word would be left.

    >>> without("What did Caroline's brother say?", ["Caroline"])
    'What did brother say?'
    """
    text = unicodedata.normalize("NFC", question)
    forms = _forms(text, names)
    if not forms:
        return question
    left = _BLANKS.sub(" ", _pattern(forms).sub(" ", text))
    left = _BEFORE_SIGN.sub("", left).strip()
    return left if any(map(str.isalnum, left)) else question


def _forms(text: str, known: Iterable[str]) -> list[tuple[str, str]]:
    """The ways to name each speaker that occur in the text, the longest first: (as written, as known).

    A first name is enough, unless two of them share it. Only what occurs is kept, so that a thousand speakers cost
    a thousand lookups and no pattern of a thousand names.
    """
    people = [(unicodedata.normalize("NFC", name).split(), name) for name in dict.fromkeys(known)]
    firsts = Counter(words[0].casefold() for words, _ in people if words)
    folded = text.casefold()
    forms = []
    for words, name in people:
        if not words or words[0].casefold() not in folded:
            continue
        forms.append((" ".join(words), name))
        first = words[0]
        if len(words) > 1 and firsts[first.casefold()] == 1 and first.rstrip(".").lower() not in _TITLES:
            forms.append((first, name))
    return sorted(forms, key=lambda form: -len(form[0]))


def _pattern(forms: list[tuple[str, str]]) -> re.Pattern[str]:
    """Finds any of the forms; the number of the group tells which."""
    options = "|".join(f"({_matcher(form)})" for form, _ in forms)
    return re.compile(rf"(?:{options})(?:['’]s(?![{_LATIN}])|['’](?!\w))?", re.IGNORECASE)


def _matcher(form: str) -> str:
    """Whole words in any case; short ones and ordinary words as they are written; other scripts anywhere."""
    spelled = r"\s+".join(map(re.escape, form.split()))
    if any(char.isalpha() and char > "\u024f" for char in form):
        return spelled
    if len(form) < 3 or form.lower() in _ORDINARY or form.lower() in _NOT_NAMES:
        spelled = f"(?-i:{spelled})"
    return rf"(?<![{_LATIN}]){spelled}(?![{_LATIN}])"
