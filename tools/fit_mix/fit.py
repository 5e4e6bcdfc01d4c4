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
from itertools import product
from pathlib import Path

import numpy as np

from bench import abstention, notes, sets
from bench.measures import measured, sessions_of
from memorist import Memory
from memorist.design import Tools
from memorist.designs.balanced import BALANCED
from memorist.recall.pipeline import Asked, Candidate, Search
from memorist.recall.stages.blend import GROUPS, READ, VOICES, Closer, Mix, Table, mix, voice
from memorist.recall.stages.gather import Gather
from memorist.scoring import logistic
from memorist.text.bm25 import Yardstick

SETS = {
    "locomo": 1.0,
    "longmemeval": 1.0,
    "beam": 1.0,
    "cranfield": 1.0,
    "conflict": 0.3,
    "notes": 1.0,
}  # what each counts
KNOWN = {
    **SETS,
    "notes crowded": 0.5,
    "conflict": 0.1,
    "small locomo": 0.3,
    "small conflict": 0.1,
}  # the same for what a relevance means
FOLDS = 5
RIDGE = 1e-3
OWN = ("words", "meaning")
CLOSE = ("nearly", "soft", "names")
TALK = ("before", "after", "session")
SHARED = ("speaker", "when", "within")
EVIDENCE = ("best", "ahead", "covered", "cosine", "soft", "absent", "length", "size", "by_words", "level")
ROLES = (*TALK, "role")
BESIDE = {"notes": (), "people": TALK, "user": ROLES, "assistant": ROLES, "documents": ("kin",)}
AMONG_FIRST = 5  # where the answer must stand to count as found
SHOWN = 10  # of the best: whose relevance is to be a chance
COLUMNS = [
    *((who, name) for who in VOICES for name in (*OWN, *CLOSE, *BESIDE[who])),
    ("assistant", "voice"),
    *(("all", name) for name in SHARED),
]
OWN_COLUMNS = [*((who, name) for who in VOICES for name in OWN), ("assistant", "voice")]
GATHERING = BALANCED.recall[: 1 + next(at for at, stage in enumerate(BALANCED.recall) if isinstance(stage, Gather))]
FILE = Path(__file__).parents[2] / "src/memorist/recall/mix.toml"


class Tap:
    """A stage that keeps what was gathered, and what the texts of the best of it tell."""

    def __init__(self) -> None:
        self.found: tuple[Sequence[Candidate], Asked, Yardstick, Closer] | None = None

    def __call__(self, search: Search, tools: Tools) -> Search:
        if not search.candidates:
            self.found = None
            return search
        table = Table(search.candidates, search.asked, mix(), search.yardstick)
        table.look_closer(tools.store.get(table.best(10)[:READ], search.where))
        self.found = search.candidates, search.asked, search.yardstick, table.closer
        return search


@dataclass(frozen=True)
class Case:
    """A question, its candidates, and which of them answer it."""

    fold: int
    category: str
    candidates: Sequence[Candidate]
    asked: Asked
    yardstick: Yardstick
    closer: Closer
    right: frozenset[int]
    gold: int  # how many answer it, found or not
    session: Mapping[int, str | None]
    sessions: frozenset[str]

    def table(self, mix: Mix) -> Table:
        return Table(self.candidates, self.asked, mix, self.yardstick, self.closer)

    def columns(self, wanted: Sequence[tuple[str, str]], mix: Mix) -> np.ndarray:
        place = {column: at for at, column in enumerate(wanted)}
        table = self.table(mix)
        found = np.zeros((len(self.closer), len(wanted)))
        for row, number in enumerate(self.closer):
            candidate = table.candidates[number]
            for name, value in table.features(candidate):
                at = place.get((voice(candidate.fact), name), place.get(("all", name)))
                if at is not None:
                    found[row, at] = value
        return found

    @property
    def rights(self) -> np.ndarray:
        return np.array([number in self.right for number in self.closer])


def gathered(test: sets.TestSet, kinds: Mapping[str, str], beside: Sequence[str] = ()) -> Iterator[Case]:
    """Every question of the set, and as many that belong to other shelves, as the engine gathers for them."""
    tap = Tap()
    for number, shelf in enumerate(test.shelves):
        with Memory(":memory:", project="p", design=replace(BALANCED, recall=(*GATHERING, tap))) as memory:
            memory.remember_many([{"text": text, "at": shelf.documents[0].at} for text in beside])
            stored = [
                outcome.record for outcome in memory.remember_many([_draft(d, test, kinds) for d in shelf.documents])
            ]
            numbers = {d.id: r.number for d, r in zip(shelf.documents, stored, strict=True) if r is not None}
            session = {r.number: d.session for d, r in zip(shelf.documents, stored, strict=True) if r is not None}
            strangers = abstention.foreign(test, number) if len(test.shelves) > 1 else []
            for at, question in enumerate((*shelf.questions, *strangers)):
                memory.recall(question.text, limit=10, search=test.search, at=question.at)
                if tap.found:
                    right = frozenset(numbers[id] for id in question.gold if id in numbers)
                    fold = (at if len(test.shelves) == 1 else number) % FOLDS
                    yield Case(
                        fold, question.category, *tap.found, right, len(question.gold), session, question.sessions
                    )


def _draft(document: sets.Document, test: sets.TestSet, kinds: Mapping[str, str]) -> dict[str, object]:
    names = ("text", "session", "role", "speaker", "at")
    return {"kind": kinds.get(document.id, test.kind), **{name: getattr(document, name) for name in names}}


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
        if tap.found:
            right = frozenset(numbers[:1]) if there else frozenset[int]()
            yield Case(at % FOLDS, "small", *tap.found, right, int(there), {}, frozenset())


# ---------------------------------------------------------------- fitting


def softmax_fit(groups: Sequence[tuple[float, Sequence[tuple[np.ndarray, np.ndarray]]]]) -> np.ndarray:
    """The weights that make the right ones likeliest, each group counting as it is given."""

    def look(weights: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        loss, gradient = RIDGE * float(weights @ weights), 2 * RIDGE * weights
        hessian = 2 * RIDGE * np.eye(len(weights))
        for counts, group in groups:
            many = len(group) / counts
            for features, right in group:
                scores = features @ weights
                shares = np.exp(scores - scores.max())
                whole = shares.sum()
                shares /= whole
                mean = features.T @ shares
                loss += (np.log(whole) - (scores[right] - scores.max()).mean()) / many
                gradient = gradient + (mean - features[right].mean(0)) / many
                hessian = hessian + ((features * shares[:, None]).T @ features - np.outer(mean, mean)) / many
        return loss, gradient, hessian

    return newton(look, groups[0][1][0][0].shape[1])


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


Cases = Mapping[str, Sequence[Case]]


def fitted(by_set: Cases) -> dict[str, dict[str, float]]:
    answered = {name: [case for case in cases if case.rights.any()] for name, cases in by_set.items() if name in SETS}

    def fit(columns: Sequence[tuple[str, str]], mix: Mix) -> np.ndarray:
        return softmax_fit(
            [
                (SETS[name], [(case.columns(columns, mix), case.rights) for case in cases])
                for name, cases in answered.items()
            ]
        )

    mix: dict[str, dict[str, float]] = {who: {} for who in VOICES} | {"all": {"voice": 0.0}}
    own = fit(OWN_COLUMNS, complete(mix))
    for (who, name), weight in zip(OWN_COLUMNS, own, strict=True):
        if name in OWN:
            mix[who][f"own_{name}"] = float(weight)
    weights = fit(COLUMNS, complete(mix))
    for (who, name), weight in zip(COLUMNS, weights, strict=True):
        mix[who][name] = float(weight) if name == "voice" else max(0.0, float(weight))  # none of them speaks against
    for group in dict.fromkeys(GROUPS.values()):
        _calibrate(group, by_set, mix)
    return mix


def _calibrate(group: str, by_set: Cases, mix: dict[str, dict[str, float]]) -> None:
    """Makes the relevance of what is shown the chance that it matters, and fits the chance that the answer is here at all."""
    own = {name: [c for c in (*cases, *map(without_meaning, cases)) if c.closer] for name, cases in by_set.items()}
    of_group = {
        name: kept
        for name, cases in own.items()
        if (kept := [c for c in cases if c.table(complete(mix)).group == group])
    }
    for _ in range(4 if of_group else 0):
        rows, right, counts = list[list[float]](), list[bool](), list[float]()
        for name, cases in of_group.items():
            for case in cases:
                table = case.table(complete(mix))
                for number in sorted(case.closer, key=lambda n: -table.sums[n])[:SHOWN]:
                    rows.append([table.sums[number], *table.evidence.values()])
                    right.append(number in case.right)
                    counts.append(KNOWN[name] * (0.2 if table.evidence["by_words"] else 1) / len(cases))
        found = logistic_fit(np.array(rows), np.array(right, float), np.array(counts))
        for who, of in GROUPS.items():
            if of == group:
                mix[who] = {
                    name: weight if name.startswith("own_") else weight * float(found[0])
                    for name, weight in mix[who].items()
                }
        if group == "talk":
            mix["all"] = {name: weight * float(found[0]) for name, weight in mix["all"].items()}
        mix[f"standing {group}"] = dict(zip(EVIDENCE, map(float, found[1:]), strict=True))
    if of_group:
        mix[f"here {group}"] = here(of_group, complete(mix))


def without_meaning(case: Case) -> Case:
    """The same question where there are no vectors: what only meaning found is not there."""
    bare = [each._replace(cosine=None, meaning=0.0, kin=0.0) for each in case.candidates]
    found = {each.fact.number for each in bare if each.words or each.nearly}
    beside = {n for each in bare if each.words for n in (each.fact.before, each.fact.after)}
    kept = [each for each in bare if each.fact.number in found | beside]
    closer = {each.fact.number: case.closer[each.fact.number] for each in kept if each.fact.number in case.closer}
    return replace(case, candidates=kept, closer=closer)


def here(by_set: Cases, mix: Mix) -> dict[str, float]:
    """What evidence says of the chance that the answer is among the first."""
    rows, right, counts = [], [], []
    for name, cases in by_set.items():
        for case in cases:
            if case.category != "adversarial":
                table = case.table(mix)
                first = sorted(case.closer, key=lambda number: -table.sums[number])[:AMONG_FIRST]
                rows.append(list(table.evidence.values()))
                right.append(float(bool(case.right & set(first))))
                counts.append(KNOWN[name] * (0.2 if table.evidence["by_words"] else 1) / len(cases))
    weights = logistic_fit(np.array(rows), np.array(right), np.array(counts))
    return dict(zip(EVIDENCE, map(float, weights), strict=True))


# ---------------------------------------------------------------- judging


def complete(mix: Mapping[str, Mapping[str, float]]) -> Mix:
    """The mix as the engine reads it; what was not fitted yet counts for nothing."""
    empty = dict.fromkeys((*OWN, *CLOSE, *TALK, *SHARED, "role", "kin", "voice", "own_words", "own_meaning"), 0.0)
    nothing = dict.fromkeys(EVIDENCE, 0.0)
    asides = {f"{what} {group}": nothing for what in ("standing", "here") for group in GROUPS.values()}
    return {**asides, **mix, **{who: {**empty, **mix.get("all", {}), **mix[who]} for who in VOICES}}


@dataclass(frozen=True)
class Judged:
    """One question, judged by weights that have not seen it."""

    case: Case
    measures: Mapping[str, float]
    chance: float
    hits: Sequence[tuple[float, bool]]  # relevance and whether it matters, best first


def judged(case: Case, mix: Mix) -> Judged:
    table = case.table(mix)
    order = sorted(case.closer, key=lambda number: (-table.sums[number], -number))
    found = {}
    if case.gold:
        lost = {str(-at) for at in range(1, 1 + case.gold - len(case.right))}
        found = measured([str(number) for number in order], {str(number) for number in case.right} | lost)
        found["any@3"] = float(bool(case.right & set(order[:3])))
        found["rec@5"] = len(case.right & set(order[:5])) / case.gold
    if case.sessions:
        ranked = sessions_of([str(n) for n in order], {str(n): name for n, name in case.session.items()})
        for k in (1, 5, 10):
            found[f"session any@{k}"] = float(bool(case.sessions & set(ranked[:k])))
            found[f"session all@{k}"] = float(case.sessions <= set(ranked[:k]))
    hits = [(logistic(table.sums[n] + table.standing_of(n)), n in case.right) for n in order[:SHOWN]]
    return Judged(case, found, table.chance, hits)


def validated(by_set: Cases) -> dict[str, list[Judged]]:
    """Prints what folds say that the fit has not seen."""
    told: dict[str, list[Judged]] = {}
    for fold in range(FOLDS):
        mix = complete(fitted({name: [c for c in cases if c.fold != fold] for name, cases in by_set.items()}))
        for name, cases in by_set.items():
            told.setdefault(name, []).extend(
                judged(c, mix) for c in cases if c.fold == fold and c.closer and c.category != "adversarial"
            )
    for name, each in told.items():
        rows = [one.measures for one in each if one.measures]
        means = {
            key: round(100 * sum(row[key] for row in rows) / len(rows), 1) for key in rows[0] if not key.endswith("@20")
        }
        print(name, len(rows), means)
        _tell_reliability(name, each)
    for name in ("notes", "notes crowded"):
        _tell_cuts(name, told.get(name, []))
    return told


def _tell_reliability(name: str, told: Sequence[Judged]) -> None:
    hits = np.array([(relevance, matters) for one in told for relevance, matters in one.hits])
    bins = np.minimum(9, (hits[:, 0] * 10).astype(int))
    cells = [
        f"{hits[bins == b, 0].mean():.2f}→{hits[bins == b, 1].mean():.2f} ({(bins == b).sum()})"
        for b in range(10)
        if (bins == b).any()
    ]
    print("  reliability:", " ".join(cells))


def _tell_cuts(name: str, told: Sequence[Judged]) -> None:
    """What silence and cuts would do."""
    known = [one for one in told if one.case.gold]
    for chance in (0.05, 0.08, 0.1, 0.12, 0.15):
        parts = [f"wrongly {_silent(known, chance):.1f}"]
        for kind in ("near", "far", "small talk"):
            parts.append(f"{kind} {_silent([one for one in told if one.case.category == kind], chance):.0f}")
        print(f"{name}: silent under {chance}:", *parts)
        for below, behind in product((0, 0.02, 0.03, 0.05), (1.5, 2.0, 2.5, 3.0)):
            shown = [[] if one.chance < chance else _cut(one.hits[:5], below, behind) for one in known]
            every = [matters for hits in shown for _, matters in hits]
            any3 = np.mean([any(m for _, m in hits[:3]) for hits in shown])
            rec5 = np.mean([sum(m for _, m in hits) / one.case.gold for hits, one in zip(shown, known, strict=True)])
            found = f"precision {100 * np.mean(every):.1f} any@3 {100 * any3:.1f} rec@5 {100 * rec5:.1f}"
            print(f"   below {below} behind {behind}: {found} hits {len(every) / len(known):.1f}")


def _silent(told: Sequence[Judged], chance: float) -> float:
    return 100 * float(np.mean([one.chance < chance for one in told])) if told else 0.0


def _cut(hits: Sequence[tuple[float, bool]], below: float, behind: float) -> list[tuple[float, bool]]:
    best = np.log(hits[0][0] / (1 - hits[0][0]))
    return [(r, m) for r, m in hits if r >= below and np.log(r / (1 - r)) >= best - behind]


def written(mix: Mapping[str, Mapping[str, float]]) -> str:
    lines = ["# How much each signal of a recall counts; fitted by tools/fit_mix. The sum of all is a log-odds.", ""]
    for who, weights in mix.items():
        lines += [f"[{who}]", *(f"{name} = {weight:.3f}" for name, weight in weights.items()), ""]
    return "\n".join(lines)


def collected(data: Path, wanted: Sequence[str]) -> dict[str, Sequence[Case]]:
    found: dict[str, Sequence[Case]] = {}
    for name in wanted:
        if name != "notes":
            found[name] = list(gathered(sets.load(name, data), {}))
            continue
        stores = notes.stores(data / "notes-dev.json.gz")
        kinds = {id: kind for _, own in stores for id, kind in own.items()}
        test = sets.TestSet("notes", "", tuple(shelf for shelf, _ in stores), "note", "memory")
        found[name] = list(gathered(test, kinds))
        found["notes crowded"] = list(gathered(test, kinds, notes.crowd(data / "notes-train.jsonl.gz")))
    for name in ("locomo", "conflict"):
        if name in found:
            found[f"small {name}"] = list(small(sets.load(name, data)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--set", action="append", dest="sets")
    given = parser.parse_args()
    by_set = collected(given.data, given.sets or list(SETS))
    validated(by_set)
    fitted_mix = fitted(by_set)
    print(written(fitted_mix))
    if given.write:
        FILE.write_text(written(fitted_mix), encoding="utf-8")
        tomllib.loads(FILE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
