"""A job that asks about memories nobody needed for a long time: section by section of a MEMORY.md, whether to keep
them.

It deletes nothing and hides nothing. A memory counts as referred to when it is written, changed, used, said again or
shown for a query. Denying a question also counts, so its memories are not asked about again before as many days have
passed. What is approved goes to the archive, and `undo` brings it back.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import takewhile
from typing import Any, ClassVar

from memorist.access import Access, family_of
from memorist.design import Ask, Proposal, Tools, bounded, itself, told
from memorist.kinds import OTHER_SECTION, SECTIONS
from memorist.lazy import dataclass
from memorist.records import Record
from memorist.remember.consent import shown_in_question
from memorist.store.where import Order
from memorist.upkeep.retain import jumped, memories

RECEIPTS = 2000  # receipts of the recall log that are read
OLDEST_READ = 5000  # memories that are read, the oldest first
IN_A_QUESTION = 3  # memories quoted in a question
UNNEEDED = "nobody needed them for long"


@dataclass(frozen=True, slots=True)
class StaleSections:
    """Asks about project memories that were not referred to for `days` days, at most `most` in one question."""

    days: float = bounded(1, 100_000, 90.0)
    most: int = bounded(1, 100, 20)
    name: ClassVar[str] = "stale_sections"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        asks = () if jumped(tools) else tuple(self._asks(who, tools))
        return Proposal("forgotten", itself, UNNEEDED, (), partial(told, asks), asks)

    def _asks(self, who: Access, tools: Tools) -> Iterator[Ask]:
        since = tools.clock() - timedelta(days=self.days)
        groups: dict[tuple[str, str], list[Record]] = {}
        for record in _unneeded(who, since, tools):
            groups.setdefault((record.scope, _section(record)), []).append(record)
        for (scope, section), records in groups.items():
            for start in range(0, len(records), self.most):
                yield self._ask(scope, section, records[start : start + self.most], tools.clock())

    def _ask(self, scope: str, section: str, records: Sequence[Record], now: datetime) -> Ask:
        some = "; ".join(f"[id:{each.number}] {shown_in_question(each.text)}" for each in records[:IN_A_QUESTION])
        more = f" and {len(records) - IN_A_QUESTION:,} more" if len(records) > IN_A_QUESTION else ""
        last = max(max(each.times.updated, each.times.used or each.times.updated) for each in records)
        what = f"{len(records):,} memories of “{section}” in {scope} that nobody needed since {last:%Y-%m-%d}"
        details: dict[str, Any] = {
            "clauses": [["id", "in", [each.id for each in records]], ["updated", "lte", now.isoformat()]],
            "because": f"not needed for {self.days:g} days",
            "scope": scope,
        }
        return Ask("stale", f"forget {what}: {some}{more}", None, details)


def _unneeded(who: Access, since: datetime, tools: Tools) -> Iterator[Record]:
    where = memories(who, lambda kind: kind.recalled).also("updated", "lte", since).also("pinned", "eq", False)
    known = _shown(who, since, tools) | _asked(who, tools)
    found = tools.store.find(where, Order("number", ascending=True), OLDEST_READ)
    for record in takewhile(lambda _: not tools.over(), found):
        mine = family_of(record.scope) == "project" and who.may_write(record.scope)
        if mine and record.id not in known and (record.times.used or since) <= since:
            yield record


def _shown(who: Access, since: datetime, tools: Tools) -> set[str]:
    return {id for line in tools.store.receipts(who.space, RECEIPTS) if line.at > since for id in line.ids}


def _asked(who: Access, tools: Tools) -> set[str]:
    """The memories of questions that already wait."""
    waiting = [run.question or {} for run in tools.store.runs(who.space, state="asks")]
    asked = [question["details"] for question in waiting if question.get("verb") == "stale"]
    return {id for details in asked for id in details["clauses"][0][2]}


def _section(record: Record) -> str:
    named = record.data.get("section")
    return named if isinstance(named, str) and named.strip() else SECTIONS.get(record.kind, OTHER_SECTION)
