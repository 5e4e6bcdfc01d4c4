"""Our entries in the settings of agents: where they are, whoever wrote them, known by their mark (`marks`)."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from memorist.surfaces.agents import skills, splice
from memorist.surfaces.agents.changes import content_of, editor_of, real_file, text_in
from memorist.surfaces.agents.clients import Agent, Hooks, Servers, Slash
from memorist.surfaces.agents.marks import MEMORIST, hooks_in, is_server, runs_ours

SERVER = "server"  # the name of that entry; the entries of hooks are named after their events
Place = Hooks | Servers | Slash


def entries_of(client: Agent, project: Path | None = None) -> list[str]:
    """Our entries that are there now: events with a hook, and the server."""
    places = places_of(client, project)
    return [entry for file, of in places.items() for entry in entries_in(content_of(file), file, client, of)]


def places_of(client: Agent, project: Path | None) -> dict[Path, tuple[Place, ...]]:
    """The files that hold hooks or servers; some hold both."""
    places: dict[Path, tuple[Place, ...]] = {}
    for of in (client.hooks, client.command, client.servers):
        if of is not None and (project is None or of.project is not None):
            file = real_file(client.file(of, project), project)
            places[file] = (*places.get(file, ()), of)
    return places


def entries_in(content: bytes | None, file: Path, client: Agent, of: Sequence[Place]) -> list[str]:
    """Our entries in a file with hooks, servers, or both. A file that is ours has all of its own, in whatever version."""
    found: list[str] = []
    for each in of:
        if isinstance(each, Servers):
            found += [SERVER] if is_server(servers_in(text_in(content, file), file, each).get(MEMORIST)) else []
        elif isinstance(each, Slash) or each.entry is None:
            found += each.names if MEMORIST.encode() in (content or b"") else ()
        else:
            there = splice.read(text_in(content, file), file)
            found += [event for event in each.names if ours(there, event, client)]
    return found


def servers_in(text: str, file: Path, servers: Servers) -> Mapping[str, Any]:
    listed = splice.at(editor_of(file).read(text, file), servers.path)
    return listed if isinstance(listed, Mapping) else {}


def own_text(of: Hooks | Slash, client: Agent) -> bytes:
    text = skills.SLASH_COMMANDS[client.name] if isinstance(of, Slash) else skills.plugin_of_opencode()
    return text.encode()


def ours(found: Any, event: str, client: Agent) -> list[str]:
    """Our commands that run at that event."""
    return [command for _, command in ours_with_places(found, event, client)]


def ours_with_places(found: Any, event: str, client: Agent) -> Iterator[tuple[tuple[splice.Step, ...], str]]:
    """The same, each with its place."""
    for number, entry in enumerate(listed(found, event)):
        for place, hook in hooks_in(entry):
            if isinstance(hook, Mapping) and runs_ours(hook, client.name):
                yield ("hooks", event, number, *place, "command"), hook["command"]


def listed(found: Any, event: str) -> list[Any]:
    entries = splice.at(found, ("hooks", event))
    return entries if isinstance(entries, list) else []
