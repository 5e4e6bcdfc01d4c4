"""Feedback about a question: what was useful for it, or beside the point, changes the answers to questions like it.

It is no vote, belongs to one project, never lowers a pinned memory, and goes with the memory when that is erased.
"""

from collections.abc import Iterator
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist import Memory
from memorist.recall.pipeline import Taught
from memorist.recall.stages.lessons import STEP, allowed, likeness
from memorist.records import Origin
from memorist.scoring import held_up, vouched_for
from memorist.testing import a_record

NOTES = """Staging runs on Postgres 16, production is still on Postgres 15.
The staging cluster is rebuilt every Sunday night from a snapshot of production.
Deploys to staging go through the blue pipeline; ask Tomas before touching it.
The database password for staging lies in the vault under infra/staging.
Release notes are written by Ida on Thursdays before noon.
Rolling back a release: run `ship undo`, then tell the channel #releases.
The guest wifi is called Heron, its password hangs on the fridge.
Anna lives in Lima since March and works from nine to four.
The standup is at 9:30, on Mondays at ten.
Maya does not eat peanuts or shellfish.
The spare key is with Mrs Adeyemi on the second floor.
The boiler is serviced by Kranz & Sons every October.
Billing reviews go to Priya, and to Jon while she is away.
The tax office wants the form by the end of May.
Our landlord is Mr Okafor, he prefers to be called.""".splitlines()
QUESTION = "Which database does staging use?"
ALIKE = ("which database does staging use", "What database is staging running on?", "the database that staging uses?")
OTHERS = ("Where does Anna live?", "Who services the boiler?", "When is the standup on Mondays?")


@pytest.fixture
def notes(memory: Memory) -> Memory:
    memory.remember_many(NOTES)
    return memory


def ranks(memory: Memory, question: str = QUESTION) -> list[tuple[int, float]]:
    return [(hit.record.number, hit.score) for hit in memory.explain(question, limit=20)]


def tell(memory: Memory, number: int, verdict: str, question: str = QUESTION, times: int = 3) -> None:
    receipt = memory.recall(question, min_relevance=0).receipt
    for _ in range(times):
        assert memory.feedback(number, verdict, receipt=receipt)  # type: ignore[arg-type]


def pairs() -> Iterator[tuple[str, str, bool]]:
    yield from ((QUESTION, other, True) for other in ALIKE)
    yield "What is the wifi password for guests?", "guest wifi password?", True
    yield "how do we roll back a release?", "what is the procedure to roll back a bad release?", True
    yield "wann kommt die müllabfuhr?", "an welchem tag kommt die müllabfuhr", True
    yield "what are my migraine triggers?", "which preventive am I on for migraine?", False
    yield "how are kafka topics named", "how do I get a kafka acl", False
    yield from ((QUESTION, other, False) for other in OTHERS)


@given(
    thirds=st.tuples(st.integers(-9, 9), st.integers(-9, 9)),
    pinned=st.booleans(),
    origin=st.sampled_from(get_args(Origin)),
)
def test_who_may_teach(thirds: tuple[int, int], pinned: bool, origin: Origin) -> None:
    record = a_record(pinned=pinned, origin=origin, trust="low" if origin in ("web", "tool", "import") else "medium")
    users, others = (each / 3 for each in thirds)
    verdicts = allowed(record, Taught(users, others, QUESTION))
    assert abs(verdicts) <= 3 and allowed(record, None) == 0
    assert not (users > 0 > verdicts) and not (users < 0 < verdicts), "others cancel the user's verdict at most"
    assert not (held_up(record) and verdicts < 0), "a pinned memory is never lowered"
    if origin in ("user", "recorded") and users >= 0:
        assert verdicts >= 0, "an agent does not lower what a person stated"
    if not vouched_for(record) and users <= 0:
        assert verdicts <= 0, "others do not lift what nobody verified"
    if origin == "agent" and not pinned and users * others >= 0:
        assert verdicts == max(-3, min(3, users + others))


def test_a_verdict_moves_the_odds_by_a_known_step_for_this_question_and_like_ones(notes: Memory) -> None:
    first = notes.recall(QUESTION, min_relevance=0)[0]
    elsewhere = {question: ranks(notes, question) for question in OTHERS}
    tell(notes, first.record.number, "irrelevant", times=1)
    for question in (QUESTION, *ALIKE):
        [hit] = [hit for hit in notes.recall(question, limit=20, min_relevance=0) if hit.record.id == first.record.id]
        [lesson] = [signal for signal in hit.signals if signal.name == "lesson"]
        assert hit.why["lesson"] < 1 and -STEP - 1e-9 <= lesson.contribution <= -0.3 * STEP, question
    assert lesson.contribution < 0 and {question: ranks(notes, question) for question in OTHERS} == elsewhere
    trace = {step.stage: step.note for step in notes.recall(QUESTION, limit=20, min_relevance=0).trace}
    assert trace["Learnt"] == f"learnt: [id:{first.record.number}] from “{QUESTION}”"
    tell(notes, first.record.number, "useful", times=4)
    again = notes.recall(QUESTION, min_relevance=0)[0]
    assert again.record.id == first.record.id and again.score > first.score
    assert again.why["relevance"] == pytest.approx(first.why["relevance"])


@pytest.mark.parametrize(("one", "other", "alike"), list(pairs()))
def test_questions_are_alike_by_words_and_by_meaning(one: str, other: str, alike: bool) -> None:
    [there], [back] = likeness(one, (other,), True), likeness(other, (one,), True)
    assert there == pytest.approx(back, abs=1e-6) and (3 * there >= 2) == alike


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=4), st.booleans())
def test_any_texts_can_be_compared(one: str, others: list[str], by_meaning: bool) -> None:
    found = likeness(one, tuple(others), by_meaning)
    assert len(found) == len(others) and all(0 <= like <= 1 for like in found)


SCOPES = ("project/a", "project/b", "global", "user/ann", "user/bob", "session/s", "task/t")
