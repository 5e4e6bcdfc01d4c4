"""A record as stored columns, and back: the only place that knows both.

The same columns are what a row's checksum covers, so that both stores compute one number for one record. Counters are
left out of it on purpose (they change without the record changing) and have a checksum of their own. Empty things are
stored as NULL: most memories have no title, no files and no data, and a store of a million should not pay for that.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from memorist.errors import StoreDamaged
from memorist.records import Counters, Provenance, Record, Times, from_micros, to_micros
from memorist.store.where import canonical

COLUMNS = (
    "id", "kind", "text", "title", "tags", "files", "data", "status", "pinned", "state", "reason",
    "importance", "confidence", "at", "created", "updated", "valid_from", "valid_to",
    "actor", "surface", "session", "role", "speaker", "agent", "task", "narrative", "source",
    "origin", "trust", "season", "fingerprint", "version", "superseded_by",
)  # fmt: skip
CONTENT = ("text", "title", "tags", "files", "data")  # what a memory is made of; its footprint is computed from it
COUNTERS = ("up", "down", "used", "surfaced", "rejected", "strength")
WHOLE = {"pinned", "at", "created", "updated", "valid_from", "valid_to", "version", *COUNTERS, "last_used"}
REAL = {"importance", "confidence"}
MAY_BE_MISSING = {
    "title", "tags", "files", "data", "reason", "valid_from", "valid_to", "session", "role", "speaker", "agent", "task",
    "narrative", "source", "season", "superseded_by", *COUNTERS, "last_used",
}  # fmt: skip
SHAPES_AT_MOST = 1000
_sound_shapes: set[tuple[type, ...]] = set()  # of rows seen so far; one look at it costs a tenth of the columns' own


def to_row(record: Record) -> tuple[Any, ...]:
    """The values of COLUMNS."""
    times, source = record.times, record.provenance
    return (
        record.id, record.kind, record.text, record.title, _json(record.tags), _json(record.files),
        _json(record.data), record.status, int(record.pinned), record.state, record.reason,
        float(record.importance), float(record.confidence),
        to_micros(times.at), to_micros(times.created), to_micros(times.updated),
        None if times.valid_from is None else to_micros(times.valid_from),
        None if times.valid_to is None else to_micros(times.valid_to),
        source.actor, source.surface, source.session, source.role, source.speaker, source.agent,
        source.task, source.narrative, _grounds(source),
        record.origin, record.trust, record.season, record.fingerprint, record.version, record.superseded_by,
    )  # fmt: skip


def from_row(space: str, scope: str, number: int, row: Sequence[Any], counted: Sequence[Any]) -> Record:
    """The record; `counted` holds the counters and the time of last use, or Nones where nothing was counted."""
    (id, kind, text, title, tags, files, data, status, pinned, state, reason, importance, confidence,
     at, created, updated, valid_from, valid_to, actor, surface, session, role, speaker, agent, task,
     narrative, source, origin, trust, season, fingerprint, version, superseded_by) = row  # fmt: skip
    _must_be_sound(row, counted[:7])
    used = counted[6]
    return Record(
        id, space, scope, kind, text,
        Times(
            from_micros(at), from_micros(created), from_micros(updated),
            None if used is None else from_micros(used),
            None if valid_from is None else from_micros(valid_from),
            None if valid_to is None else from_micros(valid_to),
        ),
        number, title,
        tuple(json.loads(tags)) if tags else (),
        tuple(json.loads(files)) if files else (),
        json.loads(data) if data else {},
        status, bool(pinned), state, reason, importance, confidence,
        Counters(*counted[:6]) if counted[0] is not None else Counters(),
        _provenance(source, actor, surface, session, role, speaker, agent, task, narrative),
        origin, trust, season, fingerprint, version, superseded_by,
    )  # fmt: skip


def _must_be_sound(row: Sequence[Any], counted: Sequence[Any]) -> None:
    """A flipped bit can turn any column into NULL or into bytes, also where the schema forbids it."""
    shape = (*map(type, row), *map(type, counted))
    if shape in _sound_shapes:
        return
    for name, found in zip((*COLUMNS, *COUNTERS, "last_used"), shape, strict=True):
        wanted = int if name in WHOLE else float if name in REAL else str
        if found is not wanted and not (found is type(None) and name in MAY_BE_MISSING):
            raise TypeError(f"its {name} is no {wanted.__name__}")
    if len({value is None for value in counted[:6]}) > 1:
        raise TypeError("one of its counters is missing")
    if len(_sound_shapes) < SHAPES_AT_MOST:
        _sound_shapes.add(shape)


def counters_of(number: int, counted: Sequence[Any]) -> tuple[Counters, datetime | None]:
    """The counters of a record and when it was last used, where nothing else of it is asked for."""
    *counts, used = counted
    if not (all(type(count) is int for count in counts) or all(count is None for count in counts)):
        raise StoreDamaged(f"the counters of memory {number} cannot be read; `memorist doctor` tells more")
    return Counters(*counts) if counts[0] is not None else Counters(), None if used is None else from_micros(used)


def checksum(key: bytes, space: str, scope: str, row: Sequence[Any]) -> bytes:
    """A keyed digest of the record's columns. Without the key, which `erase` destroys, nothing can be guessed from it."""
    content = canonical([space, scope, *row])
    return hashlib.blake2b(content.encode(), digest_size=16, key=key).digest()


def tally(number: int, counted: Sequence[object]) -> bytes:
    """The own checksum of counters and links: it finds flipped bits, it is not a seal."""
    return hashlib.blake2b(repr((number, *counted)).encode(), digest_size=4).digest()


def difference(old: Record, new: Record) -> dict[str, Any]:
    """The old values of the columns that differ: what the journal needs to show, and to take the change back."""
    before = dict(zip(("scope", *COLUMNS), (old.scope, *to_row(old)), strict=True))
    after = dict(zip(("scope", *COLUMNS), (new.scope, *to_row(new)), strict=True))
    return {
        name: value for name, value in before.items() if after[name] != value and name not in ("updated", "version")
    }


def _json(value: Mapping[str, Any] | Sequence[str]) -> str | None:
    return canonical(value) if value else None


def _grounds(source: Provenance) -> str | None:
    if source.messages is None and source.snippet is None and source.confidence_because is None:
        return None
    return canonical([source.messages, source.snippet, source.confidence_because])


def _provenance(source: str | None, *columns: Any) -> Provenance:
    plain = Provenance(*columns)
    if source is None:
        return plain
    messages, snippet, because = json.loads(source)
    messages = tuple(messages) if messages else None
    return replace(plain, messages=messages, snippet=snippet, confidence_because=because)
