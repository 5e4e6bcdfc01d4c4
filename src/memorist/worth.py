"""What a record is worth today: bounded, pure functions of what was counted and a clock.

Nothing here is ever stored, so opening a store a hundred times changes nothing and a design can be switched without
migration. Every factor has a floor and a ceiling, so that no amount of votes lifts a record over a clearly better match; the
factors of the default design together differ by a factor of five at most.
"""

import math
from collections.abc import Callable, Mapping
from datetime import datetime

from memorist.kinds import Kind, kind_of
from memorist.records import Counters, Record

Factor = Callable[[Record, datetime, Mapping[str, Kind]], float]


def recency(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """1 when fresh or just used, falling to 0.8 with the kind's half-life. Pinned records do not fade."""
    half_life = kind_of(record.kind, kinds).half_life_days
    if half_life is None or record.pinned:
        return 1.0
    since = max(record.times.at, record.times.used or record.times.at)
    days = max(0.0, (now - since).total_seconds() / 86400)
    return 0.8 + 0.2 * math.pow(0.5, days / half_life)


def votes(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """1 without votes, up to 1.25 when it helped often, down to 0.75 when it was wrong or beside the point."""
    counted = record.counters
    net = counted.up + 0.5 * counted.strength - counted.down - 0.25 * counted.rejected
    return 1 + 0.25 * math.tanh(net / 5)


def importance(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """0.9 to 1.1, by the importance it was given and how often the same thing was said again."""
    return 0.9 + 0.2 * min(1.0, record.importance + 0.1 * record.counters.strength)


def kind(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """A warning weighs a little more than a note: the kind's weight, softened to a quarter of its distance from 1."""
    return 1 + 0.25 * (kind_of(record.kind, kinds).weight - 1)


def pinned(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    return 1.2 if record.pinned else 1.0


def doubt(record: Record, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """A candidate nobody confirmed, or a text of low trust, weighs less."""
    return (0.85 if record.status == "candidate" else 1.0) * (0.9 if record.trust == "low" else 1.0)


# ---------------------------------------------------------------- votes as synapses: the hebbian design


def score(counters: Counters, reinforce: float = 3.0, demote: float = 1.0) -> float:
    """What votes add up to. Confirming says more than doubting, so one reinforcement survives three demotions; a memory that
    was shown and not used hears nothing."""
    return reinforce * counters.up - demote * (counters.down + counters.rejected)


def reinforced(score: float) -> float:
    """exp(0.2 · score), as far as the founding document's own examples reach (−5 to 3). Beyond that it bends, so that no
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
    """1 / (1 + 0.01 · days) since it last helped, else since it happened: 0.769 after 30 days, 0.5 after 100. It never falls
    below 0.25: old is no reason to be buried."""
    days = max(0.0, (now - since).total_seconds() / 86400)
    return max(0.25, 1 / (1 + 0.01 * days))


def logistic(log_odds: float) -> float:
    """The chance that these log-odds are; any number is valid."""
    return 1 / (1 + math.exp(-max(-700.0, log_odds)))


FACTORS: Mapping[str, Factor] = {
    "recency": recency,
    "votes": votes,
    "importance": importance,
    "kind": kind,
    "pinned": pinned,
    "doubt": doubt,
}
