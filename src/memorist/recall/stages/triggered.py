"""What comes up by itself: memories with triggers that occur in what is said (`text/triggers.py`), whatever their words score.

A warning is of use before somebody asks for it, so it comes up although nothing else was found, and stands first. That is power
over prompts, and bounded: a few at most, only memories that are confirmed and that do not read like orders to a model, and only
those that the question could have found: its scopes, its filter, what holds at its moment.

A store without triggers is asked for one setting. Where there are any, they are read again when that says that one was written;
whatever comes up is read anew in any case. Words are looked for before patterns, those of important memories first, and patterns
are compiled when they are looked for, in a time of the processor that is bounded: what was not looked for is told in the trace.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

from memorist.design import Tools
from memorist.kinds import MEMORY
from memorist.lazy import dataclass
from memorist.recall.pipeline import Search
from memorist.recall.stages.keep import not_believed, rescored
from memorist.records import Hit, Record
from memorist.store.index import has_triggers
from memorist.store.nouns import Shelf, shelf_of
from memorist.store.protocol import Store
from memorist.store.where import Order, Where, everywhere
from memorist.text.injection import suspect
from memorist.text.question import without_injected
from memorist.text.triggers import FIRED, MOST_TRIGGERS, Occurring, Trigger, is_pattern, said_in, usable
from memorist.worth import log_odds, logistic

MOST_ARMED = 1000  # memories with triggers that a question looks at, the newest
LONGEST_LOOK = 0.05  # seconds of the processor for all of them: who has to wait for it must not lose a warning
LONGEST_MADE_READY = 0.25  # more of them, where patterns are to be compiled: a process does that once
SURE_TO_SHOW = 0.9  # the score of what comes up, at least
BETWEEN_FIRED = 0.1  # log-odds between those that come up together
KEPT_SETS = 16  # sets of shelves of one store whose triggers are kept


class Armed(NamedTuple):
    """A memory, and words or patterns that bring it up."""

    id: str
    said: tuple[str, ...]


# What is armed on some shelves, and what the setting said then.
_KNOWN: "WeakKeyDictionary[Store, dict[tuple[Shelf, ...], tuple[str, list[Armed]]]]" = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Triggered:
    """Puts memories whose triggers occur in the question, or in the names of the files at hand, before everything else. `why` has
    `triggered`, and the trace says by what."""

    most: int = 3

    def __call__(self, search: Search, tools: Tools) -> Search:
        shelves = tuple(shelf for shelf in search.shelves if shelf.layer == MEMORY)
        setting = tools.store.setting(has_triggers(shelves[0].space)) if shelves else None
        if setting is None:
            return search
        armed = _armed(shelves, setting, tools.store)
        said = "\n".join((*search.files, without_injected(search.query))).strip() if armed else ""
        found, late = _met(armed, Occurring.of(said), search) if said else ({}, None)
        fired = list(_allowed(found, search, tools))
        note = _told(fired, self.most, late)
        if not fired:
            return search.but(note=note) if note else search
        return search.but(hits=tuple(_first([record for record, _ in fired[: self.most]], search.hits)), note=note)


def _told(fired: Sequence[tuple[Record, Trigger]], most: int, late: str | None) -> str | None:
    """What the trace says: which came up, by what, and what was left out."""
    told = [f"[id:{record.number}] by {trigger.said!r}" for record, trigger in fired[:most]]
    if len(fired) > most:
        told.append(f"{len(fired) - most} more came up and are left out")
    return "; ".join([*told, *([late] if late else ())]) or None


def _armed(shelves: tuple[Shelf, ...], setting: str, store: Store) -> list[Armed]:
    """What may come up on these shelves. It is kept until a memory with triggers is written."""
    sets = _KNOWN.setdefault(store, {})
    known = sets.get(shelves)
    if known is None or known[0] != setting:
        if len(sets) >= KEPT_SETS:
            sets.clear()
        known = sets[shelves] = setting, _read(shelves, store)
    return known[1]


def _read(shelves: Sequence[Shelf], store: Store) -> list[Armed]:
    """The words of all of them, and then their patterns, which take longer; the most important first."""
    scopes = tuple({shelf.scope for shelf in shelves})
    where = _may_fire(everywhere(shelves[0].space)).also("scope", "in", scopes)
    found = [each for each in store.find(where, Order("number"), MOST_ARMED) if shelf_of(each) in shelves]
    found.sort(key=lambda record: -record.importance)
    said = [(record.id, said_in(record.data)[:MOST_TRIGGERS]) for record in found]
    return [*_of(said, patterns=False), *_of(said, patterns=True)]


def _of(said: Sequence[tuple[str, tuple[str, ...]]], patterns: bool) -> Iterator[Armed]:
    """Those that have patterns, or words, with these alone."""
    for id, all_of_it in said:
        some = tuple(each for each in all_of_it if is_pattern(each) is patterns)
        if some:
            yield Armed(id, some)


def _may_fire(where: Where) -> Where:
    """A candidate waits for a person: a text that nobody vouches for does not decide when it is shown."""
    return where.also("triggered", "eq", True).also("state", "eq", "active").also("status", "eq", "confirmed")


def _met(armed: Sequence[Armed], context: Occurring, search: Search) -> tuple[dict[str, Trigger], str | None]:
    """Which of them occur, by id, and what to say if there was no time for all."""
    found: dict[str, Trigger] = {}
    began, made_ready = time.thread_time(), 0.0
    for place, each in enumerate(armed):
        now = time.thread_time()
        late = now - began - made_ready > LONGEST_LOOK or made_ready > LONGEST_MADE_READY
        if place and (late or search.left() == 0):
            missed = {other.id for other in armed[place:]} - found.keys()
            told = f"not all triggers of {len(missed)} memories were looked for: they took too long"
            return found, told if missed else None
        triggers = usable(each.said)
        made_ready += time.thread_time() - now
        trigger = context.meets(triggers)
        if trigger is not None:
            found.setdefault(each.id, trigger)
    return found, None


def _allowed(found: dict[str, Trigger], search: Search, tools: Tools) -> Iterator[tuple[Record, Trigger]]:
    """Those that the question may find, as they are now: the most important first, of equals what was said in most words."""
    if not found:
        return
    records = tools.store.get(list(found), _may_fire(search.where))
    records.sort(key=lambda record: (-record.importance, -len(found[record.id].said), -record.number))
    for record in records:
        believed = not_believed(record, search, tools) is None and not suspect(record)
        if believed and shelf_of(record) in search.shelves:
            yield record, found[record.id]


def _first(fired: Sequence[Record], hits: Sequence[Hit]) -> list[Hit]:
    """All hits, with these before the others. What was found anyhow keeps what else is known of it."""
    known = {hit.record.id: hit for hit in hits}
    others = [hit for hit in hits if hit.record.id not in {record.id for record in fired}]
    scores = zip(fired, _scores(fired, hits), strict=True)
    return [*(_lifted(record, known.get(record.id), score) for record, score in scores), *others]


def _scores(fired: Sequence[Record], hits: Sequence[Hit]) -> list[float]:
    """One for each of those that come up, above all others. A chance stays one; a plain score has no upper bound."""
    best = max((hit.score for hit in hits), default=0.0)
    if best < 1:
        level = log_odds(max(best, SURE_TO_SHOW))
        return [logistic(level + BETWEEN_FIRED * (len(fired) - place)) for place in range(len(fired))]
    return [best * (1 + BETWEEN_FIRED * (len(fired) - place)) for place in range(len(fired))]


def _lifted(record: Record, hit: Hit | None, score: float) -> Hit:
    if hit is None:
        return Hit(record, score, {FIRED: score})
    placed = rescored(hit, score, FIRED)
    return placed if FIRED in placed.why else replace(placed, why={**placed.why, FIRED: 1.0})
