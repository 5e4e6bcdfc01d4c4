"""Whether the clock can be believed: what goes by age must not, right after it jumped.

A machine that wakes up in 2038, or ten years ago, would otherwise find everything stale at once. Each write carries the time
at which it was made, so the journal knows how the clock went: a step of more than a week between two writes, or since the
last one, may be a long holiday as well as a jump, and nothing is lost if what goes by age waits for another day.
"""

from datetime import datetime, timedelta

from memorist.records import Event
from memorist.store.protocol import Store

JUMP = timedelta(days=7)
SETTLED = timedelta(days=1)  # so long after a step the clock is believed again
LOOKED_AT = 200  # events that are read one by one; of those before, only as many as a bisection takes


def jump(store: Store, now: datetime, events: int = LOOKED_AT) -> str | None:
    """How far the clock moved since the last write, or between two writes a short while ago, if that is too far."""
    later, looked_at = now, store.latest(None, events)
    for event in looked_at:
        if abs(later - event.at) > JUMP:
            return _said(event.at, later)
        if abs(now - event.at) > SETTLED:
            return None
        later = event.at
    return _before_today(store, now, looked_at[-1]) if len(looked_at) == events else None


def _before_today(store: Store, now: datetime, first: Event) -> str | None:
    """The same where more was written today than anybody reads, as an import does: halves the way to the first of it."""
    before: Event | None = None
    low = 0  # no event up to this number is of today
    while low < first.seq - 1:
        middle = (low + first.seq) // 2
        event = next(iter(store.latest(middle + 1, 1)), None)
        if event is not None and abs(now - event.at) <= SETTLED:
            first = event
        else:
            low, before = middle, event
    return _said(before.at, first.at) if before and abs(first.at - before.at) > JUMP else None


def _said(before: datetime, after: datetime) -> str:
    how = "forward" if after > before else "back"
    days = abs(after - before).days
    silence = ", or nothing was written for so long" if after > before else ""
    return (
        f"the clock went {how} by {days:,} days after {before:%Y-%m-%d %H:%M} UTC{silence}; nothing expires by age until "
        f"it has been in use for {SETTLED.days * 24} hours. If it is wrong, set it right first"
    )
