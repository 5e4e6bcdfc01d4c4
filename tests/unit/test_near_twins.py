"""Near twins: the same claim in other words, and nothing that only looks like it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memorist.text.twins import LONGEST_COMPARED, TRIGRAMS_SHARED, claim_of, jaccard, same_claim, trigrams


def near_twins(a: str, b: str) -> bool:
    return same_claim(claim_of(a), claim_of(b))


SAME = [
    ("We decided to use Postgres 16 for staging", "Staging runs Postgres 16"),
    ("We're going with Postgres 16 on staging", "We decided to use Postgres 16 for staging."),
    ("The deploy script fails when the VPN is off", "Deploy script breaks if the VPN is down"),
    ("Never commit directly to main", "Do not commit directly to main"),
    ("I prefer tabs for indentation", "I like tabs for the indentation"),
    ("Empty bodies sign as '' in the payments HMAC", "In the payments HMAC, an empty body signs as ''"),
    ("We always run the linter before the tests", "Always run linter before tests"),
    ("The database password rotates every 30 days", "the db password rotates every 30 days"),
    ("All dates are stored in UTC", "Dates are stored in UTC"),
    ("Remove the folder build before a release", "Delete the directory build before a release"),
    ("The parser needs a trailing newline", "Note: the parser requires a trailing newline"),
    ("ValueError: bad padding in token decoder", "ValueError: bad padding in the token decoder"),
    ("Authentication tokens expire after 15 minutes", "Auth tokens expire after 15 minutes"),
    ("We agreed to keep the old API until June", "Let's keep the old API until June"),
    ("The cache is cleared on deploy", "On deploy the cache is cleared"),
]

OTHER = [
    ("Staging runs Postgres 16", "Staging runs Postgres 15"),  # numbers
    ("The port is 8080", "The port is 9090"),
    ("Version 1.2 breaks the importer", "Version 1.3 breaks the importer"),
    ("Always commit directly to main", "Never commit directly to main"),  # negation
    ("Deploy on Fridays", "Don't deploy on Fridays"),
    ("Tests must pass with Python 3.11", "Tests must pass without Python 3.11"),
    ("Ann prefers tea in the morning", "Bob prefers tea in the morning"),  # names
    ("payments uses getUserById", "payments uses getUserByName"),
    ("src/pay.py fails on empty input", "src/pie.py fails on empty input"),
    ("The api key lives in Vault", "The api key lives in Consul"),
    ("We use Redis", "We use Kafka"),
    ("The staging database runs in Frankfurt", "The production database runs in Frankfurt"),
    ("Use tabs for indentation in this project", "Use spaces for indentation in this project"),  # spelled almost alike
    ("likes tea", "likes coffee"),
    ("Enable the cache in staging", "Disable the cache in staging"),
    ("Caroline was born in Oslo", "Caroline lives in Oslo"),
    ("Ann pays Bob", "Bob pays Ann"),  # who does it to whom
    ("Ann manages Bob in the Berlin office", "Bob manages Ann in the Berlin office"),
    ("the client calls the server", "the server calls the client"),
    ("Use tabs over spaces", "Use spaces over tabs"),
    ("We migrate from MySQL to Postgres", "We migrate from Postgres to MySQL"),
    ("We moved from Heroku", "We moved to Heroku"),  # small words that turn it around
    ("Run the linter before the tests", "Run the linter after the tests"),
    ("Only admins can delete users", "Admins can delete users"),
    ("The limit is more than 5", "The limit is less than 5"),
    ("The timeout is at least 30 seconds", "The timeout is at most 30 seconds"),
]


@pytest.mark.covers("W3-5")
@pytest.mark.parametrize(("a", "b"), SAME)
def test_the_same_in_other_words_is_recognised(a: str, b: str) -> None:
    assert near_twins(a, b)
    assert near_twins(b, a)


@pytest.mark.covers("W3-5")
@pytest.mark.parametrize(("a", "b"), OTHER)
def test_what_only_looks_alike_is_not_the_same(a: str, b: str) -> None:
    assert not near_twins(a, b)
    assert not near_twins(b, a)


@pytest.mark.covers("C3-5")
def test_a_bound_on_spelling_alone_would_have_merged_tabs_and_spaces() -> None:
    a, b = "use tabs for the indentation in this project", "use spaces for the indentation in this project"
    assert jaccard(trigrams(a), trigrams(b)) >= TRIGRAMS_SHARED
    assert not near_twins(a, b)


def test_what_adds_a_little_is_the_same_and_what_adds_a_lot_is_not() -> None:
    assert near_twins("Deploys start on the build server", "Deploys start on the build server early")
    assert not near_twins(
        "Deploys start on the build server", "Deploys start on the build server of our oldest customer in Graz"
    )


def test_long_texts_are_the_same_only_if_they_are_twins() -> None:
    long = "The importer reads a line. " * 100
    assert len(long) > LONGEST_COMPARED
    assert near_twins(long, long.upper())
    assert not near_twins(long, long + " It stops at a blank one.")


TEXTS = st.one_of(st.text(max_size=200), st.sampled_from([text for pair in (*SAME, *OTHER) for text in pair]))


@given(TEXTS, TEXTS)
def test_it_is_symmetric_and_a_text_is_its_own_twin(a: str, b: str) -> None:
    assert near_twins(a, a)
    assert near_twins(a, b) == near_twins(b, a)


@given(TEXTS, st.integers(0, 9999))
@example("1:2", 1)  # both numbers are said by what stands before them
def test_another_number_is_another_claim(text: str, number: int) -> None:
    a, b = f"{text} is {number}", f"{text} is {number + 1}"
    assert not near_twins(a, b)


@given(TEXTS)
def test_every_text_can_be_read_as_a_claim(text: str) -> None:
    claim = claim_of(text)
    assert len(set(claim.words)) == len(claim.words)
    assert set(claim.numbers) <= set(claim.words) and claim.names <= set(claim.words)
