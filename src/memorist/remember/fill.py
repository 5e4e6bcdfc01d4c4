"""Changes that involve several records at a time: a merge, a cluster, a link.

Each is put into a change-set of its own; all of a step share one transaction and one batch. So a change that cannot be made is
skipped as a whole and does not stop the others.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from memorist.errors import Conflict, Invalid, NotFound, OutOfScope, Refused
from memorist.records import Planned, Record, Report
from memorist.remember.authority import Held, judge
from memorist.remember.changes import Caller, Changes
from memorist.remember.edit import SWEPT_AT_ONCE, UNCHANGED
from memorist.store.nouns import parts
from memorist.store.where import Where

A_STEP = 0.05  # seconds into a transaction after which nothing more is begun in it
PROBLEMS = (Refused, OutOfScope, Conflict, Invalid, NotFound, Held)


@dataclass(frozen=True, slots=True)
class Filling:
    """One act for each of many memories. `fill` adds its changes to the change-set, adds nothing to leave the memory as it is,
    or raises `Refused` to say why."""

    verb: str
    fill: Callable[[Record, Changes], None]
    because: str
    where: Where  # must still match when the change is made
    by: Caller

    def plan(self, ids: Sequence[str]) -> Report:
        """What `step` would do now, each by itself."""
        report = Report(self.verb, dry_run=True)
        for some in parts(ids, SWEPT_AT_ONCE):
            report, _ = self._all(some, report)
        return report

    def step(self, ids: Sequence[str], report: Report) -> tuple[Report, Sequence[str]]:
        """Performs the act in one transaction, for at least the first of these, and adds the results to the report. → the
        report, and the ids left for the next step, since the cost of each is unknown in advance and others wait meanwhile."""
        with self.by.writer.transaction():
            return self._all(ids, report, time.monotonic() + A_STEP)

    def _all(self, ids: Sequence[str], report: Report, until: float | None = None) -> tuple[Report, Sequence[str]]:
        """With `until=None`, nothing is written."""
        planned, left, batch = list(report.changed), dict(report.left), report.batch
        rest: Sequence[str] = ()
        for record in self.by.store.get(ids, self.where):
            if until is not None and record.id != ids[0] and time.monotonic() > until:
                rest = ids[ids.index(record.id) :]
                break
            changes = Changes.of(self.by)
            problem = self._problem(record, changes)
            if problem is not None:
                left[record.id] = problem
                continue
            if until is not None:
                batch = changes.commit(batch)[0] or batch
            planned.append(Planned(record.id, record.number, changes.lines[0].because or self.because))
        return replace(report, changed=tuple(planned), left=left, batch=batch or None), rest

    def _problem(self, record: Record, changes: Changes) -> str | None:
        """Fills the change-set; returns why nothing changes, if so."""
        try:
            self.by.access.must_write(record.scope, record.home)
            self.fill(record, changes)
            judge(changes.effects, self.by)
        except PROBLEMS as problem:
            return str(problem)
        return None if changes.lines else UNCHANGED
