"""Bringing back an export: for its owner as everything was, for anybody else as candidates.

A file cannot vouch for itself. Through any door but the user's own, what it says about pins, votes, status, origin and trust
is only kept as data (`exported`). Its active memories become candidates like everything imported, go through the gate, and may
be linked to one another; what was forgotten or revised there is not brought. A user who brings back their own export vouches
for it: then each memory is restored field by field, including forgotten ones, past texts, and the links.

A second import changes nothing: what is here stays as it is, and what was erased here stays erased. Only a candidate that was
not touched since becomes what it was, when its owner vouches for it.
"""

from collections.abc import Container, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import asdict, field, replace
from datetime import datetime
from graphlib import CycleError, TopologicalSorter
from typing import Any, get_args

from memorist import checks
from memorist.design import Conflicts
from memorist.errors import Invalid, MemoristError
from memorist.lazy import dataclass
from memorist.records import (
    LINK_KINDS,
    Counters,
    Draft,
    Link,
    Origin,
    Outcome,
    Record,
    Report,
    State,
    Status,
    Trust,
    changed,
    iso,
)
from memorist.remember import gate
from memorist.remember.authority import refuse_pinned_turn, users_word
from memorist.remember.changes import REPLACED, UNDONE, Caller, Changes, twins_of
from memorist.remember.conflicts import retired
from memorist.remember.edit import Sweep
from memorist.remember.undo import changed_since
from memorist.store.nouns import COUNTERS, UNCOUNTED, parts
from memorist.store.where import everywhere
from memorist.store.writer import Clean

BROUGHT = "brought back by its owner"
IMPORTED = "imported"
CIRCLE = "that closes a circle, which has no newest member; the link was left out"
EXPORTED = "exported"  # in the data of a candidate
_TOLD = ("status", "pinned", "origin", "trust", "actor", "surface", "narrative")
LAST_USED = "last_used"  # `used` is the counter
_ONE_OF: Mapping[str, tuple[str, ...]] = {
    "status": get_args(Status), "origin": get_args(Origin), "trust": get_args(Trust),
}  # fmt: skip
_Key = tuple[str, str, str]  # the ends of a link, and its kind
BROUGHT_AT_ONCE = 250  # memories or links in one transaction


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export says about a memory besides its content."""

    state: State = "active"
    reason: str | None = None
    superseded_by: str | None = None
    status: Status = "confirmed"
    pinned: bool = False
    origin: Origin = "agent"
    trust: Trust = "medium"
    version: int = 1
    created: datetime | None = None
    updated: datetime | None = None
    used: datetime | None = None
    counters: Counters = UNCOUNTED
    actor: str | None = None
    surface: str | None = None
    narrative: str | None = None

    def as_data(self) -> dict[str, Any]:
        """What a candidate keeps of it: for whoever confirms it, and to restore it once a user adopts it."""
        told = {name: getattr(self, name) for name in _TOLD}
        told |= {name: iso(at) for name, at in (("created", self.created), (LAST_USED, self.used)) if at}
        told |= asdict(self.counters)
        return {EXPORTED: {name: value for name, value in told.items() if value}}


def as_exported(record: Record) -> Record | None:
    """The original state of an imported memory that was not touched here; otherwise None."""
    told = record.data.get(EXPORTED)
    if not isinstance(told, Mapping) or (record.origin, record.version, record.status) != ("import", 1, "candidate"):
        return None
    try:
        return _adopted(record, Exported(**_told(told)))
    except (Invalid, TypeError, ValueError):  # a file may claim anything about itself
        return None


def adopted(record: Record) -> Record:
    """An imported memory after a user agreed to the import: with the origin, trust and status from the export or, without any,
    as the user's own word. Pins and votes belonged to others, and remain mere data."""
    was = as_exported(record)
    return users_word(record) if was is None else changed(record, origin=was.origin, trust=was.trust, status=was.status)


def _told(told: Mapping[str, Any]) -> dict[str, Any]:
    counters = {name: checks.whole(told[name], name, 0, 1 << 53) for name in COUNTERS if name in told}
    said: dict[str, Any] = {name: checks.one_of(told.get(name), name, allowed) for name, allowed in _ONE_OF.items()}
    said |= {name: checks.optional_label(told.get(name), name) for name in ("actor", "surface", "narrative")}
    times = {
        "created": checks.moment(told.get("created"), "created"),
        "used": checks.moment(told.get(LAST_USED), LAST_USED),
    }
    return {
        **said,
        **times,
        "pinned": checks.flag(told.get("pinned", False), "pinned"),
        "counters": Counters(**counters),
    }


def _adopted(record: Record, told: Exported) -> Record:
    data = {name: value for name, value in record.data.items() if name != EXPORTED}
    as_it_was = _as_it_was(record, replace(told, version=record.version, updated=record.times.updated))
    return changed(as_it_was, data=data, counters=told.counters, times=replace(as_it_was.times, used=told.used))


@dataclass(slots=True)
class Import:
    """One import of exports, in short transactions under one batch."""

    by: Caller
    home: str
    ids: Container[str]  # of all memories in the file
    batch: str | None = None
    left: list[str] = field(default_factory=list)  # links that were not brought, and why

    def records(self, some: Sequence[tuple[Draft, Exported]]) -> list[Outcome]:
        """Restores these for their owner, in one transaction."""
        now = self.by.now()
        cleaned = [self._checked(draft, told, now) for draft, told in some]
        outcomes = gate.stored([told for _, told in some], cleaned, self._bring, self.by, now, self.batch)
        self.batch = next((outcome.batch for outcome in outcomes if outcome.batch), self.batch)
        return outcomes

    def candidates(self, drafts: Sequence[Draft], policy: Conflicts) -> list[Outcome]:
        """Stores these through the gate without vouching. Memories that exist here need no closer look, so importing a file
        again is fast."""
        known = self._here([draft.id for draft in drafts if draft.id is not None])
        stored = iter(gate.admit([d for d in drafts if d.id not in known], self.by, self.home, self.batch, policy))
        outcomes = [known[str(draft.id)] if draft.id in known else next(stored) for draft in drafts]
        self.batch = next((outcome.batch for outcome in outcomes if outcome.batch), self.batch)
        return outcomes

    def _here(self, ids: Sequence[str]) -> dict[str, Outcome]:
        """The outcome for those that exist here: unchanged, unless the import that brought them was undone."""
        found = self.by.store.get(ids, self.by.where)
        left = [record for record in found if record.state in gate.KNOWN_ALREADY and record.reason != UNDONE]
        return {each.id: Outcome("unchanged", gate.KNOWN_ALREADY[each.state], each.id, each) for each in left}

    def _checked(self, draft: Draft, told: Exported, now: datetime) -> Clean | Outcome:
        """The memory as it was except for its votes; or why it cannot be stored."""
        door = self.by.through(replace(self.by.access, origin="import"))  # only imports may set ids
        record = gate.checked(None, draft, door, self.home, now)
        if isinstance(record, Outcome):
            return record
        try:
            refuse_pinned_turn(self.by.tools.kinds[record.kind], told.pinned)
            return self.by.writer.clean(_as_it_was(record, told))
        except MemoristError as problem:
            return Outcome("refused", str(problem))

    def _bring(self, told: Exported, record: Clean, changes: Changes) -> Outcome:
        known = self._known(record, told, changes)
        if known is not None:
            return known
        changes.put("added", None, record, BROUGHT)
        _count(record, told, changes)
        return Outcome("added", BROUGHT, record.id)

    def _known(self, record: Clean, told: Exported, changes: Changes) -> Outcome | None:
        """The outcome if it exists here, or if another memory, which is not in the file, says the same."""
        if record.id in changes.records:
            return Outcome("unchanged", gate.KNOWN_ALREADY["active"], record.id)
        here = next(iter(changes.by.store.seals([record.id])), None)
        undone = here is not None and (here.record.state, here.record.reason) == ("archived", UNDONE)
        if here is not None and (undone or self._as_imported(here.record, record)):
            return self._again(record, told, changes)
        if here is not None:
            return gate.brought_before(record.id, changes)
        if record.state != "active":
            return None
        others = changes.twins.get(twins_of(record), ())
        return gate.known_already(record, [o for o in others if o.id not in self.ids], changes.by.tools.kinds)

    def _as_imported(self, here: Record, brought: Record) -> bool:
        """Whether it is here exactly as an import brought it, without anybody vouching for it."""
        if (here.state, here.status, here.origin) != ("active", "candidate", "import") or here.text != brought.text:
            return False
        journal = self.by.store.journal(record=here.id)
        return changed_since(journal, journal[0].batch) is None

    def _again(self, record: Clean, told: Exported, changes: Changes) -> Outcome:
        """Its owner restores it although an import brought it before, which was undone or without anybody vouching for it."""
        here = next(iter(changes.by.store.get([record.id], changes.by.where)), None)
        if here is None:
            return Outcome("refused", "its id belongs to another memory", record.id)
        counted = {"counters": here.counters, "times": replace(record.times, used=here.times.used)}
        back = self.by.writer.clean(changed(record, number=here.number, version=here.version + 1, **counted))
        changes.put("restored", here, back, BROUGHT)
        _count(back, told, changes)
        return Outcome("restored", BROUGHT, record.id)

    def refresh(self, gone: Sequence[str], moved: Mapping[str, Sequence[int]]) -> int:
        """Retires pieces of documents that their files no longer contain, and updates the line numbers of others. What
        somebody more trusted has made their own stays. → how many were retired"""
        by, now = self.by, self.by.now()
        retire = Sweep("superseded", lambda piece: retired(piece, now, REPLACED), REPLACED, by.where, by)
        report = retire.apply(gone, Report("superseded", batch=self.batch))

        def on_lines(piece: Record) -> Record:
            return changed(piece, data={**piece.data, "lines": list(moved[piece.id])})

        move = Sweep("revised", on_lines, "its lines moved", by.where, by)
        self.batch = move.apply(list(moved), Report("revised", batch=report.batch)).batch
        return len(report.changed)

    # ------------------------------------------------------------ links

    def links(self, links: Iterable[Link]) -> int:
        """Adds the links between memories in the file, and returns how many are new."""
        wanted = {_key(link): link for link in links if link.a != link.b and link.a in self.ids and link.b in self.ids}
        known = self._known_links(_ends(wanted.values()))
        fresh = [link for key, link in wanted.items() if key not in known]
        return sum(self._link(some) for some in parts(self._without_circles(fresh, known), BROUGHT_AT_ONCE))

    def _known_links(self, ids: Set[str]) -> set[_Key]:
        """The existing links of these memories, whoever may see them; and everything that they supersede, directly or
        indirectly."""
        every, known, edge = everywhere(self.by.access.space), set[_Key](), sorted(ids)
        seen = set(edge)
        while edge:
            found = {_key(k) for some in parts(edge, BROUGHT_AT_ONCE) for k in self.by.store.links(every, some)}
            edge = sorted({b for _, b, kind in found - known if kind == "supersedes"} - seen)
            known |= found
            seen |= set(edge)
        return known

    def _without_circles(self, links: Sequence[Link], known: Set[_Key]) -> list[Link]:
        """The links without circles: if some memories are said to supersede each other in a circle, none of that is believed."""
        every = {(a, b) for a, b, kind in (*known, *map(_key, links)) if kind == "supersedes"}
        back = {(b, a) for a, b in _on_circles(every)}
        closing = {_key(Link(a, b, "supersedes")) for b, a in _on_circles(back)}
        self.left += [f"{link.a} supersedes {link.b}: {CIRCLE}" for link in links if _key(link) in closing]
        return [link for link in links if _key(link) not in closing]

    def _link(self, some: Sequence[Link]) -> int:
        """Adds these in one transaction, if both ends exist and the first may be written."""
        with self.by.writer.transaction():
            changes, may = Changes.of(self.by), self.by.access.may_write
            found = self.by.store.get(sorted(_ends(some)), self.by.where)
            there = {record.id: record for record in found if record.state != "erased"}
            for link in some:
                a = there.get(link.a)
                if a is not None and link.b in there and may(a.scope, a.home):
                    evidence = self.by.writer.redact(link.evidence)
                    changes.link(a, replace(link, evidence=evidence), BROUGHT if self.by.agreed else IMPORTED)
            self.batch = changes.commit(self.batch)[0] or self.batch
        return len(changes.links)


def _ends(links: Iterable[Link]) -> set[str]:
    return {end for link in links for end in (link.a, link.b)}


def _key(link: Link) -> _Key:
    return link.a, link.b, link.kind


def _on_circles(pairs: Set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The pairs both of whose ends lead to a circle."""
    sorter = TopologicalSorter[str]()
    for one, other in pairs:
        sorter.add(one, other)
    with suppress(CycleError):  # it still sorts what leads to none
        sorter.prepare()
    free = set[str]()
    while ready := sorter.get_ready():
        free.update(ready)
        sorter.done(*ready)
    return {(one, other) for one, other in pairs if one not in free and other not in free}


def link_of(value: Mapping[str, Any]) -> Link:
    kind = next((kind for kind in LINK_KINDS if kind == value.get("link")), None)
    a, b = value.get("a"), value.get("b")
    if kind is None or not isinstance(a, str) or not isinstance(b, str):
        raise Invalid("is not a link: its kind or one of its ends is missing")
    weight = checks.share(value.get("weight", 1.0), "its weight")
    return Link(a, b, kind, weight, checks.optional_label(value.get("evidence"), "its evidence"))


def _as_it_was(record: Record, told: Exported) -> Record:
    said, times = record.provenance, record.times
    return changed(
        record,
        state=told.state,
        reason=checks.optional_label(told.reason, "the reason"),
        superseded_by=told.superseded_by,
        status=told.status,
        pinned=told.pinned,
        origin=told.origin,
        trust=told.trust,
        version=told.version,
        times=replace(times, created=told.created or times.created, updated=told.updated or times.updated),
        provenance=replace(
            said,
            actor=checks.optional_label(told.actor, "the actor") or said.actor,
            surface=checks.optional_label(told.surface, "the surface") or said.surface,
            narrative=checks.optional_label(told.narrative, "the narrative"),
        ),
    )


def _count(record: Record, told: Exported, changes: Changes) -> None:
    """Restores votes and uses, with an event of their own, so that the journal shows where they come from."""
    counted = changed(record, counters=told.counters, times=replace(record.times, used=told.used))
    if counted != record:
        changes.count("counted", record, counted, BROUGHT)
