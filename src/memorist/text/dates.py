"""Finds the times that an English or German question names, and the stretch of time that each one means.

"What did we decide last Friday?" must be answered from last Friday, and no index knows when that was: without this LoCoMo
any@1 falls from 46.4 to 44.1. A wrong date hides the right memory, so a word that may be something else (may, march, sat, a
bare 2023) counts only with evidence beside it. Days are UTC days, weeks begin on Monday, seasons are those of the northern
half. A month, weekday or feast without a year is the latest one that has begun. Of overlapping readings the longest stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice

from memorist.lazy import dataclass
from memorist.text.patterns import regex

DAY = timedelta(days=1)
EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)  # the open end of "before X"
LATEST = datetime(2101, 1, 1, tzinfo=UTC)  # and of "after X"
LOOKED_AT = 4096  # characters that are read; a longer text is more than a query
MOST_TIMES = 32  # of each form


def _recurring(every: int, first: int, count: int, names: str) -> dict[str, tuple[int, int, int]]:
    """For each name after how many days or months it recurs, its first one, and how many belong to it."""
    groups = enumerate(names.split("|"))
    return {name: (every, first + count * place, count) for place, group in groups for name in group.split()}


WEEKDAYS = _recurring(
    7, 0, 1, "monday mon montag|tuesday tue tues dienstag|wednesday wed mittwoch|thursday thu thur thurs donnerstag"
    "|friday fri freitag|saturday sat samstag|sunday sun sonntag",
)  # fmt: skip
MONTHS = _recurring(
    12, 0, 1, "january jan januar|february feb februar|march mar märz|april apr|may mai|june jun juni|july jul juli|august aug"
    "|september sep sept|october oct oktober|november nov|december dec dezember",
)  # fmt: skip
SEASONS = _recurring(12, 2, 3, "spring frühling frühjahr|summer sommer|autumn fall herbst|winter")
QUARTERS = _recurring(12, 0, 3, "q1|q2|q3|q4")
IN_DAYS = WEEKDAYS | _recurring(7, 0, 7, "week woche") | _recurring(7, 5, 2, "weekend wochenende")  # from a Monday on
IN_MONTHS = MONTHS | SEASONS | QUARTERS | _recurring(1, 0, 1, "month monat")  # from a January on
IN_MONTHS |= _recurring(3, 0, 3, "quarter quartal") | _recurring(12, 0, 12, "year jahr")
FEASTS = ("christmas", "xmas", "weihnachten", "easter", "ostern")
TIME_NAMES = (*IN_DAYS, *IN_MONTHS, *FEASTS)
LASTING = {*WEEKDAYS, *MONTHS, *SEASONS, *QUARTERS, *FEASTS}
# Names that are hardly ever anything else; any other must be led in: "in May", "on Sat".
SURE = {name for name in (*WEEKDAYS, *MONTHS) if len(name) > 5} - {"august"}
SURE |= {"july", "juli", *QUARTERS, *FEASTS}
OTHER_WORDS = ("may", "march", "mar", "august", "sun", "sat", "wed", "mon")
_COUNTS = (
    "a an one ein eine einem einer|two zwei couple|three drei few paar|four vier|five fünf several|six sechs|seven sieben"
    "|eight acht|nine neun|ten zehn|eleven elf|twelve zwölf"
)
COUNTS = {name: count for count, group in enumerate(_COUNTS.split("|"), 1) for name in group.split()}
UNITS = {"hour": 0, "stunde": 0, "day": 1, "night": 1, "tag": 1, "week": 7, "woche": 7}  # in days
UNITS |= {"month": 30, "monat": 30, "year": 365, "jahr": 365}
NEAR = {"yesterday": -1, "last night": -1, "today": 0, "tonight": 0, "tomorrow": 1, "gestern": -1, "heute": 0}
NEAR |= {"day before yesterday": -2, "day after tomorrow": 2, "vorgestern": -2, "übermorgen": 2}
NEAR |= {"this morning": 0, "this afternoon": 0, "this evening": 0}
RECENT = ("recently", "lately", "neulich", "kürzlich")
OPEN = {"since": "since", "seit": "since", "before": "before", "prior to": "before", "vor": "before", "until": "until"}
OPEN |= {"till": "until", "up to": "until", "bis": "until", "after": "after", "nach": "after"}
BETWEEN = {"between": ("and",), "from": ("to", "until", "till", "through"), "zwischen": ("und",), "von": ("bis",)}


def _any(names: Iterable[str]) -> str:
    return "|".join(sorted(names, key=len, reverse=True))


_DAY_NAME = rf"(?:\b(?:{_any(WEEKDAYS)}),?\s+)?"
_YEAR = r"(?:,?\s+(?:of\s+)?(?P<year>(?:19|20)\d\d\b(?!-)))?"
_AMOUNT = rf"(?<![-\w])(?<!ty )(?<!half )(?:a\s+)?(?P<count>\d{{1,3}}|{_any(COUNTS)})\s+(?:of\s+)?"
_AMOUNT += rf"(?P<unit>{_any(UNITS)})(?:e?[sn]|e)?\b"
_RULES = [
    regex(rule, re.IGNORECASE)
    for rule in (
        rf"\b(?:(?P<near>{_any(NEAR)})|(?P<recent>{_any(RECENT)}))\b",
        r"(?<![\w./-])(?P<year>\d{4})(?P<mark>[-/])(?P<month>\d\d?)(?:(?P=mark)(?P<day>\d\d?)(?:T\S*)?)?(?![\w/-])",
        r"(?<![\w./-])(?P<month>\d\d?)(?P<mark>[/.])(?P<day>\d\d?)(?P=mark)(?P<year>\d{4})(?![\w/-])",
        rf"{_DAY_NAME}\b(?P<day>\d\d?)(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?P<name>{_any(MONTHS)})\b{_YEAR}",
        rf"{_DAY_NAME}\b(?P<name>{_any(MONTHS)})\.?\s+(?:the\s+)?(?P<day>\d\d?)(?:st|nd|rd|th)?\b(?![:.]\d){_YEAR}",
        r"\b(?P<rolls>past)\s+(?P<unit>week|month|year)\b",
        rf"\b(?P<rolls>last|past|letzten|vergangenen)\s+{_AMOUNT}",
        rf"{_AMOUNT}\s+ago\b",
        rf"\bvor\s+{_AMOUNT}",
        r"(?<!every )(?<!each )(?<!jeden )\b(?:(?:(?P<last>last|past|previous|letzte|vorige)|(?P<this>this|diese)"
        rf"|(?P<next>next|coming|nächste|kommende))[nrsm]?\s+)?(?P<name>{_any(TIME_NAMES)})\b{_YEAR}",
        r"\b(?P<year>(?:19|20)\d\d)\b(?!-|\s+(?!was|is)\w+s\b)",
    )
]
_LEAD = regex(
    r"\b(?:(?P<unit>day|week|month|year)\s+(?=before|after))?"
    r"(in|on|at|over|during|since|until|till|up to|prior to|before|after|around|through|by|from|of|year|between|and|to"
    r"|early|mid|late|am|im|an|zu|seit|bis|vor|nach|von|und|übers|zwischen|anfang|mitte|ende)[\s-]+(?:(?:the|jahre?)\s+)?$",
    re.IGNORECASE,
)
_HINTS = (*TIME_NAMES, *UNITS, *NEAR, *RECENT)
_LETTERS, _DIGIT = regex(r"[^\W\d_]+"), regex(r"\d")


@dataclass(frozen=True)
class Span:
    """A half-open stretch of UTC time, and its place in the text."""

    start: datetime
    end: datetime
    text: str
    begin: int
    finish: int

    @property
    def moves(self) -> bool:
        """Whether it means something else on another day, like "last week": it names no month, weekday, feast or number."""
        words = set(_LETTERS.findall(self.text.lower()))
        return not _DIGIT.search(self.text) and words.isdisjoint(LASTING)


def spans(text: str, now: datetime) -> list[Span]:
    """The times named in the first LOOKED_AT characters, in order; they do not overlap. Any str is valid.

    >>> [(s.text, f"{s.start:%F}", f"{s.end:%F}") for s in spans("Where was I in May?", datetime(2023, 3, 1, tzinfo=UTC))]
    [('in May', '2022-05-01', '2022-06-01')]
    """
    text, now = text[:LOOKED_AT], now.astimezone(UTC)
    low = text.lower()
    if not _DIGIT.search(low) and not any(hint in low for hint in _HINTS):  # saves compiling the rules for most queries
        return []
    read = [found for rule in _RULES for found in islice(rule.finditer(text), MOST_TIMES)]
    kept: list[re.Match[str]] = []
    for found in sorted(read, key=lambda found: (found.start() - found.end(), found.start())):
        if all(found.end() <= other.start() or other.end() <= found.start() for other in kept):
            kept.append(found)
    done, opened = list[Span](), ""
    for found in sorted(kept, key=re.Match.start):
        before = done[-1].finish if done else 0
        lead = _LEAD.search(text, max(before, found.start() - 24), found.start())
        word, begin = (lead[2].lower(), lead.start()) if lead else ("", found.start())
        try:
            start, end = _meant(found, now, word)
            if done and word in BETWEEN.get(opened, ()) and text[before:begin].isspace():
                start, begin = done[-1].start, done.pop().begin
                if start >= end:  # between November and February
                    start -= 7 * DAY if start - end < 7 * DAY else 365 * DAY
            elif word in ("and", "und", "to", "of"):
                begin = found.start()
            elif lead and lead["unit"]:  # the week before Christmas
                size = UNITS[lead["unit"].lower()] * DAY
                start, end = (start - size, start) if word == "before" else (end, end + size)
            elif word in OPEN:
                ends = {"since": (start, now), "before": (EARLIEST, start), "until": (EARLIEST, end)}
                start, end = ends.get(OPEN[word], (end, LATEST))
        except (ValueError, OverflowError):  # no time after all, or none that the calendar has
            continue
        if EARLIEST <= start < end <= LATEST:
            done.append(Span(start, end, text[begin : found.end()], begin, found.end()))
            opened = word
    return done


def in_words(text: str, here: datetime) -> datetime | None:
    """When "yesterday" or "last week" begins, seen from a local time. The text must contain nothing else."""
    words = text.strip()
    if words.lower() == "now":
        return here
    found = spans(words, here.replace(tzinfo=UTC))  # calculates in UTC; days are those of the local clock
    return found[0].start.replace(tzinfo=None) if len(found) == 1 and found[0].text == words else None


def _meant(found: re.Match[str], now: datetime, lead: str) -> tuple[datetime, datetime]:
    """The stretch that one expression means. Raises ValueError if it is no time in its place, or not in the calendar."""
    parts = {name: part.lower() for name, part in found.groupdict().items() if part}
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    year, month, day = (int(parts.get(part, 0)) for part in ("year", "month", "day"))
    if "near" in parts:
        return today + NEAR[parts["near"]] * DAY, today + (NEAR[parts["near"]] + 1) * DAY
    if "recent" in parts:
        return today - 30 * DAY, now
    if "unit" in parts:
        count, size = parts.get("count", "a"), UNITS[parts["unit"]]
        many = COUNTS.get(count) or int(count)
        if "rolls" in parts:
            return today - many * size * DAY, now
        if size >= 30:
            return _months(12 * (now.year - many), 12) if size == 365 else _months(12 * now.year + now.month - 1 - many)
        reach = 2 * size if count in ("couple", "few", "several", "paar") else size // 2
        return today - (many * size + reach) * DAY, today - (many * size - reach - 1) * DAY
    if "name" in parts:
        return _named(parts, today, lead, found["name"].islower())
    if not month:
        return _months(12 * year * bool(lead), 12)  # a bare 2023 may count anything, and there is no year 0
    if day and found.start("month") < found.start("year") and (parts["mark"] == "." or month > 12):
        month, day = day, month
    start = datetime(year, month, day or 1, tzinfo=UTC)
    return start, start + DAY if day else (start + 31 * DAY).replace(day=1)


def _named(parts: Mapping[str, str], today: datetime, lead: str, lower: bool) -> tuple[datetime, datetime]:
    """A month, season, quarter, feast, weekday, week or the like, by its name. For "last" the latest that is over, for "next"
    the first to come; otherwise the latest that has begun."""
    name, year, led = parts["name"], int(parts.get("year", 0)), lead not in ("", "and", "to", "of")
    every, first, count = IN_DAYS.get(name) or IN_MONTHS.get(name) or (12, 0, 0)
    which = parts.keys() & {"last", "this", "next"}
    evident = which or year or (every != count and (name in SURE or led or "day" in parts))
    other_word = name in OTHER_WORDS and lower and not (year or lead in ("in", "on"))  # "this may be wrong"
    if not evident or other_word or (year and every != 12):
        raise ValueError(name)
    if "day" in parts:
        start = datetime(year or today.year, first + 1, int(parts["day"]), tzinfo=UTC)
        start = start if year or start <= today else start.replace(start.year - 1)
        return start, start + DAY
    today = today.replace(year, 1, 1) if year else today
    near = [_occurrence(name, today, k) for k in range(-2, 3)]
    if "last" in which:
        return max(each for each in near if each[1] <= today)
    if "next" in which:
        return min(each for each in near if each[0] > today)
    begun = max(each for each in near if each[0] <= today)
    return near[2] if year or ("this" in which and begun[1] <= today) else begun


def _occurrence(name: str, today: datetime, more: int) -> tuple[datetime, datetime]:
    """The one of this week or year, or so many after it."""
    if name in IN_MONTHS:
        every, first, count = IN_MONTHS[name]
        return _months((12 * today.year + today.month - 1) // every * every + first + more * every, count)
    if name in IN_DAYS:
        every, first, count = IN_DAYS[name]
        start = today + (first + more * every - today.weekday()) * DAY
        return start, start + count * DAY
    year = today.year + more
    start = datetime(year, 12, 25, tzinfo=UTC)
    if name in ("easter", "ostern"):  # by the rule of Gauss, which holds from 1900 to 2099
        moon = (19 * (year % 19) + 24) % 30
        week = (2 * (year % 4) + 4 * (year % 7) + 6 * moon + 5) % 7
        late = week == 6 and (moon == 29 or (moon == 28 and year % 19 > 10))
        start = datetime(year, 3, 22, tzinfo=UTC) + (moon + week - 7 * late) * DAY
    return start, start + DAY


def _months(first: int, count: int = 1) -> tuple[datetime, datetime]:
    """`count` whole months, beginning with this one; they are counted from the year 0."""
    last = first + count
    return datetime(first // 12, first % 12 + 1, 1, tzinfo=UTC), datetime(last // 12, last % 12 + 1, 1, tzinfo=UTC)
