"""The job that archives items whose files are gone. It is the only job of every upkeep that looks at files, and only in
the folder where the items were extracted, because another checkout of the project may have other files. If the files
come back, `memorist index` brings the items back with their votes."""

from dataclasses import dataclass
from functools import cache, partial
from typing import ClassVar

from memorist import remember
from memorist.access import Access
from memorist.design import Job, Proposal, Tools
from memorist.records import Record
from memorist.store.protocol import Store
from memorist.store.where import Order, Where

GONE = "its file no longer says so"
DELETED = "its file is gone, or is ignored now"
INDEX = "index"  # the surface that items are written through


def items_of(where: Where, scope: str, store: Store) -> list[Record]:
    """The items extracted from files of this project, by number: those that are active, and those that were archived
    because their file or entry was gone. An item that a person confirmed is no longer counted as an item."""
    here = _of(where, scope).also("state", "in", ("active", "archived"))
    return [record for record in store.find(here, Order("number", ascending=True)) if _is_item(record)]


def _of(where: Where, scope: str) -> Where:
    return where.also("scope", "eq", scope).also("origin", "eq", "file").also("surface", "eq", INDEX)


def _is_item(record: Record) -> bool:
    whole = len(record.files) == 1 and {"item", "type", "line"} <= record.data.keys()
    return whole and (record.state == "active" or record.reason in (GONE, DELETED))


@dataclass(frozen=True, slots=True)
class ExpireItems:
    """Archives items whose files are gone from the folder they were extracted in."""

    name: ClassVar[str] = "expire_items"

    def propose(self, who: Access, tools: Tools) -> Proposal:
        there = cache(lambda name: tools.folder.name_of(name) == name)
        gone = [item.id for item in _indexed_here(who, tools) if _is_item(item) and not there(item.files[0])]
        return Proposal("expired", partial(remember.edit.archived, because=DELETED), DELETED, gone)


def jobs_for(who: Access, tools: Tools) -> tuple[Job, ...]:
    """The job, if this folder has items."""
    return (ExpireItems(),) if _indexed_here(who, tools, 1) else ()


def _indexed_here(who: Access, tools: Tools, limit: int | None = None) -> list[Record]:
    folder = tools.folder
    if who.home is None or folder.root is None or not folder.root.is_dir():
        return []
    here = _of(Where(who), who.home).also("data.folder", "eq", folder.mark).also("state", "eq", "active")
    return tools.store.find(here, Order("number", ascending=True), limit)
