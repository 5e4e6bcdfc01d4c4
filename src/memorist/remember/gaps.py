"""Questions that nothing answered, kept as records of the kind `gap`: what a memory lacks is worth to be known.

A gap lies where the question was asked, in the project or with the user it was asked for. It is redacted and journalled like any
other record; the same question in other words makes it stronger, and a project keeps a few hundred. The question itself is in its
data, which no index holds: else its words would be known here, and the next one to ask might be told that there is an answer.
Whether it is answered by now is never stored: `gaps` asks.
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
LONGEST_GAP = 500  # characters of a question
SAME_QUESTION = 0.8  # of the words that two have, they share so many
FEW_ANSWERS = 5  # that are looked at, for one that came since
ROOM = "questions that came later found nothing either, and a few hundred are kept"


@dataclass(frozen=True, slots=True)
class Missed:
    """A question that found nothing, and where it was asked."""

    question: str
    scope: str | None
    user: str | None
    session: str | None
    at: datetime


@dataclass(frozen=True, slots=True, repr=False)
class Gap(Noun):
    """A question that found nothing, how often it was asked, and what answers it by now."""

    question: str
    asked: int
    record: Record
    answer: Record | None = None

    def _line(self) -> str:
        known = f"answered by [id:{self.answer.number}]" if self.answer else "open"
        return f"{line(self.question)} ({known}, asked {self.asked:,} times)"


def keep(missed: Missed, by: Caller) -> Outcome | None:
    """Keeps it, unless it asked for nothing: small talk, or no words that tell anything."""
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
    """The question of a gap; that of one which somebody wrote by hand is its text."""
    return str(gap.data.get(QUESTION, gap.text))


def _same(question: str, other: str) -> bool:
    """Whether they are made of the same words, but for a few."""
    words, others = set(query_terms(question)), set(query_terms(other))
    return len(words & others) >= SAME_QUESTION * len(words | others)


def _make_room(place: str, by: Caller) -> None:
    """Puts those away that nobody asked for the longest."""
    where = by.where.also("kind", "eq", GAP).also("state", "eq", "active").also("scope", "eq", place)
    beyond = sum(by.store.count(where).values()) - MOST_GAPS
    for old in by.store.find(where, Order("updated", ascending=True), beyond) if beyond > 0 else ():
        keeper = replace(by, steward=True)
        edit.edit(partial(edit.newest, old.id, by), "evicted", partial(edit.archived, because=ROOM), keeper, ROOM)


def listed(place: str, limit: int, by: Caller) -> Sequence[Record]:
    """The gaps of a place, the one last asked first."""
    where = by.where.also("kind", "eq", GAP).also("state", "eq", "active").also("scope", "eq", place)
    return by.store.find(where, Order("updated"), limit)
