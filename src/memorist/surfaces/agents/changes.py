"""A change of one file of somebody else: as it is planned, as it is shown, and made.

Content is read and replaced whole (`files/whole.py`). A tool server may be added by the agent's own command instead
(docs/why/0060-in-the-settings-of-others.md).
"""

import os
import shlex
import stat
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path
from typing import Any, Protocol

from memorist.errors import MemoristError, Refused, StoreUnavailable
from memorist.files import whole
from memorist.lazy import dataclass
from memorist.surfaces.agents import splice, tables

WAIT_FOR_PROGRAM = 30.0  # seconds for a program of an agent
EMPTY = "{}\n"
LONGEST_SHOWN, AROUND = 500, 40  # characters of a line that is shown whole, and around a change in a longer one
LARGEST_SETTINGS = 256_000_000  # bytes: Claude Code keeps conversations in its settings; some have 65 MB of them


class Editor(Protocol):
    """A module that changes somebody else's file in one place."""

    def read(self, text: str, file: Path, /) -> Any: ...
    def put(self, text: str, path: Sequence[str], value: Any, file: Path, /) -> str: ...
    def swap(self, text: str, path: Sequence[str], value: Any, file: Path, /) -> str: ...
    def take(self, text: str, path: Sequence[str], file: Path, /) -> str: ...


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
            return [f"$ {shlex.join(self.command)}"]
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


# ---------------------------------------------------------------- files


def real_file(file: Path, project: Path | None) -> Path:
    """The real file behind the name. A user's own links are followed; those of a project only inside it, because it may
    be cloned."""
    real = Path(os.path.realpath(file))
    if project is not None and not real.is_relative_to(os.path.realpath(project)):
        raise Refused(
            f"{file} leads to {real}, outside of the project; replace that link with a file, or leave --project out"
        )
    return real


def content_of(file: Path) -> bytes | None:
    return whole.read(file, LARGEST_SETTINGS)


def text_after(change: FileChange) -> str:
    return text_in(change.after, change.file)


def text_in(content: bytes | None, file: Path) -> str:
    """The text of such a file. Without one, or in a blank one, there are no settings."""
    text = whole.text_of(content or b"", file)
    return text if text.strip() or is_toml(file) else EMPTY


def is_toml(file: Path) -> bool:
    return file.suffix == ".toml"


def editor_of(file: Path) -> Editor:
    return tables if is_toml(file) else splice


def is_read_only(file: Path) -> bool:
    return not stat.S_IMODE(file.stat().st_mode) & 0o222


# ---------------------------------------------------------------- making it


def carried_out(change: FileChange) -> FileChange | None:
    """The change as it was made; None if the file has changed by now."""
    if change.command is not None:
        return _run(change)
    if change.after is None:
        if content_of(change.file) != change.before:
            return None
        change.file.unlink()
        return change
    made = replace(change, folders=(*change.folders, *_make_folder(change.file)))
    return made if whole.put(change.file, change.after, change.before, LARGEST_SETTINGS) else None


def _make_folder(file: Path) -> list[str]:
    """→ the folders that were not there, the outermost first"""
    missing = [str(folder) for folder in reversed(file.parents) if not folder.exists()]
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise Refused(f"{file.parent} cannot be made ({problem.strerror}); make it, then try again") from problem
    return missing


def _run(change: FileChange) -> FileChange:
    """Lets the agent's own command make the change, and checks that the file has changed."""
    words = change.command or ()
    said = f"`{shlex.join(words)}`"
    try:
        done = subprocess.run(words, capture_output=True, timeout=WAIT_FOR_PROGRAM, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise StoreUnavailable(f"{said} could not be run ({problem}); run it yourself") from problem
    if done.returncode:
        told = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        raise StoreUnavailable(f"{said} failed ({told[-1][:200] if told else done.returncode}); run it yourself")
    after = content_of(change.file)
    if after == change.before:
        raise StoreUnavailable(f"{said} ended well and left {change.file} as it was; add the server there yourself")
    return replace(change, after=after)
