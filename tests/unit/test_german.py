"""German prompts in English words."""

import pytest

from memorist.text.german import in_english


@pytest.mark.parametrize(
    ("german", "english"),
    [
        ("die Datenbankverbindung ist langsam", "database connection slow"),
        ("wurden die alten Dateien gelöscht und umbenannt?", "old file delete rename"),
        ("loeschst du die Tabelle?", "delete table"),
        ("wir haben POST /v2/users in app/routes.py umbenannt", "POST /v2/users app/routes.py rename"),
    ],
)
def test_known_words_are_english_and_others_stay(german: str, english: str) -> None:
    assert in_english(german) == english


@pytest.mark.parametrize(
    "text",
    [
        "the old server may die while the test plan runs last",
        "show the last art tag and the man page, so we are in",
        "TypeError: die() takes no arguments",
        "naïve café",
        "",
    ],
)
def test_a_text_that_is_not_german_stays_as_it_is(text: str) -> None:
    assert in_english(text) == text


def test_only_german_lines_are_read() -> None:
    log = "Error: docs/openapi.json is not up to date"
    assert in_english(f"warum ist die Prüfung rot?\n{log}").splitlines()[1] == log


def test_a_word_that_the_notes_have_stays_beside_its_english() -> None:
    assert in_english("wo liegt die Sicherung?", lambda word: word == "sicherung") == "live Sicherung? backup"


@pytest.mark.parametrize("text", ["alle die", "für die Datenbank"])
def test_a_line_of_which_no_two_words_are_left_stays_as_it_is(text: str) -> None:
    assert in_english(text) == text


def test_what_is_denied_stays_denied() -> None:
    assert in_english("Lösch nicht die Datenbank") == "delete not database"
    assert in_english("starte den Server ohne Zwischenspeicher") == "run start Server without cache"
    assert in_english("warum war der Build nicht grün?") == "Build not green"
