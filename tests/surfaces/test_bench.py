"""The benchmark is honest: public API only, a seeded text of its own, and it fails when a promise is not kept."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import memorist
from bench import speed
from bench.baselines import vectors_of
from bench.corpus import Corpus
from bench.floors import HybridFloor
from bench.growth import answering, growth
from bench.speed import Measure, transcripts, writing

pytestmark = pytest.mark.usefixtures("without_reader")
ROOT = Path(__file__).parents[2]
BENCH = ROOT / "bench"


# The last ones for the vectors of the plain ways beside us, for what looking for secrets costs by itself, and for files.
FILES = {"memorist.files.follow", "memorist.files.memory_md", "memorist.files.transfer"}
PUBLIC = {"memorist", "memorist.testing", "memorist.models.embed", "memorist.redact", *FILES}
OWN = [*sorted(BENCH.glob("*.py")), *(BENCH / "peers" / f"{name}.py" for name in ("memorist_peer", "prepare", "table"))]


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_it_uses_the_public_api_only(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "memorist":
            assert node.module in PUBLIC, node.module
            exported = {*memorist.__all__, "__version__"}
            named = {alias.name for alias in node.names}
            assert node.module != "memorist" or named <= exported
            assert node.module != "memorist.redact" or named == {"Redactor"}
        if isinstance(node, ast.Import):
            assert not [alias.name for alias in node.names if alias.name.startswith("memorist.")]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id != "__import__" and node.func.id != "import_module"
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
    assert len(Corpus(3).question().split()) == 12 and len(Corpus(3).prompt().split()) == 150


def test_a_measure_knows_whether_its_promise_was_kept() -> None:
    assert Measure("a", 3.0, "×", 4.0).kept is True
    assert Measure("a", 5.0, "×", 4.0).kept is False
    assert Measure("a", 5.0, "per s", 4.0, at_least=True).kept is True
    assert Measure("a", 5.0, "bytes").kept is None


def test_writing_is_measured_beside_its_floor() -> None:
    empty, filled, one, notes, turns = writing(count=20)
    for ratio in (empty, filled):
        assert ratio.value > 0 and "against" in ratio.detail and ratio.limit == 4.0
    assert "from 0 memories" in empty.name and "from 100 memories" in filled.name
    assert one.limit == 4 and one.unit == "ms CPU" and one.value > 0
    assert (notes.limit, turns.limit) == (700, 3000) and notes.at_least and turns.value > 0


def test_turns_with_files_are_measured() -> None:
    single, many = transcripts(count=10)
    assert "one by one" in single.name and "250 at once" in many.name
    for measure in (single, many):
        assert measure.value > 0 and measure.unit == "per CPU-second" and "disk included" in measure.detail


def test_asking_is_measured_beside_both_floors() -> None:
    vectors = vectors_of("static")[0]
    ours, prompt, words, both = answering([120], vectors)
    assert "150 words" in prompt.name and prompt.limit == 15
    assert ours.unit == "ms CPU p50" and "p95" in ours.detail
    assert "OR of all words," in words.name and "all vectors" in both.name and both.value > 0


def test_the_hybrid_floor_finds_by_word_and_by_meaning(tmp_path: Path) -> None:
    vectors = vectors_of("static")[0]
    assert vectors is not None
    floor = HybridFloor(tmp_path / "floor.db", vectors)
    floor.add_many(["The cat sleeps on the sofa", "Taxes are due in April"])
    floor.add_many(["Our kitten naps all day"])
    assert floor.search("a sleeping cat", 2) == ["The cat sleeps on the sofa", "Our kitten naps all day"]
    floor.close()


def test_growth_tells_time_memory_disk_and_what_guessing_loses() -> None:
    names = [measure.name.partition(",")[0] for measure in growth([200])]
    assert names == [
        "remember_many",
        "bytes per memory",
        "recall",
        "of the ten best of an exact search",
        "resident memory after ten recalls",
        "recall in one of 10 projects",
    ]


def test_the_command_says_what_it_offers() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--help"], capture_output=True, text=True, timeout=60, cwd=ROOT
    )
    assert done.returncode == 0 and "--quick" in done.stdout and "--json" in done.stdout


def test_a_server_that_does_not_start_ends_the_measuring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "LONGEST_START", 0.0)
    with pytest.raises(RuntimeError, match=r"hooks\.sock"):
        speed._wait_for(tmp_path / "hooks.sock")
