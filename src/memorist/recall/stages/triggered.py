"""Memories that come up by themselves because their triggers occur in the query (`text/triggers.py`), whatever their words
score.

A warning is useful before somebody asks for it, so it comes first, even if nothing else matches. That is power over prompts, so
it is bounded: a few memories, fewer still that came in one way, and none whose triggers together fit nearly any text; only
confirmed ones that do not read like orders to a model, and only those that the query could have found by scope, filter and
validity. Triggers are cached until one is written, compiled when they are tried, and tried for a bounded processor time.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from weakref import WeakKeyDictionary

from memorist.design import Tools, bounded
from memorist.kinds import MEMORY
from memorist.lazy import dataclass
from memorist.recall.pipeline import Search
from memorist.recall.stages.keep import not_believed, rescored
from memorist.records import Hit, Record
from memorist.scoring import log_odds, logistic
from memorist.store.index import has_triggers
from memorist.store.nouns import Shelf, shelf_of
from memorist.store.protocol import Store
from memorist.store.where import Order, Where, everywhere
from memorist.text.injection import suspect
from memorist.text.question import without_injected
from memorist.text.triggers import FIRED, MOST_TRIGGERS, ORDINARY, Occurring, Trigger, said_in, usable

MOST_ARMED = 1000  # the newest memories with triggers that a query considers
LONGEST_LOOK = 0.1  # processor seconds for all of them: waiting for a busy machine must not lose a warning
SURE_TO_SHOW = 0.9  # the least score of what comes up
BETWEEN_FIRED = 0.1  # log-odds between memories that come up together
KEPT_SETS = 16  # sets of shelves per store whose triggers are cached
TOO_MANY_TOGETHER = 0.1  # share of ordinary texts that all triggers of one memory may fit together
QUESTIONS = """how do I run the tests?; can you explain what this does?; who is responsible for the invoices?; add a button to the
settings page; where did we put the spare key?; what is the status of my order?; is it going to rain tomorrow?; write a poem about
the sea; which of these two is faster?; rename this variable; why is my laptop so slow?; I need to book a flight to Oslo; show me
the log of last night; do we have any open tickets?; should I use a list or a dict here?; the build is red again; tell me about
our pricing; Wann ist die nächste Besprechung?; please review my changes; how much did it cost last year?; what time is it in
Tokyo?; refactor the client and update its docs; are there vegetarian restaurants nearby?; let us continue with the next step"""
EVERYDAY = tuple(Occurring.of(text) for text in (*ORDINARY, *QUESTIONS.replace("\n", " ").split("; ")))

Armed = tuple[str, tuple[str, ...]]  # the id of a memory, and the words and patterns that bring it up
# The armed memories by shelves, and the value of the setting when they were read.
_CACHED: "WeakKeyDictionary[Store, dict[tuple[Shelf, ...], tuple[str, list[Armed]]]]" = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Triggered:
    """Puts memories before everything else if their triggers occur in the query or in the names of the files at hand. `why`
    has `triggered`, and the trace says which trigger."""

    most: int = bounded(1, 10, 3)
    of_one_source: int = 2  # that came in through one surface with one origin, unless a person wrote them

    def __call__(self, search: Search, tools: Tools) -> Search:
        shelves = tuple(shelf for shelf in search.shelves if shelf.layer == MEMORY)
        setting = tools.store.setting(has_triggers(shelves[0].space)) if shelves else None
        armed = _armed(shelves, setting, tools.store) if setting is not None else []
        text = "\n".join((*search.files, without_injected(search.query))).strip() if armed else ""
        if not text:
            return search
        occurring, late = _occurring(armed, Occurring.of(text), search)
        records = tools.store.get(list(occurring), _may_fire(search.where)) if occurring else []
        records = [each for each in records if shelf_of(each) in search.shelves and not suspect(each)]
        records = [each for each in records if not_believed(each, search, tools) is None]
        records.sort(key=lambda each: (-each.importance, -len(occurring[each.id].said), -each.number))
        fired, notes, sources, left_out = list[Record](), list[str](), Counter[object](), 0
        for record in records:
            source = record.origin not in ("user", "recorded") and (record.provenance.surface, record.origin)
            if _fit_nearly_anything(_triggers_of(record)):
                notes.append(f"[id:{record.number}] is ignored: its triggers together fit nearly any text")
            elif len(fired) >= self.most or (source and sources[source] >= self.of_one_source):
                left_out += 1
            else:
                fired.append(record)
                sources[source] += 1
                notes.append(f"[id:{record.number}] by {occurring[record.id].said!r}")
        notes += [f"{left_out} more came up and are left out"] if left_out else []
        notes += [late] if late else []
        return search.but(hits=_with_fired(fired, search.hits), note="; ".join(notes) or None) if notes else search


def _armed(shelves: tuple[Shelf, ...], setting: str, store: Store) -> list[Armed]:
    """What may come up on these shelves, the most important first; cached until a memory with triggers is written."""
    cached = _CACHED.setdefault(store, {})
    if shelves not in cached or cached[shelves][0] != setting:
        scopes = tuple({shelf.scope for shelf in shelves})
        where = _may_fire(everywhere(shelves[0].space)).also("scope", "in", scopes)
        records = [each for each in store.find(where, Order("number"), MOST_ARMED) if shelf_of(each) in shelves]
        records.sort(key=lambda record: -record.importance)
        if len(cached) >= KEPT_SETS:
            cached.clear()
        cached[shelves] = setting, [(record.id, _triggers_of(record)) for record in records]
    return cached[shelves][1]


def _triggers_of(record: Record) -> tuple[str, ...]:
    return said_in(record.data)[:MOST_TRIGGERS]


def _may_fire(where: Where) -> Where:
    """Only confirmed memories: an unverified text must not decide when it is shown."""
    return where.also("triggered", "eq", True).also("state", "eq", "active").also("status", "eq", "confirmed")


def _occurring(armed: Sequence[Armed], context: Occurring, search: Search) -> tuple[dict[str, Trigger], str | None]:
    """Which triggers occur, by the id of their memory, and a note if there was not enough time for all."""
    occurring, until = dict[str, Trigger](), time.thread_time() + LONGEST_LOOK
    for place, (id, said) in enumerate(armed):
        if place and (time.thread_time() > until or search.left() == 0):
            return occurring, f"triggers of {len(armed) - place} memories were not looked for: it took too long"
        if (trigger := context.meets(usable(said))) is not None:
            occurring[id] = trigger
    return occurring, None


@lru_cache(maxsize=1 << 10)
def _fit_nearly_anything(said: tuple[str, ...]) -> bool:
    """Whether these triggers together fit too many everyday texts: each alone was measured when it was stored."""
    fit = sum(text.meets(usable(said)) is not None for text in EVERYDAY)
    return fit > TOO_MANY_TOGETHER * len(EVERYDAY)


def _with_fired(fired: Sequence[Record], hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """All hits, with the triggered ones first, scored above all others. A chance remains below 1; a plain score has no upper
    bound. A memory that was a hit anyway keeps what else is known about it."""
    own = {hit.record.id: hit for hit in hits}
    best = max((hit.score for hit in hits), default=0.0)
    first = list[Hit]()
    for place, record in enumerate(fired):
        above = BETWEEN_FIRED * (len(fired) - place)
        score = logistic(log_odds(max(best, SURE_TO_SHOW)) + above) if best < 1 else best * (1 + above)
        hit = rescored(own.pop(record.id), score, FIRED) if record.id in own else Hit(record, score, {FIRED: score})
        first.append(hit if FIRED in hit.why else replace(hit, why={**hit.why, FIRED: 1.0}))
    return (*first, *own.values())
