"""The one allocator of a prompt's budget: a list of lanes in, tokens for each of them out.

Lanes are served in their order. A floor is paid only while there is money left, so the sum never passes the total, however
small it is; what a lane does not use goes to those that want more, and no lane can take what is another's quota, however full
it is. All numbers are whole tokens, and nothing here knows what the tokens are spent on.
"""

from collections.abc import Collection, Sequence

from memorist import checks
from memorist.design import Budget, Lane
from memorist.errors import Invalid

MOST = 10_000_000  # tokens one may ask for
PARTS = 1_000_000  # shares are counted in millionths: 0.65 of 1840 is 1196, not a hair less


def total(budget: int | None, remaining: int | None, window: int | None, reserve: int | None, usual: Budget) -> int:
    """The tokens there are: a fixed number, a share of what remains of a window, or a window minus what is kept free."""
    given = {"budget": budget, "remaining": remaining, "window": window}
    said = {name: checks.whole(value, name, 0, MOST) for name, value in given.items() if value is not None}
    if len(said) > 1:
        raise Invalid(f"{' and '.join(said)} are given; give one of budget, remaining and window")
    if reserve is not None and window is None:
        raise Invalid("reserve is what is kept free of a window; give window as well")
    kept = 0 if reserve is None else checks.whole(reserve, "reserve", 0, MOST)
    if remaining is not None:
        return min(part(usual.share, remaining), usual.most)
    return max(0, window - kept) if window is not None else usual.tokens if budget is None else budget


def quotas(total: int, lanes: Sequence[Lane]) -> tuple[int, ...]:
    """What each lane may count on, whatever the others hold.

    >>> quotas(1000, [Lane("task", 0.4), Lane("project", 0.4), Lane("global", 0.2)])
    (400, 400, 200)
    """
    given: list[int] = []
    for lane in lanes:
        rest = total - sum(given)
        wanted = max(lane.floor, part(lane.share, total if lane.of == "total" else rest))
        given.append(min(rest, wanted if lane.ceiling is None else min(wanted, lane.ceiling)))
    return tuple(given)


def allot(total: int, lanes: Sequence[Lane], wanted: Sequence[int], steady: Collection[str] = ()) -> tuple[int, ...]:
    """What each lane gets that wants so much: its quota at most, and then, in order, what others leave. The steady ones get no
    more than their quota, so that they never depend on what the others want."""
    granted = [min(want, quota) for want, quota in zip(wanted, quotas(total, lanes), strict=True)]
    spare = total - sum(granted)
    for place, lane in enumerate(lanes):
        if lane.name not in steady:
            most = wanted[place] if lane.ceiling is None else min(wanted[place], lane.ceiling)
            more = max(0, min(spare, most - granted[place]))
            granted[place] += more
            spare -= more
    return tuple(granted)


def part(share: float, of: int) -> int:
    """That share of a whole number, rounded down."""
    return round(share * PARTS) * of // PARTS
