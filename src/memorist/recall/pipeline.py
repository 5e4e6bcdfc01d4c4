"""The read path: `answer` turns a query into a `Search`, and `run` sends it through a tuple of stages and records what each
did.

A stage is a frozen value that is called with a search and the tools and returns a new search. It prints itself, compares, and
can be listed; adding one to a design means adding a word to a tuple. Stages may carry these marks:

- `optional`: skipped once the deadline has passed, and the trace says so.
- `one_moment`: from this stage on, the store is read as it was at one moment.
- `once`: under a design with such a stage, a prompt too shows only one of several memories that say the same.

What may be an answer is a `Candidate`, just a few numbers, until its text is read; from then on it is a `Hit`.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
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
from memorist.recall.scopes import scopes_of, shelves_in
from memorist.records import Hit, Moment, Recall, Step, new_id, utc
from memorist.scoring import vouched_for
from memorist.store.nouns import Fact, Generation, Shelf
from memorist.store.where import Order, Where
from memorist.text.bm25 import Yardstick
from memorist.text.dates import Span
from memorist.text.question import question_of, small_talk
from memorist.text.triggers import FIRED
from memorist.text.visible import quoted

if TYPE_CHECKING:
    from memorist.models.embed import Floats


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
    question: str  # the first of those queries


@dataclass(frozen=True, slots=True)
class Expansion:
    """A term that the query does not contain but that is searched for as well, at a lower weight than the one it stands for."""

    term: str
    instead_of: str  # a term of the query
    how: str  # alias, fuzzy or prefix
    weight: float  # below 1


ELSEWHERE = {"document": "", "task": "`tasks`", "narrative": "`narratives`"}  # kinds and the verbs that list them
NOTHING = "no memory here holds any of the question's words or comes near its meaning"


class Search(NamedTuple):
    """A query on its way through the stages: what is asked, where to look, and what was found so far."""

    query: str
    shelves: tuple[Shelf, ...]
    where: Where
    limit: int
    now: datetime
    as_of: datetime | None = None
    layers: tuple[str, ...] = ()  # as requested; with `as_of` the archive is read too
    moment: datetime | None = None  # when it is asked, to resolve "last week"; None means now
    exact: bool = False  # compare with every vector
    files: tuple[str, ...] = ()  # the files being worked on
    min_relevance: float | None = None  # the least relevance of a hit; None leaves it to the design
    hurried: bool = False  # recalls were slow lately, so look at less
    until: float | None = None  # the deadline, on `time.perf_counter`
    terms: tuple[str, ...] = ()
    expansions: tuple[Expansion, ...] = ()  # terms similar to those of the query
    said: str = ""  # the text compared by meaning: without injected text and without names of known speakers
    speakers: tuple[str, ...] = ()  # that it names
    spans: tuple[Span, ...] = ()  # the times it mentions
    vectors: "tuple[tuple[Generation, Floats], ...]" = ()  # of `said`, one for each readable generation
    names: Mapping[str, float] = {}  # names and numbers in it that occur in the store, and how informative each is
    role: str | None = None  # whose turns it asks for: "assistant" or "user"
    alone: bool = False  # it asks for nothing but a time: "what did I do today?"
    taught: Mapping[int, Taught] = {}  # by memory number
    candidates: tuple[Candidate, ...] = ()
    yardstick: Yardstick = Yardstick()  # what the terms weigh on these shelves
    chance: float | None = None  # that the answer is here, if a stage has estimated it
    hits: tuple[Hit, ...] = ()
    dropped: Mapping[str, str] = {}  # by the stage that just ran: id → reason
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

    def left(self) -> float | None:
        """Seconds until the deadline; None if there is none."""
        return None if self.until is None else max(0.0, self.until - time.perf_counter())

    def but(self, **changes: Any) -> "Search":
        return self._replace(**changes)

    def keeping(self, hits: Iterable[Hit], dropped: Mapping[str, str], note: str | None = None) -> "Search":
        """These hits without the dropped ones; `dropped` gives the reason for each."""
        return self.but(hits=tuple([hit for hit in hits if hit.record.id not in dropped]), dropped=dropped, note=note)


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
            trace.append(Step(name, len(search.hits), ms, dict(search.dropped), search.note))
            if search.dropped or search.note is not None:
                search = search.but(dropped={}, note=None)
    return search, tuple(trace)


def ordered(hits: Iterable[Hit]) -> list[Hit]:
    """Best first; among equals, newest first."""
    return sorted(hits, key=lambda hit: (-hit.score, -hit.record.number))


# ---------------------------------------------------------------- a caller's question
# Turns it into a search, and the result of the search into an answer. Decides which shelves a query reads: the scopes that its
# design names, as far as access permits, on the layers that `search=` names. Everything else is up to the design's stages.

JUDGE = "Judge"  # the stage that asks a model
HURRIED = Step("Monitor", 0, 0.0, note="hurried: recalls were slow lately, so less was looked at; see `status`")
POOR = 0.35  # relevance: if the best memory has less, conversations are searched too
AHEAD = 2.0  # a turn is shown beside memories only if it has this many times the relevance of the best one
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

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise Invalid(f"a question must be text, not {type(self.text).__name__}")


def answer(
    query: Query, who: Access, homes: tuple[str, ...], design: Design, tools: Tools, hurried: bool = False
) -> tuple[Recall, float]:
    """The answer, and how many milliseconds it took. `homes` are the project and where memories go by default. With `hurried`
    (recalls were slow lately), it looks at less and has a deadline in any case."""
    started = time.perf_counter()
    query = replace(query, kinds=kinds_of(query.kinds, tools))
    scopes = scopes_of(query, who, homes, design, tools.store)
    asked = _search(query, scopes, who, tools, hurried, started)
    search, trace = run(design.recall, asked, tools)
    because = None if search.hits else search.empty_because or _all_dropped(trace)
    only_memories = query.search == "memory" and query.kinds is None
    # A caller who sets a bound has decided what is too poor.
    poor = asked.min_relevance is None and _relevance(search.hits) < POOR
    if only_memories and (because or poor) and asked.left() != 0 and not small_talk(question_of(query.text)):
        there = asked.where.also("kind", "eq", "turn").also("scope", "in", scopes)
        if scopes and tools.store.find(there, Order("at"), 1):
            layers = (TURNS, ARCHIVE) if asked.as_of else (TURNS,)
            turns = asked.but(shelves=shelves_in(scopes, layers, who), layers=(TURNS,))
            search, trace, because = _with_turns(turns, search, trace, because, design, tools)
    hits, notes = search.hits, search.notes
    for kind in ELSEWHERE if because and only_memories and search.terms else ():
        where = Where.of(who, query.where).also("kind", "eq", kind)
        if tools.store.match(search.terms, shelves_in(scopes, (KINDS[kind].layer,), who), where, 1).scores:
            because = f"{because}; a {kind} here holds some of its words: {finds(kind)}"
    if not asked.as_of and asked.left() != 0:  # in another project, `src/main.py` is a different file
        seen = [hit for hit in hits if HASHES in hit.record.data and (hit.record.home or hit.record.scope) == who.home]
        fresh = {hit.record.id: tools.folder.freshness(hit.record.data[HASHES]) for hit in seen}
        hits = tuple([replace(hit, freshness=fresh[hit.record.id]) if hit.record.id in fresh else hit for hit in hits])
    if query.min_relevance is not None and all(step.stage != "DropUnlikely" for step in trace):
        told = f"the design {design.name} does not drop by a relevance, as balanced does"
        notes += (f"min_relevance had no effect: {told}",)
    trace = (HURRIED, *trace) if hurried else trace
    found = Recall(query.text, hits, because, trace, scopes, "r" + new_id(search.now)[1:], notes)
    return found, (time.perf_counter() - started) * 1000


def _search(query: Query, scopes: tuple[str, ...], who: Access, tools: Tools, hurried: bool, started: float) -> Search:
    """The checked query with the shelves that it reads."""
    if not isinstance(query.search, str) or query.search not in SEARCHES:
        raise Invalid(
            f"there is no search {quoted(query.search)}{meant(query.search, SEARCHES)}; searches are {', '.join(SEARCHES)}"
        )
    where = Where.of(who, query.where)
    if query.search == "sessions" and query.session is not None:
        where = where.also("session", "eq", query.session)
    if query.search == "items":
        where = where.also("origin", "in", ("file", "import"))
    if query.kinds is not None:
        where = where.also("kind", "in", tuple(query.kinds))
    elif query.search in ("memory", "items"):
        for kind in KINDS.values():
            if kind.layer == MEMORY and not kind.recalled:
                where = where.also("kind", "ne", kind.name)
    layers = SEARCHES[query.search]
    as_of = None if query.as_of is None else utc(query.as_of, "as_of")
    due = None if query.deadline is None else started + checks.seconds(query.deadline, "deadline")
    return Search(
        query.text,
        shelves_in(scopes, dict.fromkeys((*layers, ARCHIVE)) if as_of else layers, who),
        where,
        checks.whole(query.limit, "limit", 1, MOST_HITS),
        tools.clock(),
        as_of,
        layers=layers,
        moment=None if query.at is None else utc(query.at, "at"),
        exact=checks.flag(query.exact, "exact"),
        files=checks.files(query.files) if query.files else (),
        min_relevance=None if query.min_relevance is None else checks.share(query.min_relevance, "min_relevance"),
        hurried=hurried,
        until=started + HURRY if hurried and due is None else due,
        session=query.session,
        due=due,
    )


def _relevance(hits: Iterable[Hit]) -> float:
    """The relevance of the first hit, which is the same for every limit, or of a triggered one before it that would have been
    found anyway. Without a relevance, a hit counts as certain; that a trigger brought it up says nothing about the query."""
    first = [hit.why.get("relevance", 1.0) for hit in hits if FIRED not in hit.why][:1]
    fired = [hit.why.get("relevance", 0.0) for hit in hits if FIRED in hit.why]
    return max((*first, *fired), default=0.0)


def _with_turns(
    turns: Search, held: Search, trace: tuple[Step, ...], because: str | None, design: Design, tools: Tools
) -> tuple[Search, tuple[Step, ...], str | None]:
    """What memories answer, together with what conversations answer if that is much better. `why` says of a turn that it is
    one; a turn from which a hit was taken is not shown beside it, and unverified turns do not displace a verified memory."""
    search, more = run(design.recall, turns, tools)
    sources = {(hit.record.provenance.session, hit.record.provenance.messages) for hit in held.hits}
    hits, said, lost = list(held.hits), list[Hit](), dict[str, str]()
    for hit in search.hits:
        if (hit.record.provenance.session, (hit.record.number, hit.record.number)) in sources:
            lost[hit.record.id] = "what was found in it is told"
        elif vouched_for(hit.record) or not hits:
            said.append(replace(hit, why={**hit.why, "conversation": 1.0}))
        else:
            lost[hit.record.id] = "memories answer this, and nobody verified this turn"
    if _relevance(said) < AHEAD * _relevance(hits):
        note = "conversation turns were not more relevant"
        lost |= {hit.record.id: "memories answer this as well" for hit in said}
    else:
        answers = "no memory seems to answer this" if because else "they answer this better than memories"
        note = f"from conversations: {answers}"
        hits = sorted(ordered((*said, *hits)), key=lambda hit: FIRED not in hit.why)
        beyond = enumerate(hits[turns.limit :], turns.limit + 1)
        lost |= {hit.record.id: f"rank {place}, asked for {turns.limit}" for place, hit in beyond}
    shown = tuple(hits[: turns.limit])
    because = None if shown else f"{because}; conversations: {search.empty_because or _all_dropped(more)}"
    notes = tuple(dict.fromkeys((*held.notes, *search.notes)))
    return held.but(hits=shown, notes=notes), (*trace, *more, Step("Turns", len(shown), 0.0, lost, note)), because


def finds(kind: str) -> str:
    """How to find a memory of a kind that a question for memories does not."""
    return f"{ELSEWHERE[kind]} lists those, search='all' finds it" if ELSEWHERE[kind] else "search='sources' finds it"


def _all_dropped(trace: Iterable[Step]) -> str:
    reasons = [reason for step in trace for reason in step.dropped.values()]
    return f"what was found was dropped: {reasons[0]}" if reasons else "nothing relevant was found"


def kinds_of(given: object, tools: Tools) -> tuple[str, ...] | None:
    """The canonical names of the given kinds; None if none is named, as a client may by an empty list: any kind then."""
    if given is None:
        return None
    if isinstance(given, str) or not isinstance(given, Sequence | set | frozenset):
        raise Invalid(f"kinds must be a list of kinds such as ['fact'], not {quoted(given)}")
    return tuple(dict.fromkeys(kind_named(kind, tools.kinds).name for kind in given)) or None


def waited(answer: Recall) -> float:
    """Milliseconds of an answer spent waiting for a model, which say nothing about the speed of the store."""
    return sum(step.ms for step in answer.trace if step.stage == JUDGE)


def unjudged(design: Design) -> Design:
    """The design without the stage that asks a model."""
    rules = tuple(stage for stage in design.recall if type(stage).__name__ != JUDGE)
    return design if len(rules) == len(design.recall) else replace(design, recall=rules)
