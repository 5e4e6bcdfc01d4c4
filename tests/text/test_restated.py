"""Whether one text states the same as another: on pairs that were made before, with figures for each class, and guard by guard."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growing import grows_too_fast
from memorist.text.restated import LONGEST_RESTATED, earlier_duplicates, restates, same_claim
from text.pairs import DEV, HELD, SAME, pairs

PARAPHRASES = """
We decided to use Postgres 16 for staging | Staging runs Postgres 16
We're going with Postgres 16 on staging | We decided to use Postgres 16 for staging.
Never commit directly to main | Do not commit directly to main
I prefer tabs for indentation | I like tabs for the indentation
Empty bodies sign as '' in the payments HMAC | In the payments HMAC, an empty body signs as ''
We always run the linter before the tests | Always run linter before tests
The database password rotates every 30 days | the db password rotates every 30 days
The parser needs a trailing newline | Note: the parser requires a trailing newline
Authentication tokens expire after 15 minutes | Auth tokens expire after 15 minutes
The cache is cleared on deploy | On deploy the cache is cleared
We deploy on Friday | On Friday we deploy
Ann leads the search team | The search team is led by Ann
Search calls billing | Billing is called by search
On Friday, we deploy to staging | We deploy to staging on Friday
"""
NEAR_MISSES = """
Staging runs Postgres 16 | Staging runs Postgres 15
Always commit directly to main | Never commit directly to main
Ann prefers tea in the morning | Bob prefers tea in the morning
payments uses getUserById | payments uses getUserByName
Use tabs for indentation in this project | Use spaces for indentation in this project
Enable the cache in staging | Disable the cache in staging
Caroline was born in Oslo | Caroline lives in Oslo
Ann pays Bob | Bob pays Ann
Use tabs over spaces | Use spaces over tabs
We migrate from MySQL to Postgres | We migrate from Postgres to MySQL
Run the linter before the tests | Run the linter after the tests
Only admins can delete users | Admins can delete users
Only admins can delete projects | Admins can only delete projects
The limit is more than 5 | The limit is less than 5
The lead is paid monthly | The head is paid monthly
Search calls billing | Search is called by billing
Retry 3 times within 5 minutes | Retry 5 times within 3 minutes
Ann is allergic to nuts | Ann is allergic to nuts only in spring
Ann's brother is allergic to nuts | Ann is allergic to nuts
The backend is written in Python | The backend is written in Go
My dentist is Dr Wolf | Her dentist is Dr Wolf
You must use tabs | You may use tabs
Kafka runs in Oslo and Redis in Rome | In Oslo runs Redis, in Rome Kafka
The api of the shop uses the db of the bank | The db of the shop uses the api of the bank
I live in Oslo | I used to live in Oslo
All tests pass | Some tests pass
"""


def table(lines: str) -> list[tuple[str, str]]:
    return [tuple(line.split(" | ")) for line in lines.strip().splitlines()]  # type: ignore[misc]


@pytest.mark.covers("S4-21", "N4-1")
@pytest.mark.parametrize(("half", "recall"), [(DEV, 0.8), (HELD, 0.8)], ids=["made with", "held out"])
def test_duplicates_are_recognised_and_near_misses_never(half: range, recall: float) -> None:
    made, joined = Counter[str](), Counter[str]()
    for pair in pairs(half):
        made[pair.kind] += 1
        joined[pair.kind] += restates(pair.first, pair.second) is not None
    assert {kind: joined[kind] for kind in made if kind not in SAME and joined[kind]} == {}
    assert sum(joined[kind] for kind in SAME) >= recall * sum(made[kind] for kind in SAME), json.dumps([made, joined])
    assert len(made) == 17, "every class has its pairs"


@pytest.mark.covers("W3-5", "S4-20")
@pytest.mark.parametrize(("first", "second"), table(PARAPHRASES))
def test_the_same_in_other_words(first: str, second: str) -> None:
    assert same_claim(first, second) and same_claim(second, first)


@pytest.mark.covers("W3-5", "C3-5")
@pytest.mark.parametrize(("first", "second"), table(NEAR_MISSES))
def test_what_only_looks_alike(first: str, second: str) -> None:
    assert restates(first, second) is None and restates(second, first) is None


def test_what_one_of_them_adds_is_told_apart() -> None:
    short = "Ann is allergic to nuts"
    assert restates(short, f"{short}, and carries an injector") == "less"
    assert restates(f"{short}, and carries an injector", short) == "more"


def test_a_long_text_is_restated_only_to_the_letter() -> None:
    long = "Nests lie in trees by the bend. " * (LONGEST_RESTATED // 20)
    assert restates(long, long.upper()) == "same" and restates(long, f"{long} And one more.") is None


STATEMENTS = [text for pair in (*table(PARAPHRASES), *table(NEAR_MISSES)) for text in pair]
texts = st.text(max_size=200) | st.sampled_from(STATEMENTS)


@given(texts, texts)
def test_it_is_symmetric_and_a_text_states_itself(first: str, second: str) -> None:
    assert same_claim(first, first) and same_claim(first, second) == same_claim(second, first)


@given(texts, st.integers(0, 9999))
def test_another_number_is_another_statement(text: str, number: int) -> None:
    assert not same_claim(f"{text} is {number}", f"{text} is {number + 1}")


@pytest.mark.covers("E7")
@given(st.lists(texts, max_size=12))
def test_duplicates_among_many_are_those_that_comparing_each_would_find(many: list[str]) -> None:
    first: list[int | None] = []
    for place, text in enumerate(many):
        first.append(next((at for at in range(place) if first[at] is None and same_claim(many[at], text)), None))
    assert earlier_duplicates((text, "") for text in many) == first
    assert earlier_duplicates((text, place) for place, text in enumerate(many)) == [None] * len(many), "other groups"


@pytest.mark.covers("E7")
def test_time_grows_with_the_number_of_texts() -> None:
    assert (
        grows_too_fast(lambda count: earlier_duplicates((f"Pump {n} is oiled", "") for n in range(count)) and None, 800)
        is None
    )
