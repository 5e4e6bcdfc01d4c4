"""B11: `extract` found nothing in sentences that people say every day, and no discovery, pattern or progress in prose.

`unit/worth_keeping.txt` was written before the rules: half of it was looked at while they were made, the other half was not.
"""

from collections import Counter

import pytest

from memorist import Memory
from memorist.remember.extract import extract
from unit.worth_keeping import NOTHING, TYPED, TYPED_UNSEEN, figures, sentences

SAID = {
    "Do not modify the auth middleware directly.": "warning",
    "When deploying, never skip the smoke tests.": "warning",
    "Always run make lint before pushing.": "convention",
    "Error: Cannot find module 'x'": "error",
    "error TS2304": "error",
    "src/app.ts(3,5): error TS2304: Cannot find name 'foo'.": "error",
    "I'm vegetarian and I live in Lyon": "fact",
    "My wife's birthday is March 3rd": "fact",
    "Don't ever push to main without asking me": "warning",
    "It turns out the CSV export skips archived users.": "note",
    "Every time the VPN reconnects, the tunnel loses its DNS entries.": "pattern",
    "The migration is done, only the cleanup remains.": "progress",
    "Mein Geburtstag ist am 3. Juni.": "fact",
    "Mein Geburtstag ist am 3. oder 4. Juni, je nach Kalender.": "fact",
    "Lass uns Kafka verwenden.": "decision",
    "Fehler: Modul 'x' nicht gefunden": "error",
    "We moved the auth code into services/auth.": "file_change",
    "Nein, der Port ist 8081, nicht 8080.": "correction",
    "No, the port is 8081, not 8080.": "correction",
    "The port is 8081, not 8080.": "correction",
    "Make sure you use tabs, not spaces.": "convention",
    "Use tabs, not spaces.": "convention",
}


@pytest.mark.covers("B11", "S3-4")
@pytest.mark.parametrize("role", ["user", None])
@pytest.mark.parametrize(("said", "kind"), SAID.items())
def test_what_people_say_is_found(said: str, kind: str, role: str | None) -> None:
    assert [(found.kind, found.text) for found in extract(said, role)] == [(kind, said)]


@pytest.mark.covers("B11")
@pytest.mark.parametrize(
    "said", ["He said we should never use Kafka, but I disagree.", "We should never use Kafka? I disagree."]
)
def test_what_nobody_here_holds_is_not_found(said: str) -> None:
    assert extract(said, "user") == []


@pytest.mark.covers("B11")
def test_a_number_may_end_a_sentence() -> None:
    assert [found.text for found in extract("My size is 42. My name is Ann.", "user")] == [
        "My size is 42.",
        "My name is Ann.",
    ]


@pytest.mark.covers("B11")
def test_what_is_found_is_kept(memory: Memory) -> None:
    kept = memory.extract(" ".join(f"{said.rstrip('.')}." for said in list(SAID)[:3]), session="s", role="user")
    assert [outcome.record.kind for outcome in kept if outcome.record] == ["warning", "warning", "convention"]


@pytest.mark.covers("B11")
def test_the_corpus_is_what_it_claims() -> None:
    corpus = sentences()
    kinds = Counter(each.kind for each in corpus)
    worth = len(corpus) - kinds[NOTHING]
    assert len(corpus) >= 300 and kinds[NOTHING] >= worth and min(kinds.values()) >= 30
    assert {each.language for each in corpus} == {"en", "de"} and len({each.text for each in corpus}) == len(corpus)
    assert abs(sum(each.seen for each in corpus) - len(corpus) / 2) <= 1


@pytest.mark.covers("B11")
@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("seen", [True, False])
def test_most_of_what_is_worth_keeping_is_found_and_little_else(seen: bool, language: str) -> None:
    some = [each for each in sentences() if each.seen == seen and each.language == language]
    reached = figures(some)
    assert reached.precision >= 0.85 and reached.recall >= 0.7 and reached.named >= 0.85, reached


@pytest.mark.covers("B11", "S3-4")
def test_rules_typed_in_passing_are_found_and_orders_for_the_moment_are_not() -> None:
    """Of those that nobody had looked at only a third is found: plain speech has no end of ways. The turns remain."""
    seen, unseen = figures(sentences(TYPED)), figures(sentences(TYPED_UNSEEN))
    assert seen.precision >= 0.9 and seen.recall >= 0.9, seen
    assert unseen.precision >= 0.8 and unseen.recall >= 0.3, unseen


@pytest.mark.covers("B11")
@pytest.mark.parametrize("kind", sorted({each.kind for each in sentences()} - {NOTHING}))
def test_no_kind_is_left_out(kind: str) -> None:
    assert figures(each for each in sentences() if each.kind == kind).recall >= 0.7


@pytest.mark.covers("B11")
def test_what_is_stated_before_a_question_is_found_without_the_question() -> None:
    [found] = extract("I'm allergic to peanuts, can you suggest a dessert?", "user")
    assert (found.kind, found.text) == ("fact", "I'm allergic to peanuts")
    assert extract("Can you suggest a dessert, I'm hungry?", "user") == []


@pytest.mark.covers("B11")
def test_what_an_assistant_or_a_tool_says_of_itself_is_no_fact_about_the_user() -> None:
    said = "I live in Lyon and I work as a nurse."
    assert [found.kind for found in extract(said, "user")] == ["fact"]
    assert extract(said, "assistant") == [] and extract(said, "tool") == []


@pytest.mark.covers("B11")
@pytest.mark.parametrize("said", ["I remember that we met on a boat.", "It is a nice way to remember the trip."])
def test_to_remember_is_not_to_ask_for_it(said: str) -> None:
    assert not any(found.asked_for for found in extract(said, "user"))


@pytest.mark.covers("B11")
def test_a_heading_is_no_command() -> None:
    assert extract("# Notes of the day\n\nNothing special.", "assistant") == []
    [found] = extract("root@web1:~# systemctl restart nginx\ndone", "assistant")
    assert found.subject == "systemctl restart nginx"
