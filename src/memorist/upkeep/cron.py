"""Cron lines: five fields of numbers, names, ranges, lists and steps, and the next time such a line is due.

As in every cron, if both a day of the month and a day of the week are given, a day matches if either does. Times are
UTC: otherwise an hour that daylight saving skips or repeats would be missed or come twice.
"""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import datetime, timedelta

from memorist.errors import Invalid
from memorist.records import utc
from memorist.text.visible import quoted

FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 7))
NAMES = {
    "month": "jan feb mar apr may jun jul aug sep oct nov dec".split(),
    "weekday": "sun mon tue wed thu fri sat".split(),
}
PART = re.compile(r"(?:\*|(\w{1,3})(?:-(\w{1,3}))?)(?:/(\d{1,2}))?", re.ASCII)
YEARS = 50  # 29 February on a given weekday may be 40 years away


@dataclass(frozen=True, slots=True)
class Cron:
    """A schedule. `text` is the line as given, with single blanks."""

    text: str
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]  # 0 is Sunday
    either: bool  # both kinds of day are given; one match is enough

    def fits(self, day: datetime) -> bool:
        """Whether the schedule is due at any time on that day."""
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return day.month in self.months and (of_month or of_week if self.either else of_month and of_week)

    def after(self, moment: datetime) -> datetime:
        """The first time of the schedule after this moment."""
        moment = utc(moment)
        start = moment.replace(second=0, microsecond=0) + timedelta(minutes=1)
        day = start.replace(hour=0, minute=0)
        for _ in range(YEARS * 366):
            if self.fits(day):
                times = (day.replace(hour=hour, minute=minute) for hour in self.hours for minute in self.minutes)
                found = next((time for time in times if time >= start), None)
                if found is not None:
                    return found
            day += timedelta(days=1)
        raise Invalid(f"the schedule {self.text!r} is never due")


def parse(text: object, what: str = "the schedule") -> Cron:
    """Parses and checks a cron line; refuses one that is never due."""
    words = text.split() if isinstance(text, str) else []
    if len(words) != len(FIELDS):
        raise Invalid(f"{what} must be a cron line of five fields such as '0 4 * * *', not {quoted(text)}")
    values = [_values(word, what, *field) for word, field in zip(words, FIELDS, strict=True)]
    minutes, hours, days, months, weekdays = values
    both = not words[2].startswith("*") and not words[4].startswith("*")
    week = frozenset(day % 7 for day in weekdays)
    cron = Cron(" ".join(words), tuple(sorted(minutes)), tuple(sorted(hours)), days, months, week, both)
    longest = max(monthrange(2024, month)[1] for month in months)
    if not both and min(days) > longest:
        raise Invalid(f"{what} is never due: no such month has a day {min(days)}")
    return cron


def _values(word: str, what: str, name: str, least: int, most: int) -> frozenset[int]:
    found: set[int] = set()
    for part in word.lower().split(","):
        values = _range(part, name, least, most)
        if values is None:
            raise Invalid(f"{what}: {quoted(part)} is not a valid {name}, which goes from {least} to {most}")
        found.update(values)
    return frozenset(found)


def _range(part: str, name: str, least: int, most: int) -> range | None:
    """The numbers of one part; None if it cannot be read. A number with a step runs to the end of the field, as in `5/15`."""
    said = PART.fullmatch(part)
    if said is None or (said[3] and int(said[3]) == 0):
        return None
    step = int(said[3] or 1)
    if said[1] is None:
        return range(least, min(most, 6 if name == "weekday" else most) + 1, step)
    first = _number(said[1], name)
    last = _number(said[2], name) if said[2] else most if said[3] else first
    return range(first, last + 1, step) if least <= first <= last <= most else None


def _number(word: str, name: str) -> int:
    names = NAMES.get(name, [])
    if word in names:
        return names.index(word) + (name == "month")
    return int(word) if word.isdecimal() else -1
