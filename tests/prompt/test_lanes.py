"""The division of a prompt's budget: never more than there is, floors while any are left, nobody starved."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.design import STEADY, Budget, Lane
from memorist.designs import CURATED
from memorist.errors import Invalid
from memorist.prompt.lanes import pack, part, quotas, total
from memorist.prompt.modes import MODES, PROFILES
from memorist.prompt.render import Item
from memorist.records import Hit, changed
from memorist.testing import a_record

TIERS = (Lane("task", 0.4), Lane("project", 0.4), Lane("global", 0.2))
LANE = st.builds(
    Lane, st.sampled_from(["pinned", "known", "summaries", "recall", "task", "project"]), st.floats(0, 1),
    st.integers(0, 60), st.none() | st.integers(0, 60), st.sampled_from(["total", "rest"]),
)  # fmt: skip
SOME_LANES = st.lists(LANE, max_size=8, unique_by=lambda lane: lane.name)
TOKENS = st.integers(0, 1_000_000)
RECORD = a_record()


def granted_to(tokens: int, lanes: Sequence[Lane], wanted: Sequence[int]) -> tuple[int, ...]:
    """What each lane gets if it wants as many memories of one token each."""
    names = [lane.name for lane, want in zip(lanes, wanted, strict=True) for _ in range(want)]
    found = [Item(Hit(changed(RECORD, id=str(n)), 1.0), name, "") for n, name in enumerate(names)]
    table = pack(tokens, 0, lanes, found, dict.fromkeys(map(str, range(len(found))), 1))[1]
    return tuple(lane["spent"] for lane in table.values())


@pytest.mark.covers("S0-18", "X21")
@pytest.mark.parametrize(
    ("tokens", "split"), [(1000, (400, 400, 200)), (0, (0, 0, 0)), (1, (0, 0, 0)), (8000, (3200, 3200, 1600))]
)
def test_the_three_tiers_share_forty_forty_twenty(tokens: int, split: tuple[int, ...]) -> None:
    assert quotas(tokens, TIERS) == split


@pytest.mark.covers("S3-16", "S3-17", "C3-4", "W3-3")
@pytest.mark.parametrize(
    ("remaining", "tokens", "split"),
    [
        (100_000, 5000, (400, 2300, 1495, 600)),  # the founding table rounds 65 % of 2300 up to 1500
        (50_000, 4000, (320, 1840, 1196, 600)),
        (20_000, 1600, (200, 700, 455, 245)),  # the founding table has 500 and 200, which is not 65 % of 700
        (8_000, 640, (200, 440, 0, 0)),  # the founding table gives away 1200 of 640
        (0, 0, (0, 0, 0, 0)),
    ],
)
def test_the_four_parts_of_the_founding_table(remaining: int, tokens: int, split: tuple[int, ...]) -> None:
    assert total(None, remaining, None, None, CURATED.budget) == tokens
    assert quotas(tokens, CURATED.lanes) == granted_to(tokens, CURATED.lanes, split) == split
    left = tokens - sum(split)  # by all ceilings: it goes to the first that wants more
    wanted = (split[0] + left, *split[1:]) if not tokens else (split[0], split[1] + left, *split[2:])
    assert granted_to(tokens, CURATED.lanes, [split[0], 9999, 9999, split[3]]) == wanted


@pytest.mark.covers("W3-3", "W0-1", "X21")
@given(st.integers(0, 300), SOME_LANES, st.data())
def test_nobody_is_starved_and_nothing_is_wasted(tokens: int, lanes: list[Lane], data: Any) -> None:
    wanted = data.draw(st.lists(st.integers(0, 90), min_size=len(lanes), max_size=len(lanes)))
    granted, quota = granted_to(tokens, lanes, wanted), quotas(tokens, lanes)
    rows = list(zip(lanes, quota, wanted, granted, strict=True))
    assert sum(granted) <= tokens and sum(quota) <= tokens
    for lane, own, want, got in rows:
        assert 0 <= got <= want and (lane.ceiling is None or (got <= lane.ceiling and own <= lane.ceiling))
        assert lane.name not in STEADY or got >= min(own, want)
    floors = min(tokens // 2, sum(lane.floor for lane in lanes if lane.name not in STEADY))
    own, taken = (sum(row[n] for row in rows if row[0].name in STEADY) for n in (1, 3))
    assert taken <= max(own, tokens - floors), "steady lanes leave the floors of the others, or have their own quota"
    asked = [want if lane.name in STEADY else 0 for lane, want in zip(lanes, wanted, strict=True)]
    alone = granted_to(tokens, lanes, asked)
    assert all(a == b for lane, a, b in zip(lanes, alone, granted, strict=True) if lane.name in STEADY)
    short = [
        lane.name for lane, _, want, got in rows if got < (want if lane.ceiling is None else min(want, lane.ceiling))
    ]
    assert all(name in STEADY for name in short) or sum(granted) == tokens, "unused tokens flow to whoever wants them"
    if set(short) & set(STEADY):
        assert taken >= min(own, tokens - floors), "a steady lane takes what the others of them leave"


@pytest.mark.covers("S3-17", "X21")
@pytest.mark.parametrize(
    ("given_", "tokens"),
    [
        ((None, None, None, None), 1500), ((700, None, None, None), 700), ((None, 1_000_000, None, None), 5000),
        ((None, None, 8000, 6000), 2000), ((None, None, 8000, 9000), 0), ((None, 0, None, None), 0),
    ],
)  # fmt: skip
def test_a_total_is_fixed_or_a_share_of_the_rest_or_a_window_minus_a_reserve(given_: Any, tokens: int) -> None:
    assert total(*given_, Budget()) == tokens


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        *(
            ((bad, None, None, None), "must be a whole number from 0 to 10,000,000")
            for bad in (-1, 10**8, 1.5, "5", True)
        ),
        ((None, None, 1000, -1), "reserve must be a whole number"),
        ((1, 2, None, None), "budget and remaining are given; give one of budget, remaining and window"),
        ((1, None, None, 5), "reserve is the part of a window that is kept free; give window as well"),
    ],
)
def test_a_total_that_cannot_be_is_refused(given_: Any, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        total(*given_, Budget())


@given(st.floats(0, 1), TOKENS)
def test_a_share_is_never_more_than_the_whole(share: float, tokens: int) -> None:
    assert 0 <= part(share, tokens) <= tokens


@pytest.mark.covers("N0-3", "N0-4", "C0-1")
def test_modes_and_profiles_are_data_within_bounds() -> None:
    assert list(MODES) == ["cheap", "balanced", "max_quality"]
    assert MODES["cheap"].share < MODES["balanced"].share == 1.0 and MODES["max_quality"].longest is None
    assert list(PROFILES) == ["planner", "implementer", "reviewer", "assistant", "global"]
    assert PROFILES["global"].tokens == 8000 and PROFILES["global"].policy == "recency"
    assert all(0.5 <= factor <= 2 for profile in PROFILES.values() for factor in profile.kinds.values())
