"""What people say, worth keeping or not (`worth_keeping.txt`, written before the rules), and how much of it the rules find."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from memorist.remember.extract import extract

FILE = Path(__file__).parent / "worth_keeping.txt"
TYPED = FILE.with_name("typed_rules.txt")  # and nobody had seen these while the rules were made:
TYPED_UNSEEN = FILE.with_name("typed_unseen.txt")
NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Sentence:
    kind: str
    language: str
    text: str
    seen: bool  # while the rules were written


@dataclass(frozen=True, slots=True)
class Figures:
    precision: float  # of the findings: how many are worth keeping
    recall: float  # of what is worth keeping: how much is found
    named: float  # of what is found and worth keeping: how much has the kind that a reader gave it


def sentences(file: Path = FILE) -> list[Sentence]:
    found, kind, place = [], "", 0
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            kind, place = line.strip("[]"), 0
        elif "|" in line:
            told, _, text = line.partition("|")
            found.append(Sentence(kind, told.split()[0], text.strip(), place % 2 == 0))
            place += 1
    return found


def by_rules(sentence: Sentence) -> str:
    found = extract(sentence.text, "user")
    return found[0].kind if found else NOTHING


def figures(some: Iterable[Sentence], kind_found: Callable[[Sentence], str] = by_rules) -> Figures:
    pairs = [(each.kind, kind_found(each)) for each in some]
    found = [(kind, given) for kind, given in pairs if given != NOTHING]
    right = [(kind, given) for kind, given in found if kind != NOTHING]
    worth = sum(kind != NOTHING for kind, _ in pairs)
    return Figures(
        len(right) / max(1, len(found)),
        len(right) / max(1, worth),
        sum(kind == given for kind, given in right) / max(1, len(right)),
    )
