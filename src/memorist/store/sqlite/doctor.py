"""What can be checked and repaired in an SQLite store. Each check finds damage that the others cannot.

SQLite's own integrity check detects broken pages; FTS5's check with rank 1 detects an index that differs from its content (the
check with rank 0 and integrity_check do not); recomputing the index rows detects content that differs from the text; checksums
detect flipped bits in what is otherwise well-formed.

A repair touches only what can be recomputed from the records: index rows, the FTS5 index over them, the sizes of the shelves,
vectors that belong to nothing, and triggers, views and indexes of the schema; and, from a journal that verifies, counters and
links. If anything else is damaged nothing is changed at all: an index made from a damaged text would hide the damage. The
repair is one transaction, and a copy of the store is kept beside it first.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import apsw

from memorist.errors import Invalid, StoreDamaged
from memorist.records import Record, now_utc
from memorist.store.files import permissions
from memorist.store.index import CHUNKS, index_rows
from memorist.store.journal import recounted
from memorist.store.nouns import COUNTERS, Diagnosis, checksum, shelf_of, tally
from memorist.store.recount import put_as_told
from memorist.store.sqlite.connection import explained, one_moment
from memorist.store.sqlite.migrate import RESTORE, copy_verified, of_the_index, rebuild_topics, topics_differ
from memorist.store.sqlite.read import rebuild
from memorist.store.sqlite.store import INSERT_WORDS, UNNAMED, SqliteStore, changed_words
from memorist.store.sqlite.vectors import bad_blocks, drop_homeless
from memorist.store.where import everywhere
from memorist.store.writer import Writer

PATIENCE = 30_000  # milliseconds
SAFE_SQLITE = (3, 51, 3)  # earlier ones can lose a race between two checkpoints and damage the file
REBUILD = "`memorist doctor --repair` rebuilds it from the records, after a backup"
WORDS_OF = (
    "SELECT s.space, s.named, s.layer, s.home, w.start, w.end, w.prepared, w.length FROM words w JOIN shelves s ON s.id = w.shelf"
    f" WHERE w.id >= ?1 * {CHUNKS} AND w.id < (?1 + 1) * {CHUNKS} ORDER BY w.id"
)
ORPHANS = f"SELECT DISTINCT id / {CHUNKS} FROM words WHERE id / {CHUNKS} NOT IN (SELECT number FROM records)"
LAYER = "SELECT s.layer FROM records r JOIN shelves s ON s.id = r.shelf WHERE r.number = ?"
NOT_OF_THE_FILE = ("sqlite", "permissions")  # checks that say nothing about the content of the file


def checkup(one: apsw.Connection, store: SqliteStore) -> list[Diagnosis]:
    path = store.database or UNNAMED
    beside = [path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", ".anchor", ".erased"))]
    checks: Mapping[str, Callable[[], Iterable[Diagnosis]]] = {
        "sqlite": lambda: [_version()],
        "file": lambda: [_integrity(one, store)],
        "schema": lambda: [_schema(one, store)],
        "index": lambda: [_word_index(one, store)],
        "words": lambda: _rows(one, store),
        "counters": lambda: [_tallies(one)],
        "links": lambda: [_links(one)],
        "shelves": lambda: [_shelf_counts(one)],
        "topics": lambda: [_topics(one)],
        "vectors": lambda: [_vectors(one)],
        "permissions": lambda: [permissions(beside)] if store.database else [],
    }
    return [finding for name, check in checks.items() for finding in _survived(name, check)]


def _survived(name: str, check: Callable[[], Iterable[Diagnosis]]) -> list[Diagnosis]:
    """The results of a check. Damage that prevents a check is a finding too, and no reason to skip the others."""
    try:
        return list(check())
    except apsw.IOError as problem:
        said, advice = f"cannot be checked: {explained(problem)}", "look after the disk, then try again"
        return [Diagnosis(False, name, said, advice)]
    except (apsw.Error, StoreDamaged, Invalid, UnicodeDecodeError) as problem:  # Invalid: the name of a space or scope
        return [Diagnosis(False, name, f"cannot be checked: {problem}", RESTORE)]


def _version() -> Diagnosis:
    version = apsw.sqlite_lib_version()
    safe = tuple(int(part) for part in version.split(".")) >= SAFE_SQLITE
    advice = None if safe else "upgrade apsw: this SQLite can damage files under load"
    return Diagnosis(safe, "sqlite", f"SQLite {version}", advice)


@contextmanager
def _fresh(one: apsw.Connection, store: SqliteStore) -> Iterator[apsw.Connection]:
    """A separate connection: on one in use, FTS5 compares with pages it remembers and reports other processes' writes as
    corruption. In RAM nobody else can read while this connection writes, so it is used itself."""
    if store.database is None and one.in_transaction:
        yield one
        return
    with closing(store.connect()) as fresh:
        fresh.set_busy_timeout(PATIENCE)
        fresh.execute("PRAGMA cell_size_check = ON")
        yield fresh


def _integrity(one: apsw.Connection, store: SqliteStore) -> Diagnosis:
    with _fresh(one, store) as fresh:
        said = [row[0] for row in fresh.execute("PRAGMA integrity_check(20)")]
        # Index rows and vectors that point nowhere are detected when every record's words are recomputed.
        sql = "SELECT count(*) FROM pragma_foreign_key_check WHERE \"table\" NOT IN ('words', 'vectors')"
        foreign = fresh.execute(sql).get
    if foreign:
        said = [*(line for line in said if line != "ok"), f"{foreign} rows point to rows that do not exist"]
    if said == ["ok"]:
        return Diagnosis(True, "file", "pages and references are whole")
    return Diagnosis(False, "file", "; ".join(said), REBUILD if all(map(of_the_index, said)) else RESTORE)


def _schema(one: apsw.Connection, store: SqliteStore) -> Diagnosis:
    """Compares the schema: without a trigger, the index would diverge unnoticed."""
    odd = schema_differences(one, store)
    names = sorted({item.name for item in odd})
    advice = RESTORE if any(item.type == "table" for item in odd) else REBUILD
    return _counted("schema", names, "tables, indexes and triggers are whole", "are not as they should be", advice)


@dataclass(frozen=True, slots=True)
class SchemaItem:
    """A table, index, trigger or view as stored by SQLite."""

    type: str
    name: str
    sql: str | None
    wanted: bool  # a new store has it; otherwise only this one does


def schema_differences(one: apsw.Connection, store: SqliteStore) -> list[SchemaItem]:
    """What a new store has and this one does not, and vice versa."""
    with closing(apsw.Connection(":memory:")) as fresh:
        for step in store.steps:
            fresh.execute(step.sql)
        wanted, there = (set(db.execute("SELECT type, name, sql FROM sqlite_schema")) for db in (fresh, one))
    odd = [(str(type), str(name), sql) for type, name, sql in wanted ^ there]
    return [
        SchemaItem(type, name, None if sql is None else str(sql), (type, name, sql) in wanted)
        for type, name, sql in sorted(odd, key=str)
        if not name.startswith("sqlite_")
    ]


def _word_index(one: apsw.Connection, store: SqliteStore) -> Diagnosis:
    try:
        one.execute("INSERT INTO word_index (word_index, rank) VALUES ('integrity-check', 1)")
        same = _has_all_postings(one, store)
    except (apsw.CorruptError, apsw.SQLError):  # the latter if the view that shows its content is missing
        return Diagnosis(False, "index", "the word index differs from its content", REBUILD)
    except apsw.ReadOnlyError:
        return Diagnosis(True, "index", "the word index was not checked: the store is read-only")
    if not same:
        return Diagnosis(False, "index", "the word index holds other words than its content", REBUILD)
    return Diagnosis(True, "index", "the word index equals its content")


def _has_all_postings(one: apsw.Connection, store: SqliteStore) -> bool:
    """Whether the index says about every row what its content says. FTS5's own check XORs one number per posting, and our row
    numbers end alike, so a word with one changed letter escapes it whenever an even number of rows hold the word."""
    with _fresh(one, store) as fresh:
        fresh.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.postings USING fts5vocab ('main', 'word_index', 'instance')"
        )
        with one_moment(fresh):
            indexed = sum(hash((row, term)) for row, term in fresh.execute("SELECT doc, term FROM temp.postings"))
            rows = fresh.execute("SELECT id, prepared FROM shelved")
            return indexed == sum(hash((id, term)) for id, words in rows for term in set(str(words).split(" ")[1:]))


def _rows(one: apsw.Connection, store: SqliteStore) -> Iterator[Diagnosis]:
    """Verifies checksums, and recomputes the place and the words of each record."""
    changed, astray, stale = [], [], []
    for sealed in store.seals():
        record = sealed.record
        if checksum(sealed.key, record.space, record.scope, record.home, sealed.row) != sealed.checksum:
            changed.append(record.number)
        if _seen_twice(one, store, record, _is_astray):
            astray.append(record.number)
        if _seen_twice(one, store, record, _is_stale):
            stale.append(record.number)
    stale += [row[0] for row in one.execute(ORPHANS)]
    yield _counted("checksums", changed, "every record matches its checksum", "contradict their checksum", RESTORE)
    yield _counted("records", astray, "every record lies on its shelf", "lie on another shelf than theirs", RESTORE)
    yield _counted("words", stale, "every record's words are its text's", "are indexed under other words", REBUILD)


def _is_astray(one: apsw.Connection, record: Record) -> bool:
    """Whether the record lies on the wrong layer. Its space and scope are covered by its checksum; the layer is recomputed."""
    return bool(one.execute(LAYER, (record.number,)).get != shelf_of(record).layer)


def _is_stale(one: apsw.Connection, record: Record) -> bool:
    shelf = shelf_of(record)
    wanted = [
        (shelf.space, shelf.scope, shelf.layer, shelf.home, row.start, row.end, row.prepared, len(row.terms))
        for row in index_rows(record)
    ]
    return one.execute(WORDS_OF, (record.number,)).fetchall() != wanted


def _seen_twice(
    one: apsw.Connection, store: SqliteStore, record: Record, wrong: Callable[[apsw.Connection, Record], bool]
) -> bool:
    """Checks a second time, with the record from the same moment, since others may have written between the first two reads."""
    if not wrong(one, record):
        return False
    with one_moment(one):
        return any(wrong(one, again) for again in store.get([record.id], everywhere(record.space)))


def _tallies(one: apsw.Connection) -> Diagnosis:
    sql = f"SELECT record, tally, {', '.join(COUNTERS)}, last_used FROM counters"
    bad = [record for record, sum, *counted in one.execute(sql) if tally(record, counted) != sum]
    return _counted("counters", bad, "every counter matches its checksum", "have damaged counters", RESTORE)


def _links(one: apsw.Connection) -> Diagnosis:
    links = one.execute("SELECT a, b, kind, weight, evidence, tally FROM links")
    bad = [f"{a}→{b}" for a, b, *rest, sum in links if tally(a, (b, *rest)) != sum]
    return _counted("links", bad, "every link matches its checksum", "contradict their checksum", RESTORE)


def _shelf_counts(one: apsw.Connection) -> Diagnosis:
    sql = (
        "SELECT s.id FROM shelves s LEFT JOIN words w ON w.shelf = s.id GROUP BY s.id"
        " HAVING s.chunks <> count(w.id) OR s.length <> ifnull(sum(w.length), 0)"
    )
    bad = [row[0] for row in one.execute(sql)]
    return _counted("shelves", bad, "every shelf counts its words right", "count their words wrong", REBUILD)


def _topics(one: apsw.Connection) -> Diagnosis:
    with one_moment(one):
        wrong = topics_differ(one)
    if wrong:
        return Diagnosis(False, "topics", "memories are not found by what contradicts them", REBUILD)
    return Diagnosis(True, "topics", "every claim is found by what contradicts it")


def _vectors(one: apsw.Connection) -> Diagnosis:
    bad = [name for block in bad_blocks(one) for name in block.bad]
    return _counted("vectors", bad, "every vector has its text", "have vectors that belong to nothing", REBUILD)


def _counted(check: str, bad: Sequence[object], fine: str, wrong: str, advice: str) -> Diagnosis:
    if not bad:
        return Diagnosis(True, check, fine)
    named = ", ".join(map(str, bad[:10])) + (" …" if len(bad) > 10 else "")
    return Diagnosis(False, check, f"{len(bad)} ({named}) {wrong}", advice)


# ---------------------------------------------------------------- repair


def repair(one: apsw.Connection, store: SqliteStore) -> list[Diagnosis]:
    wrong = [finding for finding in checkup(one, store) if not finding.ok and finding.check not in NOT_OF_THE_FILE]
    beyond = [f"{finding.check}: {finding.detail}" for finding in wrong if finding.advice != REBUILD]
    audit = Writer(store, now_utc).audit()
    beyond += [f"journal: {problem}" for problem in audit.problems if not audit.recountable]
    if beyond:
        detail = f"nothing was changed: the damage is not in the index alone ({'; '.join(beyond[:3])})"
        return [Diagnosis(False, "repair", detail, RESTORE)]
    if not wrong and audit.ok:
        return [Diagnosis(True, "repair", "there was nothing to repair")]
    with store.transaction():
        kept = f"; the store as it was is {_keep(store.database).name}" if store.database else ""
        rewritten = _rebuild(one, store) if wrong else 0
        if not audit.ok:
            put_as_told(store, recounted(store))
    names = ", ".join([*(finding.check for finding in wrong), *([] if audit.ok else ["counters and links"])])
    detail = f"healed {names}; the words of {rewritten:,} records were wrong{kept}"
    return [Diagnosis(True, "repair", detail)]


def _keep(path: Path) -> Path:
    """A verified copy of the store before the repair; under the lock, so that nobody writes between the copy and the repair."""
    target = path.with_name(f"{path.name}.before-repair-{datetime.now(UTC):%Y%m%dT%H%M%S.%f}Z.bak")
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as reader:
        copy_verified(reader, target)
    return target


def _rebuild(one: apsw.Connection, store: SqliteStore) -> int:
    """Rebuilds everything derived. Returns how many records had index rows that differ from their text."""
    _drop_triggers(one, store)
    rewritten = _rewrite_words(one, store)
    for item in schema_differences(one, store):
        if item.wanted and item.sql:
            one.execute(item.sql)
    rebuild(one)
    drop_homeless(one)
    rebuild_topics(one)
    one.execute("INSERT INTO word_index (word_index, rank) VALUES ('integrity-check', 1)")  # or roll everything back
    return rewritten


def _drop_triggers(one: apsw.Connection, store: SqliteStore) -> None:
    """Drops the triggers, which would remove rows from an index that does not contain them, and anything a new store does not
    have."""
    triggers = one.execute("SELECT type, name FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    odd = [(item.type, item.name) for item in schema_differences(one, store) if not item.wanted]
    for type, name in dict.fromkeys((*triggers, *odd)):
        quoted = str(name).replace('"', '""')
        one.execute(f'DROP {type} IF EXISTS "{quoted}"')


def _rewrite_words(one: apsw.Connection, store: SqliteStore) -> int:
    rewritten = 0
    one.execute(f"DELETE FROM words WHERE id / {CHUNKS} IN ({ORPHANS})")
    for sealed in store.seals():
        number = sealed.record.number
        shelf: int = one.execute("SELECT shelf FROM records WHERE number = ?", (number,)).get
        before = one.total_changes()
        one.executemany(INSERT_WORDS, changed_words(one, [(sealed.record, shelf, number, False)]))
        rewritten += one.total_changes() > before
    return rewritten
