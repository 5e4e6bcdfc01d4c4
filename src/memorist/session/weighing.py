"""Weighing the findings of a project when one of its sessions ends, and later what that end had no time for.

An end weighs all findings of its project, which takes long where there are thousands, and at the start of an agent somebody
waits for it. If its time is over before all are weighed, a run in the store says so. The next recovery of sessions, such as a
start, tries it once more. If that is cut off too, it is left to upkeep, or every start would spend all its time on it. The
run names the record of a session and not the project, because a project may have another name by then, or be part of
another; so it is that run that is ended, and not the one that the project would have now.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
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


def weigh(record: Record, by: Caller, policy: Promotion, runs: Sequence[Run] = ()) -> None:
    """Weighs the findings for the place of this session's turns, until `by.tools.over`. `runs` say what was left there, as
    `left` found them; without, it is looked up under the name that the place has now."""
    job = f"{JOB} {by.writer.digest(record.scope)}"
    known = runs or [run for run in (current(job, by),) if run is not None]
    promotion.all_of(policy, record.scope, by)
    if not by.tools.over():
        for run in known:
            _done(run, by)
    elif known:
        for run in known:
            _note(run.job, {RECORD: record.id, TRIED: True}, by)
    else:
        _note(job, {RECORD: record.id}, by)


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


def left(by: Caller, policy: Promotion, again: bool) -> list[tuple[Record, list[Run]]]:
    """Where findings were not all weighed, with `again` also where a second try was cut off: the record of a session of
    each such place, and the runs that say so, of which a merged project may have several. The record may be in any
    state, because what others found there waits even if this session was erased."""
    if policy.mode == "manual":
        return []
    runs = _waiting(by, again)
    known = by.store.get([id for id, _ in runs], by.where)
    records = {record.id: record for record in known if _may_weigh(record, by)}
    places: dict[str, tuple[Record, list[Run]]] = {}
    for id, run in runs:
        if id in records:
            places.setdefault(records[id].scope, (records[id], []))[1].append(run)
    return [*places.values()]


def _waiting(by: Caller, again: bool) -> list[tuple[str, Run]]:
    """The runs that were cut off, with `again` also twice, each after the id of its record."""
    runs = [run for run in by.store.runs(by.access.space, state="running") if run.job.startswith(f"{JOB} ")]
    return [(str(run.checkpoint.get(RECORD)), run) for run in runs if again or TRIED not in run.checkpoint]


def _may_weigh(record: Record, by: Caller) -> bool:
    return may_end(record, by) and promotion.looks(of(record).home, by)


def weigh_left(by: Caller, policy: Promotion, over: Callable[[], bool], again: bool) -> None:
    """Weighs it while there is time."""
    for record, runs in left(by, policy, again):
        if over():
            return
        access, tools = replace(by.access, home=of(record).home), replace(by.tools, over=over)
        try:
            weigh(record, replace(by, access=access, tools=tools, batch=[]), policy, runs)
        except MemoristError as problem:
            log.info("what was found in %s could not be weighed yet: %s", record.scope, problem)
