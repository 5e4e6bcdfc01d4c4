"""A prompt is mostly memory: what its frame costs, counted as a model is charged for it, in every style and for any store; and
only what earns its tokens enters."""

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import rounds
from memorist import Memory
from memorist.design import Lane
from memorist.designs import BALANCED
from memorist.errors import Invalid
from memorist.prompt.lanes import earning
from memorist.prompt.render import REFERENCE, STYLES, Item, page
from memorist.recall.stages.keep import DropUnlikely
from memorist.records import Hit, changed
from memorist.testing import MovableClock, a_record
from memorist.text.tokens import count_tokens

PAGE, LINE = 50, 5  # tokens that the frame of a page and of a line may cost
WORDS = (
    "the a of to in on with is has was lunch harbour crane gateway deploy staging database Postgres runs Maya Friday yellow "
    "backup nightly invoice customer 16 2026 port 8080 Oslo never before after because team agreed moved again v2.1 e-mail"
).split()
NOTES = st.lists(st.sampled_from(WORDS), min_size=12, max_size=26).map(" ".join)  # about 19 words


def items_of(texts: list[str], **more: Any) -> list[Item]:
    records = [changed(a_record(), id=f"m{n}", number=n * 31_007, text=text, **more) for n, text in enumerate(texts, 1)]
    return [Item(Hit(record, 1.0), "recall", record.text, weight=-record.number) for record in records]


def frame_of(text: str, texts: list[str]) -> int:
    return count_tokens(text) - sum(map(count_tokens, texts))


@pytest.mark.parametrize("style", STYLES)
@settings(max_examples=rounds(2000, 0.03), deadline=None)
@given(own=st.lists(NOTES, max_size=4), pins=st.lists(NOTES, max_size=4), found=st.lists(NOTES, max_size=40))
def test_a_page_costs_fifty_tokens_and_a_line_five(
    style: str, own: list[str], pins: list[str], found: list[str]
) -> None:
    """Numbers of up to seven digits; nothing is to be said of these memories but what they say."""
    steady = [replace(item, lane="pinned") for item in items_of(own, origin="user", trust="high", pinned=True)]
    steady += [replace(item, lane="pinned") for item in items_of(pins, pinned=True)]
    text = page(STYLES[style], steady, items_of(found), [], lambda text: f"{hash(text) & 0xFFFFFFFF:x}").text
    texts = [*own, *pins, *found]
    assert frame_of(text, texts) <= PAGE + LINE * len(texts) if texts else text == ""


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(("budget", "share"), [(200, 0.60), (800, 0.75)])
@settings(max_examples=rounds(100, 0.03), deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 3), st.sampled_from(["user", "agent", "tool"]))
def test_of_a_full_budget_most_is_memory(
    budget: int, share: float, style: str, seed: int, pinned: int, origin: Any
) -> None:
    draw = random.Random(seed)
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(12, 26))) for _ in range(60)]
    with Memory(":memory:", embed="none") as memory:
        door = memory.through(replace(memory.access, origin=origin))
        door.remember_many({"text": f"lunch {text}", "pinned": n < pinned} for n, text in enumerate(texts))
        user = memory.through(replace(memory.access, origin="user"))
        for pair in memory.conflicts(limit=1000):  # words drawn at random may say so; to tell of it is no frame
            user.resolve(pair.a.id, pair.b.id, "both")
        context = memory.context("lunch", budget=budget, style=style, min_relevance=0, limit=60)
        told = sum(count_tokens(hit.record.text) for hit in context.items)
        assert context.tokens <= budget and context.left_out, "the budget is full"
        assert told >= share * context.tokens


@pytest.mark.parametrize("style", STYLES)
def test_nothing_found_is_no_text_at_all(style: str) -> None:
    with Memory(":memory:", embed="none") as memory:
        memory.remember("The crane in the harbour is yellow")
        context = memory.context("zebra stripes", style=style)
        assert (context.text, context.tokens, context.items) == ("", 0, ()) and context.empty_because


def test_one_hit_has_a_small_frame(memory: Memory) -> None:
    memory.remember("The crane in the harbour is yellow")
    text = memory.context("which colour has the crane?").text
    first, line, last = text.splitlines()
    assert first.startswith(REFERENCE) and last.startswith("End ") and line == "[1] The crane in the harbour is yellow"


# ---------------------------------------------------------------- what earns its tokens


def scored(*scores: float, chance: bool = True, pinned: bool = False) -> list[Item]:
    records = [changed(a_record(), id=f"m{n}", number=n, pinned=pinned) for n, _ in enumerate(scores)]
    why = {"relevance": 0.5} if chance else {}
    return [Item(Hit(record, score, why), "recall", record.text) for record, score in zip(records, scores, strict=True)]


def kept(
    lane: Lane, items: list[Item], costs: list[int] | None = None, tokens: int = 1000, asked: float = 0.0
) -> list[float]:
    found, lost = earning(lane, items, costs or [0] * len(items), tokens, asked)
    assert sorted(map(id, (*found, *lost))) == sorted(map(id, items))
    return [item.hit.score for item in found]


RECALL = Lane("recall", 1.0, least=0.35, of_best=0.4)


def test_beside_the_best_only_what_is_likely_to_matter_enters() -> None:
    assert kept(RECALL, scored(0.9, 0.6, 0.37, 0.3)) == [0.9, 0.6, 0.37]
    assert kept(RECALL, scored(0.95, 0.37)) == [0.95], "relative to the best"
    assert kept(RECALL, scored(0.2, 0.19)) == [0.2], "whether there is an answer was decided before"
    assert kept(RECALL, scored(0.06, 0.05)) == [], "the best of what is beside the point is beside the point"
    assert kept(RECALL, scored(0.06, pinned=True)) == kept(RECALL, scored(0.06, chance=False)) == [0.06]
    assert kept(RECALL, scored(9.0, 4.0, 3.0, chance=False)) == [9.0, 4.0], "a plain score is no chance"
    assert kept(Lane("recall", 1.0), scored(0.9, 0.01)) == [0.9, 0.01]
    assert kept(RECALL, scored(0.9, 0.01, pinned=True)) == [0.9, 0.01]
    assert kept(replace(RECALL, least=0.95), scored(0.9, 0.6), asked=0.95) == []
    assert kept(RECALL, []) == []


def test_what_takes_much_of_a_lane_needs_more_of_a_chance() -> None:
    assert kept(RECALL, scored(0.9, 0.4), [30, 30]) == [0.9, 0.4]
    assert kept(RECALL, scored(0.9, 0.4), [30, 300]) == [0.9]
    assert kept(RECALL, scored(0.9, 0.4), [30, 30], tokens=100) == [0.9]
    assert kept(RECALL, scored(0.9, 0.4), [900, 30]) == [0.9, 0.4], "the best may take what it needs"


SCORES = st.lists(st.floats(0, 1), max_size=12)


@given(SCORES, st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_stricter_lane_shows_a_part_of_what_a_milder_one_shows(
    scores: list[float], least: float, more: float, of_best: float
) -> None:
    mild, strict = sorted((least, more))
    some = kept(Lane("recall", 1.0, least=strict, of_best=of_best), scored(*scores))
    all = kept(Lane("recall", 1.0, least=mild, of_best=of_best), scored(*scores))
    assert set(some) <= set(all) and (not scores or max(scores) < strict / 4 or max(scores) in some)


def test_a_context_says_what_it_left_out_for_that_reason_and_the_caller_may_turn_it_off(memory: Memory) -> None:
    uncut = tuple(stage for stage in BALANCED.recall if not isinstance(stage, DropUnlikely))  # the lane is to decide
    memory.design = replace(BALANCED, recall=uncut, lanes=(Lane("pinned", 0.25), Lane("recall", 1.0, of_best=0.99)))
    memory.remember("The crane in the harbour is yellow")
    memory.remember("The harbour opens at six")
    memory.remember("Zebras have stripes", pinned=True)
    few = memory.context("which colour has the crane in the harbour?")
    assert {hit.record.number for hit in few.items} == {1, 3}
    assert any("[2] would not earn" in said for said in few.skipped) and "[1]" not in "".join(few.skipped)
    assert memory.get(2).id not in few.left_out, "there was room for it"
    all = memory.context("which colour has the crane in the harbour?", min_relevance=0)
    assert {hit.record.number for hit in all.items} == {1, 2, 3} and not all.skipped
    none = memory.context("which colour has the crane in the harbour?", min_relevance=1)
    assert {hit.record.number for hit in none.items} == {3}


@pytest.mark.parametrize("bad", [-0.1, 1.1, "high", True, float("nan")])
def test_a_relevance_that_is_none_is_refused(memory: Memory, bad: Any) -> None:
    with pytest.raises(Invalid, match="min_relevance"):
        memory.context("crane", min_relevance=bad)


def test_the_part_that_stays_the_same_does_not_age(memory: Memory, clock: MovableClock) -> None:
    door = memory.through(replace(memory.access, origin="user"))
    door.remember("Answer in German", kind="preference")
    memory.remember("Tabs, never spaces", pinned=True)
    young = memory.context("zebra")
    clock.move(days=2000)
    old = memory.context("zebra")
    assert young.text == old.text and young.stable == len(young.text)
