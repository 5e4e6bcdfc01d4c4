"""Dates as people write them in headings, at the beginning of a line, and in file names. All are taken as UTC.

A date that could be read two ways (03/04/2025) is left alone: a wrong date is worse than none.
"""

import re
from datetime import UTC, datetime

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<{0}>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_ISO = r"(?P<year>(?:19|20)\d\d)(?P<sign>[-/.])(?P<month>\d\d?)(?P=sign)(?P<day>\d\d?)(?!\d)"
_CLOCK = r"(?:(?:T| |, | at )(?P<hour>\d\d):(?P<minute>\d\d)(?::\d\d(?:\.\d+)?)?(?P<zone>Z|[+-]\d\d:?\d\d)?(?!\d))?"
_MONTH_FIRST = _MONTH.format("month_b") + r" (?P<day_b>\d\d?)(?:st|nd|rd|th)?,? (?P<year_b>(?:19|20)\d\d)\b"
_DAY_FIRST = (
    r"(?P<day_c>\d\d?)(?:st|nd|rd|th)?\.? (?:of )?" + _MONTH.format("month_c") + r",? (?P<year_c>(?:19|20)\d\d)\b"
)
_DATE = rf"(?:{_ISO}{_CLOCK}|{_MONTH_FIRST}|{_DAY_FIRST})"

_ANYWHERE = re.compile(rf"(?<![\w./-]){_DATE}", re.IGNORECASE)
# What a date at the beginning may stand in, and what must follow for it to be a label and no part of the sentence.
_LABEL = re.compile(
    rf"(?P<bold>\*\*|__)?(?P<open>[\[(])?{_DATE}(?(open)[\])])(?P<colon>:)?(?(bold)(?P=bold))"
    rf"(?(open)(?:\s*[:—–-])?\s+|(?(colon)\s+|\s*[:—–-]\s+))(?!(?:19|20)\d\d-)",
    re.IGNORECASE,
)
_IN_NAME = re.compile(r"(?<!\d)((?:19|20)\d\d)([-_.]?)(0[1-9]|1[0-2])\2([0-3]\d)(?!\d)")


def date_in(text: str) -> datetime | None:
    """The first date in a heading.

    >>> date_in("March 14, 2025: stand-up")
    datetime.datetime(2025, 3, 14, 0, 0, tzinfo=datetime.timezone.utc)
    """
    found = _ANYWHERE.search(text)
    return found and _moment(found)


def date_before(text: str) -> tuple[datetime | None, str]:
    """The date a text begins with, and the text without it where the date is only a label.

    >>> date_before("[2025-03-14] Moved to Oslo")[1]
    'Moved to Oslo'
    >>> date_before("2025-03-14 was a Friday")[1]
    '2025-03-14 was a Friday'
    """
    label = _LABEL.match(text)
    when = label and _moment(label)
    if label and when and text[label.end() :].strip():
        return when, text[label.end() :]
    start = _ANYWHERE.match(text.lstrip("*_[( "))
    return (_moment(start) if start else None), text


def date_of_name(stem: str) -> datetime | None:
    """The date in the name of a daily log, such as 2025-03-14 or standup_20250314."""
    found = _IN_NAME.search(stem)
    return _day(int(found[1]), int(found[3]), int(found[4])) if found else None


def _moment(found: re.Match[str]) -> datetime | None:
    parts = found.groupdict()
    if parts["year"]:
        return _exact(parts) or _day(int(parts["year"]), int(parts["month"]), int(parts["day"]))
    which = "b" if parts["year_b"] else "c"
    month = _MONTHS.index(parts[f"month_{which}"][:3].lower()) + 1
    return _day(int(parts[f"year_{which}"]), month, int(parts[f"day_{which}"]))


def _exact(parts: dict[str, str]) -> datetime | None:
    """The moment, where a time of day is given too."""
    if not parts["hour"]:
        return None
    day = f"{parts['year']}-{int(parts['month']):02}-{int(parts['day']):02}"
    try:
        found = datetime.fromisoformat(f"{day}T{parts['hour']}:{parts['minute']}{parts['zone'] or 'Z'}")
    except ValueError:
        return None
    return found.astimezone(UTC)


def _day(year: int, month: int, day: int) -> datetime | None:
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None
