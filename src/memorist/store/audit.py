"""Does the store hold what its journal says? The chain, the anchor, every record and every event against their seals.

Erasing leaves the chain whole, because it covers digests and no content: an erased record is a tombstone under a new key,
its earlier events are empty, and the event of its erasure names what else had to be emptied. Anything emptied beyond that is
tampering. Events are checked as they come by; only those that do not fit at once are kept until the end, when it is known
what was erased.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from memorist.access import Access
from memorist.errors import Invalid, StoreDamaged
from memorist.records import Event, Record
from memorist.store.anchor import Anchored
from memorist.store.chain import Audit, ChainLink, broken, event_mac
from memorist.store.nouns import Sealed
from memorist.store.protocol import Store
from memorist.store.rows import checksum, to_row
from memorist.store.where import Where

LOOKS = 100  # at a record that others keep changing


def seal(record: Record, key: bytes, new: bool = False) -> Sealed:
    row = to_row(record)
    return Sealed(record, row, key, checksum(key, record.space, record.scope, row), new)


def audit(store: Store, anchored: Anchored) -> Audit:
    """`anchored` was read before: what others add meanwhile is then not missed."""
    walk = Walk(store)
    problems: list[str] = []
    try:
        problems += walk.records()
        links = walk.journal()
        flaw = broken(links)
        chain = [f"the journal's chain is broken: {flaw}"] if flaw else []
        for _ in links:  # one bad link must not make every record after it look bad
            pass
        problems = [*chain, *anchored.problems(walk.digests), *problems, *walk.differences(), *walk.misfits()]
    except (StoreDamaged, Invalid) as problem:  # invalid: the name of a space or scope that a flipped bit spoilt
        return Audit(False, walk.events, 0, (*problems, str(problem)))
    return Audit(not problems, walk.events, len(walk.seals), tuple(problems))


@dataclass(slots=True)
class Seal:
    """What a record must fit: its key, its checksum, whether it is a tombstone."""

    number: int
    space: str
    key: bytes
    checksum: bytes
    erased: bool


@dataclass(slots=True)
class Walk:
    store: Store
    seals: dict[str, Seal] = field(default_factory=dict)
    digests: dict[int, bytes] = field(default_factory=dict)
    events: int = 0
    last: dict[str, bytes] = field(default_factory=dict)  # what the journal last made of each record
    odd: list[Event] = field(default_factory=list)  # what does not fit its key
    emptied: set[int] = field(default_factory=set)  # what erasures say they emptied

    def records(self) -> Iterator[str]:
        for sealed in self.store.seals():
            record = sealed.record
            erased = record.state == "erased"
            self.seals[record.id] = Seal(record.number, record.space, sealed.key, sealed.checksum, erased)
            if seal(record, sealed.key).checksum != sealed.checksum:
                yield f"memory {record.number} ({record.id}) does not fit its checksum"
                self.seals[record.id].checksum = b""  # said once

    def journal(self) -> Iterator[tuple[ChainLink, Sequence[Event]]]:
        for link, events in self.store.chain():
            self.digests[link.last] = link.digest
            self.events += len(events)
            for event in events:
                self.last[event.record] = event.after
                known = self.seals.get(event.record)
                if known and not _fits(event, known.key):
                    self.odd.append(event)
                elif known and known.erased:
                    self.emptied |= _emptied_by(event)
            yield link, events

    def differences(self) -> Iterator[str]:
        """Records that are not as the journal last left them."""
        for id, known in self.seals.items():
            if known.checksum and self.last.get(id) != known.checksum and not self._changed_meanwhile(id, known):
                yield f"memory {known.number} ({id}) is not as the journal last left it"

    def misfits(self) -> Iterator[str]:
        """Events that were changed: all odd ones but those that an erasure emptied, which then must be empty. Others may have
        written and erased since the records were read, so what is odd still is looked at again, with its record as it is."""
        odd = [event for event in self.odd if not self._is_explained(event, self.seals[event.record].erased)]
        if odd:
            self._read_on()
        for event in odd:
            record, key = self._now(event.record)
            again = next((each for each in self.store.journal(event.record) if each.seq == event.seq), event)
            erased = record is not None and record.state == "erased"
            if (key and _fits(again, key)) or self._is_explained(again, erased):
                continue
            told = erased or event.seq in self.emptied
            yield f"event {event.seq} {'tells of an erased memory' if told else 'was changed after it was written'}"

    def _is_explained(self, event: Event, erased: bool) -> bool:
        """Whether it is empty because it had to be."""
        expected = event.seq in self.emptied or (erased and event.verb != "erased")
        return expected and event.before is None and event.because is None

    def _read_on(self) -> None:
        """What was emptied by erasures that came after the records were read."""
        later = [event for event in self.odd if event.verb == "erased"]
        before: int | None = None
        while events := [e for e in self.store.latest(before, 500) if e.seq > max(self.digests, default=0)]:
            later += [event for event in events if event.verb == "erased"]
            before = events[-1].seq
        for event in later:
            record, key = self._now(event.record)
            if record is not None and record.state == "erased" and key and _fits(event, key):
                self.emptied |= _emptied_by(event)

    def _now(self, id: str) -> tuple[Record | None, bytes | None]:
        known = self.seals.get(id)  # a record that was added since has nothing emptied yet
        found = self.store.get([id], Where(Access.to_read(known.space))) if known else []
        return next(iter(found), None), self.store.keys([id]).get(id)

    def _changed_meanwhile(self, id: str, seen: Seal) -> bool:
        """Whether somebody wrote it during the audit: a second look at the record, between two equal looks at its end of
        the journal, finds them in agreement."""
        everywhere = Where(Access.to_read(seen.space))
        for _ in range(LOOKS):
            before = self.store.journal(id)[-1:]
            found = self.store.get([id], everywhere)
            key = self.store.keys([id]).get(id)
            if before and before == self.store.journal(id)[-1:]:
                return bool(found and key and seal(found[0], key).checksum == before[0].after)
        return True


def _fits(event: Event, key: bytes) -> bool:
    return event_mac(key, event.before, event.because) == event.mac


def _emptied_by(event: Event) -> set[int]:
    """The events before it that an erasure says it emptied."""
    told = (event.before or {}).get("events", ()) if event.verb == "erased" else ()
    return {seq for seq in told if seq < event.seq}
