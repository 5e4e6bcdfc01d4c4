"""Can one value stand in the place of another? Monday in that of Friday, yes; noon in that of Friday, no: both may hold.

That a thing has another value now is only clear where both values are of one sort. So a day, a month, a time and a plain number
are told apart, a name from a description ("Siemens", "a startup"), and whence somebody is ("Irish") from who they are. A city
and its country or state are told apart where that is a known one.
"""

import re
from collections.abc import Mapping

from memorist.text.calendar import MONTHS, WEEKDAYS

_CLOCK = re.compile(r"\d{1,2}:\d\d(?:[ap]m)?|\d{1,2}[ap]m|noon|midnight")
_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_YEAR = re.compile(r"(?:19|20)\d\d")
_NTH = re.compile(r"(\d{1,2})(?:st|nd|rd|th)")
_WORDS = re.compile(r"[\w'./:+#&%@$€£~-]+")
_IDLE = frozenset("the a an of on at in to for and".split())
# Whence somebody is or what they believe; names that end alike are only not replaced by themselves.
_ORIGIN = re.compile(
    r"\w+(?:ish|ese|ian|ean|ican|anian|alian|exan)|german|french|dutch|greek|swiss|czech|thai|welsh|basque|catalan|arab|iraqi|"
    r"israeli|pakistani|korean|afghan|american|mexican|jewish|muslim|catholic|protestant|buddhist|hindu|atheist|vegan|"
    r"vegetarian|\w+-(?:based|hosted|licensed|time|only|born|speaking)",
    re.I,
)
_LANDS = frozenset(
    """afghanistan africa alabama alaska albania algeria america angola argentina arizona arkansas armenia asia
    australia austria azerbaijan bangladesh bavaria belarus belgium bohemia bolivia bosnia brazil britain bulgaria
    california cambodia cameroon canada catalonia chile china colombia colorado congo connecticut croatia cuba cyprus
    czechia delaware denmark ecuador egypt england estonia ethiopia eu europe finland florida france georgia germany
    ghana greece guatemala haiti hawaii hungary iceland idaho illinois india indiana indonesia iowa iran iraq ireland
    israel italy jamaica japan jordan kansas kazakhstan kentucky kenya korea kuwait laos latvia lebanon libya
    lithuania louisiana luxembourg maine malaysia mali malta maryland massachusetts mexico michigan minnesota
    mississippi missouri moldova mongolia montana morocco mozambique myanmar namibia nebraska nepal netherlands nevada
    nicaragua niger nigeria norway ohio oklahoma ontario oregon pakistan panama paraguay pennsylvania peru philippines
    poland portugal provence qatar quebec romania russia rwanda saxony scotland senegal serbia singapore slovakia
    slovenia somalia spain sudan sweden switzerland syria taiwan tanzania tennessee texas thailand tunisia turkey
    tuscany uganda uk ukraine uruguay us usa utah venezuela vermont vietnam virginia wales wisconsin wyoming yemen
    zambia zimbabwe""".split()
)


def unrelated(a: str, b: str, counted: bool) -> bool:
    """Whether both may hold because they answer different questions.

    >>> unrelated("Friday", "noon", counted=True), unrelated("Friday", "Monday", counted=True)
    (True, False)
    >>> unrelated("Anna", "Irish", counted=False), unrelated("Berlin", "Germany", counted=False)
    (True, True)
    """
    if counted:
        here, there = _sorts(a), _sorts(b)
        other = [sort for sort in here.keys() & there.keys() - {"word"} if here[sort] != there[sort]]
        return not other or ("weekday" in other and len(other) > 1)  # on another day at another time: another occasion
    return _is_origin(a) != _is_origin(b) or _is_land(a) != _is_land(b)


def exchangeable(a: str, b: str, counted: bool) -> bool:
    """Whether they are written alike: in the same unit, both as names, or both as descriptions.

    >>> exchangeable("10 MB", "20 MB", counted=True), exchangeable("10 MB", "100 per day", counted=True)
    (True, False)
    >>> exchangeable("Siemens", "Acme", counted=False), exchangeable("Siemens", "a startup", counted=False)
    (True, False)
    """
    if counted:
        return _sorts(a).get("word") == _sorts(b).get("word")
    return _written(a) == _written(b)


def _sorts(value: str) -> Mapping[str, frozenset[str]]:
    """What stands in it, by sort; everything that is no number and no date is a word."""
    tokens = [token.strip(".,:") for token in _WORDS.findall(value.lower())]
    dated = any(token in MONTHS for token in tokens)
    found: dict[str, set[str]] = {}
    for place, token in enumerate(tokens):
        if token in _IDLE or token in ("am", "pm", ""):
            continue
        before_half = tokens[place + 1 : place + 2] in (["am"], ["pm"])
        found.setdefault("clock" if before_half else _sort(token, dated), set()).add(_NTH.sub(r"\1", token))
    return {sort: frozenset(tokens) for sort, tokens in found.items()}


def _sort(token: str, dated: bool) -> str:
    if token in WEEKDAYS or token == "tomorrow":
        return "weekday"
    if token in MONTHS:
        return "month"
    if _CLOCK.fullmatch(token):
        return "clock"
    if _DATE.fullmatch(token):
        return "date"
    if _NTH.fullmatch(token) or (dated and token.isdigit() and len(token) < 3):
        return "day"
    if dated and _YEAR.fullmatch(token):
        return "year"
    return "number" if any(map(str.isdigit, token)) else "word"


def _is_origin(value: str) -> bool:
    return bool(_ORIGIN.fullmatch(value.strip().removeprefix("the ")))


def _is_land(value: str) -> bool:
    return value.lower().removeprefix("the ").strip(" .") in _LANDS


def _written(value: str) -> tuple[str, frozenset[str]]:
    """As a name, a shorthand, or with which article; and what a name is qualified by: Bergen during summer."""
    words = value.split()
    if words[0].lower() in ("a", "an", "the"):
        return words[0].lower(), frozenset()
    if not words[0][:1].isupper():
        return "plain", frozenset()
    rest = frozenset(word for word in words[1:] if word[:1].islower() and word not in _IDLE)
    return "shorthand" if words[0].isupper() and 1 < len(words[0]) < 6 else "name", rest
