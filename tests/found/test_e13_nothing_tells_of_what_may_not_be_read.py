"""E13: aliases, history, events, counts and dry runs told of other projects in 0.1.0; now only what the access may read."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from memorist import Memory
from memorist.access import Access, access_for
from memorist.errors import NotFound
from memorist.testing import EVERYWHERE

pytestmark = pytest.mark.covers("E13")


@pytest.fixture
def a(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", project="a", design="curated", embed="none") as memory:
        yield memory


@pytest.fixture
def b(a: Memory, tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", project="b", design="curated", embed="none") as memory:
        yield memory


def test_a_dry_run_names_no_alias_and_no_memory_of_another_project(a: Memory, b: Memory) -> None:
    a.remember("Secret canary integration (SCI) runs nightly")
    a.remember("Low trust", scope="project/a")
    for dry_run in (True, False):
        said = [report for report in b.upkeep(dry_run=dry_run)]
        assert "sci" not in str(said).lower() and "canary" not in str(said)
        assert all(report.changed == () and report.left == {} for report in said)
    assert "sci" in str(a.upkeep(dry_run=True)).lower()


def test_the_advice_of_upkeep_counts_only_what_may_be_read(a: Memory, b: Memory) -> None:
    tool = a.through(replace(a.access, origin="tool"))
    for number in range(3):
        tool.remember(f"The canary number {number} sings")
    assert "of low trust" not in str(b.upkeep(dry_run=True)) and "3 of low trust" in str(a.upkeep(dry_run=True))


def test_questions_about_a_memory_for_all_suggest_no_alias_for_all(a: Memory) -> None:
    found = a.remember("The relay needs two keys", scope="global", tags=["keycard"]).id
    assert found is not None
    for _ in range(3):
        receipt = a.recall("canarybadge relay keys", scope="global").receipt
        a.used(receipt, ids=[found])
    assert "canarybadge" not in str(a.upkeep(dry_run=True)) and "canarybadge" not in str(a.review())


def test_the_history_of_a_promoted_memory_leaves_its_private_time_out(a: Memory) -> None:
    made = a.remember("The canary draft", scope="user/ann", title="canary title", tags=["canary"])
    id = str(made.id)
    a.revise(id, title="another canary title", because="the canary said so")
    a.link(id, str(a.remember("The canary beside it", scope="user/ann").id), evidence="canary")
    a.revise(id, title="public", tags=["public"])
    a.promote(id, because="it may be known")
    a.pin(id)
    reader = a.through(Access(reads=("project/a",)))
    told = reader.history(id)
    assert [event.verb for event in told] == ["promoted", "pinned"]
    assert told[0].before is None and "canary" not in str(told)
    assert [event.verb for event in a.history(id)] == ["added", "revised", "linked", "revised", "promoted", "pinned"]
    a.revise(id, scope="user/ann")
    a.tag(id, "canary")
    a.revise(id, scope="project/a", tags=["public"])
    assert "canary" not in str(reader.history(id)) and "pinned" in str(reader.history(id))


def test_the_receipt_of_a_private_prompt_stays_private(a: Memory) -> None:
    id = str(a.remember("The canary sings at noon", scope="user/ann").id)
    receipt = a.context("when does the canary sing?", user="ann").receipt
    a.revise(id, "The bird sings at noon")
    a.promote(id)
    reader = a.through(Access(reads=("project/a", "global")))
    assert reader.get(id).text == "The bird sings at noon"
    with pytest.raises(NotFound):
        reader.receipt(receipt)
    assert "canary" in a.receipt(receipt).text


def test_a_view_hears_only_of_what_it_may_read(a: Memory) -> None:
    views = {
        "b": a.through(access_for("project", "project/b")),
        "skill": a.through(Access(role="skill")),
        "global": a.through(Access(reads=("global",))),
        "admin": a.through(EVERYWHERE),
        "own": a.through(a.access),
    }
    heard: dict[str, list[str]] = {name: [] for name in views}
    for name, view in views.items():
        view.bus.listen(lambda event, facts, name=name: heard[name].append(f"{event} {facts}"))
    id = str(a.remember("The canary sings").id)
    a.get(id)
    a.recall("where is the canary?")
    a.context("where is the canary?")
    a.forget(where={"id": id}, because="the canary flew")
    a.remember("A task of its own", scope="task/1")
    a.remember("Known to all", scope="global")
    assert heard["own"] == heard["admin"] and len(heard["own"]) == 8  # a context is asked and then read
    assert heard["skill"] == [] and len(heard["b"]) == len(heard["global"]) == 1
    assert "canary" not in str((heard["b"], heard["global"]))
    views["b"].remember("Of the other project", scope="project/b")
    views["b"].recall("what is of the other project?", scope="project/b")
    views["b"].recall("what is known to all?", scope="global")
    views["b"].recall("what is known here?")
    assert len(heard["own"]) == 8 and len(heard["b"]) == 5 and len(heard["admin"]) == 12
    assert len(heard["global"]) == 1


def test_a_view_that_changes_its_access_hears_by_the_new_one(a: Memory) -> None:
    view, heard = a.through(a.access), list[str]()
    view.bus.listen(lambda event, facts: heard.append(event))
    view.access = access_for("project", "project/b")
    a.remember("The canary sings")
    assert heard == []


def test_status_counts_only_what_may_be_read(a: Memory, b: Memory) -> None:
    me, you = (memory.through(replace(memory.access, actor=name)) for memory, name in ((a, "me"), (b, "you")))
    ids = [str(me.remember(f"The canary number {number} sings").id) for number in range(5)]
    me.recall("canary")
    me.used(me.context("canary").receipt, ids=ids[:1])
    me.promote(str(me.remember("A task's", scope="task/1").id))
    names = ("records", "events", "receipts", "promotions", "evictions", "accesses")
    assert {name: you.status()[name] for name in names} == dict.fromkeys(names, 0)
    assert you.status()["last_injection"] == "never" and you.status()["scopes"] == {}
    admin = b.through(access_for("admin", "project/b"))
    for seer in (me, admin):
        found = seer.status()
        assert (found["records"], found["promotions"], found["accesses"]) == (6, 1, 1) and found["events"] >= 8
        assert found["receipts"] == 2 and found["last_injection"] != "never"


def test_a_question_about_a_task_waits_in_its_project(a: Memory, b: Memory) -> None:
    id = str(a.remember("The canary sings in a task", scope="task/1").id)
    assert a.promote(id, scope="global").outcome == "needs_consent"  # type: ignore[union-attr]
    assert len(a.review()) == 1 and b.review() == []  # type: ignore[arg-type]
    assert a.status()["questions"] == 1 and "questions" not in b.status()
    admin = b.through(replace(access_for("admin", "project/b"), origin="user"))
    [question] = admin.review()  # type: ignore[misc]
    admin.review(question.id, decide="approve")
    assert [record.text for record in b.list()] == ["The canary sings in a task"]


def test_clearing_a_task_clears_that_of_its_project_alone(a: Memory, b: Memory) -> None:
    for memory in (a, b):
        memory.remember("One", scope="task/1")
    asked = a.forget(where={"scope": "task/1"})
    assert asked.pending and b.review() == []
    admin = b.through(replace(access_for("admin", "project/b"), origin="user"))
    admin.review(asked.pending, decide="approve")
    assert a.list() == [] and len(b.list()) == 1


def test_a_batch_of_another_project_is_like_one_that_there_never_was(a: Memory, b: Memory) -> None:
    batch = str(a.remember("The canary sings").batch)
    person = b.through(replace(b.access, origin="user"))
    for act in (b.undo, b.review, person.undo, person.review, partial(person.review, decide="approve")):
        told = []
        for name in (batch, "b77"):
            with pytest.raises(NotFound) as refused:
                act(name)
            told.append(str(refused.value).replace(name, "…"))
        assert told[0] == told[1]
    assert a.review(batch).changed == ()  # type: ignore[union-attr]
