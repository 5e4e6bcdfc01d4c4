"""The read path: `answer` makes a `Search` of a question, and `run` sends it through a tuple of stages and writes down what
each of them did.

A stage is a frozen value that is called with a search and the tools and returns a new search. It prints itself, compares,
and can be listed; adding one to a design is adding a word to a tuple. A stage marked `optional` is skipped once the
deadline has passed, and the trace says so. From a stage marked `one_moment` on, the store is read as it was at one moment.
Under a design with a stage marked `once`, a prompt too shows one of those that say the same. A stage marked `voices` is called
once more where turns stand beside memories.

What may be an answer is a `Candidate`, a few numbers, until it is read whole; from then on it is a `Hit`.

The latency objective is here too: when recalls become slow, they are answered more cheaply until they are fast again
(`Monitor`).
"""

import math
import threading
import time
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field, fields, replace
from datetime import datetime
from heapq import merge
from operator import attrgetter
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from memorist import checks
from memorist.access import GLOBAL, Access, family_of
from memorist.design import MOST_HITS, Design, Tools
from memorist.errors import Invalid, MemoristError, meant
from memorist.folder import HASHES
from memorist.kinds import ARCHIVE, DOCUMENTS, KINDS, LAYERS, MEMORY, TURNS, kind_named
from memorist.lazy import dataclass
from memorist.records import Hit, Moment, Recall, Record, Scope, Step, new_id, utc
from memorist.store.index import index_rows
from memorist.store.nouns import Fact, Generation, Receipt, Shelf, shelf_of
from memorist.store.protocol import Store
from memorist.store.talk import users_of
from memorist.store.where import Order, Where
from memorist.text.bm25 import Yardstick
from memorist.text.dates import Span
from memorist.text.question import question_of, small_talk
from memorist.text.triggers import FIRED
from memorist.text.visible import quoted
from memorist.text.words import query_terms
from memorist.worth import TYPED, typed

if TYPE_CHECKING:
    from memorist.models.embed import Floats


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question turned out to ask."""

    text: str  # what is compared by meaning: without what was injected, and without the names of known speakers
    speakers: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()  # the times it speaks of
    vectors: "tuple[tuple[Generation, Floats], ...]" = ()  # of its text, one for each generation that can be read
    # Names and numbers in it that occur here, and what each tells.
    names: Mapping[str, float] = field(default_factory=dict)
    role: str | None = None  # whose turns it asks for: "assistant" or "user"
    alone: bool = False  # a time is all that it asks for: "what did I do today?"


class Candidate(NamedTuple):
    """A record that may be an answer, as a few numbers."""

    fact: Fact
    words: float  # the share of the question that it covers
    cosine: float | None  # None: it has no vector
    meaning: float  # the cosine on the common scale
    kin: float = 0.0  # how near it is to the best, if it is a document
    nearly: float = 0.0  # the share of the question that it covers if misspelt words are read right


class Taught(NamedTuple):
    """What questions like this one taught about a memory: how many verdicts speak for it, or below zero against it."""

    users: float
    others: float
    question: str  # the one that says most about it

    @property
    def strength(self) -> float:
        return abs(self.users) + abs(self.others)


@dataclass(frozen=True, slots=True)
class Expansion:
    """A word that was not asked for and is looked for all the same, at a lower weight than the one it stands for."""

    term: str
    instead_of: str  # a term of the question
    how: str  # alias, fuzzy or prefix
    weight: float  # under 1


@dataclass(frozen=True, slots=True)
class Search:
    """A question on its way: what is asked, where, and what was found so far."""

    query: str
    shelves: tuple[Shelf, ...]
    where: Where
    limit: int
    now: datetime
    as_of: datetime | None = None
    filtered: bool = False  # the caller gave a filter
    layers: tuple[str, ...] = ()  # as asked; `as_of` looks into the archive too
    moment: datetime | None = None  # of asking, for "last week"; None means now
    exact: bool = False  # compare with every vector
    files: tuple[str, ...] = ()  # that are being worked on
    min_relevance: float | None = None  # what a hit must have; None leaves it to the design
    hurried: bool = False  # recalls were slow lately: look at less
    until: float | None = None  # when the deadline is, on `time.perf_counter`
    terms: tuple[str, ...] = ()
    expansions: tuple[Expansion, ...] = ()  # words like those of the question
    asked: Asked = Asked("")
    taught: Mapping[int, Taught] = field(default_factory=dict)  # by the numbers of memories
    candidates: tuple[Candidate, ...] = ()
    yardstick: Yardstick = field(default_factory=Yardstick)  # what the terms weigh on these shelves
    chance: float | None = None  # that the answer is here, where a stage has told
    hits: tuple[Hit, ...] = ()
    again: Where | None = None  # set by a stage: the question is to be asked once more through this filter
    heard: tuple[Hit, ...] | None = None  # what the first pass kept of those whom that filter leaves out
    dropped: Mapping[str, str] = field(default_factory=dict)  # by the stage that just ran: id → reason
    note: str | None = None  # what the stage wants to say
    empty_because: str | None = None
    notes: tuple[str, ...] = ()  # what the answer has to say beside its hits
    session: str | None = None  # that it was asked in
    judged: bool = False  # a judge read the hits, and what it chose stays
    due: float | None = None  # the caller's own deadline, on `time.perf_counter`: what cannot be skipped is cut there

    @property
    def wanted(self) -> set[int]:
        """The memories that were useful for questions like this one: they are looked at in any case."""
        return {number for number, taught in self.taught.items() if max(taught.users, taught.others) > 0}

    def pool(self, size: int) -> int:
        """How many to look at where a design says so many: when recalls are slow a third, and of many a fifth (15 → 5,
        500 → 100), but never fewer than were asked for."""
        return max(self.limit, min(size // 3, max(33, size // 5))) if self.hurried else size

    def nothing(self, compared: object = False) -> str:
        """Why nothing was found: by words, or also by meaning where it was compared."""
        also, filtered = " or comes near its meaning" * bool(compared), " and passes the filter" * self.filtered
        return f"no memory here holds any of the question's words{also}{filtered}"

    def left(self) -> float | None:
        """Seconds until the deadline; None if there is none."""
        return None if self.until is None else max(0.0, self.until - time.perf_counter())

    def but(self, **changes: Any) -> "Search":
        """`dataclasses.replace` at a quarter of its cost: it stands between all stages of every question."""
        values = list(_values(self))
        for name, value in changes.items():
            values[_PLACES[name]] = value
        return Search(*values)

    def with_hits(self, hits: Sequence[Hit]) -> "Search":
        """Adds hits, merged by id: of two for one record the factors are joined and the better score is kept."""
        merged = {hit.record.id: hit for hit in self.hits}
        for hit in hits:
            known = merged.get(hit.record.id)
            if known is not None:
                hit = Hit(known.record, max(known.score, hit.score), {**known.why, **hit.why})
            merged[hit.record.id] = hit
        return self.but(hits=tuple(merged.values()))

    def keeping(self, hits: Iterable[Hit], dropped: Mapping[str, str], note: str | None = None) -> "Search":
        """These hits, but for those of which `dropped` says why they went."""
        return self.but(hits=tuple([hit for hit in hits if hit.record.id not in dropped]), dropped=dropped, note=note)


_PLACES = {each.name: place for place, each in enumerate(fields(Search))}
_values = attrgetter(*_PLACES)


class Stage(Protocol):
    def __call__(self, search: Search, tools: Tools) -> Search: ...


def run(stages: Sequence[Stage], search: Search, tools: Tools) -> tuple[Search, tuple[Step, ...]]:
    """Sends the search through the stages, and what they did into the trace.

    Once, as a rule. A stage may find that a crowd of like texts filled the pools before anything was read, so that others
    were never looked at (`OneVoice`); it sets `again`, and the question goes through all stages once more without that
    crowd, beside what was heard of it. There is no third time, and the deadline is that of the whole.
    """
    asked, trace = search, list[Step]()
    while True:
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
        if search.again is None:
            return search, tuple(trace)
        search = asked.but(where=search.again, heard=search.heard)


def found(record: Record, **factors: float) -> Hit:
    """A hit whose score is the product of its factors."""
    return Hit(record, math.prod(factors.values()), factors)


def ordered(hits: Iterable[Hit]) -> list[Hit]:
    """Best first; of equals the newest."""
    return sorted(hits, key=lambda hit: (-hit.score, -hit.record.number))


# ---------------------------------------------------------------- a caller's question
# It is turned into a search, and the search's end into an answer. Here it is decided which shelves a question reads: the
# scopes its design names, as far as the access allows, on the layers that `search=` names. The rest is the design's stages.

JUDGE = "Judge"  # the stage that asks a model
HURRIED = Step("Monitor", 0, 0.0, note="hurried: recalls were slow lately, so less was looked at; see `status`")
FROM_TALK = "from conversations: no memory seems to answer this"
BETTER_TALK = "from conversations: they answer this better than memories"
NOT_FROM_TALK = "conversations answer this no better than memories"
OF_USERS = "there are memories in scopes of users, which are read where the user is named (user=, --user)"
MOST_TYPED = 20  # things that were typed in earlier sessions, the latest
POOR = 0.35  # relevance: where the best memory has less, conversations are asked too
AHEAD = 2.0  # times the relevance of the best memory: what a turn needs to be shown beside it
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
    """What a caller asked, as asked."""

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
    """The answer, and how many milliseconds it took. `homes` are the project and where memories go by default. `hurried`:
    recalls were slow lately, so this one looks at less and has a deadline in any case."""
    started = time.perf_counter()
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
    """Milliseconds of an answer that were spent on waiting for a model: they say nothing about how fast the store is."""
    return sum(step.ms for step in answer.trace if step.stage == JUDGE)


def unjudged(design: Design) -> Design:
    """The design without the stage that asks a model."""
    rules = tuple(stage for stage in design.recall if type(stage).__name__ != JUDGE)
    return design if len(rules) == len(design.recall) else replace(design, recall=rules)


def _compared(search: Search, asked: Search, who: Access, tools: Tools) -> tuple[Hit, ...]:
    """The hits; those of the project that are about its files say whether these are what they were, while there is time. What
    belongs to another project says nothing: `src/main.py` is another file there."""
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
    """What the caller may have wanted otherwise: documents, which memories are not, and a cut that this design does not make."""
    if query.min_relevance is not None and all(step.stage != "DropUnlikely" for step in trace):
        yield f"min_relevance had no effect: the design {design.name} does not drop by a relevance, as balanced does"
    scopes = tuple({shelf.scope for shelf in asked.shelves})
    if because and query.search == "memory" and query.kinds is None and scopes:
        here = asked.where.also("kind", "eq", "document").also("state", "eq", "active").also("scope", "in", scopes)
        if tools.store.find(here, Order("at"), 1):
            yield "there are documents here, which this did not search; search='sources' (--search sources) does"


def _apart(because: str | None, query: Query, terms: Sequence[str], asked: Search, tools: Tools) -> str | None:
    """Why nothing was found, and what holds words of the question but has a verb of its own."""
    if because is None or query.search != "memory" or query.kinds is not None or not terms:
        return because
    here = Where.of(asked.where.access, query.where)
    for kind, verb in APART.items():
        if tools.store.match(terms, asked.shelves, here.also("kind", "eq", kind), 1).scores:
            because += f"; a {kind} here holds some: {_finds_it(kind, verb)}"
    return because


def _finds_it(kind: str, verb: str | None) -> str:
    lists = f"`{verb}` lists those, " if verb else ""
    return f"{lists}search='all' or kinds=['{kind}'] finds it"


def _of_talk(
    talk: Search, held: Search, trace: tuple[Step, ...], because: str | None, design: Design, tools: Tools
) -> tuple[Search, tuple[Step, ...], str | None]:
    """What the conversations answer, beside what memories hold of it; every hit of theirs says where it is from."""
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
    """Turns and memories, best first, and what was dropped. A crowd of turns that nobody vouches for takes no verified memory
    away either."""
    fired, found = _came_up(held.hits)
    both = held.but(hits=tuple(merge(said, found, key=lambda hit: -hit.score)), heard=())  # each as its stages left it
    for stage in design.recall if said and found else ():
        both = stage(both, tools) if getattr(stage, "voices", False) else both
    return [*fired, *sorted(both.hits, key=lambda hit: -hit.score)], dict(both.dropped)


def _told_of(turn: Record, held: Search) -> bool:
    """Whether what a person typed there to last is among the hits already."""
    found = (hit.record.provenance for hit in held.hits if typed(hit.record))
    return any(each.session == turn.provenance.session and turn.number in (each.messages or ()) for each in found)


def _came_up(hits: Sequence[Hit]) -> tuple[list[Hit], list[Hit]]:
    """What triggers brought up, which does not say that the question is answered; and the others."""
    return [hit for hit in hits if FIRED in hit.why], [hit for hit in hits if FIRED not in hit.why]


def _relevance(search: Search) -> float:
    """Of the first hit, which is the same for every limit, and of what its triggers brought before it, where that would have been
    found anyhow. A design without chances is as sure as it can be. What a person typed and nobody agreed to answers no better
    than a turn."""
    fired, found = _came_up(search.hits)
    first = [hit.why.get("relevance", 1.0) / (AHEAD if typed(hit.record) else 1) for hit in found[:1]]
    return max((*first, *(hit.why.get("relevance", 0.0) for hit in fired)), default=0.0)


def _poor(search: Search) -> bool:
    """Whether memories answer so poorly that conversations may be better. Who names a bound has judged that, but for what nobody
    agreed to yet."""
    if search.min_relevance is None:
        return _relevance(search) < POOR
    return all(typed(hit.record) for hit in search.hits)


def _turns(query: Query, asked: Search, scopes: tuple[str, ...], who: Access, tools: Tools) -> Search | None:
    """The same question to the conversations, if memories alone were asked and there are any, and if it asks for anything."""
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
    """The line for the recall log."""
    shown = tuple((hit.record.id, round(hit.score, 6)) for hit in answer)
    said = answer.query[:1000].encode("utf-8", "replace").decode()
    return Receipt(
        answer.receipt, tools.clock(), who.space, said, who.actor, who.surface, session, ms, shown, answer.empty_because,
        home=who.home,
    )  # fmt: skip


def why_not(record: Record, answer: Recall, search: str, chosen: bool = False) -> str:
    """Where the record was lost. `chosen`: the question said which kinds it wants."""
    name, layer = f"memory {record.number}", shelf_of(record).layer
    for place, hit in enumerate(answer, 1):
        if hit.record.id == record.id:
            return f"{name} is among the hits, at place {place}"
    for step in answer.trace:
        lost = step.dropped.get(record.id) or step.dropped.get(f"#{record.number}")
        if lost:
            return f"{name} was found and then dropped by {step.stage}: {lost}"
    if record.scope not in answer.scopes:
        return f"{name} lies in {record.scope}; the question read {', '.join(answer.scopes)}"
    if layer not in _layers(search, answer):
        what = f"is {record.state} ({record.reason})" if layer == ARCHIVE else f"is a {record.kind}"
        where = "archive" if layer == ARCHIVE else "all"
        return f"{name} {what} and lies among the {layer}; search={where!r} looks there"
    return f"{name} {_not_found(record, answer, search, chosen)}"


def _not_found(record: Record, answer: Recall, search: str, chosen: bool) -> str:
    if chosen or search not in ("memory", "items") or KINDS[record.kind].recalled:
        return f"was not found: {_no_candidate(record, answer)}"
    finds = _finds_it(record.kind, APART.get(record.kind))
    return f"is a {record.kind}, which no question finds that does not ask for it; {finds}"


def _layers(search: str, answer: Recall) -> tuple[str, ...]:
    """Those that were asked."""
    return (*SEARCHES[search], *(TURNS for step in answer.trace if step.stage == "Turns"))


def _no_candidate(record: Record, answer: Recall) -> str:
    """What a record lacks that is not even among those that were read whole."""
    ahead = max((step.kept for step in answer.trace), default=0)
    if not ahead:
        return answer.empty_because or "nothing was"
    held = set[str]().union(*map(attrgetter("terms"), index_rows(record)))
    shared = ", ".join(filter(held.__contains__, query_terms(question_of(answer.query))))
    if shared:
        return f"it shares {shared} with the question, but {ahead:,} others fit better, or a filter left it out"
    meant = any(signal.name == "meaning" for hit in answer for signal in hit.signals)
    others = f", and {ahead:,} others share some or are nearer in meaning" if meant else ""
    return f"it shares no telling word with the question{others}; or a filter left it out"


def scopes_of(query: Query, who: Access, homes: tuple[str, ...], design: Design, store: Store) -> tuple[str, ...]:
    """The scopes that a question reads: what the caller names is always read, or refused; beside it what the design names, as
    far as the access allows. A session that was held for a user is read only in a question for that user."""
    named = dict(_named(query))
    if query.scope is not None:
        return (_must_read(query.scope, who),)
    usual = {"project": homes, GLOBAL: (GLOBAL,)}
    usual |= {family: (_must_read(scope, who),) for family, scope in named.items()}
    usual[TYPED] = _typed_in(who, store, design)
    families = (*(family for family in named if family not in design.reads), *design.reads)
    wanted = dict.fromkeys(scope for family in families for scope in usual.get(family, ()))
    if _is_anothers(query.session, wanted, who, store):
        del wanted[named["session"]]
    return tuple(scope for scope in wanted if who.may_read(scope, who.home_of(scope)))


def _typed_in(who: Access, store: Store, design: Design) -> tuple[str, ...]:
    """The sessions of this project in which a person lately typed something to last that nobody has agreed to yet, for who wants
    that."""
    if TYPED not in design.reads:
        return ()
    where = Where(who).also("home", "eq", who.home).also("data.home", "eq", who.home).also("state", "eq", "active")
    where = where.also("status", "eq", "candidate").also("origin", "eq", "recorded").also(f"data.{TYPED}", "eq", True)
    return tuple(dict.fromkeys(record.scope for record in store.find(where, Order("created"), MOST_TYPED)))


def _is_anothers(session: str | None, read: Container[str], who: Access, store: Store) -> bool:
    """Whether it was held for a user for whom this is not asked. Where the store cannot say, it counts as such, and the rest of
    the way will find out why."""
    try:
        users = [] if session is None else users_of(session, who.home, who.space, store)
        return any(user not in read for user in users)
    except MemoristError:
        return True


def of_users(query: Query, who: Access, tools: Tools) -> list[str]:
    """What to say of the scopes of users that a question did not read, since it named none. They are neither named nor counted
    here: it may be one of them who reads the answer."""
    if query.user is not None or query.scope is not None or small_talk(question_of(query.text)):
        return []
    users = _users_granted(who)
    kinds = tuple(kind.name for kind in tools.kinds.values() if kind.layer == MEMORY and kind.recalled)
    here = Where(replace(who, reads=users)).also("state", "eq", "active").also("kind", "in", kinds)
    there = users and tools.store.find(here, Order("at"), 1)
    return [OF_USERS] if there else []


def _users_granted(who: Access) -> tuple[str, ...]:
    grants = ("user/*" if grant == "*" else grant for grant in who.reads)
    return tuple(grant for grant in grants if family_of(grant) == "user")


def _named(query: Query) -> Iterator[tuple[str, Scope]]:
    """What the caller names beside the question, by its family."""
    for family, given in (("session", query.session), ("user", query.user), ("task", query.task)):
        if given is not None and not isinstance(given, str):
            raise Invalid(f"{family} must be text, not {quoted(given)}")
        if given is not None:
            yield family, Scope(f"{family}/{given}")


def _must_read(scope: str, who: Access) -> Scope:
    return who.must_read(scope, who.home_of(scope))


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
        return where.also("kind", "in", kinds_of(query.kinds, tools))
    if query.search in ("memory", "items"):
        for kind in KINDS.values():
            if kind.layer == MEMORY and not kind.recalled:
                where = where.also("kind", "ne", kind.name)
    return where


def kinds_of(given: object, tools: Tools) -> tuple[str, ...]:
    """The kinds that are meant, by their own names."""
    if isinstance(given, str) or not isinstance(given, Sequence | set | frozenset):
        raise Invalid(f"kinds must be a list of kinds such as ['fact'], not {quoted(given)}")
    return tuple(dict.fromkeys(kind_named(kind, tools.kinds).name for kind in given))


def text_of(query: object) -> str:
    if not isinstance(query, str):
        raise Invalid(f"a question must be text, not {type(query).__name__}")
    return query


# ---------------------------------------------------------------- how fast recalls are

WINDOW = 100  # recalls
FEWEST = 5  # recalls: fewer say nothing
SLOW, FAST = 300.0, 200.0  # milliseconds of the 95th percentile
GOOD = 20  # recalls in a row that must be fast on the whole
HURRY = SLOW / 1000  # seconds that a hurried recall spends on optional stages, if no deadline was set


class Monitor:
    """How long the recalls of one open memory took lately. Safe to share between threads.

    A window of the last hundred times is judged by its 95th percentile: above 300 ms recall hurries, with smaller pools and
    a time limit on optional stages. It goes back to normal on its own evidence, not on the window's: once enough recalls
    *since then* stayed below 200 ms. What was slow before says nothing about now, and is forgotten with the change.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._times: deque[float] = deque(maxlen=WINDOW)
        self._since: deque[float] | None = None  # the last ones since it hurries; None while it does not

    @property
    def hurried(self) -> bool:
        return self._since is not None

    def note(self, ms: float) -> None:
        """One more recall took so long."""
        with self._lock:
            if self._since is None:
                self._times.append(ms)
                if len(self._times) >= FEWEST and p95(self._times) > SLOW:
                    self._since = deque(maxlen=GOOD)
                return
            self._since.append(ms)
            if len(self._since) == GOOD and p95(self._since) < FAST:
                self._times, self._since = deque(self._since, maxlen=WINDOW), None

    def shown(self, logged: Sequence[float] = ()) -> dict[str, Any]:
        """For the status: what was measured, and what follows from it; before the first recall of a process, what the log says
        of earlier ones."""
        with self._lock:
            times = (self._times or logged[:WINDOW]) if self._since is None else self._since
            measured = f"95 % within {p95(times):.0f} ms, last {len(times)}" if times else "none yet"
            if self._since is None:
                return {"recall": f"normal: {measured}"}
            return {"recall": f"hurried, with smaller pools, until {GOOD} recalls stay below {FAST:.0f} ms: {measured}"}


def p95(times: Iterable[float]) -> float:
    """The smallest of the times that at least 95 % of them do not pass."""
    rising = sorted(times)
    return rising[math.ceil(0.95 * len(rising)) - 1]
