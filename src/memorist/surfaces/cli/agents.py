"""`memorist install` and `uninstall`: our lines in the settings of coding agents, shown before they are written."""

from collections.abc import Callable
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

from memorist.errors import Invalid, MemoristError, meant
from memorist.project import repository_root
from memorist.surfaces.agents import install as lines
from memorist.surfaces.agents.clients import CLIENTS, Agent
from memorist.surfaces.cli import hook as answering
from memorist.surfaces.cli.arguments import JSON, Option
from memorist.surfaces.cli.screen import Screen, aside, one_line
from memorist.surfaces.cli.verbs import Place

EVERY = "all"
OF_A_PROJECT = (
    "these are settings of the project: who has them, and no memorist on the PATH, sees each hook end with 127; "
    "their agent goes on without it"
)
WHICH = Option("clients", f"{', '.join(CLIENTS)}, or {EVERY} that are here.", type="texts")
HERE = Option("here", "In the settings of this project, for everybody who works on it.", "--project", "flag")
DRY_RUN = Option("dry_run", "Only shows what would change.", "--dry-run", "flag")
NO_HOOKS = Option("no_hooks", "Only the server of tools.", "--no-hooks", "flag")
OF_PLUGIN = Option("of_plugin", "Says nothing where the agent's settings have this hook.", "--plugin", "flag")
NO_MCP = Option("no_mcp", "Only the hooks.", "--no-mcp", "flag")


def install(
    place: Place,
    clients: list[str] | None = None,
    here: bool = False,
    dry_run: bool = False,
    no_hooks: bool = False,
    no_mcp: bool = False,
) -> int:
    if not clients:
        return _listed(place, here)
    root, hooks, servers = _root(here), not no_hooks, not no_mcp
    if not hooks and not servers:
        raise Invalid("--no-hooks and --no-mcp leave nothing to install; give one of them")

    def one(client: Agent) -> dict[str, Any]:
        changes = lines.plan(client, root, hooks, servers)
        shown = _shown(place, client, changes, "has everything already")
        if not dry_run:
            lines.install(client, root, hooks, servers)
        return shown

    if root is not None:
        aside(OF_A_PROJECT)
    return _each(place, _named(clients, root), one, dry_run)


def uninstall(place: Place, clients: list[str] | None = None, here: bool = False, dry_run: bool = False) -> int:
    if not clients:
        raise Invalid(f"name what to take our lines out of: {', '.join(CLIENTS)}, or {EVERY}")
    root = _root(here)

    def one(client: Agent) -> dict[str, Any]:
        changes = lines.removal(client, root)
        shown = _shown(place, client, changes, "has nothing of ours")
        if not dry_run:
            lines.remove(client, root)
        lines.must_all(changes)
        return shown

    return _each(place, _named(clients, root, found=False), one, dry_run)


def _each(place: Place, clients: list[Agent], one: Callable[[Agent], dict[str, Any]], dry_run: bool) -> int:
    """One after the other. What is wrong with one of several is told, and the others go on; the exit code says that it was."""
    document: dict[str, dict[str, Any]] = {}
    failed: list[MemoristError] = []
    for client in clients:
        try:
            document[client.name] = one(client)
        except MemoristError as problem:
            if len(clients) == 1:
                raise
            failed.append(problem)
            aside(one_line(f"{client.title}: {problem}"))
            document[client.name] = {
                "files": [],
                "entries": [],
                "error": {"code": problem.code, "message": str(problem)},
            }
    _end(place, document, dry_run)
    if failed and not place.json:
        aside(f"{len(failed)} of {len(clients)} agents were left as they are; what is wrong is said above")
    return failed[0].exit_code if failed else 0


def _root(project: bool) -> Path | None:
    return (repository_root(Path.cwd()) or Path.cwd()) if project else None


def _named(clients: list[str], root: Path | None, found: bool = True) -> list[Agent]:
    """Those that are meant; of all, those that are here, and in a project those that have settings of one."""
    if EVERY in clients:
        return [client for client in CLIENTS.values() if client.fits(root) and (client.is_here() or not found)]
    for name in clients:
        if name not in CLIENTS:
            raise Invalid(f"there is no agent {name[:60]!r}{meant(name, CLIENTS)}; agents are {', '.join(CLIENTS)}")
    return [CLIENTS[name] for name in dict.fromkeys(clients)]


def _listed(place: Place, project: bool) -> int:
    """Which agents are here, and what they have of ours. Nothing is changed."""
    root, rows, document = _root(project), [], {}
    for client in CLIENTS.values():
        try:
            entries = lines.entries_of(client, root)
            state = ", ".join(entries) or "-"
        except MemoristError as problem:
            entries, state = [], str(problem)
        here = client.is_here()
        document[client.name] = {"found": here, "entries": entries}
        rows.append((client.name, "found" if here else "not found", state))
    code = Screen.of(place.json).table(document, ("agent", "here", "installed"), rows)
    if not place.json:
        aside(
            "nothing was changed; `memorist install AGENT`, or `all`, installs, and `--dry-run` shows what it would change"
        )
    return code


def _shown(place: Place, client: Agent, changes: list[lines.FileChange], none: str) -> dict[str, Any]:
    """What will be done, line by line, before it is."""
    changed = [change for change in changes if change.is_one]
    if not place.json:
        for text in [change.diff() for change in changed] or [[f"{client.title} {none}"]]:
            Screen.of(False).verbatim("\n".join(text))
    for said in chain.from_iterable(map(attrgetter("told"), changes)):
        aside(one_line(said))
    entries = [*chain.from_iterable(map(attrgetter("entries"), changed))]
    return {"files": [str(change.file) for change in changed], "entries": entries}


def _end(place: Place, document: dict[str, dict[str, Any]], dry_run: bool) -> None:
    if place.json:
        Screen.of(True).answer(document)
    elif any(each["files"] for each in document.values()):
        aside(
            "nothing was changed: --dry-run"
            if dry_run
            else "done; an agent that is running reads it when it starts again"
        )


def plugin(place: Place, folder: str) -> int:
    """The plugin folders of the agents, for those who install plugins instead of lines in settings."""
    from memorist.surfaces.agents import plugin as folders

    written = folders.write(Path(folder))
    return Screen.of(place.json).answer([str(file) for file in written], *map(str, written))


def hook(place: Place, client: str = "", event: str = "", of_plugin: bool = False) -> int:
    """As the program does before it looks at anything else (`app`)."""
    answering.run([client, event, *([answering.FLAG] if of_plugin else [])])
    return 0


commands = {
    "hook": ((Option("client", "The agent."), Option("event", "Its name for what happens."), OF_PLUGIN), hook),
    "plugin": ((Option("folder", "A new folder.", needed=True), JSON), plugin),
    "install": ((WHICH, HERE, DRY_RUN, NO_HOOKS, NO_MCP, JSON), install),
    "uninstall": ((WHICH, HERE, DRY_RUN, JSON), uninstall),
}
