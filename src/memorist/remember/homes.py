"""Which project the tasks, sessions and agents of an older store belong to, and how a person decides that.

Up to 0.1.0, `task/42` was one scope for all projects. When such a store is first opened, each of those memories is assigned to
the project it can be shown to belong to: the only one of its space; the one that a finding names; or the one of all memories
that are linked to its scope, come from the same session, task or agent, or were promoted from it. This is a change like any
other, journalled and undone by `undo`. A memory that two projects may claim stays without a home: no project sees it, `doctor`
lists it, and a person assigns it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from memorist.access import EVERY_PROJECT, EVERYWHERE, Access, family_of, is_homed
from memorist.errors import Invalid, NotFound, OutOfScope, Refused
from memorist.records import Record, Report, Scope
from memorist.remember.changes import Caller
from memorist.remember.edit import Sweep
from memorist.store.journal import newest_first
from memorist.store.nouns import Diagnosis
from memorist.store.where import Order, everywhere

ASSIGNED = "assigned"
SHOWN = 5  # scopes in a diagnosis
TOLD_BY = "it was told by what belongs together"


def settle(by: Caller) -> None:
    """Assigns homes to the memories of a space from before homes existed, once."""
    space = by.access.space
    keeper = by.through(Access(space, EVERYWHERE, EVERYWHERE, "admin", "memorist", surface="upgrade"))
    keeper = replace(keeper, steward=True)  # assign a home whoever said the memory
    homes: dict[str, str] = {}
    scopes = homeless(keeper)
    projects = [scope for scope in by.store.count(keeper.where) if family_of(scope) == "project"] if scopes else []
    moved = _moved_from(keeper) if len(projects) > 1 else {}
    for scope in scopes:
        records = _homeless_in(scope, keeper)
        homes |= _told(records, set(projects) if len(projects) == 1 else _around(scope, records, moved, keeper))
    sweep = Sweep(ASSIGNED, lambda record: replace(record, home=homes[record.id]), TOLD_BY, keeper.where, keeper)
    sweep.apply(list(homes))
    by.writer.note_homes(space)


def _told(records: Sequence[Record], around: set[str]) -> dict[str, str]:
    """By id: the project that a finding names; for the others, the only project with a claim to all of them."""
    own = {record.id: _named_by(record) for record in records}
    every = around | {home for home in own.values() if home}
    common = next(iter(every)) if len(every) == 1 else None
    return {id: home for id, named in own.items() if (home := named or common)}


def homeless(by: Caller) -> list[str]:
    """The tasks, sessions and agents of the space that belong to no project."""
    where = everywhere(by.access.space).also("home", "eq", None).also("state", "ne", "erased")
    return [scope for scope in by.store.count(where) if is_homed(scope)]


def _homeless_in(scope: str, by: Caller) -> list[Record]:
    where = by.where.also("scope", "eq", scope).also("home", "eq", None).also("state", "ne", "erased")
    return by.store.find(where, Order("number", ascending=True))


def _named_by(record: Record) -> str | None:
    home = record.data.get("home")
    return home if isinstance(home, str) and family_of(home) == "project" else None


def _around(scope: str, records: Sequence[Record], moved: Mapping[str, set[str]], by: Caller) -> set[str]:
    """The projects of the memories that are linked to these, come from the same session, task or agent, or were promoted from
    there."""
    family, _, name = scope.partition("/")
    asked = {(family, name)} | {("session", r.provenance.session) for r in records if r.provenance.session}
    found = [r for field, value in asked for r in by.store.find(by.where.also(field, "eq", value), Order("number"))]
    links = by.store.links(by.where, [record.id for record in records])
    found += by.store.get([end for link in links for end in (link.a, link.b)], by.where)
    return moved.get(scope, set()) | {record.scope for record in found if family_of(record.scope) == "project"}


def _moved_from(by: Caller) -> dict[str, set[str]]:
    """Scope → the projects into which memories were promoted from it, according to the journal."""
    came: dict[str, str] = {}
    for event in newest_first(by.store):
        was = (event.before or {}).get("scope")
        if isinstance(was, str) and is_homed(was):
            came.setdefault(event.record, was)
    found: dict[str, set[str]] = {}
    for record in by.store.get(list(came), by.where):
        if family_of(record.scope) == "project":
            found.setdefault(came[record.id], set()).add(record.scope)
    return found


# ---------------------------------------------------------------- what a person decides


def assign(scope: str, project: str, by: Caller) -> Report:
    """Assigns to this project what lies in that scope and belongs to none."""
    place, home = Scope(scope), Scope(project)
    if not is_homed(place) or family_of(home) != "project":
        raise Invalid(f"only a task, a session or an agent belongs to a project, not {place} to {home}")
    if not (by.access.sees_every_project and EVERY_PROJECT in by.access.writes):
        raise OutOfScope(f"{place} belongs to no project, so only an admin's access assigns it, one for every project")
    if by.access.origin != "user":
        raise Refused(
            f"only a person tells which project {place} belongs to; use `memorist project assign` at a terminal"
        )
    by.access.must_write(place, home)
    ids = [record.id for record in _homeless_in(place, by)]
    if not ids:
        raise NotFound(f"nothing in {place} waits for a project; `memorist doctor` lists what does")
    because = f"assigned to {home}"
    keeper = replace(by, steward=True)
    return Sweep(ASSIGNED, lambda record: replace(record, home=home), because, by.where, keeper).apply(ids)


def checked(by: Caller) -> list[Diagnosis]:
    """For the doctor: what belongs to no project. Names are shown only to those who may see every project, and to the user."""
    who, waiting = by.access, homeless(by)
    if not waiting:
        return []
    named = f": {', '.join(waiting[:SHOWN])}{' …' if len(waiting) > SHOWN else ''}"
    shown = named if who.sees_every_project or who.origin == "user" else ""
    said = f"{len(waiting):,} tasks, sessions or agents belong to no project, and none sees them{shown}"
    return [Diagnosis(False, "homes", said, "`memorist project assign SCOPE PROJECT` gives one to its project")]
