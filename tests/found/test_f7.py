"""F7: a note that changes an earlier one is noticed, and one that holds beside it is not taken for a change."""

import json
from pathlib import Path

import pytest

from memorist import Memory
from memorist.testing import MovableClock

PAIRS = [json.loads(line) for line in Path(__file__).with_name("f7.jsonl").read_text(encoding="utf-8").splitlines()]


def is_noticed(older: str, newer: str) -> bool:
    """Whether the newer note, of three days later, supersedes the older one or contradicts it."""
    clock = MovableClock()
    with Memory(":memory:", clock=clock) as memory:
        first = memory.remember(older).record
        clock.move(days=3)
        memory.remember(newer)
        assert first is not None
        return memory.get(first.id).state == "superseded" or bool(memory.conflicts())


@pytest.mark.parametrize(("relation", "least", "most"), [("replaces", 32, 40), ("both", 0, 4)])
def test_f7_of_pairs_of_notes_those_that_replace_are_told_from_those_that_both_hold(
    relation: str, least: int, most: int
) -> None:
    pairs = [(pair["older"], pair["newer"]) for pair in PAIRS if pair["relation"] == relation]
    noticed = [pair for pair in pairs if is_noticed(*pair)]
    assert len(pairs) == 40
    wrong = [pair for pair in pairs if (pair in noticed) != (relation == "replaces")]
    assert least <= len(noticed) <= most, "\n".join(" → ".join(pair) for pair in wrong)
