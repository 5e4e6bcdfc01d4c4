"""Tasks: what is to be done, what it waits for, and how far it is.

    pending → running → completed             running → failed → pending, to try it again
    pending or running → blocked → pending    running → pending, given back

A status changes only by these steps, each of them somebody's deliberate act. Any other step is an error that names the
possible ones, and `revise` cannot change the status. A task is ready when it is pending and everything it waits for is
completed; only then can it run. Tasks that wait for each other in a circle would never be ready, so that is refused.

A result is a memory of its own. It is stored in the transaction of the step, so that whoever hears of the step finds it.
When the last task of a milestone is completed, its tasks go to the archive, and one `undo` takes all of it back.

Agents may move tasks that the user wrote, because that is what tasks are for; what a task says stays the user's word.
Surfaces of low trust move only their own.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

from memorist import checks
from memorist.errors import Invalid, Refused
from memorist.lazy import dataclass
from memorist.noun import line
from memorist.records import Draft, Hit, Outcome, Record, Reference, changed, iso
from memorist.remember import gate
from memorist.remember.authority import RANK, Held
from memorist.remember.changes import Caller, Changes
from memorist.remember.edit import UNCHANGED, archived
from memorist.store.where import Order, Where
from memorist.text.visible import quoted

TASK = "task"
TaskStatus = Literal["pending", "running", "blocked", "completed", "failed"]
STEPS: dict[str, tuple[str, ...]] = {
    "pending": ("running", "blocked"),
    "running": ("completed", "failed", "blocked", "pending"),
    "blocked": ("pending",),
    "failed": ("pending",),
    "completed": (),
}
WITH_RESULT = ("completed", "failed")  # may carry a result
UNRANKED = 1 << 53  # the priority of a task without one
MOVED, ARCHIVED = "task moved", "finished"  # journal verbs
A_NAME = re.compile(r"TASK-0*(\d{1,18})", re.IGNORECASE)
A_MEMORY = re.compile(r"\[id:\d{1,18}\]|m[0-9a-hjkmnp-tv-z]{26}")  # a citation or an id; anything else is a text
Find = Callable[[], Record]


# ---------------------------------------------------------------- what a task is


def name_of(task: Record) -> str:
    """Its name for people.

    >>> from memorist import Memory
    >>> name_of(Memory(":memory:").add_task("Lock the session").record)
    'TASK-001'
    """
    return f"TASK-{task.number:03}"


def meant(reference: Reference) -> Reference:
    """The memory that is meant; understands a task's name."""
    found = A_NAME.fullmatch(reference.strip()) if isinstance(reference, str) else None
    return int(found[1]) if found else reference


def status_of(task: Record) -> str:
    """Its status; a task that was remembered without one is pending."""
    status = task.data.get("status")
    return status if isinstance(status, str) and status in STEPS else "pending"


def waits_for(task: Record) -> list[str]:
    """The ids of the tasks that must be completed before it."""
    named = task.data.get("blocked_by")
    return [each for each in named if isinstance(each, str)] if isinstance(named, list | tuple) else []


def _rank(task: Record) -> tuple[float, int]:
    priority = task.data.get("priority")
    return (priority if isinstance(priority, int | float) else UNRANKED), task.number


# ---------------------------------------------------------------- adding


def draft_of(
    title: str,
    text: str | None,
    waits: Sequence[Record],
    session: str | None,
    key: str | None,
    **told: Any,
) -> Draft:
    """A draft of a new task. `told`: its milestone, priority, criteria and skill, as given."""
    checks.label(title, "the title")
    data: dict[str, Any] = {"status": "pending", "blocked_by": _ids(waits)}
    priority, criteria = told.pop("priority"), told.pop("criteria")
    if priority is not None:
        data["priority"] = checks.whole(priority, "priority", 0, 1_000_000)
    if isinstance(criteria, str) or not isinstance(criteria, Sequence) or len(criteria) > checks.MOST_LABELS:
        raise Invalid(f"criteria are a list of at most {checks.MOST_LABELS} texts, not {quoted(criteria)}")
    data["criteria"] = [checks.text(each, "one of the criteria") for each in criteria]
    data |= {name: checks.label(value, f"the {name}") for name, value in told.items() if value is not None}
    said = title if text is None else text
    return Draft(said, TASK, title=title, data=data, session=session, key=key)


def _ids(waits: Sequence[Record]) -> list[str]:
    """The ids of the tasks that a task waits for; refuses anything but tasks that exist."""
    if len(waits) > checks.MOST_LABELS:
        raise Invalid(f"{len(waits):,} tasks were given; a task waits for at most {checks.MOST_LABELS}")
    for each in waits:
        if each.kind != TASK:
            raise Invalid(f"memory {each.number} is a {each.kind}, not a task; blocked_by names tasks")
        if each.state == "erased":
            raise Refused(f"{name_of(each)} is erased and will never be completed; leave it out")
    return list(dict.fromkeys(each.id for each in waits))


# ---------------------------------------------------------------- moving


@dataclass(frozen=True, slots=True)
class TaskStep:
    status: str
    result: str | Record | None
    waits: Sequence[Record] | None  # replaces what it waited for
    because: str


def result_of(given: str | Reference | None, get: Callable[[Reference], Record]) -> str | Record | None:
    """A result: the memory that is named, or the text for a new one."""
    if given is None or (isinstance(given, str) and not A_MEMORY.fullmatch(given.strip())):
        return given
    if not isinstance(given, str | int | Record | Hit | Outcome) or isinstance(given, bool):
        raise Invalid(f"a result is a text, or a memory that holds it, not {quoted(given)}")
    return get(given)


def move(find: Find, step: TaskStep, by: Caller) -> list[Outcome]:
    """Takes a step, or raises an error that names the possible ones. Returns the outcome of the result, if there is
    one, then that of the task."""
    checks.one_of(step.status, "the status", tuple(STEPS))
    if step.result is not None and step.status not in WITH_RESULT:
        raise Invalid(f"a result belongs to a task that is {' or '.join(WITH_RESULT)}, not {step.status}; leave it out")
    try:
        with by.writer.transaction():
            return _move(_open(find(), by), step, by)
    except Held as held:
        return [Outcome("refused", f"{held}; ask the user to move it", held.record.id, held.record)]


def _open(task: Record, by: Caller) -> Record:
    if task.kind != TASK:
        raise Invalid(f"memory {task.number} is a {task.kind}, not a task; `tasks` lists those")
    by.access.must_write(task.scope, task.home)
    if task.state != "active":
        said = task.reason or task.state
        raise Refused(f"{name_of(task)} is {task.state} ({said}); restore it before you move it")
    return task


def _move(task: Record, step: TaskStep, by: Caller) -> list[Outcome]:
    was, waits = status_of(task), waits_for(task) if step.waits is None else _ids(step.waits)
    if (was, waits_for(task)) == (step.status, waits) and step.result is None:
        return [Outcome("unchanged", UNCHANGED, task.id, task)]
    _refuse_leap(task, step.status)
    _refuse_circle(task, waits, by)
    if step.status == "running":
        _must_be_ready(task, waits, by)
    kept = _kept(task, step, by)
    result = kept[0] if kept else None
    if result is not None and result.id is None:
        return kept
    after = _after(task, step.status, waits, result, by)
    changes = Changes.of(_mover(by))
    changes.put(MOVED, task, changes.stamped(task, after), step.because)
    batch, stored = changes.commit(None if result is None else result.batch)
    done, said = _finished(stored[task.id], batch, by)
    told = f"{step.because}: {was} → {step.status}{said}"
    return [*kept, Outcome("changed", told, task.id, done, batch)]


def _after(task: Record, status: str, waits: list[str], result: Outcome | None, by: Caller) -> Record:
    data = {**task.data, "status": status, "blocked_by": waits}
    data |= {} if result is None else {"result": result.id}
    data |= {"completed": iso(by.now())} if status == "completed" else {}
    return changed(task, data=data)


def _mover(by: Caller) -> Caller:
    """The rights to move a task. Agents may move what the user wrote, and completing a milestone may archive any number
    of tasks."""
    return replace(by, steward=True) if RANK[by.access.origin] >= RANK["agent"] else by


def _refuse_leap(task: Record, status: str) -> None:
    was = status_of(task)
    if status == was or status in STEPS[was]:
        return
    there = " or ".join(STEPS[was])
    advice = f"from there it becomes {there}" if there else "that is the end of it: add a new task, or undo the step"
    raise Refused(f"{name_of(task)} is {was} and cannot become {status}; {advice}")


def _must_be_ready(task: Record, waits: Sequence[str], by: Caller) -> None:
    known = {each.id: each for each in by.store.get(list(waits), by.where)}
    open_ones = [_shown(id, known.get(id)) for id in waits if not _is_done(known.get(id))]
    if open_ones:
        raise Refused(
            f"{name_of(task)} waits for {', '.join(open_ones)} and cannot run yet; complete that first, or name with "
            "blocked_by what it waits for instead"
        )


def _shown(id: str, task: Record | None) -> str:
    return f"{name_of(task)} ({status_of(task) if task.state != 'erased' else 'erased'})" if task else id


def _is_done(task: Record | None) -> bool:
    return task is not None and status_of(task) == "completed"


def _refuse_circle(task: Record, waits: Sequence[str], by: Caller) -> None:
    seen, edge = set(waits), list(waits)
    while edge and task.id not in seen:
        found = {id for each in by.store.get(edge, by.where) for id in waits_for(each)} - seen
        seen, edge = seen | found, sorted(found)
    if task.id in seen:
        raise Invalid(
            f"{name_of(task)} would wait for itself, by way of what it waits for, and never be ready; name other tasks"
        )


def _kept(task: Record, step: TaskStep, by: Caller) -> list[Outcome]:
    """Stores the result as a memory in the task's scope, with the name of the task."""
    if step.result is None:
        return []
    if isinstance(step.result, Record):
        return [Outcome("unchanged", "the result that was named", step.result.id, step.result)]
    kind, said = ("error" if step.status == "failed" else "fact"), task.provenance
    draft = Draft(step.result, kind, task.scope, session=said.session, task=name_of(task), home=task.home)
    return gate.admit([draft], by, task.scope)


def _finished(task: Record, batch: str, by: Caller) -> tuple[Record, str]:
    """Once the last open task of a milestone is completed, archives all of its tasks in the same batch."""
    milestone = task.data.get("milestone")
    if milestone is None or status_of(task) != "completed":
        return task, ""
    where = _beside(task.scope, task.home, by).also("data.milestone", "eq", milestone)
    tasks = by.store.find(where, Order("number", ascending=True))
    if not all(map(_is_done, tasks)):
        return task, ""
    because = f"the milestone {line(str(milestone))} is done"
    changes = Changes.of(_mover(by))
    for each in tasks:
        changes.put(ARCHIVED, each, changes.stamped(each, archived(each, because)), because)
    _, stored = changes.commit(batch)
    return stored[task.id], f"; {because}, and its tasks are archived"


def _beside(scope: str, home: str | None, by: Caller) -> Where:
    """The active tasks of one place."""
    where = by.where.also("kind", "eq", TASK).also("state", "eq", "active")
    return where.also("scope", "eq", scope).also("home", "eq", home)


# ---------------------------------------------------------------- reading


def tasks(status: str | None, milestone: str | None, ready: bool, limit: int, home: str, by: Caller) -> list[Record]:
    """The tasks that match, most urgent first, then oldest."""
    if status is not None:
        checks.one_of(status, "the status", tuple(STEPS))
    where = _beside(home, by.access.home_of(home), by)
    if milestone is not None:
        where = where.also("data.milestone", "eq", checks.label(milestone, "the milestone"))
    found = by.store.find(where, Order("number", ascending=True))
    if status is not None:
        found = [task for task in found if status_of(task) == status]
    if checks.flag(ready, "ready"):
        found = ready_among(found, by)
    return sorted(found, key=_rank)[:limit]


def ready_among(some: Sequence[Record], by: Caller) -> list[Record]:
    """The pending tasks for which everything they wait for is completed."""
    pending = [task for task in some if status_of(task) == "pending"]
    wanted = list(dict.fromkeys(id for task in pending for id in waits_for(task)))
    done = {each.id for each in by.store.get(wanted, by.where) if _is_done(each)} if wanted else set()
    return [task for task in pending if done.issuperset(waits_for(task))]
