"""Between the tables of a store in RAM and the sections of a JSON file: all there is, what a transaction changed, and back.

Snapshot and log use the same sections, so a line of the log is a small snapshot: the final row of everything that a
transaction touched, not what it did. Rows have named fields, times as text, keys and digests in hexadecimal; what is NULL is
left out. Words, topics and the sizes of shelves are derived from the records, and never in a file.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any

import apsw

from memorist.records import from_micros, to_micros
from memorist.store.index import CHUNKS, rows_of
from memorist.store.json_file.snapshot import Row, Sections
from memorist.store.nouns import COLUMNS, COUNTERS, Sealed, Shelf, from_row, layer_of, tally
from memorist.store.sqlite.migrate import SCHEMA, migrate, migrations_in
from memorist.store.sqlite.read import rebuild
from memorist.store.sqlite.vectors import BLOCKS, GROUP, PARTS, PUT, block_of, closed, opened
from memorist.store.where import canonical

Key = tuple[Any, ...]

DERIVED = ("words", "topics")  # settings that tell what was made of the records; a file does not know them
LAST_GENERATION = "last generation"  # a setting in the file; in the tables SQLite counts them
NOTHING_COUNTED = (None,) * (len(COUNTERS) + 1)


@lru_cache(maxsize=1000)  # the times of a record, and of what was stored with it, are mostly the same
def _text(micros: int) -> str:
    return from_micros(micros).isoformat()


@lru_cache(maxsize=1000)
def _micros(text: str) -> int:
    return to_micros(datetime.fromisoformat(text))


FORMS: Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {  # into a file, and back
    "time": (_text, _micros),
    "json": (json.loads, canonical),
    "hex": (bytes.hex, bytes.fromhex),
    "flag": (bool, int),
}

MORE: Mapping[str, tuple[str, Callable[[Sequence[Any]], Any]]] = {  # a column that no file has, and what is in it
    "counters": ("tally", lambda values: tally(values[0], values[1:])),
    "links": ("tally", lambda values: tally(values[0], values[1:])),
    "generations": ("at", lambda values: 0),
}


class Section:
    """The rows of a table, field by field. `forms` says which fields look different in a file: one of FORMS, or `id` where the
    table has the number of a record. A field may have another name in the table (`job=name`)."""

    def __init__(self, table: str, fields: str, key: str, source: str | None = None, /, **forms: str) -> None:
        pairs = [each.partition("=") for each in fields.split()]
        columns = [column or field for field, _, column in pairs]
        self.table, self.key, self.fields = table, key.split(), [field for field, _, _ in pairs]
        self.ids = [field for field, form in forms.items() if form == "id"]
        self._forms = [(self.fields.index(field), field, *FORMS[form]) for field, form in forms.items() if form != "id"]
        self._blank: Row = dict.fromkeys(self.fields)
        self._values = itemgetter(*self.fields)
        shown = (f"(SELECT id FROM records WHERE number = t.{c})" if c in self.ids else f"t.{c}" for c in columns)
        self._select = f"SELECT {', '.join(shown)} FROM {source or table} t"
        self._more = MORE.get(table)
        names = [*columns, self._more[0]] if self._more else columns
        changes = ", ".join(f"{name} = excluded.{name}" for name in names)
        self._insert = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
        self._insert += f" ON CONFLICT ({', '.join(self.key)}) DO UPDATE SET {changes}"

    def rows(self, one: apsw.Connection, keys: Iterable[Key] | None = None) -> Iterator[Row]:
        """Those with these keys, or all."""
        sql, key = self._select, ", ".join(f"t.{name}" for name in self.key)
        if keys is not None:
            parts = ", ".join(f"value ->> {place}" for place in range(len(self.key)))
            sql += f" WHERE ({key}) IN (SELECT {parts} FROM json_each(?))"
        order = "t.rowid" if self.table == "recalls" else key  # what is oldest there goes first
        for found in one.execute(f"{sql} ORDER BY {order}", () if keys is None else (canonical(list(keys)),)):
            row = {field: value for field, value in zip(self.fields, found, strict=True) if value is not None}
            for _, field, written, _ in self._forms:
                if field in row:
                    row[field] = written(row[field])
            yield row

    def values(self, row: Row) -> list[Any]:
        """Of its fields, as a table has them; but ids."""
        values = list(self._values(self._blank | row))
        for place, _, _, read in self._forms:
            if values[place] is not None:
                values[place] = read(values[place])
        return values

    def put(self, one: apsw.Connection, rows: Sequence[Row]) -> None:
        """Adds them, or puts them in the place of those with their keys."""
        values, more = (self.values(row) for row in self._numbered(one, rows)), self._more
        one.executemany(self._insert, ((*each, more[1](each)) for each in values) if more else values)

    def drop(self, one: apsw.Connection, rows: Sequence[Row]) -> None:
        keys = ([row[field] for field in self.key] for row in self._numbered(one, rows))
        one.executemany(f"DELETE FROM {self.table} WHERE {' AND '.join(f'{name} = ?' for name in self.key)}", keys)

    def _numbered(self, one: apsw.Connection, rows: Sequence[Row]) -> Iterable[Row]:
        """The rows with numbers of records instead of ids."""
        if not self.ids or not rows:
            return rows
        sql = "SELECT id, number FROM records WHERE id IN (SELECT value FROM json_each(?))"
        numbers = dict(one.execute(sql, (canonical([row[field] for row in rows for field in self.ids]),)))
        return ({**row, **{field: numbers[row[field]] for field in self.ids}} for row in rows)


SECTIONS = {  # in the order of a snapshot; vectors come last
    "settings": Section(
        "settings", "name value", "name",
        f"(SELECT name, value FROM settings WHERE name NOT IN {DERIVED} UNION ALL"
        f" SELECT '{LAST_GENERATION}', CAST(seq AS TEXT) FROM sqlite_sequence WHERE name = 'generations')",
    ),
    "records": Section(
        "records", f"number space scope {' '.join(COLUMNS)} key checksum", "number",
        "(SELECT s.space, s.scope, r.* FROM records r CROSS JOIN shelves s ON s.id = r.shelf)",
        at="time", created="time", updated="time", valid_from="time", valid_to="time", tags="json", files="json",
        data="json", source="json", pinned="flag", key="hex", checksum="hex",
    ),
    "counters": Section("counters", f"record {' '.join(COUNTERS)} last_used", "record", record="id", last_used="time"),
    "shelves": Section("shelves", "space scope layer", "id"),
    "links": Section("links", "a b kind weight evidence", "a b kind", a="id", b="id"),
    "events": Section(
        "journal", "verb record at actor surface batch because before seq mac after", "seq",
        record="id", at="time", before="json", mac="hex", after="hex",
    ),
    "chain": Section(
        "journal", "first last digest", "last",
        "(SELECT ifnull((SELECT seq FROM journal WHERE seq < j.seq AND digest IS NOT NULL ORDER BY seq DESC LIMIT 1), 0) + 1"
        " AS first, seq AS last, digest FROM journal j WHERE digest IS NOT NULL)",
        digest="hex",
    ),
    "keys": Section("key_uses", "key draft record outcome at", "key", at="time"),
    "runs": Section(
        "jobs", "id space job=name state owner lease at updated batch checkpoint changed problem question", "id",
        lease="time", at="time", updated="time", checkpoint="json", question="json",
    ),
    "generations": Section("generations", "id model dimension state", "id"),
    "receipts": Section(
        "recalls", "id at space query actor surface session ms shown empty_because rendered", "id",
        at="time", shown="json", rendered="json",
    ),
}  # fmt: skip
PLAIN = ("counters", "links", "events", "keys", "runs", "generations", "receipts")  # rows that are put as they are
RECORDS = SECTIONS["records"]
INSERT = f"INSERT INTO records (number, shelf, {', '.join(COLUMNS)}, key, checksum) VALUES (?, ?{', ?' * len(COLUMNS)}, ?, ?)"
WORDS = "INSERT OR IGNORE INTO words (id, shelf, start, end, prepared, length) VALUES (?, ?, ?, ?, ?, ?)"
_space, _scope, _kind, _state = (RECORDS.fields.index(name) for name in ("space", "scope", "kind", "state"))


# ---------------------------------------------------------------- out


def every(one: apsw.Connection) -> Mapping[str, Iterator[Row]]:
    """All there is, for a snapshot."""
    return {**{name: section.rows(one) for name, section in SECTIONS.items()}, "vectors": _vectors(one)}


@contextmanager
def watched(one: apsw.Connection) -> Iterator[Callable[[], Sections]]:
    """Inside a transaction: what is asked for is what it left behind since then."""
    with closing(apsw.Session(one, "main")) as session:
        for table in (*(section.table for section in SECTIONS.values()), "vectors"):
            session.attach(table)
        yield lambda: _changed(one, session)


def _changed(one: apsw.Connection, session: apsw.Session) -> Sections:
    touched: dict[str, dict[Key, str]] = {}
    blocks: dict[Key, Key] = {}
    for change in apsw.Changeset.iter(session.changeset()):
        row = change.old or change.new or ()
        key = tuple(row[place] for place in sorted(change.pk_columns))
        touched.setdefault(change.name, {})[key] = change.op
        if change.name == "vectors":
            blocks[key] = (change.old or (b"", b""))[-2:]
    added = {name: [key for key, op in keys.items() if op == "INSERT"] for name, keys in touched.items()}
    left = {name: [key for key, op in keys.items() if op != "DELETE"] for name, keys in touched.items()}
    gone = {name: [key for key, op in keys.items() if op == "DELETE"] for name, keys in touched.items()}
    left["settings"] = [*left.get("settings", ()), *([(LAST_GENERATION,)] if added.get("generations") else ())]
    sections = {
        "dropped_links": [{"a": _id(one, a), "kind": kind, "b": _id(one, b)} for a, b, kind in gone.get("links", ())],
        "dropped_generations": [{"id": id} for (id,) in gone.get("generations", ())],
        "dropped_receipts": [{"id": id} for (id,) in gone.get("recalls", ())],
    }
    for name, section in SECTIONS.items():
        keys = (added if name in ("shelves", "chain") else left).get(section.table)
        sections[name] = list(section.rows(one, keys)) if keys else []
    zeros = dict.fromkeys(COUNTERS, 0)
    sections["counters"] += [{"record": _id(one, number), **zeros} for (number,) in gone.get("counters", ())]
    sections["vectors"] = list(_changed_vectors(one, blocks))
    return {name: rows for name, rows in sections.items() if rows}


def _id(one: apsw.Connection, number: int) -> str:
    id: str = one.execute("SELECT id FROM records WHERE number = ?", (number,)).get
    return id


# ---------------------------------------------------------------- in


def merged(parts: Sequence[Sections]) -> Sections:
    """A snapshot, and the lines of its log put into it."""
    if len(parts) == 1:
        return parts[0]
    keys = {name: itemgetter(*section.key) for name, section in SECTIONS.items()}
    keys |= {"vectors": itemgetter("generation", "record"), "shelves": itemgetter("space", "scope", "layer")}
    tables: dict[str, dict[Any, Row]] = {name: {} for name in keys}
    for part in parts:
        for name, rows in part.items():
            kind, dropped = name.removeprefix("dropped_"), name.startswith("dropped_")
            for row in rows if kind in keys else ():
                if dropped:
                    tables[kind].pop(keys[kind](row), None)
                else:
                    tables[kind][keys[kind](row)] = row
    return {name: list(table.values()) for name, table in tables.items()}


def built(sections: Sections) -> apsw.Connection:
    """A database in RAM of its own with these rows."""
    one = apsw.Connection(":memory:")
    one.execute("PRAGMA journal_mode = OFF")  # what fails is thrown away
    migrate(one, Path(":memory:"), migrations_in(SCHEMA))
    with one:
        one.execute("DELETE FROM settings")
        put_records(one, sections.get("records", ()))
        put(one, sections)
    return one


def put_records(one: apsw.Connection, rows: Sequence[Row]) -> list[int]:
    """Adds those that are not there, and nothing that is derived from them. Their numbers."""
    records = [RECORDS.values(row) for row in rows]
    wanted = [Shelf(v[_space], v[_scope], layer_of(v[_kind], v[_state])) for v in records]
    shelves = _shelves(one, wanted)
    values = ((v[0], shelves[shelf], *v[3:]) for v, shelf in zip(records, wanted, strict=True))
    return [
        number for (number,) in one.executemany(f"{INSERT} ON CONFLICT (number) DO NOTHING RETURNING number", values)
    ]


def _shelves(one: apsw.Connection, wanted: Iterable[Shelf]) -> dict[Shelf, int]:
    """The numbers of all; these are made if there are none."""
    names = [(shelf.space, shelf.scope, shelf.layer) for shelf in dict.fromkeys(wanted)]
    one.executemany("INSERT INTO shelves (space, scope, layer) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", names)
    return {Shelf(*names): id for id, *names in one.execute("SELECT id, space, scope, layer FROM shelves")}


def sealed(row: Row) -> Sealed:
    number, space, scope, *columns, key, checksum = RECORDS.values(row)
    record = from_row(space, scope, number, columns, NOTHING_COUNTED)
    return Sealed(record, tuple(columns), key, checksum)


def put(one: apsw.Connection, sections: Sections) -> None:
    """All rows but the records, which are there already."""
    _shelves(one, (Shelf(**row) for row in sections.get("shelves", ())))
    for row in sections.get("dropped_generations", ()):
        one.execute("DELETE FROM vectors WHERE generation = ?", (row["id"],))
    for name in PLAIN:
        SECTIONS[name].drop(one, sections.get(f"dropped_{name}", ()))
        SECTIONS[name].put(one, sections.get(name, ()))
    _put_settings(one, sections.get("settings", ()))
    _put_chain(one, sections.get("chain", ()))
    _put_vectors(one, sections.get("vectors", ()))


def _put_settings(one: apsw.Connection, rows: Iterable[Row]) -> None:
    settings = {row["name"]: row["value"] for row in rows}
    last = settings.pop(LAST_GENERATION, None)
    SECTIONS["settings"].put(one, [{"name": name, "value": value} for name, value in settings.items()])
    if last is not None:
        one.execute("DELETE FROM sqlite_sequence WHERE name = 'generations'")
        one.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('generations', ?)", (int(last),))


def _put_chain(one: apsw.Connection, rows: Iterable[Row]) -> None:
    for row in rows:
        one.execute("UPDATE journal SET digest = ? WHERE seq = ?", (bytes.fromhex(row["digest"]), row["last"]))
        if not one.changes():
            raise LookupError(f"event {row['last']} is missing")


def make_words(one: apsw.Connection) -> None:
    """The index rows of all records; those of records that were written meanwhile are there."""
    one.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)  # row by row, the index would cost four times as much
    try:
        one.executemany(WORDS, _words(one))
        rebuild(one)
    finally:
        one.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 1)
    one.execute("INSERT INTO settings VALUES ('words', 'made')")


def _words(one: apsw.Connection) -> Iterator[Key]:
    sql = "SELECT number, shelf, text, title, speaker, tags, files FROM records WHERE state <> 'erased'"
    for number, shelf, text, title, speaker, tags, files in one.execute(sql):
        labels = [title, *json.loads(tags or "[]"), *json.loads(files or "[]"), speaker]
        for id, row in enumerate(rows_of(text, labels), number * CHUNKS):
            yield id, shelf, row.start, row.end, row.prepared, len(row.terms)


# ---------------------------------------------------------------- vectors


def _held(one: apsw.Connection, generation: int, shelf: int, group: int) -> dict[int, bytes]:
    """The vectors of the records whose blocks lie together, by index row."""
    blocks = one.execute(BLOCKS, (generation, shelf, group * PARTS, (group + 1) * PARTS))
    return {row: vector for _, rows, codes in blocks for row, vector in opened(rows, codes).items()}


def _vectors(one: apsw.Connection) -> Iterator[Row]:
    sql = f"SELECT DISTINCT generation, shelf, block / {PARTS} FROM vectors ORDER BY 1, 2, 3"
    groups: list[Any] = one.execute(sql).fetchall()
    for generation, shelf, group in groups:
        held = _held(one, generation, shelf, group)
        yield from (_packed(generation, number, held) for number in sorted({row // CHUNKS for row in held}))


def _packed(generation: int, number: int, held: Mapping[int, bytes]) -> Row:
    """The vectors of one record; none where they were taken away."""
    rows = sorted(row for row in held if row // CHUNKS == number)
    packed = b64encode(b"".join(held[row] for row in rows)).decode()
    return {"generation": generation, "record": number, "chunks": [row % CHUNKS for row in rows], "vectors": packed}


def _changed_vectors(one: apsw.Connection, blocks: Mapping[Key, Key]) -> Iterator[Row]:
    """Of records that have other ones than before; one that went to another shelf took its own along."""
    before, after = dict[Key, bytes](), dict[Key, bytes]()
    for (generation, shelf, block), was in blocks.items():
        found = one.execute(BLOCKS, (generation, shelf, block, block + 1)).get or (block, b"", b"")
        old = (now if each is apsw.no_change else each for each, now in zip(was, found[1:], strict=True))
        before |= {(generation, row): vector for row, vector in opened(*old).items()}
        after |= {(generation, row): vector for row, vector in opened(*found[1:]).items()}
    changed = {(key[0], key[1] // CHUNKS) for key in before.keys() | after if before.get(key) != after.get(key)}
    for generation, number in sorted(changed):
        shelf = one.execute("SELECT shelf FROM records WHERE number = ?", (number,)).get
        yield _packed(generation, number, _held(one, generation, shelf, number // GROUP))


def _put_vectors(one: apsw.Connection, rows: Sequence[Row]) -> None:
    """In the place of those that these records have."""
    sql = "SELECT number, shelf FROM records WHERE number IN (SELECT value FROM json_each(?))"
    shelves = dict(one.execute(sql, (canonical([row["record"] for row in rows]),)))
    known = {id for (id,) in one.execute("SELECT id FROM generations")}
    groups: dict[Key, dict[int, dict[int, bytes]]] = {}
    for row in rows:
        number, generation = row["record"], row["generation"]
        if generation in known:  # else there is nothing left to compare them with
            groups.setdefault((generation, shelves[number], number // GROUP), {})[number] = _unpacked(row)
    bump = "UPDATE shelves SET vectors = vectors + 1 WHERE id = ? RETURNING vectors"
    versions = {shelf: one.execute(bump, (shelf,)).get for shelf in {shelf for _, shelf, _ in groups}}
    for (generation, shelf, group), records in groups.items():
        held = _held(one, generation, shelf, group)
        blocks: dict[int, dict[int, bytes]] = {block_of(place): {} for place in held}
        stay = {place: vector for place, vector in held.items() if place // CHUNKS not in records}
        for place, vector in (each for some in (stay, *records.values()) for each in some.items()):
            blocks.setdefault(block_of(place), {})[place] = vector
        for block, some in blocks.items():
            one.execute(PUT, (generation, shelf, block, versions[shelf], len(some), *closed(some)))


def _unpacked(row: Row) -> dict[int, bytes]:
    packed, chunks = b64decode(row["vectors"], validate=True), row["chunks"]
    width = len(packed) // len(chunks) if chunks else 0
    if len(packed) != width * len(chunks):
        raise ValueError(f"the vectors of memory {row['record']} have different lengths")
    first = row["record"] * CHUNKS
    return {first + chunk: packed[place * width : (place + 1) * width] for place, chunk in enumerate(chunks)}
