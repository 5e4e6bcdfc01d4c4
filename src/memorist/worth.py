"""What a record is worth today: bounded, pure functions of its counters and a clock.

Nothing here is ever stored, so opening a store a hundred times changes nothing, and switching designs needs no
migration. Every factor has a floor and a ceiling, so no number of votes lifts a record above a clearly better match;
together the factors of the default design differ by a factor of five at most.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from memorist.kinds import KINDS, Kind
from memorist.records import Counters, Origin, Record, Trust

Factor = Callable[[Record, datetime, Mapping[str, Kind]], float]
AGES = ((1, 1.0), (7, 0.9), (14, 0.7), (30, 0.5))  # a memory younger than this many days has this weight
OLDEST = 0.3
QUARANTINE = timedelta(days=1)  # in which a candidate must prove useful
INFERRED = 7.0  # half-life of an inferred memory, in days
OWN_KIND = 45.0  # half-life in days of a user's own kind that sets none
SAID_BY: Mapping[Origin, str] = {
    "user": "the user said it", "recorded": "a person typed it", "agent": "an agent said it", "tool": "a tool returned it",
    "web": "it stood on a page", "file": "it stands in a file", "import": "it was imported",
}  # fmt: skip
TYPED = "typed"  # data key of what rules found in a person's own words; in `reads`: those of earlier sessions too
TRUSTED: Mapping[Trust, float] = {"high": 1.0, "medium": 0.85, "low": 0.6}


def recency(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """1 when fresh or just used, falling to 0.8 with the kind's half-life. Pinned records do not fade."""
    days = kinds[record.kind].half_life_days
    if days is None or record.pinned:
        return 1.0
    return 0.8 + 0.2 * math.pow(0.5, days_since(last_of(record), now) / days)


def votes(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """1 without votes, up to 1.25 when it helped often, down to 0.75 when it was wrong or beside the point."""
    counted = bounded(record.counters)
    net = counted.up + 0.5 * counted.strength - counted.down - 0.25 * counted.rejected
    return 1 + 0.25 * math.tanh(net / 3)


def importance(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """0.9 to 1.1, by its importance and how often it was said again."""
    return 0.9 + 0.2 * said_importance(record.importance, record.counters)


def said_importance(importance: float, counters: Counters) -> float:
    """The importance plus a tenth for every time it was said again, at most 1. The stored importance does not change."""
    return min(1.0, importance + 0.1 * counters.strength)


def accesses(counters: Counters) -> int:
    """How often it was needed: used or said again. Being shown does not count."""
    return counters.used + counters.strength


def important(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """Its plain importance, for a design that uses no other factor."""
    return max(0.05, record.importance)


def kind(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """The kind's weight, pulled to a quarter of its distance from 1: a warning weighs a little more than a note."""
    return 1 + 0.25 * (kinds[record.kind].weight - 1)


def pinned(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    return 1.2 if held_up(record) else 1.0


def doubt(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """Less than 1 for a candidate nobody confirmed and for a text of low trust."""
    return (0.85 if record.status == "candidate" else 1.0) * (0.9 if record.trust == "low" else 1.0)


def vouched_for(record: Record) -> bool:
    """Whether someone vouches for it: an agent or the user said it, or a person confirmed it. Only such memories may
    appear where a reader takes them for settled: at the top, or in every prompt."""
    return record.trust != "low" or record.status == "confirmed"


def typed(record: Record) -> bool:
    """Whether rules found it in words that a person typed, as recorded by the surface that saw them, and nobody has
    agreed to keep it yet."""
    return record.data.get(TYPED) is True and record.origin == "recorded" and record.status == "candidate"


def held_up(record: Record) -> bool:
    """Whether its pin counts. A text can arrive with a pin, or talk an agent into setting one; neither vouches for it."""
    return record.pinned and vouched_for(record)


# ---------------------------------------------------------------- votes as synapses: the hebbian design

FOR, AGAINST = 3, 1  # points of a vote for a memory, and of one against it
FURTHEST = 15  # the votes of a memory count at most this much, either way
FAINTEST = 0.25  # age never lowers a memory's weight below this


def bounded(counters: Counters) -> Counters:
    """The counters with votes beyond 15 points left out, either way. So a memory that a hundred found useful and that has become
    wrong sinks with the sixteenth vote against it, not with the three hundred and first.

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
    """The sum of the votes. A vote for a memory counts more than one against it, so one survives three of the others. Being
    shown without being used does not count. The sum stays within 15 points either way, however much a vote is set to weigh."""
    counted = bounded(counters)
    return max(-FURTHEST, min(FURTHEST, reinforce * counted.up - demote * (counted.down + counted.rejected)))


def reinforced(score: float) -> float:
    """exp(0.2 · score) in the range of the founding document's examples (−5 to 3). Outside it the curve flattens, so that no
    number of votes weighs more than 3 or less than 0.2, and a clearly better match still wins.

    >>> [round(reinforced(score), 3) for score in (3, 0, -1, -5)]
    [1.822, 1.0, 0.819, 0.368]
    """
    if -5 <= score <= 3:
        return math.exp(0.2 * score)
    edge, bound = (3, 3.0) if score > 3 else (-5, 0.2)
    at_edge = math.exp(0.2 * edge)
    room = bound - at_edge  # the curve continues with the slope it had
    return bound - room * math.exp(-abs(0.2 * at_edge / room) * abs(score - edge))


def faded(since: datetime, now: datetime) -> float:
    """1 / (1 + 0.01 · days) since it last helped, or since it happened: 0.769 after 30 days, 0.5 after 100. Never below
    0.25: age alone does not bury a memory."""
    return max(FAINTEST, 1 / (1 + 0.01 * days_since(since, now)))


# ---------------------------------------------------------------- six weights: the curated design


def category(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """The kind's full weight: 1.4 for a warning, 0.8 for a preference."""
    return kinds[record.kind].weight


def age(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """Falls in steps with the time since it happened: 1 on the first day, 0.9 in the first week, then 0.7, 0.5, and 0.3
    after a month."""
    days = days_since(record.times.at, now)
    return next((weight for under, weight in AGES if days < under), OLDEST)


def access(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """1 + 0.1 · log2(n + 1), at most 1.5, for n uses and repetitions; being shown does not count."""
    return 1 + min(0.5, 0.1 * math.log2(accesses(record.counters) + 1))


def status(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """2 for a pinned memory, 1 for a confirmed one, 0.7 for a candidate."""
    return 2.0 if held_up(record) else 0.7 if record.status == "candidate" else 1.0


def quarantine(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """0.8 for a candidate that is a day old and has not helped; 1 as soon as it helps."""
    waits = record.status == "candidate" and now - record.times.updated >= QUARANTINE
    return 0.8 if waits and not _helped(record) else 1.0


def proved(record: Record, now: datetime) -> bool:
    """Whether a candidate may be confirmed: its source is trusted, its day of quarantine is over, it has helped since
    it was stored, and it was used more often than found wrong or beside the point. Being shown is not helping, and time
    alone proves nothing."""
    counted = record.counters
    candidate = record.status == "candidate" and record.trust != "low" and now - record.times.updated >= QUARANTINE
    return candidate and _helped(record) and counted.down + counted.rejected < max(1, counted.used)


def _helped(record: Record) -> bool:
    """Whether it was used since it was last changed. Being said again resets its clock but proves nothing."""
    used = record.times.used
    return record.counters.used > 0 and used is not None and used >= record.times.updated


def decayed(importance: float, status: str, accesses: int, days: float) -> float:
    """What is left of an importance so many days after the last access: 5 % less every week, a tenth less for a candidate, and
    half if it was never needed; ten accesses restore that half.

    >>> [round(decayed(0.8, "confirmed", accesses, days), 3) for accesses, days in ((0, 0), (10, 0), (10, 70), (0, 70))]
    [0.4, 0.8, 0.479, 0.239]
    """
    doubt = 0.9 if status == "candidate" else 1.0
    return importance * math.pow(0.95, days / 7) * doubt * min(1.0, 0.5 + 0.05 * accesses)


# ---------------------------------------------------------------- confidence: the associative design


REJECTED = 0.02  # confidence that a memory loses each time it was found and beside the point


def fresh(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """1 + 0.5 · e^(−hours / 24) since it was last used, or since it happened."""
    return 1 + 0.5 * math.exp(-days_since(last_of(record), now))


def confidence(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """Its confidence today: the confidence after verdicts, halved with every half-life of its kind, a little higher for every
    use, lower for less trust. Half-lives are taken literally: after three of them a fact is worth an eighth, not a twentieth."""
    used = min(1.5, 1 + 0.1 * math.log(record.counters.used + 1))
    here = kinds[record.kind]
    if record.kind not in KINDS and here.half_life_days is None:  # a user's own kind that sets no half-life
        kinds = {record.kind: replace(here, half_life_days=OWN_KIND)}
    believed = judged(record) * half_life(record, now, kinds) * used * TRUSTED[record.trust]
    return min(1.0, max(0.01, believed))


LISTED_KINDS: Mapping[str, float] = {"correction": 50.0, "preference": 30.0, "fact": 20.0, "entity": 10.0}
LISTED_OTHERS = 5.0
LISTED_TRUST: Mapping[Trust, float] = {"high": 1.5, "medium": 1.0, "low": 0.7}


def listed(record: Record, now: datetime) -> float:
    """Its rank where there is no query: (100 / (1 + days) + 10 · √uses + kind) · trust + 5 · ln(times it was said)."""
    newness = 100 / (1 + days_since(record.times.updated, now))
    used = 10 * math.sqrt(record.counters.used)
    plain = newness + used + LISTED_KINDS.get(record.kind, LISTED_OTHERS)
    return plain * LISTED_TRUST[record.trust] + 5 * math.log(1 + record.counters.strength)


BOND = 90.0  # days: the half-life of the part of a relation that fades
LOOSEST = 0.5  # the part of a relation's weight that never fades


def bond(a: Record, b: Record, now: datetime) -> float:
    """What is left of a relation between two memories: 1 while both are in use, falling towards a half with the one
    that was unused for longer. A pinned memory does not fade, so it does not loosen the relation."""
    idle = max((days_since(last_of(each), now) for each in (a, b) if not each.pinned), default=0.0)
    return LOOSEST + (1 - LOOSEST) * math.pow(0.5, idle / BOND)


def judged(record: Record) -> float:
    """The confidence it was stored with, adjusted by verdicts: 0.05 more for each that found it useful, up to 1; then
    0.1 less for each that found it wrong and 0.02 less for each time it was beside the point, down to 0. It is always
    computed in this order, whatever order the verdicts came in, so one that finds it wrong lowers the confidence at
    once, after a hundred useful ones."""
    counted = record.counters
    praised = min(1.0, record.confidence + 0.05 * counted.up)
    return max(0.0, praised - 0.1 * counted.down - REJECTED * counted.rejected)


def grounds(record: Record) -> str:
    """Why it is believed: its stated reason or who said it, how often it was said again, and the verdicts on it."""
    counted, said = record.counters, record.provenance.confidence_because or SAID_BY[record.origin]
    told = ((counted.strength, "said again {}"), (counted.up, "found useful {}"), (counted.down, "found wrong {}"))
    often = [text.format("once" if count == 1 else f"{count:,} times") for count, text in told if count]
    doubt = ["nobody confirmed it"] if record.status == "candidate" else []
    return "; ".join((said, *doubt, *often))


# ---------------------------------------------------------------- decay: how a memory fades while it is not used


def none(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """No decay."""
    return 1.0


def hyperbolic(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """1 / (1 + 0.01 · days), never below 0.25."""
    return 1.0 if record.pinned else faded(last_of(record), now)


def weekly(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """5 % less every week: half is left after thirteen and a half weeks."""
    return 1.0 if record.pinned else math.pow(0.95, days_since(last_of(record), now) / 7)


def half_life(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """Half is left after the kind's half-life; for an inferred memory after a week at most."""
    days, said = kinds[record.kind].half_life_days, record.provenance
    extracted = said.messages is not None or said.snippet is not None
    if record.status == "candidate" and extracted:
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


DECAYS: Mapping[str, Factor] = {"none": none, "hyperbolic": hyperbolic, "weekly": weekly, "half_life": half_life}
_USUAL: tuple[Factor, ...] = (recency, votes, importance, important, kind, pinned, doubt)
_OF_DESIGNS: tuple[Factor, ...] = (category, age, access, status, quarantine, fresh, confidence)
FACTORS: Mapping[str, Factor] = {of.__name__: of for of in (*_USUAL, *_OF_DESIGNS)}
