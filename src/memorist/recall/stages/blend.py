"""Combines many signals into one relevance.

The weights are in `weights.toml`. They differ by voice: a note is short and says one thing, a reply of an assistant repeats the
query's words at length, and among people the answer follows the question. The sum of all signals orders the candidates. Once
the texts of the best are read, the signs of silence give the chance that the answer is here. This chance is the relevance of
the best one, and the others have less by as much as their sums are lower.

A relevance depends on the query, the memory and what else is on the shelves, but neither on how many hits are requested nor on
how busy the machine is: the same candidates are compared for every limit up to 50.
"""

from collections.abc import Collection, Sequence

from memorist.design import Tools
from memorist.lazy import dataclass
from memorist.recall.pipeline import Search
from memorist.recall.stages.keep import not_believed
from memorist.recall.stages.signals import READ, Scores, of_tool
from memorist.records import Hit, Record, Signal
from memorist.store.nouns import shelf_of
from memorist.store.where import Order
from memorist.text.patterns import regex
from memorist.text.words import query_terms

LONGEST = 8  # words of a turn that only asks; a longer one mostly states something too
FEW = 3  # words that it may state besides its question
TURNS_AFTER = 4  # turns after a question in which its answer is looked for
STEPS = 12  # the same with tool calls and their output
_SENTENCE = regex(r"[^.!?…\n]+[.!?…\n]*")


@dataclass(frozen=True, slots=True)
class Blend:
    """Sums the signals of every candidate, and reads the texts of the best."""

    spare: int = 10  # extra hits, since later stages may drop or lift some

    def __call__(self, search: Search, tools: Tools) -> Search:
        if not search.candidates:
            return search
        scores, records, end = Scores(search), dict[int, Record](), 0
        best, lost = scores.best(self.spare, search), dict[str, str]()
        held = 0  # of those that were read; more are read if many do not hold any more, or many were requested
        while end < len(best) and (not end or held < search.limit + self.spare):
            more = tools.store.get(best[end : end + READ], search.where)
            scores.look_closer(more)
            more = _with_answers(more, scores, lost, search, tools)
            if not end:
                scores.settle(more)
            records |= {record.number: record for record in more}
            held = sum(not_believed(record, search, tools) is None for record in records.values())
            end += READ
        lost |= {f"#{number}": f"place {n} of {len(best)} candidates" for n, number in enumerate(best[end:], end + 1)}
        note = f"{len(best)} candidates, the best {len(records)} of them read; {scores.explain()}"
        hits, chance = tuple(map(scores.hit, records.values())), max(scores.chances.values(), default=0.0)
        return search.but(hits=hits, candidates=(), dropped=lost, note=note, chance=chance)


def _with_answers(
    records: Sequence[Record], scores: Scores, lost: dict[str, str], search: Search, tools: Tools
) -> list[Record]:
    """The records with the answers to those that only ask, and without questions that nobody answered; unless the query is for
    what the user asked."""
    if search.role == "user":
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


def only_asks(text: str, asked: Collection[str]) -> bool:
    """Whether a text is nothing but a question, or says nothing besides it that has to do with the terms that are asked for.

    >>> only_asks("good. how long do we keep the logs?", ["log"]), only_asks("We keep the logs for a year. Ok?", ["log"])
    (True, False)
    """
    if "?" not in text:
        return False
    stated = [sentence for sentence in _SENTENCE.findall(text) if "?" not in sentence]
    words = set(query_terms(" ".join(stated)))
    return len(words) <= FEW and words.isdisjoint(asked) and len(query_terms(text)) <= LONGEST


def answer_to(question: Record, search: Search, tools: Tools) -> Record | None:
    """The last thing that others said after this turn, until the one who asked spoke again."""
    asked, replies = question.provenance, list[Record]()
    if asked.session is None:
        return None
    where = search.where.also("session", "eq", asked.session).also("scope", "eq", question.scope)
    for turn in tools.store.find(where.also("number", "gt", question.number), Order("number", ascending=True), STEPS):
        if (turn.provenance.role, turn.provenance.speaker) == (asked.role, asked.speaker):
            break
        if not of_tool(turn) and shelf_of(turn) == shelf_of(question) and not not_believed(turn, search, tools):
            replies.append(turn)
    telling = [reply for reply in replies[:TURNS_AFTER] if not only_asks(reply.text, search.terms)]
    return telling[-1] if telling else None


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
