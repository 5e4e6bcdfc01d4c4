"""What `Memory(...)` stands on: which file, which project, which design, which rights.

The only place of the engine that asks the settings (environment and files). `Memory()` must see the very store and project
that the command line sees, so both ask here.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from memorist import checks
from memorist.access import Access, access_for
from memorist.design import Design
from memorist.designs import finding
from memorist.errors import Invalid
from memorist.kinds import Kind
from memorist.models.embed import NONE, Choice, Embedder, chosen, shown
from memorist.project import Project, resolve_project
from memorist.records import Scope, from_micros
from memorist.store.copies import is_json
from memorist.store.meaning import Meaning
from memorist.store.protocol import Store
from memorist.store.writer import looked_after
from memorist.surfaces import settings
from memorist.text.dates import TimeReader, reader_named
from memorist.upkeep import runner

IN_RAM = ":memory:"
RECEIPTS_READ = 200  # for when something last went into a prompt; what is older than these was long ago
WAITING_AT_MOST = 10_000  # rows that a status counts; with more it says so many


@dataclass(frozen=True, slots=True)
class Place:
    db: str
    project: Project
    home: Scope  # where a memory goes that names no scope: the project, unless the settings say otherwise
    space: str
    design: Design
    kinds: Mapping[str, Kind]
    actor: str
    embed: Choice
    times: TimeReader
    off_because: Callable[[], str | None]


def place(path: str | Path | None, project: str | None, space: str | None, design: Design | str | None) -> Place:
    """A named file means `project/default` unless a project is named; no file means the user's store and this project."""
    if path is not None and not str(path).strip():
        raise Invalid("the path of the store is empty; name a file, or ':memory:'")
    directory = Path.cwd() if path is None else None
    here = settings.load(directory)
    named = project if project is not None or path is not None else here.project
    found = resolve_project(named, directory)
    return Place(
        db=here.db if path is None else str(path),
        project=found,
        home=Scope(here.scope) if here.scope else found.scope,
        space=here.space if space is None else space,
        design=_design(here, design),
        kinds=here.kinds,
        actor=here.actor,
        embed=embedder(here.embed, asked=here.sources["embed"] != "default"),
        times=reader_named(here.dates),
        off_because=settings.off_because,
    )


def _design(here: settings.Settings, named: Design | str | None) -> Design:
    """The design that is meant. A project's file, which came with a clone, may say how its questions are answered, but not
    how the whole store is kept in order: that is as the user has it."""
    if named is not None:
        return tuned(named, here)
    found = tuned(here.design, here)
    if Path(here.sources["design"]).name != settings.LOCAL_NAME:
        return found
    mine = tuned(settings.load().design, here)
    return replace(found, upkeep=mine.upkeep, due=mine.due)


def tuned(design: Design | str, here: settings.Settings) -> Design:
    """The design that is meant, with what the settings say about votes and room."""
    found = design if isinstance(design, Design) else finding.find(design, settings.designs_folder())
    room = None if here.max_size is None else checks.size(here.max_size, "max_size")
    return finding.adjusted(found, here.reinforce_weight, here.demote_weight, room, here.prune_percent)


def embedder(embed: Embedder | str, asked: bool = True) -> Choice:
    """The embedder that is meant. Keys are read from the environment, by the settings, when they are sent."""
    return chosen(embed, settings.secret, asked)


def usual_access(place: Place) -> Access:
    return replace(access_for("project", place.project.scope), space=place.space, actor=place.actor)


def store(db: str, wait: float) -> Store:
    if db == IN_RAM:
        from memorist.store.in_memory import InMemoryStore

        return InMemoryStore()
    if "://" in db:
        raise Invalid(f"{db.partition('://')[0]}:// stores are not available; name a file, or ':memory:'")
    if is_json(Path(db)):
        from memorist.store.json_file.store import JsonFileStore

        return JsonFileStore(Path(db).expanduser(), wait)
    from memorist.store.sqlite import SqliteStore

    return SqliteStore(Path(db).expanduser(), wait)


def status(
    store: Store, project: Project, design: Design, access: Access, meaning: Meaning, off: str | None
) -> dict[str, Any]:
    """The facts a user asks for first."""
    return {
        "store": str(store.path) if store.path else IN_RAM,
        "project": project.scope,
        "project_from": project.how,
        "space": access.space,
        "design": design.name,
        "memory": off or "on",
        **vectors(meaning),
        "scopes": {scope: count for scope, count in store.scopes(access.space).items() if access.may_read(scope)},
        **asdict(store.size()),
        **_lately(store, access.space),
    }


def _lately(store: Store, space: str) -> dict[str, Any]:
    """What became of memories, all in all, and when it was last looked after them. Counted from what is kept anyway."""
    upkeep = store.setting(looked_after(space))
    shown = [receipt.at for receipt in store.receipts(space, RECEIPTS_READ) if receipt.rendered is not None]
    return {
        "promotions": store.happened(space, ["promoted"]),
        "evictions": store.happened(space, ["evicted", "expired", "forgotten"], runner.UPKEEP),
        "accesses": store.uses(space),
        "last_upkeep": from_micros(int(upkeep)).isoformat(timespec="seconds") if upkeep else "never",
        "last_injection": shown[0].isoformat(timespec="seconds") if shown else "never",
    }


def vectors(meaning: Meaning) -> dict[str, Any]:
    """Which embedder this process has, which vectors the store has, how many rows wait for one, and what to do then."""
    embedder, living = meaning.embedder(), meaning.living()
    waiting = meaning.waiting(WAITING_AT_MOST)
    facts = {
        "embedder": meaning.problem or (shown(embedder.name) if embedder else NONE),
        "vectors": ", ".join(f"{shown(each.model)} ({each.state})" for each in living) or NONE,
        "rows_waiting": waiting,
    }
    advice = meaning.advice(living) or ("run `memorist upkeep`" if waiting else None)
    return facts | ({"vectors_advice": advice} if advice else {})
