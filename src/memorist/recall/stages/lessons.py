"""What was learnt from similar queries: which memories were useful for them, and which were beside the point.

Two queries are similar if they are so by words and by meaning. Meaning alone is not enough: "what are my migraine triggers?"
and "which preventive am I on for migraine?" have a cosine of 0.92 and ask for different things. Lowering a memory that would
be right is worse than showing one too many, so a lesson against a memory requires shared words, while one for it only gains by
them. Queries are compared with the built-in table, whichever embedder a store has: its cosines are known, and it costs next to
nothing. Without vectors, most of the words must be shared.

A lesson moves the log-odds of a hit, by at most 4.5 for three verdicts, while its relevance stays as it is. From a certain
strength on, a lesson always prevails: such a hit stands behind the best of the others, or among the first three. Four limits
apply:

- a pinned memory is never lowered, and a leading one keeps leading;
- if the user gave a verdict, those of others can cancel it at most, never reverse it;
- what others say against the user's own words moves these behind another hit, and no further;
- verdicts of others do not lift a memory that nobody vouches for.
"""

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from memorist.design import Tools
from memorist.fork import inside
from memorist.lazy import dataclass
from memorist.recall.pipeline import Search, Taught, ordered
from memorist.recall.stages.keep import BEHIND, not_believed, rescored
from memorist.records import Hit, Record, Signal
from memorist.scoring import held_up, log_odds, logistic, vouched_for
from memorist.store.nouns import Lesson, shelf_of
from memorist.text.question import question_of
from memorist.text.words import query_terms

if TYPE_CHECKING:
    from memorist.models.embed import Floats

ORDINARY, ALIKE = 0.45, 0.8  # cosines: of two queries that may be anything, and of two that ask the same
MOSTLY = 0.6  # the share of all words of two queries, if there are only words to compare
SHARED = 1.8  # factor of the share of common words; from 1 on, they share enough
VERDICT, ENOUGH = 3, 3.0  # how many units make a verdict, and how many verdicts count at most
STEP = 1.5  # log-odds of one verdict
SURE = 2.0  # verdicts from which a lesson always prevails
FIRST = 3  # places
AHEAD = 0.02  # log-odds by which one hit is put before another
STRONGEST = 20  # memories that are looked at
BROUGHT = 1.0  # verdicts from which a memory is shown even if it was not found
UNFOUND = 0.05  # the relevance of such a memory
NOTHING_ALIKE = 0.0, 0.0
Scores = Mapping[str, float]  # by memory id


@dataclass(frozen=True, slots=True)
class Learnt:
    """Looks up what was learnt from similar queries, so that memories which were useful for them are considered."""

    one_moment: ClassVar[bool] = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        lessons = _held_here(search, tools)
        taught = _taught(question_of(search.query), lessons, search) if lessons else {}
        if not taught:
            return search
        seen = tools.store.get(sorted(taught, key=lambda id: (-taught[id].strength, id))[:STRONGEST], search.where)
        here = {record.number: taught[record.id] for record in seen if shelf_of(record) in search.shelves}
        return search.but(taught=here, note=_told(here))


def _held_here(search: Search, tools: Tools) -> list[Lesson]:
    """The lessons of the current project whose answers came only from places that this query reads too."""
    who = search.where.access
    if who.home is None or not who.may_read(who.home):
        return []
    lessons = tools.store.lessons(who.space, who.home)
    read = {(shelf.scope, shelf.home) for shelf in search.shelves} if lessons else set()
    return [lesson for lesson in lessons if read.issuperset(lesson.places)]


def _taught(asked: str, lessons: Sequence[Lesson], search: Search) -> dict[str, Taught]:
    """What these lessons say about each memory, by its id."""
    found: dict[str, Taught] = {}
    likenesses = likeness(asked, tuple(each.question for each in lessons), bool(search.asked.vectors))
    for lesson, (for_it, against) in zip(lessons, likenesses, strict=True):
        if for_it:
            users, others = (
                thirds / VERDICT * (for_it if thirds > 0 else against) for thirds in (lesson.users, lesson.others)
            )
            known = found.get(lesson.record, Taught(0.0, 0.0, ""))
            new = Taught(users, others, lesson.question)
            question = max(known, new, key=lambda each: each.strength).question
            found[lesson.record] = Taught(_bounded(known.users + users), _bounded(known.others + others), question)
    return found


def _bounded(verdicts: float) -> float:
    return max(-ENOUGH, min(ENOUGH, verdicts))


def _told(taught: Mapping[int, Taught]) -> str | None:
    """For the trace. Earlier queries may be quoted, since this one reads every place that their answers came from."""
    said = [f"[id:{number}] from “{each.question[:80]}”" for number, each in sorted(taught.items())]
    more = f" and {len(said) - FIRST} more" if len(said) > FIRST else ""
    return f"learnt: {', '.join(said[:FIRST])}{more}" if said else None


# ---------------------------------------------------------------- how like two questions are


def likeness(asked: str, others: tuple[str, ...], by_meaning: bool) -> Iterator[tuple[float, float]]:
    """How similar each of the others is to the query, from 0 to 1: for a lesson in favour of a memory, and for one against it.

    >>> same, other = likeness("Where does Anna live?", ("In which city does Anna live?", "Who is the captain?"), True)
    >>> same[1] > 0.9, other[0] < 0.1
    (True, True)
    """
    words = frozenset(query_terms(asked))
    for theirs, near in zip(_words(others), _near(asked, others) if by_meaning else repeat(None), strict=False):
        if near == 0:  # most of them
            yield NOTHING_ALIKE
            continue
        shared = len(words & theirs) / len(words | theirs or {""})
        enough = min(1.0, SHARED * shared)
        if near is not None:
            yield near * (1 + enough) / 2, near * enough
        else:
            yield (enough, enough) if shared >= MOSTLY else NOTHING_ALIKE


def _near(asked: str, others: tuple[str, ...]) -> list[float | None]:
    """How near they are in meaning, from 0 to 1; None if the table knows nothing of one of the two."""
    vectors, vector = _meaning(others), _meaning((asked,))[0]
    with inside:  # the linear algebra library starts threads for many
        cosines = vectors @ vector
    return [
        None if cosine == 0 else 0.0 if cosine <= ORDINARY else min(1.0, (cosine - ORDINARY) / (ALIKE - ORDINARY))
        for cosine in cosines.tolist()
    ]


@lru_cache(maxsize=16)
def _words(questions: tuple[str, ...]) -> list[frozenset[str]]:
    return [frozenset(query_terms(question)) for question in questions]


@lru_cache(maxsize=16)
def _meaning(questions: tuple[str, ...]) -> "Floats | Any":
    from memorist.models.embed import StaticEmbedder

    return StaticEmbedder().embed(questions)


# ---------------------------------------------------------------- what follows from it


@dataclass(frozen=True, slots=True)
class Lessons:
    """Lifts what was useful for similar queries and lowers what was beside the point; `why` shows by how much."""

    def __call__(self, search: Search, tools: Tools) -> Search:
        if not search.taught:
            return search
        hits = [*search.hits, *_brought(search, tools)]
        known = [hit.record for hit in hits if hit.record.number in search.taught]
        says = {record.id: _verdicts(record, search.taught[record.number]) for record in known}
        if not any(says.values()):
            return search
        moved = _placed({hit.record.id: _moved(hit, search) for hit in hits}, hits, says)
        return search.but(hits=tuple(ordered(rescored(hit, moved[hit.record.id], "lesson") for hit in hits)))


def _verdicts(record: Record, taught: Taught) -> float:
    """How many verdicts count for it, or below zero against it, after applying the limits on who may say so."""
    users, others = taught.users, taught.others
    if others > 0 and not vouched_for(record):
        others = 0.0
    both = users + others
    both = max(0.0, both) if users > 0 else min(0.0, both) if users < 0 else both
    return 0.0 if both < 0 and held_up(record) else _bounded(both)


def _moved(hit: Hit, search: Search) -> float:
    """Its score with the log-odds of the lesson added. What others say against the user's own words only changes its place."""
    taught = search.taught.get(hit.record.number)
    if taught is None:
        return hit.score
    both = _verdicts(hit.record, taught)
    if both < 0 and hit.record.origin in ("user", "recorded"):
        both = max(both, min(0.0, taught.users))
    return _lifted(hit.score, STEP * both) if both else hit.score


def _lifted(chance: float, by: float) -> float:
    """The chance with `by` added to its log-odds."""
    return logistic(math.log(chance / (1 - chance)) + by) if 0 < chance < 1 else chance


def _placed(scores: Scores, hits: Sequence[Hit], says: Scores) -> Scores:
    """The scores, with strong lessons prevailing and nothing lifted over a leading pinned memory."""
    scores = _sunk(scores, {id for id, verdicts in says.items() if verdicts <= -SURE})
    sure = [id for id, verdicts in says.items() if verdicts >= SURE]
    scores = _risen(scores, sorted(sure, key=lambda id: (-says[id], -scores[id], id))[:FIRST])
    return _led(scores, hits, {id for id, verdicts in says.items() if verdicts > 0})


def _sunk(scores: Scores, down: Set[str]) -> Scores:
    """Moves these behind the best of the others."""
    best = max((score for id, score in scores.items() if id not in down), default=1.0)
    return {id: min(score, BEHIND * best) if id in down else score for id, score in scores.items()}


def _risen(scores: Scores, up: Sequence[str]) -> Scores:
    """Moves these among the first three."""
    rest = sorted((score for id, score in scores.items() if id not in up), reverse=True)
    bar = _lifted(rest[FIRST - len(up)], AHEAD) if len(rest) > FIRST - len(up) else 0.0
    return {id: max(score, bar) if id in up else score for id, score in scores.items()}


def _led(scores: Scores, hits: Sequence[Hit], lifted: Set[str]) -> Scores:
    """Keeps the lifted hits behind the best pinned memory if they stood behind it before."""
    pinned = max((hit for hit in hits if held_up(hit.record)), key=attrgetter("score"), default=None)
    if pinned is None:
        return scores
    most = BEHIND * scores[pinned.record.id]
    behind = [hit.record.id for hit in hits if hit.score < pinned.score and hit.record.id in lifted]
    return {**scores, **{id: min(scores[id], most) for id in behind}}


def _brought(search: Search, tools: Tools) -> list[Hit]:
    """Memories known to be useful for such a query that were not found or were dropped; they are shown nevertheless."""
    there = {hit.record.number for hit in search.hits}
    missing = [number for number in search.wanted if number not in there]
    records = tools.store.get(sorted(missing), search.where) if missing else []
    useful = [record for record in records if _verdicts(record, search.taught[record.number]) >= BROUGHT]
    believed = [record for record in useful if not_believed(record, search, tools) is None]
    unfound = Signal("standing", 1.0, 1.0, log_odds(UNFOUND))
    return [Hit(record, UNFOUND, {"relevance": UNFOUND}, (unfound,)) for record in believed]
