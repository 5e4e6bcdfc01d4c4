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
from memorist.errors import Invalid
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
    """A memory that is never silent: here it is about the order. The weights for talk were fitted with the table alone."""
    stages = tuple(stage for stage in BALANCED.recall if not isinstance(stage, Abstain))
    design = replace(BALANCED, recall=stages)
    with Memory(":memory:", project="atlas", clock=clock, design=design, embed="static") as memory:
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


def test_the_answer_that_follows_the_question_is_what_you_recommended(memory: Memory) -> None:
    talk(
        memory, "a", "2026-03-02", "The interview is on Thursday. What should I wear?", "A navy blazer and brown shoes."
    )
    others(memory, 12)
    found = asked(memory, "What did you recommend me to wear?")
    assert texts(found)[0] == "A navy blazer and brown shoes."
    role = {hit.record.provenance.role: s.scaled for hit in reversed(found) for s in hit.signals if s.name == "role"}
    assert role["assistant"] > 1 and role["user"] == -1
    assert "A navy blazer and brown shoes." in memory.context("What did you recommend me to wear?").text


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


@pytest.fixture
def week() -> Iterator[Memory]:
    with Memory(":memory:", project="atlas", clock=MovableClock(MONDAY), embed="static") as memory:
        talk(memory, "o", "2026-11-03", "The dentist fixed a tooth", "Ouch.")
        talk(memory, "w", "2026-11-10", "We visited the garden with Nina", "How nice.")
        talk(memory, "y", "2026-11-15", "Today we swam in the lake, what a day", "Brave.")
        talk(memory, "t", "2026-11-16", "Repaired the kitchen tap", "Well done.")
        others(memory, 12)
        yield memory


TODAY, GARDEN, LAKE = (
    "Repaired the kitchen tap",
    "We visited the garden with Nina",
    "Today we swam in the lake, what a day",
)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What did I do today?", {TODAY}),
        ("what did I do last week?", {GARDEN, LAKE}),
        ("What happened last weekend?", {LAKE}),
        ("Was habe ich am Wochenende gemacht?", {LAKE}),
        ("what did we talk about yesterday?", {LAKE}),
    ],
)
def test_a_time_alone_is_answered_by_what_was_said_then(week: Memory, question: str, first: set[str]) -> None:
    found = week.recall(question, at=MONDAY)
    assert set(texts(found)[: len(first)]) == first
    assert all(hit.why["relevance"] > 0.3 for hit in found.hits[: len(first)])
    others = [hit for hit in found if hit.record.provenance.session not in ("w", "y", "t")]
    assert all(hit.why["relevance"] < 0.1 for hit in others)
    assert first <= {hit.text for hit in week.context(question).items}


def test_a_time_in_which_nothing_was_said_is_not_answered_by_its_words(week: Memory) -> None:
    found = week.recall("What did I do today?", at=datetime(2026, 12, 24, tzinfo=UTC))
    assert all(hit.why["relevance"] < 0.05 for hit in found)


def test_the_words_of_a_time_are_left_out_where_others_remain(week: Memory) -> None:
    def looked_for(question: str, search: str) -> dict[str, float]:
        found = week.recall(question, search=search, at=MONDAY, min_relevance=0, limit=50)
        [lake] = [hit for hit in found if hit.text == LAKE]
        return {signal.name: signal.value for signal in lake.signals}

    assert "words" not in looked_for("Which tooth was fixed today?", "sessions")
    assert "words" in looked_for("Which tooth was fixed today?", "all")  # a note that names a day is found by its name


def test_a_time_alone_needs_no_model() -> None:
    with Memory(":memory:", project="atlas", clock=MovableClock(MONDAY), embed="none") as memory:
        talk(memory, "t", "2026-11-16", TODAY, "Well done.")
        talk(memory, "y", "2026-11-15", LAKE, "Brave.")
        assert texts(memory.recall("What did I do today?"))[0] == TODAY


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


def test_a_correction_travels_into_the_prompt(memory: Memory) -> None:
    talk(memory, "g", "2026-10-21", "I put 60 euros aside every month for the trip", "Noted.", "make that 75", "Done.")
    talk(memory, "h", "2026-10-25", "I try to save money by cooking at home", "Good plan.")
    others(memory, 12)
    for question in ("how much do I save a month?", "How much money goes aside for the trip?"):
        shown = {hit.text for hit in memory.context(question).items}
        assert {"I put 60 euros aside every month for the trip", "make that 75"} <= shown


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


def stored(memory: Memory) -> None:
    memory.remember_many(["Bike lock code is 4711", "The landlord is called Keller", "Oven two runs too hot"])
    memory.remember_many([f"Room {n} has {n} chairs and a board" for n in range(30)])
    talk(memory, "a", "2026-03-02", "I want to buy a gravel bike, a blue one", "Great choice!")
    others(memory, 12)


def test_a_poor_memory_does_not_hide_a_good_turn(memory: Memory) -> None:
    stored(memory)
    question = "which kind of bike do I want to buy"
    found = memory.recall(question)
    assert texts(found)[0] == "I want to buy a gravel bike, a blue one" and found[0].why["conversation"] == 1.0
    assert "from conversations: they answer this better than memories" in {step.note for step in found.trace}
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert "I want to buy a gravel bike, a blue one" in memory.context(question).text


@pytest.mark.parametrize("question", ["which kind of bike do I want to buy", "the bike lock code", "chairs or bikes"])
def test_beside_turns_too_more_is_a_superset(memory: Memory, question: str) -> None:
    stored(memory)
    every = [(hit.text, hit.score) for hit in memory.recall(question, limit=20)]
    for limit in (1, 2, 3, 7):
        assert [(hit.text, hit.score) for hit in memory.recall(question, limit=limit)] == every[:limit]


def test_turns_that_answer_no_better_stay_out(memory: Memory) -> None:
    stored(memory)
    found = memory.recall("What is the colour of Keller's garden door?")
    [step] = [step for step in found.trace if step.stage == "Turns"]
    assert found and step.note == "conversations answer this no better than memories"
    assert not any("conversation" in hit.why for hit in found)


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


# ---------------------------------------------------------------- when a message was said


@pytest.mark.parametrize("name", ["timestamp", "at", "created_at", "create_time"])
@pytest.mark.parametrize("given", ["2026-03-02T18:30:00Z", "2026-03-02T19:30:00+01:00", 1772476200, 1772476200.0])
def test_a_message_may_say_when_it_was_said(memory: Memory, name: str, given: object) -> None:
    said = [
        {"role": "user", "content": "The museum opens at ten", name: given},
        {"role": "assistant", "content": "Good."},
    ]
    timed, other = memory.remember(said, session="s", at="2026-03-05T08:00Z")
    assert timed.record.times.at == datetime(2026, 3, 2, 18, 30, tzinfo=UTC)
    assert other.record.times.at == datetime(2026, 3, 5, 8, tzinfo=UTC)


@pytest.mark.parametrize("wrong", ["yesterday", 1e18, True, [2026]])
def test_a_time_that_cannot_be_read_is_an_error_that_names_the_message(memory: Memory, wrong: object) -> None:
    said = [{"role": "user", "content": "One"}, {"role": "user", "content": "Two", "timestamp": wrong}]
    with pytest.raises(Invalid, match="the timestamp of message 2 "):
        memory.remember(said, session="s")
    assert not memory.recall("One", search="sessions")


# ---------------------------------------------------------------- what was answered

PORT = "Which port does billing listen on?"
GREP = "billing port listen 8080\nbilling listen port config\nport billing listen on"


def worked(memory: Memory, *answer: str, session: str = "w") -> None:
    """A question, the call of a tool, what it printed, and what an assistant said around it."""
    with memory.session(session) as s:
        s.turn("user", PORT)
        if len(answer) > 1:
            s.turn("assistant", answer[0])
        s.tool_call("grep", {"pattern": "billing port listen"}, id="c1")
        s.tool_result("c1", GREP)
        if answer:
            s.turn("assistant", answer[-1])
        s.turn("user", "Thanks, and the weather is nice")
        s.turn("assistant", "Yes, the sun is out.")


@pytest.mark.covers("S2-18")
@pytest.mark.parametrize("answer", [["Billing is on 8080."], ["Let me look.", "Billing is on 8080."]])
def test_what_was_answered_comes_before_what_a_tool_printed_and_the_question(memory: Memory, answer: list[str]) -> None:
    worked(memory, *answer)
    others(memory, 6)
    found = asked(memory, PORT)
    assert texts(found)[0] == "Billing is on 8080." and "answers" in found[0].why
    lowered = {hit.text: hit.why for hit in found}
    assert "tool" in lowered[GREP] and "asked" in lowered.get(PORT, {"asked": 0})
    assert not {"Yes, the sun is out.", "Let me look."} & set(texts(found))


def test_without_an_answer_a_result_of_a_tool_is_found(memory: Memory) -> None:
    worked(memory)
    assert GREP in texts(asked(memory, PORT))
    assert "answers" not in {name for hit in asked(memory, PORT) for name in hit.why}


def test_people_come_before_tools_that_say_the_same(memory: Memory) -> None:
    for role in ("tool", "assistant"):
        memory.remember("The quarterly report is due on May 4", kind="turn", session=role, role=role)
    found = asked(memory, "When is the quarterly report due?")
    assert [hit.record.provenance.role for hit in found] == ["assistant", "tool"]


def test_a_question_that_only_shares_words_keeps_its_place(memory: Memory) -> None:
    talk(memory, "a", "2026-03-02", "Which port does billing listen on, and who owns the hall in Ghent?", "Ask Ann.")
    found = asked(memory, PORT)
    assert "asked" not in found[0].why and "answers" not in {name for hit in found for name in hit.why}


def test_an_answer_that_was_forgotten_does_not_come_back(memory: Memory) -> None:
    worked(memory, "Billing is on 8080.")
    [answer] = [turn for turn in memory.list({"kind": "turn"}) if turn.text == "Billing is on 8080."]
    memory.forget(answer.id)
    assert "Billing is on 8080." not in texts(asked(memory, PORT))
