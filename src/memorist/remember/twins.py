"""What happens when the same thing is said again.

A twin is a record in the same scope with the same text that answers the same questions: its kind is on the same layer, is
recalled alike and de-duplicated, and it still holds. An active twin is reinforced and takes over what the new draft adds. A
forgotten one comes back only when the user says it again; from any other source it becomes a candidate beside it. Reading a
file again adds nothing: existing memories stay as they are, and those forgotten or revised here stay forgotten or revised.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from memorist.access import Access
from memorist.checks import ADVISED_TEXT, MOST_LABELS
from memorist.errors import Conflict
from memorist.kinds import Kind
from memorist.records import Outcome, Record, Status
from memorist.remember.changes import Changes
from memorist.store.protocol import Store
from memorist.store.where import Order, Where
from memorist.store.writer import Clean
from memorist.text.twins import normalised

UNDONE = "undone"  # the reason of what an undo archived
NEW = "nothing like it was there"
FROM_FILES = ("import", "file")
KNOWN_ALREADY = {  # state of a twin → why a file does not add it again
    "active": "it is there already",
    "archived": "it was forgotten here, and a file does not bring it back",
    "superseded": "it was revised here, and a file does not bring the old text back",
}


def look_up(records: Sequence[Record], changes: Changes) -> None:
    """Reads all twins of a batch, one query per scope."""
    wanted: dict[tuple[str, str], list[str]] = {}
    for record in records:
        if changes.by.tools.kinds[record.kind].deduplicated:
            wanted.setdefault((record.space, record.scope), []).append(record.fingerprint)
    for (space, scope), fingerprints in wanted.items():
        for twin in same_texts(changes.by.store, space, scope, fingerprints):
            changes.twins.setdefault((scope, twin.fingerprint), []).append(twin)


def same_texts(store: Store, space: str, scope: str, fingerprints: Sequence[str]) -> list[Record]:
    """Records of that scope with one of these fingerprints, in any state, oldest first."""
    where = Where(Access.to_read(space)).also("fingerprint", "in", tuple(fingerprints)).also("scope", "eq", scope)
    return store.find(where, Order("number", ascending=True))


def twin_of(
    record: Record, others: Iterable[Record], kinds: Mapping[str, Kind], now: datetime | None, state: str
) -> Record | None:
    """The first of the others that is this record's twin and in that state. Without `now` it may have expired."""
    here = kinds[record.kind]
    if not here.deduplicated:
        return None
    for other in others:
        there = kinds[other.kind]
        alike = (here.layer, here.recalled) == (there.layer, there.recalled) and there.deduplicated
        same = other.id != record.id and normalised(other.text) == normalised(record.text)  # a fingerprint is a hint
        if alike and same and other.state == state and _holds_alike(record, other, now):
            return other
    return None


def refuse_second(old: Record, record: Record, changes: Changes) -> None:
    """Refuses a change that would make a second active record say the same."""
    as_before = (old.scope, old.state, old.fingerprint) == (record.scope, record.state, record.fingerprint)
    if as_before or record.state != "active":
        return
    stored = same_texts(changes.by.store, record.space, record.scope, [record.fingerprint])
    same = {twin.id: changes.records.get(twin.id, twin) for twin in stored}
    same |= {twin.id: twin for twin in changes.twins.get((record.scope, record.fingerprint), ())}
    here = [twin for twin in same.values() if (twin.scope, twin.fingerprint) == (record.scope, record.fingerprint)]
    always = replace(record, times=replace(record.times, valid_from=None, valid_to=None))
    twin = twin_of(always, here, changes.by.tools.kinds, changes.now, "active")
    if twin:
        raise Conflict(f"memory {twin.number} in {twin.scope} says the same already; forget one of the two first")


def add_or_reinforce(record: Clean, changes: Changes) -> Outcome:
    same, kinds = changes.twins.get((record.scope, record.fingerprint), []), changes.by.tools.kinds
    if record.origin in FROM_FILES:
        return _known_already(record, same, kinds) or _add(record, changes, NEW)
    active = twin_of(record, same, kinds, changes.now, "active")
    if active:
        return _reinforce(active, record, changes)
    forgotten = twin_of(record, same, kinds, changes.now, "archived")
    if forgotten and record.origin == "user":
        return bring_back(forgotten, changes, "the user said again what was forgotten", status="confirmed")
    if forgotten:
        doubtful = changes.by.writer.clean(replace(record, status="candidate"))
        return _add(doubtful, changes, f"a twin ({forgotten.number}) was forgotten, so this is only a candidate")
    return _add(record, changes, NEW)


def _known_already(record: Record, same: Sequence[Record], kinds: Mapping[str, Kind]) -> Outcome | None:
    """A twin in any state, except one archived by undoing an import: importing it again is deliberate."""
    same = [other for other in same if other.reason != UNDONE]
    for state, because in KNOWN_ALREADY.items():
        twin = twin_of(record, same, kinds, None, state)
        if twin:
            return Outcome("unchanged", because, twin.id, twin)
    return None


def _holds_alike(record: Record, other: Record, now: datetime | None) -> bool:
    """Whether the other one holds when this one does: not expired, and no other validity was given."""
    new, old = record.times, other.times
    if now is not None and old.valid_to is not None and old.valid_to <= now:
        return False
    asked = new.valid_from is not None or new.valid_to is not None
    return not asked or (new.valid_from, new.valid_to) == (old.valid_from, old.valid_to)


def _add(record: Clean, changes: Changes, because: str) -> Outcome:
    changes.put("added", None, record, because)
    advice = None
    if len(record.text) > ADVISED_TEXT and record.kind not in ("turn", "document"):
        advice = f"{len(record.text):,} characters are long for one memory; one fact per memory is found better"
    return Outcome("added", because, record.id, advice=advice)


def _reinforce(twin: Record, record: Record, changes: Changes) -> Outcome:
    """Counts the repetition and takes over new tags, files and the pin. The user saying it confirms a candidate."""
    confirms = twin.status == "candidate" and record.origin == "user"
    because = "the same text was there" + (", and the user confirmed it" if confirms else "")
    counters = replace(twin.counters, strength=twin.counters.strength + 1)
    counted: Record = replace(twin, counters=counters)
    after: Record = replace(
        counted,
        tags=_joined(twin.tags, record.tags),
        files=_joined(twin.files, record.files),
        pinned=twin.pinned or record.pinned,
        status="confirmed" if confirms else twin.status,
    )
    if after == counted:
        changes.count("reinforced", twin, counted, because)
    else:
        changes.put("reinforced", twin, changes.stamped(twin, after), because)
    return Outcome("reinforced", because, twin.id)


def _joined(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    joined = tuple(dict.fromkeys((*old, *new)))
    return joined if len(joined) <= MOST_LABELS else old


def bring_back(forgotten: Record, changes: Changes, because: str, status: Status | None = None) -> Outcome:
    """Makes an archived record active again, with the status it had unless one is given."""
    back = replace(forgotten, state="active", reason=None, status=status or forgotten.status)
    changes.put("restored", forgotten, changes.stamped(forgotten, back), because)
    return Outcome("restored", because, forgotten.id)
