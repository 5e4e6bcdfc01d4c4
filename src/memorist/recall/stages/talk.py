"""What only conversations have: who is asked about, and the time that is named.

"You" is the assistant and "I" the user, so a query for what you advised prefers an assistant's turns. A named day, week or
month is a window: turns inside it are collected even if they share little with the query, and get a signal of their own,
besides the one that fades (`when`). The words that name the time are then not searched for, and if hardly any others are left
("what did I do today?"), the time decides. If the same was asked before, the answer given then comes before that question,
which has nothing but its words. Tool output comes after what people and assistants said.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from memorist.design import Tools
from memorist.kinds import TURNS
from memorist.lazy import dataclass
from memorist.recall.pipeline import Asked, Search, ordered
from memorist.recall.stages.keep import not_believed
from memorist.recall.stages.weigh import weighed
from memorist.records import Hit, Record, Signal
from memorist.store.nouns import Fact
from memorist.store.where import Order
from memorist.text.dates import Span
from memorist.text.words import query_terms, tells_something
from memorist.text.words import terms as every_term

MOST_WITHIN = 50  # turns of a window that are collected by meaning, and as many by words
ALONE = 4.0  # how much more the time counts if the query asks for nothing else
THEN = 0.5  # log-odds of the best turn of that time, for such a query
FOLLOWING, MOST_FOLLOWING = 0.15, 0.8  # how much more an answer counts because of the turn before it
BOTH = ("user", "assistant")
# Words of a query that asks for a time without saying what happened then.
VAGUE = """do done happen happened happening go going went on up talk talked say said tell told speak spoke discuss discussed chat
chatted mention mentioned conversation day thing things stuff anything something plan planned made
gemacht machen mache passiert geschehen los war besprochen gesprochen geredet erzählt gesagt worüber erlebt vor geplant
unternommen"""
ANSWERED_WITHIN = 12  # turns in which the answer to a question is searched for; tool calls and results come first
SAME = 0.8  # the share of words that two queries must have in common
MOST_ASKED = 3  # turns asking the same whose answers are looked for


def spoken(fact: Fact, asked: Asked, before: float = 0.0) -> list[tuple[str, float]]:
    """The signals of a turn: that the role asked for said it (or the other one), and that it was said in the named time.
    `before` is the worth of the turn before it: an assistant's answer follows the question."""
    found = []
    if asked.role is not None and fact.role in BOTH:
        follows = min(MOST_FOLLOWING, FOLLOWING * max(0.0, before)) if asked.role == "assistant" else 0.0
        found.append(("role", 1.0 + follows if fact.role == asked.role else -1.0))
    if inside(fact, asked):
        found.append(("within", ALONE if asked.alone else 1.0))
    return found


def inside(fact: Fact, asked: Asked) -> bool:
    """Whether it is a turn from a time that the query names."""
    return fact.session is not None and any(span.start <= fact.at < span.end for span in asked.spans)


def timed(said: str, spans: Sequence[Span], search: Search) -> tuple[str, tuple[str, ...], bool]:
    """What to search for among turns if the query names a time: text and terms without words for a time relative to the
    speaker ("today"), which turns of other days contain too; and whether the query asks for hardly anything but a time. Among
    memories these words count, because a note is not from the day that it is about."""
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
    """The numbers of turns from the times that the query names: those nearest to it by meaning and by words."""
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
class Answered:
    """Lowers tool output compared with what was said, and a turn that only asks the same compared with its answer, which takes
    its place; `why` names each."""

    tool: float = 0.8
    asked: float = 0.8

    def __call__(self, search: Search, tools: Tools) -> Search:
        asking = ordered(hit for hit in search.hits if _asks_the_same(hit.record, search))[:MOST_ASKED]
        answers = _answers(asking, search, tools) if asking else []
        hits = {hit.record.number: self._weighed(hit, asking) for hit in search.hits}
        hits |= {hit.record.number: hit for hit in answers if hit.score >= hits.get(hit.record.number, hit).score}
        changed = len(hits) > len(search.hits) or any(hits[hit.record.number] is not hit for hit in search.hits)
        return search.but(hits=tuple(ordered(hits.values()))) if changed else search

    def _weighed(self, hit: Hit, asking: Sequence[Hit]) -> Hit:
        if _of_a_tool(hit.record):
            return weighed(hit, {"tool": self.tool})
        return weighed(hit, {"asked": self.asked}) if hit in asking else hit


def _of_a_tool(record: Record) -> bool:
    """What a tool returned, or was called with."""
    return record.kind == "turn" and (record.provenance.role == "tool" or "call" in record.data)


def _asks_the_same(record: Record, search: Search) -> bool:
    if record.kind != "turn" or "?" not in record.text:
        return False
    said, asked = _terms(record), set(search.terms)
    return bool(asked) and len(said & asked) >= SAME * len(said | asked)


def _answers(asking: Sequence[Hit], search: Search, tools: Tools) -> list[Hit]:
    """The last thing said in reply to each of these questions, as relevant as the best of the question and the results it
    rests on."""
    chains = _following([hit.record.number for hit in asking], ANSWERED_WITHIN, search, tools)
    held = _held(sorted({fact.number for chain in chains.values() for fact in chain}), search, tools)
    scores = {hit.record.number: hit.score for hit in search.hits}
    found = []
    for first, *then in chains.values():
        said = _until(first.role, then)  # until the asker speaks again
        known = filter(None, (held.get(fact.number) for fact in said))
        spoken = [record for record in known if not _of_a_tool(record)]
        if spoken:
            found.append(_beside(spoken[-1], _best(scores, (first, *said)), "answers"))
    return found


def _best(scores: Mapping[int, float], facts: Sequence[Fact]) -> float:
    return max(scores.get(fact.number, 0.0) for fact in facts)


def _until(role: str | None, facts: Sequence[Fact]) -> Sequence[Fact]:
    return facts[: next((place for place, fact in enumerate(facts) if fact.role == role), len(facts))]


def _beside(record: Record, score: float, because: str) -> Hit:
    """A turn as a hit that is as relevant as another one, which it corrects or answers."""
    odds = math.log(max(score, 1e-12) / max(1 - score, 1e-12))
    return Hit(record, score, {"relevance": score, because: 1.0}, (Signal(because, 1.0, 1.0, odds),))


def _held(numbers: Sequence[int], search: Search, tools: Tools) -> dict[int, Record]:
    read = tools.store.get(numbers, search.where) if numbers else []
    return {record.number: record for record in read if not not_believed(record, search, tools)}


def _following(numbers: Sequence[int], most: int, search: Search, tools: Tools) -> dict[int, list[Fact]]:
    """Each of these turns with up to `most` following turns of its session."""

    def facts(wanted: Iterable[int]) -> dict[int, Fact]:
        return {fact.number: fact for fact in tools.store.facts(sorted(set(wanted)), search.shelves, search.where)}

    latest = facts(numbers)
    chains = {number: [fact] for number, fact in latest.items()}
    for _ in range(most):
        following = facts(fact.after for fact in latest.values() if fact.after is not None)
        latest = {number: following[fact.after] for number, fact in latest.items() if fact.after in following}
        for number, fact in latest.items():
            chains[number].append(fact)
    return chains


def _terms(record: Record) -> set[str]:
    return set(query_terms(record.text))
