"""The comparison with other products: one protocol for all, each part in its own process, one table at the end."""

import json
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import small_sets
from bench.peers import prepare

PEERS = Path(__file__).parents[2] / "bench" / "peers"
TABLE = [sys.executable, "-m", "bench.peers.table"]
ADAPTER = """
import sys
sys.path.insert(0, {peers!r})
from common import drive

class Plain:
    def __init__(self, folder, table):
        self.table, self.held = table, {{}}
    def add_many(self, project, ids, texts):
        self.held.setdefault(project, {{}}).update(zip(ids, texts))
    def add_one(self, project, id, text):
        self.add_many(project, [id], [text])
    def search(self, project, text, k):
        if project == "bad":
            raise RuntimeError("no such luck")
        asked = set(text.split())
        shared = lambda pair: -len(asked & set(pair[1].split()))
        return [id for id, _ in sorted(self.held[project].items(), key=shared)[:k]]

drive("plain", ["numpy"], Plain)
"""


def made(work: Path, project: str) -> None:
    shelf = {
        "name": project,
        "ids": ["1", "2"],
        "texts": ["red cup", "blue hat"],
        "questions": [{"text": "the hat", "gold": ["2"]}, {"text": "the cup", "gold": ["1"]}],
    }
    scale = [f"text {number}" for number in range(10_000)]
    asked = {"data": "abc", "depth": 2, "shelves": [shelf]}
    task = {
        "embedders": {"ours": "e"}, "model": None, "locomo": asked, "notes": asked, "scale_texts": scale,
        "scale_questions": ["text 7", "text 8"],
    }  # fmt: skip
    (work / "task.json").write_text(json.dumps(task))
    (work / "texts.json").write_text(json.dumps(["red cup"]))
    numpy.save(work / "ours.npy", numpy.ones((1, 4), dtype=numpy.float32))


def run(work: Path, name: str) -> dict[str, object]:
    script = work / "adapter.py"
    script.write_text(ADAPTER.format(peers=str(PEERS)))
    result = work / f"{name}.result.json"
    subprocess.run([sys.executable, str(script), str(work), str(result)], check=True, timeout=120)
    found: dict[str, object] = json.loads(result.read_text())
    return found


def test_a_peer_is_asked_filled_and_timed(tmp_path: Path) -> None:
    made(tmp_path, "good")
    found = run(tmp_path, "chromadb")
    assert found["locomo"] == {**found["locomo"], "questions": 2, "rec@10": 100.0, "all@10": 100.0}  # type: ignore[dict-item]
    assert found["notes"] == {**found["notes"], "questions": 2, "any@1": 100.0, "rec@5": 100.0}  # type: ignore[dict-item]
    assert "notes, other" not in found, "there are no vectors of another model"
    first, second = found["scale"]  # type: ignore[misc]
    assert (first["reached"], second["reached"]) == (1_000, 10_000) and second["rss_mb"] > 1


def test_every_peer_is_asked_again_with_the_vectors_of_another_model(tmp_path: Path) -> None:
    made(tmp_path, "good")
    numpy.save(tmp_path / "MiniLM.npy", numpy.ones((1, 4), dtype=numpy.float32))
    found = run(tmp_path, "chromadb")
    assert found["notes, other"]["any@1"] == found["locomo, other"]["rec@10"] == 100.0  # type: ignore[index]
    subprocess.run([*TABLE, str(tmp_path), str(tmp_path)], check=True, timeout=60, cwd=PEERS.parents[1])
    page = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    assert page.count("with MiniLM") == 2 and "100.0 · 100.0 · 100.0" in page


def test_a_peer_that_fails_is_told_in_the_table(tmp_path: Path) -> None:
    made(tmp_path, "bad")
    assert run(tmp_path, "chromadb")["locomo"] == {"failed": "RuntimeError: no such luck"}
    subprocess.run([*TABLE, str(tmp_path), str(tmp_path)], check=True, timeout=60, cwd=PEERS.parents[1])
    page = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    assert "no such luck" in page and "lancedb (not installed)" in page and "10,000" in page


def test_what_was_said_with_other_vectors_is_left_out(tmp_path: Path) -> None:
    made(tmp_path, "good")
    run(tmp_path, "chromadb")
    task = json.loads((tmp_path / "task.json").read_text())
    (tmp_path / "task.json").write_text(json.dumps(task | {"embedders": {"ours": "newer"}}))
    run(tmp_path, "lancedb")
    subprocess.run([*TABLE, str(tmp_path), str(tmp_path)], check=True, timeout=60, cwd=PEERS.parents[1])
    page = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    assert page.count("\n| plain (numpy") == 1 and "plain (only with other vectors or questions)" in page


def test_vectors_are_kept_for_the_same_model_and_texts(tmp_path: Path) -> None:
    made(tmp_path, "good")
    assert prepare._known(tmp_path, "ours", "e", ["red cup"])
    assert not prepare._known(tmp_path, "ours", "other model", ["red cup"])
    assert not prepare._known(tmp_path, "ours", "e", ["red cup", "blue hat"])
    assert not prepare._known(tmp_path, "MiniLM", "e", ["red cup"]), "there are none"


def test_what_the_peers_are_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, work = small_sets.locomo(small_sets.notes(tmp_path)), tmp_path / "work"
    monkeypatch.setattr(prepare, "LARGEST", 5)
    monkeypatch.setattr(sys, "argv", ["prepare", str(data), str(work)])
    prepare.main()
    task = json.loads((work / "task.json").read_text(encoding="utf-8"))
    (talk,), (home,) = task["locomo"]["shelves"], task["notes"]["shelves"]
    assert talk["texts"] == ["Ada: I have a cat", "Bo: It rains"] and task["locomo"]["depth"] == 10
    assert home["name"] == "notes-home" and task["notes"]["depth"] == 5
    assert [q["gold"] for q in (*talk["questions"], *home["questions"])] == [["D1:0"], ["m1"]], (
        "only what has an answer"
    )
    texts = json.loads((work / "texts.json").read_text(encoding="utf-8"))
    assert len(numpy.load(work / "ours.npy")) == len(texts) == len(set(texts)) and task["model"] is None
    assert not (work / "MiniLM.npy").exists() and {*home["texts"], *talk["texts"]} <= {*texts}
