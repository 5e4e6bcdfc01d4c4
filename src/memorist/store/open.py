"""Which store a name means; the only place that knows the backends. Everything else uses `memorist.store.protocol.Store`.

`:memory:` is a store in RAM, a name ending in `.json` a JSON file, every other name an SQLite file.
"""

import json
import secrets
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memorist.errors import Invalid, MemoristError, StoreUnavailable, unavailable
from memorist.store.files import clear_leftovers, is_of_the_dead, names_of, unfinished_prefix
from memorist.store.nouns import Commit
from memorist.store.where import canonical
from memorist.text.visible import visible

if TYPE_CHECKING:
    from memorist.store.protocol import Store

IN_RAM = ":memory:"
LINKS, COPIED_TO = "links", "copied to"  # settings of a store
MOST_PLACES = 20


def open_store(name: str, wait: float) -> "Store":
    """Opens the store, or creates it if there is none."""
    if "://" in name:
        raise Invalid(f"{name.partition('://')[0]}:// stores are not available; name a file, or ':memory:'")
    file = file_of(name)
    try:
        store = _opened(file, wait)
    except OSError as problem:
        raise unavailable(problem, visible(name)) from problem
    if store.writable:
        for link in names_of(file)[1:] if file else ():
            if (name := str(link.absolute())) not in _noted(store, LINKS):
                _note(store, LINKS, new=[name])
        _clear_unfinished(store)
    return store


def _opened(file: Path | None, wait: float) -> "Store":
    if file is not None and is_json(file):
        from memorist.store.json_file.store import JsonFileStore

        return JsonFileStore(file, wait)
    from memorist.store.sqlite import SqliteStore

    return SqliteStore(file, wait)


# ---------------------------------------------------------------- where copies of it may lie


def _note(store: "Store", what: str, new: Sequence[str] = (), gone: Collection[str] = ()) -> None:
    """Stores by which links the store is known, or to which folders copies of it are being written."""
    with store.transaction(durable=False):
        noted = [*new, *(name for name in _noted(store, what) if name not in gone)]
        store.write(Commit(settings={what: canonical(noted[:MOST_PLACES])}))


@contextmanager
def noting_copy(store: "Store", target: Path) -> Iterator[None]:
    """Wraps the making of a copy: if this process is killed, what it left is searched for in that folder."""
    note = [str(target.absolute().parent / f"{unfinished_prefix()}{secrets.token_hex(4)}")]
    if store.writable:
        _note(store, COPIED_TO, new=note)
    try:
        yield
    finally:
        with suppress(StoreUnavailable):  # a later start removes it
            if store.writable:
                _note(store, COPIED_TO, gone=note)


def _clear_unfinished(store: "Store") -> None:
    """Removes what killed processes left, and the notes about where."""
    still = {left.parent for left in clear_leftovers(folders_of(store))}
    noted = map(Path, _noted(store, COPIED_TO))
    if done := [str(note) for note in noted if is_of_the_dead(note.name) and note.parent not in still]:
        _note(store, COPIED_TO, gone=done)


def names_in_use(store: "Store") -> list[Path]:
    """The real file, and the links by which it was opened."""
    return [store.path.absolute(), *map(Path, _noted(store, LINKS))] if store.path else []


def folders_of(store: "Store") -> list[Path]:
    """Where unfinished copies may lie: beside these names, and where copies are being written."""
    return [*dict.fromkeys(name.parent for name in (*names_in_use(store), *map(Path, _noted(store, COPIED_TO))))]


def _noted(store: "Store", what: str) -> list[str]:
    found: list[str] = json.loads(store.setting(what) or "[]")
    return found


# ---------------------------------------------------------------- files


def file_of(name: str) -> Path | None:
    """The file that holds it; None if it is in RAM or behind an address."""
    return None if name == IN_RAM or "://" in name else Path(name).expanduser()


def restore(db: Path, backup: Path, now: datetime) -> Path | None:
    """Replaces the store by the backup. Returns where the replaced one was kept, or None if there was none."""
    try:
        return _restored(db, backup, now)
    except OSError as problem:
        if isinstance(problem, MemoristError):
            raise
        raise unavailable(problem, f"{backup.name} or the place of {db.name}") from problem


def _restored(db: Path, backup: Path, now: datetime) -> Path | None:
    if not backup.is_file():
        raise Invalid(f"{backup} is no file; name the backup to restore")
    if db.exists() and db.samefile(backup):
        raise Invalid(f"{backup} is the store itself; name a backup of it")
    from memorist.store.traces import ErasedIds  # imports the rules for secrets, which reading settings does not need

    as_json, (db, *links) = is_json(db), names_of(db)
    for link in links:  # version 0.1.0 kept the list beside the link
        ErasedIds(db).add(ErasedIds(link).read())
    if as_json:
        from memorist.store.json_file.restore import replaced
    else:
        from memorist.store.sqlite.restore import replaced
    return replaced(db, backup, now)


def is_json(path: Path) -> bool:
    """Whether a store of that name, or a copy of one, is a JSON file. Decided by name only: opening and closing an SQLite file
    would drop its locks."""
    name = path.name.lower()
    return name.endswith(".json") or any(f".json{copy}" in name for copy in (".backup-", ".replaced-"))


def open_copy(copy: Path, wait: float) -> "Store":
    """Opens a copy of a store, unless that would change it."""
    if not is_json(copy):
        from memorist.store.sqlite import SqliteStore

        if not SqliteStore.has_this_schema(copy, wait):
            raise MemoristError(f"{copy} has another schema")
    return open_store(str(copy), wait)


def files_of(copy: Path) -> list[Path]:
    """The copy, and everything that was kept beside it while it was a store."""
    beside = [copy, *(copy.with_name(copy.name + end) for end in ("-wal", "-shm", ".anchor", ".erased", ".lock"))]
    if not is_json(copy):
        return beside
    from memorist.store.json_file.files import Files

    return [*beside, *Files(copy).all()]
