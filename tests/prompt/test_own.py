"""A user's own design: lanes and parts in a file, and the job that advises on shares."""

from dataclasses import replace
from pathlib import Path

import pytest

from memorist import Memory
from memorist.design import Budget, Lane
from memorist.designs import DESIGNS
from memorist.designs.own import load, text_of
from memorist.errors import Invalid
from memorist.upkeep.suggest import FEWEST_RECEIPTS, TuneLanes

MINE = """
base = "balanced"
lanes = ["pinned", "task", "recall"]
inject = "core"
[lane.pinned]
share = 0.1
ceiling = 300
[lane.task]
share = 0.5
of = "rest"
floor = 50
[lane.recall]
of_above = 0
[budget]
tokens = 900
most = 2000
"""


def test_a_file_can_say_lanes_and_budget_and_is_written_as_it_was_read(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINE)
    design = load(tmp_path / "mine.toml")
    recall = replace(DESIGNS["balanced"].lanes[-1], of_above=0.0)
    assert design.lanes == (Lane("pinned", 0.1, 0, 300), Lane("task", 0.5, 50, None, "rest"), recall)
    assert (design.budget, design.inject) == (Budget(900, 0.08, 2000), "core")
    (tmp_path / "again.toml").write_text(text_of(design))
    assert replace(load(tmp_path / "again.toml"), name="mine") == design


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('lanes = ["attic"]', "lanes: there is no 'attic'; it is one of pinned, standing, decisions"),
        ('lanes = ["recall", "recall"]', "lanes names recall twice"),
        ("[lane.recall]\nshare = nan", "lane.recall.share must be a number from 0 to 1"),
        ("[lane.recall]\nfloor = -1", "lane.recall.floor must be a whole number from 0 to 1,000,000"),
        ('[lane.recall]\nceiling = "none"', 'lane.recall.ceiling must be .* or "off"'),
        ('[lane.recall]\nof = "everything"', "lane.recall.of must be total or rest"),
        ("[lane.recall]\nwidth = 5", "lane.recall has no key 'width'; keys are share, floor, ceiling, of, of_above"),
        ("[lane.attic]\nshare = 0.5", "lane.attic: lanes has no such name; it has pinned, preferences, recall"),
        ("lane = 5", "lane must be a table of tables"),
        ("[budget]\ntokens = -5", "budget.tokens must be a whole number"),
        ("budget = 5", "budget must be a table with tokens, share, most, hits, deadline"),
        ('inject = "always"', "inject must be pull or core or push"),
        ("[recall.triggered]\nmost = 11", "recall.triggered.most must be a whole number from 1 to 10"),
        ("[recall.blend]\nspare = 3", "recall.blend has no key 'spare'"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "mine.toml").write_text(f'base = "balanced"\n{text}')
    with pytest.raises(Invalid, match=words):
        load(tmp_path / "mine.toml")


@pytest.mark.covers("S0-24")
def test_the_job_proposes_shares_from_what_was_used_and_applies_nothing(memory: Memory) -> None:
    memory.design = replace(memory.design, upkeep=(TuneLanes(),))
    for n in range(4):
        memory.remember(f"Rule {n} for every prompt, in quite a few words", pinned=True)
    memory.remember("The harbour crane is yellow")

    def advice() -> str:
        return next(str(report.advice) for report in memory.upkeep() if report.verb == "tune_lanes")

    assert f"{FEWEST_RECEIPTS} are needed" in advice()
    for _ in range(FEWEST_RECEIPTS):
        memory.used(memory.context("which colour has the harbour crane?").receipt, ids=[5])
    before, advised = memory.design, advice()
    had, wanted = (float(word) for word in advised.partition("recall ")[2].split(";")[0].split(",")[0].split(" → "))
    assert "pinned" in advised and had < wanted <= had + 0.11, "what earned more gets more, a step at a time"
    assert memory.design == before and not [report for report in memory.upkeep() if report.changed]
