"""C2: a date, a text in ISO form and a time without a zone are times too; in a batch an error names the draft."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from conftest import in_ram
from memorist import Draft, Memory
from memorist.errors import Conflict, Invalid
from memorist.records import utc
from memorist.seeds.items import moment_of
from memorist.testing import MovableClock

pytestmark = pytest.mark.covers("C2")

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
SUMMER = timezone(timedelta(hours=2))


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A computer that stands in Berlin."""
    if not hasattr(time, "tzset"):
        pytest.skip("this system keeps its zone elsewhere")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        yield
    time.tzset()


GIVEN = {
    "a datetime with a zone": datetime(2026, 5, 1, 14, tzinfo=SUMMER),
    "a datetime without one": datetime(2026, 5, 1, 14),
    "a text with a zone": "2026-05-01T12:00:00+00:00",
    "a text with Z": " 2026-05-01T12:00Z ",
    "a text without a zone": "2026-05-01 14:00",
}


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_what_has_no_zone_is_local_time(memory: Memory, given: Any) -> None:
    record = memory.remember("Staging runs Postgres 16", at=given, valid_from=given).record
    assert record is not None
    assert (record.times.at, record.times.valid_from) == (NOON, NOON)
    assert memory.remember_many([{"text": "Lunch is at noon", "at": given}])[0].record.times.at == NOON  # type: ignore[union-attr]
    assert utc(Draft("x", at=given).at or "") == NOON


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize("given", [date(2026, 5, 1), "2026-05-01", "20260501"])
def test_a_date_is_the_beginning_of_that_day(memory: Memory, given: Any) -> None:
    record = memory.remember("Staging runs Postgres 16", at=given).record
    assert record is not None and record.times.at == datetime(2026, 4, 30, 22, tzinfo=UTC)


@pytest.mark.usefixtures("berlin")
def test_every_verb_that_takes_a_time_takes_it_so(memory: Memory, clock: MovableClock) -> None:
    clock.set("2026-05-01T14:00")
    assert clock() == NOON
    memory.remember("Staging runs Postgres 15", valid_from=date(2026, 4, 1))
    clock.set(datetime(2026, 5, 10))
    memory.revise(1, "Staging runs Postgres 16")
    assert [hit.text for hit in memory.recall("staging", as_of="2026-05-02")] == ["Staging runs Postgres 15"]
    assert [hit.text for hit in memory.recall("staging", as_of=datetime(2026, 5, 11))] == ["Staging runs Postgres 16"]
    assert memory.recall("what did I say about staging last week?", at=date(2026, 5, 8), search="all")
    assert memory.revise(1, valid_to="2027-01-01").record.times.valid_to == datetime(2026, 12, 31, 23, tzinfo=UTC)  # type: ignore[union-attr]
    for around in (date(2026, 5, 1), "2026-05-01", "2026-05-01T00:00Z", datetime(2026, 5, 1)):
        assert [record.id for record in memory.timeline(around)] == [memory.get(1).id]
    assert memory.timeline(1) == memory.timeline("1") == memory.timeline(memory.get(1).id)
    for moment in (date(2026, 5, 1), "2026-05-01", datetime(2026, 5, 1), datetime(2026, 4, 30, 22, tzinfo=UTC)):
        assert memory.count({"at": {"$gte": moment}}) == 1 and memory.count({"at": {"$lt": moment}}) == 0


@pytest.mark.parametrize("given", ["yesterdayish", "", "2026-13-01", "2026-05-01T25:00"])
def test_a_text_that_is_no_time_is_told_with_an_example(memory: Memory, given: str) -> None:
    with pytest.raises(Invalid, match="at must be a time such as '2026-05-01'"):
        memory.remember("Staging runs Postgres 16", at=given)
    assert memory.count() == 0


@pytest.mark.parametrize("given", [5, 1.5, True, b"2026-05-01", [2026, 5, 1], timedelta(1)])
def test_what_is_no_time_at_all_is_told(memory: Memory, given: Any) -> None:
    with pytest.raises(Invalid, match="valid_to must be a datetime, a date or a text such as"):
        memory.remember("Staging runs Postgres 16", valid_to=given)


@pytest.mark.usefixtures("berlin")
def test_the_ends_of_the_calendar_are_told() -> None:
    for given in (datetime(1, 1, 1), date(1, 1, 1), datetime(9999, 12, 31, 23, 59), datetime(1, 1, 1, tzinfo=SUMMER)):
        try:
            assert utc(given).tzinfo is UTC
        except Invalid as problem:
            assert "a time" in str(problem)


# ---------------------------------------------------------------- batches


@in_ram
@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"text": "x", "at": "yesterdayish"}, "at must be a time"),
        ({"text": "x", "at": 5}, "at must be a datetime, a date"),
        ({"text": "x", "kind": "vibe"}, "there is no kind"),
        ({"text": "x", "sope": "global"}, "a draft has an unknown field 'sope'"),
        (5, "a draft must be a text"),
        ("", "the text is empty"),
    ],
)
@pytest.mark.parametrize("place", [1, 2, 300])
def test_in_a_batch_an_error_names_the_draft(memory: Memory, bad: Any, says: str, place: int) -> None:
    many: list[Any] = [f"Point {number} of the plan" for number in range(1, place + 2)]
    many[place - 1] = bad
    with pytest.raises(Invalid, match=f"^draft {place}: {says}"):
        memory.remember_many(many)


def test_one_draft_alone_needs_no_number(memory: Memory) -> None:
    with pytest.raises(Invalid, match=r"^the text is empty"):
        memory.remember("")


@pytest.mark.parametrize("given", ["Lunch is at noon", {"text": "Lunch is at noon"}, Draft("Lunch is at noon")])
def test_one_is_not_taken_for_many(memory: Memory, given: Any) -> None:
    with pytest.raises(Invalid, match="remember takes one"):
        memory.remember_many(given)


@pytest.mark.usefixtures("berlin")
def test_a_key_covers_the_moment_however_it_was_given(memory: Memory) -> None:
    first = memory.remember("Staging runs Postgres 16", at="2026-05-01T14:00", key="k")
    assert first.outcome == "added"
    for same in (
        "2026-05-01T14:00",
        "2026-05-01T12:00Z",
        datetime(2026, 5, 1, 14),
        datetime(2026, 5, 1, 12, tzinfo=UTC),
    ):
        assert memory.remember("Staging runs Postgres 16", at=same, key="k").outcome == "repeated"
    with pytest.raises(Conflict):
        memory.remember("Staging runs Postgres 16", at="2026-05-01T15:00", key="k")


@pytest.mark.usefixtures("berlin")
def test_what_waits_for_a_person_keeps_its_time(memory: Memory) -> None:
    asked = memory.remember("I prefer tea", kind="preference", scope="global", at=date(2026, 5, 1))
    assert asked.outcome == "needs_consent"
    memory.access = replace(memory.access, origin="user")
    done = memory.review(asked.pending, decide="approve")
    assert memory.get(done.id).times.at == datetime(2026, 4, 30, 22, tzinfo=UTC)  # type: ignore[union-attr,arg-type]


@pytest.mark.usefixtures("berlin")
def test_a_time_is_read_in_one_way(memory: Memory) -> None:
    """In a filter and from a founding document as in a verb: blanks around it do not matter, and it ends in UTC."""
    expected = datetime(2025, 12, 31, 23, tzinfo=UTC)
    memory.remember("New year", at=" 2026-01-01 ")
    assert memory.get(1).times.at == moment_of(" 2026-01-01 ") == expected
    assert memory.count({"at": " 2026-01-01 "}) == 1


def test_times_in_data_are_texts(memory: Memory) -> None:
    memory.remember("The lease ends", data={"on": date(2026, 5, 1), "at": datetime(2026, 5, 1, 12, tzinfo=UTC)})
    assert memory.get(1).data == {"on": "2026-05-01", "at": "2026-05-01T12:00:00+00:00"}
    assert (
        memory.count({"data.on": date(2026, 5, 1)})
        == memory.count({"data.at": {"$gt": datetime(2026, 5, 1, 11, tzinfo=UTC)}})
        == 1
    )
