"""Cut documents into training texts of varied length, and texts into token ids."""

from __future__ import annotations

import json
import lzma
import random
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

SEED = 7
KINDS = ("sentence", "passage", "message", "crop", "token")
MARKUP = re.compile(r"^(?:[-*+>#|=\s]|\d+[.)]\s)+|[*`]{1,3}|\|", re.M)
ENDS = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])|\n+")


class Text(NamedTuple):
    source: str
    group: str
    kind: str
    text: str


def sentences(text: str) -> list[str]:
    found = (" ".join(MARKUP.sub("", part).split()) for part in ENDS.split(text))
    return [part for part in found if 3 <= len(part.split()) <= 120]


def texts_of(source: str, group: str, text: str) -> Iterator[Text]:
    """A document's sentences, runs of two to five of them, the start of the whole, and a few loose words."""
    dice = random.Random(f"{SEED} {group} {text[:200]}")
    parts = sentences(text)
    for part in parts:
        yield Text(source, group, "sentence", part)
        words = part.split()
        if len(words) >= 8 and dice.random() < 0.5:
            size = dice.randint(3, min(12, len(words) - 2))
            start = dice.randint(0, len(words) - size)
            yield Text(source, group, "crop", " ".join(words[start : start + size]))
    place = 0
    while len(parts) > 2 and place < len(parts) - 1:
        size = dice.randint(2, 5)
        yield Text(source, group, "passage", " ".join(parts[place : place + size]))
        place += size
    if len(parts) != 1 and len(text) < 20_000:
        yield Text(source, group, "message", text[:2500])


def neighbours(documents: list[list[str]]) -> Iterator[Text]:
    """Dictionary entries that stand together are about related things: runs of them are passages too."""
    dice = random.Random(SEED)
    entries = [(group, text) for source, group, text in documents if source == "wordnet"]
    place = 0
    while place < len(entries) - 1:
        size = dice.randint(2, 5)
        joined = "; ".join(text for _, text in entries[place : place + size])
        yield Text("wordnet", entries[place][0], "passage", joined)
        place += size


def _cut(lines: list[str]) -> list[Text]:
    documents = [json.loads(line) for line in lines]
    return [text for document in documents for text in texts_of(*document)] + list(neighbours(documents))


def all_texts(corpus: Path, workers: int) -> list[Text]:
    """Every training text once, in the order of the corpus."""
    lines = lzma.decompress(corpus.read_bytes()).decode().strip("\n").split("\n")
    chunks = [lines[start : start + 2000] for start in range(0, len(lines), 2000)]
    kept: dict[str, Text] = {}
    with ProcessPoolExecutor(workers) as pool:
        for found in pool.map(_cut, chunks):
            for text in found:
                kept.setdefault(text.text, text)
    return list(kept.values())
