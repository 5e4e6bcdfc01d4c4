"""The one runner of upkeep. A job proposes; the runner shows it, or does it in short transactions that others fit between.

    propose → claim → step, step, … (changes, journal and checkpoint in one transaction) → done

A run is a row in the store. Whoever is killed in the middle leaves it behind with a lease that runs out; the next one
takes it over, proposes anew what is still to do, and goes on in the same batch, so that one `undo` takes back the whole run.
"""

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from memorist.access import Access
from memorist.design import Job, Proposal, Tools
from memorist.errors import MemoristError
from memorist.records import Report
from memorist.remember.many import AT_ONCE, Sweep
from memorist.store.protocol import Run
from memorist.store.where import Where
from memorist.store.writer import Writer

LEASE = timedelta(seconds=30)
UPKEEP = "upkeep"  # the surface of what it does, in the journal


def run(
    jobs: Sequence[Job], who: Access, tools: Tools, writer: Writer, dry_run: bool = False, seconds: float | None = None
) -> list[Report]:
    """Runs each job, or shows what it would do. After so many seconds the rest waits for the next time."""
    until = None if seconds is None else time.monotonic() + seconds
    runner = Runner(who.over_the_space(UPKEEP), tools, writer, until)
    return [runner.plan(job) if dry_run else runner.run(job) for job in jobs]


@dataclass(frozen=True, slots=True)
class Runner:
    who: Access
    tools: Tools
    writer: Writer
    until: float | None

    def plan(self, job: Job) -> Report:
        proposal = job.propose(self.who, self.tools)
        report = self._sweep(proposal).plan(proposal.ids)
        return replace(report, verb=job.name, advice=proposal.advice)

    def run(self, job: Job) -> Report:
        proposal = job.propose(self.who, self.tools)
        report = Report(job.name, advice=proposal.advice)
        if not proposal.ids:
            self._close_unfinished(job)
            return report
        run = self._claim(job)
        if run is None:
            return replace(report, advice=f"another process is at {job.name}; it has {LEASE.seconds} s to show life")
        report = replace(report, batch=run.batch)
        try:
            return self._steps(proposal, run, report)
        except MemoristError as problem:
            self._save(replace(run, state="failed", problem=problem.code))
            raise

    def _steps(self, proposal: Proposal, run: Run, report: Report) -> Report:
        for start in range(0, len(proposal.ids), AT_ONCE):
            if self.until is not None and time.monotonic() > self.until:
                return self._paused(run, report)
            step = self._step(proposal, proposal.ids[start : start + AT_ONCE], run, report)
            if step is None:
                return replace(report, advice=f"another process took {run.job} over")
            run, report = step
        self._save(replace(run, state="done"))
        return report

    def _sweep(self, proposal: Proposal) -> Sweep:
        return Sweep(proposal.verb, proposal.edit, proposal.because, Where(self.who), self.writer, self.tools)

    def _claim(self, job: Job) -> Run | None:
        """A run of this job that is ours: a new one, or one whose owner gave no sign of life for too long."""
        now, owner = self.tools.clock(), secrets.token_hex(8)
        with self.writer.transaction():
            known = self._unfinished(job)
            if known is not None and known.lease > now:
                return None
            fresh = Run(0, self.who.space, job.name, "running", owner, now + LEASE, now, now)
            mine = fresh if known is None else replace(known, owner=owner, lease=now + LEASE, updated=now)
            return replace(mine, id=self.writer.save_run(mine))

    def _unfinished(self, job: Job) -> Run | None:
        newest = next(iter(self.tools.store.runs(self.who.space, job.name, 1)), None)
        return newest if newest is not None and newest.state == "running" else None

    def _step(self, proposal: Proposal, ids: Sequence[str], run: Run, report: Report) -> tuple[Run, Report] | None:
        """Some changes and how far they bring us, in one transaction. None if the run is not ours any more."""
        now = self.tools.clock()
        with self.writer.transaction():
            newest = next(iter(self.tools.store.runs(self.who.space, run.job, 1)), None)
            if newest is None or newest.owner != run.owner:
                return None
            before = len(report.changed)
            report = self._sweep(proposal).step(ids, report)
            changed = run.changed + len(report.changed) - before
            run = replace(run, batch=report.batch, changed=changed, checkpoint={"last": ids[-1]}, lease=now + LEASE)
            self.writer.save_run(replace(run, updated=now))
        return run, report

    def _paused(self, run: Run, report: Report) -> Report:
        self._save(run)
        return replace(report, advice="time is up; the next upkeep goes on from here")

    def _close_unfinished(self, job: Job) -> None:
        """A run that was cut off after its last change has nothing left to do."""
        known = self._unfinished(job)
        if known is not None and known.lease <= self.tools.clock():
            self._save(replace(known, state="done"))

    def _save(self, run: Run) -> None:
        """Lets go of the run: finished, or for the next one to go on with."""
        now = self.tools.clock()
        with self.writer.transaction():
            self.writer.save_run(replace(run, lease=now, updated=now))
