"""When are two texts the same to the letter, how far apart are two words, and was a text used in an answer?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.text.twins import distance, fingerprint, normalised, spelled_alike, used_in

any_text = st.text(st.characters(codec=None))


@pytest.mark.covers("S3-25")
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Staging runs Postgres", "  staging\n\n runs\tPostgres "), ("Café", "cafe\u0301"), ("STRASSE", "straße"),
        ("a\u00a0b", "a b"), ("  Staging \r\n runs\u3000Postgres ", "staging runs postgres"),
    ],
)  # fmt: skip
def test_case_form_and_blanks_make_no_difference(left: str, right: str) -> None:
    assert fingerprint(b"key", left) == fingerprint(b"key", right)


@pytest.mark.covers("S3-25")
@given(any_text, any_text)
def test_fingerprints_agree_exactly_when_the_texts_do(left: str, right: str) -> None:
    assert normalised(normalised(left)) == normalised(left)
    assert (fingerprint(b"key", left) == fingerprint(b"key", right)) == (normalised(left) == normalised(right))
    assert fingerprint(b"key", left) != fingerprint(b"other", left) and len(fingerprint(b"key", left)) == 16


@pytest.mark.covers("C3-5")
def test_spelled_alike_is_not_the_same() -> None:
    assert spelled_alike(
        "use tabs for the indentation in this project", "use spaces for the indentation in this project"
    )
    assert not spelled_alike("likes tea", "likes coffee")


@given(st.text("abc", max_size=6), st.text("abc", max_size=6), st.integers(0, 3))
def test_the_distance_is_that_of_the_textbook(a: str, b: str, most: int) -> None:
    rows = {(i, j): i + j for i in range(len(a) + 1) for j in range(len(b) + 1) if not i or not j}
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            costs = [rows[i - 1, j] + 1, rows[i, j - 1] + 1, rows[i - 1, j - 1] + (a[i - 1] != b[j - 1])]
            if i > 1 and j > 1 and (a[i - 1], a[i - 2]) == (b[j - 2], b[j - 1]):
                costs.append(rows[i - 2, j - 2] + 1)
            rows[i, j] = min(costs)
    expected = rows[len(a), len(b)]
    assert distance(a, b, most) == (expected if expected <= most else None)


SHOWN = {1: "Staging runs Postgres 16", 2: "Lunch is at noon", 3: "The staging cache is cleared at night"}


@pytest.mark.covers("X9")
@pytest.mark.parametrize(
    ("answer", "used"),
    [
        ("It runs Postgres 16.", {1}), ("See [2].", {2}), ("See [id:3] and [1, 2].", {1, 2, 3}), ("I do not know.", set()),
        ("What runs staging is unknown", set()), ("arr[1] and [1](http://x)", set()),
        ("As noted, the staging cache is cleared at night.", {3}),
    ],
)  # fmt: skip
def test_use_is_judged_by_what_a_text_adds_to_the_question(answer: str, used: set[int]) -> None:
    assert used_in(answer, SHOWN, "What runs on staging?").keys() == used


@given(any_text, any_text, any_text)
def test_any_text_can_be_used(answer: str, text: str, query: str) -> None:
    assert used_in(answer, {1: text}, query).keys() <= {1}
