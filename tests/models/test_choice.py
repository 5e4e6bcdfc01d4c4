"""Which embedders there are, and what is checked of one on every call."""

import itertools
import logging
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest

from memorist import Memory
from memorist.errors import Invalid, ModelUnavailable
from memorist.models.embed import checked, checked_name, chosen
from memorist.surfaces import settings
from memorist.testing import HashEmbedder


@pytest.mark.covers("W2-7")
@pytest.mark.parametrize("name", ["hash", "fake", "mock", "memorist.testing", "hash-a-32@test", "", "Static", "static:64",
                                  "layered:64", "onnx:", "ftp://host/embeddings?model=x", "static-256"])  # fmt: skip
def test_no_other_name_is_an_embedder(name: str) -> None:
    with pytest.raises(Invalid, match="layered, static, none, onnx:FOLDER"):
        chosen(name)
    with pytest.raises(Invalid):
        Memory(":memory:", embed=name)
    with pytest.raises(Invalid):
        settings.set_setting("embed", name)


@pytest.mark.covers("W2-7")
def test_the_fake_one_needs_a_test_tool_to_be_imported_at_all() -> None:
    code = (
        "import sys; sys.modules['pytest'] = None\ntry: import memorist.testing\nexcept ImportError: print('refused')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "refused"
    src = Path(settings.__file__).parents[1]
    naming = [file for file in src.rglob("*.py") if "HashEmbedder" in file.read_text(encoding="utf-8")]
    assert {file.parent.name for file in naming} == {"testing"}


@pytest.mark.parametrize("name", ["static", "layered", "none", "onnx:/models/x",
                                  "https://h/v1/embeddings?model=m&key=A_KEY&dimensions=512"])  # fmt: skip
def test_these_names_are_embedders_and_nothing_is_opened_yet(name: str) -> None:
    assert checked_name(name) == name
    assert chosen(name).cheap == (name in ("static", "layered"))


@pytest.mark.parametrize(
    "name", ["\ud800x", "x" * 201, "x\x00y", "x\x1b[31m", "x\ny", "x\u202ey", None, 7, "none", " "]
)
def test_a_name_that_cannot_be_stored_or_shown_is_refused_at_once(name: Any) -> None:
    odd = HashEmbedder(on_files=True)
    odd.name = name
    with pytest.raises(Invalid, match="a model needs a name") as refused:
        Memory(":memory:", embed=odd)
    assert str(refused.value).isprintable() and len(str(refused.value)) < 250


def test_an_object_has_all_four_and_its_dimension_is_not_asked_for_early() -> None:
    class Costly(HashEmbedder):
        name = property(lambda self: 1 / 0, lambda self, value: None)
        dimension = property(lambda self: pytest.fail("a server was asked"), lambda self, value: None)

    with pytest.raises(Invalid, match="has no dimension"):
        chosen(type("Half", (), {"name": "half"})())
    with pytest.raises(Invalid, match=r"cannot be read \(ZeroDivisionError"):
        chosen(Costly())
    with Memory(":memory:", embed=type("Named", (Costly,), {"name": "named"})()) as memory:
        assert memory.count() == 0


@pytest.mark.parametrize("folder", ["~nosuchuser/x", "x" * 5000, "a\x00b", "/dev/null", "/"])
def test_a_folder_that_cannot_be_one_costs_only_meaning(folder: str, tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embed=f"onnx:{folder}") as memory:
        assert memory.remember("Heron at the weir").outcome == "added" and memory.recall("heron")
        said = memory.status()["embedder"]
        assert ("cannot be opened" in said or "holds no model" in said) and said.isprintable() and len(said) < 500
        assert memory.upkeep()


class Given:
    """Answers whatever it is given."""

    name, cheap = "given", True

    def __init__(self, answer: object, dimension: Any = 3) -> None:
        self.answer, self.dimension = answer, dimension

    def embed(self, texts: Sequence[str]) -> Any:
        return self.answer() if callable(self.answer) else self.answer


WRONG: dict[str, tuple[object, object, str]] = {
    "dimension": ([[1.0, 2.0]], 3, "shape"),
    "count": ([[1.0, 2.0, 3.0]] * 2, 3, "shape"),
    "nan": ([[1.0, float("nan"), 3.0]], 3, "not finite"),
    "ragged": ([[1.0], [1.0, 2.0]], 3, "rows of numbers"),
    "words": ([["a", "b", "c"]], 3, "rows of numbers"),
    "no dimension": ([[1.0]], None, "dimension None"),
    "unspeakable dimension": ([[1.0]], type("Mute", (), {"__repr__": lambda self: 1 / 0})(), "a very long Mute"),
    "fails": (lambda: 1 / 0, 3, "ZeroDivisionError"),
    "endless integers": ([[10**400, 1, 1]], 3, "rows of numbers"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_answer_is_refused_and_costs_nothing_but_meaning(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    answer, dimension, because = WRONG[kind]
    wrong = Given(answer, dimension)
    with pytest.raises(ModelUnavailable, match=because):
        checked(wrong, ["a text"])
    caplog.set_level(logging.WARNING, "memorist")
    with Memory(tmp_path / "wrong.db", embed=wrong) as poor:
        assert [poor.remember(f"Heron {n} nests at the weir").outcome for n in range(3)] == ["added"] * 3
        assert poor.recall("heron") and poor.revise(1, "Heron 1 nests at the mill") and poor.recall("mill")
        assert len([line for line in caplog.records if "found by words" in line.message]) == 1
        [report, *_] = poor.upkeep()
        assert report.verb == "embed" and "cannot be used" in str(report.advice)
        assert "cannot be used" in poor.status()["embedder"]
        assert poor.audit().ok and [finding.check for finding in poor.doctor() if not finding.ok] == ["embedder"]


def test_a_dimension_that_changes_costs_only_meaning(tmp_path: Path) -> None:
    class Turning(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> Any:
            return numpy.ones((len(texts), next(sizes)))

    sizes = itertools.chain([32] * 2, itertools.cycle((16, 32)))
    with Memory(tmp_path / "memory.db", embed=Turning(on_files=True)) as memory:
        for n in range(5):
            assert memory.remember(f"Heron {n} nests at the weir").outcome == "added" and memory.recall("heron")
        assert memory.status()["embedder"] and memory.audit().ok
        assert {each.dimension for each in memory._tools.store.generations()} == {32}


def test_lengths_are_made_equal_and_zeros_stay() -> None:
    rows = checked(Given([[3.0, 0.0, 4.0], [0, 0, 0], [1e100, 0, 0], [1e-100, 0, 0]]), ["a"] * 4)
    assert rows.dtype == numpy.float32
    assert rows.tolist() == [[pytest.approx(0.6), 0, pytest.approx(0.8)], [0, 0, 0], [1, 0, 0], [1, 0, 0]]
    assert checked(Given(numpy.zeros((0, 3))), []).shape == (0, 3)
