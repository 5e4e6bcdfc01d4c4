"""Combines many signals into one relevance.

The weights are in `weights.toml`. They differ by voice: a note is short and says one thing, a reply of an assistant repeats the
query's words at length, and among people the answer follows the question. The sum of all signals orders the candidates. Once
the texts of the best are read, the signs of silence give the chance that the answer is here. This chance is the relevance of
the best one, and the others have less by as much as their sums are lower.

A relevance depends on the query, the memory and what else is on the shelves, but neither on how many hits are requested nor on
how busy the machine is: the same candidates are compared for every limit up to 50.
"""

from collections.abc import Iterable, Sequence

from memorist.design import Tools
from memorist.lazy import dataclass
from memorist.recall.pipeline import Search
from memorist.recall.stages.answers import answer_to, only_asks
from memorist.recall.stages.keep import not_believed
from memorist.recall.stages.signals import READ, Scores
from memorist.records import Hit, Record, Signal


@dataclass(frozen=True, slots=True)
class Blend:
    """Sums the signals of every candidate, and reads the texts of the best."""

    spare: int = 10  # extra hits, since later stages may drop or lift some

    def __call__(self, search: Search, tools: Tools) -> Search:
        if not search.candidates:
            return search
        scores, records, end = Scores(search), dict[int, Record](), 0
        best, lost = scores.best(self.spare, search), dict[str, str]()
        while end < len(best) and (not end or self._too_few(records.values(), search, tools)):
            more = tools.store.get(best[end : end + READ], search.where)
            scores.look_closer(more)
            more = _with_answers(more, scores, lost, search, tools)
            if not end:
                scores.put_summaries_last(more)
                scores.settle(more)
            records |= {record.number: record for record in more}
            end += READ
        lost |= {
            f"#{number}": f"place {place} of {len(best)} candidates" for place, number in enumerate(best[end:], end + 1)
        }
        note = f"{len(best)} candidates, the best {len(records)} of them read; {scores.explain()}"
        hits = tuple(map(scores.hit, records.values()))
        return search.but(
            hits=hits, candidates=(), dropped=lost, note=note, chance=max(scores.chances.values(), default=0.0)
        )

    def _too_few(self, records: Iterable[Record], search: Search, tools: Tools) -> bool:
        """Whether more must be read, because some no longer hold or many were requested."""
        return sum(not_believed(record, search, tools) is None for record in records) < search.limit + self.spare


def _with_answers(
    records: Sequence[Record], scores: Scores, lost: dict[str, str], search: Search, tools: Tools
) -> list[Record]:
    """The records with the answers to those that only ask, and without questions that nobody answered; unless the query is for
    what the user asked."""
    if search.asked.role == "user":
        return list(records)
    kept = {record.number: record for record in records}
    for question in records:
        if question.kind == "turn" and only_asks(question.text, search.terms):
            answer = answer_to(question, search, tools)
            facts = tools.store.facts([answer.number], search.shelves, search.where) if answer else []
            if answer and facts:
                scores.give_place(question, answer, facts[0])
                kept[answer.number] = answer
            else:
                lost[question.id] = "it only asks, and nobody answered it"
                del kept[question.number]
    return list(kept.values())


@dataclass(frozen=True, slots=True)
class FuseRanks:
    """Reciprocal rank fusion: only ranks count, 1 / (k + rank) by words and by meaning. It finds less than adding the measured
    values (docs/LOG.md), because a rank does not say how far ahead a candidate is. What is first by both scores 1."""

    k: int = 60
    meaning: float = 0.5  # the weight of meaning; words have the rest
    spare: int = 10

    def __call__(self, search: Search, tools: Tools) -> Search:
        places: dict[int, list[Signal]] = {each.fact.number: [] for each in search.candidates}
        for name, weight in (("words", 1 - self.meaning), ("meaning", self.meaning)):
            rank = sorted(search.candidates, key=lambda each: (-getattr(each, name), -each.fact.number))
            for place, each in enumerate([each for each in rank if getattr(each, name) > 0], 1):
                share = weight * (self.k + 1) / (self.k + place)
                places[each.fact.number].append(Signal(name, getattr(each, name), place, share))
        scores = {number: sum(each.contribution for each in found) for number, found in places.items() if found}
        best = sorted(scores, key=lambda number: (-scores[number], -number))[: 2 * search.limit + self.spare]
        hits = [
            Hit(record, scores[record.number], {"ranks": scores[record.number]}, tuple(places[record.number]))
            for record in tools.store.get(best, search.where)
        ]
        return search.but(hits=tuple(hits), note=f"{len(places)} candidates")
