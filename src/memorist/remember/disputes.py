"""What becomes of a new memory that does not fit one that is there.

The design says what is done (`Design.conflicts`): `flag` links the two as contradicting, `supersede` retires the older one
where it is clear that the newer one tells how it is now, and `ask` flags them and asks a person. Clear is: one slot with
another value, or a statement that says itself that it corrects; stated later, by somebody who is trusted no less, and not
read from a file. Everything else is flagged, and both are shown until somebody resolves it.

Candidates are those of the same shelf that make a claim about the same (`store/topics.py`), a few at most; what the batch
itself is about to store is looked at too.
"""

from dataclasses import replace
from datetime import datetime

from memorist.design import Ask, Conflicts, Tools
from memorist.kinds import MEMORY, kind_of
from memorist.records import Link, Outcome, Record, Trust
from memorist.remember import pending
from memorist.remember.changes import Author
from memorist.remember.conflict import Clash, Severity, clash
from memorist.remember.consent import shown_in_question
from memorist.remember.reconcile import FROM_FILES, NEW, Batch
from memorist.store.nouns import LOOKED_AT, shelf_of
from memorist.store.rows import difference
from memorist.store.topics import opposed, stated
from memorist.store.writer import Change, Clean
from memorist.text.claims import Claims, claims

MOST = 3  # memories that one new memory is held against
CANDIDATES = 8
LOGS = ("reasoning", "tool_output", "file_change", "summary")  # they tell what happened, and claim nothing for later
RESOLVE = "`conflicts` shows what does not fit, and `resolve` says which of the two holds"
SUPERSEDED = "another value was stated later"
WEIGHTS: dict[Severity, float] = {"high": 1.0, "medium": 0.7, "low": 0.4}
_RANK: dict[Trust, int] = {"low": 0, "medium": 1, "high": 2}


def look(record: Clean, outcome: Outcome, policy: Conflicts, batch: Batch, by: Author) -> Outcome:
    """The outcome of a memory that is going to be added, once what does not fit it has been dealt with."""
    if not may_be_disputed(record, by.tools):
        return outcome
    new = claims(record.text)
    found = [(old, why) for old in _candidates(record, batch, by.tools) if (why := _clash(old, record, new, batch.now))]
    for topic in stated(record.text):
        batch.claimed.setdefault(topic, []).append(record)
    for old, why in found[:MOST]:
        outcome = _settle(old, record, why, outcome, policy, batch, by)
    return outcome


def may_be_disputed(record: Record, tools: Tools) -> bool:
    """Whether it is a statement that another may contradict: no turn, no document, no log."""
    kind = kind_of(record.kind, tools.kinds)
    return kind.layer == MEMORY and kind.recalled and not kind.append_only and kind.name not in LOGS


def _candidates(record: Clean, batch: Batch, tools: Tools) -> list[Clean]:
    """What may be about the same, newest first; first what is not stored yet."""
    topics = opposed(record.text)
    if not topics:
        return []
    claimed = [other for topic in topics for other in batch.claimed.get(topic, [])[: -LOOKED_AT - 1 : -1]]
    found = {other.id: other for other in claimed if other.scope == record.scope}
    for old in tools.store.stating(topics, shelf_of(record), CANDIDATES):
        found.setdefault(old.id, Clean(old))
    others = (old for old in found.values() if old.id != record.id and old.id not in batch.retired)
    return [old for old in others if may_be_disputed(old, tools)]


def _clash(old: Record, record: Record, new: Claims, now: datetime) -> Clash | None:
    was = claims(old.text)
    if (was.personal or new.personal) and old.provenance.speaker != record.provenance.speaker:
        return None  # two people may both say "I live in …"
    if not _hold_together(old, record, now):
        return None
    return clash(was, new, corrects=record.kind == "correction")


def _hold_together(old: Record, record: Record, now: datetime) -> bool:
    """Whether there is a time at which both hold: what was so until May does not contradict what is so from June on."""
    was, new = old.times, record.times
    ended = was.valid_to is not None and was.valid_to <= (new.valid_from or now)
    begins = new.valid_to is not None and new.valid_to <= (was.valid_from or was.created)
    return not ended and not begins


# ---------------------------------------------------------------- what is done


def _settle(
    old: Clean, record: Clean, why: Clash, outcome: Outcome, policy: Conflicts, batch: Batch, by: Author,
) -> Outcome:  # fmt: skip
    name = f"memory {old.number}" if old.number else f"memory {old.id}"
    if policy == "supersede" and why.clear and _may_retire(old, record):
        retire(old, record, f"{why.kind}: {why.reason}", batch)
        return _told(outcome, f"{name} is superseded by it ({why.reason})", f"`undo` brings {name} back, if both hold")
    link = Link(record.id, old.id, "contradicts", WEIGHTS[why.severity], f"{why.kind}: {why.reason}")
    batch.relate(link, record, f"it does not fit {name}")
    advice = RESOLVE
    if policy == "ask":
        asked = pending.queue(_question(old, record, why), record.scope, why.reason, by)
        advice = asked.because
        outcome = replace(outcome, pending=asked.id)
    return _told(outcome, f"it does not fit {name} ({why.reason})", advice)


def _may_retire(old: Record, record: Record) -> bool:
    """Whether the new one may take the place of the old: stated later, trusted no less, said and not read."""
    said = record.origin not in (*FROM_FILES, "tool") and record.status == "confirmed"
    return said and _RANK[record.trust] >= _RANK[old.trust] and record.times.at >= old.times.at and not old.pinned


def retired(old: Record, now: datetime) -> Clean:
    """The memory as one that held until now."""
    end = min(old.times.valid_to or now, now)
    times = replace(old.times, updated=now, valid_to=max(end, old.times.valid_from or end))
    return Clean(replace(old, state="superseded", reason=SUPERSEDED, version=old.version + 1, times=times))


def retire(old: Clean, record: Clean, evidence: str, batch: Batch) -> None:
    """The older one held until now; it stays in the archive, in `as_of` and in the journal."""
    past = retired(old, batch.now)
    batch.put(Change("superseded", past, difference(old, past), SUPERSEDED))
    batch.retired.add(old.id)
    batch.relate(Link(record.id, old.id, "supersedes", 1.0, evidence), record, "it tells how it is now")


def _told(outcome: Outcome, because: str, advice: str) -> Outcome:
    whys = [because] if outcome.because == NEW else [outcome.because, because]
    said = dict.fromkeys((*([outcome.advice] if outcome.advice else ()), advice))
    return replace(outcome, because="; ".join(whys), advice="; ".join(said))


def _question(old: Record, record: Record, why: Clash) -> Ask:
    older, newer = (shown_in_question(each.text) for each in (old, record))
    return Ask(
        "resolve",
        f"does “{newer}” take the place of “{older}”?",
        f"the older one ({old.id}) would no longer be recalled; deny to keep both",
        {"a": record.id, "b": old.id, "because": why.reason},
    )
