"""Deciding questions, and what an approval does: one table from the verb of a question to a function. Besides questions,
imports wait for a person: their batch is confirmed or archived as a whole.

Only a person approves: an access with `origin="user"`. The approval is then that person's own act, under their name and with
their rights, through the same gate as everything else; so it is journalled, can be undone, and happens once.

The answer to a question of upkeep is kept where the next upkeep reads it: two memories that both hold are related as such, and
a memory that still holds gets the present digests of its files. So nobody is asked the same thing twice.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from memorist import checks
from memorist.access import WRITERS
from memorist.errors import Conflict, Invalid, NotFound, OutOfScope, Refused
from memorist.folder import HASHES
from memorist.records import Outcome, Record, Report
from memorist.remember import bring, choices, conflicts, consent, edit, erase, gate, move, promotion, undo
from memorist.remember.authority import Agreed
from memorist.remember.changes import Caller, Changes
from memorist.remember.undo import with_columns
from memorist.store.nouns import Run
from memorist.store.where import Where
from memorist.text.visible import quoted

Done = Outcome | Report
DECISIONS = ("approve", "deny")
ONLY_A_PERSON = (
    "only a person approves: use `memorist review` at a terminal, or an access with origin='user'; this one has {}"
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
    """Decides all waiting questions, one after another; what fails is reported, and does not stop the others."""
    return [_decided(each.id, decision, by) for each in consent.waiting(by.access, by.store)]


def _decided(id: str, decision: str, by: Caller) -> Done:
    try:
        return decide(id, decision, by)
    except (Refused, OutOfScope, Conflict, NotFound) as problem:
        return Outcome("refused", f"{id}: {problem}", pending=id)


def is_batch(id: object) -> bool:
    return isinstance(id, str) and re.fullmatch(r"b[0-9]{1,18}", id) is not None


def decide_batch(batch: str, decision: str | None, by: Caller) -> Report:
    """The unvouched memories of a batch: confirmed as the user's word, archived if denied, only listed without a decision.
    What was changed since is left, because a person who agrees to an import has not seen that. A single undo reverts it."""
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
    find, changes = partial(_memory, details["id"], by), consent.changes_of(details)
    return edit.revise(find, changes, by, details["version"], details["because"], details["used"])


def _reached(details: Mapping[str, Any], by: Caller) -> tuple[list[str], Where]:
    where = consent.reach_of(details, by.access)
    return [brief.id for brief in by.store.briefs(where)], where


def _forget(details: Mapping[str, Any], by: Caller) -> Report:
    ids, where = _reached(details, by)
    return _archived(ids, details["because"], where, by)


def _archived(ids: Sequence[str], because: str, where: Where, by: Caller) -> Report:
    return edit.Sweep("forgotten", partial(edit.archived, because=because), because, where, by).apply(ids)


def _still_needed(details: Mapping[str, Any], by: Caller) -> None:
    """Counts a use: whoever keeps what nobody used for long needs it."""
    changes = Changes.of(by)
    for record in by.store.get(_reached(details, by)[0], by.where):
        changes.count("used", record, edit._used(record, changes.now), "a person wants to keep it")
    changes.commit()


def _erase(details: Mapping[str, Any], by: Caller) -> Report:
    ids, where = _reached(details, by)
    return erase.erase(ids, details["because"], where, by, derived=details.get("derived", "erase"))


def _merge(details: Mapping[str, Any], by: Caller) -> Report:
    """Archives the others, with the memory they were merged into as the reason."""
    kept = _memory(details["keep"], by)
    if kept.state != "active":
        raise Refused(f"memory {kept.number} is {kept.state}, so nothing can be merged into it; deny the question")
    because = checks.label(f"merged into [id:{kept.number}]", "the reason")
    return _archived([id for id in details["ids"] if id != kept.id], because, by.where, by)


def _change(details: Mapping[str, Any], by: Caller) -> Outcome:
    """Sets the columns that a person agreed to, in the version they were asked about."""

    def change(record: Record) -> Record:
        consent.must_be_at({details["id"]: details["version"]}, [record])
        return with_columns(record, details["columns"])

    find = partial(_memory, details["id"], by)
    return edit.edit(find, details["verb"], change, by, details["because"])


def _link(details: Mapping[str, Any], by: Caller) -> Outcome:
    def both() -> tuple[Record, Record]:
        a, b = _memory(details["a"], by), _memory(details["b"], by)
        consent.must_be_at(details["versions"], (a, b))
        return a, b

    return edit.relate(both, details["kind"], by, details["weight"], details["evidence"])


def _replaces(details: Mapping[str, Any], by: Caller) -> Outcome:
    """The newer one holds: the older one is superseded."""
    return _resolved(details, details["a"], by)


def _both_hold(details: Mapping[str, Any], by: Caller) -> None:
    _resolved(details, conflicts.BOTH, by)


def _resolved(details: Mapping[str, Any], keep: str, by: Caller) -> Outcome:
    """Closes it as `resolve` does; a conflict that only upkeep saw is recorded first, in the same batch."""
    both, by = partial(conflicts.both_of, details, by), replace(by, batch=[])
    if not conflicts.links_between(*both(), by.store, ("contradicts", "supersedes")):
        edit.relate(both, "contradicts", by, 1.0, details["because"])
    return conflicts.resolve(both, keep, details["because"], by)


def _still_holds(details: Mapping[str, Any], by: Caller) -> None:
    """Gives the memories of the question the digests that their files had when it was asked."""
    changes = Changes.of(by)
    for record in by.store.get(list(details["hashes"]), by.where):
        if record.state == "active":
            kept = {**record.data.get(HASHES, {}), **details["hashes"][record.id]}
            new = replace(record, data={**record.data, HASHES: kept})
            changes.put("verified", record, changes.stamped(record, new), "a person says that it still holds")
    changes.commit()


def _retagged(details: Mapping[str, Any], by: Caller) -> Report:
    """Replaces several tags with the same meaning by one, on the memories of a scope."""
    others, kept = set(details["others"]), details["tag"]

    def retag(record: Record) -> Record:
        return replace(record, tags=tuple(dict.fromkeys(kept if tag in others else tag for tag in record.tags)))

    where = by.where.also("state", "eq", "active").also("scope", "eq", details["scope"])
    found = by.store.briefs(where.also("tags", "any", tuple(sorted(others))))
    return edit.Sweep("tagged", retag, details["because"], where, by).apply([brief.id for brief in found])


def _memory(id: str, by: Caller) -> Record:
    found = by.store.get([id], by.where)
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
    "feedback": Handler(lambda asked, by: edit.vote(partial(_memory, asked["id"], by), asked["verdict"], by)),
    "undo": Handler(lambda asked, by: undo.undo(asked["batch"], by), at_once=False),
    "merge": Handler(_merge),
    "move": Handler(move.approved, at_once=False),
    "promote": Handler(promotion.approved, declined=promotion.declined),
    "alias": Handler(choices.accept),
    "resolve": Handler(conflicts.approved),
    "contradiction": Handler(_replaces, declined=_both_hold),
    "verify": Handler(_forget, at_once=False, declined=_still_holds),
    "tags": Handler(_retagged, at_once=False),
}
