"""The English words that dates are told with, and a text cut into such words.

Only data, and the cutting; the grammar is in `dates.py`. Whatever is glued together stays in one piece (3.11, a@b.c,
555-1234, may_5), so that no part of it can be taken for a date.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import islice

from memorist.text.calendar import AGAIN, FEASTS, LONG, MONTHS, WEEKDAYS, numbered

LONGEST = 4096  # characters that are looked at; what is longer is more than a question
MOST = 256  # words at which an expression is looked for: more than LONGEST characters of plain English hold

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
PARTS = {"morning": (0, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}  # hours of the day
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
# After these, "about" says what is spoken of, and no rough date.
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
# A number before one of these, or before a plural, counts things and is no day and no year.
COUNTED = frozenset("km percent people men women children mb gb ms cup of tsp tbsp teaspoon usd eur more or".split())
NO_PLURALS = frozenset("does this besides towards perhaps always sometimes afterwards onwards plus versus".split())
FIGURES = frozenset("'’0123456789")  # what a number or a decade begins with
FEAST_STARTS = frozenset(name.split()[0] for name in FEASTS)
VOCABULARY = frozenset().union(
    *(LONG, WEEKDAYS, AGAIN, FEAST_STARTS, NUMBERS, ORDINALS, VAGUE, UNITS, DAYS, WHICH, THIRDS, ENDS, SOONER),
    *(LATELY, OPEN, JOINTS, SKIPPED, ABOUT, ("half", "the", "prior", "up")),
)


@cache
def patterns() -> tuple[re.Pattern[str], ...]:
    """Pieces of text; then dates with the year first, dates with it last, decades. Compiled for the first question."""
    return (
        re.compile(r"[^\s,;!?()\[\]{}<>\"“”«»*|…–—]+|[,;!?()\[\]{}<>\"“”«»*|…–—]"),
        re.compile(r"([0-9]{4})(?:-([0-9]{2})|([-/])([0-9]{1,2})\3([0-9]{1,2})(?:t[0-9].*)?)"),
        re.compile(r"([0-9]{1,2})([-/.])([0-9]{1,2})(?:\2([0-9]{4}|[0-9]{2}))?"),
        re.compile(r"(['’]?)((?:19|20)?)([0-9]0)['’]?s"),
    )


class Words:
    """A text as words in lower case without possessive, "|" where no phrase goes on, and where each of them stands."""

    def __init__(self, text: str) -> None:
        self.words, self.places, self.capital = ["|"], [(0, 0)], [False]
        for piece in patterns()[0].finditer(text, 0, LONGEST):
            if piece.end() < LONGEST or len(text) == LONGEST:  # else it may be half a word
                self._read(piece[0], piece.start())
        known = (at for at, word in enumerate(self.words) if word in VOCABULARY or word[0] in FIGURES)
        self.known = list(islice(known, MOST))
        for _ in range(4):  # so that looking ahead needs no care
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

    def amount(self, at: int) -> tuple[int, int, str, int] | None:
        """Two weeks, a few days, half a year: the least, the most, the unit, and the word that follows."""
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
        """Whether this number tells how many: 5 miles, 2000 requests."""
        word = self.words[at + 1]
        plural = word[-1] == "s" and word[-2:] != "ss" and len(word) > 3 and not self.capital[at + 1]
        return word in COUNTED or (plural and word not in NO_PLURALS)

    def the(self, at: int) -> int:
        return at + (self.words[at] == "the")


def plain(word: str, most: int) -> int:
    """A number of at most so many digits, else 0."""
    return int(word) if len(word) <= most and word.isascii() and word.isdigit() else 0
