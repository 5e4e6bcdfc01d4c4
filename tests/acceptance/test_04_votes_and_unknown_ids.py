"""Row 4: a thousand reinforcements do not beat a clearly better match, and an unknown id is an error."""

import pytest

from memorist import Memory
from memorist.errors import NotFound

pytestmark = pytest.mark.covers("W1-2", "W1-5")


def test_a_thousand_reinforcements_do_not_beat_a_clearly_better_match(memory: Memory) -> None:
    popular = memory.remember("Postgres is mentioned here in passing").id
    better = memory.remember("Staging runs Postgres 16 on port 5433").id
    for _ in range(1000):
        memory.remember("Postgres is mentioned here in passing")
    assert popular is not None
    for _ in range(50):
        memory.feedback(popular, "useful")
    found = memory.recall("which port does Postgres use on staging?")
    assert found[0].record.id == better
    assert memory.get(popular).counters.strength == 1000


def test_votes_decide_between_equal_matches(memory: Memory) -> None:
    first = memory.remember("A hint about the deploy script, by Ann").id
    second = memory.remember("A hint about the deploy script, by Bob").id
    assert first and second
    memory.feedback(first, "useful")
    assert memory.recall("any hint about the deploy script?")[0].record.id == first
    for _ in range(6):
        memory.feedback(first, "wrong")
    assert memory.recall("any hint about the deploy script?")[0].record.id == second


@pytest.mark.parametrize("reference", ["m01zzzzzzzzzzzzzzzzzzzzzzzz", "999", 999, "zzzz", "", "x" * 1_000_000, "'; --"])
def test_an_unknown_id_is_an_error_on_every_verb(memory: Memory, reference: str | int) -> None:
    memory.remember("something else")
    verbs = [
        lambda: memory.get(reference),
        lambda: memory.feedback(reference, "useful"),
        lambda: memory.feedback(reference, "wrong"),
        lambda: memory.pin(reference),
        lambda: memory.forget(reference),
        lambda: memory.restore(reference),
        lambda: memory.revise(reference, "new"),
        lambda: memory.tag(reference, "x"),
        lambda: memory.history(reference),
        lambda: memory.link(reference, 1),
        lambda: memory.why_not(reference, "something"),
    ]
    for verb in verbs:
        with pytest.raises(NotFound, match="readable here"):
            verb()
    assert memory.count() == 1 and memory.get(1).counters.up == 0
