"""Times in other languages than English, with `dateparser` (the extra `dates`), for questions in which ours found none.

Its own search costs seconds the first time and takes "die", "mit" and "8080" for dates. So it is asked as little as possible:
the language is recognised by our own words (`tongues.py`), only phrases with evidence in them are handed over, each must be
understood whole, and what it answers is measured from one fixed moment and counted again from the real one. That also keeps
its caches from growing with every question.
"""

from __future__ import annotations

import functools
import re
import time
import unicodedata
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from memorist.text import calendar
from memorist.text.calendar import DAY, MONTHS, WEEKDAYS, Stretch
from memorist.text.dates import EARLIEST, LATEST, Span
from memorist.text.tongues import (
    COUNTED,
    CYRILLIC,
    ENGLISH,
    MAY,
    ONE_FORM,
    ONLY_UKRAINIAN,
    RUSSIAN,
    SCRIPTS,
    TONGUES,
    UKRAINIAN,
    UNSURE,
    Script,
    Tongue,
)

LONGEST = 1000  # characters that are looked at: more than any question in which a date stands out
WORDS = 6  # of one phrase: "il y a trois jours" has five
LONGEST_WORD = 24
MOST = 150  # phrases that are handed over
SECONDS = 0.25  # for all of them, after loading
BASE = datetime(
    2004, 12, 30, 12, 34, 56
)  # the end of a leap year; the odd time tells what was counted from what was named
_PIECE = re.compile(r"[^\s,;!?¿¡()\[\]{}<>\"“”„«»*|…–—]+|[,;!?¿¡()\[\]{}<>\"“”„«»*|…–—]")
_WORD = re.compile(r"([A-Za-z]{1,2}['’])?([^\W\d_]+(?:[-'’][^\W\d_]+)*)([.:]*)")
_NUMBER = re.compile(r"(\d{1,4})(?:\.|er|º|ª|°)?")


def look(text: str, now: datetime) -> tuple[list[Span], bool]:
    """The times in the text, in order, and whether all of it was looked at."""
    looking = _Looking(text[:LONGEST], now)
    found: list[Span] = []
    try:
        for span in looking.spans():
            found.append(span)
    except _TooLong:
        return found, False
    return found, len(text) <= LONGEST or not looking.asked


class _Token(NamedTuple):
    word: str  # in lower case; "" where no phrase goes on
    begin: int
    finish: int

    @property
    def figure(self) -> bool:
        return self.word.isdecimal()


class _Read(NamedTuple):
    """What dateparser made of a phrase."""

    moment: datetime
    unit: str  # day, week, month or year
    counted: bool  # from now on, as "three days ago" is, and not named


class _TooLong(Exception):
    pass


@functools.cache
def _parser(code: str) -> Any:
    """Loaded for the first phrase of a language. The settings are always the same, since it keeps tables for each of them."""
    from dateparser.date import DateDataParser

    settings = {
        "RELATIVE_BASE": BASE,
        "PREFER_DATES_FROM": "past",
        "PREFER_DAY_OF_MONTH": "first",
        "TIMEZONE": "UTC",
        "PARSERS": ["relative-time", "absolute-time"],
    }
    parser = DateDataParser(languages=[code], settings=settings)
    parser.get_date_data("1 2004")  # makes its tables, so that the time for reading is for reading
    return parser


class _Looking:
    """One text, seen from one moment."""

    def __init__(self, text: str, now: datetime) -> None:
        self.text, self.now = text, now
        self.asked, self.until = 0, 0.0

    def spans(self) -> Iterator[Span]:
        for script in SCRIPTS:
            if script.letters.search(self.text):
                yield from self.in_script(script)
                return
        tokens = list(_tokens(self.text))
        for tongue in _tongues(self.text, {token.word for token in tokens}):
            found = False
            for span in _Phrases(self, tongue, tokens).spans():
                found = True
                yield span
            if found:
                return

    def in_script(self, script: Script) -> Iterator[Span]:
        for match in script.dates.finditer(self.text):
            phrase = unicodedata.normalize("NFKC", match[0]).translate(ONE_FORM[script.code])
            if phrase.endswith("前"):
                phrase = phrase.translate(COUNTED)
            yearless = "月" in phrase and "年" not in phrase and not phrase.endswith("前") and phrase[0].isdecimal()
            read = self.read(script.code, f"{BASE.year}年{phrase}" if yearless else phrase)
            if read:
                yield from self.span(self.placed(read, phrase, not yearless), *match.span())

    def read(self, code: str, phrase: str) -> _Read | None:
        parser = _parser(code)
        self.until = self.until or time.perf_counter() + SECONDS
        self.asked += 1
        if self.asked > MOST or time.perf_counter() > self.until:
            raise _TooLong
        found = parser.get_date_data(phrase)
        moment = found.date_obj
        if moment is None or found.period not in ("day", "week", "month", "year"):
            return None
        return _Read(moment, found.period, moment.time() == BASE.time())

    def placed(self, read: _Read, phrase: str, with_year: bool) -> Stretch | None:
        """The stretch that is meant, unless the calendar has none."""
        try:
            return self.counted(read, phrase) if read.counted else self.dated(read, with_year)
        except (ValueError, OverflowError):
            return None

    def counted(self, read: _Read, phrase: str) -> Stretch:
        """So far from now as it was from BASE; "last week" is a week from Monday on, "two weeks ago" is about that long."""
        if read.unit in ("month", "year"):
            size = calendar.MONTHS_OF[read.unit]
            apart = (12 * (read.moment.year - BASE.year) + read.moment.month - BASE.month) // size
        else:
            apart = (read.moment - BASE).days // (7 if read.unit == "week" else 1)
        then = calendar.step(self.now, read.unit, apart)
        if read.unit == "week" and not any(char.isdecimal() for char in phrase):
            return calendar.monday(then), calendar.monday(then) + 7 * DAY
        return calendar.cell(then, read.unit)

    def dated(self, read: _Read, with_year: bool) -> Stretch | None:
        """A named year, month or day; without its year, the latest that has begun."""
        if read.unit == "year":
            return calendar.months(read.moment.year, 1, 12)
        for year in (read.moment.year,) if with_year else range(self.now.year, self.now.year - 9, -1):
            first, end = calendar.months(year, read.moment.month)
            start = first + (read.moment.day - 1) * DAY
            if start < end and (with_year or start <= self.now):
                return (first, end) if read.unit == "month" else (start, start + DAY)
        return None

    def span(self, stretch: Stretch | None, begin: int, finish: int) -> Iterator[Span]:
        if stretch and EARLIEST <= stretch[0] < stretch[1] <= LATEST:
            yield Span(*stretch, self.text[begin:finish], begin, finish)


class _Phrases:
    """The phrases of a text in one language that puts blanks between its words; the longest that is a date counts."""

    def __init__(self, looking: _Looking, tongue: Tongue, tokens: list[_Token]) -> None:
        edge = _Token("", 0, 0)
        self.looking, self.tongue, self.tokens = looking, tongue, [edge, *tokens, edge]

    def spans(self) -> Iterator[Span]:
        at = 1
        while at < len(self.tokens) - 1:
            size, found = self.longest(at)
            yield from found
            at += size

    def longest(self, at: int) -> tuple[int, list[Span]]:
        for size in range(min(WORDS, len(self.tokens) - 1 - at), 0, -1):
            phrase = self.tokens[at : at + size]
            if all(token.word for token in phrase):
                found = list(self.named(at) if size == 1 and not phrase[0].figure else self.dated(phrase))
                if found:
                    return size, found
        return 1, []

    def read(self, phrase: list[_Token]) -> _Read | None:
        """As dateparser is to see it: with the blanks that are there, and numbers as figures."""
        said, place = "", phrase[0].begin
        for token in phrase:
            said += self.looking.text[place : token.begin] + self.tongue.spelled.get(token.word, token.word)
            place = token.finish
        return self.looking.read(self.tongue.code, said)

    def dated(self, phrase: list[_Token]) -> Iterator[Span]:
        """With a number (5 May, May 2022, 3 days ago), or with last, this, next."""
        words = [self.tongue.spelled.get(token.word, token.word) for token in phrase]
        number = any(word.isdecimal() for word in words)
        distant = any(token.word in self.tongue.ago for token in phrase)
        ago = number and distant
        asked = number >= distant and any(token.word in self.tongue.which for token in phrase)
        ended = phrase[-1].figure or len(phrase[-1].word) > 2  # and not with the "y" or "de" of what comes next
        month = ended and any(token.figure for token in phrase) and _has_a_name(phrase)
        read = self.read(phrase) if ago or asked or month else None
        if read and (ago or asked if read.counted else month and self.is_a_month(phrase)):
            told = any(token.figure and 1900 <= int(token.word) <= 2100 for token in phrase)
            stretch = self.looking.placed(read, " ".join(words), told)
            yield from self.looking.span(stretch, phrase[0].begin, phrase[-1].finish)

    def is_a_month(self, phrase: list[_Token]) -> bool:
        """Whether the words without the numbers are one: in "Friday 5" the 5 counts something else."""
        alone = self.read([token for token in phrase if not token.figure])
        return alone is not None and alone.unit == "month" and not alone.counted

    def named(self, at: int) -> Iterator[Span]:
        """One word: yesterday; or a month or a weekday that something beside it makes one."""
        before, token, after = self.tokens[at - 1 : at + 2]
        which = self.tongue.which.get(before.word) or self.tongue.which.get(after.word)
        sure, led = token.word in self.tongue.days, before.word in self.tongue.leads
        if not sure and not ((which or led) and _has_a_name([token])):
            return
        read = self.read([token])
        if not read or read.counted != sure:
            return
        begin, finish = token.begin, token.finish
        if sure:
            stretch = self.looking.placed(read, token.word, False)
        else:
            names = MONTHS if read.unit == "month" else WEEKDAYS
            number = read.moment.month if read.unit == "month" else read.moment.isoweekday()
            name = next(name for name, n in names.items() if n == number)
            stretch = calendar.pick(which or "", name, self.looking.now)
            begin = before.begin if led or before.word in self.tongue.which else begin
            finish = after.finish if after.word in self.tongue.which else finish
        yield from self.looking.span(stretch, begin, finish)


def _has_a_name(phrase: list[_Token]) -> bool:
    """Whether a word is long enough for a month or a weekday: what is shorter is an abbreviation, and mostly none."""
    names = [token.word for token in phrase if not token.figure and token.word not in UNSURE]
    return any(len(name) >= 4 or name in MAY for name in names)


def _tokens(text: str) -> Iterator[_Token]:
    """Words and plain numbers; whatever is glued together (3.11, a@b.c, may_5) is a break, and so is punctuation."""
    for piece in _PIECE.finditer(text):
        begin = piece.start()
        if number := _NUMBER.fullmatch(piece[0]):
            yield _Token(unicodedata.normalize("NFKC", number[1]), begin, begin + len(number[1]))
        elif (word := _WORD.fullmatch(piece[0])) and len(word[2]) <= LONGEST_WORD:
            if word[1]:  # l'année
                yield _Token(word[1].lower(), begin, begin + len(word[1]))
            yield _Token(word[2].lower(), begin + word.start(2), begin + word.end(2))
            if word[3]:
                yield _Token("", begin, begin)
        else:
            yield _Token("", begin, begin)


def _tongues(text: str, words: set[str]) -> list[Tongue]:
    """The languages that the text may be in, at most two; none where it is as likely English."""
    if CYRILLIC.search(text):
        return [UKRAINIAN if ONLY_UKRAINIAN.search(text) else RUSSIAN]
    counts = {tongue.code: len(words & tongue.known_by) for tongue in TONGUES}
    most = max(counts.values())
    if most <= len(words & ENGLISH):
        return []
    return [tongue for tongue in TONGUES if counts[tongue.code] == most][:2]
