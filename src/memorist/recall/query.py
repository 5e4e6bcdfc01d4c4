"""A caller's question turned into a search, and the search's end turned into an answer.

Here it is decided which shelves a question reads: the scopes its design names, as far as the access allows, on the layers
that `search=` names. Everything after that is the design's stages.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from memorist import checks
from memorist.access import Access
from memorist.design import Design, Tools
from memorist.errors import Invalid
from memorist.kinds import ARCHIVE, DOCUMENTS, KINDS, LAYERS, MEMORY, TURNS, kind_named
from memorist.recall.pipeline import HURRY, Search, run
from memorist.records import Recall, Record, Scope, Step, new_id, utc
from memorist.store.index import index_rows
from memorist.store.nouns import Receipt, Shelf, shelf_of
from memorist.store.where import Where
from memorist.text.question import question_of
from memorist.text.visible import quoted
from memorist.text.words import query_terms

MOST_HITS = 1000  # that one may ask for
HURRIED = Step("Monitor", 0, 0.0, note="hurried: recalls were slow lately, so less was looked at; see `status`")
LONGEST_DEADLINE = 1_000_000  # seconds of a deadline
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
    as_of: datetime | None = None
    deadline: float | None = None
    at: datetime | None = None
    exact: bool = False
    files: Sequence[str] = ()
    task: str | None = None

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
    scopes = scopes_of(query, who, homes, design)
    deadline = _deadline(query) or (HURRY if hurried else None)
    until = None if deadline is None else started + deadline
    search, trace = run(design.recall, _search(query, who, scopes, tools, hurried, until), tools)
    trace = (HURRIED, *trace) if hurried else trace
    because = None if search.hits else search.empty_because or _all_dropped(trace)
    found = Recall(search.query, search.hits, because, trace, scopes, "r" + new_id(search.now)[1:])
    return found, (time.perf_counter() - started) * 1000


def receipt_for(answer: Recall, ms: float, session: str | None, who: Access, tools: Tools) -> Receipt:
    """The line for the recall log."""
    shown = tuple((hit.record.id, round(hit.score, 6)) for hit in answer)
    said = answer.query[:1000].encode("utf-8", "replace").decode()
    return Receipt(
        answer.receipt, tools.clock(), who.space, said, who.actor, who.surface, session, ms, shown, answer.empty_because
    )


def why_not(record: Record, answer: Recall, search: str) -> str:
    """Where the record was lost."""
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
    if layer not in SEARCHES[search]:
        what = f"is {record.state} ({record.reason})" if layer == ARCHIVE else f"is a {record.kind}"
        where = "archive" if layer == ARCHIVE else "all"
        return f"{name} {what} and lies among the {layer}; search={where!r} looks there"
    return f"{name} was not found: {_no_candidate(record, answer)}"


def _no_candidate(record: Record, answer: Recall) -> str:
    """What a record lacks that is not even among those that were read whole."""
    ahead = max((step.kept for step in answer.trace), default=0)
    if not ahead:
        return answer.empty_because or "nothing was"
    shared = _shared(record, answer.query)
    if shared:
        return (
            f"it shares {', '.join(shared)} with the question, but {ahead:,} others fit better, or a filter left it out"
        )
    meant = any(signal.name == "meaning" for hit in answer for signal in hit.signals)
    others = f", and {ahead:,} others share some or are nearer in meaning" if meant else ""
    return f"it shares no telling word with the question{others}; or a filter left it out"


def _shared(record: Record, question: str) -> list[str]:
    held = {term for row in index_rows(record) for term in row.terms}
    return [term for term in query_terms(question_of(question)) if term in held]


def scopes_of(query: Query, who: Access, homes: tuple[str, ...], design: Design) -> tuple[str, ...]:
    """The scopes that a question reads: those its design names, as far as the access allows."""
    for name, given in (("session", query.session), ("user", query.user), ("task", query.task)):
        if given is not None and not isinstance(given, str):
            raise Invalid(f"{name} must be text, not {quoted(given)}")
    session = None if query.session is None else Scope(f"session/{query.session}")
    if query.scope is not None:
        return (who.must_read(query.scope),)
    named: dict[str, tuple[str, ...]] = {"project": homes, "global": ("global",)}
    if session is not None:
        named["session"] = (session,)
    if query.task is not None:
        named["task"] = (Scope(f"task/{query.task}"),)
    if query.user is not None:
        named["user"] = (who.must_read(f"user/{query.user}"),)
    wanted = [scope for family in design.reads for scope in named.get(family, ())]
    return tuple(scope for scope in dict.fromkeys(wanted) if who.may_read(scope))


def _search(
    query: Query, who: Access, scopes: tuple[str, ...], tools: Tools, hurried: bool, until: float | None
) -> Search:
    text_of(query.text)
    limit = checks.whole(query.limit, "limit", 1, MOST_HITS)
    if not isinstance(query.search, str) or query.search not in SEARCHES:
        raise Invalid(f"there is no search {quoted(query.search)}; searches are {', '.join(SEARCHES)}")
    as_of = None if query.as_of is None else utc(query.as_of, "as_of")
    layers = SEARCHES[query.search]
    read = dict.fromkeys((*layers, ARCHIVE) if as_of else layers)
    shelves = tuple(Shelf(who.space, scope, layer) for scope in scopes for layer in read)
    where, filtered = _where(query, who, tools), bool(query.where or query.kinds)
    moment = None if query.at is None else utc(query.at, "at")
    exact = checks.flag(query.exact, "exact")
    files = checks.labels(query.files, "files") if query.files else ()
    return Search(
        query.text, shelves, where, limit, tools.clock(), as_of, filtered, layers, moment, exact, files, hurried, until
    )


def _where(query: Query, who: Access, tools: Tools) -> Where:
    where = Where.of(who, query.where)
    if query.search == "sessions" and query.session is not None:
        where = where.also("session", "eq", query.session)
    if query.kinds is not None:
        return where.also("kind", "in", kinds_of(query.kinds, tools))
    if query.search == "items":
        where = where.also("origin", "in", ("file", "import"))
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


def _deadline(query: Query) -> float | None:
    deadline = query.deadline
    if deadline is None:
        return None
    if isinstance(deadline, bool) or not isinstance(deadline, int | float) or not 0 < deadline <= LONGEST_DEADLINE:
        raise Invalid(
            f"deadline must be a number of seconds above 0 and up to {LONGEST_DEADLINE:,}, not {quoted(deadline)}"
        )
    return float(deadline)


def _all_dropped(trace: Sequence[Any]) -> str:
    reasons = [reason for step in trace for reason in step.dropped.values()]
    return f"what was found was dropped: {reasons[0]}" if reasons else "nothing relevant was found"
