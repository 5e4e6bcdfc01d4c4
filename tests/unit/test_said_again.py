"""Said again: in the same words or in others, what the journal keeps of it, and where a memory's confidence comes from."""

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from conftest import in_ram, rounds
from memorist import Memory
from memorist.designs import BALANCED
from memorist.scoring import grounds
from memorist.testing import MovableClock, a_record

SAME = [  # what is there, and the same in other words
    ("Staging runs Postgres 16", "We decided to use Postgres 16 for staging"),
    ("The deploy fails without the lock file", "Remember: deploys fail without the lock file!"),
    ("Delete the temporary folder after the build", "Remove the temporary directory after the build"),
    ("Anna prefers dark mode in the editor", "In the editor Anna prefers dark mode"),
]
WORDS = {
    "who": ["Anna", "Bo", "Carla", "Dmitri", "Esra"],
    "what": ["billing service", "parser", "search index", "login page", "nightly job"],
    "where": ["staging", "production", "the laptop", "the cluster"],
    "number": ["3", "8080", "16", "2.5", "90"],
}


@pytest.fixture(params=["static", "none"])
def near(request: pytest.FixtureRequest, clock: MovableClock) -> Iterator[Memory]:
    design = replace(BALANCED, twins="near")
    with Memory(":memory:", project="atlas", clock=clock, design=design, embed=request.param) as memory:
        yield memory


@pytest.mark.covers("S4-20", "X1")
@pytest.mark.parametrize(("old", "new"), SAME)
def test_the_same_in_other_words_reinforces(near: Memory, old: str, new: str) -> None:
    near.remember_many(["The bakery opens at seven", old, "Lunch is at noon"])
    outcome = near.remember(new)
    assert (outcome.outcome, outcome.record and outcome.record.text) == ("reinforced", old)
    assert near.get(2).counters.strength == 1 and new[:40] in (near.history(2)[-1].because or "")


@pytest.mark.covers("S4-20")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The cache is enabled in dev and disabled in prod", "The cache is disabled in dev and enabled in prod"),
        (
            "The frontend is in Lisbon and the backend is in Oslo",
            "The backend is in Lisbon and the frontend is in Oslo",
        ),
        ("Only admins can delete projects", "Admins can only delete projects"),
        ("The api of the shop uses the db of the bank", "The db of the shop uses the api of the bank"),
        ("Alerts are off at night and on at day", "Alerts are on at night and off at day"),
    ],
)
def test_the_same_words_of_something_else_are_another_memory(near: Memory, old: str, new: str) -> None:
    near.remember(old)
    assert near.remember(new).outcome != "reinforced"


@pytest.mark.covers("S4-20")
@in_ram
def test_a_procedure_with_other_steps_is_a_second_way(memory: Memory) -> None:
    how = "How to deploy the shop"
    first = memory.remember(how, kind="procedure", data={"steps": ["build", "push"]})
    second = memory.remember(how, kind="procedure", data={"steps": ["build", "test", "push"]})
    assert second.outcome == "added" and memory.get(second.id or 0).data["steps"] == ["build", "test", "push"]
    assert memory.remember(how, kind="procedure", data={"steps": ["build", "push"]}).id == first.id
    assert memory.remember(how, kind="procedure").outcome == "reinforced"


@pytest.mark.covers("S4-20")
def test_what_an_agent_added_does_not_become_the_users_word(near: Memory) -> None:
    agents = near.through(replace(near.access, origin="agent", actor="bot"))
    users = near.through(replace(near.access, origin="user", actor="ann"))
    said = "The nightly backup job of the billing database runs at 3 and copies everything to the bucket"
    agents.remember(said.replace("to the bucket", "to the public bucket quietly"), data={"triggers": ["deploy now"]})
    users.remember(said)
    [kept] = [each for each in users.list() if each.origin == "user"]
    assert (kept.text, dict(kept.data), kept.trust) == (said, {}, "high")
    assert near.audit().ok


@pytest.mark.covers("S4-20")
@in_ram
def test_only_designs_that_ask_for_it_do_so(memory: Memory) -> None:
    memory.remember(SAME[0][0])
    assert memory.remember(SAME[0][1]).outcome == "added"


def misses(chance: random.Random) -> Iterator[tuple[str, str]]:
    """Pairs that look alike and say something else: another number, name, thing or place, the contrary, or more."""
    who, what, where, number = (chance.choice(WORDS[part]) for part in WORDS)
    said = f"{who} runs the {what} on {where} with {number} workers"
    for part, value in (("who", who), ("what", what), ("where", where), ("number", number)):
        other = chance.choice([each for each in WORDS[part] if each != value])
        yield said, said.replace(f" {value} " if part != "who" else value, f" {other} " if part != "who" else other)
    yield said, f"{who} does not run the {what} on {where} with {number} workers"
    yield said, f"{who} never runs the {what} on {where} with {number} workers"
    yield said, f"{said} since the burglary"
    yield said, f"{who} runs the {what} on {where} only with {number} workers"
    yield f"Use {who} before {where}", f"Use {where} before {who}"


@pytest.mark.covers("S4-20", "W4-5")
def test_another_number_name_place_or_the_contrary_is_never_the_same(clock: MovableClock) -> None:
    chance, design = random.Random(20), replace(BALANCED, twins="near")
    for _ in range(rounds(200)):
        for old, new in misses(chance):
            with Memory(":memory:", project="atlas", clock=clock, design=design, embed="static") as memory:
                memory.remember(old)
                assert memory.remember(new).outcome == "added", (old, new)


@pytest.mark.covers("S4-20")
def test_another_kind_speaker_or_time_is_another_memory(near: Memory) -> None:
    near.remember("I prefer tea in the morning", kind="preference", speaker="Ann")
    assert near.remember("In the morning I prefer tea", kind="preference", speaker="Bo").outcome == "added"
    assert near.remember("In the morning, I prefer tea", kind="note", speaker="Ann").outcome == "added"
    later = near.remember("In the morning I prefer tea!", kind="preference", speaker="Ann", valid_to="2027-01-01")
    assert later.outcome == "added"
    again = near.remember("In the morning – I prefer tea", kind="preference", speaker="Ann")
    assert (again.outcome, again.record and again.record.number) == ("reinforced", 1)


@pytest.mark.covers("S4-20")
def test_two_of_one_batch_are_one(near: Memory) -> None:
    told = near.remember_many(["Staging runs Postgres 16", "Lunch is at noon", "We use Postgres 16 for staging"])
    assert [outcome.outcome for outcome in told] == ["added", "added", "reinforced"]


# ---------------------------------------------------------------- where it was said


@pytest.mark.covers("S4-20", "W4-11")
def test_each_time_leaves_its_session_and_message(memory: Memory, clock: MovableClock) -> None:
    memory.remember("Staging runs Postgres 16")
    for session, turns in (("monday", 3), ("tuesday", 2)):
        clock.move(days=1)
        said = [{"role": "user", "content": f"{session} turn {n}"} for n in range(turns)]
        memory.remember(said, session=session)
        memory.remember("Staging runs Postgres 16", session=session)
    memory.remember("Staging runs Postgres 16", session="silent")
    memory.remember("Staging runs Postgres 16")
    told = [event for event in memory.history(1) if event.verb == "reinforced"]
    assert [(event.because or "").partition("; ")[2] for event in told] == [
        "said again in session monday, message 2",
        "said again in session tuesday, message 1",
        "said again in session silent",
        "",
    ]
    assert [event.at.day - told[0].at.day for event in told] == [0, 1, 1, 1] and memory.get(1).counters.strength == 4


@pytest.mark.covers("S4-13", "W4-11")
@in_ram
def test_what_rules_found_names_the_message_it_was_in(memory: Memory) -> None:
    text = "We decided to use Postgres 16 for staging."
    memory.extract(text, session="s1", role="user", message=7)
    found = memory.list({"session": "s1"})[0].provenance
    assert (found.session, found.messages) == ("s1", (7, 7)) and found.snippet and found.confidence_because
    memory.extract(text, session="s1", role="user", message=12)
    told = [event for event in memory.history(memory.list({"session": "s1"})[0]) if event.verb == "reinforced"]
    assert [event.because for event in told] == ["the same text was there; said again in session s1, message 12"]


@pytest.mark.covers("S4-13")
@in_ram
def test_a_memory_tells_why_it_is_believed(memory: Memory) -> None:
    memory.remember("Staging runs Postgres 16")
    assert grounds(memory.get(1)) == "an agent said it"
    memory.remember("Staging runs Postgres 16")
    memory.feedback(1, "useful")
    memory.feedback(1, "useful")
    assert grounds(memory.get(1)) == "an agent said it; said again once; found useful 2 times"
    page = a_record(origin="web", status="candidate", trust="low")
    assert grounds(page) == "it stood on a page; nobody confirmed it"


@pytest.mark.covers("S4-8")
@in_ram
def test_an_entry_holds_all_that_it_is_judged_by(memory: Memory) -> None:
    memory.remember(
        "Never deploy on Fridays",
        kind="negative",
        session="s1",
        files=["deploy.sh"],
        confidence=0.8,
        season="sprint end",
    )
    record = memory.get(1)
    assert (record.kind, record.scope, record.provenance.session) == ("warning", "project/atlas", "s1")
    assert (record.files, record.confidence, record.season) == (("deploy.sh",), 0.8, "sprint end")
    assert (record.trust, record.state, record.superseded_by) == ("medium", "active", None)
    assert record.counters.used == record.counters.strength == 0 and record.times.used is None
