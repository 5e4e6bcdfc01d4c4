"""The engine under the hebbian design against a model of its founding document, over random histories.

`Differs` is the model with what memorist does otherwise on purpose: one method for each difference, with its reason
(docs/why/0029). Nothing else may differ: after every step both give the same rows, the same scores and the same ranks.
"""

import math
import random
from dataclasses import dataclass, field, replace

import pytest

from conftest import rounds
from memorist import Memory, seeds
from memorist.designs import HEBBIAN, adjusted
from memorist.seeds.hebbian import Hebbian
from memorist.store.where import everywhere
from memorist.testing import MovableClock
from oracles.hebbian import Model, Row

HISTORIES = 500
WORDS = "zebra lamp postgres redis harbour violin copper tulip glacier lantern orchid walnut q".split()
SIGNS = [
    "{} AND NOT {}",
    '"{}" {}*',
    "content:{} ^{}",
    "{}-{}",
    "NEAR({} {})",
    "({}) {};",
    "{} {} https://x.io/zebra",
    "{} {}",
]


@dataclass(slots=True)
class Differs(Model):
    """The document, and what is otherwise here."""

    bytes: dict[int, int] = field(default_factory=dict)  # what the engine says each memory takes

    def voted(self, score: int, points: int) -> int:
        """Bounded scores: without end, a hundred ups need 301 demotions to undo. No vote leads beyond ±15."""
        return score + points if abs(score + points) <= 15 else score

    def weight(self, score: int) -> float:
        """Bounded weight: beyond the document's own examples (−5 to 3) the curve flattens towards ×0.2 and ×3, so that no
        number of votes beats a clearly better match."""
        edge, bound = (3, 3.0) if score > 3 else (-5, 0.2)
        if -5 <= score <= 3:
            return math.exp(0.2 * score)
        there = math.exp(0.2 * edge)
        return bound - (bound - there) * math.exp(-abs(0.2 * there / (bound - there)) * abs(score - edge))

    def recency(self, row: Row) -> float:
        """A floor under age: it alone buries nothing."""
        return max(0.25, 1 / (1 + 0.01 * self.days(row)))

    def shown(self, rank: float, best: float) -> bool:
        """No tail: under 5 % of the best it is a chance match."""
        return rank >= 0.05 * best

    def idf(self, holding: int, rows: int) -> float:
        """No word tells nothing: with FTS5's own formula a row vanishes if its word is common, whatever its votes."""
        return math.log(1 + (rows - max(1, holding) + 0.5) / (max(1, holding) + 0.5))

    def is_word(self, word: str) -> bool:
        """Single letters are names: C, R."""
        return True

    def tokens(self, row: Row) -> list[str]:
        """A source is no token: in a store that was imported, "migration" would mean nothing …"""
        return Model.tokens(self, replace(row, source=""))

    def found(self, words: list[str], limit: int) -> list[tuple[Row, float]]:
        """… it counts beside the words, at half a word's weight, and brings rows along where the words find few."""
        found = {row.id: rank for row, rank in Model.found(self, words, limit)}
        named = {row.id for row in self.rows.values() if row.source in words}
        if named and (len(found) < limit or len(words) == 1):
            found = dict.fromkeys(sorted(named), 0.0) | found
        label = 0.5 * self.idf(len(named & found.keys()), len(found))
        return [(self.rows[id], rank + label * (id in named)) for id, rank in found.items()]

    def store(self, id: int, content: str, tags: str = "", source: str = "agent") -> int:
        """Twins are merged: the same text again is the same row, so that its votes are not split, and starts its clock."""
        twin = next((row.id for row in self.rows.values() if row.content == content), None)
        if twin is None:
            return Model.store(self, id, content, tags, source)
        self.rows[twin].last_hit_at = self.clock()
        return twin

    def prune(self, size: int) -> list[int]:
        """Pruning ends: the size is that of the active rows, because the file does not shrink, and steps of so many percent go
        on until they fit. What was written or used within a day stays."""
        taken, free = list[int](), [row for row in self.rows.values() if self.days(row) >= 1]
        step = max(1, int(len(self.rows) * self.prune_percent / 100))
        lowest = [row.id for row in sorted(free, key=lambda row: (self.worth(row), row.id))]
        total = sum(self.bytes[id] for id in self.rows)
        while total > self.max_size and lowest[len(taken) :]:
            some = lowest[len(taken) : len(taken) + step]
            taken, total = taken + some, total - sum(self.bytes[id] for id in some)
        return self.archived(taken)


# ---------------------------------------------------------------- random histories


class History:
    """One random history, through the model and through the engine."""

    def __init__(self, seed: int, memory: Memory, clock: MovableClock, model: Model) -> None:
        self.pick, self.memory, self.clock, self.model = random.Random(seed), memory, clock, model
        self.tools: Hebbian = seeds.hebbian(memory)
        self.serial = 0

    def content(self) -> str:
        self.serial += 1
        unique = "zx" + str(self.serial).translate(
            str.maketrans("0123456789", "bcfghjkmpq")
        )  # nothing to stem or to split
        return " ".join([unique, *self.pick.choices(WORDS, k=self.pick.randrange(1, 9))])

    def store(self) -> None:
        content, tags = self.content(), ", ".join(self.pick.sample(WORDS, self.pick.choice((0, 0, 1, 2))))
        if self.pick.random() < 0.3:
            self._keep(content, tags, "migration")
        else:
            self._keep(content, tags, "agent")
            if self.pick.random() < 0.2:  # the very same again
                self._keep(content, "", "agent")

    def _keep(self, content: str, tags: str, source: str) -> None:
        origin = "file" if source == "migration" else "agent"
        door = self.memory.through(replace(self.memory.access, origin=origin))
        record = door.remember(content, tags=tags.split(", ") if tags else ()).record
        assert record is not None
        assert self.model.store(record.number, content, tags, source) == record.number

    def vote(self) -> None:
        id, up = self.pick.choice(list(self.model.rows)), self.pick.random() < 0.5
        for _ in range(self.pick.choice((1, 1, 1, 3, 30))):
            done = self.tools.memory_reinforce(id) if up else self.tools.memory_demote(id)
            expected = self.model.reinforce(id) if up else self.model.demote(id)
            assert done.row is not None and done.row.score == expected

    def update(self) -> None:
        id, content = self.pick.choice(list(self.model.rows)), self.content()
        tags = self.pick.choice((None, "", "lamp, tulip"))
        done = self.tools.memory_update(id, content, tags)
        assert done.row is not None and done.row.score == self.model.update(id, content, tags)

    def wait(self) -> None:
        self.clock.move(days=self.pick.choice((0.1, 1, 7, 40, 400)))

    def ask(self) -> None:
        words = self.pick.sample([*WORDS, "migration", "agent", "unknown"], self.pick.randrange(1, 5))
        question = " ".join([*words[2:], self.pick.choice(SIGNS).format(words[0], words[-1])])
        limit = self.pick.choice((1, 3, 5, 20))
        rows = self.tools.memory_query(question, limit)
        expected = dict(self.model.query(question, limit))
        everything = dict(self.model.ranked(question, limit))
        best = max(expected.values(), default=1.0)
        assert len(rows) == len(expected), question
        for row, rank in zip(rows, expected.values(), strict=True):
            assert row.rank is not None and rows[0].rank
            assert math.isclose(row.rank / rows[0].rank, rank / best, rel_tol=1e-9), question
            assert math.isclose(everything[row.id], rank, rel_tol=1e-9), question  # of equals, either may come first

    def prune(self) -> None:
        briefs = list(self.memory._tools.store.briefs(everywhere(self.memory.space).also("state", "eq", "active")))
        sizes = {brief.number: brief.bytes for brief in briefs}
        most = int(sum(sizes.values()) * self.pick.choice((0.6, 0.9, 0.99, 1.5)))
        percent = self.pick.choice((1.0, 10.0, 30.0))
        self.memory.design = adjusted(self.memory.design, max_bytes=max(1, most), percent=percent)
        self.model.max_size, self.model.prune_percent = max(1, most), percent
        if isinstance(self.model, Differs):
            self.model.bytes = sizes
        [_, report] = (
            [*self.memory.upkeep()] if len(self.memory.upkeep(dry_run=True)) == 2 else [None, *self.memory.upkeep()]
        )
        assert report is not None
        assert {each.number for each in report.changed} == set(self.model.prune(sum(sizes.values())))
        assert self.memory.upkeep(dry_run=True)[-1].changed == (), "a second run has nothing to do"

    def check(self) -> None:
        """Active rows and the archive are the same ones; the archive is found by its words, with its votes."""
        records = {record.number: record for record in self.memory.list(limit=1000)}
        assert records.keys() == self.model.rows.keys()
        for id, row in self.model.rows.items():
            assert (records[id].text, records[id].times.used) == (row.content, row.last_hit_at)
        for id, row in self.model.archive.items():
            [hit] = self.memory.recall(row.content.split()[0], search="archive")
            assert (hit.record.number, self.tools._score(hit.record)) == (id, row.score)


STEPS = {
    History.store: 5,
    History.vote: 4,
    History.update: 1,
    History.wait: 2,
    History.ask: 6,
    History.prune: 0.4,
}


@pytest.fixture(autouse=True)
def in_no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine recalls look at less; that is another promise."""
    monkeypatch.setattr("memorist.recall.monitor.SLOW", math.inf)


def lived(seed: int, kind: type[Model] = Differs) -> None:
    """One history from its first memory to its audit."""
    clock = MovableClock()
    with Memory(":memory:", project="atlas", design=HEBBIAN, embed="none", clock=clock) as memory:
        history = History(seed, memory, clock, kind(clock))
        history.store()
        for step in history.pick.choices(list(STEPS), list(STEPS.values()), k=60):
            if history.model.rows or step is History.store:
                step(history)
        history.check()
        assert memory.audit().ok


@pytest.mark.covers("S1-2", "S1-5", "S1-6", "S1-7", "S1-9", "S1-12", "S1-13", "S1-16", "W1-1", "W1-2")
@pytest.mark.parametrize("seed", range(rounds(HISTORIES)))
def test_the_engine_does_what_the_document_says_but_for_what_is_named(seed: int) -> None:
    lived(seed)


NAMED = [
    name for name in vars(Differs) if name in vars(Model) and not name.startswith("_") and callable(vars(Differs)[name])
]


@pytest.mark.parametrize("name", NAMED)
def test_every_difference_that_is_named_is_there(name: str) -> None:
    """With the document's own rule in its place, some history ends otherwise."""
    strict = type("Strict", (Differs,), {"__slots__": (), name: vars(Model)[name]})
    for seed in range(40):
        try:
            lived(seed, strict)
        except AssertionError:
            return
    pytest.fail(f"nothing depends on {name}; take it out of the differences")


# ---------------------------------------------------------------- the document's own numbers


@pytest.mark.covers("S1-5", "S1-16")
def test_the_model_has_the_numbers_of_the_document() -> None:
    clock = MovableClock()
    model = Model(clock)
    assert [round(model.weight(score), 2) for score in (3, 0, -1, -5)] == [1.82, 1.0, 0.82, 0.37]
    model.store(1, "Payment API HMAC signature", "payments, hmac, api, bug")
    clock.move(days=100)
    assert model.recency(model.rows[1]) == 0.5
    assert [model.reinforce(1), *(model.demote(1) for _ in range(4))] == [3, 2, 1, 0, -1]
    assert model.recency(model.rows[1]) == 1.0 and model.sanitised("payment AND NOT api") == [
        "payment",
        "and",
        "not",
        "api",
    ]
    assert [id for id, _ in model.query("payment HMAC signature api")] == [1]


@pytest.mark.covers("S1-5", "S1-21")
@pytest.mark.parametrize("seed", range(rounds(100)))
def test_within_its_own_numbers_the_document_is_kept_without_exception(seed: int) -> None:
    """Scores from −5 to 3, ages up to a hundred days, one word at a time: the same ranks as in the document, to the digit."""
    pick, clock = random.Random(seed), MovableClock()
    with Memory(":memory:", project="atlas", design=HEBBIAN, embed="none", clock=clock) as memory:
        model, tools = Model(clock), seeds.hebbian(memory)
        for number in range(1, 21):
            content = " ".join(pick.choices(WORDS[:-1], k=6)) + f" {'zx' + 'k' * number}"
            assert tools.memory_store(content).row is not None
            model.store(number, content, source="")
            clock.move(days=pick.uniform(0, 5))
            for _ in range(pick.randrange(6)):
                tools.memory_demote(number)
                model.demote(number)
            if pick.random() < 0.5:
                tools.memory_reinforce(number)
                model.reinforce(number)
        for word in WORDS[:-1]:
            rows, expected = tools.memory_query(word, 20), model.query(word, 20)
            assert [row.id for row in rows] == [id for id, _ in expected][: len(rows)]
            for row, (_, rank) in zip(rows, expected, strict=False):
                assert row.rank and rows[0].rank
                assert math.isclose(row.rank / rows[0].rank, rank / expected[0][1], rel_tol=1e-9)
            assert all(rank < 0.05 * expected[0][1] for _, rank in expected[len(rows) :])
