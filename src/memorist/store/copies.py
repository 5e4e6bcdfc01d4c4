"""Copies of a store that lie beside it: made by an upgrade, a repair, a restore, or on request.

What is erased in the store is also erased in its automatic copies: in place if the copy has the present schema, otherwise by
deleting the copy. A backup that a user made belongs to the user; it is only named, and restoring it does not bring back what
was erased.
"""

import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from contextlib import closing, contextmanager, suppress
from dataclasses import field, replace
from pathlib import Path

from memorist.access import Access
from memorist.errors import MemoristError, StoreUnavailable
from memorist.lazy import dataclass
from memorist.records import now_utc
from memorist.store.files import AUTOMATIC, clear_leftovers, maker_is_gone, remove, replace_private
from memorist.store.journal import Anchor
from memorist.store.lineage import Lineage
from memorist.store.nouns import ChainLink, Commit, KeyUse, parts
from memorist.store.open import files_of, folders_of, names_in_use, open_copy
from memorist.store.protocol import Store
from memorist.store.traces import ErasedIds
from memorist.store.where import Where
from memorist.store.writer import Writer, unscrubbed

ON_REQUEST = re.compile(r"\.backup-[0-9TZ]+")
LEFT_BY_0_1_0 = re.compile(r"\.(before-[\w.-]+\.bak|(replaced|backup)-[0-9TZ]+)\.partial|\.restoring-\w+")
IDS_AT_ONCE = 200
LOOKS_AT_ANCHOR = 4  # at the anchor of a restored store
BETWEEN_LOOKS = 0.05  # seconds


@dataclass(slots=True)
class Cleaning:
    """The result of cleaning the copies: whether it is complete, what must be reported, and which backups of the user exist."""

    done: bool = True
    said: list[str] = field(default_factory=list)
    backups: list[str] = field(default_factory=list)

    def not_yet(self, why: str) -> None:
        self.done = False
        self.said.append(f"{why}; `memorist compact` tries again")


def clean_copies(store: Store, ids: Sequence[str], who: Access, because: str, wait: float) -> Cleaning:
    """Erases these in every automatic copy, removes what crashes left behind, and names the user's backups."""
    cleaning = remove_unfinished(store)
    for copy in _beside(store, AUTOMATIC):
        try:
            with closing(open_copy(copy, wait)) as there:
                erase_again(there, ids, [who.space], who, because)
        except StoreUnavailable as problem:
            cleaning.not_yet(f"the automatic copy {copy.name} could not be cleaned ({problem})")
        except MemoristError:  # an older schema, or damaged: it cannot be cleaned, only removed
            for file in files_of(copy):
                file.unlink(missing_ok=True)
            cleaning.said.append(f"the automatic copy {copy.name} could not be cleaned and was removed")
    cleaning.backups = [file.name for file in _beside(store, ON_REQUEST)]
    return cleaning


def erase_again(store: Store, ids: Iterable[str], spaces: Collection[str], who: Access, because: str) -> None:
    """Erases those of the ids that this store still holds, and finishes what an interrupted attempt left."""
    writer, wanted = Writer(store, now_utc), list(ids)
    for space in spaces:
        keeper = replace(Access.to_read(space), actor=who.actor, surface=who.surface)
        for some in parts(wanted, IDS_AT_ONCE):
            found = store.get(some, Where(keeper))
            if there := [record for record in found if record.state != "erased"]:
                quoting = {id for id, _ in Lineage(store, space).quoting(there)}.difference(wanted)
                writer.erase(there, keeper, because, quoting=store.get(sorted(quoting), Where(keeper)))
        mark = store.setting(unscrubbed(space))
        if mark:
            store.compact()
            if store.scrub(()) is None:
                writer.scrubbed(space, mark)
    writer.close()


def refuse_messages(store: Store, keys: Iterable[KeyUse]) -> None:
    """Keeps messages that were erased in the store out of this one as well, even if it is from before they arrived."""
    with store.transaction():
        store.write(Commit(keys=[use for use in keys if store.key_use(use.key) is None]))


def erase_what_is_listed(store: Store, db: Path, more: Set[str] = frozenset()) -> None:
    """Erases in this store what the list beside `db` names, and `more`. Called twice: before the backup replaces the store,
    and after it, because another process may have erased something meanwhile."""
    ids = ErasedIds(db).read() | more
    if ids:
        spaces = {sealed.record.space for sealed in store.seals()}
        restorer = Access(actor="memorist", surface="restore")
        erase_again(store, ids, spaces, restorer, "it had been erased before this backup was restored")


@contextmanager
def keeping_anchor(db: Path, aside: Path) -> Iterator[None]:
    """Wraps keeping a copy of a store: the copy gets the anchor from before, because others may go on writing meanwhile."""
    said = b""
    with suppress(FileNotFoundError):
        said = db.with_name(db.name + ".anchor").read_bytes()
    yield
    if said and aside.exists():
        replace_private(aside.with_name(aside.name + ".anchor"), said.decode(errors="replace"))


def put_anchor_aside(db: Path, kept: Path | None) -> None:
    """Called before the store is replaced: an anchor of another journal would look like tampering; a missing one does not."""
    anchor = db.with_name(db.name + ".anchor")
    if kept is not None and anchor.exists() and not kept.with_name(kept.name + ".anchor").exists():
        anchor.replace(kept.with_name(kept.name + ".anchor"))
    anchor.unlink(missing_ok=True)


def set_anchor(db: Path, head: ChainLink | None) -> None:
    Anchor(db).reset(head)


def settle_anchor(db: Path, store: Store) -> None:
    """Sets the anchor and watches it for a moment, since a process may still note what it wrote into the replaced journal."""
    set_anchor(db, store.head())
    for _ in range(LOOKS_AT_ANCHOR):
        time.sleep(BETWEEN_LOOKS)
        if Anchor(db).lost(store):
            set_anchor(db, store.head())


def remove_unfinished(store: Store) -> Cleaning:
    """Removes copies that a killed process did not finish. Those that another process may still be writing are named."""
    cleaning = Cleaning()
    still = clear_leftovers(folders_of(store))
    for left in _beside(store, LEFT_BY_0_1_0):
        try:
            if maker_is_gone(left):
                remove(left)
            else:
                still.append(left)
        except FileNotFoundError:  # it was finished meanwhile
            continue
    for left in still:
        cleaning.not_yet(f"{left.name} was begun a short while ago and may hold it")
    return cleaning


def _beside(store: Store, pattern: re.Pattern[str]) -> list[Path]:
    """Files named after the store, beside the real file and beside the links by which it was opened."""
    found = set()
    for name in names_in_use(store):
        for file in name.parent.glob(f"*{_literal(name.name)}.*"):
            if pattern.fullmatch(file.name.removeprefix(".").removeprefix(name.name)):
                found.add(Path(os.path.realpath(file.parent)) / file.name)
    return sorted(found)


def _literal(name: str) -> str:
    """The name with a pattern's special characters escaped."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)
