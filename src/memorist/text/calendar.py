"""What recurs in the calendar (weeks, months, seasons, feasts), and which occurrence is meant at a given moment.

Pure arithmetic on half-open stretches of UTC time; `dates.py` has the words for them. What does not exist (the year 0, a sixth
Monday) raises ValueError or OverflowError.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
INSTANT = timedelta(microseconds=1)

Stretch = tuple[datetime, datetime]


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
MONTHS_OF = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
DAYS_OF = {"week": (0, 7), "weekend": (5, 2)}  # the first day, counted from Monday, and how many
AGAIN = frozenset({*MONTHS_OF, *DAYS_OF})
STEPS = {"minute": timedelta(minutes=1), "hour": HOUR, "day": DAY, "week": 7 * DAY}
# Yearly stretches of months: the month in which each begins, and their number.
LONG = {name: (n, 1) for name, n in MONTHS.items()}
LONG |= {"spring": (3, 3), "summer": (6, 3), "autumn": (9, 3), "fall": (9, 3), "winter": (12, 3)}
LONG |= {"q1": (1, 3), "q2": (4, 3), "q3": (7, 3), "q4": (10, 3)}
# Yearly days: (month, day), or (month, weekday, which of them), or (days after Easter,).
FEASTS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("christmas", "christmas day", "xmas"), (12, 25)),
    **dict.fromkeys(("new year", "new year day", "new years", "new years day"), (1, 1)),
    **dict.fromkeys(("new year eve", "new years eve"), (12, 31)),
    **dict.fromkeys(("valentine day", "valentines day"), (2, 14)),
    **dict.fromkeys(("thanksgiving", "thanksgiving day"), (11, 4, 4)),
    **dict.fromkeys(("easter", "easter sunday"), (0,)),
    "good friday": (-2,),
    "easter monday": (1,),
    "christmas eve": (12, 24),
    "boxing day": (12, 26),
    "halloween": (10, 31),
    "independence day": (7, 4),
    "mother day": (5, 7, 2),
    "father day": (6, 7, 3),
    "labor day": (9, 1, 1),
    "memorial day": (6, 1, 0),  # the last Monday of May is the one before the first of June
}


@lru_cache(maxsize=256)
def months(year: int, month: int, count: int = 1) -> Stretch:
    """`count` whole months, beginning with this one; month 13 is January of the next year."""
    first, last = 12 * year + month - 1, 12 * year + month - 1 + count
    return datetime(first // 12, first % 12 + 1, 1, tzinfo=UTC), datetime(last // 12, last % 12 + 1, 1, tzinfo=UTC)


def midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def monday(moment: datetime) -> datetime:
    return midnight(moment) - moment.weekday() * DAY


def step(moment: datetime, unit: str, count: int) -> datetime:
    """The moment `count` units later. A day that the month does not have becomes its last one."""
    if unit in STEPS:
        return moment + count * STEPS[unit]
    first, end = months(moment.year, moment.month + count * MONTHS_OF[unit])
    return min(first + (moment.day - 1) * DAY, end - DAY) + (moment - midnight(moment))


def cell(moment: datetime, unit: str) -> Stretch:
    """What "two weeks ago" means: a stretch as long as the unit, since people count no more exactly than they speak."""
    if unit in ("month", "year"):
        return options(unit, moment)[2]
    if unit in ("minute", "hour"):
        return moment - STEPS[unit] / 2, moment + STEPS[unit] / 2
    reach = 3 * DAY if unit == "week" else 0 * DAY
    return midnight(moment) - reach, midnight(moment) + reach + DAY


def easter(year: int) -> datetime:
    """Easter Sunday in the Gregorian calendar, by the rule of Meeus, Jones and Butcher."""
    century, rest = divmod(year, 100)
    moon = (19 * (year % 19) + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    week = (32 + 2 * (century % 4) + 2 * (rest // 4) - moon - rest % 4) % 7
    month, day = divmod(moon + week - 7 * ((year % 19 + 11 * moon + 22 * week) // 451) + 114, 31)
    return datetime(year, month, day + 1, tzinfo=UTC)


def yearly(name: str, year: int) -> Stretch:
    """A month, season, quarter or feast of one year."""
    if name in LONG:
        return months(year, *LONG[name])
    rule = FEASTS[name]
    if len(rule) == 1:
        day = easter(year) + rule[0] * DAY
    elif len(rule) == 2:
        day = datetime(year, rule[0], rule[1], tzinfo=UTC)
    else:
        first = datetime(year, rule[0], 1, tzinfo=UTC)
        day = first + ((rule[1] - first.isoweekday()) % 7 + 7 * (rule[2] - 1)) * DAY
    return day, day + DAY


def options(name: str, at: datetime) -> list[Stretch]:
    """The five occurrences nearest to a moment; the middle one is that of the same year or week."""
    near = range(-2, 3)
    if name in LONG or name in FEASTS:
        return [yearly(name, at.year + k) for k in near]
    if name in MONTHS_OF:
        size = MONTHS_OF[name]
        month = (12 * at.year + at.month - 1) // size * size
        return [months(0, month + k * size + 1, size) for k in near]
    offset, count = DAYS_OF[name] if name in DAYS_OF else (WEEKDAYS[name] - 1, 1)
    first = monday(at) + offset * DAY
    return [(first + 7 * k * DAY, first + (7 * k + count) * DAY) for k in near]


@lru_cache(maxsize=256)  # one query needs the same few again and again
def pick(which: str, name: str, at: datetime) -> Stretch:
    """For "last" the latest that is over, for "next" the first that is to come; otherwise the latest that has begun."""
    near = options(name, at)
    if which == "last":
        return max(option for option in near if option[1] <= at)
    if which == "next":
        return min(option for option in near if option[0] > at)
    if which == "this":
        return next((option for option in near if option[0] <= at < option[1]), near[2])
    return max(option for option in near if option[0] <= at)


def part(whole: Stretch, number: int, of: int) -> Stretch:
    """One of `of` equal parts, cut at whole months or else at whole days; a stretch with too few days stays whole."""
    start, end = whole
    count = 12 * (end.year - start.year) + end.month - start.month
    if start.day == end.day == 1 and count >= of:
        first, last = (count * k // of for k in (number, number + 1))
        return months(start.year, start.month + first, last - first)
    days = (end - start).days
    if days < of:
        return whole
    return start + days * number // of * DAY, start + days * (number + 1) // of * DAY
