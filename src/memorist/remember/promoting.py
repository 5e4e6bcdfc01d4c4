"""The act of promotion: a memory is moved to where more will find it.

An explicit act moves any memory: a task's lesson to its project, a project's pattern to `global`. Findings with enough points go
to their project: as a proposal of upkeep, or after a person agreed. What comes in by itself stays a candidate.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import Any

from memorist.design import Ask, Promotion, Proposal
from memorist.errors import Invalid, Refused
from memorist.kinds import MEMORY, kind_of
from memorist.records import Outcome, Record, Report, Status
from memorist.remember import change, pending
from memorist.remember.changes import Author
from memorist.remember.consent import shown_in_question
from memorist.remember.findings import TOLD, is_finding
from memorist.remember.many import Sweep, archived
from memorist.remember.promotion import Weighed, weighed

DECLINED = "a person did not want it kept"


def all_of(promotion: Promotion, home: str, by: Author, dry_run: bool = False) -> tuple[list[Weighed], Report | None]:
    """Weighs the findings of a project, and does with those that have enough points what the design says."""
    target = by.access.must_write(home)
    if target == "global":
        raise Invalid("nothing gets into global by itself; name the memory to promote")
    answers = weighed(promotion, target, by.access, by.tools)
    if dry_run or promotion.mode == "manual":
        return answers, None
    if promotion.mode == "propose":
        return [ask_for(each, by) if each.outcome == "enough" else each for each in answers], None
    plan = proposal(answers)
    report = Sweep(plan.verb, plan.edit, plan.because, by.where, by).apply(plan.ids)
    moved = {each.id for each in report.changed}
    return [_done(each, moved, report.left) for each in answers], report


def _done(found: Weighed, moved: Set[str], left: Mapping[str, str]) -> Weighed:
    if found.id in moved:
        return replace(found, outcome="promoted")
    return replace(found, outcome="left", because=left[found.id]) if found.id in left else found


def proposal(answers: Sequence[Weighed]) -> Proposal:
    """Moves every finding that has enough points to its project."""
    enough = {each.id: each for each in answers if each.outcome == "enough"}

    def promote(record: Record) -> Record:
        found = enough[record.id]
        if not is_finding(record) or record.state != "active":
            raise Refused(f"memory {record.number} is no finding of a session any more")
        return _moved(record, found.scope, f"promoted: {found.because}", found.signals)

    because = "promoted: it has enough points"
    return Proposal("promoted", promote, because, list(enough), f"{len(answers):,} findings were weighed")


def _moved(record: Record, scope: str, because: str, signals: Sequence[str] = ()) -> Record:
    kept = {name: value for name, value in record.data.items() if name not in TOLD or not is_finding(record)}
    data = {**kept, "signals": list(signals)} if signals else kept
    source = replace(record.provenance, confidence_because=because)
    return replace(record, scope=scope, data=data, provenance=source)


def ask_for(found: Weighed, by: Author) -> Weighed:
    """Asks a person, who promotes it by approving."""
    record = next(iter(by.store.get([found.id], by.where)), None)
    if record is None:
        return replace(found, outcome="left", because="it is not there any more")
    details = {"id": found.id, "scope": found.scope, "version": record.version, "signals": list(found.signals)}
    ask = Ask("promote", f"keep in {found.scope}: {shown_in_question(found.text)}", None, details)
    said = pending.ask(ask, found.scope, found.because, by)
    if said.answer == "deny":
        declined(details, by)
    if not said.approved:
        return replace(found, outcome="asked" if said.id else "left", because=said.because, pending=said.id)
    done = approved(details, by)
    return replace(found, outcome="promoted", because=done.because)


def approved(details: Mapping[str, Any], by: Author) -> Outcome:
    """What a person agreed to: this memory, as it was when they were asked, into that scope."""

    def find() -> Record:
        found = by.store.get([details["id"]], by.where)
        if not found or found[0].version != details["version"]:
            raise Refused("the memory was changed since the question was asked; deny it, and promote it anew")
        return found[0]

    return promote(find, details["scope"], "a person agreed", by, details.get("signals", ()), agreed=True)


def declined(details: Mapping[str, Any], by: Author) -> None:
    """A finding that a person does not want is forgotten, so that nobody is asked about it again."""
    found = by.store.get([details["id"]], by.where.also("state", "eq", "active"))
    if found and is_finding(found[0]) and by.access.may_write(found[0].scope):
        archive = partial(archived, because=DECLINED)
        change.edit(lambda: found[0], "forgotten", archive, by, DECLINED)


def promote(
    find: change.Find,
    scope: str,
    because: str,
    by: Author,
    signals: Sequence[str] = (),
    agreed: bool = False,
) -> Outcome:
    """Moves a memory to a scope where more will find it. Into `global` only with a person's consent; the user's own word
    also confirms it."""
    target = by.access.must_write(scope)
    if target == "global" and not agreed:
        record = find()
        if record.scope != target:
            by.access.must_write(record.scope)
            details = {"id": record.id, "scope": target, "version": record.version}
            ask = Ask("promote", f"make known in every project: {shown_in_question(record.text)}", None, details)
            said = pending.ask(ask, record.scope, because, by)
            if not said.approved:
                return said.outcome(record.id)

    def move(record: Record) -> Record:
        if record.state != "active":
            raise Refused(f"memory {record.number} is {record.state}; restore it before you promote it")
        kind = kind_of(record.kind, by.tools.kinds)
        if kind.append_only or kind.layer != MEMORY:
            raise Refused(f"memory {record.number} is a {record.kind}, which stays where it was said")
        status: Status = "confirmed" if by.access.origin == "user" else record.status
        if record.scope == target:
            return replace(record, status=status)
        return replace(_moved(record, target, because, signals), status=status)

    return change.edit(find, "promoted", move, by, because)
