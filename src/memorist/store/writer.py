"""The only writer. Nothing reaches a store except through here, and nothing passes unredacted.

The types enforce this: `commit` takes `Change`s, the row that a `Change` writes is a `Clean` record, and only `Writer.clean`
makes one. A commit is one transaction: rows, index, vectors, counters, links, keys, and the journal with its chain link. Mere
reads (queries, what was shown) are buffered and flushed cheaply, so that reading never waits for writing.
"""

import hashlib
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NewType, TypeVar, cast

from memorist.access import Access
from memorist.errors import Invalid, MemoristError, StoreUnavailable
from memorist.lazy import dataclass
from memorist.records import Counters, Event, Link, Origin, Provenance, Record, Times, changed, new_id, to_micros
from memorist.redact import strings_in, texts_of
from memorist.store.choices import forget_words
from memorist.store.files import create_private
from memorist.store.journal import Anchor, Audit, audit, jump
from memorist.store.meaning import Ahead, Generations, Meaning, secret_of
from memorist.store.nouns import (
    ChainLink,
    Commit,
    Counted,
    Erased,
    KeyUse,
    Lesson,
    Receipt,
    Run,
    Sealed,
    event_mac,
    next_link,
    seal,
)
from memorist.store.protocol import Store
from memorist.store.room import Room
from memorist.store.where import everywhere
from memorist.text.twins import fingerprint

Clean = NewType("Clean", Record)
Text = TypeVar("Text", bound=str | None)
Value = TypeVar("Value", Record, Provenance, Receipt)
SAID = (  # texts of a provenance
    "actor", "surface", "session", "role", "speaker", "agent", "task", "narrative", "snippet", "confidence_because",
)  # fmt: skip
DOOR = "door"  # the key in an event's `before` for the origin of the access, unless it is an agent's
SALT = "salt"  # in an event that mentions another memory
NOTES_AT_ONCE = 64  # receipts in the buffer that trigger a flush
RECEIPTS_AT_MOST = 10_000  # entries of the recall log
NOTES_WAIT = 0.02  # seconds a query may wait to be logged
CLOSING_WAIT = 2.0
TOLD_EVERY = 0.3  # seconds between two flushes while somebody follows the recall log
OLDEST_RECEIPT = timedelta(days=90)
HEARD = 5.0  # seconds after its last sign of life during which a listener is assumed to be there
FEW = 20  # events that a query looks at to see whether the clock jumped
A_WHILE = timedelta(minutes=1)  # how long that result is reused, since every context needs it
HOMES_TOLD = "homes"  # the setting that says so
YEAR_ONE = datetime(1, 1, 1, tzinfo=UTC)
log = logging.getLogger("memorist")


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that happens to one record, as the journal records it. Made by `remember/changes.py`."""

    verb: str
    record: Record  # in its state after the change
    before: Mapping[str, Any] | None  # the previous values; None for a new record
    because: str | None
    row: Clean | None = None  # the same record, if its row is to be written
    counters: Counters | None = None  # set if they changed
    used: datetime | None = None
    door: Origin | None = None  # the origin of the change, if it differs from that of the commit


@dataclass(slots=True)
class _Transaction:
    """What this thread's transaction has done so far."""

    heads: list[ChainLink] = field(default_factory=list)  # of the chain
    bare: list[int] = field(default_factory=list)  # numbers of records that it left without a vector
    batch: "Batch | None" = None  # the batch that continues in it
    name: str | None = None  # the name of that batch


@dataclass(slots=True)
class Batch:
    """What one actor changes through one door, in any number of transactions. It has no name until the first one is committed."""

    actor: str
    surface: str
    name: str | None = None


class Audience:
    """Whoever follows the queries to one store, in any process: `memorist log --follow`, or a client of a server's events.

    Queries are logged late, because normally nobody waits for that. A listener does wait, so it touches a file beside the
    store each time it looks, and whoever runs a query checks the time of that file. The file is empty. It stays when the last
    listener leaves or dies, and a few seconds later it is too old to count.
    """

    def __init__(self, store: Path | None) -> None:
        self._path = store.with_name(store.name + ".heard") if store else None

    def __bool__(self) -> bool:
        if self._path is None:
            return False
        try:
            return abs(time.time() - self._path.stat().st_mtime) < HEARD
        except OSError:
            return False

    def listen(self) -> None:
        """Announces a listener. If the file cannot be written, the listener sees queries late."""
        if self._path is None:
            return
        with suppress(OSError):
            if self._path.exists():
                os.utime(self._path)
            elif self._path.parent.is_dir():  # do not recreate a folder that was removed meanwhile
                create_private(self._path)


class Writer:
    def __init__(
        self,
        store: Store,
        clock: Callable[[], datetime],
        meaning: Meaning | None = None,
        min_free: int | None = None,
    ) -> None:
        self.store = store
        self._clock = clock
        self._secret = secret_of(store)
        self.generations = Generations(meaning or Meaning(store))
        self._redactor = self.generations.meaning.redactor
        self._harmless: set[str] = set()
        self._notes: list[Receipt] = []
        self._notes_lock = threading.Lock()
        self._flushed = -TOLD_EVERY  # when the buffer was last written, or should have been
        self._log_begins: tuple[datetime, datetime | None] = YEAR_ONE, None  # as of when, and from when on
        self._anchor = Anchor(store.path)
        self.lost = self._anchor.lost(store)  # what is missing of acknowledged changes
        if self.lost:
            log.warning("%s: %s", store.path, self.lost)
        self._here = threading.local()  # the `transaction` and the `batch` that this thread is in, if any
        self.room = Room(store.path, min_free)
        self.audience = Audience(store.path)

    @property
    def waiting(self) -> int:
        """How many recall log entries are buffered but not yet in the store."""
        return len(self._notes)

    # ------------------------------------------------------------ cleaning

    def clean(self, record: Record) -> Clean:
        """The record with its fingerprint, and with every secret in every text column replaced by a mark."""
        if self._redactor.find("\n".join(texts_of(record))):
            record = self._redacted(record)
        mark = fingerprint(self._secret, record.text)
        return Clean(record if record.fingerprint == mark else changed(record, fingerprint=mark))

    def _redacted(self, record: Record) -> Record:
        said = self._with_redacted(record.provenance, SAID)
        tags, files = (tuple(map(self.redact, texts)) for texts in (record.tags, record.files))
        record = replace(record, tags=tags, files=files, data=self._redact_data(record.data), provenance=said)
        return self._with_redacted(record, ("text", "title", "reason", "season"))

    def _with_redacted(self, value: Value, names: Sequence[str]) -> Value:
        return replace(value, **{name: self.redact(getattr(value, name)) for name in names})

    def redact(self, text: Text) -> Text:
        """The text without secrets. Short texts recur (actors, surfaces, reasons), so harmless ones are checked only once."""
        if not text or text in self._harmless:
            return text
        cleaned = self._redactor.redact(str(text))
        if cleaned == text and len(cleaned) < 100 and len(self._harmless) < 1000:
            self._harmless.add(cleaned)
        return cast(Text, cleaned)

    def redact_lines(self, text: str) -> str:
        """Redacts a whole file and keeps each line in its place."""
        return self._redactor.redact(text, lines=True)

    def secrets_in(self, texts: Iterable[str]) -> list[tuple[str, str]]:
        """Every secret in these texts, each with the name of the rule that found it."""
        given = [text for text in texts if text]
        return [(found.type, text[found.start : found.end]) for text in given for found in self._redactor.find(text)]

    def refuse_secret(self, name: str, what: str) -> None:
        """Raises if the name of a place contains a secret: names cannot be redacted, because that would make them other
        places."""
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
        """For reading and then writing: what is read inside cannot change before it is written. The anchor is updated after
        the commit, because an anchor ahead of the journal would look like a truncated journal."""
        if getattr(self._here, "transaction", None) is not None:
            yield
            return
        done = self._here.transaction = _Transaction()
        try:
            with self.store.transaction():
                yield
        finally:
            self._here.transaction = None
        if done.heads:
            self._anchor.note(done.heads[-1])
        if done.batch is not None:  # not earlier: after a rollback, the name is given again
            done.batch.name = done.name
        self.generations.catch_up(done.bare)

    @contextmanager
    def one_batch(self, who: Access) -> Iterator[Batch]:
        """Everything that `who` commits in this thread inside is undone by a single undo."""
        outer, joint = getattr(self._here, "batch", None), Batch(who.actor, who.surface)
        self._here.batch = joint
        try:
            yield joint
        finally:
            self._here.batch = outer

    def commit(
        self,
        changes: Sequence[Change],
        who: Access,
        *,
        links: Sequence[Link] = (),
        unlinked: Sequence[Link] = (),
        keys: Sequence[KeyUse] = (),
        vectors: Mapping[str, Ahead] | None = None,
        batch: str | None = None,
        settings: Mapping[str, str] | None = None,
        lessons: Sequence[Lesson] = (),
    ) -> tuple[str, dict[str, Record]]:
        """Stores the changes, all or none. Returns the batch id and the records as stored. Passing a `batch` continues it, so
        that work spread over several transactions is still undone by a single undo."""
        if not changes:
            return batch or "", {}
        if any(change.before is None for change in changes):
            self.room.must_be()
        with self.transaction():
            rows = {c.row.id: c.row for c in changes if c.row is not None}
            sealed = self._sealed(changes, rows)
            written = [sealed[id] for id in rows]
            ready, bare = self.generations.join(written, vectors or {})
            counted = {c.record.id: Counted(c.record.id, c.counters, c.used) for c in changes if c.counters is not None}
            batch, events, link = self._events(changes, who, sealed, batch)
            commit = Commit(
                written, ready, list(counted.values()), self._cleaned(links), unlinked, keys, events, link.digest,
                settings=settings or {}, lessons=self._redacted_lessons(lessons),
            )  # fmt: skip
            numbers = dict(zip(rows, self.store.write(commit), strict=True))
            self._here.transaction.bare += [numbers[id] for id in bare]
        stored = {c.record.id: c.record for c in changes}
        return batch, {id: changed(r, number=numbers.get(id, r.number)) for id, r in stored.items()}

    def save_lessons(self, lessons: Sequence[Lesson]) -> None:
        """Stores the lessons as they are; new verdicts on a memory are committed together with their event instead."""
        with self.transaction():
            self.store.write(Commit(lessons=self._redacted_lessons(lessons)))

    def _redacted_lessons(self, lessons: Sequence[Lesson]) -> list[Lesson]:
        return [replace(each, question=self.redact(each.question)) for each in lessons]

    def _sealed(self, changes: Sequence[Change], rows: dict[str, Clean]) -> dict[str, Sealed]:
        """Each changed record, sealed under its own key; a new record gets a new key."""
        old = [c.record.id for c in changes if c.before is not None]
        known = {sealed.record.id: sealed.key for sealed in self.store.seals(old)} if old else {}
        added = {c.record.id for c in changes if c.before is None}
        return {
            id: seal(record, known.get(id) or os.urandom(16), id in added)
            for id, record in ({c.record.id: c.record for c in changes} | rows).items()
        }

    def _events(
        self, changes: Sequence[Change], who: Access, sealed: Mapping[str, Sealed], batch: str | None
    ) -> tuple[str, list[Event], ChainLink]:
        """One event for each change, their batch, and the link that ties them to all events before."""
        previous = self.store.head()
        first = previous.last + 1 if previous else 1
        now, batch = self._clock(), self._going_on(who, batch, f"b{first}")
        actor, surface = self.redact(who.actor), self.redact(who.surface)
        events = []
        for seq, change in enumerate(changes, first):
            id, because = change.record.id, self.redact(change.because)
            before = _salted(change.before, change.door or who.origin)
            digests = (event_mac(sealed[id].key, before, because), sealed[id].checksum)
            events.append(Event(change.verb, id, now, actor, surface, batch, because, before, seq, *digests))
        link = next_link(previous, events)
        self._here.transaction.heads.append(link)
        return batch, events, link

    def _going_on(self, who: Access, batch: str | None, new: str) -> str:
        """The batch that was passed, or the one this thread is in, or a new one. A new batch is named after its first event,
        so the name is unique."""
        joint, here = getattr(self._here, "batch", None), self._here.transaction
        if joint is None or (joint.actor, joint.surface) != (who.actor, who.surface):
            return batch or new
        here.batch, here.name = joint, batch or joint.name or here.name or new
        return str(here.name)

    # ------------------------------------------------------------ erasing

    def erase(
        self,
        records: Sequence[Record],
        who: Access,
        because: str,
        batch: str | None = None,
        quoting: Sequence[Record] = (),
        settings: Mapping[str, str] | None = None,
    ) -> tuple[str, Erased]:
        """Replaces each record by a tombstone and removes what refers to it everywhere else. `quoting` are records that stay
        but lose their snippets. → the batch, and what was removed

        A tombstone has a new key: once the old one is gone, nothing that was sealed under it can be guessed. The event of the
        erasure lists the events of other records that lost a word about it, so that an audit can tell that from tampering. A
        memory that lives on without a text it once had gets a new key too: under the old one, the seals of its events could be
        compared with guesses of that text.
        """
        now = self._clock()
        with self.transaction():
            stones = [seal(_tombstone(record, self.redact(because), now), os.urandom(16)) for record in records]
            heads = [seal(head, os.urandom(16)) for head in self._staying(records, quoting, now)]
            gone = self._put_stones(stones, heads, who, because, batch, Commit(settings=settings or {}))
        with self._notes_lock:
            self._notes = []  # earlier queries may quote it
        return gone

    def _put_stones(
        self,
        stones: Sequence[Sealed],
        heads: Sequence[Sealed],
        who: Access,
        because: str,
        batch: str | None,
        more: Commit,
    ) -> tuple[str, Erased]:
        """Erases the records of the tombstones and the past of the heads, writes the events, and marks the files for cleaning."""
        erased = self.store.erase(stones, heads)
        forget_words(self.store, who.space, erased.words)
        changes = [Change("erased", each.record, {}, because) for each in stones]
        changes[:1] = [replace(first, before={"events": list(erased.events)}) for first in changes[:1]]
        changes += [Change("past erased", head.record, {}, because) for head in heads]
        batch, events, link = self._events(changes, who, {each.record.id: each for each in (*stones, *heads)}, batch)
        marks = {"erased": str(to_micros(self._clock())), unscrubbed(who.space): secrets.token_hex(8)}
        self.store.write(replace(more, events=events, digest=link.digest, settings={**more.settings, **marks}))
        return batch, erased

    def _staying(self, records: Sequence[Record], quoting: Sequence[Record], now: datetime) -> list[Record]:
        """The records that live on under a new key."""
        heads = {head.id: head for head in self._living_heads(records)}
        return [*(heads | {record.id: _without_snippet(record, now) for record in quoting}).values()]

    def replace_secrets(
        self, records: Sequence[Record], links: Sequence[Link], who: Access, because: str, batch: str | None = None
    ) -> tuple[str, Erased]:
        """Replaces each record and link by its cleaned form, and erases what was there before. A tombstone stands for the past
        text of the memory, which lives on."""
        now = self._clock()
        with self.transaction():
            stones = [seal(_past_of(record, because, now), os.urandom(16), True) for record in records]
            heads = [seal(self.clean(changed(r, version=r.version + 1)), os.urandom(16)) for r in records]
            self._here.transaction.bare += [record.number for record in records]
            return self._put_stones(stones, heads, who, because, batch, Commit(links=self._cleaned(links)))

    def _cleaned(self, links: Sequence[Link]) -> list[Link]:
        return [replace(link, evidence=self.redact(link.evidence)) for link in links]

    def drop_receipts(self, ids: Sequence[str], space: str) -> None:
        """Removes these entries from the recall log, and marks the files as still to be cleaned."""
        with self.transaction():
            self.store.erase((), (), ids)
            self.store.write(Commit(settings={unscrubbed(space): secrets.token_hex(8)}))

    def _living_heads(self, records: Sequence[Record]) -> list[Record]:
        """The memories that are not among these records but whose past texts are."""
        gone = {record.id for record in records}
        found: list[Record] = []
        for space in {record.space for record in records}:
            heads = dict.fromkeys(r.superseded_by for r in records if r.superseded_by and r.space == space)
            living = self.store.get([id for id in heads if id not in gone], everywhere(space))
            found += [head for head in living if head.state != "erased"]
        return found

    def save_run(self, run: Run) -> int:
        """Stores the progress of an upkeep run, in the transaction of what it changed; or a question for a person."""
        run = replace(run, owner=self.redact(run.owner), question=self._redact_data(run.question))
        with self.transaction():
            return self.store.write(Commit(runs=[run]))[0]

    def note_upkeep(self, space: str) -> None:
        """Records that upkeep was completed just now, to know when it is due again."""
        with self.store.transaction(durable=False):
            self.store.write(Commit(settings={looked_after(space): str(to_micros(self._clock()))}))

    def note_night(self, space: str, told: str) -> None:
        """Stores the result of the last nightly run, for status reports."""
        with self.store.transaction(durable=False):
            self.store.write(Commit(settings={slept(space): told}))

    def note_homes(self, space: str) -> None:
        with self.transaction():
            self.store.write(Commit(settings={f"{HOMES_TOLD} {space}": "told"}))

    def homes_are_told(self, space: str) -> bool:
        """Whether nothing is left to find out: a store created with homes says so once for all spaces."""
        return bool(self.store.setting(HOMES_TOLD) or self.store.setting(f"{HOMES_TOLD} {space}"))

    def scrubbed(self, space: str, mark: str) -> None:
        """Records that what erasures of that space left in the files is gone too, unless there was another erasure since
        `mark`."""
        with self.store.transaction():
            if self.store.setting(unscrubbed(space)) == mark:
                self.store.write(Commit(settings={unscrubbed(space): ""}))

    # ------------------------------------------------------------ noting what was merely seen

    def note(self, receipt: Receipt) -> None:
        """Buffers a recall. If somebody follows the log, the buffer is written at once, unless that was done just before."""
        line = self._with_redacted(receipt, ("query", "session", "actor", "surface"))
        rendered = line.rendered or {}  # not the keys: "tokens", a name of ours in it, would look like that of a secret
        if self._redactor.find("\n".join(strings_in(list(rendered.values())))):
            line = replace(line, rendered=self._redact_data(rendered))
        self.note_cleaned([line])

    def note_cleaned(self, lines: Sequence[Receipt]) -> None:
        """Buffers recalls that `note` has already cleaned, in this process or in the one they were `taken` from."""
        with self._notes_lock:
            before = len(self._notes) // NOTES_AT_ONCE
            self._notes.extend(lines)
            full = len(self._notes) // NOTES_AT_ONCE > before  # after a failed flush, the next is a bufferful later
        if full or (time.monotonic() - self._flushed >= TOLD_EVERY and self.audience):
            self.flush()

    def taken(self) -> list[Receipt]:
        """Empties the buffer and returns its entries, for another process that has the same store open."""
        with self._notes_lock:
            notes, self._notes = self._notes, []
        return notes

    def flush(self, wait: float = NOTES_WAIT) -> None:
        """Writes the buffer to the recall log and counts what was shown. If the store is busy or full, the entries stay
        buffered. Entries from before another process erased something are discarded, because they may quote what was erased."""
        notes = self.taken()
        if not notes or not self.store.writable:
            return
        self._flushed = time.monotonic()
        try:
            with self.store.transaction(durable=False, wait=wait):
                erased = int(self.store.setting("erased") or to_micros(YEAR_ONE) - 1)
                notes = [note for note in notes if to_micros(note.at) > erased]
                self.store.log(notes, RECEIPTS_AT_MOST, self._oldest())
        except StoreUnavailable as problem:
            log.info("%d lines of the recall log wait: %s", len(notes), problem)
            with self._notes_lock:
                self._notes = [*notes, *self._notes][-RECEIPTS_AT_MOST:]

    def _oldest(self) -> datetime:
        """The beginning of the period that the recall log covers; everything is kept while the clock cannot be trusted."""
        now, (looked_at, oldest) = self._clock(), self._log_begins
        if oldest is None or abs(now - looked_at) > A_WHILE:
            believed = now - YEAR_ONE >= OLDEST_RECEIPT and not jump(self.store, now, FEW)
            oldest = now - OLDEST_RECEIPT if believed else YEAR_ONE
            self._log_begins = now, oldest
        return oldest

    def audit(self) -> Audit:
        """Verifies the chain against its events and its anchor, and every record against the last event about it."""
        return audit(self.store, self._anchor.read())

    def close(self) -> None:
        self.flush(CLOSING_WAIT)
        if self._notes:
            log.warning("%d lines of the recall log were given up: the store was busy or full", len(self._notes))
        with suppress(MemoristError):  # an unreadable store has been reported before
            self._anchor.write(self.store.head())


def unscrubbed(space: str) -> str:
    """The setting that marks the last erasure in that space whose traces in the files are not cleaned yet."""
    return f"unscrubbed {space}"


def slept(space: str) -> str:
    """The setting with the result of that space's last nightly run."""
    return f"night {space}"


def looked_after(space: str) -> str:
    """The setting with the time at which upkeep of that space was last completed."""
    return f"upkeep {space}"


def _salted(before: Mapping[str, Any] | None, origin: Origin) -> Mapping[str, Any] | None:
    """The previous values, with the door of whoever changed them unless that is an agent's. An event that mentions another
    record may be emptied when that one is erased. Its digest and key remain, so a salt protects it against guesses."""
    if before is None:
        return None
    door = {} if origin == "agent" else {DOOR: origin}
    salt = {SALT: secrets.token_hex(8)} if "other" in before or "superseded" in before else {}
    return {**before, **door, **salt} if door or salt else before


def door_of(event: Event) -> Origin:
    """The origin of the access through which a memory was changed."""
    return cast(Origin, (event.before or {}).get(DOOR, "agent"))


def _without_snippet(record: Record, now: datetime) -> Record:
    said, times = replace(record.provenance, snippet=None), replace(record.times, updated=now)
    return changed(record, provenance=said, times=times, version=record.version + 1)


def _tombstone(record: Record, because: str, now: datetime) -> Record:
    """What remains of an erased record: that it existed, where, and since when it is gone."""
    times = Times(record.times.created, record.times.created, now)
    return Record(
        record.id, record.space, record.scope, record.kind, "", times, record.number, state="erased", reason=because,
        origin=record.origin, trust=record.trust, version=record.version + 1, superseded_by=record.superseded_by,
        home=record.home,
    )  # fmt: skip


def _past_of(record: Record, because: str, now: datetime) -> Record:
    """A tombstone for a former text of a memory."""
    return replace(_tombstone(record, because, now), id=new_id(now), number=0, superseded_by=record.id)
