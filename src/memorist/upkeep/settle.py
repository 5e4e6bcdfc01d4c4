"""What time decides: candidates that proved useful are confirmed, and what nobody used for long goes to the archive.

Both are jobs that somebody runs, not something that opening a store does, and both look at what was counted and at the clock
only: run twice, the second time finds nothing to do. A day's quarantine keeps what an agent concluded, or a page wanted it to
conclude, from being taken for granted before it helped anybody.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar

from memorist import remember
from memorist.access import Access
from memorist.design import Proposal, Tools
from memorist.errors import Refused
from memorist.kinds import KINDS, Kind, kind_of
from memorist.records import Record
from memorist.store.nouns import Brief
from memorist.store.where import Order, Where
from memorist.upkeep.clock import jumped
from memorist.upkeep.guard import OFTEN_USED, free, loose, refuse_guarded
from memorist.worth import QUARANTINE, proved

CONFIRMED = "it helped, and comes from a source that is trusted"
EXPIRED = "expired: nobody needed it for as long as its kind is kept"
CANDIDATES_AT_MOST = 10_000  # in one run; the next one goes on
FINDING_DAYS = 21.0  # that a finding waits in its session, as long as a discovery


@dataclass(frozen=True, slots=True)
class Settle:
    """Confirms candidates that were used, a day after they came in. To be shown is not to be used; what nobody vouches for
    waits for a person however often it is used."""

    name: ClassVar[str] = "settle"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        now = tools.clock()
        where = Where(who).also("state", "eq", "active").also("status", "eq", "candidate")
        trusted = where.also("trust", "ne", "low").also("used", "gte", 1).also("updated", "lte", now - QUARANTINE)
        found = tools.store.find(trusted, Order("updated", ascending=True), CANDIDATES_AT_MOST)
        ids = [record.id for record in found if _may_be_confirmed(record, now)]
        doubtful = tools.store.count(where.also("trust", "eq", "low"))
        advice = (
            f"{doubtful:,} of low trust wait for a person: `memorist promote ID` confirms one" if doubtful else None
        )
        return Proposal("confirmed", _confirm(now), CONFIRMED, ids, advice)


def _may_be_confirmed(record: Record, now: datetime) -> bool:
    """A finding that is still in its session is promoted, not confirmed."""
    in_its_session = record.scope.startswith("session/") and "home" in record.data
    return proved(record, now) and not in_its_session


class _confirm:
    """The edit, at the moment of the proposal: who doubts it meanwhile is heard."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self, record: Record) -> Record:
        if not _may_be_confirmed(record, self.now):
            raise Refused(f"memory {record.number} was changed or doubted meanwhile")
        return replace(record, status="confirmed")


@dataclass(frozen=True, slots=True)
class Expire:
    """Archives what nobody used for as long as its kind is kept. Three uses, a pin or the user's own word save it."""

    name: ClassVar[str] = "expire"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        moved = jumped(tools)
        if moved:
            return Proposal("expired", lambda record: record, EXPIRED, [], f"nothing was looked at: {moved}")
        now = tools.clock()
        old = [brief for kind in ({**KINDS, **tools.kinds}).values() for brief in _outlived(kind, who, tools, now)]
        ids = dict.fromkeys(brief.id for brief in free(loose(old, now), who, tools))

        def expire(record: Record) -> Record:
            refuse_guarded(record, tools.clock())
            days = _days(kind_of(record.kind, tools.kinds), record.scope)
            return remember.many.archived(record, f"expired: a {record.kind} that nobody needed for {days:g} days")

        return Proposal("expired", expire, EXPIRED, list(ids))


def _days(kind: Kind, scope: str) -> float:
    """How long it is kept; what lies in a session is kept no longer than a finding."""
    kept = kind.ttl_days if kind.ttl_days is not None else float("inf")
    return min(kept, FINDING_DAYS) if scope.startswith("session/") and kind.recalled else kept


def _outlived(kind: Kind, who: Access, tools: Tools, now: datetime) -> list[Brief]:
    if kind.ttl_days is None and not kind.recalled:
        return []
    least = min(kind.ttl_days or FINDING_DAYS, FINDING_DAYS)
    where = Where(who).also("state", "eq", "active").also("kind", "eq", kind.name).also("pinned", "eq", False)
    where = where.also("trust", "ne", "high").also("updated", "lt", now - timedelta(days=least))
    return [brief for brief in tools.store.briefs(where) if _has_outlived(brief, kind, now)]


def _has_outlived(brief: Brief, kind: Kind, now: datetime) -> bool:
    days = (now - brief.touched).total_seconds() / 86400
    return brief.counters.used < OFTEN_USED and days > _days(kind, brief.scope)
