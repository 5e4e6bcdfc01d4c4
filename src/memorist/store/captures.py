"""The transcripts of agents that are read as they grow, and how far each was read.

A hook only notes that a transcript exists; it is read by whoever has time: the next session that starts, a compaction, or
`memorist upkeep`. A transcript that was read to its end stays known, so that its session can go on without its past being read
again. This is one setting of the store per project, so that a transcript goes to the project where its agent worked. The
project is determined by the folder in which a session began: an agent moves to other folders, but what was said in one project
belongs to no other.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields, replace
from datetime import datetime
from hashlib import blake2b
from pathlib import Path

from memorist.errors import StoreDamaged
from memorist.lazy import dataclass
from memorist.store.files import path_read, path_written
from memorist.store.nouns import Commit
from memorist.store.protocol import Store
from memorist.store.where import canonical

OUT = "yes"
TOLD_OUT = "hooks say and keep nothing in this project; `memorist on --here` takes it in again"
MOST_CAPTURES = 500  # of a project; beyond that, the oldest ones that were read to their end are dropped, and no others
MARKED = 1024  # bytes before the position up to which a transcript was read
MOST_SESSIONS = 1000  # sessions whose folder is remembered; the oldest are dropped


@dataclass(frozen=True, slots=True)
class Capture:
    """One transcript: its agent and session, and how many of its bytes were read."""

    client: str
    session: str
    path: Path
    read: int = 0
    ended: bool = False  # the session is over, and is closed once everything was read
    since: str | None = None  # when it was forked or resumed without known past, if it was
    closed: bool = False  # everything was read, and the session closed
    counted: int = 0  # number of the last turn whose use of what the session was told has been counted
    asked: Sequence[str] = ()  # ids of calls of our own tools whose answers are not read yet
    last: str | None = None  # short digest of what was read last; if it differs, the file was rewritten

    @property
    def goes_on_at(self) -> int:
        """Where to continue reading; the beginning, if the file was rewritten since."""
        return self.read if self.last in (None, mark(self.path, self.read)) else 0

    @property
    def at_its_end(self) -> bool:
        """Whether nothing is left to read, as far as can be seen."""
        try:
            return self.closed or self.path.stat().st_size <= self.read
        except OSError:
            return True


def mark(path: Path, read: int) -> str | None:
    """A digest of what precedes this position of a transcript, to notice if it was rewritten; too short to verify guesses by."""
    with suppress(OSError):
        if read and path.is_file():
            with path.open("rb") as file:
                file.seek(max(0, read - MARKED))
                return blake2b(file.read(min(read, MARKED)), digest_size=4).hexdigest()
    return None


@dataclass(frozen=True, slots=True)
class Began:
    """The folder in which a session began, and when its agent last forgot what it was told by compacting its conversation."""

    folder: Path
    forgot: str | None = None


def known(store: Store, space: str, home: str) -> list[Capture]:
    """The transcripts of that project, in the order in which they were noted."""
    said = store.setting(_name(space, home))
    try:
        return [Capture(**{**each, "path": path_read(each["path"])}) for each in json.loads(said or "[]")]
    except (ValueError, TypeError, KeyError) as problem:
        raise StoreDamaged(f"which transcripts are read cannot be told ({problem}); restore a backup") from problem


def note(capture: Capture, store: Store, space: str, home: str) -> None:
    """Stores it, replacing what was known of that session; inside a transaction of the writer."""
    others = [each for each in known(store, space, home) if each.session != capture.session]
    too_many = len(others) + 1 - MOST_CAPTURES
    ends = [each for each in others if each.at_its_end][:too_many] if too_many > 0 else []
    _keep([*(each for each in others if each not in ends), capture], store, space, home)


def forget(session: str, store: Store, space: str, home: str) -> None:
    """Removes it from the list; inside a transaction of the writer."""
    _keep([each for each in known(store, space, home) if each.session != session], store, space, home)


def began(client: str, session: str, store: Store, space: str) -> Began | None:
    """What is known about the beginning of that session."""
    found = _began(store, space).get(f"{client} {session}")
    return None if found is None else Began(path_read(found[0]), found[1])


def begin(client: str, session: str, about: Began, store: Store, space: str) -> None:
    """Stores how that session began, replacing what was known of it; inside a transaction of the writer."""
    written = (path_written(about.folder), about.forgot)
    latest = [*{**_began(store, space), f"{client} {session}": written}.items()][-MOST_SESSIONS:]
    store.write(Commit(settings={_sessions(space): json.dumps(dict(latest))}))  # in the order in which they were added


def left_out(store: Store, space: str, home: str) -> bool:
    """Whether hooks say nothing in that project and keep nothing of its agents."""
    return store.setting(_left_out(space, home)) == OUT


def taken_in(store: Store, space: str, home: str) -> str | None:
    """When that project was included again, if it was ever left out; nothing from before is kept."""
    said = store.setting(_left_out(space, home))
    return said if said != OUT else None


def leave_out(out: bool, now: datetime, store: Store, space: str, home: str) -> None:
    """Leaves that project out, or includes it again and then skips what was said meanwhile; inside a transaction of the
    writer."""
    if out == left_out(store, space, home):
        return
    store.write(Commit(settings={_left_out(space, home): OUT if out else now.isoformat()}))
    if not out:
        _keep([_passed_over(each) for each in known(store, space, home)], store, space, home)


def take_along(old: str, new: str, store: Store, space: str) -> None:
    """When a project gets another name, it stays left out and its transcripts stay known; inside a transaction of the writer.
    The old name keeps both as well, because an undo returns to it."""
    if left_out(store, space, old):
        store.write(Commit(settings={_left_out(space, new): OUT}))
    there = known(store, space, new)
    come = [each for each in known(store, space, old) if each.session not in {one.session for one in there}]
    if come:
        _keep([*there, *come], store, space, new)


def _passed_over(capture: Capture) -> Capture:
    """As if everything in it had been read."""
    try:
        size = capture.path.stat().st_size
        return replace(capture, read=size, last=mark(capture.path, size))
    except OSError:  # the file is missing, so nothing of it is read
        return capture


def _began(store: Store, space: str) -> dict[str, tuple[str, str | None]]:
    try:
        said = json.loads(store.setting(_sessions(space)) or "{}")
        return {name: (folder, forgot) for name, (folder, forgot) in said.items()}
    except (ValueError, TypeError, AttributeError) as problem:
        raise StoreDamaged(f"where sessions began cannot be told ({problem}); restore a backup") from problem


def _sessions(space: str) -> str:
    return f"sessions of {space}"


def _left_out(space: str, home: str) -> str:
    return f"left out {space} {home}"


def _keep(captures: list[Capture], store: Store, space: str, home: str) -> None:
    names = [field.name for field in fields(Capture)]  # `asdict` would copy every value
    written = [{name: getattr(each, name) for name in names} | {"path": path_written(each.path)} for each in captures]
    store.write(Commit(settings={_name(space, home): canonical(written)}))


def _name(space: str, home: str) -> str:
    return f"transcripts of {space} {home}"
