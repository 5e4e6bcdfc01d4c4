"""Deciding questions, and what an approval does: one table from the verb of a question to a function. Beside questions, what an
import brought waits for a person: its batch is confirmed or put away as a whole.

Only a person approves: an access with `origin="user"`. The approval is then that person's own act, under their name and with
their rights, through the same gate as everything else; so it is journalled, can be undone, and happens once.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from memorist import checks
from memorist.access import WRITERS, Access
from memorist.design import Tools
from memorist.errors import Conflict, Invalid, NotFound, OutOfScope, Refused
from memorist.records import Outcome, Record, Report
from memorist.remember import answers, bring, choices, conflicts, consent, edit, erase, gate, move, promotion, undo
from memorist.remember.authority import Agreed
from memorist.remember.changes import Caller, Changes
from memorist.remember.undo import with_columns
from memorist.store.nouns import Run
from memorist.store.where import Where
from memorist.text.visible import quoted

Done = Outcome | Report
DECISIONS = ("approve", "deny")
ONLY_A_PERSON = (
    "only a person approves: use `memorist review` at a terminal, or an access with origin='user'; this one is {}'s"
)


@dataclass(frozen=True, slots=True)
class Handler:
    """How a question is carried out. `at_once`: in the transaction that closes it, so it happens exactly once; one that takes
    many transactions must be safe to repeat."""

    act: Callable[[Mapping[str, Any], Caller], Done]
    at_once: bool = True
    declined: Callable[[Mapping[str, Any], Caller], None] | None = None  # runs when a person denies it


def decide(id: str, decision: str, by: Caller) -> Done:
    """Approves a question and carries it out, or denies it and removes it from the queue."""
    if decision not in DECISIONS:
        raise Invalid(f"there is no decision {quoted(decision)}; decide {' or '.join(DECISIONS)}")
    if decision == "deny":
        return _deny(id, by)
    if by.access.origin != "user":
        raise Refused(ONLY_A_PERSON.format(by.access.origin))
    run = consent.find(id, by.access, by.store)
    handler, asked = _handler(run), consent.shown(run)
    by = replace(by, agreed=Agreed(drafted_by=f"{asked.actor} through {asked.surface}"))
    if handler.at_once:
        with by.writer.transaction():
            return _approve(consent.find(id, by.access, by.store), handler, by)
    return _approve(consent.find(id, by.access, by.store), handler, by)


def decide_all(decision: str, by: Caller) -> list[Done]:
    """All questions that wait, one after another; what cannot be done is told, and does not keep the others waiting."""
    return [_decided(each.id, decision, by) for each in consent.waiting(by.access, by.store)]


def _decided(id: str, decision: str, by: Caller) -> Done:
    try:
        return decide(id, decision, by)
    except (Refused, OutOfScope, Conflict, NotFound) as problem:
        return Outcome("refused", f"{id}: {problem}", pending=id)


def is_batch(id: object) -> bool:
    return isinstance(id, str) and re.fullmatch(r"b[0-9]{1,18}", id) is not None


def decide_batch(batch: str, decision: str | None, by: Caller) -> Report:
    """What of a batch nobody vouches for: confirmed as the user's word, archived if it is denied, only shown without a
    decision. What was changed since is left: a person who agrees to an import has not seen that. One undo takes it back."""
    if decision not in (None, *DECISIONS):
        raise Invalid(f"there is no decision {quoted(decision)}; decide {' or '.join(DECISIONS)}")
    if decision is not None and by.access.origin != "user":
        raise Refused(ONLY_A_PERSON.format(by.access.origin))
    ids = undo.ids_of(batch, by)
    sweep = _sweep_of(batch, decision == "deny", by)
    report = sweep.plan(ids) if decision is None else sweep.apply(ids)
    return report if report.changed else replace(report, advice=f"nothing of {batch} waits to be confirmed")


def _sweep_of(batch: str, denied: bool, by: Caller) -> edit.Sweep:
    done = "forgotten" if denied else "confirmed"
    because = checks.label(f"{done} with the rest of {batch}", "the reason")

    def change(record: Record) -> Record:
        later = undo.changed_since(by.store.journal(record=record.id), batch)
        if later is not None:
            raise Refused(f"memory {record.number} was changed since by {later}; decide it by its number")
        return edit.archived(record, because) if denied else bring.adopted(record)

    doubtful = by.where.also("state", "eq", "active").also("status", "eq", "candidate")
    if not denied:  # a confirmed piece would not be replaced when its file changes
        doubtful = doubtful.also("kind", "ne", "document")
    return edit.Sweep(done, change, because, doubtful, by.with_consent())


def _approve(run: Run, handler: Handler, by: Caller) -> Done:
    done = handler.act((run.question or {})["details"], by)
    if not (isinstance(done, Outcome) and done.outcome == "refused"):
        consent.close(run, "done", done.batch, by)
    return done


def _deny(id: str, by: Caller) -> Outcome:
    """A person declines, or the actor who asked withdraws the question."""
    with by.writer.transaction():
        run = consent.find(id, by.access, by.store)
        if by.access.role not in WRITERS:
            raise OutOfScope(f"a {by.access.role} access decides nothing; use a project's access")
        asked = (run.owner, (run.question or {}).get("door", by.access.origin))
        if by.access.origin != "user" and asked != (by.access.actor, by.access.origin):
            raise Refused(f"q{run.id} was asked by {run.owner}: only they or a person can withdraw it")
        consent.close(run, "denied", None, by)
        handler = HANDLERS.get(consent.shown(run).verb)
        if handler is not None and handler.declined is not None and by.access.origin == "user":
            handler.declined((run.question or {})["details"], by)
    return Outcome("changed", f"declined, and nothing was done: {consent.shown(run).summary}", pending=f"q{run.id}")


def _handler(run: Run) -> Handler:
    verb = consent.shown(run).verb
    if verb not in HANDLERS:
        raise Refused(
            f"q{run.id} asks for {quoted(verb)}, which this version cannot do; deny it, or use another version"
        )
    return HANDLERS[verb]


# ---------------------------------------------------------------- the table


def _remember(details: Mapping[str, Any], by: Caller) -> Outcome:
    draft = consent.draft_of(details)
    return gate.admit([draft], by, str(draft.scope))[0]


def _revise(details: Mapping[str, Any], by: Caller) -> Outcome:
    find = partial(_memory, details["id"], by.access, by.tools)
    changes, version = consent.changes_of(details), details["version"]
    because, used = details["because"], details["used"]
    return edit.revise(find, changes, by, version, because, used)


def _forget(details: Mapping[str, Any], by: Caller) -> Report:
    where, because = consent.reach_of(details, by.access), details["because"]
    sweep = edit.Sweep("forgotten", partial(edit.archived, because=because), because, where, by)
    return sweep.apply([brief.id for brief in by.store.briefs(where)])


def _still_needed(details: Mapping[str, Any], by: Caller) -> None:
    """Who keeps what nobody referred to for long refers to it."""
    changes = Changes.of(by)
    for record in by.store.get([brief.id for brief in by.store.briefs(consent.reach_of(details, by.access))], by.where):
        changes.count("used", record, edit._used(record, changes.now), "a person wants to keep it")
    changes.commit()


def _erase(details: Mapping[str, Any], by: Caller) -> Report:
    where = consent.reach_of(details, by.access)
    ids = [brief.id for brief in by.store.briefs(where)]
    return erase.erase(ids, details["because"], where, by, derived=details.get("derived", "erase"))


def _merge(details: Mapping[str, Any], by: Caller) -> Report:
    """Archives the others, with the memory they were merged into as the reason."""
    kept = _memory(details["keep"], by.access, by.tools)
    if kept.state != "active":
        raise Refused(f"memory {kept.number} is {kept.state}, so nothing can be merged into it; deny the question")
    because = checks.label(f"merged into [id:{kept.number}]", "the reason")
    sweep = edit.Sweep("forgotten", partial(edit.archived, because=because), because, by.where, by)
    return sweep.apply([id for id in details["ids"] if id != kept.id])


def _change(details: Mapping[str, Any], by: Caller) -> Outcome:
    """Sets the columns that a person agreed to, in the version that they were asked about."""

    def change(record: Record) -> Record:
        consent.must_be_at({details["id"]: details["version"]}, [record])
        return with_columns(record, details["columns"])

    find = partial(_memory, details["id"], by.access, by.tools)
    return edit.edit(find, details["verb"], change, by, details["because"])


def _link(details: Mapping[str, Any], by: Caller) -> Outcome:
    def both() -> tuple[Record, Record]:
        a, b = _memory(details["a"], by.access, by.tools), _memory(details["b"], by.access, by.tools)
        consent.must_be_at(details["versions"], (a, b))
        return a, b

    return edit.relate(both, details["kind"], by, details["weight"], details["evidence"])


def _feedback(details: Mapping[str, Any], by: Caller) -> Outcome:
    return edit.vote(partial(_memory, details["id"], by.access, by.tools), details["verdict"], by)


def _undo(details: Mapping[str, Any], by: Caller) -> Report:
    return undo.undo(details["batch"], by)


def _memory(id: str, who: Access, tools: Tools) -> Record:
    found = tools.store.get([id], Where(who))
    if not found:
        raise Refused("the memory in the question is no longer readable here; deny the question")
    return found[0]


HANDLERS: Mapping[str, Handler] = {
    "remember": Handler(_remember),
    "revise": Handler(_revise),
    "forget": Handler(_forget, at_once=False),
    "stale": Handler(_forget, at_once=False, declined=_still_needed),
    "erase": Handler(_erase, at_once=False),
    "change": Handler(_change),
    "link": Handler(_link),
    "feedback": Handler(_feedback),
    "undo": Handler(_undo, at_once=False),
    "merge": Handler(_merge),
    "move": Handler(move.approved, at_once=False),
    "promote": Handler(promotion.approved, declined=promotion.declined),
    "alias": Handler(choices.accept),
    "resolve": Handler(conflicts.approved),
    "contradiction": Handler(answers.replaces, declined=answers.both_hold),
    "verify": Handler(_forget, at_once=False, declined=answers.still_holds),
    "tags": Handler(answers.retagged, at_once=False),
}
