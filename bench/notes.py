"""Short notes, asked with the messages people type: what most stores hold, and what people feel.

Beside the usual measures it counts what a reader has to wade through: hits that do not matter, answers to what nothing here
answers (*near* the topic, *far* from it, *small talk*), outdated facts before current ones; and of a prompt how much of it is
memory that matters. Each store is asked alone, with unrelated lines beside its notes, and with notes of other worlds.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench import report
from bench.baselines import BUILT_IN, Baselines, Model, models
from bench.measures import Score, summary
from bench.quality import HOW, OURS, tokens
from bench.sets import FILES, Document, Question, Shelf, digest, load, open_text, read_json
from bench.speed import folder
from memorist import Hit, Memory

LIMIT = 5  # hits asked for
LIMITS = (1, 5, 50)  # at which the same must come out
BUDGETS = (200, 800)  # tokens of a prompt
FULL = 0.8  # of its budget: a prompt that took so much had more to say than there was room for
CROWD = 2000  # other memories
BESIDE = {"among unrelated": "unrelated memories, lines of other people's talk,", "crowded": "notes of other worlds"}
SILENT = ("near", "far", "small talk")  # types that nothing here answers
TYPES = ("same words", "paraphrase", "inference", "multi", "current", "prompt", "typo")
HEAD = (
    "Five hits asked for, in percent, with 95 % intervals over questions. *precision*: of the hits, those that matter;"
    " *silent*: answered with nothing; *outdated first*: of the questions about a fact that changed. *Cut off*"
    " asks with `min_relevance=0`, which fills all places, as the plain ways do."
)
PROMPTS = (
    "What `context` puts into a prompt, alone: notes in it; of those, in percent, the ones that matter; of what matters, the"
    " part that is in; of its tokens, those of notes word by word, and the same in prompts that took four fifths of their"
    " budget; the share of such prompts; notes put in where nothing answers."
)
LAWS = (
    f"Each question asked at `limit` {', '.join(map(str, LIMITS))}: how far the relevance of the same hit is apart; questions for"
    " which a larger limit brings all that a smaller one does; questions that turn from an answer to silence or back."
)


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


@dataclass(frozen=True, slots=True)
class Law:
    """One question asked for few and for many: what must not depend on how many are asked for."""

    apart: float  # the largest difference in the relevance of a hit
    superset: bool
    turned: bool  # from an answer to silence, or back


@dataclass(slots=True)
class Way:
    name: str
    asked: list[Asked] = field(default_factory=list)
    prompts: dict[int, list[Prompt]] = field(default_factory=dict)
    laws: list[Law] = field(default_factory=list)


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
    """Notes of other worlds than those asked about, as many of each as there are."""
    there = list(dict.fromkeys(_others(path)))
    count = min(count, len(there))
    return [there[place * len(there) // count] for place in range(count)]


def unrelated(data: Path, count: int = CROWD) -> list[str]:
    """What people said in conversations about other things; nothing where that set is not there."""
    if not (data / FILES["locomo"]).exists():
        return []
    said = list(dict.fromkeys(each.text for shelf in load("locomo", data).shelves for each in shelf.documents))
    return said[:: max(1, len(said) // count)][:count]


def _others(path: Path) -> Iterator[str]:
    with open_text(path) as lines:
        for line in map(json.loads, lines):
            yield from (line[name] for name in ("note", "old", "new") if isinstance(line.get(name), str))
            yield from line.get("near", ())


# ---------------------------------------------------------------- asking


@dataclass(frozen=True, slots=True)
class Filled:
    """A store with a shelf of notes in it, and perhaps a crowd, and which note each record is."""

    memory: Memory
    shelf: Shelf
    names: dict[str, str]  # record id → note id

    @classmethod
    def of(cls, memory: Memory, shelf: Shelf, kinds: dict[str, str], beside: Sequence[str] = ()) -> "Filled":
        first = shelf.documents[0].at
        drafts = [dict(text=text, at=first) for text in beside]
        own = [dict(text=each.text, kind=kinds[each.id], at=each.at) for each in shelf.documents]
        outcomes = memory.remember_many([*drafts, *own])[len(drafts) :]
        return cls(memory, shelf, {str(o.id): each.id for o, each in zip(outcomes, shelf.documents, strict=True)})

    def hits(self, question: Question, limit: int = LIMIT, **how: Any) -> list[Hit]:
        return list(self.memory.recall(question.text, limit=limit, at=question.at, **how))

    def asked(self, question: Question, **how: Any) -> Asked:
        started = time.process_time()
        hits = self.hits(question, **how)
        spent = (time.process_time() - started) * 1000
        return Asked(question, [self.names.get(hit.id, "") for hit in hits], spent)

    def prompt(self, question: Question, budget: int, **how: Any) -> Prompt:
        made = self.memory.context(question.text, budget=budget, **how)
        found = [self.names[item.id] for item in made.items if item.id in self.names]
        texts = {each.id: each.text for each in self.shelf.documents}
        said = sum(tokens(texts[id]) for id in found if texts[id] in made.text)
        return Prompt(question, len(found), len(question.gold & set(found)), said, tokens(made.text))

    def law(self, question: Question) -> Law:
        asked = [{hit.id: hit for hit in self.hits(question, limit)} for limit in LIMITS]
        pairs = list(pairwise(asked))
        apart = [abs(told(few[id]) - told(many[id])) for few, many in pairs for id in few.keys() & many.keys()]
        turned = len({bool(hits) for hits in asked}) > 1
        return Law(max(apart, default=0.0), all(few.keys() <= many.keys() for few, many in pairs), turned)


def told(hit: Hit) -> float:
    """The relevance that a hit is given, before what it is worth today."""
    return hit.why.get("relevance", hit.score)


def run(data: Path, embed: str | None, model: Path | None, half: int | None = None) -> tuple[str, dict[str, Any]]:
    """Everything counted on the notes, for people and as data. `model` is the folder of a
    sentence model to compare with."""
    held = stores(data / FILES["notes"])
    held = held[half - 1 :: 2] if half else held
    extra = models(f"onnx:{model}") if model else []
    plain = [*models(*BUILT_IN), *extra]
    beside = {"alone": [], "among unrelated": unrelated(data), "crowded": crowd(data / "notes-train.jsonl.gz")}
    beside = {name: some for name, some in beside.items() if some or name == "alone"}
    parts = {n: [*_ways(held, some, embed, extra), *_plain(held, some, plain)] for n, some in beside.items()}
    alone = parts["alone"]
    lines = [
        f"### Notes-dev: {len(held)} stores of short notes ({digest('notes', data)})", "",
        HEAD + ("" if extra else f" No sentence model was compared with: {model or '`--model-folder`'} names none."), "",
        _table(alone), "", "any@1 · any@3 · rec@5 by type:", "", _types(alone), "",
        *(line for name, some in BESIDE.items() if name in parts for line in (
            f"With {len(beside[name]):,} {some} beside them, and by type:", "",
            _table(parts[name]), "", _types(parts[name]), "",
        )),
        PROMPTS, "",
        _prompts([way for way in alone if way.prompts]), "", LAWS, "",
        report.table(["", *_of_laws(alone[0])], [[n, *_cells(_of_laws(ways[0]))] for n, ways in parts.items()]),
    ]  # fmt: skip
    found: dict[str, Any] = {part: {w.name: counted(w.asked) for w in ways} for part, ways in parts.items()}
    found |= {f"{part} by type": {w.name: _by_type(w) for w in ways} for part, ways in parts.items()}
    found["prompts"] = {way.name: _injected(way) for way in alone if way.prompts}
    found["laws"] = {part: _of_laws(ways[0]) for part, ways in parts.items()}
    return "\n".join(lines) + "\n", found


def _ways(
    held: Sequence[tuple[Shelf, dict[str, str]]], beside: Sequence[str], embed: str | None, extra: Sequence[Model]
) -> Iterator[Way]:
    """Ours as it comes and with other models, each as people ask and with the cut off."""
    for model in (None, *extra):
        ways = {name: Way(f"{name}, {model.title}" if model else name) for name in HOW}
        for shelf, kinds in held:
            with folder() as place, Memory(place / "notes.db", project="notes", embed=model or embed) as memory:
                _ask(Filled.of(memory, shelf, kinds, beside), ways, bool(beside))
        yield from ways.values()


def _ask(filled: Filled, ways: dict[str, Way], crowded: bool) -> None:
    for question in filled.shelf.questions:
        for name, way in ways.items():
            way.asked.append(filled.asked(question, **HOW[name]))
            for budget in () if crowded else BUDGETS:
                way.prompts.setdefault(budget, []).append(filled.prompt(question, budget, **HOW[name]))
        ways[OURS].laws.append(filled.law(question))


def _plain(
    held: Sequence[tuple[Shelf, dict[str, str]]], beside: Sequence[str], plain: Sequence[Model]
) -> Iterator[Way]:
    """The newest first, words, the cosine of each model, and words joined with the first of them."""
    ways = dict[str, Way]()
    for shelf, _ in held:
        whole = Shelf(shelf.name, (*shelf.documents, *(Document(f"x{n}", t) for n, t in enumerate(beside))), ())
        found = {f"cosine of {model.title}": Baselines.of(whole, "porter unicode61", model.embed) for model in plain}
        for question in shelf.questions:
            ranked = {name: each.rankings(question, LIMIT) for name, each in found.items()}
            first = {name: ids for name, ids in next(iter(ranked.values())).items() if name != "meaning"}
            for name, ids in (first | {name: each["meaning"] for name, each in ranked.items()}).items():
                ways.setdefault(name, Way(name)).asked.append(Asked(question, ids))
    yield from ways.values()


# ---------------------------------------------------------------- counting


def counted(asked: Sequence[Asked]) -> dict[str, float]:
    known = [each for each in asked if each.question.gold]
    changed = [each for each in known if each.question.outdated]
    hits = sum(len(each.ids) for each in known)
    silent = {name: _share([not a.ids for a in asked if a.question.category == name]) for name in SILENT}
    return {
        **{name: score.mean for name, score in _ranked(asked).items()},
        "precision": 100 * sum(len(each.question.gold & set(each.ids)) for each in known) / max(1, hits),
        "wrongly silent": _share([not each.ids for each in known]),
        "outdated first": _share([bool(each.ids) and each.ids[0] in each.question.outdated for each in changed]),
        **{f"silent: {name}": share for name, share in silent.items()},
    }


def _ranked(asked: Sequence[Asked]) -> dict[str, Score]:
    """What is found, with its interval, over the questions with an answer."""
    rows = []
    for each in (each for each in asked if each.question.gold):
        gold = each.question.gold
        any1, any3 = (float(not gold.isdisjoint(each.ids[:depth])) for depth in (1, 3))
        rows.append({"any@1": any1, "any@3": any3, "rec@5": len(gold & set(each.ids)) / len(gold)})
    return summary(rows)


def _share(told: Sequence[float]) -> float:
    return 100 * _mean(told)


def _mean(told: Sequence[float]) -> float:
    return sum(told) / max(1, len(told))


def _table(ways: Sequence[Way]) -> str:
    rows = []
    for way in ways:
        cells = {name: f"{value:.1f}" for name, value in counted(way.asked).items()}
        cells |= {name: str(score) for name, score in _ranked(way.asked).items()}
        rows.append([way.name, *cells.values()])
    return report.table(["", *counted(ways[0].asked)], rows)


def _types(ways: Sequence[Way]) -> str:
    rows = []
    for way in ways:
        counted = [f"{c['any@1']:.0f} · {c['any@3']:.0f} · {c['rec@5']:.0f}" for c in _by_type(way).values()]
        rows.append([way.name, *counted])
    return report.table(["", *_by_type(ways[0])], rows)


def _by_type(way: Way) -> dict[str, dict[str, float]]:
    some = {name: [each for each in way.asked if each.question.category == name] for name in TYPES}
    return {name: counted(asked) for name, asked in some.items() if asked}


def _prompts(ways: Sequence[Way]) -> str:
    rows = []
    for way in ways:
        for budget, counted in _injected(way).items():
            rows.append([f"{way.name}, {budget} tokens", *(f"{value:.1f}" for value in counted.values())])
    return report.table(["", *next(iter(_injected(ways[0]).values()))], rows)


def _injected(way: Way) -> dict[int, dict[str, float]]:
    return {budget: _of_prompts(budget, prompts) for budget, prompts in way.prompts.items()}


def _of_prompts(budget: int, prompts: Sequence[Prompt]) -> dict[str, float]:
    known = [each for each in prompts if each.question.gold]
    full = [each for each in known if each.whole >= FULL * budget]
    gold = sum(len(each.question.gold) for each in known)
    matter, notes = sum(each.matter for each in known), sum(each.notes for each in known)
    return {
        "notes": notes / max(1, len(known)),
        "matter": 100 * matter / max(1, notes),
        "of what matters": 100 * matter / max(1, gold),
        "tokens that are notes": _memory(known),
        "the same where full": _memory(full),
        "full": _share([each.whole >= FULL * budget for each in known]),
        **{f"notes at {name}": _mean([p.notes for p in prompts if p.question.category == name]) for name in SILENT},
    }


def _memory(prompts: Sequence[Prompt]) -> float:
    return 100 * sum(each.memory for each in prompts) / max(1, sum(each.whole for each in prompts))


def _of_laws(way: Way) -> dict[str, float]:
    return {
        "questions": len(way.laws),
        "relevance apart, at most": max((law.apart for law in way.laws), default=0.0),
        "superset, percent": _share([law.superset for law in way.laws]),
        "turned": sum(law.turned for law in way.laws),
    }


def _cells(counted: dict[str, float]) -> list[str]:
    return [f"{value:.6f}".rstrip("0").rstrip(".") for value in counted.values()]
