"""Row 19: with a channel that is made slow, a question is answered in time with what there is; and when the channel is fast
again, degraded mode ends after a number of good samples."""

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.recall import monitor
from memorist.testing import HashEmbedder

LIMIT = 0.3  # seconds
SLACK = 10  # seconds: the machine may be busy; what is not waited for takes far longer


class Network(HashEmbedder):
    """An embedder behind a network that may be slow."""

    def __init__(self) -> None:
        super().__init__(cheap=False)
        self.seconds = 0.0
        self.reached = threading.Event()
        self.reached.set()

    def embed(self, texts: Sequence[str]) -> Any:
        time.sleep(self.seconds)
        self.reached.wait(30)
        return super().embed(texts)


@pytest.mark.covers("W3-12", "S3-15", "S3-31")
def test_partial_results_in_time_and_recovery(tmp_path: Path) -> None:
    network = Network()
    with Memory(tmp_path / "memory.db", embed=network) as memory:
        memory.remember_many([f"The heron of pond {n} fishes at dawn" for n in range(50)])
        memory.upkeep()
        network.reached.clear()
        begun = time.monotonic()
        found = memory.recall("which heron fishes at pond 7?", deadline=LIMIT)
        assert time.monotonic() - begun < LIMIT + SLACK
        assert found and "words alone answer" in " ".join(str(step.note) for step in found.trace)
        network.reached.set()
        _until_back(memory)

        network.seconds = 0.4  # not named a deadline: now each recall waits for it
        while not memory._monitor.hurried:
            memory.recall("which heron fishes at pond 7?")
        status = memory.status()["recall"]
        assert status.startswith("hurried") and "20 recalls" in status
        hurried = memory.recall("which heron fishes at pond 7?")
        assert hurried and hurried.trace[0].stage == "Monitor"
        assert any("words alone answer" in str(step.note) for step in hurried.trace), "it is not waited for any more"

        network.seconds = 0.0
        _until_back(memory)
        for _ in range(monitor.GOOD + 2):
            memory.recall("which heron fishes at pond 7?")
        assert memory.status()["recall"].startswith("normal")
        assert memory.recall("which heron fishes at pond 7?").trace[0].stage != "Monitor"


@pytest.mark.covers("W3-12", "S3-14", "S3-15")
@pytest.mark.parametrize("name", ["memory.db", "memory.json", ":memory:"])
def test_a_slow_second_opinion_is_not_waited_for(name: str, tmp_path: Path) -> None:
    back = threading.Event()

    def reranker(question: str, texts: Sequence[str]) -> list[float]:
        back.wait(30)
        return [1.0] * len(texts)

    place = name if name == ":memory:" else tmp_path / name
    with Memory(place, design="curated", rerank=reranker, embed="none") as memory:
        memory.remember_many([f"The heron of pond {n} fishes at dawn" for n in range(20)])
        for said in (
            "longer than there is time",
            "longer than there is time",
        ):  # the second finds the first still at it
            begun = time.monotonic()
            found = memory.recall("which heron fishes at pond 7?", deadline=LIMIT)
            assert time.monotonic() - begun < LIMIT + SLACK
            assert found[0].record.text == "The heron of pond 7 fishes at dawn"
            assert [step.note for step in found.trace if step.stage == "Rerank" and said in str(step.note)]
        back.set()
        while memory._tools.patience._busy.locked():
            time.sleep(0.01)
        found = memory.recall("which heron fishes at pond 7?", deadline=20)
        assert "were judged again" in " ".join(str(step.note) for step in found.trace)


def _until_back(memory: Memory) -> None:
    """The call that was given up comes back at last."""
    until = time.monotonic() + 20
    while memory._tools.meaning._patience._busy.locked():
        assert time.monotonic() < until
        time.sleep(0.02)
