"""`memorist install` and `uninstall`: our lines in the settings of coding agents, shown before they are written.
`memorist receipts`: what agents were told, for how many tokens, and which of it was used."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

from memorist import checks
from memorist.errors import Invalid, MemoristError, meant
from memorist.project import repository_root
from memorist.records import minute
from memorist.surfaces.agents import install as lines_in
from memorist.surfaces.agents import switches
from memorist.surfaces.agents import uninstall as lines_out
from memorist.surfaces.agents.changes import FileChange
from memorist.surfaces.agents.clients import CLIENTS, Agent
from memorist.surfaces.agents.entries import entries_of
from memorist.surfaces.agents.marks import MEMORIST
from memorist.surfaces.cli import hook as answering
from memorist.surfaces.cli.arguments import JSON, PLACE, Commands, Option
from memorist.surfaces.cli.mcp import MISSING
from memorist.surfaces.cli.screen import aside, one_line
from memorist.surfaces.cli.verbs import PATIENCE_OF_READERS, Place, opened

EVERY = "all"
Changing = Callable[[Agent], list[FileChange]]
OF_A_PROJECT = (
    "these settings belong to the project: teammates who get them but have no `memorist` on their PATH see each hook fail "
    "with exit code 127, and their agent carries on without it"
)
UNTRUSTED = "Codex silently skips hooks until you trust them: start it once at a terminal, and say yes"
IN_AN_ENVIRONMENT = (
    "`memorist` is on the PATH only while the environment {} is active, and agents that are started without it do not find it; "
    "`pipx install 'memorist[mcp]'` puts it there for good"
)
WHICH = Option(
    "clients",
    f"{', '.join(CLIENTS)}, or {EVERY} for every agent on this machine; without a name, lists them.",
    type="texts",
)
LEAVING = Option("clients", f"{', '.join(CLIENTS)}, or {EVERY}.", type="texts")
HERE = Option("here", "In the settings of this project, which everybody who works on it shares.", "--project", "flag")
DRY_RUN = Option("dry_run", "Only shows what would change.", "--dry-run", "flag")
NONE_HERE = "none of these agents is on this machine: {}; install one first, or name one, to write its settings before it is there"
NO_HOOKS = Option("no_hooks", "Leaves out the hooks: only the tools (the MCP server).", "--no-hooks", "flag")
OF_PLUGIN = Option("of_plugin", "Says nothing if the agent's own settings have this hook too.", answering.FLAG, "flag")
NO_MCP = Option("no_mcp", "Leaves out the tools: only the hooks.", "--no-mcp", "flag")
LIMIT = Option("limit", "How many at most, the latest first; default: 20.", "--limit", "whole")


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
    named, plan = _named(clients, root), partial(lines_in.plan, project=root, hooks=hooks, servers=servers)
    make = partial(lines_in.install, project=root, hooks=hooks, servers=servers)
    code = _each(place, named, plan, make, ("has everything already", "nothing to add"), dry_run)
    for said in _hindrances(root, servers, hooks and CLIENTS["codex"] in named) if not place.json else ():
        aside(said)
    return code


def uninstall(place: Place, clients: list[str] | None = None, here: bool = False, dry_run: bool = False) -> int:
    if not clients:
        raise Invalid(f"name the agents to uninstall from: {', '.join(CLIENTS)}, or {EVERY}")
    root = _root(here)
    named, plan = _named(clients, root, found=False), partial(lines_out.removal, project=root)
    return _each(
        place,
        named,
        plan,
        partial(lines_out.remove, project=root),
        ("has nothing of ours", "nothing to take out"),
        dry_run,
    )


def _hindrances(root: Path | None, servers: bool, untrusted: bool) -> Iterator[str]:
    """What keeps agents from starting what was installed, now or later."""
    if untrusted:
        yield UNTRUSTED
    if root is not None:
        yield OF_A_PROJECT
    if servers and find_spec("mcp") is None:
        yield MISSING
    environment, program = os.environ.get("VIRTUAL_ENV"), shutil.which(MEMORIST)
    if environment and program and Path(program).is_relative_to(environment):
        yield IN_AN_ENVIRONMENT.format(environment)


def _each(
    place: Place, clients: list[Agent], plan: Changing, make: Changing, none: tuple[str, str], dry_run: bool
) -> int:
    """Handles one agent after the other, and shows each change before making it. If one of several fails, its error is
    shown, the others go on, and the exit code reports it. `none` says that there is nothing to do: by itself, and before
    the reason why."""
    document: dict[str, dict[str, Any]] = {}
    failed: list[MemoristError] = []
    for client in clients:
        try:
            changes = plan(client)
            document[client.name] = _shown(place, client, changes, none)
            if not dry_run:
                make(client)
            lines_out.must_all(changes)
        except MemoristError as problem:
            if len(clients) == 1:
                raise
            failed.append(problem)
            aside(one_line(f"{client.title}: {problem}"))
            document[client.name] = {"files": [], "entries": [], "error": _error(problem)}
    _end(place, document, dry_run)
    if failed and not place.json:
        aside(f"{len(failed)} of {len(clients)} agents were left as they are; what is wrong is said above")
    return failed[0].exit_code if failed else 0


def _error(problem: MemoristError) -> dict[str, str]:
    return {"code": problem.code, "message": str(problem)}


def _root(project: bool) -> Path | None:
    return (repository_root(Path.cwd()) or Path.cwd()) if project else None


def _named(clients: list[str], root: Path | None, found: bool = True) -> list[Agent]:
    """The named agents. `EVERY` means those that are installed, and in a project those with settings there."""
    if EVERY in clients:
        fitting = [client for client in CLIENTS.values() if client.fits(root)]
        return _here(fitting) if found else fitting
    for name in clients:
        if name not in CLIENTS:
            raise Invalid(f"there is no agent {name[:60]!r}{meant(name, CLIENTS)}; agents are {', '.join(CLIENTS)}")
    return [CLIENTS[name] for name in dict.fromkeys(clients)]


def _here(clients: list[Agent]) -> list[Agent]:
    found = [client for client in clients if client.is_here()]
    if not found:
        aside(NONE_HERE.format(", ".join(client.title for client in clients)))
    return found


def _listed(place: Place, project: bool) -> int:
    """Lists the installed agents and what they have of ours. Changes nothing."""
    root, rows, document = _root(project), [], {}
    for client in CLIENTS.values():
        plugin, here = None if project else switches.plugin_of(client), client.is_here()
        about: dict[str, Any] = {"found": here, "entries": [], "plugin": plugin}
        try:
            about["entries"] = entries_of(client, root)
            state = ", ".join([*about["entries"], *([f"plugin {plugin}"] if plugin else [])]) or "-"
        except MemoristError as problem:
            about["error"], state = _error(problem), str(problem)
        document[client.name] = about
        rows.append((client.name, "found" if here else "not found", state))
    code = place.screen.table(document, ("agent", "here", "installed"), rows)
    if not place.json:
        aside(
            "nothing was changed; `memorist install AGENT`, or `all`, installs; with `--dry-run` it only shows what would change"
        )
    return code


def _shown(place: Place, client: Agent, changes: list[FileChange], none: tuple[str, str]) -> dict[str, Any]:
    """Shows line by line what will be done."""
    changed = [change for change in changes if change.is_one]
    if not place.json:
        for text in [change.diff() for change in changed] or [[_nothing(client, changes, *none)]]:
            place.screen.verbatim("\n".join(text))
        sys.stdout.flush()  # also into a pipe the lines come before what is said about them
    for said in chain.from_iterable(map(attrgetter("told"), changes)):
        aside(one_line(said))
    entries = [*chain.from_iterable(map(attrgetter("entries"), changed))]
    return {"files": [str(change.file) for change in changed], "entries": entries}


def _nothing(client: Agent, changes: list[FileChange], alone: str, before_why: str) -> str:
    """That nothing is done. Where the changes say why, the words must not say otherwise."""
    why = any(change.told or change.failed for change in changes)
    return f"{client.title}: {before_why}" if why else f"{client.title} {alone}"


def _end(place: Place, document: dict[str, dict[str, Any]], dry_run: bool) -> None:
    if place.json:
        place.screen.document(document)
    elif any(each["files"] for each in document.values()):
        aside("nothing was changed: --dry-run" if dry_run else "done; an agent that is running has to be started again")


def plugin(place: Place, folder: str) -> int:
    """Writes the plugin folders of the agents, for those who install plugins instead of lines in settings."""
    from memorist.surfaces.agents import plugin as folders

    if not folder.strip():
        raise Invalid("the folder's name is empty; name a new folder")
    written = folders.write(Path(folder))
    return place.screen.answer([str(file) for file in written], *map(str, written))


def receipts(place: Place, limit: int = 20) -> int:
    from memorist.surfaces.agents import receipts as log

    most = checks.whole(limit, "limit", 1, log.LINES_READ)
    with opened(place, wait=PATIENCE_OF_READERS) as memory:
        told = log.told(memory, most)
    if not told:
        aside("no agent was told anything here; `memorist install` shows which agents have this memory")
    rows = [
        (
            minute(each["at"]), each["client"], each["session"] or "", each["moment"], f"{each['tokens']:,}",
            _marks(each["ids"]), _marks(each["used"]),
        )
        for each in told
    ]  # fmt: skip
    return place.screen.table(told, ("at", "agent", "session", "told at", "tokens", "memories", "used"), rows)


def _marks(numbers: list[int]) -> str:
    return " ".join(f"[id:{number}]" for number in numbers)


def hook(place: Place, client: str = "", event: str = "", of_plugin: bool = False) -> int:
    """Does what the program does for a hook before it looks at anything else (`app`)."""
    answering.run([client, event, *([answering.FLAG] if of_plugin else [])])
    return 0


commands: Commands = {
    "hook": ((Option("client", "The agent."), Option("event", "The agent's name of the event."), OF_PLUGIN), hook),
    "plugin": ((Option("folder", "The folder to write them into.", needed=True), JSON), plugin),
    "install": ((WHICH, HERE, DRY_RUN, NO_HOOKS, NO_MCP, JSON), install),
    "uninstall": ((LEAVING, HERE, DRY_RUN, JSON), uninstall),
    "receipts": ((LIMIT, *PLACE), receipts),
}
