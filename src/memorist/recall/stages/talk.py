"""What only conversations have: who is asked about, and the time that is named.

"You" is the assistant and "I" the user, so a query for what you advised prefers an assistant's turns. A named day, week or
month is a window: turns inside it are collected even if they share little with the query, and get a signal of their own.
"""

from collections.abc import Sequence
from functools import cache

from memorist.design import Tools
from memorist.kinds import TURNS
from memorist.recall.pipeline import Asked, Search
from memorist.store.nouns import Fact
from memorist.store.where import Order
from memorist.text.dates import Span
from memorist.text.words import query_terms, tells_something
from memorist.text.words import terms as every_term

MOST_WITHIN = 50  # turns of a window that are collected by meaning, and as many by words
ALONE = 4.0  # how much more the time counts if the query asks for nothing else
FOLLOWING, MOST_FOLLOWING = 0.15, 0.8  # how much more an answer counts because of the turn before it
# Words of a query that asks for a time without saying what happened then.
VAGUE = """do done happen happened happening go going went on up talk talked say said tell told speak spoke discuss discussed chat
chatted mention mentioned conversation day thing things stuff anything something plan planned made
gemacht machen mache passiert geschehen los war besprochen gesprochen geredet erzählt gesagt worüber erlebt vor geplant
unternommen"""


def spoken(fact: Fact, asked: Asked, before: float = 0.0) -> list[tuple[str, float]]:
    """The signals of a turn: that the role asked for said it (or the other one), and that it was said in the named time.
    `before` is the worth of the turn before it: an assistant's answer follows the question."""
    found = []
    if asked.role is not None and fact.role in ("user", "assistant"):
        follows = min(MOST_FOLLOWING, FOLLOWING * max(0.0, before)) if asked.role == "assistant" else 0.0
        found.append(("role", 1.0 + follows if fact.role == asked.role else -1.0))
    if fact.session is not None and any(span.start <= fact.at < span.end for span in asked.spans):
        found.append(("within", ALONE if asked.alone else 1.0))
    return found


def timed(said: str, spans: Sequence[Span], search: Search) -> tuple[str, tuple[str, ...], bool]:
    """The text and the terms to search for among turns if the query names a time, without the words for a relative time
    ("today"), which turns of other days contain too; and whether the query asks for hardly anything but a time. Among memories
    these words count, because a note is not from the day that it is about."""
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
    """The numbers of turns from the first times that the query names: those nearest to it by meaning and by words."""
    shelves, found = [shelf for shelf in search.shelves if shelf.layer == TURNS], set[int]()
    for span in search.asked.spans[:2] if shelves else ():
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
