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
MOST = 3_600_000
TYPED = 250_000
OPENED, JOINED = 450_000, 150_000
OFTEN = 6  # a note counts as so many texts: there are few of them, and they are what is asked about
FRAGMENTS = 4  # of each note, twice
ENDS = re.compile(r"(?<=[.!?])\s+|\n+")
ASKING = (
    "when is|when did|where is|where did I put|where do we keep|what is|what was|what's the|which|who|who told me about|how do I|"
    "how do we|how much is|how many|do I need|do we have|can I|can we still|should I|is it ok to|does she like|does he need|"
    "did I ever|remind me about|remind me what|what did I say about|what do you know about|any idea why|why did|why does|"
    "what do we use for|what have we decided on|is there a rule for|who looks after|who do I call about|how often|how long does|"
    "what time is|what day is|what should I bring for|what should I avoid with|am I allowed to|what happened to|what happened with|"
    "tell me about|need the|looking for the|going to|I'm about to|thinking about|planning to|trying to|having trouble with|it says|"
    "can you|please|help me with|write something about|draft a message about|buying|booking|fixing|setting up|cleaning|deploying|"
    "testing|meeting"
).split("|")
NOTING = (
    "remember:|note:|fyi|from now on|always|never|we agreed that|I prefer|she prefers|he likes|my|our|the|don't|it turned out that|"
    "because of|since last week|apparently|decided:|rule:|careful:|the reason is that|we use|we keep|we moved to|no longer|the new|"
    "the old|mum says|the doctor said|the landlord said|boss wants"
).split("|")


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


def some_words(text: str, most: int, dice: random.Random) -> str:
    """A few words of it that stand together."""
    words, many = text.rstrip(".!?").split(), dice.randint(2, most)
    first = dice.randrange(max(1, len(words) - many + 1))
    return " ".join(words[first : first + many])


def opened(text: str, dice: random.Random) -> str:
    """A few words of a text behind what people begin a question or a note with. It need not make sense: the teacher says what it
    means."""
    words = some_words(text, 8, dice)
    if dice.random() < 0.65:
        made = f"{dice.choice(ASKING)} {words}{dice.choice(['?', ''])}"
    else:
        more = f", {dice.choice(NOTING)} {' '.join(text.split()[:3])}"
        made = f"{dice.choice(NOTING)} {words}{dice.choice(['.', '', more])}"
    return made.lower() if dice.random() < 0.5 else made


def of_notes(own: list[str], dice: random.Random) -> Iterator[str]:
    """Parts of notes, asked or bare, and notes that say two things."""
    for text in own:
        for _ in range(FRAGMENTS):
            words = some_words(text, 9, dice)
            yield f"{dice.choice(ASKING)} {words}" if dice.random() < 0.6 else words
        yield f"{text} {dice.choice(own)}"


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
    short = [text for text in found if 4 <= len(text.split()) <= 30]
    found += [opened(text, dice) for text in dice.sample(short, min(OPENED, len(short)))]
    found += [f"{dice.choice(short)} {dice.choice(short)}" for _ in range(JOINED)]
    found += 2 * list(of_notes(own, dice))
    dice.shuffle(found)
    return found[:MOST]
