"""The journal of a store: how its events are sealed, and how to check that they still say what happened.

*The chain*: each transaction adds one link, a digest of the previous link and the transaction's events. An event contributes
two keyed digests, `mac` (what was there before, and why it changed) and `after` (the record after it), never its content. So
`erase` can destroy the content and the record's key, and the chain still verifies. *The anchor*: a chain cannot detect that
its own end was cut off, so its head is also written beside the store. *The audit*: checks chain, anchor, every record and
every event against their seals, and counters and links against the events (`recount.py`). An erased record is a tombstone
under a new key, its earlier events are empty, and the event of its erasure names what else had to be emptied. Anything emptied
beyond that is tampering. Events are checked as they are read; only those that contradict their seal are kept until the end,
when it is known what was erased. *The clock*: a machine that wakes up in 2038, or ten years ago, would find everything stale
at once. Each write carries its time, so the journal knows how the clock moved. A step of more than a week between two writes,
or since the last one, may be a long holiday as well as a jump; nothing is lost if what depends on age waits for another day.
"""

import errno
import hashlib
import json
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from memorist.errors import Invalid, MemoristError, StoreDamaged
from memorist.lazy import dataclass
from memorist.noun import Noun
from memorist.records import Event, Record
from memorist.store.files import BINARY, replace_private
from memorist.store.nouns import ChainLink, event_mac, next_link, seal
from memorist.store.recount import NOTHING, Differences, Told, counts, differences

if TYPE_CHECKING:
    from memorist.store.protocol import Store

ANCHORED_EVERY = 60.0  # seconds
EVENTS_AT_ONCE = 500
LONGEST_ANCHOR = 1000  # bytes
NOTED = b'"noted": "'
NOTE = re.compile(r"\d{15} [0-9a-f]{64} [0-9a-f]{16}")  # event, digest, and a checksum of both
NOTE_LENGTH = 97
RESTORE_OR = "`memorist backup --restore FILE` brings a backup back; to go on without them,"
LOOKS = 100  # at a record that others keep changing
JUMP = timedelta(days=7)
SETTLED = timedelta(days=1)  # how long after a step the clock is trusted again
EVENTS_LOOKED_AT = 200  # events read one by one; earlier ones only as far as a bisection needs them
log = logging.getLogger("memorist")


@dataclass(frozen=True, slots=True, repr=False)
class Audit(Noun):
    """The result of an audit: truthy if all is well, and then `problems` is empty. Each problem names its place."""

    ok: bool
    events: int
    records: int
    problems: tuple[str, ...] = ()
    recountable: bool = False  # only counters and links are wrong, and the journal knows their values

    def __bool__(self) -> bool:
        return self.ok

    @property
    def advice(self) -> str | None:
        if self.recountable:
            return "`memorist doctor --repair` makes counters and links again from the journal, after a backup"
        return None if self.ok else "the file was changed from outside, or it is damaged: compare with a backup"


def broken(links: Iterable[tuple[ChainLink, Sequence[Event]]]) -> str | None:
    """Why the chain does not verify, with the first bad place; None if it does. `links` come in order with their events."""
    previous: ChainLink | None = None
    for link, events in links:
        expected_first = previous.last + 1 if previous else 1
        numbers = [event.seq for event in events]
        if link.first != expected_first or numbers != list(range(link.first, link.last + 1)):
            return f"event {expected_first} or one after it is missing or out of place"
        if next_link(previous, events).digest != link.digest:
            return f"an event from {link.first} to {link.last} was changed after it was written"
        previous = link
    return None


# ---------------------------------------------------------------- the anchor


class Anchor:
    """The head of the chain, written beside the store, because a chain alone cannot show that its end was cut off.

    A head ahead of the anchor is normal; an anchor ahead of the head means that something was cut or restored. The file is
    replaced and synced once a minute. In between, each commit notes its head in it, in place and without a sync. A note
    follows a durable commit, so what a power cut leaves of it is older or torn, and a torn note does not match its checksum.
    """

    def __init__(self, store: Path | None) -> None:
        self._path = store.with_name(store.name + ".anchor") if store else None
        # The first one is written at once; from then on, a lost store can be told from a new one.
        self._written = -ANCHORED_EVERY if self.read() == Anchored() else time.monotonic()
        self._behind = False  # more was noted than synced
        self._keeps = False  # it shows a loss, so it is not overwritten
        self._lock = threading.Lock()

    def lost(self, store: "Store") -> str | None:
        """What is missing of acknowledged changes. It is reported until a backup is restored or the anchor removed, so this
        anchor is no longer written. The anchor is read before the journal, so that concurrent additions cannot look like a
        loss."""
        anchored = self.read()
        if anchored.event is None or anchored.flaw or self._path is None:
            return None
        try:
            found = store.head(anchored.event)
        except MemoristError:  # a damaged journal is reported by whoever needs it
            return None
        if found is not None and (found.last, found.digest) == (anchored.event, anchored.digest):
            return None
        self._keeps = True
        return f"{anchored.missing(found.last if found else 0)}; {RESTORE_OR} remove {self._path.name}"

    def note(self, head: ChainLink) -> None:
        if self._path is None or self._keeps:
            return
        with self._lock:
            self._behind = True
            if time.monotonic() - self._written >= ANCHORED_EVERY or not self._jotted(self._path, head):
                self._write(self._path, head)

    def write(self, head: ChainLink | None) -> None:
        """Writes this head if it is ahead of what is written."""
        with self._lock:
            if self._path is not None and head is not None and self._behind and not self._keeps:
                self._write(self._path, head)

    def reset(self, head: ChainLink | None) -> None:
        """Starts over with another journal, which may be shorter."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            if head is not None:
                self._write(self._path, head)

    def _write(self, path: Path, head: ChainLink) -> None:
        """Never goes back: another process may be ahead, and a cut after its event would then go unnoticed."""
        self._written, self._behind = time.monotonic(), False
        said, noted = self._said()
        if head.last <= (said.event or 0):
            return
        further = noted if (noted.event or 0) > head.last else Anchored(head.last, head.digest)
        text = {"event": head.last, "digest": head.digest.hex(), "noted": further.line()}
        try:
            replace_private(path, json.dumps(text) + "\n")
        except OSError as problem:  # what it anchors is stored, and the next anchor is as good
            log.warning("%s was not written: %s", path, problem)

    @staticmethod
    def _jotted(path: Path, head: ChainLink) -> bool:
        """Overwrites the note in the file; False if there is none, as in a file written by an older version."""
        try:
            file = os.open(path, os.O_RDWR | BINARY)
        except OSError:
            return False
        try:
            start, found, rest = os.read(file, LONGEST_ANCHOR).partition(NOTED)
            if not found or len(rest) < NOTE_LENGTH:
                return False
            if (Anchored.of_line(rest[:NOTE_LENGTH].decode("ascii", "replace")).event or 0) < head.last:
                os.lseek(file, len(start) + len(found), os.SEEK_SET)
                os.write(file, Anchored(head.last, head.digest).line().encode())
            return True
        except OSError:
            return False
        finally:
            os.close(file)

    def read(self) -> "Anchored":
        """How far the journal is known to have come."""
        said, noted = self._said()
        return noted if (noted.event or 0) > (said.event or 0) else said

    def _said(self) -> tuple["Anchored", "Anchored"]:
        """What was synced, and what was noted since."""
        if self._path is None:
            return Anchored(), Anchored()
        try:
            said = json.loads(self._path.read_text(encoding="utf-8"))
            noted = Anchored.of_line(str(said.get("noted", "")))
            return Anchored(int(said["event"]), bytes.fromhex(said["digest"])), noted
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as problem:
            if isinstance(problem, OSError) and problem.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
                return Anchored(), Anchored()
            return Anchored(flaw=f"the anchor {self._path.name} cannot be read"), Anchored()


def refuse_if_lost(store: Path, is_empty: Callable[[], bool]) -> None:
    """Raises if the store is empty although its anchor knows events: then it was lost, and is not new. The anchor is read
    first. Since it is written after the store, concurrent changes cannot look like a loss."""
    anchored = Anchor(store).read()
    if anchored == Anchored() or not is_empty():
        return
    knows = anchored.flaw or f"{store.name}.anchor beside it knows {anchored.event:,} events"
    raise StoreDamaged(
        f"{store} is empty or gone, but {knows}; it was left as it is. `memorist backup --restore FILE` brings a backup "
        f"back; to begin again, remove {store.name}.anchor"
    )


@dataclass(frozen=True, slots=True)
class Anchored:
    """The content of an anchor; empty if there is none."""

    event: int | None = None
    digest: bytes = b""
    flaw: str | None = None

    @classmethod
    def of_line(cls, line: str) -> "Anchored":
        """The note in this line; empty if it is none, or torn."""
        found = cls(int(line[:15]), bytes.fromhex(line[16:80])) if NOTE.fullmatch(line) else cls()
        return found if found.event is not None and found.line() == line else cls()

    def line(self) -> str:
        """As a note of constant length, so that the file around it stays well-formed even if the note is torn."""
        said = f"{self.event:015} {self.digest.hex()}"
        return f"{said} {hashlib.blake2b(said.encode(), digest_size=8).hexdigest()}"

    def missing(self, last: int) -> str:
        """The message for a journal without that event: it ends with `last`, or is a different one."""
        if self.event is None or last >= self.event:
            return (
                f"the journal up to event {self.event} is not the one the anchor saw: what it saw was lost or replaced"
            )
        return (
            f"{self.event - last:,} acknowledged changes are missing: the anchor knows event {self.event}, the journal ends "
            f"with {last}: its end was cut off or its log was lost, or an older file restored"
        )

    def problems(self, digests: Mapping[int, bytes]) -> list[str]:
        if self.flaw:
            return [self.flaw]
        if self.event is None or digests.get(self.event) == self.digest:
            return []
        if max(digests, default=0) >= self.event:
            return [self.missing(self.event)]
        return [self.missing(max((last for last in digests if last < self.event), default=0))]


# ---------------------------------------------------------------- the audit


def newest_first(store: "Store", batch: str | None = None, before: int | None = None) -> Iterator[Event]:
    """The journal backwards, all of it or a batch, from before that event; read only as far as the caller iterates."""
    while events := store.journal(batch=batch, before=before, limit=EVENTS_AT_ONCE):
        yield from reversed(events)
        before = events[0].seq


def audit(store: "Store", anchored: Anchored) -> Audit:
    """`anchored` was read beforehand, so that concurrent additions do not count as missing."""
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
        recounted = walk.recounted().said
    except (StoreDamaged, Invalid) as problem:  # invalid: a flipped bit spoilt the name of a space or scope
        return Audit(False, walk.events, 0, (*problems, str(problem)))
    problems += recounted
    return Audit(
        not problems, walk.events, len(walk.seals), tuple(problems), bool(recounted) and len(problems) == len(recounted)
    )


def recounted(store: "Store") -> Differences:
    """Counters and links that differ from a journal which verifies."""
    walk = Walk(store)
    for _ in (*walk.records(), *walk.journal()):
        pass
    return walk.recounted()


@dataclass(slots=True)
class Seal:
    """What a record must match: its key, its checksum, and whether it is a tombstone."""

    number: int
    key: bytes
    checksum: bytes
    space: str
    erased: bool


@dataclass(slots=True)
class Walk:
    store: "Store"
    seals: dict[str, Seal] = field(default_factory=dict)
    digests: dict[int, bytes] = field(default_factory=dict)
    events: int = 0
    last: dict[str, bytes] = field(default_factory=dict)  # the last state of each record according to the journal
    odd: list[Event] = field(default_factory=list)  # contradict their key
    emptied: set[int] = field(default_factory=set)  # what erasures claim to have emptied
    told: Told = field(default_factory=Told)  # the counters and links according to the journal
    counted: dict[str, Mapping[str, int | None]] = field(default_factory=dict)  # the counters of records that have any

    def records(self) -> Iterator[str]:
        for sealed in self.store.seals():
            record = sealed.record
            erased = record.state == "erased"
            self.seals[record.id] = Seal(record.number, sealed.key, sealed.checksum, record.space, erased)
            if (counted := counts(record)) != NOTHING:
                self.counted[record.id] = counted
            if seal(record, sealed.key).checksum != sealed.checksum:
                yield f"memory {record.number} ({record.id}) contradicts its checksum"
                self.seals[record.id].checksum = b""  # reported once

    def journal(self) -> Iterator[tuple[ChainLink, Sequence[Event]]]:
        for link, events in self.store.chain():
            self.digests[link.last] = link.digest
            self.events += len(events)
            for event in events:
                self.last[event.record] = event.after
                known = self.seals.get(event.record)
                if known and not _fits(event, known.key):
                    self.odd.append(event)
                    continue
                self.told.take(event)
                if known and known.erased:
                    self.emptied |= _emptied_by(event)
            yield link, events

    def differences(self) -> Iterator[str]:
        """Records that differ from the last state in the journal."""
        for id, known in self.seals.items():
            if known.checksum and self.last.get(id) != known.checksum and not self._changed_meanwhile(id):
                yield f"memory {known.number} ({id}) is not as the journal last left it"

    def recounted(self) -> Differences:
        """Counters and links that differ from the journal."""
        living = {id: known.space for id, known in self.seals.items() if not known.erased}
        ids = self.told.counts.keys() | self.counted.keys()
        suspects = [id for id in ids if self.told.differing(id, self.counted.get(id, NOTHING))]
        return differences(self.store, self.told, living, suspects)

    def misfits(self) -> Iterator[str]:
        """Events that were changed: all odd ones except those emptied by an erasure, which must be empty. Others may have
        written and erased since the records were read, so the remaining ones are checked again with the present state of their
        record."""
        odd = [event for event in self.odd if not self._is_explained(event, self.seals[event.record].erased)]
        if odd:
            self._read_on()
        for event in odd:
            record, key = self._now(event.record)
            again = next((each for each in self.store.journal(record=event.record) if each.seq == event.seq), event)
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
        """Adds what was emptied by erasures that happened after the records were read."""
        seen = max(self.digests, default=0)
        later = takewhile(lambda event: event.seq > seen, newest_first(self.store))
        for event in [event for event in (*self.odd, *later) if event.verb == "erased"]:
            record, key = self._now(event.record)
            if record is not None and record.state == "erased" and key and _fits(event, key):
                self.emptied |= _emptied_by(event)

    def _now(self, id: str) -> tuple[Record | None, bytes | None]:
        found = next(self.store.seals([id]), None)
        return (found.record, found.key) if found else (None, None)

    def _changed_meanwhile(self, id: str) -> bool:
        """Whether it was written during the audit: a second look at the record, between two identical looks at its last event,
        finds them in agreement."""
        for _ in range(LOOKS):
            before = self.store.journal(record=id, limit=1)
            found = next(self.store.seals([id]), None)
            if before and before == self.store.journal(record=id, limit=1):
                return bool(found and seal(found.record, found.key).checksum == before[0].after)
        return True


def _fits(event: Event, key: bytes) -> bool:
    return event_mac(key, event.before, event.because) == event.mac


def _emptied_by(event: Event) -> set[int]:
    """The earlier events that an erasure claims to have emptied."""
    told = (event.before or {}).get("events", ()) if event.verb == "erased" else ()
    return {seq for seq in told if seq < event.seq}


# ---------------------------------------------------------------- the clock


def jump(store: "Store", now: datetime, events: int = EVENTS_LOOKED_AT) -> str | None:
    """How far the clock moved since the last write, or between two recent writes, if that is too far."""
    later, looked_at = now, store.journal(limit=events)
    for event in reversed(looked_at):
        if abs(later - event.at) > JUMP:
            return _said(event.at, later)
        if abs(now - event.at) > SETTLED:
            return None
        later = event.at
    return _before_today(store, now, looked_at[0]) if len(looked_at) == events else None


def _before_today(store: "Store", now: datetime, first: Event) -> str | None:
    """The same if too many events were written today to read them all, as by an import: bisects to the first of them."""
    before: Event | None = None
    low = 0  # no event up to this number is from today
    while low < first.seq - 1:
        middle = (low + first.seq) // 2
        event = next(iter(store.journal(before=middle + 1, limit=1)), None)
        if event is not None and abs(now - event.at) <= SETTLED:
            first = event
        else:
            low, before = middle, event
    return _said(before.at, first.at) if before and abs(first.at - before.at) > JUMP else None


def _said(before: datetime, after: datetime) -> str:
    how = "forward" if after > before else "back"
    days = abs(after - before).days
    silence = ", or nothing was written for so long" if after > before else ""
    return (
        f"the clock went {how} by {days:,} days after {before:%Y-%m-%d %H:%M} UTC{silence}; nothing expires by age until "
        f"it has been in use for {SETTLED.days * 24} hours. If it is wrong, set it right first"
    )
