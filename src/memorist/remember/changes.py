"""Who writes, what one transaction will do, and which memories say the same: the basis of every verb in this package.

A verb fills `Changes` and commits it through the writer: records to put, links, keys, counters, and events about a record
whose row stays as it is. Only `Changes` stamps version, time and previous values, so no verb can forget the journal; and it
knows what is pending, so the second draft of a batch sees the first.

A twin is a record in the same scope with the same text that answers the same queries: its kind is on the same layer, equally
recalled and de-duplicated, and it is still valid. An item that a caller keeps under its own id is a twin of no other item.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Any

from memorist.access import Access
from memorist.design import Tools
from memorist.errors import Conflict
from memorist.kinds import Kind
from memorist.lazy import dataclass
from memorist.records import Link, Record, changed, to_micros
from memorist.remember.authority import Agreed, Effect, judge, noted, users_word
from memorist.store.index import has_triggers
from memorist.store.meaning import Ahead
from memorist.store.nouns import COUNTERS, KeyUse, Lesson, difference
from memorist.store.protocol import Store
from memorist.store.where import Order, Where, everywhere
from memorist.store.writer import Change, Clean, Writer
from memorist.text.triggers import TRIGGERS
from memorist.text.twins import normalised

UNDONE = "undone"  # the reason of what an undo archived
REPLACED = "its file was imported again, and says otherwise"  # for a piece of a document
Twins = tuple[str, str | None, str]  # scope, home and fingerprint, shared by records with the same text
# In a record's data: what makes it a distinct item (`seeds/items.py`), and the turns that a summary covers.
ITSELF = ("item_id", "item", "covers")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who changes a store, the writer that commits it, and the tools available. `agreed`: a person consented. `steward`: the
    engine itself acts for the owner of the store, in upkeep and at the end of a task. `batch`, if given, is empty until
    something is written, and then holds the batch of everything written. `holds` raises when the caller may no longer write,
    as in a session that another writer took over; every transaction calls it. `shown`: a person confirmed the caller's own act
    on the memories of these ids, in these versions, and no other is changed; unlike `agreed`, this is no consent."""

    access: Access
    writer: Writer
    tools: Tools
    agreed: Agreed | None = None
    steward: bool = False
    batch: list[str] | None = None
    holds: Callable[[], None] | None = None
    shown: Mapping[str, int] | None = None

    @property
    def store(self) -> Store:
        return self.tools.store

    @property
    def where(self) -> Where:
        return Where(self.access)

    def now(self) -> datetime:
        return self.tools.clock()

    def through(self, access: Access) -> "Caller":
        """The same caller with another access."""
        return replace(self, access=access)

    def with_consent(self, versions: Mapping[str, int] | None = None) -> "Caller":
        """The same caller after a person agreed: it is now the user's act, on memories in these versions."""
        return replace(self, access=replace(self.access, origin="user"), agreed=Agreed(versions or {}))


@dataclass(slots=True)
class Changes:
    """What one transaction will do."""

    by: Caller
    now: datetime
    vectors: Mapping[str, Ahead] = field(default_factory=dict)  # of new records, by id, if they were embedded ahead
    lines: list[Change] = field(default_factory=list)  # for the journal, with the rows and counters they write
    effects: list[Effect] = field(default_factory=list)  # for the judge
    handed_on: list[tuple[Caller, list[Effect]]] = field(default_factory=list)  # done through earlier doors
    takes_back: bool = False  # an actor undoes their own changes, which hides nothing that was there before
    links: list[Link] = field(default_factory=list)
    unlinked: list[Link] = field(default_factory=list)
    keys: dict[str, KeyUse] = field(default_factory=dict)
    lessons: list[Lesson] = field(default_factory=list)
    records: dict[str, Record] = field(default_factory=dict)  # in the state in which they will be stored
    twins: dict[Twins, list[Record]] = field(default_factory=dict)  # records with the same text in the same place
    claimed: dict[int, list[Record]] = field(default_factory=dict)  # topic → new records with a claim about it
    settings: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, by: Caller) -> "Changes":
        return cls(by, by.now())

    def hand_to(self, by: Caller) -> None:
        """What follows is done through another door of the same actor, and judged by that door alone."""
        if by.access.origin != self.by.access.origin:
            self.handed_on.append((self.by, self.effects))
            self.by, self.effects = by, []

    def stamped(self, old: Record, new: Record, said: bool = False) -> Clean:
        """The next version of a record: redacted, and changed now. `said`: the change affects its content or reach, so it
        becomes the word of the person who agreed to it."""
        if said and self.by.agreed is not None and new.state == "active":
            new = users_word(new)
        times = replace(new.times, updated=self.now)
        return self.by.writer.clean(changed(new, version=old.version + 1, times=times))

    def put(self, verb: str, old: Record | None, new: Clean, because: str, past: Record | None = None) -> None:
        """Writes a record: a new one, or one that was `stamped`. `past` is the record that keeps the old text; the journal
        then names that record instead of repeating the text."""
        self.effects.append(Effect(verb, old, new))
        if TRIGGERS in new.data or (old is not None and TRIGGERS in old.data):
            self.settings[has_triggers(new.space)] = f"{new.id} {new.version}"  # a new value with every change
        if old is None:
            if new.kind == "narrative":
                self.settings[has_narratives(new.space)] = "yes"
            return self._add(Change(verb, new, None, because, new))
        before = difference(old, new)
        if past is not None:
            before = {**before, "superseded": past.id}
            before.pop("text", None)
            self.links.append(Link(new.id, past.id, "supersedes"))
        had = _counts_before(old, new)
        self._add(Change(verb, new, before | had, because, new, new.counters if had else None, new.times.used))

    def count(self, verb: str, old: Record, new: Record, because: str) -> None:
        """Changes the counters of a record, or when it was last used; its row stays."""
        self.effects.append(Effect(verb, old, new, counted=True))
        self._add(Change(verb, new, _counts_before(old, new), because, None, new.counters, new.times.used))

    def link(self, a: Record, link: Link, because: str, was: Link | None = None, verb: str = "linked") -> None:
        """Adds a link from `a`, or changes the link `was`; it is journalled with `a`."""
        self.links.append(link)
        self.note(verb, a, {"other": link.b, "was": _told(was), "now": _told(link)}, because)

    def unlink(self, a: Record, link: Link, because: str, verb: str = "unlinked") -> None:
        self.unlinked.append(link)
        self.note(verb, a, {"other": link.b, "was": _told(link), "now": None}, because)

    def learn(self, about: Record, old: Lesson, new: Lesson, because: str, verb: str = "learnt") -> None:
        """Changes the verdicts of a lesson; it is journalled with the memory, without the query."""
        self.lessons.append(new)
        was, now = [old.users, old.others], [new.users, new.others]
        self.note(verb, about, {"lesson": new.id, "was": was, "now": now}, because)

    def touch(self, *records: Record) -> None:
        """The change concerns these records too, although their rows stay, so it requires the right to change them."""
        self.effects += [Effect("linked", record, record) for record in records]

    def note(self, verb: str, record: Record, before: Mapping[str, Any], because: str) -> None:
        """Journals an event about a record whose row stays as it is."""
        self._journal(Change(verb, self.records.get(record.id, record), before, self._told(because)))

    def key(self, use: KeyUse) -> None:
        self.keys[use.key] = use

    def commit(self, batch: str | None = None) -> tuple[str, dict[str, Record]]:
        """Writes everything in one transaction, or nothing. → the batch, and the records as stored. This is the only way to
        the writer, so nothing is written that was not judged (`authority.py`)."""
        if self.by.holds is not None:
            self.by.holds()
        acts = [*self.handed_on, (self.by, self.effects)]
        for by, effects in acts:
            judge(effects, by)
        going = self.by.batch or []
        batch, stored = self.by.writer.commit(
            self.lines,
            acts[0][0].access,  # the others' journal lines name their own door
            links=self.links,
            unlinked=self.unlinked,
            keys=list(self.keys.values()),
            vectors=self.vectors,
            batch=batch or next(iter(going), None),
            settings=self.settings | self._hidden(acts),
            lessons=self.lessons,
        )
        if self.by.batch == [] and batch:
            self.by.batch.append(batch)
        return batch, stored

    def _hidden(self, acts: Sequence[tuple[Caller, Sequence[Effect]]]) -> dict[str, str]:
        """The setting that records what was hidden lately. It can only represent what one door does at a time."""
        found = [told for by, effects in acts if not self.takes_back and (told := noted(effects, by, self.now))]
        if len(found) > 1:
            raise AssertionError("changes through several doors must not hide anything")
        return found[0] if found else {}

    def _add(self, change: Change) -> None:
        """Makes the record's new state visible to later drafts of the batch."""
        record = change.record
        if self.by.agreed is not None:
            change = replace(change, because=self._told(change.because))
        same = self.twins.setdefault(twins_of(record), [])
        same[:] = [*(other for other in same if other.id != record.id), record]
        self.records[record.id] = record
        self._journal(change)

    def _journal(self, change: Change) -> None:
        """Adds the line, with its door if several are involved; most changes go through one, that of the commit."""
        self.lines.append(replace(change, door=self.by.access.origin) if self.handed_on else change)

    def _told(self, because: str | None) -> str | None:
        """The reason; if a person approved somebody else's draft, with the name of who drafted it."""
        drafter = self.by.agreed and self.by.agreed.drafted_by
        return f"{because}; drafted by {drafter}" if drafter else because


def has_narratives(space: str) -> str:
    """The setting that exists once a narrative was stored in that space."""
    return f"narratives {space}"


def _told(link: Link | None) -> list[Any] | None:
    return None if link is None else [link.kind, link.weight, link.evidence]


def counts_of(record: Record) -> dict[str, int | None]:
    """The counters of a record by name, and when it was last used."""
    used = record.times.used
    counts = {name: getattr(record.counters, name) for name in COUNTERS}
    return {**counts, "last_used": None if used is None else to_micros(used)}


def _counts_before(old: Record, new: Record) -> dict[str, Any]:
    """The counters that differ: their old values, and the new ones under `now`, so that they can be recounted."""
    if old.counters == new.counters and old.times.used == new.times.used:
        return {}
    had, now = counts_of(old), counts_of(new)
    changed = [name for name in had if now[name] != had[name]]
    return {**{name: had[name] for name in changed}, "now": {name: now[name] for name in changed}}


# ---------------------------------------------------------------- twins


def twins_of(record: Record) -> Twins:
    return record.scope, record.home, record.fingerprint


def same_texts(store: Store, space: str, scope: str, home: str | None, fingerprints: Sequence[str]) -> list[Record]:
    """Records of that scope and home with one of these fingerprints, in any state, oldest first."""
    where = everywhere(space).also("fingerprint", "in", tuple(fingerprints))
    return store.find(where.also("scope", "eq", scope).also("home", "eq", home), Order("number", ascending=True))


def twin_of(
    record: Record, others: Iterable[Record], kinds: Mapping[str, Kind], now: datetime | None, state: str
) -> Record | None:
    """The first of the others that is this record's twin and in that state. Without `now`, it may have expired."""
    here = kinds[record.kind]
    if not here.deduplicated:
        return None
    for other in others:
        there = kinds[other.kind]
        alike = (here.layer, here.recalled) == (there.layer, there.recalled) and there.deduplicated
        same = other.id != record.id and normalised(other.text) == normalised(record.text)  # a fingerprint is a hint
        if alike and same and other.state == state and is_one_item(record, other) and _holds_alike(record, other, now):
            return other
    return None


def is_one_item(record: Record, other: Record) -> bool:
    """Whether both are the same item, or neither is one."""
    return all(record.data.get(name) == other.data.get(name) for name in ITSELF)


def _holds_alike(record: Record, other: Record, now: datetime | None) -> bool:
    """Whether the other one is valid when this one is: not expired, and this one has no other validity."""
    new, old = record.times, other.times
    if now is not None and old.valid_to is not None and old.valid_to <= now:
        return False
    asked = new.valid_from is not None or new.valid_to is not None
    return not asked or (new.valid_from, new.valid_to) == (old.valid_from, old.valid_to)


def refuse_second(old: Record, record: Record, changes: Changes) -> None:
    """Raises if a change would make a second active record with the same content."""
    as_before = (old.state, twins_of(old)) == (record.state, twins_of(record))
    if as_before or record.state != "active":
        return
    stored = same_texts(changes.by.store, record.space, record.scope, record.home, [record.fingerprint])
    same = {twin.id: changes.records.get(twin.id, twin) for twin in stored}
    same |= {twin.id: twin for twin in changes.twins.get(twins_of(record), ())}
    here = [twin for twin in same.values() if twins_of(twin) == twins_of(record)]
    always = replace(record, times=replace(record.times, valid_from=None, valid_to=None))
    twin = twin_of(always, here, changes.by.tools.kinds, changes.now, "active")
    if twin:
        raise Conflict(f"memory {twin.number} in {twin.scope} says the same already; forget one of the two first")
