"""A relevance is a property of the question, the memory and the shelves: of nothing else."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from conftest import rounds
from memorist import Memory
from memorist.errors import Invalid
from memorist.models.coverage import Coverage, holding
from memorist.recall.pipeline import FEWEST, SLOW
from memorist.records import Recall
from memorist.text.question import names_in

NOTES = [
    "Maya is allergic to peanuts and carries an adrenaline pen",
    "Standup is at 9:30 in the small room",
    "Staging runs Postgres 16 behind pgbouncer",
    "The landlord is called Mr. Keller, his number is on the fridge",
    "Never deploy on Fridays after three",
    "The sourdough starter is fed on Mondays and Thursdays",
    "Invoices go out on the last working day of the month",
    "The spare key lies under the third flower pot",
    "Grandma's birthday is on 14 March",
    "The build uses Python 3.12 and uv",
    "Oven two runs twenty degrees too hot",
    "Paul prefers the window seat on long flights",
    "The dentist is Dr. Okafor in Mill Street",
    "Backups are copied to Lisbon every night",
    "The cat gets half a tablet in the evening",
]
QUESTIONS = [
    "What must I not cook for Maya?",
    "when is standup",
    "postgers version on staging",
    "who do I call about the heating in the flat?",
    "Where is the key?",
    "which seat does Paul like",
    "quantum chromodynamics on a lattice",
    "oven temperature",
]


def asked(texts: Sequence[str], question: str, limit: int, hurried: bool = False, least: float | None = 0) -> Recall:
    with Memory(":memory:", project="home") as memory:
        memory.remember_many(texts)
        for _ in range(FEWEST * hurried):
            memory._monitor.note(2 * SLOW)
        return memory.recall(question, limit=limit, min_relevance=least)


def relevances(found: Recall) -> dict[str, float]:
    return {hit.record.text: hit.why["relevance"] for hit in found}


@settings(max_examples=rounds(200, 0.03), deadline=None)
@given(
    texts=some.lists(some.sampled_from(NOTES), min_size=1, max_size=15, unique=True),
    question=some.sampled_from(QUESTIONS),
    limits=some.tuples(some.integers(1, 50), some.integers(1, 50)),
)
def test_the_relevance_of_a_hit_is_the_same_at_every_limit_and_more_is_a_superset(
    texts: list[str], question: str, limits: tuple[int, int]
) -> None:
    few, many = (asked(texts, question, limit) for limit in sorted(limits))
    assert [hit.record.text for hit in few] == [hit.record.text for hit in many][: len(few)]
    shared = relevances(many)
    assert all(shared[text] == relevance for text, relevance in relevances(few).items())


@pytest.mark.parametrize("others", [0, 5, 20, 60, 200])
def test_what_was_replaced_in_other_words_is_answered_alike_at_every_limit_and_size(others: int) -> None:
    crowd = [f"Gateway {n} has dark walls and a limit of {n + 3} shelves" for n in range(others)]
    with Memory(":memory:", project="home") as memory:
        [old, *_, new] = memory.remember_many(
            ["The rate limit of the gateway is 100 requests a minute", *crowd, "It is 250 a minute now"]
        )
        memory.link(new.id, old.id, "contradicts")
        answers = [memory.recall("what is the rate limit of the gateway?", limit=limit) for limit in (1, 2, 5, 50)]
        assert [hit.id for hit in answers[1]] == [new.id, old.id]
        for few, many in pairwise(answers):
            assert relevances(few).items() <= relevances(many).items()


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("least", [None, 0])
def test_a_busy_machine_is_no_surer_and_no_less_sure(question: str, least: float | None) -> None:
    idle, busy = (asked(NOTES, question, 5, hurried, least) for hurried in (False, True))
    assert relevances(idle) == relevances(busy)
    assert (busy.trace[0].stage, idle.trace[0].stage) == ("Monitor", "Understand")


def test_a_limit_is_a_maximum_and_zero_turns_the_cut_off() -> None:
    assert len(asked(NOTES, "Where is the key?", 10)) == 10
    few = asked(NOTES, "Where is the key?", 10, least=None)
    assert few.hits[0].record.text == NOTES[7] and len(few) < 4


def test_a_least_relevance_of_ones_own_takes_the_place_of_the_cut() -> None:
    every = relevances(asked(NOTES, "oven temperature", 50))
    for least in (0.01, 0.1, 0.5, 1.0):
        assert relevances(asked(NOTES, "oven temperature", 50, least=least)) == {
            text: relevance for text, relevance in every.items() if relevance >= least
        }


@pytest.mark.parametrize("wrong", [-0.1, 1.1, "high", True, float("nan")])
def test_a_least_relevance_is_a_number_from_0_to_1(wrong: object) -> None:
    with Memory(":memory:", project="home") as memory, pytest.raises(Invalid, match="min_relevance"):
        memory.recall("anything", min_relevance=wrong)  # type: ignore[arg-type]


def test_words_that_occur_nowhere_count_against_what_is_left() -> None:
    with Memory(":memory:", project="home") as memory:
        memory.remember_many(
            ["Green tea is steeped for two minutes", "Black tea for four", "The tea pot is in the cupboard"]
        )
        assert not memory.recall("quantum chromodynamics on a lattice")
        whole, diluted = (
            memory.recall(said, min_relevance=0).hits[0].why["relevance"]
            for said in ("black tea", "black holes, tea leaves in zodiac divination and quantum lattices")
        )
    assert diluted < whole


def test_a_misspelt_word_is_read_as_the_one_that_was_meant() -> None:
    found = asked(NOTES, "postgers", 5, least=None)
    assert [hit.record.text for hit in found] == [NOTES[2]]
    assert "nearly" in {signal.name for signal in found.hits[0].signals}


def test_the_chance_that_the_answer_is_here_is_told_with_what_it_was_read_from() -> None:
    note = next(step.note for step in asked(NOTES, "Where is the key?", 5).trace if step.stage == "Blend")
    assert note and "the answer is here with a chance of" in note
    for sign in ("best", "covered", "cosine", "soft", "absent"):
        assert f"{sign} " in note


def test_small_talk_brings_nothing_and_says_why() -> None:
    for said in ("thanks!", "ok, go on", "guten Morgen"):
        found = asked(NOTES, said, 5, least=None)
        assert not found and found.empty_because == "this is small talk: there is nothing to look up"


# ---------------------------------------------------------------- soft coverage


def test_a_text_covers_itself_wholly_and_a_stranger_hardly() -> None:
    exact, like, far = Coverage("the spare key").of(["the spare key", "a second lock opener", "quarterly tax return"])
    assert exact == pytest.approx(1.0, abs=1e-5) and 1 > like > far


@given(texts=some.lists(some.text(max_size=60), max_size=6), question=some.text(max_size=60))
@settings(max_examples=rounds(400, 0.06), deadline=None)
def test_coverage_of_a_text_does_not_depend_on_the_others(texts: list[str], question: str) -> None:
    coverage = Coverage(question)
    together = coverage.of(texts)
    assert len(together) == len(texts) and all(-1 <= each <= 1.0001 for each in together)
    assert together == pytest.approx([coverage.of([text])[0] for text in texts], abs=1e-5)


def test_names_and_numbers_have_to_be_there_themselves() -> None:
    assert names_in("When does Maya fly to Porto with TP123? Ask her.") == ["Maya", "Porto", "TP123"]
    assert holding(["Maya", "Porto"], "maya packs her bag") == ["Maya"]


@pytest.mark.parametrize(
    ("words", "text", "held"),
    [
        (["343"], "Message 3432 was lost", []),
        (["343", "3432"], "Message 3432 was lost", ["3432"]),
        (["Kim"], "We eat kimchi", []),
        (["Maya"], "Mayas Pass liegt im Safe", ["Maya"]),
        (["getUserById", "v2", "1"], "getUserById() is gone in v2.1", ["getUserById", "v2", "1"]),
        (["getUser"], "getUserById() is gone", []),
        (["0417", "ABC-12"], "the gate opens with 0417#, the shed with ABC-12.", ["0417", "ABC-12"]),
        (["O'Brien", "Müller"], "O’Brien calls Muller", ["Müller"]),
        (["3号", "8号"], "会议室3号在二楼", ["3号"]),
        (["Анна", "Иван"], "Анна живёт в Риге", ["Анна"]),
    ],
)
def test_a_text_holds_a_name_or_a_number_only_whole(words: list[str], text: str, held: list[str]) -> None:
    assert holding(words, text) == held


def test_a_number_is_not_covered_by_the_beginning_of_another() -> None:
    longer, other, same = Coverage("ticket 41").of(["Ticket 413 is lost", "Ticket 77 is lost", "Ticket 41 is lost"])
    assert max(longer, other) < 0.9 and same == pytest.approx(1.0, abs=1e-5)
    assert Coverage("ticket 413").of(["Ticket 413 is lost"])[0] == pytest.approx(1.0, abs=1e-5)


# ---------------------------------------------------------------- talk and documents

TALK = [
    ("user", "We decided on Kafka as the broker for events, because replay matters."),
    ("assistant", "Sure, noted."),
    ("user", "ok"),
    ("user", "I am vegetarian and live in Graz."),
    ("user", "By the way, where did you put the spare key of the shed?"),
    ("assistant", "Behind the red flower pot."),
]


def test_turns_that_have_nothing_of_the_question_are_left_out() -> None:
    with Memory(":memory:") as memory:
        memory.remember([{"role": role, "content": text} for role, text in TALK], session="s")
        for search in ("memory", "sessions"):
            found = memory.recall("vegetarian Graz", search=search, limit=20)
            assert [hit.record.text for hit in found] == [TALK[3][1]]
            assert len(memory.recall("vegetarian Graz", search=search, limit=20, min_relevance=0)) == len(TALK)
        near = memory.recall("which message queue do we use?", search="sessions")
        assert near[0].record.text == TALK[0][1], "a paraphrase on which no word agrees is still found"


def test_an_answer_stays_with_the_turn_that_it_answers_and_a_named_time_keeps_its_turns() -> None:
    with Memory(":memory:") as memory:
        memory.remember([{"role": role, "content": text} for role, text in TALK], session="s")
        key = memory.recall("where is the spare key of the shed?", search="sessions", limit=20)
        assert TALK[5][1] in [hit.record.text for hit in key]
        assert len(memory.recall("what did I say today?", search="sessions", limit=20)) >= 4


def test_a_document_that_has_nothing_of_the_question_is_no_answer() -> None:
    with Memory(":memory:") as memory:
        memory.remember_many(["Staging runs Postgres 16", "Anna likes espresso", "The deploy key is in the vault"])
        text = "Invoices are archived in the cellar of the main building, sorted by year and customer."
        memory.remember(text, kind="document")
        silent = memory.recall("favourite pizza topping", search="sources")
        assert not silent and "no word of the question" in (silent.empty_because or "")
        assert text not in memory.context("favourite pizza topping").text
        assert [
            hit.record.text for hit in memory.recall("favourite pizza topping", search="sources", min_relevance=0)
        ] == [text]
        for question in ("where are invoices kept?", "where do we store old bills?"):
            assert [hit.record.text for hit in memory.recall(question, search="sources")] == [text]
            assert text in memory.context(question).text
