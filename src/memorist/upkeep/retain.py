"""Jobs that keep a store within bounds: the memories worth least are archived, and candidates that helped are confirmed.

    Settle    confirms candidates that were used, a day after they were stored
    Expire    archives memories that were unused for longer than their kind is kept
    Retain    archives by number, size, age and confidence in each scope
    Prune     archives by size over all memories

They look only at counters and the clock, so a second run right after the first has nothing to do. Everything is archived
with its reason, and nothing is deleted.

One guard protects memories from all of them: pinned ones, those in `global`, those written, changed, said again or used
within a day, and a memory that supersedes one that is still active, because archiving it would bring back what it replaced.
If a scope has too many memories, having been written within the day does not protect one: otherwise a thousand notes of one
morning could not be brought below the limit. Of those that were only written, the newest stay, up to a tenth of the limit.
After the clock jumps, nothing is archived by age (promise P16).
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import ClassVar, Literal

from memorist import checks, remember
from memorist.access import GLOBAL, Access, family_of
from memorist.design import Clock, Proposal, Tools, bounded
from memorist.errors import Refused
from memorist.kinds import KINDS, MEMORY, Kind
from memorist.lazy import dataclass
from memorist.records import Record
from memorist.scoring import (
    QUARANTINE,
    accesses,
    days_since,
    decayed,
    faded,
    proved,
    reinforced,
    said_importance,
    score,
)
from memorist.store.journal import jump
from memorist.store.nouns import Brief, footprint, parts
from memorist.store.where import Order, Where

A_DAY = timedelta(days=1)
MEGABYTE = 1024 * 1024
OFTEN_USED = 3  # this many uses or repetitions protect a memory from expiry
LINKS_AT_ONCE = 200  # memories whose links are read together
SIZE = {"key": "max_size", "check": checks.size, "write": checks.size_text}  # how a design's file gives bytes
FAMILIES = ("project", "session", "user", "task", "agent")  # never global
DOWN_TO = 0.9  # the fraction of a limit to reach, so that the next write does not exceed it again
CANDIDATES_AT_MOST = 10_000  # in one run; the next one continues
FINDING_DAYS = 21.0  # how long a finding stays in its session
CONFIRMED = "it helped, and comes from a source that is trusted"
EXPIRED = "expired: nobody needed it for as long as its kind is kept"
EVICTED = "evicted: a rule of retention took it"
PRUNED = "pruned: the memories took more room than allowed, and this was among the least worth"


# ---------------------------------------------------------------- the guard


def jumped(tools: Tools) -> str | None:
    """Why nothing may expire now; None if the clock can be trusted."""
    return jump(tools.store, tools.clock())


def memories(who: Access, counts: Callable[[Kind], bool]) -> Where:
    """The memories that rules apply to: active ones of the kinds that count. The others, such as turns and documents,
    stay whole."""
    where = Where(who).also("state", "eq", "active")
    for kind in KINDS.values():
        if not counts(kind):
            where = where.also("kind", "ne", kind.name)
    return where


def loose(briefs: Iterable[Brief], now: datetime) -> list[Brief]:
    """Those that are neither pinned, nor global, nor touched within a day."""
    return [brief for brief in briefs if not (brief.pinned or brief.scope == GLOBAL or now - brief.touched < A_DAY)]


def free(briefs: Sequence[Brief], who: Access, tools: Tools) -> Iterator[Brief]:
    """Those that supersede no active memory, in order. Links are read only as far as the caller iterates."""
    for some in parts(briefs, LINKS_AT_ONCE):
        heads = _live_heads([brief.id for brief in some], who, tools)
        yield from (brief for brief in some if brief.id not in heads)


def _live_heads(ids: Sequence[str], who: Access, tools: Tools) -> set[str]:
    """Those that supersede a memory that is still active."""
    wanted = set(ids)
    older: dict[str, list[str]] = {}
    for link in tools.store.links(Where(who), ids):
        if link.kind == "supersedes" and link.a in wanted:
            older.setdefault(link.b, []).append(link.a)
    alive = tools.store.get(list(older), Where(who).also("state", "eq", "active"))
    return {head for record in alive for head in older[record.id]}


def refuse_guarded(record: Record, untouched_since: datetime) -> None:
    """Checks again at the moment of the change: it may have been pinned, changed or used since the proposal."""
    if record.pinned:
        raise Refused(f"memory {record.number} was pinned in the meantime")
    if max(record.times.updated, record.times.used or record.times.updated) > untouched_since:
        raise Refused(f"memory {record.number} was changed or used in the meantime")


# ---------------------------------------------------------------- by use and by age


@dataclass(frozen=True, slots=True)
class Settle:
    """Confirms candidates that were used, a day after they were stored. Being shown is not being used, and a memory of
    low trust waits for a person however often it is used. The day of quarantine keeps a wrong conclusion of an agent,
    or one that a page planted, from being taken for granted before it has helped."""

    name: ClassVar[str] = "settle"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        now = tools.clock()
        where = Where(who).also("state", "eq", "active").also("status", "eq", "candidate")
        trusted = where.also("trust", "ne", "low").also("used", "gte", 1).also("updated", "lte", now - QUARANTINE)
        found = tools.store.find(trusted, Order("updated", ascending=True), CANDIDATES_AT_MOST)
        ids = [record.id for record in found if _may_be_confirmed(record, now)]

        def low(reader: Access) -> str | None:
            doubtful = sum(tools.store.count(replace(where, access=reader).also("trust", "eq", "low")).values())
            return (
                f"{doubtful:,} of low trust wait for a person: `memorist promote ID` confirms one" if doubtful else None
            )

        def confirm(record: Record) -> Record:
            if not _may_be_confirmed(record, now):  # checked again, because a vote against it since the proposal counts
                raise Refused(f"memory {record.number} was changed or doubted in the meantime")
            return replace(record, status="confirmed")

        return Proposal("confirmed", confirm, CONFIRMED, ids, low)


def _may_be_confirmed(record: Record, now: datetime) -> bool:
    """A finding that is still in its session is promoted, not confirmed."""
    in_its_session = family_of(record.scope) == "session" and "home" in record.data
    return proved(record, now) and not in_its_session


@dataclass(frozen=True, slots=True)
class Expire:
    """Archives memories that were unused for longer than their kind is kept. Three uses or repetitions, a pin, or
    coming from the user protects a memory."""

    name: ClassVar[str] = "expire"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        moved = jumped(tools)
        if moved:
            return Proposal("expired", lambda record: record, EXPIRED, [], f"nothing was looked at: {moved}")
        now = tools.clock()
        old = [brief for kind in tools.kinds.values() for brief in _outlived(kind, who, tools, now)]
        ids = dict.fromkeys(brief.id for brief in free(loose(old, now), who, tools))

        def expire(record: Record) -> Record:
            refuse_guarded(record, tools.clock() - A_DAY)
            days = _days(tools.kinds[record.kind], record.scope)
            return remember.edit.archived(record, f"expired: a {record.kind} that nobody needed for {days:g} days")

        return Proposal("expired", expire, EXPIRED, list(ids))


def _days(kind: Kind, scope: str) -> float:
    """How many days it is kept; in a session no longer than a finding."""
    kept = kind.ttl_days if kind.ttl_days is not None else float("inf")
    return min(kept, FINDING_DAYS) if family_of(scope) == "session" and kind.recalled else kept


def _outlived(kind: Kind, who: Access, tools: Tools, now: datetime) -> list[Brief]:
    if kind.ttl_days is None and not kind.recalled:
        return []
    least = min(kind.ttl_days or FINDING_DAYS, FINDING_DAYS)
    where = Where(who).also("state", "eq", "active").also("kind", "eq", kind.name).also("pinned", "eq", False)
    where = where.also("trust", "ne", "high").also("updated", "lt", now - timedelta(days=least))
    rarely = (brief for brief in tools.store.briefs(where) if accesses(brief.counters) < OFTEN_USED)
    return [brief for brief in rarely if (now - brief.touched).total_seconds() / 86400 > _days(kind, brief.scope)]


# ---------------------------------------------------------------- by number, room and confidence


@dataclass(frozen=True, slots=True)
class Retain:
    """Archives by these rules in each scope of these families separately; each rule is off or a number.

    max_items       above so many active memories in a scope, the first by `order` go, down to nine tenths of it
    max_bytes       the same by size
    ttl_days        memories that were not touched for so long
    min_confidence  memories whose confidence today is lower, unless they were said again
    order           decayed: the lowest importance first, as it has faded since the last use; importance: the lowest as given
    """

    max_items: int | None = bounded(1, 100_000_000, None)
    max_bytes: int | None = field(default=None, metadata=SIZE)
    ttl_days: float | None = bounded(1, 100_000, None)
    min_confidence: float | None = None
    families: tuple[str, ...] = field(default=("project",), metadata={"check": partial(checks.names, known=FAMILIES)})
    order: Literal["decayed", "importance"] = "decayed"
    name: ClassVar[str] = "retain"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        now, moved = tools.clock(), jumped(tools)
        chosen: dict[str, tuple[str, datetime]] = {}
        for scope, held in tools.store.count(Where(who).also("state", "eq", "active")).items():
            if family_of(scope) in self.families and not self._has_room(held):
                here = memories(who, lambda kind: kind.recalled).also("scope", "eq", scope)
                briefs = list(tools.store.briefs(here))
                chosen |= self._of_scope(briefs, now, bool(moved), who, tools)

        def evict(record: Record) -> Record:
            because, touched = chosen[record.id]
            refuse_guarded(record, touched)
            return remember.edit.archived(record, because)

        advice = f"by time nothing was looked at: {moved}" if moved else None
        return Proposal("evicted", evict, EVICTED, list(chosen), advice)

    def _has_room(self, held: int) -> bool:
        """Whether the number of memories alone rules out any work, which saves reading them all."""
        by_themselves = (self.max_bytes, self.ttl_days, self.min_confidence)
        few = self.max_items is None or held <= self.max_items
        return few and all(rule is None for rule in by_themselves)

    def _of_scope(
        self, briefs: Sequence[Brief], now: datetime, moved: bool, who: Access, tools: Tools
    ) -> dict[str, tuple[str, datetime]]:
        """For each memory to archive: why, and when it was last touched."""
        old = [] if moved else free(loose(briefs, now), who, tools)
        chosen = {b.id: (why, b.touched) for b in old if (why := self._fallen(b, now, tools.kinds))}
        kept = [brief for brief in briefs if brief.id not in chosen]
        items, bytes = len(kept), sum(brief.bytes for brief in kept)
        lowest = free(self._lowest(kept, now), who, tools)
        because = f"evicted: the scope held {items:,} memories in {bytes / MEGABYTE:.1f} MB, this among the least worth"
        return chosen | {b.id: (because, b.touched) for b in self._too_many(lowest, items, bytes)}

    def _lowest(self, briefs: Sequence[Brief], now: datetime) -> list[Brief]:
        """Those that may go, the first to go first."""
        new = self._new(briefs, now)
        loose = (brief for brief in briefs if brief.id not in new and not _in_use(brief, now))
        return sorted(loose, key=partial(self._rank, now=now))

    def _new(self, briefs: Sequence[Brief], now: datetime) -> set[str]:
        """The newest of the last day, up to a tenth of the limit and at least one: no memory is archived by its own arrival."""
        new, bytes = set[str](), 0
        for brief in sorted(briefs, key=lambda brief: brief.number, reverse=True):
            bytes += brief.bytes
            few = _is_tenth(len(new) + 1, self.max_items) and _is_tenth(bytes, self.max_bytes)
            if now - brief.created >= A_DAY or (new and not few):
                break
            new.add(brief.id)
        return new

    def _rank(self, brief: Brief, now: datetime) -> tuple[float, datetime, int]:
        """The least important first; of equals, the oldest."""
        said = said_importance(brief.importance, brief.counters)
        if self.order == "decayed":
            said = decayed(said, brief.status, accesses(brief.counters), days_since(brief.since, now))
        return said, brief.at, brief.number

    def _fallen(self, brief: Brief, now: datetime, kinds: Mapping[str, Kind]) -> str | None:
        """Why it is archived regardless of the room left; None if it is not."""
        if accesses(brief.counters) >= OFTEN_USED or brief.trust == "high":
            return None
        if self.ttl_days is not None and (now - brief.touched).total_seconds() > self.ttl_days * 86400:
            return f"evicted: not touched for {self.ttl_days:g} days"
        today = believed(brief, now, kinds)
        if self.min_confidence is not None and today < self.min_confidence and brief.counters.strength <= 1:
            return f"evicted: its confidence is {today:.2f} today, less than {self.min_confidence:g}"
        return None

    def _too_many(self, lowest: Iterable[Brief], items: int, bytes: int) -> list[Brief]:
        limits = ((items, self.max_items), (bytes, self.max_bytes))
        over = any(limit is not None and held > limit for held, limit in limits)
        chosen: list[Brief] = []
        for brief in lowest if over else ():
            if _within(items, self.max_items) and _within(bytes, self.max_bytes):
                break
            chosen.append(brief)
            items, bytes = items - 1, bytes - brief.bytes
        return chosen


def _within(number: int, limit: int | None) -> bool:
    return limit is None or number <= int(limit * DOWN_TO)


def _is_tenth(number: int, limit: int | None) -> bool:
    """Whether so many fit into the room that an eviction makes."""
    return limit is None or number <= limit - int(limit * DOWN_TO)


def _in_use(brief: Brief, now: datetime) -> bool:
    """Pinned or global; or changed, said again or used within a day."""
    return brief.pinned or brief.scope == GLOBAL or (brief.touched > brief.created and now - brief.touched < A_DAY)


def believed(brief: Brief, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """Its confidence today, halved for every half-life of its kind since it last helped."""
    half_life = kinds[brief.kind].half_life_days
    days = max(0.0, (now - brief.since).total_seconds() / 86400)
    return brief.confidence if half_life is None else brief.confidence * 0.5 ** (days / half_life)


@dataclass(frozen=True, slots=True)
class Prune:
    """Archives the lowest `percent` by votes and recency, repeatedly until the rest is below `max_bytes`.

    The limit applies to the bytes of *active memories*, not to the size of the file. Archiving does not shrink the
    file, so a limit on that would stay exceeded and archive a little more every night. This way one run gets below the
    limit, and the next has nothing to do. Guarded memories stay, even if they alone are too much.
    """

    max_bytes: int = field(default=100 * MEGABYTE, metadata=SIZE)
    percent: float = bounded(0.01, 100, 1.0)
    reinforce: float = bounded(0, 100, 3.0)
    demote: float = bounded(0, 100, 1.0)
    name: ClassVar[str] = "prune"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        total, count = 0, 0
        for brief in self._briefs(who, tools):
            total, count = total + brief.bytes, count + 1
        chosen, left = self._lowest(total, count, who, tools) if total > self.max_bytes else ([], total)
        advice = f"the memories take {total / MEGABYTE:.1f} MB of {self.max_bytes / MEGABYTE:.1f} MB"
        if left > self.max_bytes:
            advice += "; what is pinned, global or younger than a day is never pruned, and alone takes too much"
        return Proposal("forgotten", partial(_pruned, now=tools.clock), PRUNED, chosen, advice)

    def _lowest(self, total: int, count: int, who: Access, tools: Tools) -> tuple[list[str], int]:
        """The ids worth least, in steps of `percent` until the rest fits, and the bytes that remain."""
        step = max(1, int(count * self.percent / 100))
        most = (total - self.max_bytes) // footprint(0) + step
        now = tools.clock()
        found = loose(self._briefs(who, tools), now)
        lowest = heapq.nsmallest(most, found, key=lambda brief: (self._worth(brief, now), brief.number))
        chosen: list[str] = []
        for brief in free(lowest, who, tools):
            if total <= self.max_bytes and len(chosen) % step == 0:
                break
            chosen.append(brief.id)
            total -= brief.bytes
        return chosen, total

    def _worth(self, brief: Brief, now: datetime) -> float:
        return reinforced(score(brief.counters, self.reinforce, self.demote)) * faded(brief.since, now)

    @staticmethod
    def _briefs(who: Access, tools: Tools) -> Iterator[Brief]:
        return tools.store.briefs(memories(who, lambda kind: kind.layer == MEMORY))


def _pruned(record: Record, now: Clock) -> Record:
    refuse_guarded(record, now() - A_DAY)
    return remember.edit.archived(record, PRUNED)
