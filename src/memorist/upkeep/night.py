"""A night: upkeep, plus everything that needs a look at the whole store. Nothing of it runs while somebody waits.

    vectors → sessions that were left open → twins and contradictions → what the design keeps in order, and what has faded
            → files → clusters, tags, links across sessions, what is done again and again → a report

First comes overdue work that later jobs need, then repetitions and contradictions, then pruning. Checks come last, because
they can wait for the next night. A night may call a model only as often as leaves enough of the day's budget for callers who
wait (`rationed`). All changes of a night are one batch, so one undo takes them back. Only one process runs a night
on a space at a time. A night that was cut off continues in the same batch; missed nights are not made up for.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from memorist import remember
from memorist.access import Access
from memorist.design import Design, Job
from memorist.errors import MemoristError
from memorist.records import Planned, Report, memories
from memorist.remember.changes import Caller
from memorist.store.nouns import Diagnosis
from memorist.store.protocol import Store
from memorist.store.tally import rationed
from memorist.store.where import Where, canonical
from memorist.store.writer import slept
from memorist.upkeep import runner
from memorist.upkeep.clusters import Clusters
from memorist.upkeep.practice import SuggestProcedures
from memorist.upkeep.survey import Survey
from memorist.upkeep.tidy import Contradictions, CrossLinks, FadeAway, TagCleanup, Verify
from memorist.upkeep.twins import Comparison, MergeTwins, Redundancy

NIGHT = "night"
MOST_CONTRADICTIONS = 1000  # the report counts no further


def jobs_of(design: Design, survey: Survey | None = None) -> tuple[Job, ...]:
    """The jobs of a night in order. If the design has one of these jobs itself, its own settings are used."""
    own = {job.name: job for job in runner.jobs_of(design)}
    compared = Comparison(survey)
    first: tuple[Job, ...] = (MergeTwins(compared), Redundancy(compared), Contradictions(survey=survey))
    later = Survey(survey)  # looks again, so that merged memories are in no cluster
    last: tuple[Job, ...] = (
        FadeAway(),
        Verify(),
        Clusters(later),
        TagCleanup(survey=later),
        CrossLinks(survey=later),
        SuggestProcedures(),
    )
    fixed = {job.name for job in (*first, *last)}
    middle = tuple(job for name, job in own.items() if name not in fixed)
    return tuple(own.get(job.name, job) for job in (*first, *middle, *last))


def sleep(
    design: Design,
    by: Caller,
    dry_run: bool = False,
    seconds: float | None = None,
    switch: bool = False,
    stop: Callable[[], bool] | None = None,
) -> list[Report]:
    """Runs a night, or shows what it would do; the last report is about the night itself."""
    survey, policy = Survey(), design.promotion
    jobs = jobs_of(design, survey)
    if dry_run:
        with rationed(by.tools.chat):
            return runner.run(jobs, by, True, seconds, switch, stop, policy)
    asked = len(remember.consent.waiting(by.access, by.store))
    cycle = runner.Runner(runner.keeper_of(by), None).claim_night(NIGHT)
    if cycle is None:
        return [Report(NIGHT, advice=runner.busy(NIGHT))]
    with _given_back(cycle), rationed(by.tools.chat):
        reports = runner.run(jobs, by, False, seconds, switch, stop, policy, cycle)
    whole = not any(report.advice == runner.LATER for report in reports)
    cycle.end(whole)
    asked = max(0, len(remember.consent.waiting(by.access, by.store)) - asked)
    health = Health.of(by, survey, reports)
    if whole:
        by.writer.note_night(by.access.space, canonical(health.noted(by, asked)))
    rest = "" if whole else f"; {runner.LATER}"
    changed = _readable([report for report in reports if report.rows is None], by)
    return [*reports, Report(NIGHT, changed, batch=cycle.run.batch, advice=f"{health.told(asked)}{rest}")]


@contextmanager
def _given_back(cycle: runner.NightRun) -> Iterator[None]:
    """Releases a night that failed, so that others can continue it."""
    try:
        yield
    except BaseException:
        with suppress(MemoristError):  # if the store itself failed, the lease expires
            cycle.end(done=False)
        raise


@dataclass(frozen=True, slots=True)
class Health:
    """The state of a space, as far as one access may know it, and what the night did about it."""

    modified: int
    merged: int
    total: int
    active: int
    contradictions: int
    unembedded: int
    faint: int | None  # None: a figure of the whole space, not all of which this access sees
    duplicates: int | None

    @classmethod
    def of(cls, by: Caller, survey: Survey, reports: Sequence[Report]) -> "Health":
        where, store, seen = Where(by.access), by.store, survey.seen
        active = where.also("state", "eq", "active")
        whole = by.access.sees_every_project and seen is not None
        return cls(
            len(_readable([report for report in reports if report.rows is None], by)),
            len(_readable([report for report in reports if report.verb == "merge_twins"], by)),
            sum(store.count(where).values()),
            sum(store.count(active).values()),
            len(store.links(active, kind="contradicts", limit=MOST_CONTRADICTIONS)),
            by.tools.meaning.waiting(10**9),
            *((seen.faint, seen.repeated()) if whole and seen is not None else (None, None)),
        )

    def told(self, asked: int) -> str:
        parts = [f"of {memories(self.modified)} that changed, {self.merged:,} went into another that says the same"]
        parts += [f"{asked:,} questions asked", f"{self.active:,} of {self.total:,} are active"]
        parts += [] if self.faint is None else [f"{self.faint:,} are faint"]
        parts += [f"{self.contradictions:,} contradictions are open", f"{self.unembedded:,} rows wait for a vector"]
        parts += [] if self.duplicates is None else [f"{self.duplicates:,} had the words of another"]
        return "; ".join(parts)

    def noted(self, by: Caller, asked: int) -> Mapping[str, Any]:
        """What is stored about the night: figures, and when it was."""
        numbers = {name: getattr(self, name) for name in ("modified", "merged", "total", "active", "contradictions")}
        head = by.store.head()  # anything written later makes another night worth while
        return {
            "head": head.last if head else 0,
            "at": by.now().isoformat(timespec="seconds"),
            "asked": asked,
            **numbers,
        }


def _readable(reports: Sequence[Report], by: Caller) -> tuple[Planned, ...]:
    """The memories in these reports that this access may read, each once."""
    changed = {each.id: each for report in reports for each in report.changed}
    portions = remember.edit.portions(sorted(changed))
    return tuple(changed[record.id] for some in portions for record in by.store.get(some, Where(by.access)))


# ---------------------------------------------------------------- the last one


def last(store: Store, space: str) -> dict[str, Any]:
    """What the last completed night noted; empty if there was none."""
    said = store.setting(slept(space))
    if not said:
        return {}
    with suppress(ValueError):
        found = json.loads(said)
        return found if isinstance(found, dict) else {}
    return {}


def told(store: Store, who: Access) -> dict[str, str]:
    """For `status`: when the last night was, and what it did, for those who see the whole space."""
    found = last(store, who.space)
    if not found:
        return {}
    did = f", {found.get('modified', 0):,} modified, {found.get('merged', 0):,} merged, {found.get('asked', 0):,} asked"
    return {"last_night": f"{found.get('at')}{did if who.sees_every_project else ''}"}


def checked(store: Store, who: Access) -> list[Diagnosis]:
    """For the doctor: whether a night was cut off and waits to be continued."""
    run = next(iter(store.runs(who.space, NIGHT, limit=1)), None)
    if run is None or run.state != "running":
        return []
    since = f"the night of {run.at.isoformat(timespec='seconds')} has not come to its end"
    return [Diagnosis(True, NIGHT, since, "`memorist upkeep --deep` goes on with it")]
