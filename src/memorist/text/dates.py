"""Find the time expressions of an English question, and the stretch of time that each one means.

"What did we decide last Friday?" must be answered from last Friday, and no index knows when that was. The grammar is
small and its own: a wrong date hides the right memory, and so a word that may be something else (may, march, sat,
fall, a bare 2023) counts only with evidence beside it. Days are UTC days, weeks begin on Monday, seasons are those of
the northern half. A month, weekday or feast without a year is the latest one that has begun.
Five levels call only downwards, so that no text can make them recurse: atom (last May), portion (the end of last May),
shift (a week before …), about (around …), whole (since …, between … and …). Of overlapping readings the longest stays.

German is read by the same grammar as far as its words stand in the same order ("am Wochenende", "im Mai", "letzte Woche").

English costs next to nothing. The setting `dates = "any"` asks `dateparser` too (the extra `dates`, `foreign_dates.py`), where
English finds no time; loading it takes longer than a whole recall, so it is never loaded unless it is asked for, and then
for the first question that may hold a date in another language. What it raises becomes a note in the trace and never an
error of the question.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.util import find_spec
from itertools import islice
from typing import NamedTuple

from memorist.errors import Invalid
from memorist.lazy import dataclass
from memorist.text import calendar
from memorist.text.calendar import AGAIN, DAY, FEASTS, INSTANT, LONG, MONTHS, WEEKDAYS, Stretch, numbered
from memorist.text.patterns import regex

_LETTERS = regex("[a-z]+")
EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)  # the open end of "before X"
LATEST = datetime(2101, 1, 1, tzinfo=UTC)  # and of "after X"


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
        """Whether it means something else on another day, like "last week": it contains no month, weekday, feast or number."""
        words = [GERMAN.get(word, word) for word in self.text.lower().split()]
        return CALLED.isdisjoint(words) and not any(map(str.isdigit, self.text))


class _Found(NamedTuple):
    start: datetime
    end: datetime
    after: int  # the number of the word that follows
    floats: int = 0  # after how many days it recurs, if the text does not say which one is meant

    def at(self, stretch: Stretch) -> _Found:
        return self._replace(start=stretch[0], end=stretch[1])


def spans(text: str, now: datetime) -> list[Span]:
    """The time expressions in the first LOOKED_AT characters, in order; they do not overlap. Any str is valid.

    >>> [(s.text, f"{s.start:%F}", f"{s.end:%F}") for s in spans("Where was I in May?", datetime(2023, 3, 1, tzinfo=UTC))]
    [('in May', '2022-05-01', '2022-06-01')]
    """
    low = text[:LOOKED_AT].lower()
    if TELLING.isdisjoint(_LETTERS.findall(low)) and not any(map(str.isdigit, low)):
        return []  # no word occurs that every expression needs; most queries have none, and need no closer look
    reading = _Reader(Words(text), now.astimezone(UTC))
    readings = [(at, found) for at in reading.text.known if (found := reading.tried(_Reader.whole, at))]
    readings.sort(key=lambda reading: (reading[0] - reading[1].after, reading[0]))
    taken: set[int] = set()
    kept = []
    for at, found in readings:
        if taken.isdisjoint(range(at, found.after)):
            taken.update(range(at, found.after))
            begin, finish = reading.text.places[at][0], reading.text.places[found.after - 1][1]
            kept.append(Span(found.start, found.end, text[begin:finish], begin, finish))
    return sorted(kept, key=lambda span: span.begin)


class _Reader:
    """Reads expressions that begin at a given word, as seen from one moment."""

    def __init__(self, text: Words, now: datetime) -> None:
        self.text, self.words, self.now = text, text.words, now

    def tried(self, rule: Callable[[_Reader, int], _Found | None], at: int) -> _Found | None:
        """What the rule finds, unless the calendar has no such thing or it lies outside the supported years."""
        try:
            found = rule(self, at)
        except (ValueError, OverflowError):
            return None
        return found if found and EARLIEST <= found.start < found.end <= LATEST else None

    def whole(self, at: int) -> _Found | None:
        word, operand = self.words[at], at + 1
        if word in JOINTS:
            return self.range(at)
        if two := TWO_WORDS.get((word, self.words[operand])):
            word, operand = two, operand + 1
        if word not in OPEN:
            return self.about(operand if word in SKIPPED else at)
        found = self.about(operand, led=True)
        if not found:
            return None
        ends = {"since": (found.start, self.now), "before": (EARLIEST, found.start), "after": (found.end, LATEST)}
        return found.at(ends.get(word, (EARLIEST, found.end)))

    def range(self, at: int) -> _Found | None:
        """Between X and Y. If both could be of any year or week, the first is the latest before the second."""
        first = self.about(at + 1, led=True)
        if not first or self.words[first.after] not in JOINTS[self.words[at]]:
            return None
        then = first.after + 1
        if self.words[then] == "now":
            return first._replace(end=self.now, after=then + 1)
        last = self.about(then, led=True)
        if last and last.floats and not first.floats and last.start < first.start:
            last = _Reader(self.text, first.start + (last.floats - 1) * DAY).about(then, led=True)
        elif last and first.floats:
            first = _Reader(self.text, last.start).about(at + 1, led=True)
        return last._replace(start=first.start) if first and last else None

    def about(self, at: int, led: bool = False) -> _Found | None:
        at = self.text.the(at)
        word = self.words[at]
        if word not in ABOUT:
            return self.shift(at, led)
        if self.words[at - 1] in CONCERNING:
            return None
        found = self.shift(self.text.the(at + 1), led or word != "about")
        if not found:
            return None
        size = found.end - found.start
        margin = size if size < DAY else max(3, size.days // 2) * DAY
        return found.at((max(EARLIEST, found.start - margin), min(LATEST, found.end + margin)))

    def shift(self, at: int, led: bool) -> _Found | None:
        amount = self.text.amount(at)
        return (self.away(*amount) if amount else None) or self.beside(at) or self.portion(at, led)

    def away(self, low: int, high: int, unit: str, at: int) -> _Found | None:
        """This long ago, or before or after something."""
        word, sign = self.words[at], 1
        if word == "ago":
            base, sign = _Found(self.now, self.now, at + 1), -1
        elif word == "from" and self.words[at + 1] == "now":
            base = _Found(self.now, self.now, at + 2)
        else:
            other = self.portion(self.text.the(at + 1), led=True) if word in ("before", "after", "from") else None
            if not other:
                return None
            sign = -1 if word == "before" else 1
            edge = other.start if word == "before" else max(other.start, other.end - DAY)
            base = other._replace(start=edge)
        near, far = sorted((calendar.step(base.start, unit, sign * low), calendar.step(base.start, unit, sign * high)))
        return base.at((calendar.cell(near, unit)[0], calendar.cell(far, unit)[1]))

    def beside(self, at: int) -> _Found | None:
        """The day before X, the Sunday after X, the night before X, the week before last."""
        name, word = self.words[at], self.words[at + 1]
        if word not in ("before", "after") or name not in BESIDES:
            return None
        which = "last" if word == "before" else "next"
        found = self.portion(self.text.the(at + 2), led=True)
        if not found:
            last_but_one = self.words[at + 2] == which and name in AGAIN | WEEKDAYS.keys()
            return _Found(*self.second(which, name), at + 3) if last_but_one else None
        size = 7 * DAY if name == "week" else DAY
        edges = (found.start - size, found.start) if which == "last" else (found.end, found.end + size)
        if name == "night":
            return found.at(self.hours(edges[0], name))
        if name not in ("day", "week"):
            edges = calendar.pick(which, name, found.start if which == "last" else found.end - INSTANT)
        return found.at(edges)

    def second(self, which: str, name: str) -> Stretch:
        """The one before last, or after next."""
        return calendar.pick(which, name, calendar.pick(which, name, self.now)[0])

    def portion(self, at: int, led: bool) -> _Found | None:
        """A part of something: early May, later this week, the end of 2023, the first Monday of May."""
        word, then = self.words[at], self.words[at + 1]
        if word in THIRDS or word in SOONER:
            return self.early_or_late(at)
        if word in ENDS and then == "of":
            found = self.owner(at + 2)
            return found and found.at(calendar.part(found[:2], *ENDS[word]))
        if word == "week" and then == "of":
            found = self.atom(self.text.the(at + 2), led=True)
            return found and found.at((calendar.monday(found.start), calendar.monday(found.start) + 7 * DAY))
        return self.nth(at) or self.atom(at, led)

    def early_or_late(self, at: int) -> _Found | None:
        """Early May, late in May; earlier this week is up to now, later is from now on."""
        word = self.words[at]
        found = self.atom(self.text.the(at + 1 + (self.words[at + 1] == "in")), led=True)
        if not found:
            return None
        if word in THIRDS:
            return found.at(calendar.part(found[:2], THIRDS[word], 3))
        return found.at((found.start, self.now) if word == "earlier" else (self.now, found.end))

    def nth(self, at: int) -> _Found | None:
        """The first week, the last day, the second Monday of something."""
        rank, name = ORDINALS.get(self.words[at], 0), self.words[at + 1]
        found = self.owner(at + 3) if self.words[at + 2] == "of" and (rank or self.words[at] == "last") else None
        if not found or not (name in ("day", "week", "weekend") or name in WEEKDAYS):
            return None
        if name in ("day", "week"):
            size = DAY if name == "day" else 7 * DAY
            start = found.start + (rank - 1) * size if rank else found.end - size
        else:
            size = 2 * DAY if name == "weekend" else DAY
            first = calendar.pick("next", name, found.start - INSTANT)[0] + (rank - 1) * 7 * DAY
            start = first if rank else calendar.pick("last", name, found.end)[0]
        return found.at((start, start + size)) if start < found.end else None

    def owner(self, at: int) -> _Found | None:
        """What something is a part of; "the month" is the present one."""
        if self.words[at] == "the" and self.words[at + 1] in AGAIN:
            return _Found(*calendar.pick("this", self.words[at + 1], self.now), at + 2)
        return self.atom(self.text.the(at), led=True)

    def atom(self, at: int, led: bool) -> _Found | None:
        word = self.words[at]
        led = led or self.words[at - 1 - (self.words[at - 1] == "the")] in LEADS
        if word in DAYS or word in LATELY:
            found: _Found | None = self.near(at)
        elif word in WHICH:
            found = self.which(at)
        elif word in WEEKDAYS:
            found = self.weekday(at, led)
        elif word[0] in FIGURES:
            found = self.numeric(at, led) or self.day_first(at)
        elif word == "weekend" and self.text.in_the(at):
            found = _Found(*calendar.pick("", word, self.now), at + 1, floats=7)
        else:
            found = self.day_first(at) or self.yearly(at, led)
        if found and found.end - found.start == DAY and self.words[found.after] in PARTS_OF_DAY:
            return found.at(self.hours(found.start, self.words[found.after]))._replace(after=found.after + 1)
        return found

    def near(self, at: int) -> _Found:
        word = self.words[at]
        if word in LATELY:
            return self.rolling("last", 30, "day", at + 1)
        day = calendar.midnight(self.now) + DAYS[word] * DAY
        return _Found(*(self.hours(day, "night") if word == "tonight" else (day, day + DAY)), at + 1)

    def hours(self, day: datetime, name: str) -> Stretch:
        return day + PARTS_OF_DAY[name][0] * calendar.HOUR, day + PARTS_OF_DAY[name][1] * calendar.HOUR

    def rolling(self, which: str, count: int, unit: str, after: int) -> _Found:
        """The last `count` units up to now, or the next from now on; in whole days unless the unit is hours."""
        other = calendar.step(self.now, unit, count if which == "next" else -count)
        if unit not in ("minute", "hour"):
            other = calendar.midnight(other) + (which == "next") * DAY
        return _Found(self.now, other, after) if which == "next" else _Found(other, self.now, after)

    def which(self, at: int) -> _Found | None:
        """Last, this or next something."""
        word, then = self.words[at], at + 1
        if word == "this" and self.words[then] in ("past", "coming"):
            word, then = self.words[then], then + 1
        name, which = self.words[then], WHICH[word]
        if name not in PARTS_OF_DAY:
            return self.lasting(at, word, then) or self.which_named(which, then)
        day = calendar.midnight(self.now) - (which == "last") * DAY  # this morning, last night
        told = which == "this" or (which == "last" and name in ("evening", "night"))
        return _Found(*self.hours(day, name), then + 1) if told else None

    def lasting(self, at: int, word: str, then: int) -> _Found | None:
        """The last three days, the past week: up to now, or the next from now on."""
        which, name = WHICH[word], self.words[then]
        amount = self.text.amount(then) if which != "this" and name not in ("a", "an") else None
        if amount:  # but "will last three days" is no time
            return None if self.words[at - 1] in VERBAL else self.rolling(which, *amount[1:])
        since_then = self.words[at - 1] == "the" and self.words[at - 2] in SKIPPED
        rolls = word == "past" or (word == "last" and since_then)
        return self.rolling(which, *UNITS[name], then + 1) if rolls and name in UNITS else None

    def which_named(self, which: str, at: int) -> _Found | None:
        """Last week, next Friday, this May."""
        name, capital = self.words[at], self.text.capital[at]
        if name in AGAIN or (name in WEEKDAYS and (name not in OTHER_WORDS or capital)):
            return _Found(*calendar.pick(which, name, self.now), at + 1)
        name, after = self.name(at)
        if not name or (which == "this" and name in MONTHS and name not in SURE and not capital):
            return None
        return _Found(*calendar.pick(which, name, self.now), after)

    def weekday(self, at: int, led: bool) -> _Found | None:
        """Monday; Monday, May 5; Monday of last week."""
        name, words = self.words[at], self.words
        if words[at - 1] in RECURRING or (name not in SURE and not led):
            return None
        if name in OTHER_WORDS and not self.text.capital[at]:
            return None
        date = self.date_of_weekday(at)
        if date:
            return date
        then = at + 1 + (words[at + 1] == "of")
        week = self.which(then) if words[then] in WHICH and words[then + 1] == "week" else None
        if week:
            day = calendar.monday(week.start) + (WEEKDAYS[name] - 1) * DAY
            return week.at((day, day + DAY))
        return _Found(*calendar.pick("", name, self.now), at + 1, floats=7)

    def date_of_weekday(self, at: int) -> _Found | None:
        """Monday, May 5: the date says which Monday."""
        then = self.text.the(at + 1 + (self.words[at + 1] == ","))
        word = self.words[then]
        if word not in MONTHS and word not in ORDINALS and not word[0].isdigit():
            return None
        date = self.numeric(then, led=True) or self.day_first(then) or self.yearly(then, led=False)
        return date if date and date.end - date.start == DAY else None

    def numeric(self, at: int, led: bool) -> _Found | None:
        """2023-05-05, 2023-05, 05/05/2023, 5/5, the 90s, in 2023."""
        word = self.words[at]
        if form := _YEAR_FIRST.fullmatch(word):
            return self.year_first(form, at)
        if form := _YEAR_LAST.fullmatch(word):
            return self.year_last(form, at, led)
        if form := _DECADE.fullmatch(word):
            return self.decade(form, at)
        told = led or self.words[at - 1] in ("of", "year")
        year, after = self.year(at) if told else (0, at)
        return _Found(*calendar.months(year, 1, 12), after) if year else None

    def year_first(self, form: re.Match[str], at: int) -> _Found | None:
        year, month = int(form[1]), int(form[2] or form[4])
        if not 1 <= month <= 12:
            return None
        if form[5]:
            return self.dated(year, month, int(form[5]), at + 1)
        return _Found(*calendar.months(year, month), at + 1)

    def decade(self, form: re.Match[str], at: int) -> _Found | None:
        """The 90s, which are the latest that have begun."""
        year = int((form[2] or "19") + form[3])
        if not form[2]:
            year += 100 * (year + 100 <= self.now.year)
        told = form[2] or form[1] or self.words[at - 1] == "the"
        return _Found(*calendar.months(year, 1, 120), at + 1) if told else None

    def year_last(self, form: re.Match[str], at: int, led: bool) -> _Found | None:
        """Month first if both are possible, but with dots the day first. Without a year only where a date is expected."""
        first, mark, second, year = int(form[1]), form[2], int(form[3]), form[4]
        told = year if mark == "/" else year and len(year) == 4
        expected = mark == "/" and not year and led and form[0] != "24/7" and not self.text.counts(at)
        if not told and not expected:
            return None
        month, day = (second, first) if mark == "." or first > 12 else (first, second)
        full = int(year or 0) + (0 if not year or len(year) == 4 else 2000 if int(year) < 70 else 1900)
        return self.dated(full, month, day, at + 1) if 1 <= month <= 12 else None

    def day_first(self, at: int) -> _Found | None:
        """5 May 2023, the 5th of May, the first of May."""
        word, of = self.words[at], self.words[at + 1] == "of"
        name = self.words[at + 1 + of]
        day, bare = self.text.day(at), plain(word, 2) > 0
        if not day or name not in MONTHS or (bare if of else word in ORDINALS):
            return None
        year, after = self.year(at + 2 + of)
        if bare and not year and name not in SURE and not self.text.capital[at + 1]:
            return None  # only 2 may enter
        return self.dated(year, MONTHS[name], day, after)

    def yearly(self, at: int, led: bool) -> _Found | None:
        """A month, season, quarter or feast, with or without its year; a month also with its day."""
        name, then = self.name(at)
        before = self.words[at - 1]
        if not name or before in RECURRING or (before in ("a", "an") and name in FEASTS):  # a Christmas tree
            return None
        place = self.day_told(at, then) if name in MONTHS else 0
        if place:
            year, after = self.year(place + 1)
            return self.dated(year, MONTHS[name], self.text.day(place), after)
        year, after = self.year(then)
        evident = led or name in SURE or self.text.capital[at] or self.words[after - 1] != "year"
        if year and evident:
            return _Found(*calendar.yearly(name, year), after)
        if not (led or name in SURE) or (self.words[then] == "of" and name.startswith("q")):
            return None
        return _Found(*calendar.pick("", name, self.now), then, floats=365)

    def day_told(self, at: int, then: int) -> int:
        """The position of the day given with a month (May 5, May the fifth), or 0."""
        place = self.text.the(then)
        if place != then and plain(self.words[place], 2):
            return 0
        if not self.text.day(place) or self.text.counts(place):
            return 0
        return place if self.text.capital[at] or self.words[place] not in ORDINALS else 0

    def name(self, at: int) -> tuple[str, int]:
        """What comes once a year, by its name, and the word that follows."""
        word = self.words[at]
        if word in FEAST_STARTS:
            for size in (3, 2, 1):
                if " ".join(self.words[at : at + size]) in FEASTS:
                    return " ".join(self.words[at : at + size]), at + size
        if word in ORDINALS and self.words[at + 1] == "quarter" and ORDINALS[word] <= 4:
            return f"q{ORDINALS[word]}", at + 2
        return (word, at + 1) if word in LONG else ("", at)

    def dated(self, year: int, month: int, day: int, after: int) -> _Found | None:
        """One day; without a year, the latest such day that has begun."""
        for tried in (year,) if year else range(self.now.year, self.now.year - 9, -1):
            first, end = calendar.months(tried, month)
            start = first + (day - 1) * DAY
            if first <= start < end and (year or start <= self.now):
                return _Found(start, start + DAY, after, floats=0 if year else 365)
        return None

    def year(self, at: int) -> tuple[int, int]:
        """The year given here, if any, and the word that follows."""
        then = at + (self.words[at] in (",", "of"))
        number = plain(self.words[then], 4)
        if 1900 <= number <= 2100 and not self.text.counts(then):
            return number, then + 1
        if self.words[then] in ("last", "this", "next") and self.words[then + 1] == "year":
            return calendar.pick(self.words[then], "year", self.now)[0].year, then + 2
        return 0, at


# ---------------------------------------------------------------- in English or in any language


class Spoken(NamedTuple):
    """The times that a text mentions: those recognised, and what went wrong meanwhile."""

    spans: tuple[Span, ...]
    note: str | None = None


TimeReader = Callable[[str, datetime], Spoken]


def english(text: str, now: datetime) -> Spoken:
    return Spoken(tuple(spans(text, now)))


def any_language(text: str, now: datetime) -> Spoken:
    """English first; if that finds nothing, the language of the text, if it is a supported one."""
    found = english(text, now)
    if found.spans:
        return found
    from memorist.text import foreign_dates

    try:
        spans, whole = foreign_dates.look(text, now.astimezone(UTC))
    except Exception as problem:  # library code may fail, and the query can be answered without it
        return Spoken((), f"times in other languages were not read: {type(problem).__name__}: {str(problem)[:200]}")
    note = None if whole else "times in other languages were looked for in a part of the question only"
    return Spoken(tuple(spans), note)


READERS: dict[str, TimeReader] = {"english": english, "any": any_language}


def reader_named(which: str) -> TimeReader:
    """The reader that the setting `dates` names."""
    if which == "any" and find_spec("dateparser") is None:
        raise Invalid("dates = 'any' needs dateparser: pip install 'memorist[dates]', or set dates to 'english'")
    return READERS[which]


# ---------------------------------------------------------------- a text cut into the words that dates are told with
# Whatever is glued together stays one piece (3.11, a@b.c, 555-1234, may_5), so that no part of it can be taken for a date.

LOOKED_AT = 4096  # characters that are read; a longer text is more than a query
MOST = 256  # words at which an expression is looked for: more than LOOKED_AT characters of plain English hold

SMALL = numbered(
    "one a an|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    "|eighteen|nineteen"
)
ONES = {name: n for name, n in SMALL.items() if n < 10 and len(name) > 2}
TENS = {f"{ten}ty": 10 * n for n, ten in enumerate("twen thir for fif six seven eigh nine".split(), 2)}
NUMBERS = SMALL | TENS | {f"{ten}-{one}": t + n for ten, t in TENS.items() for one, n in ONES.items()}
ORDINALS = numbered(
    "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth|fourteenth|fifteenth"
    "|sixteenth|seventeenth|eighteenth|nineteenth|twentieth|twenty-first|twenty-second|twenty-third|twenty-fourth"
    "|twenty-fifth|twenty-sixth|twenty-seventh|twenty-eighth|twenty-ninth|thirtieth|thirty-first"
)
VAGUE = {"couple": (2, 3), "few": (2, 5), "several": (3, 9)}
HALVES = {"year": (6, "month"), "month": (15, "day"), "day": (12, "hour"), "hour": (30, "minute")}
UNITS = {unit + s: (1, unit) for unit in ("minute", "hour", "day", "week", "month", "year") for s in ("", "s")}
UNITS |= {"night": (1, "day"), "nights": (1, "day"), "fortnight": (2, "week"), "fortnights": (2, "week")}
UNITS |= {"quarter": (3, "month"), "quarters": (3, "month"), "decade": (10, "year"), "decades": (10, "year")}
PARTS_OF_DAY = {"morning": (0, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}  # hours of the day
DAYS = {"yesterday": -1, "today": 0, "tonight": 0, "tomorrow": 1}
WHICH = {"last": "last", "past": "last", "previous": "last", "this": "this", "next": "next", "coming": "next"}
THIRDS = {"early": 0, "mid": 1, "late": 2}
ENDS = {"beginning": (0, 4), "start": (0, 4), "middle": (1, 3), "end": (3, 4), "close": (3, 4)}
SOONER = {"earlier", "later"}
LATELY = {"recently", "lately"}
OPEN = {"since", "before", "until", "till", "after"}
TWO_WORDS = {("prior", "to"): "before", ("up", "to"): "until"}
JOINTS = {"between": ("and",), "from": ("to", "until", "till", "through")}
SKIPPED = frozenset("in on during over within throughout at for".split())
LEADS = frozenset("in on since until till during before after around over through throughout early mid late".split())
ABOUT = {"around", "about", "circa", "approximately", "roughly"}
# After these, "about" names a topic, not a rough date.
CONCERNING = frozenset(
    """me us say said says know knew talk talked talking tell told think thought ask asked what how anything something
    everything mention mentioned write wrote feel felt remember remembered hear heard all discuss discussed learn""".split()
)
VERBAL = frozenset("will to can may could would should might must not did didn't does doesn't won't can't".split())
RECURRING = {"every", "each", "black", "cyber", "ash", "palm"}
BESIDES = frozenset({"day", "night", *AGAIN, *WEEKDAYS})
OTHER_WORDS = {"sun", "sat", "wed", "mon"}
SURE = {name for name in (*WEEKDAYS, *MONTHS) if len(name) > 5 and name != "august"} | {"july", *FEASTS}
SURE |= {"q1", "q2", "q3", "q4"}
# A number before one of these, or before a plural, counts things; it is neither a day nor a year.
COUNTED = frozenset("km percent people men women children mb gb ms cup of tsp tbsp teaspoon usd eur more or".split())
NO_PLURALS = frozenset("does this besides towards perhaps always sometimes afterwards onwards plus versus".split())
FIGURES = frozenset("'’0123456789")  # what a number or a decade begins with
FEAST_STARTS = frozenset(name.split()[0] for name in FEASTS)
CALLED = frozenset().union(LONG, WEEKDAYS, FEAST_STARTS)
# The German names that are nothing else, in any language; morgen is also the morning, and "in zwei Wochen" has another order.
GERMAN = dict(
    pair.split(":")
    for pair in """montag:monday dienstag:tuesday mittwoch:wednesday donnerstag:thursday freitag:friday samstag:saturday
    sonnabend:saturday sonntag:sunday wochenende:weekend woche:week monat:month jahr:year gestern:yesterday heute:today
    januar:january februar:february märz:march mai:may juni:june juli:july oktober:october dezember:december
    frühling:spring frühjahr:spring sommer:summer herbst:autumn weihnachten:christmas ostern:easter""".split()
)
GERMAN_LEADS = {"am": "on", "im": "in", "letzte": "last", "vergangene": "last", "vorige": "last", "diese": "this"}
GERMAN_LEADS |= {"nächste": "next", "kommende": "next", "seit": "since", "bis": "until", "übers": "over", "vom": "from"}
# Every expression contains one of these.
TELLING = frozenset().union(LONG, WEEKDAYS, AGAIN, FEAST_STARTS, UNITS, DAYS, PARTS_OF_DAY, LATELY)
TELLING |= {_LETTERS.findall(word)[-1] for word in GERMAN}
VOCABULARY = frozenset().union(
    *(LONG, WEEKDAYS, AGAIN, FEAST_STARTS, NUMBERS, ORDINALS, VAGUE, UNITS, DAYS, WHICH, THIRDS, ENDS, SOONER),
    *(LATELY, OPEN, JOINTS, SKIPPED, ABOUT, ("half", "the", "prior", "up")),
)


_PIECES = regex(r"[^\s,;!?()\[\]{}<>\"“”«»*|…–—]+|[,;!?()\[\]{}<>\"“”«»*|…–—]")
_YEAR_FIRST = regex(r"([0-9]{4})(?:-([0-9]{2})|([-/])([0-9]{1,2})\3([0-9]{1,2})(?:t[0-9].*)?)")
_YEAR_LAST = regex(r"([0-9]{1,2})([-/.])([0-9]{1,2})(?:\2([0-9]{4}|[0-9]{2}))?")
_DECADE = regex(r"(['’]?)((?:19|20)?)([0-9]0)['’]?s")


class Words:
    """A text as lower-case words without possessive, with "|" where a phrase ends, and the position of each."""

    def __init__(self, text: str) -> None:
        self.words, self.places, self.capital = ["|"], [(0, 0)], [False]
        for piece in _PIECES.finditer(text, 0, LOOKED_AT):
            if piece.end() < LOOKED_AT or len(text) == LOOKED_AT:  # otherwise it may be half a word
                self._read(piece[0], piece.start())
        self.translated = self._translate()
        known = (at for at, word in enumerate(self.words) if word in VOCABULARY or word[0] in FIGURES)
        self.known = list(islice(known, MOST))
        for _ in range(4):  # so that looking ahead needs no checks
            self._add("|", "", len(text))

    def _read(self, raw: str, begin: int) -> None:
        bare = raw.rstrip(".:'’")
        word = bare.lower()
        if word.endswith(("'s", "’s")) and not word[0].isdigit():
            word = word[:-2]
        head, dash, tail = word.partition("-")
        if dash and head in THIRDS:  # mid-May
            self._add(head, bare[: len(head)], begin)
            begin, word, bare = begin + len(head) + 1, tail, bare[len(head) + 1 :]
        self._add(word, bare, begin)
        if ("." in raw[-2:] or raw[-1] == ":") and word not in MONTHS and word not in WEEKDAYS:
            self._add("|", "", begin + len(bare))

    def _add(self, word: str, raw: str, begin: int) -> None:
        self.words.append(word if word.isalnum() or len(word) > 1 or word == "," else "|")
        self.places.append((begin, begin + len(raw)))
        self.capital.append(raw[:1].isupper())

    def _translate(self) -> set[int]:
        """Translates German names of times, and the word before each that says which: am Montag, letzte Woche, im Mai. Returns
        their places."""
        found = {at for at, word in enumerate(self.words) if word in GERMAN}
        # French has a mai too, and spells it small.
        found -= {at for at in found if self.words[at] == "mai" and not self.capital[at] and self.words[at - 1] != "im"}
        for at in found:
            self.words[at] = GERMAN[self.words[at]]
            self._undot(at)
            before = self.words[at - 1]
            self.words[at - 1] = GERMAN_LEADS.get(before) or GERMAN_LEADS.get(before.rstrip("mnrs"), before)
        return found

    def _undot(self, at: int) -> None:
        """Removes the break at the dot of "5. Mai"."""
        if self.words[at - 1] == "|" and plain(self.words[at - 2], 2):
            self.words[at - 2 : at] = "|", self.words[at - 2]
            self.places[at - 2 : at] = self.places[at - 1], self.places[at - 2]

    def amount(self, at: int) -> tuple[int, int, str, int] | None:
        """Two weeks, a few days, half a year: minimum, maximum, unit, and the word that follows."""
        words = self.words
        if words[at] == "half" and words[at + 1] in ("a", "an") and words[at + 2] in HALVES:
            count, unit = HALVES[words[at + 2]]
            return count, count, unit, at + 3
        at += words[at] == "a" and words[at + 1] in VAGUE
        if words[at] in VAGUE:
            low, high = VAGUE[words[at]]
            at += words[at + 1] == "of"
        else:
            low = NUMBERS.get(words[at], 0) or plain(words[at], 4)
            if words[at] in TENS and words[at + 1] in ONES:
                low, at = low + ONES[words[at + 1]], at + 1
            high = low
        if not low or words[at + 1] not in UNITS:
            return None
        size, unit = UNITS[words[at + 1]]
        return low * size, high * size, unit, at + 2

    def day(self, at: int) -> int:
        word = self.words[at]
        digits = word[:-2] if word[-2:] in ("st", "nd", "rd", "th") else word
        return ORDINALS.get(word, 0) or plain(digits, 2)

    def counts(self, at: int) -> bool:
        """Whether this number is a count: 5 miles, 2000 requests."""
        word = self.words[at + 1]
        plural = word[-1] == "s" and word[-2:] != "ss" and len(word) > 3 and not self.capital[at + 1]
        return word in COUNTED or (plural and word not in NO_PLURALS)

    def in_the(self, at: int) -> bool:
        """Whether it is phrased like "on the weekend" or "am Wochenende"."""
        the = self.words[at - 1] == "the"
        return (the or at in self.translated) and self.words[at - 1 - the] in SKIPPED

    def the(self, at: int) -> int:
        return at + (self.words[at] == "the")


def plain(word: str, most: int) -> int:
    """A number of at most `most` digits, otherwise 0."""
    return int(word) if len(word) <= most and word.isascii() and word.isdigit() else 0


def in_words(text: str, here: datetime) -> datetime | None:
    """When "yesterday" or "last week" begins, seen from a local time. The text must contain nothing else."""
    words = text.strip()
    if words.lower() == "now":
        return here
    found = spans(words, here.replace(tzinfo=UTC))  # calculates in UTC; days are those of the local clock
    whole = len(found) == 1 and found[0].text == words
    return found[0].start.replace(tzinfo=None) if whole else None
