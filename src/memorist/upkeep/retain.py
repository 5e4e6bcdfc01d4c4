"""Keeping a store within bounds: rules that archive what is worth least, each of them off or a number.

    max_items       more active memories in one scope than that: the least worth go, down to nine tenths of it
    max_bytes       the same by the room they take
    ttl_days        whatever was not touched for so long
    min_confidence  whatever is believed less than that today, and was never confirmed by being said again

One guard holds for all of them (`guard.py`), everything is archived with its reason and nothing deleted, and a second run
right after the first has nothing to do.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from memorist import remember
from memorist.access import Access
from memorist.design import Proposal, Tools
from memorist.kinds import Kind, kind_of
from memorist.records import Record
from memorist.store.nouns import Brief
from memorist.upkeep.clock import jumped
from memorist.upkeep.guard import OFTEN_USED, free, loose, memories, refuse_guarded
from memorist.worth import faded, reinforced, score

EVICTED = "evicted: a rule of retention took it"
MEGABYTE = 1024 * 1024
DOWN_TO = 0.9  # of a limit: so that not every write that follows is one too many


@dataclass(frozen=True, slots=True)
class Retain:
    """Archives what the rules say, in each scope of these families for itself."""

    max_items: int | None = None
    max_bytes: int | None = None
    ttl_days: float | None = None
    min_confidence: float | None = None
    families: tuple[str, ...] = ("project",)
    name: ClassVar[str] = "retain"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        now, moved = tools.clock(), jumped(tools)
        chosen: dict[str, str] = {}
        for scope, held in tools.store.scopes(who.space).items():
            if scope.partition("/")[0] in self.families and not self._has_room(held):
                briefs = list(tools.store.briefs(memories(who, tools).also("scope", "eq", scope)))
                chosen |= self._of_scope(briefs, now, bool(moved), who, tools)

        def evict(record: Record) -> Record:
            refuse_guarded(record, tools.clock())
            return remember.many.archived(record, chosen[record.id])

        advice = f"by time nothing was looked at: {moved}" if moved else None
        return Proposal("evicted", evict, EVICTED, list(chosen), advice)

    def _has_room(self, held: int) -> bool:
        """Whether a look at how many there are is enough: this runs every few uses, and reading all of them takes a while."""
        by_themselves = (self.max_bytes, self.ttl_days, self.min_confidence)
        few = self.max_items is None or held <= self.max_items
        return few and all(rule is None for rule in by_themselves)

    def _of_scope(
        self, briefs: Sequence[Brief], now: datetime, moved: bool, who: Access, tools: Tools
    ) -> dict[str, str]:
        rest = list(free(sorted(loose(briefs, now), key=lambda brief: _order(brief, now)), who, tools))
        chosen = {} if moved else {b.id: why for b in rest if (why := self._fallen(b, now, tools.kinds))}
        items = sum(brief.id not in chosen for brief in briefs)
        bytes = sum(brief.bytes for brief in briefs if brief.id not in chosen)
        kept = [brief for brief in rest if brief.id not in chosen]
        for brief in self._too_many(kept, items, bytes):
            chosen[brief.id] = (
                f"evicted: the scope held {items:,} memories in {bytes / MEGABYTE:.1f} MB, this among the least worth"
            )
        return chosen

    def _fallen(self, brief: Brief, now: datetime, kinds: Mapping[str, Kind]) -> str | None:
        """Why it goes by itself, however much room there is."""
        if brief.counters.used >= OFTEN_USED or brief.trust == "high":
            return None
        if self.ttl_days is not None and (now - brief.touched).total_seconds() > self.ttl_days * 86400:
            return f"evicted: not touched for {self.ttl_days:g} days"
        today = believed(brief, now, kinds)
        if self.min_confidence is not None and today < self.min_confidence and brief.counters.strength <= 1:
            return f"evicted: its confidence is {today:.2f} today, less than {self.min_confidence:g}"
        return None

    def _too_many(self, lowest: Iterable[Brief], items: int, bytes: int) -> list[Brief]:
        over = (self.max_items is not None and items > self.max_items) or (
            self.max_bytes is not None and bytes > self.max_bytes
        )
        chosen: list[Brief] = []
        for brief in lowest if over else ():
            if _within(items, self.max_items) and _within(bytes, self.max_bytes):
                break
            chosen.append(brief)
            items, bytes = items - 1, bytes - brief.bytes
        return chosen


def _within(number: int, limit: int | None) -> bool:
    return limit is None or number <= int(limit * DOWN_TO)


def believed(brief: Brief, now: datetime, kinds: Mapping[str, Kind]) -> float:
    """Its confidence today: half of it for every half-life of its kind since it last helped."""
    half_life = kind_of(brief.kind, kinds).half_life_days
    days = max(0.0, (now - brief.since).total_seconds() / 86400)
    return brief.confidence if half_life is None else brief.confidence * 0.5 ** (days / half_life)


def _order(brief: Brief, now: datetime) -> tuple[float, datetime, int]:
    """The least useful first; of equals, the one that was not touched for longest."""
    doubt = 0.9 if brief.status == "candidate" else 1.0
    weighed = min(1.0, brief.importance + 0.1 * brief.counters.strength) * doubt
    return weighed * reinforced(score(brief.counters)) * faded(brief.since, now), brief.touched, brief.number
