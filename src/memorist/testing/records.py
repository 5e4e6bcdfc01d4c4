"""A clock to move, a cheap embedder, and records and events as the gate and the writer make them, but without either.

A store's tests need sealed records before there is a gate to make them; one function per noun keeps those tests
focused.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from memorist.access import Access
from memorist.records import Event, Provenance, Record, Times, new_id, utc
from memorist.store.nouns import ChainLink, Commit, Sealed, event_mac, next_link, seal
from memorist.store.protocol import Store

if TYPE_CHECKING:
    from memorist.models.embed import Floats

START = datetime(2026, 1, 1, tzinfo=UTC)
EVERYWHERE = Access(reads=("*", "project/*"), writes=("*", "project/*"), role="admin")
ATLAS = "project/atlas"


class MovableClock:
    """A clock for `Memory(clock=...)`: it stands still until it is moved.

    >>> clock = MovableClock()
    >>> clock.move(days=1, hours=2).isoformat()
    '2026-01-02T02:00:00+00:00'
    """

    def __init__(self, start: datetime = START) -> None:
        self._now = utc(start)

    def __call__(self) -> datetime:
        return self._now

    def move(self, **by: float) -> datetime:
        """Moves on by this much, with the argument names of `timedelta`; a negative amount goes back."""
        self._now += timedelta(**by)
        return self._now

    def set(self, moment: datetime) -> None:
        self._now = utc(moment)


class HashEmbedder:
    """An embedder that knows only words, not meanings, and costs nothing: each word gets a direction from its digest,
    and a text the sum of its words. Another `model` gives other directions. No setting or argument names it, and a
    memory in a file refuses it unless it is made `on_files`: meaningless vectors must never rank anybody's memories."""

    only_in_ram = True

    def __init__(self, model: str = "a", dimension: int = 32, cheap: bool = True, on_files: bool = False) -> None:
        if on_files:
            self.only_in_ram = False
        self.name = f"hash-{model}-{dimension}@test"
        self.dimension = dimension
        self.cheap = cheap
        self.calls = 0
        self._model = model

    def __init_subclass__(cls) -> None:
        cls.only_in_ram = False  # a subclass is made on purpose

    def embed(self, texts: Sequence[str]) -> "Floats":
        import numpy

        self.calls += 1
        found = numpy.zeros((len(texts), self.dimension), numpy.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                seed = hashlib.blake2b(f"{self._model} {word}".encode(), digest_size=8).digest()
                found[row] += numpy.random.default_rng(int.from_bytes(seed, "big")).standard_normal(self.dimension)
        return found


def a_record(text: str = "Staging runs Postgres 16", **changes: Any) -> Record:
    """A record as the gate would make one, with a fresh id."""
    plain = Record(new_id(START), "default", ATLAS, "fact", text, Times(START, START, START))
    return replace(plain, **changes)


def a_full_record() -> Record:
    """A record in which no field has its default."""
    times = Times(*(START + timedelta(days=day, microseconds=day) for day in range(6)))
    said = Provenance("ann", "cli", "s1", "user", "Ann", "coder", "t1", "n1", (3, 7), "a snippet", "she said so")
    return a_record(
        "Ünïcode 🐘 runs\non Postgres", space="team", scope="user/ann", kind="decision",
        times=replace(times, used=None), title="Database", tags=("db", "ärger"), files=("a/b.py",),
        data={"n": 1, "deep": {"l": [1.5, None, True, "x"]}},
        status="candidate", pinned=True, state="archived", reason="forgotten", importance=0.25, confidence=0.75,
        provenance=said, origin="file", trust="low", season="spring", fingerprint="f1", version=3,
        superseded_by="m0",
    )  # fmt: skip


def sealed(record: Record) -> Sealed:
    """The record as the writer hands it to a store. A record always has the same key."""
    return seal(record, hashlib.blake2b(record.id.encode(), digest_size=16).digest())


def stored(store: Store, *records: Record) -> list[Record]:
    """Writes the records and returns them with their numbers."""
    with store.transaction():
        numbers = store.write(Commit([sealed(record) for record in records]))
    return [replace(record, number=number) for record, number in zip(records, numbers, strict=True)]


def an_event(record: Record, seq: int, **changes: Any) -> Event:
    """An event about the record, sealed as the writer seals it."""
    event = replace(Event("added", record.id, START, "ann", "cli", "b1", seq=seq), **changes)
    own = sealed(record)
    return replace(event, mac=event_mac(own.key, event.before, event.because), after=own.checksum)


def journalled(store: Store, *events: Event) -> ChainLink:
    link = next_link(store.head(), events)
    with store.transaction():
        store.write(Commit(events=events, digest=link.digest))
    return link


def moment(days: float) -> datetime:
    return START + timedelta(days=days)


def a_tombstone(record: Record) -> Sealed:
    times = Times(record.times.created, record.times.created, moment(3))
    stone = Record(record.id, record.space, record.scope, record.kind, "", times, record.number, state="erased")
    return seal(stone, b"another key 1234")
