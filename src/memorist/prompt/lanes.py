"""Divides a prompt's budget: takes a list of lanes and returns tokens for each.

Lanes are served in order. A floor is granted only while tokens are left, so the sum never exceeds the total, however
small it is. What a lane does not use goes to lanes that want more, and no lane can take another's quota. Steady lanes
are filled first, so that they are the same whatever the query finds. They get up to their quota. Pins must never be
missing, so they may use the whole budget except the floors of the other lanes, or half of it if those are more. A
memory that does not fit is left out whole, and a shorter one after it may still enter. All numbers are whole tokens.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from itertools import compress
from operator import not_

from memorist import checks
from memorist.design import PINNED, STEADY, Budget, Lane
from memorist.errors import Invalid
from memorist.lazy import dataclass
from memorist.prompt.render import Item
from memorist.scoring import held_up
from memorist.text.triggers import FIRED
from memorist.text.visible import quoted

MOST_TOKENS = 10_000_000  # upper limit of a budget
OF_THE_BEST = 0.25  # the best of a lane needs this fraction of the relevance that the others need
MILLIONTHS = 1_000_000  # the unit of shares: 0.65 of 1840 is exactly 1196
CORRECTED = frozenset({"corrected", "corrects"})  # keys in `why` of a corrected turn and its correction


def total(budget: int | None, remaining: int | None, window: int | None, reserve: int | None, usual: Budget) -> int:
    """The whole budget: a fixed number, a share of the remaining window, or a window minus its reserve."""
    given = {"budget": budget, "remaining": remaining, "window": window}
    said = {name: checks.whole(value, name, 0, MOST_TOKENS) for name, value in given.items() if value is not None}
    if len(said) > 1:
        raise Invalid(f"{' and '.join(said)} are given; give one of budget, remaining and window")
    if reserve is not None and window is None:
        raise Invalid("reserve is the part of a window that is kept free; give window as well")
    kept = 0 if reserve is None else checks.whole(reserve, "reserve", 0, MOST_TOKENS)
    if remaining is not None:
        return min(part(usual.share, remaining), usual.most)
    return max(0, window - kept) if window is not None else usual.tokens if budget is None else budget


def shared(lanes: Sequence[Lane], shares: Mapping[str, float]) -> tuple[Lane, ...]:
    """The lanes with these shares; lanes that are not named keep theirs."""
    if not isinstance(shares, Mapping):
        raise Invalid(f"shares are numbers by lane, such as {{'project': 0.5}}, not {quoted(shares)}")
    if not shares:
        return tuple(lanes)
    names = [lane.name for lane in lanes]
    for name, share in shares.items():
        checks.one_of(name, "a lane with a share", names)
        checks.share(share, f"the share of {name}")
    split = tuple(replace(lane, share=float(shares.get(lane.name, lane.share))) for lane in lanes)
    # A lane with a share of 1 takes what the others leave, so it is not counted.
    if sum(lane.share for lane in split if lane.of == "total" and lane.share < 1) > 1 + 1e-9:
        raise Invalid(f"the shares of {', '.join(names)} add up to more than 1; make one of them smaller")
    return split


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
            given[lane.name] = min(max(0, total - sum(given.values())), _within(lane, wanted))
        before += given[lane.name]
    return tuple(given[lane.name] for lane in lanes)


def allot(total: int, lanes: Sequence[Lane], wanted: Sequence[int], steady: Collection[str] = ()) -> tuple[int, ...]:
    """The tokens granted to each lane, given what each wants. Steady lanes come first and never depend on what the
    others want. Those get up to their quota of what is left and then, in order, what others leave."""
    first = _first(total, lanes, wanted, steady)
    granted = [min(want, quota) for want, quota in zip(wanted, quotas(total, lanes, first), strict=True)]
    spare = total - sum(granted)
    for place, lane in enumerate(lanes):
        if lane.name not in steady:
            more = max(0, min(spare, _within(lane, wanted[place]) - granted[place]))
            granted[place] += more
            spare -= more
    return tuple(granted)


def _first(total: int, lanes: Sequence[Lane], wanted: Sequence[int], steady: Collection[str]) -> dict[str, int]:
    """The tokens of the steady lanes: their quota, and more for pins. Pins leave the quotas of other steady lanes that
    want them, and the floors of all other lanes, up to half of the budget. Floors count even if unused: pins must not
    change with the query."""
    wants = {lane.name: _within(lane, want) for lane, want in zip(lanes, wanted, strict=True)}
    own = dict(zip(wants, quotas(total, lanes), strict=True))
    first = {name: min(wants[name], own[name]) for name in wants if name in steady}
    floors = min(total // 2, sum(lane.floor for lane in lanes if lane.name not in steady))
    if PINNED in first:
        first[PINNED] += max(0, min(wants[PINNED] - first[PINNED], total - floors - sum(first.values())))
    return first


def _within(lane: Lane, tokens: int) -> int:
    return tokens if lane.ceiling is None else min(tokens, lane.ceiling)


def part(share: float, of: int) -> int:
    """This share of a whole number, rounded down."""
    return round(share * MILLIONTHS) * of // MILLIONTHS


# ---------------------------------------------------------------- what earns its tokens


def earning(
    lane: Lane, items: Sequence[Item], costs: Sequence[int], tokens: int, asked: float = 0.0
) -> tuple[list[Item], list[Item]]:
    """Splits items into those worth their tokens and those that are not. An item needs a score close enough to the best of
    its lane, and a chance of mattering; the more of the lane's tokens it takes, the higher that chance must be. For the
    best item a fraction is enough unless the caller asks for more, because the recall already decided whether there is an
    answer. The same holds for a corrected turn and its correction: one without the other would be wrong, and their chances
    are the same. Designs without chances compare scores only. Pins and memories brought up by triggers always pass."""
    best = max((item.hit.score for item in items if FIRED not in item.hit.why), default=0.0)

    def earns(item: Item, cost: int) -> bool:
        score, is_chance = item.hit.score, "relevance" in item.hit.why
        exempt = score == best or not CORRECTED.isdisjoint(item.hit.why)
        needed = max(asked, lane.least * OF_THE_BEST) if exempt else lane.least * (1 + cost / max(1, tokens))
        enough = score >= max(lane.of_best * best, min(1.0, needed) * is_chance)
        return enough or held_up(item.record) or FIRED in item.hit.why

    kept = [earns(item, cost) for item, cost in zip(items, costs, strict=True)]
    return list(compress(items, kept)), list(compress(items, map(not_, kept)))


# ---------------------------------------------------------------- packing


@dataclass(frozen=True, slots=True)
class Packed:
    """The items that fit, and what each lane wanted and spent."""

    items: tuple[Item, ...]
    lanes: Mapping[str, Mapping[str, int]]


@dataclass(slots=True)
class Basket:
    """The items packed so far, by id, and the tokens spent by each lane."""

    costs: Mapping[str, int]
    kept: dict[str, Item] = field(default_factory=dict)
    spent: dict[str, int] = field(default_factory=dict)

    def fill(self, lane: str, items: Sequence[Item], tokens: int) -> int:
        """Packs every item that still fits into these tokens; returns the tokens left."""
        left = tokens
        for item in items:
            id = item.record.id
            if id not in self.kept and self.costs[id] <= left:
                left -= self.costs[id]
                self.kept[id] = item
        self.spent[lane] = self.spent.get(lane, 0) + tokens - left
        return left


def pack(
    room: int,
    told: int,
    lanes: Sequence[Lane],
    found: Mapping[str, Sequence[Item]],
    protected: Sequence[Item],
    costs: Mapping[str, int],
) -> Packed:
    """Fills each lane up to its grant; the rest goes to any items that still fit. Steady lanes come first, and neither
    protected items nor reported contradictions reduce them, because they must not change with the query. If not all protected
    items fit, the first ones are kept. Pins that do not fit their lane come after what was recalled, if room is left."""
    wanted = [sum(costs[item.record.id] for item in found[lane.name]) for lane in lanes]
    granted = dict(zip(lanes, allot(room, lanes, wanted, STEADY), strict=True))
    loose = [lane for lane in lanes if lane.name not in STEADY]
    basket = Basket(costs)
    for lane in lanes:
        if lane.name in STEADY:
            basket.fill(lane.name, found[lane.name], granted[lane])
    left = max(0, room - told - sum(basket.spent.values()))
    left = basket.fill("", protected, left)
    own, ceilings = [granted[lane] for lane in loose], [lane.ceiling for lane in loose]
    # First each lane's own tokens, then the rest.
    for lane, most in zip([*loose, *loose], [*own, *ceilings], strict=True):
        tokens = left if most is None else min(left, most - basket.spent.get(lane.name, 0))
        left -= tokens - basket.fill(lane.name, found[lane.name], tokens)
    basket.fill("", [replace(item, lane="") for item in found.get(PINNED, ())], left)
    table = zip([lane.name for lane in lanes], quotas(room, lanes), wanted, strict=True)
    spent = {name: {"quota": quota, "wanted": want, "spent": basket.spent[name]} for name, quota, want in table}
    return Packed(tuple(basket.kept.values()), spent)
