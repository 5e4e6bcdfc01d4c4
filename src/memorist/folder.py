"""A project's folder, as far as memories depend on its files: which of them may be read, what they hold, and whether they
have changed.

Nothing outside the folder is read, even through a link. Nor is anything that `.gitignore`, `.git/info/exclude` or
`.secretsignore` excludes, any `.env*`, or the files of version control itself. A file may turn into a pipe, a folder or a
link, or vanish, between two looks at it. So it is opened without blocking and without following links, and what was opened
is checked.

A file is recognised by a digest of its bytes. The digest is kept with a memory in `data["file_hashes"]`, by the path below
the folder, and compared when the memory is recalled. It is computed again only if the file's size, time or inode changed.
"""

import hashlib
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from memorist.errors import Invalid
from memorist.records import Freshness
from memorist.text.ignore import Rules, rules_of
from memorist.text.visible import quoted

WORST_FIRST: tuple[Freshness, ...] = ("stale", "unverifiable", "fresh")
HASHES = "file_hashes"  # in a record's data
MOST_HASHED = 10  # files of one memory
LARGEST_HASHED = 16 << 20  # bytes; larger files are not texts that memories are about
LARGEST_RULES = 1 << 20  # bytes of an ignore file
HASH_LENGTH = 32  # hexadecimal digits of SHA-256
SETTLED = 2.0  # seconds; older modification times reveal any later change
MOST_KNOWN = 4096  # files whose digests are cached
IGNORING = (".gitignore", ".secretsignore")
EXCLUDED = ".git/info/exclude"
VERSION_CONTROL = frozenset((".git", ".hg", ".svn"))
FILLED = ("__pycache__", "node_modules", "venv")  # folders that tools fill
# Opening a pipe that has no writer would block for ever.
_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
_Stamp = tuple[int, int, int]  # size, time and inode


class Folder:
    """A project's folder; without one, no file is read. `here` is the directory the caller works in."""

    def __init__(self, root: Path | None, here: Path | None = None) -> None:
        self.root, self.here = root, here or root
        self._found: Path | None = None
        self._rules: dict[str, tuple[_Stamp, Rules | None]] = {}
        self._known: dict[str, tuple[_Stamp, str]] = {}

    def __repr__(self) -> str:
        return f"<Folder {self.root}>"

    @property
    def mark(self) -> str:
        """Distinguishes this checkout of a project from others on this machine."""
        return hash_of(os.fsencode(self._real))[:8]

    # ------------------------------------------------------------ what files hold

    def hashes(self, paths: Iterable[str]) -> dict[str, str]:
        """The digests of the given files that lie here and may be read, by their paths below the folder."""
        found: dict[str, str] = {}
        for path in paths:
            name = self.name_of(path)
            digest = None if name is None or len(found) == MOST_HASHED else self.hash_of(name)
            if name is not None and digest is not None:
                found[name] = digest
        return found

    def freshness(self, kept: object) -> Freshness | None:
        """Whether the files with these digests are unchanged; None if nothing is known about any of them, or there is no folder."""
        if self.root is None or not isinstance(kept, Mapping) or not kept:
            return None
        answers = {self._compared(name, digest) for name, digest in list(kept.items())[:MOST_HASHED]}
        return next(answer for answer in WORST_FIRST if answer in answers)

    def _compared(self, name: str, digest: object) -> Freshness:
        below = self._readable(name, self.root)
        now = None if below is None else self.hash_of(below)
        return "unverifiable" if now is None else "fresh" if now == digest else "stale"

    def hash_of(self, name: str) -> str | None:
        """The digest of this file of the folder; None if it cannot be read or is too large."""
        try:
            with self._opened(name) as file:
                stamp, moment = _stamp(os.fstat(file.fileno())), time.time()
                known = self._known.get(name)
                if known is not None and known[0] == stamp:
                    return known[1]
                raw = file.read(LARGEST_HASHED + 1)
        except (OSError, ValueError, Invalid):
            return None
        if len(raw) > LARGEST_HASHED:
            return None
        if moment - stamp[1] / 1e9 > SETTLED:
            self._keep(name, stamp, hash_of(raw))
        return hash_of(raw)

    def _keep(self, name: str, stamp: _Stamp, digest: str) -> None:
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[name] = (stamp, digest)

    def content(self, name: str, room: int) -> tuple[bytes, float]:
        """The bytes of this file of the folder, and when it was changed; raises `Invalid` if it cannot be read."""
        try:
            with self._opened(name) as file:
                raw, changed = file.read(room + 1), os.fstat(file.fileno()).st_mtime
        except (OSError, ValueError) as problem:
            raise Invalid(
                f"{quoted(name)} cannot be read: {getattr(problem, 'strerror', None) or problem}"
            ) from problem
        if len(raw) > room:
            raise Invalid(f"{quoted(name)} is larger than {room:,} bytes; nothing was read of it")
        return raw, changed

    def _opened(self, name: str) -> BinaryIO:
        file = os.fdopen(os.open(self._place(name), _READ), "rb")
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file
        file.close()
        raise Invalid(f"{quoted(name)} is not a regular file")

    # ------------------------------------------------------------ which files there are

    def name_of(self, path: str) -> str | None:
        """The path below the folder of a file that may be read. The given path may be relative to the folder or to
        `here`, or absolute."""
        return self._readable(path, self.root) or self._readable(path, self.here)

    def _readable(self, path: str, start: Path | None) -> str | None:
        name = None if start is None else self.below(start / path)
        return name if name and not self.is_ignored(name) and self._place(name).is_file() else None

    def below(self, path: str | Path) -> str | None:
        """The path below the folder, with links resolved; "" for the folder itself, None outside of it."""
        if self.root is None:
            return None
        try:
            inner = os.path.relpath(os.path.realpath(path), self._real)
        except (OSError, ValueError):  # a character no path may have; another drive
            return None
        name = inner.replace(os.sep, "/")
        return None if name == ".." or name.startswith("../") else "" if name == "." else name

    def is_folder(self, name: str) -> bool:
        return self._place(name).is_dir()

    def walk(self, top: str = "") -> Iterator[str]:
        """The files below this folder of the folder, sorted by name within each. Links, hidden and ignored folders,
        folders that tools fill, and other checkouts are left out."""
        for here, folders, files in os.walk(self._place(top)):
            name = self.below(here)
            if name is None or (name and not VERSION_CONTROL.isdisjoint((*folders, *files))):
                folders[:] = files[:] = []
            prefix = f"{name}/" if name else ""
            folders[:] = sorted(each for each in folders if self._is_walked(Path(here, each), prefix + each))
            yield from (prefix + each for each in sorted(files) if self._is_listed(Path(here, each), prefix + each))

    def _is_listed(self, path: Path, name: str) -> bool:
        return not path.is_symlink() and not self.is_ignored(name, inside=True)

    def _is_walked(self, path: Path, name: str) -> bool:
        hidden = path.name.startswith(".") or path.name in FILLED or path.is_symlink()
        return not hidden and not self.is_ignored(name, folder=True, inside=True)

    def is_ignored(self, name: str, folder: bool = False, inside: bool = False) -> bool:
        """Whether this path below the folder must not be read; `inside`: the folders above it are known to be readable."""
        parts = name.split("/")
        if any(part in VERSION_CONTROL or part.lower().startswith(".env") for part in parts):
            return True
        levels = range(len(parts) if inside else 1, len(parts) + 1)
        return any(_named(rules, parts, n, folder) for rules in self._rules_above(parts) for n in levels)

    def _rules_above(self, parts: Sequence[str]) -> Iterator[list[tuple[int, Rules | None]]]:
        """The rules that may apply to a path, one list for each kind of ignore file: each with its depth, the nearest first."""
        for sort in IGNORING:
            depths = range(len(parts) - 1, -1, -1)
            found = [(depth, self._rules_of("/".join((*parts[:depth], sort)))) for depth in depths]
            yield [*found, (0, self._rules_of(EXCLUDED))] if sort == ".gitignore" else found

    def _rules_of(self, file: str) -> Rules | None:
        """The rules in this file; none if it does not exist. A file that exists but cannot be read excludes everything."""
        try:
            facts = os.stat(f"{self._real}/{file}")  # noqa: PTH116  (a path object costs as much as the look)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError):
            return ignore_everything
        known = self._rules.get(file)
        if known is None or known[0] != _stamp(facts):
            rules = None if stat.S_ISDIR(facts.st_mode) else self._read_rules(self._place(file))
            known = self._rules[file] = (_stamp(facts), rules)
        return known[1]

    def _read_rules(self, place: Path) -> Rules:
        try:
            name = self.below(place) or ""  # the target, if it is a link
            return rules_of(self.content(name, LARGEST_RULES)[0].decode("utf-8", "replace"))
        except Exception:  # not readable, or more than RE2 takes
            return ignore_everything

    def _place(self, name: str) -> Path:
        return self._real.joinpath(*filter(None, name.split("/")))

    @property
    def _real(self) -> Path:
        # No `cached_property`: before Python 3.12 that has a lock, which a process forked meanwhile would inherit as it is.
        if self._found is None:
            self._found = Path(os.path.realpath(self.root or ""))
        return self._found


def ignore_everything(path: str, folder: bool) -> bool | None:
    """The rules of a file that cannot be read."""
    return True


def hash_of(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()[:HASH_LENGTH]


def _named(rules: Iterable[tuple[int, Rules | None]], parts: Sequence[str], n: int, folder: bool) -> bool:
    """Whether the rules exclude the first `n` parts of a path: the nearest rules that mention it decide."""
    is_folder = folder or n < len(parts)
    said = (ignores("/".join(parts[depth:n]), is_folder) for depth, ignores in rules if ignores and depth < n)
    return next((answer for answer in said if answer is not None), False)


def _stamp(facts: os.stat_result) -> _Stamp:
    return facts.st_size, facts.st_mtime_ns, facts.st_ino
