"""Automatic upkeep: one short slice in the background, when the design's `due` slot says so.

There is no hidden process: a slice is a thread of the program that uses the memory, at most one at a time, for about 50 ms,
and no call waits for it. It runs the same short steps as `upkeep`, so being cut off by the end of the program costs nothing,
and several programs do not get in each other's way. A failure is logged and shown by `status`.

A night (`night.py`) takes longer, so it waits until this process has not been asked for anything for some minutes, and makes way as
soon as it is: the next quiet time goes on with it. After one there is none for five minutes; after each that failed twice as long
as before, up to two hours, and so long too when most of what a model may cost in a day is spent.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from memorist import remember, upkeep
from memorist.access import WRITERS, Access
from memorist.design import Design, Due, Job, Tools
from memorist.errors import StoreUnavailable
from memorist.recall.pipeline import Query
from memorist.records import Recall, Record, Report, from_micros
from memorist.store.where import Where
from memorist.store.writer import Writer, looked_after

if TYPE_CHECKING:
    from memorist.remember.strengthen import UsedTogether
    from memorist.upkeep.afterwards import Afterwards

SLICE = 0.05  # seconds
REST = 20  # the pause after a slice is so many times its duration: whatever a job costs, it is a small part of the time
CLOSING = 0.2  # seconds that closing waits for the current step
A_MINUTE = 60.0  # that is enough for a night where there are many memories
APART, FARTHEST_APART = 300.0, 7200.0  # seconds between two nights that begin by themselves
log = logging.getLogger("memorist")


class Slices:
    """The slices of one open memory. Every view of it (`through`) shares them."""

    def __init__(
        self, tools: Tools, writer: Writer, off: Callable[[], str | None], told: Callable[[Report], object]
    ) -> None:
        self._tools = tools
        self._writer = writer
        self._off = off
        self._told = told
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closing = False
        self._called = 0  # how many calls of `upkeep` are at work
        self._uses = 0
        self._turn = 0  # which job is first: one that takes all the time must not starve the others
        self._rests_until = 0.0
        self._last: datetime | None = None  # last known run; another process may have run since
        self._touched = time.monotonic()  # when this process was last asked for something
        self._waits: threading.Thread | None = None  # for a quiet time
        self._apart, self._no_night_before = APART, 0.0
        self._ended = threading.Event()
        self.problem: str | None = None
        self._after: Afterwards | None = None
        self._asked: tuple[Design, Access] | None = None  # who last asked under a design that wants to know

    def asked(self, query: Query, answer: Recall, design: Design, who: Access) -> None:
        """A question was answered; where the design wants it, that has consequences, in the background."""
        if _leaves_traces(design, who):
            self._following(design, who).asked(query, answer, self._tools.clock(), design, who)
            self._start(design, who, due=False)

    def together(self, used: "UsedTogether", design: Design, who: Access) -> None:
        if used.ids and _leaves_traces(design, who):
            self._following(design, who).together(used, design, who)
            self._start(design, who, due=False)

    def said(self, turn: Record, design: Design, who: Access) -> None:
        """Something was said in a session; after every so many turns it is read, where the design wants it."""
        every = design.promotion.every
        if every is None or who.role not in WRITERS:
            return
        try:
            with self._lock:
                ready = self._following(design, who).said(turn, every, design, self._caller(who))
        except StoreUnavailable as problem:  # the turn itself is stored
            self._failed(problem)
            return
        if ready:
            self._start(design, who, due=False)

    def _following(self, design: Design, who: Access) -> "Afterwards":
        self._asked = design, who
        self._after = self._after if self._after is not None else upkeep.afterwards.Afterwards()
        return self._after

    def _caller(self, who: Access) -> remember.changes.Caller:
        return remember.changes.Caller(who, self._writer, self._tools)

    def opened(self, design: Design, who: Access) -> None:
        if design.due.on_open or self._is_old(design.due, who):
            self._start(design, who)

    def used(self, design: Design, who: Access) -> None:
        """Something was recalled or written, and the design counts uses or hours."""
        due = design.due
        with self._lock:
            self._uses += 1
            self._touched = time.monotonic()
            often = due.uses is not None and self._uses >= due.uses
        if often or self._is_old(due, who):
            self._start(design, who)
        if due.idle is not None or due.above is not None:
            self._wait(design, who)

    def last(self, space: str) -> datetime | None:
        """When upkeep last finished all jobs, in any process."""
        said = self._tools.store.setting(looked_after(space))
        return from_micros(int(said)) if said and said.removeprefix("-").isdecimal() else None

    def told(self, space: str) -> str:
        """The same in words; before that, when a run was at work that has not come to its end."""
        last = self.last(space)
        if last is not None:
            return last.isoformat(timespec="seconds")
        others = (remember.consent.JOB, "session ")  # questions, and the leases of sessions
        runs = (run for run in self._tools.store.runs(space) if not run.job.startswith(others))
        begun = max((run.updated for run in runs), default=None)
        return "never" if begun is None else f"{begun.isoformat(timespec='seconds')}, not finished yet"

    def join(self, seconds: float | None = None) -> None:
        """Waits until no slice is running."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(seconds)

    @contextmanager
    def make_way(self) -> Iterator[None]:
        """While upkeep is called for there are no slices: one would hold the lease of the very job that was asked for. The
        current one ends after its step."""
        with self._lock:
            self._called += 1
        try:
            self.join()
            yield
        finally:
            with self._lock:
                self._called -= 1

    def close(self) -> None:
        """Starts no further step. The current one gets a moment to finish; if it takes longer, it is rolled back. What follows the
        last retrievals is begun before."""
        if self._after and self._asked:
            self._start(*self._asked, due=False)
        self._closing = True
        self._ended.set()
        self.join(CLOSING)

    def _is_old(self, due: Due, who: Access) -> bool:
        if due.hours is None:
            return False
        if self._age(self._last) < timedelta(hours=due.hours):
            return False
        self._last = self.last(who.space)
        return self._age(self._last) >= timedelta(hours=due.hours)

    def _age(self, last: datetime | None) -> timedelta:
        """Time since the last run, in either direction: a run in the future proves nothing."""
        return timedelta.max if last is None else abs(self._tools.clock() - last)

    def _start(self, design: Design, who: Access, due: bool = True) -> None:
        """Begins a slice: of all jobs that are due, or only of what follows the last retrievals."""
        if self._may_not_work(who):
            return
        with self._lock:
            if self._stops() or self._is_busy(due):
                return
            jobs, run = upkeep.runner.jobs_of(design), upkeep.runner.run  # loaded here: imports would use up the slice
            jobs = jobs[self._turn :] + jobs[: self._turn]
            if due:
                self._turn = (self._turn + 1) % max(1, len(jobs))
                self._uses = 0
            self._thread = self._begun("upkeep", self._slice, run, jobs if due else None, who)

    def _may_not_work(self, who: Access) -> bool:
        return bool(self._off()) or not self._tools.store.writable or who.role not in WRITERS

    def _begun(self, name: str, work: Callable[..., None], *given: object) -> threading.Thread | None:
        thread = threading.Thread(target=work, args=given, name=f"memorist {name}", daemon=True)
        try:
            thread.start()
        except RuntimeError as problem:  # the program is ending, or has no threads left
            self.problem = str(problem)
            return None
        return thread

    def _is_busy(self, due: bool) -> bool:
        """Whether a slice is at work, or upkeep rests; what follows a retrieval is too little to rest after."""
        return (self._thread is not None and self._thread.is_alive()) or (due and time.monotonic() < self._rests_until)

    def _stops(self) -> bool:
        return self._closing or self._called > 0

    # ------------------------------------------------------------ nights

    def _wait(self, design: Design, who: Access) -> None:
        """Lets one thread wait until it is quiet, if none does."""
        if self._may_not_work(who):
            return
        with self._lock:
            if not self._stops() and (self._waits is None or not self._waits.is_alive()):
                self._waits = self._begun("night", self._when_quiet, design, who)

    def _when_quiet(self, design: Design, who: Access) -> None:
        try:
            pause = self._pause(design.due, who)
            while pause is not None and not self._ended.wait(max(0.0, self._quiet_at(pause) - time.monotonic())):
                if time.monotonic() >= self._quiet_at(pause) and self._night(design, who):
                    return
        except Exception as problem:  # as in a slice
            self._failed(problem)

    def _quiet_at(self, pause: float) -> float:
        return max(self._touched + pause, self._no_night_before)

    def _pause(self, due: Due, who: Access) -> float | None:
        """How long it must be quiet, in seconds; None where there is nothing new to be looked at."""
        store = self._tools.store
        known, head = upkeep.night.last(store, who.space).get("head"), store.head()
        if head is None or head.last == known:
            return None
        usual = None if due.idle is None else 60 * due.idle
        if due.above is None or sum(store.count(Where(who).also("state", "eq", "active")).values()) <= due.above:
            return usual
        return A_MINUTE if usual is None else min(usual, A_MINUTE)

    def _night(self, design: Design, who: Access) -> bool:
        """Whether nothing is left for this thread to wait for: it had the time it needed, or others are at work."""
        with self._lock:
            if self._stops() or (self._thread is not None and self._thread.is_alive()):
                return True
            self._thread = threading.current_thread()  # so that `upkeep` waits for it
        begun = self._touched
        with self._nights_apart(begun):
            done = upkeep.night.sleep(design, self._caller(who), stop=lambda: self._stops() or self._touched != begun)
            self.problem = None
            for report in done:
                self._told(report)
        return self._stops() or self._touched == begun

    @contextmanager
    def _nights_apart(self, begun: float) -> Iterator[None]:
        """Says how long there is no other one after this; one that made way goes on in the next quiet time."""
        apart = min(FARTHEST_APART, 2 * self._apart)  # if it fails
        try:
            yield
            apart = APART  # it was a good one, whatever comes of the next question
            apart = FARTHEST_APART if self._tools.chat.scarce else APART
        finally:
            self._thread = None  # while this thread waits for another quiet time, nobody has to wait for it
            if self._touched == begun:
                self._apart, self._no_night_before = apart, time.monotonic() + apart

    def _failed(self, problem: Exception) -> None:
        """Kept for `status`, unless the program is ending."""
        if not (self._closing and isinstance(problem, StoreUnavailable)):
            self.problem = f"{type(problem).__name__}: {problem}"
            log.warning("upkeep in the background failed: %s", self.problem)

    def _slice(self, run: Callable[..., list[Report]], jobs: tuple[Job, ...] | None, who: Access) -> None:
        """One slice, and another for what came meanwhile of retrievals: whoever brought it found this thread at work."""
        self._once(run, jobs, who)
        while self._goes_on():
            self._once(run, None, who)

    def _goes_on(self) -> bool:
        with self._lock:
            if self._after and not self._stops():
                return True
            self._thread = None  # from now on another thread is begun
            return False

    def _once(self, run: Callable[..., list[Report]], jobs: tuple[Job, ...] | None, who: Access) -> None:
        """What follows the last retrievals, and then the jobs; None: those that it makes due."""
        begun, caller = time.monotonic(), self._caller(who)
        try:
            wanted = self._wanted(jobs, caller)
            for report in [] if wanted is None else run(wanted, caller, seconds=SLICE, stop=self._stops):
                self._told(report)
            self.problem = None
        except Exception as problem:  # a job may be foreign code, and its error would be lost in this thread
            self._failed(problem)
        finally:
            if jobs is not None:
                self._rests_until = time.monotonic() + REST * (time.monotonic() - begun)

    def _wanted(self, jobs: tuple[Job, ...] | None, by: remember.changes.Caller) -> tuple[Job, ...] | None:
        """The jobs to run, once what follows the last retrievals is done; None: none at all."""
        follows = self._after.catch_up(by, lambda: self._called > 0) if self._after else ()
        return jobs if jobs is not None else follows or None


def _leaves_traces(design: Design, who: Access) -> bool:
    """Whether anything follows what this caller asks: who may not write leaves nothing behind."""
    return design.associates and who.role in WRITERS


def shown(due: Due) -> str:
    """The slot in words."""
    parts = ["on opening"] if due.on_open else []
    parts += [f"every {due.uses:,} uses"] if due.uses is not None else []
    parts += [f"{due.hours:g} hours after the last"] if due.hours is not None else []
    parts += [f"a night after {due.idle:g} quiet minutes"] if due.idle is not None else []
    parts += [f"above {due.above:,} memories after one"] if due.above is not None else []
    return ", ".join(parts) or "when it is called"
