"""Moves a whole project to another name: renamed, merged into another, or adopted by the checkout that it always was.

All its memories move, including those of its tasks, sessions and agents, in short transactions under one batch, with number,
votes, links and past texts; `undo` reverts it. What the other project already says is not duplicated: the memory arrives in
the archive, unless it outranks its twin, in which case it stays where it was. Contradictions are flagged as in any other
write.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from memorist.design import Ask
from memorist.errors import Invalid, NotFound, Refused
from memorist.project import resolve_project
from memorist.records import LIVING, Record, Report, Scope, memories
from memorist.remember import consent, lessons
from memorist.remember.changes import Caller, same_texts, twin_of
from memorist.remember.edit import Sweep, portions
from memorist.store import captures, checkouts, choices

MOVED = "moved"
TWIN = "the project it was merged into says the same"  # the reason of what arrived in the archive
ADOPTER = "memorist"  # the actor of an adoption, so that a user's `undo` refers to their own acts


def rename(old: str, new: str, because: str, by: Caller, dry_run: bool) -> Report:
    """Gives a project a name that no memory has yet."""
    source, target, by = _pair(old, new, by)
    held = _ids(target, by)
    if held:
        raise Refused(f"{target} is taken, it holds {memories(len(held))}; `memorist project merge` joins two projects")
    return _move(source, target, because, by, dry_run)


def merge(old: str, new: str, because: str, by: Caller, dry_run: bool) -> Report:
    """Adds the memories of one project to another."""
    source, target, by = _pair(old, new, by)
    return _move(source, target, because, by, dry_run)


def adopt(old: str, new: str, by: Caller) -> Report:
    """Moves the memories that a checkout had under its former path, if any."""
    by.writer.refuse_secret(new, "the project")
    because = f"the same checkout, which was {old}, is {new} now"
    everywhere = replace(by.access.over_the_space(by.access.surface), actor=ADOPTER)
    return _moved(Scope(old), Scope(new), because, by.through(everywhere), chosen=False)


def approved(details: Mapping[str, Any], by: Caller) -> Report:
    """Moves the project as a person agreed; a rename does not turn into a merge meanwhile."""
    act = merge if details["merges"] else rename
    return act(details["old"], details["new"], details["because"], by, dry_run=False)


def _pair(old: str, new: str, by: Caller) -> tuple[Scope, Scope, Caller]:
    """The two projects, both of which the caller may write; and the caller with rights to everything inside them."""
    source, target = (resolve_project(name, None).scope for name in (old, new))
    if source == target:
        raise Invalid(f"{source} cannot be moved to itself; name two projects")
    by.writer.refuse_secret(target, "the project")
    whole = by.access.over_the_space(by.access.surface)
    return by.access.must_write(source), by.access.must_write(target), by.through(whole)


def _move(old: Scope, new: Scope, because: str, by: Caller, dry_run: bool) -> Report:
    ids = _ids(old, by)
    if not ids:
        raise NotFound(f"{old} holds no memories; `memorist project list` shows the projects that do")
    if dry_run:
        return _sweep(old, new, because, replace(by, steward=True)).plan(ids)
    if by.access.origin != "user":
        details = {"old": old, "new": new, "because": because, "merges": bool(_ids(new, by))}
        question = Ask("move", f"move {memories(len(ids))} of {old}, all it holds, to {new}", consent.CAN_UNDO, details)
        said = consent.ask(question, old, because, by)
        if not said.approved:
            return said.report(MOVED)
    return _moved(old, new, because, by, chosen=True)


def _moved(old: Scope, new: Scope, because: str, by: Caller, chosen: bool) -> Report:
    """Moves it in portions. The first one also changes the name, so that if the process is killed, empty answers in the folder
    point to what remains, and it can be merged. Done on behalf of the store's owner: whoever said a memory, it keeps its
    project and its trust."""
    by = replace(by, steward=True, agreed=None)
    sweep, report = _sweep(old, new, because, by), Report(MOVED)
    with by.writer.transaction():  # also for a project without memories
        captures.take_along(old, new, by.store, by.access.space)
    for some in portions(_ids(old, by)):
        with by.writer.transaction():
            begun, (report, _) = report.batch, sweep.step(some, report)
            if report.batch and not begun:
                _take_choices_along(old, new, by)
                lessons.take_along(old, new, by)
                checkouts.rename(old, new, by.store, by.access.space, report.batch, chosen)
    return replace(report, advice=_told(report, by)) if report.changed else report


def _sweep(old: Scope, new: Scope, because: str, by: Caller) -> Sweep:
    return Sweep(MOVED, partial(_arrived, old=old, new=new, by=by), because, by.where, by)


def _ids(project: Scope, by: Caller) -> list[str]:
    """Everything that belongs to it: its own memories, and those of its tasks, sessions and agents."""
    here = by.where.also("state", "in", LIVING)
    return [brief.id for field in ("scope", "home") for brief in by.store.briefs(here.also(field, "eq", project))]


def _arrived(record: Record, old: Scope, new: Scope, by: Caller) -> Record:
    """The record in its new project; archived if another memory there says the same."""
    moved = _in(new, record, old)
    if record.state != "active" or moved == record:
        return moved
    there = same_texts(by.store, record.space, moved.scope, moved.home, [record.fingerprint])
    twin = twin_of(record, there, by.tools.kinds, by.now(), "active")
    if twin is None:
        return moved
    more = [what for what, mine, theirs in _standing(record, twin) if mine and not theirs]
    if more:
        raise Refused(
            f"memory {record.number} says the same as memory {twin.number} of {new} and is {', '.join(more)}, which that"
            f" one is not; forget one of the two, and merge again"
        )
    return replace(moved, state="archived", reason=TWIN)


def _in(new: Scope, record: Record, old: Scope) -> Record:
    scope = new if record.scope == old else record.scope
    home = new if record.home == old else record.home
    data = {**record.data, "home": new} if record.data.get("home") == old else record.data  # what a finding is for
    return replace(record, scope=scope, home=home, data=data)


def _standing(record: Record, twin: Record) -> Iterator[tuple[str, bool, bool]]:
    """What makes a memory outrank another with the same text."""
    yield "the user's", record.origin == "user", twin.origin == "user"
    yield "confirmed", record.status == "confirmed", twin.status == "confirmed"
    yield "pinned", record.pinned, twin.pinned


def _take_choices_along(old: Scope, new: Scope, by: Caller) -> None:
    """Copies aliases, the budget and the like unless the new project has its own. The old one keeps them, for an undo."""
    space = by.access.space
    had, has = (choices.chosen(by.store, space, scope) for scope in (old, new))
    joined = choices.Choices(
        {**had.aliases, **has.aliases},
        had.budget if has.budget is None else has.budget,
        had.auto if has.auto is None else has.auto,
        has.preset or had.preset,
        tuple(dict.fromkeys((*has.offered, *had.offered))),
    )
    if joined != has:
        choices.choose(by.store, space, new, joined)


def _told(report: Report, by: Caller) -> str | None:
    """What the user should check: memories that say the same, and those that now contradict each other."""
    moved = [each.id for each in report.changed]
    pairs = len(by.store.links(by.where.also("state", "eq", "active"), moved, "contradicts"))
    twins = len({brief.id for brief in by.store.briefs(by.where.also("reason", "eq", TWIN))} & set(moved))
    said = [
        (twins, "said nothing new and are in the archive"),
        (len(report.left), "stayed where they were"),
        (pairs, "pairs contradict each other: see `memorist conflicts`"),
    ]
    return "; ".join(f"{count:,} {what}" for count, what in said if count) or None
