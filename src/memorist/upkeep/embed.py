"""Missing vectors, and the move of a store from one model to another.

    begin the move, if there is one → fill → verify → cut over → drop retired vectors

The state is read from the store: which rows have no vector of this model, which generation is incomplete, which is retired.
So a killed process leaves nothing to clean up, and the next one continues where it stopped. Texts are embedded outside any
transaction; vectors are stored in short ones. Nothing is journalled, because vectors are derived, and meanwhile everything
can be found by its words.
"""

import random
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import ClassVar

from memorist.access import Access
from memorist.errors import MemoristError, ModelUnavailable
from memorist.kinds import KINDS
from memorist.models.embed import Embedder, checked, shown
from memorist.records import Record, Report
from memorist.store.index import embedded_rows
from memorist.store.meaning import EMBEDDED_AT_ONCE, Generations, Meaning
from memorist.store.nouns import Generation, shelf_of
from memorist.store.where import Where, order_of

SLOWLY = 32  # rows at once for a slow embedder: the lease is renewed more often, and less is lost if it is killed
DROPPED_AT_ONCE = 2000
SAMPLE = 8
SAME = 0.98  # the lowest cosine of equal vectors: storing them as bytes costs a little, another model is far below
TRIES = 5


@dataclass(frozen=True, slots=True)
class Embed:
    """Adds vectors for the whole store. It writes by itself; `upkeep/runner.py` makes sure that only one process does."""

    who: Access
    generations: Generations
    switch: bool = False
    name: ClassVar[str] = "embed"

    @property
    def meaning(self) -> Meaning:
        return self.generations.meaning

    def plan(self) -> Report | None:
        """What `steps` would do now; None if there is nothing to do or report."""
        waiting = self.meaning.waiting(10**9)
        advice = self.advice()
        return Report(self.name, dry_run=True, rows=waiting, advice=advice) if waiting or advice else None

    def advice(self) -> str | None:
        return self.meaning.problem or self.meaning.advice(self.meaning.living())

    def failed(self, problem: MemoristError) -> None:
        self.meaning.failed(problem)

    def has_work(self) -> bool:
        """Whether there is anything to do; stops at the first sign of work."""
        meaning, known = self.meaning, self.meaning.store.generations()
        if self.switch or any(each.lost or each.state == "retired" for each in known):
            return True
        begun = (meaning.own(each.model, each.layers) for each in known if each.state == "filling")
        return meaning.must_move() or any(begun) or meaning.waiting(1) > 0

    def steps(self) -> Generator[int, None, None]:
        """Works in short transactions; after each it yields the number of rows that got a vector."""
        mine = self._begun()
        yield from self._drop()
        for each in mine:
            embedder = self.meaning.own(each.model, each.layers)
            if embedder is not None:
                yield from self._complete(each, embedder)

    def _complete(self, mine: Generation, embedder: Embedder) -> Iterator[int]:
        for _ in range(TRIES):
            yield from self.generations.filling(mine, EMBEDDED_AT_ONCE if embedder.cheap else SLOWLY)
            if mine.state == "current" or not self.meaning.is_alive(mine):
                return
            self._verify(mine, embedder)
            if self.generations.cut_over(mine):
                yield from self._drop()
                return

    def _begun(self) -> list[Generation]:
        for model in self.meaning.models:
            embedder = model.embedder()
            if embedder is not None:
                checked(embedder, ["ready?"])  # asks a server for its dimension here, outside any transaction
        with self.meaning.store.transaction():
            return self.generations.ours(upkeep=True, switch=self.switch)

    def _verify(self, mine: Generation, embedder: Embedder) -> None:
        """Embeds some texts again: a model that gives different vectors for the same text must not answer queries."""
        where = Where(self.who)
        for kind in KINDS.values():
            where = where if kind.layer in mine.layers else where.also("kind", "ne", kind.name)
        newest = self.meaning.store.find(where, order_of("at"), SAMPLE * 4)
        records = [record for record in newest if record.text and shelf_of(record).layer in mine.layers]
        for record in random.sample(records, min(SAMPLE, len(records))):
            if not self._same(record, mine, embedder):
                raise ModelUnavailable(
                    f"the embedder {shown(embedder.name)} gives another vector for memory {record.number} than it gave before, "
                    "so the store stays with the vectors it has; use a model that gives the same text the same vector"
                )

    def _same(self, record: Record, mine: Generation, embedder: Embedder) -> bool:
        [vector] = checked(embedder, [random.choice(list(embedded_rows(record).values()))])
        found = self.meaning.store.similarities(mine.id, vector, [shelf_of(record)], [record.number])
        return not vector.any() or record.number not in found or found[record.number] >= SAME

    def _drop(self) -> Iterator[int]:
        while self.generations.drop(DROPPED_AT_ONCE) is not None:
            yield 0
