"""One writer per session: a lease, kept as a run in the store, so that the next writer can see it after a crash.

A lease lasts fifteen minutes, and the writer renews it while writing. After that anyone can take it, and at once if its
holder was a process of this machine that has ended. A writer that finds it taken waits in a queue of at most ten, in
order of arrival, gives up at once (`drop`), or takes it over (`interrupt`); the holder then learns of it at its next
write. In a server, whose threads are few, it waits in short tries instead, and in between leaves the thread but keeps
its place in the queue. The run does not name the session, only a digest of its name: erasing a session must leave no
trace of it.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import field, replace
from datetime import datetime, timedelta
from secrets import token_hex
from typing import NoReturn

from memorist import checks
from memorist.errors import Conflict, StoreUnavailable
from memorist.lazy import dataclass
from memorist.records import from_micros, to_micros
from memorist.remember.changes import Caller
from memorist.store.files import is_of_the_dead, maker
from memorist.store.nouns import Run

LENGTH = timedelta(minutes=15)
RENEWED = timedelta(minutes=1)  # a lease older than this is renewed
MOST_WAITING = 10
FIRST_LOOK, LAST_LOOK = 0.01, 0.25  # seconds between two looks at a taken lease
TRY = 0.25  # seconds that the first of several tries waits; the later ones look once
BUSY = ("queue", "drop", "interrupt")
NOBODY = ""  # the owner of a lease that was given back
RECORD, WAITING = "record", "waiting"  # keys in a run's checkpoint: the id of the session's record, and the queue
Waiting = list[tuple[str, datetime]]  # who waits, and until when
_tries: ContextVar["Tries | None"] = ContextVar("tries", default=None)


class StillHeld(StoreUnavailable):
    """Another writer has the session. Nothing was begun, and there is time for another try."""


class NoPlace(StillHeld):
    """So many wait for the session that there is no place to wait for another try."""


@dataclass(slots=True)
class Tries:
    """One wait in several tries: when it began, by `time.monotonic`, and the places in queues that it keeps between them."""

    since: float = field(default_factory=time.monotonic)
    places: dict[str, "Lease"] = field(default_factory=dict)  # by what is waited for

    def begin(self, lease: "Lease") -> float:
        """Gives a lease the place that an earlier try took. Returns the seconds that this try waits."""
        before = self.places.get(lease.of)
        self.places[lease.of] = lease
        if before is None:
            return TRY
        lease.owner = before.owner
        return 0.0

    def leave(self) -> None:
        """Leaves all queues."""
        while self.places:
            _, lease = self.places.popitem()
            with suppress(StoreUnavailable):  # then the place goes when its time is over
                lease.leave_queue()


@contextmanager
def trying(tries: Tries) -> Iterator[None]:
    """Whoever waits for a lease in here gives up soon, and raises `StillHeld` while the whole wait is not over. Until it
    is, and however else it ends, it keeps its place in the queue."""
    before = _tries.set(tries)
    try:
        yield
    except StillHeld:
        raise
    except BaseException:
        tries.leave()
        raise
    else:
        tries.leave()
    finally:
        _tries.reset(before)


class Lapsed(Conflict):
    """Nobody has the lease: it ran out, or was given back."""


@dataclass(slots=True)
class Lease:
    """The right to write one session."""

    job: str
    called: str  # the session's name in messages
    by: Caller
    owner: str = field(default_factory=lambda: f"{maker()}-{token_hex(8)}")

    @property
    def of(self) -> str:
        """What it is the lease of, in the whole store."""
        return f"{self.by.access.space}/{self.job}"

    def take(self, wait: float, busy: str) -> None:
        """Waits until it is ours; raises `StoreUnavailable` if that does not happen in time."""
        checks.one_of(busy, "busy", BUSY)
        now, tries = time.monotonic(), _tries.get()
        end = (now if tries is None else tries.since) + checks.seconds(wait, "wait")
        until = end if tries is None else min(end, now + tries.begin(self))
        give_up, pause = self.by.now() + timedelta(seconds=end - now), FIRST_LOOK
        while not self._is_next() or not self._claim(busy, give_up):
            left = until - time.monotonic()
            if busy == "drop" or left <= 0:
                self._stop(again=busy == "queue" and until < end)
            time.sleep(min(pause, left))
            pause = min(2 * pause, LAST_LOOK)
        if tries is not None:
            tries.places.pop(self.of)

    def _stop(self, again: bool) -> NoReturn:
        """Stops waiting, and keeps the place only if another try follows."""
        said = f"{self.called} is held by another writer; wait longer, or take it over with busy='interrupt'"
        if again:
            raise StillHeld(said)
        self.leave_queue()
        raise StoreUnavailable(said)

    def hold(self) -> bool:
        """Whether it is still ours, which every write checks; renews it if it is old. False if it expired or was given
        back and nobody has it. Raises `Conflict` if another writer has it."""
        mine, now = current(self.job, self.by), self.by.now()
        if mine is None or mine.owner == NOBODY:
            return False
        if mine.owner != self.owner:
            raise Conflict(f"another writer took {self.called} over; open it again to go on")
        if not now + LENGTH - RENEWED < mine.lease <= now + LENGTH:
            self._renew()
        return True

    def holding(self, by: Caller) -> Caller:
        """The same caller, allowed to write only while the lease is ours. Each transaction checks it, so nobody can
        take over in between."""
        return replace(by, holds=self._must_hold)

    def _must_hold(self) -> None:
        if not self.hold():
            raise Lapsed(f"{self.called} was ended or left meanwhile; open it again to go on")

    def _renew(self) -> None:
        with self.by.writer.transaction():
            mine = current(self.job, self.by)
            if mine is not None and mine.owner == self.owner:
                self._save(replace(mine, lease=self.by.now() + LENGTH))

    def concerns(self, record: str) -> None:
        """Stores the id of the session's record, by which a session that was left open is found."""
        with self.by.writer.transaction():
            mine = current(self.job, self.by)
            if mine is not None and mine.owner == self.owner and mine.checkpoint.get(RECORD) != record:
                self._save(replace(mine, checkpoint={**mine.checkpoint, RECORD: record}))

    def give_back(self, over: bool) -> None:
        """Releases it. `over`: the session has ended; else it counts as left open once the lease would have expired."""
        with self.by.writer.transaction():
            mine = current(self.job, self.by)
            if mine is not None and mine.owner == self.owner:
                now = self.by.now()
                state = "done" if over and not _waiting(mine, now) else "running"
                self._save(replace(mine, owner=NOBODY, state=state, lease=now + LENGTH))

    def _is_next(self) -> bool:
        """Whether claiming it is worth a try. Only reads, so it blocks no writer."""
        known, now = current(self.job, self.by), self.by.now()
        waiting = _waiting(known, now)
        queued = any(owner == self.owner for owner, _ in waiting)
        return not queued or (waiting[0][0] == self.owner and not taken(known, now))

    def _claim(self, busy: str, give_up: datetime) -> bool:
        """Takes it or a place in the queue."""
        with self.by.writer.transaction():
            now = self.by.now()  # read inside the transaction, or another's lease could seem to come from another clock
            fresh = Run(0, self.by.access.space, self.job, "running", NOBODY, now, now, now)
            run = current(self.job, self.by) or fresh
            waiting = _waiting(run, now)
            others = _without(self.owner, waiting)
            first = not waiting or waiting[0][0] == self.owner
            if busy == "interrupt" or (first and not taken(run, now)):
                self._save(_with_queue(replace(run, owner=self.owner, lease=now + LENGTH), others))
                return True
            if busy == "queue" and others == waiting:
                self._join_queue(run, others, give_up)
            return False

    def _join_queue(self, run: Run, others: Waiting, give_up: datetime) -> None:
        if len(others) >= MOST_WAITING:
            full = StoreUnavailable if _tries.get() is None else NoPlace
            raise full(f"{len(others)} writers wait for {self.called} already; try again later")
        self._save(_with_queue(run, [*others, (self.owner, give_up)]))

    def leave_queue(self) -> None:
        now = self.by.now()
        with self.by.writer.transaction():
            run = current(self.job, self.by)
            waiting = _waiting(run, now)
            others = _without(self.owner, waiting)
            if run is not None and others != waiting:
                self._save(_with_queue(run, others))

    def _save(self, run: Run) -> None:
        self.by.writer.save_run(replace(run, updated=self.by.now()))


def current(job: str, by: Caller) -> Run | None:
    """The run that holds this session's lease, unless the session is over."""
    return next(iter(by.store.runs(by.access.space, job, "running", 1)), None)


def taken(run: Run | None, now: datetime) -> bool:
    """Whether somebody holds it. A lease longer than the usual length was made by another clock and does not count."""
    return run is not None and run.owner != NOBODY and lasts(run, now) and not is_of_the_dead(run.owner)


def lasts(run: Run, now: datetime) -> bool:
    """Whether the session was written or left so recently that somebody may come back to it."""
    return now < run.lease <= now + LENGTH


def _without(owner: str, waiting: Waiting) -> Waiting:
    return [each for each in waiting if each[0] != owner]


def _with_queue(run: Run, waiting: Waiting) -> Run:
    queue = {WAITING: [(owner, to_micros(until)) for owner, until in waiting]} if waiting else {}
    return replace(run, checkpoint={**{k: each for k, each in run.checkpoint.items() if k != WAITING}, **queue})


def _waiting(run: Run | None, now: datetime) -> Waiting:
    """Those in the queue who have neither given up nor ended, in order."""
    queue = run.checkpoint.get(WAITING, []) if run is not None else []
    there = [(owner, until) for owner, micros in queue if (until := from_micros(micros)) > now]
    return [each for each in there if not is_of_the_dead(each[0])]
