"""Acceptance row 14: the transcript only ever grows; undoing a compaction restores the exact view (W2-1); one result of a tool that
takes 90 % of the window compacts instead of rejecting (W2-2)."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import rounds
from memorist import Memory
from memorist.session.session import Session
from memorist.testing import MovableClock

STORES = pytest.mark.parametrize("name", ["memory.db", "memory.json"])
LARGE = 1_000_000


def opened(path: Path, clock: MovableClock | None = None) -> Memory:
    more = {} if clock is None else {"clock": clock}
    return Memory(path, project="atlas", embed="none", **more)


def talk(session: Session, turns: int, first: int = 0) -> None:
    for n in range(first, first + turns):
        session.turn(("user", "assistant")[n % 2], f"Turn {n} speaks of harbour {n} and of what a lantern costs there.")


def transcript(session: Session) -> list[tuple[str, str, int]]:
    return [(turn.id, turn.text, turn.version) for turn in session.turns()]


@pytest.mark.covers("W2-1", "S2-12")
@STORES
def test_undoing_a_compaction_restores_the_exact_view(name: str, tmp_path: Path, clock: MovableClock) -> None:
    with opened(tmp_path / name, clock) as memory:
        session = memory.session("monday", agent="claude")
        talk(session, 30)
        said, before = transcript(session), session.window(LARGE)
        clock.move(hours=1)
        done = session.compact(keep=3)
        assert done.outcome == "added" and done.record is not None
        after = session.window(LARGE)
        assert [pane.part for pane in after.panes] == ["summary", "turn", "turn", "turn"]
        assert after.tokens < before.tokens
        assert transcript(session) == said  # no turn was touched
        assert done.record.data["covers"] == [said[0][0], said[26][0]]
        memory.undo(done.batch)
        assert session.window(LARGE) == before
        session.leave()
        with opened(tmp_path / name, clock) as another:  # which has read none of it before
            assert another.session("monday").window(LARGE).messages == before.messages
        assert memory.audit().ok


@pytest.mark.covers("W2-1")
@STORES
def test_compactions_are_undone_one_by_one_in_any_order(name: str, tmp_path: Path) -> None:
    with opened(tmp_path / name) as memory:
        session = memory.session("monday")
        talk(session, 20)
        raw = session.window(LARGE)
        first = session.compact(keep=10)
        once = session.window(LARGE)
        second = session.compact(keep=4)
        twice = session.window(LARGE)
        assert len({raw.tokens, once.tokens, twice.tokens}) == 3
        memory.undo(second.batch)
        assert session.window(LARGE) == once
        memory.undo(first.batch)
        assert session.window(LARGE) == raw
        talk(session, 3, first=20)  # the transcript grows on
        assert len(session.window(LARGE).panes) == 23


@pytest.mark.covers("W2-2", "X22")
@STORES
def test_one_result_of_90_percent_compacts_instead_of_rejecting(name: str, tmp_path: Path) -> None:
    with opened(tmp_path / name) as memory:
        session = memory.session("monday")
        talk(session, 120)
        limit = 20_000
        assert session.window(limit).state == "fits"
        session.tool_call("read", {"path": "log.txt"}, id="c1")
        session.tool_result("c1", "harbour " * 10_300)
        raw = session.window(limit, dry_run=True)
        result = raw.panes[-1].tokens
        assert 0.9 * limit < result < 0.91 * limit
        assert raw.tokens > 0.95 * limit and raw.state == "compact"  # it is told, and nothing is done
        window = session.window(limit)
        assert window and window.state != "reject" and window.tokens < 0.95 * limit
        assert window.compacted is not None and window.compacted.outcome == "added"
        assert [pane.role for pane in window.panes][-2:] == ["assistant", "tool"]  # the call stays with its result
        assert window.panes[-1].text == "harbour " * 10_300


@pytest.mark.covers("W2-2")
def test_what_no_compaction_can_help_is_rejected_with_the_reason(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as memory:
        session = memory.session("monday")
        talk(session, 6)
        session.turn("user", "harbour " * 3000)
        window = session.window(2000)
        assert not window and window.state == "reject"
        assert window.compacted is not None  # it was tried
        assert "a compaction did not help" in window.because
        assert session.window(100_000)  # nothing is lost


@pytest.mark.covers("W2-1", "W2-2")
@settings(max_examples=rounds(200), deadline=None)
@given(st.data())
def test_whatever_happens_the_transcript_only_grows_and_no_window_is_rejected_untried(data: st.DataObject) -> None:
    with Memory(":memory:", project="atlas", embed="none") as memory:
        session, said, batches = memory.session("s"), list[tuple[str, str, int]](), list[str]()
        for step in data.draw(
            st.lists(st.sampled_from(["say", "tool", "compact", "undo", "window"]), min_size=4, max_size=14)
        ):
            if step == "say":
                talk(session, data.draw(st.integers(1, 6)), first=len(said))
            elif step == "tool":
                session.tool_call("read", {"n": len(said)}, id=f"c{len(said)}")
                session.tool_result(f"c{len(said)}", "word " * data.draw(st.integers(1, 400)))
            elif step == "compact":
                done = session.compact(keep=data.draw(st.integers(1, 8)))
                batches += [done.batch] if done.batch else []
            elif step == "undo" and batches:
                memory.undo(batches.pop())
            else:
                window = session.window(1500)
                assert window.state != "reject" or window.compacted is not None
                batches += [window.compacted.batch] if window.compacted and window.compacted.batch else []
            now = transcript(session)
            assert now[: len(said)] == said
            said = now
        for batch in reversed(batches):
            memory.undo(batch)
        shown = [pane.id for pane in session.window(LARGE).panes]
        assert shown == [id for id, _, _ in said]  # all of it, in its order
        assert memory.audit().ok
