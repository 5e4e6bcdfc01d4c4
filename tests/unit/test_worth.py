"""What a memory is worth today: the founding documents' own numbers, bounded, and never stored."""

import math
from dataclasses import replace
from datetime import timedelta
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist import Memory, scoring
from memorist.designs import BALANCED
from memorist.kinds import KINDS, Kind, Kinds
from memorist.recall.stages.weigh import FavourSeason, Weigh
from memorist.records import Counters, Provenance, Record, Times
from memorist.testing import a_record
from memorist.testing.records import START


def aged(days: float, used: int = 0, **changes: object) -> Record:
    """A memory that happened so many days before START."""
    then = START - timedelta(days=days)
    return a_record(times=Times(then, then, then), counters=Counters(used=used), **changes)


# ---------------------------------------------------------------- six weights


@pytest.mark.covers("C3-1")
def test_categories_weigh_what_the_document_says() -> None:
    weights = {kind: scoring.FACTORS["category"](aged(0, kind=kind), START, KINDS) for kind in KINDS}
    assert [weights[kind] for kind in ("warning", "decision", "architecture", "error")] == [1.4, 1.3, 1.2, 1.2]
    assert [weights[kind] for kind in ("pattern", "file_change", "progress", "note", "preference")] == [
        1.0, 1.0, 0.9, 0.9, 0.8,
    ]  # fmt: skip


@pytest.mark.covers("C3-2")
@pytest.mark.parametrize(
    ("days", "weight"),
    [(0, 1.0), (0.99, 1.0), (1, 0.9), (6.9, 0.9), (7, 0.7), (13, 0.7), (14, 0.5), (29, 0.5), (30, 0.3), (4000, 0.3)],
)
def test_age_weighs_in_steps(days: float, weight: float) -> None:
    assert scoring.FACTORS["age"](aged(days), START, KINDS) == weight


@pytest.mark.covers("C3-2")
@pytest.mark.parametrize(("used", "weight"), [(0, 1.0), (1, 1.1), (3, 1.2), (15, 1.4), (31, 1.5), (10**9, 1.5)])
def test_use_weighs_by_its_logarithm_and_no_more_than_half(used: int, weight: float) -> None:
    assert scoring.FACTORS["access"](aged(0, used), START, KINDS) == pytest.approx(weight)


@pytest.mark.covers("C3-2")
def test_a_pin_doubles_and_a_candidate_counts_seven_tenths() -> None:
    weights = [aged(0, pinned=True), aged(0), aged(0, status="candidate"), aged(0, status="candidate", pinned=True)]
    assert [scoring.FACTORS["status"](each, START, KINDS) for each in weights] == [2.0, 1.0, 0.7, 2.0]


# ---------------------------------------------------------------- decay


@pytest.mark.covers("S3-28")
@pytest.mark.parametrize(("days", "left"), [(0, 1.0), (7, 0.95), (70, 0.95**10)])
def test_a_memory_fades_by_a_twentieth_a_week(days: float, left: float) -> None:
    assert scoring.DECAYS["weekly"](aged(days), START, KINDS) == pytest.approx(left)


@pytest.mark.covers("S3-28", "X8")
def test_half_of_it_is_gone_after_thirteen_and_a_half_weeks() -> None:
    assert scoring.DECAYS["weekly"](aged(7 * math.log(0.5) / math.log(0.95)), START, KINDS) == pytest.approx(0.5)
    assert 13.4 < math.log(0.5) / math.log(0.95) < 13.6


@pytest.mark.covers("S3-28")
def test_what_is_pinned_never_fades() -> None:
    old = aged(4000, pinned=True, importance=0.8, status="candidate")
    assert [fade(old, START, KINDS) for fade in scoring.DECAYS.values()] == [1.0] * 4


@pytest.mark.covers("W3-1")
def test_nothing_halves_what_was_never_used_more_than_once() -> None:
    """The document's own code halved it at every start: 0.8, 0.4, 0.2, 0.1 on one day."""
    record = aged(0, importance=0.8)
    for factor in (scoring.FACTORS["importance"], scoring.important):
        assert len({factor(record, START, KINDS) for _ in range(4)}) == 1
    assert record.importance == 0.8


@pytest.mark.covers("S1-5", "X8")
@pytest.mark.parametrize(("days", "left"), [(0, 1.0), (30, 0.769), (100, 0.5), (100_000, 0.25)])
def test_hyperbolic_decay_has_its_documents_numbers(days: float, left: float) -> None:
    assert round(scoring.DECAYS["hyperbolic"](aged(days), START, KINDS), 3) == left


@pytest.mark.covers("S4-10", "W4-6")
@pytest.mark.parametrize(
    ("kind", "half_life"), [("correction", 365), ("preference", 90), ("procedure", 60), ("fact", 30)]
)
def test_a_half_life_is_one(kind: str, half_life: float) -> None:
    for times in (0, 1, 2, 3):
        record = aged(times * half_life, kind=kind)
        assert scoring.half_life(record, START, KINDS) == pytest.approx(0.5**times)


@pytest.mark.covers("S4-10", "W4-6")
def test_a_fact_of_ninety_days_is_worth_an_eighth() -> None:
    assert scoring.confidence(aged(90, trust="high"), START, KINDS) == pytest.approx(0.125)


@pytest.mark.covers("S4-10")
def test_what_was_only_inferred_has_a_week() -> None:
    said = Provenance(snippet="we probably use Postgres", messages=(1, 2))
    inferred = aged(7, status="candidate", provenance=said)
    assert scoring.half_life(inferred, START, KINDS) == pytest.approx(0.5)
    assert scoring.half_life(replace(inferred, kind="progress"), START, KINDS) == pytest.approx(0.5)
    assert scoring.half_life(replace(inferred, status="confirmed"), START, KINDS) == pytest.approx(0.5 ** (7 / 30))


@pytest.mark.covers("S4-10")
def test_use_and_trust_move_confidence_within_bounds() -> None:
    used = [scoring.confidence(aged(30, n, trust="high"), START, KINDS) for n in (0, 1, 10, 10**6)]
    assert used == pytest.approx([0.5, 0.5 * (1 + 0.1 * math.log(2)), 0.5 * (1 + 0.1 * math.log(11)), 0.75])
    trusted = [scoring.confidence(aged(30, trust=trust), START, KINDS) for trust in ("high", "medium", "low")]
    assert trusted == sorted(trusted, reverse=True) and len(set(trusted)) == 3


@pytest.mark.covers("S4-9")
@pytest.mark.parametrize(("hours", "boost"), [(0, 1.5), (24, 1 + 0.5 / math.e), (240, 1.0)])
def test_what_is_fresh_counts_half_as_much_again(hours: float, boost: float) -> None:
    assert scoring.FACTORS["fresh"](aged(hours / 24), START, KINDS) == pytest.approx(boost, abs=1e-4)


# ---------------------------------------------------------------- laws

records = st.builds(
    aged,
    st.floats(-1000, 100_000),
    st.integers(0, 10**9),
    kind=st.sampled_from(sorted(KINDS)),
    status=st.sampled_from(["candidate", "confirmed"]),
    trust=st.sampled_from(["high", "medium", "low"]),
    pinned=st.booleans(),
    importance=st.floats(0, 1),
    confidence=st.floats(0, 1),
)


@pytest.mark.covers("X7", "X8")
@given(records)
def test_every_factor_and_every_decay_is_bounded(record: Record) -> None:
    for factor in scoring.FACTORS.values():
        assert 0.009 <= factor(record, START, KINDS) <= 2.0
    for fade in scoring.DECAYS.values():
        assert 0 <= fade(record, START, KINDS) <= 1


@pytest.mark.covers("W3-1", "X7")
@given(records, st.floats(0, 10_000))
def test_worth_is_a_pure_function_that_only_time_and_use_move(record: Record, days: float) -> None:
    later = START + timedelta(days=days)
    for fade in scoring.DECAYS.values():
        assert fade(record, later, KINDS) <= fade(record, START, KINDS)
        assert fade(record, later, KINDS) == fade(record, later, KINDS)
    used = replace(record, times=replace(record.times, used=later))
    assert scoring.DECAYS["weekly"](used, later, KINDS) >= scoring.DECAYS["weekly"](record, later, KINDS)


# ---------------------------------------------------------------- verdicts and seasons: the associative design


@pytest.mark.covers("S4-14")
def test_verdicts_move_confidence_and_are_computed() -> None:
    def after(confidence: float = 0.5, **counted: int) -> float:
        return scoring.judged(replace(aged(0), confidence=confidence, counters=Counters(**counted)))

    assert [after(), after(up=1), after(up=2), after(down=1)] == pytest.approx([0.5, 0.55, 0.6, 0.4])
    assert after(rejected=1) == pytest.approx(0.48) and after(up=2, down=1) == pytest.approx(0.5)
    assert after(1.0, up=3) == 1.0 and after(0.05, down=9) == 0.0 and after(up=100, down=1) == pytest.approx(0.9)


@pytest.mark.covers("C4-7", "S4-10")
def test_a_kind_of_ones_own_has_forty_five_days_and_an_entity_sixty() -> None:
    kinds = Kinds({**KINDS, "recipe": Kind("recipe"), "rumour": Kind("rumour", half_life_days=2)})
    for kind, days in (("recipe", 45), ("unheard_of", 45), ("entity", 60), ("rumour", 2)):
        assert scoring.confidence(aged(days, kind=kind, trust="high"), START, kinds) == pytest.approx(0.5)
    assert scoring.confidence(aged(1000, kind="summary", trust="high"), START, kinds) == 1.0  # it is said not to fade


@given(
    st.floats(0, 1),
    st.builds(Counters, *[st.integers(0, 10**6)] * 6),
    st.sampled_from(["high", "medium", "low"]),
    st.floats(0, 10_000),
)
def test_confidence_stays_within_its_bounds(given_: float, counted: Counters, trust: str, days: float) -> None:
    record = replace(aged(days), confidence=given_, counters=counted, trust=trust)  # type: ignore[arg-type]
    assert 0 <= scoring.judged(record) <= 1 and 0.01 <= scoring.confidence(record, START, KINDS) <= 1
    assert 1 <= scoring.FACTORS["fresh"](record, START, KINDS) <= 1.5
    better = replace(record, counters=replace(counted, up=counted.up + 1))
    assert scoring.judged(better) >= scoring.judged(record)


@pytest.mark.covers("S4-9")
def test_a_season_counts_where_the_question_names_it() -> None:
    stages = ((stage, FavourSeason()) if isinstance(stage, Weigh) else (stage,) for stage in BALANCED.recall)
    design = replace(BALANCED, recall=tuple(chain.from_iterable(stages)))
    with Memory(":memory:", project="atlas", design=design) as memory:
        memory.remember("The backend team reviews all deploys", season="end of sprint")
        memory.remember("A red pipeline blocks deploys")
        named = memory.recall("what about deploys at the end of the sprint?", min_relevance=0)
        assert {hit.number: hit.why["season"] for hit in named} == {1: 1.2, 2: 1.0} and named.hits[0].number == 1
        assert all("season" not in hit.why for hit in memory.recall("what about deploys?", min_relevance=0))


# ---------------------------------------------------------------- where nothing is asked


@pytest.mark.covers("C4-7")
@pytest.mark.parametrize("trust", ["high", "medium", "low"])
@pytest.mark.parametrize("kind", ["correction", "preference", "fact", "entity", "recipe"])
@pytest.mark.parametrize(("hours", "used", "strength"), [(0, 0, 0), (24, 4, 0), (240, 9, 6), (10_000, 100, 1)])
def test_a_list_is_in_the_order_of_the_document(trust: str, kind: str, hours: float, used: int, strength: int) -> None:
    record = aged(hours / 24, kind=kind, trust=trust)
    record = replace(record, counters=Counters(used=used, strength=strength))
    category = {"correction": 50, "preference": 30, "fact": 20, "entity": 10}.get(kind, 5)
    oracle = 100 / (1 + hours / 24) + 10 * used**0.5 + category
    oracle = oracle * {"high": 1.5, "medium": 1.0, "low": 0.7}[trust] + 5 * math.log(strength + 1)
    assert scoring.listed(record, START) == pytest.approx(oracle)
