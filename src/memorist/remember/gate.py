"""The write gate: one function turns drafts into stored rows.

    access → checks → origin and trust → redaction → consent → vectors → | key seen? → twin? → conflict? → commit |

Everything after the bar is one transaction. Every surface, importer and job goes through `admit`. The `Outcome` of a draft
says what happened to it; a draft that cannot be accepted raises, and nothing of its batch is stored. In an import, and in a
conversation that is handed in, only that draft is refused (`spare`): one bad line of a file does not stop the others.

The origin of a text and the trust in it depend on the access it came through, never on the text (`authority.py`): a role may
lower the origin of a turn, and nothing raises it.

When the same thing is said again, the active twin is reinforced and takes over what the new draft adds, unless the twin is the
word of somebody more trusted; if the user says it, it becomes the user's word. A forgotten twin comes back only when the user
says it again; from any other source the text becomes a candidate beside it. Reading a file again adds nothing: existing
memories stay as they are, and those forgotten or revised here stay forgotten or revised.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from functools import partial
from itertools import filterfalse
from typing import Any, TypeVar

from memorist import checks
from memorist.access import GLOBAL, HOMED, Access, family_of, is_homed
from memorist.design import Conflicts, Twins
from memorist.errors import Conflict, Invalid, MemoristError, Refused
from memorist.folder import HASHES
from memorist.kinds import MEMORY, Kind, kind_named
from memorist.noun import line
from memorist.records import Draft, Origin, Outcome, Provenance, Record, Scope, Times, changed, new_id
from memorist.redact import nothing_but_marks, replaced, strings_in, texts_of
from memorist.remember.authority import (
    BROUGHT_BACK,
    FROM_FILES,
    RANK,
    Effect,
    Held,
    least,
    reason_to_ask,
    refuse_pinned_turn,
    status_of,
    trust_of,
    users_word,
)
from memorist.remember.changes import REPLACED, UNDONE, Caller, Changes, same_texts, twin_of, twins_of
from memorist.remember.conflicts import NEW, look
from memorist.remember.consent import to_remember
from memorist.remember.nearly import does_it_otherwise, labels_of_both, says_the_same, where_said, with_triggers
from memorist.remember.threads import Threads
from memorist.remember.turns import MESSAGE, names_message
from memorist.store.meaning import Ahead
from memorist.store.nouns import ERASED_MESSAGE, MESSAGE_KEPT, KeyUse
from memorist.store.where import canonical
from memorist.store.writer import Clean
from memorist.text.injection import LABEL, suspect
from memorist.text.procedure import structured
from memorist.text.twins import normalised
from memorist.text.visible import quoted

Given = TypeVar("Given")  # the input that a record was made from
LONGEST_TOLD = 200  # characters kept in the journal of a text that was said again in other words
ERASED_TURN = (
    "its turn was erased here, and the same message does not bring it back; what is said anew has another id or place, or "
    "goes in with remember(…, session=…)"
)
IS_ID = re.compile("m[0-9a-hjkmnp-tv-z]{26}")
DRAFT_FIELDS = {field.name for field in fields(Draft)}
_BY_ROLE: dict[str, Origin] = {"assistant": "agent", "system": "agent", "tool": "tool"}
KNOWN_ALREADY = {  # state of a twin → why a file does not add it again
    "active": "it is there already",
    "archived": "it was forgotten here, and a file does not bring it back",
    "superseded": "it was revised here, and a file does not bring the old text back",
}


# ---------------------------------------------------------------- drafts


def drafts_of(many: Iterable[Draft | Mapping[str, Any] | str]) -> list[Draft]:
    """A caller's input as drafts; an error names the position."""
    if isinstance(many, str | Mapping | Draft):
        raise Invalid(f"remember_many takes a list of drafts, not one {type(many).__name__}; remember takes one")
    drafts = []
    for place, given in enumerate(many, 1):
        try:
            drafts.append(draft_of(given))
        except Invalid as problem:
            raise _told(place, problem) from problem
    return drafts


def draft_of(given: Draft | Mapping[str, Any] | str) -> Draft:
    if isinstance(given, Draft):
        return given
    if isinstance(given, str):
        return Draft(given)
    if not isinstance(given, Mapping):
        raise Invalid(f"a draft must be a text, a dict or a Draft, not {type(given).__name__}")
    arguments = dict(given)
    arguments["scope"] = scope_of(arguments.get("scope"), arguments.pop("user", None))
    unknown = sorted(str(name) for name in set(arguments) - DRAFT_FIELDS)
    if "content" in arguments and "text" not in arguments:
        raise Invalid("this looks like a chat message; remember(messages, session=…) keeps a list of them as turns")
    if unknown or "text" not in arguments:
        problem = f"has an unknown field {unknown[0][:60]!r}" if unknown else "has no text"
        raise Invalid(f"a draft {problem}; its fields are {', '.join(sorted(DRAFT_FIELDS))}, user")
    return Draft(**arguments)


class Inferred(tuple[str, ...]):
    """Tags that the caller did not give. They do not count when a key is reused, so that the draft is the same whether or not
    a design infers tags."""

    __slots__ = ()


OTHER_TEXT = "this idempotency key was used for another text"


def scope_of(scope: str | None, user: str | None) -> str | None:
    """The scope; `user="ann"` is short for `scope="user/ann"`."""
    if scope is not None and user is not None:
        raise Invalid("give scope or user, not both: user='ann' means scope='user/ann'")
    return f"user/{user}" if user is not None else scope


# ---------------------------------------------------------------- the gate


def admit(
    drafts: Sequence[Draft],
    by: Caller,
    home: str,
    batch: str | None = None,
    policy: Conflicts = "flag",
    first: int = 1,
    spare: bool = False,
    twins: Twins = "exact",
) -> list[Outcome]:
    """Stores the drafts in one transaction. `home` is the scope of drafts that name none; a given `batch` is continued.
    `policy`: what happens to memories that contradict one another; `first`: the number of the first draft, for errors;
    `spare`: a draft that cannot be accepted is refused, and the others are stored; `twins`: what counts as said again."""
    now, alone = by.now(), first == len(drafts) == 1
    drafts = [_about_files(draft, by, home) if draft.files else draft for draft in drafts]
    places = [None] if alone else range(first, first + len(drafts))
    threads = Threads(by, home)
    cleaned = [
        checked(place, draft, by, home, now, threads, spare) for place, draft in zip(places, drafts, strict=True)
    ]
    cleaned = [_asked(draft, record, by, home, policy) for draft, record in zip(drafts, cleaned, strict=True)]
    judge = partial(_sparing if spare else decide, twins=twins)
    try:
        return stored(drafts, cleaned, partial(judge, policy), by, now, batch)
    except Held:  # they would replace most of a scope, so conflicts are only flagged
        return stored(drafts, cleaned, partial(judge, "flag"), by, now, batch)


def admit_apart(
    drafts: Sequence[Draft], by: Caller, home: str, policy: Conflicts = "flag", twins: Twins = "exact"
) -> list[Outcome]:
    """Stores independent drafts in one transaction, each in a batch of its own. If one of them cannot be accepted, or a person
    has to be asked, it raises and nothing is stored or asked; the caller then admits each by itself."""
    now, threads = by.now(), Threads(by, home)
    drafts = [_about_files(draft, by, home) if draft.files else draft for draft in drafts]
    clean = [_by_rule(checked(None, draft, by, home, now, threads), by) for draft in drafts]
    vectors, judge = by.writer.generations.ahead(clean), partial(decide, policy, twins=twins)
    with by.writer.transaction():
        return [
            _settled([draft], [record], judge, by, now, None, vectors)[0]
            for draft, record in zip(drafts, clean, strict=True)
        ]


def _by_rule(record: Clean | Outcome, by: Caller) -> Clean:
    """The record, if nobody has to be asked about it; otherwise raises."""
    if isinstance(record, Outcome) or reason_to_ask(Effect("added", None, record), by):
        raise Refused("one of these has to be looked at by itself; admit them one by one")
    return record


def admit_each(given: Sequence[tuple[Draft, Caller]], home: str, batch: str | None = None) -> list[Outcome]:
    """Stores drafts that one actor hands in through several doors, in one transaction and in order: each is checked, judged
    and journalled by its own door. Contradictions are flagged."""
    if not given:
        return []
    now, threads = given[0][1].now(), Threads(given[0][1], home)
    drafts = [_about_files(draft, by, home) if draft.files else draft for draft, by in given]
    doors = [by for _, by in given]
    cleaned = [
        checked(place, draft, by, home, now, threads)
        for place, (draft, by) in enumerate(zip(drafts, doors, strict=True), 1)
    ]
    cleaned = [
        _asked(draft, record, by, home, "flag") for draft, record, by in zip(drafts, cleaned, doors, strict=True)
    ]

    def settle(each: tuple[Draft, Caller], record: Clean, changes: Changes) -> Outcome:
        changes.hand_to(each[1])
        return decide("flag", each[0], record, changes)

    return stored(list(zip(drafts, doors, strict=True)), cleaned, settle, doors[0], now, batch)


def _about_files(draft: Draft, by: Caller, home: str) -> Draft:
    """Adds to a draft of a project's memory the digests of the files it is about, so that later changes can be noticed. A
    draft from a file keeps the digests it has, and one that a person approves later keeps those from when it was said."""
    scope = draft.scope or home
    here = scope == by.access.home or (is_homed(str(scope)) and draft.home in (None, by.access.home))
    if not here or by.tools.folder.root is None or by.agreed is not None or by.access.origin in FROM_FILES:
        return draft
    try:
        hashes, data = by.tools.folder.hashes(checks.files(draft.files)), checks.data(draft.data)
    except Invalid:  # reported with the position of the draft
        return draft
    return replace(draft, data={**data, HASHES: hashes}) if hashes else draft


def stored(
    given: Sequence[Given],
    cleaned: Sequence[Clean | Outcome],
    settle: Callable[[Given, Clean, Changes], Outcome],
    by: Caller,
    now: datetime,
    batch: str | None,
) -> list[Outcome]:
    """The results of `settle` for the records, in one transaction that has read their twins."""
    clean = [record for record in cleaned if isinstance(record, Record)]
    return _settled(given, cleaned, settle, by, now, batch, by.writer.generations.ahead(clean))


def _settled(
    given: Sequence[Given],
    cleaned: Sequence[Clean | Outcome],
    settle: Callable[[Given, Clean, Changes], Outcome],
    by: Caller,
    now: datetime,
    batch: str | None,
    vectors: Mapping[str, Ahead],
) -> list[Outcome]:
    clean = [record for record in cleaned if isinstance(record, Record)]
    with by.writer.transaction():
        changes = Changes(by, now, vectors)
        look_up(clean, changes)
        outcomes = [
            settle(each, record, changes) if isinstance(record, Record) else record
            for each, record in zip(given, cleaned, strict=True)
        ]
        batch, stored = changes.commit(batch)
    return [changed(each, record=stored[each.id], batch=batch) if each.id in stored else each for each in outcomes]


def checked(
    place: int | None,
    draft: Draft,
    by: Caller,
    home: str,
    now: datetime,
    threads: Threads | None = None,
    spare: bool = False,
) -> Clean | Outcome:
    """The draft as a clean record. An error names the position of the draft if there are several; with `spare` it is returned
    as the outcome."""
    try:
        record = _record(draft, by.access, home, now, by.tools.kinds, threads)
        by.writer.refuse_secret(record.scope, "the scope")
        return by.writer.clean(record)
    except MemoristError as problem:
        spared = spare and isinstance(problem, Invalid | Refused)  # a failing store is an error, not a refusal
        if spared or by.access.origin == "import":
            return Outcome("refused", str(problem))
        raise _told(place, problem) from problem


def _told(place: int | None, problem: MemoristError) -> MemoristError:
    return problem if place is None else type(problem)(f"draft {place}: {problem}")


def check(draft: Draft, by: Caller, home: str) -> None:
    """Raises what `admit` would, as far as the draft alone shows."""
    _record(draft, by.access, home, by.now(), by.tools.kinds)


def _asked(draft: Draft, record: Clean | Outcome, by: Caller, home: str, policy: Conflicts) -> Clean | Outcome:
    """The record, unless a person has to agree: then the outcome of asking. What they agree to at once is stored as their
    word."""
    reason = None if isinstance(record, Outcome) else reason_to_ask(Effect("added", None, record), by)
    if isinstance(record, Outcome) or reason is None:
        return record
    said = to_remember(draft, record, reason, by)
    if said is None:
        return record
    return admit([draft], by.with_consent(), home, policy=policy)[0] if said.approved else said.outcome()


def _record(
    draft: Draft, who: Access, home: str, now: datetime, kinds: Mapping[str, Kind], threads: Threads | None = None
) -> Record:
    """The draft as a record, with every field checked."""
    scope, belongs = _place(draft, who, home)
    kind = kind_named(draft.kind, kinds)
    origin = origin_of(kind.name, checks.optional_label(draft.role, "the role"), who)
    refuse_pinned_turn(kind, draft.pinned)
    checks.optional_label(draft.key, "the key")
    valid_from, valid_to = checks.moment(draft.valid_from, "valid_from"), checks.moment(draft.valid_to, "valid_to")
    checks.interval(valid_from, valid_to)
    return Record(
        id=new_id(now) if draft.id is None else _brought_id(draft.id, origin),
        space=who.space,
        scope=scope,
        home=belongs,
        kind=kind.name,
        text=checks.text(draft.text),
        title=checks.optional_label(draft.title, "the title"),
        tags=checks.labels(draft.tags, "tags") if draft.tags else (),
        files=checks.files(draft.files) if draft.files else (),
        data=_data(draft, kind, origin) if draft.data else {},
        importance=kind.importance if draft.importance is None else checks.share(draft.importance, "importance"),
        confidence=1.0 if draft.confidence is None else checks.share(draft.confidence, "confidence"),
        pinned=checks.flag(draft.pinned, "pinned"),
        times=Times(checks.moment(draft.at, "at") or now, now, now, None, valid_from, valid_to),
        provenance=_provenance(draft, who, kind, threads),
        season=checks.optional_label(draft.season, "the season"),
        origin=origin,
        trust=trust_of(origin),
        status="candidate" if checks.flag(draft.doubtful, "doubtful") else status_of(trust_of(origin)),
    )


def _data(draft: Draft, kind: Kind, origin: Origin) -> Mapping[str, Any]:
    """The data of the draft, with its triggers and steps checked. Invalid data from a file is kept as it is and has no effect
    (`text/triggers.py`)."""
    data = checks.data(draft.data)
    try:
        return structured(data, kind.name)
    except Invalid:
        if origin not in FROM_FILES:
            raise
        return data


def _place(draft: Draft, who: Access, home: str) -> tuple[Scope, str | None]:
    """The scope of the draft, and for a task, session or agent the project it belongs to."""
    scope = Scope(draft.scope or home)
    belongs = who.home_of(scope) if draft.home is None else Scope(draft.home)
    if not is_homed(scope):
        if draft.home is not None:
            raise Invalid(f"{scope} has no home; only {', '.join(HOMED)} belong to a project")
    elif belongs is None:
        raise Invalid(f"{scope} belongs to a project, and this access works in none; name it with home='project/…'")
    elif family_of(belongs) != "project" and (family_of(scope), belongs) != ("agent", GLOBAL):
        raise Invalid(f"{scope} cannot belong to {belongs}; its home is a project/…, and of an agent also 'global'")
    return who.must_write(scope, belongs), belongs


def _brought_id(id: str, origin: Origin) -> str:
    """Only an import may set ids, so that an export yields the same memories wherever it is read."""
    if origin != "import":
        raise Invalid("only imports set ids; leave the id out")
    if not isinstance(id, str) or not IS_ID.fullmatch(id):
        raise Invalid(f"{quoted(id)} is not the id of a memory; leave it out to get a new one")
    return id


def _provenance(draft: Draft, who: Access, kind: Kind, threads: Threads | None) -> Provenance:
    session = checks.optional_label(draft.session, "the session")
    is_memory = kind.layer == MEMORY and not kind.append_only  # turns name their session, narratives what they follow
    return Provenance(
        actor=who.actor,
        surface=who.surface,
        session=session,
        role=checks.optional_label(draft.role, "the role"),
        speaker=checks.optional_label(draft.speaker, "the speaker"),
        agent=checks.optional_label(draft.agent, "the agent"),
        task=checks.optional_label(draft.task, "the task"),
        narrative=threads.at(session) if threads and is_memory else None,
        messages=checks.span(draft.messages, "messages"),
        snippet=checks.optional_label(draft.snippet, "the snippet"),
        confidence_because=checks.optional_label(draft.confidence_because, "the reason of the confidence"),
    )


def decide(policy: Conflicts, draft: Draft, record: Clean, changes: Changes, twins: Twins = "exact") -> Outcome:
    store = changes.by.store
    if record.text != draft.text and nothing_but_marks(record.text):
        return Outcome("refused", "the text is nothing but a secret, and secrets are not stored")
    if draft.id is not None and record.id in changes.records:
        return Outcome("unchanged", "it is there already", record.id)
    if draft.id is not None and any(store.seals([record.id])):
        return brought_before(record.id, changes)
    use = _key_use(draft, record, changes)
    seen = None if use is None else changes.keys.get(use.key) or store.key_use(use.key)
    if _was_erased(draft, record, seen, changes):
        return Outcome("refused", ERASED_TURN)
    if use and seen and seen.outcome != "erased":  # version 0.1.0 marked erased ones; now the key goes with its record
        if use.draft != seen.draft:
            _must_be_same(draft, record, seen, changes)
        return _repeated(seen, changes)
    outcome = _add_or_reinforce(record, changes, twins)
    if outcome.outcome == "added":
        outcome = look(changes.records[record.id], outcome, policy, changes)
    if use and outcome.id:
        changes.key(replace(use, record=outcome.id, outcome=use.outcome or outcome.outcome))
    told = replaced(_strings_of(draft), texts_of(record))
    return replace(outcome, advice="; ".join(filter(None, (told, outcome.advice)))) if told else outcome


def _strings_of(draft: Draft) -> Iterator[str]:
    """The texts of the draft; only read if a secret was found."""
    for name in DRAFT_FIELDS:
        yield from strings_in(getattr(draft, name))


def _sparing(policy: Conflicts, draft: Draft, record: Clean, changes: Changes, twins: Twins = "exact") -> Outcome:
    """Like `decide`, but a message whose id was used for another text is refused on its own. If messages have no ids, another
    text at the same position means that all of them have shifted, which is an error."""
    try:
        return decide(policy, draft, record, changes, twins)
    except Conflict:
        if MESSAGE not in draft.data:
            raise
        return Outcome(
            "refused", "its id was used for another text, which stays as it is; give the new text an id of its own"
        )


def _key_use(draft: Draft, record: Record, changes: Changes) -> KeyUse | None:
    if draft.key is None or draft.id is not None:  # it is identified by its id
        return None
    # For a turn: the same message, whoever hands it in again, and whenever.
    same = changed(draft, agent=None, at=None) if record.kind == "turn" else draft
    said = MESSAGE_KEPT if record.kind == "turn" and names_message(draft.key) else ""
    key = _key(draft.key, record, record.origin, changes)
    return KeyUse(key, _drafted(same, record, changes), "", said, changes.now)


def _key(key: str, record: Record, origin: Origin, changes: Changes) -> str:
    """The key as a digest. Keys of different projects are separate, and a text of low trust takes no key away from others."""
    place = [record.scope] if record.home is None else [record.scope, record.home]
    door = [origin] if trust_of(origin) == "low" else []
    return changes.by.writer.digest(f"key {canonical([record.space, *place, *door, checks.label(key, 'the key')])}")


def _was_erased(draft: Draft, record: Record, seen: KeyUse | None, changes: Changes) -> bool:
    """Whether it is a message whose turn was erased here. A message of low trust has a key of its own, but it does not bring
    back what somebody trusted, or a tool, had said in that message either."""
    if seen is not None or record.trust != "low" or draft.key is None or record.kind != "turn":
        return seen is not None and seen.outcome == ERASED_MESSAGE
    keys = [_key(draft.key, record, door, changes) for door in {"user", _BY_ROLE.get(draft.role or "", "user")}]
    return any(other.outcome == ERASED_MESSAGE for other in map(changes.by.store.key_use, keys) if other)


def _drafted(draft: Draft, record: Record, changes: Changes) -> str:
    """A digest of what was handed in under a key. For a turn, version 0.1.0 included agent and time."""
    # Uses checked values, not raw ones: a list and a tuple of tags are the same draft.
    tags = () if isinstance(draft.tags, Inferred) else record.tags
    same = changed(draft, key=None, kind=record.kind, scope=record.scope, tags=tags, files=record.files, data={})
    said = repr(same) + canonical({name: value for name, value in record.data.items() if name != HASHES})
    return changes.by.writer.digest(f"draft {said}")


def _must_be_same(draft: Draft, record: Record, seen: KeyUse, changes: Changes) -> None:
    """Compares as an older version did. If a text of the memory was erased, nobody can tell."""
    if seen.draft and seen.draft != _drafted(draft, record, changes):
        raise Conflict(f"{OTHER_TEXT}; use a new key for a new text")


def brought_before(id: str, changes: Changes) -> Outcome:
    """A memory with this id exists. It stays as it is, and an erased one stays erased. Only a memory that was archived by
    undoing an import comes back with the next import."""
    record = next(iter(changes.by.store.get([id], changes.by.where)), None)
    if record is None:
        return Outcome("refused", "its id belongs to another memory", id)
    if record.state == "erased":
        return Outcome("refused", "it was erased here, and an import does not bring it back", id)
    if record.state == "archived" and record.reason == UNDONE and record.origin in FROM_FILES:
        return _bring_back(record, changes, "the import that added it was undone, and it is imported again")
    return Outcome("unchanged", KNOWN_ALREADY[record.state], id, record)


def _repeated(seen: KeyUse, changes: Changes) -> Outcome:
    """A draft whose key was used before exists already. A turn removed by an undo counts as said again."""
    by = changes.by
    stored = next(iter(by.store.get([seen.record], by.where)), None)
    record = changes.records.get(seen.record, stored)
    if record is not None and (record.kind, record.state, record.reason) == ("turn", "archived", UNDONE):
        return _bring_back(record, changes, "what added it was undone, and it is said again")
    return Outcome("repeated", f"this key was stored before ({seen.outcome})", seen.record, record)


# ---------------------------------------------------------------- said again


def look_up(records: Sequence[Record], changes: Changes) -> None:
    """Reads all twins of a batch, one query per scope."""
    wanted: dict[tuple[str, str, str | None], list[str]] = {}
    for record in records:
        if changes.by.tools.kinds[record.kind].deduplicated:
            wanted.setdefault((record.space, record.scope, record.home), []).append(record.fingerprint)
    for place, fingerprints in wanted.items():
        for twin in same_texts(changes.by.store, *place, fingerprints):
            changes.twins.setdefault(twins_of(twin), []).append(twin)


def _add_or_reinforce(record: Clean, changes: Changes, twins: Twins) -> Outcome:
    same, kinds = changes.twins.get(twins_of(record), []), changes.by.tools.kinds
    if record.origin in FROM_FILES:
        return known_already(record, same, kinds) or _add(record, changes, NEW)
    same = list(filterfalse(partial(does_it_otherwise, record), same))
    active = twin_of(record, same, kinds, changes.now, "active")
    alike = active or (says_the_same(record, changes) if twins == "near" else None)
    if alike:
        return _reinforce(alike, record, changes)
    forgotten = twin_of(record, same, kinds, changes.now, "archived")
    if forgotten and record.origin == "user":
        return _bring_back(forgotten, changes, "the user said again what was forgotten", record)
    if forgotten:
        doubtful = changes.by.writer.clean(replace(record, status="candidate"))
        return _add(doubtful, changes, f"a twin ({forgotten.number}) was forgotten, so this is only a candidate")
    return _add(record, changes, NEW)


def known_already(record: Record, same: Sequence[Record], kinds: Mapping[str, Kind]) -> Outcome | None:
    """The outcome for a twin in any state, except one whose import was undone or that disappeared from its file: then the text
    is new."""
    same = [other for other in same if other.reason not in (UNDONE, REPLACED)]
    for state, because in KNOWN_ALREADY.items():
        twin = twin_of(record, same, kinds, None, state)
        if twin:
            return Outcome("unchanged", because, twin.id, twin)
    return None


def _add(record: Clean, changes: Changes, because: str) -> Outcome:
    changes.put("added", None, record, because)
    advice = None
    if len(record.text) > checks.ADVISED_TEXT and record.kind not in ("turn", "document"):
        advice = f"{len(record.text):,} characters are long for one memory; one fact per memory is found better"
    if suspect(record):
        advice = f"it {LABEL}: it is marked so, and ranks lower" + (f"; {advice}" if advice else "")
    return Outcome("added", because, record.id, advice=advice)


def _reinforce(twin: Record, record: Record, changes: Changes) -> Outcome:
    """Counts the repetition, which restarts the twin's clock. Takes over new tags, files and the pin, unless the twin is the
    word of somebody more trusted. If the user says it, it becomes the user's word."""
    confirms = record.origin == "user" and twin.status == "candidate"
    because = _same(twin, record) + (", and the user confirmed it" if confirms else "") + where_said(record, changes)
    counters = replace(twin.counters, strength=twin.counters.strength + 1)
    counted: Record = replace(twin, counters=counters, times=replace(twin.times, used=changes.now))
    joined = replace(
        counted,
        tags=labels_of_both(twin.tags, record.tags),
        files=labels_of_both(twin.files, record.files),
        pinned=twin.pinned or record.pinned,
        data=_seen_again(twin.data, record.data),
    )
    after = _as_the_user_says(joined, record) if record.origin == "user" else joined
    if after == counted or RANK[record.origin] < RANK[twin.origin] or _asks(twin, after, changes):
        changes.count("reinforced", twin, counted, because)
    else:
        changes.put("reinforced", twin, changes.stamped(twin, after), because)
    return Outcome("reinforced", because, twin.id)


def _same(twin: Record, record: Record) -> str:
    """Says that the text was there; if it was said in other words this time, quotes them, since they are kept nowhere else."""
    if normalised(twin.text) == normalised(record.text):
        return "the same text was there"
    return f"the same was there in other words; this time: {line(record.text, LONGEST_TOLD)}"


def _as_the_user_says(twin: Record, record: Record) -> Record:
    """The twin as the user's word, with the validity the user gives. If the user used other words, these replace the text. If
    nobody vouched for the twin, nothing else that its writer attached is kept either: a pin, a kind or a title would become
    the user's."""
    if twin.origin == "user":
        return twin
    times = replace(twin.times, valid_from=record.times.valid_from, valid_to=record.times.valid_to)
    if twin.trust != "low" and normalised(twin.text) == normalised(record.text):
        return users_word(replace(twin, times=times))
    said = replace(record, id=twin.id, number=twin.number, counters=twin.counters, version=twin.version, times=times)
    return users_word(said)


def _asks(twin: Record, after: Record, changes: Changes) -> bool:
    """Whether a person would have to agree to what the repetition adds; if so, it is only counted."""
    return reason_to_ask(Effect("reinforced", twin, after), changes.by) is not None


def _seen_again(old: Mapping[str, Any], new: Mapping[str, Any]) -> Mapping[str, Any]:
    """The data of a twin that was said again: with the present digests of its files, and all triggers of both."""
    kept, seen = old.get(HASHES), new.get(HASHES)
    old = {**old, HASHES: {**(kept if isinstance(kept, Mapping) else {}), **seen}} if seen else old
    return with_triggers(old, new)


def _bring_back(forgotten: Record, changes: Changes, because: str, said: Record | None = None) -> Outcome:
    """Makes an archived record active again; if the user said it again (`said`), as the user's word."""
    back = replace(forgotten, state="active", reason=None)
    back = replace(_as_the_user_says(back, said), state="active", reason=None) if said else back
    changes.put(BROUGHT_BACK, forgotten, changes.stamped(forgotten, back), because)
    return Outcome("restored", because, forgotten.id)


# ---------------------------------------------------------------- origin


def origin_of(kind: str, role: str | None, who: Access) -> Origin:
    """The access decides. The role of a turn may lower it: what a tool returned is the tool's, through any door."""
    return least(who.origin, _BY_ROLE.get(role or "", who.origin)) if kind == "turn" else who.origin
