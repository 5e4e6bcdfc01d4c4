"""The notes of the benchmark: what is counted, on a store that is small enough to count by hand."""

import gzip
import json
from pathlib import Path

from bench import notes
from bench.notes import Asked
from bench.sets import Question

AT = "2025-10-01T08:00:00+00:00"


def question(type: str, *gold: str, old: tuple[str, ...] = ()) -> Question:
    return Question("q", "?", frozenset(gold), category=type, outdated=frozenset(old))


def test_what_is_counted() -> None:
    counted = notes._counted(
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
    said = {"m1": "The boiler man is Ossie, 0123 99", "m2": "Leo swims on Tuesdays", "m3": "The cat gets one pill"}
    store = {
        "name": "home",
        "memories": [{"id": id, "text": text, "kind": "fact", "at": AT} for id, text in said.items()],
        "questions": [
            {"id": "q1", "text": "who is the boiler man?", "type": "same words", "gold": ["m1"], "old": [], "at": AT},
            {"id": "q2", "text": "thanks!", "type": "small talk", "gold": [], "old": [], "at": AT},
        ],
    }
    train = {"note": "The printer jams in wet weather", "near": ["The printer is on the second floor"], "asks": []}
    (tmp_path / "notes-dev.json.gz").write_bytes(gzip.compress(json.dumps({"stores": [store]}).encode()))
    (tmp_path / "notes-train.jsonl.gz").write_bytes(gzip.compress(json.dumps(train).encode()))
    text, data = notes.run(tmp_path, "none", None)
    assert "With 2 unrelated notes" in text and "200 tokens" in text and "800 tokens" in text
    for part in ("alone", "crowded"):
        assert data[part]["memorist"]["any@1"] == data[part]["words"]["any@1"] == 100.0


def test_the_crowd_is_of_other_notes_each_once(tmp_path: Path) -> None:
    lines = [{"note": "a b", "near": ["c d", "a b"]}, {"old": "e f", "new": "g h", "ask": "?"}]
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    assert notes.crowd(tmp_path / "x.jsonl.gz") == ["a b", "c d", "e f", "g h"]
    assert notes.crowd(tmp_path / "x.jsonl.gz", 2) == ["a b", "c d"]
