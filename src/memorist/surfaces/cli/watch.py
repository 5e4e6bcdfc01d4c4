"""Commands that stay in the foreground until they are stopped.

    memorist upkeep --watch "0 4 * * *"    upkeep at the times of a cron line; between two runs nothing is held open
    memorist log --follow                  the journal, as it grows

They are programs like any other, started and stopped by their user: there is no hidden process. SIGINT and SIGTERM end them with
the step under way, and the next upkeep goes on from there.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from memorist.errors import MemoristError
from memorist.surfaces import settings
from memorist.surfaces.cli import show
from memorist.surfaces.cli.screen import Screen, aside, one_line
from memorist.surfaces.cli.verbs import Place, opened
from memorist.upkeep import cron
from memorist.upkeep.runner import LATER

AT_FOUR = "0 4 * * *"
LOOK = 30.0  # seconds between two looks at the clock, which may be set meanwhile, or have slept
A_SECOND = 1.0  # between two looks at the journal
MOST_AT_ONCE = 1_000_000  # events of one look: as many as `log` gives, since the older ones would be lost
PIECE = 1.0  # seconds of upkeep between two looks at whether to stop
Wait = Callable[[float], bool]  # waits so many seconds; True as soon as it is time to stop


def stay(place: Place, arguments: dict[str, Any]) -> int:
    if arguments.pop("follow", False):
        return follow(place, arguments)
    return watch(place, arguments.pop("watch"), arguments)


def watch(place: Place, line: str, arguments: dict[str, Any]) -> int:
    schedule = cron.parse(line or settings.load().prune_schedule or AT_FOUR, "--watch")
    screen = Screen.of(place.json)
    with _until_stopped() as stop:
        first = schedule.after(datetime.now(UTC))
        aside(f"upkeep at {schedule.text} (UTC), next {first:%Y-%m-%d %H:%M}; stop with Ctrl-C")
        for _ in times(schedule, lambda: datetime.now(UTC), stop.wait):
            _try(place, arguments, screen, stop)
    return 0


@contextmanager
def _until_stopped() -> Iterator[threading.Event]:
    """Set by Ctrl-C or SIGTERM."""
    stop = threading.Event()
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def follow(place: Place, arguments: dict[str, Any]) -> int:
    """The events that fit, and every second those that came; as JSON one to a line."""
    screen = replace(Screen.of(place.json), terminal=False)  # a table has its widths from all of its rows
    asked = arguments | ({"scope": place.scope} if place.scope else {})
    with _until_stopped() as stop, opened(place, narrowed=False) as memory:
        wanted = dict(asked)
        while not stop.is_set():
            head = memory._tools.store.head()  # before the events: what comes meanwhile is not left out
            events = memory.log(**wanted)
            for shown in events if screen.json else filter(None, [events]):
                show.show(show.Result("log", shown, memory, asked), screen)
            sys.stdout.flush()
            known = max(wanted.get("after", 0), head.last if head else 0, *(event.seq for event in events))
            wanted = {**asked, "after": known, "limit": MOST_AT_ONCE}
            stop.wait(A_SECOND)
    return 0


def times(schedule: cron.Cron, clock: Callable[[], datetime], wait: Wait) -> Iterator[datetime]:
    """The times of the schedule, each when it has come; one that was slept through comes once. A clock that is set back
    does not have to catch up."""
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


def _try(place: Place, arguments: dict[str, Any], screen: Screen, stop: threading.Event) -> None:
    """What is in the way today, such as another writer or a full disk, is told, and may be gone the next time."""
    try:
        _look_after(place, arguments, screen, stop)
    except MemoristError as problem:
        aside(one_line(str(problem)))


def _look_after(place: Place, arguments: dict[str, Any], screen: Screen, stop: threading.Event) -> None:
    """One run, in pieces short enough to be stopped. One that was too short for anything to come of it is followed by a
    longer one: a job may need more than that to see that it has nothing to do, and those after it have to come to theirs."""
    piece = PIECE
    with opened(place) as memory:
        while not stop.is_set():
            reports = memory.upkeep(**{"seconds": piece, **arguments})
            show.show(show.Result("upkeep", reports, memory, arguments), screen)
            finished = not any(report.advice == LATER for report in reports)
            if finished or arguments.get("dry_run") or "seconds" in arguments:
                return
            piece = PIECE if any(report.changed or report.rows for report in reports) else 2 * piece
