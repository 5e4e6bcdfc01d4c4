"""Test sets in the shapes of the public ones, small enough to count by hand: one store of notes, one conversation."""

import gzip
import json
from pathlib import Path
from typing import Any

AT = "2025-10-01T08:00:00+00:00"
SAID = {"m1": "The boiler man is Ossie, 0123 99", "m2": "Leo swims on Tuesdays", "m3": "The cat gets one pill"}
ASKED = [
    {"id": "q1", "text": "who is the boiler man?", "type": "same words", "gold": ["m1"], "old": [], "at": AT},
    {"id": "q2", "text": "thanks!", "type": "small talk", "gold": [], "old": [], "at": AT},
]
TALK = [("Ada", "I have a cat"), ("Bo", "It rains")]
QA = [
    {"question": "What pet does Ada have, a cat?", "evidence": ["D1:0"], "category": 4},
    {"question": "What dog does Ada have?", "evidence": [], "category": 5},
]


def notes(folder: Path) -> Path:
    memories = [{"id": id, "text": text, "kind": "fact", "at": AT} for id, text in SAID.items()]
    _write(folder / "notes-dev.json.gz", {"stores": [{"name": "home", "memories": memories, "questions": ASKED}]})
    near = ["The printer is on the second floor"]
    _write(folder / "notes-train.jsonl.gz", {"note": "The printer jams in wet weather", "near": near, "asks": []})
    return folder


def locomo(folder: Path) -> Path:
    turns = [{"dia_id": f"D1:{n}", "text": text, "speaker": who} for n, (who, text) in enumerate(TALK)]
    talk = {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"}
    _write(folder / "locomo-dev.json.gz", [{"sample_id": "conv-1", "conversation": talk, "qa": QA}])
    return folder


def _write(path: Path, content: Any) -> None:
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
