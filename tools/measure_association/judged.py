"""`python -m tools.measure_association.judged`: notes with a judge that knows the answers, the most any judge could make of them.

The rules answer first, as they come. Then a judge reads the pool of each question and chooses what matters and nothing else: what
it does not find was not in the pool. A judge that is down is counted too: nothing may be shown then.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench import report
from bench.notes import SILENT, Asked, Filled, counted, stores
from bench.sets import FILES, Question, Shelf
from memorist import Memory
from memorist.design import Design
from memorist.designs.balanced import BALANCED
from memorist.models.chat import ChatPrompt, ChatReply
from memorist.recall.stages.judge import Judge

DATA = Path(__file__).parents[2] / "shared" / "data"
RULES, ORACLE, DOWN = "without a model", "a judge that knows", "a judge that is down"


def design() -> Design:
    """The default one with a judge right before it would abstain."""
    at = [type(stage).__name__ for stage in BALANCED.recall].index("Abstain")
    return replace(BALANCED, name="judged", recall=(*BALANCED.recall[:at], Judge(), *BALANCED.recall[at:]))


@dataclass
class Oracle:
    """Chooses the notes that matter for the question it is told of, by their texts."""

    name: str = "oracle"
    matters: set[str] = field(default_factory=set)
    down: bool = False

    def about(self, question: Question, shelf: Shelf) -> None:
        self.matters = {each.text[:600] for each in shelf.documents if each.id in question.gold}

    def answer(self, prompt: ChatPrompt, seconds: float) -> ChatReply:
        if self.down:
            raise ConnectionError
        notes = json.loads(prompt.user.split("\n")[1])["notes"]
        return ChatReply(json.dumps({"relevant": [each["number"] for each in notes if each["note"] in self.matters]}))


def run(held: Sequence[tuple[Shelf, dict[str, str]]], embed: str | None = None) -> dict[str, dict[str, float]]:
    """What is counted of each way, by its name."""
    return {name: _of(list(_asked(held, name, embed))) for name in (RULES, ORACLE, DOWN)}


def _asked(held: Sequence[tuple[Shelf, dict[str, str]]], way: str, embed: str | None) -> Iterator[Asked]:
    for shelf, kinds in held:
        oracle = None if way == RULES else Oracle(down=way == DOWN)
        chosen = BALANCED if oracle is None else design()
        with Memory(":memory:", project="notes", design=chosen, embed=embed, chat=oracle) as memory:
            filled = Filled.of(memory, shelf, kinds)
            for question in shelf.questions:
                if oracle is not None:
                    oracle.about(question, shelf)
                yield filled.asked(question)


def _of(asked: Sequence[Asked]) -> dict[str, float]:
    """As the notes are counted, and the notes shown at each turn that needs none."""
    idle = [len(each.ids) for each in asked if each.question.category in SILENT]
    return {
        **counted(asked),
        "shown where none is needed": sum(idle) / max(1, len(idle)),
        "shown": sum(len(a.ids) for a in asked),
    }


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.measure_association.judged", description="the most that a judge could make of notes"
    )
    parser.add_argument("--data", type=Path, default=DATA, help="the folder with the public test sets")
    parser.add_argument("--embed", help="the embedder; what your settings say without it")
    options = parser.parse_args(argv)
    found = run(stores(options.data / FILES["notes"]), options.embed)
    rows = [[name, *(f"{value:.1f}" for value in told.values())] for name, told in found.items()]
    sys.stdout.write(report.table(["", *found[RULES]], rows) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
