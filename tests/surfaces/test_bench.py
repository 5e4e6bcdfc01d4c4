"""The benchmark is honest: public API only, a seeded text of its own, and it fails when a promise is not kept."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from memorist.bench.corpus import Corpus
from memorist.bench.speed import Measure, writing

BENCH = Path(__file__).parents[2] / "src" / "memorist" / "bench"


@pytest.mark.parametrize("path", sorted(BENCH.glob("*.py")), ids=lambda path: path.name)
def test_it_uses_the_public_api_only(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("memorist"):
            assert node.module == "memorist" or node.module.startswith("memorist.bench"), node.module
        if isinstance(node, ast.Attribute):
            assert not node.attr.startswith("_") or node.attr.startswith("__") or node.attr in dir_of_own(path), (
                node.attr
            )


def dir_of_own(path: Path) -> set[str]:
    """Private names that the benchmark's own classes define."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assigned = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
    return assigned | {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}


def test_the_same_seed_gives_the_same_text() -> None:
    assert list(Corpus(3).memories(5)) == list(Corpus(3).memories(5)) != list(Corpus(4).memories(5))
    assert Corpus(3).question() == Corpus(3).question()


def test_a_measure_knows_whether_its_promise_was_kept() -> None:
    assert Measure("a", 3.0, "×", 4.0).kept is True
    assert Measure("a", 5.0, "×", 4.0).kept is False
    assert Measure("a", 5.0, "per s", 4.0, at_least=True).kept is True
    assert Measure("a", 5.0, "bytes").kept is None


def test_writing_is_measured_beside_its_floor() -> None:
    empty, filled, many = writing(count=20)
    for ratio in (empty, filled):
        assert ratio.value > 0 and "against" in ratio.detail and ratio.limit == 4.0
    assert "from 0 memories" in empty.name and "from 100 memories" in filled.name and many.value > 0


def test_the_command_says_what_it_offers() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "memorist", "bench", "--help"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0 and "--quick" in done.stdout and "--json" in done.stdout
