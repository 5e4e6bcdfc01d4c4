"""What the JSON file holds, row by row: values with named fields, times as text, keys and digests in hexadecimal.

Snapshot and log use the same sections, so a line of the log is a small snapshot of what one transaction left behind.
What is None is left out.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime
from functools import lru_cache
from operator import itemgetter
from typing import Any

from memorist.records import Counters, Event, Link, from_micros, to_micros
from memorist.store.chain import ChainLink
from memorist.store.index import CHUNKS
from memorist.store.nouns import Counted, Generation, KeyUse, Receipt, Run, Sealed, Shelf
from memorist.store.rows import COLUMNS, COUNTERS, from_row
from memorist.store.where import canonical

Row = dict[str, Any]
Sections = dict[str, list[Row]]

TIMES = ("at", "created", "updated", "valid_from", "valid_to")
NESTED = ("tags", "files", "data", "source")  # text in other stores, JSON inside of JSON here
NOTHING_COUNTED = (None,) * (len(COUNTERS) + 1)
_TIME_PLACES = [COLUMNS.index(name) for name in TIMES]
_NESTED_PLACES = [COLUMNS.index(name) for name in NESTED]
_PINNED = COLUMNS.index("pinned")
_BLANK: Row = dict.fromkeys(COLUMNS)
_columns = itemgetter(*COLUMNS)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(", ", ": "), allow_nan=False)
encoded: Callable[[Any], str] = _ENCODER.encode


class Shape:
    """How the values of a section are read: their class, and the fields that JSON has no type for."""

    def __init__(self, of: type, **readers: Callable[[Any], Any]) -> None:
        names = [field.name for field in fields(of)]
        self._of = of
        self._blank = dict.fromkeys(names)
        self._values = itemgetter(*names)
        self._readers = [(names.index(name), reader) for name, reader in readers.items()]

    def read(self, row: Row) -> Any:
        values = list(self._values(self._blank | row))
        for place, reader in self._readers:
            values[place] = reader(values[place])
        return self._of(*values)


@lru_cache(maxsize=1000)  # the times of a record, and of what was stored with it, are mostly the same
def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


@lru_cache(maxsize=1000)
def _micros(text: str) -> int:
    return to_micros(datetime.fromisoformat(text))


def _pairs(rows: Sequence[Sequence[Any]]) -> tuple[tuple[str, float], ...]:
    return tuple((id, score) for id, score in rows)


SHAPES = {
    "shelves": Shape(Shelf),
    "links": Shape(Link),
    "events": Shape(Event, at=_moment, mac=bytes.fromhex, after=bytes.fromhex),
    "chain": Shape(ChainLink, digest=bytes.fromhex),
    "keys": Shape(KeyUse, at=_moment),
    "runs": Shape(Run, lease=_moment, at=_moment, updated=_moment),
    "generations": Shape(Generation),
    "receipts": Shape(Receipt, at=_moment, shown=_pairs),
}


def row_of(value: Any) -> Row:
    """A plain value (one that has a shape) as a row."""
    pairs = ((field.name, getattr(value, field.name)) for field in fields(value))
    return {name: _plain(each) for name, each in pairs if each is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes) else value


def record_row(sealed: Sealed) -> Row:
    record = sealed.record
    row: Row = {"number": record.number, "space": record.space, "scope": record.scope}
    row |= {name: value for name, value in zip(COLUMNS, sealed.row, strict=True) if value is not None}
    row |= {name: from_micros(row[name]).isoformat() for name in TIMES if name in row}
    row |= {name: json.loads(row[name]) for name in NESTED if name in row}
    row["pinned"] = bool(row["pinned"])
    return row | {"key": sealed.key.hex(), "checksum": sealed.checksum.hex()}


def sealed_of(row: Row) -> Sealed:
    """`counted`, where a row has it, is the row of its counters."""
    values = list(_columns(_BLANK | row))
    for place in _TIME_PLACES:
        if (text := values[place]) is not None:
            values[place] = _micros(text)
    for place in _NESTED_PLACES:
        if values[place] is not None:
            values[place] = canonical(values[place])
    values[_PINNED] = int(row["pinned"])
    columns = tuple(values)
    record = from_row(row["space"], row["scope"], row["number"], columns, _counters(row.get("counted")))
    return Sealed(record, columns, bytes.fromhex(row["key"]), bytes.fromhex(row["checksum"]))


def _counters(row: Row | None) -> Sequence[Any]:
    if row is None:
        return NOTHING_COUNTED
    used = row.get("last_used")
    return (*(row[name] for name in COUNTERS), _micros(used) if used else None)


def counters_row(counted: Counted) -> Row:
    row: Row = {"record": counted.record, **asdict(counted.counters)}
    return row if counted.used is None else {**row, "last_used": counted.used.isoformat()}


def counted_of(row: Row) -> Counted:
    used = row.get("last_used")
    return Counted(row["record"], Counters(*(row[name] for name in COUNTERS)), _moment(used) if used else None)


def vectors_row(key: tuple[int, int], vectors: Mapping[int, bytes]) -> Row:
    """The vectors of one record and generation; none where they were taken away."""
    generation, record = key
    chunks = sorted(vectors)
    packed = b64encode(b"".join(vectors[row] for row in chunks)).decode()
    return {"generation": generation, "record": record, "chunks": [row % CHUNKS for row in chunks], "vectors": packed}


def vectors_of(row: Row) -> dict[int, bytes]:
    packed, chunks = b64decode(row["vectors"], validate=True), row["chunks"]
    width = len(packed) // len(chunks) if chunks else 0
    if len(packed) != width * len(chunks):
        raise ValueError(f"the vectors of memory {row['record']} have different lengths")
    first = row["record"] * CHUNKS
    return {first + chunk: packed[place * width : (place + 1) * width] for place, chunk in enumerate(chunks)}
