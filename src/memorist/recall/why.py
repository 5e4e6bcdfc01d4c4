"""Why a record is not among the hits of a recall."""

from memorist.kinds import ARCHIVE, KINDS, TURNS
from memorist.recall.pipeline import ELSEWHERE, SEARCHES, finds
from memorist.records import Recall, Record
from memorist.store.index import index_rows
from memorist.store.nouns import shelf_of
from memorist.text.question import question_of
from memorist.text.words import query_terms


def why_not(record: Record, answer: Recall, search: str, chosen: bool = False) -> str:
    """Where the record was lost. `chosen`: the query named the kinds it wants."""
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
    if layer not in (*SEARCHES[search], *(TURNS for step in answer.trace if step.stage == "Turns")):
        what = f"is {record.state} ({record.reason})" if layer == ARCHIVE else f"is a {record.kind}"
        where = "archive" if layer == ARCHIVE else "all"
        return f"{name} {what} and lies among the {layer}; search={where!r} looks there"
    if not chosen and search in ("memory", "items") and not KINDS[record.kind].recalled:
        how = finds(record.kind) if record.kind in ELSEWHERE else "search='all' finds it"
        return f"{name} is a {record.kind}, which no question finds that does not ask for it; {how}"
    ahead = max((step.kept for step in answer.trace), default=0)
    if not ahead:
        return f"{name} was not found: {answer.empty_because or 'nothing was'}"
    held = set[str]().union(*(row.terms for row in index_rows(record)))
    if shared := ", ".join(term for term in query_terms(question_of(answer.query)) if term in held):
        others = f"but {ahead:,} others fit better, or a filter left it out"
        return f"{name} was not found: it shares {shared} with the question, {others}"
    by_meaning = any(signal.name == "meaning" for hit in answer for signal in hit.signals)
    others = f", and {ahead:,} others share some or are nearer in meaning" if by_meaning else ""
    return f"{name} was not found: it shares no telling word with the question{others}; or a filter left it out"
