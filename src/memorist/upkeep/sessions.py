"""What upkeep does about conversations: it ends those that were left open, weighs what ends had no time for, and archives
old ones.

Ending a session is not a change to a record that a job could propose: it reads turns, weighs findings and writes a
summary (`session/close.py`). So it is done beside the jobs, under every design; a dry run names the sessions.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import ClassVar

from memorist import remember
from memorist.access import Access
from memorist.design import Promotion, Proposal, Tools, bounded
from memorist.lazy import dataclass
from memorist.records import Planned, Record, Report, utc
from memorist.remember.changes import Caller
from memorist.session import close, name, weighing
from memorist.store.where import Where
from memorist.upkeep.retain import CANDIDATES_AT_MOST, jumped

SESSIONS = "sessions"  # the verb of the report
LEFT = "it was left open"


def end_left_open(by: Caller, policy: Promotion, over: Callable[[], bool], dry_run: bool) -> Report | None:
    """Ends sessions that nobody writes any more, and weighs findings that earlier ends did not; None if there is neither."""
    left = tuple(Planned(record.id, record.number, LEFT) for _, record in close.left_open(by))
    waited = _unweighed(by, policy)
    if not left and not waited:
        return None
    if dry_run:
        return Report(SESSIONS, left, dry_run=True, advice=waited)
    done = close.recover(by, policy, over, again=True)
    changed = tuple(each for report in done for each in report.changed)
    said = [f"{len(done):,} of {len(left):,} sessions that were left open were ended"] if left else []
    said += [_unweighed(by, policy) or "findings that waited were weighed"] if waited else []
    return Report(SESSIONS, changed, advice="; ".join(said))


def _unweighed(by: Caller, policy: Promotion) -> str | None:
    left = len(weighing.left(by, policy, again=True))
    return f"findings wait to be weighed (projects: {left:,})" if left else None


@dataclass(frozen=True, slots=True)
class RetainSessions:
    """Archives conversations that ended so many days ago, turn by turn. Their summaries and what was found in them stay."""

    days: float = bounded(1, 100_000, 30.0)
    name: ClassVar[str] = "retain_sessions"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        because = f"expired: its session ended more than {self.days:g} days ago"
        archive = partial(remember.edit.archived, because=because)
        moved = jumped(tools)
        ids = [] if moved else list(self._old(who, tools))
        return Proposal("expired", archive, because, ids, moved and f"nothing was looked at: {moved}")

    def _old(self, who: Access, tools: Tools) -> Iterator[str]:
        """The turns of old sessions, each session followed by its record, until one run has enough."""
        active, found = Where(who).also("state", "eq", "active"), 0
        for record in self._sessions(active, tools):
            said = active.also("session", "eq", record.title).also("scope", "eq", record.scope)
            turns = [brief.id for brief in tools.store.briefs(said.also("kind", "eq", name.TURN))]
            yield from (*turns, record.id)
            found += len(turns)
            if found > CANDIDATES_AT_MOST or tools.over():
                return

    def _sessions(self, active: Where, tools: Tools) -> list[Record]:
        """Sessions that ended long ago. One that a younger session was forked from is kept as long as that one."""
        sessions = tools.store.find(active.also("kind", "eq", name.KIND), name.OLDEST_FIRST)
        before = tools.clock() - timedelta(days=self.days)
        old = {record.id: record for record in sessions if _ended(record, before)}
        needed = _forked_from([record for record in sessions if record.id not in old], sessions)
        return [record for id, record in old.items() if id not in needed]


def _ended(record: Record, before: datetime) -> bool:
    with suppress(ValueError):
        return record.data.get("state") == name.CLOSED and utc(str(record.data.get("closed"))) < before
    return False


def _forked_from(young: Iterable[Record], sessions: Iterable[Record]) -> set[str]:
    """The record ids of the sessions that these were forked from, directly or indirectly."""
    by_name = {(record.scope, record.title): record for record in sessions}
    found: set[str] = set()
    edge = list(young)
    while edge:
        record = edge.pop()
        parent = by_name.get((record.scope, record.data.get("parent")))
        if parent is not None and parent.id not in found:
            found.add(parent.id)
            edge.append(parent)
    return found
