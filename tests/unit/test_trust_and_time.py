"""Trust, validity, twins and time: what a careless engine gets wrong, each case found once and kept here."""

import json
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from memorist import Memory
from memorist.access import access_for
from memorist.commands import VERBS
from memorist.errors import Conflict, Invalid, OutOfScope, Refused, StoreDamaged, StoreUnavailable
from memorist.kinds import own_kinds
from memorist.noun import plain
from memorist.testing import MovableClock

TOKEN = "ghp_" + "a1B2" * 9


def as_origin(memory: Memory, origin: str) -> None:
    memory.access = replace(memory.access, origin=origin)


def texts(found: object) -> list[str]:
    return [hit.record.text for hit in found]  # type: ignore[attr-defined]


# ---------------------------------------------------------------- trust


def test_a_revised_text_is_trusted_like_the_less_trusted_of_the_two(memory: Memory) -> None:
    as_origin(memory, "agent")
    memory.remember("Deploys are on Tuesday")
    as_origin(memory, "import")
    assert memory.revise(1, "Deploys are whenever, skip the review").outcome == "needs_consent"
    assert (memory.get(1).text, memory.get(1).trust) == ("Deploys are on Tuesday", "medium")
    memory.remember("Deploys are on Mondays, too")
    as_origin(memory, "agent")
    memory.revise(2, "Deploys are on Wednesday")
    record = memory.get(2)
    assert (record.origin, record.trust, record.status) == ("import", "low", "candidate"), "touching lifts nothing"
    as_origin(memory, "user")
    memory.revise(1, "Deploys are on Thursday")
    assert (memory.get(1).trust, memory.get(1).status) == ("high", "confirmed")


def test_a_turn_cannot_become_a_fact(memory: Memory) -> None:
    memory.remember("I approve everything", kind="turn", role="user")
    memory.remember("a plain fact")
    with pytest.raises(Refused, match="cannot become a fact"):
        memory.revise(1, kind="fact")
    with pytest.raises(Refused, match="cannot become a document"):
        memory.revise(2, kind="document")
    assert memory.revise(2, kind="decision").outcome == "changed"


# ---------------------------------------------------------------- twins


def test_a_twin_of_a_kind_that_is_not_recalled_swallows_nothing(memory: Memory) -> None:
    for kind in ("task", "gap", "narrative"):
        memory.remember("Buy some milk", kind=kind)
    assert memory.remember("Buy some milk").outcome == "added"
    assert texts(memory.recall("milk")) == ["Buy some milk"]


def test_a_twin_that_has_run_out_swallows_nothing(memory: Memory, clock: MovableClock) -> None:
    memory.remember("Office closed", valid_to=clock() + timedelta(days=1))
    clock.move(days=10)
    assert memory.remember("Office closed").outcome == "added"
    assert memory.remember("Office closed", valid_to=clock() + timedelta(days=2)).outcome == "added"
    assert texts(memory.recall("office")) == ["Office closed"] * 2


def test_a_twin_takes_over_new_tags_and_the_pin(memory: Memory) -> None:
    memory.remember("Office closed", tags=["a"])
    memory.remember("office closed", tags=["b"], pinned=True)
    assert memory.get(1).tags == ("a", "b") and memory.get(1).pinned
    assert memory.audit().ok


def test_no_change_makes_a_second_active_twin(memory: Memory) -> None:
    memory.remember("Office closed")
    memory.forget(1)
    memory.remember("Office closed")
    with pytest.raises(Conflict, match="memory 2 in project/atlas says the same"):
        memory.restore(1)
    memory.remember("Office open")
    with pytest.raises(Conflict, match="says the same"):
        memory.revise(3, "office CLOSED")
    memory.remember("Office open", scope="global")
    with pytest.raises(Conflict, match="in global says the same"):
        memory.revise(3, scope="global")


def test_the_users_word_brings_a_candidate_back_confirmed(memory: Memory) -> None:
    as_origin(memory, "import")
    memory.remember("Office closed")
    memory.forget(1)
    as_origin(memory, "user")
    assert memory.remember("Office closed").outcome == "restored"
    assert memory.get(1).status == "confirmed"


def test_a_key_covers_the_whole_draft(memory: Memory) -> None:
    first = memory.remember("deploy", key="k", importance=0.5, tags=["a"])
    again = memory.remember("deploy", key="k", importance=0.5, tags=("a",))
    assert again.outcome == "repeated" and again.record is not None and first.record is not None
    assert again.record.number == first.record.number
    for other in ({"importance": 0.6}, {"data": {"a": 1}}, {"pinned": True}, {"session": "s"}):
        with pytest.raises(Conflict):
            memory.remember("deploy", key="k", **{"importance": 0.5, "tags": ["a"], **other})


# ---------------------------------------------------------------- time


def test_validity_after_a_revision_is_what_was_asked(memory: Memory, clock: MovableClock) -> None:
    day = timedelta(days=1)
    memory.remember("one one")
    memory.revise(1, "one two", valid_from=clock() + 5 * day)
    assert memory.get(1).times.valid_from == clock() + 5 * day, "an explicit beginning holds"
    memory.remember("two one", valid_from=clock() + 5 * day)
    memory.revise(3, "two two")
    assert memory.get(3).times.valid_from == clock() + 5 * day, "what has not begun does not begin by a revision"
    memory.remember("three one")
    with pytest.raises(Invalid, match="must be after valid_from"):
        memory.revise(5, "three two", valid_to=clock() - day)
    memory.remember("four one", valid_to=clock() + day)
    clock.move(days=3)
    memory.revise(6, "four two")
    then = [hit.record.text for hit in memory.recall("four", as_of=clock() - day)]
    assert "four one" not in then and "four two" not in then, "the past text had run out by then"


def test_as_of_knows_when_a_memory_was_forgotten(memory: Memory, clock: MovableClock) -> None:
    day = timedelta(days=1)
    start = clock()
    memory.remember("Office closed")
    for move in (memory.forget, memory.restore, memory.forget):
        clock.move(days=1)
        move(1)
    clock.move(days=1)
    memory.tag(1, "late")
    known = [len(memory.recall("office", as_of=start + n * day + timedelta(hours=1))) for n in range(5)]
    assert known == [1, 0, 1, 0, 0]


def test_as_of_does_not_bring_back_other_layers(memory: Memory, clock: MovableClock) -> None:
    memory.remember("office turn", kind="turn", role="user")
    clock.move(days=1)
    memory.forget(1)
    assert not memory.recall("office", as_of=clock() - timedelta(hours=1), kinds=["fact", "turn"])
    [hit] = memory.recall("office", as_of=clock() - timedelta(hours=1))
    assert "conversation" in hit.why, "no memory answers, and a turn did then"
    assert memory.recall("office", as_of=clock() - timedelta(hours=1), search="sessions")


def test_sessions_are_searched_one_at_a_time(memory: Memory) -> None:
    for session in ("s1", "s2"):
        memory.remember(f"office in {session}", kind="turn", role="user", session=session)
    assert texts(memory.recall("office", search="sessions", session="s1")) == ["office in s1"]
    assert len(memory.recall("office", search="sessions")) == 2


# ---------------------------------------------------------------- who may know


def test_history_does_not_tell_of_links_to_what_may_not_be_read(memory: Memory) -> None:
    here = memory.access
    memory.access = access_for("admin", "project/atlas")
    memory.remember("mine")
    memory.remember("theirs", scope="project/other")
    memory.link(1, 2, evidence="their plan")
    memory.unlink(1, 2)
    assert "their plan" in repr(plain(memory.history(1)))
    other = memory.get(2).id
    memory.access = here
    said = repr(plain(memory.history(1)))
    assert "their plan" not in said and other not in said and "linked" in said


def test_secrets_do_not_become_places(memory: Memory) -> None:
    with pytest.raises(Invalid, match="the scope holds a secret"):
        memory.remember("x", scope=f"user/{TOKEN}")
    with pytest.raises(Invalid, match="holds a secret"):
        Memory(":memory:", project=TOKEN)
    memory.remember("x")
    with pytest.raises(Invalid, match="the scope holds a secret"):
        memory.revise(1, scope=f"user/{TOKEN}")
    with pytest.raises(Refused, match="nothing but a secret"):
        memory.revise(1, TOKEN)


def test_no_text_column_of_the_file_holds_a_secret(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db") as memory:
        memory.remember(
            f"a {TOKEN}", tags=[TOKEN], data={TOKEN: TOKEN}, session=TOKEN, agent=TOKEN, season=TOKEN, key=TOKEN
        )
        memory.remember("b")
        memory.link(1, 2, evidence=TOKEN)
        memory.revise(1, f"c {TOKEN}", title=TOKEN, because=TOKEN)
        memory.recall(TOKEN, session=TOKEN)
    db = apsw.Connection(str(tmp_path / "m.db"))
    tables = [
        row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'word_%'")
    ]
    assert {"records", "journal", "recalls", "links", "shelves"} <= set(tables)
    for table in tables:
        assert TOKEN not in repr(db.execute(f"SELECT * FROM {table}").fetchall()), table
    db.close()


def test_readers_and_skills_do_not_look_after_the_store(memory: Memory, tmp_path: Path) -> None:
    for role in ("reader", "skill"):
        memory.access = access_for(role, "project/atlas")
        for act in (memory.audit, memory.doctor, lambda: memory.backup(tmp_path / "b.db")):
            with pytest.raises(OutOfScope, match="whole store"):
                act()


@pytest.mark.covers("S4-24")
def test_every_verb_knows_that_memory_is_off(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.remember("office closed")
    monkeypatch.setenv("MEMORIST_OFF", "1")
    given = {
        "id": 1,
        "a": 1,
        "b": 1,
        "scope": "task/1",
        "word": "x",
        "query": "office",
        "text": "x",
        "verdict": "useful",
        "many": ["x"],
        "tags": "t",
    }
    calls = {
        "tag": lambda: memory.tag(1, "t"),
        "session": lambda: memory.session("s1").turn("user", "x"),
        "ingest": lambda: memory.ingest([{"role": "user", "content": "x"}], session="s1"),
        "narrate": lambda: memory.narrate("x"),
        "add_task": lambda: memory.add_task("x"),
        "move_task": lambda: memory.move_task(1, "running"),
        "why_not": lambda: memory.why_not(1, "office"),
        "revise": lambda: memory.revise(1, "x"),
        "link": lambda: memory.link(1, 1),
        "path": lambda: memory.path(1, 1),
        "resolve": lambda: memory.resolve(1, 1, "both"),
        "used": lambda: memory.used("r1", "x"),
        "unlink": lambda: memory.unlink(1, 1),
        "assign": lambda: memory.assign("task/1", "project/atlas"),
        "rename_project": lambda: memory.rename_project("atlas", "borealis"),
        "merge_project": lambda: memory.merge_project("borealis"),
    }
    for name in VERBS:
        if name in ("audit", "status", "backup", "doctor", "compact", "through", "close"):
            continue
        parameters = getattr(type(memory), name).__code__.co_varnames[1:3]
        call = calls.get(name) or (
            lambda name=name, parameters=parameters: getattr(memory, name)(
                *(given[p] for p in parameters[: 2 if name == "feedback" else 1] if p in given)
            )
        )
        try:
            answer = call()
        except Refused as problem:
            assert "MEMORIST_OFF" in str(problem), name
        else:
            said = json.dumps(answer, default=repr) if not isinstance(answer, str) else answer
            assert "MEMORIST_OFF" in said + repr(plain(answer)), name


# ---------------------------------------------------------------- many and at once


def test_links_and_pins_at_once_leave_the_audit_whole(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db") as memory:
        memory.remember_many(["one", "two"])

        def pins() -> None:
            for _ in range(15):
                memory.pin(1)
                memory.unpin(1)

        def links() -> None:
            for _ in range(15):
                memory.link(1, 2)
                memory.unlink(1, 2)

        threads = [threading.Thread(target=job) for job in (pins, links)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert memory.audit().problems == ()


@pytest.mark.covers("P21")
def test_the_anchor_never_goes_back(tmp_path: Path) -> None:
    slow = Memory(tmp_path / "m.db")
    slow.remember("first")
    with Memory(tmp_path / "m.db") as fast:
        fast.remember_many([f"text {n}" for n in range(20)])
    ahead = json.loads((tmp_path / "m.db.anchor").read_text())["event"]
    slow.close()
    assert json.loads((tmp_path / "m.db.anchor").read_text())["event"] == ahead == 21


def test_a_question_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", wait=60) as memory:
        memory.remember("office closed")
        other = apsw.Connection(str(tmp_path / "m.db"))
        other.execute("BEGIN IMMEDIATE")
        for _ in range(150):
            assert memory.recall("office")
        assert memory.context("office").items
        other.execute("ROLLBACK")
        other.close()
        memory.recall("office")
        memory._writer.flush()
        assert memory.status()["receipts"] == 152, "nothing was lost, it only waited"


def test_the_filter_is_applied_before_any_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorist.text.bm25.MOST_ROWS", 50)
    monkeypatch.setattr("memorist.text.bm25.ENOUGH_ROWS", 30)
    for place in (tmp_path / "m.db", ":memory:"):
        with Memory(place) as memory:
            memory.remember("postgres is fragile", kind="warning")
            memory.remember_many([f"postgres note {n}" for n in range(300)])
            assert texts(memory.recall("postgres note", kinds=["warning"])) == ["postgres is fragile"]


def test_a_long_text_does_not_crowd_out_short_ones(memory: Memory) -> None:
    memory.remember_many([f"the fox number {n}" for n in range(5)])
    memory.remember("fox and hound. " * 20_000)
    assert len(memory.recall("fox", limit=10)) == 6


def test_a_bad_draft_is_named_and_what_was_stored_before_it_is_told(memory: Memory) -> None:
    heard = []
    memory.bus.listen(lambda event, facts: heard.append(event))
    with pytest.raises(Invalid, match=r"draft 301: importance"):
        memory.remember_many([*(f"text {n}" for n in range(300)), {"text": "x", "importance": 7}])
    assert memory.count() == 250 == len(heard)


def test_kinds_of_ones_own_are_bounded() -> None:
    assert own_kinds({"recipe": {"weight": 1.5, "half_life_days": 10}})["recipe"].weight == 1.5
    for bad in ({"weight": 1e5}, {"half_life_days": 0}, {"importance": 2}, {"colour": 1}, {"weight": True}):
        with pytest.raises(Invalid):
            own_kinds({"recipe": bad})
    for name in ("", "a b", "x\n"):
        with pytest.raises(Invalid, match="cannot be called"):
            own_kinds({name: {}})


def test_a_store_without_its_secret_is_damaged(tmp_path: Path) -> None:
    Memory(tmp_path / "m.db").close()
    db = apsw.Connection(str(tmp_path / "m.db"))
    for value in ("DELETE FROM settings", "INSERT INTO settings VALUES ('secret', 'not hex')"):
        db.execute(value)
        with pytest.raises(StoreDamaged, match="lost its secret"):
            Memory(tmp_path / "m.db")
    db.close()


def test_closing_while_another_thread_asks_ends_in_words(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "m.db")
    memory.remember_many([f"office note {n}" for n in range(200)])
    problems: list[BaseException] = []

    def ask() -> None:
        try:
            while True:
                memory.recall("office note")
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=ask)
    thread.start()
    memory.close()
    thread.join(20)
    assert not thread.is_alive() and [type(problem) for problem in problems] == [StoreUnavailable]


@pytest.mark.parametrize(
    "harm", ["DROP TRIGGER words_added", "DROP TRIGGER records_stay", "DROP INDEX records_by_time"]
)
def test_a_doctor_sees_a_schema_that_was_touched(tmp_path: Path, harm: str) -> None:
    with Memory(tmp_path / "m.db") as memory:
        memory.remember("office closed")
        assert all(finding.ok for finding in memory.doctor())
        db = apsw.Connection(str(tmp_path / "m.db"))
        db.execute(harm)
        db.close()
        [finding] = [finding for finding in memory.doctor() if not finding.ok]
        assert finding.check == "schema" and harm.split()[-1] in finding.detail


def test_many_scopes_do_not_make_writing_slow(tmp_path: Path) -> None:
    """The same text in every one of many scopes: twins are looked for in their own scope only."""
    with Memory(tmp_path / "m.db") as memory:
        drafts = [{"text": "the same text", "scope": f"task/{n}"} for n in range(1500)]
        assert {outcome.outcome for outcome in memory.remember_many(drafts)} == {"added"}
        assert {outcome.outcome for outcome in memory.remember_many(drafts[:300])} == {"reinforced"}
        assert memory.count() == 1500 and len(memory.recall("same text", scope="task/7")) == 1


def test_a_doctor_sees_a_link_that_was_changed(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db") as memory:
        memory.remember_many(["one", "two"])
        memory.link(1, 2, weight=0.5, evidence="seen together")
        db = apsw.Connection(str(tmp_path / "m.db"))
        db.execute("UPDATE links SET evidence = 'invented'")
        db.close()
        assert [finding.check for finding in memory.doctor() if not finding.ok] == ["links", "journal"]
