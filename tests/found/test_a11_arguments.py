"""A11: every argument of `Memory()` and of the public values is checked, and no file is made for one that is wrong."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memorist import Access, Memory, designs
from memorist.design import Budget, Design, Due, Lane, Promotion
from memorist.errors import Invalid
from memorist.kinds import Kind
from memorist.prompt.modes import Profile
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.covers("A11")


class Place:
    def __init__(self, given: Any) -> None:
        self.given = given

    def __fspath__(self) -> Any:
        return self.given


@pytest.mark.parametrize("path", [object(), b"x.db", 5, 0, True, ["x.db"], Place(b"x.db"), bytearray(b"x.db")])
def test_a_path_is_a_text_or_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Invalid, match="must be a text or a Path"):
        Memory(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["", "  ", "\n", Place("")])
def test_an_empty_path_is_told(path: Any) -> None:
    with pytest.raises(Invalid, match="is empty"):
        Memory(path)


def test_anything_with_a_path_will_do(tmp_path: Path) -> None:
    with Memory(Place(str(tmp_path / "x.db"))) as memory:
        assert memory.status()["store"] == str(tmp_path / "x.db")


@pytest.mark.parametrize(
    "arguments",
    [
        {"project": 5},
        {"project": b"atlas"},
        {"space": 5},
        {"space": ""},
        {"space": "a\nb"},
        {"access": "admin"},
        {"access": object()},
        {"design": 5},
        {"design": "vibes"},
        {"design": object()},
        {"clock": None},
        {"clock": 5},
        {"count_tokens": "len"},
        {"count_tokens": None},
        {"kinds": ["recipe"]},
        {"kinds": {"recipe": {}}},
        {"kinds": {"recipe": Kind("other")}},
        {"embed": 5},
        {"embed": "vibes"},
        {"embed": object()},
        {"embed": HashEmbedder()},
        {"rerank": 5},
        {"wait": -1},
        {"wait": "30"},
        {"wait": True},
        {"wait": float("nan")},
        {"confirm": True},
        {"confirm": "yes"},
    ],
    ids=lambda given: "{}={}".format(*next((name, type(value).__name__) for name, value in given.items())),
)
def test_each_argument_of_a_memory_is_looked_at(tmp_path: Path, arguments: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as told:
        Memory(tmp_path / "x.db", **arguments)
    assert list(tmp_path.iterdir()) == [] and "Traceback" not in str(told.value)


def test_vectors_that_mean_nothing_stay_in_ram(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="mean nothing"):
        Memory(tmp_path / "x.json", embed=HashEmbedder())
    with Memory(":memory:", embed=HashEmbedder()) as memory:
        assert memory.remember("in RAM").outcome == "added"
    with Memory(tmp_path / "x.db", embed=HashEmbedder(on_files=True)) as memory:
        assert memory.remember("in a test").outcome == "added"


@pytest.mark.parametrize(
    ("make", "values"),
    [
        (Profile, {"name": ["x"], "tokens": -5}),
        (Profile, {"name": "x", "tokens": -5}),
        (Profile, {"name": "x", "tokens": 0}),
        (Profile, {"name": "x", "tokens": 1.5}),
        (Profile, {"name": "x", "policy": "vibes"}),
        (Profile, {"name": "x", "policy": None}),
        (Profile, {"name": ""}),
        (Profile, {"name": "x", "turns": -1}),
        (Profile, {"name": "x", "tags": "abc"}),
        (Profile, {"name": "x", "kinds": {"decision": 100}}),
        (Profile, {"name": "x", "kinds": ["decision"]}),
        (Profile, {"name": "x", "kinds": {"decision": "2"}}),
        (Access, {"reads": "project/*"}),
        (Access, {"writes": ["*"]}),
        (Access, {"reads": (5,)}),
        (Access, {"role": "king"}),
        (Access, {"role": []}),
        (Access, {"space": ""}),
        (Access, {"space": 5}),
        (Access, {"actor": None}),
        (Access, {"actor": ""}),
        (Access, {"surface": 5}),
        (Access, {"origin": "god"}),
        (Access, {"origin": None}),
        (Kind, {"name": "x", "importance": 2}),
        (Kind, {"name": "x", "weight": 50}),
        (Kind, {"name": "x", "weight": None}),
        (Kind, {"name": "x", "ttl_days": -1}),
        (Kind, {"name": "x", "half_life_days": 0}),
        (Kind, {"name": "x", "layer": "attic"}),
        (Budget, {"tokens": -5}),
        (Budget, {"share": 2}),
        (Budget, {"most": 0}),
        (Budget, {"tokens": "1500"}),
        (Lane, {"name": "pinned", "share": -0.1}),
        (Lane, {"name": "pinned", "share": 1.1}),
        (Lane, {"name": "", "share": 0.5}),
        (Lane, {"name": "pinned", "share": 0.5, "floor": -1}),
        (Lane, {"name": "pinned", "share": 0.5, "ceiling": 0.5}),
        (Lane, {"name": "pinned", "share": 0.5, "of": "all"}),
        (Due, {"uses": 0}),
        (Due, {"hours": -1}),
        (Due, {"hours": "24"}),
        (Due, {"on_open": "yes"}),
        (Promotion, {"mode": "vibes"}),
        (Promotion, {"preset": "vibes"}),
    ],
    ids=str,
)
def test_each_public_value_is_looked_at(make: Any, values: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        make(**values)


@pytest.mark.parametrize(
    "change",
    [
        {"inject": "shove"},
        {"conflicts": "fight"},
        {"name": ""},
        {"reads": "project"},
        {"recall": ("Gather",)},
        {"recall": None},
        {"lanes": ("pinned",)},
        {"budget": 1500},
        {"due": None},
        {"promotion": "auto"},
        {"upkeep": ("prune",)},
    ],
    ids=str,
)
def test_a_design_is_looked_at(change: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        replace(designs.BALANCED, **change)


@pytest.mark.parametrize("design", list(designs.DESIGNS.values()), ids=lambda design: design.name)
def test_what_is_built_in_is_right(design: Design) -> None:
    assert replace(design) == design


def test_files_are_texts_or_paths() -> None:
    with Memory(":memory:", design="curated") as memory:
        assert memory.remember("The parser is slow", files=[Path("a/b.py"), "c.py"], key="k").record.files == (
            "a/b.py",
            "c.py",
        )  # type: ignore[union-attr]
        assert memory.remember("The parser is slow", files=["a/b.py", "c.py"], key="k").outcome == "repeated"
        assert memory.recall("parser", files=[Path("a/b.py")]) and memory.context("parser", files=[Path("a/b.py")])
        assert memory.explain("parser", files=[Path("a/b.py")])
        with pytest.raises(Invalid, match="files must be"):
            memory.remember("x", files=Path("a/b.py"))  # type: ignore[call-overload]
        with pytest.raises(Invalid, match="one of the files must be text"):
            memory.remember("x", files=[Place(b"x")])
