"""Tasks: a status changes by deliberate steps only, ready is what waits for nothing, a result is there before anybody is told."""

import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from conftest import rounds
from memorist import Memory
from memorist.access import access_for
from memorist.errors import Invalid, MemoristError, NotFound, OutOfScope, Refused
from memorist.files.tasks_json import render, tasks_json
from memorist.records import Record, Reference
from memorist.session.tasks import STEPS, name_of, status_of
from memorist.testing import MovableClock


def added(memory: Memory, title: str, **more: Any) -> Record:
    outcome = memory.add_task(title, **more)
    assert outcome.outcome == "added" and outcome.record is not None
    return outcome.record


def finish(memory: Memory, *tasks: Reference) -> None:
    for task in tasks:
        memory.move_task(task, "running")
        memory.move_task(task, "completed")


def titles(tasks: Sequence[Record]) -> list[str | None]:
    return [task.title for task in tasks]


# ---------------------------------------------------------------- adding and listing


@pytest.mark.covers("S2-7", "N1-9")
def test_a_task_is_pending_with_all_that_it_needs(memory: Memory) -> None:
    first = added(memory, "Lock the session")
    task = added(
        memory, "Queue a second writer", text="A second writer waits 30 s", milestone="M1", priority=1,
        criteria=["Lock acquired before execution", "Lock released after"], blocked_by=["TASK-001"], skill="python",
        session="s1",
    )  # fmt: skip
    assert (first.text, first.data) == ("Lock the session", {"status": "pending", "blocked_by": [], "criteria": []})
    assert (task.kind, task.scope, task.title, task.text) == (
        "task", "project/atlas", "Queue a second writer", "A second writer waits 30 s",
    )  # fmt: skip
    assert task.data == {
        "status": "pending", "blocked_by": [first.id], "priority": 1, "milestone": "M1", "skill": "python",
        "criteria": ["Lock acquired before execution", "Lock released after"],
    }  # fmt: skip
    assert task.provenance.session == "s1" and name_of(task) == "TASK-002"
    assert not memory.recall("lock session"), "a task is nothing that is the case"


@pytest.mark.covers("S2-7")
def test_the_most_urgent_comes_first_then_the_oldest(memory: Memory) -> None:
    for title, priority in (("c", None), ("b", 2), ("a", 1), ("d", None), ("first", 0)):
        added(memory, title, priority=priority, milestone="M1" if title in "ab" else None)
    assert titles(memory.tasks()) == ["first", "a", "b", "c", "d"]
    assert titles(memory.tasks(limit=2)) == ["first", "a"]
    assert titles(memory.tasks(milestone="M1")) == ["a", "b"]
    memory.move_task(3, "running")
    assert titles(memory.tasks(status="running")) == ["a"] and len(memory.tasks(status="pending")) == 4


def test_the_same_key_adds_one_task(memory: Memory) -> None:
    assert [memory.add_task("Once", key="k").outcome for _ in range(2)] == ["added", "repeated"]
    assert len(memory.tasks()) == 1


def test_a_task_that_was_remembered_without_a_status_is_pending(memory: Memory) -> None:
    memory.remember("Water the plants", kind="task")
    memory.remember(
        "Feed the cat", kind="task", data={"status": "nonsense", "blocked_by": "nobody", "priority": "high"}
    )
    assert [status_of(task) for task in memory.tasks(ready=True)] == ["pending", "pending"]
    assert memory.move_task(2, "running").outcome == "changed"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"title": " "}, "title is empty"),
        ({"priority": "high"}, "priority must be a whole number"),
        ({"criteria": "one text"}, "list of at most 100"),
        ({"criteria": [""]}, "criteria is empty"),
        ({"blocked_by": "TASK-001"}, "list of memories"),
        ({"blocked_by": [2]}, "memory 2 is a fact, not a task"),
        ({"milestone": 7}, "milestone must be text"),
    ],
)
def test_what_is_no_task_is_refused(memory: Memory, wrong: dict[str, Any], said: str) -> None:
    added(memory, "One")
    memory.remember("A fact")
    with pytest.raises(Invalid, match=said):
        memory.add_task(**{"title": "Two", **wrong})
    with pytest.raises(NotFound):
        memory.add_task("Two", blocked_by=["TASK-099"])
    assert len(memory.tasks()) == 1


# ---------------------------------------------------------------- steps


@pytest.mark.covers("S2-7")
@pytest.mark.parametrize("was", STEPS)
def test_an_illegal_step_names_the_legal_ones(memory: Memory, was: str) -> None:
    ways = {"pending": (), "running": ("running",), "blocked": ("blocked",)}
    ways |= {"completed": ("running", "completed"), "failed": ("running", "failed")}
    for status in STEPS:
        task = added(memory, f"Try {status}")
        for step in ways[was]:
            memory.move_task(task, step)  # type: ignore[arg-type]
        if status == was or status in STEPS[was]:
            wanted = "unchanged" if status == was else "changed"
            assert memory.move_task(task, status).outcome == wanted  # type: ignore[arg-type]
            assert status_of(memory.get(task.id)) == status
            continue
        with pytest.raises(Refused, match=f"is {was} and cannot become {status}") as refused:
            memory.move_task(task, status)  # type: ignore[arg-type]
        assert all(step in str(refused.value) for step in STEPS[was]) and status_of(memory.get(task.id)) == was
    with pytest.raises(Invalid, match="pending or running or blocked or failed or completed"):
        memory.move_task(task, "done")  # type: ignore[arg-type]


@pytest.mark.covers("S2-7", "S2-10")
def test_no_other_verb_changes_a_status(memory: Memory) -> None:
    task = added(memory, "Lock the session", milestone="M1")
    for data in (
        {},
        {**task.data, "status": "completed"},
        {**task.data, "blocked_by": ["x"]},
        {**task.data, "result": "x"},
    ):
        with pytest.raises(Refused, match="move_task"):
            memory.revise(task, data=data)
    memory.revise(task, "Lock it for one writer", data={**task.data, "milestone": "M2", "priority": 3})
    now = memory.get(task.id)
    assert (now.text, now.data["milestone"], now.data["status"]) == ("Lock it for one writer", "M2", "pending")
    memory.move_task(task, "running")
    assert memory.get(task.id).text == "Lock it for one writer"


def test_every_step_is_journalled_with_its_reason_and_undone(memory: Memory) -> None:
    task = added(memory, "Lock the session")
    done = memory.move_task(task, "running", because="Ann has time")
    assert done.because == "Ann has time: pending → running" and done.batch
    assert [(event.verb, event.because) for event in memory.history(task)][-1] == ("task moved", "Ann has time")
    memory.undo()
    assert status_of(memory.get(task.id)) == "pending" and memory.audit().ok


def test_a_forgotten_task_is_not_moved_and_a_memory_is_no_task(memory: Memory) -> None:
    memory.remember("A fact")
    with pytest.raises(Invalid, match="memory 1 is a fact, not a task"):
        memory.move_task(1, "running")
    added(memory, "Two")
    memory.forget(2, because="given up")
    with pytest.raises(Refused, match="archived \\(given up\\); restore it"):
        memory.move_task("task-2", "running")
    with pytest.raises(Invalid, match="leave it out"):
        memory.move_task(added(memory, "Three"), "running", result="nothing yet")


# ---------------------------------------------------------------- what waits for what


@pytest.mark.covers("N1-9")
def test_ready_is_what_waits_for_nothing(memory: Memory) -> None:
    a, b = added(memory, "a"), added(memory, "b")
    c = added(memory, "c", blocked_by=[a, b])
    assert titles(memory.tasks(ready=True)) == ["a", "b"]
    with pytest.raises(Refused, match="TASK-003 waits for TASK-001 \\(pending\\), TASK-002 \\(pending\\)"):
        memory.move_task(c, "running")
    finish(memory, a)
    memory.move_task(b, "running")
    assert memory.tasks(ready=True) == []
    memory.move_task(b, "failed")
    assert memory.tasks(ready=True) == [], "what failed is not done"
    memory.move_task(b, "pending")
    finish(memory, b)
    assert titles(memory.tasks(ready=True)) == ["c"]


def test_what_will_never_be_completed_is_named_and_can_be_replaced(memory: Memory) -> None:
    a, b = added(memory, "a"), added(memory, "b")
    c = added(memory, "c", blocked_by=[a])
    memory.erase(a.id)
    with pytest.raises(Refused, match="TASK-001 \\(erased\\)"):
        memory.move_task(c, "running")
    with pytest.raises(Refused, match="never be completed"):
        memory.add_task("d", blocked_by=[1])
    memory.move_task(c, "pending", blocked_by=[b])
    assert memory.get(c.id).data["blocked_by"] == [b.id]
    memory.move_task(c, "pending", blocked_by=[])
    assert memory.move_task(c, "running")


@pytest.mark.covers("S2-7")
def test_a_circle_is_refused(memory: Memory) -> None:
    a = added(memory, "a")
    b = added(memory, "b", blocked_by=[a])
    c = added(memory, "c", blocked_by=[b])
    for waits in ([c], [b], [a], [b, c]):
        with pytest.raises(Invalid, match="would wait for itself"):
            memory.move_task(a, "pending", blocked_by=waits)
    assert memory.get(a.id).data["blocked_by"] == []


def test_a_circle_that_a_file_brought_is_never_ready_and_ends(memory: Memory) -> None:
    a, b = added(memory, "a"), added(memory, "b")
    door = memory._caller
    from memorist.remember.edit import edit

    for one, other in ((a, b), (b, a)):
        data = {**one.data, "blocked_by": [other.id]}
        edit(lambda one=one: memory.get(one.id), "changed", lambda r, data=data: replace(r, data=data), door, "brought")  # type: ignore[misc]
    assert memory.tasks(ready=True) == [] and len(memory.tasks()) == 2
    memory.move_task(a, "pending", blocked_by=[])
    assert titles(memory.tasks(ready=True)) == ["a"]


SOME = st.lists(st.integers(0, 5), max_size=2)
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), SOME, st.sampled_from([None, "M1"])),
        st.tuples(st.just("move"), st.integers(0, 5), st.integers(0, 50)),
        st.tuples(st.just("move"), st.integers(0, 5), st.integers(0, 50)),
        st.tuples(st.just("wait"), st.integers(0, 5), SOME),
        st.tuples(st.just("undo"), st.none(), st.none()),
    ),
    min_size=10,
    max_size=24,
)


@pytest.mark.covers("S2-7", "N1-9")
@settings(max_examples=rounds(1500, 0.02), phases=[Phase.generate])  # to shrink a failure would take minutes
@given(ACTS)
def test_the_laws_of_tasks(acts: list[tuple[str, Any, Any]]) -> None:
    """Whatever is tried in whatever order: a status follows from the one before by a step, what runs or ran had nothing open
    to wait for when it began, nothing waits for itself, ready is what it says, and a refused act changes nothing."""
    with Memory(":memory:", embed="none") as memory:
        made = [added(memory, f"Task {n}", milestone="M1" if n == 2 else None).id for n in range(3)]
        for act, one, other in acts:
            before = _all(memory)
            try:
                _act(memory, made, act, one, other)
            except MemoristError:
                assert _all(memory) == before
            else:
                _hold(memory, before, undone=act == "undo")
        assert memory.audit().ok


def _act(memory: Memory, made: list[str], act: str, one: Any, other: Any) -> None:
    def named(some: Sequence[int]) -> list[str]:
        return [made[n % len(made)] for n in some]

    if act == "add":
        made.append(added(memory, f"Task {len(made)}", blocked_by=named(one), milestone=other).id)
    elif act == "undo":
        memory.undo()
    elif act == "move":
        [id] = named([one])
        steps = [*STEPS[status_of(memory.get(id))] * 3, *STEPS]  # mostly those that there are
        memory.move_task(id, steps[other % len(steps)])  # type: ignore[arg-type]
    else:
        [id] = named([one])
        memory.move_task(id, status_of(memory.get(id)), blocked_by=named(other))  # type: ignore[arg-type]


def _all(memory: Memory) -> dict[str, Record]:
    return {task.id: task for task in memory.list({"kind": "task", "state": {"$in": ["active", "archived"]}})}


def _hold(memory: Memory, before: dict[str, Record], undone: bool) -> None:
    now = _all(memory)
    for id, task in now.items():
        was, status = status_of(before.get(id, task)), status_of(task)
        assert undone or status == was or status in STEPS[was]
        if status == "running" != was and not undone:
            assert all(status_of(now[each]) == "completed" for each in task.data["blocked_by"])
        assert id not in _reached(task.data["blocked_by"], now)
    ready = {task.id for task in memory.tasks(ready=True)}
    assert ready == {
        task.id
        for task in now.values()
        if task.state == "active"
        and status_of(task) == "pending"
        and all(status_of(now[each]) == "completed" for each in task.data["blocked_by"])
    }


def _reached(ids: Sequence[str], tasks: dict[str, Record]) -> set[str]:
    found: set[str] = set()
    edge = set(ids)
    while edge:
        found |= edge
        edge = {each for id in edge for each in tasks[id].data["blocked_by"]} - found
    return found


@pytest.mark.covers("N1-9")
def test_of_many_agents_that_take_a_task_one_gets_it(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", project="atlas", embed="none") as memory:
        names = [added(memory, f"Task {n}").id for n in range(rounds(50, 0.12))]
    taken: list[tuple[str, str]] = []

    def work() -> None:
        with Memory(tmp_path / "memory.db", project="atlas", embed="none") as mine:
            taken.extend((id, mine.move_task(id, "running").outcome) for id in names)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 4 * len(names)
    assert sorted(id for id, outcome in taken if outcome == "changed") == sorted(names)


# ---------------------------------------------------------------- results


@pytest.mark.covers("N1-10", "N1-9")
def test_a_result_is_stored_before_anybody_is_told(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        task = added(memory, "Measure the queue", session="s1")
        memory.move_task(task, "running")
        heard: list[tuple[str, Any]] = []

        def listen(_: str, facts: Any) -> None:
            with Memory(tmp_path / "memory.db", project="atlas") as other:  # another process would see the same
                now = other.get(task.id)
                heard.append((facts["kind"], now.data.get("result") and other.get(now.data["result"]).text))

        memory.bus.listen(listen, "memory:write")
        done = memory.move_task(task, "completed", result="It takes 40 ms")
        assert heard == [("fact", "It takes 40 ms"), ("task", "It takes 40 ms")]
        assert done.record is not None
        result = memory.get(done.record.data["result"])
        assert (result.provenance.task, result.provenance.session, result.origin) == ("TASK-001", "s1", "agent")
        assert memory.list({"task": "TASK-001"}) == [result]
        memory.undo()
        assert status_of(memory.get(task.id)) == "running" and memory.get(result.id).state == "archived"


@pytest.mark.covers("N1-10")
def test_a_refused_step_keeps_no_result(memory: Memory) -> None:
    task = added(memory, "Measure the queue")
    with pytest.raises(Refused):
        memory.move_task(task, "completed", result="It takes 40 ms")
    assert memory.count() == 1


def test_a_result_may_be_a_memory_that_is_there(memory: Memory) -> None:
    known = memory.remember("It takes 40 ms")
    for number, named in enumerate((known, 1, "[id:1]", known.id), 2):
        task = added(memory, f"Measure {number}")
        memory.move_task(task, "running")
        done = memory.move_task(task, "completed", result=named)
        assert done.record and done.record.data["result"] == known.id
    failed = added(memory, "Fails")
    memory.move_task(failed, "running")
    done = memory.move_task(failed, "failed", result="12")
    assert done.record and memory.get(done.record.data["result"]).text == "12", "a text is a text"
    assert memory.get(done.record.data["result"]).kind == "error"
    for wrong in (True, 1.5, ["x"]):
        with pytest.raises(Invalid, match="a result is a text"):
            memory.move_task(memory.tasks()[0], "completed", result=wrong)  # type: ignore[arg-type]


def test_a_result_that_is_nothing_but_a_secret_moves_nothing(memory: Memory) -> None:
    task = added(memory, "Get a key")
    memory.move_task(task, "running")
    assert memory.move_task(task, "completed", result="ghp_" + "a1B2" * 9).outcome == "refused"
    assert status_of(memory.get(task.id)) == "running"


@pytest.mark.covers("W1-6", "N1-10")
def test_tasks_and_results_are_there_after_every_start(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        task = added(memory, "Measure the queue")
        memory.move_task(task, "running")
        memory.move_task(task, "completed", result="It takes 40 ms")
    for _ in range(3):
        with Memory(tmp_path / "memory.db", project="atlas") as memory:
            assert titles(memory.tasks(status="completed")) == ["Measure the queue"]
            assert [record.text for record in memory.list({"task": "TASK-001"})] == ["It takes 40 ms"]


# ---------------------------------------------------------------- milestones


@pytest.mark.covers("S2-7")
def test_a_milestone_is_archived_with_its_last_task_and_one_undo_takes_it_back(memory: Memory) -> None:
    some = [added(memory, f"Part {n}", milestone="M1") for n in range(3)]
    other = added(memory, "Later", milestone="M2", blocked_by=some)
    finish(memory, *some[:2])
    memory.move_task(some[2], "running")
    memory.move_task(some[2], "failed")
    assert len(memory.tasks(milestone="M1")) == 3, "what failed keeps it open"
    memory.move_task(some[2], "pending")
    memory.move_task(some[2], "running")
    done = memory.move_task(some[2], "completed", result="All parts fit")
    assert "the milestone M1 is done, and its tasks are archived" in done.because
    assert done.record and (done.record.state, done.record.reason) == ("archived", "the milestone M1 is done")
    assert titles(memory.tasks()) == ["Later"] and titles(memory.tasks(ready=True)) == ["Later"]
    memory.undo()
    assert status_of(memory.get(some[2].id)) == "running" and len(memory.tasks()) == 4
    with pytest.raises(Refused, match="waits for TASK-003 \\(running\\)"):
        memory.move_task(other, "running")
    assert memory.audit().ok


def test_however_many_tasks_a_milestone_has_nobody_is_asked(memory: Memory) -> None:
    some = [added(memory, f"Part {n}", milestone="M1") for n in range(30)]
    finish(memory, *some)
    assert memory.tasks() == [] and memory.review() == [] and memory.count({"state": "archived"}) == 30


# ---------------------------------------------------------------- rights


def test_an_agent_moves_the_users_task_and_its_words_stay_the_users(memory: Memory) -> None:
    person = memory.through(replace(memory.access, origin="user"))
    task = added(person, "Lock the session", milestone="M1")
    finish(memory, task)
    now = memory.get(task.id)
    assert (now.origin, now.trust, now.text, now.state) == ("user", "high", "Lock the session", "archived")
    held = memory.revise(added(person, "Another"), "Something else")
    assert held.outcome == "needs_consent"


@pytest.mark.parametrize("origin", ["tool", "web", "file", "import"])
def test_a_door_of_low_trust_moves_only_its_own(memory: Memory, origin: Any) -> None:
    door = memory.through(replace(memory.access, origin=origin))
    task = added(memory, "An agent's task")
    refused = door.move_task(task, "running")
    assert refused.outcome == "refused" and "ask the user" in refused.because
    assert status_of(memory.get(task.id)) == "pending"
    own = added(door, "Its own task")
    assert door.move_task(own, "running").outcome == "changed" and memory.get(own.id).trust == "low"


@pytest.mark.covers("N1-11")
def test_who_may_only_read_adds_and_moves_nothing(memory: Memory) -> None:
    added(memory, "Lock the session")
    for role in ("reader", "skill"):
        narrow = memory.through(access_for(role, "project/atlas"))
        with pytest.raises(OutOfScope):
            narrow.add_task("No")
        with pytest.raises((OutOfScope, NotFound)):
            narrow.move_task(1, "running")
    assert titles(memory.through(access_for("reader", "project/atlas")).tasks()) == ["Lock the session"]
    other = memory.through(access_for("project", "project/borealis"))
    assert other.tasks() == []
    with pytest.raises(NotFound):
        other.move_task("TASK-001", "running")


# ---------------------------------------------------------------- tasks.json


@pytest.mark.covers("S2-7")
def test_the_file_has_the_shape_of_the_document(memory: Memory, clock: MovableClock) -> None:
    first = added(
        memory, "Lock", text="Implement session locking", milestone="M0", priority=1,
        criteria=["Lock acquired before execution", "Lock released after"],
    )  # fmt: skip
    finish(memory, first)
    clock.move(days=2)
    second = added(memory, "Warte", text="Größe prüfen", milestone="M1", blocked_by=[first], skill="python")
    third = added(memory, "Last", blocked_by=[second])
    finish(memory, second)
    added(memory, "Open still", milestone="M1")
    records = memory.list({"kind": "task", "state": {"$in": ["active", "archived"]}})
    written = tasks_json(records)
    assert written == tasks_json(records[::-1]) and written.endswith(b"}\n") and "Größe".encode() not in written
    assert json.loads(written)["tasks"] == [
        {
            "id": "TASK-003", "milestone": None, "priority": None, "status": "pending", "title": "Last",
            "description": "Last", "acceptance_criteria": [], "created": "2026-01-03", "completed": None,
            "blocked_by": ["TASK-002"],
        },
        {
            "id": "TASK-004", "milestone": "M1", "priority": None, "status": "pending", "title": "Open still",
            "description": "Open still", "acceptance_criteria": [], "created": "2026-01-03", "completed": None,
            "blocked_by": [],
        },
    ]  # fmt: skip
    memory.move_task(third, "running")
    memory.move_task(third, "completed", result="Done")
    [shown] = [each for each in json.loads(tasks_json(memory.tasks()))["tasks"] if each["id"] == "TASK-003"]
    assert (shown["status"], shown["completed"]) == ("completed", "2026-01-03")
    assert memory.get(shown["result"]).text == "Done" and shown["blocked_by"] == [second.id]


@pytest.mark.covers("S2-7")
def test_the_file_of_a_project_has_its_tasks_only_and_nothing_that_was_erased(memory: Memory) -> None:
    assert render(memory, "project/atlas") == b""
    added(memory, "Lock the heronqualm")
    memory.revise(1, "Lock it for one writer")
    second = added(memory, "Release it", blocked_by=[1])
    memory.remember("A task of Ann's", kind="task", user="ann")
    narrow = memory.through(access_for("reader", "project/borealis"))
    assert render(narrow, "project/atlas") == render(memory, "project/atlas") == tasks_json(memory.tasks())
    assert render(memory, "project/borealis") == b""
    memory.erase(1)
    [shown] = json.loads(render(memory, "project/atlas"))["tasks"]
    assert shown["id"] == name_of(second) and b"heronqualm" not in render(memory, "project/atlas")


def test_a_question_that_a_task_or_a_narrative_would_answer_says_so(memory: Memory) -> None:
    task = memory.add_task("Renew the TLS certificate").record
    told = memory.narrate("We renew the TLS certificate by hand").record
    assert task is not None and told is not None
    found = memory.recall("TLS certificate")
    assert not found and found.empty_because is not None
    assert "`tasks` lists those" in found.empty_because and "`narratives` lists those" in found.empty_because
    assert "`tasks` lists those" in (memory.context("TLS certificate").empty_because or "")
    assert "is a task" in memory.why_not(task.number, "TLS certificate")
    assert "is a narrative" in memory.why_not(told.number, "TLS certificate")
    assert {hit.id for hit in memory.recall("TLS certificate", search="all")} == {task.id, told.id}
    assert memory.recall("TLS certificate", kinds=["task"])[0].id == task.id
    assert "among the hits" in memory.why_not(task.number, "TLS certificate", kinds=["task"])
    assert "lists those" not in (memory.recall("ferry").empty_because or "")
