"""The engine under the hebbian design against a model of its founding document, over random histories.

`Differs` is the model with what memorist does otherwise on purpose: one method for each difference, with its reason.
Nothing else may differ: after every step both give the same rows, the same scores and the same ranks.
"""

import math
import random
from dataclasses import dataclass, replace
from typing import Any

import pytest

from golden.conftest import rounds
from golden.driver import Clock, Lib, seed
from golden.oracles.hebbian import Model, Row

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


# ---------------------------------------------------------------- random histories


class History:
    """One random history, through the model and through the engine."""

    def __init__(self, number: int, lib: Lib, clock: Clock, model: Model) -> None:
        self.pick, self.lib, self.clock, self.model = random.Random(number), lib, clock, model
        self.tools: Any = seed("hebbian", lib)
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
        record = self.lib.caller(origin).keep(content, tags=tags.split(", ") if tags else ()).record
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

    def check(self) -> None:
        """The rows are the same ones."""
        records = {row.number: row for row in self.lib.all()}
        assert records.keys() == self.model.rows.keys()
        for id, row in self.model.rows.items():
            assert (records[id].text, records[id].used_at) == (row.content, row.last_hit_at)


STEPS = {
    History.store: 5,
    History.vote: 4,
    History.update: 1,
    History.wait: 2,
    History.ask: 6,
}


def lived(number: int, kind: type[Model] = Differs) -> None:
    """One history from its first memory to its audit."""
    clock = Clock()
    with Lib(design="hebbian", embed="none", clock=clock) as lib:
        history = History(number, lib, clock, kind(clock))
        history.store()
        for step in history.pick.choices(list(STEPS), list(STEPS.values()), k=60):
            if history.model.rows or step is History.store:
                step(history)
        history.check()
        assert lib.call("audit").ok


@pytest.mark.covers("S1-2", "S1-5", "S1-6", "S1-7", "S1-9", "S1-16", "W1-2")
@pytest.mark.parametrize("number", range(rounds(HISTORIES)))
def test_the_engine_does_what_the_document_says_but_for_what_is_named(number: int) -> None:
    lived(number)


# ---------------------------------------------------------------- the document's own numbers


@pytest.mark.covers("S1-5", "S1-16")
def test_the_model_has_the_numbers_of_the_document() -> None:
    clock = Clock()
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
@pytest.mark.parametrize("number", range(rounds(100)))
def test_within_its_own_numbers_the_document_is_kept_without_exception(number: int) -> None:
    """Scores from −5 to 3, ages up to a hundred days, one word at a time: the same ranks as in the document, to the digit."""
    pick, clock = random.Random(number), Clock()
    with Lib(design="hebbian", embed="none", clock=clock) as lib:
        model, tools = Model(clock), seed("hebbian", lib)
        for id in range(1, 21):
            content = " ".join(pick.choices(WORDS[:-1], k=6)) + f" {'zx' + 'k' * id}"
            assert tools.memory_store(content).row is not None
            model.store(id, content, source="")
            clock.move(days=pick.uniform(0, 5))
            for _ in range(pick.randrange(6)):
                tools.memory_demote(id)
                model.demote(id)
            if pick.random() < 0.5:
                tools.memory_reinforce(id)
                model.reinforce(id)
        for word in WORDS[:-1]:
            rows, expected = tools.memory_query(word, 20), model.query(word, 20)
            assert [row.id for row in rows] == [id for id, _ in expected][: len(rows)]
            for row, (_, rank) in zip(rows, expected, strict=False):
                assert row.rank and rows[0].rank
                assert math.isclose(row.rank / rows[0].rank, rank / expected[0][1], rel_tol=1e-9)
            assert all(rank < 0.05 * expected[0][1] for _, rank in expected[len(rows) :])
