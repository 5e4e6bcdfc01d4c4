"""Our lines in the settings of agents: put in without touching another byte, and taken out without a trace.

What was done is noted in `installed.json` beside the user's settings: for each file what we added, how it was before, and a
digest of how we left it. So `remove` gives a file back byte for byte where nobody else has changed it since, and takes only our
entries out where somebody has; and an entry that the user took out is not put in again. A file that cannot be read is named
with its line and left alone. Of two installations at once one waits.

A server of tools is added by the agent's own command where its file is the program's and not the user's, or where that command
keeps remarks (docs/why/0060-in-the-settings-of-others.md).
"""

import hashlib
import json
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from difflib import unified_diff
from pathlib import Path
from typing import Any

from memorist.errors import Invalid, Refused, StoreUnavailable
from memorist.files import whole
from memorist.store.files import create_private, replace_private
from memorist.store.lock import locked
from memorist.surfaces import settings
from memorist.surfaces.agents import splice
from memorist.surfaces.agents.clients import MEMORIST, Agent, Hooks, Servers, commands_in, is_hook, is_server
from memorist.text import toml

SERVER = "server"  # the name of that entry; those of hooks are their events
WAIT_FOR_OTHERS = 30.0  # seconds for another installation, and for a program of an agent
READ_AGAIN = 5  # times that a file is read again because somebody saved it meanwhile
EMPTY = "{}\n"


@dataclass(frozen=True, slots=True)
class Installed:
    """What was done to one file. `before` is a copy of it, None where it was not there or is not known any more."""

    client: str
    entries: tuple[str, ...]
    after: str
    before: str | None = None
    made: bool = False  # the file was not there


@dataclass(frozen=True, slots=True)
class FileChange:
    """What would become of one file; `command` is the agent's own, which makes the change instead."""

    file: Path
    client: str
    before: bytes | None
    after: bytes | None
    entries: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    command: tuple[str, ...] | None = None

    @property
    def is_one(self) -> bool:
        return self.before != self.after or self.command is not None

    def diff(self) -> list[str]:
        """The lines that change, and no others: what stands beside them may be nobody's business."""
        if self.command is not None:
            return [f"$ {' '.join(self.command)}"]
        before, after = ((text or b"").decode("utf-8", "replace").splitlines() for text in (self.before, self.after))
        return list(unified_diff(before, after, str(self.file), str(self.file), n=0, lineterm=""))


# ---------------------------------------------------------------- putting in


def plan(client: Agent, project: Path | None = None, hooks: bool = True, servers: bool = True) -> list[FileChange]:
    """What an installation would change, file by file."""
    command = _command(client)
    known = _Book.read()
    changes: dict[Path, FileChange] = {}
    if hooks and client.hooks is not None:
        file = client.file(client.hooks, project)
        changes[file] = _with_hooks(_unchanged(file, client, project), client.hooks, client, command, known)
    if servers:
        file = client.file(client.servers, project)
        start = changes.get(file) or _unchanged(file, client, project)
        changes[file] = _with_server(start, client.servers, client, project, known)
    return [*changes.values()]


def install(client: Agent, project: Path | None = None, hooks: bool = True, servers: bool = True) -> list[FileChange]:
    """Makes these changes. → those that were made"""
    return _perform(lambda: plan(client, project, hooks, servers), _Book.note)


def _perform(
    make: Callable[[], list[FileChange]], note: "Callable[[_Book, FileChange, FileChange], None]"
) -> list[FileChange]:
    """Makes the changes one file at a time, and notes each before the next. What somebody saved meanwhile is read again first."""
    made: list[FileChange] = []
    with _book() as book:
        for _ in range(READ_AGAIN):
            changes = make()
            for change in changes:
                done = _done(change) if change.is_one else change
                if done is None:
                    break
                note(book, change, done)
                made += [done] if change.is_one else []
            else:
                return [*made, *(change for change in changes if not change.is_one)]
    raise StoreUnavailable("the settings are being saved by somebody else again and again; try again")


def _done(change: FileChange) -> FileChange | None:
    """The change as it was made; None if the file is another by now."""
    if change.command is not None:
        return _run(change)
    if change.after is None:
        if whole.read(change.file) != change.before:
            return None
        change.file.unlink()
        return change
    _make_folder(change.file)
    return change if whole.put(change.file, change.after, change.before) else None


def _command(client: Agent) -> str:
    """How an agent calls us: by name, since a path dies with the environment it leads into."""
    if shutil.which(MEMORIST) is None:
        raise Refused(
            f"`{MEMORIST}` is not on the PATH, where {client.title} looks for it; install it there (`pipx install {MEMORIST}`, or "
            f"`uv tool install {MEMORIST}`), or activate its environment"
        )
    return MEMORIST


def _unchanged(file: Path, client: Agent, project: Path | None) -> FileChange:
    real = whole.real_file(file, project) if project is not None else Path(os.path.realpath(file))
    content = whole.read(real)
    if content is not None and not stat.S_IMODE(real.stat().st_mode) & 0o222:
        raise Refused(f"{real} is read-only; make it writable, or add the lines yourself (docs/agents.md shows them)")
    return FileChange(real, client.name, content, content)


def _text(change: FileChange) -> str:
    return EMPTY if change.after is None else whole.text_of(change.after, change.file) or EMPTY


def _with_hooks(change: FileChange, hooks: Hooks, client: Agent, command: str, known: "_Book") -> FileChange:
    text, added, told = _text(change), list(change.entries), list(change.told)
    found = splice.read(text, change.file)
    if hooks.head is not None and isinstance(found, Mapping) and hooks.head[0] not in found:
        text = splice.put(text, (hooks.head[0],), hooks.head[1], change.file)
    for moment, event in hooks.events.items():
        wanted = f"{command} hook {client.name} {event}"
        there = _ours(found, event, client)
        if reason := _not_put_in(change.file, event, wanted, there, known):
            told.append(reason)
        elif not there:
            text = splice.append(text, ("hooks", event), hooks.entry(wanted, moment), change.file)
            added.append(event)
    after = text.encode() if added != list(change.entries) else change.after
    return replace(change, after=after, entries=tuple(added), told=tuple(told))


def _not_put_in(file: Path, event: str, wanted: str, there: Sequence[str], known: "_Book") -> str | None:
    """Why a hook is not put in, where it is not simply there."""
    if any(each != wanted for each in there):
        return f"{file} runs another {MEMORIST} at {event} ({there[0]}); it stays, `{MEMORIST} uninstall` removes it"
    if not there and known.has(file, event):
        return f"the hook at {event} was removed from {file}, and stays out; uninstall, then install puts it in"
    return None


def _ours(found: Any, event: str, client: Agent) -> list[str]:
    """The commands of ours that run at that event."""
    commands = [command for entry in _listed(found, event) for command in commands_in(entry)]
    return [command for command in commands if is_hook(command, client.name)]


def _listed(found: Any, event: str) -> list[Any]:
    hooks = found.get("hooks") if isinstance(found, Mapping) else None
    entries = hooks.get(event) if isinstance(hooks, Mapping) else None
    return entries if isinstance(entries, list) else []


def _with_server(
    change: FileChange, servers: Servers, client: Agent, project: Path | None, known: "_Book"
) -> FileChange:
    there = _servers_in(change, servers).get(MEMORIST)
    if there is not None:
        other = f"{change.file} has another server called {MEMORIST}; it stays, rename it to have ours"
        return change if is_server(there) else replace(change, told=(*change.told, other))
    if known.has(change.file, SERVER):
        said = f"the server was removed from {change.file}, and stays out; uninstall, then install puts it in"
        return replace(change, told=(*change.told, said))
    change = replace(change, entries=(*change.entries, SERVER))
    if project is None and servers.command and client.program and (program := shutil.which(client.program)):
        return replace(change, command=(program, *servers.command))
    if change.file.suffix == ".toml":
        return replace(change, after=_with_table(change, servers))
    text = splice.put(_text(change), (*servers.path, MEMORIST), servers.entry, change.file)
    return replace(change, after=text.encode())


def _servers_in(change: FileChange, servers: Servers) -> Mapping[str, Any]:
    if change.after is None:
        return {}
    text = whole.text_of(change.after, change.file)
    found = toml.parse(text, change.file) if change.file.suffix == ".toml" else splice.read(text or EMPTY, change.file)
    for name in servers.path:
        found = found.get(name, {}) if isinstance(found, Mapping) else {}
    return found if isinstance(found, Mapping) else {}


def _with_table(change: FileChange, servers: Servers) -> bytes:
    """A table at the end of a TOML file, which must still be one."""
    before = change.after or b""
    line = b"\r\n" if b"\r\n" in before else b"\n"
    rows = [
        f"[{'.'.join(servers.path)}.{MEMORIST}]",
        *(f"{key} = {toml.written(value)}" for key, value in servers.entry.items()),
    ]
    gap = b"" if not before else line if before.endswith(b"\n") else line * 2
    after = before + gap + line.join(row.encode() for row in rows) + line
    toml.parse(whole.text_of(after, change.file), change.file)
    return after


def _make_folder(file: Path) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise Refused(f"{file.parent} cannot be made ({problem.strerror}); make it, then try again") from problem


def _run(change: FileChange) -> FileChange:
    """Lets the agent's own command make the change, and looks at what became of the file."""
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
    return replace(change, after=whole.read(change.file))


# ---------------------------------------------------------------- taking out


def removal(client: Agent, project: Path | None = None) -> list[FileChange]:
    """What taking our entries out would change: of every file that was noted, and of those where they would be."""
    book = _Book.read()
    return [_without(client, file, of, book) for file, of in _places(client, project).items()]


def remove(client: Agent, project: Path | None = None) -> list[FileChange]:
    """Makes these changes. → those that were made"""
    return _perform(lambda: removal(client, project), lambda book, change, _: book.forget(change.file))


def _places(client: Agent, project: Path | None) -> dict[Path, tuple[Hooks | Servers, ...]]:
    """The files that hold hooks or servers; some hold both."""
    places: dict[Path, tuple[Hooks | Servers, ...]] = {}
    for of in (client.hooks, client.servers):
        if of is not None and (project is None or of.project is not None):
            file = Path(os.path.realpath(client.file(of, project)))
            places[file] = (*places.get(file, ()), of)
    return places


def entries_of(client: Agent, project: Path | None = None) -> list[str]:
    """Which entries of ours there are now: events with a hook, and the server."""
    found: list[str] = []
    for file, of in _places(client, project).items():
        change = FileChange(file, client.name, None, whole.read(file))
        for each in of:
            if isinstance(each, Hooks):
                there = splice.read(_text(change), file)
                found += [event for event in each.events.values() if _ours(there, event, client)]
            elif is_server(_servers_in(change, each).get(MEMORIST)):
                found.append(SERVER)
    return found


def _without(client: Agent, file: Path, of: Sequence[Hooks | Servers], book: "_Book") -> FileChange:
    now = whole.read(file)
    change = FileChange(file, client.name, now, now)
    if now is None:
        return change
    noted = book.files.get(str(file))
    if noted is not None and noted.after == _digest(now) and (noted.made or noted.before is not None):
        return replace(change, after=None if noted.made else book.before(noted))
    text = whole.text_of(now, file)
    for each in of:
        text = _without_hooks(text, client, file) if isinstance(each, Hooks) else _without_server(text, each, file)
    return replace(change, after=text.encode())


def _without_hooks(text: str, client: Agent, file: Path) -> str:
    """Without our hooks, the lists that only held them, and the member that only held those."""
    found = splice.read(text, file)
    events = found.get("hooks") if isinstance(found, Mapping) else None
    if not events or not isinstance(events, Mapping):
        return text
    for event in events:
        for path in _to_take(_listed(found, event), event, client):
            text = splice.take(text, path, file)
    return splice.take(text, ("hooks",), file) if splice.read(text, file)["hooks"] == {} else text


def _to_take(entries: list[Any], event: str, client: Agent) -> Iterator[tuple[splice.Step, ...]]:
    """Our entries of an event, the last one first; or the event, where there are no others."""
    ours = [number for number, entry in enumerate(entries) if _is_ours(entry, client)]
    if ours and len(ours) == len(entries):
        yield "hooks", event
    else:
        yield from (("hooks", event, number) for number in reversed(ours))


def _is_ours(entry: Any, client: Agent) -> bool:
    commands = commands_in(entry)
    return bool(commands) and all(is_hook(command, client.name) for command in commands)


def _without_server(text: str, servers: Servers, file: Path) -> str:
    change = FileChange(file, "", None, text.encode())
    if not is_server(_servers_in(change, servers).get(MEMORIST)):
        return text
    if file.suffix == ".toml":
        return _without_table(text, servers)
    text = splice.take(text, (*servers.path, MEMORIST), file)
    emptied = _servers_in(replace(change, after=text.encode()), servers) == {}
    return splice.take(text, servers.path, file) if emptied else text


def _without_table(text: str, servers: Servers) -> str:
    """Without the lines from the head of our table to the next head, and the blank line before it."""
    lines = text.splitlines(keepends=True)
    head = f"[{'.'.join(servers.path)}.{MEMORIST}"
    kept, inside = list[str](), False
    for line in lines:
        if line.startswith("["):
            inside = line.startswith((f"{head}]", f"{head}."))
            if inside and kept and not kept[-1].strip():
                kept.pop()
        if not inside:
            kept.append(line)
    return "".join(kept)


# ---------------------------------------------------------------- what was done


def _digest(content: bytes | None) -> str:
    return hashlib.sha256(content or b"").hexdigest()


@dataclass(slots=True)
class _Book:
    """`installed.json`, and the folder with how files were before."""

    folder: Path
    files: dict[str, Installed]

    @classmethod
    def read(cls) -> "_Book":
        file = settings.user_file()
        if file is None:
            raise Invalid(
                "there is no home folder to note in what was installed; set HOME, or MEMORIST_CONFIG to a file"
            )
        content = whole.read(file.parent / "installed.json")
        try:
            found = json.loads(content or b"{}")
            files = {name: Installed(**{**each, "entries": tuple(each["entries"])}) for name, each in found.items()}
        except (ValueError, TypeError, KeyError, AttributeError) as problem:
            raise Invalid(f"{file.parent / 'installed.json'} cannot be read ({problem}); move it away") from problem
        return cls(file.parent, files)

    def has(self, file: Path, entry: str) -> bool:
        noted = self.files.get(str(file))
        return noted is not None and entry in noted.entries

    def before(self, noted: Installed) -> bytes | None:
        return whole.read(self.folder / "before" / noted.before) if noted.before else None

    def note(self, change: FileChange, done: FileChange) -> None:
        """How it was before we first changed it is kept as long as nobody else changes it."""
        if not change.is_one:
            return
        old = self.files.get(str(change.file))
        entries = tuple(dict.fromkeys((*(old.entries if old else ()), *done.entries)))
        goes_on = old is not None and old.after == _digest(change.before)
        before, made = (old.before, old.made) if old and goes_on else (self._keep(change), change.before is None)
        self.files[str(change.file)] = Installed(change.client, entries, _digest(done.after), before, made)
        self._write()

    def forget(self, file: Path) -> None:
        noted = self.files.pop(str(file), None)
        if noted is not None and noted.before:
            (self.folder / "before" / noted.before).unlink(missing_ok=True)
        self._write()

    def _keep(self, change: FileChange) -> str | None:
        if change.before is None:
            return None
        name = f"{_digest(str(change.file).encode())[:12]}-{change.file.name}"
        create_private(self.folder / "before" / name)
        (self.folder / "before" / name).write_bytes(change.before)
        return name

    def _write(self) -> None:
        shown = {name: asdict(each) for name, each in self.files.items()}
        replace_private(self.folder / "installed.json", json.dumps(shown, indent=2) + "\n")


@contextmanager
def _book() -> Iterator[_Book]:
    """The book, while nobody else writes in it."""
    folder = _Book.read().folder
    create_private(folder / "installed.lock")
    with locked(folder / "installed.lock", WAIT_FOR_OTHERS, what="what is installed"):
        yield _Book.read()
