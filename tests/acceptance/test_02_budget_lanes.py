"""Row 2: the lanes never give away more than there is, from nothing to a million tokens; and the task is never starved."""

from dataclasses import replace
from pathlib import Path

import pytest

from conftest import rounds
from memorist import Memory
from memorist.design import Design, Lane
from memorist.designs import BALANCED, TIERS
from memorist.testing import MovableClock
from memorist.text.tokens import count_tokens

CURATED = replace(
    BALANCED,
    name="four-parts",
    lanes=(
        Lane("pinned", 0.08, 200, 400),
        Lane("recall", 0.65, 300, 1500, "rest"),
        Lane("summaries", 1.0, 200, 600, "rest"),
    ),
)


def a_crowded_memory(path: Path | str, clock: MovableClock, design: Design, crowd: int = 300) -> Memory:
    memory = Memory(path, project="atlas", clock=clock, design=design, embed="none")
    memory.remember_many(
        {"text": f"Preference {n}: deploy the gateway with patience", "scope": "global", "kind": "pattern", "importance": 0.9}
        for n in range(crowd)
    )  # fmt: skip
    memory.remember_many(
        {"text": f"Decision {n}: the gateway is deployed from branch {n}", "kind": "decision", "importance": 0.4}
        for n in range(30)
    )
    memory.remember_many(
        {
            "text": f"Step {n}: looked at the gateway's deploy log",
            "scope": "task/42",
            "kind": "reasoning",
            "importance": 0.1,
        }
        for n in range(30)
    )
    memory.remember("Found it: the certificate had expired", scope="task/42", kind="reasoning", importance=0.1)
    return memory


def test_the_sum_never_passes_the_total(tmp_path: Path, clock: MovableClock) -> None:
    totals = [0, 1, 2, 5, 10, 30, 64, 100, 200, 640, 1600, 4000, 5000, 50_000, 1_000_000]
    step = max(1, 1_000_000 // rounds(1000, 0.02))
    for name, design in (("a", TIERS), ("b", CURATED)):
        with a_crowded_memory(tmp_path / f"{name}.db", clock, design, 60) as memory:
            for total in (*totals, *range(0, 1_000_001, step)):
                context = memory.context("deploy the gateway", budget=total, task="42", limit=40)
                assert context.tokens == count_tokens(context.text) <= total
                assert sum(lane["spent"] for lane in context.lanes.values()) <= total
                assert sum(lane["quota"] for lane in context.lanes.values()) <= total


@pytest.mark.covers("W3-3")
@pytest.mark.parametrize("remaining", [0, 100, 8_000, 20_000, 50_000, 100_000, 1_000_000])
def test_a_share_of_the_rest_is_kept_at_every_size(tmp_path: Path, clock: MovableClock, remaining: int) -> None:
    with a_crowded_memory(tmp_path / "memory.db", clock, CURATED, 60) as memory:
        context = memory.context("deploy the gateway", remaining=remaining, limit=100)
        assert context.tokens <= context.budget == min(remaining * 8 // 100, 5000)


@pytest.mark.covers("W0-1", "W0-3", "S0-17", "S0-18", "S0-20")
@pytest.mark.parametrize("budget", [600, 1500, 5000])
def test_the_task_keeps_its_quota_however_full_the_others_are(tmp_path: Path, clock: MovableClock, budget: int) -> None:
    with a_crowded_memory(tmp_path / "memory.db", clock, TIERS) as memory:
        context = memory.context("deploy the gateway", budget=budget, task="42")
        longest = max(count_tokens(hit.record.text) + 40 for hit in context.items)
        for lane in context.lanes.values():
            assert lane["spent"] >= min(lane["wanted"], lane["quota"]) - longest, "less than one more memory is missing"
        families = {hit.record.scope.partition("/")[0] for hit in context.items}
        assert families == {"task", "project", "global"}


@pytest.mark.covers("S0-17", "W0-3")
def test_everything_of_the_task_is_a_candidate_also_what_the_question_does_not_name(
    tmp_path: Path, clock: MovableClock
) -> None:
    with a_crowded_memory(tmp_path / "memory.db", clock, TIERS) as memory:
        context = memory.context("deploy the gateway", budget=100_000, task="42")
        assert "the certificate had expired" in context.text
        other = memory.context("deploy the gateway", budget=100_000, task="43")
        assert "certificate" not in other.text and other.items


@pytest.mark.covers("W0-3")
def test_an_old_but_vital_decision_is_a_candidate(tmp_path: Path, clock: MovableClock) -> None:
    with Memory(tmp_path / "memory.db", project="atlas", clock=clock, design=TIERS) as memory:
        memory.remember("Never deploy the gateway without the second signature", kind="decision", importance=0.95)
        clock.move(days=300)
        memory.remember_many(f"On day {n} the weather over the harbour was fine" for n in range(500))
        first = memory.context("may I deploy the gateway?", budget=200, task="42").items[0]
        assert "second signature" in first.record.text


@pytest.mark.covers("S0-19")
def test_the_ratio_is_what_was_given_of_what_there_was(tmp_path: Path, clock: MovableClock) -> None:
    with a_crowded_memory(tmp_path / "memory.db", clock, TIERS, 20) as memory:
        ratios = [
            memory.context("deploy the gateway", budget=b, task="42").compression_ratio for b in (0, 300, 900, 99_999)
        ]
        assert ratios[0] == 0 < ratios[1] < ratios[2] < ratios[3] == 1.0
    with Memory(":memory:", clock=clock, design=TIERS) as empty:
        assert empty.context("zebra", budget=900).compression_ratio == 0.0
