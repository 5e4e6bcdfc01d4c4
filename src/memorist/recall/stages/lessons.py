"""What was learnt from similar queries: which memories were useful for them, and which were beside the point.

Every verdict moves the log-odds of a hit by at most 1.5, times how similar the two queries are; three verdicts count at most.
The relevance stays as it is. Two queries are similar if they are so by words and by meaning. Meaning alone is not enough: "what
are my migraine triggers?" and "which preventive am I on for migraine?" have a cosine of 0.92 and ask for different things.
Queries are compared with the built-in table, whichever embedder a store has: its cosines are known, and it costs next to
nothing. Without vectors, most of the words must be shared.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from memorist.design import Tools
from memorist.fork import inside
from memorist.lazy import dataclass
from memorist.recall.pipeline import Search, Taught, ordered
from memorist.recall.stages.keep import rescored
from memorist.records import Record
from memorist.scoring import held_up, log_odds, logistic, vouched_for
from memorist.store.nouns import shelf_of
from memorist.text.question import question_of
from memorist.text.words import query_terms

if TYPE_CHECKING:
    from memorist.models.embed import Floats

ORDINARY, ALIKE = 0.45, 0.8  # cosines: of two queries that may be anything, and of two that ask the same
MOSTLY = 0.6  # the share of all words of two queries, if there are only words to compare
SHARED = 1.8  # factor of the share of common words; from 1 on, they share enough
THIRDS, ENOUGH = 3, 3.0  # how many units make a verdict, and how many verdicts count at most
STEP = 1.5  # log-odds of one verdict


@dataclass(frozen=True, slots=True)
class Learnt:
    """Looks up what was learnt from similar queries of this project, so that memories which were useful for them are
    considered. A lesson counts only where the query reads every place that its answers came from."""

    one_moment: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        who, places = search.where.access, {(shelf.scope, shelf.home) for shelf in search.shelves}
        if who.home is None or not who.may_read(who.home):
            return search
        lessons = [each for each in tools.store.lessons(who.space, who.home) if places.issuperset(each.places)]
        questions = tuple(lesson.question for lesson in lessons)
        likenesses = likeness(question_of(search.query), questions, bool(search.vectors)) if lessons else []
        taught: dict[str, Taught] = {}
        for lesson, like in zip(lessons, likenesses, strict=True):
            if like:
                known = taught.get(lesson.record, Taught(0.0, 0.0, lesson.question))
                users = _bounded(known.users + like * lesson.users / THIRDS)
                others = _bounded(known.others + like * lesson.others / THIRDS)
                taught[lesson.record] = Taught(users, others, known.question)
        records = tools.store.get(list(taught), search.where) if taught else []
        here = {record.number: taught[record.id] for record in records if shelf_of(record) in search.shelves}
        note = ", ".join(f"[id:{number}] from “{each.question[:80]}”" for number, each in sorted(here.items())[:3])
        return search.but(taught=here, note=f"learnt: {note}") if here else search


@dataclass(frozen=True, slots=True)
class Lessons:
    """Lifts what was useful for similar queries and lowers what was beside the point; `why` shows by how much."""

    def __call__(self, search: Search, tools: Tools) -> Search:
        hits = []
        for hit in search.hits:
            step = STEP * allowed(hit.record, search.taught.get(hit.record.number))
            hits.append(rescored(hit, logistic(log_odds(hit.score) + step), "lesson") if step else hit)
        return search.but(hits=tuple(ordered(hits)))


def allowed(record: Record, taught: Taught | None) -> float:
    """How many verdicts count for the record, or below zero against it. Verdicts of others can cancel the user's but not
    reverse them, do not lower what a person stated, and do not lift what nobody verified; a pin is never lowered."""
    if taught is None:
        return 0.0
    users, others = taught.users, taught.others
    if (others > 0 and not vouched_for(record)) or (others < 0 and record.origin in ("user", "recorded")):
        others = 0.0
    both = _bounded(users + others)
    if (users > 0 > both) or (users < 0 < both) or (both < 0 and held_up(record)):
        return 0.0
    return both


def _bounded(verdicts: float) -> float:
    return max(-ENOUGH, min(ENOUGH, verdicts))


def likeness(asked: str, others: tuple[str, ...], by_meaning: bool) -> list[float]:
    """How similar each of the others is to the query, from 0 to 1.

    >>> same, other = likeness("Where does Anna live?", ("In which city does Anna live?", "Who is the captain?"), True)
    >>> same > 0.9, other < 0.1
    (True, True)
    """
    words, cosines, likenesses = {*query_terms(asked)}, [0.0] * len(others), list[float]()
    if by_meaning:
        with inside:  # the linear algebra library starts threads for many
            cosines = (_vectors(others) @ _vectors((asked,))[0]).tolist()
    for other, cosine in zip(others, cosines, strict=True):
        held = {*query_terms(other)}
        shared = len(words & held) / len(words | held or {""})
        near = (cosine - ORDINARY) / (ALIKE - ORDINARY) if cosine else float(shared >= MOSTLY)  # 0: no known word
        likenesses.append(max(0.0, min(1.0, near)) * min(1.0, SHARED * shared))
    return likenesses


@lru_cache(maxsize=16)
def _vectors(questions: tuple[str, ...]) -> "Floats | Any":
    from memorist.models.embed import StaticEmbedder

    return StaticEmbedder().embed(questions)
