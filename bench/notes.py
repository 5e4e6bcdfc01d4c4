"""Short notes, asked with the messages people type: what most stores hold, and what people feel.

Beside the usual measures it counts what a reader has to wade through: hits that do not matter, answers to what nothing here
answers (*near* the topic, *far* from it, *small talk*), outdated facts before current ones; and of a prompt how much of it is
memory that matters. Each store is asked alone, and with unrelated notes beside its own.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from bench import report
from bench.baselines import Baselines, Embed
from bench.quality import tokens
from bench.sets import Document, Question, Shelf, digest, open_text, read_json
from bench.speed import folder
from memorist import Memory

LIMIT = 5  # hits asked for
BUDGETS = (200, 800)  # tokens of a prompt
CROWD = 2000  # unrelated notes
SILENT = ("near", "far", "small talk")  # types that nothing here answers
TYPES = ("same words", "paraphrase", "inference", "multi", "current", "prompt", "typo")


@dataclass(frozen=True, slots=True)
class Asked:
    """What one question brought: the ids of notes, best first."""

    question: Question
    ids: Sequence[str]
    cpu_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a prompt for one question held: how many notes, how many of them matter, and its tokens."""

    question: Question
    notes: int
    matter: int
    memory: int  # tokens of the notes' own texts
    whole: int


@dataclass(slots=True)
class Way:
    name: str
    asked: list[Asked] = field(default_factory=list)
    prompts: dict[int, list[Prompt]] = field(default_factory=dict)


# ---------------------------------------------------------------- the stores


def stores(path: Path) -> list[tuple[Shelf, dict[str, str]]]:
    """Each store with its notes and questions, and the kinds of its notes."""
    return [_store(each) for each in read_json(path)["stores"]]


def _store(store: Any) -> tuple[Shelf, dict[str, str]]:
    documents = tuple(Document(m["id"], m["text"], at=datetime.fromisoformat(m["at"])) for m in store["memories"])
    questions = tuple(
        Question(
            q["id"], q["text"], frozenset(q["gold"]), category=q["type"], at=datetime.fromisoformat(q["at"]),
            outdated=frozenset(q["old"]),
        )
        for q in store["questions"]
    )  # fmt: skip
    return Shelf(store["name"], documents, questions), {m["id"]: m["kind"] for m in store["memories"]}


def crowd(path: Path, count: int = CROWD) -> list[str]:
    """Notes of other worlds than those asked about."""
    return list(islice(dict.fromkeys(_others(path)), count))


def _others(path: Path) -> Iterator[str]:
    with open_text(path) as lines:
        for line in map(json.loads, lines):
            yield from (line[name] for name in ("note", "old", "new") if isinstance(line.get(name), str))
            yield from line.get("near", ())


# ---------------------------------------------------------------- asking


def run(data: Path, embed: str | None, vectors: Embed | None) -> tuple[str, dict[str, Any]]:
    """Everything counted on the notes, for people and as data."""
    path = data / "notes-dev.json.gz"
    held, beside = stores(path), crowd(data / "notes-train.jsonl.gz")
    alone = list(_ways(held, (), embed, vectors))
    crowded = list(_ways(held, beside, embed, vectors))
    text = "\n".join(
        [
            f"### Notes-dev: {len(held)} stores of short notes ({digest('notes', data)})", "",
            "Five hits asked for, in percent. *precision*: of the hits, those that matter; *silent*: answered with nothing; "
            "*outdated first*: of the questions about a fact that changed.", "",
            _table(alone), "",
            f"With {len(beside):,} unrelated notes beside them:", "", _table(crowded), "",
            "any@1 · any@3 · rec@5 by type (alone):", "", _types(alone), "",
            "What `context` puts into a prompt (ours, alone): of the notes in it, those that matter; of its tokens, those of "
            "notes; notes put in where nothing answers.", "", _prompts(alone[0]),
        ]
    )  # fmt: skip
    parts = {"alone": alone, "crowded": crowded}
    return text + "\n", {name: {way.name: _counted(way.asked) for way in ways} for name, ways in parts.items()}


def _ways(
    held: Sequence[tuple[Shelf, dict[str, str]]], beside: Sequence[str], embed: str | None, vectors: Embed | None
) -> Iterator[Way]:
    ours, plain = Way("memorist"), dict[str, Way]()
    for shelf, kinds in held:
        with folder() as place:
            _ask(shelf, kinds, beside, Memory(place / "notes.db", project="notes", embed=embed), ours)
        whole = Shelf(shelf.name, (*shelf.documents, *(Document(f"x{n}", t) for n, t in enumerate(beside))), ())
        found = Baselines.of(whole, "porter unicode61", vectors)
        for question in shelf.questions:
            for name, ids in found.rankings(question, LIMIT).items():
                plain.setdefault(name, Way(name)).asked.append(Asked(question, ids))
    yield ours
    yield from plain.values()


def _ask(shelf: Shelf, kinds: dict[str, str], beside: Sequence[str], memory: Memory, ours: Way) -> None:
    with memory:
        first = shelf.documents[0].at
        drafts = [dict(text=text, at=first) for text in beside]
        own = [dict(text=each.text, kind=kinds[each.id], at=each.at) for each in shelf.documents]
        outcomes = memory.remember_many([*drafts, *own])[len(drafts) :]
        names = {outcome.id: each.id for outcome, each in zip(outcomes, shelf.documents, strict=True)}
        texts = {each.id: each.text for each in shelf.documents}
        for question in shelf.questions:
            started = time.process_time()
            hits = memory.recall(question.text, limit=LIMIT, at=question.at)
            spent = (time.process_time() - started) * 1000
            ours.asked.append(Asked(question, [names.get(hit.id, "") for hit in hits], spent))
            for budget in BUDGETS if not beside else ():
                made = memory.context(question.text, budget=budget)
                found = [names[item.id] for item in made.items if item.id in names]
                said = sum(tokens(texts[id]) for id in found)
                matter = len(question.gold & set(found))
                ours.prompts.setdefault(budget, []).append(Prompt(question, len(found), matter, said, made.tokens))


# ---------------------------------------------------------------- counting


def _counted(asked: Sequence[Asked]) -> dict[str, float]:
    known = [each for each in asked if each.question.gold]
    changed = [each for each in known if each.question.outdated]
    hits = sum(len(each.ids) for each in known)
    silent = {name: _share([not a.ids for a in asked if a.question.category == name]) for name in SILENT}
    return {
        "any@1": _share([_any(each, 1) for each in known]),
        "any@3": _share([_any(each, 3) for each in known]),
        "rec@5": _share([len(each.question.gold & set(each.ids)) / len(each.question.gold) for each in known]),
        "precision": 100 * sum(len(each.question.gold & set(each.ids)) for each in known) / max(1, hits),
        "wrongly silent": _share([not each.ids for each in known]),
        "outdated first": _share([bool(each.ids) and each.ids[0] in each.question.outdated for each in changed]),
        **{f"silent: {name}": share for name, share in silent.items()},
    }


def _any(asked: Asked, depth: int) -> bool:
    return not asked.question.gold.isdisjoint(asked.ids[:depth])


def _share(told: Sequence[float]) -> float:
    return 100 * sum(told) / max(1, len(told))


def _table(ways: Sequence[Way]) -> str:
    counted = {way.name: _counted(way.asked) for way in ways}
    head = ["", *next(iter(counted.values()))]
    return report.table(head, [[name, *(f"{value:.1f}" for value in row.values())] for name, row in counted.items()])


def _types(ways: Sequence[Way]) -> str:
    rows = []
    for way in ways:
        counted = [_counted([a for a in way.asked if a.question.category == name]) for name in TYPES]
        rows.append([way.name, *(f"{c['any@1']:.0f} · {c['any@3']:.0f} · {c['rec@5']:.0f}" for c in counted)])
    return report.table(["", *TYPES], rows)


def _prompts(way: Way) -> str:
    rows = []
    for budget, prompts in way.prompts.items():
        known = [each for each in prompts if each.question.gold]
        notes, whole = sum(each.notes for each in known), sum(each.whole for each in known)
        unasked = [
            sum(each.notes for each in prompts if each.question.category == name)
            / max(1, sum(each.question.category == name for each in prompts))
            for name in SILENT
        ]
        rows.append(
            [
                f"{budget} tokens", f"{100 * sum(each.matter for each in known) / max(1, notes):.1f}",
                f"{100 * sum(each.memory for each in known) / max(1, whole):.1f}", *(f"{each:.1f}" for each in unasked),
            ]
        )  # fmt: skip
    return report.table(["", "matter", "tokens that are notes", *(f"notes at {name}" for name in SILENT)], rows)
