"""How well the right things are found: memorist through its public verbs, and the plain ways beside it.

Each conversation or collection is a project of one store, filled with `remember_many` and asked with `recall`, as a user
would. Nothing here knows how an answer comes about.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench import abstention
from bench.abstention import Abstention
from bench.baselines import Baselines, Embed
from bench.measures import Score, ahead, by_category, measured, sessions_of, summary
from bench.sets import Document, Question, Shelf, TestSet
from bench.speed import folder
from memorist import Hit, Memory

LIMIT = 20  # hits asked for
SESSION_LIMIT = 60  # hits asked for when whole sessions are counted
OURS, UNCUT = "memorist", "memorist, cut off"
CUT_OFF = {"min_relevance": 0}
HOW: Mapping[str, dict[str, Any]] = {OURS: {}, UNCUT: CUT_OFF}  # asked as people do, and for every place
Told = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a question brought: document ids, best first, and for us what it cost and how sure it was."""

    question: Question
    ids: list[str]
    sessions: list[str] = field(default_factory=list)
    cpu_ms: float = 0.0
    tokens: int = 0
    confidence: float = 0.0
    empty: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """One way of searching on one set."""

    way: str
    turns: dict[str, Score]
    sessions: dict[str, Score]
    categories: dict[str, dict[str, Score]]
    cpu_ms: tuple[float, float] = (0.0, 0.0)  # half and 95 % of the questions took at most so long
    tokens: float = 0.0
    current_first: float | None = None  # share of replaced facts whose successor came first
    abstained: list[Abstention] = field(default_factory=list)
    ahead: Score | None = None  # how far memorist, asked for all places, is ahead in rec@10, question by question


@dataclass(frozen=True, slots=True)
class Filled:
    """A project with a shelf in it, and which document each record is."""

    memory: Memory
    shelf: Shelf
    documents: dict[str, str]  # record id → document id
    same: dict[str, str]  # document id → the one it was joined with, for exact twins

    def hits(self, question: Question, test: TestSet, limit: int, **how: Any) -> list[Hit]:
        return list(self.memory.recall(question.text, limit=limit, search=test.search, at=question.at, **how))

    def answer(self, question: Question, test: TestSet, **how: Any) -> Answer:
        started = time.process_time()
        answer = self.hits(question, test, LIMIT, **how)
        spent = (time.process_time() - started) * 1000
        ids = [self.documents[hit.record.id] for hit in answer]
        best = answer[0].score if answer else 0.0
        return Answer(
            question,
            ids,
            self._sessions(question, test, **how) if test.by_session else [],
            spent,
            sum(tokens(hit.record.text) for hit in answer),
            best,
            not answer,
        )

    def _sessions(self, question: Question, test: TestSet, **how: Any) -> list[str]:
        more = self.hits(question, test, SESSION_LIMIT, **how)
        return list(dict.fromkeys(session for hit in more if (session := hit.record.provenance.session)))


def fill(store: Path, shelf: Shelf, kind: str, embed: str | None = None) -> Filled:
    """A project of the shelf's name in the store, with all its documents."""
    memory = Memory(store, project=shelf.name, embed=embed)
    outcomes = memory.remember_many([_draft(document, kind) for document in shelf.documents])
    documents: dict[str, str] = {}
    same: dict[str, str] = {}
    for document, outcome in zip(shelf.documents, outcomes, strict=True):
        if outcome.id is not None:
            same[document.id] = documents.setdefault(outcome.id, document.id)
    return Filled(memory, shelf, documents, same)


def run(test: TestSet, embed: str | None, vectors: Embed | None, told: Told) -> list[Result]:
    """Every way on one set, ours first."""
    began = time.process_time()
    with folder() as place:
        answers = list(ask_all(test, place / "quality.db", embed))
    told(
        f"{test.name}: {len(answers)} questions, {test.documents:,} documents, {time.process_time() - began:.0f} s CPU"
    )
    judged = abstention.judged([(a[OURS].question, a[OURS].empty, a[UNCUT].confidence) for a in answers])
    known = {way: [found for each in answers if (found := each[way]).question.answerable] for way in HOW}
    ours = replace(_beside(OURS, test, known[OURS], known[UNCUT]), abstained=judged)
    plain = _plain(test, vectors)
    return [ours, _result(UNCUT, test, known[UNCUT]), *(_beside(w, test, f, known[UNCUT]) for w, f in plain.items())]


def ask_all(test: TestSet, store: Path, embed: str | None) -> Iterator[dict[str, Answer]]:
    """Fills a project for each shelf and asks its questions, and some that belong to other shelves, in every way."""
    for number, shelf in enumerate(test.shelves):
        filled = fill(store, shelf, test.kind, embed)
        others = abstention.foreign(test, number) if test.with_foreign else []
        with filled.memory:
            for question in (*shelf.questions, *others):
                asked = joined(question, filled.same)
                yield {way: filled.answer(asked, test, **how) for way, how in HOW.items()}


def tokens(text: str) -> int:
    """About what a model would count: a quarter of the Latin characters, each Chinese or Japanese one."""
    wide = sum(char > "\u2e7f" for char in text)
    return wide + (len(text) - wide + 3) // 4


def _plain(test: TestSet, vectors: Embed | None) -> dict[str, list[Answer]]:
    answers: dict[str, list[Answer]] = {}
    for shelf in test.shelves:
        plain = Baselines.of(shelf, test.tokenizer, vectors)
        session = {document.id: document.session for document in shelf.documents}
        text = {document.id: document.said for document in shelf.documents}
        for question in (question for question in shelf.questions if question.answerable):
            for way, ids in plain.rankings(question, SESSION_LIMIT).items():
                cost = sum(tokens(text[id]) for id in ids[:LIMIT])
                found = Answer(question, ids[:LIMIT], sessions_of(ids, session), tokens=cost)
                answers.setdefault(way, []).append(found)
    return answers


def _beside(way: str, test: TestSet, answers: Sequence[Answer], ours: Sequence[Answer]) -> Result:
    return replace(_result(way, test, answers), ahead=ahead(_rows(ours), _rows(answers), "rec@10"))


def _rows(answers: Sequence[Answer]) -> list[dict[str, float]]:
    return [measured(answer.ids, answer.question.gold) for answer in answers if answer.question.gold]


def _result(way: str, test: TestSet, answers: Sequence[Answer]) -> Result:
    rows = _rows(answers)
    whole = [measured(a.sessions, a.question.sessions) for a in answers if test.by_session and a.question.sessions]
    costs = sorted(answer.cpu_ms for answer in answers)
    return Result(
        way,
        summary(rows),
        summary(whole),
        by_category(rows, [answer.question.category for answer in answers if answer.question.gold]),
        (costs[len(costs) // 2], costs[int(len(costs) * 0.95)]),
        sum(answer.tokens for answer in answers) / len(answers),
        _current_first(answers),
    )


def _current_first(answers: Sequence[Answer]) -> float | None:
    """Of the questions with an outdated answer: how often the current one came, and before it."""
    replaced = [answer for answer in answers if answer.question.outdated]
    if not replaced:
        return None
    first = [next((id for id in a.ids if id in a.question.gold | a.question.outdated), None) for a in replaced]
    return 100 * sum(id in a.question.gold for id, a in zip(first, replaced, strict=True)) / len(replaced)


def joined(question: Question, same: dict[str, str]) -> Question:
    """The question with twins that were stored as one counted as one."""
    return replace(question, gold=frozenset(same.get(id, id) for id in question.gold))


def _draft(document: Document, kind: str) -> dict[str, Any]:
    given = {"at": document.at, "session": document.session, "role": document.role, "speaker": document.speaker}
    return {"text": document.text, "kind": kind} | {name: value for name, value in given.items() if value is not None}
