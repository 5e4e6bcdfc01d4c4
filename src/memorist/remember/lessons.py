"""What a verdict about a query teaches: how one memory did for it, so that similar queries are answered accordingly.

A lesson is not a vote. It belongs to the project in which the query was made, and says nothing about the memory as such;
`recall/stages/lessons.py` applies it to an answer. It has a row of its own, because the recall log is bounded: the query, the
memory, and the verdicts, those of the user apart from those of all others. The journal has an event of the memory with the
previous verdicts, so `undo` can revert one; the event does not repeat the query.

Who may teach: the user, what a person typed, and agents. A tool, a web page or a file may not: what it says is mere text.
"""

from collections.abc import Sequence
from dataclasses import replace

from memorist.records import Record, Scope, new_id
from memorist.remember.authority import RANK, place_of
from memorist.remember.changes import Caller, Changes
from memorist.store.nouns import Lesson, Receipt
from memorist.store.where import everywhere
from memorist.text.question import question_of
from memorist.text.words import tells_something

VERDICT, USE = 3, 1  # thirds of a verdict
THIRDS = {"useful": VERDICT, "irrelevant": -VERDICT, "wrong": -VERDICT}
THREE_VERDICTS = 3 * VERDICT  # either way: three verdicts are the maximum
LONGEST = 500  # characters of a query
NO_WORDS = "the question holds no words by which it could be recognised, so nothing was learnt"


def reason_against(line: Receipt, by: Caller) -> str | None:
    """Why this caller may not teach anything about this query."""
    who = by.access
    if RANK[who.origin] < RANK["agent"]:
        return f"this door is the {who.origin}'s, and only the user and agents say what helped for a question"
    if line.home is None or line.home != who.home:
        return "the question was asked in another project; give feedback about it there"
    if not who.may_write(line.home):
        return f"this {who.role} access may not write {line.home}, where the question was asked"
    return None if tells_something(question_in(line)) else NO_WORDS


def teach(changes: Changes, records: Sequence[Record], line: Receipt, thirds: int, because: str) -> list[Record]:
    """Adds this many thirds of a verdict for that query about each of these memories. → those for which that changed anything"""
    by, taught = changes.by, []
    home, question = str(line.home), question_in(line)
    known = {each.record: each for each in by.store.lessons(line.space, home) if each.question == question}
    answer = {place_of(each) for each in by.store.get(line.ids, everywhere(line.space))}
    whose = "users" if by.access.origin == "user" else "others"
    for record in records:
        fresh = Lesson("l" + new_id(changes.now)[1:], line.space, home, record.id, question, (), 0, 0, changes.now)
        old = known.get(record.id, fresh)
        stands = max(-THREE_VERDICTS, min(THREE_VERDICTS, getattr(old, whose) + thirds))
        if stands != getattr(old, whose):
            places = sorted({*old.places, *answer, place_of(record)}, key=repr)
            new = replace(old, places=tuple(places), at=changes.now, **{whose: stands})
            changes.learn(record, old, new, because)
            taught.append(record)
    return taught


def question_in(line: Receipt) -> str:
    """The query, without what was pasted around it."""
    return question_of(line.query)[:LONGEST].strip()


def take_back(changes: Changes, record: Record, told: Sequence[tuple[str, Sequence[int]]], because: str) -> bool:
    """Restores the earlier verdicts of these lessons; False if all of them are gone, and have no effect anyway."""
    rows = {lesson.id: lesson for lesson in changes.by.store.lessons(record.space)}
    for id, (users, others) in told:
        if id in rows:
            old, rows[id] = rows[id], replace(rows[id], users=users, others=others)
            changes.learn(record, old, rows[id], because, verb="undone")
    return any(id in rows for id, _ in told)


def take_along(old: Scope, new: Scope, by: Caller) -> None:
    """Copies what was learnt in a project that now has another name. The old name keeps its lessons, for an undo."""

    def moved(lesson: Lesson) -> Lesson:
        places = tuple((new if scope == old else scope, new if home == old else home) for scope, home in lesson.places)
        return replace(lesson, id="l" + new_id(by.now())[1:], home=new, places=places)

    by.writer.save_lessons([moved(lesson) for lesson in by.store.lessons(by.access.space, old)])
