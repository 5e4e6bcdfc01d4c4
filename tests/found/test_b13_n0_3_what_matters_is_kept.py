"""B13, N0-3 and N0-8: a long memory lost its middle, whatever stood there; there was no ratio, no head and tail, no middle."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.design import Compression
from memorist.designs import BALANCED
from memorist.designs.own import load, text_of
from memorist.errors import Invalid
from memorist.prompt.render import shortened
from memorist.testing import MovableClock

IDLE = "It was a nice day and people talked about this and that for a while. "
STORY = "The release of spring began well. " + IDLE * 30 + "Never deploy the gateway on Fridays. " + IDLE * 30
STORY += "The port of `billing_api` is 8443. " + IDLE * 30 + "That was all."


@pytest.fixture
def memory(clock: MovableClock) -> Memory:
    return Memory(":memory:", project="atlas", clock=clock, embed="none")


@pytest.mark.covers("B13", "N0-3")
@pytest.mark.parametrize("mode", ["cheap", "balanced"])
def test_orders_names_and_what_was_asked_for_survive(memory: Memory, mode: str) -> None:
    memory.remember(STORY)
    text = str(memory.context("how did the release begin?", mode=mode, budget=3000))
    for kept in ("The release of spring began well.", "Never deploy the gateway on Fridays.", "`billing_api` is 8443"):
        assert kept in text
    assert "characters left out, memory 1 has them" in text and len(text) < 1800
    memory.remember(IDLE * 40 + "My aunt keeps bees behind the mill. " + IDLE * 40)
    assert "aunt keeps bees" in str(memory.context("who keeps bees?", mode=mode, budget=3000))


@pytest.mark.covers("B13", "N0-3")
def test_what_is_always_there_is_cut_the_same_whatever_is_asked(memory: Memory) -> None:
    memory.remember(STORY, pinned=True)
    made = [memory.context(question, mode="cheap", budget=3000) for question in ("nice day", "zebra", "who talked?")]
    assert len({each.text[: each.stable] for each in made}) == 1 and made[0].stable


@pytest.mark.covers("B13", "N0-3")
@pytest.mark.parametrize("longest", [240, 500, 1200])
def test_a_short_form_keeps_order_and_length(longest: int) -> None:
    for text in (
        STORY,
        "x" * 5000,
        "soup with bread " * 500,
        "a\n" * 4000,
        "\n# Title\n- one\n- two\n" * 300,
        "昼食。" * 2000,
    ):
        kept = shortened(text, longest, ["deploy"])
        assert kept and sum(map(len, kept)) <= longest
        place = 0
        for part in kept:
            place = text.index(part, place) + len(part)


@pytest.mark.covers("B13", "N0-8")
def test_a_ratio_says_how_much_of_a_long_memory_is_kept(memory: Memory) -> None:
    memory.remember(STORY)
    lengths = {}
    for ratio in (None, 0.5, 0.25):
        memory.design = replace(BALANCED, compression=Compression("max_quality", ratio))
        lengths[ratio] = len(str(memory.context("release", budget=9000))) / len(STORY)
    assert lengths[None] > 1 and 0.4 < lengths[0.5] < 0.6 and 0.2 < lengths[0.25] < 0.35
    memory.remember("The release is short")
    assert "The release is short" in str(memory.context("release", budget=9000, min_relevance=0)), (
        "a short one stays whole"
    )


@pytest.mark.covers("B13", "N0-8")
def test_the_middle_is_compressed_and_head_and_tail_are_whole(memory: Memory) -> None:
    memory.design = replace(BALANCED, compression=Compression("max_quality", None, 2, True))
    for n in range(9):
        memory.remember(f"Release {n}: " + IDLE * 10 + f"End of {n}.", importance=0.9 - n / 20)
    shown = str(memory.context("release", budget=9000, min_relevance=0)).split("\n[")[1:]
    assert ["left out" in each for each in shown] == [False] * 2 + [True] * 5 + [False] * 2
    memory.design = replace(BALANCED, compression=Compression("max_quality", None, 5, True))
    assert "left out" not in str(memory.context("release", budget=9000, min_relevance=0)), (
        "there are not more than head and tail"
    )


@pytest.mark.covers("B13", "N0-8")
def test_a_file_sets_them(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'base = "tiers"\n[compression]\nmode = "cheap"\nratio = 0.5\nhead_tail_preserve = 2\nmiddle_compress = true\n'
        '[budget]\nhits = 7\ndeadline = "off"\n'
    )
    design = load(tmp_path / "mine.toml")
    assert design.compression == Compression("cheap", 0.5, 2, True) and design.budget.hits == 7
    (tmp_path / "again.toml").write_text(text_of(design))
    assert replace(load(tmp_path / "again.toml"), name="mine") == design
    with Memory(":memory:", design=str(tmp_path / "mine.toml")) as memory:
        assert memory.context("anything").budget == 750, "half of it in mode cheap"
        assert memory.context("anything", mode="balanced").budget == 1500


@pytest.mark.covers("B13", "N0-8")
@pytest.mark.parametrize(
    "bad", [{"mode": "fast"}, {"ratio": 2}, {"head_tail_preserve": -1}, {"middle_compress": "yes"}]
)
def test_what_they_cannot_be_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        Compression(**bad)
