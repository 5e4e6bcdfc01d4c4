"""Projects at the command line: listing them, finding this folder's, and renaming one.

Whoever sits at a shell owns the store: they may list its projects and join two of them, which access to one project
does not allow. `--scope` narrows that again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from memorist.access import of_the_owner
from memorist.commands import meaning
from memorist.errors import Refused
from memorist.memory import Memory
from memorist.records import LIVING, Report
from memorist.surfaces.cli import show
from memorist.surfaces.cli.arguments import PLACE, Commands, Option, options_of
from memorist.surfaces.cli.screen import one_line
from memorist.surfaces.cli.verbs import Place, exit_code, opened


@contextmanager
def owned(place: Place) -> Iterator[Memory]:
    """The memory at that place, with the rights of the store's owner."""
    with opened(place) as memory:
        if place.scope is None:
            memory.access = of_the_owner(memory.access)
        yield memory


def list_projects(place: Place) -> int:
    with owned(place) as memory:
        held = memory.projects()
    rows = [("*" if each.current else "", each.scope, f"{each.memories:,}") for each in held]
    return place.screen.table(held, ("", "project", "memories"), rows)


def show_project(place: Place) -> int:
    with owned(place) as memory:
        here = memory.project
        facts: dict[str, Any] = {"project": here.scope, "project_from": here.how, **memory._whose()}
        facts["memories"] = {state: memory.count({"scope": here.scope, "state": state}) for state in LIVING}
    lines = [f"{name}: {one_line(_said(fact))}" for name, fact in facts.items()]
    return place.screen.answer(facts, *lines)


def _said(fact: Any) -> str:
    return ", ".join(f"{count:,} {state}" for state, count in fact.items()) if isinstance(fact, dict) else str(fact)


def change(verb: str, place: Place, **given: Any) -> int:
    with owned(place) as memory:
        if verb == "move":  # the folder moved: what was remembered under its old path belongs to it
            given["new"] = memory.project.scope
        report: Report = memory.merge_project(**given) if verb == "merge" else memory.rename_project(**given)
        show.show(show.Result("merge_project", report, memory), place.screen)
    return exit_code(report)


def assign(place: Place, what: str, to: str) -> int:
    """Assigns an older task or session to a project; no project could do so, because none of them sees it."""
    with owned(replace(place, scope=None)) as memory:
        if memory.access.origin != "user":
            raise Refused("only a person says which project it belongs to; run this at a terminal")
        report = memory.assign(what, to if to.startswith("project/") else f"project/{to}")
    done = {"scope": what, "project": to, "memories": len(report.changed), "batch": report.batch}
    return place.screen.table([done], ("scope", "project", "memories"), [(what, to, f"{len(report.changed):,}")])


WHAT = Option("what", meaning("assign", "scope"), needed=True)
TO = Option("to", meaning("assign", "project"), needed=True)
OLD, *REST = options_of("rename_project")
commands: Commands = {
    "project list": (PLACE, list_projects),
    "project show": (PLACE, show_project),
    "project rename": (options_of("rename_project"), partial(change, "rename")),
    "project move": ((OLD, *(option for option in REST if option.name != "new")), partial(change, "move")),
    "project merge": (options_of("merge_project"), partial(change, "merge")),
    "project assign": ((WHAT, TO, *PLACE), assign),
}
