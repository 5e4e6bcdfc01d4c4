"""Lines of cron: what they stand for, checked against a plain look at every minute."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.errors import Invalid
from memorist.upkeep import cron

START = datetime(2026, 3, 14, 9, 26, tzinfo=UTC)  # a Saturday


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("* * * * *", "2026-03-14T09:27"),
        ("0 4 * * *", "2026-03-15T04:00"),
        ("26 9 * * *", "2026-03-15T09:26"),
        ("27 9 * * *", "2026-03-14T09:27"),
        ("*/20 * * * *", "2026-03-14T09:40"),
        ("5/25 * * * *", "2026-03-14T09:30"),
        ("10-14,50 */6 * * *", "2026-03-14T12:10"),
        ("0 0 1 1 *", "2027-01-01T00:00"),
        ("0 0 1 JAN,Feb *", "2027-01-01T00:00"),
        ("0 0 29 2 *", "2028-02-29T00:00"),
        ("0 0 31 * *", "2026-03-31T00:00"),
        ("0 0 * * sun", "2026-03-15T00:00"),
        ("0 0 * * 7", "2026-03-15T00:00"),
        ("0 0 * * 0", "2026-03-15T00:00"),
        ("0 0 * * mon-fri", "2026-03-16T00:00"),
        ("0 0 20 * mon", "2026-03-16T00:00"),  # one of the two is enough where both are given
        ("0 0 20 * */6", "2026-06-20T00:00"),  # but a star with a step is a star: a 20th on a Sunday or a Saturday
    ],
)
def test_when_a_line_comes_up_next(line: str, expected: str) -> None:
    assert cron.parse(line).after(START) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "five fields"),
        ("* * * *", "five fields"),
        ("* * * * * *", "five fields"),
        (None, "five fields"),
        (5, "five fields"),
        ("60 * * * *", "'60' is not a valid minute, which goes from 0 to 59"),
        ("* 24 * * *", "is not a valid hour"),
        ("* * 0 * *", "is not a valid day"),
        ("* * * 13 *", "is not a valid month"),
        ("* * * * 8", "is not a valid weekday"),
        ("* * * * fri-mon", "is not a valid weekday"),
        ("5-1 * * * *", "is not a valid minute"),
        ("*/0 * * * *", "is not a valid minute"),
        ("1,,2 * * * *", "is not a valid minute"),
        ("-1 * * * *", "is not a valid minute"),
        ("1.5 * * * *", "is not a valid minute"),
        ("٣ * * * *", "is not a valid minute"),
        ("@daily * * * *", "is not a valid minute"),
        ("0 0 30 2 *", "is never due"),
        ("0 0 31 4,6,9,11 *", "is never due"),
    ],
)
def test_what_is_no_schedule_says_what_would_be(line: object, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        cron.parse(line, "--watch")


def test_other_zones_are_turned_into_utc() -> None:
    there = START.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert cron.parse("0 12 * * *").after(there) == datetime(2026, 3, 14, 12, tzinfo=UTC)
    local = START.astimezone().replace(tzinfo=None)
    assert cron.parse("0 12 * * *").after(local) == datetime(2026, 3, 14, 12, tzinfo=UTC)


def field(least: int, most: int) -> st.SearchStrategy[str]:
    number = st.integers(least, most)
    ends = st.tuples(number, number).map(sorted)
    step = st.integers(1, 20)
    part = st.one_of(
        st.just("*"),
        number.map(str),
        ends.map(lambda pair: f"{pair[0]}-{pair[1]}"),
        step.map(lambda n: f"*/{n}"),
        st.tuples(ends, step).map(lambda both: f"{both[0][0]}-{both[0][1]}/{both[1]}"),
    )
    return st.lists(part, min_size=1, max_size=3).map(",".join)


LINES = st.tuples(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 7)).map(" ".join)
MOMENTS = st.datetimes(datetime(1999, 1, 1), datetime(2101, 1, 1), timezones=st.just(UTC))


def numbers(word: str, least: int, most: int) -> set[int]:
    """The meaning of a field, written as plainly as possible."""
    found: set[int] = set()
    for part in word.split(","):
        values, _, step = part.partition("/")
        first, _, last = values.partition("-")
        low, high = (least, most) if values == "*" else (int(first), int(last or first))
        found |= set(range(low, high + 1, int(step or 1)))
    return found


def comes_up(line: str, moment: datetime) -> bool:
    minute, hour, day, month, weekday = line.split()
    of_month = moment.day in numbers(day, 1, 31)
    of_week = moment.isoweekday() % 7 in {number % 7 for number in numbers(weekday, 0, 6 if weekday == "*" else 7)}
    starred = day.startswith("*") or weekday.startswith("*")
    days = of_month and of_week if starred else of_month or of_week
    now = moment.minute in numbers(minute, 0, 59) and moment.hour in numbers(hour, 0, 23)
    return days and now and moment.month in numbers(month, 1, 12)


@given(LINES, MOMENTS)
def test_it_is_later_fits_and_is_on_the_minute(line: str, moment: datetime) -> None:
    try:
        schedule = cron.parse(line)
    except Invalid as problem:
        assert "is never due" in str(problem)
        return
    found = schedule.after(moment)
    assert found > moment and (found.second, found.microsecond) == (0, 0)
    assert schedule.fits(found) and found.minute in schedule.minutes and found.hour in schedule.hours
    assert cron.parse(schedule.text) == schedule
    assert schedule.after(found) > found


@given(st.tuples(field(0, 59), field(0, 23), st.just("*"), st.just("*"), field(0, 6)).map(" ".join), MOMENTS)
def test_nothing_comes_before_the_next_one(line: str, moment: datetime) -> None:
    found = cron.parse(line).after(moment)
    minute = moment.replace(second=0, microsecond=0) + timedelta(minutes=1)
    assert comes_up(line, found)
    for _ in range(3000):
        if minute == found:
            break
        assert not comes_up(line, minute), (line, minute, found)
        minute += timedelta(minutes=1)
