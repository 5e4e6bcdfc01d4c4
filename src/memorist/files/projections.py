"""What a file that follows the store is: something that can be written from rows, and cleaned of what was erased.

A projection is made for a `Target`. It reads rows by `readable`, not by the rights of whoever happens to follow or to erase: a
caller who sees one scope only must not make a file lose the others, and one who works in another project must not stop at this
one. It is called under the lock of the folder, and it may be called again for what it has done already.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from memorist.access import Access
from memorist.design import Files
from memorist.memory import Memory
from memorist.store.where import Where

INNER = ".memorist"  # the folder, inside, for what is only ours: the lock, how far the files are, what they were last


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
class Since:
    """The ids of what changed since the files were last written; None: anything may have, and every file is compared."""

    ids: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Wipe:
    """What must not be in any file any more: the memories of these ids as they were, and words that nothing else holds. A
    memory of these ids that still lives is to be written as it is now."""

    ids: frozenset[str]
    traces: tuple[bytes, ...] = ()


class Projection(Protocol):
    """One or more files that follow the rows."""

    @property
    def name(self) -> str:
        """What it is, for people."""

    def files(self) -> Iterable[Path]:
        """Every file of it that is there now, with everything that was put aside or is kept to compare with."""

    def write(self, memory: Memory, since: Since) -> list[str]:
        """Brings the files up to date; what the user should hear of it. An error leaves them due."""

    def erase(self, memory: Memory, wipe: Wipe) -> list[str]:
        """Takes that out of every file of it; what somebody has to look at. An error where a later try may do better."""


Maker = Callable[[Target], Projection]


def readable(memory: Memory, scope: str) -> Where:
    """All that a project may read, in every state."""
    return Where(Access(memory.space, reads=("*", scope), home=scope))
