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

import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import chain, combinations
from typing import Any, get_args

from memorist import checks
from memorist.access import GLOBAL, Access, family_of
from memorist.design import BRIDGE, LANES, MOST_HITS, PINNED, STEADY, Design, Inject, Lane, Tools
from memorist.errors import Invalid, MemoristError, OutOfScope
from memorist.kinds import DOCUMENTS as LAYER
from memorist.lazy import dataclass
from memorist.prompt import lanes, render
from memorist.prompt.modes import MODES, NONE, PROFILES, TURNS, Profile, weighed
from memorist.prompt.render import CLIENTS, COURSES, LAST_TURNS, STYLES, Item
from memorist.records import NEWER, Context, Hit, Recall, Record, new_id, stated_key
from memorist.redact import strings_in
from memorist.scoring import PEOPLE, held_up, may_outdate, vouched_for
from memorist.store.nouns import Receipt, Shelf
from memorist.store.protocol import Store
from memorist.store.where import Order, Where
from memorist.text.restated import earlier_duplicates
from memorist.text.triggers import FIRED
from memorist.text.words import query_terms, terms

PULLED = "this design puts nothing into a prompt by itself; ask with `recall`, or set `inject` to push"
UNWANTED = "the profile none puts nothing into a prompt"
NO_MATCH = "nothing matches this question"
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
DOCUMENTS = 5  # documents recalled beside memories
MOST_NOTES = 50  # of other agents in the session
WHOLE = 3  # characters per token: an estimate, so that memories shown whole leave room for each other
PIECE = 2  # characters of one memory per token of the budget, so that it takes half of it or less
OLD = timedelta(days=182)  # from this age on a memory shows its month
ASIDE = 20  # extra hits to recall, as steady lanes may have taken some
RELEVANT = 3  # how much more a match counts than importance, for memories of a family
COMPARED = 30  # memories that are compared to find those about the same thing
OWN = ("task", "session")  # families whose memories are shown whoever said them
KEPT = ("text", "tokens", "budget", "compression_ratio", "left_out", "stable", "lanes", "fingerprint")  # in a receipt
# Recalls the query: the scope (None: everywhere), the number of hits, and the layer.
Recaller = Callable[[str | None, int, str], Recall]
Shown = tuple[tuple[str, float], ...]
Keep = Callable[[Recall, float, Shown, Mapping[str, Any]], None]  # writes a receipt to the recall log
log = logging.getLogger("memorist")


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


def _lanes(
    wish: Wish, design: Design, scopes: tuple[str, ...], profile: Profile | None, inject: str
) -> tuple[Lane, ...]:
    """The design's lanes with the shares of the caller, else those of the profile. A family that is not read needs no floor,
    and where nothing is recalled, there are no lanes for it.

    If a session and an agent are named, there is a bridge between the agents of the session: a lane for what others noted
    there since this one last spoke, before all that depend on the query. It takes the place of a design's session lane.
    """
    asked = profile if wish.shares is None else Profile("shares", shares=wish.shares)
    shares = asked.shares if asked else {}
    names, families = [lane.name for lane in design.lanes], {family_of(scope) for scope in scopes}
    for name, share in shares.items():
        checks.one_of(name, "a lane with a share", names)
        checks.share(share, f"the share of {name}")
    split = [replace(lane, share=float(shares.get(lane.name, lane.share))) for lane in design.lanes]
    # A lane with a share of 1 takes what the others leave, so it is not counted.
    if shares and sum(lane.share for lane in split if lane.of == "total" and lane.share < 1) > 1 + 1e-9:
        raise Invalid(f"the shares of {', '.join(names)} add up to more than 1; make one of them smaller")
    split = [lane if lane.name in (*LANES, *families) else replace(lane, floor=0) for lane in split]
    if not families <= {*names} and "recall" not in names:
        split.append(Lane("recall", 1.0))  # for scopes that no lane would take
    if checks.optional_label(wish.agent, "the agent") is None or wish.session is None:
        split = [lane for lane in split if lane.name != BRIDGE]
    elif BRIDGE not in names and "session" in names:
        split = [replace(lane, name=BRIDGE) if lane.name == "session" else lane for lane in split]
    elif BRIDGE not in names:
        first = next((place for place, lane in enumerate(split) if lane.name not in STEADY), len(split))
        split.insert(first, Lane(BRIDGE, 0.5, 0, 3000, "rest"))
    if inject == "core":
        split = [lane for lane in split if lane.name in (*STEADY, BRIDGE)]
    if wish.min_relevance is not None:
        checks.share(wish.min_relevance, "min_relevance")
        split = [replace(lane, of_above=0.0) for lane in split]
    return tuple(split)


# ---------------------------------------------------------------- the context


def context(prompt: "Prompt", recall: Recaller, keep: Keep, digest: render.Digest) -> Context:
    """The context for this prompt. Failures are reported in `empty_because`; only wrong arguments are raised. A receipt with
    everything needed to show it again is logged before the caller gets it."""
    if prompt.inject == "pull" or prompt.wish.profile == NONE:
        return Context("", budget=prompt.total, empty_because=PULLED if prompt.inject == "pull" else UNWANTED)
    try:
        started = time.perf_counter()
        prompt.collect(recall)
        made = prompt.assemble(digest)
        made = replace(made, receipt="r" + new_id(prompt.tools.clock())[1:], fingerprint=prompt.fingerprint)
        shown = {hit.record.id: round(hit.score, 6) for hit in made.items}
        for a, b in prompt.contradictions if made.items else ():  # a reported contradiction names both sides
            shown = {a.id: 0.0, b.id: 0.0} | shown
        answer = Recall(prompt.wish.query, made.items, made.empty_because, (), prompt.scopes, made.receipt)
        receipt = {name: getattr(made, name) for name in KEPT} | {
            "items": [[hit.record.id, prompt.items[hit.record.id].lane] for hit in made.items],
        }
        keep(answer, (time.perf_counter() - started) * 1000, tuple(shown.items()), receipt)
        return made
    except (Invalid, OutOfScope):
        raise
    except Exception as problem:  # a turn without memory is better than no turn
        return Context("", budget=prompt.total, empty_because=_failure(problem))


def shown_again(line: Receipt, store: Store, where: Where) -> Context:
    """The context of a receipt: the exact text that went into the prompt, with its memories as they are now."""
    scores, kept = dict(line.shown), line.rendered
    ids = list(scores) if kept is None else [id for id, _ in kept["items"]]
    items = tuple(Hit(record, scores.get(record.id, 0.0)) for record in store.get(ids, where))
    if kept is None:
        because = "that was a recall; nothing was put into a prompt"
        return Context("", items, receipt=line.id, empty_because=because)
    as_made = {name: kept[name] for name in KEPT} | {"left_out": tuple(kept["left_out"])}
    return Context(**as_made, items=items, receipt=line.id, empty_because=line.empty_because)


def _failure(problem: Exception) -> str:
    """What the caller is told of a failure; the details are logged."""
    log.warning("no memory for this prompt: %s", problem, exc_info=not isinstance(problem, MemoristError))
    what = problem if isinstance(problem, MemoristError) else type(problem).__name__
    return f"memory failed, and the prompt goes on without it: {what}"


class Prompt:
    """One prompt: the wish with its arguments checked and completed by the design, and the candidates found for it.

    `most` is the budget chosen for the project; a profile's own replaces it, and the caller's replaces both.
    """

    def __init__(
        self, wish: Wish, design: Design, most: int | None, scopes: tuple[str, ...], who: Access, tools: Tools
    ) -> None:
        self.wish, self.design, self.scopes, self.who, self.tools = wish, design, scopes, who, tools
        mode = design.compression.mode if wish.mode is None else wish.mode
        role = NONE if wish.profile is None else wish.profile
        self.profile = (
            role if isinstance(role, Profile) else PROFILES.get(checks.one_of(role, "profile", (*PROFILES, NONE)))
        )
        self.mode = MODES[checks.one_of(mode, "mode", tuple(MODES))]
        self.inject = checks.one_of(design.inject if wish.inject is None else wish.inject, "inject", get_args(Inject))
        client = "plain" if wish.client is None else CLIENTS[checks.one_of(wish.client, "client", tuple(CLIENTS))]
        self.style = STYLES[checks.one_of(client if wish.style is None else wish.style, "style", tuple(STYLES))]
        self.lanes, self.now = _lanes(wish, design, scopes, self.profile, self.inject), tools.clock()
        most = most if self.profile is None or self.profile.tokens is None else self.profile.tokens
        usual = design.budget if most is None else replace(design.budget, tokens=most, most=most)
        total = lanes.total(wish.budget, wish.remaining, wish.window, wish.reserve, usual)
        # Hits of one recall: as many as the tokens may hold.
        limit = usual.hits or max(FEWEST_HITS, min(MOST_HITS, total // USUAL))
        self.limit = limit if wish.limit is None else checks.whole(wish.limit, "limit", 1, MOST_HITS)
        self.total = lanes.part(self.mode.share, total)  # tokens

        self.items = dict[str, Item]()  # the candidates by id; those of one lane are best first
        self.contradictions: Sequence[tuple[Record, Record]] = ()
        self.shown_weight = 0.0  # of hits that the prompt has already: what stands beside them must add enough too
        self.empty_because = NO_MATCH
        self.skipped = list[str]()  # what there was no time for, and what was not worth its tokens

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        """What kind of prompt it is, without its words. Prompts with the same hash can be compared by their outcomes."""
        wish = self.wish
        asked = wish.where.get("tags") if isinstance(wish.where, Mapping) else None
        tags = {tag for tag in strings_in(asked) if not tag.startswith("$")}  # not the operators
        facts = {
            "design": self.design.name, "task": wish.task, "files": list(wish.files), "kinds": list(wish.kinds or ()),
            "mode": self.mode.name, "tags": sorted(tags),
            "profile": self.profile.name if self.profile else None, "words": len(query_terms(wish.query)),
        }  # fmt: skip
        return facts | {"hash": hashlib.blake2b(json.dumps(facts).encode(), digest_size=8).hexdigest()}

    def collect(self, recall: Recaller) -> None:
        """Steady lanes first, then the last turns, then what matches the query: families with a lane of their own before
        the general `recall` lane, so that it does not take their memories. If recall fails, everything that does not depend
        on it is still shown."""
        names = [lane.name for lane in self.lanes]
        for name in filter(STEADY.__contains__, names):
            self.add(name, self.steady(name))
        self.protect_turns()
        if BRIDGE in names:
            self.add(BRIDGE, self.notes_of_others())
        if self.inject == "push":
            before = dict(self.items)
            try:
                self.match(recall)
                for lane in self.lanes:
                    if lane.name not in (*STEADY, BRIDGE):
                        self.keep_best(lane)
            except (Invalid, OutOfScope):
                raise
            except Exception as problem:
                self.items, self.empty_because = before, _failure(problem)
                self.skipped.append(self.empty_because)
        if any(getattr(stage, "once", False) for stage in self.design.recall):
            self.drop_repetitions()
        self.date_pairs()
        self.add_contradictions()
        self.shorten()

    def assemble(self, digest: render.Digest) -> Context:
        """The context, without its receipt. A counter may charge more for the whole than for its parts. Then the weakest
        recalled memory is dropped, then a reported contradiction, and only after those the last steady memory."""
        style, count = self.style, self.tools.count_tokens
        if not self.items:
            return Context("", budget=self.total, empty_because=self.empty_because, skipped=tuple(self.skipped))
        room = max(0, self.total - render.frame_cost(style, list(self.items.values()), count))
        self.fit_latest_summary(room)
        costs = {id: count(style.item(item)) for id, item in self.items.items()}
        reserved = sum(count(style.note(render.warning(a, b))) for a, b in self.contradictions)
        items, spent = lanes.pack(room, reserved, self.lanes, list(self.items.values()), costs)
        steady = [item for item in items if item.lane in STEADY]
        loose = [item for item in items if item.lane not in STEADY]
        loose.sort(key=lambda item: (item.lane == LAST_TURNS, item.weight), reverse=True)  # turns are dropped last
        told = list(self.contradictions)
        while True:
            shown = {item.record.id for item in (*steady, *loose)}
            told = [(a, b) for a, b in told if shown & {a.id, b.id}]
            text, stable, order = render.page(style, steady, loose, told, digest)
            if (tokens := count(text) if text else 0) <= self.total:
                break
            (loose or told or steady).pop()
        return Context(
            text,
            tuple(item.hit for item in order),
            tokens,
            self.total,
            sum(costs[id] for id in shown) / max(1, sum(costs.values())),
            left_out=tuple(id for id in costs if id not in shown),
            empty_because=None if shown else f"nothing that was found fits into {self.total} tokens",
            stable=stable,
            lanes=spent,
            skipped=tuple(self.skipped),
        )

    @property
    def loose(self) -> list[Item]:
        """What depends on the query, without the turns."""
        return [item for item in self.items.values() if item.lane not in (*STEADY, LAST_TURNS)]

    def add(self, lane: str, hits: Iterable[Hit], best: float | None = None) -> None:
        """Fills a lane with the hits that no lane has yet, in the order in which they enter. With the `best` score of a family
        they are weighed by importance and by how well they match, and pins come first, if no pinned lane has taken them."""
        role, items = self.profile if lane not in STEADY else None, list[Item]()
        for hit in hits:
            record = hit.record
            if self._is_new(record) and (role is None or role.takes(record)):
                score = hit.score if best is None else record.importance * (1 + RELEVANT * hit.score / best)
                weight = weighed(record, score, self.profile, self.wish.files, self.wish.query, self.now)
                items.append(self._item(lane, hit, weight))
        if lane not in STEADY:
            items.sort(key=lambda item: (best is None or not held_up(item.record), -item.weight))
        self.items |= {item.record.id: item for item in items}

    def _is_new(self, record: Record) -> bool:
        return record.id not in self.items and not self.wish.shown(record)

    def _item(self, lane: str, hit: Hit, weight: float) -> Item:
        """The item of a hit; it gets its text at the end, from `shorten`. Outside the steady lanes a turn from before today shows
        its day, since it may speak of tomorrow, and anything else that is old its month."""
        at, when = hit.record.times.at, None
        if hit.record.kind == "turn":
            when = at.date().isoformat() if at.date() < self.now.date() else None
        elif self.now - at >= OLD:
            when = f"{at:%Y-%m}"
        return Item(hit, lane, "", None if lane in STEADY else when, weight)

    # ------------------------------------------------------------ what does not depend on the query

    def steady(self, lane: str) -> list[Hit]:
        """The memories of a steady lane: only verified ones, since text from a tool, a file or an import may answer a query,
        but is not shown as settled until a person confirms it. Their order depends on stored fields and never on counters,
        so it stays the same until a memory changes."""
        where = self._where(any_kind=lane != "known").also("verified", "eq", True)
        for name, operator, value in SETTLED[lane]:
            where = where.also(name, operator, value)
        if lane == SUMMARIES:
            summaries = [replace(each, text=_progress(each.text)) for each in self._find(where, "at", 10)]
            return [Hit(record, 1.0, {"summary": 1.0}) for record in summaries if record.text]
        found = self._find(where, "importance", MOST_STEADY)
        if lane in UNASKED:
            found = [record for record in found if record.scope != GLOBAL or record.trust == "high"]
        if lane == "standing":  # what an agent stated and nobody confirmed may answer a query, but rules nothing
            found = [each for each in found if each.status == "confirmed" or each.origin in PEOPLE]
        found = sorted(self._current(found), key=lambda record: (-record.importance, record.number))
        return [Hit(record, 1.0, {lane: 1.0}) for record in found]

    def _current(self, records: Sequence[Record]) -> list[Record]:
        """Those that no newer active memory contradicts or may replace; what a person said, none of anybody else."""
        active = Where(self.who).also("state", "eq", "active")
        links = self.tools.store.links(active, [record.id for record in records]) if records else []
        pairs = [(link.a, link.b) for link in links if link.kind == "contradicts" or link.evidence == NEWER]
        ends = {record.id: record for record in self.tools.store.get(list(set(chain(*pairs))), Where(self.who))}
        both = (sorted((ends[a], ends[b]), key=stated_key) for a, b in pairs if a in ends and b in ends)
        outdated = {old.id for old, new in both if may_outdate(new, old) and not old.pinned}
        return [record for record in records if record.id not in outdated]

    def fit_latest_summary(self, room: int) -> None:
        """Cuts the latest summary to as many of its lines as its lane has room for: it says where a session left off."""
        if latest := next((item for item in self.items.values() if item.lane == SUMMARIES), None):
            place, count = [lane.name for lane in self.lanes].index(SUMMARIES), self.tools.count_tokens
            tokens, longest = lanes.quotas(room, self.lanes)[place], len(latest.body)
            while longest and (cost := count(self.style.item(latest))) > tokens:
                longest = min(longest * 9 // 10, longest * tokens // cost)
                latest = replace(latest, body=render.body_of(latest.record, longest))
            if longest:
                self.items[latest.record.id] = latest

    def _turns(self) -> Where:
        """The turns of the session, within the scopes that this context reads."""
        turns = Where(self.who).also("session", "eq", self.wish.session).also("home", "in", (None, self.who.home))
        return turns.also("scope", "in", self.scopes).also("kind", "eq", "turn").also("state", "eq", "active")

    def protect_turns(self) -> None:
        """The system turn and the last few turns of the session, the newest first; if room is short, the oldest is dropped."""
        find, turns, most = self.tools.store.find, self._turns(), self.profile.turns if self.profile else TURNS
        if self.wish.session is None or not most:
            return
        system = find(turns.also("role", "eq", "system").also("trust", "ne", "low"), Order("number", ascending=True), 1)
        both = {record.id: record for record in (*system, *find(turns, Order("number"), most))}
        for place, record in enumerate(both[id] for id in both if id not in self.items):
            self.items[record.id] = self._item(LAST_TURNS, Hit(record, 1.0, {"protected": 1.0}), -place)

    def notes_of_others(self) -> list[Hit]:
        """What other agents and the user noted in the session since this agent last spoke there, the latest first. There are
        no turns among it: an agent that takes over a session reads those separately."""
        wish, scope, find = self.wish, f"session/{self.wish.session}", self.tools.store.find
        if scope not in self.scopes:
            return []
        spoken = find(self._turns().also("agent", "eq", wish.agent), Order("number"), 1)
        notes = self._where([scope], any_kind=False).also("home", "eq", self.who.home).also("agent", "ne", wish.agent)
        notes = notes.also("number", "gt", spoken[0].number) if spoken else notes
        found = find(notes, Order("number"), MOST_NOTES)
        others = [each for each in found if each.provenance.agent is not None or each.origin == "user"]
        return [Hit(record, 1.0 - place / len(others), {BRIDGE: 1.0}) for place, record in enumerate(others)]

    # ------------------------------------------------------------ what matches the query

    def match(self, recall: Recaller) -> None:
        """Fills the lanes that depend on the query with what was found, or with the latest. If the answer was full, other
        scopes may have crowded out those of a family; then each of its scopes is searched alone, if there is time."""
        most, again, documents = self.limit, False, Recall("")
        if self.profile and self.profile.policy == "recency":
            found, most = Recall(self.wish.query, tuple(self._held(self.scopes, "at"))), MOST_HITS
        else:
            wanted = min(MOST_HITS, most + min(len(self.items), ASIDE))
            found = recall(None, wanted, "memory")
            if (self.wish.kinds is None or "document" in self.wish.kinds) and self._has_time("documents"):
                shelves = [Shelf(self.who.space, s, LAYER, home) for s in self.scopes for home in self.who.homes_of(s)]
                if self.tools.store.vocabulary("", shelves, Where(self.who), 1):
                    documents = recall(None, min(most, DOCUMENTS), "sources")
            again = len(found.hits) >= wanted and len(self.scopes) > 1 and self._has_time("scopes by themselves")
        self.empty_because = found.empty_because or NO_MATCH

        names = [lane.name for lane in self.lanes]
        families = [name for name in names if name not in (*STEADY, BRIDGE, "recall")]
        pinned = self.steady(PINNED) if families and PINNED not in names else []
        for name in families:
            here = [scope for scope in self.scopes if family_of(scope) == name]
            hits = [hit for hit in (*found.hits, *documents.hits) if hit.record.scope in here]
            if again and len(hits) < len(found.hits) + len(documents.hits):
                hits += [hit for scope in here for hit in recall(scope, most, "memory")]
            # The most important of a family and its pins are candidates too, whatever the query.
            pins = [hit for hit in pinned if hit.record.scope in here]
            both = {hit.record.id: hit for hit in (*self._held(here, "importance"), *pins, *hits)}
            self.add(name, both.values(), max((hit.score for hit in hits), default=0.0) or 1.0)
        if "recall" in names:
            before = [hit for hit in found.hits if not self._is_new(hit.record)]  # the prompt has these
            self.shown_weight = sum(hit.score for hit in before)
            replaced = {id for hit in before for id in hit.replaces}
            new = [hit for hit in found.hits if self._is_new(hit.record) and hit.record.id not in replaced]
            self.add("recall", (*new[:most], *documents.hits))

    def _has_time(self, what: str) -> bool:
        """Whether there is time for this; if not, it is reported as skipped."""
        if self.tools.over():
            self.skipped.append(what)
            return False
        return True

    def keep_best(self, lane: Lane) -> None:
        """Keeps the best, since recall decided that there is an answer, and each further memory that adds enough to those above
        it. Facts come before summaries, and a summary stays only with a word of the query that no fact has: it mentions much,
        and what says it is shorter. Pins and memories brought up by triggers always stay."""
        facts_first = lane.name == "recall"

        def is_summary(item: Item) -> bool:
            return facts_first and item.record.kind in COURSES

        items = sorted((item for item in self.items.values() if item.lane == lane.name), key=is_summary)
        self.items = {id: item for id, item in self.items.items() if item.lane != lane.name}
        above, lost, facts = self.shown_weight if facts_first else 0.0, 0, list[Item]()
        for item in items:
            enough = item.weight >= lane.of_above * above
            if facts and is_summary(item):
                words = set(query_terms(self.wish.query)) & set(terms(item.record.text))
                enough = enough and not words <= {word for fact in facts for word in terms(fact.record.text)}
                item = replace(item, weight=min(item.weight, facts[-1].weight))
            always = held_up(item.record) or FIRED in item.hit.why
            if not always and not enough:
                lost += 1
                continue
            self.items[item.record.id] = item
            above += 0.0 if always else item.weight
            if enough and not is_summary(item):
                facts.append(item)
        if lost:
            self.skipped.append(f"{lane.name}: {lost} would add too little; min_relevance=0 shows them")

    def _held(self, scopes: Sequence[str], order: str) -> list[Hit]:
        """The most important or the latest memories of these scopes, whatever the query, as many as the tokens may hold.
        Unverified ones are included only in a task or a session, where they were said for it."""
        most, found = max(FEWEST_HITS, min(MOST_HITS, self.total // LEAST)), list[Record]()
        for scope in scopes:
            own = family_of(scope) in OWN
            where = self._where([scope], any_kind=own)
            found += self._find(where if own else where.also("verified", "eq", True), order, most)
        return [Hit(record, 0.0, {family_of(record.scope): 1.0}) for record in found]

    # ------------------------------------------------------------ filters

    def _where(self, scopes: Sequence[str] | None = None, any_kind: bool = True) -> Where:
        """The caller's filter, in these scopes; without `any_kind` only for what any query could find."""
        here = replace(self.who, reads=tuple(self.scopes if scopes is None else scopes))  # only these are searched
        where = Where.of(here, self.wish.where)
        where = where if where.speaks_of("state") else where.also("state", "eq", "active")
        if self.wish.kinds is not None:
            return where.also("kind", "in", tuple(self.wish.kinds))
        for kind in () if any_kind else self.tools.kinds.values():
            where = where if kind.recalled else where.also("kind", "ne", kind.name)
        return where

    def _find(self, where: Where, order: str, most: int) -> list[Record]:
        return [record for record in self.tools.store.find(where, Order(order), most) if self._is_valid(record)]

    def _is_valid(self, record: Record) -> bool:
        start, end = record.times.valid_from, record.times.valid_to
        return (start is None or start <= self.now) and (end is None or self.now < end)

    # ------------------------------------------------------------ what stands beside one another

    def drop_repetitions(self) -> None:
        """Removes memories that repeat a better one, or a verified one; steady lanes are not touched."""
        loose = sorted(self.loose, key=lambda item: (not vouched_for(item.record), -item.weight))
        steady = [item for item in self.items.values() if item.lane in STEADY]
        others = earlier_duplicates((item.record.text, item.record.files) for item in (*steady, *loose))[len(steady) :]
        for item, other in zip(loose, others, strict=True):
            if other is not None:
                del self.items[item.record.id]

    def date_pairs(self) -> None:
        """Dates those of different days that are about the same thing: half of the words of one are those of the other."""
        best = sorted((item for item in self.loose if item.hit.score > 0), key=lambda item: -item.weight)[:COMPARED]
        read = [(item, item.record.times.stated.date(), set(query_terms(item.record.text))) for item in best]
        for pair in combinations(read, 2):
            (_, day, words), (_, other_day, other_words) = pair
            shared = len(words & other_words)
            if day != other_day and shared > 1 and 2 * shared >= min(len(words), len(other_words)):
                self.items |= {item.record.id: replace(item, when=day.isoformat()) for item, day, _ in pair}

    def add_contradictions(self) -> None:
        """Reports open contradictions among the candidates, two at most. The other side of one becomes a candidate right after
        its partner; if that is in a steady lane, it is first in the last loose lane."""
        places = {id: place for place, id in enumerate(self.items)}
        links = self.tools.store.links(Where(self.who), list(places)) if self.loose else []
        pairs = [(link.a, link.b) for link in links if link.kind == "contradicts"]
        pairs.sort(key=lambda pair: min(places.get(end, len(places)) for end in pair))
        ends = self.tools.store.get(list(set(chain(*pairs))), Where(self.who).also("state", "eq", "active"))
        valid = {record.id: record for record in ends if self._is_valid(record)}
        self.contradictions = [(valid[a], valid[b]) for a, b in pairs if a in valid and b in valid][:2]
        loose = [lane.name for lane in self.lanes if lane.name not in STEADY]
        for a, b in self.contradictions:
            partner, record = (self.items[a.id], b) if a.id in self.items else (self.items[b.id], a)
            if self._is_new(record):
                lane, items = partner.lane if partner.lane in loose else loose[-1], list(self.items.values())
                other = self._item(lane, Hit(record, partner.hit.score, {"contradicts": 1.0}), partner.weight)
                items.insert(items.index(partner) + 1, other)
                self.items = {item.record.id: item for item in items}

    def shorten(self) -> None:
        """Gives each memory its text, as long as the mode, the design's compression and half of the budget allow. The strongest,
        at the beginning and the end, are shown whole if there is room, and those between short if the design says so. In a
        steady lane the text does not depend on the query."""
        compression, short = self.design.compression, MODES["cheap"].longest or 0
        ranked = [item.record.id for item in sorted(self.loose, key=lambda item: -item.weight)]
        ends = 2 * compression.head_tail_preserve
        whole, middle = set(ranked[:ends]), set(ranked[ends:] if compression.middle_compress else ())
        words = [term for term in query_terms(self.wish.query) if len(term) > 2]
        for id, item in self.items.items():
            size, longest = len(item.record.text), max(short, PIECE * self.total)
            longest = longest if self.mode.longest is None else min(longest, self.mode.longest)
            if compression.ratio is not None:
                longest = min(longest, max(short, lanes.part(compression.ratio, size)))
            most = None if id in whole and size * ends <= WHOLE * self.total else short if id in middle else longest
            asked = () if item.lane in STEADY else words
            self.items[id] = replace(item, body=render.body_of(item.record, most, asked))


def _progress(summary: str) -> str:
    """The lines of a summary that say where work stands, if there are any: what its user asked for then is over, and what they
    stated is a memory of its own. With all lines a start costs 175 tokens more, and no more of them are needed."""
    if "- user:" not in summary:
        return summary
    lines = [line for line in summary.split("\n") if not line.lstrip().startswith("- user:")]
    return "\n".join(lines) if lines[1:] and any(line.lstrip().startswith("- ") for line in lines) else ""
