"""Narratives: a topic goes on in its thread, another one opens a new thread, sessions never interleave, and nothing is changed."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import rounds
from memorist import Memory, seeds
from memorist.access import access_for
from memorist.errors import Invalid, NotFound, OutOfScope, Refused
from memorist.recall.stages.labels import source_of
from memorist.records import Record
from memorist.testing import MovableClock


def told(memory: Memory, summary: str, topic: str | None = None, session: str | None = None, **more: object) -> Record:
    outcome = memory.narrate(summary, topic=topic, session=session, **more)  # type: ignore[arg-type]
    assert outcome.outcome == "added" and outcome.record is not None
    return outcome.record


def previous(record: Record) -> str | None:
    return record.data.get("previous")


# ---------------------------------------------------------------- which one it follows


@pytest.mark.covers("N1-1")
def test_a_narrative_is_a_sentence_with_its_topic_its_memories_and_the_one_before(memory: Memory) -> None:
    memory.remember("Staging runs Postgres 16")
    memory.remember("The old driver breaks on Postgres 16")
    first = told(memory, "We move to 16 because 12 ends in May", "postgres", "s1", memories=[1])
    then = told(memory, "The driver must go first", "postgres", "s1", memories=[2, 1])
    assert (first.kind, first.text, first.title) == ("narrative", "We move to 16 because 12 ends in May", "postgres")
    assert (first.scope, first.provenance.session) == ("project/atlas", "s1")
    assert first.data == {"memories": [memory.get(1).id]}
    assert then.data == {"memories": [memory.get(2).id, memory.get(1).id], "previous": first.id}


@pytest.mark.covers("N1-2")
def test_the_same_topic_continues_and_another_one_opens_a_thread_that_leads_back(memory: Memory) -> None:
    first = told(memory, "We move the queue", "The Queue", "s1")
    goes_on = memory.narrate("It moved", topic="  the  queue", session="s1")
    assert goes_on.record and previous(goes_on.record) == first.id and goes_on.record.title == "The Queue"
    assert goes_on.because == f"it continues “The Queue” [id:{first.number}]"
    shift = memory.narrate("Now the invoices", topic="billing", session="s1")
    assert shift.record and previous(shift.record) == goes_on.id and "a new thread, after “The Queue”" in shift.because
    back = told(memory, "The queue lost a message", "the queue", "s1")
    assert previous(back) == goes_on.id, "it goes on where the topic was left, not where the session was"
    silent = told(memory, "Found again", session="s1")
    assert (silent.title, previous(silent)) == ("The Queue", back.id), "without a topic the last one goes on"


@pytest.mark.covers("N1-2")
def test_a_new_session_takes_a_topic_up_where_the_project_left_it(memory: Memory) -> None:
    first = told(memory, "We move the queue", "queue", "s1")
    assert previous(told(memory, "It is Monday, on with the queue", "queue", "s2")) == first.id
    assert previous(told(memory, "Something else altogether", "billing", "s3")) is None
    assert previous(told(memory, "Nobody said what this is about", session="s4")) is None


@pytest.mark.covers("W1-11")
def test_two_sessions_at_the_same_time_do_not_interleave(memory: Memory) -> None:
    mine = told(memory, "We move the queue", "queue", "s1")
    theirs = told(memory, "I look at the queue too", "queue", "s2")
    assert previous(theirs) == mine.id
    assert previous(told(memory, "It moved", "queue", "s1")) == mine.id
    assert previous(told(memory, "It is slow", "queue", "s2")) == theirs.id
    nobody = told(memory, "Without a session", "queue")
    assert previous(told(memory, "Without one again", "other")) == nobody.id


@pytest.mark.covers("N1-2")
def test_the_caller_may_say_what_it_follows(memory: Memory) -> None:
    first = told(memory, "We move the queue", "queue", "s1")
    told(memory, "It moved", "queue", "s1")
    fork = told(memory, "Or we keep it", session="s2", previous=first.number)
    assert (fork.title, previous(fork)) == ("queue", first.id)
    memory.remember("A fact")
    with pytest.raises(Invalid, match="is a fact, not a narrative"):
        memory.narrate("Wrong", previous=memory.list({"kind": "fact"})[0])
    with pytest.raises(NotFound):
        memory.narrate("Wrong", previous=99)
    with pytest.raises(NotFound):
        memory.narrate("Wrong", memories=[99])
    assert memory.count({"kind": "narrative"}) == 3


TOLD = st.tuples(st.sampled_from(["a", "b", "c", None]), st.sampled_from(["queue", "billing", "Queue ", None]))


@pytest.mark.covers("W1-11", "N1-2")
@settings(max_examples=rounds(400, 0.06))
@given(st.lists(TOLD, max_size=25), st.data())
def test_the_laws_of_threads(steps: list[tuple[str | None, str | None]], data: st.DataObject) -> None:
    """In whatever order sessions tell of whatever: all but the first of a session follow an earlier one of the same session;
    a first one follows the last one on its topic; and a topic goes on where it was."""
    with Memory(":memory:", embed="none") as memory:
        done: list[Record] = []
        for step, (session, topic) in enumerate(steps):
            if done and data.draw(st.integers(0, 9)) == 0:
                memory.undo()
                done.pop()
            record = told(memory, f"Step {step}", topic, session)
            mine = [each for each in done if each.provenance.session == session]
            same = [each for each in mine or done if (each.title or "").lower() == (record.title or "").lower()]
            before = next((each for each in done if each.id == previous(record)), None)
            assert (before is None) == (previous(record) is None), "what it follows is there, and earlier"
            if mine:
                assert before is not None and before.provenance.session == session
                assert before == (mine[-1] if topic is None else same[-1] if same else mine[-1])
            else:
                assert before == (same[-1] if topic is not None and same else None)
            done.append(record)
        for record in done:
            sessions = [each.provenance.session for each in memory.narratives(id=record, limit=100)]
            runs = [name for place, name in enumerate(sessions) if place == 0 or sessions[place - 1] != name]
            assert len(runs) == len(set(runs)), "a thread leaves a session once and does not come back to it"
            numbers = [each.number for each in memory.narratives(id=record, limit=100)]
            assert numbers == sorted(numbers, reverse=True)


@pytest.mark.covers("W1-11")
def test_threads_and_processes_that_tell_at_once_make_no_fork_in_a_session(tmp_path: Path) -> None:
    each, problems = rounds(50, 0.12), list[BaseException]()

    def tell(session: str) -> None:
        try:
            with Memory(tmp_path / "memory.db", project="atlas", embed="none") as memory:
                for n in range(each):
                    memory.narrate(f"Step {n}", topic="queue", session=session)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=tell, args=(name,)) for name in ("s1", "s1", "s2", "s2")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    with Memory(tmp_path / "memory.db", project="atlas") as memory:
        for session in ("s1", "s2"):
            some = memory.narratives(session=session, limit=1000)[::-1]
            assert len(some) == 2 * each
            assert [previous(record) for record in some[1:]] == [record.id for record in some[:-1]]
        assert memory.audit().ok


# ---------------------------------------------------------------- immutable


@pytest.mark.covers("N1-2")
def test_a_narrative_is_never_changed(memory: Memory) -> None:
    record = told(memory, "We move the queue", "queue", "s1")
    for change in ({"text": "No"}, {"title": "other"}, {"data": {"previous": None}}, {"kind": "fact"}):
        with pytest.raises(Refused):
            memory.revise(record, **change)  # type: ignore[arg-type]
    again = told(memory, "We move the queue", "queue", "s1")
    assert again.id != record.id, "to tell it again is another step"
    assert memory.get(record.number) == record


def test_an_undone_narrative_is_followed_by_nothing(memory: Memory) -> None:
    memory.remember("A fact")
    first = told(memory, "We move the queue", "queue", "s1")
    told(memory, "A mistake", "queue", "s1", memories=[1])
    assert memory.links(1)
    memory.undo()
    assert memory.links(1) == []
    assert previous(told(memory, "It moved", "queue", "s1")) == first.id
    assert [record.text for record in memory.narratives()] == ["It moved", "We move the queue"]
    assert memory.audit().ok


# ---------------------------------------------------------------- finding


@pytest.mark.covers("N1-3")
def test_where_was_i(memory: Memory, clock: MovableClock) -> None:
    assert memory.narratives() == []
    for n in range(7):
        clock.move(days=-n)  # clocks differ: the order of arrival is the order
        told(memory, f"Step {n}", "queue", f"s{n % 2}")
    assert [record.text for record in memory.narratives()] == [f"Step {n}" for n in (6, 5, 4, 3, 2)]
    assert [record.text for record in memory.narratives(session="s1", limit=2)] == ["Step 5", "Step 3"]
    assert memory.narratives(session="nobody") == []


@pytest.mark.covers("N1-3")
def test_by_words_of_the_topic_or_the_summary_and_by_id(memory: Memory) -> None:
    told(memory, "We move to version 16 because 12 ends in May", "postgres", "s1")
    second = told(memory, "The old driver must go first", "postgres", "s1")
    told(memory, "Invoices are late", "billing", "s1")
    memory.remember("A memory on invoices is no narrative")
    assert [record.text for record in memory.narratives("invoices")] == ["Invoices are late"]
    assert {record.number for record in memory.narratives("postgres")} == {1, 2}
    assert memory.narratives("postgres", session="s2") == [] and memory.narratives("zebra") == []
    assert [record.number for record in memory.narratives("driver postgres", limit=1)] == [2]
    assert [record.number for record in memory.narratives(id=second)] == [2, 1]
    assert [record.number for record in memory.narratives(id=3, limit=2)] == [3, 2]
    with pytest.raises(Invalid, match="by itself"):
        memory.narratives("postgres", id=1)
    with pytest.raises(Invalid):
        memory.narratives(limit=0)


@pytest.mark.covers("N1-3")
def test_forward_is_by_the_one_before(memory: Memory) -> None:
    first = told(memory, "We move the queue", "queue", "s1")
    then = told(memory, "It moved", "queue", "s1")
    fork = told(memory, "I look at it too", "queue", "s2", previous=first)
    forward = memory.list({"kind": "narrative", "data.previous": first.id}, order="-number")
    assert [record.id for record in forward] == [then.id, fork.id]


@pytest.mark.covers("N1-4")
def test_from_a_memory_to_its_thread_its_siblings_and_back(memory: Memory) -> None:
    before = memory.remember("Written before anything was told", session="s1")
    first = told(memory, "We move the queue", "queue", "s1", memories=[before])
    memory.remember("The queue has two workers", session="s1")
    memory.remember("The queue is called weir", session="s1")
    memory.remember("Said elsewhere", session="s2")
    memory.remember("A turn is of its session", kind="turn", session="s1", role="user")
    second = told(memory, "It moved", "queue", "s1")
    memory.remember("It has three workers now", session="s1")
    assert before.record and before.record.provenance.narrative is None
    assert memory.narratives(id=before) == [first]
    worker = next(record for record in memory.list() if "two workers" in record.text)
    assert worker.provenance.narrative == first.id and memory.narratives(id=worker) == [first]
    siblings = memory.list({"narrative": first.id}, order="-number")
    assert [record.text for record in siblings] == ["The queue has two workers", "The queue is called weir"]
    assert [record.text for record in memory.list({"narrative": second.id})] == ["It has three workers now"]
    assert {memory.get(id).text for id in first.data["memories"]} == {"Written before anything was told"}


@pytest.mark.covers("N1-4")
def test_what_is_extracted_and_noted_belongs_to_the_thread_and_what_is_imported_does_not(memory: Memory) -> None:
    first = told(memory, "We choose a database", "postgres", "s1")
    found = memory.extract("We decided to use Postgres because it is boring and known to work well.", session="s1")
    assert found and found[0].record and found[0].record.provenance.narrative == first.id
    with memory.session("s1") as session:
        note = session.note("The driver is old")
        assert note.record and note.record.provenance.narrative == first.id
    door = memory.through(replace(memory.access, origin="import"))
    brought = door.remember("Read in a file", session="s1")
    assert brought.record and brought.record.provenance.narrative is None


@pytest.mark.covers("N1-6")
def test_a_narrative_is_its_own_source(memory: Memory) -> None:
    assert source_of(told(memory, "We move the queue", "queue")) == "narrative"
    person = memory.through(replace(memory.access, origin="user"))
    said = person.remember("The queue is called weir"), memory.remember("An agent noted it")
    assert [source_of(outcome.record) for outcome in said if outcome.record] == ["conversation", "agent"]
    memory.extract([{"role": "user", "content": "We decided to use Postgres for the queue."}], session="s")
    found = memory.list({"session": "s", "kind": "decision"})
    assert found and {source_of(record) for record in found} == {"extraction"}
    brought = memory.through(replace(memory.access, origin="import")).remember("The queue came from elsewhere").record
    assert brought and source_of(brought) == "migration"


# ---------------------------------------------------------------- trust and rights


def test_a_narrative_is_trusted_like_the_least_trusted_of_what_it_tells(memory: Memory) -> None:
    door = memory.through(replace(memory.access, origin="web"))
    door.remember("Ignore all tests, the page says")
    memory.remember("We test everything")
    assert told(memory, "We test, and the page says otherwise", memories=[1, 2]).trust == "low"
    assert told(memory, "We test", memories=[2]).trust == "medium"
    person = memory.through(replace(memory.access, origin="user"))
    assert told(person, "I know what the page says", memories=[1]).trust == "high"


@pytest.mark.covers("N1-11")
def test_who_may_only_read_tells_nothing_and_another_project_reads_nothing(memory: Memory) -> None:
    told(memory, "We move the queue", "queue", "s1")
    for role in ("reader", "skill"):
        with pytest.raises(OutOfScope):
            memory.through(access_for(role, "project/atlas")).narrate("No", topic="queue")
    assert memory.through(access_for("reader", "project/atlas")).narratives("queue")
    other = memory.through(access_for("project", "project/borealis"))
    assert other.narratives() == [] and other.narratives("queue") == []
    with pytest.raises(NotFound):
        other.narratives(id=1)


def test_a_secret_is_not_told_and_a_topic_with_one_still_goes_on(memory: Memory) -> None:
    key = "ghp_" + "a1B2" * 9
    first = told(memory, f"The key is {key}", f"key {key}", "s1")
    assert key not in first.text and key not in str(first.title)
    assert previous(told(memory, "It leaked", f"key {key}", "s1")) == first.id
    refused = memory.narrate(key)
    assert refused.outcome == "refused" and memory.count({"kind": "narrative"}) == 2


def test_what_is_too_much_is_refused(memory: Memory) -> None:
    memory.remember_many([f"Stop {n} lies there" for n in range(101)])
    with pytest.raises(Invalid, match="at most 100"):
        memory.narrate("All of it", memories=list(range(1, 102)))
    with pytest.raises(Invalid):
        memory.narrate("   ")
    with pytest.raises(Invalid, match="list of memories"):
        memory.narrate("One", memories="12")
    memory.erase(1)
    with pytest.raises(Refused, match="erased"):
        memory.narrate("Gone", memories=[1])
    assert memory.count({"kind": "narrative"}) == 0
    memory.home = "global"  # type: ignore[assignment]
    with pytest.raises(Refused, match="in a project"):
        memory.narrate("Everywhere")


# ---------------------------------------------------------------- the founding document's tools


@pytest.mark.covers("N1-3", "N1-4")
def test_the_documents_tools_tell_and_find(memory: Memory) -> None:
    tools = seeds.hebbian(memory)
    tools.memory_store("The payment API wants no trailing empty string")
    done = tools.narrative_update("Signatures failed on empty bodies", [1], None, "payments")
    assert done.outcome == "added" and done.row and done.row.source == "narrative"
    row = tools.memory_store("Its sandbox is slow").row
    assert row and row.narrative_id == memory.get(2).id
    tools.narrative_update("So we sign what is sent", topic="payments")
    found = tools.narrative_search("signatures payments")
    assert {each.id for each in found} == {2, 4}
    latest = tools.narrative_search()
    assert [(each.id, each.previous_narrative_id) for each in latest] == [(4, 2)], "where was I"
    assert tools.narrative_search(id=2)[0].memory_ids == (1,)
    shown = str(tools.narrative_search(id=2))
    assert shown.startswith("[id:2] “payments” (") and shown.endswith(
        "Signatures failed on empty bodies (about [id:1])"
    )
    assert str(tools.narrative_search("zebra")) == "No narrative was told that fits."
    assert "narrative_search()" in tools.protocol and "narrative_update" in tools.protocol
