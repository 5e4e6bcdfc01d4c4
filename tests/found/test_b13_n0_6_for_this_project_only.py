"""B13, N0-6: the words that ask for a memory, and those that say where it holds, are no part of it."""

from pathlib import Path

import pytest

from memorist import Memory
from memorist.remember.extract import extract
from memorist.seeds import tiers
from memorist.seeds.tiers import override_of


@pytest.mark.covers("B13", "N0-6")
@pytest.mark.parametrize(
    ("said", "text", "scope"),
    [
        ("For this project only: I prefer spaces", "I prefer spaces", "project"),
        ("I prefer spaces for this project only", "I prefer spaces", "project"),
        ("remember, only in this project, that I prefer spaces", "I prefer spaces", "project"),
        ("note this down: the cache is cold", "the cache is cold", "project"),
        ("Write this down: the cache is cold", "the cache is cold", "project"),
        ("Please make a note of this: the cache is cold", "the cache is cold", "project"),
        ("for all projects: the licence is MIT", "the licence is MIT", "global"),
        ("Remember for all my projects: the licence is MIT", "the licence is MIT", "global"),
        ("the licence is MIT in every project", "the licence is MIT", "global"),
        ("Remember this: I prefer tabs", "I prefer tabs", "global"),
        ("Merk dir, dass ich Tabs bevorzuge", "ich Tabs bevorzuge", "project"),
        ("Für alle Projekte: die Lizenz ist MIT", "die Lizenz ist MIT", "global"),
        ("Nur für dieses Projekt: I prefer spaces", "I prefer spaces", "project"),
        ("The licence is MIT (for all projects).", "The licence is MIT.", "global"),
        ("Tabs (in this project) are 4 wide", "Tabs are 4 wide", "project"),
        ("The port is 80 (as in this project)", "The port is 80 (as in this project)", "project"),
        ("Backups run for all projects at night", "Backups run for all projects at night", "project"),
        ("tests in every project are run by CI", "tests in every project are run by CI", "project"),
        (
            "Never use eval in this project because it runs on servers",
            "Never use eval in this project because it runs on servers",
            "project",
        ),
        ("I prefer tabs in this project because of Go", "I prefer tabs in this project because of Go", "project"),
        ("The parser for this projection is slow", "The parser for this projection is slow", "project"),
    ],
)
def test_only_what_is_to_be_remembered_is_kept(said: str, text: str, scope: str) -> None:
    meant = override_of(said)
    assert (meant.text, meant.scope) == (text, scope)


@pytest.mark.covers("B13", "N0-6")
def test_what_shall_hold_in_all_projects_is_asked_about(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", project="atlas", design="tiers") as memory:
        assert tiers(memory).remember("for all projects: I prefer tabs") is None
        [waiting] = memory.review()  # a preference stands in the prompts of every project
        assert "I prefer tabs" in str(waiting) and "for all projects" not in str(waiting)
        item = tiers(memory).remember("for all projects: the licence is MIT")
        assert item is not None and item.source == "global"


@pytest.mark.covers("B13", "N0-6")
@pytest.mark.parametrize("said", ["Note this down: the cache is cold.", "Please remember that the cache is cold."])
def test_extract_keeps_what_is_asked_for_without_the_words_that_ask(said: str) -> None:
    [found] = extract(said, "user")
    assert (found.text, found.asked_for) == ("the cache is cold.", True)
