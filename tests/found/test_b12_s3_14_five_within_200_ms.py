"""B12, S3-14 and S3-16: under curated, 0.1.0 put twenty memories into a prompt instead of five, had no time limit unless one
was asked for, and looked at as much as ever when recalls had become slow."""

from collections import deque
from typing import Any

import pytest

from memorist import Memory
from memorist.designs import CURATED
from memorist.recall import pipeline
from memorist.testing import MovableClock

pytestmark = pytest.mark.covers("B12", "S3-14", "S3-15", "S3-16")


@pytest.fixture
def memory(clock: MovableClock) -> Memory:
    memory = Memory(":memory:", project="atlas", clock=clock, design="curated")
    facts = "port host owner colour price weight height depth sound taste".split()
    memory.remember_many(f"The gateway has a {fact} that is kept in register {n}" for n, fact in enumerate(facts))
    return memory


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[pipeline.Query, bool]]:
    seen: list[tuple[pipeline.Query, bool]] = []
    real = pipeline.answer

    def answer(query: pipeline.Query, *more: Any) -> Any:
        seen.append((query, more[-1]))
        return real(query, *more)

    monkeypatch.setattr(pipeline, "answer", answer)
    return seen


def test_five_are_injected_unless_the_caller_says_otherwise(memory: Memory) -> None:
    assert len(memory.context("what has the gateway?").items) == 5
    assert len(memory.context("what has the gateway?", budget=9000).items) == 5
    assert len(memory.context("what has the gateway?", limit=8).items) == 8


def test_a_prompt_waits_200_ms_at_most(memory: Memory, asked: list[tuple[pipeline.Query, bool]]) -> None:
    assert CURATED.budget.deadline == 0.2
    memory.context("what has the gateway?")
    memory.context("what has the gateway?", deadline=5)
    first, second = (query.deadline for query, _ in asked)
    assert first and 0 < first <= 0.2 and second and 0.2 < second <= 5


@pytest.mark.parametrize("design", ["curated", "balanced", "tiers"])
def test_a_hurried_prompt_looks_at_less(
    memory: Memory, clock: MovableClock, asked: list[tuple[pipeline.Query, bool]], design: str
) -> None:
    with Memory(":memory:", project="atlas", clock=clock, design=design, embed="none") as memory:
        memory.remember_many(
            {"text": f"Gateway note {n}", "scope": scope} for n in range(60) for scope in ("global", memory.home)
        )
        memory.context("gateway note")
        normal = list(asked)
        memory._monitor._since = deque(maxlen=20)
        asked.clear()
        memory.context("gateway note")
    [(query, hurried)] = asked
    assert hurried and len(normal) >= 1
    search = pipeline.Search("gateway", (), None, query.limit, clock(), hurried=True)  # type: ignore[arg-type]
    assert search.pool(500) == 100 and query.limit <= max(5, normal[0][0].limit // 3)
    assert design != "curated" or search.pool(15) == 5
