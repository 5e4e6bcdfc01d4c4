"""The job `stale_sections` asks about what nobody needed for long, and does nothing by itself."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memorist import Memory
from memorist.designs import BALANCED
from memorist.testing import MovableClock
from memorist.upkeep.stale import StaleSections


@pytest.fixture
def memory(clock: MovableClock) -> Iterator[Memory]:
    design = replace(BALANCED, upkeep=(StaleSections(days=90, most=2),))
    with Memory(":memory:", project="atlas", clock=clock, design=design, embed="none") as memory:
        yield memory


def pass_by(memory: Memory, clock: MovableClock, days: int) -> None:
    """Day by day, with something written, or the clock would not be believed."""
    for _ in range(0, days, 5):
        clock.move(days=5)
        memory.remember(f"today is {clock().date()}", kind="turn", session="days")


@pytest.mark.covers("S2-14")
def test_what_nobody_referred_to_is_asked_about_and_stays(memory: Memory, clock: MovableClock) -> None:
    old = memory.remember("Use the old cluster", kind="decision")
    shown, used = memory.remember("The weir is in the north"), memory.remember("Herons nest in April")
    memory.remember("Never forget me", pinned=True)
    memory.remember("Of nobody's project", scope="user/ann")
    pass_by(memory, clock, 60)
    receipt = memory.recall("when do herons nest?").receipt
    memory.used(str(receipt), ids=[str(used.id)])
    assert "weir" in memory.context("where is the weir?").text
    pass_by(memory, clock, 60)
    before = memory.list(limit=1000)
    [report] = memory.upkeep()
    assert report.verb == "stale_sections" and report.changed == ()
    [question] = memory.review()
    assert "“Key Decisions” in project/atlas" in question.summary and "Use the old cluster" in question.summary  # type: ignore[union-attr]
    assert memory.list(limit=1000) == before, "nothing was touched"
    memory.upkeep()
    assert memory.review() == [question], "and it is asked once"
    person = memory.through(replace(memory.access, origin="user"))
    person.review(question.id, decide="approve")  # type: ignore[union-attr]
    assert memory.get(str(old.id)).state == "archived" and memory.get(str(shown.id)).state == "active"


@pytest.mark.covers("N2-8", "S2-14")
def test_a_notebook_asks_by_itself_when_a_day_has_passed(clock: MovableClock) -> None:
    with Memory(":memory:", project="atlas", clock=clock, design="notebook", embed="none") as memory:
        memory.remember("Use the old cluster", kind="decision")
        with memory.session("old") as session:
            session.turn("user", "hello there")
        for days in (60, 60, 5):
            pass_by(memory, clock, days)
            memory._slices.join(10)
            memory._slices._rests_until = 0.0
        memory.recall("which cluster?")
        memory._slices.join(10)
        [question] = memory.review()
        assert "Use the old cluster" in question.summary  # type: ignore[union-attr]
        assert memory.count({"session": "old", "kind": "turn"}) == 0, "an old session is archived by itself, too"


@pytest.mark.covers("S2-14")
def test_who_denies_it_refers_to_it(memory: Memory, clock: MovableClock) -> None:
    old = memory.remember("Use the old cluster", kind="decision")
    pass_by(memory, clock, 100)
    memory.upkeep()
    [question] = memory.review()
    person = memory.through(replace(memory.access, origin="user"))
    person.review(question.id, decide="deny")  # type: ignore[union-attr]
    assert memory.get(str(old.id)).state == "active"
    pass_by(memory, clock, 60)
    memory.upkeep()
    assert memory.review() == []
    pass_by(memory, clock, 60)
    memory.upkeep()
    assert len(memory.review()) == 1  # type: ignore[arg-type]


def test_one_question_names_few_and_a_jump_of_the_clock_asks_nothing(memory: Memory, clock: MovableClock) -> None:
    memory.remember_many([f"Fact {number} about herons" for number in range(5)])
    clock.move(days=400)
    memory.upkeep()
    assert memory.review() == []
    clock.move(days=-400)
    pass_by(memory, clock, 100)
    memory.upkeep()
    assert len(memory.review()) == 3  # type: ignore[arg-type]


def test_a_design_file_may_name_it(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('base = "balanced"\njobs = ["stale_sections"]\n[upkeep.stale_sections]\ndays = 30\n')
    with Memory(":memory:", design=str(file)) as memory:
        assert memory.design.upkeep == (StaleSections(days=30),)
