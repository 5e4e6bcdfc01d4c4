"""Fits `src/memorist/recall/mix.toml`: how much each signal of a recall counts.

    python -m tools.fit_mix.fit DATA            # cross-validated figures only
    python -m tools.fit_mix.fit DATA --write    # and the file, fitted on everything

The engine itself gathers the candidates, so what is fitted is what is used. Two convex steps: first words and meaning alone
(what a turn is worth to its neighbours), then all signals; both are listwise softmax regressions with a small ridge, in
which every set counts the same. A third step turns sums into probabilities, with questions that have no answer among them.
Folds are whole conversations.
"""

import argparse
import random
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench import abstention, sets
from bench.measures import measured, sessions_of
from memorist import Memory
from memorist.designs.balanced import BALANCED
from memorist.recall.pipeline import Asked, Candidate, Search
from memorist.recall.stages.gather import Gather
from memorist.recall.stages.weigh import VOICES, Mix, Table, voice
from memorist.worth import logistic

SETS = ("locomo", "longmemeval", "beam", "cranfield", "conflict")
FOLDS = 5
RIDGE = 1e-3
OWN = ("words", "meaning")
SIGNALS = ("words", "meaning", "before", "after", "session")
SHARED = ("speaker", "when", "kin")
EVIDENCE = ("best", "covered", "cosine", "crowd", "level")
AMONG_FIRST = 5  # where the answer must stand to count as found
NOTHING = {name: 0.0 for name in EVIDENCE}
COLUMNS = [
    *((who, name) for who in VOICES for name in SIGNALS),
    ("assistant", "voice"),
    *(("all", name) for name in SHARED),
]
OWN_COLUMNS = [*((who, name) for who in VOICES for name in OWN), ("assistant", "voice")]
GATHERING = BALANCED.recall[: 1 + next(at for at, stage in enumerate(BALANCED.recall) if isinstance(stage, Gather))]
FILE = Path(__file__).parents[2] / "src/memorist/recall/mix.toml"


class Tap:
    """A stage that keeps what was gathered."""

    def __init__(self) -> None:
        self.candidates: tuple[Candidate, ...] = ()
        self.asked = Asked("")

    def __call__(self, search: Search, tools: object) -> Search:
        self.candidates, self.asked = search.candidates, search.asked
        return search


@dataclass(frozen=True)
class Case:
    """A question, its candidates, and which of them answer it."""

    fold: int
    category: str
    candidates: Sequence[Candidate]
    asked: Asked
    right: frozenset[int]
    gold: int  # how many answer it, found or not
    session: Mapping[int, str | None]
    sessions: frozenset[str]

    def columns(self, wanted: Sequence[tuple[str, str]], mix: Mix) -> np.ndarray:
        place = {column: at for at, column in enumerate(wanted)}
        found = np.zeros((len(self.candidates), len(wanted)))
        table = Table(self.candidates, self.asked, mix)
        for row, candidate in enumerate(self.candidates):
            for name, value in table.features(candidate):
                at = place.get((voice(candidate.fact), name), place.get(("all", name)))
                if at is not None:
                    found[row, at] = value
        return found

    @property
    def rights(self) -> np.ndarray:
        return np.array([candidate.fact.number in self.right for candidate in self.candidates])


def gathered(test: sets.TestSet) -> Iterator[Case]:
    """Every question of the set, and as many that belong to other shelves, as the engine gathers for them."""
    tap = Tap()
    for number, shelf in enumerate(test.shelves):
        with Memory(":memory:", project="p", design=replace(BALANCED, recall=(*GATHERING, tap))) as memory:
            drafts = [
                {
                    "text": d.text,
                    "kind": test.kind,
                    "session": d.session,
                    "role": d.role,
                    "speaker": d.speaker,
                    "at": d.at,
                }
                for d in shelf.documents
            ]
            stored = [outcome.record for outcome in memory.remember_many(drafts)]
            numbers = {d.id: r.number for d, r in zip(shelf.documents, stored, strict=True) if r is not None}
            session = {r.number: d.session for d, r in zip(shelf.documents, stored, strict=True) if r is not None}
            strangers = abstention.foreign(test, number) if len(test.shelves) > 1 else []
            for at, question in enumerate((*shelf.questions, *strangers)):
                memory.recall(question.text, limit=10, search=test.search, at=question.at)
                if tap.candidates:
                    right = frozenset(numbers[id] for id in question.gold if id in numbers)
                    fold = (at if len(test.shelves) == 1 else number) % FOLDS
                    found = (
                        tap.candidates,
                        tap.asked,
                        right,
                        len(question.gold),
                        session,
                        question.sessions,
                    )
                    yield Case(fold, question.category, *found)


def small(test: sets.TestSet, rounds: int = 400) -> Iterator[Case]:
    """A few notes and a question or a word or two about one of them, or about one that is not there: what a young store
    is asked. It says nothing about ranking, but what an answer looks like where there is little to compare with."""
    tap, chance = Tap(), random.Random(1)
    for at in range(rounds):
        shelf = test.shelves[at % len(test.shelves)]
        asked = [
            question for question in shelf.questions if len(question.gold) == 1 and question.category != "adversarial"
        ]
        question = chance.choice(asked)
        meant = next(document for document in shelf.documents if document.id in question.gold)
        others = chance.sample([d for d in shelf.documents if d.id != meant.id], (0, 1, 4, 20)[at // 2 % 4] + 1)
        there = at % 2 == 0
        with Memory(":memory:", project="p", design=replace(BALANCED, recall=(*GATHERING, tap))) as memory:
            notes = [meant, *others[1:]] if there else others
            numbers = [outcome.record.number for outcome in memory.remember_many([note.text for note in notes])]
            words = sorted(set(re.findall(r"[A-Za-z]{4,}", meant.text)), key=len)[-3:]
            said = question.text if at % 3 else " ".join(words[-1 - at % 2 :])
            memory.recall(said or question.text, limit=10)
        if tap.candidates:
            right = frozenset(numbers[:1]) if there else frozenset[int]()
            yield Case(at % FOLDS, "small", tap.candidates, tap.asked, right, int(there), {}, frozenset())


# ---------------------------------------------------------------- fitting


def softmax_fit(groups: Sequence[Sequence[tuple[np.ndarray, np.ndarray]]]) -> np.ndarray:
    """The weights that make the right ones likeliest, every group counting the same."""

    def look(weights: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        loss, gradient = RIDGE * float(weights @ weights), 2 * RIDGE * weights
        hessian = 2 * RIDGE * np.eye(len(weights))
        for group in groups:
            for features, right in group:
                scores = features @ weights
                shares = np.exp(scores - scores.max())
                whole = shares.sum()
                shares /= whole
                mean = features.T @ shares
                loss += (np.log(whole) - (scores[right] - scores.max()).mean()) / len(group)
                gradient = gradient + (mean - features[right].mean(0)) / len(group)
                hessian = hessian + ((features * shares[:, None]).T @ features - np.outer(mean, mean)) / len(group)
        return loss, gradient, hessian

    return newton(look, groups[0][0][0].shape[1])


def logistic_fit(features: np.ndarray, right: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The weights that make 1 / (1 + exp(-sum)) the chance of being right."""

    def look(weights: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        sums = features @ weights
        chance = 1 / (1 + np.exp(-sums))
        loss = float(counts @ (np.logaddexp(0, sums) - right * sums)) + RIDGE * float(weights @ weights)
        gradient = features.T @ (counts * (chance - right)) + 2 * RIDGE * weights
        spread = counts * chance * (1 - chance)
        return loss, gradient, (features * spread[:, None]).T @ features + 2 * RIDGE * np.eye(len(weights))

    return newton(look, features.shape[1])


def newton(look: Callable[[np.ndarray], tuple[float, np.ndarray, np.ndarray]], width: int) -> np.ndarray:
    """The minimum of a convex function, by steps that are halved until they go down."""
    weights = np.zeros(width)
    loss, gradient, hessian = look(weights)
    for _ in range(100):
        step = np.linalg.solve(hessian, gradient)
        while (tried := look(weights - step))[0] > loss and np.abs(step).max() > 1e-9:
            step = step / 2
        weights = weights - step
        loss, gradient, hessian = tried
        if np.abs(step).max() < 1e-5:
            break
    return weights


def fitted(by_set: Mapping[str, Sequence[Case]]) -> dict[str, dict[str, float]]:
    answered = [[c for c in cases if c.rights.any()] for name, cases in by_set.items() if not name.startswith("small")]
    nothing = complete({who: {f"own_{name}": 0.0 for name in OWN} for who in VOICES})
    own = softmax_fit([[(case.columns(OWN_COLUMNS, nothing), case.rights) for case in cases] for cases in answered])
    mix: dict[str, dict[str, float]] = {who: {} for who in VOICES} | {"all": {"voice": 0.0}}
    for (who, name), weight in zip(OWN_COLUMNS, own, strict=True):
        if name in OWN:
            mix[who][f"own_{name}"] = float(weight)
    own_only = complete(mix)
    weights = softmax_fit([[(case.columns(COLUMNS, own_only), case.rights) for case in cases] for cases in answered])
    for (who, name), weight in zip(COLUMNS, weights, strict=True):
        mix[who][name] = float(weight) if name == "voice" else max(0.0, float(weight))  # none of them speaks against
    mix["standing"] = standing(by_set, complete(mix))
    by_words = {name: [without_meaning(case) for case in cases] for name, cases in by_set.items()}
    mix["standing_by_words"] = standing(by_words, complete(mix))
    return mix


def without_meaning(case: Case) -> Case:
    """The same question where there are no vectors: what only meaning found is not there."""
    bare = [replace(each, cosine=None, meaning=0.0, kin=0.0) for each in case.candidates]
    found = {each.fact.number for each in bare if each.words}
    beside = {n for each in bare if each.words for n in (each.fact.before, each.fact.after)}
    return replace(case, candidates=[each for each in bare if each.fact.number in found | beside])


def standing(by_set: Mapping[str, Sequence[Case]], mix: Mix) -> dict[str, float]:
    """What evidence makes the best candidate's relevance the chance that the answer is among the first."""
    rows, right, counts = [], [], []
    for cases in by_set.values():
        for case in cases:
            if case.category == "adversarial" or not case.candidates:
                continue
            table = Table(case.candidates, case.asked, mix)
            first = sorted(table.sums, key=lambda number: -table.sums[number])[:AMONG_FIRST]
            rows.append(list(table.evidence().values()))
            right.append(float(bool(case.right & set(first))))
            counts.append(1 / len(cases))
    weights = logistic_fit(np.array(rows), np.array(right), np.array(counts))
    return dict(zip(EVIDENCE, map(float, weights), strict=True))


# ---------------------------------------------------------------- judging


def complete(mix: Mapping[str, Mapping[str, float]]) -> Mix:
    """The mix as the engine reads it; what was not fitted yet counts for nothing."""
    empty = dict.fromkeys((*SIGNALS, *SHARED, "voice"), 0.0)
    voices = {who: {**empty, **mix.get("all", {}), **mix[who]} for who in VOICES}
    return {
        "standing": mix.get("standing", NOTHING),
        "standing_by_words": mix.get("standing_by_words", NOTHING),
        **voices,
    }


def judged(case: Case, mix: Mix) -> tuple[dict[str, float], float]:
    """The measures of one question, and the relevance of its best candidate."""
    table = Table(case.candidates, case.asked, mix)
    order = sorted(table.sums, key=lambda number: (-table.sums[number], -number))
    found = {}
    if case.gold:
        lost = {str(-at) for at in range(1, 1 + case.gold - len(case.right))}
        found = measured([str(number) for number in order], {str(number) for number in case.right} | lost)
    if case.sessions:
        ranked = sessions_of([str(n) for n in order], {str(n): name for n, name in case.session.items()})
        for k in (1, 5, 10):
            found[f"session any@{k}"] = float(bool(case.sessions & set(ranked[:k])))
            found[f"session all@{k}"] = float(case.sessions <= set(ranked[:k]))
    return found, logistic(table.sums[order[0]] + table.standing)


def validated(by_set: Mapping[str, Sequence[Case]]) -> None:
    """Prints what folds say that the fit has not seen."""
    rows: dict[str, list[dict[str, float]]] = {}
    sure: dict[str, tuple[list[float], list[float]]] = {}
    for fold in range(FOLDS):
        mix = complete(fitted({name: [c for c in cases if c.fold != fold] for name, cases in by_set.items()}))
        for name, cases in by_set.items():
            for case in cases:
                if case.fold == fold and case.category != "adversarial":
                    found, chance = judged(case, mix)
                    if found:
                        rows.setdefault(name, []).append(found)
                    sure.setdefault(name, ([], []))[0 if found else 1].append(chance)
    for name, found in rows.items():
        means = {key: round(100 * sum(row[key] for row in found) / len(found), 1) for key in found[0]}
        print(name, len(found), {key: mean for key, mean in means.items() if not key.endswith("@20")})
    for limit in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4):
        told = {name: tuple(_below(some, limit) for some in both) for name, both in sure.items()}
        print(f"silent under {limit}, in percent of questions with an answer and without: {told}")


def _below(chances: Sequence[float], limit: float) -> float:
    return round(100 * sum(chance < limit for chance in chances) / max(1, len(chances)), 1)


def written(mix: Mapping[str, Mapping[str, float]]) -> str:
    lines = ["# How much each signal of a recall counts; fitted by tools/fit_mix. The sum of all is a log-odds.", ""]
    for who in (*VOICES, "all", "standing", "standing_by_words"):
        lines += [f"[{who}]", *(f"{name} = {weight:.3f}" for name, weight in mix[who].items()), ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--set", action="append", dest="sets")
    given = parser.parse_args()
    random.seed(1)
    loaded = {name: sets.load(name, given.data) for name in given.sets or SETS}
    by_set = {name: list(gathered(test)) for name, test in loaded.items()}
    by_set |= {f"small {name}": list(small(loaded[name])) for name in ("locomo", "conflict") if name in loaded}
    validated(by_set)
    mix = fitted(by_set)
    print(written(mix))
    if given.write:
        FILE.write_text(written(mix), encoding="utf-8")
        tomllib.loads(FILE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
