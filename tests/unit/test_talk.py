"""Questions about a talk: whose turns, at what time, with what was corrected; and turns where no memory answers."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist import Memory, Recall
from memorist.designs.balanced import BALANCED
from memorist.recall.stages.keep import Abstain
from memorist.testing import MovableClock
from memorist.text.corrections import corrects
from memorist.text.dates import spans
from memorist.text.question import asked_role

MONDAY = datetime(2026, 11, 16, 12, tzinfo=UTC)


def texts(found: Recall) -> list[str]:
    return [hit.text for hit in found]


def lines(text: str) -> list[str]:
    return [each.strip() for each in text.strip().splitlines()]


# ---------------------------------------------------------------- who is asked


@pytest.mark.parametrize(
    "question",
    lines("""
    What did you advise me about the mortgage?
    What did you say about my visa?
    Remind me what you recommended for dinner
    You told me a trick for the oven, which one?
    What was your suggestion for the title?
    Which hotel have you suggested?
    I told you about Ann. What did you advise?
    I remember you mentioned a podcast
    Was hast du mir zum Zelt geraten?
    Welches Buch hast du mir letzte Woche empfohlen?
    Was war dein Vorschlag?
    Qu'est-ce que tu m'as conseillé ?
    ¿Qué me recomendaste?
    """),
)
def test_you_are_the_assistant(question: str) -> None:
    assert asked_role(question) == "assistant"


@pytest.mark.parametrize(
    "question",
    lines("""
    What did I tell you about Ann?
    what did I say about the budget
    Did I mention my allergy?
    I told you my shoe size, what is it?
    Have I already told you about the trip?
    Was habe ich dir über Anna erzählt?
    """),
)
def test_i_am_the_user(question: str) -> None:
    assert asked_role(question) == "user"


@pytest.mark.parametrize(
    "question",
    lines("""
    Can you tell me what my dentist is called?
    Could you list my allergies?
    Would you recommend a restaurant?
    Where did I put the key?
    What do you know about me?
    What did Ann say?
    tell me about my sister
    what should I ask you
    Was mag Anna?
    """),
)
def test_other_questions_ask_for_nobodys_turns(question: str) -> None:
    assert asked_role(question) is None


@given(st.text(max_size=400))
def test_any_text_may_ask(text: str) -> None:
    assert asked_role(text) in (None, "user", "assistant") and corrects(text) in (True, False)


# ---------------------------------------------------------------- a store with talks


@pytest.fixture
def memory(clock: MovableClock) -> Iterator[Memory]:
    with Memory(":memory:", project="atlas", clock=clock) as memory:
        yield memory


@pytest.fixture
def talkative(clock: MovableClock) -> Iterator[Memory]:
    """A memory that is never silent: here it is about the order."""
    stages = tuple(stage for stage in BALANCED.recall if not isinstance(stage, Abstain))
    with Memory(":memory:", project="atlas", clock=clock, design=replace(BALANCED, recall=stages)) as memory:
        yield memory


def talk(memory: Memory, session: str, day: str, *said: str) -> None:
    """Turns of a user and an assistant, one after the other."""
    for number, text in enumerate(said):
        role = "assistant" if number % 2 else "user"
        memory.remember(text, kind="turn", session=session, role=role, at=f"{day} 18:{number:02}")


def asked(memory: Memory, question: str, search: str = "sessions", **more: object) -> Recall:
    return memory.recall(question, search=search, at=MONDAY, **more)


def others(memory: Memory, many: int) -> None:
    for number in range(many):
        talk(
            memory, f"x{number}", f"2026-0{1 + number % 9}-11", f"Thought {number} about gardening and tools", "I see."
        )


def test_what_you_advised_is_what_the_assistant_said(memory: Memory) -> None:
    talk(
        memory,
        "a",
        "2026-03-02",
        "The campsite needs a new tent",
        "A lighter tent for the campsite is a good purchase.",
    )
    others(memory, 12)
    advised = asked(memory, "What did you advise about the tent for the campsite?")
    told = asked(memory, "What did I tell you about the tent for the campsite?")
    assert advised[0].record.provenance.role == "assistant"
    assert told[0].record.provenance.role == "user"
    assert {"role"} <= {signal.name for signal in advised[0].signals}


def test_in_may_is_not_june(memory: Memory) -> None:
    talk(memory, "m", "2026-05-20", "We were at the lake with the boat", "How nice.")
    talk(memory, "j", "2026-06-03", "We were at the lake with the boat again, what a lovely lake", "How nice.")
    others(memory, 12)
    found = asked(memory, "Were we at the lake in May?")
    assert texts(found)[0] == "We were at the lake with the boat"
    assert "within" in {signal.name for signal in found[0].signals}


@pytest.mark.parametrize(
    "question", ["what did I do on the weekend?", "What happened last weekend?", "was habe ich am Wochenende gemacht?"]
)
def test_the_weekend_is_not_monday(talkative: Memory, question: str) -> None:
    """None of its turns shares a word with the question; they are looked for because of their time."""
    talk(talkative, "w", "2026-11-14", "Painted the fence and baked a plum cake", "Busy!")
    talk(talkative, "d", "2026-11-16", "At work we did fix the printer, I did well", "Well done.")
    for number in range(80):
        talk(talkative, f"x{number}", f"2026-0{1 + number % 9}-11", f"What I did with tool {number}", "I see.")
    found = talkative.recall(question, search="sessions", at=MONDAY, limit=50)
    assert texts(found)[0] == "Painted the fence and baked a plum cake"


def test_german_times_are_read() -> None:
    def days(text: str) -> list[tuple[str, str, str]]:
        return [(span.text, f"{span.start:%F}", f"{span.end:%F}") for span in spans(text, MONDAY)]

    assert days("Was habe ich am Wochenende gemacht?") == [("am Wochenende", "2026-11-14", "2026-11-16")]
    assert days("letztes Wochenende") == [("letztes Wochenende", "2026-11-14", "2026-11-16")]
    assert days("nächstes Wochenende") == [("nächstes Wochenende", "2026-11-21", "2026-11-23")]
    assert days("im Mai") == [("im Mai", "2026-05-01", "2026-06-01")]
    assert days("letzte Woche") == [("letzte Woche", "2026-11-09", "2026-11-16")]
    assert days("gestern, am 5. Mai und letzten Freitag") == [
        ("gestern", "2026-11-15", "2026-11-16"),
        ("5. Mai", "2026-05-05", "2026-05-06"),
        ("letzten Freitag", "2026-11-13", "2026-11-14"),
    ]
    assert days("Mai Thai") == [] and days("le 1er mai") == []


# ---------------------------------------------------------------- corrections


@pytest.mark.parametrize(
    "text",
    lines("""
    make that 75
    oh sorry, make it 8
    Sorry, I meant Tuesday
    no wait, I meant 4pm
    actually no, the blue one
    Actually it's Thursday
    Correction: the code is 99
    scratch that, 12
    oops, typo: Meyer
    Not Monday but Tuesday
    I was wrong, it's 12
    my mistake, it was Ana
    Nein, ich meinte Dienstag
    Korrektur: 75
    Mach lieber 75 draus
    Das war falsch, es sind 8
    nicht Montag, sondern Dienstag
    Doch lieber um 9
    pardon, je voulais dire jeudi
    perdón, quise decir martes
    """),
)
def test_a_correction_is_known(text: str) -> None:
    assert corrects(text)


@pytest.mark.parametrize(
    "text",
    lines("""
    Make it happen!
    I actually like tea
    Actually, I went to Rome
    The correction was sent
    no, thanks
    Sorry, I was busy
    Not sure
    Actually, we met in school
    No, I don't know her
    doch, klar
    wait, what?
    """),
)
def test_what_only_begins_alike_is_none(text: str) -> None:
    assert not corrects(text)


def test_a_correction_travels_with_what_it_corrects(memory: Memory) -> None:
    talk(memory, "a", "2026-03-02", "The deposit for the hall is 60 euros", "Noted.", "make that 75", "Done.")
    others(memory, 12)
    found = asked(memory, "How much is the deposit for the hall?")
    assert texts(found)[:2] == ["The deposit for the hall is 60 euros", "make that 75"]
    assert "corrected" in found[0].why and "corrects" in found[1].why
    assert found[1].score <= found[0].score
    assert "corrects" in str(next(step.note for step in found.trace if step.stage == "Corrected"))


def test_even_alone_a_corrected_turn_says_so(memory: Memory) -> None:
    talk(memory, "a", "2026-03-02", "The deposit for the hall is 60 euros", "Noted.", "make that 75", "Done.")
    [hit] = asked(memory, "How much is the deposit for the hall?", limit=1)
    assert hit.text == "The deposit for the hall is 60 euros" and "corrected" in hit.why


@pytest.mark.parametrize(
    "said",
    [
        ("The deposit for the hall is 60 euros", "make that 75", "Fine."),  # another speaker
        ("The deposit for the hall is 60 euros", "Noted.", "The band plays at nine", "Ok.", "make that 10"),  # too late
        ("The deposit for the hall is 60 euros", "Noted.", "Make it happen!", "Ok."),
    ],
)
def test_what_corrects_something_else_stays_where_it_is(memory: Memory, said: Sequence[str]) -> None:
    talk(memory, "a", "2026-03-02", *said)
    found = asked(memory, "How much is the deposit for the hall?")
    [deposit] = [hit for hit in found if "deposit" in hit.text]
    assert "corrected" not in deposit.why


def test_of_two_corrections_the_last_counts(memory: Memory) -> None:
    talk(memory, "a", "2026-03-02", "The deposit for the hall is 60 euros")
    memory.remember("make that 70", kind="turn", session="a", role="user", at="2026-03-02 18:01")
    memory.remember("sorry, make it 75", kind="turn", session="a", role="user", at="2026-03-02 18:02")
    assert texts(asked(memory, "How much is the deposit for the hall?"))[:2] == [
        "The deposit for the hall is 60 euros",
        "sorry, make it 75",
    ]


# ---------------------------------------------------------------- where no memory answers


def test_a_turn_is_found_where_no_memory_answers(memory: Memory) -> None:
    talk(memory, "a", "2026-03-02", "My sister plays the cello", "How nice.")
    found = memory.recall("Which instrument, the cello?")
    assert texts(found)[0] == "My sister plays the cello"
    assert all(hit.why["conversation"] == 1.0 for hit in found)
    [step] = [step for step in found.trace if step.stage == "Turns"]
    assert step.note == "from conversations: no memory seems to answer this"
    assert json.dumps([hit.why for hit in found])


def test_a_memory_that_answers_keeps_turns_out(memory: Memory) -> None:
    memory.remember("My sister plays the cello")
    talk(memory, "a", "2026-03-02", "My sister plays the cello every day", "How nice.")
    found = memory.recall("Who plays the cello?")
    assert texts(found) == ["My sister plays the cello"]
    assert "Turns" not in {step.stage for step in found.trace} and "conversation" not in found[0].why


def test_small_talk_and_other_searches_ask_no_turns(memory: Memory) -> None:
    talk(memory, "a", "2026-03-02", "thanks, go on with the cello", "How nice.")
    assert not memory.recall("thanks, go on!")
    assert not memory.recall("the cello", search="sources")
    assert not memory.recall("the cello", kinds=["decision"])
    assert memory.recall("the cello")


def test_without_turns_nothing_else_is_asked(memory: Memory) -> None:
    memory.remember("The printer stands in room 12")
    found = memory.recall("quantum chromodynamics")
    assert not found and "Turns" not in {step.stage for step in found.trace}


def test_silence_says_that_conversations_were_asked(memory: Memory) -> None:
    talk(memory, "a", "2026-03-02", "My sister plays the cello", "How nice.")
    found = memory.recall("zyzzyva")
    assert not found and "; conversations: " in str(found.empty_because)


def test_turns_of_other_scopes_stay_there(memory: Memory) -> None:
    memory.remember("My sister plays the cello", kind="turn", session="a", role="user", scope="user/ann")
    assert not memory.recall("Who plays the cello?")
    assert memory.recall("Who plays the cello?", user="ann")
    with Memory(":memory:", project="other") as elsewhere:
        assert not elsewhere.recall("Who plays the cello?")


def test_why_not_knows_that_turns_were_asked(memory: Memory) -> None:
    talk(memory, "a", "2026-03-02", "My sister plays the cello", "How nice.", "I bought a boat", "Where?")
    [cello] = [hit.record for hit in memory.recall("cello", limit=1)]
    assert memory.why_not(cello.id, "zyzzyva").startswith(f"memory {cello.number} was")
    memory.remember("The cello is mine")
    assert "search='all' looks there" in memory.why_not(cello.id, "cello")
