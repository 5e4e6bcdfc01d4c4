"""What a store knows about projects besides their memories: which checkout is which project, and what a project is called now.

A folder is identified by its remote or its path (`project.py`), and both can change. So the store keeps, under a random mark
in the checkout's `.git`, the name that it had when something was last remembered in it. If it has another name now and the old
one was its path, which no other folder has, its memories are moved along. A remote may be shared by other checkouts, so in
that case the old name is only mentioned. A copy of a checkout has the mark of its original, and is recognised by the original
still existing.

Names that a user gave (`project rename`, `project merge`) are kept here as well. All of these are settings of the store,
written in the transaction that moves the memories, and `undo` reverts both.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from memorist.access import HOMED, Access
from memorist.lazy import dataclass
from memorist.noun import Noun
from memorist.project import Project, earlier_names, make_mark, mark_of, parents_of
from memorist.records import Scope, memories
from memorist.store.files import path_read, path_written
from memorist.store.nouns import Commit
from memorist.store.protocol import Store
from memorist.store.where import Order, Where, canonical

INSIDE = tuple(f"{family}/*" for family in HOMED)  # grants for what lies in a project besides its own memories
PROJECT = "project "  # prefix of the settings about the name of a project
MOST_BEFORE = 10  # earlier names of a checkout that are kept


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout when something was last remembered in it: its name according to its folder, and where git's own files lay."""

    scope: str
    how: str
    own: str
    before: tuple[str, ...] = ()  # earlier names, latest first


@dataclass(frozen=True, slots=True)
class Settled:
    """The project whose memories a folder uses."""

    project: Project
    known: bool = True  # False: note this checkout in the store when something is remembered
    adopts: Scope | None = None  # its previous name, whose memories are to be moved here


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another project with memories that this folder was or belongs to, and how to reach them."""

    scope: str
    memories: int
    what: str
    advice: str

    def __str__(self) -> str:
        lie = "lies" if self.memories == 1 else "lie"
        return f"{memories(self.memories)} {lie} in {self.scope} ({self.what}); {self.advice}"


@dataclass(frozen=True, slots=True, repr=False)
class Holding(Noun):
    """A project and how many active memories it has."""

    scope: str
    memories: int
    current: bool
    about: str | None = None  # for the current project, how it was determined; for another, its relation to this folder


# ---------------------------------------------------------------- which project a folder is


def settle(found: Project, store: Store, space: str) -> Settled:
    """The project of a folder, including what the store knows beyond the folder's own files."""
    if found.own is None:
        return Settled(_nearest(found, store, space))
    seen, shared = _seen(found, store, space), found.how == "remote"
    if seen is None:
        name = called(found.scope, store, space, adopted=shared) if shared else found.scope
        return Settled(_as(found, name), known=False)
    chosen = called(seen.scope, store, space)
    if chosen != seen.scope:
        return Settled(_as(found, chosen), known=seen.own == path_written(found.own))
    if found.how == seen.how == "path" and found.scope in seen.before:  # two paths in turn: a container and its host
        return Settled(_as(found, Scope(seen.scope)))
    name = called(found.scope, store, space, adopted=True) if shared else found.scope
    adopts = Scope(seen.scope) if seen.how == "path" and seen.scope != name else None
    known = (seen.scope, seen.own) == (found.scope, path_written(found.own))
    return Settled(_as(found, name), known, adopts)


def tell(found: Project, store: Store, space: str) -> None:
    """Stores which project this checkout is, under its mark; inside a transaction of the writer."""
    if found.own is None:
        return
    seen, own = _seen(found, store, space), path_written(found.own)
    mark = _marked(found.own, seen, store, space)
    if mark is None:
        return
    before = seen.before if seen else ()
    if seen is not None and called(seen.scope, store, space) != seen.scope:
        now = replace(seen, own=own)  # its user gave it a name, which it keeps
    elif seen is None or seen.scope == found.scope:
        now = Checkout(found.scope, found.how, own, before)
    else:
        now = Checkout(found.scope, found.how, own, (seen.scope, *before)[:MOST_BEFORE])
    store.write(Commit(settings={_checkout(space, mark): canonical(asdict(now))}))


def _nearest(found: Project, store: Store, space: str) -> Project:
    """Outside of version control: this folder if it has memories, otherwise the nearest parent that has, otherwise this
    folder."""
    for each in (found, *parents_of(found)):
        name = called(each.scope, store, space)
        if _has_any(name, store, space):
            return _as(each, name)
    return _as(found, called(found.scope, store, space))


def _as(found: Project, scope: Scope) -> Project:
    if found.scope == scope:
        return found
    return replace(found, scope=scope, how="renamed", name=scope.rpartition("/")[2])


def _seen(found: Project, store: Store, space: str) -> Checkout | None:
    """What the store knows of this checkout; None for a copy, which has the mark of its original."""
    mark = mark_of(found.own)
    table = _told(store.setting(_checkout(space, mark))) if mark else None
    if table is None:
        return None
    seen = Checkout(table["scope"], table["how"], table["own"], tuple(table["before"]))
    is_copy = seen.own != path_written(found.own) and mark_of(path_read(seen.own)) == mark
    return None if is_copy else seen


def _told(said: str | None) -> dict[str, Any] | None:
    """The content of a setting. None if it is unreadable: the folder's own files still name its project."""
    try:
        return dict(json.loads(said)) if said else None
    except (ValueError, TypeError):
        return None


def _marked(own: Path, seen: Checkout | None, store: Store, space: str) -> str | None:
    """Its mark. A new one is made if there is none, or if the store knows that mark but not for this checkout."""
    mark = mark_of(own)
    if mark and (seen or not store.setting(_checkout(space, mark))):
        return mark
    return make_mark(own)


def _checkout(space: str, mark: str) -> str:
    return f"checkout {canonical([space, mark])}"


# ---------------------------------------------------------------- what a project is called


def called(scope: str, store: Store, space: str, adopted: bool = False) -> Scope:
    """The present name of that project, after its user renamed or merged it. `adopted`: or after a checkout took its memories
    along."""
    seen = [Scope(scope)]
    while (
        (said := _told(store.setting(_name(space, seen[-1]))))
        and (said["chosen"] or adopted)
        and said["to"] not in seen
    ):
        seen.append(Scope(said["to"]))
    return seen[-1]


def rename(old: str, new: str, store: Store, space: str, batch: str, chosen: bool) -> None:
    """Records that `old` is called `new` from now on; inside the transaction that moves its memories under that batch."""
    said = {_name(space, old): canonical({"to": new, "chosen": chosen}), _name(space, new): ""}
    _keep(said, store, batch)


def named_by(batch: str, store: Store) -> list[str]:
    """The projects whose names that batch changed."""
    return [json.loads(name.removeprefix(PROJECT))[1] for name in _told(store.setting(_given_by(batch))) or ()]


def undone(batch: str, by: str | None, store: Store) -> None:
    """Reverts the names that a batch gave, after its undo (the batch `by`) has moved the memories back."""
    told = _told(store.setting(_given_by(batch)))
    if told and by:
        _keep(told, store, by)


def _keep(names: Mapping[str, str], store: Store, batch: str) -> None:
    was = {name: store.setting(name) or "" for name in names}
    store.write(Commit(settings={**names, _given_by(batch): canonical(was)}))


def _name(space: str, scope: str) -> str:
    return PROJECT + canonical([space, scope])


def _given_by(batch: str) -> str:
    return f"names given by {batch}"


# ---------------------------------------------------------------- where else to look


def neighbours(here: Project, found: Project, directory: Path, store: Store, space: str) -> list[Neighbour]:
    """Projects with memories that this folder was earlier, became, or lies in; `here` is the one it was settled as. No other
    project is ever mentioned."""
    if not found.by_folder:
        return []
    about = earlier_names(found, directory)
    seen = _seen(found, store, space)
    for scope in (seen.scope, *seen.before) if seen else ():
        about.setdefault(scope, "this checkout under an earlier name")
    above = {parent.scope for parent in parents_of(found)}
    about |= dict.fromkeys(above, "a folder above this one")
    became = called(here.scope, store, space, adopted=True)
    about.setdefault(became, "what became of this project")
    about.setdefault(found.scope, "this folder before it was renamed")
    about.pop(here.scope, None)
    counts = held(tuple(about), store, space)
    apart = {*above, became}
    return [
        Neighbour(scope, counts[scope], what, _advice(scope, scope in apart))
        for scope, what in about.items()
        if scope in counts
    ]


def _advice(scope: str, apart: bool) -> str:
    from shlex import quote

    name = quote(scope)
    return f"`--project {name}` reads them" if apart else f"`memorist project merge {name}` brings them here"


def held(scopes: Sequence[str], store: Store, space: str) -> dict[str, int]:
    """How many active memories each of these projects has, including those of its tasks, sessions and agents; projects without
    any are left out."""
    counts = {
        scope: sum(sum(store.count(where.also("state", "eq", "active")).values()) for where in _of(scope, space))
        for scope in scopes
    }
    return {scope: count for scope, count in counts.items() if count}


def _has_any(scope: str, store: Store, space: str) -> bool:
    """Whether a project ever had memories; much faster than counting them."""
    first = Order("number", ascending=True)
    return any(store.find(where, first, 1) for where in _of(scope, space))


def _of(scope: str, space: str) -> Iterator[Where]:
    """Filters for what belongs to a project: its own memories, and those of its tasks, sessions and agents."""
    yield Where(Access(space, reads=(scope,)))
    yield Where(Access(space, reads=(*INSIDE, scope))).also("home", "eq", scope)
