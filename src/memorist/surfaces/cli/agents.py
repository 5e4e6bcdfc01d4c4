"""`memorist install` and `uninstall`: our lines in the settings of coding agents, shown before they are written."""

from itertools import chain
from operator import attrgetter
from pathlib import Path

from memorist.errors import Invalid, MemoristError, meant
from memorist.project import repository_root
from memorist.surfaces.agents import install as lines
from memorist.surfaces.agents.clients import CLIENTS, Agent
from memorist.surfaces.cli.arguments import JSON, Option
from memorist.surfaces.cli.screen import Screen, aside, one_line
from memorist.surfaces.cli.verbs import Place

EVERY = "all"
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
    document = {}
    for client in _named(clients):
        changes = lines.plan(client, root, hooks, servers)
        document[client.name] = _shown(place, client, changes, "has everything already")
        if not dry_run:
            lines.install(client, root, hooks, servers)
    return _end(place, document, dry_run)


def uninstall(place: Place, clients: list[str] | None = None, here: bool = False, dry_run: bool = False) -> int:
    if not clients:
        raise Invalid(f"name what to take our lines out of: {', '.join(CLIENTS)}, or {EVERY}")
    root, document = _root(here), {}
    for client in _named(clients, found=False):
        changes = lines.removal(client, root)
        document[client.name] = _shown(place, client, changes, "has nothing of ours")
        if not dry_run:
            lines.remove(client, root)
    return _end(place, document, dry_run)


def _root(project: bool) -> Path | None:
    return (repository_root(Path.cwd()) or Path.cwd()) if project else None


def _named(clients: list[str], found: bool = True) -> list[Agent]:
    if EVERY in clients:
        return [client for client in CLIENTS.values() if not found or client.is_here()]
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
            "nothing was changed; `memorist install MEMORIST`, or `all`, installs, and `--dry-run` shows what it would change"
        )
    return code


def _shown(place: Place, client: Agent, changes: list[lines.FileChange], none: str) -> dict[str, list[str]]:
    """What will be done, line by line, before it is."""
    changed = [change for change in changes if change.is_one]
    if not place.json:
        for text in [change.diff() for change in changed] or [[f"{client.title} {none}"]]:
            Screen.of(False).verbatim("\n".join(text))
    for said in chain.from_iterable(map(attrgetter("told"), changes)):
        aside(one_line(said))
    entries = [*chain.from_iterable(map(attrgetter("entries"), changed))]
    return {"files": [str(change.file) for change in changed], "entries": entries}


def _end(place: Place, document: dict[str, dict[str, list[str]]], dry_run: bool) -> int:
    if place.json:
        return Screen.of(True).answer(document)
    changed = any(each["files"] for each in document.values())
    if changed:
        aside(
            "nothing was changed: --dry-run"
            if dry_run
            else "done; an agent that is running reads it when it starts again"
        )
    return 0


def plugin(place: Place, folder: str) -> int:
    """The plugin folders of the agents, for those who install plugins instead of lines in settings."""
    from memorist.surfaces.agents import plugin as folders

    written = folders.write(Path(folder))
    return Screen.of(place.json).answer([str(file) for file in written], *map(str, written))


def hook(place: Place, client: str, event: str, of_plugin: bool = False) -> int:
    """Answers an agent. It is a guest in somebody's session: nothing that goes wrong here may be seen there."""
    import sys

    from memorist.surfaces.agents import hooks, problems

    try:
        if of_plugin and _is_in_settings(client, event):
            return 0
        told = hooks.answer(client, event, sys.stdin.buffer.read(hooks.LARGEST_EVENT + 1))
    except Exception as problem:
        problems.note(client, event, problem)
        return 0
    if told:
        sys.stdout.write(told + "\n")
    return 0


def _is_in_settings(client: str, event: str) -> bool:
    from memorist.surfaces.agents import plugin

    return plugin.in_settings(client, event)


commands = {
    "hook": ((Option("client", "The agent."), Option("event", "Its name for what happens."), OF_PLUGIN), hook),
    "plugin": ((Option("folder", "A new folder.", needed=True), JSON), plugin),
    "install": ((WHICH, HERE, DRY_RUN, NO_HOOKS, NO_MCP, JSON), install),
    "uninstall": ((WHICH, HERE, DRY_RUN, JSON), uninstall),
}
