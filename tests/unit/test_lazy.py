"""Dataclasses that cost little to make behave as the others do."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from memorist.lazy import FIRST_VALUES, dataclass


@dataclass(frozen=True, slots=True)
class Ours:
    """A value."""

    name: str
    parts: tuple[str, ...] = ()
    more: dict[str, int] = dataclasses.field(default_factory=dict, hash=False)
    hidden: int = dataclasses.field(default=7, repr=False)

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("no name")


@dataclasses.dataclass(frozen=True, slots=True)
class Theirs:
    """The same, made by the standard library."""

    name: str
    parts: tuple[str, ...] = ()
    more: dict[str, int] = dataclasses.field(default_factory=dict, hash=False)
    hidden: int = dataclasses.field(default=7, repr=False)


@dataclass(frozen=True, slots=True)
class Wide:
    a: int
    b: int = 2
    c: int = 3
    d: int = 4
    e: int = 5
    f: int = 6


@dataclass(slots=True)
class Open:
    name: str
    many: list[int] = dataclasses.field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Longer(Ours):
    last: int | None = None


@dataclass(frozen=True, slots=True)
class Own:
    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own) and self.name.lower() == other.name.lower()


@pytest.mark.parametrize(
    "shown",
    [lambda kind: repr(kind("a", ("x",))).partition("(")[2], lambda kind: dataclasses.asdict(kind("a")),
     lambda kind: kind("a") == kind("a", more={"x": 1}), lambda kind: kind("a") == kind("b"),
     lambda kind: hash(kind("a", ("x",))), lambda kind: dataclasses.replace(kind("a"), name="b").name,
     lambda kind: [each.name for each in dataclasses.fields(kind)], lambda kind: kind.__match_args__, lambda kind: kind.__slots__,
     lambda kind: copy.copy(kind("a", ("y",))).parts,
     lambda kind: pickle.loads(pickle.dumps(kind("a", ("y",), {"z": 1}))).more, lambda kind: kind("a") == ("a", (), 7),
     lambda kind: kind("a").more is kind("a").more],
)  # fmt: skip
def test_they_are_what_the_standard_ones_are(shown: Callable[[Any], Any]) -> None:
    """From the first value on, and after many."""
    for _ in range(2 * FIRST_VALUES):
        assert shown(Ours) == shown(Theirs)


def test_what_is_frozen_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError, match="name"):
        Ours("a").name = "b"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="name"):
        del Ours("a").name
    with pytest.raises(ValueError, match="no name"):
        Ours("")
    with pytest.raises(TypeError, match=r"Ours.__init__\(\)"):
        Ours()  # type: ignore[call-arg]


def test_others_can_and_each_has_its_own_list() -> None:
    one, other = Open("a"), Open("a")
    one.many.append(1)
    assert one != other and Open.__hash__ is None
    one.many.clear()
    one.name = "b"
    assert one == Open("b")


def test_a_subclass_has_all_fields_and_is_not_its_parent() -> None:
    assert Longer("a", last=3).last == 3 and Longer("a") != Ours("a") and hash(Longer("a")) == hash(Longer("a"))


def test_what_a_class_says_itself_holds() -> None:
    assert Own("A") == Own("a") and isinstance(hash(Own("A")), int)


@pytest.mark.parametrize(
    "given",
    [((), {}), (("a", (), {}, 1, 2), {}), (("a",), {"name": "b"}), (("a",), {"nope": 1}), ((), {"parts": ()})],
)
def test_wrong_words_are_refused_in_the_same_words(given: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
    said = []
    for kind in (Ours, Theirs):
        with pytest.raises(TypeError) as problem:
            kind(*given[0], **given[1])
        said.append(str(problem.value).replace("Theirs", "Ours"))
    assert said[0] == said[1]


def test_what_a_class_takes_can_be_asked_before_a_value_was_made() -> None:
    @dataclass(frozen=True, slots=True)
    class Fresh:
        name: str
        parts: tuple[str, ...] = ()

    assert list(inspect.signature(Fresh).parameters) == ["name", "parts"]
    assert inspect.signature(Fresh).parameters["parts"].default == () and Fresh("a") == Fresh(name="a", parts=())
    assert str(inspect.signature(Ours)) == str(inspect.signature(Theirs)).replace("Theirs", "Ours")
    assert list(inspect.signature(Longer).parameters) == ["name", "parts", "more", "hidden", "last"]
    assert list(inspect.signature(Wide).parameters) == list("abcdef") and Wide(1) == Wide(1, 2, 3, 4, 5, 6)
    assert list(inspect.signature(Open).parameters) == ["name", "many"]


def test_a_value_that_can_be_called_tells_what_its_call_takes() -> None:
    @dataclass(frozen=True, slots=True)
    class Stage:
        name: str = "stage"

        def __call__(self, search: str, tools: int) -> None: ...

    assert list(inspect.signature(Stage()).parameters) == ["search", "tools"]
    assert list(inspect.signature(Stage).parameters) == ["name"]
