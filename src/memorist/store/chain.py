"""The journal's chain: pure functions that seal events and notice when somebody touched them.

Each transaction adds one link, a digest over the previous link and this transaction's events. An event enters it by
two keyed digests, `mac` (what was there before, and why it changed) and `after` (the record as it was then), never by
its content: `erase` can destroy the content and the record's key, and the chain still verifies. A chain cannot notice
that its own end was cut off; for that the head is also written to an anchor beside the store.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memorist.records import Event, to_micros
from memorist.store.where import canonical

START = bytes(32)


@dataclass(frozen=True, slots=True)
class ChainLink:
    """The events `first` … `last` of one transaction and the digest that ties them to all before."""

    first: int
    last: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit saw. `problems` is empty when everything agrees; each names the place."""

    ok: bool
    events: int
    records: int
    problems: tuple[str, ...] = ()


def event_mac(key: bytes, before: Mapping[str, Any] | None, because: str | None) -> bytes:
    """The digest of an event's own content, under the record's key."""
    content = canonical([None if before is None else dict(before), because])
    return hashlib.blake2b(content.encode(), digest_size=16, key=key).digest()


def next_link(previous: ChainLink | None, events: Sequence[Event]) -> ChainLink:
    """The link for these events, which carry their numbers already."""
    digest = hashlib.blake2b(previous.digest if previous else START, digest_size=32)
    for event in events:
        digest.update(_facts(event))
    return ChainLink(events[0].seq, events[-1].seq, digest.digest())


def broken(links: Iterable[tuple[ChainLink, Sequence[Event]]]) -> str | None:
    """Why the chain does not verify, naming the first bad place, or None. `links` come in order with their events."""
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


def _facts(event: Event) -> bytes:
    facts = (
        event.seq,
        to_micros(event.at),
        event.actor,
        event.surface,
        event.verb,
        event.record,
        event.batch,
    )
    return canonical(facts).encode() + event.mac + event.after
