"""Consent: what a person must agree to is asked, waits where nobody can be asked, and is then done exactly once."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorist import Memory
from memorist.access import Access, access_for
from memorist.design import Ask
from memorist.errors import Conflict, Invalid, NotFound, OutOfScope, Refused
from memorist.files.transfer import import_files
from memorist.noun import plain
from memorist.records import Outcome, Report
from memorist.remember import consent
from memorist.remember.consent import Pending
from memorist.testing import MovableClock

TABS = "I like tabs better than spaces"
ALL = {"state": {"$in": ["active", "archived", "superseded", "erased"]}}


def person(memory: Memory) -> Memory:
    return memory.through(replace(memory.access, origin="user", actor="ann", surface="cli"))


def state(memory: Memory) -> list[object]:
    """Everything but the questions: records in every state, their links, the journal's head."""
    records = memory.list(ALL, order="-number", limit=1000)
    return [*records, [memory.links(record.id) for record in records], memory._tools.store.head()]


def prefer(memory: Memory, text: str = TABS, **more: Any) -> Outcome:
    return memory.remember(text, kind="preference", scope="global", **more)


def waiting(memory: Memory) -> list[Pending]:
    found = memory.review()
    assert isinstance(found, list)
    return found


def approved(memory: Memory, id: str) -> Outcome | Report:
    done = person(memory).review(id, decide="approve")
    assert isinstance(done, Outcome | Report)
    return done


# ---------------------------------------------------------------- what is asked


@pytest.mark.covers("S0-15", "W0-5", "S0-14")
def test_a_preference_for_every_project_waits_and_nothing_changes(memory: Memory) -> None:
    before = state(memory)
    outcome = prefer(memory)
    assert (outcome.outcome, outcome.pending, outcome.id, outcome.batch) == ("needs_consent", "q1", None, None)
    assert TABS in outcome.because and "memorist review q1" in outcome.because
    assert state(memory) == before
    [question] = waiting(memory)
    assert (question.id, question.verb, question.scope) == ("q1", "remember", "global")
    assert TABS in question.summary and question.because and question.danger is None
    assert (question.actor, question.surface) == (memory.access.actor, "library")


@pytest.mark.covers("S0-15", "N0-7")
@pytest.mark.parametrize(
    ("kind", "scope"),
    [("pattern", "global"), ("fact", "global"), ("preference", "project/atlas"), ("preference", "user/ann")],
)
def test_patterns_and_what_holds_in_one_place_need_no_consent(memory: Memory, kind: str, scope: str) -> None:
    assert memory.remember("Retry with a key", kind=kind, scope=scope).outcome == "added"


@pytest.mark.covers("S0-15")
def test_looking_never_asks(memory: Memory) -> None:
    approved(memory, str(prefer(memory).pending))
    memory.recall("tabs")
    memory.list({"scope": "global"})
    memory.forget(where={"scope": "global"}, dry_run=True)
    memory.erase(where={"scope": "global"}, dry_run=True)
    assert waiting(memory) == []


@pytest.mark.covers("S0-15")
@pytest.mark.parametrize(
    "changes", [{"text": "Spaces after all"}, {"importance": 0.4}, {"kind": "fact"}, {"scope": "project/atlas"}]
)
def test_modifying_one_asks(memory: Memory, changes: dict[str, object]) -> None:
    approved(memory, str(prefer(memory).pending))
    before = state(memory)
    outcome = memory.revise(1, **changes)  # type: ignore[arg-type]
    assert outcome.outcome == "needs_consent" and outcome.pending == "q2" and state(memory) == before
    approved(memory, "q2")
    record = memory.get(1)
    assert all(getattr(record, name) == value for name, value in changes.items())
    assert memory.revise(1, importance=record.importance).outcome != "needs_consent", "it changes nothing"


def test_becoming_one_asks(memory: Memory) -> None:
    memory.remember("Tabs", kind="preference")
    memory.remember("Dots", kind="fact", scope="global")
    assert memory.revise(1, scope="global").outcome == "needs_consent"
    assert memory.revise(2, kind="preference").outcome == "needs_consent"
    assert memory.revise(2, scope="project/atlas").outcome == "changed"


@pytest.mark.covers("S0-15", "X18")
@pytest.mark.parametrize("verb", ["forget", "erase"])
@pytest.mark.parametrize(
    "where",
    [
        {"scope": "project/atlas"},
        {"number": {"$gte": 1}},
        {"scope": "project/atlas", "state": "active"},
        {"number": {"$ne": 0}},
        {"created": {"$gte": "2000-01-01T00:00:00Z"}},
        {"importance": {"$gte": 0}, "at": {"$lte": "2199-01-01T00:00:00Z"}},
    ],
    ids=["scope", "everything", "active", "no number 0", "since 2000", "bounds that leave nothing out"],
)
def test_clearing_a_scope_asks_with_the_danger(memory: Memory, verb: str, where: dict[str, object]) -> None:
    memory.remember_many(["Alpha lies north", "Beta lies south"])
    before = state(memory)
    report = getattr(memory, verb)(where=where)
    assert report.changed == () and report.pending == "q1" and "memorist review q1" in str(report.advice)
    assert state(memory) == before
    [question] = waiting(memory)
    assert question.summary == f"{verb} all 2 memories in project/atlas"
    assert ("cannot be undone" in str(question.danger)) == (verb == "erase")
    memory.remember("Gamma came later")
    done = approved(memory, "q1")
    assert isinstance(done, Report) and len(done.changed) == 2
    assert [record.text for record in memory.list()] == ["Gamma came later"]
    assert waiting(memory) == []


def test_whoever_has_something_in_mind_is_not_asked(memory: Memory) -> None:
    memory.remember_many([{"text": f"Stop {n}", "tags": ["old"]} for n in range(19)])
    assert len(memory.forget(where={"tags": ["old"]}).changed) == 19
    assert len(memory.erase(where={"state": "archived"}).changed) == 19
    assert memory.forget(where={"scope": "project/atlas"}).pending is None, "there is nothing to clear"


# ---------------------------------------------------------------- whom it is asked


@pytest.mark.covers("S0-15", "X18")
@pytest.mark.parametrize(
    ("answer", "outcome"),
    [("approve", "added"), (True, "added"), ("deny", "refused"), (False, "refused"), ("queue", "needs_consent")],
)
def test_a_confirmer_approves_denies_or_queues(answer: object, outcome: str) -> None:
    asked: list[Ask] = []

    def confirm(ask: Ask) -> object:
        asked.append(ask)
        return answer

    with Memory(":memory:", confirm=confirm) as memory:  # type: ignore[arg-type]
        assert prefer(memory).outcome == outcome
        assert (memory.count() == 1) == (outcome == "added")
        assert len(waiting(memory)) == (outcome == "needs_consent")
    [ask] = asked
    assert (ask.verb, ask.danger) == ("remember", None) and TABS in ask.summary
    assert ask.details == {"draft": {"text": TABS, "kind": "preference", "scope": "global"}}


@pytest.mark.covers("S0-15")
def test_a_plain_callback_from_text_to_yes_or_no_is_enough() -> None:
    def asks_about_clearing(text: str) -> bool:
        return text.lower().startswith("erase all") and "cannot be undone" in text

    with Memory(":memory:", confirm=asks_about_clearing) as memory:
        assert prefer(memory).outcome == "refused"
        memory.remember("Alpha")
        assert memory.forget(where={"scope": "project/default"}).changed == ()
        assert len(memory.erase(where={"scope": "project/default"}).changed) == 1


@pytest.mark.parametrize("answer", [None, "yes", 1, "Approve", object()])
def test_what_is_no_answer_changes_nothing(answer: object) -> None:
    with Memory(":memory:", confirm=lambda _: answer) as memory:  # type: ignore[arg-type,return-value]
        with pytest.raises(Invalid, match="approve, deny, queue"):
            prefer(memory)
        assert memory.count() == 0 and waiting(memory) == []


def test_a_person_is_asked_while_nobody_has_to_wait_for_the_store(tmp_path: Path) -> None:
    """The confirmer writes itself: inside of a transaction of its caller that would be part of it."""

    def confirm(ask: Ask) -> bool:
        with Memory(tmp_path / "memory.db", project="atlas", wait=1) as other:
            other.remember(f"Asked: {ask.verb}")
        return True

    with Memory(tmp_path / "memory.db", project="atlas", confirm=confirm) as memory:
        prefer(memory)
        memory.revise(2, "I like spaces")
        memory.forget(where={"scope": "global"})
        assert sorted(r.text for r in memory.list()) == ["Asked: forget", "Asked: remember", "Asked: revise"]


def test_what_changed_while_the_person_thought_is_not_overwritten(tmp_path: Path) -> None:
    def confirm(ask: Ask) -> bool:
        if ask.verb == "revise":
            person(memory).tag(1, "changed")
        return True

    with Memory(tmp_path / "memory.db", confirm=confirm) as memory:
        prefer(memory)
        with pytest.raises(Conflict, match="version 2"):
            memory.revise(1, "Spaces")
        assert memory.get(1).text == TABS


# ---------------------------------------------------------------- the queue


@pytest.mark.covers("X18")
def test_an_approved_question_is_the_approvers_act_and_can_be_undone_once(memory: Memory, clock: MovableClock) -> None:
    at = datetime(2025, 5, 1, tzinfo=UTC)
    given: dict[str, Any] = {
        "tags": ["style"],
        "importance": 0.9,
        "data": {"n": [1, {"a": None}]},
        "agent": "coder",
        "at": at,
    }
    id = str(prefer(memory, **given).pending)
    clock.move(hours=1)
    done = approved(memory, id)
    assert isinstance(done, Outcome) and done.outcome == "added" and done.record is not None
    record = memory.get(1)
    assert (record.origin, record.trust, record.status) == ("user", "high", "confirmed")
    assert (record.provenance.actor, record.provenance.agent) == ("ann", "coder")
    assert (record.tags, record.importance, record.times.at) == (("style",), 0.9, at)
    assert json.loads(json.dumps(record.data)) == given["data"]
    [event] = memory.history(1)
    assert (event.actor, event.surface) == ("ann", "cli")
    with pytest.raises(NotFound, match=id):
        person(memory).review(id, decide="approve")
    assert memory.count() == 1
    person(memory).undo()
    assert memory.count() == 0


@pytest.mark.covers("W0-5")
def test_an_agent_cannot_approve_its_own_question(memory: Memory) -> None:
    id = str(prefer(memory).pending)
    for role in ("project", "admin"):
        who = replace(access_for(role, "project/atlas"), actor=memory.access.actor)
        for origin in ("agent", "tool", "file", "import"):
            with pytest.raises(Refused, match="only a person approves"):
                memory.through(replace(who, origin=origin)).review(id, decide="approve")
    assert memory.count() == 0 and len(waiting(memory)) == 1


def test_denying_drops_it_and_leaves_no_text(memory: Memory) -> None:
    id = str(prefer(memory).pending)
    other = memory.through(replace(memory.access, actor="another agent"))
    with pytest.raises(Refused, match="only they or a person"):
        other.review(id, decide="deny")
    denied = memory.review(id, decide="deny")  # whoever asked may take it back
    assert isinstance(denied, Outcome) and "nothing was done" in denied.because
    assert waiting(memory) == [] and memory.count() == 0
    [run] = memory._tools.store.runs("default", "question")
    assert (run.state, run.question, run.checkpoint) == ("denied", None, {})
    assert prefer(memory).pending == "q2", "who asks again is heard again"
    assert person(memory).review("q2", decide="deny")


def test_the_same_question_is_asked_once_and_what_was_approved_is_not_asked_again(memory: Memory) -> None:
    ids = [prefer(memory).pending, prefer(memory).pending, prefer(memory, tags=["style"]).pending]
    assert ids == ["q1", "q1", "q2"]
    approved(memory, "q1")
    assert prefer(memory).outcome == "reinforced"
    second = approved(memory, "q2")
    assert isinstance(second, Outcome) and second.outcome == "reinforced" and memory.get(1).tags == ("style",)
    memory.remember_many(["Alpha", "Beta"])
    assert memory.forget(where={"scope": "project/atlas"}).pending == "q3"
    assert memory.forget(where={"scope": "project/atlas"}).pending == "q3"
    memory.remember("Gamma")
    assert memory.forget(where={"scope": "project/atlas"}).pending == "q4", "it would clear one more"


def test_a_retry_with_its_key_is_safe_before_and_after(memory: Memory) -> None:
    assert prefer(memory, key="k1").pending == prefer(memory, key="k1").pending == "q1"
    approved(memory, "q1")
    assert prefer(memory, key="k1").outcome == "repeated" and memory.count() == 1


def test_the_queue_is_bounded(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consent, "MOST_WAITING", 4)
    monkeypatch.setattr(consent, "KEPT_FREE", 1)
    outcomes = [prefer(memory, f"Rule {n}") for n in range(5)]
    assert [outcome.outcome for outcome in outcomes] == ["needs_consent"] * 3 + ["refused"] * 2
    assert "memorist review" in outcomes[-1].because and len(waiting(memory)) == 3
    assert prefer(memory, "Rule 1").pending == "q2", "which waits already"
    memory.remember("Tabs it is")
    report = person(memory).forget(where={"scope": "project/atlas"})
    assert report.pending is not None, "a place is kept free for the user"
    with pytest.raises(Invalid, match="200,000 characters"):
        prefer(memory, "x" * 300_000)


def test_several_in_one_call_are_each_for_itself(memory: Memory) -> None:
    texts = [TABS, "Staging runs Postgres 16", "I like dark themes"]
    drafts = [{"text": texts[n], **({"kind": "preference", "scope": "global"} if n != 1 else {})} for n in range(3)]
    outcomes = memory.remember_many(drafts)
    assert [outcome.outcome for outcome in outcomes] == ["needs_consent", "added", "needs_consent"]
    assert [outcome.pending for outcome in outcomes] == ["q1", None, "q2"] and memory.count() == 1


def test_what_a_file_brings_is_only_a_candidate_and_does_not_ask(memory: Memory, tmp_path: Path) -> None:
    line = {"type": "record", "text": TABS, "kind": "preference", "scope": "global"}
    file = tmp_path / "notes.md"
    file.write_text("- I like tabs\n")
    import_files(memory, [file])
    door = memory.through(replace(memory.access, origin="import"))
    assert door.remember(str(line["text"]), kind="preference", scope="global").outcome == "added"
    [record] = memory.list({"scope": "global"})
    assert (record.status, record.trust) == ("candidate", "low") and waiting(memory) == []


# ---------------------------------------------------------------- what it may not do


@pytest.mark.covers("Z9")
def test_no_secret_waits_in_a_question(memory: Memory, tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3"
    prefer(memory, f"I always use {token} for pushing", title=f"about {token}", data={"token": token})
    prefer(memory, token)
    said = repr(memory._tools.store.runs("default", state="asks"))
    assert token not in said and "I always use" in said and len(waiting(memory)) == 1
    approved(memory, "q1")
    memory.revise(1, f"Now with {token}!", because=f"because of {token}")
    assert token not in repr(memory._tools.store.runs("default", state="asks"))
    assert token not in repr(plain(memory.list(ALL)))


def test_a_question_is_seen_where_its_place_may_be_read(memory: Memory) -> None:
    memory.remember("Alpha")
    memory.forget(where={"scope": "project/atlas"})
    borealis = memory.through(replace(access_for("project", "project/borealis"), origin="user"))
    assert borealis.review() == []
    with pytest.raises(NotFound):
        borealis.review("q1", decide="approve")
    other_space = Access(space="team", reads=("*", "project/*"), writes=("*", "project/*"), origin="user")
    assert consent.waiting(other_space, memory._tools.store) == []
    reader = memory.through(replace(access_for("reader", "project/atlas"), origin="user"))
    with pytest.raises(OutOfScope):
        reader.review("q1", decide="approve")
    assert memory.count() == 1


def test_what_may_become_everybodys_is_not_shown_to_everybody_while_it_waits(memory: Memory) -> None:
    """A memory of one project, asked to hold in all of them: until a person agrees, the others hear nothing of it."""
    memory.remember("Ann likes quiet rooms", kind="preference")
    memory.remember("Dots", kind="fact", scope="global")
    assert memory.revise(1, "Ann likes very quiet rooms", scope="global").outcome == "needs_consent"
    assert memory.promote(1, scope="global").outcome == "needs_consent"  # type: ignore[union-attr]
    assert memory.forget(where={"number": {"$gte": 1}}).pending
    borealis = memory.through(replace(access_for("project", "project/borealis"), origin="user"))
    assert borealis.review() == [] and borealis.status().get("questions") is None
    assert [question.verb for question in waiting(memory)] == ["revise", "promote", "forget"]
    approved(memory, "q1")
    assert memory.get(1).scope == "global"


def test_an_approver_with_more_rights_clears_no_more_than_was_asked(memory: Memory) -> None:
    memory.remember("Alpha")
    memory.through(access_for("project", "project/borealis")).remember("Theirs", scope="project/borealis")
    memory.forget(where={"number": {"$gte": 1}})
    admin = memory.through(replace(access_for("admin", "project/atlas"), origin="user"))
    done = admin.review("q1", decide="approve")
    assert isinstance(done, Report) and len(done.changed) == 1
    assert [record.text for record in admin.list()] == ["Theirs"]


def test_a_memory_that_changed_since_is_not_overwritten(memory: Memory) -> None:
    approved(memory, str(prefer(memory).pending))
    memory.revise(1, "Spaces")
    person(memory).tag(1, "mine")
    with pytest.raises(Conflict, match="version"):
        approved(memory, "q2")
    assert memory.get(1).text == TABS and len(waiting(memory)) == 1, "it waits to be denied"


def test_erasing_takes_the_questions_about_it_away(memory: Memory) -> None:
    approved(memory, str(prefer(memory).pending))
    memory.revise(1, "Something else altogether")
    prefer(memory, "Xylophones are fine")
    person(memory).erase(1)
    assert [question.summary for question in waiting(memory)] == [
        "remember a preference for every project: Xylophones are fine"
    ]
    assert TABS not in repr(memory._tools.store.runs("default", "question"))


def test_questions_outlive_the_process_and_come_with_a_backup(tmp_path: Path) -> None:
    for name in ("memory.db", "memory.json"):
        path = tmp_path / name
        with Memory(path, project="atlas") as memory:
            prefer(memory)
        with Memory(path, project="atlas") as memory:
            [question] = waiting(memory)
            assert TABS in question.summary
            copy = memory.backup(tmp_path / f"copy-{name}")
            found = {finding.check: finding for finding in memory.doctor()}
            assert found["questions"].ok and "1 wait" in found["questions"].detail
            assert memory.status()["questions"] == 1
            approved(memory, "q1")
            assert "questions" not in memory.status()
        with Memory(copy, project="atlas") as memory:
            approved(memory, "q1")
            assert memory.get(1).text == TABS


def test_a_question_of_another_version_is_named_by_the_doctor_and_can_only_be_denied(memory: Memory) -> None:
    ask = Ask("teleport", "teleport the memories", None, {})
    consent.queue(ask, "global", "why not", memory._caller)
    with pytest.raises(Refused, match="teleport"):
        approved(memory, "q1")
    assert person(memory).review("q1", decide="deny") and waiting(memory) == []


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: m.review("q1", decide="maybe"), "approve or deny"),
        (lambda m: m.review(decide="approve"), "name the question"),
        (lambda m: m.review("q9"), "no question 'q9' is waiting"),
        (lambda m: m.review(""), "no question '' is waiting"),
        (lambda m: m.review("q9", decide="deny"), "no question 'q9' is waiting"),
    ],
)
def test_wrong_decisions_say_what_would_be_right(memory: Memory, call: Callable[[Memory], object], words: str) -> None:
    prefer(memory)
    with pytest.raises((Invalid, NotFound), match=words):
        call(memory)


# ---------------------------------------------------------------- merges


@pytest.mark.covers("X18")
def test_a_merge_waits_and_is_one_batch(memory: Memory) -> None:
    memory.remember_many(["The heron nests at the weir", "A heron has its nest at the weir", "Storks"])
    before = state(memory)
    ids = [memory.get(number).id for number in (1, 2)]
    ask = Ask("merge", "merge memory 2 into memory 1", None, {"keep": ids[0], "ids": ids})
    said = consent.ask(ask, "project/atlas", "they say the same", memory._caller)
    assert said.id == "q1" and state(memory) == before
    done = approved(memory, "q1")
    assert isinstance(done, Report) and [each.number for each in done.changed] == [2]
    assert memory.get(2).reason == "merged into [id:1]"
    person(memory).undo(done.batch)
    assert memory.count() == 3


# ---------------------------------------------------------------- laws


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["prefer", "revise", "clear", "approve", "deny"]), st.integers(1, 4), st.integers(0, 3)
        ),
        max_size=12,
    )
)
def test_asking_and_denying_never_change_the_store(steps: list[tuple[str, int, int]]) -> None:
    """Whatever is asked and denied in whatever order: only an approval changes a memory."""
    with Memory(":memory:", project="atlas") as memory:
        memory.remember_many(["Alpha", "Beta"])
        approved(memory, str(prefer(memory, "Rule 0").pending))
        for verb, number, word in steps:
            before = state(memory)
            open_now = [question.id for question in waiting(memory)]
            if verb == "prefer":
                prefer(memory, f"Rule {word} again")
            elif verb == "revise":
                with suppress(Refused):  # it was cleared
                    memory.revise(3, f"Rule {word}, revised")
            elif verb == "clear":
                memory.forget(where={"scope": "global"})
            elif open_now and verb == "deny":
                person(memory).review(open_now[number % len(open_now)], decide="deny")
            elif open_now and verb == "approve":
                try:
                    approved(memory, open_now[number % len(open_now)])
                except (Conflict, Refused):
                    assert state(memory) == before
                continue
            twin = verb == "prefer" and memory.count({"text": f"Rule {word} again"}) > 0  # then it only counts
            assert state(memory) == before or twin
