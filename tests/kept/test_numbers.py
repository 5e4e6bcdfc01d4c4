"""Numbers of the founding documents that no other test proves."""

from pathlib import Path

import pytest

from memorist import Memory, seeds
from memorist.designs import CURATED
from memorist.seeds import tiers


@pytest.mark.covers("S2-1")
def test_every_fact_that_was_written_survives_a_reset(tmp_path: Path) -> None:
    facts = {f"The lamp in room {n} has {n * 7} watts" for n in range(60)}
    for _ in range(2):
        with Memory(tmp_path / "memory.db", project="atlas", design="notebook", embed="none") as memory:
            assert all(memory.remember_many(sorted(facts)))
            assert {record.text for record in memory.list(limit=100)} == facts
            assert all(memory.recall(fact, limit=1)[0].text == fact for fact in sorted(facts)[:20])


@pytest.mark.covers("S3-2")
def test_curated_is_tuned_by_data() -> None:
    assert CURATED.reads == ("session", "project") and CURATED.conflicts == "flag"
    assert (CURATED.due.on_open, CURATED.due.uses, CURATED.due.hours) == (True, 50, 24)
    assert (CURATED.budget.share, CURATED.budget.most) == (0.08, 5000)
    assert [job.name for job in CURATED.upkeep] == ["settle", "expire", "retain", "suggest_aliases"]


@pytest.mark.covers("W2-8")
def test_the_only_hit_is_not_perfect_and_the_last_not_worthless() -> None:
    with Memory(":memory:", project="atlas", design="notebook", embed="none") as memory:
        hybrid = seeds.notebook(memory, {"searchProvider": "hybrid"})
        memory.remember("The harbour has a lamp")
        [alone] = hybrid.search("harbour lamp")
        memory.remember_many(["The harbour is deep", "A lamp stands in the room"])
        scores = [hit.score for hit in hybrid.search("harbour lamp")]
        assert len(scores) == 3 and 0 < scores[-1] < scores[0] == pytest.approx(alone.score) and alone.score < 1


@pytest.mark.covers("W0-10")
def test_the_tiers_are_wired_from_the_entry_point_to_the_prompt_and_back(tmp_path: Path) -> None:
    """One process works and ends, the next one builds the prompt, a third one ends the task: nothing is handed around."""
    place = tmp_path / "memory.db"
    with Memory(place, project="atlas", design="tiers") as memory:
        task = tiers(memory).task("7")
        found = task.add_reasoning("The signature fails because the body is empty", "analyse")
        task.add_tool_output("pytest", {"failed": 2}, "verify")
        tiers(memory).add_decision("Signatures cover the whole body", ["payments"])
    with Memory(place, project="atlas", design="tiers") as memory:
        made = tiers(memory).build_context("7", "why does the signature fail?", budget=800)
        assert {item.kind for item in made.items} == {"reasoning", "tool_output", "decision"}
        assert memory.receipt(made.receipt).text == made.text
        memory.used(made.receipt, "The signature fails because the body is empty")
        assert found and memory.get(found.id).counters.used == 1
    with Memory(place, project="atlas", design="tiers") as memory:
        tiers(memory).cleanup_task("7", keep=[found.id])
        later = tiers(memory).build_context("8", "why does the signature fail?")
        assert {item.kind for item in later.items} == {"reasoning", "decision"}
