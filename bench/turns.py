"""Two trees take turns: what a change costs, measured so that a busy machine cannot decide it.

    python -m bench.turns BASE [--rounds 3] [--turns 5] [--large] [--row TEXT …]

BASE is another checkout. Both trees get stores of their own with the same texts; then each row of the table is measured
in small slices, old and new alternately, each in a process of its tree that stays up for a round. A pair of neighbouring
slices gives one ratio, and the median of the pairs counts. Times are CPU times. Only verbs that 0.1.0 has are used.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench.corpus import Corpus
from bench.report import table
from bench.speed import child_cpu_ms, folder
from memorist import Memory

ROOT = Path(__file__).parents[1]
SIZES = {"1k.db": 1_000, "10k.db": 10_000, "edited.db": 10_000, "written.db": 2_000, "notes.json": 10_000}
LARGE = {"100k.db": 100_000}
QUESTIONS = [Corpus(5 + number).question() for number in range(30)]
MANY = 1_000  # memories that are written at once
STARTS = 3  # of the program in a slice
HIGHEST = 1.05  # of a ratio new / old


# ---------------------------------------------------------------- one slice of one row, in a process of its tree


@dataclass(slots=True)
class Stores:
    """The stores of one tree, opened when they are first needed and kept open."""

    place: Path
    opened: dict[str, Memory] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Memory:
        if name not in self.opened:
            self.opened[name] = Memory(self.place / name if name != ":memory:" else name, project="turns")
            if name == ":memory:":
                self.opened[name].remember_many(Corpus(11).memories(MANY))
            for question in QUESTIONS[:5]:
                self.opened[name].context(question)
        return self.opened[name]

    def fill(self, sizes: Mapping[str, int]) -> None:
        for name, size in sizes.items():
            with Memory(self.place / name, project="turns") as memory:
                memory.remember_many(Corpus(11).memories(size))

    def close(self) -> None:
        for memory in self.opened.values():
            memory.close()


def cpu(job: Callable[[], object]) -> float:
    """CPU milliseconds of this process."""
    started = time.process_time()
    job()
    return (time.process_time() - started) * 1000


def recall(stores: Stores, name: str) -> float:
    memory = stores[name]
    return median(cpu(lambda question=question: memory.recall(question)) for question in QUESTIONS)  # type: ignore[misc]


def context(stores: Stores) -> float:
    memory = stores["10k.db"]
    return median(cpu(lambda question=question: memory.context(question)) for question in QUESTIONS)  # type: ignore[misc]


def beyond_recall(stores: Stores) -> float:
    """A context less the recall in it, which `explain` runs without a log."""
    memory, spent = stores["10k.db"], []
    for question in QUESTIONS:
        alone = cpu(lambda question=question: memory.explain(question, limit=20))  # type: ignore[misc]
        spent.append(cpu(lambda question=question: memory.context(question)) - alone)  # type: ignore[misc]
    return median(spent)


def remember(stores: Stores, turn: int) -> float:
    memory = stores["written.db"]
    texts = list(Corpus(100 + turn).memories(60))
    return median(cpu(lambda text=text: memory.remember(text)) for text in texts)  # type: ignore[misc]


def remember_many(stores: Stores, turn: int) -> float:
    texts = list(Corpus(200 + turn).memories(MANY))
    stores["1k.db"]  # the embedder's table is read when the first store needs it
    with folder() as place, Memory(place / "many.db", project="turns") as memory:
        return cpu(lambda: memory.remember_many(texts)) / len(texts)


def erase(stores: Stores, turn: int) -> float:
    memory = stores["edited.db"]
    outcomes = memory.remember_many([f"The qanary{turn:04}x of number {n} must go" for n in range(4)])
    return median(cpu(lambda id=outcome.id: memory.erase(str(id))) for outcome in outcomes)  # type: ignore[misc]


def upkeep(stores: Stores, turn: int) -> float:
    memory = stores["edited.db"]
    memory.remember_many(Corpus(300 + turn).memories(20))
    return cpu(memory.upkeep)


def open_json(stores: Stores) -> float:
    path = stores.place / "notes.json"
    return median(cpu(lambda: Memory(path, project="turns").close()) for _ in range(3))


def first_recall_of_json(stores: Stores) -> float:
    with Memory(stores.place / "notes.json", project="turns") as memory:
        return cpu(lambda: memory.recall(QUESTIONS[0]))


def program(stores: Stores, *arguments: str) -> float:
    place = ["--db", str(stores.place / "10k.db"), "--project", "turns"] if arguments[0] != "--version" else []
    return median(child_cpu_ms([*arguments, *place]) for _ in range(STARTS))


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; `most` is what the new tree may need at most, in the unit."""

    run: Callable[[Stores, int], float]
    highest: float = HIGHEST
    most: float | None = None
    large: bool = False


ROWS: Mapping[str, Row] = {
    "recall, 1,000 memories": Row(lambda stores, _: recall(stores, "1k.db"), highest=1.0),
    "recall, 10,000 memories": Row(lambda stores, _: recall(stores, "10k.db"), highest=1.0),
    "recall, 100,000 memories": Row(lambda stores, _: recall(stores, "100k.db"), large=True),
    "recall, 1,000 memories in RAM": Row(lambda stores, _: recall(stores, ":memory:")),
    "context, 10,000 memories": Row(lambda stores, _: context(stores)),
    "context beyond its recall": Row(lambda stores, _: beyond_recall(stores)),
    "remember, from 2,000 memories": Row(remember),
    "remember_many with vectors, each": Row(remember_many),
    "erase, 10,000 memories": Row(erase),
    "upkeep, 20 of 10,000 memories new": Row(upkeep),
    "JSON file, 10,000 memories: open": Row(lambda stores, _: open_json(stores)),
    "JSON file, 10,000 memories: first recall": Row(lambda stores, _: first_recall_of_json(stores)),
    "memorist --version": Row(lambda stores, _: program(stores, "--version"), most=100),
    "memorist recall, cold, 10,000 memories": Row(lambda stores, _: program(stores, "recall", QUESTIONS[0]), most=380),
    "memorist list, cold, 10,000 memories": Row(lambda stores, _: program(stores, "list"), most=200),
}


def serve(place: Path, sizes: Mapping[str, int]) -> None:
    """The process of one tree: fills its stores, then answers a line with a row and a turn by its milliseconds."""
    stores = Stores(place)
    stores.fill({name: size for name, size in sizes.items() if not (place / name).exists()})
    _say(str(Path(sys.modules["memorist"].__file__ or "").parent))
    for line in sys.stdin:
        name, turn = json.loads(line)
        _say(ROWS[name].run(stores, turn))
    stores.close()


def _say(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


# ---------------------------------------------------------------- the two trees


class Tree:
    """A checkout and its process."""

    def __init__(self, root: Path, place: Path, sizes: Mapping[str, int]) -> None:
        own = root / ".venv" / "bin" / "python"
        python = str(own) if own.exists() else sys.executable
        env = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORIST_", "PYTHON"))}
        env |= {"HOME": str(place), "XDG_CONFIG_HOME": str(place), "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        env["PYTHONPATH"] = os.pathsep.join([str(root / "src"), str(ROOT)])
        command = [python, "-m", "bench.turns", "--serve", str(place), json.dumps(sizes)]
        self.child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env, cwd=place
        )
        package = Path(self._read())
        if not package.is_relative_to(root):
            self.close()
            raise SystemExit(f"{root} was to be measured, but {package} was imported")

    def run(self, name: str, turn: int) -> float:
        assert self.child.stdin is not None
        self.child.stdin.write(json.dumps([name, turn]) + "\n")
        self.child.stdin.flush()
        return float(self._read())

    def _read(self) -> str:
        assert self.child.stdout is not None
        line = self.child.stdout.readline()
        if not line:
            raise SystemExit(f"the process of a tree ended with status {self.child.wait()}")
        return str(json.loads(line))

    def close(self) -> None:
        self.child.communicate()


def turns(
    base: Path, names: Sequence[str], rounds: int, each: int, sizes: Mapping[str, int]
) -> Iterator[tuple[str, float, float]]:
    """Pairs of neighbouring slices, row by row: its name, the old and the new milliseconds."""
    with folder() as place:
        for side in ("old", "new"):
            (place / side).mkdir()
        for number in range(rounds):
            with closing(Tree(base, place / "old", sizes)) as old, closing(Tree(ROOT, place / "new", sizes)) as new:
                for name in names:
                    for tree in (old, new):
                        tree.run(name, 1000 + number)  # opens and warms up
                    for turn in range(number * each, (number + 1) * each):
                        first, second = (old, new) if turn % 2 else (new, old)
                        one, other = first.run(name, turn), second.run(name, turn)
                        yield (name, one, other) if first is old else (name, other, one)


def compared(pairs: Sequence[tuple[str, float, float]]) -> tuple[str, bool]:
    """The table, and whether every promise in it was kept."""
    rows, kept = [], True
    for name in dict.fromkeys(name for name, _, _ in pairs):
        row, some = ROWS[name], [(old, new) for which, old, new in pairs if which == name]
        ratios = sorted(new / old for old, new in some)
        before, after = median(old for old, _ in some), median(new for _, new in some)
        good = median(ratios) <= row.highest and (row.most is None or after <= row.most)
        kept &= good
        limit = f"≤ {row.highest:g}" + (f", {row.most:g} ms" if row.most else "")
        spread = f"{ratios[0]:.2f} – {ratios[-1]:.2f}"
        told = f"{'kept' if good else 'MISSED'} ({limit})"
        rows.append((name, f"{before:.2f}", f"{after:.2f}", f"{median(ratios):.3f}", spread, told))
    return table(("CPU ms, medians", "old", "new", "new / old", "least – most", "promised"), rows), kept


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.turns", description="two trees take turns in one run")
    parser.add_argument("base", type=Path, help="the other checkout")
    parser.add_argument("--rounds", type=int, default=3, help="pairs of processes")
    parser.add_argument("--turns", type=int, default=5, help="pairs of slices of a row in each round")
    parser.add_argument("--large", action="store_true", help="100,000 memories too")
    parser.add_argument("--row", action="append", default=[], help="only rows with this text; may be repeated")
    asked = parser.parse_args()
    names = [name for name, row in ROWS.items() if asked.large or not row.large]
    wanted = [name for name in names if not asked.row or any(part in name for part in asked.row)]
    found = list(
        turns(asked.base.resolve(), wanted, asked.rounds, asked.turns, SIZES | LARGE if asked.large else SIZES)
    )
    text, kept = compared(found)
    sys.stdout.write(text + "\n")
    return 0 if kept else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(Path(sys.argv[2]), json.loads(sys.argv[3]))
    else:
        raise SystemExit(main())
