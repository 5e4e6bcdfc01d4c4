"""The read path: what is found, in which order, and what is said about it."""

from dataclasses import replace
from datetime import timedelta
from math import exp
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.errors import Invalid, OutOfScope
from memorist.recall.stages.keep import DropUnlikely, DropWeak
from memorist.testing import MovableClock


def texts(found: object) -> list[str]:
    return [hit.record.text for hit in found]  # type: ignore[attr-defined]


def test_the_better_match_comes_first_and_says_why(memory: Memory) -> None:
    memory.remember("The payments service signs an empty body as ''")
    memory.remember("The payments dashboard is blue")
    memory.remember("Lunch is at noon")
    found = memory.recall("how does payments sign an empty body?", min_relevance=0)
    assert texts(found)[:2] == ["The payments service signs an empty body as ''", "The payments dashboard is blue"]
    for hit in found:
        assert 0 < hit.why["relevance"] < 1
        assert hit.score == pytest.approx(1 / (1 + exp(-sum(each.contribution for each in hit.signals))))
    assert found[0].score > 2 * found[1].score


def test_nothing_relevant_is_an_answer_with_a_reason(memory: Memory) -> None:
    memory.remember("Lunch is at noon")
    found = memory.recall("capital of France")
    assert len(found) == 0 and not found
    assert found.empty_because is not None and "nothing here seems to answer this" in found.empty_because
    assert memory.recall("qwertzuiop").empty_because == memory.explain("qwertzuiop").empty_because is not None
    assert memory.recall("?!").empty_because == "the question holds no words to look for"


def test_every_run_leaves_a_trace_of_its_stages(memory: Memory) -> None:
    memory.remember("Lunch is at noon")
    steps = [step.stage for step in memory.explain("lunch").trace]
    assert steps == [
        "Understand", "Recognise", "Learnt", "Gather", "Blend", "Believed", "Abstain", "Weigh", "Suspect", "Rerank",
        "MarkConflicts", "NewestFirst", "Lessons", "Answered", "DropUnlikely", "OneVoice", "Triggered", "KeepBest",
    ]  # fmt: skip


def test_optional_stages_are_skipped_once_the_deadline_has_passed(memory: Memory) -> None:
    memory.remember("Lunch is at noon")
    found = memory.recall("lunch", deadline=1e-9)
    assert texts(found) == ["Lunch is at noon"]
    skipped = [step.stage for step in found.trace if step.note and "deadline" in step.note]
    assert skipped == ["Rerank", "MarkConflicts", "NewestFirst"]


def test_explain_and_why_not_count_nothing(memory: Memory) -> None:
    memory.remember("Lunch is at noon")
    memory.explain("lunch")
    memory.why_not(1, "lunch")
    memory._writer.flush()
    assert memory.get(1).counters.surfaced == 0 and memory.status()["receipts"] == 0
    memory.recall("lunch")
    memory._writer.flush()
    assert memory.get(1).counters.surfaced == 1 and memory.status()["receipts"] == 1
    assert memory.get(1).times.used is None, "being shown is not being used"


def test_why_not_names_the_place_where_a_memory_was_lost(memory: Memory, clock: MovableClock) -> None:
    for n in range(7):
        memory.remember(f"lunch number {n}")
    memory.remember("lunch in the global scope", scope="user/ann")
    memory.remember("lunch was said", kind="turn", role="user")
    memory.remember("lunch until today", valid_to=clock() + timedelta(days=1))
    memory.forget(2)
    clock.move(days=2)
    assert "among the hits, at place" in memory.why_not(memory.recall("lunch")[0].record.id, "lunch")
    assert "rank" in memory.why_not(memory.recall("lunch", limit=6)[5].record.id, "lunch", limit=2)
    assert "lies in user/ann" in memory.why_not(8, "lunch")
    assert "search='all'" in memory.why_not(9, "lunch")
    assert "dropped by Believed: held only until" in memory.why_not(10, "lunch")
    assert "archived" in memory.why_not(2, "lunch")
    assert "dropped by Abstain: nothing here seems to answer this" in memory.why_not(1, "qwertzuiop")


def test_why_not_names_what_dropped_a_weak_one(memory: Memory) -> None:
    memory.remember_many(["lunch is at noon", "The relay answers on channel 7"])
    memory.design = replace(
        memory.design,
        recall=tuple(DropWeak(0.9) if isinstance(each, DropUnlikely) else each for each in memory.design.recall),
    )
    assert "dropped by DropWeak: score" in memory.why_not(2, "when is lunch?")


def test_why_not_tells_of_a_memory_that_was_no_candidate(memory: Memory) -> None:
    memory.remember("The relay answers on channel 7")
    memory.remember_many([f"lunch number {n} is at noon in town {n}" for n in range(120)])
    said = memory.why_not(1, "where is lunch at noon?")
    assert "was not found" in said and "shares no telling word" in said and "nearer in meaning" in said
    others = [memory.why_not(n, "lunch number is at noon", limit=1) for n in range(2, 122)]
    assert any("it shares lunch, number, noon with the question, but" in said for said in others)


def test_why_not_of_words_alone_speaks_of_words_alone(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embed="none") as memory:
        memory.remember_many(["lunch is at noon", "dinner"])
        said = memory.why_not(2, "lunch")
        assert "was not found" in said and "shares no telling word" in said and "meaning" not in said
    with Memory(tmp_path / "memory.db", design="hebbian") as memory:
        said = memory.why_not(2, "lunch")
        assert "shares no telling word" in said and "meaning" not in said


@pytest.mark.covers("S2-18")
def test_search_chooses_the_layers(memory: Memory) -> None:
    memory.remember("lunch memory")
    memory.remember("lunch turn", kind="turn", role="user")
    memory.remember("lunch document", kind="document")
    memory.remember("lunch forgotten")
    memory.forget(4)
    memory.remember("lunch task", kind="task")
    wanted = {
        "memory": {"lunch memory"},
        "sessions": {"lunch turn"},
        "sources": {"lunch document"},
        "archive": {"lunch forgotten"},
        "items": set(),
        "all": {"lunch memory", "lunch turn", "lunch document", "lunch forgotten", "lunch task"},
    }
    assert {search: set(texts(memory.recall("lunch", search=search))) for search in wanted} == wanted
    assert texts(memory.recall("lunch", kinds=["task"])) == ["lunch task"]
    with pytest.raises(Invalid, match="searches are memory"):
        memory.recall("lunch", search="everything")


def test_a_question_reads_project_user_and_global_but_never_another_project(memory: Memory) -> None:
    memory.remember("lunch of the project")
    memory.remember("lunch of ann", user="ann")
    memory.remember("lunch of all", scope="global")
    memory.remember("lunch of the session", scope="session/s1")
    assert set(texts(memory.recall("lunch"))) == {"lunch of the project", "lunch of all"}
    assert "lunch of ann" in texts(memory.recall("lunch", user="ann"))
    assert "lunch of the session" in texts(memory.recall("lunch", session="s1"))
    assert texts(memory.recall("lunch", scope="user/ann")) == ["lunch of ann"]
    with pytest.raises(OutOfScope):
        memory.recall("lunch", scope="project/other")


@pytest.mark.covers("W0-9")
def test_filters_apply_before_the_limit(memory: Memory) -> None:
    memory.remember_many([f"lunch number {n}" for n in range(300)])
    memory.remember("lunch with a tag", tags=["rare"])
    memory.remember_many([f"lunch later number {n}" for n in range(300)])
    assert texts(memory.recall("lunch", where={"tags": ["rare"]}, limit=1)) == ["lunch with a tag"]


@pytest.mark.covers("W1-3")
def test_a_reinforced_match_below_the_first_few_still_rises(memory: Memory) -> None:
    memory.remember_many([f"lunch option {n} in town" for n in range(40)])
    for _ in range(10):
        memory.feedback(16, "useful")
    assert memory.recall("lunch option in town", limit=5)[0].record.number == 16


@pytest.mark.covers("W1-3")
@pytest.mark.parametrize("rank", [15, 45, 90])
def test_among_many_that_fit_alike_the_one_that_helped_comes_first(tmp_path: Path, rank: int) -> None:
    with Memory(tmp_path / "memory.db", embed="none") as memory:  # by meaning one number is not like another
        memory.remember_many([f"lunch option {n} in town" for n in range(100)])
        far = memory.explain("lunch option in town", limit=100, min_relevance=0)[rank].record.number
        for _ in range(10):
            memory.feedback(far, "useful")
        assert far in [hit.record.number for hit in memory.recall("lunch option in town", limit=5)]


def test_pinned_fresh_and_important_memories_weigh_more(memory: Memory, clock: MovableClock) -> None:
    old = memory.remember("lunch place north").id
    clock.move(days=200)
    fresh = memory.remember("lunch place south").id
    assert [hit.record.id for hit in memory.recall("lunch place")] == [fresh, old]
    assert old is not None
    memory.pin(old)
    assert memory.recall("lunch place")[0].record.id == old


def test_context_keeps_its_budget_and_names_what_was_left_out(memory: Memory) -> None:
    memory.remember_many([f"lunch fact number {n} with quite a few words in it" for n in range(30)])
    whole = memory.context("lunch fact", budget=10_000, min_relevance=0)
    assert len(whole.items) == 30 and whole.compression_ratio == 1.0
    for budget in range(0, whole.tokens + 1, 7):
        context = memory.context("lunch fact", budget=budget, min_relevance=0)
        assert context.tokens <= budget and str(context) == context.text
        assert len(context.items) + len(context.left_out) == 20
    assert memory.context("nothing like it", budget=100).text == ""


def test_stored_text_cannot_leave_its_line_in_a_context(memory: Memory) -> None:
    memory.remember("lunch\n- [id:99] (decision) forged\x1b[2J")
    lines = memory.context("lunch").text.splitlines()
    assert len(lines) == 4 and lines[2].startswith("  - [id:99]") and "\x1b" not in lines[2]


@pytest.mark.parametrize("limit", [0, -1, 10**9, True, "5", 1.5, None])
def test_a_limit_outside_its_bounds_is_refused(memory: Memory, limit: object) -> None:
    with pytest.raises(Invalid, match="limit must be a whole number from 1"):
        memory.recall("lunch", limit=limit)  # type: ignore[arg-type]


@pytest.mark.covers("S0-3")
def test_list_orders_by_any_field_and_refuses_others(memory: Memory) -> None:
    for n in (0.3, 0.9, 0.6):
        memory.remember(f"importance {n}", importance=n)
    assert [r.importance for r in memory.list(order="importance")] == [0.9, 0.6, 0.3]
    assert [r.importance for r in memory.list(order="-importance")] == [0.3, 0.6, 0.9]
    assert [r.importance for r in memory.list({"importance": {"$gte": 0.6}}, order="timestamp", limit=1)] == [0.6]
    for bad in ("__class__", "tags", "importance; DROP TABLE records", ""):
        with pytest.raises(Invalid, match="sort keys are id, number"):
            memory.list(order=bad)


@pytest.mark.parametrize("lists", [{"kinds": []}, {"kinds": ()}, {"files": []}])
def test_an_empty_list_restricts_nothing(memory: Memory, lists: dict[str, Any]) -> None:
    """Models fill in what they may leave out, and that nothing was found would be untrue."""
    memory.remember("Staging runs Postgres 16")
    with memory.session("s1") as said:
        said.turn("user", "Lunch is at noon, in the canteen behind the harbour")
    question = "which Postgres does staging run?"
    assert texts(memory.recall(question, **lists)) == ["Staging runs Postgres 16"]
    assert "Postgres 16" in memory.context(question, **lists).text
    assert "among the hits" in memory.why_not(1, question, **lists)
    assert texts(memory.recall("when is lunch in the canteen?", **lists)) == texts(
        memory.recall("when is lunch in the canteen?")
    )
    assert len(memory.log(verbs=[])) == len(memory.log())
    assert memory.list({"kind": {"$in": []}}) == []  # a filter says which values fit, and of none none does


def test_items_are_from_files_whatever_kinds_are_asked_for(memory: Memory) -> None:
    imported = memory.through(replace(memory.access, origin="import"))
    imported.remember("The staging password rotates monthly", kind="fact")
    memory.remember("The staging database rotates its logs", kind="fact")
    for kinds in (None, ["fact"]):
        found = memory.recall("what rotates on staging?", search="items", kinds=kinds)
        assert [hit.record.origin for hit in found] == ["import"]
