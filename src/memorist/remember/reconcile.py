"""What to do when the same thing is said again.

A twin is a record of the same scope with the same text that would answer the same questions: its kind lies on the same
layer, is recalled alike and is de-duplicated, and it still holds. An active twin is reinforced and takes over what the new
draft adds. A forgotten one comes back only on the user's own word; anybody else's makes a candidate beside it. A file
that is read again says nothing new: what is there stays as it is, and what was forgotten or revised here stays that.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memorist.checks import ADVISED_TEXT, MOST_LABELS
from memorist.design import Tools
from memorist.errors import Conflict
from memorist.kinds import Kind, kind_of
from memorist.records import Link, Outcome, Record, Status
from memorist.store.nouns import KeyUse
from memorist.store.protocol import Store
from memorist.store.rows import difference
from memorist.store.writer import Change, Clean
from memorist.text.twins import normalised

UNDONE = "undone"  # the reason of what an undo archived
NEW = "nothing like it was there"
FROM_FILES = ("import", "file")
KNOWN_ALREADY = {  # the state of a twin → why a file does not add it again
    "active": "it is there already",
    "archived": "it was forgotten here, and a file does not bring it back",
    "superseded": "it was revised here, and a file does not bring the old text back",
}


@dataclass(slots=True)
class Batch:
    """What one transaction is going to do; it sees its own earlier drafts, so that twins inside it are found."""

    now: datetime
    changes: list[Change] = field(default_factory=list)
    key_uses: dict[str, KeyUse] = field(default_factory=dict)
    known: dict[tuple[str, str], list[Clean]] = field(default_factory=dict)  # (scope, fingerprint) → records
    ids: set[str] = field(default_factory=set)  # of the records that are going to be written
    links: list[Link] = field(default_factory=list)
    claimed: dict[int, list[Clean]] = field(default_factory=dict)  # topic → new records that claim something about it
    retired: set[str] = field(default_factory=set)  # of the records that are going to be superseded

    def look_up_twins(self, records: Sequence[Clean], tools: Tools) -> None:
        """All twins of the batch in one look per scope."""
        wanted: dict[tuple[str, str], list[str]] = {}
        for record in records:
            if kind_of(record.kind, tools.kinds).deduplicated:
                wanted.setdefault((record.space, record.scope), []).append(record.fingerprint)
        for (space, scope), fingerprints in wanted.items():
            for twin in tools.store.twins(space, scope, fingerprints):
                self.known.setdefault((scope, twin.fingerprint), []).append(Clean(twin))

    def put(self, change: Change) -> None:
        """Plans the change; later drafts of the batch see the record as it will be."""
        record = change.record
        same = self.known.setdefault((record.scope, record.fingerprint), [])
        same[:] = [*(other for other in same if other.id != record.id), record]
        self.changes.append(change)
        self.ids.add(record.id)

    def relate(self, link: Link, a: Clean, because: str) -> None:
        """Plans a link, journalled with the first of the two."""
        before = {"other": link.b, "was": None, "now": [link.kind, link.weight, link.evidence]}
        self.changes.append(Change("linked", a, before, because, row=False))
        self.links.append(link)


def twin_of(
    record: Record, others: Iterable[Clean], kinds: Mapping[str, Kind], now: datetime | None, state: str
) -> Clean | None:
    """The first of the others that is this record's twin and in that state. Without `now` it may have run out."""
    here = kind_of(record.kind, kinds)
    if not here.deduplicated:
        return None
    for other in others:
        there = kind_of(other.kind, kinds)
        alike = (here.layer, here.recalled) == (there.layer, there.recalled) and there.deduplicated
        same = other.id != record.id and normalised(other.text) == normalised(record.text)  # a fingerprint is a hint
        if alike and same and other.state == state and _holds_alike(record, other, now):
            return other
    return None


def refuse_second(record: Clean, store: Store, kinds: Mapping[str, Kind], now: datetime) -> None:
    """A change must not make a second active record that says the same."""
    same = (Clean(other) for other in store.twins(record.space, record.scope, [record.fingerprint]))
    always = replace(record, times=replace(record.times, valid_from=None, valid_to=None))
    twin = twin_of(always, same, kinds, now, "active")
    if twin and record.state == "active":
        raise Conflict(f"memory {twin.number} in {twin.scope} says the same already; forget one of the two first")


def add_or_reinforce(record: Clean, batch: Batch, tools: Tools) -> Outcome:
    same = batch.known.get((record.scope, record.fingerprint), [])
    if record.origin in FROM_FILES:
        return _known_already(record, same, tools.kinds) or _add(record, batch, NEW)
    active = twin_of(record, same, tools.kinds, batch.now, "active")
    if active:
        return _reinforce(active, record, batch)
    forgotten = twin_of(record, same, tools.kinds, batch.now, "archived")
    if forgotten and record.origin == "user":
        return bring_back(forgotten, batch, "the user said again what was forgotten", status="confirmed")
    if forgotten:
        record = Clean(replace(record, status="candidate"))
        return _add(record, batch, f"a twin ({forgotten.number}) was forgotten, so this is only a candidate")
    return _add(record, batch, NEW)


def _known_already(record: Clean, same: Sequence[Clean], kinds: Mapping[str, Kind]) -> Outcome | None:
    """A twin of any state; but whoever took an import back and imports again means it."""
    same = [other for other in same if other.reason != UNDONE]
    for state, because in KNOWN_ALREADY.items():
        twin = twin_of(record, same, kinds, None, state)
        if twin:
            return Outcome("unchanged", because, twin.id, twin)
    return None


def _holds_alike(record: Record, other: Record, now: datetime | None) -> bool:
    """Whether the other one holds when this one does: not run out, and nothing else was asked for."""
    new, old = record.times, other.times
    if now is not None and old.valid_to is not None and old.valid_to <= now:
        return False
    asked = new.valid_from is not None or new.valid_to is not None
    return not asked or (new.valid_from, new.valid_to) == (old.valid_from, old.valid_to)


def _add(record: Clean, batch: Batch, because: str) -> Outcome:
    batch.put(Change("added", record, because=because))
    advice = None
    if len(record.text) > ADVISED_TEXT and record.kind not in ("turn", "document"):
        advice = f"{len(record.text):,} characters are long for one memory; one fact each is found better"
    return Outcome("added", because, record.id, advice=advice)


def _reinforce(twin: Clean, record: Clean, batch: Batch) -> Outcome:
    """Said again: it counts, and its new tags, files and pin are taken over. The user's own word confirms a candidate."""
    tags, files = _joined(twin.tags, record.tags), _joined(twin.files, record.files)
    confirms = twin.status == "candidate" and record.origin == "user"
    status = "confirmed" if confirms else twin.status
    after: Record = replace(twin, tags=tags, files=files, pinned=twin.pinned or record.pinned, status=status)
    row = after != twin
    if row:
        after = _touched(after, batch.now)
    counters = replace(twin.counters, strength=twin.counters.strength + 1)
    because = "the same text was there" + (", and the user confirmed it" if confirms else "")
    before = {"strength": twin.counters.strength, **difference(twin, after)}
    after = replace(after, counters=counters)
    batch.put(Change("reinforced", Clean(after), before, because, counters, twin.times.used, row=row))
    return Outcome("reinforced", because, twin.id)


def _joined(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    joined = tuple(dict.fromkeys((*old, *new)))
    return joined if len(joined) <= MOST_LABELS else old


def bring_back(forgotten: Clean, batch: Batch, because: str, status: Status | None = None) -> Outcome:
    """An archived record, active again; as what it was, unless a status is given."""
    back = replace(forgotten, state="active", reason=None, status=status or forgotten.status)
    after = Clean(_touched(back, batch.now))
    batch.put(Change("restored", after, difference(forgotten, after), because))
    return Outcome("restored", because, forgotten.id)


def _touched(record: Record, now: datetime) -> Record:
    return replace(record, version=record.version + 1, times=replace(record.times, updated=now))
