"""Which of the served projects a call means; its memory is opened when it is first asked for.

The project is the one that was named, else that of the client's folder (its roots), else that of the directory the
server was started in, else `default`. Any other name gets the answer of an empty project: what holds everywhere, and no
hint whether such a project exists. Nothing is written there.

Everything that arrives here is an agent's word, whatever a text claims about itself.
"""

import os
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import anyio
from anyio import to_thread

from memorist.access import family_of
from memorist.errors import Invalid
from memorist.memory import Memory
from memorist.project import resolve_project
from memorist.remember.authority import least
from memorist.surfaces.http.guard import Visitor
from memorist.surfaces.http.work import Memories
from memorist.text.visible import quoted

MOST_OPEN = 16  # memories that stay open
CALLS_AT_ONCE = {"reading": 8, "writing": 2, "waiting": 4, "long": 1}  # per lane; no lane waits for another
SURFACE = "mcp"
NOWHERE = f"unserved-{secrets.token_hex(8)}"  # a project that has nothing, and gets nothing


@dataclass(frozen=True, slots=True)
class Served:
    """The memory of a call, and the name its answer gives the project. `real` is false if this server has no such
    project: then nothing is written, and the answer replaces the memory's own name by the one that was asked for."""

    memory: Memory
    name: str
    real: bool = True

    def renamed(self, said: str) -> str:
        """A text of the engine, with the project under the name that was asked for."""
        return said if self.real else said.replace(self.memory.project.name, self.name)


class Places(Protocol):
    """Where calls are answered: the projects of one server, and the threads that do its work."""

    @property
    def wants_folder(self) -> bool:
        """Whether the client's folder decides the project, because nothing else has named one."""
        ...

    def settle(self, folder: Path | None) -> None:
        """Sets the client's folder. Called once, before the first call is answered."""
        ...

    def served(self, asked: Any, request: Any) -> Any:
        """The project that is meant, open within a context."""
        ...

    async def do(self, work: Callable[[], Any], lane: str) -> Any:
        """Runs it in a thread of that lane."""
        ...


class Projects:
    """The projects of a server for one client, on one store."""

    def __init__(
        self,
        db: str | None = None,
        space: str | None = None,
        names: Sequence[str] = (),
        every: bool = False,
        reader: bool = False,
    ) -> None:
        self._db, self._space, self._every, self._reader = db, space, every, reader
        self._names = {str(resolve_project(name, None).scope) for name in names}
        self._first = names[0] if names else None
        self._lock = threading.Lock()
        self._memories: Memories | None = None
        self._lanes = {lane: anyio.CapacityLimiter(most) for lane, most in CALLS_AT_ONCE.items()}

    @property
    def wants_folder(self) -> bool:
        return self._first is None and self._db is None and self._memories is None

    def settle(self, folder: Path | None) -> None:
        """Changes to the client's folder, once: relative names and settings are then those of that folder."""
        with self._lock:
            if folder is not None and self.wants_folder and folder.is_dir():
                os.chdir(folder)

    @contextmanager
    def served(self, asked: Any, request: Any = None) -> Iterator[Served]:
        opened = self._opened()
        scope = scope_asked(asked, opened.usual)
        real = self._every or scope in (opened.usual, *self._names)
        with opened.seen_by(Visitor(""), scope if real else NOWHERE) as memory:
            yield seen(memory, scope, real, self._reader)

    async def do(self, work: Callable[[], Any], lane: str) -> Any:
        return await to_thread.run_sync(work, limiter=self._lanes[lane])

    def close(self) -> None:
        with self._lock:
            if self._memories is not None:
                self._memories.close()
                self._memories = None

    def _opened(self) -> Memories:
        with self._lock:
            if self._memories is None:
                self._memories = Memories(self._db, self._first, self._space, MOST_OPEN)
            return self._memories


def scope_asked(asked: Any, usual: str) -> str:
    """The scope of the project that a call names, in any of its spellings; the usual one if it names none."""
    if asked is None or asked in (usual, usual.removeprefix("project/")):
        return usual
    if not isinstance(asked, str):
        raise Invalid(f"project must be the name of a project, not {quoted(asked)}")
    return str(resolve_project(asked, None).scope)


def seen(memory: Memory, scope: str, real: bool, reader: bool) -> Served:
    """The memory with an agent's rights: read-only if told so, or if there is no such project, whose rights are those of
    the visitor without any project. Its word counts as an agent's or less, whatever its key says, because a model wrote
    it."""
    who = replace(memory.access, surface=SURFACE, origin=least(memory.access.origin, "agent"))
    if reader or not real:
        who = replace(who, role="skill" if who.role == "skill" else "reader", writes=())
    if not real:  # from what it may read anyway, so that no name of a project shows it more
        others = tuple(each for each in who.reads if family_of(each) != "project")
        who = replace(who, reads=(*others, memory.project.scope) if others else ())
    return Served(memory.through(who), scope.removeprefix("project/"), real)
