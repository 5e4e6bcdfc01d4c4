"""Copies of a store that lie beside it: made by an upgrade, a repair, a restore, or on request.

What is erased in the store is erased in the automatic copies too: in place where the copy has today's schema, else by removing
the copy. A backup that a user made is the user's; it is named, and a restore of it does not bring back what was erased.
"""

import re
import shutil
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from memorist.access import Access
from memorist.errors import MemoristError, StoreUnavailable
from memorist.records import now_utc
from memorist.store.protocol import Store
from memorist.store.where import Where
from memorist.store.writer import Writer, unscrubbed

AUTOMATIC = re.compile(r"\.(before-[\w.-]+\.bak|replaced-[0-9TZ]+)")
ON_REQUEST = re.compile(r"\.backup-[0-9TZ]+")
BESIDE = ("-wal", "-shm", ".anchor", ".erased", ".lock")
UNFINISHED = 600.0  # seconds after which a copy that nobody finished is taken for a leftover of a crash
AT_ONCE = 200


@dataclass(slots=True)
class Cleaning:
    """What was done about the copies: whether all of it, and what must be said."""

    done: bool = True
    said: list[str] = field(default_factory=list)

    def not_yet(self, why: str) -> None:
        self.done = False
        self.said.append(f"{why}; `memorist compact` tries again")


def clean_copies(store: Path, ids: Sequence[str], who: Access, because: str, wait: float) -> Cleaning:
    """Erases these in every automatic copy, and removes what crashes left; names the backups that are there."""
    cleaning = clear_leftovers(store)
    for copy in _beside(store, AUTOMATIC):
        try:
            with closing(_opened(copy, wait)) as there:
                erase_again(there, ids, [who.space], who, because)
        except StoreUnavailable as problem:
            cleaning.not_yet(f"the automatic copy {copy.name} could not be cleaned ({problem})")
        except MemoristError:  # of an older schema, or damaged: then it cannot be cleaned, only removed
            for file in _files_of(copy):
                file.unlink(missing_ok=True)
            cleaning.said.append(f"the automatic copy {copy.name} could not be cleaned and was removed")
    backups = [file.name for file in _beside(store, ON_REQUEST)]
    if backups:
        cleaning.said.append(
            f"backups made before may hold it ({', '.join(backups)}); restoring one does not bring it back"
        )
    return cleaning


def erase_again(store: Store, ids: Iterable[str], spaces: Collection[str], who: Access, because: str) -> None:
    """Erases those of the ids that this store still holds, and finishes what an interrupted try left."""
    writer, wanted = Writer(store, now_utc), list(ids)
    for space in spaces:
        keeper = replace(Access.to_read(space), actor=who.actor, surface=who.surface)
        for start in range(0, len(wanted), AT_ONCE):
            found = store.get(wanted[start : start + AT_ONCE], Where(keeper))
            if there := [record for record in found if record.state != "erased"]:
                writer.erase(there, keeper, because)
        mark = store.setting(unscrubbed(space))
        if mark:
            store.compact()
            if store.scrub(()) is None:
                writer.scrubbed(space, mark)
    writer.close()


def clear_leftovers(store: Path) -> Cleaning:
    """Removes copies that a killed process did not finish. Those that somebody may still be writing are named."""
    cleaning, name = Cleaning(), _literal(store.name)
    partial = [file for file in store.parent.glob(f"{name}*.partial") if ".anchor." not in file.name]
    for left in [*partial, *store.parent.glob(f".{name}.restoring-*")]:
        try:
            if time.time() - left.stat().st_mtime < UNFINISHED:
                cleaning.not_yet(f"{left.name} was begun a short while ago and may hold it")
            elif left.is_dir():
                shutil.rmtree(left)
            else:
                left.unlink()
        except FileNotFoundError:  # it was finished meanwhile
            continue
    return cleaning


def is_json(path: Path) -> bool:
    """Whether a store of that name, or a copy of one, is a JSON file. Nobody looks inside: opening and closing an SQLite
    file would drop its locks."""
    name = path.name.lower()
    return name.endswith(".json") or any(f".json{copy}" in name for copy in (".backup-", ".replaced-"))


def _opened(copy: Path, wait: float) -> Store:
    """A copy that opening does not change; the stores themselves know of their copies, hence the late imports."""
    if is_json(copy):
        from memorist.store.json_file.store import JsonFileStore

        return JsonFileStore(copy, wait)
    from memorist.store.sqlite import SqliteStore

    if not SqliteStore.has_this_schema(copy, wait):
        raise MemoristError(f"{copy} has another schema")
    return SqliteStore(copy, wait)


def _files_of(copy: Path) -> list[Path]:
    """The copy and everything that was kept beside it as long as it was a store."""
    beside = [copy, *(copy.with_name(copy.name + end) for end in BESIDE)]
    if not is_json(copy):
        return beside
    from memorist.store.json_file.files import Files

    return [*beside, *Files(copy).all()]


def _beside(store: Path, pattern: re.Pattern[str]) -> list[Path]:
    found = store.parent.glob(_literal(store.name) + ".*")
    return sorted(file for file in found if pattern.fullmatch(file.name.removeprefix(store.name)))


def _literal(name: str) -> str:
    """A name in which a pattern's special characters stand for themselves."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)
