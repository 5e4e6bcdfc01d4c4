"""E7: text without spaces made recall, context and promote take minutes, and a deadline was not looked at."""

import random
import time
from dataclasses import replace

import pytest

from growing import grows_too_fast
from memorist import Memory
from memorist.recall.stages import keep
from memorist.records import Draft
from memorist.text.restated import same_claim


def chinese(length: int, seed: int) -> str:
    """Characters at random, after a few that all of them share."""
    pick = random.Random(seed)
    return "数据库部署" + "".join(chr(pick.randrange(0x4E00, 0x5A00)) for _ in range(length - 5))


def imported(count: int, length: int) -> Memory:
    memory = Memory(":memory:", project="a", embed="none")
    door = memory.through(replace(memory.access, origin="import"))
    door.remember_many([Draft(chinese(length, number)) for number in range(count)])
    return memory


@pytest.mark.covers("E7")
def test_two_texts_are_compared_in_time_that_grows_with_their_length() -> None:
    """At 1,900 characters one pair took 0.5 s on 0.1.0."""

    def compare(length: int) -> None:
        for seed in range(20):
            same_claim(chinese(length, 3 * seed + length), chinese(length, 3 * seed + 1 + length))

    assert grows_too_fast(compare, 900) is None


@pytest.mark.covers("E7")
def test_many_texts_without_spaces_are_recalled_as_fast_as_short_ones() -> None:
    """The notes of the report: 60 of 300 characters (recall 1.6 s, context 25 s), 12 of 1,900 (47 s)."""
    with imported(8, 300) as few, imported(60, 300) as many, imported(12, 1900) as long:
        for memory in (few, many, long):  # the first question loads what all of them need
            assert len(memory.recall("数据库部署")) == 5
        started = time.process_time()
        for memory in (many, long):
            assert memory.recall("数据库部署", limit=20)
            memory.context("数据库部署")
        spent = time.process_time() - started
        started = time.process_time()
        for _ in range(40):
            few.recall("数据库部署")
        assert spent < max(2.0, 10 * (time.process_time() - started)), "0.1.0 needed a minute"


@pytest.mark.covers("E7")
def test_a_deadline_ends_what_compares_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it has passed, texts are no longer compared; that a door has one voice holds all the same."""
    compared: list[str] = []
    monkeypatch.setattr(keep, "same_claim", lambda a, b: compared.append(a) or same_claim(a, b))
    with imported(30, 1900) as memory:
        said = memory.remember("数据库部署在星期二").id
        asks = (
            lambda limit: [hit.record.id for hit in memory.explain("数据库部署", deadline=limit, min_relevance=0)],
            lambda limit: [
                hit.record.id
                for hit in memory.context("数据库部署", deadline=limit, budget=4000, min_relevance=0).items
            ],
        )
        for ask in asks:
            found = ask(None)
            assert said in found[:2] and compared, "with time, they are compared"
            compared.clear()
            late = ask(1e-6)
            assert said in late[:2] and len(late) == len(found) and not compared
        assert not any("again" in (step.note or "") for step in memory.explain("数据库部署", deadline=1e-6).trace)


@pytest.mark.covers("E7")
def test_findings_are_weighed_in_time_that_grows_with_their_number(memory: Memory) -> None:
    """20 findings of this sort took 76 s on 0.1.0."""
    for number in range(20):
        memory.extract(f"Remember that {chinese(450, number)}.", session=f"s{number}", role="user")
    started = time.process_time()
    found = memory.promote(dry_run=True)
    assert isinstance(found, list) and len(found) == 20
    assert time.process_time() - started < 5


@pytest.mark.covers("E7")
def test_promotion_ends_with_its_deadline(memory: Memory) -> None:
    for number in range(5):
        memory.extract(f"Remember that the pump number {number} is oiled on Mondays.", session="s", role="user")
    weighed = memory.promote(dry_run=True)
    assert isinstance(weighed, list) and len(weighed) == 5
    late = memory.promote(deadline=1e-9)
    assert isinstance(late, list) and not any(each.outcome in ("promoted", "asked") for each in late)
