"""What was learnt from questions like this one: memories that were useful for them, and memories that were beside the point.

Two questions are like each other by words and by meaning. Meaning alone is not enough: "what are my migraine triggers?" and
"which preventive am I on for migraine?" have a cosine of 0.92 and ask for different things. To lower a memory that would be
right is worse than to show one too many, so a lesson against a memory wants shared words, and one for it only gains by them.
Questions are compared by the built-in table, whichever embedder a store has: its cosines are known, and it costs next to
nothing. Without vectors, most of the words must be shared.

A lesson moves the log-odds of a hit, three verdicts by 4.5 at most, while its relevance stays what it is. What three verdicts
said is kept in any case: such a hit stands behind the best of the others, or among the first three. Four things bound it:

- a pinned memory is never lowered, and one that leads goes on leading;
- where the user said something about the question, others bring it to nothing at most, never to the contrary;
- what others say against what the user said puts it behind another hit, and no further;
- what nobody vouches for is not lifted by what others say.
"""

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from memorist.design import Tools
from memorist.lazy import dataclass
from memorist.recall.pipeline import Search, Taught, ordered
from memorist.recall.stages.keep import BEHIND, not_believed, rescored
from memorist.records import Hit, Record, Signal
from memorist.store.nouns import Lesson, shelf_of
from memorist.text.question import question_of
from memorist.text.words import query_terms
from memorist.worth import held_up, log_odds, logistic, vouched_for

if TYPE_CHECKING:
    from memorist.models.embed import Floats

ORDINARY, ALIKE = 0.45, 0.8  # cosines: of two questions that may be anything, and of two that ask the same
MOSTLY = 0.6  # of all the words of two questions, where words are all there is to compare
SHARED = 1.8  # two that share so many of their words, upside down, share enough
VERDICT, ENOUGH = 3, 3.0  # thirds of a verdict, and verdicts that count
STEP = 1.5  # log-odds of a verdict
SURE = 2.0  # verdicts from which on a lesson is kept in any case
FIRST = 3  # places
AHEAD = 0.02  # log-odds by which a hit stands before another
STRONGEST = 20  # memories that are looked at
BROUGHT = 1.0  # verdicts for which a memory is shown that was not found
UNFOUND = 0.05  # its relevance then
NOTHING_ALIKE = 0.0, 0.0
Scores = Mapping[str, float]  # by the ids of memories


@dataclass(frozen=True, slots=True)
class Learnt:
    """Looks up what was learnt from questions like this one, so that memories which were useful for them are looked at."""

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
    """Those of the project in which it is asked that came from places which this question reads, too."""
    who = search.where.access
    if who.home is None or not who.may_read(who.home):
        return []
    lessons = tools.store.lessons(who.space, who.home)
    read = {(shelf.scope, shelf.home) for shelf in search.shelves} if lessons else set()
    return [lesson for lesson in lessons if read.issuperset(lesson.places)]


def _taught(asked: str, lessons: Sequence[Lesson], search: Search) -> dict[str, Taught]:
    """What these lessons say of each memory, by its id."""
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
    """Whoever asks reads every place that the answers to those questions came from."""
    said = [f"[id:{number}] from “{each.question[:80]}”" for number, each in sorted(taught.items())]
    more = f" and {len(said) - FIRST} more" if len(said) > FIRST else ""
    return f"learnt: {', '.join(said[:FIRST])}{more}" if said else None


# ---------------------------------------------------------------- how like two questions are


def likeness(asked: str, others: tuple[str, ...], by_meaning: bool) -> Iterator[tuple[float, float]]:
    """How like each of the others is to what is asked, from 0 to 1: for a lesson for a memory, and for one against it.

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
    """How near they are in meaning, from 0 to 1; None where the table knows nothing of one of the two."""
    cosines = _meaning(others) @ _meaning((asked,))[0]
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
    """Lifts what was useful for a question like this one, and lowers what was beside the point; `why` shows by how much."""

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
    """How many verdicts speak for it, or against it, once it is settled who may say so."""
    users, others = taught.users, taught.others
    if others > 0 and not vouched_for(record):
        others = 0.0
    both = users + others
    both = max(0.0, both) if users > 0 else min(0.0, both) if users < 0 else both
    return 0.0 if both < 0 and held_up(record) else _bounded(both)


def _moved(hit: Hit, search: Search) -> float:
    """Its score with the log-odds of what was learnt. What others say against the user's word only changes its place."""
    taught = search.taught.get(hit.record.number)
    if taught is None:
        return hit.score
    both = _verdicts(hit.record, taught)
    if both < 0 and hit.record.origin in ("user", "recorded"):
        both = max(both, min(0.0, taught.users))
    return _lifted(hit.score, STEP * both) if both else hit.score


def _lifted(chance: float, by: float) -> float:
    """The chance with so much more log-odds."""
    return logistic(math.log(chance / (1 - chance)) + by) if 0 < chance < 1 else chance


def _placed(scores: Scores, hits: Sequence[Hit], says: Scores) -> Scores:
    """The scores, with what is sure in its place, and nothing lifted over a pinned memory that leads."""
    scores = _sunk(scores, {id for id, verdicts in says.items() if verdicts <= -SURE})
    sure = [id for id, verdicts in says.items() if verdicts >= SURE]
    scores = _risen(scores, sorted(sure, key=lambda id: (-says[id], -scores[id], id))[:FIRST])
    return _led(scores, hits, {id for id, verdicts in says.items() if verdicts > 0})


def _sunk(scores: Scores, down: Set[str]) -> Scores:
    """These stand behind the best of the others."""
    best = max((score for id, score in scores.items() if id not in down), default=1.0)
    return {id: min(score, BEHIND * best) if id in down else score for id, score in scores.items()}


def _risen(scores: Scores, up: Sequence[str]) -> Scores:
    """These stand among the first three."""
    rest = sorted((score for id, score in scores.items() if id not in up), reverse=True)
    bar = _lifted(rest[FIRST - len(up)], AHEAD) if len(rest) > FIRST - len(up) else 0.0
    return {id: max(score, bar) if id in up else score for id, score in scores.items()}


def _led(scores: Scores, hits: Sequence[Hit], lifted: Set[str]) -> Scores:
    """These stay behind the best pinned memory, if they were."""
    pinned = max((hit for hit in hits if held_up(hit.record)), key=attrgetter("score"), default=None)
    if pinned is None:
        return scores
    most = BEHIND * scores[pinned.record.id]
    behind = [hit.record.id for hit in hits if hit.score < pinned.score and hit.record.id in lifted]
    return {**scores, **{id: min(scores[id], most) for id in behind}}


def _brought(search: Search, tools: Tools) -> list[Hit]:
    """Memories that are known to be useful for such a question, and were not found or given up: they are shown all the same."""
    there = {hit.record.number for hit in search.hits}
    missing = [number for number in search.wanted if number not in there]
    records = tools.store.get(sorted(missing), search.where) if missing else []
    useful = [record for record in records if _verdicts(record, search.taught[record.number]) >= BROUGHT]
    believed = [record for record in useful if not_believed(record, search, tools) is None]
    unfound = Signal("standing", 1.0, 1.0, log_odds(UNFOUND))
    return [Hit(record, UNFOUND, {"relevance": UNFOUND}, (unfound,)) for record in believed]
