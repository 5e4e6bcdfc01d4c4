"""Our lines in the settings of agents: put in without touching another byte.

An entry that the user took out is not put in again (`book` knows of it); one that calls us by a path that is gone is
made to call us by name. A file that cannot be read is reported with its line and left alone.

A file that is ours as a whole (`skills`) is written where none exists, and is updated with newer versions as long as
nobody else changed it.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from memorist.errors import Refused
from memorist.surfaces.agents import splice, switches
from memorist.surfaces.agents.book import Book, digest, perform
from memorist.surfaces.agents.changes import FileChange, content_of, editor_of, is_read_only, real_file, text_after
from memorist.surfaces.agents.clients import Agent, Hooks, Servers, Slash
from memorist.surfaces.agents.entries import SERVER, ours, ours_with_places, own_text, servers_in
from memorist.surfaces.agents.marks import (
    MEMORIST,
    hook_by_name,
    hook_command,
    is_gone,
    is_server,
    server_by_name,
    server_words,
    words_of,
)


def plan(client: Agent, project: Path | None = None, hooks: bool = True, servers: bool = True) -> list[FileChange]:
    """What an installation would change, file by file."""
    _must_be_found(client)
    known = Book.read()
    changes: dict[Path, FileChange] = {}
    wanted = (*((client.hooks, client.command) if hooks else ()), *((client.servers,) if servers else ()))
    for of in wanted:
        if of is None:
            continue
        file = client.file(of, project)
        start = changes.get(file) or _unchanged(file, client, project)
        if isinstance(of, Servers):
            changes[file] = _with_server(start, of, client, project, known)
        elif isinstance(of, Slash) or of.entry is None:
            changes[file] = _with_own(start, of, client, known)
        else:
            changes[file] = _with_hooks(start, of, client, known)
    return _beside_plugin(client, [*changes.values()])


def install(client: Agent, project: Path | None = None, hooks: bool = True, servers: bool = True) -> list[FileChange]:
    """Makes these changes. → those that were made"""
    return perform(lambda: plan(client, project, hooks, servers), Book.note)


def _must_be_found(client: Agent) -> None:
    """Agents call us by name, because a path becomes invalid with the environment it points into."""
    if shutil.which(MEMORIST) is None:
        raise Refused(
            f"`{MEMORIST}` is not on the PATH, where {client.title} looks for it; install it there "
            f"(`pipx install '{MEMORIST}[mcp]'`, or `uv tool install '{MEMORIST}[mcp]'`), or activate its environment"
        )


def _beside_plugin(client: Agent, changes: list[FileChange]) -> list[FileChange]:
    plugin = switches.plugin_of(client)
    if plugin is None:
        return changes
    said = f"{client.title} has the plugin {plugin} too, with the same hooks and tools; keep one of them, and remove the other"
    return [*(change.telling(said) for change in changes[:1]), *changes[1:]]


def _unchanged(file: Path, client: Agent, project: Path | None) -> FileChange:
    real = real_file(file, project)
    content = content_of(real)
    if content is not None and is_read_only(real):
        yours = f"a server that runs `{MEMORIST} mcp`"
        if client.hooks is not None:
            yours += f", and at {', '.join(client.hooks.events.values())} a hook that runs `{hook_command(client.name, 'EVENT')}`"
        raise Refused(f"{real} is read-only; make it writable, or add yourself {yours}")
    return FileChange(real, client.name, content, content)


def _with_own(change: FileChange, of: Hooks | Slash, client: Agent, known: Book) -> FileChange:
    """The change to a file of ours. A file that somebody else wrote under that name, or changed, stays."""
    text, noted = own_text(of, client), known.files.get(str(change.file))
    if change.before == text:
        return change
    if change.before is None and noted is not None:
        said = f"{change.file} was removed, and stays out; uninstall, then install puts it in"
        return change.telling(said)
    if change.before is not None and (noted is None or noted.after != digest(change.before)):
        said = f"{change.file} is there, and is another than ours; it stays, move it away to have ours"
        return change.telling(said)
    return replace(change, after=text, entries=of.names)


def _with_hooks(change: FileChange, hooks: Hooks, client: Agent, known: Book) -> FileChange:
    text, found, renewed = _with_hooks_by_name(text_after(change), hooks, client, change.file)
    added = [*change.entries, *renewed]
    text = _with_head(text, found, hooks, change.file)
    there = {event: ours(found, event, client) for event in hooks.names}
    removed = [event for event in hooks.names if not there[event] and known.has(change.file, event)]
    for moment, event in hooks.events.items():
        if not there[event] and event not in removed and hooks.entry is not None:
            entry = hooks.entry(hook_command(client.name, event), moment)
            text = splice.append(text, ("hooks", event), entry, change.file)
            added.append(event)
    after = text.encode() if added != list(change.entries) else change.after
    told = (*change.told, *_not_put_in(change.file, client, there, removed))
    return replace(change, after=after, entries=tuple(added), told=told)


def _with_head(text: str, found: Any, hooks: Hooks, file: Path) -> str:
    if hooks.head is None or not isinstance(found, Mapping) or hooks.head[0] in found:
        return text
    return splice.put(text, (hooks.head[0],), hooks.head[1], file)


def _with_hooks_by_name(text: str, hooks: Hooks, client: Agent, file: Path) -> tuple[str, Any, list[str]]:
    """Lets a hook of ours call us by name at each event where all of ours call a file that is gone. → the text, what it
    says, and these events"""
    found, renewed = splice.read(text, file), list[str]()
    for event in hooks.names:
        placed = [*ours_with_places(found, event, client)]
        if placed and all(is_gone(words_of(command)) for _, command in placed):
            place, command = placed[0]
            text = splice.swap(text, place, hook_by_name(command), file)
            renewed.append(event)
    return text, splice.read(text, file) if renewed else found, renewed


def _not_put_in(file: Path, client: Agent, there: Mapping[str, Sequence[str]], removed: Sequence[str]) -> Iterator[str]:
    """Why hooks are not added, unless they are simply there already: one line for all events of a kind."""
    others = {event: each for event in there for each in there[event] if each != hook_command(client.name, event)}
    if others:
        runs = f"{file} runs another {MEMORIST} at {', '.join(others)} ({next(iter(others.values()))})"
        yield f"{runs}; it stays; uninstall, then install puts ours in"
    if removed:
        was = f"the hook at {', '.join(removed)} was removed from {file} or changed"
        yield f"{was}, and stays out; uninstall, then install puts it in"


def _with_server(change: FileChange, servers: Servers, client: Agent, project: Path | None, known: Book) -> FileChange:
    there = servers_in(text_after(change), change.file, servers).get(MEMORIST)
    if there is not None:
        return _renewed(change, servers, there)
    if known.has(change.file, SERVER):
        said = f"the server was removed from {change.file}, and stays out; uninstall, then install puts it in"
        return change.telling(said)
    change = replace(change, entries=(*change.entries, SERVER))
    if project is None and servers.command and client.program and (program := shutil.which(client.program)):
        return replace(change, command=(program, *servers.command))
    editor, text = editor_of(change.file), text_after(change)
    return replace(change, after=editor.put(text, (*servers.path, MEMORIST), servers.entry, change.file).encode())


def _renewed(change: FileChange, servers: Servers, there: Any) -> FileChange:
    """With the server of our name that is there, which calls us by name if its program is gone."""
    if not is_server(there):
        return change.telling(f"{change.file} has another server called {MEMORIST}; it stays, rename it to have ours")
    if not is_gone(server_words(there)):
        return change
    path = (*servers.path, MEMORIST)
    text = editor_of(change.file).swap(text_after(change), path, server_by_name(there), change.file)
    return replace(change, after=text.encode(), entries=(*change.entries, SERVER))
