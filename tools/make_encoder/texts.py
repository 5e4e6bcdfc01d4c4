"""The texts that are shown to teacher and student: sentences, runs of them, loose words, notes, and all that as people type it."""

from __future__ import annotations

import gzip
import json
import lzma
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SEED = 11
MANUALS = (
    "science-docs",
    "django-docs",
    "postgresql-docs",
    "python-docs",
    "node-docs",
)  # there is more of them than of talk
MOST = 3_000_000
TYPED = 250_000
OFTEN = 6  # a note counts as so many texts: there are few of them, and they are what is asked about
ENDS = re.compile(r"(?<=[.!?])\s+|\n+")


def pieces(source: str, text: str, dice: random.Random) -> Iterator[str]:
    """A document's sentences, runs of two to four of them, and three to twelve loose words."""
    if (source == "templates" and dice.random() < 0.6) or (source in MANUALS and dice.random() < 0.4):
        return
    sentences = [part.strip() for part in ENDS.split(text) if len(part.strip()) > 2]
    for place, sentence in enumerate(sentences):
        if len(sentence) < 400:
            yield sentence
        if dice.random() < 0.35:
            yield " ".join(sentences[place : place + dice.randint(2, 4)])[:700]
        words = sentence.split()
        if len(words) > 5 and dice.random() < 0.6:
            first = dice.randrange(len(words) - 3)
            yield " ".join(words[first : first + dice.randint(3, 12)])


def strings(value: Any) -> Iterator[str]:
    """Every text in a line of notes: the note, what is asked about it, its neighbours. Labels are not used."""
    if isinstance(value, str):
        if len(value.split()) > 2:
            yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from strings(each)


def typed(text: str, dice: random.Random) -> str:
    """The same, typed in a hurry: no capitals, no full stop, perhaps a letter swapped, lost or doubled."""
    text = text.lower().rstrip(".")
    if dice.random() < 0.5 and len(text) > 8:
        at = dice.randrange(1, len(text) - 2)
        text = text[:at] + dice.choice([text[at + 1] + text[at], "", text[at] * 2]) + text[at + 2 :]
    return text


def all_texts(corpus: Path, packages: Path, notes: Path) -> list[str]:
    """Everything, shuffled. `corpus` is what `make_static_embedding/collect_text.py` wrote."""
    dice = random.Random(SEED)
    found: list[str] = []
    with lzma.open(corpus, "rt", encoding="utf-8") as lines:
        for line in lines:
            source, _, text = json.loads(line)
            found += pieces(source, text, dice)
    found += [line for line in gzip.decompress(packages.read_bytes()).decode().split("\n") if line]
    short = [text for text in found if 3 <= len(text.split()) <= 25]
    found += [typed(text, dice) for text in dice.sample(short, min(TYPED, len(short)))]
    own = [
        text for line in gzip.decompress(notes.read_bytes()).decode().splitlines() for text in strings(json.loads(line))
    ]
    found += own + [typed(text, dice) for text in own]
    found = list(dict.fromkeys(found)) + OFTEN * own
    dice.shuffle(found)
    return found[:MOST]
