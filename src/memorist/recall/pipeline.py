"""The read path: `answer` turns a query into a `Search`, and `run` sends it through a tuple of stages and records what each
did.

A stage is a frozen value that is called with a search and the tools and returns a new search. It prints itself, compares, and
can be listed; adding one to a design means adding a word to a tuple. Stages may carry these marks:

- `optional`: skipped once the deadline has passed, and the trace says so.
- `one_moment`: from this stage on, the store is read as it was at one moment.
- `once`: under a design with such a stage, a prompt too shows only one of several memories that say the same.

What may be an answer is a `Candidate`, just a few numbers, until its text is read; from then on it is a `Hit`.
"""

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field, fields, replace
from datetime import datetime
from heapq import merge
from operator import attrgetter
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from memorist import checks
from memorist.access import Access
from memorist.design import MOST_HITS, Design, Tools
from memorist.errors import Invalid, meant
from memorist.folder import HASHES
from memorist.kinds import ARCHIVE, DOCUMENTS, KINDS, LAYERS, MEMORY, TURNS, kind_named
from memorist.lazy import dataclass
from memorist.recall.monitor import HURRY
from memorist.recall.scopes import scopes_of
from memorist.records import Hit, Moment, Recall, Record, Step, new_id, utc
from memorist.scoring import typed
from memorist.store.nouns import Fact, Generation, Receipt, Shelf
from memorist.store.where import Order, Where
from memorist.text.bm25 import Yardstick
from memorist.text.dates import Span
from memorist.text.question import question_of, small_talk
from memorist.text.triggers import FIRED
from memorist.text.visible import quoted

if TYPE_CHECKING:
    from memorist.models.embed import Floats


@dataclass(frozen=True, slots=True)
class Asked:
    """What the query was found to ask for."""

    text: str  # the text compared by meaning: without injected text and without names of known speakers
    speakers: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()  # the times it mentions
    vectors: "tuple[tuple[Generation, Floats], ...]" = ()  # of `text`, one for each readable generation
    # Names and numbers in the query that occur in the store, and how informative each is.
    names: Mapping[str, float] = field(default_factory=dict)
    role: str | None = None  # whose turns it asks for: "assistant" or "user"
    alone: bool = False  # it asks for nothing but a time: "what did I do today?"


class Candidate(NamedTuple):
    """A record that may be an answer, reduced to a few numbers."""

    fact: Fact
    words: float  # the share of the query that it covers
    cosine: float | None  # None if it has no vector
    meaning: float  # the cosine on the common scale
    nearly: float = 0.0  # the share of the query that it covers once misspelt words are corrected


class Taught(NamedTuple):
    """What earlier verdicts on similar queries say about a memory: how many speak for it; below zero, against it."""

    users: float
    others: float
    question: str  # the most telling one of those queries

    @property
    def strength(self) -> float:
        return abs(self.users) + abs(self.others)


@dataclass(frozen=True, slots=True)
class Expansion:
    """A term that the query does not contain but that is searched for as well, at a lower weight than the one it stands for."""

    term: str
    instead_of: str  # a term of the query
    how: str  # alias, fuzzy or prefix
    weight: float  # below 1


@dataclass(frozen=True, slots=True)
class Search:
    """A query on its way through the stages: what is asked, where to look, and what was found so far."""

    query: str
    shelves: tuple[Shelf, ...]
    where: Where
    limit: int
    now: datetime
    as_of: datetime | None = None
    filtered: bool = False  # the caller passed a filter
    layers: tuple[str, ...] = ()  # as requested; with `as_of` the archive is read too
    moment: datetime | None = None  # when it is asked, to resolve "last week"; None means now
    exact: bool = False  # compare with every vector
    files: tuple[str, ...] = ()  # the files being worked on
    min_relevance: float | None = None  # the least relevance of a hit; None leaves it to the design
    hurried: bool = False  # recalls were slow lately, so look at less
    until: float | None = None  # the deadline, on `time.perf_counter`
    terms: tuple[str, ...] = ()
    expansions: tuple[Expansion, ...] = ()  # terms similar to those of the query
    asked: Asked = Asked("")
    taught: Mapping[int, Taught] = field(default_factory=dict)  # by memory number
    candidates: tuple[Candidate, ...] = ()
    yardstick: Yardstick = field(default_factory=Yardstick)  # what the terms weigh on these shelves
    chance: float | None = None  # that the answer is here, if a stage has estimated it
    hits: tuple[Hit, ...] = ()
    dropped: Mapping[str, str] = field(default_factory=dict)  # by the stage that just ran: id → reason
    note: str | None = None  # what that stage reports for the trace
    empty_because: str | None = None
    notes: tuple[str, ...] = ()  # what the answer says besides its hits
    session: str | None = None  # the session in which it is asked
    judged: bool = False  # a judge has read the hits, and its choice stands
    due: float | None = None  # the caller's own deadline, on `time.perf_counter`: cuts off even what cannot be skipped

    @property
    def wanted(self) -> set[int]:
        """The memories that were useful for similar queries; they are considered in any case."""
        return {number for number, taught in self.taught.items() if max(taught.users, taught.others) > 0}

    def pool(self, size: int) -> int:
        """How many to look at where a design says `size`. If recalls are slow, a third, and a fifth of a large pool (15 → 5,
        500 → 100), but never fewer than were requested."""
        return max(self.limit, min(size // 3, max(33, size // 5))) if self.hurried else size

    def nothing(self, compared: object = False) -> str:
        """Why nothing was found: by words or, if vectors were compared, by meaning either."""
        also, filtered = " or comes near its meaning" * bool(compared), " and passes the filter" * self.filtered
        return f"no memory here holds any of the question's words{also}{filtered}"

    def left(self) -> float | None:
        """Seconds until the deadline; None if there is none."""
        return None if self.until is None else max(0.0, self.until - time.perf_counter())

    def but(self, **changes: Any) -> "Search":
        """Like `dataclasses.replace` at a quarter of its cost, which matters because it runs between all stages of every
        query."""
        values = list(_values(self))
        for name, value in changes.items():
            values[_PLACES[name]] = value
        return Search(*values)

    def with_hits(self, hits: Sequence[Hit]) -> "Search":
        """Adds hits, merged by id: two hits for one record share their factors, and the better score is kept."""
        merged = {hit.record.id: hit for hit in self.hits}
        for hit in hits:
            known = merged.get(hit.record.id)
            if known is not None:
                hit = Hit(known.record, max(known.score, hit.score), {**known.why, **hit.why})
            merged[hit.record.id] = hit
        return self.but(hits=tuple(merged.values()))

    def keeping(self, hits: Iterable[Hit], dropped: Mapping[str, str], note: str | None = None) -> "Search":
        """These hits without the dropped ones; `dropped` gives the reason for each."""
        return self.but(hits=tuple([hit for hit in hits if hit.record.id not in dropped]), dropped=dropped, note=note)


_PLACES = {each.name: place for place, each in enumerate(fields(Search))}
_values = attrgetter(*_PLACES)


class Stage(Protocol):
    def __call__(self, search: Search, tools: Tools) -> Search: ...


def run(stages: Sequence[Stage], search: Search, tools: Tools) -> tuple[Search, tuple[Step, ...]]:
    """Sends the search through the stages and collects what they did as a trace."""
    trace = list[Step]()
    with ExitStack() as moment:
        for stage in stages:
            name, started = type(stage).__name__, time.perf_counter()
            if getattr(stage, "optional", False) and search.left() == 0:
                trace.append(Step(name, len(search.hits), 0.0, note="skipped: the deadline had passed"))
                continue
            if getattr(stage, "one_moment", False):
                moment.enter_context(tools.store.moment())
            search = stage(search, tools)
            ms = (time.perf_counter() - started) * 1000
            trace.append(Step(name, len(search.hits), ms, search.dropped, search.note))
            if search.dropped or search.note is not None:
                search = search.but(dropped={}, note=None)
    return search, tuple(trace)


def found(record: Record, **factors: float) -> Hit:
    """A hit whose score is the product of its factors."""
    return Hit(record, math.prod(factors.values()), factors)


def ordered(hits: Iterable[Hit]) -> list[Hit]:
    """Best first; among equals, newest first."""
    return sorted(hits, key=lambda hit: (-hit.score, -hit.record.number))


# ---------------------------------------------------------------- a caller's question
# Turns it into a search, and the result of the search into an answer. Decides which shelves a query reads: the scopes that its
# design names, as far as access permits, on the layers that `search=` names. Everything else is up to the design's stages.

JUDGE = "Judge"  # the stage that asks a model
ONE_VOICE = "OneVoice"  # the stage that limits unverified sources
HURRIED = Step("Monitor", 0, 0.0, note="hurried: recalls were slow lately, so less was looked at; see `status`")
FROM_TALK = "from conversations: no memory seems to answer this"
BETTER_TALK = "from conversations: they answer this better than memories"
NOT_FROM_TALK = "conversation turns were not more relevant"
POOR = 0.35  # relevance: if the best memory has less, conversations are searched too
AHEAD = 2.0  # a turn is shown beside memories only if it has this many times the relevance of the best one
APART = {"task": "tasks", "narrative": "narratives"}  # kinds that are not recalled, and the verbs that list them
SEARCHES: Mapping[str, tuple[str, ...]] = {
    "memory": (MEMORY,),
    "items": (MEMORY,),  # what was extracted from files and imports
    "sessions": (TURNS,),
    "sources": (DOCUMENTS,),
    "archive": (ARCHIVE,),
    "all": LAYERS,
}


@dataclass(frozen=True, slots=True)
class Query:
    """A caller's query, exactly as passed."""

    text: str
    limit: int = 5
    search: str = "memory"
    scope: str | None = None
    user: str | None = None
    session: str | None = None
    kinds: Sequence[str] | None = None
    where: Mapping[str, Any] | None = None
    as_of: Moment | None = None
    deadline: float | None = None
    at: Moment | None = None
    exact: bool = False
    files: Sequence[PathLike[str] | str] = ()
    task: str | None = None
    min_relevance: float | None = None

    @classmethod
    def of(cls, text: str, arguments: Mapping[str, Any]) -> "Query":
        known = [field.name for field in fields(cls)][1:]
        unknown = sorted(set(arguments) - set(known))
        if unknown:
            raise Invalid(f"there is no argument {unknown[0]!r}; arguments are {', '.join(known)}")
        return cls(text, **arguments)


def answer(
    query: Query, who: Access, homes: tuple[str, ...], design: Design, tools: Tools, hurried: bool = False
) -> tuple[Recall, float]:
    """The answer, and how many milliseconds it took. `homes` are the project and where memories go by default. With `hurried`
    (recalls were slow lately), it looks at less and has a deadline in any case."""
    started = time.perf_counter()
    query = replace(query, kinds=kinds_of(query.kinds, tools))
    scopes = scopes_of(query, who, homes, design, tools.store)
    deadline = (HURRY if hurried else None) if query.deadline is None else checks.seconds(query.deadline, "deadline")
    until = None if deadline is None else started + deadline
    asked = _search(query, who, scopes, tools, hurried, until)
    search, trace = run(design.recall, asked, tools)
    because = None if search.hits else search.empty_because or _all_dropped(trace)
    talk = _turns(query, asked, scopes, who, tools) if because or _poor(search) else None
    if talk:
        search, trace, because = _of_talk(talk, search, trace, because, design, tools)
    trace = (HURRIED, *trace) if hurried else trace
    notes = (*search.notes, *_aside(query, asked, because, trace, design, tools))
    why = _apart(because, query, search.terms, asked, tools)
    found = Recall(
        search.query, _compared(search, asked, who, tools), why, trace, scopes, "r" + new_id(search.now)[1:], notes
    )
    return found, (time.perf_counter() - started) * 1000


def waited(answer: Recall) -> float:
    """Milliseconds of an answer spent waiting for a model, which say nothing about the speed of the store."""
    return sum(step.ms for step in answer.trace if step.stage == JUDGE)


def unjudged(design: Design) -> Design:
    """The design without the stage that asks a model."""
    rules = tuple(stage for stage in design.recall if type(stage).__name__ != JUDGE)
    return design if len(rules) == len(design.recall) else replace(design, recall=rules)


def _compared(search: Search, asked: Search, who: Access, tools: Tools) -> tuple[Hit, ...]:
    """The hits. While time is left, those of this project that are about files say whether these files have changed. Memories
    of other projects do not: there, `src/main.py` is a different file."""
    if asked.as_of or asked.left() == 0:
        return search.hits
    return tuple([_fresh(hit, tools) if _is_about_files(hit.record, who.home) else hit for hit in search.hits])


def _is_about_files(record: Record, project: str | None) -> bool:
    return HASHES in record.data and (record.home or record.scope) == project


def _fresh(hit: Hit, tools: Tools) -> Hit:
    return replace(hit, freshness=tools.folder.freshness(hit.record.data[HASHES]))


def _aside(
    query: Query, asked: Search, because: str | None, trace: Sequence[Step], design: Design, tools: Tools
) -> Iterator[str]:
    """Hints at what the caller may have meant instead: that documents are searched separately, or that this design ignores
    `min_relevance`."""
    if query.min_relevance is not None and all(step.stage != "DropUnlikely" for step in trace):
        yield f"min_relevance had no effect: the design {design.name} does not drop by a relevance, as balanced does"
    scopes = tuple({shelf.scope for shelf in asked.shelves})
    if because and query.search == "memory" and query.kinds is None and scopes:
        here = asked.where.also("kind", "eq", "document").also("state", "eq", "active").also("scope", "in", scopes)
        if tools.store.find(here, Order("at"), 1):
            yield "there are documents here, which this did not search; search='sources' (--search sources) does"


def _apart(because: str | None, query: Query, terms: Sequence[str], asked: Search, tools: Tools) -> str | None:
    """Why nothing was found, extended by kinds that hold words of the query but are listed by a verb of their own."""
    if because is None or query.search != "memory" or query.kinds is not None or not terms:
        return because
    here = Where.of(asked.where.access, query.where)
    for kind, verb in APART.items():
        if tools.store.match(terms, asked.shelves, here.also("kind", "eq", kind), 1).scores:
            because += f"; a {kind} here holds some: {finds_it(kind, verb)}"
    return because


def finds_it(kind: str, verb: str | None) -> str:
    lists = f"`{verb}` lists those, " if verb else ""
    return f"{lists}search='all' or kinds=['{kind}'] finds it"


def _of_talk(
    talk: Search, held: Search, trace: tuple[Step, ...], because: str | None, design: Design, tools: Tools
) -> tuple[Search, tuple[Step, ...], str | None]:
    """What the conversations answer, combined with what memories answer; hits from conversations are marked as such."""
    search, more = run(design.recall, talk, tools)
    repeated = {hit.record.id: "what was found in it is told" for hit in search.hits if _told_of(hit.record, held)}
    new = (hit for hit in search.hits if hit.record.id not in repeated)
    said = [replace(hit, why={**hit.why, "conversation": 1.0}) for hit in new]
    if _relevance(search.but(hits=tuple(said))) < AHEAD * _relevance(held):
        lost = repeated | {hit.record.id: "memories answer this as well" for hit in said}
        return held, (*trace, *more, Step("Turns", len(held.hits), 0.0, lost, NOT_FROM_TALK)), None
    both, dropped = _beside(said, held, design, tools)
    dropped |= repeated | {
        hit.record.id: f"rank {n}, asked for {talk.limit}" for n, hit in enumerate(both[talk.limit :], talk.limit + 1)
    }
    step = Step("Turns", min(len(both), talk.limit), 0.0, dropped, FROM_TALK if because else BETTER_TALK)
    silent = None if both else f"{because}; conversations: {search.empty_because or _all_dropped(more)}"
    notes = tuple(dict.fromkeys((*held.notes, *search.notes)))
    return search.but(hits=tuple(both[: talk.limit]), notes=notes), (*trace, step, *more), silent


def _beside(said: Sequence[Hit], held: Search, design: Design, tools: Tools) -> tuple[list[Hit], dict[str, str]]:
    """Turns and memories together, best first, and what was dropped: unverified turns must not displace a verified memory
    here either."""
    fired, hits = _came_up(held.hits)
    both = held.but(hits=tuple(merge(said, hits, key=lambda hit: -hit.score)))  # each in its stages' order
    for stage in design.recall if said and hits else ():
        both = stage(both, tools) if type(stage).__name__ == ONE_VOICE else both
    return [*fired, *sorted(both.hits, key=lambda hit: -hit.score)], dict(both.dropped)


def _told_of(turn: Record, held: Search) -> bool:
    """Whether what a person typed in this turn, meant to last, is already among the hits."""
    found = (hit.record.provenance for hit in held.hits if typed(hit.record))
    return any(each.session == turn.provenance.session and turn.number in (each.messages or ()) for each in found)


def _came_up(hits: Sequence[Hit]) -> tuple[list[Hit], list[Hit]]:
    """Splits the hits into those brought up by triggers, which say nothing about whether the query is answered, and the
    others."""
    return [hit for hit in hits if FIRED in hit.why], [hit for hit in hits if FIRED not in hit.why]


def _relevance(search: Search) -> float:
    """The relevance of the first hit, which is the same for every limit, or of a triggered one before it that would have been
    found anyway. Without a relevance, a hit counts as certain. What a person typed and nobody agreed to yet answers no better
    than a turn."""
    fired, found = _came_up(search.hits)
    first = [hit.why.get("relevance", 1.0) / (AHEAD if typed(hit.record) else 1) for hit in found[:1]]
    return max((*first, *(hit.why.get("relevance", 0.0) for hit in fired)), default=0.0)


def _poor(search: Search) -> bool:
    """Whether memories answer so poorly that conversations may do better. A caller who sets a bound has decided that already,
    unless all hits are things typed that nobody agreed to yet."""
    if search.min_relevance is None:
        return _relevance(search) < POOR
    return all(typed(hit.record) for hit in search.hits)


def _turns(query: Query, asked: Search, scopes: tuple[str, ...], who: Access, tools: Tools) -> Search | None:
    """The same search on the conversations; None if more than memories was searched, if there are none, or if it is small
    talk."""
    if query.search != "memory" or query.kinds is not None or asked.left() == 0 or not scopes:
        return None
    layers = (TURNS, ARCHIVE) if asked.as_of else (TURNS,)
    here = asked.where.also("kind", "eq", "turn").also("scope", "in", scopes)
    if not tools.store.find(here, Order("at"), 1) or small_talk(question_of(query.text)):
        return None
    return asked.but(shelves=tuple(_shelves(scopes, layers, who)), layers=(TURNS,))


def _all_dropped(trace: Sequence[Step]) -> str:
    reasons = [reason for step in trace for reason in step.dropped.values()]
    return f"what was found was dropped: {reasons[0]}" if reasons else "nothing relevant was found"


def receipt_for(answer: Recall, ms: float, session: str | None, who: Access, tools: Tools) -> Receipt:
    """The entry for the recall log."""
    shown = tuple((hit.record.id, round(hit.score, 6)) for hit in answer)
    said = answer.query[:1000].encode("utf-8", "replace").decode()
    return Receipt(
        answer.receipt, tools.clock(), who.space, said, who.actor, who.surface, session, ms, shown, answer.empty_because,
        home=who.home,
    )  # fmt: skip


def _search(
    query: Query, who: Access, scopes: tuple[str, ...], tools: Tools, hurried: bool, until: float | None
) -> Search:
    text_of(query.text)
    limit = checks.whole(query.limit, "limit", 1, MOST_HITS)
    if not isinstance(query.search, str) or query.search not in SEARCHES:
        raise Invalid(
            f"there is no search {quoted(query.search)}{meant(query.search, SEARCHES)}; searches are {', '.join(SEARCHES)}"
        )
    as_of = None if query.as_of is None else utc(query.as_of, "as_of")
    layers = SEARCHES[query.search]
    read = dict.fromkeys((*layers, ARCHIVE) if as_of else layers)
    shelves = tuple(_shelves(scopes, tuple(read), who))
    where, filtered = _where(query, who, tools), bool(query.where or query.kinds)
    moment = None if query.at is None else utc(query.at, "at")
    exact = checks.flag(query.exact, "exact")
    files = checks.files(query.files) if query.files else ()
    least = None if query.min_relevance is None else checks.share(query.min_relevance, "min_relevance")
    return Search(
        query.text,
        shelves,
        where,
        limit,
        tools.clock(),
        as_of,
        filtered,
        layers,
        moment,
        exact,
        files,
        least,
        hurried,
        until,
        session=query.session,
        due=None if query.deadline is None else until,
    )


def _shelves(scopes: Iterable[str], layers: Iterable[str], who: Access) -> Iterator[Shelf]:
    for scope in scopes:
        yield from (Shelf(who.space, scope, layer, home) for home in who.homes_of(scope) for layer in layers)


def _where(query: Query, who: Access, tools: Tools) -> Where:
    where = Where.of(who, query.where)
    if query.search == "sessions" and query.session is not None:
        where = where.also("session", "eq", query.session)
    if query.search == "items":
        where = where.also("origin", "in", ("file", "import"))
    if query.kinds is not None:
        return where.also("kind", "in", tuple(query.kinds))
    if query.search in ("memory", "items"):
        for kind in KINDS.values():
            if kind.layer == MEMORY and not kind.recalled:
                where = where.also("kind", "ne", kind.name)
    return where


def kinds_of(given: object, tools: Tools) -> tuple[str, ...] | None:
    """The canonical names of the given kinds; None if none is named, as a client may by an empty list: any kind then."""
    if given is None:
        return None
    if isinstance(given, str) or not isinstance(given, Sequence | set | frozenset):
        raise Invalid(f"kinds must be a list of kinds such as ['fact'], not {quoted(given)}")
    return tuple(dict.fromkeys(kind_named(kind, tools.kinds).name for kind in given)) or None


def text_of(query: object) -> str:
    if not isinstance(query, str):
        raise Invalid(f"a question must be text, not {type(query).__name__}")
    return query
