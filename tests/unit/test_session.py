"""Sessions: what is said is kept as it comes, by one writer at a time; their end, and what is left when there was none."""

import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist import Memory
from memorist.design import Promotion
from memorist.designs import BALANCED
from memorist.errors import Conflict, Invalid, OutOfScope, Refused, StoreUnavailable
from memorist.records import Draft, Outcome, Record
from memorist.remember import gate
from memorist.session import close, compaction
from memorist.session.lease import LENGTH, MOST_WAITING
from memorist.session.session import Session
from memorist.store.sqlite.filters import where_sql
from memorist.store.where import Clause, Where
from memorist.testing import MovableClock

DECISION = "We decided to use Postgres 16 for staging because of logical replication."
WISH = "Remember: the deploy key of the staging machine expires in May."
MINUTE = timedelta(minutes=1)


def promoting(memory: Memory, mode: Any = "auto", preset: Any = "balanced") -> Memory:
    memory.design = replace(BALANCED, promotion=Promotion(mode, preset))
    return memory


def door(memory: Memory, origin: Any) -> Memory:
    return memory.through(replace(memory.access, origin=origin))


def talk(session: Session, *more: str) -> None:
    for place, text in enumerate(("What do we run?", "Let me look.", *more)):
        session.turn(("user", "assistant")[place % 2], text)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shared.db"


@pytest.fixture
def other(path: Path, clock: MovableClock) -> Iterator[Memory]:
    """Another process, as far as the store can tell."""
    with Memory(path, project="atlas", clock=clock, embed="none") as memory:
        yield memory


@pytest.fixture
def first(path: Path, clock: MovableClock) -> Iterator[Memory]:
    with Memory(path, project="atlas", clock=clock, embed="none") as memory:
        yield memory


# ---------------------------------------------------------------- what is said


def test_a_session_is_read_and_closed_however_slow_the_machine_is(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.session.close.A_STEP", -1.0)  # it is over before the first turn is read
    session = memory.session("slow")
    session.turn("user", "We decided that staging runs Postgres 16.")
    session.close()
    assert [each.state for each in memory.sessions(state="closed")]


@pytest.mark.covers("S2-3", "S2-4")
def test_turns_are_kept_in_the_order_in_which_they_came(memory: Memory) -> None:
    with memory.session("s1", agent="claude") as session:
        session.turn("user", "What runs on staging?", at="2020-01-02", speaker="Ann")
        session.tool_call("shell", {"command": "psql --version"}, "c1")
        session.tool_result("c1", "psql 16.2")
        session.turn("assistant", "Postgres 16.2", at="2019-01-01")
        said = session.turns()
        assert [turn.text for turn in said] == [
            "What runs on staging?", 'shell({"command": "psql --version"})', "psql 16.2", "Postgres 16.2",
        ]  # fmt: skip
        assert [turn.provenance.role for turn in said] == ["user", "assistant", "tool", "assistant"]
        assert {turn.provenance.session for turn in said} == {"s1"} and {t.scope for t in said} == {"project/atlas"}
        assert {turn.provenance.agent for turn in said} == {"claude"} and said[0].provenance.speaker == "Ann"
        assert said[1].data["call"] == {"id": "c1", "name": "shell", "input": {"command": "psql --version"}}
        assert said[2].data["result"] == "c1" and said[2].origin == "tool"
        assert [turn.text for turn in session.turns(2)] == ["psql 16.2", "Postgres 16.2"]


@pytest.mark.covers("X13")
def test_a_turn_is_never_rewritten(memory: Memory) -> None:
    with memory.session("s1") as session:
        said = session.turn("user", "We run MySQL")
        assert said.id is not None
        with pytest.raises(Refused, match="stays as it was said"):
            memory.revise(said.id, "We run Postgres")
        session.turn("user", "We run MySQL")
        assert [turn.text for turn in session.turns()] == ["We run MySQL"] * 2


def test_a_message_with_an_id_is_kept_once(memory: Memory) -> None:
    with memory.session("s1") as session:
        outcomes = [session.turn("user", "Hello", id="m1").outcome for _ in range(2)]
        assert outcomes == ["added", "repeated"] and session.turns()[0].data == {"message": "m1"}
        with pytest.raises(Conflict, match="used for another text"):
            session.turn("user", "Goodbye", id="m1")


def test_a_role_that_there_is_not_is_refused(memory: Memory) -> None:
    with memory.session("s1") as session:
        assert session.turn("human", "Hello").record.provenance.role == "user"  # type: ignore[union-attr]
        with pytest.raises(Invalid, match="there is no role 'wizard'"):
            session.turn("wizard", "Hello")


@pytest.mark.parametrize("id", ["../up", "a//b", "..", " ", "a\nb", "x" * 300, "gh" + "p_" + "a1B2c3D4e5F6" * 3])
def test_an_id_that_is_no_name_is_refused_and_makes_nothing(memory: Memory, id: str) -> None:
    with pytest.raises(Invalid):
        memory.session(id)
    assert memory.sessions() == [] and memory.count() == 0


def test_a_call_whose_input_is_too_large_to_keep_as_data_is_still_kept(memory: Memory) -> None:
    with memory.session("s1") as session:
        session.tool_call("write", {"content": "x" * 150_000}, "c1")
        [call] = session.turns()
        assert call.data == {"call": {"id": "c1", "name": "write"}} and len(call.text) > 150_000


def test_the_records_of_a_session_are_found_by_their_index(path: Path, first: Memory) -> None:
    condition, values = where_sql(Where(first.access, (Clause("session", "eq", "s1"),)))
    with closing(sqlite3.connect(path)) as store:
        said = f"EXPLAIN QUERY PLAN SELECT 1 FROM records r JOIN shelves s ON s.id = r.shelf WHERE {condition}"
        plan = " ".join(row[3] for row in store.execute(said, values))
    assert "SEARCH r USING" in plan and "(session=?" in plan


@pytest.mark.covers("S2-18")
def test_turns_are_searched_where_sessions_are_asked_for(memory: Memory) -> None:
    with memory.session("s1") as session:
        talk(session, "The zeppelin lands on the roof of building nine")
        session.note("The zeppelin needs a permit")
        found = memory.recall("where does the zeppelin land?", search="sessions")
        assert [hit.kind for hit in found][:1] == ["turn"] and "roof" in found[0].text
        shown = session.context("where does the zeppelin land?", min_relevance=0)
        assert "needs a permit" in shown.text and "roof of building nine" in shown.text


# ---------------------------------------------------------------- the index, resuming


def test_sessions_are_listed_and_resumed_by_id(memory: Memory, clock: MovableClock) -> None:
    for id in ("one", "two"):
        with memory.session(id) as session:
            session.turn("user", f"I am {id}")
        clock.move(minutes=1)
    assert [record.title for record in memory.sessions()] == ["two", "one"]
    with memory.session("one") as session:
        session.turn("user", "I am back")
        assert [turn.text for turn in session.turns()] == ["I am one", "I am back"]
        assert [record.title for record in memory.sessions(state="open")] == ["one"]
    assert [(r.title, r.data["state"]) for r in memory.sessions(limit=1)] == [("one", "closed")]
    assert memory.count({"kind": "session"}) == 2
    with pytest.raises(Invalid, match="open or closing or closed"):
        memory.sessions(state="lost")  # type: ignore[arg-type]


def test_a_session_without_an_id_gets_one_of_its_own(memory: Memory) -> None:
    with memory.session() as a, memory.session() as b:
        assert a.id != b.id and a.record.title == a.id


@pytest.mark.covers("W4-3")
def test_two_sessions_at_once_share_nothing(memory: Memory) -> None:
    with memory.session("a", agent="x") as a, memory.session("b", agent="y") as b:
        for n in range(3):
            a.turn("user", f"a{n}")
            b.turn("user", f"b{n}")
        b.note("only for b")
        assert [turn.text for turn in a.turns()] == ["a0", "a1", "a2"]
        assert [turn.text for turn in b.turns()] == ["b0", "b1", "b2"]
        assert "only for b" not in a.context("what is for b?", min_relevance=0).text


def test_a_users_conversation_lies_with_the_user(memory: Memory) -> None:
    with memory.session("s1", user="ann") as session:
        talk(session, "My cat is called Zephyr")
        assert {turn.scope for turn in session.turns()} == {"user/ann"}
    assert not memory.recall("what is the cat called?", search="sessions", user="bob")
    assert memory.recall("what is the cat called?", search="sessions", user="ann")
    assert [record.title for record in memory.sessions()] == ["s1"]
    assert [record.title for record in memory.sessions(user="ann")] == ["s1"] and not memory.sessions(user="bob")
    with pytest.raises(Conflict, match="lies in user/ann"):
        memory.session("s1", user="bob")
    with memory.session("s1", user="ann") as session:  # what failed holds nothing
        assert len(session.turns()) == 3


def everything_for(memory: Memory, session: str, **user: str) -> str:
    """All that the reading verbs show somebody who names that session."""
    asked = {"session": session, **user}
    told = [
        memory.context("what about the salary?", min_relevance=0, **asked, **by).text for by in ({}, {"agent": "other"})
    ]
    hits = [memory.recall("salary", search=search, **asked) for search in ("memory", "sessions", "all", "archive")]
    return "\n".join([*told, *(hit.text for found in hits for hit in found), *map(str, memory.narratives(**asked))])


SALARY = "We decided that the salary of Alex stays at 4711 a month."


@pytest.mark.parametrize("kept", ["ingest", "remember", "session"])
def test_nobody_else_is_shown_what_a_user_said_or_what_was_found_in_it(memory: Memory, kept: str) -> None:
    said = [{"role": "user", "content": SALARY}]
    if kept == "ingest":
        memory.ingest(said, session="s2", user="alex", agent="coder")
    elif kept == "remember":
        memory.remember(said, session="s2", user="alex", agent="coder")
    else:
        session = memory.session("s2", user="alex", agent="coder")
        session.turn("user", SALARY)
        session.note("The salary of Alex, 4711, is secret")
        session.leave()
    memory.extract(said, session="s2", agent="coder")
    memory.narrate("The salary of Alex, 4711, was talked about", topic="salary", session="s2")
    for others in ({}, {"user": "bob"}):
        assert "4711" not in everything_for(memory, "s2", **others)
    assert "4711" in memory.context("what about the salary?", session="s2", user="alex").text
    assert memory.recall("salary", session="s2", user="alex")[0].record.scope == "session/s2"
    assert [record.scope for record in memory.narratives(session="s2", user="alex")] == ["user/alex"]
    assert "name that user" in (memory.recall("salary", session="s2", user="bob").empty_because or "")


def test_a_users_session_stays_theirs_when_it_is_closed_finished_promoted_or_forked(memory: Memory) -> None:
    with memory.session("s2", user="alex", agent="coder") as session:
        talk(session, SALARY)
        session.note("Pinned: the salary of Alex is 4711", pinned=True)
        fork = session.fork("s3")
        fork.note("In the fork: the salary of Alex is 4711")
        fork.leave()
    [found] = memory.extract("We decided that the salary of Alex is 4712, not 4711.", session="s2")
    assert memory.promote(found).record.scope == "user/alex"
    noted = memory.remember("4711 again, as a note", scope="session/s3", pinned=True)
    memory.finish("session/s3")
    assert memory.get(noted.id).scope == "user/alex"
    for session_id in ("s2", "s3"):
        for others in ({}, {"user": "bob"}):
            shown = everything_for(memory, session_id, **others)
            assert "4711" not in shown and "4712" not in shown
    assert not [record for record in memory.list({"scope": memory.home}) if "471" in record.text]


def test_a_users_session_shows_its_own_notes_and_memories_in_its_context_and_window(memory: Memory) -> None:
    memory.remember("About the salary: short answers", user="alex")
    with memory.session("s2", user="alex", agent="coder") as session:
        session.turn("user", SALARY)
        memory.remember("The salary was checked by another agent", scope="session/s2", session="s2", agent="other")
        for text in (session.context("salary").text, str(session.window(4000, query="salary").messages)):
            assert "4711" in text and "another agent" in text and "short answers" in text


def test_an_access_without_the_session_reads_nothing_of_it_through_another_scope(memory: Memory) -> None:
    with memory.session("s2", agent="coder") as session:
        session.note("the canary is in the session")
        who = replace(memory.access, reads=(memory.project.scope,), writes=())
        told = memory.through(who).context("canary", scope=memory.project.scope, session="s2", agent="other")
        assert "canary" not in told.text


@pytest.mark.parametrize("fast", [False, True])
def test_a_session_that_was_closed_is_not_opened_again_by_a_turn_a_note_or_a_fork(memory: Memory, fast: bool) -> None:
    session = memory.session("s1")
    talk(session)
    session.close(fast)
    state = memory.sessions()[0].data["state"]
    for write in (lambda: session.turn("user", "One more"), lambda: session.note("One more")):
        with pytest.raises(Conflict, match="s1 was closed; open it again"):
            write()
    session.fork("s2").leave()
    [kept] = [record for record in memory.sessions() if record.title == "s1"]
    assert state == ("closing" if fast else "closed") and (fast or kept.data["state"] == state)
    with memory.session("s1") as again:
        again.turn("user", "One more")
        assert len(again.turns()) == 3


def test_while_memory_is_off_nothing_is_kept_and_nothing_fails(memory: Memory) -> None:
    memory._off_because = lambda: "memory is off"
    with memory.session("s1") as session:
        assert session.turn("user", "Hello").outcome == "refused"
        assert session.note("Hello").outcome == "refused"
    memory._off_because = lambda: None
    assert memory.count() == 0
    assert session.turn("user", "Hello again").outcome == "added"  # switched on meanwhile
    assert [record.data["state"] for record in memory.sessions()] == ["open"]


def test_who_may_not_write_opens_no_session(memory: Memory) -> None:
    reader = memory.through(replace(memory.access, role="reader"))
    with pytest.raises(OutOfScope):
        reader.session("s1")


# ---------------------------------------------------------------- one writer


@pytest.mark.covers("N2-4")
def test_a_second_writer_waits_until_the_first_one_leaves(first: Memory, other: Memory) -> None:
    held, order = first.session("s1"), list[str]()

    def wait() -> None:
        with other.session("s1", wait=20) as session:
            order.append("second")
            session.turn("user", "after you")

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join(0.3)
    assert thread.is_alive() and order == []
    held.turn("user", "me first")
    held.leave()
    thread.join(20)
    assert order == ["second"]
    assert [turn.text for turn in first.session("s1").turns()] == ["me first", "after you"]


@pytest.mark.covers("N2-4")
def test_who_does_not_want_to_wait_is_told_at_once(first: Memory, other: Memory) -> None:
    with first.session("s1"):
        with pytest.raises(StoreUnavailable, match="held by another writer"):
            other.session("s1", busy="drop")
        with pytest.raises(StoreUnavailable, match="held by another writer"):
            other.session("s1", wait=0.05)
        with pytest.raises(Invalid, match="queue or drop or interrupt"):
            other.session("s1", busy="push")  # type: ignore[arg-type]
    other.session("s1", busy="drop").close()


@pytest.mark.covers("N2-4")
def test_an_interrupted_writer_learns_of_it_at_its_next_write(first: Memory, other: Memory) -> None:
    held = first.session("s1")
    held.turn("user", "one")
    with other.session("s1", busy="interrupt") as session:
        session.turn("user", "two")
        with pytest.raises(Conflict, match="took session s1 over"):
            held.turn("user", "three")
        with pytest.raises(Conflict, match="took session s1 over"):
            held.close()
        assert [turn.text for turn in session.turns()] == ["one", "two"]


@pytest.mark.covers("N2-4")
def test_a_lease_runs_out_after_a_quarter_of_an_hour_without_a_write(
    first: Memory, other: Memory, clock: MovableClock
) -> None:
    held = first.session("s1")
    for _ in range(4):
        clock.move(minutes=10)
        held.turn("user", "still here")
    clock.move(minutes=14)
    with pytest.raises(StoreUnavailable):
        other.session("s1", busy="drop")
    clock.move(minutes=2)
    other.session("s1", busy="drop").turn("user", "mine now")
    with pytest.raises(Conflict):
        held.turn("user", "too late")


def test_who_was_idle_goes_on_if_nobody_took_the_session(first: Memory, other: Memory, clock: MovableClock) -> None:
    held = first.session("s1")
    talk(held, "one", "two")
    clock.move(minutes=20)
    other.session("s2").leave()  # ends what was left open
    assert [(r.title, r.data["state"]) for r in other.sessions(state="closed")] == [("s1", "closed")]
    held.turn("user", "I am back")
    assert held.record.data["state"] == "open" and held.turns()[-1].text == "I am back"


@pytest.mark.covers("N2-4")
def test_at_most_ten_wait_and_the_first_one_is_served_first(first: Memory, other: Memory, clock: MovableClock) -> None:
    from memorist.session.lease import Lease

    with first.session("s1") as held:
        job, by = held._name.job(first._caller), other._caller
        queue = [Lease(job, "session s1", by) for _ in range(MOST_WAITING)]
        assert not any(lease._claim("queue", clock() + MINUTE) for lease in queue)
        with pytest.raises(StoreUnavailable, match="10 writers wait for session s1"):
            other.session("s1", wait=5)
    held.leave()
    assert not queue[1]._claim("queue", clock() + MINUTE)
    assert queue[0]._claim("queue", clock() + MINUTE)
    queue[0].give_back(over=False)
    clock.move(minutes=2)  # those who waited have given up
    other.session("s1", busy="drop").leave()


# ---------------------------------------------------------------- its end


@pytest.mark.covers("S3-10", "S1-17", "S1-11", "S3-3")
def test_the_end_keeps_findings_promotes_them_and_leaves_a_summary(memory: Memory) -> None:
    recorded = promoting(door(memory, "recorded"))
    with recorded.session("s1", agent="claude") as session:
        talk(session, WISH, "I will remember that.", "And what about the tests?", "They are green.")
        memory.remember("The tests take four minutes", kind="note", scope="session/s1", agent="claude")
        session.note("Ask Ann before a deploy", pinned=True)
    [record] = memory.sessions()
    assert record.data["state"] == "closed" and record.data["closed"]
    summary = memory.get(record.data["summary"])
    assert (summary.kind, summary.scope, summary.provenance.session) == ("summary", "project/atlas", "s1")
    kept = {r.text for r in memory.list({"scope": "project/atlas", "kind": {"$in": ["fact", "note"]}})}
    assert kept == {"the deploy key of the staging machine expires in May.", "Ask Ann before a deploy"}
    [note] = memory.list({"text": "The tests take four minutes", "state": "archived"})
    assert note.reason == "session/s1 finished: closed"


@pytest.mark.covers("S1-17")
def test_one_undo_takes_the_end_back(memory: Memory) -> None:
    session = promoting(memory).session("s1")
    session.note("The dome opens late this week")
    talk(session, DECISION, WISH)
    before = memory.list({"session": "s1"}, order="-number")
    closed = session.close()
    assert memory.count({"kind": "summary"}) == 1 and memory.sessions()[0].data["state"] == "closed"
    memory.undo(closed.batch)
    assert [(each.id, each.text, each.data) for each in memory.list({"session": "s1"}, order="-number")] == [
        (each.id, each.text, each.data) for each in before
    ]
    with memory.session("s1") as again:
        assert len(again.turns()) == 4
    assert memory.count({"kind": "summary"}) == 1 and memory.count({"kind": "decision"}) == 1
    assert memory.audit().ok


def test_a_session_that_goes_on_has_one_summary(memory: Memory) -> None:
    for day in ("Monday", "Tuesday"):
        with memory.session("s1") as session:
            talk(session, f"On {day} the lift was painted", "Which one?")
    [summary] = memory.list({"kind": "summary"})
    assert "Monday" in summary.text and "Tuesday" in summary.text
    assert memory.sessions()[0].data["summary"] == summary.id


def test_a_short_talk_is_its_own_summary(memory: Memory) -> None:
    with memory.session("s1") as session:
        talk(session)
    assert memory.count({"kind": "summary"}) == 0 and "summary" not in memory.sessions()[0].data


def test_turns_are_read_once(memory: Memory) -> None:
    for _ in range(2):
        with memory.session("s1") as session:
            session.turn("user", DECISION)
    [found] = memory.list({"kind": "decision"})
    assert (found.text, found.counters.strength) == (DECISION, 1)  # said twice, and each was read once


def test_a_finding_is_trusted_like_its_turn_whoever_ends_the_session(memory: Memory) -> None:
    session = door(memory, "agent").session("s1")
    session.turn("user", WISH)  # an agent says that the user said so
    session.tool_result(None, "error: the build of module alpha failed with exit code 3")
    session.leave()
    door(memory, "user").session("s1").close()
    found = memory.list({"scope": "session/s1"})
    assert {record.origin for record in found} <= {"agent", "tool"} and found
    assert all(record.status == "candidate" for record in found)


def test_a_summary_is_trusted_like_the_least_of_what_it_quotes(memory: Memory) -> None:
    session = door(memory, "import").session("s1")
    talk(session, "The vault is open at night", "I see.")
    session.leave()
    door(memory, "user").session("s1").close()
    [summary] = memory.list({"kind": "summary", "state": {"$in": ["active", "archived"]}})
    assert (summary.origin, summary.status, summary.scope) == ("import", "candidate", "session/s1")


@pytest.mark.covers("S3-22")
def test_where_findings_are_off_a_session_only_ends(memory: Memory) -> None:
    memory._choose(auto=False)
    with memory.session("s1") as session:
        talk(session, DECISION, "Good.", WISH, "Noted.")
    assert memory.sessions()[0].data["state"] == "closed"
    assert memory.count({"kind": {"$in": ["summary", "decision", "fact"]}}) == 0


@pytest.mark.covers("S3-22")
def test_a_fast_end_is_one_transaction_and_the_next_one_that_opens_does_the_rest(memory: Memory) -> None:
    recorded = promoting(door(memory, "recorded"))
    session = recorded.session("s1")
    talk(session, WISH, "Noted.")
    opened = memory._tools.store.transaction
    with pytest.MonkeyPatch.context() as patch:
        begun: list[bool] = []
        patch.setattr("memorist.session.close.FAST", 60.0)
        patch.setattr(
            memory._tools.store, "transaction", lambda *how, **more: begun.append(True) or opened(*how, **more)
        )
        session.close(fast=True)
    assert len(begun) == 1
    assert memory.sessions()[0].data["state"] == "closing"
    assert [r.status for r in memory.list({"scope": "session/s1"})] == ["candidate"]  # found, and not promoted
    assert memory.count({"kind": "summary"}) == 0
    with recorded.session("another"):
        assert memory.count({"kind": "summary"}) == 1 and memory.count({"scope": "session/s1"}) == 0
        assert memory.count({"scope": "project/atlas", "kind": "fact"}) == 1
        assert [r.title for r in memory.sessions(state="closed")] == ["s1"]


def test_a_session_closed_in_a_hurry_is_ended_before_it_goes_on(memory: Memory) -> None:
    session = memory.session("s1")
    talk(session, "one", "two")
    session.close(fast=True)
    with memory.session("s1") as again:
        assert again.record.data["state"] == "closed" and memory.count({"kind": "summary"}) == 1
        again.turn("user", "three")
        assert again.record.data["state"] == "open"
    assert again.record.data["state"] == "closed"


def test_to_read_or_to_fork_a_closed_session_leaves_it_as_it_was(memory: Memory) -> None:
    """With its last change, its place in the list, and free for others to write."""
    for id in ("mon", "tue"):
        with memory.session(id) as session:
            talk(session, id)
    before, events = {r.title: r for r in memory.sessions()}, len(memory.log(limit=1000))
    read = memory.session("mon")
    assert [turn.text for turn in read.turns()][-1:] == ["mon"]
    read.leave()
    assert "closed before" in str(memory.session("mon").close().advice)
    assert ({r.title: r for r in memory.sessions()}, len(memory.log(limit=1000))) == (before, events)
    with memory.session("mon").fork("wed") as fork:
        fork.turn("user", "only there")
        assert [record.title for record in memory.sessions(state="open")] == ["wed"]
        assert {r.title: r for r in memory.sessions(state="closed")} == before
        with memory.session("mon", busy="drop") as again:  # nobody holds it
            again.turn("user", "only here")
            assert again.record.data["state"] == "open"
    assert {r.data["state"] for r in memory.sessions()} == {"closed"}


def test_a_session_that_rests_goes_on_after_a_fork(memory: Memory) -> None:
    with memory.session("mon") as session:
        talk(session)
    with memory.session("mon") as again, again.fork("tue"):
        again.turn("user", "one more")
        assert again.record.data["state"] == "open"
    assert [turn.text for turn in again.turns()][-1] == "one more" and again.record.data["state"] == "closed"


def test_what_fails_inside_ends_in_a_hurry(memory: Memory) -> None:
    with pytest.raises(ZeroDivisionError), memory.session("s1") as session:
        session.turn("user", "Hello")
        raise ZeroDivisionError
    assert memory.sessions()[0].data["state"] == "closing"


def test_closing_the_memory_ends_what_is_open(path: Path, other: Memory) -> None:
    with Memory(path, project="atlas", embed="none") as memory:
        talk(memory.session("s1"), "one", "two")
    assert other.sessions()[0].data["state"] == "closing"
    other.session("s2").close()
    assert {record.data["state"] for record in other.sessions()} == {"closed"}


@pytest.mark.covers("S3-3", "S2-4")
def test_what_a_crash_left_open_is_ended_at_the_next_start(path: Path, other: Memory, clock: MovableClock) -> None:
    crashed = Memory(path, project="atlas", embed="none", clock=clock)
    session = crashed.session("s1")
    talk(session, DECISION, "Good.")
    crashed._held.clear()  # killed: nothing of what follows an end was done
    other.session("s2").close()
    assert other.sessions(state="open")[0].title == "s1"  # its writer may live
    clock.move(minutes=16)
    other.session("s3").close()
    assert other.sessions(state="open") == []
    assert other.count({"kind": "summary"}) == 1 and other.count({"kind": "decision"}) == 1
    assert other.audit().ok


def test_upkeep_ends_what_was_left_open(first: Memory, clock: MovableClock) -> None:
    session = first.session("s1")
    talk(session, DECISION, "Good.")
    clock.move(minutes=16)
    [plan] = [report for report in first.upkeep(dry_run=True) if report.verb == "sessions"]
    assert [each.number for each in plan.changed] == [session.record.number] and session.record.data["state"] == "open"
    [report] = [report for report in first.upkeep() if report.verb == "sessions"]
    assert report.changed and session.record.data["state"] == "closed"
    assert not [report for report in first.upkeep() if report.verb == "sessions"]


def test_what_is_erased_while_a_session_ends_does_not_come_back_as_a_finding(
    first: Memory, other: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = first.session("s1")
    for place in range(30):
        session.turn("user", f"We decided to use Qanary{place} for service {place}.")
    turns = session.turns()

    def then_erased(*given: Any, **more: Any) -> list[Record]:
        other.erase(turns[-1])
        return turns

    monkeypatch.setattr(close, "turns_of", then_erased)
    session.flush()
    monkeypatch.undo()
    session.close()
    assert any("Qanary28" in record.text for record in first.list(limit=1000))
    assert not any("Qanary29" in record.text for record in first.list(limit=1000))


def test_what_is_erased_while_a_session_is_summed_up_is_not_in_its_summary(
    first: Memory, other: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, summarise = first.session("s1"), compaction.summarise
    for place in range(8):
        session.turn(("user", "assistant")[place % 2], f"Decision: we use qanary{place} for service {place}.")
    doomed = [session.turns()[4]]

    def slowly(*given: Any) -> str:
        text = summarise(*given)
        while doomed:
            other.erase(doomed.pop())
        return text

    monkeypatch.setattr(compaction, "summarise", slowly)
    session.close()
    [summary] = first.list({"kind": "summary"})
    assert "qanary2" in summary.text
    assert not any("qanary4" in record.text for record in first.list(limit=1000))


@pytest.mark.parametrize("step", ["read", "_promote", "_summed_up"])
def test_who_is_interrupted_while_ending_a_session_ends_it_no_more(
    first: Memory, other: Memory, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    session, whole = first.session("s1"), getattr(close, step)
    talk(session, DECISION, "Good.")
    theirs: list[Session] = []

    def interrupted(*given: Any) -> Any:
        theirs.append(other.session("s1", busy="interrupt"))
        return whole(*given)

    monkeypatch.setattr(close, step, interrupted)
    with pytest.raises(Conflict, match="took session s1 over"):
        session.close()
    monkeypatch.undo()
    theirs[0].turn("user", "I go on.")
    assert theirs[0].record.data["state"] == "open"


def test_who_is_interrupted_between_asking_and_writing_writes_nothing(
    first: Memory, other: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = first.session("s1")
    admitted = session._admitted

    def interrupted_before(draft: Draft) -> Outcome:
        other.session("s1", busy="interrupt")
        return admitted(draft)

    monkeypatch.setattr(session, "_admitted", interrupted_before)
    with pytest.raises(Conflict, match="took session s1 over"):
        session.turn("user", "Too late.")
    assert session.turns() == []


def test_a_users_session_of_another_project_is_left_to_those_who_may_end_it(
    path: Path, first: Memory, clock: MovableClock
) -> None:
    with Memory(path, project="borealis", embed="none", clock=clock) as elsewhere:
        talk(elsewhere.session("s1", user="ann"), DECISION, "Good.")
        elsewhere._held.clear()  # killed
        clock.move(minutes=16)
        first.session("s2").close()
        with elsewhere.session("s1", user="ann", busy="drop") as session:
            assert session.record.data["state"] == "open"


def test_a_session_that_cannot_be_ended_is_not_kept_from_others(
    first: Memory, other: Memory, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(first.session("s1"), DECISION, "Good.")
    clock.move(minutes=16)

    def fails(*given: Any) -> None:
        raise Refused("not now")

    monkeypatch.setattr(close, "end", fails)
    other.session("s2").leave()
    monkeypatch.undo()
    other.session("s1", busy="drop").close()


# ---------------------------------------------------------------- forks


def test_a_fork_that_fails_leaves_no_part_of_the_notes(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    session = memory.session("s1")
    for place in ("first", "second", "third"):
        session.note(f"The {place} gauge is read at noon")
    admit, seen = gate.admit, []

    def fail(drafts: list[Any], *more: Any, **given: Any) -> Any:
        seen.extend(draft for draft in drafts if draft.scope == "session/s2")
        if len(seen) == 2:
            raise Refused("the disk is full")
        return admit(drafts, *more, **given)

    monkeypatch.setattr(gate, "admit", fail)
    with pytest.raises(Refused, match="full"):
        session.fork("s2")
    assert memory.count({"scope": "session/s2"}) == 0 and memory.count({"scope": "session/s1"}) == 3


def test_erasing_a_note_takes_the_copies_in_forks_along(memory: Memory) -> None:
    session = memory.session("s1")
    note = session.note("The qanarx is blue")
    session.fork("s2").fork("s3")
    assert memory.count({"kind": "note"}) == 3
    memory.erase(str(note.id))
    assert memory.count({"kind": "note"}) == 0


@pytest.mark.covers("S3-27", "S3-10")
def test_a_fork_begins_with_what_was_said_and_goes_its_own_way(memory: Memory) -> None:
    with memory.session("s1", agent="claude") as session:
        talk(session, "one")
        session.note("The tests take four minutes", kind="fact")
        with session.fork("s2", agent="codex") as fork:
            session.turn("user", "only here")
            fork.turn("user", "only there")
            assert [turn.text for turn in fork.turns()][-2:] == ["one", "only there"]
            assert [turn.text for turn in fork.turns(2)] == ["one", "only there"]
            assert [turn.text for turn in session.turns()][-2:] == ["one", "only here"]
            assert fork.record.data["parent"] == "s1"
            assert [r.text for r in memory.list({"scope": "session/s2"})] == ["The tests take four minutes"]
            with fork.fork("s3") as third:
                assert len(third.turns()) == 4
    assert len(memory.list({"kind": "turn"})) == 5  # no turn was copied


@pytest.mark.covers("S3-27")
def test_both_sides_of_a_fork_may_promote_and_it_counts_once(memory: Memory) -> None:
    recorded = promoting(door(memory, "recorded"))
    with recorded.session("s1") as session:
        session.turn("user", WISH)
        memory.extract(DECISION, session="s1")
        with session.fork("s2"):
            pass
    found = [each for each in memory.promote(dry_run=True) if DECISION in each.text]  # type: ignore[union-attr]
    assert [(each.sessions, "multi-session" in each.signals) for each in found] == [(1, False)]
    assert memory.count({"scope": "project/atlas", "kind": "fact"}) == 1


def test_a_fork_does_not_make_what_was_noted_more_trusted(memory: Memory) -> None:
    session = door(memory, "tool").session("s1")
    session.note("The password policy is off")
    session.leave()
    with door(memory, "user").session("s1") as mine, mine.fork("s2"):
        [note] = memory.list({"scope": "session/s2"})
        assert (note.origin, note.status) == ("tool", "candidate")


def test_a_fork_does_not_write_into_another_session(memory: Memory) -> None:
    with (
        memory.session("s1") as session,
        memory.session("s2"),
        pytest.raises(Conflict, match="there is a session s2 already"),
    ):
        session.fork("s2")


def test_a_session_that_was_erased_meanwhile_ends_quietly(memory: Memory) -> None:
    with memory.session("s1") as session:
        session.turn("user", "Hello")
        door(memory, "user").erase(where={"session": "s1"})
        with pytest.raises(Conflict, match="erased or forgotten meanwhile"):
            _ = session.record
    assert memory.sessions() == []


def test_what_a_system_prompt_says_is_no_finding(memory: Memory) -> None:
    with memory.session("s1") as session:
        session.turn("system", DECISION)
    assert memory.count({"scope": "session/s1"}) == 0


# ---------------------------------------------------------------- laws


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["turn", "leave", "fast", "close", "fork"])), max_size=12
    )
)
def test_whatever_happens_to_sessions_no_turn_is_lost_and_none_is_doubled(steps: list[tuple[str, str]]) -> None:
    with Memory(":memory:", project="atlas", embed="none") as memory:
        said: dict[str, list[str]] = {"a": [], "b": []}
        for number, (id, step) in enumerate(steps):
            session = memory.session(id)
            session.turn("user", f"{id} {number}")
            said[id].append(f"{id} {number}")
            if step == "fork":
                with session.fork() as fork:
                    assert [turn.text for turn in fork.turns()] == said[id]
            if step in ("fast", "close"):
                session.close(fast=step == "fast")
            session.leave()
        for id, texts in said.items():
            assert [turn.text for turn in memory.session(id).turns()] == texts
        assert memory.audit().ok


assert LENGTH == 15 * MINUTE


# ---------------------------------------------------------------- conversations of other programs

OPENAI = [
    {"role": "system", "content": "Answer briefly."},
    {"role": "user", "content": [
        {"type": "text", "text": "What is on this picture?"},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
    ]},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"at": "a.png"}'}},
        {"id": "call_2", "type": "function", "function": {"name": "look", "arguments": "not JSON"}},
    ]},
    {"role": "tool", "tool_call_id": "call_1", "content": "a lighthouse"},
    {"role": "assistant", "content": "A lighthouse."},
]  # fmt: skip
ANTHROPIC = [
    {"role": "user", "content": [
        {"type": "text", "text": "What is on this picture?"},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
    ]},
    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "I had better look."},
        {"type": "text", "text": "I will look."},
        {"type": "tool_use", "id": "call_1", "name": "look", "input": {"at": "a.png"}},
    ]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "call_1", "content": [{"type": "text", "text": "a lighthouse"}]},
    ]},
    {"role": "assistant", "content": [{"type": "text", "text": "A lighthouse."}]},
]  # fmt: skip


def said(memory: Memory, session: str) -> list[tuple[str | None, str]]:
    turns = memory.list({"session": session, "kind": "turn"}, order="-number")
    return [(turn.provenance.role, turn.text) for turn in turns]


@pytest.mark.covers("S1-11", "S2-3")
def test_the_messages_of_openai_are_kept_whole(memory: Memory) -> None:
    done = memory.ingest(OPENAI, session="s1", agent="gpt")
    assert (done.session, done.added, done.repeated, bool(done)) == ("s1", 6, 0, True)
    assert said(memory, "s1") == [
        ("system", "Answer briefly."), ("user", "What is on this picture?"), ("assistant", 'look({"at": "a.png"})'),
        ("assistant", 'look("not JSON")'), ("tool", "a lighthouse"), ("assistant", "A lighthouse."),
    ]  # fmt: skip
    _, picture, call, _, result, _ = memory.list({"session": "s1", "kind": "turn"}, order="-number")
    assert picture.data["images"][0] == "https://example.org/a.png"
    assert picture.data["images"][1].startswith("image/png ") and "iVBOR" not in str(picture.data)
    assert call.data["call"] == {"id": "call_1", "name": "look", "input": {"at": "a.png"}}
    assert result.data["result"] == "call_1" and result.origin == "tool" and result.provenance.agent == "gpt"


@pytest.mark.covers("S1-11", "S2-3")
def test_the_messages_of_anthropic_are_kept_whole(memory: Memory) -> None:
    assert memory.ingest(ANTHROPIC, session="s1").added == 5
    assert said(memory, "s1") == [
        ("user", "What is on this picture?"), ("assistant", "I will look."), ("assistant", 'look({"at": "a.png"})'),
        ("tool", "a lighthouse"), ("assistant", "A lighthouse."),
    ]  # fmt: skip


@pytest.mark.parametrize("messages", [OPENAI, ANTHROPIC, [{**m, "id": f"m{n}"} for n, m in enumerate(OPENAI)]])
def test_a_conversation_that_has_grown_is_handed_in_again(memory: Memory, messages: list[dict[str, Any]]) -> None:
    first = memory.ingest(messages[:2], session="s1")
    again = memory.ingest(messages, session="s1")
    assert again.repeated == first.added and again.added > 0
    assert memory.ingest(messages, session="s1").added == 0
    assert memory.ingest({"model": "m", "messages": messages}, session="s1").repeated, "as a request holds them"
    assert memory.count({"kind": "session"}) == 1
    assert memory.ingest(messages, session="s2").added == first.added + again.added


def test_a_message_known_by_its_id_may_stand_elsewhere(memory: Memory) -> None:
    named = [{"role": "user", "content": "one", "id": "a"}, {"role": "user", "content": "two", "id": "b"}]
    memory.ingest(named, session="s1")
    done = memory.ingest([{"role": "user", "content": "zero", "id": "z"}, *named], session="s1")
    assert (done.added, done.repeated) == (1, 2)
    assert [text for _, text in said(memory, "s1")] == ["one", "two", "zero"]  # the order in which they came


def test_another_text_in_the_place_of_a_message_is_an_error_that_says_so(memory: Memory) -> None:
    memory.ingest([{"role": "user", "content": "one"}], session="s1")
    with pytest.raises(
        Conflict, match=r"session s1 has another text .* give the messages ids, or add new ones with remember"
    ):
        memory.ingest([{"role": "user", "content": "two"}], session="s1")
    with memory.session("s1", wait=1):  # what failed holds nothing
        assert [text for _, text in said(memory, "s1")] == ["one"]


@pytest.mark.parametrize("origin", ["user", "agent", "tool"])
def test_a_conversation_that_was_taken_back_can_be_handed_in_again(memory: Memory, origin: Any) -> None:
    messages = [{"role": "user", "content": "first"}, {"role": "assistant", "content": "second"}]
    mine = door(memory, origin)
    for _ in range(2):
        done = mine.ingest(messages, session="s1")
        assert (done.added, done.repeated) == (2, 0)
        assert [turn.text for turn in memory.list({"kind": "turn"}, order="-number")] == ["first", "second"]
        mine.undo(str(done.batch))
        assert memory.count({"kind": "turn"}) == 0


def test_messages_can_be_handed_in_where_the_session_is_open(memory: Memory) -> None:
    with memory.session("s1") as session:
        session.turn("user", "Hello.")
        assert memory.ingest([{"role": "user", "content": "More."}], session="s1").added == 1
        session.turn("user", "Still open.")
        assert len(session.turns()) == 3


def test_a_users_session_is_shown_what_is_known_of_the_user(memory: Memory) -> None:
    memory.remember("Ann prefers dark chocolate", user="ann")
    with memory.session("s1", user="ann") as session:
        session.turn("user", "Hello.")
        assert "dark chocolate" in session.context("which chocolate?").text
        assert "dark chocolate" in str(session.window(8000, query="which chocolate?").messages)
    with memory.session("s2") as session:
        assert "dark chocolate" not in session.context("which chocolate?").text


@pytest.mark.parametrize("bad", ["text", 5, None, b"text"])
def test_what_is_no_conversation_is_refused_and_leaves_nothing(memory: Memory, bad: Any) -> None:
    with pytest.raises(Invalid):
        memory.ingest(bad, session="s1")
    assert memory.count() == 0


BAD_MESSAGES: list[tuple[Any, str]] = [
    ({"content": "no role"}, r"message 2 is .* not \{"),
    ({"role": "wizard", "content": "?"}, "message 2 has the role 'wizard'; roles are user, human"),
    (1, "message 2 is 1"),
    ({"role": "user", "content": 5}, "content of message 2 must be a text or a list of blocks"),
    ({"role": "user", "content": [5]}, "message 2 has a block 5; blocks are dicts"),
    ({"role": "user", "content": "when?", "timestamp": "soon"}, "timestamp of message 2 must be seconds since 1970"),
    ({"role": "user", "content": "x" * 3_000_000}, "message 2: the text .* characters"),
    ({"role": "user", "content": "who?", "name": "n" * 9_999}, "message 2: the speaker"),
    ({"role": "user", "content": "which?", "id": "i" * 99_999}, "message 2: the key"),
]  # fmt: skip


def test_a_store_that_fails_refuses_no_message(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the caller would take for refused what is only to be handed in again."""

    def fail(record: Any) -> Any:
        raise StoreUnavailable("the disk is gone")

    monkeypatch.setattr(memory._writer, "clean", fail)
    with pytest.raises(StoreUnavailable):
        memory.ingest([{"role": "user", "content": "Hello"}, {"role": "user", "content": "Bye"}], session="s1")


@pytest.mark.parametrize(("bad", "says"), BAD_MESSAGES)
def test_one_bad_message_is_refused_and_the_others_are_kept(memory: Memory, bad: Any, says: str) -> None:
    good = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "three"}]
    done = memory.ingest([good[0], bad, good[1]], session="s1")
    assert [outcome.outcome for outcome in done.outcomes] == ["added", "refused", "added"]
    assert re.search(says, done.outcomes[1].because, re.DOTALL) and not done
    assert [text for _, text in said(memory, "s1")] == ["one", "three"]
    mended = memory.ingest([good[0], {"role": "user", "content": "two"}, good[1]], session="s1")
    assert [outcome.outcome for outcome in mended.outcomes] == ["repeated", "added", "repeated"]


@pytest.mark.parametrize("bad", [bad for bad, _ in BAD_MESSAGES[:6]])
def test_a_conversation_of_bad_messages_opens_no_session(memory: Memory, bad: Any) -> None:
    assert [outcome.outcome for outcome in memory.ingest([bad, bad], session="s1").outcomes] == ["refused"] * 2
    assert memory.count() == 0


def test_a_bad_message_in_a_long_conversation_costs_no_other(memory: Memory) -> None:
    messages: list[Any] = [{"role": "user", "content": f"turn {n}"} for n in range(600)]
    messages[1] = messages[300] = {"role": "user", "content": "x", "name": "n" * 9_999}
    done = memory.ingest(messages, session="s1")
    assert (done.added, memory.count({"kind": "turn"})) == (598, 598)
    assert [place for place, each in enumerate(done.outcomes) if each.outcome == "refused"] == [1, 300]
    assert memory.ingest(messages, session="s1").repeated == 598


def test_a_message_is_the_same_whoever_hands_it_in_and_when(memory: Memory) -> None:
    """By its id or its place; it keeps the agent and the time with which it came first."""
    for session, named in (("s1", {"id": "a"}), ("s2", {})):
        message = {"role": "user", "content": "one", **named}
        memory.ingest([{**message, "timestamp": "2026-05-01T09:00Z"}], session=session, agent="claude")
        again = memory.ingest([message, {"role": "user", "content": "two", "id": "b"}], session=session, agent="codex")
        assert [outcome.outcome for outcome in again.outcomes] == ["repeated", "added"]
        first = again.outcomes[0].record
        assert first is not None and (first.provenance.agent, first.times.at.day) == ("claude", 1)


def test_an_id_that_looks_like_a_place_is_no_place(memory: Memory) -> None:
    done = memory.ingest(
        [{"role": "user", "content": "one", "id": "2"}, {"role": "user", "content": "two"}], session="s1"
    )
    assert done.added == 2
    calls = {"role": "assistant", "content": "Let me look.", "tool_calls": [{"id": "c", "function": {"name": "look"}}]}
    done = memory.ingest([{**calls, "id": "a"}, {"role": "user", "content": "x", "id": "2/id:a"}], session="s2")
    assert done.added == 3
    with memory.session("s1") as session:
        assert session.turn("user", "one", id="2").outcome == "repeated", "a session knows it by the same id"


def test_another_text_with_the_id_of_a_message_is_refused_by_itself(memory: Memory) -> None:
    memory.ingest([{"role": "user", "content": "one", "id": "a"}], session="s1")
    edited = [{"role": "user", "content": "ONE", "id": "a"}, {"role": "user", "content": "two", "id": "b"}]
    done = memory.ingest([*edited, {"role": "user", "content": "three", "id": "b"}], session="s1")
    assert [outcome.outcome for outcome in done.outcomes] == ["refused", "added", "refused"]
    assert "message 3: its id was used for another text" in done.outcomes[2].because
    assert [text for _, text in said(memory, "s1")] == ["one", "two"]


def test_a_users_messages_lie_with_the_user_and_one_undo_takes_them_back(memory: Memory) -> None:
    done = memory.ingest(OPENAI, user="ann")
    assert memory.count({"scope": "user/ann", "kind": "turn"}) == 6 and done.batch is not None
    memory.undo(done.batch)
    assert memory.count({"kind": "turn"}) == 0


# ---------------------------------------------------------------- the bridge


@pytest.mark.parametrize("design", ["balanced", "curated", "tiers", "hebbian"])
def test_what_others_noted_since_its_last_turn_reaches_an_agent(design: str) -> None:
    with (
        Memory(":memory:", project="atlas", embed="none", design=design) as memory,
        memory.session("s1", agent="a") as session,
    ):
        session.note("an old note of b", agent="b")
        session.turn("assistant", "I am a")
        session.note("a note of a")
        session.note("the queue of b is full", agent="b")
        memory.extract("error: the queue is drained at midnight", session="s1", agent="b")
        door(memory, "user").remember("the user wants it today", kind="note", scope="session/s1")
        shown = session.context("zeppelin", inject="core")
        bridge = shown.lanes["bridge"]
        assert bridge["spent"] > 0
        texts = {hit.text for hit in shown.items}
        told = {"the user wants it today", "the queue of b is full"}
        if memory.design.promotion.mode != "direct":  # which keeps findings in the project
            told.add("error: the queue is drained at midnight")
        assert told <= texts
        assert not {"an old note of b", "a note of a"} & texts
        session.turn("assistant", "I have seen it")
        assert session.context("zeppelin", inject="core").lanes["bridge"]["spent"] == 0


def test_the_bridge_ends_at_the_session_and_at_the_project(memory: Memory) -> None:
    there = ("*", "project/other")
    elsewhere = memory.through(replace(memory.access, home="project/other", reads=there, writes=there))
    elsewhere.remember("of another project", kind="note", scope="session/s1", agent="b")
    with memory.session("s1", agent="a") as session, memory.session("s2", agent="b") as other:
        other.note("of another session")
        assert not session.context("anything", inject="core").items
        assert "bridge" not in memory.context("anything", session="s1").lanes


# ---------------------------------------------------------------- keeping, erasing


def wait(clock: MovableClock, memory: Memory, days: int) -> None:
    """Time goes by while the store is in use, so that nobody takes it for a jump of the clock."""
    for _ in range(days // 5):
        clock.move(days=5)
        memory.remember(f"a tick at {clock()}", kind="reasoning")


@pytest.mark.covers("N1-12")
def test_what_came_in_is_kept_until_a_session_has_ended(first: Memory, other: Memory, clock: MovableClock) -> None:
    """Stored before anything is made of it, for whoever reads next; and never archived before it was read."""
    from memorist.upkeep.sessions import RetainSessions

    first.design = replace(BALANCED, upkeep=(RetainSessions(7),))
    first.remember([{"role": "user", "content": DECISION}], session="inbox")
    assert other.count({"session": "inbox", "kind": "turn"}) == 1
    wait(clock, first, 20)
    first.upkeep()
    assert first.count({"session": "inbox", "kind": "turn"}) == 1, "no session has read it"
    with first.session("inbox"):
        pass
    assert first.count({"session": "inbox", "kind": "decision"}) == 1
    wait(clock, first, 10)
    first.upkeep()
    assert first.count({"session": "inbox", "kind": "turn"}) == 0


@pytest.mark.covers("S2-4")
def test_old_conversations_are_archived_and_what_they_left_stays(first: Memory, clock: MovableClock) -> None:
    from memorist.upkeep.sessions import RetainSessions

    first.design = replace(BALANCED, upkeep=(RetainSessions(30),))
    with first.session("old") as session:
        talk(session, DECISION, "Good.")
        with session.fork("young"):
            pass
    with first.session("lone") as session:
        talk(session, "one", "two")
    open_still = first.session("open")
    open_still.turn("user", "hello")
    wait(clock, first, 20)
    with first.session("young") as session:
        session.turn("user", "still here")
    wait(clock, first, 15)
    first.upkeep()
    assert first.count({"session": "lone", "kind": "turn"}) == 0
    archived = first.list({"session": "lone", "kind": "turn", "state": "archived"})
    assert [r.reason for r in archived] == ["expired: its session ended more than 30 days ago"] * 4
    assert first.count({"session": "old", "kind": "turn"}) == 4  # a younger one was forked from it
    assert first.count({"kind": "summary"}) > 0 and first.count({"session": "open", "kind": "turn"}) == 1
    wait(clock, first, 60)
    first.upkeep()
    assert first.count({"session": "old", "kind": "turn"}) == first.count({"session": "young", "kind": "turn"}) == 0


@pytest.mark.covers("G1")
def test_an_erased_conversation_leaves_nothing_behind(path: Path, clock: MovableClock) -> None:
    with Memory(path, project="atlas", clock=clock, embed="none") as memory:
        with memory.session("Xyzzyville", agent="a") as session:
            talk(session, "The Quuxotron is in the cellar", "I see.")
            session.note("The Quuxotron hums")
        assert memory.count({"kind": "summary"}) == 1
        turn = memory.list({"session": "Xyzzyville", "kind": "turn"})[0]
        plan = memory.erase(turn.id, dry_run=True)
        assert memory.sessions()[0].data["summary"] in {each.id for each in plan.changed}
        memory.erase(where={"session": "Xyzzyville", "state": {"$in": ["active", "archived"]}})
        assert memory.audit().ok
    files = b"".join(file.read_bytes() for file in path.parent.iterdir() if file.name.startswith(path.name))
    assert b"quuxotron" not in files.lower()
