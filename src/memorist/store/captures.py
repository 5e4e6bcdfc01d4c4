"""The transcripts of agents that are read as they grow, each with how far it was read.

A hook only notes that there is one; whoever has time reads it: the next session that starts, a compaction, or `memorist upkeep`.
One that was read to its end stays known, so that its session can go on without its past being read again.
They are settings of the store, one for each project, so that a transcript goes where its agent worked. Which project that is, the
folder says in which a session began: an agent goes into others, and what was said in one project is no other's.
"""

import json
from contextlib import suppress
from dataclasses import asdict, replace
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
MOST_CAPTURES = 500  # of a project; the oldest that were read to their end go, and no others
MARKED = 1024  # bytes before the place up to which a transcript was read
MOST_SESSIONS = 1000  # of which is known where they began; the oldest go


@dataclass(frozen=True, slots=True)
class Capture:
    """One transcript: of which agent and session, and how many bytes of it were read."""

    client: str
    session: str
    path: Path
    read: int = 0
    ended: bool = False  # the session is over, and is to be closed once all of it was read
    since: str | None = None  # of a fork, or of one that was taken up again unknown: when that was
    closed: bool = False  # all of it was read, and its session closed
    counted: int = 0  # the number of the last turn of which was counted what it used of what the session was told
    last: str | None = None  # what was read last, as a short digest; another there says that it was written anew

    @property
    def goes_on_at(self) -> int:
        """Where reading ended; the beginning, if it was written anew since."""
        return self.read if self.last in (None, mark(self.path, self.read)) else 0

    @property
    def at_its_end(self) -> bool:
        """Whether nothing is left to read in it, as far as can be seen."""
        try:
            return self.closed or self.path.stat().st_size <= self.read
        except OSError:
            return True


def mark(path: Path, read: int) -> str | None:
    """What stands before that place of a transcript, which tells whether it was written anew; too short to check guesses by."""
    with suppress(OSError):
        if read and path.is_file():
            with path.open("rb") as file:
                file.seek(max(0, read - MARKED))
                return blake2b(file.read(min(read, MARKED)), digest_size=4).hexdigest()
    return None


@dataclass(frozen=True, slots=True)
class Began:
    """In which folder a session began, and when its agent last forgot what it was told: it compacts its conversation."""

    folder: Path
    forgot: str | None = None


def known(store: Store, space: str, home: str) -> list[Capture]:
    """Those of that project, the one noted first at the front."""
    said = store.setting(_name(space, home))
    try:
        return [Capture(**{**each, "path": path_read(each["path"])}) for each in json.loads(said or "[]")]
    except (ValueError, TypeError, KeyError) as problem:
        raise StoreDamaged(f"which transcripts are read cannot be told ({problem}); restore a backup") from problem


def note(capture: Capture, store: Store, space: str, home: str) -> None:
    """Keeps it, in the place of what was known of that session; inside a transaction of the writer."""
    others = [each for each in known(store, space, home) if each.session != capture.session]
    too_many = len(others) + 1 - MOST_CAPTURES
    ends = [each for each in others if each.at_its_end][:too_many] if too_many > 0 else []
    _keep([*(each for each in others if each not in ends), capture], store, space, home)


def forget(session: str, store: Store, space: str, home: str) -> None:
    """Takes it off the list; inside a transaction of the writer."""
    _keep([each for each in known(store, space, home) if each.session != session], store, space, home)


def began(client: str, session: str, store: Store, space: str) -> Began | None:
    """What is known of that session."""
    found = _began(store, space).get(f"{client} {session}")
    return None if found is None else Began(path_read(found[0]), found[1])


def begin(client: str, session: str, about: Began, store: Store, space: str) -> None:
    """Keeps that, in the place of what was known of that session; inside a transaction of the writer."""
    written = (path_written(about.folder), about.forgot)
    latest = [*{**_began(store, space), f"{client} {session}": written}.items()][-MOST_SESSIONS:]
    store.write(Commit(settings={_sessions(space): json.dumps(dict(latest))}))  # in the order in which they came


def left_out(store: Store, space: str, home: str) -> bool:
    """Whether hooks say nothing in that project, and nothing of its agents is kept."""
    return store.setting(_left_out(space, home)) == OUT


def taken_in(store: Store, space: str, home: str) -> str | None:
    """When that project was taken in again, if it was ever left out: nothing from before that is kept."""
    said = store.setting(_left_out(space, home))
    return said if said != OUT else None


def leave_out(out: bool, now: datetime, store: Store, space: str, home: str) -> None:
    """Leaves that project out, or takes it in again, and then passes over what was said meanwhile; inside a transaction of the
    writer."""
    if out == left_out(store, space, home):
        return
    store.write(Commit(settings={_left_out(space, home): OUT if out else now.isoformat()}))
    if not out:
        _keep([_at_its_end(each) for each in known(store, space, home)], store, space, home)


def take_along(old: str, new: str, store: Store, space: str) -> None:
    """A project that gets another name stays left out, and its transcripts known; inside a transaction of the writer. The old name
    keeps both as well, because an undo goes back to it."""
    if left_out(store, space, old):
        store.write(Commit(settings={_left_out(space, new): OUT}))
    there = known(store, space, new)
    come = [each for each in known(store, space, old) if each.session not in {one.session for one in there}]
    if come:
        _keep([*there, *come], store, space, new)


def _at_its_end(capture: Capture) -> Capture:
    try:
        size = capture.path.stat().st_size
        return replace(capture, read=size, last=mark(capture.path, size))
    except OSError:  # it is not there, and nothing of it is read
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
    written = [{**asdict(each), "path": path_written(each.path)} for each in captures]
    store.write(Commit(settings={_name(space, home): canonical(written)}))


def _name(space: str, home: str) -> str:
    return f"transcripts of {space} {home}"
