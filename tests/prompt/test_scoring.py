"""What a record counts for: the numbers of the founding documents, and bounds that nothing passes."""

import math
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist import Memory, scoring
from memorist.designs import BALANCED
from memorist.kinds import KINDS, Kind, Kinds
from memorist.recall.stages.weigh import Favour
from memorist.records import Counters, Provenance, Record, Times
from memorist.testing import a_record
from memorist.testing.records import START


def aged(days: float, used: int = 0, **changes: object) -> Record:
    """A memory that happened so many days before START."""
    then = START - timedelta(days=days)
    return a_record(times=Times(then, then, then), counters=Counters(used=used), **changes)


def factor(name: str, record: Record) -> float:
    return scoring.FACTORS[name](record, START, KINDS)


def half_life(record: Record) -> float:
    return scoring.half_life(record, START, KINDS)


INFERRED: Any = dict(status="candidate", provenance=Provenance(messages=(1, 2)))


@pytest.mark.covers("C3-1", "C3-2", "S1-5", "S4-9", "S4-10", "W3-1", "W4-6", "X8")
@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        *((lambda kind=kind: factor("category", aged(0, kind=kind)), weight) for kind, weight in (
            ("warning", 1.4), ("decision", 1.3), ("preference", 0.8), ("fact", 1.0))),
        *((lambda days=days: factor("age", aged(days)), weight) for days, weight in (
            (0, 1.0), (0.99, 1.0), (1, 0.9), (6.9, 0.9), (7, 0.7), (14, 0.5), (30, 0.3), (4000, 0.3))),
        *((lambda used=used: factor("access", aged(0, used)), weight) for used, weight in (
            (0, 1.0), (1, 1.1), (3, 1.2), (7, 1.3), (31, 1.5), (10**6, 1.5))),
        (lambda: factor("status", aged(0, pinned=True)), 2.0),
        (lambda: factor("status", aged(0, status="candidate")), 0.7),
        (lambda: factor("status", aged(0, status="candidate", pinned=True, trust="low")), 0.7),
        *((lambda days=days: scoring.faded(START - timedelta(days=days), START), left) for days, left in (
            (0, 1.0), (30, 1 / 1.3), (100, 0.5), (300, 0.25), (10_000, 0.25))),
        *((lambda kind=kind, days=days: half_life(aged(3 * days, kind=kind)), 0.125) for kind, days in (
            ("fact", 30), ("procedure", 60), ("entity", 60), ("preference", 90), ("correction", 365))),
        (lambda: half_life(aged(5000, pinned=True)), 1.0),
        (lambda: half_life(aged(7, **INFERRED)), 0.5),
        (lambda: half_life(aged(7, **{**INFERRED, "status": "confirmed"})), 0.5 ** (7 / 30)),
        *((lambda hours=hours: factor("fresh", aged(hours / 24)), 1 + 0.5 * math.exp(-hours / 24)) for hours in (0, 24, 240)),
        (lambda: scoring.confidence(aged(90, trust="high"), START, KINDS), 0.125),
    ],
)  # fmt: skip
def test_the_numbers_of_the_founding_documents(value: Any, wanted: float) -> None:
    assert value() == pytest.approx(wanted)


@pytest.mark.covers("S4-10", "C4-7")
def test_confidence_moves_with_use_trust_and_kind() -> None:
    used = [scoring.confidence(aged(30, n, trust="high"), START, KINDS) for n in (0, 1, 10, 10**6)]
    assert used == sorted(used) and used[-1] == pytest.approx(0.75)
    trusted = [scoring.confidence(aged(30, trust=trust), START, KINDS) for trust in ("high", "medium", "low")]
    assert trusted == pytest.approx([0.5, 0.425, 0.3])
    kinds = Kinds({**KINDS, "recipe": Kind("recipe"), "rumour": Kind("rumour", half_life_days=2)})
    for kind, days in (("recipe", 45), ("unheard_of", 45), ("entity", 60), ("rumour", 2)):
        assert scoring.confidence(aged(days, kind=kind, trust="high"), START, kinds) == pytest.approx(0.5)


@pytest.mark.covers("S4-14")
def test_verdicts_move_confidence_and_praise_is_counted_first() -> None:
    cases = (
        (0.5, 1, 0, 0, 0.55),
        (0.5, 0, 1, 0, 0.4),
        (0.5, 0, 0, 1, 0.48),
        (1, 3, 0, 0, 1),
        (0.05, 0, 9, 0, 0),
        (0.5, 100, 1, 0, 0.9),
    )
    for stored, up, down, rejected, wanted in cases:
        counted = Counters(up=up, down=down, rejected=rejected)
        assert scoring.judged(replace(aged(0), confidence=stored, counters=counted)) == pytest.approx(wanted)


RECORDS = st.builds(
    aged, st.floats(-1000, 100_000), st.integers(0, 10**9), kind=st.sampled_from(sorted(KINDS)),
    status=st.sampled_from(["candidate", "confirmed"]), trust=st.sampled_from(["high", "medium", "low"]),
    pinned=st.booleans(), importance=st.floats(0, 1), confidence=st.floats(0, 1),
)  # fmt: skip
COUNTERS = st.builds(Counters, *[st.integers(0, 10**6)] * 6)


@pytest.mark.covers("W3-1", "X7", "X8")
@given(RECORDS, COUNTERS, st.floats(0, 10_000))
def test_every_factor_is_bounded_and_only_time_and_use_move_it(record: Record, counted: Counters, days: float) -> None:
    record, later = replace(record, counters=counted), START + timedelta(days=days)
    assert all(0.009 <= one(record, START, KINDS) <= 2.0 for one in scoring.FACTORS.values())
    assert 0 <= scoring.half_life(record, later, KINDS) <= scoring.half_life(record, START, KINDS) <= 1
    praised = replace(record, counters=replace(counted, up=counted.up + 1))
    assert 0 <= scoring.judged(record) <= scoring.judged(praised) <= 1
    assert abs(scoring.score(counted)) <= 15 and 0.2 <= scoring.reinforced(scoring.score(counted)) <= 3


@pytest.mark.covers("C4-7")
@given(
    st.sampled_from(["high", "medium", "low"]),
    st.sampled_from(["correction", "entity", "recipe"]),
    st.floats(0, 1e4),
    COUNTERS,
)
def test_a_list_is_in_the_order_of_the_document(trust: Any, kind: str, hours: float, counted: Counters) -> None:
    record = replace(aged(hours / 24, kind=kind, trust=trust), counters=counted)
    category = {"correction": 50, "entity": 10}.get(kind, 5)
    oracle = (100 / (1 + hours / 24) + 10 * counted.used**0.5 + category) * {"high": 1.5, "medium": 1.0, "low": 0.7}[
        trust
    ]
    assert scoring.listed(record, START) == pytest.approx(oracle + 5 * math.log(counted.strength + 1), rel=1e-6)


@pytest.mark.covers("S4-9")
def test_a_season_counts_where_the_question_names_it() -> None:
    design = replace(BALANCED, recall=(*BALANCED.recall[:8], Favour(), *BALANCED.recall[8:]))
    with Memory(":memory:", project="atlas", design=design) as memory:
        memory.remember("The backend team reviews all deploys", season="end of sprint")
        memory.remember("A red pipeline blocks deploys")
        named = memory.recall("what about deploys at the end of the sprint?", min_relevance=0)
        assert {hit.number: hit.why["season"] for hit in named} == {1: 1.2, 2: 1.0}
        assert all("season" not in hit.why for hit in memory.recall("what about deploys?", min_relevance=0))
