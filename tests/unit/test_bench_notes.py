"""The notes of the benchmark: what is counted, on a store that is small enough to count by hand."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest

import small_sets
from bench import baselines, notes
from bench.notes import Asked, Filled, Prompt
from bench.sets import Question, Shelf
from memorist import Hit, Memory


def question(type: str, *gold: str, old: tuple[str, ...] = ()) -> Question:
    return Question("q", "?", frozenset(gold), category=type, outdated=frozenset(old))


def test_what_is_counted() -> None:
    counted = notes.counted(
        [
            Asked(question("same words", "a"), ["a", "b"]),
            Asked(question("multi", "a", "b"), ["c", "b", "d", "e", "f"]),
            Asked(question("current", "b", old=("a",)), ["a", "b", "c"]),
            Asked(question("typo", "d"), []),
            Asked(question("near"), ["a"]),
            Asked(question("far"), []),
            Asked(question("small talk"), []),
        ]
    )
    assert counted == {
        "any@1": 25.0, "any@3": 75.0, "rec@5": 100 * (1 + 0.5 + 1 + 0) / 4, "precision": 30.0, "wrongly silent": 25.0,
        "outdated first": 100.0, "silent: near": 0.0, "silent: far": 100.0, "silent: small talk": 100.0,
    }  # fmt: skip


def test_a_store_is_asked_alone_and_in_a_crowd(tmp_path: Path) -> None:
    text, data = notes.run(small_sets.notes(tmp_path), "none", None)
    assert "With 2 notes of other worlds" in text and "200 tokens" in text and "800 tokens" in text
    assert "No sentence model was compared with: `--model-folder` names none" in text
    for part in ("alone", "crowded"):
        laws = data["laws"][part]
        assert laws == {"questions": 2, "relevance apart, at most": 0.0, "superset, percent": 100.0, "turned": 0}
    for part in ("alone", "crowded"):
        for way in ("memorist", "memorist, cut off", "words", "cosine of static-256"):
            assert data[part][way]["any@1"] == data[f"{part} by type"][way]["same words"]["any@1"] == 100.0, way
    prompt = data["prompts"]["memorist"][200]
    assert prompt["of what matters"] == 100.0 and 0 < prompt["tokens that are notes"] < 100


def test_a_sentence_model_is_compared_with_and_taken_into_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd:
        name, dimension, cheap = "odd@1234", 2, False

        def embed(self, texts: Sequence[str]) -> numpy.ndarray[Any, Any]:
            asked.extend(texts)
            return numpy.array([[("boiler" in text), 0.1] for text in texts], dtype=numpy.float32)

    asked: list[str] = []
    known = baselines._embedder
    monkeypatch.setattr(baselines, "_embedder", lambda name: Odd() if name == "onnx:there" else known(name))
    text, data = notes.run(small_sets.notes(tmp_path), "none", Path("there"))
    assert "No sentence model" not in text
    for way in ("memorist, odd", "memorist, cut off, odd", "cosine of odd"):
        assert data["alone"][way]["any@1"] == 100.0, way
    assert len(asked) == len(set(asked)), "each text is worked out once"


def test_a_folder_without_a_model_is_told(tmp_path: Path) -> None:
    text, _ = notes.run(small_sets.notes(tmp_path), "none", tmp_path / "nowhere")
    assert f"No sentence model was compared with: {tmp_path / 'nowhere'} names none" in text


def test_what_a_prompt_is_made_of() -> None:
    asked, silent = question("same words", "a", "b"), question("small talk")
    counted = notes._of_prompts(
        100, [Prompt(asked, 4, 1, 60, 90), Prompt(asked, 1, 1, 10, 50), Prompt(silent, 3, 0, 30, 60)]
    )
    assert counted == {
        "notes": 2.5, "matter": 40.0, "of what matters": 50.0, "tokens that are notes": 50.0,
        "the same where full": pytest.approx(200 / 3), "full": 50.0, "notes at near": 0.0, "notes at far": 0.0,
        "notes at small talk": 3.0,
    }  # fmt: skip


def test_a_score_that_depends_on_the_limit_is_told(tmp_path: Path) -> None:
    class Moody:
        """Surer of few than of many, and silent for one."""

        def recall(self, query: str, *, limit: int, at: object) -> list[Hit]:
            found = memory.recall("tea or coffee?", limit=5)
            return [Hit(hit.record, 0.5, {"relevance": 0.5 + limit / 100}) for hit in found][: max(0, limit - 4)]

    with Memory(":memory:", embed="none") as memory:
        memory.remember("Ada drinks tea")
        memory.remember("Bo drinks coffee")
        law = Filled(Moody(), Shelf("s", (), ()), {}).law(question("typo"))  # type: ignore[arg-type]
    assert (law.apart, law.superset, law.turned) == (pytest.approx(0.45), True, True)


def test_the_crowd_is_of_other_notes_each_once(tmp_path: Path) -> None:
    lines = [{"note": "a b", "near": ["c d", "a b"]}, {"old": "e f", "new": "g h", "ask": "?"}]
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    assert notes.crowd(tmp_path / "x.jsonl.gz") == ["a b", "c d", "e f", "g h"]
    assert notes.crowd(tmp_path / "x.jsonl.gz", 2) == ["a b", "e f"], "from the whole file, not from its beginning"
