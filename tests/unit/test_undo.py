"""Undo: whatever was done, taking it back gives the state that was there before; what cannot be taken back says so."""

import random
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import TORTURE
from memorist import Memory
from memorist.access import Access, access_for
from memorist.errors import Conflict, MemoristError, NotFound, Refused
from memorist.files.transfer import export, import_files
from memorist.testing import MovableClock

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
    max_examples=400 if TORTURE else 30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
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


def test_an_undo_can_be_undone(memory: Memory) -> None:
    memory.remember("Staging runs Postgres 15", tags=["db"])
    memory.revise(1, "Staging runs Postgres 16")
    before = state(memory)
    undone = memory.undo()
    assert memory.get(1).text == "Staging runs Postgres 15"
    assert memory.undo(undone.batch).changed
    assert state(memory) == before
    memory.undo()  # the revision is the last action again
    assert memory.get(1).text == "Staging runs Postgres 15"


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


def test_a_batch_of_many_transactions_is_taken_back_by_one_undo(memory: Memory) -> None:
    outcomes = memory.remember_many([f"Stop {n} lies there" for n in range(600)])
    assert len({outcome.batch for outcome in outcomes}) == 1
    report = memory.undo()
    assert len(report.changed) == 600
    assert memory.count() == 0


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
        other.remember_many([f"Stop {n} lies there" for n in range(5)])
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
