"""Undo: whatever was done, taking it back gives the state that was there before; what cannot be taken back says so."""

import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import TORTURE
from memorist import Memory
from memorist.access import Access, access_for
from memorist.errors import Conflict, MemoristError, NotFound, Refused
from memorist.files.transfer import export, import_files
from memorist.records import Draft
from memorist.remember.undo import _Undo
from memorist.testing import MovableClock

pytestmark = pytest.mark.usefixtures("without_reader")
WORDS = "amber birch cedar delta ember fjord grove harbour".split()
LIVING = {"state": {"$in": ["active", "superseded"]}}


def state(memory: Memory) -> list[object]:
    """What a user sees: every record that is not archived with its votes, and the links. Versions and times go on."""
    records = memory.list(LIVING, order="-number", limit=1000)
    plain = [
        replace(record, version=0, times=replace(record.times, updated=record.times.created), counters=record.counters)
        for record in records
    ]
    return [*plain, [memory.links(record.id) for record in records]]


def act(memory: Memory, chance: random.Random) -> str | None:
    """One random verb; its batch, or None where nothing happened."""
    count = memory.count(LIVING)
    number = chance.randint(1, max(1, count))
    text = " ".join(chance.choices(WORDS, k=4))
    verbs: list[Callable[[], object]] = [
        lambda: memory.remember(text, tags=chance.sample(WORDS, 2), pinned=chance.random() < 0.2),
        lambda: memory.remember(text, kind="decision", scope="global"),
        lambda: memory.remember_many([f"{text} {n}" for n in range(3)])[0],
        lambda: memory.revise(number, text),
        lambda: memory.revise(number, text, title=text, importance=0.3),
        lambda: memory.revise(number, scope=chance.choice(("global", "project/atlas", "user/ann"))),
        lambda: memory.forget(number),
        lambda: memory.restore(number),
        lambda: memory.forget(where={"tags": [chance.choice(WORDS)]}),
        lambda: memory.tag(number, chance.choice(WORDS), remove=[chance.choice(WORDS)]),
        lambda: memory.pin(number),
        lambda: memory.feedback(number, chance.choice(("useful", "wrong", "irrelevant"))),
        lambda: memory.link(number, chance.randint(1, max(1, count)), weight=chance.choice((0.5, 1.0)), evidence=text),
        lambda: memory.unlink(number, chance.randint(1, max(1, count))),
    ]
    try:
        done = chance.choice(verbs)()
    except MemoristError:
        return None
    batch = getattr(done, "batch", None)
    return batch if getattr(done, "outcome", "") not in ("unchanged", "repeated") else None


@pytest.mark.covers("S1-13", "X18")
@settings(
    max_examples=400 if TORTURE else 15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32))
def test_undoing_everything_newest_first_walks_back_through_every_state(seed: int) -> None:
    chance, clock = random.Random(seed), MovableClock()
    with (
        tempfile.TemporaryDirectory(prefix="memorist-") as folder,
        Memory((":memory:", f"{folder}/m.db", f"{folder}/m.json")[seed % 3], project="atlas", clock=clock) as memory,
    ):
        past: list[list[object]] = []
        for _ in range(12):
            clock.move(minutes=1)
            before = state(memory)
            if act(memory, chance):
                past.append(before)
        while past:
            clock.move(minutes=1)
            memory.undo()
            assert state(memory) == past.pop()
        with pytest.raises(NotFound):
            memory.undo()
        assert memory.audit().ok
        assert all(finding.ok for finding in memory.doctor())


def test_a_text_taken_back_is_not_found_any_more_and_the_old_one_is(memory: Memory) -> None:
    memory.remember("Staging runs Postgres")
    memory.revise(1, "Staging runs MySQL")
    memory.undo()
    assert not memory.recall("mysql")
    assert [hit.record.number for hit in memory.recall("postgres")] == [1]
    assert not memory.recall("mysql", search="archive")


def test_what_was_changed_again_is_left_alone_and_named(memory: Memory) -> None:
    added = memory.remember_many(["Alpha lies north", "Beta lies south"])
    memory.pin(2)
    report = memory.undo(added[0].batch)
    assert [each.number for each in report.changed] == [1]
    assert "changed again by" in report.left[str(added[1].id)]
    assert memory.get(2).state == "active"
    with pytest.raises(Conflict, match="changed again by"):
        memory.undo(added[0].batch)


def test_votes_and_the_time_of_use_come_back(memory: Memory, clock: MovableClock) -> None:
    memory.remember("Alpha lies north")
    memory.feedback(1, "useful")
    before = memory.get(1)
    clock.move(days=3)
    memory.feedback(1, "useful")
    memory.undo()
    assert memory.get(1) == before


def test_only_the_actors_own_last_action_is_taken_back(memory: Memory) -> None:
    memory.remember("Alpha lies north")
    other = memory.through(replace(memory.access, actor="bob"))
    other.remember("Beta lies south")
    memory.undo()
    assert [record.text for record in memory.list()] == ["Beta lies south"]
    with pytest.raises(NotFound, match="no action of yours"):
        memory.undo()


def test_nothing_of_another_project_is_taken_back(memory: Memory) -> None:
    elsewhere = memory.through(access_for("project", "project/other"))
    batch = elsewhere.remember("Gamma lies west", scope="project/other").batch
    with pytest.raises(NotFound, match="there is no batch"):
        memory.undo(batch)
    assert elsewhere.get(1).state == "active"


@pytest.mark.parametrize("name", ["b99", "x", "", "b", "b-1", "b" + "9" * 40, "'; DROP TABLE records; --"])
def test_an_unknown_batch_is_an_error(memory: Memory, name: str) -> None:
    memory.remember("Alpha lies north")
    with pytest.raises(NotFound, match="there is no batch"):
        memory.undo(name)


def test_an_erasure_cannot_be_undone(memory: Memory) -> None:
    batch = memory.remember("Alpha lies north").batch
    erased = memory.erase(1).batch
    for name in (None, batch, erased):
        with pytest.raises((Conflict, Refused), match="erased"):
            memory.undo(name)


def test_an_undo_writes_only_where_its_caller_may(memory: Memory) -> None:
    memory.remember("Alpha lies north", scope="user/ann")
    moved = memory.revise(1, scope="user/bob").batch
    narrow = memory.through(Access(reads=("user/bob",), writes=("user/bob",)))
    with pytest.raises(Conflict, match="may not write user/ann"):
        narrow.undo(moved)
    assert memory.get(1).scope == "user/bob"


def test_a_memory_and_its_past_text_are_brought_back_together_or_not_at_all(memory: Memory) -> None:
    memory.remember("Staging runs Postgres 15")
    memory.revise(1, "Staging runs Postgres 16")
    undone = memory.undo()
    memory.tag(1, "db")
    with pytest.raises(Conflict, match="changed again"):
        memory.undo(undone.batch)
    assert (memory.get(1).text, memory.get(2).state, memory.links(1)) == ("Staging runs Postgres 15", "archived", [])


def test_an_import_that_was_taken_back_can_be_made_again(memory: Memory, tmp_path: Path) -> None:
    with Memory(":memory:", project="atlas") as other:
        other.remember_many(
            ["Tea is green", "Bills go out in May", "The lift is slow", "Trains run late", "A lamp is broken"]
        )
        (tmp_path / "all.jsonl").write_text("".join(export(other)))
    first = import_files(memory, [tmp_path / "all.jsonl"])
    memory.undo(first.batch)
    memory.forget(where={"content": "nothing says this"})
    again = import_files(memory, [tmp_path / "all.jsonl"])
    assert (again.outcomes, memory.count()) == ({"restored": 5}, 5)
    memory.forget(where={"kind": "fact"})
    third = import_files(memory, [tmp_path / "all.jsonl"])
    assert third.reasons == {"it was forgotten here, and a file does not bring it back": 5}


def test_what_somebody_else_took_back_is_not_offered_again(memory: Memory) -> None:
    memory.remember("Alpha lies north")
    pinned = memory.pin(1).batch
    memory.through(replace(memory.access, actor="bob")).undo(pinned)
    memory.undo()
    assert memory.count() == 0


@pytest.mark.covers("E2")
@pytest.mark.parametrize("named", [True, False])
def test_a_large_batch_is_taken_back_in_parts_that_do_not_grow_with_it(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    """Of an import of a hundred thousand memories nothing is read at once but their ids."""
    store, most = memory._tools.store, list[int]()
    batch = memory.remember_many(f"The {word} of number {n} is ready" for n in range(260) for word in WORDS[:2])[
        0
    ].batch
    get, journal = store.get, store.journal

    def counted(found: list[Any]) -> list[Any]:
        most.append(len(found))
        return found

    monkeypatch.setattr(store, "get", lambda *asked: counted(get(*asked)))
    monkeypatch.setattr(store, "journal", lambda **asked: counted(journal(**asked)))
    report = memory.undo(batch if named else None)
    assert len(report.changed) == 520 and memory.count() == 0
    assert 1 < max(most) <= 500, "a part, and not all of it"
    monkeypatch.undo()
    memory.undo(report.batch)
    assert memory.count() == 520


@pytest.mark.covers("P4")
def test_a_memory_that_a_large_undo_had_to_leave_does_not_hold_up_the_action_before(memory: Memory) -> None:
    """It says what another says by now: the undo is finished, and was not cut off."""
    owner = memory.through(access_for("project", "project/atlas", origin="user"))
    owner.remember_many([f"Stop {n} lies there" for n in range(60)])
    tagged = owner.remember_many([Draft(f"Nest {n} is empty", tags=("nest",)) for n in range(40)])
    forgotten = owner.forget(where={"tags": ["nest"]})
    agent = memory.through(replace(access_for("project", "project/atlas", origin="agent"), actor="bob"))
    assert agent.remember("Nest 7 is empty").outcome == "added"
    report = owner.undo(forgotten.batch)
    assert (len(report.changed), list(report.left)) == (39, [tagged[7].id])
    assert len(owner.undo().changed) == 39
    assert owner.count({"state": "active"}) == 61
    assert len(owner.undo().changed) == 60
    assert owner.count({"state": "active"}) == 1
    with pytest.raises(NotFound, match="no action of yours"):
        owner.undo()


def half_redone(memory: Memory, patch: pytest.MonkeyPatch) -> tuple[str, int]:
    """Ninety memories beside one, taken back; bringing them back ends after one transaction. → their batch, how many are back."""
    memory.remember("Alpha lies north")
    batch = memory.remember_many([f"Stop {n} lies there" for n in range(90)])[0].batch
    taken, step = memory.undo().batch, _Undo.step

    def step_once(undoing: _Undo, ids: Sequence[str]) -> None:
        if undoing.into:
            raise KeyboardInterrupt
        step(undoing, ids)

    with patch.context() as cut, pytest.raises(KeyboardInterrupt):
        cut.setattr(_Undo, "step", step_once)
        memory.undo(taken)
    back = memory.count({"state": "active"}) - 1
    assert 0 < back < 90, "it ended in the middle"
    return batch, back


@pytest.mark.covers("P4")
def test_an_undo_of_an_undo_that_was_cut_off_is_gone_on_with(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    _, back = half_redone(memory, monkeypatch)
    assert len(memory.undo().changed) == 90 - back
    assert memory.count({"state": "active"}) == 91
    assert len(memory.undo().changed) == 90  # now the last action is the one that is back
    assert len(memory.undo().changed) == 1


@pytest.mark.covers("P4")
def test_an_undo_of_an_undo_is_not_gone_on_with_once_it_was_taken_back(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch, back = half_redone(memory, monkeypatch)
    assert len(memory.undo(batch).changed) == back
    assert len(memory.undo().changed) == 1
    assert memory.count({"state": "active"}) == 0


def test_a_refusal_names_a_few_memories_and_says_that_it_was_undone(memory: Memory) -> None:
    batch = memory.remember_many([f"Nest {n} lies at pier {n}" for n in range(36)])[0].batch
    assert len(memory.undo(batch).changed) == 36
    with pytest.raises(Conflict) as refused:
        memory.undo(batch)
    told = str(refused.value)
    assert told.count("was already undone") == 3 and told.endswith("; and 33 more"), told
