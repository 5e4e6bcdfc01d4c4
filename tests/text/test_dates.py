"""Is a time that people name the stretch of time they mean? Expected by hand, with a calendar on the table."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growing import grows_too_fast
from memorist.text.dates import EARLIEST, LATEST, NEAR, TIME_NAMES, UNITS, in_words, spans

NOW = datetime(2023, 6, 14, 10, 30, tzinfo=UTC)  # a Wednesday
# text | start end; start end. A day is written once if it is one whole day.
NAMED = """
today | 2023-06-14
What did I eat yesterday? | 2023-06-13
the day before yesterday | 2023-06-12
last week | 2023-06-05 2023-06-12
this weekend | 2023-06-17 2023-06-19
the past week | 2023-06-07 now
next month | 2023-07-01 2023-08-01
last quarter | 2023-01-01 2023-04-01
last year | 2022-01-01 2023-01-01
last winter | 2022-12-01 2023-03-01
the summer of 2021 | 2021-06-01 2021-09-01
last Friday | 2023-06-09
this Sunday | 2023-06-18
next Wednesday | 2023-06-21
on Monday | 2023-06-12
on Sat. | 2023-06-10
over the weekend | 2023-06-10 2023-06-12
three days ago | 2023-06-11
two weeks ago | 2023-05-28 2023-06-04
6 months ago | 2022-12-01 2023-01-01
a year ago | 2022-01-01 2023-01-01
in the past two weeks | 2023-05-31 now
in May | 2023-05-01 2023-06-01
in July | 2022-07-01 2022-08-01
Was December cold? | 2022-12-01 2023-01-01
May, 2020 | 2020-05-01 2020-06-01
May 5 | 2023-05-05
Dec 24 | 2022-12-24
on 5 May 2023 | 2023-05-05
the 5th of May, 2021 | 2021-05-05
Friday, May 5, 2023 | 2023-05-05
2023-05-05T10:30:00Z | 2023-05-05
2023-05 | 2023-05-01 2023-06-01
13/04/2023 | 2023-04-13
04.03.2023 | 2023-03-04
in 2023 | 2023-01-01 2024-01-01
Q3 2022 | 2022-07-01 2022-10-01
Christmas | 2022-12-25
Easter 2024 | 2024-03-31
the week before Christmas | 2022-12-18 2022-12-25
since January | 2023-01-01 now
before 2020 | min 2020-01-01
until yesterday | min 2023-06-14
after May 5, 2023 | 2023-05-06 max
between November and February | 2022-11-01 2023-03-01
from Monday to Friday | 2023-06-05 2023-06-10
Was it last Friday or on May 5, 2023? | 2023-06-09; 2023-05-05
gestern | 2023-06-13
letzte Woche | 2023-06-05 2023-06-12
am Wochenende | 2023-06-10 2023-06-12
vor drei Tagen | 2023-06-11
am 5. Mai 2023 | 2023-05-05
im Mai | 2023-05-01 2023-06-01
zwischen Mai und Juli | 2022-05-01 2022-08-01
seit letztem Montag | 2023-06-12 now
"""
NO_TIMES = """
may I ask? | it may rain | only 2 may enter | we march on | the sun is out | he sat down | a second | on every Monday | each Friday
Python 3.11 | version 1.2.3 | call 555-1234 | 2023 EUR | port 2023 | in 2000 steps | #2023 | 2019-20 | rated 5/5 | 99/99/2023
this may be wrong | February 30 | | 1/2 cup | Marchand | 123456-05-05
"""


def moment(word: str) -> datetime:
    fixed = {"now": NOW, "min": EARLIEST, "max": LATEST}
    return fixed[word] if word in fixed else datetime.fromisoformat(word).replace(tzinfo=UTC)


@pytest.mark.parametrize(("text", "meant"), [line.split(" | ") for line in NAMED.strip().splitlines()])
def test_what_is_named_is_found(text: str, meant: str) -> None:
    stretches = [[moment(word) for word in each.split()] for each in meant.split(";")]
    expected = [(start, end[0] if end else start + timedelta(days=1)) for start, *end in stretches]
    assert [(span.start, span.end) for span in spans(text, NOW)] == expected


@pytest.mark.parametrize("text", NO_TIMES.strip().replace("\n", " | ").split(" | "))
def test_what_may_be_something_else_is_no_time(text: str) -> None:
    assert spans(text, NOW) == []


def test_only_what_moves_with_the_day_is_said_to() -> None:
    assert [span.moves for span in spans("last week, yesterday, last Friday, in May, 3 days ago", NOW)] == [
        True,
        True,
    ] + [False] * 3


def test_words_for_a_moment_are_when_it_begins_by_the_local_clock() -> None:
    here = datetime(2023, 6, 14, 1)
    assert in_words("yesterday", here) == datetime(2023, 6, 13) and in_words("now", here) == here
    assert in_words("yesterday or so", here) is None


WORDS = st.sampled_from(
    [*TIME_NAMES, *NEAR, *UNITS, *"last next 3 a 2023 31 ago vor since between and 5. -/ , 05/05".split(), "\ud800"]
)


@given(st.lists(WORDS).map(" ".join) | st.text(), st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 30)))
def test_any_text_at_any_time_gives_stretches_that_do_not_overlap(text: str, now: datetime) -> None:
    found = spans(text, now.replace(tzinfo=UTC))
    assert all(
        EARLIEST <= span.start < span.end <= LATEST and text[span.begin : span.finish] == span.text for span in found
    )
    assert all(one.finish <= other.begin for one, other in pairwise(found))


@pytest.mark.parametrize("piece", ["May ", "the last ", "5 ", "1/1/", "2023-", "a a ", "between May and ", " "])
def test_time_is_bounded(piece: str) -> None:
    assert grows_too_fast(lambda length: spans(piece * (length // len(piece)), NOW) and None, 500_000) is None
