"""What upkeep leaves alone, whatever rule would archive it. One guard for all rules.

Never what is pinned, never what lies in `global`, never what was written, changed or used within a day (so never what was just
written), and never the newer one of two while the older is active: that would bring back what it replaced.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from memorist.access import Access
from memorist.design import Tools
from memorist.errors import Refused
from memorist.kinds import KINDS
from memorist.records import Record
from memorist.store.nouns import Brief
from memorist.store.where import Where

A_DAY = timedelta(days=1)
OFTEN_USED = 3  # times, from which on a memory has earned its place
AT_ONCE = 200


def memories(who: Access, tools: Tools) -> Where:
    """What rules are about: active memories. What was said, read and done stays whole, as do stories and tasks."""
    where = Where(who).also("state", "eq", "active")
    for kind in KINDS.values():
        if not kind.recalled:
            where = where.also("kind", "ne", kind.name)
    return where


def loose(briefs: Iterable[Brief], now: datetime) -> list[Brief]:
    """Those that a rule may archive, as far as they tell by themselves."""
    return [brief for brief in briefs if not (brief.pinned or brief.scope == "global" or now - brief.touched < A_DAY)]


def free(briefs: Sequence[Brief], who: Access, tools: Tools) -> Iterator[Brief]:
    """Those of them that do not hold an older one down, in their order; looked up as far as they are asked for."""
    for start in range(0, len(briefs), AT_ONCE):
        some = briefs[start : start + AT_ONCE]
        heads = _live_heads([brief.id for brief in some], who, tools)
        yield from (brief for brief in some if brief.id not in heads)


def _live_heads(ids: Sequence[str], who: Access, tools: Tools) -> set[str]:
    """Those that supersede a memory which is still active."""
    wanted = set(ids)
    older: dict[str, list[str]] = {}
    for link in tools.store.links_of(ids, Where(who)):
        if link.kind == "supersedes" and link.a in wanted:
            older.setdefault(link.b, []).append(link.a)
    alive = tools.store.get(list(older), Where(who).also("state", "eq", "active"))
    return {head for record in alive for head in older[record.id]}


def refuse_guarded(record: Record, now: datetime) -> None:
    """At the moment of the change: somebody may have needed it since the proposal."""
    if record.pinned:
        raise Refused(f"memory {record.number} was pinned meanwhile")
    if now - max(record.times.updated, record.times.used or record.times.updated) < A_DAY:
        raise Refused(f"memory {record.number} was changed or used meanwhile")
