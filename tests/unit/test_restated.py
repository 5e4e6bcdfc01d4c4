"""Whether one text restates another: on a corpus that was made before, with figures for each class, and guard by guard."""

from collections import Counter

import pytest

from memorist.text.restated import LONGEST_RESTATED, restates
from unit.test_near_twins import OTHER
from unit.twins_corpus import DEV, HELD, NEAR_MISSES, TWINS, pairs

PRECISION, RECALL = 0.98, 0.8


def judged(templates: tuple[int, ...]) -> tuple[Counter[str], Counter[str]]:
    made, merged = Counter[str](), Counter[str]()
    for pair in pairs(templates):
        made[pair.kind] += 1
        merged[pair.kind] += restates(pair.first, pair.second) is not None
    return made, merged


@pytest.mark.covers("S4-21", "N4-1")
@pytest.mark.parametrize("half", [DEV, HELD], ids=["made with", "held out"])
def test_twins_are_found_and_near_misses_are_not(half: tuple[int, ...]) -> None:
    made, merged = judged(half)
    right, wrong = (sum(merged[kind] for kind in kinds) for kinds in (TWINS, NEAR_MISSES))
    assert right / (right + wrong) >= PRECISION
    assert right / sum(made[kind] for kind in TWINS) >= RECALL
    assert set(made) == {*TWINS, *NEAR_MISSES}, "every class has its pairs"


def test_the_halves_share_no_template_and_are_the_same_each_time() -> None:
    assert not set(DEV) & set(HELD) and pairs(DEV) == pairs(DEV)
    assert not {pair.first for pair in pairs(DEV)} & {pair.first for pair in pairs(HELD)}


@pytest.mark.parametrize(("first", "second"), OTHER)
def test_what_only_looks_alike(first: str, second: str) -> None:
    assert restates(first, second) is None and restates(second, first) is None


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("We deploy on Friday", "On Friday we deploy", "same"),
        ("Ann leads the search team", "The search team is led by Ann", "same"),
        ("Ann heads the search team", "Ann leads the search team", "same"),
        ("The lead is paid monthly", "The head is paid monthly", None),
        ("Bob reports to the head of search", "Bob reports to the lead of search", None),
        ("Search calls billing", "Billing is called by search", "same"),
        ("Search calls billing", "Search is called by billing", None),
        ("Retry 3 times within 5 minutes", "Retry 5 times within 3 minutes", None),
        ("Ann is allergic to nuts", "Ann is allergic to nuts, and carries an injector", "less"),
        ("Ann is allergic to nuts", "Ann is allergic to nuts only in spring", None),
        ("Ann's brother is allergic to nuts", "Ann is allergic to nuts", None),
        ("The backend is written in Python", "The backend is written in Go", None),
        ("My dentist is Dr Wolf", "Her dentist is Dr Wolf", None),
        ("You must use tabs", "You may use tabs", None),
        ("On Friday, we deploy to staging", "We deploy to staging on Friday", "same"),
        ("… (Ann leads the search team)", "Ann leads the search team", "same"),
        ("Kafka runs in Oslo and Redis in Rome", "In Oslo runs Redis, in Rome Kafka", None),
        ("I live in Oslo", "I used to live in Oslo", None),
        ("All tests pass", "Some tests pass", None),
    ],
)
def test_guard_by_guard(first: str, second: str, found: str | None) -> None:
    assert restates(first, second) == found
    assert restates(second, first) == {"less": "more"}.get(found or "", found)


def test_a_long_text_is_restated_only_to_the_letter() -> None:
    long = "Nests lie in trees by the bend. " * (LONGEST_RESTATED // 20)
    assert restates(long, long.upper()) == "same" and restates(long, f"{long} And one more.") is None
