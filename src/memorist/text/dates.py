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


def numbered(names: str) -> dict[str, int]:
    """Each name with the number of its group: "one a|two" gives one and a 1, two 2."""
    return {name: n for n, group in enumerate(names.split("|"), 1) for name in group.split()}


MONTHS = numbered(
    "january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sep sept|october oct"
    "|november nov|december dec"
)
WEEKDAYS = numbered(
    "monday mon|tuesday tue tues|wednesday wed|thursday thu thur thurs|friday fri|saturday sat|sunday sun"
)
GERMAN = dict(
    pair.split(":")
    for pair in """montag:monday dienstag:tuesday mittwoch:wednesday donnerstag:thursday freitag:friday samstag:saturday
    sonntag:sunday januar:january februar:february märz:march mai:may juni:june juli:july oktober:october dezember:december
    frühling:spring frühjahr:spring sommer:summer herbst:autumn weihnachten:christmas ostern:easter woche:week monat:month
    quartal:quarter jahr:year wochenende:weekend""".split()
)
# The first month, and how many.
YEARLY = {"spring": (3, 3), "summer": (6, 3), "autumn": (9, 3), "fall": (9, 3), "winter": (12, 3)}
YEARLY |= {f"q{n}": (3 * n - 2, 3) for n in range(1, 5)} | {name: (n, 1) for name, n in MONTHS.items()}
FEASTS = {"christmas", "xmas", "easter"}
MONTHS_OF = {"month": 1, "quarter": 3, "year": 12}
TIME_NAMES = {name: name for name in (*YEARLY, *WEEKDAYS, *FEASTS, *MONTHS_OF, "week", "weekend")} | GERMAN
# Names that are hardly ever anything else; any other must be led in: "in May", "on Sat".
SURE = {name for name in (*WEEKDAYS, *MONTHS) if len(name) > 5} - {"august"} | {"july", "q1", "q2", "q3", "q4", *FEASTS}
OTHER_WORDS = {"may", "march", "mar", "august", "sun", "sat", "wed", "mon"}
COUNTS = numbered(
    "a an one ein eine einem einer|two zwei couple|three drei few paar|four vier|five fünf several|six sechs|seven sieben"
    "|eight acht|nine neun|ten zehn|eleven elf|twelve zwölf"
)
VAGUE = {"couple", "few", "several", "paar"}
UNITS = {"hour": 0, "stunde": 0, "day": 1, "night": 1, "tag": 1, "week": 7, "woche": 7}  # in days
UNITS |= {"month": 30, "monat": 30, "year": 365, "jahr": 365}
NEAR = {"yesterday": -1, "last night": -1, "today": 0, "tonight": 0, "tomorrow": 1, "gestern": -1, "heute": 0}
NEAR |= {"day before yesterday": -2, "day after tomorrow": 2, "vorgestern": -2, "übermorgen": 2}
NEAR |= {f"this {part}": 0 for part in ("morning", "afternoon", "evening")}
LAST, NEXT = ("last", "past", "prev", "letz", "vori"), ("next", "comi", "näch", "komm")
OPEN = {"since": "since", "seit": "since", "before": "before", "prior to": "before", "vor": "before", "until": "until"}
OPEN |= {"till": "until", "up to": "until", "bis": "until", "after": "after", "nach": "after"}
BETWEEN = {"between": ("and",), "from": ("to", "until", "till", "through"), "zwischen": ("und",), "von": ("bis",)}


def _any(names: Iterable[str]) -> str:
    return "|".join(sorted(names, key=len, reverse=True))


_MONTH = _any(name for name in TIME_NAMES if TIME_NAMES[name] in MONTHS)
_DAY_NAME = rf"(?:\b(?:{_any(WEEKDAYS)}),?\s+)?"
_YEAR = r"(?:,?\s+(?:of\s+)?(?P<year>(?:19|20)\d\d\b(?!-)))?"
_UNIT = rf"(?P<unit>{_any(UNITS)})(?:e?[sn]|e)?\b"
_AMOUNT = rf"(?<![-\w])(?<!ty )(?<!half )(?:a\s+)?(?P<count>\d{{1,3}}|{_any(COUNTS)})\s+(?:of\s+)?{_UNIT}"
_RULES = [
    regex(rule, re.IGNORECASE)
    for rule in (
        rf"\b(?:(?P<near>{_any(NEAR)})|(?P<recent>recently|lately|neulich|kürzlich))\b",
        r"(?<![\w./-])(?P<year>\d{4})(?P<mark>[-/])(?P<month>\d\d?)(?:(?P=mark)(?P<day>\d\d?)(?:T\S*)?)?(?![\w/-])",
        r"(?<![\w./-])(?P<month>\d\d?)(?P<mark>[/.])(?P<day>\d\d?)(?P=mark)(?P<year>\d{4})(?![\w/-])",
        rf"{_DAY_NAME}\b(?P<day>\d\d?)(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?P<name>{_MONTH})\b{_YEAR}",
        rf"{_DAY_NAME}\b(?P<name>{_MONTH})\.?\s+(?:the\s+)?(?P<day>\d\d?)(?:st|nd|rd|th)?\b(?![:.]\d){_YEAR}",
        r"\b(?P<rolls>past)\s+(?P<unit>week|month|year)\b",
        rf"\b(?P<rolls>last|past|letzten|vergangenen)\s+{_AMOUNT}",
        rf"{_AMOUNT}\s+ago\b",
        rf"\bvor\s+{_AMOUNT}",
        r"(?<!every )(?<!each )(?<!jeden )\b(?:(?P<which>last|past|previous|letzte|vorige|this|diese|next|coming|nächste"
        rf"|kommende)[nrsm]?\s+)?(?P<name>{_any(TIME_NAMES)})\b{_YEAR}",
        r"\b(?P<year>(?:19|20)\d\d)\b(?!-|\s+(?!was|is)\w+s\b)",
    )
]
_LEAD = regex(
    r"\b(?:(?P<unit>day|week|month|year)\s+(?=before|after))?"
    r"(in|on|at|over|during|since|until|till|up to|prior to|before|after|around|through|by|from|of|year|between|and|to"
    r"|early|mid|late|am|im|an|zu|seit|bis|vor|nach|von|und|übers|zwischen|anfang|mitte|ende)[\s-]+(?:(?:the|jahre?)\s+)?$",
    re.IGNORECASE,
)
_LETTERS = regex(r"[^\W\d_]+")
_HINTS = {word for name in (*TIME_NAMES, *NEAR) for word in name.split()} | {
    "recently",
    "lately",
    "neulich",
    "kürzlich",
}
_HINTS |= {f"{unit}{ending}" for unit in UNITS for ending in ("", "s", "n", "e", "en", "es")}


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
        words = {GERMAN.get(word, word) for word in _LETTERS.findall(self.text.lower())}
        return not any(map(str.isdigit, self.text)) and words.isdisjoint({*YEARLY, *WEEKDAYS, *FEASTS})


def spans(text: str, now: datetime) -> list[Span]:
    """The times named in the first LOOKED_AT characters, in order; they do not overlap. Any str is valid.

    >>> [(s.text, f"{s.start:%F}", f"{s.end:%F}") for s in spans("Where was I in May?", datetime(2023, 3, 1, tzinfo=UTC))]
    [('in May', '2022-05-01', '2022-06-01')]
    """
    text, now = text[:LOOKED_AT], now.astimezone(UTC)
    if _HINTS.isdisjoint(_LETTERS.findall(text.lower())) and not any(map(str.isdigit, text)):
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
    today, year = now.replace(hour=0, minute=0, second=0, microsecond=0), int(parts.get("year", 0))
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
            return _months(now.year - many, 1, 12) if size == 365 else _months(now.year, now.month - many)
        reach = 2 * size if count in VAGUE else size // 2
        return today - (many * size + reach) * DAY, today - (many * size - reach - 1) * DAY
    if "name" in parts:
        return _named(parts, found["name"], today, lead)
    if "month" not in parts:
        return _months(year if lead else 0, 1, 12)  # a bare 2023 may count anything
    month, day = int(parts["month"]), int(parts.get("day", 0))
    if not day and not 1 <= month <= 12:
        raise ValueError(found[0])
    if day and found.start("month") < found.start("year") and (parts["mark"] == "." or month > 12):
        month, day = day, month
    return _one_day(year, month, day) if day else _months(year, month)


def _named(parts: Mapping[str, str], raw: str, today: datetime, lead: str) -> tuple[datetime, datetime]:
    """A month, season, quarter, feast, weekday, week or the like, by its name."""
    name, year, which = TIME_NAMES[parts["name"]], int(parts.get("year", 0)), parts.get("which", "")[:4]
    evident = name in SURE or lead not in ("", "and", "to", "of") or "day" in parts
    if name == "year" and year:
        return _months(year, 1, 12)
    again = name in MONTHS_OF or name in ("week", "weekend") or name in WEEKDAYS
    if not (which or year or (evident and name not in MONTHS_OF and name != "week")) or (again and year):
        raise ValueError(raw)
    if name in OTHER_WORDS and raw.islower() and not (year or lead in ("in", "on")):  # this may be wrong
        raise ValueError(raw)
    if "day" in parts:
        start, end = _one_day(year or today.year, MONTHS[name], int(parts["day"]))
        return (start, end) if year or start <= today else _one_day(today.year - 1, MONTHS[name], int(parts["day"]))
    return _yearly(name, year) if year else _nearest(name, which, today)


def _nearest(name: str, which: str, today: datetime) -> tuple[datetime, datetime]:
    """For "last" the latest that is over, for "next" the first to come; otherwise the latest that has begun."""
    if name in MONTHS_OF:
        size = MONTHS_OF[name]
        month = (12 * today.year + today.month - 1) // size * size
        near = [_months(0, month + k * size + 1, size) for k in range(-2, 3)]
    elif name in YEARLY or name in FEASTS:
        near = [_yearly(name, today.year + k) for k in range(-2, 3)]
    else:
        first, days = {"week": (0, 7), "weekend": (5, 2)}.get(name) or (WEEKDAYS[name] - 1, 1)
        monday = today - today.weekday() * DAY
        near = [(monday + (first + 7 * k) * DAY, monday + (first + 7 * k + days) * DAY) for k in range(-2, 3)]
    if which in LAST:
        return max(each for each in near if each[1] <= today)
    if which in NEXT:
        return min(each for each in near if each[0] > today)
    here = next((each for each in near if each[0] <= today < each[1]), near[2])
    return here if which else max(each for each in near if each[0] <= today)


def _yearly(name: str, year: int) -> tuple[datetime, datetime]:
    if name in YEARLY:
        return _months(year, *YEARLY[name])
    if name != "easter":
        return _one_day(year, 12, 25)
    century, rest = divmod(year, 100)  # by the rule of Meeus, Jones and Butcher
    moon = (19 * (year % 19) + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    week = (32 + 2 * (century % 4) + 2 * (rest // 4) - moon - rest % 4) % 7
    month, day = divmod(moon + week - 7 * ((year % 19 + 11 * moon + 22 * week) // 451) + 114, 31)
    return _one_day(year, month, day + 1)


def _one_day(year: int, month: int, day: int) -> tuple[datetime, datetime]:
    start = datetime(year, month, day, tzinfo=UTC)
    return start, start + DAY


def _months(year: int, month: int, count: int = 1) -> tuple[datetime, datetime]:
    """`count` whole months, beginning with this one; month 13 is January of the next year."""
    first, last = 12 * year + month - 1, 12 * year + month - 1 + count
    return datetime(first // 12, first % 12 + 1, 1, tzinfo=UTC), datetime(last // 12, last % 12 + 1, 1, tzinfo=UTC)
