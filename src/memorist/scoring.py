"""What a record counts for today: pure, bounded functions of its counters and a clock.

Nothing here is stored, so opening a store changes nothing and switching designs needs no migration. Every factor has a
floor and a ceiling, so no number of votes lifts a record above a clearly better match.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from memorist.kinds import KINDS, Kind
from memorist.records import Counters, Origin, Record, Trust

Factor = Callable[[Record, datetime, Mapping[str, Kind]], float]
SAID_BY: Mapping[Origin, str] = {
    "user": "the user said it", "recorded": "a person typed it", "agent": "an agent said it", "tool": "a tool returned it",
    "web": "it stood on a page", "file": "it stands in a file", "import": "it was imported",
}  # fmt: skip
PEOPLE = ("user", "recorded")  # origins of what a person said
FOR, AGAINST = 3, 1  # points of a vote for a memory, and of one against it
FURTHEST = 15  # the votes of a memory count at most this much, either way
FAINTEST = 0.25  # age alone never lowers a memory's weight below this
# The weight of a memory younger than this many days.
AGES = ((1, 1.0), (7, 0.9), (14, 0.7), (30, 0.5), (math.inf, 0.3))
QUARANTINE = timedelta(days=1)  # in which a candidate must prove useful
INFERRED = 7.0  # half-life of an inferred memory, in days
OWN_KIND = 45.0  # half-life in days of a user's own kind that sets none
TRUSTED: Mapping[Trust, float] = {"high": 1.0, "medium": 0.85, "low": 0.6}
LISTED_KINDS: Mapping[str, float] = {"correction": 50.0, "preference": 30.0, "fact": 20.0, "entity": 10.0}
LISTED_TRUST: Mapping[Trust, float] = {"high": 1.5, "medium": 1.0, "low": 0.7}
BOND, LOOSEST = 90.0, 0.5  # half-life in days of the part of a relation that fades, and the part that never does


def vouched_for(record: Record) -> bool:
    """Whether it is verified: an agent or the user said it, or a person confirmed it. No other appears in every prompt."""
    return record.trust != "low" or record.status == "confirmed"


def may_outdate(new: Record, old: Record) -> bool:
    """Whether the newer of two may make the older one outdated: nothing unverified does so to something verified, and what a
    person said is outdated only by what a person says."""
    return vouched_for(new) >= vouched_for(old) and (new.origin in PEOPLE or old.origin not in PEOPLE)


def held_up(record: Record) -> bool:
    """Whether its pin counts. A text can arrive with a pin, or talk an agent into setting one; neither verifies it."""
    return record.pinned and vouched_for(record)


def accesses(counters: Counters) -> int:
    """How often it was needed: used or said again. Being shown does not count."""
    return counters.used + counters.strength


def said_importance(importance: float, counters: Counters) -> float:
    """The importance plus a tenth for every time it was said again, at most 1. The stored importance does not change."""
    return min(1.0, importance + 0.1 * counters.strength)


def bounded(counters: Counters) -> Counters:
    """The counters without votes beyond 15 points, either way: what a hundred found useful sinks with the sixteenth vote against.

    >>> bounded(Counters(up=100, down=1)).up, bounded(Counters(down=100)).down
    (5, 15)
    """
    up = min(counters.up, (FURTHEST + counters.down + counters.rejected) // FOR)
    beyond = max(0, counters.down + counters.rejected - (FURTHEST + FOR * up))
    if up == counters.up and not beyond:
        return counters
    rejected = max(0, counters.rejected - beyond)
    return replace(counters, up=up, rejected=rejected, down=counters.down - (beyond - (counters.rejected - rejected)))


def score(counters: Counters, reinforce: float = FOR, demote: float = AGAINST) -> float:
    """The sum of the votes, within 15 points either way, however much a vote weighs; being shown does not count."""
    counted = bounded(counters)
    return max(-FURTHEST, min(FURTHEST, reinforce * counted.up - demote * (counted.down + counted.rejected)))


def reinforced(score: float) -> float:
    """exp(0.2 · score) from −5 to 3, as in the founding document; beyond it flattens towards 0.2 and 3, with the slope it had.

    >>> [round(reinforced(score), 3) for score in (3, 0, -1, -5)]
    [1.822, 1.0, 0.819, 0.368]
    """
    edge, bound = (3, 3.0) if score > 0 else (-5, 0.2)
    if abs(score) <= abs(edge):
        return math.exp(0.2 * score)
    at_edge = math.exp(0.2 * edge)
    return bound - (bound - at_edge) * math.exp(-abs(0.2 * at_edge / (bound - at_edge) * (score - edge)))


def faded(since: datetime, now: datetime) -> float:
    """1 / (1 + 0.01 · days) since then: 0.769 after 30 days, 0.5 after 100; never below 0.25."""
    return max(FAINTEST, 1 / (1 + 0.01 * days_since(since, now)))


def recency(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """1 when fresh or just used, falling to 0.8 with the kind's half-life. Pinned records do not fade."""
    days = kinds[record.kind].half_life_days
    return 1.0 if days is None or record.pinned else 0.8 + 0.2 * math.pow(0.5, days_since(last_of(record), now) / days)


def votes(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """1 without votes, up to 1.25 when it helped often, down to 0.75 when it was wrong or beside the point."""
    counted = bounded(record.counters)
    return 1 + 0.25 * math.tanh((counted.up + 0.5 * counted.strength - counted.down - 0.25 * counted.rejected) / 3)


def important(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """Its plain importance, for a design that uses no other factor."""
    return max(0.05, record.importance)


def quarantine(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """0.8 for a candidate that is a day old and has not helped; 1 as soon as it helps."""
    waits = record.status == "candidate" and now - record.times.updated >= QUARANTINE
    return 0.8 if waits and not _has_helped(record) else 1.0


def proved(record: Record, now: datetime) -> bool:
    """Whether a candidate may be confirmed: its source is trusted, its day of quarantine is over, it has helped since it was
    stored, and it was used more often than found wrong or beside the point. Time alone proves nothing."""
    counted = record.counters
    candidate = record.status == "candidate" and record.trust != "low" and now - record.times.updated >= QUARANTINE
    return candidate and _has_helped(record) and counted.down + counted.rejected < max(1, counted.used)


def _has_helped(record: Record) -> bool:
    """Whether it was used since it was last changed. Being said again resets its clock but proves nothing."""
    used = record.times.used
    return record.counters.used > 0 and used is not None and used >= record.times.updated


def decayed(importance: float, status: str, accesses: int, days: float) -> float:
    """What is left so long after the last access: 5 % less every week, a tenth less for a candidate, half without ten accesses.

    >>> [round(decayed(0.8, "confirmed", accesses, days), 3) for accesses, days in ((0, 0), (10, 0), (10, 70), (0, 70))]
    [0.4, 0.8, 0.479, 0.239]
    """
    doubt = 0.9 if status == "candidate" else 1.0
    return importance * math.pow(0.95, days / 7) * doubt * min(1.0, 0.5 + 0.05 * accesses)


def confidence(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """Its confidence today, 0.01 to 1: after verdicts, halved with every half-life, higher for use, lower for less trust."""
    here = kinds[record.kind]
    if record.kind not in KINDS and here.half_life_days is None:
        kinds = {record.kind: replace(here, half_life_days=OWN_KIND)}
    used = min(1.5, 1 + 0.1 * math.log(record.counters.used + 1))
    return min(1.0, max(0.01, judged(record) * half_life(record, now, kinds) * used * TRUSTED[record.trust]))


def judged(record: Record) -> float:
    """The confidence it was stored with, adjusted by verdicts: 0.05 more for each that found it useful, up to 1, then 0.1 less
    for each that found it wrong and 0.02 less for each time it was beside the point. Praise is always counted first, so a
    verdict of wrong lowers the confidence at once, after a hundred useful ones. Votes are counted as `bounded` says."""
    counted = record.counters
    return max(0.0, min(1.0, record.confidence + 0.05 * counted.up) - 0.1 * counted.down - 0.02 * counted.rejected)


def listed(record: Record, now: datetime) -> float:
    """Its rank where there is no query: (100 / (1 + days) + 10 · √uses + kind) · trust + 5 · ln(times it was said)."""
    newness, used = 100 / (1 + days_since(record.times.updated, now)), 10 * math.sqrt(record.counters.used)
    return (newness + used + LISTED_KINDS.get(record.kind, 5.0)) * LISTED_TRUST[record.trust] + 5 * math.log(
        1 + record.counters.strength
    )


def bond(a: Record, b: Record, now: datetime) -> float:
    """What is left of a relation: 1 while both are in use, falling towards a half with the one unused for longer; pins hold."""
    idle = max((days_since(last_of(each), now) for each in (a, b) if not each.pinned), default=0.0)
    return LOOSEST + (1 - LOOSEST) * math.pow(0.5, idle / BOND)


def grounds(record: Record) -> str:
    """Why it is believed: its stated reason or who said it, how often it was said again, and the verdicts on it."""
    counted, said = record.counters, record.provenance.confidence_because or SAID_BY[record.origin]
    counts = ((counted.strength, "said again {}"), (counted.up, "found useful {}"), (counted.down, "found wrong {}"))
    often = [text.format("once" if count == 1 else f"{count:,} times") for count, text in counts if count]
    return "; ".join((said, *(["nobody confirmed it"] if record.status == "candidate" else []), *often))


def half_life(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """Half is left after the kind's half-life; for an inferred memory after a week at most."""
    days, source = kinds[record.kind].half_life_days, record.provenance
    if record.status == "candidate" and (source.messages is not None or source.snippet is not None):
        days = INFERRED if days is None else min(INFERRED, days)
    return 1.0 if days is None or record.pinned else math.pow(0.5, days_since(last_of(record), now) / days)


def last_of(record: Record) -> datetime:
    """When it was last used, else when it happened."""
    return max(record.times.at, record.times.used or record.times.at)


def days_since(moment: datetime, now: datetime) -> float:
    return max(0.0, (now - moment).total_seconds() / 86400)


def logistic(level: float) -> float:
    """The probability for these log-odds; accepts any number."""
    return 1 / (1 + math.exp(-max(-700.0, level)))


def log_odds(chance: float) -> float:
    """The inverse of `logistic`. 0 and 1 count as almost 0 and almost 1."""
    bounded = min(max(chance, 1e-12), 1 - 1e-12)
    return math.log(bounded / (1 - bounded))


FACTORS: Mapping[str, Factor] = {
    # The default design: each within narrow bounds.
    "recency": recency,
    "votes": votes,
    "importance": lambda record, now, kinds: 0.9 + 0.2 * said_importance(record.importance, record.counters),
    "important": important,
    "kind": lambda record, now, kinds: 1 + 0.25 * (kinds[record.kind].weight - 1),
    "pinned": lambda record, now, kinds: 1.2 if held_up(record) else 1.0,
    "doubt": lambda record, now, kinds: (
        (0.85 if record.status == "candidate" else 1.0) * (0.9 if record.trust == "low" else 1.0)
    ),
    # The curated design: the kind's full weight, steps of age, uses and repetitions, a pin or a candidate, a day to prove itself.
    "category": lambda record, now, kinds: kinds[record.kind].weight,
    "age": lambda record, now, kinds: next(w for under, w in AGES if days_since(record.times.at, now) < under),
    "access": lambda record, now, kinds: 1 + min(0.5, 0.1 * math.log2(accesses(record.counters) + 1)),
    "status": lambda record, now, kinds: 2.0 if held_up(record) else 0.7 if record.status == "candidate" else 1.0,
    "quarantine": quarantine,
    # The associative design: 1 + 0.5 · e^(−hours / 24) since it was last used, and today's confidence.
    "fresh": lambda record, now, kinds: 1 + 0.5 * math.exp(-days_since(last_of(record), now)),
    "confidence": confidence,
}
