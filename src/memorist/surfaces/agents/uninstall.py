"""Our lines in the settings of agents: taken out without a trace.

A file is restored byte for byte if nobody else has changed it since (`book`); otherwise only our entries are taken out.
A file that is ours as a whole is removed unless somebody changed it, with the folders that were made for it.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from memorist.errors import MemoristError, Refused
from memorist.files import whole
from memorist.surfaces.agents import splice
from memorist.surfaces.agents.book import Book, Installed, digest, perform
from memorist.surfaces.agents.changes import FileChange, content_of, editor_of, is_read_only, is_toml
from memorist.surfaces.agents.clients import Agent, Hooks, Servers, Slash
from memorist.surfaces.agents.entries import Place, entries_in, listed, own_text, places_of, servers_in
from memorist.surfaces.agents.marks import MEMORIST, hooks_in, is_server, runs_ours


def removal(client: Agent, project: Path | None = None) -> list[FileChange]:
    """What removing our entries would change. A file that cannot be read or written does not stop the others."""
    book = Book.read()
    changes = [_tried_without(client, file, of, book) for file, of in places_of(client, project).items()]
    return changes if project is not None else _telling_of_others(changes, client, book)


def _telling_of_others(changes: list[FileChange], client: Agent, book: Book) -> list[FileChange]:
    """With the recorded files that are not looked at: those of projects, or of a folder that a variable named."""
    looked_at = {str(change.file) for change in changes}
    ours = (name for name, noted in book.files.items() if noted.client == client.name and name not in looked_at)
    others = [name for name in ours if Path(name).exists()]
    if not others:
        return changes
    out = f"`{MEMORIST} uninstall {client.name} --project`, called in that project, takes them out"
    led = f"; if {client.variable} led there, set it and leave --project out" if client.variable else ""
    return [changes[0].telling(f"lines of ours are in {', '.join(others)} too; {out}{led}"), *changes[1:]]


def remove(client: Agent, project: Path | None = None) -> list[FileChange]:
    """Makes these changes as far as possible, and then raises what stopped a file. → those that were made"""
    made = perform(lambda: removal(client, project), _forget)
    must_all(made)
    return made


def must_all(changes: Sequence[FileChange]) -> None:
    """Raises the reason why a file stays as it is, if one does."""
    failed = [change.failed for change in changes if change.failed is not None]
    if failed:
        said = "; ".join(map(str, failed))
        raise type(failed[0])(f"{said}; nothing is taken out there, only out of the other files of this agent")


def _forget(book: Book, change: FileChange, _: FileChange) -> None:
    if change.failed is None:
        book.forget(change.file)


def _tried_without(client: Agent, file: Path, of: Sequence[Place], book: Book) -> FileChange:
    try:
        change = _without(client, file, of, book)
        if change.is_one and (is_read_only(file) or not os.access(file.parent, os.W_OK)):
            raise Refused(f"{file} or its folder is read-only; make them writable, then uninstall again")
    except MemoristError as problem:
        return FileChange(file, client.name, None, None, failed=problem)
    return change


def _without(client: Agent, file: Path, of: Sequence[Place], book: Book) -> FileChange:
    now = content_of(file)
    change = FileChange(file, client.name, now, now)
    if now is None or not now.strip():
        return change
    noted = book.files.get(str(file))
    if noted is not None and noted.after == digest(now) and (restored := _restored(change, noted, of, book)):
        return restored
    holders = noted.holders if noted else None
    for each in of:
        change = _without_one(change, each, client, holders)
    return _gone_if_empty(change, of) if noted is not None and noted.made else change


def _restored(change: FileChange, noted: Installed, of: Sequence[Place], book: Book) -> FileChange | None:
    """The file as it was before us. Where it was not there, an agent's own command may have written more than our server
    into it."""
    if not noted.made:
        before = book.before(noted)
        return None if before is None else replace(change, after=before)
    return None if any(isinstance(each, Servers) and each.command for each in of) else replace(change, after=None)


def _gone_if_empty(change: FileChange, of: Sequence[Place]) -> FileChange:
    """A file that we made goes, once nothing is left in it, not even a remark, but what such a file needs."""
    heads = dict(each.head for each in of if isinstance(each, Hooks) and each.head)
    left = (change.after or b"").strip()
    with suppress(ValueError):
        if change.is_one and (not left or json.loads(left) in ({}, heads)):
            return replace(change, after=None)
    return change


def _without_one(change: FileChange, of: Place, client: Agent, holders: Sequence[str] | None) -> FileChange:
    if isinstance(of, Slash) or (isinstance(of, Hooks) and of.entry is None):
        if change.before == own_text(of, client):
            return replace(change, after=None)
        said = f"{change.file} was changed by somebody, and stays; remove it yourself"
        return replace(change, told=(said,) if entries_in(change.before, change.file, client, [of]) else ())
    text = whole.text_of(change.after or b"", change.file)
    if isinstance(of, Hooks):
        return replace(change, after=_without_hooks(text, client, change.file, holders).encode())
    return replace(change, after=_without_server(text, of, change.file, holders).encode())


def _without_hooks(text: str, client: Agent, file: Path, holders: Sequence[str] | None) -> str:
    """Takes out our hooks, and the lists and the member that we made for them if they are empty now."""
    found = splice.read(text, file)
    events = splice.at(found, ("hooks",))
    if not events or not isinstance(events, Mapping):
        return text
    taken = False
    for event in events:
        paths = [*_to_take(listed(found, event), event, client)]
        for path in paths:
            text = splice.take(text, path, file)
        if paths:
            text = _without_holder(text, ("hooks", event), file, holders)
        taken = taken or bool(paths)
    return _without_holder(text, ("hooks",), file, holders) if taken else text


def _without_holder(text: str, path: tuple[str, ...], file: Path, holders: Sequence[str] | None) -> str:
    """Takes out the container of our entries if it is empty now and we made it."""
    made = holders is None or "/".join(path) in holders
    return splice.take(text, path, file) if made and splice.at(splice.read(text, file), path) in ({}, []) else text


def _to_take(entries: list[Any], event: str, client: Agent) -> Iterator[tuple[splice.Step, ...]]:
    """Our entries of an event, the last one first; if somebody added a hook to an entry, only our hook in it."""
    for number, entry in reversed([*enumerate(entries)]):
        hooks = [*hooks_in(entry)]
        ours = [place for place, hook in hooks if runs_ours(hook, client.name)]
        if () in ours or (ours and len(ours) == len(hooks)):
            yield "hooks", event, number
        else:
            yield from (("hooks", event, number, *place) for place in reversed(ours))


def _without_server(text: str, servers: Servers, file: Path, holders: Sequence[str] | None) -> str:
    if not is_server(servers_in(text, file, servers).get(MEMORIST)):
        return text
    text = editor_of(file).take(text, (*servers.path, MEMORIST), file)
    return text if is_toml(file) else _without_holder(text, servers.path, file, holders)
