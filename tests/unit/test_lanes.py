"""The allocator of a prompt's budget: never more than there is, floors while money lasts, nobody starved."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.design import STEADY, Budget, Lane
from memorist.designs import CURATED as DESIGN
from memorist.errors import Invalid
from memorist.prompt.lanes import allot, part, quotas, total
from memorist.prompt.modes import MODES, PROFILES

TIERS = (Lane("task", 0.4), Lane("project", 0.4), Lane("global", 0.2))
CURATED = (
    Lane("pinned", 0.08, 200, 400),
    Lane("bridge", 0.5, 500, 3000, "rest"),
    Lane("recall", 0.65, 300, 1500, "rest"),
    Lane("summaries", 1.0, 200, 600, "rest"),
)
USUAL = Budget()

lane = st.builds(
    Lane,
    st.sampled_from(["pinned", "summaries", "recall", "task", "project", "global"]),
    st.floats(0, 1),
    st.integers(0, 5000),
    st.none() | st.integers(0, 5000),
    st.sampled_from(["total", "rest"]),
)
some_lanes = st.lists(lane, max_size=8, unique_by=lambda lane: lane.name)
tokens = st.integers(0, 1_000_000)


@pytest.mark.covers("S0-18", "X21")
@pytest.mark.parametrize(
    ("tokens", "split"), [(1000, (400, 400, 200)), (0, (0, 0, 0)), (1, (0, 0, 0)), (8000, (3200, 3200, 1600))]
)
def test_the_three_tiers_share_forty_forty_twenty(tokens: int, split: tuple[int, ...]) -> None:
    assert quotas(tokens, TIERS) == split


@pytest.mark.covers("S3-16", "S3-17", "C3-4")
def test_the_four_parts_of_the_founding_table_where_it_follows_its_own_rule() -> None:
    assert [total(None, remaining, None, None, USUAL) for remaining in (100_000, 50_000, 20_000, 8_000)] == [
        5000, 4000, 1600, 640,
    ]  # fmt: skip
    assert quotas(4000, CURATED) == (320, 1840, 1196, 600)
    assert quotas(5000, CURATED) == (400, 2300, 1495, 600), "the table rounds 65 % of 2300 up to 1500"
    assert quotas(1600, CURATED) == (200, 700, 455, 245), "the table has 500 and 200, which is not 65 % of 700"


@pytest.mark.covers("W3-3")
def test_floors_do_not_break_the_budget() -> None:
    assert quotas(640, CURATED) == (200, 440, 0, 0), "the founding table gives away 1200 of 640"
    assert quotas(0, CURATED) == (0, 0, 0, 0), "and 1200 of nothing"


@pytest.mark.covers("W3-3", "X21")
@given(tokens, some_lanes)
def test_quotas_never_pass_the_total_nor_a_ceiling(tokens: int, lanes: list[Lane]) -> None:
    given = quotas(tokens, lanes)
    assert sum(given) <= tokens and all(each >= 0 for each in given)
    assert all(lane.ceiling is None or each <= lane.ceiling for lane, each in zip(lanes, given, strict=True))


@pytest.mark.covers("W3-3", "W0-1")
@given(tokens, some_lanes, st.data())
def test_nobody_is_starved_and_nothing_is_wasted(tokens: int, lanes: list[Lane], data: Any) -> None:
    wanted = data.draw(st.lists(st.integers(0, 10_000), min_size=len(lanes), max_size=len(lanes)))
    granted = allot(tokens, lanes, wanted, STEADY)
    assert sum(granted) <= tokens
    steady = [lane.name in STEADY for lane in lanes]
    floors = min(tokens // 2, sum(lane.floor for lane, first in zip(lanes, steady, strict=True) if not first))
    taken = sum(got for got, first in zip(granted, steady, strict=True) if first)
    least = sum(q for q, first in zip(quotas(tokens, lanes), steady, strict=True) if first)
    assert taken <= max(least, tokens - floors), "pins leave the floors of the others, or have their own quota"
    for lane, quota, want, got in zip(lanes, quotas(tokens, lanes), wanted, granted, strict=True):
        assert got <= want and (lane.ceiling is None or got <= lane.ceiling)
        if lane.name in STEADY or not any(steady):
            assert got >= min(quota, want)
    asked = [want if first else 0 for want, first in zip(wanted, steady, strict=True)]
    alone = allot(tokens, lanes, asked, STEADY)
    assert [got for got, first in zip(alone, steady, strict=True) if first] == [
        got for got, first in zip(granted, steady, strict=True) if first
    ], "whatever the others want"
    unmet = [
        (lane, want, got) for lane, want, got in zip(lanes, wanted, granted, strict=True)
        if lane.name not in STEADY and got < (want if lane.ceiling is None else min(want, lane.ceiling))
    ]  # fmt: skip
    assert not unmet or sum(granted) == tokens, "unused tokens flow to whoever wants them"


@pytest.mark.covers("S3-16", "C3-4")
@pytest.mark.parametrize(
    ("tokens", "split"),
    [
        (5000, (400, 2300, 1495, 600)),
        (4000, (320, 1840, 1196, 600)),
        (1600, (200, 700, 455, 245)),
        (640, (200, 440, 0, 0)),
    ],
)
def test_where_all_want_more_each_has_its_quota(tokens: int, split: tuple[int, ...]) -> None:
    """Pins, then the session, then what was recalled, then summaries: only pins may have more."""
    assert allot(tokens, DESIGN.lanes, split, STEADY) == split
    left = tokens - sum(split)  # by all ceilings: it goes to the first that wants more
    assert allot(tokens, DESIGN.lanes, [split[0], 9999, 9999, 9999], STEADY) == (split[0], split[1] + left, *split[2:])
    assert allot(tokens, DESIGN.lanes, [split[0], 0, 0, 9999], STEADY)[3] == split[3]
    assert allot(tokens, DESIGN.lanes, [9999, 0, 0, 0], STEADY)[0] >= tokens // 2


def test_unused_tokens_flow_to_those_that_want_more() -> None:
    assert allot(1000, TIERS, [900, 0, 0]) == (900, 0, 0)
    assert allot(1000, TIERS, [900, 900, 900]) == (400, 400, 200)
    assert allot(1000, TIERS, [100, 900, 100]) == (100, 800, 100)


@pytest.mark.covers("S3-17", "X21")
def test_a_total_is_fixed_or_a_share_of_the_rest_or_a_window_minus_a_reserve() -> None:
    assert total(None, None, None, None, USUAL) == 1500
    assert total(700, None, None, None, USUAL) == 700
    assert total(None, 1_000_000, None, None, USUAL) == 5000, "however much remains"
    assert total(None, None, 8000, 6000, USUAL) == 2000
    assert total(None, None, 8000, 9000, USUAL) == 0, "what is kept free comes first"
    assert total(None, 0, None, None, USUAL) == 0


@pytest.mark.parametrize("bad", [-1, 10**8, 1.5, "5", True, float("nan")])
@pytest.mark.parametrize("place", range(4))
def test_a_total_out_of_bounds_is_refused(place: int, bad: Any) -> None:
    values: list[Any] = [None, None, None, None]
    values[place] = bad
    if place == 3:
        values[2] = 1000
    with pytest.raises(Invalid, match="must be a whole number from 0 to 10,000,000"):
        total(*values, USUAL)


def test_two_totals_at_once_are_refused() -> None:
    with pytest.raises(Invalid, match="budget and remaining are given; give one of budget, remaining and window"):
        total(1, 2, None, None, USUAL)
    with pytest.raises(Invalid, match="reserve is the part of a window that is kept free; give window as well"):
        total(1, None, None, 5, USUAL)


@given(st.floats(0, 1), tokens)
def test_a_share_is_never_more_than_the_whole(share: float, tokens: int) -> None:
    assert 0 <= part(share, tokens) <= tokens


@pytest.mark.covers("N0-3", "N0-4", "C0-1")
def test_modes_and_profiles_are_data_within_bounds() -> None:
    assert list(MODES) == ["cheap", "balanced", "max_quality"]
    assert MODES["cheap"].share < MODES["balanced"].share == 1.0 and MODES["max_quality"].longest is None
    assert list(PROFILES) == ["planner", "implementer", "reviewer", "assistant", "global"]
    assert PROFILES["global"].tokens == 8000 and PROFILES["global"].policy == "recency"
    assert all(0.5 <= factor <= 2 for profile in PROFILES.values() for factor in profile.kinds.values())
