"""The write gate: exactly one function turns drafts into stored rows.

    draft → access → checks → origin and trust → redaction → consent → key seen before? → twin? → conflict? → one transaction

Every surface, importer and job goes through `admit`. What happened to each draft is said in its `Outcome`; a draft that
cannot be accepted raises, and then nothing of the whole batch is stored. In an import it is refused alone: one bad line of
a file is no reason to leave the others.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from memorist import checks
from memorist.access import Access
from memorist.design import Conflicts, Tools
from memorist.errors import Conflict, Invalid, MemoristError
from memorist.kinds import Kind, kind_named
from memorist.records import Draft, Origin, Outcome, Provenance, Record, Times, new_id
from memorist.redact import nothing_but_marks
from memorist.remember import disputes
from memorist.remember.changes import Author
from memorist.remember.consent import to_remember
from memorist.remember.reconcile import KNOWN_ALREADY, UNDONE, Batch, add_or_reinforce, bring_back
from memorist.remember.trust import origin_of, status_of, trust_of
from memorist.store.nouns import KeyUse
from memorist.store.where import Where, canonical
from memorist.store.writer import Clean, Writer
from memorist.text.visible import quoted

IS_ID = re.compile("m[0-9a-hjkmnp-tv-z]{26}")


def admit(
    drafts: Sequence[Draft],
    by: Author,
    home: str,
    batch_id: str | None = None,
    agreed: bool = False,
    conflicts: Conflicts = "flag",
) -> list[Outcome]:
    """Stores the drafts in one transaction. `home` is the scope of drafts that name none; a `batch_id` goes on. `agreed`: a
    person has been asked, where one has to be. `conflicts`: what becomes of what no longer fits."""
    now = by.now()
    cleaned = [_checked(place, draft, by, home, now) for place, draft in enumerate(drafts, 1)]
    if not agreed:
        cleaned = [
            record if isinstance(record, Outcome) else to_remember(draft, record, by) or record
            for draft, record in zip(drafts, cleaned, strict=True)
        ]
    clean = [record for record in cleaned if isinstance(record, Record)]
    by.writer.meaning.ahead(clean)
    with by.writer.transaction():
        batch = Batch(now)
        batch.look_up_twins(clean, by.tools)
        outcomes = [
            _decide(draft, record, by, batch, conflicts) if isinstance(record, Record) else record
            for draft, record in zip(drafts, cleaned, strict=True)
        ]
        uses = list(batch.key_uses.values())
        id, stored = by.writer.commit(batch.changes, by.access, links=batch.links, key_uses=uses, batch=batch_id)
    by_id = {record.id: record for record in stored}
    return [_finished(outcome, id, by_id) for outcome in outcomes]


def _checked(place: int, draft: Draft, by: Author, home: str, now: datetime) -> Clean | Outcome:
    """The draft as a clean record; what is wrong with one of many is said with its place."""
    try:
        record = _record(draft, by.access, home, now, by.tools.kinds)
        by.writer.refuse_secret(record.scope, "the scope")
        return by.writer.clean(record)
    except MemoristError as problem:
        if by.access.origin == "import":
            return Outcome("refused", str(problem))
        if place == 1:
            raise
        raise type(problem)(f"draft {place} of its batch: {problem}") from problem


def _record(draft: Draft, who: Access, home: str, now: datetime, kinds: Mapping[str, Kind]) -> Record:
    """The draft as a record, everything checked."""
    scope = who.must_write(draft.scope or home)
    kind = kind_named(draft.kind, kinds)
    origin = origin_of(kind.name, draft.role, who)
    valid_from, valid_to = checks.moment(draft.valid_from, "valid_from"), checks.moment(draft.valid_to, "valid_to")
    checks.interval(valid_from, valid_to)
    return Record(
        id=new_id(now) if draft.id is None else _brought_id(draft.id, origin),
        space=who.space,
        scope=scope,
        kind=kind.name,
        text=checks.text(draft.text),
        title=checks.optional_label(draft.title, "the title"),
        tags=checks.labels(draft.tags, "tags") if draft.tags else (),
        files=checks.labels(draft.files, "files") if draft.files else (),
        data=checks.data(draft.data) if draft.data else {},
        importance=kind.importance if draft.importance is None else checks.share(draft.importance, "importance"),
        confidence=1.0 if draft.confidence is None else checks.share(draft.confidence, "confidence"),
        pinned=checks.flag(draft.pinned, "pinned"),
        times=Times(checks.moment(draft.at, "at") or now, now, now, None, valid_from, valid_to),
        provenance=_provenance(draft, who),
        season=checks.optional_label(draft.season, "the season"),
        origin=origin,
        trust=trust_of(origin),
        status="candidate" if checks.flag(draft.doubtful, "doubtful") else status_of(trust_of(origin)),
    )


def _brought_id(id: str, origin: Origin) -> str:
    """Only an import may bring ids, so that the same export is the same memories wherever it is read."""
    if origin != "import":
        raise Invalid("only imports bring ids; leave the id out")
    if not isinstance(id, str) or not IS_ID.fullmatch(id):
        raise Invalid(f"{quoted(id)} is no id of a memory; leave it out to get a new one")
    return id


def _provenance(draft: Draft, who: Access) -> Provenance:
    return Provenance(
        actor=who.actor,
        surface=who.surface,
        session=checks.optional_label(draft.session, "the session"),
        role=checks.optional_label(draft.role, "the role"),
        speaker=checks.optional_label(draft.speaker, "the speaker"),
        agent=checks.optional_label(draft.agent, "the agent"),
        task=checks.optional_label(draft.task, "the task"),
        messages=checks.span(draft.messages, "messages"),
        snippet=checks.optional_label(draft.snippet, "the snippet"),
        confidence_because=checks.optional_label(draft.confidence_because, "the reason of the confidence"),
    )


def _decide(draft: Draft, record: Clean, by: Author, batch: Batch, conflicts: Conflicts) -> Outcome:
    if record.text != draft.text and nothing_but_marks(record.text):
        return Outcome("refused", "the text is nothing but a secret, and secrets are not stored")
    if draft.id is not None and record.id in batch.ids:
        return Outcome("unchanged", "it is there already", record.id)
    if draft.id is not None and by.store.keys([record.id]):
        return _brought_before(record.id, by.access, batch, by.tools)
    use = _key_use(draft, record, batch.now, by.writer)
    seen = None if use is None else batch.key_uses.get(use.key) or by.store.key_use(use.key)
    if use and seen:
        return _repeated(use, seen, by.access, by.tools)
    outcome = add_or_reinforce(record, batch, by.tools)
    if outcome.outcome == "added":
        outcome = disputes.look(batch.changes[-1].record, outcome, conflicts, batch, by)
    if use and outcome.id:
        batch.key_uses[use.key] = replace(use, record=outcome.id, outcome=outcome.outcome)
    return outcome


def _key_use(draft: Draft, record: Clean, now: datetime, writer: Writer) -> KeyUse | None:
    if draft.key is None:
        return None
    key = checks.label(draft.key, "the key")
    # What was checked stands for what was given: a list and a tuple of tags are the same draft.
    same = replace(draft, key=None, kind=record.kind, scope=record.scope, tags=record.tags, files=record.files, data={})
    said = repr(same) + canonical(record.data)
    here = canonical([record.space, record.scope, key])  # another project's keys are none of our business
    return KeyUse(writer.digest(f"key {here}"), writer.digest(f"draft {said}"), "", "", now)


def _brought_before(id: str, who: Access, batch: Batch, tools: Tools) -> Outcome:
    """An id that is there already stays what it is here; one that was erased stays erased. Only what an undo of an import
    took away comes back with the next import."""
    record = next(iter(tools.store.get([id], Where(who))), None)
    if record is None:
        return Outcome("refused", "its id belongs to another memory", id)
    if record.state == "erased":
        return Outcome("refused", "it was erased here, and an import does not bring it back", id)
    if record.state == "archived" and record.reason == UNDONE:
        return bring_back(Clean(record), batch, "the import that brought it was taken back, and here it is again")
    return Outcome("unchanged", KNOWN_ALREADY[record.state], id, record)


def _repeated(use: KeyUse, seen: KeyUse, who: Access, tools: Tools) -> Outcome:
    if seen.outcome == "erased":
        return Outcome("refused", "what was stored under this key was erased; use a new key to store it again")
    if seen.draft and use.draft != seen.draft:  # it is empty where a text of that memory was erased
        raise Conflict("this idempotency key was used for another text; use a new key for a new text")
    record = next(iter(tools.store.get([seen.record], Where(who))), None)
    return Outcome("repeated", f"this key was stored before ({seen.outcome})", seen.record, record)


def _finished(outcome: Outcome, batch: str, stored: Mapping[str, Record]) -> Outcome:
    record = stored.get(outcome.id or "")
    return replace(outcome, record=record, batch=batch) if record else outcome
