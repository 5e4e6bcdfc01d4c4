"""The one runner of upkeep. A job proposes; the runner shows the proposal, or applies it in short transactions.

    propose → claim → step, step, … (changes, journal and checkpoint in one transaction) → done

A run is a row in the store. A process that is killed leaves it behind with a lease that expires. The next process takes the
run over, proposes what is left, and continues in the same batch, so that one `undo` takes back the whole run.
"""

import gc
import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import ClassVar

from memorist.access import Access
from memorist.design import Design, Job, Promotion, Proposal, Tools, told
from memorist.errors import MemoristError
from memorist.records import Report
from memorist.remember.changes import Caller
from memorist.remember.choices import is_new, offer
from memorist.remember.edit import Sweep, portions
from memorist.remember.fill import Filling
from memorist.remember.promotion import proposal, weighed
from memorist.store.nouns import Run
from memorist.upkeep import items
from memorist.upkeep.embed import Embed

LEASE = timedelta(seconds=30)
STORE = ""  # in place of a space: vectors belong to the whole store, and so does their lease
LATER = "time is up; the next upkeep continues from here"
UPKEEP = "upkeep"  # the surface of its changes in the journal
BREATH = timedelta(seconds=10)  # how often the lease of a night is renewed while a job is thinking


@dataclass(frozen=True, slots=True)
class Promote:
    """Automatic promotion: if a design says `auto`, findings with enough points move to their project as candidates.
    This also catches a finding made just before a window was closed."""

    promotion: Promotion
    name: ClassVar[str] = "promote"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        return proposal(weighed(self.promotion, None, who, tools))


def jobs_of(design: Design) -> tuple[Job, ...]:
    """The jobs of a design: automatic promotion first if it is on, then its own."""
    auto = (Promote(design.promotion),) if design.promotion.mode == "auto" else ()
    return (*auto, *design.upkeep)


def run(
    jobs: Sequence[Job],
    by: Caller,
    dry_run: bool = False,
    seconds: float | None = None,
    switch: bool = False,
    stop: Callable[[], bool] | None = None,
    policy: Promotion | None = None,
    cycle: "NightRun | None" = None,
) -> list[Report]:
    """Runs each job, or shows what it would do. Under every design, missing vectors come first, then the sessions that
    were left open, if `policy` says how findings are promoted; items of files that are gone come last. After so many
    seconds, or once `stop` says so, the rest waits for the next run. A complete run is noted, which decides when upkeep
    is due again. The jobs of a `cycle` share one batch."""
    until = None if seconds is None else time.monotonic() + seconds
    keeper = keeper_of(by)
    jobs = (*jobs, *items.jobs_for(keeper.access, by.tools))
    runner = Runner(keeper, until, stop, by.access, cycle)
    vectors = Embed(runner.by.access, by.writer.generations, switch)
    if dry_run:
        first = [vectors.plan(), runner.end_sessions(policy, dry_run)]
        return [*(report for report in first if report is not None), *map(runner.plan, jobs)]
    first = [runner.fill(vectors), runner.end_sessions(policy)]
    done = [*(report for report in first if report is not None), *map(runner.run, jobs)]
    while not runner.over() and by.store.tidy():
        pass
    if not runner.over():
        by.writer.note_upkeep(by.access.space)
    return done


def keeper_of(by: Caller) -> Caller:
    """The caller of upkeep: the same actor with the whole space in reach."""
    return replace(by, access=by.access.over_the_space(UPKEEP), steward=True)


class NightRun:
    """A night in progress: its row in the store, which one process holds at a time, and the batch of all its changes. A
    night that was cut off is taken over with its batch."""

    def __init__(self, by: Caller, run: Run) -> None:
        self._by, self.run = by, run

    def renew(self) -> None:
        """Renews the lease while a job is thinking, so that no other process takes the night over."""
        if self._by.now() + LEASE - self.run.lease > BREATH:
            self.note(self.run.batch)

    def note(self, batch: str | None) -> None:
        """Saves the batch; within the transaction of a step, it is stored together with the changes."""
        self.run = _saved(replace(self.run, batch=batch), self._by, LEASE)

    def end(self, done: bool) -> None:
        """Ends the night, or leaves it for another process to continue."""
        self.run = _saved(replace(self.run, state="done" if done else "running"), self._by)


def _saved(run: Run, by: Caller, lease: timedelta = timedelta(0)) -> Run:
    """Saves the run with this lease. Without one it is free at once: finished, or left for another process to continue."""
    now = by.now()
    run = replace(run, lease=now + lease, updated=now)
    with by.writer.transaction():
        by.writer.save_run(run)
    return run


@dataclass(frozen=True, slots=True)
class Runner:
    by: Caller
    until: float | None
    stop: Callable[[], bool] | None = None
    reader: Access | None = None  # who gets the reports; without one, whoever runs it
    cycle: NightRun | None = None

    def over(self) -> bool:
        """Whether no further step may start."""
        if self.cycle is not None:
            self.cycle.renew()
        return (self.until is not None and time.monotonic() > self.until) or self._stopped()

    def _propose(self, job: Job) -> Proposal:
        """What the job would do. A job that reads a lot stops when time is up and proposes what it has found by then."""
        proposal = job.propose(self.by.access, replace(self.by.tools, over=self.over))
        return replace(proposal, asks=[ask for ask in proposal.asks if is_new(ask, self.by)][: proposal.most])

    def _stopped(self) -> bool:
        return self.stop is not None and self.stop()

    def plan(self, job: Job) -> Report:
        proposal = self._propose(job)
        report = self._sweep(proposal).plan(proposal.ids)
        return replace(report, verb=job.name, advice=self._advice(proposal))

    def _advice(self, proposal: Proposal) -> str | None:
        advice, reader = proposal.advice, self.reader or self.by.access
        if advice is None and proposal.asks:
            return told(proposal.asks, reader)
        return advice(reader) if callable(advice) else advice

    def run(self, job: Job) -> Report:
        if self.over():
            return Report(job.name, advice=LATER)
        proposal = self._propose(job)
        report = Report(job.name, advice=self._advice(proposal))
        for ask in proposal.asks:
            offer(ask, proposal.because, self.by)
        if not proposal.ids:
            self._close_unfinished(job)
            return report
        run = self._claim(self.by.access.space, job.name)
        if run is None:
            return replace(report, advice=busy(job.name))
        report = replace(report, batch=run.batch)
        try:
            return self._steps(proposal, run, report)
        except BaseException as problem:
            self._give_up(run, problem)
            raise

    def end_sessions(self, policy: Promotion | None, dry_run: bool = False) -> Report | None:
        """Ends sessions that were left open and reports what that changed."""
        if policy is None or self.over():
            return None
        from memorist.upkeep import sessions  # imported late: most upkeep does not need it

        return sessions.end_left_open(self.by, policy, self.over, dry_run)

    def fill(self, job: Embed) -> Report | None:
        """Adds vectors. They are not journalled, so the job writes them itself, and the run only keeps other processes
        away. A failing model does not stop the other jobs."""
        if not job.has_work():
            return Report(job.name, rows=0, advice=advice) if (advice := job.advice()) else None
        run = self._claim(STORE, job.name)
        if run is None:
            return Report(job.name, rows=0, advice=busy(job.name))
        report, filled = Report(job.name, rows=0), 0
        try:
            with closing(job.steps()) as steps:
                for rows in steps:
                    filled += rows
                    report = replace(report, rows=filled)
                    run = replace(run, changed=run.changed + rows)
                    if not self._alive(run):
                        return replace(report, advice=f"another process took {run.job} over")
                    if self.over():
                        return self._paused(run, report)
        except BaseException as problem:
            self._give_up(run, problem)
            if not isinstance(problem, MemoristError):
                raise
            job.failed(problem)
            return replace(report, advice=str(problem))
        _saved(replace(run, state="done"), self.by)
        return replace(report, advice=job.advice())

    def _give_up(self, run: Run, problem: BaseException) -> None:
        """Releases the lease of a failed run, so that no process waits for it; if the store itself failed, the lease expires."""
        with suppress(MemoristError):
            if self._is_ours(run):
                why = getattr(problem, "code", type(problem).__name__)
                _saved(replace(run, state="failed", problem=why), self.by)

    def _alive(self, run: Run) -> bool:
        """Renews the lease; False if another process has taken the run over."""
        with self.by.writer.transaction():
            ours = self._is_ours(run)
            if ours:
                _saved(run, self.by, LEASE)
        return ours

    def _is_ours(self, run: Run) -> bool:
        newest = next(iter(self.by.store.runs(run.space, run.job, limit=1)), None)
        return newest is not None and newest.owner == run.owner

    def _steps(self, proposal: Proposal, run: Run, report: Report) -> Report:
        begun = False  # even a job that uses all its time to propose does one step, or it would never finish
        for ids in portions(proposal.ids):
            while ids:
                if self._stopped() or (begun and self.over()):
                    return self._paused(run, report)
                begun = True
                step = self._step(proposal, ids, run, report)
                if step is None:
                    return replace(report, advice=f"another process took {run.job} over")
                run, report, ids = step
        _saved(replace(run, state="done"), self.by)
        return report

    def _sweep(self, proposal: Proposal) -> Sweep | Filling:
        if proposal.fill is not None:
            return Filling(proposal.verb, proposal.fill, proposal.because, self.by.where, self.by)
        return Sweep(proposal.verb, proposal.edit, proposal.because, self.by.where, self.by)

    def claim_night(self, name: str) -> NightRun | None:
        """Claims a new night or one that was cut off; None if another process is at it."""
        run = self._claim(self.by.access.space, name)
        return None if run is None else NightRun(self.by, run)

    def _claim(self, space: str, name: str) -> Run | None:
        """Claims a run of this job: a new one, or one whose lease has expired. Within a cycle an expired run is closed
        instead, because its changes belong to another batch, and one undo must take back the cycle and nothing else."""
        now, owner = self.by.now(), secrets.token_hex(8)
        with self.by.writer.transaction():
            known = self._unfinished(space, name)
            if known is not None and now < known.lease <= now + LEASE:  # a longer lease was made by another clock
                return None
            cycle = None if space == STORE else self.cycle
            mine = Run(0, space, name, "running", owner, now + LEASE, now, now, cycle.run.batch if cycle else None)
            if known is not None and cycle is None:
                mine = replace(known, owner=owner, lease=now + LEASE, updated=now)
            elif known is not None:
                self.by.writer.save_run(replace(known, state="done", lease=now, updated=now))
            return replace(mine, id=self.by.writer.save_run(mine))

    def _unfinished(self, space: str, name: str) -> Run | None:
        newest = next(iter(self.by.store.runs(space, name, limit=1)), None)
        return newest if newest is not None and newest.state == "running" else None

    def _step(
        self, proposal: Proposal, ids: Sequence[str], run: Run, report: Report
    ) -> tuple[Run, Report, Sequence[str]] | None:
        """Applies some changes and the checkpoint in one transaction. Also returns the ids left for the next step; None
        if another process has taken the run over."""
        now = self.by.now()
        with self.by.writer.transaction(), _garbage_stays():
            if not self._is_ours(run):
                return None
            before = len(report.changed)
            report, rest = self._sweep(proposal).step(ids, report)
            changed, last = run.changed + len(report.changed) - before, ids[len(ids) - len(rest) - 1]
            run = replace(run, batch=report.batch, changed=changed, checkpoint={"last": last}, lease=now + LEASE)
            self.by.writer.save_run(replace(run, updated=now))
            if self.cycle is not None:
                self.cycle.note(run.batch)
        return run, report, rest

    def _paused(self, run: Run, report: Report) -> Report:
        _saved(run, self.by)
        return replace(report, advice=LATER)

    def _close_unfinished(self, job: Job) -> None:
        """Closes a run that was cut off after its last change."""
        known = self._unfinished(self.by.access.space, job.name)
        now = self.by.now()
        if known is not None and not now < known.lease <= now + LEASE:
            _saved(replace(known, state="done"), self.by)


_staying: list[None] = []  # one entry for each step, in any thread, during which garbage is not collected


@contextmanager
def _garbage_stays() -> Iterator[None]:
    """Stops garbage collection during a transaction. Collecting everything that a night has read takes longer than a
    step, and other writers would wait for it; it runs between two steps instead."""
    if not gc.isenabled() and not _staying:
        yield
        return
    _staying.append(None)
    gc.disable()
    try:
        yield
    finally:
        _staying.pop()
        if not _staying:
            gc.enable()


def _search_again() -> None:
    """Restarts garbage collection in a child that was forked in the middle of a step, which never ends there."""
    if _staying:
        _staying.clear()
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_search_again)


def busy(job: str) -> str:
    return f"another process is running {job}; its lease expires {LEASE.seconds} s after its last step"
