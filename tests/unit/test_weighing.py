"""What an end had no time to weigh: the next recovery of sessions weighs it, else upkeep, and nobody is asked twice."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from memorist import Memory
from memorist.access import access_for
from memorist.session import close, weighing
from memorist.store.nouns import TRIED
from memorist.testing import MovableClock

ERROR = "error: missing header body.h in module alpha"
MENDED = f"$ make check\n{ERROR}\n$ make check\nall done, success"  # worth three points
OTHER = "error: the table of bills is locked by a report"


@pytest.fixture
def typed(memory: Memory) -> Memory:
    """Through a door that saw the person type."""
    return memory.through(replace(memory.access, origin="recorded"))


def cut_off(memory: Memory, monkeypatch: pytest.MonkeyPatch, session: str = "s1", said: str = MENDED) -> None:
    """A session whose end has no time to weigh what was found in it."""
    with monkeypatch.context() as patch:
        patch.setattr(close, "WEIGHING", -1.0)
        with memory.session(session) as held:
            held.turn("user", said)
    assert memory.sessions(state="closed") and memory.review() == []


def asked(memory: Memory) -> list[str]:
    return [question.summary.partition(": ")[2] for question in memory.review()]  # type: ignore[union-attr]


def sessions_report(memory: Memory, **how: Any) -> list[str | None]:
    return [report.advice for report in memory.upkeep(**how) if report.verb == "sessions"]


def test_upkeep_weighs_what_an_end_had_no_time_for(typed: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_off(typed, monkeypatch)
    assert sessions_report(typed, dry_run=True) == ["findings wait to be weighed (projects: 1)"]
    assert asked(typed) == []
    assert sessions_report(typed) == ["findings that waited were weighed"]
    assert asked(typed) == [ERROR]
    assert sessions_report(typed) == []  # weighed once


def test_the_next_session_that_is_opened_weighs_it_once(typed: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_off(typed, monkeypatch)
    typed.session("s2").leave()
    assert asked(typed) == [ERROR]
    assert sessions_report(typed) == []


def test_an_end_that_weighs_everything_leaves_nothing_of_earlier_ones(
    typed: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = typed.session("s2")
    cut_off(typed, monkeypatch)
    session.close()
    assert asked(typed) == [ERROR] and sessions_report(typed) == []


def test_what_is_cut_off_again_waits_for_upkeep_and_costs_no_other_start(
    typed: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    early = typed.session("s0")
    cut_off(typed, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(close, "WEIGHING", -1.0)
        early.close()
    with monkeypatch.context() as patch:
        patch.setattr("memorist.remember.promotion.all_of", lambda *_: pytest.fail("weighed at a start"))
        typed.session("s3").leave()
    assert asked(typed) == []
    typed.upkeep()
    assert asked(typed) == [ERROR]


def test_it_is_weighed_even_if_its_session_was_erased(
    typed: Memory, monkeypatch: pytest.MonkeyPatch, clock: MovableClock
) -> None:
    with typed.session("s0") as early:
        early.turn("user", ERROR)
    cut_off(typed, monkeypatch, said=ERROR)
    [record] = [each for each in typed.sessions() if each.title == "s1"]
    owner = typed.through(replace(typed.access, origin="user"))
    owner.erase(record.id)
    assert typed.get(record.id).state == "erased"
    typed.upkeep()
    assert asked(typed) == [ERROR]


def test_what_comes_while_it_is_weighed_is_not_taken_for_weighed(
    typed: Memory, monkeypatch: pytest.MonkeyPatch, clock: MovableClock
) -> None:
    """Another process ends a session, and is cut off too, after this one has looked at the findings."""
    from memorist.remember import promotion

    cut_off(typed, monkeypatch)
    weighed = promotion.all_of

    def meanwhile(*given: Any) -> Any:
        monkeypatch.setattr(promotion, "all_of", weighed)
        done = weighed(*given)
        clock.move(seconds=1)
        with monkeypatch.context() as patch:
            patch.setattr(close, "WEIGHING", -1.0)
            with typed.session("s2") as held:
                held.turn("user", MENDED.replace(ERROR, OTHER))
        return done

    monkeypatch.setattr(promotion, "all_of", meanwhile)
    typed.upkeep()
    assert asked(typed) == [ERROR]
    typed.upkeep()
    assert OTHER in asked(typed)


def left(memory: Memory) -> list[Any]:
    runs = memory._tools.store.runs(memory.space, state="running")
    return [dict(run.checkpoint) for run in runs if run.job.startswith("weighing ")]


@pytest.fixture
def zeus(memory: Memory, clock: MovableClock) -> Iterator[Memory]:
    """Another project of the same store, or what the first is called later."""
    with Memory(memory.status()["store"], project="zeus", clock=clock) as zeus:
        yield zeus.through(replace(zeus.access, origin="recorded"))


def move(how: str, old: Memory, new: Memory) -> None:
    person = new.through(replace(access_for("admin", new.project.scope), origin="user"))
    getattr(person, how)(old.project.scope, new.project.scope)


@pytest.mark.parametrize("how", ["rename_project", "merge_project"])
def test_a_project_that_has_another_name_by_then_is_weighed_once(
    how: str, typed: Memory, zeus: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_off(typed, monkeypatch)
    if how == "merge_project":
        cut_off(zeus, monkeypatch, session="s2", said=MENDED.replace(ERROR, OTHER))
    move(how, typed, zeus)
    assert sessions_report(zeus, dry_run=True) == ["findings wait to be weighed (projects: 1)"]
    assert sessions_report(zeus) == ["findings that waited were weighed"]
    assert ERROR in asked(zeus)
    assert left(zeus) == [] and sessions_report(zeus) == []


def test_a_renamed_project_that_is_cut_off_again_waits_for_upkeep_too(
    typed: Memory, zeus: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_off(typed, monkeypatch)
    move("rename_project", typed, zeus)
    looks = iter([False])  # there is time to begin, and then no more
    weighing.weigh_left(zeus._caller, zeus.design.promotion, lambda: next(looks, True), again=False)
    assert [run.get(TRIED) for run in left(zeus)] == [True]
    assert weighing.left(zeus._caller, zeus.design.promotion, again=False) == []
    assert sessions_report(zeus) == ["findings that waited were weighed"] and left(zeus) == []
