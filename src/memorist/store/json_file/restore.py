"""Replaces a JSON store by a backup. What is there is kept under another name, readable as a store if it was one.

Before anything is touched, the backup is opened and audited as a store, and what was erased since it was made is erased in the
copy. The new content arrives by two ordinary folds, so a process that has the store open reads it anew.
"""

import tempfile
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path

from memorist.errors import Invalid, MemoristError, StoreDamaged
from memorist.records import now_utc
from memorist.store.copies import erase_what_is_listed, keeping_anchor, put_anchor_aside, refuse_messages, set_anchor
from memorist.store.files import COPY, create_private, unfinished_prefix
from memorist.store.json_file import files as json_files
from memorist.store.json_file import snapshot as json_snapshot
from memorist.store.json_file.files import Files
from memorist.store.json_file.snapshot import Unreadable
from memorist.store.json_file.store import JsonFileStore
from memorist.store.sqlite.erase import erased_messages
from memorist.store.writer import Writer


def replaced(db: Path, backup: Path, now: datetime) -> Path | None:
    """Replaces the store. Returns where the replaced one was kept, if there was one."""
    kept = db.with_name(f"{db.name}.replaced-{now:%Y%m%dT%H%M%S%f}Z")
    if kept.exists():
        raise Invalid(f"{kept} exists; try again")
    if not db.parent.exists():
        create_private(db)
    with tempfile.TemporaryDirectory(COPY, unfinished_prefix(), db.parent) as folder:
        fresh = Path(folder) / "store.json"
        json_files.write_new(fresh, backup.read_bytes())
        with closing(_verified(backup, fresh)) as source:
            there = any(Files(db).all())
            try:
                _replace(db, source, kept if there else None)
            except StoreDamaged:
                _move_away(db, kept)
                _replace(db, source, None)
            set_anchor(db, source.head())
    with closing(JsonFileStore(db)) as store:
        erase_what_is_listed(store, db)
        set_anchor(db, store.head())  # again, since a process may have noted what it had written just before
    return kept if there else None


def _verified(backup: Path, fresh: Path) -> JsonFileStore:
    with ExitStack() as opened:
        try:
            json_snapshot.read(fresh)
            store = opened.enter_context(closing(JsonFileStore(fresh)))
            audit = Writer(store, now_utc).audit()
            wrong = [*(finding.detail for finding in store.checkup() if not finding.ok), *audit.problems]
        except (MemoristError, Unreadable) as problem:
            said = f"{backup} cannot be read as a backup ({problem}); the store was left as it is"
            raise StoreDamaged(said) from problem
        if wrong:
            raise StoreDamaged(f"{backup} is damaged ({'; '.join(wrong[:3])}); the store was left as it is")
        opened.pop_all()
    return store


def _replace(db: Path, source: JsonFileStore, kept: Path | None) -> None:
    with closing(JsonFileStore(db)) as present:
        erased = {sealed.record.id for sealed in present.seals() if sealed.record.state == "erased"}
        erase_what_is_listed(source, db, erased)
        with closing(present.connect()) as one:
            refuse_messages(source, erased_messages(one, source.setting("secret")))
        if kept:
            with keeping_anchor(db, kept):
                present.backup(kept)
        put_anchor_aside(db, kept)
        present.become(source)


def _move_away(db: Path, kept: Path) -> None:
    """Keeps all files of a damaged store as they are."""
    for file in (*Files(db).all(), *(path for path in [Files(db).beside(".anchor")] if path.exists())):
        file.replace(kept.with_name(kept.name + file.name.removeprefix(db.name)))
