"""What needs a person's consent: a preference that holds in every project, and clearing a whole scope.

Each function here asks, and gives the answer of a verb that must not go on, or nothing where it may. What is asked is written
down so exactly that an approval days later does that and nothing more: the draft as it was given, the version a memory had,
the scopes and the newest number that a filter reached.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from memorist.access import Access
from memorist.design import Ask, Tools
from memorist.errors import Invalid
from memorist.records import Draft, Outcome, Record, Report
from memorist.redact import nothing_but_marks
from memorist.remember import pending
from memorist.remember.changes import Author
from memorist.remember.reconcile import FROM_FILES
from memorist.store.where import MOST_VALUES, Clause, Where, holds, type_of
from memorist.store.writer import Clean
from memorist.text.visible import visible

GLOBAL, PREFERENCE = "global", "preference"
SHOWN = 200  # characters of a text in a question
PLACES = ("scope", "state")
BOUNDS = ("gt", "gte", "lt", "lte", "ne")
FOR_GOOD = "This cannot be undone."
CAN_UNDO = "They stay in the archive; undo or restore brings them back."


def everywhere(record: Record) -> bool:
    """Whether it is a preference of the user that every project would go by."""
    return record.kind == PREFERENCE and record.scope == GLOBAL


# ---------------------------------------------------------------- preferences


def to_remember(draft: Draft, record: Clean, by: Author) -> Outcome | None:
    """A new preference for every project. What comes from a file is only a candidate, and what was said before only counts."""
    if not everywhere(record) or record.origin in FROM_FILES:
        return None
    if record.text != draft.text and nothing_but_marks(record.text):
        return None  # it is refused anyway
    twins = by.store.twins(record.space, record.scope, [record.fingerprint])
    if any(twin.state == "active" and everywhere(twin) for twin in twins):
        return None
    checked = {"scope": record.scope, "kind": record.kind, "text": record.text, "data": dict(record.data)}
    checked |= {"tags": list(record.tags), "files": list(record.files)}
    details = {"draft": _given(draft) | {name: value for name, value in checked.items() if value}}
    ask = Ask("remember", f"remember a preference for every project: {shown_in_question(record.text)}", None, details)
    said = pending.ask(ask, record.scope, "a preference in global holds in every project", by)
    return None if said.approved else said.outcome()


def to_revise(
    old: Record,
    new: Record,
    changes: Mapping[str, Any],
    because: str,
    used: bool,
    by: Author,
) -> Outcome | int | None:
    """A change of such a preference, or one that makes it such. Where it was approved: the version it was approved for."""
    if old == new or not (everywhere(old) or everywhere(new)):
        return None
    by.access.must_write(new.scope)
    given = {name: _plain(value) for name, value in changes.items()}
    details = {"id": old.id, "version": old.version, "changes": given, "because": because, "used": used}
    what = f": {shown_in_question(new.text)}" if new.text != old.text else f" ({', '.join(changes)})"
    ask = Ask("revise", f"change memory {old.number}, a preference for every project{what}", None, details)
    said = pending.ask(ask, old.scope, because, by)  # until it is agreed, its words are not everybody's
    return old.version if said.approved else said.outcome(old.id)


def draft_of(details: Mapping[str, Any]) -> Draft:
    """The draft that was asked about."""
    return Draft(**{name: _moment(name, value) for name, value in details["draft"].items()})


def changes_of(details: Mapping[str, Any]) -> dict[str, Any]:
    """The revision that was asked about."""
    return {name: _moment(name, value) for name, value in details["changes"].items()}


def _given(draft: Draft) -> dict[str, Any]:
    """What the draft says beyond the defaults."""
    blank = Draft("")
    said = {field.name: getattr(draft, field.name) for field in fields(Draft)}
    return {name: _plain(value) for name, value in said.items() if value != getattr(blank, name)}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    return dict(value) if isinstance(value, Mapping) else value


def _moment(name: str, value: Any) -> Any:
    timed = name in ("at", "valid_from", "valid_to") and isinstance(value, str)
    return datetime.fromisoformat(value) if timed else value


# ---------------------------------------------------------------- clearing


def to_clear(verb: str, where: Where, ids: Sequence[str], because: str, by: Author) -> Report | None:
    """`forget` or `erase` of everything in a scope, which nobody does by the way."""
    if not ids or not _says_everything(where, len(ids), by.tools):
        return None
    scopes = _touched(where, by.tools)
    if len(scopes) > MOST_VALUES:
        raise Invalid(f"{len(scopes):,} scopes would be cleared at once; name some of them in the filter")
    newest = max((brief.number for brief in by.store.briefs(where)), default=0)
    reach = where.also("scope", "in", tuple(scopes)).also("number", "lte", newest)
    clauses = [[clause.field, clause.op, _plain(clause.value)] for clause in reach.clauses]
    danger = FOR_GOOD if verb == "erase" else CAN_UNDO
    summary = f"{verb} all {len(ids):,} memories in {', '.join(scopes[:5])}{' …' if len(scopes) > 5 else ''}"
    ask = Ask(verb, summary, danger, {"clauses": clauses, "because": because})
    private = next((scope for scope in scopes if scope != GLOBAL), GLOBAL)
    said = pending.ask(ask, private, because, by)
    return None if said.approved else said.report("forgotten" if verb == "forget" else "erased")


def reach_of(details: Mapping[str, Any], who: Access) -> Where:
    """The filter that was asked about, for whoever approves: exactly those scopes, and nothing that is newer."""
    clauses = tuple(Clause(field, op, _value(field, value)) for field, op, value in details["clauses"])
    for clause in clauses:
        if (clause.field, clause.op) == ("scope", "in"):
            for scope in clause.value:
                who.must_write(scope)
    return Where(who, clauses)


def _value(field: str, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_value(field, each) for each in value)
    return datetime.fromisoformat(value) if type_of(field) == "time" and isinstance(value, str) else value


def _says_everything(where: Where, found: int, tools: Tools) -> bool:
    """Whether the filter names nothing but places: no kind, no tag, no session. Whoever names more has something in mind;
    but a bound that leaves nothing out, such as a time before the first memory, names nothing."""
    places = tuple(clause for clause in where.clauses if clause.field in PLACES)
    if not all(holds(clause, "active") for clause in places if clause.field == "state"):
        return False
    others = [clause for clause in where.clauses if clause.field not in PLACES]
    if not all(clause.op in BOUNDS for clause in others):
        return False
    return not others or tools.store.count(Where(where.access, places)) == found


def _touched(where: Where, tools: Tools) -> list[str]:
    who = where.access
    scopes = [scope for scope in tools.store.scopes(who.space) if who.may_read(scope) and who.may_write(scope)]
    return sorted(scope for scope in scopes if tools.store.count(where.also("scope", "eq", scope)))


def shown_in_question(text: str) -> str:
    line = " ".join(visible(text).split())
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}…"
