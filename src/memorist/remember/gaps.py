"""Queries that nothing answered, kept as records of kind `gap`, because it is useful to know what a memory lacks.

A gap lies where the query was made: in the project, or with the user it was made for. It is redacted and journalled like any
other record; the same query in other words reinforces it, and a few hundred are kept per project. The query itself is in the
record's data, which is not indexed: otherwise its words would be known here, and the next query might be told that there is an
answer. Whether it is answered by now is never stored; `gaps` determines that.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from memorist.noun import Noun, line
from memorist.records import Draft, Outcome, Record
from memorist.remember import edit, gate
from memorist.remember.changes import Caller
from memorist.store.talk import place_of
from memorist.store.where import Order
from memorist.text.question import question_of, small_talk
from memorist.text.words import query_terms, tells_something

GAP, QUESTION = "gap", "question"
MOST_GAPS = 200  # of one place
LONGEST_GAP = 500  # characters of a query
SAME_QUESTION = 0.8  # the share of words that two have in common
FEW_ANSWERS = 5  # answers that are examined, to find one that came later
ROOM = "questions that came later found nothing either, and a few hundred are kept"


@dataclass(frozen=True, slots=True)
class Missed:
    """A query that found nothing, and where it was made."""

    question: str
    scope: str | None
    user: str | None
    session: str | None
    at: datetime


@dataclass(frozen=True, slots=True, repr=False)
class Gap(Noun):
    """A query that found nothing, how often it was made, and what answers it by now."""

    question: str
    asked: int
    record: Record
    answer: Record | None = None

    def _line(self) -> str:
        known = f"answered by [id:{self.answer.number}]" if self.answer else "open"
        return f"{line(self.question)} ({known}, asked {self.asked:,} times)"


def keep(missed: Missed, by: Caller) -> Outcome | None:
    """Keeps it, unless it asked for nothing: small talk, or no informative words."""
    question = question_of(missed.question)[:LONGEST_GAP].strip()
    home = by.access.home
    if home is None or small_talk(question) or not tells_something(question):
        return None
    place = gate.scope_of(missed.scope, missed.user) or place_of(missed.session, home, by.access, by.store)
    if not by.access.may_write(place, by.access.home_of(place)):
        return None
    asked = next((gap for gap in map(said, listed(place, MOST_GAPS, by)) if _same(question, gap)), question)
    words = by.writer.digest(" ".join(sorted(query_terms(asked))))[:12]
    draft = Draft(f"gap {words}", GAP, place, session=missed.session, at=missed.at)
    [outcome] = gate.admit([replace(draft, data={QUESTION: asked})], by, home)
    _make_room(place, by)
    return outcome


def said(gap: Record) -> str:
    """The query of a gap; for one that somebody wrote by hand, its text."""
    return str(gap.data.get(QUESTION, gap.text))


def _same(question: str, other: str) -> bool:
    """Whether they consist of the same words, apart from a few."""
    words, others = set(query_terms(question)), set(query_terms(other))
    return len(words & others) >= SAME_QUESTION * len(words | others)


def _make_room(place: str, by: Caller) -> None:
    """Archives the gaps that were not asked for the longest."""
    where = by.where.also("kind", "eq", GAP).also("state", "eq", "active").also("scope", "eq", place)
    beyond = sum(by.store.count(where).values()) - MOST_GAPS
    for old in by.store.find(where, Order("updated", ascending=True), beyond) if beyond > 0 else ():
        keeper = replace(by, steward=True)
        edit.edit(partial(edit.newest, old.id, by), "evicted", partial(edit.archived, because=ROOM), keeper, ROOM)


def listed(place: str, limit: int, by: Caller) -> Sequence[Record]:
    """The gaps of a place, most recently asked first."""
    where = by.where.also("kind", "eq", GAP).also("state", "eq", "active").also("scope", "eq", place)
    return by.store.find(where, Order("updated"), limit)
