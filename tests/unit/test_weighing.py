"""What an end had no time to weigh: the next recovery of sessions weighs it, else upkeep, and nobody is asked twice."""

from dataclasses import replace
from typing import Any

import pytest

from memorist import Memory
from memorist.session import close
from memorist.testing import MovableClock

WISH = "Remember: the release manager is Dana."


@pytest.fixture
def typed(memory: Memory) -> Memory:
    """Through a door that saw the person type."""
    return memory.through(replace(memory.access, origin="recorded"))


def cut_off(memory: Memory, monkeypatch: pytest.MonkeyPatch, session: str = "s1", said: str = WISH) -> None:
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
    assert asked(typed) == ["the release manager is Dana."]
    assert sessions_report(typed) == []  # weighed once


def test_the_next_session_that_is_opened_weighs_it_once(typed: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_off(typed, monkeypatch)
    typed.session("s2").leave()
    assert asked(typed) == ["the release manager is Dana."]
    assert sessions_report(typed) == []


def test_an_end_that_weighs_everything_leaves_nothing_of_earlier_ones(
    typed: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = typed.session("s2")
    cut_off(typed, monkeypatch)
    session.close()
    assert asked(typed) == ["the release manager is Dana."] and sessions_report(typed) == []


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
    assert asked(typed) == ["the release manager is Dana."]


def test_it_is_weighed_even_if_its_session_was_erased(
    typed: Memory, monkeypatch: pytest.MonkeyPatch, clock: MovableClock
) -> None:
    with typed.session("s0") as early:
        early.turn("user", "We decided to use Postgres 16 for staging.")
    cut_off(typed, monkeypatch, said="We decided to use Postgres 16 for staging.")
    [record] = [each for each in typed.sessions() if each.title == "s1"]
    owner = typed.through(replace(typed.access, origin="user"))
    owner.erase(record.id)
    assert typed.get(record.id).state == "erased"
    typed.upkeep()
    assert asked(typed) == ["We decided to use Postgres 16 for staging."]


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
                held.turn("user", "Remember: staging is rebuilt on Mondays.")
        return done

    monkeypatch.setattr(promotion, "all_of", meanwhile)
    typed.upkeep()
    assert asked(typed) == ["the release manager is Dana."]
    typed.upkeep()
    assert "staging is rebuilt on Mondays." in asked(typed)
