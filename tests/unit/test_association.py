"""What was used together is tied, and a relation loosens while it is not used."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memorist import Memory
from memorist.design import Design
from memorist.designs import BALANCED, HEBBIAN
from memorist.recall.stages.cascade import Cascade
from memorist.recall.stages.keep import Believed
from memorist.records import Hit, Link, Record
from memorist.remember.strengthen import FIRST_USE, STRONGEST, TIED_AT_ONCE, credit
from memorist.scoring import LOOSEST, bond
from memorist.store.nouns import Commit
from memorist.testing import MovableClock

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def cascading(base: Design, stage: Cascade | None = None) -> Design:
    """The design with a cascade right behind what is believed."""
    place = next(n for n, each in enumerate(base.recall) if isinstance(each, Believed)) + 1
    recall = (*base.recall[:place], stage or Cascade(), *base.recall[place:])
    return replace(base, name="cascading", recall=recall, associates=True)


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(START)


@pytest.fixture
def here(clock: MovableClock) -> Memory:
    return Memory(":memory:", clock=clock, embed="none", design=cascading(HEBBIAN))


def numbers(hits: list[Hit]) -> list[int]:
    return [hit.number for hit in hits]


def told(memory: Memory, *texts: str, **more: object) -> list[int]:
    return [int(memory.remember(text, **more).number or 0) for text in texts]  # type: ignore[call-overload]


def tied_at_once(memory: Memory, links: list[Link]) -> None:
    """Very many links, and such as no verb makes, straight into the store."""
    store = memory._tools.store
    with store.transaction():
        store.write(Commit(links=links))


# ---------------------------------------------------------------- fading


@pytest.mark.covers("S1-19")
def test_a_relation_loosens_while_it_is_not_used_and_nothing_is_stored(here: Memory, clock: MovableClock) -> None:
    a, b = told(here, "The harbour crane needs a permit", "Forms lie with Oona")
    here.link(a, b, weight=0.8)
    assert here.related(a)[0].score == pytest.approx(0.56)
    clock.move(days=90)
    assert here.related(a)[0].score == pytest.approx(0.56 * 0.75)
    assert here.links(a)[0].weight == 0.8
    clock.move(days=9000)
    assert here.related(a)[0].score == pytest.approx(0.56 * LOOSEST)
    receipt = here.recall("harbour crane permit").receipt
    here.used(receipt, ids=[a, b])
    here._slices.join()
    assert here.related(a)[0].score > 0.56


def test_a_pinned_memory_does_not_loosen_a_relation(here: Memory) -> None:
    records = [here.get(each) for each in told(here, "One is here", "Two is there")]
    pinned: list[Record] = [replace(each, pinned=True) for each in records]
    later = START + timedelta(days=900)
    assert bond(*records, later) == pytest.approx(LOOSEST, abs=0.01) and bond(*pinned, later) == 1.0
    assert bond(*records, START - timedelta(days=9)) == 1.0


# ---------------------------------------------------------------- used together


@pytest.mark.covers("S1-19", "X23", "S4-25", "S4-6")
def test_what_was_used_together_is_tied_and_grows(here: Memory) -> None:
    a, b, c = told(here, "The harbour crane needs a permit", "A permit for a crane costs 90", "A crane is also a bird")
    weights = []
    for _ in range(12):
        receipt = here.recall("crane permit").receipt
        report = here.used(receipt, ids=[a, b])
        here._slices.join()
        here.used(receipt, ids=[a, b])  # which is counted once
        here._slices.join()
        [link] = here.links(a)
        weights.append(link.weight)
        assert link.evidence == f"used together {len(weights)}×, last: receipt {receipt}"
    assert weights[0] == FIRST_USE and weights == sorted(set(weights)) and weights[-1] < STRONGEST
    assert here.links(c) == []  # shown together is not used together
    before = here.links(a)[0]
    here.undo(report.batch)
    assert here.links(a)[0].weight == weights[-2] < before.weight
    assert here.audit().ok


@pytest.mark.covers("S1-19", "X23")
def test_feedback_ties_what_was_useful_for_one_question(here: Memory, clock: MovableClock) -> None:
    a, b, c = told(here, "The harbour crane needs a permit", "A permit for a crane costs 90", "A crane is also a bird")
    receipt = here.recall("crane permit").receipt
    here.feedback(a, "useful", receipt=receipt)
    here._slices.join()
    assert here.links(a) == []
    here.feedback(b, "useful", receipt=receipt)
    here._slices.join()
    here.feedback(c, "irrelevant", receipt=receipt)
    here._slices.join()
    assert [(link.kind, link.weight) for link in here.links(a)] == [("relates_to", FIRST_USE)]
    assert here.links(c) == []
    clock.move(minutes=5)  # what was useful when it was asked before is not used now
    other = here.recall("crane permit").receipt
    here.used(other, ids=[a])
    here._slices.join()
    here.feedback(c, "useful", receipt=other)
    here._slices.join()
    assert len(here.links(c)) == 1 and len(here.links(a)) == 2


@pytest.mark.covers("X23")
def test_only_a_design_that_asks_for_it_ties_what_was_used(clock: MovableClock) -> None:
    memory = Memory(":memory:", clock=clock, embed="none", design=HEBBIAN)
    told(memory, "The harbour crane needs a permit", "A permit for a crane costs 90")
    memory.used(memory.recall("crane permit").receipt, ids=[1, 2])
    assert memory.links(1) == [] and not HEBBIAN.associates and not BALANCED.associates


@pytest.mark.covers("S1-19", "S4-6")
def test_a_relation_made_by_hand_keeps_its_evidence_and_is_never_weakened(here: Memory) -> None:
    a, b, c = told(here, "The harbour crane needs a permit", "A permit for a crane costs 90", "A crane is also a bird")
    here.link(b, a, weight=0.5, evidence="the clerk said so")
    here.link(a, c, weight=1.0)
    here.used(here.recall("crane permit").receipt, ids=[a, b, c])
    here._slices.join()
    links = {frozenset((link.a, link.b)): link for link in here.links(a)}
    ends = {n: here.get(n).id for n in (a, b, c)}
    assert links[frozenset((ends[a], ends[b]))] == Link(ends[b], ends[a], "relates_to", 0.58, "the clerk said so")
    assert links[frozenset((ends[a], ends[c]))].weight == 1.0


def credited(memory: Memory, ids: list[str]) -> int:
    """How many relations a question makes for which these were of use."""
    receipt = memory.recall("what is here?").receipt
    memory._writer.flush()
    return credit(receipt, ids, memory._caller)


@pytest.mark.covers("S1-19")
def test_ties_of_one_answer_are_bounded_and_unknown_ids_are_left_out(here: Memory) -> None:
    many = [here.get(n).id for n in told(here, *(f"Thing {n} of many" for n in range(20)))]
    made = credited(here, [*many, "m0", "nothing"])
    assert made == TIED_AT_ONCE * (TIED_AT_ONCE - 1) // 2
    assert credited(here, ["m0", "nothing"]) == 0 == credited(here, [])
    here.forget(1)
    assert credited(here, many[:2]) == 0  # the first is no longer there


@pytest.mark.covers("S1-19")
def test_a_hub_gets_no_more_ties_by_use(here: Memory) -> None:
    [hub] = told(here, "The harbour crane needs a permit")
    leaves = here.remember_many(f"Leaf {n}" for n in range(70))
    id = here.get(hub).id
    tied_at_once(here, [Link(id, str(leaf.id), "relates_to", 0.1 + n / 1000) for n, leaf in enumerate(leaves[:65])])
    assert credited(here, [id, str(leaves[69].id)]) == 0
    assert credited(here, [id, str(leaves[64].id)]) == 1
