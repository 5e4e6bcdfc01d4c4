"""From a query to text for a prompt: the plan, the candidates of each lane, what fits the budget, and a receipt.

Recall is passed in as an argument and runs once for the query, and once more among documents, if there are any. If its answer
was full, it also runs for the scopes of each family that has a lane of its own, so that a thousand memories of one family
cannot crowd out those of another. A family's lane holds more than what matches: the most important memories of the family are
candidates for every query. The budget applies to the rendered text, including the frame and the marks, because that is what a
model is charged for.

Whether there is an answer is decided by recall alone: what it found first is in the prompt. A prompt must not fail because
memory did. Wrong arguments are raised, because the caller has to change them. If recall fails, pins and preferences are shown
without it. Any other failure gives an empty context that says why, and the details are logged.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import field, replace
from datetime import datetime
from itertools import chain, combinations
from typing import Any, cast, get_args

from memorist import checks
from memorist.access import GLOBAL, Access, family_of
from memorist.design import BRIDGE, LANES, MOST_HITS, PINNED, STEADY, Compression, Design, Inject, Lane, Tools
from memorist.errors import Invalid, MemoristError, OutOfScope
from memorist.kinds import DOCUMENTS as LAYER
from memorist.lazy import dataclass
from memorist.prompt import bridge, lanes
from memorist.prompt.modes import MODES, NONE, TURNS, Mode, Profile, named, profile_named, weighed
from memorist.prompt.receipt import fingerprint, rendered
from memorist.prompt.render import (
    COURSES,
    AnyStyle,
    Contradiction,
    Digest,
    Item,
    Page,
    body_of,
    frame_cost,
    page,
    style_of,
    when_of,
)
from memorist.records import NEWER, Context, Hit, Recall, Record, new_id, stated_key
from memorist.scoring import held_up, vouched_for
from memorist.store.nouns import Shelf
from memorist.store.where import Order, Where
from memorist.text.restated import earlier_duplicates
from memorist.text.tokens import TokenCounter
from memorist.text.triggers import FIRED
from memorist.text.visible import quoted
from memorist.text.words import query_terms, terms

PULLED = "this design puts nothing into a prompt by itself; ask with `recall`, or set `inject` to push"
NO_MATCH = "nothing matches this question"
UNWANTED = "the profile none puts nothing into a prompt"
MOST_STEADY = 1000  # memories that a steady lane reads
STANDING = ("decision", "preference", "warning", "convention", "correction", "instruction")
SUMMARIES = "summaries"  # the lane that says where earlier sessions left off
SETTLED: Mapping[str, tuple[tuple[str, str, Any], ...]] = {  # the filters of the steady lanes
    PINNED: (("pinned", "eq", True), ("kind", "ne", "turn")),  # a turn is never shown as settled
    # What holds here: what was decided, is preferred or must not be done, also where a person only typed it so far.
    "standing": (("kind", "in", STANDING), ("passed_on", "eq", True)),
    "decisions": (("kind", "eq", "decision"),),
    "preferences": (
        ("kind", "in", ("preference", "instruction")),
        ("origin", "eq", "user"),
        ("status", "eq", "confirmed"),
    ),
    "conventions": (("kind", "eq", "convention"),),
    "known": (("kind", "ne", "summary"),),  # all that a query would find and no earlier steady lane has
    SUMMARIES: (("kind", "in", COURSES),),
}
# Everybody may write these kinds for every project. So of global memories these lanes take only what the user said
# (remember/authority.py).
UNASKED = ("standing", "decisions", "known")
FEWEST_HITS = 20  # recalled for a query unless the design or the caller says otherwise
USUAL, LEAST = 75, 10  # tokens of a memory in a prompt: usually, and at least
HURRIED_HITS = 3  # a hurried context recalls a third of the hits
DOCUMENTS = 5  # documents recalled beside memories
WHOLE = 3  # characters per token: an estimate, so that memories shown whole leave room for each other
PIECE = 2  # characters of a document per token of the budget, so that it takes half of it or less
ASIDE = 20  # extra hits to recall, as steady lanes may have taken some
RELEVANT = 3  # how much more a match counts than importance, for memories of a family
COMPARED = 30  # memories that are compared to find those about the same thing
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
    min_relevance: float | None = None  # what recall asks of a hit; then no lane asks for more
    agent: str | None = None
    shown: Callable[[Record], bool] = lambda record: False  # whether the prompt already has it


def among(ids: Set[str]) -> Callable[[Record], bool]:
    """Tests whether a memory has one of these ids."""
    return lambda record: record.id in ids


@dataclass(frozen=True, slots=True)
class Plan:
    """The wish with its arguments checked and completed by the design."""

    wish: Wish
    total: int  # tokens
    style: AnyStyle
    mode: Mode
    profile: Profile | None
    inject: Inject
    scopes: tuple[str, ...]
    lanes: tuple[Lane, ...]
    fingerprint: Mapping[str, Any]
    limit: int  # hits of one recall
    compression: Compression
    hurried: bool  # recent recalls were slow
    once: bool  # show only one of near duplicates

    def longest(self, record: Record) -> int | None:
        """How many characters of it are shown; None: all."""
        ratio, most, short = self.compression.ratio, self.mode.longest, MODES["cheap"].longest or 0
        if most is not None and record.kind == "document":  # a piece may be longer than the whole budget
            most = min(most, max(short, PIECE * self.total))
        part = None if ratio is None else max(short, lanes.part(ratio, len(record.text)))
        return min((each for each in (most, part) if each is not None), default=None)


def plan_of(
    wish: Wish,
    design: Design,
    most: int | None,
    scopes: tuple[str, ...],
    kinds: Sequence[str] | None,
    hurried: bool = False,
) -> Plan:
    """The plan for a wish under this design, in these scopes and for these kinds. Wrong arguments raise here. `most` is the
    budget chosen for the project; a profile's own replaces it, and the caller's replaces both."""
    profile = profile_named(wish.profile)
    mode = named(design.compression.mode if wish.mode is None else wish.mode, MODES, "mode")
    usual = design.budget if most is None else replace(design.budget, tokens=most, most=most)
    usual = usual if profile is None or profile.tokens is None else replace(usual, tokens=profile.tokens)
    total = lanes.total(wish.budget, wish.remaining, wish.window, wish.reserve, usual)
    inject = design.inject if wish.inject is None else wish.inject
    if inject not in get_args(Inject):
        raise Invalid(f"there is no inject {quoted(inject)}; it is one of {', '.join(get_args(Inject))}")
    limit = usual.hits or max(FEWEST_HITS, min(MOST_HITS, total // USUAL))  # as many as the tokens may hold
    limit = max(min(limit, DOCUMENTS), limit // HURRIED_HITS) if hurried else limit
    limit = limit if wish.limit is None else checks.whole(wish.limit, "limit", 1, MOST_HITS)

    files, split = checks.labels(wish.files, "files"), _lanes(wish, design, scopes, profile, inject)
    asked = wish.where.get("tags", ()) if isinstance(wish.where, Mapping) else ()
    given = asked.values() if isinstance(asked, Mapping) else (asked,)
    tags = chain.from_iterable(each for each in given if isinstance(each, list | tuple | set))
    kind = fingerprint(
        wish.query, design=design.name, task=wish.task, files=list(files), kinds=list(kinds or ()), mode=mode.name,
        tags=sorted({tag for tag in tags if isinstance(tag, str)}), profile=profile.name if profile else None,
    )  # fmt: skip
    once = any(getattr(stage, "once", False) for stage in design.recall)
    return Plan(
        replace(wish, files=files, kinds=kinds), lanes.part(mode.share, total), style_of(wish.style, wish.client), mode,
        profile, cast(Inject, inject), scopes, split, kind, limit, design.compression, hurried, once,
    )  # fmt: skip


def _lanes(
    wish: Wish, design: Design, scopes: tuple[str, ...], profile: Profile | None, inject: str
) -> tuple[Lane, ...]:
    """The design's lanes with the shares of the caller, else those of the profile. A family that is not read needs no floor,
    and where nothing is recalled, there are no lanes for it."""
    shares = (profile.shares if profile else {}) if wish.shares is None else wish.shares
    families = {family_of(scope) for scope in scopes}
    split = lanes.shared(design.lanes, shares)
    split = tuple(lane if lane.name in (*LANES, *families) else replace(lane, floor=0) for lane in split)
    if not families <= (names := {lane.name for lane in split}) and "recall" not in names:
        split = (*split, Lane("recall", 1.0))  # for scopes that no lane would take
    split = bridge.bridged(split, wish.session, wish.agent)
    if inject == "core":
        split = tuple(lane for lane in split if lane.name in (*STEADY, BRIDGE))
    if wish.min_relevance is not None:
        checks.share(wish.min_relevance, "min_relevance")
        split = tuple(replace(lane, of_above=0.0) for lane in split)
    return split


# ---------------------------------------------------------------- the context


def context(plan: Plan, recall: Recaller, keep: Keep, who: Access, tools: Tools, digest: Digest) -> Context:
    """The context for this plan. Failures are reported in `empty_because`; only wrong arguments are raised. A receipt with the
    exact text and the memories shown is logged before the caller gets them."""
    if plan.inject == "pull" or plan.wish.profile == NONE:
        return Context("", budget=plan.total, empty_because=PULLED if plan.inject == "pull" else UNWANTED)
    try:
        started = time.perf_counter()
        found = candidates(plan, recall, who, tools)
        made = assemble(plan, found, digest, tools.count_tokens)
        made = replace(made, receipt="r" + new_id(tools.clock())[1:], fingerprint=plan.fingerprint)
        shown = {hit.record.id: round(hit.score, 6) for hit in made.items}
        for pair in found.contradictions if made.items else ():  # a reported contradiction names both sides
            shown = {pair.a.id: 0.0, pair.b.id: 0.0} | shown
        answer = Recall(plan.wish.query, made.items, made.empty_because, (), plan.scopes, made.receipt)
        log_entry = rendered(made, {item.record.id: item.lane for item in found.all})
        keep(answer, (time.perf_counter() - started) * 1000, tuple(shown.items()), log_entry)
        return made
    except (Invalid, OutOfScope):
        raise
    except Exception as problem:  # a turn without memory is better than no turn
        return Context("", budget=plan.total, empty_because=_failure(problem))


def _failure(problem: Exception) -> str:
    """What the caller is told of a failure; the details are logged."""
    log.warning("no memory for this prompt: %s", problem, exc_info=not isinstance(problem, MemoristError))
    what = problem if isinstance(problem, MemoristError) else type(problem).__name__
    return f"memory failed, and the prompt goes on without it: {what}"


def assemble(plan: Plan, found: "Candidates", digest: Digest, count: TokenCounter) -> Context:
    """The context, without its receipt. A counter may charge more for the whole than for its parts. Then the weakest recalled
    memory is dropped, then a reported contradiction, and only after those the last steady memory."""
    style = plan.style
    if not found.all:
        return Context("", budget=plan.total, empty_because=found.empty_because, skipped=tuple(found.skipped))
    room = max(0, plan.total - frame_cost(style, found.all, count))
    found.fit_latest_summary(room)
    written = {item.record.id: style.item(item) for item in found.all}
    costs = {id: count(text) for id, text in written.items()}
    told = list(found.contradictions)
    reserved = sum(count(style.contradiction(pair)) for pair in told)
    items, spent = lanes.pack(room, reserved, plan.lanes, found.lanes, found.protected, costs)

    steady = [item for item in items if item.lane in STEADY]
    loose = [item for item in items if item.lane not in STEADY]
    loose.sort(key=lambda item: (item.protected, item.weight), reverse=True)  # protected items are dropped last
    done, tokens = Page("", 0, ()), 0
    while steady or loose:
        ids = {item.record.id for item in (*steady, *loose)}
        told = [pair for pair in told if ids & {pair.a.id, pair.b.id}]
        done = page(style, steady, loose, told, digest, lambda item: written[item.record.id])
        tokens = count(done.text)
        if tokens <= plan.total:
            break
        (loose or told or steady).pop()
        done, tokens = Page("", 0, ()), 0
    shown = {item.record.id for item in done.items}
    return Context(
        done.text,
        tuple(item.hit for item in done.items),
        tokens,
        plan.total,
        sum(costs[id] for id in shown) / max(1, sum(costs.values())),
        left_out=tuple(id for id in costs if id not in shown),
        empty_because=None if shown else f"nothing that was found fits into {plan.total} tokens",
        stable=done.stable,
        lanes=spent,
        skipped=tuple(found.skipped),
    )


# ---------------------------------------------------------------- candidates


def candidates(plan: Plan, recall: Recaller, who: Access, tools: Tools) -> "Candidates":
    """Steady lanes first, then the last turns, then what matches the query: families with a lane of their own before
    the general `recall` lane, so that it does not take their memories."""
    names = [lane.name for lane in plan.lanes]
    found = Candidates(plan, who, tools, tools.clock(), dict.fromkeys(names, ()))
    for name in filter(STEADY.__contains__, names):
        found.add(name, found.steady(name))
    found.protect_turns()
    if BRIDGE in names:
        found.add(BRIDGE, found.notes_of_others())
    if plan.inject == "push":
        found.ask(sorted((name for name in names if name not in (*STEADY, BRIDGE)), key="recall".__eq__), recall)
    if plan.once:
        found.drop_repetitions()
    found.date_pairs()
    found.add_contradictions()
    found.compress()
    return found


@dataclass(slots=True)
class Candidates:
    """The candidates of one context, lane by lane, best first."""

    plan: Plan
    who: Access
    tools: Tools
    now: datetime
    lanes: dict[str, tuple[Item, ...]]
    taken: set[str] = field(default_factory=set)  # ids of those that a lane has
    protected: tuple[Item, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    shown_weight: float = 0.0  # of hits that the prompt has already: what stands beside them must add enough too
    empty_because: str = NO_MATCH
    skipped: list[str] = field(default_factory=list)  # what there was no time for, and what was not worth its tokens

    @property
    def all(self) -> list[Item]:
        return [*self.protected, *chain(*self.lanes.values())]

    @property
    def loose(self) -> list[Item]:
        """What depends on the query."""
        return list(chain(*(items for name, items in self.lanes.items() if name not in STEADY)))

    def add(self, lane: str, hits: Iterable[Hit], best: float | None = None) -> None:
        """Fills a lane with the hits that no lane has yet, in the order in which they enter. With the `best` score of a family
        they are weighed by importance and by how well they match, and pins come first, if no pinned lane has taken them."""
        plan, role, items = self.plan, self.plan.profile if lane not in STEADY else None, []
        for hit in hits:
            record = hit.record
            if self._is_new(record) and (role is None or role.takes(record)):
                score = hit.score if best is None else record.importance * (1 + RELEVANT * hit.score / best)
                weight = weighed(record, score, plan.profile, plan.wish.files, plan.wish.query, self.now)
                items.append(self._item(lane, hit, weight))
        if lane not in STEADY:
            items.sort(key=lambda item: (best is None or not held_up(item.record), -item.weight))
        self.lanes[lane] = tuple(items)
        self.taken |= {item.record.id for item in items}

    def _is_new(self, record: Record) -> bool:
        return record.id not in self.taken and not self.plan.wish.shown(record)

    def _item(self, lane: str, hit: Hit, weight: float) -> Item:
        body = self._body(hit.record, lane, self.plan.longest(hit.record))
        return Item(hit, lane, body, None if lane in STEADY else when_of(hit.record, self.now), weight)

    def _body(self, record: Record, lane: str, longest: int | None) -> str:
        """The text to show. In a steady lane it does not depend on the query."""
        if longest is None or len(record.text) <= longest or lane in STEADY:
            return body_of(record, longest)
        return body_of(record, longest, [term for term in query_terms(self.plan.wish.query) if len(term) > 2])

    # ------------------------------------------------------------ what does not depend on the query

    def steady(self, lane: str) -> list[Hit]:
        """The memories of a steady lane. Their order depends on stored fields and never on counters, so it stays the same until
        a memory changes."""
        where = self._where(any_kind=lane != "known")
        for name, operator, value in SETTLED[lane]:
            where = where.also(name, operator, value)
        if lane == SUMMARIES:
            summaries = (
                replace(each, text=_progress(each.text) if "- user:" in each.text else each.text)
                for each in self._verified(where, "at", 10)
            )
            return [Hit(record, 1.0, {"summary": 1.0}) for record in summaries if record.text]
        found = self._verified(where, "importance", MOST_STEADY)
        if lane in UNASKED:
            found = [record for record in found if record.scope != GLOBAL or record.trust == "high"]
        if lane == "standing":  # what an agent stated and nobody confirmed may answer a query, but rules nothing
            found = [each for each in found if each.status == "confirmed" or each.origin in ("user", "recorded")]
        found = self._current(found)
        return [Hit(r, 1.0, {lane: 1.0}) for r in sorted(found, key=lambda r: (-r.importance, r.number))]

    def _current(self, records: Sequence[Record]) -> list[Record]:
        """Those that no newer active memory contradicts or may replace."""
        there = {record.id: record for record in records}
        links = self.tools.store.links(Where(self.who).also("state", "eq", "active"), list(there)) if there else []
        pairs = [{link.a, link.b} for link in links if link.kind == "contradicts" or link.evidence == NEWER]
        outside = [id for pair in pairs for id in pair - there.keys()]
        known = there | {r.id: r for r in (self.tools.store.get(outside, Where(self.who)) if outside else ())}
        both = [sorted((known[id] for id in pair), key=stated_key) for pair in pairs if pair <= known.keys()]
        outdated = {older.id for older, newer in both if vouched_for(newer) >= vouched_for(older) and not older.pinned}
        return [record for record in records if record.id not in outdated]

    def fit_latest_summary(self, room: int) -> None:
        """Cuts the latest summary to as many of its lines as its lane has room for: it says where a session left off."""
        if items := self.lanes.get(SUMMARIES):
            place, latest, count = list(self.lanes).index(SUMMARIES), items[0], self.tools.count_tokens
            tokens, longest = lanes.quotas(room, self.plan.lanes)[place], len(items[0].body)
            while longest and (cost := count(self.plan.style.item(latest))) > tokens:
                longest = min(longest * 9 // 10, longest * tokens // cost)
                latest = replace(latest, body=body_of(latest.record, longest))
            if longest:
                self.lanes[SUMMARIES] = (latest, *items[1:])

    def _turns(self) -> Where:
        """The turns of the session, within the scopes that this context reads."""
        turns = Where(self.who).also("session", "eq", self.plan.wish.session).also("home", "in", (None, self.who.home))
        return turns.also("scope", "in", self.plan.scopes).also("kind", "eq", "turn").also("state", "eq", "active")

    def protect_turns(self) -> None:
        """The system turn and the last few turns of the session, the newest first; if room is short, the oldest is dropped."""
        plan, find, turns = self.plan, self.tools.store.find, self._turns()
        most = plan.profile.turns if plan.profile else TURNS
        if plan.wish.session is None or not most:
            return
        system = find(turns.also("role", "eq", "system").also("trust", "ne", "low"), Order("number", ascending=True), 1)
        both = {record.id: record for record in (*system, *find(turns, Order("number"), most))}
        new = (record for record in both.values() if record.id not in self.taken)
        items = [self._item("turns", Hit(record, 1.0, {"protected": 1.0}), 0.0) for record in new]
        self.taken |= {item.record.id for item in items}
        self.protected = tuple(replace(item, weight=-place, protected=True) for place, item in enumerate(items))

    def notes_of_others(self) -> list[Hit]:
        """What other agents noted or found in the session since this one last spoke there."""
        wish, scope = self.plan.wish, f"session/{self.plan.wish.session}"
        if scope not in self.plan.scopes:
            return []
        notes = self._where([scope]).also("home", "eq", self.who.home)
        return bridge.notes_of_others(wish.agent, self._turns(), notes, self.tools.store, self.tools.kinds)

    # ------------------------------------------------------------ what matches the query

    def ask(self, names: Sequence[str], recall: Recaller) -> None:
        """Fills these lanes with what matches the query. If recall fails, they stay empty, and everything that does not depend
        on recall is still shown."""
        try:
            self._recall(names, recall)
            for lane in self.plan.lanes:
                if lane.name in names:
                    self._keep_best(lane)
        except (Invalid, OutOfScope):
            raise
        except Exception as problem:
            self.empty_because = _failure(problem)
            self.skipped.append(self.empty_because)
            self.lanes.update(dict.fromkeys(names, ()))

    def _recall(self, names: Sequence[str], recall: Recaller) -> None:
        """Fills these lanes with what was found, or with the latest. If the answer was full, other scopes may have crowded out
        those of a family; then each of its scopes is searched alone, if there is time."""
        plan, most, again, documents = self.plan, self.plan.limit, False, Recall("")
        if plan.profile and plan.profile.policy == "recency":
            found, most = Recall(plan.wish.query, tuple(self._held(plan.scopes, "at"))), MOST_HITS
        else:
            wanted = min(MOST_HITS, most + min(len(self.all), ASIDE))
            found = recall(None, wanted, "memory")
            if (plan.wish.kinds is None or "document" in plan.wish.kinds) and self._has_time("documents"):
                shelves = [Shelf(self.who.space, s, LAYER, home) for s in plan.scopes for home in self.who.homes_of(s)]
                if self.tools.store.vocabulary("", shelves, Where(self.who), 1):
                    documents = recall(None, min(most, DOCUMENTS), "sources")
            again = len(found.hits) >= wanted and len(plan.scopes) > 1 and self._has_time("scopes by themselves")
        self.empty_because = found.empty_because or NO_MATCH
        for name in names:
            if name == "recall":
                before = [hit for hit in found.hits if not self._is_new(hit.record)]  # the prompt has these
                shown, self.shown_weight = (
                    {id for hit in before for id in hit.replaces},
                    sum(hit.score for hit in before),
                )
                new = [hit for hit in found.hits if self._is_new(hit.record) and hit.record.id not in shown]
                self.add(name, (*new[:most], *documents.hits))
                continue
            here = [scope for scope in plan.scopes if family_of(scope) == name]
            hits = [hit for hit in (*found.hits, *documents.hits) if hit.record.scope in here]
            if again and len(hits) < len(found.hits) + len(documents.hits):
                hits += [hit for scope in here for hit in recall(scope, most, "memory")]
            self._add_family(name, here, hits)

    def _add_family(self, name: str, scopes: Sequence[str], hits: Sequence[Hit]) -> None:
        """Fills the lane of a family: its most important memories and its pins are candidates too."""
        pins = [] if PINNED in self.lanes else [hit for hit in self.steady(PINNED) if hit.record.scope in scopes]
        both = {hit.record.id: hit for hit in (*self._held(scopes, "importance"), *pins, *hits)}
        self.add(name, both.values(), max((hit.score for hit in hits), default=0.0) or 1.0)

    def _has_time(self, what: str) -> bool:
        """Whether there is time for this; if not, it is reported as skipped."""
        if self.plan.hurried or self.tools.over():
            self.skipped.append(what)
            return False
        return True

    def _keep_best(self, lane: Lane) -> None:
        """Keeps the best, since recall decided that there is an answer, and each further memory that adds enough to those above
        it. Facts come before summaries, and a summary stays only with a word of the query that no fact has: it mentions much,
        and what says it is shorter. Pins and memories brought up by triggers always stay."""
        facts_first = lane.name == "recall"
        items = sorted(self.lanes[lane.name], key=lambda item: facts_first and item.record.kind in COURSES)
        asked, kept, lost = set(query_terms(self.plan.wish.query)), list[Item](), list[Item]()
        above, lowest, words_of_facts = self.shown_weight if facts_first else 0.0, None, set[str]()
        for item in items:
            is_summary = facts_first and item.record.kind in COURSES
            words = asked & set(terms(item.record.text)) if facts_first else asked
            enough = item.weight >= lane.of_above * above
            if is_summary and lowest is not None:
                enough = enough and not words <= words_of_facts
                item = replace(item, weight=min(item.weight, lowest))
            always = held_up(item.record) or FIRED in item.hit.why
            (kept if always or enough else lost).append(item)
            if enough and not always:
                above += item.weight
            if enough and not is_summary:
                lowest, words_of_facts = item.weight, words_of_facts | words
        self.lanes[lane.name] = tuple(kept)
        if lost:
            listed = ", ".join(f"[{item.record.number}]" for item in lost[:5])
            more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
            self.skipped.append(f"{lane.name}: {listed}{more} would add too little; min_relevance=0 shows them")

    def _held(self, scopes: Sequence[str], order: str) -> list[Hit]:
        """The most important or the latest memories of these scopes, whatever the query, as many as the tokens may hold.
        Unverified ones are included only in a task or a session, where they were said for it."""
        most = max(FEWEST_HITS, min(MOST_HITS, self.plan.total // LEAST))
        own = [scope for scope in scopes if family_of(scope) in OWN]
        others = [scope for scope in scopes if scope not in own]
        found = self.tools.store.find(self._where(own), Order(order), most) if own else []
        found = [record for record in found if self._is_valid(record)]
        if others:
            found += self._verified(self._where(others, any_kind=False), order, most)
        return [Hit(record, 0.0, {family_of(record.scope): 1.0}) for record in found]

    # ------------------------------------------------------------ filters

    def _where(self, scopes: Sequence[str] | None = None, any_kind: bool = True) -> Where:
        """The caller's filter, in these scopes; without `any_kind` only for what any query could find."""
        plan = self.plan
        here = replace(self.who, reads=tuple(plan.scopes if scopes is None else scopes))  # only these are searched
        where = Where.of(here, plan.wish.where)
        where = where if where.speaks_of("state") else where.also("state", "eq", "active")
        if plan.wish.kinds is not None:
            return where.also("kind", "in", tuple(plan.wish.kinds))
        for kind in self.tools.kinds.values():
            where = where if any_kind or kind.recalled else where.also("kind", "ne", kind.name)
        return where

    def _verified(self, where: Where, order: str, most: int) -> list[Record]:
        """Only verified memories: text from a tool, a file or an import may answer a query, but is not shown as settled until
        a person confirms it."""
        found = self.tools.store.find(where.also("verified", "eq", True), Order(order), most)
        return [record for record in found if self._is_valid(record)]

    def _is_valid(self, record: Record) -> bool:
        start, end = record.times.valid_from, record.times.valid_to
        return (start is None or start <= self.now) and (end is None or self.now < end)

    # ------------------------------------------------------------ what stands beside one another

    def _change(self, changed: Mapping[str, Item | None]) -> None:
        """Replaces these candidates, by id; None removes one."""
        for name, items in self.lanes.items():
            new = (changed.get(item.record.id, item) for item in items)
            self.lanes[name] = tuple(item for item in new if item is not None)

    def drop_repetitions(self) -> None:
        """Removes memories that repeat a better one, or a verified one; steady lanes are not touched."""
        loose = sorted(self.loose, key=lambda item: (not vouched_for(item.record), -item.weight))
        steady = list(chain(*(items for name, items in self.lanes.items() if name in STEADY)))
        others = earlier_duplicates((item.record.text, item.record.files) for item in (*steady, *loose))[len(steady) :]
        self._change({item.record.id: None for item, other in zip(loose, others, strict=True) if other is not None})

    def date_pairs(self) -> None:
        """Dates those of different days that are about the same thing: half of the words of one are those of the other."""
        best = sorted((item for item in self.loose if item.hit.score > 0), key=lambda item: -item.weight)[:COMPARED]
        read = [(item, item.record.times.stated.date(), set(query_terms(item.record.text))) for item in best]
        dated: dict[str, Item | None] = {}
        for (a, day, words), (b, other_day, other_words) in combinations(read, 2):
            shared = len(words & other_words)
            if day != other_day and shared > 1 and 2 * shared >= min(len(words), len(other_words)):
                dated[a.record.id] = replace(a, when=day.isoformat())
                dated[b.record.id] = replace(b, when=other_day.isoformat())
        self._change(dated)

    def add_contradictions(self) -> None:
        """Reports open contradictions among the candidates, two at most. The other side of one becomes a candidate right after
        its partner; if that is in a steady lane, first in the last loose lane."""
        places = {item.record.id: place for place, item in enumerate(self.all)}
        links = self.tools.store.links(Where(self.who), list(places)) if self.loose else []
        pairs = [(link.a, link.b) for link in links if link.kind == "contradicts"]
        if not pairs:
            return
        pairs.sort(key=lambda pair: min(places.get(end, len(places)) for end in pair))
        ends = self.tools.store.get(list(set(chain(*pairs))), Where(self.who).also("state", "eq", "active"))
        valid = {record.id: record for record in ends if self._is_valid(record)}
        open = [Contradiction(valid[a], valid[b]) for a, b in pairs if a in valid and b in valid]
        self.contradictions = tuple(open[:2])
        loose = [name for name in self.lanes if name not in STEADY]
        for pair in self.contradictions if loose else ():
            taken = {item.record.id: item for item in self.all}
            partner = taken[pair.a.id if pair.a.id in taken else pair.b.id]
            for record in (pair.a, pair.b):
                if record.id not in taken and not self.plan.wish.shown(record):
                    lane = partner.lane if partner.lane in loose else loose[-1]
                    items = list(self.lanes[lane])
                    other = self._item(lane, Hit(record, partner.hit.score, {"contradicts": 1.0}), partner.weight)
                    items.insert(items.index(partner) + 1 if partner in items else 0, other)
                    self.lanes[lane] = tuple(items)

    def compress(self) -> None:
        """Applies the design's compression: the strongest memories, at the beginning and the end, are shown whole, and those
        between short."""
        ends, ranked = 2 * self.plan.compression.head_tail_preserve, sorted(self.loose, key=lambda item: -item.weight)
        if len(ranked) <= ends:
            return
        short = ranked[ends:] if self.plan.compression.middle_compress else []
        whole = [item for item in ranked[:ends] if len(item.record.text) * ends <= WHOLE * self.plan.total]
        lengths = [(item, None) for item in whole] + [(item, MODES["cheap"].longest) for item in short]
        self._change({i.record.id: replace(i, body=self._body(i.record, i.lane, longest)) for i, longest in lengths})


def _progress(summary: str) -> str:
    """The lines of a summary that say where work stands, if there are any: what its user asked for then is over, and what they
    stated is a memory of its own."""
    lines = [line for line in summary.split("\n") if not line.lstrip().startswith("- user:")]
    return "\n".join(lines) if lines[1:] and any(line.lstrip().startswith("- ") for line in lines) else ""
