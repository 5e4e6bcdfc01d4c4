"""Our lines in the settings of agents: put in without touching another byte, and taken out without a trace.

`installed.json` beside the user's settings records for each file what we added, how it was before, and a digest of how
we left it. So `remove` restores a file byte for byte if nobody else has changed it since, and otherwise takes out only
our entries. An entry that the user took out is not put in again; one whose program is gone is made to call us by name.
A file that cannot be read is reported with its line and left alone. Of two simultaneous installations one waits.

A file that is ours as a whole (`skills`) is written where none exists, is updated with newer versions as long as nobody
else changed it, and is removed again with the folders that were made for it.

A tool server is added by the agent's own command if the file belongs to the program and not to the user, or if that
command keeps comments (docs/why/0060-in-the-settings-of-others.md).
"""

import hashlib
import json
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, field, replace
from difflib import unified_diff
from pathlib import Path
from typing import Any, Protocol

from memorist.errors import Invalid, MemoristError, Refused, StoreUnavailable, unavailable
from memorist.files import whole
from memorist.lazy import dataclass
from memorist.store.files import create_private, replace_private
from memorist.store.lock import locked
from memorist.surfaces import settings
from memorist.surfaces.agents import skills, splice, switches, tables
from memorist.surfaces.agents.clients import CLIENTS, Agent, Hooks, Servers, Slash
from memorist.surfaces.agents.marks import (
    MEMORIST,
    hook_by_name,
    is_gone,
    is_hook,
    is_server,
    server_by_name,
    server_words,
    words_of,
)

NOTED = "installed.json"  # beside the settings
SERVER = "server"  # the name of that entry; the entries of hooks are named after their events
WAIT_FOR_OTHERS = 30.0  # seconds to wait for another installation, and for a program of an agent
READ_AGAIN = 5  # times that a file is read again because somebody saved it meanwhile
EMPTY = "{}\n"
LONGEST_SHOWN, AROUND = 500, 40  # characters of a line that is shown whole, and around a change in a longer one
LARGEST_SETTINGS = 256_000_000  # bytes: Claude Code keeps conversations in its settings; some have 65 MB of them
Place = Hooks | Servers | Slash


class Editor(Protocol):
    """A module that changes somebody else's file in one place."""

    def read(self, text: str, file: Path, /) -> Any: ...
    def put(self, text: str, path: Sequence[str], value: Any, file: Path, /) -> str: ...
    def swap(self, text: str, path: Sequence[str], value: Any, file: Path, /) -> str: ...
    def take(self, text: str, path: Sequence[str], file: Path, /) -> str: ...


@dataclass(frozen=True, slots=True)
class Installed:
    """What was done to one file. `before` is a copy of it, None if it was not there or is no longer known."""

    client: str
    entries: tuple[str, ...]
    after: str
    before: str | None = None
    made: bool = False  # the file was not there before
    holders: tuple[str, ...] | None = None  # containers that we made for our entries; None where that is not known
    folders: tuple[str, ...] = ()  # folders that we made for it


@dataclass(frozen=True, slots=True)
class FileChange:
    """A planned change of one file; `command` is the agent's own, which makes the change instead."""

    file: Path
    client: str
    before: bytes | None
    after: bytes | None
    entries: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    command: tuple[str, ...] | None = None
    folders: tuple[str, ...] = ()  # that were made for the file
    failed: MemoristError | None = None  # why the file stays as it is, though something of ours may be in it

    @property
    def is_one(self) -> bool:
        return self.before != self.after or self.command is not None

    def telling(self, said: str) -> "FileChange":
        return replace(self, told=(*self.told, said))

    def diff(self) -> list[str]:
        """Only what changes: what is around it may be private."""
        if self.command is not None:
            return [f"$ {' '.join(self.command)}"]
        before, after = ((text or b"").decode("utf-8", "replace").splitlines() for text in (self.before, self.after))
        if len(before) == len(after) == 1 and len(before[0]) > LONGEST_SHOWN:
            before, after = ([line] for line in _where_they_differ(before[0], after[0]))
        return list(unified_diff(before, after, str(self.file), str(self.file), n=0, lineterm=""))


def _where_they_differ(one: str, other: str) -> tuple[str, str]:
    """Both lines without most of what they begin and end with in common."""
    begin = _alike(one, other)
    end = _alike(one[begin:][::-1], other[begin:][::-1])
    first, last = max(0, begin - AROUND), max(0, end - AROUND)
    head, tail = ("… " if first else ""), (" …" if last else "")
    return f"{head}{one[first : len(one) - last]}{tail}", f"{head}{other[first : len(other) - last]}{tail}"


def _alike(one: str, other: str) -> int:
    """With how many characters both begin."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(map(len, (one, other)))
    )


# ---------------------------------------------------------------- putting in


def plan(client: Agent, project: Path | None = None, hooks: bool = True, servers: bool = True) -> list[FileChange]:
    """What an installation would change, file by file."""
    _must_be_found(client)
    known = _Book.read()
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


def _beside_plugin(client: Agent, changes: list[FileChange]) -> list[FileChange]:
    plugin = switches.plugin_of(client)
    if plugin is None:
        return changes
    said = f"{client.title} has the plugin {plugin} too, with the same hooks and tools; have one of them, and remove the other"
    return [*(change.telling(said) for change in changes[:1]), *changes[1:]]


def install(client: Agent, project: Path | None = None, hooks: bool = True, servers: bool = True) -> list[FileChange]:
    """Makes these changes. → those that were made"""
    return _perform(lambda: plan(client, project, hooks, servers), _Book.note)


def _perform(make: Callable[[], list[FileChange]], note: "Noting") -> list[FileChange]:
    """Makes the changes one file at a time, and records each before the next. A file saved meanwhile is read again
    first. Folders go last: one that was made for the first file may hold the others."""
    made: list[FileChange] = []
    with _book() as book:
        for _ in range(READ_AGAIN):
            changes = make()
            for change in changes:
                done = _noted(book, change, note)
                if done is None:
                    break
                made += [done] if change.is_one else []
            else:
                book.remove_folders()
                return [*made, *(change for change in changes if not change.is_one)]
    raise StoreUnavailable("the settings are being saved by somebody else again and again; try again")


def _noted(book: "_Book", change: FileChange, note: "Noting") -> FileChange | None:
    """The change as it was made and recorded; None if the file has changed by now. What cannot be recorded, as on a full
    disk, is undone, because nobody could undo it later."""
    done = _done(change) if change.is_one else change
    try:
        if done is not None:
            note(book, change, done)
    except OSError:
        if change.is_one and done is not None:
            _done(replace(done, before=done.after, after=done.before, command=None))
        raise
    return done


def _done(change: FileChange) -> FileChange | None:
    """The change as it was made; None if the file has changed by now."""
    if change.command is not None:
        return _run(change)
    if change.after is None:
        if _content(change.file) != change.before:
            return None
        change.file.unlink()
        return change
    made = replace(change, folders=(*change.folders, *_make_folder(change.file)))
    return made if whole.put(change.file, change.after, change.before, LARGEST_SETTINGS) else None


def _must_be_found(client: Agent) -> None:
    """Agents call us by name, because a path becomes invalid with the environment it points into."""
    if shutil.which(MEMORIST) is None:
        raise Refused(
            f"`{MEMORIST}` is not on the PATH, where {client.title} looks for it; install it there (`pipx install {MEMORIST}`, or "
            f"`uv tool install {MEMORIST}`), or activate its environment"
        )


def _real(file: Path, project: Path | None) -> Path:
    """The real file behind the name. A user's own links are followed; those of a project only inside it, because it may
    be cloned."""
    real = Path(os.path.realpath(file))
    if project is not None and not real.is_relative_to(os.path.realpath(project)):
        raise Refused(f"{file} leads to {real}, outside of its folder and its project; name that file itself")
    return real


def _unchanged(file: Path, client: Agent, project: Path | None) -> FileChange:
    real = _real(file, project)
    content = _content(real)
    if content is not None and _is_read_only(real):
        yours = f"a server that runs `{MEMORIST} mcp`"
        if client.hooks is not None:
            yours += f", and at {', '.join(client.hooks.events.values())} a hook that runs `{MEMORIST} hook {client.name} EVENT`"
        raise Refused(f"{real} is read-only; make it writable, or add yourself {yours}")
    return FileChange(real, client.name, content, content)


def _content(file: Path) -> bytes | None:
    return whole.read(file, LARGEST_SETTINGS)


def _is_read_only(file: Path) -> bool:
    return not stat.S_IMODE(file.stat().st_mode) & 0o222


def _text(change: FileChange) -> str:
    text = "" if change.after is None else whole.text_of(change.after, change.file)
    return text or ("" if _is_toml(change.file) else EMPTY)


def _is_toml(file: Path) -> bool:
    return file.suffix == ".toml"


def _editor(file: Path) -> Editor:
    return tables if _is_toml(file) else splice


def _own_text(of: Hooks | Slash, client: Agent) -> bytes:
    text = skills.SLASH_COMMANDS[client.name] if isinstance(of, Slash) else skills.plugin_of_opencode()
    return text.encode()


def _with_own(change: FileChange, of: Hooks | Slash, client: Agent, known: "_Book") -> FileChange:
    """The change to a file of ours. A file that somebody else wrote under that name, or changed, stays."""
    text, noted = _own_text(of, client), known.files.get(str(change.file))
    if change.before == text:
        return change
    if change.before is None and noted is not None:
        said = f"{change.file} was removed, and stays out; uninstall, then install puts it in"
        return change.telling(said)
    if change.before is not None and (noted is None or noted.after != _digest(change.before)):
        said = f"{change.file} is there, and is another than ours; it stays, move it away to have ours"
        return change.telling(said)
    return replace(change, after=text, entries=of.names)


def _with_hooks(change: FileChange, hooks: Hooks, client: Agent, known: "_Book") -> FileChange:
    text, found, renewed = _with_hooks_by_name(_text(change), hooks, client, change.file)
    added, told = [*change.entries, *renewed], list(change.told)
    if hooks.head is not None and isinstance(found, Mapping) and hooks.head[0] not in found:
        text = splice.put(text, (hooks.head[0],), hooks.head[1], change.file)
    for moment, event in hooks.events.items():
        wanted = f"{MEMORIST} hook {client.name} {event}"
        there = ours(found, event, client)
        if reason := _not_put_in(change.file, event, wanted, there, known):
            told.append(reason)
        elif not there and hooks.entry is not None:
            text = splice.append(text, ("hooks", event), hooks.entry(wanted, moment), change.file)
            added.append(event)
    after = text.encode() if added != list(change.entries) else change.after
    return replace(change, after=after, entries=tuple(added), told=tuple(told))


def _with_hooks_by_name(text: str, hooks: Hooks, client: Agent, file: Path) -> tuple[str, Any, list[str]]:
    """Lets a hook of ours call us by name at each event where all of ours call a file that is gone. → the text, what it
    says, and these events"""
    found, renewed = splice.read(text, file), list[str]()
    for event in hooks.names:
        placed = [*_placed(found, event, client)]
        if placed and all(is_gone(words_of(command)) for _, command in placed):
            place, command = placed[0]
            text = splice.swap(text, place, hook_by_name(command), file)
            renewed.append(event)
    return text, splice.read(text, file) if renewed else found, renewed


def _not_put_in(file: Path, event: str, wanted: str, there: Sequence[str], known: "_Book") -> str | None:
    """Why a hook is not added, unless it is simply there already."""
    others = [each for each in there if each != wanted]
    if others:
        return f"{file} runs another {MEMORIST} at {event} ({others[0]}); it stays, `{MEMORIST} uninstall` removes it"
    if not there and known.has(file, event):
        return f"the hook at {event} was removed from {file}, and stays out; uninstall, then install puts it in"
    return None


def ours(found: Any, event: str, client: Agent) -> list[str]:
    """Our commands that run at that event."""
    return [command for _, command in _placed(found, event, client)]


def _placed(found: Any, event: str, client: Agent) -> Iterator[tuple[tuple[splice.Step, ...], str]]:
    """The same, each with its place."""
    for number, entry in enumerate(_listed(found, event)):
        inner = entry.get("hooks") if isinstance(entry, Mapping) else None
        hooks = enumerate(inner if isinstance(inner, list) else [])
        for place, hook in ((), entry), *((("hooks", at), hook) for at, hook in hooks):
            if _runs_ours(hook, client):
                yield ("hooks", event, number, *place, "command"), hook["command"]


def _listed(found: Any, event: str) -> list[Any]:
    entries = splice.at(found, ("hooks", event))
    return entries if isinstance(entries, list) else []


def _with_server(
    change: FileChange, servers: Servers, client: Agent, project: Path | None, known: "_Book"
) -> FileChange:
    there = _servers_in(change, servers).get(MEMORIST)
    if there is not None:
        return _renewed(change, servers, there)
    if known.has(change.file, SERVER):
        said = f"the server was removed from {change.file}, and stays out; uninstall, then install puts it in"
        return change.telling(said)
    change = replace(change, entries=(*change.entries, SERVER))
    if project is None and servers.command and client.program and (program := shutil.which(client.program)):
        return replace(change, command=(program, *servers.command))
    editor, text = _editor(change.file), _text(change)
    return replace(change, after=editor.put(text, (*servers.path, MEMORIST), servers.entry, change.file).encode())


def _renewed(change: FileChange, servers: Servers, there: Any) -> FileChange:
    """With the server of our name that is there, which calls us by name if its program is gone."""
    if not is_server(there):
        return change.telling(f"{change.file} has another server called {MEMORIST}; it stays, rename it to have ours")
    if not is_gone(server_words(there)):
        return change
    path = (*servers.path, MEMORIST)
    text = _editor(change.file).swap(_text(change), path, server_by_name(there), change.file)
    return replace(change, after=text.encode(), entries=(*change.entries, SERVER))


def _servers_in(change: FileChange, servers: Servers) -> Mapping[str, Any]:
    listed = splice.at(_editor(change.file).read(_text(change), change.file), servers.path)
    return listed if isinstance(listed, Mapping) else {}


def _make_folder(file: Path) -> list[str]:
    """→ the folders that were not there, the outermost first"""
    missing = [str(folder) for folder in reversed(file.parents) if not folder.exists()]
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise Refused(f"{file.parent} cannot be made ({problem.strerror}); make it, then try again") from problem
    return missing


def _run(change: FileChange) -> FileChange:
    """Lets the agent's own command make the change, and checks what became of the file."""
    words = change.command or ()
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=WAIT_FOR_OTHERS, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise StoreUnavailable(f"`{' '.join(words)}` could not be run ({problem}); run it yourself") from problem
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise StoreUnavailable(
            f"`{' '.join(words)}` failed ({said[-1][:200] if said else done.returncode}); run it yourself"
        )
    return replace(change, after=_content(change.file))


# ---------------------------------------------------------------- taking out


def removal(client: Agent, project: Path | None = None) -> list[FileChange]:
    """What removing our entries would change: in every recorded file, and in those where they would be. A file that
    cannot be read or written does not stop the others."""
    book = _Book.read()
    return [_tried_without(client, file, of, book) for file, of in _places(client, project).items()]


def remove(client: Agent, project: Path | None = None) -> list[FileChange]:
    """Makes these changes as far as possible, and then raises what stopped a file. → those that were made"""
    made = _perform(lambda: removal(client, project), _forget)
    must_all(made)
    return made


def must_all(changes: Sequence[FileChange]) -> None:
    """Raises the reason why a file stays as it is, if one does."""
    failed = [change.failed for change in changes if change.failed is not None]
    if failed:
        said = "; ".join(map(str, failed))
        raise type(failed[0])(f"{said}; nothing is taken out of it, only out of the other files of this agent")


def _forget(book: "_Book", change: FileChange, _: FileChange) -> None:
    if change.failed is None:
        book.forget(change.file)


def _tried_without(client: Agent, file: Path, of: Sequence[Place], book: "_Book") -> FileChange:
    try:
        change = _without(client, file, of, book)
        if change.is_one and (_is_read_only(file) or not os.access(file.parent, os.W_OK)):
            raise Refused(f"{file} or its folder is read-only; make them writable, then uninstall again")
    except MemoristError as problem:
        return FileChange(file, client.name, None, None, failed=problem)
    return change


def _places(client: Agent, project: Path | None) -> dict[Path, tuple[Place, ...]]:
    """The files that hold hooks or servers; some hold both."""
    places: dict[Path, tuple[Place, ...]] = {}
    for of in (client.hooks, client.command, client.servers):
        if of is not None and (project is None or of.project is not None):
            file = _real(client.file(of, project), project)
            places[file] = (*places.get(file, ()), of)
    return places


def entries_of(client: Agent, project: Path | None = None) -> list[str]:
    """Our entries that are there now: events with a hook, and the server."""
    places = _places(client, project)
    return [entry for file, of in places.items() for entry in _entries_in(_content(file), file, client, of)]


def _entries_in(content: bytes | None, file: Path, client: Agent, of: Sequence[Place]) -> list[str]:
    """Our entries in a file with hooks, servers, or both. A file that is ours has all of its own, in whatever version."""
    found: list[str] = []
    change = FileChange(file, client.name, None, content)
    for each in of:
        if isinstance(each, Servers):
            found += [SERVER] if is_server(_servers_in(change, each).get(MEMORIST)) else []
        elif isinstance(each, Slash) or each.entry is None:
            found += each.names if MEMORIST.encode() in (content or b"") else ()
        else:
            there = splice.read(_text(change), file)
            found += [event for event in each.names if ours(there, event, client)]
    return found


def _holders_made(before: bytes | None, after: bytes | None, file: Path, client: Agent) -> tuple[str, ...]:
    """The containers of our entries that were not there before, each as its path."""
    if file.suffix != ".json":
        return ()
    old, new = (splice.read(whole.text_of(content or b"", file) or EMPTY, file) for content in (before, after))
    events = client.hooks.names if client.hooks else ()
    paths = [client.servers.path, ("hooks",), *(("hooks", event) for event in events)]
    return tuple("/".join(path) for path in paths if splice.at(old, path) is None and splice.at(new, path) is not None)


def _without(client: Agent, file: Path, of: Sequence[Place], book: "_Book") -> FileChange:
    now = _content(file)
    change = FileChange(file, client.name, now, now)
    if now is None:
        return change
    noted = book.files.get(str(file))
    if noted is not None and noted.after == _digest(now):
        if noted.made:
            return replace(change, after=None)
        if (before := book.before(noted)) is not None:
            return replace(change, after=before)
    holders = noted.holders if noted else None
    for each in of:
        change = _without_one(change, each, client, holders)
    return _gone_if_empty(change, of) if noted is not None and noted.made else change


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
        if change.before == _own_text(of, client):
            return replace(change, after=None)
        said = f"{change.file} was changed by somebody, and stays; remove it yourself"
        return replace(change, told=(said,) if _entries_in(change.before, change.file, client, [of]) else ())
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
        paths = [*_to_take(_listed(found, event), event, client)]
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
        inner = entry.get("hooks") if isinstance(entry, Mapping) else None
        hooks = inner if isinstance(inner, list) else []
        ours = [at for at, hook in enumerate(hooks) if _runs_ours(hook, client)]
        if _runs_ours(entry, client) or (ours and len(ours) == len(hooks)):
            yield "hooks", event, number
        else:
            yield from (("hooks", event, number, "hooks", at) for at in reversed(ours))


def _runs_ours(hook: Any, client: Agent) -> bool:
    return isinstance(hook, Mapping) and is_hook(hook.get("command"), client.name)


def _without_server(text: str, servers: Servers, file: Path, holders: Sequence[str] | None) -> str:
    if not is_server(_servers_in(FileChange(file, "", None, text.encode()), servers).get(MEMORIST)):
        return text
    text = _editor(file).take(text, (*servers.path, MEMORIST), file)
    return text if _is_toml(file) else _without_holder(text, servers.path, file, holders)


# ---------------------------------------------------------------- what was done


def _digest(content: bytes | None) -> str:
    return hashlib.sha256(content or b"").hexdigest()


def _installed(each: dict[str, Any]) -> Installed:
    holders = each.get("holders")
    lists = {
        "entries": tuple(each["entries"]),
        "holders": None if holders is None else tuple(holders),
        "folders": tuple(each.get("folders", ())),
    }
    return Installed(**{**each, **lists})


def _has_ours(change: FileChange) -> bool:
    """Whether the file had entries of ours before that change. A file that is ours as a whole had none."""
    agent = CLIENTS[change.client]
    if change.before is None:
        return False
    hooks = [agent.hooks] if agent.hooks and agent.hooks.entry and change.file.suffix == ".json" else []
    return bool(_entries_in(change.before, change.file, agent, [*hooks, agent.servers]))


@dataclass(slots=True)
class _Book:
    """`installed.json`, and the folder with the original files."""

    folder: Path
    files: dict[str, Installed]
    forgotten: set[str] = field(default_factory=set)  # folders made for files that are no longer recorded

    @classmethod
    def read(cls) -> "_Book":
        file = settings.beside(NOTED)
        if file is None:
            raise Invalid(
                "there is no home folder to note in what was installed; set HOME, or MEMORIST_CONFIG to a file"
            )
        content = _content(file)
        try:
            found = json.loads(content or b"{}")
            files = {name: _installed(each) for name, each in found.items()}
        except (ValueError, TypeError, KeyError, AttributeError) as problem:
            raise Invalid(
                f"{file} cannot be read ({problem}); use the {MEMORIST} that wrote it, or move it away"
            ) from problem
        return cls(file.parent, files)

    def has(self, file: Path, entry: str) -> bool:
        noted = self.files.get(str(file))
        return noted is not None and entry in noted.entries

    def before(self, noted: Installed) -> bytes | None:
        return _content(self.folder / "before" / noted.before) if noted.before else None

    def note(self, change: FileChange, done: FileChange) -> None:
        """Records a change. The original of a file is kept from our first change on, as long as nobody else changes the
        file."""
        if not change.is_one:
            return
        old = self.files.get(str(change.file))
        entries = tuple(dict.fromkeys((*(old.entries if old else ()), *done.entries)))
        holders: tuple[str, ...] | None
        holders = _holders_made(change.before, done.after, change.file, CLIENTS[change.client])
        if old is not None:  # a record by an older version says nothing about them
            holders = None if old.holders is None else (*old.holders, *holders)
        if old is not None and old.after == _digest(change.before):
            before, made = old.before, old.made
        elif _has_ours(change):
            before, made = None, False  # a copy would bring our entries back
        else:
            before, made = self._keep(change), change.before is None
        folders = (*(old.folders if old else ()), *done.folders)
        self.files[str(change.file)] = Installed(
            change.client, entries, _digest(done.after), before, made, holders, folders
        )
        self._write()

    def forget(self, file: Path) -> None:
        noted = self.files.pop(str(file), None)
        if noted is not None and noted.before:
            (self.folder / "before" / noted.before).unlink(missing_ok=True)
        self.forgotten.update(noted.folders if noted else ())
        if self.files:
            return self._write()
        # None of our entries is left anywhere. The lock file stays: if it were removed, two processes could each hold
        # one.
        (self.folder / NOTED).unlink(missing_ok=True)
        with suppress(OSError):  # it is missing, or somebody put something into it
            (self.folder / "before").rmdir()

    def remove_folders(self) -> None:
        """Removes the folders made for files that are no longer recorded, the innermost first."""
        for folder in sorted(self.forgotten, key=len, reverse=True):
            with suppress(OSError):  # somebody put something into it
                Path(folder).rmdir()

    def _keep(self, change: FileChange) -> str | None:
        if change.before is None:
            return None
        name = f"{_digest(str(change.file).encode())[:12]}-{change.file.name}"
        create_private(self.folder / "before" / name)
        (self.folder / "before" / name).write_bytes(change.before)
        return name

    def _write(self) -> None:
        shown = {name: asdict(each) for name, each in self.files.items()}
        replace_private(self.folder / NOTED, json.dumps(shown, indent=2) + "\n")


@contextmanager
def _book() -> Iterator[_Book]:
    """Yields the book, locked against other writers. What the system refuses then is said in our words."""
    folder = _Book.read().folder
    try:
        create_private(folder / "installed.lock")
        with locked(folder / "installed.lock", WAIT_FOR_OTHERS, what="what is installed"):
            yield _Book.read()
    except OSError as problem:
        raise unavailable(problem, problem.filename or str(folder)) from problem


Noting = Callable[[_Book, FileChange, FileChange], None]  # the book, a change as planned, and as it was made
