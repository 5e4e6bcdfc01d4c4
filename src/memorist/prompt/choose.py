"""Which memories may enter a prompt, by which lane: those always there, those of the question, those of the task at hand.

A question is asked once. Only where its answer was full and a lane of some scope family came away with little is that scope
asked by itself, so that a thousand memories of one family cannot keep another's from being candidates at all.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memorist.access import Access
from memorist.design import STEADY, Design, Inject, Tools
from memorist.prompt.items import Clash, Item, age_of, body_of
from memorist.prompt.modes import Mode, Profile, weighed
from memorist.prompt.styles import Style
from memorist.records import Hit, Recall, Record, Scope
from memorist.store.where import Order, Where

MOST_STEADY = 1000  # memories a steady lane looks at
MOST_ALWAYS = 1000  # memories of a family that are candidates whatever is asked
MOST_SUMMARIES = 10
MOST_CLASHES = 2
# Families whose memories, or those of a kind, are candidates whether they fit the question or not.
ALWAYS: Mapping[str, str | None] = {"task": None, "session": None, "global": "preference"}
Ask = Callable[[str | None], Recall]  # the question, everywhere or in one scope


@dataclass(frozen=True, slots=True)
class Plan:
    """What a caller wants, checked."""

    query: str
    total: int
    style: Style
    mode: Mode
    profile: Profile | None
    inject: Inject
    limit: int
    files: Sequence[str] = ()
    session: str | None = None
    kinds: Sequence[str] | None = None
    where: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Chosen:
    """The candidates of each lane, best first; which of them clash; and why there is nothing, where there is nothing."""

    lanes: Mapping[str, tuple[Item, ...]]
    protected: tuple[Item, ...] = ()
    clashes: tuple[Clash, ...] = ()
    empty_because: str | None = None


def choose(plan: Plan, ask: Ask, scopes: Sequence[str], design: Design, who: Access, tools: Tools) -> Chosen:
    look = Look(plan, tuple(scopes), who, tools, tools.clock())
    taken: dict[str, Item] = {}
    lanes: dict[str, tuple[Item, ...]] = {}
    for lane in design.lanes:
        if lane.name in STEADY:
            lanes[lane.name] = look.new(lane.name, look.steady(lane.name), taken)
    protected = look.new("turns", look.last_turns(), taken, protected=True) if plan.profile else ()
    because = None
    if plan.inject == "push":
        found = ask(None)
        because = found.empty_because
        families = {lane.name for lane in design.lanes} - {"recall", *STEADY}
        for lane in design.lanes:
            if lane.name in families:
                lanes[lane.name] = look.new(lane.name, look.of_family(lane.name, found, ask), taken)
        for lane in design.lanes:  # after the families: what is theirs is not taken from them
            if lane.name == "recall":
                lanes["recall"] = look.new("recall", found.hits, taken)
    clashes = look.clashes(lanes, taken)
    return Chosen({lane.name: lanes.get(lane.name, ()) for lane in design.lanes}, protected, clashes, because)


@dataclass(frozen=True, slots=True)
class Look:
    """What is looked up for one context."""

    plan: Plan
    scopes: tuple[str, ...]
    who: Access
    tools: Tools
    now: datetime

    def new(self, lane: str, hits: Iterable[Hit], taken: dict[str, Item], protected: bool = False) -> tuple[Item, ...]:
        """Those that no lane has yet, in the order in which they enter."""
        items = [self._item(lane, hit, protected) for hit in hits if hit.record.id not in taken]
        if lane not in STEADY and not protected:
            items.sort(key=lambda item: -item.weight)
        taken |= {item.record.id: item for item in items}
        return tuple(items)

    def _item(self, lane: str, hit: Hit, protected: bool = False) -> Item:
        plan, record = self.plan, hit.record
        age = None if lane in STEADY else age_of(record, self.now)
        weight = weighed(hit, plan.profile, plan.files, plan.query, self.now)
        return Item(hit, lane, body_of(record, plan.mode.longest), age, weight, protected)

    def steady(self, lane: str) -> list[Hit]:
        """What is there whatever is asked. Its order follows from what is stored and never from what was counted, so that it
        stays as it is while nothing is changed."""
        where = self._where()
        if lane == "summaries":
            told = [
                self._vouched(where.also("kind", "eq", kind), "at", MOST_SUMMARIES) for kind in ("summary", "narrative")
            ]
            latest = sorted((r for some in told for r in some), key=lambda r: (r.times.at, r.number), reverse=True)
            return [Hit(record, 1.0, {"summary": 1.0}) for record in latest[:MOST_SUMMARIES]]
        where = where.also("pinned", "eq", True) if lane == "pinned" else where.also("kind", "eq", "convention")
        found = self._vouched(where, "importance", MOST_STEADY)
        return [Hit(r, 1.0, {lane: 1.0}) for r in sorted(found, key=lambda r: (-r.importance, r.number))]

    def last_turns(self) -> list[Hit]:
        """What the system said and the last few turns of the session, in their order."""
        plan = self.plan
        if plan.session is None or plan.profile is None or not plan.profile.turns:
            return []
        said = Where(self.who).also("session", "eq", plan.session).also("kind", "eq", "turn")
        said = said.also("state", "eq", "active")
        last = self.tools.store.find(said, Order("at"), plan.profile.turns)
        system = self.tools.store.find(
            said.also("role", "eq", "system").also("trust", "ne", "low"), Order("at", ascending=True), 1
        )
        both = {record.id: record for record in (*system, *last[::-1])}
        return [Hit(record, 1.0, {"protected": 1.0}) for record in both.values()]

    def of_family(self, family: str, found: Recall, ask: Ask) -> list[Hit]:
        """What was found there; if others filled the answer, what is found when only this is asked; and what always counts: of
        a task everything, and the preferences that hold everywhere."""
        here = [scope for scope in self.scopes if Scope(scope).family == family]
        hits = [hit for hit in found.hits if hit.record.scope in here]
        if len(found.hits) >= self.plan.limit and len(self.scopes) > 1:
            hits = [hit for scope in here for hit in ask(scope).hits]
        if family not in ALWAYS or not here:
            return hits
        known, kind, where = {hit.record.id for hit in hits}, ALWAYS[family], self._where(here)
        rest = self._find(where if kind is None else where.also("kind", "eq", kind), "importance", MOST_ALWAYS)
        return [*hits, *(Hit(record, 0.0, {family: 1.0}) for record in rest if record.id not in known)]

    def _where(self, scopes: Sequence[str] | None = None) -> Where:
        """What the caller asks for, in these scopes."""
        plan = self.plan
        here = replace(
            self.who, reads=tuple(self.scopes if scopes is None else scopes)
        )  # nothing else is looked through
        where = Where.of(here, plan.where)
        where = where if where.speaks_of("state") else where.also("state", "eq", "active")
        if plan.kinds is not None:
            where = where.also("kind", "in", tuple(plan.kinds))
        return where

    def _find(self, where: Where, order: str, most: int) -> list[Record]:
        found = self.tools.store.find(where, Order(order), most)
        return [record for record in found if self._holds(record)]

    def _vouched(self, where: Where, order: str, most: int) -> list[Record]:
        """What a tool, a file or an import says is shown as an answer, never as settled, until a person confirms it."""
        found = self.tools.store.find(where, Order(order), most)
        if len(found) == most:  # what nobody vouches for must not crowd out the rest
            said = self.tools.store.find(where.also("trust", "ne", "low"), Order(order), most)
            low = self.tools.store.find(
                where.also("trust", "eq", "low").also("status", "eq", "confirmed"), Order(order), most
            )
            best = (lambda r: (r.times.at, r.number)) if order == "at" else (lambda r: (r.importance, r.number))
            found = sorted((*said, *low), key=best, reverse=True)[:most]
        return [r for r in found if self._holds(r) and (r.trust != "low" or r.status == "confirmed")]

    def _holds(self, record: Record) -> bool:
        start, end = record.times.valid_from, record.times.valid_to
        return (start is None or start <= self.now) and (end is None or self.now < end)

    def clashes(self, lanes: dict[str, tuple[Item, ...]], taken: dict[str, Item]) -> tuple[Clash, ...]:
        """Open contradictions of what was chosen, two at most. The other side becomes a candidate right after its partner."""
        links = self.tools.store.links_of(list(taken), Where(self.who)) if taken else []
        pairs = [(link.a, link.b) for link in links if link.kind == "contradicts"]
        if not pairs:
            return ()
        ends = list(dict.fromkeys(end for pair in pairs for end in pair))
        active = Where(self.who).also("state", "eq", "active")
        known = {r.id: r for r in self.tools.store.get(ends, active) if self._holds(r)}
        rank = {id: place for place, id in enumerate(taken)}
        open = [pair for pair in pairs if pair[0] in known and pair[1] in known]
        open.sort(key=lambda pair: min(rank.get(end, len(rank)) for end in pair))
        chosen = tuple(Clash(known[a], known[b]) for a, b in open[:MOST_CLASHES])
        for clash in chosen:
            self._add_other(clash, lanes, taken)
        return chosen

    def _add_other(self, clash: Clash, lanes: dict[str, tuple[Item, ...]], taken: dict[str, Item]) -> None:
        new = [record for record in (clash.a, clash.b) if record.id not in taken]
        partner = next((taken[r.id] for r in (clash.a, clash.b) if r.id in taken), None)
        if not new or partner is None:
            return
        lane = partner.lane if partner.lane in lanes and partner.lane not in STEADY else _last_loose(lanes)
        if lane is None:
            return
        other = self._item(lane, Hit(new[0], partner.hit.score, {"contradicts": 1.0}))
        items = list(lanes[lane])
        place = items.index(partner) + 1 if partner in items else 0
        lanes[lane] = (*items[:place], other, *items[place:])
        taken[other.record.id] = other


def _last_loose(lanes: Mapping[str, tuple[Item, ...]]) -> str | None:
    return next((name for name in reversed(list(lanes)) if name not in STEADY), None)
