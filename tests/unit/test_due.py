"""Upkeep that starts by itself: when it is due, one slice at a time, in nobody's way, and its errors are seen."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

from memorist import Memory
from memorist.access import Access, access_for
from memorist.design import Due, Proposal, Tools
from memorist.designs import BALANCED
from memorist.remember.edit import archived
from memorist.store.where import Where
from memorist.surfaces import settings
from memorist.surfaces.cli import watch
from memorist.surfaces.cli.verbs import Place
from memorist.surfaces.cli.watch import times
from memorist.testing import MovableClock
from memorist.upkeep import cron, due
from memorist.upkeep.runner import Runner
from surfaces.conftest import Cli

NEVER = timedelta(0)


@dataclass(frozen=True)
class ForgetStale:
    """Archives what bears the tag `stale`; `before` happens while it thinks."""

    before: Callable[[], object] = lambda: None
    seen: list[str] = field(default_factory=list)
    name: ClassVar[str] = "forget stale"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        self.seen.append(threading.current_thread().name)
        self.before()
        where = Where.of(who, {"tags": ["stale"], "state": "active"})
        ids = [brief.id for brief in tools.store.briefs(where)]
        return Proposal("forgotten", partial(archived, because="stale"), "stale", ids)


@pytest.fixture(autouse=True)
def enough_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the usual time of a slice is over before its first step."""
    monkeypatch.setattr(due, "SLICE", 60.0)


def looked_after(place: Any, when: Due, job: ForgetStale, clock: MovableClock) -> Memory:
    return Memory(place, design=replace(BALANCED, upkeep=(job,), due=when), clock=clock)


def rested(memory: Memory) -> Memory:
    """Waits for the slice that was started, and lets it be forgotten how long it took."""
    memory._slices.join(60)
    memory._slices._rests_until = 0.0
    return memory


def stale(memory: Memory, count: int = 1) -> None:
    memory.remember_many([{"text": f"Nest {n} of {time.monotonic()}", "tags": ["stale"]} for n in range(count)])


def test_a_design_without_a_due_slot_starts_nothing(memory: Memory) -> None:
    for n in range(200):
        memory.recall(f"what {n}")
    assert memory._slices._thread is None and memory.status()["upkeep_due"] == "when it is called"


def test_on_opening(place: Any, clock: MovableClock) -> None:
    job = ForgetStale()
    with looked_after(place, Due(on_open=True), job, clock) as memory:
        rested(memory)
        assert job.seen == ["memorist upkeep"], "in a thread of its own"
        memory.recall("nothing")
        rested(memory)
        assert len(job.seen) == 1
        assert memory.status()["upkeep_due"] == "on opening"


def test_every_so_many_recalls_and_writes(place: Any, clock: MovableClock) -> None:
    job = ForgetStale()
    with looked_after(place, Due(uses=5), job, clock) as memory:
        stale(memory, 2)
        memory.recall("nest")
        memory.recall("nest")
        assert rested(memory).count() == 2 and job.seen == []
        memory.remember("The fifth use")
        assert rested(memory).count() == 1 and len(job.seen) == 1
        for _ in range(4):
            memory.explain("nest")
        assert rested(memory) and len(job.seen) == 1
        memory.recall("nest")
        assert rested(memory) and len(job.seen) == 2


def test_some_hours_after_the_last_run_whoever_made_it(place: Any, clock: MovableClock) -> None:
    job = ForgetStale()
    with looked_after(place, Due(hours=24), job, clock) as memory:
        assert rested(memory) and len(job.seen) == 1, "there was never one"
        clock.move(hours=23)
        memory.recall("nest")
        assert rested(memory) and len(job.seen) == 1
        memory.upkeep()
        clock.move(hours=23)
        memory.recall("nest")
        assert rested(memory) and len(job.seen) == 2, "the one that was called counts"
        clock.move(hours=2)
        memory.recall("nest")
        assert rested(memory) and len(job.seen) == 3
        clock.move(days=-400)
        memory.recall("nest")
        assert rested(memory) and len(job.seen) == 4, "a run in the future says nothing"


def test_one_slice_at_a_time_and_a_pause_after_it(place: Any, clock: MovableClock) -> None:
    gate = threading.Event()
    job = ForgetStale(before=lambda: gate.wait(60))
    with looked_after(place, Due(uses=1), job, clock) as memory:
        for _ in range(20):
            memory.recall("nest")
        patience = time.monotonic() + 60
        while not job.seen and time.monotonic() < patience:  # a busy machine lets the thread wait
            time.sleep(0.001)
        assert len(job.seen) == 1
        gate.set()
        memory._slices.join(60)
        for _ in range(20):
            memory.recall("nest")
        assert len(job.seen) == 1, "it took long, so there is a pause"
        assert memory._slices._rests_until > time.monotonic()


def test_upkeep_that_is_called_does_not_find_its_own_slice_at_work(
    place: Any, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimed, gate, claim = threading.Event(), threading.Event(), Runner._claim

    def claim_and_wait(self: Runner, space: str, job: Any) -> Any:
        run = claim(self, space, job)
        if threading.current_thread().name == "memorist upkeep":
            claimed.set()
            gate.wait(60)
        return run

    monkeypatch.setattr(Runner, "_claim", claim_and_wait)
    job = ForgetStale()
    with looked_after(place, Due(uses=1), job, clock) as memory:
        stale(memory, 150)
        assert claimed.wait(60)
        threading.Timer(0.1, gate.set).start()
        report = next(report for report in memory.upkeep() if report.verb == job.name)
        assert memory.count() == 0 and report.advice is None


def test_a_slice_is_short_and_the_next_goes_on(
    place: Any, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = ForgetStale()
    with looked_after(place, Due(uses=1000), job, clock) as memory:
        stale(memory, 400)
        monkeypatch.setattr(due, "SLICE", 0.002)
        slices = 0
        while memory.count():
            memory._slices._start(memory.design, memory.access)
            rested(memory)
            slices += 1
            assert slices < 1000  # a slow machine has time for one of them in a slice
        assert slices > 1
        batches = {event.batch for event in memory._tools.store.journal(limit=400)}
        assert len(batches) == 1, "one run, whatever it is cut into"
        memory.undo(batches.pop())
        assert memory.count() == 400


def test_jobs_take_turns_to_be_first(clock: MovableClock) -> None:
    first: list[str] = []

    @dataclass(frozen=True)
    class Named(ForgetStale):
        name: str = "x"  # type: ignore[misc]

        def propose(self, who: Access, tools: Tools) -> Proposal:
            first.append(self.name)
            return super().propose(who, tools)

    jobs = tuple(Named(name=name) for name in "abc")
    with Memory(":memory:", design=replace(BALANCED, upkeep=jobs, due=Due(uses=1)), clock=clock) as memory:
        for _ in range(3):
            memory.recall("nest")
            rested(memory)
    assert "".join(first) == "abcbcacab"


def test_what_goes_wrong_is_seen_in_the_status_and_nowhere_else(place: Any, clock: MovableClock) -> None:
    trouble = [True]

    def fail() -> None:
        if trouble:
            raise ZeroDivisionError("the job has a fault")

    with looked_after(place, Due(uses=1), ForgetStale(before=fail), clock) as memory:
        memory.recall("nest")
        assert rested(memory).status()["upkeep_problem"] == "ZeroDivisionError: the job has a fault"
        trouble.clear()
        memory.recall("nest")
        assert "upkeep_problem" not in rested(memory).status()


def test_closing_does_not_wait_for_a_slice(place: Any, clock: MovableClock) -> None:
    begun, gate = threading.Event(), threading.Event()
    job = ForgetStale(before=lambda: (begun.set(), gate.wait(60)))
    memory = looked_after(place, Due(uses=1), job, clock)
    stale(memory, 50)
    assert begun.wait(60)
    slice = memory._slices._thread
    memory.close()
    assert slice and slice.is_alive()
    gate.set()
    memory._slices.join(60)
    assert memory._slices.problem is None, "that the memory was closed is no fault"
    if place != ":memory:":
        with Memory(place) as again:
            assert again.audit().ok and again.count() == 50


def test_a_caller_does_not_wait_for_a_slice(place: Any, clock: MovableClock) -> None:
    begun, gate = threading.Event(), threading.Event()
    job = ForgetStale(before=lambda: (begun.set(), gate.wait(60)))
    with looked_after(place, Due(uses=1), job, clock) as memory:
        memory.recall("nest")
        assert begun.wait(60)
        slice = memory._slices._thread
        memory.remember("Meanwhile")
        memory.recall("meanwhile")
        assert slice and slice.is_alive()
        gate.set()


def test_not_for_readers_not_when_off_not_where_nothing_may_be_written(
    tmp_path: Path, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = ForgetStale()
    path = tmp_path / "memory.db"
    with looked_after(path, Due(), job, clock) as memory:
        memory.design = replace(memory.design, due=Due(uses=1))
        for role in ("reader", "skill"):
            memory.through(access_for(role, "project/default")).recall("nest")
        settings.switch(True)
        memory._slices.used(memory.design, memory.access)
        settings.switch(False)
        monkeypatch.setattr(type(memory._tools.store), "writable", False)
        memory.recall("nest")
        assert rested(memory) and job.seen == []


def test_what_it_did_is_told_on_the_bus(clock: MovableClock) -> None:
    with looked_after(":memory:", Due(uses=3), ForgetStale(), clock) as memory:
        told: list[Any] = []
        memory.bus.listen(lambda _, facts: told.append(facts["outcome"]), "memory:write")
        stale(memory, 2)
        memory.recall("nest")
        rested(memory)
        assert told == ["added", "added", "forget stale", "forget stale"]


# ---------------------------------------------------------------- in the foreground


def ticking(clock: MovableClock, most: int) -> Callable[[float], bool]:
    """Waits by moving the clock; after so many waits it is time to stop."""
    left = iter(range(most))

    def wait(seconds: float) -> bool:
        clock.move(seconds=seconds)
        return next(left, None) is None

    return wait


def test_a_watch_comes_at_the_times_of_its_schedule() -> None:
    clock = MovableClock(datetime(2026, 3, 14, 9, 26, 30, tzinfo=UTC))
    found = [moment.strftime("%d %H:%M") for moment in times(cron.parse("0 */8 * * *"), clock, ticking(clock, 4000))]
    assert found[:4] == ["14 16:00", "15 00:00", "15 08:00", "15 16:00"]


def test_what_was_slept_through_comes_once() -> None:
    clock = MovableClock(datetime(2026, 3, 14, 9, 26, tzinfo=UTC))
    lengths = iter([60, 3 * 86_400, 60, 60])

    def asleep(seconds: float) -> bool:
        clock.move(seconds=next(lengths))
        return False

    found: Iterator[datetime] = times(cron.parse("* * * * *"), clock, asleep)
    assert [next(found).strftime("%d %H:%M") for _ in range(3)] == ["14 09:27", "14 09:28", "17 09:28"]


def test_a_clock_that_is_set_back_does_not_stop_the_watch() -> None:
    clock = MovableClock(datetime(2026, 3, 14, 9, 26, tzinfo=UTC))
    lengths = iter([-3650 * 86_400, 30 * 60, 60 * 60])

    def set_back(seconds: float) -> bool:
        clock.move(seconds=next(lengths))
        return False

    assert next(times(cron.parse("0 * * * *"), clock, set_back)).year == 2016


def test_the_watch_comes_to_an_end_with_jobs_that_think_longer_than_a_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: MovableClock
) -> None:
    slow = [ForgetStale(partial(time.sleep, 0.06)) for _ in range(2)]
    rounds = iter(range(20))  # it went on for ever
    with Memory(tmp_path / "memory.db", design=replace(BALANCED, upkeep=tuple(slow)), clock=clock) as memory:
        memory.remember("Alpha")
        monkeypatch.setattr(watch, "PIECE", 0.03)
        monkeypatch.setattr(watch, "opened", lambda place: nullcontext(memory))
        stop = threading.Event()
        monkeypatch.setattr(stop, "is_set", lambda: next(rounds) < 0)
        watch._look_after(Place(), {}, stop)
        assert all(job.seen for job in slow)


def test_the_watch_outlives_a_day_on_which_nothing_can_be_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMORIST_OFF", "1")
    watched = Place(str(tmp_path / "memory.db")), {}, threading.Event()
    watch._try(*watched)
    assert "memory is off" in capsys.readouterr().err
    monkeypatch.delenv("MEMORIST_OFF")
    watch._try(*watched)
    assert "memory is off" not in capsys.readouterr().err


@pytest.mark.parametrize("signal", ["SIGINT", "SIGTERM"])
def test_the_watch_of_the_command_line_stops_cleanly(tmp_path: Path, signal: str) -> None:
    import signal as signals

    cli = Cli(tmp_path, {"MEMORIST_DB": str(tmp_path / "memory.db")})
    child = cli.start("upkeep", "--watch", "0 4 * * *")
    assert child.stderr is not None
    assert b"upkeep at 0 4 * * * (UTC), next" in child.stderr.readline()
    child.send_signal(getattr(signals, signal))
    _, err = child.communicate(timeout=120)
    assert (child.returncode, err) == (0, b"")
    for said, wanted in ((), b"0 4 * * *"), (("--json",), b"30 5 * * *"):
        child = cli.start("upkeep", "--watch", *said)
        assert child.stderr is not None and b"upkeep at " + wanted + b" (UTC)" in child.stderr.readline()
        child.send_signal(getattr(signals, signal))
        assert child.communicate(timeout=120) and child.returncode == 0
        cli("config", "set", "prune_schedule", "30 5 * * *")
    wrong = cli("upkeep", "--watch", "0 4 * *")
    assert wrong.code == 2 and "five fields" in wrong.err
