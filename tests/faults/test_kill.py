"""Promises P1 and P2: what was acknowledged survives kill -9, and whoever tries again with the same key stores it once.

A child opens the store, remembers one text after another and says so on a pipe only once the call has returned. It is
killed at a random moment. Then the file is opened again: every acknowledged write is there, nothing is there twice, the
journal tells the same story as the tables, and the index is the content's.
"""

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import rounds
from faults.processes import Child, needs_fork
from memorist import Memory

pytestmark = needs_fork
ROUNDS_ON_ONE_FILE = 10


def text_of(number: int) -> str:
    return f"Fact {number}: the relay in cabinet {number * 7919 % 1000} answers on channel {number}"


def keep_remembering(path: Path, first: int) -> Callable[[Callable[[object], None]], None]:
    def work(say: Callable[[object], None]) -> None:
        memory = Memory(path, project="atlas")
        number = first
        while True:
            memory.remember(text_of(number), key=f"op-{number}")
            say(number)
            number += 1

    return work


def killed_after(child: Child, seconds: float) -> list[int]:
    """What the child had acknowledged when it was killed, `seconds` after its first acknowledgement."""
    first = child.line()
    time.sleep(seconds)
    return [int(line) for line in ([first] if first else []) + child.kill()]


def killed_while_opening(child: Child, seconds: float) -> list[int]:
    time.sleep(seconds)
    return [int(line) for line in child.kill()]


def stores(folder: Path, seed: str) -> Iterator[tuple[Path, random.Random]]:
    """The store of each round: a new file every few rounds, so that its first moments are hit as well."""
    chance = random.Random(seed)
    for number in range(rounds(200)):
        yield folder / f"{number // ROUNDS_ON_ONE_FILE}.db", chance


def assert_whole(memory: Memory, acknowledged: int) -> None:
    """Facts 0 … acknowledged - 1 are there once each, at most one more is, and every part tells the same story."""
    texts = [record.text for record in memory.list(order="-number", limit=100_000)]
    assert texts[:acknowledged] == [text_of(number) for number in range(acknowledged)]
    assert len(texts) <= acknowledged + 1, "at most the write that was under way may have been stored as well"
    audit = memory.audit()
    assert audit.ok, audit.problems
    assert (audit.events, audit.records) == (len(texts), len(texts))
    assert [finding for finding in memory.doctor() if not finding.ok] == []


@pytest.mark.covers("P1", "P2", "W3-11")
def test_an_acknowledged_write_survives_kill_9_and_a_retry_stores_it_once(tmp_path: Path) -> None:
    facts: dict[Path, int] = {}
    for path, chance in stores(tmp_path, "kill"):
        start = facts.get(path, 0)
        acknowledged = killed_after(Child(keep_remembering(path, start)), chance.uniform(0, 0.05))
        assert acknowledged, "the child died by itself"
        unsure = acknowledged[-1] + 1
        with Memory(path, project="atlas") as memory:
            assert_whole(memory, unsure)
            stored = memory.count({"text": text_of(unsure)})
            outcome = memory.remember(text_of(unsure), key=f"op-{unsure}").outcome
            assert outcome == ("repeated" if stored else "added")
            assert memory.count({"text": text_of(unsure)}) == 1
        facts[path] = unsure + 1


@pytest.mark.covers("P1")
def test_a_kill_while_the_store_is_being_made_leaves_a_store_that_opens(tmp_path: Path) -> None:
    chance = random.Random("opening")
    for number in range(rounds(200)):
        path = tmp_path / f"{number}.db"
        acknowledged = killed_while_opening(Child(keep_remembering(path, 0)), chance.uniform(0, 0.04))
        with Memory(path, project="atlas") as memory:
            assert_whole(memory, len(acknowledged))
            memory.remember(text_of(len(acknowledged)), key=f"op-{len(acknowledged)}")
            assert_whole(memory, len(acknowledged) + 1)


@pytest.mark.covers("P2")
def test_the_same_key_stores_once_through_any_number_of_retries_and_processes(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    Memory(path, project="atlas").close()

    def try_five_times(say: Callable[[object], None]) -> None:
        with Memory(path, project="atlas") as memory:
            for _ in range(5):
                say(memory.remember(text_of(1), kind="turn", key="the same").outcome)

    children = [Child(try_five_times) for _ in range(4)]
    outcomes = [line for child in children for line in child.lines()]
    assert [child.end() for child in children] == [0] * 4
    assert sorted(outcomes) == ["added"] + ["repeated"] * 19
    with Memory(path, project="atlas") as memory:
        assert memory.count() == 1
