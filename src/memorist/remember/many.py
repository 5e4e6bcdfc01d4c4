"""One change to many memories: in short transactions, in one batch, each memory for itself.

A sweep of ten thousand memories must not keep other writers waiting, and one memory that cannot be changed is no reason to
leave the others: it is left as it was, and the report says why.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from memorist.errors import Conflict, OutOfScope, Refused
from memorist.records import Planned, Record, Report
from memorist.remember.arriving import meet
from memorist.remember.changes import Author
from memorist.remember.reconcile import refuse_second
from memorist.store.rows import difference
from memorist.store.where import Where
from memorist.store.writer import Change

AT_ONCE = 100  # memories in one transaction, at most
FIRST, FEWEST = 25, 5  # memories in the first transaction, and at least
LONG, SHORT = 0.1, 0.03  # seconds of a transaction: others wait meanwhile, and each costs something by itself


def portions(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """The ids, a few at a time: fewer after a portion that took long, because whoever wants to write waits for it."""
    start, size = 0, FIRST
    while start < len(ids):
        begun = time.monotonic()
        yield ids[start : start + size]
        start, took = start + size, time.monotonic() - begun
        if took > LONG:
            size = max(FEWEST, int(size * LONG / (2 * took)))
        elif took < SHORT:
            size = min(AT_ONCE, 2 * size)


@dataclass(frozen=True, slots=True)
class Sweep:
    """A change to be made to many. `edit` gives the new record, or raises `Refused` to leave it as it is."""

    verb: str
    edit: Callable[[Record], Record]
    because: str
    where: Where  # what a memory must fit at the moment of the change, and who makes it
    by: Author

    def plan(self, ids: Sequence[str]) -> Report:
        """What `apply` would do now."""
        report = Report(self.verb, dry_run=True)
        for start in range(0, len(ids), AT_ONCE):
            some, left = self._changes(ids[start : start + AT_ONCE])
            report = self._grown(report, some, left, None)
        return report

    def apply(self, ids: Sequence[str]) -> Report:
        report = Report(self.verb)
        for some in portions(ids):
            report = self.step(some, report)
        return report

    def step(self, ids: Sequence[str], report: Report) -> Report:
        """One transaction; the report with what it did added."""
        with self.by.writer.transaction():
            changes, left = self._changes(ids)
            who, arrived = self.where.access, [change.record for change in changes if _arrives(change)]
            met = meet(arrived, self.by)
            batch, _ = self.by.writer.commit([*changes, *met.changes], who, links=met.links, batch=report.batch)
        return self._grown(report, changes, left, batch or None)

    def _changes(self, ids: Sequence[str]) -> tuple[list[Change], dict[str, str]]:
        changes: list[Change] = []
        left: dict[str, str] = {}
        for record in self.by.store.get(ids, self.where):
            try:
                change = self._change(record)
            except (Refused, OutOfScope, Conflict) as problem:
                left[record.id] = str(problem)
                continue
            if change is None:
                left[record.id] = "it was so already"
            else:
                changes.append(change)
        return changes, left

    def _change(self, old: Record) -> Change | None:
        self.where.access.must_write(old.scope)
        new = self.edit(old)
        if new == old:
            return None
        self.where.access.must_write(new.scope)
        now = self.by.now()
        fresh = self.by.writer.clean(replace(new, version=old.version + 1, times=replace(new.times, updated=now)))
        if fresh.state == "active":
            refuse_second(fresh, self.by.store, self.by.tools.kinds, now)
        return Change(self.verb, fresh, difference(old, fresh), self.because)

    def _grown(self, report: Report, changes: Sequence[Change], left: dict[str, str], batch: str | None) -> Report:
        planned = tuple(Planned(c.record.id, c.record.number, self.because) for c in changes)
        return replace(
            report, changed=(*report.changed, *planned), left={**report.left, **left}, batch=report.batch or batch
        )


# ---------------------------------------------------------------- edits


def archived(record: Record, because: str) -> Record:
    if record.state in ("superseded", "erased"):
        raise Refused(f"memory {record.number} is {record.state} already")
    return record if record.state == "archived" else replace(record, state="archived", reason=because)


def _arrives(change: Change) -> bool:
    """Whether it comes where it was not: from another scope, or back from the archive."""
    return change.record.state == "active" and not {"scope", "state"}.isdisjoint(change.before or ())


def brought_back(record: Record) -> Record:
    if record.state in ("superseded", "erased"):
        raise Refused(f"memory {record.number} is {record.state}; only forgotten memories can be restored")
    return replace(record, state="active", reason=None)
