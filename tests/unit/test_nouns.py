"""Nouns that are made quickly are nouns like all others."""

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, asdict, fields, replace
from datetime import UTC, datetime

import pytest

from memorist.lazy import FIRST_VALUES
from memorist.records import Hit, Provenance, Record, Times

NOW = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def not_the_first() -> None:
    """The first few of a class are made in another way."""
    for _ in range(FIRST_VALUES + 1):
        Hit(record(), 1.0), Provenance()


def record(**more: object) -> Record:
    return Record("m1", "main", "global", "fact", "Lunch is at noon", Times(NOW, NOW, NOW), **more)  # type: ignore[arg-type]


def test_they_are_frozen_and_equal_by_what_they_hold() -> None:
    assert type(record()) is Record
    assert record() == record(number=0)
    assert record() != record(number=1)
    assert hash(record()) == hash(record(data={"a": 1}))
    for noun in (record(), Hit(record(), 1.0), Provenance(), Times(NOW, NOW, NOW)):
        with pytest.raises(FrozenInstanceError):
            setattr(noun, fields(noun)[0].name, "another")


def test_they_are_copied_pickled_and_replaced() -> None:
    whole = record(number=7, tags=("a",), data={"b": [1]})
    assert copy.deepcopy(whole) == pickle.loads(pickle.dumps(whole)) == whole
    assert replace(whole, text="Lunch is at one").number == 7
    assert asdict(whole)["times"]["at"] == NOW


def test_what_is_left_out_is_made_anew_for_each() -> None:
    assert record().data == {} and record().data is not record().data
    assert record().counters.up == 0


def test_wrong_arguments_are_told_as_usual() -> None:
    with pytest.raises(TypeError, match=r"Record.__init__\(\) missing 5 required positional arguments: 'space'"):
        Record("m1")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        record(colour="red")
    assert list(inspect.signature(Record).parameters) == [field.name for field in fields(Record)]


def test_a_class_of_ones_own_may_follow_on_them() -> None:
    class Marked(Record):
        __slots__ = ()

    class Noted(Record):
        pass

    for kind in (Marked, Noted):
        for _ in range(FIRST_VALUES + 1):
            marked = kind("m1", "main", "global", "fact", "Lunch is at noon", Times(NOW, NOW, NOW))
            assert type(marked) is kind
            assert marked.text == "Lunch is at noon"
