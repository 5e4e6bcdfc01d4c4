"""What time decides: candidates that helped are confirmed, what nobody needs is archived, and a store keeps within bounds."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist import Memory
from memorist.design import Design, Job, Promotion
from memorist.designs import BALANCED, own
from memorist.errors import Invalid
from memorist.kinds import KINDS, Kind
from memorist.records import Link, Report
from memorist.scoring import QUARANTINE, proved, quarantine
from memorist.store.nouns import Commit
from memorist.store.where import Where
from memorist.testing import START, MovableClock, a_record
from memorist.upkeep.retain import Expire, Retain, Settle
from memorist.upkeep.runner import jobs_of


def run(memory: Memory, job: Job, dry_run: bool = False) -> Report:
    memory.design = replace(BALANCED, upkeep=(job,))
    return next(report for report in memory.upkeep(dry_run=dry_run) if report.verb == job.name)


def wait(clock: MovableClock, memory: Memory, **time: float) -> None:
    """Time goes by while the store is in use, so that nobody takes it for a jump of the clock."""
    days = timedelta(**time) / timedelta(days=1)
    while days > 0:
        clock.move(days=min(days, 5.0))
        days -= 5.0
        memory.remember("a tick of the clock", kind="turn", session="ticks", role="assistant")


def candidate(memory: Memory, text: str = "Staging runs Postgres 16", origin: Any = "agent", **more: Any) -> str:
    """A candidate in the project, as promotion leaves one."""
    who = memory.through(replace(memory.access, origin=origin))
    [outcome] = who.remember_many([{"text": text, "doubtful": True, **more}])
    assert outcome.id is not None and outcome.record is not None and outcome.record.status == "candidate"
    return outcome.id


# ---------------------------------------------------------------- quarantine


@pytest.mark.covers("S3-21", "W3-2")
def test_a_candidate_that_helped_is_confirmed_when_its_day_is_over(memory: Memory, clock: MovableClock) -> None:
    id = candidate(memory)
    clock.move(hours=1)
    memory.feedback(id, "useful")
    clock.move(hours=22)
    assert run(memory, Settle()).changed == ()
    clock.move(hours=2)
    assert [each.id for each in run(memory, Settle()).changed] == [id]
    assert memory.get(id).status == "confirmed"
    assert memory.history(id)[-1].verb == "confirmed"
    for _ in range(3):
        assert run(memory, Settle()).changed == ()


@pytest.mark.covers("S3-21", "W3-9", "X9")
def test_being_shown_proves_nothing(memory: Memory, clock: MovableClock) -> None:
    id = candidate(memory)
    for _ in range(10):
        clock.move(hours=3)
        assert len(memory.recall("what does staging run?")) == 1
    memory._writer.flush()
    assert memory.get(id).counters.surfaced == 10
    assert run(memory, Settle()).changed == ()
    assert memory.get(id).status == "candidate"


@pytest.mark.covers("S3-21", "Z3")
def test_what_nobody_vouches_for_waits_for_a_person_however_often_it_is_used(
    memory: Memory, clock: MovableClock
) -> None:
    id = candidate(memory, origin="import")
    for _ in range(10):
        clock.move(hours=6)
        memory.feedback(id, "useful")
    report = run(memory, Settle())
    assert report.changed == () and "1 of low trust wait for a person" in str(report.advice)
    record = memory.get(id)
    assert (record.status, record.trust) == ("candidate", "low")
    memory.through(replace(memory.access, origin="user")).promote(id)
    assert (memory.get(id).status, memory.get(id).trust) == ("confirmed", "high"), "it is the user's word now"


def test_what_was_found_wrong_is_not_confirmed(memory: Memory, clock: MovableClock) -> None:
    id = candidate(memory)
    memory.feedback(id, "useful")
    memory.feedback(id, "wrong")
    clock.move(days=2)
    assert run(memory, Settle()).changed == ()
    memory.feedback(id, "useful")
    assert len(run(memory, Settle()).changed) == 1


def test_help_that_came_late_counts_too(memory: Memory, clock: MovableClock) -> None:
    id = candidate(memory)
    wait(clock, memory, days=10)
    assert run(memory, Settle()).changed == ()
    memory.feedback(id, "useful")
    assert len(run(memory, Settle()).changed) == 1


def test_a_finding_is_promoted_before_it_is_confirmed(memory: Memory, clock: MovableClock) -> None:
    [outcome] = memory.extract("We decided to use Postgres 16 for staging.", session="s1")
    memory.feedback(str(outcome.id), "useful")
    clock.move(days=2)
    assert run(memory, Settle()).changed == ()


@pytest.mark.covers("S3-21")
def test_the_price_of_helping_nobody_is_computed_and_never_stored(memory: Memory, clock: MovableClock) -> None:
    id = candidate(memory, importance=0.5)
    assert quarantine(memory.get(id), clock(), {}) == 1.0
    clock.move(days=1)
    for _ in range(5):
        run(memory, Settle())
        assert quarantine(memory.get(id), clock(), {}) == 0.8
    assert memory.get(id).importance == 0.5
    memory.feedback(id, "useful")
    assert quarantine(memory.get(id), clock(), {}) == 1.0


@given(
    status=st.sampled_from(["candidate", "confirmed"]), trust=st.sampled_from(["low", "medium", "high"]),
    hours=st.floats(0, 100), used=st.one_of(st.none(), st.floats(-10, 100)), down=st.integers(0, 3), up=st.integers(0, 3),
)  # fmt: skip
def test_only_a_trusted_candidate_that_helped_and_waited_is_proved(
    status: Any, trust: Any, hours: float, used: float | None, down: int, up: int
) -> None:
    now = START + timedelta(hours=hours)
    times = replace(a_record("x").times, updated=START, used=None if used is None else START + timedelta(hours=used))
    counters = replace(a_record("x").counters, used=0 if used is None else 1 + up, up=up, down=down)
    record = replace(a_record("x"), status=status, trust=trust, times=times, counters=counters)
    if proved(record, now):
        assert status == "candidate" and trust != "low" and now - START >= QUARANTINE
        assert times.used is not None and times.used >= START and down < 1 + up
    assert quarantine(record, now, {}) in (0.8, 1.0)


# ---------------------------------------------------------------- expiry


@pytest.mark.covers("S3-29")
def test_the_days_are_the_documents_own() -> None:
    wanted = {
        "progress": 14, "note": 21, "file_change": 21, "warning": 30, "decision": 90, "error": 90, "pattern": 180,
        "architecture": 180, "preference": 365,
    }  # fmt: skip
    assert {name: KINDS[name].ttl_days for name in wanted} == wanted


@pytest.mark.covers("S3-29", "X5")
@pytest.mark.parametrize(("kind", "days"), [("progress", 14), ("note", 21), ("warning", 30), ("decision", 90)])
def test_what_nobody_used_goes_to_the_archive_when_its_time_is_over(
    memory: Memory, clock: MovableClock, kind: str, days: int
) -> None:
    memory.remember("The importer is half done", kind=kind)
    wait(clock, memory, days=days)
    assert run(memory, Expire()).changed == ()
    wait(clock, memory, days=0.1)
    assert len(run(memory, Expire(), dry_run=True).changed) == 1
    [gone] = run(memory, Expire()).changed
    record = memory.get(gone.id)
    assert (record.state, record.reason) == ("archived", f"expired: a {kind} that nobody needed for {days} days")
    assert run(memory, Expire()).changed == ()
    memory.restore(gone.id)
    assert run(memory, Expire()).changed == ()  # somebody wants it
    assert memory.get(gone.id).state == "active"


@pytest.mark.covers("S3-29", "W3-9", "X9")
def test_three_uses_save_it_and_a_hundred_showings_do_not(memory: Memory, clock: MovableClock) -> None:
    for text in ("The importer needs a lock", "The exporter needs a lock", "The parser needs a lock"):
        memory.remember(text, kind="note")
    for _ in range(3):
        memory.feedback(1, "useful")
    for _ in range(2):
        memory.feedback(2, "useful")
    for _ in range(100):
        memory.recall("parser lock")
    wait(clock, memory, days=22)
    assert [each.number for each in run(memory, Expire()).changed] == [2, 3]
    assert memory.get(1).state == "active"


@pytest.mark.covers("S3-29")
def test_a_use_starts_the_clock_anew(memory: Memory, clock: MovableClock) -> None:
    memory.remember("The importer needs a lock", kind="note")
    wait(clock, memory, days=20)
    memory.feedback(1, "useful")
    wait(clock, memory, days=20)
    assert run(memory, Expire()).changed == ()
    wait(clock, memory, days=2)
    assert len(run(memory, Expire()).changed) == 1


@pytest.mark.covers("W3-7", "S3-29")
def test_what_the_user_said_and_what_is_pinned_does_not_expire(memory: Memory, clock: MovableClock) -> None:
    user = memory.through(replace(memory.access, origin="user"))
    user.remember("Never deploy on Fridays", kind="warning")
    memory.remember("The cache must be warm", kind="warning", pinned=True)
    memory.remember("The disk fills up on Mondays", kind="warning")
    wait(clock, memory, days=400)
    assert [each.number for each in run(memory, Expire()).changed] == [3]


@pytest.mark.covers("S0-16", "S0-23")
def test_what_lies_in_global_stays_until_somebody_clears_it(memory: Memory, clock: MovableClock) -> None:
    memory.remember("Retry with jitter", kind="note", scope="global")
    wait(clock, memory, days=800)
    assert run(memory, Expire()).changed == ()
    assert run(memory, Retain(max_items=1, ttl_days=1, min_confidence=1.0)).changed == ()


def test_kinds_without_a_time_stay_and_a_users_own_kind_has_its_own(tmp_path: Any, clock: MovableClock) -> None:
    kinds = {"recipe": Kind("recipe", ttl_days=10)}
    with Memory(tmp_path / "m.db", project="atlas", clock=clock, kinds=kinds) as memory:
        memory.remember("Water boils at 100 degrees", kind="fact")
        memory.remember("Bread needs salt", kind="recipe")
        memory.remember("Hello there", kind="turn", session="s", role="user")
        wait(clock, memory, days=11)
        assert [each.number for each in run(memory, Expire()).changed] == [2]


def test_a_finding_does_not_wait_in_its_session_for_ever(memory: Memory, clock: MovableClock) -> None:
    memory.extract("We decided to use Postgres 16 for staging.", session="s1")
    wait(clock, memory, days=22)
    assert len(run(memory, Expire()).changed) == 1


@pytest.mark.covers("P16")
def test_nothing_expires_when_the_clock_jumped(memory: Memory, clock: MovableClock) -> None:
    memory.remember("The importer is half done", kind="progress")
    clock.move(days=4000)
    for job in (Expire(), Retain(ttl_days=10, min_confidence=0.5)):
        report = run(memory, job)
        assert report.changed == () and "the clock went forward" in str(report.advice)


# ---------------------------------------------------------------- bounds


def fill(memory: Memory, count: int) -> None:
    memory.remember_many(
        [{"text": f"Fact {n}: shelf {n} holds box {n * 3}", "importance": (n % 10) / 10} for n in range(count)]
    )


@pytest.mark.covers("S0-13", "W0-4", "X6")
def test_above_the_limit_the_least_worth_go_down_to_nine_tenths(memory: Memory, clock: MovableClock) -> None:
    fill(memory, 101)
    memory.pin(1)
    clock.move(days=2)
    [outcome] = memory.remember_many([{"text": "This one was just written", "importance": 0.0}])
    report = run(memory, Retain(max_items=100))
    assert memory.count({"scope": "project/atlas"}) == 90
    assert memory.get(1).state == "active" and memory.get(str(outcome.id)).state == "active"
    gone = [memory.get(each.id) for each in report.changed]
    kept = memory.list({"scope": "project/atlas", "pinned": False}, limit=1000)
    least = min(record.importance for record in kept if record.id != outcome.id)
    assert max(record.importance for record in gone) <= least
    assert all(record.reason is not None and record.reason.startswith("evicted") for record in gone)
    for _ in range(3):
        assert run(memory, Retain(max_items=100)).changed == ()
    memory.undo(report.batch)
    assert memory.count({"scope": "project/atlas"}) == 102


@pytest.mark.covers("S3-30")
def test_three_thousand_become_two_thousand_seven_hundred(clock: MovableClock) -> None:
    with Memory(":memory:", project="atlas", clock=clock, embed="none") as memory:
        fill(memory, 3001)
        memory.feedback(11, "useful")
        clock.move(days=2)
        memory.feedback(21, "useful")
        run(memory, Retain(max_items=3000))
        assert memory.count() == 2700
        assert memory.get(21).state == "active"  # used within a day
        assert run(memory, Retain(max_items=3000)).changed == ()


@pytest.mark.covers("X6")
def test_each_rule_is_off_or_a_number(memory: Memory, clock: MovableClock) -> None:
    fill(memory, 20)
    memory.remember("Half believed", confidence=0.1)
    memory.remember("Believed and said again", confidence=0.1)
    for _ in range(2):
        memory.remember("Believed and said again", confidence=0.1)
    clock.move(days=2)
    assert run(memory, Retain()).changed == ()
    assert [each.number for each in run(memory, Retain(min_confidence=0.2), dry_run=True).changed] == [21]
    room = sum(brief.bytes for brief in memory._tools.store.briefs(memory._where(None)))
    by_size = run(memory, Retain(max_bytes=room // 2), dry_run=True).changed
    assert 9 < len(by_size) < 16
    memory.feedback(1, "useful")
    wait(clock, memory, days=30)
    assert len(run(memory, Retain(ttl_days=31), dry_run=True).changed) == 21
    assert len(run(memory, Retain(ttl_days=40), dry_run=True).changed) == 0


@pytest.mark.covers("X6")
def test_confidence_falls_by_true_half_lives(memory: Memory, clock: MovableClock) -> None:
    memory.remember("A fact halves in 30 days", confidence=0.8)
    wait(clock, memory, days=60)  # 0.8 → 0.2
    assert run(memory, Retain(min_confidence=0.19)).changed == ()
    assert len(run(memory, Retain(min_confidence=0.21)).changed) == 1


def superseding_both_active(memory: Memory, newer: int, older: int) -> None:
    """A link as 0.1.0 made it: it left the older one active."""
    store = memory._tools.store
    with store.transaction():
        store.write(Commit(links=[Link(memory.get(newer).id, memory.get(older).id, "supersedes")]))


@pytest.mark.covers("X6")
def test_the_head_of_a_chain_stays_while_its_tail_is_active(memory: Memory, clock: MovableClock) -> None:
    memory.remember("How the old export worked", importance=0.9)
    memory.remember("How the new export works", importance=0.0)
    superseding_both_active(memory, 2, 1)
    clock.move(days=2)
    assert [each.number for each in run(memory, Retain(max_items=1), dry_run=True).changed] == [1]
    memory.forget(1)
    clock.move(days=2)
    memory.remember("Another one altogether", importance=0.9)
    clock.move(days=2)
    assert [each.number for each in run(memory, Retain(max_items=1)).changed] == [2, 3]


def test_each_scope_counts_for_itself_and_only_those_of_the_families(memory: Memory, clock: MovableClock) -> None:
    for scope in ("project/atlas", "task/1", "user/ann"):
        memory.remember_many([{"text": f"Fact {n} of {scope} is {n * 7}", "scope": scope} for n in range(10)])
    clock.move(days=2)
    assert run(memory, Retain(max_items=10)).changed == ()
    run(memory, Retain(max_items=5, families=("project", "task")))
    assert memory._tools.store.count(Where(memory.access).also("state", "eq", "active")) == {
        "project/atlas": 4, "task/1": 4, "user/ann": 10,
    }  # fmt: skip


def test_turns_and_stories_are_not_counted_and_not_archived(memory: Memory, clock: MovableClock) -> None:
    for n in range(20):
        memory.remember(f"Hello number {n}", kind="turn", session="s", role="user")
        memory.remember(f"Story number {n}", kind="narrative")
    clock.move(days=2)
    assert run(memory, Retain(max_items=5, min_confidence=1.0, ttl_days=1)).changed == ()


def test_what_was_used_since_the_proposal_is_left(memory: Memory, clock: MovableClock) -> None:
    fill(memory, 10)
    clock.move(days=2)
    proposal = Retain(max_items=5).propose(memory.access.over_the_space("upkeep"), memory._tools)
    first = memory.get(proposal.ids[0])
    memory.feedback(first.id, "useful")
    with pytest.raises(Exception, match="was changed or used in the meantime"):
        proposal.edit(memory.get(first.id))


@pytest.mark.covers("X6", "W0-4")
@given(
    count=st.integers(0, 25), limit=st.integers(1, 25), pinned=st.sets(st.integers(1, 25), max_size=6),
    used=st.sets(st.integers(1, 25), max_size=6), confidence=st.one_of(st.none(), st.floats(0, 1)),
)  # fmt: skip
def test_whatever_the_rules_a_second_run_does_nothing_and_the_guard_holds(
    count: int, limit: int, pinned: set[int], used: set[int], confidence: float | None
) -> None:
    clock = MovableClock()
    job = Retain(max_items=limit, min_confidence=confidence)
    with Memory(":memory:", project="atlas", clock=clock, embed="none") as memory:
        fill(memory, count)
        clock.move(days=3)
        pinned, used = ({number for number in some if number <= count} for some in (pinned, used))
        for number in pinned:
            memory.pin(number)
        for number in used:
            memory.feedback(number, "useful")
        run(memory, job)
        assert run(memory, job).changed == ()
        assert all(memory.get(number).state == "active" for number in pinned | used)
        assert memory.count() <= max(limit, len(pinned | used))


def test_a_design_that_promotes_by_itself_has_a_job_for_it() -> None:
    assert [job.name for job in jobs_of(BALANCED)] == [job.name for job in BALANCED.upkeep]


# ---------------------------------------------------------------- the journal, and designs of one's own


@pytest.mark.covers("S3-32", "C3-9")
def test_every_act_is_in_the_journal_with_who_and_why_and_none_is_trimmed(memory: Memory, clock: MovableClock) -> None:
    user = memory.through(replace(memory.access, origin="user", actor="ann", surface="cli"))
    user.remember("Deploys run on Fridays", kind="note", scope="task/1")
    user.promote(1, because="it holds for all tasks")
    user.pin(1)
    user.unpin(1)
    user.forget(1)
    id = candidate(memory, "Staging runs Postgres 16", kind="note")
    memory.feedback(id, "useful")
    clock.move(days=2)
    run(memory, Settle())
    wait(clock, memory, days=22)
    run(memory, Expire())
    fill(memory, 3)
    clock.move(days=2)
    run(memory, Retain(max_items=1))
    assert [(e.verb, e.actor, e.surface) for e in memory.history(1)] == [
        (verb, "ann", "cli") for verb in ("added", "promoted", "pinned", "unpinned", "forgotten")
    ]
    told = [(event.verb, event.surface) for event in memory.history(id)]
    assert told == [("added", "library"), ("feedback", "library"), ("confirmed", "upkeep"), ("expired", "upkeep")]
    evicted = [event for event in memory._tools.store.journal(limit=100) if event.verb == "evicted"]
    assert evicted and all(event.because and event.surface == "upkeep" for event in evicted)
    assert memory.audit().ok


def design_in(folder: Path, text: str) -> Design:
    file = folder / "mine.toml"
    file.write_text(text, encoding="utf-8")
    return own.load(file)


@pytest.mark.covers("X6", "X4")
def test_a_design_of_ones_own_says_what_is_kept_and_what_is_promoted(tmp_path: Path) -> None:
    text = """base = "balanced"
jobs = ["settle", "expire", "retain"]
[upkeep.retain]
max_items = 1000
max_size = "off"
min_confidence = 0.05
families = ["project", "task"]
[promotion]
mode = "auto"
preset = "conservative"
"""
    mine = design_in(tmp_path, text)
    rules = Retain(max_items=1000, min_confidence=0.05, families=("project", "task"))
    assert mine.upkeep == (Settle(), Expire(), rules)
    assert mine.promotion == Promotion("auto", "conservative")
    again = design_in(tmp_path, own.text_of(mine))
    assert (again.upkeep, again.promotion, again.due) == (mine.upkeep, mine.promotion, mine.due)
    assert [job.name for job in jobs_of(mine)] == ["promote", "settle", "expire", "retain"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[promotion]\nmode = 'magic'", "must be manual or propose or auto"),
        ("[promotion]\npreset = 'bold'", "must be conservative or balanced or aggressive"),
        ("[promotion]\npoints = 3", "keys are mode, preset"),
        ("promotion = 'auto'", "must be a table with mode, preset"),
        ("jobs = ['retain']\n[upkeep.retain]\nmax_items = 0", 'whole number from 1 .*; or "off"'),
        ("jobs = ['retain']\n[upkeep.retain]\nmin_confidence = 2", 'from 0 to 1, not 2; or "off"'),
        ("jobs = ['retain']\n[upkeep.retain]\nttl_days = nan", 'or "off"'),
        (
            "jobs = ['retain']\n[upkeep.retain]\nfamilies = ['global']",
            "it is one of project, session, user, task, agent",
        ),
        ("jobs = ['settle']\n[upkeep.settle]\nhours = 3", "keys are none"),
    ],
)
def test_what_a_design_cannot_say_is_refused_with_what_it_can(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        design_in(tmp_path, f'base = "balanced"\n{text}\n')
