"""`tasks.json`: the open tasks of a project in the shape of the founding document, for people and for other tools.

It is written from the rows and never read back. A task that was archived with its milestone is not in it.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from memorist.files.projections import rows_of
from memorist.memory import Memory
from memorist.records import Record
from memorist.session.tasks import TASK, name_of, status_of, waits_for
from memorist.store.where import Order

TASKS_FILE = "tasks.json"


def render(memory: Memory, scope: str) -> bytes:
    """The file of that project, as the project reads it, whoever follows; nothing if it has no task."""
    where = rows_of(memory, scope).also("kind", "eq", TASK)
    where = where.also("scope", "eq", scope).also("state", "in", ("active", "archived"))
    tasks = memory._tools.store.find(where, Order("number", ascending=True))
    return tasks_json(tasks) if tasks else b""


def tasks_json(records: Iterable[Record]) -> bytes:
    """The file for these tasks. What is archived among them is only named, where another task waits for it.

    >>> tasks_json([])
    b'{\\n  "tasks": []\\n}\\n'
    """
    tasks = sorted((record for record in records if record.kind == TASK), key=lambda task: task.number)
    names = {task.id: name_of(task) for task in tasks}
    shown = [_entry(task, names) for task in tasks if task.state == "active"]
    return (json.dumps({"tasks": shown}, ensure_ascii=False, indent=2) + "\n").encode()


def _entry(task: Record, names: Mapping[str, str]) -> dict[str, Any]:
    """One task. Data from an import is written as it is."""
    told, completed = task.data, task.data.get("completed")
    entry = {
        "id": name_of(task),
        "milestone": told.get("milestone"),
        "priority": told.get("priority"),
        "status": status_of(task),
        "title": task.title,
        "description": task.text,
        "acceptance_criteria": told.get("criteria", []),
        "created": task.times.created.date().isoformat(),
        "completed": completed[:10] if isinstance(completed, str) else completed,
        "blocked_by": [names.get(id, id) for id in waits_for(task)],
    }
    return entry | {name: told[name] for name in ("skill", "result") if name in told}
