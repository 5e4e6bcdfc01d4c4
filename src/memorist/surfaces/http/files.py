"""Updates the files of projects after writes that came through the server.

Writers do not wait for this: one thread does it, one project after another. Writes that arrive during a turn cause one
more turn, however many there are. After each turn the thread rests longer than it worked, so that a stream of writes
does not become a stream of files. When the server ends, outstanding files are written at once.
"""

import logging
import threading
import time
from typing import TYPE_CHECKING

from memorist.errors import MemoristError
from memorist.memory import Memory
from memorist.surfaces import settings

if TYPE_CHECKING:
    from memorist.surfaces.http.work import Memories

FILES_REST = 4.0  # the rest after a turn, as a multiple of the turn's duration
LEAST_REST = 0.1  # seconds: a turn with nothing to do is short, and would otherwise follow every write
log = logging.getLogger("memorist")
Place = tuple[str, str]  # a space, and the scope of a project in it


class FilesBehind:
    """The projects whose files are behind the store, and the thread that updates them."""

    def __init__(self, memories: "Memories") -> None:
        self._memories = memories
        self._due: dict[Place, None] = {}  # in the order in which they became due
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._said: dict[Place, str] = {}  # the last problem there, so that each is reported once

    def wrote(self, memory: Memory) -> None:
        """Call after anything that may have written there."""
        with self._changed:
            self._due[memory.space, str(memory.project.scope)] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="memorist-files", daemon=True)
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        """Returns once nothing is due any more. Nobody may write after that."""
        self._closing.set()
        with self._changed:
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _work(self) -> None:
        while (place := self._next()) is not None:
            began = time.monotonic()
            self._follow(place)
            self._closing.wait(max(LEAST_REST, FILES_REST * (time.monotonic() - began)))

    def _next(self) -> Place | None:
        """The next project that is due, or None when there will be none. Its next write makes it due again."""
        with self._changed:
            self._changed.wait_for(lambda: self._due or self._closing.is_set())
            place = next(iter(self._due), None)
            if place is not None:
                del self._due[place]
            return place

    def _follow(self, place: Place) -> None:
        """A failure to write files loses nothing: the memory is stored, and the next write tries again."""
        try:
            with self._memories.kept_by_server(*place) as memory:
                told = _up_to_date(memory)
        except (MemoristError, OSError) as problem:
            told = str(problem)
        except Exception:
            log.exception("the files of %s could not be written", place[1])
            return
        if told and told != self._said.get(place):
            log.warning("the files of %s: %s", place[1], told)
        self._said[place] = told


def _up_to_date(memory: Memory) -> str:
    """Writes what is due, and returns what the user should hear."""
    here = settings.load(memory._here.directory)
    if (here.files_mode or memory.design.files) == "off":
        return ""
    from memorist.files.follow import follow

    done = follow(memory)
    return "; ".join(done.told) if done else ""
