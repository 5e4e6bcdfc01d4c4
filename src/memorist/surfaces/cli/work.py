"""Narratives and tasks at the command line: `memorist narrative add|list|show` and `memorist task add|list|show|move`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memorist.commands import ARGUMENTS, VERBS
from memorist.errors import Invalid
from memorist.memory import Memory
from memorist.records import Record
from memorist.session.narrative import SUMMARY
from memorist.session.tasks import TASK, meant, name_of, ready_among, status_of, waits_for
from memorist.surfaces.cli import show, verbs
from memorist.surfaces.cli.arguments import PLACE, Commands, Option, options_of
from memorist.surfaces.cli.screen import aside, one_line
from memorist.surfaces.cli.verbs import PATIENCE_OF_READERS, Place, opened

NARRATIVE_ID = Option("id", "The narrative: its number, its id, or a unique part of the id.", needed=True)
TASK_ID = Option("id", ARGUMENTS["move_task.id"], needed=True)


# ---------------------------------------------------------------- narratives


def list_narratives(place: Place, **given: Any) -> int:
    with opened(place, wait=PATIENCE_OF_READERS) as memory:
        found = memory.narratives(**given)
    if not found:
        aside("no narrative was told here that fits")
    elif found[0].kind == SUMMARY:
        aside("no narrative was told here that fits; this is the summary of the last session")
    rows = [
        (f"[id:{r.number}]", str(r.times.at.date()), r.provenance.session or "", r.title or "", r.text) for r in found
    ]
    return place.screen.table(found, ("id", "told", "session", "topic", "summary"), rows)


def show_narrative(place: Place, id: str) -> int:
    with opened(place, wait=PATIENCE_OF_READERS) as memory:
        told = memory.get(id)
        if told.kind != "narrative":
            raise Invalid(
                f"memory {told.number} is a {told.kind}; `memorist narrative list --id` lists those it belongs to"
            )
        beside = {
            "tells of": _named(memory, told.data.get("memories")),
            "written meanwhile": memory.list({"narrative": told.id}, order="-number"),
            "follows": _named(memory, [told.data.get("previous")]),
            "followed by": memory.list({"kind": "narrative", "data.previous": told.id}, order="-number"),
        }
        return _whole(memory, told, beside, place)


# ---------------------------------------------------------------- tasks


def list_tasks(place: Place, **given: Any) -> int:
    with opened(place, wait=PATIENCE_OF_READERS) as memory:
        found = memory.tasks(**given)
        waiting = ready_among(found, memory._caller) if isinstance(memory, Memory) else memory.tasks(ready=True)
        ready = {task.id for task in waiting}
    if not found:
        aside("no open task fits")
    rows = [
        (
            name_of(task), "ready" if task.id in ready else status_of(task), str(task.data.get("priority", "")),
            str(task.data.get("milestone", "")), task.title or task.text,
        )
        for task in found
    ]  # fmt: skip
    return place.screen.table(found, ("task", "status", "priority", "milestone", "title"), rows)


def show_task(place: Place, id: str) -> int:
    with opened(place, wait=PATIENCE_OF_READERS) as memory:
        task = memory.get(meant(id))
        if task.kind != TASK:
            raise Invalid(f"memory {task.number} is a {task.kind}; `memorist task list` lists the tasks")
        beside = {
            "waits for": _named(memory, waits_for(task)),
            "result": _named(memory, [task.data.get("result")]),
            "memories of it": memory.list({"task": name_of(task)}, order="-number"),
        }
        return _whole(memory, task, beside, place)


# ---------------------------------------------------------------- both


def _named(memory: Memory, ids: Any) -> list[Record]:
    """The readable memories among these ids; an import may contain anything."""
    wanted = [each for each in ids if isinstance(each, str)] if isinstance(ids, list | tuple) else []
    caller = memory._caller
    return caller.store.get(wanted, caller.where)


def _whole(memory: Memory, record: Record, beside: Mapping[str, Sequence[Record]], place: Place) -> int:
    screen = place.screen
    if screen.json:
        return screen.answer({"record": record, **{name.replace(" ", "_"): some for name, some in beside.items()}})
    show.show(show.Result("get", record, memory), screen)
    for name, some in beside.items():
        if some:
            screen.line()
            screen.line(f"{name}:", "dim")
        for each in some:
            screen.line(f"  {_mark(each)} {one_line(each.title or each.text)}")
    return 0


def _mark(record: Record) -> str:
    is_task = record.kind == TASK
    return f"{name_of(record)} {status_of(record)}" if is_task else f"[id:{record.number}] {record.kind}"


def _verb(name: str) -> tuple[tuple[Option, ...], Callable[..., Any]]:
    command = verbs.command(VERBS[name])
    return command.options, command.perform


commands: Commands = {
    "narrative add": _verb("narrate"),
    "narrative list": (options_of("narratives"), list_narratives),
    "narrative show": ((NARRATIVE_ID, *PLACE), show_narrative),
    "task add": _verb("add_task"),
    "task list": (options_of("tasks"), list_tasks),
    "task show": ((TASK_ID, *PLACE), show_task),
    "task move": _verb("move_task"),
}
