"""Does it say nothing when it knows nothing? Questions without an answer here, beside those that have one.

Two kinds: *foreign* questions belong to another conversation of the set (a seeded sample), *in-topic* ones were written by
the set's authors for this very conversation and have no answer in it, which is far harder.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.measures import auc, f1
from bench.sets import Question, TestSet

SEED = 7
MOST = 100  # foreign questions to a shelf
FOREIGN = "foreign"
IN_TOPIC = "in-topic"


@dataclass(frozen=True, slots=True)
class Abstention:
    """How well an empty answer means that there is none, and how well the best score tells."""

    group: str
    answerable: int
    unanswerable: int
    wrongly_empty: int
    rightly_empty: int
    auc: float

    @property
    def scores(self) -> tuple[float, float, float]:
        """Precision, recall and F1 of saying nothing."""
        return f1(self.rightly_empty, self.rightly_empty + self.wrongly_empty, self.unanswerable)


def foreign(test: TestSet, shelf: int) -> list[Question]:
    """Questions of other shelves, as many as this one has of its own; none that this one could answer."""
    here = test.shelves[shelf]
    held = {document.session for document in here.documents} if len(here.questions) == 1 else set()
    others = [
        question
        for place, other in enumerate(test.shelves)
        if place != shelf
        for question in other.questions
        if question.answerable and not question.sessions & held
    ]
    wanted = min(MOST, len(here.questions), len(others))
    picked = random.Random(SEED + shelf).sample(others, wanted)
    asked = here.questions[0].at if here.questions else None
    return [
        replace(question, gold=frozenset(), sessions=frozenset(), category=FOREIGN, at=asked) for question in picked
    ]


def judged(asked: Sequence[tuple[Question, bool, float]]) -> list[Abstention]:
    """From (question, was the answer empty, how sure was it) to one line per kind of question without an answer."""
    known = [(empty, sure) for question, empty, sure in asked if question.answerable]
    lines = []
    for group in (FOREIGN, IN_TOPIC):
        unknown = [
            (empty, sure)
            for question, empty, sure in asked
            if not question.answerable and (question.category == FOREIGN) == (group == FOREIGN)
        ]
        if unknown and known:
            wrongly, rightly = sum(empty for empty, _ in known), sum(empty for empty, _ in unknown)
            told = auc([sure for _, sure in known], [sure for _, sure in unknown])
            lines.append(Abstention(group, len(known), len(unknown), wrongly, rightly, told))
    return lines
