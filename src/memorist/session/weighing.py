"""Weighing the findings of a project when one of its sessions ends, and later what that end had no time for.

An end weighs all findings of its project, which takes long where there are thousands, and at the start of an agent somebody
waits for it. If its time is over before all are weighed, a run in the store says so. The next recovery of sessions, such as a
start, tries it once more. If that is cut off too, it is left to upkeep, or every start would spend all its time on it. The
run names the record of a session and not the project, because a project may have another name by then.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from memorist.design import Promotion
from memorist.errors import MemoristError
from memorist.records import Record
from memorist.remember import promotion
from memorist.remember.changes import Caller
from memorist.session.lease import NOBODY, RECORD, current
from memorist.session.name import may_end, of
from memorist.store.nouns import TRIED, Run

JOB = "weighing"
log = logging.getLogger("memorist")


def weigh(record: Record, by: Caller, policy: Promotion) -> None:
    """Weighs the findings for the place of this session's turns, until `by.tools.over`."""
    job = f"{JOB} {by.writer.digest(record.scope)}"
    known = current(job, by)
    promotion.all_of(policy, record.scope, by)
    if by.tools.over():
        _note(job, {RECORD: record.id} if known is None else {RECORD: record.id, TRIED: True}, by)
    elif known is not None:
        _done(known, by)


def _note(job: str, checkpoint: Mapping[str, Any], by: Caller) -> None:
    now = by.now()
    with by.writer.transaction():
        run = current(job, by) or Run(0, by.access.space, job, "running", NOBODY, now, now, now)
        by.writer.save_run(replace(run, checkpoint=checkpoint, updated=now))


def _done(known: Run, by: Caller) -> None:
    """Unless another end was cut off meanwhile: what was found in its session may have come too late for this weighing."""
    with by.writer.transaction():
        if current(known.job, by) == known:
            by.writer.save_run(replace(known, state="done", checkpoint={}, updated=by.now()))


def left(by: Caller, policy: Promotion, again: bool) -> list[Record]:
    """Where findings were not all weighed, with `again` also where a second try was cut off: the record of a session of
    each such place. It may be in any state, because what others found there waits even if this session was erased."""
    if policy.mode == "manual":
        return []
    runs = [run for run in by.store.runs(by.access.space, state="running") if run.job.startswith(f"{JOB} ")]
    ids = [str(run.checkpoint.get(RECORD)) for run in runs if again or TRIED not in run.checkpoint]
    return [record for record in by.store.get(ids, by.where) if _may_weigh(record, by)]


def _may_weigh(record: Record, by: Caller) -> bool:
    return may_end(record, by) and promotion.looks(of(record).home, by)


def weigh_left(by: Caller, policy: Promotion, over: Callable[[], bool], again: bool) -> None:
    """Weighs it while there is time."""
    for record in left(by, policy, again):
        if over():
            return
        access, tools = replace(by.access, home=of(record).home), replace(by.tools, over=over)
        try:
            weigh(record, replace(by, access=access, tools=tools, batch=[]), policy)
        except MemoristError as problem:
            log.info("what was found in %s could not be weighed yet: %s", record.scope, problem)
