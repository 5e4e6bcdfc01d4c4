"""What a record is worth today: bounded, pure functions of its counters and a clock.

Nothing here is ever stored, so opening a store a hundred times changes nothing, and a design can be switched without a
migration. Every factor has a floor and a ceiling, so that no number of votes lifts a record above a clearly better match; the
factors of the default design together differ by a factor of five at most.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from memorist.kinds import KINDS, Kind
from memorist.records import Counters, Origin, Record, Trust

Factor = Callable[[Record, datetime, Mapping[str, Kind]], float]
AGES = ((1, 1.0), (7, 0.9), (14, 0.7), (30, 0.5))  # days under which a memory weighs so much
OLDEST = 0.3
QUARANTINE = timedelta(days=1)  # in which a candidate has to prove useful
INFERRED = 7.0  # days: the half-life of an inferred memory
OWN_KIND = 45.0  # days: that of a kind of the user's own, where the settings give none
SAID_BY: Mapping[Origin, str] = {
    "user": "the user said it", "recorded": "a person typed it", "agent": "an agent said it", "tool": "a tool returned it",
    "web": "it stood on a page", "file": "it stands in a file", "import": "it was imported",
}  # fmt: skip
TYPED = "typed"  # in the data of what rules found in a person's own words, and in `reads` of who wants it from earlier sessions
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
    """A tenth more for every time it was said again, 1 at most. The stored importance stays as it was given."""
    return min(1.0, importance + 0.1 * counters.strength)


def accesses(counters: Counters) -> int:
    """How often it was needed: used, or said again. Being shown is neither."""
    return counters.used + counters.strength


def important(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """Its plain importance, for a design in which nothing else counts."""
    return max(0.05, record.importance)


def kind(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """A warning weighs a little more than a note: the kind's weight, softened to a quarter of its distance from 1."""
    return 1 + 0.25 * (kinds[record.kind].weight - 1)


def pinned(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    return 1.2 if held_up(record) else 1.0


def doubt(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """A candidate nobody confirmed, or a text of low trust, weighs less."""
    return (0.85 if record.status == "candidate" else 1.0) * (0.9 if record.trust == "low" else 1.0)


def vouched_for(record: Record) -> bool:
    """Whether someone vouches for it: an agent or the user said it, or a person confirmed it. Only such memories may appear
    where a reader takes them for settled: first, or in every prompt."""
    return record.trust != "low" or record.status == "confirmed"


def typed(record: Record) -> bool:
    """Whether a person typed it as something that lasts, before a door that saw it, and nobody has agreed to keep it yet."""
    return record.data.get(TYPED) is True and record.origin == "recorded" and record.status == "candidate"


def held_up(record: Record) -> bool:
    """Whether its pin counts. A text can arrive with a pin, or talk an agent into one; that does not vouch for it."""
    return record.pinned and vouched_for(record)


# ---------------------------------------------------------------- votes as synapses: the hebbian design

FOR, AGAINST = 3, 1  # points of a vote for a memory, and of one against it
FURTHEST = 15  # points that votes carry a memory away from 0, either way
FAINTEST = 0.25  # what age leaves of a memory's weight in any case


def bounded(counters: Counters) -> Counters:
    """Votes as far as they count: what is beyond 15 points either way is left out. So a memory that a hundred found useful
    and that has become wrong sinks with the sixteenth who says so, not with the three hundred and first.

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
    """The sum of votes. A confirmation counts more than a doubt, so one reinforcement survives three demotions; being shown
    without being used does not count. It stays within 15 points either way, whatever a vote is set to weigh."""
    counted = bounded(counters)
    return max(-FURTHEST, min(FURTHEST, reinforce * counted.up - demote * (counted.down + counted.rejected)))


def reinforced(score: float) -> float:
    """exp(0.2 · score) in the range of the founding document's examples (−5 to 3). Beyond it the curve flattens, so that no
    number of votes weighs more than 3 or less than 0.2, and a clearly better match still wins.

    >>> [round(reinforced(score), 3) for score in (3, 0, -1, -5)]
    [1.822, 1.0, 0.819, 0.368]
    """
    if -5 <= score <= 3:
        return math.exp(0.2 * score)
    edge, bound = (3, 3.0) if score > 3 else (-5, 0.2)
    at_edge = math.exp(0.2 * edge)
    room = bound - at_edge  # the curve goes on with the slope it had
    return bound - room * math.exp(-abs(0.2 * at_edge / room) * abs(score - edge))


def faded(since: datetime, now: datetime) -> float:
    """1 / (1 + 0.01 · days) since it last helped, else since it happened: 0.769 after 30 days, 0.5 after 100. Never below
    0.25: age alone does not bury a memory."""
    return max(FAINTEST, 1 / (1 + 0.01 * days_since(since, now)))


# ---------------------------------------------------------------- six weights: the curated design


def category(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """The kind's whole weight: 1.4 for a warning, 0.8 for a preference."""
    return kinds[record.kind].weight


def age(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """In steps, by when it happened: 1 on the first day, 0.9 in the first week, then 0.7, 0.5 and 0.3 after a month."""
    days = days_since(record.times.at, now)
    return next((weight for under, weight in AGES if days < under), OLDEST)


def access(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """1 + 0.1 · log2(n + 1), at most 1.5, for n uses and repetitions; being shown is neither."""
    return 1 + min(0.5, 0.1 * math.log2(accesses(record.counters) + 1))


def status(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """2 for a pinned memory, 1 for a confirmed one, 0.7 for a candidate."""
    return 2.0 if held_up(record) else 0.7 if record.status == "candidate" else 1.0


def quarantine(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """0.8 for a candidate that has not helped within a day. As soon as it helps, it counts in full."""
    waits = record.status == "candidate" and now - record.times.updated >= QUARANTINE
    return 0.8 if waits and not _helped(record) else 1.0


def proved(record: Record, now: datetime) -> bool:
    """Whether a candidate may be confirmed: its source is trusted, its day is over, it has helped since it was stored, and
    more found it useful than wrong. Being shown is not helping, and time alone proves nothing."""
    counted = record.counters
    candidate = record.status == "candidate" and record.trust != "low" and now - record.times.updated >= QUARANTINE
    return candidate and _helped(record) and counted.down + counted.rejected < max(1, counted.used)


def _helped(record: Record) -> bool:
    """Whether it was used since it was last changed. To be said again starts its clock, and proves nothing."""
    used = record.times.used
    return record.counters.used > 0 and used is not None and used >= record.times.updated


def decayed(importance: float, status: str, accesses: int, days: float) -> float:
    """What is left of an importance so many days after the last access: 5 % less every week, a tenth less for a candidate,
    and half of it for what was never needed; ten accesses make that up.

    >>> [round(decayed(0.8, "confirmed", accesses, days), 3) for accesses, days in ((0, 0), (10, 0), (10, 70), (0, 70))]
    [0.4, 0.8, 0.479, 0.239]
    """
    doubt = 0.9 if status == "candidate" else 1.0
    return importance * math.pow(0.95, days / 7) * doubt * min(1.0, 0.5 + 0.05 * accesses)


# ---------------------------------------------------------------- confidence: the associative design


REJECTED = 0.02  # of its confidence that a memory loses each time it was found and beside the point


def fresh(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """1 + 0.5 · e^(−hours / 24) since it was last used, else since it happened."""
    return 1 + 0.5 * math.exp(-days_since(last_of(record), now))


def confidence(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """Its confidence today: as verdicts left it, halved with every half-life of its kind, a little more for every use, less for
    lower trust. A half-life is taken literally: a fact after three of them is worth an eighth, not a twentieth."""
    used = min(1.5, 1 + 0.1 * math.log(record.counters.used + 1))
    here = kinds[record.kind]
    if record.kind not in KINDS and here.half_life_days is None:  # a kind of the user's own, of which nothing is said
        kinds = {record.kind: replace(here, half_life_days=OWN_KIND)}
    believed = judged(record) * half_life(record, now, kinds) * used * TRUSTED[record.trust]
    return min(1.0, max(0.01, believed))


LISTED_KINDS: Mapping[str, float] = {"correction": 50.0, "preference": 30.0, "fact": 20.0, "entity": 10.0}
LISTED_OTHERS = 5.0
LISTED_TRUST: Mapping[Trust, float] = {"high": 1.5, "medium": 1.0, "low": 0.7}


def listed(record: Record, now: datetime) -> float:
    """How far up it stands where nothing is asked: (100 / (1 + days) + 10 · √uses + kind) · trust + 5 · ln(times it was said)."""
    newness = 100 / (1 + days_since(record.times.updated, now))
    used = 10 * math.sqrt(record.counters.used)
    plain = newness + used + LISTED_KINDS.get(record.kind, LISTED_OTHERS)
    return plain * LISTED_TRUST[record.trust] + 5 * math.log(1 + record.counters.strength)


BOND = 90.0  # days: the half-life of what a relation can lose
LOOSEST = 0.5  # of its weight: what it keeps in any case


def bond(a: Record, b: Record, now: datetime) -> float:
    """What is left of a relation between two memories: 1 while both are in use, falling to a half with the one that was not used
    for longer. A pinned memory does not fade, and so does not loosen it."""
    idle = max((days_since(last_of(each), now) for each in (a, b) if not each.pinned), default=0.0)
    return LOOSEST + (1 - LOOSEST) * math.pow(0.5, idle / BOND)


def judged(record: Record) -> float:
    """The confidence it was stored with, as verdicts left it: 0.05 more for each that found it useful, up to 1; from that 0.1 less
    for each that found it wrong, and 0.02 less where it was beside the point, down to 0. In this order, whatever the real one
    was: what a hundred found useful and one finds wrong is doubted at once."""
    counted = record.counters
    praised = min(1.0, record.confidence + 0.05 * counted.up)
    return max(0.0, praised - 0.1 * counted.down - REJECTED * counted.rejected)


def grounds(record: Record) -> str:
    """Why it is believed as far as it is: what it came with, or who said it; how often it was said again, and what came of it."""
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
    """5 % less every week: half of it is gone after thirteen and a half weeks."""
    return 1.0 if record.pinned else math.pow(0.95, days_since(last_of(record), now) / 7)


def half_life(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """Half of it is gone after the kind's half-life; for an inferred memory after a week at most."""
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
    """The probability for these log-odds; any number is valid."""
    return 1 / (1 + math.exp(-max(-700.0, level)))


def log_odds(chance: float) -> float:
    """The other way round. What is certain is as good as certain."""
    bounded = min(max(chance, 1e-12), 1 - 1e-12)
    return math.log(bounded / (1 - bounded))


DECAYS: Mapping[str, Factor] = {"none": none, "hyperbolic": hyperbolic, "weekly": weekly, "half_life": half_life}
_USUAL: tuple[Factor, ...] = (recency, votes, importance, important, kind, pinned, doubt)
_OF_DESIGNS: tuple[Factor, ...] = (category, age, access, status, quarantine, fresh, confidence)
FACTORS: Mapping[str, Factor] = {of.__name__: of for of in (*_USUAL, *_OF_DESIGNS)}
