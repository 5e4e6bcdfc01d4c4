"""Shown, used, rejected, voted for and against: five different things. Only use resets a clock, once for each receipt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist import Memory
from memorist.access import access_for
from memorist.errors import Invalid, NotFound
from memorist.scoring import votes
from memorist.testing import MovableClock
from memorist.text.twins import used_in

SHOWN = {
    1: "Staging runs Postgres 16 on the blue cluster",
    2: "Production runs Postgres 15 on the green cluster",
    3: "Lunch is at noon in the canteen",
    4: "The payments HMAC signs an empty body as ''",
    5: "デプロイは金曜日に禁止されています",
}
QUESTION = "Which database runs in staging?"


@pytest.mark.parametrize(
    ("answer", "used"),
    [
        ("Staging runs Postgres 16 on the blue cluster.", {1}),
        ("It is Postgres 16, on the blue cluster", {1}),
        ("I do not know which database runs in staging.", set()),
        ("Which database runs in staging? I would have to look it up.", set()),
        ("Let me check the cluster.", set()),
        ("See [id:3].", {3}),
        ("See [id:999] and [id:3]", {3}),
        ("Sign an empty body as '' before the HMAC of payments is compared", {4}),
        ("Lunch today is fish.", set()),
        ("デプロイは金曜日に禁止されています。", {5}),
        ("", set()),
    ],
)
def test_use_is_told_by_what_a_text_adds_to_the_question(answer: str, used: set[int]) -> None:
    assert set(used_in(answer, SHOWN, QUESTION)) == used


def test_a_quote_from_a_long_text_is_use() -> None:
    long = (
        "The history of the harbour is long. " * 3
        + "In 1931 a yellow crane fell into the basin. "
        + "Boats came later. " * 30
    )
    assert used_in("Indeed: in 1931 a yellow crane fell into the basin!", {9: long}) == {9: "the answer quotes it"}
    assert used_in("A crane fell.", {9: long}) == {}


@given(
    st.text(max_size=200), st.dictionaries(st.integers(1, 50), st.text(max_size=100), max_size=5), st.text(max_size=50)
)
def test_any_text_can_be_compared(answer: str, shown: dict[int, str], query: str) -> None:
    assert set(used_in(answer, shown, query)) <= set(shown)


@pytest.fixture
def asked(memory: Memory) -> tuple[Memory, str]:
    memory.remember("Staging runs Postgres 16 on the blue cluster")
    memory.remember("Staging was rebuilt in Oslo by Ann")
    return memory, memory.context("what runs in staging?").receipt


@pytest.mark.covers("X9", "W3-9")
def test_only_use_resets_the_clock_and_shown_is_not_used(asked: tuple[Memory, str], clock: MovableClock) -> None:
    memory, receipt = asked
    assert memory.get(1).counters.surfaced == 1
    assert memory.get(1).counters.used == 0 and memory.get(1).times.used is None
    clock.move(days=2)
    report = memory.used(receipt, "It is Postgres 16 on the blue cluster")
    assert [each.number for each in report.changed] == [1] and report.verb == "used"
    record = memory.get(1)
    assert (record.counters.used, record.times.used, record.counters.up) == (1, clock(), 0)
    assert memory.get(2).counters.used == 0 and memory.get(2).times.used is None
    assert [event.verb for event in memory.history(1)][-2:] == ["used", "learnt"], "of the memory, and of the question"


@pytest.mark.covers("X9")
def test_the_five_events_are_five_different_counts(asked: tuple[Memory, str], clock: MovableClock) -> None:
    memory, receipt = asked
    clock.move(days=1)
    for verdict, counted in (("wrong", "down"), ("irrelevant", "rejected")):
        before = memory.get(2).counters
        memory.feedback(2, verdict)
        after = memory.get(2).counters
        assert getattr(after, counted) == getattr(before, counted) + 1
        assert memory.get(2).times.used is None, "who was no use keeps the old clock"
    memory.feedback(2, "useful")
    assert (memory.get(2).counters.up, memory.get(2).counters.used) == (1, 1) and memory.get(2).times.used == clock()
    memory.used(receipt, ids=[1])
    counters = memory.get(1).counters
    assert (counters.used, counters.up, counters.down, counters.rejected) == (1, 0, 0, 0)


@pytest.mark.covers("X9")
def test_a_use_is_counted_once_for_each_receipt_and_can_be_undone(
    asked: tuple[Memory, str], clock: MovableClock
) -> None:
    memory, receipt = asked
    first = memory.used(receipt, ids=[1])
    clock.move(hours=1)
    again = memory.used(receipt, "Postgres 16 on the blue cluster, see [id:1]")
    assert not again.changed and "counted already" in next(iter(again.left.values()))
    assert memory.get(1).counters.used == 1 and memory.get(1).times.used != clock()
    other = memory.recall("what runs in staging?").receipt
    memory.used(other, ids=["1"])
    assert memory.get(1).counters.used == 2, "a recall's receipt counts too"
    memory.undo()
    assert memory.get(1).counters.used == 1
    memory.undo(first.batch)
    assert (memory.get(1).counters.used, memory.get(1).times.used) == (0, None)


@pytest.mark.covers("X9", "W1-2")
def test_use_is_bounded_and_changes_no_trust(memory: Memory) -> None:
    memory.remember("The gateway listens on port 8080 behind the proxy")
    memory.remember("The harbour is one of the oldest ports")
    trust = memory.get(2).trust
    for _ in range(30):
        memory.used(memory.context("ports").receipt, ids=[2])
    assert memory.get(2).counters.used == 30 and memory.get(2).trust == trust
    assert votes(memory.get(2), memory.get(2).times.created, {}) == 1.0
    assert memory.recall("gateway port behind the proxy")[0].record.number == 1


def test_what_was_not_shown_cannot_have_been_used(asked: tuple[Memory, str]) -> None:
    memory, receipt = asked
    memory.remember("Lunch is at noon")
    with pytest.raises(Invalid, match="was not shown under this receipt; it showed"):
        memory.used(receipt, ids=[3])
    with pytest.raises(Invalid, match="give the answer, or the ids"):
        memory.used(receipt)
    with pytest.raises(NotFound):
        memory.used(receipt, ids=[99])
    with pytest.raises(Invalid, match="an answer must be text"):
        memory.used(receipt, 5)  # type: ignore[arg-type]
    nothing = memory.used(receipt, "I would not know.")
    assert not nothing.changed and "shows no use" in str(nothing.advice)


def test_a_reader_uses_nothing_up(asked: tuple[Memory, str]) -> None:
    memory, _ = asked
    reader = memory.through(access_for("reader", "project/atlas"))
    report = reader.used(reader.context("what runs in staging?").receipt, ids=[1])
    assert not report.changed and "may not write" in next(iter(report.left.values()))
