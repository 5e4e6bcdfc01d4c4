"""Memories that come up by themselves because their triggers occur in the query (`text/triggers.py`), whatever their words
score.

A warning is useful before somebody asks for it, so it comes up even if nothing else was found, and stands first. That is power
over prompts, so it is bounded: only a few, only confirmed memories that do not read like orders to a model, and only those
that the query could have found by scope, filter and validity.

For a store without triggers this costs one read of a setting. Otherwise the triggers are cached and read again when the
setting says that one was written; the memories that come up are always read anew. Words are tried before patterns, those of
important memories first. Patterns are compiled when they are tried, within a bounded processor time; the trace says what was
not tried.
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
from memorist.scoring import log_odds, logistic
from memorist.store.index import has_triggers
from memorist.store.nouns import Shelf, shelf_of
from memorist.store.protocol import Store
from memorist.store.where import Order, Where, everywhere
from memorist.text.injection import suspect
from memorist.text.question import without_injected
from memorist.text.triggers import FIRED, MOST_TRIGGERS, Occurring, Trigger, is_pattern, said_in, usable

MOST_ARMED = 1000  # the newest memories with triggers that a query considers
LONGEST_LOOK = 0.05  # processor seconds for all of them: waiting for a busy machine must not lose a warning
LONGEST_MADE_READY = 0.25  # additional seconds to compile patterns, which a process does once
SURE_TO_SHOW = 0.9  # the least score of what comes up
BETWEEN_FIRED = 0.1  # log-odds between memories that come up together
KEPT_SETS = 16  # sets of shelves per store whose triggers are cached


class Armed(NamedTuple):
    """A memory, and the words or patterns that bring it up."""

    id: str
    said: tuple[str, ...]


# The armed memories by shelves, and the value of the setting when they were read.
_KNOWN: "WeakKeyDictionary[Store, dict[tuple[Shelf, ...], tuple[str, list[Armed]]]]" = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Triggered:
    """Puts memories before everything else if their triggers occur in the query or in the names of the files at hand. `why`
    has `triggered`, and the trace says which trigger."""

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
    """For the trace: which memories came up, by which trigger, and what was left out."""
    told = [f"[id:{record.number}] by {trigger.said!r}" for record, trigger in fired[:most]]
    if len(fired) > most:
        told.append(f"{len(fired) - most} more came up and are left out")
    return "; ".join([*told, *([late] if late else ())]) or None


def _armed(shelves: tuple[Shelf, ...], setting: str, store: Store) -> list[Armed]:
    """What may come up on these shelves, cached until a memory with triggers is written."""
    sets = _KNOWN.setdefault(store, {})
    known = sets.get(shelves)
    if known is None or known[0] != setting:
        if len(sets) >= KEPT_SETS:
            sets.clear()
        known = sets[shelves] = setting, _read(shelves, store)
    return known[1]


def _read(shelves: Sequence[Shelf], store: Store) -> list[Armed]:
    """The words of all of them, then their patterns, which take longer; the most important memories first."""
    scopes = tuple({shelf.scope for shelf in shelves})
    where = _may_fire(everywhere(shelves[0].space)).also("scope", "in", scopes)
    found = [each for each in store.find(where, Order("number"), MOST_ARMED) if shelf_of(each) in shelves]
    found.sort(key=lambda record: -record.importance)
    said = [(record.id, said_in(record.data)[:MOST_TRIGGERS]) for record in found]
    return [*_of(said, patterns=False), *_of(said, patterns=True)]


def _of(said: Sequence[tuple[str, tuple[str, ...]]], patterns: bool) -> Iterator[Armed]:
    """Those that have patterns (or words), with only these."""
    for id, all_of_it in said:
        some = tuple(each for each in all_of_it if is_pattern(each) is patterns)
        if some:
            yield Armed(id, some)


def _may_fire(where: Where) -> Where:
    """Only confirmed memories: a text that nobody vouches for must not decide when it is shown."""
    return where.also("triggered", "eq", True).also("state", "eq", "active").also("status", "eq", "confirmed")


def _met(armed: Sequence[Armed], context: Occurring, search: Search) -> tuple[dict[str, Trigger], str | None]:
    """Which of them occur, by id, and a note if there was not enough time for all."""
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
    """Those that the query may find, in their present state: the most important first, then by length of the trigger."""
    if not found:
        return
    records = tools.store.get(list(found), _may_fire(search.where))
    records.sort(key=lambda record: (-record.importance, -len(found[record.id].said), -record.number))
    for record in records:
        believed = not_believed(record, search, tools) is None and not suspect(record)
        if believed and shelf_of(record) in search.shelves:
            yield record, found[record.id]


def _first(fired: Sequence[Record], hits: Sequence[Hit]) -> list[Hit]:
    """All hits, with the triggered ones first. A memory that was found anyway keeps what else is known about it."""
    known = {hit.record.id: hit for hit in hits}
    others = [hit for hit in hits if hit.record.id not in {record.id for record in fired}]
    scores = zip(fired, _scores(fired, hits), strict=True)
    return [*(_lifted(record, known.get(record.id), score) for record, score in scores), *others]


def _scores(fired: Sequence[Record], hits: Sequence[Hit]) -> list[float]:
    """A score for each triggered memory, above all others. A chance remains below 1; a plain score has no upper bound."""
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
