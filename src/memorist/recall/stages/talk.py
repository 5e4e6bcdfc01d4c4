"""What only a talk has: who is asked, the time that is named, and corrections.

"You" is the assistant and "I" the user, so a question for what you advised prefers an assistant's turns. A named day, week or
month is a window first: turns inside it are gathered even if they share little with the question, and have a signal of their
own beside the one that fades (`when`). Its words are not looked for then, and where hardly any others are left ("what did I do
today?") the time decides. And what was corrected a moment later is never shown without saying so.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

from memorist.design import Tools
from memorist.kinds import TURNS
from memorist.recall.pipeline import Asked, Search, ordered
from memorist.recall.stages.keep import not_believed
from memorist.records import Hit, Record, Signal
from memorist.store.nouns import Fact
from memorist.store.where import Order
from memorist.text.corrections import corrects
from memorist.text.dates import Span
from memorist.text.words import query_terms, tells_something
from memorist.text.words import terms as every_term

MOST_WITHIN = 50  # turns of a window that are gathered by meaning, and as many by words
ALONE = 4.0  # how much more the time counts where the question asks for nothing else
THEN = 0.5  # log-odds of the best turn of the time, for such a question
FOLLOWING, MOST_FOLLOWING = 0.15, 0.8  # how much more an answer counts for what stands before it
BOTH = ("user", "assistant")
# Words of a question that asks for a time and says nothing about what happened then.
VAGUE = """do done happen happened happening go going went on up talk talked say said tell told speak spoke discuss discussed chat
chatted mention mentioned conversation day thing things stuff anything something plan planned made
gemacht machen mache passiert geschehen los war besprochen gesprochen geredet erzählt gesagt worüber erlebt vor geplant
unternommen"""
NEXT = 3  # turns in which a correction is looked for
MOST_CORRECTED = 8  # of the best turns are looked at for one; each look costs a lookup of its neighbours


def spoken(fact: Fact, asked: Asked, before: float = 0.0) -> list[tuple[str, float]]:
    """The signals of a turn: that the one who was asked for said it, or the other one, and that it was said in the time that is
    named. `before` is what the turn before it is worth: an assistant's answer follows the question."""
    found = []
    if asked.role is not None and fact.role in BOTH:
        follows = min(MOST_FOLLOWING, FOLLOWING * max(0.0, before)) if asked.role == "assistant" else 0.0
        found.append(("role", 1.0 + follows if fact.role == asked.role else -1.0))
    if inside(fact, asked):
        found.append(("within", ALONE if asked.alone else 1.0))
    return found


def inside(fact: Fact, asked: Asked) -> bool:
    """Whether it is a turn of a time that the question names."""
    return fact.session is not None and any(span.start <= fact.at < span.end for span in asked.spans)


def timed(said: str, spans: Sequence[Span], search: Search) -> tuple[str, tuple[str, ...], bool]:
    """What is looked for among turns where the question names a time: its text and its terms without the words of a time that moves
    with whoever speaks ("today"), which turns of other days hold too; and whether it asks for hardly anything but a time. Among
    memories these words count, because a note is not of the day that it speaks of."""
    if not spans or search.layers != (TURNS,):
        return said, search.terms, False
    left, then, every = said, set[str](), set(_vague())
    for span in spans:
        words = query_terms(span.text)
        every.update(words)
        if span.moves:
            then.update(words)
            left = left.replace(span.text, " ")
    terms = tuple(term for term in search.terms if term not in then)
    return left if tells_something(left) else said, terms, every.issuperset(terms)


@cache
def _vague() -> frozenset[str]:
    return frozenset(every_term(VAGUE))


def within(search: Search, tools: Tools) -> set[int]:
    """The turns of the times that the question names, by their numbers: those nearest to it, by meaning and by words."""
    if not search.asked.spans or TURNS not in search.layers:
        return set()
    return {number for span in search.asked.spans[:2] for number in _within(span, search, tools)}


def _within(span: Span, search: Search, tools: Tools) -> set[int]:
    shelves, found = [shelf for shelf in search.shelves if shelf.layer == TURNS], set[int]()
    where = search.where.also("at", "gte", span.start).also("at", "lt", span.end)
    if search.asked.alone:
        here = where.also("kind", "eq", "turn").also("scope", "in", tuple({shelf.scope for shelf in shelves}))
        found |= {record.number for record in tools.store.find(here, Order("at"), MOST_WITHIN)}
    if search.terms:
        found |= tools.store.match(search.terms, shelves, where, MOST_WITHIN).scores.keys()
    for generation, vector in search.asked.vectors[:1]:
        near = tools.store.nearest(generation.id, vector, shelves, where, MOST_WITHIN, search.exact)
        found |= {number for number, _ in near.hits}
    return found


@dataclass(frozen=True, slots=True)
class Corrected:
    """A correction travels with the turn that it corrects, directly behind it; `why` names both."""

    optional: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        said = [hit for hit in search.hits if hit.record.kind == "turn"]
        said = ordered(said)[: min(search.limit, MOST_CORRECTED)]
        found = _corrections(said, search, tools) if said else {}
        return _with_corrections(search, found) if found else search


def _with_corrections(search: Search, found: Mapping[int, Record]) -> Search:
    hits = {hit.record.number: hit for hit in search.hits}
    for number, right in found.items():
        hit = hits[number]
        hits[number] = replace(hit, why={**hit.why, "corrected": 1.0})
        known = hits.get(right.number)
        if known is None or known.score < hit.score:
            hits[right.number] = _behind(hit, right)
        else:
            hits[right.number] = replace(known, why={**known.why, "corrects": 1.0})
    pairs = ", ".join(f"[id:{right.number}] corrects [id:{number}]" for number, right in found.items())
    return search.but(hits=tuple(hits.values()), note=pairs)


def _behind(hit: Hit, right: Record) -> Hit:
    """The correction as a hit that is as relevant as what it corrects, one step less."""
    score = math.nextafter(hit.score, 0.0)
    odds = math.log(max(score, 1e-12) / max(1 - score, 1e-12))
    return Hit(right, score, {"relevance": score, "corrects": 1.0}, (Signal("corrects", 1.0, 1.0, odds),))


def _corrections(said: Sequence[Hit], search: Search, tools: Tools) -> dict[int, Record]:
    """For each of these turns that was corrected the correction, by the turn's number."""
    chains = _said_next([hit.record.number for hit in said], search, tools)
    held = _held(sorted({number for chain in chains.values() for number in chain}), search, tools)
    found = {}
    for hit in said:
        later = map(held.get, chains.get(hit.record.number, ()))
        found[hit.record.number] = _corrected_by(hit.record, [record for record in later if record is not None])
    return {number: right for number, right in found.items() if right is not None}


def _held(numbers: Sequence[int], search: Search, tools: Tools) -> dict[int, Record]:
    read = tools.store.get(numbers, search.where) if numbers else []
    return {record.number: record for record in read if not not_believed(record, search, tools)}


def _said_next(numbers: Sequence[int], search: Search, tools: Tools) -> dict[int, list[int]]:
    """For each of these turns which of the next few the same speaker said."""

    def facts(wanted: Iterable[int]) -> dict[int, Fact]:
        return {fact.number: fact for fact in tools.store.facts(sorted(set(wanted)), search.shelves, search.where)}

    first = latest = facts(numbers)
    chains: dict[int, list[int]] = {number: [] for number in first}
    for _ in range(NEXT):
        following = facts(fact.after for fact in latest.values() if fact.after is not None)
        latest = {number: following[fact.after] for number, fact in latest.items() if fact.after in following}
        for number, fact in latest.items():
            if (fact.role, fact.speaker) == (first[number].role, first[number].speaker):
                chains[number].append(fact.number)
    return chains


def _corrected_by(said: Record, later: Sequence[Record]) -> Record | None:
    """The last of what the same speaker said next that corrects it: it must follow at once, or speak of the same."""
    found, at_once = None, True
    for record in later:
        if corrects(record.text) and (at_once or not _terms(said).isdisjoint(_terms(record))):
            found = record
        else:
            at_once = False
    return found


def _terms(record: Record) -> set[str]:
    return set(query_terms(record.text))
