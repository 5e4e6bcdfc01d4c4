"""From a query to text for a prompt: the plan, the candidates of each lane, what fits the budget, and a receipt.

Recall is passed in as an argument and runs once for the query, and once more among documents, if there are any. If its answer
was full, it also runs for the scopes of each family that has a lane of its own, so that a thousand memories of one family
cannot crowd out those of another. A family's lane holds more than what matches: the most important memories of the family are
candidates for every query. The budget applies to the rendered text, including the frame and the marks, because that is what a
model is charged for.

A prompt must not fail because memory did. Wrong arguments are raised, because the caller has to change them. If recall fails,
pins and preferences are shown without it. Any other failure gives an empty context that says why, and the details are logged.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import Any, cast

from memorist import checks
from memorist.access import GLOBAL, Access, family_of
from memorist.design import BRIDGE, LANES, MOST_HITS, PINNED, STEADY, Budget, Compression, Design, Inject, Lane, Tools
from memorist.errors import Invalid, MemoristError, OutOfScope
from memorist.kinds import DOCUMENTS as LAYER
from memorist.lazy import dataclass
from memorist.prompt import bridge, lanes
from memorist.prompt.modes import MODES, NONE, TURNS, Mode, Profile, mode_named, profile_named, weighed
from memorist.prompt.receipt import fingerprint, rendered
from memorist.prompt.render import (
    Contradiction,
    Digest,
    Item,
    Page,
    Style,
    body_of,
    frame_cost,
    page,
    style_of,
    when_of,
)
from memorist.records import Context, Hit, Recall, Record, new_id
from memorist.scoring import held_up, vouched_for
from memorist.store.nouns import Shelf
from memorist.store.where import Order, Where
from memorist.text.tokens import TokenCounter
from memorist.text.twins import repeated
from memorist.text.visible import quoted
from memorist.text.words import query_terms

INJECTS = ("pull", "core", "push")
PULLED = "this design puts nothing into a prompt by itself; ask with `recall`, or set `inject` to push"
UNWANTED = "the profile none puts nothing into a prompt"
MOST_LISTED = 5  # memories named in the line about those left out
MOST_STEADY = 1000  # memories that a steady lane reads
MOST_SUMMARIES = 10
SUMMARIES = "summaries"  # the lane that says where earlier sessions left off
MOST_CONTRADICTIONS = 2
SETTLED: Mapping[str, tuple[tuple[str, str, Any], ...]] = {  # the filters of the steady lanes besides summaries
    PINNED: (("pinned", "eq", True), ("kind", "ne", "turn")),  # a turn is never shown as settled
    "decisions": (("kind", "eq", "decision"),),
    "preferences": (
        ("kind", "in", ("preference", "instruction")),
        ("origin", "eq", "user"),
        ("status", "eq", "confirmed"),
    ),
    "conventions": (("kind", "eq", "convention"),),
    "known": (("kind", "ne", "summary"),),  # all that a query would find and no earlier steady lane has
}
# Everybody may write these kinds for every project. So of global memories these lanes take only what the user said
# (remember/authority.py).
UNASKED = ("decisions", "known")
FEWEST_HITS = 20  # recalled for a query unless the design or the caller says otherwise
USUAL, LEAST = 75, 10  # tokens of a memory in a prompt: usually, and at least
HURRIED_HITS = 3  # a hurried context recalls a third of the hits
DOCUMENTS = 5  # documents recalled beside memories
WHOLE = 3  # characters per token: an estimate, so that memories shown whole leave room for each other
PIECE = 2  # characters of a document per token of the budget, so that it takes half of it or less
ASIDE = 20  # extra hits to recall, as steady lanes may have taken some
RELEVANT = 3  # how much more a match counts than importance, for memories of a family
OWN = ("task", "session")  # families whose memories are shown whoever said them
# Recalls the query. Its arguments: the scope (None: everywhere), the number of hits, and the layer.
Recaller = Callable[[str | None, int, str], Recall]
Shown = tuple[tuple[str, float], ...]
Keep = Callable[[Recall, float, Shown, Mapping[str, Any]], None]  # writes a receipt to the recall log
log = logging.getLogger("memorist")


# ---------------------------------------------------------------- the plan


@dataclass(frozen=True, slots=True)
class Wish:
    """The arguments of `Memory.context`, as given."""

    query: str
    limit: int | None = None
    files: Sequence[str] = ()
    scope: str | None = None
    user: str | None = None
    session: str | None = None
    task: str | None = None
    kinds: Sequence[str] | None = None
    where: Mapping[str, Any] | None = None
    budget: int | None = None
    remaining: int | None = None
    window: int | None = None
    reserve: int | None = None
    style: str | None = None
    client: str | None = None
    mode: str | None = None
    profile: str | Profile | None = None
    inject: str | None = None
    deadline: float | None = None  # seconds
    shares: Mapping[str, float] | None = None
    min_relevance: float | None = None  # replaces the minimum of every lane; 0: no minimum
    agent: str | None = None
    shown: Callable[[Record], bool] = lambda record: False  # whether the prompt already has it
    further: float | None = None  # like `min_relevance`, but not for the best


def among(ids: Set[str]) -> Callable[[Record], bool]:
    """Tests whether a memory has one of these ids."""
    return lambda record: record.id in ids


@dataclass(frozen=True, slots=True)
class Plan:
    """The wish with its arguments checked and completed by the design."""

    wish: Wish
    total: int  # tokens
    style: Style
    mode: Mode
    profile: Profile | None
    inject: Inject
    scopes: tuple[str, ...]
    lanes: tuple[Lane, ...]
    fingerprint: Mapping[str, Any]
    limit: int  # hits of one recall
    compression: Compression
    hurried: bool  # recent recalls were slow
    once: bool  # show only one of near twins

    def scopes_of(self, family: str) -> list[str]:
        return [scope for scope in self.scopes if family_of(scope) == family]

    def longest(self, record: Record) -> int | None:
        """How many characters of it are shown; None: all."""
        ratio, most = self.compression.ratio, self.mode.longest
        if most is not None and record.kind == "document":  # a piece may be longer than the whole budget
            most = min(most, max(MODES["cheap"].longest or 0, PIECE * self.total))
        if ratio is None:
            return most
        part = max(MODES["cheap"].longest or 0, lanes.part(ratio, len(record.text)))
        return part if most is None else min(part, most)


def plan_of(
    wish: Wish,
    design: Design,
    most: int | None,
    scopes: tuple[str, ...],
    kinds: Sequence[str] | None,
    hurried: bool = False,
) -> Plan:
    """The plan for a wish under this design, in these scopes and for these kinds. Wrong arguments raise here. `most` is
    the budget chosen for the project."""
    profile = profile_named(wish.profile)
    mode = mode_named(design.compression.mode if wish.mode is None else wish.mode)
    total = _total(wish, design.budget, most, profile)
    inject = design.inject if wish.inject is None else wish.inject
    if inject not in INJECTS:
        raise Invalid(f"there is no inject {quoted(inject)}; it is one of {', '.join(INJECTS)}")
    files = checks.labels(wish.files, "files")
    asked = fingerprint(
        wish.query, design=design.name, task=wish.task, files=list(files), kinds=list(kinds or ()), mode=mode.name,
        tags=_tags(wish.where), profile=profile.name if profile else None,
    )  # fmt: skip
    style, limit = style_of(wish.style, wish.client), _limit(wish.limit, design.budget.hits, total, hurried)
    checked, tokens = replace(wish, files=files, kinds=kinds), lanes.part(mode.share, total)
    shared = _lanes(design, scopes, (profile.shares if profile else {}) if wish.shares is None else wish.shares)
    least = wish.min_relevance if wish.further is None else wish.further
    shared = _asking(bridge.bridged(shared, wish.session, wish.agent), least)
    once = any(getattr(stage, "once", False) for stage in design.recall)
    return Plan(
        checked, tokens, style, mode, profile, cast(Inject, inject), scopes, shared, asked, limit, design.compression,
        hurried, once,
    )  # fmt: skip


def _tags(where: Mapping[str, Any] | None) -> list[str]:
    """The tags that a filter asks for."""
    asked = where.get("tags", ()) if isinstance(where, Mapping) else ()
    given = asked.values() if isinstance(asked, Mapping) else (asked,)
    told = chain.from_iterable(each for each in given if isinstance(each, list | tuple | set))
    return sorted({tag for tag in told if isinstance(tag, str)})


def _total(wish: Wish, usual: Budget, most: int | None, profile: Profile | None) -> int:
    """The whole budget: the caller's, else the profile's, else the one chosen for the project, else the design's."""
    usual = usual if most is None else replace(usual, tokens=most, most=most)
    usual = usual if profile is None or profile.tokens is None else replace(usual, tokens=profile.tokens)
    return lanes.total(wish.budget, wish.remaining, wish.window, wish.reserve, usual)


def _limit(given: int | None, usual: int | None, tokens: int, hurried: bool) -> int:
    """How many hits a recall may have: as the caller or the design says, else as many as the tokens may hold."""
    if given is not None:
        return checks.whole(given, "limit", 1, MOST_HITS)
    many = max(FEWEST_HITS, min(MOST_HITS, tokens // USUAL)) if usual is None else usual
    return max(min(many, DOCUMENTS), many // HURRIED_HITS) if hurried else many


def _lanes(design: Design, scopes: tuple[str, ...], shares: Mapping[str, float]) -> tuple[Lane, ...]:
    """The design's lanes with these shares, plus a `recall` lane for scopes that no lane would take. A family that is
    not read needs no floor."""
    names, read = {lane.name for lane in design.lanes}, {family_of(scope) for scope in scopes}
    usual = lanes.shared(design.lanes, shares)
    usual = tuple(lane if lane.name in read or lane.name in LANES else replace(lane, floor=0) for lane in usual)
    return usual if "recall" in names or read <= names else (*usual, Lane("recall", 1.0))


def _asking(shared: tuple[Lane, ...], least: float | None) -> tuple[Lane, ...]:
    """The lanes with the caller's minimum relevance in place of their own; a minimum of 0 removes the other limits too."""
    if least is None:
        return shared
    wanted = checks.share(least, "min_relevance")
    return tuple(replace(lane, least=wanted, of_best=lane.of_best if wanted else 0.0) for lane in shared)


# ---------------------------------------------------------------- the context


def context(plan: Plan, recall: Recaller, keep: Keep, who: Access, tools: Tools, digest: Digest) -> Context:
    """The context for this plan. Failures are reported in `empty_because`; only wrong arguments are raised."""
    if plan.inject == "pull" or plan.wish.profile == NONE:
        return Context("", budget=plan.total, empty_because=PULLED if plan.inject == "pull" else UNWANTED)
    try:
        started = time.perf_counter()
        found = candidates(plan, recall, who, tools)
        made = assemble(plan, found, digest, tools.count_tokens)
        made = replace(made, receipt="r" + new_id(tools.clock())[1:], fingerprint=plan.fingerprint)
        _leave_receipt(made, plan, found, keep, started)
        return made
    except (Invalid, OutOfScope):
        raise
    except Exception as problem:  # a turn without memory is better than no turn
        return Context("", budget=plan.total, empty_because=_failed(problem))


def _failed(problem: Exception) -> str:
    """What the caller is told of a failure; the details are logged."""
    log.warning("no memory for this prompt: %s", problem, exc_info=not isinstance(problem, MemoristError))
    what = problem if isinstance(problem, MemoristError) else type(problem).__name__
    return f"memory failed, and the prompt goes on without it: {what}"


def _leave_receipt(made: Context, plan: Plan, found: "Candidates", keep: Keep, started: float) -> None:
    """Logs the exact text and the memories shown, before the caller gets them."""
    shown = {hit.record.id: round(hit.score, 6) for hit in made.items}
    if made.items:  # a reported contradiction names both sides
        told = (record.id for pair in found.contradictions for record in (pair.a, pair.b))
        shown |= {id: 0.0 for id in told if id not in shown}
    by = {item.record.id: item.lane for item in found.all}
    answer = Recall(plan.wish.query, made.items, made.empty_because, (), plan.scopes, made.receipt)
    took = (time.perf_counter() - started) * 1000
    keep(answer, took, tuple(shown.items()), rendered(made, by))


# ---------------------------------------------------------------- fitting the budget


def assemble(plan: Plan, found: "Candidates", digest: Digest, count: TokenCounter) -> Context:
    """The context, without its receipt."""
    if not found.all:
        because = found.empty_because or "nothing matches this question"
        return Context("", budget=plan.total, empty_because=because, skipped=found.skipped)
    style = plan.style
    room = max(0, plan.total - frame_cost(style, found.all, count))
    found = _with_latest_fitted(plan, found, room, count)
    everything = found.all
    written = {item.record.id: style.item(item) for item in everything}
    costs = {id: count(text) for id, text in written.items()}

    def make(steady: Sequence[Item], loose: Sequence[Item], told: Sequence[Contradiction]) -> Page:
        return page(style, steady, loose, told, digest, lambda item: written[item.record.id])

    told = sum(count(style.contradiction(pair)) for pair in found.contradictions)
    packed = lanes.pack(room, told, plan.lanes, found.lanes, found.protected, costs)
    done, tokens = _fitted(plan.total, packed.items, found.contradictions, make, count)
    shown = {item.record.id for item in done.items}
    return Context(
        done.text,
        tuple(item.hit for item in done.items),
        tokens,
        plan.total,
        sum(costs[id] for id in shown) / max(1, sum(costs.values())),
        "",
        tuple(id for id in costs if id not in shown),
        None if shown else f"nothing that was found fits into {plan.total} tokens",
        done.stable,
        packed.lanes,
        skipped=found.skipped,
    )


def _with_latest_fitted(plan: Plan, found: "Candidates", room: int, count: TokenCounter) -> "Candidates":
    """The candidates with the latest summary cut to as many of its lines as its lane has room for: it says where a
    session left off."""
    if not found.lanes.get(SUMMARIES):
        return found
    place = [lane.name for lane in plan.lanes].index(SUMMARIES)
    tokens = lanes.quotas(room, plan.lanes)[place]
    latest, *others = found.lanes[SUMMARIES]
    longest = len(latest.body)
    while longest and (cost := count(plan.style.item(latest))) > tokens:
        longest = min(longest * 9 // 10, longest * tokens // cost)
        latest = replace(latest, body=body_of(latest.record, longest))
    return replace(found, lanes={**found.lanes, SUMMARIES: (latest, *others)}) if longest else found


def _fitted(
    total: int,
    items: Sequence[Item],
    contradictions: Sequence[Contradiction],
    make: Callable[..., Page],
    count: TokenCounter,
) -> tuple[Page, int]:
    """The page and its tokens. A counter may charge more for the whole than for its parts. Then the weakest recalled
    memory is dropped, then a reported contradiction, and only after those the last steady memory."""
    steady = [item for item in items if item.lane in STEADY]
    loose = [item for item in items if item.lane not in STEADY]
    loose.sort(key=lambda item: (item.protected, item.weight), reverse=True)  # protected items are dropped last
    told = list(contradictions)
    while True:
        shown = {item.record.id for item in (*steady, *loose)}
        told = [pair for pair in told if shown & {pair.a.id, pair.b.id}]
        done = make(steady, loose, told)
        tokens = count(done.text) if done.text else 0
        if tokens <= total:
            return done, tokens
        (loose or told or steady).pop()


# ---------------------------------------------------------------- candidates


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates of each lane, best first; the contradictions among them; and the reason if there are none."""

    lanes: Mapping[str, tuple[Item, ...]]
    protected: tuple[Item, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    empty_because: str | None = None
    skipped: tuple[str, ...] = ()  # what there was no time for, and what was not worth its tokens

    @property
    def all(self) -> list[Item]:
        return [*self.protected, *chain(*self.lanes.values())]


def candidates(plan: Plan, recall: Recaller, who: Access, tools: Tools) -> Candidates:
    """Steady lanes first, then the last turns, then what matches the query: families with a lane of their own before
    the general `recall` lane, so that it does not take their memories."""
    look, names = Look(plan, who, tools, tools.clock(), {}, {}, []), [lane.name for lane in plan.lanes]
    for name in filter(STEADY.__contains__, names):
        look.lanes[name] = look.new(name, look.steady(name))
    protected = look.protected()
    because = None
    if BRIDGE in names:
        look.lanes[BRIDGE] = look.new(BRIDGE, look.told())
    if plan.inject == "push":
        asked = [name for name in names if name not in STEADY and name != BRIDGE]
        because = look.asked(sorted(asked, key="recall".__eq__), recall)
    if plan.once:
        look.say_once()
    contradictions = look.contradictions()
    look.shape()
    lanes = {name: look.lanes.get(name, ()) for name in names}
    return Candidates(lanes, protected, contradictions, because, tuple(look.skipped))


@dataclass(frozen=True, slots=True)
class Look:
    """Collects the candidates of one context, lane by lane."""

    plan: Plan
    who: Access
    tools: Tools
    now: datetime
    lanes: dict[str, tuple[Item, ...]]
    taken: dict[str, Item]
    skipped: list[str]

    def new(self, lane: str, hits: Iterable[Hit], best: float | None = None) -> tuple[Item, ...]:
        """The hits that no lane has yet, as items in the order in which they enter. With the `best` score of a family
        they are weighed by importance and by how well they match."""
        items = [self._item(lane, hit, best) for hit in hits if self._is_for(lane, hit.record)]
        if lane not in STEADY:  # in a family's lane pins come first, if no pinned lane has taken them
            items.sort(key=lambda item: (best is None or not held_up(item.record), -item.weight))
        self.taken.update({item.record.id: item for item in items})
        return tuple(items)

    def _is_for(self, lane: str, record: Record) -> bool:
        role = self.plan.profile if lane not in STEADY else None
        return self._is_new(record) and (role is None or role.takes(record))

    def _is_new(self, record: Record) -> bool:
        return record.id not in self.taken and not self.plan.wish.shown(record)

    def _item(self, lane: str, hit: Hit, best: float | None = None) -> Item:
        plan, record = self.plan, hit.record
        score = hit.score if best is None else record.importance * (1 + RELEVANT * hit.score / best)
        weight = weighed(record, score, plan.profile, plan.wish.files, plan.wish.query, self.now)
        when = None if lane in STEADY else when_of(record, self.now)
        return Item(hit, lane, self._body(record, lane, plan.longest(record)), when, weight)

    def _body(self, record: Record, lane: str, longest: int | None) -> str:
        """The text to show. In a steady lane it does not depend on the query."""
        if longest is None or len(record.text) <= longest or lane in STEADY:
            return body_of(record, longest)
        return body_of(record, longest, [term for term in query_terms(self.plan.wish.query) if len(term) > 2])

    def steady(self, lane: str) -> list[Hit]:
        """The memories of a lane that does not depend on the query. Their order depends on stored fields and never on
        counters, so it stays the same until a memory changes."""
        if lane == SUMMARIES:
            return self._summaries()
        where = self._recallable(self.plan.scopes) if lane == "known" else self._where()
        for field, operator, value in SETTLED[lane]:
            where = where.also(field, operator, value)
        found = self._vouched(where, "importance", MOST_STEADY)
        if lane in UNASKED:
            found = [record for record in found if record.scope != GLOBAL or record.trust == "high"]
        return [Hit(r, 1.0, {lane: 1.0}) for r in sorted(found, key=lambda r: (-r.importance, r.number))]

    def _summaries(self) -> list[Hit]:
        latest = self._vouched(self._where().also("kind", "in", ("summary", "narrative")), "at", MOST_SUMMARIES)
        return [Hit(record, 1.0, {"summary": 1.0}) for record in latest]

    def told(self) -> list[Hit]:
        """What other agents noted or found in the session since this one last spoke there."""
        wish, tools, scope = self.plan.wish, self.tools, f"session/{self.plan.wish.session}"
        if scope not in self.plan.scopes:
            return []
        notes = self._where([scope]).also("home", "eq", self.who.home)
        return bridge.told(wish.agent, self._of_session(), notes, tools.store, tools.kinds)

    def _of_session(self) -> Where:
        """The turns of the session, within the scopes that this context reads."""
        said = Where(self.who).also("session", "eq", self.plan.wish.session).also("home", "in", (None, self.who.home))
        return said.also("scope", "in", self.plan.scopes).also("kind", "eq", "turn").also("state", "eq", "active")

    def protected(self) -> tuple[Item, ...]:
        """The system turn and the last few turns of the session, the newest first; if room is short, the oldest is dropped."""
        plan, find = self.plan, self.tools.store.find
        turns = plan.profile.turns if plan.profile else TURNS
        if plan.wish.session is None or not turns:
            return ()
        said = self._of_session()
        system = find(said.also("role", "eq", "system").also("trust", "ne", "low"), Order("number", ascending=True), 1)
        both = {record.id: record for record in (*system, *find(said, Order("number"), turns))}
        new = [record for id, record in both.items() if id not in self.taken]
        items = [self._item("turns", Hit(record, 1.0, {"protected": 1.0})) for record in new]
        made = tuple(replace(item, weight=-place, protected=True) for place, item in enumerate(items))
        self.taken.update({item.record.id: item for item in made})
        return made

    def asked(self, names: Sequence[str], recall: Recaller) -> str | None:
        """Fills these lanes with what is worth its tokens; returns the reason if nothing was found. If recall fails,
        they stay empty, and everything that does not depend on recall is still shown."""
        taken = dict(self.taken)
        try:
            because = self.recalled(names, recall)
            self.cut()
        except (Invalid, OutOfScope):
            raise
        except Exception as problem:
            because = _failed(problem)
            self.skipped.append(because)
            self.lanes.update(dict.fromkeys(names, ()))
            self.taken.clear()
            self.taken.update(taken)
        return because

    def recalled(self, names: Sequence[str], recall: Recaller) -> str | None:
        """Fills these lanes with what matches the query, or with the latest; returns the reason if nothing was found."""
        plan, again = self.plan, None
        documents: tuple[Hit, ...] = ()
        if plan.profile and plan.profile.policy == "recency":
            found, most = Recall(plan.wish.query, tuple(self._held(plan.scopes, "at"))), MOST_HITS
        else:
            most = plan.limit
            asked = min(MOST_HITS, most + min(len(self.taken), ASIDE))
            found, documents = recall(None, asked, "memory"), self._documents(recall)
            # Other scopes may have crowded out those of a family. Then each scope is searched alone, if there is time.
            crowded = len(found.hits) >= asked and len(plan.scopes) > 1
            again = recall if crowded and self._has_time("scopes by themselves") else None
        for name in names:
            if name != "recall":
                self.lanes[name] = self._of_family(name, (*found.hits, *documents), again)
            else:
                hits = [hit for hit in found.hits if self._is_new(hit.record)]
                self.lanes[name] = self.new(name, (*hits[:most], *documents))
        return found.empty_because

    def cut(self) -> None:
        """Removes from each lane what is not worth its tokens there, and reports it as skipped."""
        for lane in self.plan.lanes:
            if lane.name not in STEADY and (lane.least or lane.of_best):
                self._cut(lane)

    def _cut(self, lane: Lane) -> None:
        plan, items = self.plan, self.lanes[lane.name]
        quota = lanes.quotas(plan.total, plan.lanes)[plan.lanes.index(lane)]
        costs = [self.tools.count_tokens(item.body) for item in items]
        kept, lost = lanes.earning(lane, items, costs, quota, plan.wish.min_relevance or 0.0)
        self.lanes[lane.name] = tuple(kept)
        for item in lost:
            del self.taken[item.record.id]
        if lost:
            self.skipped.append(f"{lane.name}: {_listed(lost)} would not earn the tokens; min_relevance=0 shows them")

    def _has_time(self, what: str) -> bool:
        """Whether there is time for this; if not, it is reported as skipped."""
        if self.plan.hurried or self.tools.over():
            self.skipped.append(what)
            return False
        return True

    def _documents(self, recall: Recaller) -> tuple[Hit, ...]:
        """The documents that match. Costs almost nothing if there are none."""
        kinds, who, scopes = self.plan.wish.kinds, self.who, self.plan.scopes
        if not (kinds is None or "document" in kinds) or not self._has_time("documents"):
            return ()
        shelves = [Shelf(who.space, scope, LAYER, home) for scope in scopes for home in who.homes_of(scope)]
        some = self.tools.store.vocabulary("", shelves, Where(who), 1)
        return recall(None, min(self.plan.limit, DOCUMENTS), "sources").hits if some else ()

    def _of_family(self, family: str, found: Sequence[Hit], again: Recaller | None) -> tuple[Item, ...]:
        """The hits of a family, plus those of a recall in this family alone if other scopes filled the answer, plus its
        most important memories, which enter while there is room."""
        here = self.plan.scopes_of(family)
        hits = [hit for hit in found if hit.record.scope in here]
        if again and len(hits) < len(found):
            hits += [hit for scope in here for hit in again(scope, self.plan.limit, "memory")]
        best = max((hit.score for hit in hits), default=0.0) or 1.0
        both = {hit.record.id: hit for hit in (*self._held(here, "importance"), *self._pins_of(here), *hits)}
        return self.new(family, both.values(), best)

    def _pins_of(self, scopes: Sequence[str]) -> list[Hit]:
        """The pins of these scopes, if there is no lane for pins."""
        return [] if PINNED in self.lanes else [hit for hit in self.steady(PINNED) if hit.record.scope in scopes]

    def _held(self, scopes: Sequence[str], order: str) -> list[Hit]:
        """The most important or the latest memories of these scopes, whatever the query, as many as the tokens may
        hold. Memories that nobody vouches for are included only in a task or a session, where they were said for it."""
        most = max(FEWEST_HITS, min(MOST_HITS, self.plan.total // LEAST))
        own = [scope for scope in scopes if family_of(scope) in OWN]
        others = [scope for scope in scopes if scope not in own]
        found = self.tools.store.find(self._where(own), Order(order), most) if own else []
        if others:
            found = [*found, *self._vouched(self._recallable(others), order, most)]
        return [Hit(record, 0.0, {family_of(record.scope): 1.0}) for record in found if self._holds(record)]

    def _recallable(self, scopes: Sequence[str]) -> Where:
        """The filter for what any query could find in these scopes."""
        where = self._where(scopes)
        if self.plan.wish.kinds is None:
            for kind in (kind for kind in self.tools.kinds.values() if not kind.recalled):
                where = where.also("kind", "ne", kind.name)
        return where

    def _where(self, scopes: Sequence[str] | None = None) -> Where:
        """The caller's filter, in these scopes."""
        plan = self.plan
        here = replace(self.who, reads=tuple(plan.scopes if scopes is None else scopes))  # only these are searched
        where = Where.of(here, plan.wish.where)
        where = where if where.speaks_of("state") else where.also("state", "eq", "active")
        return where if plan.wish.kinds is None else where.also("kind", "in", tuple(plan.wish.kinds))

    def _vouched(self, where: Where, order: str, most: int) -> list[Record]:
        """Only memories that someone vouches for. Text from a tool, a file or an import may answer a query, but is not
        shown as settled until a person confirms it."""
        found = self.tools.store.find(where.also("verified", "eq", True), Order(order), most)
        return [record for record in found if self._holds(record)]

    def _holds(self, record: Record) -> bool:
        start, end = record.times.valid_from, record.times.valid_to
        return (start is None or start <= self.now) and (end is None or self.now < end)

    def say_once(self) -> None:
        """Removes memories that repeat a better one, or one that somebody vouches for; steady lanes are not touched."""
        loose = sorted(self._in(steady=False), key=lambda item: (not vouched_for(item.record), -item.weight))
        steady = self._in(steady=True)
        told = repeated((item.record.text, item.record.files) for item in (*steady, *loose))[len(steady) :]
        again = {item.record.id for item, other in zip(loose, told, strict=True) if other is not None}
        for name in self.lanes:
            self.lanes[name] = tuple(item for item in self.lanes[name] if item.record.id not in again)
        for id in again:
            del self.taken[id]

    def _in(self, steady: bool) -> list[Item]:
        return [item for name, items in self.lanes.items() if (name in STEADY) is steady for item in items]

    def shape(self) -> None:
        """Applies the design's compression: shows the strongest memories, at the beginning and the end, whole, and
        those between short."""
        wanted = self.plan.compression
        ends, loose = 2 * wanted.head_tail_preserve, self._in(steady=False)
        if len(loose) <= ends or not (ends or wanted.middle_compress):
            return
        ranked = sorted(loose, key=lambda item: -item.weight)
        whole = [item for item in ranked[:ends] if len(item.record.text) * ends <= WHOLE * self.plan.total]
        longest: dict[str, int | None] = {item.record.id: None for item in whole}
        if wanted.middle_compress:
            longest |= {item.record.id: MODES["cheap"].longest for item in ranked[ends:]}
        self._resize(longest)

    def _resize(self, longest: Mapping[str, int | None]) -> None:
        """Shows these memories, by id, at other lengths."""
        for name, items in self.lanes.items():
            self.lanes[name] = tuple(
                replace(item, body=self._body(item.record, name, longest[item.record.id]))
                if item.record.id in longest
                else item
                for item in items
            )

    def contradictions(self) -> tuple[Contradiction, ...]:
        """Open contradictions among the candidates, two at most. The other side becomes a candidate right after its partner."""
        links = self.tools.store.links(Where(self.who), list(self.taken)) if self.taken else []
        pairs = [(link.a, link.b) for link in links if link.kind == "contradicts"]
        known = self._active({end for pair in pairs for end in pair}) if pairs else {}
        rank = {id: place for place, id in enumerate(self.taken)}
        pairs.sort(key=lambda pair: min(rank.get(end, len(rank)) for end in pair))
        open = [Contradiction(known[a], known[b]) for a, b in pairs if a in known and b in known][:MOST_CONTRADICTIONS]
        for pair in open:
            self._add_other(pair)
        return tuple(open)

    def _active(self, ids: Iterable[str]) -> dict[str, Record]:
        found = self.tools.store.get(list(ids), Where(self.who).also("state", "eq", "active"))
        return {record.id: record for record in found if self._holds(record)}

    def _add_other(self, pair: Contradiction) -> None:
        """Puts the missing side right after its partner, unless the prompt has it already. If the partner is in a
        steady lane, it goes into the last loose lane."""
        partner = self.taken[pair.a.id if pair.a.id in self.taken else pair.b.id]
        new = [record for record in (pair.a, pair.b) if self._is_new(record)]
        loose = [name for name in self.lanes if name not in STEADY]
        if not new or not loose:
            return
        lane = partner.lane if partner.lane in loose else loose[-1]
        other = self._item(lane, Hit(new[0], partner.hit.score, {"contradicts": 1.0}))
        items = list(self.lanes[lane])
        items.insert(items.index(partner) + 1 if partner in items else 0, other)
        self.lanes[lane] = tuple(items)
        self.taken[other.record.id] = other


def _listed(items: Sequence[Item]) -> str:
    """A few of these by number, and how many more there are."""
    more = f" and {len(items) - MOST_LISTED} more" if len(items) > MOST_LISTED else ""
    return ", ".join(f"[{item.record.number}]" for item in items[:MOST_LISTED]) + more
