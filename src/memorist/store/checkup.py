"""What a doctor can see in an SQLite store. Each check finds damage that the others cannot.

SQLite's own integrity check sees broken pages; FTS5's check with rank 1 sees an index that differs from its content (the
check with rank 0, and integrity_check, do not); computing the index rows again sees content that differs from the text;
checksums see flipped bits in what is otherwise well-formed.
"""

import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import apsw

from memorist.access import Access
from memorist.errors import StoreDamaged
from memorist.records import Record
from memorist.store.connection import one_moment
from memorist.store.index import CHUNKS, index_rows
from memorist.store.protocol import Finding, shelf_of
from memorist.store.rows import COUNTERS, checksum, tally
from memorist.store.where import Where

if TYPE_CHECKING:
    from memorist.store.sqlite import SqliteStore

PATIENCE = 30_000  # milliseconds
SAFE_SQLITE = (3, 51, 3)  # earlier ones can lose a race between two checkpoints and damage the file
REBUILD = "make a backup, then rebuild the index with `memorist doctor --repair` once available, or restore a backup"
WORDS = (
    "SELECT s.space, s.scope, s.layer, w.start, w.end, w.prepared, w.length FROM words w JOIN shelves s ON s.id = w.shelf"
    f" WHERE w.id >= ?1 * {CHUNKS} AND w.id < (?1 + 1) * {CHUNKS} ORDER BY w.id"
)
ORPHANS = f"SELECT DISTINCT id / {CHUNKS} FROM words WHERE id / {CHUNKS} NOT IN (SELECT number FROM records)"

STRAYED = f"SELECT r.number FROM records r JOIN words w ON w.id = r.number * {CHUNKS} WHERE w.shelf <> r.shelf"


def checkup(one: apsw.Connection, store: "SqliteStore") -> list[Finding]:
    checks: Mapping[str, Callable[[], Iterable[Finding]]] = {
        "sqlite": lambda: [_version()],
        "file": lambda: [_integrity(store)],
        "schema": lambda: [_schema(one, store)],
        "index": lambda: [_word_index(one)],
        "words": lambda: _rows(one, store),
        "counters": lambda: [_tallies(one)],
        "links": lambda: [_links(one)],
        "shelves": lambda: [_shelf_counts(one)],
        "permissions": lambda: _permissions(store),
    }
    return [finding for name, check in checks.items() for finding in _survived(name, check)]


def _survived(name: str, check: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """What damage keeps one check from finishing is a finding too, and no reason to skip the others."""
    try:
        return list(check())
    except (apsw.Error, StoreDamaged, UnicodeDecodeError) as problem:
        return [Finding(False, name, f"cannot be checked: {problem}", "restore a backup")]


def _version() -> Finding:
    version = apsw.sqlite_lib_version()
    safe = tuple(int(part) for part in version.split(".")) >= SAFE_SQLITE
    return Finding(
        safe, "sqlite", f"SQLite {version}", None if safe else "upgrade apsw: this SQLite can damage files under load"
    )


def _integrity(store: "SqliteStore") -> Finding:
    """On a connection of its own: on one in use, FTS5 looks at pages it remembers and calls others' writes corruption."""
    flags = apsw.SQLITE_OPEN_READWRITE if store.writable else apsw.SQLITE_OPEN_READONLY
    with closing(apsw.Connection(str(store.path), flags=flags)) as fresh:
        fresh.set_busy_timeout(PATIENCE)
        fresh.execute("PRAGMA cell_size_check = ON")
        said = [row[0] for row in fresh.execute("PRAGMA integrity_check(20)")]
        foreign = fresh.execute("SELECT count(*) FROM pragma_foreign_key_check").get
    if foreign:
        said = [*(line for line in said if line != "ok"), f"{foreign} rows point to rows that do not exist"]
    ok = said == ["ok"]
    return Finding(
        ok, "file", "pages and references are whole" if ok else "; ".join(said), None if ok else "restore a backup"
    )


def _schema(one: apsw.Connection, store: "SqliteStore") -> Finding:
    """Tables, indexes and triggers as a new store has them: without a trigger the index would go astray unseen."""
    with closing(apsw.Connection(":memory:")) as fresh:
        for step in store.steps:
            fresh.execute(step.sql)
        wanted, there = (set(db.execute("SELECT type, name, sql FROM sqlite_schema")) for db in (fresh, one))
    names = sorted({str(name) for _, name, _ in wanted ^ there if not str(name).startswith("sqlite_")})
    return _counted(
        "schema", names, "tables, indexes and triggers are whole", "are not as they should be", "restore a backup"
    )


def _word_index(one: apsw.Connection) -> Finding:
    try:
        one.execute("INSERT INTO word_index (word_index, rank) VALUES ('integrity-check', 1)")
    except apsw.CorruptError:
        return Finding(False, "index", "the word index differs from its content", REBUILD)
    except apsw.ReadOnlyError:
        return Finding(True, "index", "the word index was not checked: the store is read-only")
    return Finding(True, "index", "the word index equals its content")


def _rows(one: apsw.Connection, store: "SqliteStore") -> Iterator[Finding]:
    """Checksums, and the words of each record computed anew."""
    changed, stale = [], []
    for sealed in store.seals():
        record = sealed.record
        if checksum(sealed.key, record.space, record.scope, sealed.row) != sealed.checksum:
            changed.append(record.number)
        if _is_stale(one, record) and _is_stale_still(one, store, record):
            stale.append(record.number)
    stale += [row[0] for row in one.execute(f"{ORPHANS} UNION {STRAYED}")]
    yield _counted(
        "checksums", changed, "every record fits its checksum", "do not fit their checksum", "restore a backup"
    )
    yield _counted("words", stale, "every record's words are its text's", "are indexed under other words", REBUILD)


def _is_stale(one: apsw.Connection, record: Record) -> bool:
    shelf = shelf_of(record)
    wanted = [
        (shelf.space, shelf.scope, shelf.layer, row.start, row.end, row.prepared, len(row.terms))
        for row in index_rows(record)
    ]
    return one.execute(WORDS, (record.number,)).fetchall() != wanted


def _is_stale_still(one: apsw.Connection, store: "SqliteStore", record: Record) -> bool:
    """The record and its words from one moment: others may have written between the first two looks."""
    everywhere = Where(Access(space=record.space, reads=("*", "project/*")))
    with one_moment(one):
        return any(_is_stale(one, again) for again in store.get([record.id], everywhere))


def _tallies(one: apsw.Connection) -> Finding:
    sql = f"SELECT record, tally, {', '.join(COUNTERS)}, last_used FROM counters"
    bad = [record for record, sum, *counted in one.execute(sql) if tally(record, counted) != sum]
    return _counted("counters", bad, "every counter fits its checksum", "have damaged counters", "restore a backup")


def _links(one: apsw.Connection) -> Finding:
    links = one.execute("SELECT a, b, kind, weight, evidence, tally FROM links")
    bad = [f"{a}→{b}" for a, b, *rest, sum in links if tally(a, (b, *rest)) != sum]
    return _counted("links", bad, "every link fits its checksum", "do not fit their checksum", "restore a backup")


def _shelf_counts(one: apsw.Connection) -> Finding:
    sql = (
        "SELECT s.id FROM shelves s LEFT JOIN words w ON w.shelf = s.id GROUP BY s.id"
        " HAVING s.chunks <> count(w.id) OR s.length <> ifnull(sum(w.length), 0)"
    )
    bad = [row[0] for row in one.execute(sql)]
    return _counted("shelves", bad, "every shelf counts its words right", "count their words wrong", REBUILD)


def _counted(check: str, bad: Sequence[object], fine: str, wrong: str, advice: str) -> Finding:
    if not bad:
        return Finding(True, check, fine)
    named = ", ".join(map(str, bad[:10])) + (" …" if len(bad) > 10 else "")
    return Finding(False, check, f"{len(bad)} ({named}) {wrong}", advice)


def _permissions(store: "SqliteStore") -> Iterator[Finding]:
    """The store and what lies beside it are the user's alone."""
    path = store.path
    beside = [path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", ".anchor"))]
    open_to_others = [p.name for p in beside if p.exists() and stat.S_IMODE(p.stat().st_mode) & 0o077]
    if open_to_others and hasattr(stat, "S_IRWXG"):
        advice = f"chmod 600 {' '.join(open_to_others)}"
        yield Finding(False, "permissions", f"others can open {', '.join(open_to_others)}", advice)
    else:
        yield Finding(True, "permissions", "the files are private")
