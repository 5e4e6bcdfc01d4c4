"""The word index of an SQLite store made anew from the records, which are the truth it is derived from.

Only what can be computed again is touched: index rows, the FTS5 index over them, the sizes of the shelves, vectors that fit
nothing, and triggers, views and indexes of the schema. Where anything else is damaged nothing is changed at all: an index
made from a damaged text would hide the damage. All of it is one transaction, and the store as it was is kept beside it first.
"""

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import apsw

from memorist.records import now_utc
from memorist.store.checkup import NOT_OF_THE_FILE, ORPHANS, REBUILD, RESTORE, checkup, schema_differences
from memorist.store.index import CHUNKS
from memorist.store.migrate import copy_verified
from memorist.store.nouns import Finding
from memorist.store.sqlite import INSERT_WORDS, SqliteStore
from memorist.store.topic_rows import make_anew as make_topics_anew
from memorist.store.vector_checkup import drop_what_fits_nothing
from memorist.store.writer import Writer

SIZES = "SELECT shelf, count(*) AS chunks, sum(length) AS length FROM words GROUP BY shelf"


def repair(one: apsw.Connection, store: SqliteStore) -> list[Finding]:
    wrong = [finding for finding in checkup(one, store) if not finding.ok and finding.check not in NOT_OF_THE_FILE]
    beyond = [f"{finding.check}: {finding.detail}" for finding in wrong if finding.advice != REBUILD]
    beyond += [f"journal: {problem}" for problem in Writer(store, now_utc).audit().problems]
    if beyond:
        said = "; ".join(beyond[:3])
        return [
            Finding(False, "repair", f"nothing was changed: the damage is not in the index alone ({said})", RESTORE)
        ]
    if not wrong:
        return [Finding(True, "repair", "there was nothing to repair")]
    with store.transaction():
        kept = f"; the store as it was is {_keep(store.database).name}" if store.database else ""
        rewritten = _make_anew(one, store)
    names = ", ".join(finding.check for finding in wrong)
    detail = f"healed {names}; the words of {rewritten:,} records were wrong{kept}"
    return [Finding(True, "repair", detail)]


def _keep(path: Path) -> Path:
    """A verified copy of the store as it was; under the lock, so that nobody writes between it and the repair."""
    target = path.with_name(f"{path.name}.before-repair-{datetime.now(UTC):%Y%m%dT%H%M%S.%f}Z.bak")
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as reader:
        copy_verified(reader, target)
    return target


def _make_anew(one: apsw.Connection, store: SqliteStore) -> int:
    """How many records had other index rows than their text makes."""
    _drop_triggers(one, store)
    rewritten = _rewrite_words(one, store)
    for item in schema_differences(one, store):
        if item.wanted and item.sql:
            one.execute(item.sql)
    one.execute("INSERT INTO word_index (word_index) VALUES ('rebuild')")
    one.execute("UPDATE shelves SET chunks = 0, length = 0")
    one.execute(
        f"UPDATE shelves SET (chunks, length) = (w.chunks, w.length) FROM ({SIZES}) w WHERE w.shelf = shelves.id"
    )
    drop_what_fits_nothing(one, store.vector_rows)
    make_topics_anew(one)
    one.execute("INSERT INTO word_index (word_index, rank) VALUES ('integrity-check', 1)")  # or take everything back
    return rewritten


def _drop_triggers(one: apsw.Connection, store: SqliteStore) -> None:
    """A trigger would take rows out of an index they are not in. What a new store does not have goes as well."""
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
        one.executemany(INSERT_WORDS, store.changed_words(sealed.record, shelf, number, new=False))
        rewritten += one.total_changes() > before
    return rewritten
