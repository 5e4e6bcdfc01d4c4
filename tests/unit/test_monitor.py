"""The latency objective: slow recalls make it hurry, fast ones since then make it normal again."""

import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist import Memory
from memorist.patience import Patience
from memorist.recall import pipeline
from memorist.recall.pipeline import Monitor, Search, p95
from memorist.store.where import Where
from memorist.testing import EVERYWHERE, START, HashEmbedder


@pytest.mark.covers("S3-31")
def test_the_numbers_of_the_founding_document() -> None:
    assert (pipeline.WINDOW, pipeline.FEWEST, pipeline.SLOW, pipeline.FAST) == (100, 5, 300.0, 200.0)
    search = Search("", (), Where(EVERYWHERE), 5, START)
    hurried = Search("", (), Where(EVERYWHERE), 5, START, hurried=True)
    assert (search.pool(15), hurried.pool(15)) == (15, 5)
    assert (search.pool(500), hurried.pool(500)) == (500, 100)
    assert [hurried.pool(size) for size in range(1000)] == sorted(hurried.pool(size) for size in range(1000))
    assert hurried.pool(3) == 5, "what was asked for is still given"


@pytest.mark.covers("S3-31")
def test_with_few_samples_there_is_no_judgement() -> None:
    watch = Monitor()
    for _ in range(4):
        watch.note(5000.0)
    assert not watch.hurried
    watch.note(5000.0)
    assert watch.hurried


@pytest.mark.covers("S3-31")
def test_only_the_last_hundred_count() -> None:
    watch = Monitor()
    for _ in range(100):
        watch.note(10.0)
    for n in range(6):
        assert not watch.hurried, n
        watch.note(1000.0)
    assert watch.hurried, "six of a hundred are more than five percent"


@pytest.mark.covers("W3-12")
def test_it_recovers_on_the_evidence_since_then() -> None:
    watch = Monitor()
    for _ in range(100):
        watch.note(1000.0)
    assert watch.hurried
    for n in range(pipeline.GOOD):
        assert watch.hurried or n == pipeline.GOOD - 1, "one in twenty may be slow"
        watch.note(20.0)
    assert not watch.hurried, "a hundred slow ones before say nothing about now"
    for _ in range(50):
        watch.note(250.0)
    assert not watch.hurried, "between the two bounds it stays as it is"


@pytest.mark.covers("W3-12")
def test_between_the_bounds_it_stays_hurried_too() -> None:
    watch = Monitor()
    for ms in [400.0] * 5 + [250.0] * 200:
        watch.note(ms)
    assert watch.hurried
    for _ in range(pipeline.GOOD):
        watch.note(199.0)
    assert not watch.hurried


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=300))
def test_the_percentile_is_one_of_the_times_and_95_percent_do_not_pass_it(times: list[float]) -> None:
    found = p95(times)
    assert found in times
    assert sum(each <= found for each in times) >= 0.95 * len(times)
    assert sum(each < found for each in times) < 0.95 * len(times)


@given(st.lists(st.floats(0, 1000), max_size=400))
def test_it_ends_as_its_last_samples_say(times: list[float]) -> None:
    watch = Monitor()
    for ms in times:
        watch.note(ms)
    for _ in range(pipeline.GOOD + pipeline.WINDOW):
        watch.note(1.0)
    assert not watch.hurried
    for _ in range(pipeline.WINDOW):
        watch.note(999.0)
    assert watch.hurried and "hurried" in watch.shown()["recall"]


@pytest.mark.covers("S3-15", "W3-12")
def test_a_hurried_recall_looks_at_less_and_says_so(memory: Memory) -> None:
    memory.remember_many([f"The heron of pond {n} fishes" for n in range(120)])
    assert "normal" in memory.status()["recall"]
    slow(memory, 5)
    found = memory.explain("heron pond", limit=3)
    assert found.trace[0].stage == "Monitor" and "hurried" in str(found.trace[0].note)
    assert len(found) == 3, "what was asked for is still given"
    assert "hurried" in memory.status()["recall"]


def slow(memory: Memory, times: int, ms: float = 1000.0) -> None:
    for _ in range(times):
        memory._monitor.note(ms)


# ---------------------------------------------------------------- what is slow


class SlowEmbedder(HashEmbedder):
    """Takes its time for questions, and says that it is not cheap."""

    def __init__(self) -> None:
        super().__init__(cheap=False)
        self.answers = threading.Event()
        self.answers.set()
        self.asked = 0

    def embed(self, texts: Sequence[str]) -> Any:
        self.asked += 1
        self.answers.wait(30)
        return super().embed(texts)


@pytest.mark.covers("W3-12")
def test_an_embedder_is_not_waited_for_beyond_the_deadline(tmp_path: Any) -> None:
    embedder = SlowEmbedder()
    with Memory(tmp_path / "memory.db", embed=embedder) as memory:
        memory.remember_many(["The heron nests at the weir", "Storks nest on the roof"])
        memory.upkeep()
        assert any(signal.name == "meaning" for hit in memory.recall("heron", deadline=5) for signal in hit.signals)
        embedder.answers.clear()
        asked = embedder.asked
        for _ in range(3):
            begun = time.monotonic()
            found = memory.recall("where does the heron nest?", deadline=0.3)
            assert time.monotonic() - begun < 15, "however busy the machine is"
            assert found[0].record.number == 1, "found by words"
            assert any("embedder did not answer" in str(step.note) for step in found.trace)
        assert embedder.asked == asked + 1, "while one is out nobody starts another"
        embedder.answers.set()
        until = time.monotonic() + 30
        while time.monotonic() < until and memory._tools.meaning._patience._busy.locked():
            time.sleep(0.05)
        found = memory.recall("where does the heron nest?", deadline=5)
        assert not any("embedder" in str(step.note) for step in found.trace)


def test_patience_gives_the_result_the_error_or_nothing() -> None:
    patience = Patience()
    assert patience.within(5, lambda: 42) == 42
    with pytest.raises(KeyError):
        patience.within(5, lambda: {"a": 1}["x"])
    with pytest.raises(TimeoutError, match="mine"):
        patience.within(5, _fails)
    assert patience.within(0, lambda: 42) is None
    gate = threading.Event()
    assert patience.within(0.05, gate.wait) is None
    assert patience.within(5, lambda: 42) is None, "the first has not come back"
    gate.set()
    until = time.monotonic() + 30
    while patience.within(1, lambda: 42) is None:
        assert time.monotonic() < until


def _fails() -> None:
    raise TimeoutError("mine")
