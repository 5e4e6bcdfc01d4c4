"""Divides a prompt's budget: takes a list of lanes and returns tokens for each.

Lanes are served in order. A floor is granted only while tokens are left, so the sum never exceeds the total, however
small it is. What a lane does not use goes to lanes that want more, and no lane can take another's quota. Steady lanes
are filled first, so that they are the same whatever the query finds: each up to its quota, then with what the other
steady lanes leave of theirs. Pins must never be missing, so they may use the whole budget except the floors of the
other lanes, or half of it if those are more. A memory that does not fit is left out whole, and a shorter one after it may
still enter. All numbers are whole tokens.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from memorist import checks
from memorist.design import PINNED, STEADY, Budget, Lane
from memorist.errors import Invalid
from memorist.prompt.render import Item

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
            given[lane.name] = min(max(0, total - sum(given.values())), _capped(lane, wanted))
        before += given[lane.name]
    return tuple(given[lane.name] for lane in lanes)


def allot(total: int, lanes: Sequence[Lane], wanted: Sequence[int], steady: Collection[str] = ()) -> tuple[int, ...]:
    """The tokens granted to each lane, given what each wants. Steady lanes come first and never depend on what the others want;
    the floors of the others count even if unused, because the steady part must not change with the query."""
    wants = {lane.name: _capped(lane, want) for lane, want in zip(lanes, wanted, strict=True)}
    own = dict(zip(wants, quotas(total, lanes), strict=True))
    first = {name: min(wants[name], own[name]) for name in wants if name in steady}
    free = total - min(total // 2, sum(lane.floor for lane in lanes if lane.name not in steady))
    guaranteed = sum(own[name] for name in first)
    for name in sorted(first, key=lambda name: name != PINNED):
        room = free if name == PINNED else min(free, guaranteed)
        first[name] += max(0, min(wants[name] - first[name], room - sum(first.values())))

    granted = first | {
        name: min(wants[name], quota)
        for name, quota in zip(wants, quotas(total, lanes, first), strict=True)
        if name not in first
    }
    spare = total - sum(granted.values())
    for name in (name for name in wants if name not in first):
        more = min(spare, wants[name] - granted[name])
        granted[name] += more
        spare -= more
    return tuple(granted[name] for name in wants)


def _capped(lane: Lane, tokens: int) -> int:
    return tokens if lane.ceiling is None else min(tokens, lane.ceiling)


def pack(
    room: int,
    reserved: int,
    lanes: Sequence[Lane],
    items: Sequence[Item],
    costs: Mapping[str, int],
) -> tuple[tuple[Item, ...], Mapping[str, Mapping[str, int]]]:
    """The items that fit, and what each lane wanted and spent. Each lane is filled up to its grant; the rest goes to any items
    that still fit. Steady lanes come first, and neither protected items nor the tokens `reserved` for contradictions reduce
    them. If not all protected items fit, the first ones are kept. Pins that do not fit their lane come last, if room is left."""
    kept: dict[str, Item] = {}
    found = {lane.name: [item for item in items if item.lane == lane.name] for lane in lanes}
    spent = {lane.name: 0 for lane in lanes}

    def fill(items: Sequence[Item], tokens: int) -> int:
        """Packs every item that still fits into these tokens; returns what they took."""
        left = tokens
        for item in items:
            if item.record.id not in kept and costs[item.record.id] <= left:
                left -= costs[item.record.id]
                kept[item.record.id] = item
        return tokens - left

    wanted = [sum(costs[item.record.id] for item in found[lane.name]) for lane in lanes]
    granted = dict(zip(spent, allot(room, lanes, wanted, STEADY), strict=True))
    for name in (name for name in spent if name in STEADY):
        spent[name] = fill(found[name], granted[name])
    left = max(0, room - reserved - sum(spent.values()))
    left -= fill([item for item in items if item.protected], left)
    loose = [lane for lane in lanes if lane.name not in STEADY]
    limits = [*((lane.name, granted[lane.name]) for lane in loose), *((lane.name, lane.ceiling) for lane in loose)]
    for name, most in limits:  # first each lane's own tokens, then what is left
        took = fill(found[name], left if most is None else max(0, min(left, most - spent[name])))
        spent[name] += took
        left -= took
    fill([replace(item, lane="") for item in found.get(PINNED, ())], left)
    table = zip(spent, quotas(room, lanes), wanted, strict=True)
    return tuple(kept.values()), {n: {"quota": quota, "wanted": want, "spent": spent[n]} for n, quota, want in table}
