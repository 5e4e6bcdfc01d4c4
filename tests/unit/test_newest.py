"""The newer one first: which of two notes takes the other's place, what recall makes of it, and what it leaves alone."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist import Memory
from memorist.models import pairs
from memorist.testing import MovableClock

START = datetime(2026, 3, 1, tzinfo=UTC)
# old, new, and what people ask
UPDATES = [
    ("Standup is at 9:30", "Standup is at 10:00", "when is standup?"),
    ("User prefers dark mode", "User prefers light mode", "which mode does the user prefer?"),
    ("Mara lives in Berlin", "Mara lives in Munich", "where does Mara live?"),
    ("Default branch is master", "Default branch is main", "what is the default branch?"),
    ("Limit for guests on the list is 60", "Make that 75 guests on the list, the hall is bigger", "how many guests?"),
    ("Training ist dienstags um 19 Uhr", "Training ist ab jetzt montags um 20 Uhr", "wann ist Training?"),
    (
        "Oma nimmt Zucker in den Tee",
        "Oma nimmt keinen Zucker mehr in den Tee, nur Süßstoff",
        "nimmt Oma Zucker in den Tee?",
    ),
    ("Our vet is Larkfield", "We've left Larkfield; the vet is Mill Road now", "which vet?"),
]
BOTH_HOLD = [
    ("Lena plays the cello", "Tomas bought a lawnmower because the old one broke"),
    ("note 12", "note 13"),
    ("Report 4: train 9 left platform 2 on time", "Report 5: train 8 left platform 3 on time"),
    ("Is standup at 9:30?", "Is standup at 10:00?"),
]


# What holds, what was said later of somebody or something else, and a question for the first.
SOMEBODY_ELSE = [
    ("Jonas trinkt Kaffee", "Lukas trinkt keinen Kaffee mehr, nur noch Tee", "Was trinkt Jonas?"),
    ("Tom drinks coffee", "Paul no longer drinks coffee, only tea", "What does Tom drink?"),
    ("Anna is allergic to nuts", "Ben is no longer allergic to milk", "What is Anna allergic to?"),
    ("Omas Geburtstag ist am 3. Mai", "Opas Geburtstag ist jetzt am 9. Juni", "Wann ist Omas Geburtstag?"),
    ("Die Bibliothek schließt um 18 Uhr", "Die Mensa schließt jetzt um 15 Uhr", "Wann schließt die Bibliothek?"),
    ("Tom likes apples", "Tom no longer likes pears", "Does Tom like apples?"),
    ("I went to Rome in 2019", "I went to Paris in 2022", "When was I in Rome?"),
    (
        "Our wedding anniversary is 6 June",
        "Summer holiday this year: two weeks on Krk",
        "When is our wedding anniversary?",
    ),
    ("Lena started school in September 2025", "Lena's shoe size is 31", "When did Lena start school?"),
]


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", clock=MovableClock(START)) as memory:
        yield memory


def told(memory: Memory, *texts: str, **more: object) -> list[str]:
    ids = []
    for day, text in enumerate(texts):
        ids.append(memory.remember(text, at=START + timedelta(days=day), **more).id or "")  # type: ignore[arg-type]
    return ids


@pytest.mark.parametrize(("old", "new", "question"), UPDATES)
def test_the_newer_one_comes_first(memory: Memory, old: str, new: str, question: str) -> None:
    told(memory, old, "The cellar key hangs behind the door", new)
    hits = [hit.record.text for hit in memory.recall(question)]
    assert hits[0] == new


@pytest.mark.parametrize(
    ("old", "new", "question"),
    [
        (
            "Rent for the garage is 60 a month",
            "The landlord raised it, we pay 75 since June",
            "what do we pay for the garage?",
        ),
        (
            "Backups run nightly on the old server",
            "Everything is copied to the cloud since March, hourly now",
            "how often is everything backed up?",
        ),
        (
            "Invoices go to Ms Okoro",
            "Accounting moved to Priya, send bills there from now on",
            "who gets the bills and invoices?",
        ),
    ],
)
def test_a_change_in_other_words_comes_first_but_contradicts_nothing(
    memory: Memory, old: str, new: str, question: str
) -> None:
    told(memory, old, "The cellar key hangs behind the door", new)
    first, second = memory.recall(question)[:2]
    assert (first.record.text, second.record.text) == (new, old)
    assert (first.replaces, memory.conflicts()) == ((), [])


def test_the_answer_names_what_was_replaced(memory: Memory) -> None:
    memory.design = replace(memory.design, conflicts="flag")
    old, new = told(memory, "User prefers dark mode", "User now prefers light mode instead")
    first, second = memory.recall("which mode does the user prefer?")
    assert (first.record.id, first.replaces, second.record.id, second.replaces) == (new, (old,), old, ())


@pytest.mark.parametrize(("one", "other"), BOTH_HOLD)
def test_what_is_about_something_else_replaces_nothing(one: str, other: str) -> None:
    for old, new in ((one, other), (other, one)):
        assert pairs.sure(old, new) < pairs.least("order")


@given(st.permutations(range(4)), st.integers(1, 20), st.sampled_from(UPDATES))
@settings(max_examples=20, deadline=None)
def test_neither_the_order_of_writing_nor_the_limit_decides_which_is_first(
    order: list[int], limit: int, update: tuple[str, str, str]
) -> None:
    old, new, question = update
    texts = [old, new, "The cellar key hangs behind the door", "Bruno sings in the choir"]
    with Memory(":memory:", clock=MovableClock(START)) as memory:
        memory.design = replace(memory.design, conflicts="flag")
        for place in order:
            memory.remember(texts[place], at=START + timedelta(days=place))
        assert memory.recall(question, limit=limit)[0].record.text == new


def test_what_nobody_vouches_for_makes_nothing_outdated(memory: Memory) -> None:
    told(memory, "User prefers dark mode")
    web = memory.through(replace(memory.access, origin="web"))
    web.remember("User prefers light mode", at=START + timedelta(days=5))
    assert memory.recall("which mode does the user prefer?")[0].record.text == "User prefers dark mode"


def test_a_change_in_other_words_is_flagged_and_found_through_what_it_replaced(memory: Memory) -> None:
    old, new = told(memory, "Gate code is 2580#", "Since the burglary it's 9016# at the gate, don't text it round")
    assert {memory.conflicts()[0].a.id, memory.conflicts()[0].b.id} == {old, new}
    assert memory.recall("gate code?")[0].record.id == new
    memory.undo()
    assert memory.conflicts() == []


@pytest.mark.parametrize(("holds", "later", "question"), SOMEBODY_ELSE)
def test_what_was_said_of_somebody_else_outdates_nothing(memory: Memory, holds: str, later: str, question: str) -> None:
    first, _ = told(memory, holds, later)
    hits = memory.recall(question, min_relevance=0)
    assert memory.conflicts() == []
    assert hits[0].record.id == first
    assert not any(hit.replaces or "outdated" in hit.why for hit in hits)


def test_who_is_named_in_the_question_is_not_outdone_by_somebody_else(memory: Memory) -> None:
    told(memory, "The spare key of the cabin is with Jonas", "From now on the spare key of the cabin is with Lukas")
    assert "Lukas" in memory.recall("who has the spare key of the cabin?")[0].record.text
    assert "Jonas" in memory.recall("Does Jonas have the spare key of the cabin?")[0].record.text


@pytest.mark.parametrize("cue", ["", "now "])
def test_the_order_of_a_list_outdates_nothing_unless_its_words_say_so(memory: Memory, cue: str) -> None:
    memory.design = replace(memory.design, conflicts="flag")
    texts = ["Standup is at 9:30 in the kitchen", f"Standup is {cue}at 10:00 in the kitchen"]
    memory.remember_many(texts)
    hits = memory.recall("when is standup?")
    assert any("outdated" in hit.why for hit in hits) == any(hit.replaces for hit in hits) == bool(cue)


@pytest.mark.parametrize("new", ["I moved to Salzburg last month", "We moved to Salzburg last month"])
def test_what_was_flagged_comes_with_what_it_contradicts(memory: Memory, new: str) -> None:
    told(memory, "I live in Vienna", "The cellar key hangs behind the door", new)
    assert [hit.record.text for hit in memory.recall("Where do I live?")][:2] == [new, "I live in Vienna"]


def test_a_refinement_and_one_of_several_versions_retire_nothing(memory: Memory) -> None:
    told(memory, "Paul lives in Berlin", "Paul lives in Berlin-Mitte")
    told(memory, "Tests run on Python 3.11", "Tests run on Python 3.12")
    assert [record.state for record in memory.list()] == ["active"] * 4


def test_a_memory_that_was_corrected_later_is_not_outdated_by_an_older_value() -> None:
    clock = MovableClock(START)
    with Memory(":memory:", clock=clock) as memory:
        memory.design = replace(memory.design, conflicts="flag")
        corrected = memory.remember("The gateway of the shop listens on port 8080").id or ""
        clock.move(days=10)
        other = memory.remember("The gateway of the shop listens on port 9443").id or ""
        clock.move(days=10)
        memory.revise(corrected, "The gateway of the shop listens on port 9444")
        clock.move(days=10)
        first, second = memory.recall("which port does the gateway of the shop listen on?")
        assert (first.record.id, second.record.id) == (corrected, other)
        assert (first.replaces, "outdated" in first.why, "outdated" in second.why) == ((other,), False, True)
        page = memory.context("which port does the gateway of the shop listen on?").text
        assert "[1, outdated]" not in page
        told = [line for line in page.splitlines() if line.startswith("!")]
        assert all("[1] (2026-03-21, " in line and "[2] (2026-03-11, " in line for line in told)


@pytest.mark.parametrize("pinned", [True, False])
def test_two_that_nobody_vouches_for_do_not_lift_each_other_over_the_users_word(memory: Memory, pinned: bool) -> None:
    user = memory.through(replace(memory.access, origin="user"))
    mine = user.remember("The rate limit of the gateway is 100 requests a minute")
    if pinned:
        user.pin(mine.id)
    tool = memory.through(replace(memory.access, origin="tool"))
    for limit in (9000, 9500):
        tool.remember(f"The gateway rate limit is {limit} requests a minute")
    for limit in (1, 5):
        assert memory.recall("what is the rate limit of the gateway?", limit=limit)[0].id == mine.id


def test_one_that_is_lifted_keeps_what_it_was_found_by_and_all_it_contradicts(memory: Memory) -> None:
    memory.remember("The rate limit of the gateway is 100 requests a minute")
    newest = memory.remember("The rate limit of the gateway was raised to 950 now")
    other = memory.remember("Gateways have no limit")
    memory.link(newest.id, other.id, "contradicts")
    [hit] = memory.recall("what is the rate limit of the gateway in requests a minute?", limit=1)
    assert hit.id == newest.id and len(hit.conflicts) == 2 and {"recency", "kind", "newest"} <= hit.why.keys()
