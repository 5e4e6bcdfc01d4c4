"""Are the people we know recognised by their names?"""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.text.question import speakers_in, without_names

SPEAKERS = [
    ("What did Caroline say?", ["Caroline", "Melanie"], ["Caroline"]),
    ("what did caroline say?", ["Caroline"], ["Caroline"]),
    ("What is Caroline's job, and Melanie’s?", ["Melanie", "Caroline"], ["Caroline", "Melanie"]),
    ("James' car", ["James"], ["James"]),
    ("Carolines and carolineish", ["Caroline"], []),
    ("What did Caroline say?", ["Caroline Smith"], ["Caroline Smith"]),
    ("What did Caroline say?", ["Caroline Smith", "Caroline Jones"], []),
    ("What did Caroline  Jones say?", ["Caroline Smith", "Caroline Jones"], ["Caroline Jones"]),
    ("What did Smith say?", ["Caroline Smith"], []),
    ("Anna Maria's cat", ["Anna", "Anna Maria"], ["Anna Maria"]),
    ("Anna met Anna Maria", ["Anna Maria", "Anna"], ["Anna", "Anna Maria"]),
    ("did bo go?", ["Bo"], []),
    ("did Bo go?", ["Bo"], ["Bo"]),
    ("what will she do?", ["Will Smith"], []),
    ("did Will go?", ["Will Smith"], ["Will Smith"]),
    ("it may rain", ["May"], []),
    ("did the Dr. call?", ["Dr. Lee"], []),
    ("did Dr. Lee call?", ["Dr. Lee"], ["Dr. Lee"]),
    ("李雷喜欢什么？", ["韩梅梅", "李雷"], ["李雷"]),
    ("Caroline喜欢什么？", ["Caroline"], ["Caroline"]),
    ("Что сказала анне?", ["Анн"], ["Анн"]),
    ("Was sagte Jose\u0301?", ["José"], ["José"]),
    ("Melanie, Caroline, Melanie", ["Caroline", "Melanie", "Caroline"], ["Melanie", "Caroline"]),
    ("anything", ["", "  ", "(.*", "[a"], []),
    ("who is (.* here", ["(.*"], ["(.*"]),
    ("", ["Caroline"], []),
]


@pytest.mark.parametrize(("question", "known", "found"), SPEAKERS)
def test_known_speakers_are_recognised(question: str, known: list[str], found: list[str]) -> None:
    assert speakers_in(question, known) == found


CUTS = [
    ("What did Caroline say?", ["Caroline"], "What did say?"),
    ("What did Caroline's brother say?", ["Caroline"], "What did brother say?"),
    ("What is melanie’s job?", ["Melanie"], "What is job?"),
    ("James' car", ["James"], "car"),
    ("Caroline, Melanie and Tom?", ["Melanie"], "Caroline, and Tom?"),
    ("Where is Caroline?", ["Caroline Smith"], "Where is?"),
    ("Caroline?", ["Caroline"], "Caroline?"),
    ("Caroline's", ["Caroline"], "Caroline's"),
    ("What  is this?", [], "What  is this?"),
    ("What  is this?", ["Caroline"], "What  is this?"),
    ("李雷喜欢什么", ["李雷"], "喜欢什么"),
    ("", ["Caroline"], ""),
]


@pytest.mark.parametrize(("question", "cut", "left"), CUTS)
def test_names_can_be_cut_out(question: str, cut: list[str], left: str) -> None:
    assert without_names(question, cut) == left


any_text = st.text(st.characters(codec=None)) | st.lists(
    st.sampled_from(
        "Caroline caroline's Dr. Lee of van New I I'm ’ ' J. Postgres 16 , . \n 李雷 U.S. iPhone \ud800 _".split(" ")
    )
).map(" ".join)


@given(any_text, st.lists(st.text(st.characters(codec=None), max_size=8), max_size=5))
def test_any_speakers_are_valid(text: str, known: list[str]) -> None:
    found = speakers_in(text, known)
    assert set(found) <= set(known)
    assert len(found) == len(set(found))
    assert bool(without_names(text, known)) == bool(text)
    assert without_names(text, []) == text


@pytest.mark.parametrize("piece", ["A. ", "Caroline ", "A", "'", "New ", "Dr. ", "a.", " ", "https://"])
def test_a_long_text_is_read_in_one_pass(piece: str) -> None:
    text = (piece * 300_000)[:300_000]
    began = time.process_time()
    speakers_in(text, ["Caroline", "A A", "Dr. Lee"])
    without_names(text, ["Caroline"])
    assert time.process_time() - began < 20  # a second or so; what is not linear would take hours


def test_a_thousand_speakers_are_no_burden() -> None:
    assert speakers_in("Did Name77 call?", [f"Name{number}" for number in range(1000)]) == ["Name77"]
