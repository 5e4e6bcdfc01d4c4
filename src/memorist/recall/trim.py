"""Stages that weigh, drop and keep. Whoever drops a record says why; `why_not` reads it."""

from dataclasses import dataclass, replace
from datetime import datetime

from memorist.design import Tools
from memorist.kinds import kind_of
from memorist.recall.pipeline import Search
from memorist.records import Hit, Record
from memorist.store.protocol import Store
from memorist.worth import FACTORS, faded, reinforced, score


@dataclass(frozen=True, slots=True)
class Believed:
    """Drops what does not hold at the moment that is asked about: now, or `as_of`."""

    def __call__(self, search: Search, tools: Tools) -> Search:
        moment = search.as_of or search.now
        dropped = {}
        for hit in search.hits:
            reason = _not_believed(hit.record, search, tools)
            if reason:
                dropped[hit.record.id] = reason
        note = f"as of {moment.isoformat()}" if search.as_of else None
        return search.keeping([hit for hit in search.hits if hit.record.id not in dropped], dropped, note)


@dataclass(frozen=True, slots=True)
class Weigh:
    """Multiplies relevance by what each record is worth today; the factors stay visible in `why`."""

    factors: tuple[str, ...]

    def __call__(self, search: Search, tools: Tools) -> Search:
        weighed = [self._weigh(hit, search, tools) for hit in search.hits]
        weighed.sort(key=lambda hit: (-hit.score, -hit.record.number))
        return replace(search, hits=tuple(weighed))

    def _weigh(self, hit: Hit, search: Search, tools: Tools) -> Hit:
        why = dict(hit.why)
        score = hit.score
        for name in self.factors:
            why[name] = FACTORS[name](hit.record, search.now, tools.kinds)
            score *= why[name]
        return Hit(hit.record, score, why)


@dataclass(frozen=True, slots=True)
class WeighByVotes:
    """Multiplies relevance by what votes made of a record and by how long it has been of no use; nothing else counts."""

    reinforce: float = 3.0
    demote: float = 1.0

    def __call__(self, search: Search, tools: Tools) -> Search:
        weighed = [self._weigh(hit, search.now) for hit in search.hits]
        weighed.sort(key=lambda hit: (-hit.score, -hit.record.number))
        return replace(search, hits=tuple(weighed))

    def _weigh(self, hit: Hit, now: datetime) -> Hit:
        record = hit.record
        votes = reinforced(score(record.counters, self.reinforce, self.demote))
        recency = faded(record.times.used or record.times.at, now)
        return Hit(record, hit.score * votes * recency, {**hit.why, "votes": votes, "recency": recency})


@dataclass(frozen=True, slots=True)
class DropWeak:
    """Drops what is far weaker than the best: a tail of chance matches teaches a reader to ignore the answer."""

    share: float
    optional: bool = True

    def __call__(self, search: Search, tools: Tools) -> Search:
        best = max((hit.score for hit in search.hits), default=0.0)
        kept = [hit for hit in search.hits if hit.score >= best * self.share]
        weak = [hit for hit in search.hits if hit.score < best * self.share]
        reasons = {h.record.id: f"score {h.score:.3f} is under {self.share:.0%} of the best" for h in weak}
        return search.keeping(kept, reasons)


@dataclass(frozen=True, slots=True)
class KeepBest:
    """The best `limit`, in order."""

    def __call__(self, search: Search, tools: Tools) -> Search:
        ordered = sorted(search.hits, key=lambda hit: (-hit.score, -hit.record.number))
        kept, rest = ordered[: search.limit], ordered[search.limit :]
        return search.keeping(
            kept, {h.record.id: f"rank {i}, asked for {search.limit}" for i, h in enumerate(rest, search.limit + 1)}
        )


def _not_believed(record: Record, search: Search, tools: Tools) -> str | None:
    moment, times = search.as_of or search.now, record.times
    if search.as_of is None and record.state != "active":
        return None  # whoever searches the archive wants what no longer holds
    if times.valid_from and times.valid_from > moment:
        return f"holds only from {times.valid_from.isoformat()}"
    if times.valid_to and times.valid_to <= moment:
        return f"held only until {times.valid_to.isoformat()}"
    if search.as_of is None:
        return None
    if times.created > search.as_of:
        return f"was stored later, at {times.created.isoformat()}"
    if kind_of(record.kind, tools.kinds).layer not in search.layers:
        return f"is a {record.kind}, which was not asked for"
    return "was forgotten then" if _forgotten_then(record, search.as_of, tools.store) else None


def _forgotten_then(record: Record, moment: datetime, store: Store) -> bool:
    """The journal knows: the first change of state after the moment says what the state was at it."""
    whole = record.superseded_by or record.id  # the past text of a memory was forgotten with it
    for event in store.journal(whole):
        if event.at > moment and event.before is not None and "state" in event.before:
            return bool(event.before["state"] != "active")
    return record.state == "archived"
