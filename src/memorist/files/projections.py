"""The definition of a file that follows the store: it can be written from rows, and cleaned of what was erased.

A projection is made for a `Target`. It reads rows by `rows_of`, not by the rights of whoever happens to follow or to
erase: a caller who sees one scope only must not make a file lose the others, and one who works in another project must
not be limited to that. It is called under the lock of the folder, and may be called again for what it has already done.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from memorist.access import Access
from memorist.design import Files
from memorist.errors import Invalid, unavailable
from memorist.memory import Memory
from memorist.store.files import BINARY, NO_LINK, replace_private
from memorist.store.where import Where
from memorist.text.visible import visible

INNER = ".memorist"  # the inner folder for our own state: the lock, how far the files are, their last contents
Changed = (
    Sequence[str] | None
)  # ids changed since the files were last written; None: any may have, and every file is compared


@dataclass(frozen=True, slots=True)
class Target:
    """Where the files of a project go."""

    folder: Path
    scope: str  # the project
    mode: Files = "export"

    @property
    def own(self) -> Path:
        return self.folder / INNER


@dataclass(frozen=True, slots=True)
class Wipe:
    """What no file may contain any more: the memories of these ids as they were, and words that nothing else has. A
    memory of these ids that still lives is written as it is now."""

    ids: frozenset[str]
    traces: tuple[bytes, ...] = ()


class Projection(Protocol):
    """One or more files that follow the rows."""

    @property
    def name(self) -> str:
        """Its name, for people."""

    def files(self) -> Iterable[Path]:
        """All of its existing files, including everything put aside or kept for comparison."""

    def write(self, memory: Memory, changed: Changed) -> list[str]:
        """Updates the files; returns what the user should hear. An error leaves them due."""

    def erase(self, memory: Memory, wipe: Wipe) -> list[str]:
        """Takes that out of all of its files; returns what somebody has to look at. Raises if a later try may succeed."""


Maker = Callable[[Target], Projection]


@dataclass(frozen=True, slots=True)
class Rendered:
    """One file that is written whole, by a function of the rows: from the memory and the project to its bytes, or to
    None if there is nothing to write."""

    target: Target
    name: str  # of the file
    render: Callable[[Memory, str], bytes]

    def files(self) -> Iterator[Path]:
        if self._file.exists():
            yield self._file

    def write(self, memory: Memory, changed: Changed) -> list[str]:
        """Replaces the file if its content changes; removes it if there is nothing to write."""
        now, there = self.render(memory, self.target.scope), self._file.exists()
        if there and not now:
            self._file.unlink()
        elif now and not (there and content(self._file) == now):
            replace_private(self._file, now.decode(), durable=False)  # it can be made again
        return []

    def erase(self, memory: Memory, wipe: Wipe) -> list[str]:
        """Written anew, the file has only what the rows have."""
        return self.write(memory, None) if self._file.exists() else []

    @property
    def _file(self) -> Path:
        return self.target.folder / self.name


def rows_of(memory: Memory, scope: str) -> Where:
    """All that a project may read, in every state."""
    return Where(Access(memory.space, reads=("*", scope), home=scope))


# ---------------------------------------------------------------- files that others may have put there


def opened(path: Path, flags: int) -> BinaryIO:
    """Opens a regular file, never through a link: whoever may write in the folder must not redirect us."""
    if path.is_symlink():
        raise _not_ours(path)
    try:
        file = os.open(path, flags | BINARY | NO_LINK, 0o600)
    except FileNotFoundError as problem:
        raise Invalid(f"there is no file {visible(str(path))}") from problem
    except OSError as problem:
        if problem.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise _not_ours(path) from problem
        raise unavailable(problem, visible(path.name)) from problem
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise _not_ours(path)
    return os.fdopen(file, "r+b" if flags & os.O_RDWR else "rb", buffering=0 if flags & os.O_RDWR else -1)


def content(path: Path) -> bytes:
    with opened(path, os.O_RDONLY) as file:
        return file.read()


def _not_ours(path: Path) -> Invalid:
    return Invalid(f"{visible(str(path))} is a link or no regular file, and is left alone; move it away")


def must_be_no_link(folder: Path) -> None:
    """A link in place of our folder would send stored words elsewhere."""
    if folder.is_symlink():
        raise Invalid(
            f"{visible(str(folder))} is a link, and is left alone; move it away, or name another files.folder"
        )
