"""Acceptance 22: without a model more than half of what matters is among the first five; a judge that knows makes nearly all of it
of the same pool, and shows nothing where nothing is needed. On a small set in the shape of the notes; the real figures are in
docs/LOG.md (`python -m tools.measure_association.judged`)."""

import gzip
import json
from pathlib import Path

import pytest

from bench.notes import stores
from small_sets import AT
from tools.measure_association import judged

NOTES = {
    "m1": "The boiler man is Ossie, 0123 99",
    "m2": "Leo swims on Tuesdays at half past four",
    "m3": "The cat gets one pill with her breakfast",
    "m4": "Staging runs Postgres 16",
    "m5": "We deploy on Mondays, never on Fridays",
    "m6": "Nadia moved to Leeds and works at the harbour office",
    "m7": "The spare key hangs behind the meter cupboard",
    "m8": "Dad is allergic to walnuts",
    "m9": "Rent is due on the third of the month",
    "m10": "The wifi password is on the back of the router",
    "m11": "Aunt Vera's birthday is on the ninth of June",
    "m12": "The invoice template lies in the folder Office",
}
ASKED: list[tuple[str, str, list[str]]] = [
    ("who is the boiler man?", "same words", ["m1"]),
    ("which database does staging run?", "same words", ["m4"]),
    ("when does Leo go swimming?", "paraphrase", ["m2"]),
    ("what medicine does the cat take?", "paraphrase", ["m3"]),
    ("can I ship this on Friday?", "inference", ["m5"]),
    ("where does my sister Nadia live now?", "paraphrase", ["m6"]),
    ("I locked myself out, is there another key?", "prompt", ["m7"]),
    ("baking a nut cake for dad", "inference", ["m8"]),
    ("when do I have to pay the rent?", "paraphrase", ["m9"]),
    ("how do guests get online, what is the wifi password?", "prompt", ["m10"]),
    ("when is Vera's birthday", "same words", ["m11"]),
    ("where do I find the invoice template", "same words", ["m12"]),
    ("who repairs bicycles around here?", "near", []),
    ("what is the capital of Peru?", "far", []),
    ("how tall is the Eiffel tower", "far", []),
    ("thanks!", "small talk", []),
    ("good morning, how are you?", "small talk", []),
]


def a_set(folder: Path) -> Path:
    memories = [{"id": id, "text": text, "kind": "fact", "at": AT} for id, text in NOTES.items()]
    questions = [
        {"id": f"q{n}", "text": text, "type": type, "gold": gold, "old": [], "at": AT}
        for n, (text, type, gold) in enumerate(ASKED)
    ]
    content = {"stores": [{"name": "home", "memories": memories, "questions": questions}]}
    file = folder / "notes-dev.json.gz"
    file.write_bytes(gzip.compress(json.dumps(content).encode()))
    return file


@pytest.mark.covers("N4-7", "N4-10", "C4-3")
def test_both_modes_reach_what_was_reported_and_a_judge_is_silent_where_nothing_is_needed(tmp_path: Path) -> None:
    found = judged.run(stores(a_set(tmp_path)))
    rules, oracle, down = found[judged.RULES], found[judged.ORACLE], found[judged.DOWN]
    assert rules["rec@5"] >= 53
    assert oracle["rec@5"] >= max(75, rules["rec@5"]) and oracle["precision"] == 100
    assert oracle["shown where none is needed"] == 0 and rules["shown where none is needed"] <= 1
    assert down["shown"] == 0, "a judge that is down"
