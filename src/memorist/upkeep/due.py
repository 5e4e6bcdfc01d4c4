"""Automatic upkeep: one short slice in the background, when the design's `due` slot says so.

There is no hidden process. A slice is a thread of the program that uses the memory, at most one at a time, for about 50
ms, and no call waits for it. It runs the same short steps as `upkeep`, so being cut off by the end of the program does
no harm, and several programs do not get in each other's way. Failures are logged and shown by `status`.

A night (`night.py`) takes longer. So it waits until nothing has been asked of this process for some minutes, and stops
as soon as something is; the next quiet time continues it. After a night there is none for five minutes. After each
night that fails the pause doubles, up to two hours; it is two hours too when most of a model's daily budget is spent.
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
from memorist.store.tally import is_scarce
from memorist.store.where import Where
from memorist.store.writer import Writer, looked_after

if TYPE_CHECKING:
    from memorist.remember.strengthen import UsedTogether
    from memorist.upkeep.afterwards import Afterwards

SLICE = 0.05  # seconds
REST = 20  # the pause after a slice, as a multiple of its duration, so that even a costly job takes little of the time
CLOSING = 0.2  # seconds that closing waits for the current step
A_MINUTE = 60.0  # seconds of quiet before a night if there are many memories
APART, FARTHEST_APART = 300.0, 7200.0  # seconds between automatic nights: usually, and at most
log = logging.getLogger("memorist")


class Slices:
    """The slices of one open memory, shared by all views of it (`through`)."""

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
        self._called = 0  # calls of `upkeep` in progress
        self._uses = 0
        self._turn = 0  # which job is first: a slow one must not starve the others
        self._rests_until = 0.0
        self._last: datetime | None = None  # last known run; another process may have run since
        self._touched = time.monotonic()  # when this process last had a call
        self._waits: threading.Thread | None = None  # waits for a quiet time
        self._apart, self._no_night_before = APART, 0.0
        self._ended = threading.Event()
        self.problem: str | None = None
        self._after: Afterwards | None = None
        self._asked: tuple[Design, Access] | None = None  # the last caller whose design has consequences to process

    def asked(self, query: Query, answer: Recall, design: Design, who: Access) -> None:
        """Notes a query and its answer for the background, if the design wants that."""
        if _leaves_traces(design, who):
            self._following(design, who).asked(query, answer, self._tools.clock(), design, who)
            self._start(design, who, due=False)

    def together(self, used: "UsedTogether", design: Design, who: Access) -> None:
        if used.ids and _leaves_traces(design, who):
            self._following(design, who).together(used, design, who)
            self._start(design, who, due=False)

    def said(self, turn: Record, design: Design, who: Access) -> None:
        """Notes a turn; after every so many turns the session is read in the background, if the design wants that."""
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
        """Notes a recall or a write, in designs that start upkeep by uses, by hours or by quiet time."""
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
        """The same as text; if it never finished, when an unfinished run was last at work."""
        last = self.last(space)
        if last is not None:
            return last.isoformat(timespec="seconds")
        others = (remember.consent.JOB, "session ", "weighing ")  # questions, leases, and what ends of sessions left
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
        """Blocks slices during a call of `upkeep`: a slice could hold the lease of the very job that was asked for. The
        current slice stops after its step."""
        with self._lock:
            self._called += 1
        try:
            self.join()
            yield
        finally:
            with self._lock:
                self._called -= 1

    def close(self) -> None:
        """Starts no further step. The current step gets a moment to finish and is rolled back if it takes longer. What
        follows the last retrievals is started first."""
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
        """Time since the last run, whether before or after now: a run in the future proves nothing."""
        return timedelta.max if last is None else abs(self._tools.clock() - last)

    def _start(self, design: Design, who: Access, due: bool = True) -> None:
        """Starts a slice: all jobs if they are due, or only what follows the last retrievals."""
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
        """Whether a slice is running or upkeep is resting; following up on retrievals is too little work to rest after."""
        return (self._thread is not None and self._thread.is_alive()) or (due and time.monotonic() < self._rests_until)

    def _stops(self) -> bool:
        return self._closing or self._called > 0

    # ------------------------------------------------------------ nights

    def _wait(self, design: Design, who: Access) -> None:
        """Starts the thread that waits for a quiet time, unless there is one."""
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
        except Exception as problem:  # handled as in a slice
            self._failed(problem)

    def _quiet_at(self, pause: float) -> float:
        return max(self._touched + pause, self._no_night_before)

    def _pause(self, due: Due, who: Access) -> float | None:
        """How many seconds it must be quiet before a night; None if there is nothing new to look at."""
        store = self._tools.store
        known, head = upkeep.night.last(store, who.space).get("head"), store.head()
        if head is None or head.last == known:
            return None
        usual = None if due.idle is None else 60 * due.idle
        if due.above is None or sum(store.count(Where(who).also("state", "eq", "active")).values()) <= due.above:
            return usual
        return A_MINUTE if usual is None else min(usual, A_MINUTE)

    def _night(self, design: Design, who: Access) -> bool:
        """Runs a night. Returns whether this thread can end: the night had the time it needed, or others are at work."""
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
        """Sets the pause before the next night. A night that gave way to a call is continued in the next quiet time."""
        apart = min(FARTHEST_APART, 2 * self._apart)  # in case it fails
        try:
            yield
            apart = APART  # the night succeeded, even if the next line fails
            apart = FARTHEST_APART if is_scarce(self._tools.chat) else APART
        finally:
            self._thread = None  # nobody must wait for this thread while it waits for another quiet time
            if self._touched == begun:
                self._apart, self._no_night_before = apart, time.monotonic() + apart

    def _failed(self, problem: Exception) -> None:
        """Keeps the problem for `status`, unless the program is ending."""
        if not (self._closing and isinstance(problem, StoreUnavailable)):
            self.problem = f"{type(problem).__name__}: {problem}"
            log.warning("upkeep in the background failed: %s", self.problem)

    def _slice(self, run: Callable[..., list[Report]], jobs: tuple[Job, ...] | None, who: Access) -> None:
        """One slice, then further ones for retrievals that came meanwhile: their callers found this thread at work and
        started none."""
        self._once(run, jobs, who)
        while self._goes_on():
            self._once(run, None, who)

    def _goes_on(self) -> bool:
        with self._lock:
            if self._after and not self._stops():
                return True
            self._thread = None  # later calls start another thread
            return False

    def _once(self, run: Callable[..., list[Report]], jobs: tuple[Job, ...] | None, who: Access) -> None:
        """Does what follows the last retrievals, then runs the jobs; if `jobs` is None, only those that became due."""
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
        """Does what follows the last retrievals, then returns the jobs to run; None: none."""
        follows = self._after.catch_up(by, lambda: self._called > 0) if self._after else ()
        return jobs if jobs is not None else follows or None


def _leaves_traces(design: Design, who: Access) -> bool:
    """Whether this caller's queries have consequences: a caller that may not write leaves nothing behind."""
    return design.associates and who.role in WRITERS


def shown(due: Due) -> str:
    """The slot as text."""
    parts = ["on opening"] if due.on_open else []
    parts += [f"every {due.uses:,} uses"] if due.uses is not None else []
    parts += [f"{due.hours:g} hours after the last"] if due.hours is not None else []
    parts += [f"a night after {due.idle:g} quiet minutes"] if due.idle is not None else []
    parts += [f"above {due.above:,} memories after one"] if due.above is not None else []
    return ", ".join(parts) or "when it is called"
