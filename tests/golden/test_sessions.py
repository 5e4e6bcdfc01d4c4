"""Conversations: turns stay as they were said, one writer at a time, windows that never overflow, compaction as a view."""

import time
from itertools import pairwise
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden.conftest import LAW
from golden.driver import Clock, Conflict, Error, Invalid, Lib, Prompt, Refused, Row, Rows

LARGE = 1_000_000


def talk(session: Any, turns: int, first: int = 0) -> None:
    for n in range(first, first + turns):
        session.turn(("user", "assistant")[n % 2], f"Turn {n} speaks of harbour {n} and of what a lantern costs there.")


def transcript(session: Any) -> list[tuple[str, str]]:
    return [(turn.id, turn.text) for turn in Rows(session.turns())]


def parts(window: Any) -> list[str]:
    return [pane.part for pane in window.panes]


@pytest.mark.covers("S2-3", "S2-4", "N2-1")
def test_turns_are_kept_in_the_order_in_which_they_came_over_a_restart(place: Any, clock: Clock) -> None:
    with Lib(place, clock=clock) as lib, lib.session("s1", agent="claude") as session:
        session.turn("user", "What runs on staging?", at="2020-01-02", speaker="Ann")
        session.tool_call("shell", {"command": "psql --version"}, "c1")
        session.tool_result("c1", "psql 16.2")
        session.turn("assistant", "Postgres 16.2", at="2019-01-01")
    with Lib(place, clock=clock) as lib, lib.session("s1") as session:
        said = Rows(session.turns())
        assert [turn.role for turn in said] == ["user", "assistant", "tool", "assistant"]
        assert (said[0].text, said[2].text, said[3].text) == ("What runs on staging?", "psql 16.2", "Postgres 16.2")
        assert said[0].speaker == "Ann" and said[2].origin == "tool" and {turn.agent for turn in said} == {"claude"}
        assert [Row(turn).text for turn in session.turns(1)] == ["Postgres 16.2"]


@pytest.mark.covers("X13", "S2-21")
def test_a_turn_is_never_rewritten_and_the_same_words_again_are_another_turn(kept: Lib) -> None:
    with kept.session("s1") as session:
        id = session.turn("user", "We run MySQL").id
        with pytest.raises(Refused):
            kept.change(id, "We run Postgres")
        session.turn("user", "We run MySQL")
        assert [text for _, text in transcript(session)] == ["We run MySQL"] * 2


@pytest.mark.covers("P2")
def test_a_message_with_an_id_is_kept_once(kept: Lib) -> None:
    with kept.session("s1") as session:
        assert [session.turn("user", "Hello", id="m1").outcome for _ in range(2)] == ["added", "repeated"]
        with pytest.raises(Conflict):
            session.turn("user", "Goodbye", id="m1")
        with pytest.raises(Invalid):
            session.turn("wizard", "Hello")


@pytest.mark.covers("Z7")
@pytest.mark.parametrize("id", ["../up", "a//b", "..", " ", "a\nb", "x" * 300])
def test_an_id_that_is_no_name_is_refused_and_makes_nothing(lib: Lib, id: str) -> None:
    with pytest.raises(Invalid):
        lib.call("session", id)
    assert lib.rows("sessions") == [] and lib.call("count") == 0


@pytest.mark.covers("W4-3", "S4-25")
def test_sessions_at_once_share_nothing(kept: Lib) -> None:
    def speak(name: str) -> None:
        with kept.session(name) as session:
            for n in range(4):
                session.turn("user", f"{name} says {n}")

    threads = [Thread(target=speak, args=(f"s{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for n in range(4):
        with kept.session(f"s{n}") as session:
            assert [text for _, text in transcript(session)] == [f"s{n} says {turn}" for turn in range(4)]
    assert {row.title for row in kept.rows("sessions")} == {f"s{n}" for n in range(4)}


@pytest.mark.covers("N2-4")
def test_one_writer_at_a_time_and_a_lease_that_runs_out(place: Any, clock: Clock) -> None:
    with Lib(place, clock=clock) as one, Lib(place, clock=clock) as two:
        first = one.call("session", "s1")
        first.turn("user", "hello")
        with pytest.raises(Error):
            two.call("session", "s1", busy="drop")
        second = two.call("session", "s1", busy="interrupt")
        with pytest.raises(Error):
            first.turn("user", "am I still here?")
        second.turn("user", "I took over")
        clock.move(minutes=16)
        third = one.call("session", "s1", busy="drop")
        third.turn("user", "nobody was there any more")
        assert [text for _, text in transcript(third)] == ["hello", "I took over", "nobody was there any more"]


@pytest.mark.covers("S3-10", "S1-17", "S3-3", "S3-22", "S2-4")
def test_the_end_keeps_findings_and_a_summary_and_one_undo_takes_it_back(kept: Lib) -> None:
    session = kept.call("session", "s1", agent="claude")
    session.turn("user", "Which database shall we take for staging?")
    session.turn("assistant", "We decided to use Postgres 16 for staging.")
    session.turn("user", "And what about the tests?")
    session.turn("assistant", "They are green.")
    done = session.close()
    kinds = {row.kind for row in kept.all({"session": "s1"})}
    assert {"turn", "summary", "decision"} <= kinds
    assert [row.title for row in kept.rows("sessions", state="closed")] == ["s1"]
    kept.call("undo", done.batch)
    assert {row.kind for row in kept.all({"session": "s1"})} <= {"turn", "session"}


@pytest.mark.covers("S3-27", "S3-10")
def test_a_fork_begins_with_what_was_said_and_goes_its_own_way(kept: Lib) -> None:
    with kept.session("a") as session:
        talk(session, 3)
        fork = session.fork("a2")
        session.turn("user", "only here")
        fork.turn("user", "only there")
        assert "only there" not in [text for _, text in transcript(session)]
        shown = [pane.text for pane in fork.window(LARGE).panes]
        assert len(shown) == 4 and shown[-1] == "only there" and not any("only here" in text for text in shown)
        fork.close()


@pytest.mark.covers("S1-11", "S2-3", "N1-12")
def test_the_messages_of_chat_interfaces_are_kept_whole(kept: Lib) -> None:
    openai = [
        {"role": "system", "content": "You are careful."},
        {"role": "user", "content": [{"type": "text", "text": "What runs on staging?"}]},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "shell", "arguments": "{\"command\": \"psql\"}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "psql 16.2"},
        {"role": "assistant", "content": "Postgres 16.2"},
    ]  # fmt: skip
    kept.call("ingest", openai, session="s1")
    kept.call("ingest", openai, session="s1")
    with kept.session("s1") as session:
        said = [text for _, text in transcript(session)]
        for text in ("What runs on staging?", "psql 16.2", "Postgres 16.2"):
            assert sum(text == each for each in said) >= 1


# ---------------------------------------------------------------- windows


@pytest.mark.covers("S2-2", "W1-7")
def test_a_window_holds_system_history_results_and_memory_and_stores_nothing(kept: Lib) -> None:
    kept.keep("Staging runs Postgres 16", kind="decision")
    with kept.session("s") as session:
        session.turn("user", "Please look at staging.")
        session.tool_call("read", {"path": "x"}, id="c1")
        session.tool_result("c1", "the file")
        session.turn("user", "Which database does staging use?")
        before = kept.call("count")
        window = session.window(LARGE, system="You are careful.", query="which database does staging use?")
        assert parts(window) == ["system", "turn", "turn", "turn", "memory", "turn"]
        assert window.tokens == sum(pane.tokens for pane in window.panes) and kept.call("count") == before
        assert (
            "Postgres 16" in window.panes[4].text
            and window.messages[-1]["content"] == "Which database does staging use?"
        )


@pytest.mark.covers("S2-11", "C2-5")
def test_old_results_are_left_out_and_their_calls_stay(kept: Lib) -> None:
    with kept.session("s") as session:
        for n in range(8):
            session.tool_call("read", {"path": f"{n}.md"}, id=f"c{n}")
            session.tool_result(f"c{n}", f"result {n} " + "word " * 100)
        texts = [pane.text for pane in session.window(LARGE).panes if pane.role == "tool"]
        assert len(texts) == 8 and sum("word word" in text for text in texts) == 5
        assert all("word word" in text for text in texts[-5:])
        assert all("word word" in text for _, text in transcript(session) if text.startswith("result"))


@pytest.mark.covers("W2-1", "S2-12", "X13")
def test_a_compaction_is_a_view_and_undoing_it_restores_the_exact_one(place: Any, clock: Clock) -> None:
    with Lib(place, clock=clock, embed="none") as lib:
        session = lib.call("session", "monday", agent="claude")
        talk(session, 30)
        said, raw = transcript(session), session.window(LARGE)
        first = session.compact(keep=10)
        once = session.window(LARGE)
        second = session.compact(keep=3)
        after = session.window(LARGE)
        assert parts(after) == ["summary", "turn", "turn", "turn"] and after.tokens < once.tokens < raw.tokens
        assert transcript(session) == said
        lib.call("undo", second.batch)
        assert session.window(LARGE) == once
        lib.call("undo", first.batch)
        assert session.window(LARGE) == raw
        session.leave()
        with Lib(place, clock=clock, embed="none") as another:
            assert another.call("session", "monday").window(LARGE).messages == raw.messages


@pytest.mark.covers("S2-12", "N1-5")
def test_of_ten_turns_three_stay_and_seven_are_summarised(kept: Lib) -> None:
    with kept.session("s") as session:
        talk(session, 10)
        done = session.compact(keep=3)
        said = transcript(session)
        assert list(Row(done.record).data["covers"]) == [said[0][0], said[6][0]]
        assert parts(session.window(LARGE)) == ["summary"] + ["turn"] * 3


@pytest.mark.covers("W2-2", "X22", "S2-13")
def test_one_result_of_90_percent_compacts_instead_of_rejecting(kept: Lib) -> None:
    with kept.session("monday") as session:
        talk(session, 120)
        assert session.window(20_000).state == "fits"
        session.tool_call("read", {"path": "log.txt"}, id="c1")
        session.tool_result("c1", "harbour " * 10_300)
        assert session.window(20_000, dry_run=True).state == "compact"
        window = session.window(20_000)
        assert window and window.state != "reject" and window.tokens < 0.95 * 20_000 and window.compacted
        assert [pane.role for pane in window.panes][-2:] == ["assistant", "tool"]


@pytest.mark.covers("W2-2")
def test_what_no_compaction_can_help_is_rejected_and_nothing_is_lost(kept: Lib) -> None:
    with kept.session("monday") as session:
        talk(session, 6)
        session.turn("user", "harbour " * 3000)
        window = session.window(2000)
        assert not window and window.state == "reject" and window.because
        assert session.window(100_000)


@pytest.mark.covers("W2-3", "C2-3")
def test_what_is_marked_has_a_budget_of_its_own(kept: Lib) -> None:
    with kept.session("s") as session:
        for n in range(80):
            session.turn("user", f"IMPORTANT: remember the lantern number {n} of the harbour, it matters a lot. " * 3)
        raw = session.window(LARGE).tokens
        session.compact(keep=3, preserve=300)
        assert session.window(LARGE).tokens < raw / 3


@pytest.mark.covers("X22", "N2-2")
@pytest.mark.parametrize("wrong", [{"flush": 0.9, "compact": 0.5}, {"reject": 0.1}, {"keep": -1}, {"flush": "often"}])
def test_bounds_that_make_no_sense_are_refused(lib: Lib, wrong: dict[str, Any]) -> None:
    with lib.session("s") as session:
        talk(session, 2)
        with pytest.raises(Invalid):
            session.window(10_000, **wrong)
        with pytest.raises(Invalid):
            session.window(-5)


FENCED = "```memory\n## Key Decisions\n- We ship on {}\n```"


@pytest.mark.covers("C2-2", "W2-6", "N2-3", "S2-13")
@pytest.mark.parametrize(
    ("reply", "kept_"),
    [(FENCED.format("Tuesdays"), 1), ("NO_REPLY", 0), ("I would write ## Key Decisions\n- nothing", 0),
     ("The token NO_REPLY means silence.", 0)],
)  # fmt: skip
def test_a_flush_keeps_what_is_in_a_block_for_memory_and_nothing_else(lib: Lib, reply: str, kept_: int) -> None:
    with lib.session("s") as session:
        talk(session, 4)
        session.flush(reply)
        assert sum("We ship on" in row.text for row in lib.everything()) == kept_


@pytest.mark.covers("W2-6", "C2-2")
def test_a_second_flush_adds_and_replaces_nothing(kept: Lib) -> None:
    with kept.session("s") as session:
        talk(session, 4)
        for day in ("Tuesdays", "Thursdays"):
            session.flush(FENCED.format(day))
    texts = " ".join(row.text for row in kept.all())
    assert "We ship on Tuesdays" in texts and "We ship on Thursdays" in texts


STEPS = st.lists(st.sampled_from(["say", "tool", "compact", "undo", "window"]), min_size=4, max_size=14)


@pytest.mark.covers("W2-1", "W2-2")
@LAW
@given(STEPS, st.data())
def test_whatever_happens_the_transcript_only_grows_and_undo_shows_all_of_it(steps: list[str], data: Any) -> None:
    with Lib(embed="none") as lib:
        session, said, batches = lib.call("session", "s"), list[tuple[str, str]](), list[str]()
        for step in steps:
            if step == "say":
                talk(session, data.draw(st.integers(1, 6)), first=len(said))
            elif step == "tool":
                session.tool_call("read", {"n": len(said)}, id=f"c{len(said)}")
                session.tool_result(f"c{len(said)}", "word " * data.draw(st.integers(1, 400)))
            elif step == "compact":
                done = session.compact(keep=data.draw(st.integers(1, 8)))
                batches += [done.batch] if done.batch else []
            elif step == "undo" and batches:
                lib.call("undo", batches.pop())
            else:
                window = session.window(1500)
                assert window.state != "reject" or window.compacted is not None
                assert not window or window.tokens <= 1500
                batches += [window.compacted.batch] if window.compacted and window.compacted.batch else []
            now = transcript(session)
            assert now[: len(said)] == said
            said = now
        for batch in reversed(batches):
            lib.call("undo", batch)
        assert [pane.id for pane in session.window(LARGE).panes] == [id for id, _ in said]


# ---------------------------------------------------------------- one turn behind


STAGING = "user: which database does staging run, and on which port?\nassistant: let me see"
LUNCH = "user: where do we order the pizza for the team lunch?\nassistant: let me see"


@pytest.fixture
def known(kept: Lib) -> Lib:
    kept.keep("Staging runs Postgres 16 on port 5433", kind="decision")
    kept.keep("We order the pizza for the team lunch at Luigi's", kind="preference")
    kept.keep("The parser is written in Rust")
    return kept


def look(session: Any, about: str, seconds: float = 20) -> Prompt:
    """One turn: what it is about is handed in, and the next one gets what was found, if anything comes within that time."""
    assert session.prefetch(about)
    until = time.monotonic() + seconds
    while not (found := session.ready()) and time.monotonic() < until:
        time.sleep(0.01)
    return Prompt(found)


@pytest.mark.covers("S4-1", "C4-5", "W4-3")
def test_what_a_turn_asks_for_is_there_in_the_next_one_for_its_own_session_only(known: Lib) -> None:
    with known.session("a") as a, known.session("b") as b:
        first, second = look(a, STAGING), look(b, LUNCH)
        assert "Staging runs Postgres 16 on port 5433" in first.texts and "parser" not in first.text
        assert "We order the pizza for the team lunch at Luigi's" in second.texts
        assert known.receipt(first.receipt).text == first.text
        assert not a.ready() and not b.ready(), "it is given once"
        assert look(b, STAGING).texts == first.texts, "what one session was shown is news to the other"


@pytest.mark.covers("C4-5", "W4-4", "S4-17")
def test_nothing_is_shown_twice_within_45_minutes(known: Lib, clock: Clock) -> None:
    shown: dict[str, list[int]] = {}
    with known.session("a") as a:
        for minute in range(0, 100, 10):
            news = all(minute - times[-1] >= 45 for times in shown.values())
            for text in look(a, f"{STAGING} (minute {minute})", 20 if news else 0.2).texts:
                shown.setdefault(text, []).append(minute)
            clock.move(minutes=10)
    assert shown and all(later - earlier >= 45 for times in shown.values() for earlier, later in pairwise(times))
    assert any(len(times) > 1 for times in shown.values()), "and news again after that"


@pytest.mark.covers("C4-5", "W4-4")
def test_nothing_that_was_kept_in_this_session_is_echoed_back(known: Lib) -> None:
    with known.session("a") as a, known.session("b") as b:
        a.turn("user", "The staging database is called heron-db and listens on port 7000")
        known.keep("The staging database heron-db has three replicas", session="a")
        asked = "user: what do we know about the staging database heron-db?"
        assert not any("heron-db" in text for text in look(a, asked, 0.5).texts)
        assert "The staging database heron-db has three replicas" in look(b, asked).texts
