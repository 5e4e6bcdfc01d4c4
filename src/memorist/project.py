"""Which project is this? Every surface asks here, so a write through one is found through all the others (W4-1).

Three answers, the surest first: a given name; the version-control remote, which stays the same when a checkout is moved
or cloned again (W4-9); the path. `how` records which one was used, because an answer by path is lost when the folder
moves. All worktrees of a repository are one project, and a submodule is its own. The files of git and Mercurial are
read directly: starting `git` costs more than a recall, and it may be missing. Only the host and path of a remote's
address are used: users, passwords, ports and queries never reach an id, and an address that cannot be parsed safely is
not used at all.

The nearest `.git` decides, because git refuses to track one, so no clone can contain it. An `.hg` can be tracked, so it
counts only outside of any git checkout. For the same reason a checkout that was moved or got a remote is recognised by
a random mark in its `.git`; only the store knows what the mark stands for (`store/checkouts.py`).
"""

import os
import re
import secrets
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from memorist.errors import Invalid
from memorist.lazy import dataclass
from memorist.records import Scope
from memorist.unseen import unseen

How = Literal["named", "remote", "path", "renamed", "default"]

_LONGEST_ID = Scope.LONGEST - len("project/")
_LONGEST_FOLDER_NAME = 60
_CONFIG_BYTES = 1 << 20  # larger than any honest repository configuration
MARK_NAME = "memorist"  # the file with a checkout's mark, beside git's own files
_MARK = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Project:
    """The scope of a project's memories, how it was determined, its short name, and its folder."""

    scope: Scope
    how: How
    name: str
    root: Path | None
    home: Path | None = field(default=None, compare=False)  # of a checkout: the folder that all its worktrees share
    own: Path | None = field(default=None, compare=False)  # of a checkout: where git or Mercurial keeps its files

    @property
    def by_folder(self) -> bool:
        """Whether the folder decided which project it is, rather than a name."""
        return self.how in ("remote", "path")

    @property
    def own_root(self) -> Path | None:
        """The folder that file names are relative to; None for a project given by name, which can be used from anywhere."""
        return None if self.how == "named" else self.root


def resolve_project(named: str | None, directory: Path | None) -> Project:
    """The project of that name, else of that directory, else `project/default`.

    >>> resolve_project("atlas", None).scope
    'project/atlas'
    """
    root = None if directory is None else repository_root(directory) or _resolved(directory)
    if named is not None:
        return _by_name(named, root)
    return Project(Scope("project/default"), "default", "default", None) if root is None else _by_folder(root)


def _by_folder(root: Path) -> Project:
    marker = _marker(root)
    repository = _Repository(root) if marker is None else _git(marker) if marker.name == ".git" else _mercurial(marker)
    remotes = (_by_remote(address, repository.home, root) for address in repository.remotes)
    found = next(filter(None, remotes), None) or _by_path(repository.home, "path", root)
    return found if marker is None else replace(found, home=repository.home, own=repository.own or marker)


def repository_root(directory: Path) -> Path | None:
    """The root folder of the checkout that contains this directory; None outside any repository."""
    marker = _marker(_resolved(directory))
    return marker.parent if marker else None


def earlier_names(project: Project, directory: Path) -> dict[str, str]:
    """The projects that this folder was before it had a remote or was part of the repository, each with the reason."""
    if project.home is None or project.root is None:
        return {}
    here, found = _resolved(directory), dict[str, str]()
    if project.how == "remote":
        found[_by_path(project.home, "path", project.root).scope] = "this checkout before it had a remote"
    inner = [folder for folder in (here, *here.parents) if folder.is_relative_to(project.root)]
    for folder in inner:
        found.setdefault(_by_path(folder, "path", folder).scope, "this folder before it was part of the checkout")
    found.pop(project.scope, None)
    return found


def parents_of(project: Project) -> list[Project]:
    """Outside of version control: the folders above that may be the same project, the nearest first. The user's home,
    the folders above it and folders that everybody may write to (/tmp) are never the project of a folder in them."""
    found: list[Project] = []
    if project.root is None or project.own is not None:
        return found
    home = _user_home()
    for folder in project.root.parents:
        if home.is_relative_to(folder) or _is_shared(folder):
            break
        found.append(_by_path(folder, "path", folder))
    return found


def _user_home() -> Path:
    try:
        return Path.home().resolve()
    except (OSError, RuntimeError):
        return Path("/")


def _is_shared(folder: Path) -> bool:
    try:
        return bool(folder.stat().st_mode & stat.S_ISVTX)
    except OSError:
        return True


# ---------------------------------------------------------------- the mark of a checkout


def mark_of(own: Path | None) -> str | None:
    """The mark in this folder of git's own files."""
    said = None if own is None else _read(own / MARK_NAME)
    return said.strip() if said and _MARK.fullmatch(said.strip()) else None


def make_mark(own: Path) -> str | None:
    """Writes a new mark there. It replaces a mark that was copied along with the checkout. Returns None if it cannot be
    written: the checkout will then not be recognised once it is moved."""
    mark, new = secrets.token_hex(16), own / f"{MARK_NAME}.new"
    try:
        with suppress(FileNotFoundError):
            new.unlink()
        with new.open("x", encoding="ascii") as file:
            file.write(mark + "\n")
        new.replace(own / MARK_NAME)
    except OSError:
        return None
    return mark


# ---------------------------------------------------------------- the three answers


def _by_name(named: str, root: Path | None) -> Project:
    if not isinstance(named, str):
        raise Invalid(f"a project's name must be text such as 'atlas', not {type(named).__name__}")
    name = unicodedata.normalize("NFC", named.strip()).removeprefix("project/")
    if "://" in name:  # left out of the message: addresses carry passwords
        raise Invalid(
            "a project's name cannot be an address; write it as 'github.com/owner/repo', or any name you like"
        )
    return Project(Scope(f"project/{name}"), "named", name, root)


def _by_remote(address: str, home: Path, root: Path) -> Project | None:
    hosted = _hosted(address)
    if hosted:
        cut = f"{hosted[: _LONGEST_ID - 9]}-{_digest(hosted.encode())}"
        id = hosted if len(hosted) <= _LONGEST_ID else cut
        return Project(Scope(f"project/{id}"), "remote", hosted.rpartition("/")[2], root)
    folder = _local(address, home)
    return _by_path(folder, "remote", root) if folder else None


def _by_path(folder: Path, how: How, root: Path) -> Project:
    """The one formula for paths: a clone of a local repository without a remote becomes the same project as its original."""
    name = _clean(folder.name)[:_LONGEST_FOLDER_NAME] or "folder"
    return Project(Scope(f"project/{name}-{_digest(os.fsencode(folder))}"), how, name, root)


# ---------------------------------------------------------------- repositories


@dataclass(frozen=True, slots=True)
class _Repository:
    home: Path  # what all its worktrees share: the main checkout, or a bare repository
    remotes: tuple[str, ...] = ()  # most significant first
    own: Path | None = None  # where git or Mercurial keeps its files


def _marker(here: Path) -> Path | None:
    """The nearest `.git` in this folder or above; the nearest `.hg` only if there is none."""
    for name in (".git", ".hg"):
        for folder in (here, *here.parents):
            if _is_there(folder / name):
                return folder / name
    return None


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _git(marker: Path) -> _Repository:
    """Reads a git checkout. `.git` is a folder, or in worktrees and submodules a file that points to one; worktrees
    share `commondir`."""
    pointer = _read(marker)
    own = marker if pointer is None else _follow(marker.parent, pointer.partition("gitdir:")[2])
    common = own and _follow(own, _read(own / "commondir") or ".")
    text = _read(common / "config") if common else None
    if not common or text is None:
        return _Repository(marker.parent)
    urls = _values(text, "remote", "url")
    urls.sort(key=lambda remote: remote[0] != "origin")  # stable: the others keep their order
    worktree = dict(_values(text, "core", "worktree")).get("", "")
    home = common.parent if common.name == ".git" else _follow(common, worktree) or common
    return _Repository(home, tuple(url for _, url in urls), common)


def _values(text: str, section: str, key: str) -> list[tuple[str, str]]:
    """What git's configuration sets for this key: each part of the section, and its value."""
    entries = [(part, _git_value(raw)) for where, part, name, raw in _entries(text) if (where, name) == (section, key)]
    return [(part, value) for part, value in entries if value]


def _mercurial(marker: Path) -> _Repository:
    text = _read(marker / "hgrc") or ""
    paths = [(key, value) for section, _, key, value in _entries(text) if section == "paths" and value]
    pulled = [(key, value) for key, value in paths if ":" not in key and key != "default-push"]
    pulled.sort(key=lambda path: path[0] != "default")
    return _Repository(marker.parent, tuple(value for _, value in pulled), marker)


_HEADER = re.compile(r'\s*\[\s*([^\s"\]]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]')


def _entries(text: str) -> Iterator[tuple[str, str, str, str]]:
    """(section, its part, key, raw value) of each line. `[remote.origin]` is git's older form of `[remote "origin"]`."""
    section = part = ""
    for line in text.split("\n"):
        header = _HEADER.match(line)
        if header:
            section, _, part = header[1].partition(".")
            part = part if header[2] is None else header[2]
            line = line[header.end() :]
        key, equals, value = line.partition("=")
        if equals:
            yield section.lower(), part, key.strip().lower(), value.strip()


def _git_value(raw: str) -> str:
    """Unquotes a value as git does: quotes open and close anywhere, a backslash escapes, # and ; begin a comment outside quotes."""
    value, quoted, characters = "", False, iter(raw)
    for character in characters:
        if character == "\\":
            value += next(characters, "")
        elif character == '"':
            quoted = not quoted
        elif character in "#;" and not quoted:
            break
        else:
            value += character
    return value.strip()


# ---------------------------------------------------------------- addresses

_TRANSPORT = re.compile(r"[a-z0-9+-]+::", re.I)  # a remote helper in front of an address: `hg::https://…`
_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<at>[^/?#]*)(?P<path>[^?#]*)", re.I | re.S)
_SCP = re.compile(r"(?P<at>(?:[^/]*@)?(?:\[[^\]/]+\]|[^/:@\[\]\\]{2,})):(?P<path>.*)", re.S)  # one letter is a drive
_BRACKETS = re.compile(r"\[(?P<inside>[^\[\]]+)\](?::\d*)?")
_UNCLEAR = re.compile(r"://|[^/]@")  # in a path: a nested address, or a password with a slash in it
_PATH_START = re.compile(r"[/\\]|\.{1,2}[/\\]|[a-z]:[/\\]", re.I)


def _hosted(address: str) -> str | None:
    """`github.com/owner/repo` for every spelling of that address; None for a local path or an unclear address."""
    helper = _TRANSPORT.match(address)
    url = _URL.match(address, helper.end() if helper else 0)
    found = url or (None if helper else _SCP.match(address))
    if not found or _UNCLEAR.search(found["path"]) or (url and url["scheme"].lower() == "file"):
        return None
    path = unquote(found["path"]) if url else found["path"]
    parts = [*filter(None, map(_clean, path.rstrip("/").removesuffix(".git").split("/")))]
    host = _clean(_host(found["at"]))
    return "/".join([host, *parts]) if host and parts else None


def _host(authority: str) -> str:
    """`user:secret@Example.org:22` becomes `example.org`; empty if there is no host."""
    plain = authority.rpartition("@")[2].lower()
    brackets = _BRACKETS.fullmatch(plain)
    if brackets and brackets["inside"].count(":") > 1:  # an IPv6 address
        return brackets["inside"]
    name, _, port = (brackets["inside"] if brackets else plain).partition(":")
    return name.rstrip(".") if (not port or port.isdigit()) and not set(name) & set("[]") else ""


def _local(address: str, home: Path) -> Path | None:
    if address.lower().startswith("file://"):
        path = "/" + unquote(address[len("file://") :]).partition("/")[2]
    elif _PATH_START.match(address) or not set(address) & set("@:"):  # otherwise it may hold a password
        path = address
    else:
        return None
    folder = _follow(home, path)
    return folder.parent if folder and folder.name == ".git" else folder


# ---------------------------------------------------------------- names and files


def _clean(text: str) -> str:
    """A valid part of a scope, or nothing. Bad characters are replaced: removing them could join the rest into '..'."""
    composed = unicodedata.normalize("NFC", text)
    bad = {*"/\\*", *unseen(composed)}
    visible = "".join("-" if char in bad else char for char in composed).strip()
    return "" if visible in (".", "..") else visible


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=4).hexdigest()


def _read(path: Path) -> str | None:
    """A small text file; None if it is absent, unreadable or not a regular file (a pipe would never end)."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return file.read(_CONFIG_BYTES).decode("utf-8", "surrogateescape")
    except (OSError, ValueError):
        return None


def _follow(base: Path, pointer: str) -> Path | None:
    """The target of a path that a file contains, relative to its folder; None if it is empty or cannot be resolved."""
    try:
        return (base / pointer.strip()).resolve() if pointer.strip() else None
    except (OSError, RuntimeError, ValueError):
        return None


def _resolved(directory: Path) -> Path:
    try:
        return directory.resolve()
    except (OSError, RuntimeError, ValueError) as problem:
        raise Invalid(f"the folder {str(directory)!r} cannot be resolved: {problem}; give its full path") from problem
