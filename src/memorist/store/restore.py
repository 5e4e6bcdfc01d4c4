"""A backup put in the place of a store that may be in use, may be damaged, or may be gone.

The order makes every step safe to interrupt. The backup is copied and verified as a store before anything is touched.
The present store is kept aside. Then all pages are replaced in one transaction of SQLite's own, never by copying over
the file, so that other processes see the old store or the new one; a file too damaged for SQLite to begin a transaction
on is kept as it lies, and emptied first. At last the anchor is set to the end of the restored journal.
"""

import shutil
import tempfile
from contextlib import closing
from datetime import datetime
from pathlib import Path

import apsw

from memorist.errors import Invalid, StoreDamaged
from memorist.records import now_utc
from memorist.store.anchor import Anchor
from memorist.store.chain import ChainLink
from memorist.store.connection import explained
from memorist.store.files import create_private
from memorist.store.migrate import SCHEMA, copy_verified, migrations_in, version_of
from memorist.store.sqlite import SqliteStore
from memorist.store.writer import Writer

PATIENCE = 30_000  # milliseconds for other writers
NOT_OF_THE_FILE = ("sqlite", "permissions")  # checks that say nothing about a backup


def restore(db: Path, backup: Path, now: datetime) -> Path | None:
    """Replaces the store by the backup. Returns where the replaced one was kept; None where there was none."""
    if not backup.is_file():
        raise Invalid(f"{backup} is no file; name the backup to restore")
    if db.exists() and db.samefile(backup):
        raise Invalid(f"{backup} is the store itself; name a backup of it")
    create_private(db)
    with tempfile.TemporaryDirectory(prefix=f".{db.name}.restoring-", dir=db.parent) as folder:
        fresh = Path(folder) / "store.db"
        head = _verified(backup, fresh)
        kept = _keep(db, db.with_name(f"{db.name}.replaced-{now:%Y%m%dT%H%M%S}Z"))
        try:
            _replace(db, fresh)
        except apsw.Error as problem:
            raise explained(problem) from problem
    _move_anchor(db, kept, head)
    return kept


def _verified(backup: Path, fresh: Path) -> ChainLink | None:
    """A copy of the backup at `fresh`, brought to today's schema and found whole; its last link."""
    try:
        with closing(_connection(backup, apsw.SQLITE_OPEN_READONLY)) as source:
            if version_of(source, backup, migrations_in(SCHEMA)) == 0:
                raise StoreDamaged(f"{backup} is empty, so it is no backup; the store was left as it is")
            copy_verified(source, fresh)
    except apsw.Error as problem:
        raise StoreDamaged(f"{backup} cannot be read as a backup ({problem}); the store was left as it is") from problem
    with closing(SqliteStore(fresh)) as store:
        audit = Writer(store, now_utc).audit()
        wrong = [f.detail for f in store.checkup() if not f.ok and f.check not in NOT_OF_THE_FILE]
        if wrong or not audit.ok:
            said = "; ".join([*wrong, *audit.problems][:3])
            raise StoreDamaged(f"{backup} is damaged ({said}); the store was left as it is")
        return store.head()


def _keep(db: Path, aside: Path) -> Path | None:
    """An online copy of the present store; of a damaged one, its files as they are."""
    if db.stat().st_size == 0:
        return None
    if aside.exists():
        raise Invalid(f"{aside} exists; try again in a second")
    try:
        with closing(_connection(db, apsw.SQLITE_OPEN_READWRITE)) as source:
            copy_verified(source, aside)
    except (apsw.CorruptError, apsw.NotADBError, StoreDamaged):
        for end in ("", "-wal"):
            if db.with_name(db.name + end).exists():
                create_private(aside.with_name(aside.name + end))
                shutil.copyfile(db.with_name(db.name + end), aside.with_name(aside.name + end))
    except apsw.Error as problem:
        raise explained(problem) from problem
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


def _move_anchor(db: Path, kept: Path | None, head: ChainLink | None) -> None:
    anchor = db.with_name(db.name + ".anchor")
    if anchor.exists() and kept is not None:
        anchor.replace(kept.with_name(kept.name + ".anchor"))
    anchor.unlink(missing_ok=True)
    if head is not None:
        fresh = Anchor(db)
        fresh.note(head)
        fresh.write()


def _connection(path: Path, flags: int) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=flags)
    connection.set_busy_timeout(PATIENCE)
    return connection
