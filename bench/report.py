"""What was counted on a set as tables in Markdown, and as data."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bench.measures import Score
from bench.quality import Result
from bench.sets import TestSet

Row = Sequence[str]
SHOWN = ("any@1", "any@5", "all@5", "any@10", "all@10", "rec@10", "ndcg@10", "any@20", "all@20", "rec@20", "mrr")
WIDE = {"rec@10", "ndcg@10", "all@10"}  # shown with their intervals
SESSIONS = ("any@1", "any@5", "all@5", "any@10", "all@10", "rec@10", "ndcg@10")
QUARTER = 0.25  # of a shelf: what returns more of it proves little


def table(head: Row, rows: Iterable[Row]) -> str:
    """A Markdown table, with columns as wide as their widest cell."""
    lines = [list(head), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    drawn = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]
    return "\n".join([drawn[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *drawn[1:]])


def of_set(test: TestSet, digest: str, results: Sequence[Result]) -> str:
    """Everything that was counted on one set."""
    answered = sum(question.answerable for question in test.questions)
    mean = test.documents / len(test.shelves)
    held = f"{len(test.shelves):,} projects, {test.documents:,} documents, {answered:,} questions with an answer"
    lines = [
        f"### {test.title}",
        "",
        " ".join(part for part in (f"{held} ({digest}).", _left_out(test.notes), test.remark) if part),
        "",
        table(_turn_head(mean), [_turn_row(result) for result in results]),
    ]
    if mean * QUARTER <= max(int(name.partition("@")[2] or 0) for name in SHOWN):
        lines += ["", f"\\* so many hits can be over a quarter of a project ({mean:.0f} documents): it proves little."]
    if results[0].sessions:
        lines += ["", "Whole sessions, each by its best turn:", "", _sessions(results)]
    lines += ["", "rec@10 and any@1 by category:", "", _categories(results)]
    if results[0].current_first is not None:
        first = ", ".join(f"{result.way} {result.current_first:.1f}" for result in results)
        lines += ["", f"Replaced facts for which the current one comes first, percent: {first}."]
    if results[0].abstained:
        lines += ["", "Saying nothing where nothing is known (ours):", "", _abstained(results[0])]
    return "\n".join(lines) + "\n"


def _left_out(notes: Mapping[str, int]) -> str:
    told = "; ".join(f"{count} {what}" for what, count in notes.items() if count)
    return f"Left out: {told}." if told else ""


def _turn_head(mean: float) -> Row:
    marked = [f"{name}*" if int(name.partition("@")[2] or 0) >= mean * QUARTER else name for name in SHOWN]
    return ["", *marked, "ours ahead, rec@10", "tokens", "CPU ms p50 / p95"]


def _turn_row(result: Result) -> Row:
    cells = [_cell(result.turns[name], name in WIDE) for name in SHOWN]
    cost = f"{result.cpu_ms[0]:.1f} / {result.cpu_ms[1]:.1f}" if result.cpu_ms[1] else "–"
    return [result.way, *cells, str(result.ahead or "–"), f"{result.tokens:,.0f}", cost]


def _cell(score: Score, wide: bool) -> str:
    return str(score) if wide else f"{score.mean:.1f}"


def _sessions(results: Sequence[Result]) -> str:
    rows = [[r.way, *(_cell(r.sessions[name], name in ("all@5", "ndcg@10")) for name in SESSIONS)] for r in results]
    return table(["", *SESSIONS], rows)


def _categories(results: Sequence[Result]) -> str:
    names = list(results[0].categories)
    counts = [f"{name} ({results[0].categories[name]['any@1'].count})" for name in names]
    rows = [[r.way, *(_two(r.categories[name]) for name in names)] for r in results]
    return table(["", *counts], rows)


def _two(scores: Mapping[str, Score]) -> str:
    return f"{scores['rec@10'].mean:.1f} · {scores['any@1'].mean:.1f}"


def _abstained(result: Result) -> str:
    head = ["questions without an answer", "of these", "with one", "precision", "recall", "F1", "AUC of the best score"]
    rows = []
    for line in result.abstained:
        scores = [f"{score:.1f}" for score in line.scores]
        rows.append([line.group, str(line.unanswerable), str(line.answerable), *scores, f"{line.auc:.3f}"])
    return table(head, rows)


def as_data(test: TestSet, digest: str, results: Sequence[Result]) -> dict[str, Any]:
    """The same for a program."""
    return {
        "title": test.title,
        "projects": len(test.shelves),
        "documents": test.documents,
        "questions": sum(question.answerable for question in test.questions),
        "data": digest,
        "left_out": dict(test.notes),
        "results": [asdict(result) for result in results],
    }
