"""Recognises what was said again in other words, and where, for designs in which that reinforces the existing memory
(`Design.twins`).

Two judges must agree. By words, both make the same claim (`text/restated.py`): every number, name and negation is the same, no
word is replaced by another, and the new text says nothing beyond the old one, which would be lost, nor the same about
something else. By meaning, the old one is among the nearest few of everything in the scope. There is no threshold on
similarity: one low enough for true twins would let "tea" pass for "coffee". Without vectors words decide alone, and they are
strict enough for that.
"""

from collections.abc import Mapping
from typing import Any

from memorist import checks
from memorist.records import Record
from memorist.remember.changes import Changes, is_one_item
from memorist.remember.conflicts import between, may_be_disputed, may_meet, near_by_meaning, telling_words
from memorist.store.nouns import shelf_of
from memorist.store.where import everywhere
from memorist.text.procedure import PARTS_OF_PROCEDURE, PROCEDURE
from memorist.text.restated import LONGEST_RESTATED, same_claim
from memorist.text.triggers import MOST_TRIGGERS, TRIGGERS, said_in

MOST_ALIKE = 8  # by words


def says_the_same(record: Record, changes: Changes) -> Record | None:
    """The active memory of the same kind and scope that says the same; None if there is none."""
    if not may_be_disputed(record, changes) or len(record.text) > LONGEST_RESTATED:
        return None
    near = [old for old, _ in near_by_meaning(record, changes)]
    if not near:
        store, where = changes.by.store, everywhere(record.space)
        numbers = list(store.match(telling_words(record.text), [shelf_of(record)], where, MOST_ALIKE).scores)
        near = [*(store.get(numbers, where) if numbers else ()), *list(changes.records.values())[-MOST_ALIKE:]]
    latest = (changes.records.get(old.id, old) for old in near)
    return next((old for old in latest if _is_twin(old, record, changes)), None)


def _is_twin(old: Record, record: Record, changes: Changes) -> bool:
    same_place = (old.scope, old.home, old.state, old.kind) == (record.scope, record.home, "active", record.kind)
    valid = (record.times.valid_from, record.times.valid_to) == (old.times.valid_from, old.times.valid_to)
    one_item = old.id != record.id and is_one_item(record, old) and not does_it_otherwise(record, old)
    if not (same_place and valid and one_item):
        return False
    return (
        same_claim(record.text, old.text)
        and may_meet(old, record, changes.now)
        and between(old.text, record.text, reading=False) is None
    )


def does_it_otherwise(record: Record, other: Record) -> bool:
    """Whether it is a procedure whose steps or other parts differ from the other's: then it is a second way, and no twin."""
    parts = (name for name in PARTS_OF_PROCEDURE if record.data.get(name))
    return record.kind == PROCEDURE and any(record.data[name] != other.data.get(name) for name in parts)


def with_triggers(old: Mapping[str, Any], new: Mapping[str, Any]) -> Mapping[str, Any]:
    """The old data with the triggers of both, unless these are too many."""
    said = list(dict.fromkeys((*said_in(old), *said_in(new))))
    return {**old, TRIGGERS: said} if said_in(new) and len(said) <= MOST_TRIGGERS else old


def labels_of_both(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    joined = tuple(dict.fromkeys((*old, *new)))
    return joined if len(joined) <= checks.MOST_LABELS else old


def where_said(record: Record, changes: Changes) -> str:
    """For the journal: the session and message in which it was said again, as far as known."""
    session, messages = record.provenance.session, record.provenance.messages
    if session is None:
        return ""
    last = messages[-1] if messages else _last_message(session, changes)
    return f"; said again in session {session}" + ("" if last is None else f", message {last}")


def _last_message(session: str, changes: Changes) -> int | None:
    """The number of the last turn of that session, from 0; None if none of its turns is here."""
    by = changes.by
    here = by.where.also("session", "eq", session).also("kind", "eq", "turn").also("home", "in", (None, by.access.home))
    count = sum(by.store.count(here).values())
    return count - 1 if count else None
