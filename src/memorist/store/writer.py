"""The one writer. Nothing reaches a store except through here, and nothing unredacted passes.

The types say so: `commit` takes `Change`s, a `Change` holds a `Clean` record, and only `Writer.clean` makes one. A commit
is one transaction: rows, index, counters, links, keys and the journal with its chain link. What was merely seen (queries,
what was shown) is noted in a buffer and flushed cheaply, so that reading never waits for writing.
"""

import hashlib
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, NewType, TypeVar, cast

from memorist.access import Access
from memorist.errors import Invalid, StoreDamaged, StoreUnavailable
from memorist.records import Counters, Event, Link, Record, changed
from memorist.redact import Redactor
from memorist.store.anchor import Anchor
from memorist.store.chain import Audit, ChainLink, broken, event_mac, next_link
from memorist.store.protocol import Counted, KeyUse, Receipt, Sealed, Store
from memorist.store.rows import checksum, to_row
from memorist.store.where import Where
from memorist.text.twins import fingerprint

Clean = NewType("Clean", Record)
Text = TypeVar("Text", bound=str | None)
NOTES_AT_ONCE = 64  # receipts in the buffer before it is flushed
RECEIPTS_AT_MOST = 10_000  # lines of the recall log
NOTES_WAIT = 0.02  # seconds a question may wait to note that it was asked
CLOSING_WAIT = 2.0
OLDEST_RECEIPT = timedelta(days=90)
YEAR_ONE = datetime(1, 1, 1, tzinfo=UTC)
LOOKS = 100  # at a record that others keep changing
log = logging.getLogger("memorist")


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that happens to one record. `before` is None for a new one; `counters` are set when they changed."""

    verb: str
    record: Clean
    before: Mapping[str, Any] | None = None
    because: str | None = None
    counters: Counters | None = None
    used: datetime | None = None
    row: bool = True  # False: the record's own columns stay as they are


class Writer:
    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self.store = store
        self._clock = clock
        self._secret = _secret(store)
        self._redactor = Redactor(self._secret)
        self._harmless: set[str] = set()
        self._notes: list[Receipt] = []
        self._notes_lock = threading.Lock()
        self._anchor = Anchor(store.path)
        self._inside = threading.local()  # `heads` of the chain that this thread's transaction made

    # ------------------------------------------------------------ cleaning

    def clean(self, record: Record) -> Clean:
        """The record with every secret in every text column replaced by a mark, and its fingerprint."""
        if self._redactor.find("\n".join(_texts(record))):
            record = self._redacted(record)
        mark = fingerprint(self._secret, record.text)
        return Clean(record if record.fingerprint == mark else changed(record, fingerprint=mark))

    def _redacted(self, record: Record) -> Record:
        redact = self.redact
        said = record.provenance
        return replace(
            record,
            text=redact(record.text),
            title=redact(record.title),
            tags=tuple(redact(tag) for tag in record.tags),
            files=tuple(redact(file) for file in record.files),
            data=self._redact_data(record.data),
            reason=redact(record.reason),
            season=redact(record.season),
            provenance=replace(
                said,
                actor=redact(said.actor),
                surface=redact(said.surface),
                session=redact(said.session),
                role=redact(said.role),
                speaker=redact(said.speaker),
                agent=redact(said.agent),
                task=redact(said.task),
                narrative=redact(said.narrative),
                snippet=redact(said.snippet),
                confidence_because=redact(said.confidence_because),
            ),
        )

    def redact(self, text: Text) -> Text:
        """Short texts come again and again (who, through which door, because of what): they are looked at once."""
        if not text or text in self._harmless:
            return text
        cleaned = self._redactor.redact(str(text))
        if cleaned == text and len(cleaned) < 100 and len(self._harmless) < 1000:
            self._harmless.add(cleaned)
        return cast(Text, cleaned)

    def refuse_secret(self, name: str, what: str) -> None:
        """Names of places cannot be redacted: they would be other places."""
        if self.redact(name) != name:
            raise Invalid(f"{what} holds a secret, and secrets are not stored; choose another name")

    def _redact_data(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, Mapping):
            return {self.redact(key): self._redact_data(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self._redact_data(each) for each in value]
        return value

    def digest(self, text: str) -> str:
        """A keyed digest, for what must be recognised again but not stored."""
        return hashlib.blake2b(text.encode(), digest_size=16, key=self._secret).hexdigest()

    # ------------------------------------------------------------ changing

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """For reading and then writing: what is read in it cannot change before it is written. The anchor hears of it
        once it is committed: an anchor ahead of the journal would look like a journal that was cut off."""
        if getattr(self._inside, "heads", None) is not None:
            yield
            return
        heads: list[ChainLink] = []
        self._inside.heads = heads
        try:
            with self.store.transaction():
                yield
        finally:
            self._inside.heads = None
        if heads:
            self._anchor.note(heads[-1])

    def commit(
        self,
        changes: Sequence[Change],
        who: Access,
        *,
        links: Sequence[Link] = (),
        removed: Sequence[Link] = (),
        key_uses: Sequence[KeyUse] = (),
    ) -> tuple[str, list[Record]]:
        """Stores the changes, all or none. Returns the batch id and the records as stored."""
        if not changes:
            return "", []
        with self.transaction():
            old = [c.record.id for c in changes if c.before is not None or not c.row]
            known = self.store.keys(old) if old else {}
            keys = {c.record.id: known.get(c.record.id) or os.urandom(16) for c in changes}
            added = {c.record.id for c in changes if c.row and c.before is None}
            sealed = {c.record.id: _seal(c.record, keys[c.record.id], c.record.id in added) for c in changes}
            written = [sealed[id] for id in dict.fromkeys(c.record.id for c in changes if c.row)]
            numbers = dict(zip((s.record.id for s in written), self.store.write(written), strict=True))
            self._count_and_link(changes, links, removed, key_uses)
            link = self._journal(changes, who, keys, sealed)
            self._inside.heads.append(link)
        return _batch(link.first), [
            changed(c.record, number=numbers.get(c.record.id, c.record.number)) for c in changes
        ]

    def _count_and_link(
        self, changes: Sequence[Change], links: Sequence[Link], removed: Sequence[Link], uses: Sequence[KeyUse]
    ) -> None:
        counted = {c.record.id: Counted(c.record.id, c.counters, c.used) for c in changes if c.counters is not None}
        if counted:
            self.store.count_up(list(counted.values()))
        if links or removed:
            cleaned = [replace(link, evidence=self.redact(link.evidence)) for link in links]
            self.store.write_links(cleaned, removed)
        if uses:
            self.store.write_key_uses(uses)

    def _journal(
        self,
        changes: Sequence[Change],
        who: Access,
        keys: Mapping[str, bytes],
        sealed: Mapping[str, Sealed],
    ) -> ChainLink:
        previous = self.store.head()
        first = previous.last + 1 if previous else 1
        now, batch = self._clock(), _batch(first)
        actor, surface = self.redact(who.actor), self.redact(who.surface)
        events = []
        for seq, change in enumerate(changes, first):
            id, because = change.record.id, self.redact(change.because)
            seal = (event_mac(keys[id], change.before, because), sealed[id].checksum)
            events.append(Event(change.verb, id, now, actor, surface, batch, because, change.before, seq, *seal))
        link = next_link(previous, events)
        self.store.append(events, link)
        return link

    # ------------------------------------------------------------ noting what was merely seen

    def note(self, receipt: Receipt) -> None:
        """Puts a recall into the buffer."""
        redact = self.redact
        session, actor, surface = redact(receipt.session), redact(receipt.actor), redact(receipt.surface)
        line = replace(receipt, query=redact(receipt.query), session=session, actor=actor, surface=surface)
        with self._notes_lock:
            self._notes.append(line)
            full = len(self._notes) % NOTES_AT_ONCE == 0  # after a try that failed, the next comes a bufferful later
        if full:
            self.flush()

    def flush(self, wait: float = NOTES_WAIT) -> None:
        """Writes the buffer to the recall log and counts what was shown. A busy or full store keeps it buffered."""
        with self._notes_lock:
            notes, self._notes = self._notes, []
        if not notes or not self.store.writable:
            return
        try:
            with self.store.transaction(durable=False, wait=wait):
                self.store.log(notes, RECEIPTS_AT_MOST, self._clock() - min(OLDEST_RECEIPT, self._clock() - YEAR_ONE))
                self._count_shown(notes)
        except StoreUnavailable as problem:
            log.info("%d lines of the recall log wait: %s", len(notes), problem)
            with self._notes_lock:
                self._notes = [*notes, *self._notes][-RECEIPTS_AT_MOST:]

    def _count_shown(self, notes: Sequence[Receipt]) -> None:
        shown: dict[str, int] = {}
        for note in notes:
            for id, _ in note.shown:
                shown[id] = shown.get(id, 0) + 1
        known = self.store.counted(list(shown))
        self.store.count_up(
            [
                replace(each, counters=replace(each.counters, surfaced=each.counters.surfaced + shown[each.record]))
                for each in known
            ]
        )

    # ------------------------------------------------------------ proving

    def audit(self) -> Audit:
        """Verifies the chain against its events, its anchor, and every record against the last event about it."""
        problems: list[str] = []
        last: dict[str, bytes] = {}
        digests: dict[int, bytes] = {}
        macs: list[Event] = []

        def walked() -> Iterator[tuple[ChainLink, Sequence[Event]]]:
            for link, events in self.store.chain():
                digests[link.last] = link.digest
                last.update((event.record, event.after) for event in events)
                macs.extend(events)
                yield link, events

        anchored = self._anchor.read()  # before the walk: what others add meanwhile is then not missed
        links = walked()
        try:
            flaw = broken(links)
            problems += [f"the journal's chain is broken: {flaw}"] if flaw else []
            for _ in links:  # one bad link must not make every record after it look bad
                pass
            problems += anchored.problems(digests)
            records = self._check_records(last, macs, problems)
        except StoreDamaged as problem:
            return Audit(False, len(macs), 0, (*problems, str(problem)))
        return Audit(not problems, len(macs), records, tuple(problems))

    def _check_records(self, last: Mapping[str, bytes], events: Sequence[Event], problems: list[str]) -> int:
        keys: dict[str, bytes] = {}
        count = 0
        for sealed in self.store.seals():
            count += 1
            record = sealed.record
            keys[record.id] = sealed.key
            if _seal(record, sealed.key).checksum != sealed.checksum:
                problems.append(f"memory {record.number} ({record.id}) does not fit its checksum")
            elif last.get(record.id) != sealed.checksum and not self._changed_meanwhile(record):
                problems.append(f"memory {record.number} ({record.id}) is not as the journal last left it")
        problems += [
            f"event {event.seq} was changed after it was written"
            for event in events
            if event.record in keys and event_mac(keys[event.record], event.before, event.because) != event.mac
        ]
        return count

    def _changed_meanwhile(self, seen: Record) -> bool:
        """Whether somebody wrote it during the audit: a second look at the record, between two equal looks at its end
        of the journal, finds them in agreement."""
        everywhere = Where(Access(space=seen.space, reads=("*", "project/*")))
        for _ in range(LOOKS):
            before = self.store.journal(seen.id)[-1:]
            found = self.store.get([seen.id], everywhere)
            key = self.store.keys([seen.id]).get(seen.id)
            if before and before == self.store.journal(seen.id)[-1:]:
                return bool(found and key and _seal(found[0], key).checksum == before[0].after)
        return True

    def close(self) -> None:
        self.flush(CLOSING_WAIT)
        if self._notes:
            log.warning("%d lines of the recall log were given up: the store was busy", len(self._notes))
        self._anchor.write()


def _batch(first: int) -> str:
    """The name of what happened together: that of its first event, which no other has."""
    return f"b{first}"


def _seal(record: Record, key: bytes, new: bool = False) -> Sealed:
    row = to_row(record)
    return Sealed(record, row, key, checksum(key, record.space, record.scope, row), new)


def _secret(store: Store) -> bytes:
    """The store's own key, made with it. Without it twins, keys and marks would silently stop to work."""
    try:
        secret = bytes.fromhex(store.setting("secret") or "")
    except ValueError:
        secret = b""
    if len(secret) != 32:
        raise StoreDamaged("the store has lost its secret; it was left as it is. Restore a backup")
    return secret


def _texts(record: Record) -> Iterator[str]:
    """Every text a caller can have put into the record: one look at all of them tells whether there is a secret."""
    said = record.provenance
    yield record.text
    yield from record.tags
    yield from record.files
    yield from _strings(record.data)
    for text in (
        record.title, record.reason, record.season, said.actor, said.surface, said.session, said.role, said.speaker,
        said.agent, said.task, said.narrative, said.snippet, said.confidence_because,
    ):  # fmt: skip
        if text:
            yield text


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield key
            yield from _strings(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _strings(each)
