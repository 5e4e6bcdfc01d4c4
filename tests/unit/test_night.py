"""A night: what its jobs do, what they only ask, that one undo takes all of it back, and when it starts by itself."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import rounds
from memorist import Memory
from memorist.access import Access
from memorist.design import Due, Proposal, Tools
from memorist.designs import BALANCED
from memorist.errors import Invalid, StoreUnavailable
from memorist.models.chat import ChatFailed
from memorist.records import Record, Report
from memorist.remember.changes import Caller
from memorist.seeds import curated
from memorist.store.nouns import Run
from memorist.store.tally import ChatLimits
from memorist.testing import MovableClock, ScriptedChat
from memorist.upkeep import night, runner, tidy, twins
from memorist.upkeep.survey import Survey

LIVING = {"state": {"$in": ["active", "superseded"]}}
FLAGS = replace(BALANCED, conflicts="flag")  # on writing; what it would supersede, nobody would have to ask about
HERONS = [f"Herons rest by the bend of the river {place}" for place in "Aare Main Oder Elbe Saale Havel".split()]
INVOICES = [f"Invoices for {name} are written in euros" for name in "Ann Bob Cem Dee Eva Fay".split()]


@pytest.fixture
def memory(clock: MovableClock) -> Iterator[Memory]:
    with Memory(":memory:", project="atlas", embed="static", clock=clock, design=FLAGS) as opened:
        yield opened.through(replace(opened.access, origin="user", actor="ann"))


def deep(memory: Memory, **more: Any) -> dict[str, Report]:
    return {report.verb: report for report in memory.upkeep(deep=True, **more)}


def state(memory: Memory) -> list[object]:
    """Every record that is not archived with its votes, and the links. Versions go on."""
    records = memory.list(LIVING, order="-number", limit=1000)
    plain = [replace(each, version=0, times=replace(each.times, updated=each.times.created)) for each in records]
    return [*plain, [sorted(map(str, memory.links(record.id))) for record in records]]


def added(memory: Memory, text: str, **more: Any) -> Record:
    done = memory.remember(text, **more)
    assert done.record is not None
    return done.record


# ---------------------------------------------------------------- twins


@pytest.mark.covers("S4-21", "N4-1")
def test_twins_become_one_with_the_votes_and_tags_of_both(memory: Memory) -> None:
    old = added(memory, "We deploy to staging on Friday", tags=["ops"])
    new = added(memory, "On Friday we deploy to staging", tags=["release"])
    memory.feedback(new.id, "useful")
    reports = deep(memory)
    kept, gone = memory.get(old.id), memory.get(new.id)
    assert (kept.state, gone.state) == ("active", "superseded") and set(kept.tags) == {"ops", "release"}
    assert (kept.counters.up, kept.counters.used, kept.counters.strength) == (1, 1, 1)
    [link] = memory.links(old.id)
    assert (link.a, link.b, link.kind) == (old.id, new.id, "supersedes") and link.evidence
    assert [each.id for each in reports["merge_twins"].changed] == [new.id]
    assert memory.count({"state": "erased"}) == 0


def test_what_brings_a_memory_up_stays_with_the_merged(memory: Memory) -> None:
    old = added(memory, "The staging server runs Postgres 16", data={"triggers": ["vacuum"]})
    added(memory, "Postgres 16 runs on the staging server", data={"triggers": ["drop table"]})
    assert len(deep(memory)["merge_twins"].changed) == 1
    assert memory.get(old.id).data["triggers"] == ["vacuum", "drop table"]
    assert [hit.record.id for hit in memory.recall("shall I drop table users now?")] == [old.id]


def test_what_a_tool_attached_does_not_become_the_users(memory: Memory) -> None:
    mine = added(memory, "The printer on floor two needs black toner", importance=0.2, tags=["office"])
    tool = memory.through(replace(memory.access, origin="tool", actor="tool"))
    added(
        tool,
        "Black toner is needed by the printer on floor two",
        importance=1.0,
        tags=["urgent"],
        files=["passwords.txt"],
        data={"triggers": ["drop table"]},
    )
    assert len(deep(memory)["merge_twins"].changed) == 1
    kept = memory.get(mine.id)
    assert (kept.importance, kept.tags, kept.files, dict(kept.data)) == (0.2, ("office",), (), {})


def test_two_ways_of_doing_one_thing_stay_two(memory: Memory) -> None:
    for text, steps in (
        ("The payment service must be restarted on Friday", ["ssh pay1", "restart pay"]),
        ("On Friday the payment service must be restarted", ["drain traffic", "ssh pay1", "restart pay"]),
    ):
        added(memory, text, kind="procedure", data={"steps": steps})
    assert deep(memory)["merge_twins"].changed == () and memory.count() == 2


def test_never_across_scopes_nor_other_numbers(memory: Memory) -> None:
    added(memory, "We deploy to staging on Friday")
    added(memory, "On Friday we deploy to staging", scope="user/ann")
    added(memory, "The port is 8080", scope="global")
    added(memory, "The port is 8081", scope="global")
    assert deep(memory)["merge_twins"].changed == ()


def test_the_users_own_words_stay(memory: Memory) -> None:
    agents = memory.through(replace(memory.access, origin="agent", actor="bot"))
    older = agents.remember("We deploy to staging on Friday").record
    users = memory.through(replace(memory.access, origin="user", actor="ann"))
    newer = users.remember("On Friday we deploy to staging").record
    assert older is not None and newer is not None
    deep(memory)
    assert (memory.get(older.id).state, memory.get(newer.id).state) == ("superseded", "active")


@pytest.mark.covers("S4-22", "N4-5")
def test_what_was_undone_is_not_done_again(memory: Memory) -> None:
    for text in (
        "We deploy to staging on Friday",
        "On Friday we deploy to staging",
        "Note: we deploy to staging on Friday",
    ):
        added(memory, text)
    before = state(memory)
    first = deep(memory)
    assert len(first["merge_twins"].changed) == 2
    memory.undo(first["night"].batch)
    assert state(memory) == before
    assert deep(memory)["merge_twins"].changed == () and state(memory)[:3] == before[:3]


def test_what_is_said_in_a_longer_one_is_archived(memory: Memory) -> None:
    short = added(memory, "Ann is allergic to peanuts")
    added(memory, "Ann is allergic to peanuts, and carries an injector")
    pinned = added(memory, "Bob likes green tea", pinned=True)
    added(memory, "Bob likes green tea, without sugar")
    deep(memory)
    assert memory.get(short.id).state == "archived" and "longer" in (memory.get(short.id).reason or "")
    assert memory.get(pinned.id).state == "active"


TEXTS = st.lists(
    st.sampled_from(
        [
            "We deploy to staging on Friday", "On Friday we deploy to staging", "We deploy to staging on Monday",
            "Ann is allergic to peanuts", "Ann is allergic to peanuts and carries an injector", "Ann has a peanut allergy",
            "The search team is led by Ann", "Ann leads the search team", "Billing listens on port 8080",
            "Billing listens on port 9090", *HERONS, *INVOICES,
        ]
    ),
    min_size=2, max_size=16, unique=True,
)  # fmt: skip


@pytest.mark.covers("S4-22", "N4-4")
@settings(max_examples=rounds(500))
@given(texts=TEXTS, votes=st.lists(st.integers(0, 15), max_size=5))
def test_one_undo_restores_the_exact_state(texts: list[str], votes: list[int]) -> None:
    with Memory(":memory:", project="atlas", embed="static") as memory:
        for place, text in enumerate(texts):
            memory.remember(text, tags=[f"tag {place % 3}"], session=f"s{place % 4}")
        for vote in votes:
            memory.feedback(vote % len(texts) + 1, "useful")
        before = state(memory)
        done = deep(memory)
        batches = {report.batch for report in done.values() if report.batch}
        assert batches <= {done["night"].batch}, "one batch for all of it"
        if done["night"].batch:
            memory.undo(done["night"].batch)
        assert state(memory) == before and memory.audit().ok


# ---------------------------------------------------------------- asking


@pytest.mark.covers("S4-22", "N4-5")
def test_contradictions_are_put_to_a_person_and_the_answer_stays(memory: Memory) -> None:
    old = added(memory, "Billing listens on port 8080")
    new = added(memory, "Billing listens on port 9090")
    memory.unlink(new.id, old.id, "contradicts")  # as if nobody had seen it when it was written
    deep(memory)
    [asked] = memory.review()
    assert asked.verb == "contradiction" and {memory.get(each.id).state for each in (old, new)} == {"active"}
    memory.review(asked.id, decide="deny")
    assert [link.kind for link in memory.links(old.id)] == ["relates_to"] and memory.conflicts() == []
    deep(memory)
    assert memory.review() == [], "nobody is asked twice"


def test_an_approved_contradiction_is_closed_and_can_be_undone(memory: Memory) -> None:
    old, new = added(memory, "Billing listens on port 8080"), added(memory, "Billing listens on port 9090")
    deep(memory)
    [asked] = memory.review()
    done = memory.review(asked.id, decide="approve")
    assert (memory.get(old.id).state, memory.get(new.id).state) == ("superseded", "active")
    memory.undo(done.batch)  # type: ignore[union-attr]
    assert memory.get(old.id).state == "active"


@pytest.mark.parametrize("answer", [{"contradict": [1]}, {"contradict": [7]}, ChatFailed("broken", "it is down")])
def test_a_model_sees_contradictions_that_rules_do_not_and_its_failure_costs_nothing(answer: Any) -> None:
    chat = ScriptedChat(answer)
    with Memory(":memory:", project="atlas", embed="static", design=FLAGS, chat=chat) as memory:
        old = added(memory, "The door of the cellar sticks in winter")
        new = added(memory, "The door of the cellar closes like butter in winter")
        added(memory, "Billing listens on port 8080"), added(memory, "Billing listens on port 9090")
        assert not chat.asked, "nothing is asked while somebody waits"
        deep(memory)
        found = {frozenset((asked.details["a"], asked.details["b"])) for asked in memory.review()}
        assert chat.asked and (frozenset((old.id, new.id)) in found) is (answer == {"contradict": [1]})
        assert len(found) == 1 + (answer == {"contradict": [1]}), "what rules find is asked about in any case"
        assert any(name.startswith("contradiction ") for name in memory.status()["chat_outcomes"])


@pytest.mark.covers("S4-21")
def test_what_is_said_of_files_that_changed_is_asked_about(
    tmp_path: Path, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "atlas"
    folder.mkdir()
    (folder / "pay.py").write_text("one")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MEMORIST_DB", str(tmp_path / "memory.db"))
    with Memory(embed="static", clock=clock) as opened:
        memory = opened.through(replace(opened.access, origin="user", actor="ann"))
        about = added(memory, "Retries double their pause", files=["pay.py"])
        assert deep(memory)["verify"].advice is None
        (folder / "pay.py").write_text("two and more")
        deep(memory)
        [asked] = memory.review()
        assert asked.verb == "verify" and "pay.py" in asked.summary
        memory.review(asked.id, decide="deny")
        deep(memory)
        assert memory.review() == [] and memory.get(about.id).state == "active"
        (folder / "pay.py").write_text("three, and more than that")
        deep(memory)
        [again] = memory.review()
        memory.review(again.id, decide="approve")
        assert memory.get(about.id).state == "archived"


def of_tags(memory: Memory) -> list[Any]:
    return [each for each in memory.review() if each.verb == "tags"]


def test_tags_that_mean_the_same_are_asked_about(memory: Memory) -> None:
    for n, tag in enumerate(["database", "databases", "Database", "database", "ops"]):
        added(memory, f"{HERONS[n]} {tag}", tags=[tag])
    deep(memory)
    [asked] = of_tags(memory)
    assert "'database' (2)" in asked.summary
    done = memory.review(asked.id, decide="approve")
    assert memory.count({"tags": ["database"]}) == 4 and memory.count({"tags": ["Database", "databases"]}) == 0
    memory.undo(done.batch)  # type: ignore[union-attr]
    assert memory.count({"tags": ["databases"]}) == 1


def test_denied_tags_are_not_asked_about_again_after_one_more_memory(memory: Memory) -> None:
    for n, tag in enumerate(["deploy", "deploys", "ops"]):
        added(memory, HERONS[n], tags=[tag])
    deep(memory)
    [asked] = of_tags(memory)
    memory.review(asked.id, decide="deny")
    for text in INVOICES[:2]:  # now another one of the two is the more frequent
        added(memory, text, tags=["deploys"])
    deep(memory)
    assert of_tags(memory) == []
    added(memory, HERONS[3], tags=["Deploy"])
    deep(memory)
    assert len(of_tags(memory)) == 1, "a third one is another question"


def test_all_pairs_are_compared_once(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in (*HERONS, "We deploy to staging on Friday", "On Friday we deploy to staging"):
        added(memory, text)
    compared: list[frozenset[str]] = []
    real = twins._judged
    monkeypatch.setattr(
        twins, "_judged", lambda a, b, store: [compared.append(frozenset((a.id, b.id))), *real(a, b, store)][1:]
    )
    assert len(deep(memory)["merge_twins"].changed) == 1
    assert len(compared) == len(set(compared)) > 1


# ---------------------------------------------------------------- fading, clusters, links


@pytest.mark.covers("C4-9", "W4-6", "N4-1")
def test_what_fades_goes_by_the_confidence_of_today(memory: Memory, clock: MovableClock) -> None:
    agents = memory.through(replace(memory.access, origin="agent", actor="bot"))
    faint = agents.remember("The build took nine minutes", kind="progress", confidence=1.0).record
    again = agents.remember("The lint took two minutes", kind="progress", confidence=1.0).record
    for _ in range(2):
        agents.remember("The lint took two minutes", kind="progress")
    users = added(memory, "The tests took one minute", kind="progress")
    assert faint is not None and again is not None
    clock.move(days=6)
    memory.upkeep()  # the clock moves in steps, or it would count as a jump
    for _ in range(9):
        clock.move(days=6)
        memory.remember(f"It is {clock().isoformat()}")
    deep(memory)
    assert memory.get(faint.id).state == "archived" and memory.get(faint.id).confidence == 1.0
    assert memory.get(again.id).state == "active" and memory.get(users.id).state == "active"


def heads(memory: Memory) -> dict[str, set[str]]:
    found = memory.list({"kind": "cluster", "state": "active"})
    return {head.id: {link.a for link in memory.links(head.id) if link.kind == "in_cluster"} for head in found}


@pytest.mark.covers("S4-5", "W4-11")
def test_clusters_are_replaced_and_never_add_up(memory: Memory, clock: MovableClock) -> None:
    birds = {added(memory, text).id for text in HERONS}
    bills = {added(memory, text).id for text in INVOICES}
    deep(memory)
    first = heads(memory)
    assert sorted(map(sorted, first.values())) == sorted(map(sorted, (birds, bills)))
    texts = [each.text for each in memory.list({"kind": "cluster"})]
    assert not any("heron" in text.lower() or "invoice" in text.lower() for text in texts), "no words of the members"
    assert deep(memory)["clusters"].changed == () and heads(memory) == first
    more = added(memory, "Herons rest by the bend of the river Werra").id
    deep(memory)
    assert set(heads(memory)) == set(first) and more in set().union(*heads(memory).values())
    memory.forget(where={"id": {"$in": sorted(bills)}})
    deep(memory)
    assert len(heads(memory)) == 1 and memory.count({"kind": "cluster"}) <= 2


def test_sessions_are_linked_within_bounds(memory: Memory) -> None:
    here = [added(memory, text, session=f"talk {place}") for place, text in enumerate(HERONS)]
    added(memory, "Herons rest by the bend of the river Spree")
    deep(memory)
    links = [[link for link in memory.links(each.id) if link.evidence == tidy.ACROSS] for each in here]
    assert any(links) and all(len(each) <= 3 for each in links)
    deep(memory)
    across = [[link for link in memory.links(each.id) if link.evidence == tidy.ACROSS] for each in here]
    assert across == links, "and no more come the night after"
    [first, *_] = next(filter(None, links))
    memory.unlink(first.a, first.b)
    deep(memory)
    assert not [link for link in memory.links(first.a) if link.b == first.b and link.kind == "relates_to"]


# ---------------------------------------------------------------- the night itself


@pytest.mark.covers("N4-3", "N4-5")
def test_the_order_and_the_report(memory: Memory) -> None:
    names = [job.name for job in night.jobs_of(memory.design)]
    assert names.index("merge_twins") < names.index("contradictions") < names.index("fade") < names.index("verify")
    [added(memory, text) for text in ("We deploy to staging on Friday", "On Friday we deploy to staging")]
    assert "last_night" not in memory.status()
    planned = deep(memory, dry_run=True)
    assert planned["merge_twins"].dry_run and len(planned["merge_twins"].changed) == 1 and memory.count() == 2
    assert planned["merge_twins"].changed[0].because == "it says the same as memory 1"
    done = deep(memory)["night"]
    assert [each.number for each in done.changed] == [2], "what its jobs changed"
    assert (
        done.advice is not None
        and "of 1 memory that changed, 1 went into another" in done.advice
        and "contradictions are open" in done.advice
    )
    assert "last_night" in memory.status() and deep(memory)["night"].batch is None


@pytest.mark.covers("N4-2")
def test_one_at_a_time_and_the_rest_waits(memory: Memory, clock: MovableClock) -> None:
    [added(memory, text) for text in ("We deploy to staging on Friday", "On Friday we deploy to staging")]
    caller = Caller(memory.access, memory._writer, memory._tools)
    keeper = runner.Runner(runner.keeper_of(caller), None)
    held = keeper.claim_night(night.NIGHT)
    assert held is not None
    [busy] = memory.upkeep(deep=True)
    assert "another process" in (busy.advice or "") and memory.count() == 2
    held.end(done=False)
    paused = night.sleep(memory.design, caller, stop=lambda: True)
    assert paused[-1].advice is not None and runner.LATER in paused[-1].advice and memory.count() == 2
    assert [each.detail for each in memory.doctor() if each.check == "night"], "one that was cut off is told"
    assert len(deep(memory)["merge_twins"].changed) == 1
    assert not [each for each in memory.doctor() if each.check == "night"]


@pytest.mark.covers("N4-4")
def test_a_run_that_was_cut_off_before_is_in_no_nights_batch(memory: Memory, clock: MovableClock) -> None:
    """As an upkeep leaves it that was killed after its first step."""
    [added(memory, text) for text in HERONS]
    earlier = memory.remember("What that upkeep did")
    then = clock()
    clock.move(minutes=5)
    with memory._writer.transaction():
        memory._writer.save_run(Run(0, memory.space, "clusters", "running", "dead", then, then, then, earlier.batch))
    [added(memory, text) for text in ("We deploy to staging on Friday", "On Friday we deploy to staging")]
    before = state(memory)
    done = deep(memory)
    assert {report.batch for report in done.values() if report.batch} == {done["night"].batch} != {earlier.batch}
    assert heads(memory), "the job itself was done"
    memory.undo(done["night"].batch)
    assert state(memory) == before and memory.get(earlier.id or 0).state == "active"
    assert not [run for run in memory._tools.store.runs(memory.space) if run.state == "running"]


@pytest.mark.covers("N4-2", "S4-21")
def test_a_quiet_time_starts_it_and_activity_makes_it_yield(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()
    seen: list[bool] = []

    def looking(self: Survey, who: Any, tools: Any) -> Any:
        begun.set()
        go_on.wait(60)
        seen.append(tools.over())
        return real(self, who, tools)

    real = Survey.__call__
    monkeypatch.setattr(Survey, "__call__", looking)
    design = replace(BALANCED, due=Due(idle=0.0005))
    with Memory(tmp_path / "m.db", project="atlas", embed="static", design=design) as memory:
        memory.remember("We deploy to staging on Friday")
        memory.remember("On Friday we deploy to staging")
        assert begun.wait(60), "nobody asked for it"
        memory.recall("deploy")  # activity
        go_on.set()
        patience = time.monotonic() + 60
        while memory.count() > 1 and time.monotonic() < patience:
            time.sleep(0.01)
        assert seen[0] is True, "the first one made way"
        assert memory.count() == 1, "the next quiet time went on with it"
        assert "quiet minutes" in memory.status()["upkeep_due"]


@dataclass(frozen=True)
class Fails:
    """A job that cannot be done."""

    name: ClassVar[str] = "fails"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        raise Invalid("this job is broken")


@pytest.mark.covers("N4-2")
def test_after_a_night_that_failed_the_next_one_waits_twice_as_long(clock: MovableClock) -> None:
    with Memory(":memory:", embed="none", clock=clock, design=replace(BALANCED, upkeep=(Fails(),))) as memory:
        slices, rests = memory._slices, []
        for _ in range(6):
            with pytest.raises(Invalid):
                slices._night(memory.design, memory.access)
            rests.append(slices._apart)
            assert slices._quiet_at(1) > time.monotonic() + slices._apart - 60, "however quiet it is"
        assert rests == [600, 1200, 2400, 4800, 7200, 7200]
        assert slices._night(BALANCED, memory.access) and slices._apart == 300, "one that went well makes it good"


@pytest.mark.covers("N4-2")
def test_a_night_leaves_a_model_to_those_who_wait_and_then_waits_longest(clock: MovableClock) -> None:
    chat = ScriptedChat({"contradict": []}, limits=ChatLimits(calls=1))
    design = replace(FLAGS, due=Due(idle=30))
    with Memory(":memory:", embed="static", clock=clock, design=design, chat=chat) as memory:
        memory.remember_many(["The build takes ten minutes on Mondays", "The build is slow on Mondays and takes hours"])
        deep(memory)
        assert chat.asked == [], "of one call nothing is to spare"
        assert memory.status()["chat_outcomes"] == {"contradiction over_budget": 1}
        assert memory._slices._night(design, memory.access) and memory._slices._apart == 7200
        memory._tools.chat.limits = ChatLimits(calls=100)
        deep(memory)
        assert len(chat.asked) == 1 and memory._slices._night(design, memory.access) and memory._slices._apart == 300


def test_above_so_many_memories_a_minute_is_enough(memory: Memory) -> None:
    slices = memory._slices
    [added(memory, text) for text in HERONS]
    assert slices._pause(Due(idle=30, above=5), memory.access) == 60
    assert slices._pause(Due(idle=30, above=50), memory.access) == 1800
    assert slices._pause(Due(above=50), memory.access) is None
    deep(memory)
    assert slices._pause(Due(idle=30, above=5), memory.access) is None, "nothing came since"


def test_a_plan_shows_what_it_would_ask(memory: Memory) -> None:
    added(memory, "Billing listens on port 8080"), added(memory, "Billing listens on port 9090")
    added(memory, HERONS[0], tags=["deploy"]), added(memory, INVOICES[0], tags=["deploys"])
    told = curated.slash(memory, "/consolidate plan").text
    assert "would ask: does [id:2]" in told and "let 'deploy' (1) stand for 'deploys' (1)" in told
    assert memory.review() == [], "nobody was asked"
    deep(memory)
    assert len(memory.review()) == 2
    assert "would ask" not in curated.slash(memory, "/consolidate plan").text


def test_by_a_slash_command(memory: Memory) -> None:
    [added(memory, text) for text in ("We deploy to staging on Friday", "On Friday we deploy to staging")]
    assert "merge_twins: 1" in curated.slash(memory, "/consolidate plan").text and memory.count() == 2
    answer = curated.slash(memory, "/consolidate")
    assert "merge_twins: 1" in answer.text and "undo" in answer.text and memory.count() == 1
    assert curated.slash(memory, "/consolidate plan").text == "nothing is to be done"
    with pytest.raises(Invalid):
        curated.slash(memory, "/consolidate everything")


@pytest.mark.covers("S4-21")
def test_sessions_that_were_left_open_come_first(memory: Memory, clock: MovableClock) -> None:
    session = memory.session("talk")
    session.turn("user", "Remember: we always deploy on Fridays")
    clock.move(hours=30)
    reports = [report.verb for report in memory.upkeep(deep=True)]
    assert "sessions" in reports and reports.index("sessions") < reports.index("merge_twins")
    assert memory.list({"kind": "session"})[0].data["state"] == "closed"


def test_after_ten_questions_about_tags_were_answered_the_others_are_asked(memory: Memory) -> None:
    for n in range(12):
        added(memory, f"Heron {n} rests here", tags=[f"bird{chr(97 + n)}x"])
        added(memory, f"Stork {n} rests there", tags=[f"Bird{chr(97 + n)}x"])
    found = []
    for _ in range(2):
        deep(memory)
        tags = [each for each in memory.review() if each.verb == "tags"]
        found.append(len(tags))
        for each in tags:
            memory.review(each.id, decide="deny")
    assert found == [10, 2]


class OutOfReach:
    """A model whose tally cannot be read."""

    ready = True
    share = None

    @property
    def limits(self) -> Any:
        raise StoreUnavailable("the store cannot be read")


def test_a_night_that_cannot_tell_what_is_left_of_the_day_is_given_back(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = memory._caller
    with pytest.raises(StoreUnavailable):
        night.sleep(BALANCED, replace(caller, tools=replace(caller.tools, chat=OutOfReach())))
    assert "another process" not in str(deep(memory)["night"].advice), "nobody has to wait for its lease"
    slices = memory._slices
    monkeypatch.setattr(slices, "_apart", 600.0)
    monkeypatch.setattr(slices, "_tools", replace(slices._tools, chat=OutOfReach()))
    with pytest.raises(StoreUnavailable), slices._nights_apart(slices._touched):
        pass  # a good one
    assert slices._apart == 300, "what comes after a good night makes it no bad one"
