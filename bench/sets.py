"""What is asked of whom: the common shape of every test set, and where each is found.

A set is a few shelves, one per conversation or collection; a shelf holds documents and questions about them. The public
sets are read from a folder that the user names and are never part of the package; a set of our own, made from a seed, is
always there.
"""

import gzip
import hashlib
import json
import lzma
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Literal


@dataclass(frozen=True, slots=True)
class Document:
    """One thing to remember: a turn of a conversation, a fact, an abstract."""

    id: str
    text: str
    session: str | None = None
    role: str | None = None
    speaker: str | None = None
    at: datetime | None = None

    @property
    def said(self) -> str:
        """The text with its speaker in front, as plain tools would store it."""
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


@dataclass(frozen=True, slots=True)
class Question:
    """A question with what answers it. Without `gold` nothing here does; `at` is the moment of asking."""

    id: str
    text: str
    gold: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    category: str = ""
    at: datetime | None = None
    outdated: frozenset[str] = frozenset()  # what was true once and is not any more

    @property
    def answerable(self) -> bool:
        return bool(self.gold or self.sessions)


@dataclass(frozen=True, slots=True)
class Shelf:
    """One conversation or collection: what is remembered together and asked together."""

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class TestSet:
    """A set, how a user would store it (`kind`) and where they would look (`search`)."""

    __test__ = False  # pytest would take the name for a test

    name: str
    title: str
    shelves: tuple[Shelf, ...]
    kind: str = "turn"
    search: Literal["memory", "sessions", "sources"] = "sessions"
    by_session: bool = False  # also count whole sessions
    with_foreign: bool = False  # also ask each shelf what only others know
    tokenizer: str = "porter unicode61"  # of the plain word search beside us
    notes: Mapping[str, int] = field(default_factory=dict)  # what was left out, and how often
    remark: str = ""  # what a reader of the figures must know

    @property
    def documents(self) -> int:
        return sum(len(shelf.documents) for shelf in self.shelves)

    @property
    def questions(self) -> list[Question]:
        return [question for shelf in self.shelves for question in shelf.questions]


Loader = Callable[[Path], TestSet]
FILES = {
    "locomo": "locomo-dev.json.gz",
    "longmemeval": "longmemeval-s-dev.json.xz",
    "beam": "beam100k-dev.json.gz",
    "cranfield": "cranfield",
    "memdaily": "memdaily-dev.json.gz",
    "conflict": "conflict-dev.json.gz",
    "locomo-plus": "locomo-plus-dev.json.gz",
    "notes": "notes-dev.json.gz",
}
NAMES = ("synthetic", *FILES)


def load(name: str, data: Path) -> TestSet:
    """One set by its name; `FileNotFoundError` when the folder does not hold it."""
    if name == "synthetic":
        from bench.synthetic import synthetic

        return synthetic()
    from bench.loaders import LOADERS

    return LOADERS[name](data / FILES[name])


def half(test: TestSet, which: int | None) -> TestSet:
    """Every other shelf, beginning with the first or the second; a set of one shelf stays whole."""
    if which is None or len(test.shelves) == 1:
        return test
    return replace(test, title=f"{test.title}, half {which}", shelves=test.shelves[which - 1 :: 2])


def available(data: Path) -> list[str]:
    """The sets that can be run with this folder."""
    return ["synthetic", *(name for name, file in FILES.items() if (data / file).exists())]


def digest(name: str, data: Path) -> str:
    """Which data it was: half the SHA-256 of the set's file, or of a folder's files one after the other."""
    if name == "synthetic":
        return "made from a seed"
    place, total = data / FILES[name], hashlib.sha256()
    for file in sorted(place.iterdir()) if place.is_dir() else [place]:
        total.update(file.read_bytes())
    return f"sha256 {total.hexdigest()[:32]}"


def open_text(path: Path) -> IO[str]:
    return (lzma.open if path.suffix == ".xz" else gzip.open)(path, "rt", encoding="utf-8")


def read_json(path: Path) -> Any:
    with open_text(path) as file:
        return json.load(file)
