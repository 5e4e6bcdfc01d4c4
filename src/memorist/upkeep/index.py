"""The indexes of large shelves (the extra `ann`): missing ones are made, old ones anew.

Like vectors they are derived, so nothing is proposed and nothing is journalled. Without the extra, or with small shelves, there
is nothing to do.
"""

import time
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import ClassVar

from memorist.errors import MemoristError
from memorist.records import Report
from memorist.store.ann_build import IndexBuilding
from memorist.store.protocol import Store
from memorist.store.sqlite import SqliteStore


@dataclass(frozen=True, slots=True)
class Index:
    """Indexes for the whole store. It does its work itself; `upkeep/runner.py` sees to it that only one does."""

    building: IndexBuilding | None
    done: list[str] = field(default_factory=list)  # what was made, in words
    name: ClassVar[str] = "index"

    @classmethod
    def of(cls, store: Store) -> "Index":
        """The other stores hold everything in RAM, and have no file beside which an index could lie."""
        return cls(store.index_building if isinstance(store, SqliteStore) and store.database else None)

    def plan(self) -> Report | None:
        """What `steps` would do now; None if there is nothing to do."""
        due = self.building.due() if self.building else []
        return Report(self.name, dry_run=True, rows=sum(each.rows for each in due)) if due else None

    def advice(self) -> str | None:
        return "; ".join(self.done) or None

    def has_work(self) -> bool:
        return self.building is not None and bool(self.building.due() or self.building.stray())

    def steps(self) -> Generator[int, None, None]:
        """Does it, in short steps; after each come the rows that were put in."""
        if self.building is None:
            return
        for file in self.building.stray():
            file.unlink(missing_ok=True)
        for due in self.building.due():
            begun = time.monotonic()
            yield from self.building.build(due)
            self.done.append(
                f"made an index of {due.rows:,} vectors on shelf {due.shelf} in {time.monotonic() - begun:,.0f} s"
            )

    def failed(self, problem: MemoristError) -> None:
        """Questions are answered without an index as well; the report says what is wrong."""
