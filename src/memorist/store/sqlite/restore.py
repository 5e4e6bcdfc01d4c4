"""Replaces a store by a backup, even if the store is in use, damaged, or gone.

The order makes every step safe to interrupt. Before anything is touched, the backup is copied and verified as a store, and
what was erased since it was made is erased in the copy. The present store is kept aside. Then all pages are replaced in one
SQLite transaction, never by copying over the file, so that other processes see either the old store or the new one. A file too
damaged for SQLite to begin a transaction on is kept as it is, and emptied first. Finally the anchor is set to the end of the
restored journal.
"""

import shutil
import tempfile
from contextlib import closing
from datetime import datetime
from pathlib import Path

import apsw

from memorist.errors import Invalid, StoreDamaged
from memorist.fork import inside
from memorist.records import now_utc
from memorist.store.copies import (
    erase_what_is_listed,
    keeping_anchor,
    put_anchor_aside,
    refuse_messages,
    set_anchor,
    settle_anchor,
)
from memorist.store.files import COPY, create_private, size_of, unfinished_prefix
from memorist.store.nouns import KeyUse
from memorist.store.sqlite.connection import explained
from memorist.store.sqlite.doctor import NOT_OF_THE_FILE
from memorist.store.sqlite.erase import erased_messages
from memorist.store.sqlite.migrate import SCHEMA, copy_verified, migrations_in, version_of
from memorist.store.sqlite.store import SqliteStore
from memorist.store.writer import Writer

PATIENCE = 30_000  # milliseconds for other writers


def replaced(db: Path, backup: Path, now: datetime) -> Path | None:
    """Replaces the store. Returns where the replaced one was kept, if there was one."""
    create_private(db)
    with inside, tempfile.TemporaryDirectory(COPY, unfinished_prefix(), db.parent) as folder:
        fresh = Path(folder) / "store.db"
        _verify(backup, fresh)
        aside = db.with_name(f"{db.name}.replaced-{now:%Y%m%dT%H%M%S%f}Z")
        with keeping_anchor(db, aside):
            kept = _keep(db, aside)
        with closing(SqliteStore(fresh)) as store:  # what was erased stays erased, although the backup is older
            ids, messages = _erased_in(db, store.setting("secret"))
            erase_what_is_listed(store, db, ids)
            refuse_messages(store, messages)
            head = store.head()
        put_anchor_aside(db, kept)
        try:
            _replace(db, fresh)
        except apsw.Error as problem:
            raise explained(problem) from problem
    set_anchor(db, head)
    with closing(SqliteStore(db)) as store:
        erase_what_is_listed(store, db)
        settle_anchor(db, store)
    return kept


def _verify(backup: Path, fresh: Path) -> None:
    """Makes a copy of the backup at `fresh`, migrates it to the present schema, and verifies it."""
    try:
        with closing(_connection(backup, apsw.SQLITE_OPEN_READONLY)) as source:
            if version_of(source, backup, migrations_in(SCHEMA)) == 0:
                raise StoreDamaged(f"{backup} is empty, so it is no backup; the store was left as it is")
            copy_verified(source, fresh)
    except apsw.Error as problem:
        raise StoreDamaged(f"{backup} cannot be read as a backup ({problem}); the store was left as it is") from problem
    with closing(SqliteStore(fresh)) as store:
        audit = Writer(store, now_utc).audit()
        wrong = _wrong(store)
        if wrong:
            wrong = _wrong(store, repair=True)  # changes the copy, and only if nothing but its index is wrong
        if wrong or not audit.ok:
            said = "; ".join([*wrong, *audit.problems][:3])
            raise StoreDamaged(f"{backup} is damaged ({said}); the store was left as it is")


def _erased_in(db: Path, secret: str | None) -> tuple[set[str], list[KeyUse]]:
    """The ids and the messages that the present store knows to be erased. A damaged or missing store knows nothing; for the
    ids there is still the list beside it."""
    try:
        with closing(_connection(db, apsw.SQLITE_OPEN_READONLY)) as one:
            ids = {str(id) for (id,) in one.execute("SELECT id FROM records WHERE state = 'erased'")}
            return ids, erased_messages(one, secret)
    except apsw.Error:
        return set(), []


def _wrong(store: SqliteStore, repair: bool = False) -> list[str]:
    return [f.detail for f in store.checkup(repair) if not f.ok and f.check not in NOT_OF_THE_FILE]


def _keep(db: Path, aside: Path) -> Path | None:
    """An online copy of the present store; if it is damaged, its files as they are."""
    if aside.exists():
        raise Invalid(f"{aside} exists; try again")
    if db.stat().st_size == 0:  # SQLite would discard its log
        return _keep_as_it_lies(db, aside) if size_of(db.with_name(db.name + "-wal")) else None
    try:
        with closing(_connection(db, apsw.SQLITE_OPEN_READWRITE)) as source:
            source.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # do not damage a damaged file further
            copy_verified(source, aside)
    except (apsw.CorruptError, apsw.NotADBError, StoreDamaged):
        return _keep_as_it_lies(db, aside)
    except apsw.Error as problem:
        raise explained(problem) from problem
    return aside


def _keep_as_it_lies(db: Path, aside: Path) -> Path:
    for end in ("", "-wal"):
        if db.with_name(db.name + end).exists():
            create_private(aside.with_name(aside.name + end))
            shutil.copyfile(db.with_name(db.name + end), aside.with_name(aside.name + end))
    return aside


def _replace(db: Path, fresh: Path) -> None:
    with (
        closing(_connection(fresh, apsw.SQLITE_OPEN_READWRITE)) as source,
        closing(_connection(db, apsw.SQLITE_OPEN_READWRITE)) as target,
    ):
        try:
            target.execute("PRAGMA journal_mode = WAL")
        except (apsw.CorruptError, apsw.NotADBError):
            target.config(apsw.SQLITE_DBCONFIG_RESET_DATABASE, 1)
            target.execute("VACUUM")
            target.config(apsw.SQLITE_DBCONFIG_RESET_DATABASE, 0)
        with target.backup("main", source, "main") as pages:
            pages.step()
        target.execute("PRAGMA journal_mode = WAL")


def _connection(path: Path, flags: int) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=flags)
    connection.set_busy_timeout(PATIENCE)
    return connection
