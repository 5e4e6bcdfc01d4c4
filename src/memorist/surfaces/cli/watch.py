"""Commands that stay in the foreground until they are stopped.

    memorist upkeep --watch "0 4 * * *"    upkeep at the times of a cron line; between two runs nothing is held open
    memorist log --follow                  the journal and the recall log, as they grow, whichever process writes

They are programs like any other, started and stopped by their user: there is no hidden process. SIGINT and SIGTERM end
them after the current step, and the next upkeep goes on from there.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from memorist import checks
from memorist.errors import MemoristError
from memorist.recall.lookup import Wanted
from memorist.records import Event
from memorist.remember.edit import is_told_to
from memorist.store.nouns import Receipt
from memorist.store.where import Where
from memorist.store.writer import RECEIPTS_AT_MOST
from memorist.surfaces import settings
from memorist.surfaces.cli import show
from memorist.surfaces.cli.screen import aside, one_line
from memorist.surfaces.cli.verbs import Place, opened, read_transcripts
from memorist.upkeep import cron
from memorist.upkeep.runner import LATER

if TYPE_CHECKING:
    from memorist.memory import Memory

AT_FOUR = "0 4 * * *"
LOOK = 30.0  # seconds between two looks at the clock, which may be set meanwhile, or have slept
A_SECOND = 1.0  # seconds between two checks of the journal
MOST_AT_ONCE = 1_000_000  # events of one check: as many as `log` returns, because older ones would be lost
LINES_AT_ONCE = 200  # of the recall log; doubled as long as all of them are new
RECALLED = "recalled"  # the verb of a line of the recall log, for --verb
PIECE = 1.0  # seconds of upkeep between two checks whether to stop
Wait = Callable[[float], bool]  # waits so many seconds; True as soon as it is time to stop


def upkeep(place: Place, arguments: dict[str, Any]) -> int:
    schedule = cron.parse(arguments.pop("watch") or settings.load().prune_schedule or AT_FOUR, "--watch")
    with _until_stopped() as stop:
        first = schedule.after(datetime.now(UTC))
        aside(f"upkeep at {schedule.text} (UTC), next {first:%Y-%m-%d %H:%M}; stop with Ctrl-C")
        for _ in times(schedule, lambda: datetime.now(UTC), stop.wait):
            _try(place, arguments, stop)
    return 0


@contextmanager
def _until_stopped() -> Iterator[threading.Event]:
    """An event that Ctrl-C or SIGTERM sets."""
    stop = threading.Event()
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def follow(place: Place, arguments: dict[str, Any]) -> int:
    """Shows the matching events, then every second the new ones and new questions; with JSON one per line."""
    screen = replace(place.screen, terminal=False)  # a table gets its widths from all of its rows
    asked = arguments | ({"scope": place.scope} if place.scope else {})
    with _until_stopped() as stop, opened(place, narrowed=False) as memory:
        wanted, recalls = dict(asked), Recalls.of(memory, asked)
        while not stop.is_set():
            head = memory._tools.store.head()  # before the events, so that none that arrives meanwhile is left out
            events = memory.log(**wanted)
            for shown in events if screen.json else filter(None, [events]):
                show.show(show.Result("log", shown, memory, asked), screen)
            for line in recalls.new():
                show.show(show.Result(RECALLED, line, memory, asked), screen)
            sys.stdout.flush()
            known = max(wanted.get("after", 0), head.last if head else 0, *(event.seq for event in events))
            wanted = {**asked, "after": known, "limit": MOST_AT_ONCE}
            stop.wait(A_SECOND)
    return 0


@dataclass(slots=True)
class Recalls:
    """The recall log of this project, as it grows. While somebody watches it, every process writes its questions there
    at once (`store/writer.py`)."""

    memory: "Memory"
    wanted: Wanted
    about: str | None = None  # the id of a memory that must have been shown
    known: dict[str, None] = field(default_factory=dict)  # lines already read, as many as the log may hold

    @classmethod
    def of(cls, memory: "Memory", asked: Mapping[str, Any]) -> "Recalls":
        """Starts now, with the lines that match the arguments of `log`."""
        since, until = (checks.moment(asked.get(name), name) for name in ("since", "until"))
        verbs, scope = tuple(asked.get("verbs", ())), asked.get("scope")
        about = None if asked.get("id") is None else memory.get(asked["id"]).id
        found = cls(memory, Wanted(since, until, asked.get("actor"), asked.get("surface"), verbs, scope), about)
        found.new()
        return found

    def new(self) -> list[dict[str, Any]]:
        """The lines since the last check, oldest first, as far as this access may read their content."""
        self.memory._writer.audience.listen()
        lines = self._latest()
        came = [line for line in reversed(lines) if line.id not in self.known]
        self.known = dict(islice(dict.fromkeys([*(line.id for line in lines), *self.known]).items(), RECEIPTS_AT_MOST))
        return [_told(line) for line in came if self._fits(line) and self._may_be_told(line)]

    def _fits(self, line: Receipt) -> bool:
        event = Event(RECALLED, "", line.at, line.actor, line.surface, "")
        return self.wanted.fits(event, (line.home or "", None)) and self.about in (None, *line.ids)

    def _latest(self) -> list[Receipt]:
        """Reads back to a known line; the first time all."""
        most = LINES_AT_ONCE if self.known else RECEIPTS_AT_MOST
        while True:
            lines = self.memory._tools.store.receipts(self.memory.space, most)
            if len(lines) < most or not self.known or lines[-1].id in self.known:
                return lines
            most *= 2

    def _may_be_told(self, line: Receipt) -> bool:
        """Whether a line may be shown: everything that it showed must be readable too."""
        who, store = self.memory.access, self.memory._tools.store
        return is_told_to(line, who) and len(store.get(line.ids, Where(who))) == len(line.shown)


def _told(line: Receipt) -> dict[str, Any]:
    return {
        "verb": RECALLED, "at": line.at, "actor": line.actor, "surface": line.surface, "session": line.session,
        "query": line.query, "results": len(line.shown), "ids": line.ids, "receipt": line.id,
        "because": line.empty_because, "in_prompt": line.rendered is not None, "tokens": line.tokens,
    }  # fmt: skip


def times(schedule: cron.Cron, clock: Callable[[], datetime], wait: Wait) -> Iterator[datetime]:
    """Yields each time of the schedule when it has come; times slept through count once. A clock that is set back does
    not have to catch up."""
    seen = clock()
    due = schedule.after(seen)
    while not wait(min(LOOK, max(0.0, (due - seen).total_seconds()))):
        now = clock()
        if now >= due:
            yield due
            now = clock()
            due = schedule.after(now)
        elif now < seen:
            due = schedule.after(now)
        seen = now


def _try(place: Place, arguments: dict[str, Any], stop: threading.Event) -> None:
    """Reports an obstacle, such as another writer or a full disk, that may be gone the next time."""
    try:
        _look_after(place, arguments, stop)
    except MemoristError as problem:
        aside(one_line(str(problem)))


def _look_after(place: Place, arguments: dict[str, Any], stop: threading.Event) -> None:
    """Runs upkeep once, in pieces short enough to be stopped. If a piece was too short to achieve anything, the next is
    longer: a job may need more time to see that it has nothing to do, and the jobs after it must get their turn."""
    piece = PIECE
    with opened(place) as memory:
        while not stop.is_set():
            read_transcripts(memory, piece)
            reports = memory.upkeep(**{"seconds": piece, **arguments})
            show.show(show.Result("upkeep", reports, memory, arguments), place.screen)
            finished = not any(report.advice == LATER for report in reports)
            if finished or arguments.get("dry_run") or "seconds" in arguments:
                return
            piece = PIECE if any(report.changed or report.rows for report in reports) else 2 * piece
