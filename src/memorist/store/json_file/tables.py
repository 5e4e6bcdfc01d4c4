"""Converts between the tables of a store in RAM and the sections of a JSON file: everything, or what a transaction changed,
and back.

Snapshot and log use the same sections, so a line of the log is a small snapshot: the final row of everything that a
transaction touched, not what it did. Rows have named fields, times as text, keys and digests in hexadecimal; NULLs are left
out. Words, topics and the sizes of shelves are derived from the records, and are never in a file.
"""

import json
from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import apsw

from memorist.records import from_micros, to_micros
from memorist.store.index import CHUNKS, rows_of
from memorist.store.json_file.snapshot import Row, Sections
from memorist.store.nouns import COLUMNS, COUNTERS, Sealed, Shelf, from_row, layer_of, tally
from memorist.store.sqlite.connection import upsert
from memorist.store.sqlite.migrate import SCHEMA, migrate, migrations_in
from memorist.store.sqlite.read import rebuild
from memorist.store.sqlite.vectors import BLOCKS, GROUP, PARTS, PUT, block_of, closed, next_version, opened
from memorist.store.where import canonical

Key = tuple[Any, ...]

DERIVED = ("words", "topics")  # settings that say what was derived from the records; not in a file
LAST_GENERATION = "last generation"  # a setting in the file; in the tables SQLite counts them
MANY = 1000  # ids from which reading all costs less than looking up each
NOTHING_COUNTED = (None,) * (len(COUNTERS) + 1)


@lru_cache(maxsize=1000)  # the times of a record and of what was stored with it are mostly equal
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

MORE: Mapping[str, tuple[str, Callable[[Sequence[Any]], Any]]] = {  # a column that is not in the file, and its value
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
        self._places = {field: place for place, field in enumerate(self.fields)}
        self._forms = [(self._places[field], field, *FORMS[form]) for field, form in forms.items() if form != "id"]
        shown = (f"(SELECT id FROM records WHERE number = t.{c})" if c in self.ids else f"t.{c}" for c in columns)
        self._select = f"SELECT {', '.join(shown)} FROM {source or table} t"
        self._more = MORE.get(table)
        names = [*columns, self._more[0]] if self._more else columns
        self._insert = upsert(table, ", ".join(names), ", ".join(self.key))

    def rows(self, one: apsw.Connection, keys: Iterable[Key] | None = None) -> Iterator[Row]:
        """The rows with these keys, or all."""
        sql, key = self._select, ", ".join(f"t.{name}" for name in self.key)
        if keys is not None:
            parts = ", ".join(f"value ->> {place}" for place in range(len(self.key)))
            sql += f" WHERE ({key}) IN (SELECT {parts} FROM json_each(?))"
        order = "t.rowid" if self.table == "recalls" else key  # the oldest there is removed first
        for found in one.execute(f"{sql} ORDER BY {order}", () if keys is None else (canonical(list(keys)),)):
            row = {field: value for field, value in zip(self.fields, found, strict=True) if value is not None}
            for _, field, written, _ in self._forms:
                if field in row:
                    row[field] = written(row[field])
            yield row

    def values(self, row: Row) -> list[Any]:
        """The values of the row's fields as in the table, except for ids."""
        values = list(map(row.get, self.fields))
        for place, _, _, read in self._forms:
            if values[place] is not None:
                values[place] = read(values[place])
        return values

    def put(self, one: apsw.Connection, rows: Sequence[Row]) -> None:
        """Inserts the rows, or replaces those with their keys."""
        values, more = self._numbered(one, rows), self._more
        one.executemany(self._insert, ((*each, more[1](each)) for each in values) if more else values)

    def drop(self, one: apsw.Connection, rows: Sequence[Row]) -> None:
        keys = ([values[self._places[field]] for field in self.key] for values in self._numbered(one, rows))
        one.executemany(f"DELETE FROM {self.table} WHERE {' AND '.join(f'{name} = ?' for name in self.key)}", keys)

    def _numbered(self, one: apsw.Connection, rows: Sequence[Row]) -> Iterator[list[Any]]:
        """The values of the rows, with record numbers instead of ids."""
        numbers = _numbers(one, {row[field] for row in rows for field in self.ids})
        places = [self._places[field] for field in self.ids]
        for row in rows:
            values = self.values(row)
            for place in places:
                values[place] = numbers[values[place]]
            yield values


def _numbers(one: apsw.Connection, ids: set[str]) -> Mapping[str, int]:
    if len(ids) > MANY:
        return dict(one.execute("SELECT id, number FROM records"))
    sql = "SELECT id, number FROM records WHERE id IN (SELECT value FROM json_each(?))"
    return dict(one.execute(sql, (canonical(list(ids)),))) if ids else {}


SECTIONS = {  # in the order of a snapshot; vectors come last
    "settings": Section(
        "settings", "name value", "name",
        f"(SELECT name, value FROM settings WHERE name NOT IN {DERIVED} UNION ALL"
        f" SELECT '{LAST_GENERATION}', CAST(seq AS TEXT) FROM sqlite_sequence WHERE name = 'generations')",
    ),
    "records": Section(
        "records", f"number space scope home {' '.join(COLUMNS)} key checksum", "number",
        "(SELECT s.space, s.named AS scope, s.home, r.* FROM records r CROSS JOIN shelves s ON s.id = r.shelf)",
        at="time", created="time", updated="time", valid_from="time", valid_to="time", tags="json", files="json",
        data="json", source="json", pinned="flag", key="hex", checksum="hex",
    ),
    "counters": Section("counters", f"record {' '.join(COUNTERS)} last_used", "record", record="id", last_used="time"),
    "shelves": Section(
        "shelves", "space scope layer home", "id", "(SELECT id, space, named AS scope, layer, home FROM shelves)"
    ),
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
    "generations": Section("generations", "id model dimension state layers lost", "id"),
    "receipts": Section(
        "recalls", "id at space query actor surface session ms shown empty_because rendered home", "id",
        at="time", shown="json", rendered="json",
    ),
    "lessons": Section(
        "lessons", "id space home record question places users others at", "id", record="id", places="json", at="time"
    ),
}  # fmt: skip
PLAIN = "counters links events keys runs generations receipts lessons".split()  # rows that are put as they are
RECORDS = SECTIONS["records"]
INSERT = f"INSERT INTO records (number, shelf, {', '.join(COLUMNS)}, key, checksum) VALUES (?, ?{', ?' * len(COLUMNS)}, ?, ?)"
WORDS = "INSERT OR IGNORE INTO words (id, shelf, start, end, prepared, length) VALUES (?, ?, ?, ?, ?, ?)"


# ---------------------------------------------------------------- out


def every(one: apsw.Connection) -> Mapping[str, Iterator[Row]]:
    """Everything, for a snapshot."""
    return {**{name: section.rows(one) for name, section in SECTIONS.items()}, "vectors": _vectors(one)}


@contextmanager
def watched(one: apsw.Connection) -> Iterator[Callable[[], Sections]]:
    """Inside a transaction: yields a function that returns what the transaction has changed so far."""
    with closing(apsw.Session(one, "main")) as session:
        for table in (*(section.table for section in SECTIONS.values()), "vectors"):
            session.attach(table)
        yield lambda: _changed(one, _Touched(session))


class _Touched:
    """The keys of the rows that a transaction touched, by table and by what happened to them."""

    def __init__(self, session: apsw.Session) -> None:
        self._keys: dict[tuple[str, str], list[Key]] = {}
        self.blocks: dict[Key, Key] = {}  # of vectors, with their former content
        for change in apsw.Changeset.iter(session.changeset()):
            row = change.old or change.new or ()
            key = tuple(row[place] for place in sorted(change.pk_columns))
            self._keys.setdefault((change.name, change.op), []).append(key)
            if change.name == "vectors":
                self.blocks[key] = (change.old or (b"", b""))[-2:]

    def added(self, table: str) -> list[Key]:
        return self._keys.get((table, "INSERT"), [])

    def left(self, table: str) -> list[Key]:
        return self.added(table) + self._keys.get((table, "UPDATE"), [])

    def gone(self, table: str) -> list[Key]:
        return self._keys.get((table, "DELETE"), [])


def _changed(one: apsw.Connection, touched: _Touched) -> Sections:
    sections = {**_dropped(one, touched), **_left(one, touched)}
    zeros = dict.fromkeys(COUNTERS, 0)
    sections["counters"] += [{"record": _id(one, number), **zeros} for (number,) in touched.gone("counters")]
    sections["vectors"] = list(_changed_vectors(one, touched.blocks))
    return {name: rows for name, rows in sections.items() if rows}


def _dropped(one: apsw.Connection, touched: _Touched) -> Sections:
    return {
        "dropped_links": [{"a": _id(one, a), "kind": kind, "b": _id(one, b)} for a, b, kind in touched.gone("links")],
        "dropped_generations": [{"id": id} for (id,) in touched.gone("generations")],
        "dropped_receipts": [{"id": id} for (id,) in touched.gone("recalls")],
        "dropped_lessons": [{"id": id} for (id,) in touched.gone("lessons")],
    }


def _left(one: apsw.Connection, touched: _Touched) -> Sections:
    """The rows that exist now. A shelf or the end of a chain is written once, when it is added."""
    sections = {}
    for name, section in SECTIONS.items():
        keys = touched.added(section.table) if name in ("shelves", "chain") else touched.left(section.table)
        if name == "settings" and touched.added("generations"):
            keys = [*keys, (LAST_GENERATION,)]
        sections[name] = list(section.rows(one, keys)) if keys else []
    return sections


def _id(one: apsw.Connection, number: int) -> str:
    id: str = one.execute("SELECT id FROM records WHERE number = ?", (number,)).get
    return id


# ---------------------------------------------------------------- in


def merged(parts: Sequence[Sections]) -> Sections:
    """A snapshot with the lines of its log merged into it."""
    if len(parts) == 1:
        return parts[0]
    keys: dict[str, Callable[[Row], Any]] = {name: itemgetter(*section.key) for name, section in SECTIONS.items()}
    keys |= {"vectors": itemgetter("generation", "record"), "shelves": lambda row: Shelf(**row)}
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
    """A separate database in RAM with these rows."""
    one = apsw.Connection(":memory:")
    one.execute("PRAGMA journal_mode = OFF")  # what fails is thrown away
    migrate(one, Path(":memory:"), migrations_in(SCHEMA))
    with one:
        one.execute("DELETE FROM settings")
        _put_records(one, sections.get("records", ()))
        put(one, sections)
    return one


def _put_records(one: apsw.Connection, rows: Sequence[Row]) -> None:
    """Inserts new records, without anything derived from them."""

    def place_of(row: Row) -> Key:
        return row["space"], row["scope"], row["kind"], row["state"], row.get("home")

    wanted = {
        each: Shelf(each[0], each[1], layer_of(each[2], each[3]), each[4])
        for each in dict.fromkeys(map(place_of, rows))
    }
    shelves = _shelves(one, wanted.values())
    places = {each: shelves[shelf] for each, shelf in wanted.items()}

    def filed(row: Row) -> list[Any]:
        number, _, _, _, *values = RECORDS.values(row)
        return [number, places[place_of(row)], *values]

    one.executemany(INSERT, map(filed, rows))


def _shelves(one: apsw.Connection, wanted: Iterable[Shelf]) -> dict[Shelf, int]:
    """The numbers of all these shelves; missing ones are created."""
    names = [(shelf.space, shelf.place, shelf.layer) for shelf in dict.fromkeys(wanted)]
    one.executemany("INSERT INTO shelves (space, scope, layer) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", names)
    return {Shelf(*names): id for id, *names in one.execute("SELECT id, space, named, layer, home FROM shelves")}


def sealed(sections: Sections) -> list[Sealed]:
    """The records, ordered by number."""
    seals = []
    for row in sorted(sections.get("records", ()), key=itemgetter("number")):
        number, space, scope, home, *columns, key, checksum = RECORDS.values(row)
        record = from_row(space, scope, home, number, columns, NOTHING_COUNTED)
        seals.append(Sealed(record, tuple(columns), key, checksum))
    return seals


def put(one: apsw.Connection, sections: Sections) -> None:
    """Inserts all rows except the records, which are there already."""
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
    """Makes the index rows of all records; those of records written meanwhile exist already."""
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
        labels = [title, *(json.loads(tags) if tags else ()), *(json.loads(files) if files else ()), speaker]
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
        for number, rows in groupby(sorted(held), lambda row: row // CHUNKS):
            yield _packed(generation, number, list(rows), held)


def _packed(generation: int, number: int, rows: Sequence[int], held: Mapping[int, bytes]) -> Row:
    """The vectors of one record, which has these rows; none if they were removed."""
    packed = b64encode(b"".join(held[row] for row in rows)).decode()
    return {"generation": generation, "record": number, "chunks": [row % CHUNKS for row in rows], "vectors": packed}


def _changed_vectors(one: apsw.Connection, blocks: Mapping[Key, Key]) -> Iterator[Row]:
    """The vectors of records whose vectors changed; a record that moved to another shelf kept its own."""
    before, after = dict[Key, bytes](), dict[Key, bytes]()
    for (generation, shelf, block), was in blocks.items():
        found = one.execute(BLOCKS, (generation, shelf, block, block + 1)).get or (block, b"", b"")
        old = (now if each is apsw.no_change else each for each, now in zip(was, found[1:], strict=True))
        before |= {(generation, row): vector for row, vector in opened(*old).items()}
        after |= {(generation, row): vector for row, vector in opened(*found[1:]).items()}
    changed = {(key[0], key[1] // CHUNKS) for key in before.keys() | after if before.get(key) != after.get(key)}
    for generation, number in sorted(changed):
        shelf = one.execute("SELECT shelf FROM records WHERE number = ?", (number,)).get
        held = _held(one, generation, shelf, number // GROUP)
        yield _packed(generation, number, sorted(row for row in held if row // CHUNKS == number), held)


def _put_vectors(one: apsw.Connection, rows: Sequence[Row]) -> None:
    """Replaces the vectors of these records."""
    sql = "SELECT number, shelf FROM records WHERE number IN (SELECT value FROM json_each(?))"
    shelves = dict(one.execute(sql, (canonical([row["record"] for row in rows]),)))
    known = {id for (id,) in one.execute("SELECT id FROM generations")}
    groups: dict[Key, list[Row]] = {}
    for row in rows:
        number, generation = row["record"], row["generation"]
        if generation in known:  # otherwise there is nothing left to compare them with
            groups.setdefault((generation, shelves[number], number // GROUP), []).append(row)
    versions = {shelf: next_version(one, shelf) for shelf in {shelf for _, shelf, _ in groups}}
    for (generation, shelf, group), some in groups.items():
        for block, vectors in _with(_held(one, generation, shelf, group), some).items():
            one.execute(PUT, (generation, shelf, block, versions[shelf], len(vectors), *closed(vectors)))


def _with(held: Mapping[int, bytes], rows: Sequence[Row]) -> dict[int, dict[int, bytes]]:
    """The blocks of a group with these vectors in place of those of the same records; some may then be empty."""
    blocks: dict[int, dict[int, bytes]] = {block_of(place): {} for place in held}
    told = {row["record"] for row in rows}
    stay = {place: vector for place, vector in held.items() if place // CHUNKS not in told}
    for some in (stay, *map(_unpacked, rows)):
        for place, vector in some.items():
            blocks.setdefault(block_of(place), {})[place] = vector
    return blocks


def _unpacked(row: Row) -> dict[int, bytes]:
    packed, chunks = a2b_base64(row["vectors"], strict_mode=True), row["chunks"]
    width = len(packed) // len(chunks) if chunks else 0
    if len(packed) != width * len(chunks):
        raise ValueError(f"the vectors of memory {row['record']} have different lengths")
    first = row["record"] * CHUNKS
    return {first + chunk: packed[place * width : (place + 1) * width] for place, chunk in enumerate(chunks)}
