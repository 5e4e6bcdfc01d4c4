"""Divides a prompt's budget: takes a list of lanes and returns tokens for each.

Lanes are served in order. A floor is granted only while tokens are left, so the sum never exceeds the total, however
small it is. What a lane does not use goes to lanes that want more, and no lane can take another's quota. Steady lanes
are filled first, so that they are the same whatever the query finds: each up to its quota, then with what the other
steady lanes leave of theirs. Pins must never be missing, so they may use the whole budget except the floors of the
other lanes, or half of it if those are more. A memory that does not fit is left out whole, and a shorter one after it may
still enter. All numbers are whole tokens.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from memorist import checks
from memorist.design import PINNED, STEADY, Budget, Lane
from memorist.errors import Invalid
from memorist.prompt.render import LAST_TURNS, Item

MOST_TOKENS = 10_000_000  # upper limit of a budget
MILLIONTHS = 1_000_000  # the unit of shares: 0.65 of 1840 is exactly 1196


def total(budget: int | None, remaining: int | None, window: int | None, reserve: int | None, usual: Budget) -> int:
    """The whole budget: a fixed number, a share of the remaining window, or a window minus its reserve."""
    sizes = {"budget": budget, "remaining": remaining, "window": window}
    given = [name for name, size in sizes.items() if size is not None]
    for name in given:
        checks.whole(sizes[name], name, 0, MOST_TOKENS)
    if len(given) > 1:
        raise Invalid(f"{' and '.join(given)} are given; give one of budget, remaining and window")
    if reserve is not None and window is None:
        raise Invalid("reserve is the part of a window that is kept free; give window as well")
    if window is not None:
        return max(0, window - (0 if reserve is None else checks.whole(reserve, "reserve", 0, MOST_TOKENS)))
    if remaining is not None:
        return min(part(usual.share, remaining), usual.most)
    return usual.tokens if budget is None else budget


def part(share: float, of: int) -> int:
    """This share of a whole number, rounded down."""
    return round(share * MILLIONTHS) * of // MILLIONTHS


def quotas(total: int, lanes: Sequence[Lane], fixed: Mapping[str, int] | None = None) -> tuple[int, ...]:
    """What each lane is guaranteed, whatever the others want; `fixed` lanes have their tokens already.

    >>> quotas(1000, [Lane("task", 0.4), Lane("project", 0.4), Lane("global", 0.2)])
    (400, 400, 200)
    """
    given = dict(fixed or {})
    before = 0
    for lane in lanes:
        if lane.name not in given:
            wanted = max(lane.floor, part(lane.share, total if lane.of == "total" else max(0, total - before)))
            wanted = wanted if lane.ceiling is None else min(wanted, lane.ceiling)
            given[lane.name] = min(max(0, total - sum(given.values())), wanted)
        before += given[lane.name]
    return tuple(given[lane.name] for lane in lanes)


def pack(
    room: int, reserved: int, lanes: Sequence[Lane], items: Sequence[Item], costs: Mapping[str, int]
) -> tuple[list[Item], Mapping[str, Mapping[str, int]]]:
    """The items that fit, in their order, and what each lane was guaranteed, wanted and spent.

    Steady lanes never depend on what the others want. The floors of those count even if unused, because the steady part must
    not change with the query, and the tokens `reserved` for contradictions do not reduce it. The last turns come next; if not
    all fit, the first ones are kept. Pins that do not fit their lane come last, if room is left.
    """
    kept, spent, left = set[str](), Counter[str](), room
    quota = dict(zip((lane.name for lane in lanes), quotas(room, lanes), strict=True))
    most = {lane.name: room if lane.ceiling is None else lane.ceiling for lane in lanes}
    steady, loose = ([name for name in quota if (name in STEADY) is first] for first in (True, False))

    def fill(name: str, tokens: int, some: Sequence[Item] = items) -> None:
        """Packs the items of a lane that still fit, until it has spent these tokens."""
        nonlocal left
        for item in some:
            id, cost = item.record.id, costs[item.record.id]
            if item.lane == name and id not in kept and cost <= min(left, tokens - spent[name]):
                kept.add(id)
                spent[name] += cost
                left -= cost

    for name in steady:
        fill(name, quota[name])
    free = room - min(room // 2, sum(lane.floor for lane in lanes if lane.name in loose))
    for name in sorted(steady, key=lambda name: name != PINNED):  # then what the other steady lanes leave of theirs
        until = free if name == PINNED else min(free, sum(quota[each] for each in steady))
        fill(name, min(most[name], spent[name] + until - spent.total()))
    left = max(0, left - reserved)
    fill(LAST_TURNS, left)
    shares = dict(zip(quota, quotas(room, lanes, {name: spent[name] for name in steady}), strict=True))
    for name in loose:
        fill(name, shares[name])
    for name in loose:
        fill(name, most[name])
    late = [replace(item, lane="") for item in items if item.lane == PINNED and item.record.id not in kept]
    in_order = [item for item in items if item.record.id in kept]
    fill("", left, late)
    wanted = Counter[str]()
    for item in items:
        wanted[item.lane] += costs[item.record.id]
    table = {name: {"quota": quota[name], "wanted": wanted[name], "spent": spent[name]} for name in quota}
    return [*in_order, *(item for item in late if item.record.id in kept)], table
