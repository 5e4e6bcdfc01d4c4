"""Is a time that people name the stretch of time they mean? Expected by hand, with a calendar on the table."""

import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memorist.text.calendar import easter
from memorist.text.dates import EARLIEST, LATEST, LOOKED_AT, VOCABULARY, Span, spans

# One table for each moment of asking: text | start end; start end. A day is written once if it is one whole day.
ON_A_WEDNESDAY = (
    "2023-06-14T10:30",
    """
today | 2023-06-14
What did I eat yesterday? | 2023-06-13
What is due tomorrow | 2023-06-15
the day before yesterday | 2023-06-12
the day after tomorrow | 2023-06-16
tonight | 2023-06-14T18:00 2023-06-15T06:00
this morning | 2023-06-14 2023-06-14T12:00
this afternoon | 2023-06-14T12:00 2023-06-14T18:00
this evening | 2023-06-14T18:00 2023-06-15
last night | 2023-06-13T18:00 2023-06-14T06:00
yesterday morning | 2023-06-13 2023-06-13T12:00
yesterday evening | 2023-06-13T18:00 2023-06-14
tomorrow night | 2023-06-15T18:00 2023-06-16T06:00
yesterday's meeting | 2023-06-13
yesterday’s meeting | 2023-06-13
YESTERDAY | 2023-06-13
this week | 2023-06-12 2023-06-19
last week | 2023-06-05 2023-06-12
next week | 2023-06-19 2023-06-26
the past week | 2023-06-07 now
in the last week | 2023-06-07 now
this month | 2023-06-01 2023-07-01
last month | 2023-05-01 2023-06-01
next month | 2023-07-01 2023-08-01
the past month | 2023-05-14 now
over the last month | 2023-05-14 now
this year | 2023-01-01 2024-01-01
last year | 2022-01-01 2023-01-01
next year | 2024-01-01 2025-01-01
the past year | 2022-06-14 now
this weekend | 2023-06-17 2023-06-19
last weekend | 2023-06-10 2023-06-12
this past weekend | 2023-06-10 2023-06-12
next weekend | 2023-06-17 2023-06-19
this quarter | 2023-04-01 2023-07-01
last quarter | 2023-01-01 2023-04-01
next quarter | 2023-07-01 2023-10-01
last decade | 2010-01-01 2020-01-01
last spring | 2023-03-01 2023-06-01
last summer | 2022-06-01 2022-09-01
last autumn | 2022-09-01 2022-12-01
last fall | 2022-09-01 2022-12-01
last winter | 2022-12-01 2023-03-01
this summer | 2023-06-01 2023-09-01
this winter | 2023-12-01 2024-03-01
next spring | 2024-03-01 2024-06-01
next summer | 2024-06-01 2024-09-01
in the summer | 2023-06-01 2023-09-01
over the winter | 2022-12-01 2023-03-01
the summer of 2021 | 2021-06-01 2021-09-01
summer 2021 | 2021-06-01 2021-09-01
winter 2021 | 2021-12-01 2022-03-01
in the fall of 2019 | 2019-09-01 2019-12-01
last Monday | 2023-06-12
last Wednesday | 2023-06-07
last Friday | 2023-06-09
last Thu | 2023-06-08
this Monday | 2023-06-12
this Sunday | 2023-06-18
next Wednesday | 2023-06-21
next Friday | 2023-06-16
the coming Friday | 2023-06-16
on Monday | 2023-06-12
on Wednesday | 2023-06-14
on Thursday | 2023-06-08
on Sun | 2023-06-11
on Sat. | 2023-06-10
on tue | 2023-06-13
on thurs | 2023-06-08
What did I do Tuesday? | 2023-06-13
Monday night | 2023-06-12T18:00 2023-06-13T06:00
last Friday morning | 2023-06-09 2023-06-09T12:00
Monday of last week | 2023-06-05
over the weekend | 2023-06-10 2023-06-12
What I did last week | 2023-06-05 2023-06-12
from January to last week | 2023-01-01 2023-06-12
the Friday before last | 2023-06-02
Friday next week | 2023-06-23
1 day ago | 2023-06-13
three days ago | 2023-06-11
an hour ago | 2023-06-14T09:00 2023-06-14T10:00
24 hours ago | 2023-06-13T10:00 2023-06-13T11:00
ten minutes ago | 2023-06-14T10:19:30 2023-06-14T10:20:30
half an hour ago | 2023-06-14T09:59:30 2023-06-14T10:00:30
a week ago | 2023-06-04 2023-06-11
two weeks ago | 2023-05-28 2023-06-04
a fortnight ago | 2023-05-28 2023-06-04
a month ago | 2023-05-01 2023-06-01
6 months ago | 2022-12-01 2023-01-01
half a year ago | 2022-12-01 2023-01-01
a year ago | 2022-01-01 2023-01-01
Two years ago | 2021-01-01 2022-01-01
a decade ago | 2013-01-01 2014-01-01
twenty years ago | 2003-01-01 2004-01-01
a couple of days ago | 2023-06-11 2023-06-13
a few days ago | 2023-06-09 2023-06-13
several days ago | 2023-06-05 2023-06-12
a few weeks ago | 2023-05-07 2023-06-04
twenty-one days ago | 2023-05-24
twenty one days ago | 2023-05-24
ninety-nine days ago | 2023-03-07
three nights ago | 2023-06-11
in the last 3 days | 2023-06-11 now
in the past two weeks | 2023-05-31 now
the last few months | 2023-01-14 now
over the past couple of years | 2020-06-14 now
the last 24 hours | 2023-06-13T10:30 now
within the last hour | 2023-06-14T09:30 now
the last ten years | 2013-06-14 now
the next two days | now 2023-06-17
three days from now | 2023-06-17
three days before May 5, 2023 | 2023-05-02
ten days after 2023-05-25 | 2023-06-04
a day before Christmas 2022 | 2022-12-24
a week after last Friday | 2023-06-13 2023-06-20
two weeks before Christmas | 2022-12-08 2022-12-15
a month before May 5, 2023 | 2023-04-01 2023-05-01
two years after 2010 | 2012-01-01 2013-01-01
the day before Christmas | 2022-12-24
the day after May 5 | 2023-05-06
the week before May 5, 2023 | 2023-04-28 2023-05-05
the month before May 2023 | 2023-04-01 2023-05-01
the year before 2020 | 2019-01-01 2020-01-01
the Sunday before 25 May 2023 | 2023-05-21
the weekend after May 5, 2023 | 2023-05-06 2023-05-08
the week before last | 2023-05-29 2023-06-05
the year before last | 2021-01-01 2022-01-01
the weekend before last | 2023-06-03 2023-06-05
in May | 2023-05-01 2023-06-01
in may | 2023-05-01 2023-06-01
in June | 2023-06-01 2023-07-01
in July | 2022-07-01 2022-08-01
Was December cold? | 2022-12-01 2023-01-01
in Sept. | 2022-09-01 2022-10-01
last May | 2023-05-01 2023-06-01
last june | 2022-06-01 2022-07-01
next May | 2024-05-01 2024-06-01
this May | 2023-05-01 2023-06-01
this December | 2023-12-01 2024-01-01
in May 2023 | 2023-05-01 2023-06-01
May 2020 | 2020-05-01 2020-06-01
may 2020 | 2020-05-01 2020-06-01
May, 2020 | 2020-05-01 2020-06-01
May of 2020 | 2020-05-01 2020-06-01
May last year | 2022-05-01 2022-06-01
in March of last year | 2022-03-01 2022-04-01
May 5 | 2023-05-05
may 5 | 2023-05-05
Dec 24 | 2022-12-24
June 14 | 2023-06-14
June 15 | 2022-06-15
May 5th | 2023-05-05
May 5th, 2023 | 2023-05-05
May 5 2021 | 2021-05-05
on May the 5th | 2023-05-05
May fifth | 2023-05-05
5 May 2023 | 2023-05-05
5 May | 2023-05-05
the 5th of May | 2023-05-05
the 5th of May, 2021 | 2021-05-05
the first of May | 2023-05-01
on the twenty-second of January 2020 | 2020-01-22
31st December 1999 | 1999-12-31
Friday, May 5, 2023 | 2023-05-05
Friday May 5th | 2023-05-05
Friday, 5 May 2023 | 2023-05-05
the night before May 5 | 2023-05-04T18:00 2023-05-05T06:00
2023-05-05 | 2023-05-05
2023-05-05T10:30:00Z | 2023-05-05
2023/05/05 | 2023-05-05
2023-05 | 2023-05-01 2023-06-01
05/05/2023 | 2023-05-05
03/04/2023 | 2023-03-04
13/04/2023 | 2023-04-13
04/13/2023 | 2023-04-13
12/31/99 | 1999-12-31
1/2/23 | 2023-01-02
04.03.2023 | 2023-03-04
on 5/5 | 2023-05-05
on 12/25 | 2022-12-25
on 25/12 | 2022-12-25
in 2023 | 2023-01-01 2024-01-01
in the year 2019 | 2019-01-01 2020-01-01
the best of 2019 | 2019-01-01 2020-01-01
the 1990s | 1990-01-01 2000-01-01
the 90s | 1990-01-01 2000-01-01
the '90s | 1990-01-01 2000-01-01
the 1990's | 1990-01-01 2000-01-01
in the 20s | 2020-01-01 2030-01-01
in the 30s | 1930-01-01 1940-01-01
the early 1990s | 1990-01-01 1993-05-01
early May | 2023-05-01 2023-05-11
mid May | 2023-05-11 2023-05-21
mid-May | 2023-05-11 2023-05-21
late May | 2023-05-21 2023-06-01
early in May | 2023-05-01 2023-05-11
early 2023 | 2023-01-01 2023-05-01
mid-2023 | 2023-05-01 2023-09-01
late 2022 | 2022-09-01 2023-01-01
late last year | 2022-09-01 2023-01-01
late February 2023 | 2023-02-19 2023-03-01
earlier this week | 2023-06-12 now
earlier today | 2023-06-14 now
later this month | now 2023-07-01
the beginning of May | 2023-05-01 2023-05-08
the start of 2023 | 2023-01-01 2023-04-01
at the end of May | 2023-05-24 2023-06-01
the end of the month | 2023-06-23 2023-07-01
the end of the year | 2023-10-01 2024-01-01
the middle of 2022 | 2022-05-01 2022-09-01
the end of last month | 2023-05-24 2023-06-01
the first week of May | 2023-05-01 2023-05-08
the last day of February 2024 | 2024-02-29
the last Sunday of May | 2023-05-28
the second Monday of May | 2023-05-08
the first weekend of May | 2023-05-06 2023-05-08
the week of May 5 | 2023-05-01 2023-05-08
between May 1 and May 5 | 2023-05-01 2023-05-06
between May and July 2022 | 2022-05-01 2022-08-01
between May and July | 2022-05-01 2022-08-01
between November and February | 2022-11-01 2023-03-01
between March 2022 and July | 2022-03-01 2022-08-01
between 2019 and 2021 | 2019-01-01 2022-01-01
from Monday to Friday | 2023-06-05 2023-06-10
from 2020 to 2022 | 2020-01-01 2023-01-01
from January through March | 2023-01-01 2023-04-01
from last Monday until yesterday | 2023-06-12 2023-06-14
from May 2022 to now | 2022-05-01 now
since January | 2023-01-01 now
since 2020 | 2020-01-01 now
since last Friday | 2023-06-09 now
since the end of May | 2023-05-24 now
since three days ago | 2023-06-11 now
before May 2020 | min 2020-05-01
before 2020 | min 2020-01-01
prior to last week | min 2023-06-05
until yesterday | min 2023-06-14
till 2020 | min 2021-01-01
up to May 5 | min 2023-05-06
after Christmas | 2022-12-26 max
after May 5, 2023 | 2023-05-06 max
after the summer of 2020 | 2020-09-01 max
around Christmas | 2022-12-22 2022-12-29
around May 2023 | 2023-04-16 2023-06-16
around 2020 | 2019-07-02 2021-07-03
about two weeks ago | 2023-05-25 2023-06-07
about an hour ago | 2023-06-14T08:00 2023-06-14T11:00
since around May 5 | 2023-05-02 now
Tell me about yesterday | 2023-06-13
What did she say about last week? | 2023-06-05 2023-06-12
Christmas | 2022-12-25
at Christmas | 2022-12-25
Christmas 2019 | 2019-12-25
last Christmas | 2022-12-25
next Christmas | 2023-12-25
Christmas Eve | 2022-12-24
Christmas of last year | 2022-12-25
New Year's Eve | 2022-12-31
New Year’s Day 2020 | 2020-01-01
the New Year | 2023-01-01
Halloween | 2022-10-31
Valentine's Day | 2023-02-14
Thanksgiving | 2022-11-24
Thanksgiving 2023 | 2023-11-23
Easter | 2023-04-09
Easter 2024 | 2024-03-31
Good Friday 2024 | 2024-03-29
next Easter | 2024-03-31
Independence Day | 2022-07-04
the 4th of July | 2022-07-04
the Fourth of July 2021 | 2021-07-04
Mother's Day 2023 | 2023-05-14
Memorial Day 2023 | 2023-05-29
Labor Day 2022 | 2022-09-05
Q3 2022 | 2022-07-01 2022-10-01
Q3 | 2022-07-01 2022-10-01
in Q2 | 2023-04-01 2023-07-01
the third quarter | 2022-07-01 2022-10-01
the third quarter of 2021 | 2021-07-01 2021-10-01
the first quarter of last year | 2022-01-01 2022-04-01
What did we talk about recently? | 2023-05-15 now
lately | 2023-05-15 now
Was it last Friday or on May 5, 2023? | 2023-06-09; 2023-05-05
yesterday, today and tomorrow | 2023-06-13; 2023-06-14; 2023-06-15
In 2019, not in May. | 2019-01-01 2020-01-01; 2023-05-01 2023-06-01
""",
)
IN_MARCH = (
    "2023-03-01T00:00",
    """
in May | 2022-05-01 2022-06-01
in March | 2023-03-01 2023-04-01
in February | 2023-02-01 2023-03-01
yesterday | 2023-02-28
a month ago | 2023-02-01 2023-03-01
last winter | 2022-12-01 2023-03-01
between May and July | 2022-05-01 2022-08-01
February 29 | 2020-02-29
Easter | 2022-04-17
since yesterday | 2023-02-28 now
since today | 2023-03-01
""",
)
AT_THE_TURN_OF_THE_YEAR = (
    "2024-01-01T08:00",
    """
today | 2024-01-01
yesterday | 2023-12-31
last week | 2023-12-25 2024-01-01
this week | 2024-01-01 2024-01-08
last month | 2023-12-01 2024-01-01
last quarter | 2023-10-01 2024-01-01
last year | 2023-01-01 2024-01-01
last Monday | 2023-12-25
on Monday | 2024-01-01
last weekend | 2023-12-30 2024-01-01
in December | 2023-12-01 2024-01-01
this winter | 2023-12-01 2024-03-01
last winter | 2022-12-01 2023-03-01
last Christmas | 2023-12-25
New Year's Day | 2024-01-01
two months ago | 2023-11-01 2023-12-01
""",
)
ON_A_LEAP_DAY = (
    "2024-02-29T23:59",
    """
today | 2024-02-29
tomorrow | 2024-03-01
a year ago | 2023-01-01 2024-01-01
in the last year | 2023-02-28 now
next month | 2024-03-01 2024-04-01
Feb 29 | 2024-02-29
the end of February | 2024-02-22 2024-03-01
the last 12 months | 2023-02-28 now
this Sunday | 2024-03-03
""",
)
ON_THE_LAST_OF_A_MONTH = (
    "2023-05-31T12:00",
    """
a month ago | 2023-04-01 2023-05-01
three months ago | 2023-02-01 2023-03-01
the past month | 2023-04-30 now
last month | 2023-04-01 2023-05-01
tomorrow | 2023-06-01
last May | 2022-05-01 2022-06-01
""",
)
ON_A_SUNDAY = (
    "2023-06-18T20:00",
    """
this week | 2023-06-12 2023-06-19
last weekend | 2023-06-10 2023-06-12
this weekend | 2023-06-17 2023-06-19
next weekend | 2023-06-24 2023-06-26
last Sunday | 2023-06-11
on Sunday | 2023-06-18
next Monday | 2023-06-19
tomorrow | 2023-06-19
over the weekend | 2023-06-17 2023-06-19
""",
)
TABLES = (ON_A_WEDNESDAY, IN_MARCH, AT_THE_TURN_OF_THE_YEAR, ON_A_LEAP_DAY, ON_THE_LAST_OF_A_MONTH, ON_A_SUNDAY)


def moment(told: str, now: datetime) -> datetime:
    fixed = {"now": now, "min": EARLIEST, "max": LATEST}
    return fixed[told] if told in fixed else datetime.fromisoformat(told).replace(tzinfo=UTC)


def expected(told: str, now: datetime) -> list[tuple[datetime, datetime]]:
    stretches = []
    for stretch in filter(None, told.strip().split(";")):
        start, *end = (moment(one, now) for one in stretch.split())
        stretches.append((start, end[0] if end else start + timedelta(days=1)))
    return stretches


CASES = [(asked, *line.rsplit("|", 1)) for asked, table in TABLES for line in table.strip().splitlines()]


@pytest.mark.parametrize(("asked", "text", "told"), CASES)
def test_what_is_named_is_found(asked: str, text: str, told: str) -> None:
    now = moment(asked, EARLIEST)
    assert [(span.start, span.end) for span in spans(text.strip(), now)] == expected(told, now)


NOT_DATES = """
may I ask something?
it may rain
May I come in?
What did May say?
you may first want to rest
only 2 may enter
this may be wrong
may 5 people come in?
we march on
They march 5 miles
the march of time
Did April call?
What do you know about June?
a gift from August
an august body
wait a second
the second one
second to none
the sun is out
in the sun
he sat down
he last sat there
he who last wed
mon ami
a monsoon and a satellite
sunny days
Mayor Marchand
on every Monday
each Friday
on Mondays
Python 3.11
version 1.2.3
SQLite 3.45.1
open 24/7
on 24/7 duty
call 555-1234
555-123-4567
+1 (555) 123-4567
1/2 cup of sugar
3/4 of the users
on 1/2 of the machines
rated 5/5
a score of 9/10
it costs $2023
2023 EUR
port 2023
localhost:2023
on port 8080
in 2000 steps
about 2000 words
after 2000 requests
costs about 2000
between 1900 and 2000 users
issue #2023
last name
last time
last one
at last
the last minute
the next day
this will last three days
how long does it last a few days
last but not least
first name
the past
a while ago
a long time ago
long ago
two steps ago
the day before
the week after
Feb 30
February 30, 2023
Feb 29, 2023
on April 31
2023-13-01
2023-02-30
13/13/2023
31/04/2023
in 1899
in 2101
1850-05-05
9999 years ago
99999999999999 days ago
fall down
in a winter jacket
the spring of a clock
the first quarter of the game
snake_may_5
may-be
v2023-05-05
a2023-05
2019-20
in his 90s
mid-size
from now on
half the year
half a day
between jobs
since then
before lunch
until further notice
around the corner
early bird
late again
the end of the story
a new year of school
a Halloween costume
every Christmas
each summer
it is to last two weeks
²³ ٣ days ٤/٥
"""


@pytest.mark.parametrize("text", NOT_DATES.strip().splitlines())
def test_what_only_looks_like_a_date_is_left_alone(text: str) -> None:
    assert spans(text, moment("2023-06-14T10:30", EARLIEST)) == []


def test_there_are_many_cases() -> None:
    assert len(CASES) >= 200
    assert len(NOT_DATES.strip().splitlines()) >= 60


PLACES = [
    ("What did I do in May?", ["in May"]),
    ("What did I do in the last 3 days, and on Monday?", ["in the last 3 days", "on Monday"]),
    ("Caroline’s “May 5th, 2023” note", ["May 5th, 2023"]),
    ("since last week.", ["since last week"]),
    ("Read yesterday's log", ["yesterday's"]),
    ("last Friday May 5, 2023", ["Friday May 5, 2023"]),  # the longest reading
    ("**today**", ["today"]),
    ("mid-May", ["mid-May"]),
    ("It was yesterday. Morning was fine.", ["yesterday"]),
    ("on Jan. 5, 2020", ["on Jan. 5, 2020"]),
]


@pytest.mark.parametrize(("text", "found"), PLACES)
def test_a_span_knows_its_place(text: str, found: list[str]) -> None:
    got = spans(text, moment("2023-06-14", EARLIEST))
    assert [span.text for span in got] == found
    assert [text[span.begin : span.finish] for span in got] == found


def test_easter_of_known_years() -> None:
    known = "1900-04-15 1943-04-25 2000-04-23 2008-03-23 2019-04-21 2025-04-20 2038-04-25 2100-03-28".split()
    assert [f"{easter(int(day[:4])):%Y-%m-%d}" for day in known] == known


def test_other_time_zones_are_asked_in_their_own_moment() -> None:
    tokyo = datetime.fromisoformat("2023-06-14T03:00+09:00")  # still the 13th in UTC, which is where days are counted
    assert spans("today", tokyo)[0].start == datetime(2023, 6, 13, tzinfo=UTC)


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    now = moment("2023-06-14", EARLIEST)
    assert spans("x " * LOOKED_AT + "yesterday", now) == []
    assert spans(" " * (LOOKED_AT - 3) + "Mayor in 2023", now) == []  # "May" is only half of the word
    assert spans(" " * (LOOKED_AT - 5) + "today", now) != []


words = st.lists(
    st.sampled_from([*sorted(VOCABULARY), "2023", "5", "5th", "5/5", "31", ",", ".", "and", "to", "ago", "of"])
)
any_text = st.text(st.characters(codec=None)) | words.map(" ".join)
any_now = st.datetimes(datetime(1900, 1, 1), datetime(2100, 12, 31), timezones=st.just(UTC))


@given(any_text, any_now)
@example("since before until after since", datetime(2023, 1, 1, tzinfo=UTC))
@example("\ud800 may 5 ' ’s '' .:", datetime(1900, 1, 1, tzinfo=UTC))
def test_any_text_gives_ordered_disjoint_spans(text: str, now: datetime) -> None:
    found = spans(text, now)
    assert found == spans(text, now)
    for span in found:
        assert EARLIEST <= span.start < span.end <= LATEST
        assert 0 <= span.begin < span.finish <= len(text)
        assert text[span.begin : span.finish] == span.text
    assert all(one.finish <= two.begin for one, two in pairwise(found))


@given(any_text, st.sampled_from([datetime.min, datetime.max]))
def test_the_ends_of_time_are_no_error(text: str, now: datetime) -> None:
    spans(text, now.replace(tzinfo=UTC))


@pytest.mark.parametrize(
    "piece",
    ["may 5 ", "from a week before the end of May to ", "between ", "a ", "1", "[", "'", "Q3 ", "word ", "early-"],
)
def test_a_hundred_kilobytes_are_no_burden(piece: str) -> None:
    text = (piece * 100_000)[:100_000]
    now = moment("2023-06-14", EARLIEST)
    spans(text, now)
    began = time.process_time()
    spans(text, now)
    assert time.process_time() - began < 5  # about 5 ms; the bound is for a machine with other things to do


def test_a_span_cannot_be_changed() -> None:
    span = spans("today", moment("2023-06-14", EARLIEST))[0]
    assert isinstance(span, Span)
    with pytest.raises(AttributeError):
        span.begin = 3  # type: ignore[misc]
