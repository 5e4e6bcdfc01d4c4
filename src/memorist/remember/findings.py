"""Findings: what rules found in the texts of a session, kept there as candidates for a project.

A finding is a memory like any other: it passes the gate, is redacted and journalled, and can be undone. It lies in the scope of
its session, and its data says which rule found it and for which project (`home`), so that one project never gets what was
found while working on another. `promotion.py` weighs findings, `promoting.py` makes them memories of their project.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from memorist import checks
from memorist.access import Access
from memorist.design import Tools
from memorist.errors import Invalid
from memorist.records import Draft, Origin, Outcome, Record, Scope
from memorist.remember import change, gate
from memorist.remember.changes import Author
from memorist.store.where import Order, Where

if TYPE_CHECKING:
    from memorist.remember.extract import Finding

TOLD = ("rule", "home", "subject", "worked", "resolved", "asked_for", "agents")  # what a finding's data says of it
AT_MOST = 10_000  # looked at in one go, oldest first


def keep(
    text: str,
    session: str | None,
    agent: str | None,
    role: str | None,
    message: int | None,
    by: Author,
    home: str,
) -> list[Outcome]:
    """Stores the findings of a text in its session, as candidates for `home`."""
    if session is None:
        raise Invalid("session is missing: findings belong to the session they were found in, such as session='s1'")
    scope = Scope(f"session/{checks.label(session, 'the session')}")
    if message is not None:
        checks.whole(message, "message", 0, 1 << 53)
    from memorist.remember.extract import extract  # its rules take a while to load

    found = extract(checks.text(text), checks.optional_label(role, "the role"))
    drafts = [_draft(each, scope, session, agent, role, message, home) for each in found]
    if not drafts:
        return []
    finder = by.through(replace(by.access, origin=_origin(role, by.access)))
    outcomes = gate.admit(drafts, finder, home)
    return [_also_by(agent, outcome, finder) for outcome in outcomes]


def _draft(
    found: "Finding", scope: str, session: str, agent: str | None, role: str | None, message: int | None, home: str
) -> Draft:
    return Draft(
        text=found.text,
        kind=found.kind,
        scope=scope,
        files=found.files,
        data=_told(found, home),
        importance=found.relevance,
        confidence=found.confidence,
        session=session,
        role=role,
        agent=agent,
        doubtful=True,
        messages=None if message is None else (message, message),
        snippet=found.snippet or None,
        confidence_because=f"found by a rule: {found.rule}",
    )


def _told(found: "Finding", home: str) -> Mapping[str, Any]:
    told = {"rule": found.rule, "home": home, "subject": found.subject, "worked": found.worked}
    marks = {name: True for name in ("resolved", "asked_for") if getattr(found, name)}
    return {name: value for name, value in told.items() if value is not None} | marks


def _origin(role: str | None, who: Access) -> Origin:
    """A rule's reading of a text is trusted no more than an agent's, and never more than the text."""
    if who.origin in ("user", "agent"):
        return "tool" if role == "tool" else "agent"
    return who.origin


def _also_by(agent: str | None, outcome: Outcome, by: Author) -> Outcome:
    """The same words in the same session are one finding; that another agent said them too is worth knowing."""
    known = outcome.record
    if agent is None or known is None or outcome.outcome != "reinforced" or agent in agents_of(known):
        return outcome
    agents = sorted({*agents_of(known), agent})
    find = partial(_readable, known.id, by.access, by.tools)
    edited = change.edit(
        find,
        "found again",
        lambda r: replace(r, data={**r.data, "agents": agents}),
        by,
        f"found by {agent} too",
    )
    return replace(outcome, record=edited.record)


def agents_of(record: Record) -> set[str]:
    named = record.data.get("agents")
    more = [each for each in named if isinstance(each, str)] if isinstance(named, list | tuple) else []
    return {each for each in (record.provenance.agent, *more) if each}


def _readable(id: str, who: Access, tools: Tools) -> Record:
    return tools.store.get([id], Where(who))[0]


def findings(home: str | None, who: Access, tools: Tools) -> list[Record]:
    where = Where(who).also("state", "eq", "active").also("status", "eq", "candidate").also("data.rule", "ne", None)
    where = where.also("data.home", "ne", None) if home is None else where.also("data.home", "eq", home)
    found = tools.store.find(where, Order("created", ascending=True), AT_MOST)
    return [record for record in found if is_finding(record)]


def is_finding(record: Record) -> bool:
    home = record.data.get("home")
    return Scope(record.scope).family == "session" and isinstance(home, str) and home != "global" and _is_scope(home)


def _is_scope(name: str) -> bool:
    try:
        Scope(name)
    except Invalid:
        return False
    return True
