"""B2: a decision is a candidate although hundreds of newer notes share its words; it was cut off before importance counted."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import rounds
from memorist import Memory
from memorist.seeds import tiers

pytestmark = pytest.mark.covers("B2", "W0-3")
QUESTION = "which deploy needs approval of the release team?"
NOTE = "The deploy needs approval of the release team {n}"
DECISIONS = {
    "as long": "The deploy needs approval of the release team x",
    "longer": "We decided that each and every deploy to production needs approval of the whole release team",
}


@pytest.fixture
def memory(place: Path | str) -> Iterator[Memory]:
    with Memory(place, project="atlas", design="tiers", embed="none") as memory:
        yield memory


def noted(memory: Memory, how_many: int, importance: float = 0.1, more: str = "") -> None:
    memory.remember_many(
        [{"text": NOTE.format(n=n) + more, "kind": "note", "importance": importance} for n in range(how_many)]
    )


@pytest.mark.parametrize("length", DECISIONS)
@pytest.mark.parametrize("newer", [199, rounds(1000, 0.18)])
def test_it_comes_first_in_recall_and_in_a_prompt(memory: Memory, length: str, newer: int) -> None:
    decision = memory.remember(DECISIONS[length], kind="decision", importance=1.0)
    noted(memory, newer)
    assert memory.recall(QUESTION)[0].record.id == decision.id
    made = tiers(memory).build_context("7", QUESTION, budget=600)
    assert decision.id in [item.id for item in made.items]
    assert decision.id in [hit.record.id for hit in memory.context(QUESTION, budget=200).items]


def test_one_crowd_above_another_does_not_keep_it_out(memory: Memory) -> None:
    """Each level of importance fills a pool of its own."""
    decision = memory.remember(DECISIONS["longer"], kind="decision", importance=1.0)
    for n, importance in enumerate((0.4, 0.3, 0.2, 0.1)):
        noted(memory, 250, importance, f" of crowd {n}")
    assert memory.recall(QUESTION)[0].record.id == decision.id


def test_the_best_are_those_that_looking_at_everything_would_find(memory: Memory) -> None:
    """The score is the share of the question that a memory covers, times its importance: also beyond the pool."""
    for seed in range(rounds(25)):
        draw, scope = random.Random(seed), f"task/{seed}"
        drafts = [
            {
                "text": f"{' '.join(draw.sample(QUESTION.split(), draw.randint(7, 8)))} {n}",
                "importance": round(draw.random() * (1 - n / 400), 2),  # the newer, the less
                "scope": scope,
            }
            for n in range(400)
        ]
        memory.remember_many(drafts)
        everything = memory.recall(QUESTION, scope=scope, limit=400)
        best = [hit.score for hit in everything][:5]
        assert [hit.score for hit in memory.recall(QUESTION, scope=scope)] == pytest.approx(best, rel=0.05)


def test_a_filter_and_the_reach_of_a_question_still_hold(memory: Memory) -> None:
    memory.remember(DECISIONS["longer"], kind="decision", importance=1.0, scope="task/elsewhere")
    here = memory.remember(DECISIONS["longer"], kind="decision", importance=1.0, tags=["db"])
    noted(memory, 250)
    hits = memory.recall(QUESTION, where={"tags": ["ui"]})
    assert len(hits) == 0
    found = memory.recall(QUESTION)
    assert found[0].record.id == here.id and {hit.record.scope for hit in found} == {memory.home}


def test_a_hurried_recall_looks_at_no_more_than_were_asked_for(memory: Memory) -> None:
    """Its pool holds fewer than twice as many as are asked for."""
    decision = memory.remember(DECISIONS["as long"], kind="decision", importance=1.0)
    noted(memory, 400)
    for _ in range(5):
        memory._monitor.note(1000.0)
    found = memory.recall(QUESTION, limit=50)
    assert len(found) == 50 and found[0].record.id == decision.id
