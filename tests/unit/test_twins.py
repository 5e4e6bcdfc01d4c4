"""When are two texts the same?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.text.twins import fingerprint, normalised

any_text = st.text(st.characters(codec=None))


@pytest.mark.covers("S3-25")
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Staging runs Postgres", "staging runs postgres"),
        ("staging runs postgres", "  Staging\n\n runs\tPostgres "),
        ("Café", "cafe\u0301"),
        ("STRASSE", "straße"),
        ("a\u00a0b", "a b"),
    ],
)
def test_case_form_and_blanks_make_no_difference(left: str, right: str) -> None:
    assert fingerprint(b"key", left) == fingerprint(b"key", right)


@pytest.mark.parametrize(("left", "right"), [("resume", "résumé"), ("a b", "ab"), ("C", "C++"), ("", "a"), ("ß", "s")])
def test_everything_else_does(left: str, right: str) -> None:
    assert fingerprint(b"key", left) != fingerprint(b"key", right)


@pytest.mark.covers("S3-25")
def test_normalised_is_lower_case_with_single_blanks() -> None:
    assert normalised("  Staging \r\n runs\u3000Postgres ") == "staging runs postgres"
    assert normalised("CAFE\u0301") == "café"
    assert normalised(" \n ") == ""


@given(any_text)
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)


@given(any_text, any_text)
def test_fingerprints_agree_exactly_when_the_texts_do(left: str, right: str) -> None:
    same = normalised(left) == normalised(right)
    assert (fingerprint(b"key", left) == fingerprint(b"key", right)) == same


def test_a_fingerprint_is_keyed_and_short() -> None:
    mark = fingerprint(b"key", "text")
    assert len(mark) == 16 and int(mark, 16) >= 0
    assert mark != fingerprint(b"other", "text")
    assert fingerprint(b"key", "\ud800") != fingerprint(b"key", "\ud801")
